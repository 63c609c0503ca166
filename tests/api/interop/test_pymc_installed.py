"""``phintys.interop.pymc``: its ``sample``, and the block in which PyMC uses phintys; what is left when it ends."""
import gc
import inspect
import logging
import sys
import threading
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("pytensor_reference")
pytest.importorskip("pymc", reason="PyMC is not installed: pip install phintys[pymc]")

import cloudpickle
import pytensor_reference as reference
from pytensor_reference import pytensor

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import pymc as pm
    from pymc.initial_point import make_initial_point_fn
    from pymc.model import core
    from pymc.sampling import mcmc
    from pytensor.graph.basic import Apply
    from pytensor.graph.op import Op
    from pytensor.ifelse import ifelse
    from pytensor.link.basic import JITLinker
    from pytensor.link.vm import VMLinker

    from phintys.interop.pymc import ALL, Swaps, install, installed, sample, uninstall
    from phintys.interop.pytensor import PhintysLinker

pt = pytensor.tensor
pytestmark = [pytest.mark.filterwarnings("ignore")]
DATA = np.random.default_rng(0).normal(1, 2, size=20)
FEW = {"draws": 10, "tune": 10, "chains": 1, "cores": 1, "random_seed": 1, "progressbar": False,
       "compute_convergence_checks": False}
FROZEN = getattr(core, "FrozenModel", None)


@pytest.fixture(autouse=True)
def quiet():
    """PyMC reports what it samples."""
    logging.disable(logging.INFO)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture
def model():
    with pm.Model() as found:
        mean, spread = pm.Normal("mean", 0, 5), pm.HalfNormal("spread", 2)
        pm.Normal("y", mean, spread, observed=DATA)
    return found


@pytest.fixture
def linked(monkeypatch):
    """How many functions phintys has made."""
    count, convert = [], PhintysLinker.fgraph_convert

    def counted(self, *arguments, **options):
        count.append(1)
        return convert(self, *arguments, **options)
    monkeypatch.setattr(PhintysLinker, "fgraph_convert", counted)
    return count


def state():
    """All that ``installed`` may exchange."""
    return [getattr(owner, name) for swaps in ALL for owner, name, _ in swaps.attributes]


def default_is_phintys():
    return isinstance(pytensor.compile.mode.get_mode(None).linker, PhintysLinker)


@pytest.fixture
def linked_otherwise(monkeypatch):
    """The linkers that made other functions."""
    seen = []
    for kind in (VMLinker, JITLinker):
        def counted(self, *arguments, make_all=kind.make_all, **options):
            seen.append(type(self).__name__)
            return make_all(self, *arguments, **options)
        monkeypatch.setattr(kind, "make_all", counted)
    return seen


@pytest.fixture(autouse=True)
def everything_is_put_back():
    before = state()
    yield
    assert all(found is wanted for found, wanted in zip(state(), before, strict=True))
    assert not default_is_phintys()


# ---- what it reaches ---------------------------------------------------------------------------------------------
POINT = {"mean": 0.5, "spread_log__": 0.1}


def posterior(model):
    return pm.sample(**FEW, model=model, nuts_sampler="pymc")


USES = {
    "sample": lambda model: posterior(model).posterior["mean"],
    "compile_logp": lambda model: model.compile_logp()(POINT),
    "compile_dlogp": lambda model: model.compile_dlogp()(POINT),
    "compile_d2logp": lambda model: model.compile_d2logp()(POINT),
    "logp_dlogp_function": lambda model: model.logp_dlogp_function(ravel_inputs=True)._pytensor_function(np.ones(2))[1],
    "compile_fn": lambda model: model.compile_fn(model["mean"] ** 2, inputs=[model["mean"]], point_fn=False)(3.0),
    "prior": lambda model: pm.sample_prior_predictive(5, model=model, random_seed=1).prior["spread"],
    "predictive": lambda model: pm.sample_posterior_predictive(     # without names, PyMC 5.28 spoils the model
        posterior(model), var_names=["y"], random_seed=1, progressbar=False).posterior_predictive["y"],
    "likelihood": lambda model: pm.compute_log_likelihood(
        posterior(model), model=model, progressbar=False, extend_inferencedata=False)["y"],
    "find_MAP": lambda model: pm.find_MAP(model=model, progressbar=False)["mean"],
    "fit": lambda model: pm.fit(20, model=model, random_seed=1, progressbar=False).sample(
        5, random_seed=1).posterior["mean"],
    "draw": lambda model: pm.draw(pm.Gamma.dist(2.0, 3.0), 3, random_seed=1),
    "sample_smc": lambda model: pm.sample_smc(10, chains=1, cores=1, model=model, random_seed=1,
                                              progressbar=False).posterior["mean"],
    "eval": lambda model: pt.exp(pt.constant([0.0, 1.0])).eval(),
    "function": lambda model: pytensor.function([], pt.exp(1.0))(),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_everything_without_a_mode_runs_on_phintys(model, linked, use):
    with pytensor.config.change_flags(mode=reference.PYTHON):
        with model:
            wanted = np.asarray(use(model))
        assert not linked
        with installed(), model:
            found = np.asarray(use(model))
    assert linked
    np.testing.assert_allclose(found, wanted, rtol=1e-4)


@pytest.mark.parametrize("sampler", ["pymc", "nutpie"])
def test_all_that_sampling_compiles_runs_on_phintys(model, linked_otherwise, sampler):
    """PyTensor's own ways compile a part of theirs in C, and load Numba and setuptools."""
    if sampler == "nutpie":
        pytest.importorskip("nutpie")
    sample(model, **{**FEW, "chains": 2, "nuts_sampler": sampler})
    with installed():
        pm.sample(**{**FEW, "chains": 2, "nuts_sampler": sampler}, model=model)
    assert not linked_otherwise
    pm.sample(**FEW, model=model, nuts_sampler="pymc", compile_kwargs={"mode": "PHINTYS"})
    assert linked_otherwise


STARTS = {
    "jittered": lambda model: {"jitter_rvs": set(model.free_RVs)},
    "drawn": lambda model: {"default_strategy": "prior"},
    "given": lambda model: {"overrides": {model["shares"]: "prior"}, "jitter_rvs": {model["rate"]}},
}


@pytest.mark.parametrize("chooses", [False, True])
@pytest.mark.parametrize("kind", STARTS.values(), ids=STARTS)
def test_starts_are_those_of_pymc(linked_otherwise, kind, chooses):
    """The same generators get the same seeds; an op that chooses is run by the linker that can do it."""
    with pm.Model() as model:
        rate = pm.Gamma("rate", 2, 3)
        shares = pm.Dirichlet("shares", np.ones(3))
        ends = pm.Normal("ends", rate, 1, shape=2, transform=pm.distributions.transforms.ordered, initval=[-1, 1])
        pm.Beta("share", rate, 2)
        pm.MvNormal("vector", pt.concatenate([ends, shares[:1]]), np.eye(3))
        if chooses:
            pm.Normal("chosen", ifelse(rate > 1, ends[0], ends[1]))
    wanted = make_initial_point_fn(model=model, **kind(model))
    assert linked_otherwise.pop() == "VMLinker"
    linked_otherwise.clear()
    with installed():
        found = make_initial_point_fn(model=model, **kind(model))
    assert linked_otherwise == ["VMLinker"] * chooses
    for seed in (1, 2, [3, 4]):
        for (name, value), other in zip(found(seed).items(), wanted(seed).values(), strict=True):
            np.testing.assert_array_equal(value, other, err_msg=name)


def test_a_mode_that_is_asked_for_is_used(model, linked):
    with installed():
        model.compile_logp(mode=reference.PYTHON)
        with pytensor.config.change_flags(mode=reference.PYTHON):
            model.compile_logp()
        pt.exp(1.0).eval(mode="FAST_COMPILE")
    assert not linked


@pytest.mark.filterwarnings("error::UserWarning")
def test_rewrites_for_other_modes_still_work():
    """Some of PyTensor 2.38's ask for the language of the default mode; an error in one of them is a warning."""
    x = pt.dvector("x")
    with installed(), pytensor.config.change_flags(on_opt_error="raise"):
        f = pytensor.function([x], pt.exp(x).sum(), mode=pytensor.compile.mode.Mode("vm", "fast_run"))
    assert f([0.0, 0.0]) == 2


@pytest.mark.parametrize("mode, quick", [(None, True), ("PHINTYS", True), (pytensor.compile.mode.Mode("py"), False)])
def test_gradients_are_written_without_lines_and_collections(model, monkeypatch, mode, quick):
    """PyTensor notes no lines of its own, but keeps those of the model."""
    seen, usual = [], (pytensor.config.traceback__limit, gc.isenabled())
    grad = core.pytensor.grad
    monkeypatch.setattr(core.pytensor, "grad", lambda *arguments, **options: seen.append(
        (pytensor.config.traceback__limit, gc.isenabled())) or grad(*arguments, **options))
    with model:
        pm.Potential("more", pt.cumsum(pt.stack([model["mean"], 2.0]))[1])
        line = inspect.currentframe().f_lineno - 1
    with installed():
        found = model.logp_dlogp_function(ravel_inputs=True, **({} if mode is None else {"mode": mode}))
        assert (pytensor.config.traceback__limit, gc.isenabled()) == usual
    assert seen == [(0, False) if quick else usual]
    assert (pytensor.config.traceback__limit, gc.isenabled()) == usual
    assert not quick or f"# line {line}" in found._pytensor_function.vm.jit_fn.explain()


class WithoutGradient(Op):
    """PyTensor's op of a user who gave it no gradient."""

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = np.tanh(inputs[0])


@pytest.mark.parametrize("smooth", [True, False])
def test_whether_there_are_gradients_is_asked_for_once(monkeypatch, smooth):
    with pm.Model() as several:
        first, second, third = pm.Normal("first"), pm.HalfNormal("second"), pm.Poisson("third", 2.0)
        total = first if smooth else WithoutGradient()(first)
        pm.Normal("y", total + third, second, observed=[1.0, 2.0])
    wanted = mcmc.assign_step_methods(several)[1]
    asked, grad = [], mcmc.tg.grad
    monkeypatch.setattr(mcmc.tg, "grad", lambda cost, wrt, **options: asked.append(wrt) or grad(cost, wrt, **options))
    with installed():
        found = mcmc.assign_step_methods(several)[1]
        named = [[value.name for value in values] for values in found.values()]
    values = {name: several.rvs_to_values[variable] for name, variable in (("first", first), ("second", second))}
    assert {*asked[0]} == {*values.values()} and asked[1:] == ([] if smooth else list(values.values()))
    assert named == [[value.name for value in values] for values in wanted.values()] and found.keys() == wanted.keys()
    assert (pm.Slice in found) is not smooth


def test_functions_stay_functions_of_phintys(model):
    """Also when they are pickled, as for chains in new processes."""
    with installed():
        f = model.logp_dlogp_function(ravel_inputs=True)
    program = cloudpickle.loads(cloudpickle.dumps(f._pytensor_function))
    assert type(program.vm.jit_fn).__module__.startswith("phintys")
    np.testing.assert_array_equal(program(np.ones(2))[1], f._pytensor_function(np.ones(2))[1])


@pytest.mark.skipif(FROZEN is None, reason="PyMC 5 has no frozen models")
def test_frozen_models_keep_functions_by_mode(model, linked):
    from pymc.model.transform.optimization import freeze_model
    frozen = freeze_model(model)
    uses = {"logp": lambda: frozen.compile_logp()(POINT),
            "gradient": lambda: frozen.logp_dlogp_function(ravel_inputs=True)._pytensor_function(np.ones(2)),
            "draws": lambda: pm.sample_prior_predictive(3, model=frozen, random_seed=1)}
    with pytensor.config.change_flags(mode=reference.PYTHON):
        for use in uses.values():
            use()
            assert not linked
            with installed():
                use()
                assert linked
            linked.clear()
            use()
            assert not linked


def chains(**options):
    with pm.Model():
        pm.Normal("y", pm.Normal("mean", 0, 5), 2, observed=DATA)
        return pm.sample(**{**FEW, "chains": 2, "nuts_sampler": "pymc", **options}).posterior["mean"].values


def test_forked_chains(linked):
    with installed():
        found, wanted = chains(cores=2, mp_ctx="fork"), chains()
    assert len(linked) >= 2
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["spawn", "forkserver"])
def test_chains_in_new_processes(kind):
    with installed():
        found, wanted = chains(cores=2, mp_ctx=kind), chains()
    np.testing.assert_array_equal(found, wanted)


# ---- its end -----------------------------------------------------------------------------------------------------
def test_exceptions_end_it():
    with pytest.raises(ZeroDivisionError):
        with installed():
            assert default_is_phintys()
            1 / 0
    assert not default_is_phintys()


def test_blocks_may_be_nested():
    with installed():
        with installed():
            assert default_is_phintys()
        assert default_is_phintys()
        with pytensor.config.change_flags(mode=reference.PYTHON):
            with installed():
                assert default_is_phintys()
            assert not default_is_phintys()


def test_a_function_may_be_decorated():
    @installed()
    def inside():
        return default_is_phintys()
    assert [inside(), default_is_phintys(), inside()] == [True, False, True]


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])
def test_blocks_of_threads_end_in_any_order(order):
    """Each puts back what the first one has found, and not before the last one ends."""
    ends, begun, ended = [threading.Event() for _ in order], threading.Semaphore(0), threading.Semaphore(0)

    def block(place):
        with installed():
            begun.release()
            ends[place].wait(60)
        ended.release()
    before = state()
    threads = [threading.Thread(target=block, args=[place]) for place in range(3)]
    for thread in threads:
        thread.start()
        begun.acquire(timeout=60)
    for place in order:
        assert default_is_phintys()
        ends[place].set()
        ended.acquire(timeout=60)
    for thread in threads:
        thread.join(60)
    assert all(found is wanted for found, wanted in zip(state(), before, strict=True))


def test_threads_that_are_started_inside_see_it(model, linked):
    with installed():
        thread = threading.Thread(target=lambda: model.compile_logp())
        thread.start()
        thread.join(60)
    assert linked


def test_one_line_installs_it():
    install()
    install()
    assert default_is_phintys()
    uninstall()
    assert default_is_phintys()
    uninstall()
    assert not default_is_phintys()
    with pytest.raises(RuntimeError, match="each call undoes one of install"):
        uninstall()


class Owner:
    value = 0


def test_swaps_are_undone_in_any_order():
    """Random beginnings and ends: while anyone uses them the new value is there, and then the old one."""
    draw = np.random.default_rng(0)
    for _ in range(200):
        swaps, users = Swaps([(Owner, "value", lambda value: 1), (Owner, "missing", str)]), []
        for _ in range(8):
            if users and draw.random() < 0.5:
                swaps.end(users.pop(draw.integers(len(users))))
            else:
                users.append(swaps.begin())
            assert Owner.value == bool(users)
        while users:
            swaps.end(users.pop(draw.integers(len(users))))
        assert Owner.value == 0


# ---- sample ------------------------------------------------------------------------------------------------------
def test_samples_are_those_of_pymc_in_the_mode(model, linked):
    found = sample(model, **FEW, nuts_sampler="pymc")
    assert linked
    wanted = pm.sample(**FEW, nuts_sampler="pymc", model=model, compile_kwargs={"mode": "PHINTYS"})
    assert type(found) is type(wanted)
    np.testing.assert_allclose(found.posterior["spread"], wanted.posterior["spread"], rtol=1e-9)


def test_draws_and_model_have_pymcs_places(model):
    options = {name: value for name, value in FEW.items() if name != "draws"}
    with model:
        shapes = [sample(7, **options).posterior["mean"].shape]
    shapes += [sample(7, model=model, **options).posterior["mean"].shape,
               sample(model, 7, **options).posterior["mean"].shape,
               sample(model=model, draws=7, **options).posterior["mean"].shape]
    assert shapes == [(1, 7)] * 4
    ours, theirs = [dict(inspect.signature(function).parameters) for function in (sample, pm.sample)]
    assert ours.pop("client").default is None and ours == theirs


def test_other_variables_have_other_steps(linked):
    with pm.Model() as model:
        count = pm.Poisson("count", 3)
        pm.Normal("y", pm.Normal("mean") + count, 1, observed=DATA)
    found = sample(model, **FEW)
    assert found.posterior["count"].dtype.kind == "i" and linked


def test_other_modes_are_refused(model):
    for options in ({"compile_kwargs": {"mode": "FAST_COMPILE"}}, {"backend": "numba"}):
        with pytest.raises(ValueError, match="always uses the mode PHINTYS, but got"):
            sample(model, **FEW, **options)


def test_sample_leaves_other_threads_alone(model):
    seen = []
    sample(model, **FEW, nuts_sampler="pymc", callback=lambda **_: seen.append(default_is_phintys()))
    assert seen and not any(seen)


@pytest.mark.parametrize("mode, sampler, asked", [
    ("PHINTYS", "nutpie", True), ("FAST_COMPILE", "nutpie", False), ("PHINTYS", "blackjax", False)])
def test_nutpie_is_told_to_compile_by_phintys(monkeypatch, mode, sampler, asked):
    """Only if nutpie is to sample, and the mode is that of phintys."""
    from phintys.interop import pymc as interop
    seen = []
    call = interop.external_sampler(lambda *arguments, **options: seen.append(options))
    monkeypatch.setattr(interop, "_nutpie_swaps", lambda: Swaps([]))
    call(sampler=sampler, compile_kwargs={"mode": mode})
    with pytensor.config.change_flags(mode=pytensor.compile.mode.get_mode(mode)):
        call(sampler, nuts_sampler_kwargs=None)          # as PyMC 5 does
    assert ["phintys" in str([options.get("compile_kwargs"), options.get("nuts_sampler_kwargs")])
            for options in seen] == [asked, asked]
    assert mcmc._sample_external_nuts is not call


# ---- nutpie ------------------------------------------------------------------------------------------------------
@pytest.fixture
def compiled(monkeypatch):
    """What is compiled for nutpie by phintys, and the arguments."""
    pytest.importorskip("nutpie")
    from phintys.interop import nutpie as interop
    seen, compile_model = [], interop.compile_pymc_model

    def counted(model, **options):
        seen.append(options)
        return compile_model(model, **options)
    monkeypatch.setattr(interop, "compile_pymc_model", counted)
    return seen


BRIEF = {"draws": 30, "tune": 30, "chains": 2, "cores": 1, "random_seed": 1, "progressbar": False}


def test_nutpie_samples_if_it_is_installed(model, compiled):
    import nutpie
    before = nutpie.compile_pymc_model
    found = sample(model, **BRIEF)
    with installed():
        again = pm.sample(**BRIEF, model=model)
    assert len(compiled) == 2 and nutpie.compile_pymc_model is before
    assert found.posterior["mean"].shape == (2, 30) and "observed_data" in found.children
    np.testing.assert_array_equal(found.posterior["mean"], again.posterior["mean"])
    assert found.posterior.attrs["inference_library"] == "nutpie"


def test_nutpie_gets_the_options_of_pymc(model, compiled):
    with installed():
        found = pm.sample(**BRIEF, model=model, nuts_sampler="nutpie", initvals={"mean": 2.0}, var_names=["mean"],
                          nuts={"target_accept": 0.9}, discard_tuned_samples=False)
    assert compiled == [{"initial_points": {"mean": 2.0}, "var_names": ["mean"]}]
    assert [*found.posterior] == ["mean"] and found.warmup_posterior["mean"].shape == (2, 30)


@pytest.mark.parametrize("options", [
    {"nuts_sampler": "pymc"}, {"init": "adapt_diag"}, {"callback": lambda **_: None},
    {"initvals": [{"mean": 0.0}, {"mean": 1.0}]}])
def test_pymc_samples_if_nutpie_cannot(model, compiled, linked, options):
    found = sample(model, **BRIEF, **options, compute_convergence_checks=False)
    assert not compiled and linked and found.posterior.attrs["inference_library"] == "pymc"


def test_discrete_variables_are_not_for_nutpie(compiled):
    with pm.Model() as model:
        pm.Normal("y", pm.Normal("mean") + pm.Poisson("count", 3), 1, observed=DATA)
    assert sample(model, **BRIEF, compute_convergence_checks=False).posterior["count"].dtype.kind == "i"
    with installed(), pytest.raises(ValueError, match="requires all variables to be differentiable"):
        pm.sample(**BRIEF, model=model, nuts_sampler="nutpie")
    assert not compiled


@pytest.mark.skipif(hasattr(mcmc, "NumbaLinker"), reason="PyMC 6 asks for nutpie itself")
def test_nutpie_is_asked_for_under_pymc_5(model, monkeypatch):
    """No nutpie for Python 3.11 works with phintys, so another one takes its place."""
    import arviz

    from phintys.interop import pymc as interop
    seen = []

    def sample_compiled(compiled, **options):
        seen.append((compiled, options["draws"]))
        return arviz.from_dict({"mean": np.zeros((1, 10))})
    nutpie = SimpleNamespace(compile_pymc_model=lambda model, **options: "by Numba", sample=sample_compiled,
                             __version__="0.16.10", __name__="nutpie")
    monkeypatch.setitem(sys.modules, "nutpie", nutpie)
    monkeypatch.setattr(interop, "_of_nutpie", [])
    monkeypatch.setattr(interop, "version", lambda name: "0.16.10")
    monkeypatch.setattr(interop, "_compiler_for_nutpie", lambda: lambda model, var_names: "by phintys")
    sample(model, **FEW)
    sample(model, **FEW, nuts_sampler="nutpie")
    with installed():
        pm.sample(**FEW, model=model, nuts_sampler="nutpie")
    pm.sample(**FEW, model=model, nuts_sampler="nutpie")
    assert seen == [("by phintys", 10)] * 3 + [("by Numba", 10)]
    for options in ({"init": "adapt_diag"}, {"initvals": {"mean": 1.0}}, {"return_inferencedata": False}):
        sample(model, **FEW, **options)
    assert len(seen) == 4 and nutpie.compile_pymc_model(model) == "by Numba"


def test_an_old_nutpie_is_not_used(monkeypatch):
    from phintys.interop import pymc as interop
    monkeypatch.setattr(interop, "version", lambda name: "0.16.8")
    assert not interop.has_nutpie()
    with pytest.raises(ImportError, match="nutpie 0.16.10 or newer, and 0.16.8 is installed"):
        interop.compiler_of_nutpie(lambda model: None)(None, backend="phintys")


# ---- samples are from the posterior ------------------------------------------------------------------------------
def groups(y):
    offsets = pm.Normal("offsets", 0, 1, shape=4)
    pm.Normal("y", pm.Normal("mean", 0, 1) + pm.HalfNormal("spread", 1) * offsets, 0.5, observed=y, shape=(3, 4))


def counts(y):
    rate = pt.exp(pm.Normal("level", 1, 0.5) + pm.Normal("slope", 0, 0.5) * np.linspace(-1, 1, 12))
    pm.NegativeBinomial("y", mu=rate, alpha=pm.Gamma("alpha", 3, 1), observed=y, shape=12)


def series(y):
    pm.AR("y", rho=pm.Uniform("memory", -0.9, 0.9), sigma=pm.HalfNormal("noise", 1), steps=14,
          init_dist=pm.Normal.dist(0.0, 1.0), observed=y)


@pytest.mark.long
@pytest.mark.parametrize("build", [groups, counts, series])
def test_ranks_of_the_truth_are_uniform(build):
    """Simulation-based calibration (Talts and others, 2018): among posterior draws given data that it has generated, a
    draw from the prior has each rank equally often."""
    count, thinned = 100, 31
    with installed():
        with pm.Model() as model:
            build(None)
        prior = pm.sample_prior_predictive(count, model=model, random_seed=5).prior
        names = [variable.name for variable in model.free_RVs if variable.name != "y"]
        ranks = {name: [] for name in names}
        for place in range(count):
            with pm.Model() as seen:
                build(prior["y"].values[0, place])
            found = sample(seen, draws=5 * thinned, tune=300, chains=1, cores=1, random_seed=place, quiet=True,
                           compute_convergence_checks=False).posterior
            for name in names:
                truth, draws = prior[name].values[0, place], found[name].values[0, ::5]
                ranks[name].append((draws < truth).sum(0).ravel()[0])
    for name in names:
        observed = np.bincount(np.array(ranks[name]) // 8, minlength=4)
        assert ((observed - count / 4) ** 2 / (count / 4)).sum() < 21.1, (name, observed)      # chance below 1e-4
