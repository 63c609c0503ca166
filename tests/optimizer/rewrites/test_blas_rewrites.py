"""Scaled and accumulated products: which op they become, that they compute the same, and that time stays linear."""
import numpy
import pytest
from optimized_graphs import UNFUSED, assert_same_results, evaluate, operations, optimized, variable

import phintys
from phintys.graph.function_graph import FunctionGraph
from phintys.graph.gradients.gradient import grad
from phintys.ops.elementwise.scalar import tanh
from phintys.ops.products.products import dot, outer
from phintys.optimizer.engine.values import key_of
from phintys.optimizer.pipeline import optimize

A, B, C, D = [variable("d2", name) for name in "ABCD"]
u, v, w = [variable("d1", name) for name in "uvw"]
alpha, beta, row = variable("d0", "alpha"), variable("d0", "beta"), variable("dr", "row")
fA, fB, I = variable("f2"), variable("f2"), variable("l2")

# name: (output, keys of the products of the optimised graph, keys of its elementwise nodes)
CASES = {
    "A.B": (dot(A, B), ["Dot22"], []),
    "A.v": (dot(A, v), ["Dot"], []),
    "u.v": (dot(u, v), ["Dot"], []),
    "integers": (dot(I, I), ["Dot"], []),
    "two dtypes": (dot(fA, A), ["Dot22"], ["convert_to_float64"]),
    "A.T.B": (dot(A.T, B), ["Dot22"], []),
    "2 A.B": (2 * dot(A, B), ["Dot22Scalar"], []),
    "alpha A.B": (alpha * dot(A, B), ["Dot22Scalar"], []),
    "C + A.B": (C + dot(A, B), ["Gemm"], []),
    "C + (A.B).T": (C + dot(A, B).T, ["Gemm"], []),
    "(2 A.T.B).T": ((2 * dot(A.T, B)).T, ["Dot22Scalar"], []),
    "C - A.B": (C - dot(A, B), ["Gemm"], []),
    "A.B - C": (dot(A, B) - C, ["Gemm"], []),
    "2 C - 0.5 A.B": (2 * C - 0.5 * dot(A, B), ["Gemm"], []),
    "beta C + alpha A.B": (beta * C + alpha * dot(A, B), ["Gemm"], []),
    "C / 2 + A.B": (C / 2 + dot(A, B), ["Gemm"], []),
    "C - 0.1 (A.B + 0.02 C)": (C - 0.1 * (dot(A, B) + 0.02 * C), ["Gemm"], []),
    "C - alpha (A.B + 0.02 C)": (C - alpha * (dot(A, B) + 0.02 * C), ["Gemm"], ["neg", "mul", "add"]),
    "A.B + C.D": (dot(A, B) + dot(C, D), ["Dot22", "Gemm"], []),
    "C + A.B + row": (C + dot(A, B) + row, ["Gemm"], ["add"]),
    "A.B + row": (dot(A, B) + row, ["Gemm"], []),
    "2 row - A.B": (2 * row - dot(A, B), ["Gemm"], ["mul"]),
    "A.B + row, fusable": (tanh(dot(A, B) + row), ["Dot22"], ["tanh", "add"]),
    "C + A.B, A.B also read": ([C + dot(A, B), tanh(dot(A, B))], ["Dot22"], ["tanh", "add"]),
    "tanh(C) + A.B, fusable": (tanh(C) + dot(A, B), ["Dot22"], ["tanh", "add"]),
    "w + A.v": (w + dot(A, v), ["Gemv"], []),
    "w - 0.1 A.T.v": (w - 0.1 * dot(A.T, v), ["Gemv"], []),
    "w - alpha v.A": (w - alpha * dot(v, A), ["Gemv"], ["neg"]),
    "w - 0.1 (A.v + 0.02 w)": (w - 0.1 * (dot(A, v) + 0.02 * w), ["Gemv"], []),
    "C + outer(u, v)": (C + outer(u, v), ["Ger"], []),
    "C - alpha outer(u, v)": (C - alpha * outer(u, v), ["Ger"], ["neg"]),
    "float32": (fA - 0.5 * dot(fA, fB), ["Gemm"], []),
}
INPUTS = [A, B, C, D, u, v, w, alpha, beta, row, fA, fB, I]
PRODUCTS = {"Dot", "Dot22", "Dot22Scalar", "Gemm", "Gemv", "Ger"}


def outputs_of(name):
    output = CASES[name][0]
    return output if isinstance(output, list) else [output]


@pytest.mark.parametrize("name", CASES)
def test_ops_after_optimising(name):
    keys = operations(optimized(INPUTS, outputs_of(name), UNFUSED))
    _, products, elementwise = CASES[name]
    assert [key for key in keys if key in PRODUCTS] == products
    assert sorted([key for key in keys if key not in PRODUCTS and key != "DimShuffle"]) == sorted(elementwise)


@pytest.mark.parametrize("name", CASES)
def test_same_results(name):
    random = numpy.random.RandomState(0)
    values = [random.randint(0, 4, (10, 10)) if item is I else
              numpy.asarray(random.randn(*[1 if flag else 10 for flag in item.type.broadcastable]), item.type.dtype)
              for item in INPUTS]
    assert_same_results(INPUTS, outputs_of(name), rtol=1e-4 if name == "float32" else 1e-10, values=values)


def test_a_scale_of_zero_is_kept():
    fgraph = optimized([A, B, C], [C - C + dot(A, B)], UNFUSED)
    assert "Dot22" in operations(fgraph)


def test_the_step_of_a_long_chain_is_counted_once_per_node():
    """Every accumulation is decided once: the number of nodes after optimising grows with the chain, not faster."""
    sizes = []
    for length in (50, 100):
        x = v
        for _ in range(length):
            x = x - 0.1 * dot(A, x)
        fgraph = FunctionGraph([A, v], [x])
        optimize(fgraph, UNFUSED)
        sizes.append(len(fgraph.apply_nodes))
    assert sizes[1] == 2 * sizes[0]


@pytest.mark.parametrize("steps", [10, 70, 700])
def test_unrolled_weight_gradients_accumulate_in_place(steps):
    """However long the chain is: one Gemm a step, and none but the first into fresh memory."""
    weights = phintys.shared(numpy.full((4, 4), 0.1), "weights")
    state = start = variable("d2")
    for _ in range(steps):
        state = tanh(dot(state, weights))
    step = phintys.function([start], updates=[(weights, weights - 0.01 * grad(state.sum(), weights))])
    nodes = step.maker.fgraph.apply_nodes
    products = [node for node in nodes if key_of(node.op) in PRODUCTS]
    assert len(products) == 3 * steps - 1
    assert sum([key_of(node.op) == "Gemm" for node in products]) == steps
    assert sum([key_of(node.op) == "Gemm" and node.op.inplace for node in products]) >= steps - 1


def test_scales_of_nested_sums_share_their_factors():
    """alpha * (alpha * (... + A.B) + A.B): each step has one more factor, and one multiplication."""
    lengths = []
    for steps in (10, 20):
        total = C
        for number in range(steps):
            total = alpha * (total + dot(A, B + number))
        fgraph = optimized([A, B, C, alpha], [total], UNFUSED)
        keys = operations(fgraph)
        assert keys.count("Gemm") == steps
        lengths.append(keys.count("mul"))
    assert lengths[1] <= 2 * lengths[0] + 2
    assert_same_results([A, B, C, alpha], [total], rtol=1e-8)


def test_scales_beyond_the_range_of_floats_stay_where_they_are():
    total = C
    for _ in range(400):
        total = 10 * (total * 1e-6 + dot(A, B) * 1e-5)
    values = [numpy.full((2, 2), 1.0)] * 3
    found, = evaluate(optimized([A, B, C], [total], UNFUSED), values)
    expected, = evaluate(FunctionGraph([A, B, C], [total]), values)
    numpy.testing.assert_allclose(found, expected)
