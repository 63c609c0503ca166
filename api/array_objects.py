"""Arrays of the array API standard whose lengths are known, for code of other libraries that asks for them.

SciPy and scikit-learn compare lengths with numbers (``x.shape[0] < 2``), assign elements and compare by ``==``; tensor
variables have symbolic lengths, and ``==`` of them compares identities. An `Array` of this module stands for a variable
and the lengths of its dimensions. The functions of this module are those of `phintys.array_api` for such arrays; they
build the same graphs. `traced` makes arrays of variables, calls a function, and returns its results as variables.
"""
from __future__ import annotations

from functools import partial
from inspect import signature
from sys import _getframe, modules
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy

from phintys import array_api
from phintys.array_api import matching
from phintys.graph.variable import Variable
from phintys.numpy_namesakes import tensor
from phintys.ops.identity.assertion import Check
from phintys.ops.types.constant import as_tensor_variable
from phintys.optimizer.passes.shapes import ShapeFeature
from phintys.reports.predicted_shapes import KnownShapes

if TYPE_CHECKING:
    from collections.abc import Callable

NUMBERS = (bool, int, float, complex, numpy.generic, numpy.ndarray)


class _Lengths:
    """What is known of the lengths of variables, for all arrays that are made from some inputs."""

    def __init__(self, conditions=None):
        self.known, self.feature = KnownShapes(), ShapeFeature()
        self.conditions, self.asked = conditions, []

    def of(self, variable):
        """The shape of a variable, or None if it depends on values."""
        return self.known.shape(variable, self.feature)

    def truth(self, variable):
        """What a condition is taken to be that depends on values, or None."""
        # array-api-compat asks for the truth of an element to see whether elements may be asked for.
        if self.conditions is None or _getframe(2).f_code.co_name == "is_lazy_array":
            return None
        self.asked.append(variable)
        return self.conditions

    def checked(self, variable):
        """A result that fails when it runs if a condition was taken to be what it is not."""
        for condition in self.asked:
            holds = tensor().neq(condition, 0)
            variable = Check(f"traced: {condition} was taken to be {self.conditions}, which it is not", "ValueError")(
                variable, holds if self.conditions else tensor().invert(holds))
        return variable


class Array:
    """A variable whose lengths are known; see `traced`.

    Parameters
    ----------
    variable : TensorVariable
    lengths : object
        What is known of lengths; arrays that are computed from others share it.

    Examples
    --------
    >>> from phintys.array_objects import traced
    >>> traced(lambda x: x.shape, T.tensor(shape=(3, 4)))
    (3, 4)
    """

    __hash__ = None
    __array_ufunc__ = None                      # NumPy's operators leave the work to ours

    def __init__(self, variable: Any, lengths: Any) -> None:
        self._lengths, self._shape = lengths, lengths.of(variable)
        if self._shape is not None:             # a length of 1 is repeated where the type declares it
            ones = [length == 1 for length in self._shape]
            if ones != [*variable.type.broadcastable]:
                variable = tensor().patternbroadcast(variable, ones)
        self.variable = variable

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the dimensions."""
        if self._shape is None:
            raise ValueError(f"the shape of {self.variable} depends on values, so its lengths are not known")
        return self._shape

    dtype = property(lambda self: self.variable.type.dtype)
    ndim = property(lambda self: self.variable.type.ndim)
    size = property(lambda self: int(numpy.prod(self.shape, dtype="int64")))
    device = property(lambda self: "cpu")
    T = property(lambda self: _called(lambda x: x.T, self))
    mT = property(lambda self: _called(lambda x: x.mT, self))

    def to_device(self, device: Any, /, *, stream: Any = None) -> Any:
        """The array itself, for the only device that graphs have."""
        return _called(lambda x: x.to_device(device), self)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        matching(api_version)
        return modules[__name__]

    def __array__(self, *arguments: Any, **options: Any) -> Any:
        raise TypeError(f"{self.variable} is symbolic and has no value before it is computed, so it cannot become an "
                        "array of NumPy")

    def __getitem__(self, index: Any) -> Any:
        return _called(lambda x, index: x[index], self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        changed = _called(lambda x, index, value: tensor().set_subtensor(x[index], tensor().cast(value, x.type.dtype)),
                          self, index, value)
        self.variable = changed.variable

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Any:
        if not self.ndim:
            raise TypeError(f"iteration over {self.variable}, which has no dimensions")
        return (self[number] for number in range(len(self)))

    def __repr__(self) -> str:
        return f"Array({self.variable}, shape={self._shape})"


def _number(name):
    def method(self):
        value = self._lengths.known.value(self.variable)
        if value is None and name == "bool":
            value = self._lengths.truth(self.variable)
        if value is None:                       # tensor variables are true, as Theano's are
            raise TypeError(f"{self.variable} is symbolic and depends on values, so it cannot become a Python {name}")
        return getattr(numpy.asarray(value), f"__{name}__")()
    return method


def _operator(name, function):
    def method(self, *others):
        if not all([isinstance(other, (Array, *NUMBERS)) for other in others]):
            return NotImplemented
        return _called(function, self, *others)
    setattr(Array, f"__{name}__", method)
    if name not in COMPARISONS and name not in ("abs", "neg", "pos", "invert"):
        setattr(Array, f"__r{name}__", lambda self, other: method_of(self, other))

        def method_of(self, other):
            if not isinstance(other, NUMBERS):
                return NotImplemented
            return _called(lambda x, y: function(y, x), self, other)


COMPARISONS = {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal",
               "ne": "not_equal"}
OPERATORS = {**COMPARISONS, "abs": "abs", "neg": "negative", "pos": "positive", "invert": "bitwise_invert",
             "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide",
             "mod": "remainder", "pow": "pow", "matmul": "matmul", "and": "bitwise_and", "or": "bitwise_or",
             "xor": "bitwise_xor", "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift"}
for _name, _function in OPERATORS.items():
    _operator(_name, getattr(array_api, _function))
for _name in "bool int float complex index".split():
    setattr(Array, f"__{_name}__", _number(_name))


# ---- calls -----------------------------------------------------------------------------------------------------------
def _called(function, *arguments, **options):
    """A function of variables called with arrays; its variables become arrays with what is known of lengths."""
    found: list[_Lengths] = []

    def variable_of(thing):
        if isinstance(thing, Array):
            found.append(thing._lengths)
            return thing.variable
        if isinstance(thing, slice):
            return slice(*map(variable_of, (thing.start, thing.stop, thing.step)))
        return type(thing)(map(variable_of, thing)) if type(thing) in (list, tuple) else thing

    arguments = [variable_of(argument) for argument in arguments]
    options = {name: variable_of(value) for name, value in options.items()}
    result = function(*arguments, **options)
    return _arrays(result, found[0] if found else _Lengths())


def _arrays(thing, lengths):
    if isinstance(thing, Variable):
        return Array(as_tensor_variable(thing), lengths)
    if not isinstance(thing, (list, tuple)):
        return thing
    parts = [_arrays(part, lengths) for part in thing]
    return type(thing)(*parts) if hasattr(thing, "_fields") else type(thing)(parts)


def traced(function: Callable[..., Any], *arguments: Any, conditions: bool | None = None, **options: Any) -> Any:
    """Call a function that is written for the array API standard; variables among the arguments become arrays.

    Parameters
    ----------
    function : callable
        Such as SciPy's functions, with the environment variable ``SCIPY_ARRAY_API=1``.
    *arguments, **options
        Those of the function. The types of variables must have static shapes: ``T.tensor(shape=(3, 4))``. Arguments of
        a compiled function are checked to have them.
    conditions : bool, optional
        What conditions are taken to be that depend on values, such as whether there are NaN. The results are checked
        when they are computed: a condition that is something else raises ``ValueError``.

    Returns
    -------
    object
        What the function returns, with variables in place of arrays; several results as a tuple.

    Raises
    ------
    ValueError
        If a length is not known.
    TypeError
        If the function needs a value, and ``conditions`` is not given.

    Examples
    --------
    >>> from phintys.array_objects import traced
    >>> x = T.tensor(shape=(4,))
    >>> def spread(x):
    ...     xp = x.__array_namespace__()
    ...     return xp.std(x, correction=1) if x.shape[0] > 1 else xp.zeros(())
    >>> bool(traced(spread, x).eval({x: [1.0, 2.0, 3.0, 4.0]}) > 1.2)
    True
    """
    lengths = _Lengths(conditions)

    def array_of(thing):
        if isinstance(thing, Variable):
            thing = as_tensor_variable(thing)
            if None in thing.type.shape:
                raise ValueError(f"traced: all lengths must be known, got {thing} with the static shape "
                                 f"{thing.type.shape}; declare them by T.tensor(shape=...) or T.specify_shape")
            if thing.owner is None and thing not in lengths.known.shapes:
                lengths.known.add_leaf(thing, thing.type.shape)
            return Array(tensor().specify_shape(thing, thing.type.shape) if thing.type.ndim else thing, lengths)
        return type(thing)(map(array_of, thing)) if type(thing) in (list, tuple) else thing

    found = function(*map(array_of, arguments), **{name: array_of(value) for name, value in options.items()})
    return _variables(found, lengths)


def _variables(thing, lengths):
    if isinstance(thing, Array):
        return lengths.checked(thing.variable)
    if hasattr(thing, "statistic") and hasattr(thing, "pvalue"):
        thing = thing.statistic, thing.pvalue
    if isinstance(thing, dict):
        thing = [*thing.values()]
    if isinstance(thing, (list, tuple)):
        return tuple([_variables(part, lengths) for part in thing])
    return thing


def _calling(function):
    found = partial(_called, function)
    found.__signature__ = signature(function)       # type: ignore[attr-defined]
    found.__name__ = function.__name__              # type: ignore[attr-defined]
    found.__doc__ = function.__doc__
    return found


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> Any:
    """An array of numbers or of lists of them, or an array itself.

    Examples
    --------
    >>> from phintys import array_objects
    >>> array_objects.asarray([1, 2]).dtype
    'int64'
    """
    if isinstance(obj, (list, tuple)) and _has_arrays(obj):
        obj = stack([asarray(part) for part in obj])        # type: ignore[name-defined]  # noqa: F821  it is below
    if isinstance(obj, Array) and (dtype is None or array_api.name_of(dtype) == obj.dtype) and not copy:
        return obj
    return _called(array_api.asarray, obj, dtype=dtype, device=device, copy=None)


def _has_arrays(things):
    return any([isinstance(thing, Array) or isinstance(thing, (list, tuple)) and _has_arrays(thing)
                for thing in things])


def _of_names(function):
    """A function of dtypes and arrays that builds no graph."""
    return lambda *things: function(*[SimpleNamespace(dtype=thing.dtype) if isinstance(thing, Array) else thing
                                      for thing in things])


WITHOUT_GRAPHS = "can_cast result_type finfo iinfo".split()
for _name in array_api.__all__:
    _value = getattr(array_api, _name)
    if _name in WITHOUT_GRAPHS:
        globals()[_name] = _of_names(_value)
    elif isinstance(_value, SimpleNamespace):
        globals()[_name] = SimpleNamespace(**{name: _calling(part) for name, part in vars(_value).items()})
    elif _name != "asarray":
        globals()[_name] = _calling(_value) if callable(_value) and _name not in (
            "isdtype", "broadcast_shapes") else _value
__array_namespace_info__ = array_api.__array_namespace_info__
__array_api_version__ = array_api.__array_api_version__
__all__ = sorted([*array_api.__all__, "Array", "traced"])
