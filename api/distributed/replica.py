"""One training in many processes: each has the shared variables and a part of the data; gradients are summed by MPI.

``replicate`` replaces the gradients in the updates by their sums over the processes: a node for each gradient starts
its sum when it is computed, a last node waits for all. The nodes are in a chain, those of the last layers first, so
that every process starts them in the same order. What the virtual machine computes between the first start and the
wait, the rest of the backward pass, overlaps with messages to other machines as far as the MPI library works on them
meanwhile: many do so only inside of their functions, and each start is one. The updates themselves come after all sums.
"""
from __future__ import annotations

import os
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy

import phintys
from phintys.debugging.debug_mode import DebugMode
from phintys.distributed.exchange import DTYPES, Exchange, ProcessError, agree
from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.graph.toposort import io_toposort
from phintys.graph.traversal import clone_replace
from phintys.graph.type import generic
from phintys.graph.variable import Constant
from phintys.interop.dask_token import digest_of
from phintys.updates import OrderedUpdates

if TYPE_CHECKING:
    from collections.abc import Callable


class StartSum(Op):
    """Starts the sum of a gradient over the processes.

    Parameters
    ----------
    exchange : Exchange
    """

    __props__ = ("exchange",)
    is_foldable = False

    def __init__(self, exchange: Any) -> None:
        self.exchange = exchange

    def make_node(self, gradient: Any, *before: Any) -> Any:
        return Apply(self, [gradient, *before], [generic()])

    def perform(self, node: Any, inputs: Any, output_storage: Any, params: Any = None) -> None:
        if len(inputs) == 1 and self.exchange.started:          # the first
            raise ProcessError("an earlier call failed in the middle of an exchange: call a function that "
                               "Replica.function has made, which tells the other processes of a failure")
        self.exchange.start(inputs[0])
        output_storage[0][0] = self.exchange

    def __str__(self) -> str:
        return "StartSum"


class WaitForSums(Op):
    """Waits for the sums of all gradients. Other processes may read them, too, and a later call overwrites them: so
    they are views of a constant, which are neither worked on in place nor kept.

    Parameters
    ----------
    types : tuple of Type
    """

    __props__ = ("types",)
    is_foldable = False

    def __init__(self, types: Any) -> None:
        self.types = types
        self.view_map = {number: [1] for number in range(len(types))}

    def make_node(self, last: Any, exchange: Any) -> Any:
        return Apply(self, [last, exchange], [type_() for type_ in self.types])

    def perform(self, node: Any, inputs: Any, output_storage: Any, params: Any = None) -> None:
        for storage, array in zip(output_storage, inputs[0].finish()):
            storage[0] = array

    def __str__(self) -> str:
        return "WaitForSums"


class Replica:
    """This process's part of a training; ``phintys.distributed.replicate`` makes one.

    Attributes
    ----------
    updates : OrderedUpdates
        With summed gradients.
    comm : mpi4py.MPI.Comm
    rank, size : int
        The number of this process, and how many there are.
    steps : int
        How many calls have succeeded.

    Examples
    --------
    >>> w = phintys.shared(1.0, "w")
    >>> gradient = T.grad(w ** 2, w)
    >>> replica = phintys.distributed.replicate([(w, w - 0.25 * gradient)], [gradient])
    >>> train = replica.function([], w ** 2)
    >>> train(), w.get_value(), replica.steps           # in one process
    (array(1.), array(0.5), 1)
    """

    def __init__(self, comm: Any, updates: Any, exchange: Exchange, every: int | None) -> None:
        self.comm, self.updates, self.every = comm, updates, every
        self.rank, self.size = comm.rank, comm.size
        self.steps = 0
        self._exchange = exchange
        self._lock = RLock()

    def function(self, inputs: Any = (), outputs: Any = None, updates: Any = (), **options: Any) -> Callable[..., Any]:
        """Return a function that makes a step; all processes must call it equally often.

        Parameters
        ----------
        inputs, outputs, **options
            As for ``phintys.function``.
        updates : list or dict, optional
            More updates, of variables that each process has for itself.

        Returns
        -------
        callable
            Its attribute ``compiled`` is the ``Function``. If a call fails in one process, all of them raise, and no
            shared variable has changed in any.
        """
        compiled = phintys.function(inputs, outputs, updates=self.updates + OrderedUpdates(updates), **options)
        if isinstance(compiled.maker.mode, DebugMode) and self.every is None:
            raise ValueError("in DebugMode nodes are computed several times, so the processes would exchange the same "
                             "gradient again: debug the function that one process would call")

        def step(*arguments: Any, **named: Any) -> Any:
            with self._lock:
                return self._step(compiled, arguments, named)

        step.compiled = compiled                        # type: ignore[attr-defined]
        return step

    def _step(self, compiled, arguments, named):
        exchange = self._exchange
        exchange.begin()
        try:
            found = compiled(*arguments, **named)
            if self.every is None and not exchange.is_over:
                raise ProcessError("the call has summed no gradients: they are in a branch that it did not take")
        except BaseException as error:
            if not exchange.is_over:
                exchange.abandon(f"{type(error).__name__}: {error}")
            raise
        self.steps += 1
        if self.every is not None and self.steps % self.every == 0:
            self.average()
        return found

    def average(self) -> None:
        """Let all processes have the averages of their values; all must call it."""
        if self.every is None:
            raise ValueError("the processes have the same values: only those made with every= are averaged")
        variables = averaged(self.updates)
        with self._lock:
            self._exchange.begin()
            for variable in variables:
                self._exchange.start(variable.get_value(borrow=True))
            for variable, value in zip(variables, self._exchange.finish()):
                variable.set_value(value.astype(variable.type.dtype, copy=False), borrow=True)

    def broadcast(self, root: int = 0) -> None:
        """Let all processes have the values of one; all must call it."""
        mine = [variable.get_value(borrow=True) for variable in self.updates]
        values, self.steps, self._exchange.rounds = self.comm.bcast((mine, self.steps, self._exchange.rounds), root)
        if self.rank != root:
            for variable, value in zip(self.updates, values):
                variable.set_value(value, borrow=True)

    def part(self, rows: Any) -> Any:
        """This process's part of the rows of an array, or of a sequence; parts differ by at most one row.

        Parameters
        ----------
        rows : sequence
        """
        start, stop = (len(rows) * number // self.size for number in (self.rank, self.rank + 1))
        return rows[start:stop]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the values and the number of steps to a file of ``numpy.savez``; all processes must call it.

        Process 0 writes, and the file is replaced when all is written. It does not depend on the number of processes.
        """
        if self.every is not None:
            self.average()
        failure = None
        if self.rank == 0:
            try:
                self._write(os.fspath(path))
            except OSError as error:
                failure = f"{type(error).__name__}: {error}"
        failure = self.comm.bcast(failure)
        if failure is not None:
            raise ProcessError(f"the checkpoint was not written. process 0: {failure}")

    def _write(self, path):
        values = {f"value_{number}": variable.get_value(borrow=True) for number, variable in enumerate(self.updates)}
        with open(f"{path}.part", "wb") as file:
            numpy.savez(file, steps=self.steps, **values)
        os.replace(f"{path}.part", path)

    def restore(self, path: str | os.PathLike[str]) -> None:
        """Read what ``save`` wrote, with this or another number of processes; all must call it.

        Raises
        ------
        ProcessError
            In all processes, if process 0 cannot read the file, or a value does not fit; no value has changed then.
        """
        found, failure = None, None
        if self.rank == 0:
            try:
                found = self._read(os.fspath(path))
            except Exception as error:
                failure = f"{type(error).__name__}: {error}"
        found, failure = self.comm.bcast((found, failure))
        if failure is not None:
            raise ProcessError(f"the checkpoint was not read. process 0: {failure}")
        self.steps, values = found
        self._exchange.rounds = 0
        for variable, value in zip(self.updates, values):
            variable.set_value(value, borrow=True)

    def _read(self, path):
        with numpy.load(path, allow_pickle=False) as file:
            if len(file.files) != len(self.updates) + 1:
                raise ValueError(f"{path} has {len(file.files) - 1} values, the training has {len(self.updates)}")
            values = []
            for number, variable in enumerate(self.updates):
                value, present = file[f"value_{number}"], variable.get_value(borrow=True)
                if (value.dtype, value.shape) != (present.dtype, present.shape):
                    raise ValueError(f"the value of {variable} in {path} is {value.dtype} {value.shape}, the variable "
                                     f"{present.dtype} {present.shape}")
                values.append(value)
            return int(file["steps"]), values


def averaged(updates: Any) -> list[Any]:
    """The variables that ``every`` averages: integers, such as counts of steps, are equal everywhere."""
    return [variable for variable in updates if variable.type.dtype.startswith(("float", "complex"))]


def replicate(updates: Any, gradients: Any = (), comm: Any = None, average: bool = False, deterministic: bool = False,
              every: int | None = None) -> Replica:
    """Train in all processes of a communicator at once, each with a part of the data.

    Parameters
    ----------
    updates : dict or list of pairs
        Of shared variables, as for ``phintys.function``. All processes get the values that process 0 has.
    gradients : list of TensorVariable
        Expressions in the updates that are to be replaced by their sums over the processes.
    comm : mpi4py.MPI.Comm, optional
        Default: ``COMM_WORLD``, all processes that ``mpirun`` started.
    average : bool
        Divide the sums by the number of processes, for costs that are means.
    deterministic : bool
        Add in the order of the processes, so that results repeat bit by bit; costs some time between machines.
    every : int, optional
        Sum no gradients; average the values of the processes after so many calls instead.

    Returns
    -------
    Replica
        ``Replica.function`` makes the function to be called.

    Raises
    ------
    ProcessError
        In all processes, if their variables, values' shapes, gradients or expressions differ.
    TypeError, ValueError
        If a gradient is none that MPI can sum, or does not occur in the updates.

    Examples
    --------
    >>> w = phintys.shared(numpy.zeros(2), "w")
    >>> x = T.dmatrix("x")
    >>> gradients = T.grad(T.sqr(x.dot(w) - 1).sum(), [w])
    >>> replica = phintys.distributed.replicate([(w, w - 0.1 * gradients[0])], gradients)
    >>> train = replica.function([x])
    >>> train(replica.part(numpy.eye(2)))
    []
    >>> w.get_value()
    array([0.2, 0.2])
    """
    from mpi4py import MPI

    updates, gradients = OrderedUpdates(updates), list(gradients)
    _check(updates, gradients, every)
    comm = (MPI.COMM_WORLD if comm is None else comm).Dup()
    agree(comm, "the options of replicate", (average, deterministic, every))
    agree(comm, "the shared variables", [f"{variable}: {variable.type.dtype} {variable.get_value(borrow=True).shape}"
                                         for variable in updates])
    agree(comm, "the gradients", [str(gradient.type) for gradient in gradients])
    agree(comm, "the expressions of the updates, whose digest", _digest([*updates.values(), *gradients]))
    summed = averaged(updates) if every is not None else _in_order_of_completion(gradients)
    exchange = Exchange(comm, [variable.type.dtype for variable in summed], average or every is not None, deterministic)
    replica = Replica(comm, updates if every is not None else _with_sums(updates, summed, exchange), exchange, every)
    replica.broadcast()
    return replica


def _check(updates, gradients, every):
    """Refuse what cannot be summed, or is not there."""
    if every is None and not gradients:
        raise ValueError("replicate needs the gradients that the processes sum, or every= to average values instead")
    if every is not None and (int(every) != every or every < 1):
        raise ValueError(f"every is a number of calls, from 1 on, not {every!r}")
    for what, variables in (("gradient", gradients), ("shared variable", updates)):
        for variable in variables:
            dtype, layout = getattr(variable.type, "dtype", None), variable.type.layout
            is_summed = what == "gradient" or every is not None and variable in averaged([variable])
            if layout is None or layout[2] or is_summed and dtype not in DTYPES:
                raise TypeError(f"MPI cannot sum the {what} {variable} of type {variable.type}: dense arrays of the "
                                f"processor are expected, of {', '.join(sorted(DTYPES))}")
    used = {variable for node in io_toposort((), list(updates.values())) for variable in node.inputs}
    used.update(updates.values())
    for gradient in gradients if every is None else ():
        if gradient not in used:
            raise ValueError(f"the gradient {gradient} occurs in no update, so its sum would have no effect")


def _in_order_of_completion(gradients):
    """Gradients of the last layers first: those that the fewest nodes compute."""
    return sorted(dict.fromkeys(gradients), key=lambda gradient: len(io_toposort((), [gradient])))


def _with_sums(updates, gradients, exchange):
    """The updates with the sums in the place of the gradients."""
    start, before = StartSum(exchange), []
    for gradient in gradients:
        before = [start(gradient, *before)]
    wait = WaitForSums(tuple([gradient.type for gradient in gradients]))
    sums = wait(*before, Constant(generic, exchange, "exchange"), return_list=True)
    return OrderedUpdates(zip(updates, clone_replace(list(updates.values()), dict(zip(gradients, sums)))))


def _digest(outputs):
    """A digest of what expressions compute, without the values of shared variables."""
    numbers: dict[Any, Any] = {}

    def number_of(variable):
        if variable not in numbers:
            constant = digest_of(variable.data) if hasattr(variable, "data") else None
            numbers[variable] = len(numbers), str(variable.type), constant
        return numbers[variable]

    described = []
    for node in io_toposort((), outputs):
        try:
            op = digest_of(node.op)
        except Exception:                           # a user's op that cannot be pickled may raise any error
            op = str(node.op)
        described.append((op, *map(number_of, node.inputs), *map(number_of, node.outputs)))
    return digest_of([described, *map(number_of, outputs)])
