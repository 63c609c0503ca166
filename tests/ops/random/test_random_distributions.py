"""The distributions of RandomState beyond Theano's, with its numbers and states; seeds that are computed."""
import inspect
import pickle

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.ops.random.generator_states import words_of_random_state
from phintys.sandbox.rng_mrg import MRG_RandomStreams
from phintys.tensor.shared_randomstreams import RandomStreams

MATRIX = numpy.arange(12.0).reshape(4, 3)

# How streams and RandomState are called alike.
CALLS = {
    "beta": lambda r: r.beta([[0.5], [2.0]], [1.0, 2.0, 3.0]), "chisquare": lambda r: r.chisquare(3.0, 5),
    "dirichlet": lambda r: r.dirichlet([1.0, 2.0, 3.0]), "dirichlet, size": lambda r: r.dirichlet([0.1, 2.0], (2, 3)),
    "exponential": lambda r: r.exponential(size=(2, 3)), "f": lambda r: r.f(2.0, 3.0, 4),
    "gamma": lambda r: r.gamma([0.5, 1.0, 3.0], 2.0), "geometric": lambda r: r.geometric(0.2, size=9),
    "gumbel": lambda r: r.gumbel(1.0, 0.3, (3,)), "hypergeometric": lambda r: r.hypergeometric(5, 7, [3, 6, 2]),
    "laplace": lambda r: r.laplace(size=4), "logistic": lambda r: r.logistic(scale=0.1, size=4),
    "lognormal": lambda r: r.lognormal(0.1, 0.3), "logseries": lambda r: r.logseries(0.2, 9),
    "multivariate_normal": lambda r: r.multivariate_normal([1.0, 2.0], [[1.0, 0.2], [0.2, 1.0]], 3),
    "multivariate_normal, one": lambda r: r.multivariate_normal([1.0], [[2.0]], check_valid="ignore"),
    "negative_binomial": lambda r: r.negative_binomial(2.5, 0.3, 9),
    "noncentral_chisquare": lambda r: r.noncentral_chisquare(2.0, 0.4, 4),
    "noncentral_f": lambda r: r.noncentral_f(3.0, 4.0, 0.5, 4), "pareto": lambda r: r.pareto(3.0, 4),
    "power": lambda r: r.power(3.0, 4), "rayleigh": lambda r: r.rayleigh(1.3, 4), "rand": lambda r: r.rand(2, 3),
    "rand, one": lambda r: r.rand(), "randn": lambda r: r.randn(5), "random_sample": lambda r: r.random_sample((2, 3)),
    "random": lambda r: r.random(4), "randint": lambda r: r.randint(-5, 7, (3, 4)),
    "randint, last": lambda r: r.randint(9),
    "randint, int8": lambda r: r.randint([0, 100], [5, 120], size=(4, 2), dtype="int8"),
    "randint, bool": lambda r: r.randint(2, size=70, dtype=bool), "standard_cauchy": lambda r: r.standard_cauchy(5),
    "standard_exponential": lambda r: r.standard_exponential(5), "standard_gamma": lambda r: r.standard_gamma([0.5, 3]),
    "standard_normal": lambda r: r.standard_normal(5), "standard_t": lambda r: r.standard_t(3.0, 4),
    "tomaxint": lambda r: r.tomaxint((2,)), "triangular": lambda r: r.triangular(-1.0, 0.0, [1.0, 2.0]),
    "vonmises": lambda r: r.vonmises(0.1, [1e-9, 2.0]), "wald": lambda r: r.wald(1.0, 2.0, 4),
    "weibull": lambda r: r.weibull(3.0, 4), "zipf": lambda r: r.zipf(2.5, 9),
    "none": lambda r: r.gamma(2.0, size=(0, 3)),
    "one": lambda r: r.gamma(2.0, 1.0, ()), "after a normal number": lambda r: r.standard_normal(3),
}


def state_of(seed):
    return numpy.random.RandomState(int(numpy.random.RandomState(seed).randint(2 ** 30)))


@pytest.mark.parametrize("name", CALLS)
def test_numbers_and_states_are_those_of_random_state(name):
    stream, state = RandomStreams(77), state_of(77)
    sample = CALLS[name](stream)
    function = phintys.function([], sample)
    for _ in range(2):
        found, wanted = function(), numpy.asarray(CALLS[name](state))
        assert found.shape == wanted.shape and found.dtype == sample.dtype == wanted.dtype
        numpy.testing.assert_array_equal(found, wanted)
    numpy.testing.assert_array_equal(sample.rng.get_value(return_internal_type=True), words_of_random_state(state))


@pytest.mark.parametrize("shape", [(5,), (4, 3), (0,), (1,), (0, 3), (3, 0), (2, 2, 2)])
def test_shuffle(shape):
    values = numpy.arange(float(numpy.prod(shape))).reshape(shape)
    sample, state = RandomStreams(77).shuffle(T.as_tensor_variable(values)), state_of(77)
    wanted = values.copy()
    state.shuffle(wanted)
    numpy.testing.assert_array_equal(phintys.function([], sample)(), wanted)
    numpy.testing.assert_array_equal(sample.rng.get_value(return_internal_type=True), words_of_random_state(state))


def test_all_methods_are_there():
    """With NumPy's names and order of parameters, except for Theano's own."""
    names = {name for name in dir(numpy.random.RandomState) if not name.startswith("_")}
    assert names - set(dir(RandomStreams)) == {"bytes", "get_state", "set_state"}
    assert list(inspect.signature(RandomStreams.gamma).parameters) == "self shape scale size ndim dtype".split()
    for call in (lambda s: s.gamma(), lambda s: s.gamma(1.0, 2.0, 3, None, None, 4), lambda s: s.beta(1.0, 2.0, c=3)):
        with pytest.raises(TypeError):
            call(RandomStreams(1))


def test_symbolic_parameters_and_sizes():
    shape, size, n = T.dvector(), T.lvector(), T.lscalar()
    sample = RandomStreams(77).gamma(shape, 2.0)
    numpy.testing.assert_array_equal(phintys.function([shape], sample)([0.5, 3.0]), state_of(77).gamma([0.5, 3.0], 2.0))
    for given, value, wanted in ((size, [2, 3], (2, 3)), ((n, 2), 3, (3, 2)), (n, 4, 4)):
        sample = RandomStreams(77).beta(2.0, 3.0, given, **({"ndim": 2} if given is size else {}))
        f = phintys.function([n if given is not size else size], sample)
        numpy.testing.assert_array_equal(f(value), state_of(77).beta(2.0, 3.0, wanted))


def test_bad_parameters_change_no_state():
    p = T.dscalar()
    sample = RandomStreams(77).geometric(p, 3)
    f = phintys.function([p], sample)
    with pytest.raises(ValueError, match="p"):
        f(1.5)
    numpy.testing.assert_array_equal(f(0.5), state_of(77).geometric(0.5, 3))


def test_numbers_keep_their_precision_and_samples_have_floatx():
    with phintys.change_flags(floatX="float32"):
        sample = RandomStreams(77).gamma(0.1, 0.7, 4)
    assert sample.dtype == "float32"
    numpy.testing.assert_array_equal(phintys.function([], sample)(), state_of(77).gamma(0.1, 0.7, 4).astype("float32"))
    assert RandomStreams(77).gamma(0.1, size=4, dtype="float64").dtype == "float64"


@pytest.mark.parametrize("mode", ["FAST_COMPILE", "DebugMode"])
def test_modes_loops_and_pickles(mode):
    stream = RandomStreams(77)
    rows, updates = phintys.scan(lambda: stream.gamma(2.0, size=(2,)), n_steps=3)
    state = state_of(77)
    f = phintys.function([], rows, updates=updates, mode=mode)
    numpy.testing.assert_array_equal(f(), [state.gamma(2.0, size=2) for _ in range(3)])
    f = pickle.loads(pickle.dumps(phintys.function([], RandomStreams(77).randint(9, size=3, dtype="int8"))))
    numpy.testing.assert_array_equal(f(), state_of(77).randint(9, size=3, dtype="int8"))


# ---- seeds -----------------------------------------------------------------------------------------------------------
def samples(stream):
    return [stream.normal((3,)), stream.gamma(2.0, size=4), stream.binomial((400,), 9, 0.3)]


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE", "DebugMode"])
def test_a_computed_seed(mode):
    seed, seeds = T.lscalar("seed"), T.lvector("seeds")
    for variable, values in ((seed, (5, 5, 2 ** 32 - 1, 0)), (seeds, ([1, 2], [5]))):
        f = phintys.function([variable], samples(RandomStreams(variable)), mode=mode)
        for value in values:
            wanted = phintys.function([], samples(RandomStreams(value)))()
            for one, other in zip(f(value), wanted):
                numpy.testing.assert_array_equal(one, other)
    kept = phintys.shared(5)
    f = phintys.function([], samples(RandomStreams(kept)), mode=mode)
    numpy.testing.assert_array_equal(f()[0], state_of(5).normal(size=3))
    kept.set_value(6)
    numpy.testing.assert_array_equal(f()[0], state_of(6).normal(size=3))


def test_states_are_seeded_by_a_function():
    stream, seed = RandomStreams(77), T.lscalar("seed")
    f, seeded = phintys.function([], samples(stream)), phintys.function([seed], [], updates=stream.seed(seed))
    seeded(9)
    found = f()
    stream.seed(9)
    for one, other in zip(found, f()):
        numpy.testing.assert_array_equal(one, other)
    before = [state.get_value(return_internal_type=True) for state, _ in stream.state_updates]
    with pytest.raises(ValueError, match="a seed is an integer from 0 to"):
        seeded(-1)
    for (state, _), words in zip(stream.state_updates, before):
        numpy.testing.assert_array_equal(state.get_value(return_internal_type=True), words)


def test_seeds_that_are_refused():
    for wrong in (T.dscalar(), T.lmatrix()):
        with pytest.raises(TypeError, match="a seed is an integer"):
            RandomStreams(wrong).normal((2,))
    with pytest.raises(ValueError, match="no states to seed"):
        RandomStreams(T.lscalar("seed")).seed(3)
    with pytest.raises(TypeError, match="1 integer or 6 integers, got .*RandomStreams takes seeds that are computed"):
        MRG_RandomStreams(T.lscalar("seed"))
    with pytest.raises(TypeError, match="a seed is an integer of at least 0"):
        phintys.random.default_rng(T.lscalar("seed"))
