"""Products: dot in every pairing, dtype and layout; tensordot and outer; scaled and accumulated products; BLAS."""
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy
import pytest
from family_cases import (
    COMPLEX,
    DTYPES,
    FLOATS,
    LAYOUTS,
    MODES,
    check_equal,
    check_gradient,
    check_values,
    values,
    variable_for,
    zero_strides,
)
from watched_threads import run_watched

import phintys
import phintys.tensor as T
from phintys.ops.products.blas import (
    Dot,
    Dot22,
    Gemm,
    Gemv,
    Ger,
    dot,
    dot22,
    dot22scalar,
    gemm,
    gemv,
    ger,
    outer,
    tensordot,
)
from phintys.ops.products.blas_library import blas_threads
from phintys.ops.types.tensor_type import TensorType

# Shapes on both sides of every limit between plain loops and BLAS, and degenerate ones.
PAIRS = [((3,), (3,)), ((1,), (1,)), ((700,), (700,)), ((4, 3), (3,)), ((60, 70), (70,)), ((3,), (3, 4)),
         ((70,), (70, 60)), ((4, 3), (3, 5)), ((20, 30), (30, 40)), ((1, 30), (30, 40)), ((20, 30), (30, 1)),
         ((70, 1), (1, 60)), ((1, 700), (700, 1)), ((65, 66), (66, 67)), ((2, 600), (600,)), ((600,), (600, 2)),
         ((), ()), ((), (3, 4)), ((3,), ()), ((200, 10), (10, 200))]
EMPTY = [((0,), (0,)), ((0, 3), (3,)), ((3, 0), (0,)), ((0,), (0, 4)), ((4, 0), (0, 5)), ((0, 3), (3, 0)),
         ((3, 4), (4, 0)),
         ((0, 0), (0, 0))]
DEEP = [((2, 3, 4), (4,)), ((2, 3, 4), (4, 5)), ((3,), (2, 3, 4)), ((5, 3), (2, 3, 4)), ((2, 3, 4), (5, 4, 2)),
        ((2, 3, 0), (0, 2))]


def product(a, b):
    return numpy.asarray(numpy.dot(a, b))


@pytest.mark.parametrize("shapes", PAIRS + EMPTY + DEEP, ids=str)
def test_every_pairing(shapes):
    check_values(dot, product, [values(shapes[0]), values(shapes[1], seed=1)])


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "int16"])
def test_every_layout(dtype):
    for left, right in (((4, 3), (3, 5)), ((20, 30), (30, 40)), ((60, 70), (70,)), ((70,), (70, 60)), ((700,), (700,)),
                        ((4, 3), (3,)), ((30, 1), (1, 40))):
        a, b = values(left, dtype), values(right, dtype, seed=1)
        x, y = variable_for(a), variable_for(b)
        function = phintys.function([x, y], dot(x, y))
        for first in LAYOUTS.values():
            for second in LAYOUTS.values():
                check_equal(function(first(a), second(b)), a @ b)
        check_equal(function(zero_strides(left, dtype), b), zero_strides(left, dtype) @ b)
        check_equal(function(a, zero_strides(right, dtype)), a @ zero_strides(right, dtype))


def test_partly_repeated_memory():
    """Zero strides in one dimension only, and columns of a wider matrix."""
    row, column, wide = values(70), values(60), values((70, 200))
    x, y = variable_for(wide), variable_for(wide)
    function = phintys.function([x, y], dot(x, y))
    for matrix in (numpy.broadcast_to(row, (60, 70)), numpy.broadcast_to(column[:, None], (60, 70))):
        for other in (wide[:, 5:60], wide[:, :1], wide[:, ::3], wide.T[3:73, ::-2]):
            check_equal(function(matrix, other), matrix @ other)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(dtype):
    for left, right in (((5, 6), (6, 7)), ((6,), (6, 7)), ((5, 6), (6,)), ((6,), (6,)), ((5, 40), (40, 33))):
        check_values(dot, product, [values(left, dtype), values(right, dtype, seed=1)], modes=MODES[:1])


def test_mixed_dtypes():
    for left, right in (("int8", "float32"), ("float64", "float32"), ("int64", "int8"), ("float32", "complex64")):
        check_values(dot, product, [values((3, 4), left), values(4, right)])


@pytest.mark.parametrize("shapes", [pair for pair in PAIRS + DEEP if numpy.prod(pair[0]) < 30], ids=str)
def test_gradients(shapes):
    check_gradient(dot, [values(shapes[0]), values(shapes[1], seed=1)])


def test_gradients_keep_broadcastable_patterns():
    row, column = TensorType("float64", (True, False))(), TensorType("float64", (False, True))()
    for x, y in ((row, column), (column, row), (row, row.T)):
        by_x, by_y = phintys.grad(dot(x, y).sum(), [x, y] if y.owner is None else [x, row])
        assert by_x.type.broadcastable == x.type.broadcastable
        assert by_y.type.ndim == 2


def test_directional_derivative():
    x, y = variable_for(values((3, 4))), variable_for(values(4))
    dx, dy = variable_for(values((3, 4))), variable_for(values(4))
    derivative = phintys.gradient.Rop(dot(x, y), [x, y], [dx, dy])
    a, b, da, db = values((3, 4)), values(4, seed=1), values((3, 4), seed=2), values(4, seed=3)
    check_equal(phintys.function([x, y, dx, dy], derivative)(a, b, da, db), da @ b + a @ db)


TENSORDOTS = [((2, 3, 4), (3, 4, 5), 2), ((2, 3, 4), (4, 3, 2), [[1, 2], [1, 0]]), ((2, 3), (3, 2), [[0, 1], [1, 0]]),
              ((2, 3), (4, 5), 0), ((2, 3, 4), (5, 4), [2, 1]), ((2, 3), (3, 4), [-1, 0]), ((2, 0), (0, 3), 1)]


@pytest.mark.parametrize("left, right, axes", TENSORDOTS, ids=str)
def test_tensordot(left, right, axes):
    arrays = [values(left), values(right, seed=1)]
    check_values(lambda x, y: tensordot(x, y, axes), lambda a, b: numpy.asarray(numpy.tensordot(a, b, axes)), arrays)
    if arrays[0].size:
        check_gradient(lambda x, y: tensordot(x, y, axes), arrays)


def test_outer():
    check_values(outer, numpy.outer, [values(4), values(5)])
    check_values(outer, numpy.outer, [values((2, 3)), values((2, 2))])
    check_gradient(outer, [values(3), values(2)])


# ---- scaling and accumulation --------------------------------------------------------------------------------------
FACTORS = [(1.0, 1.0), (2.5, -0.5), (0.0, 1.0), (1.0, 0.0), (0.0, 0.0)]


def run(op, *operands):
    inputs = [variable_for(numpy.asarray(operand)) for operand in operands]
    return phintys.function(inputs, op(*inputs), mode="FAST_COMPILE")(*operands)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_accumulated_products_when_kernels_are_bound(layout):
    z, x, y, alpha, beta = T.matrix(), T.matrix(), T.matrix(), T.scalar(), T.scalar()
    function = phintys.function([z, alpha, x, y, beta], [gemm(z, alpha, x, y, beta), dot22scalar(x, y, alpha)],
                                mode="FAST_COMPILE")
    for seed in range(8):
        first, left, right = [LAYOUTS[layout](values(shape, seed=seed)) for shape in ((3, 5), (3, 4), (4, 5))]
        total, product = function(first, seed - 3, left, right, seed % 3)
        check_equal(product, (seed - 3) * (left @ right))
        check_equal(total, seed % 3 * first + (seed - 3) * (left @ right))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("alpha, beta", FACTORS)
def test_accumulated_products(alpha, beta, dtype):
    alpha, beta = numpy.asarray(alpha, dtype), numpy.asarray(beta, dtype)
    for m, k, n in ((3, 4, 5), (40, 30, 50), (1, 30, 40), (40, 30, 1), (30, 1, 40), (3, 0, 4), (0, 3, 4), (90, 80, 1)):
        for layout in LAYOUTS.values():
            z, x, y = [layout(values(shape, dtype, seed)) for seed, shape in enumerate(((m, n), (m, k), (k, n)))]
            check_equal(run(gemm, z, alpha, x, y, beta), beta * z + alpha * (x @ y))
            first, vector = layout(z[:, 0]), layout(y[:, 0])
            check_equal(run(gemv, first, alpha, x, vector, beta), beta * first + alpha * (x @ vector))
            check_equal(run(dot22scalar, x, y, alpha), alpha * (x @ y))
            check_equal(run(dot22, x, y), x @ y)
            column, row = layout(values(m, dtype)), layout(values(n, dtype, seed=4))
            check_equal(run(ger, z, alpha, column, row), z + alpha * numpy.outer(column, row))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "bool"])
def test_small_rows_by_a_vector(dtype):
    """Rows are taken by fours: each result is the one that its row has alone."""
    first, second = T.TensorType(dtype, (False, False))(), T.TensorType(dtype, (False,))()
    function = phintys.function([first, second], T.dot(first, second))
    for k in range(1, 18):
        x, y = values((11, k), dtype, 1), values(k, dtype, 2)
        alone = numpy.array([function(x[row:row + 1], y)[0] for row in range(11)])
        check_equal(alone, x @ y)
        for rows in range(1, 12):
            numpy.testing.assert_array_equal(function(x[:rows], y), alone[:rows])
            numpy.testing.assert_array_equal(function(x[:rows][::-1], y), alone[:rows][::-1])


@pytest.mark.parametrize("size", [3, 50, 150])
def test_beta_zero_ignores_old_contents(size):
    for dtype in ("float32", "float64", "complex64", "complex128"):
        x, v = values((size, size), dtype), values(size, dtype)
        nan, zero, one = numpy.full((size, size), numpy.nan, dtype), numpy.asarray(0, dtype), numpy.asarray(1, dtype)
        check_equal(run(gemm, nan, one, x, x, zero), x @ x)
        check_equal(run(gemv, nan[0].copy(), one, x, v, zero), x @ v)
        check_equal(run(gemv, nan[0].copy(), one, x.T, v, zero), x.T @ v)
        check_equal(run(gemv, nan[0].copy(), one, x[:, :0], v[:0], zero), numpy.zeros(size, dtype))


def test_accumulators_are_repeated_where_broadcastable():
    row, column = TensorType("float64", (True, False))(), TensorType("float64", (False, True))()
    x, y = variable_for(values((4, 3))), variable_for(values((3, 5)))
    a, b, r, c = values((4, 3)), values((3, 5), seed=1), values((1, 5)), values((4, 1))
    function = phintys.function([row, column, x, y], [gemm(row, 1.0, x, y, 1.0), gemm(column, 2.0, x, y, 0.5)])
    first, second = function(r, c, a, b)
    check_equal(first, r + a @ b)
    check_equal(second, 0.5 * c + 2 * a @ b)
    start = TensorType("float64", (True,))()
    vector = variable_for(values(3))
    check_equal(phintys.function([start, x, vector], gemv(start, 1.0, x, vector, 1.0))(values(1), a, b[:, 0]),
                values(1) + a @ b[:, 0])


def test_inputs_are_not_written():
    arrays = [values((4, 4)), numpy.array(2.0), values((4, 4), seed=1), values((4, 4), seed=2), numpy.array(0.5)]
    copies = [array.copy() for array in arrays]
    run(gemm, *arrays)
    for array, copy in zip(arrays, copies):
        check_equal(array, copy)


def test_equal_ops_are_equal():
    assert Dot() == Dot() and Dot22() == dot22
    assert Gemv(True) == Gemv(inplace=True) != gemv
    assert Gemm(True).destroy_map == Ger(True).destroy_map == {0: [0]}
    assert gemm.destroy_map == {}


def matrix(dtype="float64"):
    return TensorType(dtype, (False, False))()


BAD_GRAPHS = {
    "deep Dot": lambda: Dot()(TensorType("float64", (False,) * 3)(), matrix()), "one operand": lambda: Dot()(matrix()),
    "mixed": lambda: dot22(matrix("float32"), matrix()), "integers": lambda: dot22(matrix("int64"), matrix("int64")),
    "vector": lambda: dot22(matrix(), matrix()[0]), "alpha": lambda: gemm(matrix(), matrix(), matrix(), matrix(), 1.0),
    "gemv": lambda: gemv(matrix(), 1.0, matrix(), matrix()[0], 1.0),
    "ger": lambda: ger(matrix(), 1.0, matrix(), matrix()),
    "larger in place": lambda: Gemm(True)(TensorType("float64", (True, False))(), 1.0, matrix(), matrix(), 1.0),
}


@pytest.mark.parametrize("name", BAD_GRAPHS)
def test_bad_graphs(name):
    with pytest.raises(TypeError):
        BAD_GRAPHS[name]()


@pytest.mark.parametrize("axes", [3, [[0], [0, 1]], [[0]], [[5], [0]], [[0, 0], [0, 1]]], ids=str)
def test_bad_axes(axes):
    with pytest.raises(ValueError):
        tensordot(matrix(), matrix(), axes)


def test_shapes_that_do_not_match():
    for left, right in (((3,), (4,)), ((2, 3), (4,)), ((3,), (4, 3)), ((20, 30), (40, 30))):
        x, y = variable_for(values(left)), variable_for(values(right))
        function = phintys.function([x, y], dot(x, y))
        with pytest.raises(ValueError, match="not aligned"):
            function(values(left), values(right))
        check_equal(function(values(left), values((left[-1],) + right[1:])),
                    product(values(left), values((left[-1],) + right[1:])))
    with pytest.raises(ValueError, match="Shape mismatch"):
        run(gemm, values((3, 3)), numpy.array(1.0), values((3, 4)), values((4, 5)), numpy.array(1.0))
    with pytest.raises(ValueError, match="Shape mismatch"):
        run(ger, values((3, 3)), numpy.array(1.0), values(3), values(4))


def test_lengths_beyond_32_bits_are_refused():
    x, y = variable_for(values(3)), variable_for(values(3))
    huge = numpy.broadcast_to(numpy.float64(1), (2 ** 31 + 5,))
    with pytest.raises(ValueError, match="beyond 2147483647"):
        phintys.function([x, y], dot(x, y))(huge, huge)


# ---- the library ---------------------------------------------------------------------------------------------------
def test_the_number_of_threads_is_not_changed():
    before = blas_threads()
    x = matrix()
    function = phintys.function([x], dot(x, x))
    for size in (10, 100, 150, 300):
        function(values((size, size)))
    with pytest.raises(ValueError):
        function(values((100, 120)))
    assert blas_threads() == before


def test_blas_is_loaded_when_needed_without_scipy_linalg_and_beside_it():
    program = ("import sys, numpy, phintys, phintys.tensor as T\n"
               "x = T.matrix(); f = phintys.function([x], T.dot(x, x))\n"
               "f(numpy.ones((4, 4))); assert 'scipy' not in sys.modules\n"
               "a = numpy.ones((400, 400)); f(a)\n"
               "assert 'scipy.linalg.cython_blas' in sys.modules and 'scipy.linalg' not in sys.modules\n"
               "import scipy.linalg.blas; assert (f(a) == scipy.linalg.blas.dgemm(1, a, a)).all()\n"
               "import scipy.linalg.cython_blas")
    subprocess.run([sys.executable, "-c", program], check=True)


def test_threads_meet_at_the_first_product():
    """ThreadSanitizer looks at this: what one of them loads, another one already uses."""
    x = matrix()
    for _ in range(3):
        f = phintys.function([x], dot(x, x))
        start = threading.Barrier(4)

        def first(value):
            start.wait()
            return f(value)

        with ThreadPoolExecutor(4) as threads:
            for found in threads.map(first, [numpy.ones((600, 600), x.type.dtype)] * 4):
                assert (found == 600).all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no process forks")
def test_a_fork_waits_until_a_thread_has_loaded_the_library():
    """The child would wait for that thread, which it does not have."""
    program = ("import os, signal, threading, time, numpy, phintys, phintys.tensor as T\n"
               "from phintys.ops.products import blas_library\n"
               "x = T.matrix(); f = phintys.function([x], T.dot(x, x)); a = numpy.ones((400, 400))\n"
               "load, begun, forking = blas_library.load_module, threading.Event(), threading.Event()\n"
               "def load_slowly(*names):\n"
               "    begun.set(); forking.wait(); time.sleep(0.1); return load(*names)\n"
               "blas_library.load_module = load_slowly; os.register_at_fork(before=forking.set)\n"
               "thread = threading.Thread(target=f, args=(a,)); thread.start(); begun.wait()\n"
               "child = os.fork()\n"
               "if not child:\n"
               "    signal.alarm(20); os._exit(not (f(a) == 400).all())\n"
               "thread.join(); assert os.waitpid(child, 0)[1] == 0")
    subprocess.run([sys.executable, "-W", "ignore::DeprecationWarning", "-c", program], check=True)


def test_threads_ask_for_the_number_of_threads_while_one_loads_the_library(tmp_path):
    assert run_watched("ops/products/blas_threads_program.c", tmp_path, 2000, 3) == "7 threads\n"


def test_precision_of_long_sums():
    for dtype in FLOATS[1:] + COMPLEX:
        ones = numpy.ones(100003, dtype)
        check_values(dot, product, [ones, ones], modes=MODES[:1])


SHARED_SHAPES = [(300, 170, 100), (100, 170, 300), (85, 180, 333), (1000, 700, 1), (1, 700, 1000), (257, 159, 130)]


@pytest.mark.parametrize("shape", SHARED_SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("transposed", [(False, False), (True, False), (False, True)], ids=str)
def test_products_are_divided_among_workers(shape, dtype, transposed):
    rows, inner, columns = shape
    generator = numpy.random.default_rng(0)

    def operand(height, width, turned):
        value = generator.normal(size=(width, height) if turned else (height, width)).astype(dtype)
        return value.T if turned else value

    left, right = operand(rows, inner, transposed[0]), operand(inner, columns, transposed[1])
    start = operand(rows, columns, False)
    x, y, z = [T.TensorType(dtype, (False, False))(name) for name in "xyz"]
    for workers in (2, 3):
        with phintys.config.change_flags(workers=workers):
            function = phintys.function([x, y, z], [T.dot(x, y), z * 2 + 3 * T.dot(x, y)])
        product, total = function(left, right, start)
        tolerance = dict(rtol=1e-3 if dtype == "float32" else 1e-9, atol=1e-3 if dtype == "float32" else 1e-9)
        numpy.testing.assert_allclose(product, left.dot(right), **tolerance)
        numpy.testing.assert_allclose(total, start * 2 + 3 * left.dot(right), **tolerance)
