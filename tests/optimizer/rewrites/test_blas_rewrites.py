"""Scaled and accumulated products: which op they become, that they compute the same, and that time stays linear."""
import random

import numpy
import pytest
from optimized_graphs import UNFUSED, assert_same_results, evaluate, operations, optimized, variable

import phintys
from phintys.graph.function_graph import FunctionGraph
from phintys.graph.gradients.gradient import grad
from phintys.ops.elementwise.scalar import tanh
from phintys.ops.products.products import dot, outer
from phintys.ops.types.tensor_type import TensorType
from phintys.optimizer.engine.forms import key_of
from phintys.optimizer.pipeline import optimize

A, B, C, D = [variable("d2", name) for name in "ABCD"]
u, v, w = [variable("d1", name) for name in "uvw"]
alpha, beta, row, bytes_ = variable("d0", "alpha"), variable("d0", "beta"), variable("dr", "row"), variable("u2")
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
    "row + outer(u, v)": (row + outer(u, v), ["Gemm"], []),
    "2 row - alpha outer(u, v)": (2 * row - alpha * outer(u, v), ["Gemm"], ["mul", "neg"]),
    "row, also as a column, + outer(u, v)": (row + row.T + outer(u, v), ["Gemm"], ["add"]),
    "gradient of row + outer(u, v)": (grad(((row + outer(u, v)) * A).sum(), [row, u, v]), ["Dot22", "Dot22"], ["Sum"]),
    "bytes + A.B": (bytes_ + dot(A, B), ["Dot22"], ["add"]),
    "A.B - bytes + C": (dot(A, B) - bytes_ + C, ["Gemm"], ["convert_to_float64", "neg", "add"]),
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
INPUTS = [A, B, C, D, u, v, w, alpha, beta, row, bytes_, fA, fB, I]
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
    numbers = numpy.random.RandomState(0)
    values = [numbers.randint(0, 4, (10, 10)).astype(item.type.dtype) if item in (I, bytes_) else
              numpy.asarray(numbers.randn(*[1 if flag else 10 for flag in item.type.broadcastable]), item.type.dtype)
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


class RandomSums:
    """A random sum of a few products and other terms; ``made`` has ``(variable, value)`` of each input."""

    def __init__(self, seed):
        self.random, self.numbers, self.made = random.Random(seed), numpy.random.RandomState(seed), []
        self.dtype = self.random.choice(["float64", "float32", "complex64", "complex128", "int32"])
        self.m, self.k, self.n = [self.random.choice(lengths) for lengths in ((0, 1, 2, 3), (1, 2, 3), (1, 2, 4))]
        self.is_vector = self.random.random() < 0.25

    def input(self, *shape, dtype=None):
        dtype = dtype or self.dtype
        value = self.numbers.randint(0 if dtype[0] in "ub" else -3, 4, shape)
        if dtype[0] == "c":
            value = value + 1j * self.numbers.randint(-3, 4, shape)
        value = numpy.asarray(value, dtype)
        self.made.append((TensorType(dtype, [length == 1 for length in shape])(), value))
        return self.made[-1]

    def any_dtype(self):
        others = ("int8", "uint8", "uint32", "bool", "int64", "float16", "float32", "float64")
        return self.dtype if self.random.random() < 0.7 else self.random.choice(others)

    def product(self):
        m, k, n = self.m, self.k, self.n
        kind = self.random.choice(("A.v", "v.A") if self.is_vector else ("outer", "outer", "A.B", "A.T.B", "(A.B).T"))
        shapes = {"A.v": [(n, k), (k,)], "v.A": [(k,), (k, n)], "outer": [(m,), (n,)], "A.B": [(m, k), (k, n)],
                  "A.T.B": [(k, m), (k, n)], "(A.B).T": [(n, k), (k, m)]}[kind]
        x, y = [self.input(*shape) for shape in shapes]
        make = {"outer": lambda x, y: x[:, None] * y[None, :] if isinstance(x, numpy.ndarray) else outer(x, y),
                "A.T.B": lambda x, y: x.T.dot(y), "(A.B).T": lambda x, y: x.dot(y).T}.get(kind, lambda x, y: x.dot(y))
        return tuple(map(make, x, y))

    def term(self, depth):
        if depth and self.random.random() < 0.1:
            return self.scaled(self.sum(depth - 1))
        if self.random.random() < 0.5:
            return self.scaled(self.product())
        n, m = self.n, self.m
        shape = self.random.choice([(n,), (n,), (), (1,)] if self.is_vector else
                                   [(m, n), (1, n), (1, n), (m, 1), (n,), (1, 1), ()])
        return self.scaled(self.input(*shape, dtype=self.any_dtype()))

    def scaled(self, term):
        how = self.random.random()
        if term[1].dtype == bool or how > 0.5:
            return term
        scale = self.random.choice([numpy.int8(2), numpy.int8(-1), numpy.int8(0), numpy.float32(2.5)])
        if how < 0.15:
            return -term[0], -term[1]
        if how < 0.35:
            return scale * term[0], scale * term[1]
        scale = self.input(*self.random.choice([(), (1,) * term[1].ndim]))
        return scale[0] * term[0], scale[1] * term[1]

    def sum(self, depth=2):
        total = self.term(depth)
        for _ in range(self.random.choice((1, 1, 2))):
            more = self.term(depth)
            if self.random.random() < 0.5 or total[1].dtype == more[1].dtype == bool:
                total = total[0] + more[0], total[1] + more[1]
            else:
                total = total[0] - more[0], total[1] - more[1]
        return self.scaled(total)


@pytest.mark.parametrize("block", range(4))
def test_random_sums_of_products(block):
    for seed in range(60 * block, 60 * block + 60):
        with numpy.errstate(all="ignore"):
            sums = RandomSums(seed)
            total, value = sums.sum()
        variables, values = [variable for variable, _ in sums.made], [value for _, value in sums.made]
        outputs = [total]
        if total.type.dtype.startswith("float"):
            floats = [item for item in variables if item.type.dtype == total.type.dtype]
            outputs += grad((total * total).sum(), floats, disconnected_inputs="ignore")
        with phintys.config.change_flags(on_opt_error="raise"):
            fast, plain = [phintys.function(variables, outputs, mode=mode)(*values)
                           for mode in ("FAST_RUN", "FAST_COMPILE")]
        assert fast[0].shape == value.shape, seed
        numpy.testing.assert_allclose(fast[0], value, rtol=2e-3, atol=1e-3, err_msg=f"seed {seed}")
        for found, expected in zip(fast, plain):
            assert (found.dtype, found.shape) == (expected.dtype, expected.shape), seed
            numpy.testing.assert_allclose(found, expected, rtol=2e-3, atol=1e-3, err_msg=f"seed {seed}")


def test_a_dimension_that_is_dropped_is_no_transpose():
    """The result of a shuffle of three dimensions has two in another order, but its input is no matrix."""
    stack = TensorType("float64", (False, False, True))("stack")
    turned = stack.dimshuffle(1, 0)
    values = {A: numpy.random.default_rng(1).normal(size=(3, 4)), stack: numpy.arange(8.0).reshape(2, 4, 1) - 3,
              v: numpy.array([1.0, -2.0]), alpha: numpy.array(0.5)}
    matrix = values[stack][..., 0].T
    cases = ((dot(A, turned).T, (values[A] @ matrix).T),
             (dot((alpha * stack).dimshuffle(1, 0), v), 0.5 * matrix @ [1, -2]))
    for result, wanted in cases:
        with phintys.change_flags(on_opt_error="raise"):
            f = phintys.function([A, stack, v, alpha], result, on_unused_input="ignore")
        numpy.testing.assert_allclose(f(*values.values()), wanted, rtol=1e-12)
