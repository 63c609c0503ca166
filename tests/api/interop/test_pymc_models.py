"""Twenty PyMC models: log-density, gradient, product of the Hessian with a vector, against PyTensor's Python mode."""
import warnings

import numpy as np
import pytest
from scipy.interpolate import InterpolatedUnivariateSpline

pytest.importorskip("pytensor_reference")
pytest.importorskip("pymc", reason="PyMC is not installed: pip install phintys[pymc]")

import pytensor_reference as reference
from pytensor_reference import pytensor

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import pymc as pm
    import pymc_models
    from pymc.blocking import DictToArrayBijection
    from pymc.distributions import dist_math
    from pymc.pytensorf import join_nonshared_inputs

    from phintys.interop.pytensor import PyTensorFallbackWarning

pt = pytensor.tensor
pytestmark = [pytest.mark.filterwarnings("ignore")]


def density(model):
    """The log-density as a function of one vector, with its gradient and a product of the Hessian; and a point."""
    point = model.initial_point()
    [cost], vector = join_nonshared_inputs(point, [model.logp()], model.value_vars)
    direction = pt.vector("direction", dtype=vector.dtype)
    slope = pytensor.grad(cost, vector)
    product = pytensor.grad((slope * direction).sum(), vector, disconnected_inputs="ignore")
    start = DictToArrayBijection.map(point).data
    draw = np.random.default_rng(1)
    return [vector, direction], [cost, slope, product], [start + 0.3 * draw.normal(size=start.shape),
                                                         draw.normal(size=start.shape)]


@pytest.mark.parametrize("name", pymc_models.MODELS)
def test_values_gradients_and_hessians_are_those_of_pytensor(name):
    inputs, outputs, values = density(pymc_models.MODELS[name]())
    found, wanted = [f(*values) for f in reference.functions(inputs, outputs)]
    for value, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(value, other, rtol=1e-8, atol=1e-8 * np.abs(other).max())


@pytest.mark.parametrize("function, values", [
    (dist_math.i0e, [0.2, 1.5, -3.0]), (pm.math.logdet, [[2.0, 0.5], [0.3, -1.0]]),
    (pm.math.batched_diag, [[1.0, 2.0, 3.0], [4.0, 5.0, np.inf]])])
def test_ops_of_pymc_have_rows(function, values):
    values = np.array(values)
    x = pt.tensor(dtype="float64", shape=(None,) * values.ndim)
    result = function(x)
    outputs = [result, pytensor.grad((pt.cos(pt.arange(result.size)).reshape(result.shape) * result).sum(), x)]
    with warnings.catch_warnings():
        warnings.simplefilter("error", PyTensorFallbackWarning)
        f, wanted = reference.functions([x], outputs)
    for found, other in zip(f(values), wanted(values)):
        np.testing.assert_allclose(found, other, rtol=1e-12)


@pytest.mark.parametrize("degree", [1, 3])
@pytest.mark.parametrize("ext", ["extrapolate", "zeros", "const"])
def test_splines_are_polynomials(ext, degree):
    """Of each piece, also beyond the ends, at the knots, of matrices, and of derivatives; NaN stays."""
    spline = InterpolatedUnivariateSpline(np.arange(6.0), [1, 3, 2, 0, 4, 1.0], k=degree, ext=ext)
    x = pt.dmatrix("x")
    result = dist_math.SplineWrapper(spline)(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PyTensorFallbackWarning)
        f, wanted = reference.functions([x], [result, pytensor.grad(result.sum(), x)])
    values = np.array([[-1.5, 0.0, 0.25, 1.0], [3.7, 5.0, 5.25, np.nan]])
    for found, other in zip(f(values), wanted(values)):
        np.testing.assert_allclose(found, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("degree", range(5))
def test_bases_of_splines(degree, sparse):
    """Those of pymc-extras: at the knots, between them and beyond the ends; as few as there may be, and more."""
    extras = pytest.importorskip("pymc_extras.utils.spline")
    x, count = pt.dvector("x"), pt.lscalar("count")
    with warnings.catch_warnings():
        warnings.simplefilter("error", PyTensorFallbackWarning)
        f, wanted = reference.functions([x, count], extras.BSplineBasis(sparse=sparse)(x, count, degree))
    points = np.concatenate([np.linspace(-0.2, 1.2, 29), [0, 1, 0.25, 0.5, np.nan]])
    for number in (degree + 1, degree + 2, 9):
        found, other = f(points, number), wanted(points, number)
        assert found.dtype == other.dtype
        if sparse:
            assert found.format == other.format
            found, other = found.toarray(), other.toarray()
        np.testing.assert_allclose(found, other, rtol=1e-9, atol=1e-11)
    with pytest.raises(ValueError, match=f"B-splines of degree {degree} must be more than {degree}"):
        f(points, degree)


def test_pymcs_own_functions_run_in_the_mode():
    """``logp_dlogp_function`` and ``compile_logp``, as samplers call them."""
    model = pymc_models.eight_schools()
    f = model.logp_dlogp_function(ravel_inputs=True, mode="PHINTYS")
    f.set_extra_values({})
    point = DictToArrayBijection.map(model.initial_point())
    value, slope = f(point)
    assert np.isfinite(value) and slope.shape == point.data.shape
    np.testing.assert_allclose(model.compile_logp(mode="PHINTYS")(model.initial_point()), value)


def test_parameters_out_of_range_have_no_density():
    """PyMC's checks of parameters become minus infinity, where PyMC asks for it."""
    with pm.Model() as model:
        spread = pm.Normal("spread", 1, 1)
        pm.Normal("y", 0, spread, observed=[1.0, 2.0])
    logp = model.compile_logp(mode="PHINTYS")
    assert logp({"spread": -1.0}) == -np.inf
    assert np.isfinite(logp({"spread": 1.0}))


def samples(mode, draws, tune):
    with pymc_models.eight_schools():
        return pm.sample(draws=draws, tune=tune, chains=1, cores=1, random_seed=3, progressbar=False,
                         compute_convergence_checks=False, compile_kwargs={"mode": mode}).posterior


def test_the_first_samples_of_nuts_are_the_same():
    found, wanted = [samples(mode, 5, 5) for mode in ("PHINTYS", reference.PYTHON)]
    for name in found:
        np.testing.assert_allclose(found[name], wanted[name], rtol=1e-6)


# Means and variances of 40,000 draws by PyTensor's Numba mode, whose own standard errors are below 0.02.
MEANS = {"mean": 4.4, "spread": 3.58, "offsets": [0.312, 0.095, -0.079, 0.059, -0.159, -0.069, 0.352, 0.084]}
VARIANCES = {"mean": 10.932, "spread": 10.375, "offsets": [0.98, 0.891, 0.921, 0.889, 0.865, 0.875, 0.932, 0.936]}


def test_samples_of_nuts_have_the_same_distribution():
    """Later samples differ by rounding; means agree within five standard errors of chains that forget in four steps."""
    found = samples("PHINTYS", 2000, 1000)
    for name in found:
        draws = found[name].values[0]
        error = 5 * np.sqrt(np.array(VARIANCES[name]) / (len(draws) / 4))
        assert (np.abs(draws.mean(0) - MEANS[name]) < error + 0.02).all(), name
        assert (np.abs(np.log(draws.var(0) / VARIANCES[name])) < 0.7).all(), name


def test_forward_sampling_draws_numpys_numbers():
    """Of distributions that PyTensor's default modes and its Python mode draw alike; Numba draws Cauchy's otherwise."""
    with pm.Model():
        mean, spread = pm.Normal("mean", 0, 5), pm.HalfNormal("spread", 5)
        rate = pm.Gamma("rate", 2, spread, shape=3)
        pm.Poisson("counts", rate)
        pm.StudentT("effects", 4, mu=mean, sigma=spread, shape=8)
        found, wanted = [pm.sample_prior_predictive(20, random_seed=3, compile_kwargs={"mode": mode})
                         for mode in ("PHINTYS", reference.PYTHON)]
    for name in found.prior:
        np.testing.assert_allclose(found.prior[name], wanted.prior[name], rtol=1e-12)
