"""Theano's module ``sparse.basic``: all functions of sparse matrices, and the classes of their ops.

They are those of ``phintys.sparse``.
"""
import scipy.sparse as _scipy_sparse

from phintys import sparse as _sparse
from phintys.ops.sparse.products import _dot, _structured_dot  # noqa: F401
from phintys.ops.sparse.sparse_op import is_dense_variable as _is_dense_variable  # noqa: F401
from phintys.ops.sparse.sparse_op import is_sparse_variable as _is_sparse_variable  # noqa: F401
from phintys.ops.sparse.variables import SparseOperators as _sparse_py_operators  # noqa: F401
from phintys.sparse.type import _is_dense, _is_sparse  # noqa: F401
from phintys.theano_finder import lookup as _lookup

globals().update({_name: getattr(_sparse, _name) for _name in _sparse._of_families})
as_sparse = _sparse.as_sparse
_mtypes = [_scipy_sparse.csc_matrix, _scipy_sparse.csr_matrix]
_mtype_to_str = {_scipy_sparse.csc_matrix: "csc", _scipy_sparse.csr_matrix: "csr"}

__all__ = sorted(["as_sparse", *_sparse._of_families])
__getattr__ = _lookup(__name__)
