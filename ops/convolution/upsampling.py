"""Bilinear upsampling of images, by convolutions with fixed kernels. Names and results are Theano's."""
from math import gcd

from phintys.graph.config import config
from phintys.graph.variable import Variable
from phintys.ops.convolution.functions import conv2d, conv2d_grad_wrt_inputs
from phintys.ops.convolution.parameters import is_integer
from phintys.ops.creation.allocation import arange, zeros
from phintys.ops.elementwise.elementwise_functions import cast
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.shape.join import concatenate
from phintys.ops.types.constant import as_tensor_variable


def bilinear_kernel_1D(ratio, normalize=True):
    """The filter by which bilinear interpolation upsamples in one dimension: 1, 2, ..., ratio, ..., 2, 1.

    Parameters
    ----------
    ratio : int or 0-d variable of integers
    normalize : bool
        Whether to divide it by the ratio.

    Returns
    -------
    vector of floatX

    Raises
    ------
    ValueError
        For a ratio below 1.

    Examples
    --------
    >>> T.nnet.abstract_conv.bilinear_kernel_1D(2).eval()
    array([0.5, 1. , 0.5])
    """
    if not isinstance(ratio, Variable) and ratio < 1:
        raise ValueError(f"the ratio of a bilinear kernel must be at least 1, got {ratio}")
    half = arange(1, ratio + 1, dtype=config.floatX)
    kernel = concatenate([half, half[-2::-1]])
    return kernel / cast(ratio, config.floatX) if normalize else kernel


def bilinear_kernel_2D(ratio, normalize=True):
    """The filter by which bilinear interpolation upsamples in two dimensions.

    Parameters
    ----------
    ratio : int, 0-d variable of integers, or a pair of these
        For rows and columns.
    normalize : bool
        Whether to divide it by the ratios.

    Returns
    -------
    matrix of floatX

    Examples
    --------
    >>> T.nnet.abstract_conv.bilinear_kernel_2D(2).eval()
    array([[0.25, 0.5 , 0.25],
           [0.5 , 1.  , 0.5 ],
           [0.25, 0.5 , 0.25]])
    """
    rows, columns = ratio if isinstance(ratio, tuple) else (ratio, ratio)
    return (dimshuffle(bilinear_kernel_1D(columns, normalize), "x", 0)
            * dimshuffle(bilinear_kernel_1D(rows, normalize), 0, "x"))


def _with_border(images):
    """Images whose first and last rows and columns are repeated."""
    tall = concatenate([images[:, :, :1, :], images, images[:, :, -1:, :]], axis=2)
    return concatenate([tall[:, :, :, :1], tall, tall[:, :, :, -1:]], axis=3)


def _reduced(ratio):
    """A pair (numerator, denominator) in lowest terms.

    Raises
    ------
    ValueError
        For anything but a pair of positive integers.
    """
    if len(ratio) != 2 or not all([is_integer(part) and part > 0 for part in ratio]):
        raise ValueError(f"a ratio must be a pair of positive integers (numerator, denominator), got {ratio}")
    common = gcd(*ratio)
    return ratio[0] // common, ratio[1] // common


def frac_bilinear_upsampling(input, frac_ratio):
    """Upsample images by a ratio of integers, with bilinear interpolation.

    Parameters
    ----------
    input : 4-d tensor of floatX
        (images, channels, rows, columns).
    frac_ratio : pair of int, or pair of such pairs
        (numerator, denominator), one for all or one for rows and one for columns.

    Returns
    -------
    4-d tensor
        With rows and columns times the ratio.

    Raises
    ------
    ValueError
        For other ratios.

    Examples
    --------
    >>> T.nnet.abstract_conv.frac_bilinear_upsampling(T.ones((1, 1, 4, 4)), (3, 2)).eval().shape
    (1, 1, 6, 6)
    """
    if not isinstance(frac_ratio, tuple) or len(frac_ratio) != 2:
        raise ValueError(f"frac_ratio must be a tuple of two elements, got {frac_ratio!r}")
    pairs = frac_ratio if isinstance(frac_ratio[0], tuple) else (frac_ratio, frac_ratio)
    ratio, subsample = zip(*[_reduced(pair) for pair in pairs])
    input = as_tensor_variable(input)
    rows, columns = input.shape[2], input.shape[3]
    bordered = _with_border(input.reshape((-1, 1, rows, columns)))
    kernel = dimshuffle(bilinear_kernel_2D(ratio), "x", "x", 0, 1)
    for axis, length in ((2, rows), (3, columns)):          # so many zeros that the kernel meets every image whole
        both = (2 * length - 1) * ratio[axis - 2] + 1
        kernel = concatenate([_zeros_beside(kernel, axis, both // 2), kernel,
                              _zeros_beside(kernel, axis, both - both // 2)], axis=axis)
    # The images are the filters, with gaps of the ratio between their elements.
    result = conv2d(kernel, bordered, filter_dilation=ratio, subsample=subsample)
    return result.reshape((input.shape[0], input.shape[1], result.shape[2], result.shape[3]))


def _zeros_beside(x, axis, length):
    return zeros([length if dimension == axis else x.shape[dimension] for dimension in range(4)], dtype=x.dtype)


def bilinear_upsampling(input, ratio=None, frac_ratio=None, batch_size=None, num_input_channels=None,
                        use_1D_kernel=True):
    """Upsample images with bilinear interpolation.

    Parameters
    ----------
    input : 4-d tensor of floatX
        (images, channels, rows, columns).
    ratio : int or 0-d variable of integers, optional
        For rows and columns.
    frac_ratio : pair of int, or pair of such pairs, optional
        (numerator, denominator), one for all or one for rows and one for columns. Needs ``use_1D_kernel=False``.
    batch_size, num_input_channels : int, optional
        Lengths that are known.
    use_1D_kernel : bool
        Whether rows and columns are upsampled one after the other; only the speed differs.

    Returns
    -------
    4-d tensor
        With rows and columns times the ratio. If the ratio is even, the last row and column is repeated once more
        than the first.

    Raises
    ------
    ValueError
        If not exactly one ratio is given, and for ``frac_ratio`` with ``use_1D_kernel``.

    Examples
    --------
    >>> image = T.as_tensor(numpy.array([[[[1.0, 3.0]]]]))
    >>> T.nnet.abstract_conv.bilinear_upsampling(image, ratio=2).eval()[0, 0]
    array([[1., 2., 3., 3.],
           [1., 2., 3., 3.]])
    """
    if ratio is not None and frac_ratio is not None:
        raise ValueError("can't use ratio and frac_ratio together")
    if ratio is None and frac_ratio is None:
        raise ValueError("No ratio (or frac_ratio) provided")
    if frac_ratio is not None:
        if use_1D_kernel:
            raise ValueError("For fractional ratios 1D kernel method not implemented. You may want to pass "
                             "use_1D_kernel as False")
        return frac_bilinear_upsampling(input, frac_ratio)
    if not is_integer(ratio):
        raise ValueError(f"bilinear_upsampling: the ratio must be an integer, got {ratio!r}")
    if ratio < 1:
        raise ValueError(f"bilinear_upsampling: the ratio must be at least 1, got {ratio}")
    count = None if batch_size is None or num_input_channels is None else batch_size * num_input_channels
    input = as_tensor_variable(input)
    rows, columns = input.shape[2], input.shape[3]
    bordered = _with_border(input.reshape((-1, 1, rows, columns)))
    border = 2 * ratio - (ratio - 1) // 2 - 1
    if use_1D_kernel:
        kernel = bilinear_kernel_1D(ratio)
        tall = conv2d_grad_wrt_inputs(bordered, dimshuffle(kernel, "x", "x", 0, "x"),
                                      (count, 1, rows * ratio, columns + 2), (1, 1, None, 1), (border, 0), (ratio, 1))
        result = conv2d_grad_wrt_inputs(tall, dimshuffle(kernel, "x", "x", "x", 0),
                                        (count, 1, rows * ratio, columns * ratio), (1, 1, 1, None), (0, border),
                                        (1, ratio))
    else:
        result = conv2d_grad_wrt_inputs(bordered, dimshuffle(bilinear_kernel_2D(ratio), "x", "x", 0, 1),
                                        (count, 1, rows * ratio, columns * ratio), (1, 1, None, None),
                                        (border, border), (ratio, ratio))
    return result.reshape((input.shape[0], input.shape[1], rows * ratio, columns * ratio))
