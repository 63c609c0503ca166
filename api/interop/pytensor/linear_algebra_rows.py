"""Products, factorizations and solutions of linear systems, and their application to stacks (Blockwise)."""
import numpy
from pytensor.tensor.blas import BatchedDot, Dot22, Dot22Scalar, Gemm, Gemv, Ger
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.math import Dot
from pytensor.tensor.nlinalg import (
    SVD,
    Det,
    Eig,
    Eigh,
    EighGrad,
    KroneckerProduct,
    Lstsq,
    MatrixInverse,
    MatrixPinv,
    SLogDet,
    TensorInv,
    TensorSolve,
)
from pytensor.tensor.slinalg import (
    LU,
    QR,
    BlockDiagonal,
    Cholesky,
    CholeskySolve,
    Eigvalsh,
    EigvalshGrad,
    Expm,
    LUFactor,
    PivotToPermutations,
    Solve,
    SolveTriangular,
)

from phintys import tensor as T
from phintys.interop.pytensor.batches import batched, spread
from phintys.interop.pytensor.translation import applied, row
from phintys.ops.factorizations.permutation import PivotsToPermutation
from phintys.tensor import nlinalg, slinalg


# ---- products ------------------------------------------------------------------------------------------------------
@row(Dot, Dot22)
def _dot(op, node, a, b):
    return T.dot(a, b) if a.type.ndim <= 2 and b.type.ndim <= 2 else T.matmul(a, b)


@row(Dot22Scalar)
def _scaled_dot(op, node, a, b, factor):
    return factor * T.dot(a, b)


@row(Gemv, Gemm)
def _added_dot(op, node, y, factor, a, b, kept):
    return kept * y + factor * T.dot(a, b)


@row(Ger)
def _added_outer(op, node, a, factor, x, y):
    return a + factor * T.outer(x, y)


@row(BatchedDot)
def _batched_dot(op, node, a, b):
    return T.batched_dot(a, b)


# ---- matrices, and stacks of them ----------------------------------------------------------------------------------
@row(Cholesky)
def _cholesky(op, node, a):
    return slinalg.Cholesky(lower=op.lower, on_error="nan")(a)


@row(SolveTriangular)
def _solve_triangular(op, node, a, b):
    return _solved(op, b, lambda b: slinalg.solve_triangular(a, b, lower=op.lower, unit_diagonal=op.unit_diagonal,
                                                             on_error="nan"))


@row(CholeskySolve)
def _cho_solve(op, node, a, b):
    return _solved(op, b, lambda b: slinalg.cho_solve((a, op.lower), b, on_error="nan"))


@row(Solve)
def _solve(op, node, a, b):
    if op.assume_a == "pos":
        factor = slinalg.Cholesky(lower=op.lower, on_error="nan")(a)
        return _solved(op, b, lambda b: slinalg.cho_solve((factor, op.lower), b, on_error="nan"))
    if op.assume_a in ("sym", "her"):
        a = _from_triangle(a, op.lower, op.assume_a == "her")
    elif op.assume_a != "gen":
        return None
    return _solved(op, b, lambda b: slinalg.Solve(on_error="nan")(a, b))


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


@row(LU)
def _lu(op, node, a):
    if not op.p_indices:
        return list(slinalg.lu(a, permute_l=op.permute_l))
    packed, pivots = slinalg.lu_factor(a)
    lower = T.tril(packed, -1) + T.identity_like(packed)
    return [T.inverse_permutation(_order(pivots)), lower, T.triu(packed)]


@row(LUFactor)
def _lu_factor(op, node, a):
    """As in PyTensor, the factors of a singular matrix are NaN."""
    packed, pivots = slinalg.lu_factor(a)
    return [T.switch(T.any(T.eq(T.diagonal(packed), 0)), numpy.nan, packed), pivots]


@row(PivotToPermutations)
def _permutation(op, node, pivots):
    return _order(pivots) if op.inverse else T.inverse_permutation(_order(pivots))


def _order(pivots):
    """The rows of a matrix, in the order that exchanges of rows gave them."""
    return PivotsToPermutation()(pivots + 1)


@row(Lstsq)
def _least_squares(op, node, a, b, ratio):
    return nlinalg.lstsq()(a, b, ratio) if b.type.ndim == 2 else None


@row(TensorInv)
def _tensor_inverse(op, node, a):
    return nlinalg.tensorinv(a, ind=op.ind)


@row(TensorSolve)
def _tensor_solution(op, node, a, b):
    return nlinalg.tensorsolve(a, b, axes=op.axes)


@row(MatrixInverse)
def _inverse(op, node, a):
    return nlinalg.matrix_inverse(a)


@row(MatrixPinv)
def _pinv(op, node, a):
    return nlinalg.pinv(a)


@row(Det)
def _det(op, node, a):
    return nlinalg.det(a)


@row(SLogDet)
def _slogdet(op, node, a):
    return list(nlinalg.slogdet(a))


@row(Expm)
def _expm(op, node, a):
    return slinalg.expm(a)


@row(Eigh)
def _eigh(op, node, a):
    return list(nlinalg.eigh(a, UPLO=op.UPLO))


@row(EighGrad)
def _eigh_gradient(op, node, *inputs):
    return nlinalg.EighGrad(op.UPLO)(*inputs)


@row(Eig)
def _eig(op, node, a):
    return list(nlinalg.eig(a))


@row(Eigvalsh)
def _eigvalsh(op, node, *matrices):
    return slinalg.eigvalsh(*matrices, lower=op.lower)


@row(EigvalshGrad)
def _eigvalsh_gradient(op, node, *inputs):
    return slinalg.EigvalshGrad(op.lower)(*inputs)


@row(SVD)
def _svd(op, node, a):
    return nlinalg.svd(a, full_matrices=op.full_matrices, compute_uv=op.compute_uv)


@row(QR)
def _qr(op, node, a):
    if op.pivoting or op.mode == "raw":
        return None
    orthogonal, upper = nlinalg.qr(a, mode="reduced" if op.mode == "economic" else "complete")
    return upper if op.mode == "r" else [orthogonal, upper]


@row(KroneckerProduct)
def _kron(op, node, a, b):
    return slinalg.kron(a, b)


@row(BlockDiagonal)
def _block_diagonal(op, node, *matrices):
    return slinalg.block_diag(*matrices)


# Ops whose rows take stacks of matrices.
OF_STACKS = (Cholesky, SolveTriangular, CholeskySolve, Solve, MatrixInverse, MatrixPinv, Det, SLogDet)


@row(Blockwise)
def _blockwise(op, node, *inputs):
    rank = op.batch_ndim(node)
    if not rank:
        return applied(op.core_op, node, list(inputs))
    core_ranks = [len(signature) for signature in op.inputs_sig]
    if isinstance(op.core_op, Dot) and core_ranks == [2, 2]:
        return T.matmul(*inputs)
    if isinstance(op.core_op, OF_STACKS):
        return applied(op.core_op, node, spread(inputs, core_ranks))
    return batched(op, node, inputs, core_ranks)
