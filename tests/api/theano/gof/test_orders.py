"""Walks over graphs find variables and nodes in the orders in which Theano finds them.

Programs rely on them: libraries collect parameters by ``gof.graph.inputs`` and assign values to them by position.
"""
import json
from collections import deque

import pytest
from random_orders import ROWS, orders

import phintys.tensor as T
from phintys import gof

KNOWN = json.loads(ROWS.read_text())


@pytest.mark.parametrize("number", range(len(KNOWN)))
def test_as_theano(number):
    graph, expected = KNOWN[number]
    assert orders(gof, graph) == expected


def test_the_last_variable_comes_first():
    x, y, z = T.dvectors("xyz")
    total = x + y
    assert gof.graph.inputs([x, y, z]) == [z, y, x] and gof.graph.ancestors([total, z]) == [z, total, x, y]


def test_searches_refuse_other_modes():
    with pytest.raises(ValueError, match="bfs or dfs"):
        gof.graph.stack_search(deque(), list, "best first")


def test_orders_that_are_not_determined_are_refused():
    with pytest.raises(TypeError, match="Non-deterministic"):
        gof.graph.general_toposort([1], {1: {2, 3}}.get)


def test_long_graphs_are_walked_in_linear_time():
    x = total = T.dscalar()
    for _ in range(20_000):
        total = total + total
    assert len(gof.graph.ancestors([total])) == 20_001 and gof.graph.inputs([total]) == [x]
    assert len(gof.graph.io_toposort([x], [total], clients={})) == len(gof.graph.list_of_nodes([x], [total])) == 20_000
