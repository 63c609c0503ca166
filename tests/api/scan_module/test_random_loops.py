"""Random loops with taps, conditions and derivatives, against the same loops in NumPy."""
from concurrent.futures import ThreadPoolExecutor

import numpy
import pytest
from random_loops import check, random_loop

import phintys


@pytest.mark.parametrize("seed", range(20))
def test_against_numpy(seed):
    check(seed)


@pytest.mark.parametrize("seed", range(3))
def test_without_optimization(seed):
    check(seed, mode="FAST_COMPILE")


@pytest.mark.parametrize("seed", [0, 4, 7, 2004])
def test_in_debug_mode(seed):
    check(seed, mode="DebugMode")


@pytest.mark.parametrize("allow_gc", [True, False, "plan"])
@pytest.mark.parametrize("seed", [5, 8])
def test_in_several_threads(seed, allow_gc):
    loop = random_loop(seed)
    inputs, outputs = loop.graph()
    cost = sum([output.sum() for output in outputs])
    with phintys.change_flags(allow_gc=allow_gc):
        f = phintys.function(inputs, [*outputs, *phintys.grad(cost, inputs, disconnected_inputs="ignore")],
                             on_unused_input="ignore")
    values = loop.values()
    wanted = f(*values)

    def calls():
        return [f(*values) for _ in range(20)]

    with ThreadPoolExecutor(2) as threads:
        for found in sum([call.result() for call in [threads.submit(calls) for _ in range(2)]], []):
            for value, expected in zip(found, wanted):
                numpy.testing.assert_array_equal(value, expected)
