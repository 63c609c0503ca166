"""Magnitudes, signs and powers of exponentials; factors that cancel behind values with other readers."""
import numpy
import pytest
from optimized_graphs import UNFUSED, assert_same_results, evaluate, operations, optimized, variable

from phintys.ops.elementwise.scalar import abs_, clip, exp, log, log1p, sgn, sigmoid, softplus, sqr, sqrt, switch

X, Y, Z, S, F, K = [variable(kind) for kind in ("d1", "d1", "d1", "d0", "f1", "l1")]
shared_root, quotient = sqrt(exp(X)), X / Y
root = sqrt(shifted_square := 1e-12 + sqr(X))
squared, shifted = sqr(X), 1e-12 + clip(X, 0.0, numpy.inf)

# name: inputs, outputs, operations without fusion
CASES = {
    "abs(exp(x))": ([X], [abs_(exp(X))], ["exp"]),
    "abs of products of what is positive": (
        [X, Y], [abs_(sigmoid(X) / sqrt(softplus(Y)) + sqr(Y))],
        ["sigmoid", "softplus", "sqrt", "true_div", "sqr", "add"]),
    "abs of what is clipped to positive bounds": ([X], [abs_(1e-12 + clip(X, 0.0, numpy.inf))], ["clip", "add"]),
    "abs of what is clipped to a bound of any sign stays": (
        [X, S], [abs_(clip(X, 0.0, S)), abs_(clip(X, S, 1.0))], ["clip", "abs_", "clip", "abs_"]),
    "abs of what may be negative stays": ([X, Y], [abs_(exp(X) * Y), abs_(exp(X) - 1)], None),
    "what is not negative is chosen where it is not negative": (
        [X], [switch(squared >= 0, squared, numpy.nan), switch(0.0 <= shifted, shifted, numpy.nan),
              switch(squared < 0, numpy.nan, squared), switch(0 > shifted, numpy.nan, shifted)],
        ["sqr", "clip", "add"]),
    "what may be negative, or 0 where that is left out, or is not chosen, stays": (
        [X, Y], [switch(X >= 0, X, numpy.nan), switch(squared > 0, squared, numpy.nan),
                 switch(squared >= 0, Y, numpy.nan), switch(squared >= 0, squared, 0.0),
                 switch(squared >= 1, squared, numpy.nan)],
        ["sqr", "ge", "ge", "ge", "gt", "switch", "switch", "switch", "switch", "switch"]),
    "what is chosen is added to what is not a number there": (
        [X, Y, S], [Y / root + switch(shifted_square >= 0, Y, 0.0) - S,
                    exp(-root) - switch(0.0 > shifted_square, 0.0, Y)],
        ["sqr", "add", "sqrt", "true_div", "add", "sub", "neg", "exp", "sub"]),
    "it stays beside what may be a number there, or is not added": (
        [X, Y], [switch(root > 1, 1.0, Y) + switch(shifted_square >= 0, Y, 0.0),
                 (Y / root) * switch(shifted_square >= 0, X, 0.0)],
        ["sqr", "add", "sqrt", "gt", "ge", "switch", "switch", "switch", "add", "true_div", "mul"]),
    "the sign of a square may be 0": ([X], [sgn(sqr(X))], ["sqr", "sgn"]),
    "sgn(exp(x)) is 0 where exp(x) underflows": ([X, Y], [sgn(exp(X)) * Y], ["exp", "sgn", "mul"]),
    "y / sgn(exp(x))": ([X, Y], [Y / sgn(exp(X))], []),
    "sgn(exp(x)) beside a root": ([X, Y], [sgn(exp(X)) * Y * sqrt(exp(X)), exp(X)], ["exp", "sqrt", "mul"]),
    "sgn(exp(x)) in a term beside a root": (
        [X, Y], [(X + Y * sgn(exp(X))) * sqrt(exp(X)), exp(X)], ["exp", "sqrt", "add", "mul"]),
    "sgn(exp(x)) beside a power": ([X], [sgn(exp(2 * X)) * exp(-X)], ["neg", "exp"]),
    "sgn of what is at least a positive constant": (
        [X, Y], [Y * sgn(1e-12 + clip(X, 0.0, numpy.inf)), Y * sgn(clip(X, 0.5, 2.0) + sqr(Y))], []),
    "sgn of what may be 0 or negative stays": (
        [X, Y], [Y * sgn(sqr(X) + sqr(Y)), Y * sgn(1.0 + X)], ["sqr", "sqr", "add", "sgn", "mul", "add", "sgn", "mul"]),
    "sgn of integers": ([K], [sgn(K * K)], ["sqr", "sgn"]),
    "exp(x)**1.5": ([X], [exp(X) ** 1.5], ["mul", "exp"]),
    "float32": ([F], [exp(F) ** numpy.float32(1.5)], ["mul", "exp"]),
    "sqrt(exp(x))": ([X], [sqrt(exp(X))], ["mul", "exp"]),
    "sqrt(exp(x)) costs less where exp(x) is read": ([X], [sqrt(exp(X)), exp(X)], ["exp", "sqrt"]),
    "sqr(sqrt(exp(x)))": ([X], [sqr(shared_root), shared_root], ["mul", "exp", "sqr"]),
    "sqr(exp(x)) stays": ([X], [sqr(exp(X))], ["exp", "sqr"]),
    "exp(2 * x) * y * exp(-3 * x)": ([X, Y], [exp(2 * X) * Y * exp(-3 * X)], ["neg", "exp", "mul"]),
    "exp(x) * exp(-x)": ([X, Y], [exp(X) * Y * exp(-X)], []),
    "exponentials of others stay": ([X, Y], [exp(X) * exp(Y)], ["exp", "exp", "mul"]),
    "y / exp(2 * x)": ([X, Y], [Y / exp(2 * X)], ["mul", "exp", "mul"]),
    "y / exp(x), which is read": ([X, Y], [Y / exp(X), exp(X)], ["exp", "true_div"]),
    "log(a * exp(x))": ([X, S], [log(S * exp(-2 * X) / 3)], ["mul", "log", "mul", "add"]),
    "log(y * exp(x)) stays": ([X, Y], [log(Y * exp(X))], ["exp", "mul", "log"]),
    "a quotient that is read, times its divisor": ([X, Y], [quotient, quotient * Y * Y], ["true_div", "mul"]),
    "more operations would be needed": (
        [X, Y, Z], [X * Z / Y, (X * Z / Y) / X * Y], None),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_operations(name):
    inputs, outputs, wanted = CASES[name]
    assert_same_results(inputs, outputs, rtol=1e-5 if inputs == [F] else 1e-10)
    if wanted is not None:
        found = [operation for operation in operations(optimized(inputs, outputs, UNFUSED))
                 if operation not in ("DimShuffle", "second", "Alloc", "Shape_i")]
        assert sorted(found) == sorted(wanted)


def test_powers_of_exponentials_do_not_overflow():
    values = [numpy.array([800.0, -800.0])]
    found, = evaluate(optimized([X], [exp(X) ** 1.5 * exp(-X)], UNFUSED), values)
    numpy.testing.assert_allclose(found, numpy.exp([400.0, -400.0]))
    found, = evaluate(optimized([X], [log(3 * exp(X))], UNFUSED), values)
    numpy.testing.assert_allclose(found, numpy.log(3) + values[0])


def test_the_gradient_of_a_scale_has_one_exponential():
    """``log1p(y * |exp(-2 * x)|)`` and the gradient with respect to x, through a standard deviation."""
    deviation = abs_(exp(-2 * X)) ** -0.5
    outputs = [log1p(sqr(Y) / sqr(deviation)), deviation ** -3.0 * sgn(deviation) * Y * exp(-X)]
    assert operations(optimized([X, Y], outputs, UNFUSED)).count("exp") <= 2
    assert "pow" not in operations(optimized([X, Y], outputs, UNFUSED))
    assert_same_results([X, Y], outputs, values=[numpy.linspace(-2, 2, 7), numpy.linspace(-1, 3, 7)])
