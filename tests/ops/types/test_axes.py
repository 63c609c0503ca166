"""Axes that do not exist: NumPy's error, from each function that takes axes, with its name and the rank."""
import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.ops.types.axes import one_axis, several_axes

x = T.dmatrix("x")
FUNCTIONS = {
    "roll": lambda axis: T.roll(x, 1, axis), "flip": lambda axis: T.flip(x, axis),
    "take": lambda axis: T.take(x, 0, axis),
    "swapaxes": lambda axis: T.swapaxes(x, 0, axis), "median": lambda axis: T.median(x, axis=axis),
    "cumsum": lambda axis: T.cumsum(x, axis=axis), "diff": lambda axis: T.diff(x, axis=axis),
    "repeat": lambda axis: T.repeat(x, 2, axis=axis), "vectorize": lambda axis: phintys.vectorize(T.exp, axis)(x),
    "fftshift": lambda axis: T.fft.fftshift(x, axis), "gradient": lambda axis: T.gradient(x, axis=axis),
    "trapezoid": lambda axis: T.trapezoid(x, axis=axis), "moveaxis": lambda axis: T.moveaxis(x, 0, axis),
    "squeeze": lambda axis: T.squeeze(x, axis), "unstack": lambda axis: T.unstack(x, axis=axis)}


@pytest.mark.parametrize("axis", [2, -3])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_axes_that_do_not_exist(name, axis):
    with pytest.raises(numpy.exceptions.AxisError, match=f"^{name}: axis {axis} is out of bounds for x with 2 dim"):
        FUNCTIONS[name](axis)


def test_axes_of_a_result():
    with pytest.raises(numpy.exceptions.AxisError, match="expand_dims: axis 4 .* for the result of x with 4 dim"):
        T.expand_dims(x, (0, 4))


def test_axes_count_from_both_ends():
    assert [one_axis("f", x, axis) for axis in range(-2, 2)] == [0, 1, 0, 1] and one_axis("f", x, -3, 1) == 0
    assert [several_axes("f", x, axis) for axis in (None, -1, [1, -2], ())] == [(0, 1), (1,), (1, 0), ()]
