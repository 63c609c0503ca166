"""Convolutions of volumes whose last dimension has the channels: ``conv3D``, ``convTransp3D`` and ``convGrad3D``.

Theano had these functions before version 1.0, and programs import them.

They are ``conv3d`` and its gradients, with dimensions exchanged by views, a bias, and filters that are not flipped.
"""
from phintys.graph.variable import Variable
from phintys.ops.convolution.functions import conv3d, conv3d_grad_wrt_inputs, conv3d_grad_wrt_weights
from phintys.ops.indexing.constant_value import extract_constant
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.types.constant import as_tensor_variable

RANK = 5


def conv3D(V, W, b, d):
    """Convolve volumes with filters, and add a bias.

    Parameters
    ----------
    V : 5-d tensor of floats
        (volumes, rows, columns, time, channels).
    W : 5-d tensor of floats
        (filters, rows, columns, time, channels).
    b : vector
        A number for each filter.
    d : sequence of 3 int
        The steps by which filters move.

    Returns
    -------
    5-d tensor
        (volumes, rows, columns, time, filters): where filters are within the volume.

    Raises
    ------
    TypeError, ValueError
        For operands of another rank, or steps that are not constants above 0; at run time for shapes that contradict
        each other.

    Examples
    --------
    >>> volume = T.as_tensor(numpy.arange(4.0).reshape(1, 1, 1, 4, 1))
    >>> filters = T.as_tensor(numpy.array([1.0, 2.0]).reshape(1, 1, 1, 2, 1))
    >>> T.nnet.conv3D(volume, filters, [0.0], (1, 1, 1)).flatten().eval()
    array([2., 5., 8.])
    """
    V, W = checked("conv3D", V=V, W=W)
    return channels_last(conv3d(channels_second(V), channels_second(W), subsample=steps("conv3D", d),
                                filter_flip=False)) + as_tensor_variable(b)


def convTransp3D(W, b, d, H, RShape=None):
    """The transposed convolution: the adjoint of ``conv3D``, plus a bias.

    Parameters
    ----------
    W : 5-d tensor of floats
        (filters, rows, columns, time, channels).
    b : vector
        A number for each channel.
    d : sequence of 3 int
        The steps by which filters move.
    H : 5-d tensor of floats
        (volumes, rows, columns, time, filters).
    RShape : sequence of 3 (int or Variable), or vector, optional
        Rows, columns and time of the result; by default, and for -1, the smallest lengths that contain all windows.

    Returns
    -------
    5-d tensor
        (volumes, rows, columns, time, channels).

    Raises
    ------
    TypeError, ValueError
        As ``conv3D``.

    Examples
    --------
    >>> filters = T.as_tensor(numpy.array([1.0, 2.0]).reshape(1, 1, 1, 2, 1))
    >>> T.nnet.convTransp3D(filters, [0.0], (1, 1, 1), T.ones((1, 1, 1, 3, 1))).flatten().eval()
    array([1., 3., 3., 2.])
    """
    W, H = checked("convTransp3D", W=W, H=H)
    moves = steps("convTransp3D", d)
    given = [-1] * 3 if RShape is None else [RShape[axis] for axis in range(3)]
    lengths = [least(H, W, axis, moves) if not isinstance(length, Variable) and length == -1 else length
               for axis, length in enumerate(given)]
    return channels_last(conv3d_grad_wrt_inputs(channels_second(H), channels_second(W), (None, None, *lengths),
                                                subsample=moves, filter_flip=False)) + as_tensor_variable(b)


def convGrad3D(V, d, WShape, dCdH):
    """The gradient of a cost by the filters of ``conv3D``.

    Parameters
    ----------
    V : 5-d tensor of floats
        (volumes, rows, columns, time, channels).
    d : sequence of 3 int
        The steps by which filters move.
    WShape : sequence of 5 (int or Variable), or vector
        The shape of the filters.
    dCdH : 5-d tensor of floats
        The gradient of the cost by the result.

    Returns
    -------
    5-d tensor
        Of the shape ``WShape``.

    Raises
    ------
    TypeError, ValueError
        As ``conv3D``.

    Examples
    --------
    >>> volume = T.as_tensor(numpy.arange(4.0).reshape(1, 1, 1, 4, 1))
    >>> T.nnet.convGrad3D(volume, (1, 1, 1), (1, 1, 1, 2, 1), T.ones((1, 1, 1, 3, 1))).flatten().eval()
    array([3., 6.])
    """
    V, dCdH = checked("convGrad3D", V=V, dCdH=dCdH)
    lengths = [WShape[axis] for axis in (1, 2, 3)]
    return channels_last(conv3d_grad_wrt_weights(channels_second(V), channels_second(dCdH), (None, None, *lengths),
                                                 subsample=steps("convGrad3D", d), filter_flip=False))


def checked(function, **operands):
    """The operands as variables of rank 5."""
    variables = [as_tensor_variable(operand) for operand in operands.values()]
    for name, variable in zip(operands, variables):
        if variable.type.ndim != RANK:
            raise TypeError(f"{function}: {name} must have {RANK} dimensions, got {variable} of type {variable.type}")
    return variables


def steps(function, d):
    """The steps as ints."""
    found = tuple([extract_constant(as_tensor_variable(d)[axis]) for axis in range(3)])
    if any([isinstance(step, Variable) for step in found]):
        raise ValueError(f"{function}: the steps d must be three constants, got {d}")
    return tuple(map(int, found))


def least(H, W, axis, moves):
    """The least length of a dimension of volumes from which filters make results."""
    return (H.shape[axis + 1] - 1) * moves[axis] + W.shape[axis + 1]


def channels_second(volumes):
    """(batch, height, width, time, channel) as (batch, time, channel, height, width)."""
    return dimshuffle(volumes, 0, 4, 1, 2, 3)


def channels_last(volumes):
    """(batch, time, channel, height, width) as (batch, height, width, time, channel)."""
    return dimshuffle(volumes, 0, 2, 3, 4, 1)
