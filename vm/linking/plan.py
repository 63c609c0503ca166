"""The memory plan: for known shapes, one arena in which the temporaries of a program share memory by their lifetimes.

With ``allow_gc="plan"`` the first call with some shapes of arguments and shared values takes memory from the pool, and
shows how large its values are. From the second on they stand at fixed places of one block, the frame's arena. Only
temporaries do: what is handed to a caller, stored in a shared variable, given to ``perform`` or made by it, or seen as
an object has memory of its own. Temporaries whose memory results can have afterwards come from the pool too, and so
does, for one call, a value that turns out larger than planned because its size depends on data. The plans of the last
few shapes are remembered; frames of one function share them.

This file decides; what happens at run time is in ``allocate`` (``abi.pyx``) and at the instruction PLAN.
"""
from collections import OrderedDict, namedtuple
from heapq import heappop, heappush

from phintys.vm.linking.lifetimes import Lifetimes
from phintys.vm.linking.packing import Value, lay_out, lower_bound

REMEMBERED = 8                  # tuples of shapes a function remembers
INLINE_BYTES = 16               # values up to here live in their cells

# total: bytes of the arena; offsets: of each of the planner's cells, -1 where it has no place; sizes: the room there. A
# cell that takes its donor's memory has the donor's offset and no room of its own.
Layout = namedtuple("Layout", "total offsets sizes")


def places_something(program):
    """Whether a plan can have places for any cells of the program."""
    return next(Lifetimes(program).temporaries(), None) is not None


class Planner:
    """The plans of one program.

    Attributes
    ----------
    cells : list of int
        The cells that may have a place in an arena.
    leaves : list of int
        The cells whose shapes choose the plan.
    """

    def __init__(self, program):
        self.program = program
        self.lifetimes = Lifetimes(program)
        self.cells = list(self.lifetimes.temporaries())
        loaded = {instruction.a for instruction in program.symbolic() if instruction.name == "LOAD"}
        self.leaves = [number for number, layout in enumerate(program.cells)
                       if self.cells and layout.typenum >= 0 and layout.ndim > 0
                       and (layout.kind == "argument" or number in loaded)]
        self._known = OrderedDict()                 # key → shapes of all cells, or the Layout for them

    def watched(self, key, shapes):
        """A call has shown the shapes of all cells (None: not computed) for these shapes of the leaves."""
        self._remember(key, shapes)

    def layout(self, key):
        """The plan for these shapes of the leaves, one behind the other.

        Returns
        -------
        Layout or None
            None when no call has shown the sizes.
        """
        known = self._known.get(key)
        if known is None:
            return Layout(0, [], []) if not self.cells else None
        if not isinstance(known, Layout):
            known = planned(self.lifetimes, self.cells, known)
        self._remember(key, known)
        return known

    def largest(self):
        """The size of the largest arena that a plan needs."""
        return max([known.total for known in list(self._known.values()) if isinstance(known, Layout)], default=0)

    def _remember(self, key, known):
        """Each step is whole, because frames of several threads may come here in turn."""
        self._known.pop(key, None)
        self._known[key] = known
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)


def planned(lifetimes, cells, shapes):
    """A plan for the temporaries ``cells``.

    Parameters
    ----------
    lifetimes : Lifetimes
    cells : list of int
    shapes : list of tuple or None

    Returns
    -------
    Layout
    """
    holder = lifetimes.holders(shapes)
    values = values_of(lifetimes, holder, shapes)
    free = placeable(lifetimes, holder, values)
    ways = [_laid_out(values, free)]
    handed_on = _handed_on(values, free)
    if handed_on:
        ways.append(_laid_out(values, free - handed_on))
    _, total, place = min(ways, key=lambda way: way[0])
    return Layout(total,
                  [place.get(holder[cell], -1) if shapes[cell] is not None else -1 for cell in cells],
                  [values[cell].size if cell in place else 0 for cell in cells])


def _laid_out(values, chosen):
    """(all bytes at the peak, bytes of the arena, holder → offset) when ``chosen`` holders have places."""
    offsets, total = lay_out([values[cell] for cell in values if cell in chosen])
    others = lower_bound([values[cell] for cell in values if cell not in chosen])
    return total + others, total, dict(zip([cell for cell in values if cell in chosen], offsets))


def _handed_on(values, free):
    """Temporaries whose memory the pool can hand on to a result of their size that is made when they are gone.

    If there are many, such as the layers of a network all of whose gradients are results, an arena for them would come
    on top of the results' memory.
    """
    handed_on, ended = set(), {}                    # size → those that have ended, the longest lives on top
    ending = sorted(free, key=lambda cell: values[cell].last)
    position = 0
    for cell in sorted(set(values) - free, key=lambda cell: values[cell].first):
        while position < len(ending) and values[ending[position]].last < values[cell].first:
            gone = values[ending[position]]
            heappush(ended.setdefault(gone.size, []), (gone.first, ending[position]))
            position += 1
        if ended.get(values[cell].size):
            handed_on.add(heappop(ended[values[cell].size])[1])
    return handed_on


def values_of(lifetimes, holder, shapes):
    """Holder → Value, of the memory that the program takes itself."""
    program, lives = lifetimes.program, {}
    for cell, holding in holder.items():
        if shapes[cell] is not None:
            first, last = lifetimes.touched[cell]
            before = lives.get(holding, (first, last))
            lives[holding] = min(before[0], first), max(before[1], last)
    return {cell: Value(size, *lives[cell]) for cell, size in sizes_of(program, shapes).items()
            if cell in lives and program.cells[cell].kind == "value" and size > INLINE_BYTES}


def placeable(lifetimes, holder, values):
    """The holders of memory that nobody outside the program ever sees."""
    apart = {holding for cell, holding in holder.items() if not lifetimes.is_temporary(cell)}
    return set(values) - apart


def sizes_of(program, shapes):
    """Cell → bytes, of the cells whose shapes are known."""
    sizes = {}
    for cell, shape in enumerate(shapes):
        if shape is not None and program.cells[cell].typenum >= 0:
            size = program.cells[cell].variable.type.numpy_dtype.itemsize
            for length in shape:
                size *= length
            sizes[cell] = size
    return sizes
