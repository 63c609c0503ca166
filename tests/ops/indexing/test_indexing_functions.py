"""Functions that pick and place elements: take, choose, nonzero, diagonals, triangles; against NumPy."""
import numpy
import pytest
from directions import check_directions
from family_cases import (
    DTYPES,
    INTEGERS,
    LAYOUTS,
    check_equal,
    check_gradient,
    check_values,
    values,
    variable_for,
    zero_strides,
)

import phintys
from phintys import tensor as T
from phintys.ops.linalg.diagonal import AllocDiag, ExtractDiag, SetDiagonal

POSITIONS = numpy.array([[1, 0], [2, -1]])
FAR = numpy.array([0, 7, -9, 3])


def filled(array, number, offset=0):
    result = array.copy()
    rows, columns = result.shape
    for row in range(rows):
        if 0 <= row + offset < columns:
            result[row, row + offset] = number
    return result


def filled_cube(array, number):
    result = array.copy()
    numpy.fill_diagonal(result, number)
    return result


# name: (build, the same with NumPy, arrays, dtypes of the first array or None, which arrays have a gradient)
CASES = {
    "take flat": (lambda x: T.take(x, POSITIONS), lambda a: numpy.take(a, POSITIONS), [(3, 4)]),
    "take rows": (lambda x: T.take(x, POSITIONS, 0), lambda a: numpy.take(a, POSITIONS, 0), [(3, 4)]),
    "take columns": (lambda x: x.take([1, 1], axis=-1), lambda a: numpy.take(a, [1, 1], -1), [(3, 4)]),
    "take one": (lambda x: x.take(2, axis=1), lambda a: numpy.take(a, 2, 1), [(3, 4)]),
    "take wrapped": (lambda x: T.take(x, FAR, 1, "wrap"), lambda a: numpy.take(a, FAR, 1, mode="wrap"), [(3, 4)]),
    "take clipped": (lambda x: T.take(x, FAR, 0, "clip"), lambda a: numpy.take(a, FAR, 0, mode="clip"), [(3, 4)]),
    "diagonal": (lambda x: T.diagonal(x), numpy.diagonal, [(3, 4)]),
    "diagonal above": (lambda x: x.diagonal(2), lambda a: a.diagonal(2), [(3, 4)]),
    "diagonal below": (lambda x: x.diagonal(-1), lambda a: a.diagonal(-1), [(4, 3)]),
    "diagonal outside": (lambda x: x.diagonal(9), lambda a: a.diagonal(9), [(4, 3)]),
    "diagonals": (lambda x: x.diagonal(1, 2, 0), lambda a: a.diagonal(1, 2, 0), [(3, 2, 4)]),
    "diagonals from behind": (lambda x: x.diagonal(-1, -2, -1), lambda a: a.diagonal(-1, -2, -1), [(2, 4, 3)]),
    "diag of a vector": (lambda x: T.diag(x), numpy.diag, [(3,)]),
    "diag above": (lambda x: T.diag(x, 2), lambda a: numpy.diag(a, 2), [(3,)]),
    "diag below": (lambda x: T.diag(x, -1), lambda a: numpy.diag(a, -1), [(3,)]),
    "diag of a matrix": (lambda x: T.diag(x, 1), lambda a: numpy.diag(a, 1), [(3, 5)]),
    "matrices from diagonals": (lambda x: AllocDiag(1, 0, 2)(x), lambda a: numpy.stack(
        [numpy.diag(row, 1) for row in a], axis=1), [(3, 2)]),
    "set diagonals": (lambda x, y: SetDiagonal(1, 0, 1)(x, y), lambda a, b: filled(a, b[0], 1), [(3, 4), (1,)]),
    "fill diagonal": (lambda x: T.fill_diagonal(x, 3), lambda a: filled(a, 3), [(3, 4)]),
    "fill tall": (lambda x, y: T.fill_diagonal(x, y), lambda a, b: filled(a, b), [(5, 2), ()]),
    "fill cube": (lambda x, y: T.fill_diagonal(x, y), filled_cube, [(3, 3, 3), ()]),
    "fill above": (lambda x, y: T.fill_diagonal_offset(x, y, 1), lambda a, b: filled(a, b, 1), [(3, 4), ()]),
    "fill below": (lambda x, y: T.fill_diagonal_offset(x, y, -2), lambda a, b: filled(a, b, -2), [(5, 2), ()]),
    "fill outside": (lambda x, y: T.fill_diagonal_offset(x, y, -7), lambda a, b: a, [(5, 2), ()]),
    "lower": (lambda x: T.tril(x), numpy.tril, [(3, 4)]),
    "lower, more": (lambda x: T.tril(x, 1), lambda a: numpy.tril(a, 1), [(4, 3)]),
    "upper": (lambda x: T.triu(x), numpy.triu, [(3, 4)]),
    "upper, more": (lambda x: T.triu(x, -1), lambda a: numpy.triu(a, -1), [(2, 4, 3)]),
    "choose": (lambda x, y: T.choose([1, 0, 1], [x, y]), lambda a, b: numpy.choose([1, 0, 1], [a, b]), [(3,), (3,)]),
    "choose broadcast": (lambda x, y: T.choose([[1], [0]], [x, y]), lambda a, b: numpy.choose([[1], [0]], [a, b]),
                         [(3,), ()]),
    "choose broadcast at run time": (
        lambda x, y: T.choose(T.as_tensor([[1, 0, 1]]), [x, y]), lambda a, b: numpy.choose([[1, 0, 1]], [a, b]),
        [(2, 1), (1, 3)]),
    "choose slices that are broadcast": (lambda x: T.choose(T.as_tensor([[1], [0], [1]]), x),
                                         lambda a: numpy.choose([[1], [0], [1]], a), [(2, 1, 3)]),
    "choose slices": (lambda x: T.choose([1, 0, 2], x), lambda a: numpy.choose([1, 0, 2], a), [(3, 2, 3)]),
    "choose wrapped": (lambda x: T.choose(numpy.array([-1, 4, 5]), x, mode="wrap"),
                       lambda a: numpy.choose([-1, 4, 5], a, mode="wrap"), [(3, 3)]),
    "choose clipped": (lambda x, y: T.choose(numpy.array([-1, 4, 1]), [x, y], mode="clip"),
                       lambda a, b: numpy.choose([-1, 4, 1], [a, b], mode="clip"), [(3,), (3,)]),
}


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    build, expected, shapes = CASES[name]
    arrays = [values(shape, seed=number) for number, shape in enumerate(shapes)]
    for layout in LAYOUTS.values():
        check_values(build, expected, [layout(array) for array in arrays])
    check_values(build, expected, [zero_strides(shape) for shape in shapes], modes=["FAST_COMPILE"])
    check_gradient(lambda *inputs: build(*inputs) ** 2, arrays)
    check_directions(build, arrays)


@pytest.mark.parametrize("name", [name for name in CASES if name != "fill diagonal"])
def test_dtypes(name):
    build, expected, shapes = CASES[name]
    for dtype in DTYPES:
        arrays = [values(shape, dtype, seed=number) for number, shape in enumerate(shapes)]
        check_values(build, expected, arrays, dtype, modes=["FAST_COMPILE"])


def test_empty():
    empty = numpy.zeros((0, 3))
    for build, expected in ((T.diagonal, numpy.diagonal), (T.tril, numpy.tril), (T.triu, numpy.triu),
                            (lambda x: T.fill_diagonal(x, 1), lambda a: a), (lambda x: T.take(x, [[1]], 1),
                                                                             lambda a: numpy.take(a, [[1]], 1)),
                            (lambda x: T.diag(x[0:0, 0], 1), lambda a: numpy.diag(a[0:0, 0], 1)),
                            (lambda x: T.nonzero(x, return_matrix=True), lambda a: numpy.array(a.nonzero()))):
        check_values(build, expected, [empty])


NONZERO = [numpy.array([0, 3, 0, 1]), values((3, 4)) > 0, numpy.where(values((3, 4, 5)) > 0, values((3, 4, 5)), 0),
           numpy.array([0.0, -0.0, numpy.nan]), numpy.zeros((2, 2)), numpy.ones((4, 1), "uint8")]


@pytest.mark.parametrize("array", NONZERO, ids=range(len(NONZERO)))
def test_nonzero(array):
    for layout in LAYOUTS.values():
        check_values(lambda x: T.nonzero(x, return_matrix=True), lambda a: numpy.array(a.nonzero()), [layout(array)])
        check_values(lambda x: x.nonzero()[-1], lambda a: a.nonzero()[-1], [layout(array)])
        check_values(T.flatnonzero, numpy.flatnonzero, [layout(array)])
        check_values(lambda x: x.nonzero_values(), lambda a: a[a.nonzero()], [layout(array)])
        check_values(lambda x: x[x.nonzero()], lambda a: a[a.nonzero()], [layout(array)])
    lengths = phintys.function([x := variable_for(array)], x.nonzero()[0].shape)
    assert lengths(array) == [numpy.count_nonzero(array)]
    assert "Nonzero" not in [type(node.op).__name__ for node in lengths.maker.fgraph.toposort()]


def test_gradients_at_computed_places():
    check_gradient(lambda x: (x.nonzero_values() ** 2).sum(), [values((3, 4))])
    check_gradient(lambda x: x[T.arange(3), x.argmax(axis=1)] ** 2, [values((3, 4))])


def test_positions_of_every_dtype():
    for dtype in INTEGERS:
        numbers = numpy.array([2, 0, 1], dtype)
        check_values(lambda x, i: T.choose(i, x), lambda a, i: numpy.choose(i.astype(int), a),
                     [values((3, 3)), numbers])
        check_values(lambda x, i: T.take(x, i, 0, "wrap"), lambda a, i: a[i], [values((3, 3)), numbers])


def test_long_choices():
    """More elements than a block has, lines that are joined and lines that are not, and the numbers of every mode."""
    random = numpy.random.default_rng(0)
    for shape in ((3000,), (3, 1000), (700, 3)):
        first, second = values(shape), values(shape[-1:], seed=1)
        numbers = random.integers(-5, 5, shape)
        for layout in LAYOUTS.values():
            for mode, inside in (("wrap", numbers % 3), ("clip", numbers.clip(0, 2)), ("raise", numbers % 3)):
                given = layout(inside if mode == "raise" else numbers)
                check_values(lambda i, x, y: T.choose(i, [x, y, x + y], mode=mode),
                             lambda i, a, b: numpy.choose(i, [a, b, a + b], mode=mode), [given, layout(first), second],
                             modes=["FAST_RUN"])
    numbers = numpy.arange(2000) % 2 > 0
    check_values(lambda i, x: T.choose(i, T.addbroadcast(x, 1)), lambda i, a: a[i.astype(int), 0],
                 [numbers, values((2, 1))], modes=["FAST_RUN"])
    numbers = numpy.zeros((2, 1500), int)
    numbers[1, 1400] = 3
    with pytest.raises(ValueError, match="invalid entry in choice array: 3, there are 3 choices"):
        phintys.function([i := T.lmatrix(), x := T.matrix()], T.choose(i, x))(numbers, values((3, 1500)))


def test_diagonal_is_a_view():
    x = T.matrix()
    function = phintys.function([x], T.diagonal(x) + 1)
    array = values((3, 3))
    check_equal(function(array), array.diagonal() + 1)
    assert ExtractDiag().view_map == {0: [0]}
    assert ExtractDiag(1) != ExtractDiag()


def test_bad_graphs():
    x, vector, cube = T.matrix(), T.vector(), T.tensor3()
    cases = [(lambda: T.take(x, [0], 2), ValueError), (lambda: T.take(x, [0], 0, "other"), ValueError),
             (lambda: T.take(x, [0.5]), TypeError), (lambda: T.choose(vector, [x, x]), TypeError),
             (lambda: T.choose([0], [x], mode="other"), ValueError), (lambda: T.choose([0], []), ValueError),
             (lambda: T.choose([0], [x], out=x), ValueError), (lambda: T.nonzero(x[0, 0]), ValueError),
             (lambda: T.diagonal(vector), ValueError),
             (lambda: T.diagonal(x, 0, 0, 0), ValueError), (lambda: T.diagonal(x, 0, 0, 2), ValueError),
             (lambda: T.diag(x[0, 0]), ValueError),
             (lambda: T.fill_diagonal(vector, 1), TypeError), (lambda: T.fill_diagonal(x, vector), TypeError),
             (lambda: T.fill_diagonal(T.imatrix(), 0.5), TypeError), (lambda: SetDiagonal()(x, x), ValueError),
             (lambda: T.fill_diagonal_offset(cube, 1, 0), TypeError),
             (lambda: T.fill_diagonal_offset(x, 1, vector), TypeError),
             (lambda: T.fill_diagonal_offset(x, 1, 0.5), TypeError)]
    for build, error in cases:
        with pytest.raises(error):
            build()


def test_bad_runs():
    x, i = T.matrix(), T.lvector()
    array = values((3, 4))
    for output, positions, error, message in (
            (T.take(x, i), [12], IndexError, "index 12 is out of bounds for axis 0 with size 12"),
            (T.take(x, i, 1), [4], IndexError, "index 4 is out of bounds for axis 1 with size 4"),
            (T.choose(i, x), [0, 0, 3, 0], ValueError, "invalid entry in choice array: 3, there are 3"),
            (T.choose(i, [x, x + 1]), [-1] * 4, ValueError, "invalid entry in choice array: -1, there are 2"),
            (T.choose(i, [x, x + 1]), [0] * 3, ValueError, "cannot be broadcast"),
            (SetDiagonal()(x, x[0]), [0], ValueError, "could not broadcast a value of shape")):
        with pytest.raises(error, match=message):
            phintys.function([x, i], output, on_unused_input="ignore")(array, numpy.array(positions))
    with pytest.raises(ValueError, match="equal length"):
        phintys.function([cube := T.tensor3()], T.fill_diagonal(cube, 0))(values((3, 3, 2)))
