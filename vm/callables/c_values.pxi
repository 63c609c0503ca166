"""C functions: arguments in the memory of the caller, and results that are copied there; part of ``c_function.pyx``.

The functions for an entry's signature call these around the program, without the GIL. Arguments are checked before the
first instruction, and cells refer to the caller's memory only until the call ends.
"""

# ---- arguments -------------------------------------------------------------------------------------------------------
cdef inline long long show_flat(Entry* entry, Runner* runner, Call* call) noexcept nogil:
    """Let the cells of all arguments refer to pieces of a vector."""
    cdef FrameCopy* frame = runner.frame
    cdef const double* next_value = call.x
    cdef npy_intp size, stride = sizeof(double)
    cdef Cell* cell
    cdef int index
    if call.dim != <uint64_t>entry.fixed and not (entry.has_rest and call.dim > <uint64_t>entry.fixed):
        return refuse(entry, DIMENSION, -1, call.dim, entry.fixed)
    if <size_t>next_value & (sizeof(double) - 1):
        return refuse(entry, ALIGNMENT, 0, <size_t>next_value, sizeof(double))
    if next_value == NULL and call.dim:
        return refuse(entry, MISSING, 0, 0, 0)
    for index in range(entry.n_arguments):
        cell = &frame.machine.cells[index]
        size = entry.inputs[index].size
        if size < 0:
            size = call.dim - entry.fixed
            frame.machine.epoch += take_layout(cell, &size, &stride)
        cell.data = <char*>next_value if size else <char*>cell.value
        next_value += size
    return DONE


cdef long long show_each(Entry* entry, Runner* runner, Call* call) noexcept nogil:
    """Let the cell of each argument refer to the array that the caller has at its address."""
    cdef FrameCopy* frame = runner.frame
    cdef Input* input
    cdef Cell* cell
    cdef const int64_t* lengths
    cdef npy_intp layout[2 * MAX_RANK]
    cdef npy_intp size, stride
    cdef int index, axis
    for index in range(entry.n_arguments):
        cell, input = &frame.machine.cells[index], &entry.inputs[index]
        size = 1
        if input.ndim:
            lengths = NULL if call.shapes == NULL else call.shapes[index]
            if input.shape != NULL and lengths == NULL:
                size = cell_size(cell)
            elif lengths == NULL:
                return refuse(entry, MISSING, index, 1, 0)
            else:
                stride = input.itemsize
                for axis in range(input.ndim - 1, -1, -1):
                    if lengths[axis] < 0:
                        return refuse(entry, NEGATIVE, index, lengths[axis], axis)
                    if lengths[axis] != 1 and input.broadcastable >> axis & 1:
                        return refuse(entry, BROADCAST, index, lengths[axis], axis)
                    layout[axis] = lengths[axis]
                    layout[input.ndim + axis] = stride
                    stride *= layout[axis]
                    size *= layout[axis]
                frame.machine.epoch += take_layout(cell, layout, layout + input.ndim)
        if size and call.inputs[index] == NULL:
            return refuse(entry, MISSING, index, 0, 0)
        if <size_t>call.inputs[index] % input.alignment:
            return refuse(entry, ALIGNMENT, index, <size_t>call.inputs[index], input.alignment)
        cell.data = <char*>call.inputs[index] if size else <char*>cell.value
    return DONE


# ---- results ---------------------------------------------------------------------------------------------------------
cdef inline void as_doubles(double* out, Cell* cell, npy_intp count) noexcept nogil:
    """The elements of a cell in C order, as doubles."""
    if cell.typenum == cnp.NPY_DOUBLE:
        if count == 1:
            out[0] = (<const double*>cell.data)[0]
        elif cell_is_contiguous(cell):
            memcpy(out, cell.data, count * sizeof(double))
        else:
            copy_elements(<char*>out, cell)
    else:
        copy_elements(<char*>(out + count) - count * cell.itemsize, cell)
        phintys_spread(out, count, cell.typenum)


cdef inline long long give_flat(Entry* entry, FrameCopy* frame, Call* call) noexcept nogil:
    """Write the results one after the other to the caller's vectors."""
    cdef double* out = call.head
    cdef uint64_t room = call.head_size
    cdef npy_intp size
    cdef uint64_t index
    cdef Cell* cell
    for index in range(<uint64_t>entry.n_results):
        if index == call.split:
            if room:
                return refuse(entry, HEAD, -1, call.head_size - room, call.head_size)
            out, room = call.tail, call.tail_size
        cell = &frame.machine.cells[entry.results[index]]
        size = cell_size(cell)
        if <uint64_t>size > room:
            return refuse(entry, EXPANDED, <int>index, call.tail_size - room + size, call.tail_size)
        as_doubles(out, cell, size)
        out += size
        room -= size
    return refuse(entry, EXPANDED, -1, call.tail_size - room, call.tail_size) if room else DONE


cdef long long give_each(Entry* entry, FrameCopy* frame, Call* call) noexcept nogil:
    """Write each result to the memory that the caller has for it."""
    cdef Cell* cell
    cdef int64_t* lengths
    cdef int index, axis
    cdef bint differs
    for index in range(entry.n_results):                    # first all lengths, so that the caller can get memory
        cell = &frame.machine.cells[entry.results[index]]
        lengths = NULL if call.output_shapes == NULL else call.output_shapes[index]
        if cell.ndim and lengths == NULL:
            return refuse(entry, NO_LENGTHS, index, 0, 0)
    differs = False
    for index in range(entry.n_results):
        cell = &frame.machine.cells[entry.results[index]]
        for axis in range(cell.ndim):
            differs |= call.output_shapes[index][axis] != cell.shape[axis]
    if differs:
        for index in range(entry.n_results):
            cell = &frame.machine.cells[entry.results[index]]
            for axis in range(cell.ndim):
                call.output_shapes[index][axis] = cell.shape[axis]
        return OTHER_LENGTHS
    for index in range(entry.n_results):
        cell = &frame.machine.cells[entry.results[index]]
        if cell_size(cell):
            if call.outputs[index] == NULL:
                return refuse(entry, NO_ROOM, index, 0, 0)
            copy_elements(<char*>call.outputs[index], cell)
    return DONE
