"""Matrices of few numbers, and their systems: Toeplitz's, Hankel's, circulant, companion and banded ones."""
from phintys.ops.compositions.parts import tensors
from phintys.ops.creation.allocation import arange, zeros
from phintys.ops.elementwise import elementwise_functions as elementwise
from phintys.ops.elementwise.complex_derivatives import conjugated
from phintys.ops.elementwise.scalar import as_dtype
from phintys.ops.factorizations.cholesky import cholesky
from phintys.ops.factorizations.solve import Solve, cho_solve, solve, solve_triangular
from phintys.ops.factorizations.stacks import adjoint, columns, matrices, rows, transposed
from phintys.ops.fourier.functions import fft, ifft
from phintys.ops.indexing.getitem import getitem
from phintys.ops.indexing.inc_subtensor import set_subtensor
from phintys.ops.linalg.triangle import tril, triu
from phintys.ops.shape.join import concatenate
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import complex_dtypes, upcast


def _vectors(name, *vectors):
    found = tensors(vectors)
    for vector in found:
        if vector.type.ndim != 1:
            raise ValueError(f"{name}: vectors are needed, got {vector} of type {vector.type}")
    dtype = upcast(*[vector.type.dtype for vector in found])
    return [as_dtype(vector, dtype) for vector in found]


def _column_and_row(name, c, r, default):
    """Both vectors in one dtype; without a row, what ``default`` makes of the column."""
    c, = _vectors(name, c)
    return _vectors(name, c, default(c) if r is None else r)


def toeplitz(c, r=None):
    """A matrix with constant diagonals, like ``scipy.linalg.toeplitz``.

    Parameters
    ----------
    c : vector
        The first column.
    r : vector, optional
        The first row, without regard to its first element; by default the conjugate of the column.

    Raises
    ------
    ValueError
        For what is not a vector.

    Examples
    --------
    >>> T.linalg.toeplitz([1, 2, 3], [1, 4]).eval()
    array([[1, 4],
           [2, 1],
           [3, 2]])
    """
    c, r = _column_and_row("toeplitz", c, r, conjugated)
    values = concatenate([c[::-1], r[1:]])
    height, width = shape_i(c, 0), shape_i(r, 0)
    return getitem(values, rows(arange(width)) - columns(arange(height)) + (height - 1))


def hankel(c, r=None):
    """A matrix with constant diagonals from the upper right to the lower left, like ``scipy.linalg.hankel``.

    Parameters
    ----------
    c : vector
        The first column.
    r : vector, optional
        The last row, without regard to its first element; by default zeros.

    Raises
    ------
    ValueError
        For what is not a vector.

    Examples
    --------
    >>> T.linalg.hankel([1, 2], [9, 3, 4]).eval()
    array([[1, 2, 3],
           [2, 3, 4]])
    """
    c, r = _column_and_row("hankel", c, r, lambda column: column.zeros_like())
    return getitem(concatenate([c, r[1:]]), columns(arange(shape_i(c, 0))) + rows(arange(shape_i(r, 0))))


def circulant(c):
    """A square matrix whose columns are turned, like ``scipy.linalg.circulant``.

    Parameters
    ----------
    c : vector
        The first column.

    Raises
    ------
    ValueError
        For what is not a vector.

    Examples
    --------
    >>> T.linalg.circulant([1, 2, 3]).eval()
    array([[1, 3, 2],
           [2, 1, 3],
           [3, 2, 1]])
    """
    c, = _vectors("circulant", c)
    order = shape_i(c, 0)
    return getitem(c, (columns(arange(order)) - rows(arange(order))) % elementwise.maximum(order, 1))


def companion(a):
    """The matrix whose eigenvalues are the roots of a polynomial, like ``scipy.linalg.companion``.

    Parameters
    ----------
    a : vector
        At least two coefficients, that of the highest power first.

    Raises
    ------
    ValueError
        For what is not a vector.

    Examples
    --------
    >>> T.linalg.companion([1.0, -3.0, 2.0]).eval()
    array([[ 3., -2.],
           [ 1.,  0.]])
    """
    a, = _vectors("companion", a)
    first = -a[1:] / a[0]
    order = shape_i(first, 0)
    below = as_dtype(elementwise.eq(columns(arange(order)), rows(arange(order)) + 1), first.type.dtype)
    return set_subtensor(below[0], first)


def solve_toeplitz(c_or_cr, b):
    """Solve a system whose matrix is `toeplitz`, like ``scipy.linalg.solve_toeplitz``; by factors of the whole matrix.

    Parameters
    ----------
    c_or_cr : vector, or pair of vectors
        The first column, or the first column and row.
    b : vector or matrix

    Examples
    --------
    >>> T.linalg.solve_toeplitz([2.0, 1.0], [3.0, 3.0]).eval()
    array([1., 1.])
    """
    return solve(toeplitz(*c_or_cr) if isinstance(c_or_cr, tuple) else toeplitz(c_or_cr), b)


def solve_circulant(c, b):
    """Solve a system whose matrix is `circulant`, by Fourier transforms, like ``scipy.linalg.solve_circulant``.

    Parameters
    ----------
    c : vector
        The first column.
    b : vector or matrix

    Returns
    -------
    TensorVariable
        Infinite or NaN if the matrix is singular.

    Raises
    ------
    ValueError
        If ``c`` is not a vector.

    Examples
    --------
    >>> T.linalg.solve_circulant([2.0, 1.0], [3.0, 3.0]).eval()
    array([1., 1.])
    """
    c, = _vectors("solve_circulant", c)
    b = as_tensor_variable(b)
    spectrum = fft(c)
    found = ifft(fft(b, axis=0) / (columns(spectrum) if b.type.ndim == 2 else spectrum), axis=0)
    real = b.type.dtype not in complex_dtypes and c.type.dtype not in complex_dtypes
    return found.real if real else found


def _from_bands(lower, upper, ab):
    """The matrix whose diagonals are the rows of ``ab``, the highest one first."""
    ab = as_tensor_variable(ab)
    if ab.type.ndim != 2:
        raise ValueError(f"solve_banded: the bands must be a matrix, got {ab} of type {ab.type}")
    order = shape_i(ab, 1)
    matrix = zeros([order, order], dtype=ab.type.dtype)
    for number, offset in enumerate(range(upper, -lower - 1, -1)):
        length = elementwise.maximum(order - abs(offset), 0)
        place = arange(length) + max(-offset, 0), arange(length) + max(offset, 0)
        matrix = set_subtensor(matrix[place], ab[number][place[1]])
    return matrix


def solve_banded(l_and_u, ab, b):
    """Solve a system with few diagonals, like ``scipy.linalg.solve_banded``; by factors of the whole matrix.

    Parameters
    ----------
    l_and_u : pair of int
        The numbers of diagonals below and above the main one.
    ab : matrix
        A row for each diagonal, the highest first; an element is in its column.
    b : vector or matrix

    Raises
    ------
    ValueError
        If ``ab`` is not a matrix.

    Examples
    --------
    >>> T.linalg.solve_banded((1, 0), [[2.0, 2.0], [1.0, 0.0]], [2.0, 3.0]).eval()
    array([1., 1.])
    """
    return solve(_from_bands(*l_and_u, ab), b)


def solveh_banded(ab, b, lower=False):
    """Solve a hermitian, positive definite system with few diagonals, like ``scipy.linalg.solveh_banded``.

    Parameters
    ----------
    ab : matrix
        The main diagonal and those on one side of it, whose number must be known.
    b : vector or matrix
    lower : bool
        Whether the diagonals are those below.

    Raises
    ------
    TypeError
        If the number of diagonals is not known.

    Examples
    --------
    >>> T.linalg.solveh_banded(T.as_tensor([[0.0, 1.0], [2.0, 2.0]]), [3.0, 3.0]).eval().round(9)
    array([1., 1.])
    """
    ab = as_tensor_variable(ab)
    count = ab.type.shape[0]
    if count is None:
        raise TypeError(f"solveh_banded: the number of rows of {ab} must be known; see T.specify_shape")
    half = _from_bands(count - 1, 0, ab) if lower else _from_bands(0, count - 1, ab)
    order = shape_i(half, 0)
    off = half * as_dtype(elementwise.neq(columns(arange(order)), rows(arange(order))), half.type.dtype)
    return cho_solve((cholesky(half + conjugated(off.T)), True), b)


# SciPy's names of what `assume_a` may say.
ASSUMPTIONS = {name: names[0] for names in (
    ("general", "gen"), ("banded",), ("diagonal",), ("tridiagonal",), ("upper triangular",), ("lower triangular",),
    ("symmetric", "sym"), ("hermitian", "her"), ("positive definite", "pos")) for name in names}


def solve_assuming(A, b, assume_a, lower, turned, on_error):
    """The solution of the system that ``scipy.linalg.solve`` solves: it reads a part of A, by the assumption."""
    if assume_a not in ASSUMPTIONS:
        raise ValueError(f"solve: assume_a must be one of {[*ASSUMPTIONS]}, got {assume_a!r}")
    if turned and A.type.dtype in complex_dtypes:
        raise NotImplementedError("solve: transposed=True is for real matrices, as in SciPy; transpose a")
    A, = matrices("solve", A)
    kind = ASSUMPTIONS[assume_a]
    if kind in ("symmetric", "hermitian", "positive definite"):
        part, rest = (tril(A), tril(A, -1)) if lower else (triu(A), triu(A, 1))
        if kind == "positive definite":
            return cho_solve((cholesky(part if lower else adjoint(part)), True), b, on_error)
        if kind == "hermitian" and A.type.dtype in complex_dtypes:              # whose diagonal counts as real
            return Solve(on_error=on_error)(rest + adjoint(rest) + (part - rest + adjoint(part - rest)) / 2, b)
        return Solve(on_error=on_error)(part + transposed(rest), b)
    if kind in ("upper triangular", "lower triangular"):
        return solve_triangular(A, b, trans=int(turned), lower=kind.startswith("lower"), on_error=on_error)
    if kind in ("diagonal", "tridiagonal"):
        width = int(kind == "tridiagonal")
        A = tril(triu(A, -width), width)
    return Solve(on_error=on_error)(transposed(A) if turned else A, b)
