"""Theano's module ``sparse.type``: the type of sparse matrices."""
import numpy as _numpy
import scipy.sparse as _scipy_sparse

from phintys.ops.sparse.sparse_type import SparseType
from phintys.ops.sparse.sparse_type import described as _described
from phintys.theano_finder import lookup as _lookup

__all__ = ["SparseType"]


def _is_sparse(x):
    """Whether a value is a sparse matrix of SciPy and no array.

    Raises
    ------
    NotImplementedError
        If it is neither.
    """
    if not _scipy_sparse.issparse(x) and not isinstance(x, (_numpy.ndarray, tuple, list)):
        raise NotImplementedError(f"expected a sparse matrix of SciPy or an array, got {_described(x)}")
    return _scipy_sparse.issparse(x)


def _is_dense(x):
    """Whether a value is an array and no sparse matrix of SciPy.

    Raises
    ------
    NotImplementedError
        If it is neither.
    """
    return not _is_sparse(x)


__getattr__ = _lookup(__name__)
