"""The public reductions ``sum``, ``mean``, ``var``, ``max``, ``argmax`` and others, with Theano's signatures.

``axis`` is None (all axes), an int, or a sequence of ints; negative axes count from the last one, and an axis that does
not exist or occurs twice is a ``ValueError``. ``keepdims`` keeps the reduced dimensions with length 1. The names shadow
Python's built-ins in this file only. The ops are in ``careduce.py``, ``mean.py``, ``fused_reduction.py`` and
``argmax.py`` and can be imported from here.
"""
from phintys.graph.gradients.view_op import disconnected_grad
from phintys.graph.variable import Variable
from phintys.ops.elementwise import scalar
from phintys.ops.elementwise.scalar_op import upgrade_to_float
from phintys.ops.reduction.argmax import Argmax, Argmin, MaxAndArgmax
from phintys.ops.reduction.careduce import (
    All,
    Any,
    CAReduce,
    CAReduceDtype,
    Max,
    MaxOrLowest,
    Min,
    Sum,
    axis_tuple,
    pad_reduced,
    positive_axes,
)
from phintys.ops.reduction.fused_reduction import FusedReduction
from phintys.ops.reduction.mean import Mean
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.ops.types.dtypes import complex_dtypes
from phintys.ops.types.numpy_arguments import with_numpy_arguments

__all__ = ["All", "Any", "Argmax", "Argmin", "CAReduce", "CAReduceDtype", "FusedReduction", "Max", "MaxAndArgmax",
           "Mean", "Min", "Sum", "all", "any", "argmax", "argmin", "logsumexp", "max",
           "max_and_argmax", "mean", "min", "ptp", "std", "sum", "var"]

_every = {}             # (class, axis) → op, a cache for frequent reductions


def reduce_by(op_class, x, axis, keepdims, **dtypes):
    """Apply a reduction; for ``keepdims``, dimensions are added by a view of its result."""
    x, axis = as_tensor_variable(x), axis_tuple(axis)
    if [value for value in dtypes.values() if value]:
        op = op_class(axis, **dtypes)
    else:
        op = _every.get((op_class, axis))
        if op is None:
            op = _every[op_class, axis] = op_class(axis)
    result = op(x)
    return pad_reduced(x, result, positive_axes(x, axis)) if keepdims else result


@with_numpy_arguments
def sum(input, axis=None, dtype=None, keepdims=False, acc_dtype=None):
    """The sum of elements over axes.

    Parameters
    ----------
    input : tensor-like
    axis : None, int or sequence of int
    dtype : str, optional
        The dtype of the result; by default that of the input, but 64-bit integers for smaller discrete dtypes.
    keepdims : bool
    acc_dtype : str, optional
        The dtype of the accumulator; by default at least int64, uint64, float64 (float32 for float16) or complex128.

    Returns
    -------
    TensorVariable

    Raises
    ------
    ValueError
        If an axis does not exist or occurs twice.
    TypeError
        If ``acc_dtype`` would lose precision.

    Examples
    --------
    >>> x = T.dmatrix("x")
    >>> T.sum(x, axis=0).eval({x: [[1, 2], [3, 5]]})
    array([4., 7.])
    """
    return reduce_by(Sum, input, axis, keepdims, dtype=dtype, acc_dtype=acc_dtype)


def _count(x, axes, like, less=0):
    """The number of reduced elements minus ``less``, at least 0, in the float dtype that suits a sum of ``like``."""
    number = None
    for axis in axes:
        number = shape_i(x, axis) if number is None else number * shape_i(x, axis)
    number = constant(1, dtype="int64") if number is None else number
    if less != 0:                                         # a variable, too
        number = scalar.maximum(number - less, 0)
    return number.astype("float32" if like in ("float16", "float32", "complex64") else "float64")


@with_numpy_arguments
def mean(input, axis=None, dtype=None, op=False, keepdims=False, acc_dtype=None):
    """The mean of elements over axes.

    Parameters
    ----------
    input, axis, keepdims, acc_dtype
        As for `sum`.
    dtype : str, optional
        The dtype of the sum; the result is always a float (float64 for discrete dtypes). The default is that of `sum`,
        which holds the sum of 2**32 integers of up to 32 bits exactly, but float64 for 64-bit integers.
    op : bool
        Whether to make one op, `Mean`, which computes in float64 and returns float64.

    Raises
    ------
    NotImplementedError
        For ``op`` with a dtype other than float64.

    Examples
    --------
    >>> x = T.dmatrix("x")
    >>> T.mean(x, axis=1, keepdims=True).eval({x: [[1, 2], [3, 5]]})
    array([[1.5],
           [4. ]])
    """
    x = as_tensor_variable(input)
    if op:
        for name, value in (("dtype", dtype), ("acc_dtype", acc_dtype)):
            if value not in (None, "float64"):
                raise NotImplementedError(f"mean(op=True) always computes in float64, got {name}={value!r}")
        return reduce_by(Mean, x, axis, keepdims)
    half = dtype == "float16" or (dtype is None and x.type.dtype == "float16")
    if dtype is None and x.type.dtype in ("int64", "uint64"):
        dtype = "float64"
    total = sum(x, axis, dtype="float32" if half else dtype, keepdims=keepdims, acc_dtype=acc_dtype)
    result = scalar.true_div(total, _count(x, positive_axes(x, axis_tuple(axis)), total.type.dtype))
    if half:
        result = result.astype("float16")
    result.name = "mean"
    return result


@with_numpy_arguments
def var(input, axis=None, ddof=0, keepdims=False, corrected=False):
    """The variance of elements over axes: the mean squared distance from the mean, computed in two passes.

    It is real, also of complex numbers.

    Parameters
    ----------
    input, axis, keepdims
        See `sum`.
    ddof : int or scalar variable
        The number subtracted from the number of elements in the divisor, which is not less than 0.
    corrected : bool
        Whether to correct the error due to rounding of the mean.

    Examples
    --------
    >>> T.var(T.as_tensor([1.0, 3.0])).eval()
    array(1.)
    """
    x = as_tensor_variable(input)
    return _named("var", _variance(x, axis, ddof, keepdims, corrected), x)


def _variance(x, axis, ddof, keepdims, corrected):
    """The variance in a dtype in which squares of x do not overflow early: float32 for float16."""
    if isinstance(ddof, bool):
        raise ValueError("Parameter keepdims is now at index 3: (input, axis=None, ddof=0, keepdims=False, "
                         "corrected=False)")
    if ddof is None or isinstance(keepdims, Variable):
        raise TypeError("The arguments by position are Theano's: (input, axis=None, ddof=0, keepdims=False, "
                        f"corrected=False); got ddof={ddof} and keepdims={keepdims}. Give NumPy's by their names")
    x = scalar.as_dtype(x, "float32") if x.type.dtype == "float16" else x
    centered = x - mean(x, axis, keepdims=True)
    result = _spread(_squared(centered), x, axis, ddof, keepdims)
    if corrected:
        error = _squared(sum(centered, axis, keepdims=keepdims))
        axes = positive_axes(x, axis_tuple(axis))
        count = _count(x, axes, error.type.dtype)
        result = result - error / (count * _count(x, axes, error.type.dtype, less=ddof))
    return result


def _squared(x):
    """The square of the modulus."""
    return scalar.sqr(scalar.real(x)) + scalar.sqr(scalar.imag(x)) if x.type.dtype in complex_dtypes else scalar.sqr(x)


def _spread(squares, x, axis, ddof, keepdims):
    """The sum of squares divided by the number of elements minus ``ddof``."""
    if ddof == 0:
        return mean(squares, axis, keepdims=keepdims)
    total = sum(squares, axis, keepdims=keepdims)
    return scalar.true_div(total, _count(x, positive_axes(x, axis_tuple(axis)), total.type.dtype, less=ddof))


def _named(name, result, x):
    """A statistic of x, in x's dtype if that is float16."""
    result = scalar.as_dtype(result, "float16") if x.type.dtype == "float16" else result
    result.name = name
    return result


@with_numpy_arguments
def std(input, axis=None, ddof=0, keepdims=False, corrected=False):
    """The standard deviation, which is the square root of `var`; the parameters are the same.

    Where it is 0, as of one element or of equal ones, the square root's derivative is infinite and the gradient NaN,
    as in Theano, PyTensor and JAX; the variance has a gradient everywhere.

    Examples
    --------
    >>> T.std(T.as_tensor([1.0, 3.0])).eval()
    array(1.)
    """
    x = as_tensor_variable(input)
    return _named("std", scalar.sqrt(_variance(x, axis, ddof, keepdims, corrected)), x)


@with_numpy_arguments
def max(x, axis=None, keepdims=False):
    """The largest element over axes; NaN if an element is NaN. Every maximum receives the whole gradient.

    Examples
    --------
    >>> T.max(T.as_tensor([[1, 2], [3, 5]]), axis=0).eval()
    array([3, 5])
    """
    return reduce_by(Max, x, axis, keepdims)


@with_numpy_arguments
def min(x, axis=None, keepdims=False):
    """The smallest element over axes; NaN if an element is NaN. Every minimum receives the whole gradient.

    Examples
    --------
    >>> T.min(T.as_tensor([[1, 2], [3, 5]]), axis=0).eval()
    array([1, 2])
    """
    return reduce_by(Min, x, axis, keepdims)


@with_numpy_arguments
def argmax(x, axis=None, keepdims=False):
    """The position of the first largest element, as int64; for several axes, in their flattened order.

    Examples
    --------
    >>> T.argmax(T.as_tensor([[1, 7], [3, 2]]), axis=1).eval()
    array([1, 0])
    """
    return reduce_by(Argmax, x, axis_tuple(axis) or None, keepdims)


@with_numpy_arguments
def argmin(x, axis=None, keepdims=False):
    """The position of the first smallest element, as int64; for several axes, in their flattened order.

    Examples
    --------
    >>> T.argmin(T.as_tensor([[1, 7], [3, 2]]), axis=1).eval()
    array([0, 1])
    """
    return reduce_by(Argmin, x, axis_tuple(axis) or None, keepdims)


def max_and_argmax(a, axis=None, keepdims=False):
    """``[max(a), argmax(a)]`` over the same axes, computed in one search.

    Examples
    --------
    >>> largest, position = T.max_and_argmax(T.as_tensor([1, 7, 3]))
    >>> largest.eval(), position.eval()
    (array(7), array(1))
    """
    x, axis = as_tensor_variable(a), axis_tuple(axis)
    axes = positive_axes(x, axis) or tuple(range(x.type.ndim))
    results = MaxAndArgmax(axes)(x)
    return [pad_reduced(x, result, axes) for result in results] if keepdims else results


@with_numpy_arguments
def all(x, axis=None, keepdims=False):
    """Whether all elements over axes are nonzero, as bool.

    Examples
    --------
    >>> T.all(T.as_tensor([[1, 0], [3, 2]]), axis=0).eval()
    array([ True, False])
    """
    return reduce_by(All, x, axis, keepdims)


@with_numpy_arguments
def any(x, axis=None, keepdims=False):
    """Whether any element over axes is nonzero, as bool.

    Examples
    --------
    >>> T.any(T.as_tensor([[1, 0], [3, 0]]), axis=0).eval()
    array([ True, False])
    """
    return reduce_by(Any, x, axis, keepdims)


def logsumexp(x, axis=None, keepdims=False):
    """``log(sum(exp(x)))`` over axes, without overflow or underflow; the parameters are those of `max`.

    Of no elements it is minus infinity.

    Examples
    --------
    >>> T.logsumexp(T.as_tensor([1000.0, 1000.0])).eval()
    array(1000.69314718)
    """
    x = as_tensor_variable(x)
    x = scalar.as_dtype(x, upgrade_to_float(x.type.dtype))          # differences of small integers overflow
    largest = disconnected_grad(reduce_by(MaxOrLowest, x, axis, True))      # its gradients cancel
    largest = scalar.switch(scalar.isinf(largest), 0, largest).astype(largest.type.dtype)
    total = scalar.log(sum(scalar.exp(x - largest), axis, keepdims=True)) + largest
    axes = positive_axes(x, axis_tuple(axis))
    return total if keepdims else dimshuffle(total, [number for number in range(x.type.ndim) if number not in axes])


@with_numpy_arguments
def ptp(a, axis=None, keepdims=False):
    """The difference between the largest and the smallest element over axes.

    Examples
    --------
    >>> T.ptp(T.as_tensor([[1, 5], [2, 9]]), axis=1).eval()
    array([4, 7])
    """
    return max(a, axis, keepdims) - min(a, axis, keepdims)
