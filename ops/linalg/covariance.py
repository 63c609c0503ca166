"""``cov`` and ``corrcoef``: matrices of covariances and correlations, composed of existing ops."""
from phintys.ops.elementwise import scalar
from phintys.ops.linalg.diagonal import diagonal as extract_diag
from phintys.ops.products.products import dot
from phintys.ops.rearranging.rearranging import squeeze
from phintys.ops.reduction.reduction import mean
from phintys.ops.reduction.reduction import sum as sum_over
from phintys.ops.shape.dimshuffle import dimshuffle, transpose
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
    fweights : vector of integers, optional
        How often each observation was made.
    aweights : vector, optional
        The importance of each observation.

    Returns
    -------
    TensorVariable
        A float matrix, without dimensions that are declared broadcastable.

    Examples
    --------
    >>> T.cov([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]).eval().tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    variables = [as_tensor_variable(part) for part in (m, y) if part is not None]
    variables = concatenate(variables if rowvar else [transpose(part) for part in variables], axis=0)
    lost = ddof if ddof is not None else 0 if bias else 1
    weights = [as_tensor_variable(part) for part in (fweights, aweights) if part is not None]
    if not weights:
        centered = variables - mean(variables, axis=1, keepdims=True)
        return squeeze(scalar.true_div(dot(centered, transpose(centered)), shape_i(variables, 1) - lost))
    weight = weights[0] if len(weights) == 1 else weights[0] * weights[1]
    total = sum_over(weight)
    average = dot(variables, scalar.true_div.elementwise(weight, total))
    centered = variables - dimshuffle(average, 0, "x")
    # Repeated observations count as often; importance alone does not make more observations.
    count = total - lost if aweights is None else total - lost * scalar.true_div.elementwise(
        sum_over(weight * weights[-1]), total)
    return squeeze(scalar.true_div(dot(centered * weight, transpose(centered)), count))


def corrcoef(x, y=None, rowvar=True):
    """The matrix of correlation coefficients, like ``numpy.corrcoef``.

    Parameters
    ----------
    x, y, rowvar
        See ``cov``.

    Returns
    -------
    TensorVariable
        A float matrix of numbers between -1 and 1.

    Examples
    --------
    >>> T.corrcoef([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]).eval().tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    covariance = cov(x, y, rowvar)
    deviation = scalar.sqrt.elementwise(extract_diag(covariance))
    return scalar.clip.elementwise(covariance / dimshuffle(deviation, 0, "x") / dimshuffle(deviation, "x", 0), -1, 1)
