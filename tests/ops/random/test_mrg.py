"""MRG_RandomStreams: numbers of Theano 1.0.5 for a seed, however the function was compiled; errors; gradients."""
import pickle
import zlib

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.ifelse import ifelse
from phintys.ops.random.mrg_normal import WithFirstRows
from phintys.sandbox import rng_mrg
from phintys.sandbox.rng_mrg import MRG_RandomStreams

PROBABILITIES = numpy.random.RandomState(0).dirichlet(numpy.ones(9), size=30)

# What was drawn → (how, checksum of three draws in Theano 1.0.5).
EXACT = {
    "float16": (lambda s: s.uniform((7, 100), dtype="float16", nstreams=67), 0x94c20f6f),
    "float32": (lambda s: s.uniform((7, 100), dtype="float32", nstreams=67), 0x8637249f),
    "float64": (lambda s: s.uniform((7, 100), dtype="float64", nstreams=67), 0x9e685e38),
    "few": (lambda s: s.uniform((2, 3), dtype="float32"), 0x1cf56df6),
    "few float64": (lambda s: s.uniform((2, 3)), 0x62be8eb3),
    "bounds": (lambda s: s.uniform(T.as_tensor_variable([20, 1000]), ndim=2, low=-1, high=3.), 0x83354a65),
    "binomial": (lambda s: s.binomial((50, 50), p=0.3), 0xf417b8e4),
    "multinomial": (lambda s: s.multinomial(pvals=PROBABILITIES, n=1), 0x55cef13c),
    "multinomial float32": (lambda s: s.multinomial(pvals=PROBABILITIES.astype("float32")), 0x55cef13c),
    "five samples": (lambda s: s.multinomial(pvals=PROBABILITIES, n=5, dtype="float32"), 0x002bacdd),
    "choice": (lambda s: s.choice(p=PROBABILITIES, size=5, replace=False), 0x8ea78d68),
    "choice float32": (lambda s: s.choice(p=PROBABILITIES.astype("float32"), size=5, replace=False), 0x8ea78d68),
}

# The first three and last two numbers of three draws; the functions that they are computed with round differently.
ROUNDED = {
    "normal": (lambda s: s.normal((5, 7)), [0.058067678157790764, 1.0622087660993207, 0.8522073956719277],
               [-0.8818520183435663, 1.2172375937767925]),
    "normal float32": (lambda s: s.normal((5, 7), dtype="float32"),
                       [0.05806746706366539, 1.0622090101242065, 0.8522074818611145],
                       [-0.8818522095680237, 1.2172378301620483]),
    "truncated": (lambda s: s.truncated_normal((5, 70), avg=1., std=2.),
                  [-0.7047476988688166, 3.726590652835643, -0.7137476233869711],
                  [-2.3087246940052566, -2.538217603700785]),
}


def draws(make, count=3, seed=12345, **options):
    draw = phintys.function([], make(MRG_RandomStreams(seed)), **options)
    return numpy.array([draw() for _ in range(count)])


@pytest.mark.parametrize("name", EXACT)
def test_numbers_are_those_of_theano(name):
    make, checksum = EXACT[name]
    assert zlib.crc32(draws(make).tobytes()) == checksum


@pytest.mark.parametrize("name", ROUNDED)
def test_normal_numbers_are_those_of_theano(name):
    make, first, last = ROUNDED[name]
    numbers = draws(make).ravel()
    tolerance = 3e-6 if numbers.dtype == "float32" else 1e-14
    numpy.testing.assert_allclose([*numbers[:3], *numbers[-2:]], first + last, atol=tolerance)


def of_uniform(state, count, dtype):
    """The new state and normal samples, by the formula, of uniform ones."""
    pairs = (count + 1) // 2
    left, uniform = phintys.function([], rng_mrg.mrg_uniform.new(state, 1, dtype, (2 * pairs,)))()
    angle = numpy.array(2 * numpy.pi, dtype) * uniform[pairs:]
    radius = numpy.sqrt(-2 * numpy.log(uniform[:pairs]))
    return left, numpy.concatenate([radius * numpy.cos(angle), radius * numpy.sin(angle)])[:count]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("streams", [None, 1, 3, 64, 100])
@pytest.mark.parametrize("count", [1, 2, 7, 10, 63, 64, 65, 129, 1000, 15359, 15361, 40001])
def test_normal_numbers_are_made_of_uniform_ones(count, streams, dtype):
    source = MRG_RandomStreams(7)
    sample = source.normal((count,), dtype=dtype, nstreams=streams)
    state, = [update[0] for update in source.updates()]
    left, wanted = of_uniform(state.get_value(), count, dtype)
    numbers = phintys.function([], sample)()
    assert numbers.dtype == dtype
    # Near multiples of pi the last bits of an angle are all of its sine.
    numpy.testing.assert_allclose(numbers, wanted, rtol=3e-6 if dtype == "float32" else 4e-15,
                                  atol=2e-6 if dtype == "float32" else 1e-14)
    numpy.testing.assert_array_equal(state.get_value(), left)


@pytest.mark.parametrize("streams", [None, 7, 16, 20, 64, 70, 130])
@pytest.mark.parametrize("name, dtype", [("uniform", "float16"), ("uniform", "float32"), ("uniform", "float64"),
                                         ("normal", "float32"), ("normal", "float64")])
def test_vectors_of_few_streams_change_no_number(name, dtype, streams):
    size = T.lscalar()
    results = []
    for cpu in ("native", "baseline"):
        with phintys.change_flags(cpu=cpu):
            stream = MRG_RandomStreams(12345)
            draw = phintys.function([size], getattr(stream, name)((size,), dtype=dtype, nstreams=streams))
            results.append([draw(n) for n in (*range(1, 40), 60, 64, 65, 70, 80, 129, 300, 300)])
    for by_vectors, one_by_one in zip(*results):
        numpy.testing.assert_array_equal(by_vectors, one_by_one)


def test_the_size_of_normal_numbers_is_computed():
    n, size = T.lscalar(), T.lvector()
    by_number = phintys.function([n], MRG_RandomStreams(7).normal((n, 3)))
    by_size = phintys.function([size], MRG_RandomStreams(7).normal(size, ndim=2))
    for rows in (4, 1, 700, 0, 2):
        found = by_number(rows)
        assert found.shape == (rows, 3)
        numpy.testing.assert_array_equal(by_size([rows, 3]), found)
    with pytest.raises(ValueError, match="size"):
        by_size([2, -1])
    with pytest.raises(ValueError, match="size"):
        by_size([2, 3, 4])
    numpy.testing.assert_array_equal(by_size([5, 3]), by_number(5))


def test_normal_numbers_in_a_loop():
    source = MRG_RandomStreams(7)
    rows, updates = phintys.scan(lambda: source.normal((2, 5)), n_steps=4)
    found = phintys.function([], rows, updates=updates)()
    draw = phintys.function([], MRG_RandomStreams(7).normal((2, 5)))
    numpy.testing.assert_array_equal(found, [draw() for _ in range(4)])


def test_normal_numbers_change_the_first_rows_in_place():
    sample = MRG_RandomStreams(7).normal((10,))
    draw = phintys.function([], sample)
    state, = [shared for shared in draw.get_shared() if shared.ndim == 2]
    before = state.get_value()
    kept = state.get_value(borrow=True)                     # a view that a user keeps does not change
    draw()
    numpy.testing.assert_array_equal(kept, before)
    del kept
    memory = state.get_value(borrow=True).ctypes.data
    draw()
    assert state.get_value(borrow=True).ctypes.data == memory
    changed = (state.get_value() != before).any(axis=1)
    assert changed[:10].all() and not changed[10:].any()


def test_more_rows_than_a_state_has():
    state, rows = T.imatrix(), T.imatrix()
    assign = phintys.function([state, rows], WithFirstRows()(state, rows))
    ones, zeros = numpy.ones((3, 6), "int32"), numpy.zeros((2, 6), "int32")
    assert assign(ones, zeros).tolist() == [[0] * 6, [0] * 6, [1] * 6]
    wide = numpy.zeros((2, 12), "int32")[:, ::2]
    assert assign(numpy.asfortranarray(ones), wide).tolist() == [[0] * 6, [0] * 6, [1] * 6]
    for wrong in (numpy.zeros((4, 6), "int32"), numpy.zeros((2, 5), "int32")):
        with pytest.raises(ValueError, match="first rows of a state of shape"):
            assign(ones, wrong)


def test_a_seed_of_six_numbers():
    assert zlib.crc32(draws(lambda s: s.uniform((1000,)), seed=[1, 2, 3, 4, 5, 6]).tobytes()) == 0x487493bb


def test_the_first_number_of_the_paper():
    x, y, m1, m2 = [12345] * 3, [12345] * 3, 2 ** 31 - 1, 2 ** 31 - 21069
    numbers = []
    for _ in range(5):
        x = [(2 ** 22 * x[1] + (2 ** 7 + 1) * x[2]) % m1, *x[:2]]
        y = [(2 ** 15 * y[0] + (2 ** 15 + 1) * y[2]) % m2, *y[:2]]
        numbers.append(((x[0] - y[0]) % m1 or m1) / 2 ** 31)
    assert draws(lambda s: s.uniform((5,), nstreams=1), 1).tolist() == [numbers]


@pytest.mark.parametrize("streams", [1, 3, 63, 64, 65, 128, 200, 1000])
@pytest.mark.parametrize("size", [1, 63, 64, 130, 1000])
def test_a_sample_belongs_to_a_stream(size, streams):
    source = MRG_RandomStreams(7)
    sample = source.uniform((size,), nstreams=streams)
    state = sample.rstate.get_value()
    numbers = phintys.function([], sample)()
    for stream in range(min(streams, size)):
        alone = rng_mrg.mrg_uniform.new(state[stream:stream + 1], None, "float64", (len(numbers[stream::streams]),))
        left, wanted = phintys.function([], alone)()
        numpy.testing.assert_array_equal(numbers[stream::streams], wanted)
        numpy.testing.assert_array_equal(sample.rstate.get_value()[stream], left[0])
    numpy.testing.assert_array_equal(sample.rstate.get_value()[size:], state[size:])


@pytest.mark.parametrize("options", [
    {"mode": "FAST_COMPILE"}, {"mode": "DebugMode"}, {"mode": phintys.Mode(optimizer=None)},
    {"mode": phintys.Mode(linker="vm_nogc")}], ids=["fast_compile", "debug", "none", "nogc"])
@pytest.mark.parametrize("name", ["float32", "bounds", "binomial", "choice", "normal", "normal float32"])
def test_the_mode_changes_no_number(name, options):
    make = {**EXACT, **ROUNDED}[name][0]
    numpy.testing.assert_array_equal(draws(make, **options), draws(make))


def test_threads_change_no_number():
    def make(s):
        return s.uniform((700, 1001)) + s.binomial((700, 1001), p=0.3) + s.normal((700, 1001))
    with phintys.change_flags(workers=1):
        alone = draws(make)
    with phintys.change_flags(workers=3):
        numpy.testing.assert_array_equal(draws(make), alone)


def test_each_variable_has_streams_of_its_own():
    source = MRG_RandomStreams(5)
    f = phintys.function([], [source.uniform((4,)), source.uniform((4,))])
    first, second = f()
    assert not (first == second).any()
    assert len(source.updates()) == 2


def test_updates_and_no_updates():
    sample = MRG_RandomStreams(5).uniform((4,))
    still = phintys.function([], sample, no_default_updates=True)
    assert (still() == still()).all()
    moving = phintys.function([], sample, no_default_updates=True, updates=[sample.update])
    first = moving()
    assert (first != still()).all()


def test_seed_starts_all_streams_anew():
    source = MRG_RandomStreams(5)
    f = phintys.function([], [source.uniform((4,)), source.normal((3,)), source.binomial((9,), nstreams=2)])
    first = f()
    f()
    source.seed()
    again = f()
    source.seed(8)
    other = f()
    for before, after, different in zip(first, again, other):
        numpy.testing.assert_array_equal(before, after)
        assert (before != different).any()


@pytest.mark.parametrize("seed, kind", [
    (0, ValueError), (2147462579, ValueError), (-3, ValueError), ([0, 0, 0, 1, 1, 1], ValueError),
    ([1, 1, 1, 0, 0, 0], ValueError), ([2147483647, 1, 1, 1, 1, 1], ValueError),
    ([1, 1, 1, 1, 1, 2147462579], ValueError), ([1, 2], TypeError), ("seed", TypeError), (1.5, TypeError)])
def test_a_seed_out_of_range_changes_nothing(seed, kind):
    source = MRG_RandomStreams(5)
    sample = source.uniform((4,))
    state, stream = sample.rstate.get_value(), source.rstate.copy()
    with pytest.raises(kind, match="seed"):
        source.seed(seed)
    numpy.testing.assert_array_equal(sample.rstate.get_value(), state)
    numpy.testing.assert_array_equal(source.rstate, stream)


def test_a_state_of_another_generator():
    sample = MRG_RandomStreams(5).uniform((4,))
    f, before = phintys.function([], sample), sample.rstate.get_value()
    wrong = phintys.function([], sample, givens={sample.rstate: T.ones((3, 5), dtype="int32")})
    with pytest.raises(ValueError, match="rstate must have 6 columns.*shape .3, 5."):
        wrong()
    row = [1, 2, 3, 4, 5, 6]
    for state, message in (
            (numpy.ones((3, 5), "int32"), "a row of 6 numbers for each stream.*shape .3, 5."),
            (numpy.ones((0, 6), "int32"), "a row of 6 numbers for each stream"), ([[1, 2]], "a row of 6 numbers"),
            (numpy.array([row, [0, 0, 0, 1, 1, 1]], "int32"), "not all 0"),
            (numpy.array([row, [1, 1, 1, 0, 0, 0]], "int32"), "not all 0"),
            (numpy.array([row, [1, 1, -1, 1, 1, 1]], "int32"), "from 0 to 2147483646"),
            (numpy.array([row, [1, 1, 1, 1, 1, 2147462579]], "int32"), "from 0 to 2147462578")):
        with pytest.raises(ValueError, match=message):
            sample.rstate.set_value(state)
    for state in (numpy.arange(624.), numpy.random.RandomState(1), "state"):
        with pytest.raises(TypeError):
            sample.rstate.set_value(state)
    numpy.testing.assert_array_equal(sample.rstate.get_value(), before)
    numpy.testing.assert_array_equal(f(), phintys.function([], MRG_RandomStreams(5).uniform((4,)))())
    sample.rstate.set_value([row])
    with pytest.raises(TypeError, match="rstate must be a matrix of int32"):
        rng_mrg.mrg_uniform.new(T.dmatrix(), 1, "float64", (3,))


@pytest.mark.parametrize("call, kind, message", [
    (lambda s: s.uniform((0, 3)), ValueError, "dimension with value <= 0"),
    (lambda s: s.uniform([2, 3]), TypeError, "size must be a tuple"),
    (lambda s: s.uniform((2.5,)), TypeError, "size must be a tuple"),
    (lambda s: s.uniform((2,), high=numpy.ones((3, 2))), NotImplementedError, "Increase the size"),
    (lambda s: s.uniform((2,), colour=1), TypeError, "unexpected keyword arguments .*colour"),
    (lambda s: s.uniform((2,), dtype="int32"), TypeError, "mrg_uniform samples float16, float32, float64, not int32"),
    (lambda s: s.uniform((2,), nstreams=0), ValueError, "the number of streams"),
    (lambda s: s.normal((-1,)), ValueError, "Non-positive dimensions"),
    (lambda s: s.normal(2.5), ValueError, "Size must be"),
    (lambda s: s.binomial((2,), n=3), NotImplementedError, "n > 1"),
    (lambda s: s.multinomial(size=(3,), pvals=PROBABILITIES), ValueError, "does not use the size"),
    (lambda s: s.multinomial(pvals=PROBABILITIES[0]), NotImplementedError, "pvals.ndim = 2"),
    (lambda s: s.multinomial(), TypeError, "specify pvals"),
    (lambda s: s.choice(p=PROBABILITIES), NotImplementedError, "without replacement"),
    (lambda s: s.choice(a=3, p=PROBABILITIES, replace=False), TypeError, "a has to be None")])
def test_bad_calls(call, kind, message):
    with pytest.raises(kind, match=message):
        call(MRG_RandomStreams(5))


@pytest.mark.parametrize("make, message, wrong, right", [
    (lambda s, p: s.binomial((4,), p=p), "binomial: p must be from 0 to 1", [-0.1, 1.1, numpy.nan], [0.0, 1.0, 0.5]),
    (lambda s, std: s.normal((4,), std=std), "normal: std must be at least 0", [-0.1, -numpy.inf], [0.0, 1.0, 2.5]),
    (lambda s, std: s.normal((4,), std=std, truncate=True), "normal: std must be at least 0", [-3.0], [0.0, 1.0]),
    (lambda s, std: s.normal((4,), std=std, dtype="float16"), "normal: std must be at least 0", [-3.0], [0.0, 1.0])])
@pytest.mark.parametrize("ndim", [0, 1])
def test_a_parameter_out_of_range_changes_no_state(make, message, wrong, right, ndim):
    source, parameter = MRG_RandomStreams(5), T.TensorType("float64", (False,) * ndim)()
    f = phintys.function([parameter], make(source, parameter), allow_input_downcast=True)
    state = source.state_updates[0][0].get_value()
    for value in wrong:
        bad = value if ndim == 0 else numpy.array([0.5, 1.0, value, 0.5])
        with pytest.raises(AssertionError, match=message):
            f(bad)
        numpy.testing.assert_array_equal(source.state_updates[0][0].get_value(), state)
        with pytest.raises(ValueError, match=message):
            make(source, bad)
    for value in right:
        assert f(numpy.full((4,) * ndim, value)).shape == (4,)
    assert (source.state_updates[0][0].get_value() != state).any()


def test_probabilities_of_0_and_1():
    p = T.dscalar()
    f = phintys.function([p], MRG_RandomStreams(5).binomial((4,), p=p))
    numpy.testing.assert_array_equal(f(1.), 1)
    numpy.testing.assert_array_equal(f(0.), 0)


def test_more_outcomes_than_there_are():
    source, n = MRG_RandomStreams(5), T.lscalar()
    sample = source.choice(p=PROBABILITIES, size=n, replace=False)
    f = phintys.function([n], sample)
    state, = [state.get_value() for state, *_ in source.state_updates]
    with pytest.raises(ValueError, match="n is 10, and there are 9 outcomes"):
        f(10)
    numpy.testing.assert_array_equal(source.state_updates[0][0].get_value(), state)
    assert sorted(f(9)[0]) == list(range(9))


def test_too_many_samples():
    length = T.lscalar()
    f = phintys.function([length], MRG_RandomStreams(5).uniform((length, length)))
    with pytest.raises(ValueError, match="more than .2..31 -1. samples, got the size .50000, 50000."):
        f(50000)
    with pytest.raises(ValueError, match="dimension 0 is negative: -1"):
        f(-1)
    assert f(0).shape == (0, 0)


def test_no_gradient_passes_through_the_parameters():
    x = T.dscalar()
    with pytest.raises(phintys.gradient.NullTypeGradError):
        phintys.grad(MRG_RandomStreams(5).normal((3,), avg=x).sum(), x)


def test_a_reparametrised_sample_has_a_gradient():
    mean, deviation = T.dscalar(), T.dscalar()
    noise = MRG_RandomStreams(5).normal((3,))
    sample = mean + deviation * noise
    f = phintys.function([mean, deviation], [noise, *phintys.grad((sample ** 2).sum(), [mean, deviation])])
    noise, by_mean, by_deviation = f(1., 2.)
    numpy.testing.assert_allclose([by_mean, by_deviation],
                                  [2 * (1 + 2 * noise).sum(), 2 * ((1 + 2 * noise) * noise).sum()])


def test_dropout_has_the_gradient_of_its_mask():
    x = T.dmatrix()
    mask = MRG_RandomStreams(5).binomial(x.shape, p=0.5, dtype=x.dtype)
    f = phintys.function([x], [mask, phintys.grad((x * mask).sum(), x)])
    mask, gradient = f(numpy.ones((30, 40)))
    numpy.testing.assert_array_equal(mask, gradient)
    assert 0.3 < mask.mean() < 0.7


def test_a_sample_in_a_branch():
    condition = T.lscalar()
    sample = MRG_RandomStreams(5).uniform((4,))
    f = phintys.function([condition], ifelse(condition, sample, T.zeros(4)))
    expected = draws(lambda s: s.uniform((4,)), seed=5)
    numpy.testing.assert_array_equal(f(1), expected[0])
    assert not f(0).any()


def test_a_copy_of_a_function_has_the_same_state():
    sample = MRG_RandomStreams(5).uniform((4,))
    f = phintys.function([], sample)
    expected = draws(lambda s: s.uniform((4,)), 2, seed=5)
    numpy.testing.assert_array_equal([f(), numpy.squeeze(f.copy(share_memory=True)())], expected)


@pytest.mark.parametrize("name", ["binomial", "normal"])
def test_a_pickled_function_goes_on_where_it_was(name):
    f = phintys.function([], getattr(MRG_RandomStreams(5), name)((40,)))
    f()
    twin = pickle.loads(pickle.dumps(f))
    for _ in range(3):
        numpy.testing.assert_array_equal(f(), twin())


def test_pickled_streams():
    source = MRG_RandomStreams(5)
    sample = source.multinomial(pvals=PROBABILITIES)
    again, same = pickle.loads(pickle.dumps((source, sample)))
    numpy.testing.assert_array_equal(phintys.function([], sample)(), phintys.function([], same)())
    again.seed(6)
    source.seed(6)
    numpy.testing.assert_array_equal(phintys.function([], sample)(), phintys.function([], same)())


def test_matrices_of_jumps():
    state, f = numpy.full(6, 12345, "int32"), phintys.function
    assert rng_mrg.ff_2p72(state).dtype == "int32"
    numpy.testing.assert_array_equal(MRG_RandomStreams().get_substream_rstates(3, "float32")[2],
                                     rng_mrg.ff_2p72(rng_mrg.ff_2p72(state)))
    inputs = T.lmatrix(), T.ivector(), T.iscalar(), T.lmatrix(), T.ivector(), T.iscalar()
    values = rng_mrg.A1p72, state[:3], rng_mrg.M1, rng_mrg.A2p72, state[3:], rng_mrg.M2
    numpy.testing.assert_array_equal(f(inputs, rng_mrg.DotModulo()(*inputs))(*values), rng_mrg.ff_2p72(state))
    inputs = T.lmatrix(), T.tensor("int64", shape=(3,)), T.iscalar(), T.lmatrix(), T.lvector(), T.iscalar()
    numpy.testing.assert_array_equal(f(inputs, rng_mrg.DotModulo()(*inputs))(*values), rng_mrg.ff_2p72(state))


@pytest.mark.parametrize("size, streams", [((3,), 3), ((70, 10), 116), ((1000, 1000), 15360), (T.lvector(), 15360)])
def test_the_number_of_streams(size, streams):
    assert rng_mrg.guess_n_streams(size) == streams


def test_an_unknown_number_of_streams_can_warn():
    with pytest.warns(UserWarning, match="Can't determine #streams"):
        rng_mrg.guess_n_streams(T.lvector(), warn=True)


def test_the_old_name_of_choice():
    with pytest.warns(UserWarning, match="deprecated"):
        old = draws(lambda s: s.multinomial_wo_replacement(pvals=PROBABILITIES, n=5))
    assert zlib.crc32(old.tobytes()) == EXACT["choice"][1]


@pytest.mark.parametrize("size", [0, 1, 10, 70, 15_359, 15_360, 15_361, 50_000])
def test_few_samples_of_many_streams_change_the_rows_that_they_use(size):
    """The state has 15,360 rows where the size is not known; it is changed in place, not copied."""
    length, streams, again = T.lscalar(), MRG_RandomStreams(7), MRG_RandomStreams(7)
    sample, copied = streams.uniform((length,), ndim=1), again.uniform((length,), ndim=1, nstreams=15_360)
    function, reference = phintys.function([length], sample), phintys.function([length], copied)
    before = sample.rstate.get_value()
    function(3)
    reference(3)
    address = sample.rstate.get_value(borrow=True).ctypes.data
    for _ in range(2):
        numpy.testing.assert_array_equal(function(size), reference(size))
    state = sample.rstate.get_value(borrow=True)
    assert state.ctypes.data == address
    numpy.testing.assert_array_equal(state, copied.rstate.get_value())
    unused = max(size, 3)
    numpy.testing.assert_array_equal(state[unused:], before[unused:])
    assert size == 0 or (state[:size] != before[:size]).any()


@pytest.mark.parametrize("values, message", [
    ([[0.5, 0.5], [0.9, 0.9]], "row 1 has no probabilities: their sum is 1.8, not 1: .0.9, 0.9."),
    ([[0.5, 0.5], [0.1, 0.1]], "row 1 has no probabilities: their sum is 0.2, not 1"),
    ([[1.5, -0.5], [0.5, 0.5]], "row 0 has no probabilities: -0.5 is negative"),
    ([[numpy.nan, 0.5], [0.5, 0.5]], "row 0 has no probabilities: they contain NaN")])
@pytest.mark.parametrize("make", [
    lambda s, p: s.multinomial(pvals=p), lambda s, p: s.choice(size=2, replace=False, p=p)],
    ids=["multinomial", "choice"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_is_no_probability_changes_no_state(make, values, message, dtype):
    p, streams = T.matrix(dtype=dtype), MRG_RandomStreams(5)
    f = phintys.function([p], make(streams, p))
    state = streams.state_updates[0][0]
    before = state.get_value()
    with pytest.raises(ValueError, match=message):
        f(numpy.array(values, dtype))
    numpy.testing.assert_array_equal(state.get_value(), before)
    third = numpy.full((2, 3), 1 / 3, dtype)                       # rounded: the sum is not exactly 1
    assert f(third).shape in ((2, 3), (2, 2))


def test_a_constant_probability_is_checked_at_once():
    for p in (1.5, -0.1, [0.5, numpy.nan, 0.1]):
        with pytest.raises(ValueError, match="binomial: p must be from 0 to 1, got"):
            MRG_RandomStreams(5).binomial((3,), p=p)
