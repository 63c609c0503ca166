"""Permutations, choices and multinomial counts by kernels: NumPy's numbers for all parameters; errors change no state.

The calls are made on streams of phintys and on NumPy's generators; for RandomState the functions of ``raw_random`` that
NumPy draws for are the reference.
"""
import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.ops.random.generator_order import GeneratorOrder
from phintys.ops.random.random_function import RandomFunction
from phintys.random import default_rng
from phintys.tensor import raw_random
from phintys.tensor.shared_randomstreams import RandomStreams

SHARES = numpy.random.RandomState(0).dirichlet(numpy.ones(9), size=(2, 3))
MANY = numpy.random.RandomState(1).dirichlet(numpy.ones(300))
LETTERS = numpy.arange(36.0).reshape(3, 4, 3)

STATE_CALLS = {
    "permutation": lambda f, s: f.permutation(s, (2, 3), 7),
    "permutation, one": lambda f, s: f.permutation(s, None, 1000),
    "permutation, none": lambda f, s: f.permutation(s, (2, 3), 0),
    "permutation, int8": lambda f, s: f.permutation(s, (2,), 90, dtype="int8"),
    "permutation, real": lambda f, s: f.permutation(s, (2,), 5, dtype="float32"),
    "choice": lambda f, s: f.choice(s, (4, 5), 1000),
    "choice, one outcome": lambda f, s: f.choice(s, (4, 5), 1),
    "choice, none": lambda f, s: f.choice(s, (0, 5), 3),
    "choice, elements": lambda f, s: f.choice(s, (4, 5), numpy.linspace(0, 1, 7), dtype="float64"),
    "choice, different": lambda f, s: f.choice(s, (4, 5), 21, False),
    "choice, all different": lambda f, s: f.choice(s, (3000,), 3000, False, dtype="int16"),
    "choice, shares": lambda f, s: f.choice(s, (4, 500), 300, True, MANY),
    "choice, shares, different": lambda f, s: f.choice(s, (250,), 300, False, MANY),
    "choice, float32 shares": lambda f, s: f.choice(s, (100,), 300, False, MANY.astype("float32")),
    "choice, shares of elements": lambda f, s: f.choice(s, (3,), numpy.arange(9) * 5, False, SHARES[0, 0]),
    "choice, impossible ones": lambda f, s: f.choice(s, (2, 2), 6, False, numpy.array([0.5, 0, 0.2, 0, 0.2, 0.1])),
    "multinomial": lambda f, s: f.multinomial(s, (2, 3), 100, SHARES),
    "multinomial, rows": lambda f, s: f.multinomial(s, (4, 2, 3), [1, 20, 300], SHARES[:, :1]),
    "multinomial, no size": lambda f, s: f.multinomial(s, None, [[5], [70]], SHARES),
    "multinomial, one": lambda f, s: f.multinomial(s, (), 100, MANY),
    "multinomial, float32": lambda f, s: f.multinomial(s, (5,), 1000, MANY.astype("float32")),
    "multinomial, none": lambda f, s: f.multinomial(s, (5,), 0, MANY, dtype="float32"),
    "multinomial, never": lambda f, s: f.multinomial(s, (5,), 10, numpy.array([0.5, 0.5, 0.0])),
    "multinomial, above 1": lambda f, s: f.multinomial(s, (5,), 10, numpy.array([0.5, 0.2, 0.300004])),
}


@pytest.mark.parametrize("name", STATE_CALLS)
def test_random_states(name):
    stream = RandomStreams(5)
    sample = stream.gen(lambda state: STATE_CALLS[name](raw_random, state))
    stream.state_updates[0][0].set_value(numpy.random.RandomState(3))
    function = phintys.function([], sample)
    node, = [node for node in function.maker.fgraph.toposort() if isinstance(node.op, RandomFunction)]
    assert node.op.native and "CALL" not in function.explain("instructions")
    state = raw_random.random_state_type()
    reference = phintys.function([state], STATE_CALLS[name](raw_random, state))
    other = numpy.random.RandomState(3)
    for _ in range(3):
        got, (other, wanted) = function(), reference(other)
        assert got.dtype == wanted.dtype and got.shape == wanted.shape
        numpy.testing.assert_array_equal(got, wanted)
    assert raw_random.random_state_type.values_eq(sample.rng.get_value() if hasattr(sample, "rng") else
                                                  stream.state_updates[0][0].get_value(), other)


GENERATOR_CALLS = {
    "choice": lambda g: g.choice(1000, size=(4, 5)),
    "choice, few": lambda g: g.choice(7, size=40),
    "choice, huge": lambda g: g.choice(2 ** 40, size=40),
    "choice, Floyd": lambda g: g.choice(10 ** 9, size=700, replace=False),
    "choice, Floyd, all": lambda g: g.choice(100, size=(4, 25), replace=False),
    "choice, Floyd in order": lambda g: g.choice(50, size=20, replace=False, shuffle=False),
    "choice, shuffled tail": lambda g: g.choice(20_000, size=500, replace=False),
    "choice, whole tail": lambda g: g.choice(10_001, size=10_001, replace=False),
    "choice, tail in order": lambda g: g.choice(20_000, size=1100, replace=False, shuffle=False),
    "choice, none": lambda g: g.choice(20, size=(0, 3), replace=False),
    "choice, one of one": lambda g: g.choice(1, size=3),
    "choice, shares": lambda g: g.choice(300, size=900, p=MANY),
    "choice, shares, different": lambda g: g.choice(300, size=250, replace=False, p=MANY),
    "choice, axis": lambda g: g.choice(LETTERS, size=(2, 2), axis=1),
    "choice, last axis": lambda g: g.choice(LETTERS, size=2, replace=False, axis=-1, p=[0.1, 0.4, 0.5]),
    "permutation": lambda g: g.permutation(3000),
    "permutation, none": lambda g: g.permutation(0),
    "permutation, axis": lambda g: g.permutation(LETTERS, axis=2),
    "permutation, vector": lambda g: g.permutation(LETTERS.ravel()),
    "permuted": lambda g: g.permuted(LETTERS, axis=1),
    "permuted, last": lambda g: g.permuted(LETTERS, axis=-1),
    "permuted, all": lambda g: g.permuted(LETTERS),
    "multinomial": lambda g: g.multinomial(100, SHARES),
    "multinomial, size": lambda g: g.multinomial([[1], [20]], SHARES, size=(5, 2, 3)),
    "multinomial, many": lambda g: g.multinomial(10 ** 6, MANY, size=3),
}


@pytest.mark.parametrize("kind", ["PCG64", "SFC64", "MT19937"])
@pytest.mark.parametrize("name", GENERATOR_CALLS)
def test_generators(name, kind):
    bits = getattr(numpy.random, kind)(3)
    function = phintys.function([], GENERATOR_CALLS[name](default_rng(bits)))
    assert any([isinstance(node.op, GeneratorOrder) for node in function.maker.fgraph.toposort()])
    assert "CALL" not in function.explain("instructions")
    generator = numpy.random.Generator(bits)
    for _ in range(2):
        got, wanted = function(), GENERATOR_CALLS[name](generator)
        assert got.dtype == wanted.dtype and got.shape == wanted.shape
        numpy.testing.assert_array_equal(got, wanted)


def test_the_layout_changes_no_number():
    x = T.matrix()
    for make in (lambda g: g.permuted(x), lambda g: g.permuted(x, axis=0), lambda g: g.permutation(x)):
        in_order, reversed_order = [phintys.function([x], make(default_rng(3))) for _ in range(2)]
        numpy.testing.assert_array_equal(in_order(LETTERS[0]), reversed_order(numpy.asfortranarray(LETTERS[0])))


def test_strided_parameters():
    shares, n = T.tensor3(), T.lmatrix()
    function = phintys.function([n, shares], default_rng(3).multinomial(n, shares))
    counts = numpy.arange(12).reshape(4, 3)[::2]
    wide = numpy.repeat(SHARES, 2, axis=2)[:, :, ::2]
    numpy.testing.assert_array_equal(function(counts, wide), numpy.random.default_rng(3).multinomial(counts, SHARES))


P, COUNT = [0.2, 0.3, 0.5], 4
WRONG = [
    (lambda g, p, n: g.multinomial((2,), n, p), [0.9, 0.9, 0.1], COUNT, "sum of the probabilities is 1.9"),
    (lambda g, p, n: g.multinomial((2,), n, p), [0.5, 0.2, 0.1], COUNT, "sum of the probabilities is 0.8, not 1"),
    (lambda g, p, n: g.multinomial((2,), n, p), [-0.5, 0.5, 1.0], COUNT, "must not be negative"),
    (lambda g, p, n: g.multinomial((2,), n, p), [numpy.nan, 0.5, 0.5], COUNT, "NaN"),
    (lambda g, p, n: g.multinomial((2,), n, p), P, -1, "n must be at least 0, got -1"),
    (lambda g, p, n: g.choice((2,), n, True, p), P, COUNT, "a and p must have the same size, got 4 outcomes and 3"),
    (lambda g, p, n: g.choice((2,), 3, True, p), [0.5, 0.6, 0.7], COUNT, "do not sum to 1: their sum is 1.8"),
    (lambda g, p, n: g.choice((2,), 3, True, p), [0.5, -0.6, 1.1], COUNT, "must not be negative or NaN, got -0.6"),
    (lambda g, p, n: g.choice((2,), 3, False, p), [0.0, 0.0, 1.0], COUNT, "fewer non-zero entries in p than size"),
    (lambda g, p, n: g.choice((2,), n, False) + p[:2] * 0, P, 1, "larger sample than population"),
    (lambda g, p, n: g.choice((2,), n) + p[:2] * 0, P, 0, "a must be greater than 0"),
    (lambda g, p, n: g.permutation((2,), n) + p[0], P, -3, "n must be at least 0, got -3"),
]


@pytest.mark.parametrize("make, p_value, n_value, message", WRONG)
def test_bad_parameters_change_no_state(make, p_value, n_value, message):
    stream, p, n = RandomStreams(7), T.vector(), T.lscalar()
    function = phintys.function([p, n], make(stream, p, n), on_unused_input="ignore")
    state = stream.state_updates[0][0]
    before = state.get_value(return_internal_type=True)
    with pytest.raises(ValueError, match=message):
        function(p_value, n_value)
    numpy.testing.assert_array_equal(state.get_value(return_internal_type=True), before)


@pytest.mark.parametrize("make, p_value, n_value, message", [
    (lambda g, p, n: g.multinomial(n, p, size=2), [0.9, 0.9, 0.1], COUNT, "sum of the probabilities is 1.9"),
    (lambda g, p, n: g.multinomial(n, p, size=2), [0.2, 0.2, 0.2], COUNT, "sum of the probabilities is 0.6, not 1"),
    (lambda g, p, n: g.multinomial(n, p), [0.5, 0.2, 0.8], COUNT, "sum of the probabilities is 1.5, not 1"),
    (lambda g, p, n: g.multinomial(n, p), [1.5, 0.0, 0.0], COUNT, "above 1"),
    (lambda g, p, n: g.multinomial(n, p[:0]), P, COUNT, "no elements along their last dimension"),
    (lambda g, p, n: g.choice(n, size=2, p=p), P, COUNT, "same size, got 4 outcomes and 3"),
    (lambda g, p, n: g.choice(n, size=9, replace=False) + p[0], P, COUNT, "larger sample than population"),
    (lambda g, p, n: g.permutation(n) + p[0], P, -3, "n must be at least 0, got -3")])
def test_bad_parameters_of_generators_change_no_state(make, p_value, n_value, message):
    rng, p, n = default_rng(7), T.vector(), T.lscalar()
    function = phintys.function([p, n], make(rng, p, n), on_unused_input="ignore")
    state = rng.state_updates[0][0]
    before = state.get_value()
    with pytest.raises(ValueError, match=message):
        function(p_value, n_value)
    numpy.testing.assert_array_equal(state.get_value(), before)


def test_shapes_that_contradict_each_other():
    shares, size = T.matrix(), T.lvector()
    function = phintys.function([shares, size], RandomStreams(7).multinomial(size, 3, shares, ndim=1))
    assert function(SHARES[0], [3]).shape == (3, 9)
    with pytest.raises(ValueError, match=r"probabilities of shape \(3, 9\).* broadcast to the size \(4,\)"):
        function(SHARES[0], [4])
    with pytest.raises(ValueError, match="size must have length 1"):
        function(SHARES[0], [3, 1])


def test_a_state_of_another_generator():
    for make in (lambda g: g.permutation(4), lambda g: g.choice(4), lambda g: g.multinomial(3, P)):
        rng = default_rng(7)
        sample = make(rng)
        function = phintys.function([], sample, givens={rng.state_updates[0][0]: T.zeros((5,), dtype="uint64")})
        with pytest.raises(ValueError, match="the state of another generator"):
            function()


@pytest.mark.parametrize("build, message", [
    (lambda g: g.multinomial(3, 0.5), "at least 1 dimension"),
    (lambda g: g.multinomial(T.vector(), P), "n must be an integer"),
    (lambda g: g.choice(2.5), "a must be an integer"),
    (lambda g: g.permutation(2.5), "x must be an integer"),
])
def test_bad_calls(build, message):
    with pytest.raises(TypeError, match=message):
        build(default_rng(1))


def test_in_a_loop_a_saved_function_and_debug_mode():
    rng = default_rng(3)
    values, updates = phintys.scan(lambda: rng.permutation(5), n_steps=3)
    generator = numpy.random.default_rng(3)
    numpy.testing.assert_array_equal(phintys.function([], values, updates=updates)(),
                                     [generator.permutation(5) for _ in range(3)])
    for mode in ("FAST_COMPILE", "DebugMode"):
        function = phintys.function([], default_rng(3).choice(9, size=5, replace=False), mode=mode)
        numpy.testing.assert_array_equal(function(), numpy.random.default_rng(3).choice(9, size=5, replace=False))
    stream, state = RandomStreams(77), numpy.random.RandomState(3)
    shuffled = stream.shuffle_row_elements(T.as_tensor_variable(LETTERS))
    stream.state_updates[0][0].set_value(state)
    numpy.testing.assert_array_equal(phintys.function([], shuffled, mode="DebugMode")().reshape(12, 3),
                                     [row[state.permutation(3)] for row in LETTERS.reshape(12, 3)])
