"""Gradients by filters by Winograd's method: values, errors, instruction sets, workers, no finite numbers."""
import numpy as np
import pytest
from convolutions import SQUARES, case, convolve

import phintys
import phintys.tensor as T
from phintys.graph.config import change_flags
from phintys.ops.convolution.convolution import AbstractConv2d

# Filters that are left of blocks, channels that fill no panel; rows of squares in several stretches, which end within
# images; sides that are odd; borders wider than the images.
BY_FILTERS = [*SQUARES[:2], SQUARES[4], case((9, 20, 30, 31), (13, 20, 3, 3), border_mode="half"),
              case((40, 100, 12, 12), (72, 100, 3, 3), filter_flip=False),
              case((3, 17, 2, 3), (9, 17, 3, 3), border_mode=(5, 4))]


def by_filters(case, dtype, images, gradient, cpu, workers=1):
    x, w, g = [T.TensorType(dtype, (False,) * 4)() for _ in range(3)]
    with change_flags(cpu=cpu, workers=workers):
        f = phintys.function([x, w, g], T.Lop(AbstractConv2d(**case.parameters)(x, w), w, g))
    return f(images.astype(dtype), np.zeros(case.filters, dtype), gradient.astype(dtype))


@pytest.mark.parametrize("cpu", ["native", "avx2", "baseline"])
@pytest.mark.parametrize("case", BY_FILTERS, ids=str)
def test_gradients_by_filters(case, cpu):
    """Each element is the same for any number of workers, and as exact as results are."""
    images, _, result = case.values()
    gradient = np.random.default_rng(3).normal(size=result.shape)
    images, gradient = images.astype("float32").astype("float64"), gradient.astype("float32").astype("float64")
    exact = by_filters(case, "float64", images, gradient, cpu)
    direction = np.random.default_rng(5).normal(size=case.filters)
    expected = (convolve(images, direction, **case.parameters) * gradient).sum()
    np.testing.assert_allclose((exact * direction).sum(), expected, rtol=1e-10, atol=1e-9)
    for dtype, error in [("float32", 3e-6), ("float64", 1e-14)]:
        first, *others = [by_filters(case, dtype, images, gradient, cpu, workers) for workers in (1, 2, 3)]
        for other in others:
            np.testing.assert_array_equal(first, other)
        assert np.abs(first - exact).max() <= error * np.abs(exact).max()


@pytest.mark.parametrize("cpu", ["native", "avx2", "baseline"])
def test_no_finite_number_by_filters(cpu):
    """An infinity reaches only the elements that see it. A large number changes others by rounding: so the method is in
    use."""
    seen = case((1, 16, 9, 8), (8, 16, 3, 3))
    images, gradient = np.ones((1, 16, 9, 8)), np.ones((1, 8, 7, 6))
    expected = by_filters(seen, "float64", images, gradient, cpu)
    images[0, 5, 1, 1] = np.inf
    found = by_filters(seen, "float64", images, gradient, cpu)
    assert (found[:, 5, 1:, 1:] == np.inf).all() and np.isinf(found).sum() == 4 * 8
    images[0, 5, 1, 1] = 1e25
    rounded = by_filters(seen, "float64", images, gradient, cpu)
    assert (rounded != expected).sum() > 4 * 8
    for value in (found, rounded):
        np.testing.assert_array_equal(np.delete(value, 5, axis=1), np.delete(expected, 5, axis=1))
    np.testing.assert_array_equal(found[np.isfinite(found)], expected[np.isfinite(found)])
