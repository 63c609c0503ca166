"""What PyMC does besides densities, in mode PHINTYS: sampling, fitting, prediction, data that change; kinds of models.

Values are those of PyTensor's Python mode; draws by the same seeds are the same numbers.
"""
import logging
import warnings

import numpy as np
import pytest

pytest.importorskip("pytensor_reference")
pytest.importorskip("pymc", reason="PyMC is not installed: pip install phintys[pymc]")

import pytensor_reference as reference
from pytensor_reference import pytensor

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import pymc as pm
    from pymc.logprob.utils import CheckParameterValue, ParameterValueError
    from pymc.ode import DifferentialEquation

pt = pytensor.tensor
pytestmark = [pytest.mark.filterwarnings("ignore")]
DATA = np.random.default_rng(0).normal(1, 2, size=20)
LINE = np.linspace(0, 5, 12)
MODES = ("PHINTYS", reference.PYTHON)


@pytest.fixture(autouse=True)
def quiet():
    """PyMC reports what it samples."""
    logging.disable(logging.INFO)
    yield
    logging.disable(logging.NOTSET)


def normal_model():
    with pm.Model() as model:
        mean, spread = pm.Normal("mean", 0, 5), pm.HalfNormal("spread", 2)
        pm.Normal("y", mean, spread, observed=DATA)
    return model


def sampled(model, **options):
    with model:
        return pm.sample(**{"draws": 10, "tune": 10, "chains": 1, "cores": 1, "random_seed": 1, "progressbar": False,
                            "compute_convergence_checks": False, "compile_kwargs": {"mode": "PHINTYS"}, **options})


def as_mode_of_all(mode):
    """For functions of PyMC that take no mode."""
    return pytensor.config.change_flags(mode=pytensor.compile.mode.get_mode(mode))


def same_density(model):
    point = model.initial_point(random_seed=1)
    found, wanted = [(model.compile_logp(mode=mode)(point), model.compile_dlogp(mode=mode)(point)) for mode in MODES]
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-8)
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-8, atol=1e-9)


# ---- samplers ----------------------------------------------------------------------------------------------------
def test_chains_in_processes():
    """They draw what chains in this process draw."""
    found, wanted = [sampled(normal_model(), chains=2, cores=cores).posterior["mean"] for cores in (2, 1)]
    assert found.shape == (2, 10)
    np.testing.assert_array_equal(found, wanted)


def test_steps_of_several_kinds():
    with as_mode_of_all("PHINTYS"), pm.Model() as model:
        count, flag, kind = pm.Poisson("count", 3), pm.Bernoulli("flag", 0.3), pm.Categorical("kind", [0.2, 0.3, 0.5])
        mean, other = pm.Normal("mean", 0, 1), pm.Normal("other", 0, 1)
        pm.Normal("y", mean + flag + count + kind + other, 1, observed=DATA)
        steps = [pm.Metropolis([count]), pm.BinaryGibbsMetropolis([flag]), pm.CategoricalGibbsMetropolis([kind]),
                 pm.Slice([mean]), pm.NUTS([other])]
    assert sampled(model, step=steps).posterior["count"].shape == (1, 10)


def test_sequential_monte_carlo():
    with normal_model():
        found = pm.sample_smc(20, chains=1, cores=1, random_seed=1, progressbar=False,
                              compile_kwargs={"mode": "PHINTYS"})
    assert found.posterior["mean"].shape == (1, 20)


@pytest.mark.parametrize("method", ["advi", "fullrank_advi"])
def test_variational_inference(method):
    means = []
    for mode in MODES:
        with normal_model(), as_mode_of_all(mode):
            means.append(pm.fit(20, method=method, random_seed=3, progressbar=False).sample(
                20, random_seed=1).posterior["mean"].values)
    np.testing.assert_allclose(*means, rtol=1e-5)


def test_the_mode_of_a_posterior():
    found = []
    for mode in MODES:
        with normal_model(), as_mode_of_all(mode):
            found.append(pm.find_MAP(progressbar=False)["mean"])
    np.testing.assert_allclose(*found, rtol=1e-4)


def test_minibatches():
    with pm.Model():
        part = pm.Minibatch(np.arange(100.0), batch_size=10)
        pm.Normal("y", pm.Normal("mean"), 1, observed=part, total_size=100)
        assert len(pm.fit(20, progressbar=False, random_seed=1, compile_kwargs={"mode": "PHINTYS"}).hist) == 20


# ---- draws and predictions ---------------------------------------------------------------------------------------
def test_draws():
    variables = [pm.Gamma.dist(2, [1.0, 2.0], shape=2), pm.MvNormal.dist(np.zeros(2), np.eye(2))]
    for found, wanted in zip(*[pm.draw(variables, draws=4, random_seed=5, mode=mode) for mode in MODES]):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_predictions_and_likelihoods():
    model, predicted, likelihoods = normal_model(), [], []
    trace = sampled(model)
    for mode in MODES:
        with model, as_mode_of_all(mode):
            predicted.append(pm.sample_posterior_predictive(
                trace, random_seed=2, progressbar=False).posterior_predictive["y"].values)
            likelihoods.append(pm.compute_log_likelihood(
                trace, progressbar=False, extend_inferencedata=False)["y"].values)
    np.testing.assert_allclose(*predicted, rtol=1e-12)
    np.testing.assert_allclose(*likelihoods, rtol=1e-12)


def test_checks_of_parameters_are_replaced_while_a_model_is_translated():
    """PyTensor's machinery is not run for them: the graph that it keeps still has them. With another rewrite it is."""
    def checks(function):
        return sum([isinstance(node.op, CheckParameterValue) for node in function.f.maker.fgraph.apply_nodes])

    found = {}
    for bounds in (True, False):
        with pm.Model(check_bounds=bounds) as model:
            scale = pm.Normal("scale", 0, 1)
            pm.Normal("y", 0, scale, observed=1.0)
        function = model.compile_logp(mode="PHINTYS")
        found[bounds] = function({"scale": np.array(-2.0)})
        assert checks(function) == 2
        np.testing.assert_allclose(function({"scale": np.array(0.5)}),
                                      model.compile_logp()({"scale": np.array(0.5)}), rtol=1e-12)
    assert found[True] == -np.inf and np.isnan(found[False])
    with model:
        mode = pytensor.compile.mode.get_mode("PHINTYS").including("local_pow_canonicalize")
        assert checks(model.compile_logp(mode=mode)) == 0


def test_graphs_inside_of_ops_need_no_rewrites_of_pytensor_unless_they_check_parameters():
    def outcome(function, mode):
        x = pt.dscalar("x")
        with pm.Model() as model:
            scale = pm.Normal("scale", 0, 1)
            pm.Potential("y", pytensor.compile.builders.OpFromGraph([x], [function(x)])(scale))
        compiled = model.compile_logp(mode=mode)
        rows = getattr(compiled.f.maker.fgraph, "rows_instead", None)
        try:
            return rows, float(compiled({"scale": np.array(-2.0)}))
        except ParameterValueError:             # before 3.3, whose rewrites leave graphs inside of ops alone
            return rows, "not checked"

    def checked(x):
        return CheckParameterValue("x > 0", can_be_replaced_by_ninf=True)(x, x > 0)

    rows, value = outcome(pt.sqr, "PHINTYS")
    assert [*rows] == [CheckParameterValue] and np.isfinite(value)
    rows, value = outcome(checked, "PHINTYS")
    assert rows is None and value == (-np.inf if hasattr(pytensor.compile, "rewriting") else "not checked")


def test_data_may_change_their_lengths():
    with pm.Model() as model:
        x, y = pm.Data("x", np.arange(4.0)), pm.Data("y_seen", np.arange(4.0))
        pm.Normal("y", pm.Normal("slope") * x, 1, observed=y, shape=x.shape)
    functions = [model.compile_logp(mode=mode) for mode in MODES]
    trace = sampled(model)
    for length in (4, 7):
        with model:
            pm.set_data({"x": np.arange(float(length)), "y_seen": np.ones(length)})
        np.testing.assert_allclose(*[f({"slope": 0.3}) for f in functions], rtol=1e-12)
    with model:
        found = pm.sample_posterior_predictive(trace, random_seed=2, progressbar=False,
                                               compile_kwargs={"mode": "PHINTYS"}).posterior_predictive["y"]
    assert found.shape == (1, 10, 7)


# ---- kinds of models ---------------------------------------------------------------------------------------------
def potential():
    pm.Potential("p", -pm.Normal("a") ** 4)


def own_density():
    pm.CustomDist("y", pm.Normal("a"), logp=lambda value, a: -(value - a) ** 2, observed=DATA)
    pm.CustomDist("z", pm.Normal("b"), dist=lambda b, size: pt.exp(pm.Normal.dist(b, 1, size=size)),
                  observed=np.abs(DATA) + 0.1)


def missing_values():
    pm.Normal("y", pm.Normal("a"), 1, observed=np.ma.masked_invalid([1.0, np.nan, 2.0, np.nan, 3.0]))


def truncated_and_censored():
    a = pm.HalfNormal("a")
    pm.Truncated("t", pm.Normal.dist(a, 1), lower=-1, upper=2, observed=[0, 1.0, 1.5])
    pm.Censored("c", pm.Gamma.dist(a, 1.0), lower=None, upper=3, observed=[1.0, 3.0, 2.0])
    pm.Censored("d", pm.Beta.dist(a, a + 1), lower=0.1, upper=0.7, observed=[0.1, 0.5, 0.7])


def mixtures():
    pm.NormalMixture("y", pm.Dirichlet("w", np.ones(3)), pm.Normal("a", [-1, 0, 1.0], 1, shape=3), 1.0, observed=DATA)
    pm.Mixture("z", w=[0.5, 0.5], comp_dists=[pm.Poisson.dist(3), pm.NegativeBinomial.dist(2, 2)], observed=[1, 2, 3])
    pm.ZeroInflatedBinomial("i", 0.3, 5, pm.math.sigmoid(pm.Normal("b")), observed=[0, 2])


def time_series():
    pm.AR("y", pm.Normal("a", 0, 0.3, shape=2), sigma=1.0, init_dist=pm.Normal.dist(0, 1), observed=DATA)
    pm.GaussianRandomWalk("walk", 0, 1.0, init_dist=pm.Normal.dist(0, 1), shape=10)
    pm.GARCH11("garch", 1.0, 0.2, 0.3, pm.HalfNormal("s"), observed=DATA)


def interpolated():
    pm.Normal("y", pm.Interpolated("a", LINE, np.exp(-(LINE - 2) ** 2)), 1, observed=DATA)


def gaussian_processes():
    length = pm.InverseGamma("length", 2, 1)
    process = pm.gp.HSGP(m=[5], c=1.5, cov_func=pm.gp.cov.ExpQuad(1, length))
    pm.Normal("y", process.prior("f", X=LINE[:, None]), 1, observed=np.sin(LINE))
    pm.gp.MarginalApprox(cov_func=pm.gp.cov.Matern52(1, length), approx="FITC").marginal_likelihood(
        "z", X=LINE[:, None], Xu=LINE[::3, None], y=np.sin(LINE), sigma=0.1)


def differential_equation():
    equation = DifferentialEquation(func=lambda y, t, p: [-p[0] * y[0]], times=np.arange(0.5, 3, 0.5), n_states=1,
                                    n_theta=1, t0=0)
    pm.Normal("y", equation(y0=[1.0], theta=[pm.HalfNormal("a")])[:, 0], 0.1, observed=np.exp(-np.arange(0.5, 3, 0.5)))


KINDS = [potential, own_density, missing_values, truncated_and_censored, mixtures, time_series, interpolated,
         gaussian_processes, differential_equation]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_densities_of_kinds_of_models(kind):
    with pm.Model() as model:
        kind()
    same_density(model)
