"""A generator of small expressions with the constants 0, 1, -1, 2, 0.5 and 3, and the comparison of what the optimizer
makes of one with what it computes as written.

An expression is ``"x"``, ``("constant", kind, number)`` or ``(name of an op, *operands)``; x is a vector of one dtype.
The comparison knows what is simplified deliberately, as in Theano: ``x / x``, ``x - x``, ``0 * x``, ``0 / x`` and ops
that undo each other. All of these differ only where a part of the expression as written is NaN or infinite, so such
elements are compared only where an expression holds neither a zero nor the same operand twice (`is_strict`).

``python tests/optimizer/algebra.py SEED COUNT`` looks at COUNT random expressions.
"""
import itertools
import random
import sys

import numpy

import phintys
from phintys import tensor
from phintys.graph.config import config
from phintys.ops.elementwise.scalar_op import SCALAR_OPS
from phintys.ops.types.dtypes import ALL_DTYPES
from phintys.ops.types.tensor_type import TensorType

NUMBERS = (0, 1, -1, 2, 0.5, 3)
KINDS = ("number", "of x's dtype", "like x", "vector of int8")
BINARY = ("add", "sub", "mul", "true_div", "int_div", "mod", "pow", "maximum", "minimum", "eq", "neq", "lt", "gt",
          "le", "ge", "and_", "or_", "xor")
UNARY = ("neg", "abs_", "sqr", "inv", "sgn", "floor", "ceil", "trunc", "round_half_to_even", "identity", "invert",
         "conj", "exp", "expm1", "log", "log1p", "sqrt", "tanh", "sigmoid", "softplus")
EXACT = {"neg", "abs_", "sqr", "inv", "sgn", "floor", "ceil", "trunc", "switch",
         *BINARY} - {"pow", "int_div"}                  # at -inf x ** 0.5 becomes NaN, and at inf x // 1 becomes inf
BRANCH_CUTS = {"log", "log1p", "sqrt", "pow"}           # of complex numbers: the sign of a zero decides
AS_WRITTEN = phintys.Mode(optimizer=None)


def values(dtype):
    """What x is: the ends of the range, zeros of both signs, halves, numbers near those, NaN and infinities."""
    kind = numpy.dtype(dtype).kind
    if kind == "b":
        return numpy.array([False, True])
    if kind in "iu":
        limits = numpy.iinfo(dtype)
        near = [number for number in (-7, -3, -2, -1) if kind == "i"]
        return numpy.array([limits.min, limits.min + 1, limits.max - 1, limits.max, *near, 0, 1, 2, 3, 5, 10], dtype)
    if kind == "c":
        return numpy.array([complex(*pair) for pair in itertools.product((0, .5, -1, 2, -3.25), (1, -.5, 2.5))], dtype)
    return numpy.array([0, -0., .5, -.5, 1, -1, 1.5, -1.5, 2.5, 3, -3, 7.25, -4.5, 2 ** -10, -2 ** -10, 1000,
                        numpy.nan, numpy.inf, -numpy.inf], dtype)


def constant(kind, number, x):
    """A constant of one of the `KINDS`, or None where there is none."""
    dtype = numpy.dtype(x.type.dtype)
    if kind == "number":
        return number
    if kind == "of x's dtype":
        return numpy.asarray(number).astype(dtype)[()] if number == numpy.asarray(number).astype(dtype) else None
    if kind == "like x":
        return {0: tensor.zeros_like, 1: tensor.ones_like}[number](x) if number in (0, 1) else None
    return numpy.full(len(values(dtype)), number, "int8") if number != 0.5 else None


def build(expression, x, parts):
    """The variable for an expression, all of whose ops' results are appended to ``parts``; None if there is none."""
    if expression == "x":
        return x
    if expression[0] == "constant":
        return constant(*expression[1:], x)
    operands = [build(operand, x, parts) for operand in expression[1:]]
    if any([operand is None for operand in operands]):
        return None
    try:
        parts.append(SCALAR_OPS[expression[0]].elementwise(*operands))
    except (TypeError, NotImplementedError):            # no such op for these dtypes
        return None
    return parts[-1]


def names(expression):
    """All ops, constants and x's in an expression, as a list."""
    if expression == "x" or expression[0] == "constant":
        return [expression]
    return [expression[0]] + [name for operand in expression[1:] for name in names(operand)]


def is_strict(expression):
    """Whether NaN and infinities have to stay what they are."""
    inside = names(expression)
    return (inside.count("x") == 1 and EXACT.issuperset([name for name in inside if type(name) is str and name != "x"])
            and not any([type(name) is tuple and name[2] == 0 for name in inside]))


def with_constants(name, kinds=KINDS):
    """A binary op of x and each constant, both ways round."""
    yield name, "x", "x"
    for one in itertools.product(["constant"], kinds, NUMBERS):
        yield name, "x", one
        yield name, one, "x"


def random_expression(choices, depth):
    """An expression with an x in it."""
    if not depth:
        return "x"
    kind = choices.random()
    if kind < 0.15:
        return choices.choice(UNARY), random_expression(choices, depth - 1)
    one = "constant", choices.choice(KINDS), choices.choice(NUMBERS)
    inner = random_expression(choices, depth - 1)
    other = random_expression(choices, choices.choice((0, depth - 1))) if choices.random() < 0.3 else one
    if kind < 0.22:
        return "switch", (choices.choice(("lt", "ge")), "x", one), *choices.sample((inner, other), 2)
    return choices.choice(BINARY[:6] * 3 + BINARY), *choices.sample((inner, other), 2)


def difference(expression, dtype):
    """What the optimised program computes otherwise than the expression as written, as text, or None."""
    x, parts = TensorType(dtype, (False,))("x"), []
    found = build(expression, x, parts)
    if found is None or dtype.startswith("complex") and BRANCH_CUTS.intersection(names(expression)):
        return None
    value = values(dtype)
    with numpy.errstate(all="ignore"):
        wanted = phintys.function([x], parts, mode=AS_WRITTEN, on_unused_input="ignore")(value)
        result = phintys.function([x], found, mode="FAST_RUN", on_unused_input="ignore")(value)
        return _difference(value, wanted, result, is_strict(expression))


def _difference(value, parts, result, strict):
    wanted = parts[-1]
    if result.dtype != wanted.dtype or result.shape != wanted.shape:
        return f"{result.dtype} {result.shape} instead of {wanted.dtype} {wanted.shape}"
    inexact = [numpy.broadcast_to(part, value.shape) for part in parts if part.dtype.kind in "fc"]
    finite = numpy.all([numpy.isfinite(part) for part in inexact], 0) if inexact else numpy.ones(value.shape, bool)
    equal = (result == wanted) | (numpy.isnan(result) & numpy.isnan(wanted))
    if inexact and wanted.dtype.kind in "fc":
        epsilon = max([numpy.finfo(part.dtype).eps for part in inexact])
        scale = numpy.max([numpy.where(numpy.isfinite(part), abs(part), 0) for part in inexact], 0)
        with_size = result.astype("complex128") - wanted.astype("complex128")
        equal = equal | (abs(with_size) <= 64 * epsilon * scale) & numpy.isfinite(wanted)
    wrong = ~equal & (finite | (strict and wanted.dtype.kind in "fc"))
    return f"{result[wrong]} instead of {wanted[wrong]} at {value[wrong]}" if wrong.any() else None


def search(seed, count, depths=(2, 2, 3)):
    """``[(expression, dtype, difference)]`` of ``count`` random expressions."""
    choices = random.Random(seed)
    pairs = [(random_expression(choices, choices.choice(depths)), choices.choice(ALL_DTYPES)) for _ in range(count)]
    found = [(expression, dtype, difference(expression, dtype)) for expression, dtype in pairs]
    return [item for item in found if item[2] is not None]


if __name__ == "__main__":
    config.on_opt_error = "raise"
    for item in search(int(sys.argv[1]), int(sys.argv[2])):
        print(*item)
