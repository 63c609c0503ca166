"""Shapes of convolutions: the shape of result, input or filters from the other two.

Lengths may be numbers, variables, or None for one that is not known. Names, parameters and results are Theano's.
"""
from phintys.graph.config import config
from phintys.graph.errors import NotScalarConstantError
from phintys.ops.convolution.parameters import is_integer
from phintys.ops.elementwise.elementwise_functions import eq, ge, gt
from phintys.ops.identity.assertion import Assert
from phintys.ops.indexing.constant_value import get_scalar_constant_value


def _along(border_mode, axis):
    """The border of one dimension."""
    return border_mode[axis] if isinstance(border_mode, tuple) else border_mode


def _sides(border_mode, window):
    """The zeros before and after a dimension in which a filter reaches over ``window`` elements."""
    if border_mode == "half":
        return window // 2, window // 2
    if border_mode == "full":
        return window - 1, window - 1
    if border_mode == "valid":
        return 0, 0
    sides = border_mode if isinstance(border_mode, tuple) else (border_mode, border_mode)
    if any([is_integer(side) and side < 0 for side in sides]):
        raise ValueError(f"border_mode must be >= 0, got {border_mode}")
    return sides


def _plus(length, term):
    """Their sum; the length itself if the term is zero, so that graphs stay small."""
    return length if is_integer(term) and term == 0 else length + term


def get_conv_shape_1axis(image_shape, kernel_shape, border_mode, subsample, dilation=1):
    """The length of the result of a convolution in one dimension.

    Parameters
    ----------
    image_shape, kernel_shape : int, Variable or None
        Lengths of the input and of the filter; None: not known.
    border_mode : str, int or pair of int
    subsample, dilation : int

    Returns
    -------
    int, Variable or None
        None if it is not known.

    Raises
    ------
    ValueError
        If the border is negative.

    Examples
    --------
    >>> T.nnet.abstract_conv.get_conv_shape_1axis(5, 3, "valid", 2)
    2
    """
    if any([value is None for value in (image_shape, kernel_shape, border_mode, subsample, dilation)]):
        return None
    window = (kernel_shape - 1) * dilation + 1
    before, after = _sides(border_mode, window)
    length = _plus(_plus(image_shape - window, before), after)
    return (length if subsample == 1 else length // subsample) + 1


def get_conv_gradweights_shape_1axis(image_shape, top_shape, border_mode, subsample, dilation):
    """The length of the filter in one dimension, as far as input and result determine it.

    Parameters
    ----------
    image_shape, top_shape : int, Variable or None
        Lengths of the input and of the result; None: not known.
    border_mode : str, int or pair of int
    subsample, dilation : int

    Returns
    -------
    int, Variable or None
        None if it is not known, for steps other than 1 and for the border ``"half"``.

    Raises
    ------
    ValueError
        If the border is negative.

    Examples
    --------
    >>> T.nnet.abstract_conv.get_conv_gradweights_shape_1axis(3, 2, "valid", 1, 1)
    2
    """
    if any([value is None for value in (image_shape, top_shape, border_mode, subsample, dilation)]):
        return None
    if subsample != 1 or border_mode == "half":
        return None
    if border_mode == "full":
        reach = top_shape - image_shape
    else:
        before, after = _sides(border_mode, 1)
        reach = _plus(_plus(image_shape, before), after) - top_shape
    return (reach // dilation if dilation > 1 else reach) + 1


def get_conv_gradinputs_shape_1axis(kernel_shape, top_shape, border_mode, subsample, dilation):
    """The length of the input in one dimension, as far as filter and result determine it.

    Parameters
    ----------
    kernel_shape, top_shape : int, Variable or None
        Lengths of the filter and of the result; None: not known.
    border_mode : str, int or pair of int
    subsample, dilation : int

    Returns
    -------
    int, Variable or None
        None if it is not known, and for steps other than 1.

    Raises
    ------
    ValueError
        If the border is negative.

    Examples
    --------
    >>> T.nnet.abstract_conv.get_conv_gradinputs_shape_1axis(2, 2, "valid", 1, 1)
    3
    """
    if any([value is None for value in (kernel_shape, top_shape, border_mode, subsample, dilation)]):
        return None
    if subsample != 1:
        return None
    window = (kernel_shape - 1) * dilation + 1
    before, after = _sides(border_mode, window)
    return top_shape + window - 1 - before - after


def _each_axis(function, first, second, border_mode, subsample, filter_dilation):
    dilation = (1,) * len(subsample) if filter_dilation is None else filter_dilation
    return tuple([function(first[axis], second[axis], _along(border_mode, axis), subsample[axis], dilation[axis])
                  for axis in range(len(subsample))])


def get_conv_output_shape(image_shape, kernel_shape, border_mode, subsample, filter_dilation=None):
    """The shape of the result of a convolution.

    Parameters
    ----------
    image_shape : sequence of (int, Variable or None)
        Images, channels and lengths.
    kernel_shape : sequence of (int, Variable or None)
        Filters, channels and lengths; for filters that are not shared also the lengths of the result after the first.
    border_mode : str, int or tuple
    subsample, filter_dilation : sequence of int

    Returns
    -------
    tuple
        None means a length that is not known.

    Examples
    --------
    >>> get_conv_output_shape((8, 3, 32, 32), (16, 3, 5, 5), "valid", (2, 2))
    (8, 16, 14, 14)
    """
    rank = len(image_shape) - 2
    lengths = _each_axis(get_conv_shape_1axis, image_shape[2:], kernel_shape[-rank:], border_mode, subsample,
                         filter_dilation)
    return (image_shape[0], kernel_shape[0], *lengths)


def get_conv_gradweights_shape(image_shape, top_shape, border_mode, subsample, filter_dilation=None, num_groups=1,
                               unshared=False):
    """The shape of the filters of a convolution, as far as input and result determine it.

    Parameters
    ----------
    image_shape, top_shape : sequence of (int, Variable or None)
        Shapes of the input and of the result.
    border_mode : str, int or tuple
    subsample, filter_dilation : sequence of int
    num_groups : int
    unshared : bool

    Returns
    -------
    tuple
        None means a length that is not known: steps other than 1, the border ``"half"``.

    Examples
    --------
    >>> T.nnet.abstract_conv.get_conv_gradweights_shape((5, 1, 3, 3), (5, 2, 2, 2), "valid", (1, 1))
    (2, 1, 2, 2)
    """
    filters, channels = top_shape[1], image_shape[1]
    if num_groups > 1 and channels is not None:
        channels = channels // num_groups
    lengths = _each_axis(get_conv_gradweights_shape_1axis, image_shape[2:], top_shape[2:], border_mode, subsample,
                         filter_dilation)
    positions = tuple(top_shape[2:]) if unshared else ()
    return (filters, *positions, channels, *lengths)


def get_conv_gradinputs_shape(kernel_shape, top_shape, border_mode, subsample, filter_dilation=None, num_groups=1):
    """The shape of the input of a convolution, as far as filters and result determine it.

    Parameters
    ----------
    kernel_shape, top_shape : sequence of (int, Variable or None)
        Shapes of the filters and of the result.
    border_mode : str, int or tuple
    subsample, filter_dilation : sequence of int
    num_groups : int

    Returns
    -------
    tuple
        None means a length that is not known: steps other than 1.

    Examples
    --------
    >>> T.nnet.abstract_conv.get_conv_gradinputs_shape((1, 1, 2, 2), (5, 1, 2, 2), "valid", (1, 1))
    (5, 1, 3, 3)
    """
    rank = len(top_shape) - 2
    channels = kernel_shape[-rank - 1]
    if num_groups > 1 and channels is not None:
        channels = channels * num_groups
    lengths = _each_axis(get_conv_gradinputs_shape_1axis, kernel_shape[-rank:], top_shape[2:], border_mode, subsample,
                         filter_dilation)
    return (top_shape[0], channels, *lengths)


def check_conv_gradinputs_shape(image_shape, kernel_shape, output_shape, border_mode, subsample, filter_dilation=None):
    """Whether a convolution of these shapes has a result of the shape ``output_shape``.

    Parameters
    ----------
    image_shape, kernel_shape, output_shape : sequence of (int, Variable or None)
    border_mode : str, int or tuple
    subsample, filter_dilation : sequence of int

    Returns
    -------
    bool
        False if it certainly has another shape, otherwise True.

    Examples
    --------
    >>> T.nnet.abstract_conv.check_conv_gradinputs_shape((1, 1, 3, 3), (1, 1, 2, 2), (1, 1, 2, 2), "valid", (1, 1))
    True
    """
    shapes = [tuple(image_shape), tuple(kernel_shape), tuple(output_shape)]
    rank = len(shapes[0]) - 2
    if {len(shape) for shape in shapes} != {rank + 2} or len(subsample) != rank:
        return False
    if filter_dilation is not None and len(filter_dilation) != rank:
        return False
    computed = get_conv_output_shape(*shapes[:2], border_mode, subsample, filter_dilation)
    return all([_may_be_equal(given, length) for given, length in zip(shapes[2], computed)])


def _may_be_equal(first, second):
    if first is None or second is None:
        return True
    try:
        return int(get_scalar_constant_value(first)) == int(get_scalar_constant_value(second))
    except NotScalarConstantError:
        return True


def assert_conv_shape(shape):
    """Check a shape of an operand of a convolution: at least 0 images and channels, lengths of at least 1.

    Parameters
    ----------
    shape : sequence of (int or Variable)

    Returns
    -------
    tuple
        The lengths; those that are not constant are checked when a function runs, by AssertionError.

    Raises
    ------
    ValueError
        For a constant that is too small.

    Examples
    --------
    >>> T.nnet.abstract_conv.assert_conv_shape((1, 2, 3, 3))
    (1, 2, 3, 3)
    """
    checked = []
    for axis, length in enumerate(shape):
        least, wrong = (0, "< 0") if axis < 2 else (1, "<= 0")
        try:
            value = get_scalar_constant_value(length)
        except NotScalarConstantError:
            message = f"The convolution would produce an invalid shape (dim[{axis}] {wrong})."
            checked.append(Assert(message)(length, (ge if axis < 2 else gt)(length, 0)))
            continue
        if value < least:
            raise ValueError(f"The convolution would produce an invalid shape (dim[{axis}]: {value} {wrong}).")
        checked.append(length)
    return tuple(checked)


def assert_shape(x, expected_shape, msg="Unexpected shape."):
    """Check the shape of a tensor when a function runs, if ``config.conv.assert_shape`` says so.

    Parameters
    ----------
    x : Variable
    expected_shape : sequence of (int, Variable or None), or None
        None: not checked.
    msg : str
        The message of the AssertionError.

    Returns
    -------
    Variable

    Examples
    --------
    >>> x = T.dmatrix("x")
    >>> phintys.function([x], T.nnet.abstract_conv.assert_shape(x, (2, None)))(numpy.eye(2))
    array([[1., 0.],
           [0., 1.]])
    """
    if expected_shape is None or not config.conv.assert_shape:
        return x
    conditions = [eq(x.shape[axis], length) for axis, length in enumerate(expected_shape) if length is not None]
    return Assert(msg)(x, *conditions) if conditions else x


def border_mode_to_pad(mode, convdim, kshp):
    """The zeros before and after each dimension.

    Parameters
    ----------
    mode : {"valid", "half", "full"}, int, or tuple of (int or pair of int)
    convdim : int
        How many dimensions filters move in.
    kshp : sequence of int
        The lengths of the filter in these dimensions, with dilation.

    Returns
    -------
    tuple of pair of int

    Raises
    ------
    ValueError
        For other borders.

    Examples
    --------
    >>> border_mode_to_pad((1, (0, 2)), 2, (3, 3))
    ((1, 1), (0, 2))
    """
    if is_integer(mode):
        mode = (mode,) * convdim
    if isinstance(mode, tuple):
        if len(mode) != convdim:
            raise ValueError(f"invalid border_mode {mode} which must be a tuple of length {convdim}")
        pairs = [side if isinstance(side, tuple) else (side, side) for side in mode]
        if any([len(pair) != 2 or not all(map(is_integer, pair)) or min(pair) < 0 for pair in pairs]):
            raise ValueError(f"invalid border mode {mode}. The tuple can only contain integers or tuples of length 2")
        return tuple(pairs)
    if mode not in ("valid", "half", "full"):
        raise ValueError(f"invalid border_mode {mode!r}, which must be either \"valid\", \"full\", \"half\", an "
                         f"integer or a tuple of length {convdim}")
    return tuple([_sides(mode, window) for window in kshp])
