"""Products, factorizations and solutions of linear systems, and their application to stacks (Blockwise)."""
import numpy

from phintys import tensor as T
from phintys.interop.pytensor import tridiagonal_rows  # noqa: F401  its rows
from phintys.interop.pytensor.batches import batched, spread
from phintys.interop.pytensor.op_table import name_of
from phintys.interop.pytensor.translation import applied, row
from phintys.ops.compositions.tridiagonal import solve_tridiagonal
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
row("tensor.Dot", "tensor.Dot22")(lambda op, node, a, b:
    T.dot(a, b) if a.type.ndim <= 2 and b.type.ndim <= 2 else T.matmul(a, b))
row("tensor.Dot22Scalar")(lambda op, node, a, b, factor: factor * T.dot(a, b))
row("tensor.Gemv", "tensor.Gemm")(lambda op, node, y, factor, a, b, kept: kept * y + factor * T.dot(a, b))
row("tensor.Ger")(lambda op, node, a, factor, x, y: a + factor * T.outer(x, y))
row("tensor.BatchedDot")(lambda op, node, a, b: T.batched_dot(a, b))


# ---- matrices, and stacks of them ----------------------------------------------------------------------------------
row("tensor.Cholesky")(lambda op, node, a: Cholesky(lower=op.lower, on_error="nan")(a))


@row("tensor.SolveTriangular")
def _solve_triangular(op, node, a, b):
    return _solved(op, b, lambda b: solve_triangular(a, b, lower=op.lower, unit_diagonal=op.unit_diagonal,
                                                             on_error="nan"))


row("tensor.CholeskySolve")(lambda op, node, a, b:
    _solved(op, b, lambda b: cho_solve((a, op.lower), b, on_error="nan")))


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
    return solve_tridiagonal(*[T.cast(T.diagonal(a, offset), dtype) for offset in (-1, 0, 1)], T.cast(b, dtype))


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


row("tensor.PivotToPermutations")(lambda op, node, pivots:
    _order(pivots) if op.inverse else T.inverse_permutation(_order(pivots)))


def _order(pivots):
    """The rows of a matrix, in the order that exchanges of rows gave them."""
    return PivotsToPermutation()(pivots + 1)


row("tensor.Lstsq")(lambda op, node, a, b, ratio: LeastSquares()(a, b, ratio) if b.type.ndim == 2 else None)
row("tensor.TensorInv")(lambda op, node, a: tensorinv(a, ind=op.ind))
row("tensor.TensorSolve")(lambda op, node, a, b: tensorsolve(a, b, axes=op.axes))
row("tensor.MatrixInverse")(lambda op, node, a: matrix_inverse(a))
row("tensor.MatrixPinv")(lambda op, node, a: pinv(a))
row("tensor.Det")(lambda op, node, a: det(a))
row("tensor.SLogDet")(lambda op, node, a: list(slogdet(a)))
row("tensor.Expm")(lambda op, node, a: expm(a))


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


row("tensor.EighGrad")(lambda op, node, *inputs: EighGrad(op.UPLO)(*inputs))
row("tensor.Eig")(lambda op, node, a: list(eig(a)))
row("tensor.Eigvalsh")(lambda op, node, *matrices: eigvalsh(*matrices, lower=op.lower))
row("tensor.EigvalshGrad")(lambda op, node, *inputs: EigvalshGrad(op.lower)(*inputs))
row("tensor.SVD")(lambda op, node, a: svd(a, full_matrices=op.full_matrices, compute_uv=op.compute_uv))


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


row("tensor.TRSYL")(lambda op, node, a, b, c: SolveSylvester(triangular=True, on_error="nan")(a, b, c))
row("tensor.SolveSylvester")(lambda op, node, a, b, c: SolveSylvester(on_error="nan")(a, b, c))
row("tensor.KroneckerProduct")(lambda op, node, a, b: kron(a, b))
row("tensor.BlockDiagonal")(lambda op, node, *matrices: block_diag(*matrices))
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
