"""Places in sorted vectors, distinct values, counts, flat positions, covariance."""
import numpy
import pytest
from family_cases import INTEGERS, MODES, check_equal, check_shape, check_values, values, variable_for

import phintys
from phintys.ops.covariance import cov
from phintys.ops.flat_index import RavelMultiIndex, UnravelIndex, ravel_multi_index, unravel_index
from phintys.ops.searching import SearchsortedOp, Unique, bincount, searchsorted, to_one_hot
from phintys.ops.tensor_type import TensorType

SORTED = numpy.sort(values(20))
COUNTED = numpy.array([3, 1, 1, 0, 5])


def test_places_in_a_sorted_vector():
    order = numpy.argsort(values(20))
    for side in ("left", "right"):
        check_values(lambda x, v: searchsorted(x, v, side), lambda a, b: numpy.searchsorted(a, b, side),
                     [SORTED, values((3, 4), seed=1)])
        check_values(lambda x, v: searchsorted(x, v, side, order), lambda a, b: numpy.searchsorted(a, b, side, order),
                     [values(20), values((2, 2), seed=1)])
    check_values(lambda x: searchsorted(x, 0.5), lambda a: numpy.asarray(numpy.searchsorted(a, 0.5)), [SORTED])
    x, v = variable_for(SORTED), variable_for(SORTED)
    for gradient in phintys.grad(searchsorted(x, v).sum() * 1.0, [x, v]):
        check_equal(phintys.function([x, v], gradient, on_unused_input="ignore")(SORTED, SORTED), numpy.zeros(20))
    assert SearchsortedOp("left") == SearchsortedOp() != SearchsortedOp("right")


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_distinct_values(axis):
    array = values((4, 3), "int8") % 3
    for wanted in numpy.ndindex(2, 2, 2):
        wanted = [bool(flag) for flag in wanted]
        op = Unique(*wanted, axis=axis)
        x = variable_for(array)
        results = phintys.function([x], op(x, return_list=True))(array)
        expected = numpy.unique(array, *wanted, axis=axis)
        expected = expected if isinstance(expected, tuple) else (expected,)
        for got, value in zip(results, expected):
            check_equal(got, value if got.ndim == value.ndim else value.ravel())
        if wanted[1]:
            check_shape(lambda y: op(y)[1 + wanted[0]], [array])


def test_counts():
    for dtype in INTEGERS:
        check_values(bincount, lambda a: numpy.bincount(a), [COUNTED.astype(dtype)], dtype, modes=MODES[:1])
    check_values(lambda x, w: bincount(x, w, minlength=9), lambda a, w: numpy.bincount(a, w, 9), [COUNTED, values(5)])
    x = variable_for(COUNTED)
    with pytest.raises(AssertionError, match="negative values"):
        phintys.function([x], bincount(x, assert_nonneg=True))(COUNTED - 1)


def test_one_hot_rows():
    check_values(lambda y: to_one_hot(y, 6), lambda a: numpy.eye(6)[a], [COUNTED])
    check_values(lambda y: to_one_hot(y, 7, dtype="int32"), lambda a: numpy.eye(7, dtype="int32")[a], [COUNTED])
    y = variable_for(COUNTED)
    with pytest.raises(IndexError, match="5"):
        phintys.function([y], to_one_hot(y, 5))(COUNTED)


def test_coordinates_of_flat_positions():
    positions = numpy.arange(24).reshape(4, 6)
    for order in "CF":
        x, dimensions = variable_for(positions), TensorType("int64", (False,))()
        coordinates = unravel_index(x, dimensions, order=order, ndim=3)
        back = ravel_multi_index(coordinates, dimensions, order=order)
        *found, again, shape = phintys.function([x, dimensions], [*coordinates, back, back.shape])(positions, [2, 3, 4])
        for got, wanted in zip(found, numpy.unravel_index(positions, (2, 3, 4), order)):
            check_equal(got, wanted)
        check_equal(again, positions)
        assert tuple(shape) == positions.shape
    check_values(lambda x: unravel_index(x, (24,))[0], lambda a: a, [positions])
    with pytest.raises(ValueError, match="out of bounds"):
        phintys.function([x], unravel_index(x, (2, 3))[0])(positions)


def test_coordinates_out_of_range():
    rows, columns = numpy.array([0, 5]), numpy.array([-1, 1])
    x, y = variable_for(rows), variable_for(columns)
    for mode in ("wrap", "clip"):
        got = phintys.function([x, y], ravel_multi_index((x, y), (3, 4), mode))(rows, columns)
        check_equal(got, numpy.ravel_multi_index((rows, columns), (3, 4), mode))
    with pytest.raises(ValueError, match="invalid entry"):
        phintys.function([x, y], ravel_multi_index((x, y), (3, 4)))(rows, columns)


def test_covariance():
    a, b = values((3, 5)), values((3, 5), seed=1)
    check_values(cov, numpy.cov, [a])
    check_values(lambda x, y: cov(x, y, rowvar=False, bias=True), lambda x, y: numpy.cov(x, y, rowvar=False, bias=True),
                 [a, b])
    check_values(lambda x: cov(x, ddof=2), lambda x: numpy.cov(x, ddof=2), [a])


BAD_GRAPHS = {
    "side": (lambda: searchsorted(SORTED, 1.0, "middle"), ValueError),
    "matrix": (lambda: searchsorted(values((2, 3)), 1.0), ValueError),
    "order": (lambda: searchsorted(SORTED, 1.0, sorter=SORTED), TypeError),
    "unique axis": (lambda: Unique(axis=1)(COUNTED), RuntimeError),
    "counts of a matrix": (lambda: bincount(numpy.ones((2, 2), int)), TypeError),
    "float positions": (lambda: unravel_index(SORTED, (3, 4)), TypeError),
    "float dimensions": (lambda: unravel_index(COUNTED, (3.5, 4.0)), TypeError),
    "dimensions unknown": (lambda: unravel_index(COUNTED, TensorType("int64", (False,))()), ValueError),
    "no vector": (lambda: UnravelIndex(1)(COUNTED, 3), TypeError),
    "float ndim": (lambda: UnravelIndex(1.5), ValueError),
    "order of dimensions": (lambda: UnravelIndex(1, "A"), AssertionError),
    "mode": (lambda: RavelMultiIndex("ignore"), AssertionError),
    "no tuple": (lambda: ravel_multi_index(COUNTED, (3,)), TypeError),
    "weights": (lambda: cov(values((2, 3)), fweights=COUNTED), NotImplementedError),
}


@pytest.mark.parametrize("name", BAD_GRAPHS)
def test_bad_graphs(name):
    build, error = BAD_GRAPHS[name]
    with pytest.raises(error):
        build()
