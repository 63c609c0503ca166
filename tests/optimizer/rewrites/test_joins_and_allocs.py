"""Rewrites of joins and of new arrays: applied where they hold, not applied where they do not, equal values."""
import numpy
import pytest
from optimized_graphs import FAST_RUN, UNFUSED, evaluate, operations, optimized, random_value, variable

from phintys.modes import OPT_NONE
from phintys.ops.creation.allocation import alloc
from phintys.ops.cumulative.product import prod
from phintys.ops.operators import TensorConstant
from phintys.ops.reduction import reduction
from phintys.ops.shape.join import concatenate, join, stack
from phintys.ops.shape.reshape import reshape

M, N, I, J = variable("d2"), variable("d2"), variable("l0"), variable("l0")
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
    "alloc of another length": ([M, I, J], lambda: alloc(alloc(M[0], I, 10), J, 10), {"Alloc"}, set()),
    "alloc of its own shape": ([M], lambda: alloc(M * 2, *M.shape), {"mul"}, {"Alloc"}),
    "alloc of a longer shape": ([ROW, M], lambda: alloc(ROW * 2, *M.shape), {"Alloc"}, set()),
    "reshape of a moved dimension of 1": ([M], lambda: reshape((M * 2).dimshuffle("x", 0, "x", 1), (-1,)), {"Reshape"},
                                          {"DimShuffle"}),
    "reshape of a transpose": ([M], lambda: reshape(M.dimshuffle(1, "x", 0), (-1,)), {"DimShuffle", "Reshape"}, set()),
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


def test_lengths_that_contradict_each_other_still_fail():
    fgraph = optimized([M, I, J], [alloc(alloc(M[0], I, 10), J, 10)])
    with pytest.raises(ValueError):
        evaluate(fgraph, [numpy.ones((2, 10)), numpy.array(3), numpy.array(4)])


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
