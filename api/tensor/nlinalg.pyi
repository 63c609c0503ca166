"""Written by docs/write_stubs.py."""
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any as _Any

from numpy.typing import DTypeLike

from phintys.ops.factorizations.eigen import Eig as Eig
from phintys.ops.factorizations.eigen import Eigh as Eigh
from phintys.ops.factorizations.eigen import EighGrad as EighGrad
from phintys.ops.factorizations.functions import TensorInv as TensorInv
from phintys.ops.factorizations.functions import TensorSolve as TensorSolve
from phintys.ops.factorizations.inverse import Det as Det
from phintys.ops.factorizations.inverse import MatrixInverse as MatrixInverse
from phintys.ops.factorizations.inverse import MatrixPinv as MatrixPinv
from phintys.ops.factorizations.inverse import SLogDet as SLogDet
from phintys.ops.factorizations.least_squares import LeastSquares as LeastSquares
from phintys.ops.factorizations.least_squares import LeastSquares as lstsq
from phintys.ops.factorizations.orthogonal import QRFull as QRFull
from phintys.ops.factorizations.orthogonal import QRIncomplete as QRIncomplete
from phintys.ops.factorizations.orthogonal import SVD as SVD
from phintys.ops.linalg.diagonal import AllocDiag as AllocDiag
from phintys.ops.linalg.diagonal import ExtractDiag as ExtractDiag
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.graph.op import Op
from phintys.ops.types.tensor_type import TensorType
from phintys.ops.operators import TensorVariable
from phintys.graph.variable import Variable
from phintys.ops.operators import _Axis, _OfMany, _OfOne, _OfThree, _OfTwo, _Shape, _TensorLike

__all__ = [
    "AllocDiag",
    "Det",
    "Eig",
    "Eigh",
    "EighGrad",
    "ExtractDiag",
    "LeastSquares",
    "MatrixInverse",
    "MatrixPinv",
    "QRFull",
    "QRIncomplete",
    "SLogDet",
    "SVD",
    "TensorInv",
    "TensorSolve",
    "alloc_diag",
    "det",
    "diag",
    "eig",
    "eigh",
    "extract_diag",
    "lstsq",
    "matrix_dot",
    "matrix_inverse",
    "matrix_power",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "svd",
    "tensorinv",
    "tensorsolve",
    "trace",
]

def alloc_diag(x: _TensorLike) -> TensorVariable: ...
det: Det
def diag(v: _TensorLike, k: _Any = 0) -> TensorVariable: ...
eig: Eig
def eigh(a: _TensorLike, UPLO: str = 'L') -> list[TensorVariable]: ...
extract_diag: ExtractDiag
def matrix_dot(*args: _Any) -> TensorVariable: ...
matrix_inverse: MatrixInverse
def matrix_power(M: _Any, n: _Any) -> TensorVariable: ...
def norm(x: _TensorLike, ord: _Any = None, axis: _Axis = None, keepdims: bool = False) -> TensorVariable: ...
pinv: MatrixPinv
def qr(a: _TensorLike, mode: str = 'reduced') -> _Any: ...
def slogdet(a: _TensorLike) -> tuple[TensorVariable, TensorVariable]: ...
def svd(a: _TensorLike, full_matrices: bool = True, compute_uv: bool = True) -> _Any: ...
def tensorinv(a: _TensorLike, ind: int | Variable = 2) -> TensorVariable: ...
def tensorsolve(a: _TensorLike, b: _TensorLike, axes: _Any = None) -> TensorVariable: ...
def trace(a: _TensorLike, offset: int | Variable = 0, axis1: int = 0, axis2: int = 1) -> TensorVariable: ...
