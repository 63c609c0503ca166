"""``take``: indexing along one dimension as a function, with several ways to treat positions out of range.

It needs no separate op: elementwise ops bring positions into range, and indexing takes the elements, including
gradients and in-place forms.
"""
from phintys.ops.elementwise.elementwise_functions import clip
from phintys.ops.elementwise.scalar import cast_op
from phintys.ops.indexing.advanced_index import as_index_array
from phintys.ops.indexing.getitem import getitem
from phintys.ops.indexing.subtensor import WHOLE
from phintys.ops.shape.reshape import flatten
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.axes import one_axis
from phintys.ops.types.constant import as_tensor_variable

# Mode → function that brings positions into range, for a dimension of the given length.
MODES = {"raise": lambda indices, length: indices,
         "clip": lambda indices, length: clip(indices, 0, length - 1),
         "wrap": lambda indices, length: indices % length}


def take(a, indices, axis=None, mode="raise"):
    """Elements, or slices along ``axis``, at the given positions.

    Parameters
    ----------
    a : tensor-like
    indices : tensor-like
        Integers of any rank; their dimensions replace dimension ``axis``.
    axis : int, optional
        By default ``a`` is flattened first.
    mode : {'raise', 'wrap', 'clip'}
        The treatment of positions out of range: an error at run time, the remainder modulo the length, or the nearest
        end (with 'clip', negative positions mean the start).

    Returns
    -------
    TensorVariable
        Of the dtype of ``a``.

    Raises
    ------
    ValueError
        For another mode, or if ``a`` has no such axis.
    IndexError
        At run time, for a position out of range.

    Examples
    --------
    >>> T.take(T.as_tensor([10, 20, 30]), [2, 0]).eval()
    array([30, 10])
    """
    a, indices = as_tensor_variable(a), as_index_array(indices)
    if mode not in MODES:
        raise ValueError(f"take: mode must be one of {', '.join(MODES)}, not {mode!r}")
    if axis is None:
        a, axis = flatten(a), 0
    axis = one_axis("take", a, axis)
    if indices.type.dtype == "uint64" and mode != "raise":
        indices = cast_op("int64")(indices)              # uint64 and the length together would be float64
    indices = MODES[mode](indices, shape_i(a, axis))
    return getitem(a, (*[WHOLE] * axis, indices))
