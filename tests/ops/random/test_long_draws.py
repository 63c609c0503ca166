"""Long draws run loops over blocks of bits: they have NumPy's numbers and leave NumPy's state, wherever they begin."""
import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.ops.random.generator_states import words_of, words_of_random_state
from phintys.random import default_rng
from phintys.tensor.shared_randomstreams import RandomStreams

SIZES = (1, 7, 127, 128, 129, 255, 256, 257, 299, 300, 0, 311, 513, 1, 624, 625, 2000, 3, 5001, 40_000, 300_001)
MULTIPLIER, WIDE = 0x2360ED051FC65DA44385DF649FCCF645, 2 ** 128

# The same call on a stream of phintys, with a symbolic length, and on NumPy's generator.
GENERATOR_DRAWS = {
    "normal": lambda g, n: g.normal(size=(n,)),
    "uniform": lambda g, n: g.random(size=(n,)),
    "short normal": lambda g, n: g.standard_normal(size=(n,), dtype="float32"),
    "short uniform": lambda g, n: g.random(size=(n,), dtype="float32"),
    "integers": lambda g, n: g.integers(3, 2 ** 40, size=(n,)),
    "short integers": lambda g, n: g.integers(0, 2 ** 32, size=(n,)),
    "integers, few": lambda g, n: g.integers(-3, 4, size=(n,)),
    "integers, many rejected": lambda g, n: g.integers(-5, 3 * 2 ** 30, size=(n,)),
    "integers, almost all": lambda g, n: g.integers(0, 2 ** 32 - 1, size=(n,)),
    "one integer": lambda g, n: g.integers(5, 6, size=(n,)),
    "binomial": lambda g, n: g.binomial(10, 0.3, size=(n,)),
    "binomial, frequent": lambda g, n: g.binomial(40, 0.7, size=(n,)),
    "binomial, many": lambda g, n: g.binomial(400, 0.3, size=(n,)),
    "binomial, never": lambda g, n: g.binomial(0, 0.3, size=(n,)),
    "binomial, impossible": lambda g, n: g.binomial(10, 0.0, size=(n,)),
    "poisson": lambda g, n: g.poisson(3.0, size=(n,)),
}
STATE_DRAWS = {
    "uniform": (lambda s, n: s.uniform((n,), -1.0, 2.5), lambda r, n: r.uniform(-1.0, 2.5, n)),
    "short uniform": (lambda s, n: s.uniform((n,), dtype="float32"), lambda r, n: r.uniform(size=n).astype("f")),
    "normal": (lambda s, n: s.normal((n,), 1.0, 2.0), lambda r, n: r.normal(1.0, 2.0, n)),
    "short normal": (lambda s, n: s.normal((n,), dtype="float32"), lambda r, n: r.normal(size=n).astype("f")),
    "binomial": (lambda s, n: s.binomial((n,), 10, 0.3), lambda r, n: r.binomial(10, 0.3, n)),
    "binomial, frequent": (lambda s, n: s.binomial((n,), 40, 0.7, dtype="int8"),
                           lambda r, n: r.binomial(40, 0.7, n).astype("int8")),
    "binomial, many": (lambda s, n: s.binomial((n,), 400, 0.3), lambda r, n: r.binomial(400, 0.3, n)),
    "poisson": (lambda s, n: s.poisson((n,), 3.0), lambda r, n: r.poisson(3.0, n)),
    "integers": (lambda s, n: s.random_integers((n,), 0, 99), lambda r, n: r.randint(0, 100, n)),
    "short integers": (lambda s, n: s.random_integers((n,), 0, 99, dtype="int16"),
                       lambda r, n: r.randint(0, 100, n).astype("int16")),
}


@pytest.fixture
def workers(request):
    """So many threads are used by functions that are first called in the test."""
    with phintys.change_flags(workers=request.param):
        yield request.param


@pytest.mark.parametrize("workers", [1, 3], indirect=True)
@pytest.mark.parametrize("kind", ["PCG64", "MT19937", "SFC64"])
@pytest.mark.parametrize("name", GENERATOR_DRAWS)
def test_generators(name, kind, workers):
    length, bits = T.lscalar(), getattr(numpy.random, kind)(5)
    function = phintys.function([length], GENERATOR_DRAWS[name](default_rng(bits), length))
    generator = numpy.random.Generator(bits)
    for size in SIZES:
        got, wanted = function(size), GENERATOR_DRAWS[name](generator, size)
        assert got.dtype == wanted.dtype
        numpy.testing.assert_array_equal(got, wanted)
    numpy.testing.assert_array_equal(function.get_shared()[0].get_value()[3:], words_of(bits)[3:])


@pytest.mark.parametrize("name", ["uniform", "short uniform", "binomial"])
def test_processors_without_vectors_of_long_products(name):
    """The numbers of PCG64 are the same with and without them, also when one follows the other."""
    length, bits = T.lscalar(), numpy.random.PCG64(5)
    function = phintys.function([length], GENERATOR_DRAWS[name](default_rng(bits), length))
    generator = numpy.random.Generator(bits)
    for turn, size in enumerate((*SIZES, *SIZES, *SIZES)):
        with phintys.change_flags(cpu=("baseline", "avx2", "native", "native")[turn % 4]):
            numpy.testing.assert_array_equal(function(size), GENERATOR_DRAWS[name](generator, size))


@pytest.mark.parametrize("workers", [1, 3], indirect=True)
@pytest.mark.parametrize("name", STATE_DRAWS)
def test_random_states(name, workers):
    make, drawn = STATE_DRAWS[name]
    length, stream, state = T.lscalar(), RandomStreams(77), numpy.random.RandomState(3)
    sample = make(stream, length)
    stream.state_updates[0][0].set_value(state)
    function = phintys.function([length], sample)
    for size in SIZES:
        got, wanted = function(size), drawn(state, size)
        assert got.dtype == wanted.dtype
        numpy.testing.assert_array_equal(got, wanted)
    words = stream.state_updates[0][0].get_value(return_internal_type=True)
    numpy.testing.assert_array_equal(words[3:], words_of_random_state(state)[3:])


@pytest.mark.parametrize("mean, deviation", [(0.0, 1.0), (2.5, 0.3)])
def test_normal_numbers_of_a_random_state_without_vectors(mean, deviation):
    """They are NumPy's with and without vectors, for any count and at any place of the block of words."""
    length, stream, state = T.lscalar(), RandomStreams(77), numpy.random.RandomState(3)
    sample = stream.normal((length,), mean, deviation)
    stream.state_updates[0][0].set_value(state)
    function = phintys.function([length], sample)
    for turn, size in enumerate([*range(70), *range(70), 3, 620, 1, 1251, 5000, 9, 2, 2, 2]):
        with phintys.change_flags(cpu="baseline" if turn % 3 == 1 else "native"):
            numpy.testing.assert_array_equal(function(size), state.normal(mean, deviation, size))


@pytest.mark.parametrize("step", [1, 2, -1])
def test_few_normal_numbers_of_a_state_that_is_given(step):
    """The words are read from the given state, whatever its strides, and it stays; a refill is at place 624."""
    stream, given = RandomStreams(77), T.vector(dtype="uint64")
    sample = stream.normal((10,), 1.5, 0.5)
    shared, new_state = stream.state_updates[0]
    function = phintys.function([given], [sample, new_state], givens={shared: given}, no_default_updates=True)
    state = numpy.random.RandomState(3)
    for _ in range(60):
        words = words_of_random_state(state)
        room = numpy.full(3 * len(words), 2 ** 63 + 5, "uint64")
        argument = room[::step][:len(words)]
        argument[:] = words
        got, after = function(argument)
        numpy.testing.assert_array_equal(got, state.normal(1.5, 0.5, 10))
        numpy.testing.assert_array_equal(after, words_of_random_state(state))
        numpy.testing.assert_array_equal(argument, words)


def largest_next(place):
    """A PCG64 whose number at a place is the largest below 1."""
    bits = numpy.random.PCG64(1)
    state = bits.state
    high = 0x0123456789ABCDEF
    number = high << 64 | high ^ (2 ** 64 - 1)                          # both halves differ in each bit
    for _ in range(place + 1):
        number = (number - state["state"]["inc"]) * pow(MULTIPLIER, -1, WIDE) % WIDE
    state["state"]["state"] = number
    bits.state = state
    assert numpy.random.Generator(bits).random(place + 1)[-1] == 1 - 2.0 ** -53
    bits.state = state
    return bits


@pytest.mark.parametrize("place", [0, 3, 299, 511, 999])
@pytest.mark.parametrize("trials, p", [(2, 0.15), (5, 0.04), (3, 0.47)])
def test_a_number_that_exceeds_all_probabilities_is_replaced(trials, p, place):
    """Rounded probabilities of all counts sum to less than the largest number; NumPy then takes the next number."""
    bits = largest_next(place)
    function = phintys.function([], default_rng(bits).binomial(trials, p, size=1000))
    generator = numpy.random.Generator(bits)
    for _ in range(2):
        numpy.testing.assert_array_equal(function(), generator.binomial(trials, p, size=1000))
