"""Logarithms of sums of exponentials and their gradients: for any axes, kept dimensions, terms and constants."""
import numpy
import pytest
import scipy.special
from optimized_graphs import FAST_RUN, UNFUSED, evaluate, operations, optimized, variable

import phintys
from phintys import tensor as T
from phintys.graph.gradients.gradient import grad
from phintys.ops.elementwise.scalar import exp, log, log1p
from phintys.ops.types.tensor_type import TensorType

m, v, w, k, f = variable("d2", "m"), variable("d1", "v"), variable("d1", "w"), variable("l2", "k"), variable("f2", "f")
LARGE = numpy.array([[1000.0, 1001, -3], [-1000, -1001, -1002], [0, 1e300, 5], [1e-300, -1e-300, 1]])
AXES = [None, 0, 1, (0, 1), -1]


def values_of(inputs, outputs, values):
    return evaluate(optimized(inputs, outputs, UNFUSED), values)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", AXES)
def test_reductions(axis, keepdims):
    total = exp(m).sum(axis=axis, keepdims=keepdims)
    count = LARGE.size if axis in (None, (0, 1)) else LARGE.shape[axis]
    softmax = scipy.special.softmax(LARGE, axis)
    wanted = scipy.special.logsumexp(LARGE, axis, keepdims=keepdims)
    with_one = numpy.exp(LARGE - numpy.logaddexp(scipy.special.logsumexp(LARGE, axis, keepdims=True), 0))
    for output, value, slope in (
            (log(total), wanted, softmax), (log(total / count), wanted - numpy.log(count), softmax),
            (log(1 + total), numpy.logaddexp(wanted, 0), with_one),
            (log1p(total), numpy.logaddexp(wanted, 0), with_one),
            (3 * log(total), 3 * wanted, 3 * softmax)):
        for found in (values_of([m], [output, grad(output.sum(), m)], [LARGE]),
                      values_of([m], [output], [LARGE]) + values_of([m], [grad(output.sum(), m)], [LARGE])):
            numpy.testing.assert_allclose(found[0], value, rtol=1e-14)
            numpy.testing.assert_allclose(found[1], slope, rtol=1e-12)


@pytest.mark.parametrize("constant", [0, 1, 2.5])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 40])
def test_terms(count, constant):
    inputs = [variable("d1") for _ in range(count)]
    values = [numpy.array([1000.0 + number, -1000 - number, 0, -number * 1e5, 1e300 if number == 1 else -1e300])
              for number in range(count)]
    output = log(sum([exp(item) for item in inputs], constant) if constant else sum([exp(item) for item in inputs[1:]],
                                                                                    exp(inputs[0])))
    arguments = numpy.array(values + ([numpy.full(5, numpy.log(constant))] if constant else []))
    wanted = scipy.special.logsumexp(arguments, 0)
    found = values_of(inputs, [output, *grad(output.sum(), inputs)], values)
    numpy.testing.assert_allclose(found[0], wanted, rtol=1e-14)
    numpy.testing.assert_allclose(found[1:], scipy.special.softmax(arguments, 0)[:count], rtol=1e-11)


@pytest.mark.parametrize("points", [[-numpy.inf, -numpy.inf], [numpy.inf, 1], [numpy.nan, 1], []])
def test_infinite_and_no_arguments(points):
    points = numpy.array(points)
    with numpy.errstate(divide="ignore"):
        wanted = numpy.log(numpy.exp(points).sum())
    assert phintys.function([v], log(exp(v).sum()))(points).tobytes() == wanted.tobytes() or numpy.isnan(wanted)
    if len(points):
        found = phintys.function([v], [log(exp(v[0]) + exp(v[1])), log(exp(v[0]) + exp(v[1]) + exp(v[1]))])(points)
        numpy.testing.assert_array_equal(found, [wanted, wanted])


def test_what_the_issue_says():
    assert phintys.function([v], T.log(T.sum(T.exp(v))))([1000, 1001]) == pytest.approx(1001.3132616875182, rel=1e-15)


def test_float32_and_integers_keep_their_dtypes():
    for item in (f, k):
        output = log(exp(item).sum(axis=1))
        found, = values_of([item], [output], [LARGE[:2].astype(item.type.dtype)])
        assert found.dtype == output.type.dtype
        numpy.testing.assert_allclose(found, scipy.special.logsumexp(LARGE[:2], 1), rtol=1e-6)


def test_a_user_s_own_shift_is_left_alone():
    output = m.max(axis=1) + log(exp(m - m.max(axis=1, keepdims=True)).sum(axis=1))
    assert "MaxOrLowest" not in operations(optimized([m], [output], UNFUSED))


def test_value_and_gradient_share_their_exponentials():
    output = log(exp(m).sum(axis=1))
    keys = operations(optimized([m], [output, grad(output.sum(), m)], UNFUSED))
    assert keys.count("exp") == 1 and keys.count("MaxOrLowest") == 1


def test_quotients_over_any_axis():
    output = exp(m) / exp(m).sum(axis=0)
    found, = values_of([m], [output], [LARGE])
    numpy.testing.assert_allclose(found, scipy.special.softmax(LARGE, 0), rtol=1e-13)


def test_a_recursion_of_logarithms():
    """The forward algorithm of a hidden Markov model: each step's logarithm is an argument of the next."""
    state = v
    for _ in range(5):
        state = log(exp(m + state).sum(axis=1))
    found = values_of([m, v], [state, grad(state.sum(), v)], [numpy.full((3, 3), -500.0), numpy.full(3, -900.0)])
    numpy.testing.assert_allclose(found[0], -900 + 5 * (numpy.log(3) - 500))
    numpy.testing.assert_allclose(found[1], 1, rtol=1e-10)


def test_sums_of_other_things_are_left_alone():
    for output in (log(exp(v) - exp(w)), log(exp(v) + w), log(-exp(v).sum()), log(2 * exp(v) + exp(w))):
        assert operations(optimized([v, w], [output], UNFUSED)).count("exp") >= 1
        assert "maximum" not in operations(optimized([v, w], [output], UNFUSED))


def test_names_exclude_it():
    assert "MaxOrLowest" not in operations(optimized([v], [log(exp(v).sum())], FAST_RUN.excluding("local_log_sum_exp")))


def test_dimensions_of_length_one():
    """A reduction over them is one of the exponential without them."""
    t = TensorType("float64", (False, True, False))()
    output = log(exp(t).sum(axis=(0, 1)))
    found = values_of([t], [output, grad(output.sum(), t)], [LARGE[:, None, :]])
    numpy.testing.assert_allclose(found[0], scipy.special.logsumexp(LARGE, 0), rtol=1e-14)
    numpy.testing.assert_allclose(found[1], scipy.special.softmax(LARGE, 0)[:, None, :], rtol=1e-13)


# ---- second derivatives ----------------------------------------------------------------------------------------------
POINTS = [numpy.array([1.0, 2.0, 3.0]), numpy.array([1000.0, 1001.0, 999.0]), numpy.array([-1000.0, -1001.0, -999.0]),
          numpy.array([1000.0, 0.0, -1000.0]), numpy.array([-numpy.inf, 1000.0, 1000.0])]


@pytest.mark.parametrize("point", POINTS)
def test_second_derivatives_of_logarithms_of_sums(point):
    x, v = T.dvector(), T.dvector()
    cost = T.log(T.exp(x).sum())
    slope = phintys.grad(cost, x)
    f = phintys.function([x, v], [phintys.gradient.hessian(cost, x), phintys.gradient.Rop(slope, x, v),
                                  phintys.grad((slope * v).sum(), x), phintys.gradient.jacobian(slope, x)])
    shares = numpy.exp(point - point.max())
    shares /= shares.sum()
    wanted, direction = numpy.diag(shares) - numpy.outer(shares, shares), numpy.array([1.0, -2.0, 0.5])
    hessian, right, left, jacobian = f(point, direction)
    for found in (hessian, jacobian):
        numpy.testing.assert_allclose(found, wanted, atol=1e-16)
    for found in (right, left):
        numpy.testing.assert_allclose(found, wanted @ direction, atol=3e-16)


@pytest.mark.parametrize("axis", [0, 1, 2, (0, 2), None])
@pytest.mark.parametrize("keepdims", [False, True])
def test_second_derivatives_along_axes(axis, keepdims):
    x = T.dtensor3()
    value = numpy.random.default_rng(0).normal(size=(2, 3, 4))
    cost = (T.log(T.exp(x).sum(axis=axis, keepdims=keepdims)) ** 2).sum()
    plain = T.log(T.exp(x - value.max()).sum(axis=axis, keepdims=keepdims)) + value.max()
    found, wanted = [phintys.function([x], phintys.grad((phintys.grad(total, x) ** 3).sum(), x))
                     for total in (cost, (plain ** 2).sum())]
    numpy.testing.assert_allclose(found(value), wanted(value), rtol=1e-10)
    assert numpy.isfinite(found(value + 800)).all() and numpy.isfinite(found(value - 800)).all()


def test_exponentials_whose_factor_does_not_cancel_stay():
    """Also one that is summed along two axes in different ways."""
    x, v = T.dmatrix(), T.dmatrix()
    e = T.exp(x)
    for build in (lambda: (e * v).sum() / e.sum() ** 2, lambda: (e * v).sum(axis=0) / e.sum(axis=1)[:2],
                  lambda: (e + 1) / (e.sum() * v), lambda: [e * v / (e * v).sum(), e.sum()],
                  lambda: (e * v).sum(axis=0, keepdims=True) / e.sum(axis=1, keepdims=True)):
        out = build()
        out = out if isinstance(out, list) else [out]
        f = phintys.function([x, v], out, on_unused_input="ignore")
        assert not any([type(node.op).__name__ == "MaxOrLowest" for node in f.maker.fgraph.toposort()])
        plain = phintys.function([x, v], out, mode="FAST_COMPILE", on_unused_input="ignore")
        value, weight = numpy.array([[0.1, 0.2], [0.5, 0.3]]), numpy.array([[1.0, 2.0], [3.0, 4.0]])
        for found, wanted in zip(f(value, weight), plain(value, weight)):
            numpy.testing.assert_allclose(found, wanted, rtol=1e-14)


def test_quotients_whose_factor_cancels():
    x, v = T.dmatrix(), T.dmatrix()
    e = T.exp(x)
    for out in ((e * v).sum() / e.sum(), (e * v).sum(axis=0) / e.sum(axis=0), T.sqr(e) / (e.sum(axis=1) ** 2)[:, None],
                -(e * v) / (e.sum() + T.zeros(()))):
        f = phintys.function([x, v], out, on_unused_input="ignore")
        value, weight = numpy.array([[0.1, 0.2], [0.5, 0.3]]), numpy.array([[1.0, 2.0], [3.0, 4.0]])
        numpy.testing.assert_allclose(f(value + 900, weight), f(value, weight), rtol=1e-12)
