"""``ArgumentContainer``: the type of ``f.container[x]`` for an argument of the call.

It holds the value that a call uses if the caller does not pass the argument. As in Theano, a value that is set
(``f[x] = 5``) counts for one call; then the declared default is restored. It is not a `Container` of the virtual
machine, because arguments belong to their callers. Its value is moved to a `Container` only when another function that
reads it is made (``In(y, value=f.container[x])``). Invariant: a default has passed ``Type.filter``, and no other
reference to its memory exists.
"""
from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

import numpy

from phintys.graph.public_names import at_home
from phintys.vm.containers.container import Container
from phintys.vm.explaining.runtime_error import filtered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.io import In
    from phintys.making.compiled_function import Function


@at_home
class ArgumentContainer:
    """Storage of the default of one argument.

    Parameters
    ----------
    spec : In
    value : object
        The default, or None.

    Attributes
    ----------
    type : Type
    name : str or None
    required : bool
        The argument has no default.
    default : object
        None if the argument is required.
    storage : list
        Its only element is the value that the next call uses.

    Examples
    --------
    >>> x = T.dscalar("x")
    >>> f = phintys.function([phintys.In(x, value=3.0)], x * 2)
    >>> f.container[x].value
    array(3.)
    """

    readonly = implicit = False

    def __init__(self, spec: In, value: float | Sequence[float] | None) -> None:
        self.type = spec.variable.type
        self.name = spec.name
        self.strict = bool(spec.strict)
        self.allow_downcast = spec.allow_downcast
        self.overwritten = bool(spec.mutable)
        self.required = value is None
        self._begin(None if self.required else self._own(value))

    def _own(self, value):
        converted = self._filtered(value)
        return converted.copy() if isinstance(converted, numpy.ndarray) else converted

    def _begin(self, default):
        self.default = default
        self.storage = [default]
        self._stored = None
        self._function = None

    def _filtered(self, value):
        return self.type.filter(value, strict=self.strict, allow_downcast=self.allow_downcast)

    @property
    def value(self) -> numpy.ndarray | None:
        """The value that the next call uses."""
        return self.storage[0]

    @value.setter
    def value(self, value: float) -> None:
        self.storage[0] = filtered(self.type, value, self.strict, self.allow_downcast,
                                   lambda: f"the argument {self.name or self.type}")
        function = None if self._function is None else self._function()
        if function is not None:
            function.default_was_set(self)

    data = value

    def taken(self) -> numpy.ndarray:
        """Return the value for a call that gives none: a copy if the function may overwrite it."""
        value = self.storage[0]
        return value.copy() if self.overwritten and isinstance(value, numpy.ndarray) else value

    def restore(self) -> None:
        """Restore the declared default."""
        self.storage[0] = self.default

    def belong_to(self, function: Function) -> None:
        """Register the function, which is told when the value is set."""
        self._function = weakref.ref(function)
        if self.storage[0] is not self.default:     # a copy, made after the default was set
            function.default_was_set(self)

    def twin(self) -> ArgumentContainer:
        """Return a separate container with the same default and value."""
        twin = object.__new__(ArgumentContainer)
        twin.__dict__.update(self.__dict__)
        twin._begin(self.default)
        twin.storage[0] = self.value
        return twin

    def stored(self) -> Container:
        """Return the `Container` that holds the value from now on, so that another function can read it.

        Raises
        ------
        TypeError
            If the argument has no default.
        """
        if self._stored is None:
            if self.required:
                raise TypeError(f"the container of the argument {self.name or self.type} has no value that another "
                                "function could read: the argument has no default")
            self._stored = Container(self.type, self.value, self.name, False, self.strict, self.allow_downcast)
            self.storage = self._stored.storage
        return self._stored

    def __getstate__(self):
        state = self.__dict__ | {"_function": None}
        if self._stored is not None:
            del state["storage"]
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)
        if self._stored is not None:
            self.storage = self._stored.storage

    def __repr__(self):
        return f"<{self.value!r}>"
