"""Places in sorted vectors, distinct values, counts, flat positions, covariance."""
import numpy
import pytest
from family_cases import (
    COMPLEX,
    DTYPES,
    FLOATS,
    INTEGERS,
    LAYOUTS,
    MODES,
    check_equal,
    check_gradient,
    check_shape,
    check_values,
    values,
    variable_for,
)

import phintys
from phintys.ops.indexing.flat_index import RavelMultiIndex, UnravelIndex, ravel_multi_index, unravel_index
from phintys.ops.linalg.covariance import corrcoef, cov
from phintys.ops.sorting.bincount import bincount
from phintys.ops.sorting.searching import SearchsortedOp, Unique, searchsorted, to_one_hot
from phintys.ops.types.tensor_type import TensorType

SORTED = numpy.sort(values(20))
COUNTED = numpy.array([3, 1, 1, 0, 5])


def test_positions_in_a_sorted_vector():
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


def numbers_to_search(count, dtype, seed):
    """With repetitions and, of floats, NaN, infinities and zeros of both signs."""
    result = values((count,), dtype, seed)
    if dtype in FLOATS + COMPLEX:
        result = numpy.round(result * 4) / 4
        result[::7], result[3::11], result[5::13] = numpy.nan, numpy.inf, -0.0
    if dtype in COMPLEX:
        result[1::9].imag = numpy.nan
    return result.astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_positions_for_every_dtype_sorted_or_not(dtype):
    other = "float32" if dtype in INTEGERS else dtype
    for side in ("left", "right"):
        x, v, order = TensorType(dtype, (False,))(), TensorType(other, (False,))(), TensorType("int32", (False,))()
        direct = phintys.function([x, v], searchsorted(x, v, side))
        ordered = phintys.function([x, v, order], searchsorted(x, v, side, order))
        for length in (0, 1, 2, 5, 64, 333):
            unsorted = numbers_to_search(length, dtype, length)
            for count in (0, 1, 16, 17, 500):
                for needles in (numbers_to_search(count, other, 1), numpy.sort(numbers_to_search(count, other, 2))):
                    array = numpy.sort(unsorted)
                    check_equal(direct(array, needles), numpy.searchsorted(array, needles, side))
                    places = numpy.argsort(unsorted).astype("int32")
                    check_equal(ordered(unsorted, needles, places), numpy.searchsorted(array, needles, side))


def test_positions_for_every_layout():
    order = numpy.argsort(values(60, seed=3))
    for first in LAYOUTS.values():
        for second in LAYOUTS.values():
            check_values(searchsorted, numpy.searchsorted, [first(SORTED), second(values((3, 4), seed=1))],
                         modes=MODES[:1])
            check_values(lambda x, v, o: searchsorted(x, v, "right", o),
                         lambda a, b, o: numpy.searchsorted(a, b, "right", o),
                         [values(60, seed=3), second(values((3, 4), seed=1)), first(order)], modes=MODES[:1])


def positions_by_halves(array, needles, side):
    """As NumPy searched when Theano was written; of what is not sorted, NumPy 2.5 finds other positions."""
    goes_before = numpy.less if side == "left" else numpy.less_equal
    least, most, last, found = 0, len(array), needles[0], []
    for needle in needles:
        least, most = (least, len(array)) if goes_before(last, needle) else (0, min(most + 1, len(array)))
        last = needle
        while least < most:
            middle = (least + most) // 2
            least, most = (middle + 1, most) if goes_before(array[middle], needle) else (least, middle)
        found.append(least)
    return numpy.array(found)


def test_positions_among_few_values_that_are_not_sorted():
    """These positions are meaningless, but Theano's users and tests expect these ones."""
    array, needles = numbers_to_search(50, "float64", 1), numbers_to_search(400, "float64", 2)
    array, needles = array[~numpy.isnan(array)], needles[~numpy.isnan(needles)]
    for side in ("left", "right"):
        check_values(lambda x, v: searchsorted(x, v, side), lambda a, b: positions_by_halves(a, b, side),
                     [array, needles], modes=MODES[:1])


def test_many_positions_by_several_threads():
    array, needles = numpy.sort(values(5000)), values((300, 100), seed=1)
    check_equal(phintys.function([], searchsorted(array, needles))(), numpy.searchsorted(array, needles))


def test_orders_of_wrong_length_or_content():
    x, v, order = variable_for(SORTED), variable_for(SORTED), TensorType("int64", (False,))()
    function = phintys.function([x, v, order], searchsorted(x, v, sorter=order))
    with pytest.raises(ValueError, match="searchsorted: sorter.size must equal a.size, they are 3 and 20"):
        function(SORTED, SORTED, [0, 1, 2])
    for wrong in (20, -1):
        with pytest.raises(ValueError, match=r"searchsorted: Sorter index out of range(.|\n)*test_searching\.py"):
            function(SORTED, SORTED, numpy.full(20, wrong))


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
        check_values(bincount, lambda a: numpy.bincount(a), [COUNTED.astype(dtype)], "int64", modes=MODES[:1])
        for layout in LAYOUTS.values():
            many = layout(numpy.repeat(numpy.array([0, 3], dtype), 300))
            check_values(bincount, lambda a: numpy.array([300, 0, 0, 300]), [many], modes=MODES[:1])
        check_values(bincount, lambda a: numpy.zeros(0, "int64"), [numpy.zeros(0, dtype)], modes=MODES[:1])
        check_values(lambda x: bincount(x, minlength=3), lambda a: numpy.zeros(3, "int64"), [numpy.zeros(0, dtype)],
                     modes=MODES[:1])
        ones = numpy.ones(300, dtype)
        check_values(lambda x: bincount(x, x), lambda a: numpy.array([0, 300], f"{dtype.rstrip('123468')}64"), [ones],
                     modes=MODES[:1])
    check_values(bincount, lambda a: numpy.array([2, 300]), [numpy.array([True] * 300 + [False] * 2)], modes=MODES[:1])
    check_values(lambda x, w: bincount(x, w, minlength=9), lambda a, w: numpy.bincount(a, w, 9), [COUNTED, values(5)])
    x = variable_for(COUNTED)
    with pytest.raises(AssertionError, match="negative values"):
        phintys.function([x], bincount(x, assert_nonneg=True))(COUNTED - 1)
    for array, message in ((COUNTED - 1, "an element is negative"), (numpy.array([2 ** 63 - 1]), "63 bits"),
                           (numpy.array([1, 2 ** 63], "uint64"), "63 bits")):
        x = variable_for(array)
        for build in (lambda: phintys.function([x], bincount(x))(array), lambda: bincount(array).eval()):
            with pytest.raises(ValueError, match=f"bincount: .*{message}"):
                build()
    with pytest.raises(ValueError, match="bincount: minlength must not be negative"):
        phintys.function([x], bincount(x, minlength=-1))(numpy.array([1], "uint64"))


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
    with pytest.raises(ValueError, match="unravel_index: index 6 is out of bounds for array with size 6"):
        phintys.function([x], unravel_index(x, (2, 3))[0])(positions)


def test_coordinates_of_every_layout_and_size():
    large = numpy.array([[0, 2**40 + 3, 5], [2**33, 7 * 2**41 - 1, 2**32 - 1]])
    for layout in LAYOUTS.values():
        for order in "CF":
            for array, dimensions in ((large, (2**20, 7, 2**21)), (large % 24, (2, 3, 4)), (large[:0], (0, 3, 4))):
                for axis in range(3):
                    check_values(lambda x: unravel_index(x, dimensions, order)[axis],
                                 lambda a: numpy.asarray(numpy.unravel_index(a, dimensions, order)[axis]),
                                 [layout(array)], modes=MODES[:1])
    check_values(lambda x: unravel_index(x, (3, 4))[1], lambda a: numpy.asarray(a % 4), [numpy.array(7)])


def test_positions_of_coordinates_that_broadcast():
    rows, columns = numpy.array([[0], [2]], "int8"), numpy.array([3, 0, 1], "int32")
    column, row = TensorType("int8", (False, True))(), variable_for(columns)
    position = ravel_multi_index((column, row), (3, 4))
    got, shape = phintys.function([column, row], [position, position.shape])(rows, columns)
    check_equal(got, numpy.ravel_multi_index((rows, columns), (3, 4)))
    assert tuple(shape) == (2, 3)
    for layout in LAYOUTS.values():                               # lengths of 1 that are not declared
        for mode in ("raise", "wrap", "clip"):
            check_values(lambda x, y: ravel_multi_index((x, y), (3, 4), mode),
                         lambda a, b: numpy.ravel_multi_index((a, b), (3, 4), mode),
                         [layout(numpy.array([[0, 2, 1]])), layout(numpy.array([[3], [1]]))], modes=MODES[:1])


BAD_POSITIONS = {
    "negative": (lambda n: unravel_index(n - 1, (2, 3))[0], "index -1 is out of bounds for array with size 6"),
    "empty array": (lambda n: unravel_index(n, (0, 3))[0], "out of bounds for array with size 0"),
    "negative length": (lambda n: unravel_index(n, (-2, -3))[0], "out of bounds"),
    "too large": (lambda n: unravel_index(n, (2**40, 2**40))[0], "dimensions are too large"),
    "too few": (lambda n: UnravelIndex(2)(n, (n, n, n))[0], "expected 2 dimensions, got 3"),
    "too few coordinates": (lambda n: ravel_multi_index((n, n), (n, n, n)), "expected 2 dimensions, got 3"),
    "nothing to clip to": (lambda n: ravel_multi_index((n, n), (0, 3), "clip"), "dimension 0 has length 0"),
    "nothing to wrap around": (lambda n: ravel_multi_index((n, n), (3, 0), "wrap"), "dimension 1 has length 0"),
    "shapes": (lambda n: ravel_multi_index((COUNTED * 0, COUNTED[1:] * 0 + n), (1, 1)), r"shapes \(5,\) \(4,\)"),
}


@pytest.mark.parametrize("name", BAD_POSITIONS)
def test_bad_positions(name):
    build, message = BAD_POSITIONS[name]
    n = TensorType("int64", ())()
    function = phintys.function([n], build(n))
    with pytest.raises(ValueError, match=message):
        function(0)


def test_coordinates_out_of_range():
    rows, columns = numpy.array([0, 5]), numpy.array([-1, 1])
    x, y = variable_for(rows), variable_for(columns)
    for mode in ("wrap", "clip"):
        got = phintys.function([x, y], ravel_multi_index((x, y), (3, 4), mode))(rows, columns)
        check_equal(got, numpy.ravel_multi_index((rows, columns), (3, 4), mode))
    with pytest.raises(ValueError, match="invalid entry in coordinates array: 5, dimension 0 has length 3"):
        phintys.function([x, y], ravel_multi_index((x, y), (3, 4)))(rows, columns)


def test_covariance():
    a, b = values((3, 5)), values((3, 5), seed=1)
    check_values(cov, numpy.cov, [a])
    check_values(lambda x, y: cov(x, y, rowvar=False, bias=True), lambda x, y: numpy.cov(x, y, rowvar=False, bias=True),
                 [a, b])
    check_values(lambda x: cov(x, ddof=2), lambda x: numpy.cov(x, ddof=2), [a])
    often, important = COUNTED + 1, numpy.array([0.5, 1.0, 2.0, 0.25, 1.5])
    both = {"fweights": often, "aweights": important, "ddof": 0}
    for weights in ({"fweights": often}, {"aweights": important}, both):
        check_values(lambda x: cov(x, **weights), lambda x: numpy.cov(x, **weights), [a])
        check_gradient(lambda x: cov(x, **weights), [a])
    check_values(corrcoef, numpy.corrcoef, [a])
    check_values(lambda x, y: corrcoef(x, y, False), lambda x, y: numpy.corrcoef(x, y, False), [a, b])


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
}


@pytest.mark.parametrize("name", BAD_GRAPHS)
def test_bad_graphs(name):
    build, error = BAD_GRAPHS[name]
    with pytest.raises(error):
        build()
