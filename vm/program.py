"""What the linker makes and the interpreter runs: bytecode, operand pool, kernels, cells. No behaviour.

A ``Program`` is immutable after assembly and belongs to no call: several frames, in several threads, run it at once.
"""
import struct
from collections import namedtuple

# kind: "argument", "shared", "constant" or "value"; value: the constant's array, or None.
CellLayout = namedtuple("CellLayout", "variable kind typenum ndim value")
Instruction = namedtuple("Instruction", "op flags n a b c")

INSTRUCTION_FORMAT = struct.Struct("=BBHiii")


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
    cells : list of CellLayout
    containers : list of Container
        Storage of shared variables, by the numbers LOAD and STORE use.
    n_arguments, n_results : int
        The first cells are the arguments.
    allow_gc : bool
    """

    __slots__ = ("name", "code", "pool", "kernels", "nodes", "cells", "containers", "n_arguments", "n_results",
                 "allow_gc")

    def __init__(self, **fields):
        for name in self.__slots__:
            setattr(self, name, fields[name])

    def instructions(self):
        """The code, decoded."""
        return [Instruction(*fields) for fields in INSTRUCTION_FORMAT.iter_unpack(self.code)]
