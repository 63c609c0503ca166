"""Triangles of matrices: the op Triangle, ``tril`` and ``triu``.

All other elements become zero, including NaN and infinities, as in NumPy; Theano multiplies by a matrix of ones and
zeros instead. ``tri``, which makes such a matrix, is in ``allocation.py``.
"""
from phintys.graph.apply import Apply
from phintys.graph.config import config
from phintys.graph.op import Op
from phintys.graph.valueless_types import disconnected_type
from phintys.ops.creation.allocation import alloc
from phintys.ops.linalg.triangle_kernel import TriangleKernel
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import discrete_dtypes, integer_dtypes


class Triangle(Op):
    """One triangle of every matrix along the last two dimensions, with zeros elsewhere. The inputs are the tensor and
    the number of the diagonal that bounds the triangle.

    Parameters
    ----------
    upper : bool
        Whether to keep the elements on and above the diagonal; otherwise those on and below it are kept.
    inplace : bool
        Whether the result may overwrite the tensor.

    Raises
    ------
    ValueError
        If the tensor has fewer than two dimensions.
    TypeError
        If the diagonal is not an integer.
    """

    runs_alone = True
    __props__ = ("upper", "inplace")
    shape_as = 0
    linear_in = (0,)
    can_overwrite = {0: (0,)}
    cannot_fail = True
    depends_on = (0,)

    def __init__(self, upper=False, inplace=False):
        self.upper, self.inplace = bool(upper), bool(inplace)
        if self.inplace:
            self.destroy_map = {0: [0]}

    def make_node(self, m, k):
        m, k = as_tensor_variable(m), as_tensor_variable(k)
        if m.type.ndim < 2:
            raise ValueError(f"a triangle needs a matrix, {m} has {m.type.ndim} dimensions")
        if k.type.ndim != 0 or k.type.dtype not in integer_dtypes:
            raise TypeError(f"the number of a diagonal must be an integer, got {k} of type {k.type}")
        return Apply(self, [m, k], [m.type()])

    def make_kernel(self, node):
        return TriangleKernel(self.upper)

    def grad(self, inputs, output_grads):
        m, k = inputs
        if m.type.dtype in discrete_dtypes:
            return [m.zeros_like(dtype=config.floatX), disconnected_type()]
        return [Triangle(self.upper)(output_grads[0], k), disconnected_type()]


_lower, _upper = Triangle(), Triangle(upper=True)


def _matrices(m):
    """A vector as the matrix of which each row is the vector, as NumPy has it."""
    m = as_tensor_variable(m)
    return m if m.type.ndim != 1 else alloc(m, shape_i(m, 0), shape_i(m, 0))


def tril(m, k=0):
    """The lower triangle: ``m`` with zeros above diagonal ``k``.

    Parameters
    ----------
    m : tensor-like
        A matrix, or matrices along the last two dimensions; a vector stands for a square matrix of equal rows.
    k : int or symbolic integer
        The highest diagonal that is kept: 0 is the main diagonal, positive numbers are above it.

    Returns
    -------
    TensorVariable
        Of the type of ``m``.

    Raises
    ------
    ValueError
        If ``m`` has no dimensions.

    Examples
    --------
    >>> T.tril(T.as_tensor([[1, 2], [3, 4]])).eval()
    array([[1, 0],
           [3, 4]])
    """
    return _lower(_matrices(m), k)


def triu(m, k=0):
    """The upper triangle: ``m`` with zeros below diagonal ``k``; see `tril`.

    Examples
    --------
    >>> T.triu(T.as_tensor([[1, 2], [3, 4]])).eval()
    array([[1, 2],
           [0, 4]])
    """
    return _upper(_matrices(m), k)
