"""Theano's module ``sparse.basic``: all functions of sparse matrices, and the classes of their ops.

The names are defined in ``phintys.ops.sparse``, a file for each family.
"""
from importlib import import_module as _import_module

import scipy.sparse as _scipy_sparse

from phintys.missing_names import lookup as _lookup
from phintys.ops.sparse.products import _dot, _structured_dot  # noqa: F401
from phintys.ops.sparse.sparse_op import as_sparse_variable
from phintys.ops.sparse.sparse_op import is_dense_variable as _is_dense_variable  # noqa: F401
from phintys.ops.sparse.sparse_op import is_sparse_variable as _is_sparse_variable  # noqa: F401
from phintys.ops.sparse.variables import SparseOperators as _sparse_py_operators  # noqa: F401
from phintys.sparse.type import _is_dense, _is_sparse  # noqa: F401

_FAMILIES = """sparse_type sparse_op variables conversion compressed arithmetic comparison reduction products indexing
    structure structured_functions"""
_modules = [_import_module(f"phintys.ops.sparse.{_family}") for _family in _FAMILIES.split()]
_modules.append(_import_module("phintys.sparse.constructors"))
for _module in _modules:
    globals().update({_name: getattr(_module, _name) for _name in _module.__all__})

as_sparse = as_sparse_variable
_mtypes = [_scipy_sparse.csc_matrix, _scipy_sparse.csr_matrix]
_mtype_to_str = {_scipy_sparse.csc_matrix: "csc", _scipy_sparse.csr_matrix: "csr"}

__all__ = sorted(["as_sparse", *[_name for _module in _modules for _name in _module.__all__]])
__getattr__ = _lookup(__name__)
