"""Random variables of PyMC, and what draws them: the numbers of PyTensor's Python mode from the same seed."""
import logging
import warnings

import numpy as np
import pytest
import scipy.sparse

pytest.importorskip("pytensor_reference")
pytest.importorskip("pymc", reason="PyMC is not installed: pip install phintys[pymc]")

import pytensor_reference as reference
from pytensor_reference import pytensor

from phintys.interop.pytensor import fallback

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import pymc as pm

pytestmark = [pytest.mark.filterwarnings("ignore")]
LINE, IDENTITY = np.linspace(0, 1, 20), np.eye(3)
NEIGHBOURS = np.zeros((6, 6))                   # whose order SciPy changes
for one, other in ((0, 3), (3, 5), (5, 1), (1, 4), (4, 2), (0, 1)):
    NEIGHBOURS[one, other] = NEIGHBOURS[other, one] = 1


@pytest.fixture(autouse=True)
def quiet():
    """PyMC reports what it samples; PyTensor's default mode decides how a few distributions are drawn."""
    logging.disable(logging.INFO)
    with pytensor.config.change_flags(linker="py"):
        yield
    logging.disable(logging.NOTSET)


DISTRIBUTIONS = {
    "Beta": lambda: pm.Beta.dist(2.0, 0.5, shape=9),
    "Beta, at its ends": lambda: pm.Beta.dist(0.01, 0.01, shape=9),
    "Wald": lambda: pm.Wald.dist(2.0, 3.0, alpha=1.0, shape=9),
    "SkewNormal": lambda: pm.SkewNormal.dist(mu=1.0, sigma=2.0, alpha=3.0, shape=9),
    "SkewStudentT": lambda: pm.SkewStudentT.dist(mu=1.0, sigma=2.0, a=3.0, b=2.0, shape=9),
    "Moyal": lambda: pm.Moyal.dist(1.0, 2.0, shape=9),
    "Rice": lambda: pm.Rice.dist(nu=1.0, sigma=2.0, shape=9),
    "Interpolated": lambda: pm.Interpolated.dist(LINE, np.sin(3 * LINE), shape=9),
    "Interpolated, one": lambda: pm.Interpolated.dist(LINE, np.ones(20)),
    "TruncatedNormal": lambda: pm.TruncatedNormal.dist(0.0, 1.0, lower=-1.0, upper=2.0, shape=9),
    "TruncatedNormal, above": lambda: pm.TruncatedNormal.dist(1.0, 2.0, lower=0.0, shape=9),
    "TruncatedNormal, far below": lambda: pm.TruncatedNormal.dist(0.0, 1.0, upper=-30.0, shape=9),
    "TruncatedNormal, several": lambda: pm.TruncatedNormal.dist(0.0, 1.0, lower=np.array([[-40.0], [2.0], [9.0]]),
                                                                upper=np.array([9.5, 10.0])),
    "DiscreteUniform": lambda: pm.DiscreteUniform.dist(np.arange(4), 12, shape=(3, 4)),
    "MatrixNormal": lambda: pm.MatrixNormal.dist(mu=np.ones((2, 3)), rowchol=np.tril(np.ones((2, 2))),
                                                 colchol=np.tril(np.ones((3, 3))), size=(2,)),
    "StickBreakingWeights": lambda: pm.StickBreakingWeights.dist(alpha=np.array([1.0, 3.0]), K=4, size=(3, 2)),
    "AsymmetricLaplace": lambda: pm.AsymmetricLaplace.dist(kappa=1.0, mu=2.0, b=0.5, shape=9),
    "ZeroInflatedPoisson": lambda: pm.ZeroInflatedPoisson.dist(0.7, 3.0, shape=9),
    "NormalMixture": lambda: pm.NormalMixture.dist(np.array([0.3, 0.7]), np.array([0.0, 3.0]), np.array([1.0, 2.0]),
                                                   shape=9),
    "Censored": lambda: pm.Censored.dist(pm.Normal.dist(0.0, 1.0), -1.0, 1.0, shape=9),
    "Truncated": lambda: pm.Truncated.dist(pm.Gamma.dist(2.0, 1.0), upper=3.0, shape=9),
    "LKJCorr": lambda: pm.LKJCorr.dist(n=4, eta=2.0),
    "LKJCholeskyCov": lambda: pm.LKJCholeskyCov.dist(n=3, eta=2.0, sd_dist=pm.Exponential.dist(1.0))[0],
    "AR": lambda: pm.AR.dist([0.3, 0.2], sigma=1.0, init_dist=pm.Normal.dist(0, 1), steps=5),
    "GaussianRandomWalk": lambda: pm.GaussianRandomWalk.dist(0.0, 1.0, init_dist=pm.Normal.dist(0, 1), steps=5),
    "GARCH11": lambda: pm.GARCH11.dist(1.0, 0.2, 0.3, 1.0, steps=5),
    "EulerMaruyama": lambda: pm.EulerMaruyama.dist(0.1, lambda x, t: (-t * x, 1.0), [0.5], steps=5,
                                                   init_dist=pm.Normal.dist(0, 1)),
    "DirichletMultinomial": lambda: pm.DirichletMultinomial.dist(10, np.array([1.0, 2.0, 3.0]), shape=(4, 3)),
    "MvStudentT": lambda: pm.MvStudentT.dist(nu=4.0, mu=np.zeros(3), scale=IDENTITY, shape=(4, 3)),
    "MvNormal, svd": lambda: pm.MvNormal.dist(np.arange(3.0), IDENTITY + 1, method="svd", shape=(4, 3)),
    "OrderedLogistic": lambda: pm.OrderedLogistic.dist(0.3, np.array([-1.0, 0.0, 1.0]), shape=9),
    "ZeroSumNormal": lambda: pm.ZeroSumNormal.dist(2.0, shape=5),
    "CAR": lambda: pm.CAR.dist(np.arange(6.0), NEIGHBOURS, alpha=0.6, tau=2.0),
    "CAR, several": lambda: pm.CAR.dist(np.zeros(6), NEIGHBOURS, alpha=-0.3, tau=2.0, size=(2, 3)),
    "CAR, sparse": lambda: pm.CAR.dist(np.ones((2, 6)), scipy.sparse.csr_matrix(NEIGHBOURS), alpha=0.6, tau=2.0),
}
if hasattr(pm.distributions.multivariate, "WishartRV"):         # PyMC 6 has none
    SCALE = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 3.0]])
    DISTRIBUTIONS.update({
        "Wishart": lambda: pm.Wishart.dist(5.0, SCALE),
        "Wishart, several": lambda: pm.Wishart.dist(3, SCALE, size=(2, 4)),
    })
try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pymc_extras.distributions import GeneralizedPoisson, GenExtreme
except ImportError:
    pass
else:
    DISTRIBUTIONS.update({
        "GenExtreme": lambda: GenExtreme.dist(np.arange(3.0), 2.0, np.array([[0.3], [0.0], [-0.4]])),
        "GenExtreme, without spread": lambda: GenExtreme.dist(1.0, 0.0, 0.3, shape=4),
        "GeneralizedPoisson": lambda: GeneralizedPoisson.dist(3.0, 0.4, shape=9),
        "GeneralizedPoisson, narrow": lambda: GeneralizedPoisson.dist(30.0, -0.3, shape=9),
        "GeneralizedPoisson, several": lambda: GeneralizedPoisson.dist(np.arange(1.0, 5.0),
                                                                       np.array([[0.5], [-0.2], [0.0]])),
    })


def drawn(make, mode):
    """Draws of two calls, and the states of the generators after them."""
    f = pm.pytensorf.compile([], make(), random_seed=3, mode=mode)
    values = [f(), f()]
    return values, [rng.get_value().bit_generator.state for rng in f.get_shared()
                    if isinstance(rng.get_value(), np.random.Generator)]


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distributions(name, monkeypatch):
    """None is run by PyTensor's Python code."""
    performed, perform = [], fallback.Performed.perform
    monkeypatch.setattr(fallback.Performed, "perform", lambda op, *args: performed.append(op) or perform(op, *args))
    (found, states), (wanted, wanted_states) = [drawn(DISTRIBUTIONS[name], mode)
                                                for mode in ("PHINTYS", reference.PYTHON)]
    assert not performed
    assert states and states == wanted_states
    for values, reference_values in zip(found, wanted):
        assert values.dtype == reference_values.dtype
        np.testing.assert_allclose(values, reference_values, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("make", [
    lambda x: pm.Beta.dist(x, 1.0), lambda x: pm.TruncatedNormal.dist(0.0, 1.0, lower=-x, upper=x),
    lambda x: pm.DiscreteUniform.dist(0, x), lambda x: pm.SkewNormal.dist(mu=0.0, sigma=x, alpha=1.0),
    lambda x: pm.CAR.dist(np.zeros(6), NEIGHBOURS, alpha=2.5 - x, tau=1.0),
    lambda x: pm.CAR.dist(np.zeros(6), NEIGHBOURS, alpha=x / 4 - 0.9, tau=1.0)])
def test_wrong_parameters(make):
    x = pytensor.tensor.dscalar()
    for mode in ("PHINTYS", reference.PYTHON):
        f = pm.pytensorf.compile([x], make(x), mode=mode)
        assert np.isfinite(f(2.0)).all()
        with pytest.raises(ValueError):
            f(-1.0)


# ---- what draws ----------------------------------------------------------------------------------------------------
def grouped_model():
    group, data = np.arange(12) % 3, np.linspace(-1, 1, 12)
    with pm.Model() as model:
        mean, spread = pm.Normal("mean", 0, 2), pm.HalfNormal("spread", 1)
        effect = pm.Normal("effect", mean, spread, shape=3)
        noise = pm.HalfCauchy("noise", 1)
        pm.Deterministic("total", effect.sum())
        pm.StudentT("y", nu=4, mu=effect[group], sigma=noise, observed=data)
        pm.Poisson("count", pm.math.exp(effect[0]), observed=[1, 2, 0])
    return model


def same_data(found, wanted):
    assert set(found) == set(wanted)
    for name in found:
        np.testing.assert_allclose(found[name], wanted[name], rtol=1e-12)


def test_prior_and_posterior_predictive():
    found = []
    for mode in ("PHINTYS", reference.PYTHON):
        options = {"random_seed": 3, "compile_kwargs": {"mode": mode}}
        with grouped_model():
            prior = pm.sample_prior_predictive(6, **options)
            predicted = pm.sample_posterior_predictive(prior.prior, progressbar=False, **options)
            again = pm.sample_posterior_predictive(prior.prior, var_names=["effect", "y"], progressbar=False, **options)
        found.append([prior.prior, prior.prior_predictive, predicted.posterior_predictive, again.posterior_predictive])
    for ours, wanted in zip(*found):
        same_data(ours, wanted)


def test_draw_of_several_and_of_a_batch():
    def draws(mode):
        x = pm.Normal.dist(np.arange(3.0), 2.0)
        y = pm.Gamma.dist(2.0, pm.math.exp(x), size=(4, 3))
        return pm.draw([x, y, x + y], draws=5, random_seed=4, mode=mode)

    for found, wanted in zip(draws("PHINTYS"), draws(reference.PYTHON)):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_vectorized_graphs():
    """A graph for one point becomes one for many, with sizes of its random variables extended."""
    def draws(mode):
        mean = pytensor.tensor.dscalar()
        rng = pytensor.shared(np.random.default_rng(3))
        sample = pytensor.tensor.random.normal(mean, 1.0, size=(2,), rng=rng)
        means = pytensor.tensor.dvector()
        batch = pytensor.graph.replace.vectorize_graph(sample, {mean: means})
        f = pytensor.function([means], batch, updates={rng: batch.owner.outputs[0]}, mode=mode)
        return [f(np.arange(3.0)), f(np.arange(4.0))]

    for found, wanted in zip(draws("PHINTYS"), draws(reference.PYTHON)):
        np.testing.assert_array_equal(found, wanted)


def test_functions_of_the_user():
    """CustomDist with a function of a generator, with a graph, and Simulator."""
    def draws(mode):
        def sample(mean, rng=None, size=None):
            return rng.spawn(1)[0].normal(mean, size=size) + rng.random(size)

        x = pm.CustomDist.dist(1.0, random=sample, size=(3,))
        y = pm.CustomDist.dist(x, dist=lambda mean, size: pm.Normal.dist(mean, size=size) ** 2, size=(3,))
        return pm.draw([x, y], draws=2, random_seed=4, mode=mode)

    for found, wanted in zip(draws("PHINTYS"), draws(reference.PYTHON)):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_the_density_of_a_custom_distribution_runs_no_python_code_of_its_draws():
    """``random`` is called for each draw, with a generator and the size; ``logp`` writes a graph, once."""
    calls = []

    def random(mean, rng=None, size=None):
        calls.append(size)
        return rng.normal(mean, size=size) ** 3

    def logp(value, mean):
        return pm.logp(pm.Normal.dist(mean, 1), pytensor.tensor.sign(value) * abs(value) ** (1 / 3))

    with pm.Model() as model:
        pm.CustomDist("y", pm.Normal("mean", 0, 1), random=random, logp=logp, observed=np.array([1.0, 2.0, 0.5]))
    density = model.compile_logp(mode="PHINTYS")
    calls.clear()
    assert np.isfinite(density({"mean": np.array(0.5)})) and "0 Python calls" in density.f.vm.jit_fn.explain()
    assert not calls
    found = [pm.sample_prior_predictive(4, model=model, random_seed=1, compile_kwargs={"mode": mode})
             for mode in ("PHINTYS", reference.PYTHON)]
    np.testing.assert_array_equal(*[each.prior_predictive["y"].values for each in found])
    assert len(calls) >= 8 and set(calls) == {(3,)}


def test_sequential_monte_carlo_with_a_simulator():
    data = np.random.default_rng(0).normal(1, 1, 20)

    def sampled(mode):
        with pytensor.config.change_flags(mode=pytensor.compile.mode.get_mode(mode)), pm.Model():
            mean = pm.Normal("mean", 0, 2)
            pm.Simulator("y", lambda rng, mean, size: rng.normal(mean, 1, size), mean, sum_stat="sort", epsilon=1,
                         observed=data)
            return pm.sample_smc(draws=30, chains=1, cores=1, progressbar=False, random_seed=5,
                                 compute_convergence_checks=False).posterior["mean"]

    np.testing.assert_allclose(sampled("PHINTYS"), sampled(reference.PYTHON), rtol=1e-9)
