"""The rows of states and stacked values in the outputs of a loop; part of ``loop_kernel.pyx``.

The memory of an output holds the rows before the first step (``depth``; none of stacked values), then those of steps.
If all rows are kept, or there are fewer steps than rows, it has a row for each (``kept`` is -1). Else it is a ring, of
``capacity = depth + kept`` rows: after the last one, rows are written from the front again. A state with taps -1 and -3
of which 1 row is kept (``depth`` 3, ``kept`` 1), before steps 0, 1 and 2; r-1 is the last initial row:

    step 0    | r-3 | r-2 | r-1 |     |    next = 4 - 1 = 3: r0 is written there; taps read r-1 and r-3
    step 1    | r-3 | r-2 | r-1 | r0  |    next = 4 = capacity: r1 is written at 0, where r-3 was; taps read r0 and r-2
    step 2    | r1  | r-2 | r-1 | r0  |    next = 1: r2 is written there; taps read r1, at next - 1, and r-1

A tap reads at ``next - back``, plus the capacity if that is negative. With ``kept`` 0 (no row but those that taps read)
the row that the furthest tap reads is the one that the step overwrites. ``put_in_order`` turns a ring after the last
step, so that the oldest row that is wanted is the first of the output.

Invariant: ``0 <= next <= capacity``. ``next == capacity`` means that the next row begins the ring anew, or that the
memory of a while loop must grow; ``_begin_row`` does both before a row is written.
"""
cdef struct Rows:                   # of a state or a stacked value
    Cell* out                       # the output of the outer program
    npy_intp bytes                  # of a row
    npy_intp capacity               # how many rows there is memory for
    npy_intp next                   # the position of the next row
    npy_intp depth                  # rows before the first step
    npy_intp kept                   # how many of the steps' rows there is a ring for; -1: there is none
    npy_intp wanted                 # how many of the steps' rows the output has; -1: all
    bint given                      # the output has its shape and its memory already
    bint direct                     # in replayed steps the body writes into the row


cdef int allocate_rows(Context* context, Rows* rows, const npy_intp* shape, npy_intp steps) except -1 nogil:
    """Memory for the rows before the first step and those of so many steps."""
    cdef npy_intp whole[MAX_RANK]
    cdef int axis
    rows.capacity = whole[0] = rows.depth + steps
    if not rows.given:
        for axis in range(1, rows.out.ndim):
            whole[axis] = shape[axis - 1]
        allocate(context, rows.out, whole)
    rows.bytes = rows.out.strides[0] if rows.capacity else 0
    return 0


cdef inline bint has_row_shape(const Rows* rows, const Cell* result) noexcept nogil:
    cdef int axis
    for axis in range(result.ndim):
        if result.shape[axis] != rows.out.shape[1 + axis]:
            return False
    return True


cdef inline int keep_row(Rows* rows, Cell* result) except -1 nogil:
    """Copy a row to its position, unless it was computed there."""
    if rows.direct:
        pass
    elif result.flags & CELL_DEVICE:
        if rows.capacity:
            copy_in_place(rows.out.data + rows.next * rows.bytes, result)
    elif rows.bytes == 8 and result.ndim == 0:
        (<double*>rows.out.data)[rows.next] = (<double*>result.data)[0]
    elif rows.capacity:
        copy_elements(rows.out.data + rows.next * rows.bytes, result)
    rows.next += 1
    return 0


cdef int copy_in_place(char* write, Cell* source) except -1 nogil:
    """The elements of a cell in C order, at an address on the host or the device, where the cell is."""
    cdef npy_intp strides[MAX_RANK]
    cdef Cell target = source[0]
    if not source.flags & CELL_DEVICE:
        copy_elements(write, source)
        return 0
    target.data, target.strides = write, strides
    set_contiguous_strides(&target)
    return device_memory.copy(&target, source)


cdef inline bint has_memory(const Cell* cell, const char* data) noexcept:
    """Whether an address is that of the cell's own memory."""
    return data == cell.buffer.data if cell.buffer != NULL else data == <const char*>cell.value


cdef inline bint has_memory_alone(const Cell* cell) noexcept nogil:
    """Whether no other cell can have the cell's memory."""
    if cell.buffer == NULL:
        return cell.data == <const char*>cell.value
    return buffer_references(cell.buffer) == 1


cdef inline npy_intp cell_bytes(const Cell* cell) noexcept:
    return cell_size(cell) * cell.itemsize


cdef inline bint rows_are_contiguous(const Cell* rows) noexcept nogil:
    """Whether each row has its elements in C order without gaps."""
    cdef npy_intp expected = rows.itemsize
    cdef int axis
    for axis in range(rows.ndim - 1, 0, -1):
        if rows.shape[axis] != 1 and rows.strides[axis] != expected:
            return False
        expected *= rows.shape[axis]
    return True


cdef inline void set_lane(Lane* lane, const Rows* rows, npy_intp back) noexcept nogil:
    """Let a lane begin so many rows before the next one."""
    cdef npy_intp position = rows.next - back
    lane.stride, lane.begin, lane.end = rows.bytes, rows.out.data, NULL
    if rows.kept >= 0:
        lane.end = rows.out.data + rows.capacity * rows.bytes
        if position < 0:
            position += rows.capacity
        elif position == rows.capacity:
            position = 0
    lane.data = rows.out.data + position * rows.bytes


cdef inline void move_on(Rows* rows, npy_intp steps) noexcept nogil:
    """Take notice of rows that were written."""
    rows.next += steps
    if rows.kept >= 0 and rows.capacity:
        rows.next = (rows.next - 1) % rows.capacity + 1


cdef int copy_rows(Cell* target, npy_intp at, Cell* source, npy_intp first, npy_intp count) except -1 nogil:
    """Copy rows of a cell in C order to rows of another, on the host or on the same device."""
    cdef npy_intp shape[MAX_RANK]
    cdef Cell rows = source[0]
    if count == 0:
        return 0
    memcpy(shape, source.shape, source.ndim * sizeof(npy_intp))
    shape[0], rows.shape, rows.data = count, shape, source.data + first * source.strides[0]
    return copy_in_place(target.data + at * source.strides[0], &rows)


cdef int put_in_order_at_device(Context* context, Rows* rows, npy_intp first, npy_intp wanted) except -1 nogil:
    """The same with memory of the device, of which rows are copied to new memory."""
    cdef Cell old = rows.out[0]
    cdef npy_intp shape[MAX_RANK]
    cdef npy_intp strides[MAX_RANK]
    cdef npy_intp end = min(wanted, rows.capacity - first)
    old.shape, old.strides = shape, strides
    memcpy(shape, rows.out.shape, old.ndim * sizeof(npy_intp))
    memcpy(strides, rows.out.strides, old.ndim * sizeof(npy_intp))
    rows.out.buffer, rows.out.data = NULL, NULL
    rows.out.shape[0] = wanted
    allocate(context, rows.out, rows.out.shape)
    copy_rows(rows.out, 0, &old, first, end)
    copy_rows(rows.out, end, &old, 0, wanted - end)
    if old.buffer != NULL:
        drop(context, &old)
    return 0


cdef int put_in_order(Context* context, Rows* rows, npy_intp steps) except -1 nogil:
    """Move the oldest row that is wanted to the front, and give up the memory that no row needs."""
    cdef npy_intp wanted = rows.depth + (steps if rows.wanted < 0 else min(rows.wanted, steps))
    cdef npy_intp written = rows.depth + steps, first = written - wanted
    if rows.out == NULL or rows.capacity == 0:
        return 0
    if written > rows.capacity:                             # the ring has begun anew
        first = rows.next + rows.capacity - wanted
        first -= rows.capacity if first >= rows.capacity else 0
    if first and rows.out.flags & CELL_DEVICE:
        return put_in_order_at_device(context, rows, first, wanted)
    if first and first + wanted <= rows.capacity:
        memmove(rows.out.data, rows.out.data + first * rows.bytes, wanted * rows.bytes)
    elif first:
        turn(rows.out.data, rows.capacity * rows.bytes, first * rows.bytes)
    rows.out.shape[0] = wanted
    rows.out.size = wanted * rows.bytes
    return 0


cdef int turn(char* data, npy_intp size, npy_intp first) except -1 nogil:
    """Let the byte at position ``first`` become the first one of a ring."""
    cdef char* copy = <char*>malloc(size)
    if copy == NULL:
        with gil:
            raise MemoryError()
    memcpy(copy, data + first, size - first)
    memcpy(copy + size - first, data, first)
    memcpy(data, copy, size)
    free(copy)
    return 0
