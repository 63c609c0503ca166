"""Losses, attention and normalizations in their stable forms, composed of other ops."""
import math

import numpy

from phintys.ops.creation.allocation import arange
from phintys.ops.elementwise import elementwise_functions as elementwise
from phintys.ops.elementwise.scalar import as_dtype
from phintys.ops.indexing.getitem import getitem
from phintys.ops.nnet.softmax import logsoftmax, softmax
from phintys.ops.products.products import matmul
from phintys.ops.reduction.reduction import mean
from phintys.ops.reduction.reduction import sum as sum_over
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.shape.reshape import reshape
from phintys.ops.shape.shape import shape, shape_i
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.ops.types.dtypes import float_dtypes

__all__ = ["group_norm", "huber_loss", "layer_norm", "log_ndtr", "ndtri", "nll_loss", "scaled_dot_product_attention"]


def _float(x):
    x = as_tensor_variable(x)
    return x if x.type.dtype in float_dtypes else as_dtype(x, "float64")


def _number(value, like):
    return constant(value, dtype=like.type.dtype)


def huber_loss(output, target, delta=1.0):
    """Elementwise: half the square of the error up to ``delta``, beyond that a straight line of the same slope.

    Examples
    --------
    >>> T.nnet.huber_loss(T.as_tensor([0.5, 3.0]), T.as_tensor([0.0, 0.0])).eval()
    array([0.125, 2.5  ])
    """
    error = elementwise.abs_(_float(output) - as_tensor_variable(target))
    near = elementwise.minimum(error, _number(delta, error))
    return near * (error - near / 2)


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
    logits, labels = _float(logits), as_tensor_variable(labels)
    if labels.type.ndim != logits.type.ndim - 1:
        raise ValueError(f"nll_loss: labels must have one dimension less than logits, got {labels.type} and "
                         f"{logits.type}")
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"nll_loss: label_smoothing must be between 0 and 1, got {label_smoothing}")
    classes = shape_i(logits, logits.type.ndim - 1)
    rows = logsoftmax(reshape(logits, (-1, classes), ndim=2))
    labels = reshape(labels, (-1,), ndim=1)
    one = constant(1, dtype=logits.type.dtype)
    factors = elementwise.second(rows[0], one) if weights is None else as_dtype(
        as_tensor_variable(weights), logits.type.dtype)
    chosen = getitem(factors, labels)
    found = -getitem(rows, (arange(shape_i(labels, 0)), labels)) * chosen
    total = sum_over(found) * _number(1 - label_smoothing, rows)
    if label_smoothing:
        total = total - sum_over(rows * factors) * (_number(label_smoothing, rows) / as_dtype(classes, rows.type.dtype))
    return total / sum_over(chosen)


def scaled_dot_product_attention(query, key, value, mask=None, is_causal=False, scale=None):
    """The softmax of products of queries and keys, times the values.

    Parameters
    ----------
    query, key, value : tensor-like
        The last two dimensions are places and features.
    mask : tensor-like, optional
        Bools say which keys a query reads; numbers are added to the products.
    is_causal : bool
        Whether a query reads no key of a later place.
    scale : float, optional
        By which products are multiplied; by default one over the square root of the number of features.

    Returns
    -------
    TensorVariable
        0 for a query that reads no key.

    Examples
    --------
    >>> x = T.as_tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> T.nnet.scaled_dot_product_attention(x, x, x, is_causal=True).eval()[0]
    array([1., 0.])
    """
    query, key, value = [_float(part) for part in (query, key, value)]
    rank = key.type.ndim
    features = as_dtype(shape_i(query, query.type.ndim - 1), query.type.dtype)
    scale = 1 / elementwise.sqrt(features) if scale is None else _number(scale, query)
    scores = matmul(query * scale, dimshuffle(key, *range(rank - 2), rank - 1, rank - 2))
    reads = None
    if mask is not None:
        mask = as_tensor_variable(mask)
        if mask.type.dtype == "bool":
            reads = mask
        else:
            scores = scores + as_dtype(mask, scores.type.dtype)
    if is_causal:
        places = [arange(shape_i(scores, scores.type.ndim - number)) for number in (2, 1)]
        earlier = dimshuffle(places[0], 0, "x") >= dimshuffle(places[1], "x", 0)
        reads = earlier if reads is None else reads & earlier
    if reads is None:
        return matmul(_rows_of(softmax, scores), value)
    # Far below all others, and not infinite, so that a row without keys has numbers; the product with 0 takes them out.
    shares = _rows_of(softmax, elementwise.switch(reads, scores, _number(float(numpy.finfo(scores.type.dtype).min) / 2,
                                                                        scores)))
    return matmul(elementwise.switch(reads, shares, _number(0, shares)), value)


def _rows_of(function, x):
    """A function of the rows of a matrix, along the last dimension of a tensor."""
    rows = reshape(x, (-1, shape_i(x, x.type.ndim - 1)), ndim=2)
    return reshape(function(rows), shape(x), ndim=x.type.ndim)


def _standard(x, axes, epsilon):
    centered = x - mean(x, axis=axes, keepdims=True)
    return centered / elementwise.sqrt(mean(elementwise.sqr(centered), axis=axes, keepdims=True) + _number(epsilon, x))


def layer_norm(x, gamma=None, beta=None, axis=-1, epsilon=1e-5):
    """Values with mean 0 and variance 1 over some dimensions, times ``gamma`` plus ``beta``, which broadcast.

    Examples
    --------
    >>> T.nnet.layer_norm(T.as_tensor([[1.0, 3.0]]), epsilon=0.0).eval()
    array([[-1.,  1.]])
    """
    found = _standard(_float(x), axis, epsilon)
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
    x = _float(x)
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
    x = _float(x)
    root, half, edge = _number(math.sqrt(0.5), x), _number(0.5, x), _number(-1, x)
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
    p = _float(p)
    return -elementwise.erfcinv(p * _number(2, p)) * _number(math.sqrt(2), p)
