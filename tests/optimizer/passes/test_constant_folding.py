"""Constant folding: what is computed when a function is compiled, and what is left to calls."""
import numpy
import pytest
from optimized_graphs import FAST_COMPILE, FAST_RUN, operations, optimized, variable

from phintys.ops.creation.allocation import alloc
from phintys.ops.elementwise.scalar import add, exp
from phintys.ops.products.products import dot
from phintys.optimizer.passes.constant_folding import LARGEST

x, m = variable("d1", "x"), variable("d2", "m")


@pytest.mark.parametrize("query", [FAST_COMPILE, FAST_RUN])
def test_constants_are_folded(query):
    fgraph = optimized([x], [x * exp(add(numpy.arange(3.0), 1)).sum()], query)
    assert len(fgraph.apply_nodes) == 1


def test_large_results_are_not_carried_along():
    fgraph = optimized([], [dot(alloc(1.0, LARGEST + 1), numpy.ones(LARGEST + 1)), dot(alloc(1.0, 3), numpy.ones(3))])
    assert operations(fgraph) == ["Alloc", "Dot"]


def test_an_alloc_that_is_a_result_is_filled_anew():
    assert operations(optimized([], [alloc(1.0, 3)])) == ["Alloc"]


def test_folded_views_do_not_share_memory():
    array = numpy.arange(4.0).reshape(2, 2)
    original = m.type.make_constant(array)
    node, = optimized([m], [dot(m, original.T)]).toposort()
    folded = node.inputs[1]
    numpy.testing.assert_array_equal(folded.data, array.T)
    assert not numpy.shares_memory(folded.data, array)
