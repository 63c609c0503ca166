"""Random loops with taps, conditions and derivatives, against the same loops in NumPy."""
import pytest
from random_loops import check


@pytest.mark.parametrize("seed", range(20))
def test_against_numpy(seed):
    check(seed)


@pytest.mark.parametrize("seed", range(3))
def test_without_optimization(seed):
    check(seed, mode="FAST_COMPILE")
