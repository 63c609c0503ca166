"""Sparse matrices in the formats CSR and CSC, ``phintys.sparse``; SciPy computes with them.

>>> from phintys import sparse
>>> x, w = sparse.csr_matrix("x", "float64"), T.dvector("w")
>>> f = phintys.function([x, w], sparse.dot(x, w))

Importing this module imports ``scipy.sparse``, and lets ``phintys.shared`` make shared variables of sparse matrices.
"""
from importlib import import_module as _import_module

from phintys.graph import public_names as _public_names
from phintys.ops.sparse.sparse_op import as_sparse_variable as as_sparse
from phintys.sparse import sharedvar
from phintys.sparse.sharedvar import SparseTensorSharedVariable
from phintys.sparse.sharedvar import sparse_constructor as shared
from phintys.sparse.verification import verify_grad_sparse
from phintys.theano_finder import lookup as _lookup

enable_sparse = True            # of Theano: SciPy is there

_FAMILIES = """sparse_type sparse_op variables conversion compressed arithmetic comparison reduction products indexing
    structure structured_functions"""
_modules = [_import_module(f"phintys.ops.sparse.{_family}") for _family in _FAMILIES.split()]
_modules.append(_import_module("phintys.sparse.constructors"))
_of_families = [_name for _module in _modules for _name in _module.__all__]
for _module in _modules:
    globals().update({_name: getattr(_module, _name) for _name in _module.__all__})

_ON_DEMAND = ("basic", "opt", "sandbox", "type", "utils")              # modules of Theano
__all__ = sorted([*_of_families, *_ON_DEMAND, "SparseTensorSharedVariable", "as_sparse", "enable_sparse", "shared",
                  "sharedvar", "verify_grad_sparse"])
_public_names.adopt(globals())
_unknown = _lookup(__name__)


def __getattr__(name):
    if name in _ON_DEMAND:
        return _import_module("phintys.sparse." + name)
    return _unknown(name)
