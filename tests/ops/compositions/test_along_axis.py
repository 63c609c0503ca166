"""Elements that others choose. Values as NumPy's are in tests/api/test_numpy_arguments.py; here are derivatives, what
is only ours, and errors."""
import numpy
import pytest
from family_cases import check_gradient, check_r_op, check_values, values

import phintys
import phintys.tensor as T

X, ORDER = values((3, 4)), numpy.argsort(values((3, 4)), axis=1)


def test_derivatives_go_to_the_elements_that_were_taken():
    check_gradient(lambda x: T.take_along_axis(x, ORDER[:, :2], axis=1) ** 2, [X])
    check_r_op(lambda x: T.take_along_axis(x, ORDER, axis=1) ** 2, [X])
    check_gradient(lambda x: T.take_along_axis(x, numpy.array([5, 5, 0]), axis=None) ** 2, [X])
    check_gradient(lambda x, y: T.put_along_axis(x, ORDER[:, :1], y, axis=1) ** 2, [X, values((3, 1), seed=1)])
    check_gradient(lambda x, y: T.select([x > 0, x < -1], [x * 2, y]), [X, values((3, 4), seed=1)])
    check_gradient(lambda x: T.extract(X > 0, x) ** 2, [X])


@pytest.mark.parametrize("axis", [0, 1, None])
def test_put_along_axis(axis):
    where = {0: numpy.array([[2, 0, 1, 1]]), 1: numpy.array([[3], [0], [1]]), None: numpy.array([7, 11])}[axis]
    wanted = X.ravel().copy() if axis is None else X.copy()
    numpy.put_along_axis(wanted, where, 9.0, axis)
    before = X.copy()
    check_values(lambda x: T.put_along_axis(x, where, 9.0, axis), lambda x: wanted, [X])
    assert numpy.array_equal(X, before)


def test_positions_out_of_range_are_told():
    x, i = T.dmatrix("x"), T.lmatrix("i")
    f = phintys.function([x, i], T.take_along_axis(x, i, axis=1))
    assert f(X, ORDER).shape == (3, 4)
    with pytest.raises(IndexError):
        f(X, ORDER + 1)


@pytest.mark.parametrize("build, error, message", [
    (lambda x: T.take_along_axis(x, [0], 1), ValueError, "same number of dimensions, 1 and 2"),
    (lambda x: T.take_along_axis(x, [[0.5]], 1), IndexError, "must be integers"),
    (lambda x: T.take_along_axis(x, [[0]], 2), ValueError, "axis 2 is out of bounds"),
    (lambda x: T.select([], []), ValueError, "as many conditions as choices"),
    (lambda x: T.select([x], [x]), TypeError, "must be bool"),
    (lambda x: T.lexsort(x), TypeError, "the number of keys must be known"),
    (lambda x: T.lexsort([]), TypeError, "at least one key"),
    (lambda x: T.ix_(x), ValueError, "must be 1 dimensional"),
    (lambda x: T.meshgrid(x, indexing="no"), ValueError, "'xy' and 'ij'"),
    (lambda x: T.diag_indices_from(x[0]), ValueError, "at least 2-d"),
    (lambda x: T.tril_indices_from(x[0]), ValueError, "must be 2-d"),
])
def test_mistakes(build, error, message):
    with pytest.raises(error, match=message):
        build(T.dmatrix("x"))


def test_the_diagonal_of_what_is_not_square():
    x = T.dmatrix("x")
    f = phintys.function([x], T.diag_indices_from(x))
    assert [part.tolist() for part in f(numpy.zeros((2, 2)))] == [[0, 1], [0, 1]]
    with pytest.raises(ValueError, match="must be of equal length"):
        f(X)


@pytest.mark.parametrize("n, k, m", [(3, 0, None), (3, 1, 4), (4, -1, 2), (0, 0, None)])
def test_positions_of_triangles(n, k, m):
    for ours, theirs in ((T.tril_indices, numpy.tril_indices), (T.triu_indices, numpy.triu_indices)):
        for got, wanted in zip(ours(n, k, m), theirs(n, k, m)):
            assert got.eval().tolist() == wanted.tolist()


def test_grids_without_dimensions_and_of_symbolic_lengths():
    n = T.lscalar("n")
    f = phintys.function([n], T.indices((n, 2), sparse=True))
    assert [part.shape for part in f(3)] == [(3, 1), (1, 2)]
    assert T.indices(()).eval().shape == numpy.indices(()).shape == (0,)
    assert phintys.function([n], T.indices((n, 2), dtype="float32"))(3).dtype == "float32"
    assert T.meshgrid() == ()
    assert phintys.function([n], T.argwhere(n))(0).shape == (0, 0)
