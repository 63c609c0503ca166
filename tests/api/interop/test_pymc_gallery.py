"""Models of the kinds in PyMC's gallery: log-density and gradient are those of PyTensor's Python mode.

The suite compares a few, ``make test-long`` all, with the twenty of ``pymc_models``: at points near and far, and with
the transforms taken away at points outside the support, where both must be finite or not alike. Formulas that lose
digits are compared as far as PyTensor agrees with itself, with its own rewrites and without them.
"""
import logging
import warnings

import numpy as np
import pytest

pytest.importorskip("pytensor_reference")
pytest.importorskip("pymc", reason="PyMC is not installed: pip install phintys[pymc]")
mpmath = pytest.importorskip("mpmath")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import further_models
    import gallery_models
    import pymc as pm
    import pymc_models
    import pytensor.tensor as pt
    from gallery_models import GALLERY, made
    from pymc.blocking import DictToArrayBijection
    from pymc.model.transform.conditioning import remove_value_transforms
    from pytensor.compile.mode import Mode
    from pytensor.graph.rewriting.db import RewriteDatabaseQuery

pytestmark = [pytest.mark.filterwarnings("ignore")]
# Without PyTensor's rewrites, but for those by which PyMC replaces its checks of parameters; and with them.
PLAIN = Mode("py", RewriteDatabaseQuery(include=["minimum_compile", "canonicalize_db"]))
REWRITTEN = Mode("py", RewriteDatabaseQuery(include=["fast_run"], exclude=[
    "cxx_only", "BlasOpt", "fusion", "inplace", "scan_save_mem_prealloc"]))
QUICK = ["annotators", "capture_and_recapture", "conditional_autoregression_seen", "copulas", "learning_by_rewards",
         "log_logistic_survival", "missing_values", "multinomial_regression", "pairs_of_competitors",
         "points_that_excite", "proportional_hazards", "smoothing_with_seasons", "sparse_effects", "sums_of_waves",
         "transforms_in_turn", "trend_with_seasons"]
ALL = [*GALLERY, *pymc_models.MODELS]
EXACT = 1e-10
SINGLE = 1e-8           # of a graph without PyMC's own rewrites: logarithms of literal parameters are in float32

# Gradients by eigenvectors of equal eigenvalues are rounding in both; the values are compared.
EQUAL_EIGENVALUES = {"product_of_normal_matrices"}
# Outside the support PyTensor fails (an eigenvalue of a matrix of NaN has no dimension; a singular matrix is not
# inverted; a quantile's parameters are checked), PyMC cannot take the transform away (an initial value, a name), or
# half a minute goes by.
NOT_OUTSIDE = {"conditional_autoregression", "correlation_matrix", "covariance_with_penalty",
               "failures_within_intervals", "hidden_markov_model", "margins_by_inverses", "normal_mixture",
               "ordinal_of_groups", "ordinal_probit", "ordinal_regression", "process_by_random_waves",
               "process_on_a_grid", "stochastic_differential_equation", "transforms_in_turn",
               "truncated_by_pymc", "wishart_by_bartlett"}


@pytest.fixture(autouse=True)
def quiet():
    """PyMC reports variables that it adds."""
    logging.disable(logging.INFO)
    yield
    logging.disable(logging.NOTSET)


def model_of(name):
    return made(name) if name in GALLERY else pymc_models.MODELS[name]()


def distance(found, wanted):
    """How far two pairs of value and gradient are apart, by the sizes of the value and of the gradient."""
    (value, gradient), (other, slope) = found, wanted
    both = np.isfinite(slope) & np.isfinite(gradient)
    size = np.abs(slope[both]).max(initial=1e-300)
    return max(abs(value - other) / max(abs(other), 1e-300), np.abs(gradient - slope)[both].max(initial=0) / size)


def compare(point, found, wanted, rewritten=None, gradients=True):
    """Compare a value and a gradient with those of PyTensor.

    Where PyTensor overflows, phintys may be finite: its formulas are stable, which the tests of rewrites compare with
    exact numbers. Where PyTensor is finite, phintys must be.
    """
    value = found[0]
    if not np.isfinite(wanted[0]):
        return
    assert np.isfinite(value), point
    if not gradients:
        found, wanted = [(each[0], np.zeros(1)) for each in (found, wanted)]
    assert np.isfinite(found[1][np.isfinite(wanted[1])]).all(), point
    apart = distance(found, wanted)
    if apart > EXACT and rewritten is not None:
        again = [rewritten(point), rewritten(np.nextafter(point, np.inf))]
        apart = min(apart, distance(found, again[0]))
        assert apart < 20 * max(distance(each, wanted) for each in again), point
    else:
        assert apart < EXACT, point


def functions_of_vectors(model, modes):
    for mode in modes:
        f = model.logp_dlogp_function(ravel_inputs=True, mode=mode)
        f.set_extra_values({})
        yield f._pytensor_function


def points(model, scales):
    start, draw = DictToArrayBijection.map(model.initial_point()).data, np.random.default_rng(1)
    return [start + scale * draw.normal(size=start.shape) for scale in scales]


@pytest.mark.parametrize("name", QUICK)
def test_a_few_models(name):
    model = model_of(name)
    found, wanted = functions_of_vectors(model, ["PHINTYS", PLAIN])
    for point in points(model, [0, 0.3, 1, 3]):
        compare(point, found(point), wanted(point))


@pytest.mark.long
@pytest.mark.parametrize("name", ALL)
def test_all_models(name):
    model = model_of(name)
    found, wanted, rewritten = functions_of_vectors(model, ["PHINTYS", PLAIN, REWRITTEN])
    for point in points(model, [0, 0.1, 0.3, 0.3, 1, 1, 3, 3, 10]):
        compare(point, found(point), wanted(point), rewritten, name not in EQUAL_EIGENVALUES)


def outside(model):
    """Points of a model without transforms: one variable at a time is negative, zero, large, or negative in part."""
    start = model.initial_point()
    for name, value in start.items():
        if value.dtype.kind == "f":
            first = np.arange(value.size).reshape(value.shape) == 0
            for changed in (-np.abs(value) - 0.3, np.zeros_like(value), value + 1.3, np.where(first, -0.2, value)):
                yield {**start, name: changed}


def compare_outside(name):
    model = remove_value_transforms(model_of(name))
    outputs = [model.logp(), model.dlogp()]
    found, wanted = [model.compile_fn(outputs, inputs=model.value_vars, mode=mode, on_unused_input="ignore")
                     for mode in ("PHINTYS", PLAIN)]
    kinds = set()
    for point in outside(model):
        (value, slope), other = found(point), wanted(point)
        assert np.isfinite(value) == np.isfinite(other[0]) and np.isnan(value) == np.isnan(other[0]), point
        if np.isfinite(value):
            assert distance((value, np.zeros(1)), (other[0], np.zeros(1))) < SINGLE, point
            assert name in EQUAL_EIGENVALUES or np.isfinite(slope[np.isfinite(other[1])]).all(), point
        kinds.add(bool(np.isfinite(value)))
    return kinds


def test_outside_the_support():
    assert compare_outside("pairs_of_competitors") == {True, False}


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in ALL if name not in NOT_OUTSIDE])
def test_outside_the_support_of_all_models(name):
    assert compare_outside(name)


def test_there_are_many_models():
    assert len(GALLERY) >= 128 and not set(GALLERY) & set(pymc_models.MODELS) and set(QUICK) <= set(ALL)
    assert NOT_OUTSIDE | EQUAL_EIGENVALUES <= set(ALL)
    assert {function.__module__ for function in GALLERY.values()} == {gallery_models.__name__, further_models.__name__}


@pytest.mark.long
def test_a_process_on_a_grid_is_as_exact_as_by_pytensor():
    """Its covariance has eigenvalues close to each other, so the gradient loses digits in both. 50 digits decide."""
    mpmath = pytest.importorskip("mpmath")
    import pymc as pm
    grids = [np.linspace(0, 1, 3)[:, None], np.linspace(0, 1, 4)[:, None]]
    y = np.random.default_rng(0).normal(size=12)
    with pm.Model() as model:
        covariances = [pm.gp.cov.ExpQuad(1, ls=pm.Gamma(name, 2, 1)) for name in "ab"]
        pm.gp.MarginalKron(cov_funcs=covariances).marginal_likelihood("y", Xs=grids, y=y, sigma=pm.HalfNormal("s"))
    functions = [*functions_of_vectors(model, ["PHINTYS", PLAIN])]

    def exact(logs):
        a, b, s = [mpmath.exp(each) for each in logs]
        kernels = [mpmath.matrix([[mpmath.exp(-(mpmath.mpf(float(x)) - mpmath.mpf(float(z))) ** 2 / (2 * ls * ls))
                                   for z in grid[:, 0]] for x in grid[:, 0]]) for grid, ls in zip(grids, (a, b))]
        total = mpmath.matrix([[kernels[0][i // 4, j // 4] * kernels[1][i % 4, j % 4] + (s * s if i == j else 0)
                                for j in range(12)] for i in range(12)])
        vector = mpmath.matrix([mpmath.mpf(float(each)) for each in y])
        priors = sum(2 * each - mpmath.exp(each) for each in logs[:2]) + logs[2] - s * s / 2
        return priors - mpmath.log(mpmath.det(total)) / 2 - (vector.T * mpmath.lu_solve(total, vector))[0] / 2
    with mpmath.workdps(50):
        for point in ([0.1, 1.5, -2.0], [2.0, 2.0, -4.0], [2.0, 2.5, -7.0]):
            logs = [mpmath.mpf(each) for each in point]
            wanted = np.array([float(mpmath.diff(lambda each, at=at: exact(logs[:at] + [each] + logs[at + 1:]),
                                                 logs[at])) for at in range(3)])
            ours, theirs = [np.abs(f(np.array(point))[1] - wanted).max() for f in functions]
            assert ours <= 5 * theirs + 1e-12 * np.abs(wanted).max(), (point, ours, theirs)


# ---- where formulas lose digits, compared with exact gradients -------------------------------------------------------
SEEN, SEEN_MATRIX = np.random.default_rng(7).normal(size=6), np.eye(3) + 0.2


def wishart_of_a_factor(least):
    """The scale's factor has the numbers 1, ``least`` and ``least`` in its diagonal."""
    with pm.Model() as model:
        numbers = pm.Flat("numbers", shape=6)
        factor = pt.set_subtensor(pt.zeros((3, 3))[np.tril_indices(3)], numbers)
        pm.Wishart("y", nu=6, V=pt.dot(factor, factor.T), observed=SEEN_MATRIX)

    def exactly(numbers):
        factor = mpmath.zeros(3)
        for number, row, column in zip(numbers, *np.tril_indices(3)):
            factor[int(row), int(column)] = number
        scale, seen = factor * factor.T, mpmath.matrix(SEEN_MATRIX.tolist())
        solution = mpmath.inverse(scale) * seen
        return -(solution[0, 0] + solution[1, 1] + solution[2, 2] + 6 * mpmath.log(mpmath.det(scale))) / 2
    return model, exactly, np.array([1, 0.5, least, 0.3, 0.2, least])


def kronecker_product(gap):
    """Two eigenvalues of the second matrix differ by about ``gap``; the gradient is by its eigenvectors."""
    diagonal = np.array([1, 1 + gap, 1])
    with pm.Model() as model:
        levels = pm.Flat("levels", shape=3)
        pm.KroneckerNormal("y", mu=np.zeros(6), covs=[pt.eye(2) + levels[0], np.diag(diagonal) + levels[1]],
                           sigma=levels[2], observed=SEEN)

    def exactly(levels):
        first, second = mpmath.eye(2) + levels[0] * mpmath.ones(2), mpmath.diag(diagonal) + levels[1] * mpmath.ones(3)
        whole = mpmath.matrix(6, 6)
        for row, column in np.ndindex(6, 6):
            whole[row, column] = first[row // 3, column // 3] * second[row % 3, column % 3]
        whole += levels[2] ** 2 * mpmath.eye(6)
        seen = mpmath.matrix(SEEN.tolist())
        return -(mpmath.log(mpmath.det(whole)) + (seen.T * mpmath.inverse(whole) * seen)[0]) / 2
    return model, exactly, np.array([0.7, 0.4, 0.6])


@pytest.mark.parametrize("make, size, most", [
    (wishart_of_a_factor, 1e-2, 2e-9), (wishart_of_a_factor, 1e-3, 2e-5),
    (kronecker_product, 1e-6, 1e-10), (kronecker_product, 1e-9, 1e-6)])
def test_neither_side_is_exact_where_digits_are_lost(make, size, most):
    """Scales that are nearly singular, and eigenvalues close to each other: phintys and PyTensor are equally far from
    the exact gradient, which ``most`` bounds, and that far from each other."""
    model, exactly, point = make(size)
    found, wanted = functions_of_vectors(model, ["PHINTYS", PLAIN])
    with mpmath.workdps(60):
        numbers = [mpmath.mpf(number) for number in point.tolist()]
        slope = np.array([float(mpmath.diff(lambda x, place=place: exactly(
            numbers[:place] + [x] + numbers[place + 1:]), numbers[place])) for place in range(len(numbers))])

    def error(f):
        """The larger one of those here and beside."""
        return max([np.abs(f(each)[1] - slope).max() / np.abs(slope).max()
                    for each in (point, np.nextafter(point, np.inf))])
    assert error(found) < most and error(wanted) < most
    assert error(found) < 100 * max(error(wanted), np.finfo(float).eps)
