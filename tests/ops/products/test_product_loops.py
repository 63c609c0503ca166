"""Products of floats by built-in loops: every size around that of vectors, on each instruction set."""
import itertools

import numpy
import pytest
from family_cases import LAYOUTS

import phintys
import phintys.tensor as T
from phintys.ops.native.sets import sets_of_processor, usable_sets
from phintys.ops.products.blas import gemm, gemv, ger
from phintys.ops.types.tensor_type import TensorType

SETS = ["baseline", "avx2", "native"]
FLOATS = ["float64", "float32"]
LENGTHS = [1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17]
# Sizes around tiles of 4 or 8 rows and of up to 48 columns, packed panels on the stack and in scratch memory, blocks of
# rows, sums that BLAS adds up, and rows that are fetched ahead.
LARGER = [(33, 25, 70), (9, 49, 100), (100, 24, 90), (32, 64, 64), (70, 50, 300), (500, 40, 120), (2, 300, 60),
          (60, 10, 500), (300, 1, 40), (1, 300, 40), (1, 1, 500), (20, 30, 1500), (12, 700, 700),
          (9000, 30, 40)]
SEVERAL = [(a, b, c) for a, b, c in itertools.product(LENGTHS, repeat=3) if (a * 7 + b * 5 + c) % 6 == 0]


@pytest.fixture(params=SETS)
def instructions(request):
    with phintys.config.change_flags(cpu=request.param):
        yield request.param


def matrices(dtype, names="xyz"):
    return [TensorType(dtype, (False, False))(name) for name in names]


def random(shape, dtype, seed=0):
    return numpy.random.default_rng(seed).standard_normal(shape).astype(dtype)


def check(value, exact, inner):
    """Compare with a product computed in float64; errors grow with the length of the sums."""
    most = numpy.finfo(value.dtype).eps * (inner + 4) * 8
    assert value.shape == exact.shape
    numpy.testing.assert_allclose(value, exact, rtol=most, atol=most)


@pytest.mark.parametrize("dtype", FLOATS)
def test_every_size(instructions, dtype):
    x, y = matrices(dtype, "xy")
    function = phintys.function([x, y], T.dot(x, y))
    for m, n, k in SEVERAL + LARGER:
        a, b = random((m, k), dtype), random((k, n), dtype, 1)
        exact = a.astype("float64") @ b.astype("float64")
        for left in (a, numpy.asfortranarray(a)):
            for right in (b, numpy.asfortranarray(b)):
                check(function(left, right), exact, k)
                check(function(left, right), exact, k)          # bound in the second call


@pytest.mark.parametrize("dtype", FLOATS)
def test_every_layout(instructions, dtype):
    x, y = matrices(dtype, "xy")
    function = phintys.function([x, y], T.dot(x, y))
    for m, n, k in [(5, 9, 6), (17, 26, 18), (40, 30, 140)]:
        a, b = random((m, k), dtype), random((k, n), dtype, 1)
        exact = a.astype("float64") @ b.astype("float64")
        for first, second in itertools.product(LAYOUTS.values(), repeat=2):
            for _ in range(3):
                check(function(first(a), second(b)), exact, k)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("alpha, beta", [(1, 1), (2.5, 0), (-0.5, 2), (1, -1)], ids=str)
def test_accumulated(instructions, dtype, alpha, beta):
    x, y, z = matrices(dtype)
    row, column = T.TensorType(dtype, (True, False))(), T.TensorType(dtype, (False, True))()
    functions = [(phintys.function([start, x, y], gemm(start, alpha, x, y, beta)), part)
                 for start, part in ((z, numpy.s_[:, :]), (row, numpy.s_[:1, :]), (column, numpy.s_[:, :1]))]
    for m, n, k in [(1, 1, 1), (3, 5, 2), (8, 24, 8), (9, 17, 30), (13, 1, 7), (1, 13, 7), (33, 70, 65), (3, 4, 0)]:
        a, b, c = random((m, k), dtype), random((k, n), dtype, 1), random((m, n), dtype, 2)
        product = alpha * (a.astype("float64") @ b.astype("float64"))
        for function, part in functions:
            for layout in LAYOUTS.values():
                for _ in range(2):
                    check(function(layout(c[part]), a, b), product + beta * c[part].astype("float64"), k)


@pytest.mark.parametrize("dtype", FLOATS)
def test_vectors(instructions, dtype):
    x, v, w = TensorType(dtype, (False, False))(), TensorType(dtype, (False,))(), TensorType(dtype, (False,))()
    product, back = phintys.function([x, v], T.dot(x, v)), phintys.function([v, x], T.dot(v, x))
    added = phintys.function([w, x, v], gemv(w, 2, x, v, 0.5))
    inner = phintys.function([v, w], T.dot(v, w))
    for m, k in [*itertools.product([1, 2, 4, 5, 8, 13, 17, 64, 67], [1, 3, 4, 7, 8, 9, 16, 31, 65]), (300, 200)]:
        for layout in LAYOUTS.values():
            a, b, c = random((m, k), dtype), layout(random(k, dtype, 1)), layout(random(m, dtype, 2))
            exact = a.astype("float64") @ b.astype("float64")
            for value in (a, numpy.asfortranarray(a), numpy.repeat(a, 2, axis=1)[:, ::2]):
                for _ in range(2):
                    check(product(value, b), exact, k)
                    check(back(b, value.T), exact, k)
                    check(added(c, value, b), 2 * exact + 0.5 * c.astype("float64"), k)
            check(inner(b, layout(b)), b.astype("float64") @ b.astype("float64"), k)


@pytest.mark.parametrize("dtype", FLOATS)
def test_work_in_place(instructions, dtype):
    for m, n, k in [(3, 5, 4), (9, 27, 10), (40, 50, 60), (200, 300, 20)]:
        a, b, c = random((m, k), dtype), random((k, n), dtype, 1), random((m, n), dtype, 2)
        total, u, v = phintys.shared(c), random(m, dtype, 3), random(n, dtype, 4)
        x, y = matrices(dtype, "xy")
        update = phintys.function([x, y], updates={total: total - numpy.asarray(0.5, dtype) * T.dot(x, y)})
        exact = c.astype("float64") - 3 * 0.5 * (a.astype("float64") @ b.astype("float64"))
        for _ in range(3):
            update(a, b)
        check(total.get_value(), exact, 4 * k)
        outer = ger(total, 2, u, v)
        check(phintys.function([], outer)(), total.get_value() + 2 * numpy.outer(u.astype("float64"), v), 4)


@pytest.mark.parametrize("dtype", FLOATS)
def test_what_is_no_number_stays_in_its_row_and_column(instructions, dtype):
    x, y = matrices(dtype, "xy")
    function = phintys.function([x, y], T.dot(x, y))
    for m, n, k in [(3, 5, 4), (9, 27, 10), (5, 1, 9), (1, 5, 9), (33, 9, 40)]:
        a, b = random((m, k), dtype), random((k, n), dtype, 1)
        clean = function(a, b)
        for special in (numpy.nan, numpy.inf):
            spoiled = a.copy()
            spoiled[m // 2, k - 1] = special
            value = function(spoiled, b)
            assert not numpy.isfinite(value[m // 2]).any()
            others = numpy.arange(m) != m // 2
            assert numpy.array_equal(value[others], clean[others])


@pytest.mark.parametrize("dtype", FLOATS)
def test_an_element_depends_on_its_row_and_column_alone(instructions, dtype):
    """Not on where it is, on the order of memory, on what is added, or on scratch memory."""
    if not usable_sets():
        pytest.skip("BLAS computes products of this size")
    x, y, z = matrices(dtype)
    function, added = phintys.function([x, y], T.dot(x, y)), phintys.function([z, x, y], z + T.dot(x, y))
    a, b = random((40, 37), dtype), random((37, 53), dtype, 1)
    whole = function(a, b)
    assert numpy.array_equal(function(numpy.asfortranarray(a), numpy.asfortranarray(b)), whole)
    assert numpy.array_equal(added(numpy.zeros_like(whole), a, b), whole)
    for rows, columns in [(slice(3, 12), slice(5, 50)), (slice(8, 40), slice(0, 33)), (slice(0, 9), slice(20, 53))]:
        assert numpy.array_equal(function(a[rows], b[:, columns]), whole[rows, columns])


@pytest.mark.skipif("avx512" not in sets_of_processor(), reason="needs a processor with AVX-512")
@pytest.mark.parametrize("dtype", FLOATS)
def test_avx2_and_avx512_give_the_same_bits(dtype):
    x, y, z = matrices(dtype)
    functions = []
    for cpu in ("avx2", "native"):
        with phintys.config.change_flags(cpu=cpu):
            functions.append(phintys.function([x, y, z], gemm(z, 0.3, x, y, 0.7)))
    for m, n, k in [(5, 9, 6), (17, 26, 18), (1, 70, 30), (30, 1, 70), (70, 60, 80)]:
        a, b, c = random((m, k), dtype), random((k, n), dtype, 1), random((m, n), dtype, 2)
        first, second = [function(a, b, c) for function in functions]
        assert numpy.array_equal(first, second)


def test_workers_have_room_of_their_own():
    """Also when more workers have been started than the present loop uses."""
    x, y = T.dmatrices("xy")
    a, b = random((900, 130), "float64"), numpy.asfortranarray(random((130, 700), "float64", 1))
    for workers in (4, 2, 3):
        with phintys.config.change_flags(workers=workers):
            function = phintys.function([x, y], T.dot(x, y))
        for _ in range(5):
            numpy.testing.assert_allclose(function(a, b), a @ b, rtol=1e-9, atol=1e-9)
