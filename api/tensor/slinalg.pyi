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
    "MATRIX_STRUCTURES",
    "Solve",
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
    "solve",
    "solve_lower_triangular",
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
solve: Solve
solve_lower_triangular: Solve
solve_symmetric: Solve
def solve_triangular(a: _TensorLike, b: _TensorLike, trans: int | Variable = 0, lower: bool = False,
                     unit_diagonal: bool = False, on_error: str = 'raise') -> TensorVariable: ...
solve_upper_triangular: Solve
