"""Random variables of PyTensor: the numbers of its Python mode, which are NumPy's, and the same generators then."""
import copy
import pickle
import threading

import numpy as np
import pytest

pytest.importorskip("pytensor_reference")

import pytensor_reference as reference
from pytensor_reference import pytensor

from phintys.interop.pytensor import fallback, random_rows, translate
from phintys.interop.pytensor_versions import imported, version_of

pt = pytensor.tensor
basic = pt.random.basic
pytestmark = [pytest.mark.filterwarnings("ignore")]
SHARES, ROWS = np.array([0.1, 0.2, 0.3, 0.4]), np.arange(12).reshape(3, 4) ** 2
WIDE = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 1.0]])    # LAPACK's methods give it other signs
GOOD, BAD = np.array([[4.0, 1.0], [1.0, 3.0]]), np.array([[1.0, 2.0], [2.0, 1.0]])

# Distributions of numbers: the op, and valid parameters.
NUMBERS = {
    "uniform": (basic.uniform, (-1.0, 3.0)),
    "triangular": (basic.triangular, (-1.0, 0.5, 2.0)),
    "beta": (basic.beta, (2.0, 0.5)),
    "normal": (basic.normal, (1.0, 2.0)),
    "halfnormal": (basic.halfnormal, (1.0, 2.0)),
    "lognormal": (basic.lognormal, (0.5, 0.7)),
    "gamma": (basic._gamma, (0.7, 2.0)),
    "pareto": (basic.pareto, (2.5, 3.0)),
    "gumbel": (basic.gumbel, (1.0, 2.0)),
    "exponential": (basic.exponential, (1.7,)),
    "weibull": (basic.weibull, (1.7,)),
    "logistic": (basic.logistic, (1.0, 2.0)),
    "vonmises": (basic.vonmises, (1.0, 2.0)),
    "wald": (basic.wald, (1.0, 2.0)),
    "poisson": (basic.poisson, (4.5,)),
    "geometric": (basic.geometric, (0.3,)),
    "cauchy": (basic.cauchy, (1.0, 2.0)),
    "hypergeometric": (basic.hypergeometric, (10, 20, 7)),
    "halfcauchy": (basic.halfcauchy, (1.0, 2.0)),
    "invgamma": (basic.invgamma, (2.5, 3.0)),
    "truncexpon": (basic.truncexpon, (2.0, 1.0, 3.0)),
    "t": (basic.t, (3.5, 1.0, 2.0)),
    "bernoulli": (basic.bernoulli, (0.4,)),
    "laplace": (basic.laplace, (1.0, 2.0)),
    "binomial": (basic.binomial, (12, 0.3)),
    "nbinom": (basic.nbinom, (5.5, 0.3)),
    "betabinom": (basic.betabinom, (12, 2.0, 0.7)),
    "gengamma": (basic.gengamma, (2.0, 1.5, 3.0)),
    "integers": (basic.integers, (-3, 12)),
}
# Forms of parameters: the shapes of the first one and of the others, and the size.
FORMS = {"numbers": ((), (), None), "of a size": ((), (), (2, 3)), "vectors": ((3,), (3,), None),
         "broadcast": ((2, 1), (3,), None), "broadcast to a size": ((3,), (), (4, 3)), "empty": ((0,), (), None),
         "of no length": ((), (), (2, 0)), "a length of one": ((1,), (3,), None), "one to a size": ((1,), (), (3,))}


@pytest.fixture(autouse=True)
def python_is_the_default():
    with pytensor.config.change_flags(linker="py"):
        yield


@pytest.fixture
def by_python(monkeypatch):
    """The ops that are run by PyTensor's Python code."""
    found, perform = [], fallback.Performed.perform
    monkeypatch.setattr(fallback.Performed, "perform",
                        lambda op, *args: found.append(op.op) or perform(op, *args))
    return found


def several(value, shape):
    """Valid parameters near a number."""
    if isinstance(value, int):
        return value + np.arange(np.prod(shape, dtype=int)).reshape(shape) % 2
    return value * (1 + 0.1 * np.arange(np.prod(shape, dtype=int)).reshape(shape) % 0.3)


def same(make, *values, calls=2, rtol=1e-13, wide=True):
    """The numbers and states of some calls are those of Python mode. ``make`` gets a generator and inputs."""
    values = [np.asarray(value) for value in values]
    found = []
    for mode in ("PHINTYS", reference.PYTHON):
        rng = pytensor.shared(np.random.default_rng(5))
        inputs = [pt.TensorType(value.dtype, (None,) * value.ndim if wide else value.shape)() for value in values]
        new_rng, sample = make(rng, *inputs).owner.outputs
        f = pytensor.function(inputs, sample, updates={rng: new_rng}, mode=mode)
        samples = [f(*values) for _ in range(calls)]
        found.append((samples, rng.get_value().bit_generator.state))
    (ours, state), (wanted, wanted_state) = found
    for sample, reference_sample in zip(ours, wanted):
        assert sample.dtype == reference_sample.dtype and sample.shape == reference_sample.shape
        np.testing.assert_allclose(sample, reference_sample, rtol=rtol if sample.dtype.kind == "f" else 0)
    assert state == wanted_state


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name, form, by_python):
    op, parameters = NUMBERS[name]
    first, others, size = FORMS[form]
    values = [several(value, others if place else first) for place, value in enumerate(parameters)]
    same(lambda rng, *inputs: op(*inputs, size=size, rng=rng), *values)
    assert not by_python


@pytest.mark.parametrize("name", NUMBERS)
def test_constants_and_dtypes(name):
    """Literal parameters, which PyTensor stores in small dtypes; float32 parameters and samples."""
    op, parameters = NUMBERS[name]
    same(lambda rng: op(*parameters, size=(4,), rng=rng))
    if op.dtype == "floatX":
        same(lambda rng, *inputs: op(*inputs, size=(4,), rng=rng, dtype="float32"), *np.float32(parameters), rtol=1e-6)


def choosing(signature):
    """Without replacement, for each item of a batch."""
    return basic.ChoiceWithoutReplacement(signature=signature, dtype="int64")


VECTORS = {
    "multivariate normal": lambda rng: basic.multivariate_normal(np.array([1.0, 2.0]), GOOD, size=(3,), rng=rng),
    "multivariate normal, one": lambda rng: basic.multivariate_normal(np.array([1.0, 2.0]), GOOD, rng=rng),
    "multivariate normal, several": lambda rng: basic.multivariate_normal(
        np.ones((3, 1, 2)), np.stack([GOOD, 2 * GOOD]), rng=rng),
    "multivariate normal, eigh": lambda rng: basic.multivariate_normal(np.zeros(2), GOOD, method="eigh", rng=rng),
    "multivariate normal, svd": lambda rng: basic.multivariate_normal(np.zeros(2), GOOD, method="svd", rng=rng),
    "dirichlet": lambda rng: basic.dirichlet(np.array([1.0, 0.5, 2.0]), size=(2, 3), rng=rng),
    "dirichlet, one": lambda rng: basic.dirichlet(np.array([1.0, 0.5, 2.0]), rng=rng),
    "dirichlet, several": lambda rng: basic.dirichlet(np.array([[1.0, 0.5], [0.05, 0.01], [0.01, 0.3]]), rng=rng),
    "dirichlet, several of a size": lambda rng: basic.dirichlet(np.array([[1.0, 0.5], [0.05, 0.01]]), size=(3, 2),
                                                                rng=rng),
    "dirichlet, zeros": lambda rng: basic.dirichlet(np.array([[0.05, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.02, 0.0],
                                                              [0.0, 3.0, 0.0], [np.nan, 1.0, 1.0]]), rng=rng),
    "multinomial": lambda rng: basic.multinomial(10, np.array([0.2, 0.3, 0.5]), size=(4,), rng=rng),
    "multinomial, one": lambda rng: basic.multinomial(10, np.array([0.2, 0.3, 0.5]), rng=rng),
    "multinomial, several": lambda rng: basic.multinomial(np.array([[3], [100]]), np.array([[0.2, 0.8], [0.5, 0.5]]),
                                                          rng=rng),
    "multinomial, of a sum below one": lambda rng: basic.multinomial(10, np.array([0.2, 0.3, 0.1]), size=(4,), rng=rng),
    "categorical": lambda rng: basic.categorical(np.array([0.2, 0.3, 0.5]), size=(3, 4), rng=rng),
    "categorical, one": lambda rng: basic.categorical(np.array([0.2, 0.3, 0.5]), rng=rng),
    "categorical, several": lambda rng: basic.categorical(np.array([[0.2, 0.8], [0.9, 0.1]]), size=(3, 2), rng=rng),
    "categorical, of a sum below one": lambda rng: basic.categorical(np.array([[0.2, 0.1]]), size=(20,), rng=rng),
    "permutation": lambda rng: basic.permutation(np.arange(10) * 2, rng=rng),
    "permutation of a number": lambda rng: basic.permutation(7, rng=rng),
    "permutation of rows": lambda rng: basic.permutation(np.arange(12.0).reshape(4, 3), rng=rng),
    "choice": lambda rng: basic.choice(np.arange(10) * 2, size=(2, 2), replace=False, rng=rng),
    "choice of a number": lambda rng: basic.choice(7, size=(4,), replace=False, rng=rng),
    "choice of rows": lambda rng: basic.choice(np.arange(12.0).reshape(4, 3), size=3, replace=False, rng=rng),
    "choice by probabilities": lambda rng: basic.choice(4, size=(3,), replace=False, p=SHARES, rng=rng),
    "multivariate normal, svd, equal values": lambda rng: basic.multivariate_normal(
        np.zeros(5), np.eye(5) + 1, size=(3,), method="svd", rng=rng),
    "multivariate normal, svd, of no full rank": lambda rng: basic.multivariate_normal(
        np.zeros(3), np.ones((3, 3)), method="svd", rng=rng),
    "multivariate normal, svd, several": lambda rng: basic.multivariate_normal(
        np.zeros((3, 1, 2)), np.stack([GOOD, 2 * GOOD]), method="svd", rng=rng),
    "multivariate normal, eigh, several": lambda rng: basic.multivariate_normal(
        np.ones(2), np.stack([GOOD, 2 * GOOD]), size=(3, 2), method="eigh", rng=rng),
    "permutations of rows": lambda rng: basic.PermutationRV(signature="(x,y)->(x,y)", dtype="float64")(
        np.arange(24.0).reshape(2, 4, 3), rng=rng),
    "permutations of rows, of a size": lambda rng: basic.PermutationRV(signature="(x,y)->(x,y)", dtype="float64")(
        np.arange(12.0).reshape(4, 3), size=(2, 3), rng=rng),
    "choices": lambda rng: choosing("(a0),(2)->(s0,s1)")(ROWS, [2, 1], size=(2, 3), rng=rng),
    "choices of rows": lambda rng: choosing("(a0,a1),(1)->(s0,a1)")(ROWS.reshape(2, 3, 2), np.array([[2], [2]]),
                                                                   rng=rng),
    "choices of numbers": lambda rng: choosing("(),(1)->(s0)")(np.array([5, 7]), [3], rng=rng),
    "choices by probabilities": lambda rng: choosing("(a0),(a0),(1)->(s0)")(ROWS, np.stack(
        [SHARES, SHARES[::-1], SHARES]), [3], rng=rng),
    "choices by the same probabilities": lambda rng: choosing("(a0),(a0),(1)->(s0)")(ROWS, SHARES, [3], rng=rng),
    "choices, none": lambda rng: choosing("(a0),(1)->(s0)")(ROWS, [2], size=(0, 3), rng=rng),
}


@pytest.mark.parametrize("name", VECTORS)
def test_vectors(name, by_python):
    same(VECTORS[name], rtol=1e-12)
    assert not by_python


def test_batches_of_other_shapes():
    """A permutation of each row, rows of a batch in the shape of an input, and sizes that are inputs."""
    same(lambda rng, x: pt.random.basic.PermutationRV(signature="(x)->(x)", dtype="float64")(x, rng=rng),
         np.arange(12.0).reshape(3, 4))
    same(lambda rng, n: basic.normal(0.0, pt.ones(n[1]), size=(n[0], n[1]), rng=rng), np.array([2, 3]))
    same(lambda rng, mean: basic.multivariate_normal(mean, GOOD, rng=rng), np.ones((3, 2)), rtol=1e-12)
    same(lambda rng, p: basic.categorical(p, rng=rng), np.full((2, 3, 4), 0.25))


WRONG = {
    "normal": (lambda s, rng: basic.normal(0.0, s, rng=rng), -1.0),
    "gamma": (lambda s, rng: basic._gamma(s, 1.0, rng=rng), -1.0),
    "uniform": (lambda s, rng: basic.uniform(0.0, s, rng=rng), -1.0),
    "uniform without an end": (lambda s, rng: basic.uniform(0.0, s, rng=rng), np.inf),
    "halfnormal": (lambda s, rng: basic.halfnormal(0.0, s, rng=rng), -1.0),
    "halfnormal of NaN": (lambda s, rng: basic.halfnormal(0.0, s, rng=rng), np.nan),
    "cauchy": (lambda s, rng: basic.cauchy(0.0, s, rng=rng), -1.0),
    "t": (lambda s, rng: basic.t(s, 0.0, 1.0, rng=rng), 0.0),
    "bernoulli": (lambda s, rng: basic.bernoulli(s, rng=rng), 1.5),
    "beta": (lambda s, rng: basic.beta(s, 1.0, rng=rng), 0.0),
    "binomial": (lambda s, rng: basic.binomial(5, s, rng=rng), np.nan),
    "poisson": (lambda s, rng: basic.poisson(s, rng=rng), -1.0),
    "negative binomial": (lambda s, rng: basic.nbinom(s, 0.5, rng=rng), 0.0),
    "integers": (lambda s, rng: basic.integers(5, s, rng=rng), 5),
    "triangular": (lambda s, rng: basic.triangular(0.0, s, 1.0, rng=rng), 2.0),
    "hypergeometric": (lambda s, rng: basic.hypergeometric(3, 3, s, rng=rng), 7),
    "dirichlet": (lambda s, rng: basic.dirichlet(pt.stack([1.0, s]), rng=rng), -1.0),
    "multinomial": (lambda s, rng: basic.multinomial(5, pt.stack([s, 0.5]), rng=rng), 1.5),
    "sizes": (lambda s, rng: basic.normal(pt.zeros(s), 1.0, size=(3,), rng=rng), 2),
    "sizes, by SciPy": (lambda s, rng: basic.halfnormal(pt.zeros(s), 1.0, size=(3,), rng=rng), 2),
    "categories": (lambda s, rng: basic.categorical(pt.ones((s, 2)), size=(3,), rng=rng), 2),
    "covariances": (lambda s, rng: basic.multivariate_normal(np.zeros(2), s * BAD, rng=rng), 1.0),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_change_no_generator(name):
    """The kind of the error is that of Python mode, and all generators stay, also one that was drawn from before."""
    make, value = WRONG[name]
    kinds = []
    for mode in ("PHINTYS", reference.PYTHON):
        first, rng = [pytensor.shared(np.random.default_rng(seed)) for seed in (4, 5)]
        before = [each.get_value().bit_generator.state for each in (first, rng)]
        parameter = pt.scalar(dtype=np.asarray(value).dtype)
        other, wrong = basic.normal(rng=first), make(parameter, rng)
        f = pytensor.function([parameter], [other, wrong], mode=mode,
                              updates={first: other.owner.outputs[0], rng: wrong.owner.outputs[0]})
        with pytest.raises((ValueError, OverflowError, np.linalg.LinAlgError)) as caught:
            f(value)
        kinds.append(caught.type)
        assert [each.get_value().bit_generator.state for each in (first, rng)] == before
    assert kinds[0] is kinds[1]


@pytest.mark.parametrize("name", ["halfnormal", "cauchy", "gumbel", "t"])
def test_scales_of_zero(name):
    """SciPy draws nothing if all scales are zero."""
    op, (*others, _) = NUMBERS[name]
    same(lambda rng, scale: op(*others, scale, rng=rng), np.zeros(3))
    same(lambda rng, scale: op(*others, scale, rng=rng), np.array([0.0, 1.0, 0.0]))


@pytest.mark.skipif(not random_rows.follows_numba(), reason="Numba is not the default of this version of PyTensor")
def test_what_numba_draws_in_another_way():
    """Where Numba is the default, its ways are followed."""
    def results(mode):
        rng = pytensor.shared(np.random.default_rng(3))
        draws = [lambda rng: basic.bernoulli(0.3, size=(40,), rng=rng),
                 lambda rng: basic.gumbel(1.0, 2.0, size=(9,), rng=rng),
                 lambda rng: basic.dirichlet(np.array([0.04, 0.09, 0.03]), size=(4,), rng=rng),
                 lambda rng: basic.invgamma(np.float32(2.5), np.float32(3.3), size=(9,), rng=rng)]
        if version_of(pytensor.__version__) >= (3, 3):      # 3.0 draws other numbers, wrong ones, and refuses the last
            draws += [lambda rng: basic.cauchy(1.0, 2.0, size=(9,), rng=rng),
                      lambda rng: basic.choice(9, size=(2, 2), replace=False, rng=rng),
                      lambda rng: basic.choice(4, size=(3,), replace=False, p=SHARES, rng=rng),
                      lambda rng: basic.multivariate_normal(np.zeros(5), np.eye(5) + 1, method="svd", rng=rng),
                      lambda rng: basic.multivariate_normal(np.zeros(3), WIDE, method="eigh", rng=rng),
                      lambda rng: basic.multivariate_normal(np.zeros(2), GOOD.astype("float32"), rng=rng)]
        samples, state = [], rng
        for draw in draws:
            state, sample = draw(state).owner.outputs
            samples.append(sample)
        f = pytensor.function([], samples, updates={rng: state}, mode=mode)
        return [*f(), rng.get_value().bit_generator.random_raw()]

    with pytensor.config.change_flags(linker="auto"):
        for found, wanted in zip(results("PHINTYS"), results("NUMBA")):
            np.testing.assert_allclose(found, wanted, rtol=1e-13)


# ---- generators ----------------------------------------------------------------------------------------------------
def drawing(mode="PHINTYS", generator=None, **options):
    rng = pytensor.shared(np.random.default_rng(3) if generator is None else generator, **options)
    new_rng, sample = basic.normal(size=3, rng=rng).owner.outputs
    return rng, pytensor.function([], sample, updates={rng: new_rng}, mode=mode)


def test_generators_are_the_callers():
    rng, f = drawing()
    expected = np.random.default_rng(3)
    np.testing.assert_array_equal(f(), expected.normal(size=3))
    np.testing.assert_array_equal(rng.get_value().normal(size=2), copy.deepcopy(expected).normal(size=2))
    rng.set_value(np.random.default_rng(8))
    np.testing.assert_array_equal(f(), np.random.default_rng(8).normal(size=3))


def test_the_seed_sequence_stays():
    rng, f = drawing()
    f()
    child, expected = rng.get_value().spawn(1)[0], np.random.default_rng(3).spawn(1)[0]
    np.testing.assert_array_equal(child.normal(size=2), expected.normal(size=2))


@pytest.mark.parametrize("bits", [np.random.MT19937, np.random.Philox, np.random.SFC64, np.random.PCG64DXSM])
def test_other_bit_generators(bits):
    """They are drawn from by PyTensor's Python code; a later value may be of any kind."""
    rng, f = drawing(generator=np.random.Generator(bits(3)))
    expected = np.random.Generator(bits(3))
    for _ in range(2):
        np.testing.assert_array_equal(f(), expected.normal(size=3))
    assert type(rng.get_value().bit_generator) is bits
    rng.set_value(np.random.default_rng(8))
    np.testing.assert_array_equal(f(), np.random.default_rng(8).normal(size=3))


def test_generators_as_arguments_and_results():
    """An argument does not change; a result continues from it, with its seed sequence."""
    rng = pt.random.type.random_generator_type("rng")
    new_rng, sample = basic.normal(size=3, rng=rng).owner.outputs
    f = pytensor.function([rng], [new_rng, sample, new_rng], mode="PHINTYS")
    given, expected = np.random.default_rng(3), np.random.default_rng(3)
    before = given.bit_generator.state
    found, numbers, again = f(given)
    np.testing.assert_array_equal(numbers, expected.normal(size=3))
    assert given.bit_generator.state == before
    assert found.bit_generator.state == expected.bit_generator.state == again.bit_generator.state
    np.testing.assert_array_equal(found.spawn(1)[0].normal(), expected.spawn(1)[0].normal())
    found.normal()
    assert again.bit_generator.state == expected.bit_generator.state


def test_chains_of_draws_and_states_of_two_functions():
    def results(mode):
        rng = pytensor.shared(np.random.default_rng(3))
        first, x = basic.normal(size=2, rng=rng).owner.outputs
        second, y = basic.poisson(pt.exp(x), rng=first).owner.outputs
        f = pytensor.function([], [x, y], updates={rng: second}, mode=mode)
        g = pytensor.function([], x, updates={rng: first}, mode=mode)
        return [*f(), g(), *f(), g(), rng.get_value().bit_generator.random_raw()]

    for found, wanted in zip(results("PHINTYS"), results(reference.PYTHON)):
        np.testing.assert_array_equal(found, wanted)


def test_loops_and_branches_over_generators():
    def results(mode):
        rng = pytensor.shared(np.random.default_rng(3))
        flag = pt.bscalar()

        def step(x, rng):
            new_rng, y = basic.normal(x, 1.0, rng=rng).owner.outputs
            return [y], {rng: new_rng}

        ys, updates = pytensor.scan(step, outputs_info=[pt.constant(np.float64(0.0))], non_sequences=[rng], n_steps=5)
        f = pytensor.function([], ys, updates=updates, mode=mode)
        new_rng, x = basic.normal(rng=rng).owner.outputs
        g = pytensor.function([flag], [x], updates={rng: imported("ifelse")(flag, new_rng, rng)}, mode=mode)
        return [f(), g(1), g(0), g(0), f()]

    for found, wanted in zip(results("PHINTYS"), results(reference.PYTHON)):
        np.testing.assert_allclose(found, wanted, rtol=1e-14)


def test_copies_and_pickles():
    rng, f = drawing()
    shared, own, loaded = f.copy(share_memory=True), f.copy(), pickle.loads(pickle.dumps(f))
    expected = np.random.default_rng(3)
    first, second = expected.normal(size=3), expected.normal(size=3)
    np.testing.assert_array_equal(f(), first)
    np.testing.assert_array_equal(loaded(), first)
    np.testing.assert_array_equal(loaded(), second)
    np.testing.assert_array_equal(shared(), second)
    other = pytensor.shared(np.random.default_rng(9))
    swapped = f.copy(swap={rng: other})
    np.testing.assert_array_equal(swapped(), np.random.default_rng(9).normal(size=3))
    assert own().shape == (3,)


def test_threads_draw_different_numbers():
    """Calls of one function in several threads draw the numbers that calls one after the other would."""
    rng, f = drawing()
    program, generator, found = f.vm.jit_fn, rng.get_value(borrow=True), []

    def work():
        for _ in range(50):
            found.append(program(generator)[0])

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    expected = np.random.default_rng(3)
    wanted = [expected.normal(size=3) for _ in range(200)]
    np.testing.assert_array_equal(sorted(map(tuple, found)), sorted(map(tuple, wanted)))
    assert rng.get_value().bit_generator.state == expected.bit_generator.state


def test_one_generator_in_two_variables():
    """Both draw the same numbers, and have generators of their own afterwards."""
    generator = np.random.default_rng(3)
    first, second = [pytensor.shared(generator, borrow=True) for _ in range(2)]
    x, y = [basic.normal(rng=rng) for rng in (first, second)]
    f = pytensor.function([], [x, y], updates={first: x.owner.outputs[0], second: y.owner.outputs[0]}, mode="PHINTYS")
    expected = np.random.default_rng(3)
    for _ in range(2):
        number = expected.normal()
        np.testing.assert_array_equal(f(), [number, number])


class Spawning(basic.NormalRV):
    """A user's op, which does more with a generator than to draw."""

    def rng_fn(self, rng, loc, scale, size):
        return rng.spawn(1)[0].normal(loc, scale, size)


def test_ops_of_the_user_get_the_generator_itself():
    """They are derived from an op with a row, and draw by other code."""
    def results(mode):
        rng = pytensor.shared(np.random.default_rng(3))
        new_rng, x = Spawning()(0.0, 1.0, size=2, rng=rng).owner.outputs
        f = pytensor.function([], x, updates={rng: new_rng}, mode=mode)
        return [f(), f()]

    np.testing.assert_array_equal(results("PHINTYS"), results(reference.PYTHON))


def test_translated_generators():
    rng = pytensor.shared(np.random.default_rng(3))
    sample = basic.normal(size=3, rng=rng)
    found = translate(sample)
    np.testing.assert_array_equal(found.eval(), np.random.default_rng(3).normal(size=3))


def test_arguments_by_name_and_other_updates():
    """Such calls go to the program directly; wrong names are PyTensor's errors."""
    x, y = pt.dvector("x"), pt.dvector("y")
    total, rng = pytensor.shared(np.zeros(2)), pytensor.shared(np.random.default_rng(3))
    new_rng, noise = basic.normal(size=2, rng=rng).owner.outputs
    f = pytensor.function([x, y], x - y + noise, updates={total: total + x, rng: new_rng}, mode="PHINTYS")
    expected = np.random.default_rng(3)
    np.testing.assert_allclose(f(y=np.ones(2), x=np.full(2, 3.0)), 2 + expected.normal(size=2))
    np.testing.assert_allclose(f(np.full(2, 3.0), y=[1, 1]), 2 + expected.normal(size=2))
    np.testing.assert_array_equal(total.get_value(), [6, 6])
    for wrong in ({"x": np.ones(2)}, {"x": np.ones(2), "z": np.ones(2)}):
        with pytest.raises(TypeError):
            f(**wrong)
    np.testing.assert_allclose(f(y=np.ones(2), x=np.full(2, 3.0)), 2 + expected.normal(size=2))


def test_each_random_variable_has_a_case():
    """The table of rows is that of the ops that PyTensor defines."""
    rows = {kind for kind in random_rows.DRAWN if kind.__module__.startswith("pytensor")}
    assert rows == {kind for kind in vars(basic).values()
                    if isinstance(kind, type) and issubclass(kind, basic.RandomVariable)
                    and kind not in (basic.RandomVariable, basic.ScipyRandomVariable)}
