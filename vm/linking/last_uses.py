"""Finds where cells are used last, on every path of a program with branches and blocks.

The code is a tree of *regions*: the main program and each block are roots, and each arm of a jump is a region inside
another. A cell whose last use is in one arm is dropped after that use, and also at the start of the other arm. What a
block reads from outside, or leaves filled, counts as used until the last instruction that may enter the block, at a
point where all paths have met again. The cost is logarithmic in the size of the code for each use and each DROP.
"""
from bisect import bisect_right
from heapq import heapify, heappop, heappush

from phintys.graph.lazy_regions import Region, ancestor_at, common_region

EXACT_LEVELS = 64               # a value used more levels than this below its first use is dropped where paths join


class PathRegion(Region):
    """A root, or an arm of a jump (its ``node`` is then the Jump)."""

    __slots__ = ("start", "entered")

    def __init__(self, parent, node, branch, start):
        super().__init__(parent, node, branch)
        self.start = start              # the region begins after this instruction
        self.entered = []               # of a block: the positions of the NEEDs


class Jump:
    """The parts of a branch: positions of JUMPZ, of the label of its second arm, and of the label after it."""

    __slots__ = ("first", "second", "end")

    def __init__(self, first):
        self.first, self.second, self.end = first, None, None


class PathRegions:
    """The tree of regions of symbolic code.

    Attributes
    ----------
    of : list of PathRegion
        For each position; that of a JUMPZ, and that of the label after a branch, belong to the region around
        the branch.
    halt : int
        The position of HALT; blocks come after it.
    """

    def __init__(self, code):
        self.of = []
        self.halt = next(position for position, instruction in enumerate(code) if instruction.name == "HALT")
        self._blocks = {}                       # label → PathRegion
        self._arms = {}                         # Jump → its two arms
        self._jump_at = {}                      # position of a JUMPZ → Jump
        self._build(code)
        self._last_entry = self._find_calls()

    def _build(self, code):
        current = self.main = PathRegion(None, None, None, -1)
        number, otherwise, ends = 0, {}, {}     # labels → the jumps that they belong to
        for position, instruction in enumerate(code):
            name, label = instruction.name, instruction.a
            if name == "JUMPZ":
                self.of.append(current)
                jump = otherwise[label] = self._jump_at[position] = Jump(position)
                current = PathRegion(current, jump, 0, position)
                self._arms[jump] = [current]
                continue
            if name == "JUMP":
                ends[label] = current.node
            elif name == "LABEL" and label in otherwise:
                jump = otherwise[label]
                jump.second = position
                current = PathRegion(current.parent, jump, 1, position)
                self._arms[jump].append(current)
            elif name == "LABEL" and label in ends:
                ends[label].end = position
                current = current.parent
            elif name == "LABEL":
                number += 1
                current = self._blocks.setdefault(label, PathRegion(None, None, None, position))
                current.number = number
            elif name == "NEED":
                self._blocks.setdefault(label, PathRegion(None, None, None, None)).entered.append(position)
            self.of.append(current)

    # ---- positions in one root ---------------------------------------------------------------------------------------
    def _find_calls(self):
        """Map each block to the position, in another root, after which nothing enters it; callers come first."""
        last_entry = {}
        for block in sorted(self._blocks.values(), key=lambda block: -block.number):
            positions = self._in_one_root(block.entered, last_entry)
            around = self.of[positions[0]]
            for position in positions:
                around = common_region(around, self.of[position])
            last_entry[block] = self._end_of_step(around, positions[-1])
        return last_entry

    def _end_of_step(self, around, position):
        """Return the last position of the step of the region ``around`` that contains ``position``."""
        region = self.of[position]
        return position if region is around else ancestor_at(region, around.depth + 1).node.end

    def _in_one_root(self, positions, last_entry):
        """Return sorted positions in one root; one in a block is replaced by the last position that enters it."""
        roots = {}
        for position in positions:
            roots.setdefault(ancestor_at(self.of[position], 0), set()).add(position)
        waiting = [(root.number, root) for root in roots if root is not self.main]
        heapify(waiting)
        while len(roots) > 1:
            _, inner = heappop(waiting)                 # blocks that need it have greater numbers
            del roots[inner]
            position = last_entry[inner]
            around = ancestor_at(self.of[position], 0)
            if around not in roots:
                roots[around] = set()
                if around is not self.main:
                    heappush(waiting, (around.number, around))
            roots[around].add(position)
        return sorted(*roots.values())

    # ---- last uses ---------------------------------------------------------------------------------------------------
    def last_uses(self, positions, is_given=False):
        """Yield the positions after which a cell is to be dropped.

        Parameters
        ----------
        positions : collection of int
            Where the cell is read or written.
        is_given : bool
            The cell is filled before the program starts.

        Yields
        ------
        int
        """
        positions = self._in_one_root([*positions, 0] if is_given else positions, self._last_entry)
        base = self.main if is_given else self.of[positions[0]]
        for position in positions:
            base = common_region(base, self.of[position])
        waiting = [(base, 0, len(positions))]
        while waiting:
            region, low, high = waiting.pop()
            last = positions[high - 1]
            if last in self._jump_at:           # read as a condition: dropped at the start of both arms
                yield from [arm.start for arm in self._arms[self._jump_at[last]]]
                continue
            if self.of[last] is region:
                yield last
                continue
            jump = ancestor_at(self.of[last], region.depth + 1).node
            if region.depth - base.depth >= EXACT_LEVELS:
                yield jump.end
                continue
            middle = bisect_right(positions, jump.second, low, high)
            first = bisect_right(positions, jump.first, low, high)
            for arm, begin, end in zip(self._arms[jump], (first, middle), (middle, high)):
                if begin < end:
                    waiting.append((arm, begin, end))
                else:
                    yield arm.start
