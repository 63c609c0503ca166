"""``pad`` in every mode: values, derivatives, symbolic widths, and mistakes."""
import numpy
import pytest
from family_cases import check_gradient, check_r_op, check_shape, check_values, values

import phintys
import phintys.tensor as T
from phintys.ops.compositions.padding import OPTIONS

X = values((3, 4))
MODES = [mode for mode in OPTIONS if mode != "empty"]
WIDTHS = [1, (2, 0), [(0, 3), (5, 9)], [(1, 1), (0, 0)]]


@pytest.mark.parametrize("mode", MODES)
def test_values_shapes_and_derivatives(mode):
    for widths in WIDTHS:
        check_values(lambda x: T.pad(x, widths, mode), lambda x: numpy.pad(x, widths, mode), [X])
    check_shape(lambda x: T.pad(x, WIDTHS[2], mode), [X])
    check_gradient(lambda x: T.pad(x, WIDTHS[2], mode) ** 2, [X])
    check_r_op(lambda x: T.pad(x, (1, 2), mode) ** 2, [X])


@pytest.mark.parametrize("mode", ["reflect", "symmetric"])
@pytest.mark.parametrize("length", [1, 2, 3, 5])
def test_reflections_that_are_wider_than_the_tensor(mode, length):
    """NumPy reflects the longer tensor again; each reflection in the values adds its step."""
    for reflect_type in ("even", "odd"):
        for widths in ((1, 1), (length, 2 * length + 1), (7 * length, 0)):
            check_values(lambda x: T.pad(x, widths, mode, reflect_type=reflect_type),
                         lambda x: numpy.pad(x, widths, mode, reflect_type=reflect_type), [values(length)])
    check_gradient(lambda x: T.pad(x, 2 * length, mode, reflect_type="odd") ** 2, [values(length)])


def test_fill_values_have_derivatives():
    v = numpy.array(1.5)
    check_gradient(lambda x, v: T.pad(x, 1, "constant", constant_values=v) ** 2, [X, v])
    check_gradient(lambda x, v: T.pad(x, ((0, 2), (1, 3)), "linear_ramp", end_values=((0, v), (v, 1))) ** 2, [X, v])


def test_widths_that_are_computed():
    x, n = T.dmatrix("x"), T.lscalar("n")
    for mode in MODES:
        f = phintys.function([x, n], T.pad(x, ((n, 0), (1, n)), mode))
        for width in (0, 1, 4):
            numpy.testing.assert_allclose(f(X, width), numpy.pad(X, ((width, 0), (1, width)), mode))


def test_what_is_empty():
    x = T.dmatrix("x")
    assert phintys.function([x], T.pad(x, 1))(numpy.zeros((0, 2))).tolist() == [[0] * 4] * 2
    f = phintys.function([x], T.pad(x, ((0, 0), (1, 1)), "reflect"))
    assert f(numpy.zeros((0, 2))).shape == (0, 4)
    with pytest.raises(ValueError, match="can't extend empty axis 1"):
        f(numpy.zeros((2, 0)))
    assert phintys.function([x], T.pad(x, 2, "empty"))(X)[2:-2, 2:-2].tolist() == X.tolist()


@pytest.mark.parametrize("arguments, options, error, message", [
    ((1, "no"), {}, ValueError, "mode 'no' is not supported"),
    ((1, "edge"), {"constant_values": 1}, ValueError, "unsupported keyword arguments for mode 'edge': constant_values"),
    ((1, "reflect"), {"reflect_type": "no"}, ValueError, "'even' or 'odd'"),
    ((-1,), {}, ValueError, "negative values, got -1"),
    ((1.5,), {}, TypeError, "must be of integers"),
    (([(1, 2), (3, 4), (5, 6)],), {}, ValueError, "a pair for each of 2 dimensions"),
    (({2: 1},), {}, ValueError, "axis 2 is out of bounds"),
])
def test_mistakes(arguments, options, error, message):
    with pytest.raises(error, match=message):
        T.pad(T.dmatrix("x"), *arguments, **options)
