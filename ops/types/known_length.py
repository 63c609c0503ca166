"""What is known about a symbolic integer before running: its value, when constants and static shapes give it."""
from phintys.graph.variable import Constant

_readers = {}           # class of op → function from a node's owner to the variable, or the int, that it passes on


def known_integer(variable):
    """The value of a 0-d variable (or a Python number) that does not depend on any input, or None.

    Looks through constants, casts, ``x.shape[i]`` of a static shape, and elements of a vector made of scalars.
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
    """Decorate a function that says which variable or int a node of ``op_class`` passes on, or None."""
    def register(function):
        _readers[op_class] = function
        return function
    return register
