"""TensorType: the type of variables whose values are NumPy arrays.

A TensorType specifies the dtype, the rank and, for each dimension, whether its length is always 1 (``broadcastable``).
It also validates all values that are passed in: ``filter`` returns an aligned base-class array of exactly this dtype
and rank in native byte order, or raises ``TypeError``. A type does not describe memory; ``layout`` is the only method
that the virtual machine calls. Types are equal if dtype and broadcastable are equal; the static ``shape`` is additional
information that is ignored when types are compared.
"""
from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import numpy

from phintys.graph.config import config
from phintys.graph.public_names import at_home
from phintys.graph.type import Type
from phintys.graph.variable import Variable
from phintys.ops.types.dtypes import (
    DTYPE_NAMES,
    NUMPY_DTYPES,
    TYPE_NUMBERS,
    canonical_dtype,
    discrete_dtypes,
    upcast,
)
from phintys.ops.types.refused_values import above_integers, inexact, not_numbers, shortened
from phintys.vm.abi import LARGEST_RANK
from phintys.vm.places import HOST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike

    from phintys.ops.operators import TensorConstant, TensorVariable

RANK_NAMES = {(): "scalar", (False,): "vector", (False, False): "matrix", (True, False): "row", (False, True): "col"}

# The less precise of two dtypes → (rtol, atol) of approximate comparisons.
TOLERANCES = {"float16": (1e-3, 1e-3), "float32": (1e-5, 1e-5), "complex64": (1e-5, 1e-5)}
DEFAULT_TOLERANCE = (1e-5, 1e-8)
VALID = "value is valid"

# Every distinct (dtype, broadcastable, shape) has a number, which ops use as a key for cached properties of operand
# types; this is faster than hashing strings and tuples of flags.
_type_keys: dict[tuple[Any, ...], int] = {}


_known_types: dict[tuple[Any, ...], TensorType] = {}
MOST_TYPES = 4096                   # in the table above: constants have many shapes


class TextError(TypeError, ValueError):
    """Raised for text instead of numbers: a ``ValueError`` as in Theano, and a ``TypeError`` like other errors of
    ``filter``."""


def _checked_pattern(broadcastable):
    """A broadcastable pattern as a tuple of bools; raises ``TypeError`` if it is invalid."""
    if isinstance(broadcastable, (str, bytes)) or not hasattr(broadcastable, "__iter__"):
        ranks = range(9)
        example = f"; for {broadcastable} dimensions: {(False,) * broadcastable}" if broadcastable in ranks else ""
        raise TypeError("broadcastable must be a sequence of bools, one for each dimension, got "
                        f"{broadcastable!r}{example}")
    pattern = tuple(broadcastable)
    if any([isinstance(flag, int) and flag not in (0, 1) for flag in pattern]):
        raise TypeError(f"broadcastable has a bool for each dimension, got {broadcastable!r}; lengths are given by "
                        f"shape={pattern}")
    return tuple([bool(flag) for flag in pattern])


def _length(length, shape):
    """A static length as an int; raises ``ValueError`` if there is none."""
    number = operator.index(length) if hasattr(length, "__index__") else -1
    if number < 0:
        raise ValueError(f"shape has an integer of at least 0, or None, for each dimension, got {shape!r}")
    return number


def known_type(dtype: str, broadcastable: Sequence[bool], shape: Sequence[int | None] | None = None) -> TensorType:
    """Return the type without a name that ops make for their results: equal ones are one object.

    Parameters
    ----------
    dtype : str
        A NumPy dtype's name.
    broadcastable, shape
        As of `TensorType`.
    """
    key = dtype, tuple(broadcastable), None if shape is None else tuple(shape)
    found = _known_types.get(key)
    if found is None:
        if len(_known_types) >= MOST_TYPES:
            _known_types.clear()
        found = _known_types[key] = TensorType(dtype, broadcastable, shape=shape)
    return found


class TensorType(Type):
    """The type of arrays of one dtype and rank.

    Parameters
    ----------
    dtype : str or numpy.dtype
        One of ``dtypes.ALL_DTYPES``, or ``"floatX"``.
    broadcastable : sequence of bool
        One flag per dimension: True if the length is always 1.
    name : str, optional
        The result of ``str`` instead of the general form.
    shape : sequence of int or None, optional
        Lengths that are known at compile time; ignored when types are compared.

    Raises
    ------
    TypeError
        If the dtype is not supported.
    ValueError
        If ``shape`` contradicts ``broadcastable``, or there are more than 64 dimensions, the most an array of NumPy
        can have.

    Examples
    --------
    >>> row = T.TensorType("float32", (True, False))
    >>> row, row("x").ndim
    (TensorType(float32, row), 2)
    >>> T.dmatrix("x").type == T.TensorType("float64", (False, False))
    True
    >>> T.dvector.filter([1, 2])
    array([1., 2.])
    """

    Variable: Any = None    # the classes of this type's variables and constants, set by operators.py
    Constant: Any = None
    # The following are set by files that import this one:
    get_scalar_type = None      # the type of single numbers of a dtype (scalar_type.py)
    patternbroadcast = None     # a variable declared to have another broadcastable pattern (shape/shape.py)
    stack = None                # a list of variables as one variable (shape/join.py)
    filter_checks_isfinite = False      # set on the class: `filter` refuses NaN and infinities, by ValueError

    dtype: str
    broadcastable: tuple[bool, ...]
    ndim: int
    name: str | None
    numpy_dtype: numpy.dtype[Any]
    shape: tuple[int | None, ...]

    if TYPE_CHECKING:
        def __call__(self, name: str | None = None) -> TensorVariable: ...

    def __init__(self, dtype: DTypeLike, broadcastable: Sequence[bool], name: str | None = None,
                 shape: Sequence[int | None] | None = None) -> None:
        self.dtype = canonical_dtype(dtype)
        self.broadcastable = _checked_pattern(broadcastable)
        self.ndim = len(self.broadcastable)
        if self.ndim > LARGEST_RANK:
            raise ValueError(f"a {self.dtype} tensor cannot have {self.ndim} dimensions: at most {LARGEST_RANK} are "
                             "supported, as in NumPy.")
        self.name = name
        self.numpy_dtype = NUMPY_DTYPES[self.dtype]
        self.layout = (TYPE_NUMBERS[self.dtype], self.ndim, HOST)
        self.shape = self._static_shape(shape)
        self.key = _type_keys.setdefault((self.dtype, self.broadcastable, self.shape), len(_type_keys))
        self._hash = hash((TensorType, self.dtype, self.broadcastable))

    def _static_shape(self, shape):
        if shape is None:
            return tuple([1 if flag else None for flag in self.broadcastable])
        lengths = tuple([None if length is None else _length(length, shape) for length in shape])
        if len(lengths) != self.ndim:
            raise ValueError(f"{self} has {self.ndim} dimensions, but its static shape {lengths} has {len(lengths)}.")
        for length, flag in zip(lengths, self.broadcastable):
            if flag and length not in (1, None):
                raise ValueError(f"Static shape {lengths} contradicts the broadcastable pattern {self.broadcastable}.")
        return tuple([1 if flag else length for length, flag in zip(lengths, self.broadcastable)])

    # ---- identity ----------------------------------------------------------------------------------------

    def __eq__(self, other):
        return self is other or (type(self) is type(other) and self.dtype == other.dtype
                                 and self.broadcastable == other.broadcastable)

    def __hash__(self):
        return self._hash

    def __reduce__(self):
        return type(self), (self.dtype, self.broadcastable, self.name, self.shape)

    def __str__(self):
        if self.name:
            return self.name
        rank = RANK_NAMES.get(self.broadcastable)
        if rank is None:
            rank = str(self.broadcastable) if True in self.broadcastable else f"{self.ndim}D"
        return f"TensorType({self.dtype}, {rank})"

    __repr__ = __str__

    def clone(self, dtype=None, broadcastable=None, shape=None):
        """The same type with another dtype, broadcastable pattern or static shape."""
        if shape is None and broadcastable is None:
            shape = self.shape
        return type(self)(self.dtype if dtype is None else dtype,
                          self.broadcastable if broadcastable is None else broadcastable,
                          name=self.name, shape=shape)

    # ---- values ------------------------------------------------------------------------------------------

    def filter(self, value, strict=False, allow_downcast=None):
        """Convert ``value`` to an array of this type.

        Parameters
        ----------
        value : array_like
            Any numeric value: an array, memmap or other subclass, a NumPy or Python number, or nested lists.
        strict : bool
            Whether to accept only arrays of this dtype, in any layout and byte order.
        allow_downcast : bool or None
            True permits all conversions. False and None permit only conversions without loss (determined by dtype for
            arrays, by value for numbers and lists); in addition, None permits the conversion of Python floats to
            floatX.

        Returns
        -------
        numpy.ndarray
            With this dtype and rank, aligned, in native byte order; ``value`` itself if it already is such an array.

        Raises
        ------
        TypeError
            If the value cannot be converted.
        """
        if isinstance(value, numpy.ndarray) and value.dtype is self.numpy_dtype and type(value) is numpy.ndarray:
            array = value
        else:
            array = self._convert(value, strict, allow_downcast)
        self._check_dimensions(array)
        if not array.flags.aligned:
            array = array.copy(order="K")           # as NumPy does; such arrays are parts of packed records or messages
        if self.filter_checks_isfinite and not numpy.isfinite(array).all():
            raise ValueError(f"{self}: non-finite elements not allowed: {shortened(value)}")
        return array

    def lossless_types(self):
        """The numbers of the dtypes whose arrays `filter` converts; None if a subclass overrides ``filter``."""
        if type(self).filter is not TensorType.filter:
            return None
        return [number for name, number in TYPE_NUMBERS.items() if upcast(self.dtype, name) == self.dtype]

    def _convert(self, value, strict, allow_downcast):
        """``value`` with this dtype and native byte order; rank and alignment are checked later."""
        if isinstance(value, Variable):
            raise TypeError(
                f"Expected an array-like object, but found a Variable: {value}. Maybe you are trying to call a "
                "function on a (possibly shared) variable instead of a numeric array?")
        if isinstance(value, numpy.ndarray):
            if _is_masked(value):
                raise TypeError(f"{self} cannot take a masked array: its mask would be lost. Fill it first.")
            if numpy.can_cast(value.dtype, self.numpy_dtype, "equiv"):
                return self._plain(value)
        if strict:
            self._refuse_strictly(value)
        if allow_downcast:
            return self._cast(value)
        if isinstance(value, numpy.ndarray):
            return self._upcast_array(value)
        if allow_downcast is None and type(value) is float and self.dtype == config.floatX:
            return self._cast(value)
        return self._convert_exactly(value)

    def _plain(self, value):
        """Convert an array of this dtype, perhaps of another name (longlong is int64) or in another byte order."""
        if not value.dtype.isnative:
            value = value.astype(self.numpy_dtype)
        if type(value) is not numpy.ndarray:
            value = value.view(numpy.ndarray)
        return value if value.dtype.num == self.numpy_dtype.num else value.view(self.numpy_dtype)

    def _refuse_strictly(self, value):
        if not isinstance(value, numpy.ndarray):
            raise TypeError(f"{self} expected a ndarray object. Got {shortened(value)} of {type(value)}.")
        raise TypeError(f"{self} expected a ndarray object with dtype = {self.numpy_dtype} (got {value.dtype}).")

    def _cast(self, value):
        """``value`` as an array of this dtype, even if the conversion loses information."""
        return self._original_and_cast(value)[1]

    def _original_and_cast(self, value):
        """(``value`` as an array of the dtype that NumPy chooses, ``value`` as an array of this dtype)."""
        try:
            with numpy.errstate(all="ignore"):
                original = array = numpy.asarray(value)
                if array.dtype.kind in "SU":
                    raise TextError(f"{self} cannot store the text {shortened(value)}")
                if array.dtype.kind == "O" and all(type(item) is int for item in array.flat):
                    array = array.astype(self.numpy_dtype)      # Python ints beyond 64 bits
                if array.dtype.kind not in "biufc":
                    raise TypeError(not_numbers(array, self.ndim))
                if array.dtype.kind == "c" and self.numpy_dtype.kind != "c":
                    raise TypeError("it is complex; take real, imag or abs of it first")
                order = "C" if array is not value else "K"
                return original, numpy.asarray(array, dtype=self.numpy_dtype, order=order)
        except TextError:
            raise
        except (TypeError, ValueError, OverflowError) as error:
            raise TypeError(f"{self} cannot store the value {shortened(value)}: {error}") from error

    def _upcast_array(self, value):
        """Convert an array of another dtype if this dtype can represent all values of the other one."""
        name = DTYPE_NAMES.get(value.dtype.num)
        if name is not None and upcast(self.dtype, name) == self.dtype:
            return self._cast(value)
        raise TypeError(
            f"{self} cannot store a value of dtype {value.dtype} without risking loss of precision. If you do not mind "
            f"this loss, you can: 1) explicitly cast your data to {self.dtype}, or 2) set "
            f'"allow_input_downcast=True" when calling "function". Value: "{shortened(value)}"')

    def _convert_exactly(self, value):
        """Convert a number or nested lists if every element keeps its value."""
        original, array = self._original_and_cast(value)
        if (not TensorType.values_eq(original, array, force_same_dtype=False)
                or numpy.any(above_integers(original, self.numpy_dtype))):
            raise TypeError(
                f"{self} cannot store accurately value {shortened(value)}, it would be represented as "
                f"{inexact(original, array)}. If you do not mind this precision loss, you can: 1) explicitly convert "
                f'your data to a numpy array of dtype {self.dtype}, or 2) set "allow_input_downcast=True" when calling '
                '"function".')
        return array

    def _check_dimensions(self, array):
        if array.ndim != self.ndim:
            raise TypeError(f"Wrong number of dimensions: expected {self.ndim}, got {array.ndim} "
                            f"with shape {array.shape}.")
        if self.shape.count(None) < self.ndim:
            for length, known in zip(array.shape, self.shape):
                if known == 1 != length:
                    raise TypeError("Non-unit value on shape on a broadcastable dimension. The shape is "
                                    f"{array.shape}, the broadcastable pattern {self.broadcastable}.")
                if known not in (None, length):
                    raise TypeError(f"The type states other lengths: expected {self.shape}, got {array.shape}.")

    def is_valid_value(self, value):
        """Whether ``value`` is an array of this type without any conversion."""
        return self.value_validity_msg(value) == VALID

    @staticmethod
    def get_shape_info(value):
        """The argument for ``get_size``: the shape of a value."""
        return value.shape

    def get_size(self, shape_info):
        """The size in bytes of the elements of a value of that shape."""
        return math.prod(shape_info) * self.numpy_dtype.itemsize

    def to_scalar_type(self):
        """The type of one element, a ``Scalar`` type."""
        return self.get_scalar_type(self.dtype)

    def value_zeros(self, shape):
        """An array of zeros of this dtype."""
        return numpy.zeros(shape, self.numpy_dtype)

    def value_validity_msg(self, value):
        """The reason why ``value`` is not a value of this type, or "value is valid"."""
        try:
            self.filter(value, strict=True)
        except (TypeError, ValueError) as error:
            return str(error)
        if value.flags.aligned and value.dtype.isnative:
            return VALID
        return f"the array is {'in another byte order' if value.flags.aligned else 'not aligned'}"

    @staticmethod
    def may_share_memory(a, b):
        """Whether two values may overlap in memory."""
        return isinstance(a, numpy.ndarray) and isinstance(b, numpy.ndarray) and numpy.may_share_memory(a, b)

    @staticmethod
    def values_eq(a, b, force_same_dtype=True):
        """Whether two arrays have the same shape, dtype (if ``force_same_dtype``) and elements; NaN equals NaN."""
        if a.shape != b.shape or (force_same_dtype and a.dtype != b.dtype):
            return False
        equal = a == b
        if numpy.all(equal):
            return True
        if a.dtype.kind not in "fc" or b.dtype.kind not in "fc":
            return False
        return bool(numpy.all(equal | (numpy.isnan(a) & numpy.isnan(b))))

    @staticmethod
    def values_eq_approx(a, b, allow_remove_inf=False, allow_remove_nan=False, rtol=None, atol=None):
        """Whether two arrays are equal up to rounding; see :func:`values_eq_approx`."""
        return values_eq_approx(a, b, allow_remove_inf, allow_remove_nan, rtol, atol)

    # ---- variables ---------------------------------------------------------------------------------------

    def make_variable(self, name: str | None = None) -> TensorVariable:
        """A new variable of this type."""
        return self.Variable(self, name=name)

    def make_constant(self, value: Any, name: str | None = None) -> TensorConstant:
        """A new constant of this type."""
        return self.Constant(self, value, name=name)

    def filter_variable(self, other, allow_convert=True):
        """Convert ``other`` to a variable of this type.

        Values become constants; variables with the same dtype and rank are converted if only the broadcastable pattern
        differs.

        Raises
        ------
        TypeError
            If the conversion is not possible.
        """
        if not isinstance(other, Variable):
            other = self.Constant(self, other)
        elif hasattr(other, "_as_TensorVariable") and not other.type.is_number:     # a variable on a device
            other = other._as_TensorVariable()
        if other.type == self:
            return other
        converted = self.convert_variable(other) if allow_convert else None
        if converted is None or converted.type != self:
            raise TypeError(f"Cannot convert Type {other.type} (of Variable {other}) into Type {self}. "
                            f"You can try to manually convert {other} into a {self}.")
        return converted

    def convert_variable(self, variable):
        """``variable`` with this type's pattern if that only removes broadcastable flags, else None."""
        other = variable.type
        if type(self) is not type(other) or self.dtype != other.dtype or self.ndim != other.ndim:
            return None
        if self == other:
            return variable
        if any(mine and not theirs for mine, theirs in zip(self.broadcastable, other.broadcastable)):
            return None
        return self.patternbroadcast(variable, self.broadcastable)


def _is_masked(value):
    """Whether an array has a mask; this test avoids importing ``numpy.ma``, which takes 5 ms."""
    return type(value) is not numpy.ndarray and hasattr(value, "mask") and hasattr(value, "filled")


def _get_atol_rtol(a, b):
    """The absolute and relative tolerance of the less precise of two arrays."""
    rtol, atol = max([TOLERANCES.get(x.dtype.name, DEFAULT_TOLERANCE) for x in (a, b)])
    return atol, rtol


def _allclose(a, b, rtol=None, atol=None):
    """Whether two array-likes are equal up to rounding, like ``numpy.allclose`` with the tolerances of
    `values_eq_approx`; the dtypes may differ."""
    a, b = numpy.asarray(a), numpy.asarray(b)
    default_atol, default_rtol = _get_atol_rtol(a, b)
    return numpy.allclose(a, b, rtol=default_rtol if rtol is None else rtol,
                          atol=default_atol if atol is None else atol)


@at_home
def values_eq_approx_always_true(a, b):
    """For ``tag.values_eq_approx`` of variables with unspecified elements: all values are equal.

    Examples
    --------
    >>> T.values_eq_approx_always_true(numpy.zeros(2), numpy.ones(2))
    True
    """
    return True


def values_eq_approx_remove_inf(a, b):
    """For ``tag.values_eq_approx``: like `values_eq_approx`, and an infinity in ``a`` equals every number."""
    return values_eq_approx(a, b, allow_remove_inf=True)


def values_eq_approx_remove_nan(a, b):
    """For ``tag.values_eq_approx``: like `values_eq_approx`, and a NaN in ``a`` equals every number."""
    return values_eq_approx(a, b, allow_remove_nan=True)


def values_eq_approx_remove_inf_nan(a, b):
    """For ``tag.values_eq_approx``: like `values_eq_approx`, and an infinity or NaN in ``a`` equals every number."""
    return values_eq_approx(a, b, allow_remove_inf=True, allow_remove_nan=True)


def values_eq_approx(a, b, allow_remove_inf=False, allow_remove_nan=False, rtol=None, atol=None):
    """Whether two arrays have the same shape and dtype and are equal up to rounding.

    Parameters
    ----------
    a, b : numpy.ndarray
    allow_remove_inf, allow_remove_nan : bool
        Whether an infinite (or NaN) element of ``a`` equals every element of ``b``.
    rtol, atol : float, optional
        Tolerances relative to ``b`` and absolute; by default those of the less precise dtype.

    Returns
    -------
    bool
    """
    if not isinstance(a, numpy.ndarray) or not isinstance(b, numpy.ndarray):
        return False
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.name in discrete_dtypes:
        return bool(numpy.all(a == b))
    default_rtol, default_atol = TOLERANCES.get(a.dtype.name, DEFAULT_TOLERANCE)
    close = numpy.isclose(a, b, rtol=default_rtol if rtol is None else rtol,
                          atol=default_atol if atol is None else atol, equal_nan=True)
    if allow_remove_inf:
        close |= numpy.isinf(a)
    if allow_remove_nan:
        close |= numpy.isnan(a)
    return bool(numpy.all(close))
