"""Functions that build convolutions: Theano's ``conv2d``, ``conv3d``, their gradients, and functions composed of
these."""
import warnings

from phintys.graph.variable import Constant, Variable
from phintys.ops.convolution.convolution import (
    AbstractConv2d,
    AbstractConv2d_gradInputs,
    AbstractConv2d_gradWeights,
    AbstractConv3d,
    AbstractConv3d_gradInputs,
    AbstractConv3d_gradWeights,
)
from phintys.ops.convolution.parameters import is_integer
from phintys.ops.convolution.shapes import get_conv_output_shape
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.types.constant import as_tensor_variable


def conv2d(input, filters, input_shape=None, filter_shape=None, border_mode="valid", subsample=(1, 1),
           filter_flip=True, filter_dilation=(1, 1), num_groups=1, unshared=False):
    """Convolve images with filters.

    Parameters
    ----------
    input : 4-d tensor of floats
        (images, channels, rows, columns).
    filters : 4-d tensor of floats; 6-d with ``unshared``
        (filters, channels of a group, rows, columns); with ``unshared`` the rows and columns of the result follow the
        first dimension.
    input_shape, filter_shape : sequence of (int, Constant or None), optional
        Lengths that are known. They are checked when a function runs.
    border_mode : {"valid", "half", "full"}, int, or tuple of (int or pair of int)
        Zeros around an image: none, ``length // 2`` or ``length - 1`` for the length of a filter, or a number of zeros.
        The number may be given for each dimension, or as a pair (before, after) for a dimension.
    subsample : pair of int
        The steps by which filters move: the distances between the results that are computed.
    filter_flip : bool
        Whether filters are flipped (a convolution) or not (a correlation).
    filter_dilation : pair of int
        The distance between the image elements that neighbouring filter elements are multiplied by.
    num_groups : int
        Channels and filters are divided into this number of groups; each group of filters reads only its group of
        channels.
    unshared : bool
        Whether each position of the result has different filters.

    Returns
    -------
    4-d tensor
        (images, filters, rows, columns).

    Raises
    ------
    ValueError
        For wrong parameters, and at run time for shapes that contradict each other.
    TypeError
        For inputs of another rank, or that are not floats.

    Examples
    --------
    >>> import numpy, phintys, phintys.tensor as T
    >>> x, w = T.ftensor4("x"), T.ftensor4("w")
    >>> f = phintys.function([x, w], T.nnet.conv2d(x, w, border_mode="half"))
    >>> f(numpy.ones((1, 1, 3, 3), "float32"), numpy.ones((1, 1, 3, 3), "float32"))[0, 0]
    array([[4., 6., 4.],
           [6., 9., 6.],
           [4., 6., 4.]], dtype=float32)
    """
    op = AbstractConv2d(input_shape, filter_shape, border_mode, subsample, filter_flip, filter_dilation, num_groups,
                        unshared)
    return op(as_tensor_variable(input), as_tensor_variable(filters))


def conv2d_of_networks(input, filters, input_shape=None, filter_shape=None, border_mode="valid", subsample=(1, 1),
                       filter_flip=True, image_shape=None, filter_dilation=(1, 1), num_groups=1, unshared=False,
                       **kwargs):
    """Convolve images with filters; ``nnet.conv2d``.

    As ``abstract_conv.conv2d``, which describes the parameters, with additional arguments that older programs pass.

    Parameters
    ----------
    image_shape : sequence of (int, Constant or None), optional
        The old name of ``input_shape``.
    **kwargs
        Ignored, with a warning.

    Returns
    -------
    4-d tensor
        (images, filters, rows, columns).

    Raises
    ------
    ValueError
        If both names of the shape are used, and for ``imshp_logical`` and ``kshp_logical``.

    Examples
    --------
    >>> images, filters = T.dtensor4("images"), T.dtensor4("filters")
    >>> f = phintys.function([images, filters], T.nnet.conv2d(images, filters, border_mode="half"))
    >>> f(numpy.ones((1, 3, 5, 5)), numpy.ones((2, 3, 3, 3))).shape
    (1, 2, 5, 5)
    """
    if "imshp_logical" in kwargs or "kshp_logical" in kwargs:
        raise ValueError("Keyword arguments 'imshp_logical' and 'kshp_logical' for conv2d are not supported; "
                         "tensor.nnet.conv.conv2d() has them.")
    if kwargs:
        warnings.warn(f"{sorted(kwargs)} are deprecated in tensor.nnet.conv2d and will be ignored.", stacklevel=2)
    if image_shape is not None:
        if input_shape is not None:
            raise ValueError("input_shape and image_shape should not be provided at the same time.")
        warnings.warn("The `image_shape` keyword argument to `tensor.nnet.conv2d` is deprecated, it has been renamed "
                      "to `input_shape`.", stacklevel=2)
        input_shape = image_shape
    return conv2d(input, filters, input_shape, filter_shape, border_mode, subsample, filter_flip, filter_dilation,
                  num_groups, unshared)


conv2d_of_networks.__name__ = conv2d_of_networks.__qualname__ = "conv2d"


def conv3d(input, filters, input_shape=None, filter_shape=None, border_mode="valid", subsample=(1, 1, 1),
           filter_flip=True, filter_dilation=(1, 1, 1), num_groups=1):
    """Convolve volumes with filters.

    Parameters
    ----------
    input : 5-d tensor of floats
        (volumes, channels, depth, rows, columns).
    filters : 5-d tensor of floats
        (filters, channels of a group, depth, rows, columns).
    input_shape, filter_shape, border_mode, subsample, filter_flip, filter_dilation, num_groups
        As for ``conv2d``, for three dimensions.

    Returns
    -------
    5-d tensor
        (volumes, filters, depth, rows, columns).

    Raises
    ------
    ValueError
        For wrong parameters, and at run time for shapes that contradict each other.
    TypeError
        For inputs of another rank, or that are not floats.

    Examples
    --------
    >>> images, filters = T.ones((1, 1, 3, 3, 3)), T.ones((1, 1, 2, 2, 2))
    >>> T.nnet.conv3d(images, filters).eval().shape
    (1, 1, 2, 2, 2)
    """
    op = AbstractConv3d(input_shape, filter_shape, border_mode, subsample, filter_flip, filter_dilation, num_groups)
    return op(as_tensor_variable(input), as_tensor_variable(filters))


def _check_lengths(shape, rank, parameter, variable_axes):
    """Refuse a shape that is not a sequence of lengths; those of ``variable_axes`` may be variables.

    Raises
    ------
    ValueError
    """
    if len(shape) != rank:
        raise ValueError(f"{parameter} has {len(shape)} elements, expected {rank}: {shape}")
    for axis, length in enumerate(shape):
        if is_integer(length) or isinstance(length, Constant):
            continue
        if axis in variable_axes:
            if not isinstance(length, Variable):
                raise ValueError(f"{parameter}[{axis}] must be a symbolic variable or an integer, got {length!r}")
        elif length is not None:
            raise ValueError(f"{parameter}[{axis}] must be a constant or None, got {length!r}")


def _constants(shape):
    """The lengths of a shape; None instead of variables."""
    return [None if isinstance(length, Variable) and not isinstance(length, Constant) else length for length in shape]


def _by_inputs(op_class, rank, output_grad, filters, input_shape, filter_shape, unshared, parameters):
    filters, output_grad = as_tensor_variable(filters), as_tensor_variable(output_grad)
    _check_lengths(input_shape, 2 + rank, "input_shape", range(2, 2 + rank))
    if filter_shape is not None:
        _check_lengths(filter_shape, 2 + rank * (1 + unshared), "filter_shape", ())
    op = op_class(_constants(input_shape), filter_shape, *parameters)
    return op(filters, output_grad, list(input_shape[-rank:]))


def _by_weights(op_class, rank, input, output_grad, filter_shape, input_shape, unshared, parameters):
    input, output_grad = as_tensor_variable(input), as_tensor_variable(output_grad)
    filter_rank = 2 + rank * (1 + unshared)
    _check_lengths(filter_shape, filter_rank, "filter_shape", range(filter_rank - rank, filter_rank))
    if input_shape is not None:
        _check_lengths(input_shape, 2 + rank, "input_shape", ())
    op = op_class(input_shape, _constants(filter_shape), *parameters)
    return op(input, output_grad, list(filter_shape[-rank:]))


def conv2d_grad_wrt_inputs(output_grad, filters, input_shape, filter_shape=None, border_mode="valid",
                           subsample=(1, 1), filter_flip=True, filter_dilation=(1, 1), num_groups=1, unshared=False):
    """The gradient of ``conv2d`` by its input.

    Parameters
    ----------
    output_grad : 4-d tensor of floats
        The gradient of the convolution's result.
    filters : 4-d tensor of floats; 6-d with ``unshared``
    input_shape : sequence of (int, Variable or None)
        The shape of the input. The last two lengths have to be given, as constants or variables: several may have this
        result.
    filter_shape, border_mode, subsample, filter_flip, filter_dilation, num_groups, unshared
        As for ``conv2d``.

    Returns
    -------
    4-d tensor
        Of the shape of the input.

    Raises
    ------
    ValueError
        For wrong parameters, and at run time for shapes that contradict each other.

    Examples
    --------
    >>> output_gradient, filters = T.ones((1, 1, 2, 2)), T.ones((1, 1, 2, 2))
    >>> T.nnet.conv2d_grad_wrt_inputs(output_gradient, filters, input_shape=(1, 1, 3, 3)).eval()[0, 0]
    array([[1., 2., 1.],
           [2., 4., 2.],
           [1., 2., 1.]])
    """
    return _by_inputs(AbstractConv2d_gradInputs, 2, output_grad, filters, input_shape, filter_shape, unshared,
                      (border_mode, subsample, filter_flip, filter_dilation, num_groups, unshared))


def conv3d_grad_wrt_inputs(output_grad, filters, input_shape, filter_shape=None, border_mode="valid",
                           subsample=(1, 1, 1), filter_flip=True, filter_dilation=(1, 1, 1), num_groups=1):
    """The gradient of ``conv3d`` by its input.

    Parameters
    ----------
    output_grad, filters : 5-d tensor of floats
    input_shape : sequence of (int, Variable or None)
        The last three lengths have to be given.
    filter_shape, border_mode, subsample, filter_flip, filter_dilation, num_groups
        As for ``conv3d``.

    Returns
    -------
    5-d tensor
        Of the shape of the input.

    Raises
    ------
    ValueError
        For wrong parameters, and at run time for shapes that contradict each other.

    Examples
    --------
    >>> gradient, filters = T.ones((1, 1, 2, 2, 2)), T.ones((1, 1, 2, 2, 2))
    >>> T.nnet.abstract_conv.conv3d_grad_wrt_inputs(gradient, filters, input_shape=(1, 1, 3, 3, 3)).eval().shape
    (1, 1, 3, 3, 3)
    """
    return _by_inputs(AbstractConv3d_gradInputs, 3, output_grad, filters, input_shape, filter_shape, False,
                      (border_mode, subsample, filter_flip, filter_dilation, num_groups))


def conv2d_grad_wrt_weights(input, output_grad, filter_shape, input_shape=None, border_mode="valid",
                            subsample=(1, 1), filter_flip=True, filter_dilation=(1, 1), num_groups=1, unshared=False):
    """The gradient of ``conv2d`` by its filters.

    Parameters
    ----------
    input : 4-d tensor of floats
    output_grad : 4-d tensor of floats
        The gradient of the convolution's result.
    filter_shape : sequence of (int, Variable or None)
        The shape of the filters. The last two lengths have to be given, as constants or variables.
    input_shape, border_mode, subsample, filter_flip, filter_dilation, num_groups, unshared
        As for ``conv2d``.

    Returns
    -------
    4-d tensor; 6-d with ``unshared``
        Of the shape of the filters.

    Raises
    ------
    ValueError
        For wrong parameters, and at run time for shapes that contradict each other.

    Examples
    --------
    >>> images, gradient = T.ones((1, 1, 3, 3)), T.ones((1, 1, 2, 2))
    >>> T.nnet.abstract_conv.conv2d_grad_wrt_weights(images, gradient, filter_shape=(1, 1, 2, 2)).eval()[0, 0]
    array([[4., 4.],
           [4., 4.]])
    """
    return _by_weights(AbstractConv2d_gradWeights, 2, input, output_grad, filter_shape, input_shape, unshared,
                       (border_mode, subsample, filter_flip, filter_dilation, num_groups, unshared))


def conv3d_grad_wrt_weights(input, output_grad, filter_shape, input_shape=None, border_mode="valid",
                            subsample=(1, 1, 1), filter_flip=True, filter_dilation=(1, 1, 1), num_groups=1):
    """The gradient of ``conv3d`` by its filters.

    Parameters
    ----------
    input, output_grad : 5-d tensor of floats
    filter_shape : sequence of (int, Variable or None)
        The last three lengths have to be given.
    input_shape, border_mode, subsample, filter_flip, filter_dilation, num_groups
        As for ``conv3d``.

    Returns
    -------
    5-d tensor
        Of the shape of the filters.

    Raises
    ------
    ValueError
        For wrong parameters, and at run time for shapes that contradict each other.

    Examples
    --------
    >>> images, gradient = T.ones((1, 1, 3, 3, 3)), T.ones((1, 1, 2, 2, 2))
    >>> T.nnet.abstract_conv.conv3d_grad_wrt_weights(images, gradient, filter_shape=(1, 1, 2, 2, 2)).eval().shape
    (1, 1, 2, 2, 2)
    """
    return _by_weights(AbstractConv3d_gradWeights, 3, input, output_grad, filter_shape, input_shape, False,
                       (border_mode, subsample, filter_flip, filter_dilation, num_groups))


def conv2d_transpose(input, filters, output_shape, filter_shape=None, border_mode="valid", input_dilation=(1, 1),
                     filter_flip=True, filter_dilation=(1, 1), num_groups=1, unshared=False):
    """Transposed convolution: the adjoint of ``conv2d`` with the same filters, which maps results back to images.

    Parameters
    ----------
    input : 4-d tensor of floats
        (images, channels, rows, columns).
    filters : 4-d tensor of floats; 6-d with ``unshared``
        (channels of the input, channels of the result, rows, columns): the other way round than for ``conv2d``.
    output_shape : sequence of (int, Variable or None)
        The shape of the result; the last two lengths have to be given.
    border_mode : {"valid", "half", "full"}, int, or tuple
        The border of the convolution that is transposed, which is cut off the result.
    input_dilation : pair of int
        The steps of the convolution that is transposed: the distance at which elements of the input are placed.
    filter_shape, filter_flip, filter_dilation, num_groups, unshared
        As for ``conv2d``.

    Returns
    -------
    4-d tensor
        Of the shape ``output_shape``.

    Raises
    ------
    ValueError
        For wrong parameters, and at run time for shapes that contradict each other.

    Examples
    --------
    >>> images, filters = T.ones((1, 1, 2, 2)), T.ones((1, 1, 2, 2))
    >>> T.nnet.conv2d_transpose(images, filters, output_shape=(1, 1, 3, 3)).eval()[0, 0]
    array([[1., 2., 1.],
           [2., 4., 2.],
           [1., 2., 1.]])
    """
    return conv2d_grad_wrt_inputs(input, filters, output_shape, filter_shape, border_mode, input_dilation, filter_flip,
                                  filter_dilation, num_groups, unshared)


def _separable(op_class, conv, rank, input, depthwise, pointwise, shapes, num_channels, parameters):
    input_shape, depthwise_shape, pointwise_shape = shapes
    border_mode, subsample, filter_flip, filter_dilation = parameters
    subsample = (1,) * rank if subsample is None else subsample
    op = op_class(input_shape, depthwise_shape, border_mode, subsample, filter_flip, filter_dilation, num_channels)
    between = None
    if input_shape is not None and depthwise_shape is not None:
        between = get_conv_output_shape(op.imshp, op.kshp, op.border_mode, op.subsample, op.filter_dilation)
    return conv(op(as_tensor_variable(input), as_tensor_variable(depthwise)), pointwise, between, pointwise_shape,
                filter_flip=filter_flip)


def separable_conv2d(input, depthwise_filters, pointwise_filters, num_channels, input_shape=None,
                     depthwise_filter_shape=None, pointwise_filter_shape=None, border_mode="valid", subsample=(1, 1),
                     filter_flip=True, filter_dilation=(1, 1)):
    """Convolve each channel by itself, then mix the channels.

    Parameters
    ----------
    input : 4-d tensor of floats
        (images, channels, rows, columns).
    depthwise_filters : 4-d tensor of floats
        (filters, 1, rows, columns), as many filters for each channel.
    pointwise_filters : 4-d tensor of floats
        (filters, filters of the first kind, 1, 1).
    num_channels : int
        Channels of the input.
    input_shape, depthwise_filter_shape, pointwise_filter_shape : sequence of (int, Constant or None), optional
    border_mode, subsample, filter_flip, filter_dilation
        Of the first convolution, as for ``conv2d``.

    Returns
    -------
    4-d tensor
        (images, filters, rows, columns).

    Raises
    ------
    ValueError
        For wrong parameters, and at run time for shapes that contradict each other.

    Examples
    --------
    >>> images = T.ones((1, 2, 3, 3))                                       # two channels
    >>> depthwise, pointwise = T.ones((2, 1, 2, 2)), T.ones((4, 2, 1, 1))   # a filter for each, then four mixtures
    >>> T.nnet.separable_conv2d(images, depthwise, pointwise, num_channels=2).eval().shape
    (1, 4, 2, 2)
    """
    return _separable(AbstractConv2d, conv2d, 2, input, depthwise_filters, pointwise_filters,
                      (input_shape, depthwise_filter_shape, pointwise_filter_shape), num_channels,
                      (border_mode, subsample, filter_flip, filter_dilation))


def separable_conv3d(input, depthwise_filters, pointwise_filters, num_channels, input_shape=None,
                     depthwise_filter_shape=None, pointwise_filter_shape=None, border_mode="valid",
                     subsample=(1, 1, 1), filter_flip=True, filter_dilation=(1, 1, 1)):
    """Convolve each channel of volumes by itself, then mix the channels; ``separable_conv2d`` for 5-d tensors.

    Parameters
    ----------
    input, depthwise_filters, pointwise_filters : 5-d tensor of floats
    num_channels : int
        Channels of the input.
    input_shape, depthwise_filter_shape, pointwise_filter_shape : sequence of (int, Constant or None), optional
    border_mode, subsample, filter_flip, filter_dilation
        Of the first convolution, as for ``conv3d``.

    Returns
    -------
    5-d tensor
        (volumes, filters, depth, rows, columns).

    Raises
    ------
    ValueError
        For wrong parameters, and at run time for shapes that contradict each other.

    Examples
    --------
    >>> volumes = T.ones((1, 2, 3, 3, 3))
    >>> depthwise, pointwise = T.ones((2, 1, 2, 2, 2)), T.ones((4, 2, 1, 1, 1))
    >>> T.nnet.abstract_conv.separable_conv3d(volumes, depthwise, pointwise, num_channels=2).eval().shape
    (1, 4, 2, 2, 2)
    """
    return _separable(AbstractConv3d, conv3d, 3, input, depthwise_filters, pointwise_filters,
                      (input_shape, depthwise_filter_shape, pointwise_filter_shape), num_channels,
                      (border_mode, subsample, filter_flip, filter_dilation))


def causal_conv1d(input, filters, filter_shape, input_shape=None, subsample=1, filter_flip=True, filter_dilation=1,
                  num_groups=1, unshared=False):
    """Convolve sequences so that each result depends only on the element at its position and earlier ones.

    Parameters
    ----------
    input : 3-d tensor of floats
        (sequences, channels, time).
    filters : 3-d tensor of floats
        (filters, channels of a group, length).
    filter_shape : sequence of (int, Constant or None)
        Its last length has to be given.
    input_shape : sequence of (int, Constant or None), optional
    subsample, filter_dilation : int
    filter_flip, num_groups, unshared
        As for ``conv2d``.

    Returns
    -------
    3-d tensor
        (sequences, filters, time).

    Raises
    ------
    ValueError
        For wrong parameters or ranks, and at run time for shapes that contradict each other.

    Examples
    --------
    >>> signal, filters = T.as_tensor([[[1.0, 2.0, 3.0]]]), T.as_tensor([[[1.0, 10.0]]])
    >>> T.nnet.abstract_conv.causal_conv1d(signal, filters, filter_shape=(1, 1, 2)).eval()
    array([[[ 1., 12., 23.]]])
    """
    input, filters = as_tensor_variable(input), as_tensor_variable(filters)
    if input.type.ndim != 3:
        raise ValueError(f"Input should be 3D for causal convolution, got {input.type}.")
    if filters.type.ndim != 3:
        raise ValueError(f"Filters should be 3D for causal convolution, got {filters.type}.")
    if len(filter_shape) != 3 or not (is_integer(filter_shape[2]) or isinstance(filter_shape[2], Constant)):
        raise ValueError("causal_conv1d: filter_shape needs three elements, of which the last, the length of the "
                         f"filters, is known; got {filter_shape}")
    if input_shape is not None:
        if len(input_shape) != 3:
            raise ValueError(f"causal_conv1d: input_shape needs three elements, got {input_shape}")
        input_shape = (*input_shape, 1)
    length = filter_shape[2].data if isinstance(filter_shape[2], Constant) else filter_shape[2]
    if length < 1:
        raise ValueError(f"causal_conv1d: filters need at least one element, got filter_shape {tuple(filter_shape)}")
    before = filter_dilation * (int(length) - 1)
    result = conv2d(dimshuffle(input, 0, 1, 2, "x"), dimshuffle(filters, 0, 1, 2, "x"), input_shape, (*filter_shape, 1),
                    ((before, 0), 0), (subsample, 1), filter_flip, (filter_dilation, 1), num_groups, unshared)
    return result[:, :, :, 0]
