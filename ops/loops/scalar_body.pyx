"""The body of a loop over single numbers, run by a machine with registers (``scalar_body_loops.h``).

A body that has only elementwise kernels on values of rank 0 is a list of scalar operations. Here they become
instructions for registers: a step loads the rows of sequences and earlier rows of states, computes, stores the rows of
the outputs, moves carried values to where the next step reads them, and looks at the condition. No cell, kernel or
frame is involved, and the state of a tap -1 never leaves its register but for its row.

The instructions follow the kernels' block programs, arithmetic trees included, so all results have the same bits as
those of the kernels.
"""
cimport cython
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy
from numpy cimport npy_intp

import numpy

from phintys.ops.elementwise.block_program cimport CONSTANT_BYTES, BlockProgram
from phintys.ops.elementwise.elementwise_kernel cimport ElementwiseKernel
from phintys.ops.native.loops cimport Loop
from phintys.vm.abi cimport Cell, Context, Kernel
from phintys.vm.scalar_steps cimport ScalarSteps

from phintys.ops.elementwise.arithmetic_tree import Tree

cdef extern from "alloca.h" nogil:
    void* alloca(size_t)

cdef extern from "loops/scalar_body_loops.h" nogil:
    enum:
        PHINTYS_REGISTER_BYTES
        PHINTYS_CALL_OPERANDS
    ctypedef struct phintys_call:
        void* function
        void* data
        int count
        int registers[PHINTYS_CALL_OPERANDS]
        npy_intp sizes[PHINTYS_CALL_OPERANDS]
    ctypedef struct phintys_scalar_instruction:
        const void* label
        int out, x, y, z, w
        double a, b
        const phintys_call* call
    const char* const phintys_scalar_names[]
    const void* const* phintys_scalar_machine(const phintys_scalar_instruction*, char*, ScalarSteps*)

cdef enum:
    MOST_REGISTERS = 1024               # 16 KiB of the stack

cdef dict numbers = {}                  # of the machine's instructions, by name
cdef int _number = 0
while phintys_scalar_names[_number] != NULL:
    numbers[phintys_scalar_names[_number].decode()] = _number
    _number += 1
INSTRUCTIONS = frozenset(numbers)

STOPS = {"bool": "stop 1", "int8": "stop 1", "uint8": "stop 1", "int16": "stop 2", "uint16": "stop 2",
         "int32": "stop 4", "uint32": "stop 4", "int64": "stop 8", "uint64": "stop 8", "float32": "stop float32",
         "float64": "stop float64"}

# Casts that are instructions; others may give what depends on the processor, and call the loop.
CASTS = {tuple(name.split()[1:]): name for name in numbers if name.startswith("cast_")}


@cython.final
cdef class Operation:
    """One instruction, before registers are renamed."""
    cdef str name
    cdef int out                        # a register, or the lane that is stored to; -1: none
    cdef list operands                  # registers, or the lane that is loaded
    cdef tuple constants
    cdef Loop loop                      # of a call

    def __cinit__(self, str name, int out, operands, tuple constants=(), Loop loop=None):
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


cdef class ScalarBody(Kernel):
    """Run the body of a loop for a number of steps.

    Parameters
    ----------
    kernels : sequence of ElementwiseKernel
        On operands of rank 0, in the order in which they run.
    operands : sequence of tuple of int
        For each kernel its operands, as numbers of values. Arguments come first: rows of sequences, taps, carried
        values, wholes.
    dtypes : sequence of str
        Of each value.
    constants : sequence of (int, numpy.ndarray)
        The values that are constants.
    n_sequences : int
    taps : sequence of tuple of int
        For each state its taps.
    n_carried, n_wholes : int
    results : sequence of int
        The values that are rows of states, stacked rows, carried values and, of a while loop, the condition.
    is_while : bool

    Raises
    ------
    ValueError
        If the body needs too many registers, or the machine cannot test its condition.

    Notes
    -----
    ``run`` takes no operands; ``context.room`` is a ``ScalarSteps``. Its lanes are those of sequences, taps, and rows
    of states and stacked values.
    """
    steps_are_done = "in registers"
    cdef list sizes                     # of registers, in bytes
    cdef list operations
    cdef dict contents                  # of registers that are constants
    cdef list owners                    # keep the data of loops alive
    cdef phintys_scalar_instruction* code
    cdef phintys_call* calls
    cdef char* registers                # as they are before the first step
    cdef int n_registers
    cdef int n_moving, n_carried, n_wholes
    cdef int n_previous
    cdef int* previous                  # the registers of taps -1, which are loaded once
    cdef int* argument_sizes            # in bytes

    def __init__(self, kernels, operands, dtypes, constants, int n_sequences, taps, int n_carried, int n_wholes,
                 results, bint is_while):
        self.may_fail = False
        self.n_moving = n_sequences + sum([len(own) for own in taps])
        self.n_carried, self.n_wholes = n_carried, n_wholes
        self.sizes = [numpy.dtype(dtype).itemsize for dtype in dtypes]
        self.operations, self.owners = [], []
        self.contents = {number: value.tobytes() for number, value in constants}
        self._load(n_sequences, taps)
        for kernel, own in zip(kernels, operands):
            self._add_kernel(kernel, own)
        self._end(n_sequences, taps, list(results), is_while, dtypes)
        self._encode()

    def __dealloc__(self):
        free(self.code)
        free(self.calls)
        free(self.registers)
        free(self.previous)
        free(self.argument_sizes)

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

    # ---- operations --------------------------------------------------------------------------------------------------
    cdef int _new(self, int size, content=None) except -1:
        """A register."""
        if content is not None:
            self.contents[len(self.sizes)] = content
        self.sizes.append(size)
        return len(self.sizes) - 1

    cdef int _append(self, str name, int out, operands, tuple constants=(), Loop loop=None) except -1:
        self.operations.append(Operation(name, out, operands, constants, loop))
        return 0

    cdef int _load(self, int n_sequences, taps) except -1:
        """The rows of sequences and of taps; the previous step's row is in its register."""
        cdef int lane
        backs = [0] * n_sequences + [tap for own in taps for tap in own]
        previous = [lane for lane in range(self.n_moving) if backs[lane] == -1]
        self.n_previous = len(previous)
        self.previous = <int*>calloc(self.n_previous + 1, sizeof(int))
        self.argument_sizes = <int*>calloc(len(self.sizes) + 1, sizeof(int))
        if self.previous == NULL or self.argument_sizes == NULL:
            raise MemoryError()
        for lane in range(self.n_previous):
            self.previous[lane] = previous[lane]
        for lane in range(len(self.sizes)):
            self.argument_sizes[lane] = self.sizes[lane]
        for lane in range(self.n_moving):
            if backs[lane] != -1:
                self._append(f"load {self.sizes[lane]}", lane, [lane])
        return 0

    cdef int _add_kernel(self, ElementwiseKernel kernel, tuple operands) except -1:
        """The operations of a block program."""
        cdef BlockProgram block = kernel.program
        cdef int index
        cdef const char* value
        place = list(operands[:block.program.inputs])
        for index in range(block.program.constants):
            value = block.program.constant_values + index * CONSTANT_BYTES
            place.append(self._new(PHINTYS_REGISTER_BYTES, value[:CONSTANT_BYTES]))
        for index in range(block.program.register_places):
            place.append(self._new(PHINTYS_REGISTER_BYTES))
        place += operands[block.program.inputs:]
        for loop, places in block.steps:
            self._add_step(loop, [place[number] for number in places])
        return 0

    cdef int _add_step(self, Loop loop, list registers) except -1:
        *given, out = registers
        if type(loop.owner) is Tree:
            return self._add_tree(loop, registers)
        if loop.name == "copy":
            return self._append(f"move {numpy.dtype(loop.dtypes[0]).itemsize}", out, given)
        if loop.name == "switch":
            return self._append(f"choose {numpy.dtype(loop.dtypes[3]).itemsize}", out, given)
        name = f"{loop.name} {loop.dtypes[0]}"
        if loop.name == "cast":
            name = CASTS.get(loop.dtypes, "")
        if name not in numbers or loop.provider == "SciPy":
            self.owners.append(loop)
            return self._append("call", out, given, (), loop)
        return self._append(name, out, given)

    cdef int _add_tree(self, Loop loop, list registers) except -1:
        """An arithmetic tree: its inputs, locals and result are registers."""
        dtype = loop.dtypes[0]
        local = {}
        last = len(registers) - 1
        for position, (name, out, operands, constants) in enumerate(loop.owner.listing):
            for number in [*operands, out]:
                if number >= last and number not in local:
                    local[number] = self._new(PHINTYS_REGISTER_BYTES)
            if position == len(loop.owner.listing) - 1:
                local[out] = registers[last]
            read = [registers[number] if number < last else local[number] for number in operands]
            self._append(f"tree_{name} {dtype}", local[out], read, constants)
        return 0

    cdef int _end(self, int n_sequences, taps, list results, bint is_while, dtypes) except -1:
        """What follows the computation: rows, carried values, the condition."""
        cdef int lane, n_rows = len(results) - self.n_carried - is_while, first_carried = self.n_moving
        condition = results.pop() if is_while else -1
        if is_while and dtypes[condition] not in STOPS:
            raise ValueError(f"a condition of dtype {dtypes[condition]}")
        previous, position = [], n_sequences
        for own, result in zip(taps, results):
            previous += [(position + number, result) for number, tap in enumerate(own) if tap == -1]
            position += len(own)
        moves = previous + [(first_carried + number, result) for number, result in enumerate(results[n_rows:])]
        overwritten = {register for register, _ in moves}
        saved = {}
        for _, result in [*moves, (-1, condition)]:             # what a move overwrites before it is read
            if result in overwritten and result not in saved:
                saved[result] = self._new(PHINTYS_REGISTER_BYTES)
                self._append(f"move {self.sizes[result]}", saved[result], [result])
        for lane in range(n_rows):
            self._append(f"store {self.sizes[results[lane]]}", self.n_moving + lane, [results[lane]])
        for register, result in moves:
            self._append(f"move {self.sizes[register]}", register, [saved.get(result, result)])
        if is_while:
            self._append(STOPS[dtypes[condition]], -1, [saved.get(condition, condition)])
        self._append("end", -1, [])
        self._compute_in_place()
        return 0

    cdef int _compute_in_place(self) except -1:
        """Let what a move copies be computed in the register that it is moved to, where nothing reads that later."""
        cdef Operation move
        for move in [operation for operation in self.operations if (<Operation>operation).name.startswith("move")]:
            source, target = move.operands[0], move.out
            if source != target and self._can_join(move, source, target):
                self.operations.remove(move)
                self._rename(source, target)
        return 0

    cdef bint _can_join(self, Operation move, int source, int target) except -1:
        cdef Operation operation
        cdef int written = -1, position, place = self.operations.index(move)
        if source < self.n_moving + self.n_carried + self.n_wholes or source in self.contents:
            return False
        for position, operation in enumerate(self.operations):
            if operation.writes(source):
                if written >= 0:
                    return False
                written = position
                if operation.reads(target) and operation.loop is not None and not operation.loop.overwrites:
                    return False
            elif operation is not move and operation.writes(target):
                return False
            elif operation.reads(target) and written >= 0:
                return False
            elif operation.reads(source) and written < 0:
                return False
        return 0 <= written < place

    cdef int _rename(self, int old, int new) except -1:
        cdef Operation operation
        for operation in self.operations:
            operation.rename(old, new)
        return 0

    # ---- code --------------------------------------------------------------------------------------------------------
    cdef int _encode(self) except -1:
        cdef int index, n_calls = 0
        cdef bytes content
        self.n_registers = len(self.sizes)
        if self.n_registers > MOST_REGISTERS:
            raise ValueError(f"a body of {self.n_registers} registers; at most {MOST_REGISTERS} are possible")
        self.code = <phintys_scalar_instruction*>calloc(len(self.operations), sizeof(phintys_scalar_instruction))
        self.calls = <phintys_call*>calloc(len(self.owners) + 1, sizeof(phintys_call))
        self.registers = <char*>calloc(self.n_registers + 1, PHINTYS_REGISTER_BYTES)
        if self.code == NULL or self.calls == NULL or self.registers == NULL:
            raise MemoryError()
        for number, value in self.contents.items():
            content = value
            memcpy(self.registers + <int>number * PHINTYS_REGISTER_BYTES, <char*>content, len(content))
        for index in range(len(self.operations)):
            n_calls += self._write(index, &self.calls[n_calls])
        return 0

    cdef int _write(self, int index, phintys_call* call) except -1:
        """Encode one operation; returns how many calls it took."""
        cdef Operation operation = self.operations[index]
        cdef phintys_scalar_instruction* to = &self.code[index]
        cdef const void* const* labels = phintys_scalar_machine(NULL, NULL, NULL)
        cdef int place[4]
        cdef int number, scale = 1 if operation.name.startswith("load") else PHINTYS_REGISTER_BYTES
        to.label = labels[<int>numbers[operation.name]]
        to.out = operation.out * (1 if operation.name.startswith("store") else PHINTYS_REGISTER_BYTES)
        place[0] = place[1] = place[2] = place[3] = 0
        for number in range(min(4, len(operation.operands))):
            place[number] = operation.operands[number] * scale
        to.x, to.y, to.z, to.w = place[0], place[1], place[2], place[3]
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

    # ---- running -----------------------------------------------------------------------------------------------------
    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef ScalarSteps* steps = <ScalarSteps*>context.room
        cdef size_t size = self.n_registers * PHINTYS_REGISTER_BYTES
        cdef char* registers = <char*>alloca(size + PHINTYS_REGISTER_BYTES)
        cdef int index
        registers += -<npy_intp>registers & (PHINTYS_REGISTER_BYTES - 1)
        memcpy(registers, self.registers, size)
        for index in range(self.n_previous):
            memcpy(registers + self.previous[index] * PHINTYS_REGISTER_BYTES, steps.lanes[self.previous[index]].data,
                   self.argument_sizes[self.previous[index]])
        for index in range(self.n_carried + self.n_wholes):
            memcpy(registers + (self.n_moving + index) * PHINTYS_REGISTER_BYTES, steps.fixed[index],
                   self.argument_sizes[self.n_moving + index])
        phintys_scalar_machine(self.code, registers, steps)
        for index in range(self.n_carried):
            memcpy(steps.fixed[index], registers + (self.n_moving + index) * PHINTYS_REGISTER_BYTES,
                   self.argument_sizes[self.n_moving + index])
        return 0
