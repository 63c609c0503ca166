"""Pickling, deep-copying and freeing graphs: identity, cycles through tags, aborted dumps, depth."""
import copy
import gc
import io
import pickle
import weakref

import pytest
from toy_graph import LENGTH, Negate, ToyConstant, ToyType, ToyVariable, add, chain, mul, negate, pair, scalar

from phintys.graph import serialization
from phintys.graph.traversal import ancestors, equal_computations

WAYS = {
    "deepcopy": copy.deepcopy,
    "python pickler": lambda thing: pickle._loads(pickle._dumps(thing)),
    **{f"protocol {number}": lambda thing, number=number: pickle.loads(pickle.dumps(thing, number))
       for number in range(pickle.HIGHEST_PROTOCOL + 1)},
}


@pytest.fixture(params=WAYS.values(), ids=WAYS.keys())
def duplicate(request):
    yield request.param
    assert not serialization._bundled.bundles


def test_identity_is_kept(duplicate):
    x = scalar("x")
    y = negate(x)
    z = mul(y, add(y, 2))
    for things in ((x, y, z), (z, y, x), [y, z, x, z.owner]):
        copies = duplicate(things)
        new = dict(zip(things, copies))
        assert new[z].owner.inputs[0] is new[y] and new[y].owner.inputs == [new[x]] and new[x].name == "x"
        assert new[y] is not y and equal_computations([z], [new[z]], [x], [new[x]])
        assert new[z].type == z.type and new[z].where == z.where and new[z].owner.outputs == [new[z]]
    assert copies[3] is new[z].owner


def test_single_objects(duplicate):
    assert duplicate(scalar("x")).name == "x" and duplicate(ToyConstant(scalar, 2)).data == 2.0
    assert duplicate(negate(scalar()).owner).op == negate


def test_outputs_of_one_node_stay_together(duplicate):
    first, second = pair(scalar("x"), scalar("y"))
    second.name = "second"
    made = duplicate(first)
    assert made.index == 0 and made.owner.outputs[1].name == "second" and made.owner.outputs[1].index == 1


def test_tags_may_refer_to_any_part_of_the_graph(duplicate):
    x = scalar("x")
    y = chain(x, 2000)
    middle = y.owner.inputs[0].owner.inputs[0]
    x.tag.last, middle.tag.last, middle.owner.tag.last = y, y, [y]
    y.tag.after = chain(y, 2000)
    for things in ((x, middle, y), (middle, x, y), (y, middle, x)):
        copies = dict(zip(things, duplicate(things)))
        assert copies[x].tag.last is copies[middle].tag.last is copies[y] is copies[middle].owner.tag.last[0]
        assert copies[y] in ancestors([copies[y].tag.after])


def test_attributes_of_subclasses_travel(duplicate):
    y = negate(scalar("x"))
    y.extra, y.owner.extra = [1], {"a": 2}
    made = duplicate(y)
    assert made.extra == [1] and made.owner.extra == {"a": 2} and isinstance(made, ToyVariable)


def test_compiled_fn_cache_and_numbers_stay_behind(duplicate):
    x = scalar("x")
    x._fn_cache = {(): lambda: None}
    made = duplicate(x)
    assert not hasattr(made, "_fn_cache") and made.auto_name != x.auto_name


class Unpicklable(Negate):
    __props__ = ()

    def __reduce__(self):
        raise ValueError("not this op")


def test_an_aborted_dump_leaves_nothing_behind():
    x = scalar("x")
    y = chain(x, 5000)
    z = Unpicklable()(y)
    with pytest.raises(ValueError, match="not this op"):
        pickle.dumps(z)
    gc.collect()
    assert not serialization._bundled.bundles
    assert len(ancestors([pickle.loads(pickle.dumps(y))])) == 5001


def test_two_picklers_at_a_time():
    x = scalar("x")
    y = chain(x, 5000)
    files = io.BytesIO(), io.BytesIO()
    picklers = [pickle.Pickler(file) for file in files]
    for pickler in picklers:
        pickler.dump(y)
    z = chain(y, 5000)
    for pickler in picklers:
        pickler.dump((z, y))
    for file in files:
        file.seek(0)
        unpickler = pickle.Unpickler(file)
        first, (second, again) = unpickler.load(), unpickler.load()
        assert first is again and len(ancestors([second])) == 10001


def test_deepcopy_respects_the_memo():
    x = scalar("x")
    y = negate(x)
    memo = {id(x): x}
    assert copy.deepcopy(y, memo).owner.inputs == [x]


def test_a_class_may_copy_itself():
    class Own(ToyVariable):
        def __deepcopy__(self, memo):
            return self

    x = Own(ToyType())
    assert copy.deepcopy(negate(x)).owner.inputs == [x]


def test_shallow_copies():
    y = negate(scalar("x"))
    assert copy.copy(y).owner is y.owner and copy.copy(y) is not y and copy.copy(y.owner).inputs is y.owner.inputs


# ---- depth -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("way", ["deepcopy", f"protocol {pickle.HIGHEST_PROTOCOL}"])
def test_long_chains(way):
    x = scalar("x")
    new_x, new_y = WAYS[way]((x, chain(x)))
    found = ancestors([new_y])
    assert len(found) == LENGTH + 1 and found[-1] is new_x


@pytest.mark.parametrize("by_collector", [True, False])
def test_long_chains_are_freed(by_collector):
    x = scalar("x")
    y = chain(x)
    gone = [weakref.ref(x), weakref.ref(y), weakref.ref(y.owner)]
    if not by_collector:                                 # without cycles, counting references frees the chain in one go
        node = y.owner
        while node is not None:
            node.outputs = []
            node = node.inputs[0].owner
    del x, y
    if by_collector:
        gc.collect()
    else:
        del node
    assert [ref() for ref in gone] == [None] * 3
