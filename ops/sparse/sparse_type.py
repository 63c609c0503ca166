"""SparseType: the type of SciPy's sparse matrices of one format and dtype.

Values are ``scipy.sparse.csr_matrix``, ``csc_matrix`` or ``bsr_matrix``; other sparse matrices, sparse arrays and dense
matrices are converted. Programs hold them as Python objects. No op changes a value in place, except those whose
``destroy_map`` says so.
"""
import numpy
import scipy.sparse

from phintys.graph.type import Type
from phintys.ops.sparse.positions_kernel import are_sound
from phintys.ops.types.dtypes import canonical_dtype
from phintys.ops.types.tensor_type import DEFAULT_TOLERANCE, TOLERANCES

__all__ = ["SparseType"]

COMPRESSED = ("csr", "csc")         # the formats that ops compute with


class SparseType(Type):
    """The type of sparse matrices of one format and dtype.

    Parameters
    ----------
    format : str
        "csr", "csc" or "bsr".
    dtype : str or numpy.dtype
        Integers, floats and complex numbers, but not float16 and bool, which SciPy's matrices do not have.

    Raises
    ------
    NotImplementedError
        For another format or dtype.

    Examples
    --------
    >>> x = sparse.SparseType("csr", "float64")("x")
    >>> x.type, x.ndim, phintys.function([x], sparse.sp_sum(x))(numpy.eye(3)).item()
    (Sparse[float64, csr], 2, 3.0)
    """

    __props__ = ("format", "dtype")
    format_cls = {"csr": scipy.sparse.csr_matrix, "csc": scipy.sparse.csc_matrix, "bsr": scipy.sparse.bsr_matrix}
    dtype_set = {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
                 "complex64", "complex128"}
    ndim = 2
    broadcastable, shape = (False, False), (None, None)

    def __init__(self, format, dtype):
        self.dtype = canonical_dtype(dtype)
        if self.dtype not in self.dtype_set:
            raise NotImplementedError(f"SparseType: unsupported dtype {self.dtype!r}, not one of "
                                      f"{', '.join(sorted(self.dtype_set))}")
        if format not in self.format_cls:
            raise NotImplementedError(f"SparseType: unsupported format {format!r}, not one of "
                                      f"{', '.join(self.format_cls)}")
        self.format = format
        self.numpy_dtype = numpy.dtype(self.dtype)

    def unread_value(self):
        return self.format_cls[self.format]((1, 1), dtype=self.dtype)

    def filter(self, value, strict=False, allow_downcast=None):
        """Return a matrix of this format and dtype; the value itself if it is one.

        Raises
        ------
        TypeError
            If it is not a matrix; or, unless ``allow_downcast``, if numbers of its dtype may change by the conversion.
        ValueError
            If it is converted, but its arrays make no matrix.
        """
        matrix = self.format_cls[self.format]
        if isinstance(value, matrix) and value.dtype == self.numpy_dtype:
            return value
        if scipy.sparse.issparse(value):
            check_matrix(value)         # the conversion trusts its positions
        if strict:
            raise TypeError(f"expected a {matrix.__name__} of SciPy of dtype {self.dtype}, got {described(value)}")
        try:
            converted = matrix(value)
        except (TypeError, ValueError) as error:
            raise TypeError(f"expected a sparse matrix for {self}, got {described(value)}: {error}") from None
        if converted.dtype == self.numpy_dtype:
            return converted
        if not allow_downcast and not numpy.can_cast(converted.dtype, self.numpy_dtype, "safe"):
            raise TypeError(f"expected a sparse matrix of dtype {self.dtype}, got {described(value)}: numbers could "
                            "change by the conversion; allow_downcast=True permits it")
        return converted.astype(self.numpy_dtype)

    def is_valid_value(self, value):
        return scipy.sparse.issparse(value) and value.format == self.format and value.dtype == self.numpy_dtype

    @staticmethod
    def may_share_memory(a, b):
        """Whether two sparse matrices, or one and an array, have memory in common."""
        if not scipy.sparse.issparse(a) and not scipy.sparse.issparse(b):
            return False
        return any([numpy.may_share_memory(x, y) for x in _arrays(a) for y in _arrays(b)])

    def values_eq(self, a, b):
        return self._compared(a, b, lambda x, y: (x == y) | ((x != x) & (y != y)))

    def values_eq_approx(self, a, b):
        relative, absolute = TOLERANCES.get(self.dtype, DEFAULT_TOLERANCE)
        return self._compared(a, b, lambda x, y: numpy.isclose(x, y, rtol=relative, atol=absolute, equal_nan=True))

    def _compared(self, a, b, equal):
        """Whether two matrices have equal elements wherever at least one of them has stored one."""
        if not scipy.sparse.issparse(a) or not scipy.sparse.issparse(b) or a.shape != b.shape or a.dtype != b.dtype:
            return False
        return bool(equal(*_beside(a, b)).all())

    def get_shape_info(self, value):
        """The argument for `get_size`: a value's shape and the lengths of its arrays."""
        value = self.filter(value)
        return value.shape, value.data.size, value.indices.size, value.indptr.size, value.nnz

    def get_size(self, shape_info):
        """The bytes of a value."""
        _, data, indices, pointers, _ = shape_info
        return data * self.numpy_dtype.itemsize + (indices + pointers) * numpy.dtype("int32").itemsize

    def __str__(self):
        return f"Sparse[{self.dtype}, {self.format}]"

    __repr__ = __str__


# ---- malformed matrices ----------------------------------------------------------------------------------------------
# SciPy's functions in C trust the arrays of a matrix: they read and write where the positions say. SciPy compares them
# only when a matrix is made, and not each of them.
def is_outside(positions, length):
    """Whether a position is negative, or not below a length."""
    return positions.size > 0 and not (0 <= int(positions.min()) and int(positions.max()) < length)


def fault_of(form, shape, count, indices, indptr):
    """What is wrong with the arrays of a matrix in CSR or CSC format that has ``count`` numbers; None: nothing."""
    major, minor = shape if form == "csr" else shape[::-1]
    if are_sound(indices, indptr, count, major, minor):
        return None
    across, along = ("row", "column") if form == "csr" else ("column", "row")
    if major < 0 or minor < 0:
        return "it has negative lengths"
    for name, positions in (("indices", indices), ("indptr", indptr)):
        if positions.ndim != 1 or positions.dtype.kind not in "iu":
            return f"{name} is no vector of integers, but of dtype {positions.dtype} and shape {positions.shape}"
    if len(indptr) != major + 1:
        return f"indptr has {len(indptr)} elements; for {major} {across}s it must have {major + 1}"
    stored = int(indptr[-1])
    if indptr[0] != 0:
        return f"indptr begins with {indptr[0]} instead of 0"
    if (indptr[1:] < indptr[:-1]).any():
        at = int(numpy.argmax(indptr[1:] < indptr[:-1]))
        return f"indptr decreases from {indptr[at]} to {indptr[at + 1]} at {across} {at}"
    if stored > min(count, len(indices)):
        return f"indptr ends with {stored}, but there are {count} numbers and {len(indices)} indices"
    if is_outside(indices[:stored], minor):
        at = int(numpy.argmax((indices[:stored] < 0) | (indices[:stored] >= minor)))
        return f"index {indices[at]} at position {at} is outside of {minor} {along}s"
    return None


def check_matrix(matrix, name="a sparse matrix"):
    """Raise ``ValueError`` if the arrays of a matrix of SciPy make no matrix."""
    fault, form, data = None, matrix.format, matrix.data
    if form in COMPRESSED:
        fault = (fault_of(form, matrix.shape, len(data), matrix.indices, matrix.indptr) if data.ndim == 1
                 else f"its numbers have shape {data.shape}")
    elif form == "bsr":
        blocks = data.shape[1:]
        if data.ndim != 3 or 0 in blocks or any([length % block for length, block in zip(matrix.shape, blocks)]):
            fault = f"its blocks have shape {data.shape}"
        else:
            shape = tuple([length // block for length, block in zip(matrix.shape, blocks)])
            fault = fault_of("csr", shape, len(data), matrix.indices, matrix.indptr)
    elif form == "coo" and matrix.ndim == 2:
        for positions, length, line in ((matrix.row, matrix.shape[0], "row"), (matrix.col, matrix.shape[1], "column")):
            if positions.dtype.kind not in "iu" or len(positions) != len(data) or is_outside(positions, length):
                fault = f"its {line}s are not one for each of {len(data)} numbers below {length}"
    if fault is not None:
        raise ValueError(f"{name}, {described(matrix)}, is malformed: {fault}")


def described(value):
    """A value in a few words, for errors."""
    if scipy.sparse.issparse(value):
        return f"a {type(value).__name__} of dtype {value.dtype} and shape {value.shape}"
    if isinstance(value, numpy.ndarray):
        return f"an array of dtype {value.dtype} and shape {value.shape}"
    return f"{value!r} of type {type(value).__name__}"


def _arrays(value):
    return [value.data, value.indices, value.indptr] if scipy.sparse.issparse(value) else [value]


def _beside(a, b):
    """The numbers of both matrices at all positions where at least one has a number."""
    a, b = a.tocoo(), b.tocoo()
    columns = max(a.shape[1], 1)
    at_a, at_b = [matrix.row.astype("int64") * columns + matrix.col for matrix in (a, b)]
    positions = numpy.union1d(at_a, at_b)
    numbers = []
    for matrix, at in ((a, at_a), (b, at_b)):
        row = numpy.zeros(len(positions), matrix.dtype)
        numpy.add.at(row, numpy.searchsorted(positions, at), matrix.data)
        numbers.append(row)
    return numbers
