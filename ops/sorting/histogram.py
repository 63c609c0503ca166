"""Numbers in bins: ``digitize``, ``histogram`` and ``histogram_bin_edges``, by searches among the edges of bins."""
from phintys.graph.config import config
from phintys.graph.variable import Constant
from phintys.ops.creation.allocation import zeros
from phintys.ops.creation.linspace import linspace
from phintys.ops.elementwise import elementwise_functions as elementwise
from phintys.ops.elementwise.scalar import as_dtype
from phintys.ops.identity.assertion import Check
from phintys.ops.indexing.getitem import getitem
from phintys.ops.indexing.inc_subtensor import inc_subtensor
from phintys.ops.reduction.reduction import all as all_true
from phintys.ops.reduction.reduction import max as largest
from phintys.ops.reduction.reduction import min as smallest
from phintys.ops.reduction.reduction import sum as sum_over
from phintys.ops.shape.reshape import flatten
from phintys.ops.shape.shape import shape_i
from phintys.ops.sorting.searching import searchsorted
from phintys.ops.types.axes import sequence_of
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.ops.types.dtypes import complex_dtypes, discrete_dtypes, float_dtypes, reduced_dtype


def digitize(x, bins, right=False):
    """The number of the bin in which each element is, like ``numpy.digitize``.

    Parameters
    ----------
    x : tensor-like of real numbers
    bins : vector
        The edges of the bins, in ascending or descending order.
    right : bool
        Whether a bin includes its right edge instead of its left one.

    Returns
    -------
    TensorVariable
        Of dtype int64 and the shape of ``x``: 0 for elements before all edges.

    Raises
    ------
    TypeError
        For complex numbers.
    ValueError
        If ``bins`` has several dimensions.
    ValueError
        At run time, if the edges are not ordered.

    Examples
    --------
    >>> T.digitize([0.2, 6.4], [0.0, 1.0, 2.5, 10.0]).eval().tolist()
    [1, 3]
    """
    x, bins = as_tensor_variable(x), as_tensor_variable(bins)
    if x.type.dtype in complex_dtypes or bins.type.dtype in complex_dtypes:
        raise TypeError("digitize: x may not be complex")
    if bins.type.ndim != 1:
        raise ValueError(f"digitize: object too deep for desired array; bins must be a vector, got {bins.type}")
    ascends, descends = all_true(bins[1:] >= bins[:-1]), all_true(bins[1:] <= bins[:-1])
    bins = Check("digitize: bins must be monotonically increasing or decreasing")(bins, ascends | descends)
    count = shape_i(bins, 0)
    sign = elementwise.switch(ascends, constant(1), constant(-1))
    ordered = elementwise.switch(ascends, bins, bins[::-1])
    found = searchsorted(ordered, x, "left" if right else "right")
    return elementwise.switch(sign > 0, found, count - found)


def histogram_bin_edges(a, bins=10, range=None, weights=None):
    """The edges of the bins of ``histogram``.

    Parameters
    ----------
    a, bins, range
        See ``histogram``.
    weights
        Has no effect: NumPy uses it where it chooses the number of bins.

    Returns
    -------
    TensorVariable
        A vector, of one element more than there are bins.

    Raises
    ------
    TypeError, ValueError
        See ``histogram``.

    Examples
    --------
    >>> T.histogram_bin_edges(T.as_tensor([0.0, 1.0, 4.0]), bins=4).eval()
    array([0., 1., 2., 3., 4.])
    """
    if isinstance(bins, str):
        raise TypeError(f"histogram: how many bins {bins!r} chooses depends on values; give their number or edges")
    a, bins = flatten(as_tensor_variable(a)), as_tensor_variable(bins)
    if a.type.dtype in complex_dtypes:
        raise TypeError("histogram: a may not be complex")
    if bins.type.ndim == 1:
        ascends = all_true(bins[1:] >= bins[:-1])
        return Check("histogram: bins must increase monotonically")(bins, ascends)
    if bins.type.ndim or bins.type.dtype not in discrete_dtypes:
        raise TypeError(f"histogram: bins must be an integer or a vector of edges, got {bins} of type {bins.type}")
    if isinstance(bins, Constant) and bins.data <= 0:
        raise ValueError(f"histogram: bins must be positive, when an integer, got {bins.data}")
    bins = Check("histogram: bins must be positive, when an integer")(bins, bins > 0)
    dtype = a.type.dtype if a.type.dtype in float_dtypes else "float64"
    if range is None:
        # An empty tensor has the range from 0 to 1, as in NumPy; one more element at each end does not change others.
        empty = elementwise.eq(shape_i(a, 0), 0)
        padded = _padded(as_dtype(a, dtype), empty)
        low, high = smallest(padded), elementwise.switch(empty, constant(1, dtype=dtype), largest(padded))
    else:
        ends = sequence_of("histogram", "two numbers as range", range)
        if len(ends) != 2:
            raise ValueError(f"histogram: range must be the first and the last edge, got {range!r}")
        low, high = [as_dtype(as_tensor_variable(end), dtype) for end in ends]
        low = Check("histogram: max must be larger than min in range parameter.")(low, low <= high)
    low = Check("histogram: autodetected range or range is not finite")(
        low, elementwise.isfinite(low) & elementwise.isfinite(high))
    half = elementwise.switch(elementwise.eq(low, high), constant(0.5, dtype=dtype), constant(0, dtype=dtype))
    return linspace(low - half, high + half, as_dtype(bins, "int64") + 1)


def _padded(a, empty):
    """``a``, or a 0 if there are no elements."""
    room = zeros([elementwise.maximum(shape_i(a, 0), 1)], dtype=a.type.dtype)
    return inc_subtensor(room[:shape_i(a, 0)], a)


def histogram(a, bins=10, range=None, density=False, weights=None):
    """Count the elements in bins, like ``numpy.histogram``.

    Parameters
    ----------
    a : tensor-like of real numbers
        It is flattened.
    bins : int, symbolic integer, or vector
        The number of bins of equal width, or the edges of bins in ascending order. A bin includes its left edge; the
        last one includes the right edge, too.
    range : pair of numbers or variables, optional
        The first and the last edge of bins of equal width; by default the smallest and the largest element.
    density : bool
        Whether to return a probability density, whose integral is 1.
    weights : tensor-like, optional
        The weight of each element of ``a``.

    Returns
    -------
    list of TensorVariable
        The count of each bin, of dtype int64 or that of the weights, and the edges of the bins. There are gradients
        with respect to weights.

    Raises
    ------
    TypeError
        For complex numbers, or if ``bins`` is neither an integer nor a vector.
    ValueError
        If there are no bins.
    ValueError
        At run time, if there are no bins, edges do not ascend, or ``range`` is not a finite interval.

    Examples
    --------
    >>> T.histogram([1.0, 2.0, 1.0], [0.0, 1.5, 3.0])[0].eval().tolist()
    [2, 1]
    """
    a = flatten(as_tensor_variable(a))
    edges = histogram_bin_edges(a, bins, range)
    bin_count = shape_i(edges, 0) - 1
    position = searchsorted(edges, a, "right") - 1
    position = elementwise.switch(elementwise.eq(a, edges[-1]), bin_count - 1, position)
    inside = (position >= 0) & (position < bin_count)
    counted = elementwise.cast(inside, "int64")
    dtype = "int64"
    if weights is not None:
        weights = flatten(as_tensor_variable(weights))
        dtype = reduced_dtype(weights.type.dtype)
        counted = elementwise.switch(inside, as_dtype(weights, dtype), constant(0, dtype=dtype))
    position = elementwise.switch(inside, position, constant(0, dtype="int64"))
    counts = inc_subtensor(getitem(zeros([elementwise.maximum(bin_count, 1)], dtype=dtype), position), counted)
    counts = counts[:bin_count]
    if density:
        widths = edges[1:] - edges[:-1]
        real = config.floatX if dtype in discrete_dtypes else dtype
        counts = as_dtype(counts, "float64" if dtype == "int64" else real)
        counts = counts / widths / sum_over(counts)
    return [counts, edges]
