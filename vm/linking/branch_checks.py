"""What the verifier knows at a place in the code, and how that changes along branches and blocks.

A ``State`` notes every change, so that a branch can be taken back before the other one is walked, and the two joined
behind them: a cell is filled if it is filled on both paths, memory is overwritten if it is on one, and cells that look
at different memory on the two paths make these one memory from there on. Walking costs what changes, not what there is.
"""


class State:
    """Facts about cells.

    Attributes
    ----------
    filled, spent : list of bool
        The cell holds a value; it has been dropped, although a block that leaves a value there may be needed again.
    root : list of int
        Whose memory a cell looks at; see ``memory_of``.
    overwritten : dict
        Memory → the instruction that wrote over it, or None.
    born : list of int
        Where a cell was filled, as the number of an instruction; this is never taken back.
    """

    TABLES = ("filled", "spent", "root", "overwritten")

    def __init__(self, filled):
        self.filled, self.spent, self.root = filled, [False] * len(filled), list(range(len(filled)))
        self.overwritten, self.born = {}, [-1] * len(filled)
        self._oldest = {}                           # representative → where the first of its roots was filled
        self._changes = []                          # (table, key, what was there)
        self._joined = {}                           # root → a root with the same memory
        self._members = {}                          # representative → all roots of its memory, if more than itself
        self.entries = Entries()

    def set(self, table, key, value):
        """Change a fact."""
        old = self._now(table, key)
        if old != value:
            self._changes.append((table, key, old))
            getattr(self, table)[key] = value
            if self.entries.readers:
                self._tell(table, key, value)

    def _tell(self, table, key, value):
        """Let blocks be looked at again that read what has changed."""
        if table == "overwritten":
            if value is not None:
                for root in self.members(self.memory(key)):
                    self.entries.changed_root(root)
        else:
            self.entries.changed(key, value if table == "root" else None)

    # ---- memory ------------------------------------------------------------------------------------------------------
    def memory_of(self, cell):
        """What names the memory that a cell looks at."""
        return self.memory(self.root[cell])

    def memory(self, root):
        """What names the memory of a root."""
        joined = self._joined
        while root in joined:
            root = joined[root]
        return root

    def members(self, memory):
        """The cells whose own memory it may be."""
        return self._members.get(memory, (memory,))

    def join_memory(self, first, second):
        """From here on the two may be one."""
        first, second = self.memory(first), self.memory(second)
        if first == second:
            return
        if len(self.members(first)) < len(self.members(second)):
            first, second = second, first
        self._joined[second] = first
        self._oldest[first] = min(self._born(first), self._born(second))
        self._members.setdefault(first, [first]).extend(self.members(second))
        if self.overwritten.get(second) is not None:
            self.set("overwritten", first, self.overwritten[second])
        if self.overwritten.get(first) is not None and self.entries.readers:
            self._tell("overwritten", first, self.overwritten[first])

    def _born(self, memory):
        return self._oldest.get(memory, self.born[memory])

    # ---- branches ----------------------------------------------------------------------------------------------------
    def mark(self):
        """A point to come back to."""
        return len(self._changes)

    def take_back(self, mark, since):
        """Undo what has changed since the mark, which was made at the instruction ``since``.

        Returns
        -------
        dict
            (table, key) → the fact as it was before it was undone; only what matters to whoever comes later: nothing
            about memory that was new and that nobody looks at any more.
        """
        found = {}
        while len(self._changes) > mark:
            table, key, old = self._changes.pop()
            facts = getattr(self, table)
            found.setdefault((table, key), facts.get(key) if table == "overwritten" else facts[key])
            facts[key] = old
            if self.entries.readers:
                self._tell(table, key, old)
        filled = {cell for (table, cell), value in found.items() if table == "filled" and value}
        alive = {self.memory(found.get(("root", cell), self.root[cell])) for cell in filled}
        return {(table, key): value for (table, key), value in found.items() if self._now(table, key) != value
                and not (table == "root" and key not in filled and not self.filled[key])
                and not (table == "overwritten" and self._born(key) > since and self.memory(key) not in alive)}

    def _now(self, table, key):
        facts = getattr(self, table)
        return facts.get(key) if table == "overwritten" else facts[key]

    def join(self, first, second):
        """Behind a branch: the facts that two paths have changed, both taken back, become facts for both."""
        places = sorted({*first, *second}, key=lambda place: self.TABLES.index(place[0]))
        for table, key in places:
            now = self._now(table, key)
            one, other = first.get((table, key), now), second.get((table, key), now)
            if table == "filled":
                self.set(table, key, one and other)
            elif table == "spent":
                self.set(table, key, one or other)
            elif table == "overwritten":
                if one is not None or other is not None:
                    self.set(table, self.memory(key), other if one is None else one)
            elif self.filled[key]:
                self.join_memory(one, other)
                self.set(table, key, one)


class Branch:
    """A branch that is being walked: where its parts end, and what the first of them changed."""

    __slots__ = ("first", "otherwise", "end", "mark", "changes")

    def __init__(self, first, otherwise, mark):
        self.first, self.otherwise, self.end, self.mark, self.changes = first, otherwise, None, mark, None


class Summary:
    """What a block does to whoever enters it.

    Attributes
    ----------
    first, last : int
        Its instructions.
    own : set of int
        Cells that it writes.
    reads : dict
        Number of a block, or None for the main program → the cells written there that it reads itself, in order.
    needs : dict
        The blocks that it needs itself, in order.
    needed_by : list of Summary
    homes : set
        Where the cells are written that it reads, or a block that it needs in the end.
    overwrites : list of (int, int, int)
        (cell of others, output, instruction) of what it overwrites.
    leaves : dict
        Own cells that it leaves filled → their roots.
    writers : set of int
        These instructions; they may stand in blocks that it needs.
    """

    def __init__(self, first, last):
        self.first, self.last = first, last
        self.own, self.reads, self.overwrites, self.leaves, self.writers = set(), {}, [], {}, set()
        self.needs, self.needed_by, self.homes = {}, [], set()

    def close(self, number, roots):
        """All is known: ``roots`` are those of the own cells that it leaves filled."""
        self.leaves = roots
        self.homes = set(self.reads).union(*[block.homes for block in self.needs]) - {number}
        for block in self.needs:
            block.needed_by.append(self)


class Entries:
    """Which blocks have been found fit to be entered, so that none is looked at again before something has changed.

    What a block reads must be there wherever it is entered, and so must what those blocks read that it needs. A fit
    block needs fit blocks only.

    Attributes
    ----------
    readers : dict
        Cell → the blocks that read it themselves.
    """

    def __init__(self):
        self.readers, self._fit, self._looking = {}, set(), {}     # _looking: root → cells that have looked at it

    def add(self, block):
        """Know of one more block."""
        for cells in block.reads.values():
            for cell in cells:
                self.readers.setdefault(cell, []).append(block)

    def forget(self):
        """Another part of the program is walked, where no block has been entered."""
        self._fit.clear()

    def unfit(self, block, home):
        """The blocks to look at before ``block`` is entered in ``home``; after this they count as fit.

        Yields
        ------
        Summary
        """
        waiting = [block]
        while waiting:
            block = waiting.pop()
            if block not in self._fit and home in block.homes:
                self._fit.add(block)
                waiting.extend(block.needs)
                yield block

    def changed(self, cell, root=None):
        """Something else is known of a cell than before; it may look at another ``root``."""
        if cell in self.readers:
            if root is not None:
                self._looking.setdefault(root, []).append(cell)
            waiting = list(self.readers[cell])
            while waiting:
                block = waiting.pop()
                if block in self._fit:
                    self._fit.discard(block)
                    waiting.extend(block.needed_by)

    def changed_root(self, root):
        """Something else is known of the memory of ``root``."""
        self.changed(root)
        for cell in self._looking.get(root, ()):
            self.changed(cell)
