"""Variables and constants of sparse matrices, and the operators that they have."""
import hashlib

from phintys.graph.public_names import at_home
from phintys.graph.variable import Constant, Variable
from phintys.ops.shape.shape import Shape
from phintys.ops.sparse.arithmetic import add, mul, neg, sub, transpose
from phintys.ops.sparse.comparison import ge, gt, le, lt
from phintys.ops.sparse.compressed import csm_data, sp_ones_like, sp_zeros_like
from phintys.ops.sparse.conversion import cast, dense_from_sparse
from phintys.ops.sparse.indexing import get_item
from phintys.ops.sparse.products import structured_dot
from phintys.ops.sparse.sparse_type import SparseType

__all__ = ["SparseConstant", "SparseType", "SparseVariable"]

_shape = Shape()


def reflected(function):
    """Make the method of a reflected binary operator, where ``self`` is the right operand."""
    return lambda self, other: function(other, self)


@at_home
class SparseOperators:
    """The methods and operators of variables, constants and shared variables of sparse matrices."""

    __array_ufunc__ = None          # arrays of NumPy leave operators to these variables

    T = property(lambda self: transpose(self), doc="The transpose, a view: in CSC format if this is in CSR format.")
    shape = property(lambda self: _shape(self), doc="The shape, a symbolic vector of int64.")
    size = property(lambda self: csm_data(self).size, doc="How many elements are stored, zeros included.")
    ndim = property(lambda self: self.type.ndim, doc="2.")
    dtype = property(lambda self: self.type.dtype, doc="The dtype of the elements.")
    format = property(lambda self: self.type.format, doc='"csr", "csc" or "bsr".')

    def astype(self, dtype):
        """The matrix in another dtype."""
        return cast(self, dtype)

    def toarray(self):
        """The matrix as a dense one."""
        return dense_from_sparse(self)

    def zeros_like(self, dtype=None):
        """A matrix of the same shape that stores nothing."""
        return sp_zeros_like(self, dtype)

    def ones_like(self, dtype=None):
        """Ones at the stored positions."""
        return sp_ones_like(self, dtype)

    def transpose(self):
        """The transpose, a view."""
        return transpose(self)

    __add__, __radd__ = add, reflected(add)
    __sub__, __rsub__ = sub, reflected(sub)
    __mul__, __rmul__ = mul, reflected(mul)
    __lt__, __le__, __gt__, __ge__ = lt, le, gt, ge
    __dot__, __rdot__ = structured_dot, reflected(structured_dot)
    __matmul__, __rmatmul__ = __dot__, __rdot__

    def __neg__(self):
        return neg(self)

    def __getitem__(self, index):
        return get_item(self, index)

    def __iter__(self):
        raise TypeError("a sparse variable has no known length, so it cannot be iterated over; see phintys.scan")


@at_home
class SparseVariable(SparseOperators, Variable):
    """A variable whose values are sparse matrices.

    Examples
    --------
    >>> x = phintys.sparse.csr_matrix(dtype="float64")
    >>> x, (x * 2).T.format
    (SparseVariable{csr,float64}, 'csc')
    """

    def __str__(self):
        if self.name is not None or self.owner is not None:
            return super().__str__()
        return f"{type(self).__name__}{{{self.type.format},{self.type.dtype}}}"

    def __repr__(self):
        return str(self)


@at_home
class SparseConstant(SparseOperators, Constant):
    """A constant sparse matrix.

    Examples
    --------
    >>> import scipy.sparse
    >>> phintys.sparse.as_sparse_variable(scipy.sparse.csr_matrix(numpy.eye(3)))
    SparseConstant{csr,float64,shape=(3, 3),nnz=3}
    """

    def signature(self):
        """The type, the shape and a hash of the arrays: constants of equal signatures are merged."""
        content = hashlib.blake2b(digest_size=32)
        for part in (self.data.data, self.data.indices, self.data.indptr):
            content.update(str(part.shape).encode() + str(part.dtype).encode() + part.tobytes())
        return self.type, self.data.shape, content.digest()

    def __str__(self):
        if self.name is not None:
            return self.name
        return (f"{type(self).__name__}{{{self.type.format},{self.type.dtype},shape={self.data.shape},"
                f"nnz={self.data.nnz}}}")

    def __repr__(self):
        return str(self)


SparseType.Variable, SparseType.Constant = SparseVariable, SparseConstant
