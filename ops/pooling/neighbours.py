"""Neighbourhoods: patches of images as the rows of a matrix, and images from such rows.

``Images2Neibs`` and ``SumNeibs`` are adjoint: each is the gradient of the other. Where patches overlap, ``SumNeibs``
adds them; where they do not, it puts images together again.
"""
from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.graph.valueless_types import disconnected_type, grad_undefined
from phintys.graph.variable import Variable
from phintys.ops.elementwise.elementwise_functions import maximum
from phintys.ops.pooling.neighbours_kernel import MODES, Images2NeibsKernel, SumNeibsKernel
from phintys.ops.pooling.windows import numbers_of
from phintys.ops.shape.shape import shape
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import integer_dtypes
from phintys.ops.types.tensor_type import TensorType


def images2neibs(ten4, neib_shape, neib_step=None, mode="valid"):
    """Patches of images as the rows of a matrix.

    Parameters
    ----------
    ten4 : 4-D tensor
        Images: examples, channels, rows, columns.
    neib_shape : tuple of 2 ints, or vector of integers
        Height and width of a patch.
    neib_step : tuple of 2 ints, or vector, optional
        The steps from patch to patch; by default ``neib_shape``, so that patches do not overlap.
    mode : {"valid", "half", "full", "wrap_centered", "ignore_borders"}
        "valid": the last patch ends exactly at the end of the image. "half" and "full": as "valid", with zeros on each
        side: half the size of a patch, or its size minus one. "wrap_centered": patches of odd sizes around the elements
        to which the steps lead; beyond one end, images continue with the other end. "ignore_borders": what lies beyond
        the last patch is left out.

    Returns
    -------
    Variable
        A matrix with ``neib_shape[0] * neib_shape[1]`` columns and the dtype of the images. Patches of an image follow
        each other row by row, then channels, then examples.

    Raises
    ------
    NotImplementedError
        For another mode.
    TypeError
        If the images are not a 4-D tensor, or sizes and steps no vectors of integers; at run time if images and patches
        do not fit together.
    ValueError
        At run time, for sizes or steps that are not positive.

    Examples
    --------
    >>> images = T.tensor4()
    >>> f = phintys.function([images], T.nnet.neighbours.images2neibs(images, (1, 2)))
    >>> f(numpy.arange(4.0).reshape(1, 1, 2, 2))
    array([[0., 1.],
           [2., 3.]])
    """
    return Images2Neibs(mode)(ten4, neib_shape, neib_step)


def neibs2images(neibs, neib_shape, original_shape, mode="valid"):
    """The images from which `images2neibs` made patches that do not overlap.

    Parameters
    ----------
    neibs : matrix
    neib_shape : tuple of 2 ints, or vector of integers
    original_shape : tuple of 4 ints, or vector of integers
        The shape of the images.
    mode : {"valid", "ignore_borders"}
        Elements that were left out become 0.

    Returns
    -------
    Variable
        A 4-D tensor with the dtype of the matrix.

    Raises
    ------
    NotImplementedError
        For another mode.
    TypeError
        If the matrix is none, or sizes and lengths are not vectors of integers.
    ValueError
        At run time, if images of this shape do not have such patches.

    Examples
    --------
    >>> neibs = T.matrix()
    >>> f = phintys.function([neibs], T.nnet.neighbours.neibs2images(neibs, (1, 2), (1, 1, 2, 2)))
    >>> f([[0, 1], [2, 3]])
    array([[[[0., 1.],
             [2., 3.]]]])
    """
    if mode not in ("valid", "ignore_borders"):
        raise NotImplementedError(f"neibs2images do not support mode={mode}")
    neib_shape = as_tensor_variable(neib_shape)
    return SumNeibs(mode)(neibs, neib_shape, neib_shape, original_shape)


def _integers(name, value):
    vector = as_tensor_variable(value)
    if vector.type.ndim != 1 or vector.type.dtype not in integer_dtypes:
        raise TypeError(f"{name} must be a vector of integers, got {vector} of type {vector.type}")
    return vector


class NeighboursOp(Op):
    """Base of ops on neighbourhoods.

    Parameters
    ----------
    mode : {"valid", "half", "full", "wrap_centered", "ignore_borders"}
        As in `images2neibs`.
    """

    __props__ = ("mode",)
    runs_alone = True

    def __init__(self, mode="valid"):
        if mode not in MODES:
            raise NotImplementedError(f"Only modes {', '.join(MODES)} have been implemented for "
                                      f"{type(self).__name__}, got {mode!r}")
        self.mode = mode

    def __setstate__(self, state):
        self.__dict__.update(state)
        self.__dict__.setdefault("mode", "valid")

    def __str__(self):
        return f"{type(self).__name__}{{{self.mode}}}"

    def count(self, length, patch, step):
        """How many patches there are along a dimension."""
        if self.mode == "wrap_centered":
            return (length + step - 1) // step
        if self.mode == "ignore_borders":
            reach = (length - patch) // step + 1
            return maximum(reach, 0) if isinstance(reach, Variable) else max(reach, 0)
        added = {"valid": -patch, "half": -(patch % 2), "full": patch - 2}[self.mode]
        return (length + added) // step + 1


class Images2Neibs(NeighboursOp):
    """Patches as rows. The inputs are the images, and the vectors of the sizes of patches and the steps between them.

    Parameters
    ----------
    mode : {"valid", "half", "full", "wrap_centered", "ignore_borders"}
        As in `images2neibs`.

    Examples
    --------
    >>> images = T.as_tensor(numpy.arange(16.0).reshape((1, 1, 4, 4)))
    >>> T.nnet.neighbours.Images2Neibs("valid")(images, (2, 2), (2, 2)).eval()
    array([[ 0.,  1.,  4.,  5.],
           [ 2.,  3.,  6.,  7.],
           [ 8.,  9., 12., 13.],
           [10., 11., 14., 15.]])
    """

    linear_in = (0,)

    def make_node(self, ten4, neib_shape, neib_step=None):
        ten4, neib_shape = as_tensor_variable(ten4), _integers("neib_shape", neib_shape)
        neib_step = neib_shape if neib_step is None else _integers("neib_step", neib_step)
        if ten4.type.ndim != 4:
            raise TypeError(f"{self} takes a tensor with 4 dimensions, got {ten4} of type {ten4.type}")
        return Apply(self, [ten4, neib_shape, neib_step], [TensorType(ten4.type.dtype, (False, False))()])

    def make_kernel(self, node):
        return Images2NeibsKernel(self.mode)

    def infer_shape(self, node, input_shapes):
        images, channels, height, width = input_shapes[0]
        patch, step = [numbers_of(vector, 2) for vector in node.inputs[1:]]
        rows, columns = self.count(height, patch[0], step[0]), self.count(width, patch[1], step[1])
        return [(images * channels * rows * columns, patch[0] * patch[1])]

    def grad(self, inputs, output_grads):
        ten4, neib_shape, neib_step = inputs
        return [SumNeibs(self.mode)(output_grads[0], neib_shape, neib_step, shape(ten4)),
                grad_undefined(self, 1, neib_shape), grad_undefined(self, 2, neib_step)]


class SumNeibs(NeighboursOp):
    """Images with the sums of rows that are patches. The inputs are the matrix, the vectors of the sizes of patches and
    the steps between them, and that of the lengths of the images.

    Parameters
    ----------
    mode : {"valid", "half", "full", "wrap_centered", "ignore_borders"}
        As in `images2neibs`.
    """

    linear_in = (0,)
    depends_on = (0,)

    def make_node(self, neibs, neib_shape, neib_step, image_shape):
        neibs = as_tensor_variable(neibs)
        if neibs.type.ndim != 2:
            raise TypeError(f"{self} takes a matrix, got {neibs} of type {neibs.type}")
        vectors = [_integers("neib_shape", neib_shape), _integers("neib_step", neib_step),
                   _integers("the shape of images", image_shape)]
        return Apply(self, [neibs, *vectors], [TensorType(neibs.type.dtype, (False,) * 4)()])

    def make_kernel(self, node):
        return SumNeibsKernel(self.mode, node.inputs[0].type.dtype)

    def infer_shape(self, node, input_shapes):
        return [tuple(numbers_of(node.inputs[3], 4))]

    def grad(self, inputs, output_grads):
        return [Images2Neibs(self.mode)(output_grads[0], *inputs[1:3]), *[disconnected_type()] * 3]
