"""The rules of overwriting: what is refused, in which order nodes come, which nodes may run after COMMIT."""
import pickle

import pytest
from toy_graph import LENGTH, Add, Elementwise, Negate, ToyConstant, ToyType, add, negate, scalar

from phintys.graph.apply import Apply
from phintys.graph.destroy_handler import DestroyHandler, handler_of
from phintys.graph.errors import InconsistencyError
from phintys.graph.function_graph import FunctionGraph
from phintys.graph.op import Op


class AddTo(Add):
    """Overwrites its first input."""
    destroy_map = {0: [0]}


class Tolerant(AddTo):
    """It does not mind when the second input is the first one."""
    destroyhandler_tolerate_same = [(0, 1)]


class TolerantOfAliases(AddTo):
    destroyhandler_tolerate_aliased = [(0, 1)]


class Element(AddTo):
    reads_before_writing = True


class Final(AddTo):
    """An overwriting op that can run after COMMIT."""
    cannot_fail = True


class View(Negate):
    view_map = {0: [0]}


class Both(Op):
    """Two outputs over two inputs."""
    __props__ = ()
    destroy_map = {0: [0], 1: [1]}

    def make_node(self, a, b):
        return Apply(self, [a, b], [a.type(), b.type()])


class SetTo(Elementwise):
    __props__ = ("inplace",)
    can_overwrite = {0: (0,)}

    def __init__(self, inplace=False):
        self.inplace = inplace
        self.destroy_map = {0: [0]} if inplace else {}


add_to, tolerant, tolerant_of_aliases, element, final = AddTo(), Tolerant(), TolerantOfAliases(), Element(), Final()
view, both = View(), Both()
x, y, z = scalar("x"), scalar("y"), scalar("z")
one = ToyConstant(scalar, 1.0)
locked = scalar("locked")
locked.tag.indestructible = True
inner = negate(x)
INPUTS = [x, y, z, locked]

# Without a word about inputs and outputs only memory itself counts: outputs of a legal graph.
LEGAL = {
    "an input": [add_to(x, y)],
    "an earlier reader": [add_to(x, y), negate(x)],
    "an earlier reader of a view": [add_to(view(x), y), negate(view(view(x)))],
    "one after the other": [add_to(add_to(x, y), z)],
    "a copy of the input": [add(add_to(inner, y), x)],
    "two inputs": both(x, y),
    "the same input, tolerated": [tolerant(x, x)],
    "the same input, element by element": [element(x, x)],
    "an alias, tolerated": [tolerant_of_aliases(x, view(x))],
}
# ... and of an illegal one, with a part of the message
ILLEGAL = {
    "twice": ([add_to(x, y), add_to(x, z)], "it is overwritten twice"),
    "twice through views": ([add_to(view(x), y), add_to(view(x), z)], "it is overwritten twice"),
    "one node, one memory": (both(x, view(x)), "reads the same memory through another input"),
    "a constant": ([add_to(one, y)], "it is a constant"),
    "a view of a constant": ([add_to(view(one), y)], "it is a constant"),
    "an indestructible input": ([add_to(view(locked), y)], "marked as indestructible"),
    "the same input": ([add_to(x, x)], "reads the same memory through another input"),
    "an alias": ([tolerant(x, view(x))], "reads the same memory through another input"),
    "an alias, element by element": ([element(x, view(x))], "reads the same memory through another input"),
    "a later reader": ([add(add_to(x, y), x)], "the graph contains cycles"),
    "a later reader of a view": ([add(negate(add_to(view(x), y)), view(x))], "the graph contains cycles"),
    "a circle": ([add(add_to(x, y), add_to(y, x))], "the graph contains cycles"),
    "a longer circle": ([add(add(add_to(x, y), add_to(y, z)), add_to(z, x))], "the graph contains cycles"),
}
shared, other = scalar("shared"), scalar("other")
updated = final(shared, x)
# name: (outputs: one result, then the new values of shared and other), part of the message or None
GUARDED = {
    "mutable": ([add_to(y, x), shared, other], None),
    "not mutable": ([add_to(x, y), shared, other], "an input that is not mutable"),
    "a result": ([y, add(add_to(y, x), shared), other], "an output of the graph needs it"),
    "a view of it is a result": ([view(y), add(add_to(y, x), shared), other], "an output of the graph needs it"),
    "a temporary that is a result": ([inner, add_to(inner, y), other], "an output of the graph needs it"),
    "by its update": ([x, updated, other], None),
    "by its update, read by the next": ([x, updated, final(other, updated)], None),
    "the old value is the result": ([view(shared), updated, other], None),
    "the new value is the result": ([updated, updated, other], "it is a shared value"),
    "something reads the new value": ([negate(updated), updated, other], "it is a shared value"),
    "an update that can fail reads it": ([x, updated, add_to(other, updated)], "it is a shared value"),
    "two updates of one value": ([x, updated, updated], "it is a shared value"),
    "by an update that can fail": ([x, add_to(shared, x), other], "it is a shared value"),
    "by the update of the other": ([x, shared, final(shared, x)], "it is a shared value"),
    "through a view": ([x, final(view(shared), x), other], "it is a shared value"),
    "a commit node reads it": ([add_to(y, x), final(shared, y), other], "a node reads it that runs last"),
    "each reads the other": ([x, final(shared, other), final(other, shared)], "the graph contains cycles"),
}


def attached(outputs, handler=None, inputs=INPUTS):
    fgraph = FunctionGraph(inputs, outputs, clone=False)
    fgraph.attach_feature(handler or DestroyHandler())
    return fgraph


def guarded(outputs):
    return attached(outputs, DestroyHandler({y}, {shared: 1, other: 2}), [x, y, shared, other])


def assert_ordered(fgraph):
    """In the graph's own order every reader of an input comes before the node that overwrites it."""
    place = {node: position for position, node in enumerate(fgraph.toposort())}
    assert place.keys() == fgraph.apply_nodes
    for node, earlier in fgraph.orderings().items():
        assert all([place[reader] < place[node] for reader in earlier])


@pytest.mark.parametrize("name", LEGAL)
def test_legal(name):
    fgraph = attached(LEGAL[name])
    fgraph.validate()
    assert_ordered(fgraph)


@pytest.mark.parametrize("name", ILLEGAL)
def test_illegal(name):
    outputs, message = ILLEGAL[name]
    with pytest.raises(InconsistencyError, match=rf"(AddTo|Both|Tolerant|Element).*{message}"):
        attached(outputs).validate()
    if "cycles" in message:
        with pytest.raises(InconsistencyError, match="cycles"):
            attached(outputs).toposort()


@pytest.mark.parametrize("name", GUARDED)
def test_what_is_guarded(name):
    outputs, message = GUARDED[name]
    fgraph = guarded(outputs)
    if message is None:
        fgraph.validate()
        assert_ordered(fgraph)
    else:
        with pytest.raises(InconsistencyError, match=message):
            fgraph.validate()


def test_errors_name_the_place():
    node = add_to(one, y).owner
    with pytest.raises(InconsistencyError, match=r"AddTo \(made at .*test_destroy_handler.py:\d+\) must not overwrite"):
        attached(node.outputs).validate()


def test_a_refused_replacement_is_taken_back():
    result = add(x, y)
    fgraph = attached([result, negate(result)])
    with pytest.raises(InconsistencyError, match="constant"):
        fgraph.replace_validate(result, add_to(one, y))
    assert fgraph.outputs[0] is result
    fgraph.replace_validate(result, add_to(x, y))
    assert fgraph.outputs[0].owner.op == add_to


def test_commit_nodes_in_order():
    first = final(shared, other)
    second = final(other, first)
    fgraph = guarded([x, first, second])
    assert handler_of(fgraph).commit_nodes(fgraph) == [first.owner, second.owner]
    assert handler_of(FunctionGraph([x], [negate(x)])) is None


def test_what_reads_the_result_of_a_commit_node_is_one():
    first = final(shared, x)
    second = negate(first)
    fgraph = guarded([x, first, second])
    assert handler_of(fgraph).commit_nodes(fgraph) == [first.owner, second.owner]


def test_copies_and_pickles_keep_the_rules():
    fgraph = guarded([x, updated, final(other, updated)])
    for copied in (fgraph.clone(), pickle.loads(pickle.dumps(fgraph))):
        copied.validate()
        assert [node.op for node in handler_of(copied).commit_nodes(copied)] == [final, final]
        assert copied.orderings().keys() <= copied.apply_nodes


def test_a_kept_order_lasts_until_the_graph_changes():
    result = negate(negate(x))
    fgraph = attached([result])
    order = fgraph.toposort()
    fgraph.keep_order(order)
    assert fgraph.kept_order == order
    fgraph.change_op(order[0], Negate())
    assert fgraph.kept_order is None
    fgraph.keep_order(order)
    fgraph.replace(result, negate(x))
    assert fgraph.kept_order is None


def test_variants_by_one_line():
    plain = SetTo()
    node = plain.make_node(x, y)
    assert list(plain.inplace_candidates(node)) == [(0, 0)]
    assert not list(plain.inplace_candidates(Apply(plain, [x], [ToyType("int64")()])))
    assert plain.overwriting({0: 0}) == SetTo(True) and SetTo(True).overwriting({}) == plain
    assert add_to.overwriting({}) is None and not list(add_to.inplace_candidates(add_to(x, y).owner))


def test_long_chains():
    """Neither recursion nor more than linear work: destroyers of all values of a chain, and very many readers."""
    value = x
    for _ in range(LENGTH // 2):
        value = add_to(value, y)
    fgraph = attached([value])
    fgraph.validate()
    assert len(fgraph.toposort()) == LENGTH // 2
    readers = [negate(x) for _ in range(LENGTH // 2)]
    fgraph = attached([add_to(x, y), *readers])
    fgraph.validate()
    destroyer = fgraph.outputs[0].owner
    assert fgraph.toposort()[-1] is destroyer and len(fgraph.orderings()[destroyer]) == LENGTH // 2
