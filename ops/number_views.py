"""TensorFromScalar and ScalarFromTensor: Theano's conversions between single numbers and tensors of rank 0.

Both are the same type here, so these ops hand their input on: views without work, which the optimizer takes out. They
are there because programs name them; nothing in this project needs them.
"""
from phintys.graph.apply import Apply
from phintys.graph.config import config
from phintys.graph.view_op import ViewOp
from phintys.ops.constant import as_tensor_variable
from phintys.ops.dtypes import continuous_dtypes
from phintys.ops.shape_kernel import DimShuffleKernel


class NumberView(ViewOp):
    """A number, as it is."""

    __props__ = ()

    def make_node(self, x):
        """A node on a tensor of rank 0.

        Raises
        ------
        TypeError
            If it has another rank.
        """
        x = as_tensor_variable(x)
        if x.type.ndim:
            raise TypeError(f"{self} expects a number, a tensor of rank 0, got {x} of type {x.type}.")
        return Apply(self, [x], [x.type.make_variable()])

    def make_kernel(self, node):
        return DimShuffleKernel(0, ())

    def grad(self, inputs, output_grads):
        """The gradient as it is; zero by discrete numbers."""
        x, = inputs
        return list(output_grads) if x.type.dtype in continuous_dtypes else [x.zeros_like(dtype=config.floatX)]


class TensorFromScalar(NumberView):
    """A number as a tensor of rank 0."""

    __props__ = ()


class ScalarFromTensor(NumberView):
    """A tensor of rank 0 as a number."""

    __props__ = ()


tensor_from_scalar, scalar_from_tensor = TensorFromScalar(), ScalarFromTensor()
