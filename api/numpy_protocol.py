"""NumPy's functions on symbolic tensors: ``numpy.concatenate([x, y])`` is ``phintys.tensor.concatenate([x, y])``.

NumPy passes a call with a symbolic argument to the argument's class (``__array_function__``, ``__array_ufunc__``),
which passes it to this file. A row of ``numpy_names.FUNCTIONS`` names the equivalent function of the tensor namespace
and the arguments it takes; unsupported arguments (``out``) and functions without a row raise an error.
Common ufuncs are handled in ``ops/operators.py`` instead.

With ``config.theano_rules``, variables are also elements of arrays of objects, as they are to NumPy in Theano's
programs: ``numpy.prod([rows, 2])``, ``numpy.atleast_1d(x)[0] is x``.
"""
from __future__ import annotations

from collections import namedtuple
from importlib import import_module
from operator import attrgetter
from sys import modules
from typing import TYPE_CHECKING, Any

import numpy

from phintys import numpy_names
from phintys.graph.config import config
from phintys.graph.variable import Constant, Variable
from phintys.numpy_names import UFUNCS
from phintys.numpy_namesakes import NAMESAKES, as_array, tensor
from phintys.numpy_refusals import refusal
from phintys.ops.operators import UFUNCS as ELEMENTWISE
from phintys.ops.types.axes import one_axis, several_axes
from phintys.ops.types.constant import constant
from phintys.ops.types.dtypes import in_bounds, integer_dtypes, reduced_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FUNCTIONS = {**numpy_names.FUNCTIONS, **NAMESAKES}
NAMES = {getattr(function, "scalar_op", None): name for name, function in ELEMENTWISE.items()}    # of scalar ops
# Functions whose results have names.
RESULTS = {name: namedtuple(f"{name.removeprefix('linalg.').capitalize()}Result", names) for name, names in {
    "linalg.eig": "eigenvalues eigenvectors", "linalg.eigh": "eigenvalues eigenvectors", "linalg.qr": "Q R",
    "linalg.slogdet": "sign logabsdet", "linalg.svd": "U S Vh"}.items()}


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
        raise TypeError(refusal(name))
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
    found = (attrgetter(target)(tensor()) if isinstance(target, str) else target)(*positional, **named)
    if name in RESULTS and isinstance(found, (list, tuple)):
        return RESULTS[name](*found)
    return found


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
COMPARISONS = (numpy.equal, numpy.not_equal, numpy.less, numpy.less_equal, numpy.greater, numpy.greater_equal)
ACCUMULATED = {"add": "cumsum", "multiply": "cumprod"}
REDUCTIONS = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all",
              "logical_or": "any", "fmax": "nanmax", "fmin": "nanmin"}


def call_ufunc(ufunc: Any, method: Any, inputs: Sequence[Variable], options: Any, known: Any) -> Any:
    """Apply a ufunc to arguments, some of which are symbolic; see ``__array_ufunc__``.

    ``known`` has the ufuncs that are in the table of scalar ops. ``NotImplemented`` makes NumPy raise the ``TypeError``
    that names the ufunc.
    """
    if config.theano_rules and has_objects(inputs):
        return getattr(ufunc, method)(*as_objects(inputs), **options)
    name = ufunc.__name__
    if method == "reduce":
        axis = inputs[1] if len(inputs) > 1 else options.get("axis", 0)
        options = {**{option: value for option, value in options.items() if value is not None}, "axis": axis}
        inputs = inputs[:1]
        if name in REDUCTIONS:
            return row_applied(REDUCTIONS[name], inputs, options)
    function = known.get(name) or (getattr(tensor(), name) if name in UFUNCS else _of_scipy(ufunc))
    named = {option: options.pop(option) for option in UFUNCS.get(name, ()) if option in options}
    if method == "outer" and function is not None:
        x, y = map(tensor().as_tensor_variable, map(as_array, inputs))
        inputs = x.dimshuffle(*range(x.ndim), *["x"] * y.ndim), y
    elif method in METHODS and function is not None:
        return METHODS[method](ufunc, function, *inputs, **options)
    elif function is None or method != "__call__":
        return NotImplemented
    if config.theano_rules and not options:
        return function(*inputs, **named)
    if options.get("where") is True:
        del options["where"]
    return _in_dtypes_of_numpy(ufunc, function, inputs, named, **_checked_names(
        name, _without_effect(name, options, ("order", "subok")), ("dtype", "casting")))


def of_elementwise(op: Any, inputs: Sequence[Any], options: Any, method: str = "__call__") -> Any:
    """Call NumPy's function that computes what an elementwise op does, with arguments that the op does not take.

    Raises
    ------
    TypeError
        If there is no such function, or it does not take them.
    """
    name = NAMES.get(op.scalar_op, op.scalar_op.name)
    name = "where" if name == "switch" else name
    if method == "__call__" and name in FUNCTIONS:
        return row_applied(name, inputs, options)
    ufunc = getattr(numpy, name, None)
    if isinstance(ufunc, numpy.ufunc):
        inputs = [tensor().as_tensor_variable(operand) if isinstance(operand, (list, tuple)) else operand
                  for operand in inputs]
        found = call_ufunc(ufunc, method, inputs, {**options}, ELEMENTWISE)
        if found is not NotImplemented:
            return found
    raise TypeError(f"{op} has no {method}, and takes no {', '.join(options)}" if method != "__call__" else
                    f"{op} takes no {', '.join(options)}")


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
    compared = _beyond_range(ufunc, inputs)
    if compared is not None:
        return compared
    kinds = [numpy.dtype(operand.dtype if hasattr(operand, "dtype") else bool) if isinstance(operand, bool) or hasattr(
        operand, "dtype") else type(operand) for operand in inputs]
    wanted = {} if dtype is None else {"signature": (None,) * ufunc.nin + (numpy.dtype(dtype),) * ufunc.nout}
    dtypes = [kind.name for kind in ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout), casting=casting, **wanted)]
    if ufunc is numpy.power and type(inputs[1]) is int and inputs[1] < 0 and dtypes[-1] in integer_dtypes:
        raise ValueError("Integers to negative integer powers are not allowed.")
    results = function(*[tensor().cast(operand, dtype) if hasattr(operand, "dtype") else constant(
        in_bounds(operand, dtype), dtype=dtype) for operand, dtype in zip(inputs, dtypes)], **named)
    if ufunc.nout == 1:
        return tensor().cast(results, dtypes[-1])
    return [tensor().cast(result, dtype) for result, dtype in zip(results, dtypes[ufunc.nin:])]


def _beyond_range(ufunc, inputs):
    """A comparison of integers with a Python number that is beyond their range: for all the same; otherwise None."""
    x = next((operand for operand in inputs if hasattr(operand, "dtype")), None)
    if ufunc not in COMPARISONS or x is None or x.type.dtype not in integer_dtypes:
        return None
    limits = numpy.iinfo(x.type.dtype)
    if all([type(operand) is not int or limits.min <= operand <= limits.max for operand in inputs]):
        return None
    return tensor().full_like(x, ufunc(*[operand if type(operand) is int else 0 for operand in inputs]), "bool")


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
    x = _of_one_dtype(ufunc, x, dtype)
    if x is None:
        return NotImplemented
    x = tensor().moveaxis(x, one_axis(f"numpy.{ufunc.__name__}.accumulate", x, axis), 0)
    following = _steps(function, x[1:], x[0])
    return tensor().moveaxis(tensor().concatenate([x[:1], following], axis=0), 0, axis)


def _of_one_dtype(ufunc, x, dtype):
    """``x`` in the dtype that a ufunc of two such operands has; None if there is none."""
    kind = numpy.dtype(dtype or x.type.dtype)
    kind = ufunc.resolve_dtypes((kind, kind, None))[2]
    return tensor().cast(x, kind.name) if ufunc.resolve_dtypes((kind, kind, None))[2] == kind else None


def _steps(function, rows, first):
    from phintys.scan_module import scan  # here: few programs have such loops
    return scan(lambda row, found: tensor().cast(function(found, row), first.type.dtype), sequences=rows,
                outputs_info=first)[0]


def _reduced(ufunc, function, x, axis=0, dtype=None, keepdims=False, initial=None, where=True):
    """``numpy.logaddexp.reduce`` and the like, of any ufunc of two operands whose result has their dtype."""
    name = ufunc.__name__
    if where is not True:
        raise TypeError(f"numpy.{name}.reduce of a symbolic variable does not take where={where!r}")
    x = _of_one_dtype(ufunc, tensor().as_tensor_variable(x), dtype)
    if x is None:
        return NotImplemented
    axes = several_axes(f"numpy.{name}.reduce", x, axis)
    ufunc.reduce(numpy.ones((1,) * x.type.ndim, x.type.dtype), axis=tuple(axes))    # refuses several axes of - and /
    if ufunc.identity is None and initial is None:
        first, skipped = 0, 1
    else:
        first, skipped = ufunc.identity if initial is None else initial, 0
    others = [number for number in range(x.type.ndim) if number not in axes]
    x = tensor().transpose(x, [*axes, *others])
    x = tensor().reshape(x, [-1, *[x.shape[number] for number in range(len(axes), x.type.ndim)]])
    first = x[0] if skipped else tensor().full_like(x.sum(0), numpy.asarray(first, x.type.dtype), x.type.dtype)
    steps = _steps(function, x[skipped:], first)
    found = tensor().concatenate([tensor().shape_padleft(first), steps])[-1]
    return tensor().expand_dims(found, sorted(axes)) if keepdims else found


def _reduced_between(ufunc, function, x, indices, axis=0, dtype=None):
    """``numpy.add.reduceat``: reductions of slices between indices, which are numbers."""
    indices = indices.data if isinstance(indices, Constant) else indices
    if has_variables([indices]):
        raise TypeError(f"numpy.{ufunc.__name__}.reduceat: the indices must be numbers, got {indices}")
    axis = one_axis(f"numpy.{ufunc.__name__}.reduceat", x, axis)
    begins = [int(index) for index in indices]
    parts = []
    for begin, end in zip(begins, [*begins[1:], None]):
        if begin < 0:
            raise IndexError(f"numpy.{ufunc.__name__}.reduceat: index {begin} is negative")
        end = begin + 1 if end is not None and end <= begin else end
        rows = x[(slice(None),) * axis + (slice(begin, end),)]
        parts.append(call_ufunc(ufunc, "reduce", (rows,), {"axis": axis, "dtype": dtype}, {ufunc.__name__: function}))
    return tensor().stack(parts, axis=axis)


METHODS = {"accumulate": _accumulated, "reduce": _reduced, "reduceat": _reduced_between}
