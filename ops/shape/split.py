"""Split: parts of a tensor along an axis, as views; the inverse of a join."""
from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.graph.valueless_types import DisconnectedType, disconnected_type, grad_undefined
from phintys.graph.variable import Constant
from phintys.ops.elementwise import scalar
from phintys.ops.shape.join import Join, MakeVector, join
from phintys.ops.shape.join_kernel import SplitKernel
from phintys.ops.shape.shape import patternbroadcast
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import integer_dtypes
from phintys.ops.types.known_length import known_integer
from phintys.ops.types.numpy_arguments import with_numpy_arguments
from phintys.ops.types.tensor_type import TensorType


class Split(Op):
    """Splits a tensor into parts. The inputs are the tensor, the axis, and the vector of the parts' lengths.

    Parameters
    ----------
    len_splits : int
        The number of parts.

    Raises
    ------
    TypeError
        Raised by ``make_node`` if the axis is not an integer or the lengths are not a vector of integers.
    ValueError
        Raised by ``make_node`` if the known number of lengths differs from that of parts; at run time, if the axis does
        not exist, or if lengths are negative or do not sum to the length of the tensor.

    Examples
    --------
    >>> first, rest = T.Split(2)(T.as_tensor([1, 2, 3]), 0, [1, 2])
    >>> first.eval(), rest.eval()
    (array([1]), array([2, 3]))
    """

    __props__ = ("len_splits",)
    moves_elements = True
    linear_in = (0,)

    def __init__(self, len_splits):
        try:
            self.len_splits = int(len_splits)
        except (TypeError, ValueError):
            raise TypeError(f"Split: the number of parts must be an int, got {len_splits!r}") from None
        self.view_map = {part: [0] for part in range(self.len_splits)}

    def make_node(self, x, axis, splits):
        x, axis, splits = as_tensor_variable(x), as_tensor_variable(axis), as_tensor_variable(splits)
        if splits.type.ndim != 1 or splits.type.dtype not in integer_dtypes:
            if not (isinstance(splits, Constant) and splits.data.size == 0):
                raise TypeError(f"Split: the lengths of the parts must be a vector of integers, got {splits} of type "
                                f"{splits.type}")
        if axis.type.ndim or axis.type.dtype not in integer_dtypes:
            raise TypeError(f"Split: the axis must be an integer scalar, got {axis} of type {axis.type}")
        count = splits.type.shape[0]
        if count is not None and count != self.len_splits:
            raise ValueError(f"Split: there are {count} lengths of parts, {splits}, but {self.len_splits} parts are "
                             "wanted")
        return Apply(self, [x, axis, splits], [self._part_type(x.type, known_integer(axis), length)()
                                               for length in self._known_lengths(splits)])

    def _known_lengths(self, splits):
        """The length of each part, if known."""
        if isinstance(splits, Constant):
            lengths = [int(length) for length in splits.data]
        elif splits.owner is not None and isinstance(splits.owner.op, MakeVector):
            lengths = [known_integer(length) for length in splits.owner.inputs]
        else:
            lengths = []
        return lengths if len(lengths) == self.len_splits else [None] * self.len_splits

    def _part_type(self, x, axis, length):
        """The type of a part; only dimensions that cannot be the split axis keep their static lengths."""
        flags, lengths = list(x.broadcastable), list(x.shape)
        split = range(x.ndim) if axis is None or not -x.ndim <= axis < x.ndim else [axis]
        for dimension in split:
            flags[dimension], lengths[dimension] = False, None
        if len(split) == 1 and length is not None and length >= 0:
            lengths[split[0]] = length
        return TensorType(x.dtype, flags, shape=lengths)

    def make_kernel(self, node):
        return SplitKernel(self.len_splits)

    def infer_shape(self, node, input_shapes):
        lengths = input_shapes[0]
        _, axis, splits = node.inputs
        rank, known = len(lengths), known_integer(axis)
        parts = []
        for part in range(self.len_splits):
            if known is not None:
                parts.append(tuple([splits[part] if dimension == known % rank else length
                                    for dimension, length in enumerate(lengths)]))
            else:
                parts.append(tuple([scalar.switch(_is_dimension(axis, dimension, rank), splits[part], length)
                                    for dimension, length in enumerate(lengths)]))
        return parts

    def L_op(self, inputs, outputs, output_grads):
        x, axis, splits = inputs
        undefined = [grad_undefined(self, 1, axis), grad_undefined(self, 2, splits)]
        if all([isinstance(gz.type, DisconnectedType) for gz in output_grads]):
            return [disconnected_type(), *undefined]
        parts = [out.zeros_like() if isinstance(gz.type, DisconnectedType) else gz
                 for out, gz in zip(outputs, output_grads)]
        return [patternbroadcast(join(axis, *parts), x.type.broadcastable), *undefined]

    def __str__(self):
        return f"Split{{{self.len_splits}}}"


Join.Split = Split


def _is_dimension(axis, dimension, rank):
    """A symbolic condition: whether a symbolic axis is this dimension."""
    return scalar.or_(scalar.eq(axis, dimension), scalar.eq(axis, dimension - rank))


@with_numpy_arguments
def split(x, splits_size, n_splits=None, axis=0):
    """Split ``x`` into ``n_splits`` parts along an axis; without ``n_splits``, as ``numpy.split`` does.

    Parameters
    ----------
    x : tensor-like
    splits_size : vector of integers, or sequence of ints and symbolic integers
        The length of each part; they must sum to the length of ``x``.
    n_splits : int
    axis : int or symbolic integer

    Returns
    -------
    list of TensorVariable
        Views of ``x``; a single variable if ``n_splits`` is 1.

    Raises
    ------
    ValueError
        At run time, if the lengths do not match ``x``.

    Examples
    --------
    >>> first, second = T.split(T.arange(5), [2, 3], n_splits=2)
    >>> second.eval()
    array([2, 3, 4])
    """
    if n_splits is None:
        return split(x, indices_or_sections=splits_size, axis=axis)
    return Split(n_splits)(x, axis, splits_size)
