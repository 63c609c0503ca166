"""An array in memory that processes of this machine share: a file in /dev/shm, mapped by each of them.

The file has a page of numbers and two slots. The number of the version says by its last bit which slot has the value. A
writer fills the other slot and then raises the number; so a process that ends in the middle leaves the old value, and
the lock, ``flock`` of the file, goes with the process. Slots grow at the end of the file.

What processes hand to each other, each by the lock, which the system passes on with all that was written before it
(on every processor): no process reads or writes numbers or slots without it. After a process that ended in the middle,
too: the system has stopped it before it gives up the lock, and of a process that is stopped between two instructions
the earlier ones are done. So a slot is whole when the number of the version names it.

====================================  ===============================================  =========================
handed over                           by                                               tests (``test_elsewhere``)
====================================  ===============================================  =========================
the value, its shape, its version     the lock                                         of several processes
where a slot is, the file's length    the lock; a longer file is mapped again          a longer value
the numbers of a new file             nobody knows its path before ``__init__`` ends   all
what a process wrote that was killed  the system, as it takes back the lock            a writer that dies
====================================  ===============================================  =========================
"""
from __future__ import annotations

import fcntl
import mmap
import os
import tempfile
from typing import Any
from weakref import finalize

import numpy

from phintys.distributed.homes import FOLDER, Home

PAGE = 4096                         # of the file, on every processor: all is mapped at once, from the beginning on
MAGIC = 0x70_68_69_6e_74_79_73      # "phintys"
VERSION = 1                         # numbers of the page: MAGIC, the version, and from these on those of each slot:
SLOTS = (8, 128)
OFFSET, CAPACITY, RANK, SHAPE = range(4)


class SharedMemory(Home):
    """A place for a value: what ``target="memory"`` means.

    Parameters
    ----------
    path : str, optional
        That of another process's; by default a new one, which is removed when the process that made it ends.

    Examples
    --------
    >>> place = phintys.distributed.SharedMemory()
    >>> place.store(numpy.arange(3.0))
    1
    >>> place.fetch(0, numpy.dtype("float64")), place.fetch(1, numpy.dtype("float64"))
    ((1, array([0., 1., 2.])), None)
    """

    def __init__(self, path: str | None = None) -> None:
        is_new = path is None
        if is_new:
            folder = FOLDER if os.path.isdir(FOLDER) else None
            self._file, path = tempfile.mkstemp(prefix="phintys-", dir=folder)
            os.posix_fallocate(self._file, 0, PAGE)
        else:
            try:
                self._file = os.open(path, os.O_RDWR)
            except FileNotFoundError:
                raise FileNotFoundError(
                    f"the shared memory {path} is not here: the process that made it has ended, or is on another "
                    "machine. Several machines share a DaskActor or an MPIWindow") from None
        self._process = os.getpid()
        self._files = [self._file]
        finalize(self, _closed, self._files, path, os.getpid() if is_new else None)
        self._map()
        if is_new:
            self._numbers[0] = MAGIC
        elif self._numbers[0] != MAGIC:
            raise ValueError(f"{path} is no shared memory of phintys")
        super().__init__(str(path), str(path))

    def _acquire(self):
        self._open_again_after_a_fork()
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def _release(self):
        fcntl.flock(self._file, fcntl.LOCK_UN)

    def _open_again_after_a_fork(self):
        """``flock`` locks what was opened, which a child has in common with its parent. The locks of ``lockf`` are the
        process's, but are given up when any descriptor of the file is closed, such as that which a mapping has."""
        if self._process != os.getpid():
            self._file, self._process = os.open(self.path, os.O_RDWR), os.getpid()
            self._files.append(self._file)

    def fetch(self, version: int, dtype: Any) -> tuple[int, Any] | None:
        """Return the version and a copy of the value, or None if its version is that which is given."""
        with self.locked():
            current = int(self._numbers[VERSION])
            if current == version:
                return None
            slot = self._slot(current)
            count = int(slot[SHAPE:SHAPE + slot[RANK]].prod())
            value = self._memory(slot, count, dtype).reshape(slot[SHAPE:SHAPE + slot[RANK]])
            return current, value.copy()

    def store(self, value: Any) -> int:
        """Put another value there, and return its version."""
        with self.locked():
            version = int(self._numbers[VERSION]) + 1
            slot = self._slot(version)
            if slot[CAPACITY] < value.nbytes:
                end = os.fstat(self._file).st_size
                os.posix_fallocate(self._file, end, -(-value.nbytes // PAGE) * PAGE)      # raises if there is no room
                self._map()
                slot = self._slot(version)
                slot[OFFSET], slot[CAPACITY] = end, os.fstat(self._file).st_size - end
            slot[RANK], slot[SHAPE:SHAPE + value.ndim] = value.ndim, value.shape
            self._memory(slot, value.size, value.dtype).reshape(value.shape)[...] = value
            self._numbers[VERSION] = version
            return version

    def _map(self):
        self._mapped = mmap.mmap(self._file, 0)
        self._numbers = numpy.frombuffer(self._mapped, "i8", PAGE // 8)

    def _slot(self, version):
        start = SLOTS[version % 2]
        return self._numbers[start:start + SLOTS[1] - SLOTS[0]]

    def _memory(self, slot, count, dtype):
        """The elements of a slot; another process may have made the file longer."""
        if not count:
            return numpy.empty(0, dtype)
        if slot[OFFSET] + slot[CAPACITY] > len(self._mapped):
            self._map()
        return numpy.frombuffer(self._mapped, dtype, count, int(slot[OFFSET]))


def _closed(files, path, maker):
    for file in files:
        os.close(file)
    if maker == os.getpid():
        os.unlink(path)
