"""Derivatives of functions of sparse matrices, compared with differences: `verify_grad_sparse`."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import scipy.sparse as _scipy_sparse

from phintys.gradient import verify_grad as _verify_grad
from phintys.ops.sparse.compressed import CSM as _CSM
from phintys.ops.sparse.conversion import DenseFromSparse as _DenseFromSparse
from phintys.ops.sparse.conversion import SparseFromDense as _SparseFromDense
from phintys.ops.sparse.sparse_op import is_sparse as _is_sparse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.op import Op

__all__ = ["verify_grad_sparse"]


def _dense_and_back(value, structured):
    """An array that `verify_grad` may vary, and the function that makes the sparse matrix of its variable."""
    if not _scipy_sparse.issparse(value):
        return value, lambda x: x
    if structured:
        return value.data, lambda data: _CSM(value.format)(data, value.indices, value.indptr, value.shape)
    return value.toarray(), _SparseFromDense(value.format)


def verify_grad_sparse(op: Op, pt: Sequence[Any], structured: bool = False, **options: Any) -> Any:
    """Compare the gradient of a function of sparse and dense matrices with differences.

    Parameters
    ----------
    op : callable
        Takes variables and returns one, sparse or dense.
    pt : sequence of array or scipy.sparse matrix
        The point.
    structured : bool
        Vary only stored elements, as for functions whose gradient is structured.
    **options
        For ``phintys.gradient.verify_grad``.

    Raises
    ------
    phintys.gradient.verify_grad.E_grad
        If they differ.

    Examples
    --------
    >>> import scipy.sparse
    >>> sparse.verify_grad_sparse(sparse.sqr, [scipy.sparse.csr_matrix(numpy.eye(3))], structured=True,
    ...                           rng=numpy.random.RandomState(3))
    """
    arrays, back = zip(*[_dense_and_back(value, structured) for value in pt])

    def of_dense(*inputs):
        result = op(*[convert(x) for convert, x in zip(back, inputs)])
        return _DenseFromSparse(structured)(result) if _is_sparse(result) else result
    return _verify_grad(of_dense, list(arrays), **options)
