"""Packing: where in one block of memory values stand that do not live at the same time. Numbers only, no programs.

A ``Value`` has a size and a life, the first and the last moment at which its memory must be its own, both included. Two
values may overlap in memory only if their lives do not. ``lay_out`` tries several ways and keeps the best: walking
along time with a list of holes, in which a value takes the smallest hole that is not too large for it, for several
ratios of what too large is; and, for programs that are not very long, placing the largest values first. It stops at
``lower_bound``, the largest sum of sizes alive at one moment, below which no layout can be.
"""
from bisect import bisect_left, insort
from collections import namedtuple

ALIGNMENT = 64
RATIOS = (float("inf"), 1, 2, 4, 8, 16)
MANY = 600                      # values; of more, only walks along time are tried: they are linear
VERY_MANY = 20000               # of which one must do

Value = namedtuple("Value", "size first last")


def aligned(size):
    """The size that a value takes up."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def lower_bound(values):
    """The largest number of bytes alive at one moment.

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
    """Offsets for values in one block.

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
    bound = lower_bound(values)
    best = None
    for way in _ways(len(values)):
        offsets = way(values)
        total = max([offset + aligned(value.size) for offset, value in zip(offsets, values)], default=0)
        if best is None or total < best[1]:
            best = offsets, total
        if total <= bound:
            break
    return best


def _ways(count):
    """Functions from values to offsets, the most promising first."""
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
    """Each value at the lowest place that is free all its life."""
    offsets, placed = [0] * len(values), []
    for number in sorted(range(len(values)), key=lambda number: order(values[number])):
        value, lowest = values[number], 0
        size = aligned(value.size)
        for offset, end, other in placed:                   # in the order of their offsets
            if other.first <= value.last and value.first <= other.last:
                if offset >= lowest + size:
                    break
                lowest = max(lowest, end)
        offsets[number] = lowest
        insort(placed, (lowest, lowest + size, value))
    return offsets


# ---- along time ------------------------------------------------------------------------------------------------------
def _along_time(values, ratio):
    """Places are taken and given back in the order in which the program runs."""
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
    """Free stretches of a block that grows at its end; neighbours are joined."""

    def __init__(self):
        self.starts, self.sizes = [], {}            # in order; start → size
        self.end = 0

    def take(self, size, ratio):
        """The offset of ``size`` bytes: in the smallest hole of at most ``ratio`` times that, else at the end."""
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
        """Make the block larger; a hole at its end is part of the new place."""
        start = self.end
        if self.starts and self.starts[-1] + self.sizes[self.starts[-1]] == self.end:
            if self.sizes[self.starts[-1]] <= size:
                start = self.starts.pop()
                del self.sizes[start]
        self.end = start + size
        return start

    def give(self, start, size):
        """A place is free again."""
        position = bisect_left(self.starts, start)
        if position < len(self.starts) and self.starts[position] == start + size:
            size += self.sizes.pop(self.starts.pop(position))
        if position and self.starts[position - 1] + self.sizes[self.starts[position - 1]] == start:
            self.sizes[self.starts[position - 1]] += size
        else:
            self.starts.insert(position, start)
            self.sizes[start] = size
