"""The ``size`` of samples: a vector of integers, whose entries may be constants or computed."""
from phintys.graph.errors import made_at
from phintys.ops.elementwise.elementwise_functions import cast
from phintys.ops.shape.reshape import as_shape_vector
from phintys.ops.types.dtypes import integer_dtypes
from phintys.ops.types.tensor_type import TensorType


def size_vector(size):
    """A size as a vector of integers, and its entries as far as they are known.

    Parameters
    ----------
    size : Variable, int, or sequence of int and Variable

    Returns
    -------
    tuple (Variable, list of (int or None) or None)
        The list is None if not even the number of entries is known.

    Raises
    ------
    TypeError
        If it is not a vector of integers.
    """
    vector, known = as_shape_vector(size)
    if known == [] and vector.type.dtype not in integer_dtypes:
        vector = cast(vector, "int64")
    if vector.type.ndim != 1 or vector.type.dtype not in integer_dtypes:
        raise TypeError(f"size must be a vector of integers, got {vector} of type {vector.type}")
    return vector, known


def rank_of(size, known):
    """The number of entries of a size, or ``ValueError`` if it is not known."""
    if known is None:
        raise ValueError(f"the number of dimensions is not known: pass ndim, because the length of the size "
                         f"{size}{made_at(size)} depends on inputs")
    return len(known)


def sample_type(dtype, ndim, known):
    """The type of samples of ``ndim`` dimensions, given what is known of the size."""
    if known is not None and len(known) != ndim:
        raise ValueError(f"size has {len(known)} entries, but the samples have {ndim} dimensions")
    lengths = [None if length is None or length < 0 else length for length in known or [None] * ndim]
    return TensorType(dtype, [length == 1 for length in lengths], shape=lengths)


def sample_shape(size, ndim):
    """The symbolic shape of samples."""
    return tuple([size[axis] for axis in range(ndim)])
