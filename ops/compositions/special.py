"""Functions of ``scipy.special`` that are short expressions of others: ``softmax``, ``boxcox``, ``multigammaln`` ..."""
import math

from phintys.ops.elementwise import elementwise_functions as elementwise
from phintys.ops.elementwise.scalar import gammaln
from phintys.ops.reduction.reduction import logsumexp as logarithm_of_sum
from phintys.ops.types.constant import as_tensor_variable


def softmax(x, axis=None):
    """``exp(x)`` divided by its sum along the given axes or all, as ``scipy.special.softmax``.

    Examples
    --------
    >>> T.special.softmax(T.as_tensor([[0.0, 0.0], [0.0, 0.0]])).eval()
    array([[0.25, 0.25],
           [0.25, 0.25]])
    """
    return elementwise.exp(log_softmax(x, axis))


def log_softmax(x, axis=None):
    """The logarithm of `softmax`, which does not overflow, as ``scipy.special.log_softmax``.

    Examples
    --------
    >>> T.special.log_softmax(T.as_tensor([1000.0, 0.0])).eval()
    array([    0., -1000.])
    """
    x = as_tensor_variable(x)
    return x - logarithm_of_sum(x, axis=axis, keepdims=True)


def log_expit(x):
    """``log(expit(x))``, which is exact where ``expit`` is near 0 or 1.

    Examples
    --------
    >>> T.special.log_expit(T.as_tensor([-800.0, 0.0])).eval()
    array([-8.00000000e+02, -6.93147181e-01])
    """
    return -elementwise.softplus(-as_tensor_variable(x))


def huber(delta, r):
    """``r ** 2 / 2`` where ``abs(r) <= delta``, a straight line beyond, and infinity for a negative ``delta``.

    Examples
    --------
    >>> T.special.huber(1.0, T.as_tensor([0.5, 3.0])).eval()
    array([0.125, 2.5  ])
    """
    delta, size = as_tensor_variable(delta), abs(as_tensor_variable(r))
    found = elementwise.switch(size <= delta, size * size / 2, delta * (size - delta / 2))
    return elementwise.switch(delta < 0, math.inf, found)


def pseudo_huber(delta, r):
    """``delta ** 2 * (sqrt(1 + (r / delta) ** 2) - 1)``: a smooth `huber`; infinity for a negative ``delta``.

    Examples
    --------
    >>> T.special.pseudo_huber(1.0, T.as_tensor([0.0, 0.75])).eval()
    array([0.  , 0.25])
    """
    delta, r = as_tensor_variable(delta), as_tensor_variable(r)
    square = elementwise.sqr(r / elementwise.switch(elementwise.eq(delta, 0), 1.0, delta))
    found = elementwise.sqr(delta) * square / (elementwise.sqrt(1 + square) + 1)
    return elementwise.switch(delta < 0, math.inf, found)


def multigammaln(a, d):
    """The logarithm of the multivariate gamma function of dimension ``d``, an int.

    Raises
    ------
    ValueError
        If ``d`` is not a positive int.

    Examples
    --------
    >>> bool(T.special.multigammaln(T.as_tensor(2.0), 2).eval() < 0.5)
    True
    """
    if not isinstance(d, int) or d < 1:
        raise ValueError(f"multigammaln: d must be a positive int, got {d!r}")
    a = as_tensor_variable(a)
    return sum([gammaln.elementwise(a - number / 2) for number in range(d)]) + d * (d - 1) / 4 * math.log(math.pi)


def boxcox(x, lmbda):
    """``(x ** lmbda - 1) / lmbda``, and ``log(x)`` where ``lmbda`` is 0.

    Examples
    --------
    >>> T.special.boxcox(T.as_tensor([1.0, 4.0]), 0.5).eval()
    array([0., 2.])
    """
    return _by_power(elementwise.log(as_tensor_variable(x)), lmbda)


def boxcox1p(x, lmbda):
    """`boxcox` of ``1 + x``.

    Examples
    --------
    >>> T.special.boxcox1p(T.as_tensor([0.0, 3.0]), 0.5).eval()
    array([0., 2.])
    """
    return _by_power(elementwise.log1p(as_tensor_variable(x)), lmbda)


def _by_power(logarithm, lmbda):
    lmbda = as_tensor_variable(lmbda)
    is_zero = elementwise.eq(lmbda, 0)
    divisor = elementwise.switch(is_zero, 1.0, lmbda)
    return elementwise.switch(is_zero, logarithm, elementwise.expm1(divisor * logarithm) / divisor)


def inv_boxcox(x, lmbda):
    """The inverse of `boxcox`.

    Examples
    --------
    >>> T.special.inv_boxcox(T.as_tensor([0.0, 2.0]), 0.5).eval()
    array([1., 4.])
    """
    return elementwise.exp(_logarithm(x, lmbda))


def inv_boxcox1p(x, lmbda):
    """The inverse of `boxcox1p`.

    Examples
    --------
    >>> T.special.inv_boxcox1p(T.as_tensor([0.0, 2.0]), 0.5).eval()
    array([0., 3.])
    """
    return elementwise.expm1(_logarithm(x, lmbda))


def _logarithm(x, lmbda):
    x, lmbda = as_tensor_variable(x), as_tensor_variable(lmbda)
    is_zero = elementwise.eq(lmbda, 0)
    divisor = elementwise.switch(is_zero, 1.0, lmbda)
    return elementwise.switch(is_zero, x, elementwise.log1p(divisor * x) / divisor)
