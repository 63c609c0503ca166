"""Histograms of several variables: ``histogram2d`` and ``histogramdd``."""
from phintys.ops.compositions.parts import tensors
from phintys.ops.creation.allocation import zeros
from phintys.ops.elementwise import elementwise_functions as elementwise
from phintys.ops.elementwise.scalar import as_dtype
from phintys.ops.indexing.getitem import getitem
from phintys.ops.indexing.inc_subtensor import inc_subtensor
from phintys.ops.reduction.reduction import sum as sum_over
from phintys.ops.shape.reshape import flatten, reshape
from phintys.ops.shape.shape import shape_i
from phintys.ops.sorting.histogram import histogram_bin_edges
from phintys.ops.sorting.searching import searchsorted
from phintys.ops.types.constant import as_tensor_variable, constant


def _columns(sample, bins):
    """The coordinates as a list of vectors, one for each dimension."""
    if isinstance(sample, (list, tuple)):
        return [flatten(part) for part in tensors(sample)]
    sample = as_tensor_variable(sample)
    if sample.type.ndim == 1:
        return [sample]
    if sample.type.ndim != 2:
        raise ValueError(f"histogramdd: sample must be a matrix or a list of vectors, got {sample} of type "
                         f"{sample.type}")
    count = len(bins) if isinstance(bins, (list, tuple)) else sample.type.shape[1]
    if count is None:
        raise TypeError(f"histogramdd: the number of columns of {sample} must be known: give a list of bins, or a list "
                        "of vectors as the sample")
    return [getitem(sample, (slice(None), number)) for number in range(count)]


def _of_each(name, argument, given, count):
    """An argument that is given for each dimension, as a list."""
    if len(given) != count:
        raise ValueError(f"{name}: {argument} has {len(given)} entries, but the sample has {count} dimensions")
    return list(given)


def histogramdd(sample, bins=10, range=None, density=None, weights=None):
    """Count points of a space in boxes, like ``numpy.histogramdd``.

    Parameters
    ----------
    sample : matrix, or list of vectors
        A row for each point, or a vector for each dimension.
    bins : int, or list of int or vector
        For each dimension the number of intervals, or their edges.
    range : list of pairs or None, optional
        The first and the last edge of each dimension; None stands for the extrema of the sample.
    density : bool
        Whether to return a probability density, whose integral is 1.
    weights : vector, optional

    Returns
    -------
    (TensorVariable, tuple of TensorVariable)
        The counts, of dtype float64, with a dimension for each of the sample's; and the edges.

    Raises
    ------
    TypeError, ValueError
        If the number of dimensions is not known, or differs from that of ``bins`` or ``range``.

    Examples
    --------
    >>> counts, edges = T.histogramdd([[0.0, 1.0, 1.0], [0.0, 0.0, 3.0]], bins=2)
    >>> counts.eval()
    array([[1., 0.],
           [1., 1.]])
    """
    columns = _columns(sample, bins)
    bins = _of_each("histogramdd", "bins", bins, len(columns)) if isinstance(bins, (list, tuple)) else (
        [bins] * len(columns))
    ranges = [None] * len(columns) if range is None else _of_each("histogramdd", "range", range, len(columns))
    # Edges of a given range are Python's floats, those of found extrema have the sample's dtype.
    edges = [histogram_bin_edges(column if limits is None else as_dtype(column, "float64"), parts, limits)
             for column, parts, limits in zip(columns, bins, ranges)]
    counts = [shape_i(edge, 0) - 1 for edge in edges]
    place, inside = constant(0, dtype="int64"), constant(True)
    for column, edge, count in zip(columns, edges, counts):
        position = searchsorted(edge, column, "right") - 1
        position = elementwise.switch(elementwise.eq(column, edge[-1]), count - 1, position)
        inside = inside & (position >= 0) & (position < count)
        place = place * count + position
    total = counts[0]
    for count in counts[1:]:
        total = total * count
    weights = constant(1.0, dtype="float64") if weights is None else as_dtype(as_tensor_variable(weights), "float64")
    counted = elementwise.switch(inside, weights, constant(0.0, dtype="float64"))
    place = elementwise.switch(inside, place, constant(0, dtype="int64"))
    # One more element, so that there is a place also if there are no bins.
    found = inc_subtensor(getitem(zeros([total + 1], dtype="float64"), place), counted)[:total]
    found = reshape(found, counts, ndim=len(counts))
    if density:
        whole = sum_over(found)
        for number, edge in enumerate(edges):
            widths = edge[1:] - edge[:-1]
            found = found / widths.dimshuffle(*[0 if other == number else "x" for other, _ in enumerate(edges)])
        found = found / whole
    return found, tuple(edges)


def histogram2d(x, y, bins=10, range=None, density=None, weights=None):
    """Count points of a plane in rectangles, like ``numpy.histogram2d``.

    Parameters
    ----------
    x, y : vector
        The coordinates.
    bins : int, or vector of edges, or pair of them
    range, density, weights
        See `histogramdd`.

    Returns
    -------
    (TensorVariable, TensorVariable, TensorVariable)
        The counts, of dtype float64, and the edges of both dimensions.

    Raises
    ------
    TypeError, ValueError
        See `histogramdd`.

    Examples
    --------
    >>> T.histogram2d([0.0, 1.0, 1.0], [0.0, 0.0, 3.0], bins=2)[0].eval()
    array([[1., 0.],
           [1., 1.]])
    """
    if not isinstance(bins, (list, tuple)) or len(bins) not in (1, 2):
        bins = [bins, bins]                             # one number, or the same edges for both
    elif len(bins) == 1:
        bins = [bins[0], bins[0]]
    counts, (first, second) = histogramdd([x, y], bins, range, density, weights)
    return counts, first, second
