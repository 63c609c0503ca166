"""Packing: places values with different lifetimes in one block of memory. It works on numbers, not on programs.

A ``Value`` has a size and a life: the first and the last moment, both included, at which its memory must be its own.
Two values may overlap in memory only if their lives do not overlap. ``lay_out`` tries several methods and keeps the
best result. One method walks along time with a list of holes and gives each value the smallest hole that is large
enough and not larger than a certain ratio of its size; several ratios are tried. The other, quadratic, method places
the largest values first and is used only for programs that are not very long. A layout that reaches ``lower_bound``,
the largest sum of sizes alive at one moment, ends it, because no layout can be smaller. Where none of them does,
``layout_search`` goes on for at most ``config.plan_seconds``.
"""
from bisect import bisect_left, insort
from collections import namedtuple
from time import thread_time

from phintys.graph.config import config

ALIGNMENT = 64
RATIOS = (float("inf"), 1, 2, 4, 8, 16)
MANY = 600                      # values; for more only walks along time are tried, because the others are quadratic
VERY_MANY = 20000               # values; for more only one walk is made

Value = namedtuple("Value", "size first last")


def aligned(size):
    """Return the number of bytes that a value occupies: its size rounded up to the alignment."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def lower_bound(values):
    """Return the largest number of bytes alive at one moment.

    Parameters
    ----------
    values : sequence of Value

    Returns
    -------
    int
    """
    changes = {}
    for value in values:
        changes[value.first] = changes.get(value.first, 0) + aligned(value.size)
        changes[value.last + 1] = changes.get(value.last + 1, 0) - aligned(value.size)
    alive = peak = 0
    for moment in sorted(changes):
        alive += changes[moment]
        peak = max(peak, alive)
    return peak


def lay_out(values):
    """Compute the offsets of values in one block.

    Parameters
    ----------
    values : sequence of Value

    Returns
    -------
    list of int
        The offset of each value, a multiple of 64.
    int
        The size of the block.
    """
    return improved(values, *by_orders(values))


def by_orders(values):
    """As ``lay_out``, by simple orders alone."""
    bound = lower_bound(values)
    best = None
    for way in _ways(len(values)):
        offsets = way(values)
        total = _size(offsets, values)
        if best is None or total < best[1]:
            best = offsets, total
        if total <= bound:
            break
    return best


def greedy_size(values):
    """Return the size of the block if each value takes the smallest hole that is large enough, along time."""
    return _size(_along_time(values, RATIOS[0]), values)


def improved(values, offsets, total):
    """Search for a better layout than that of these offsets, where one may exist; return it as ``lay_out``.

    Between moments over which no value lives, the parts of a program are problems of their own.
    """
    bound = lower_bound(values)
    if total <= bound or config.plan_seconds <= 0:
        return offsets, total
    offsets, parts = list(offsets), [part for part in _parts(values) if _size(
        [offsets[number] for number in part], [values[number] for number in part]) > bound]
    until = thread_time() + config.plan_seconds
    for left, part in zip(range(len(parts), 0, -1), sorted(parts, key=len)):    # the longest gets what others leave
        found = _searched([values[number] for number in part], [offsets[number] for number in part], bound,
                          len(part) < len(values), (until - thread_time()) / left)
        for number, offset in zip(part, found):
            offsets[number] = offset
    return offsets, _size(offsets, values)


def _parts(values):
    """Return lists of the numbers of values, sorted by their begin, that share no moment with those of other lists."""
    parts, end = [], float("-inf")
    for number in sorted(range(len(values)), key=lambda number: values[number].first):
        if not parts or values[number].first > end:
            parts.append([])
        parts[-1].append(number)
        end = max(end, values[number].last)
    return parts


def _searched(values, offsets, bound, is_part, seconds):
    """Return better offsets of a part that is larger than the bound, if some are found; a part is ordered first."""
    if is_part:
        offsets = min(offsets, by_orders(values)[0], key=lambda offsets: _size(offsets, values))
    if _size(offsets, values) <= bound or len(values) > MANY or seconds <= 0:
        return offsets
    moments = sorted({value.first for value in values} | {value.last + 1 for value in values})
    sections = {moment: number for number, moment in enumerate(moments)}
    from phintys.vm.linking.layout_search import searched  # seldom called, and it imports `random`
    return searched([aligned(value.size) for value in values], [sections[value.first] for value in values],
                    [sections[value.last + 1] for value in values],
                    [value.last + 1 - value.first for value in values], offsets, bound, seconds)


def _size(offsets, values):
    """The bytes of a block."""
    return max([offset + aligned(value.size) for offset, value in zip(offsets, values)], default=0)


def _ways(count):
    """Yield functions from values to offsets, the most promising first."""
    yield lambda values: _along_time(values, RATIOS[0])
    if count <= MANY:
        for order in _ORDERS:
            yield lambda values, order=order: _one_by_one(values, order)
    if count <= VERY_MANY:
        for ratio in RATIOS[1:]:
            yield lambda values, ratio=ratio: _along_time(values, ratio)


# ---- the largest first -----------------------------------------------------------------------------------------------
_ORDERS = (
    lambda value: (-value.size, value.first),
    lambda value: (-value.size * (value.last - value.first + 1), value.first),
    lambda value: (value.first - value.last, -value.size),
)


def _one_by_one(values, order):
    """Place each value at the lowest offset that is free during its whole life."""
    offsets, placed = [0] * len(values), []
    for number in sorted(range(len(values)), key=lambda number: order(values[number])):
        value, lowest = values[number], 0
        size = aligned(value.size)
        for offset, end, other in placed:                   # sorted by offset
            if other.first <= value.last and value.first <= other.last:
                if offset >= lowest + size:
                    break
                lowest = max(lowest, end)
        offsets[number] = lowest
        insort(placed, (lowest, lowest + size, value))
    return offsets


# ---- along time ------------------------------------------------------------------------------------------------------
def _along_time(values, ratio):
    """Place and free values in the order in which the program runs."""
    offsets, holes = [0] * len(values), _Holes()
    starting = sorted(range(len(values)), key=lambda number: (values[number].first, -values[number].size))
    ending = sorted(range(len(values)), key=lambda number: values[number].last)
    ended = 0
    for number in starting:
        while values[ending[ended]].last < values[number].first:
            gone = ending[ended]
            holes.give(offsets[gone], aligned(values[gone].size))
            ended += 1
        offsets[number] = holes.take(aligned(values[number].size), ratio)
    return offsets


class _Holes:
    """Free parts of a block that grows at its end; adjacent holes are merged."""

    def __init__(self):
        self.starts, self.sizes = [], {}            # sorted starts; start → size
        self.end = 0

    def take(self, size, ratio):
        """Return an offset for ``size`` bytes: in the smallest hole up to ``ratio`` times larger, else at the end."""
        best = None
        for start in self.starts:
            if size <= self.sizes[start] <= size * ratio and (best is None or self.sizes[start] < self.sizes[best]):
                best = start
        if best is None:
            return self._extend(size)
        self._remove(best, size)
        return best

    def _remove(self, start, size):
        """Use the first ``size`` bytes of a hole."""
        position, left = bisect_left(self.starts, start), self.sizes.pop(start) - size
        if left:
            self.starts[position] = start + size
            self.sizes[start + size] = left
        else:
            del self.starts[position]

    def _extend(self, size):
        """Extend the block; a hole at its end becomes part of the new place."""
        start = self.end
        if self.starts and self.starts[-1] + self.sizes[self.starts[-1]] == self.end:
            if self.sizes[self.starts[-1]] <= size:
                start = self.starts.pop()
                del self.sizes[start]
        self.end = start + size
        return start

    def give(self, start, size):
        """Free a place, and merge it with adjacent holes."""
        position = bisect_left(self.starts, start)
        if position < len(self.starts) and self.starts[position] == start + size:
            size += self.sizes.pop(self.starts.pop(position))
        if position and self.starts[position - 1] + self.sizes[self.starts[position - 1]] == start:
            self.sizes[self.starts[position - 1]] += size
        else:
            self.starts.insert(position, start)
            self.sizes[start] = size
