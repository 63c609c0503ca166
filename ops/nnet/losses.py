"""Losses, attention and normalizations in their stable forms, composed of other ops."""
import math
import operator
from functools import reduce

from phintys.graph.variable import Variable
from phintys.ops.creation.allocation import arange
from phintys.ops.elementwise import elementwise_functions as elementwise
from phintys.ops.elementwise.scalar import as_dtype, number_like
from phintys.ops.indexing.getitem import getitem
from phintys.ops.nnet.softmax import logsoftmax
from phintys.ops.products.products import matmul
from phintys.ops.reduction.reduction import mean
from phintys.ops.reduction.reduction import sum as sum_over
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.shape.reshape import reshape
from phintys.ops.shape.shape import shape, shape_i
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.ops.types.dtypes import float_dtypes

__all__ = ["focal_loss", "group_norm", "gru_cell", "huber_loss", "kl_categorical", "kl_div", "kl_normal", "layer_norm",
           "log_ndtr", "lstm_cell", "ndtri", "nll_loss", "rel_entr"]


def as_float(x):
    """A tensor of a float dtype: others become float64."""
    x = as_tensor_variable(x)
    return x if x.type.dtype in float_dtypes else as_dtype(x, "float64")


def huber_loss(output, target, delta=1.0):
    """Elementwise: half the square of the error up to ``delta``, beyond that a straight line of the same slope.

    Examples
    --------
    >>> T.nnet.huber_loss(T.as_tensor([0.5, 3.0]), T.as_tensor([0.0, 0.0])).eval()
    array([0.125, 2.5  ])
    """
    error = elementwise.abs_(as_float(output) - as_tensor_variable(target))
    near = elementwise.minimum(error, number_like(delta, error))
    return near * (error - near / 2)


def focal_loss(logits, targets, alpha=0.25, gamma=2.0):
    """Elementwise cross-entropy of a sigmoid in which well classified elements weigh less.

    Parameters
    ----------
    logits : tensor-like
    targets : tensor-like
        0 or 1, or between them.
    alpha : float, optional
        The weight of ones, that of zeros being ``1 - alpha``; None for equal weights of 1.
    gamma : float
        The power of the probability of a mistake that is a factor.

    Examples
    --------
    >>> T.nnet.focal_loss(T.as_tensor([0.0, 9.0]), T.as_tensor([1.0, 1.0]), alpha=None).eval().round(6)
    array([0.173287, 0.      ])
    """
    logits = as_float(logits)
    targets = as_dtype(as_tensor_variable(targets), logits.type.dtype)
    entropy = elementwise.softplus(logits) - logits * targets
    one = number_like(1, logits)
    found = entropy * (-elementwise.expm1(-entropy)) ** number_like(gamma, logits)
    if alpha is None:
        return found
    return found * (targets * number_like(alpha, logits) + (one - targets) * number_like(1 - alpha, logits))


def rel_entr(x, y):
    """Elementwise ``x log(x / y)``: 0 where ``x`` is 0, infinite where ``y`` is not positive; as SciPy's.

    Examples
    --------
    >>> T.nnet.rel_entr(T.as_tensor([0.0, 1.0]), T.as_tensor([0.0, 1.0])).eval()
    array([0., 0.])
    """
    x, y = as_float(x), as_float(y)
    inside = (x > 0) & (y > 0)
    one = number_like(1, x)
    p, q = elementwise.switch(inside, x, one), elementwise.switch(inside, y, one)
    nothing = elementwise.eq(x, 0) & (y >= 0)
    outside = elementwise.switch(nothing, number_like(0, x), number_like(math.inf, x))
    outside = elementwise.switch(elementwise.isnan(x) | elementwise.isnan(y), number_like(math.nan, x), outside)
    return elementwise.switch(inside, p * (elementwise.log(p) - elementwise.log(q)), outside)


def kl_div(x, y):
    """Elementwise ``x log(x / y) - x + y``, which is not negative; as SciPy's.

    Examples
    --------
    >>> T.nnet.kl_div(T.as_tensor([1.0]), T.as_tensor([1.0])).eval()
    array([0.])
    """
    x, y = as_float(x), as_float(y)
    return rel_entr(x, y) - x + y


def kl_categorical(logits, others):
    """The Kullback-Leibler divergence of the softmax of ``logits`` from that of ``others``, along the last dimension.

    Examples
    --------
    >>> T.nnet.kl_categorical(T.as_tensor([0.0, 0.0]), T.as_tensor([0.0, 0.0])).eval()
    array(0.)
    """
    logs, other_logs = [along_last(logsoftmax, as_float(part)) for part in (logits, others)]
    return sum_over(elementwise.exp(logs) * (logs - other_logs), axis=-1)


def kl_normal(mean, deviation, other_mean, other_deviation):
    """The Kullback-Leibler divergence of a normal distribution from another one, elementwise.

    Examples
    --------
    >>> T.nnet.kl_normal(1.0, 1.0, 0.0, 1.0).eval().item()
    0.5
    """
    mean, deviation, other_mean, other_deviation = [
        as_float(part) for part in (mean, deviation, other_mean, other_deviation)]
    ratio, shift = deviation / other_deviation, (mean - other_mean) / other_deviation
    half = number_like(0.5, ratio)
    return half * (elementwise.sqr(ratio) + elementwise.sqr(shift)) - half - elementwise.log(ratio)


def nll_loss(logits, labels, weights=None, label_smoothing=0.0):
    """The mean negative log-likelihood of labels under a softmax of the last dimension.

    Parameters
    ----------
    logits : tensor-like
    labels : tensor-like of integers
        Of the shape of ``logits`` without its last dimension.
    weights : vector, optional
        The weight of each class; the mean is divided by the weights of the labels.
    label_smoothing : float
        The share that is spread over all classes alike.

    Raises
    ------
    ValueError
        If the ranks do not fit, or the share is not between 0 and 1.

    Examples
    --------
    >>> T.nnet.nll_loss(T.as_tensor([[0.0, 0.0]]), T.as_tensor([1])).eval()
    array(0.69314718)
    """
    logits, labels = as_float(logits), as_tensor_variable(labels)
    if labels.type.ndim != logits.type.ndim - 1:
        raise ValueError(f"nll_loss: labels must have one dimension less than logits, got {labels.type} and "
                         f"{logits.type}")
    is_known = not isinstance(label_smoothing, Variable)
    if is_known and not 0 <= label_smoothing <= 1:
        raise ValueError(f"nll_loss: label_smoothing must be between 0 and 1, got {label_smoothing}")
    classes = shape_i(logits, logits.type.ndim - 1)
    rows = logsoftmax(reshape(logits, (-1, classes), ndim=2))
    labels = reshape(labels, (-1,), ndim=1)
    one = constant(1, dtype=logits.type.dtype)
    factors = elementwise.second(rows[0], one) if weights is None else as_dtype(
        as_tensor_variable(weights), logits.type.dtype)
    chosen = getitem(factors, labels)
    found = -getitem(rows, (arange(shape_i(labels, 0)), labels)) * chosen
    total = sum_over(found) * number_like(1 - label_smoothing, rows)
    if not is_known or label_smoothing:
        share = number_like(label_smoothing, rows) / as_dtype(classes, rows.type.dtype)
        total = total - sum_over(rows * factors) * share
    return total / sum_over(chosen)


def _gates(x, state, weights, recurrent, bias, count):
    """The products of an input and a state with the weights of gates, which are side by side."""
    x, state, weights, recurrent = [as_float(part) for part in (x, state, weights, recurrent)]
    units = shape_i(state, state.type.ndim - 1)
    parts = [matmul(x, weights), matmul(state, recurrent)]
    if bias is not None:
        parts[0] = parts[0] + bias
    return [[part[..., number * units:(number + 1) * units] for number in range(count)] for part in parts]


def lstm_cell(x, state, cell, weights, recurrent, bias=None):
    """One step of a long short-term memory.

    Parameters
    ----------
    x, state, cell : tensor-like
        The input, of features along the last dimension, and the state and the cell, of units.
    weights, recurrent : matrix
        Of the input and of the state: the gates side by side, input, forget, cell, output.
    bias : vector, optional

    Returns
    -------
    (TensorVariable, TensorVariable)
        The next state and cell.

    Examples
    --------
    >>> one = T.ones((1, 1), dtype="float64")
    >>> [part.eval().round(6).tolist() for part in T.nnet.lstm_cell(one, one, one, T.zeros((1, 4)), T.zeros((1, 4)))]
    [[[0.231059]], [[0.5]]]
    """
    cell = as_float(cell)
    by_input, by_state = _gates(x, state, weights, recurrent, bias, 4)
    enter, forget, new, out = [first + second for first, second in zip(by_input, by_state)]
    cell = elementwise.sigmoid(forget) * cell + elementwise.sigmoid(enter) * elementwise.tanh(new)
    return elementwise.sigmoid(out) * elementwise.tanh(cell), cell


def gru_cell(x, state, weights, recurrent, bias=None, recurrent_bias=None):
    """One step of a gated recurrent unit.

    Parameters
    ----------
    x, state : tensor-like
        The input, of features along the last dimension, and the state, of units.
    weights, recurrent : matrix
        Of the input and of the state: the gates side by side, reset, update, new.
    bias, recurrent_bias : vector, optional
        The second one is added to the products with the state, before the reset.

    Returns
    -------
    TensorVariable
        The next state.

    Examples
    --------
    >>> one = T.ones((1, 1), dtype="float64")
    >>> T.nnet.gru_cell(one, one, T.zeros((1, 3)), T.zeros((1, 3))).eval()
    array([[0.5]])
    """
    state = as_float(state)
    by_input, by_state = _gates(x, state, weights, recurrent, bias, 3)
    if recurrent_bias is not None:
        units, recurrent_bias = shape_i(state, state.type.ndim - 1), as_tensor_variable(recurrent_bias)
        by_state = [part + recurrent_bias[number * units:(number + 1) * units] for number, part in enumerate(by_state)]
    reset, update = [elementwise.sigmoid(by_input[number] + by_state[number]) for number in (0, 1)]
    return (number_like(1, update) - update) * elementwise.tanh(by_input[2] + reset * by_state[2]) + update * state


def along_last(function, x):
    """A function of the rows of a matrix, along the last dimension of a tensor."""
    *others, length = [shape_i(x, axis) for axis in range(x.type.ndim)]
    rows = reshape(x, (reduce(operator.mul, others, 1), length), ndim=2)            # also where it is 0
    return reshape(function(rows), shape(x), ndim=x.type.ndim)


def _standard(x, axes, epsilon):
    centered = x - mean(x, axis=axes, keepdims=True)
    variance = mean(elementwise.sqr(centered), axis=axes, keepdims=True)
    return centered / elementwise.sqrt(variance + number_like(epsilon, x))


def layer_norm(x, gamma=None, beta=None, axis=-1, epsilon=1e-5):
    """Values with mean 0 and variance 1 over some dimensions, times ``gamma`` plus ``beta``, which broadcast.

    Examples
    --------
    >>> T.nnet.layer_norm(T.as_tensor([[1.0, 3.0]]), epsilon=0.0).eval()
    array([[-1.,  1.]])
    """
    found = _standard(as_float(x), axis, epsilon)
    found = found if gamma is None else found * gamma
    return found if beta is None else found + beta


def group_norm(x, groups, gamma=None, beta=None, epsilon=1e-5):
    """Values with mean 0 and variance 1 over groups of channels, the second dimension, and all places behind it.

    With as many groups as channels it is an instance norm.

    Parameters
    ----------
    x : tensor-like
        Examples, channels, and any number of dimensions of places.
    groups : int
        Divides the number of channels.
    gamma, beta : vector, optional
        A factor and a summand for each channel.
    epsilon : float

    Examples
    --------
    >>> T.nnet.group_norm(T.as_tensor([[[1.0, 3.0], [2.0, 6.0]]]), 2, epsilon=0.0).eval()
    array([[[-1.,  1.],
            [-1.,  1.]]])
    """
    x = as_float(x)
    parts = reshape(x, (shape_i(x, 0), groups, -1), ndim=3)
    found = reshape(_standard(parts, 2, epsilon), shape(x), ndim=x.type.ndim)
    pattern = ["x", 0, *["x"] * (x.type.ndim - 2)]
    found = found if gamma is None else found * dimshuffle(as_tensor_variable(gamma), *pattern)
    return found if beta is None else found + dimshuffle(as_tensor_variable(beta), *pattern)


def log_ndtr(x):
    """The logarithm of the normal distribution function, exact in both tails, like ``scipy.special.log_ndtr``.

    Examples
    --------
    >>> T.nnet.log_ndtr(T.as_tensor([-40.0, -41.0])).eval()
    array([-804.60844201, -845.1331046 ])
    """
    x = as_float(x)
    root, half, edge = number_like(math.sqrt(0.5), x), number_like(0.5, x), number_like(-1, x)
    low, high = elementwise.minimum(x, edge), elementwise.maximum(x, edge)     # each form sees only what it is for
    by_tail = elementwise.log(elementwise.erfcx(-low * root) * half) - elementwise.sqr(low) * half
    return elementwise.switch(x < edge, by_tail, elementwise.log1p(-elementwise.erfc(high * root) * half))


def ndtri(p):
    """The inverse of the normal distribution function, like ``scipy.special.ndtri``.

    Examples
    --------
    >>> T.nnet.ndtri(T.as_tensor([0.5, 0.975])).eval().round(6)
    array([0.      , 1.959964])
    """
    p = as_float(p)
    return -elementwise.erfcinv(p * number_like(2, p)) * number_like(math.sqrt(2), p)
