"""Random loops with taps, conditions and derivatives, against the same loops in NumPy."""
import pytest
from random_loops import WAYS, check


@pytest.mark.parametrize("seed", range(20))
def test_against_numpy(seed):
    check(seed)


@pytest.mark.parametrize("seed", range(3))
def test_without_optimization(seed):
    check(seed, mode="FAST_COMPILE")


@pytest.mark.parametrize("seed", [0, 4, 7, 2004])
def test_in_debug_mode(seed):
    check(seed, mode="DebugMode")


@pytest.mark.parametrize("seed", [5, 8, 35, 67])
@pytest.mark.parametrize("mode, allow_gc, in_threads", WAYS[:6])
def test_in_all_ways(seed, mode, allow_gc, in_threads):
    check(seed, mode, allow_gc, in_threads)
