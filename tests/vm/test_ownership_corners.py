"""Corners of ownership: values needed too early, memory kept too long, arrays whose elements share places."""
import gc
import sys
import weakref

import numpy as np
import pytest

import phintys
import phintys.tensor as T
from phintys import In, Out, function, shared
from phintys.graph.type import generic
from phintys.ops.advanced_subtensor import AdvancedIncSubtensor1
from phintys.vm.opcodes import NUMBER
from phintys.vm.verifier import ProgramError, verify

x, y = T.vectors("x", "y")


class Ramp(phintys.Op):
    """Adds 0, 1, 2... to its input, in the input's memory."""

    __props__ = ()
    destroy_map = {0: [0]}

    def make_node(self, value):
        return phintys.Apply(self, [value], [value.type()])

    def perform(self, node, inputs, output_storage):
        inputs[0] += np.arange(inputs[0].size).reshape(inputs[0].shape)
        output_storage[0][0] = inputs[0]


class FirstOf(phintys.Op):
    """The first element, as a view of all."""

    __props__ = ()
    view_map = {0: [0]}

    def make_node(self, value):
        return phintys.Apply(self, [value], [T.dscalar()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0][:1].reshape(())


class Length(phintys.Op):
    """How long an object is."""

    __props__ = ()

    def make_node(self, value):
        return phintys.Apply(self, [value], [T.lscalar()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = np.asarray(len(inputs[0]))


# ---- commits ---------------------------------------------------------------------------------------------------------
def moving_index(step):
    """Updates of an index, and of what the new index points to."""
    index, w = shared(np.arange(3), "index"), shared(np.zeros(6), "w")
    return index, w, function([x], updates=[(index, index + step), (w, T.inc_subtensor(w[index + step], x))])


def test_an_index_is_computed_before_it_is_checked():
    index, w, step = moving_index(2)
    step(np.ones(3))
    np.testing.assert_array_equal(w.get_value(), [0, 0, 1, 1, 1, 0])
    np.testing.assert_array_equal(index.get_value(), [2, 3, 4])


def test_an_index_outside_changes_nothing():
    index, w, step = moving_index(10 ** 6)
    with pytest.raises(IndexError):
        step(np.ones(3))
    np.testing.assert_array_equal(w.get_value(), np.zeros(6))
    np.testing.assert_array_equal(index.get_value(), [0, 1, 2])


def test_the_verifier_refuses_to_look_at_what_the_commit_computes(monkeypatch):
    w, v, index = shared(np.zeros(6)), shared(np.zeros(3)), shared(np.arange(3))
    program = function([], updates=[(v, v + 1), (w, T.inc_subtensor(w[index], v + 1))]).program
    assert program.code[::16].count(NUMBER["PREPARE"]) == 2
    verify(program)
    monkeypatch.setattr(AdvancedIncSubtensor1, "first_examined", 1)
    with pytest.raises(ProgramError, match="computed behind COMMIT"):
        verify(program)


# ---- results that are lent -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("size", [3, 5000])
def test_a_container_keeps_a_lent_result(size):
    lent = function([x], Out(x * 2, borrow=True))
    s = shared(np.zeros(1))
    s.set_value(lent(np.ones(size)), borrow=True)
    lent(np.full(size, 7.0))
    np.testing.assert_array_equal(s.get_value(), np.full(size, 2.0))


@pytest.mark.parametrize("size", [3, 5000])
@pytest.mark.parametrize("computed", [False, True])
def test_a_result_both_lent_and_not(size, computed):
    value = T.exp(x) if computed else x
    both = function([In(x, borrow=True)], [value, Out(value, borrow=True)])
    mine = np.zeros(size)
    kept, _ = both(mine)
    before = kept.copy()
    assert not np.shares_memory(kept, mine)
    both(np.ones(size))
    np.testing.assert_array_equal(kept, before)


# ---- mutable arguments -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("shape, strides", [((4,), (0,)), ((3, 2), (16, 16)), ((2, 3), (8, 8))])
def test_elements_of_a_mutable_argument_that_share_places(shape, strides):
    a = T.TensorType("float64", (False,) * len(shape))()
    ramp = function([In(a, mutable=True)], Ramp()(a), accept_inplace=True)
    value = np.lib.stride_tricks.as_strided(np.arange(8.0), shape, strides)
    wanted = value + np.arange(value.size).reshape(shape)
    np.testing.assert_array_equal(ramp(value), wanted)


# ---- memory between calls --------------------------------------------------------------------------------------------
class Listed(list):
    """A list that weak references can look at."""


@pytest.mark.parametrize("used", [True, False])
def test_an_argument_of_any_type_is_not_kept(used):
    thing = generic("thing")
    length = function([thing, x], [Length()(thing), x] if used else x, on_unused_input="ignore")
    value = Listed([1, 2])
    seen = weakref.ref(value)
    length(value, np.ones(2))
    del value
    assert seen() is None


def test_a_number_that_is_a_view_does_not_hold_the_whole():
    mine = np.arange(5000.0)
    references = sys.getrefcount(mine)
    assert function([x], FirstOf()(x) + 1)(mine) == 1
    assert sys.getrefcount(mine) == references
    w = shared(np.ones(5000))
    here = w.get_value(borrow=True).ctypes.data
    function([y], w[3] * y)(np.ones(2))
    function([], updates=[(w, w + 1)])()
    gc.collect()
    assert w.get_value(borrow=True).ctypes.data == here


def test_a_lent_number_is_given_back():
    mine = np.array(2.0)
    s = shared(mine, borrow=True)
    twice = function([], s * 2)
    assert twice() == 4
    s.set_value(3.0)
    seen = weakref.ref(mine)
    del mine
    assert seen() is None and twice() == 6
