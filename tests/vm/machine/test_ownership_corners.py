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
from phintys.ifelse import ifelse
from phintys.ops.rearranging.repeat_kernel import RepeatKernel
from phintys.vm.linking.verifier import ProgramError, verify
from phintys.vm.opcodes import NUMBER
from phintys.vm.pool import pool_statistics

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


def test_the_verifier_refuses_to_look_at_what_the_commit_computes():
    w, v, index = shared(np.zeros(6)), shared(np.zeros(3)), shared(np.arange(3))
    program = function([], updates=[(v, v + 1), (w, T.inc_subtensor(w[index], v + 1))]).program
    assert program.code[::16].count(NUMBER["PREPARE"]) == 2
    verify(program)
    position, = [number for number, kernel in enumerate(program.kernels) if kernel.examined == (2,)]
    program.kernels[position] = RepeatKernel(0)     # one that examines the addend
    assert program.kernels[position].examined == (1,)
    with pytest.raises(ProgramError, match="computed after COMMIT"):
        verify(program)


# ---- updates that leave a value alone -------------------------------------------------------------------------------
c = T.iscalar("c")
START = np.linspace(1, 2, 1000)


def address(w):
    return w.get_value(borrow=True).ctypes.data


@pytest.mark.skipif(phintys.config.stress, reason="under stress no memory is used again")
def test_a_value_that_is_left_alone_stays_where_it_is():
    w = shared(START)
    step = function([c, x], [], updates=[(w, ifelse(c, w - x, w))])
    step(0, START)
    here, requests = address(w), pool_statistics()["requests"]
    for _ in range(3):
        step(0, START)
    assert address(w) == here and pool_statistics()["requests"] == requests
    step(1, START)
    np.testing.assert_array_equal(w.get_value(), START - START)


def left_alone(change, *, results=lambda new, w, v: [], also=None):
    """A call that stores ``change`` of w in w, and may store something in v, too."""
    w, v = shared(START, "w"), shared(START * 2, "v")
    new = change(w, v)
    outputs = results(new, w, v)
    updates = [(w, new)] + ([(v, also(new, w, v))] if also else [])
    return w, v, function([c, x], outputs, updates=updates, on_unused_input="ignore")


LEFT_ALONE = {
    "results that were and are w": left_alone(
        lambda w, v: ifelse(c, w - x, w), results=lambda new, w, v: [w, new, w[::-1], new[1:], new.sum()]),
    "borrowed results": left_alone(
        lambda w, v: ifelse(c, w - x, w),
        results=lambda new, w, v: [Out(w, borrow=True), Out(w[3:], borrow=True), Out(new, borrow=True)]),
    "stored twice": left_alone(lambda w, v: ifelse(c, w - x, w), also=lambda new, w, v: new),
    "the old value moves": left_alone(lambda w, v: ifelse(c, w - x, w), also=lambda new, w, v: w),
    "an exchange": left_alone(lambda w, v: ifelse(c, v, w), also=lambda new, w, v: ifelse(c, w, v)),
    "another's value": left_alone(lambda w, v: ifelse(c, w, v), also=lambda new, w, v: v + x),
    "read by an update in place": left_alone(lambda w, v: ifelse(c, w - x, w), also=lambda new, w, v: v - new * w),
    "all but one": left_alone(lambda w, v: w[1:], results=lambda new, w, v: [w.sum()]),
    "backwards": left_alone(lambda w, v: w[::-1], also=lambda new, w, v: ifelse(c, w[::-1], v)),
    "backwards twice": left_alone(lambda w, v: w[::-1][::-1][:1000], results=lambda new, w, v: [new[::2], w[0]]),
}


@pytest.mark.parametrize("lend", [False, True])
@pytest.mark.parametrize("case", LEFT_ALONE)
def test_values_that_are_left_alone(case, lend):
    """They are what they are while somebody holds the old ones, which has everything copied. Results keep their values
    while w and v are overwritten afterwards, and so does an array that w was lent."""
    w, v, step = LEFT_ALONE[case]
    change_both = function([], updates=[(w, w * 0.5), (v, v * 0.25)])
    for question in (0, 1, 0, 0):
        values = [START + question, START * 3]
        for container, value in zip([w, v], values):
            container.set_value(value)
        held = [container.get_value(borrow=True) for container in (w, v)]
        expected = [np.array(value) for value in [*step(question, START), w.get_value(), v.get_value()]]
        del held
        for container, value in zip([w, v], values):
            container.set_value(value, borrow=lend)
        results = step(question, START)
        updated = [w.get_value(), v.get_value()]
        for value, wanted in zip([*results, *updated], expected, strict=True):
            np.testing.assert_array_equal(value, wanted)
        assert not np.shares_memory(w.get_value(borrow=True), v.get_value(borrow=True))
        copies = [np.array(result) for result in results]
        seen = w.get_value(borrow=True)
        change_both()
        np.testing.assert_array_equal(w.get_value(), updated[0] * 0.5)
        np.testing.assert_array_equal(v.get_value(), updated[1] * 0.25)
        np.testing.assert_array_equal(seen, updated[0])
        for result, copy in zip(results, copies):
            np.testing.assert_array_equal(result, copy)
        np.testing.assert_array_equal(values[0], START + question)
        np.testing.assert_array_equal(values[1], START * 3)


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
