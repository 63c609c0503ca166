"""NumPy functions that are short expressions of other functions: ``vstack``, ``flip``, ``inner``, ``average`` ...

Each has the results of NumPy's function for the parameters that it implements. They are in the tensor namespace, and
NumPy's own functions dispatch to them when they are called with symbolic arguments (``api/numpy_protocol.py``).
"""
from functools import reduce

from phintys.ops.elementwise import elementwise_functions as elementwise
from phintys.ops.elementwise.scalar import number_like
from phintys.ops.elementwise.scalar_op import upgrade_to_float_no_complex
from phintys.ops.indexing.getitem import getitem
from phintys.ops.products.products import dot, tensordot
from phintys.ops.rearranging.rearranging import atleast_1d, atleast_2d
from phintys.ops.reduction.careduce import MaxOrLowest
from phintys.ops.reduction.reduction import mean, reduce_by
from phintys.ops.reduction.reduction import min as smallest
from phintys.ops.reduction.reduction import sum as sum_over
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.shape.join import concatenate
from phintys.ops.shape.reshape import flatten
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.axes import sequence_of, several_axes
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.ops.types.dtypes import discrete_dtypes, upcast
from phintys.ops.types.numpy_arguments import with_numpy_arguments


# ---- joining and reversing -------------------------------------------------------------------------------------------
@with_numpy_arguments
def vstack(tup):
    """Stack tensors along the first dimension; a vector counts as a row.

    Examples
    --------
    >>> T.vstack([[1, 2], [3, 4]]).eval()
    array([[1, 2],
           [3, 4]])
    """
    return concatenate([atleast_2d(part) for part in sequence_of("vstack", "tensors", tup)], axis=0)


@with_numpy_arguments
def hstack(tup):
    """Join tensors along the second dimension; vectors along their only dimension.

    Examples
    --------
    >>> T.hstack([[1, 2], [3, 4]]).eval()
    array([1, 2, 3, 4])
    """
    parts = [atleast_1d(part) for part in sequence_of("hstack", "tensors", tup)]
    return concatenate(parts, axis=0 if not parts or parts[0].type.ndim == 1 else 1)


def append(arr, values, axis=None):
    """Join ``arr`` and ``values`` along an axis; by default both are flattened first.

    Examples
    --------
    >>> T.append([1, 2], [3]).eval()
    array([1, 2, 3])
    """
    parts = [as_tensor_variable(part) for part in (arr, values)]
    return concatenate([flatten(part) for part in parts] if axis is None else parts,
                       axis=0 if axis is None else axis)


def flip(m, axis=None):
    """Reverse the order of elements along an axis, several axes, or all (None); returns a view.

    Examples
    --------
    >>> T.flip(T.as_tensor([[1, 2], [3, 4]]), axis=0).eval()
    array([[3, 4],
           [1, 2]])
    """
    m = as_tensor_variable(m)
    turned = several_axes("flip", m, axis)
    return getitem(m, tuple([slice(None, None, -1 if number in turned else None) for number in range(m.type.ndim)]))


def expand_dims(a, axis):
    """Insert dimensions of length 1; ``axis`` is an int or a tuple, the positions in the result.

    Examples
    --------
    >>> T.expand_dims(T.as_tensor([1, 2]), 0).eval()
    array([[1, 2]])
    """
    a = as_tensor_variable(a)
    more = len(axis) if isinstance(axis, (tuple, list)) else 1
    new, old = several_axes("expand_dims", a, axis, more), iter(range(a.type.ndim))
    return dimshuffle(a, *["x" if number in new else next(old) for number in range(a.type.ndim + more)])


# ---- elementwise -----------------------------------------------------------------------------------------------------
def _truth(x):
    x = as_tensor_variable(x)
    return x if x.type.dtype == "bool" else elementwise.neq(x, 0)


def logical_and(x, y):
    """Elementwise: whether both operands are true, that is, not 0.

    Examples
    --------
    >>> T.logical_and([0, 1, 2], [1, 0, 3]).eval()
    array([False, False,  True])
    """
    return elementwise.and_(_truth(x), _truth(y))


def logical_or(x, y):
    """Elementwise: whether at least one operand is true, that is, not 0.

    Examples
    --------
    >>> T.logical_or([0, 1, 0], [1, 0, 0]).eval()
    array([ True,  True, False])
    """
    return elementwise.or_(_truth(x), _truth(y))


def logical_xor(x, y):
    """Elementwise: whether exactly one operand is true, that is, not 0.

    Examples
    --------
    >>> T.logical_xor([0, 1, 2], [1, 0, 3]).eval()
    array([ True,  True, False])
    """
    return elementwise.xor(_truth(x), _truth(y))


def logical_not(x):
    """Elementwise: whether the operand is 0.

    Examples
    --------
    >>> T.logical_not([0, 1, 2]).eval()
    array([ True, False, False])
    """
    return elementwise.invert(_truth(x))


def positive(x):
    """Return ``x`` itself.

    Examples
    --------
    >>> T.positive(T.as_tensor([1.5, -2.0])).eval()
    array([ 1.5, -2. ])
    """
    return as_tensor_variable(x)


def fabs(x):
    """Elementwise absolute value of real numbers, as floats: integers are converted as other functions convert them.

    Examples
    --------
    >>> T.fabs([1, -2]).eval()
    array([1., 2.])
    """
    x = as_tensor_variable(x)
    return elementwise.abs_(elementwise.cast(x, upgrade_to_float_no_complex(x.type.dtype)))


def float_power(x, y):
    """``x ** y`` computed in float64, or complex128.

    Examples
    --------
    >>> T.float_power([1, 2], -1).eval()
    array([1. , 0.5])
    """
    x, y = [as_tensor_variable(part) for part in (x, y)]
    return elementwise.cast(x, upcast(x.type.dtype, y.type.dtype, "float64")) ** y


# ---- products and sums -----------------------------------------------------------------------------------------------
def inner(a, b):
    """The sum of products over the last dimensions of both operands.

    Examples
    --------
    >>> T.inner(T.as_tensor([1.0, 2.0]), T.as_tensor([3.0, 4.0])).eval()
    array(11.)
    """
    a, b = as_tensor_variable(a), as_tensor_variable(b)
    if not a.type.ndim or not b.type.ndim:
        return a * b
    return tensordot(a, b, axes=[[a.type.ndim - 1], [b.type.ndim - 1]])


def vdot(a, b):
    """The sum of products of all elements, where those of ``a`` are conjugated.

    Examples
    --------
    >>> T.vdot(T.as_tensor([1.0, 1j]), T.as_tensor([1.0, 1j])).eval()
    array(2.+0.j)
    """
    a, b = flatten(as_tensor_variable(a)), flatten(as_tensor_variable(b))
    return dot(elementwise.conj(a) if a.type.dtype.startswith("complex") else a, b)


def count_nonzero(a, axis=None, keepdims=False):
    """Count the elements that are not 0, over the given dimensions or all.

    Examples
    --------
    >>> T.count_nonzero(T.as_tensor([[0, 1], [2, 3]]), axis=0).eval()
    array([1, 2])
    """
    return sum_over(elementwise.neq(a, 0), axis=axis, keepdims=keepdims)


def average(a, axis=None, weights=None, returned=False, keepdims=False):
    """The mean over the given dimensions or all, weighted by ``weights``.

    The weights have the shape of ``a``, or the lengths of the given axes, in their order. With ``returned`` the result
    is a pair, and the second part is the sum of the weights, or the number of elements.

    Raises
    ------
    TypeError, ValueError
        For weights of another rank without axes, or with another number of axes.

    Examples
    --------
    >>> T.average(T.as_tensor([1.0, 4.0]), weights=T.as_tensor([3.0, 1.0])).eval()
    array(1.75)
    """
    a = as_tensor_variable(a)
    if weights is None:
        found = mean(a, axis=axis, keepdims=keepdims)
        whole = sum_over(elementwise.ones_like(a, found.type.dtype), axis=axis, keepdims=keepdims)
        return (found, whole) if returned else found
    weights = as_tensor_variable(weights)
    if weights.type.ndim != a.type.ndim:
        if axis is None:
            raise TypeError(f"average: an axis is needed for weights of another shape, got {weights.type}")
        axes = several_axes("average", a, axis)
        if weights.type.ndim != len(axes):
            raise ValueError(f"average: weights must have the rank of a, or a dimension for each axis, got "
                             f"{weights.type} and axis {axis}")
        weights = dimshuffle(weights, *[axes.index(number) if number in axes else "x" for number in range(a.type.ndim)])
    # Weights of small integers multiply as floats.
    dtype = upcast(a.type.dtype, weights.type.dtype, *["float64"] * (a.type.dtype in discrete_dtypes))
    weights = elementwise.cast(weights, dtype)
    whole = sum_over(elementwise.second(a, weights), axis=axis, keepdims=keepdims)
    found = sum_over(a * weights, axis=axis, keepdims=keepdims) / whole
    return (found, whole) if returned else found


def size(a, axis=None):
    """The symbolic number of elements, or the length of a dimension, or the product of several.

    Examples
    --------
    >>> T.size(T.as_tensor([[1, 2, 3], [4, 5, 6]])).eval()
    array(6)
    """
    a = as_tensor_variable(a)
    if axis is None:
        return a.size
    lengths = [shape_i(a, number) for number in several_axes("size", a, axis)]
    return reduce(elementwise.mul, lengths, constant(1, dtype="int64")) if len(lengths) != 1 else lengths[0]


def ndim(a):
    """The number of dimensions, as a Python int.

    Examples
    --------
    >>> T.ndim(T.dmatrix())
    2
    """
    return as_tensor_variable(a).type.ndim


# ---- norms -----------------------------------------------------------------------------------------------------------
def norm(x, ord=None, axis=None, keepdims=False):
    """A norm of vectors (one axis) or matrices (two axes), like ``numpy.linalg.norm``.

    At 0, where a norm by squares or other powers has no derivative, the gradient is NaN, as in Theano, PyTensor and
    JAX.

    Parameters
    ----------
    x : tensor-like
    ord : number, inf, -inf, "fro" or None
        Of vectors, it may be a scalar variable, which is not 0 or infinite. None means the square root of the sum of
        squares. Matrix norms support None, "fro", 1, -1, inf, -inf, and by singular values 2, -2 and "nuc".
    axis : int or pair of int, optional
        The default is all axes of a vector or matrix, or of any tensor if ``ord`` is None.
    keepdims : bool

    Raises
    ------
    ValueError, TypeError
        If ``ord`` is not supported, or there are more than two axes.

    Examples
    --------
    >>> T.linalg.norm(T.as_tensor([3.0, 4.0])).eval()
    array(5.)
    """
    x = as_tensor_variable(x)
    if x.type.dtype in discrete_dtypes:
        x = elementwise.cast(x, "float64")
    if x.type.dtype == "float16":                          # the squares of 256 and more have no float16
        return elementwise.cast(norm(elementwise.cast(x, "float32"), ord, axis, keepdims), "float16")
    if axis is None and ord is None:
        return _vector_norm(x, 2, tuple(range(x.type.ndim)), keepdims)
    axes = several_axes("norm", x, axis)
    if len(axes) == 1:
        return _vector_norm(x, 2 if ord is None else ord, axes, keepdims)
    if len(axes) != 2:
        raise ValueError(f"numpy.linalg.norm: improper number of dimensions to norm: {len(axes)}")
    return _matrix_norm(x, ord, axes, keepdims)


def _vector_norm(x, ord, axes, keepdims):
    absolute = abs(x)
    if ord in (float("inf"), float("-inf")):
        return (_largest if ord > 0 else smallest)(absolute, axis=axes, keepdims=keepdims)
    if ord == 0:
        return sum_over(elementwise.cast(elementwise.neq(x, 0), absolute.type.dtype), axis=axes, keepdims=keepdims)
    if ord == 1:
        return sum_over(absolute, axis=axes, keepdims=keepdims)
    if ord == 2:
        return elementwise.sqrt(sum_over(absolute ** 2, axis=axes, keepdims=keepdims))
    if isinstance(ord, str):
        raise ValueError(f"numpy.linalg.norm: invalid norm order {ord!r} for vectors")
    order, root = number_like(ord, absolute), number_like(1.0 / ord, absolute)
    return sum_over(absolute ** order, axis=axes, keepdims=keepdims) ** root


def _largest(x, axis, keepdims=False):
    """The largest of numbers that are not negative; 0 if there are none."""
    return elementwise.maximum(reduce_by(MaxOrLowest, x, axis, keepdims), constant(0, dtype=x.type.dtype))


def _matrix_norm(x, ord, axes, keepdims):
    if ord in (None, "fro"):
        return _vector_norm(x, 2, axes, keepdims)
    if ord in (2, -2, "nuc"):
        return _norm_by_singular_values(x, ord, axes, keepdims)
    sums = {1: axes[0], -1: axes[0], float("inf"): axes[1], float("-inf"): axes[1]}
    if ord not in sums:
        raise TypeError(f"numpy.linalg.norm of a symbolic matrix: ord={ord!r} is not supported; use None, 'fro', 1, "
                        "-1, inf, -inf, 2, -2 or 'nuc'")
    choose = _largest if ord > 0 else smallest
    found = choose(sum_over(abs(x), axis=sums[ord], keepdims=True), axis=axes, keepdims=True)
    return found if keepdims else dimshuffle(found, *[axis for axis in range(x.type.ndim) if axis not in axes])


def _norm_by_singular_values(x, ord, axes, keepdims):
    from phintys.ops.factorizations.orthogonal import svd
    others = [axis for axis in range(x.type.ndim) if axis not in axes]
    values = svd(dimshuffle(x, *others, *axes), compute_uv=False)
    reduce = {2: _largest, -2: smallest, "nuc": sum_over}[ord]
    found = reduce(values, axis=values.type.ndim - 1)
    if not keepdims:
        return found
    return dimshuffle(found, *["x" if axis in axes else others.index(axis) for axis in range(x.type.ndim)])


def matrix_or_vector_norm(x, ord=None, axis=None, keepdims=False):
    """A norm of a vector or a matrix: `norm`, which also takes "inf" and "-inf" as ``ord``, as Theano does.

    Parameters
    ----------
    x, ord, axis, keepdims
        See `norm`.

    Raises
    ------
    ValueError
        If ``ord`` is not supported, or ``x`` is a scalar.
    NotImplementedError
        If ``x`` has more than two dimensions, and no axis is given.

    Examples
    --------
    >>> T.nlinalg.norm(T.as_tensor([3.0, 4.0])).eval()
    array(5.)
    """
    x = as_tensor_variable(x)
    if axis is None and x.type.ndim == 0:
        raise ValueError("'axis' entry is out of bounds.")
    if axis is None and x.type.ndim > 2:
        raise NotImplementedError("We don't support norm with ndim > 2")
    try:
        return norm(x, {"inf": float("inf"), "-inf": float("-inf")}.get(ord, ord), axis, keepdims)
    except TypeError as error:
        raise ValueError(str(error)) from error
