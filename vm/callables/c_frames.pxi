"""C functions: snapshots of shared variables, and the frames of an entry; part of ``c_function.pyx``.

A snapshot is immutable and counts its readers: a call works with the one that was present when it began, and renews it
first if a shared variable has another value. The lock is held for a few instructions only, never while memory is freed
or Python runs. Each thread that calls takes a runner, with a frame, which it alone uses until it puts it back.
"""

# ---- snapshots of shared variables -----------------------------------------------------------------------------------
cdef void release_snapshot(Entry* entry, Snapshot* snapshot) noexcept nogil:
    """Remove a reference; the last one drops the values. The caller does not have the lock."""
    cdef long references
    cdef int index
    if snapshot == NULL:
        return
    phintys_lock_snapshots()
    snapshot.references -= 1
    references = snapshot.references
    phintys_unlock_snapshots()
    if references == 0:
        for index in range(entry.n_shared):
            if snapshot.values[index].buffer != NULL:
                buffer_release(snapshot.values[index].buffer)
        free(snapshot)


cdef Snapshot* present_snapshot(Entry* entry) noexcept nogil:
    """The entry's snapshot, with a reference."""
    cdef Snapshot* snapshot
    phintys_lock_snapshots()
    snapshot = entry.snapshot
    if snapshot != NULL:
        snapshot.references += 1
    phintys_unlock_snapshots()
    return snapshot


cdef inline bint is_present(Entry* entry, const Snapshot* snapshot) noexcept nogil:
    """Whether no shared variable has got another value since."""
    cdef int index
    if snapshot == NULL:
        return False
    for index in range(entry.n_shared):
        if phintys_look(&(<Container>entry.containers[index]).changes) != snapshot.values[index].changes:
            return False
    return True


cdef int take_snapshot(Entry* entry) except -1:
    """Replace the entry's snapshot by one of the present values."""
    cdef Snapshot* fresh = <Snapshot*>calloc(1, sizeof(Snapshot) + entry.n_shared * sizeof(Shared))
    cdef Snapshot* old
    cdef Shared* value
    cdef Container container
    cdef int index, axis
    if fresh == NULL:
        raise MemoryError("no memory for the values of shared variables")
    try:
        for index in range(entry.n_shared):
            (<Container>entry.containers[index])._wait_until_whole()
    except BaseException:
        free(fresh)
        raise
    for index in range(entry.n_shared):                     # no Python code runs, so all values are of one moment
        container, value = <Container>entry.containers[index], &fresh.values[index]
        value.changes, value.buffer, value.data = container.changes, container.cell.buffer, container.cell.data
        for axis in range(2 * container.cell.ndim):
            value.layout[axis] = container.cell.shape[axis]
        if value.buffer != NULL:
            buffer_retain(value.buffer)
        else:
            memcpy(value.value, container.cell.value, INLINE_BYTES)
            value.data = <char*>value.value + (container.cell.data - <char*>container.cell.value)
    fresh.references = 1
    phintys_lock_snapshots()
    old, entry.snapshot = entry.snapshot, fresh
    phintys_unlock_snapshots()
    release_snapshot(entry, old)
    return 0


cdef long long renew_snapshot(Entry* entry, Runner* runner) noexcept nogil:
    """Let a frame have the present values."""
    cdef long long status = DONE
    release_snapshot(entry, runner.snapshot)
    runner.snapshot = present_snapshot(entry)
    while not is_present(entry, runner.snapshot):
        status = next_snapshot(entry)
        if status != DONE:
            return status
        release_snapshot(entry, runner.snapshot)
        runner.snapshot = present_snapshot(entry)
    return status


cdef long long next_snapshot(Entry* entry) noexcept with gil:
    try:
        with cython.critical_section(values_turn):
            take_snapshot(entry)
        return DONE
    except BaseException as error:
        return keep_error(entry, error, NULL)


cdef inline long long show_shared(Entry* entry, Runner* runner) noexcept nogil:
    """Let the cells of shared variables refer to their values."""
    cdef FrameCopy* frame = runner.frame
    cdef Cell* cell
    cdef Shared* value
    cdef int index
    if not is_present(entry, runner.snapshot) and renew_snapshot(entry, runner) != DONE:
        return FAILED
    for index in range(entry.n_shared):
        cell, value = &frame.machine.cells[entry.shared[index]], &runner.snapshot.values[index]
        cell.data = value.data
        frame.machine.epoch += take_layout(cell, value.layout, value.layout + cell.ndim)
    return DONE


cdef inline void show_table(Entry* entry, Runner* runner, const uint64_t* table) noexcept nogil:
    """Let the cells of shared variables refer to what the caller has instead: first all addresses, then all
    numbers of elements, then all lengths."""
    cdef FrameCopy* frame = runner.frame
    cdef const uint64_t* lengths = table + 2 * entry.n_shared
    cdef npy_intp layout[2 * MAX_RANK]
    cdef npy_intp stride
    cdef Cell* cell
    cdef int index, axis
    for index in range(entry.n_shared):
        cell = &frame.machine.cells[entry.shared[index]]
        cell.data = <char*>table[index]
        stride = cell.itemsize
        for axis in range(cell.ndim - 1, -1, -1):
            layout[axis] = lengths[axis]
            layout[cell.ndim + axis] = stride
            stride *= layout[axis]
        lengths += cell.ndim
        frame.machine.epoch += take_layout(cell, layout, layout + cell.ndim)


cdef void load(Entry* entry, Runner* runner) noexcept:
    """Let the cells of shared variables have their values, as LOAD does: of a program that updates some of them."""
    cdef Machine* machine = &runner.frame.machine
    cdef int index
    for index in range(entry.n_shared):
        machine.epoch += (<Container>entry.containers[index]).load(
            &machine.context, &machine.cells[entry.shared[index]])


# ---- frames ----------------------------------------------------------------------------------------------------------
cdef void free_runner(Entry* entry, Runner* runner) noexcept nogil:
    forget_recording(runner)
    release_snapshot(entry, runner.snapshot)
    free_copy(runner.frame)
    free(runner)


cdef Runner* new_runner(Entry* entry) noexcept nogil:
    cdef Runner* runner = NULL if allocation_fails() else <Runner*>calloc(1, sizeof(Runner))
    cdef Input* input
    cdef Cell* cell
    cdef int index, axis
    if runner == NULL:
        return NULL
    runner.frame = copy_frame(&entry.model)
    if runner.frame == NULL:
        free(runner)
        return NULL
    runner.frame.machine.context.workers = entry.workers
    for index in range(entry.n_arguments):
        cell, input = &runner.frame.machine.cells[index], &entry.inputs[index]
        cell.flags |= CELL_READONLY
        if input.shape != NULL:
            for axis in range(input.ndim):
                cell.shape[axis] = input.shape[axis]
            set_contiguous_strides(cell)
    if entry.updates:                                       # a commit may work in the memory of the containers
        for index in range(entry.n_shared):
            runner.frame.machine.cells[entry.shared[index]].donor = &(<Container>entry.containers[index]).cell
    phintys_count(&entry.frames_made)
    return runner


cdef Runner* other_runner(Entry* entry) noexcept nogil:
    """A frame from another seat, or a new one; NULL: there is no memory."""
    cdef Runner* runner
    cdef int index
    for index in range(PHINTYS_SEATS):
        runner = <Runner*>phintys_take(&entry.seats[index])
        if runner != NULL:
            return runner
    return new_runner(entry)


cdef void put_elsewhere(Entry* entry, Runner* runner) noexcept nogil:
    cdef int index
    for index in range(PHINTYS_SEATS):
        if phintys_put(&entry.seats[index], runner):
            return
    free_runner(entry, runner)
