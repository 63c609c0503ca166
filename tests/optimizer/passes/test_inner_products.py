"""Sums of products and squares of what is stored anyway read it themselves; others are fused as before."""
import numpy
import pytest
from optimized_graphs import FAST_RUN, UNFUSED, evaluate, operations, optimized

import phintys.tensor as T
from phintys.modes import OPT_NONE
from phintys.ops.types.tensor_type import TensorType


def vector(length, dtype="float64"):
    return TensorType(dtype, (length == 1,), shape=(length,))()


X, Y, M = vector(50), vector(50), TensorType("float64", (False, False), shape=(5, 10))()
LONG, FREE, F = vector(100000), vector(None), vector(50, "float32")
stored = T.exp(X) - Y

# name: inputs, outputs, how many inner products and fused reductions
CASES = {
    "of inputs": ([X, Y], [(X * Y).sum()], 1, 0),
    "a square": ([X], [T.sqr(X).sum()], 0, 1),
    "of what is a result": ([X, Y], [stored, T.sqr(stored).sum(), (stored * Y).sum()], 1, 1),
    "of what another op reads": ([X, Y], [T.cumsum(stored), (stored * Y).sum()], 1, 0),
    "of what nobody stores": ([X, Y], [(stored * Y).sum()], 0, 1),
    "a product that is read": ([X, Y], [X * Y, (X * Y).sum()], 0, 0),
    "three factors": ([X, Y], [(X * Y * T.cumsum(X)).sum()], 0, 1),
    "of unknown length": ([FREE], [(FREE * T.cumsum(FREE)).sum()], 0, 1),
    "too long": ([LONG], [(LONG * T.cumsum(LONG)).sum()], 0, 1),
    "float32, which is summed in float64": ([F], [(F * T.cumsum(F)).sum()], 0, 1),
    "a matrix": ([M], [T.sqr(M).sum()], 0, 1),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_operations(name):
    inputs, outputs, products, reductions = CASES[name]
    random = numpy.random.RandomState(0)
    values = [numpy.asarray(random.randn(*[7 if length is None else length for length in item.type.shape]),
                            item.type.dtype) for item in inputs]
    fgraph = optimized(inputs, outputs, FAST_RUN)
    for got, wanted in zip(evaluate(fgraph, values), evaluate(optimized(inputs, outputs, OPT_NONE), values)):
        numpy.testing.assert_allclose(got, wanted, rtol=1e-5 if inputs == [F] else 1e-11)
        assert got.dtype == wanted.dtype and got.shape == wanted.shape
    assert [operations(fgraph).count(kind) for kind in ("Dot", "FusedReduction")] == [products, reductions]
    assert "Dot" not in operations(optimized(inputs, outputs, UNFUSED))
