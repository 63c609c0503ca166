"""Batch normalization: inputs are normalized to mean 0 and variance 1 over a batch, then scaled and shifted.

The functions are Theano's. The ops named ``Abstract...`` represent them while the graph is built and differentiated.
Each has the kernel of its ``native`` op (``native_batch_normalization.py``), by which the optimizer replaces it in
every mode. ``formula`` defines each op in terms of reductions and elementwise operations, and all derivatives follow
from it. The variance is computed as the mean of squared distances, not as a difference of large numbers.
"""
import numpy

from phintys.graph.apply import Apply
from phintys.graph.config import config
from phintys.graph.gradients.forward_gradient import Rop
from phintys.graph.gradients.gradient import grad
from phintys.graph.gradients.view_op import ViewOp
from phintys.graph.valueless_types import DisconnectedType, disconnected_type
from phintys.ops.elementwise.composite import Composite
from phintys.ops.elementwise.elementwise_functions import true_div
from phintys.ops.elementwise.scalar import as_dtype
from phintys.ops.nnet.float_op import FloatOp
from phintys.ops.nnet.native_batch_normalization import BatchNormInference, BatchNormTrain, BatchNormTrainGrad
from phintys.ops.rearranging.rearranging import broadcast_to
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.shape.shape import addbroadcast, patternbroadcast
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import discrete_dtypes, float_dtypes, upcast
from phintys.ops.types.tensor_type import TensorType

SMALLEST_EPSILON = 1e-5


def _is_connected(gradient):
    return not isinstance(gradient.type, DisconnectedType)


def _elements_of_each(x, mean):
    """The number of elements of x in each mean, in the dtype of x."""
    return (x.size / mean.size).astype(x.dtype)


class BatchNormalizationOp(FloatOp):
    """The base class of the ops: axes, kernels, and the derivatives that follow from ``formula``.

    Parameters
    ----------
    axes : sequence of int
        The dimensions over which inputs are normalized; not negative.

    Attributes
    ----------
    native : class
        The op that computes the same.
    parameters : tuple of int
        Positions of the inputs that have length 1 along the axes.
    settings : tuple of int
        Positions of the 0-d inputs, which keep their dtype and have no gradient.
    """

    __props__ = ("axes",)
    native = None
    parameters = settings = ()

    def __init__(self, axes=(0,)):
        self.axes = tuple([int(axis) for axis in axes])
        if not self.axes:
            raise ValueError("there should be at least one normalization axis")

    def formula(self, *inputs):
        """The outputs as expressions of variables."""
        raise NotImplementedError

    def output_types(self, inputs):
        """The types of the outputs."""
        raise NotImplementedError

    def make_node(self, *inputs):
        inputs = [as_tensor_variable(value) for value in inputs]
        rank = inputs[0].type.ndim
        if max(self.axes) >= rank or min(self.axes) < 0:
            raise ValueError(f"axes should be less than ndim (<{rank}), but {self.axes} given")
        tensors = [position for position in range(len(inputs)) if position not in self.settings]
        dtype = self._common_dtype([inputs[position].type.dtype for position in tensors])
        for position in range(len(inputs)):
            wanted = 0 if position in self.settings else rank
            if inputs[position].type.ndim != wanted:
                raise ValueError(f"{self}: input {position} must have {wanted} dimensions, not {inputs[position].type}")
        for position in tensors:
            inputs[position] = as_dtype(inputs[position], dtype)
        for position in self.parameters:
            if position < len(inputs):
                inputs[position] = self._filled(inputs[position], inputs[0])
        return Apply(self, inputs, [output_type() for output_type in self.output_types(inputs)])

    def _common_dtype(self, dtypes):
        dtype = upcast(*dtypes)
        if dtype in discrete_dtypes:
            dtype = config.floatX
        if dtype not in float_dtypes:
            raise TypeError(f"{self} needs real numbers, got {dtype}")
        return dtype

    def _filled(self, parameter, x):
        """A parameter with one element for each channel, repeated if it has one for several channels."""
        patterns = zip(parameter.type.broadcastable, x.type.broadcastable)
        if not any([of_parameter and not of_x and axis not in self.axes
                    for axis, (of_parameter, of_x) in enumerate(patterns)]):
            return parameter
        return broadcast_to(parameter, [1 if axis in self.axes else x.shape[axis] for axis in range(x.type.ndim)])

    def formula_of(self, node, inputs):
        """The formula for the outputs of a node, applied to other inputs, with the types of the outputs."""
        inputs = list(inputs)
        for position in self.parameters:
            if position < len(inputs):
                inputs[position] = addbroadcast(inputs[position], *self.axes)
        return [patternbroadcast(as_dtype(result, output.type.dtype), output.type.broadcastable)
                for result, output in zip(self.formula(*inputs), node.outputs)]

    def kernel_for(self, node, dtype):
        return self.native(self.axes).kernel_for(node, dtype)

    def native_outputs(self, node, wanted):
        """The outputs of a node as computed by the native op.

        Parameters
        ----------
        node : Apply
        wanted : sequence of bool
            Whether each output is needed; others may be None.
        """
        inputs, types = node.inputs, [output.type for output in node.outputs]
        if not any(wanted[3:]):                             # no running values
            inputs, types = inputs[:len(inputs) - len(types[3:])], types[:3]
        whole = wanted[0]
        outputs = self.native(self.axes, whole).make_node(inputs, types).outputs
        return [None] * (not whole) + outputs + [None] * (len(node.outputs) - len(types))

    # ---- derivatives of the formula -----------------------------------------------------------------------
    def _formula_of_views(self, inputs):
        """Inputs and outputs of the formula, each as a separate view, so that no input or output depends on another
        one."""
        views = [ViewOp()(value) for value in inputs]
        return views, [ViewOp()(output) for output in self.formula_of(self.make_node(*inputs), views)]

    def formula_gradients(self, inputs, output_grads):
        """Gradients with respect to the inputs, for the output gradients that are connected."""
        views, outputs = self._formula_of_views(inputs)
        known = [(output, gradient) for output, gradient in zip(outputs, output_grads) if _is_connected(gradient)]
        results = [disconnected_type() for _ in inputs]
        if known:
            wanted = [position for position in range(len(inputs)) if position not in self.settings]
            found = grad(None, [views[position] for position in wanted], known_grads=dict(known),
                         disconnected_inputs="ignore", return_disconnected="Disconnected")
            for position, gradient in zip(wanted, found):
                results[position] = gradient
        return results

    def L_op(self, inputs, outputs, output_grads):
        return self.formula_gradients(inputs, output_grads)

    def R_op(self, inputs, eval_points):
        views, outputs = self._formula_of_views(inputs)
        known = [(view, point) for view, point in zip(views, eval_points) if point is not None]
        if not known:
            return [None] * len(outputs)
        return Rop(outputs, [view for view, _ in known], [point for _, point in known], "ignore")


class AbstractBatchNormTrain(BatchNormalizationOp):
    """Normalization by the mean and variance of the batch itself.

    The inputs are x, scale, bias, epsilon, running_average_factor and optionally both running_mean and running_var. The
    outputs are the result, the mean, the inverse of the standard deviation, and the new running values.

    Examples
    --------
    >>> T.nnet.bn.AbstractBatchNormTrain(axes=(0,)).axes
    (0,)
    """

    native = BatchNormTrain
    parameters, settings = (1, 2, 5, 6), (3, 4)

    def make_node(self, x, scale, bias, epsilon=1e-4, running_average_factor=0.1, running_mean=None, running_var=None):
        if (running_mean is None) != (running_var is None):
            raise ValueError("running_mean and running_var must either both be given or both be None")
        running = [] if running_mean is None else [running_mean, running_var]
        return super().make_node(x, scale, bias, epsilon, running_average_factor, *running)

    def output_types(self, inputs):
        return [inputs[0].type] + [inputs[1].type] * (2 if len(inputs) == 5 else 4)

    def formula(self, x, scale, bias, epsilon, factor, *running):
        mean = x.mean(axis=self.axes, keepdims=True)
        variance = numpy.square(mean - x).mean(axis=self.axes, keepdims=True)
        inverse = 1 / numpy.sqrt(variance + epsilon.astype(x.dtype))
        results = [(x - mean) * (scale * inverse) + bias, mean, inverse]
        if running:
            count = _elements_of_each(x, mean)
            results.append(running[0] * (1 - factor) + mean * factor)
            results.append(running[1] * (1 - factor) + count / (count - 1) * variance * factor)
        return results

    def infer_shape(self, node, input_shapes):
        return [input_shapes[0]] + [input_shapes[1]] * (len(node.outputs) - 1)

    def connection_pattern(self, node):
        count = len(node.outputs)
        everything = [True] * count
        first = [True] + [False] * (count - 1)
        running = [[False, False, False, True, False], [False, False, False, False, True]]
        return [everything, first, first] + [[False] * count] * 2 + running[:len(node.inputs) - 5]

    def L_op(self, inputs, outputs, output_grads):
        x, scale, _, epsilon = inputs[:4]
        results = [disconnected_type() for _ in inputs]
        if any(map(_is_connected, output_grads[1:])):
            results = self.formula_gradients(inputs, [disconnected_type(), *output_grads[1:]])
        if _is_connected(output_grads[0]):
            direct = AbstractBatchNormTrainGrad(self.axes)(x, output_grads[0], scale, *outputs[1:3], epsilon)
            results[0] = results[0] + direct[0] if _is_connected(results[0]) else direct[0]
            results[1:3] = direct[1:]
        return results


class AbstractBatchNormTrainGrad(BatchNormalizationOp):
    """The gradients with respect to x, scale and bias. The inputs are x, the gradient of the result, scale, mean, the
    inverse of the standard deviation, and epsilon.

    Examples
    --------
    >>> T.nnet.bn.AbstractBatchNormTrainGrad(axes=(0,)).axes
    (0,)
    """

    native = BatchNormTrainGrad
    parameters, settings = (2, 3, 4), (5,)

    def make_node(self, x, dy, scale, x_mean, x_invstd, epsilon=1e-4):
        return super().make_node(x, dy, scale, x_mean, x_invstd, epsilon)

    def output_types(self, inputs):
        return [inputs[0].type, inputs[2].type, inputs[2].type]

    def formula(self, x, dy, scale, mean, inverse, epsilon):
        count = _elements_of_each(x, mean)
        by_bias = dy.sum(axis=self.axes, keepdims=True)
        by_deviation = -(dy * (mean - x)).sum(axis=self.axes, keepdims=True)
        slope = by_deviation / count * inverse ** 3
        offset = by_bias / count * inverse - (x.mean(axis=self.axes, keepdims=True) - mean) * slope
        return [scale * (dy * inverse - (x - mean) * slope - offset), by_deviation * inverse, by_bias]

    def infer_shape(self, node, input_shapes):
        return [input_shapes[0], input_shapes[2], input_shapes[2]]

    def connection_pattern(self, node):
        return [[True, True, False], [True, True, True], [True, False, False], [True, True, False],
                [True, True, False], [False, False, False]]


class AbstractBatchNormInference(BatchNormalizationOp):
    """Normalization by a given mean and variance. The inputs are x, scale, bias, mean, variance and epsilon.

    Examples
    --------
    >>> T.nnet.bn.AbstractBatchNormInference(axes=(0,)).axes
    (0,)
    """

    shape_as = 0

    native = BatchNormInference
    parameters, settings = (1, 2, 3, 4), (5,)
    depends_on = slice(5)

    def make_node(self, x, scale, bias, estimated_mean, estimated_variance, epsilon=1e-4):
        return super().make_node(x, scale, bias, estimated_mean, estimated_variance, epsilon)

    def output_types(self, inputs):
        return [inputs[0].type]

    def formula(self, x, scale, bias, mean, variance, epsilon):
        return [(x - mean) * (scale / numpy.sqrt(variance + epsilon.astype(variance.dtype))) + bias]


def BNComposite(dtype):
    """The scalar op ``(x - mean) / std * gamma + beta`` on numbers x, mean, std, gamma and beta of one dtype.

    Parameters
    ----------
    dtype : str

    Returns
    -------
    Composite

    Examples
    --------
    >>> x, mean, deviation, scale, bias = T.dvectors("x", "mean", "deviation", "scale", "bias")
    >>> normalized = T.Elemwise(T.nnet.bn.BNComposite("float64"))(x, mean, deviation, scale, bias)
    >>> normalized.eval({x: [3.0], mean: [1.0], deviation: [2.0], scale: [10.0], bias: [5.0]})
    array([15.])
    """
    x, mean, std, gamma, beta = inputs = [TensorType(dtype, ())() for _ in range(5)]
    return Composite(inputs, [true_div(x - mean, std) * gamma + beta])


# ---- public functions ---------------------------------------------------------------------------------------------
def batch_normalization(inputs, gamma, beta, mean, std, mode="low_mem"):
    """Elementwise ``(inputs - mean) * gamma / std + beta``.

    Parameters
    ----------
    inputs, gamma, beta, mean, std : tensor_like
        Tensors of equal rank, which are broadcast together.
    mode : {"low_mem", "high_mem"}
        Whether ``gamma / std`` is computed again for each element ("low_mem") or once ("high_mem").

    Raises
    ------
    ValueError
        For another mode.

    Examples
    --------
    >>> x = T.as_tensor([[1.0, 2.0], [3.0, 6.0]])
    >>> mean, deviation = x.mean(axis=0, keepdims=True), x.std(axis=0, keepdims=True)
    >>> T.nnet.batch_normalization(x, T.ones((1, 2)), T.zeros((1, 2)), mean, deviation).eval()
    array([[-1., -1.],
           [ 1.,  1.]])
    """
    inputs, gamma, beta, mean, std = [as_tensor_variable(value) for value in (inputs, gamma, beta, mean, std)]
    if mode == "low_mem":
        return true_div(inputs - mean, std) * gamma + beta
    if mode == "high_mem":
        return (inputs - mean) * true_div(gamma, std) + beta
    raise ValueError(f'mode must be either "low_mem", "high_mem", not {mode!r}')


def _axes_of(axes, rank):
    """``axes``, which may be a name, as a sorted tuple."""
    if isinstance(axes, str):
        named = {"per-activation": (0,), "spatial": (0, *range(2, rank))}
        if axes not in named:
            raise ValueError(f"invalid axes: {axes!r}; expected {', '.join(map(repr, named))}, or a tuple of ints")
        axes = named[axes]
    elif not isinstance(axes, (tuple, list, numpy.ndarray)):
        raise ValueError(f"invalid axes: {axes!r}")
    axes = tuple(sorted([int(axis) for axis in axes]))
    if not axes:
        raise ValueError("there should be at least one normalization axis")
    if axes[0] < 0 or axes[-1] >= rank:
        raise ValueError(f"axes should be less than ndim (<{rank}), but {axes} given")
    return axes


def _checked_epsilon(epsilon):
    epsilon = numpy.asarray(epsilon, dtype=config.floatX)
    if epsilon < numpy.asarray(SMALLEST_EPSILON, dtype=config.floatX):
        raise ValueError(f"epsilon must be at least {SMALLEST_EPSILON}, got {epsilon}")
    return epsilon


class _Parameters:
    """Converts parameters to the rank of the inputs, and results to the rank of the parameters."""

    def __init__(self, rank, axes, like):
        self.axes, self.kept = axes, [axis for axis in range(rank) if axis not in axes]
        self.rank = rank if like.type.ndim == rank else len(self.kept)
        self.narrow = self.rank != rank
        self.order = [self.kept.index(axis) if axis in self.kept else "x" for axis in range(rank)]

    def check(self, **parameters):
        for name, value in parameters.items():
            if value.type.ndim != self.rank:
                raise ValueError(f"{name} must have as many dimensions as are not normalized over, or as the inputs; "
                                 f"it has {value.type.ndim} instead of {self.rank}")

    def widen(self, value):
        return dimshuffle(value, *self.order) if self.narrow else addbroadcast(value, *self.axes)

    def narrowed(self, value):
        return dimshuffle(value, *self.kept) if self.narrow else value


def batch_normalization_train(inputs, gamma, beta, axes="per-activation", epsilon=1e-4, running_average_factor=0.1,
                              running_mean=None, running_var=None):
    """Normalize inputs by their own mean and variance.

    Parameters
    ----------
    inputs : tensor_like
    gamma, beta : tensor_like
        Scale and shift. They have the rank of the inputs, with length 1 along ``axes``, or do not have these
        dimensions.
    axes : {"per-activation", "spatial"} or tuple of int
        The dimensions over which to average; ``"per-activation"`` means ``(0,)``, ``"spatial"`` all except dimension 1.
    epsilon : float
        The number added to the variance; at least 1e-5.
    running_average_factor : float
        The weight of this batch in the running values.
    running_mean, running_var : tensor_like, optional
        The previous running values, of the shape of gamma; give both or neither.

    Returns
    -------
    tuple of TensorVariables
        The result, the mean, and the inverse of the standard deviation; with running values, also the new running mean
        and variance. The variance is corrected by ``m / (m - 1)`` for batches of m elements.

    Raises
    ------
    ValueError
        If axes do not exist, parameters have another rank, epsilon is too small, or only one running value is given.

    Examples
    --------
    >>> x = T.as_tensor([[1.0, 2.0], [3.0, 6.0]])
    >>> normalized, mean, inverse_deviation = T.nnet.batch_normalization_train(
    ...     x, T.as_tensor([1.0, 1.0]), T.as_tensor([0.0, 0.0]))
    >>> normalized.eval().round(4)
    array([[-1., -1.],
           [ 1.,  1.]])
    >>> mean.eval()
    array([2., 4.])
    """
    inputs, gamma, beta = [as_tensor_variable(value) for value in (inputs, gamma, beta)]
    if (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be given or both be None")
    axes = _axes_of(axes, inputs.type.ndim)
    parameters = _Parameters(inputs.type.ndim, axes, gamma)
    parameters.check(gamma=gamma, beta=beta)
    running = []
    if running_mean is not None:
        running = [as_tensor_variable(running_mean), as_tensor_variable(running_var)]
        parameters.check(running_mean=running[0], running_var=running[1])
    wide = [parameters.widen(value) for value in (gamma, beta, *running)]
    result, *rest = AbstractBatchNormTrain(axes)(inputs, *wide[:2], _checked_epsilon(epsilon), running_average_factor,
                                                 *wide[2:])
    for position, value in enumerate(wide[2:], start=2):
        rest[position] = patternbroadcast(rest[position], value.type.broadcastable)
    return (result, *[parameters.narrowed(value) for value in rest])


def batch_normalization_test(inputs, gamma, beta, mean, var, axes="per-activation", epsilon=1e-4):
    """Normalize by a given mean and variance, such as the running values of a training: ``(x - mean) * gamma /
    sqrt(var + epsilon) + beta``.

    Parameters
    ----------
    inputs, gamma, beta, axes, epsilon
        See `batch_normalization_train`.
    mean, var : tensor_like
        Of the shape of gamma.

    Returns
    -------
    TensorVariable

    Raises
    ------
    ValueError
        See `batch_normalization_train`.

    Examples
    --------
    >>> x = T.as_tensor([[1.0, 2.0], [3.0, 6.0]])
    >>> scale, bias = T.as_tensor([1.0, 1.0]), T.as_tensor([0.0, 0.0])
    >>> mean, variance = T.as_tensor([2.0, 4.0]), T.as_tensor([1.0, 4.0])
    >>> T.nnet.batch_normalization_test(x, scale, bias, mean, variance).eval().round(4)
    array([[-1., -1.],
           [ 1.,  1.]])
    """
    inputs, gamma, beta, mean, var = [as_tensor_variable(value) for value in (inputs, gamma, beta, mean, var)]
    axes = _axes_of(axes, inputs.type.ndim)
    parameters = _Parameters(inputs.type.ndim, axes, gamma)
    parameters.check(gamma=gamma, beta=beta, mean=mean, var=var)
    wide = [parameters.widen(value) for value in (gamma, beta, mean, var)]
    return AbstractBatchNormInference(axes)(inputs, *wide, _checked_epsilon(epsilon))
