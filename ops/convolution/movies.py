"""``conv3d2d.conv3d``: the convolution of movies, whose dimensions are in another order than those of volumes.

It is the convolution of volumes, with dimensions exchanged by views. Theano computes it from two-dimensional
convolutions by ``DiagonalSubtensor``; this op is here, too, because programs import it.
"""
import numpy

from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.graph.valueless_types import disconnected_type
from phintys.ops.convolution.functions import conv3d as convolve_volumes
from phintys.ops.creation.allocation import zeros
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.shape.join import concatenate
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.constant import as_tensor_variable

MODES = ("valid", "half", "full")


def get_diagonal_subtensor_view(x, i0, i1):
    """The elements of an array near a diagonal, as a view.

    Parameters
    ----------
    x : numpy.ndarray
    i0, i1 : int
        The view is shorter in dimension ``i0``: its element (a, b) in these dimensions is that of x at
        (a + length of i1 - 1 - b, b).

    Returns
    -------
    numpy.ndarray

    Raises
    ------
    NotImplementedError
        If dimension ``i0`` is shorter than ``i1``.

    Examples
    --------
    >>> x = numpy.arange(9).reshape((3, 3, 1))
    >>> T.nnet.conv3d2d.get_diagonal_subtensor_view(x, 1, 0).shape
    (3, 1, 1)
    """
    i0, i1 = int(i0), int(i1)
    if x.shape[i0] < x.shape[i1]:
        raise NotImplementedError(f"dimension {i0} of length {x.shape[i0]} is shorter than dimension {i1} of length "
                                  f"{x.shape[i1]}: there is no whole diagonal")
    index = [slice(None)] * x.ndim
    index[i0] = slice(x.shape[i1] - 1, None)
    view = x[tuple(index)]
    strides = list(view.strides)
    strides[i1] -= strides[i0] * (x.shape[i1] != 1)
    return numpy.lib.stride_tricks.as_strided(view, view.shape, strides)


class DiagonalSubtensor(Op):
    """The elements of a tensor near a diagonal: ``(x, i0, i1)``; see ``get_diagonal_subtensor_view``.

    Parameters
    ----------
    inplace : bool
        Whether the result is a view.

    Examples
    --------
    >>> T.nnet.conv3d2d.diagonal_subtensor(T.zeros((5, 3, 2)), 0, 1).eval().shape
    (3, 3, 2)
    """

    __props__ = ("inplace",)
    depends_on = (0,)

    def __init__(self, inplace=False):
        self.inplace = inplace
        if inplace:
            self.view_map = {0: [0]}

    def __str__(self):
        return type(self).__name__ + "{inplace}" * self.inplace

    def make_node(self, x, i0, i1):
        x = as_tensor_variable(x)
        result = x.type.clone(shape=[None] * x.type.ndim)
        return Apply(self, [x, as_tensor_variable(i0), as_tensor_variable(i1)], [result()])

    def perform(self, node, inputs, output_storage):
        view = get_diagonal_subtensor_view(*inputs)
        output_storage[0][0] = view if self.inplace else view.copy()

    def grad(self, inputs, output_grads):
        x, *axes = inputs
        by_x = inc_diagonal_subtensor(x.zeros_like(), *axes, output_grads[0])
        return [by_x, disconnected_type(), disconnected_type()]


class IncDiagonalSubtensor(Op):
    """A tensor with values added to its elements near a diagonal: ``(x, i0, i1, values)``.

    Parameters
    ----------
    inplace : bool
        Whether ``x`` is overwritten.

    Examples
    --------
    >>> T.nnet.conv3d2d.inc_diagonal_subtensor(T.zeros((5, 3, 2)), 0, 1, T.ones((3, 3, 2))).eval().sum()
    np.float64(18.0)
    """

    __props__ = ("inplace",)
    shape_as = 0
    depends_on = (0, 3)

    def __init__(self, inplace=False):
        self.inplace = inplace
        if inplace:
            self.destroy_map = {0: [0]}

    def __str__(self):
        return type(self).__name__ + "{inplace}" * self.inplace

    def make_node(self, x, i0, i1, amt):
        x = as_tensor_variable(x)
        return Apply(self, [x, as_tensor_variable(i0), as_tensor_variable(i1), as_tensor_variable(amt)], [x.type()])

    def perform(self, node, inputs, output_storage):
        x, i0, i1, added = inputs
        x = x if self.inplace else x.copy()
        view = get_diagonal_subtensor_view(x, i0, i1)
        view += added
        output_storage[0][0] = x

    def grad(self, inputs, output_grads):
        gradient, = output_grads
        _, i0, i1, _ = inputs
        return [gradient, disconnected_type(), disconnected_type(), diagonal_subtensor(gradient, i0, i1)]


diagonal_subtensor = DiagonalSubtensor()
inc_diagonal_subtensor = IncDiagonalSubtensor()


def conv3d(signals, filters, signals_shape=None, filters_shape=None, border_mode="valid"):
    """Convolve movies with filters in space and time.

    Parameters
    ----------
    signals : 5-d tensor of floats
        (movies, time, channels, rows, columns).
    filters : 5-d tensor of floats
        (filters, time, channels, rows, columns). They are flipped.
    signals_shape, filters_shape : sequence of int, optional
        The shapes, if they are known.
    border_mode : {"valid", "half", "full"} or tuple of three of these
        For time, rows and columns.

    Returns
    -------
    5-d tensor
        (movies, time, filters, rows, columns).

    Raises
    ------
    ValueError
        For other borders, and at run time for shapes that contradict each other.
    NotImplementedError
        If the borders of rows and columns differ.

    Examples
    --------
    >>> signals, filters = T.ones((1, 4, 1, 5, 5)), T.ones((2, 3, 1, 2, 2))
    >>> T.nnet.conv3d2d.conv3d(signals, filters).eval().shape
    (1, 2, 2, 4, 4)
    """
    signals, filters = as_tensor_variable(signals), as_tensor_variable(filters)
    border_mode = (border_mode,) * 3 if isinstance(border_mode, str) else tuple(border_mode)
    if len(border_mode) != 3 or not set(border_mode) <= {*MODES}:
        raise ValueError(f"invalid border mode {border_mode}: expected 'valid', 'half' or 'full', or three of these")
    of_time, of_rows, of_columns = border_mode
    if of_rows != of_columns:
        raise NotImplementedError(f"height and width bordermodes must match, got {border_mode}")
    volumes, windows = [dimshuffle(tensor, 0, 2, 1, 3, 4) for tensor in (signals, filters)]
    shapes = [None if shape is None else [shape[axis] for axis in (0, 2, 1, 3, 4)]
              for shape in (signals_shape, filters_shape)]
    if of_time == of_rows:
        return dimshuffle(convolve_volumes(volumes, windows, *shapes, of_rows), 0, 2, 1, 3, 4)
    return dimshuffle(_mixed_borders(volumes, windows, of_time, of_rows), 0, 2, 1, 3, 4)


def _mixed_borders(volumes, windows, of_time, of_rows):
    """A convolution with different borders in time and space, which are added as zeros."""
    for axis, mode in ((2, of_time), (3, of_rows), (4, of_rows)):
        length = shape_i(windows, axis)
        count = {"valid": None, "half": length // 2, "full": length - 1}[mode]
        if count is not None:
            shape = [count if dimension == axis else shape_i(volumes, dimension) for dimension in range(5)]
            border = zeros(shape, dtype=volumes.dtype)
            volumes = concatenate([border, volumes, border], axis=axis)
    return convolve_volumes(volumes, windows)
