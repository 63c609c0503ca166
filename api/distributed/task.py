"""A compiled function in the form in which it travels: the bytes of its program, linked once a process.

Schedulers unpickle a function for every task. A ``Task`` is unpickled to the one of its process that has the same
bytes; so a worker verifies a program and makes its kernels once. Results have memory of their own, whatever the
function borrows, and arguments are never written to: blocks and messages belong to the scheduler.
"""
from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from hashlib import sha256
from importlib import import_module
from threading import RLock
from typing import Any

import numpy

from phintys.graph.errors import with_details
from phintys.vm.callables.callable import Callable
from phintys.vm.files.functions import dumps, loads, refuse_updates

MOST_LINKED = 64                # programs that a process keeps


class _AnyModule:
    """A pickle may name any module, so a program in one may, too."""

    def __contains__(self, module):
        return True


class Task:
    """A function for schedulers: its pickle is small, its token depends only on what it computes, and it has no state.

    Parameters
    ----------
    content : bytes
        Those of a saved program, or of a pickle.
    is_program : bool

    Attributes
    ----------
    token : str
        The digest of the content.

    Examples
    --------
    >>> import pickle
    >>> x = T.dvector("x")
    >>> task = phintys.distributed.as_task(phintys.function([x], x * 2, name="double"))
    >>> task([1, 2]), pickle.loads(pickle.dumps(task)) is task
    (array([2., 4.]), True)
    """

    def __init__(self, content: bytes, is_program: bool, token: str) -> None:
        self.content, self.is_program, self.token = content, is_program, token
        self.function = loads(content, _AnyModule()) if is_program else pickle.loads(content)
        program = self.function.program
        self.name = self.function.name
        self.types = program.argument_types
        self.results = program.result_cells()
        self._overwritten = [number for number, cell in enumerate(program.cells[:program.n_arguments])
                             if cell.access == "mutable"]
        self._is_borrowing = any([cell.access in ("lent", "shown") for cell in self.results])

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call the function."""
        if self._overwritten:
            arguments = [numpy.array(value) if number in self._overwritten else value
                         for number, value in enumerate(arguments)]
            named = {name: numpy.array(value) for name, value in named.items()}
        found = self.function(*arguments, **named)
        return _copied(found) if self._is_borrowing else found

    def at(self, place: str, *arguments: Any) -> Any:
        """Call the function; an error says where its arguments are from."""
        try:
            return self(*arguments)
        except Exception as error:
            raise with_details(error, f"This happened in {place} of {self!r}.") from error.__cause__

    def __reduce__(self) -> Any:
        return received, (self.content, self.is_program)

    def __dask_tokenize__(self) -> Any:
        return "phintys task", self.token

    def __repr__(self) -> str:
        return f"<task {self.name!r}>"


class UnreadableTask(Task):
    """A task that this process cannot read: of another version of phintys, or with ops whose module is not here.

    Unpickling raises nothing, as a worker of Dask that cannot read a message ends, and then the next one; calls do.
    """

    def __init__(self, content: bytes, is_program: bool, token: str, error: Exception) -> None:
        self.content, self.is_program, self.token, self.error = content, is_program, token, error
        self.name = None

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Raise the error."""
        raise TypeError(f"this process cannot read the task: {type(self.error).__name__}: {self.error}") from self.error


def as_task(function: Any) -> Task:
    """A compiled function, or one that was loaded, as a ``Task``.

    Parameters
    ----------
    function : Function or SavedFunction
        It must update no shared variable; the present values of those that it reads are part of the task.

    Raises
    ------
    TypeError
        If it is no such function, or its calls change shared variables or states: a scheduler runs a task again if a
        worker dies, on any of them, so nobody could say how often an update was made.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> phintys.distributed.as_task(phintys.function([x], x * 2, name="double"))
    <task 'double'>
    """
    if isinstance(function, Task):
        return function
    if not isinstance(function, Callable):
        raise TypeError(f"a compiled function is expected, from phintys.function or phintys.load, not {function!r}")
    refuse_updates(function)
    try:
        content, is_program = dumps(function), True
    except TypeError:                       # an op that only a pickle can carry
        content, is_program = _pickled(function), False
    return linked(content, is_program)


_tasks: OrderedDict[str, Task] = OrderedDict()
_lock = RLock()                # reading a task may read another, which an op of it holds


def linked(content: bytes, is_program: bool) -> Task:
    """The task of this process that has the same bytes."""
    token = sha256(content).hexdigest()
    with _lock:
        if token not in _tasks:
            _tasks[token] = Task(content, is_program, token)
            if len(_tasks) > MOST_LINKED:
                _tasks.popitem(last=False)
        _tasks.move_to_end(token)
        return _tasks[token]


def received(content: bytes, is_program: bool) -> Task:
    """The same for a task that was sent; tasks are unpickled by it."""
    try:
        return linked(content, is_program)
    except Exception as error:
        return UnreadableTask(content, is_program, sha256(content).hexdigest(), error)


def _pickled(function):
    """The pickle of a function, also of one with code of the program that is running, by cloudpickle if it is there.

    cloudpickle copies the code of what is defined in a module that is not imported yet, so those of phintys are.
    """
    try:
        import cloudpickle
    except ImportError:
        return pickle.dumps(function)

    class Pickler(cloudpickle.Pickler):
        def reducer_override(self, thing):
            if (getattr(thing, "__module__", None) or "").startswith("phintys."):
                import_module(thing.__module__)
            return super().reducer_override(thing)

    stream = io.BytesIO()
    Pickler(stream).dump(function)
    return stream.getvalue()


def _copied(found):
    """Results in memory of their own."""
    if isinstance(found, dict):
        return {key: _copied(value) for key, value in found.items()}
    if isinstance(found, list):
        return [_copied(value) for value in found]
    return found.copy() if isinstance(found, numpy.ndarray) else found
