"""Sparse matrices in the formats CSR and CSC, ``phintys.sparse``; SciPy computes with them.

>>> from phintys import sparse
>>> x, w = sparse.csr_matrix("x", "float64"), T.dvector("w")
>>> f = phintys.function([x, w], sparse.dot(x, w))

Importing this module imports ``scipy.sparse``, and lets ``phintys.shared`` make shared variables of sparse matrices.
"""
from phintys.graph import public_names as _public_names
from phintys.missing_names import lookup as _lookup
from phintys.sparse import basic, opt, sandbox, sharedvar, type, utils
from phintys.sparse.basic import *  # noqa: F403
from phintys.sparse.sharedvar import SparseTensorSharedVariable
from phintys.sparse.sharedvar import sparse_constructor as shared
from phintys.sparse.verification import verify_grad_sparse

enable_sparse = True            # of Theano: SciPy is there

__all__ = sorted([*basic.__all__, "SparseTensorSharedVariable", "basic", "enable_sparse", "opt", "sandbox", "shared",
                  "sharedvar", "type", "utils", "verify_grad_sparse"])
_public_names.adopt(globals())
__getattr__ = _lookup(__name__)
