"""Comparisons of the elements of two matrices, at least one of which is sparse; the results are 0 and 1, as uint8.

The result is sparse if both are. Where neither stores an element, zeros are compared, so the results of ``==``, ``<=``
and ``>=`` of sparse matrices store most positions.
"""
import numpy

from phintys.graph.apply import Apply
from phintys.ops.sparse.arithmetic import operands_of
from phintys.ops.sparse.sparse_op import SparseOp, as_compressed, as_dense, check_shapes
from phintys.ops.sparse.sparse_type import SparseType
from phintys.ops.types.tensor_type import TensorType

__all__ = ["EqualSD", "EqualSS", "GreaterEqualSD", "GreaterEqualSS", "GreaterThanSD", "GreaterThanSS", "LessEqualSD",
           "LessEqualSS", "LessThanSD", "LessThanSS", "NotEqualSD", "NotEqualSS", "eq", "equal_s_d", "equal_s_s", "ge",
           "greater_equal_s_d", "greater_equal_s_s", "greater_than_s_d", "greater_than_s_s", "gt", "le",
           "less_equal_s_d", "less_equal_s_s", "less_than_s_d", "less_than_s_s", "lt", "neq", "not_equal_s_d",
           "not_equal_s_s"]


class _Comparison(SparseOp):
    """The base class; a subclass has ``compare``, a ufunc. Nothing depends smoothly on the operands."""

    shape_as = 0
    depends_on = ()

    def compute(self, x, y):
        check_shapes(self, x, y)
        return self.compare(x.toarray(), y.toarray() if hasattr(y, "toarray") else y)


class _OfSparse(_Comparison):
    """The base class for two sparse matrices of one format."""

    def make_node(self, x, y):
        x, y = as_compressed(self, x), as_compressed(self, y)
        if x.type.format != y.type.format:
            raise NotImplementedError(f"{self}: the matrices have different formats, {x.type} and {y.type}")
        return Apply(self, [x, y], [SparseType(x.type.format, "uint8")()])


class _WithDense(_Comparison):
    """The base class for a sparse and a dense matrix."""

    def make_node(self, x, y):
        x, y = as_compressed(self, x), as_dense(self, y, 2)
        return Apply(self, [x, y], [TensorType("uint8", (False, False))()])


class EqualSS(_OfSparse):
    """``x == y`` for two sparse matrices.

    Examples
    --------
    >>> from phintys import sparse
    >>> x, y = sparse.csr_matrix("x", "float64"), sparse.csr_matrix("y", "float64")
    >>> phintys.function([x, y], sparse.equal_s_s(x, y).toarray())([[0.0, 2.0]], [[0.0, 1.0]])
    array([[1, 0]], dtype=uint8)
    """

    compare = numpy.equal


class EqualSD(_WithDense):
    """``x == y`` for a sparse and a dense matrix.

    Examples
    --------
    >>> from phintys import sparse
    >>> x, y = sparse.csr_matrix("x", "float64"), T.dmatrix("y")
    >>> phintys.function([x, y], sparse.equal_s_d(x, y))([[0.0, 2.0]], [[0.0, 1.0]])
    array([[1, 0]], dtype=uint8)
    """

    compare = numpy.equal


class NotEqualSS(_OfSparse):
    """``x != y`` for two sparse matrices.

    Examples
    --------
    >>> from phintys import sparse
    >>> x, y = sparse.csr_matrix("x", "float64"), sparse.csr_matrix("y", "float64")
    >>> phintys.function([x, y], sparse.not_equal_s_s(x, y).toarray())([[0.0, 2.0]], [[0.0, 1.0]])
    array([[0, 1]], dtype=uint8)
    """

    compare = numpy.not_equal


class NotEqualSD(_WithDense):
    """``x != y`` for a sparse and a dense matrix.

    Examples
    --------
    >>> from phintys import sparse
    >>> x, y = sparse.csr_matrix("x", "float64"), T.dmatrix("y")
    >>> phintys.function([x, y], sparse.not_equal_s_d(x, y))([[0.0, 2.0]], [[0.0, 1.0]])
    array([[0, 1]], dtype=uint8)
    """

    compare = numpy.not_equal


class LessThanSS(_OfSparse):
    """``x < y`` for two sparse matrices.

    Examples
    --------
    >>> from phintys import sparse
    >>> x, y = sparse.csr_matrix("x", "float64"), sparse.csr_matrix("y", "float64")
    >>> phintys.function([x, y], sparse.less_than_s_s(x, y).toarray())([[0.0, 2.0]], [[0.0, 1.0]])
    array([[0, 0]], dtype=uint8)
    """

    compare = numpy.less


class LessThanSD(_WithDense):
    """``x < y`` for a sparse and a dense matrix.

    Examples
    --------
    >>> from phintys import sparse
    >>> x, y = sparse.csr_matrix("x", "float64"), T.dmatrix("y")
    >>> phintys.function([x, y], sparse.less_than_s_d(x, y))([[0.0, 2.0]], [[0.0, 1.0]])
    array([[0, 0]], dtype=uint8)
    """

    compare = numpy.less


class GreaterThanSS(_OfSparse):
    """``x > y`` for two sparse matrices.

    Examples
    --------
    >>> from phintys import sparse
    >>> x, y = sparse.csr_matrix("x", "float64"), sparse.csr_matrix("y", "float64")
    >>> phintys.function([x, y], sparse.greater_than_s_s(x, y).toarray())([[0.0, 2.0]], [[0.0, 1.0]])
    array([[0, 1]], dtype=uint8)
    """

    compare = numpy.greater


class GreaterThanSD(_WithDense):
    """``x > y`` for a sparse and a dense matrix.

    Examples
    --------
    >>> from phintys import sparse
    >>> x, y = sparse.csr_matrix("x", "float64"), T.dmatrix("y")
    >>> phintys.function([x, y], sparse.greater_than_s_d(x, y))([[0.0, 2.0]], [[0.0, 1.0]])
    array([[0, 1]], dtype=uint8)
    """

    compare = numpy.greater


class LessEqualSS(_OfSparse):
    """``x <= y`` for two sparse matrices.

    Examples
    --------
    >>> from phintys import sparse
    >>> x, y = sparse.csr_matrix("x", "float64"), sparse.csr_matrix("y", "float64")
    >>> phintys.function([x, y], sparse.less_equal_s_s(x, y).toarray())([[0.0, 2.0]], [[0.0, 1.0]])
    array([[1, 0]], dtype=uint8)
    """

    compare = numpy.less_equal


class LessEqualSD(_WithDense):
    """``x <= y`` for a sparse and a dense matrix.

    Examples
    --------
    >>> from phintys import sparse
    >>> x, y = sparse.csr_matrix("x", "float64"), T.dmatrix("y")
    >>> phintys.function([x, y], sparse.less_equal_s_d(x, y))([[0.0, 2.0]], [[0.0, 1.0]])
    array([[1, 0]], dtype=uint8)
    """

    compare = numpy.less_equal


class GreaterEqualSS(_OfSparse):
    """``x >= y`` for two sparse matrices.

    Examples
    --------
    >>> from phintys import sparse
    >>> x, y = sparse.csr_matrix("x", "float64"), sparse.csr_matrix("y", "float64")
    >>> phintys.function([x, y], sparse.greater_equal_s_s(x, y).toarray())([[0.0, 2.0]], [[0.0, 1.0]])
    array([[1, 1]], dtype=uint8)
    """

    compare = numpy.greater_equal


class GreaterEqualSD(_WithDense):
    """``x >= y`` for a sparse and a dense matrix.

    Examples
    --------
    >>> from phintys import sparse
    >>> x, y = sparse.csr_matrix("x", "float64"), T.dmatrix("y")
    >>> phintys.function([x, y], sparse.greater_equal_s_d(x, y))([[0.0, 2.0]], [[0.0, 1.0]])
    array([[1, 1]], dtype=uint8)
    """

    compare = numpy.greater_equal


equal_s_s, equal_s_d = EqualSS(), EqualSD()
not_equal_s_s, not_equal_s_d = NotEqualSS(), NotEqualSD()
less_than_s_s, less_than_s_d = LessThanSS(), LessThanSD()
greater_than_s_s, greater_than_s_d = GreaterThanSS(), GreaterThanSD()
less_equal_s_s, less_equal_s_d = LessEqualSS(), LessEqualSD()
greater_equal_s_s, greater_equal_s_d = GreaterEqualSS(), GreaterEqualSD()


def _compared(name, x, y, of_sparse, of_dense, swapped):
    x, y, (first, second) = operands_of(name, x, y)
    if first and second:
        return of_sparse(x, y)
    return of_dense(x, y) if first else swapped(y, x)


def eq(x, y):
    """``x == y`` for two matrices, at least one of which is sparse: uint8.

    Examples
    --------
    >>> from phintys import sparse
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], sparse.eq(x, T.as_tensor([[0.0, 1.0]])))([[0.0, 2.0]])
    array([[1, 0]], dtype=uint8)
    """
    return _compared("eq", x, y, equal_s_s, equal_s_d, equal_s_d)


def neq(x, y):
    """``x != y`` for two matrices, at least one of which is sparse: uint8.

    Examples
    --------
    >>> from phintys import sparse
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], sparse.neq(x, T.as_tensor([[0.0, 1.0]])))([[0.0, 2.0]])
    array([[0, 1]], dtype=uint8)
    """
    return _compared("neq", x, y, not_equal_s_s, not_equal_s_d, not_equal_s_d)


def lt(x, y):
    """``x < y`` for two matrices, at least one of which is sparse: uint8.

    Examples
    --------
    >>> from phintys import sparse
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], sparse.lt(x, T.as_tensor([[0.0, 1.0]])))([[0.0, 2.0]])
    array([[0, 0]], dtype=uint8)
    """
    return _compared("lt", x, y, less_than_s_s, less_than_s_d, greater_than_s_d)


def gt(x, y):
    """``x > y`` for two matrices, at least one of which is sparse: uint8.

    Examples
    --------
    >>> from phintys import sparse
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], sparse.gt(x, T.as_tensor([[0.0, 1.0]])))([[0.0, 2.0]])
    array([[0, 1]], dtype=uint8)
    """
    return _compared("gt", x, y, greater_than_s_s, greater_than_s_d, less_than_s_d)


def le(x, y):
    """``x <= y`` for two matrices, at least one of which is sparse: uint8.

    Examples
    --------
    >>> from phintys import sparse
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], sparse.le(x, T.as_tensor([[0.0, 1.0]])))([[0.0, 2.0]])
    array([[1, 0]], dtype=uint8)
    """
    return _compared("le", x, y, less_equal_s_s, less_equal_s_d, greater_equal_s_d)


def ge(x, y):
    """``x >= y`` for two matrices, at least one of which is sparse: uint8.

    Examples
    --------
    >>> from phintys import sparse
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], sparse.ge(x, T.as_tensor([[0.0, 1.0]])))([[0.0, 2.0]])
    array([[1, 1]], dtype=uint8)
    """
    return _compared("ge", x, y, greater_equal_s_s, greater_equal_s_d, less_equal_s_d)
