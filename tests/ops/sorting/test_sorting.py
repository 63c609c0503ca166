"""Sorted values and the order that sorts them, against NumPy."""
import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys import function
from phintys.ops.sorting.sorting import ArgSortOp, SortOp

CUBE = numpy.random.RandomState(0).permutation(24).reshape(2, 3, 4) * 1.5
AXES = [0, 1, 2, -1, -2, -3, None]


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("dtype", ["float64", "float16", "int8", "uint32", "bool", "complex64"])
def test_values(axis, dtype):
    values = CUBE.astype(dtype)
    x = T.tensor(dtype, (False,) * 3)
    ordered, order = function([x], [T.sort(x, axis), T.argsort(x, axis, kind="stable")])(values)
    numpy.testing.assert_array_equal(ordered, numpy.sort(values, axis))
    numpy.testing.assert_array_equal(order, numpy.argsort(values, axis, kind="stable"))
    assert ordered.dtype == dtype and order.dtype == "int64"


@pytest.mark.parametrize("dtype", ["float64", "float16", "int8", "uint64", "bool", "complex64"])
@pytest.mark.parametrize("axis", [1, -1, None])
def test_descending(axis, dtype):
    """Equal elements keep their order, the least integer is no exception, and NaN stays last."""
    limits = {"int8": (-128, 127), "uint64": (0, 2 ** 64 - 1)}.get(dtype, (0, 1))
    values = numpy.array([[limits[0], 3, limits[1], 3, 0], [0, 1, 0, 1, 0]], dtype)
    if numpy.dtype(dtype).kind in "fc":
        values[0, 1] = numpy.nan
    x = T.tensor(dtype, (False,) * 2)
    ordered, order, plain = function([x], [T.sort(x, axis, descending=True), T.argsort(x, axis, "stable", None, True),
                                           T.argsort(x, axis, descending=True)])(values)
    lines = values.reshape(1, -1) if axis is None else values
    for line, found, positions, others in zip(lines, *[part.reshape(lines.shape) for part in (ordered, order, plain)]):
        wanted = sorted(range(len(line)), key=lambda place: (line[place] != line[place], -line[place].real.item()))
        assert positions.tolist() == wanted
        numpy.testing.assert_array_equal(found, line[wanted])
        numpy.testing.assert_array_equal(line[others], line[wanted])
    assert ordered.dtype == dtype


def test_slopes_of_descending_order():
    x = T.dvector("x")
    weights = numpy.array([1.0, 2, 3, 4])
    slope = phintys.grad((T.sort(x, descending=True) * weights).sum(), x)
    assert function([x], slope)([3.0, 9.0, 1.0, 2.0]).tolist() == [2, 1, 4, 3]


def test_methods_and_odd_values():
    x = T.dvector("x")
    f = function([x], [x.sort(), x.argsort(), x.sort(kind="mergesort")[::-1], x.sort(axis=0).shape])
    values = numpy.array([numpy.nan, 3.0, -numpy.inf, 3.0, -0.0])[::-1]
    ordered, order, reverse, shape = f(values)
    numpy.testing.assert_array_equal(ordered, numpy.sort(values))
    numpy.testing.assert_array_equal(values[order], numpy.sort(values))
    numpy.testing.assert_array_equal(reverse, numpy.sort(values)[::-1])
    assert shape == [5] and [part.tolist() for part in f([])] == [[], [], [], [0]]


def test_symbolic_axes():
    x, axis = T.tensor("float64", (False,) * 3, "x"), T.scalar("axis")
    weights = numpy.arange(24.0).reshape(2, 3, 4)
    f = function([x, axis], [T.sort(x, axis), T.grad((T.sort(x, axis) * weights).sum(), x)])
    for number in AXES[:-1]:
        ordered, gradient = f(CUBE, number)
        numpy.testing.assert_array_equal(ordered, numpy.sort(CUBE, number))
        back = numpy.argsort(numpy.argsort(CUBE, number), number)
        numpy.testing.assert_array_equal(gradient, numpy.take_along_axis(weights, back, number))
    for wrong in (3, -4, 0.5):
        with pytest.raises(ValueError, match="axis"):
            f(CUBE, wrong)


@pytest.mark.parametrize("axis", AXES)
def test_gradients_and_directions(axis):
    T.verify_grad(lambda x: T.sort(x, axis), [CUBE], rng=numpy.random.RandomState(1))
    x, direction = T.tensor("float64", (False,) * 3), T.tensor("float64", (False,) * 3)
    moved = function([x, direction], T.Rop(T.sort(x, axis), x, direction))(CUBE, CUBE ** 2)
    numpy.testing.assert_array_equal(moved, numpy.sort(CUBE, axis) ** 2)
    assert not function([x], T.grad((T.argsort(x, axis) * 1.5).sum(), x))(CUBE).any()


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("length", [2, 3, 5, 8, 13, 16, 20, 24, 31, 32, 33])
def test_short_rows(dtype, length):
    """Of several rows that are sorted side by side, each is sorted by itself."""
    random = numpy.random.default_rng(length)
    x = T.tensor(dtype, (False,) * 3)
    f = function([x], [T.sort(x), T.argsort(x), T.sort(x, kind="stable"), T.argsort(x, kind="stable")])
    for shape in ((3, 17, length), (1, 8, length), (2, 2, length), (0, 20, length)):
        values = random.integers(-9, 10, shape).astype(dtype)
        if values.dtype.kind == "f":
            values[random.uniform(size=shape) < 0.1] = numpy.nan
            values[random.uniform(size=shape) < 0.1] = -numpy.inf
        wide = numpy.zeros((*shape[:2], 2 * length), dtype)
        wide[..., ::2] = values
        for array in (values, wide[..., ::2], values[::-1], values[:, ::-1, ::-1], values.swapaxes(0, 1)):
            ordered, order, *stable = f(array)
            numpy.testing.assert_array_equal(ordered, numpy.sort(array))
            numpy.testing.assert_array_equal(numpy.take_along_axis(array, order, -1), numpy.sort(array))
            numpy.testing.assert_array_equal(stable[0], numpy.sort(array))
            numpy.testing.assert_array_equal(stable[1], numpy.argsort(array, kind="stable"))
    big = random.normal(size=(3000, length)).astype(dtype)
    y = T.tensor(dtype, (False, False))
    in_place = function([y], T.sort(y + y))
    numpy.testing.assert_array_equal(in_place(big), numpy.sort(big + big))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint16", "float16"])
@pytest.mark.parametrize("length", [0, 1, 95, 96, 511, 512, 9001])
def test_narrow_numbers(dtype, length):
    """Many equal ones, and all that there are; NumPy's stable algorithms are the reference, as its quicksort leaves
    float16 in the wrong order on some processors."""
    x = T.tensor(dtype, (False,) * 2)
    f = function([x], [T.sort(x, 0), T.sort(x, 1), T.sort(x, None)])
    few = numpy.random.RandomState(length).randint(0, 5, (length, 3)).astype(dtype)
    bits = numpy.random.RandomState(length).bytes(3 * length * few.itemsize)
    for values in (few, few / few.dtype.type(3), numpy.frombuffer(bits, "uint8").reshape(-1, few.itemsize)):
        if values.dtype == "uint8" and dtype not in ("bool", "uint8"):
            values = numpy.ascontiguousarray(values).view(dtype)
        values = values.astype(dtype).reshape(length, 3)
        for axis, ordered in zip((0, 1, None), f(values)):
            numpy.testing.assert_array_equal(ordered, numpy.sort(values, axis, kind="stable"))


def test_shapes_need_no_sorting():
    x = T.dmatrix()
    f = function([x], [T.sort(x).shape, T.argsort(x, None).shape])
    assert not any(isinstance(node.op, (SortOp, ArgSortOp)) for node in f.maker.fgraph.toposort())


def test_ops_compare_by_their_algorithm():
    assert SortOp("mergesort", []) == SortOp("mergesort") != SortOp("quicksort")
    assert hash(ArgSortOp("heapsort")) == hash(ArgSortOp("heapsort", [])) and "heapsort" in str(ArgSortOp("heapsort"))


@pytest.mark.parametrize("call, message", [
    (lambda x: T.sort(x, 2), "axis 2 is out of bounds for .* with 2 dimensions"),
    (lambda x: T.argsort(x, 0.5), "must be an integer or None, got 0.5"),
    (lambda x: T.sort(x[0, 0]), "no dimension along which"), (lambda x: T.sort(x, x), "the axis must be a number"),
    (lambda x: T.sort(x, kind="bubble"), "kind must be one of .* got 'bubble'"),
    (lambda x: T.sort(x, order=["a"]), r"order=\['a'\] refers to fields of records")])
def test_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(T.dmatrix())


def test_names():
    from phintys.tensor.sort import argsort, sort
    assert T.sort is sort and T.argsort is argsort and phintys.tensor.sort is sort
