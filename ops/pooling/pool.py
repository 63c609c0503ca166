"""Pooling: maxima, sums and averages of windows of images, and the ops of their derivatives.

Each derivative of max pooling is one of two ops: one sends numbers from windows to the elements that are maxima, the
other one collects numbers from these elements; each is the gradient of the other. All elements of a window that are
equal to the maximum count. Pooling by sums and averages is linear.
"""
import warnings

from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.graph.valueless_types import disconnected_type
from phintys.ops.elementwise.scalar import as_dtype
from phintys.ops.pooling.pool_kernel import (
    AveragePoolGradKernel,
    MaxFirstKernel,
    MaxPoolGradKernel,
    MaxSelectedKernel,
    PoolKernel,
)
from phintys.ops.pooling.windows import (
    arguments_of,
    as_vectors,
    check_known,
    checked_mode,
    numbers_of,
    shape_of_results,
)
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import complex_dtypes
from phintys.ops.types.tensor_type import TensorType


def max_pool_2d_same_size(input, patch_size):
    """The images with all elements set to 0 that are not the maximum of their patch.

    Parameters
    ----------
    input : tensor with at least 2 dimensions
        Patches do not overlap, and lie in the last two dimensions. Patches that would reach beyond the image are left
        out: all their elements become 0.
    patch_size : tuple of 2 ints, or vector
        Height and width of a patch.

    Returns
    -------
    Variable
        It has the shape and dtype of the input.

    Examples
    --------
    >>> x = T.matrix()
    >>> f = phintys.function([x], max_pool_2d_same_size(x, (1, 2)))
    >>> f([[1, 2, 4, 3]])
    array([[0., 2., 4., 0.]])
    """
    output = Pool(True)(input, patch_size)
    return MaxPoolGrad(True)(input, output, output, patch_size)


def pool_2d(input, ws=None, ignore_border=None, stride=None, pad=(0, 0), mode="max", ds=None, st=None, padding=None):
    """Pool the last two dimensions: one number for each window of the images.

    Parameters
    ----------
    input : tensor with at least 2 dimensions
        Images of any real dtype.
    ws : tuple of 2 ints, or vector of integers
        Height and width of a window.
    ignore_border : bool
        Whether windows that extend beyond the image are left out: with windows of (2, 2), images of (5, 5) give results
        of (2, 2) then, and of (3, 3) otherwise. If it is not given, a warning is issued, and such windows are not left
        out.
    stride : tuple of 2 ints, or vector, optional
        The steps from window to window; by default ``ws``, so that windows do not overlap.
    pad : tuple of 2 ints, or vector
        Rows that are added above and below, and columns that are added on the left and on the right. Only with
        ``ignore_border=True``, and less than ``ws``.
    mode : {"max", "sum", "average_inc_pad", "average_exc_pad"}
        The result for a window. Maxima and sums ignore the padding; "average_inc_pad" divides by the size of the
        window, "average_exc_pad" by the number of elements of the image in it.
    ds, st, padding
        Old names of ws, stride and pad, with a warning.

    Returns
    -------
    Variable
        A tensor of the input's rank and dtype. The maximum of a window with NaN is NaN.

    Raises
    ------
    NotImplementedError
        If the input has less than 2 dimensions, or for padding that is not supported.
    TypeError
        If the input is complex, or if sizes, steps or paddings are not vectors of integers.
    ValueError
        For another mode; at run time for sizes or steps below 1, negative padding, or windows without an element.

    Examples
    --------
    >>> x = T.matrix()
    >>> f = phintys.function([x], T.signal.pool.pool_2d(x, (2, 2), ignore_border=True))
    >>> f([[1, 2, 3, 4], [5, 6, 7, 8]])
    array([[6., 8.]])
    """
    return _pooled(2, input, ws, ignore_border, stride, pad, mode, ds, st, padding)


def pool_3d(input, ws=None, ignore_border=None, stride=None, pad=(0, 0, 0), mode="max", ds=None, st=None, padding=None):
    """Pool the last three dimensions: one number for each window of the images.

    Parameters
    ----------
    input : tensor with at least 3 dimensions
    ws, stride, pad : tuple of 3 ints, or vector
    ignore_border, mode, ds, st, padding
        As in `pool_2d`.

    Returns
    -------
    Variable
        A tensor of the input's rank and dtype.

    Raises
    ------
    NotImplementedError, TypeError, ValueError
        As `pool_2d`.

    Examples
    --------
    >>> x = T.tensor3()
    >>> f = phintys.function([x], pool_3d(x, (2, 1, 2), ignore_border=True, mode="sum"))
    >>> f([[[1, 2]], [[3, 4]]])
    array([[[10.]]])
    """
    return _pooled(3, input, ws, ignore_border, stride, pad, mode, ds, st, padding)


def _pooled(ndim, input, ws, ignore_border, stride, pad, mode, ds, st, padding):
    ws, stride, pad = arguments_of(ndim, ws, stride, pad, ds, st, padding, levels=4)
    input = as_tensor_variable(input)
    if input.type.ndim < ndim:
        raise NotImplementedError(f"pool_{ndim}d requires a dimension >= {ndim}, got {input} of type {input.type}")
    if ignore_border is None:
        warnings.warn(f"pool_{ndim}d() will have the parameter ignore_border default value changed to True (currently "
                      "False). To have consistent behavior with all Theano version, explicitly add the parameter "
                      "ignore_border=True.", stacklevel=3)
        ignore_border = False
    return Pool(ignore_border, ndim=ndim, mode=mode)(input, ws, stride, pad)


class PoolingOp(Op):
    """Base of ops whose last three inputs are sizes, steps and paddings of windows.

    Parameters
    ----------
    ignore_border : bool
    mode : {"max", "sum", "average_inc_pad", "average_exc_pad"}
    ndim : int
        How many dimensions are pooled.
    openmp : bool, optional
        Ignored: images are always divided among the threads that the program may use.
    """

    __props__ = ("ignore_border", "mode", "ndim")
    depends_on = slice(-3)

    def __init__(self, ignore_border=False, mode="max", ndim=2, openmp=None):
        self.ignore_border, self.ndim, self.openmp = ignore_border, ndim, openmp
        self.mode = checked_mode(mode)

    def __setstate__(self, state):
        self.__dict__.update(state)
        self.__dict__.setdefault("openmp", None)

    @staticmethod
    def out_shape(imgshape, ws=None, ignore_border=False, stride=None, pad=None, ndim=2, ds=None, st=None,
                  padding=None):
        """The shape of the result for images of a shape.

        Parameters
        ----------
        imgshape : sequence of int or 0-d Variable
            The last ``ndim`` lengths are those of an image.
        ws, stride, pad : sequence of int or 0-d Variable
            As in `pool_2d`.
        ignore_border : bool
        ndim : int
        ds, st, padding
            Old names of ws, stride and pad, with a warning.

        Returns
        -------
        list
            Lengths: ints where all is known, else variables.

        Raises
        ------
        TypeError
            If there are less than ``ndim`` lengths.
        ValueError
            If no size of windows is given, or one argument under two names.
        """
        ndim = 2 if ndim is None else ndim
        ws, stride, pad = arguments_of(ndim, ws, stride, pad, ds, st, padding)
        if len(imgshape) < ndim:
            raise TypeError(f"imgshape must have at least {ndim} dimensions")
        return shape_of_results(imgshape, ws, ignore_border, ws if stride is None else stride,
                                (0,) * ndim if pad is None else pad, ndim)

    def checked_images(self, *operands):
        """The operands as variables of one dtype, that of the first, and of the same rank."""
        x, *others = map(as_tensor_variable, operands)
        if x.type.ndim < self.ndim:
            raise TypeError(f"{self} pools {self.ndim} dimensions, got {x} of type {x.type}")
        if x.type.dtype in complex_dtypes:
            raise TypeError(f"{self} pools real numbers, got {x} of type {x.type}")
        for other in others:
            if other.type.ndim != x.type.ndim:
                raise TypeError(f"{self} takes tensors of the same rank, got {x} of type {x.type} and {other} of type "
                                f"{other.type}")
        return [x, *[other if other.type.dtype == x.type.dtype else as_dtype(other, x.type.dtype)
                     for other in others]]

    def result_type(self, x):
        """The type of the result for images ``x``: pooled dimensions have any length, 0 too."""
        flags, lengths = x.type.broadcastable, x.type.shape
        return TensorType(x.type.dtype, (*flags[:-self.ndim], *(False,) * self.ndim),
                          shape=(*lengths[:-self.ndim], *(None,) * self.ndim))

    def made_kernel(self, cls, node):
        """The kernel for images of a dtype."""
        return cls(node.inputs[0].type.dtype, self.ndim, self.mode, bool(self.ignore_border))

    def lengths(self, node, shape):
        """The lengths of the result for images of a shape."""
        return self.pooled_lengths(shape, *[numbers_of(vector, self.ndim) for vector in node.inputs[-3:]])

    def pooled_lengths(self, shape, ws, stride, pad):
        """The same for windows whose numbers are given."""
        return shape_of_results(shape, ws, self.ignore_border, stride, pad, self.ndim)


class Pool(PoolingOp):
    """Pools the last dimensions. The inputs are the images, and vectors of sizes, steps and paddings.

    Parameters
    ----------
    ignore_border : bool
        Whether windows that reach beyond the image are left out.
    mode : {"max", "sum", "average_inc_pad", "average_exc_pad"}
        As in `pool_2d`.
    ndim : int
        How many dimensions are pooled.
    openmp : bool, optional
        Ignored.

    Examples
    --------
    >>> images = T.as_tensor(numpy.arange(16.0).reshape((1, 1, 4, 4)))
    >>> T.signal.pool.Pool(ignore_border=True)(images, (2, 2)).eval()[0, 0]
    array([[ 5.,  7.],
           [13., 15.]])
    """

    def make_node(self, x, ws, stride=None, pad=None):
        x, = self.checked_images(x)
        check_known(self.ndim, ws, pad, self.ignore_border)
        return Apply(self, [x, *as_vectors(self.ndim, ws, stride, pad)], [self.result_type(x)()])

    def make_kernel(self, node):
        return self.made_kernel(PoolKernel, node)

    def infer_shape(self, node, input_shapes):
        return [tuple(self.lengths(node, input_shapes[0]))]

    def L_op(self, inputs, outputs, output_grads):
        x, *sizes = inputs
        gradient, = output_grads
        if self.mode == "max":          # the maxima of these images, not what a loop has kept: see ``Extremum.L_op``
            by_images = MaxPoolGrad(self.ignore_border, ndim=self.ndim)(x, self(*inputs), gradient, *sizes)
        else:
            by_images = AveragePoolGrad(self.ignore_border, self.mode, self.ndim)(x, gradient, *sizes)
        return [by_images] + [disconnected_type()] * 3

    def R_op(self, inputs, eval_points):
        x, *sizes = inputs
        if self.mode != "max":
            return [self(eval_points[0], *sizes)]
        selected = DownsampleFactorMaxGradGrad(self.ignore_border, self.mode, self.ndim)
        return [selected(x, self(*inputs), eval_points[0], *sizes)]


class PoolGrad(PoolingOp):
    """Base of the gradients by the images.

    Examples
    --------
    >>> issubclass(T.signal.pool.MaxPoolGrad, T.signal.pool.PoolGrad)
    True
    """

    shape_as = 0


class MaxPoolGrad(PoolGrad):
    """The gradient of pooling by maxima. The inputs are the images, their maxima, the gradient by these, and vectors of
    sizes, steps and paddings. Each element that is equal to the maximum of a window receives the gradient by it.

    Examples
    --------
    >>> images = T.dtensor4("images")
    >>> T.grad(T.signal.pool.pool_2d(images, (2, 2), ignore_border=True).sum(), images).owner.op
    MaxPoolGrad{ignore_border=True, mode='max', ndim=2}
    """

    linear_in = (2,)

    def __init__(self, ignore_border, ndim=2, openmp=None):
        super().__init__(ignore_border, "max", ndim, openmp)

    def make_node(self, x, maxout, gz, ws, stride=None, pad=None):
        x, maxout, gz = self.checked_images(x, maxout, gz)
        return Apply(self, [x, maxout, gz, *as_vectors(self.ndim, ws, stride, pad)], [x.type()])

    def make_kernel(self, node):
        return self.made_kernel(MaxPoolGradKernel, node)

    def grad(self, inputs, output_grads):
        x, maxout, _, *sizes = inputs
        selected = DownsampleFactorMaxGradGrad(self.ignore_border, ndim=self.ndim)
        return [x.zeros_like(), maxout.zeros_like(), selected(x, maxout, output_grads[0], *sizes),
                *[disconnected_type()] * 3]


class AveragePoolGrad(PoolGrad):
    """The gradient of pooling by sums or averages. The inputs are the images, of which only the shape is used, the
    gradient by the results, and vectors of sizes, steps and paddings.

    Examples
    --------
    >>> images = T.ones((1, 1, 2, 2))
    >>> T.grad(T.signal.pool.pool_2d(images, (2, 2), ignore_border=True, mode="average_exc_pad").sum(), images).owner.op
    AveragePoolGrad{ignore_border=True, mode='average_exc_pad', ndim=2}
    """

    linear_in = (1,)

    def __init__(self, ignore_border, mode="average_inc_pad", ndim=2):
        if mode == "max":
            raise ValueError("AveragePoolGrad is for the modes 'sum', 'average_inc_pad' and 'average_exc_pad'. Got max")
        super().__init__(ignore_border, mode, ndim)

    def make_node(self, x, gz, ws, stride=None, pad=None, dummy=None):
        x, gz = self.checked_images(x, gz)
        return Apply(self, [x, gz, *as_vectors(self.ndim, ws, stride, pad)], [x.type()])

    def make_kernel(self, node):
        return self.made_kernel(AveragePoolGradKernel, node)

    def grad(self, inputs, output_grads):
        x, _, *sizes = inputs
        pooled = Pool(self.ignore_border, self.mode, self.ndim)(output_grads[0], *sizes)
        return [x.zeros_like(), pooled, *[disconnected_type()] * 3]


class DownsampleFactorMaxGradGrad(PoolingOp):
    """The sum, for each window, of a tensor's elements where the images have the maximum of the window. The inputs are
    the images, their maxima, the tensor, and vectors of sizes, steps and paddings. It is the gradient of `MaxPoolGrad`
    by the gradient that this op receives, and the derivative of pooling along a direction.

    Examples
    --------
    >>> T.signal.pool.DownsampleFactorMaxGradGrad(ignore_border=True).ignore_border
    True
    """

    shape_as = 1

    linear_in = (2,)

    def __init__(self, ignore_border, mode="max", ndim=2, openmp=None):
        super().__init__(ignore_border, mode, ndim, openmp)
        if self.mode != "max":
            raise ValueError(f"{type(self).__name__} is for the mode 'max'. Got {mode}")

    def make_node(self, x, maxout, gz, ws, stride=None, pad=None):
        x, maxout, gz = self.checked_images(x, maxout, gz)
        check_known(self.ndim, ws, pad, self.ignore_border)
        return Apply(self, [x, maxout, gz, *as_vectors(self.ndim, ws, stride, pad)], [self.result_type(x)()])

    def make_kernel(self, node):
        return self.made_kernel(MaxSelectedKernel, node)

    def grad(self, inputs, output_grads):
        x, maxout, _, *sizes = inputs
        by_tensor = MaxPoolGrad(self.ignore_border, ndim=self.ndim)(x, maxout, output_grads[0], *sizes)
        return [x.zeros_like(), maxout.zeros_like(), by_tensor, *[disconnected_type()] * 3]


class MaxPoolRop(PoolingOp):
    """For each window, the element of a tensor at the position where the images have the window's first maximum. The
    inputs are the images, the tensor, and vectors of sizes, steps and paddings.

    Examples
    --------
    >>> T.signal.pool.MaxPoolRop(ignore_border=True).ignore_border
    True
    """

    def __init__(self, ignore_border=False, mode="max", ndim=2, openmp=None):
        super().__init__(ignore_border, mode, ndim, openmp)
        if self.mode != "max":
            raise ValueError(f"{type(self).__name__} is for the mode 'max'. Got {mode}")

    def make_node(self, x, eval_point, ws, stride=None, pad=None):
        x, eval_point = self.checked_images(x, eval_point)
        check_known(self.ndim, ws, pad, self.ignore_border)
        return Apply(self, [x, eval_point, *as_vectors(self.ndim, ws, stride, pad)], [self.result_type(x)()])

    def make_kernel(self, node):
        return self.made_kernel(MaxFirstKernel, node)

    def infer_shape(self, node, input_shapes):
        return [tuple(self.lengths(node, input_shapes[0]))]
