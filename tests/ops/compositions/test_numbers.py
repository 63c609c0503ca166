"""Digits, exponents, infinities and angles at the ends of the ranges of numbers."""
import numpy
import pytest
from family_cases import check_gradient, check_values, values

import phintys
import phintys.tensor as T

CORNERS = {
    "float64": [0.0, -0.0, 1.0, -1.0, 0.5, 2.0 ** 52, 2.0 ** -1074, -2.0 ** -1060, 1.7976931348623157e308, numpy.inf,
                -numpy.inf, numpy.nan, 1 - 2.0 ** -53, 1 + 2.0 ** -52, 3.75],
    "float32": [0.0, -0.0, 1.0, 2.0 ** -149, 2.0 ** -127, 3.4028235e38, numpy.inf, numpy.nan, 1 - 2.0 ** -24, -3.75],
}


@pytest.mark.parametrize("dtype", CORNERS)
@pytest.mark.parametrize("name", ["frexp", "modf"])
def test_two_parts_of_every_kind_of_number(name, dtype):
    x = T.TensorType(dtype, (False,))("x")
    array = numpy.array([*CORNERS[dtype], *(2.0 ** numpy.arange(-120, 120, 7)), *(3.0 ** numpy.arange(-40, 40, 3))],
                        dtype)
    for mode in ("FAST_RUN", "FAST_COMPILE"):
        for got, wanted in zip(phintys.function([x], getattr(T, name)(x), mode=mode)(array), getattr(numpy,
                                                                                                     name)(array)):
            assert got.dtype == wanted.dtype
            numpy.testing.assert_array_equal(got, wanted)
            numpy.testing.assert_array_equal(numpy.signbit(got), numpy.signbit(wanted))


def test_powers_of_2_beyond_the_range():
    x, i = T.dvector("x"), T.lvector("i")
    f = phintys.function([x, i], T.ldexp(x, i))
    numbers, exponents = [1.0, 1.5, 2.0 ** -1074, 2.0 ** 1000, 3.0], [2000, -1075, 2097, -2074, 2 ** 40]
    assert f(numbers, exponents).tolist() == [numpy.inf, 2.0 ** -1074, 2.0 ** 1023, 2.0 ** -1074, numpy.inf]
    with pytest.raises(TypeError, match="must be an integer"):
        T.ldexp(x, x)


def test_derivatives():
    check_gradient(lambda x: T.frexp(x)[0] ** 2, [numpy.array([1.3, -5.2, 0.7])])
    check_gradient(lambda x: T.modf(x)[0] ** 2, [numpy.array([1.3, -5.2, 0.7])])
    check_gradient(lambda x: T.ldexp(x, [1, 2, -3]) ** 2, [values(3)])
    check_gradient(lambda x: T.unwrap(x) ** 2, [numpy.array([0.0, 3.0, 6.0, 7.5, -1.0])])
    check_gradient(lambda x: T.nan_to_num(x) ** 2, [values(3)])


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "int8"])
def test_what_is_no_number_is_replaced(dtype):
    array = numpy.array([1, -2, 3]).astype(dtype)
    if dtype != "int8":
        array[:] = numpy.nan, numpy.inf, -numpy.inf
    for options in ({}, {"nan": 2.0}, {"posinf": 5.0, "neginf": -7.0}):
        check_values(lambda x: T.nan_to_num(x, **options), lambda x: numpy.nan_to_num(x, **options), [array])


def test_kinds_of_numbers():
    z = T.zvector("z")
    assert (T.iscomplexobj(z), T.isrealobj(z), T.iscomplexobj(T.dvector())) == (True, False, False)
    assert numpy.iscomplexobj(z) and not numpy.isrealobj(z)
    with pytest.raises(TypeError, match="no sign of infinity"):
        T.isposinf(z)


def test_tensors_of_other_shapes_are_not_equal():
    x, y = T.dmatrix("x"), T.dmatrix("y")
    f = phintys.function([x, y], [T.array_equal(x, y), T.array_equal(x, y, equal_nan=True)])
    nan = numpy.full((2, 2), numpy.nan)
    assert [bool(part) for part in f(nan, nan)] == [False, True]
    assert [bool(part) for part in f(numpy.zeros((2, 2)), numpy.zeros((2, 3)))] == [False, False]
    assert [bool(part) for part in f(numpy.zeros((0, 2)), numpy.zeros((0, 2)))] == [True, True]
    assert not T.array_equal(x, T.dvector()).eval()


@pytest.mark.parametrize("build, error, message", [
    (lambda: T.unwrap(T.zvector()), TypeError, "unwrap: complex128 is not supported"),
    (lambda: T.unwrap(T.TensorType("uint8", (False,))(), period=4), TypeError,
     "uint8 is not supported with a period of 4"),
    (lambda: T.unwrap(T.dvector(), axis=1), ValueError, "axis 1 is out of bounds"),
])
def test_mistakes(build, error, message):
    with pytest.raises(error, match=message):
        build()
