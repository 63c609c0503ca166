"""Variables and types of sparse matrices by short names: ``csr_matrix``, ``csc_fmatrix``, ..., and sets of dtypes."""
from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.graph.config import config as _config
from phintys.ops.sparse import variables as _variables  # noqa: F401, which gives SparseType its variables
from phintys.ops.sparse.sparse_type import SparseType

if TYPE_CHECKING:
    from phintys.ops.sparse.variables import SparseVariable

__all__ = ["all_dtypes", "bsr_dmatrix", "bsr_fmatrix", "bsr_matrix", "complex_dtypes", "continuous_dtypes",
           "csc_dmatrix", "csc_fmatrix", "csc_matrix", "csr_dmatrix", "csr_fmatrix", "csr_matrix", "discrete_dtypes",
           "float_dtypes", "int_dtypes", "integer_dtypes", "matrix", "sparse_formats", "uint_dtypes"]

sparse_formats = ["csc", "csr"]
all_dtypes = SparseType.dtype_set


def _starting_with(prefix):
    return sorted([dtype for dtype in all_dtypes if dtype.startswith(prefix)])


complex_dtypes, float_dtypes = _starting_with("complex"), _starting_with("float")
int_dtypes, uint_dtypes = _starting_with("int"), _starting_with("uint")
integer_dtypes = discrete_dtypes = int_dtypes + uint_dtypes
continuous_dtypes = complex_dtypes + float_dtypes


def matrix(format: str, name: str | None = None, dtype: str | None = None) -> SparseVariable:
    """A variable of sparse matrices.

    Parameters
    ----------
    format : str
        "csr", "csc" or "bsr".
    name : str, optional
    dtype : str, optional
        Default: ``config.floatX``.

    Examples
    --------
    >>> phintys.sparse.matrix("csc", "x", "float32").type
    Sparse[float32, csc]
    """
    return SparseType(format, dtype or _config.floatX)(name)


def csc_matrix(name: str | None = None, dtype: str | None = None) -> SparseVariable:
    """A variable of sparse matrices in CSC format; the dtype is by default ``config.floatX``.

    Examples
    --------
    >>> phintys.sparse.csc_matrix("x", "float64").type
    Sparse[float64, csc]
    """
    return matrix("csc", name, dtype)


def csr_matrix(name: str | None = None, dtype: str | None = None) -> SparseVariable:
    """A variable of sparse matrices in CSR format; the dtype is by default ``config.floatX``.

    Examples
    --------
    >>> phintys.sparse.csr_matrix("x", "float64").type
    Sparse[float64, csr]
    """
    return matrix("csr", name, dtype)


def bsr_matrix(name: str | None = None, dtype: str | None = None) -> SparseVariable:
    """A variable of sparse matrices in BSR format, which only products know; the dtype is by default ``config.floatX``.

    Examples
    --------
    >>> phintys.sparse.bsr_matrix("x", "float64").type
    Sparse[float64, bsr]
    """
    return matrix("bsr", name, dtype)


csc_dmatrix, csr_dmatrix, bsr_dmatrix = [SparseType(format, "float64") for format in ("csc", "csr", "bsr")]
csc_fmatrix, csr_fmatrix, bsr_fmatrix = [SparseType(format, "float32") for format in ("csc", "csr", "bsr")]
