"""What the linker makes and the interpreter runs: bytecode, operand pool, kernels and cells, without behaviour.

A ``Program`` does not change after assembly and belongs to no call: several frames and threads may run it at once.
"""
import struct
from collections import namedtuple

from phintys.graph.variable import Constant
from phintys.vm.opcodes import OPCODES
from phintys.vm.symbolic import SymbolicInstruction

# kind: "argument", "shared", "constant" or "value". value: the constant's array, or None. donor: the cell whose memory
# this cell may take, or None. access: a key of ACCESS.
CellLayout = namedtuple("CellLayout", "variable kind typenum ndim value donor access")

ACCESS = {
    "": "the default: arguments are only read, results have memory of their own",
    "held": "argument: its memory may be seen in a borrowed result",
    "mutable": "argument: its memory may be overwritten",
    "lent": "result: the next call may write to its memory, although the caller holds it",
    "late": "result: a kernel after COMMIT reads it too",
    "shown": "result: may be a view of an argument's or a shared variable's memory",
}

Instruction = namedtuple("Instruction", "op flags n a b c")

INSTRUCTION_FORMAT = struct.Struct("=BBHiii")
MANY_INPUTS = 65535             # `n` of an instruction with at least that many inputs; its node has the true number


def cells_of_inputs(node, cells, layouts):
    """Map each input of a node to its cell, given the input cells of its instruction.

    An input without a cell is a constant that is stored in the node's kernel. The inputs and outputs of an inner graph
    use the cells of outer variables, so cells are matched by order, not by the variable that each was made for.
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
        Instruction number → why the instruction is there; for listings.
    cells : list of CellLayout
    containers : list of Container
        Storage of shared variables, by the numbers in LOAD and STORE.
    n_arguments, n_results : int
        Arguments are the first cells.
    allow_gc : bool or "plan"
    """

    __slots__ = ("name", "code", "pool", "kernels", "nodes", "remarks", "cells", "containers", "n_arguments",
                 "n_results", "allow_gc")

    def __init__(self, **fields):
        for name in self.__slots__:
            setattr(self, name, fields[name])

    def result_cells(self):
        """Return the layouts of the cells of the results, in order."""
        for instruction in self.symbolic():
            if instruction.name == "RESULT":
                return [self.cells[cell] for cell in instruction.cells]
        return []

    def instructions(self):
        """Return the code as a list of numeric instructions."""
        return [Instruction(*fields) for fields in INSTRUCTION_FORMAT.iter_unpack(self.code)]

    def symbolic(self):
        """Return the decoded code, a list of SymbolicInstruction."""
        return [self.decoded(position, instruction) for position, instruction in enumerate(self.instructions())]

    def decoded(self, position, instruction):
        """Return one instruction with its name, its operands from the pool, and its node."""
        op, flags, n, a, b, c = instruction
        node = self.nodes[position]
        if n == MANY_INPUTS and node is not None:
            n = c - len(node.outputs)
        return SymbolicInstruction(OPCODES[op].name, flags, n, a, b, self.pool[b:b + c] if c else (), node,
                                   self.remarks.get(position, ""))
