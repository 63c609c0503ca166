"""What the linker makes and the interpreter runs: bytecode, operand pool, kernels, cells. No behaviour.

A ``Program`` is immutable after assembly and belongs to no call: several frames, in several threads, run it at once.
"""
import struct
from collections import namedtuple

from phintys.graph.variable import Constant
from phintys.vm.opcodes import OPCODES
from phintys.vm.symbolic import SymbolicInstruction

# kind: "argument", "shared", "constant" or "value". value: the constant's array, or None. donor: the cell whose memory
# this one may take, or None. access: one of ACCESS.
CellLayout = namedtuple("CellLayout", "variable kind typenum ndim value donor access")

ACCESS = {
    "": "as usual: arguments are read, results are memory of their own",
    "held": "argument: its memory may be seen in a borrowed result",
    "mutable": "argument: its memory may be overwritten",
    "lent": "result: its memory may be used again by the next call, although the caller sees it",
    "late": "result: a kernel behind COMMIT reads it too",
    "shown": "result: may be a view of an argument's or a shared variable's memory",
}

Instruction = namedtuple("Instruction", "op flags n a b c")

INSTRUCTION_FORMAT = struct.Struct("=BBHiii")
MANY_INPUTS = 65535             # `n` of an instruction with that many inputs or more: its node says how many


def cells_of_inputs(node, cells, layouts):
    """Input of a node → its cell, from the input cells of its instruction.

    What has no cell is a constant that the node's kernel has inside. Cells of an inner graph's inputs and outputs are
    those of outer variables, so order counts, not the variable that a cell was made for.
    """
    known = {layouts[cell].variable for cell in cells}
    read = [variable for variable in node.inputs if variable in known or not isinstance(variable, Constant)]
    return dict(zip(node.inputs if len(cells) == len(node.inputs) else read, cells))


class Program:
    """Linked bytecode.

    Attributes
    ----------
    name : str or None
    code : bytes
        Instructions of 16 bytes, see ``opcodes.py``.
    pool : array of int32
        Operand pool: cell numbers.
    kernels : list of Kernel
    nodes : list
        For each instruction, the Apply node it was lowered from, or None.
    remarks : dict
        Why an instruction is there, by its number; for listings.
    cells : list of CellLayout
    containers : list of Container
        Storage of shared variables, by the numbers LOAD and STORE use.
    n_arguments, n_results : int
        The first cells are the arguments.
    allow_gc : bool or "plan"
    """

    __slots__ = ("name", "code", "pool", "kernels", "nodes", "remarks", "cells", "containers", "n_arguments",
                 "n_results", "allow_gc")

    def __init__(self, **fields):
        for name in self.__slots__:
            setattr(self, name, fields[name])

    def result_cells(self):
        """The layouts of the results' cells, in order."""
        for instruction in self.symbolic():
            if instruction.name == "RESULT":
                return [self.cells[cell] for cell in instruction.cells]
        return []

    def instructions(self):
        """The code, as numbers."""
        return [Instruction(*fields) for fields in INSTRUCTION_FORMAT.iter_unpack(self.code)]

    def symbolic(self):
        """The code, decoded: a list of SymbolicInstruction."""
        return [self.decoded(position, instruction) for position, instruction in enumerate(self.instructions())]

    def decoded(self, position, instruction):
        """One instruction with its name, its operands from the pool, and its node."""
        op, flags, n, a, b, c = instruction
        node = self.nodes[position]
        if n == MANY_INPUTS and node is not None:
            n = c - len(node.outputs)
        return SymbolicInstruction(OPCODES[op].name, flags, n, a, b, self.pool[b:b + c] if c else (), node,
                                   self.remarks.get(position, ""))
