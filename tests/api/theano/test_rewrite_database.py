"""Theano's ``optdb`` and ``check_stack_trace``: rewrites by tags on a graph at hand, and where nodes were made."""
import pytest

import phintys
import phintys.tensor as T
from phintys.gof.opt import check_stack_trace
from phintys.graph.function_graph import FunctionGraph

optdb, OPT_FAST_RUN = phintys.compile.mode.optdb, phintys.compile.mode.OPT_FAST_RUN


def graph():
    x = T.dmatrix()
    return FunctionGraph([x], [T.log(T.exp(x)) + 0 * x])


@pytest.mark.parametrize("tags, length", [((OPT_FAST_RUN,), 0), (("+fast_run",), 0), (("+fast_run", "-stabilize"), 1),
                                          (("+merge",), 4), (("+fast_run", "&merge"), 4)])
def test_queries(tags, length):
    fgraph = graph()
    optdb.query(*tags).optimize(fgraph)
    assert len(fgraph.apply_nodes) == length


def test_a_tag_needs_a_sign():
    with pytest.raises(ValueError, match="must start with one of"):
        optdb.query("fast_run")


def test_nodes_made_by_rewrites_know_where_the_user_was():
    x, b = T.dmatrix(), T.dvector()
    function = phintys.function([x, b], T.log(T.nnet.softmax(x + b)))
    for which in ("last", "all", T.nnet.nnet.LogSoftmax, T.nnet.logsoftmax_op, [T.nnet.logsoftmax_op],
                  lambda node: True):
        assert check_stack_trace(function, which)
    assert not check_stack_trace(graph_without_places(), "all")


def graph_without_places():
    fgraph = graph()
    for node in fgraph.apply_nodes:
        node._position = None
    return fgraph


def test_nothing_to_check():
    with pytest.raises(Exception, match="not in the graph"):
        check_stack_trace(graph(), T.nnet.softmax_op)
    with pytest.warns(UserWarning, match="not in the graph"):
        check_stack_trace(graph(), T.nnet.softmax_op, bug_print="warn")
    assert check_stack_trace(graph(), T.nnet.softmax_op, bug_print="ignore")
    for arguments in ((graph(), T.nnet.softmax_op, "shout"), (graph(), 3), ("no graph",)):
        with pytest.raises(ValueError):
            check_stack_trace(*arguments)
