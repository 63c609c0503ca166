"""What each mode keeps between calls: counted in requests to the pool, and in what it had to ask the system for."""
import numpy as np
import pytest

import phintys
import phintys.tensor as T
from phintys import Out
from phintys.vm.pool import pool_statistics

MODES = [True, False, "plan"]
SIZE = 60                                   # matrices of 28 KiB: too large for the frames' own lists
VALUE = np.random.RandomState(0).rand(SIZE, SIZE) / SIZE

x = T.matrix("x")


def plain():
    return [T.dot(T.exp(x), x).sum(axis=0)], {}


def large_results():
    return [T.dot(x, x), T.exp(x)], {}


def in_place():
    """Chains in which each value takes the memory of the one before."""
    return [T.tanh(T.dot(T.exp(T.dot(x, x)), x)) + 1, (T.sin(T.dot(x, x.T)) * 2).sum()], {}


def lent():
    return [Out(T.dot(x, x), borrow=True), T.dot(x, x.T)], {}


def lent_in_place():
    return [Out(T.tanh(T.dot(x, x)), borrow=True), Out(T.exp(T.dot(x, x.T) + 1), borrow=True)], {}


def views():
    return [T.dot(x[::-1], x)[1:].T, T.exp(x).reshape((SIZE * SIZE,))], {}


def updates():
    w, v = [phintys.shared(np.ones((SIZE, SIZE)), name) for name in "wv"]
    new = 0.5 * v + T.dot(x, w)
    return [new.sum()], {"updates": [(v, new), (w, w - 0.125 * new)]}


def swap():
    a, b = [phintys.shared(np.full((SIZE, SIZE), fill)) for fill in (1.0, 2.0)]
    return [a.sum() + T.dot(x, b)], {"updates": [(a, b + x), (b, a)]}


# How much large memory leaves the frame in a call: handed to the caller, or stored.
HANDED_OVER = {plain: 0, large_results: 2, in_place: 1, lent: 1, lent_in_place: 0, views: 2, updates: 1, swap: 2}
CASES = list(HANDED_OVER)


def compiled(case, allow_gc, **options):
    outputs, more = case()
    return phintys.function([x], outputs, mode=phintys.Mode(allow_gc=allow_gc), **more, **options)


@pytest.mark.parametrize("case", CASES)
def test_every_mode_computes_the_same(case):
    functions = [compiled(case, allow_gc) for allow_gc in MODES]
    for factor in (1, 1, 2, 3):
        first, *others = [function(VALUE * factor) for function in functions]
        for results in others:
            for one, other in zip(first, results):
                np.testing.assert_array_equal(one, other)


@pytest.mark.skipif(phintys.config.stress, reason="under stress nothing is kept")
@pytest.mark.parametrize("case", CASES)
def test_kept_buffers_serve_the_second_call(case):
    function = compiled(case, False)
    phintys.memory.trim()
    function(VALUE)                                         # the results are dropped
    before = pool_statistics()
    for _ in range(3):
        function(VALUE)
    after = pool_statistics()
    assert after["misses"] == before["misses"]
    assert after["requests"] - before["requests"] <= 3 * HANDED_OVER[case]


def rows_more(count):
    """Sizes that differ by less than an eighth, so that blocks fit values that they were not made for."""
    y = T.cumsum(x, axis=0)
    longer = T.join(0, y, y[:count])
    return T.join(0, T.exp(T.join(0, longer, x[:1])), longer[::-1])


@pytest.mark.skipif(phintys.config.stress, reason="under stress nothing is kept")
@pytest.mark.parametrize("output", [
    T.exp(-abs(x[:, ::-1])), rows_more(2), rows_more(3)[:-1] + 1, [T.exp(rows_more(1)), T.cumsum(x, axis=1)],
    Out(T.exp(rows_more(4) + 1), borrow=True), Out(T.exp(T.cumsum(x, 0)[::-1][::-1]), True),
    Out(T.tanh(T.exp(T.cumsum(x, 0).reshape((-1,))).dimshuffle("x", 0)), True),
    Out(T.cumsum(T.cumsum(T.dot(T.cumsum(x, 0), x), 0)[:, ::-1], 1), True)])
@pytest.mark.parametrize("size", [60, 300])
def test_the_second_call_finds_the_blocks_of_the_first(output, size):
    function = phintys.function([x], output, mode=phintys.Mode(allow_gc=False))
    value = np.random.RandomState(0).rand(size, size)
    expected = phintys.function([x], output)(value)
    phintys.memory.trim()
    function(value)
    misses = pool_statistics()["misses"]
    for _ in range(3):
        np.testing.assert_array_equal(function(value)[0], expected[0])
    assert pool_statistics()["misses"] == misses


@pytest.mark.skipif(phintys.config.stress, reason="under stress nothing is kept")
def test_temporaries_share_what_a_frame_keeps():
    value = x
    for _ in range(10):
        value = T.cumsum(value, axis=0)
    function = phintys.function([x], value.sum(), mode=phintys.Mode(allow_gc=False))
    for _ in range(2):
        function(VALUE)
    assert function.kept_bytes() < 3 * VALUE.nbytes


@pytest.mark.skipif(phintys.config.stress, reason="under stress nothing is kept")
def test_a_frame_keeps_no_more_than_the_pool_may():
    function = compiled(plain, False)
    limit = pool_statistics()["limit_bytes"]
    try:
        phintys.memory.set_limit(VALUE.nbytes + 8192)
        function(VALUE)
        assert function.kept_bytes() <= VALUE.nbytes + 8192 + 4096
    finally:
        phintys.memory.set_limit(limit)
    function.free()
    assert function.kept_bytes() == 0


@pytest.mark.skipif(phintys.config.stress, reason="under stress nothing is kept")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("allow_gc", [True, "plan"])
def test_what_the_pool_keeps_serves_later_calls(case, allow_gc):
    function = compiled(case, allow_gc)
    phintys.memory.trim()
    for _ in range(2):                                      # the second one lays out the arena
        function(VALUE)
    misses = pool_statistics()["misses"]
    for _ in range(3):
        function(VALUE)
    assert pool_statistics()["misses"] == misses


@pytest.mark.skipif(phintys.config.stress, reason="under stress nothing is kept")
@pytest.mark.parametrize("limit", [1 << 28, 0])
def test_gradients_of_layers_need_two_matrices_more_than_there_are_layers(limit):
    """The activations and gradients around a layer, and both products of that layer; 0: the pool keeps nothing."""
    weights = [T.matrix() for _ in range(5)]
    hidden, values = x, [VALUE] * 6
    for weight in weights:
        hidden = T.tanh(T.dot(hidden, weight))
    function = phintys.function([x, *weights], T.grad((hidden ** 2).sum(), weights), mode=phintys.Mode(allow_gc=True))
    before, slack = pool_statistics()["limit_bytes"], 8192
    try:
        phintys.memory.set_limit(limit)
        phintys.memory.trim()
        live = pool_statistics()["live_bytes"]
        for _ in range(3):
            phintys.memory.reset_peak()
            results = function(*values)
            held = pool_statistics()
            assert held["peak_bytes"] - live <= 1.07 * 7 * VALUE.nbytes + slack
            assert held["kept_bytes"] <= (1.07 * 2 * VALUE.nbytes + slack if limit else 0)
            assert len(results) == 5
            del results
        assert (pool_statistics()["kept_bytes"] >= 7 * VALUE.nbytes) == bool(limit)
    finally:
        phintys.memory.set_limit(before)


@pytest.mark.parametrize("allow_gc", MODES)
def test_results_that_the_caller_keeps_are_never_written_again(allow_gc):
    function = compiled(in_place, allow_gc)
    kept = [function(VALUE * factor) for factor in (1, 2, 3, 3)]
    for factor, (matrix, total) in zip((1, 2, 3, 3), kept):
        argument = VALUE * factor
        np.testing.assert_allclose(matrix, np.tanh(np.exp(argument.dot(argument)).dot(argument)) + 1)
        np.testing.assert_allclose(total, (np.sin(argument.dot(argument.T)) * 2).sum())


@pytest.mark.parametrize("allow_gc", MODES)
def test_a_lent_result_with_other_references_is_not_overwritten(allow_gc):
    function = compiled(lent_in_place, allow_gc)
    first, _ = function(VALUE)
    view, copy = first[1:], np.array(first)
    function(VALUE * 2)
    np.testing.assert_array_equal(first, copy)
    np.testing.assert_array_equal(view, copy[1:])


class Quarter(phintys.Op):
    """Adds 0.25 in its input's memory."""

    __props__ = ()
    destroy_map = {0: [0]}

    def make_node(self, value):
        return phintys.Apply(self, [value], [value.type()])

    def perform(self, node, inputs, output_storage):
        inputs[0] += 0.25
        output_storage[0][0] = inputs[0]


@pytest.mark.parametrize("allow_gc", MODES)
@pytest.mark.parametrize("size", [5, 20, 60])
def test_a_lent_result_of_perform_is_not_overwritten_while_referenced(size, allow_gc):
    function = phintys.function([x], Out(Quarter()(T.exp(x)), borrow=True), mode=phintys.Mode(allow_gc=allow_gc),
                                accept_inplace=True)
    kept = []
    for factor in range(9):
        result = function(VALUE[:size, :size] * factor)
        if factor % 3 == 2:
            kept.append((result, result[...], result.copy()))
        del result
        for value, _, copy in kept:
            np.testing.assert_array_equal(value, copy)


@pytest.mark.parametrize("allow_gc", MODES)
@pytest.mark.parametrize("size", [5, 20, 60])
def test_what_perform_has_kept_is_never_written_again(size, allow_gc):
    """Not even where it was lent as a result, too, or overwritten by one."""
    class Keep(phintys.Op):
        __props__ = ()
        kept = []

        def make_node(self, value):
            return phintys.Apply(self, [value], [T.dscalar()])

        def perform(self, node, inputs, output_storage):
            self.kept.append((inputs[0], inputs[0].copy()))
            output_storage[0][0] = inputs[0].sum()

    first, second = T.exp(x), T.cumsum(x, 0)
    outputs = [Out(first, borrow=True), Keep()(first), Keep()(second), Out(T.tanh(second), borrow=True)]
    function = phintys.function([x], outputs, mode=phintys.Mode(allow_gc=allow_gc))
    for factor in range(6):
        function(VALUE[:size, :size] * factor)
        for value, copy in Keep.kept:
            np.testing.assert_array_equal(value, copy)


@pytest.mark.skipif(phintys.config.stress, reason="under stress nothing is reused")
@pytest.mark.parametrize("allow_gc", MODES)
def test_a_lent_result_is_written_again(allow_gc):
    function = compiled(lent_in_place, allow_gc)
    first, second = function(VALUE)
    again, other = function(VALUE * 2)
    assert again is first and other is second
    np.testing.assert_allclose(first, np.tanh(VALUE.dot(VALUE) * 4))


@pytest.mark.parametrize("allow_gc", MODES)
@pytest.mark.parametrize("size", [300, 20000])
def test_results_hold_no_more_memory_than_they_need(allow_gc, size):
    v = T.vector()
    y = T.exp(v)
    function = phintys.function([v], [T.tanh(y), y[:size // 4], y + 1], mode=phintys.Mode(allow_gc=allow_gc))
    for length in (size, size, size // 2, size // 2, size):
        argument = np.linspace(0, 1, length)
        phintys.memory.trim()
        before = pool_statistics()["live_bytes"]
        results = function(argument)
        phintys.memory.trim()                               # what is left is what the results hold
        needed = sum([result.nbytes for result in results])
        assert pool_statistics()["live_bytes"] - before <= 2 * needed + 3 * 4096


@pytest.mark.parametrize("allow_gc", MODES)
def test_kept_memory_is_given_back(allow_gc):
    function = compiled(in_place, allow_gc)
    phintys.memory.trim()
    live = pool_statistics()["live_buffers"]
    keeps = allow_gc == "plan" or (allow_gc is False and not phintys.config.stress)     # stress spares arenas only
    for give_up in (function.free, phintys.memory.trim):
        for _ in range(2):
            function(VALUE)
        assert (function.kept_bytes() >= VALUE.nbytes) == keeps
        give_up()
        assert function.kept_bytes() == 0
        assert pool_statistics()["live_buffers"] == live
    matrix, _ = function(VALUE)
    np.testing.assert_allclose(matrix, np.tanh(np.exp(VALUE.dot(VALUE)).dot(VALUE)) + 1)


def recursive():
    """A function that calls itself, and so needs as many frames as its argument has rows."""
    class Again(phintys.Op):
        __props__ = ()

        def make_node(self, value):
            return phintys.Apply(self, [value], [value.type()])

        def perform(self, node, inputs, output_storage):
            output_storage[0][0] = function(inputs[0][1:]) if len(inputs[0]) > 1 else inputs[0] * 1

    function = phintys.function([x], Again()(T.exp(x)), mode=phintys.Mode(allow_gc=False))
    return function


@phintys.config.change_flags(stress=False)         # which keeps nothing
def test_how_many_frames_are_kept_is_a_flag():
    function, kept = recursive(), []
    for frames in (0, 1, 3, 5, 9):
        with phintys.change_flags(kept_frames=frames):
            function.free()
            assert function.kept_bytes() == 0
            assert function(np.zeros((5, 5000))).shape == (1, 5000)
            kept.append(function.kept_bytes())
    # The innermost call ends first; each keeps the exponentials of its rows.
    for bytes_, rows in zip(kept, (0, 1, 1 + 2 + 3, 15, 15)):
        assert rows * 40000 <= bytes_ <= rows * 40000 * 9 / 8 + 9 * 4096
