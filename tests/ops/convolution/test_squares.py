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


def pooled_results(case, dtype, cpu, workers):
    """Pooled results: maxima after a bias and limits, sums and averages, maxima of a function."""
    x, w, b = [T.TensorType(dtype, (False,) * rank)() for rank in (4, 4, 1)]
    convolved = AbstractConv2d(**case.parameters)(x, w) + b.dimshuffle("x", 0, "x", "x")
    images, filters, expected = case.values(dtype)
    bias = np.linspace(-1, 1, len(filters)).astype(dtype)
    with change_flags(cpu=cpu, workers=workers):
        f = [phintys.function([x, w, b], pool_2d(y, (2, 2), True, mode=mode)) for y, mode in (
            (T.nnet.relu(convolved), "max"), (convolved, "sum"), (convolved, "average_exc_pad"),
            (T.tanh(convolved / 16), "max"))]
        assert all([any([isinstance(node.op, PooledConvolution) for node in g.maker.fgraph.apply_nodes]) for g in f])
        return expected + bias[:, None, None], [g(images, filters, bias) for g in f]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", SQUARES, ids=str)
def test_pooled_squares(case, dtype):
    """Rows and columns that are left over, stretches that end within rows, all instruction sets and workers."""
    expected, first = pooled_results(case, dtype, "native", 1)
    rows, columns = expected.shape[2] // 2, expected.shape[3] // 2
    squares = expected[:, :, :2 * rows, :2 * columns].reshape(*expected.shape[:2], rows, 2, columns, 2)
    error = 1e-4 if dtype == "float32" else 1e-11
    for found, wanted in zip(first, (np.maximum(squares, 0).max((3, 5)), squares.sum((3, 5)), squares.mean((3, 5)),
                                     np.tanh(squares.max((3, 5)) / 16))):
        np.testing.assert_allclose(found, wanted, atol=8 * error, rtol=error)
    for cpu in ("native", "avx2", "baseline"):
        one, two, three = [pooled_results(case, dtype, cpu, workers)[1] for workers in (1, 2, 3)]
        for a, b, c, other in zip(one, two, three, first):
            np.testing.assert_array_equal(a, b)
            np.testing.assert_array_equal(a, c)
            np.testing.assert_allclose(a, other, atol=8 * error, rtol=error)


@pytest.mark.parametrize("cpu", ["native", "avx2", "baseline"])
@pytest.mark.parametrize("mode", ["max", "sum"])
def test_no_finite_number_in_pooled_squares(mode, cpu):
    """NaN in a square is its maximum; so the method is in use, but not where windows reach beyond the border."""
    x, w = T.dtensor4(), T.dtensor4()
    images, filters = np.ones((1, 64, 17, 17)), np.ones((64, 64, 3, 3))
    images[0, 5, 6, 6] = np.inf
    for ignore_border in (True, False):
        with change_flags(cpu=cpu):
            f = phintys.function([x, w], pool_2d(T.nnet.conv2d(x, w, border_mode="half"), (2, 2), ignore_border,
                                                 mode=mode))
        found = f(images, filters)[0]
        seen = np.zeros(found.shape, bool)
        seen[:, 2:4, 2:4] = True
        np.testing.assert_array_equal(np.isfinite(found), ~seen)
        assert np.isnan(found).any() == ignore_border
