"""Algebra with the constants 0, 1, -1, 2, 0.5 and 3 over all dtypes: the optimised program computes what is written."""
import numpy
import pytest
from algebra import BINARY, UNARY, difference, search, with_constants
from optimized_graphs import FAST_COMPILE, UNFUSED, evaluate, operations, optimized, random_value, variable

import phintys
from phintys import tensor
from phintys.graph.config import change_flags
from phintys.ops.elementwise.scalar import int_div
from phintys.ops.types.dtypes import ALL_DTYPES


@pytest.fixture(autouse=True)
def failing_rewrites_raise():
    with change_flags(on_opt_error="raise"):
        yield


def differences(expressions, dtypes):
    found = [(expression, dtype, difference(expression, dtype)) for expression in expressions for dtype in dtypes]
    return [item for item in found if item[2] is not None]


@pytest.mark.parametrize("name", BINARY)
def test_binary_ops_of_constants(name):
    assert not differences(with_constants(name, ("number", "like x")), ALL_DTYPES)


@pytest.mark.parametrize("name", UNARY)
def test_pairs_of_unary_ops(name):
    assert not differences([(name, (inner, "x")) for inner in UNARY], ("float32", "int8", "uint8", "complex128"))


@pytest.mark.parametrize("seed", range(4))
def test_random_expressions(seed):
    assert not search(seed, 400)


@pytest.mark.parametrize("one", [1, 1.0, "like x"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_floating_point_numbers_divided_by_one_are_rounded_down(dtype, one):
    x = tensor.TensorType(dtype, (False,))()
    found = phintys.function([x], x // (tensor.ones_like(x) if one == "like x" else numpy.asarray(one, dtype)))
    assert found(numpy.array([2.5, -0.5, 3], dtype)).tolist() == [2, -1, 3]


@pytest.mark.parametrize("kind", ["l1", "b1", "u1"])
def test_integers_divided_by_one_are_left_alone(kind):
    k = variable(kind)
    assert operations(optimized([k], [int_div(k, numpy.ones((), k.type.dtype))])) == []


# What the generator found beside `x // 1`: (expression, dtype)
FOUND = {
    "-x of unsigned integers wraps around": (("abs_", ("neg", "x")), "uint8"),
    "-x of the smallest integer wraps around": (("true_div", ("neg", "x"), ("constant", "number", 3)), "int16"),
    "in sums, too": (("add", ("neg", "x"), ("constant", "number", 0.5)), "int16"),
    "1 - sigmoid of unsigned integers": (("sub", ("sigmoid", "x"), ("constant", "number", 1)), "uint16"),
    "1 - sigmoid of bools": (("sub", ("sigmoid", "x"), ("constant", "number", 1)), "bool"),
    "a wider constant that disappears from a product": (
        ("mul", ("mul", "x", ("constant", "number", 1)), ("and_", "x", "x")), "uint32"),
    "and from a sum": (("add", ("add", "x", ("constant", "number", 0)), ("and_", "x", "x")), "uint32"),
}


def test_no_comparison_with_infinity_beside_another():
    x, infinite = tensor.vector(), float("inf")
    bounded = (x >= 0) & (x <= infinite)
    assert operations(optimized([x], [bounded])) == ["ge"]
    f = phintys.function([x], [bounded, x <= infinite])
    got = f(numpy.array([-1.0, 0.0, infinite, -infinite, numpy.nan]))
    assert [each.tolist() for each in got] == [[False, True, True, False, False], [True, True, True, True, False]]


@pytest.mark.parametrize("name", FOUND)
def test_what_was_found(name):
    assert difference(*FOUND[name]) is None


@pytest.mark.parametrize("kinds, converted, kept", [
    ("dd", "int64", 0), ("dfd", "int8", 0), ("ff", "int8", 0), ("ff", "int64", 1), ("ll", "int64", 1),
    ("zd", "uint8", 0)])
def test_products_with_conditions_as_integers(kinds, converted, kept):
    """A condition is not converted to an integer first, unless the product would have another dtype."""
    factors = [variable(kind + "1") for kind in kinds]
    condition = factors[-1] < 0.5
    product = tensor.mul(*factors, tensor.cast(condition, converted))
    fgraph = optimized(factors, [product], UNFUSED)
    assert operations(fgraph).count("convert_to_" + converted) == kept
    assert fgraph.outputs[0].type == product.type
    values = [random_value(factor, seed) for seed, factor in enumerate(factors)]
    if kinds[0] in "dfz":
        values[0][:3] = numpy.inf, -numpy.inf, numpy.nan
    got, = evaluate(fgraph, values)
    wanted, = evaluate(optimized(factors, [product], FAST_COMPILE), values)
    numpy.testing.assert_array_equal(got, wanted)
    assert got.dtype == wanted.dtype


x, k, n = tensor.dvector("x"), tensor.lvector("k"), tensor.lscalar("n")
KNOWN = {                                   # expression → whether nothing is left to compute
    "number below itself": (x < x, True), "number equal to itself": (tensor.eq(x, x), False),
    "integer equal to itself": (tensor.eq(k, k), True), "integer at most itself": (k <= k, True),
    "and with itself": (k & k, True), "or with itself": (k | k, True), "xor with itself": (k ^ k, True),
    "and with 0": (k & 0, True), "or with 0": (k | 0, True), "xor with 0": (k ^ 0, True), "or with 1": (k | 1, False),
    "length below 0": (x.shape[0] < 0, True), "lengths at least 0": (x.shape[0] + k.shape[0] >= 0, True),
    "length equal to -1": (tensor.eq(x.shape[0], -1), True), "length above 0": (x.shape[0] > 0, False),
    "length less n at least 0": (x.shape[0] - n >= 0, False),
}


@pytest.mark.parametrize("name", KNOWN)
def test_what_is_known_without_values(name):
    expression, is_known = KNOWN[name]
    f = phintys.function([x, k, n], expression, on_unused_input="ignore")
    assert (not set(operations(f.maker.fgraph)) - {"second", "EqualLengths", "DeepCopyOp"}) == is_known
    values = [numpy.array([numpy.nan, 1.0]), numpy.array([-2, 7]), 3]
    plain = phintys.function([x, k, n], expression, mode=phintys.Mode(optimizer=None), on_unused_input="ignore")
    numpy.testing.assert_array_equal(f(*values), plain(*values), strict=True)


def test_sums_of_one_repeated_value():
    value, rows = tensor.bscalar("value"), k.shape[0]
    for total in (tensor.alloc(value, rows, 3).sum(), tensor.alloc(value, rows, 3).sum(axis=1)):
        f = phintys.function([value, k], total)
        assert "Sum" not in operations(f.maker.fgraph)
        plain = phintys.function([value, k], total, mode=phintys.Mode(optimizer=None))
        numpy.testing.assert_array_equal(f(100, [0] * 4), plain(100, [0] * 4), strict=True)
    with pytest.raises(ValueError):
        phintys.function([value, n], tensor.alloc(value, n).sum())(2, -1)


B, K, V, S = variable("B1"), variable("l1"), variable("d1", "v"), variable("d0", "s")
FACTORS = numpy.array([10, 20, 13])

# inputs, output, operations under the default rules and under "fast"; a counter-case follows each row
FORMS = {
    "and with what is true": ([B], B & numpy.ones((), bool), [], None),
    "and with 1": ([K], K & 1, ["and_"], None),
    "or with what is true": ([B], B | numpy.ones((), bool), ["second"], None),
    "or with 1": ([K], K | 1, ["or_"], None),
    "times what is false": ([B, V], tensor.switch(B * numpy.zeros((), bool), 0, tensor.exp(V)), ["exp"], None),
    "times what is true": ([B], B * numpy.ones((), bool), [], None),
    "a quotient by a constant": ([V], V / 10, ["true_div"], ["mul"]),
    "by several": ([V], V / numpy.array([3.0, 5, 7]), ["true_div"], ["mul"]),
    "by a zero among them": ([V], V / numpy.array([3.0, 0, 7]), ["true_div"], ["true_div"]),
    "by a power of two": ([V], V / 8, ["mul"], ["mul"]),
    "a product in a view": ([S, V], 2 * (tensor.exp(S) * -0.5).dimshuffle("x") * V,
                            ["exp", "neg", "DimShuffle", "mul"], None),
    "a quotient in a view": ([S, V], 3 * (2 / tensor.sin(S)).dimshuffle("x") * V,
                             ["sin", "true_div", "DimShuffle", "mul"], None),
    "a product that others read": ([S, V], (lambda x: 2 * x.dimshuffle("x") * V - tensor.exp(x))(3 * S),
                                   ["mul", "exp", "DimShuffle", "DimShuffle", "mul", "mul", "sub"], None),
    "a constant out of range": ([S, V], 1e200 * (1e200 * tensor.sin(S)).dimshuffle("x") * V,
                                ["sin", "mul", "DimShuffle", "mul"], None),
}


@pytest.mark.parametrize("name", FORMS)
def test_forms(name):
    inputs, output, wanted, fast = FORMS[name]
    for rules, expected in (("theano", wanted), ("fast", wanted if fast is None else fast)):
        with change_flags(math_rules=rules):
            assert sorted(operations(optimized(inputs, [output], UNFUSED))) == sorted(expected), rules
            f = phintys.function(inputs, output, on_unused_input="ignore")
        values = [random_value(each)[:3] if each.type.ndim else random_value(each) for each in inputs]
        plain = phintys.function(inputs, output, mode=phintys.Mode(optimizer=None), on_unused_input="ignore")
        with numpy.errstate(all="ignore"):
            numpy.testing.assert_allclose(f(*values), plain(*values), rtol=4e-16)


def test_constants_of_float16_stay_apart_where_their_product_is_infinite():
    x, y = tensor.vector("x", dtype="float16"), tensor.matrix("y", dtype="float16")
    f = phintys.function([x, y], numpy.float16(300) * (numpy.float16(300) * x).dimshuffle("x", 0) * y)
    assert f(numpy.zeros(2, "float16"), numpy.ones((1, 2), "float16")).tolist() == [[0, 0]]


def test_constant_integers_among_floats_are_floats():
    for value, kept in ((FACTORS, "float64"), (FACTORS.astype("int8"), "int8")):      # these would take more memory
        (product,) = optimized([V], [V * value], UNFUSED).toposort()
        assert {each.type.dtype for each in product.inputs} == {"float64", kept}
        assert phintys.function([V], V * value)([0.5, 1, 2]).tolist() == [5, 20, 26]
