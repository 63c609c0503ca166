"""All lines of arrays along one axis: a walk that workers share.

An array of rank r has lines along an axis, one for each index of its other dimensions. Operands of a walk have the same
lengths in these other dimensions.
"""
from numpy cimport npy_intp

from phintys.vm.abi cimport Cell, Context
from phintys.vm.limits cimport MAX_RANK

cdef enum:
    MOST_LINES = 3             # operands of a walk

cdef struct Line:
    char* data[MOST_LINES]
    npy_intp steps[MOST_LINES]         # in bytes
    npy_intp lengths[MOST_LINES]

# Works on one line of each operand, with memory of a worker's own.
ctypedef void (*LineTask)(const void* settings, const Line* line, char* room) noexcept nogil

cdef struct Walk:
    LineTask task
    const void* settings
    Line first
    int outer                          # dimensions besides the axis
    npy_intp shape[MAX_RANK]
    npy_intp strides[MOST_LINES][MAX_RANK]
    char* room
    npy_intp room_size                 # bytes for each worker

# Run ``task`` on each line of ``count`` cells, in pieces of at least ``grain`` lines for a worker. ``room_size`` bytes
# for each of ``context.workers`` workers must have been asked for by ``scratch``.
cdef void walk_lines(Context* context, LineTask task, const void* settings, Cell** cells, int count, int axis,
                     npy_intp room_size, npy_intp grain) noexcept nogil

cdef inline npy_intp lines_of(const Cell* cell, int axis) noexcept nogil:
    """How many lines there are."""
    cdef npy_intp count = 1
    cdef int number
    for number in range(cell.ndim):
        if number != axis:
            count *= cell.shape[number]
    return count
