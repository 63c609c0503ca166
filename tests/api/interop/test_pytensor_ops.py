"""Every row of the translation against PyTensor's Python mode: values, dtypes, and gradients of what has one."""
from importlib import import_module
from inspect import signature

import numpy as np
import pytest

pytest.importorskip("pytensor_reference")

import pytensor_reference as reference
from pytensor.graph.replace import vectorize_graph
from pytensor.scalar import basic as scalar_basic
from pytensor.scalar import math as scalar_math
from pytensor.scalar.loop import ScalarLoop
from pytensor.tensor import fft, fourier, nlinalg, signal, slinalg
from pytensor.tensor.elemwise import CAReduce, Elemwise
from pytensor.tensor.reshape import join_dims, split_dims
from pytensor.tensor.shape import Shape_i
from pytensor.tensor.xlogx import xlogx, xlogy0
from pytensor_reference import ifelse, pytensor

import phintys
from phintys.interop.pytensor import translation
from phintys.interop.pytensor.fallback import Performed
from phintys.interop.pytensor.op_table import LINES
from phintys.interop.pytensor_versions import imported, version_of

linear_control = import_module(imported("solve_sylvester").__module__)
tridiagonal_lu_factor, tridiagonal_lu_solve = imported("tridiagonal_lu_factor"), imported("tridiagonal_lu_solve")

pt = pytensor.tensor
pytestmark = [pytest.mark.filterwarnings("ignore")]


def rng():
    return np.random.default_rng(7)


VECTOR, OTHER = rng().uniform(0.2, 0.8, size=5), rng().normal(size=5)
MATRIX, WIDE = rng().normal(size=(4, 3)), rng().normal(size=(3, 5))
SQUARE = MATRIX[:3] @ MATRIX[:3].T + 3 * np.eye(3)
TURNED = SQUARE[[2, 0, 1]] + np.diag([0.5, 0, 0])
STACK = np.stack([SQUARE, SQUARE + np.eye(3)])
CUBE = rng().normal(size=(2, 3, 4))
MANY = rng().normal(size=(6, 2))
THREE_DIAGONALS = np.triu(np.tril(rng().normal(size=(6, 6)), 1), -1)        # some rows are exchanged
LOGARITHMS = np.array([-0.5, -1e-3, -4.9, -5.1, -40.0, -1e3])
INTEGERS = np.array([2, 0, 1, 2], dtype="int64")
TWO = pt.constant(np.float64(2))

ROTATED = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, -1]])


without_gradient = pytensor.gradient.disconnected_grad          # PyTensor's own fails for pivots


def of_several(results, place):
    """One of an op's results."""
    return results[place] if isinstance(results, (list, tuple)) else results


UNARY = """neg reciprocal log log2 log10 log1p exp exp2 expm1 sqr sqrt deg2rad rad2deg cos arccos sin arcsin tan arctan
    cosh sinh arcsinh tanh arctanh erf erfc erfcx erfinv erfcinv gamma gammaln psi tri_gamma sigmoid softplus sign ceil
    floor trunc round abs j0 j1 i0 i1 isnan isinf ceil invert_of_flags log1mexp_of_negative""".split()
BINARY = ["add", "mul", "sub", "true_div", "int_div", "mod", "pow", "maximum", "minimum", "lt", "gt", "le", "ge", "eq",
          "neq", "second", "arctan2", "gammainc", "gammaincc"]


def unary(name):
    if name == "invert_of_flags":
        return lambda x: pt.invert(x > 0.5)
    if name == "log1mexp_of_negative":
        return lambda x: pt.log1mexp(-x)
    return getattr(pt, name)


# name → (function, inputs); all float inputs are differentiated.
CASES = {
    **{name: (unary(name), [VECTOR]) for name in UNARY},
    **{f"{name} (2)": (getattr(pt, name), [VECTOR, OTHER[::-1] ** 2 + 0.1]) for name in BINARY},
    "arccosh": (pt.arccosh, [VECTOR + 1]),
    "add of three": (lambda x, y: pt.add(x, y, x), [VECTOR, OTHER]),
    "add of one": (lambda x: pt.add(x), [VECTOR]),
    "and": (lambda x, y: pt.and_(x > 0.4, y > 0), [VECTOR, OTHER]),
    "or": (lambda x, y: pt.or_(x > 0.4, y > 0), [VECTOR, OTHER]),
    "xor of integers": (lambda x: pt.xor(x, x + 1), [INTEGERS]),
    "switch": (lambda x, y: pt.switch(x > 0.4, x * y, y), [VECTOR, OTHER]),
    "clip": (lambda x: pt.clip(x, 0.3, 0.6), [VECTOR]),
    "cast": (lambda x: pt.cast(x, "float32") + pt.cast(x * 10, "int8"), [VECTOR]),
    "integers and floats": (lambda n, x: n[:, None] * x - n[:, None] // 2, [INTEGERS, VECTOR]),
    "int32 and float32": (lambda n: pt.cast(n, "int32") / pt.cast(n + 1, "int16"), [INTEGERS]),
    "broadcasting": (lambda x, y: x[:, None] * y[None, :] + 1, [VECTOR, OTHER]),
    "complex": (lambda x, y: abs(pt.complex(x, y) ** 2).real, [VECTOR, OTHER]),
    "conj": (lambda x, y: pt.conj(pt.complex(x, y)).imag, [VECTOR, OTHER]),
    "angle": (lambda x, y: pt.angle(pt.complex(x, y)), [VECTOR, OTHER]),
    "complex from polar": (lambda x, y: pt.complex_from_polar(x, y).real, [VECTOR, OTHER]),
    "jv": (lambda x: pt.jv(2.0, x), [VECTOR]),
    "iv": (lambda x: pt.iv(2.0, x), [VECTOR]),
    "ive": (lambda x: pt.ive(2.0, x), [VECTOR]),
    "kve": (lambda x: pt.kve(2.0, x), [VECTOR]),
    "polygamma": (lambda x: pt.polygamma(2, x), [VECTOR]),
    "gammau": (lambda x: pt.gammau(2.0, x), [VECTOR]),
    "gammal": (lambda x: pt.gammal(2.0, x), [VECTOR]),
    "betainc": (lambda x: pt.betainc(2.0, 3.0, x), [VECTOR]),
    "hyp2f1": (lambda x: pt.hyp2f1(1.0, 2.0, 3.0, x), [VECTOR]),
    "owens_t": (lambda x, y: pt.owens_t(x, y), [VECTOR, OTHER]),
    "round half away": (lambda x: pt.round(x * 5, mode="half_away_from_zero"), [VECTOR]),
    "sum": (lambda x: x.sum(axis=1) + x.sum(), [CUBE[0]]),
    "sum of nothing": (lambda x: pt.sum(x, axis=()), [VECTOR]),
    "sum of int8": (lambda n: pt.cast(n, "int8").sum(), [INTEGERS]),
    "mean, var, std": (lambda x: x.mean(0) + x.var(0) + x.std(0), [MATRIX]),
    "prod": (lambda x: x.prod(axis=(0, 2)), [CUBE]),
    "max, min": (lambda x: x.max(axis=0) - x.min(axis=0), [MATRIX]),
    "all, any": (lambda x: pt.all(x > -9, axis=0) & pt.any(x > 0, axis=0), [MATRIX]),
    "product by elementwise multiplication": (lambda x: CAReduce(scalar_basic.mul, axis=0)(x), [MATRIX]),
    "argmax": (lambda x: pt.argmax(x, axis=1) + pt.argmax(x), [MATRIX]),
    "softmax": (lambda x: pt.special.softmax(x, axis=-1), [MATRIX]),
    "softmax of columns": (lambda x: pt.special.softmax(x, axis=0), [MATRIX]),
    "softmax of a vector": (lambda x: pt.special.softmax(x), [VECTOR]),
    "log softmax": (lambda x: pt.special.log_softmax(x, axis=-1), [MATRIX]),
    "log softmax of a cube": (lambda x: pt.special.log_softmax(x, axis=1), [CUBE]),
    "logsumexp": (lambda x: pt.logsumexp(x, axis=1), [MATRIX]),
    "dimshuffle": (lambda x: x.dimshuffle(1, "x", 0), [MATRIX]),
    "transpose of a cube": (lambda x: x.transpose(2, 0, 1), [CUBE]),
    "squeeze": (lambda x: pt.squeeze(x[:, None]), [VECTOR]),
    "squeeze of an unknown length": (lambda x: pt.specify_broadcastable(x[:1], 0).dimshuffle(), [VECTOR]),
    "shape": (lambda x: x.shape, [MATRIX]),
    "shape of a dimension": (lambda x: x.shape[1] * x, [MATRIX]),
    "reshape": (lambda x: x.reshape((3, -1)), [MATRIX]),
    "reshape by variables": (lambda x: x.reshape((x.shape[1], x.shape[0])), [MATRIX]),
    "flatten": (lambda x: x.flatten(), [CUBE]),
    "specify shape": (lambda x: pt.specify_shape(x, (4, None)), [MATRIX]),
    "alloc": (lambda x: pt.alloc(x, 2, 5), [VECTOR]),
    "zeros, ones, full": (lambda x: pt.zeros_like(x) + pt.ones(x.shape) + pt.full(x.shape, 2.0), [MATRIX]),
    "empty": (lambda x: pt.set_subtensor(pt.empty((x.shape[0],))[:], x), [VECTOR]),
    "arange": (lambda x: pt.arange(1, x.shape[0], 2), [VECTOR]),
    "eye": (lambda x: pt.eye(x.shape[0], 4, 1) * x[:, None], [VECTOR]),
    "make vector": (lambda x: pt.stack([x[0], x[1] * 2, x.sum()]), [VECTOR]),
    "join": (lambda x, y: pt.concatenate([x, y[:3]]), [VECTOR, OTHER]),
    "join of columns": (lambda x: pt.concatenate([x, x * 2], axis=1), [MATRIX]),
    "split": (lambda x: pt.split(x, splits_size=[2, 3], n_splits=2)[1], [VECTOR]),
    "tile": (lambda x: pt.tile(x, 2), [VECTOR]),
    "repeat": (lambda x: pt.repeat(x, 2, axis=0), [MATRIX]),
    "diagonal": (lambda x: pt.diagonal(x), [SQUARE]),
    "diagonals of a stack": (lambda x: pt.diagonal(x, axis1=1, axis2=2), [STACK]),
    "alloc diagonal": (lambda x: pt.diag(x), [VECTOR]),
    "alloc diagonals": (lambda x: pytensor.tensor.basic.alloc_diag(x, axis1=-2, axis2=-1), [MATRIX]),
    "fill diagonal": (lambda x: pt.fill_diagonal(x, 2.0), [SQUARE]),
    "tril, triu": (lambda x: pt.tril(x) - pt.triu(x, 1), [SQUARE]),
    "cumsum, cumprod": (lambda x: pt.cumsum(x, axis=0) + pt.cumprod(x, axis=0), [MATRIX]),
    "cumsum of all": (lambda x: pt.cumsum(x), [MATRIX]),
    "sort": (lambda x: pt.sort(x, axis=0), [MATRIX]),
    "argsort": (lambda x: pt.argsort(x, axis=-1), [MATRIX]),
    "searchsorted": (lambda x, y: pt.searchsorted(pt.sort(x), y), [VECTOR, OTHER]),
    "unique": (lambda n: pt.unique(n), [INTEGERS]),
    "unique with counts": (lambda n: pt.unique(n, return_counts=True)[1], [INTEGERS]),
    "unique of a matrix": (
        lambda n: pt.unique(pt.stack([n, n + 1]), return_index=True, return_inverse=True, return_counts=True)[2],
        [INTEGERS],
    ),
    "unique rows": (lambda n: pt.unique(pt.stack([n, n, n + 1]), return_inverse=True, axis=0)[1], [INTEGERS]),
    "nonzero": (lambda x: pt.nonzero(x > 0.4)[0], [VECTOR]),
    "copies": (lambda x: pytensor.compile.ops.deep_copy_op(pytensor.compile.ops.view_op(x)), [VECTOR]),
    "contiguous": (lambda x: pt.extra_ops.cpu_contiguous(x.T), [MATRIX]),
    "scalars": (lambda x: pt.tensor_from_scalar(pt.scalar_from_tensor(x[0]) + pt.scalar_from_tensor(x[1])), [VECTOR]),
    "checks": (lambda x: pytensor.raise_op.CheckAndRaise(ValueError, "no")(x, x.sum() > 0), [VECTOR]),
    "an item": (lambda x: x[1] + x[-1], [VECTOR]),
    "slices": (lambda x: x[1:3, ::-1], [MATRIX]),
    "slices by variables": (lambda x: x[:x.shape[0] - 2], [VECTOR]),
    "an item by a variable": (lambda x, n: x[n[0]], [VECTOR, INTEGERS]),
    "rows by integers": (lambda x, n: x[n], [MATRIX, INTEGERS]),
    "rows and a slice": (lambda x, n: x[n, 1:], [MATRIX, INTEGERS]),
    "elements": (lambda x, n: x[n, n], [SQUARE, INTEGERS]),
    "a new dimension": (lambda x, n: x[n, None], [MATRIX, INTEGERS]),
    "a mask": (lambda x: x[x > 0.4], [VECTOR]),
    "take": (lambda x, n: pt.take(x, n, axis=1), [MATRIX, INTEGERS]),
    "set a slice": (lambda x, y: pt.set_subtensor(x[1:3], y[:2]), [VECTOR, OTHER]),
    "inc a slice": (lambda x, y: pt.inc_subtensor(x[::2], y[:3]), [VECTOR, OTHER]),
    "inc an item": (lambda x, y: pt.inc_subtensor(x[1], y.sum()), [VECTOR, OTHER]),
    "inc all": (lambda x, y: pt.inc_subtensor(x[:], y), [VECTOR, OTHER]),
    "set rows": (lambda x, n: pt.set_subtensor(x[n[:2]], 1.0), [MATRIX, INTEGERS]),
    "inc rows with repeats": (lambda x, n: pt.inc_subtensor(x[n], 1.5), [MATRIX, INTEGERS]),
    "inc elements": (lambda x, n: pt.inc_subtensor(x[n, n], 1.5), [SQUARE, INTEGERS]),
    "set a mask": (lambda x: pt.set_subtensor(x[x > 0.4], 9.0), [VECTOR]),
    "dot": (lambda x, y: pt.dot(x, y), [MATRIX, WIDE]),
    "dot of a vector": (lambda x, y: pt.dot(x[:, :3], y[:3]), [MATRIX, VECTOR]),
    "matmul of stacks": (lambda x: pt.matmul(x, x.transpose(0, 2, 1)), [CUBE]),
    "matmul that broadcasts": (lambda x, y: pt.matmul(x, y), [CUBE, rng().normal(size=(4, 2))]),
    "batched dot": (lambda x: pytensor.tensor.blas._batched_dot(x, x.transpose(0, 2, 1)), [CUBE]),
    "outer": (lambda x, y: pt.outer(x, y), [VECTOR, OTHER]),
    "gemv": (lambda x, y: pytensor.tensor.blas.gemv_no_inplace(y[:4], TWO, x, y[:3], TWO), [MATRIX, OTHER]),
    "gemm": (lambda x, y: pytensor.tensor.blas.gemm_no_inplace(pt.ones((4, 5)), TWO, x, y, TWO), [MATRIX, WIDE]),
    "dot22": (lambda x, y: pytensor.tensor.blas._dot22(x, y), [MATRIX, WIDE]),
    "scaled dot22": (lambda x, y: pytensor.tensor.blas._dot22scalar(x, y, TWO), [MATRIX, WIDE]),
    "cholesky": (lambda x: pt.linalg.cholesky(x), [SQUARE]),
    "upper cholesky": (lambda x: pt.linalg.cholesky(x, lower=False), [SQUARE]),
    "cholesky of a stack": (lambda x: pt.linalg.cholesky(x), [STACK]),
    "solve triangular": (lambda x, y: pt.linalg.solve_triangular(pt.tril(x), y, lower=True), [SQUARE, WIDE]),
    "solve triangular by a vector": (lambda x, y: pt.linalg.solve_triangular(pt.triu(x), y[:3], b_ndim=1),
                                     [SQUARE, VECTOR]),
    "solve triangular stacks": (lambda x, y: pt.linalg.solve_triangular(pt.tril(x), y, lower=True, b_ndim=2),
                                [STACK, WIDE]),
    "solve triangular stacks of vectors": (lambda x, y: pt.linalg.solve_triangular(pt.tril(x), y[:2, :3], lower=True,
                                                                                   b_ndim=1),
                                           [STACK, WIDE]),
    "solve": (lambda x, y: pt.linalg.solve(x, y), [SQUARE, WIDE]),
    "solve, positive definite": (lambda x, y: pt.linalg.solve(x, y, assume_a="pos"), [SQUARE, WIDE]),
    "solve of one matrix for a stack": (lambda x, y: pt.linalg.solve(x, y, b_ndim=2), [SQUARE, STACK]),
    "cho_solve": (lambda x, y: pt.linalg.cho_solve((pt.linalg.cholesky(x), True), y), [SQUARE, WIDE]),
    "inverse": (lambda x: pt.linalg.inv(x), [SQUARE]),
    "pinv": (lambda x: pt.linalg.pinv(x), [MATRIX]),
    "det": (lambda x: pt.linalg.det(x), [SQUARE]),
    "dets of a stack": (lambda x: pt.linalg.det(x), [STACK]),
    "slogdet": (lambda x: pt.linalg.slogdet(x)[1], [SQUARE]),
    "expm": (lambda x: pt.linalg.expm(x / 5), [SQUARE]),
    "kron": (lambda x, y: pt.linalg.kron(x, y), [SQUARE, WIDE]),
    "block diagonal": (lambda x, y: pt.linalg.block_diag(x, y), [SQUARE, WIDE]),
    "a batch in a loop": (lambda x: vectorize_graph(
        pt.cumsum(BATCH_ITEM), {BATCH_ITEM: x}), [MATRIX]),
    "expm of a stack": (lambda x: pt.linalg.expm(x / 5), [STACK]),
    "rows by one vector": (lambda x, n: pytensor.tensor.subtensor.advanced_subtensor1(x, n), [MATRIX, INTEGERS]),
    "inc rows by one vector": (lambda x, n: pytensor.tensor.subtensor.advanced_inc_subtensor1(x, 2 * x, n),
                               [MATRIX, INTEGERS]),
    "eigenvalues": (lambda x: pt.sort(abs(pt.linalg.eig(x)[0])), [SQUARE]),
    "symmetric eigenvalues": (lambda x: pt.linalg.eigh(x)[0], [SQUARE]),
    "symmetric eigenvectors": (lambda x: pt.linalg.eigh(x, UPLO="U")[1], [SQUARE]),
    "symmetric eigenvectors of a stack": (lambda x: vectorize_graph(
        pt.linalg.eigh(BATCH_SQUARE)[1], {BATCH_SQUARE: x + x.mT}), [CUBE[:, :2, :2]]),
    "generalized eigenvalues": (lambda x: pt.linalg.eigvalsh(x, x + 3 * pt.eye(3)), [SQUARE]),
    "singular values": (lambda x: pt.linalg.svd(x, compute_uv=False), [MATRIX]),
    "singular values of a stack": (lambda x: pt.linalg.svd(x, compute_uv=False), [CUBE]),
    "singular vectors": (lambda x: pt.linalg.svd(x, full_matrices=False)[0], [MATRIX]),
    "all singular vectors": (lambda x: pt.linalg.svd(x)[2], [MATRIX]),
    "qr": (lambda x: pt.linalg.qr(x, mode="economic")[0], [MATRIX]),
    "full qr": (lambda x: pt.linalg.qr(x)[0], [MATRIX]),
    "r": (lambda x: pt.linalg.qr(x, mode="r"), [MATRIX]),
    "joined dimensions": (lambda x: join_dims(x, 1, 2), [CUBE]),
    "no joined dimensions": (lambda x: join_dims(x, 1, 0), [CUBE]),
    "split dimension": (lambda x: split_dims(x, (2, 2), axis=2), [CUBE]),
    "split dimension of length 1": (lambda x: split_dims(x[:1], (), axis=0), [CUBE]),
    "fill another diagonal": (lambda x: pt.extra_ops.fill_diagonal_offset(x, 2.0, 1), [SQUARE]),
    "unravel": (lambda n: pt.unravel_index(n, (3, 4))[1], [INTEGERS]),
    "unravel columns": (lambda n: pt.unravel_index(n, (3, 4), order="F")[1], [INTEGERS]),
    "ravel": (lambda n: pt.ravel_multi_index((n, n + 3), (3, 4), mode="wrap"), [INTEGERS]),
    "x log x": (lambda x: xlogx(x), [VECTOR]),
    "x log y": (lambda x, n: xlogy0(n, x[:4]), [VECTOR, INTEGERS]),
    "identity": (lambda x: Elemwise(scalar_basic.identity)(x), [VECTOR]),
    "min": (lambda x: pytensor.tensor.math.Min(axis=(0,))(x), [MATRIX]),
    "repeats": (lambda x, n: pytensor.tensor.extra_ops.Repeat(axis=0)(x, n), [MATRIX, INTEGERS]),
    "sign and log of a determinant": (lambda x: pytensor.tensor.nlinalg.SLogDet()(x)[1], [SQUARE]),
    "length of a dimension": (lambda x: Shape_i(1)(x), [MATRIX]),
    "composite": (lambda x, y: Elemwise(COMPOSITE)(x, y), [VECTOR, OTHER]),
    "if else": (lambda x, y: ifelse(x.sum() > 0, x * 2, y), [VECTOR, OTHER]),
    "if else of two": (lambda x, y: sum(ifelse(x.sum() < 0, [x * 2, x], [y, y * 3])), [VECTOR, OTHER]),
    "derivatives of gammainc by k": (lambda x: pytensor.grad(pt.gammainc(x, 2 * x).sum(), x), [VECTOR]),
    "derivatives of gammaincc by k": (lambda x, n: pytensor.grad(pt.gammaincc(x[None, :], n[:, None] + 0.5).sum(), x),
                                      [VECTOR, INTEGERS]),
    "derivatives of betainc by a and b": (
        lambda x, y: sum(pytensor.grad(pt.betainc(x, y ** 2, x / 2).sum(), [x, y])), [VECTOR, OTHER]),
    "derivatives of hyp2f1": (lambda x: pytensor.grad(pt.hyp2f1(x, 0.7, x + 1, x / 2).sum(), x), [VECTOR]),
    "loops of numbers of steps": (lambda n: Elemwise(POWER)(n, TWO, pt.cast(n, "float64")), [INTEGERS]),
    "gammaincinv": (lambda x: pt.gammaincinv(TWO, x), [VECTOR]),
    "gammainccinv": (lambda x: pt.gammainccinv(TWO, x), [VECTOR]),
    "betaincinv": (lambda x: pt.betaincinv(TWO, TWO + 1, x), [VECTOR]),
    "products without zeros": (lambda x: pytensor.tensor.math.ProdWithoutZeros(axis=0)(pt.switch(x > 0, x, 0.0)),
                               [MATRIX]),
    "product of two without zeros": (lambda n, x: Elemwise(pytensor.tensor.math.mul_without_zeros)(n, x[:4]),
                                     [INTEGERS, VECTOR]),
    "choose": (lambda n, x: pt.choose(n, x), [INTEGERS, np.stack([VECTOR[:4], OTHER[:4], OTHER[1:]])]),
    "choose from a list": (lambda n, x, y: pt.choose(n, [x, y, x], mode="wrap"), [INTEGERS, VECTOR[:4], OTHER[:4]]),
    "rows in other orders": (lambda x: pt.basic.PermuteRowElements(inverse=True)(x, pt.argsort(x, axis=1)), [MATRIX]),
    "print": (lambda x: pytensor.printing.Print("x")(x) * 2, [VECTOR]),
    "lu": (lambda x: pt.linalg.lu(x)[1] + pt.linalg.lu(x)[2], [TURNED]),
    "permutation of lu": (lambda x: pt.linalg.lu(x)[0], [TURNED]),
    "permuted lower factor": (lambda x: pt.linalg.lu(x, permute_l=True)[0], [TURNED]),
    "lu with an order": (lambda x: sum(pt.linalg.lu(x, p_indices=True)), [TURNED]),
    "lu_factor": (lambda x: pt.linalg.lu_factor(x)[0], [TURNED]),
    "lu_factor of a singular matrix": (lambda x: pt.linalg.lu_factor(x * [0, 1, 1])[0], [TURNED]),
    "lu_solve": (lambda x, y: pt.linalg.lu_solve(pt.linalg.lu_factor(x), y), [TURNED, WIDE]),
    "transposed lu_solve": (lambda x, y: pt.linalg.lu_solve(pt.linalg.lu_factor(x), y, trans=True), [TURNED, WIDE]),
    "order of pivots": (lambda x: slinalg.pivot_to_permutation(pt.linalg.lu_factor(x)[1]), [TURNED]),
    **{f"qr, {mode}, {pivoting}, {place}, {len(matrix)} rows": (
        lambda x, mode=mode, pivoting=pivoting, place=place: of_several(
            pt.linalg.qr(without_gradient(x) if pivoting else x, mode=mode, pivoting=pivoting), place), [matrix])
       for mode, pivoting, places in [("full", True, 3), ("economic", True, 3), ("economic", False, 2), ("r", True, 2),
                                      ("r", False, 1), ("raw", True, 4), ("raw", False, 3)]
       for place in range(places) for matrix in (MATRIX, WIDE)},
    **{f"schur, {output}, {sort}, {place}": (
        lambda x, output=output, sort=sort, place=place: pt.linalg.schur(ROTATED @ x, output=output, sort=sort)[place],
        [TURNED]) for output, sort in [("real", None), ("complex", None), ("real", "lhp"), ("complex", "ouc")]
       for place in range(2)},
    "schur of a matrix that is not finite": (lambda x: pt.linalg.schur(x / 0)[0], [TURNED]),
    **{f"qz, {output}, {sort}, {place}": (
        lambda x, output=output, sort=sort, place=place: pt.linalg.qz(
            ROTATED @ x, x.T + 1, output=output, sort=sort, return_eigenvalues=True)[place], [TURNED])
       for output, sort in [("real", None), ("complex", None), ("real", "iuc"), ("complex", "rhp")]
       for place in range(6)},
    "qz without eigenvalues": (lambda x: pt.linalg.qz(x, x.T)[3], [TURNED]),
    "qz of matrices that are not finite": (
        lambda x: pt.linalg.qz(x / 0, x, return_eigenvalues=True)[2].real, [TURNED]),
    "solve_sylvester": (lambda x, y: pt.linalg.solve_sylvester(x, y, x[:, :2]), [TURNED, SQUARE[:2, :2]]),
    "triangular solve_sylvester": (
        lambda x, y: linear_control.TRSYL()(pt.triu(x), pt.triu(y), x[:, :2]), [SQUARE, 2 * SQUARE[:2, :2]]),
    "solve_continuous_lyapunov": (lambda x: pt.linalg.solve_continuous_lyapunov(x, x @ x.T), [TURNED]),
    **{f"solve_discrete_lyapunov, {method}": (
        lambda x, method=method: pt.linalg.solve_discrete_lyapunov(x / 10, x @ x.T, method=method), [TURNED])
       for method in ("direct", "bilinear")},
    "solve_discrete_are": (lambda x: pt.linalg.solve_discrete_are(x / 3, x[:, :2] + 1, x @ x.T, pt.eye(2)), [TURNED]),
    "solve, symmetric": (lambda x, y: pt.linalg.solve(x, y, assume_a="sym", lower=True), [SQUARE, WIDE]),
    **{f"solve, {kind}": (lambda x, y, kind=kind: pt.linalg.solve(x, y, assume_a=kind), [THREE_DIAGONALS, matrix])
       for kind in ("tridiagonal", "banded") for matrix in (MANY, )},
    "solve by a vector, tridiagonal": (lambda x, y: pt.linalg.solve(x, y[:6, 0], assume_a="tridiagonal", b_ndim=1),
                                       [THREE_DIAGONALS, MANY]),
    "solve, singular tridiagonal": (lambda x, y: pt.linalg.solve(x * 0.0, x, assume_a="tridiagonal"),
                                    [THREE_DIAGONALS, MANY]),
    "solve, diagonal": (lambda x, y: pt.linalg.solve(x, y, assume_a="diagonal"), [np.diag(VECTOR), WIDE.T]),
    "solve of a stack, tridiagonal": (
        lambda x, y: pt.linalg.solve(pt.stack([x, x + 1.5 * pt.eye(6)]), y, assume_a="tridiagonal", b_ndim=2),
        [THREE_DIAGONALS, MANY]),
    **{f"factors of three diagonals, {place}": (
        lambda x, place=place: tridiagonal_lu_factor(x)[place], [THREE_DIAGONALS]) for place in range(5)},
    **{f"solve by factors of three diagonals, {columns}, {transposed}": (
        lambda x, y, columns=columns, transposed=transposed: tridiagonal_lu_solve(
            tridiagonal_lu_factor(x), y if columns == 2 else y[:, 0], b_ndim=columns, transposed=transposed),
        [THREE_DIAGONALS, MANY]) for columns in (1, 2) for transposed in (False, True)},
    "least squares": (lambda x, y: nlinalg.lstsq(x, y, -1.0)[0], [MATRIX, MATRIX[:, :2] ** 2]),
    "rank": (lambda x, y: nlinalg.lstsq(x, y, 1e-10)[2], [MATRIX, MATRIX[:, :2]]),
    "tensorinv": (lambda x: pt.linalg.tensorinv(x, ind=1), [SQUARE]),
    "tensorsolve": (lambda x, y: pt.linalg.tensorsolve(x.reshape((3, 1, 3)), y[:, 1]), [SQUARE, WIDE]),
    **{f"convolution, {mode}": (lambda x, y, mode=mode: signal.convolve1d(x, y, mode=mode), [VECTOR, OTHER[:3]])
       for mode in ("full", "valid", "same")},
    "convolution of rows": (lambda x, y: signal.convolve1d(x, y), [MATRIX, VECTOR]),
    "convolution by a longer vector": (lambda x, y: signal.convolve1d(x, y, mode="valid"), [VECTOR[:2], OTHER]),
    **{f"convolution of images, {mode}": (
        lambda x, y, mode=mode: signal.convolve2d(x, y, mode=mode, method="direct"), [WIDE, MATRIX[:2, :2]])
       for mode in ("full", "valid", "same")},
    "convolution by a larger image": (
        lambda x, y: signal.convolve2d(x, y, mode="valid", method="direct"), [MATRIX[:2, :2], WIDE]),
    "convolution of integers": (lambda n, m: signal.convolve2d(n, m, method="direct"),
                                [INTEGERS.reshape(2, 2), INTEGERS[None]]),
    **{f"rfft of {length}": (lambda x: fft.rfft(x), [rng().normal(size=(2, length))]) for length in (4, 5)},
    "rfft of images": (lambda x: fft.rfft(x, norm="ortho"), [CUBE]),
    "irfft": (lambda x: fft.irfft(fft.rfft(x) * 2), [CUBE]),
    "fft": (lambda x: abs(fourier.fft(x, None, 0)) ** 2, [MATRIX]),
    "bartlett": (lambda n: pt.extra_ops.bartlett(n[0] + 5), [INTEGERS]),
    "op from graph": (lambda x, y: pytensor.compile.builders.OpFromGraph(INNER, [INNER[0] * pt.exp(INNER[1])])(x, y),
                      [VECTOR, OTHER]),
}
if hasattr(pytensor.tensor.blas, "ger"):
    CASES["ger"] = (lambda x, y: pytensor.tensor.blas.ger(pt.ones((5, 5)), TWO, x, y), [VECTOR, OTHER])
if "b" in signature(pt.linalg.eigh).parameters:
    CASES["generalized eigenvectors"] = (lambda x: pt.linalg.eigh(x, x + 3 * pt.eye(3))[1] ** 2, [SQUARE])
    CASES["generalized eigenvectors, upper"] = (
        lambda x: pt.linalg.eigh(x, x + 3 * pt.eye(3), lower=False, driver="evd")[1] ** 2, [SQUARE])
if hasattr(pt.special, "xlog1py"):
    CASES["x log1p y"] = (lambda n, x: pt.special.xlog1py(n, x[:4]), [INTEGERS, VECTOR])
if hasattr(scalar_math, "NdtriExp"):
    CASES["quantiles of logarithms"] = (lambda x: Elemwise(scalar_math.ndtri_exp)(x), [LOGARITHMS])
PERFORMED = {"convolution of integers"}         # by PyTensor's code: such nodes have no row
# test_pytensor_loops.py; test_pytensor_random.py; indices of tensors with named dimensions; PyTensor's rewrites
ELSEWHERE = {"compile.Scan", "compile.TypeCastingOp", "random.RandomVariable", "tensor.MakeSlice", "compile.LazyIfElse"}
LATE = tuple(translation.late_rows)             # areas of ops whose rows have their own tests
SCALARS = [scalar_basic.float64("a"), scalar_basic.float64("b")]
COMPOSITE = scalar_basic.Composite(SCALARS, [scalar_basic.exp(SCALARS[0]) * SCALARS[1] + SCALARS[0]])
BATCH_ITEM, BATCH_SQUARE = pt.vector("item"), pt.matrix("square")
POWER = ScalarLoop([SCALARS[0]], [SCALARS[0] * SCALARS[1]], [SCALARS[1]])
INNER = [pt.vector("a"), pt.vector("b")]


NO_GRADIENT = (NotImplementedError, TypeError, pytensor.graph.utils.MethodNotDefined,
               pytensor.gradient.NullTypeGradError)      # PyTensor has none


def arguments_of(values):
    return [pt.tensor(dtype=value.dtype, shape=(None,) * value.ndim) for value in values]


def graph_of(expression, values):
    """The arguments of a case, and its result with weighted gradients where there are any."""
    arguments = arguments_of(values)
    outputs = [expression(*arguments)]
    inputs = [each for each in arguments if each.dtype == "float64"]
    if outputs[0].dtype == "float64" and inputs:
        weights = pt.cos(pt.cast(pt.arange(outputs[0].size), "float64")).reshape(outputs[0].shape)
        try:
            outputs += pytensor.grad((outputs[0] * weights).sum(), inputs, disconnected_inputs="ignore")
        except NO_GRADIENT:
            pass
    return arguments, outputs


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_are_those_of_pytensor(name):
    f, g = reference.functions(*graph_of(*CASES[name]))
    assert (name in PERFORMED) == any(isinstance(node.op, Performed) for node in f.vm.jit_fn.maker.fgraph.apply_nodes)
    for value, other in zip(f(*CASES[name][1]), g(*CASES[name][1]), strict=True):
        assert value.dtype == other.dtype and value.shape == other.shape
        np.testing.assert_allclose(value, other, rtol=1e-9, atol=1e-11)


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_batches_are_those_of_pytensor(name):
    """Each case on a stack of two: elementwise ops with a dimension more, Blockwise of others."""
    expression, values = CASES[name]
    arguments = arguments_of(values)
    batches = [pt.tensor(dtype=value.dtype, shape=(None,) * (value.ndim + 1)) for value in values]
    stacks = [np.stack([value, value[::-1] if value.ndim == 1 else value + 0.1 * np.eye(*value.shape)
                        if value.ndim == 2 and value.dtype == "float64" else value]) for value in values]
    try:
        outputs = vectorize_graph([expression(*arguments)], dict(zip(arguments, batches)))
        wanted = pytensor.function(batches, outputs, mode=reference.PYTHON, on_unused_input="ignore")(*stacks)
    except Exception as error:
        pytest.skip(f"PyTensor has no batches of it: {type(error).__name__}")
    found = pytensor.function(batches, outputs, mode="PHINTYS", on_unused_input="ignore")(*stacks)
    for value, other in zip(found, wanted, strict=True):
        assert value.dtype == other.dtype and value.shape == other.shape
        np.testing.assert_allclose(value, other, rtol=1e-8, atol=1e-10)


def test_each_row_is_in_a_case():
    """The table of cases reads each row of the translation at least once, besides the loops and random numbers."""
    used, rows = set(), {name: function for name, function in translation.ROWS.items()
                         if name.partition(".")[0] not in LATE and is_in_this_version(name)}
    try:
        for name, function in rows.items():
            def watched(op, node, *inputs, name=name, function=function):
                used.add(name)
                return function(op, node, *inputs)
            translation.ROWS[name] = watched
        for case in CASES.values():
            arguments, outputs = graph_of(*case)
            translation.translate([*arguments, *outputs])
    finally:
        translation.ROWS.update(rows)
    assert set(rows) - used <= ELSEWHERE


def is_in_this_version(name):
    """Whether a class of ops is there, by the table."""
    found = version_of(pytensor.__version__)
    return any([form.first <= found <= form.last for line in LINES.values() if line.name == name
                for form in line.forms])


def test_static_lengths_of_one_broadcast():
    """PyTensor's rule: what is known to have length 1 broadcasts, what is not known does not."""
    x, y = pt.tensor(shape=(None, 1), dtype="float64"), pt.matrix(dtype="float64")
    f = pytensor.function([x, y], x + y, mode="PHINTYS")
    np.testing.assert_array_equal(f(np.ones((3, 1)), np.ones((3, 4))), np.full((3, 4), 2.0))
    g = pytensor.function([y], y + pt.ones((3, 4)), mode="PHINTYS")
    with pytest.raises(ValueError, match=r"pt\.specify_broadcastable\(x, 1\).*pt\.tensor\(shape=\(None, 1\)\)"):
        g(np.ones((3, 1)))


def test_what_is_assigned_to_a_whole_is_repeated():
    x, y = pt.matrix(dtype="float64"), pt.matrix(dtype="float64")
    for change in (pt.set_subtensor, pt.inc_subtensor):
        found, wanted = [f(np.ones((3, 2)), np.full((3, 1), 4.0))
                         for f in reference.functions([x, y], change(x[:, :], y))]
        np.testing.assert_array_equal(found, wanted)


def test_a_sum_of_a_number_is_the_number():
    """PyMC's CAR has one; PyTensor's Python code refuses it, its C code does not."""
    x = pt.scalar(dtype="float64")
    assert pytensor.function([x], pt.sum(x, axis=0), mode="PHINTYS")(3.0) == 3.0


def loops_in(f):
    return [node for node in f.vm.jit_fn.maker.fgraph.toposort() if type(node.op).__name__ == "Scan"]


def test_what_all_items_of_a_batch_share_is_computed_once():
    """A triangle of each matrix of a stack has one mask, which no loop makes."""
    x = pt.tensor("x", dtype="float64", shape=(5, 4, 4))
    item = pt.tensor("item", dtype="float64", shape=(4, 4))
    triangles = vectorize_graph(pt.tril(item), {item: x})
    f = pytensor.function([x], triangles, mode="PHINTYS")
    value = np.random.default_rng(0).normal(size=(5, 4, 4))
    np.testing.assert_array_equal(f(value), np.tril(value))
    assert not loops_in(f)
    one, row = pt.tensor("one", dtype="float64", shape=(1, 4)), pt.tensor("row", dtype="float64", shape=(4,))
    g = pytensor.function([one], vectorize_graph(pt.cumsum(row), {row: one}), mode="PHINTYS")
    np.testing.assert_array_equal(g(value[0, :1]), np.cumsum(value[0, :1], axis=1))
    assert not loops_in(g)


def test_known_lengths_are_numbers_in_the_translation():
    known, other = pt.tensor(shape=(3, 4), dtype="float64"), pt.matrix(dtype="float64")
    lengths = [known.shape, known.shape[0] * 2 + known.shape[1], other.shape, pt.arange(known.shape[1])]
    *_, found, total, unknown, numbers = phintys.interop.pytensor.translate([known, other, *lengths])
    assert found.data.tolist() == [3, 4] and total.data == 10 and numbers.data.tolist() == [0, 1, 2, 3]
    assert unknown.owner is not None


def test_translate_gives_the_graph():
    x = pt.vector("x")
    weights = pytensor.shared(VECTOR, name="weights")
    new, w, cost = phintys.interop.pytensor.translate([x, weights, (weights * x ** 2).sum()])
    assert new.name == "x" and w.name == "weights"
    f = phintys.function([new], phintys.grad(cost, new))
    np.testing.assert_allclose(f(OTHER), 2 * VECTOR * OTHER)


@pytest.mark.parametrize("matrix", [-np.eye(3), np.diag([1.0, 0.0, 2.0]), np.full((3, 3), np.nan)])
@pytest.mark.parametrize("expression", [
    lambda a, b: pt.linalg.solve_triangular(a, b, lower=True), lambda a, b: pt.linalg.solve(a, b),
    lambda a, b: pt.linalg.solve_triangular(pt.linalg.cholesky(a), b, lower=True),
    lambda a, b: pt.linalg.cho_solve((a, True), b), lambda a, b: pt.linalg.solve(a, b, assume_a="pos")])
def test_what_cannot_be_factored_or_solved_is_nan(expression, matrix):
    """As in PyTensor: a sampler goes on from a density that is NaN."""
    a, b = pt.matrix("a", dtype="float64"), pt.matrix("b", dtype="float64")
    found, wanted = [f(matrix, np.ones((3, 2))) for f in reference.functions([a, b], expression(a, b))]
    assert found.shape == (3, 2)
    if np.isnan(wanted).all():                          # PyTensor's may have another shape
        assert np.isnan(found).all()
    else:
        np.testing.assert_allclose(found, wanted)


@pytest.mark.skipif(not hasattr(scalar_math, "NdtriExp"), reason="PyTensor before 3.2 has no such op")
def test_quantiles_of_small_logarithms_have_all_digits():
    """SciPy's have a relative error of 5e-13 at -1e5 and -1e6."""
    logarithms = np.array([-1e4, -1e5, -1e6, -1e9, -1e200, -np.inf, 0.0, 0.5])
    x = pt.dvector()
    found = pytensor.function([x], Elemwise(scalar_math.ndtri_exp)(x), mode="PHINTYS")(logarithms)
    wanted = [-141.37983987312717, -447.1978936785251, -1414.2077829910174, -44721.359290004926, -np.sqrt(2) * 1e100,
              -np.inf, np.inf, np.nan]                              # the first four by a computation with 60 digits
    np.testing.assert_allclose(found, wanted, rtol=4e-16)


def test_infinity_as_a_number_without_lengths():
    """PyMC's zero inflated distributions have it; nothing fails while it is folded."""
    x = pt.vector(dtype="float64")
    with phintys.config.change_flags(on_opt_error="raise"):
        f = pytensor.function([x], pt.switch(x > 0, x, pt.alloc(-np.inf)), mode="PHINTYS")
    np.testing.assert_array_equal(f([1.0, -1.0]), [1.0, -np.inf])
