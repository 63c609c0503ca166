"""Functions of the array API standard that have other names, or other arguments, in NumPy's older interface."""
from collections import namedtuple

from phintys.ops.creation.allocation import alloc
from phintys.ops.cumulative.cumulative import cumprod, cumsum
from phintys.ops.elementwise.scalar import as_dtype
from phintys.ops.rearranging.rearranging import atleast_1d
from phintys.ops.shape.join import concatenate
from phintys.ops.shape.shape import shape_i
from phintys.ops.sorting.sets import unique
from phintys.ops.types.axes import one_axis
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.ops.types.dtypes import reduced_dtype

UniqueAll = namedtuple("UniqueAllResult", "values indices inverse_indices counts")
UniqueCounts = namedtuple("UniqueCountsResult", "values counts")
UniqueInverse = namedtuple("UniqueInverseResult", "values inverse_indices")


def astype(x, dtype, /, *, copy=True):
    """``x`` in another dtype; ``copy`` has no effect.

    Examples
    --------
    >>> T.astype(T.as_tensor([1.5]), "int64").eval()
    array([1])
    """
    return as_tensor_variable(x).astype(dtype)


def _cumulative(name, function, neutral, x, axis, dtype, include_initial):
    x = as_tensor_variable(x)
    if axis is None:
        if x.type.ndim > 1:
            raise ValueError(f"{name}: For arrays which have more than one dimension ``axis`` argument is required.")
        axis = 0
    x = atleast_1d(x)
    axis = one_axis(name, x, axis)
    found = function(as_dtype(x, str(dtype or reduced_dtype(x.type.dtype))), axis)
    if not include_initial:
        return found
    lengths = [1 if number == axis else shape_i(found, number) for number in range(found.type.ndim)]
    return concatenate([alloc(constant(neutral, dtype=found.type.dtype), *lengths), found], axis=axis)


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    """Cumulative sums along an axis, which only vectors may leave out; with ``include_initial`` a 0 comes first.

    Raises
    ------
    ValueError
        For an axis that does not exist, or is not given where it must be.

    Examples
    --------
    >>> T.cumulative_sum(T.as_tensor([1, 2, 3]), include_initial=True).eval()
    array([0, 1, 3, 6])
    """
    return _cumulative("cumulative_sum", cumsum, 0, x, axis, dtype, include_initial)


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    """Cumulative products along an axis, which only vectors may leave out; with ``include_initial`` a 1 comes first.

    Raises
    ------
    ValueError
        For an axis that does not exist, or is not given where it must be.

    Examples
    --------
    >>> T.cumulative_prod(T.as_tensor([1, 2, 3]), include_initial=True).eval()
    array([1, 1, 2, 6])
    """
    return _cumulative("cumulative_prod", cumprod, 1, x, axis, dtype, include_initial)


def unique_values(x):
    """The distinct elements, in ascending order.

    Examples
    --------
    >>> T.unique_values(T.as_tensor([3, 1, 3])).eval()
    array([1, 3])
    """
    return unique(x)


def unique_counts(x):
    """The distinct elements, in ascending order, and how often each occurs.

    Examples
    --------
    >>> [part.eval().tolist() for part in T.unique_counts(T.as_tensor([3, 1, 3]))]
    [[1, 3], [1, 2]]
    """
    return UniqueCounts(*unique(x, return_counts=True))


def unique_inverse(x):
    """The distinct elements, in ascending order, and the position of each element of ``x`` among them.

    Examples
    --------
    >>> [part.eval().tolist() for part in T.unique_inverse(T.as_tensor([3, 1, 3]))]
    [[1, 3], [1, 0, 1]]
    """
    return UniqueInverse(*unique(x, return_inverse=True))


def unique_all(x):
    """The distinct elements, their first positions, the position of each element of ``x`` among them, and counts.

    Examples
    --------
    >>> [part.eval().tolist() for part in T.unique_all(T.as_tensor([3, 1, 3]))]
    [[1, 3], [1, 0], [1, 0, 1], [1, 2]]
    """
    return UniqueAll(*unique(x, return_index=True, return_inverse=True, return_counts=True))
