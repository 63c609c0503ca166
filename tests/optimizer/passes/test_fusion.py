"""Elementwise and reduction fusion: which nodes become one, that results stay, and the limits."""
import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optimized_graphs import FAST_RUN, assert_same_results, evaluate, operations, optimized, variable

from phintys.graph.function_graph import FunctionGraph
from phintys.ops.elementwise.scalar import exp, log1p, maximum, second, sigmoid, switch, tanh
from phintys.ops.products.products import dot
from phintys.ops.reduction import reduction
from phintys.ops.reduction.fused_reduction import FusedReduction
from phintys.optimizer.engine.lengths import Lengths
from phintys.optimizer.passes.fusion import LATE, OPERANDS, STEPS, fuse, turns_of

x, y = variable("d1", "x"), variable("d1", "y")
m, n, row, s = variable("d2", "m"), variable("d2", "n"), variable("dr", "row"), variable("d0", "s")
k = variable("l1", "k")

CASES = {
    "a single node stays": ([tanh(x)], ["tanh"]),
    "a chain": ([exp(-tanh(x)) * 2 + y], ["Composite"]),
    "mixed dtypes": ([tanh(x) * k + 1], ["Composite"]),
    "several outputs of one loop": ([tanh(x), exp(tanh(x)), tanh(x) + y], ["Composite"]),
    "outputs that share an input": ([tanh(x), exp(x) * 2], ["Composite"]),
    "nothing shared": ([tanh(x), exp(k + 0.5)], ["Composite", "tanh"]),
    "twenty outputs": ([s + i for i in range(1, 21)], ["Composite"]),
    "broadcast operands stay inputs": ([(m + row) * s], ["DimShuffle", "Composite"]),
    "work on a row stays on the row": ([m + exp(tanh(row))], ["Composite", "add"]),
    "a product in between": ([tanh(dot(m, exp(n + 1))) + 1], ["Composite", "Dot22", "Composite"]),
    "around a product": ([tanh(m) + dot(tanh(m) * 2, n)], ["Composite", "Gemm"]),
    "a late reader takes the work along": ([dot(m, n) + exp(tanh(m))], ["Dot22", "Composite"]),
    "no cycle through a sum": ([tanh(x) / tanh(x).sum()], ["tanh", "Sum", "DimShuffle", "true_div"]),
    "softmax": ([exp(x - x.max()) / exp(x - x.max()).sum()],
                ["Max", "DimShuffle", "Composite", "Sum", "DimShuffle", "true_div"]),
    "a reduction": ([(tanh(x) * y).sum()], ["FusedReduction"]),
    "a reduction of one op": ([exp(x).max()], ["FusedReduction"]),
    "a reduction over axes": ([log1p(exp(m)).sum(axis=0)], ["FusedReduction"]),
    "a reduction whose operand is read": ([tanh(x).sum(), tanh(x)], ["tanh", "Sum"]),
    "switch": ([switch(x > 0, x, 0.1 * x)], ["Composite"]),
    "casts": ([(x > y) * 1.0 + k], ["Composite"]),
}


@pytest.mark.parametrize("name", CASES)
def test_ops_after_fusion(name):
    outputs, expected = CASES[name]
    assert sorted(operations(optimized([x, y, m, n, row, s, k], outputs))) == sorted(expected)


@pytest.mark.parametrize("name", CASES)
def test_same_results(name):
    assert_same_results([x, y, m, n, row, s, k], CASES[name][0])


def test_constants_stand_inside():
    node, = optimized([x], [exp(2 * x + 0.5)]).toposort()
    assert len(node.inputs) == 1
    assert [float(constant) for constant in node.op.scalar_op.constants] == [2.0, 0.5]


def test_a_constant_array_stays_an_input():
    node, = optimized([x], [exp(x * numpy.arange(10.0)) + 1]).toposort()
    assert len(node.inputs) == 2


def test_a_fused_reduction_reads_the_operands():
    node, = optimized([x, y], [(exp(x) * y).sum()]).toposort()
    assert isinstance(node.op, FusedReduction) and node.inputs[0].type == x.type


def test_limits_of_a_kernel():
    chain = x
    for number in range(1000):
        chain = tanh(chain) + 0.001 * number
    operands = [variable("d1") for _ in range(100)]
    wide = operands[0]
    for number, operand in enumerate(operands[1:]):
        wide = tanh(wide) + maximum(operand, number)
    fgraph = optimized([x] + operands, [chain, wide])
    for node in fgraph.toposort():
        assert len(node.inputs) + len(node.outputs) <= OPERANDS
        assert len(node.op.scalar_op.steps) <= STEPS
    assert len(fgraph.apply_nodes) < 20


def test_kernels_are_not_duplicated():
    """A value that two kernels read is computed in one of them."""
    shared = exp(tanh(m))
    fgraph = optimized([m, n, row], [dot(shared, n) + row, shared.sum(axis=0)])
    steps = [step.name for node in fgraph.toposort() if hasattr(node.op, "scalar_op")
             for step, _ in node.op.scalar_op.steps or [(node.op.scalar_op, ())]]
    assert steps.count("tanh") == steps.count("exp") == 1


def test_a_graph_is_fused_once():
    fgraph = FunctionGraph([x, y], [tanh(x) * y + 1])
    assert fuse(fgraph) == 1
    assert fuse(fgraph) == 0


def test_fused_nodes_can_be_fused_again():
    fgraph = FunctionGraph([x, y], [tanh(x) * y])
    fuse(fgraph)
    fgraph.replace(fgraph.outputs[0], exp(fgraph.outputs[0].owner.op(*fgraph.inputs) + 1))
    assert fuse(fgraph) == 1
    values = [numpy.linspace(-1, 1, 5), numpy.linspace(0, 2, 5)]
    numpy.testing.assert_allclose(evaluate(fgraph, values)[0], numpy.exp(numpy.tanh(values[0]) * values[1] + 1))


def test_turns_follow_the_graph_and_not_addresses():
    """Readers of one value, each of another shape, enter in the same order in each copy of a graph."""
    number, vectors = variable("d0"), [variable("d1") for _ in range(12)]
    first = exp(number)
    outputs = [second(vector, first) * vector for vector in vectors]
    found = set()
    for _ in range(5):
        fgraph = FunctionGraph([number, *vectors], outputs)
        order = fgraph.toposort()
        lengths = Lengths(order, ())
        shapes = {node: ((False, 0), *lengths.shape(node.outputs[0])) for node in order}
        turns = turns_of(fgraph, order, shapes)
        found.add(tuple([turns[node] for node in order]))
    assert len(found) == 1


@pytest.mark.parametrize("link", [tanh, lambda value: value ** value], ids=["long", "read twice"])
def test_a_chain_of_any_length_waits_for_a_late_reader(link):
    chain, late = x, m
    for _ in range(1200 if link is tanh else 40):
        chain = link(chain)
    for _ in range(LATE + 5):
        late = dot(tanh(late), n)
    assert operations(optimized([x, m, n], [dot(late, chain)]))[-1] in ("Dot", "Gemv")


STEPS_OF_RANDOM_GRAPHS = [
    lambda a, b: tanh(a), lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: -a,
    lambda a, b: sigmoid(a), lambda a, b: a * 0.5, lambda a, b: exp(-a * a), lambda a, b: dot(a, b),
    lambda a, b: a + b.sum(axis=0), lambda a, b: a * b.mean(), lambda a, b: second(a, b[0]), lambda a, b: a.T,
    lambda a, b: maximum(a, b), lambda a, b: a - reduction.max(b, axis=1, keepdims=True),
    lambda a, b: 1 / (1 + exp(-a)), lambda a, b: log1p(exp(b)) / (a * a + 1), lambda a, b: a / (1 + b * b)]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(STEPS_OF_RANDOM_GRAPHS) - 1), st.integers(0, 5), st.integers(0, 5)),
                min_size=1, max_size=14), st.integers(1, 4))
def test_random_graphs_keep_their_results(steps, n_outputs):
    values = [m, n]
    for number, left, right in steps:
        operands = values[-1 - left % len(values)], values[-1 - right % len(values)]
        values.append(tanh(STEPS_OF_RANDOM_GRAPHS[number](*operands)))
    outputs = values[-n_outputs:]
    random = numpy.random.RandomState(3)
    arrays = [random.randn(4, 4), random.randn(4, 4)]
    expected = evaluate(FunctionGraph([m, n], outputs), arrays)
    for want, got in zip(expected, evaluate(optimized([m, n], outputs, FAST_RUN), arrays)):
        numpy.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-10)
