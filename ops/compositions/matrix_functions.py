"""Functions of square matrices, and factors that SciPy has besides NumPy's: roots, logarithms, polar factors, bases.

Values come from Schur's form or singular values; derivatives are those of the function, and not of the steps. All but
`orth`, `null_space` and `cholesky_update` take stacks of matrices.
"""
import numpy

from phintys.graph.gradients.forward_gradient import Rop
from phintys.graph.gradients.gradient import Lop
from phintys.ops.creation.allocation import arange
from phintys.ops.elementwise import elementwise_functions as elementwise
from phintys.ops.elementwise.scalar import as_dtype
from phintys.ops.factorizations.exponential import along as along_exponential
from phintys.ops.factorizations.exponential import expm
from phintys.ops.factorizations.orthogonal import svd
from phintys.ops.factorizations.schur import schur, solve_sylvester
from phintys.ops.factorizations.solve import solve, solve_triangular
from phintys.ops.factorizations.stacks import (
    adjoint,
    columns,
    identity_for,
    matrices,
    missing,
    product,
    rows,
    transposed,
)
from phintys.ops.graphs.op_from_graph import OpFromGraph
from phintys.ops.indexing.getitem import getitem
from phintys.ops.loops.building import Body, State, make_loop
from phintys.ops.reduction.careduce import MaxOrLowest
from phintys.ops.reduction.reduction import all as all_true
from phintys.ops.reduction.reduction import max as largest
from phintys.ops.reduction.reduction import reduce_by
from phintys.ops.reduction.reduction import sum as sum_over
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.shape.join import concatenate
from phintys.ops.shape.shape import shape_i, unbroadcast
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.ops.types.dtypes import complex_dtypes

# Nodes and weights of Gauss and Legendre on [0, 1]: a Padé approximant of log(1 + x) in partial fractions.
NODES, WEIGHTS = [part / 2 for part in numpy.polynomial.legendre.leggauss(8)]
NODES = NODES + 0.5
NEAR = 0.25                             # the largest norm of x for which eight nodes give all digits
MOST_ROOTS = 100


def _function(name, x, value, backward, forward):
    """``value(x)`` with derivatives of its own, as functions of the matrix, the result and a direction."""
    inner = x.type()

    def lop(inputs, outputs, gradients):
        return [backward(inputs[0], outputs[0], gradients[0])]

    def rop(inputs, points):
        return [forward(inputs[0], _function(name, inputs[0], value, backward, forward), points[0])]
    return OpFromGraph([inner], [value(inner)], inline=True, lop_overrides=lop, rop_overrides=rop, name=name,
                       connection_pattern=[[True]])(x)


def _by_schur(x, of_triangle):
    """A function of a matrix by that of a complex triangle. Of real matrices the result is NaN where it is not real."""
    triangle, vectors = schur(x, "complex")
    found = product(vectors, of_triangle(triangle), adjoint(vectors))
    if x.type.dtype in complex_dtypes:
        return found
    axes = [found.type.ndim - 2, found.type.ndim - 1]
    rest, size = [reduce_by(MaxOrLowest, abs(part), axes, True) for part in (found.imag, found)]
    limit = numpy.finfo(x.type.dtype).eps * 1e3
    return elementwise.switch(rest <= limit * size, found.real, constant(numpy.nan, dtype=x.type.dtype))


# ---- roots and logarithms --------------------------------------------------------------------------------------------
def _root_of_triangle(triangle):
    """Björck's and Hammarling's method: column by column, each by a triangular system of those before it."""
    rank = triangle.type.ndim
    number, before = constant(0, dtype="int64").type(), triangle.type()
    order = shape_i(triangle, rank - 1)
    positions = arange(order)
    chosen = elementwise.eq(positions, number)
    column = sum_over(elementwise.switch(chosen, triangle, constant(0, dtype=triangle.type.dtype)), axis=rank - 1)
    corner = sum_over(elementwise.switch(chosen, column, constant(0, dtype=triangle.type.dtype)), axis=rank - 2,
                      keepdims=True)
    root = elementwise.sqrt(corner)
    diagonal = sum_over(before * identity_for(before), axis=rank - 1) + root
    diagonal = elementwise.switch(elementwise.eq(diagonal, 0), constant(1, dtype=triangle.type.dtype), diagonal)
    eye = identity_for(before)
    system = before * (1 - eye) + columns(diagonal) * eye
    right = elementwise.switch(positions < number, column, constant(0, dtype=triangle.type.dtype))
    found = getitem(solve_triangular(system, columns(right), lower=False), (..., 0))
    found = elementwise.switch(chosen, root, found)
    after = before + columns(found) * rows(as_dtype(chosen, triangle.type.dtype))
    start = unbroadcast(triangle.zeros_like(), *range(rank))
    body = Body([(number, positions)], carried=[(before, unbroadcast(after, *range(rank)), start)])
    return make_loop(order, body, "square root", lifts=False).carried[0]


def _any_shape(x):
    return unbroadcast(x, *range(x.type.ndim))


def sqrtm(A):
    """The principal square root of a square matrix, like ``scipy.linalg.sqrtm``.

    Parameters
    ----------
    A : square matrix, or stack of them

    Returns
    -------
    TensorVariable
        Of the dtype of ``A``; NaN where a real matrix has no real root: cast it to complex numbers before.

    Raises
    ------
    ValueError, numpy.linalg.LinAlgError
        At run time, for infinities, NaN, and matrices that are not square.

    Examples
    --------
    >>> T.linalg.sqrtm(T.as_tensor([[4.0, 5.0], [0.0, 9.0]])).eval().round(9)
    array([[2., 1.],
           [0., 3.]])
    """
    A, = matrices("sqrtm", A)
    return _function("sqrtm", _any_shape(A), lambda x: _any_shape(_by_schur(x, _root_of_triangle)),
                     lambda x, root, g: solve_sylvester(adjoint(root), adjoint(root), g),
                     lambda x, root, point: solve_sylvester(root, root, point))


def _logarithm_of_triangle(triangle):
    """Square roots until the matrix is near the identity, then a sum of fractions."""
    rank = triangle.type.ndim
    axes = [rank - 2, rank - 1]

    def is_near(x):
        norm = reduce_by(MaxOrLowest, sum_over(abs(x - identity_for(x)), axis=rank - 2, keepdims=True), axes, False)
        return all_true(~(norm > NEAR))                         # also NaN, which comes no nearer

    before, count = _any_shape(triangle).type(), constant(0, dtype="int64").type()
    after = _any_shape(_root_of_triangle(before))
    body = Body(carried=[(before, after, _any_shape(triangle)), (count, count + 1, constant(0, dtype="int64"))],
                condition=is_near(after))
    steps = elementwise.switch(is_near(triangle), constant(0, dtype="int64"), constant(MOST_ROOTS, dtype="int64"))
    near, roots = make_loop(steps, body, "logarithm", lifts=False).carried
    eye = identity_for(near)
    x = near - eye
    real = near.type.dtype.replace("complex128", "float64").replace("complex64", "float32")
    parts = [constant(weight, dtype=real) * solve_triangular(eye + constant(node, dtype=real) * x, x, lower=False)
             for node, weight in zip(NODES, WEIGHTS)]
    return sum(parts[1:], parts[0]) * as_dtype(elementwise.exp2(as_dtype(roots, real)), near.type.dtype)


def _block(function, x, direction):
    """The derivative of a function of matrices: a block of its value at a matrix of twice the order."""
    order = shape_i(x, x.type.ndim - 1)
    upper = concatenate([x, direction], axis=-1)
    lower = concatenate([x.zeros_like(), x], axis=-1)
    return getitem(function(concatenate([upper, lower], axis=-2)), (..., slice(None, order), slice(order, None)))


def logm(A):
    """The principal logarithm of a square matrix, like ``scipy.linalg.logm``.

    Parameters
    ----------
    A : square matrix, or stack of them
        Without eigenvalues 0.

    Returns
    -------
    TensorVariable
        Of the dtype of ``A``; NaN where a real matrix has no real logarithm: cast it to complex numbers before.

    Raises
    ------
    ValueError, numpy.linalg.LinAlgError
        See `sqrtm`.

    Examples
    --------
    >>> T.linalg.logm(T.slinalg.expm(T.as_tensor([[1.0, 2.0], [0.0, 3.0]]))).eval().round(9)
    array([[1., 2.],
           [0., 3.]])
    """
    A, = matrices("logm", A)
    return _function("logm", _any_shape(A), lambda x: _any_shape(_by_schur(x, _logarithm_of_triangle)),
                     lambda x, found, g: _block(logm, adjoint(x), g), lambda x, found, point: _block(logm, x, point))


def expm_frechet(A, E):
    """The exponential of a square matrix, and its derivative along a direction, like ``scipy.linalg.expm_frechet``.

    Parameters
    ----------
    A, E : square matrix, or stack of them

    Returns
    -------
    (TensorVariable, TensorVariable)

    Examples
    --------
    >>> T.linalg.expm_frechet(T.as_tensor([[0.0]]), T.as_tensor([[3.0]]))[1].eval()
    array([[3.]])
    """
    A, E = matrices("expm_frechet", A, E)
    return expm(A), along_exponential(A, E)


# ---- factors ---------------------------------------------------------------------------------------------------------
def polar(a, side="right"):
    """The polar factors of a matrix, like ``scipy.linalg.polar``.

    Parameters
    ----------
    a : matrix, or stack of matrices
    side : {"right", "left"}
        Whether ``a`` is ``u.p`` or ``p.u``.

    Returns
    -------
    u, p : TensorVariable
        ``u`` has orthonormal columns or rows, ``p`` is hermitian and not negative. Derivatives need a matrix of full
        rank, with no more columns than rows (left: rows than columns); equal singular values do not matter.

    Raises
    ------
    ValueError
        For another side.

    Examples
    --------
    >>> u, p = T.linalg.polar(T.as_tensor([[0.0, -2.0], [3.0, 0.0]]))
    >>> p.eval().round(9)
    array([[3., 0.],
           [0., 2.]])
    """
    if side not in ("right", "left"):
        raise ValueError(f"polar: side must be 'right' or 'left', got {side!r}")
    a, = matrices("polar", a)
    if side == "left":
        u, p = polar(adjoint(a))
        return adjoint(u), p
    a = _any_shape(a)
    inner = a.type()
    left, values, right = svd(inner, full_matrices=False)
    p = product(adjoint(right) * rows(as_dtype(values, inner.type.dtype)), right)
    return tuple(OpFromGraph([inner], [_any_shape(product(left, right)), _any_shape(p)], inline=True, name="polar",
                             connection_pattern=[[True, True]],
                             lop_overrides=lambda inputs, outputs, gradients: _polar_backward(inputs[0], gradients),
                             rop_overrides=lambda inputs, points: Rop(_smooth_polar(inputs[0]), inputs[0], points[0])
                             )(a))


def _smooth_polar(a):
    """The factors by a square root: as formulas that have derivatives where singular values are equal."""
    p = sqrtm(product(adjoint(a), a))
    return [adjoint(solve(p, adjoint(a))), p]


def _polar_backward(a, gradients):
    # Copies: one factor is computed from the other, whose known gradient would hide what comes from the first.
    factors = [elementwise.tensor_copy(factor) for factor in _smooth_polar(a)]
    known = [(factor, gradient) for factor, gradient in zip(factors, gradients) if not missing(gradient)]
    return [Lop([factor for factor, _ in known], a, [gradient for _, gradient in known])]


def _rank(name, a, rcond):
    """Singular vectors of a matrix on both sides, and its rank."""
    a, = matrices(name, a)
    if a.type.ndim != 2:
        raise ValueError(f"{name}: a matrix is needed, got {a} of type {a.type}")
    left, values, right = svd(a, full_matrices=name == "null_space")
    longest = elementwise.maximum(shape_i(a, 0), shape_i(a, 1))
    share = numpy.finfo(values.type.dtype).eps * longest if rcond is None else rcond
    top = largest(concatenate([values, constant(numpy.zeros(1, values.type.dtype))]))
    return left, right, sum_over(values > as_dtype(as_tensor_variable(share) * top, values.type.dtype))


def orth(A, rcond=None):
    """An orthonormal basis of the columns of a matrix, like ``scipy.linalg.orth``.

    Parameters
    ----------
    A : matrix
    rcond : float, optional
        Singular values below this share of the largest one count as 0; by default the rounding error.

    Raises
    ------
    ValueError
        For what is not a matrix.

    Examples
    --------
    >>> abs(T.linalg.orth(T.as_tensor([[2.0, 4.0], [0.0, 0.0]]))).eval()
    array([[1.],
           [0.]])
    """
    left, _, rank = _rank("orth", A, rcond)
    return left[:, :rank]


def null_space(A, rcond=None):
    """An orthonormal basis of the vectors that a matrix maps to 0, like ``scipy.linalg.null_space``.

    Parameters
    ----------
    A, rcond
        See `orth`.

    Raises
    ------
    ValueError
        For what is not a matrix.

    Examples
    --------
    >>> abs(T.linalg.null_space(T.as_tensor([[1.0, 0.0]]))).eval()
    array([[0.],
           [1.]])
    """
    _, right, rank = _rank("null_space", A, rcond)
    return adjoint(right[rank:])


def cholesky_update(L, x, sign=1):
    """The Cholesky factor of ``L.L' + sign x.x'`` from that of ``L.L'``, in a number of steps of the order's square.

    Parameters
    ----------
    L : lower triangular matrix
    x : vector
    sign : {1, -1}

    Returns
    -------
    TensorVariable
        NaN if the matrix is not positive definite.

    Raises
    ------
    ValueError
        For another sign, or complex numbers.

    Examples
    --------
    >>> T.linalg.cholesky_update(T.as_tensor([[3.0]]), T.as_tensor([4.0])).eval()
    array([[5.]])
    """
    if sign not in (1, -1):
        raise ValueError(f"cholesky_update: sign must be 1 or -1, got {sign!r}")
    L, = matrices("cholesky_update", L)
    x = as_dtype(as_tensor_variable(x), L.type.dtype)
    if L.type.dtype in complex_dtypes or L.type.ndim != 2 or x.type.ndim != 1:
        raise ValueError(f"cholesky_update: a real matrix and a vector are needed, got {L.type} and {x.type}")
    number, column, rest = constant(0, dtype="int64").type(), _any_shape(x).type(), _any_shape(x).type()
    positions = arange(shape_i(L, 0))
    corner, part = column[number], rest[number]
    root = elementwise.sqrt(corner ** 2 + sign * part ** 2)
    cosine, sine = root / corner, part / corner
    after = elementwise.switch(positions > number, (column + sign * sine * rest) / cosine,
                               elementwise.switch(elementwise.eq(positions, number), root, 0))
    moved = elementwise.switch(positions > number, cosine * rest - sine * after, 0)
    start = dimshuffle(_any_shape(x), "x", 0)
    body = Body([(number, positions), (column, _any_shape(transposed(L)))], [State((-1,), [rest], start, moved)],
                [after])
    return transposed(make_loop(shape_i(L, 0), body, "cholesky_update", lifts=False).stacked[0])


