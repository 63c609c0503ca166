"""Functions on variables for rewrites: keys, constant values, casts, broadcasting, origins.

They examine a bounded neighbourhood of a variable and change no graph.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from phintys.graph.variable import Constant
from phintys.ops.elementwise import scalar
from phintys.ops.elementwise.composite import Composite
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.elementwise.scalar_op import SCALAR_OPS
from phintys.ops.shape.shape import is_length
from phintys.ops.types.dtypes import continuous_dtypes, discrete_dtypes, float_dtypes, uint_dtypes
from phintys.ops.types.tensor_type import TensorType
from phintys.optimizer.engine.database import CONSTANT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.graph.function_graph import FunctionGraph
    from phintys.graph.op import Op
    from phintys.graph.type import Type
    from phintys.graph.variable import Variable
    from phintys.ops.operators import TensorConstant, TensorVariable

WIDEST = 16                    # inputs of one n-ary add or mul: two such nodes fit in a fused kernel (30 operands)
LARGEST_EXPONENT = 2 ** 10     # of a factor of a product: float16 holds all integers up to 2**11, others more
FILLED = frozenset(["DimShuffle", "Alloc", "second"])      # what may have a number for all elements
NUMBERS = FILLED | {CONSTANT}  # what `constant_value` may find a number in
LOOK_THROUGH = 8               # nodes that `constant_value` looks through; rewrites merge consecutive ones
_types = {}                    # (dtype, ndim) -> the type of constants that broadcast everywhere
_names = {}                    # class of a built-in op -> its name


def key_of(op: Op) -> str | type:
    """Return the key by which rewrites are indexed: the scalar op's name for elementwise ops, else the class's name.

    The key of a user's op is its class, so that it is never confused with a built-in op of the same name. The same
    holds for scalar ops outside the table, which may compute something else.
    """
    kind = type(op)
    if kind is Elemwise:
        return op.rewrite_key or _key_of_elementwise(op)
    return _names.get(kind) or key_of_class(kind)


def _key_of_elementwise(op):
    name, kind = op.scalar_op.name, type(op.scalar_op)
    if SCALAR_OPS.get(name) is not op.scalar_op and kind is not Composite:
        return kind
    op.rewrite_key = name
    return name


def key_of_class(kind: type) -> str | type:
    """Return the key of all ops of a class, `Elemwise` excepted."""
    if not kind.__module__.startswith("phintys."):
        return kind
    return _names.setdefault(kind, kind.rewrite_name or kind.__name__)


def key(variable: Variable) -> str | None:
    """Return the key of the node that computes ``variable``, or None."""
    node = variable.owner
    if node is None:
        return None
    op = node.op
    return op.rewrite_key if type(op) is Elemwise and op.rewrite_key else key_of(op)


def is_float(variable: Variable) -> bool:
    """Return whether it is a tensor of floats; a list has a type as its dtype."""
    return getattr(variable.type, "dtype", None) in float_dtypes


def is_inexact(variable: Variable) -> bool:
    """Return whether the dtype is floating point or complex."""
    return variable.type.dtype in continuous_dtypes


def is_unsigned(variable: Variable) -> bool:
    """Return whether negation leaves the range of the dtype (also for bool)."""
    return variable.type.dtype in uint_dtypes or variable.type.dtype == "bool"


def keeps_value(negation: Variable, dtype: str) -> bool:
    """Return whether a ``neg`` may be undone inside an expression of ``dtype``.

    Integers wrap around when they are negated (-128 of int8 stays -128); this cancels only in their own dtype.
    """
    own = negation.type.dtype
    return own in continuous_dtypes or own == dtype and not is_unsigned(negation)


def constant_value(variable: Variable) -> float | None:
    """Return the one number that all elements of ``variable`` have, as a Python number, or None if it is not known.

    This looks through dimshuffles and fills of constants.
    """
    for _ in range(LOOK_THROUGH):
        if isinstance(variable, Constant):
            data = variable.data
            return data.item() if isinstance(data, numpy.ndarray) and data.size == 1 else None
        node = variable.owner
        if node is None:
            return None
        name = key_of(node.op)
        if name == "DimShuffle" or name == "Alloc":
            variable = node.inputs[0]
        elif name == "second":
            variable = node.inputs[1]
        else:
            return None
    return None


def constant(value: float, dtype: str, ndim: int) -> TensorConstant:
    """Make a constant of ``ndim`` dimensions of length 1."""
    kind = _types.get((dtype, ndim))
    if kind is None:
        kind = _types[dtype, ndim] = TensorType(dtype, (True,) * ndim)
    if isinstance(value, int) and dtype in discrete_dtypes:
        value = numpy.asarray(value % 2 ** 64, "uint64").astype(dtype)      # integers wrap around
    return kind.make_constant(numpy.full((1,) * ndim, value, dtype))


def readers_in(fgraph: FunctionGraph) -> Callable[..., Any]:
    """Return a function from variables to the number of their readers; variables not in the graph yet will have one."""
    clients = fgraph.clients
    return lambda variable: len(clients[variable]) if variable in clients else 1


def read_once(name: str, form_of: Callable[[Any, Callable[..., Any]], Any]) -> Callable[[FunctionGraph, Variable], Any]:
    """Return a function of a graph and a variable of it that returns the variable's normal form.

    It is read by ``form_of`` once, until the graph changes; every caller gets the same object, which stays as it is.

    Parameters
    ----------
    name : str
        Of the table in ``fgraph.derived``.
    form_of : callable
        Takes a variable and what ``readers_in`` returns.
    """
    def form_in(fgraph: FunctionGraph, root: Variable) -> Any:
        known = fgraph.derived.setdefault(name, {})
        found = known.get(root)
        if found is None:
            found = known[root] = form_of(root, readers_in(fgraph))
        return found
    return form_in


def only_reader(fgraph: FunctionGraph, variable: Variable) -> TensorVariable | None:
    """Return the first output of the only node that reads ``variable``, else None."""
    readers = fgraph.clients[variable]
    if len(readers) != 1:
        return None
    (reader, _), = readers
    return None if reader == "output" else reader.outputs[0]


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


def is_inside(fgraph: FunctionGraph, variable: Variable, keys: frozenset[str] | Sequence[str]) -> bool:
    """Return whether ``variable`` is an inner node of a larger tree; the rewrite of its root then includes it."""
    reader = only_reader(fgraph, variable)
    if reader is None or key(reader) not in keys or reader.type.dtype != variable.type.dtype:
        return False
    return key(reader) != "pow" or variable is reader.owner.inputs[0] and whole_power(reader) is not None


def whole_power(variable: Variable) -> int | None:
    """Return the exponent n of ``pow(x, n)`` if that counts as n factors, else None."""
    power = constant_value(variable.owner.inputs[1])
    if type(power) not in (int, float) or not 1 <= abs(power) <= LARGEST_EXPONENT or power != int(power):
        return None
    return int(power)


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
