"""Prepending a constant column to a matrix: Theano's ``Prepend_scalar_...`` ops."""
from phintys.graph.public_names import at_home
from phintys.ops.creation.allocation import alloc
from phintys.ops.elementwise.scalar import as_dtype
from phintys.ops.shape.join import join
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.constant import as_tensor_variable

__all__ = ["Prepend_scalar_constant_to_each_row", "Prepend_scalar_to_each_row", "prepend_0_to_each_row",
           "prepend_1_to_each_row", "prepend_scalar_to_each_row"]


def prepend_scalar_to_each_row(val, mat):
    """Prepend a column of the number ``val`` to a matrix.

    Examples
    --------
    >>> T.nnet.prepend_scalar_to_each_row(9.0, T.as_tensor([[1.0, 2.0], [3.0, 4.0]])).eval()
    array([[9., 1., 2.],
           [9., 3., 4.]])
    """
    val, mat = as_tensor_variable(val), as_tensor_variable(mat)
    if mat.type.ndim != 2:
        raise TypeError(f"Expected a matrix as input, got {mat.type}")
    if val.type.ndim:
        raise TypeError(f"Expected a scalar to prepend, got {val.type}")
    return join(1, alloc(as_dtype(val, mat.type.dtype), shape_i(mat, 0), 1), mat)


def prepend_0_to_each_row(mat):
    """Prepend a column of zeros to a matrix.

    Examples
    --------
    >>> T.nnet.prepend_0_to_each_row(T.as_tensor([[1.0, 2.0], [3.0, 4.0]])).eval()
    array([[0., 1., 2.],
           [0., 3., 4.]])
    """
    return prepend_scalar_to_each_row(0.0, mat)


def prepend_1_to_each_row(mat):
    """Prepend a column of ones to a matrix.

    Examples
    --------
    >>> T.nnet.prepend_1_to_each_row(T.as_tensor([[1.0, 2.0], [3.0, 4.0]])).eval()
    array([[1., 1., 2.],
           [1., 3., 4.]])
    """
    return prepend_scalar_to_each_row(1.0, mat)


@at_home
class Prepend_scalar_to_each_row:
    """`prepend_scalar_to_each_row`, as an object like Theano's op of this name.

    Examples
    --------
    >>> T.nnet.Prepend_scalar_to_each_row()(9.0, T.as_tensor([[1.0, 2.0]])).eval()
    array([[9., 1., 2.]])
    """

    def __call__(self, val, mat):
        return prepend_scalar_to_each_row(val, mat)


@at_home
class Prepend_scalar_constant_to_each_row:
    """`prepend_scalar_to_each_row` for a given number, as an object like Theano's op of this name.

    Parameters
    ----------
    val : number

    Examples
    --------
    >>> T.nnet.Prepend_scalar_constant_to_each_row(7.0)(T.as_tensor([[1.0, 2.0]])).eval()
    array([[7., 1., 2.]])
    """

    def __init__(self, val=0):
        self.val = val

    def __call__(self, mat):
        return prepend_scalar_to_each_row(self.val, mat)
