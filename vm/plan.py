"""The memory plan: for known shapes, one arena in which the temporaries of a program share memory by their lifetimes.

With ``allow_gc="plan"`` the first call with some shapes of arguments and shared values takes memory from the pool, and
shows how large its values are. From the second on they stand at fixed places of one block, the frame's arena. Only
temporaries do: what is handed to a caller, stored in a shared variable, given to ``perform`` or made by it, or seen as
an object has memory of its own. A value that turns out larger than planned, because its size depends on data, takes
memory from the pool for that call. The plans of the last few shapes are remembered; frames of one function share them.

This file decides; what happens at run time is in ``allocate`` (``abi.pyx``) and at the instruction PLAN.
"""
from collections import OrderedDict, namedtuple

from phintys.vm.lifetimes import Lifetimes
from phintys.vm.opcodes import OPCODES
from phintys.vm.packing import Value, lay_out

REMEMBERED = 8                  # tuples of shapes a function remembers
INLINE_BYTES = 16               # values up to here live in their cells

# total: bytes of the arena; offsets: of each of the planner's cells, -1 where it has no place; sizes: the room there. A
# cell that takes its donor's memory has the donor's offset and no room of its own.
Layout = namedtuple("Layout", "total offsets sizes")


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
        self.cells = [cell for cell in self.lifetimes.order if self.lifetimes.is_temporary(cell)]
        loaded = {instruction.a for instruction in program.instructions()
                  if OPCODES[instruction.op].name == "LOAD"}
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
        return max([known.total for known in self._known.values() if isinstance(known, Layout)], default=0)

    def _remember(self, key, known):
        self._known[key] = known
        self._known.move_to_end(key)
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
    offsets, total = lay_out(list(values.values()))
    place = dict(zip(values, offsets))
    return Layout(total,
                  [place.get(holder[cell], -1) if shapes[cell] is not None else -1 for cell in cells],
                  [values[cell].size if cell in values else 0 for cell in cells])


def values_of(lifetimes, holder, shapes):
    """Holder → Value, of the memory that nobody outside the program ever sees."""
    lives, apart = {}, set()
    for cell, holding in holder.items():
        if not lifetimes.is_temporary(cell):
            apart.add(holding)
        if shapes[cell] is not None:
            first, last = lifetimes.touched[cell]
            before = lives.get(holding, (first, last))
            lives[holding] = min(before[0], first), max(before[1], last)
    return {cell: Value(size, *lives[cell]) for cell, size in sizes_of(lifetimes.program, shapes).items()
            if cell in lives and cell not in apart and lifetimes.is_temporary(cell) and size > INLINE_BYTES}


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
