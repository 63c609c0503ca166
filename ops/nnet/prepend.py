"""Prepending a constant column to a matrix: Theano's ``Prepend_scalar_...`` ops."""
import numpy

from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.ops.elementwise.scalar import as_dtype
from phintys.ops.nnet.prepend_kernel import PrependKernel
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.tensor_type import TensorType

__all__ = ["Prepend_scalar_constant_to_each_row", "Prepend_scalar_to_each_row", "prepend_0_to_each_row",
           "prepend_1_to_each_row", "prepend_scalar_to_each_row"]


def _matrix(mat):
    mat = as_tensor_variable(mat)
    if mat.type.ndim != 2:
        raise TypeError(f"Expected a matrix as input, got {mat.type}")
    return mat


def _wider(mat):
    """The type of a matrix with an additional column."""
    rows, columns = mat.type.shape
    return TensorType(mat.type.dtype, (mat.type.broadcastable[0], False),
                      shape=(rows, None if columns is None else columns + 1))


class Prepend_scalar_constant_to_each_row(Op):
    """Prepends a column of ``val`` to a matrix.

    Parameters
    ----------
    val : number

    Examples
    --------
    >>> T.nnet.prepend_0_to_each_row(T.as_tensor([[1.0, 2.0], [3.0, 4.0]])).eval()
    array([[0., 1., 2.],
           [0., 3., 4.]])
    """

    __props__ = ("val",)
    runs_alone = True

    def __init__(self, val=0):
        self.val = val

    def make_node(self, mat):
        mat = _matrix(mat)
        return Apply(self, [mat], [_wider(mat)()])

    def make_kernel(self, node):
        return PrependKernel(numpy.asarray(self.val).astype(node.outputs[0].type.dtype))

    def infer_shape(self, node, input_shapes):
        rows, columns = input_shapes[0]
        return [(rows, columns + 1)]

    def grad(self, inputs, output_grads):
        return [output_grads[0][:, 1:]]

    def R_op(self, inputs, eval_points):
        return [type(self)(0)(eval_points[0])]

    def __str__(self):
        return f"{type(self).__name__}{{{self.val}}}"


class Prepend_scalar_to_each_row(Op):
    """Prepends a column of ``val`` to a matrix. The inputs are val, which is 0-d, and the matrix.

    Examples
    --------
    >>> T.nnet.prepend_scalar_to_each_row(9.0, T.as_tensor([[1.0, 2.0], [3.0, 4.0]])).eval()
    array([[9., 1., 2.],
           [9., 3., 4.]])
    """

    __props__ = ()
    runs_alone = True

    def make_node(self, val, mat):
        val, mat = as_tensor_variable(val), _matrix(mat)
        if val.type.ndim:
            raise TypeError(f"Expected a scalar to prepend, got {val.type}")
        return Apply(self, [as_dtype(val, mat.type.dtype), mat], [_wider(mat)()])

    def make_kernel(self, node):
        return PrependKernel()

    def infer_shape(self, node, input_shapes):
        rows, columns = input_shapes[1]
        return [(rows, columns + 1)]

    def grad(self, inputs, output_grads):
        gradient, = output_grads
        return [gradient[:, 0].sum(), gradient[:, 1:]]

    def R_op(self, inputs, eval_points):
        by_val, by_mat = eval_points
        if by_val is None and by_mat is None:
            return [None]
        val, mat = inputs
        return [self(val.zeros_like() if by_val is None else by_val, mat.zeros_like() if by_mat is None else by_mat)]


prepend_scalar_to_each_row = Prepend_scalar_to_each_row()
prepend_0_to_each_row = Prepend_scalar_constant_to_each_row(0.0)
prepend_1_to_each_row = Prepend_scalar_constant_to_each_row(1.0)
