"""Elements in another order, number or rank: roll, repeat, tile, compress, squeeze, moveaxis, broadcast_to ..."""
import numpy
import pytest
from family_cases import (
    DTYPES,
    INTEGERS,
    LAYOUTS,
    MODES,
    check_equal,
    check_gradient,
    check_r_op,
    check_values,
    values,
    variable_for,
    zero_strides,
)

import phintys
import phintys.tensor as T
from phintys.ops.creation.grids import mgrid, ogrid
from phintys.ops.indexing.permutation import inverse_permutation, permute_row_elements
from phintys.ops.rearranging.rearranging import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    broadcast_arrays,
    broadcast_to,
    moveaxis,
    roll,
    squeeze,
)
from phintys.ops.rearranging.repeat import RepeatOp, SumRepeats, Tile, compress, repeat, tile
from phintys.ops.shape.contiguous import CpuContiguous, cpu_contiguous
from phintys.ops.shape.shape import addbroadcast
from phintys.ops.types.tensor_type import TensorType

A, B = (2, 3, 4), (3, 1)
COUNTS = numpy.array([2, 0, 1], "int8")
ORDERS = numpy.array([[1, 2, 0], [0, 2, 1]])

# name: how to build it, what NumPy does, shape of the operand
CASES = {
    "roll": (lambda x: roll(x, 2, 1), lambda a: numpy.roll(a, 2, 1), A),
    "roll back": (lambda x: roll(x, -7, -1), lambda a: numpy.roll(a, -7, -1), A),
    "roll nowhere": (lambda x: roll(x, 0, 0), lambda a: a, A),
    "roll flat": (lambda x: roll(x, 5), lambda a: numpy.roll(a, 5), A),
    "roll by x.shape": (lambda x: roll(x, x.shape[0], 2), lambda a: numpy.roll(a, 2, 2), A),
    "roll axes": (lambda x: roll(x, (1, -1), (0, 2)), lambda a: numpy.roll(a, (1, -1), (0, 2)), A),
    "repeat": (lambda x: repeat(x, 3, 1), lambda a: numpy.repeat(a, 3, 1), A),
    "repeat flat": (lambda x: repeat(x, 2), lambda a: numpy.repeat(a, 2), A),
    "repeat never": (lambda x: repeat(x, 0, 0), lambda a: numpy.repeat(a, 0, 0), A),
    "repeat [n]": (lambda x: repeat(x, [12], -1), lambda a: numpy.repeat(a, 12, -1), A),
    "repeat by x.shape": (lambda x: repeat(x, x.shape[0], 2), lambda a: numpy.repeat(a, 2, 2), A),
    "repeat each": (lambda x: repeat(x, COUNTS, -2), lambda a: numpy.repeat(a, COUNTS, -2), A),
    "repeat each element": (lambda x: repeat(x, numpy.arange(24) % 3), lambda a: numpy.repeat(a, numpy.arange(24) % 3),
                            A),
    "repeat each by one": (lambda x: RepeatOp(1)(x, numpy.array([2])), lambda a: numpy.repeat(a, 2, 1), A),
    "RepeatOp": (lambda x: RepeatOp(0)(x, 2), lambda a: numpy.repeat(a, 2, 0), A),
    "sum of repeats": (lambda x: SumRepeats(1)(x, COUNTS, 3),
                       lambda a: numpy.stack([a[:, :2].sum(1), 0 * a[:, 0], a[:, 2]], 1), A),
    "tile": (lambda x: tile(x, (2, 3, 1)), lambda a: numpy.tile(a, (2, 3, 1)), A),
    "tile last": (lambda x: tile(x, 2), lambda a: numpy.tile(a, 2), A),
    "tile more": (lambda x: tile(x, [2, 1, 1, 2]), lambda a: numpy.tile(a, [2, 1, 1, 2]), A),
    "tile ndim": (lambda x: tile(x, (2,), ndim=4), lambda a: numpy.tile(a, (1, 1, 1, 2)), A),
    "tile symbolic": (lambda x: tile(x, [x.shape[0], 2]), lambda a: numpy.tile(a, [2, 2]), A),
    "tile vector": (lambda x: tile(x, x.shape[:2], ndim=3), lambda a: numpy.tile(a, (1, 2, 3)), A),
    "tile scalar": (lambda x: tile(x, 3), lambda a: numpy.tile(a, 3), ()),
    "compress": (lambda x: compress([0, 1, 1], x, 1), lambda a: numpy.compress([0, 1, 1], a, 1), A),
    "compress flat": (lambda x: compress([0, 1, 0, 3], x), lambda a: numpy.compress([0, 1, 0, 3], a), A),
    "squeeze": (lambda x: squeeze(addbroadcast(x, 1)), lambda a: a[:, 0], B),
    "squeeze axis": (lambda x: squeeze(addbroadcast(x, 1), axis=-1), lambda a: a[:, 0], B),
    "moveaxis": (lambda x: moveaxis(x, 0, -1), lambda a: numpy.moveaxis(a, 0, -1), A),
    "moveaxis two": (lambda x: moveaxis(x, (0, 1), (2, 0)), lambda a: numpy.moveaxis(a, (0, 1), (2, 0)), A),
    "atleast_1d": (atleast_1d, numpy.atleast_1d, ()),
    "atleast_2d": (atleast_2d, numpy.atleast_2d, (3,)),
    "atleast_3d": (atleast_3d, numpy.atleast_3d, B),
    "atleast_3d nothing": (atleast_3d, numpy.atleast_3d, A),
    "broadcast_to": (lambda x: broadcast_to(x, (2, 3, 4)), lambda a: numpy.broadcast_to(a, (2, 3, 4)), B),
    "broadcast_arrays": (lambda x: broadcast_arrays(addbroadcast(x, 1), numpy.zeros((1, 5)))[0],
                         lambda a: numpy.broadcast_to(a, (3, 5)), B),
    "contiguous": (lambda x: cpu_contiguous(x.T), lambda a: a.T, A),
    "permuted rows": (lambda x: permute_row_elements(x, ORDERS), lambda a: numpy.take_along_axis(a, ORDERS, 1), (2, 3)),
    "permuted back": (lambda x: permute_row_elements(x, ORDERS[0], inverse=True),
                      lambda a: a[:, numpy.argsort(ORDERS[0])], (2, 3)),
}
WITHOUT_R_OP = ("permuted rows", "permuted back", "compress", "compress flat")


@pytest.mark.parametrize("name", CASES)
def test_values_and_inferred_shapes(name):
    build, expected, shape = CASES[name]
    for layout in LAYOUTS.values():
        check_values(build, expected, [layout(values(shape))])
    check_values(build, expected, [zero_strides(shape)], modes=MODES[:1])


@pytest.mark.parametrize("name", CASES)
def test_gradients(name):
    build, _, shape = CASES[name]
    if name != "repeat never":
        check_gradient(build, [values(shape)])
    if name not in WITHOUT_R_OP:
        check_r_op(build, [values(shape)])


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(dtype):
    for name in ("roll", "repeat", "repeat each", "tile", "compress"):
        build, expected, shape = CASES[name]
        for layout in (LAYOUTS["contiguous"], LAYOUTS["strided"]):
            check_values(build, expected, [layout(values(shape, dtype))], modes=MODES[:1])


def test_empty_arrays():
    empty = values((0, 3))
    check_values(lambda x: roll(x, 1, 0), lambda a: a, [empty])
    check_values(lambda x: repeat(x, 2, 1), lambda a: numpy.repeat(a, 2, 1), [empty])
    check_values(lambda x: repeat(x, COUNTS, 1), lambda a: numpy.repeat(a, COUNTS, 1), [empty])
    check_values(lambda x: tile(x, (2, 2)), lambda a: numpy.tile(a, (2, 2)), [empty])
    check_values(lambda x: repeat(x, [], 0), lambda a: numpy.repeat(a, [], 0), [empty])
    check_values(lambda x: repeat(x, []), lambda a: numpy.repeat(a, []), [empty])
    check_values(lambda x: compress([1, 0, 1], x, 1), lambda a: a[:, [0, 2]], [empty])


def test_small_elements_repeated_by_small_numbers():
    for dtype in ("int8", "int16", "float32", "float64", "complex128"):
        array = values((40, 30), dtype)
        for axis, times in ((0, 3), (None, 3), (1, 2), (1, 3), (1, 4), (1, 5), (1, 20)):
            check_values(lambda x: repeat(x, times, axis), lambda a: numpy.repeat(a, times, axis), [array],
                         modes=MODES[:1])


def test_repetitions_that_no_array_can_have():
    x, counts, count = T.dvector(), T.lvector(), T.lscalar()
    each = phintys.function([x, counts], T.repeat(x, counts, axis=0))
    assert each([1.0, 2.0], [0, 2]).tolist() == [2.0, 2.0] and each([], numpy.zeros(0, "int64")).shape == (0,)
    large = 2 ** 63 - 1
    for numbers in ([2 ** 62 + 1], [2 ** 62] * 3 + [2 ** 62 + 4], [large, large, 1, 5], [0, 0, 0, large]):
        with pytest.raises(ValueError, match="the repetitions of 4 slices sum to more than an array can have"):
            each([1.0, 2.0, 3.0, 4.0], numbers)
    with pytest.raises((ValueError, MemoryError), match="more than an array can have|no memory for an array"):
        phintys.function([x, count], T.repeat(x, count, axis=0))([1.0, 2.0, 3.0, 4.0], 2 ** 62 + 1)
    with pytest.raises(ValueError, match="a number of repetitions is negative"):
        each([1.0, 2.0], [1, -1])


def test_repeats_that_are_inputs():
    x, counts, times = variable_for(values((2, 3))), TensorType("int32", (False,))(), TensorType("uint8", ())()
    outputs = [repeat(x, counts, 1), repeat(x, counts, 1).shape, tile(x, [times, 2]), repeat(x, times)]
    array = values((2, 3))
    for mode in MODES:
        function = phintys.function([x, counts, times], outputs, mode=mode)
        each, shape, tiled, flat = function(array, COUNTS, 3)
        check_equal(each, numpy.repeat(array, COUNTS, 1))
        assert tuple(shape) == each.shape
        check_equal(tiled, numpy.tile(array, (3, 2)))
        check_equal(flat, numpy.repeat(array, 3))
        one, shape, *_ = function(array, [2], 0)              # one number applies to all
        check_equal(one, numpy.repeat(array, 2, 1))
        assert tuple(shape) == one.shape
        with pytest.raises(ValueError, match="3 slices to repeat, but 2"):
            function(array, [1, 2], 1)
        with pytest.raises(ValueError, match="negative"):
            function(array, [1, -2, 2], 1)


def test_a_repetition_by_one_number_needs_no_repeat_op():
    x = variable_for(values((2, 3)))
    function = phintys.function([x], [repeat(x, 2, 0), tile(x, 2)])
    assert {type(node.op).__name__ for node in function.maker.fgraph.apply_nodes} <= {
        "Alloc", "Reshape", "DimShuffle", "MakeVector", "Shape_i", "Elemwise"}


def test_types():
    row = TensorType("float64", (True, False))()
    known = TensorType("float64", (False, False), shape=(2, 3))()
    assert repeat(row, 2, axis=1).type.broadcastable == (True, False)
    assert RepeatOp(0)(row, 1).type.broadcastable == (True, False)
    assert RepeatOp(0)(row, 2).type.broadcastable == (False, False)
    assert roll(known, 1, 1).type.ndim == 2
    assert squeeze(row).type.broadcastable == (False,)
    assert [tensor.type.ndim for tensor in atleast_2d(row, 3)] == [2, 2]
    assert CpuContiguous() == CpuContiguous()


def test_the_tile_op_warns():
    x = variable_for(values((2, 3)))
    with pytest.warns(UserWarning, match="deprecated"):
        output = Tile(2)(x, numpy.array([2, 1]))
    check_equal(phintys.function([x], output)(values((2, 3))), numpy.tile(values((2, 3)), (2, 1)))
    check_equal(phintys.function([x], output.shape)(values((2, 3))), numpy.array([4, 3]))


def test_the_tile_op_for_every_layout():
    for layout in LAYOUTS.values():
        for counts in ([2, 3, 2], [0, 1, 1], [4]):
            with pytest.warns(UserWarning, match="deprecated"):
                x = variable_for(values((2, 3)))
                function = phintys.function([x], Tile(3)(x, numpy.array(counts)))
            array = layout(values((2, 3)))
            check_equal(function(array), numpy.tile(array[None], counts))
    with pytest.warns(UserWarning, match="deprecated"):
        function = phintys.function([x], Tile(2)(x, numpy.array([1, -1])))
    with pytest.raises(ValueError, match="negative"):
        function(values((2, 3)))


@pytest.mark.filterwarnings("ignore:Tile op")
@pytest.mark.parametrize("ndim, counts", [(1, [2]), (33, [2]), (2, 2), (2, [.5, 1])])
def test_bad_tile_ops(ndim, counts):
    with pytest.raises(ValueError, match="Tile: "):
        Tile(ndim)(matrix(), numpy.array(counts))


def test_permutations_of_every_dtype_and_layout():
    x, y = variable_for(values((2, 3))), TensorType("int64", (True, False))()
    for dtype in INTEGERS:
        for layout in LAYOUTS.values():
            for inverse in (False, True):
                orders = layout(ORDERS.astype(dtype))
                wanted = numpy.argsort(ORDERS, 1) if inverse else ORDERS
                check_values(lambda x: permute_row_elements(x, orders, inverse),
                             lambda a: numpy.take_along_axis(a, wanted, 1), [layout(values((2, 3)))], modes=MODES[:1])
    function = phintys.function([x, y], [permute_row_elements(x, y), permute_row_elements(x, y, 1)])
    there, back = function(values((2, 3)), ORDERS[:1])
    check_equal(there, values((2, 3))[:, ORDERS[0]])
    check_equal(back, values((2, 3))[:, numpy.argsort(ORDERS[0])])
    assert function(values((0, 3)), ORDERS[:1])[0].shape == (0, 3)
    there, back = function(values((1, 3)), [[0, 0, -1]])                # no permutation
    check_equal(there, values((1, 3))[:, [0, 0, 2]])
    check_equal(back, values((1, 3))[:, [1, 1, 2]] * [1, 0, 1])


def test_methods():
    array = values((2, 3))
    check_values(lambda x: x.repeat(2, 0), lambda a: a.repeat(2, 0), [array], modes=MODES[:1])
    check_values(lambda x: x.compress([0, 1], 0), lambda a: a.compress([0, 1], 0), [array], modes=MODES[:1])
    check_values(lambda x: x.cumsum(1), lambda a: a.cumsum(1), [array], modes=MODES[:1])
    check_values(lambda x: x.cumprod(), lambda a: a.cumprod(), [array], modes=MODES[:1])
    check_values(lambda x: x.ptp(0), lambda a: numpy.ptp(a, 0), [array], modes=MODES[:1])
    check_values(lambda x: addbroadcast(x, 0).squeeze(), lambda a: a[0], [array[:1]], modes=MODES[:1])
    check_values(lambda x: x.flatten().searchsorted(0.5), lambda a: numpy.asarray(a.ravel().searchsorted(0.5)),
                 [numpy.sort(array, axis=None).reshape(2, 3)], modes=MODES[:1])


def test_grids():
    for grid, numeric in ((mgrid, numpy.mgrid), (ogrid, numpy.ogrid)):
        for got, wanted in zip(grid[0:2, 1:10:3, 4:0:-1], numeric[0:2, 1:10:3, 4:0:-1]):
            check_equal(got.eval(), wanted)
        check_equal(grid[2:5][0].eval(), numpy.arange(2, 5))
    stop = TensorType("int64", ())()
    got = phintys.function([stop], mgrid[0:stop, 0:1:.5])(3)
    for one, other in zip(got, numpy.mgrid[0:3, 0:1:.5]):
        numpy.testing.assert_allclose(one, other)
    with pytest.raises(NotImplementedError, match="complex"):
        mgrid[0:1:5j, 0:2]


def test_any_number_but_0_permutes_back():
    for inverse in (1, 2, 0.5, True):
        check_equal(permute_row_elements(numpy.arange(3), [2, 0, 1], inverse).eval(), numpy.array([1, 2, 0]))


def test_inverse_permutations():
    orders = TensorType("int32", (False, False))()
    got = phintys.function([orders], inverse_permutation(orders))(ORDERS.astype("int32"))
    check_equal(got, numpy.argsort(ORDERS, axis=1).astype("int32"))


def matrix():
    return variable_for(values((2, 3)))


BAD_GRAPHS = {
    "roll axis": (lambda: roll(matrix(), 1, 2), IndexError),
    "roll shifts": (lambda: roll(matrix(), (1, 2, 3), (0, 1)), ValueError),
    "repeat axis": (lambda: repeat(matrix(), 2, 2), ValueError),
    "repeat op axis": (lambda: RepeatOp(-3)(matrix(), 2), ValueError),
    "repeat by floats": (lambda: repeat(matrix(), 1.5, 0), TypeError),
    "repeat by uint64": (lambda: repeat(matrix(), TensorType("uint64", ())(), 0), TypeError),
    "repeat by a matrix": (lambda: repeat(matrix(), [[1, 2]], 0), ValueError),
    "tile ndim": (lambda: tile(matrix(), 2, ndim=1), ValueError),
    "tile too many": (lambda: tile(matrix(), (1, 2, 3), ndim=2), ValueError),
    "tile by a float": (lambda: tile(matrix(), 1.5), ValueError),
    "tile by floats": (lambda: tile(matrix(), [1.5, 2]), ValueError),
    "tile by a vector": (lambda: tile(matrix(), TensorType("int64", (False,))()), ValueError),
    "tile by a matrix": (lambda: tile(matrix(), [[1]] * numpy.ones((1, 2), int)), ValueError),
    "compress axis": (lambda: compress([1], matrix(), 2), ValueError),
    "squeeze": (lambda: squeeze(matrix(), 0), ValueError),
    "squeeze axis": (lambda: squeeze(matrix(), 2), IndexError),
    "moveaxis": (lambda: moveaxis(matrix(), 2, 0), IndexError),
    "moveaxis twice": (lambda: moveaxis(matrix(), (0, 0), (0, 1)), ValueError),
    "broadcast_to": (lambda: broadcast_to(matrix(), (3,)), TypeError),
    "permutation": (lambda: permute_row_elements(matrix(), [0.5]), TypeError),
    "permuted number": (lambda: permute_row_elements(2.0, 0), TypeError),
    "permutation by more than one answer": (lambda: permute_row_elements(matrix(), [0, 1], T.lvector()), TypeError),
}


@pytest.mark.parametrize("name", BAD_GRAPHS)
def test_bad_graphs(name):
    build, error = BAD_GRAPHS[name]
    with pytest.raises(error):
        build()


@pytest.mark.parametrize("name, function", [("repeat", repeat), ("tile", tile)])
def test_negative_numbers_of_repetitions(name, function):
    """The error names the function that was called, at run time at the latest."""
    for number in (-1, numpy.int8(-2), T.constant(-1)):
        with pytest.raises(ValueError, match=f"^{name}: a number of repetitions is negative: -[12]"):
            function(matrix(), number)
    times = T.lscalar()
    for reps in (times, [1, times]) if function is tile else (times, T.stack([times, 1, 1, 1, 1, 1])):
        x = matrix()
        f = phintys.function([x, times], function(x, reps))
        with pytest.raises(ValueError, match=f"^{name}: a number of repetitions is negative"):
            f(values((2, 3)), -1)


BAD_RUNS = {
    "repeat each": (lambda x: repeat(x, COUNTS, 0), ValueError, "2 slices to repeat, but 3"),
    "repeat negative": (lambda x: repeat(x, x.shape[0] - 3, 0), ValueError, "negative"),
    "sum of repeats": (lambda x: SumRepeats(0)(x, numpy.array([2, 2]), 2), ValueError, "sum to 4"),
    "tile": (lambda x: tile(x, numpy.zeros(3) + x.shape.sum() < 0, ndim=2), AssertionError, "more than ndim = 2"),
    "compress": (lambda x: compress([0, 0, 1], x, 0), IndexError, "out of "),
    "broadcast_to": (lambda x: broadcast_to(x, (4, 3)), ValueError, r"\(2, 3\) into \(4, 3\)"),
    "permutation": (lambda x: permute_row_elements(x, numpy.zeros((3, 3), int)), ValueError, "mismatch"),
    "permuted beyond": (lambda x: permute_row_elements(x, [0, 3, 1]), IndexError,
                        "index 3 is out of bounds for axis 1 with size 3"),
}


@pytest.mark.parametrize("name", BAD_RUNS)
def test_bad_runs(name):
    build, error, message = BAD_RUNS[name]
    x = matrix()
    function = phintys.function([x], build(x))
    for _ in range(2):
        with pytest.raises(error, match=message):
            function(values((2, 3)))
