"""The body ``term + factor * before`` of a loop, with the loops in C of ``LinearRecurrence``: many steps in one call."""
from numpy cimport npy_intp

from phintys.vm.abi cimport Cell, Context, Kernel
from phintys.vm.scalar_steps cimport Lane, ScalarSteps

cdef extern from "cumulative/recurrence_loops.h" nogil:
    ctypedef void (*phintys_recurrence_row)(const void* factors, const void* before, const void* terms, void* results,
                                            npy_intp columns) noexcept nogil
    const phintys_recurrence_row phintys_recurrence_rows[4]

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
    cdef phintys_recurrence_row compute
    cdef int factor

    def __init__(self, dtype, int factor):
        self.compute = phintys_recurrence_rows[<int>DTYPES.index(dtype)]
        self.factor, self.may_fail = factor, False

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef ScalarSteps* steps = <ScalarSteps*>context.room
        cdef Lane* factor = &steps.lanes[self.factor]
        cdef Lane* term = &steps.lanes[1 - self.factor]
        cdef Lane* before = &steps.lanes[2]
        cdef Lane* result = &steps.lanes[3]
        cdef npy_intp left
        for left in range(steps.steps):
            self.compute(move_on(factor), move_on(before), move_on(term), move_on(result), steps.size)
        steps.done = steps.steps
        return 0


cdef inline char* move_on(Lane* lane) noexcept nogil:
    """The address for this step; the lane goes on to the next."""
    cdef char* data = lane.data
    lane.data += lane.stride
    if lane.data == lane.end:
        lane.data = lane.begin
    return data
