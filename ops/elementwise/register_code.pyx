"""Elementwise steps on single numbers, as instructions for a machine with registers (``register_machine.h``).

The instructions follow block code, arithmetic trees included, so all results have the same bits as those of the
loops over elements, each of which takes several times as long for one number as the machine takes. Two kinds of kernels
use them: bodies of loops, for many steps (``ops/loops/scalar_body.pyx``), and elementwise kernels whose operands have
one element each.
"""
cimport cython
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

import numpy

from phintys.ops.elementwise.arithmetic_tree import Tree
from phintys.ops.elementwise.block_code cimport CONSTANT_BYTES

cdef extern from "elementwise/register_machine.h" nogil:
    const char* const phintys_register_names[]
    const void* const* phintys_register_machine(const phintys_register_instruction*, char*, ScalarSteps*)

cdef enum:
    MOST_REGISTERS = 1024               # 16 KiB

cdef dict numbers = {}                  # of the machine's instructions, by name
cdef int _number = 0
while phintys_register_names[_number] != NULL:
    numbers[phintys_register_names[_number].decode()] = _number
    _number += 1
INSTRUCTIONS = frozenset(numbers)

# Casts that are instructions; others may give what depends on the processor, and call the loop.
CASTS = {tuple(name.split()[1:]): name for name in numbers if name.startswith("cast_")}


@cython.final
cdef class Operation:
    """One instruction, before registers are renamed."""
    def __cinit__(self, str name, int out, operands, tuple constants=(), InnerLoop loop=None):
        self.name, self.out, self.operands, self.constants, self.loop = name, out, list(operands), constants, loop

    cdef bint writes(self, int register):
        return self.out == register and not self.name.startswith("store")

    cdef bint reads(self, int register):
        return register in self.operands and not self.name.startswith("load")

    cdef int rename(self, int old, int new) except -1:
        if self.writes(old):
            self.out = new
        if self.reads(old):
            self.operands = [new if operand == old else operand for operand in self.operands]
        return 0


cdef class RegisterCode:
    """Instructions for registers.

    Parameters
    ----------
    sizes : list of int
        The bytes of the first registers, whose numbers the caller knows.
    contents : dict
        Register → the bytes that it begins with; those of others are zeros.

    Raises
    ------
    ValueError
        By ``encode``, if there are too many registers.
    """

    def __init__(self, sizes, contents=None):
        self.sizes, self.operations, self.owners, self.contents = list(sizes), [], [], dict(contents or {})

    def __dealloc__(self):
        free(self.code)
        free(self.calls)
        free(self.registers)

    @property
    def listing(self):
        """The instructions of a step, as text."""
        cdef Operation operation
        lines = []
        for operation in self.operations:
            kind = "lane " if operation.name.startswith("store") else "r"
            out = "" if operation.out < 0 else f"{kind}{operation.out}"
            kind = "lane " if operation.name.startswith("load") else "r"
            given = [f"{kind}{operand}" for operand in operation.operands] + [repr(c) for c in operation.constants]
            name = operation.name if operation.loop is None else f"call {operation.loop.name}"
            lines.append(f"{out + ' := ' if out else ''}{name}({', '.join(given)})")
        return lines

    cdef int new_register(self, int size, content=None) except -1:
        """A register."""
        if content is not None:
            self.contents[len(self.sizes)] = content
        self.sizes.append(size)
        return len(self.sizes) - 1

    cdef int append(self, str name, int out, operands, tuple constants=(), InnerLoop loop=None) except -1:
        self.operations.append(Operation(name, out, operands, constants, loop))
        return 0

    cdef int append_blocks(self, BlockCode blocks, operands) except -1:
        """The operations of a block blocks."""
        cdef int index
        cdef const char* value
        register_of = list(operands[:blocks.tables.inputs])
        for index in range(blocks.tables.constants):
            value = blocks.tables.constant_values + index * CONSTANT_BYTES
            register_of.append(self.new_register(PHINTYS_REGISTER_BYTES, value[:CONSTANT_BYTES]))
        for index in range(blocks.tables.register_operands):
            register_of.append(self.new_register(PHINTYS_REGISTER_BYTES))
        register_of += operands[blocks.tables.inputs:]
        for loop, operands in blocks.calls:
            self.append_step(loop, [register_of[operand] for operand in operands])
        return 0

    cdef int append_step(self, InnerLoop loop, list registers) except -1:
        *given, out = registers
        if type(loop.owner) is Tree:
            return self.append_tree(loop, registers)
        if loop.name == "copy":
            return self.append(f"move {numpy.dtype(loop.dtypes[0]).itemsize}", out, given)
        if loop.name == "switch":
            return self.append(f"choose {numpy.dtype(loop.dtypes[3]).itemsize}", out, given)
        name = f"{loop.name} {loop.dtypes[0]}"
        if loop.name == "cast":
            name = CASTS.get(loop.dtypes, "")
        if name not in numbers or loop.provider == "SciPy":
            self.owners.append(loop)
            return self.append("call", out, given, (), loop)
        return self.append(name, out, given)

    cdef int append_tree(self, InnerLoop loop, list registers) except -1:
        """An arithmetic tree: its inputs, locals and result are registers."""
        dtype = loop.dtypes[0]
        local = {}
        last = len(registers) - 1
        for position, (name, out, operands, constants) in enumerate(loop.owner.listing):
            for number in [*operands, out]:
                if number >= last and number not in local:
                    local[number] = self.new_register(PHINTYS_REGISTER_BYTES)
            if position == len(loop.owner.listing) - 1:
                local[out] = registers[last]
            read = [registers[number] if number < last else local[number] for number in operands]
            self.append(f"tree_{name} {dtype}", local[out], read, constants)
        return 0

    cdef int encode(self) except -1:
        cdef int index, n_calls = 0
        cdef bytes content
        self.n_registers = len(self.sizes)
        if self.n_registers > MOST_REGISTERS:
            raise ValueError(f"a body of {self.n_registers} registers; at most {MOST_REGISTERS} are possible")
        self.code = <phintys_register_instruction*>calloc(len(self.operations), sizeof(phintys_register_instruction))
        self.calls = <phintys_call*>calloc(len(self.owners) + 1, sizeof(phintys_call))
        self.registers = <char*>calloc(self.n_registers + 1, PHINTYS_REGISTER_BYTES)
        if self.code == NULL or self.calls == NULL or self.registers == NULL:
            raise MemoryError()
        for number, value in self.contents.items():
            content = value
            memcpy(self.registers + <int>number * PHINTYS_REGISTER_BYTES, <char*>content, len(content))
        for index in range(len(self.operations)):
            n_calls += self.write(index, &self.calls[n_calls])
        return 0

    cdef int write(self, int index, phintys_call* call) except -1:
        """Encode one operation; returns how many calls it took."""
        cdef Operation operation = self.operations[index]
        cdef phintys_register_instruction* to = &self.code[index]
        cdef const void* const* labels = phintys_register_machine(NULL, NULL, NULL)
        cdef int at[4]
        cdef int number, scale = 1 if operation.name.startswith("load") else PHINTYS_REGISTER_BYTES
        to.label = labels[<int>numbers[operation.name]]
        to.out = operation.out * (1 if operation.name.startswith("store") else PHINTYS_REGISTER_BYTES)
        at[0] = at[1] = at[2] = at[3] = 0
        for number in range(min(4, len(operation.operands))):
            at[number] = operation.operands[number] * scale
        to.x, to.y, to.z, to.w = at[0], at[1], at[2], at[3]
        if len(operation.constants) > 0:
            to.a = operation.constants[0]
        if len(operation.constants) > 1:
            to.b = operation.constants[1]
        if operation.loop is None:
            return 0
        to.call = call
        call.function, call.data = <void*>operation.loop.function, operation.loop.data
        for register in [*operation.operands, operation.out]:
            call.registers[call.count] = register * PHINTYS_REGISTER_BYTES
            call.sizes[call.count] = numpy.dtype(operation.loop.dtypes[call.count]).itemsize
            call.count += 1
        return 1


cdef void run_registers(const phintys_register_instruction* code, char* registers, ScalarSteps* steps) noexcept nogil:
    phintys_register_machine(code, registers, steps)


cdef RegisterCode register_code_of(BlockCode blocks, list dtypes):
    cdef int lane, inputs = blocks.tables.inputs
    cdef RegisterCode code = RegisterCode([numpy.dtype(dtype).itemsize for dtype in dtypes])
    for lane in range(inputs):
        code.append(f"load {code.sizes[lane]}", lane, [lane])
    code.append_blocks(blocks, range(len(dtypes)))
    for lane in range(inputs, len(dtypes)):
        code.append(f"store {code.sizes[lane]}", lane, [lane])
    code.append("end", -1, [])
    code.encode()
    return code
