"""Derivatives of loops against those of the same steps written one after the other, without a loop.

Both come from the same rules for the ops of a step, so what differs is the loop's own: which rows a tap reads, where a
gradient enters, what is summed over steps. Steps are not linear and read several rows of two states, whose numbers of
taps differ; derivatives are by everything that a loop takes.
"""
import numpy
import pytest

import phintys
import phintys.tensor as T

s, a, b, w = T.dmatrix("s"), T.dmatrix("a"), T.dvector("b"), T.dvector("w")
random = numpy.random.default_rng(3)
VALUES = [random.uniform(0.2, 1, shape) for shape in ((7, 2), (3, 2), (2,), (2,))]
STEPS = 5


def step(before, now, oldest, last, other, whole):
    """Rows of the sequence at taps -1 and 1, of the first state at -3 and -1, of the second one at -1."""
    first = T.tanh(oldest * before + last * whole + other)
    second = first * T.sin(other + now)
    return first, second, first * second * whole


def with_loop(backwards=False):
    return phintys.scan(step, [{"input": s, "taps": [-1, 1]}],
                        [{"initial": a, "taps": [-3, -1]}, b, None], [w],
                        go_backwards=backwards)[0]


def one_by_one(backwards=False):
    first, second, third = [a[0], a[1], a[2]], [b], []
    for number in range(STEPS)[::-1 if backwards else 1]:           # taps do not turn around
        new = step(s[number], s[number + 2], first[-3], first[-1], second[-1], w)
        for own, value in zip((first, second, third), new):
            own.append(value)
    return [T.stack(first[3:]), T.stack(second[1:]), T.stack(third)]


COSTS = {
    "the last row": lambda x, y, z: (x[-1] ** 2).sum(),
    "the first row": lambda x, y, z: (y[0] ** 2).sum(),
    "all rows": lambda x, y, z: (x * y + z).sum(),
    "a row in the middle, and a sum": lambda x, y, z: (x[2] ** 2).sum() + (z[1:3] * y[1]).sum(),
    "one output only": lambda x, y, z: T.cos(z).sum(),
}


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("cost", COSTS)
def test_gradients(cost, backwards, mode):
    def derivatives(build):
        value = COSTS[cost](*build(backwards))
        gradients = phintys.grad(value, [s, a, b, w], disconnected_inputs="ignore")
        return phintys.function([s, a, b, w], [value, *gradients], mode=mode)(*VALUES)
    for got, expected in zip(derivatives(with_loop), derivatives(one_by_one), strict=True):
        numpy.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("of", [[s, a, w], [w]])        # of w alone, only sums over steps lead to the backward loop
def test_second_derivatives_and_directions(of):
    def derivatives(build):
        cost = COSTS["all rows"](*build())
        gradients = phintys.grad(cost, of)
        second = phintys.grad(sum([(gradient ** 2).sum() for gradient in gradients]), [s, a, b, w])
        along = phintys.gradient.Rop(build(), [s, a, b, w], [T.cos(s), a * 2, b + 1, w ** 2])
        return phintys.function([s, a, b, w], [*second, *along])(*VALUES)
    for got, expected in zip(derivatives(with_loop), derivatives(one_by_one), strict=True):
        numpy.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)


def test_gradient_after_a_condition_ends_the_loop():
    """Rows after the end have no part in it."""
    x = T.dvector("x")
    rows, _ = phintys.scan(lambda row, last: (last * row, phintys.scan_module.until(last * row > 20)), [x],
                           [T.constant(1.0, dtype="float64")])
    value, gradient = phintys.function([x], [rows[-1], phintys.grad(rows[-1], x)])([2.0, 3, 4, 5, 6])
    assert value == 24 and gradient.tolist() == [12, 8, 6, 0, 0]
