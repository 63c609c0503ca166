"""Cross-entropies between rows of probabilities and labels or other probabilities.

The public functions are ``categorical_crossentropy`` and ``binary_crossentropy``. The ops named
``...Softmax...1Hot...`` combine softmax and loss, so that no probability underflows before its logarithm is taken; the
optimizer makes them from a softmax and a loss, and from ``log(softmax(x))[arange(y.shape[0]), y]``. The latter follow
the rules of indexing, which ``labels`` records: a negative label counts from the last class, the last rows may have no
label, and errors are ``IndexError``. ``labels`` is ignored when ops are compared, because two rules give equal results
for labels that are valid under both.
"""
import numpy

from phintys.graph.apply import Apply
from phintys.graph.valueless_types import DisconnectedType, disconnected_type, grad_not_implemented
from phintys.graph.variable import Constant
from phintys.ops.elementwise.elementwise_functions import log
from phintys.ops.elementwise.scalar import as_dtype
from phintys.ops.elementwise.scalar import sigmoid_binary_crossentropy as _sigmoid_binary_crossentropy
from phintys.ops.nnet.crossentropy_kernel import (
    CrossentropyGradKernel,
    CrossentropyKernel,
    LabelLossGradKernel,
    LabelLossKernel,
)
from phintys.ops.nnet.float_op import FloatOp
from phintys.ops.nnet.softmax import softmax_grad
from phintys.ops.reduction.reduction import max_and_argmax
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.ops.types.dtypes import discrete_dtypes, float_dtypes
from phintys.ops.types.tensor_type import TensorType

__all__ = ["CrossentropyCategorical1Hot", "CrossentropyCategorical1HotGrad", "CrossentropySoftmax1HotWithBiasDx",
           "CrossentropySoftmaxArgmax1HotWithBias", "binary_crossentropy", "categorical_crossentropy",
           "crossentropy_categorical_1hot", "crossentropy_categorical_1hot_grad", "crossentropy_softmax_1hot",
           "crossentropy_softmax_1hot_with_bias", "crossentropy_softmax_1hot_with_bias_dx",
           "crossentropy_softmax_argmax_1hot_with_bias", "crossentropy_softmax_max_and_argmax_1hot",
           "crossentropy_softmax_max_and_argmax_1hot_with_bias", "sigmoid_binary_crossentropy"]


def checked(value, name, ranks, dtypes, what):
    """``value`` as a variable of one of ``ranks`` and ``dtypes``; raises ``ValueError`` for others."""
    value = as_tensor_variable(value)
    if value.type.ndim not in ranks or value.type.dtype not in dtypes:
        raise ValueError(f"{name} must be {'/'.join(map(str, ranks))}-d tensor of {what}, not {value.type}")
    return value


# Kind of labels → (whether they may count from the end, whether the last rows may have no label).
LABEL_RULES = {"classes": (False, False), "index": (True, False), "leading index": (True, True)}


def no_bias(x):
    """A bias for the rows of ``x`` that kernels do not read."""
    return constant(numpy.zeros(1), dtype=x.type.dtype)


def _is_no_bias(b):
    return isinstance(b, Constant) and b.type.broadcastable[0] and not b.data.any()


# ---- combined softmax and loss ------------------------------------------------------------------------------------
class CrossentropySoftmaxArgmax1HotWithBias(FloatOp):
    """Loss, softmax and argmax of the rows of ``x + b``. The inputs are x, b and one label for each row.

    Parameters
    ----------
    labels : {"classes", "index", "leading index"}
        The rules for labels: non-negative numbers; an index for every row; or an index for the first rows.

    Examples
    --------
    >>> x, bias = T.as_tensor([[1.0, 2.0], [0.0, 0.0]]), T.as_tensor([1.0, 0.0])
    >>> loss, softmax, position = T.nnet.crossentropy_softmax_argmax_1hot_with_bias(x, bias, T.as_tensor([0, 1]))
    >>> loss.eval(), position.eval()
    (array([0.69314718, 1.31326169]), array([0, 0]))
    """

    __props__ = ()

    def __init__(self, labels="classes"):
        self.labels = labels

    def make_node(self, x, b, y_idx):
        x = checked(x, "x", (2,), float_dtypes, "floats")
        b = as_dtype(checked(b, "b", (1,), float_dtypes, "floats"), x.type.dtype)
        y_idx = checked(y_idx, "y_idx", (1,), discrete_dtypes, "[u]ints")
        losses = TensorType(x.type.dtype, y_idx.type.broadcastable, shape=y_idx.type.shape)
        return Apply(self, [x, b, y_idx], [losses(), x.type(), y_idx.type()])

    def kernel_for(self, node, dtype):
        return CrossentropyKernel(dtype, not _is_no_bias(node.inputs[1]), *LABEL_RULES[self.labels])

    def infer_shape(self, node, input_shapes):
        return [input_shapes[2], input_shapes[0], input_shapes[2]]

    def connection_pattern(self, node):
        return [[True, True, True], [True, True, True], [False, False, True]]

    def L_op(self, inputs, outputs, output_grads):
        x, b, y_idx = inputs
        by_losses, by_softmax, by_argmax = [None if isinstance(gradient.type, DisconnectedType) else gradient
                                            for gradient in output_grads]
        terms = []
        if by_losses is not None:
            terms.append(CrossentropySoftmax1HotWithBiasDx(self.labels)(by_losses, outputs[1], y_idx))
        if by_softmax is not None:
            terms.append(softmax_grad(by_softmax, outputs[1]))
        by_label = disconnected_type() if by_argmax is None else y_idx.zeros_like()
        if not terms:
            return [x.zeros_like(), b.zeros_like(), by_label]
        by_x = sum(terms[1:], terms[0])
        by_b = by_x.sum(keepdims=True).dimshuffle(1) if b.type.broadcastable[0] else by_x.sum(axis=0)
        return [by_x, by_b, by_label]

    def R_op(self, inputs, eval_points):
        x, b, y_idx = inputs
        points = [point for point in eval_points[:2] if point is not None]
        if not points:
            return [None, None, None]
        _, softmax, _ = self(*inputs)
        point = sum(points, x.zeros_like())
        one = constant(1, dtype=x.type.dtype)
        slope = CrossentropySoftmax1HotWithBiasDx(self.labels)(one, softmax, y_idx)
        return [(slope * point).sum(axis=1), softmax_grad(point, softmax), None]


class CrossentropySoftmax1HotWithBiasDx(FloatOp):
    """The gradient of the losses with respect to x: ``dy * (sm - 1 at the label)`` for each row; dy may be one number
    for all rows.

    Parameters
    ----------
    labels : {"classes", "index", "leading index"}
        The rules for labels: non-negative numbers; an index for every row; or an index for the first rows.

    Examples
    --------
    >>> softmax, labels = T.as_tensor([[0.5, 0.5], [0.25, 0.75]]), T.as_tensor([0, 1])
    >>> T.nnet.crossentropy_softmax_1hot_with_bias_dx(T.as_tensor([1.0, 1.0]), softmax, labels).eval()
    array([[-0.5 ,  0.5 ],
           [ 0.25, -0.25]])
    """

    __props__ = ()
    shape_as = 1

    def __init__(self, labels="classes"):
        self.labels = labels

    def make_node(self, dy, sm, y_idx):
        dy = checked(dy, "dy", (0, 1), float_dtypes, "floats")
        sm = checked(sm, "sm", (2,), float_dtypes, "floats")
        y_idx = checked(y_idx, "y_idx", (1,), discrete_dtypes, "[u]ints")
        return Apply(self, [as_dtype(dy, sm.type.dtype), sm, y_idx], [sm.type()])

    def kernel_for(self, node, dtype):
        return CrossentropyGradKernel(node.inputs[0].type.ndim, *LABEL_RULES[self.labels])

    def grad(self, inputs, output_grads):
        dy, sm, y_idx = inputs
        gradient, = output_grads
        one = constant(1, dtype=sm.type.dtype)
        by_dy = (gradient * self(one, sm, y_idx)).sum(axis=1)
        if dy.type.ndim == 0 or dy.type.broadcastable[0]:
            by_dy = by_dy.sum(keepdims=dy.type.ndim == 1)
        column = dy if dy.type.ndim == 0 else dy.dimshuffle(0, "x")
        return [by_dy, gradient * column, grad_not_implemented(self, 2, y_idx)]

    def R_op(self, inputs, eval_points):
        dy, sm, y_idx = inputs
        by_dy, by_sm, _ = eval_points
        terms = []
        if by_dy is not None:
            terms.append(self(by_dy, sm, y_idx))
        if by_sm is not None:
            terms.append(by_sm * (dy if dy.type.ndim == 0 else dy.dimshuffle(0, "x")))
        return [sum(terms[1:], terms[0]) if terms else None]


crossentropy_softmax_argmax_1hot_with_bias = CrossentropySoftmaxArgmax1HotWithBias()
crossentropy_softmax_1hot_with_bias_dx = CrossentropySoftmax1HotWithBiasDx()


def crossentropy_softmax_1hot_with_bias(x, b, y_idx):
    """The losses ``-log(softmax(x + b)[i, y_idx[i]])`` and the softmax, as a list.

    Parameters
    ----------
    x : matrix of floats
    b : vector of floats
        Has one element for each column of x.
    y_idx : vector of integers
        The number of a column for each row of x.

    Raises
    ------
    ValueError
        For other ranks or dtypes; at run time, for lengths that do not match and labels that are not valid columns.

    Examples
    --------
    >>> x, bias = T.as_tensor([[1.0, 2.0], [0.0, 0.0]]), T.as_tensor([1.0, 0.0])
    >>> T.nnet.crossentropy_softmax_1hot_with_bias(x, bias, T.as_tensor([0, 1]))[0].eval()
    array([0.69314718, 1.31326169])
    """
    return crossentropy_softmax_argmax_1hot_with_bias(x, b, y_idx)[:2]


def crossentropy_softmax_1hot(x, y_idx):
    """Like `crossentropy_softmax_1hot_with_bias`, without a bias.

    Examples
    --------
    >>> T.nnet.crossentropy_softmax_1hot(T.as_tensor([[2.0, 2.0], [1.0, 0.0]]), T.as_tensor([0, 1]))[0].eval()
    array([0.69314718, 1.31326169])
    """
    x = as_tensor_variable(x)
    return crossentropy_softmax_1hot_with_bias(x, no_bias(x), y_idx)


def crossentropy_softmax_max_and_argmax_1hot_with_bias(x, b, y_idx):
    """Losses and softmax like `crossentropy_softmax_1hot_with_bias`, and each row's largest probability and its
    position.

    Returns
    -------
    tuple of four TensorVariables

    Examples
    --------
    >>> x, bias = T.as_tensor([[1.0, 2.0], [1.0, 0.0]]), T.as_tensor([1.0, 0.0])
    >>> loss, softmax, largest, position = T.nnet.crossentropy_softmax_max_and_argmax_1hot_with_bias(
    ...     x, bias, T.as_tensor([0, 1]))
    >>> largest.eval(), position.eval()
    (array([0.5       , 0.88079708]), array([0, 0]))
    """
    losses, softmax = crossentropy_softmax_1hot_with_bias(x, b, y_idx)
    largest, position = max_and_argmax(softmax, axis=-1)
    return losses, softmax, largest, position


def crossentropy_softmax_max_and_argmax_1hot(x, y_idx):
    """Like `crossentropy_softmax_max_and_argmax_1hot_with_bias`, without a bias.

    Examples
    --------
    >>> loss, softmax, largest, position = T.nnet.crossentropy_softmax_max_and_argmax_1hot(
    ...     T.as_tensor([[2.0, 2.0], [1.0, 0.0]]), T.as_tensor([0, 1]))
    >>> largest.eval(), position.eval()
    (array([0.5       , 0.73105858]), array([0, 0]))
    """
    x = as_tensor_variable(x)
    return crossentropy_softmax_max_and_argmax_1hot_with_bias(x, no_bias(x), y_idx)


# ---- loss of given probabilities ----------------------------------------------------------------------------------
class CrossentropyCategorical1HotGrad(FloatOp):
    """The gradient of `CrossentropyCategorical1Hot` with respect to the probabilities. The inputs are g_y, coding_dist
    and true_one_of_n.

    Examples
    --------
    >>> p, labels = T.as_tensor([[0.5, 0.5], [0.25, 0.75]]), T.as_tensor([0, 1])
    >>> T.nnet.crossentropy_categorical_1hot_grad(T.as_tensor([1.0, 1.0]), p, labels).eval()
    array([[-2.        ,  0.        ],
           [ 0.        , -1.33333333]])
    """

    __props__ = ()
    shape_as = 1

    def make_node(self, g_y, coding_dist, true_one_of_n):
        g_y, coding_dist = as_tensor_variable(g_y), as_tensor_variable(coding_dist)
        return Apply(self, [as_dtype(g_y, coding_dist.type.dtype), coding_dist, as_tensor_variable(true_one_of_n)],
                     [coding_dist.type()])

    def kernel_for(self, node, dtype):
        return LabelLossGradKernel()

    def L_op(self, inputs, outputs, output_grads):
        g_y, coding_dist, true_one_of_n = inputs
        gradient, = output_grads
        by_g_y = (gradient * self(g_y.ones_like(), coding_dist, true_one_of_n)).sum(axis=1)
        by_coding = self((gradient * outputs[0]).sum(axis=1), coding_dist, true_one_of_n)
        return [by_g_y, by_coding, grad_not_implemented(self, 2, true_one_of_n)]

    def R_op(self, inputs, eval_points):
        g_y, coding_dist, true_one_of_n = inputs
        by_g_y, by_coding, _ = eval_points
        terms = [] if by_g_y is None else [self(by_g_y, coding_dist, true_one_of_n)]
        if by_coding is not None:
            terms.append(self((by_coding * self(*inputs)).sum(axis=1), coding_dist, true_one_of_n))
        return [sum(terms[1:], terms[0]) if terms else None]


class CrossentropyCategorical1Hot(FloatOp):
    """``-log(coding_dist[i, true_one_of_n[i]])`` for each row i of a matrix of probabilities.

    Examples
    --------
    >>> T.nnet.crossentropy_categorical_1hot(T.as_tensor([[0.5, 0.5], [0.25, 0.75]]), T.as_tensor([0, 1])).eval()
    array([0.69314718, 0.28768207])
    """

    __props__ = ()

    def make_node(self, coding_dist, true_one_of_n):
        coding_dist, true_one_of_n = as_tensor_variable(coding_dist), as_tensor_variable(true_one_of_n)
        if coding_dist.type.ndim != 2 or coding_dist.type.dtype not in float_dtypes:
            raise TypeError(f"matrix of floats required for argument coding_dist, got {coding_dist.type}")
        if true_one_of_n.type.ndim != 1 or true_one_of_n.type.dtype not in discrete_dtypes:
            raise TypeError(f"integer vector required for argument true_one_of_n, got {true_one_of_n.type}")
        losses = TensorType(coding_dist.type.dtype, (False,), shape=true_one_of_n.type.shape)
        return Apply(self, [coding_dist, true_one_of_n], [losses()])

    def kernel_for(self, node, dtype):
        return LabelLossKernel(dtype)

    def infer_shape(self, node, input_shapes):
        return [(input_shapes[0][0],)]

    def grad(self, inputs, output_grads):
        coding_dist, true_one_of_n = inputs
        return [crossentropy_categorical_1hot_grad(output_grads[0], coding_dist, true_one_of_n),
                grad_not_implemented(self, 1, true_one_of_n)]

    def R_op(self, inputs, eval_points):
        coding_dist, true_one_of_n = inputs
        if eval_points[0] is None:
            return [None]
        slope = crossentropy_categorical_1hot_grad(self(*inputs).ones_like(), coding_dist, true_one_of_n)
        return [(slope * eval_points[0]).sum(axis=1)]


crossentropy_categorical_1hot = CrossentropyCategorical1Hot()
crossentropy_categorical_1hot_grad = CrossentropyCategorical1HotGrad()


def categorical_crossentropy(coding_dist, true_dist):
    """The cross-entropy between distributions over the last dimension, ``-sum(true_dist * log(coding_dist))``.

    Parameters
    ----------
    coding_dist : tensor of floats
        Probabilities; must be a matrix if ``true_dist`` has labels.
    true_dist : tensor of coding_dist's rank, or vector of integers
        Distributions, or the number of the column with probability 1 for each row of a matrix.

    Returns
    -------
    TensorVariable
        Has the dimensions of ``coding_dist`` except the last one.

    Raises
    ------
    TypeError
        For other ranks, or labels that are not integers.
    ValueError
        At run time, for labels that are not valid columns.

    Examples
    --------
    >>> p = T.as_tensor([[0.5, 0.5], [1.0, 0.0]])
    >>> T.nnet.categorical_crossentropy(p, [1, 0]).eval().round(3)
    array([ 0.693, -0.   ])
    """
    coding_dist, true_dist = as_tensor_variable(coding_dist), as_tensor_variable(true_dist)
    if true_dist.type.ndim == coding_dist.type.ndim:
        return -(true_dist * log(coding_dist)).sum(axis=coding_dist.type.ndim - 1)
    if true_dist.type.ndim == coding_dist.type.ndim - 1:
        return crossentropy_categorical_1hot(coding_dist, true_dist)
    raise TypeError(f"rank mismatch between coding and true distributions: {coding_dist.type} and {true_dist.type}")


# ---- two classes --------------------------------------------------------------------------------------------------
def binary_crossentropy(output, target):
    """The elementwise cross-entropy of binary variables: ``-(t * log(o) + (1 - t) * log(1 - o))``.

    Parameters
    ----------
    output : tensor_like
        Probabilities, strictly between 0 and 1. For the output of a sigmoid, the optimizer uses a form that is accurate
        for all arguments of the sigmoid.
    target : tensor_like
        Probabilities, including 0 and 1.

    Examples
    --------
    >>> T.nnet.binary_crossentropy(T.as_tensor([0.5, 1.0]), [1.0, 1.0]).eval().round(3)
    array([0.693,   nan])
    """
    output, target = as_tensor_variable(output), as_tensor_variable(target)
    return -(target * log(output) + (1.0 - target) * log(1.0 - output))


def sigmoid_binary_crossentropy(output, target):
    """``binary_crossentropy(sigmoid(output), target)``, computed as one numerically stable function.

    Parameters
    ----------
    output : tensor_like
        Real numbers.
    target : tensor_like
        Probabilities, including 0 and 1.

    Examples
    --------
    >>> T.nnet.sigmoid_binary_crossentropy(T.as_tensor([0.0, 1000.0]), T.as_tensor([1.0, 0.0])).eval()
    array([6.93147181e-01, 1.00000000e+03])
    """
    return _sigmoid_binary_crossentropy(as_tensor_variable(output), as_tensor_variable(target))
