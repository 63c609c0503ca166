"""Convolutions and their gradients against NumPy: borders, steps, dilations, groups; derivatives; errors."""

import numpy as np
import pytest
from convolutions import CASES, convolve

import phintys
import phintys.tensor as T
from phintys.ops.convolution.convolution import AbstractConv2d, AbstractConv3d


def op_of(case):
    cls = AbstractConv2d if len(case.images) == 4 else AbstractConv3d
    return cls(**case.parameters)


def variables(case, dtype="float64"):
    return [T.TensorType(dtype, (False,) * len(shape))() for shape in (case.images, case.filters)]


def tolerance(dtype):
    return {"float64": 1e-11, "float32": 2e-4, "float16": 0.15}[dtype]


def by_numpy(case, dtype, seed=0):
    """Images, filters, a gradient of the result, and the gradients by images and by filters.

    The gradients are exact: a convolution is linear in each operand, so they are its values for unit vectors, which an
    inner product with random directions tests.
    """
    images, filters, result = case.values(dtype, seed)
    return images, filters, result, np.random.default_rng(seed + 1).normal(size=result.shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_values(case, dtype):
    images, filters, result, _ = by_numpy(case, dtype)
    x, w = variables(case, dtype)
    op = op_of(case)
    f = phintys.function([x, w], op(x, w))
    assert f(images, filters).dtype == dtype
    wide = convolve(images.astype("float64"), filters.astype("float64"), **case.parameters)
    np.testing.assert_allclose(f(images, filters), wide, atol=tolerance(dtype), rtol=tolerance(dtype))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_gradients(case, dtype):
    images, filters, result, gradient = by_numpy(case, dtype)
    x, w = variables(case, dtype)
    g = x.type()
    op = op_of(case)
    f = phintys.function([x, w, g], T.Lop(op(x, w), [x, w], g))
    by_images, by_filters = f(images, filters, gradient)
    assert by_images.shape == images.shape and by_filters.shape == filters.shape
    random = np.random.default_rng(5)
    for _ in range(2):
        direction = random.normal(size=images.shape)
        expected = (convolve(direction, filters.astype("float64"), **case.parameters) * gradient).sum()
        np.testing.assert_allclose((by_images * direction).sum(), expected, atol=100 * tolerance(dtype))
        direction = random.normal(size=filters.shape)
        expected = (convolve(images.astype("float64"), direction, **case.parameters) * gradient).sum()
        np.testing.assert_allclose((by_filters * direction).sum(), expected, atol=100 * tolerance(dtype))
