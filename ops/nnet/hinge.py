"""The multi-class hinge loss of rows of predictions with one label for each row: the op and its gradient.

The public function is ``classification.multiclass_hinge_loss``. Both ops are linear wherever they are differentiable,
so second-order derivatives are 0.
"""
from phintys.graph.apply import Apply
from phintys.graph.valueless_types import DisconnectedType, disconnected_type, grad_not_implemented
from phintys.ops.creation.allocation import arange
from phintys.ops.elementwise.scalar import as_dtype
from phintys.ops.nnet.float_op import FloatOp
from phintys.ops.nnet.hinge_kernel import HingeGradKernel, HingeKernel
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import discrete_dtypes, float_dtypes
from phintys.ops.types.tensor_type import TensorType


class MulticlassHingeLossGrad(FloatOp):
    """The gradient with respect to the predictions. The inputs are the gradient of the losses, predictions, targets
    and delta."""

    __props__ = ()
    shape_as = 1

    def make_node(self, gradient, predictions, targets, delta):
        gradient, predictions, targets, delta = map(as_tensor_variable, (gradient, predictions, targets, delta))
        dtype = predictions.type.dtype
        return Apply(self, [as_dtype(gradient, dtype), predictions, targets, as_dtype(delta, dtype)],
                     [predictions.type()])

    def kernel_for(self, node, dtype):
        return HingeGradKernel()

    def grad(self, inputs, output_grads):
        gradient, predictions, targets, delta = inputs
        slope = self(gradient.ones_like(), predictions, targets, delta)
        return [(output_grads[0] * slope).sum(axis=1), predictions.zeros_like(),
                grad_not_implemented(self, 2, targets), delta.zeros_like()]

    def R_op(self, inputs, eval_points):
        by_gradient = eval_points[0]
        return [self(inputs[0].zeros_like() if by_gradient is None else by_gradient, *inputs[1:])]


class MulticlassHingeLoss(FloatOp):
    """``max(0, largest wrong prediction - right prediction + delta)`` of predictions, targets and delta, the inputs."""

    __props__ = ()

    def make_node(self, predictions, targets, delta):
        predictions, targets, delta = map(as_tensor_variable, (predictions, targets, delta))
        if predictions.type.ndim != 2 or predictions.type.dtype not in float_dtypes:
            raise TypeError(f"predictions must be a matrix of floats, got {predictions.type}")
        if targets.type.ndim != 1 or targets.type.dtype not in discrete_dtypes:
            raise TypeError(f"labels must be a vector of integers, got {targets.type}")
        if delta.type.ndim:
            raise TypeError(f"delta must be a scalar, got {delta.type}")
        losses = TensorType(predictions.type.dtype, (predictions.type.broadcastable[0],))
        return Apply(self, [predictions, targets, as_dtype(delta, predictions.type.dtype)], [losses()])

    def kernel_for(self, node, dtype):
        return HingeKernel()

    def infer_shape(self, node, input_shapes):
        return [input_shapes[0][:1]]

    def grad(self, inputs, output_grads):
        predictions, targets, delta = inputs
        gradient, = output_grads
        if isinstance(gradient.type, DisconnectedType):
            return [disconnected_type() for _ in inputs]
        by_predictions = multiclass_hinge_loss_grad(gradient, predictions, targets, delta)
        return [by_predictions, grad_not_implemented(self, 1, targets), -right(by_predictions, targets).sum()]

    def R_op(self, inputs, eval_points):
        predictions, targets, delta = inputs
        by_predictions, _, by_delta = eval_points
        slope = multiclass_hinge_loss_grad(self(*inputs).ones_like(), predictions, targets, delta)
        terms = [] if by_predictions is None else [(slope * by_predictions).sum(axis=1)]
        if by_delta is not None:
            terms.append(-right(slope, targets) * by_delta)
        return [sum(terms[1:], terms[0]) if terms else None]


def right(predictions, targets):
    """The element of each row at its label."""
    return predictions[arange(predictions.shape[0]), targets]


multiclass_hinge_loss_op, multiclass_hinge_loss_grad = MulticlassHingeLoss(), MulticlassHingeLossGrad()
