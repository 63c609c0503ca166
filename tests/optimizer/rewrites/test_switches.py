"""Switches moved out of products and quotients, and x / abs(x): what is not chosen, or 0, spoils nothing."""
import numpy
import pytest
from optimized_graphs import FAST_RUN, UNFUSED, evaluate, operations, optimized, variable

import phintys
import phintys.tensor as T
from phintys.graph.gradients.gradient import grad
from phintys.ops.elementwise.scalar import abs_, eq, gt, int_div, log, maximum, sgn, sqrt, switch, true_div

x, y, c = variable("d1", "x"), variable("d1", "y"), variable("d1", "c")
POINTS = [numpy.array([-2.0, 0, 3, -0.0]), numpy.array([1.0, 0, -2, 4]), numpy.array([-1.0, 0, 1, -1])]
nan, inf = numpy.nan, numpy.inf
left, right = switch(gt(c, 0), x, 0 * x), switch(gt(c, 0), x, log(c) * x)

# expression, what Theano 1.0.5 computes at POINTS
CASES = {
    "4 * x / abs(2 * x)": (4 * x / abs_(2 * x), [-2, 0, 2, 0]),
    "x / abs(x)": (x / abs_(x), [-1, 0, 1, 0]),
    "x * y / abs(x)": (x * y / abs_(x), [-1, 0, -2, 0]),
    "x * y / abs(x * y)": (x * y / abs_(x * y), [-1, 0, -1, 0]),
    "x / abs(x * y)": (x / abs_(x * y), [-1, nan, 0.5, 0]),
    "abs(x) / x": (abs_(x) / x, [-1, nan, 1, nan]),
    "x * x / abs(x)": (x * x / abs_(x), [2, 0, 3, 0]),
    "x / abs(x) / abs(x)": (x / abs_(x) / abs_(x), [-0.5, nan, 1 / 3, nan]),
    "x / abs(x / y)": (x / abs_(x / y), [-1, 0, 2, 0]),
    "x / abs(-3 * x)": (x / abs_(-3 * x), [-1 / 3, 0, 1 / 3, 0]),
    "a product of switches": (left * right, [0, 0, 9, 0]),
    "a quotient of switches": (left / right, [0, 0, 1, 0]),
    "a sum of switches": (switch(gt(c, 0), x, 0) + switch(gt(c, 0), 0, x), [-2, 0, 3, 0]),
    "a switch times a logarithm": (switch(gt(c, 0), x, 0) * log(c), [0, 0, 0, 0]),
    "a zero where the condition holds": (switch(gt(c, 0), 0, x) * log(c) * y, [nan, nan, 0, nan]),
    "a switch divided by a logarithm": (switch(gt(c, 0), x, 0) / log(c), [0, 0, inf, 0]),
    "a switch rounded down": (int_div(switch(gt(c, 0), x, 0), log(c)), [0, 0, None, 0]),
    "the gradient of a chosen logarithm": (grad(switch(gt(c, 0), log(c), 0).sum(), c), [0, 0, 1, 0]),
    "the gradient of a chosen root": (grad(switch(eq(c, 0), 0, sqrt(c)).sum(), c), [nan, 0, 0.5, nan]),
}


@pytest.mark.parametrize("query", [UNFUSED, FAST_RUN], ids=["unfused", "fused"])
@pytest.mark.parametrize("name", CASES)
def test_values_are_theano_s(name, query):
    output, wanted = CASES[name]
    found, = evaluate(optimized([x, y, c], [output], query), POINTS)
    known = [number is not None for number in wanted]
    numpy.testing.assert_allclose(found[known], numpy.array(wanted, float)[known], atol=0)


OPERATIONS = {
    "x / abs(x)": (x / abs_(x), ["sgn"]),
    "a product of switches": (switch(gt(c, 0), x, y) * switch(gt(c, 0), y, x), ["gt", "mul", "mul", "switch"]),
    "other conditions stay": (switch(gt(c, 0), x, y) * switch(gt(c, 1), y, x), ["gt", "gt", "mul", "switch", "switch"]),
    "a maximum of switches": (maximum(switch(gt(c, 0), x, y), switch(gt(c, 0), y, x)),
                              ["gt", "maximum", "maximum", "switch"]),
    "a branch that is not zero stays": (switch(gt(c, 0), x, 1) * y, ["gt", "mul", "switch"]),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations(name):
    output, wanted = OPERATIONS[name]
    assert sorted(operations(optimized([x, y, c], [output], UNFUSED))) == wanted


def test_integers_keep_their_switches_and_magnitudes():
    k, b = variable("l1", "k"), variable("B1", "b")
    numbers, flags = numpy.array([-3, 0, 5]), numpy.array([True, False, True])
    outputs = [switch(gt(k, 0), k, 0) * k, true_div(k, abs_(k)), sgn(k), true_div(b, abs_(b))]
    found = evaluate(optimized([k, b], outputs, UNFUSED), [numbers, flags])
    numpy.testing.assert_array_equal(found[0], [0, 0, 25])
    numpy.testing.assert_array_equal(found[1], [-1, 0, 1])
    assert found[1].dtype == outputs[1].type.dtype


def test_complex_numbers_have_no_sign():
    z = variable("z1")
    found, = evaluate(optimized([z], [z / abs_(z)], UNFUSED), [numpy.array([3 + 4j])])
    numpy.testing.assert_allclose(found, [0.6 + 0.8j])


def test_a_switch_of_another_shape_keeps_the_shape():
    s, m = variable("d0", "s"), variable("d2", "m")
    for output in (switch(gt(s, 0), s, 0) * m, switch(gt(s, 0), 0, s) / m, switch(gt(m, 0), 0, s) * s):
        found, = evaluate(optimized([s, m], [output], UNFUSED), [numpy.asarray(2.0), numpy.ones((2, 3))])
        assert found.shape == (2, 3)


def test_branches_have_the_dtype_of_their_switch():
    """The difference of two bools, for example, would be an error."""
    condition, first, second, number = T.bvector(), T.vector(dtype="bool"), T.vector(dtype="bool"), T.bvector()
    output = T.switch(condition, first, number) - T.switch(condition, second, number)
    f = phintys.function([condition, first, second, number], output)
    found = f([1, 1, 0], numpy.array([True, False, True]), numpy.array([True, True, False]), [3, 4, 5])
    assert found.tolist() == [0, -1, 0]
    names = [str(node.op) for node in f.maker.fgraph.toposort()]
    assert "".join(names).count("switch") == 1 and len(names) == 2        # the lengths of `number` are checked
