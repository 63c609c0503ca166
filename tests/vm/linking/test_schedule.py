"""The schedule respects the graph and holds little memory."""
import numpy as np
import pytest

import phintys
import phintys.tensor as T
from phintys.vm.linking.schedule import _Values, schedule


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
