"""Kernels that are bound to layouts compute what kernels that are prepared in each call compute, whatever changes.

During an epoch of a frame each cell has one layout; whatever finds another one must begin the next epoch. The tests of
single writers call a function until its kernels are bound, change the layout in one way, and look at the next results.
"""
import threading

import numpy as np
import pytest
from random_layouts import Trim, run_session

import phintys
import phintys.tensor as T
from phintys import In, Out, function, shared
from phintys.ifelse import ifelse


@pytest.mark.parametrize("first", range(0, 120, 20))
def test_sessions(first):
    calls = failures = 0
    for seed in range(first, first + 20):
        called, failed = run_session(seed)
        calls, failures = calls + called, failures + failed
    assert calls > 100 and failures < calls


def layouts_of(value):
    """The same numbers in other layouts, which a kernel that is bound to the first one would misread."""
    yield value
    yield np.asfortranarray(value)
    yield np.flip(np.flip(value).copy())
    yield np.repeat(value, 2, axis=-1)[..., ::2]
    yield value[:-1]
    yield value[:0]
    yield np.concatenate([value, value])
    yield np.broadcast_to(value.flat[0], value.shape)


def matrices(rows=4, columns=3):
    return list(layouts_of(np.arange(float(rows * columns)).reshape(rows, columns)))


def sequence(values):
    """A A A B A B B B A ...: each value often enough to be bound, and after each other."""
    for value in values:
        for other in values:
            yield from [value, value, value, other, other, value]


# ---- one writer of layouts each --------------------------------------------------------------------------------------
def test_arguments():
    x = T.dmatrix()
    f = function([x], [T.exp(x) * 2, x.sum(axis=0), x.T.flatten()])
    for value in sequence(matrices()):
        results = f(value)
        np.testing.assert_allclose(results[0], np.exp(value) * 2)
        np.testing.assert_allclose(results[1], value.sum(axis=0))
        np.testing.assert_array_equal(results[2], value.T.ravel())


def test_arguments_that_are_converted():
    x, y = T.dmatrix(), T.dvector()
    f = function([x, y], T.exp(x) + y.sum())
    for value in sequence([np.ones((4, 3), "int8"), [[1, 2, 3]], np.ones((3, 2), "float32").T, np.zeros((5, 3))]):
        np.testing.assert_allclose(f(value, [1, 2, 3]), np.exp(np.asarray(value, float)) + 6)


@pytest.mark.parametrize("access", [{"mutable": True}, {"borrow": True}])
def test_arguments_that_are_held(access):
    x = T.dmatrix()
    f = function([In(x, **access)], [Out(T.inc_subtensor(x[1:], 1), borrow=True), Out(x.sum(axis=1), borrow=True)])
    for value in sequence(matrices()):
        given, expected = make_alike(value), value.copy()
        expected[1:] += 1
        results = f(given)
        np.testing.assert_array_equal(results[0], expected)
        np.testing.assert_allclose(results[1], value.sum(axis=1))


def make_alike(value):
    """A writeable copy with the strides of the value, or a read-only view where elements share memory."""
    if value.size and not all(value.strides):
        return value
    copied = np.empty_like(value)
    copied[...] = value
    return copied


def test_arguments_that_are_copied_before_they_are_overwritten():
    """The copies are in C order. A read-only argument is copied, and one that overlaps another argument."""
    x, y = T.dmatrix(), T.dmatrix()
    f = function([In(x, mutable=True), y], [T.inc_subtensor(x[::2], 1), y.sum(axis=0), T.exp(x.T)])
    base = np.arange(24.0).reshape(6, 4)

    def turned(writeable=True):
        value = np.asfortranarray(base)
        value.flags.writeable = writeable
        return value

    expected, other = base.copy(), turned()
    expected[::2] += 1
    for turn in range(3):
        for make in [lambda: (turned(), other), lambda: (turned(False), other), lambda: (base.copy(), other),
                     lambda: (turned(), other), lambda: (turned(),) * 2, lambda: (turned()[:, ::-1][:, ::-1], other)]:
            for _ in range(4):
                first, second = make()
                if second is first:
                    second = first[:]
                results = f(first, second)
                np.testing.assert_array_equal(results[0], expected)
                np.testing.assert_array_equal(results[1], base.sum(axis=0))
                np.testing.assert_allclose(results[2], np.exp(base.T))


def test_shared_variables():
    n = shared(np.ones((4, 3)))
    f = function([], [n.sum(axis=0), T.exp(n)])
    for value in sequence(matrices()):
        n.set_value(value, borrow=True)
        results = f()
        np.testing.assert_allclose(results[0], value.sum(axis=0))
        np.testing.assert_allclose(results[1], np.exp(value))


def test_updates_that_change_shapes():
    n = shared(np.ones((2, 3)))
    f = function([], [n.sum(axis=0), T.exp(-n)], updates={n: T.join(0, n, n[:1] * 2).T[:, ::-1].T[:5]})
    for turn in range(3):
        n.set_value(np.ones((2, 3)))
        expected = np.ones((2, 3))
        for _ in range(7):
            results = f()
            np.testing.assert_allclose(results[0], expected.sum(axis=0))
            np.testing.assert_allclose(results[1], np.exp(-expected))
            expected = np.concatenate([expected, expected[:1] * 2])[::-1][:5]


@pytest.mark.parametrize("computed, opcode", [(True, "MOVE"), (False, "ALIAS")])
def test_branches_with_values_of_several_layouts(computed, opcode):
    x, y, c = T.dmatrix(), T.dmatrix(), T.lscalar()
    chosen = ifelse(c > 0, T.exp(x).T, ifelse(c < 0, y * 2, x[:, ::-1])) if computed else ifelse(c > 0, x, y)
    f = function([x, y, c], [T.exp(-chosen), chosen.sum(axis=0), x + 1, y + 1])
    assert opcode in str(f.explain("instructions"))
    first, second = np.arange(12.0).reshape(4, 3), np.asfortranarray(np.arange(6.0).reshape(2, 3))
    for condition in sequence([1, -1, 0] if computed else [1, 0]):
        wanted = ([first[:, ::-1], np.exp(first).T, second * 2] if computed else [second, first])[condition]
        results = f(first, second, condition)
        np.testing.assert_allclose(results[0], np.exp(-wanted))
        np.testing.assert_allclose(results[1], wanted.sum(axis=0))


def test_branches_that_copy_to_one_value():
    """Only the condition changes, and with it the length; what the unoptimized branches read is copied."""
    x, y, c = T.dvector(), T.dvector(), T.lscalar()
    chosen = ifelse(c, x, y)
    f = function([x, y, c], [chosen * 2, chosen.sum(), T.alloc(1.0, chosen.shape[0])], mode="FAST_COMPILE")
    assert "COPY" in str(f.explain("instructions"))
    first, second = np.arange(4.0), np.arange(7.0)
    for condition in sequence([1, 0]):
        wanted = first if condition else second
        doubled, total, ones = f(first, second, condition)
        np.testing.assert_array_equal(doubled, 2 * wanted)
        assert total == wanted.sum() and ones.shape == wanted.shape


def test_values_that_stay_in_their_owner():
    """A shared variable gets a view of itself or a copy in another order, by turns."""
    n, x = shared(np.arange(12.0).reshape(4, 3)), T.dmatrix()
    f = function([x], [n.sum(axis=0), (n * 2).T], updates={n: x.T})
    wanted = n.get_value()
    for value in sequence(matrices(3, 4)[:4]):
        results = f(value)
        np.testing.assert_allclose(results[0], wanted.sum(axis=0))
        np.testing.assert_allclose(results[1], (wanted * 2).T)
        wanted = value.T.copy()


def test_ops_with_perform():
    x, k = T.dmatrix(), T.lscalar()
    for kind in ("rows", "order", "turned"):
        y = Trim(kind)(x, k)
        f = function([x, k], [y.sum(axis=1), T.exp(y)])
        value = np.arange(12.0).reshape(4, 3)
        for count in sequence([1, 2, 3, 0]):
            expected = value[:count] if kind == "rows" else value[::-1] if kind == "turned" and count % 2 else value
            results = f(value, count)
            np.testing.assert_allclose(results[0], expected.sum(axis=1))
            np.testing.assert_allclose(results[1], np.exp(expected))


def test_a_value_that_perform_replaces_is_loaded_again():
    n = shared(np.ones((4, 3)))

    class Replace(phintys.Op):
        def make_node(self, x):
            return phintys.Apply(self, [x], [x.type()])

        def perform(self, node, inputs, output_storage):
            output_storage[0][0] = inputs[0].copy()
            if inputs[0] > 0:
                n.set_value(np.asfortranarray(np.full((int(inputs[0]), 3), 2.0)), borrow=True)

    x = T.dscalar()
    f = function([x], [], updates={n: T.exp(n * 0) + Replace()(x)})
    for count in [0, 0, 0, 5, 0, 0, 2, 2, 2, 0]:
        n.set_value(np.ones((4, 3)))
        f(float(count))
        expected = np.full((count or 4, 3), 1.0 + count)
        np.testing.assert_array_equal(n.get_value(), expected)


EXAMINED = {
    "reshape": (lambda x, k: x.reshape((k, -1)), lambda x, k: x.reshape((k, -1)), [1, 2, 3, 4]),
    "alloc": (lambda x, k: T.alloc(x[0, 0], k, 3), lambda x, k: np.full((k, 3), x[0, 0]), [1, 2, 0, 5]),
    "arange": (lambda x, k: T.arange(k).dimshuffle("x", 0) * x.sum(),
               lambda x, k: np.arange(k)[None] * x.sum(), [1, 2, 0, 5]),
    "slice": (lambda x, k: x[k:, ::-1], lambda x, k: x[k:, ::-1], [0, 1, 3, -1]),
    "step": (lambda x, k: x[::k], lambda x, k: x[::k], [1, -1, 2]),
    "join": (lambda x, k: T.join(k, x, x), lambda x, k: np.concatenate([x, x], k), [0, 1, -1]),
    "repeat": (lambda x, k: T.repeat(x, k, axis=0), lambda x, k: np.repeat(x, k, axis=0), [1, 2, 0, 3]),
    "split": (lambda x, k: T.split(x, T.stack([k, 4 - k]), 2)[1], lambda x, k: x[k:], [0, 1, 3]),
    "tile": (lambda x, k: T.tile(x, T.stack([k, 1]), ndim=2), lambda x, k: np.tile(x, (k, 1)), [1, 2, 3]),
    "eye": (lambda x, k: T.eye(k) + x[0, 0], lambda x, k: np.eye(k) + x[0, 0], [1, 2, 3]),
    "nonzero": (lambda x, k: x[(x > k).nonzero()].reshape((1, -1)), lambda x, k: x[x > k].reshape(1, -1), [0, 3, 9]),
    "rows": (lambda x, k: x[T.arange(k)], lambda x, k: x[np.arange(k)], [0, 1, 3]),
}


@pytest.mark.parametrize("name", EXAMINED)
def test_kernels_that_examine_values(name):
    symbolic, numeric, numbers = EXAMINED[name]
    x, k = T.dmatrix(), T.lscalar()
    y = symbolic(x, k)
    f = function([x, k], [T.exp(-y), y.sum(axis=0), (y + 1).T])
    value = np.arange(12.0).reshape(4, 3)
    for number in sequence(numbers):
        wanted = numeric(value, number)
        for result, expected in zip(f(value, number), [np.exp(-wanted), wanted.sum(axis=0), (wanted + 1).T]):
            np.testing.assert_allclose(result, expected)


@pytest.mark.parametrize("allow_gc", [True, False, "plan"])
def test_plans(allow_gc):
    x = T.dmatrix()
    y = T.dot(T.tanh(x), T.ones_like(x).T)
    with phintys.config.change_flags(allow_gc=allow_gc):
        f = function([x], [T.exp(-abs(y)).sum(axis=0), y.T.flatten()])
    random = np.random.default_rng(0)
    for value in sequence([random.normal(size=shape) for shape in [(40, 30), (30, 40), (3, 2), (0, 3)]]):
        wanted = np.tanh(value).dot(np.ones_like(value).T)
        results = f(value)
        np.testing.assert_allclose(results[0], np.exp(-abs(wanted)).sum(axis=0), rtol=1e-6)
        np.testing.assert_allclose(results[1], wanted.T.ravel())


def test_calls_that_fail_midway():
    """A kernel that fails has left shapes that belong to no value."""
    x, y, k = T.dmatrix(), T.dmatrix(), T.lscalar()
    z = T.specify_shape(x[k:] * 2, T.stack([k, 3]))
    f = function([x, y, k], [T.exp(-z), T.dot(x, y), (z + 1).sum(axis=0)])
    value, other = np.arange(12.0).reshape(4, 3), np.ones((3, 2))
    for turn in range(3):
        for _ in range(3):
            results = f(value, other, 2)
            np.testing.assert_allclose(results[0], np.exp(-value[2:] * 2))
            np.testing.assert_allclose(results[1], value.dot(other))
        for bad in [(value[:3], other, 2), (value, other.T.copy(), 2), (value, other, 1)][:turn + 1]:
            with pytest.raises((AssertionError, ValueError)):
                f(*bad)


def test_the_memory_of_a_function_is_given_up_in_between():
    x = T.dmatrix()
    f = function([x], T.repeat(T.exp(x.T), 2, axis=0).sum(axis=0))
    value = np.random.default_rng(0).normal(size=(30, 40))
    for turn in range(12):
        if turn % 4 == 3:
            f.free()
        np.testing.assert_allclose(f(value), np.repeat(np.exp(value.T), 2, axis=0).sum(axis=0))


def test_groups_of_kernels():
    """Kernels that may run side by side give their results layouts, too."""
    x, k = T.dmatrix(), T.lscalar()
    with phintys.config.change_flags(workers=2):
        f = function([x, k], [T.exp(-T.join(k, x, x * 2)), T.exp(-T.join(k, x, x + 2)), T.join(0, x, x)])
    value = np.random.default_rng(0).normal(size=(300, 400))
    for number in sequence([0, 1]):
        results = f(value, number)
        np.testing.assert_allclose(results[0], np.exp(-np.concatenate([value, value * 2], number)))
        np.testing.assert_allclose(results[1], np.exp(-np.concatenate([value, value + 2], number)))


def test_two_threads_in_one_function():
    x, k = T.dmatrix(), T.lscalar()
    y = T.repeat(x[:k], 2, axis=0)
    f = function([x, k], [T.exp(-y), y.sum(axis=0), T.dot(y, x.T)])
    anew = function([x, k], [T.exp(-y), y.sum(axis=0), T.dot(y, x.T)])
    calls = [(value, number) for value in matrices()[:6] for number in (1, 3) if len(value)] * 6
    expected = []
    for call in calls:
        anew.free()
        expected.append([result.tobytes() for result in anew(*call)])
    wrong = []

    def work(step):
        for turn in range(5):
            for position in range(0, len(calls), step):
                results = [result.tobytes() for result in f(*calls[position])]
                if results != expected[position]:
                    wrong.append(position)

    threads = [threading.Thread(target=work, args=(step,)) for step in (1, 1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
