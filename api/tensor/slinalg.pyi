"""Written by docs/write_stubs.py."""
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any as _Any

from numpy.typing import DTypeLike

from phintys.ops.factorizations.cholesky import Cholesky as Cholesky
from phintys.ops.factorizations.cholesky import CholeskyGrad as CholeskyGrad
from phintys.ops.factorizations.eigen import Eigvalsh as Eigvalsh
from phintys.ops.factorizations.eigen import EigvalshGrad as EigvalshGrad
from phintys.ops.factorizations.exponential import Expm as Expm
from phintys.ops.factorizations.exponential import ExpmGrad as ExpmGrad
from phintys.ops.factorizations.schur import GeneralizedSchur as GeneralizedSchur
from phintys.ops.factorizations.schur import Schur as Schur
from phintys.ops.factorizations.schur import SolveSylvester as SolveSylvester
from phintys.ops.factorizations.solve import Solve as Solve
from phintys.ops.factorizations.solve import SolveTriangular as SolveTriangular
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.graph.op import Op
from phintys.ops.types.tensor_type import TensorType
from phintys.ops.operators import TensorVariable
from phintys.graph.variable import Variable
from phintys.ops.operators import _Axis, _OfMany, _OfOne, _OfThree, _OfTwo, _Shape, _TensorLike

__all__ = [
    "Cholesky",
    "CholeskyGrad",
    "Eigvalsh",
    "EigvalshGrad",
    "Expm",
    "ExpmGrad",
    "GeneralizedSchur",
    "MATRIX_STRUCTURES",
    "Schur",
    "Solve",
    "SolveSylvester",
    "SolveTriangular",
    "block_diag",
    "cho_solve",
    "cholesky",
    "eigvalsh",
    "expm",
    "imported_scipy",
    "kron",
    "lu",
    "lu_factor",
    "ordqz",
    "qr",
    "qz",
    "schur",
    "solve",
    "solve_continuous_lyapunov",
    "solve_discrete_lyapunov",
    "solve_lower_triangular",
    "solve_sylvester",
    "solve_symmetric",
    "solve_triangular",
    "solve_upper_triangular",
]

MATRIX_STRUCTURES: tuple[TensorType, ...]
def block_diag(*matrices: _Any) -> TensorVariable: ...
def cho_solve(c_and_lower: _Any, b: _TensorLike, on_error: str = 'raise') -> TensorVariable: ...
cholesky: Cholesky
def eigvalsh(a: _TensorLike, b: _TensorLike | None = None, lower: bool = True) -> TensorVariable: ...
expm: Expm
imported_scipy: _Any
def kron(a: _TensorLike, b: _TensorLike) -> TensorVariable: ...
def lu(a: _TensorLike, permute_l: bool = False) -> _Any: ...
def lu_factor(a: _TensorLike) -> _Any: ...
def ordqz(A: _Any, B: _Any, sort: str = 'lhp', output: str = 'real') -> _Any: ...
def qr(a: _TensorLike, mode: str = 'full', pivoting: bool = False) -> _Any: ...
def qz(A: _Any, B: _Any, output: str = 'real') -> _Any: ...
def schur(a: _TensorLike, output: str = 'real', sort: _Any = None) -> _Any: ...
solve: Solve
def solve_continuous_lyapunov(a: _TensorLike, q: _Any) -> TensorVariable: ...
def solve_discrete_lyapunov(a: _TensorLike, q: _Any) -> TensorVariable: ...
solve_lower_triangular: Solve
def solve_sylvester(a: _TensorLike, b: _TensorLike, q: _Any) -> TensorVariable: ...
solve_symmetric: Solve
def solve_triangular(a: _TensorLike, b: _TensorLike, trans: int | Variable = 0, lower: bool = False,
                     unit_diagonal: bool = False, on_error: str = 'raise') -> TensorVariable: ...
solve_upper_triangular: Solve
