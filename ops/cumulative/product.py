"""Products over axes: the ops Prod and ProdWithoutZeros, and the function ``prod``.

They are reductions like those of ``ops/reduction``. But the gradient with respect to one element is the product of all
others. It is computed without a division, as the product of the elements before it times that of the elements after it.
"""
import numpy

from phintys.graph.config import config
from phintys.ops.cumulative.cumulative import product_before
from phintys.ops.elementwise import scalar
from phintys.ops.elementwise.complex_derivatives import conjugated, real_like
from phintys.ops.reduction.careduce import CAReduceDtype, Sum, pad_reduced, positive_axes, repeated_with_mask
from phintys.ops.reduction.reduction import reduce_by
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.shape.reshape import reshape
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.numpy_arguments import with_numpy_arguments


class Prod(CAReduceDtype):
    """The product over axes.

    Parameters
    ----------
    axis, dtype, acc_dtype
        See `CAReduceDtype`.
    no_zeros_in_input : bool
        Promise that there are no zeros, which makes the gradient simpler.

    Examples
    --------
    >>> T.Prod(axis=0)(T.as_tensor([[1, 5], [7, 2]])).eval()
    array([ 7, 10])
    """

    __props__ = ("axis", "dtype", "acc_dtype")

    def __init__(self, axis=None, dtype=None, acc_dtype=None, no_zeros_in_input=False):
        CAReduceDtype.__init__(self, scalar.mul, axis, dtype, acc_dtype)
        self.no_zeros_in_input = no_zeros_in_input

    def _arguments(self):
        return {"no_zeros_in_input": self.no_zeros_in_input}

    def L_op(self, inputs, outputs, output_grads):
        """The gradient with respect to each element is the product of the others, times the output's gradient."""
        x, = inputs
        axes = positive_axes(x, self.axis)
        if self._folds_integers(outputs[0]):
            return [x.zeros_like(dtype=config.floatX)]
        gz = pad_reduced(x, output_grads[0], axes)
        return [real_like(x, gz * conjugated(self._others(x, outputs[0], axes)))]

    def masked_L_op(self, inputs, outputs, output_grads, masks):
        return repeated_with_mask(self, inputs, outputs, output_grads, masks, has_slopes=True)

    def _others(self, x, product, axes):
        """For each element, the product of the others."""
        if self.no_zeros_in_input:
            return pad_reduced(x, product, axes) / x
        dtype = product.type.dtype
        return product_of_others(x.astype("float32" if dtype == "float16" else dtype), axes)

    def R_op(self, inputs, eval_points):
        x, = inputs
        product = self(x)
        if eval_points[0] is None or self._folds_integers(product):
            return [None]
        moved = self._others(x, product, positive_axes(x, self.axis)) * eval_points[0]
        return [Sum(self.axis, dtype=product.type.dtype)(moved)]


class ProdWithoutZeros(CAReduceDtype):
    """The product of the nonzero elements over axes, or 0 where all elements are zero. It has no gradient.

    Examples
    --------
    >>> T.ProdWithoutZeros(axis=0)(T.as_tensor([[1, 0], [7, 2]])).eval()
    array([7, 2])
    """

    __props__ = ("axis", "dtype", "acc_dtype")

    def __init__(self, axis=None, dtype=None, acc_dtype=None):
        CAReduceDtype.__init__(self, scalar.mul, axis, dtype, acc_dtype)

    def _arguments(self):
        return {}

    def make_kernel(self, node):
        return None

    def perform(self, node, inputs, output_storage):
        x, = inputs
        product = numpy.where(x == 0, 1, x).prod(axis=self.axis, dtype=self.acc_dtype)
        result = numpy.where((x == 0).all(axis=self.axis), 0, product)
        output_storage[0][0] = numpy.asarray(result, dtype=self.dtype)


def product_of_others(x, axes):
    """For each element of ``x``, the product of the other elements over ``axes``.

    Parameters
    ----------
    x : TensorVariable
        float32, float64 or complex.
    axes : tuple of int
        Not negative.

    Returns
    -------
    TensorVariable
        Of the dtype and shape of ``x``; it and its derivatives are correct even where elements are zero.
    """
    if not axes:
        return x.ones_like()
    kept = [axis for axis in range(x.type.ndim) if axis not in axes]
    position = len(kept) if kept + list(axes) == list(range(x.type.ndim)) else 0       # last where x has them there
    order = kept[:position] + list(axes) + kept[position:]
    lengths = [shape_i(x, axis) for axis in order]
    own = lengths[position:position + len(axes)]
    number = scalar.mul(*own) if len(axes) > 1 else own[0]
    rows = reshape(dimshuffle(x, order), lengths[:position] + [number] + lengths[position + len(axes):])
    others = product_before(rows, position) * product_before(rows, position, backwards=True)
    return dimshuffle(reshape(others, lengths), [order.index(axis) for axis in range(x.type.ndim)])


@with_numpy_arguments
def prod(input, axis=None, dtype=None, keepdims=False, acc_dtype=None, no_zeros_in_input=False):
    """The product of elements over axes; the other parameters are those of `sum`.

    Parameters
    ----------
    no_zeros_in_input : bool
        Promise that there are no zeros, which makes the gradient simpler.

    Examples
    --------
    >>> T.prod(T.as_tensor([[1, 2], [3, 5]]), axis=1).eval()
    array([ 2, 15])
    """
    return reduce_by(Prod, input, axis, keepdims, dtype=dtype, acc_dtype=acc_dtype, no_zeros_in_input=no_zeros_in_input)
