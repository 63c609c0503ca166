"""Whose memory results and stored updates are: nothing handed out is ever changed by a later call."""
import gc
import weakref

import numpy as np
import pytest

import phintys
import phintys.tensor as T
from phintys.vm.pool import pool_statistics

MODES = ["FAST_RUN", "FAST_COMPILE", "DebugMode"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", [1, 3, 100, 1000, 40000])
def test_results_survive_later_calls(mode, size):
    x = T.vector()
    f = phintys.function([x], [x * 2, x + 1], mode=mode)
    calls = [f(np.full(size, float(k))) for k in range(4)]
    for k, (doubled, increased) in enumerate(calls):
        np.testing.assert_array_equal(doubled, np.full(size, 2.0 * k))
        np.testing.assert_array_equal(increased, np.full(size, k + 1.0))


def test_rank_0_results_survive_later_calls():
    x = T.scalar()
    f = phintys.function([x], x + 1)
    results = [f(k) for k in range(5)]
    assert [float(result) for result in results] == [1, 2, 3, 4, 5]
    assert all(type(result) is np.ndarray and result.ndim == 0 for result in results)


@pytest.mark.parametrize("change", [
    lambda result: result.flags.__setattr__("writeable", False),
    lambda result: setattr(result, "shape", (1,)) if not hasattr(result, "_set_shape") else result._set_shape((1,)),
    lambda result: result.fill(7),
], ids=["read-only", "reshaped", "overwritten"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_changed_and_dropped_result_does_not_come_back(change):
    x = T.scalar()
    f = phintys.function([x], x + 1)
    result = f(1)
    change(result)
    del result
    again = f(2)
    assert again.shape == () and again.flags.writeable and float(again) == 3


def test_a_weakly_referenced_result_is_not_taken_again():
    x = T.scalar()
    f = phintys.function([x], x + 1)
    result = f(1)
    reference = weakref.ref(result)
    del result
    other = f(5)
    assert reference() is None or (reference() is not other and float(reference()) == 2)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", [1, 5, 5000])
def test_results_never_alias(mode, size):
    x = T.vector("x")
    s = phintys.shared(np.arange(float(size)), "s")
    y = x + 1
    f = phintys.function([x], [y, y, x, s, y[::-1], s * 1], mode=mode)
    argument = np.arange(float(size))
    results = f(argument)
    expected = [argument + 1, argument + 1, argument, argument, (argument + 1)[::-1], argument]
    for result, value in zip(results, expected):
        np.testing.assert_array_equal(result, value)
    for i, result in enumerate(results):
        for other in results[i + 1:] + [argument, s.get_value(borrow=True)]:
            assert not np.shares_memory(result, other)


@pytest.mark.parametrize("mode", MODES)
def test_stored_updates_never_alias_results_or_arguments(mode):
    x = T.vector("x")
    s, t, u = (phintys.shared(np.zeros(3000), name) for name in "stu")
    y = x * 2
    f = phintys.function([x], [y, x], updates=[(s, y), (t, x), (u, y)], mode=mode)
    argument = np.ones(3000)
    result, same = f(argument)
    result[:] = same[:] = argument[:] = -1
    np.testing.assert_array_equal(s.get_value(), np.full(3000, 2.0))
    np.testing.assert_array_equal(t.get_value(), np.ones(3000))
    s.set_value(np.zeros(3000))
    np.testing.assert_array_equal(u.get_value(), np.full(3000, 2.0))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(), (4,), (70, 50)])
def test_updates_read_old_values(mode, shape):
    a, b = phintys.shared(np.full(shape, 1.0), "a"), phintys.shared(np.full(shape, 2.0), "b")
    swap = phintys.function([], [a, b], updates=[(a, b), (b, a)], mode=mode)
    for old in [(1, 2), (2, 1), (1, 2)]:
        first, second = swap()
        np.testing.assert_array_equal(first, np.full(shape, old[0]))
        np.testing.assert_array_equal(second, np.full(shape, old[1]))


def test_a_view_is_stored_as_memory_of_its_own():
    x = T.matrix()
    s = phintys.shared(np.zeros((2, 3)))
    f = phintys.function([x], (x + 1).T, updates=[(s, (x + 1))])
    result = f(np.arange(6.0).reshape(2, 3))
    result[:] = 0
    np.testing.assert_array_equal(s.get_value(), np.arange(6.0).reshape(2, 3) + 1)


@pytest.mark.parametrize("allow_gc", [True, False])
def test_buffers_do_not_leak(allow_gc):
    x = T.matrix()
    s = phintys.shared(np.ones((60, 60)))
    with phintys.change_flags(allow_gc=allow_gc):
        f = phintys.function([x], [T.dot(x, s) + 1, T.exp(x).sum()], updates=[(s, s * 1.5 - x)])
    value = np.ones((60, 60))
    for _ in range(3):
        f(value)
    live = pool_statistics()["live_buffers"]
    for _ in range(50):
        f(value)
    assert pool_statistics()["live_buffers"] == live
    del f, s
    gc.collect()


def test_arrays_outlive_the_function():
    x = T.vector()
    f = phintys.function([x], x + 1)
    result = f(np.zeros(100000))
    del f, x
    gc.collect()
    assert result.sum() == 100000


@phintys.config.change_flags(stress=False)         # which keeps nothing
def test_a_large_result_that_is_dropped_gives_its_memory_to_the_next_call():
    x = T.vector()
    f = phintys.function([x], x + 1)
    value = np.zeros(500000)
    for _ in range(2):
        f(value)
    misses = pool_statistics()["misses"]
    for _ in range(5):
        f(value)
    assert pool_statistics()["misses"] == misses


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("mode", MODES)
def test_views_of_views_of_values_inside_cells(mode, size):
    value = np.arange(float(size))
    a, b, c = [phintys.shared(value + number) for number in range(3)]
    once = a[::-1]
    f = phintys.function([], [once, once[::-1]], updates=[(b, once), (c, once[::-1]), (a, a + 1)], mode=mode)
    for step in range(2):
        first, second = f()
        for got, expected in [(first, value[::-1]), (second, value), (b.get_value(), value[::-1]),
                              (c.get_value(), value)]:
            np.testing.assert_array_equal(got, expected + step)
