"""Numerically stable forms of expressions that overflow, underflow or cancel as written.

The rows are patterns; products that contain a logistic function are in `logistic`. Conditions restrict the rows to real
floating point operands: the identities hold for real numbers, and integers neither overflow in exp nor lose digits.
"""
import math

from phintys.optimizer.engine.database import FAST_RUN, Rewrite
from phintys.optimizer.engine.forms import constant_value, key
from phintys.optimizer.engine.op_patterns import (
    erf,
    erfc,
    exp,
    expm1,
    log,
    log1mexp,
    log1p,
    log_erfc,
    sigmoid,
    softplus,
    x,
)
from phintys.optimizer.engine.pattern import rule
from phintys.optimizer.engine.values import apply_op, constant_like
from phintys.optimizer.rewrites import complements, distribution, exponential_quotients, logistic
from phintys.optimizer.rewrites.log_sum_exp import argument_of, log_add
from phintys.optimizer.rewrites.signs import is_not_negative


def real(found, out):
    """The operand and the result have the same floating point dtype."""
    return out.type.dtype.startswith("float") and found["x"].type.dtype == out.type.dtype


# Function → its inverse to the right, and the values that this inverse has: ``name(x, bound)`` is true outside of them.
UNDONE = {"exp": ("log", (("lt", 0),)), "expm1": ("log1p", (("lt", -1),)), "cosh": ("arccosh", (("lt", 1),)),
          "tanh": ("arctanh", (("lt", -1), ("gt", 1)))}


def function_of_inverse(fgraph, node):
    """``exp(log(x)) -> x`` and others in `UNDONE`, and NaN where the inverse is NaN."""
    out, inner = node.outputs[0], node.inputs[0]
    inverse, outside = UNDONE[key(out)]
    if key(inner) != inverse or not out.type.dtype.startswith("float"):
        return None
    x = inner.owner.inputs[0]
    if x.type.dtype != out.type.dtype:
        return None
    if inverse in ("log", "log1p") and is_not_negative(x):
        return x
    is_nan = [apply_op(name, x, constant_like(bound, x)) for name, bound in outside]
    return apply_op("switch", apply_op("or_", *is_nan) if len(is_nan) > 1 else is_nan[0], constant_like(math.nan, x), x)


def log_of_sum(fgraph, node):
    """``log(1 + x) -> log1p(x)``, where the sum may have more terms, and ``log(1 - x) -> log1p(-x)``."""
    out, inner = node.outputs[0], node.inputs[0]
    name = key(inner)
    if name not in ("add", "sub") or inner.type.dtype != out.type.dtype or not out.type.dtype.startswith("float"):
        return None
    inputs = inner.owner.inputs
    if name == "sub":
        if constant_value(inputs[0]) != 1 or not _full(inputs[1:], inner):
            return None
        return apply_op("log1p", apply_op("neg", inputs[1]))
    rest = [variable for variable in inputs if constant_value(variable) != 1]
    if len(rest) != len(inputs) - 1 or not _full(rest, inner):
        return None
    return apply_op("log1p", apply_op("add", *rest) if len(rest) > 1 else rest[0])


def _full(variables, whole):
    """Return whether the variables have the dtype and, together, the pattern of ``whole``."""
    return all([variable.type.dtype == whole.type.dtype for variable in variables]) and \
        tuple(map(all, zip(*[variable.type.broadcastable for variable in variables]))) == whole.type.broadcastable


def log_of_exp_sum(fgraph, node):
    """``log(exp(x) + exp(y)) -> maximum(x, y) + softplus(-abs(x - y))``."""
    out, inner = node.outputs[0], node.inputs[0]
    if key(inner) != "add" or len(inner.owner.inputs) != 2 or not out.type.dtype.startswith("float"):
        return None
    if any([key(variable) != "exp" or variable.type.dtype != out.type.dtype for variable in inner.owner.inputs]):
        return None
    return log_add(*[argument_of(variable) for variable in inner.owner.inputs])


REWRITES = [
    rule("local_log_exp", log(exp(x)), x, real, changes="range rounding"),
    Rewrite("local_exp_log", ("exp",), function_of_inverse, (FAST_RUN,), changes="range rounding"),
    rule("local_log1p_expm1", log1p(expm1(x)), x, real, changes="range rounding"),
    Rewrite("local_expm1_log1p", ("expm1",), function_of_inverse, (FAST_RUN,), changes="range rounding"),
    Rewrite("local_arccosh_cosh", ("cosh",), function_of_inverse, (FAST_RUN,), changes="range rounding"),
    Rewrite("local_arctanh_tanh", ("tanh",), function_of_inverse, (FAST_RUN,), changes="range rounding"),
    rule("local_log_sigmoid", log(sigmoid(x)), -softplus(-x), real, (FAST_RUN, "log_softplus"),
         changes="range rounding"),
    rule("local_log_one_minus_sigmoid", log(1 - sigmoid(x)), -softplus(x), real, (FAST_RUN, "log_softplus"),
         changes="range rounding"),
    rule("local_log1p_minus_sigmoid", log1p(-sigmoid(x)), -softplus(x), real, (FAST_RUN, "log_softplus"),
         changes="range rounding"),
    rule("local_log_one_plus_exp", log(1 + exp(x)), softplus(x), real, (FAST_RUN, "log_softplus"),
         changes="range rounding"),
    rule("local_log1p_exp", log1p(exp(x)), softplus(x), real, (FAST_RUN, "log_softplus"), changes="range rounding"),
    rule("local_exp_minus_softplus", exp(-softplus(x)), sigmoid(-x), real, changes="range rounding"),
    rule("local_exp_softplus", exp(softplus(x)), 1 + exp(x), real, changes="range rounding"),
    Rewrite("local_log_add", ("log",), log_of_exp_sum, (FAST_RUN,), changes="nan range rounding"),
    Rewrite("local_log1p", ("log",), log_of_sum, (FAST_RUN,), changes="range rounding"),
    rule("local_log_minus_expm1", log(-expm1(x)), log1mexp(x), real, changes="range rounding"),
    rule("local_log1p_minus_exp", log1p(-exp(x)), log1mexp(x), real, changes="nan range rounding"),
    rule("local_log_expm1", log(expm1(x)), x + log1mexp(-x), real, changes="range rounding"),
    rule("local_log_erfc", log(erfc(x)), log_erfc(x), real, changes="range rounding"),
    rule("local_log1p_minus_erf", log1p(-erf(x)), log_erfc(x), real, (FAST_RUN, "local_log_erfc"),
         changes="range rounding"),
    rule("local_log1p_erf", log1p(erf(x)), log_erfc(-x), real, (FAST_RUN, "local_log_erfc"), changes="range rounding"),
    *exponential_quotients.REWRITES,
    *complements.REWRITES,
    *logistic.REWRITES,
    *distribution.REWRITES,
]
