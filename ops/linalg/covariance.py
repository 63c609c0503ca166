"""``cov``: the covariance matrix of variables, composed of existing ops."""
from phintys.ops.elementwise import scalar
from phintys.ops.products.products import dot
from phintys.ops.rearranging.rearranging import squeeze
from phintys.ops.reduction.reduction import mean
from phintys.ops.shape.dimshuffle import transpose
from phintys.ops.shape.join import concatenate
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.constant import as_tensor_variable


def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None):
    """The covariance matrix, like ``numpy.cov``.

    Parameters
    ----------
    m : matrix
        Has one row per variable and one column per observation.
    y : matrix, optional
        Additional variables.
    rowvar : bool
        If false, columns are variables and rows are observations.
    bias : bool
        Whether to divide by the number of observations n instead of n - 1.
    ddof : int, optional
        The number subtracted from the number of observations; overrides ``bias``.
    fweights, aweights : None
        Weights are not implemented.

    Returns
    -------
    TensorVariable
        A float matrix, without dimensions that are declared broadcastable.

    Raises
    ------
    NotImplementedError
        If weights are given.
    """
    if fweights is not None or aweights is not None:
        raise NotImplementedError("cov: fweights and aweights are not implemented")
    variables = [as_tensor_variable(part) for part in (m, y) if part is not None]
    variables = concatenate(variables if rowvar else [transpose(part) for part in variables], axis=0)
    lost = ddof if ddof is not None else 0 if bias else 1
    centered = variables - mean(variables, axis=1, keepdims=True)
    return squeeze(scalar.true_div(dot(centered, transpose(centered)), shape_i(variables, 1) - lost))
