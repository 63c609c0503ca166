"""Log-densities with their gradients as one op of PyTensor: equal to PyTensor's, or left to it."""
from concurrent.futures import ThreadPoolExecutor
from inspect import signature

import numpy as np
import pytest

pm = pytest.importorskip("pymc")

import pytensor  # noqa: E402
import pytensor.tensor as pt  # noqa: E402
from gallery_models import loop  # noqa: E402
from pymc.model import core  # noqa: E402

import phintys.interop.pymc  # noqa: E402
import phintys.tensor as T  # noqa: E402
from phintys.graph.function_graph import FunctionGraph  # noqa: E402
from phintys.graph.gradients.gradient import plain_gradients  # noqa: E402
from phintys.graph.traversal import ops  # noqa: E402
from phintys.interop import density_op  # noqa: E402
from phintys.interop.density_op import LogDensityWithGradient, densities_as_one_op  # noqa: E402
from phintys.optimizer.engine.forms import key_of  # noqa: E402
from phintys.optimizer.engine.values import apply_op  # noqa: E402
from phintys.optimizer.pipeline import stabilize_before_gradient  # noqa: E402

POINT = np.array([0.3, -0.4])


def model_of(density=None):
    """Two coordinates: a number, and the logarithm of a positive one."""
    with pm.Model() as model:
        mean, spread = pm.Normal("mean"), pm.HalfNormal("spread")
        pm.Normal("y", mean, spread, observed=[1.0, -0.5, 2.0])
        if density is not None:
            pm.Potential("more", density(mean, spread))
    return model


def compiled(model, **options):
    function = model.logp_dlogp_function(ravel_inputs=True, **options)
    function.set_extra_values({})
    return function._pytensor_function


def is_one_op(function):
    return any(isinstance(node.op, LogDensityWithGradient) for node in function.maker.fgraph.apply_nodes)


def equal_to_pytensor(model, as_one_op, point=POINT):
    wanted = compiled(model, mode="FAST_COMPILE")
    with phintys.interop.pymc.installed():
        found = compiled(model)
    assert is_one_op(found) == as_one_op and not is_one_op(wanted)
    for new, old in zip(found(point), wanted(point)):
        np.testing.assert_allclose(new, old, rtol=1e-12)
    return found


def test_a_density_is_one_op():
    equal_to_pytensor(model_of(), True)


@pytest.mark.parametrize("check, wanted", [(True, -np.inf), (False, np.nan)])
def test_a_density_is_one_op_for_nutpie(monkeypatch, check, wanted):
    """The same op; outside the bounds of parameters as without it."""
    nutpie = pytest.importorskip("phintys.interop.nutpie")
    taken, own = [], LogDensityWithGradient._by_phintys
    monkeypatch.setattr(LogDensityWithGradient, "_by_phintys", lambda *each: taken.append(1) or own(*each))
    density = nutpie.compile_pymc_model(model_of()).logp_func
    for new, old in zip(density(POINT), compiled(model_of(), mode="FAST_COMPILE")(POINT)):
        np.testing.assert_allclose(new, old, rtol=1e-12)
    with pm.Model(check_bounds=check) as model:
        pm.Normal("y", 0.0, pm.Normal("x"), observed=[1.0])
    np.testing.assert_equal(float(nutpie.compile_pymc_model(model).logp_func(np.array([-2.0]))[0]), wanted)
    assert len(taken) == 2


def test_loops():
    def sums(mean, spread):
        rows = loop(lambda x, m, s: x * s + pt.sin(m * x), outputs_info=[mean], non_sequences=[mean, spread],
                    n_steps=5)
        return rows[-1] - rows.sum()
    equal_to_pytensor(model_of(sums), True)


@pytest.mark.parametrize("density", [
    lambda mean, spread: pytensor.gradient.disconnected_grad(mean) * spread,
    lambda mean, spread: pytensor.gradient.grad_clip(mean * 5, -1, 1) * spread,
    lambda mean, spread: pt.linalg.cholesky(pt.eye(2) * spread)[0, 0] * mean,
    lambda mean, spread: pt.gammaln(pt.arange(3) + spread).sum(),
])
def test_what_is_left_to_pytensor(density):
    equal_to_pytensor(model_of(density), False)


def test_gradients_that_the_user_gives_are_kept():
    x, y = pt.dscalars("xy")
    kind = pytensor.compile.builders.OpFromGraph
    name = next(name for name in ("pullback", "lop_overrides") if name in signature(kind.__init__).parameters)
    doubled = kind([x, y], [x * y], **{name: lambda inputs, outputs, gradients: [7 * gradients[0], 11 * gradients[0]]})
    equal_to_pytensor(model_of(doubled), False)


def test_a_choice_counts_as_in_pytensor():
    def chosen(mean, spread):
        return pt.switch(mean > 0, pt.sqrt(pt.maximum(mean, 0)), mean ** 3) + pt.log1p(spread)
    function = equal_to_pytensor(model_of(chosen), True)
    assert np.isfinite(function(np.array([-0.3, 0.1]))[1]).all()


def test_literal_parameters_are_of_single_precision_as_in_pytensor():
    """PyMC makes 2.5 a float32, whose logarithm is rounded in other ways by each library; so is that of its cast."""
    with pm.Model() as model:
        x = pm.Normal("x", 0, 2.5)
        pm.StudentT("y", nu=4.5, mu=pm.Laplace("z", x, 0.75), sigma=1.5, observed=[1.0, 2.0])
    wanted = compiled(model, mode="FAST_COMPILE")(POINT)[0]
    with phintys.interop.pymc.installed():
        assert abs(compiled(model)(POINT)[0] - wanted) < 1e-14
    assert abs(phintys.interop.logp(model)(POINT)[0] - wanted) < 1e-14


def test_parameters_out_of_bounds():
    def model(check):
        with pm.Model(check_bounds=check) as found:
            x = pm.Normal("x")
            pm.Normal("y", 0.0, x, observed=[1.0])
        return found
    with phintys.interop.pymc.installed():
        for check, wanted in ((True, -np.inf), (False, np.nan)):
            with model(check) as each:
                function = compiled(each)
            assert is_one_op(function)
            value, slope = function(np.array([-2.0]))
            np.testing.assert_equal(float(value), wanted)
            assert np.isfinite(slope).all()             # of the formula behind the check, as in PyTensor


def test_pytensor_takes_the_gradients_that_phintys_cannot(monkeypatch):
    def fails(self, leaves):
        raise NotImplementedError("no gradient")
    monkeypatch.setattr(LogDensityWithGradient, "_by_phintys", fails)
    equal_to_pytensor(model_of(), True)


def test_other_modes_and_threads_write_densities_as_before():
    cost = pt.sin(pt.dscalar("x"))
    with densities_as_one_op("PHINTYS", True), ThreadPoolExecutor(1) as others:
        here, there = core.rewrite_pregrad(cost), others.submit(core.rewrite_pregrad, cost).result()
        with densities_as_one_op("FAST_COMPILE", True):
            pass
    assert isinstance(here.owner.op, LogDensityWithGradient)
    assert not isinstance(there.owner.op, LogDensityWithGradient)
    assert not hasattr(core.rewrite_pregrad, "by_phintys") and density_op._rewrites.get() is None
    with phintys.interop.pymc.installed():
        assert not is_one_op(compiled(model_of(), mode="FAST_COMPILE"))


def test_other_linkers_run_the_op():
    x, data = pt.dvector("x"), pytensor.shared(np.array([1.0, 2.0]), name="data")
    with densities_as_one_op("PHINTYS", True):
        cost = core.rewrite_pregrad((pt.exp(x) * data).sum())
    value, slope = pytensor.function([x], [cost, pytensor.grad(cost, x)], mode="FAST_COMPILE")([0.5, -0.5])
    np.testing.assert_allclose(slope, np.exp([0.5, -0.5]) * [1, 2])
    np.testing.assert_allclose(value, slope.sum())


def test_a_value_that_has_the_lengths_already_is_not_repeated():
    x, one = pt.tensor("x", shape=(3,), dtype="float64"), pt.tensor("one", shape=(1,), dtype="float64")
    for value, is_repeated in ((x, False), (one, True)):
        found = phintys.interop.pytensor.translate(pytensor.tensor.basic.Alloc()(value, 3))
        assert (found.owner is not None) == is_repeated


def names_of(variable):
    return {key_of(node.op) for node in ops([], [variable])}


def test_a_vector_of_one_number_is_no_node_that_makes_one():
    found = phintys.interop.pytensor.translate(pt.stack([pt.dscalar()]))
    assert names_of(found) == {"DimShuffle"}


def test_plain_slopes_of_tails():
    x = T.dvector("x")
    point = np.array([-5.0, -0.5, 0.0, 2.0, 20.0])
    for y in (T.erfcx(x), apply_op("log_erfc", x)):
        with plain_gradients():
            plain = phintys.grad(y.sum(), x)
        assert not names_of(plain) & {"switch", "clip"}
        np.testing.assert_allclose(*phintys.function([x], [plain, phintys.grad(y.sum(), x)])(point), rtol=1e-10)
    assert phintys.function([x], plain)([-1e3])[0] == 0                 # where erfcx overflows


def test_a_sum_that_others_read_besides_its_logarithm_has_one_slope():
    """The slopes of a moved logarithm go along both terms, and so do those of the others."""
    x, y = T.dvector("x"), T.dscalar("y")
    for others, is_moved in ((0, True), (1, False)):
        total = T.sigmoid(x) * T.exp(y) + T.sigmoid(-x) * T.exp(2 * y)
        cost = T.log(total).sum() - others * (total.sum() if others else 0)
        with plain_gradients():
            before = FunctionGraph([x, y], [cost], clone=True)
            stabilize_before_gradient(before)
            slope = phintys.grad(before.outputs[0], before.inputs[0])
        assert ("true_div" in names_of(slope)) != is_moved             # by the sum
