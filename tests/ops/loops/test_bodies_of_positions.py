"""Bodies that index by what they compute: positions decide no layout, so that steps are bound and replayed."""
import numpy
import pytest
from replays import replays

import phintys
import phintys.tensor as T

RNG = numpy.random.RandomState(5)
STEPS = 40
W, H = RNG.uniform(-1, 1, (6, 6)), RNG.uniform(-1, 1, 6)
X = RNG.uniform(-1, 1, (STEPS, 6))


def positions(h, dtype="int64"):
    return T.cast(T.abs_(h) * 100, dtype) % 6


BODIES = {
    "row": lambda x, h, w: T.tanh(w[positions(h)[0]] + x),
    "row from the end": lambda x, h, w: T.tanh(w[positions(h)[0] - 6] + x),
    "element": lambda x, h, w: T.tanh(w[positions(h)[0], positions(x)[1]] * h + x),
    "element and slice": lambda x, h, w: T.tanh(w[positions(h)[0], ::-1][1:4].sum() + x + w[:, positions(x)[2]]),
    "rows": lambda x, h, w: T.tanh(w[positions(h)[:3]].sum(axis=0) + x),
    "rows by small integers": lambda x, h, w: T.tanh(w[positions(h, "uint8")].mean(axis=0) + x),
    "columns": lambda x, h, w: T.tanh(w[:, positions(h)[:2]].max(axis=1) + x),
    "points": lambda x, h, w: T.tanh(w[positions(h), positions(x)[::-1] - 6] + x),
    "matrix of positions": lambda x, h, w: T.tanh(w[positions(h).reshape((2, 3)), 1].ravel() + x),
    "new dimension": lambda x, h, w: T.tanh(w[positions(h), None, 2:3].ravel() + x),
    "a row that is set": lambda x, h, w: T.tanh(T.set_subtensor(w[positions(h)[0]], x).sum(axis=1) - h),
    "an element that is added to": lambda x, h, w: T.tanh(T.inc_subtensor(h[positions(h)[0]], x[0]) + x),
    "rows that are added to": lambda x, h, w: T.tanh(T.inc_subtensor(w[positions(h)], x).sum(axis=0)),
    "rows that are set to one": lambda x, h, w: T.tanh(T.set_subtensor(w[positions(h)[:2]], x).sum(axis=0)),
    "rows that are set to others": lambda x, h, w: T.tanh(
        T.set_subtensor(w[positions(h)[:2]], w[2:4] * x).sum(axis=1) + T.set_subtensor(w[positions(x)], w[:, :1])[0]),
    "elements that are set to a number": lambda x, h, w: T.tanh(T.set_subtensor(h[positions(h)[:2]], x[1]) + x),
    "elements that are added to": lambda x, h, w: T.tanh(T.inc_subtensor((h * x)[positions(h)], x) + w[0, ::-1]),
    "points that are set": lambda x, h, w: T.tanh(T.set_subtensor(w[positions(h), positions(x)], x).sum(axis=1)),
}


def made(body, mode=None):
    x, h, w = T.dmatrix(), T.dvector(), T.dmatrix()
    return phintys.function([x, h, w], phintys.scan(body, x, h, w)[0], mode=mode)


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("allow_gc", [True, False, "plan"])
def test_steps_are_replayed(name, allow_gc):
    with phintys.change_flags(allow_gc=allow_gc):
        f, plain = made(BODIES[name]), made(BODIES[name], "FAST_COMPILE")
    wanted = plain(X, H, W)
    for arguments in ((X, H, W), (X, H, numpy.asfortranarray(W)), (X[:, ::-1][:, ::-1], H, W[::-1][::-1])):
        with replays(f, STEPS - 7):
            numpy.testing.assert_allclose(f(*arguments), wanted, rtol=1e-12)


@pytest.mark.parametrize("take", [lambda w, k: w[T.stack([k, k * 0])], lambda w, k: w[k, 1:],
                                  lambda w, k: w[T.stack([k, k]), T.stack([k * 0, k])],
                                  lambda w, k: T.set_subtensor(w[k], 1.0), lambda w, k: w[:, T.stack([k])],
                                  lambda w, k: T.inc_subtensor(w[T.stack([k, k]), 0], 1.0)])
def test_a_position_out_of_range_in_a_late_step(take):
    """The step that is replayed checks what `prepare` would have."""
    w, k, total = T.dmatrix(), T.lvector(), phintys.shared(1.0)
    rows, updates = phintys.scan(lambda k, w: (take(w, k).sum(), {total: total + 1}), k, non_sequences=w)
    f = phintys.function([k, w], rows, updates=updates)
    given = numpy.arange(30) % 6
    with replays(f, 21):
        wanted = f(given, W)
    assert total.get_value() == 31
    given[25] = 6
    with pytest.raises(IndexError, match="(?s)index 6 is out of bounds for axis . with size 6.*step 25 of .*30 steps"):
        f(given, W)
    assert total.get_value() == 31
    given[25] = 25 % 6 - 6
    numpy.testing.assert_array_equal(f(given, W), wanted)
    assert total.get_value() == 61


def test_an_assignment_after_commit_is_checked_before_it():
    """A shared value is overwritten after COMMIT, where nothing may fail: what is bound does not check it there."""
    state, k, other = phintys.shared(numpy.zeros(5)), T.lscalar(), phintys.shared(0)
    f = phintys.function([k], updates=[(state, T.set_subtensor(state[k], 1.0)), (other, other + 1)])
    for position in range(5):
        f(position)
    for position in (5, -6):
        with pytest.raises(IndexError, match="out of bounds"):
            f(position)
    assert other.get_value() == 5 and state.get_value().sum() == 5


def test_lengths_that_are_the_same_in_all_steps():
    """What is examined may be a whole: it is a constant of a run, and may be another one in the next run."""
    x, n, m = T.dmatrix(), T.lscalar(), T.lscalar()
    rows, _ = phintys.scan(lambda x, n, m: x[n:].sum() + (x.reshape((n, m)) * T.ones((n, m))).sum(axis=1)[0], x,
                           non_sequences=[n, m])
    f = phintys.function([x, n, m], rows)
    for n, m in ((2, 3), (3, 2), (1, 6), (2, 3)):
        with replays(f, STEPS - 7):
            numpy.testing.assert_allclose(f(X, n, m), [row[n:].sum() + row[:m].sum() for row in X])
    with pytest.raises(ValueError):
        f(X, 4, 2)


LENGTHS = {
    "zeros": lambda x, h: T.set_subtensor(T.zeros((x.shape[0],))[2:], (h * x)[2:]),
    "roll": lambda x, h: T.tanh(T.roll(h, 1) + x),
    "tile": lambda x, h: T.tanh(T.tile(h[:2], 3)[:x.shape[0]] + x[:6].sum() + h),
    "range": lambda x, h: T.tanh(T.arange(h.shape[0] - 1)[::-1].sum() * 0.1 + h - x),
    "whole of a whole": lambda x, h: T.tanh((x * h).reshape((x.shape[0] // 2, 2)).sum(axis=1).sum() + x),
}


@pytest.mark.parametrize("name", LENGTHS)
def test_what_follows_from_layouts_varies_with_them_alone(name):
    """Lengths that steps compute from shapes are the same in all steps of a run, and others for other shapes."""
    x, h = T.dmatrix(), T.dvector()
    f, plain = [phintys.function([x, h], phintys.scan(LENGTHS[name], x, h)[0], mode=mode)
                for mode in ("FAST_RUN", "FAST_COMPILE")]
    for length in (6, 8, 6, 10, 10):
        given = RNG.uniform(-1, 1, (STEPS, length)), RNG.uniform(-1, 1, length)
        wanted = plain(*given) if name != "tile" or length <= 6 else None
        if wanted is None:
            with pytest.raises(ValueError):
                f(*given)
        else:
            with replays(f, STEPS - 7):
                numpy.testing.assert_allclose(f(*given), wanted, rtol=1e-12)


def test_programs_with_computed_lengths():
    """The same outside of loops, with layouts that change from call to call, and with a length that is a value."""
    x, n = T.dmatrix(), T.lscalar()
    f = phintys.function([x, n], [T.zeros((x.shape[1], x.shape[0])) + x.T, x.reshape((x.size,)),
                                  T.arange(x.shape[0] * 2), T.zeros((x.shape[0], n)), x[:x.shape[0] // 2],
                                  T.arange((x[x[:, 0] > 0]).shape[0])])
    for rows, columns, length in ((2, 3, 1), (2, 3, 2), (3, 2, 2), (3, 2, 4), (4, 4, 4), (4, 4, 1), (2, 3, 1)):
        for _ in range(3):
            value = RNG.uniform(-1, 1, (rows, columns))
            found = f(value, length)
            for got, wanted in zip(found, [value.T, value.ravel(), numpy.arange(2 * rows), numpy.zeros((rows, length)),
                                           value[:rows // 2], numpy.arange((value[:, 0] > 0).sum())]):
                numpy.testing.assert_array_equal(got, wanted)
