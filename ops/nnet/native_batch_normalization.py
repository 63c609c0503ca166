"""The ops that compute batch normalization: BatchNormTrain, BatchNormInference and BatchNormTrainGrad.

The optimizer puts them in the place of the ``Abstract...`` ops of ``batch_normalization.py``, which users and gradients
build, and which hold all that is known about derivatives; these have none. Each is one native kernel. The result may
overwrite the inputs of its shape; ``whole=False`` drops it, where only what belongs to channels is read.
"""
from phintys.graph.apply import Apply
from phintys.ops.nnet.batch_normalization_kernel import (
    BatchNormInferenceKernel,
    BatchNormTrainGradKernel,
    BatchNormTrainKernel,
)
from phintys.ops.nnet.float_op import FloatOp


class NormalizationOp(FloatOp):
    """What the three share.

    Parameters
    ----------
    axes : sequence of int
        The dimensions that are averaged over; not negative.
    whole : bool
        Whether the result of the shape of x is an output.
    inplace : int or None
        The input that this result overwrites.
    """

    __props__ = ("axes", "whole", "inplace")
    can_overwrite = {0: (0,)}
    kernel_class = None

    def __init__(self, axes, whole=True, inplace=None):
        self.axes, self.whole, self.inplace = tuple(axes), whole, inplace
        if inplace is not None:
            self.destroy_map = {0: [inplace]}

    def make_node(self, inputs, types):
        """A node on inputs and with outputs as an ``Abstract...`` op's node has them, of its outputs those wanted."""
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
    """Inputs x, scale, bias, epsilon, the factor and, both or neither, running mean and variance. Outputs are the
    result, the mean, the inverse deviation and the new running values.
    """

    def kernel_for(self, node, dtype):
        return BatchNormTrainKernel(dtype, self.axes, self.whole, len(node.inputs) > 5)


class BatchNormInference(NormalizationOp):
    """Inputs x, scale, bias, mean, variance and epsilon; the output is the result."""

    kernel_class = BatchNormInferenceKernel


class BatchNormTrainGrad(NormalizationOp):
    """Inputs x, gradient of the result, scale, mean, inverse deviation and epsilon; outputs the gradients by x, scale
    and bias.
    """

    can_overwrite = {0: (1, 0)}
    kernel_class = BatchNormTrainGradKernel
