"""Functions with Theano's signatures that take NumPy's further arguments, too: ``T.sum(x, where=mask)``."""
from functools import wraps

from phintys.graph import hooks

TAKES_MORE = 4          # the flag of Python's code objects for ``*arguments``


def with_numpy_arguments(function, name=None, names=None):
    """Decorate a function: a call with arguments that it does not know is a call of NumPy's function of that name.

    Other calls pay for one comparison. NumPy's function is a row of ``numpy_names.FUNCTIONS``; its first argument is
    the function's first one, and the others have the same names.
    """
    code = function.__code__
    names = names or code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]
    positional = names[:code.co_argcount] or names
    known, name, takes_more = frozenset(names), name or function.__name__, code.co_flags & TAKES_MORE

    @wraps(function)
    def either(*arguments, **options):
        further = arguments[len(positional):]
        if known.issuperset(options) or (further and not takes_more):
            return function(*arguments, **options)
        given = {**dict(zip(positional, arguments)), **options}
        first = [given.pop(positional[0])] if positional[0] in given else []
        return hooks.numpy_protocol().row_applied(name, [*first, *further], given)
    return either


def as_numpy(name, names=None):
    """Decorate a function as `with_numpy_arguments` does, by another name of NumPy's, or by the names of arguments."""
    return lambda function: with_numpy_arguments(function, name, names)
