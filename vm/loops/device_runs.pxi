"""Loops on a device whose steps are one launch; part of ``loop_kernel.pyx``.

``hooks.steps_at_device`` finds a kernel for the body and the shapes of its arguments, or None: then the body runs step
by step. The kernel gets lanes as bodies in registers do (``vm/scalar_steps.pxd``): of arguments that move, taps, and
rows that are written. Where rows are computed ahead there is a launch for each block.
"""
cdef enum:
    MOST_SHAPES = 64                # of which the kernels are kept
    MOST_AT_ONCE = 1 << 22          # steps of a launch


cdef bint all_steps_at_device(LoopKernel kernel, Context* context, LoopRun run) except -1:
    """Do all steps by launches; return whether there is a kernel that can."""
    cdef ScalarSteps scalar
    cdef int index, axis
    cdef int n_rows = kernel.n_states + kernel.n_stacked
    cdef npy_intp shape[MAX_RANK]
    cdef Cell** operands
    cdef Kernel steps
    if kernel.blocks is not None:
        kernel._next_block(run)                             # shows the shapes of rows
    found = steps_for(kernel, run)
    if found is None:
        return False
    steps, shapes = found
    for index in range(kernel.n_stacked):
        for axis, length in enumerate(shapes[kernel.n_states + index]):
            shape[axis] = length
        kernel._begin_stacked(context, run, kernel.n_states + index, shape)
    begin_lanes_at_device(kernel, run)
    operands = <Cell**>calloc(kernel.n_arguments + 1, sizeof(Cell*))
    if operands == NULL:
        raise MemoryError()
    for index in range(kernel.n_arguments):
        operands[index] = &run.arguments[index]
    scalar.lanes, scalar.fixed, scalar.stopped = run.lanes, run.fixed, False
    run.frame.machine.context.private_memory = &scalar
    try:
        steps.prepare(&run.frame.machine.context, operands)
        while True:
            scalar.steps = min((run.block_end if kernel.blocks is not None else run.n_steps) - run.step,
                               <npy_intp>MOST_AT_ONCE)
            point_lanes_at_device(kernel, run)
            if steps.run(&run.frame.machine.context, operands) < 0:
                raise_pending()
            run.step += scalar.steps
            for index in range(n_rows):
                move_on(&run.rows[index], scalar.steps)
            if run.progress is not None:
                run.progress.tell(run.step)
            if run.step == run.n_steps:
                return True
            if run.step == run.block_end:
                kernel._next_block(run)
    finally:
        free(operands)


cdef object steps_for(LoopKernel kernel, LoopRun run):
    """The kernel for the shapes of this run's arguments, and the shapes of its results; or None."""
    cdef int index
    if kernel.is_while or hooks.steps_at_device is None or kernel.code.profile is not None:
        return None
    shapes = tuple([shape_of(&run.arguments[index]) for index in range(kernel.n_arguments)])
    if shapes not in kernel.steps_at_device:
        if len(kernel.steps_at_device) >= MOST_SHAPES:
            kernel.steps_at_device.clear()
        kernel.steps_at_device[shapes] = hooks.steps_at_device(
            kernel.program, kernel.first_tap, kernel.taps, kernel.n_stacked, kernel.n_carried, shapes)
    return kernel.steps_at_device[shapes]


cdef int begin_lanes_at_device(LoopKernel kernel, LoopRun run) except -1:
    """Memory for lanes, and the addresses of carried values."""
    cdef int index, first = kernel.first_tap + kernel.n_taps
    run.lanes = <Lane*>calloc(first + kernel.n_states + kernel.n_stacked + 1, sizeof(Lane))
    run.fixed = <char**>calloc(kernel.n_carried + 1, sizeof(char*))
    if run.lanes == NULL or run.fixed == NULL:
        raise MemoryError()
    for index in range(kernel.n_carried):
        run.fixed[index] = run.arguments[first + index].data
    return 0


cdef void point_lanes_at_device(LoopKernel kernel, LoopRun run) noexcept:
    """Where the next step reads and writes rows."""
    cdef Lane* lane = run.lanes
    cdef Cell* sequence
    cdef int index
    for index in range(kernel.first_tap):
        sequence = run.outer[1 + index] if index < kernel.n_sequences else kernel._ahead(run, index)
        lane.data, lane.stride = run.arguments[index].data, sequence.strides[0]
        if index < kernel.n_sequences:
            lane.data = sequence.data + run.step * lane.stride
        lane += 1
    lane += kernel.n_taps
    for index in range(kernel.n_states + kernel.n_stacked):
        set_lane(lane, &run.rows[index], 0)
        lane += 1
