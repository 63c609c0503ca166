"""Softmax over the rows of a matrix: Softmax, LogSoftmax, SoftmaxWithBias and SoftmaxGrad, as in Theano.

A vector is converted to a matrix with one row, and so the result is a matrix. Cross-entropies, which the optimizer
combines with a softmax, are in ``crossentropy.py``. The Jacobian of a softmax is symmetric, so SoftmaxGrad serves both
modes of differentiation; that of LogSoftmax is not symmetric.
"""
import warnings

from phintys.graph.apply import Apply
from phintys.graph.valueless_types import DisconnectedType, disconnected_type
from phintys.ops.elementwise.elementwise_functions import exp
from phintys.ops.elementwise.scalar import as_dtype
from phintys.ops.nnet.float_op import FloatOp
from phintys.ops.nnet.softmax_kernel import SoftmaxGradKernel, SoftmaxKernel
from phintys.ops.reduction.careduce import Sum, lines_with_mask, pad_reduced
from phintys.ops.shape.dimshuffle import shape_padleft
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import float_dtypes

__all__ = ["LogSoftmax", "Softmax", "SoftmaxGrad", "SoftmaxWithBias", "logsoftmax", "logsoftmax_op", "softmax",
           "softmax_grad", "softmax_graph", "softmax_op", "softmax_with_bias"]


def float_rows(x, name="x"):
    """A matrix variable: ``x`` itself, or a matrix with the vector ``x`` as its row.

    Raises
    ------
    ValueError
        For another rank, or a dtype that is not a float.
    """
    x = as_tensor_variable(x)
    if x.type.ndim not in (1, 2) or x.type.dtype not in float_dtypes:
        raise ValueError(f"{name} must be 1-d or 2-d tensor of floats. Got {x.type}")
    return shape_padleft(x, 1) if x.type.ndim == 1 else x


def along_rows(x):
    """The sums of the rows of ``x``, as a column."""
    return pad_reduced(x, Sum((1,))(x), (1,))


class RowOp(FloatOp):
    """The base class of ops on the rows of one matrix, whose result has the same type."""

    __props__ = ()
    logarithm = False
    shape_as = 0

    def make_node(self, x):
        x = float_rows(x)
        return Apply(self, [x], [x.type.make_variable()])

    def kernel_for(self, node, dtype):
        return SoftmaxKernel(dtype, self.logarithm)

    def masked_L_op(self, inputs, outputs, output_grads, masks):
        return lines_with_mask(self, inputs, outputs, output_grads, masks, 1)


class Softmax(RowOp):
    """``exp(x) / sum(exp(x))`` for each row of a matrix of floats, accurate for any finite x.

    Examples
    --------
    >>> T.nnet.softmax_op(T.as_tensor([[1.0, 1.0], [0.0, 1.0]])).eval()
    array([[0.5       , 0.5       ],
           [0.26894142, 0.73105858]])
    """

    def L_op(self, inputs, outputs, output_grads):
        if isinstance(output_grads[0].type, DisconnectedType):
            return [disconnected_type()]
        return [softmax_grad(output_grads[0], outputs[0])]

    def R_op(self, inputs, eval_points):
        return [softmax_grad(eval_points[0], self(*inputs))]


class LogSoftmax(RowOp):
    """``x - log(sum(exp(x)))`` for each row of a matrix of floats, accurate even where the softmax underflows.

    Examples
    --------
    >>> T.nnet.logsoftmax_op(T.as_tensor([[0.0, 0.0]])).eval()
    array([[-0.69314718, -0.69314718]])
    """

    logarithm = True

    def L_op(self, inputs, outputs, output_grads):
        gradient, = output_grads
        return [gradient - along_rows(gradient) * softmax_op(inputs[0])]

    def R_op(self, inputs, eval_points):
        point, = eval_points
        if point is None:
            return [None]
        return [point - along_rows(softmax_op(inputs[0]) * point)]


class SoftmaxWithBias(FloatOp):
    """The softmax of each row of ``x + b``, for a matrix x and a vector b of floats.

    Examples
    --------
    >>> T.nnet.softmax_with_bias(T.as_tensor([[0.0, 1.0]]), T.as_tensor([1.0, 0.0])).eval()
    array([[0.5, 0.5]])
    """

    __props__ = ()
    shape_as = 0

    def make_node(self, x, b):
        x, b = as_tensor_variable(x), as_tensor_variable(b)
        if x.type.ndim != 2 or x.type.dtype not in float_dtypes:
            raise ValueError(f"x must be 2-d tensor of floats. Got {x.type}")
        if b.type.ndim != 1 or b.type.dtype not in float_dtypes:
            raise ValueError(f"b must be 1-d tensor of floats. Got {b.type}")
        return Apply(self, [x, as_dtype(b, x.type.dtype)], [x.type.make_variable()])

    def kernel_for(self, node, dtype):
        return SoftmaxKernel(dtype, False, True)

    def L_op(self, inputs, outputs, output_grads):
        if isinstance(output_grads[0].type, DisconnectedType):
            return [disconnected_type(), disconnected_type()]
        by_x = softmax_grad(output_grads[0], outputs[0])
        return [by_x, by_x.sum(axis=0)]

    def R_op(self, inputs, eval_points):
        by_x, by_b = eval_points
        if by_x is None and by_b is None:
            return [None]
        softmax_ = self(*inputs)
        if by_x is None:
            point = softmax_.zeros_like() + by_b
        else:
            point = by_x if by_b is None else by_x + by_b
        return [softmax_grad(point, softmax_)]


class SoftmaxGrad(FloatOp):
    """The gradient with respect to the input of a softmax ``sm`` with gradient ``dy``: ``sm * (dy - sum(dy * sm))``.

    Examples
    --------
    >>> gradient, softmax = T.as_tensor([[1.0, 0.0]]), T.as_tensor([[0.5, 0.5]])
    >>> T.nnet.softmax_grad(gradient, softmax).eval()
    array([[ 0.25, -0.25]])
    """

    __props__ = ()
    shape_as = 1

    def make_node(self, dy, sm):
        dy, sm = float_rows(dy, "dy"), float_rows(sm, "sm")
        return Apply(self, [as_dtype(dy, sm.type.dtype), sm], [sm.type.make_variable()])

    def kernel_for(self, node, dtype):
        return SoftmaxGradKernel(dtype, node.inputs[0].type.broadcastable)

    def grad(self, inputs, output_grads):
        dy, sm = inputs
        gradient, = output_grads
        centred = gradient - along_rows(gradient * sm)
        return [centred * sm, centred * dy - gradient * along_rows(dy * sm)]

    def R_op(self, inputs, eval_points):
        dy, sm = inputs
        by_dy, by_sm = eval_points
        terms = []
        if by_dy is not None:
            terms.append(self(by_dy, sm))
        if by_sm is not None:
            terms.append(by_sm * (dy - along_rows(dy * sm)) - sm * along_rows(dy * by_sm))
        return [sum(terms[1:], terms[0]) if terms else None]


softmax_op, logsoftmax_op = Softmax(), LogSoftmax()
softmax_with_bias, softmax_grad = SoftmaxWithBias(), SoftmaxGrad()


def softmax(c):
    """The softmax of each row: positive numbers that sum to 1 and are proportional to ``exp(c)``.

    Parameters
    ----------
    c : matrix or vector of floats
        A vector counts as one row.

    Returns
    -------
    TensorVariable
        A matrix.

    Raises
    ------
    ValueError
        For another rank, or another dtype than a float.

    Examples
    --------
    >>> T.nnet.softmax(T.as_tensor([[0.0, 0.0]])).eval()
    array([[0.5, 0.5]])
    """
    c = as_tensor_variable(c)
    if c.type.ndim and c.type.broadcastable[-1]:
        warnings.warn("The softmax is applied on a dimension of shape 1, which does not have a semantic meaning.",
                      stacklevel=2)
    return softmax_op(c)


def logsoftmax(c):
    """The logarithm of the softmax of each row, without underflow; parameters and errors are those of `softmax`.

    Examples
    --------
    >>> T.nnet.logsoftmax(T.as_tensor([[0.0, 0.0], [1000.0, 0.0]])).eval()
    array([[-6.93147181e-01, -6.93147181e-01],
           [ 0.00000000e+00, -1.00000000e+03]])
    """
    return logsoftmax_op(c)


def softmax_graph(c):
    """The softmax over the last dimension of a tensor as a formula; only the optimizer makes it numerically stable.

    Examples
    --------
    >>> T.nnet.softmax_graph(T.as_tensor([[1.0, 1.0], [0.0, 1.0]])).eval()
    array([[0.5       , 0.5       ],
           [0.26894142, 0.73105858]])
    """
    exponential = exp(as_tensor_variable(c))
    return exponential / exponential.sum(axis=-1, keepdims=True)
