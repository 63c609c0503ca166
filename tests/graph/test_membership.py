"""Nodes and variables know the graph they are in while they are in it."""
import copy
import gc
import pickle

import pytest
from toy_graph import ToyConstant, add, mul, negate, scalar

from phintys.graph.function_graph import FunctionGraph


def test_what_is_in_a_graph_finds_it():
    x, y, two = scalar("x"), scalar("y"), ToyConstant(scalar, 2)
    total = add(x, two)
    out = mul(total, total)
    for thing in (x, total, total.owner, two):
        assert not hasattr(thing, "fgraph") and not hasattr(thing, "clients")
    fgraph = FunctionGraph([x, y], [out], clone=False)
    others = [FunctionGraph([x], [add(x, x)]) for _ in range(3)]
    for thing in (x, y, two, total, out, total.owner, out.owner):
        assert thing.fgraph is fgraph
    assert list(total.clients) == [(out.owner, 0), (out.owner, 1)] == total.clients[:] and len(y.clients) == 0
    assert out.clients[0] == ("output", 0) and two.clients[0] == (total.owner, 1)
    assert [other.outputs[0].owner.fgraph for other in others] == others
    with pytest.raises(AttributeError, match="x has no attribute 'fgraph': it is in no FunctionGraph"):
        scalar("x").fgraph


def test_what_has_left_a_graph_has_none():
    x = scalar("x")
    old = negate(x)
    fgraph = FunctionGraph([x], [mul(old, x)], clone=False)
    new = negate(old)
    assert not hasattr(new.owner, "fgraph") and old.owner.fgraph is fgraph
    fgraph.replace(old, add(x, x))
    assert not hasattr(old.owner, "fgraph") and not hasattr(old, "clients") and x.fgraph is fgraph
    product = fgraph.outputs[0]
    del fgraph
    gc.collect()
    assert not hasattr(product, "fgraph") and not hasattr(product.owner, "fgraph")


def test_copies_are_in_no_graph_or_their_own():
    x = scalar("x")
    fgraph = FunctionGraph([x], [negate(x)], clone=False)
    assert fgraph.outputs[0].owner.fgraph is fgraph
    assert not hasattr(copy.copy(x), "fgraph") and not hasattr(pickle.loads(pickle.dumps(fgraph.outputs[0])), "fgraph")
    twin = pickle.loads(pickle.dumps(fgraph))
    assert twin.outputs[0].owner.fgraph is twin.inputs[0].fgraph is twin is not fgraph
    deep = copy.deepcopy(fgraph)
    assert deep.inputs[0].fgraph is deep and deep.inputs[0].clients[0][0] is deep.outputs[0].owner
