"""Theano's module ``sparse.utils``."""
from __future__ import annotations

import hashlib as _hashlib
from typing import Any

from phintys.theano_finder import lookup as _lookup

__all__ = ["hash_from_sparse"]


def hash_from_sparse(data: Any) -> str:
    """A hash of a sparse matrix: of its arrays, shape, dtype and format.

    Parameters
    ----------
    data : scipy.sparse matrix

    Returns
    -------
    str

    Examples
    --------
    >>> import scipy.sparse
    >>> one, other = scipy.sparse.csr_matrix(numpy.eye(2)), scipy.sparse.csr_matrix(numpy.eye(3))
    >>> hash_of = phintys.sparse.utils.hash_from_sparse
    >>> hash_of(one) == hash_of(one.copy()), hash_of(one) == hash_of(other)
    (True, False)
    """
    content = _hashlib.sha256(f"{data.format} {data.dtype} {data.shape}".encode())
    for part in (data.data, data.indices, data.indptr):
        content.update(f"{part.dtype} {part.shape}".encode() + part.tobytes())
    return content.hexdigest()


__getattr__ = _lookup(__name__)
