"""The value of a symbolic integer at compile time, if constants and static shapes determine it."""
from phintys.graph.variable import Constant

_readers = {}           # class of op → function that takes a node and returns the variable or int equal to its output


def known_integer(variable):
    """The value of a 0-d variable (or a Python number) if it does not depend on any input, else None.

    Supports constants, casts, ``x.shape[i]`` of a static shape, and elements of a vector made of scalars.
    """
    while variable is not None:
        if not hasattr(variable, "type"):
            if isinstance(variable, str):
                return None
            return int(variable) if int(variable) == variable else None
        if isinstance(variable, Constant):
            if variable.data.size != 1 or variable.data.dtype.kind not in "iub":
                return None
            return int(variable.data.reshape(()))
        if variable.owner is None:
            return None
        reader = _readers.get(type(variable.owner.op))
        variable = reader(variable.owner) if reader else None
    return None


def passes_on(op_class):
    """Decorator for a function that returns the variable or int to which the output of a node of ``op_class`` is equal,
    or None."""
    def register(function):
        _readers[op_class] = function
        return function
    return register
