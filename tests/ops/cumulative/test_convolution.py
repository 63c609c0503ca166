"""convolve and correlate, against NumPy."""
import numpy
import pytest
from family_cases import DTYPES, LAYOUTS, check_gradient, check_r_op, check_values, values

import phintys.tensor as T

FAST = ("FAST_RUN",)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolutions(dtype, mode):
    for n, m in ((5, 3), (3, 5), (4, 4), (4, 1), (6, 2), (2, 7)):
        for layout in list(LAYOUTS.values())[::3]:
            a, v = layout(values(n, dtype)), layout(values(m, dtype, seed=1))
            if dtype == "bool":
                a, v = a.astype("int8"), v.astype("int8")
            check_values(lambda x, y: T.convolve(x, y, mode), lambda x, y: numpy.convolve(x, y, mode), [a, v],
                         modes=FAST)
            check_values(lambda x, y: T.correlate(x, y, mode), lambda x, y: numpy.correlate(x, y, mode), [a, v],
                         modes=FAST)


@pytest.mark.parametrize("function", [T.convolve, T.correlate])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_derivatives_of_convolutions(function, mode):
    for n, m in ((5, 3), (2, 4)):
        arrays = [values(n), values(m, seed=1)]
        check_gradient(lambda x, y: function(x, y, mode), arrays)
        check_r_op(lambda x, y: function(x, y, mode), arrays)
        check_gradient(lambda x, y: T.grad((function(x, y, mode) ** 3).sum(), y), arrays)


def test_convolutions_with_numbers():
    check_values(lambda x: T.convolve(x, 2.0), lambda a: numpy.convolve(a, 2.0), [values(4)])
    with pytest.raises(ValueError, match="convolve: a cannot be empty"):
        T.convolve(values(0), values(3)).eval()
    with pytest.raises(ValueError, match="v cannot be empty"):
        T.convolve(values(3), values(0)).eval()
