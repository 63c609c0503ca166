"""Ctrl-C in the middle of a long kernel: the call ends there, and changes no shared variable.

Nothing here depends on time, except for the long test: kernels look at signals whenever they ask, and one of these
looks finds Ctrl-C. The long test walks over all kernels with inputs that take longer (`long_kernels.py`), and measures
in CPU seconds how late a call ends.
"""
import signal
import time

import numpy as np
import pytest
from kernel_cases import MADE, PCG64, kernel_classes
from long_kernels import LATE, LONG, SHORT, KernelOp, called

import phintys
import phintys.tensor as T
from phintys.graph.traversal import graph_inputs
from phintys.sandbox.rng_mrg import MRG_RandomStreams
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


def by_generator(kernel, output, *inputs):
    """What a kernel draws from the state of a Generator."""
    return KernelOp(kernel, [(1, "uint64"), output])(phintys.shared(PCG64), *map(T.constant, inputs))[1]


def chosen(wanted, outcomes):
    """Different numbers as a Generator chooses them."""
    return by_generator(kernel_classes()["ChoiceKernel"](0, False, True, 1e-8), (1, "int64"), np.array([wanted]),
                        np.array(outcomes), np.array(0), np.zeros(0))


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
    "some orders": (RandomStreams(1).permutation((20,), 50_000), ()),
    "chosen once": (RandomStreams(1).choice((SIZE,), SIZE, replace=False), ()),
    "chosen once by shares": (RandomStreams(1).choice((SIZE // 8,), SIZE // 4, replace=False, p=T.ones((SIZE // 4,))
                                                      / (SIZE // 4)), ()),
    "chosen once by Floyd's method": (chosen(SIZE // 2, 10**9), ()),
    "chosen once of those that are few": (chosen(SIZE, 2 * SIZE), ()),
    "counts of outcomes": (RandomStreams(1).multinomial((40,), 10_000, T.ones((10_000,)) / 10_000), ()),
    "shares": (by_generator(kernel_classes()["DirichletKernel"](0, False), (2, "float64"), np.array([60]),
                            np.ones(10_000)), ()),
    "outer product": (T.outer(x, x[:3]), (numbers,)),
    "added outer product": (m + 2. * T.outer(m[:, 0], m[0]), (np.tile(rows, (3, 1)),)),
    "places of the largest": (T.argmax(m, axis=0), (np.tile(numbers, 3).reshape(-1, 3),)),
    "sums of few columns": (T.sum(m, axis=0), (np.tile(numbers, 3).reshape(-1, 3),)),
    "sums of columns of a formula": (T.exp(m).sum(axis=0), (np.tile(numbers, 3).reshape(-1, 3),)),
    "largest of columns": (T.max_and_argmax(m, axis=0)[0], (np.tile(numbers, 3).reshape(-1, 3),)),
    "cumulative sums of few columns": (T.cumsum(m, axis=0), (np.tile(numbers, 3).reshape(-1, 3),)),
    "differences": (T.extra_ops.diff(x), (np.tile(numbers, 3),)),
    "differences of short rows": (T.extra_ops.diff(m), (np.tile(numbers, 3).reshape(-1, 3),)),
    "chosen elements": (T.choose(i % 2, [x, x], mode="clip"), (np.tile(numbers, 3), np.tile(positions, 3))),
    "flat positions": (T.extra_ops.ravel_multi_index((i % 1000, i // 1000), (1000, 1000)), (np.tile(positions, 2),)),
    "coordinates": (T.extra_ops.unravel_index(i, (1000, 1000))[0], (np.tile(positions, 2),)),
    "places of truth": (T.nonzero(x > 0.2)[0], (np.tile(numbers, 4),)),
    "rows in another order": (T.permute_row_elements(m, T.arange(10)[::-1]), (np.tile(rows, (3, 1)).reshape(-1, 10),)),
    "range": (T.arange(i[0]), (np.array([3 * SIZE]),)),
    "window": (T.bartlett(i[0]), (np.array([3 * SIZE]),)),
    "triangle": (T.tri(i[0]), (np.array([2000]),)),
    "lower triangle": (T.tril(m), (np.tile(rows, (3, 1)),)),
    "diagonal": (T.diag(x), (numbers[:2000],)),
    "joined and converted": (T.concatenate([x, T.cast(i, "int8")]), (numbers, np.tile(positions, 3))),
    "few long repetitions": (T.repeat(x[:4], SIZE), (numbers,)),
    "sums of repetitions": (T.grad((T.repeat(m, 3, axis=0) ** 2).sum(), m), (rows,)),
    "added part": (T.inc_subtensor(m[1:, ::2], m[1:, ::2]), (np.tile(rows, (5, 1)),)),
    "losses": (T.nnet.categorical_crossentropy(m, i), (numbers.reshape(-1, 2), positions[:SIZE // 2] % 2)),
    "few long rows are normalized": (T.nnet.bn.batch_normalization_train(m, m[:1], m[:1], "per-activation")[0],
                                     (np.tile(numbers, 4).reshape(4, SIZE),)),
    "one long channel is normalized": (T.nnet.bn.batch_normalization_train(m, m[:1, :1], m[:1, :1], (0, 1))[0],
                                       (np.tile(rows, (3, 1)),)),
    "numbers of one group of streams": (MRG_RandomStreams(1).uniform((5 * SIZE,), nstreams=16), ()),
    "outcomes of long rows": (MRG_RandomStreams(1).multinomial(n=3, pvals=T.ones((2, SIZE)) / SIZE), ()),
    "gradient by one large image": (T.grad(T.sqr(T.nnet.conv2d(t, np.ones((1, 1, 3, 3)))).sum(), t),
                                    (np.tile(numbers, 3).reshape(1, 1, 1500, 2000),)),
    "neighbourhoods": (T.grad(T.sqr(T.nnet.neighbours.images2neibs(t, (1, 4))).sum(), t),
                       (np.tile(numbers, 2).reshape(1, 1, 1000, 2000),)),
    "number of counters": (T.extra_ops.bincount(i), (np.tile(positions, 3),)),
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


@pytest.mark.parametrize("draw", [
    lambda streams: streams.normal((SIZE,)), lambda streams: streams.permutation((20,), 50_000),
    lambda streams: streams.choice((SIZE,), SIZE, replace=False),
    lambda streams: streams.multinomial((40,), 10_000, np.full(10_000, 1e-4)),
], ids=["normal", "permutation", "choice", "multinomial"])
def test_a_stream_that_was_interrupted_draws_the_same_numbers_later(draw):
    streams = RandomStreams(3)
    function = phintys.function([], draw(streams))
    first = function()
    for look in (1, 2):
        streams.seed(3)
        assert outcome_of(function, (), look)
        np.testing.assert_array_equal(function(), first)


def test_updates_after_commit_are_not_interrupted():
    total = phintys.shared(np.zeros(SIZE), "total")
    function = phintys.function([x], updates=[(total, T.inc_subtensor(total[positions], x))])
    assert not outcome_of(function, (numbers,), 1)
    expected = np.zeros(SIZE)
    np.add.at(expected, positions, numbers)
    np.testing.assert_allclose(total.get_value(), expected)


# ---- all kernels, with inputs that take longer -----------------------------------------------------------------------
class Late(Exception):
    """What the handler of the signal raises."""


def test_every_kernel_is_walked():
    assert {title.split(":")[0] for title in LONG} | {*SHORT} == {*MADE}
    assert {*LATE} <= {*LONG}


@pytest.mark.long
@pytest.mark.parametrize("title", LONG)
def test_a_call_ends_within_100_ms(title, monkeypatch):
    monkeypatch.setattr(phintys.config, "workers", 1)      # CPU seconds of the process are those of the call
    function, arguments = called(title)
    for _ in range(3):                                     # the third call runs steps that are bound
        start = time.process_time()
        function(*arguments)
        seconds = time.process_time() - start
    before = signal.signal(signal.SIGPROF, raise_late)
    try:
        for share in (0.1, 0.6):        # on a busy machine, fresh memory takes many times as long now and then
            late = min(lateness(function, arguments, max(share * seconds, 0.002)) for _ in range(3))
            assert late < LATE.get(title, 0.1)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def lateness(function, arguments, moment):
    """How long after a moment a call ends that is to end then."""
    start = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, moment)
    try:
        function(*arguments)
    except Late:
        pass
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)         # the call may have ended before
    return time.process_time() - start - moment


def raise_late(*unused):
    raise Late
