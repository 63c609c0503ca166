"""Symbolic instructions with named fields: what lowering emits, and what bytecode is decoded to.

What an instruction reads, writes and empties is looked up in the opcode table.
"""
from collections import namedtuple

from phintys.vm.opcodes import CELLS, OPCODES, Opcode

# LABEL is not an opcode: it names the instruction after it, and takes no space in the bytecode.
ROWS = {opcode.name: opcode for opcode in OPCODES} | {"LABEL": Opcode("LABEL", "a", "", "", "", "", False)}

# One dictionary per column, so that a look-up is one step; code may be long.
READS = {name: CELLS[row.reads] for name, row in ROWS.items()}
WRITES = {name: CELLS[row.writes] for name, row in ROWS.items()}
EMPTIES = {name: CELLS[row.empties] for name, row in ROWS.items()}
COMPUTES = frozenset([name for name, row in ROWS.items() if row.writes == "outputs"])


class SymbolicInstruction(namedtuple("SymbolicInstruction", "name flags n a b cells node remark views overwritten",
                                     defaults=(0, 0, 0, 0, (), None, "", (), ()))):
    """One instruction.

    Attributes
    ----------
    name : str
        An opcode, or LABEL.
    flags : int
    n : int
        How many of ``cells`` are inputs, where the opcode distinguishes inputs from outputs.
    a, b : int
        As the opcode table says. Before assembly, jump targets and blocks are given by their labels.
    cells : sequence of int
        The operands that are stored in the operand pool.
    node : Apply or None
        What it was lowered from; None in a program without its graph.
    remark : str
        Why it is there; for listings.
    views, overwritten : sequence of tuple
        Pairs of cells: an output, and the input that its op declares it to look at or to overwrite.
    """

    __slots__ = ()

    def reads(self):
        """The cells whose values it reads."""
        return READS[self.name](self, None)

    def writes(self):
        """The cells that it gives values to."""
        return WRITES[self.name](self, None)

    def empties(self, layouts):
        """The cells that it leaves without a value.

        Parameters
        ----------
        layouts : sequence of CellLayout
        """
        return EMPTIES[self.name](self, layouts)

    def touches(self):
        """The cells that it reads or writes."""
        return [*self.reads(), *self.writes()]

    def computes(self):
        """Whether it runs its node's op on inputs and outputs."""
        return self.name in COMPUTES
