"""Activation functions of neural networks, composed of elementwise ops.

``sigmoid`` and ``softplus`` are rows of the table in ``scalar.py``; softmax works on rows and is in ``softmax.py``.
Every function in this file, and its gradient, is finite wherever its mathematical value is finite.
"""
import numpy

from phintys.graph.variable import Variable
from phintys.ops.elementwise import scalar
from phintys.ops.elementwise.elementwise import Elemwise  # which gives every scalar op its Elemwise
from phintys.ops.elementwise.elementwise_functions import clip, expm1, minimum, switch
from phintys.ops.types.constant import as_tensor_variable, constant

__all__ = ["elu", "hard_sigmoid", "relu", "selu", "softsign", "ultra_fast_sigmoid"]

SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946

softsign = scalar.scalar_softsign.elementwise
ultra_fast_sigmoid = scalar.ultra_fast_sigmoid.elementwise
sigmoid_inplace = Elemwise(scalar.sigmoid, {0: 0}, name="sigmoid_inplace")
ultra_fast_sigmoid_inplace = Elemwise(scalar.ultra_fast_sigmoid, {0: 0}, name="ultra_fast_sigmoid_inplace")
_rectified, _leaky = scalar.relu.elementwise, scalar.leaky_relu.elementwise


def hard_sigmoid(x):
    """A piecewise linear approximation of the sigmoid: 0.2 x + 0.5, limited to the range from 0 to 1.

    Parameters
    ----------
    x : tensor_like

    Returns
    -------
    TensorVariable
        Of the dtype of ``x`` if that is a float dtype, else of the float dtype that holds its values.

    Examples
    --------
    >>> T.nnet.hard_sigmoid(T.as_tensor([-9.0, 0.0, 9.0])).eval()
    array([0. , 0.5, 1. ])
    """
    x = as_tensor_variable(x)
    dtype = scalar.sigmoid.output_dtypes((x.type.dtype,))[0]
    return clip(x * constant(0.2, dtype=dtype) + constant(0.5, dtype=dtype), 0, 1)


def relu(x, alpha=0):
    """``x`` where it is positive, else ``alpha * x``; the slope at 0 is the mean of both slopes.

    Parameters
    ----------
    x : tensor_like
    alpha : scalar or tensor_like
        The slope for negative x, between 0 and 1.

    Returns
    -------
    TensorVariable

    Examples
    --------
    >>> T.nnet.relu(T.as_tensor([-2.0, 3.0]), 0.5).eval()
    array([-1.,  3.])
    """
    x = as_tensor_variable(x)
    if not isinstance(alpha, Variable) and numpy.ndim(alpha) == 0 and alpha == 0:
        return _rectified(x)
    return _leaky(x, as_tensor_variable(alpha))


def elu(x, alpha=1):
    """The exponential linear unit (Clevert, Unterthiner, Hochreiter 2015): x, or ``alpha * (exp(x) - 1)`` below 0.

    Parameters
    ----------
    x : tensor_like
    alpha : scalar

    Returns
    -------
    TensorVariable

    Examples
    --------
    >>> T.nnet.elu(T.as_tensor([-1.0, 2.0])).eval()
    array([-0.63212056,  2.        ])
    """
    x = as_tensor_variable(x)
    # The branch that is not selected must not overflow, either.
    return switch(x > 0, x, alpha * expm1(minimum(x, scalar.number(0, x))))


def selu(x):
    """The self-normalizing unit (Klambauer et al. 2017): ``elu`` with a fixed slope and scale.

    Examples
    --------
    >>> T.nnet.selu(T.as_tensor([-1.0, 2.0])).eval()
    array([-1.11133074,  2.10140197])
    """
    return SELU_SCALE * elu(x, SELU_ALPHA)
