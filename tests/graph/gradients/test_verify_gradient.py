"""Finite differences, and ``verify_grad`` with a function that only calls ``perform``."""
import numpy
import pytest
from toy_graph import Answers, Elementwise, ToyType, ToyVariable, evaluate

from phintys.graph.errors import GradientError
from phintys.graph.gradients.verify_gradient import make_verify_grad, numeric_grad


class Sum(Elementwise):
    def output_type(self, inputs):
        return ToyType(inputs[0].type.dtype)

    def compute(self, a):
        return a.sum()

    def grad(self, inputs, output_grads):
        return [Fill()(inputs[0], output_grads[0])]


class Fill(Elementwise):
    def compute(self, a, value):
        return numpy.full_like(a, value)


class ArrayVariable(ToyVariable):
    def sum(self):
        return Sum()(self)


class ArrayType(ToyType):
    Variable = ArrayVariable

    def __init__(self, dtype, broadcastable):
        ToyType.__init__(self, dtype, len(broadcastable))
        self.broadcastable = tuple(broadcastable)


def function(inputs, outputs, **options):
    assert options["on_unused_input"] == "ignore"

    def call(*values):
        given = dict(zip(inputs, map(numpy.array, values)))
        results = evaluate(outputs if isinstance(outputs, list) else [outputs], given)
        return results if isinstance(outputs, list) else results[0]
    return call


verify_grad = make_verify_grad(function, ArrayType)


@pytest.fixture
def rng():
    return numpy.random.RandomState(1)


@pytest.mark.parametrize("dtype, tolerance", [("float64", 1e-5), ("float32", 1e-2)])
def test_numeric_grad(dtype, tolerance):
    a, b = numpy.array([1.0, 2.0], dtype), numpy.array([[3.0]], dtype)
    found = numeric_grad(lambda a, b: (a ** 2).sum() * b[0, 0], [a, b])
    numpy.testing.assert_allclose(found.gf[0], [6.0, 12.0], rtol=tolerance)
    numpy.testing.assert_allclose(found.gf[1], [[5.0]], rtol=tolerance)
    assert a.tolist() == [1.0, 2.0] and found.gf[1].dtype == dtype
    assert numeric_grad(lambda a: (a ** 2).sum(), a).gf.shape == (2,)
    assert numeric_grad(lambda a: 0.0, [numpy.empty((0, 2))]).max_err([numpy.empty((0, 2))], 1, 1)[2:] == (0.0, 0.0)


def test_errors_of_numeric_grad():
    found = numeric_grad(lambda a: (a ** 2).sum(), [numpy.array([1.0, 2.0])])
    assert found.max_err([numpy.array([2.0, 5.0])], 1e-3, 1e-3)[:2] == (0, 1)
    with pytest.raises(ValueError, match="wrong number"):
        found.max_err([], 1, 1)
    with pytest.raises(ValueError, match="wrong shape"):
        found.max_err([numpy.zeros(3)], 1, 1)
    with pytest.raises(ValueError, match="not finite"):
        found.max_err([numpy.array([numpy.nan, 1.0])], 1, 1)
    absolute, relative = numeric_grad.abs_rel_err(numpy.float16(0), numpy.float16(0))
    assert absolute == relative == 0 and relative.shape == ()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 1), (0, 2)])
def test_right_gradients_pass(rng, dtype, shape):
    points = [numpy.array(rng.rand(*shape), dtype) for _ in range(2)]
    verify_grad(lambda a, b: a * b + a * a, points, rng=rng)


def test_wrong_gradients_do_not(rng):
    wrong = Answers(lambda op, inputs, output_grads: [output_grads[0] * 1.5])
    with pytest.raises(GradientError, match="exceed tolerance(.|\n)*The value of eps is:") as caught:
        verify_grad(wrong, [numpy.array([1.0, 2.0])], rng=rng)
    assert caught.value.arg == 0 and caught.value.shape == (2,) and caught.value.abs_err > caught.value.abs_tol
    assert verify_grad.E_grad is GradientError


@pytest.mark.parametrize("arguments, error", [
    (dict(pt=[numpy.array([1])]), TypeError), (dict(pt=[numpy.array([1.0])], rng=None), TypeError),
    (dict(pt=numpy.array([1.0])), AssertionError),
    (dict(pt=[numpy.array([1.0])], fun=lambda a: [a, a]), NotImplementedError)])
def test_wrong_arguments(rng, arguments, error):
    with pytest.raises(error):
        verify_grad(**{"fun": lambda a: a * a, "rng": rng, **arguments})
