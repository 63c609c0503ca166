"""Histograms of several variables. Values as NumPy's are in tests/api/test_numpy_arguments.py."""
import numpy
import pytest
from family_cases import check_gradient, values

import phintys
import phintys.tensor as T

X, Y = values((20,)), values((20,), seed=1)


def test_slopes_go_to_the_weights():
    check_gradient(lambda w: T.histogram2d(X, Y, 3, weights=w)[0] ** 2, [values((20,), seed=2)])


def test_what_is_outside_is_not_counted():
    x, y = T.dvectors("x", "y")
    f = phintys.function([x, y], T.histogram2d(x, y, [2, 2], [[0.0, 1.0], [0.0, 2.0]]))
    counts, first, second = f([-1.0, 0.0, 1.0, 1.5, numpy.nan, 0.2], [0.0, 0.0, 2.0, 1.0, 1.0, 1.0])
    assert counts.tolist() == [[1, 1], [0, 1]]
    assert (first.tolist(), second.tolist()) == ([0, 0.5, 1], [0, 1, 2])


def test_a_sample_with_another_shape_is_refused():
    with pytest.raises(ValueError, match="must be a matrix or a list of vectors"):
        T.histogramdd(T.dtensor3())
    with pytest.raises(ValueError, match="range has 1 entries, but the sample has 2"):
        T.histogramdd([X, Y], range=[(0, 1)])
