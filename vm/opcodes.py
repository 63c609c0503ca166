"""The opcode table: the manual, the numbers that the interpreter is compiled with, and the source of listings.

An instruction is 16 bytes: ``op:u8 flags:u8 n:u16 a:i32 b:i32 c:i32``. ``C[x]`` is a cell, ``K[x]`` a kernel, ``N[x]``
a node that CALL runs, ``S[x]`` a container (a shared variable's storage), ``P[b:b+c]`` a list of cells in the operand
pool. The order of the rows gives the numbers; ``setup.py`` writes them for Cython. This table is the only place that
says what an opcode reads, writes and empties, and whether it may fail: the linker, lifetimes, groups, listings and the
verifier read it through ``symbolic.py``. Adding an opcode: see ``CONTRIBUTING.md``.

Loops need no opcode: the body of a ``scan`` is a program of its own, which the kernel of the loop runs
(``vm/loops``). Overwriting needs none either: the layouts of the cells say which cell may take whose memory.
"""
from collections import namedtuple

Opcode = namedtuple("Opcode", "name operands effect reads writes empties may_fail requires", defaults=("",))

# `reads`, `writes` and `empties` are keys of CELLS and name cells; a cell that is emptied need not be filled.
# `may_fail`: it can raise or run Python code (releasing what a cell holds can); such an opcode never follows COMMIT.
# `requires`: what must be true of operands, by keys of `verifier.REQUIRED`: "container b" says that S[b] exists.
OPCODES = (
    Opcode("HALT", "b c", "return; C[P[b:b+c]] are emptied when the claims have been given up",    # (9)
           reads="", writes="", empties="list", may_fail=False),
    Opcode("LOAD", "a b", "C[a] := S[b], one buffer, pinned for the call",
           reads="", writes="a", empties="", may_fail=True, requires="container b"),
    Opcode("KERNEL", "a b c", "run kernel K[a] on C[P[b:b+c]]: inputs, then outputs",    # (1) (2)
           reads="inputs", writes="outputs", empties="", may_fail=True, requires="kernel a"),
    Opcode("TOGETHER", "a", "the next a KERNELs are branches: run side by side by workers if that is faster",    # (11)
           reads="", writes="", empties="", may_fail=True),
    Opcode("CALL", "a b c", "run N[a].op.perform under the GIL on C[P[b:b+c]]",    # (1) (3)
           reads="inputs", writes="outputs", empties="", may_fail=True, requires="node a"),
    Opcode("COPY", "a b", "C[a] := C[b] in memory of its own, in C order",
           reads="b", writes="a", empties="", may_fail=True),
    Opcode("OWN", "a b", "C[a] is copied unless only it, or S[b], refers to its memory",    # (4)
           reads="a", writes="a", empties="", may_fail=True, requires="container b"),
    Opcode("DROP", "b c", "empty C[P[b:b+c]]; flag 2: small arrays stay for the next call",    # (5)
           reads="", writes="", empties="list", may_fail=True),
    Opcode("PREPARE", "a b c", "the part of KERNEL before the first write: all that can fail",
           reads="inputs", writes="outputs", empties="", may_fail=True, requires="kernel a"),
    Opcode("RESULT", "b c", "results := C[P[b:b+c]] as arrays; flag 1: the cells are emptied",    # (6)
           reads="list", writes="", empties="given", may_fail=True),
    Opcode("COMMIT", "", "from here on nothing can fail: the results exist, the updates are stored",    # (10)
           reads="", writes="", empties="", may_fail=True),
    Opcode("RUN", "a b c", "the rest of KERNEL, after its PREPARE",    # (2)
           reads="inputs", writes="outputs", empties="", may_fail=False, requires="kernel a"),
    Opcode("STORE", "a b", "S[a] := C[b], the buffers are exchanged; C[b] has the old value until HALT",
           reads="b", writes="", empties="b", may_fail=False, requires="container a"),
    Opcode("JUMP", "a", "continue at instruction a, which comes later",
           reads="", writes="", empties="", may_fail=False),
    Opcode("JUMPZ", "a b", "as JUMP if the number C[b] is zero; NaN is not",
           reads="b", writes="", empties="", may_fail=False),
    Opcode("NEED", "a b", "unless block b has run in this call: run it, from instruction a to its BACK",    # (7)
           reads="", writes="", empties="", may_fail=True),
    Opcode("BACK", "a", "the end of block a: continue after the NEED that entered it",
           reads="", writes="", empties="", may_fail=False),
    Opcode("ALIAS", "a b", "C[a] := C[b], one buffer, two cells",
           reads="b", writes="a", empties="", may_fail=True),
    Opcode("MOVE", "a b", "C[a] := C[b], the buffers are exchanged; C[b] is empty",
           reads="b", writes="a", empties="b", may_fail=True),
    Opcode("PLAN", "", "choose the places of temporaries, by the shapes of arguments and shared values",    # (8)
           reads="", writes="", empties="", may_fail=True),
    Opcode("FAIL", "", "raise: tests put it in place of another instruction",
           reads="", writes="", empties="", may_fail=True),
    Opcode("PROFILE", "", "note the time, then run the instruction that it replaced (in profiled functions all others)",
           reads="", writes="", empties="", may_fail=True),
)

NOTES = (
    "(1) n says how many of the operands are inputs.",
    "(2) An output with a donor takes that input's memory if no other reference to it exists and the shapes agree.",
    "(3) What perform stores is checked against the declared type, and copied if another reference to it exists.",
    "(4) Decided by the buffer's reference count at run time: arguments, constants, cells, containers count.",
    "(5) Emptying an empty cell does nothing. Values of rank 0 are stored in the cell and are never dropped.",
    "(6) An array takes its cell's memory if no other reference exists or both sides borrow, and is a copy otherwise.",
    "(7) Blocks come after HALT, and after the blocks that they need.",
    "(8) From the second call with the same shapes on; a value that is larger in a later call gets memory of its own.",
    "(9) Old values, and cells last used after COMMIT: releasing them can run Python code, even this function.",
    "(10) COMMIT fails if a loaded value that is to be replaced has been replaced during this call by other code.",
    "(11) A KERNEL with flag 1 continues the branch of the one before it; kernels of other branches do not need it.",
)

NUMBER = {opcode.name: number for number, opcode in enumerate(OPCODES)}
RESULT_EMPTIES = 1                       # flag of RESULT
CONTINUES = 1                            # flag of KERNEL
DROP_LARGE = 2                           # flag of DROP
KEPT_BY_RESULT = frozenset(["lent", "late"])        # RESULT never empties cells with this access


def _given(instruction, layouts):
    """Return the cells that RESULT empties: values whose memory goes to the caller."""
    if not instruction.flags & RESULT_EMPTIES:
        return []
    return [cell for cell in instruction.cells
            if layouts[cell].kind == "value" and layouts[cell].access not in KEPT_BY_RESULT]


# Meaning of the columns `reads`, `writes` and `empties`: functions of an instruction and the cells' layouts to cells.
CELLS = {
    "": lambda instruction, layouts: (),
    "a": lambda instruction, layouts: (instruction.a,),
    "b": lambda instruction, layouts: (instruction.b,),
    "list": lambda instruction, layouts: instruction.cells,                         # C[P[b:b+c]]
    "inputs": lambda instruction, layouts: instruction.cells[:instruction.n],       # C[P[b:b+n]]
    "outputs": lambda instruction, layouts: instruction.cells[instruction.n:],      # C[P[b+n:b+c]]
    "given": _given,                                                                # with flag 1
}


def cython_enum():
    """Return the text of the Cython enum that ``setup.py`` writes."""
    lines = ["# Written by setup.py from vm/opcodes.py.", "cdef enum:"]
    lines += [f"    OP_{opcode.name} = {number}    # {opcode.effect}" for number, opcode in enumerate(OPCODES)]
    flags = {"RESULT_EMPTIES": RESULT_EMPTIES, "CONTINUES": CONTINUES, "DROP_LARGE": DROP_LARGE}
    return "\n".join([*lines, *[f"    {name} = {value}" for name, value in flags.items()], ""])
