"""PyMC's loops over draws, run as one while phintys is installed: the same draws, and the same results."""
import logging
import sys
import types
import warnings

import numpy as np
import pytest

pytest.importorskip("pytensor_reference")
pytest.importorskip("pymc", reason="PyMC is not installed: pip install phintys[pymc]")

import pytensor_reference as reference
from pytensor_reference import pytensor

from phintys.interop.pytensor import stacked_calls

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import pymc as pm

    from phintys.interop import pymc_draws
    from phintys.interop.pymc import installed

pt = pytensor.tensor
pytestmark = [pytest.mark.filterwarnings("ignore")]


@pytest.fixture(autouse=True)
def quiet():
    """PyMC reports what it samples; PyTensor's default mode decides how a few distributions are drawn."""
    logging.disable(logging.INFO)
    with pytensor.config.change_flags(linker="py"):
        yield
    logging.disable(logging.NOTSET)


@pytest.fixture
def runs(monkeypatch):
    """The first and last row of each run of rows by C, and where it has stopped."""
    seen, run = [], stacked_calls.call_rows

    def counted(address, arguments, results, first, stop):
        last = run(address, arguments, results, first, stop)
        seen.append((first, stop, last))
        return last
    monkeypatch.setattr(stacked_calls, "call_rows", counted)
    return seen


@pytest.fixture(scope="module")
def model():
    with pm.Model(coords={"row": list("abcde"), "group": [3, 7]}) as found:
        x = pm.Data("x", np.arange(5.0), dims="row")
        level = pm.Normal("level", 0, 2, dims="group")
        spread = pm.HalfCauchy("spread", 1)
        mean = pm.Deterministic("mean", level[np.array([0, 1, 0, 1, 1])] + x, dims="row")
        count = pm.Poisson("count", 3)
        y = pm.Normal("y", mean, spread + 0.1, observed=np.ones(5), dims="row")
        pm.Deterministic("double", 2 * y + count, dims="row")
    return found


@pytest.fixture(scope="module")
def points(model):
    """Something of the form of a posterior: three chains of four draws."""
    prior = pm.sample_prior_predictive(12, model=model, random_seed=1).prior.copy()
    prior = prior.to_dataset() if hasattr(prior, "to_dataset") else prior
    first = prior[["level", "spread", "count"]].isel(chain=0, drop=True)
    return first.assign_coords(draw=range(12)).coarsen(draw=4).construct(draw=("chain", "draw")).assign_coords(
        chain=[0, 1, 2], draw=[0, 1, 2, 3])


def stepwise(use):
    """What a use of PyMC returns if it runs on phintys, draw by draw."""
    mode = pytensor.compile.mode.get_mode("PHINTYS")
    with pytensor.config.change_flags(mode=mode):
        return use()


def by_pytensor(use):
    with pytensor.config.change_flags(mode=reference.PYTHON):
        return use()


def at_once(use):
    with installed():
        return use()


def datasets(found):
    """Name → Dataset, or the dictionary of arrays itself."""
    if isinstance(found, dict):
        return {"": found}
    if hasattr(found, "children"):
        return {name: group.to_dataset() for name, group in found.children.items()}
    return {name: found[name] for name in found.groups()}


def check_equal(found, wanted, exactly=True):
    assert type(found) is type(wanted)
    found, wanted = datasets(found), datasets(wanted)
    assert [*found] == [*wanted]
    for name, dataset in wanted.items():
        assert [*found[name]] == [*dataset]
        for variable, values in dataset.items():
            same = found[name][variable]
            assert same.dtype == values.dtype and same.shape == values.shape
            if not isinstance(dataset, dict):
                assert same.dims == values.dims and [*same.coords] == [*values.coords]
            if exactly:
                np.testing.assert_array_equal(same, values)
            else:
                np.testing.assert_allclose(same, values, rtol=1e-10)


# ---- the three functions -----------------------------------------------------------------------------------------
PRIORS = {
    "all": {},
    "names": {"var_names": ["y", "spread"]},
    "arrays": {"return_inferencedata": False},
    "one": {"draws": 1},
    "options": {"idata_kwargs": {"coords": {"row": list("vwxyz"), "group": [1, 2]}}},
}


@pytest.mark.parametrize("options", PRIORS.values(), ids=PRIORS)
def test_prior_predictive(model, runs, options):
    def use():
        return pm.sample_prior_predictive(**{"draws": 40, "random_seed": 3, "model": model, **options})
    found = at_once(use)
    assert bool(runs) == (options.get("draws") != 1)
    runs.clear()
    check_equal(found, stepwise(use))
    check_equal(found, by_pytensor(use), exactly=False)
    assert not runs


POSTERIORS = {
    "observed": {},
    "names": {"var_names": ["y", "double"]},
    "copied": {"var_names": ["y", "level", "count"]},
    "only copied": {"var_names": ["spread"]},
    "predictions": {"predictions": True},
    "arrays": {"return_inferencedata": False},
    "other order": {"sample_dims": ["draw", "chain"]},
    "progress": {"progressbar": True},
}


@pytest.mark.parametrize("name", POSTERIORS)
def test_posterior_predictive(model, points, runs, name):
    def use():
        return pm.sample_posterior_predictive(
            points, **{"model": model, "random_seed": 3, "progressbar": False, "var_names": ["y"], **POSTERIORS[name]})
    found = at_once(use)
    assert runs or name == "only copied"
    runs.clear()
    check_equal(found, stepwise(use))
    check_equal(found, by_pytensor(use), exactly=False)
    assert not runs


def test_copies_share_no_memory_with_the_posterior(model, points):
    found = at_once(lambda: pm.sample_posterior_predictive(
        points, model=model, var_names=["level", "y"], random_seed=1, progressbar=False, return_inferencedata=False))
    assert not any(np.shares_memory(values, points[name].values) for name in points for values in found.values())


def test_data_that_has_changed(model, points, runs):
    def use():
        with model:
            pm.set_data({"x": np.arange(3.0)}, coords={"row": [1, 2, 3]})
            try:
                return pm.sample_posterior_predictive(points, var_names=["mean"], random_seed=3, progressbar=False)
            finally:
                pm.set_data({"x": np.arange(5.0)}, coords={"row": list("abcde")})
    with pm.Model(coords={"row": list("abcde"), "group": [3, 7]}) as model:
        x, level = pm.Data("x", np.arange(5.0), dims="row"), pm.Normal("level", 0, 2, dims="group")
        pm.Deterministic("mean", level[0] + x, dims="row")
    check_equal(at_once(use), stepwise(use))
    assert runs


def test_lists_of_points_are_taken_one_by_one(model, points, runs):
    given = [{name: points[name].values[0, draw] for name in points} for draw in range(4)]

    def use():
        return pm.sample_posterior_predictive(given, model=model, var_names=["y"], random_seed=3, progressbar=False)
    check_equal(at_once(use), stepwise(use))
    assert not runs


DRAWS = {
    "one": lambda: pm.Gamma.dist(2.0, 3.0, shape=(2, 3)),
    "number": lambda: pm.Normal.dist(2.0, 3.0),
    "two": lambda: [(x := pm.Normal.dist(2.0, 3.0, shape=3)), pm.Poisson.dist(pt.exp(x))],
    "mixture": lambda: pm.NormalMixture.dist(np.array([0.3, 0.7]), np.array([0.0, 3.0]), np.array([1.0, 2.0]), shape=4),
    "walk": lambda: pm.GaussianRandomWalk.dist(0.0, 1.0, init_dist=pm.Normal.dist(0, 1), steps=5),
    "loop": lambda: pm.AR.dist([0.3, 0.2], sigma=1.0, init_dist=pm.Normal.dist(0, 1), steps=5),
    "vectors": lambda: pm.MvNormal.dist(np.zeros(3), np.eye(3), shape=(2, 3)),
    "nothing": lambda: pm.Normal.dist(shape=(0, 2)),
    "by Python": lambda: pm.CustomDist.dist(1.0, random=lambda loc, rng, size: rng.normal(loc, size=size)),
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws(name, runs):
    variables = DRAWS[name]()

    def use():
        return pm.draw(variables, 50, random_seed=3), states(variables)
    found, after = at_once(use)
    assert bool(runs) == (name != "by Python")
    wanted, wanted_after = stepwise(use)
    assert type(found) is type(wanted) and after == wanted_after
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def states(variables):
    """Of all generators that are drawn from."""
    leaves = pytensor.graph.traversal.ancestors(variables if isinstance(variables, list) else [variables])
    return [leaf.get_value().bit_generator.state for leaf in leaves
            if isinstance(getattr(leaf, "get_value", lambda: None)(), np.random.Generator)]


APPLIED = {
    "likelihood": lambda model, points, **options: pm.compute_log_likelihood(
        points, model=model, extend_inferencedata=False, **options),
    "prior": lambda model, points, **options: pm.compute_log_prior(
        points, model=model, extend_inferencedata=False, **options),
    "deterministics": lambda model, points, **options: pm.compute_deterministics(points, model=model, **options),
    "merged": lambda model, points, **options: pm.compute_deterministics(
        points, model=model, var_names=["mean"], merge_dataset=True, **options),
}


@pytest.mark.parametrize("progressbar", [False, True])
@pytest.mark.parametrize("name", APPLIED)
def test_what_is_computed_of_each_draw(model, points, runs, name, progressbar):
    with pm.Model(coords=model.coords) as model:
        level, count = pm.Normal("level", 0, 2, dims="group"), pm.Poisson("count", 3)
        mean = pm.Deterministic("mean", level[np.array([0, 1, 0, 1, 1])] + count, dims="row")
        pm.Normal("y", mean, pm.HalfCauchy("spread", 1), observed=np.ones(5), dims="row")

    def use():
        posterior = points if "deterministic" in name or name == "merged" else as_posterior(points)
        found = APPLIED[name](model, posterior, progressbar=progressbar)
        return found.to_dataset() if hasattr(found, "to_dataset") else found
    found = at_once(use)
    assert runs
    runs.clear()
    wanted = stepwise(use)
    assert not runs and found.equals(wanted) and [*found] == [*wanted] and [*found.attrs] == [*wanted.attrs]


def as_posterior(points):
    """What PyMC's sampler returns, with these points."""
    if pm.__version__.startswith("5."):
        import arviz
        return arviz.InferenceData(posterior=points)
    from xarray import DataTree
    return DataTree.from_dict({"posterior": points})


def test_other_modes_take_steps(model, points, runs):
    """Also if they are asked for where phintys is installed."""
    def use():
        return pm.sample_posterior_predictive(points, model=model, var_names=["y"], random_seed=3, progressbar=False,
                                              compile_kwargs={"mode": reference.PYTHON})
    found = at_once(use)
    assert not runs
    check_equal(found, use())


def test_wrong_arguments_are_refused_by_pymc(model):
    with installed(), pytest.raises(TypeError, match="unexpected keyword argument 'drawings'"):
        pm.draw(model["y"], drawings=3)
    with installed(), pytest.raises(KeyError, match="nothing"):
        pm.sample_prior_predictive(5, model=model, var_names=["level", "nothing"])


# ---- what may happen on the way --------------------------------------------------------------------------------------
def test_lengths_that_vary():
    variables = pm.Normal.dist(shape=(1 + pm.Poisson.dist(3.0),))
    with pytest.raises(ValueError, match="cannot be stacked"):
        at_once(lambda: pm.draw(variables, 50, random_seed=1))


def test_errors_come_as_they_do_without_and_leave_the_same_states(runs):
    sizes = pm.Normal.dist(0.0, 1.0)
    variables = pm.Normal.dist(0.0, sizes + 1.5)                # which is negative once in fifteen draws

    def use():
        with pytest.raises(ValueError) as failed:
            pm.draw(variables, 200, random_seed=1)
        return str(failed.value).splitlines()[0], states(variables)
    found = at_once(use)
    assert max(last for _, _, last in runs) > 1
    assert found == stepwise(use)


def interrupt(monkeypatch, after):
    run = stacked_calls.call_rows

    def interrupted(address, arguments, results, first, stop):
        if first > after:
            raise KeyboardInterrupt
        return run(address, arguments, results, first, stop)
    monkeypatch.setattr(stacked_calls, "call_rows", interrupted)


def test_an_interrupted_posterior_has_the_draws_before(model, points, monkeypatch):
    """As PyMC's own."""
    def use():
        return pm.sample_posterior_predictive(points, model=model, var_names=["y"], random_seed=3, progressbar=False)
    wanted = stepwise(use).posterior_predictive["y"].values.reshape(12, 5)
    interrupt(monkeypatch, 3)
    found = at_once(use).posterior_predictive["y"].values.reshape(12, 5)
    np.testing.assert_array_equal(found[:4], wanted[:4])


def test_an_interrupted_prior_ends(model, monkeypatch):
    interrupt(monkeypatch, 3)
    with pytest.raises(KeyboardInterrupt):
        at_once(lambda: pm.sample_prior_predictive(40, model=model, random_seed=3))


def test_progress_is_that_of_the_draws(model, points, monkeypatch):
    seen = []

    class Bar:
        def __enter__(self):
            return self

        def __exit__(self, *error):
            seen.append("end")

        def add_task(self, description, completed, total):
            seen.append(total)
            return 7

        def advance(self, task, rows):
            seen.append((task, rows))

        def update(self, task, refresh, completed):
            seen.append(completed)
    monkeypatch.setattr(pymc_draws.forward, "create_simple_progress", lambda *_, **__: Bar())
    at_once(lambda: pm.sample_posterior_predictive(points, model=model, var_names=["y"], random_seed=3))
    total, *steps, completed, end = seen
    assert total == completed == 12 and end == "end" and {task for task, _ in steps} == {7}
    assert sum(rows for _, rows in steps) == 12


# ---- functions of PyTensor -------------------------------------------------------------------------------------------
x, scale = pt.dvector("x"), pt.dscalar("scale")
ROWS = {"x": np.arange(12.0).reshape(4, 3), "scale": np.arange(4.0)}
STACKED = {
    "several": (lambda: {"outputs": [x * scale, x.sum(), pt.argmax(x)]}, True),
    "one": (lambda: {"outputs": x * scale}, True),
    "shared": (lambda: {"outputs": x * scale + pytensor.shared(np.ones(3)[::-1])}, True),
    "updates": (lambda: {"outputs": x * scale, "updates": [(pytensor.shared(1.0), scale)]}, False),
}


@pytest.mark.parametrize("make, by_rows", STACKED.values(), ids=STACKED)
def test_stacked_calls(make, by_rows, runs):
    options = make()
    function = pytensor.function([x, scale], mode="PHINTYS", **options)
    found = stacked_calls.StackedCalls(function, 4)(**ROWS)
    assert bool(runs) == by_rows
    each = [function(ROWS["x"][row], ROWS["scale"][row]) for row in range(4)]
    if isinstance(options["outputs"], list):
        for one, other in zip(found, zip(*each), strict=True):
            np.testing.assert_array_equal(one, other)
    else:
        np.testing.assert_array_equal(found, each)


@pytest.mark.parametrize("given", [
    {"x": ROWS["x"].astype("float32")}, {"x": ROWS["x"].astype(">f8")}, {"scale": np.arange(4)},
    {"x": np.asfortranarray(ROWS["x"])}, {"x": np.frombuffer(b"." + ROWS["x"].tobytes(), offset=1).reshape(4, 3)}])
def test_rows_of_other_kinds(given):
    function = pytensor.function([x, scale], x * scale, mode="PHINTYS", allow_input_downcast=True)
    found = stacked_calls.StackedCalls(function, 4)(**{**ROWS, **given})
    np.testing.assert_array_equal(found, ROWS["x"] * ROWS["scale"][:, None])


def test_generators_that_do_not_go_on_or_are_no_pcg64(runs):
    for generator, updated in ((np.random.default_rng(1), False),
                               (np.random.Generator(np.random.MT19937(1)), True)):
        rng = pytensor.shared(generator)
        after, sample = pt.random.normal(rng=rng, size=3).owner.outputs
        function = pytensor.function([], sample, mode="PHINTYS", updates={rng: after} if updated else {})
        found = stacked_calls.StackedCalls(function, 5)()
        assert not runs and (len(np.unique(found)) == 15) == updated


def test_modules_of_pymc_are_not_asked_for_names(monkeypatch):
    """That of plots would import ArviZ and Matplotlib, 65 MB, to find out that it has no such function."""
    lazy = types.ModuleType("pymc.lazy")
    lazy.__getattr__ = lambda name: pytest.fail(f"asked for {name}")
    monkeypatch.setitem(sys.modules, "pymc.lazy", lazy)
    homes = pymc_draws._homes("draw", pymc_draws.forward.draw)
    assert pm in homes and pymc_draws.forward in homes
