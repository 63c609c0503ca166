#!/bin/bash
# Importing mpi4py 4.1.2 with the wheel of MPICH 5.0.2, on a machine without a network card of InfiniBand, and without
# any communication, overwrites the first bytes of functions of the C library in memory: UCX, which MPICH brings along,
# wants to know of each page that comes and goes. So the heap's own calls go through UCX from then on, malloc_trim's and
# those of other threads, and debuggers and profilers see other code than the file has. UCX_MEM_EVENTS=no leaves all as
# it is.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install mpi4py==4.1.2 mpich==5.0.2
shows "by default: brk madvise mmap mremap munmap sbrk shmat shmdt
UCX_MEM_EVENTS=no: none" <<'PROGRAM'
import os
import subprocess
import sys

PROGRAM = """
import ctypes
library = ctypes.CDLL("libc.so.6")
names = ["brk", "free", "madvise", "malloc", "mmap", "mremap", "munmap", "read", "sbrk", "shmat", "shmdt", "write"]
def code():
    return [ctypes.string_at(ctypes.cast(getattr(library, name), ctypes.c_void_p).value, 16) for name in names]
before = code()
import mpi4py.MPI
print(*[name for name, old, new in zip(names, before, code()) if old != new] or ["none"])
"""
for text, more in (("by default", {}), ("UCX_MEM_EVENTS=no", {"UCX_MEM_EVENTS": "no"})):
    print(f"{text}:", subprocess.run([sys.executable, "-c", PROGRAM], env={**os.environ, **more}, capture_output=True,
                                      text=True).stdout.strip())
PROGRAM
