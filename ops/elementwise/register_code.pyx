"""Scalar code on single numbers, as instructions for a machine with registers (``register_machine.h``).

The instructions follow scalar code with arithmetic merged into trees, as block code does, so all results have the same
bits as those of the loops over elements, each of which takes several times as long for one number as the machine takes.
Two kinds of kernels use them: bodies of loops, for many steps (``ops/loops/scalar_body.pyx``), and elementwise kernels
whose operands have one element each.

What the assignment of registers relies on: each value is written by one instruction, before all that read it. What it
must leave alone: the registers of constants, which are set once for many steps; those of inputs that no step sets
again; and that of an input which the next step finds in its register, unless the value that it will have is computed
there.
"""
cimport cython
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

import numpy

from phintys.ops.elementwise.arithmetic_tree import Tree

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
    """One instruction."""
    def __cinit__(self, str name, int out, operands, tuple constants=(), InnerLoop loop=None):
        self.name, self.out, self.operands, self.constants, self.loop = name, out, list(operands), constants, loop


cdef class RegisterCode:
    """Instructions for registers. Those of inputs and constants have the numbers of their slots.

    Parameters
    ----------
    code : ScalarCode
        Its loops are InnerLoops.
    loads : sequence of int
        The inputs that each step loads, from the lanes of these numbers. The others are in their registers.
    stores : dict
        Lane → the slot that each step stores there.
    next_of : dict
        Input → the slot whose value it has in the next step.
    condition : int
        The slot that ends the steps if it is not zero; -1: none.
    stop : str, optional
        The instruction that looks at it.

    Raises
    ------
    ValueError
        If there are too many registers.
    """

    def __init__(self, code, loads, dict stores, dict next_of, int condition=-1, str stop=None):
        cdef list values = list(code.dtypes), last_read
        cdef Operation operation
        cdef int slot, position, kept
        sizes = [numpy.dtype(dtype).itemsize for dtype in code.dtypes]
        self.operations, self.owners = [], []
        self.contents = {slot: value.tobytes() for slot, value in enumerate(code.constants, len(code.input_dtypes))}
        for slot, (loop, operands, _) in enumerate(code.steps, code.first_step):
            self.append_step(slot, loop, operands, values)
        # The last operation that reads a value; len(operations): the end of the step; one more: it must be kept.
        last_read = [-1] * len(values)
        for position, operation in enumerate(self.operations):
            for slot in operation.operands:
                last_read[slot] = position
        for slot in [*stores.values(), *next_of.values(), *([condition] if condition >= 0 else [])]:
            last_read[slot] = len(self.operations)
        kept = len(self.operations) + 1
        for slot in range(code.first_step):
            if slot not in loads and slot not in next_of:
                last_read[slot] = kept
        self.register_of = list(range(code.first_step)) + [-1] * (len(values) - code.first_step)
        self.n_registers = code.first_step
        self.assign_registers(last_read, next_of)
        self.operations = [Operation(f"load {sizes[slot]}", slot, [slot]) for slot in loads] + self.operations
        self.append_end(sizes, stores, next_of, condition, stop)
        self.encode()

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

    # ---- operations on values ----------------------------------------------------------------------------------------
    cdef int append(self, str name, int out, operands, tuple constants=(), InnerLoop loop=None) except -1:
        self.operations.append(Operation(name, out, operands, constants, loop))
        return 0

    cdef int append_step(self, int slot, InnerLoop loop, tuple operands, list values) except -1:
        """The operations of a step. A tree is one for each of its instructions; ``values`` gets what is between."""
        if type(loop.owner) is Tree:
            value_of = dict(enumerate(operands))
            for position, (name, out, read, constants) in enumerate(loop.owner.listing):
                read = [value_of[number] for number in read]
                value_of[out] = slot
                if position < len(loop.owner.listing) - 1:
                    value_of[out] = len(values)
                    values.append(loop.dtypes[0])
                self.append(f"tree_{name} {loop.dtypes[0]}", value_of[out], read, constants)
            return 0
        name = f"{loop.name} {loop.dtypes[0]}"
        if loop.name == "copy":
            name = f"move {numpy.dtype(loop.dtypes[0]).itemsize}"
        elif loop.name == "switch":
            name = f"choose {numpy.dtype(loop.dtypes[3]).itemsize}"
        elif loop.name == "cast":
            name = CASTS.get(loop.dtypes, "")
        if name not in numbers or loop.provider == "SciPy":
            self.owners.append(loop)
            return self.append("call", slot, operands, (), loop)
        return self.append(name, slot, operands)

    # ---- registers ---------------------------------------------------------------------------------------------------
    cdef int assign_registers(self, list last_read, dict next_of) except -1:
        """Give each value a register, free again after the value's last reader, and let operations name registers.

        The register of an input with a next value is for that value only: once the input has been read for the last
        time, its next value is computed there, and needs no move. In ``s := s * x + s`` that is so; in ``t := s * 2,
        s := t + 1, u := s + t``, where ``u`` reads the old ``s`` after its next value is known, a move is needed.
        """
        cdef Operation operation
        cdef int position
        cdef list free_registers = []
        cdef set waiting = {slot for slot in next_of if last_read[slot] < 0}      # for the next value of their input
        targets_of = {}
        for target, value in next_of.items():
            targets_of.setdefault(value, []).append(target)
        for position, operation in enumerate(self.operations):
            ending = {value for value in operation.operands if last_read[value] == position}
            overwrites = operation.loop is None or operation.loop.overwrites
            if overwrites:
                self.release(ending, free_registers, waiting, next_of)
            register = next((target for target in targets_of.get(operation.out, ()) if target in waiting), -1)
            if register >= 0:
                waiting.remove(register)
            elif free_registers:
                register = free_registers.pop()
            else:
                register = self.n_registers
                self.n_registers += 1
            if not overwrites:
                self.release(ending, free_registers, waiting, next_of)
            operation.operands = [self.register_of[value] for value in operation.operands]
            self.register_of[operation.out] = operation.out = register
        return 0

    cdef int release(self, set values, list free_registers, set waiting, dict next_of) except -1:
        """The registers of these values are free."""
        for value in values:
            if value in next_of:
                waiting.add(value)                              # an input, which has the register of its number
            else:
                free_registers.append(self.register_of[value])
        return 0

    cdef int append_end(self, list sizes, dict stores, dict next_of, int condition, str stop) except -1:
        """What follows the computation: rows, the next values of inputs, the condition."""
        cdef int register
        moves = {target: self.register_of[value] for target, value in next_of.items()
                 if self.register_of[value] != target}
        at_end = [*moves.values(), *([self.register_of[condition]] if condition >= 0 else [])]
        saved = {}
        for register in at_end:                                 # what a move overwrites before it is read
            if register in moves and register not in saved:
                saved[register] = self.n_registers
                self.n_registers += 1
                self.append(f"move {sizes[register]}", saved[register], [register])
        for lane, value in stores.items():
            self.append(f"store {sizes[value]}", lane, [self.register_of[value]])
        for target, register in moves.items():
            self.append(f"move {sizes[target]}", target, [saved.get(register, register)])
        if condition >= 0:
            register = self.register_of[condition]
            self.append(stop, -1, [saved.get(register, register)])
        return self.append("end", -1, [])

    cdef int encode(self) except -1:
        cdef int index, n_calls = 0
        cdef bytes content
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
