"""Cumulative sums and products, and differences of adjacent elements: CumOp, and the functions.

The result has the input's dtype, as in Theano (NumPy promotes small integers).

The gradient of a cumulative product has no division, so it and all further derivatives are correct if elements are
zero. It is a linear recurrence, a loop that a later room makes (``ops/loops/linear_recurrence.py``).
"""
import numpy

from phintys.graph import hooks
from phintys.graph.apply import Apply
from phintys.graph.config import config
from phintys.graph.op import Op
from phintys.graph.public_names import at_home
from phintys.ops.creation.allocation import alloc
from phintys.ops.cumulative.cumulative_kernel import CumulativeKernel
from phintys.ops.elementwise import scalar
from phintys.ops.elementwise.complex_derivatives import conjugated
from phintys.ops.reduction.careduce import lines_with_mask
from phintys.ops.shape.join import join
from phintys.ops.shape.reshape import flatten, reshape
from phintys.ops.shape.shape import shape, shape_i
from phintys.ops.types.axes import one_axis, one_integer
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import discrete_dtypes
from phintys.ops.types.numpy_arguments import with_numpy_arguments
from phintys.ops.types.tensor_type import TensorType


class CumOp(Op):
    """The cumulative sum or product along an axis.

    Parameters
    ----------
    axis : int, optional
        By default the tensor is flattened.
    mode : {"add", "mul"}

    Raises
    ------
    ValueError
        For another mode; ``make_node`` raises it for an axis that does not exist.

    Examples
    --------
    >>> T.CumOp(axis=1, mode="mul")(T.as_tensor([[1, 2], [3, 4]])).eval()
    array([[ 1,  2],
           [ 3, 12]])
    """

    runs_alone = True
    __props__ = ("axis", "mode")

    def __init__(self, axis=None, mode="add"):
        if mode not in ("add", "mul"):
            raise ValueError(f'{type(self).__name__}: Unknown mode "{mode}"')
        self.axis = axis
        self.mode = mode

    def make_node(self, x):
        x = as_tensor_variable(x)
        if self.axis is None:
            size = None if None in x.type.shape else _product(x.type.shape)
            return Apply(self, [x], [TensorType(x.type.dtype, (False,), shape=(size,))()])
        one_axis("cumsum" if self.mode == "add" else "cumprod", x, self.axis)
        return Apply(self, [x], [x.type()])

    def make_kernel(self, node):
        x = node.inputs[0].type
        return CumulativeKernel(x.dtype, -1 if self.axis is None else self.axis % x.ndim, self.mode)

    def infer_shape(self, node, input_shapes):
        lengths, = input_shapes
        return [tuple(lengths) if self.axis is not None else (_product(lengths),)]

    def grad(self, inputs, output_grads):
        x, = inputs
        gz, = output_grads
        if x.type.dtype in discrete_dtypes:
            return [x.zeros_like(dtype=config.floatX)]
        axis = 0 if self.axis is None else self.axis % x.type.ndim
        if self.mode == "add":
            gradient = _backwards(cumsum(_backwards(gz, axis), axis), axis)
        else:
            values = conjugated(_as_continuous(x if self.axis is not None else flatten(x)))
            gradient = product_before(values, axis) * hooks.linear_recurrence(
                values, gz.astype(values.type.dtype), axis, backwards=True, own=False)
        return [reshape(gradient, shape(x), ndim=x.type.ndim) if self.axis is None else gradient]

    def masked_L_op(self, inputs, outputs, output_grads, masks):
        if self.mode == "add" or self.axis is None:
            return Op.masked_L_op(self, inputs, outputs, output_grads, masks)
        return lines_with_mask(self, inputs, outputs, output_grads, masks, self.axis % inputs[0].type.ndim)

    def R_op(self, inputs, eval_points):
        x, = inputs
        point, = eval_points
        if point is None:
            return [None]
        if self.mode == "add":
            return [self(point)]
        if x.type.dtype in discrete_dtypes:
            return [None]
        axis = 0 if self.axis is None else self.axis % x.type.ndim
        values, point = [_as_continuous(part if self.axis is not None else flatten(part)) for part in (x, point)]
        moved = hooks.linear_recurrence(values, point * product_before(values, axis), axis)
        return [moved.astype(x.type.dtype)]

    def __str__(self):
        return f"CumOp{{{self.axis}, {self.mode}}}"


def product_before(x, axis, backwards=False):
    """For each element of ``x``, the product of those before it along ``axis``, or after it if ``backwards``."""
    if backwards:
        return _backwards(product_before(_backwards(x, axis), axis), axis)
    before = (slice(None),) * axis
    ones = x[before + (slice(0, 1),)].ones_like()
    return join(axis, ones, CumOp(axis, "mul")(x[before + (slice(None, -1),)]))


def CumsumOp(axis=None):
    """The `CumOp` of sums.

    Examples
    --------
    >>> phintys.tensor.extra_ops.CumsumOp(axis=0)(T.as_tensor([1, 2, 3])).eval()
    array([1, 3, 6])
    """
    return CumOp(axis, "add")


def CumprodOp(axis=None):
    """The `CumOp` of products.

    Examples
    --------
    >>> phintys.tensor.extra_ops.CumprodOp(axis=0)(T.as_tensor([1, 2, 3])).eval()
    array([1, 2, 6])
    """
    return CumOp(axis, "mul")


def _product(lengths):
    """The product of ints and symbolic integers."""
    result = 1
    for length in lengths:
        result = result * length
    return result


def _as_continuous(x):
    """``x`` in a dtype for which recurrences are implemented."""
    return x.astype("float32") if x.type.dtype == "float16" else x


def _backwards(x, axis):
    """``x`` in reverse order along an axis."""
    return x[(slice(None),) * (axis % x.type.ndim) + (slice(None, None, -1),)]


@with_numpy_arguments
def cumsum(x, axis=None, dtype=None):
    """The cumulative sum: the sum of all elements up to and including each one.

    Parameters
    ----------
    x : tensor-like
    axis : int, optional
        By default the tensor is flattened, and the result is a vector.
    dtype : str, optional
        That of the sums; by default that of ``x``.

    Returns
    -------
    TensorVariable

    Raises
    ------
    ValueError
        For an axis that does not exist.

    Examples
    --------
    >>> T.cumsum(T.as_tensor([1, 2, 3])).eval()
    array([1, 3, 6])
    """
    return CumOp(axis=axis, mode="add")(x if dtype is None else as_tensor_variable(x).astype(dtype))


@with_numpy_arguments
def cumprod(x, axis=None, dtype=None):
    """The cumulative product; the parameters are those of `cumsum`.

    The gradient is correct even where elements are zero.

    Examples
    --------
    >>> T.cumprod(T.as_tensor([1, 2, 3])).eval()
    array([1, 2, 6])
    """
    return CumOp(axis=axis, mode="mul")(x if dtype is None else as_tensor_variable(x).astype(dtype))


@at_home
class DiffOp:
    """`diff` with given ``n`` and ``axis``: what Theano's op of this name computes.

    Parameters
    ----------
    n : int
    axis : int

    Examples
    --------
    >>> T.DiffOp(n=1, axis=0)(T.as_tensor([1, 4, 9])).eval()
    array([3, 5])
    """

    def __init__(self, n=1, axis=-1):
        self.n, self.axis = n, axis

    def __call__(self, x):
        return diff(x, self.n, self.axis)


def diff(x, n=1, axis=-1, prepend=None, append=None):
    """The differences of adjacent elements along an axis: ``x[1:] - x[:-1]``, taken ``n`` times.

    Parameters
    ----------
    x : tensor-like
    n : int
    axis : int
    prepend, append : tensor-like, optional
        Elements to join to ``x`` along the axis before the differences are taken: a number, or a tensor of the other
        lengths of ``x``.

    Returns
    -------
    TensorVariable
        Of the dtype of ``x`` (of all parts, if some are joined), and shorter by ``n`` along the axis, down to 0.
        For booleans it tells whether adjacent elements differ.

    Raises
    ------
    ValueError
        For a negative ``n`` or an axis that does not exist.

    Examples
    --------
    >>> T.diff(T.as_tensor([1, 4, 9])).eval()
    array([3, 5])
    """
    x = as_tensor_variable(x)
    axis = one_axis("diff", x, axis)
    if one_integer("diff", "n", n) < 0:
        raise ValueError(f"diff: n must not be negative, got {n}")
    if n and not (prepend is None and append is None):
        whole = [x if part is x else _beside(x, part, axis) for part in (prepend, x, append) if part is not None]
        x = join(axis, *whole)
    before = (slice(None),) * axis
    for _ in range(n):
        later, earlier = x[(*before, slice(1, None))], x[(*before, slice(None, -1))]
        x = scalar.neq(later, earlier) if x.type.dtype == "bool" else later - earlier
    return x


def _beside(x, part, axis):
    """A part to join to ``x``; a number becomes a slice of length 1, in the dtype that NumPy gives it."""
    part = as_tensor_variable(numpy.asarray(part) if isinstance(part, (bool, int, float, complex)) else part)
    if part.type.ndim:
        return part
    lengths = [1 if number == axis else shape_i(x, number) for number in range(x.type.ndim)]
    return alloc(part, *lengths)
