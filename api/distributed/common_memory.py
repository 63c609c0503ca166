"""Sums of arrays in memory that the processes of one machine share.

A message would be copied into such memory and out of it again, and the library of MPI works on it only inside of its
functions. Here each process writes its array where all can read it, and adds its part of all arrays, in the order of
the processes. Two halves of the memory take turns, so that nobody writes what another may still read.
"""
from __future__ import annotations

import mmap
import os
import tempfile
from typing import Any

import numpy

from phintys.distributed.homes import FOLDER

LINE = 64                           # bytes that two processes do not write into at once


class CommonMemory:
    """The memory, and sums in it: a way of adding, as ``exchange.Messages``.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
    memory : mmap.mmap
    shapes : list of tuple
    dtypes : list of str
        Those of the arrays of a round.
    """

    def __init__(self, comm: Any, memory: Any, shapes: Any, dtypes: Any) -> None:
        self.comm, self.shapes = comm, shapes
        self._halves: list[list[Any]] = []
        start = 0
        for half in range(2):
            self._halves.append([])
            for shape, dtype in zip(shapes, dtypes):
                parts = comm.size, comm.size, _width(comm, shape, dtype)        # of each process, for each
                arrays = numpy.frombuffer(memory, dtype, int(numpy.prod(parts)), start).reshape(parts)
                self._halves[half].append(arrays)
                start += arrays.nbytes
        self.begin()

    def begin(self) -> None:
        """Begin a round."""
        self.requests: list[Any] = []

    def start(self, array: Any) -> None:
        """Write the next array for all, and tell that it is there."""
        from mpi4py import MPI

        own = self._halves[0][len(self.requests)][self.comm.rank].reshape(-1)[:array.size]
        numpy.copyto(own.reshape(array.shape), array)
        self.requests.append(self.comm.Ibarrier())
        MPI.Request.Testall(self.requests)

    def add(self) -> None:
        """Wait for the arrays of the others, and add this process's part of each."""
        for request, arrays in zip(self.requests, self._halves[0]):
            request.Wait()
            for other in arrays[1:, self.comm.rank]:
                arrays[0, self.comm.rank] += other
        self._halves.reverse()

    def sums(self) -> list[Any]:
        """The sums, in the memory of all, to be read until the next round but one; to be called when all processes
        have added."""
        found = [arrays[0].reshape(-1)[:int(numpy.prod(shape))].reshape(shape)
                 for arrays, shape in zip(self._halves[1], self.shapes)]
        for array in found:
            array.flags.writeable = False
        return found

    @classmethod
    def of(cls, comm: Any, shapes: Any, dtypes: Any) -> CommonMemory | None:
        """The memory of several processes of one machine, or None if there is no room for it, or they are not that."""
        if comm.size == 1 or not on_one_machine(comm):
            return None
        length = LINE + 2 * comm.size * comm.size * sum([_width(comm, *pair) * numpy.dtype(pair[1]).itemsize
                                                         for pair in zip(shapes, dtypes)])
        path = comm.bcast(_made(length) if comm.rank == 0 else None)
        memory = _mapped(path, length)
        is_everywhere = all(comm.allgather(memory is not None))
        if comm.rank == 0 and path is not None:
            os.unlink(path)                             # what is mapped stays
        return cls(comm, memory, shapes, dtypes) if is_everywhere else None


def on_one_machine(comm: Any) -> bool:
    """Whether all processes of a communicator can share memory."""
    from mpi4py import MPI

    here = comm.Split_type(MPI.COMM_TYPE_SHARED)
    count = here.size
    here.Free()
    return bool(comm.allreduce(count == comm.size, MPI.LAND))


def _width(comm, shape, dtype):
    """Elements of the part of an array that a process adds."""
    itemsize = numpy.dtype(dtype).itemsize
    return -(-int(numpy.prod(shape)) * itemsize // (comm.size * LINE)) * (LINE // itemsize)


def _made(length):
    """The path of a new file, or None if there is no room for it."""
    try:
        file, path = tempfile.mkstemp(prefix="phintys-", dir=FOLDER)
    except OSError:                                     # no such folder
        return None
    try:
        with os.fdopen(file, "wb"):
            os.posix_fallocate(file, 0, length)         # raises if there is no room: writing would end the process
    except (OSError, AttributeError):                   # the system has no such function
        os.unlink(path)
        return None
    return path


def _mapped(path, length):
    """The memory of a file, or None."""
    try:
        with open(path, "r+b") as file:
            return mmap.mmap(file.fileno(), length)
    except (OSError, TypeError):                        # of another container, or there is no file
        return None
