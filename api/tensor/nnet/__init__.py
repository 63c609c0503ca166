"""Functions of neural networks. What is here is elementwise; everything else comes with the models that need it."""
from phintys.graph.config import config
from phintys.ops.constant import as_tensor_variable, constant
from phintys.ops.elementwise_functions import abs_, clip, sigmoid, softplus

__all__ = ["hard_sigmoid", "relu", "sigmoid", "softplus"]


def hard_sigmoid(x):
    """The sigmoid as three straight lines: 0, 0.2 x + 0.5, 1.

    Parameters
    ----------
    x : tensor_like

    Returns
    -------
    TensorVariable
        Of the dtype of ``x`` if that is a float, else of ``config.floatX``.
    """
    x = as_tensor_variable(x)
    dtype = _float_dtype(x)
    return clip(x.astype(dtype) * constant(0.2, dtype=dtype) + constant(0.5, dtype=dtype), 0, 1)


def relu(x, alpha=0):
    """max(x, alpha x): x where it is positive, else ``alpha`` times x.

    Parameters
    ----------
    x : tensor_like
    alpha : scalar or tensor_like
        The slope for negative x, between 0 and 1.

    Returns
    -------
    TensorVariable
    """
    x = as_tensor_variable(x)
    if not hasattr(alpha, "type") and alpha == 0:
        return 0.5 * (x + abs_(x))
    alpha = as_tensor_variable(alpha)
    return 0.5 * (1 + alpha) * x + 0.5 * (1 - alpha) * abs_(x)


def _float_dtype(x):
    return x.dtype if x.dtype.startswith(("float", "complex")) else config.floatX
