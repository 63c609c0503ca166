"""Updates inside updates: an op whose ``perform`` calls a function that updates what the outer call updates, too."""
import numpy as np
import pytest

import phintys
import phintys.tensor as T
from phintys import function, shared
from phintys.graph.type import generic
from phintys.ifelse import ifelse

x = T.dvector("x")
TEN = np.full(3, 10.0)


class Calls(phintys.Op):
    """A copy of the input, after calling something."""

    __props__ = ("number",)

    def __init__(self, called, number=0):
        self.called, self.number = called, number

    def make_node(self, value):
        return phintys.Apply(self, [value], [value.type()])

    def perform(self, node, inputs, output_storage):
        self.called()
        output_storage[0][0] = inputs[0].copy()


def bumped(value=np.zeros(3)):
    """(a variable, an op that adds 1 to it)."""
    n = shared(np.array(value), "n")
    return n, Calls(function([], updates=[(n, n + 1)]))


# What is computed from the op's output → the values afterwards, as Theano has them. The inner update comes first.
FRESH = {
    "added in place": (lambda n, y: n + y, [11, 11, 11]),
    "with a product": (lambda n, y: n * T.dot(y, y), [300, 300, 300]),
    "a function of the old value": (lambda n, y: T.exp(n) * y, np.e * TEN),
    "another length": (lambda n, y: T.concatenate([n, y]), [1, 1, 1, 10, 10, 10]),
    "a piece of it": (lambda n, y: T.set_subtensor(n[1:], y[1:]), [1, 10, 10]),
    "after a condition": (lambda n, y: ifelse(T.gt(y[0], 0), n + y, n), [11, 11, 11]),
    "not read at all": (lambda n, y: y * 2, [20, 20, 20]),
}


@pytest.mark.parametrize("allow_gc", [True, False, "plan"])
@pytest.mark.parametrize("case", FRESH)
def test_what_is_read_behind_the_inner_update_is_fresh(case, allow_gc):
    change, expected = FRESH[case]
    n, op = bumped()
    outer = function([x], n, updates=[(n, change(n, op(x)))], mode=phintys.Mode(allow_gc=allow_gc))
    for _ in range(3):
        n.set_value(np.zeros(3))
        outer(TEN)
        np.testing.assert_allclose(n.get_value(), expected)


def test_a_number_and_a_matrix():
    for value in (0.0, np.zeros((2, 3))):
        n, op = bumped(value)
        function([x], updates=[(n, n + op(x).sum())])(TEN)
        np.testing.assert_array_equal(n.get_value(), np.add(value, 31))


def test_an_object():
    thing = shared([0])
    append = Calls(lambda: thing.set_value([*thing.get_value(), 1]))

    class Joined(phintys.Op):
        __props__ = ()

        def make_node(self, thing, value):
            return phintys.Apply(self, [thing, value], [generic()])

        def perform(self, node, inputs, output_storage):
            output_storage[0][0] = [*inputs[0], len(inputs[1])]

    function([x], updates=[(thing, Joined()(thing, append(x)))])(TEN)
    assert thing.get_value() == [0, 1, 3]


def test_a_function_that_calls_itself_counts_each_call():
    n, k = shared(0.0, "n"), T.dscalar("k")

    class Down(phintys.Op):
        __props__ = ()

        def make_node(self, value):
            return phintys.Apply(self, [value], [value.type()])

        def perform(self, node, inputs, output_storage):
            if inputs[0] > 0:
                count(inputs[0] - 1)
            output_storage[0][0] = np.asarray(1.0)

    count = function([k], updates=[(n, n + Down()(k))])
    count(20.0)
    assert n.get_value() == 21.0


# The old value is read before the inner update: storing a new one may undo it, as Theano does.
LOST = {
    "the op reads it": lambda n, op: ([], n + op(n)),
    "an op reads it before": lambda n, op: ([], op(Calls(lambda: None, 1)(n) + x)),
    "only a result reads it": lambda n, op: ([op(T.exp(n))], x),
    "a condition reads it": lambda n, op: ([], ifelse(T.gt(n[0], -1), op(x), x) + n),
    "a view of it": lambda n, op: ([], n + op(n[::-1])),
}


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE", "DebugMode"])
@pytest.mark.parametrize("case", LOST)
def test_an_update_that_would_be_lost_is_an_error(case, mode):
    n, op = bumped()
    other = shared(0.0, "other")
    results, update = LOST[case](n, op)
    outer = function([x], results, updates=[(n, update), (other, other + 1)], mode=mode, on_unused_input="ignore")
    for inner in range(1, 3):
        with pytest.raises(RuntimeError, match=r"has updated the shared variable 'n' inside this call") as caught:
            outer(TEN)
        assert "Calls" in str(caught.value) or mode == "DebugMode"
        if mode != "DebugMode":                     # which calls an op several times
            assert "Made at" in str(caught.value) and __file__ in str(caught.value)
            np.testing.assert_array_equal(n.get_value(), np.full(3, inner))
        assert other.get_value() == 0


def test_setting_a_value_inside_a_call_is_an_update_too():
    n = shared(np.zeros(3), "n")
    for borrow in (False, True):
        op = Calls(lambda: n.set_value(np.full(3, 5.0), borrow=borrow))
        with pytest.raises(RuntimeError, match="'n'"):
            function([], updates=[(n, n + op(n))])()
        function([x], updates=[(n, n + op(x))])(TEN)
        np.testing.assert_array_equal(n.get_value(), np.full(3, 15.0))


def test_what_the_outer_call_does_not_replace_is_as_it_was_at_the_start():
    n, op = bumped()
    m = shared(np.zeros(3), "m")
    outer = function([x], n, updates=[(m, n + op(x))])
    np.testing.assert_array_equal(outer(TEN), np.zeros(3))
    np.testing.assert_array_equal(m.get_value(), TEN)
    np.testing.assert_array_equal(n.get_value(), np.ones(3))


def test_an_inner_call_that_fails_is_no_update():
    n = shared(np.zeros(3), "n")
    inner = function([x], updates=[(n, n + x)])

    def call():
        with pytest.raises(ValueError):
            inner(np.ones(4))

    function([x], updates=[(n, n + Calls(call)(n + x))])(TEN)
    np.testing.assert_array_equal(n.get_value(), TEN)


def test_a_block_that_an_inner_update_precedes():
    """If the op is in code that branches share, it is not known exactly what was read: at worst an error is raised."""
    n, op = bumped()
    c, d = T.iscalars("c", "d")
    y = op(x)
    outer = function([c, d, x], [ifelse(c, y.sum(), x.sum()), ifelse(d, y.max(), x.max())],
                     updates=[(n, n + x)])
    for question in ((0, 0), (1, 0), (0, 1), (1, 1)):
        n.set_value(np.zeros(3))
        outer(*question, TEN)
        np.testing.assert_array_equal(n.get_value(), TEN + any(question))
