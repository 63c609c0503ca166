"""Neutral and absorbing elements, and ops that undo each other.

Most rows are patterns. Sums and products have normal forms (`sums`, `factors`), in which constants are collected,
terms are cancelled, signs are pulled together, and a tree of binary nodes becomes one node of many inputs.
"""
from math import copysign, inf

from phintys.ops.types.dtypes import float_dtypes
from phintys.optimizer.engine.database import FAST_RUN, REPEATED, Rewrite
from phintys.optimizer.engine.forms import constant_value, is_inexact, is_inside, is_unsigned, key, readers_in
from phintys.optimizer.engine.op_patterns import (
    absolute,
    and_,
    arcsinh,
    conj,
    deg2rad,
    eq,
    floor,
    ge,
    gt,
    int_div,
    inv,
    invert,
    le,
    lt,
    maximum,
    minimum,
    mul,
    neg,
    neq,
    or_,
    rad2deg,
    sinh,
    x,
    xor,
    y,
)
from phintys.optimizer.engine.pattern import rule
from phintys.optimizer.engine.values import NUMBERS, WIDEST, apply_op, apply_wide, as_type, constant_like, is_count
from phintys.optimizer.rewrites import factors, sums
from phintys.optimizer.rewrites.factors import product_in
from phintys.optimizer.rewrites.sums import sum_in


def keeps_dtype(found, out):
    """Return whether the hole x already has the result's dtype."""
    return found["x"].type.dtype == out.type.dtype


def signed(found, out):
    """As `keeps_dtype`, for dtypes that contain the negatives of their values: -3 of uint8 is 253."""
    return keeps_dtype(found, out) and not is_unsigned(out)


def integers(found, out):
    """As `keeps_dtype`, for integers and bools."""
    return keeps_dtype(found, out) and not is_inexact(out)


def discrete(found, out):
    """Return whether the hole x has integers or bools, each of which equals itself."""
    return not is_inexact(found["x"])


def truths(found, out):
    """As `keeps_dtype`, for bools, of which 1 is the largest: ``3 & 1`` is not 3."""
    return keeps_dtype(found, out) and out.type.dtype == "bool"


def real_numbers(found, out):
    """As `keeps_dtype`, for floating point numbers: dividing by 1 with // still rounds down."""
    return keeps_dtype(found, out) and out.type.dtype in float_dtypes


def canonical_sum(fgraph, node):
    """Collect constants, cancel terms, pull signs together, and make binary trees flat."""
    out = node.outputs[0]
    if is_inside(fgraph, out, sums.KEYS):
        return None
    total = sum_in(fgraph, out)
    if total.operations == 1 and total.constants == 0 and len(total.terms) == len(node.inputs) \
            and not _repeats(total.terms):
        return None
    terms = _uncancelled(total.terms)
    if type(total.constant) is bool or out.type.dtype == "bool":
        return None
    gain = total.operations - sums.operations_to_build(terms, total.constant)
    cancelled = len(terms) < len(total.terms)
    collected = total.constants > 1 or (total.constants == 1 and total.constant == 0)
    # -x - y -> -(x + y) saves no node, but gives expressions that others negate a unique form.
    all_negative = key(out) == "sub" and not total.constant and all([sign < 0 for sign, _ in terms])
    too_wide = len(terms) + bool(total.constant) > WIDEST
    if not cancelled and not collected and (gain < 0 or gain == 0 and not all_negative or too_wide):
        return None
    return sums.build(terms, total.constant, total.leaves, out)


def _repeats(terms):
    return len({variable for _, variable in terms}) < len(terms)


def _uncancelled(terms):
    """Return the terms without pairs of different sign."""
    if not _repeats(terms):
        return terms
    count = {}
    for sign, variable in terms:
        count[variable] = count.get(variable, 0) + sign
    kept = []
    for sign, variable in terms:
        if count[variable] * sign > 0:
            count[variable] -= sign
            kept.append((sign, variable))
    return kept


def canonical_product(fgraph, node):
    """Collect constants, cancel factors, pull signs together, and make trees of mul and true_div one fraction."""
    out = node.outputs[0]
    if not is_inexact(out) or factors.is_inside_product(fgraph, out):
        return None
    product = factors.cancel_magnitudes(product_in(fgraph, out))
    if product.operations == 1 and not product.cancelled and product.constants == 0:
        return None
    if product.coefficient == 0:
        return constant_like(0, out)
    has_numerator = any([exponent > 0 for exponent in product.powers.values()])
    collected = product.constants > 1 or (product.constants == 1 and product.coefficient in (1, -1) and has_numerator)
    gain = product.operations - factors.operations_to_build(product)
    too_wide = len(product.powers) + (product.coefficient not in (1, -1)) > WIDEST
    if not product.cancelled and not collected and (gain <= 0 or too_wide):
        return None
    return factors.build(product, out)


def product_with_shuffled_product(fgraph, node):
    """``2 * (3 * x)[None] * y -> (6 * x)[None] * y``, also for ``(3 / x)[None]``: the view has as many elements as the
    result, or fewer."""
    out, inputs = node.outputs[0], node.inputs
    values = [constant_value(each) for each in inputs]
    place = next((place for place, value in enumerate(values) if type(value) in (int, float)), None)
    if place is None or out.type.dtype not in ("float32", "float64"):        # the limits below are theirs
        return None
    for view in inputs:
        if key(view) != "DimShuffle" or len(fgraph.clients[view]) > 1:
            continue
        inner = view.owner.inputs[0]
        if key(inner) not in ("mul", "true_div") or len(fgraph.clients[inner]) > 1 \
                or inner.type.dtype != out.type.dtype:
            continue
        first, *others = inner.owner.inputs
        factor = constant_value(first)
        if type(factor) not in (int, float) or not 1e-30 < abs(factor * values[place]) < 1e30:
            continue
        moved = apply_op(key(inner), constant_like(factor * values[place], inner), *others)
        product = [moved.dimshuffle(*view.owner.op.new_order) if each is view else each
                   for position, each in enumerate(inputs) if position != place]
        return apply_op("mul", *product) if len(product) > 1 else as_type(product[0], out.type, [])
    return None


def integer_product(fgraph, node):
    """``x * 1 -> x``, ``x * 0 -> 0`` and constants collected, where there is no division."""
    out = node.outputs[0]
    if is_inexact(out) or out.type.dtype == "bool" or is_inside(fgraph, out, ("mul",)):
        return None
    factors, number, constants, nodes = [], 1, 0, 0
    stack, readers = [out], readers_in(fgraph)
    while stack:
        variable = stack.pop()
        value = constant_value(variable)
        if value is not None:
            number, constants = number * int(value), constants + 1
        elif (key(variable) == "mul" and variable.type.dtype == out.type.dtype
              and (variable is out or readers(variable) == 1)):
            nodes += 1
            stack.extend(reversed(variable.owner.inputs))
        else:
            factors.append(variable)
    if number == 0:
        return constant_like(0, out)
    too_wide = len(factors) + (number != 1) > WIDEST
    if constants < 2 and not (constants and number == 1) and (nodes < 2 or too_wide):
        return None
    if number != 1 or not factors:
        factors.insert(0, constant_like(number, out))
    return apply_wide("mul", factors, out.type.dtype)


def pull_sign(fgraph, node):
    """``(-x) * y -> -(x * y)`` inside a sum, which subtracts it."""
    out = node.outputs[0]
    if not is_inexact(out) or not is_inside(fgraph, out, ("add", "sub")):
        return None
    product = product_in(fgraph, out)
    if product.coefficient != -1 or not any([exponent > 0 for exponent in product.powers.values()]):
        return None                    # -1/x has no shorter form
    return factors.build(product, out)


def constant_switch(fgraph, node):
    """``switch`` with a constant condition, or with equal branches."""
    (condition, if_true, if_false), out = node.inputs, node.outputs[0]
    if if_true is if_false:
        return if_true
    value = constant_value(condition)
    if value is not None:
        return if_true if value else if_false
    value, other = constant_value(if_true), constant_value(if_false)
    if type(value) not in (int, float, bool) or value != other or copysign(1, value) != copysign(1, other):
        return None
    return as_type(constant_like(value, out), out.type, node.inputs)


def comparison_of_length(fgraph, node):
    """``x.shape[0] + y.shape[0] >= 0 -> True``: lengths are not negative."""
    length, bound = node.inputs[0], constant_value(node.inputs[1])
    if type(bound) not in (int, float, bool):
        return None
    if not (bound < 0 or bound == 0 and key(node.outputs[0]) in ("lt", "ge")) or not is_count(length):
        return None
    return constant_like(_OF_LENGTHS[key(node.outputs[0])], node.outputs[0])


_OF_LENGTHS = {"lt": 0, "le": 0, "eq": 0, "gt": 1, "ge": 1, "neq": 1}       # compared with what is below them


def constant_power(fgraph, node):
    """``x**0``, ``x**1``, ``x**2``, ``x**0.5`` and their inverses."""
    base, exponent = node.inputs
    power = constant_value(exponent)
    out = node.outputs[0]
    if type(power) not in (int, float, bool):
        return None
    if power == 0:
        return constant_like(1, out)
    if power == 1:
        return base
    ops = _POWERS.get(power)
    if ops is None or not is_inexact(out) and power != 2 or base.type.dtype != out.type.dtype:
        return None
    for name in ops:
        base = apply_op(name, base)
    return base


_POWERS = {2: ("sqr",), 0.5: ("sqrt",), -1: ("inv",), -2: ("sqr", "inv"), -0.5: ("sqrt", "inv")}


def single_input(fgraph, node):
    """Remove n-ary ops of one input, and copies; the linker copies a value where separate memory is needed."""
    return node.inputs[0] if len(node.inputs) == 1 else None


REWRITES = [
    Rewrite("local_add_canonizer", ("add", "sub", "neg"), canonical_sum, (FAST_RUN, "local_add_specialize"),
            of=(REPEATED, *NUMBERS, *sums.KEYS), changes="nan range rounding"),
    Rewrite("local_mul_canonizer", ("mul", "true_div", "inv", "neg", "sqr", "pow"), canonical_product,
            (FAST_RUN, "local_mul_zero", "local_neg_div_neg"), of=(REPEATED, "abs_", *NUMBERS, *factors.KEYS),
            changes="nan range rounding"),
    Rewrite("local_neg_to_sub", ("mul", "true_div"), pull_sign, (FAST_RUN,), of=(*NUMBERS, *factors.KEYS),
            changes="nan range rounding"),
    Rewrite("local_mul_of_shuffled_product", ("mul",), product_with_shuffled_product, (FAST_RUN,), of=("DimShuffle",),
            changes="range rounding"),
    Rewrite("local_mul_one_zero", ("mul",), integer_product, (FAST_RUN,), of=("mul", *NUMBERS), changes="errors"),
    Rewrite("local_pow_canonicalize", ("pow",), constant_power, (FAST_RUN, "local_pow_specialize"), of=NUMBERS,
            changes="nan range rounding"),
    Rewrite("local_useless_switch", ("switch",), constant_switch, (FAST_RUN,), of=(REPEATED, *NUMBERS),
            changes="errors"),
    Rewrite("local_useless_elemwise_comparison", tuple(_OF_LENGTHS), comparison_of_length, (FAST_RUN,),
            of=("Shape_i", "add")),
    Rewrite("local_useless_elemwise", ("add", "mul", "identity"), single_input, (FAST_RUN, "local_add_specialize")),
    rule("local_neg_neg", neg(neg(x)), x),
    rule("local_inv_inv", inv(inv(x)), x, keeps_dtype, changes="range rounding"),
    rule("local_conj_conj", conj(conj(x)), x),
    rule("local_invert_invert", invert(invert(x)), x),
    rule("local_abs_abs", absolute(absolute(x)), absolute(x)),
    rule("local_abs_neg", absolute(neg(x)), absolute(x), signed),
    rule("local_maximum_same", maximum(x, x), x),
    rule("local_minimum_same", minimum(x, x), x),
    rule("local_and_same", and_(x, x), x),
    rule("local_or_same", or_(x, x), x),
    rule("local_xor_same", xor(x, x), 0),
    rule("local_and_zero", and_(x, 0), 0),
    rule("local_or_zero", or_(x, 0), x),
    rule("local_xor_zero", xor(x, 0), x),
    rule("local_and_true", and_(x, 1), x, truths),
    rule("local_or_true", or_(x, 1), 1, truths),
    rule("local_mul_true", mul(x, 1), x, truths),
    rule("local_mul_false", mul(x, 0), 0, truths),
    rule("local_compare_with_itself", lt(x, x), 0),                       # nor is NaN below itself
    rule("local_compare_with_itself", gt(x, x), 0),
    rule("local_compare_with_itself", neq(x, x), 0, discrete),
    rule("local_compare_with_itself", eq(x, x), 1, discrete),
    rule("local_compare_with_itself", le(x, x), 1, discrete),
    rule("local_compare_with_itself", ge(x, x), 1, discrete),
    rule("local_le_infinity", and_(ge(x, y), le(x, inf)), ge(x, y)),      # neither is true for NaN
    rule("local_intdiv_by_one", int_div(x, 1), x, integers),
    rule("local_intdiv_by_one", int_div(x, 1), floor(x), real_numbers, changes="nan"),          # inf // 1
    rule("local_deg2rad_rad2deg", deg2rad(rad2deg(x)), x, keeps_dtype, changes="range rounding"),
    rule("local_rad2deg_deg2rad", rad2deg(deg2rad(x)), x, keeps_dtype, changes="range rounding"),
    rule("local_arcsinh_sinh", sinh(arcsinh(x)), x, keeps_dtype, changes="range rounding"),
]
