"""The facts that the verifier keeps about cells, and how branches and blocks change them.

A ``State`` records every change. The verifier undoes the changes of one arm before it walks the other, and joins both
after the branch: a cell counts as filled if it is filled on both paths, memory counts as overwritten if it is
overwritten on one, and if a cell refers to different memory on the two paths, both memories count as one from there
on. The cost is proportional to what changes, not to the number of cells.
"""


class State:
    """Facts about cells.

    Attributes
    ----------
    filled, spent : list of bool
        filled: the cell holds a value. spent: it has been dropped, although a block that fills it may still be needed.
    root : list of int
        The cell whose memory a cell refers to; see ``memory_of``.
    overwritten : dict
        Memory → the instruction that overwrote it, or None.
    born : list of int
        The instruction that filled a cell last; changes to it are never undone.
    """

    TABLES = ("filled", "spent", "root", "overwritten")

    def __init__(self, filled):
        self.filled, self.spent, self.root = filled, [False] * len(filled), list(range(len(filled)))
        self.overwritten, self.born = {}, [-1] * len(filled)
        self._oldest = {}                           # memory → the position where the first of its roots was filled
        self._changes = []                          # (table, key, old value)
        self._joined = {}                           # root → a root with the same memory, as in a union-find
        self._members = {}                          # memory → all its roots, if there are several
        self.entries = Entries()

    def set(self, table, key, value):
        """Change a fact and record the old one."""
        facts = getattr(self, table)
        old = facts.get(key) if table == "overwritten" else facts[key]
        if old != value:
            self._changes.append((table, key, old))
            facts[key] = value
            if self.entries.readers:
                self._tell(table, key, value)

    def _tell(self, table, key, value):
        """Mark the blocks that read a changed fact, so that they are checked again."""
        if table == "overwritten":
            if value is not None:
                for root in self.members(self.memory(key)):
                    self.entries.changed_root(root)
        else:
            self.entries.changed(key, value if table == "root" else None)

    # ---- memory ------------------------------------------------------------------------------------------------------
    def memory_of(self, cell):
        """Return the root that represents the memory which a cell refers to."""
        return self.memory(self.root[cell])

    def is_intact(self, cell):
        """Return whether nothing has overwritten the memory that a cell refers to."""
        return self.overwritten.get(self.memory(self.root[cell])) is None

    def memory(self, root):
        """Return the root that represents the memory of ``root``."""
        joined = self._joined
        while root in joined:
            root = joined[root]
        return root

    def members(self, memory):
        """Return the cells that the memory may belong to."""
        return self._members.get(memory, (memory,))

    def join_memory(self, first, second):
        """Treat the memory of two roots as one from here on, because a cell may refer to either."""
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
        """Return a point that ``take_back`` can return to."""
        return len(self._changes)

    def take_back(self, mark, since):
        """Undo all changes since a mark, which was made at the instruction ``since``.

        Returns
        -------
        dict
            (table, key) → the fact before it was undone. Only facts that matter later are included: none about memory
            that was new and that no filled cell refers to.
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
        """Merge the changes of the two paths of a branch, both undone before, into facts that hold on both."""
        entries = sorted({*first, *second}, key=lambda entry: self.TABLES.index(entry[0]))
        for table, key in entries:
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
    """A branch that is being walked: where its arms end, and what the first arm changed."""

    __slots__ = ("first", "otherwise", "end", "mark", "changes")

    def __init__(self, first, otherwise, mark):
        self.first, self.otherwise, self.end, self.mark, self.changes = first, otherwise, None, mark, None


class Summary:
    """The effects of a block on the code that enters it.

    Attributes
    ----------
    first, last : int
        Its first and last instruction.
    own : set of int
        Cells that it writes.
    reads : dict
        Number of a block, or None for the main program → the cells written there that this block reads itself.
    needs : dict
        The blocks that this block itself needs, in order → the homes of cells that they read, of those that are not
        filled here, before they are needed.
    needed_by : list of Summary
    homes : set
        Numbers of the blocks (None: the main program) that write cells which this block, or a block it needs, reads,
        and which are to be filled where this block is entered.
    overwrites : list of (int, int, int)
        (cell written elsewhere, output, instruction), for each cell from elsewhere that this block overwrites.
    leaves : dict
        Own cells that it leaves filled → their roots.
    writers : set of int
        The instructions that overwrite cells from elsewhere, also those in blocks that this block needs.
    """

    def __init__(self, first, last):
        self.first, self.last = first, last
        self.own, self.reads, self.overwrites, self.leaves, self.writers = set(), {}, [], {}, set()
        self.needs, self.needed_by, self.homes = {}, [], set()

    def close(self, number, roots):
        """Complete the summary; ``roots`` are the roots of the own cells that the block leaves filled."""
        self.leaves = roots
        self.homes = set(self.reads).union(*self.needs.values()) - {number}
        for block in self.needs:
            block.needed_by.append(self)


    def all_reads(self, home):
        """Yield the cells written in a block that this block, or one that it needs, reads before they are filled."""
        waiting, seen = [self], set()
        while waiting:
            block = waiting.pop()
            if block not in seen:
                seen.add(block)
                yield from block.reads.get(home, ())
                waiting.extend([needed for needed, homes in block.needs.items() if home in homes])


class Entries:
    """Blocks whose entry has been checked, so that no block is checked again before a fact it reads has changed.

    What a block reads must be filled wherever the block is entered, and so must what the blocks it needs read. If a
    block is fit (checked), all blocks that it needs are fit.

    Attributes
    ----------
    readers : dict
        Cell → the blocks that read it directly.
    """

    def __init__(self):
        self.readers, self._fit, self._looking = {}, set(), {}     # _looking: root → cells that have referred to it

    def add(self, block):
        """Add a block."""
        for cells in block.reads.values():
            for cell in cells:
                self.readers.setdefault(cell, []).append(block)

    def forget(self):
        """Forget all checks, because another part of the program is walked, which has entered no block yet."""
        self._fit.clear()

    def unfit(self, block, home):
        """Yield the blocks to check before ``block`` is entered in ``home``; from then on they count as fit.

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
        """Note that a fact about a cell has changed; the cell may now refer to another ``root``."""
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
        """Note that a fact about the memory of ``root`` has changed."""
        self.changed(root)
        for cell in self._looking.get(root, ()):
            self.changed(cell)
