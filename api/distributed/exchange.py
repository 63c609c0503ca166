"""Sums of arrays over the processes of a communicator of MPI, in which a failure of one is an error in all.

A *round* is one call of the function in each process. Its arrays are started one by one, as soon as each is computed;
the sums are waited for together. Invariants:

* Each process starts the same arrays, in the same order, in each round. A process that fails takes part in the rest of
  the round with zeros (``abandon``), and what is told at its end makes the others raise ``ProcessError``.
* Shapes are compared in the first round, before anything is started; afterwards an array of another shape is a failure.
* Processes that have made different numbers of rounds raise, too: one failed when others had succeeded.
"""
from __future__ import annotations

from typing import Any

import numpy

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
        Add in the order of the processes, where MPI may choose any: each process gets a part of the array from all,
        adds them, and sends the sum to all.
    """

    def __init__(self, comm: Any, dtypes: list[str], average: bool, deterministic: bool) -> None:
        self.comm, self.dtypes, self.average, self.deterministic = comm, dtypes, average, deterministic
        self.shapes: list[tuple[int, ...]] | None = None        # agreed on by the first round
        self.rounds = 0                                         # that have succeeded
        self.begin()

    def begin(self) -> None:
        """Begin a round."""
        self.arrays: list[Any] = []                             # this process's, then the sums
        self._requests: list[Any] = []
        self._parts: list[Any] = []
        self.failure: str | None = None                         # of this process, in this round
        self.is_over = False

    def start(self, array: Any) -> None:
        """Start the sum of the next array of this round; it is copied."""
        array = numpy.array(array, order="C")
        number = len(self.arrays)
        if self.shapes is not None:
            if array.shape != self.shapes[number]:
                self.failure = self.failure or (f"array {number} of the exchange has the shape {array.shape}, and had "
                                                f"{self.shapes[number]} in the first call")
                array = numpy.zeros(self.shapes[number], array.dtype)
            self._send(array)
        self.arrays.append(array)

    def finish(self) -> list[Any]:
        """Wait for the sums of this round.

        Raises
        ------
        ProcessError
            In all processes, if one of them has failed.
        """
        if self.shapes is None:
            self._compare_shapes()
            for array in self.arrays:
                self._send(array)
        for request in self._requests:                          # not Waitall: each keeps its array until it is done
            request.Wait()
        self.is_over = True
        self._compare_states()
        arrays, self.arrays, self._requests = self.arrays, [], []
        if self.deterministic:
            arrays = [self._in_order(*pair) for pair in zip(arrays, self._parts)]
        if self.average:
            arrays = [array / self.comm.size for array in arrays]
        self.rounds += 1
        return arrays

    def abandon(self, failure: str) -> None:
        """Take part in the rest of the round, and let the others know why this process has failed."""
        self.failure = failure
        if self.shapes is not None:
            for number in range(len(self.arrays), len(self.dtypes)):
                self.start(numpy.zeros(self.shapes[number], self.dtypes[number]))
        try:
            self.finish()
        except ProcessError:
            pass

    def _send(self, array):
        """Start what brings an array to other processes; that of earlier ones proceeds meanwhile."""
        from mpi4py import MPI

        if self.deterministic:
            parts = numpy.zeros((self.comm.size, -(-array.size // self.comm.size)), array.dtype)
            parts.reshape(-1)[:array.size] = array.reshape(-1)
            gathered = numpy.empty_like(parts)
            self._parts.append(gathered)
            request = self.comm.Ialltoall(parts, gathered)
        else:
            request = self.comm.Iallreduce(MPI.IN_PLACE, array)
        self._requests.append(request)
        MPI.Request.Testall(self._requests)

    def _in_order(self, array, parts):
        """The sum of the processes' arrays, in their order."""
        total = parts[0].copy()
        for part in parts[1:]:
            total += part
        self.comm.Allgather(total, parts)
        return parts.reshape(-1)[:array.size].reshape(array.shape).copy()

    def _compare_shapes(self):
        said = self.comm.allgather((self.failure, [array.shape for array in self.arrays]))
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
