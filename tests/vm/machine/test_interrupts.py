"""Ctrl-C in the middle of a long kernel: the call ends there, and changes no shared variable.

Nothing here depends on time: kernels look at signals whenever they ask, and one of these looks finds Ctrl-C.
"""
import numpy as np
import pytest

import phintys
import phintys.tensor as T
from phintys.vm.machine.interpreter import interrupt_at_look

x, m, t, i = T.vector("x"), T.matrix("m"), T.tensor4("t"), T.lvector("i")
SIZE = 1_000_000
numbers = np.random.RandomState(0).rand(SIZE)
positions = np.random.RandomState(1).randint(0, SIZE, SIZE)
rows = numbers.reshape(1000, 1000)
images = numbers.reshape(100, 1, 100, 100)

# What one long kernel computes, and arguments that are long enough for it to look at signals.
CASES = {
    "elementwise": (T.exp(x) * T.sin(x), (numbers,)),
    "sum": (T.exp(x).sum(), (numbers,)),
    "advanced indexing": (x[i], (numbers, positions)),
    "softmax": (T.nnet.softmax(m), (rows,)),
    "pooling": (T.signal.pool.pool_2d(t, (3, 3), ignore_border=True), (images,)),
    "convolution": (T.nnet.conv2d(t, np.ones((4, 1, 5, 5))), (images,)),
}


@pytest.fixture(autouse=True)
def as_usual_afterwards():
    yield
    interrupt_at_look(0)


def outcome_of(function, arguments, look):
    """Call a function, with Ctrl-C at a look; return whether that stopped it."""
    interrupt_at_look(look)
    try:
        function(*arguments)
    except KeyboardInterrupt:
        return True
    finally:
        interrupt_at_look(0)
    return False


@pytest.mark.parametrize("name", CASES)
def test_a_long_kernel_is_interrupted(name):
    result, arguments = CASES[name]
    used = [v for v in (x, m, t, i) if v in phintys.graph.traversal.graph_inputs([result])]
    count = phintys.shared(0, "count")
    function = phintys.function(used, result, updates=[(count, count + 1)])
    for look in (1, 2):
        assert outcome_of(function, arguments, look)
        assert count.get_value() == 0
    expected = phintys.function(used, result)(*arguments)
    np.testing.assert_array_equal(function(*arguments), expected)     # nothing of the ended calls is left
    assert count.get_value() == 1
