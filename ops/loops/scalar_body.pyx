"""The body of a loop over single numbers, run by a machine with registers (``elementwise/register_machine.h``).

A body that has only elementwise kernels on values of rank 0 is a list of scalar operations. Here they become
instructions for registers: a step loads the rows of sequences and earlier rows of states, computes, stores the rows of
the outputs, moves carried values to where the next step reads them, and looks at the condition. No cell, kernel or
frame is involved, and the state of a tap -1 never leaves its register but for its row.

The instructions follow scalar code with arithmetic merged into trees, so all results have the same bits as those of the
kernels.
"""
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

import numpy

from phintys.ops.elementwise.block_code import with_loops
from phintys.ops.elementwise.register_code cimport (
    PHINTYS_REGISTER_BYTES, RegisterCode, phintys_align_registers, run_registers)
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
    code : ScalarCode
        What a step computes. Its inputs are rows of sequences, taps, carried values, and wholes; its results are rows
        of states, stacked rows, carried values and, of a while loop, the condition.
    n_sequences : int
    taps : sequence of tuple of int
        For each state its taps.
    n_carried : int
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
    cdef int n_moving, n_carried
    cdef int n_fixed                    # carried values and wholes
    cdef int n_previous
    cdef int* previous                  # the registers of taps -1, which are loaded once
    cdef int* argument_sizes            # in bytes

    def __init__(self, code, int n_sequences, taps, int n_carried, bint is_while):
        code = with_loops(code)
        backs = [0] * n_sequences + [tap for own in taps for tap in own]
        self.may_fail = False
        self.n_moving, self.n_carried = len(backs), n_carried
        self._set_arguments(code, [lane for lane, back in enumerate(backs) if back == -1])
        results = list(code.outputs)
        condition = results.pop() if is_while else -1
        stop = STOPS.get(code.dtypes[condition]) if is_while else None
        if is_while and stop is None:
            raise ValueError(f"a condition of dtype {code.dtypes[condition]}")
        n_rows = len(results) - n_carried
        firsts = [n_sequences + sum([len(own) for own in taps[:state]]) for state in range(len(taps))]
        next_of = {first + own.index(-1): result for first, own, result in zip(firsts, taps, results) if -1 in own}
        next_of.update(enumerate(results[n_rows:], self.n_moving))
        self.code = RegisterCode(code, [lane for lane, back in enumerate(backs) if back != -1],
                                 dict(enumerate(results[:n_rows], self.n_moving)), next_of, condition, stop)

    cdef int _set_arguments(self, code, list previous) except -1:
        """Note what `run` writes to registers: rows of taps -1 once, carried values and wholes."""
        cdef int index
        self.n_fixed, self.n_previous = len(code.input_dtypes) - self.n_moving, len(previous)
        self.previous = <int*>calloc(self.n_previous + 1, sizeof(int))
        self.argument_sizes = <int*>calloc(len(code.input_dtypes) + 1, sizeof(int))
        if self.previous == NULL or self.argument_sizes == NULL:
            raise MemoryError()
        for index in range(self.n_previous):
            self.previous[index] = previous[index]
        for index in range(len(code.input_dtypes)):
            self.argument_sizes[index] = numpy.dtype(code.input_dtypes[index]).itemsize
        return 0

    def __dealloc__(self):
        free(self.previous)
        free(self.argument_sizes)

    @property
    def listing(self):
        """The instructions of a step, as text."""
        return self.code.listing

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
        for index in range(self.n_fixed):
            memcpy(registers + (self.n_moving + index) * PHINTYS_REGISTER_BYTES, steps.fixed[index],
                   self.argument_sizes[self.n_moving + index])
        run_registers(self.code.code, registers, steps)
        for index in range(self.n_carried):
            memcpy(steps.fixed[index], registers + (self.n_moving + index) * PHINTYS_REGISTER_BYTES,
                   self.argument_sizes[self.n_moving + index])
        return 0
