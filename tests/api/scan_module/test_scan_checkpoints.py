"""scan_checkpoints: what scan computes, also where a condition ends the loop; its rules about lengths."""
import math

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.scan_module import until

row, w, limit, k = T.dvector("row"), T.dscalar("w"), T.dscalar("limit"), T.lscalar("k")
visits = phintys.shared(0, "visits")


def test_checkpoints_compute_what_scan_computes():
    a, k = T.vector("A"), T.iscalar("k")
    whole, _ = phintys.scan(lambda prior, a: prior * a, outputs_info=T.ones_like(a), non_sequences=a, n_steps=k)
    saving, _ = phintys.scan_checkpoints(lambda prior, a: prior * a, outputs_info=T.ones_like(a), non_sequences=a,
                                         n_steps=k, save_every_N=4)
    f = phintys.function([a, k], [whole[-1], saving[-1], T.grad(whole[-1].sum(), a), T.grad(saving[-1].sum(), a)])
    for steps in (4, 10, 12, 1):
        value, same, gradient, other = f(numpy.linspace(.5, 1.2, 5), steps)
        numpy.testing.assert_allclose(value, same)
        numpy.testing.assert_allclose(gradient, other)
    assert phintys.function([a, k], saving)(numpy.ones(5), 10).shape == (3, 5)


@pytest.mark.parametrize("rows, padding", [(12, True), (13, True), (3, True), (12, False)])
def test_checkpoints_with_sequences(rows, padding):
    u, w = T.matrix("u"), T.scalar("w")

    def step(row, state, w):
        return T.tanh(state * w + row)

    start = T.zeros((3,))
    whole, _ = phintys.scan(step, u, start, w)
    saving, _ = phintys.scan_checkpoints(step, [u], start, [w], save_every_N=4, padding=padding)
    f = phintys.function([u, w], [whole[-1], saving[-1], *T.grad(whole[-1].sum(), [u, w]),
                                  *T.grad(saving[-1].sum(), [u, w])])
    values = f(numpy.random.RandomState(3).uniform(size=(rows, 3)), .7)
    numpy.testing.assert_allclose(values[0], values[1])
    numpy.testing.assert_allclose(values[2], values[4])
    numpy.testing.assert_allclose(values[3], values[5])


def test_checkpoints_refuse_taps():
    with pytest.raises(RuntimeError, match="doesn't work with taps"):
        phintys.scan_checkpoints(lambda x: x, outputs_info=[dict(initial=T.vector(), taps=[-2])], n_steps=3)


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
@pytest.mark.parametrize("every", [1, 2, 3, 20])
def test_a_condition_ends_the_loop_where_it_ends_scan(every, mode):
    """In the first step, at the end of a block, after it, in the last step, and never."""
    def step(row, state, w):
        new = T.tanh(state * w) + row
        return [new, new ** 2], {visits: visits + 1}, until(new > limit)

    def outputs(loop, **options):
        (states, squares), updates = loop(step, row, [w, None], w, **options)
        return [states, states[-1], squares[-1], updates[visits], *T.grad(states[-1] * squares[-1], [row, w])]

    f, g = [phintys.function([row, w, limit], found, mode=mode)
            for found in (outputs(phintys.scan), outputs(phintys.scan_checkpoints, save_every_N=every))]
    value = numpy.random.RandomState(3).uniform(size=7)
    for largest in [*f(value, 0.7, 99)[0] - 1e-9, 99]:
        (states, *wanted), (kept, *found) = f(value, 0.7, largest), g(value, 0.7, largest)
        rest = states[-1:] if len(states) % every else []
        numpy.testing.assert_allclose(kept, [*states[every - 1::every], *rest])
        for one, other in zip(wanted, found):
            numpy.testing.assert_allclose(one, other, rtol=1e-12)


def test_one_step():
    """The condition of a single block is that of its loop."""
    for every, steps in ((1, 1), (1, 3), (2, 1), (2, 3)):
        kept, _ = phintys.scan_checkpoints(lambda x: (x ** 2, until(x > 1)), row, n_steps=steps, save_every_N=every)
        wanted = {1: [1], 3: [1, 4] if every == 1 else [4]}[steps]
        numpy.testing.assert_array_equal(kept.eval({row: [1.0, 2.0, 3.0]}), wanted)


def lengths_of(u, v, **options):
    kept, _ = phintys.scan_checkpoints(lambda a, b, total: a + b + total, [u, v], numpy.float64(0), save_every_N=3,
                                       **options)
    return kept


# name → (what is computed, of the rows 1, 2, 3, 4 and k; k; the result, or the error)
LENGTHS = {
    "the same": (lengths_of(row, 2 * row), 4, [18, 30]),
    "a shorter sequence": (lengths_of(row, row[:k]), 3, "has 3 rows, expected 4: all sequences .* same length"),
    "a longer sequence": (lengths_of(row[:k], row), 3, "has 4 rows, expected 3: all sequences .* same length"),
    "shorter, by n_steps": (lengths_of(row, row[:k], n_steps=2), 3, "all sequences .* same length"),
    "fewer steps": (lengths_of(row, row, n_steps=k), 2, [6]),
    "no steps": (lengths_of(row, row, n_steps=k), 0, []),
    "more steps": (lengths_of(row, row, n_steps=k), 5, "shorter than the required number of steps"),
    "negative steps": (lengths_of(row, row, n_steps=k), -1, "negative number of step -1"),
    "whole blocks": (lengths_of(row, row, n_steps=k, padding=False), 3, [12]),
    "a part of a block": (lengths_of(row, row, n_steps=k, padding=False), 4, "expected 6: without padding"),
}


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
@pytest.mark.parametrize("name", LENGTHS)
def test_lengths(name, mode):
    kept, steps, wanted = LENGTHS[name]
    f = phintys.function([row, k], kept, mode=mode, on_unused_input="ignore")
    if isinstance(wanted, list):
        numpy.testing.assert_array_equal(f([1, 2, 3, 4], steps), wanted)
    else:
        with pytest.raises((ValueError, IndexError), match=wanted):
            f([1, 2, 3, 4], steps)


@pytest.mark.parametrize("size, error", [(0, ValueError), (-2, ValueError), (2.5, TypeError), ("3", TypeError),
                                         (None, TypeError), (w, TypeError), (T.constant(0), ValueError)])
def test_save_every_n_is_a_positive_integer(size, error):
    with pytest.raises(error, match="save_every_N is an integer, at least 1, got"):
        phintys.scan_checkpoints(lambda x, total: total + x, row, w, save_every_N=size)


def test_save_every_n_may_be_computed():
    kept, _ = phintys.scan_checkpoints(lambda x, total: total + x, row, numpy.float64(0), save_every_N=k)
    f = phintys.function([row, k], kept)
    numpy.testing.assert_array_equal(f([1, 2, 3, 4], 2), [3, 10])
    with pytest.raises(AssertionError, match="save_every_N is an integer, at least 1"):
        f([1, 2, 3, 4], 0)


@pytest.mark.parametrize("steps", [1, 2, 3, 4, 9, 10, 99, 100, 101])
def test_blocks_of_the_square_root_of_the_steps(steps):
    """Known or computed, from sequences too; the gradient has the bits of another size's."""
    def last(**options):
        kept, _ = phintys.scan_checkpoints(lambda x, total, w: T.tanh(total * w + x), row, numpy.float64(0.5), w,
                                             **options)
        return kept

    size = math.ceil(math.sqrt(steps))
    known, computed = last(n_steps=steps, save_every_N="sqrt"), last(save_every_N="sqrt")
    by_hand = last(save_every_N=size)
    values, other, wanted, *gradients = phintys.function([row, w], [
        known, computed, by_hand, *[T.grad(kept[-1], w) for kept in (known, computed, by_hand)]])(
            numpy.linspace(-1, 1, steps), 0.9)
    assert values.shape == other.shape == wanted.shape == (math.ceil(steps / size),)
    numpy.testing.assert_array_equal(values, wanted)
    numpy.testing.assert_array_equal(other, wanted)
    assert gradients[0] == gradients[1] == gradients[2]


def test_errors_name_the_function():
    def two(x, total):
        return total, x

    with pytest.raises(ValueError, match="the function two, File .* returned 2 outputs, and outputs_info describes 1"):
        phintys.scan_checkpoints(two, row, w)
    with pytest.raises(ValueError, match="(?s)may only be made of.*Returned by the function <lambda>, File"):
        phintys.scan_checkpoints(lambda x, total: 3, row, w)
    with pytest.raises(TypeError, match="the function two, File .* cannot be called"):
        phintys.scan_checkpoints(two, row)
