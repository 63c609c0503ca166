"""Steps that a kernel does, many in one call (``vm/scalar_steps.pxd``); part of ``loop_kernel.pyx``.

``run_few`` is called first, without the GIL, a frame or a `LoopRun`: a loop of 10 steps takes less than a
microsecond. It does all steps or none. ``all_scalar_steps`` does any number of them, a turn of about 20 ms at a time.
In both, lanes say where the steps read and write; ``move_on`` tells the rows what was written.
"""


# ---- few steps, without a frame --------------------------------------------------------------------------------------
cdef int run_few(LoopKernel kernel, Context* context, Cell** outer, bint given) except -1 nogil:
    """Do all steps at once, without a frame, if they are few and nothing is wrong; return whether they are done."""
    cdef Rows rows[FEW_LANES]
    cdef Lane lanes[FEW_LANES]
    cdef char* fixed[FEW_LANES]
    cdef double discarded[2]
    cdef ScalarSteps scalar
    cdef int index, n_rows = kernel.n_states + kernel.n_stacked
    cdef void* private_memory = context.private_memory
    scalar.steps = (<long long*>outer[0].data)[0]
    if shows_progress or (may_show_progress and long_patience < SHORT_PATIENCE):
        return 0
    if kernel.code.profile is not None or not are_few(kernel, outer, &scalar):
        return 0
    memset(rows, 0, n_rows * sizeof(Rows))
    for index in range(n_rows):
        rows[index].given = given
    for index in range(kernel.n_states):
        kernel._begin_rows_of_state(context, outer, &rows[index], index, scalar.steps)
    for index in range(kernel.n_states, n_rows):
        kernel._begin_rows_of_stacked(context, outer, &rows[index], index, NULL, scalar.steps)
    for index in range(kernel.n_wholes):
        fixed[index] = outer[kernel._first_count() + kernel.n_stacked + index].data
    point_lanes(kernel, outer, rows, lanes, 0, <char*>discarded)
    scalar.lanes, scalar.fixed, scalar.stopped = lanes, fixed, False
    context.private_memory = &scalar
    kernel.scalar_body.run(context, NULL)
    context.private_memory = private_memory
    for index in range(n_rows):
        move_on(&rows[index], scalar.steps)
        put_in_order(context, &rows[index], scalar.steps)
    return 1


cdef bint are_few(LoopKernel kernel, Cell** outer, ScalarSteps* scalar) noexcept nogil:
    """Whether there are rows for all steps, of one shape and without gaps, and few elements in all of them."""
    cdef Cell* first = outer[1]                     # of sequences or initial rows; without them rows have no shape
    cdef Cell* cell
    cdef int index, axis
    if scalar.steps <= 0 or scalar.steps > FEW_ELEMENTS:
        return False
    scalar.size = 1
    for index in range(kernel.n_sequences + kernel.n_states):
        cell = outer[1 + index]
        if index < kernel.n_sequences:
            if cell.shape[0] < scalar.steps or not rows_are_contiguous(cell):
                return False
        elif cell.shape[0] != kernel.depths[index - kernel.n_sequences]:
            return False
        for axis in range(1, cell.ndim):
            if cell.shape[axis] != first.shape[axis]:
                return False
    for index in range(kernel.n_stacked):
        if kernel._count(outer, index) < 0:
            return False
    if kernel.n_sequences + kernel.n_states:
        for axis in range(1, first.ndim):
            scalar.size *= first.shape[axis]
    return scalar.size * scalar.steps <= FEW_ELEMENTS


# ---- any number of steps ---------------------------------------------------------------------------------------------
cdef int all_scalar_steps(LoopKernel kernel, Context* context, LoopRun run) except -1:
    """Let the body run as many steps at a time as there is memory for, until other threads have their turn."""
    cdef ScalarSteps scalar
    cdef int index
    cdef bint is_long
    scalar.size = cell_size(&run.arguments[0]) if kernel.first_tap else 1
    if run.progress is None:
        run.interval = run.next_turn = max(FIRST_SCALAR_STEPS // max(scalar.size // 8, <npy_intp>1), 1)
    for index in range(kernel.n_states, kernel.n_states + kernel.n_stacked):
        kernel._begin_stacked(context, run, index, NULL)
    begin_lanes(kernel, run)
    scalar.lanes, scalar.fixed, scalar.stopped = run.lanes, run.fixed, False
    run.frame.machine.context.private_memory = &scalar
    while run.step < run.n_steps and not scalar.stopped:
        scalar.steps = min(run.n_steps, run.next_turn) - run.step
        for index in range(kernel.n_states + kernel.n_stacked):
            scalar.steps = min(scalar.steps, writable_steps(kernel, context, run, &run.rows[index]))
        set_lanes(kernel, run)
        is_long = scalar.steps * scalar.size > FIRST_SCALAR_STEPS
        if is_long:
            with nogil:
                kernel.scalar_body.run(&run.frame.machine.context, NULL)
        else:
            kernel.scalar_body.run(&run.frame.machine.context, NULL)
        run.step += scalar.done
        for index in range(kernel.n_states + kernel.n_stacked):
            move_on(&run.rows[index], scalar.done)
        if run.step == run.next_turn:
            take_turn(run)
    return 0


cdef bint rows_are_alike(LoopKernel kernel, LoopRun run) noexcept:
    """Whether the rows that the body reads have one shape, and no gaps."""
    cdef Cell* first = run.arguments
    cdef Cell* row
    cdef int index, axis
    for index in range(kernel.first_tap + kernel.n_taps):
        row = &run.arguments[index]
        if not cell_is_contiguous(row):
            return False
        for axis in range(row.ndim):
            if row.shape[axis] != first.shape[axis]:
                return False
    return True


cdef npy_intp writable_steps(LoopKernel kernel, Context* context, LoopRun run, Rows* rows) except -1:
    """How many steps can write rows of an output."""
    if rows.kept >= 0:
        return run.n_steps
    if rows.next == rows.capacity:
        kernel._grow(context, run, rows)
    return rows.capacity - rows.next


cdef int begin_lanes(LoopKernel kernel, LoopRun run) except -1:
    """The addresses of what steps read without moving on, and memory for those of the others."""
    cdef int index, first = kernel.n_sequences + kernel.n_taps
    run.lanes = <Lane*>calloc(first + kernel.n_states + kernel.n_stacked + 1, sizeof(Lane))
    run.fixed = <char**>calloc(kernel.n_carried + kernel.n_wholes + 1, sizeof(char*))
    if run.lanes == NULL or run.fixed == NULL:
        raise MemoryError()
    for index in range(kernel.n_carried + kernel.n_wholes):
        run.fixed[index] = run.arguments[first + index].data
    return 0


cdef int set_lanes(LoopKernel kernel, LoopRun run) noexcept:
    """Where the next step reads and writes rows."""
    point_lanes(kernel, run.outer, run.rows, run.lanes, run.step, <char*>run.discarded)
    return 0


cdef void point_lanes(LoopKernel kernel, Cell** outer, const Rows* rows, Lane* lane, npy_intp step,
                       char* discarded) noexcept nogil:
    cdef Cell* sequence
    cdef int index
    for index in range(kernel.n_sequences):
        sequence = outer[1 + index]
        lane.data, lane.stride = sequence.data + step * sequence.strides[0], sequence.strides[0]
        lane.begin, lane.end = NULL, NULL
        lane += 1
    for index in range(kernel.n_taps):
        set_lane(lane, &rows[kernel.first_taps[index].state], kernel.first_taps[index].back)
        lane += 1
    for index in range(kernel.n_states + kernel.n_stacked):
        set_lane(lane, &rows[index], 0)
        if rows[index].capacity == 0:
            lane.data = discarded
        lane += 1
