"""Stable forms: logarithms of exponentials, and the logistic regression as written by hand, with its
gradients.
"""
import itertools

import numpy
import pytest
from optimized_graphs import FAST_RUN, UNFUSED, assert_same_results, evaluate, operations, optimized, variable

from phintys.graph.gradients.gradient import grad
from phintys.ops.elementwise.scalar import (
    arccosh,
    arctanh,
    cosh,
    erf,
    erfc,
    exp,
    expm1,
    inv,
    log,
    log1p,
    neg,
    sigmoid,
    softplus,
    tanh,
)

x, y, f, k = variable("d1", "x"), variable("d1", "y"), variable("f1", "f"), variable("l1", "k")

CASES = {
    "log(exp(x))": (log(exp(x)), []),
    "exp(log(x))": (exp(log(x)), ["lt", "switch"]),
    "exp(log(exp(y)))": (exp(log(exp(y))), ["exp"]),
    "expm1(log1p(x))": (expm1(log1p(x)), ["lt", "switch"]),
    "cosh(arccosh(x))": (cosh(arccosh(x)), ["lt", "switch"]),
    "tanh(arctanh(x))": (tanh(arctanh(x)), ["gt", "lt", "or_", "switch"]),
    "log(1 + x)": (log(1 + x), ["log1p"]),
    "log(x + 1)": (log(x + 1), ["log1p"]),
    "log(1 + x + y)": (log(1 + x + y), ["add", "log1p"]),
    "log(1 - x)": (log(1 - x), ["neg", "log1p"]),
    "log(2 + x) stays": (log(2 + x), ["add", "log"]),
    "log(1 + exp(x))": (log(1 + exp(x)), ["softplus"]),
    "log1p(exp(x))": (log1p(exp(x)), ["softplus"]),
    "log(sigmoid(x))": (log(sigmoid(x)), ["neg", "softplus", "neg"]),
    "log(1 - sigmoid(x))": (log(1 - sigmoid(x)), ["softplus", "neg"]),
    "log1p(-sigmoid(x))": (log1p(-sigmoid(x)), ["softplus", "neg"]),
    "log(exp(x) + exp(y))": (log(exp(x) + exp(y)), [
        "sub", "abs_", "neg", "softplus", "eq", "switch", "maximum", "add"]),
    "exp(x) - 1": (exp(x) - 1, ["expm1"]),
    "1 - exp(x)": (1 - exp(x), ["expm1", "neg"]),
    "log1p(expm1(x))": (log1p(expm1(x)), []),
    "1 - erf(x)": (1 - erf(x), ["erfc"]),
    "1 - erfc(x)": (1 - erfc(x), ["erf"]),
    "1 - sigmoid(x)": (1 - sigmoid(x), ["neg", "sigmoid"]),
    "sigmoid(x) - 1": (sigmoid(x) - 1, ["neg", "sigmoid", "neg"]),
    "1 / (1 + exp(-x))": (1 / (1 + exp(-x)), ["sigmoid"]),
    "inv(1 + exp(x))": (inv(1 + exp(x)), ["neg", "sigmoid"]),
    "exp(x) / (1 + exp(x))": (exp(x) / (1 + exp(x)), ["sigmoid"]),
    "sigmoid(-x) * exp(x)": (sigmoid(-x) * exp(x), ["sigmoid"]),
    "sigmoid(x) * exp(-x)": (sigmoid(x) * exp(-x), ["neg", "sigmoid"]),
    "y * (1 + exp(x)) * sigmoid(-x)": (y * (1 + exp(x)) * sigmoid(-x), []),
    "sigmoid(x) / sigmoid(x)": (sigmoid(x) / sigmoid(x) * y, []),
    "y - y * sigmoid(x)": (y - y * sigmoid(x), ["neg", "sigmoid", "mul"]),
    "exp(-softplus(x))": (exp(-softplus(x)), ["neg", "sigmoid"]),
    "an exp alone stays": (exp(x) * y, ["exp", "mul"]),
    "other arguments stay": (sigmoid(x) * exp(y), ["exp", "mul", "sigmoid"]),
}


@pytest.mark.parametrize("name", CASES)
def test_ops_after_optimising(name):
    output, expected = CASES[name]
    found = operations(optimized([x, y], [output], UNFUSED))
    assert sorted(found) == sorted(expected)


@pytest.mark.parametrize("name", CASES)
def test_same_results_where_the_original_is_exact(name):
    values = [numpy.linspace(0.01, 0.9, 10), numpy.linspace(-3, 3, 10)]
    assert_same_results([x, y], [CASES[name][0]], values=values)


@pytest.mark.parametrize("output", [exp(log(x)), expm1(log1p(x)), cosh(arccosh(x)), tanh(arctanh(x))], ids=str)
def test_what_an_inverse_has_no_value_for_is_nan(output):
    assert_same_results([x], [output], values=[numpy.array([-3, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 3, numpy.nan])])


def test_integers_are_left_alone():
    assert operations(optimized([k], [log(1 + k)], UNFUSED)) == ["add", "log"]


@pytest.mark.parametrize("output, points, expected", [
    (log(1 + exp(x)), [-1000, 0, 1000], [0, numpy.log(2), 1000]),
    (log(exp(x) + exp(y)), [-1000, 0, 1000], [-1000 + numpy.log(2), numpy.log(2), 1000 + numpy.log(2)]),
    (log(1 - sigmoid(x)), [-800, 0, 1000], [0, -numpy.log(2), -1000]),
    (exp(x) - 1, [1e-18, 0, -50], [1e-18, 0, numpy.expm1(-50)]),
    (log(1 + x), [1e-18, 0, 1], [1e-18, 0, numpy.log(2)]),
    (1 - erf(x), [10, 20, 0], [2.0884875837625446e-45, 5.3958656116079005e-176, 1]),
])
def test_values_where_the_original_fails(output, points, expected):
    points = numpy.array(points, float)
    found, = evaluate(optimized([x, y], [output]), [points, points])
    numpy.testing.assert_allclose(found, expected, rtol=1e-12, atol=0)


# ---- the logistic regression -----------------------------------------------------------------------------------------
# How people write z (from a and b; the second is -z), the probability, and the cross entropy.
ARGUMENTS = {
    "-a - b": lambda a, b: (a + b, -a - b),
    "-(a + b)": lambda a, b: (a + b, -(a + b)),
    "b - a": lambda a, b: (a - b, b - a),
    "-a + b": lambda a, b: (a - b, -a + b),
    "-1 * z": lambda a, b: (a + b, -1 * (a + b)),
}
PROBABILITIES = {
    "1 / (1 + exp(-z))": lambda z, minus: 1 / (1 + exp(minus)),
    "1.0 / (1.0 + exp(-z))": lambda z, minus: 1.0 / (1.0 + exp(minus)),
    "1 / (exp(-z) + 1)": lambda z, minus: 1 / (exp(minus) + 1),
    "exp(z) / (1 + exp(z))": lambda z, minus: exp(z) / (1 + exp(z)),
    "1 - 1 / (1 + exp(z))": lambda z, minus: 1 - 1 / (1 + exp(z)),
    "sigmoid(z)": lambda z, minus: sigmoid(z),
    "sigmoid(-(-z))": lambda z, minus: sigmoid(-minus),
}
ENTROPIES = {
    "-y log p - (1 - y) log(1 - p)": lambda p, y: -y * log(p) - (1 - y) * log(1 - p),
    "-y log p - (1. - y) log(1. - p)": lambda p, y: -y * log(p) - (1. - y) * log(1. - p),
    "-(y log p + (1 - y) log(1 - p))": lambda p, y: -(y * log(p) + (1 - y) * log(1 - p)),
    "with log1p": lambda p, y: -y * log(p) - (1 - y) * log1p(-p),
}
KINDS = [("d1", "l1"), ("d1", "d1"), ("f1", "l1"), ("f2", "f2"), ("d2", "b2")]
POINTS = numpy.array([-1000, -800, -700, -87, -30, -2, -1e-5, 0, 1, 30, 37, 87, 700, 740, 1000])


def stable_sigmoid(t):
    return numpy.where(t >= 0, 1.0, numpy.exp(-abs(t))) / (1 + numpy.exp(-abs(t)))


def stable_softplus(t):
    return numpy.maximum(t, 0) + numpy.log1p(numpy.exp(-abs(t)))


@pytest.mark.parametrize("kinds", KINDS, ids="-".join)
@pytest.mark.parametrize("probability, entropy", list(itertools.product(PROBABILITIES, ENTROPIES)))
def test_saturated_logistic_regression(probability, entropy, kinds):
    targets = numpy.array([0] * len(POINTS) + [1] * len(POINTS))
    points = numpy.concatenate([POINTS, POINTS])
    if kinds[0].endswith("2"):
        targets, points = targets.reshape(5, 6), points.reshape(5, 6)
    tolerance, tiny = (1e-12, 1e-304) if kinds[0][0] == "d" else (1e-5, 1e-37)
    probabilities = stable_sigmoid(points)
    entropies = targets * stable_softplus(-points) + (1 - targets) * stable_softplus(points)
    slope = ((1 - targets) * stable_sigmoid(points) - targets * stable_sigmoid(-points)) / points.size
    for argument in ARGUMENTS.values():
        a, b, wanted = variable(kinds[0]), variable(kinds[0]), variable(kinds[1])
        p = PROBABILITIES[probability](*argument(a, b))
        xent = ENTROPIES[entropy](p, wanted)
        cost = xent.mean()
        fgraph = optimized([a, b, wanted], [p, xent, cost, grad(cost, a)])
        values = [points.astype(a.type.dtype), numpy.zeros_like(points, a.type.dtype),
                  targets.astype(wanted.type.dtype)]
        for found, expected in zip(evaluate(fgraph, values), (probabilities, entropies, entropies.mean(), slope)):
            numpy.testing.assert_allclose(found, expected, rtol=tolerance, atol=tiny)


@pytest.mark.parametrize("targets", ["l1", "d1", "i1", "u1"])
def test_the_papers_listing(targets):
    X, Y, w, b = variable("d2", "x"), variable(targets, "y"), variable("d1", "w"), variable("d0", "b")
    p_1 = 1 / (1 + exp(-X.dot(w) - b))
    xent = -Y * log(p_1) - (1 - Y) * log(1 - p_1)
    cost = xent.mean() + 0.01 * (w ** 2).sum()
    gw, gb = grad(cost, [w, b])
    fgraph = optimized([X, Y, w, b], [p_1 > 0.5, xent, cost, w - 0.1 * gw, b - 0.1 * gb])
    random = numpy.random.RandomState(1)
    x_value, w_value = random.randn(8, 5), random.randn(5)
    x_value[:4] *= 500 / abs(x_value[:4].dot(w_value))[:, None]
    y_value = numpy.array([0, 1, 0, 1] * 2).astype(Y.type.dtype)
    logits = x_value.dot(w_value) + 0.25
    if targets == "u1":                    # -y wraps around, in NumPy and here: only the other half is tested
        y_value[:] = 0
    found = evaluate(fgraph, [x_value, y_value, w_value, numpy.asarray(0.25)])
    entropies = numpy.where(y_value, stable_softplus(-logits), stable_softplus(logits))
    slope = (stable_sigmoid(logits) - y_value) / len(logits)
    expected = [logits > 0, entropies, entropies.mean() + 0.01 * (w_value ** 2).sum(),
                w_value - 0.1 * (x_value.T.dot(slope) + 0.02 * w_value), 0.25 - 0.1 * slope.sum()]
    for got, want in zip(found, expected):
        numpy.testing.assert_allclose(got, want, rtol=1e-10)


def test_the_papers_training_step_is_few_instructions():
    X, Y, w, b = variable("d2", "x"), variable("l1", "y"), variable("d1", "w"), variable("d0", "b")
    p_1 = 1 / (1 + exp(-X.dot(w) - b))
    xent = -Y * log(p_1) - (1 - Y) * log(1 - p_1)
    gw, gb = grad(xent.mean() + 0.01 * (w ** 2).sum(), [w, b])
    fgraph = optimized([X, Y, w, b], [p_1 > 0.5, xent, w - 0.1 * gw, b - 0.1 * gb], FAST_RUN)
    assert sorted(operations(fgraph)) == ["Composite"] * 3 + ["DimShuffle"] * 3 + ["Dot", "Gemv", "Shape_i", "Sum"]


def test_shared_products_are_looked_into():
    shared = y / sigmoid(x)
    fgraph = optimized([x, y], [shared * sigmoid(x), shared], UNFUSED)
    found, _ = evaluate(fgraph, [numpy.array([-800.0]), numpy.array([3.0])])
    numpy.testing.assert_allclose(found, [3.0])


def test_negations_are_found_across_spellings():
    output = sigmoid(x - 2 * y) * exp(neg(x) + 2 * y)
    assert operations(optimized([x, y], [output], UNFUSED)).count("exp") == 0


def test_negations_are_found_in_long_sums():
    """t and -t are seen to be opposite however long t is."""
    terms = [variable("d1") for _ in range(40)]
    t = terms[0]
    for term in terms[1:]:
        t = t + 0.5 * term
    keys = operations(optimized(terms, [sigmoid(-t) * exp(t)], UNFUSED))
    assert "exp" not in keys and keys.count("sigmoid") == 1


def test_complementary_error_function_of_float32_keeps_its_dtype():
    assert optimized([f], [1 - erf(f)], UNFUSED).outputs[0].type == erfc(f).type
