"""All lines of arrays along one axis: see ``line_walk.pxd``.

Kernels of sorting call ``walk_lines`` from ``run``. Each worker has scratch memory of its own, and walks a range of
lines in C order of the other dimensions, so no two workers write to one line.
"""
from numpy cimport npy_intp

from phintys.vm.abi cimport Cell, Context, parallel


cdef void walk_part(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    """The lines [start, stop), by a worker."""
    cdef Walk* walk = <Walk*>argument
    cdef Line line = walk.first
    cdef npy_intp index[MAX_RANK]
    cdef npy_intp left = start
    cdef int axis, operand
    for axis in range(walk.outer - 1, -1, -1):
        index[axis] = left % walk.shape[axis]
        left //= walk.shape[axis]
        for operand in range(MOST_LINES):
            line.data[operand] += index[axis] * walk.strides[operand][axis]
    while True:
        walk.task(walk.settings, &line, walk.room + worker * walk.room_size)
        start += 1
        if start >= stop:
            return
        for axis in range(walk.outer - 1, -1, -1):
            index[axis] += 1
            for operand in range(MOST_LINES):
                line.data[operand] += walk.strides[operand][axis]
            if index[axis] < walk.shape[axis]:
                break
            for operand in range(MOST_LINES):
                line.data[operand] -= index[axis] * walk.strides[operand][axis]
            index[axis] = 0


cdef void walk_lines(Context* context, LineTask task, const void* settings, Cell** cells, int count, int axis,
                     npy_intp room_size, npy_intp grain) noexcept nogil:
    cdef Walk walk
    cdef npy_intp lines = lines_of(cells[0], axis)
    cdef int operand, number
    if lines == 0:
        return
    walk.task, walk.settings, walk.room, walk.room_size, walk.outer = task, settings, context.scratch, room_size, 0
    for operand in range(MOST_LINES):
        walk.first.data[operand], walk.first.steps[operand], walk.first.lengths[operand] = NULL, 0, 0
        if operand < count:
            walk.first.data[operand] = cells[operand].data
            walk.first.steps[operand] = cells[operand].strides[axis]
            walk.first.lengths[operand] = cells[operand].shape[axis]
    for number in range(cells[0].ndim):
        if number == axis or cells[0].shape[number] == 1:
            continue
        walk.shape[walk.outer] = cells[0].shape[number]
        for operand in range(MOST_LINES):
            walk.strides[operand][walk.outer] = cells[operand].strides[number] if operand < count else 0
        walk.outer += 1
    parallel(context, walk_part, &walk, lines, grain)
