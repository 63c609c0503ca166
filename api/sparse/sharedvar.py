"""Theano's module ``sparse.sharedvar``: shared variables of sparse matrices.

``phintys.shared`` makes them from SciPy's matrices once ``phintys.sparse`` has been imported, as in Theano; before
that, it stores such a matrix like any other object.
"""
from __future__ import annotations

from typing import Any

import scipy.sparse as _scipy_sparse

from phintys.ops.sparse.sparse_type import SparseType
from phintys.ops.sparse.sparse_type import described as _described
from phintys.ops.sparse.variables import SparseOperators
from phintys.shared import SharedVariable, shared_constructor
from phintys.theano_finder import lookup as _lookup

__all__ = ["SparseTensorSharedVariable", "sparse_constructor"]


class SparseTensorSharedVariable(SparseOperators, SharedVariable):
    """A shared sparse matrix.

    Examples
    --------
    >>> import scipy.sparse
    >>> weights = phintys.shared(scipy.sparse.csr_matrix(numpy.eye(2)), name="weights")
    >>> type(weights).__name__, (weights * 3.0).toarray().eval()
    ('SparseTensorSharedVariable', array([[3., 0.],
           [0., 3.]]))
    """


@shared_constructor
def sparse_constructor(value: Any, name: str | None = None, strict: bool = False, allow_downcast: Any = None,
                       borrow: bool = False, format: str | None = None) -> SparseTensorSharedVariable:
    """A shared variable with a copy of a sparse matrix.

    Parameters
    ----------
    value : scipy.sparse matrix
    name, strict, allow_downcast
        As for ``phintys.shared``.
    borrow : bool
        Use the matrix itself.
    format : str, optional
        Default: that of the matrix.

    Raises
    ------
    TypeError
        If the value is not a sparse matrix.

    Examples
    --------
    >>> import scipy.sparse
    >>> phintys.shared(scipy.sparse.csr_matrix(numpy.eye(2)), format="csc").type
    Sparse[float64, csc]
    """
    if not _scipy_sparse.issparse(value):
        raise TypeError(f"expected a sparse matrix of SciPy, got {_described(value)}")
    try:
        type_ = SparseType(format or value.format, value.dtype)
    except NotImplementedError as error:
        raise TypeError(str(error)) from None
    return SparseTensorSharedVariable(name, type_, value, strict, allow_downcast, borrow=borrow)


__getattr__ = _lookup(__name__)
