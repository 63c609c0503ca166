"""Conversion between positions in a flattened array and coordinates: UnravelIndex and RavelMultiIndex."""
from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.ops.elementwise.scalar import as_dtype, eq, switch
from phintys.ops.indexing.constant_value import get_vector_length
from phintys.ops.indexing.flat_index_kernel import RavelMultiIndexKernel, UnravelIndexKernel
from phintys.ops.shape.dimshuffle import shape_padleft
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import int_dtypes
from phintys.ops.types.tensor_type import TensorType


def _index(x):
    """``x`` as a tensor of an index dtype; raises ``TypeError`` for other dtypes."""
    x = as_tensor_variable(x)
    if x.type.dtype not in int_dtypes:
        raise TypeError(f"'{x.type.dtype}' object cannot be interpreted as an index")
    return as_dtype(x, "int64")


def _dimensions(dims):
    dims = _index(dims)
    if dims.type.ndim != 1:
        raise TypeError(f"dims must be a 1D array, got {dims} of type {dims.type}")
    return dims


class UnravelIndex(Op):
    """The coordinates of flat positions, one output per dimension. The inputs are the positions and the lengths.

    Parameters
    ----------
    ndim : int
        The number of dimensions.
    order : {"C", "F"}

    Examples
    --------
    >>> [positions.eval() for positions in T.extra_ops.UnravelIndex(2)([1, 5], (2, 3))]
    [array([0, 1]), array([1, 2])]
    """

    runs_alone = True
    __props__ = ("ndim", "order")

    def __init__(self, ndim, order="C"):
        if order not in ("C", "F"):
            raise AssertionError(f"UnravelIndex: order must be 'C' or 'F', not {order!r}")
        if not isinstance(ndim, int) or ndim < 1:
            raise ValueError(f"ndim must be an integer greater than 0, got {ndim!r}")
        self.ndim = ndim
        self.order = order

    def make_node(self, indices, dims):
        indices, dims = _index(indices), _dimensions(dims)
        coordinate = TensorType("int64", indices.type.broadcastable, shape=indices.type.shape)
        return Apply(self, [indices, dims], [coordinate() for _ in range(self.ndim)])

    def make_kernel(self, node):
        return UnravelIndexKernel(self.ndim, self.order)

    def infer_shape(self, node, input_shapes):
        return [input_shapes[0]] * self.ndim


def unravel_index(indices, dims, order="C", ndim=None):
    """The coordinates of positions in a flattened array.

    Parameters
    ----------
    indices : tensor of integers
    dims : tuple of ints or vector of integers
        The shape of the array.
    order : {"C", "F"}
        Whether the last ("C") or the first ("F") dimension varies fastest.
    ndim : int, optional
        The number of dimensions, if the length of ``dims`` is not known.

    Returns
    -------
    tuple of TensorVariable
        int64, each of the shape of ``indices``.

    Raises
    ------
    TypeError
        If indices or dimensions are not signed integers.
    ValueError
        If the number of dimensions is not known; at run time, for positions out of range.

    Examples
    --------
    >>> rows, columns = T.unravel_index([1, 5], (2, 3))
    >>> rows.eval(), columns.eval()
    (array([0, 1]), array([1, 2]))
    """
    if ndim is None:
        try:
            ndim = get_vector_length(dims)
        except ValueError:
            raise ValueError(f"The length of the provided dimension list ({dims}) cannot be automatically determined. "
                             "You can provide the 'ndim' keyword argument to 'unravel_index' to avoid this "
                             "problem.") from None
    return tuple(UnravelIndex(ndim=ndim, order=order)(indices, dims, return_list=True))


def _broadcast_length(lengths, flags):
    """The broadcast length of coordinates in one dimension; each length may be 1."""
    lengths = [length for length, flag in zip(lengths, flags) if not flag] or lengths[:1]
    common = lengths[-1]
    for length in reversed(lengths[:-1]):
        common = switch(eq(length, 1), common, length)
    return common


class RavelMultiIndex(Op):
    """Flat positions from coordinates. The inputs are one tensor per dimension and the lengths.

    Parameters
    ----------
    mode : {"raise", "wrap", "clip"}
        The treatment of coordinates out of range.
    order : {"C", "F"}

    Examples
    --------
    >>> T.extra_ops.RavelMultiIndex()([0, 1], [1, 2], (2, 3)).eval()
    array([1, 5])
    """

    runs_alone = True
    __props__ = ("mode", "order")

    def __init__(self, mode="raise", order="C"):
        if mode not in ("raise", "wrap", "clip") or order not in ("C", "F"):
            raise AssertionError(f"RavelMultiIndex: mode {mode!r} must be 'raise', 'wrap' or 'clip', order {order!r} "
                                 "'C' or 'F'")
        self.mode = mode
        self.order = order

    def make_node(self, *inputs):
        coordinates, dims = [_index(value) for value in inputs[:-1]], _dimensions(inputs[-1])
        if not coordinates:
            raise ValueError("RavelMultiIndex: multiple indices are not supported for 0d arrays")
        rank = max([value.type.ndim for value in coordinates])
        coordinates = [shape_padleft(value, rank - value.type.ndim) for value in coordinates]
        flags = [all(flags) for flags in zip(*[value.type.broadcastable for value in coordinates])]
        return Apply(self, [*coordinates, dims], [TensorType("int64", flags)()])

    def make_kernel(self, node):
        return RavelMultiIndexKernel(len(node.inputs) - 1, self.mode, self.order)

    def infer_shape(self, node, input_shapes):
        return [tuple([_broadcast_length(lengths, [value.type.broadcastable[axis] for value in node.inputs[:-1]])
                       for axis, lengths in enumerate(zip(*input_shapes[:-1]))])]


def ravel_multi_index(multi_index, dims, mode="raise", order="C"):
    """Positions in a flattened array from coordinates.

    Parameters
    ----------
    multi_index : tuple or list of tensors of integers
        One tensor for each dimension; they are broadcast together.
    dims : tuple of ints or vector of integers
        The shape of the array.
    mode : {"raise", "wrap", "clip"}
        The treatment of coordinates out of range: ``ValueError`` at run time, modulo, or the nearest coordinate in
        range.
    order : {"C", "F"}
        Whether the last ("C") or the first ("F") dimension varies fastest.

    Raises
    ------
    TypeError
        If ``multi_index`` is not a tuple or list, or coordinates or dimensions are not signed integers.

    Examples
    --------
    >>> T.ravel_multi_index(([0, 1], [1, 2]), (2, 3)).eval()
    array([1, 5])
    """
    if not isinstance(multi_index, (tuple, list)):
        raise TypeError("multi_index must be a tuple or a list.")
    return RavelMultiIndex(mode=mode, order=order)(*multi_index, dims)
