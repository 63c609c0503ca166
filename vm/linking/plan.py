"""The memory plan: for known shapes, one arena in which the temporaries of a program share memory by their lifetimes.

With ``allow_gc="plan"`` the first call with certain shapes of arguments and shared values takes memory from the pool
and records how large its values are. From the second such call on, temporaries have fixed places in one block, the
arena of the frame. Only temporaries do: values that are returned to the caller, stored in a shared variable, passed to
``perform``, made by it, or seen as objects have separate memory. So do temporaries that end before results need as much
memory as they did, and, for one call, a value that turns out larger than planned because its size depends on data. A
program remembers the plans of the last few shapes; its frames share them.

This file only decides; ``allocate`` (``abi.pyx``) and the instruction PLAN act on the decision at run time.
"""
from collections import OrderedDict, namedtuple
from heapq import heappop, heappush
from itertools import accumulate
from operator import add
from weakref import ref

from phintys.graph.config import config
from phintys.vm.linking.lifetimes import Lifetimes
from phintys.vm.linking.packing import ALIGNMENT, Value, aligned, by_orders, improved
from phintys.vm.program import DTYPES

REMEMBERED = 8                  # how many tuples of shapes a function remembers
INLINE_BYTES = 16               # values of at most this size are stored in their cells
PARTS = 4                       # of the largest value: steps of the bytes outside of the arena that are tried

# total: bytes of the arena. offsets: one for each cell of the planner, -1 if it has no place. sizes: the bytes of
# each place. A cell that takes its donor's memory has the donor's offset and size 0.
ArenaPlan = namedtuple("ArenaPlan", "total offsets sizes")


def places_something(program):
    """Return whether a plan could place any cell of the program."""
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
        self._known = OrderedDict()                 # key → shapes of all cells, or the ArenaPlan for them
        self.group = None                           # the Group whose arena the program uses, if it shares one

    def watched(self, key, shapes):
        """Record the shapes of all cells (None: not computed) that a call had for these shapes of the leaves."""
        self._remember(key, shapes)

    def layout(self, key):
        """Return the plan for these shapes of the leaves, concatenated.

        Returns
        -------
        ArenaPlan or None
            None if no call has recorded the sizes yet.
        """
        known = self._known.get(key)
        if known is None:
            return ArenaPlan(0, [], []) if not self.cells else None
        if not isinstance(known, ArenaPlan):
            known = planned(self.lifetimes, self.cells, known)
        self._remember(key, known)
        return known

    def largest(self):
        """Return the size of the largest arena that a remembered plan needs."""
        return max([known.total for known in list(self._known.values()) if isinstance(known, ArenaPlan)], default=0)

    def room(self, layout):
        """Return (least, most) bytes of the arena for a plan; the other functions of the group give up theirs."""
        if self.group is None or not layout.total:
            return layout.total, self.largest()
        return [self.group.taken_by(self, layout.total)] * 2

    def _remember(self, key, known):
        """Store a plan. Each step is atomic, because frames of several threads may get here one after another."""
        self._known.pop(key, None)
        self._known[key] = known
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)


class Group:
    """Functions that share one arena: while none of them runs, at most one of them has it.

    A function takes it when it is called after another. All arenas have the size of the largest, so that the block goes
    from function to function. Functions that run at the same time have arenas of their own.

    Attributes
    ----------
    members : dict
        Planner → weak reference to its function.
    """

    def __init__(self):
        self.members = {}

    def add(self, planner, function):
        """Let a function share the arena; it leaves the group that it was in."""
        if planner.group is not None:
            planner.group.members.pop(planner, None)
        self.members[planner] = ref(function)
        planner.group = self

    def taken_by(self, planner, total):
        """Take the arena from the others, and return the size that the planner's should have."""
        for other, reference in list(self.members.items()):
            function = reference()
            if function is None:
                del self.members[other]
            elif other is not planner:
                function.free()
        return max(total, *[other.largest() for other in self.members])


def planned(lifetimes, cells, shapes):
    """Make a plan for the temporaries ``cells``.

    Parameters
    ----------
    lifetimes : Lifetimes
    cells : list of int
    shapes : list of tuple or None

    Returns
    -------
    ArenaPlan
    """
    holder = lifetimes.holders(shapes)
    values = values_of(lifetimes, holder, shapes)
    free = placeable(lifetimes, holder, values)
    staying = free - leaving(values, free)
    chosen = {cell: value for cell, value in values.items() if cell in staying}
    offsets, total = by_orders(list(chosen.values()))
    offsets, total = improved(list(chosen.values()), offsets, total)
    offset_of = dict(zip(chosen, offsets))
    plan = ArenaPlan(total,
                     [offset_of.get(holder[cell], -1) if shapes[cell] is not None else -1 for cell in cells],
                     [values[cell].size if cell in offset_of else 0 for cell in cells])
    if config.check_plans:
        check_plan(lifetimes, cells, shapes, plan)
    return plan


def check_plan(lifetimes, cells, shapes, plan):
    """Raise if a plan gives memory to two cells at once, by going through the program moment by moment.

    A cell may have the place of its donor from the moment on at which the donor is read for the last time; in programs
    with lazy branches, on the path of the cell.
    """
    is_lazy = any([instruction.name == "JUMPZ" for instruction in lifetimes.program.symbolic()])
    holder = lifetimes.holders(shapes) if is_lazy else {}
    sizes, place = sizes_of(lifetimes.program, shapes), {}
    for cell, offset in zip(cells, plan.offsets):
        if offset >= 0:
            place[cell] = offset, offset + sizes[cell]
            if offset % ALIGNMENT or place[cell][1] > plan.total:
                raise AssertionError(f"cell {cell} has {place[cell]} of {plan.total} bytes")
    begins, ends = {}, {}
    for cell in place:
        first, last = lifetimes.touched[cell]
        begins.setdefault(first, []).append(cell)
        ends.setdefault(last, []).append(cell)
    alive = set()
    for moment in sorted({*begins, *ends}):
        taken = {lifetimes.roots.get(donor, donor) for donor in
                 [lifetimes.program.cells[cell].donor for cell in begins.get(moment, ())] if donor is not None}
        alive.update(begins.get(moment, ()))
        here = sorted({holder.get(cell, cell): (place[cell], cell) for cell in alive
                       if not (cell in taken and lifetimes.touched[cell][1] == moment)}.values())
        for (one, low), (other, high) in zip(here, here[1:]):
            if one[1] > other[0]:
                raise AssertionError(f"cells {low} and {high} share bytes at instruction {moment}: {one}, {other}")
        alive.difference_update(ends.get(moment, ()))


def leaving(values, free):
    """Return the temporaries that need no memory at the time at which the rest of a call needs most: the pool has them.

    A call takes the most that lives in the arena at once, and the most that lives outside of it, such as results. The
    two are seldom at the same moment: activations of a network end while gradients that are returned are computed. So
    temporaries that live when the arena is fullest, and end before much lives outside, are better there as well.

    Parameters
    ----------
    values : dict
        Holder → Value, of all memory that the program allocates.
    free : set
        The holders of temporaries.

    Returns
    -------
    set
        Of ``free``.
    """
    length = max([value.last for value in values.values()], default=0) + 1

    def alive(cells):
        return _alive([values[cell] for cell in cells], length)

    inside, outside = alive(free), alive(set(values) - free)
    whole, most = max(map(add, inside, outside)), max(outside)
    best, least = set(), max(inside) + most
    largest = max([aligned(values[cell].size) for cell in free], default=0)
    for part in range(PARTS + 1):
        if least == whole:
            break
        limit = most + largest * part // PARTS
        chosen = _fitting(values, free, inside, outside, limit, whole - limit)
        total = max(alive(free - chosen)) + max(map(add, outside, alive(chosen)))
        if total < least:
            best, least = chosen, total
    left = alive(free - best)
    level = max(left)
    for cell in sorted(best, key=lambda cell: (values[cell].last - values[cell].first, cell)):
        size, first, end = aligned(values[cell].size), values[cell].first, values[cell].last + 1
        if max(left[first:end]) + size <= level:                    # it may as well stay
            left[first:end] = [others + size for others in left[first:end]]
            best.remove(cell)
    return best


def _fitting(values, free, inside, outside, limit, enough):
    """Return the temporaries that fit into ``limit`` bytes with what lives outside; of too many those that end first.

    Only those count that live when more than ``enough`` bytes live inside; the others may stay.
    """
    full = list(accumulate([alive > enough for alive in inside], initial=0))
    starting, ended = [[] for _ in inside], [[] for _ in inside]
    for cell in free:
        if full[values[cell].last + 1] > full[values[cell].first]:
            starting[values[cell].first].append(cell)
            ended[values[cell].last].append(cell)
    chosen, ending, used = set(), [], 0
    for moment, beside in enumerate(outside):
        for cell in starting[moment]:
            chosen.add(cell)
            heappush(ending, (-values[cell].last, cell))
            used += aligned(values[cell].size)
        while used and used + beside > limit:
            cell = heappop(ending)[1]
            chosen.remove(cell)
            used -= aligned(values[cell].size)
        used -= sum([aligned(values[cell].size) for cell in ended[moment] if cell in chosen])
    return chosen


def _alive(values, length):
    """Return the bytes of values alive at each of ``length`` moments."""
    changes = [0] * (length + 1)
    for value in values:
        changes[value.first] += aligned(value.size)
        changes[value.last + 1] -= aligned(value.size)
    return list(accumulate(changes))[:length]


def values_of(lifetimes, holder, shapes):
    """Map holders to Values, for the memory that the program itself allocates."""
    program, lives = lifetimes.program, {}
    for cell, holding in holder.items():
        if shapes[cell] is not None:
            first, last = lifetimes.touched[cell]
            before = lives.get(holding, (first, last))
            lives[holding] = min(before[0], first), max(before[1], last)
    return {cell: Value(size, *lives[cell]) for cell, size in sizes_of(program, shapes).items()
            if cell in lives and program.cells[cell].kind == "value" and size > INLINE_BYTES}


def placeable(lifetimes, holder, values):
    """Return the holders whose memory never leaves the program."""
    apart = {holding for cell, holding in holder.items() if not lifetimes.is_temporary(cell)}
    return set(values) - apart


def sizes_of(program, shapes):
    """Map each cell whose shape is known to its size in bytes."""
    sizes = {}
    for cell, shape in enumerate(shapes):
        if shape is not None and program.cells[cell].typenum >= 0:
            size = DTYPES[program.cells[cell].typenum].itemsize
            for length in shape:
                size *= length
            sizes[cell] = size
    return sizes
