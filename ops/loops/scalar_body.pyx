"""The body of a loop over single numbers, run by a machine with registers (``elementwise/register_machine.h``).

A body that has only elementwise kernels on values of rank 0 is a list of scalar operations. Here they become
instructions for registers: a step loads the rows of sequences and earlier rows of states, computes, stores the rows of
the outputs, moves carried values to where the next step reads them, and looks at the condition. No cell, kernel or
frame is involved, and the state of a tap -1 never leaves its register but for its row.

The instructions follow the kernels' block programs, arithmetic trees included, so all results have the same bits as
those of the kernels.
"""
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy
from numpy cimport npy_intp

import numpy

from phintys.ops.elementwise.elementwise_kernel cimport ElementwiseKernel
from phintys.ops.elementwise.register_code cimport (
    PHINTYS_REGISTER_BYTES, Operation, RegisterCode, phintys_align_registers, run_registers)
from phintys.vm.abi cimport Cell, Context, Kernel
from phintys.vm.scalar_steps cimport ScalarSteps

cdef extern from "alloca.h" nogil:
    void* alloca(size_t)

STOPS = {"bool": "stop 1", "int8": "stop 1", "uint8": "stop 1", "int16": "stop 2", "uint16": "stop 2",
         "int32": "stop 4", "uint32": "stop 4", "int64": "stop 8", "uint64": "stop 8", "float32": "stop float32",
         "float64": "stop float64"}


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
    ``run`` takes no operands; ``context.private_memory`` is a ``ScalarSteps``. Its lanes are those of sequences, taps,
    and rows of states and stacked values.
    """
    steps_are_done = "in registers"
    cdef RegisterCode code
    cdef int n_moving, n_carried, n_wholes
    cdef int n_previous
    cdef int* previous                  # the registers of taps -1, which are loaded once
    cdef int* argument_sizes            # in bytes

    def __init__(self, kernels, operands, dtypes, constants, int n_sequences, taps, int n_carried, int n_wholes,
                 results, bint is_while):
        self.may_fail = False
        self.n_moving = n_sequences + sum([len(own) for own in taps])
        self.n_carried, self.n_wholes = n_carried, n_wholes
        self.code = RegisterCode([numpy.dtype(dtype).itemsize for dtype in dtypes],
                               {number: value.tobytes() for number, value in constants})
        self._load(n_sequences, taps)
        for kernel, own in zip(kernels, operands):
            self.code.append_blocks((<ElementwiseKernel>kernel).blocks, own)
        self._end(n_sequences, taps, list(results), is_while, dtypes)
        self.code.encode()

    def __dealloc__(self):
        free(self.previous)
        free(self.argument_sizes)

    @property
    def listing(self):
        """The instructions of a step, as text."""
        return self.code.listing

    # ---- operations --------------------------------------------------------------------------------------------------
    cdef int _load(self, int n_sequences, taps) except -1:
        """The rows of sequences and of taps; the previous step's row is in its register."""
        cdef int lane
        backs = [0] * n_sequences + [tap for own in taps for tap in own]
        previous = [lane for lane in range(self.n_moving) if backs[lane] == -1]
        self.n_previous = len(previous)
        self.previous = <int*>calloc(self.n_previous + 1, sizeof(int))
        self.argument_sizes = <int*>calloc(len(self.code.sizes) + 1, sizeof(int))
        if self.previous == NULL or self.argument_sizes == NULL:
            raise MemoryError()
        for lane in range(self.n_previous):
            self.previous[lane] = previous[lane]
        for lane in range(len(self.code.sizes)):
            self.argument_sizes[lane] = self.code.sizes[lane]
        for lane in range(self.n_moving):
            if backs[lane] != -1:
                self.code.append(f"load {self.code.sizes[lane]}", lane, [lane])
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
                saved[result] = self.code.new_register(PHINTYS_REGISTER_BYTES)
                self.code.append(f"move {self.code.sizes[result]}", saved[result], [result])
        for lane in range(n_rows):
            self.code.append(f"store {self.code.sizes[results[lane]]}", self.n_moving + lane, [results[lane]])
        for register, result in moves:
            self.code.append(f"move {self.code.sizes[register]}", register, [saved.get(result, result)])
        if is_while:
            self.code.append(STOPS[dtypes[condition]], -1, [saved.get(condition, condition)])
        self.code.append("end", -1, [])
        self._compute_in_place()
        return 0

    cdef int _compute_in_place(self) except -1:
        """Let what a move copies be computed in the register that it is moved to, where nothing reads that later."""
        cdef Operation move
        for move in [operation for operation in self.code.operations if (<Operation>operation).name.startswith("move")]:
            source, target = move.operands[0], move.out
            if source != target and self._can_join(move, source, target):
                self.code.operations.remove(move)
                self._rename(source, target)
        return 0

    cdef bint _can_join(self, Operation move, int source, int target) except -1:
        cdef Operation operation
        cdef int written = -1, position, place = self.code.operations.index(move)
        if source < self.n_moving + self.n_carried + self.n_wholes or source in self.code.contents:
            return False
        for position, operation in enumerate(self.code.operations):
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
        for operation in self.code.operations:
            operation.rename(old, new)
        return 0

    # ---- running -----------------------------------------------------------------------------------------------------
    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef ScalarSteps* steps = <ScalarSteps*>context.private_memory
        cdef size_t size = self.code.n_registers * PHINTYS_REGISTER_BYTES
        cdef char* registers = phintys_align_registers(alloca(size + PHINTYS_REGISTER_BYTES))
        cdef int index
        memcpy(registers, self.code.registers, size)
        for index in range(self.n_previous):
            memcpy(registers + self.previous[index] * PHINTYS_REGISTER_BYTES, steps.lanes[self.previous[index]].data,
                   self.argument_sizes[self.previous[index]])
        for index in range(self.n_carried + self.n_wholes):
            memcpy(registers + (self.n_moving + index) * PHINTYS_REGISTER_BYTES, steps.fixed[index],
                   self.argument_sizes[self.n_moving + index])
        run_registers(self.code.code, registers, steps)
        for index in range(self.n_carried):
            memcpy(steps.fixed[index], registers + (self.n_moving + index) * PHINTYS_REGISTER_BYTES,
                   self.argument_sizes[self.n_moving + index])
        return 0
