"""TensorFromScalar and ScalarFromTensor: conversion between a single number and a tensor of rank 0.

In a program both are arrays of rank 0, so these ops are views that do no work. Each is the inverse of the other, and
the optimizer removes pairs of them.
"""
import numpy

from phintys.graph.apply import Apply
from phintys.graph.config import config
from phintys.graph.errors import made_at
from phintys.graph.gradients.view_op import ViewOp
from phintys.graph.variable import Variable
from phintys.ops.native.shape_kernel import DimShuffleKernel
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import continuous_dtypes
from phintys.ops.types.scalar_type import Scalar, get_scalar_type
from phintys.ops.types.tensor_type import TensorType


class NumberView(ViewOp):
    """The base class of both conversions."""

    __props__ = ()

    def make_kernel(self, node):
        return DimShuffleKernel(0, ())

    def grad(self, inputs, output_grads):
        """The gradient, converted to the input's type; zero for discrete numbers."""
        x, = inputs
        if x.type.dtype in continuous_dtypes:
            return [self.inverse(output_grads[0])]
        return [x.zeros_like(dtype=config.floatX)]

    def R_op(self, inputs, eval_points):
        return [self(point) for point in eval_points]


class TensorFromScalar(NumberView):
    """Converts a number to a tensor of rank 0.

    Examples
    --------
    >>> T.tensor_from_scalar(phintys.scalar.float64("number")).type
    TensorType(float64, scalar)
    """

    __props__ = ()

    def make_node(self, x):
        """Make a node on a number.

        Raises
        ------
        TypeError
            If the input has another type.
        """
        if not isinstance(x, Variable) or not isinstance(x.type, Scalar):
            _refuse(self, x, "a variable of a Scalar type")
        return Apply(self, [x], [TensorType(x.type.dtype, ()).make_variable()])

    def perform(self, node, inputs, output_storage, params=None):
        output_storage[0][0] = numpy.array(inputs[0])


class ScalarFromTensor(NumberView):
    """Converts a tensor of rank 0 to a number.

    Examples
    --------
    >>> T.scalar_from_tensor(T.as_tensor(1.5)).type
    Scalar(float32)
    """

    __props__ = ()

    def make_node(self, x):
        """Make a node on a tensor of rank 0.

        Raises
        ------
        TypeError
            If the input has another rank or type.
        """
        if not isinstance(x, Variable):
            x = as_tensor_variable(x)
        if not isinstance(x.type, TensorType) or x.type.ndim:
            _refuse(self, x, "a tensor of rank 0")
        return Apply(self, [x], [get_scalar_type(x.type.dtype).make_variable()])

    def perform(self, node, inputs, output_storage, params=None):
        output_storage[0][0] = inputs[0][()]


def _refuse(op, x, expected):
    where = f" of type {x.type}{made_at(x)}" if isinstance(x, Variable) else ""
    raise TypeError(f"{op} expects {expected}, got {x}{where}.")


tensor_from_scalar, scalar_from_tensor = TensorFromScalar(), ScalarFromTensor()
TensorFromScalar.inverse, ScalarFromTensor.inverse = scalar_from_tensor, tensor_from_scalar
