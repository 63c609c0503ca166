"""Numerical mathematics on samples, like NumPy's functions: ``polyval``, ``interp``, ``gradient``, ``trapezoid``."""
from phintys.ops.creation.allocation import arange
from phintys.ops.elementwise import elementwise_functions as elementwise
from phintys.ops.elementwise.scalar import as_dtype
from phintys.ops.indexing.getitem import getitem
from phintys.ops.linalg.polynomial import Horner
from phintys.ops.numpy_functions import expand_dims
from phintys.ops.reduction.reduction import sum as sum_over
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.shape.join import concatenate
from phintys.ops.shape.shape import shape_i
from phintys.ops.sorting.searching import searchsorted
from phintys.ops.sorting.sorting import argsort
from phintys.ops.types.axes import one_axis, several_axes
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.ops.types.dtypes import complex_dtypes, discrete_dtypes, float_dtypes, upcast

MOST_TERMS = 64                     # of a polynomial that is written out


def polyval(p, x):
    """The values of a polynomial, like ``numpy.polyval``.

    Parameters
    ----------
    p : vector or sequence of numbers and 0-d variables
        The coefficients, that of the highest power first.
    x : tensor-like

    Returns
    -------
    TensorVariable
        Of the shape of ``x``, by Horner's rule. Up to 64 coefficients whose number is known are a chain of
        multiplications and additions, which is fused into one loop; others are the op `Horner`. Integers and complex
        numbers with so many coefficients are sums of powers.

    Raises
    ------
    ValueError
        If ``p`` is not a vector.

    Examples
    --------
    >>> T.polyval([3.0, 0.0, 1.0], 5.0).eval().item()
    76.0
    """
    x = as_tensor_variable(x)
    if not isinstance(p, (list, tuple)):
        p = as_tensor_variable(p)
        if p.type.ndim != 1:
            raise ValueError(f"polyval: the coefficients must be a vector, got {p} of type {p.type}")
        if p.type.shape[0] is None or p.type.shape[0] > MOST_TERMS:
            return _with_a_vector(p, x)
        p = [p[number] for number in range(p.type.shape[0])]
    found = elementwise.zeros_like(x)
    for number, coefficient in enumerate(p):
        found = found * x + coefficient if number else found + coefficient
    return found


def _with_a_vector(p, x):
    dtype = upcast(p.type.dtype, x.type.dtype)
    if dtype not in float_dtypes:
        return _sum_of_powers(p, x)
    computed = "float32" if dtype == "float16" else dtype
    return as_dtype(Horner()(as_dtype(p, computed), as_dtype(x, computed)), dtype)


def _sum_of_powers(p, x):
    powers = dimshuffle(arange(shape_i(p, 0))[::-1], *["x"] * x.type.ndim, 0)
    return sum_over(dimshuffle(p, *["x"] * x.type.ndim, 0) * dimshuffle(x, *range(x.type.ndim), "x") ** powers, axis=-1)


def _float(x):
    x = as_tensor_variable(x)
    return as_dtype(x, "float64") if x.type.dtype in discrete_dtypes else x


def interp(x, xp, fp, left=None, right=None, period=None):
    """Linear interpolation between points, like ``numpy.interp``.

    Parameters
    ----------
    x : tensor-like
        Where to interpolate.
    xp, fp : vector
        The points: positions in ascending order, and values.
    left, right : number or 0-d variable, optional
        The values before the first and after the last point; by default those of these points.
    period : number or 0-d variable, optional
        The period of positions; then they need no order, and ``left`` and ``right`` have no effect.

    Returns
    -------
    TensorVariable
        Of the shape of ``x``, with gradients with respect to ``x``, ``xp``, ``fp``, ``left`` and ``right``.

    Raises
    ------
    TypeError
        For complex positions.
    ValueError
        If the points are not vectors.

    Examples
    --------
    >>> T.interp(2.5, [1.0, 2.0, 3.0], [3.0, 2.0, 0.0]).eval().item()
    1.0
    """
    x, xp, fp = _float(x), _float(xp), _float(fp)
    if x.type.dtype in complex_dtypes or xp.type.dtype in complex_dtypes:
        raise TypeError(f"interp: complex positions have no order, got {x.type} and {xp.type}")
    if xp.type.ndim != 1 or fp.type.ndim != 1:
        raise ValueError(f"interp: Data points must be 1-D sequences, got {xp.type} and {fp.type}")
    if period is not None:
        x, xp, fp = _in_period(x, xp, fp, abs(as_tensor_variable(period)))
        left = right = None
    last = shape_i(xp, 0) - 1
    position = elementwise.clip(searchsorted(xp, x, "right") - 1, 0, last)
    after = elementwise.minimum(position + 1, last)
    start, value = getitem(xp, position), getitem(fp, position)
    width = getitem(xp, after) - start
    slope = (getitem(fp, after) - value) / elementwise.switch(elementwise.eq(width, 0), elementwise.ones_like(width),
                                                              width)
    found = value + slope * (x - start)
    found = elementwise.switch(x < xp[0], fp[0] if left is None else left, found)
    return elementwise.switch(x > xp[-1], fp[-1] if right is None else right, found)


def _in_period(x, xp, fp, period):
    x, xp = x % period, xp % period
    order = argsort(xp)
    xp, fp = getitem(xp, order), getitem(fp, order)
    return x, concatenate([xp[-1:] - period, xp, xp[:1] + period]), concatenate([fp[-1:], fp, fp[:1]])


# ---- differences and integrals ---------------------------------------------------------------------------------------
def _part(x, axis, start, stop):
    return getitem(x, (slice(None),) * axis + (slice(start, stop),))


def _edge(x, axis, number):
    return expand_dims(getitem(x, (slice(None),) * axis + (number,)), axis)


def gradient(f, *varargs, axis=None, edge_order=1):
    """Slopes of samples by differences: central ones inside, one-sided ones at the ends; like ``numpy.gradient``.

    Parameters
    ----------
    f : tensor-like
    *varargs : numbers, 0-d variables or vectors
        The distance of samples: one for all axes, or one for each axis, or their positions along each axis. The default
        is 1.
    axis : int, tuple of int or None
        None means all axes.
    edge_order : {1, 2}
        The order of accuracy at the ends.

    Returns
    -------
    TensorVariable, or list of TensorVariable
        A list if there are several axes.

    Raises
    ------
    TypeError
        For a wrong number of distances, and for bools, which have no differences.
    ValueError
        For an axis that does not exist, or another order.

    Examples
    --------
    >>> T.gradient([1.0, 2.0, 4.0]).eval().tolist()
    [1.0, 1.5, 2.0]
    """
    f = as_tensor_variable(f)
    if f.type.dtype == "bool":
        raise TypeError(f"gradient: bools have no differences, got {f}; convert them: f.astype('int8')")
    f = _float(f)
    axes = several_axes("gradient", f, axis)
    if edge_order not in (1, 2):
        raise ValueError(f"gradient: 'edge_order' greater than 2 not supported, got {edge_order}")
    spacing = [constant(part, dtype=f.type.dtype) if isinstance(part, (int, float)) else as_tensor_variable(part)
               for part in varargs or (1.0,)]
    if len(spacing) == 1 and spacing[0].type.ndim == 0:
        spacing = spacing * len(axes)
    if len(spacing) != len(axes):
        raise TypeError(f"gradient: invalid number of arguments, {len(varargs)} distances for {len(axes)} axes")
    found = [_slopes(f, number, part, edge_order) for number, part in zip(axes, spacing)]
    return found[0] if len(found) == 1 else found


def _slopes(f, axis, spacing, edge_order):
    """The slopes along one axis. ``before`` and ``after`` are the distances of an inner sample to its neighbours."""
    if spacing.type.ndim:
        steps = dimshuffle(spacing[1:] - spacing[:-1], *[0 if number == axis else "x" for number in range(f.type.ndim)])
        before, after = _part(steps, axis, None, -1), _part(steps, axis, 1, None)
        ends = [_edge(steps, axis, number) for number in (0, 1, -1, -2)] if edge_order == 2 else [
            _edge(steps, axis, number) for number in (0, 0, -1, -1)]
    else:
        before = after = spacing
        ends = [spacing] * 4
    low, middle, high = _part(f, axis, None, -2), _part(f, axis, 1, -1), _part(f, axis, 2, None)
    if spacing.type.ndim:
        inner = (high * before ** 2 + (after ** 2 - before ** 2) * middle - low * after ** 2) / (
            before * after * (before + after))
    else:
        inner = (high - low) / (2.0 * spacing)
    first = _end_slope([_edge(f, axis, number) for number in (0, 1, 2)[:edge_order + 1]], ends[0], ends[1], edge_order)
    last = _end_slope([_edge(f, axis, -1 - number) for number in (0, 1, 2)[:edge_order + 1]], ends[2], ends[3],
                      edge_order)
    return concatenate([first, inner, -last], axis=axis)


def _end_slope(samples, near, far, edge_order):
    """The slope at the first of samples, away from it; ``near`` and ``far`` are their distances."""
    if edge_order == 1:
        return (samples[1] - samples[0]) / near
    both = near + far
    return (-(2 * near + far) / (near * both) * samples[0] + both / (near * far) * samples[1]
            - near / (far * both) * samples[2])


def trapezoid(y, x=None, dx=1.0, axis=-1):
    """The integral of samples by the trapezoidal rule, like ``numpy.trapezoid``.

    Parameters
    ----------
    y : tensor-like
    x : tensor-like, optional
        The positions of samples: a vector, or of the shape of ``y``.
    dx : number or 0-d variable
        The distance of samples if there are no positions.
    axis : int

    Returns
    -------
    TensorVariable
        Without that axis.

    Raises
    ------
    ValueError
        For an axis that does not exist.

    Examples
    --------
    >>> T.trapezoid([1.0, 2.0, 3.0]).eval().item()
    4.0
    """
    y = as_tensor_variable(y)
    axis = one_axis("trapezoid", y, axis)
    before, after = _part(y, axis, None, -1), _part(y, axis, 1, None)
    # NumPy adds small integers in their own dtype. Here they do not wrap around, but the sum of two bools is a bool.
    pairs = _float(elementwise.or_(after, before)) if y.type.dtype == "bool" else _float(after) + _float(before)
    width = as_tensor_variable(dx)
    if x is not None:
        x = as_tensor_variable(x)
        along = 0 if x.type.ndim == 1 else axis
        after, before = _part(x, along, 1, None), _part(x, along, None, -1)
        width = _float(elementwise.xor(after, before)) if x.type.dtype == "bool" else _float(after) - _float(before)
        if x.type.ndim == 1:
            width = dimshuffle(width, *[0 if number == axis else "x" for number in range(y.type.ndim)])
    return sum_over(width * pairs * 0.5, axis=axis)
