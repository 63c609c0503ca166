"""``cov`` and ``corrcoef``: matrices of covariances and correlations, composed of existing ops."""
import numpy

from phintys.ops.elementwise import elementwise_functions as elementwise
from phintys.ops.elementwise.complex_derivatives import conjugated
from phintys.ops.elementwise.scalar import as_dtype
from phintys.ops.linalg.diagonal import diagonal as extract_diag
from phintys.ops.products.products import dot
from phintys.ops.rearranging.rearranging import squeeze
from phintys.ops.reduction.reduction import mean
from phintys.ops.reduction.reduction import sum as sum_over
from phintys.ops.shape.dimshuffle import dimshuffle, transpose
from phintys.ops.shape.join import concatenate
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import canonical_dtype, complex_dtypes, upcast


def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, dtype=None):
    """The covariance matrix, like ``numpy.cov``.

    Parameters
    ----------
    m : vector or matrix
        Has one row per variable and one column per observation; a vector is one variable.
    y : vector or matrix, optional
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
    dtype : str, optional
        The dtype of the result; by default float64, or complex128 for complex observations.

    Returns
    -------
    TensorVariable
        A float matrix, without dimensions that are declared broadcastable.

    Raises
    ------
    ValueError
        If ``m`` or ``y`` has more than two dimensions.

    Examples
    --------
    >>> T.cov([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]).eval().tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    parts = [as_tensor_variable(part) for part in (m, y) if part is not None]
    dtype = canonical_dtype(dtype) if dtype else upcast("float64", *[part.type.dtype for part in parts])
    variables = concatenate([_as_rows(as_dtype(part, dtype), rowvar) for part in parts], axis=0)
    lost = ddof if ddof is not None else 0 if bias else 1
    weights = [as_tensor_variable(part) for part in (fweights, aweights) if part is not None]
    if not weights:
        centered = variables - mean(variables, axis=1, keepdims=True)
        count = elementwise.maximum(shape_i(variables, 1) - lost, 0)
        return squeeze(_divided(dot(centered, conjugated(transpose(centered))), count))
    weight = weights[0] if len(weights) == 1 else weights[0] * weights[1]
    total = sum_over(weight)
    average = dot(variables, as_dtype(elementwise.true_div(weight, total), dtype))
    centered = variables - dimshuffle(average, 0, "x")
    # Repeated observations count as often; importance alone does not make more observations.
    count = total - lost if aweights is None else total - lost * elementwise.true_div(
        sum_over(weight * weights[-1]), total)
    products = dot(centered * as_dtype(weight, dtype), conjugated(transpose(centered)))
    return squeeze(_divided(products, elementwise.maximum(count, 0)))


def _as_rows(part, rowvar):
    """A matrix that has a row for each variable."""
    if part.type.ndim > 2:
        raise ValueError(f"cov: observations have one or two dimensions, got {part} of type {part.type}")
    if part.type.ndim < 2:
        return dimshuffle(part, *["x"] * (2 - part.type.ndim), *range(part.type.ndim))
    return part if rowvar else transpose(part)


def _divided(products, count):
    """Sums of products divided by a count, which is real: NaN or infinite for a count of 0, in both parts."""
    found = [part / as_dtype(count, part.type.dtype) for part in _parts(products)]
    return elementwise.complex(*found) if len(found) == 2 else found[0]


def corrcoef(x, y=None, rowvar=True, dtype=None):
    """The matrix of correlation coefficients, like ``numpy.corrcoef``.

    Parameters
    ----------
    x, y, rowvar, dtype
        See ``cov``.

    Returns
    -------
    TensorVariable
        A float matrix of numbers between -1 and 1; of a single variable the number 1. The parts of complex numbers are
        between -1 and 1. NaN for what does not vary.

    Examples
    --------
    >>> T.corrcoef([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]).eval().tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    covariance = cov(x, y, rowvar, dtype=dtype)
    if not covariance.type.ndim:
        ratio = covariance / covariance         # the optimizer makes this 1
        return elementwise.switch(elementwise.neq(covariance, 0), ratio, numpy.asarray(numpy.nan, ratio.type.dtype))
    deviation = elementwise.sqrt(elementwise.real(extract_diag(covariance)))
    found = [elementwise.clip(part / dimshuffle(deviation, 0, "x") / dimshuffle(deviation, "x", 0), -1, 1)
             for part in _parts(covariance)]
    return elementwise.complex(*found) if len(found) == 2 else found[0]


def _parts(x):
    """The real and the imaginary part of complex numbers; real numbers alone."""
    return [elementwise.real(x), elementwise.imag(x)] if x.type.dtype in complex_dtypes else [x]
