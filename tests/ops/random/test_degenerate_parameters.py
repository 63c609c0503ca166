"""Parameters where distributions change their method, or have one value, and samples without elements: NumPy's numbers.

Each call is made on a stream of phintys and on NumPy's generator; the states after it are compared too, because some
methods use a number of the generator for a value that is certain, and others do not.
"""
import numpy
import pytest

import phintys
from phintys.ops.random.generator_states import words_of, words_of_random_state
from phintys.ops.random.orders_kernel import skips_the_impossible
from phintys.random import default_rng
from phintys.tensor.raw_random import multinomial_helper
from phintys.tensor.shared_randomstreams import RandomStreams

P = numpy.array([0, 1e-300, 1e-12, 0.1, 0.3, 0.5, numpy.nextafter(0.5, 1), 0.7, 1 - 1e-12, 1])
TRIALS = numpy.array([0, 1, 2, 9, 20, 29, 30, 31, 60, 61, 100, 1000, 10 ** 6, 10 ** 12])[:, None]
SCALES = numpy.array([0, 1e-3, 0.5, 1, numpy.nextafter(1, 2), 2, 3, 10, 100, 1e6, 1e300])
POSITIVE, LOCATIONS = SCALES[1:-1], numpy.array([-1e300, -3, 0, 1, 1e5])[:, None]
MEANS = numpy.array([0, 1e-300, 1e-3, 1, 9.99, numpy.nextafter(10, 0), 10, 10.01, 100, 1e6, 1e15])
SHARES = numpy.array([[1.0, 0, 0], [0, 0, 1], [0.5, 0, 0.5], [0, 0.5, 0.5], [1e-9, 1 - 2e-9, 1e-9], [0.2, 0.3, 0.5]])
COUNTS = numpy.array([[0], [1], [7], [1000], [10 ** 6]])
NO_ROWS, NO_COLUMNS = numpy.zeros((0, 3)), numpy.zeros((3, 0))

# Parameters of the methods of Generator and, where RandomState has the method natively, of those of RandomStreams.
PARAMETERS = {
    "binomial": (TRIALS, P), "poisson": (MEANS,), "normal": (LOCATIONS, SCALES), "uniform": (LOCATIONS, SCALES + 1e5),
    "exponential": (SCALES,), "gamma": (SCALES[:, None], SCALES), "standard_gamma": (SCALES,), "rayleigh": (SCALES,),
    "laplace": (LOCATIONS, SCALES), "gumbel": (LOCATIONS, SCALES), "logistic": (LOCATIONS, SCALES),
    "chisquare": (POSITIVE,), "pareto": (POSITIVE,), "power": (POSITIVE,), "standard_t": (POSITIVE,),
    "weibull": (SCALES,), "beta": (POSITIVE[:, None], POSITIVE), "f": (POSITIVE[:, None], POSITIVE),
    "lognormal": (numpy.array([[-3], [0], [1]]), SCALES[:5]), "wald": (POSITIVE[:, None], POSITIVE),
    "noncentral_chisquare": (POSITIVE[:, None], SCALES[:-2]), "noncentral_f": (POSITIVE[:, None], POSITIVE, 0.0),
    "vonmises": (LOCATIONS[1:4], numpy.array([0, 1e-9, 1e-8, 9e-6, 1e-5, 1e-3, 1, 100, 1e6, 1e7])),
    "geometric": (numpy.array([1e-12, 0.3, 0.333333, numpy.nextafter(1 / 3, 1), 0.34, 1]),),
    "logseries": (numpy.array([0, 1e-300, 1e-12, 0.5, 0.95, 0.99]),),
    "zipf": (numpy.array([1.0000001, 1.5, 10, 1024, 1025, 1e6]),),
    "negative_binomial": (numpy.array([[1e-3], [1], [100]]), P[4:]),
    "hypergeometric": (numpy.array([[0], [3], [1000]]), numpy.array([20, 50, 1000]), 20),
    "triangular": (numpy.array([-1, 0]), numpy.array([0, 0.5]), numpy.array([1, 2])),
    "integers": (numpy.array([[0], [-5]]), numpy.array([1, 10, 2 ** 32 - 1, 2 ** 32, 2 ** 32 + 1, 2 ** 33, 2 ** 40])),
    "multinomial": (COUNTS, SHARES),
}
NAMES = {"binomial": "np", "poisson": ("lam",), "normal": ("avg", "std"), "uniform": ("low", "high")}


def check(function, draw, generator, words):
    """Compare two draws, and the state after them."""
    for _ in range(2):
        numpy.testing.assert_array_equal(function(), draw(generator))
    state, = function.get_shared()
    numpy.testing.assert_array_equal(state.get_value(borrow=True, return_internal_type=True)[1:], words()[1:])


def sizes_of(name, parameters):
    """With parameters that are arrays, and with the first elements; few samples, many, and none."""
    last = -1 if name == "multinomial" else None
    shape = numpy.broadcast_shapes(*[numpy.shape(value)[:last] if value is SHARES else numpy.shape(value)
                                     for value in parameters])
    yield parameters, (3, *shape)
    yield parameters, (0, *shape)
    for place in (0, -1):
        single = [value[place] if value is SHARES else numpy.ravel(value)[place] for value in parameters]
        for size in ((), (400,), (0,)):
            yield single, size


@pytest.mark.parametrize("kind", ["PCG64", "MT19937"])
@pytest.mark.parametrize("name", PARAMETERS)
def test_generators(name, kind):
    for parameters, size in sizes_of(name, PARAMETERS[name]):
        bits = getattr(numpy.random, kind)(5)
        function = phintys.function([], getattr(default_rng(bits), name)(*parameters, size=size))
        check(function, lambda g, parameters=parameters, size=size: getattr(g, name)(*parameters, size=size),
              numpy.random.Generator(bits), lambda bits=bits: words_of(bits))


def started(make):
    """A function that draws from ``RandomState(5)``, and a state of this kind."""
    stream = RandomStreams(1)
    function = phintys.function([], make(stream))
    stream.state_updates[0][0].set_value(numpy.random.RandomState(5))
    return function, numpy.random.RandomState(5)


@pytest.mark.parametrize("name", NAMES)
def test_random_streams(name):
    for parameters, size in sizes_of(name, PARAMETERS[name]):
        function, state = started(lambda s, parameters=parameters, size=size: getattr(s, name)(
            size, **dict(zip(NAMES[name], parameters))))
        check(function, lambda state, parameters=parameters, size=size: getattr(state, name)(*parameters, size=size),
              state, lambda state=state: words_of_random_state(state))


@pytest.mark.parametrize("n, p", [(400, 0.3), (10 ** 5, 0.97), (10 ** 9, 1e-4), (10 ** 15, 0.5), (62, 0.5)])
def test_many_successes(n, p):
    """RandomState keeps a coefficient that Generator has corrected in NumPy 2.5: a count in 10,000 depends on it."""
    function, state = started(lambda s: s.binomial((200_000,), n, p))
    check(function, lambda state: state.binomial(n, p, 200_000), state, lambda: words_of_random_state(state))


def test_multinomial_counts_of_random_streams():
    for counts, shares, size in ((COUNTS, SHARES, (2, 5, 6)), (COUNTS, SHARES, (0, 5, 6)), (0, SHARES[0], (3,)),
                                 (5, SHARES[1], (3,)), (5, SHARES[0], ()), (5, [1.0], (2,)), (0, [1.0], (2,))):
        given = numpy.asarray(counts), numpy.asarray(shares)
        function, state = started(lambda s, given=given, size=size: s.multinomial(size, *given))
        check(function, lambda state, given=given, size=size: multinomial_helper(state, *given, size), state,
              lambda state=state: words_of_random_state(state))


def test_numpy_is_asked_whether_it_skips_the_impossible():
    """NumPy 2.5 draws a number where an outcome has no chance (numpy issue 32299), and earlier versions do not."""
    state, other = numpy.random.RandomState(5), numpy.random.RandomState(5)
    state.multinomial(0, [0.5, 0.5])
    assert skips_the_impossible() == (state.uniform() == other.uniform())


SHUFFLED = {
    "a choice of none without replacement": (lambda s: s.choice((0,), 5, False), lambda r: r.choice(5, (0,), False)),
    "a choice of none": (lambda s: s.choice((0, 2), 5, True), lambda r: r.choice(5, (0, 2), True)),
    "a choice of none by shares": (lambda s: s.choice((0,), 3, False, SHARES[5]),
                                   lambda r: r.choice(3, 0, False, SHARES[5])),
    "a choice of none of one": (lambda s: s.choice((0,), 1, False), lambda r: r.choice(1, 0, False)),
    "no permutations": (lambda s: s.permutation((0, 2), 5), lambda r: numpy.zeros((0, 2, 5))),
    "permutations of none": (lambda s: s.permutation((2,), 0), lambda r: numpy.zeros((2, 0))),
    "integers that are certain": (lambda s: s.random_integers((3,), 7, 7), lambda r: r.randint(7, 8, 3)),
    "some integers that are certain": (lambda s: s.random_integers((3,), 7, [7, 9, 2 ** 40]),
                                       lambda r: r.randint(7, [8, 10, 2 ** 40 + 1], 3)),
}


@pytest.mark.parametrize("name", SHUFFLED)
def test_orders_of_random_streams(name):
    make, draw = SHUFFLED[name]
    function, state = started(make)
    check(function, draw, state, lambda: words_of_random_state(state))


def shuffled(generator, x, axis):
    if isinstance(generator, numpy.random.Generator):
        x = x.copy()
        generator.shuffle(x, axis=axis)
        return x
    return generator.shuffle(x, axis=axis)


@pytest.mark.parametrize("shape", [(0,), (1,), (0, 3), (3, 0), (1, 3), (2, 0, 3)])
def test_orders_of_slices_without_elements(shape):
    """NumPy's ``shuffle`` draws no numbers for an array without elements; ``permutation`` does."""
    x = numpy.arange(float(numpy.prod(shape))).reshape(shape)
    for axis in range(-len(shape), len(shape)):
        for draw in (shuffled, lambda g, x, axis: g.permutation(x, axis=axis),
                     lambda g, x, axis: g.permuted(x, axis=axis)):
            bits = numpy.random.PCG64(5)
            function = phintys.function([], draw(default_rng(bits), x, axis))
            check(function, lambda g, draw=draw, axis=axis: draw(g, x, axis), numpy.random.Generator(bits),
                  lambda bits=bits: words_of(bits))
