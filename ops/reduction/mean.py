"""Mean: the mean over axes as one op, computed in float64 for every input dtype; ``T.mean(x, op=True)`` makes it.

By default ``T.mean`` is a sum and a division, which rewrites can optimize; this op is for programs that request it. The
mean of no elements is NaN.
"""
import numpy

from phintys.graph.config import config
from phintys.ops.elementwise import scalar
from phintys.ops.reduction.careduce import CAReduce, pad_reduced, positive_axes, repeated_with_mask
from phintys.ops.reduction.reduction_kernel import MeanKernel
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.dtypes import complex_dtypes, discrete_dtypes


class Mean(CAReduce):
    """The mean over axes, in float64 (complex128 for complex numbers).

    Parameters
    ----------
    axis : None, int or sequence of int

    Examples
    --------
    >>> T.Mean(axis=0)(T.as_tensor([[1.0, 5.0], [7.0, 2.0]])).eval()
    array([4. , 3.5])
    """

    __props__ = ("axis",)
    linear_in = (0,)

    def __init__(self, axis=None):
        CAReduce.__init__(self, scalar.add, axis)

    def _arguments(self):
        return {}

    def output_dtype(self, input_dtype):
        return "complex128" if input_dtype in complex_dtypes else "float64"

    accumulator_dtype = output_dtype

    def kernel_over(self, code, patterns):
        dtype = code.dtypes[code.outputs[0]]
        return MeanKernel(code, patterns, numpy.add, self.axes_of(patterns), self.accumulator_dtype(dtype),
                          self.output_dtype(dtype))

    def L_op(self, inputs, outputs, output_grads):
        x, = inputs
        if x.type.dtype in discrete_dtypes:
            return [x.zeros_like(dtype=config.floatX)]
        axes = positive_axes(x, self.axis)
        gz = output_grads[0]
        for axis in axes:
            gz = gz / shape_i(x, axis).astype("float64")
        return [scalar.second(x, pad_reduced(x, gz.astype(x.type.dtype), axes))]

    def masked_L_op(self, inputs, outputs, output_grads, masks):
        return repeated_with_mask(self, inputs, outputs, output_grads, masks)

    def _name(self):
        return "Mean"
