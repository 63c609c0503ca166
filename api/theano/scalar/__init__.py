"""The scalar namespace: single numbers, a separate level below tensors, as in Theano.

``phintys.scalar.float64`` is a type, ``float64("x")`` a variable of it, and ``add(x, 1)`` or ``x + 1`` a node of the op
that ``Elemwise`` applies to every element of a tensor. Graphs of numbers are compiled like all others; their results
are NumPy numbers. An op that is called on tensors applies its ``Elemwise``. ``tensor_from_scalar`` and
``scalar_from_tensor`` of ``phintys.tensor`` convert between the levels.
"""
from __future__ import annotations

from typing import Any

import numpy

import phintys.ops.elementwise.impl_elementwise  # gives users' scalar ops their Elemwise
from phintys.graph import public_names as _public_names
from phintys.graph.variable import Variable
from phintys.ops.elementwise import scalar as _table
from phintys.ops.elementwise import scalar_preferences as _preferences
from phintys.ops.elementwise.composite import Composite
from phintys.ops.elementwise.scalar import *  # noqa: F403
from phintys.ops.elementwise.scalar import BinaryBitOp, FixedLogicalComparison, LogicalComparison, UnaryBitOp
from phintys.ops.elementwise.scalar_preferences import *  # noqa: F403
from phintys.ops.elementwise.scalar_variable import (
    ScalarConstant,
    ScalarVariable,
    cast,
    div_proxy,
    int_or_true_div,
    mod_check,
)
from phintys.ops.types.as_scalar import as_scalar
from phintys.ops.types.as_scalar import scalar_constant as constant
from phintys.ops.types.constant import autocast_float, autocast_float_as
from phintys.ops.types.dtypes import (
    ALL_DTYPES,
    complex_dtypes,
    continuous_dtypes,
    discrete_dtypes,
    float_dtypes,
    int_dtypes,
    integer_dtypes,
    uint_dtypes,
)
from phintys.ops.types.scalar_type import Scalar, get_scalar_type
from phintys.scalar.sharedvar import shared
from phintys.tensor.constructors import plural_of
from phintys.theano_finder import lookup as _lookup

_TYPES = {dtype: get_scalar_type(dtype) for dtype in ALL_DTYPES}
globals().update(_TYPES)


int_types, uint_types, float_types, complex_types, integer_types, discrete_types, continuous_types, all_types = [
    tuple([_TYPES[dtype] for dtype in ALL_DTYPES if dtype in dtypes]) for dtypes in (
        int_dtypes, uint_dtypes, float_dtypes, complex_dtypes, integer_dtypes, discrete_dtypes, continuous_dtypes,
        ALL_DTYPES)]


def as_common_dtype(*variables: Any) -> tuple[ScalarVariable, ...]:
    """Cast numbers and variables, including tensors, to their common dtype.

    Examples
    --------
    >>> x, y = phintys.scalar.as_common_dtype(phintys.scalar.int32("x"), phintys.scalar.float32("y"))
    >>> x.type, y.type
    (Scalar(float64), Scalar(float64))
    """
    variables = [variable if isinstance(variable, Variable) else as_scalar(variable) for variable in variables]
    dtype = upcast(*[variable.type.dtype for variable in variables])  # noqa: F405
    return tuple([cast(variable, dtype) for variable in variables])


def round_half_away_from_zero_vec(a: numpy.ndarray) -> numpy.ndarray:
    """Round arrays to the nearest integers, halves away from zero, as ``round_half_away_from_zero`` does.

    Examples
    --------
    >>> phintys.scalar.round_half_away_from_zero_vec(numpy.array([0.5, 1.5, -2.5]))
    array([ 1.,  2., -3.])
    """
    fraction, whole = numpy.modf(a)
    return whole + numpy.copysign(numpy.abs(fraction) >= 0.5, a)


ints, floats, complexs = [plural_of(name, _TYPES[dtype], "phintys.scalar") for name, dtype in (
    ("ints", "int64"), ("floats", "float64"), ("complexs", "complex128"))]
complexs64, complexs128 = [
    plural_of(f"complexs{bits}", _TYPES[f"complex{bits}"], "phintys.scalar") for bits in (64, 128)]

__all__ = ["BinaryBitOp", "Composite", "FixedLogicalComparison", "LogicalComparison", "Scalar", "ScalarConstant",
           "ScalarVariable", "UnaryBitOp", "all_types", "as_common_dtype", "as_scalar", "autocast_float",
           "autocast_float_as", "cast", "complex_dtypes", "complex_types", "complexs", "complexs128", "complexs64",
           "constant", "continuous_dtypes", "continuous_types", "discrete_dtypes", "discrete_types", "div_proxy",
           "float_dtypes", "float_types", "floats", "get_scalar_type", "int_dtypes", "int_or_true_div", "int_types",
           "integer_dtypes", "integer_types", "ints", "mod_check",
           "round_half_away_from_zero_vec", "shared", "uint_dtypes", "uint_types", *_TYPES,
           *_table.__all__, *_preferences.__all__]
_public_names.adopt(globals())
__getattr__ = _lookup(__name__)
