"""What the linker makes and the interpreter runs: bytecode, operand pool, kernels and cells, without behaviour.

A ``Program`` does not change after assembly and belongs to no call: several frames and threads may run it at once.
Frames, plans and listings read what is here and ask no node: the graph is an optional part, for errors and reports. A
pickled program has no graph; see ``vm/files``.
"""
import struct
from collections import namedtuple

import numpy

from phintys.vm.described_node import described
from phintys.vm.opcodes import NUMBER, OPCODES
from phintys.vm.places import HOST
from phintys.vm.symbolic import SymbolicInstruction
from phintys.vm.texts import cell_text, instruction_text
from phintys.vm.views import is_view

# variable: what the cell is for, or None in a program without its graph. kind: "argument", "shared", "constant" or
# "value". place: see ``places.py``. value: the constant's array, or None. donor: the cell whose memory this one may
# take, or None. access: one of ACCESS. is_number: Python sees a NumPy number. is_view: its op declares it to be a view.
# any_layout: what writes it follows its strides, so it may take a caller's memory in any layout.
CellLayout = namedtuple("CellLayout",
                        "variable kind typenum ndim place value donor access is_number is_view any_layout")

OBJECT_TYPENUM = -1        # the type number of a cell that holds a Python object

# NumPy's dtype by its number.
DTYPES = {numpy.dtype(code).num: numpy.dtype(code) for code in numpy.typecodes["All"] if code not in "OSUVMm"}

ACCESS = {
    "": "the default: arguments are only read, results have memory of their own",
    "held": "argument: its memory may be seen in a borrowed result",
    "mutable": "argument: its memory may be overwritten",
    "lent": "result: the next call may write to its memory, although the caller holds it",
    "late": "result: a kernel after COMMIT reads it too",
    "shown": "result: may be a view of an argument's or a shared variable's memory",
}

Instruction = namedtuple("Instruction", "op flags n a b c")


def layout_of(variable, kind, value=None, donor=None, access=""):
    """The layout of a variable's cell."""
    typenum, ndim, place = variable.type.layout or (OBJECT_TYPENUM, 0, HOST)
    node = variable.owner
    return CellLayout(variable=variable, kind=kind, typenum=typenum, ndim=ndim, place=place, value=value, donor=donor,
                      access=access, is_number=variable.type.is_number, is_view=is_view(variable),
                      any_layout=node is not None and node.op.writes_by_strides)


INSTRUCTION_FORMAT = struct.Struct("=BBHiii")
MANY_INPUTS = 65535             # `n` of an instruction with that many inputs or more: `Program.counts` says how many


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
    calls : list
        What CALL runs: Apply nodes or, without a graph, their descriptions (``DescribedNode``).
    views, overwritten : dict
        Instruction → pairs of cells: an output and the input that its op declares it to look at, or to overwrite.
    counts : dict
        Instruction → how many inputs it has, where that does not fit into ``n``.
    nodes : list or None
        For each instruction, the Apply node it was lowered from, or None; None for a program without its graph.
    remarks : dict
        Instruction number → why the instruction is there; for listings.
    cells : list of CellLayout
    containers : list of Container
        Storage of shared variables, by the numbers in LOAD and STORE.
    n_arguments, n_results : int
        Arguments are the first cells.
    argument_types : list of Type
    allow_gc : bool or "plan"
    known_cell_texts : list of CellText or None
    known_instruction_texts : list of InstructionText or None
        What listings say of cells and instructions; None: not worked out from the graph yet.
    """

    is_program = True

    __slots__ = ("name", "code", "pool", "kernels", "calls", "views", "overwritten", "counts", "nodes", "remarks",
                 "cells", "containers", "n_arguments", "n_results", "argument_types", "allow_gc", "known_cell_texts",
                 "known_instruction_texts")

    def __init__(self, **fields):
        for name in Program.__slots__:
            setattr(self, name, fields[name])

    @property
    def known_nodes(self):
        """The nodes, as far as they need not be found out."""
        return self.nodes

    def complete(self):
        """Find out what is not known yet of the graph: nothing, but for programs from a cache."""

    def cell_texts(self):
        """A ``CellText`` for each cell."""
        if self.known_cell_texts is None:
            self.known_cell_texts = [cell_text(layout.variable, layout.typenum < 0) for layout in self.cells]
        return self.known_cell_texts

    def instruction_texts(self):
        """An ``InstructionText`` for each instruction."""
        if self.known_instruction_texts is None:
            self.known_instruction_texts = [instruction_text(instruction, self.cells)
                                            for instruction in self.symbolic()]
        return self.known_instruction_texts

    def operands_of_node(self, position):
        """How many inputs the node of an instruction has, or the instruction itself if no node is known."""
        if self.nodes is None:
            instruction = self.decoded(position, self.instructions()[position])
            return len(instruction.reads()) if instruction.computes() else 0
        return 0 if self.nodes[position] is None else len(self.nodes[position].inputs)

    def without_graph(self):
        """The same program without nodes and variables; what CALL needs of them is described."""
        fields = {name: getattr(self, name) for name in Program.__slots__}
        return Program(**fields | {
            "nodes": None, "calls": [described(node) for node in self.calls],
            "cells": [layout._replace(variable=None) for layout in self.cells],
            "known_cell_texts": self.cell_texts(), "known_instruction_texts": self.instruction_texts()})

    def on_containers(self, containers, name):
        """The same program on other containers, under another name."""
        fields = {field: getattr(self, field) for field in Program.__slots__}
        return Program(**fields | {"containers": containers, "name": name})

    def __reduce__(self):
        bare = self.without_graph()
        fields = {name: getattr(bare, name) for name in Program.__slots__ if name != "calls"}
        return _unpickled, (fields | {"calls": bare.calls},)        # last, so that errors can say which op is at fault

    def result_cells(self):
        """Return the layouts of the cells of the results, in order."""
        position = self.opcodes().find(NUMBER["RESULT"])
        if position < 0:
            return []
        *_, start, count = INSTRUCTION_FORMAT.unpack_from(self.code, position * INSTRUCTION_FORMAT.size)
        return [self.cells[cell] for cell in self.pool[start:start + count]]

    def opcodes(self):
        """The opcode of each instruction, as bytes."""
        return self.code[::INSTRUCTION_FORMAT.size]

    def instructions(self):
        """Return the code as a list of numeric instructions."""
        return [Instruction(*fields) for fields in INSTRUCTION_FORMAT.iter_unpack(self.code)]

    def updated(self):
        """Return the containers that a call changes."""
        return [self.containers[instruction.a] for instruction in self.instructions()
                if OPCODES[instruction.op].name == "STORE"]

    def symbolic(self):
        """Return the decoded code, a list of SymbolicInstruction."""
        return [self.decoded(position, instruction) for position, instruction in enumerate(self.instructions())]

    def decoded(self, position, instruction):
        """Return one instruction with its name, its operands from the pool, and its node."""
        op, flags, n, a, b, c = instruction
        if n == MANY_INPUTS:
            n = self.counts.get(position, n)
        nodes = self.known_nodes
        return SymbolicInstruction(
            OPCODES[op].name, flags, n, a, b, self.pool[b:b + c] if c else (),
            None if nodes is None else nodes[position], self.remarks.get(position, ""),
            self.views.get(position, ()), self.overwritten.get(position, ()))


def _unpickled(fields):
    """A program from its pickle."""
    return Program(**fields)


def bytecode():
    """What the meaning of a program depends on, besides its kernels, as bytes: programs of others are not read."""
    return repr((OPCODES, sorted(ACCESS), CellLayout._fields, Program.__slots__)).encode()
