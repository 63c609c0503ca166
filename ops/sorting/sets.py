"""Vectors as sets: distinct elements, membership, unions, intersections and differences, like NumPy's functions."""
from phintys.ops.elementwise import elementwise_functions as elementwise
from phintys.ops.elementwise.scalar import as_dtype
from phintys.ops.indexing.getitem import getitem
from phintys.ops.shape.join import concatenate
from phintys.ops.shape.reshape import flatten, reshape
from phintys.ops.shape.shape import shape
from phintys.ops.sorting.searching import Unique, searchsorted
from phintys.ops.sorting.sorting import sort
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import continuous_dtypes, upcast


def unique(ar, return_index=False, return_inverse=False, return_counts=False, axis=None):
    """The distinct elements in ascending order, like ``numpy.unique``.

    Parameters
    ----------
    ar : tensor-like
    return_index, return_inverse, return_counts : bool
        Whether to return the positions of the first occurrences, the position of each input element in the result, and
        the numbers of occurrences, as int64 vectors; the second one has the shape of ``ar`` if there is no axis.
    axis : int, optional
        The axis along which to find distinct slices; by default distinct elements are found.

    Returns
    -------
    TensorVariable, or list of TensorVariable
        The gradient of each element goes to its first occurrence.

    Raises
    ------
    RuntimeError
        For an axis that does not exist.

    Examples
    --------
    >>> T.unique([3, 1, 3]).eval().tolist()
    [1, 3]
    """
    ar = as_tensor_variable(ar)
    found = Unique(return_index, return_inverse, return_counts, axis)(ar)
    if return_inverse and axis is None and ar.type.ndim != 1:
        found[1 + bool(return_index)] = reshape(found[1 + bool(return_index)], shape(ar), ndim=ar.type.ndim)
    return found


def isin(element, test_elements, assume_unique=False, invert=False, kind=None):
    """Elementwise: whether an element is one of others, as bool; like ``numpy.isin``.

    Parameters
    ----------
    element, test_elements : tensor-like
    assume_unique : bool
        Has no effect; NumPy's promise that no element is repeated.
    invert : bool
        Whether to return the opposite.
    kind : {None, "sort", "table"}
        Has no effect; how NumPy searches.

    Returns
    -------
    TensorVariable
        Of the shape of ``element``. NaN is in no set.

    Examples
    --------
    >>> T.isin([3, 1, 4], [4, 3]).eval().tolist()
    [True, False, True]
    """
    element, others = as_tensor_variable(element), flatten(as_tensor_variable(test_elements))
    dtype = upcast(element.type.dtype, others.type.dtype)
    element, others = as_dtype(element, dtype), sort(as_dtype(others, dtype))
    found = searchsorted(others, element, "left") < searchsorted(others, element, "right")
    if dtype in continuous_dtypes:
        found = found & elementwise.eq(element, element)
    return ~found if invert else found


def in1d(ar1, ar2, assume_unique=False, invert=False):
    """Whether each element of the flattened ``ar1`` is in ``ar2``: ``isin`` of a vector.

    Parameters
    ----------
    ar1, ar2 : tensor-like
    assume_unique, invert : bool
        See ``isin``.

    Returns
    -------
    TensorVariable
        A vector of bool.

    Examples
    --------
    >>> T.in1d([1, 2, 3], [3, 1]).eval()
    array([ True, False,  True])
    """
    return isin(flatten(as_tensor_variable(ar1)), ar2, assume_unique, invert)


def _set(ar, assume_unique):
    ar = flatten(as_tensor_variable(ar))
    return ar if assume_unique else unique(ar)


def intersect1d(ar1, ar2, assume_unique=False):
    """The distinct elements that both tensors have, in ascending order.

    Parameters
    ----------
    ar1, ar2 : tensor-like
    assume_unique : bool
        Whether no element of ``ar1`` is repeated.

    Returns
    -------
    TensorVariable
        A vector.

    Examples
    --------
    >>> T.intersect1d([1, 2, 3], [3, 1, 7]).eval()
    array([1, 3])
    """
    ar1, ar2 = as_tensor_variable(ar1), as_tensor_variable(ar2)
    dtype = upcast(ar1.type.dtype, ar2.type.dtype)
    first = _set(as_dtype(ar1, dtype), assume_unique)
    first = sort(first) if assume_unique else first
    return getitem(first, in1d(first, ar2))


def union1d(ar1, ar2):
    """The distinct elements that at least one of both tensors has, in ascending order, as a vector.

    Examples
    --------
    >>> T.union1d([1, 2], [2, 3]).eval()
    array([1, 2, 3])
    """
    return unique(concatenate([flatten(as_tensor_variable(part)) for part in (ar1, ar2)]))


def setdiff1d(ar1, ar2, assume_unique=False):
    """The distinct elements of ``ar1`` that ``ar2`` does not have, as a vector.

    Parameters
    ----------
    ar1, ar2 : tensor-like
    assume_unique : bool
        Whether no element of ``ar1`` is repeated; then their order is kept.

    Returns
    -------
    TensorVariable
        A vector; in ascending order unless ``assume_unique`` is set.

    Examples
    --------
    >>> T.setdiff1d([1, 2, 3], [3, 1]).eval()
    array([2])
    """
    first = _set(ar1, assume_unique)
    return getitem(first, in1d(first, ar2, invert=True))


def setxor1d(ar1, ar2, assume_unique=False):
    """The distinct elements that only one of both tensors has, in ascending order.

    Parameters
    ----------
    ar1, ar2 : tensor-like
    assume_unique : bool
        Whether no element of either tensor is repeated.

    Returns
    -------
    TensorVariable
        A vector.

    Examples
    --------
    >>> T.setxor1d([1, 2, 3], [3, 4]).eval()
    array([1, 2, 4])
    """
    ends = [setdiff1d(ar1, ar2, assume_unique), setdiff1d(ar2, ar1, assume_unique)]
    return sort(concatenate(ends))
