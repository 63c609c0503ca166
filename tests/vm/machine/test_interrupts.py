"""Ctrl-C in the middle of a long kernel: the call ends there, and changes no shared variable.

Nothing here depends on time: kernels look at signals whenever they ask, and one of these looks finds Ctrl-C.
"""
import signal

import numpy as np
import pytest

import phintys
import phintys.tensor as T
from phintys.graph.traversal import graph_inputs
from phintys.tensor.shared_randomstreams import RandomStreams
from phintys.vm.machine.interpreter import interrupt_at_look

x, m, t, i = T.vector("x"), T.matrix("m"), T.tensor4("t"), T.lvector("i")
SIZE = 1_000_000
numbers = np.random.RandomState(0).rand(SIZE)
positions = np.random.RandomState(1).randint(0, SIZE, SIZE)
rows = numbers.reshape(1000, 1000)
images = numbers.reshape(100, 1, 100, 100)
image, window = numbers[:250_000].reshape(1, 1, 500, 500), np.ones((1, 1, 41, 41))
channels = numbers[:262_144].reshape(1, 64, 64, 64)


def drawn(method, *arguments):
    return getattr(RandomStreams(1), method)((SIZE,), *arguments)


# What one long kernel computes, and arguments that are long enough for it to look at signals twice.
CASES = {
    "elementwise": (T.exp(x) * T.sin(x), (numbers,)),
    "sum": (T.exp(x).sum(), (numbers,)),
    "advanced indexing": (x[i], (numbers, positions)),
    "softmax": (T.nnet.softmax(m), (rows,)),
    "pooling": (T.signal.pool.pool_2d(t, (3, 3), ignore_border=True), (images,)),
    "convolution": (T.nnet.conv2d(t, np.ones((4, 1, 5, 5))), (images,)),
    "convolution of one image": (T.nnet.conv2d(t, window), (image,)),
    "convolution of channels": (T.nnet.conv2d(t, np.ones((64, 64, 5, 5))), (channels,)),
    "gradient by images": (T.grad(T.sqr(T.nnet.conv2d(t, window)).sum(), t), (image,)),
    "added at positions": (T.inc_subtensor(x[i], x), (numbers, positions)),
    "set at positions": (T.set_subtensor(x[i], 1.), (numbers, positions)),
    "added at pairs of positions": (T.inc_subtensor(m[i % 1000, i // 1000], 1.), (rows, positions)),
    "mask": (x[x > 0.5], (np.tile(numbers, 3),)),
    "rows": (m[i % 1000], (rows, positions[:5000])),
    "assigned part": (T.set_subtensor(T.zeros((3, 2_000_000))[:, :1_000_000], x), (numbers,)),
    "cumulative sum": (T.cumsum(x), (np.tile(numbers, 4),)),
    "cumulative sums of rows": (T.cumsum(m, axis=1), (np.tile(rows, (4, 1)),)),
    "cumulative sums of columns": (T.cumsum(m, axis=0), (numbers.reshape(500, 2000),)),
    "cumulative products of long columns": (T.cumprod(m, axis=0), (np.tile(rows, (4, 1)),)),
    "repetitions": (T.repeat(x, i[:1] * 0 + 2), (numbers, positions)),
    "joined": (T.concatenate([x, x]), (np.tile(numbers, 3),)),
    "tiled": (T.tile(x, 3), (numbers,)),
    "transposed copy": (m.T.flatten(), (np.tile(rows, (3, 1)),)),
    "filled": (T.alloc(x[0], 1000, 3000), (numbers,)),
    "product of matrices": (T.dot(T.cast(m, "int64"), T.cast(m, "int64")), (rows,)),
    "maximum and its place": (sum(T.max_and_argmax(m, axis=1)), (np.tile(rows, (4, 1)),)),
    "convolution of vectors": (T.convolve(x, x[:500]), (numbers[:20_000],)),
    "uniform numbers": (drawn("uniform"), ()),
    "normal numbers": (drawn("normal"), ()),
    "counts": (drawn("binomial", 50, 0.3), ()),
    "integers": (drawn("random_integers", 0, 99), ()),
    "chosen": (drawn("choice", 100), ()),
    "shuffled": (RandomStreams(1).permutation((1,), SIZE), ()),
}


@pytest.fixture(autouse=True)
def as_usual_afterwards():
    """Python raises KeyboardInterrupt only if the shell has not started it with SIGINT ignored, as for a job in the
    background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    interrupt_at_look(0)
    signal.signal(signal.SIGINT, before)


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
    used = [v for v in (x, m, t, i) if v in graph_inputs([result])]
    count = phintys.shared(0, "count")
    function = phintys.function(used, result, updates=[(count, count + 1)], no_default_updates=True)
    expected = phintys.function(used, result, no_default_updates=True)(*arguments)
    for look in (1, 2):
        assert outcome_of(function, arguments, look)
        assert count.get_value() == 0
    np.testing.assert_array_equal(function(*arguments), expected)     # nothing of the ended calls is left
    assert count.get_value() == 1


def test_a_stream_that_was_interrupted_draws_the_same_numbers_later():
    streams = RandomStreams(3)
    function = phintys.function([], streams.normal((SIZE,)))
    first = function()
    streams.seed(3)
    assert outcome_of(function, (), 2)
    np.testing.assert_array_equal(function(), first)


def test_updates_after_commit_are_not_interrupted():
    total = phintys.shared(np.zeros(SIZE), "total")
    function = phintys.function([x], updates=[(total, T.inc_subtensor(total[positions], x))])
    assert not outcome_of(function, (numbers,), 1)
    expected = np.zeros(SIZE)
    np.add.at(expected, positions, numbers)
    np.testing.assert_allclose(total.get_value(), expected)
