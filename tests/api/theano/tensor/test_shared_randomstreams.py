"""RandomStreams: the numbers of NumPy's RandomState, and of Theano 1.0.5, for a seed; states that failures keep."""
import copy
import pickle
import zlib

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.ifelse import ifelse
from phintys.tensor import raw_random
from phintys.tensor.raw_random import RandomFunction, random_state_type
from phintys.tensor.shared_randomstreams import RandomStateSharedVariable, RandomStreams

P = numpy.random.RandomState(0).dirichlet(numpy.ones(4), size=3)

# How a variable is made, the checksum of two draws in Theano 1.0.5, and NumPy's way to draw the same.
DRAWS = {
    "uniform": (lambda s: s.uniform((3, 4), -1, 2.5), 0xace85484, lambda r: r.uniform(-1, 2.5, (3, 4))),
    "broadcast uniform": (lambda s: s.uniform((2, -1), numpy.zeros((1, 3)), [1., 2., 3.]), 0xcf0dccca,
                          lambda r: r.uniform(0, [1, 2, 3], (2, 3))),
    "float32": (lambda s: s.uniform((7,), dtype="float32"), 0xf5e833fd, lambda r: r.uniform(size=7)),
    "normal": (lambda s: s.normal((5,), 1., [1., 2., 3., 4., 5.]), 0x85501c55, lambda r: r.normal(1, [1, 2, 3, 4, 5])),
    "shape of parameters": (lambda s: s.normal(None, [[1.], [2.]], [1., 2., 3.]), 0x8d5f27bd,
                            lambda r: r.normal([[1], [2]], [1, 2, 3])),
    "binomial": (lambda s: s.binomial((20,), 9, 0.3), 0xfd205730, lambda r: r.binomial(9, 0.3, 20)),
    "poisson": (lambda s: s.poisson((6,), [1., 2., 3., 4., 5., 100.]), 0xa0aee9db,
                lambda r: r.poisson([1, 2, 3, 4, 5, 100])),
    "random_integers": (lambda s: s.random_integers((50,), -5, 5), 0x1bdb6876, lambda r: r.randint(-5, 6, 50)),
    "broadcast integers": (lambda s: s.random_integers((2, 3), [[0], [100]], [[100, 200, 300]]), 0x7436f56f,
                           lambda r: r.randint([[0], [100]], [[101, 201, 301]])),
    "choice": (lambda s: s.choice((11,), 10), 0x6ed371ff, lambda r: r.choice(10, 11)),
    "choice without replacement": (lambda s: s.choice((8,), numpy.arange(20, 30), False), 0x21a46212,
                                   lambda r: r.choice(numpy.arange(20, 30), 8, False)),
    "choice by probability": (lambda s: s.choice((30,), 4, True, list(P[0])), 0x8a2046b1,
                              lambda r: r.choice(4, 30, True, P[0])),
    "permutation": (lambda s: s.permutation((2, 3), 6), 0x4e8f13bb,
                    lambda r: numpy.reshape([r.permutation(6) for _ in range(6)], (2, 3, 6))),
    "one permutation": (lambda s: s.permutation(n=9), 0xd90fad90, lambda r: r.permutation(9)),
    "multinomial": (lambda s: s.multinomial((5, 3), 10, P), 0xc2e59cc3,
                    lambda r: numpy.array([[r.multinomial(10, p) for p in P] for _ in range(5)])),
    "multinomial of parameters": (lambda s: s.multinomial(None, [5, 6, 7], P), 0x906f7424,
                                  lambda r: numpy.array([r.multinomial(n, p) for n, p in zip([5, 6, 7], P)])),
    "shuffle": (lambda s: s.shuffle_row_elements(T.as_tensor_variable(numpy.arange(24.).reshape(2, 3, 4))), 0x0b908a09,
                lambda r: numpy.reshape([row[r.permutation(4)] for row in numpy.arange(24.).reshape(6, 4)],
                                        (2, 3, 4))),
}


def state_of(seed):
    """The state of the first variable of RandomStreams(seed), as NumPy makes it."""
    return numpy.random.RandomState(int(numpy.random.RandomState(seed).randint(2 ** 30)))


def draws(make, count=2, seed=77, **options):
    draw = phintys.function([], make(RandomStreams(seed)), **options)
    return numpy.array([draw() for _ in range(count)])


@pytest.mark.parametrize("name", DRAWS)
def test_numbers_are_those_of_theano_and_numpy(name):
    make, checksum, drawn = DRAWS[name]
    numbers, state = draws(make), state_of(77)
    assert zlib.crc32(numbers.tobytes()) == checksum
    numpy.testing.assert_array_equal(numbers, numpy.array([drawn(state), drawn(state)]).astype(numbers.dtype))


@pytest.mark.parametrize("options", [
    {"mode": "FAST_COMPILE"}, {"mode": "DebugMode"}, {"mode": phintys.Mode(optimizer=None)},
    {"mode": phintys.Mode(linker="vm_nogc")}], ids=["fast_compile", "debug", "none", "nogc"])
@pytest.mark.parametrize("name", ["uniform", "multinomial", "shuffle"])
def test_the_mode_changes_no_number(name, options):
    numpy.testing.assert_array_equal(draws(DRAWS[name][0], **options), draws(DRAWS[name][0]))


def test_updates_and_no_updates():
    source = RandomStreams(77)
    sample = source.normal((3,))
    still = phintys.function([], sample, no_default_updates=True)
    assert (still() == still()).all()
    by_name = phintys.function([], sample, updates=source.updates())
    numpy.testing.assert_array_equal([by_name(), by_name()], draws(lambda s: s.normal((3,))))
    assert sample.update == source.state_updates[0] and sample.update[0] is sample.rng
    assert sample.rng.default_update is sample.update[1]


def test_seeds_follow_from_the_seed_of_the_streams():
    source = RandomStreams(77)
    f = phintys.function([], [source.uniform((3,)), source.uniform((3,))])
    seeds = numpy.random.RandomState(5)
    source.seed(5)
    for numbers in f():
        state = numpy.random.RandomState(int(seeds.randint(2 ** 30)))
        numpy.testing.assert_array_equal(numbers, state.uniform(size=3))
    source.seed()
    numpy.testing.assert_array_equal(f()[0], state_of(77).uniform(size=3))


@pytest.mark.parametrize("seed", [-1, 2 ** 32, "seed", 1.5, [-1]])
def test_a_seed_out_of_range_changes_nothing(seed):
    source = RandomStreams(77)
    f = phintys.function([], source.uniform((3,)))
    for call in (source.seed, RandomStreams):
        with pytest.raises((ValueError, TypeError), match=r"a seed is an integer from 0 to 2\*\*32 - 1.*, not "):
            call(seed)
    numpy.testing.assert_array_equal(f(), state_of(77).uniform(size=3))


def test_states_are_read_and_set():
    source = RandomStreams(77)
    sample = source.normal((3,))
    f = phintys.function([], sample)
    assert isinstance(sample.rng, RandomStateSharedVariable)
    copied = sample.rng.get_value()
    first = f()
    numpy.testing.assert_array_equal(copied.normal(size=3), first)
    numpy.testing.assert_array_equal(copied.normal(size=3), f())
    source[sample.rng] = numpy.random.RandomState(9)
    numpy.testing.assert_array_equal(f(), numpy.random.RandomState(9).normal(size=3))


def test_the_second_normal_number_belongs_to_the_state():
    sample = RandomStreams(77).normal((1,))
    f, state = phintys.function([], sample), state_of(77)
    numpy.testing.assert_array_equal([f() for _ in range(5)], [state.normal(size=1) for _ in range(5)])


def test_a_state_of_another_generator():
    sample = RandomStreams(77).normal((3,))
    for wrong in (numpy.random.default_rng(1), numpy.zeros(6), None):
        with pytest.raises(TypeError, match="Expected a numpy.random.RandomState"):
            sample.rng.set_value(wrong)
    numpy.testing.assert_array_equal(phintys.function([], sample)(), state_of(77).normal(size=3))


@pytest.mark.parametrize("name", DRAWS)
def test_distributions_are_native(name):
    function = phintys.function([], DRAWS[name][0](RandomStreams(77)))
    instructions = str(function.explain("instructions"))
    assert "RandomFunction{" in instructions and "CALL" not in instructions


@pytest.mark.parametrize("name", ["uniform", "normal", "integers"])
def test_long_and_short_draws_follow_each_other(name):
    """Samples of each length begin anywhere in the 624 numbers that MT19937 makes at a time."""
    length, state = T.lscalar(), state_of(5)
    make, drawn = {"uniform": (lambda s: s.uniform((length,), -1., 3.), lambda size: state.uniform(-1, 3, size)),
                   "normal": (lambda s: s.normal((length,), 1., 2.), lambda size: state.normal(1, 2, size)),
                   "integers": (lambda s: s.random_integers((length,), -3, 900),
                                lambda size: state.randint(-3, 901, size))}[name]
    function = phintys.function([length], make(RandomStreams(5)))
    for size in (1, 7, 311, 0, 312, 313, 1, 624, 625, 2000, 3, 5000):
        numpy.testing.assert_array_equal(function(size), drawn(size))


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint64", "float32", "float64"])
def test_counts_of_any_dtype(dtype):
    for make, drawn in ((lambda s: s.binomial((9,), 5, 0.4, dtype=dtype), lambda r: r.binomial(5, 0.4, 9)),
                        (lambda s: s.poisson((9,), 3., dtype=dtype), lambda r: r.poisson(3, 9)),
                        (lambda s: s.random_integers((9,), 2, 90, dtype=dtype), lambda r: r.randint(2, 91, 9))):
        sample = make(RandomStreams(77))
        assert sample.owner.op.native
        got = phintys.function([], sample)()
        numpy.testing.assert_array_equal(got, drawn(state_of(77)).astype(dtype))
        assert got.dtype == dtype


def test_other_cases_are_drawn_by_numpy():
    """Dtypes and parameters for which there is no kernel; and functions of users."""
    half = RandomStreams(77).uniform((4,), dtype="float16")
    numpy.testing.assert_array_equal(phintys.function([], half)(), state_of(77).uniform(size=4).astype("float16"))
    source = RandomStreams(77)
    beta = source.gen(lambda state, *args: RandomFunction("beta", T.dvector)(state, *args), (3,), 2.0, 3.0)
    assert not beta.owner.op.native
    function, state = phintys.function([], beta), state_of(77)
    for _ in range(2):
        numpy.testing.assert_array_equal(function(), state.beta(2.0, 3.0, 3))


def test_states_are_random_states_outside():
    sample = RandomStreams(77).normal((3,))
    function, state = phintys.function([], sample), state_of(77)
    numpy.testing.assert_array_equal(function(), state.normal(size=3))
    value = sample.rng.get_value()
    assert type(value) is numpy.random.RandomState and random_state_type.values_eq(value, state)
    value.uniform(size=1000)                                # a copy: nothing changes in the stream
    numpy.testing.assert_array_equal(function(), state.normal(size=3))
    other = numpy.random.RandomState(3)
    other.normal()                                          # the second one of the pair belongs to the state
    sample.rng.set_value(other)
    numpy.testing.assert_array_equal(function(), other.normal(size=3))
    words = sample.rng.get_value(return_internal_type=True)
    assert words.dtype == "uint64"
    with pytest.raises(ValueError, match="the state of another generator"):
        sample.rng.set_value(words[:7])
    sample.rng.set_value(words)
    with pytest.raises(TypeError, match="on MT19937"):
        sample.rng.set_value(numpy.random.RandomState(numpy.random.PCG64(1)))
    numpy.testing.assert_array_equal(function(), other.normal(size=3))


def test_native_draws_in_a_loop():
    source = RandomStreams(77)
    values, updates = phintys.scan(lambda total: total + source.normal(()), outputs_info=numpy.float64(0),
                                   n_steps=5)
    function, state = phintys.function([], values, updates=updates), state_of(77)
    for _ in range(2):
        numpy.testing.assert_allclose(function(), numpy.cumsum([state.normal() for _ in range(5)]), rtol=1e-12)


@pytest.mark.parametrize("make, value, message", [
    (lambda s, x: s.binomial((3,), 2, x), 1.5, "binomial: p must be from 0 to 1, got 1.5"),
    (lambda s, x: s.normal((3,), 0., x), -1., "normal: std must be at least 0, got -1"),
    (lambda s, x: s.poisson((3,), x), -1., "poisson: lam must be at least 0"),
    (lambda s, x: s.uniform((3,), -x, x), numpy.inf, "uniform: it is required that high - low is finite"),
    (lambda s, x: s.random_integers((3,), 0, T.cast(x, "int64")), -1., "it is required that low <= high"),
    (lambda s, x: s.multinomial((2,), 3, T.stack([x, x])), -0.5, "must not be negative"),
    (lambda s, x: s.multinomial((2,), 3, T.stack([x, x])), 0.9, "the sum of the probabilities is 1.8"),
    (lambda s, x: s.choice((2,), 2, True, T.stack([x, x])), 0.9, "do not sum to 1"),
    (lambda s, x: s.uniform((2,), [x, x, x]), 0.9, "shape mismatch|broadcast")])
def test_bad_parameters_change_no_state(make, value, message):
    source, x = RandomStreams(77), T.dscalar()
    sample = make(source, x)
    f = phintys.function([x], sample)
    with pytest.raises(ValueError, match=message):
        f(value)
    assert random_state_type.values_eq(sample.rng.get_value(), state_of(77))


@pytest.mark.parametrize("call, kind, message", [
    (lambda s: s.uniform((2, 2), ndim=1), ValueError, "ndim should be equal to len.shape."),
    (lambda s: s.uniform((-2,)), ValueError, "at least 0, or -1, not -2"),
    (lambda s: s.uniform((-1, 2)), ValueError, "Auto-shape of -1 must overlap"),
    (lambda s: s.uniform((2,), numpy.zeros((2, 2))), ValueError, "ndim should be at least as big"),
    (lambda s: s.uniform(T.dvector(), ndim=1), TypeError, "integer vector"),
    (lambda s: s.uniform((2, 1.5)), TypeError, "integer vector or list, got the length 1.5"),
    (lambda s: s.uniform(T.lmatrix(), ndim=1), TypeError, "vector or list"),
    (lambda s: s.poisson(None, 2.), TypeError, "cannot infer shape"),
    (lambda s: s.permutation(None, 2, ndim=2), TypeError, "just one permutation")])
def test_bad_calls(call, kind, message):
    with pytest.raises(kind, match=message):
        call(RandomStreams(77))


def test_the_length_of_the_size_is_checked():
    size = T.lvector()
    f = phintys.function([size], RandomStreams(77).uniform(size, ndim=2))
    assert f([2, 3]).shape == (2, 3)
    with pytest.raises(ValueError, match="Shape mismatch"):
        f([2, 3, 4])


def test_no_gradient_passes_through():
    x = T.dscalar()
    with pytest.raises(phintys.gradient.NullTypeGradError):
        phintys.grad(RandomStreams(77).normal((3,), x).sum(), x)
    noise = RandomStreams(77).normal((3,))
    by_x = phintys.function([x], phintys.grad(((x + noise) ** 2).sum(), x))(1.)
    numpy.testing.assert_allclose(by_x, 2 * (1 + state_of(77).normal(size=3)).sum())


def test_a_branch_that_is_not_taken_draws_nothing_more():
    condition = T.lscalar()
    f = phintys.function([condition], ifelse(condition, RandomStreams(77).uniform((3,)), T.zeros(3)))
    numpy.testing.assert_array_equal(f(1), state_of(77).uniform(size=3))
    assert not f(0).any()


def test_copies_and_pickles_of_a_function():
    f, state = phintys.function([], RandomStreams(77).normal((3,))), state_of(77)
    numpy.testing.assert_array_equal(f(), state.normal(size=3))
    shares = f.copy(share_memory=True)
    numpy.testing.assert_array_equal(numpy.squeeze(shares()), state.normal(size=3))
    twin = pickle.loads(pickle.dumps(f))
    expected = state.normal(size=3)
    numpy.testing.assert_array_equal(twin(), expected)
    numpy.testing.assert_array_equal(f(), expected)


@pytest.mark.parametrize("name", ["uniform", "permutation", "multinomial"])
def test_pickled_variables(name):
    make, checksum, _ = DRAWS[name]
    sample = pickle.loads(pickle.dumps(make(RandomStreams(77))))
    f = phintys.function([], sample)
    assert zlib.crc32(numpy.array([f(), f()]).tobytes()) == checksum


def test_states_as_arguments_and_results():
    state = random_state_type()
    after, sample = raw_random.uniform(state, (3,))
    f = phintys.function([state], [after, sample])
    mine = numpy.random.RandomState(3)
    new, numbers = f(mine)
    assert random_state_type.values_eq(mine, numpy.random.RandomState(3))
    numpy.testing.assert_array_equal(numbers, mine.uniform(size=3))
    assert random_state_type.values_eq(mine, new)


def test_a_function_of_the_user_draws():
    def triangle(state, left, size):
        return state.triangular(left, 0.5, 1, size)
    state = random_state_type()
    _, sample = RandomFunction(triangle, T.dvector)(state, (4,), 0.)
    numbers = phintys.function([state], sample)(numpy.random.RandomState(3))
    numpy.testing.assert_array_equal(numbers, numpy.random.RandomState(3).triangular(0, 0.5, 1, 4))


def test_overwriting_a_state():
    state = random_state_type()
    op = RandomFunction("uniform", T.dvector, inplace=True)
    assert op.destroy_map == {0: [0]} and op.overwriting({}).destroy_map == {}
    assert op == RandomFunction("uniform", T.dvector, inplace=True) != RandomFunction("uniform", T.dvector)
    argument = phintys.In(state, value=numpy.random.RandomState(3), mutable=True, update=op(state, (2,), 0., 1.)[0])
    f = phintys.function([argument], op(state, (2,), 0., 1.)[1], accept_inplace=True)
    expected = numpy.random.RandomState(3)
    numpy.testing.assert_array_equal([f(), f()], [expected.uniform(size=2), expected.uniform(size=2)])


def test_only_states_are_drawn_from():
    with pytest.raises(TypeError, match="draws from a numpy.random.RandomState"):
        raw_random.uniform(T.dscalar(), (3,))


def doubled(value, how):
    return {"deepcopy": copy.deepcopy, "pickle": lambda given: pickle.loads(pickle.dumps(given))}[how](value)


@pytest.mark.parametrize("how", ["deepcopy", "pickle"])
def test_copies_of_states_and_streams_are_independent(how):
    """Of a shared RandomState, of a stream's state, of a stream with its variables, and of functions."""
    shared = phintys.shared(numpy.random.RandomState(3), name="mine")
    twin = doubled(shared, how)
    assert type(twin) is type(shared) and twin.name == "mine" and twin.type == shared.type
    twin.get_value(borrow=True).uniform(size=5)
    assert random_state_type.values_eq(shared.get_value(), numpy.random.RandomState(3))
    source = RandomStreams(77)
    sample = source.uniform((3,))
    state = doubled(sample.rng, how)
    assert isinstance(state, RandomStateSharedVariable)
    state.set_value(numpy.random.RandomState(1))
    assert random_state_type.values_eq(sample.rng.get_value(), state_of(77))
    again, same = doubled((source, sample), how)
    assert same.rng is again.state_updates[0][0] and same.rng is not sample.rng
    again.seed(5)
    numpy.testing.assert_array_equal(phintys.function([], sample)(), state_of(77).uniform(size=3))
    after, drawn = raw_random.uniform(shared, (2,))
    function, expected = phintys.function([], drawn, updates=[(shared, after)]), numpy.random.RandomState(3)
    numpy.testing.assert_array_equal(function(), expected.uniform(size=2))
    other, numbers = doubled(function, how), expected.uniform(size=2)
    numpy.testing.assert_array_equal([function(), other()], [numbers, numbers])


def test_what_is_borrowed_of_a_shared_random_state():
    mine = numpy.random.RandomState(3)
    copied, borrowed = phintys.shared(mine), phintys.shared(mine, borrow=True)
    assert borrowed.get_value(borrow=True) is mine and borrowed.get_value() is not mine
    assert copied.get_value(borrow=True) is not mine and copied.get_value(borrow=True) is copied.get_value(borrow=True)
    copied.set_value(mine, borrow=True)
    assert copied.get_value(borrow=True) is mine
    copied.set_value(mine)
    assert copied.get_value(borrow=True) is not mine


def test_a_copy_of_a_function_shares_or_swaps_the_state():
    sample, other = RandomStreams(77).uniform((3,)), RandomStreams(5).uniform((3,))
    function, state = phintys.function([], sample), state_of(77)
    numpy.testing.assert_array_equal(function(), state.uniform(size=3))
    numpy.testing.assert_array_equal(numpy.squeeze(function.copy()()), state.uniform(size=3))
    swapped = function.copy(swap={sample.rng: other.rng})
    numpy.testing.assert_array_equal(numpy.squeeze(swapped()), state_of(5).uniform(size=3))
    numpy.testing.assert_array_equal(function(), state.uniform(size=3))
