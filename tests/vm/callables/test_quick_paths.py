"""The quick paths of calls: each takes what most calls are made of, and must leave all else to the general path.

A quick path is reached from the third call of equal layouts on. So each test calls a function a few times first, in
each mode, and then does one thing that the quick path must notice.
"""
import gc
import sys
import threading
import weakref

import numpy as np
import pytest

import phintys
import phintys.tensor as T
from phintys import In, Out, shared
from phintys.graph.type import generic
from phintys.ifelse import ifelse

MODES = [True, False, "plan"]
in_each_mode = pytest.mark.parametrize("allow_gc", MODES)
# Numbers of float64: inside a cell, of one and of two lines, the longest small block, and longer.
in_each_size = pytest.mark.parametrize("size", [1, 3, 8, 9, 512, 513])

x, y = T.dvectors("x", "y")
matrix = T.dmatrix("matrix")


class Kept(phintys.Op):
    """Its input; what ``perform`` is given is kept."""

    __props__ = ()

    def __init__(self):
        self.arrays = []

    def make_node(self, value):
        return phintys.Apply(self, [value], [value.type()])

    def perform(self, node, inputs, output_storage):
        self.arrays.append(inputs[0])
        output_storage[0][0] = inputs[0].copy()


class Called(phintys.Op):
    """A function of one input, in a list."""

    __props__ = ()

    def __init__(self, functions):
        self.functions = functions

    def make_node(self, value):
        return phintys.Apply(self, [value], [value.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = np.array(self.functions[0](inputs[0].copy()))


def compiled(inputs, outputs, allow_gc, **options):
    return phintys.function(inputs, outputs, mode=phintys.Mode(allow_gc=allow_gc), **options)


def numbers(size, seed=0):
    return np.random.default_rng(seed).random(size)


def swapped(size):
    """A product by this matrix, which nothing is fused with, reverses a vector."""
    return np.eye(size)[::-1].copy()


# ---- memory of values (quick_memory.pxd) -----------------------------------------------------------------------------
@in_each_mode
@in_each_size
def test_memory_that_others_refer_to_is_not_taken(allow_gc, size):
    """A value that ``perform`` keeps, of which the last reader in the program could take the memory."""
    kept = Kept()
    product = T.dot(matrix, x)
    held = kept(product)
    f = compiled([matrix, x], T.tanh(product) + T.dot(matrix, held), allow_gc)
    exchange, expected = swapped(size), []
    for seed in range(6):
        value = numbers(size, seed)
        np.testing.assert_allclose(f(exchange, value), np.tanh(value[::-1]) + value, rtol=1e-14)
        expected.append(value[::-1])
    for array, value in zip(kept.arrays, expected):
        np.testing.assert_array_equal(array, value)


@in_each_mode
@in_each_size
def test_memory_that_others_refer_to_is_not_given_out_when_it_is_dropped(allow_gc, size):
    kept = Kept()
    value = T.dot(matrix, kept(T.dot(matrix, x)))               # the inner product is dropped after the call of the op
    for _ in range(4):
        value = T.dot(matrix, value)
    f = compiled([matrix, x], value, allow_gc)
    expected = []
    for seed in range(6):
        f(swapped(size), numbers(size, seed))
        expected.append(numbers(size, seed)[::-1])
        for array, before in zip(kept.arrays, expected):
            np.testing.assert_array_equal(array, before)


@in_each_mode
@in_each_size
def test_a_donor_of_another_layout_gives_no_memory(allow_gc, size):
    """tanh could work in place of a view; the view has other strides than the result."""
    views = [T.dot(matrix, x)[::-1], T.dot(matrix, x)[::2], T.outer(T.dot(matrix, x), x).T]
    for view in views:
        f = compiled([matrix, x], [T.tanh(view), T.dot(matrix, x).sum()], allow_gc)
        for seed in range(5):
            value = numbers(size, seed)
            turned = value[::-1]
            expected = [value, turned[::2], np.outer(turned, value).T][views.index(view)]
            np.testing.assert_allclose(f(swapped(size), value)[0], np.tanh(expected), rtol=1e-14)


@in_each_mode
def test_lengths_that_change_between_calls(allow_gc):
    """A bound kernel's memory fits the layout that it was bound to."""
    value = x
    for _ in range(4):
        value = T.tanh(T.dot(matrix, value))
    f = compiled([matrix, x], [value, T.dot(matrix, x)], allow_gc)
    for size in [3, 3, 3, 3, 700, 700, 700, 700, 2, 2, 2, 1, 1, 1, 3, 3, 700, 0, 0, 0, 3]:
        given, expected = numbers(size, size), numbers(size, size)
        for _ in range(4):
            expected = np.tanh(expected[::-1])
        results = f(swapped(size), given)
        np.testing.assert_allclose(results[0], expected, rtol=1e-14)
        np.testing.assert_array_equal(results[1], given[::-1])


@in_each_mode
@in_each_size
def test_an_exception_between_calls(allow_gc, size):
    """What a call that fails had computed neither stays nor spoils the memory of the next call."""
    total = shared(np.zeros(size))
    value = T.tanh(T.dot(matrix, x))
    f = compiled([matrix, x, y], T.tanh(T.dot(matrix, value)) * y, allow_gc, updates=[(total, total + value)])
    expected = np.zeros(size)
    for seed in range(12):
        given = numbers(size, seed)
        if seed % 4 == 3:
            with pytest.raises(ValueError, match="mis-match"):
                f(swapped(size), given, np.ones(size + 2))
        else:
            result = f(swapped(size), given, np.ones(size))
            expected += np.tanh(given[::-1])
            np.testing.assert_allclose(result, np.tanh(np.tanh(given)), rtol=1e-14)
        np.testing.assert_allclose(total.get_value(), expected, rtol=1e-14)


@in_each_mode
def test_blocks_of_all_sizes_in_one_call(allow_gc):
    """Small blocks are in lists by size; a value never gets a block that is too short, or one that is in use."""
    lengths = [1, 2, 3, 7, 8, 9, 16, 17, 100, 511, 512, 513, 520, 1500]
    products = [T.dot(matrix[:n, :n], x[:n]) for n in lengths]
    f = compiled([matrix, x], [T.tanh(product) for product in products] + products[::-1], allow_gc)
    for seed in range(5):
        value = numbers(1500, seed)
        results = f(np.eye(1500) * 2, value)
        for result, n in zip(results, lengths):
            np.testing.assert_allclose(result, np.tanh(2 * value[:n]), rtol=1e-14)
        for result, n in zip(results[::-1], lengths):
            np.testing.assert_array_equal(result, 2 * value[:n])


class Thing(list):
    """A list to which there can be a weak reference."""


class MakeThing(phintys.Op):
    """A list of the elements."""

    __props__ = ()

    def __init__(self):
        self.made = []

    def make_node(self, value):
        return phintys.Apply(self, [value], [generic()])

    def perform(self, node, inputs, output_storage):
        thing = output_storage[0][0] = Thing(inputs[0])
        self.made.append(weakref.ref(thing))


class SumOfThing(phintys.Op):
    __props__ = ()

    def make_node(self, thing):
        return phintys.Apply(self, [thing], [T.dscalar()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = np.array(float(sum(inputs[0])))


@pytest.mark.parametrize("allow_gc", [True, "plan"])
def test_objects_are_dropped(allow_gc):
    """An object has no buffer, but a reference to give up."""
    make = MakeThing()
    f = compiled([x], SumOfThing()(make(x)) + 1, allow_gc)
    for _ in range(5):
        assert f(np.ones(3)) == 4
    gc.collect(0)
    assert [alive() for alive in make.made] == [None] * 5


# ---- results ---------------------------------------------------------------------------------------------------------
@in_each_mode
@in_each_size
@pytest.mark.parametrize("rank", [0, 1])
def test_results_that_the_caller_keeps(allow_gc, size, rank):
    """Small results are computed into arrays of earlier calls, but not into those that are still referred to."""
    value = T.tanh(T.dot(matrix, x))
    f = compiled([matrix, x], [value if rank else value.sum(), value if rank else value.max()], allow_gc)
    given = [numbers(size, seed) for seed in range(8)]
    results = [f(swapped(size), one) for one in given]
    for (first, second), one in zip(results, given):
        expected = np.tanh(one[::-1])
        np.testing.assert_allclose(first, expected if rank else expected.sum(), rtol=1e-13)
        np.testing.assert_allclose(second, expected if rank else expected.max(), rtol=1e-13)


@in_each_mode
@in_each_size
def test_an_output_that_is_returned_twice(allow_gc, size):
    value = T.dot(matrix, x)
    f = compiled([matrix, x], [value, value, value[:], value], allow_gc)
    for _ in range(5):
        results = f(swapped(size), numbers(size))
        for number, result in enumerate(results):
            result += number                                    # none is seen in another
        for number, result in enumerate(results):
            np.testing.assert_array_equal(result, numbers(size)[::-1] + number)


@pytest.mark.filterwarnings("ignore:Setting the .* on a NumPy array has been deprecated:DeprecationWarning")
@in_each_mode
def test_an_array_that_was_changed_is_not_taken_again(allow_gc):
    f = compiled([x], x.sum(), allow_gc)
    for change in (lambda array: setattr(array, "shape", (1,)), lambda array: array.setflags(write=False),
                   lambda array: setattr(array, "dtype", np.int64)):
        for _ in range(3):
            f(np.ones(3))
        change(f(np.ones(3)))
        result = f(np.ones(4))
        assert result == 4 and result.shape == () and result.dtype == float and result.flags.writeable


@in_each_mode
@in_each_size
@pytest.mark.parametrize("borrow", [False, True])
def test_borrowed_results(allow_gc, size, borrow):
    """A lent result may change in the next call of the same function only."""
    f = compiled([matrix, x], [Out(T.tanh(T.dot(matrix, x)), borrow=borrow), T.dot(matrix, x)], allow_gc)
    other = compiled([matrix, x], T.exp(T.dot(matrix, x)), allow_gc)
    for seed in range(6):
        given = numbers(size, seed)
        lent, own = f(swapped(size), given)
        other(swapped(size), given + 1)
        np.testing.assert_allclose(lent, np.tanh(given[::-1]), rtol=1e-14)
        np.testing.assert_array_equal(own, given[::-1])
        if seed > 3:
            before, view = lent.copy(), lent[:]                 # now others know it
            f(swapped(size), given + 2)
            np.testing.assert_array_equal(view, before)
            del view


# ---- shared variables: LOAD, OWN, STORE, HALT ------------------------------------------------------------------------
NUMBERS = [np.float64(1.5), np.float32(2.5), np.int64(3), np.int8(1), np.complex64(1 + 2j), np.complex128(3 - 4j),
           np.array([1.5]), np.array([1.5, 2.5]), np.array([1.0, 2.0, 3.0]), np.ones((2, 2))]


@in_each_mode
@pytest.mark.parametrize("start", NUMBERS, ids=lambda value: f"{value.dtype}{list(value.shape)}")
def test_values_inside_cells(allow_gc, start):
    """Numbers, and vectors of up to 16 bytes, are copied from and to their container, all of their bytes."""
    n, m = shared(start, "n"), shared(start * 2, "m")
    f = compiled([], [n, m + n], allow_gc, updates=[(n, m), (m, n + m)])
    a, b = np.array(start), np.array(start * 2)
    for _ in range(6):
        results = f()
        np.testing.assert_array_equal(results[0], a)
        np.testing.assert_array_equal(results[1], a + b)
        a, b = b, (a + b).astype(b.dtype)
        np.testing.assert_array_equal(n.get_value(), a)
        np.testing.assert_array_equal(m.get_value(), b)


@in_each_mode
@in_each_size
def test_an_update_that_is_an_output_too(allow_gc, size):
    """The result, the stored value and what was borrowed before are three arrays."""
    v = shared(np.zeros(size), "v")
    new = v + T.dot(matrix, x)
    f = compiled([matrix, x], [new, v], allow_gc, updates=[(v, new)])
    expected = np.zeros(size)
    for seed in range(6):
        borrowed, before = v.get_value(borrow=True), expected.copy()
        fresh, old = f(swapped(size), numbers(size, seed))
        expected = expected + numbers(size, seed)[::-1]
        fresh_before = fresh.copy()
        np.testing.assert_array_equal(old, before)
        np.testing.assert_array_equal(borrowed, before)
        np.testing.assert_array_equal(fresh, expected)
        fresh += 1
        old += 1
        np.testing.assert_array_equal(v.get_value(), fresh_before)


@in_each_mode
@in_each_size
def test_updates_that_are_views_of_what_others_have(allow_gc, size):
    """An argument, a view of one, another variable's value, and one value for two variables."""
    given = [shared(np.zeros(size), name) for name in "abcde"]
    a, b, c, d, e = given
    new = T.dot(matrix, x)
    f = compiled([matrix, x], [], allow_gc, updates=[(a, x), (b, x[::-1]), (c, a), (d, new), (e, new)])
    for seed in range(5):
        before = a.get_value()
        value = numbers(size, seed)
        f(swapped(size), value)
        expected = [value.copy(), value[::-1].copy(), before, value[::-1].copy(), value[::-1].copy()]
        value[:] = -1
        for variable, one in zip(given, expected):
            np.testing.assert_array_equal(variable.get_value(), one)
            assert not any(np.shares_memory(variable.get_value(borrow=True), other.get_value(borrow=True))
                           for other in given if other is not variable and size > 2)


@in_each_mode
@in_each_size
def test_a_value_that_is_set_between_calls(allow_gc, size):
    """LOAD finds the value, and the layout, that the variable has now."""
    v = shared(np.zeros(size), "v")
    f = compiled([x], v.sum() + x.sum(), allow_gc, updates=[(v, v + 1)])
    for step in range(10):
        if step % 3 == 2:
            v.set_value(np.arange(float(size + step))[::-1], borrow=step % 2 == 0)
        before = v.get_value()
        assert f(np.ones(2)) == before.sum() + 2
        np.testing.assert_array_equal(v.get_value(), before + 1)


@in_each_mode
@in_each_size
def test_old_values_are_dropped_at_the_end(allow_gc, size):
    """The variable was lent an array; after the update nothing of the call refers to it."""
    v = shared(np.zeros(size), "v")
    f = compiled([matrix, x], [], allow_gc, updates=[(v, v + T.dot(matrix, x))])
    for seed in range(5):
        lent = numbers(size, seed)
        base = sys.getrefcount(lent)
        v.set_value(lent, borrow=True)
        before = lent.copy()
        f(swapped(size), numbers(size))
        assert sys.getrefcount(lent) == base
        np.testing.assert_array_equal(lent, before)             # not overwritten: its lender has it
        np.testing.assert_array_equal(v.get_value(), before + numbers(size)[::-1])


@in_each_mode
@in_each_size
def test_an_update_on_one_of_two_paths(allow_gc, size):
    """A donor that this call did not compute has no memory to give."""
    c, v = T.iscalar("c"), shared(np.zeros(size), "v")
    new = ifelse(c, T.tanh(v + T.dot(matrix, x)), v)
    f = compiled([c, matrix, x], [new * 2], allow_gc, updates=[(v, new)])
    expected = np.zeros(size)
    for seed, choice in enumerate([1, 1, 1, 0, 0, 0, 1, 0, 1, 1]):
        if choice:
            expected = np.tanh(expected + numbers(size, seed)[::-1])
        np.testing.assert_allclose(f(choice, swapped(size), numbers(size, seed))[0], expected * 2, rtol=1e-14)
        np.testing.assert_allclose(v.get_value(), expected, rtol=1e-14)


# ---- claims ----------------------------------------------------------------------------------------------------------
@in_each_mode
def test_a_call_inside_a_call_that_updates_the_same_variable(allow_gc):
    """The thread has the claim already, and keeps it when the inner call ends."""
    n, inner = shared(0.0, "n"), []
    called = Called(inner)
    f = compiled([x], called(x).sum(), allow_gc, updates=[(n, n + called(x)[0])])
    add = phintys.function([x], x * 2, updates=[(n, n + 100)])
    for quiet in (True, False):
        inner[:] = [(lambda value: value * 2) if quiet else add]
        for _ in range(3):
            before = n.get_value()
            try:
                f(np.ones(2))
                assert n.get_value() == before + (2 if quiet else 102)
            except RuntimeError:                                # the outer call had read the old value
                assert not quiet and n.get_value() == before + 100
            others = []
            thread = threading.Thread(target=lambda: others.append(n.set_value(n.get_value())))
            thread.start()                                      # no claim is left
            thread.join(10)
            assert others == [None]


@in_each_mode
def test_a_claim_is_given_up_after_an_exception(allow_gc):
    v = shared(np.zeros(3), "v")
    f = compiled([x], [], allow_gc, updates=[(v, v + x)])
    for _ in range(4):
        f(np.ones(3))
    for _ in range(3):
        with pytest.raises(ValueError):
            f(np.ones(5))
        done = []
        thread = threading.Thread(target=lambda: done.append(f(np.ones(3))))
        thread.start()
        thread.join(10)
        assert len(done) == 1
    np.testing.assert_array_equal(v.get_value(), np.full(3, 7.0))


# ---- frames ----------------------------------------------------------------------------------------------------------
@in_each_mode
@in_each_size
def test_a_second_frame_is_in_use(allow_gc, size):
    """A function that calls itself: the frame that is kept for the next call belongs to the outer one."""
    functions, depth = [], []
    called = Called(functions)
    f = compiled([matrix, x], T.tanh(T.dot(matrix, x)) + called(T.dot(matrix, x)), allow_gc)

    def again(value):
        depth.append(None)
        try:
            return f(swapped(size), value) if len(depth) < 3 else value
        finally:
            depth.pop()

    functions.append(again)
    for seed in range(4):
        value = numbers(size, seed)
        turned = value[::-1]                                    # three levels; the innermost op returns its input
        np.testing.assert_allclose(f(swapped(size), value), 2 * np.tanh(turned) + np.tanh(value) + turned, rtol=1e-13)


@in_each_mode
def test_a_frame_after_an_exception_is_as_good_as_new(allow_gc):
    functions = [lambda value: value]
    f = compiled([matrix, x], [T.tanh(T.dot(matrix, x)), Called(functions)(T.dot(matrix, x))], allow_gc)

    def fail(value):
        raise KeyError("in between")

    for step in range(12):
        functions[0] = fail if step % 3 == 2 else lambda value: value
        if step % 3 == 2:
            with pytest.raises(KeyError):
                f(swapped(9), numbers(9, step))
            continue
        tanh, same = f(swapped(9), numbers(9, step))
        np.testing.assert_allclose(tanh, np.tanh(numbers(9, step)[::-1]), rtol=1e-14)
        np.testing.assert_array_equal(same, numbers(9, step)[::-1])


# ---- arguments -------------------------------------------------------------------------------------------------------
class Subclass(np.ndarray):
    """An array whose elements, when they are asked for, are not those in its memory."""


def unaligned(value):
    memory = np.zeros(value.nbytes + 1, np.uint8)
    array = memory[1:].view(value.dtype).reshape(value.shape)
    array[...] = value
    assert not array.flags.aligned
    return array


ARGUMENTS = {
    "as declared": lambda value: value, "a subclass": lambda value: value.view(Subclass),
    "other byte order": lambda value: value.astype(">f8"), "not aligned": lambda value: unaligned(value),
    "a list": lambda value: value.tolist(), "reversed": lambda value: value[::-1][::-1],
    "with gaps": lambda value: np.repeat(value, 2)[::2], "read only": lambda value: np.broadcast_to(value, value.shape),
    "a shorter one": lambda value: value[:2], "of integers": lambda value: np.arange(len(value)),
}


@in_each_mode
@pytest.mark.parametrize("mutable", [False, True])
def test_arguments_of_other_kinds(allow_gc, mutable):
    f = compiled([In(x, mutable=mutable)], [T.tanh(x), x * 2], allow_gc)
    for kind in ARGUMENTS.values():
        for _ in range(4):
            f(numbers(5))
        for seed in range(2):
            value = kind(numbers(5, seed))
            expected = np.array(value, float)
            tanh, double = f(value)
            np.testing.assert_allclose(tanh, np.tanh(expected), rtol=1e-14)
            np.testing.assert_allclose(double, expected * 2, rtol=1e-14)


@in_each_mode
def test_numbers_as_arguments(allow_gc):
    n = T.dscalar("n")
    f = compiled([n], n + 1, allow_gc)
    for value in [1.5, 2.5, 3.5, 4.5, 7, True, np.float64(2), np.float32(0.5), np.array(3.0), np.array(4),
                  float("inf"), float("-inf"), type("Other", (float,), {})(9.0), 1e300]:
        assert f(value) == float(value) + 1
    assert np.isnan(f(float("nan")))
    for value in ["a", [1.0, 2.0], None, 1j]:
        with pytest.raises((TypeError, ValueError)):
            f(value)
        assert f(1.0) == 2


@in_each_mode
def test_lengths_that_are_declared(allow_gc):
    """Broadcastable dimensions have length 1, also when the last calls' arguments had."""
    row = T.drow("row")
    f = compiled([row, matrix], row + matrix, allow_gc)
    for _ in range(4):
        np.testing.assert_array_equal(f(np.ones((1, 3)), np.ones((2, 3))), np.full((2, 3), 2.0))
    with pytest.raises(TypeError):
        f(np.ones((2, 3)), np.ones((2, 3)))
    np.testing.assert_array_equal(f(np.ones((1, 4)), np.ones((2, 4))), np.full((2, 4), 2.0))
