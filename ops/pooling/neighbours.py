"""Neighbourhoods: patches of images as the rows of a matrix, and images from such rows.

Rows are gathered by two tables of positions, one for each dimension; so the gradient adds them where patches overlap.
"""
from phintys.graph.public_names import at_home
from phintys.ops.creation.allocation import arange, zeros
from phintys.ops.elementwise.elementwise_functions import and_, eq, ge, gt, maximum
from phintys.ops.elementwise.scalar import as_dtype
from phintys.ops.identity.assertion import Check
from phintys.ops.identity.equal_lengths import EqualLengths
from phintys.ops.indexing.inc_subtensor import set_subtensor
from phintys.ops.pooling.windows import numbers_of
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.shape.reshape import reshape
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import integer_dtypes

MODES = ("valid", "half", "full", "wrap_centered", "ignore_borders")


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
    if mode not in MODES:
        raise NotImplementedError(f"Only modes {', '.join(MODES)} have been implemented for images2neibs, got {mode!r}")
    ten4 = as_tensor_variable(ten4)
    if ten4.type.ndim != 4:
        raise TypeError(f"images2neibs takes a tensor with 4 dimensions, got {ten4} of type {ten4.type}")
    sizes = _positive("neib_shape", neib_shape)
    steps = sizes if neib_step is None else _positive("neib_step", neib_step)
    images, channels = shape_i(ten4, 0), shape_i(ten4, 1)
    lengths, shifts, tables = [], [], []
    for axis, (size, step) in enumerate(zip(sizes, steps)):
        shift = 0 if mode in ("valid", "ignore_borders") else size - 1 if mode == "full" else size // 2
        length = _fitting(mode, axis, shape_i(ten4, axis + 2), size, step, shift)
        count = ((length + step - 1) // step if mode == "wrap_centered"
                 else maximum((length + 2 * shift - size) // step + 1, 0))
        places = dimshuffle(arange(count), [0, "x"]) * step + dimshuffle(arange(size), ["x", 0])
        tables.append((places - shift) % length if mode == "wrap_centered" else places)
        lengths.append(length)
        shifts.append(shift)
    if mode in ("half", "full"):
        whole = zeros((images, channels, *[length + 2 * shift for length, shift in zip(lengths, shifts)]),
                      ten4.type.dtype)
        inside = [slice(shift, shift + length) for length, shift in zip(lengths, shifts)]
        ten4 = set_subtensor(whole[(slice(None), slice(None), *inside)], ten4)
    rows, columns = dimshuffle(tables[0], [0, "x", 1, "x"]), dimshuffle(tables[1], ["x", 0, "x", 1])
    counts = [shape_i(table, 0) for table in tables]
    return reshape(ten4[:, :, rows, columns], (images * channels * counts[0] * counts[1], sizes[0] * sizes[1]))


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
    neibs, sizes = as_tensor_variable(neibs), _positive("neib_shape", neib_shape)
    if neibs.type.ndim != 2:
        raise TypeError(f"neibs2images takes a matrix, got {neibs} of type {neibs.type}")
    lengths = [as_dtype(as_tensor_variable(length), "int64")            # so that their products are, too
               for length in _numbers("the shape of images", original_shape, 4)]
    lengths = [Check("neibs2images: the lengths of images must not be negative")(length, ge(length, 0))
               for length in lengths]
    images, channels, *lengths = lengths
    if mode == "valid":
        fits = Check("neibs2images: neib_shape and the shape of images not consistent")
        lengths = [fits(length, eq(length % size, 0)) for length, size in zip(lengths, sizes)]
    counts = [length // size for length, size in zip(lengths, sizes)]
    number = images * channels * counts[0] * counts[1]
    neibs = EqualLengths.of(neibs, [[(neibs, 0), number], [(neibs, 1), as_tensor_variable(sizes[0] * sizes[1])]])
    parts = dimshuffle(reshape(neibs, (images, channels, *counts, *sizes)), [0, 1, 2, 4, 3, 5])
    whole = reshape(parts, (images, channels, counts[0] * sizes[0], counts[1] * sizes[1]))
    if mode == "valid":
        return whole
    return set_subtensor(zeros((images, channels, *lengths), neibs.type.dtype)[:, :, :counts[0] * sizes[0],
                                                                               :counts[1] * sizes[1]], whole)


def _numbers(name, value, count):
    """The numbers of a vector of integers, which has so many: ints if it is a constant, or int64."""
    vector = as_tensor_variable(value)
    if vector.type.ndim != 1 or vector.type.dtype not in integer_dtypes:
        raise TypeError(f"{name} must be a vector of integers, got {vector} of type {vector.type}")
    if vector.type.shape[0] not in (None, count):
        raise TypeError(f"{name} must contain {count} elements, got {vector.type.shape[0]}")
    if vector.type.shape[0] is None:
        vector = EqualLengths.of(vector, [[(vector, 0), count]])
    return [number if isinstance(number, int) else as_dtype(number, "int64") for number in numbers_of(vector, count)]


def _positive(name, value):
    """Sizes or steps of both dimensions."""
    message = f"{name} values <= 0"
    numbers = _numbers(name, value, 2)
    if any([isinstance(number, int) and number <= 0 for number in numbers]):
        raise ValueError(f"{message}. Got {numbers}")
    return [number if isinstance(number, int) else Check(message)(number, gt(number, 0)) for number in numbers]


def _fitting(mode, axis, length, size, step, shift):
    """A length of images, for which patches are checked as Theano does."""
    if mode == "ignore_borders":
        return length
    if mode == "wrap_centered":
        length = Check("images2neibs: in mode wrap_centered need patch with odd shapes", "TypeError")(
            length, eq(as_tensor_variable(size) % 2, 1))
        return Check("images2neibs: in wrap_centered mode, don't support image shapes smaller then the patch shapes",
                     "TypeError")(length, ge(length, size))
    return Check(f"neib_shape[{axis}]={size}, neib_step[{axis}]={step} and ten4.shape[{axis + 2}] not consistent",
                 "TypeError")(length, and_(ge(length, size), eq((length + 2 * shift - size) % step, 0)))


@at_home
class Images2Neibs:
    """`images2neibs` of a given mode, as an object like Theano's op of this name.

    Parameters
    ----------
    mode : {"valid", "half", "full", "wrap_centered", "ignore_borders"}

    Examples
    --------
    >>> images = T.as_tensor(numpy.arange(16.0).reshape((1, 1, 4, 4)))
    >>> T.nnet.neighbours.Images2Neibs("valid")(images, (2, 2), (2, 2)).eval()
    array([[ 0.,  1.,  4.,  5.],
           [ 2.,  3.,  6.,  7.],
           [ 8.,  9., 12., 13.],
           [10., 11., 14., 15.]])
    """

    def __init__(self, mode="valid"):
        self.mode = mode

    def __call__(self, ten4, neib_shape, neib_step=None):
        return images2neibs(ten4, neib_shape, neib_step, self.mode)
