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


EXAMPLE = """{summary}

    Examples
    --------
    >>> x, y = phintys.sparse.csr_matrix("x", "float64"), {y}
    >>> phintys.function([x, y], phintys.sparse.{call})([[0.0, 2.0]], [[0.0, 1.0]])
    array([[{result}]], dtype=uint8)
"""
SPARSE, DENSE = 'phintys.sparse.csr_matrix("y", "float64")', 'T.dmatrix("y")'


def _classes(name, symbol, compare, function, result):
    """Make the classes of a comparison: of two sparse matrices, and of a sparse and a dense one.

    ``function`` is the name of their ops without its ending, and ``result`` what their examples show.
    """
    for base, ending, others, y, made in ((_OfSparse, "SS", "two sparse matrices", SPARSE, "_s_s(x, y).toarray()"),
                                          (_WithDense, "SD", "a sparse and a dense matrix", DENSE, "_s_d(x, y)")):
        text = EXAMPLE.format(summary=f"``x {symbol} y`` for {others}.", y=y, call=function + made, result=result)
        yield type(name + ending, (base,), {"__module__": __name__, "__doc__": text, "compare": compare})


EqualSS, EqualSD = _classes("Equal", "==", numpy.equal, "equal", "1, 0")
NotEqualSS, NotEqualSD = _classes("NotEqual", "!=", numpy.not_equal, "not_equal", "0, 1")
LessThanSS, LessThanSD = _classes("LessThan", "<", numpy.less, "less_than", "0, 0")
GreaterThanSS, GreaterThanSD = _classes("GreaterThan", ">", numpy.greater, "greater_than", "0, 1")
LessEqualSS, LessEqualSD = _classes("LessEqual", "<=", numpy.less_equal, "less_equal", "1, 0")
GreaterEqualSS, GreaterEqualSD = _classes("GreaterEqual", ">=", numpy.greater_equal, "greater_equal", "1, 1")

equal_s_s, equal_s_d = EqualSS(), EqualSD()
not_equal_s_s, not_equal_s_d = NotEqualSS(), NotEqualSD()
less_than_s_s, less_than_s_d = LessThanSS(), LessThanSD()
greater_than_s_s, greater_than_s_d = GreaterThanSS(), GreaterThanSD()
less_equal_s_s, less_equal_s_d = LessEqualSS(), LessEqualSD()
greater_equal_s_s, greater_equal_s_d = GreaterEqualSS(), GreaterEqualSD()


def _function(name, symbol, result, of_sparse, of_dense, swapped):
    """Make the function that chooses the op of a comparison; ``swapped`` compares its operands in the other order."""
    def compared(x, y):
        x, y, (first, second) = operands_of(name, x, y)
        if first and second:
            return of_sparse(x, y)
        return of_dense(x, y) if first else swapped(y, x)

    compared.__name__ = compared.__qualname__ = name
    compared.__doc__ = EXAMPLE.format(
        summary=f"``x {symbol} y`` for two matrices, at least one of which is sparse: uint8.", y=DENSE,
        call=f"{name}(x, y)", result=result)
    return compared


eq = _function("eq", "==", "1, 0", equal_s_s, equal_s_d, equal_s_d)
neq = _function("neq", "!=", "0, 1", not_equal_s_s, not_equal_s_d, not_equal_s_d)
lt = _function("lt", "<", "0, 0", less_than_s_s, less_than_s_d, greater_than_s_d)
gt = _function("gt", ">", "0, 1", greater_than_s_s, greater_than_s_d, less_than_s_d)
le = _function("le", "<=", "1, 0", less_equal_s_s, less_equal_s_d, greater_equal_s_d)
ge = _function("ge", ">=", "1, 1", greater_equal_s_s, greater_equal_s_d, less_equal_s_d)
