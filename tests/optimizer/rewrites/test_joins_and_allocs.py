"""Rewrites of joins and of new arrays: applied where they hold, not applied where they do not, equal values."""
import numpy
import pytest
from optimized_graphs import FAST_RUN, UNFUSED, evaluate, operations, optimized, random_value, variable
from rewrite_claims import broken_claims

import phintys.tensor  # with Split, which gradients of joins need
from phintys.graph.gradients.gradient import grad
from phintys.modes import OPT_NONE
from phintys.ops.creation.allocation import alloc
from phintys.ops.cumulative.product import prod
from phintys.ops.elementwise import scalar
from phintys.ops.operators import TensorConstant
from phintys.ops.products.products import dot
from phintys.ops.reduction import reduction
from phintys.ops.shape.join import concatenate, join, stack
from phintys.ops.shape.reshape import reshape
from phintys.ops.types.tensor_type import TensorType

M, N, V, I, J = variable("d2"), variable("d2"), variable("d1"), variable("l0"), variable("l0")
B, C = variable("B2"), variable("B2")
COLUMN, ROW = variable("dc"), variable("dr")
EMPTY = numpy.zeros((10, 0))
NOTHING = TensorConstant(M.type, numpy.ones((0, 10)))

# name: inputs, what is built, operations that must be there, operations that must not
CASES = {
    "sum of a stack": ([M, N], lambda: reduction.sum(stack([M, N]), axis=0), {"add"}, {"Join", "Sum"}),
    "max of a stack": ([M, N], lambda: reduction.max(stack([M, N, M]), axis=0), {"maximum"}, {"Join", "Max"}),
    "product of columns": ([COLUMN], lambda: prod(join(1, COLUMN, COLUMN), axis=-1), set(), {"Join", "Prod"}),
    "any of a stack": ([B, C], lambda: reduction.any(stack([B, C]), axis=0), {"or_"}, {"Join", "Any"}),
    "sum along another axis": ([M, N], lambda: reduction.sum(stack([M, N]), axis=1), {"Join", "Sum"}, set()),
    "sum of a join": ([M, N], lambda: reduction.sum(join(0, M, N), axis=0), {"Join", "Sum"}, set()),
    "a row and a matrix": ([M, ROW], lambda: reduction.sum(join(0, M[:1], ROW), axis=0), {"Join", "Sum"}, set()),
    "empty": ([M], lambda: join(1, EMPTY, M, M), {"Join"}, set()),
    "constant of unknown length": ([M], lambda: join(0, M, NOTHING) * 2, {"mul"}, {"Join"}),
    "a column and nothing": ([COLUMN], lambda: join(1, EMPTY, COLUMN, EMPTY), set(), {"Join"}),
    "only one is not empty": ([M], lambda: concatenate([EMPTY, M], axis=1) * 2, {"mul"}, {"Join"}),
    "alloc of an alloc": ([M, I, J], lambda: alloc(alloc(M[0, 0], 1, I, 1), J, I, 3), {"Alloc"}, set()),
    "alloc of another length": ([M, I, J], lambda: alloc(alloc(M[0], I, 10), J, 10), {"Alloc", "Check"}, set()),
    "alloc of a known length to another": ([M, J], lambda: alloc(alloc(M[0], 4, 10), J, 10), {"Alloc", "Check"}, set()),
    "alloc of an alloc that others read": ([M, I, J], lambda: alloc(alloc(M[0], I, 10), J, 10) * alloc(M[0], I, 10),
                                           {"Alloc"}, {"Check"}),
    "alloc of its own shape": ([M], lambda: alloc(M * 2, *M.shape), {"mul"}, {"Alloc"}),
    "alloc of a longer shape": ([ROW, M], lambda: alloc(ROW * 2, *M.shape), {"Alloc"}, set()),
    "reshape of a moved dimension of 1": ([M], lambda: reshape((M * 2).dimshuffle("x", 0, "x", 1), (-1,)), {"Reshape"},
                                          {"DimShuffle"}),
    "reshape of a transpose": ([M], lambda: reshape(M.dimshuffle(1, "x", 0), (-1,)), {"DimShuffle", "Reshape"}, set()),
    "reshape that makes dimensions": ([M], lambda: reshape(M * 2, (1, M.shape[0], 1, M.shape[1], 1)), {"DimShuffle"},
                                      {"Reshape"}),
    "reshape of a vector to a row": ([M], lambda: reshape(M[0], (1, -1)), {"DimShuffle"}, {"Reshape"}),
    "reshape that drops a dimension": ([COLUMN], lambda: reshape(COLUMN * 2, (COLUMN.shape[0],)), {"DimShuffle"},
                                       {"Reshape"}),
    "reshape that makes and joins dimensions": ([M], lambda: reshape(M * 2, (1, -1)), {"Reshape"}, {"DimShuffle"}),
    "reshape to other lengths": ([M], lambda: reshape(M * 2, (1, M.shape[1] // 2, M.shape[0] * 2)), {"Reshape"},
                                 {"DimShuffle"}),
    "zeros in a product": ([M, N], lambda: dot(M.zeros_like(), N), {"Alloc"}, {"Dot", "Dot22"}),
    "a product with zeros": ([M], lambda: dot(M[0], M.zeros_like()), {"Alloc"}, {"dot", "Dot"}),
    "two vectors, one of zeros": ([M], lambda: dot(M[0] * 0, M[1]), set(), {"dot", "Dot"}),
    "a product with ones": ([M, N], lambda: dot(M.ones_like(), N), {"Dot22"}, {"Alloc"}),
    "product of an alloc": ([M], lambda: prod(alloc(-1.5, *M.shape, 3), axis=(0, 2)), {"Alloc", "pow"}, {"Prod"}),
    "product of an alloc of any length": ([I, J], lambda: prod(alloc(-1.5, I, J), axis=0), {"Prod"}, {"pow"}),
    "product of ones": ([M], lambda: prod(M.ones_like(), axis=1), {"Alloc"}, {"Prod", "pow"}),
    "product of zeros": ([M], lambda: prod(M.zeros_like()), {"pow"}, {"Prod"}),
    "product of what is repeated": ([M, ROW], lambda: prod(M.zeros_like() + ROW, axis=0), {"Prod"}, {"pow"}),
    "product of integers": ([I, J], lambda: prod(alloc(3, I, J)), {"Prod"}, {"pow"}),
    "sum of an alloc": ([I, J], lambda: reduction.sum(alloc(2.0, I, J, 3), axis=(0, 2)), {"Alloc", "mul"}, {"Sum"}),
    "sum of all": ([I, J], lambda: reduction.sum(alloc(2.5, I, J)), {"mul"}, {"Sum", "Alloc"}),
    "sum of a fill": ([M], lambda: reduction.sum(M.ones_like() * 3, axis=1), {"Alloc", "mul"}, {"Sum"}),
    "sum of infinity": ([I, J], lambda: reduction.sum(alloc(numpy.inf, I, J), axis=0), {"Sum"}, set()),
}


@pytest.mark.parametrize("name", CASES)
def test_rewrites(name):
    inputs, build, present, absent = CASES[name]
    output = build()
    values = [numpy.array(4) if item.type.ndim == 0 else random_value(item, seed) for seed, item in enumerate(inputs)]
    wanted, = evaluate(optimized(inputs, [output], OPT_NONE), values)
    for query in (UNFUSED, FAST_RUN):
        fgraph = optimized(inputs, [output], query)
        got, = evaluate(fgraph, values)
        numpy.testing.assert_allclose(got, wanted, rtol=1e-14)
        assert got.dtype == wanted.dtype
    found = set(operations(optimized(inputs, [output], UNFUSED)))
    assert present <= found and not absent & found


@pytest.mark.parametrize("name", CASES)
def test_gradients(name):
    inputs, build, *_ = CASES[name]
    read = [item for item in inputs if item.type.dtype == "float64"]
    if build().type.dtype == "float64" and read:
        values = [numpy.array(4) if item.type.ndim == 0 else random_value(item, seed)
                  for seed, item in enumerate(inputs)]
        gradients = grad(reduction.sum(build() ** 2), read, disconnected_inputs="ignore")
        wanted, got = [evaluate(optimized(inputs, gradients, query), values) for query in (OPT_NONE, UNFUSED)]
        for mine, his in zip(got, wanted):
            numpy.testing.assert_allclose(mine, his, rtol=1e-12)


def test_rows_change_what_they_say():
    fired = set()
    for inputs, build, *_ in CASES.values():
        values = [numpy.array(4) if item.type.ndim == 0 else random_value(item, seed)
                  for seed, item in enumerate(inputs)]
        for value in values:
            if value.dtype == "float64" and value.ndim:
                value.flat[1], value.flat[2] = numpy.inf, numpy.nan
        broken, names = broken_claims(inputs, [build()], values, UNFUSED)
        assert not broken
        fired |= names
    assert fired >= {"local_0_dot_x", "local_prod_of_repeated", "local_merge_alloc", "local_reshape_to_dimshuffle"}


def test_lengths_that_contradict_each_other_still_fail():
    for output in (alloc(alloc(M[0], I, 10), J, 10), alloc(alloc(M[0], 3, 10), J, 10), dot(M, M.zeros_like())):
        f = phintys.function([M, I, J], output, on_unused_input="ignore")
        with pytest.raises(ValueError):
            f(numpy.ones((2, 10)), 3, 4)


def test_lengths_of_allocs_that_agree():
    f = phintys.function([M, I, J], alloc(alloc(M[0], I, 10), J, 10))
    for first, second in ((4, 4), (1, 4), (0, 0), (1, 0)):
        assert f(numpy.ones((2, 10)), first, second).shape == (second, 10)
    for lengths in ((-1, -1), (0, 1), (4, 1)):
        with pytest.raises(ValueError):
            f(numpy.ones((2, 10)), *lengths)


@pytest.mark.parametrize("count", [3000, 3001, 70001])
def test_a_product_of_many_float16_counts_them_exactly(count):
    """float16 has no odd numbers above 2048, and ends at 65504."""
    x = TensorType("float16", (False,))("x")
    f = phintys.function([x], prod(scalar.second(x, numpy.float16(-1)), dtype="float16"))
    assert f(numpy.ones(count, "float16")) == (-1) ** count


def test_a_product_along_no_axis():
    with phintys.change_flags(on_opt_error="raise"):
        f = phintys.function([M], prod(scalar.second(M, 2.0), axis=()))
    assert f(numpy.ones((2, 3))).tolist() == [[2] * 3] * 2


def test_a_reshape_that_cannot_be_found_out_is_an_error_under_strict_rules():
    with phintys.change_flags(math_rules="strict"):
        f = phintys.function([M], reshape(M * 2, (M.shape[0], 1, -1)))
    assert f(numpy.ones((3, 2))).shape == (3, 1, 2)
    with pytest.raises(ValueError, match="reshape"):
        f(numpy.ones((0, 2)))
    with phintys.change_flags(math_rules="strict"):
        f = phintys.function([M, I], reshape(reshape(M, (I, -1)), (-1,)))
    assert f(numpy.ones((3, 2)), 2).shape == (6,)
    for first in (0, 4):
        with pytest.raises(ValueError, match="reshape"):
            f(numpy.ones((3, 2)), first)


@pytest.mark.parametrize("lengths", [(1, 5), (5, 1), (4, 5)])
def test_an_alloc_refuses_what_is_longer_than_the_first_one(lengths):
    """Also where the second one would take it."""
    for first in (I, 1) if lengths[0] == 1 else (I,):
        f = phintys.function([V, I, J], alloc(alloc(V, first), J), on_unused_input="ignore")
        assert f(numpy.ones(1), lengths[0], lengths[0]).shape == lengths[:1]
        with pytest.raises(ValueError):
            f(numpy.ones(5), *lengths)


def test_two_allocs_become_one():
    fgraph = optimized([M, I, J], [alloc(alloc(M[0, 0], I, 1), J, I, 3)])
    assert operations(fgraph).count("Alloc") == 1


@pytest.mark.parametrize("count", [17, 1000])
def test_the_sum_of_many_is_a_tree_of_additions(count):
    terms = [variable("f1") for _ in range(count)]
    fgraph = optimized(terms, [reduction.sum(stack(terms), axis=0)], UNFUSED)
    assert set(operations(fgraph)) == {"add"}
    values = numpy.random.RandomState(0).rand(count, 5).astype("float32")
    numpy.testing.assert_allclose(evaluate(fgraph, values)[0], values.astype(float).sum(0), rtol=2e-6)


def test_the_sum_of_many_float16_stays_a_reduction():
    terms = [variable("f1").astype("float16") for _ in range(17)]
    assert "Sum" in operations(optimized([term.owner.inputs[0] for term in terms],
                                         [reduction.sum(stack(terms), axis=0)], UNFUSED))
