"""Variables and nodes: what is in their structs."""
import pickle

import pytest

import phintys
import phintys.tensor as T
from phintys.graph.apply import Apply
from phintys.graph.nodes import next_number


def test_attributes_are_in_the_struct_and_others_in_the_dictionary():
    x = T.dvector("x")
    y = T.exp(x)
    assert vars(x) == vars(y) == vars(y.owner) == {}
    x.mine = y.owner.mine = 1
    assert vars(x) == vars(y.owner) == {"mine": 1}
    assert (x.type, x.owner, x.index, x.name) == (T.dvector, None, None, "x")
    assert (y.owner.inputs, y.owner.outputs, y.index) == ([x], [y], 0)


def test_outputs_have_their_positions_and_stay_with_their_node():
    x = T.dvector("x")
    outputs = [T.dvector() for _ in range(3)]
    node = Apply(T.exp(x).owner.op, [x], outputs)
    assert [(value.owner, value.index) for value in outputs] == [(node, 0), (node, 1), (node, 2)]
    node.__init__(node.op, [x], outputs)
    with pytest.raises(ValueError, match="must belong to it"):
        node.__init__(node.op, [x], outputs[::-1])


@pytest.mark.parametrize("name", ["type", "owner", "index", "name", "inputs", "outputs", "op"])
def test_attributes_in_the_struct_cannot_be_deleted(name):
    x = T.dvector("x")
    y = T.exp(x)
    y.mine = y.owner.mine = 1
    thing = y if hasattr(y, name) else y.owner
    with pytest.raises(AttributeError, match=name):
        delattr(thing, name)
    del thing.mine
    assert not hasattr(thing, "mine")
    assert phintys.function([x], y)([0.0]) == 1


def test_nodes_that_are_made_have_growing_numbers_and_copies_have_none():
    x = T.dvector("x")
    first, between, second = T.exp(x).owner, next_number(), T.exp(x).owner
    assert first._number < between < second._number
    assert first.clone()._number == 0 == pickle.loads(pickle.dumps(first))._number


def test_copies_of_outputs_that_have_a_clone_of_their_own():
    class Mine(T.TensorVariable):
        def clone(self):
            copied = super().clone()
            copied.mine = True
            return copied

    x = T.dvector("x")
    node = Apply(T.exp, [x], [Mine(T.dvector)])
    node.tag.note = node.outputs[0].tag.note = "kept"
    copied = node.clone()
    assert type(copied.outputs[0]) is Mine and copied.outputs[0].mine and copied.outputs[0].owner is copied
    assert copied.tag.note == copied.outputs[0].tag.note == "kept" and copied.tag is not node.tag
    assert copied.inputs == [x] and copied.inputs is not node.inputs
