"""Joining, dividing, turning, inserting and deleting: derivatives, symbolic positions, and mistakes."""
import numpy
import pytest
from family_cases import check_gradient, check_values, values

import phintys
import phintys.tensor as T

X, Y, CUBE = values((2, 3)), values((2, 3), seed=1), values((2, 3, 4))

BUILDS = {
    "block": (lambda x, y: T.block([[x, y], [y, x]]), lambda x, y: numpy.block([[x, y], [y, x]])),
    "dstack": (lambda x, y: T.dstack([x, y]), lambda x, y: numpy.dstack([x, y])),
    "column_stack": (lambda x, y: T.column_stack([x, y[:, 0]]), lambda x, y: numpy.column_stack([x, y[:, 0]])),
    "insert": (lambda x, y: T.insert(x, [0, 2, 2], y, axis=1), lambda x, y: numpy.insert(x, [0, 2, 2], y, axis=1)),
    "insert one": (lambda x, y: T.insert(x, -1, y[:, 0], axis=1), lambda x, y: numpy.insert(x, -1, y[:, 0], axis=1)),
    "insert many at one": (lambda x, y: T.insert(x, 1, y, 0), lambda x, y: numpy.insert(x, 1, y, 0)),
    "insert flat": (lambda x, y: T.insert(x, [6, 0], y[0, :2]), lambda x, y: numpy.insert(x, [6, 0], y[0, :2])),
    "delete": (lambda x, y: T.delete(x, [0, -1], 1) * y[:, :1], lambda x, y: numpy.delete(x, [0, -1], 1) * y[:, :1]),
    "delete a slice": (lambda x, y: T.delete(x, slice(0, None, 2), 1), lambda x, y: numpy.delete(x, numpy.s_[::2], 1)),
    "resize": (lambda x, y: T.resize(x, (4, 4)), lambda x, y: numpy.resize(x, (4, 4))),
    "rot90": (lambda x, y: T.rot90(x, 3), lambda x, y: numpy.rot90(x, 3)),
    "ediff1d": (lambda x, y: T.ediff1d(x, y, 1.5), lambda x, y: numpy.ediff1d(x, y, 1.5)),
    "vander": (lambda x, y: T.vander(x[0], 4), lambda x, y: numpy.vander(x[0], 4)),
    "array_split": (lambda x, y: T.array_split(x, 2, 1)[1], lambda x, y: numpy.array_split(x, 2, 1)[1]),
    "diagflat": (lambda x, y: T.diagflat(x, -1), lambda x, y: numpy.diagflat(x, -1)),
}


@pytest.mark.parametrize("name", BUILDS)
def test_values_and_derivatives(name):
    ours, theirs = BUILDS[name]
    check_values(ours, theirs, [X, Y])
    check_gradient(lambda x, y: ours(x, y) ** 2, [X, Y])


def test_parts_of_more_dimensions():
    for ours, theirs in ((T.dsplit, numpy.dsplit), (T.hsplit, numpy.hsplit), (T.vsplit, numpy.vsplit)):
        for number in range(2):
            check_values(lambda x: ours(x, [1])[number], lambda x: theirs(x, [1])[number], [CUBE])
    for axis, start in numpy.ndindex(3, 4):
        check_values(lambda x: T.rollaxis(x, axis, start), lambda x: numpy.rollaxis(x, axis, start), [CUBE])
    for k in range(-1, 4):
        check_values(lambda x: T.rot90(x, k, (2, 0)), lambda x: numpy.rot90(x, k, (2, 0)), [CUBE])


def test_positions_that_are_computed():
    x, n = T.dmatrix("x"), T.lscalar("n")
    f = phintys.function([x, n], [T.insert(x, n, 7.0, axis=1), T.delete(x, n, axis=1), T.resize(x, (n + 2, 2)),
                                  *T.array_split(x, [n], axis=1)])
    for where in (0, 1, 2, -1):
        found = f(X, where)
        wanted = [numpy.insert(X, where, 7.0, axis=1), numpy.delete(X, where, axis=1), numpy.resize(X, (where + 2, 2)),
                  *numpy.array_split(X, [where], axis=1)]
        for got, want in zip(found, wanted):
            numpy.testing.assert_array_equal(got, want)
    with pytest.raises(IndexError):
        f(X, 3)


@pytest.mark.parametrize("name", ["split", "array_split", "hsplit", "vsplit"])
@pytest.mark.parametrize("count", [1, 2, numpy.int64(3), [1]])
def test_parts_are_a_list_and_equal_although_no_length_is_known(name, count):
    x = T.dmatrix("x")
    parts = getattr(numpy, name)(x, count)
    assert isinstance(parts, list)
    f = phintys.function([x], parts)
    for value in (X, numpy.ones((6, 6)), numpy.ones((4, 4))):
        try:
            wanted = getattr(numpy, name)(value, count)
        except ValueError:
            with pytest.raises(ValueError, match="expected"):
                f(value)
        else:
            for got, want in zip(f(value), wanted, strict=True):
                numpy.testing.assert_array_equal(got, want)


def test_nothing_to_repeat():
    x = T.dvector("x")
    assert phintys.function([x], T.resize(x, (2,)))([]).tolist() == numpy.resize([], (2,)).tolist() == [0, 0]
    assert phintys.function([x], T.delete(x, []))([1.0]).tolist() == [1]
    assert phintys.function([x], T.trim_zeros(x))([0.0, 0.0]).tolist() == []


@pytest.mark.parametrize("build, error, message", [
    (lambda x: T.block([]), ValueError, "lists cannot be empty"),
    (lambda x: T.block([x, [x]]), ValueError, "depths are mismatched"),
    (lambda x: T.array_split(x, 0), ValueError, "larger than 0"),
    (lambda x: T.dsplit(x, 2), ValueError, "dsplit only works on arrays of more dimensions"),
    (lambda x: T.hsplit(T.zeros((2, 3)), 2), ValueError, "equal division of 3 into 2"),
    (lambda x: T.hsplit(x, 0), ValueError, "hsplit: .*equal division of the length into 0"),
    (lambda x: T.unstack(x), ValueError, "length of axis 0 must be known"),
    (lambda x: T.fliplr(x[0]), ValueError, "Input must be >= 2-d"),
    (lambda x: T.rot90(x, 1, (0, 0)), ValueError, "Axes must be different"),
    (lambda x: T.rot90(x, 1, (0, 1, 2)), ValueError, r"len\(axes\) must be 2"),
    (lambda x: T.rollaxis(x, 0, 3), ValueError, "start 3 is out of bounds"),
    (lambda x: T.matrix_transpose(x[0]), ValueError, "at least 2-dimensional"),
    (lambda x: T.insert(x, 0.5, 1), TypeError, "positions must be integers"),
    (lambda x: T.delete(x, [[0]]), ValueError, "one dimensional or scalar"),
    (lambda x: T.delete(x, 0, 2), ValueError, "axis 2 is out of bounds"),
    (lambda x: T.trim_zeros(x, "xf"), ValueError, "only letters of"),
    (lambda x: T.vander(x), ValueError, "x must be a vector"),
])
def test_mistakes(build, error, message):
    with pytest.raises(error, match=message):
        build(T.dmatrix("x"))
