"""Copies of cells, and cells that refer to the memory of others: COPY, OWN, ALIAS and MOVE.

The interpreter calls these, and what replays its instructions. A copy is in C order, whatever the order of its source.
ALIAS and MOVE tell whether the target's layout has changed: then their caller begins the next epoch.
"""
from libc.string cimport memcmp, memcpy
from numpy cimport npy_intp

from phintys.vm.abi cimport (
    CELL_DEVICE, CELL_OBJECT, Cell, Context, allocate, cell_is_contiguous, cell_is_packed, cell_size, device_memory,
    drop, owner_is_alone, share)
from phintys.vm.containers.container cimport Container, copy_object
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.machine.code cimport Instruction
from phintys.vm.machine.frame cimport Machine, take_layout
from phintys.vm.pool cimport GIVEN, PLANNED, Buffer, buffer_references, buffer_release


cdef bint alias(Context* context, Cell* target, Cell* source) noexcept nogil:
    """Let the target look at the source's memory; a number is copied."""
    cdef bint differs
    if source.flags & CELL_OBJECT:
        copy_object(target, source)
        return False
    if source.ndim == 0 and not source.flags & CELL_DEVICE:
        memcpy(target.value, source.data, source.itemsize)
        target.data = <char*>target.value
        return False
    differs = take_layout(target, source.shape, source.strides)
    share(context, target, source, source.data)
    return differs


cdef bint move(Context* context, Cell* target, Cell* source) noexcept nogil:
    """The same, and the source is empty; it takes the target's old buffer for its next value."""
    cdef Buffer* old
    cdef bint differs
    if source.buffer == NULL or source.flags & CELL_OBJECT:
        differs = alias(context, target, source)
        drop(context, source)
        return differs
    old = target.buffer
    target.buffer = NULL
    differs = alias(context, target, source)
    buffer_release(source.buffer)                           # not the last reference: the target has one
    source.buffer, source.data = old, NULL
    return differs


cdef inline void copy_line(char* write, const char* read, npy_intp stride, npy_intp count, int itemsize) noexcept nogil:
    cdef npy_intp index
    if itemsize == 8:                   # most elements; a memcpy of unknown size takes ten times as long
        for index in range(count):
            (<double*>write)[index] = (<const double*>(read + index * stride))[0]
    else:
        for index in range(count):
            memcpy(write + index * itemsize, read + index * stride, itemsize)


cdef void copy_elements(char* write, Cell* source) noexcept nogil:
    """The elements of a cell in C order."""
    cdef npy_intp index[MAX_RANK]
    cdef const char* read = source.data
    cdef int axis, last = source.ndim - 1
    cdef npy_intp size = cell_size(source), line
    if size == 0 or cell_is_contiguous(source):
        memcpy(write, read, size * source.itemsize)
        return
    line = source.shape[last]
    for axis in range(last):
        index[axis] = 0
    while True:
        copy_line(write, read, source.strides[last], line, source.itemsize)
        write += line * source.itemsize
        axis = last - 1
        while axis >= 0:
            index[axis] += 1
            read += source.strides[axis]
            if index[axis] < source.shape[axis]:
                break
            read -= source.strides[axis] * index[axis]
            index[axis] = 0
            axis -= 1
        if axis < 0:
            return


cdef int copy_memory(Context* context, Cell* target, Cell* source) except -1 nogil:
    """C order copy of any strided cell; ``target`` gets fresh memory."""
    allocate(context, target, source.shape)
    if source.flags & CELL_DEVICE:
        return device_memory.copy(target, source)
    copy_elements(target.data, source)
    return 0


cdef int copy_cell(Machine* machine, const Instruction* at) except -1 nogil:
    """Both branches of a lazy node copy to one cell, so the layout may be new although no argument's is."""
    cdef Cell* source = &machine.cells[at.b]
    cdef Cell* target = &machine.cells[at.a]
    cdef npy_intp shape[MAX_RANK]
    cdef npy_intp strides[MAX_RANK]
    cdef size_t size = target.ndim * sizeof(npy_intp)
    if source.flags & CELL_OBJECT:
        copy_object(target, source)
        return 0
    memcpy(shape, target.shape, size)
    memcpy(strides, target.strides, size)
    copy_memory(&machine.context, target, source)
    if memcmp(shape, target.shape, size) or memcmp(strides, target.strides, size):
        machine.epoch += 1
    return 0


cdef inline bint is_own(const Cell* cell, const Cell* home) noexcept nogil:
    """Whether only the cell refers to its memory, or besides it the container that it will be stored in, which the call
    has claimed: a value that was left alone."""
    cdef Buffer* buffer = cell.buffer
    if buffer.owner == NULL:
        return buffer.size_class != PLANNED and buffer_references(buffer) == (2 if home.buffer == buffer else 1)
    return buffer_references(buffer) == 1 and buffer.size_class != GIVEN and owner_is_alone(buffer)


cdef int own_cell(Machine* machine, const Instruction* at) except -1 nogil:
    """Copy the cell unless its memory is its own and holds only its value, without gaps."""
    cdef Cell* cell = &machine.cells[at.a]
    cdef const Cell* home = &(<Container>machine.containers[at.b]).cell
    cdef Cell fresh
    cdef npy_intp dimensions[2 * MAX_RANK]
    cdef int axis
    if cell.flags & CELL_OBJECT or cell.data == <char*>cell.value:
        return 0
    if cell.buffer != NULL and is_own(cell, home) and cell_is_packed(cell) and not is_wasteful(cell):
        return 0
    fresh = cell[0]
    fresh.buffer, fresh.data = NULL, NULL
    fresh.donor, fresh.heir, fresh.slot = NULL, NULL, NULL
    fresh.shape, fresh.strides = dimensions, dimensions + cell.ndim
    copy_memory(&machine.context, &fresh, cell)
    drop(&machine.context, cell)
    for axis in range(cell.ndim):
        if cell.strides[axis] != fresh.strides[axis]:
            machine.epoch += 1
        cell.strides[axis] = fresh.strides[axis]
    if fresh.buffer == NULL:
        memcpy(cell.value, fresh.value, sizeof(fresh.value))
        cell.data = <char*>cell.value
    else:
        cell.buffer, cell.data = fresh.buffer, fresh.data
    return 0
