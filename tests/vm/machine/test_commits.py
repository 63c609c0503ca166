"""Updates in place: they use no memory of the parameter's size, and a call that fails changes nothing."""
import gc
import threading

import numpy as np
import pytest

import phintys
import phintys.tensor as T
from phintys import In, Out
from phintys.vm.pool import pool_statistics

SIZE = 400                                  # matrices of 1.2 MiB: no temporary of that size may appear
x, y = T.matrices("x", "y")
RATE = 0.125


def parameter(name, fill=1.0):
    return phintys.shared(np.full((SIZE, SIZE), fill), name)


def address(variable):
    return variable.get_value(borrow=True).ctypes.data


def gradient_descent():
    w = parameter("w")
    return [w], [(w, w - RATE * x)], lambda w, x: [w - RATE * x]


def product():
    w = parameter("w")
    return [w], [(w, w - RATE * T.dot(x.T, x))], lambda w, x: [w - RATE * x.T.dot(x)]


def weight_decay():
    w = parameter("w")
    return [w], [(w, w - RATE * (T.dot(x.T, x) + 0.5 * w))], lambda w, x: [w - RATE * (x.T.dot(x) + 0.5 * w)]


def momentum():
    w, v = parameter("w"), parameter("v", 2.0)
    new = 0.5 * v - RATE * x
    return [w, v], [(v, new), (w, w + new)], lambda w, v, x: [w + 0.5 * v - RATE * x, 0.5 * v - RATE * x]


def adam():
    w, m, v = parameter("w"), parameter("m", 0.5), parameter("v", 0.25)
    new_m, new_v = 0.5 * m + 0.5 * x, 0.75 * v + 0.25 * x ** 2

    def expected(w, m, v, x):
        m, v = 0.5 * m + 0.5 * x, 0.75 * v + 0.25 * x ** 2
        return [w - RATE * m / (np.sqrt(v) + 1), m, v]
    return [w, m, v], [(m, new_m), (v, new_v), (w, w - RATE * new_m / (T.sqrt(new_v) + 1))], expected


def rotation():
    a, b = parameter("a"), parameter("b", 2.0)
    return [a, b], [(a, a + b + x), (b, b - a)], lambda a, b, x: [a + b + x, b - a]


def parts():
    w = parameter("w")
    rows, others = T.constant([0, 3, 3, 7]), T.constant([7, 1, 3, 0])
    new = T.inc_subtensor(T.inc_subtensor(w[rows], x[:4])[others], x[4:8])

    def expected(w, x):
        np.add.at(w, [0, 3, 3, 7], x[:4])
        np.add.at(w, [7, 1, 3, 0], x[4:8])
        return [w]
    return [w], [(w, new)], expected


def parts_of_all_kinds():
    """A chain of five steps whose middle the update of another parameter reads."""
    w, v = parameter("w"), parameter("v", 2.0)
    middle = T.set_subtensor((0.5 * w)[1:3], x[5:7])
    new = T.tanh(T.inc_subtensor(T.set_subtensor(middle[:, 2], x[3])[T.constant([1, 1])], x[0]))

    def expected(w, v, x):
        w = 0.5 * w
        w[1:3] = x[5:7]
        v = v - w
        w[:, 2] = x[3]
        np.add.at(w, [1, 1], x[0])
        return [np.tanh(w), v]
    return [w, v], [(w, new), (v, v - middle)], expected


def swapped():
    a, b = parameter("a"), parameter("b", 2.0)
    return [a, b], [(a, b), (b, a + 0 * x)], lambda a, b, x: [b, a]


def own_transpose():
    w = parameter("w")
    return [w], [(w, w.T + x)], lambda w, x: [w.T + x]


UPDATES = [gradient_descent, product, weight_decay, momentum, adam, rotation, parts, parts_of_all_kinds]
VALUE = np.random.default_rng(0).uniform(size=(SIZE, SIZE))


@pytest.mark.parametrize("case", UPDATES + [swapped, own_transpose])
@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
def test_values(case, mode):
    variables, updates, expected = case()
    function = phintys.function([x], updates=updates, mode=mode)
    values = [variable.get_value() for variable in variables]
    for _ in range(3):
        function(VALUE)
        values = expected(*values, VALUE)
        for variable, value in zip(variables, values):
            np.testing.assert_allclose(variable.get_value(), value, rtol=1e-12)


@pytest.mark.parametrize("case", UPDATES)
def test_no_memory_of_the_parameters_size(case):
    variables, updates, _ = case()
    function = phintys.function([x], updates=updates)
    with phintys.config.change_flags(pool_limit=0):      # each request is a miss
        addresses = [address(variable) for variable in variables]
        misses = pool_statistics()["misses"]
        for _ in range(3):
            function(VALUE)
        assert [address(variable) for variable in variables] == addresses
        assert pool_statistics()["misses"] == misses


def test_a_referenced_value_stays():
    w = parameter("w")
    function = phintys.function([x], updates=[(w, w + x)])
    held = w.get_value(borrow=True)
    function(VALUE)
    assert (held == 1).all() and np.array_equal(w.get_value(), 1 + VALUE)
    here = address(w)
    function(VALUE)                                      # no other reference to the second one exists
    assert address(w) == here
    np.testing.assert_allclose(w.get_value(), 1 + 2 * VALUE)


def test_a_referenced_value_stays_under_a_chain():
    variables, updates, expected = parts_of_all_kinds()
    function = phintys.function([x], updates=updates)
    for _ in range(2):                                   # with another reference to the value; without
        values, addresses = [variable.get_value() for variable in variables], [address(v) for v in variables]
        held = [variable.get_value(borrow=True) for variable in variables[:1]]
        function(VALUE)
        assert np.array_equal(held[0], values[0])
        del held
        assert [address(v) == before for v, before in zip(variables, addresses)] == [False, True]
        function(VALUE)
        addresses = [address(v) for v in variables]
        function(VALUE)
        assert [address(v) for v in variables] == addresses
        for _ in range(3):
            values = expected(*values, VALUE)
        for variable, value in zip(variables, values):
            np.testing.assert_allclose(variable.get_value(), value, rtol=1e-12)


def test_two_calls_of_a_chain_at_once_lose_nothing():
    total, k = phintys.shared(np.zeros(50_000), "total"), T.lvector("k")
    function = phintys.function([k], updates=[(total, T.inc_subtensor(T.inc_subtensor(total[k], 1.0)[:], 1.0))])
    threads = [threading.Thread(target=lambda: [function(np.arange(50_000)) for _ in range(20)]) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (total.get_value() == 120).all()


def test_a_lent_array_is_overwritten_only_without_other_references():
    mine = np.ones((SIZE, SIZE))
    w = phintys.shared(mine, borrow=True)
    function = phintys.function([x], updates=[(w, w + x)])
    function(VALUE)
    assert (mine == 1).all() and np.array_equal(w.get_value(), 1 + VALUE)
    v = phintys.shared(np.ones((SIZE, SIZE)), borrow=True)
    here = address(v)
    phintys.function([x], updates=[(v, v + x)])(VALUE)
    assert address(v) == here and np.array_equal(v.get_value(), 1 + VALUE)


def test_an_argument_that_is_the_parameters_own_memory():
    w = parameter("w", 3.0)
    function = phintys.function([x], updates=[(w, w - T.dot(x, x))])
    function(w.get_value(borrow=True))
    np.testing.assert_allclose(w.get_value(), 3.0 - 9.0 * SIZE)


class Fails(phintys.Op):
    """The identity, which fails at negative numbers."""

    __props__ = ()

    def make_node(self, value):
        return phintys.Apply(self, [value], [value.type()])

    def perform(self, node, inputs, output_storage):
        if (inputs[0] < 0).any():
            raise ArithmeticError("negative")
        output_storage[0][0] = inputs[0].copy()


def other_shape():
    """A commit kernel that finds shapes which do not fit, after another one that was prepared."""
    w, v = parameter("w"), parameter("v")
    return [w, v], phintys.function([x, y], x.sum(), updates=[(w, w + x), (v, v + y)]), (VALUE, VALUE[:2]), ValueError


def product_of_other_shape():
    w, v = parameter("w"), parameter("v")
    function = phintys.function([x, y], updates=[(w, w - T.dot(x, x)), (v, v - T.dot(y, y))])
    return [w, v], function, (VALUE, VALUE[:3, :3]), ValueError


def failing_op():
    w, v = parameter("w"), parameter("v")
    function = phintys.function([x, y], updates=[(w, w + x), (v, v + Fails()(y))])
    return [w, v], function, (VALUE, -VALUE), ArithmeticError


def bad_position():
    """The last step of a chain names a row that does not exist, after two steps and another update."""
    w, v = parameter("w"), parameter("v")
    n = T.lvector("n")
    new = T.inc_subtensor(T.set_subtensor((0.5 * w)[:1], x[:1])[n], 1.0)
    function = phintys.function([x, y, n], updates=[(v, v + x), (w, new)], on_unused_input="ignore")
    return [w, v], lambda x, y: function(x, y, [0, SIZE if (y < 0).any() else 1]), (
        VALUE, -VALUE), IndexError


def bad_place():
    """The same with an index that is a number."""
    w, k = parameter("w"), T.lscalar("k")
    function = phintys.function([x, k], updates=[(w, T.set_subtensor(T.inc_subtensor(w[0], x[0])[k], 0.0))])
    return [w], lambda x, y: function(x, SIZE if (y < 0).any() else 1), (VALUE, -VALUE), IndexError


@pytest.mark.parametrize("case", [other_shape, product_of_other_shape, failing_op, bad_position, bad_place])
def test_a_call_that_fails_changes_nothing(case):
    variables, function, arguments, error = case()
    before = [(address(variable), variable.get_value()) for variable in variables]
    for _ in range(2):
        with pytest.raises(error):
            function(*arguments)
    for variable, (here, value) in zip(variables, before):
        assert address(variable) == here and np.array_equal(variable.get_value(), value)
    function(VALUE, VALUE)
    for variable in variables:
        assert not np.array_equal(variable.get_value(), before[0][1])


def test_a_failing_call_gives_up_its_buffers():
    variables, function, arguments, error = other_shape()
    function(VALUE, VALUE)
    gc.collect()                                         # functions of other tests
    live = pool_statistics()["live_buffers"]
    for _ in range(3):
        with pytest.raises(error):
            function(*arguments)
    assert pool_statistics()["live_buffers"] == live


# ---- arguments that may be overwritten -------------------------------------------------------------------------------
def overwriting():
    a, b = T.matrices("a", "b")
    return phintys.function([In(a, mutable=True), b], [Out(T.exp(a), borrow=True), T.dot(b, b)])


def test_a_mutable_argument_becomes_the_result_that_is_borrowed():
    a = np.ones((4, 4))
    result, _ = overwriting()(a, np.eye(4))
    assert result is a and (a == np.e).all()


def readonly(a):
    a.flags.writeable = False
    return a, np.eye(4)


PROTECTED = {
    "read-only": readonly,
    "the same array twice": lambda a: (a, a),
    "overlapping views": lambda a: (a, a[::-1]),
    "transposed": lambda a: (a.T, np.eye(4)),
    "another dtype": lambda a: (a.astype("float32"), np.eye(4)),
    "a list": lambda a: (a.tolist(), np.eye(4)),
}


@pytest.mark.parametrize("kind", PROTECTED)
def test_a_mutable_argument_that_cannot_be_overwritten(kind):
    value = np.arange(16.0).reshape(4, 4)
    a, b = PROTECTED[kind](value.copy())
    before = np.array(a, float), np.array(b)
    first, second = overwriting()(a, b)
    np.testing.assert_allclose(first, np.exp(before[0]), rtol=1e-6)
    np.testing.assert_allclose(second, before[1].dot(before[1]))
    if kind != "transposed":
        np.testing.assert_array_equal(a, before[0])


def test_a_mutable_argument_that_a_shared_variable_looks_at():
    mine = np.ones((4, 4))
    s = phintys.shared(mine, borrow=True)
    overwriting()(mine, np.eye(4))
    assert (s.get_value() == 1).all() and (mine == 1).all()
    overwriting()(s.get_value(borrow=True), np.eye(4))
    assert (s.get_value() == 1).all()


def test_an_argument_is_overwritten_only_where_that_was_allowed():
    a = T.matrix("a")
    for permission in (dict(), dict(borrow=True)):
        mine = np.ones((4, 4))
        result = phintys.function([In(a, **permission)], T.exp(a))(mine)
        assert (mine == 1).all() and not np.shares_memory(result, mine)


def test_a_mutable_argument_in_fortran_order_becomes_the_result():
    a = T.matrix("a")
    exponential = phintys.function([In(a, mutable=True)], Out(T.exp(a), borrow=True))
    mine = np.zeros((40, 30), order="F")
    assert exponential(mine) is mine and (mine == 1).all()
    product = phintys.function([In(a, mutable=True)], Out(T.set_subtensor(a[0], 2.0), borrow=True))     # in C order
    result = product(mine)
    assert (result[0] == 2).all() and (result[1:] == 1).all()


def test_updates_keep_the_order_of_what_they_are_computed_from():
    w = phintys.shared(np.zeros((2, 2)), "w")
    store, grow = phintys.function([x], updates=[(w, x * 2)]), phintys.function([x], updates=[(w, w + x)])
    doubled = phintys.function([], w * 2)
    turned = np.asfortranarray(VALUE[:300])
    store(turned)
    assert w.get_value(borrow=True).flags.f_contiguous
    here = address(w)
    grow(turned)
    np.testing.assert_array_equal(w.get_value(), turned * 3)
    assert address(w) == here
    grow(VALUE[:300])                                    # in another order: into fresh memory
    np.testing.assert_array_equal(w.get_value(), turned * 4)
    np.testing.assert_array_equal(doubled(), turned * 8)
    w.set_value(turned)
    np.testing.assert_array_equal(doubled(), turned * 2)
    phintys.function([], updates=[(w, w[::2])])()
    np.testing.assert_array_equal(w.get_value(), turned[::2])


# ---- results that are lent -------------------------------------------------------------------------------------------
@phintys.config.change_flags(stress=False)         # which reuses nothing
def test_a_borrowed_result_is_written_again_and_any_other_is_not():
    big = np.ones((100, 100))
    lent = phintys.function([x], phintys.Out(x * 2, borrow=True))
    first = lent(big)
    assert lent(big * 2) is first and (first == 4).all()
    kept = phintys.function([x], x * 2)
    first = kept(big)
    kept(big * 2)
    assert (first == 2).all()


def test_a_borrowed_result_follows_the_order_of_its_argument():
    lent = phintys.function([x], phintys.Out(x * 2, borrow=True))
    for value in (VALUE, np.asfortranarray(VALUE), VALUE, VALUE.T):
        np.testing.assert_array_equal(lent(value), value * 2)


def test_a_borrowed_result_as_argument_of_the_same_function():
    lent = phintys.function([x], phintys.Out(T.dot(x, x), borrow=True))
    value = VALUE[:100, :100]
    result = lent(value)
    for _ in range(2):
        expected = result.copy().dot(result)
        result = lent(result)
        np.testing.assert_allclose(result, expected)


def test_a_borrowed_result_in_a_shared_variable():
    lent = phintys.function([x], phintys.Out(x * 2, borrow=True))
    s = phintys.shared(np.zeros((2, 2)))
    s.set_value(lent(VALUE), borrow=True)
    lent(VALUE * 3)
    np.testing.assert_array_equal(s.get_value(), VALUE * 2)
