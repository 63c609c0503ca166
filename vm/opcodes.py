"""The opcode table: the manual, the numbers the interpreter is compiled with, and what listings are printed from.

An instruction is 16 bytes: ``op:u8 flags:u8 n:u16 a:i32 b:i32 c:i32``. ``C[x]`` is a cell, ``K[x]`` a kernel, ``N[x]``
a node, ``S[x]`` a container (a shared variable's storage), ``P[b:b+c]`` a list of cells in the operand pool. The order
of the rows gives the numbers; ``setup.py`` writes them for Cython. Adding an opcode: a row here, a case in
``interpreter.pyx``, a line in ``emitter.py``, a golden listing in the tests.

Room left for what comes: SCAN and its TAP, SLOT,
PUT, NEXT. Overwriting needs no opcode: which cell may take whose memory is written in the cells.
"""
from collections import namedtuple

Opcode = namedtuple("Opcode", "name operands effect reads writes")

# `reads` and `writes` name the operands that are cells read and written: "a", "b", or "P" for the list P[b:b+c].
OPCODES = (
    Opcode("HALT", "b c", "return; C[P[b:b+c]] are emptied when the claims have been given up", "", ""),    # (9)
    Opcode("LOAD", "a b", "C[a] := S[b], one buffer, pinned for the call", "", "a"),
    Opcode("KERNEL", "a b c", "run kernel K[a] on C[P[b:b+c]]: inputs, then outputs", "P", "P"),     # (1) (2)
    Opcode("TOGETHER", "a", "the next a KERNELs are independent: workers run them side by side if that pays", "", ""),
    Opcode("CALL", "a b c", "run N[a].op.perform under the GIL on C[P[b:b+c]]", "P", "P"),          # (1) (3)
    Opcode("COPY", "a b", "C[a] := C[b] in memory of its own, in C order", "b", "a"),
    Opcode("OWN", "a b", "C[a] is copied unless its memory is its own alone, or S[b]'s already", "a", "a"),  # (4)
    Opcode("DROP", "b c", "empty C[P[b:b+c]]; flag 2: what is small stays, for the next call", "P", ""),  # (5)
    Opcode("PREPARE", "a b c", "as KERNEL up to where something is written: all that can fail", "P", "P"),
    Opcode("RESULT", "b c", "results := C[P[b:b+c]] as arrays; flag 1: the cells are emptied", "P", ""),  # (6)
    Opcode("COMMIT", "", "from here on nothing can fail: the results exist, the updates are stored", "", ""),  # (10)
    Opcode("RUN", "a b c", "the rest of KERNEL, for what was prepared", "P", "P"),                   # (2)
    Opcode("STORE", "a b", "S[a] := C[b], the buffers change places; C[b] has the old value until HALT", "b", ""),
    Opcode("JUMP", "a", "go on at instruction a, which stands behind", "", ""),
    Opcode("JUMPZ", "a b", "the same if the number C[b] is zero; NaN is not", "b", ""),
    Opcode("NEED", "a b", "unless block b has run in this call: run it, from instruction a to its BACK", "", ""),  # (7)
    Opcode("BACK", "a", "the end of block a: go on behind the NEED that entered it", "", ""),
    Opcode("ALIAS", "a b", "C[a] := C[b], one buffer, two cells", "b", "a"),
    Opcode("MOVE", "a b", "C[a] := C[b], the cells' buffers change places; C[b] is empty", "b", "a"),
    Opcode("PLAN", "", "choose the places of temporaries by the shapes of arguments and shared values", "", ""),  # (8)
    Opcode("FAIL", "", "raise: tests put it in the place of another instruction", "", ""),
)

NOTES = (
    "(1) n says how many of the operands are inputs.",
    "(2) An output with a donor takes that input's memory when nobody else refers to it and the shapes agree.",
    "(3) What perform stores is checked against the declared type, and copied unless nobody else refers to it.",
    "(4) Decided by the buffer's reference count at run time: arguments, constants, cells, containers count.",
    "(5) Emptying an empty cell does nothing. Cells of rank 0 live in the cell and are never dropped.",
    "(6) An array takes its cell's memory when nobody else holds it or both sides borrow, and is a copy otherwise.",
    "(7) Blocks stand behind HALT, after those that they need themselves.",
    "(8) From the second call with the same shapes on; a value that is larger this time gets memory of its own.",
    "(9) Old values, and what is used last after COMMIT: letting go of them can run Python code, which may read them.",
    "(10) Fails itself if a value that was loaded, and is to be replaced, has been replaced inside this very call.",
)

NUMBER = {opcode.name: number for number, opcode in enumerate(OPCODES)}
RESULT_EMPTIES = 1                       # flag of RESULT
DROP_LARGE = 2                           # flag of DROP


def cython_enum():
    """The text of the Cython enum, as ``setup.py`` writes it."""
    lines = ["# Written by setup.py from vm/opcodes.py.", "cdef enum:"]
    lines += [f"    OP_{opcode.name} = {number}    # {opcode.effect}" for number, opcode in enumerate(OPCODES)]
    return "\n".join(lines + [f"    RESULT_EMPTIES = {RESULT_EMPTIES}", f"    DROP_LARGE = {DROP_LARGE}", ""])
