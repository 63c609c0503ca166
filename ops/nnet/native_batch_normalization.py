"""The native ops of batch normalization: BatchNormTrain, BatchNormInference and BatchNormTrainGrad.

The optimizer replaces the ``Abstract...`` ops of ``batch_normalization.py``, which users' graphs and gradients consist
of and which define the derivatives, by these ops, which have no derivatives. Each is one native kernel. The result may
overwrite an input of its shape; ``whole=False`` omits the result if only the outputs for channels are used.
"""
from phintys.graph.apply import Apply
from phintys.ops.nnet.batch_normalization_kernel import (
    BatchNormInferenceKernel,
    BatchNormTrainGradKernel,
    BatchNormTrainKernel,
)
from phintys.ops.nnet.float_op import FloatOp


class NormalizationOp(FloatOp):
    """The base class of the three ops.

    Parameters
    ----------
    axes : sequence of int
        The dimensions over which to average; not negative.
    whole : bool
        Whether there is an output with the shape of x.
    inplace : int or None
        The position of the input that this output overwrites.
    """

    __props__ = ("axes", "whole", "inplace")
    can_overwrite = {0: (0,)}
    kernel_class = None

    def __init__(self, axes, whole=True, inplace=None):
        self.axes, self.whole, self.inplace = tuple(axes), whole, inplace
        if inplace is not None:
            self.destroy_map = {0: [inplace]}

    def make_node(self, inputs, types):
        """Make a node; ``inputs`` and ``types`` are the inputs and the types of the outputs of an ``Abstract...`` op's
        node, of which only the required outputs are kept."""
        types = types if self.whole else types[1:]
        return Apply(self, inputs, [output_type() for output_type in types])

    def inplace_candidates(self, node):
        return super().inplace_candidates(node) if self.whole else ()

    def overwriting(self, pairs):
        return type(self)(self.axes, self.whole, pairs.get(0))

    def kernel_for(self, node, dtype):
        return self.kernel_class(dtype, self.axes, self.whole)

    def infer_shape(self, node, input_shapes):
        narrow = tuple([1 if axis in self.axes else length for axis, length in enumerate(input_shapes[0])])
        return [input_shapes[0]] * self.whole + [narrow] * (len(node.outputs) - self.whole)


class BatchNormTrain(NormalizationOp):
    """The inputs are x, scale, bias, epsilon, the factor and optionally both running mean and variance. The outputs are
    the result, the mean, the inverse of the standard deviation and the new running values.
    """

    def kernel_for(self, node, dtype):
        return BatchNormTrainKernel(dtype, self.axes, self.whole, len(node.inputs) > 5)


class BatchNormInference(NormalizationOp):
    """The inputs are x, scale, bias, mean, variance and epsilon; the output is the result."""

    kernel_class = BatchNormInferenceKernel


class BatchNormTrainGrad(NormalizationOp):
    """The inputs are x, the gradient of the result, scale, mean, the inverse of the standard deviation, and epsilon.
    The outputs are the gradients with respect to x, scale and bias.
    """

    can_overwrite = {0: (1, 0)}
    kernel_class = BatchNormTrainGradKernel
