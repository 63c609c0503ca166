"""What a user may do with results, and what is left over when functions are deleted."""
import gc
import weakref

import numpy
import pytest

import phintys
import phintys.tensor as T


def resident_bytes():
    gc.collect()
    with open("/proc/self/statm") as statistics:
        return int(statistics.read().split()[1]) * 4096


# name, what makes an output: none may be spoilt by what users do with results
OUTPUTS = [
    ("small constant", lambda: T.constant([1, 2, 3])), ("large constant", lambda: T.constant(numpy.arange(5000.0))),
    ("number", lambda: T.constant(5.0)), ("part of a constant", lambda: T.constant(numpy.arange(5000.0))[::2]),
    ("transposed constant", lambda: T.constant(numpy.arange(6.0).reshape(2, 3)).T), ("zeros", lambda: T.zeros((3000,))),
    ("reshaped constant", lambda: T.constant(numpy.arange(5000.0)).reshape((50, 100))), ("ones", lambda: T.ones((3,))),
    ("arange", lambda: T.arange(3000)), ("folded", lambda: T.exp(T.constant(numpy.ones(4000))) * 2),
    ("shared", lambda: phintys.shared(numpy.arange(3000.0))),
    ("small shared", lambda: phintys.shared(numpy.arange(3.0))),
    ("view of shared", lambda: phintys.shared(numpy.arange(3000.0))[::-1]),
]


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
@pytest.mark.parametrize("name, make", OUTPUTS, ids=[row[0] for row in OUTPUTS])
def test_users_may_write_to_results(name, make, mode):
    output = make()
    f = phintys.function([], [output, output], mode=mode)
    first, second = f()
    expected = first.copy()
    assert not numpy.may_share_memory(first, second)
    first[...] = 99
    numpy.testing.assert_array_equal(second, expected)
    second[...] = 99
    for result in f():
        numpy.testing.assert_array_equal(result, expected)


def lock(result):
    result.flags.writeable = False


# name, what a user does with a result of shape (4,) before dropping it
HABITS = [("view", lambda result: result[:2]), ("memoryview", memoryview), ("weak reference", weakref.ref),
          ("lock", lock), ("nothing", lambda result: None),
          ("resize", lambda result: result.resize((8,), refcheck=False))]


@pytest.mark.parametrize("name, habit", HABITS, ids=[row[0] for row in HABITS])
def test_results_are_fresh_whatever_happened_to_the_last_one(name, habit):
    x = T.vector()
    f = phintys.function([x], x * 2)
    result = f(numpy.ones(4))
    kept = habit(result)
    del result
    again = f(numpy.full(4, 5.0))
    assert again.tolist() == [10.0] * 4 and again.flags.writeable and again.flags.owndata
    if name == "weak reference":
        assert kept() is None
    elif kept is not None:
        assert list(kept)[:2] == [2.0, 2.0]


def test_functions_and_their_graphs_are_freed():
    x, s = T.vector(), phintys.shared(numpy.zeros(3))
    f = phintys.function([x], x + s, updates={s: s + x})
    f(numpy.ones(3))
    watched = [weakref.ref(thing) for thing in (x, s, f)]
    del x, s, f
    gc.collect()
    assert [thing() for thing in watched] == [None, None, None]


def test_compiling_and_dropping_keeps_memory_flat():
    x = T.dscalar("x")

    def cycles(count):
        for _ in range(count):
            assert phintys.function([x], x + 1)(1.0) == 2.0
        return resident_bytes()

    before = cycles(500)
    assert cycles(1500) - before < 1 << 20


def test_failing_calls_keep_memory_flat():
    v, w = T.vectors("v", "w")
    f = phintys.function([v, w], T.exp(v) + T.dot(v, w) * w)
    good, short = numpy.zeros(3000), numpy.zeros(2999)

    def failures(count):
        for _ in range(count):
            with pytest.raises(ValueError):
                f(good, short)
            with pytest.raises(TypeError):
                f("nonsense", good)
        return resident_bytes()

    before = failures(300)
    assert failures(1000) - before < 1 << 20
