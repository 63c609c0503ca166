"""Reductions of chosen elements. Values as NumPy's are in tests/api/test_numpy_arguments.py; here are derivatives."""
import numpy
import pytest
from family_cases import check_gradient, values

X, MASK = values((3, 4)), values((3, 4), seed=1) > 0


@pytest.mark.parametrize("build", [
    lambda x: numpy.sum(x ** 2, axis=0, where=MASK), lambda x: numpy.prod(x, where=MASK, initial=3.0),
    lambda x: numpy.max(x, axis=1, where=MASK, initial=-9.0),
    lambda x: numpy.mean(x ** 2, axis=1, where=MASK | (X > 0)),
    lambda x: numpy.var(x, axis=0, where=MASK, ddof=-1), lambda x: numpy.std(x, where=MASK),
    lambda x: numpy.var(x, axis=1, mean=[[1.0], [2.0], [3.0]]), lambda x: numpy.nansum(x ** 2, where=MASK)])
def test_elements_that_are_not_chosen_have_no_slope(build):
    check_gradient(build, [X])


def test_the_first_value_has_a_slope():
    check_gradient(lambda x, first: numpy.sum(x, axis=0, initial=first) * numpy.max(x, initial=first * 4),
                   [X, numpy.asarray(1.5)])
