"""``phintys.random``: the numbers of NumPy's Generator for a seed, bit by bit; states, errors, gradients."""
import copy
import pickle

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.gradient import NullTypeGradError
from phintys.ifelse import ifelse
from phintys.ops.random.generator_states import KINDS, bit_generator_of, words_of
from phintys.random import Generator, GeneratorState, default_rng

# The same call makes a random variable, and NumPy's numbers.
DRAWS = {
    "random": lambda r: r.random(size=(3, 5)),
    "uniform": lambda r: r.uniform(-1.5, [1., 2., 3.], size=(2, 3)),
    "uniform of parameters": lambda r: r.uniform([[0.], [1.]], [1., 2., 3.]),
    "normal": lambda r: r.normal(0.3, 1.7, size=1000),
    "normal of parameters": lambda r: r.normal([[0.], [10.]], [1., 2., 3.]),
    "one normal": lambda r: r.normal(),
    "standard_normal": lambda r: r.standard_normal(size=7),
    "exponential": lambda r: r.exponential(2.5, size=30),
    "standard_exponential": lambda r: r.standard_exponential(size=30),
    "laplace": lambda r: r.laplace(1., 2., size=50),
    "gumbel": lambda r: r.gumbel(1., .3, size=50),
    "logistic": lambda r: r.logistic(1., .3, size=50),
    "rayleigh": lambda r: r.rayleigh(1.3, size=50),
    "gamma": lambda r: r.gamma([.5, 1., 3.], 2., size=(4, 3)),
    "standard_gamma": lambda r: r.standard_gamma([.5, 1., 3.]),
    "standard_cauchy": lambda r: r.standard_cauchy(size=5),
    "chisquare": lambda r: r.chisquare(3., size=9),
    "pareto": lambda r: r.pareto(3., size=9),
    "power": lambda r: r.power(3., size=9),
    "standard_t": lambda r: r.standard_t(3., size=9),
    "weibull": lambda r: r.weibull(3., size=9),
    "beta": lambda r: r.beta([[.5], [2.]], [1., 2., 3.]),
    "f": lambda r: r.f(2., 3., size=4),
    "lognormal": lambda r: r.lognormal(.1, .3, size=9),
    "noncentral_chisquare": lambda r: r.noncentral_chisquare(2., .4, size=4),
    "vonmises": lambda r: r.vonmises(.1, 2., size=9),
    "wald": lambda r: r.wald(1., 2., size=9),
    "noncentral_f": lambda r: r.noncentral_f(3., 4., .5, size=9),
    "geometric": lambda r: r.geometric(.2, size=30),
    "logseries": lambda r: r.logseries(.2, size=30),
    "poisson": lambda r: r.poisson([1., 100.], size=(20, 2)),
    "zipf": lambda r: r.zipf(2.5, size=30),
    "negative_binomial": lambda r: r.negative_binomial(2.5, .3, size=30),
    "binomial": lambda r: r.binomial([10, 100], .3, size=(20, 2)),
    "integers": lambda r: r.integers(-5, 7, size=40),
    "integers from 0": lambda r: r.integers(10, size=3),
    "integers of both sizes": lambda r: r.integers([0, 100], [1000, 2 ** 40], size=(9, 2), endpoint=True),
    "all integers": lambda r: r.integers(-2 ** 63, 2 ** 63 - 1, size=5, endpoint=True),
}


def check_draws(make, kind, seed=5, count=3, **options):
    """Draw by a function, and by NumPy, and compare."""
    expected = numpy.random.Generator(getattr(numpy.random, kind)(seed))
    f = phintys.function([], make(default_rng(getattr(numpy.random, kind)(seed))), **options)
    for _ in range(count):
        numbers, wanted = f(), numpy.asarray(make(expected))
        assert numbers.dtype == wanted.dtype
        numpy.testing.assert_array_equal(numbers, wanted)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", DRAWS)
def test_numbers_are_those_of_numpy(name, kind):
    check_draws(DRAWS[name], kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["random", "standard_normal", "standard_exponential"])
def test_float32_is_drawn_as_numpy_draws_it(name, kind):
    check_draws(lambda r: getattr(r, name)(size=33, dtype="float32"), kind)


def test_many_uniform_numbers():
    for size in (1, 14999, 15000, 100_003):
        check_draws(lambda r, size=size: r.random(size=size), "PCG64")


def test_threads_change_no_number():
    for workers in (1, 3):
        with phintys.change_flags(workers=workers):
            check_draws(lambda r: r.random(size=(300, 1001)), "PCG64")


@pytest.mark.parametrize("options", [
    {"mode": "FAST_COMPILE"}, {"mode": "DebugMode"}, {"mode": phintys.Mode(optimizer=None)},
    {"mode": phintys.Mode(linker="vm_nogc")}], ids=["fast_compile", "debug", "none", "nogc"])
@pytest.mark.parametrize("name", ["uniform", "normal", "gamma", "binomial", "integers"])
def test_the_mode_changes_no_number(name, options):
    check_draws(DRAWS[name], "PCG64", count=2, **options)


def test_seeds_are_those_of_numpy():
    for seed in (0, 7, [1, 2, 3], numpy.random.SeedSequence(4), numpy.random.SFC64(3), numpy.random.default_rng(9)):
        numbers = phintys.function([], default_rng(seed).random(size=3))()
        numpy.testing.assert_array_equal(numbers, numpy.random.default_rng(copy.deepcopy(seed)).random(size=3))
    first, second = [phintys.function([], default_rng().random(size=3))() for _ in range(2)]
    assert (first != second).all()


def test_each_variable_has_a_state_of_its_own():
    rng, source = default_rng(5), numpy.random.default_rng(5)
    f = phintys.function([], [rng.normal(size=3), rng.normal(size=3), rng.integers(9, size=4)])
    for numbers, expected in zip(f(), [source.normal(size=3), *[
            draw(child) for draw, child in zip([lambda r: r.normal(size=3), lambda r: r.integers(9, size=4)],
                                               numpy.random.default_rng(5).spawn(2))]]):
        numpy.testing.assert_array_equal(numbers, expected)


def test_seed_starts_anew():
    rng = default_rng(5)
    f = phintys.function([], [rng.normal(size=3), rng.random(size=3)])
    f()
    rng.seed(8)
    again = default_rng(8)
    numpy.testing.assert_array_equal(f(), phintys.function([], [again.normal(size=3), again.random(size=3)])())


@pytest.mark.parametrize("seed", [-1, 1.5, "seed", numpy.random.SFC64(1)])
def test_a_bad_seed_changes_nothing(seed):
    rng = default_rng(5)
    f = phintys.function([], rng.normal(size=3))
    with pytest.raises((TypeError, ValueError)):
        rng.seed(seed)
    numpy.testing.assert_array_equal(f(), numpy.random.default_rng(5).normal(size=3))


def test_a_user_generator_is_never_changed():
    mine = numpy.random.default_rng(5)
    rng = default_rng(mine)
    phintys.function([], [rng.normal(size=3), rng.normal(size=3)])()
    assert mine.bit_generator.state == numpy.random.default_rng(5).bit_generator.state
    assert mine.bit_generator.seed_seq.n_children_spawned == 0


@pytest.mark.parametrize("kind", KINDS)
def test_states_go_to_numpy_and_back(kind):
    bits = getattr(numpy.random, kind)(5)
    generator = numpy.random.Generator(bits)
    for _ in range(5):
        generator.integers(5, dtype="int32")
        again = numpy.random.Generator(bit_generator_of(words_of(bits)))
        twin = copy.deepcopy(generator)
        numpy.testing.assert_array_equal(again.integers(9, size=5, dtype="int32"),
                                         twin.integers(9, size=5, dtype="int32"))


def test_states_are_read_and_set():
    sample = default_rng(5).normal(size=3)
    f = phintys.function([], sample)
    assert isinstance(sample.rng, GeneratorState) and sample.rng.kind == "PCG64"
    f()
    saved = sample.rng.get_value()
    expected = sample.rng.get_generator().normal(size=3)
    numpy.testing.assert_array_equal(f(), expected)
    sample.rng.set_value(saved)
    numpy.testing.assert_array_equal(f(), expected)
    sample.rng.set_value(numpy.random.default_rng(9))
    numpy.testing.assert_array_equal(f(), numpy.random.default_rng(9).normal(size=3))


@pytest.mark.parametrize("state, kind", [
    (numpy.random.SFC64(1), ValueError), (numpy.random.Philox(1), ValueError), (numpy.zeros(3, "uint64"), ValueError),
    (numpy.random.RandomState(1), TypeError), ("state", TypeError), (numpy.zeros(7), TypeError)])
def test_the_state_of_another_generator(state, kind):
    sample = default_rng(5).normal(size=3)
    with pytest.raises(kind):
        sample.rng.set_value(state)
    numpy.testing.assert_array_equal(phintys.function([], sample)(), numpy.random.default_rng(5).normal(size=3))


@pytest.mark.parametrize("name, parameters, value, message", [
    ("normal", lambda x: (0., x), -1., "normal: scale must be at least 0, got -1"),
    ("uniform", lambda x: (x, 0.), 1., "high - low must be at least 0, got -1"),
    ("exponential", lambda x: (x,), -2., "exponential: scale must be at least 0, got -2"),
    ("binomial", lambda x: (3, x), 1.5, "binomial: p must be from 0 to 1, got 1.5"),
    ("binomial", lambda x: (3, x), numpy.nan, "binomial: p must be from 0 to 1, got nan"),
    ("poisson", lambda x: (x,), -1., "poisson: lam must be at least 0"),
    ("geometric", lambda x: (x,), 0., "geometric: p must be above 0 and at most 1"),
    ("beta", lambda x: (1., x), 0., "beta: b must be above 0"),
    ("zipf", lambda x: (x,), 1., "zipf: a must be above 1"),
    ("integers", lambda x: (T.cast(x, "int64"), 0), 3., "it is required that low <= high")])
def test_bad_parameters_change_no_state(name, parameters, value, message):
    x, rng = T.dscalar(), default_rng(5)
    sample = getattr(rng, name)(*parameters(x), size=3)
    f = phintys.function([x], sample)
    before = sample.rng.get_value()
    with pytest.raises(ValueError, match=message):
        f(value)
    numpy.testing.assert_array_equal(sample.rng.get_value(), before)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("word", [0, 2, 2 ** 64 - 1])
def test_a_state_that_no_seed_makes_ends_too(kind, word):
    rng = default_rng(getattr(numpy.random, kind)(5))
    f = phintys.function([], [rng.gamma(0.5, size=20), rng.integers(0, 10, size=20), rng.normal(size=20)])
    for state, _ in rng.state_updates:
        words = state.get_value()
        words[1:] = word
        state.set_value(words)
    assert all([numpy.isfinite(numbers).all() for numbers in f()])


def test_shapes_that_contradict_each_other():
    x, size = T.dvector(), T.lvector()
    f = phintys.function([x, size], default_rng(5).normal(x, 1., size=size, ndim=2))
    assert f([1., 2.], [3, 2]).shape == (3, 2)
    with pytest.raises(ValueError, match=r"normal: loc of shape \(3,\) cannot be broadcast to the size \(3, 2\)"):
        f([1., 2., 3.], [3, 2])
    with pytest.raises(ValueError, match=r"size must have length 2 \(not 1\)"):
        f([1., 2.], [3])
    with pytest.raises(ValueError, match="the length of dimension 1 is negative: -2"):
        f([1., 2.], [3, -2])


@pytest.mark.parametrize("call, kind, message", [
    (lambda r: r.normal(size=T.lvector()), ValueError, "pass ndim"),
    (lambda r: r.normal(size=(3,), ndim=2), ValueError, "size has 1 entries"),
    (lambda r: r.normal(size=2.5), TypeError, "integers"),
    (lambda r: r.beta(1.), TypeError, "beta takes the parameters a, b"),
    (lambda r: r.beta(1., c=2.), TypeError, "beta takes the parameters a, b")])
def test_bad_calls(call, kind, message):
    with pytest.raises(kind, match=message):
        call(default_rng(5))


def test_gradients_by_location_and_scale():
    mean, deviation = T.dscalar(), T.dscalar()
    for name in ("normal", "laplace", "gumbel", "logistic"):
        cost = getattr(default_rng(5), name)(mean, deviation, size=4).sum()
        by_mean, by_deviation = phintys.function([mean, deviation], phintys.grad(cost, [mean, deviation]))(2., 3.)
        noise = getattr(numpy.random.default_rng(5), name)(0., 1., size=4)
        numpy.testing.assert_allclose([by_mean, by_deviation], [4, noise.sum()])


def test_other_parameters_have_no_gradient():
    x = T.dscalar()
    with pytest.raises(NullTypeGradError):
        phintys.grad(default_rng(5).beta(x, 1., size=4).sum(), x)


def test_a_sample_in_a_branch_a_copy_and_a_pickle():
    condition, expected = T.lscalar(), numpy.random.default_rng(5)
    f = phintys.function([condition], ifelse(condition, default_rng(5).normal(size=3), T.zeros(3)))
    numpy.testing.assert_array_equal(f(1), expected.normal(size=3))
    f = phintys.function([], default_rng(5).normal(size=3))
    expected = numpy.random.default_rng(5)
    numpy.testing.assert_array_equal(f(), expected.normal(size=3))
    numpy.testing.assert_array_equal(numpy.squeeze(f.copy(share_memory=True)()), expected.normal(size=3))
    twin, numbers = pickle.loads(pickle.dumps(f)), expected.normal(size=3)
    numpy.testing.assert_array_equal(twin(), numbers)
    numpy.testing.assert_array_equal(f(), numbers)


def test_pickled_and_copied_generators():
    rng = default_rng(5)
    sample = rng.normal(size=3)
    for again, same in (pickle.loads(pickle.dumps((rng, sample))), copy.deepcopy((rng, sample))):
        assert isinstance(again, Generator)
        again.seed(6)
        numpy.testing.assert_array_equal(phintys.function([], same)(), numpy.random.default_rng(6).normal(size=3))
        numpy.testing.assert_array_equal(phintys.function([], again.random(size=2))(),
                                         numpy.random.default_rng(6).spawn(1)[0].random(size=2))


def test_the_default_dtype_is_floatx():
    with phintys.change_flags(floatX="float32"):
        assert default_rng(5).normal(size=3).dtype == default_rng(5).beta(1., 1., size=3).dtype == "float32"
    assert default_rng(5).poisson(3., size=3, dtype="int8").dtype == "int8"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_uniform_numbers_of_any_count(dtype):
    """Long samples are made in lanes; a half of a number may be left from the one before."""
    count, generator = T.lscalar(), numpy.random.default_rng(11)
    function = phintys.function([count], phintys.random.default_rng(11).random(size=(count,), dtype=dtype))
    for size in (1, 63, 64, 65, 127, 128, 129, 0, 511, 512, 1001, 3, 5000):
        numpy.testing.assert_array_equal(function(size), generator.random(size, dtype=dtype))


def test_the_names_of_numpy_in_the_tensor_namespace():
    T.random.seed(3)
    drawn = phintys.function([], [T.random.normal(size=2), T.random.uniform(size=2)])
    stream = T.random.RandomStream(3)
    wanted = phintys.function([], [stream.normal(size=2), stream.uniform(size=2)])
    for _ in range(2):
        assert [part.tolist() for part in drawn()] == [part.tolist() for part in wanted()]
    assert "permutation" in dir(T.random) and "random" not in T.__all__
    with pytest.raises(AttributeError, match="no attribute 'randint'; a Generator has no such method"):
        T.random.randint
