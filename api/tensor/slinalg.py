"""Theano's name ``tensor.slinalg`` for linear algebra that SciPy has: names only."""
from phintys.graph import public_names as _public_names
from phintys.missing_names import lookup as _lookup
from phintys.ops.factorizations.cholesky import Cholesky, CholeskyGrad, cholesky
from phintys.ops.factorizations.eigen import Eigvalsh, EigvalshGrad, eigvalsh
from phintys.ops.factorizations.exponential import Expm, ExpmGrad, expm
from phintys.ops.factorizations.functions import block_diag, lu
from phintys.ops.factorizations.inverse import lu_factor
from phintys.ops.factorizations.solve import (
    MATRIX_STRUCTURES,
    Solve,
    SolveTriangular,
    cho_solve,
    solve,
    solve_lower_triangular,
    solve_symmetric,
    solve_triangular,
    solve_upper_triangular,
)
from phintys.ops.products.products import kron

imported_scipy = True

__all__ = ["MATRIX_STRUCTURES", "Cholesky", "CholeskyGrad", "Eigvalsh", "EigvalshGrad", "Expm", "ExpmGrad", "Solve",
           "SolveTriangular", "block_diag", "cho_solve", "cholesky", "eigvalsh", "expm", "kron", "lu", "lu_factor",
           "solve", "solve_lower_triangular", "solve_symmetric", "solve_triangular", "solve_upper_triangular"]
_public_names.adopt(globals())
__getattr__ = _lookup(__name__)
