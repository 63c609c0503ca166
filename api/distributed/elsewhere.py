"""Shared variables whose value lives elsewhere: ``phintys.shared(value, target="memory")``.

The variable has a *home*, an object with three methods, and a container in this process with a copy of the value.
A call of a function fetches what has changed, computes with the copies, and stores what it has updated when it has
succeeded: so a call that fails changes no value, here or there. A function that updates such a variable has the homes
locked while it runs, and no update of another process is lost; one that only reads computes without a lock.

``homes`` says what homes there are, and what one has to have.
"""
from __future__ import annotations

from contextlib import ExitStack
from numbers import Number
from typing import Any

import numpy

from phintys.distributed.homes import HOME
from phintys.ops.types.tensor_type import TensorType
from phintys.shared import TensorSharedVariable, shared_constructor


class RemoteSharedVariable(TensorSharedVariable):
    """A shared array whose value is at its home; processes that have the variable share it."""

    home: Any
    known: dict[str, int]               # "version": which version of the value the container has

    def get_value(self, borrow: bool = False, return_internal_type: bool = False) -> Any:
        """The value that was stored last, by whichever process.

        Parameters
        ----------
        borrow : bool
            Return the memory of this process's copy. It stays as it is when another value is stored; do not write to
            it: nobody else would see that.
        return_internal_type : bool
            It has no effect.
        """
        self.fetch()
        return self.container.get(borrow=borrow)

    def set_value(self, new_value: Any, borrow: bool = False) -> None:
        """Replace the value, for all processes; this waits for calls that update it, also in others."""
        with self.home.locked():
            super().set_value(new_value, borrow=borrow)
            self.store()

    def zero(self, borrow: bool = False) -> None:
        """Set all elements to zero."""
        with self.home.locked():
            self.set_value(numpy.zeros_like(self.get_value(borrow=True)))

    def fetch(self) -> None:
        """Let this process's copy be the value at home."""
        with self.home.locked():
            found = self.home.fetch(self.known.get("version", 0), self.type.numpy_dtype)
            if found is not None:
                self.known["version"], value = found
                self.container.set(value, borrow=True)

    def store(self) -> None:
        """Let the value at home be this process's copy."""
        self.known.clear()                              # if this fails, the old value is fetched again
        self.known["version"] = self.home.store(self.container.get(borrow=True))

    def clone(self) -> Any:
        """A variable with the same container and the same home."""
        twin = super().clone()
        twin.home, twin.known = self.home, self.known
        return twin

    def __reduce__(self) -> Any:
        # With its container, because programs are pickled with theirs.
        return found_elsewhere, (self.name, self.type, self.container, self.home)


class Visits:
    """What a function does that reads or updates such variables.

    Parameters
    ----------
    variables : list of RemoteSharedVariable
    updated : list of RemoteSharedVariable
        Some of them.
    """

    def __init__(self, variables: Any, updated: Any) -> None:
        self.variables = sorted(variables, key=lambda variable: variable.home.path)     # all lock in this order
        self.updated = updated

    def run(self, call: Any, positional: Any, named: Any) -> Any:
        """Make a call between fetching and storing."""
        with ExitStack() as stack:
            for variable in self.variables:
                stack.enter_context(variable.home.locked())
            for variable in self.variables:
                variable.fetch()
            if not self.updated:
                stack.close()
            found = call(positional, named)
            for variable in self.updated:
                variable.store()
            return found


RemoteSharedVariable.visits = Visits


def found_elsewhere(name: Any, type_: Any, container: Any, home: Any) -> RemoteSharedVariable:
    """A variable from its pickle: with the same home, so with the same value, which is fetched when it is used."""
    variable = RemoteSharedVariable(name, type_, None, None, container=container)
    variable.home, variable.known = home, {}
    return variable


@shared_constructor
def elsewhere_constructor(value: Any, name: str | None = None, strict: bool = False, allow_downcast: Any = None,
                          borrow: bool = False, broadcastable: Any = None, target: Any = None) -> Any:
    """Store an array at a home: in shared memory, or where ``target`` keeps it."""
    is_home = all(hasattr(target, name) for name in HOME)
    if not (target == "memory" or is_home) or not isinstance(value, (numpy.ndarray, numpy.generic, Number)):
        raise TypeError("the value has no home")
    if target == "memory":
        from phintys.distributed.shared_memory import SharedMemory  # not every system has its locks

        target = SharedMemory()
    value = numpy.asarray(value)
    pattern = (False,) * value.ndim if broadcastable is None else broadcastable
    variable = RemoteSharedVariable(name, TensorType(value.dtype, pattern), value, strict, allow_downcast)
    variable.home, variable.known = target, {}
    with variable.home.locked():
        variable.store()
    return variable
