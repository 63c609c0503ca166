"""Neutral and absorbing elements, normal forms of sums and products, views, fills, shapes, reductions."""
import functools
import operator

import numpy
import pytest
from optimized_graphs import UNFUSED, assert_same_results, evaluate, operations, optimized, variable

import phintys
import phintys.tensor as T
from phintys.graph.gradients.gradient import grad
from phintys.graph.gradients.view_op import disconnected_grad, grad_clip, grad_scale, zero_grad
from phintys.modes import OPT_NONE
from phintys.ops.creation.allocation import alloc
from phintys.ops.elementwise import scalar
from phintys.ops.elementwise.scalar import (
    abs_,
    cast_op,
    conj,
    exp,
    inv,
    log,
    maximum,
    mul,
    neg,
    pow,
    second,
    sqr,
    sqrt,
    sub,
    switch,
    tanh,
    true_div,
)
from phintys.ops.reduction import reduction

x, y, z = variable("d1", "x"), variable("d1", "y"), variable("d1", "z")
m, n = variable("d2", "m"), variable("d2", "n")
s, row, k = variable("d0", "s"), variable("dr", "row"), variable("l1", "k")
f, c = variable("f1", "f"), variable("dc", "c")

# name: (inputs, output, ops of the optimised, unfused graph in order)
CASES = {
    "views that speak of gradients": (
        [x], grad_scale(grad_clip(zero_grad(disconnected_grad(x)), -1, 1), 2), []),
    "x + 0": ([x], x + 0, []),
    "0 + x": ([x], 0 + x, []),
    "x - 0": ([x], x - 0, []),
    "0 - x": ([x], 0 - x, ["neg"]),
    "x * 1": ([x], x * 1, []),
    "x / 1": ([x], x / 1, []),
    "x * -1": ([x], x * -1, ["neg"]),
    "x * 0 has the shape of x": ([x], x * 0, ["second"]),
    "integers: k * 1": ([k], k * 1, []),
    "integers: k * 0": ([k], k * 0, ["second"]),
    "integers: k + 0": ([k], k + 0, []),
    "integers: 2 * k * 3": ([k], 2 * k * 3, ["mul"]),
    "k + 0.0 is a cast": ([k], k + 0.0, ["convert_to_float64"]),
    "x ** 1": ([x], x ** 1, []),
    "x ** 0": ([x], x ** 0, ["second"]),
    "x ** 2": ([x], x ** 2, ["sqr"]),
    "x ** -1": ([x], x ** -1, ["inv"]),
    "x ** -2": ([x], x ** -2, ["sqr", "inv"]),
    "x ** 0.5": ([x], x ** 0.5, ["sqrt"]),
    "x ** 3": ([x], x ** 3, ["pow"]),
    "1 / x": ([x], 1 / x, ["inv"]),
    "x / 4 is exact": ([x], x / 4, ["mul"]),
    "a row of quotients": ([m, row], -(m / row) / row, ["sqr", "true_div", "neg"]),
    "a row of quotients by two rows": ([m, row], m / exp(row) / row, ["exp", "mul", "true_div"]),
    "quotients that others read": (
        [m, row], (m / row) / row + exp(m / row), ["true_div", "exp", "true_div", "add"]),
    "of an outer product the smaller factor is divided": ([c, row], c * row / exp(row), ["exp", "true_div", "mul"]),
    "exponentials that cancel in a sum": ([x, y], (exp(2 * x) + y) * exp(-2 * x), ["mul", "exp", "mul", "add"]),
    "exponentials that do not": ([x, y], (exp(2 * x) + y) * exp(-x), ["neg", "exp", "mul", "exp", "add", "mul"]),
    "x / 3": ([x], x / 3, ["true_div"]),
    "-(-x)": ([x], -(-x), []),
    "1 / (1 / x)": ([x], inv(inv(x)), []),
    "abs(-x)": ([x], abs_(neg(x)), ["abs_"]),
    "abs(abs(x))": ([x], abs_(abs_(x)), ["abs_"]),
    "conj(conj(x))": ([variable("z1")], None, []),
    "maximum(x, x)": ([x], maximum(x, x), []),
    "x * x": ([x], x * x, ["sqr"]),
    "x - x": ([x], x - x, ["second"]),
    "x + y - x": ([x, y], x + y - x, []),
    "(x + 1) + 2": ([x], (x + 1) + 2, ["add"]),
    "x + y + z is one node": ([x, y, z], x + y + z, ["add"]),
    "x * y * z is one node": ([x, y, z], x * y * z, ["mul"]),
    "-(x + 1)": ([x], -(x + 1), ["sub"]),
    "-(f + 2)": ([f], -(f + 2), ["sub"]),
    "1 - (x + 3)": ([x], 1 - (x + 3), ["sub"]),
    "2 * (-3 * x)": ([x], 2 * (-3 * x), ["mul"]),
    "-3 * (2 * k)": ([k], -3 * (2 * k), ["mul"]),
    "x - (-y)": ([x, y], x - (-y), ["add"]),
    "-x - y": ([x, y], -x - y, ["add", "neg"]),
    "x + (-y) * z": ([x, y, z], x + (-y) * z, ["mul", "sub"]),
    "(x * y) / x": ([x, y], x * y / x, []),
    "(x / y) / z, as y * z may overflow": ([x, y, z], x / y / z, ["true_div", "true_div"]),
    "2 * (3 * x)": ([x], 2 * (3 * x), ["mul"]),
    "(-x) * (-y)": ([x, y], (-x) * (-y), ["mul"]),
    "(-x) / (-y)": ([x, y], (-x) / (-y), ["true_div"]),
    "(x * y / x) ** y": ([x, y], pow(x * y / x, y), ["pow"]),
    "y ** (x * y / x)": ([x, y], pow(y, x * y / x), ["pow"]),
    "(x * y / x) ** 3": ([x, y], pow(x * y / x, 3), ["pow"]),
    "x ** 20 * x": ([x], pow(x, 20) * x, ["pow"]),
    "1e200 * x * 1e200 stays": ([x], 1e200 * x * 1e200, ["mul"]),
    "cancelling keeps a shape": ([m, row], m * row / m, ["second"]),
    "cast to the same dtype": ([x], cast_op("float64")(x), []),
    "cast of a cast": ([f], cast_op("float32")(cast_op("float64")(f)), []),
    "lossy casts stay": ([x], cast_op("float64")(cast_op("float32")(x)), ["convert_to_float32", "convert_to_float64"]),
    "int64 through float64 is lossy": ([k], cast_op("int64")(cast_op("float64")(k)),
                                       ["convert_to_float64", "convert_to_int64"]),
    "switch(1, x, y)": ([x, y], switch(numpy.int8(1), x, y), []),
    "switch(k, x, x)": ([k, x], switch(k, x, x), []),
    "transposed twice": ([m], m.T.T, []),
    "a dimension that is dropped and made again": ([c], c.dimshuffle(0).dimshuffle(0, "x") * 2, ["mul"]),
    "dimshuffles around a function": ([c], exp(c.dimshuffle(0)).dimshuffle(0, "x"), ["exp"]),
    "a switch between equal numbers": ([x], switch(x > 0, 2.0, T.constant(2, dtype="float32")) * x, ["mul"]),
    "a switch between zeros of two signs": ([x], switch(x > 0, 0.0, -0.0), ["gt", "switch"]),
    "dimshuffles join": ([m], m.dimshuffle(1, 0, "x").dimshuffle(1, 0), []),
    "a copy": ([x], scalar.identity(x), []),
    "fill of the same type": ([x, y], second(x, y), []),
    "fill disappears in elementwise": ([x, s], second(x, s) * x, ["DimShuffle", "mul"]),
    "fill sinks": ([x, s], exp(second(x, s)), ["exp", "DimShuffle", "second"]),
    "fill of a fill": ([x, s], second(second(x, s), 3.0), ["second"]),
    "alloc disappears in elementwise": ([x, s], alloc(s, x.shape[0]) + x, ["DimShuffle", "add"]),
    "sum of a transpose": ([m], reduction.sum(m.T), ["Sum"]),
    "sum over nothing": ([x], reduction.sum(x, axis=()), []),
    "sum over length 1": ([row], reduction.sum(row, axis=0), ["DimShuffle"]),
    "sum of a sum": ([m], reduction.sum(reduction.sum(m, 0)), ["Sum"]),
    "max of a max": ([m], reduction.max(reduction.max(m, 1), 0), ["Max"]),
    "sum(2 * x)": ([x], reduction.sum(2 * x), ["Sum", "mul"]),
    "sum(m * row, 0)": ([m, row], reduction.sum(m * row, 0), ["DimShuffle", "Sum", "mul"]),
    "sum(m * row, 1)": ([m, row], reduction.sum(m * row, 1), ["mul", "Sum"]),
    "sum(m * equal rows, 0)": ([m], reduction.sum(m * numpy.tile(numpy.arange(10.0), (10, 1)), 0), ["Sum", "mul"]),
    "sum(-x)": ([x], reduction.sum(-x), ["Sum", "neg"]),
    "shape of an elementwise result": ([x, y], (exp(x) + y).shape[0] + 1, ["Shape_i", "add"]),
    "shape of a product's transpose": ([m, n], m.dot(n).T.shape[0] + 1, ["Shape_i", "add"]),
    "shape of a sum": ([m], reduction.sum(tanh(m), 0).shape[0] * 2, ["Shape_i", "mul"]),
    "exp of a shape is computed": ([x], exp(x.shape[0]), ["Shape_i", "exp"]),
    "constants are folded": ([x], x + exp(numpy.float64(0)) * 2, ["add"]),
}
complex_vector = CASES["conj(conj(x))"][0][0]
CASES["conj(conj(x))"] = ([complex_vector], conj(conj(complex_vector)), [])


@pytest.mark.parametrize("name", CASES)
def test_ops_after_optimising(name):
    inputs, output, expected = CASES[name]
    assert operations(optimized(inputs, [output], UNFUSED)) == expected


@pytest.mark.parametrize("name", CASES)
def test_same_results(name):
    inputs, output, _ = CASES[name]
    assert_same_results(inputs, [output])


@pytest.mark.parametrize("output, wrt", [
    ((x * y).sum(), x), (exp(x).sum() * 3, x), ((x ** 2).mean(), x), ((m + row).sum(), row), (m.dot(n).sum(), m),
    (reduction.max(m, 0).sum(), m), ((m * s).mean(), s), (tanh(m / row).sum(0).mean(), row),
    (log(sqrt(sqr(x) + 1)).sum(), x)])
def test_gradients_are_the_same_and_have_no_fills(output, wrt):
    gradient = grad(output, wrt)
    inputs = [x, y, m, n, row, s]
    assert_same_results(inputs, [gradient])
    fgraph = optimized(inputs, [gradient], UNFUSED)
    keys = operations(fgraph)
    assert "second" not in keys or keys[-1] == "second"


def test_a_fill_of_something_computed_reads_its_shape_only():
    assert operations(optimized([m], [second(exp(m), 2.0)])) == ["Shape_i", "Shape_i", "Alloc"]


@pytest.mark.parametrize("inner", [1, 4])
def test_a_sum_of_batched_products_is_one_product(inner):
    one = inner == 1
    a, b = [phintys.tensor.TensorType("float64", pattern)() for pattern in ((False, False, one), (False, one, False))]
    fgraph = optimized([a, b], [reduction.sum(T.batched_dot(a, b), 0)], UNFUSED)
    assert operations(fgraph).count("Dot22") == 1 and "BatchedDot" not in operations(fgraph)
    random = numpy.random.default_rng(0)
    points = [random.normal(size=(5, 2, inner)), random.normal(size=(5, inner, 3))]
    numpy.testing.assert_allclose(evaluate(fgraph, points), [(points[0] @ points[1]).sum(0)])
    assert "BatchedDot" in operations(optimized([a, b], [reduction.sum(T.batched_dot(a, b), 1)], UNFUSED))


def test_unsigned_numbers_keep_their_negations():
    u = variable("u1")
    assert_same_results([u, x], [(-u) * x, x - (-u), sub(u, u) + u])


def test_float16_and_mixed_dtypes():
    i8 = variable("b1")
    assert_same_results([f, k, i8], [f * 1, f * k / f, (f + i8) - f, true_div(mul(f, 2), 2), neg(i8) * f], rtol=1e-5)


def test_integer_constants_wrap_around():
    i8 = variable("b1")
    assert_same_results([i8], [(i8 + numpy.int8(100)) + numpy.int8(100)])


def test_nothing_is_lost_in_powers_of_integers():
    assert_same_results([k], [pow(k, 2), pow(k, 1), pow(k, 3), scalar.int_div(k, 1)])


@pytest.mark.parametrize("kind", ["d1", "f1"])
def test_powers_of_powers_stay_in_range(kind):
    """1,100 squarings are x ** 2**1100, an exponent that no floating point dtype holds."""
    t = value = variable(kind)
    for _ in range(1100):
        value = sqr(value)
    fgraph = optimized([t], [value], UNFUSED)
    found, = evaluate(fgraph, [numpy.array([1, -1, 0.5, 2, 0], t.type.dtype)])
    assert found.tolist() == [1, 1, 0, numpy.inf, 0]


@pytest.mark.parametrize("output, point, wanted", [
    (1e200 * x * 1e200, 1e-300, 1e100), (1e-200 * x * 1e-200, 1e300, 1e-100), (sqr(1e200 * x) / x, 1e-200, 1e200),
    (x / 1e-200 / 1e-200, 1e-300, 1e100)])
def test_products_of_numbers_do_not_overflow(output, point, wanted):
    found, = evaluate(optimized([x], [output], UNFUSED), [numpy.array([point])])
    numpy.testing.assert_allclose(found, [wanted])


DISTRIBUTED = {
    "(x / y + y) * y": ((x / y + y) * y, ["add", "sqr"]),
    "x * (1 / x + y)": (x * (1 / x + y), ["add", "mul"]),
    "(x / y / 3 + z / y) * y * 3": ((x / y / 3 + z / y) * y * 3, ["add", "mul", "mul"]),
    "(x - y) * z": ((x - y) * z, ["mul", "sub"]),
    "(x / y + z + tanh(z)) * z": ((x / y + z + tanh(z)) * z, ["add", "mul", "tanh", "true_div"]),
}


@pytest.mark.parametrize("name", DISTRIBUTED)
def test_factors_that_cancel_divisions_move_into_sums(name):
    output, wanted = DISTRIBUTED[name]
    fgraph = optimized([x, y, z], [output], UNFUSED)
    assert sorted(operations(fgraph)) == wanted
    points = [numpy.array([2.0, 3]), numpy.array([3.0, 7]), numpy.array([5.0, 11])]
    numpy.testing.assert_allclose(evaluate(fgraph, points), evaluate(optimized([x, y, z], [output], OPT_NONE), points))


def test_a_division_by_zero_that_cancels_is_gone():
    found, = evaluate(optimized([x, y], [(x / y + y) * y], UNFUSED), [numpy.array([0.5]), numpy.array([0.0])])
    assert found == [0.5]


@pytest.mark.parametrize("dtype", ["float64", "int64"])
@pytest.mark.parametrize("count", [15, 16, 17, 31])
@pytest.mark.parametrize("join", [operator.add, operator.mul])
def test_sums_and_products_as_wide_as_a_node_may_be_and_a_constant(join, count, dtype):
    terms = [T.TensorType(dtype, ())() for _ in range(count)]
    with phintys.change_flags(on_opt_error="raise"):
        f = phintys.function(terms, join(functools.reduce(join, terms), 3))
    values = [number % 2 + 1 for number in range(count)]
    assert f(*values) == join(functools.reduce(join, values), 3)
