"""Cholesky factors and triangular systems of low order by built-in loops: every order around that of their blocks and
vectors, on each instruction set, against exact arithmetic and LAPACK."""
import itertools
from fractions import Fraction

import numpy
import pytest
from family_cases import LAYOUTS

import phintys
import phintys.tensor as T
from phintys.ops.factorizations.cholesky import Cholesky
from phintys.ops.factorizations.solve import SolveTriangular
from phintys.ops.types.tensor_type import TensorType

ORDERS = [1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 23, 31, 32, 33, 50, 63, 64, 65, 100, 127, 128, 129]
COLUMNS = [1, 2, 3, 4, 7, 8, 9, 16, 17, 33, 50]


@pytest.fixture(params=["baseline", "avx2", "native"])
def instructions(request):
    with phintys.config.change_flags(cpu=request.param):
        yield request.param


@pytest.fixture(params=["float64", "float32"])
def dtype(request):
    return request.param


def positive(order, dtype, seed=0):
    x = numpy.random.default_rng(seed).standard_normal((order, order))
    return (x @ x.T + order * numpy.eye(order)).astype(dtype)


def variable(dtype, rank):
    return TensorType(dtype, (False,) * rank)()


def one_input(op, dtype, rank=2):
    x = variable(dtype, rank)
    return phintys.function([x], op(x))


def solver(op, dtype, rank):
    x, b = variable(dtype, 2), variable(dtype, rank)
    return phintys.function([x, b], op(x, b))


@pytest.mark.parametrize("lower", [True, False])
def test_factors(instructions, dtype, lower):
    """The backward error of a factor is a few units for each sum, whatever the matrix."""
    function = one_input(Cholesky(lower), dtype)
    for order in ORDERS:
        x = positive(order, dtype, order)
        for matrix in (x, numpy.asfortranarray(x)):
            factor = function(matrix)
            assert numpy.array_equal(factor, numpy.tril(factor) if lower else numpy.triu(factor))
            wide = factor.astype("float64")
            product = wide @ wide.T if lower else wide.T @ wide
            scale = numpy.sqrt(numpy.outer(numpy.diag(x), numpy.diag(x)).astype("float64"))
            assert (numpy.abs(product - x) / scale).max() < (order + 4) * numpy.finfo(dtype).eps


def test_factor_reads_one_triangle(instructions, dtype):
    for order in (3, 9, 50):
        x = positive(order, dtype)
        other = numpy.triu(numpy.full_like(x, 1e30), 1)
        for lower, matrix in ((True, numpy.tril(x) + other), (False, numpy.triu(x) + other.T)):
            function = one_input(Cholesky(lower), dtype)
            numpy.testing.assert_array_equal(function(matrix), function(x))


def test_exact_factor(instructions, dtype):
    """Factors of small integers are exact: no rounding, so any wrong term is seen."""
    for order in ORDERS[:-6]:
        factor = numpy.tril(numpy.random.default_rng(order).integers(-2, 3, (order, order)), -1)
        factor = (factor + numpy.diag(2.0 ** numpy.random.default_rng(1).integers(0, 2, order))).astype(dtype)
        x = factor @ factor.T
        numpy.testing.assert_array_equal(one_input(Cholesky(), dtype)(x), factor)
        numpy.testing.assert_array_equal(one_input(Cholesky(False), dtype)(x), factor.T)


@pytest.mark.parametrize("lower", [True, False])
def test_first_minor_that_is_not_positive(instructions, dtype, lower):
    raising, quiet = one_input(Cholesky(lower), dtype), one_input(Cholesky(lower, "nan"), dtype)
    for order in (1, 4, 5, 18, 50):
        for place in {0, order // 2, order - 1}:
            for pivot in (-1, 0):
                x = numpy.eye(order, dtype=dtype)
                x[place, place] = pivot
                x[-1, -1] = min(x[-1, -1], 0.5)
                with pytest.raises(numpy.linalg.LinAlgError, match=f"^{place + 1}-th leading minor .* not positive"):
                    raising(x)
                assert numpy.isnan(quiet(x)).all()


def test_factor_of_what_is_not_finite(instructions, dtype):
    raising, quiet = one_input(Cholesky(), dtype), one_input(Cholesky(True, "nan"), dtype)
    for value in (numpy.nan, numpy.inf, -numpy.inf):
        x = positive(13, dtype)
        x[7, 2] = value
        with pytest.raises(ValueError, match="infs or NaNs"):
            raising(x)
        assert numpy.isnan(quiet(x)).all()


def test_each_number_is_looked_at(instructions, dtype):
    """In whole vectors and in what is left of them; the largest numbers are finite."""
    factor = one_input(Cholesky(), dtype)
    largest = numpy.eye(5, dtype=dtype) * numpy.finfo(dtype).max
    assert numpy.isfinite(factor(largest)).all()
    for order in (1, 3, 4, 6):
        for place in range(order * order):
            x = positive(order, dtype)
            x.flat[place] = (numpy.nan, numpy.inf, -numpy.inf)[place % 3]
            with pytest.raises(ValueError, match="infs or NaNs"):
                factor(x)


def test_stack_of_factors(instructions, dtype):
    """Each matrix of a stack has its own scratch memory, also where one before it failed."""
    stack = numpy.stack([positive(9, dtype, seed) for seed in range(5)])
    function = one_input(Cholesky(True, "nan"), dtype, 3)
    wanted = numpy.linalg.cholesky(stack.astype("float64"))
    numpy.testing.assert_allclose(function(stack), wanted, rtol=1e-5 if dtype == "float32" else 1e-12)
    stack[2, 8, 8] = -1
    got = function(stack)
    assert numpy.isnan(got[2]).all() and not numpy.isnan(got[[0, 1, 3, 4]]).any()


def systems(order, dtype):
    """A matrix of which both triangles are well conditioned, with random numbers in it."""
    x = numpy.random.default_rng(order).uniform(-1, 1, (order, order)) / order
    return (x + numpy.diag(numpy.random.default_rng(1).uniform(0.5, 2, order))).astype(dtype)


@pytest.mark.parametrize("lower, trans, unit", [*itertools.product([True, False], [0, 1], [False, True])])
def test_solutions(instructions, dtype, lower, trans, unit):
    """Small residuals, in relation to the solution and the right sides."""
    op = SolveTriangular(lower=lower, trans=trans, unit_diagonal=unit)
    several, one = solver(op, dtype, 2), solver(op, dtype, 1)
    for order, columns in [*zip(ORDERS, itertools.cycle(COLUMNS)), *zip(itertools.repeat(18), COLUMNS)]:
        x = systems(order, dtype)
        b = numpy.random.default_rng(2).standard_normal((order, columns)).astype(dtype)
        triangle = (numpy.tril(x) if lower else numpy.triu(x)).astype("float64")
        if unit:
            numpy.fill_diagonal(triangle, 1)
        triangle = triangle.T if trans else triangle
        for matrix in (x, numpy.asfortranarray(x)):
            for solution, side in ((several(matrix, b), b), (one(matrix, b[:, 0].copy()), b[:, 0])):
                residual = numpy.abs(triangle @ solution.astype("float64") - side)
                scale = numpy.abs(triangle) @ numpy.abs(solution.astype("float64")) + numpy.abs(side)
                assert (residual / scale).max() < (order + 4) * numpy.finfo(dtype).eps


def test_layouts_of_systems(instructions, dtype):
    for rank, on_error in itertools.product((1, 2), ("raise", "nan")):
        function = solver(SolveTriangular(lower=True, on_error=on_error), dtype, rank)
        for order in (3, 10, 21):
            x = numpy.tril(systems(order, dtype))
            b = numpy.random.default_rng(3).standard_normal((order, 6)[:rank]).astype(dtype)
            wanted = function(x, b)
            for first, second in itertools.product(LAYOUTS.values(), repeat=2):
                numpy.testing.assert_allclose(function(first(x), second(b)), wanted, rtol=1e-5)


def test_against_fractions(instructions):
    """The exact solution, by rational numbers."""
    order = 11
    x, b = numpy.tril(systems(order, "float64")), numpy.random.default_rng(4).standard_normal(order)
    exact = []
    for row in range(order):
        known = sum((Fraction(x[row, k]) * exact[k] for k in range(row)), Fraction(0))
        exact.append((Fraction(b[row]) - known) / Fraction(x[row, row]))
    wanted = numpy.array([float(value) for value in exact])
    several, one = solver(SolveTriangular(lower=True), "float64", 2), solver(SolveTriangular(lower=True), "float64", 1)
    numpy.testing.assert_allclose(one(x, b), wanted, rtol=1e-14, atol=1e-15)
    numpy.testing.assert_allclose(several(x, numpy.stack([b] * 3, axis=1))[:, 2], wanted, rtol=1e-14, atol=1e-15)


def test_column_does_not_depend_on_others(instructions, dtype):
    function = solver(SolveTriangular(lower=True), dtype, 2)
    x = numpy.tril(systems(19, dtype))
    b = numpy.random.default_rng(5).standard_normal((19, 40)).astype(dtype)
    whole = function(x, b)
    for columns in (2, 3, 8, 17, 33):
        numpy.testing.assert_array_equal(function(x, b[:, :columns]), whole[:, :columns])


def test_singular_systems(instructions, dtype):
    for rank in (1, 2):
        raising = solver(SolveTriangular(lower=True), dtype, rank)
        quiet = solver(SolveTriangular(lower=True, on_error="nan"), dtype, rank)
        x, b = systems(14, dtype), numpy.ones((14, 3)[:rank], dtype)
        x[5, 5] = x[9, 9] = 0
        with pytest.raises(numpy.linalg.LinAlgError, match=r"diagonal 5\b"):
            raising(x, b)
        assert numpy.isnan(quiet(x, b)).all()
        x[5, 5] = x[9, 9] = numpy.nan
        solution = quiet(x, b)
        assert numpy.isfinite(solution[:5]).all() and numpy.isnan(solution[5:]).all()
        with pytest.raises(ValueError, match="infs or NaNs"):
            raising(x, b)


def test_solution_overwrites_right_sides(instructions):
    """In place, of a matrix that is read transposed."""
    x, b = T.dmatrix(), T.dmatrix()
    function = phintys.function([x, phintys.In(b, mutable=True)], SolveTriangular(lower=True, trans=1)(x, b))
    matrix, sides = numpy.tril(systems(10, "float64")), numpy.random.default_rng(6).standard_normal((10, 9))
    wanted = numpy.linalg.solve(matrix.T, sides)
    numpy.testing.assert_allclose(function(matrix, sides.copy()), wanted, rtol=1e-12)
