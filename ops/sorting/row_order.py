"""The order of rows: RowOrder, which is used to find distinct rows."""
from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.ops.sorting.row_order_kernel import RowOrderKernel
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.tensor_type import TensorType


class RowOrder(Op):
    """The positions, as int64, that sort the rows of a matrix in lexicographic order.

    Equal rows keep their order, and NaN comes after every number.

    Raises
    ------
    TypeError
        Raised by ``make_node`` if an operand is not a matrix.
    """

    __props__ = ()
    depends_on = ()

    def make_node(self, x):
        x = as_tensor_variable(x)
        if x.type.ndim != 2:
            raise TypeError(f"RowOrder takes a matrix, not {x} of type {x.type}")
        return Apply(self, [x], [TensorType("int64", x.type.broadcastable[:1], shape=x.type.shape[:1])()])

    def make_kernel(self, node):
        return RowOrderKernel(node.inputs[0].type.dtype)

    def infer_shape(self, node, input_shapes):
        return [input_shapes[0][:1]]
