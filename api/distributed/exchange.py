"""Sums of arrays over the processes of a communicator of MPI, in which a failure of one is an error in all.

A *round* is one call of the function in each process. Its arrays are started one by one, as soon as each is computed;
the sums are waited for together. On one machine they are added in memory that the processes share (``common_memory``),
else by messages. Invariants:

* Each process starts the same arrays, in the same order, in each round. A process that fails takes part in the rest of
  the round with zeros (``abandon``), and what is told at its end makes the others raise ``ProcessError``.
* Shapes are compared in the first round, before anything is started; afterwards an array of another shape is a failure.
* Processes that have made different numbers of rounds raise, too: one failed when others had succeeded.
"""
from __future__ import annotations

from typing import Any

import numpy

from phintys.distributed.common_memory import CommonMemory

DTYPES = frozenset("float32 float64 complex64 complex128 int8 int16 int32 int64 uint8 uint16 uint32 uint64".split())


class ProcessError(RuntimeError):
    """Another process failed, or the processes do not do the same. All of them raise it."""


def agree(comm: Any, what: str, mine: Any) -> None:
    """Raise in all processes unless all of them say the same.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
    what : str
        For the message.
    mine : object
        What this process says; shown by ``str``.
    """
    said = comm.allgather(mine)
    for rank, other in enumerate(said):
        if other != said[0]:
            raise ProcessError(f"the processes differ in {what}: process 0 has {said[0]}, process {rank} has {other}")


class Messages:
    """Sums by MPI, in the order that it prefers; those of earlier arrays proceed in each call.

    All ways of adding have these methods: ``start`` for each array of a round, ``add`` when all are started, and
    ``sums`` when all processes have added.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
    """

    def __init__(self, comm: Any) -> None:
        self.comm = comm
        self.begin()

    def begin(self) -> None:
        """Begin a round."""
        self.arrays: list[Any] = []
        self.requests: list[Any] = []

    def start(self, array: Any) -> None:
        """Start the sum of the next array; it is copied."""
        from mpi4py import MPI

        array = numpy.array(array, order="C")
        self.arrays.append(array)
        self.requests.append(self._sent(array))
        MPI.Request.Testall(self.requests)

    def _sent(self, array):
        from mpi4py import MPI

        return self.comm.Iallreduce(MPI.IN_PLACE, array)

    def add(self) -> None:
        """Wait for the sums that this process takes part in."""
        for request in self.requests:                           # not Waitall: each keeps its array until it is done
            request.Wait()

    def sums(self) -> list[Any]:
        """The sums; if they are not the caller's, they are read-only."""
        return self.arrays


class MessagesInOrder(Messages):
    """Sums in the order of the processes: each gets a part of an array from all, adds them, sends the sum to all."""

    def begin(self) -> None:
        """Begin a round."""
        super().begin()
        self.parts: list[Any] = []

    def _sent(self, array):
        parts = numpy.zeros((self.comm.size, -(-array.size // self.comm.size)), array.dtype)
        parts.reshape(-1)[:array.size] = array.reshape(-1)
        self.parts.append(numpy.empty_like(parts))
        return self.comm.Ialltoall(parts, self.parts[-1])

    def sums(self) -> list[Any]:
        """The sums."""
        for parts in self.parts:
            self.comm.Allgather(added_in_order(parts).copy(), parts)
        return [parts.reshape(-1)[:array.size].reshape(array.shape).copy()
                for array, parts in zip(self.arrays, self.parts)]


def added_in_order(parts: Any) -> Any:
    """The sum of the rows, in the first."""
    for part in parts[1:]:
        parts[0] += part
    return parts[0]


class Exchange:
    """The sums of several arrays, round after round.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        For these messages alone.
    dtypes : list of str
        Those of the arrays of a round.
    average : bool
        Divide the sums by the number of processes.
    deterministic : bool
        Add in the order of the processes, where MPI may choose any; on one machine it is always so.
    """

    def __init__(self, comm: Any, dtypes: list[str], average: bool, deterministic: bool) -> None:
        self.comm, self.dtypes, self.average = comm, dtypes, average
        self.shapes: list[tuple[int, ...]] | None = None        # agreed on by the first round
        self.rounds = 0                                         # that have succeeded
        self._way: Any = (MessagesInOrder if deterministic else Messages)(comm)
        self.begin()

    def begin(self) -> None:
        """Begin a round."""
        self.started = 0                                        # arrays of this round
        self._first: list[Any] = []                             # those of the first round
        self._way.begin()
        self.failure: str | None = None                         # of this process, in this round
        self.is_over = False

    def start(self, array: Any) -> None:
        """Start the sum of the next array of this round; it is copied."""
        if self.shapes is None:
            self._first.append(numpy.array(array, order="C"))
        elif array.shape == (shape := self.shapes[self.started]):
            self._way.start(array)
        else:
            self.failure = self.failure or (f"array {self.started} of the exchange has the shape {array.shape}, and "
                                            f"had {shape} in the first call")
            self._way.start(numpy.zeros(shape, array.dtype))
        self.started += 1

    def finish(self) -> list[Any]:
        """Wait for the sums of this round. They may lie in memory of all processes, until the next round but one.

        Raises
        ------
        ProcessError
            In all processes, if one of them has failed.
        """
        if self.shapes is None:
            self._compare_shapes()
            self._way = CommonMemory.of(self.comm, self.shapes, self.dtypes) or self._way
            for array in self._first:
                self._way.start(array)
        self._way.add()
        self.is_over = True
        self._compare_states()
        sums = self._way.sums()
        if self.average:
            sums = [numpy.divide(array, self.comm.size,
                                 out=array if array.dtype.kind in "fc" and array.flags.writeable else None)
                    for array in sums]
        self.begin()
        self.is_over = True
        self.rounds += 1
        return sums

    def abandon(self, failure: str) -> None:
        """Take part in the rest of the round, and let the others know why this process has failed."""
        self.failure = failure
        if self.shapes is not None:
            for number in range(self.started, len(self.dtypes)):
                self.start(numpy.zeros(self.shapes[number], self.dtypes[number]))
        try:
            self.finish()
        except ProcessError:
            pass

    def _compare_shapes(self):
        said = self.comm.allgather((self.failure, [array.shape for array in self._first]))
        self.is_over = True
        self._raise([failure for failure, _ in said])
        shapes = [shapes for _, shapes in said]
        for rank, other in enumerate(shapes):
            if other != shapes[0]:
                raise ProcessError(f"the processes exchange arrays of different shapes: process 0 has {shapes[0]}, "
                                   f"process {rank} has {other}")
        self.shapes = shapes[0]

    def _compare_states(self):
        """Twenty-four bytes: whether anybody has failed, and the most and fewest rounds that anybody has made."""
        from mpi4py import MPI

        state = numpy.array([self.failure is not None, self.rounds, -self.rounds])
        self.comm.Allreduce(MPI.IN_PLACE, state, MPI.MAX)
        if state[0]:
            self._raise(self.comm.allgather(self.failure))
        if state[1] != -state[2]:
            raise ProcessError(f"some process has made {state[1]} calls with success, and another {-state[2]}: their "
                               "values differ. Let all have those of one by broadcast(), or restore() a checkpoint")

    def _raise(self, failures):
        told = [f"process {rank}: {failure}" for rank, failure in enumerate(failures) if failure is not None]
        if told:
            raise ProcessError("the exchange was given up, so nothing is updated by it. " + "; ".join(told))
