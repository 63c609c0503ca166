"""Groups kernels that do not depend on each other after one TOGETHER instruction, so that workers may share them.

Only kernels that use one thread are grouped; their ops set ``runs_alone``. Other kernels use the workers themselves.
Whether several workers run a group is decided at each call, when sizes are known: see TOGETHER in
``interpreter.pyx``. A kernel moves forward past others, and the kernels it depends on move before the group, only if
the only memory they share is read by all of them, so the result is the same in every order. Nothing moves more than
WINDOW instructions, because the schedule was made to keep few values alive. The cost is linear in the length of the
code.
"""
from phintys.vm.symbolic import SymbolicInstruction
from phintys.vm.views import memories_of

WINDOW = 32                     # the largest number of instructions that a kernel moves past
LARGEST = 16                    # the largest number of kernels in a group
PASSED = frozenset(["KERNEL", "CALL", "COPY"])      # a kernel may move past these; others end the search


def side_by_side(code, cells):
    """Return symbolic code with independent kernels in groups.

    Parameters
    ----------
    code : list of SymbolicInstruction
        The emitter's code, without DROPs.
    cells : list of CellLayout

    Returns
    -------
    list of SymbolicInstruction
        The same instructions, with a TOGETHER before each group that holds the number of its kernels.
    """
    if sum([is_candidate(instruction) for instruction in code]) < 2:
        return code
    grouped, taken = [], set()
    happening = effects_of(code, cells)
    for position, instruction in enumerate(code):
        if position in taken:
            continue
        if is_candidate(instruction):
            members, before = followers(code, position, happening, taken)
            if members:
                taken.update(members, before)
                grouped.extend([code[earlier] for earlier in before])
                grouped.append(SymbolicInstruction("TOGETHER", a=len(members) + 1, remark="if that pays"))
                grouped.extend([code[member] for member in [position, *members]])
                continue
        grouped.append(instruction)
    return grouped


def is_candidate(instruction):
    """Return whether an instruction is a kernel that uses one thread."""
    return instruction.name == "KERNEL" and instruction.node is not None and instruction.node.op.runs_alone


def followers(code, first, happening, taken):
    """Return positions of kernels after ``first`` that may run beside it, and of kernels to run before the group."""
    read, written = map(set, happening[first])
    passed_read, passed_written = set(), set()
    members, before = [], []
    for position in range(first + 1, min(first + 1 + WINDOW, len(code))):
        instruction = code[position]
        if position in taken:
            continue
        if instruction.name not in PASSED or len(members) + 1 == LARGEST:
            break
        reads, writes = happening[position]
        is_free = (written.isdisjoint(reads | writes) and passed_written.isdisjoint(reads | writes)
                   and read.isdisjoint(writes) and passed_read.isdisjoint(writes))
        if is_free and is_candidate(instruction):
            members.append(position)
            read |= reads
            written |= writes
        elif is_free and instruction.name == "KERNEL":
            before.append(position)
        else:
            passed_read |= reads
            passed_written |= writes
    return members, [position for position in before if members and position < members[-1]]


def effects_of(code, cells):
    """Return for each instruction the sets (cells read, cells written), including memory of views and donors."""
    memory, happening = memories_of(code), []
    for instruction in code:
        reads, writes = set(instruction.reads()), set(instruction.writes())
        overwritten = [cells[cell].donor for cell in writes if cells[cell].donor is not None]
        overwritten += [source for _, source in instruction.overwritten]
        reads.update([memory.get(cell, cell) for cell in reads])
        writes.update(overwritten, [memory.get(cell, cell) for cell in overwritten])
        happening.append((reads, writes))
    return happening
