"""Checks a program before it may run: the interpreter itself checks nothing.

No read of an empty cell, no write to an argument, a constant or a shared value, every number in its range, nothing that
can fail after COMMIT, HALT at the end. A violation is a bug in an op's ``lower`` or in the linker, never the user's.
"""
from phintys.vm.opcodes import OPCODES, RESULT_EMPTIES
from phintys.vm.program import INSTRUCTION_FORMAT


class ProgramError(Exception):
    """A program breaks a rule of the bytecode."""


AFTER_COMMIT = frozenset(["STORE", "DROP", "HALT"])


def verify(program):
    """Raise ``ProgramError`` unless the program keeps every rule."""
    cells, pool = program.cells, program.pool
    filled = [layout.kind in ("argument", "constant") for layout in cells]
    protected = [layout.kind != "value" for layout in cells]
    committed = halted = False

    def fail(position, what):
        raise ProgramError(f"instruction {position} ({name}): {what}")

    def read(position, cell):
        if not 0 <= cell < len(cells):
            fail(position, f"there is no cell C{cell}")
        if not filled[cell]:
            fail(position, f"reads the empty cell C{cell} ({cells[cell].variable})")

    def write(position, cell, loading=False):
        if not 0 <= cell < len(cells):
            fail(position, f"there is no cell C{cell}")
        if protected[cell] and not (loading and cells[cell].kind == "shared"):
            fail(position, f"writes to C{cell}, which is protected ({cells[cell].kind} {cells[cell].variable})")
        filled[cell] = True

    for position, (number, flags, n, a, b, c) in enumerate(INSTRUCTION_FORMAT.iter_unpack(program.code)):
        if number >= len(OPCODES):
            name = "?"
            fail(position, f"unknown opcode {number}")
        name = OPCODES[number].name
        if committed and name not in AFTER_COMMIT:
            fail(position, "can fail, and stands after COMMIT")
        if c and not 0 <= b <= b + c <= len(pool):
            fail(position, "its operands lie outside the pool")
        if name in ("KERNEL", "CALL"):
            if name == "KERNEL" and not 0 <= a < len(program.kernels):
                fail(position, f"there is no kernel K{a}")
            if name == "CALL" and program.nodes[a] is None:
                fail(position, f"there is no node N{a}")
            if n < 65535:
                for cell in pool[b:b + n]:
                    read(position, cell)
                for cell in pool[b + n:b + c]:
                    write(position, cell)
        elif name == "LOAD":
            if not 0 <= b < len(program.containers):
                fail(position, f"there is no container S{b}")
            write(position, a, loading=True)
        elif name == "COPY":
            read(position, b)
            write(position, a)
        elif name == "OWN":
            read(position, a)
            write(position, a)
        elif name == "DROP":
            for cell in pool[b:b + c]:
                if cells[cell].kind == "constant":
                    fail(position, f"drops the constant C{cell}")
                filled[cell] = False
        elif name == "RESULT":
            for cell in pool[b:b + c]:
                read(position, cell)
            if flags & RESULT_EMPTIES:
                for cell in pool[b:b + c]:
                    filled[cell] = filled[cell] and cells[cell].kind != "value"
        elif name == "STORE":
            if not 0 <= a < len(program.containers):
                fail(position, f"there is no container S{a}")
            read(position, b)
            if protected[b]:
                fail(position, f"stores C{b}, which is not its own ({cells[b].kind})")
            filled[b] = False
        elif name == "COMMIT":
            committed = True
        halted = name == "HALT"
    if not halted:
        raise ProgramError("the program does not end with HALT")
