"""The functions of ``numpy.linalg``, and more of ``scipy.linalg``, for symbolic tensors. Names only."""
from phintys.graph import public_names as _public_names
from phintys.ops.numpy_functions import norm
from phintys.ops.products.products import matmul, tensordot
from phintys.theano_finder import lookup as _lookup

# Most programs use no factorization, so these are loaded on demand.
_FACTORIZATIONS = {"cholesky": "functions", "det": "inverse", "eig": "eigen", "eigh": "eigen", "eigvals": "functions",
              "eigvalsh": "functions.hermitian_eigenvalues", "inv": "inverse.matrix_inverse",
              "lstsq": "least_squares.least_squares", "matrix_power": "functions", "multi_dot": "functions",
              "pinv": "inverse", "qr": "orthogonal", "slogdet": "inverse", "solve": "solve", "svd": "orthogonal",
              "tensorinv": "functions", "tensorsolve": "functions",
              # SciPy's, which Theano has in `slinalg`
              "block_diag": "functions", "cho_solve": "solve", "expm": "exponential", "lu": "functions",
              "lu_factor": "inverse", "solve_triangular": "solve",
              **dict.fromkeys(("ordqz", "qz", "schur", "solve_continuous_lyapunov", "solve_discrete_lyapunov",
                               "solve_sylvester"), "schur")}
_COMPOSITIONS = {"vectors": "cond matrix_norm matrix_rank svdvals vecdot vector_norm",
                 "factor_updates": "qr_delete qr_insert qr_update",
                 "matrix_functions": "cholesky_update expm_frechet logm null_space orth polar sqrtm",
                 "structured": """circulant companion hankel solve_banded solve_circulant solve_toeplitz solveh_banded
                                  toeplitz""",
                 "tridiagonal": "solve_tridiagonal", "matrices": "cross diagonal outer trace",
                 "joining": "matrix_transpose"}
_ON_DEMAND = {**{name: f"factorizations.{place}" for name, place in _FACTORIZATIONS.items()},
              **{name: f"compositions.{file}" for file, names in _COMPOSITIONS.items() for name in names.split()}}

__all__ = ["matmul", "norm", "tensordot"]
__all__ += sorted(_ON_DEMAND)
_public_names.adopt(globals())
_unknown = _lookup(__name__)


def __getattr__(name):
    if name not in _ON_DEMAND:
        return _unknown(name)
    from importlib import import_module
    room, module, *attribute = _ON_DEMAND[name].split(".")
    value = getattr(import_module(f"phintys.ops.{room}.{module}"), *(attribute or [name]))
    globals()[name] = value
    _public_names.adopt(globals())
    return value


def __dir__():
    return __all__
