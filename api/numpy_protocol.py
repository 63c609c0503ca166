"""NumPy's functions on symbolic tensors: ``numpy.concatenate([x, y])`` is ``phintys.tensor.concatenate([x, y])``.

NumPy passes a call with a symbolic argument to the argument's class (``__array_function__``, ``__array_ufunc__``),
which passes it to this file. A row of ``numpy_names.FUNCTIONS`` names the equivalent function of the tensor namespace
and the arguments it takes; unsupported arguments (``out``) and functions without a row raise an error.
Common ufuncs are handled in ``ops/operators.py`` instead.

With ``config.theano_rules``, variables are also elements of arrays of objects, as they are to NumPy in Theano's
programs: ``numpy.prod([rows, 2])``, ``numpy.atleast_1d(x)[0] is x``.
"""
from __future__ import annotations

from importlib import import_module
from operator import attrgetter
from sys import modules
from typing import TYPE_CHECKING, Any

import numpy

from phintys import numpy_names
from phintys.graph.config import config
from phintys.graph.variable import Variable
from phintys.numpy_names import UFUNCS
from phintys.numpy_namesakes import NAMESAKES, as_array, tensor
from phintys.ops.types.axes import one_axis
from phintys.ops.types.constant import constant
from phintys.ops.types.dtypes import reduced_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FUNCTIONS = {**numpy_names.FUNCTIONS, **NAMESAKES}


# ---- arrays of variables ---------------------------------------------------------------------------------------------
# Functions that put variables into arrays of objects, with ``config.theano_rules``. In Theano others did the same, or
# failed; none of these results was of use.
OF_OBJECTS = frozenset("atleast_1d atleast_2d atleast_3d stack hstack vstack append tile broadcast_to ravel".split())


def as_objects(things: Any) -> Any:
    """Return arguments of a NumPy function with arrays of rank 0, which contain variables, in place of variables."""
    if isinstance(things, Variable):
        holder = numpy.empty((), dtype=object)
        holder[()] = things
        return holder
    return type(things)(map(as_objects, things)) if type(things) in (list, tuple) else things


def has_objects(things: Any) -> Any:
    """Whether arrays of objects are among the arguments: NumPy handles these itself."""
    return any(isinstance(thing, numpy.ndarray) and thing.dtype == object for thing in things)


# ---- calls -----------------------------------------------------------------------------------------------------------
def call_function(function: Callable[..., Any], arguments: Any, options: Any) -> Any:
    """Apply a NumPy function to arguments, some of which are symbolic; see ``__array_function__``.

    Raises
    ------
    TypeError
        If the function, or one of the arguments, is not supported.
    """
    name = f"{function.__module__}.{function.__qualname__}".removeprefix("numpy.")
    if config.theano_rules and name in OF_OBJECTS:
        return function(*as_objects(arguments), **options)
    if name not in FUNCTIONS:
        raise TypeError(f"numpy.{name} is not supported on symbolic variables; look for a similar function "
                        "in phintys.tensor")
    required = FUNCTIONS[name][1].partition("|")[0].split()
    if len(arguments) > len(required) and not FUNCTIONS[name][1].startswith("*"):
        arguments, options = _named(name, function, arguments, options)
    return row_applied(name, arguments, options)


def _named(name, function, arguments, options):
    """Positional arguments by NumPy's names: a row leaves out ``out`` and others, which may be what they are anyway."""
    from inspect import signature
    try:
        parts = [part for part in signature(function).parameters.values() if part.kind != part.KEYWORD_ONLY]
    except ValueError:                                  # functions in C: their rows have their order
        return arguments, options
    if len(arguments) > len(parts):
        return arguments, options
    given = {part.name: value for part, value in zip(parts, arguments) if value is not part.default}
    return (), {**given, **options}


def row_applied(name, arguments, options):
    """Apply the row called ``name`` to the arguments of NumPy's function."""
    target, signature = FUNCTIONS[name]
    choosing = numpy_names.CHOOSING.get(name, "").split()
    positional, named = _bound(name, signature, choosing, arguments, options)
    if named.get("dtype") is not None:
        named["dtype"] = numpy.dtype(named["dtype"]).name
    if name in numpy_names.OF_ARRAYS:
        positional = [numpy.asarray(part) if isinstance(part, (list, tuple)) and not has_variables(part)
                      else as_array(part) for part in positional]
    if named.get("axis") in (None, 0, -1) and name in numpy_names.AT_LEAST_VECTORS:
        positional[0] = tensor().atleast_1d(as_array(positional[0]))
    if [option for option in choosing if named.get(option) is not None]:
        return import_module("phintys.ops.compositions.masked").reduced(name, *positional, **named)
    named = {option: value for option, value in named.items() if option not in choosing}
    return (attrgetter(target)(tensor()) if isinstance(target, str) else target)(*positional, **named)


def _bound(name, signature, choosing, arguments, options):
    """Convert arguments of NumPy's function to positional and keyword arguments of the tensor namespace's."""
    required, optional, ineffective = [part.split() for part in f"{signature}||".split("|")[:3]]
    options = _without_effect(name, options, ineffective)
    if signature.startswith("*"):
        return [*map(as_array, arguments)], _checked_names(name, options, optional)
    names = required + optional + choosing
    if len(arguments) > len(names):
        raise TypeError(f"numpy.{name} of a symbolic variable takes {len(names)} arguments, {', '.join(names)}; "
                        f"{len(arguments)} were given")
    given = dict(zip(names, arguments))
    given.update(_checked_names(name, options, names))
    missing = [part for part in required if part not in given]
    if missing:
        raise TypeError(f"numpy.{name} of a symbolic variable: missing {', '.join(missing)}")
    return [given[part] for part in required], {part: given[part] for part in names[len(required):] if part in given}


def _without_effect(name, options, ineffective):
    """The options but those that cannot make a difference for variables, if they have one of NumPy's values."""
    for option in ineffective:
        allowed = numpy_names.WITHOUT_EFFECT[option]
        if option in options and options[option] not in allowed:
            raise ValueError(f"numpy.{name} of a symbolic variable: {option} must be one of "
                             f"{', '.join(map(repr, allowed))}, got {options[option]!r}")
    return {option: value for option, value in options.items() if option not in ineffective}


def _checked_names(name, options, names):
    options = {option: value for option, value in options.items() if option != "out" or value is not None}
    wrong = [option for option in options if option not in names]
    if wrong:
        raise TypeError(f"numpy.{name} of a symbolic variable does not take {wrong[0]}={options[wrong[0]]!r}; it takes "
                        f"{', '.join(names) or 'only variables'}")
    return options


# ---- ufuncs that are not in the table of scalar ops, or are called in an uncommon way -------------------------------
ACCUMULATED = {"add": "cumsum", "multiply": "cumprod"}
REDUCTIONS = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all",
              "logical_or": "any"}


def call_ufunc(ufunc: Any, method: Any, inputs: Sequence[Variable], options: Any, known: Any) -> Any:
    """Apply a ufunc to arguments, some of which are symbolic; see ``__array_ufunc__``.

    ``known`` has the ufuncs that are in the table of scalar ops. ``NotImplemented`` makes NumPy raise the ``TypeError``
    that names the ufunc.
    """
    if config.theano_rules and has_objects(inputs):
        return getattr(ufunc, method)(*as_objects(inputs), **options)
    name = ufunc.__name__
    if method == "reduce" and name in REDUCTIONS:
        options = {option: value for option, value in options.items() if value is not None or option == "axis"}
        given = {"axis": 0, **options}
        if len(inputs) > 1:
            given["axis"] = inputs[1]
        return row_applied(REDUCTIONS[name], inputs[:1], given)
    function = known.get(name) or (getattr(tensor(), name) if name in UFUNCS else _of_scipy(ufunc))
    named = {option: options.pop(option) for option in UFUNCS.get(name, ()) if option in options}
    if method == "outer" and function is not None:
        x, y = map(tensor().as_tensor_variable, map(as_array, inputs))
        inputs = x.dimshuffle(*range(x.ndim), *["x"] * y.ndim), y
    elif method == "accumulate" and function is not None:
        return _accumulated(ufunc, function, *inputs, **options)
    elif function is None or method != "__call__":
        return NotImplemented
    if config.theano_rules and not options:
        return function(*inputs, **named)
    return _in_dtypes_of_numpy(ufunc, function, inputs, named, **_checked_names(
        name, _without_effect(name, options, ("order", "subok")), ("dtype", "casting")))


def _of_scipy(ufunc):
    """Our function of the name, if the ufunc is one of ``scipy.special``, which whoever calls it has imported."""
    name, special = ufunc.__name__, modules.get("scipy.special")
    name = {"_zeta": "zeta"}.get(name, name)
    if ufunc not in (getattr(special, name, None), getattr(modules.get("scipy.special._ufuncs"), ufunc.__name__, None)):
        return None
    return getattr(tensor().special, name, None)


def _in_dtypes_of_numpy(ufunc, function, inputs, named, dtype=None, casting="same_kind"):
    """A ufunc of operands in the dtypes in which NumPy computes it: Python's numbers have those of the others."""
    if dtype is None and casting == "same_kind" and all([hasattr(operand, "dtype") for operand in inputs]):
        return function(*inputs, **named)
    inputs = [operand if isinstance(operand, (int, float, complex)) else tensor().as_tensor_variable(
        numpy.asarray(operand) if isinstance(operand, (list, tuple)) and not has_variables(operand) else operand)
        for operand in inputs]
    kinds = [numpy.dtype(operand.dtype if hasattr(operand, "dtype") else bool) if isinstance(operand, bool) or hasattr(
        operand, "dtype") else type(operand) for operand in inputs]
    wanted = {} if dtype is None else {"signature": (None,) * ufunc.nin + (numpy.dtype(dtype),) * ufunc.nout}
    dtypes = [kind.name for kind in ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout), casting=casting, **wanted)]
    results = function(*[tensor().cast(operand, dtype) if hasattr(operand, "dtype") else constant(operand, dtype=dtype)
                         for operand, dtype in zip(inputs, dtypes)], **named)
    if ufunc.nout == 1:
        return tensor().cast(results, dtypes[-1])
    return [tensor().cast(result, dtype) for result, dtype in zip(results, dtypes[ufunc.nin:])]


def has_variables(things):
    """Whether a nested list has variables."""
    return any([has_variables(thing) if isinstance(thing, (list, tuple)) else isinstance(thing, Variable)
                for thing in things])


def _accumulated(ufunc, function, x, axis=0, dtype=None, out=None):
    """``numpy.add.accumulate`` and the like, of any ufunc of two operands whose result has their dtype."""
    if ufunc.__name__ in ACCUMULATED:
        if dtype is None and x.type.dtype != "bool":           # as cumsum, but small integers stay small
            dtype = reduced_dtype(x.type.dtype)
        return row_applied(ACCUMULATED[ufunc.__name__], (x,), {"axis": axis, "dtype": dtype})
    x = x if dtype is None else tensor().cast(x, numpy.dtype(dtype).name)
    kind = numpy.dtype(x.type.dtype)
    if ufunc.resolve_dtypes((kind, kind, None))[2] != kind:
        return NotImplemented
    from phintys.scan_module import scan  # here: few programs have such loops
    x = tensor().moveaxis(x, one_axis(f"numpy.{ufunc.__name__}.accumulate", x, axis), 0)
    following = scan(lambda row, found: tensor().cast(function(found, row), x.type.dtype), sequences=x[1:],
                     outputs_info=x[0])[0]
    return tensor().moveaxis(tensor().concatenate([x[:1], following], axis=0), 0, axis)
