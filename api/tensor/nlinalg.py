"""Theano's name ``tensor.nlinalg`` for linear algebra on matrices: names only."""
from phintys.graph import public_names as _public_names
from phintys.missing_names import lookup as _lookup
from phintys.ops.factorizations.eigen import Eig, Eigh, EighGrad, eig, eigh
from phintys.ops.factorizations.functions import (
    TensorInv,
    TensorSolve,
    matrix_dot,
    matrix_power,
    tensorinv,
    tensorsolve,
)
from phintys.ops.factorizations.inverse import (
    Det,
    MatrixInverse,
    MatrixPinv,
    SLogDet,
    det,
    matrix_inverse,
    pinv,
    slogdet,
)
from phintys.ops.factorizations.least_squares import LeastSquares
from phintys.ops.factorizations.orthogonal import SVD, QRFull, QRIncomplete, qr, svd
from phintys.ops.linalg.diagonal import AllocDiag, ExtractDiag, alloc_diag, diag, trace
from phintys.ops.numpy_functions import matrix_or_vector_norm as norm

extract_diag = ExtractDiag()
lstsq = LeastSquares

__all__ = ["SVD", "AllocDiag", "Det", "Eig", "Eigh", "EighGrad", "ExtractDiag", "MatrixInverse", "MatrixPinv",
           "QRFull", "QRIncomplete", "SLogDet", "TensorInv", "TensorSolve", "alloc_diag", "det", "diag", "eig", "eigh",
           "extract_diag", "lstsq", "matrix_dot", "matrix_inverse", "matrix_power", "norm", "pinv", "qr", "slogdet",
           "svd", "tensorinv", "tensorsolve", "trace"]
_public_names.adopt(globals())
__getattr__ = _lookup(__name__)
