"""Convolutions of many channels, by Winograd's method: what follows them, instruction sets, workers, no finite numbers.

``test_convolution.py`` compares values and gradients of the same cases with NumPy's.
"""
import numpy as np
import pytest
from convolutions import SQUARES, convolve

import phintys
import phintys.tensor as T
from phintys.graph.config import change_flags
from phintys.ops.convolution.convolution import AbstractConv2d


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
