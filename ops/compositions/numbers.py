"""Elementwise functions that are short formulas: ``frexp``, ``modf``, ``nan_to_num``, ``isposinf``, ``unwrap`` ..."""
import math

import numpy

from phintys.ops.compositions.parts import part
from phintys.ops.creation.allocation import arange
from phintys.ops.cumulative.cumulative import cumsum, diff
from phintys.ops.elementwise import elementwise_functions as elementwise
from phintys.ops.elementwise import scalar
from phintys.ops.elementwise.scalar import as_dtype
from phintys.ops.elementwise.scalar_op import upgrade_to_float_no_complex
from phintys.ops.indexing.inc_subtensor import set_subtensor
from phintys.ops.indexing.take import take
from phintys.ops.reduction import reduction
from phintys.ops.shape.join import concatenate
from phintys.ops.shape.reshape import flatten, reshape
from phintys.ops.shape.shape import shape, shape_i, shape_padleft
from phintys.ops.sorting.sorting import sort
from phintys.ops.types.axes import one_axis
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.ops.types.dtypes import complex_dtypes, continuous_dtypes, discrete_dtypes, int_dtypes, uint_dtypes


def _float(x):
    """A real tensor as floats; integers are converted as other functions convert them."""
    x = as_tensor_variable(x)
    return as_dtype(x, upgrade_to_float_no_complex(x.type.dtype))


# ---- digits and exponents --------------------------------------------------------------------------------------------
def ldexp(x1, x2):
    """``x1 * 2 ** x2`` for integers ``x2``, rounded once; the power itself may overflow.

    Raises
    ------
    TypeError
        If ``x2`` is not an integer.

    Examples
    --------
    >>> T.ldexp([1.5, 3.0], [2, -1]).eval()
    array([6. , 1.5])
    """
    x1, x2 = as_tensor_variable(x1), as_tensor_variable(x2)
    if x2.type.dtype not in discrete_dtypes:
        raise TypeError(f"ldexp: the exponent must be an integer, got {x2} of type {x2.type}")
    return scalar.ldexp.elementwise(x1, x2)


def frexp(x):
    """Mantissas, from 0.5 below 1 in magnitude, and exponents: ``x == mantissa * 2 ** exponent``.

    Returns
    -------
    tuple of TensorVariable
        The mantissa, which is ``x`` itself if that is 0, infinite or NaN; the exponent, of int32, which then is 0.

    Examples
    --------
    >>> [part.eval().tolist() for part in T.frexp(T.as_tensor([8.0, 0.0]))]
    [[0.5, 0.0], [4, 0]]
    """
    x = _float(x)
    usual = elementwise.isfinite(x) & elementwise.neq(x, 0)
    size = as_dtype(elementwise.switch(usual, abs(x), 1), x.type.dtype)
    exponent = as_dtype(elementwise.floor(elementwise.log2(size)), "int32") + numpy.int32(1)
    mantissa = ldexp(size, -exponent)                   # the logarithm is rounded: next to powers of 2 it may be wrong
    exponent = exponent + as_dtype(mantissa >= 1, "int32") - as_dtype(mantissa < 0.5, "int32")
    return elementwise.switch(usual, ldexp(x, -exponent), x), elementwise.switch(usual, exponent, numpy.int32(0))


def modf(x):
    """The parts of numbers after and before the point, both with the sign of ``x``.

    Examples
    --------
    >>> [part.eval().tolist() for part in T.modf(T.as_tensor([1.5, -2.25]))]
    [[0.5, -0.25], [1.0, -2.0]]
    """
    x = _float(x)
    whole = elementwise.trunc(x)
    rest = elementwise.switch(elementwise.isinf(x), constant(0, dtype=x.type.dtype), x - whole)
    return scalar.copysign.elementwise(rest, x), whole


def fix(x):
    """Rounding towards 0, as floats.

    Examples
    --------
    >>> T.fix(T.as_tensor([1.7, -1.7])).eval()
    array([ 1., -1.])
    """
    x = as_tensor_variable(x)
    return elementwise.trunc(x) if x.type.dtype in continuous_dtypes else x


# ---- which numbers they are ------------------------------------------------------------------------------------------
def isposinf(x):
    """Elementwise: is it plus infinity?

    Examples
    --------
    >>> T.isposinf(T.as_tensor([numpy.inf, -numpy.inf, 1.0])).eval()
    array([ True, False, False])
    """
    return _infinity(x, elementwise.gt)


def isneginf(x):
    """Elementwise: is it minus infinity?

    Examples
    --------
    >>> T.isneginf(T.as_tensor([numpy.inf, -numpy.inf, 1.0])).eval()
    array([False,  True, False])
    """
    return _infinity(x, elementwise.lt)


def _infinity(x, compare):
    x = as_tensor_variable(x)
    if x.type.dtype in complex_dtypes:
        raise TypeError(f"complex numbers have no sign of infinity, got {x} of type {x.type}")
    return elementwise.isinf(x) & compare(x, 0)


def isreal(x):
    """Elementwise: is the imaginary part 0?

    Examples
    --------
    >>> T.isreal(T.as_tensor([1j, 2.0])).eval()
    array([False,  True])
    """
    return elementwise.eq(elementwise.imag(as_tensor_variable(x)), 0)


def iscomplex(x):
    """Elementwise: is the imaginary part not 0?

    Examples
    --------
    >>> T.iscomplex(T.as_tensor([1j, 2.0])).eval()
    array([ True, False])
    """
    return elementwise.neq(elementwise.imag(as_tensor_variable(x)), 0)


def iscomplexobj(x):
    """Whether the dtype is complex, as a Python bool.

    Examples
    --------
    >>> T.iscomplexobj(T.dvector())
    False
    """
    return as_tensor_variable(x).type.dtype in complex_dtypes


def isrealobj(x):
    """Whether the dtype is not complex, as a Python bool.

    Examples
    --------
    >>> T.isrealobj(T.dvector())
    True
    """
    return not iscomplexobj(x)


def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    """NaN and infinities replaced, by default by 0 and the largest and smallest numbers of the dtype.

    Parameters
    ----------
    x : tensor-like
    copy : bool
        Has no effect: the result is a value of its own.
    nan, posinf, neginf : number or tensor-like

    Examples
    --------
    >>> T.nan_to_num(T.as_tensor([numpy.nan, 1.0, numpy.inf]), posinf=9).eval()
    array([0., 1., 9.])
    """
    x = as_tensor_variable(x)
    dtype = x.type.dtype
    if dtype in discrete_dtypes:
        return x
    if dtype in complex_dtypes:
        parts = [nan_to_num(half, copy, nan, posinf, neginf) for half in (elementwise.real(x), elementwise.imag(x))]
        return elementwise.complex(*parts)
    limits = numpy.finfo(dtype)
    rows = ((elementwise.isnan(x), nan), (isposinf(x), limits.max if posinf is None else posinf),
            (isneginf(x), limits.min if neginf is None else neginf))
    for condition, value in rows:
        x = elementwise.switch(condition, as_dtype(as_tensor_variable(value), dtype), x)
    return x


def array_equal(a1, a2, equal_nan=False):
    """Whether two tensors have one shape and equal elements, as a 0-d bool.

    Examples
    --------
    >>> T.array_equal([1, 2], [1, 2]).eval()
    array(True)
    """
    a1, a2 = as_tensor_variable(a1), as_tensor_variable(a2)
    if a1.type.ndim != a2.type.ndim:
        return as_tensor_variable(numpy.False_)
    same = as_tensor_variable(numpy.True_)
    for axis in range(a1.type.ndim):
        same = same & elementwise.eq(shape_i(a1, axis), shape_i(a2, axis))
    # Of tensors of other shapes nothing is compared: both are cut to what both have.
    for axis in range(a1.type.ndim):
        length = elementwise.minimum(shape_i(a1, axis), shape_i(a2, axis))
        a1, a2 = part(a1, axis, slice(0, length)), part(a2, axis, slice(0, length))
    equal = elementwise.eq(a1, a2)
    if equal_nan:
        equal = equal | elementwise.isnan(a1) & elementwise.isnan(a2)
    return same & reduction.all(equal)


def array_equiv(a1, a2):
    """Whether two tensors broadcast to one shape and have equal elements there, as a 0-d bool.

    Lengths of 1 are repeated, also where the types do not declare them.

    Examples
    --------
    >>> T.array_equiv([1, 1], 1).eval(), T.array_equiv([1, 2], [[1, 2], [1, 3]]).eval()
    (array(True), array(False))
    """
    a1, a2 = as_tensor_variable(a1), as_tensor_variable(a2)
    rank = max(a1.type.ndim, a2.type.ndim)
    both = [shape_padleft(each, rank - each.type.ndim) for each in (a1, a2)]
    lengths = [[shape_i(each, axis) for each in both] for axis in range(rank)]
    fits = as_tensor_variable(numpy.True_)
    for first, second in lengths:
        fits = fits & (elementwise.eq(first, second) | elementwise.eq(first, 1) | elementwise.eq(second, 1))
    for axis, (first, second) in enumerate(lengths):
        length = elementwise.switch(fits, elementwise.switch(elementwise.eq(first, 1), second, first), 0)
        both = [take(each, elementwise.minimum(arange(length), own - 1), axis)
                for each, own in zip(both, (first, second))]
    return fits & reduction.all(elementwise.eq(*both))


# ---- choices of functions --------------------------------------------------------------------------------------------
def piecewise(x, condlist, funclist, *args, **kw):
    """Results of functions for the elements for which conditions hold, like ``numpy.piecewise``.

    Parameters
    ----------
    x : tensor-like
    condlist : sequence of tensor-like
        Of the shape of ``x``; a later one wins over an earlier one.
    funclist : sequence of callable or number
        One for each condition, and another one for the elements of none. A function takes the chosen elements, as a
        vector, then ``args`` and ``kw``.

    Raises
    ------
    ValueError
        If there are not as many functions.

    Examples
    --------
    >>> x = T.as_tensor([-2.0, 3.0])
    >>> T.piecewise(x, [x < 0, x >= 0], [lambda part: -part, 7]).eval()
    array([2., 7.])
    """
    x = as_tensor_variable(x)
    conditions = condlist if isinstance(condlist, (list, tuple)) else [condlist]
    conditions = [elementwise.neq(as_tensor_variable(numpy.asarray(condition) if isinstance(condition, (bool, list))
                                                     else condition), 0) for condition in conditions]
    if len(funclist) - len(conditions) not in (0, 1):
        raise ValueError(f"piecewise: with {len(conditions)} condition(s), either {len(conditions)} or "
                         f"{len(conditions) + 1} functions are expected, got {len(funclist)}")
    if len(funclist) > len(conditions):
        none = elementwise.invert(elementwise.or_(*conditions) if len(conditions) > 1 else conditions[0])
        conditions.append(none)
    vector, found = flatten(x), elementwise.zeros_like(flatten(x))
    for condition, function in zip(conditions, funclist):
        if condition.type.ndim != x.type.ndim:
            raise ValueError(f"piecewise: conditions must have the shape of x, got {condition} of type "
                             f"{condition.type}")
        chosen = flatten(condition)
        values = function(vector[chosen], *args, **kw) if callable(function) else function
        found = set_subtensor(found[chosen], as_dtype(as_tensor_variable(values), x.type.dtype))
    return reshape(found, shape(x), ndim=x.type.ndim)


# ---- along an axis ---------------------------------------------------------------------------------------------------
def unwrap(p, discont=None, axis=-1, *, period=2 * math.pi):
    """Angles without jumps: steps of half a period or more are changed by whole periods, like ``numpy.unwrap``.

    Parameters
    ----------
    p : tensor-like of real numbers
    discont : number, optional
        Smaller steps remain; at least, and by default, half a period.
    axis : int
    period : number

    Raises
    ------
    ValueError
        For an axis that does not exist.
    TypeError
        For complex numbers, and for bools and unsigned integers if the period is an integer.

    Examples
    --------
    >>> T.unwrap(T.as_tensor([0, 3, 5, 9]), period=4).eval()
    array([ 0, -1,  1,  1])
    """
    p = as_tensor_variable(p)
    axis = one_axis("unwrap", p, axis)
    whole = p.type.dtype in int_dtypes and isinstance(period, int)
    if p.type.dtype in complex_dtypes or p.type.dtype in ("bool", *uint_dtypes) and isinstance(period, int):
        raise TypeError(f"unwrap: {p.type.dtype} is not supported with a period of {period}: {p} of type {p.type}")
    step = diff(p, axis=axis)                                   # unsigned numbers wrap around, as in NumPy
    if not whole and p.type.dtype in discrete_dtypes:
        p, step = as_dtype(p, "float64"), as_dtype(step, "float64")
    half = period // 2 if whole else period / 2
    is_half = whole and period % 2 == 0 or not whole            # whether a step can be exactly half a period
    lowest = -half
    turned = (step - lowest) % period + lowest
    if is_half:
        turned = elementwise.switch(elementwise.eq(turned, lowest) & (step > 0), half, turned)
    change = elementwise.switch(abs(step) < (half if discont is None else discont), 0, turned - step)
    change = as_dtype(cumsum(change, axis), p.type.dtype)
    return concatenate([part(p, axis, slice(0, 1)), part(p, axis, slice(1, None)) + change], axis=axis)


def sort_complex(a):
    """Elements along the last axis in order of their real parts, then of their imaginary parts, as complex numbers.

    Examples
    --------
    >>> T.sort_complex(T.as_tensor([3.0, 1.0])).eval()
    array([1.+0.j, 3.+0.j])
    """
    a = sort(as_tensor_variable(a), axis=-1)
    short = a.type.dtype in ("int8", "uint8", "int16", "uint16")
    return a if a.type.dtype in complex_dtypes else as_dtype(a, "complex64" if short else "complex128")
