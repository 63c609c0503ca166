"""``f.maker.fgraph`` shows a DeepCopyOp where a result is copied so that it shares no memory with another value."""
import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys import In, Out, function, shared
from phintys.compile import DeepCopyOp

x, y = T.dvector("x"), T.dvector("y")
kept, changed = shared(numpy.ones(3), "kept"), shared(numpy.ones(3), "changed")
twice = x * 2

# What it is → (inputs, outputs, options, how many copies are shown)
CASES = {
    "an argument": ([x], x, {}, 1),
    "a view of an argument": ([x], x[1:][::-1], {}, 1),
    "a computed value": ([x], twice, {}, 0),
    "a view of a computed value": ([x], twice[1:], {}, 0),
    "a constant": ([], T.constant(3.0), {}, 1),
    "a borrowed constant": ([], Out(T.constant(3.0), borrow=True), {}, 0),
    "the same result twice": ([x], [twice, twice], {}, 1),
    "a result and a view of it": ([x], [twice, twice[1:]], {}, 1),
    "two borrowed views of a result": ([x], [Out(twice, borrow=True), Out(twice[1:], borrow=True)], {}, 0),
    "a view of a result that is borrowed": ([x], [Out(twice, borrow=True), twice[1:]], {}, 1),
    "an argument borrowed from and to": ([In(x, borrow=True)], Out(x[1:], borrow=True), {}, 0),
    "an argument borrowed only to": ([x], Out(x[1:], borrow=True), {}, 1),
    "a shared value": ([], kept, {}, 1),
    "a borrowed shared value": ([], Out(kept, borrow=True), {}, 0),
    "a shared value that is replaced": ([x], changed, {"updates": [(changed, x * 3)]}, 0),
    "a result that is stored, too": ([x], twice, {"updates": [(changed, twice)]}, 1),
    "an argument that is stored": ([x], None, {"updates": [(changed, x)]}, 1),
    "one of two arguments": ([x, y], [x + y, y], {}, 1),
}


@pytest.mark.parametrize("inputs, outputs, options, copies", CASES.values(), ids=CASES)
def test_copies(inputs, outputs, options, copies):
    f = function(inputs, outputs, **options)
    shown = [node for node in f.maker.fgraph.toposort() if isinstance(node.op, DeepCopyOp)]
    assert len(shown) == copies and all(node.outputs[0] in f.maker.fgraph.outputs for node in shown)
    f.maker.fgraph.check_integrity()


def test_the_graph_is_only_shown():
    f = function([x], [x, x[0] + 1])
    assert f.maker.fgraph is f.maker.fgraph and f.maker.fgraph.inputs[0] in f.fn.storage_map
    nodes = {node for node in f.program.nodes if node is not None}
    assert {node for node in f.maker.fgraph.apply_nodes if not isinstance(node.op, DeepCopyOp)} == nodes
    given = numpy.arange(3.0)
    for again in (f, f.copy()):
        value, _ = again(given)
        assert numpy.array_equal(value, given) and not numpy.shares_memory(value, given)
    assert "DeepCopyOp" in phintys.debugprint(f, file="str")
