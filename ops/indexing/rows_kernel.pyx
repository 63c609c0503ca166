"""Rows of an array, selected by a vector of positions: ``(x, positions, out)``, by far the most frequent index.

A single pass checks the positions and copies the rows, so ``run`` may fail: it then raises an error for the first
position that is out of range, and the unfinished result is discarded. Large results are divided among workers. Of
elements at constant positions, a bound kernel keeps the offsets: a range that has been checked once stays checked.
"""
from libc.stdint cimport int32_t
from numpy cimport npy_intp

from phintys.ops.native.indexed_loops cimport (
    LineLoop, OffsetLoop, OutsideLoop, TakeLoop, move_lines, phintys_first_outside, phintys_get_line, phintys_offsets,
    phintys_take, position_dtype, size_class)
from phintys.ops.indexing.constant_positions cimport GatherLoop, phintys_gather, table_of_offsets
from phintys.ops.native.positions cimport check_positions
from phintys.ops.native.row_copy cimport gather_rows
from phintys.ops.native.sets cimport PHINTYS_SETS, phintys_set, set_of_process, usable_set
from phintys.ops.native.strided_copy cimport PART, CopyPlan, plan_copy
from phintys.vm.abi cimport (
    BOUND, CELL_CONSTANT, Binding, BoundRun, Cell, Context, Kernel, allocate, cell_size, parallel)
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.thresholds cimport LONG_TAKE, LONG_TAKE_BYTES, PIECE_INDEXED_BYTES

phintys_set = set_of_process()

cdef extern from "indexing/taken_rows.h" nogil:
    ctypedef npy_intp (*TakeRowsLoop)(char* result, const char* array, npy_intp step, npy_intp length,
                                      const char* positions, npy_intp stride, npy_intp count, npy_intp bytes) nogil
    const TakeRowsLoop (*phintys_take_rows)[PHINTYS_SETS]

cdef enum:
    FEW_BYTES = 4096                # of a result whose rows are checked and copied one by one
    BLOCK = 512                     # offsets: 4 KiB of the stack

cdef struct Rows:
    TakeLoop take                   # copies contiguous rows of 1, 2, 4, 8 or 16 bytes; or NULL
    OutsideLoop first_outside
    OffsetLoop offsets
    LineLoop line
    char* array
    npy_intp step, length           # stride between rows, and their number
    char* positions
    npy_intp stride
    char* result
    npy_intp bytes                  # size of a row
    bint outside                    # whether a position was out of range; workers only ever set it to true
    bint contiguous
    CopyPlan* row                   # of rows with gaps

ctypedef int (*Refusal)(const Cell* positions, int dtype, npy_intp length) noexcept nogil


cdef int raise_outside(const Cell* positions, int dtype, npy_intp length) except -1 nogil:
    return check_positions(positions, dtype, length, 0)


# The cast removes `except -1`, so that Cython does not check for an error here: ``run`` returns -1 with the exception
# set, and its caller handles it.
cdef Refusal refuse = <Refusal>raise_outside


cdef struct Bound:                  # few rows without gaps: what the step knows
    Rows rows
    npy_intp count
    int dtype


cdef int take_few(Context* context, Cell** operands) noexcept nogil:
    """The bound run of a kernel that is bound to few bytes."""
    cdef const Bound* bound = <const Bound*>context.private_memory
    cdef const Rows* rows = &bound.rows
    if phintys_take_rows[bound.dtype][usable_set()](operands[2].data, operands[0].data, rows.step,
                                                    rows.length, operands[1].data, rows.stride, bound.count,
                                                    rows.bytes) >= 0:
        refuse(operands[1], bound.dtype, rows.length)
        return -1
    return 0


cdef int take_bound(Context* context, Cell** operands) noexcept nogil:
    """The bound run of a kernel that is bound."""
    cdef Bound* bound = <Bound*>context.private_memory
    cdef Rows* rows = &bound.rows
    rows.array, rows.positions, rows.result = operands[0].data, operands[1].data, operands[2].data
    take_range(rows, 0, 0, bound.count)
    if rows.outside:
        rows.outside = False
        refuse(operands[1], bound.dtype, rows.length)
        return -1
    return 0


cdef struct Table:                  # elements at constant positions: their offsets follow
    GatherLoop gather
    npy_intp count


cdef int take_constant(Context* context, Cell** operands) noexcept nogil:
    """The bound run of a kernel that is bound to a table of offsets."""
    cdef const Table* table = <const Table*>context.private_memory
    table.gather(operands[2].data, operands[0].data, <const int32_t*>(table + 1), table.count)
    return 0


cdef class RowsKernel(Kernel):
    """See the docstring of the file.

    Parameters
    ----------
    dtype : str
        The dtype of the positions.
    constants : int, optional
        The number of the positions, if they are constants and a table of them is worth its memory.
    """
    cdef int dtype
    cdef npy_intp constants

    def __cinit__(self):
        self.examined = ()

    def __init__(self, str dtype, npy_intp constants=0):
        self.dtype, self.constants = position_dtype(dtype), constants
        self.private_bytes = <int>max(sizeof(Bound), sizeof(Table) + constants * sizeof(int32_t))
        self.may_fail = True

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef npy_intp shape[MAX_RANK]
        cdef int axis
        shape[0] = operands[1].shape[0]
        for axis in range(1, operands[0].ndim):
            shape[axis] = operands[0].shape[axis]
        allocate(context, operands[2], shape)
        return shape[0] >= LONG_TAKE or cell_size(operands[2]) * operands[2].itemsize >= LONG_TAKE_BYTES

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Rows rows
        cdef CopyPlan row
        rows.row = &row
        lay_out(operands, self.dtype, &rows)
        parallel(context, take_range, &rows, operands[1].shape[0], PIECE_INDEXED_BYTES // (rows.bytes + 1) + 1)
        if rows.outside:
            refuse(operands[1], self.dtype, rows.length)
            return -1
        return 0

    cdef Binding bind(self, Context* context, Cell** operands, BoundRun* bound_run) noexcept nogil:
        cdef Bound* bound = <Bound*>context.private_memory
        cdef CopyPlan row
        bound.rows.row = &row
        lay_out(operands, self.dtype, &bound.rows)
        bound.rows.row = NULL
        bound.count, bound.dtype = operands[1].shape[0], self.dtype
        if bound.rows.take != NULL and self.tabulates(context.private_memory, operands, bound.rows):
            bound_run[0] = take_constant
            return BOUND
        if bound.rows.contiguous and bound.count <= BLOCK and bound.count * bound.rows.bytes <= PART:
            bound_run[0] = take_few if rows_are_few(bound) else take_bound
        return BOUND

    cdef bint tabulates(self, void* room, Cell** operands, Rows rows) noexcept nogil:
        """Write the table over what else the room holds, if there is to be one. ``run`` has checked the positions."""
        cdef Table* table = <Table*>room
        cdef npy_intp count = operands[1].shape[0]
        if count > self.constants or not operands[1].flags & CELL_CONSTANT:
            return False
        if not table_of_offsets(<int32_t*>(table + 1), self.dtype, rows.positions, rows.stride, count, rows.length,
                                rows.step):
            lay_out(operands, self.dtype, &(<Bound*>room).rows)
            return False
        table.gather, table.count = phintys_gather[size_class(rows.bytes)], count
        return True


cdef inline bint rows_are_few(const Bound* bound) noexcept nogil:
    return bound.rows.take == NULL and bound.count * bound.rows.bytes <= FEW_BYTES


cdef inline void lay_out(Cell** operands, int dtype, Rows* rows) noexcept nogil:
    """Fill ``rows`` with the layout of the rows and the loops that copy them."""
    cdef Cell* array = operands[0]
    cdef Cell* result = operands[2]
    cdef int axis
    rows.array, rows.step, rows.length = array.data, array.strides[0], array.shape[0]
    rows.positions, rows.stride = operands[1].data, operands[1].strides[0]
    rows.result, rows.bytes = result.data, array.itemsize
    rows.take, rows.contiguous, rows.outside = NULL, True, False
    for axis in range(array.ndim - 1, 0, -1):
        rows.contiguous = rows.contiguous and (array.strides[axis] == rows.bytes or array.shape[axis] == 1)
        rows.bytes *= array.shape[axis]
    if rows.contiguous and (rows.bytes == array.itemsize or (array.itemsize >= 4 and rows.bytes in (8, 16))):
        rows.take = phintys_take[dtype][size_class(rows.bytes)]
        return
    rows.first_outside, rows.offsets = phintys_first_outside[dtype], phintys_offsets[dtype]
    rows.line = phintys_get_line[size_class(array.itemsize)]
    if not rows.contiguous:
        plan_copy(rows.row, array.ndim - 1, array.shape + 1, array.strides + 1, result.strides + 1)


cdef void take_range(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    """Copy the rows at positions [start, stop), up to the first position that is out of range."""
    cdef Rows* rows = <Rows*>argument
    cdef npy_intp offsets[BLOCK]
    cdef npy_intp count
    cdef char* result = rows.result + start * rows.bytes
    cdef char* positions = rows.positions + start * rows.stride
    if rows.take != NULL:
        if rows.take(result, rows.array, rows.step, rows.length, positions, rows.stride, stop - start) >= 0:
            rows.outside = True
        return
    while start < stop:
        count = stop - start if stop - start < BLOCK else BLOCK
        if rows.first_outside(positions, rows.stride, count, rows.length) >= 0:
            rows.outside = True
            return
        rows.offsets(offsets, positions, rows.stride, count, rows.length, rows.step, True)
        if rows.bytes:
            take_rows(rows, result, offsets, count)
        start += count
        result += count * rows.bytes
        positions += count * rows.stride


cdef inline void take_rows(const Rows* rows, char* result, const npy_intp* offsets, npy_intp count) noexcept nogil:
    cdef npy_intp number
    if rows.contiguous:
        gather_rows(rows.array, offsets, result, rows.bytes, count, rows.bytes)
    else:
        for number in range(count):
            move_lines(rows.line, rows.row, rows.array + offsets[number], result + number * rows.bytes)
