"""Functions on variables for rewrites: keys, constant values, casts, broadcasting, origins.

They examine a bounded neighbourhood of a variable and change no graph.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from phintys.graph.variable import Constant
from phintys.ops.elementwise import scalar
from phintys.ops.elementwise.scalar_op import SCALAR_OPS
from phintys.ops.shape.shape import is_length
from phintys.ops.types.dtypes import discrete_dtypes, float_dtypes
from phintys.ops.types.tensor_type import TensorType
from phintys.optimizer.engine.database import CONSTANT
from phintys.optimizer.engine.forms import (
    FILLED,
    constant_value,
    key,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.type import Type
    from phintys.graph.variable import Variable
    from phintys.ops.operators import TensorConstant, TensorVariable

WIDEST = 16                    # inputs of one n-ary add or mul: two such nodes fit in a fused kernel (30 operands)
NUMBERS = FILLED | {CONSTANT}  # what `constant_value` may find a number in
_types = {}                    # (dtype, ndim) -> the type of constants that broadcast everywhere


def is_float(variable: Variable) -> bool:
    """Return whether it is a tensor of floats; a list has a type as its dtype."""
    return getattr(variable.type, "dtype", None) in float_dtypes


def constant(value: float, dtype: str, ndim: int) -> TensorConstant:
    """Make a constant of ``ndim`` dimensions of length 1."""
    kind = _types.get((dtype, ndim))
    if kind is None:
        kind = _types[dtype, ndim] = TensorType(dtype, (True,) * ndim)
    if isinstance(value, int) and dtype in discrete_dtypes:
        value = numpy.asarray(value % 2 ** 64, "uint64").astype(dtype)      # integers wrap around
    return kind.make_constant(numpy.full((1,) * ndim, value, dtype))


def is_count(variable: Variable) -> bool:
    """Return whether a number is a length, a sum or a product of lengths, or a constant, and not negative."""
    waiting = [variable]
    while waiting:
        current = waiting.pop()
        value = constant_value(current)
        if value is None and key(current) in ("add", "mul"):
            waiting.extend(current.owner.inputs)
        elif not is_length(current) and (type(value) not in (int, float, bool) or value < 0):
            return False
    return True


def constant_like(value: float, like: Variable) -> TensorConstant:
    """Make a constant with the dtype and rank of ``like`` that broadcasts against it."""
    return constant(value, like.type.dtype, like.type.ndim)


def apply_op(name: str, *inputs: Any) -> TensorVariable:
    """Apply the elementwise op called ``name``, and return the new variable."""
    return SCALAR_OPS[name].elementwise(*inputs)


def apply_wide(name: str, inputs: Sequence[Variable], dtype: str) -> TensorVariable:
    """Apply an associative elementwise op to any number of inputs, in nodes of at most `WIDEST` inputs, left to right.

    All nodes compute in ``dtype``, which is wide enough for every input, even if the constant that made the result so
    wide has been removed: the product of two int8 in float64 must not wrap around.
    """
    result = inputs[0]
    for start in range(1, len(inputs), WIDEST - 1):
        more = inputs[start:start + WIDEST - 1]
        joined = apply_op(name, result, *more)
        result = joined if joined.type.dtype == dtype else apply_op(name, scalar.cast_op(dtype)(result), *more)
    return result


def as_type(variable: Variable, wanted: Type, leaves: Sequence[Constant | Variable]) -> TensorVariable:
    """Return ``variable`` with the dtype and broadcastable pattern of the type ``wanted``, or None if not possible.

    Parameters
    ----------
    variable : Variable
    wanted : TensorType
    leaves : list of Variable
        Variables of the wanted rank whose lengths broadcast to the wanted shape; used if ``variable`` lost a length.
    """
    if variable.type == wanted:
        return variable
    if type(variable.type) is not type(wanted) or variable.type.ndim != wanted.ndim:
        return None
    if variable.type.dtype != wanted.dtype:
        variable = scalar.cast_op(wanted.dtype)(variable)
    return spread_over(variable, wanted.broadcastable, leaves)


def spread_over(variable: Variable, broadcastable: Sequence[bool], leaves: Sequence[Variable]) -> TensorVariable:
    """Return ``variable`` filled over as many ``leaves`` as are needed to get the pattern, or None."""
    for leaf in leaves:
        mine = variable.type.broadcastable
        if mine == broadcastable:
            break
        if leaf.type.ndim == len(mine) and any(m and not w and not f for m, w, f in
                                               zip(mine, broadcastable, leaf.type.broadcastable)):
            variable = scalar.second(leaf, variable)
    return variable if variable.type.broadcastable == broadcastable else None
