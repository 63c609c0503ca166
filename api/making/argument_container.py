"""``ArgumentContainer``: what ``f.container[x]`` is for an argument of the call.

It holds the value that a call takes when the caller gives none. As in Theano, setting it (``f[x] = 5``) counts for one
call; then the default that was declared is back. It is no `Container` of the virtual machine: arguments live with
their callers. Only when another function is made to read it (``In(y, value=f.container[x])``) does it keep its value in
one. Invariant: a default has passed ``Type.filter``, and belongs to the function alone.
"""
import weakref

import numpy

from phintys.graph.public_names import at_home
from phintys.vm.explaining.runtime_error import filtered
from phintys.vm.machine.container import Container


@at_home
class ArgumentContainer:
    """Storage of the default of one argument.

    Parameters
    ----------
    spec : In
    value : object
        The default; None if there is none.

    Attributes
    ----------
    type : Type
    name : str or None
    required : bool
        The argument has no default.
    default : object
        None if required.
    storage : list
        Its only element is what the next call takes.
    """

    readonly = implicit = False

    def __init__(self, spec, value):
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
    def value(self):
        """What the next call takes."""
        return self.storage[0]

    @value.setter
    def value(self, value):
        self.storage[0] = filtered(self.type, value, self.strict, self.allow_downcast,
                                   lambda: f"the argument {self.name or self.type}")
        function = None if self._function is None else self._function()
        if function is not None:
            function.default_was_set(self)

    data = value

    def taken(self):
        """The value for a call that gives none: a copy where the function may overwrite it."""
        value = self.storage[0]
        return value.copy() if self.overwritten and isinstance(value, numpy.ndarray) else value

    def restore(self):
        """Put the declared default back."""
        self.storage[0] = self.default

    def belong_to(self, function):
        """Tell ``function`` when the value is set."""
        self._function = weakref.ref(function)
        if self.storage[0] is not self.default:     # a copy, made after the default was set
            function.default_was_set(self)

    def twin(self):
        """A container of its own with the same default and value."""
        twin = object.__new__(ArgumentContainer)
        twin.__dict__.update(self.__dict__)
        twin._begin(self.default)
        twin.storage[0] = self.value
        return twin

    def stored(self):
        """The `Container` that keeps the value from now on, for another function to read.

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
