"""nutpie's sampler on functions of phintys: ``phintys.interop.nutpie``."""
import gc
import importlib.util
import os
import pickle
import signal
import threading
import time
import warnings

import numpy as np
import pytest

pytest.importorskip("nutpie", reason="nutpie is not installed: pip install phintys[nutpie]")
pytest.importorskip("pytensor_reference")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import nutpie
    import pymc as pm
    import pymc_models
    import pytensor
    import pytensor.tensor as pt
    from pytensor.raise_op import Assert

    from phintys.interop.nutpie import _shapes_by_types, check_version, compile_pymc_model
    from phintys.interop.nutpie_entries import Calls
    from phintys.interop.pytensor import PyTensorFallbackWarning

pytestmark = [pytest.mark.filterwarnings("ignore")]

X = np.linspace(-1, 1, 30)
Y = 1 + 2 * X + 0.3 * np.random.default_rng(1).normal(size=30)


def sampled(model, **options):
    return nutpie.sample(model, **{"draws": 60, "tune": 60, "chains": 2, "cores": 2, "seed": 3, "progress_bar": False,
                                   **options})


def line(observed=Y):
    """Data, dims, coordinates, transforms and deterministics."""
    with pm.Model(coords={"row": np.arange(30), "end": ["low", "high"]}) as model:
        x = pm.Data("x", X, dims="row")
        intercept = pm.Normal("intercept", 0, 3)
        slopes = pm.Normal("slopes", 0, 3, dims="end", transform=pm.distributions.transforms.ordered,
                           initval=[1.0, 2.0])
        noise = pm.HalfNormal("noise", 1)
        shares = pm.Dirichlet("shares", np.ones(3))
        mean = pm.Deterministic("mean", intercept + slopes.mean() * x + shares[0], dims="row")
        pm.Normal("y", mean, noise, observed=observed, dims="row")
    return model


@pytest.fixture(scope="module")
def both():
    """A model compiled by phintys and by Numba."""
    model = line()
    return compile_pymc_model(model), nutpie.compile_pymc_model(model)


def test_the_compiled_model_is_that_of_nutpie(both):
    found, wanted = both
    assert isinstance(found, type(wanted))
    for name in ("n_dim", "n_expanded", "dims", "reparameterized_names", "shape_info"):
        assert str(getattr(found, name)) == str(getattr(wanted, name)), name
    assert {name: tuple(map(int, shape)) for name, shape in found.shapes.items()} == {
        name: tuple(map(int, shape)) for name, shape in wanted.shapes.items()}
    assert list(found.coords) == list(wanted.coords)
    assert all(found.coords[name].equals(wanted.coords[name]) for name in wanted.coords)
    point = wanted.initial_point_func(5)
    np.testing.assert_array_equal(found.initial_point_func(5), point)
    for name in ("logp_func", "expand_func"):
        for value, other in zip(getattr(found, name)(point), getattr(wanted, name)(point), strict=True):
            np.testing.assert_allclose(value, other, rtol=1e-11, atol=1e-11)


def test_samples_are_those_of_numba(both):
    """Draws of one seed are the same until roundings have grown; then means agree within their errors."""
    options = dict(draws=500, tune=300, chains=4, seed=7, store_unconstrained=True, store_gradient=True)
    found, wanted = [sampled(each, **options) for each in both]
    assert found.groups == wanted.groups
    for group in found.groups[1:]:
        old, new = wanted[group], found[group]
        assert list(new.data_vars) == list(old.data_vars) and dict(new.sizes) == dict(old.sizes), group
        for name in old.variables:
            assert new[name].dims == old[name].dims and new[name].dtype == old[name].dtype, (group, name)
        for name in old.coords:
            assert old[name].equals(new[name])
    assert found.sample_stats.attrs["inference_library"] == "nutpie"
    for name, early in wanted.warmup_posterior.data_vars.items():
        np.testing.assert_allclose(found.warmup_posterior[name][:, :5], early[:, :5], rtol=1e-5, atol=1e-7)
    for name, old in wanted.posterior.data_vars.items():
        new = found.posterior[name]
        error = np.sqrt((old.var(["chain", "draw"]) + new.var(["chain", "draw"])) / 200)      # of so many, effectively
        assert (abs(old.mean(["chain", "draw"]) - new.mean(["chain", "draw"])) < 4 * error).all(), name


def test_chains_do_not_depend_on_cores(both):
    model, _ = both
    first, second = sampled(model, cores=1, chains=3), sampled(model, cores=3, chains=3)
    assert first.posterior.equals(second.posterior)
    assert sampled(model, chains=2).posterior.equals(first.posterior.isel(chain=[0, 1]))


def test_two_runs_at_once(both):
    """Each with two threads in the same functions."""
    model, _ = both
    alone = sampled(model)
    runs = [sampled(model, blocking=False) for _ in range(3)]
    for run in runs:
        assert run.wait().posterior.equals(alone.posterior)


def test_arguments_of_nutpie():
    """Which variables are stored, and where chains start."""
    model = line()
    compiled = compile_pymc_model(model, var_names=["noise"])
    assert set(sampled(compiled, draws=5, tune=30).posterior.data_vars) == {"intercept", "noise"}
    compiled = compile_pymc_model(model, initial_points={"intercept": 2.5}, jitter_rvs=set())
    assert compiled.initial_point_func(1)[0] == compiled.initial_point_func(2)[0] == 2.5
    jittered = compile_pymc_model(model, jitter_rvs={model["intercept"]})
    first, second = jittered.initial_point_func(1), jittered.initial_point_func(2)
    assert first[0] != second[0] and np.array_equal(first[1:], second[1:])
    prior = compile_pymc_model(model, default_initialization_strategy="prior")
    assert abs(prior.initial_point_func(1)[0] - prior.initial_point_func(2)[0]) > 1e-3
    frozen = compile_pymc_model(model, freeze_model=True)
    assert not frozen.shared_data
    with pytest.raises(KeyError, match="x"):
        frozen.with_data(x=X)
    for wrong in ({"backend": "numba"}, {"gradient_backend": "jax"}):
        with pytest.raises(ValueError, match="numba|jax"):
            compile_pymc_model(model, **wrong)


def test_versions_of_nutpie():
    with pytest.raises(ImportError, match=r"needs nutpie 0.16, not version 0.15.2"):
        check_version("0.15.2")
    with pytest.warns(UserWarning, match=r"tested with nutpie 0.16; version 0.17.0"):
        check_version("0.17.0")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_version("0.16.99")


def test_single_precision():
    """nutpie's vectors are doubles; variables of float32 compute in float32, as PyTensor says."""
    with pytensor.config.change_flags(floatX="float32"):
        with pm.Model() as model:
            a = pm.Normal("a", shape=3)
            pm.Normal("y", a, pm.HalfNormal("s"), observed=np.ones(3, "float32"))
        compiled = compile_pymc_model(model)
    value, slope = compiled.logp_func(np.ones(4))
    assert value.dtype == slope.dtype == "float64"
    expected = model.compile_logp(mode="FAST_COMPILE")({"a": np.ones(3, "float32"), "s_log__": np.float32(1)})
    np.testing.assert_allclose(value, expected, rtol=1e-5)
    assert sampled(compiled).posterior["a"].shape == (2, 60, 3)


# ---- data ------------------------------------------------------------------------------------------------------------
def test_other_data(both):
    """They are converted and copied, and the first model keeps its own."""
    model, numba = both
    mean = sampled(model).posterior
    values = list(X[::-1])
    other = model.with_data(x=values)
    found, wanted = sampled(other, tune=30, draws=30), sampled(numba.with_data(x=values), tune=30, draws=30)
    np.testing.assert_allclose(found.warmup_posterior["mean"][:, :5], wanted.warmup_posterior["mean"][:, :5], rtol=1e-5)
    assert isinstance(other, type(model)) and other.shared_data.keys() == model.shared_data.keys()
    assert mean.equals(sampled(model).posterior)
    given = np.array(X)
    other = model.with_data(x=given)
    given[:] = np.nan
    assert sampled(other).posterior.equals(mean)
    assert sampled(model.with_data(x=X[::-1]).with_data(x=X)).posterior.equals(mean)


def test_data_that_do_not_fit(both):
    model, _ = both
    with pytest.raises(KeyError, match="z"):
        model.with_data(z=1)
    with pytest.raises(ValueError, match="rank 1"):
        model.with_data(x=[[1.0]])
    with pytest.raises(ValueError, match=r"x of another length gives \d+ numbers to store.*var_names"):
        sampled(model.with_data(x=np.ones(5)))
    with pm.Model() as counted:
        number = pm.Data("number", np.array([1, 2]))
        pm.Normal("a", number.sum())
    compiled = compile_pymc_model(counted)
    with pytest.raises(ValueError, match="number holds int"):
        compiled.with_data(number=[1.5, 2.0])
    assert sampled(compiled.with_data(number=[10.0, 20.0])).posterior["a"].mean() > 25


def test_data_of_another_length():
    """They may have one where nothing that is stored depends on it."""
    with pm.Model() as model:
        values = pm.Data("values", np.zeros(10))
        mean = pm.Normal("mean", 0, 10)
        pm.Potential("likelihood", -((values - mean)**2).sum() / 2)
    compiled = compile_pymc_model(model)
    found = sampled(compiled.with_data(values=np.full(400, 5.0)), draws=300, tune=200).posterior["mean"]
    assert abs(found.mean() - 5) < 0.02 and 0.03 < found.std() < 0.07
    assert abs(sampled(compiled).posterior["mean"].mean()) < 0.5


def test_set_data_after_compiling_has_no_effect():
    model = line()
    compiled = compile_pymc_model(model)
    before = sampled(compiled)
    with model:
        pm.set_data({"x": X + 1})
    with pytest.warns(UserWarning, match="value of x was changed after the model was compiled.*with_data"):
        after = sampled(compiled)
    assert after.posterior.equals(before.posterior)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sampled(compiled.with_data(x=X + 1))


# ---- failures --------------------------------------------------------------------------------------------------------
def failing(op_of_variables, **options):
    with pm.Model() as model:
        a = pm.Normal("a", 0, 1, shape=2)
        index = pm.Data("index", np.array([0, 1]))
        op_of_variables(a, index)
    return compile_pymc_model(model, **options)


def in_density(a, index):
    pm.Potential("p", -(a[index] ** 2).sum())


def in_expansion(a, index):
    pm.Deterministic("d", a[index])


def within_the_run(a, index):
    """Not where chains begin."""
    pm.Potential("p", -(a[pt.switch(a[0] > 1.8, index, 0)] ** 2).sum() / 9)


@pytest.fixture
def quiet_threads(capfd):
    """nutpie's threads print when they panic."""
    yield
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("place", [in_density, in_expansion, within_the_run])
def test_an_op_that_fails_is_named_in_the_caller(place, quiet_threads):
    compiled = failing(place).with_data(index=[0, 7])
    line = f'line {place.__code__.co_firstlineno + 1 + bool(place.__doc__)}, in {place.__name__}'
    with pytest.raises(IndexError, match=rf"(?s)index 7 is out of bounds.*Apply node.*{line}"):
        sampled(compiled)
    with pytest.raises(IndexError, match="out of bounds"):
        sampled(compiled, blocking=False).wait()
    sampled(compiled.with_data(index=[1, 0]))


@pytest.mark.parametrize("in_python", [False, True], ids=["in C", "in Python"])
def test_errors_in_what_is_stored(in_python, quiet_threads):
    """Also those that are divergences in a density. The run ends soon: what follows is not computed."""
    seen = []
    with pm.Model() as model:
        a = pm.Normal("a", 0, 1, shape=2)
        stored = Assert("below 2")(a[0], a[0] < 2)
        pm.Deterministic("stored", python_op(lambda x: seen.append(x))(a) + stored if in_python else stored)
    compiled = compile_pymc_model(model)
    for _ in range(2):
        with pytest.raises(AssertionError, match="(?s)below 2.*Apply node"):
            sampled(compiled, draws=20_000, chains=3, cores=2)
    assert not in_python or len(seen) < 20_000


def test_points_without_density_are_divergences():
    """NaN, in the value or the gradient, and parameters out of range."""
    with pm.Model() as model:
        a = pm.Normal("a", 1, 1)
        pm.Potential("half", pt.log(pt.sqrt(a)))            # NaN below 0
        pm.Normal("y", 0, a, observed=[1.0, 2.0])
    found = sampled(compile_pymc_model(model), draws=200, chains=4)
    assert found.sample_stats["diverging"].sum() > 0
    assert (found.posterior["a"] > 0).all()


def test_a_start_without_density_is_described():
    with pm.Model() as model:
        pm.Normal("level", 0, 1)
        pm.Potential("never", pt.log(-pt.ones(())))
    with pytest.raises(RuntimeError, match="the log-density is nan"):
        sampled(compile_pymc_model(model))
    with pm.Model() as model:
        pm.Normal("level", 0, 1)
        pm.Normal("slope", 1, 1)
    with pytest.raises(RuntimeError, match="exactly 0, which nutpie refuses, for level, slope"):
        sampled(compile_pymc_model(model, jitter_rvs=set()))


def test_discrete_variables_are_refused_by_name():
    with pm.Model() as model:
        count = pm.Poisson("count", 3)
        pm.Normal("a", count)
    with pytest.raises(ValueError, match="count is discrete"):
        compile_pymc_model(model)


def test_an_interruption_ends_the_run(both):
    """Ctrl-C: nutpie returns what there is."""
    model, _ = both
    sent = []

    def interrupt(chains):
        if not sent and all(chain.finished_draws > 200 for chain in chains):
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        found = sampled(model, draws=10**6, tune=100, progress_callback=interrupt, progress_rate=10)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert time.monotonic() - sent[0] < 20 and 90 < found.posterior.sizes["draw"] < 10**6
    assert sampled(model).posterior.sizes["draw"] == 60


# ---- Python code -----------------------------------------------------------------------------------------------------
def python_op(work):
    class PythonOp(pytensor.graph.Op):
        """The sum of squares, by Python code."""

        def make_node(self, x):
            return pytensor.graph.Apply(self, [x], [pt.dscalar()])

        def perform(self, node, inputs, storage):
            work(inputs[0])
            storage[0][0] = np.asarray((inputs[0]**2).sum())

        def pullback(self, inputs, outputs, gradients):
            return [2 * inputs[0] * gradients[0]]

    return PythonOp()


def with_python_op(work):
    with pm.Model() as model:
        a = pm.Normal("a", 0, 10, shape=2)
        pm.Potential("p", -python_op(work)(a - 3) / 2)
    return model


def test_ops_in_python_are_named_and_run():
    threads = set()
    model = with_python_op(lambda x: threads.add(threading.get_ident()))
    with pytest.warns(PyTensorFallbackWarning, match="chains take turns.*PythonOp"):
        compiled = compile_pymc_model(model)
    found = sampled(compiled, draws=200, tune=200)
    assert threads - {threading.get_ident()} and abs(found.posterior["a"].mean() - 3) < 0.4


@pytest.mark.parametrize("error, ends", [(ZeroDivisionError, False), (TypeError, True)])
def test_errors_in_python_ops(error, ends, quiet_threads):
    def work(x):
        if x[0] > 0.5:
            raise error("too large")

    compiled = compile_pymc_model(with_python_op(work))
    if ends:
        with pytest.raises(TypeError, match="(?s)too large.*PythonOp"):
            sampled(compiled)
    else:
        assert sampled(compiled).posterior["a"][..., 0].max() <= 3.5


def test_stored_draws_are_of_the_seed_and_differ_by_chain():
    """nutpie gives chains no seeds for stored random numbers."""
    with pm.Model() as model:
        a = pm.Normal("a")
        pm.Deterministic("noisy", a + pm.Normal.dist())
    compiled = compile_pymc_model(model)
    first = sampled(compiled, cores=1).posterior["noisy"]
    assert first.equals(sampled(compiled, cores=2).posterior["noisy"])
    assert not first.equals(sampled(compiled, seed=4).posterior["noisy"])
    noise = (first - sampled(compiled).posterior["a"]).values
    assert len(np.unique(noise.round(9))) > 100 and 0.7 < noise.std() < 1.3


# ---- the object ------------------------------------------------------------------------------------------------------
def test_pickles(both):
    cloudpickle = pytest.importorskip("cloudpickle")
    model, _ = both
    changed = model.with_data(x=X + 1)
    for each in (model, changed):
        twin = pickle.loads(cloudpickle.dumps(each))
        assert sampled(twin).posterior.equals(sampled(each).posterior)


def test_memory_does_not_grow(both):
    model, _ = both

    def resident():
        gc.collect()
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def run():
        sampled(model.with_data(x=X + 1), return_raw_trace=True)

    for _ in range(5):
        run()
    before = resident()
    for _ in range(30):
        run()
    assert resident() - before < 3e6


def test_stored_by_zarr(both, tmp_path):
    pytest.importorskip("obstore")
    model, _ = both
    store = nutpie.zarr_store.LocalStore(str(tmp_path / "store"), mkdir=True)
    found = sampled(model, zarr_store=store)
    np.testing.assert_array_equal(found.posterior["mean"], sampled(model).posterior["mean"])


def test_progress_and_pauses(both):
    model, _ = both
    seen = []
    run = sampled(model, blocking=False, draws=3000, progress_callback=lambda chains: seen.append(len(chains)),
                  progress_rate=10)
    run.pause()
    run.resume()
    assert run.inspect().groups
    assert run.wait().posterior.sizes["draw"] == 3000 and run.is_finished
    assert set(seen) == {2}


def test_adaptation_by_a_flow(both):
    """nutpie gives the flow no log-density but that of JAX: by Numba the run fails."""
    pytest.importorskip("flowjax")
    model, _ = both
    changed = model.with_transform_adapt(verbose=False, num_layers=1, window_size=50, max_epochs=5)
    assert sampled(changed).posterior.equals(sampled(model).posterior)
    found = sampled(changed, adaptation="flow", draws=20, tune=30, cores=1)
    assert np.isfinite(found.posterior["slopes"]).all() and len(np.unique(found.posterior["slopes"][..., 0])) > 20


def test_log_densities_for_jax(both):
    """What a flow calls: value and gradient are those of the function, and a point without density is NaN."""
    jax = pytest.importorskip("jax")
    pytest.importorskip("flowjax")
    from phintys.interop.nutpie_flows import density_of
    model, _ = both
    point = model.initial_point_func(1)
    value, slope = jax.jit(jax.value_and_grad(lambda point: density_of(model.logp_func)(point)[0]))(point)
    wanted, wanted_slope = model.logp_func(point)
    np.testing.assert_array_equal(value, wanted)
    np.testing.assert_array_equal(slope, wanted_slope)

    def broken(point):
        raise ZeroDivisionError
    assert np.isnan(density_of(broken)(point)[0])


def test_flows_need_their_packages(both):
    """The error says which is missing, in the caller."""
    if importlib.util.find_spec("flowjax"):
        pytest.skip("flowjax is installed")
    with pytest.raises(ImportError, match="flowjax|equinox|optax|paramax"):
        sampled(both[0].with_transform_adapt(verbose=False), adaptation="flow")


def test_shapes_are_those_of_nutpie():
    """Whether types know them, or they depend on data or on each other."""
    with pm.Model(coords={"end": ["low", "high"]}) as model:
        x = pm.Data("x", X)
        rows = pm.Normal("rows", shape=x.shape[0])
        pm.Dirichlet("shares", np.ones(3), shape=(2, 3))
        pm.Deterministic("part", rows[x > 0])
        pm.Potential("near", -pm.Deterministic("square", (rows ** 2).sum()))
        pm.Normal("y", rows, pm.HalfNormal("noise", dims="end").sum(), observed=x)
    shapes_of = nutpie.compile_pymc._compute_shapes
    for each in (model, line(), pymc_models.MODELS["eight_schools"]()):
        wanted = {name: tuple(map(int, shape)) for name, shape in shapes_of(each).items()}
        found = {name: tuple(map(int, shape)) for name, shape in _shapes_by_types(shapes_of)(each).items()}
        assert found == wanted


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=[] if name in ("linear_regression", "multivariate_normal") else pytest.mark.long)
    for name in pymc_models.MODELS])
def test_no_model_runs_python_code(name):
    """Also not for the checks of parameters, which PyMC's modes make impossible values."""
    compiled = compile_pymc_model(pymc_models.MODELS[name]())
    assert not Calls(compiled.logp_func, compiled.expand_func, 0).reasons


def test_nothing_is_compiled_in_c(monkeypatch):
    """A loop in a model's starts, as an LKJ prior has it, took PyTensor seven seconds of a C compiler."""
    from phintys.interop import nutpie as interop
    seen, compiled = [], interop._compiled

    def looked_at(*arguments):
        seen.append(pytensor.config.cxx)
        return compiled(*arguments)
    monkeypatch.setattr(interop, "_compiled", looked_at)
    with pytensor.config.change_flags(cxx="g++"):
        compile_pymc_model(pymc_models.MODELS["eight_schools"]())
        assert pytensor.config.cxx == "g++"
    assert seen == [""]


@pytest.mark.long
@pytest.mark.parametrize("name", pymc_models.MODELS)
def test_all_models_have_the_values_of_numba(name):
    model = pymc_models.MODELS[name]()
    found, wanted = compile_pymc_model(model), nutpie.compile_pymc_model(model)
    for seed in range(3):
        point = wanted.initial_point_func(seed)
        for function in ("logp_func", "expand_func"):
            for value, other in zip(getattr(found, function)(point), getattr(wanted, function)(point), strict=True):
                np.testing.assert_allclose(value, other, rtol=1e-9, atol=1e-9)
