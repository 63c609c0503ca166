"""Memory for values, and back, in the cases that small programs are made of; ``abi.pyx`` has all cases.

Each function returns whether it has done what the general one (``renew``, ``drop``) would have done. If not, it has
done nothing, and the general one is to be called.
"""
from phintys.vm cimport pool
from phintys.vm.abi cimport (
    CELL_DEVICE, CELL_FITS, CELL_LENT, CELL_OBJECT, CELL_PASSED, INLINE_BYTES, Cell, Context, cell_size)
from phintys.vm.pool cimport SMALL_CLASSES, SMALL_LIMIT, Buffer, buffer_references


cdef inline bint is_small(const Buffer* buffer) noexcept nogil:
    """Whether a value's memory is a small block, or there is none."""
    return buffer == NULL or 0 < buffer.size_class <= SMALL_CLASSES


cdef inline void note_fit(Cell* cell) noexcept nogil:
    """Note whether a cell has its donor's layout, as it then does in each call of the epoch."""
    cdef const Cell* donor = cell.donor
    cdef int axis
    cell.flags &= ~CELL_FITS
    if donor == NULL or cell.flags & CELL_DEVICE or cell_size(cell) == 0:
        return
    for axis in range(cell.ndim):
        if donor.shape[axis] != cell.shape[axis] or (
                donor.strides[axis] != cell.strides[axis] and cell.shape[axis] > 1):
            return
    cell.flags |= CELL_FITS


cdef inline bint adopt_quickly(Cell* cell) noexcept nogil:
    """Let a cell of a bound kernel take its donor's memory: the pool's, to which no other cell or array refers, except
    the container that a donor was loaded from."""
    cdef Cell* donor = cell.donor
    cdef Buffer* buffer = donor.buffer
    cdef bint stored = donor.donor != NULL and donor.donor.buffer == buffer
    if (not cell.flags & CELL_FITS or (cell.flags | donor.flags) & CELL_LENT or donor.flags & CELL_PASSED
            or donor.data == NULL or buffer.size_class < 0 or buffer_references(buffer) != 1 + stored):
        return False
    cell.flags &= ~CELL_PASSED
    if stored:
        cell.flags |= CELL_PASSED
    donor.buffer = cell.buffer
    cell.buffer = buffer
    cell.data = donor.data
    return True


cdef inline bint is_inside(const Context* context, const Cell* cell) noexcept nogil:
    """Whether the value of an output of a bound kernel will be inside its cell, and that is all."""
    return (cell.size <= INLINE_BYTES and cell.donor == NULL and cell.buffer == NULL
            and not (context.poison | (cell.flags & CELL_DEVICE)))


cdef inline bint renew_quickly(Context* context, Cell* cell) noexcept nogil:
    """As ``renew``, of an output of a bound kernel: the donor's memory, the cell itself, or a block of the frame."""
    cdef Buffer** blocks
    cdef Buffer* buffer
    if cell.donor != NULL and cell.donor.buffer != NULL:
        return adopt_quickly(cell)
    if cell.buffer != NULL or context.poison or cell.size > SMALL_LIMIT or cell.flags & CELL_DEVICE:
        return False
    if cell.size <= INLINE_BYTES:
        cell.data = <char*>cell.value
        return True
    blocks = &context.free[(cell.size + 63) >> 6]
    buffer = blocks[0]
    if buffer == NULL or cell.heir != NULL or cell.slot != NULL:
        return False
    blocks[0] = buffer.next
    buffer.next = NULL
    buffer.references = 1
    cell.buffer = buffer
    cell.data = buffer.data
    return True


cdef inline bint drop_quickly(Context* context, Cell* cell) noexcept nogil:
    """As ``drop``: of an empty cell, an inline value, or a block of which nothing else knows; the frame keeps it."""
    cdef Buffer* buffer = cell.buffer
    if cell.flags & CELL_OBJECT:
        return False
    if buffer != NULL:
        if not 0 < buffer.size_class <= SMALL_CLASSES or buffer_references(buffer) != 1 or pool.stress:
            return False
        buffer.references = 0
        buffer.next = context.free[buffer.size_class]
        context.free[buffer.size_class] = buffer
        cell.buffer = NULL
    cell.data = NULL
    return True
