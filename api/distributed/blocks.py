"""Functions on the blocks of Dask's arrays: block by block, and in a tree of combinations.

Dask finds out what a function returns by calling it with arrays without elements. Here the types of a compiled
function's results say it, so nothing is called before there is a block; and a block whose shape is not what the graph
of tasks promises is an error, where Dask would go on with it.
"""
from __future__ import annotations

import operator
from typing import Any

import numpy

from phintys.distributed.task import Task, as_task
from phintys.vm.program import DTYPES

SPLIT_EVERY = 4                 # results that one task combines, as in Dask's reductions


def map_blocks(f: Any, *arrays: Any, chunks: Any = None, drop_axis: Any = None, new_axis: Any = None,
               name: str | None = None) -> Any:
    """Apply a function to each block of arrays of Dask; ``dask.array.map_blocks`` for compiled functions.

    Parameters
    ----------
    f : Function or SavedFunction
        With one result, and without updates.
    *arrays : dask.array.Array, numpy.ndarray or number
        One for each argument. Arrays of NumPy are divided as the others are.
    chunks : tuple, optional
        The lengths of the result's blocks, if they are not those of the arguments.
    drop_axis, new_axis : int or list of int, optional
        Axes that the result does not have, or has in addition.
    name : str, optional
        What the tasks are called in the dashboard.

    Returns
    -------
    dask.array.Array
        Its dtype and rank are those of the function's result.

    Raises
    ------
    TypeError
        If the function has updates or several results, or an array does not fit its argument. Errors of a block are
        raised when it is computed, and name it.

    Examples
    --------
    >>> import dask.array
    >>> x = T.dmatrix("x")
    >>> f = phintys.function([x], T.tanh(x) * 2)
    >>> phintys.distributed.map_blocks(f, dask.array.ones((4, 6), chunks=2))
    dask.array<..., shape=(4, 6), dtype=float64, chunksize=(2, 2), chunktype=numpy.ndarray>
    """
    import dask.array

    task = as_task(f)
    arrays = _divided(task, arrays)
    if len(task.results) != 1:
        raise TypeError(
            f"{task!r} has {len(task.results)} results: map_blocks makes one array; make a function of each, "
            "or use reduce_blocks")
    result, = task.results
    dtype, longest = DTYPES[result.typenum], max([array.ndim for array in arrays if numpy.ndim(array)], default=0)
    if result.ndim != longest and chunks is None and drop_axis is None and new_axis is None:
        raise TypeError(f"the result of {task!r} has {result.ndim} dimensions, its arguments up to {longest}: say "
                        "which blocks it has by chunks=, drop_axis= or new_axis=")
    return dask.array.map_blocks(
        _Block(task), *arrays, chunks=chunks, drop_axis=[] if drop_axis is None else drop_axis, new_axis=new_axis,
        name=name, token=None, dtype=dtype, meta=numpy.empty((0,) * result.ndim, dtype))


class _Block:
    """A task that knows which block it computes."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.__name__ = task.name or "map_blocks"       # what Dask calls the tasks

    def __call__(self, *blocks: Any, block_info: Any = None) -> Any:
        found = self.task.at(f"block {block_info[None]['chunk-location']}", *blocks)
        wanted = block_info[None]["chunk-shape"]
        if not all([length == promised or promised != promised for length, promised in zip(found.shape, wanted)]):
            raise ValueError(f"block {block_info[None]['chunk-location']} of {self.task!r} has the shape {found.shape} "
                             f"instead of {wanted}: say which blocks the result has by chunks=")
        return found

    def __reduce__(self) -> Any:
        return _Block, (self.task,)

    def __dask_tokenize__(self) -> Any:
        return "block", self.task.token


def reduce_blocks(f: Any, *arrays: Any, combine: Any = operator.add, split_every: int = SPLIT_EVERY) -> Any:
    """Apply a function to each block of arrays, and combine what it returns in a tree.

    The tree depends on the number of blocks alone, so the result is the same, bit by bit, however many workers there
    are and whichever is first.

    Parameters
    ----------
    f : Function or SavedFunction
        Without updates. Several results are combined one by one.
    *arrays : dask.array.Array, numpy.ndarray or number
        One for each argument. All arrays have the same blocks.
    combine : Function or callable
        Takes two results and returns one; by default the sum. It must be associative, up to rounding.
    split_every : int
        How many results one task combines.

    Returns
    -------
    dask.delayed.Delayed
        ``compute()`` returns what ``f`` would, combined.

    Examples
    --------
    >>> import dask.array
    >>> x = T.dvector("x")
    >>> f = phintys.function([x], [x.sum(), T.sqr(x).sum()])
    >>> phintys.distributed.reduce_blocks(f, dask.array.arange(10, chunks=3)).compute()
    [np.float64(45.0), np.float64(285.0)]
    """
    import dask

    task = as_task(f)
    rows = _rows_of_blocks(_divided(task, arrays))
    at, combined = dask.delayed(task.at, pure=True), dask.delayed(_Combination(combine), pure=True)
    level = [at(f"block {place}", *blocks) for place, blocks in rows]
    while len(level) > 1:
        level = [combined(level[start:start + split_every]) for start in range(0, len(level), split_every)]
    return level[0]


class _Combination:
    """Combines a list of results, from the left to the right."""

    def __init__(self, combine: Any) -> None:
        from phintys.vm.callables.callable import Callable

        self.combine = as_task(combine) if isinstance(combine, Callable) else combine

    def __call__(self, found: Any) -> Any:
        total = found[0]
        for one in found[1:]:
            total = self._pair(total, one)
        return total

    def _pair(self, left, right):
        if isinstance(left, list):
            return [self.combine(*pair) for pair in zip(left, right)]
        if isinstance(left, dict):
            return {key: self.combine(value, right[key]) for key, value in left.items()}
        return self.combine(left, right)

    def __dask_tokenize__(self) -> Any:
        from dask.base import normalize_token

        return "combination", normalize_token(self.combine)


def _divided(task, arrays):
    """The arguments as arrays of Dask, found fit for the function; numbers stay."""
    import dask.array

    if len(arrays) != len(task.types):
        raise TypeError(f"{task!r} takes {len(task.types)} arguments, {len(arrays)} were given")
    arrays = [dask.array.asarray(array) if numpy.ndim(array) else array for array in arrays]
    for number, (array, type_) in enumerate(zip(arrays, task.types)):
        if array.ndim != type_.ndim if numpy.ndim(array) else type_.ndim:
            raise TypeError(f"argument {number} of {task!r} is a {type_}: an array of {numpy.ndim(array)} dimensions "
                            "was given")
        if numpy.ndim(array):
            try:
                type_.filter(numpy.zeros((1,) * array.ndim, array.dtype))
            except TypeError as error:
                raise TypeError(f"argument {number} of {task!r} is a {type_}, the array given has dtype {array.dtype}: "
                                f"{error}") from None
    return _aligned(arrays)


def _aligned(arrays):
    """The same with blocks that begin and end at the same elements, axis by axis from the last."""
    import dask.array

    pairs = [(array, tuple(range(array.ndim))[::-1] if numpy.ndim(array) else None) for array in arrays]
    return dask.array.core.unify_chunks(*[part for pair in pairs for part in pair])[1]


def _rows_of_blocks(arrays):
    """For each block its place, and what of each argument belongs to it."""
    divided = {array.numblocks for array in arrays if numpy.ndim(array)}
    if len(divided) != 1:
        raise ValueError(f"reduce_blocks takes one or more arrays with the same blocks: these have "
                         f"{' and '.join(map(str, sorted(divided))) or 'none'}")
    parts = [array.to_delayed() if numpy.ndim(array) else array for array in arrays]
    for place in numpy.ndindex(*divided.pop()):
        yield place, [part[place] if numpy.ndim(part) else part for part in parts]
