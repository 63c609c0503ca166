"""Convolutions of many channels, by Winograd's method: what follows them, pooling, instruction sets, workers, no finite
numbers.

``test_convolution.py`` compares values and gradients of the same cases with NumPy's.
"""
import numpy as np
import pytest
from convolutions import SQUARES, convolve

import phintys
import phintys.tensor as T
from phintys.graph.config import change_flags
from phintys.ops.convolution.convolution import AbstractConv2d
from phintys.ops.convolution.pooled_convolution import PooledConvolution
from phintys.tensor.signal.pool import pool_2d


def results(case, dtype, cpu, workers):
    """The result with a bias, limits and a function; and the gradient by images."""
    x, w, g, b = [T.TensorType(dtype, (False,) * rank)() for rank in (4, 4, 4, 1)]
    convolved = AbstractConv2d(**case.parameters)(x, w)
    outputs = [T.nnet.relu(convolved + b.dimshuffle("x", 0, "x", "x"), 0.25),
               T.clip(convolved + b.dimshuffle("x", 0, "x", "x"), -1, 2), T.Lop(convolved, x, g)]
    images, filters, expected = case.values(dtype)
    bias = np.linspace(-1, 1, len(filters)).astype(dtype)
    gradient = np.random.default_rng(3).normal(size=expected.shape).astype(dtype)
    with change_flags(cpu=cpu, workers=workers):
        return expected + bias[:, None, None], phintys.function([x, w, g, b], outputs)(images, filters, gradient, bias)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", SQUARES, ids=str)
def test_what_follows_on_all_processors(case, dtype):
    """Each element is the same for any number of workers; and, but for rounding, with all instruction sets."""
    expected, first = results(case, dtype, "native", 1)
    error = 1e-4 if dtype == "float32" else 1e-11
    np.testing.assert_allclose(first[0], np.where(expected > 0, expected, expected * 0.25), atol=error, rtol=error)
    np.testing.assert_allclose(first[1], np.clip(expected, -1, 2), atol=error, rtol=error)
    for cpu in ("native", "avx2", "baseline"):
        found = [results(case, dtype, cpu, workers)[1] for workers in (1, 2, 3)]
        for one, two, three, other in zip(*found, first):
            np.testing.assert_array_equal(one, two)
            np.testing.assert_array_equal(one, three)
            np.testing.assert_allclose(one, other, atol=error, rtol=error)


@pytest.mark.parametrize("cpu", ["native", "avx2", "baseline"])
def test_no_finite_number(cpu):
    """An infinity makes the squares that see it NaN, and nothing else; so the method is in use."""
    x, w = T.dtensor4(), T.dtensor4()
    images, filters = np.ones((1, 64, 16, 16)), np.ones((64, 64, 3, 3))
    images[0, 5, 6, 6] = np.inf
    with change_flags(cpu=cpu):
        found = phintys.function([x, w], T.nnet.conv2d(x, w, border_mode="half"))(images, filters)
    seen = np.zeros((16, 16), bool)
    seen[4:8, 4:8] = True                       # of the squares at rows and columns 4 and 6
    assert np.isnan(found[0][:, seen]).any() and not np.isfinite(found[0][:, 5:8, 5:8]).any()
    images[0, 5, 6, 6] = 1
    expected = convolve(images, filters, border_mode="half")
    np.testing.assert_array_equal(found[0][:, ~seen], expected[0][:, ~seen])


# How results are pooled: steps before, windows, whether they stay within the border, their steps and mode. Squares are
# windows; or results are kept, as windows overlap or reach beyond the border, or steps come before that decrease.
POOLED = [(T.nnet.relu, (2, 2), True, None, "max"), (abs, (2, 2), True, (2, 2), "max"),
          (lambda y: y, (2, 2), True, None, "sum"), (lambda y: y, (2, 2), True, None, "average_exc_pad"),
          (lambda y: T.tanh(y / 16), (2, 2), True, None, "max"), (lambda y: y, (2, 2), False, None, "average_inc_pad"),
          (T.nnet.relu, (3, 3), True, (2, 2), "max"), (lambda y: T.tanh(y / 16), (3, 2), False, (1, 2), "max"),
          (lambda y: T.exp(-y / 64), (3, 3), True, (2, 2), "sum")]


def pooled(y):
    return [pool_2d(steps(y), ws, whole, stride, mode=mode) for steps, ws, whole, stride, mode in POOLED]


def pooled_results(case, dtype, cpu, workers):
    """The result with a bias, and all pooled results."""
    x, w, b = [T.TensorType(dtype, (False,) * rank)() for rank in (4, 4, 1)]
    images, filters, expected = case.values(dtype)
    bias = np.linspace(-1, 1, len(filters)).astype(dtype)
    with change_flags(cpu=cpu, workers=workers):
        f = [phintys.function([x, w, b], y) for y in
             pooled(AbstractConv2d(**case.parameters)(x, w) + b.dimshuffle("x", 0, "x", "x"))]
        assert all([any([isinstance(node.op, PooledConvolution) for node in g.maker.fgraph.apply_nodes]) for g in f])
        return expected + bias[:, None, None], [g(images, filters, bias) for g in f]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", SQUARES, ids=str)
def test_pooled_squares(case, dtype):
    """Rows and columns that are left over, stretches that end within rows, all instruction sets and workers."""
    expected, first = pooled_results(case, dtype, "native", 1)
    y = T.TensorType(expected.dtype, (False,) * 4)()
    error = 1e-3 if dtype == "float32" else 1e-10
    for found, wanted in zip(first, phintys.function([y], pooled(y))(expected)):
        np.testing.assert_allclose(found, wanted, atol=error, rtol=error)
    for cpu in ("native", "avx2", "baseline"):
        one, two, three = [pooled_results(case, dtype, cpu, workers)[1] for workers in (1, 2, 3)]
        for a, b, c, other in zip(one, two, three, first):
            np.testing.assert_array_equal(a, b)
            np.testing.assert_array_equal(a, c)
            np.testing.assert_allclose(a, other, atol=error, rtol=error)


@pytest.mark.parametrize("cpu", ["native", "avx2", "baseline"])
@pytest.mark.parametrize("ignore_border", [True, False])
@pytest.mark.parametrize("mode", ["max", "sum"])
def test_no_finite_number_in_pooled_squares(mode, ignore_border, cpu):
    """NaN in a square is its maximum; so the method is in use, whether squares are windows or are kept."""
    x, w = T.dtensor4(), T.dtensor4()
    images, filters = np.ones((1, 64, 17, 17)), np.ones((64, 64, 3, 3))
    images[0, 5, 6, 6] = np.inf
    with change_flags(cpu=cpu):
        y = T.nnet.conv2d(x, w, border_mode="half")
        found = phintys.function([x, w], pool_2d(y, (2, 2), ignore_border, mode=mode))(images, filters)[0]
    seen = np.zeros(found.shape, bool)
    seen[:, 2:4, 2:4] = True
    np.testing.assert_array_equal(np.isfinite(found), ~seen)
    assert np.isnan(found).any()
