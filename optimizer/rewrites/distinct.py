"""Distinct elements by sorting: kernels do the work of ``unique``, without the GIL.

It becomes a sort, a comparison of neighbours, and the selection of the first of each run of equal elements.
"""
from phintys.ops.creation.allocation import alloc
from phintys.ops.cumulative.cumulative import cumsum
from phintys.ops.elementwise.scalar import invert, isnan, minimum, neq
from phintys.ops.indexing.getitem import getitem
from phintys.ops.indexing.inc_subtensor import set_subtensor
from phintys.ops.indexing.take import take
from phintys.ops.rearranging.rearranging import moveaxis
from phintys.ops.reduction.careduce import Any
from phintys.ops.shape.join import concatenate
from phintys.ops.shape.reshape import flatten, reshape
from phintys.ops.shape.shape import patternbroadcast, shape_i
from phintys.ops.sorting.row_order import RowOrder
from phintys.ops.sorting.searching import RunStarts
from phintys.ops.sorting.sorting import argsort, sort
from phintys.ops.types.constant import constant
from phintys.ops.types.dtypes import continuous_dtypes
from phintys.optimizer.engine.database import FAST_COMPILE, FAST_RUN, Rewrite


def starts_of_runs(ordered):
    """The positions of elements, or rows, that differ from the one before; all NaNs count as equal elements."""
    before, after = getitem(ordered, slice(None, -1)), getitem(ordered, slice(1, None))
    differs = neq(after, before)
    if ordered.type.ndim == 2:
        differs = Any(1)(differs)
    elif ordered.type.dtype in continuous_dtypes:
        differs = differs & invert(isnan(after) & isnan(before))
    first = alloc(constant(True), minimum(shape_i(ordered, 0), 1))
    return getitem(RunStarts()(concatenate([first, differs])), 0)


def as_rows(x):
    """The slices along the first axis as rows of a matrix."""
    width = constant(1, dtype="int64")
    for axis in range(1, x.type.ndim):
        width = width * shape_i(x, axis)
    return reshape(x, (shape_i(x, 0), width), ndim=2)


def by_sorting(fgraph, node):
    """The outputs of a `Unique` from the order of its elements."""
    op, x = node.op, node.inputs[0]
    parts = flatten(x) if op.axis is None else moveaxis(x, op.axis, 0)
    order = None
    if op.axis is not None:
        keys = parts if parts.type.ndim == 1 else as_rows(parts)
        order = RowOrder()(as_rows(parts))
    else:
        keys = parts
        if op.return_index or op.return_inverse:
            order = argsort(parts, kind="stable" if op.return_index else "quicksort")
    ordered = sort(parts) if order is None else take(keys, order, axis=0)
    starts = starts_of_runs(ordered)
    if op.axis is None:
        results = [getitem(ordered, starts)]
    else:
        results = [moveaxis(take(parts, take(order, starts), axis=0), 0, op.axis)]
    if op.return_index:
        results.append(take(order, starts))
    count = shape_i(keys, 0)
    ends = concatenate([getitem(starts, slice(1, None)), reshape(count, (1,))])
    if op.return_inverse:
        numbers = cumsum(set_subtensor(getitem(alloc(constant(0, dtype="int64"), count), starts), 1)) - 1
        results.append(set_subtensor(getitem(alloc(constant(0, dtype="int64"), count), order), numbers))
    if op.return_counts:
        results.append(getitem(ends, slice(None, shape_i(starts, 0))) - starts)
    return [patternbroadcast(result, output.type.broadcastable) for result, output in zip(results, node.outputs)]


REWRITES = [Rewrite("local_unique", ("Unique",), by_sorting, (FAST_RUN, FAST_COMPILE))]
