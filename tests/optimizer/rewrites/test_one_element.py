"""Elementwise work on numbers with added dimensions is done without them."""
import numpy
import pytest
from optimized_graphs import UNFUSED, assert_same_results, operations, optimized, variable

from phintys.ops.elementwise.scalar import exp, gt, log, switch

A, B, V, R = variable("d0", "a"), variable("d0", "b"), variable("d1", "v"), variable("dr", "r")
K, ROW, MATRIX = variable("l0", "k"), A.dimshuffle("x", "x"), B.dimshuffle("x", "x")

# inputs, output, operations without fusion
CASES = {
    "a logarithm meets its exponential": ([A, V], log(exp(A).dimshuffle("x")) * V, ["DimShuffle", "mul"]),
    "equal nodes of other ranks": (
        [A, V], exp(ROW) * exp(A.dimshuffle("x")) * V, ["exp", "sqr", "DimShuffle", "DimShuffle", "mul"]),
    "constants": ([A, B], 2 * ROW + numpy.ones((1, 1)) / (3 + MATRIX),
                  ["mul", "add", "inv", "add", "DimShuffle"]),
    "other dtypes": ([A, K], switch(gt(K.dimshuffle("x"), 0), A.dimshuffle("x"), numpy.float32([2])),
                     ["gt", "switch", "DimShuffle"]),
    "a row that may have been computed so": ([A, R], exp(R[:, :1] * 2) * ROW, None),
    "a sum of one element and a number": (
        [A, V, R], (R.sum(axis=1) * A.dimshuffle("x")).dimshuffle() + A, ["Sum", "DimShuffle", "mul", "add"]),
    "read with its dimension, too": (
        [A, R], (lambda product: product.dimshuffle() + product * R)(R.sum(axis=1) * A.dimshuffle("x")), None),
    "one operand has elements": ([A, V], A.dimshuffle("x") + V, ["DimShuffle", "add"]),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_operations(name):
    inputs, output, wanted = CASES[name]
    assert_same_results(inputs, [output])
    if wanted is not None:
        assert sorted(operations(optimized(inputs, [output], UNFUSED))) == sorted(wanted)
