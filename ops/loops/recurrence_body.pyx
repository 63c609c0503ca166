"""The body ``term + factor * before`` of a loop: loops in C that do many steps in one call.

The kernel of loops calls it instead of its program (``vm/loops/scalar_runs.pxi``); it has what registers have not:
complex dtypes, and rows of many columns. A step has the roundings of the two operations that it replaces.
"""
from numpy cimport npy_intp

from phintys.vm.abi cimport Cell, Context, Kernel
from phintys.vm.scalar_steps cimport Lane, ScalarSteps

cdef extern from "loops/recurrence_loops.h" nogil:
    ctypedef struct RecurrenceRows "phintys_recurrence_rows":
        const char* factors
        const char* before
        const char* terms
        char* results
        npy_intp next_factors, next_terms, next_results
    ctypedef void (*Recurrence "phintys_recurrence")(const RecurrenceRows* rows, npy_intp columns,
                                                     npy_intp steps) noexcept nogil
    const Recurrence phintys_recurrences[4]

DTYPES = ("float32", "float64", "complex64", "complex128")


cdef class RecurrenceBody(Kernel):
    """The steps of a loop with two sequences and a state, whose rows have one shape: see ``vm/scalar_steps.pxd``.

    Parameters
    ----------
    dtype : str
        One of ``DTYPES``.
    factor : int
        Which of the sequences has the factors, 0 or 1.
    """
    steps_are_done = "as a linear recurrence"
    cdef Recurrence compute
    cdef int factor

    def __init__(self, dtype, int factor):
        self.compute = phintys_recurrences[<int>DTYPES.index(dtype)]
        self.factor, self.may_fail = factor, False

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef ScalarSteps* steps = <ScalarSteps*>context.private_memory
        cdef Lane* factor = &steps.lanes[self.factor]
        cdef Lane* term = &steps.lanes[1 - self.factor]
        cdef Lane* before = &steps.lanes[2]
        cdef Lane* result = &steps.lanes[3]
        cdef RecurrenceRows rows
        cdef npy_intp left = steps.steps, count
        rows.next_factors, rows.next_terms, rows.next_results = factor.stride, term.stride, result.stride
        rows.factors, rows.terms, rows.before = factor.data, term.data, before.data
        if result.end != NULL and result.end - result.begin <= result.stride:
            rows.next_results = 0                       # each row takes the place of the one before
        while left:
            rows.results = result.data
            count = left if result.end == NULL or rows.next_results == 0 else min(left, rows_until_end(result))
            self.compute(&rows, steps.size, count)
            rows.before = result.data + (count - 1) * rows.next_results
            rows.factors, rows.terms = rows.factors + count * factor.stride, rows.terms + count * term.stride
            result.data += count * rows.next_results
            if result.data == result.end:
                result.data = result.begin
            left -= count
        steps.done = steps.steps
        return 0


cdef inline npy_intp rows_until_end(const Lane* lane) noexcept nogil:
    """How many rows there are to the end of a ring."""
    return (lane.end - lane.data) // lane.stride
