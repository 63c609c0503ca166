"""Groups kernels after one TOGETHER instruction as independent branches, so that workers may share them.

A branch is one kernel, or several of which each reads what the one before it has computed: the values of a long path
share a worker, those of another path another one. Only kernels that use one thread are grouped; their ops set
``runs_alone``. Other kernels use the workers themselves. Whether several workers run a group is decided at each call,
when sizes are known: see TOGETHER in ``interpreter.pyx``. All kernels of a group are prepared before any of them runs,
so none may examine values that another one computes, or continue behind a view, whose memory is known when it has run.

A kernel moves forward past others, and the kernels it depends on move before the group, only if the only memory they
share is read by all of them, so the result is the same in every order. Nothing moves more than WINDOW instructions,
because the schedule was made to keep few values alive. The cost is linear in the length of the code.
"""
from phintys.vm.opcodes import CONTINUES
from phintys.vm.symbolic import SymbolicInstruction
from phintys.vm.views import memories_of

WINDOW = 32                     # the largest number of instructions that a kernel moves past
LARGEST = 16                    # the largest number of kernels in a group
PASSED = frozenset(["KERNEL", "CALL", "COPY"])      # a kernel may move past these; others end the search


class Branch:
    """Kernels of which each but the first depends on an earlier one, and no other kernel of the group."""

    def __init__(self):
        self.positions, self.members = [], 0        # as bits, the lowest is the first kernel of the group

    def append(self, position, bit):
        """Add the next kernel of the branch."""
        self.positions.append(position)
        self.members |= bit


def side_by_side(code, cells, kernels):
    """Return symbolic code with independent branches in groups.

    Parameters
    ----------
    code : list of SymbolicInstruction
        The emitter's code, without DROPs.
    cells : list of CellLayout
    kernels : list of Kernel

    Returns
    -------
    list of SymbolicInstruction
        The same instructions, with a TOGETHER before each group that holds the number of its kernels.
    """
    candidates = [is_candidate(instruction) for instruction in code]
    if sum(candidates) < 2:
        return code
    grouped, taken, last_taken = [], set(), -1
    happening = effects_of(code, cells)
    conflicts = conflicts_of(happening)
    nearest = nearest_of(conflicts)
    for position, instruction in enumerate(code):
        if position in taken:
            continue
        # The first kernel beside this one needs nothing from here on, but for what an earlier group has taken.
        if candidates[position] and (position < last_taken or min(
                nearest[position + 1:position + 1 + WINDOW], default=position) < position):
            branches, before = branches_from(code, position, candidates, happening, conflicts, taken, kernels)
            if len(branches) > 1:
                members = [member for branch in branches for member in branch]
                taken.update(members, before)
                last_taken = max(last_taken, *members)
                grouped.extend([code[earlier] for earlier in before])
                grouped.append(SymbolicInstruction("TOGETHER", a=len(members), remark="if that pays"))
                grouped.extend([code[member]._replace(flags=0 if member == branch[0] else CONTINUES)
                                for branch in branches for member in branch])
                continue
        grouped.append(instruction)
    return grouped


def is_candidate(instruction):
    """Return whether an instruction is a kernel that uses one thread."""
    return instruction.name == "KERNEL" and instruction.node is not None and instruction.node.op.runs_alone


def branches_from(code, first, candidates, happening, conflicts, taken, kernels):
    """Return the branches of the group that begins with ``first``, as lists of positions, and positions of kernels to
    run before the group."""
    branches, passed, before, members = [Branch()], 0, [], 1
    branches[0].append(first, 1)
    for position in range(first + 1, min(first + 1 + WINDOW, len(code))):
        if position in taken:
            continue
        name = code[position].name
        if name not in PASSED or members == LARGEST:
            break
        others, bit = conflicts[position] >> first + WINDOW - position, 1 << position - first
        if passed & others or name != "KERNEL":
            passed |= bit
            continue
        needed = [branch for branch in branches if branch.members & others] if others else ()
        if not needed:
            if candidates[position]:
                branches.append(Branch())
                branches[-1].append(position, bit)
                members += 1
            else:
                before.append(position)
        elif len(needed) == 1 and candidates[position] and may_continue(
                needed[0], code[position], code, happening, kernels):
            needed[0].append(position, bit)
            members += 1
        else:
            passed |= bit
    return cut_to_the_second_longest([branch.positions for branch in branches], before)


def may_continue(branch, instruction, code, happening, kernels):
    """Return whether a kernel can be prepared before a branch has run."""
    examined, inputs = kernels[instruction.a].examined, instruction.reads()
    return examined is not None and not any([code[position].views for position in branch.positions]) and all(
        [happening[position][1].isdisjoint([inputs[number] for number in examined]) for position in branch.positions])


def cut_to_the_second_longest(branches, before):
    """Cut branches to a length that at least two of them have: while a worker continues the longest one alone, others
    have nothing to do, but may share its kernels one by one."""
    length = sorted([0, *map(len, branches)])[-2]
    branches = [branch[:length] for branch in branches]
    last = max([branch[-1] for branch in branches if branch], default=0)
    return branches, [position for position in before if position < last]


def effects_of(code, cells):
    """Return for each instruction the sets (cells read, cells written), including memory of views and donors."""
    memory, happening = memories_of(code), []
    donors = {cell: layout.donor for cell, layout in enumerate(cells) if layout.donor is not None}
    for instruction in code:
        reads, writes = set(instruction.reads()), set(instruction.writes())
        overwritten = [donors[cell] for cell in writes if cell in donors]
        if instruction.overwritten:
            overwritten += [source for _, source in instruction.overwritten]
        if overwritten:
            writes.update(overwritten, [memory.get(cell, cell) for cell in overwritten])
        reads.update([memory[cell] for cell in reads if cell in memory])
        happening.append((reads, writes))
    return happening


def conflicts_of(happening):
    """Return for each instruction which of the WINDOW before it must stay there, as bits: the lowest is the first."""
    readers, writers, conflicts = {}, {}, []        # cell → (the last one, that one as the bit WINDOW and those before)
    for position, (reads, writes) in enumerate(happening):
        found = 0
        for cells, earlier in ((reads, writers), (writes, writers), (writes, readers)):
            for cell in cells:
                if cell in earlier:
                    last, bits = earlier[cell]
                    found |= bits >> position - last
        for cells, earlier in ((reads, readers), (writes, writers)):
            for cell in cells:
                last, bits = earlier.get(cell, (position, 0))
                earlier[cell] = position, bits >> position - last | 1 << WINDOW
        conflicts.append(found)
    return conflicts


def nearest_of(conflicts):
    """Return for each instruction the last one before it that it must stay behind; less than all in its window if there
    is none."""
    return [position - 1 - WINDOW + bits.bit_length() for position, bits in enumerate(conflicts)]
