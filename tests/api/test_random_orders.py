"""Orders, choices and vectors of ``phintys.random``: numbers of NumPy's Generator; errors change no state."""
import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.gradient import NullTypeGradError

P, A = [0.2, 0.3, 0.5], numpy.arange(12.0).reshape(4, 3)

# A call on a generator of NumPy or of phintys; `t` makes a tensor of what is not given as a Python value.
CALLS = {
    "multinomial": lambda g, t: g.multinomial(10, P, size=4),
    "multinomial, one": lambda g, t: g.multinomial(10, P),
    "multinomial, rows": lambda g, t: g.multinomial(t([5, 6]), t([P, P[::-1]])),
    "multivariate_hypergeometric": lambda g, t: g.multivariate_hypergeometric(t([3, 4, 5]), 4, size=(2, 3)),
    "multivariate_hypergeometric, count": lambda g, t: g.multivariate_hypergeometric(t([3, 4, 5]), 4, method="count"),
    "hypergeometric": lambda g, t: g.hypergeometric(t([3, 9]), 4, 5),
    "hypergeometric, size": lambda g, t: g.hypergeometric(10, 4, 5, size=6),
    "triangular": lambda g, t: g.triangular(t([-1.0, 0.0]), 0.5, t([1.0, 2.0])),
    "dirichlet": lambda g, t: g.dirichlet(t([1.0, 2.0, 3.0]), size=3),
    "dirichlet, one": lambda g, t: g.dirichlet(t([1.0, 2.0, 3.0])),
    "dirichlet, of small numbers": lambda g, t: g.dirichlet(t([0.09, 0.01, 0.0]), size=(2, 3)),
    "dirichlet, of zeros": lambda g, t: g.dirichlet(t([0.0, 0.0]), size=2),
    "multivariate_normal": lambda g, t: g.multivariate_normal(t([1.0, 2.0]), t([[2.0, 0.5], [0.5, 1]]), size=(2,)),
    "choice": lambda g, t: g.choice(10, size=(2, 3)),
    "choice, one": lambda g, t: g.choice(10),
    "choice, columns": lambda g, t: g.choice(t(A), size=3, axis=1, replace=False),
    "choice, probabilities": lambda g, t: g.choice(t(A), size=5, p=[0.1, 0.2, 0.3, 0.4]),
    "choice, not shuffled": lambda g, t: g.choice(30000, size=900, replace=False, shuffle=False),
    "permutation": lambda g, t: g.permutation(10),
    "permutation, columns": lambda g, t: g.permutation(t(A), axis=1),
    "permuted": lambda g, t: g.permuted(t(A), axis=1),
    "permuted, all": lambda g, t: g.permuted(t(A)),
}


@pytest.mark.parametrize("kind", ["PCG64", "MT19937", "Philox"])
@pytest.mark.parametrize("name", CALLS)
def test_numbers_are_those_of_numpy(name, kind):
    seeded = lambda: numpy.random.Generator(getattr(numpy.random, kind)(5))  # noqa: E731
    function = phintys.function([], CALLS[name](phintys.random.default_rng(seeded()), T.as_tensor_variable))
    generator = seeded()
    for _ in range(2):
        got, wanted = function(), numpy.asarray(CALLS[name](generator, numpy.asarray))
        assert got.dtype == wanted.dtype
        numpy.testing.assert_array_equal(got, wanted)


def test_shuffle_makes_a_new_tensor():
    generator, x = numpy.random.default_rng(3), T.matrix()
    function = phintys.function([x], phintys.random.default_rng(3).shuffle(x))
    copied = A.copy()
    generator.shuffle(copied)
    numpy.testing.assert_array_equal(function(A), copied)


def test_symbolic_sizes_and_parameters():
    size, p, count = T.lvector(), T.vector(), T.lscalar()
    generator = numpy.random.default_rng(9)
    sample = phintys.random.default_rng(9).multinomial(count, p, size=size, ndim=2)
    numpy.testing.assert_array_equal(phintys.function([size, p, count], sample)([2, 3], P, 7),
                                     generator.multinomial(7, P, size=(2, 3)))
    count_of = phintys.function([count], phintys.random.default_rng(9).permutation(count))
    numpy.testing.assert_array_equal(count_of(6), numpy.random.default_rng(9).permutation(6))


@pytest.mark.parametrize("make, good, wrong, message", [
    (lambda g, p: g.multinomial(3, p), P, [0.9, 0.9, 0.1], "sum"),
    (lambda g, p: g.multinomial(3, p), P, [-0.5, 0.5, 1.0], "pvals < 0"),
    (lambda g, p: g.choice(3, size=2, p=p), P, [0.5, 0.6, 0.7], "do not sum to 1"),
    (lambda g, p: g.choice(3, size=2, p=p), P, [0.5, -0.5, 1.0], "not non-negative|negative"),
    (lambda g, p: g.dirichlet(p), P, [1.0, -1.0, 1.0], "alpha"),
    (lambda g, p: g.triangular(p, 0.6, 1.0), P, [0.1, 0.7, 0.1], "left <= mode"),
    (lambda g, p: g.triangular(0.0, 0.1, p), P, [0.2, 0.05, 0.2], "mode <= right"),
])
def test_bad_probabilities_change_no_state(make, good, wrong, message):
    source, p = phintys.random.default_rng(7), T.vector()
    sample = make(source, p)
    function = phintys.function([p], sample)
    with pytest.raises(ValueError, match=message):
        function(wrong)
    numpy.testing.assert_array_equal(function(good), make(numpy.random.default_rng(7), good))


def test_the_state_of_another_generator():
    sample = phintys.random.default_rng(7).permutation(4)
    function = phintys.function([], sample.owner.outputs[1], givens={sample.rng: T.zeros((5,), dtype="uint64")})
    with pytest.raises(ValueError, match="the state of another generator"):
        function()


@pytest.mark.parametrize("build, message", [
    (lambda g: g.dirichlet(T.matrix()), "alpha must have 1 dimensions"),
    (lambda g: g.choice(3, p=T.matrix()), "p must have 1 dimensions"),
    (lambda g: g.shuffle(5), "at least one dimension"),
])
def test_bad_calls(build, message):
    with pytest.raises(TypeError, match=message):
        build(phintys.random.default_rng(1))


def test_no_gradient():
    p = T.vector()
    with pytest.raises(NullTypeGradError):
        phintys.grad(phintys.random.default_rng(1).dirichlet(p).sum(), p)


def test_modes_and_pickles():
    for mode in ("FAST_COMPILE", "DebugMode"):
        function = phintys.function([], phintys.random.default_rng(2).permuted(A, axis=0), mode=mode)
        numpy.testing.assert_array_equal(function(), numpy.random.default_rng(2).permuted(A, axis=0))
        shares = phintys.random.default_rng(2).dirichlet(T.constant(A[1])[::-1], size=2)
        shares = phintys.function([], shares, mode=mode)
        numpy.testing.assert_array_equal(shares(), numpy.random.default_rng(2).dirichlet(A[1][::-1], size=2))
