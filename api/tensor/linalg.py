"""NumPy's name ``linalg``: the functions of ``numpy.linalg``, for symbolic tensors. Names only."""
from phintys.graph import public_names as _public_names
from phintys.ops.numpy_functions import norm
from phintys.theano_finder import lookup as _lookup

# Most programs use no factorization, so these are loaded on demand.
_ON_DEMAND = {"cholesky": "functions", "det": "inverse", "eig": "eigen", "eigh": "eigen", "eigvals": "functions",
              "eigvalsh": "functions.hermitian_eigenvalues", "inv": "inverse.matrix_inverse",
              "lstsq": "least_squares.least_squares", "matrix_power": "functions", "multi_dot": "functions",
              "pinv": "inverse", "qr": "orthogonal", "slogdet": "inverse", "solve": "solve", "svd": "orthogonal",
              "tensorinv": "functions", "tensorsolve": "functions"}

__all__ = ["norm"]
__all__ += sorted(_ON_DEMAND)
_public_names.adopt(globals())
_unknown = _lookup(__name__)


def __getattr__(name):
    if name not in _ON_DEMAND:
        return _unknown(name)
    from importlib import import_module
    module, _, attribute = _ON_DEMAND[name].partition(".")
    value = getattr(import_module("phintys.ops.factorizations." + module), attribute or name)
    globals()[name] = value
    _public_names.adopt(globals())
    return value


def __dir__():
    return __all__
