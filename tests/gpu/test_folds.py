"""Reductions, positions of extrema, and products of a matrix and a vector: all ways to walk, in layouts of all kinds,
against NumPy."""
from itertools import combinations

import numpy
import pytest
from support_gpu import at_device, machine_code

import phintys
import phintys.tensor as T
from phintys.gpu.kernels.reduction_kernel import set_most_number
from phintys.gpu.kernels.reduction_source import arg_source, reduction_source, vector_product_source
from phintys.ops.elementwise.scalar_code import ScalarCode

random = numpy.random.RandomState(1)
TOLERANCES = {"float16": 5e-3, "float32": 1e-5, "float64": 1e-12}

# name → (the shape of an array of which this is a view, the view)
LAYOUTS = {
    "in C order": (lambda shape: shape, lambda x: x),
    "transposed": (lambda shape: shape[::-1], lambda x: x.transpose()),
    "that begins anywhere": (lambda shape: (*shape[:-1], shape[-1] + 1), lambda x: x[..., 1:]),
    "backwards": (lambda shape: (*shape[:-1], 2 * shape[-1]), lambda x: x[..., ::-2]),
}
# Of two ranks, which are parts of the sources.
SHAPES = [(1, 1), (33, 1), (1, 4097), (40000, 1), (5, 1000), (1000, 10), (64, 330), (1500, 64), (7, 8, 9, 1),
          (4, 3, 64, 1), (900, 1, 4, 1), (3, 5, 2, 8)]
PAIRS = [((300, 64), (1, 64)), ((300, 64), (300, 1)), ((33, 1001), (1, 1001)), ((33, 1000), (1, 1000)),
         ((7, 12, 64), (7, 1, 64)), ((7, 12, 64), (1, 12, 1)), ((1000, 5), (1, 5)), ((40, 900), (40, 900)),
         ((700, 1), (700, 1)), ((0, 4), (1, 4)), ((4, 0), (4, 1))]


def numbers(shape, dtype):
    x = random.uniform(-2, 2, shape)
    return (x * 20 if numpy.dtype(dtype).kind == "i" else x).astype(dtype)


def on_device(value, known_lengths=True):
    pattern = tuple([known_lengths and length == 1 for length in value.shape])
    return phintys.gpu.host_from_gpu(phintys.shared(value, target="cuda", broadcastable=pattern))


def check(device, results, expected, tolerance):
    """The results of a function, in two orders of threads."""
    function = phintys.function([], results)
    try:
        for order in ("shuffled", "descending"):
            device.set_order(order)
            for found, right, result in zip(function(), expected, results, strict=True):
                numpy.testing.assert_allclose(numpy.asarray(found).astype("float64"), right, tolerance, 100 * tolerance,
                                              err_msg=str(result.owner.op))
    finally:
        device.set_order("ascending")


@pytest.mark.parametrize("layout, dtype", [*[(layout, "float32") for layout in LAYOUTS], ("in C order", "int8"),
                                           ("that begins anywhere", "float16"), ("transposed", "float64")])
def test_all_axes(device, layout, dtype):
    base_shape, view = LAYOUTS[layout]
    known_lengths = (layout, dtype) == ("in C order", "float32")    # dimensions of length 1 are parts of the sources
    for shape in SHAPES:
        base = numbers(base_shape(shape), dtype)
        x = view(base)
        exact = x.astype("float64" if x.dtype.kind == "f" else "int64")
        with at_device():
            variable = view(on_device(base, known_lengths))
            results, expected = [], []
            for count in range(1, len(shape) + 1):
                for axes in combinations(range(len(shape)), count):
                    results.append(T.sum(variable, axes))
                    expected.append(exact.sum(axes))
            if len(shape) == 2:
                results += [T.argmax(variable), *[T.argmax(variable, axis) for axis in range(2)]]
                expected += [x.argmax(), *[x.argmax(axis) for axis in range(2)]]
            check(device, results, expected, TOLERANCES.get(dtype, 0))


@pytest.mark.parametrize("first, second", PAIRS, ids=str)
def test_two_operands(device, first, second):
    """Of which one may be repeated along some axes, or begin elsewhere."""
    x, y = numbers(first, "float32"), numbers(second, "float32")
    exact_x, exact_y = x.astype("float64"), y.astype("float64")
    with at_device():
        a, b = on_device(x), on_device(y)
        results, expected = [], []
        for count in range(1, len(first) + 1):
            for axes in combinations(range(len(first)), count):
                results += [T.sum(a * b, axes), T.sum(a[..., 1:] * a[..., :-1], axes)]
                expected += [(exact_x * exact_y).sum(axes), (exact_x[..., 1:] * exact_x[..., :-1]).sum(axes)]
        check(device, results, expected, 1e-5)


@pytest.mark.parametrize("m, k", [(1, 1), (1, 700), (700, 1), (33, 64), (64, 33), (3, 20000), (4000, 12), (30, 1001),
                                  (1001, 32), (0, 5), (5, 0), (260, 516)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_matrix_by_vector(device, m, k, dtype):
    a, v, w, z = [numbers(shape, dtype) for shape in ((m, k), (k,), (m,), (m,))]
    with at_device():
        matrix, right, left, start = [on_device(value) for value in (a, v, w, z)]
        results = [T.dot(matrix, right), T.dot(matrix.T, left), T.dot(left, matrix), T.dot(right, right),
                   T.dot(matrix[::-1], right[::-1])]
        expected = [a @ v, a.T @ w, w @ a, v @ v, a[::-1] @ v[::-1]]
        if dtype != "int32":
            results += [start * 2 + 3 * T.dot(matrix, right), T.dot(matrix, right.dimshuffle(0, "x")),
                        T.dot(left.dimshuffle("x", 0), matrix)]
            expected += [z * 2 + 3 * (a @ v), (a @ v)[:, None], (w @ a)[None]]
        check(device, results, expected, TOLERANCES.get(dtype, 0) * 10)


def test_sums_of_a_view_are_those_of_the_array(device):
    """The order of additions is that of memory, so the same numbers give the same bits."""
    x = numbers((300, 70), "float32")
    with at_device():
        variable = on_device(x)
        first, second = phintys.function([], [variable.sum(), variable.T[::1].sum()])()
    assert numpy.asarray(first) == numpy.asarray(second)


def test_rows_that_are_counted_in_64_bits(device):
    """More than 2**31 elements or results, in small."""
    before = set_most_number(7)
    try:
        test_all_axes(device, "that begins anywhere", "float32")
        test_two_operands(device, (7, 12, 64), (7, 1, 64))
        test_matrix_by_vector(device, 260, 516, "float64")
    finally:
        set_most_number(before)


def total(dtype, patterns=((False, False),), accumulator=None):
    """The source of a sum along rows, of a product if there are two operands."""
    steps = [(numpy.multiply, (0, 1), (dtype,) * 3)] if len(patterns) == 2 else []
    accumulator = numpy.dtype(accumulator or dtype)
    return reduction_source(ScalarCode([dtype] * len(patterns), (), steps, [len(patterns) - 1 + len(steps)]),
                            patterns, (1,), numpy.add, accumulator, accumulator, [False] * len(patterns),
                            numpy.zeros((), accumulator), False)


@pytest.mark.parametrize("source, vectors", [
    (total("float32"), "v4.u32"), (total("float64"), "v4.u32"), (total("float16", accumulator="float32"), "v4.u32"),
    (total("int8", accumulator="int64"), "v2.u32"), (total("float32", [(False, False)] * 2), "v4.u32"),
    (arg_source("float32", 2, "argmax"), "v4.u32"), (arg_source("float64", 2, "argmin"), "v4.u32"),
    (vector_product_source("float32"), "v4.u32"), (vector_product_source("float64"), "v4.u32")],
    ids=["float32", "float64", "float16", "int8", "product", "argmax", "argmin of float64", "matrix by vector",
         "matrix by vector of float64"])
def test_the_code_has_vectors_and_no_local_memory(source, vectors):
    for name in ("rows", "columns"):
        code = machine_code(source.text(name))
        assert ".local" not in code
        body = code.split(f".entry {name}(")[1].split(".entry")[0]
        assert body.count(f"ld.global.{vectors}") >= 5          # four in flight, and one in the loop for the rest
