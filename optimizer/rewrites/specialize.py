"""Specializations: forms that run faster, but would hide structure from the earlier families."""
import math

import numpy

from phintys.graph.config import config
from phintys.graph.variable import Constant
from phintys.ops.creation.allocation import Alloc
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.shape.shape import patternbroadcast
from phintys.ops.types.dtypes import integer_dtypes
from phintys.optimizer.engine.database import CONSTANT, FAST_RUN, Rewrite
from phintys.optimizer.engine.forms import constant_value, is_inexact, key
from phintys.optimizer.engine.op_patterns import absolute, inv, mul, neg, sqr, true_div, x
from phintys.optimizer.engine.pattern import rule
from phintys.optimizer.engine.values import apply_op, constant_like
from phintys.optimizer.passes.shapes import feature_of


def same_dtype(found, out):
    """The operand has the result's dtype."""
    return found["x"].type.dtype == out.type.dtype


def inexact(found, out):
    """As `same_dtype`, for floating point and complex numbers."""
    return same_dtype(found, out) and is_inexact(out)


def same_real_dtype(found, out):
    """As `same_dtype`, for numbers that are not complex."""
    return same_dtype(found, out) and not out.type.dtype.startswith("complex")


def inexact_real(found, out):
    """As `inexact`, for numbers that are not complex."""
    return inexact(found, out) and same_real_dtype(found, out)


def divide_by_power_of_two(fgraph, node):
    """``x / c -> x * (1/c)`` where 1/c is exact: a division takes several times as long."""
    out = node.outputs[0]
    value = constant_value(node.inputs[1])
    if type(value) not in (int, float) or not out.type.dtype.startswith("float") or not value or math.isinf(value):
        return None
    if math.frexp(value)[0] not in (0.5, -0.5) or not 1e-4 < abs(value) < 1e4:
        return None
    return apply_op("mul", node.inputs[0], constant_like(1.0 / value, out))


def divide_by_constant(fgraph, node):
    """``x / c -> x * (1/c)`` for constants, also tensors, but only under ``config.math_rules = "fast"``: who writes
    ``x / 10`` sees whether 3 gives 0.3, else."""
    (dividend, divisor), out = node.inputs, node.outputs[0]
    if config.math_rules != "fast" or not isinstance(divisor, Constant) or out.type.dtype not in ("float32", "float64"):
        return None
    values = numpy.asarray(divisor.data, out.type.dtype)
    if values.size == 0 or not ((abs(values) > 1e-30) & (abs(values) < 1e30)).all():
        return None
    inverse = divisor.type.clone(dtype=out.type.dtype).make_constant(1 / values)
    return apply_op("mul", dividend, inverse)


def floats_of_integers(fgraph, node):
    """A constant of int64 among floats is one of floats, which each call would make of it."""
    out = node.outputs[0]
    if out.type.dtype != "float64":
        return None
    inputs = [each.type.clone(dtype="float64").make_constant(each.data.astype("float64"))
              if isinstance(each, Constant) and each.type.dtype in ("int64", "uint64") and each.data.size > 1 else each
              for each in node.inputs]
    return node.op(*inputs) if inputs != node.inputs else None


def quotient_of_quotient(fgraph, node):
    """``x / s / t -> x / (s * t)`` where s and t have fewer elements than the result: one division for each of them."""
    (inner, second), out, is_alone = node.inputs, node.outputs[0], len(fgraph.clients[node.inputs[0]]) == 1
    negated = key(inner) == "neg"
    if negated:
        inner = inner.owner.inputs[0]
        is_alone = is_alone and len(fgraph.clients[inner]) == 1
    if key(inner) != "true_div" or not is_alone:
        return None
    x, first = inner.owner.inputs
    if constant_value(first) is not None or constant_value(second) is not None:    # the product may be out of range
        return None
    divisor = apply_op("mul", first, second)
    if {first.type.dtype, second.type.dtype} != {"float64"} or x.type != out.type \
            or divisor.type.broadcastable == out.type.broadcastable:
        return None
    quotient = apply_op("true_div", x, divisor)
    return apply_op("neg", quotient) if negated else quotient


FEWEST_QUOTIENTS = 64           # fewer divisions of float64 take no longer than one more kernel: 12 ns


def square_of_quotient(fgraph, node):
    """``sqr(x / s) -> sqr(x * inv(s))`` where s has fewer elements than the result, as a standard deviation in a
    logarithm of a density: a division takes several times as long. Others would see that ``x * inv(x)`` may not be
    1."""
    (quotient,), out = node.inputs, node.outputs[0]
    if key(quotient) != "true_div" or len(fgraph.clients[quotient]) > 1:
        return None
    x, divisor = quotient.owner.inputs
    value = constant_value(divisor)
    if value is None:
        lengths = out.type.shape
        if divisor.type.broadcastable == out.type.broadcastable or divisor.type.dtype != out.type.dtype \
                or None not in lengths and math.prod(lengths) < FEWEST_QUOTIENTS:
            return None
        inverse = apply_op("inv", divisor)
    elif type(value) in (int, float) and 1e-30 < abs(value) < 1e30:
        inverse = constant_like(1.0 / value, out)
    else:
        return None
    if x.type.dtype != out.type.dtype or not out.type.dtype.startswith("float"):
        return None
    return apply_op("sqr", apply_op("mul", x, inverse))


def quotient_of_outer_product(fgraph, node):
    """``x * y / s -> x / s * y`` where ``x / s`` has fewer elements than the result, as for a column and a row: as many
    divisions are left out. Others may read the product; a multiplication takes a fraction of a division."""
    (product, divisor), out = node.inputs, node.outputs[0]
    if key(product) != "mul" or product.type != out.type or constant_value(divisor) is not None:
        return None
    factors = product.owner.inputs
    if {each.type.dtype for each in (*factors, divisor, out)} != {"float64"}:
        return None
    for place, factor in enumerate(factors):
        quotient = apply_op("true_div", factor, divisor)
        if quotient.type.broadcastable != out.type.broadcastable:
            return apply_op("mul", *factors[:place], quotient, *factors[place + 1:])
    return None


def outer_product(fgraph, node):
    """``dot(column, row) -> column * row`` where elementwise ops of other matrices read it, which then compute it as
    they go. A sum may instead add it to a matrix in place."""
    (x, y), out = node.inputs, node.outputs[0]
    if x.type.broadcastable != (False, True) or y.type.broadcastable != (True, False) \
            or {x.type.dtype, y.type.dtype} != {"float64"}:
        return None
    for reader, _ in fgraph.clients[out]:
        if reader == "output" or type(reader.op) is not Elemwise or key(reader.outputs[0]) in ("add", "sub", "neg") \
                or not any([other is not out and not any(other.type.broadcastable) for other in reader.inputs]):
            return None
    return apply_op("mul", x, y)


def fill_to_alloc(fgraph, node):
    """``fill(f(x), y) -> alloc(y, *shape)`` where f(x) would be computed for its shape only."""
    model, value = node.inputs
    if model.owner is None or len(fgraph.clients[model]) != 1:
        return None
    if model.type.broadcastable != node.outputs[0].type.broadcastable:      # the value determines some of the lengths
        return None
    # A length that turns out to be 1 would make the result broadcastable, which its readers do not expect.
    return patternbroadcast(Alloc()(value, *feature_of(fgraph).shape(model)), node.outputs[0].type.broadcastable)


def _condition(variable):
    """The condition that a variable is as an integer, or the variable."""
    if key(variable) in TO_INTEGERS and variable.owner.inputs[0].type.dtype == "bool":
        return variable.owner.inputs[0]
    return variable


def product_with_condition(fgraph, node):
    """``x * cast(c, int) -> x * c`` for a condition, where the result has the same dtype: dropout by a ``binomial`` of
    integers, of which each would be converted twice."""
    out, factors = node.outputs[0], list(map(_condition, node.inputs))
    if not is_inexact(out) or factors == node.inputs:
        return None
    product = apply_op("mul", *factors)
    return product if product.type == out.type else None


TO_INTEGERS = frozenset([f"convert_to_{dtype}" for dtype in integer_dtypes])

REWRITES = [
    rule("local_mul_to_sqr", mul(x, x), sqr(x)),
    rule("local_sqr_of_abs", sqr(absolute(x)), sqr(x), same_real_dtype),
    rule("local_mul_minus_one", mul(x, -1), neg(x), inexact_real, (FAST_RUN, "local_mul_specialize")),
    rule("local_mul_minus_one", mul(x, -1), neg(x), inexact, (FAST_RUN, "local_mul_specialize"), changes="nan"),
    rule("local_div_to_inv", true_div(1, x), inv(x), inexact),
    Rewrite("local_div_by_power_of_two", ("true_div",), divide_by_power_of_two, (FAST_RUN,)),
    Rewrite("local_div_by_constant", ("true_div",), divide_by_constant, (FAST_RUN,), of=(CONSTANT,),
            changes="range rounding"),
    Rewrite("local_floats_of_integers", ("add", "sub", "mul", "true_div"), floats_of_integers, (FAST_RUN,),
            of=(CONSTANT,)),
    Rewrite("local_div_of_div", ("true_div",), quotient_of_quotient, (FAST_RUN,), of=("true_div", "neg"),
            changes="range rounding"),
    Rewrite("local_sqr_of_div", ("sqr",), square_of_quotient, (FAST_RUN,), of=("true_div",), changes="range rounding"),
    Rewrite("local_div_of_outer_product", ("true_div",), quotient_of_outer_product, (FAST_RUN,), of=("mul",),
            changes="nan range rounding"),
    Rewrite("local_outer_product", ("Dot",), outer_product, (FAST_RUN,), changes="rounding"),
    Rewrite("local_mul_condition", ("mul",), product_with_condition, beside=TO_INTEGERS),
    Rewrite("local_fill_to_alloc", ("second",), fill_to_alloc, (FAST_RUN,), changes="errors"),
]
