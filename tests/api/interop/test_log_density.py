"""``phintys.interop.logp``: values and gradients for vectors, rows, dictionaries and symbolic points; transforms.

Then what it is for: the mode of a posterior and its Laplace approximation by SciPy, an ensemble of walkers, and
Hamiltonian Monte Carlo as one program.
"""
import threading
import warnings
from functools import cache

import numpy as np
import pytest
from scipy.optimize import minimize

pytest.importorskip("pytensor_reference")
pytest.importorskip("pymc", reason="PyMC is not installed: pip install phintys[pymc]")

import pytensor_reference as reference

import phintys
import phintys.tensor as T
from phintys.interop import logp

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import pymc as pm
    import pymc_models
    import pytensor
    from pytensor.scan.utils import until

pytestmark = [pytest.mark.filterwarnings("ignore")]
DATA = np.random.default_rng(0).normal(1, 2, size=20)
transforms = pm.distributions.transforms


def normal_model():
    with pm.Model() as model:
        mean, spread = pm.Normal("mean", 0, 5), pm.HalfNormal("spread", 2)
        pm.Normal("y", mean, spread, observed=DATA)
    return model


def bounded_model():
    """Transforms of all kinds, some of which depend on other variables."""
    with pm.Model() as model:
        low = pm.Normal("low", -1, 1)
        width = pm.HalfNormal("width", 1)
        inside = pm.Uniform("inside", low, low + width)
        weights = pm.Dirichlet("weights", [2.0, 3.0, 4.0])
        ordered = pm.Normal("ordered", 0, 1, shape=(2, 3), transform=transforms.ordered,
                            initval=np.arange(6.0).reshape(2, 3))
        chances = pm.Beta("chances", 2, 3, shape=2)
        correlations = pm.LKJCholeskyCov("correlations", n=2, eta=2, sd_dist=pm.HalfNormal.dist(1), compute_corr=False)
        zero = pm.ZeroSumNormal("zero", 1, shape=4)
        plain = pm.Normal("plain", 0, 1, shape=(2, 2))
        pm.Deterministic("sum", plain.sum() + weights[0])
        pm.Potential("p", -(inside * chances.sum() + ordered.sum() + correlations.sum() + zero[0] + plain[0, 1]) ** 2)
    return model


def points(density, count=5):
    return density.start + 0.3 * np.random.default_rng(1).normal(size=(count, density.size))


MODELS = {"scan": pymc_models.MODELS["time_series_by_scan"], "normal": normal_model, "bounded": bounded_model}
density_of = cache(lambda kind: logp(MODELS[kind]()))


# ---- values ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", MODELS)
def test_all_forms_of_a_call_agree_with_pytensor(kind):
    density = density_of(kind)
    rows = points(density)
    wanted = density.model.logp_dlogp_function(ravel_inputs=True, mode=reference.PYTHON)
    wanted.set_extra_values({})
    wanted = [wanted._pytensor_function(row) for row in rows]
    values, gradients = [np.array([each[place] for each in wanted]) for place in (0, 1)]
    scale = np.abs(gradients).max()

    def agree(found, value, gradient):
        np.testing.assert_allclose(found[0], value, rtol=1e-10)
        np.testing.assert_allclose(found[1], gradient, rtol=1e-10, atol=1e-10 * scale)
    agree(density(rows), values, gradients)
    agree(density(rows[0]), values[0], gradients[0])
    agree((density.value(rows), density.gradient(rows)), values, gradients)
    for point in (rows, rows[1]):
        found = density(density.unravel(point))
        agree((found[0], density.ravel(found[1])), *[each if point is rows else each[1]
                                                     for each in (values, gradients)])
    for variable, point in ((T.dvector(), rows[2]), (T.dmatrix(), rows)):
        found = phintys.function([variable], density(variable))(point)
        agree(found, *[each if point is rows else each[2] for each in (values, gradients)])


@pytest.mark.parametrize("kind", MODELS)
def test_transforms_and_their_inverses(kind):
    density = density_of(kind)
    rows = points(density)
    values = density.constrain(rows)
    np.testing.assert_allclose(density.unconstrain(values), rows, rtol=1e-8, atol=1e-8)
    one = density.constrain(rows[3])
    for name, value in one.items():
        np.testing.assert_allclose(value, values[name][3], rtol=1e-12)
    np.testing.assert_allclose(density.unconstrain(one), rows[3], rtol=1e-8, atol=1e-8)


def test_values_are_inside_their_bounds():
    density = density_of("bounded")
    found = density.constrain(points(density), deterministics=True)
    assert ((found["inside"] > found["low"]) & (found["inside"] < found["low"] + found["width"])).all()
    np.testing.assert_allclose(found["weights"].sum(-1), 1)
    np.testing.assert_allclose(found["zero"].sum(-1), 0, atol=1e-12)
    assert (np.diff(found["ordered"], axis=-1) > 0).all()
    np.testing.assert_allclose(found["sum"], found["plain"].sum((1, 2)) + found["weights"][:, 0])
    assert "sum" not in density.constrain(density.start)


def test_outside_the_support():
    with pm.Model() as model:
        spread = pm.Normal("spread", 1, 1)
        pm.Normal("y", 0, spread, observed=DATA)
    density = logp(model)
    assert density(np.array([-1.0]))[0] == -np.inf
    assert [*np.isfinite(density(np.array([[-1.0], [1.0], [0.0]]))[0])] == [False, True, False]


def test_density_without_the_jacobian():
    model = normal_model()
    point = model.initial_point()
    for jacobian in (True, False):
        np.testing.assert_allclose(logp(model, jacobian=jacobian).value(point),
                                   model.compile_logp(jacobian=jacobian, mode=reference.PYTHON)(point), rtol=1e-12)


def test_data_may_change():
    with pm.Model() as model:
        x, y = pm.Data("x", np.arange(4.0)), pm.Data("y_seen", np.arange(4.0))
        pm.Normal("y", pm.Normal("slope") * x, 1, observed=y, shape=x.shape)
    density, wanted = logp(model), model.compile_logp(mode=reference.PYTHON)
    for length in (4, 7):
        with model:
            pm.set_data({"x": np.arange(float(length)), "y_seen": np.ones(length)})
        values = [wanted({"slope": slope}) for slope in (0.3, 0.5)]
        np.testing.assert_allclose(density.value({"slope": np.array([0.3, 0.5])}), values, rtol=1e-12)
        np.testing.assert_allclose(density.value(np.array([0.5])), values[1], rtol=1e-12)
        vector = T.dvector()
        np.testing.assert_allclose(phintys.function([vector], density(vector)[0])([0.3]), values[0], rtol=1e-12)


def test_discrete_coordinates_are_fixed():
    with pm.Model() as model:
        count, mean = pm.Poisson("count", 3), pm.Normal("mean", 0, 1)
        rate = pm.HalfNormal("rate", 1)
        pm.Normal("y", mean + count * rate, 1, observed=DATA)
    with pytest.raises(ValueError, match=r"discrete variables \['count'\] have no gradient.*fixed=\{'count': ...\}"):
        logp(model)
    wanted = model.compile_logp(mode=reference.PYTHON)
    for count in (0, 2):
        density = logp(model, fixed={"count": count, "rate_log__": 0.5})
        assert density.names == ["mean"]
        np.testing.assert_allclose(density.value([0.3]), wanted({"count": count, "mean": 0.3, "rate_log__": 0.5}),
                                   rtol=1e-12)
        values = density.constrain([0.3])
        assert values["count"] == count
        np.testing.assert_allclose(values["rate"], np.exp(0.5))
        np.testing.assert_allclose(density.unconstrain(values), [0.3])


def test_the_model_of_a_block():
    with normal_model():
        assert logp().names == ["mean", "spread_log__"]


@pytest.mark.parametrize("call, message", [
    (lambda density: density(np.zeros(3)), "expected a vector of 2 coordinates.* but got an array of shape"),
    (lambda density: density(np.zeros((2, 2, 2))), "matrix with 2 columns"),
    (lambda density: density({"mean": 0.0}), r"missing: \['spread_log__'\]"),
    (lambda density: density({"mean": 0.0, "spread_log__": 0.0, "spread": 1.0}), r"unknown: \['spread'\]"),
    (lambda density: density({"mean": [0.0], "spread_log__": 0.0}), "all with one more dimension.* but got mean"),
    (lambda density: density({"mean": [[0.0]], "spread_log__": [[0.0]]}), "all with one more dimension"),
    (lambda density: density(T.tensor3()), "variable of 1 or 2 dimensions"),
    (lambda density: density.unconstrain({"mean": 0.0}), r"missing: \['spread'\]"),
    (lambda density: logp(density.model, fixed={"x": 1.0}), "unknown coordinate 'x'"),
    (lambda density: logp(density.model, fixed={"mean": [1.0]}), r"shape \(1,\), but the model's coordinate has \(\)"),
    (lambda density: logp(density.model, fixed={"mean": 0.0, "spread_log__": 0.0}), "no variables that are free")])
def test_mistakes_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(logp(normal_model()))


def test_threads_may_share_it():
    density = logp(pymc_models.MODELS["eight_schools"]())
    rows, found = points(density, 200), {}
    wanted = density(rows)

    def compute(place):
        found[place] = [density(row) for row in rows]
    threads = [threading.Thread(target=compute, args=[place]) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for place in found:
        np.testing.assert_allclose([value for value, _ in found[place]], wanted[0], rtol=1e-12)
        np.testing.assert_allclose([gradient for _, gradient in found[place]], wanted[1], rtol=1e-9, atol=1e-9)
    assert len(found) == 4


def test_many_points_of_one_coordinate_that_need_a_loop():
    with pm.Model() as model:
        rate = pm.Normal("rate")
        path = pytensor.scan(lambda value, rate: (value + rate ** 2, until(value > 5)),
                                outputs_info=[rate ** 2 + 1], non_sequences=[rate], n_steps=20)
        path = path[0] if isinstance(path, (list, tuple)) else path
        pm.Potential("total", -path[-1])
    density = logp(model)
    points = np.linspace(0.5, 2, 4)[:, None]
    values, gradients = density(points)
    for point, value, gradient in zip(points, values, gradients):
        for found, expected in zip(density(point), (value, gradient), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_no_points_at_all():
    density = logp(normal_model())
    value, gradient = density(np.zeros((0, 2)))
    assert value.shape == (0,) and gradient.shape == (0, 2)


# ---- what it is for ----------------------------------------------------------------------------------------------
def line_model():
    """A linear model whose posterior is a normal distribution that is known."""
    x = np.linspace(-1, 1, 30)
    y = 1 + 2 * x + 0.5 * np.random.default_rng(3).normal(size=30)
    with pm.Model() as model:
        level, slope = pm.Normal("level", 0, 3), pm.Normal("slope", 0, 3)
        pm.Normal("y", level + slope * x, 0.5, observed=y)
    columns = np.stack([np.ones(30), x], 1)
    precision = columns.T @ columns / 0.25 + np.eye(2) / 9
    covariance = np.linalg.inv(precision)
    return model, covariance @ columns.T @ y / 0.25, covariance


def test_scipy_finds_the_mode_and_laplaces_approximation():
    model, mean, covariance = line_model()
    density = logp(model, jacobian=False)

    def cost(point):
        value, gradient = density(point)
        return -value, -gradient
    found = minimize(cost, density.start, jac=True, method="BFGS")
    np.testing.assert_allclose(found.x, mean, atol=1e-5)
    vector = T.dvector()
    hessian = phintys.function([vector], T.hessian(-density(vector)[0], vector))
    np.testing.assert_allclose(np.linalg.inv(hessian(found.x)), covariance, rtol=1e-8, atol=1e-12)


def test_an_ensemble_of_walkers():
    """Goodman and Weare's stretch move (2010): each half of the walkers is moved in one call."""
    model, mean, covariance = line_model()
    density, draw = logp(model), np.random.default_rng(4)
    walkers = mean + 0.5 * draw.normal(size=(100, density.size))
    values, kept = density.value(walkers), []
    for step in range(400):
        for half, other in ((slice(0, 50), slice(50, 100)), (slice(50, 100), slice(0, 50))):
            stretch = (1 + draw.uniform(size=50)) ** 2 / 2
            partners = walkers[other][draw.integers(50, size=50)]
            proposals = partners + stretch[:, None] * (walkers[half] - partners)
            found = density.value(proposals)
            accepted = np.log(draw.uniform(size=50)) < (density.size - 1) * np.log(stretch) + found - values[half]
            walkers[half] = np.where(accepted[:, None], proposals, walkers[half])
            values[half] = np.where(accepted, found, values[half])
        if step >= 100:
            kept.append(walkers.copy())
    kept = np.concatenate(kept)
    np.testing.assert_allclose(kept.mean(0), mean, atol=4 * np.sqrt(covariance.max() / 500))
    np.testing.assert_allclose(np.cov(kept.T), covariance, atol=0.3 * covariance.max())


def test_hamiltonian_monte_carlo_is_one_program():
    """100 chains: a loop over draws, in it one over leapfrog steps, with momenta and acceptance drawn inside."""
    model, mean, covariance = line_model()
    density, chains, step_size = logp(model), 100, 0.08
    random = T.shared_randomstreams.RandomStreams(5)

    def leapfrog(position, momentum, slope):
        momentum = momentum + step_size / 2 * slope
        position = position + step_size * momentum
        slope = density(position)[1]
        return position, momentum + step_size / 2 * slope, slope

    def draw(position, value, slope):
        momentum = random.normal((chains, density.size))
        (positions, momenta, slopes), _ = phintys.scan(leapfrog, outputs_info=[position, momentum, slope], n_steps=5)
        found = density(positions[-1])[0]
        change = found - value - (momenta[-1] ** 2 - momentum ** 2).sum(1) / 2
        accepted = T.log(random.uniform((chains,))) < change
        return (T.switch(accepted[:, None], positions[-1], position), T.switch(accepted, found, value),
                T.switch(accepted[:, None], slopes[-1], slope))
    start = T.dmatrix("start")
    (draws, _, _), updates = phintys.scan(draw, outputs_info=[start, *density(start)], n_steps=150)
    sampled = phintys.function([start], draws, updates=updates)
    found = sampled(np.random.default_rng(6).normal(size=(chains, density.size)))[30:]
    assert found.shape == (120, chains, density.size)
    found = found.reshape(-1, density.size)
    np.testing.assert_allclose(found.mean(0), mean, atol=5 * np.sqrt(covariance.max() / 4000))
    np.testing.assert_allclose(np.cov(found.T), covariance, atol=0.15 * covariance.max())


def test_only_models_have_a_log_density():
    with pytest.raises(TypeError, match="expected a PyMC model, but got 3"):
        logp(3)
