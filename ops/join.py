"""Vectors made of scalars: MakeVector, and ``stack`` as far as it needs no more than that.

This is how a tuple of symbolic lengths becomes the shape that ``reshape`` and ``alloc`` take.
"""
from phintys.graph.apply import Apply
from phintys.graph.config import config
from phintys.graph.op import Op
from phintys.ops.allocation_kernel import MakeVectorKernel
from phintys.ops.constant import as_tensor_variable
from phintys.ops.dtypes import discrete_dtypes, upcast
from phintys.ops.tensor_type import TensorType


class MakeVector(Op):
    """A vector of 0-d inputs.

    Parameters
    ----------
    dtype : str
        Of the vector; inputs are cast to it, which must lose nothing.
    """

    __props__ = ("dtype",)

    def __init__(self, dtype="int64"):
        self.dtype = dtype

    def make_node(self, *inputs):
        inputs = [as_tensor_variable(value) for value in inputs]
        for value in inputs:
            if value.type.ndim != 0:
                raise TypeError(f"MakeVector takes scalars only, got {value} of type {value.type}")
            if upcast(self.dtype, value.type.dtype) != self.dtype:
                raise TypeError(f"MakeVector.make_node expected inputs upcastable to {self.dtype}. got "
                                f"{value.type.dtype}")
        inputs = [value if value.type.dtype == self.dtype else value.astype(self.dtype) for value in inputs]
        return Apply(self, inputs, [TensorType(self.dtype, (False,), shape=(len(inputs),))()])

    def make_kernel(self, node):
        return MakeVectorKernel(len(node.inputs))

    def infer_shape(self, node, input_shapes):
        return [(len(input_shapes),)]

    def grad(self, inputs, output_grads):
        if self.dtype in discrete_dtypes:
            return [value.zeros_like(dtype=config.floatX) for value in inputs]
        return [output_grads[0][position] for position in range(len(inputs))]

    def R_op(self, inputs, eval_points):
        if all([point is None for point in eval_points]):
            return [None]
        return [self(*[value.zeros_like() if point is None else point for value, point in zip(inputs, eval_points)])]


make_vector = MakeVector()


def stack(tensors, axis=0):
    """Scalars side by side, as a vector.

    Parameters
    ----------
    tensors : sequence of 0-d tensor-likes
    axis : int
        0 or -1: a vector has one dimension.

    Raises
    ------
    NotImplementedError
        For tensors with dimensions; they need ``join``.
    ValueError
        For an empty sequence.
    """
    tensors = [as_tensor_variable(tensor) for tensor in tensors]
    if not tensors:
        raise ValueError("stack: the list of tensors is empty; give at least one")
    for tensor in tensors:
        if tensor.type.ndim:
            raise NotImplementedError(f"stack of tensors with dimensions, here {tensor.type}, needs join")
    if axis not in (0, -1):
        raise IndexError(f"axis {axis} is out of bounds [-1, 1)")
    return MakeVector(upcast(*[tensor.type.dtype for tensor in tensors]))(*tensors)
