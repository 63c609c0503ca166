"""The schedule respects the graph and holds little memory."""
import random

import numpy as np
import pytest

import phintys
import phintys.tensor as T
from phintys.vm.linking.schedule import _greedy_order, _Values, schedule


def layers(count):
    """The gradients of ``count`` layers tanh(x.W) by all weights."""
    x = T.matrix("x")
    weights = [T.matrix(f"W{number}") for number in range(count)]
    value = x
    for weight in weights:
        value = T.tanh(T.dot(value, weight))
    return [x, *weights], phintys.grad((value ** 2).sum(), weights)


def chains(count):
    """A sum of ``count`` independent chains."""
    x = T.matrix("x")
    parts = [T.dot(T.dot(T.dot(x, x + number), x), x) for number in range(count)]
    return [x], [sum(parts)]


def diamond():
    x = T.matrix("x")
    y = T.dot(x, x)
    return [x], [T.dot(y, y.T) + T.dot(y.T, y), y.T]


GRAPHS = {"layers": layers(6), "chains": chains(5), "diamond": diamond()}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
def test_every_node_runs_once_after_those_it_needs(name, mode):
    inputs, outputs = GRAPHS[name]
    fgraph = phintys.function(inputs, outputs, mode=mode).maker.fgraph
    order = schedule(fgraph)
    assert len(order) == len(set(order)) and set(order) == fgraph.apply_nodes
    seen = set()
    for node in order:
        assert all(variable.owner is None or variable.owner in seen for variable in node.inputs)
        seen.add(node)


def test_gradients_of_weights_are_computed_as_soon_as_that_frees_memory():
    inputs, outputs = layers(10)
    fgraph = phintys.function(inputs, outputs, mode=phintys.FAST_RUN.excluding("inplace")).maker.fgraph
    values = _Values(fgraph, fgraph.toposort())
    # Ten activations must live at once; what flows back adds one gradient and what is made of it.
    assert values.peak(schedule(fgraph)) <= 64 * 13 < values.peak(fgraph.toposort())


def test_results_do_not_depend_on_the_order():
    inputs, outputs = layers(4)
    arrays = [np.random.RandomState(number).randn(5, 5) / 2 for number in range(5)]
    expected = phintys.function(inputs, outputs, mode="FAST_COMPILE")(*arrays)
    for got, wanted in zip(phintys.function(inputs, outputs)(*arrays), expected):
        np.testing.assert_allclose(got, wanted, rtol=1e-12)


# ---- better orders ---------------------------------------------------------------------------------------------------
def random_graph(seed, count):
    """Products of matrices and vectors of earlier ones, in no useful order."""
    chance = random.Random(seed)
    values = [T.matrix("x"), T.vector("v")]
    for _ in range(count):
        matrices = [value for value in values if value.ndim == 2]
        vectors = [value for value in values if value.ndim == 1]
        kind = chance.randrange(4)
        one, other = chance.choice(matrices[-4:]), chance.choice((matrices if kind < 2 else vectors)[-4:])
        values.append(T.outer(other, chance.choice(vectors[-3:])) if kind == 3 else T.dot(one, other))
    unread = [value for value in values[2:] if not any([value in later.owner.inputs for later in values[2:]])]
    return values[:2], [sum([value.sum() for value in unread])]


def least_peak(fgraph, values):
    """The lowest peak of all orders, by going through all sets of nodes that can have run, in order of their size."""
    nodes = fgraph.toposort()
    readers = {variable: frozenset(found) for variable, found in values.readers.items()}
    needs = {node: {variable.owner for variable in node.inputs} - {None} for node in nodes}
    layer = {frozenset(): 0}
    for _ in nodes:
        further = {}
        for done, peak in layer.items():
            alive = sum([values.weight[made] for node in done for made in values.makes[node]
                         if not readers[made] <= done])
            for node in nodes:
                if node not in done and needs[node] <= done:
                    height = max(peak, alive + sum([values.weight[made] for made in values.makes[node]]))
                    reached = done | {node}
                    further[reached] = min(height, further.get(reached, height))
        layer = further
    return min(layer.values())


@pytest.mark.parametrize("seed", range(12))
def test_the_order_of_few_nodes_is_the_best(seed):
    inputs, outputs = random_graph(seed, 7)
    fgraph = phintys.function(inputs, outputs, mode=phintys.Mode(optimizer=None)).maker.fgraph
    values = _Values(fgraph, fgraph.toposort())
    assert values.peak(schedule(fgraph)) == least_peak(fgraph, values)


def test_some_orders_are_better_than_both_candidates():
    better = 0
    for seed in range(40):
        inputs, outputs = random_graph(seed, 14)
        fgraph = phintys.function(inputs, outputs, mode=phintys.Mode(optimizer=None)).maker.fgraph
        nodes = fgraph.toposort()
        values = _Values(fgraph, nodes)
        found, before = values.peak(schedule(fgraph)), min(
            values.peak(nodes), values.peak(_greedy_order(nodes, values, fgraph.orderings())))
        assert found <= before
        better += found < before
    assert better > 5


def test_the_graph_inside_a_node_counts_with_its_peak():
    """The loop needs three matrices inside, so the product that one needs for both runs after it, not before."""
    x = T.matrix("x")
    rows, _ = phintys.scan(lambda row: T.dot(T.dot(T.outer(row, row), T.outer(row, row + 1)), row), sequences=x)
    fgraph = phintys.function([x], [T.dot(x, x).sum() + rows.sum()]).maker.fgraph
    values = _Values(fgraph, fgraph.toposort())
    loop = next(node for node in fgraph.toposort() if getattr(node.op, "is_loop", False))
    assert values.inside[loop] >= 128
    order = schedule(fgraph)
    assert values.peak(order) == max([values.needed(node) for node in order])
