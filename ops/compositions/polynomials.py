"""Polynomials by their coefficients, and vectors by formulas: ``polymul``, ``polyfit``, ``geomspace``, windows."""
import math

import numpy

from phintys.graph.config import config
from phintys.ops.compositions.parts import beside, tensors
from phintys.ops.creation.allocation import arange
from phintys.ops.creation.linspace import linspace
from phintys.ops.cumulative.convolution import convolve
from phintys.ops.elementwise import elementwise_functions as elementwise
from phintys.ops.elementwise import scalar
from phintys.ops.elementwise.scalar import as_dtype
from phintys.ops.indexing.nonzero import nonzero
from phintys.ops.products.products import dot
from phintys.ops.rearranging.rearranging import atleast_1d
from phintys.ops.reduction import reduction
from phintys.ops.shape.dimshuffle import dimshuffle, transpose
from phintys.ops.shape.join import concatenate
from phintys.ops.shape.reshape import flatten
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.axes import one_axis, one_integer
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.ops.types.dtypes import complex_dtypes, discrete_dtypes, upcast


# ---- sums, products, derivatives -------------------------------------------------------------------------------------
def _aligned(a1, a2):
    """Both vectors of coefficients, the shorter one with zeros in front."""
    a1, a2 = [atleast_1d(x) for x in tensors((a1, a2))]
    longest = elementwise.maximum(shape_i(a1, 0), shape_i(a2, 0))
    return [concatenate([_zeros(longest - shape_i(x, 0), x.type.dtype), x]) for x in (a1, a2)]


def _zeros(count, dtype):
    return as_dtype(arange(count) * 0, dtype)


def polyadd(a1, a2):
    """The sum of two polynomials, by their coefficients, the highest power first.

    Examples
    --------
    >>> T.polyadd(T.as_tensor([1, 2]), T.as_tensor([9, 5, 4])).eval()
    array([9, 6, 6])
    """
    a1, a2 = _aligned(a1, a2)
    return a1 + a2


def polysub(a1, a2):
    """The difference of two polynomials, by their coefficients, the highest power first.

    Examples
    --------
    >>> T.polysub(T.as_tensor([2, 10, -2]), T.as_tensor([3, 10, -4])).eval()
    array([-1,  0,  2])
    """
    a1, a2 = _aligned(a1, a2)
    return a1 - a2


def polymul(a1, a2):
    """The product of two polynomials, by their coefficients, the highest power first; leading zeros are left out.

    Examples
    --------
    >>> T.polymul(T.as_tensor([1, 2, 3]), T.as_tensor([9, 5, 1])).eval()
    array([ 9, 23, 38, 17,  3])
    """
    return convolve(*[_without_leading_zeros(atleast_1d(x)) for x in tensors((a1, a2))])


def _without_leading_zeros(p):
    """From the first coefficient that is not 0, or the last one."""
    where, = nonzero(p)
    return p[concatenate([where, [shape_i(p, 0) - 1]])[0]:]


def polyder(p, m=1):
    """The derivative of order ``m`` of a polynomial, by its coefficients, the highest power first.

    Raises
    ------
    ValueError
        For a negative order.

    Examples
    --------
    >>> T.polyder(T.as_tensor([1, 1, 1, 1])).eval()
    array([3, 2, 1])
    """
    if one_integer("polyder", "m", m) < 0:
        raise ValueError(f"polyder: Order of derivative must be positive, got {m}")
    p = as_tensor_variable(p)
    for _ in range(m):
        p = p[:-1] * as_dtype(arange(shape_i(p, 0) - 1, 0, -1), upcast(p.type.dtype, "int64"))
    return p


def polyint(p, m=1, k=None):
    """The integral of order ``m`` of a polynomial, by its coefficients, the highest power first.

    Parameters
    ----------
    p : vector
    m : int
    k : number or sequence, optional
        The constants of integration, 0 by default; one, or one for each order.

    Raises
    ------
    ValueError
        For a negative order, or another number of constants.

    Examples
    --------
    >>> T.polyint(T.as_tensor([3.0, 2.0, 1.0])).eval()
    array([1., 1., 1., 0.])
    """
    if one_integer("polyint", "m", m) < 0:
        raise ValueError(f"polyint: Order of integral must be positive, got {m}")
    k = [0] * m if k is None else list(k) if isinstance(k, (list, tuple)) else [k]
    k = k * m if len(k) == 1 else k
    if len(k) < m:
        raise ValueError(f"polyint: k must be a scalar or a rank-1 array of length 1 or >m, got {k}")
    p = as_tensor_variable(p)
    for order in range(m):
        p = p / as_dtype(arange(shape_i(p, 0), 0, -1), "float64")
        p = concatenate([p, as_dtype(flatten(as_tensor_variable(k[order])), p.type.dtype)])
    return p


def poly(seq_of_zeros):
    """The coefficients of a polynomial with these zeros, a vector of known length; the highest power first.

    Raises
    ------
    ValueError
        If the length is not known.

    Examples
    --------
    >>> T.poly([1.0, 2.0]).eval()
    array([ 1., -3.,  2.])
    """
    zeros = as_tensor_variable(seq_of_zeros)
    if zeros.type.ndim != 1 or zeros.type.shape[0] is None:
        raise ValueError(f"poly: a vector of known length is needed, got {zeros} of type {zeros.type}")
    zeros = as_dtype(zeros, "float64") if zeros.type.dtype in discrete_dtypes else zeros
    found = flatten(constant(1, dtype=zeros.type.dtype))
    for number in range(zeros.type.shape[0]):
        nothing = _zeros(1, zeros.type.dtype)
        found = concatenate([found, nothing]) - zeros[number] * concatenate([nothing, found])
    return found


def polyfit(x, y, deg, rcond=None, full=False, w=None, cov=False):
    """The coefficients of the polynomial of degree ``deg`` with the least squares of errors; the highest power first.

    Parameters
    ----------
    x : vector
    y : vector, or matrix with a fit for each column
    deg : int
    rcond : float, optional
        The share of the largest singular value below which others count as 0; by default the number of points times
        the precision.
    full : bool
        Whether to return the sums of squares, the rank, the singular values and ``rcond`` as well.
    w : vector, optional
        Weights of the errors, before they are squared.
    cov : {False, True, "unscaled"}
        Whether to return the covariance of the coefficients as well; "unscaled" takes the weights for exact.

    Raises
    ------
    ValueError, TypeError
        For a negative degree, or other ranks.

    Examples
    --------
    >>> T.polyfit(T.as_tensor([0.0, 1.0, 2.0]), T.as_tensor([1.0, 3.0, 5.0]), 1).eval().round(6)
    array([2., 1.])
    """
    from phintys.ops.factorizations.inverse import matrix_inverse
    from phintys.ops.factorizations.least_squares import least_squares
    x, y = [as_dtype(part, upcast(part.type.dtype, "float64")) for part in tensors((x, y))]
    if not isinstance(deg, (int, numpy.integer)):
        raise TypeError(f"polyfit: the degree is an integer, got {deg!r}")
    if deg < 0:
        raise ValueError(f"polyfit: expected deg >= 0, got {deg}")
    if x.type.ndim != 1 or y.type.ndim not in (1, 2):
        raise TypeError(f"polyfit: expected a vector for x and a vector or matrix for y, got {x.type} and {y.type}")
    powers = dimshuffle(x, 0, "x") ** arange(deg, -1, -1)
    if w is not None:
        w = as_dtype(as_tensor_variable(w), "float64")
        powers = powers * dimshuffle(w, 0, "x")
        y = y * (w if y.type.ndim == 1 else dimshuffle(w, 0, "x"))
    size = elementwise.sqrt(reduction.sum(elementwise.sqr(powers), axis=0))
    rcond = as_dtype(shape_i(x, 0), "float64") * 2.0 ** -52 if rcond is None else rcond
    found, residuals, rank, values = least_squares(powers / size, y, rcond)
    found = found / (size if y.type.ndim == 1 else dimshuffle(size, 0, "x"))
    if full:
        return found, residuals, rank, values, rcond
    if not cov:
        return found
    spread = matrix_inverse(dot(transpose(powers), powers))
    spread = spread if y.type.ndim == 1 else dimshuffle(spread, 0, 1, "x")
    if cov == "unscaled":
        return found, spread
    factor = residuals / as_dtype(shape_i(x, 0) - (deg + 1), "float64")
    return found, spread * (factor[0] if y.type.ndim == 1 else factor)


# ---- evenly spaced exponents -----------------------------------------------------------------------------------------
def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    """Powers of ``base`` with evenly spaced exponents from ``start`` to ``stop``; see `linspace`.

    Examples
    --------
    >>> T.logspace(0, 2, 3).eval()
    array([  1.,  10., 100.])
    """
    exponents = linspace(start, stop, num, endpoint=endpoint, axis=axis)
    base = constant(base, dtype=exponents.type.dtype) if isinstance(base, (int, float)) else as_tensor_variable(base)
    found = (_widened(base, axis) if base.type.ndim else base) ** exponents
    return found if dtype is None else as_dtype(found, str(dtype))


def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    """Numbers from ``start`` to ``stop`` with a constant ratio; both have one sign, and neither is 0.

    Complex numbers lie on a spiral.

    Examples
    --------
    >>> T.geomspace(1.0, 8.0, 4, dtype="float64").eval()
    array([1., 2., 4., 8.])
    """
    start, stop = tensors((start, stop))
    work = upcast(start.type.dtype, stop.type.dtype)
    work = config.floatX if work in discrete_dtypes else work
    work = work if dtype is None or str(dtype) in discrete_dtypes else upcast(work, str(dtype))
    start, stop = as_dtype(start, work), as_dtype(stop, work)
    sign = start / abs(start) if work in complex_dtypes else elementwise.sgn(start)
    found = logspace(elementwise.log10(start / sign), elementwise.log10(stop / sign), num, endpoint, axis=axis)
    sign, start, stop = [_widened(x, axis) if x.type.ndim else x for x in (sign, start, stop)]
    found = sign * found
    rank, num = found.type.ndim, as_tensor_variable(num)
    numbers = beside(arange(num), one_axis("geomspace", found, axis), rank)
    found = elementwise.switch(elementwise.eq(numbers, 0), start, found)
    if endpoint:
        found = elementwise.switch(elementwise.eq(numbers, num - 1) & (num > 1), stop, found)
    return found if dtype is None else as_dtype(found, str(dtype))


def _widened(x, axis):
    order = list(range(x.type.ndim))
    order.insert(axis % (x.type.ndim + 1), "x")
    return dimshuffle(x, *order)


# ---- windows ---------------------------------------------------------------------------------------------------------
def _window(M, terms):
    """A sum of cosines over ``M`` points from -1 to 1; 1 for a single point."""
    M = as_tensor_variable(M)
    n = as_dtype(arange(1 - M, M, 2), "float64")
    angle = math.pi * n / as_dtype(elementwise.maximum(M - 1, 1), "float64")
    found = terms[0] + sum([factor * elementwise.cos(number * angle) for number, factor in enumerate(terms[1:], 1)])
    return elementwise.switch(elementwise.eq(M, 1), elementwise.ones_like(n), found)


def hanning(M):
    """The Hann window of ``M`` points: a vector of float64, empty for ``M < 1``.

    Examples
    --------
    >>> T.hanning(3).eval()
    array([0., 1., 0.])
    """
    return _window(M, (0.5, 0.5))


def hamming(M):
    """The Hamming window of ``M`` points: a vector of float64, empty for ``M < 1``.

    Examples
    --------
    >>> T.hamming(3).eval()
    array([0.08, 1.  , 0.08])
    """
    return _window(M, (0.54, 0.46))


def blackman(M):
    """The Blackman window of ``M`` points: a vector of float64, empty for ``M < 1``.

    Examples
    --------
    >>> T.blackman(3).eval()[1]
    np.float64(1.0)
    """
    return _window(M, (0.42, 0.5, 0.08))


def kaiser(M, beta):
    """The Kaiser window of ``M`` points, whose shape is ``beta``: a vector of float64, empty for ``M < 1``.

    Examples
    --------
    >>> T.kaiser(3, 0.0).eval()
    array([1., 1., 1.])
    """
    M = as_tensor_variable(M)
    beta = as_dtype(as_tensor_variable(beta), "float64")
    n = as_dtype(arange(1 - M, M, 2), "float64") / as_dtype(elementwise.maximum(M - 1, 1), "float64")
    root = elementwise.sqrt(elementwise.maximum(1 - elementwise.sqr(n), 0.0))
    bessel = scalar.i0.elementwise
    return elementwise.switch(elementwise.eq(M, 1), elementwise.ones_like(n), bessel(beta * root) / bessel(beta))
