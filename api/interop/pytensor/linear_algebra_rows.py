"""Products, factorizations and solutions of linear systems, and their application to stacks (Blockwise)."""
import numpy

from phintys import tensor as T
from phintys.interop.pytensor import tridiagonal_rows
from phintys.interop.pytensor.batches import batched, spread
from phintys.interop.pytensor.op_table import name_of
from phintys.interop.pytensor.translation import applied, row
from phintys.ops.factorizations.cholesky import Cholesky
from phintys.ops.factorizations.eigen import Eigh, EighGrad, EigvalshGrad, eig, eigh, eigvalsh
from phintys.ops.factorizations.exponential import expm
from phintys.ops.factorizations.functions import block_diag, lu, tensorinv, tensorsolve
from phintys.ops.factorizations.inverse import det, lu_factor, matrix_inverse, pinv, slogdet
from phintys.ops.factorizations.least_squares import LeastSquares
from phintys.ops.factorizations.orthogonal import scipy_qr, svd
from phintys.ops.factorizations.permutation import PivotsToPermutation
from phintys.ops.factorizations.schur import GeneralizedSchur, Schur, SolveSylvester
from phintys.ops.factorizations.solve import Solve, cho_solve, solve_triangular
from phintys.ops.products.products import kron


# ---- products ------------------------------------------------------------------------------------------------------
@row("tensor.Dot", "tensor.Dot22")
def _dot(op, node, a, b):
    return T.dot(a, b) if a.type.ndim <= 2 and b.type.ndim <= 2 else T.matmul(a, b)


@row("tensor.Dot22Scalar")
def _scaled_dot(op, node, a, b, factor):
    return factor * T.dot(a, b)


@row("tensor.Gemv", "tensor.Gemm")
def _added_dot(op, node, y, factor, a, b, kept):
    return kept * y + factor * T.dot(a, b)


@row("tensor.Ger")
def _added_outer(op, node, a, factor, x, y):
    return a + factor * T.outer(x, y)


@row("tensor.BatchedDot")
def _batched_dot(op, node, a, b):
    return T.batched_dot(a, b)


# ---- matrices, and stacks of them ----------------------------------------------------------------------------------
@row("tensor.Cholesky")
def _cholesky(op, node, a):
    return Cholesky(lower=op.lower, on_error="nan")(a)


@row("tensor.SolveTriangular")
def _solve_triangular(op, node, a, b):
    return _solved(op, b, lambda b: solve_triangular(a, b, lower=op.lower, unit_diagonal=op.unit_diagonal,
                                                             on_error="nan"))


@row("tensor.CholeskySolve")
def _cho_solve(op, node, a, b):
    return _solved(op, b, lambda b: cho_solve((a, op.lower), b, on_error="nan"))


@row("tensor.Solve")
def _solve(op, node, a, b):
    if op.assume_a == "pos":
        factor = Cholesky(lower=op.lower, on_error="nan")(a)
        return _solved(op, b, lambda b: cho_solve((factor, op.lower), b, on_error="nan"))
    if op.assume_a in ("sym", "her"):
        a = _from_triangle(a, op.lower, op.assume_a == "her")
    elif op.assume_a == "diagonal":
        return _solved(op, b, lambda b: b / T.diagonal(a, axis1=-2, axis2=-1)[..., None])
    elif op.assume_a == "tridiagonal":
        return _tridiagonal_solution(a, b, node.outputs[0].type.dtype)
    elif op.assume_a not in ("gen", "banded"):
        return None
    return _solved(op, b, lambda b: Solve(on_error="nan")(a, b))


def _tridiagonal_solution(a, b, dtype):
    """NaN if a pivot is 0, as for other matrices that have no solution."""
    if dtype.startswith("complex"):
        return None
    factors = tridiagonal_rows.factored(*[T.cast(T.diagonal(a, offset), dtype) for offset in (-1, 0, 1)])
    found = tridiagonal_rows.solved(*factors, T.cast(b, dtype))
    return T.switch(T.any(T.eq(factors[1], 0)), numpy.nan, found)


def _from_triangle(a, lower, hermitian):
    """A symmetric matrix from one of its triangles; the other one is not read."""
    axes = [*range(a.type.ndim - 2), a.type.ndim - 1, a.type.ndim - 2]
    half, rest = (T.tril(a), T.tril(a, -1)) if lower else (T.triu(a), T.triu(a, 1))
    other = rest.dimshuffle(*axes)
    return half + (T.conj(other) if hermitian else other)


def _solved(op, b, solve):
    """The solution; for a stack of systems, right-hand sides that are vectors become matrices of one column."""
    if op.b_ndim == 2 or b.type.ndim == 1:
        return solve(b)
    return solve(b.dimshuffle(*range(b.type.ndim), "x"))[..., 0]


@row("tensor.LU")
def _lu(op, node, a):
    if not op.p_indices:
        return list(lu(a, permute_l=op.permute_l))
    packed, pivots = lu_factor(a)
    lower = T.tril(packed, -1) + T.identity_like(packed)
    return [T.inverse_permutation(_order(pivots)), lower, T.triu(packed)]


@row("tensor.LUFactor")
def _lu_factor(op, node, a):
    """As in PyTensor, the factors of a singular matrix are NaN."""
    packed, pivots = lu_factor(a)
    return [T.switch(T.any(T.eq(T.diagonal(packed), 0)), numpy.nan, packed), pivots]


@row("tensor.PivotToPermutations")
def _permutation(op, node, pivots):
    return _order(pivots) if op.inverse else T.inverse_permutation(_order(pivots))


def _order(pivots):
    """The rows of a matrix, in the order that exchanges of rows gave them."""
    return PivotsToPermutation()(pivots + 1)


@row("tensor.Lstsq")
def _least_squares(op, node, a, b, ratio):
    return LeastSquares()(a, b, ratio) if b.type.ndim == 2 else None


@row("tensor.TensorInv")
def _tensor_inverse(op, node, a):
    return tensorinv(a, ind=op.ind)


@row("tensor.TensorSolve")
def _tensor_solution(op, node, a, b):
    return tensorsolve(a, b, axes=op.axes)


@row("tensor.MatrixInverse")
def _inverse(op, node, a):
    return matrix_inverse(a)


@row("tensor.MatrixPinv")
def _pinv(op, node, a):
    return pinv(a)


@row("tensor.Det")
def _det(op, node, a):
    return det(a)


@row("tensor.SLogDet")
def _slogdet(op, node, a):
    return list(slogdet(a))


@row("tensor.Expm")
def _expm(op, node, a):
    return expm(a)


@row("tensor.Eigh")
def _eigh(op, node, a, *others):
    lower = op.lower if "lower" in op.__props__ else op.UPLO == "L"
    if not others:
        return Eigh("UL"[lower], getattr(op, "driver", "evd"))(a, return_list=True)
    return None if node.outputs[1].type.dtype.startswith("complex") else _generalized_eigh(a, *others, lower)


def _generalized_eigh(a, b, lower):
    """Eigenvalues w and eigenvectors v of ``a v = w b v``; they have ``v.T b v = 1``. As LAPACK, by a factor of b."""
    factor = Cholesky(lower=lower)(b)
    factor = factor if lower else factor.T
    half = solve_triangular(factor, _from_triangle(a, lower, False), lower=True)
    values, vectors = eigh(solve_triangular(factor, half.T, lower=True))
    return [values, solve_triangular(factor.T, vectors, lower=False)]


@row("tensor.EighGrad")
def _eigh_gradient(op, node, *inputs):
    return EighGrad(op.UPLO)(*inputs)


@row("tensor.Eig")
def _eig(op, node, a):
    return list(eig(a))


@row("tensor.Eigvalsh")
def _eigvalsh(op, node, *matrices):
    return eigvalsh(*matrices, lower=op.lower)


@row("tensor.EigvalshGrad")
def _eigvalsh_gradient(op, node, *inputs):
    return EigvalshGrad(op.lower)(*inputs)


@row("tensor.SVD")
def _svd(op, node, a):
    return svd(a, full_matrices=op.full_matrices, compute_uv=op.compute_uv)


@row("tensor.QR")
def _qr(op, node, a):
    found = scipy_qr(a, op.mode, op.pivoting)
    if op.mode == "raw":
        (reflections, factors), *rest = found
        return [reflections, factors, *rest]
    return found


@row("tensor.Schur")
def _schur(op, node, a):
    dtype = node.outputs[0].type.dtype
    return list(Schur(op.sort, on_error="nan")(T.cast(a, dtype)))[:2]


@row("tensor.QZ")
def _qz(op, node, a, b):
    dtype = node.outputs[0].type.dtype
    s, t, alpha, beta, q, z = GeneralizedSchur(op.sort, on_error="nan")(T.cast(a, dtype), T.cast(b, dtype))
    return [s, t, alpha, beta, q, z] if op.return_eigenvalues else [s, t, q, z]


@row("tensor.TRSYL")
def _trsyl(op, node, a, b, c):
    return SolveSylvester(triangular=True, on_error="nan")(a, b, c)


@row("tensor.SolveSylvester")
def _solve_sylvester(op, node, a, b, c):
    return SolveSylvester(on_error="nan")(a, b, c)


@row("tensor.KroneckerProduct")
def _kron(op, node, a, b):
    return kron(a, b)


@row("tensor.BlockDiagonal")
def _block_diagonal(op, node, *matrices):
    return block_diag(*matrices)


# Ops whose rows take stacks of matrices.
OF_STACKS = {f"tensor.{name}" for name in ("Cholesky", "SolveTriangular", "CholeskySolve", "Solve", "MatrixInverse",
                                           "MatrixPinv", "Det", "SLogDet", "Schur", "QZ", "TRSYL", "SolveSylvester",
                                           "QR")}


@row("tensor.Blockwise")
def _blockwise(op, node, *inputs):
    rank = op.batch_ndim(node)
    if not rank:
        return applied(op.core_op, node, list(inputs))
    core_ranks = [len(signature) for signature in op.inputs_sig]
    name = name_of(op.core_op)
    if name == "tensor.Dot" and core_ranks == [2, 2]:
        return T.matmul(*inputs)
    if name in OF_STACKS and getattr(op.core_op, "assume_a", None) != "tridiagonal":
        return applied(op.core_op, node, spread(inputs, core_ranks))
    return batched(op, node, inputs, core_ranks)
