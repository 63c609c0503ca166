"""Loops whose steps hand on older rows, views and each other's values through lazy branches."""
import numpy
import pytest
from random_exchanges import WAYS, check

import phintys
import phintys.tensor as T
from phintys.ifelse import ifelse


@pytest.mark.parametrize("seed", [19, 30, 251, 252, 279, 283, 447, 449, 464])
def test_at_random(seed):
    check(seed)


@pytest.mark.parametrize("seed", [19, 251])
def test_in_debug_mode(seed):
    check(seed, [("DebugMode", True, False)])


@pytest.mark.parametrize("mode, allow_gc, stress", WAYS)
def test_the_best_row_so_far(mode, allow_gc, stress):
    start = numpy.array([3.0, -1.0, 2.0])
    with phintys.change_flags(allow_gc=allow_gc, stress=stress):
        h, best, best_cost = phintys.shared(start), phintys.shared(start), phintys.shared(numpy.inf)
        moves = T.dmatrix()

        def step(move):
            cost = (h ** 2).sum()
            return {h: h + move, best: ifelse(cost < best_cost, h, best), best_cost: T.minimum(cost, best_cost)}

        _, updates = phintys.scan(step, moves)
        f = phintys.function([moves], updates=updates, mode=mode)
    values = numpy.array([[-1.0, 0, 0], [-1, 0, 0], [-1, 1, -2], [-4, 4, 4], [1, 1, 1]])
    before = start + numpy.concatenate([[[0, 0, 0]], values.cumsum(axis=0)])
    f(values)
    numpy.testing.assert_array_equal(h.get_value(), before[-1])
    numpy.testing.assert_array_equal(best.get_value(), before[3])
    assert best_cost.get_value() == 0


@pytest.mark.parametrize("mode, allow_gc, stress", WAYS)
@pytest.mark.parametrize("size", [3, 100])          # values of a small block, and of a large one
def test_shared_values_that_are_exchanged(mode, allow_gc, stress, size):
    with phintys.change_flags(allow_gc=allow_gc, stress=stress):
        first, second = phintys.shared(numpy.zeros(size)), phintys.shared(numpy.ones(size))
        turns = T.lvector()
        _, updates = phintys.scan(lambda turn: {first: ifelse(turn, second, first),
                                                second: ifelse(turn, first, second)}, turns)
        f = phintys.function([turns], updates=updates, mode=mode)
    f([1, 0, 1, 1])
    assert (first.get_value().tolist(), second.get_value().tolist()) == ([1] * size, [0] * size)
