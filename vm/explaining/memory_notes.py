"""What a listing says about memory: who owns the memory of each cell, what views it, overwrites it or copies it.

Only what is known when a function is made. A cell that may take the memory of another does so at run time unless
another reference to that memory exists by then: a result that a caller kept, another thread, an array lent by the user.
"""
from phintys.vm.views import roots_of

OWNERS = {
    ("argument", ""): "the caller's, only read",
    ("argument", "held"): "the caller's, only read; a borrowed result may show it",
    ("argument", "mutable"): "the caller's, may be overwritten; copied first if it is read-only or overlaps another",
    ("shared", ""): "the shared variable's",
    ("constant", ""): "the program's, never written",
    ("value", "lent"): "the program's, lent to the caller; the next call writes to it again",
    ("value", "shown"): "shown to the caller without a copy",
}


def memory_lines(program):
    """One line for each cell whose memory is not simply the program's own.

    Parameters
    ----------
    program : Program

    Returns
    -------
    list of str
    """
    lines = [f"  C{cell:<4} {note}" for cell, note in sorted(_notes(program).items())]
    return ["memory", *lines] if lines else []


def remark_on(program, instruction):
    """Describe in a few words what an instruction does to the memory of its operands; an empty string if nothing.

    Returns
    -------
    str
    """
    if not instruction.computes() or instruction.name == "PREPARE":
        return ""
    written = [(output, program.cells[output].donor) for output in instruction.writes()]
    remarks = [f"C{output} over C{donor}" for output, donor in written if donor is not None]
    remarks += [f"C{view} looks at C{source}" for view, source in instruction.views]
    return ", ".join(remarks)


def remarks_on_results(program, instruction, names):
    """Map the results that will be copied, because their memory belongs to something else, to remarks on that.

    Parameters
    ----------
    program : Program
    instruction : SymbolicInstruction
        The RESULT instruction.
    names : mapping
        Cell → what it is called.

    Returns
    -------
    dict of int to str
        Cell → why it is copied.
    """
    roots = roots_of(program)
    remarks, last = {}, {}
    for cell in reversed(instruction.cells):
        layout, root = program.cells[cell], roots.get(cell, cell)
        if layout.access != "shown":
            owner = program.cells[root]
            whose = OWNERS.get((owner.kind, "")) if owner.kind != "value" else None
            if whose is not None:
                reason = "its memory is " if root == cell else f"it is {names[root]}'s memory, "
                remarks[cell] = f"{names[cell]} is copied: {reason}{whose.partition(',')[0]}"
            elif root in last:
                remarks[cell] = f"{names[cell]} is copied while {names[last[root]]} is in the same memory"
        last.setdefault(root, cell)
    return dict(reversed(remarks.items()))


def _notes(program):
    """Map cells to notes about their memory."""
    notes = {}
    read = set(program.pool)
    for number, layout in enumerate(program.cells):
        owner = OWNERS.get((layout.kind, layout.access))
        if owner is not None and (layout.kind != "constant" or layout.access):
            notes[number] = owner
        if layout.donor is not None and number in read:
            donor = program.cells[layout.donor]
            where = f"S{_container_of(program, layout.donor)}'s" if donor.kind == "shared" else f"C{layout.donor}'s"
            notes[number] = _joined(notes.get(number), f"takes {where} memory, unless others refer to it")
    for instruction in program.symbolic():
        for view, source in instruction.views:
            notes[view] = _joined(notes.get(view), f"a view of C{source}")
        if instruction.name == "ALIAS" and program.cells[instruction.a].ndim:
            notes[instruction.a] = _joined(notes.get(instruction.a), f"on a branch that of C{instruction.b}")
    return notes


def _joined(first, second):
    return second if first is None else f"{first}; {second}"


def _container_of(program, cell):
    """Return the number of the container that a cell is loaded from."""
    return next(instruction.b for instruction in program.symbolic()
                if instruction.name == "LOAD" and instruction.a == cell)
