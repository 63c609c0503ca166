"""Steps that are replayed; part of ``loop_kernel.pyx``, whose ``_all_steps`` calls this.

A step is recorded (``replay.pyx``) once its kernels may be bound. If afterwards everything can stay where it is
(``can_hold``), all later steps repeat its calls of kernels, on the same addresses but for rows and taps.
"""


cdef inline bint is_worth_recording(LoopKernel kernel, LoopRun run) noexcept:
    return not kernel.at_device and run.step < last_to_record and run.n_steps - run.step > FEWEST_TO_REPLAY


cdef int record_step(LoopKernel kernel, LoopRun run) except -1:
    """Do a step, and note what later ones are to do; see ``replay.pyx``."""
    cdef int index
    run.replay = Replay(run.frame)
    for index in range(kernel.n_carried):
        run.carried[index].before = run.arguments[kernel.first_tap + kernel.n_taps + index].data
    try:
        run.replay.record()
    except BaseException as error:
        kernel._raise_explained(run, error)
    return 0


cdef bint can_hold(LoopKernel kernel, LoopRun run) noexcept:
    """Whether carried values are computed where they were, or are small enough to be copied there.

    A replayed step calls kernels on the addresses of the recorded one. So its carried argument must be where it was
    before that step, and its result where that step computed it. Both are in memory of the body: `_hand_over` has
    exchanged the buffers of the argument and the result, or copied, so either may have the old buffer now. If another
    cell had it, its memory might be given to another value. A result that is (a view of) an argument has no memory to
    stay in; its copy in a spare cell would have to be repeated.
    """
    cdef Cell* argument
    cdef Cell* result
    cdef char* address
    cdef char* before
    cdef int index
    if not (can_note(&run.frame.machine) and run.replay.can_hold()):       # the epoch may have ended
        return False
    for index in range(kernel.n_carried):
        argument = &run.arguments[kernel.first_tap + kernel.n_taps + index]
        result = run.results[kernel.n_states + kernel.n_stacked + index]
        address = run.replay.address_of(result)
        if address == NULL or kernel.copied[index] or not cell_is_contiguous(result):
            return False
        before = run.carried[index].before
        if not (has_memory(argument, before) or has_memory(result, before)):
            return False
        run.carried[index].bytes = cell_bytes(result)
        if address == run.carried[index].before:
            run.carried[index].bytes = 0
        elif run.carried[index].bytes > MOST_COPIED:
            return False
    return True


cdef int hold_values(LoopKernel kernel, LoopRun run) noexcept:
    """From here on each value of the body stays at its address.

    First carried values move back to where the recorded step read them: `_hand_over` left them where it wrote them.
    `Replay.hold` comes last: it sets the addresses of results, which until then are those of the values to be moved.
    """
    cdef Cell* argument = &run.arguments[kernel.first_tap + kernel.n_taps]
    cdef Cell* result
    cdef Rows* rows
    cdef int index
    for index in range(kernel.n_states + kernel.n_stacked):
        rows, result = &run.rows[index], run.results[index]
        # Of a ring without a row for a step, the oldest row, which the body may still read, is written last: it is
        # copied, by `keep_row`, when the body has run.
        rows.direct = (rows.kept != 0 and rows.bytes != 0 and run.replay.address_of(result) != NULL
                       and cell_is_contiguous(result))
    for index in range(kernel.n_carried):
        if argument[index].data != run.carried[index].before:
            memcpy(run.carried[index].before, argument[index].data, cell_bytes(&argument[index]))
            argument[index].data = run.carried[index].before
    run.replay.hold()
    return 0


cdef int replay_steps(LoopKernel kernel, Context* context, LoopRun run) except -1:
    if context.flags & UNATTENDED:
        with nogil:
            replay_unattended(kernel, context, run)
        return 0
    while True:
        replay_step(kernel, context, run)
        if not kernel._goes_on(run):
            return 0


cdef int replay_unattended(LoopKernel kernel, Context* context, LoopRun run) except -1 nogil:
    """All other steps, without the GIL."""
    while True:
        replay_step(kernel, context, run)
        if not kernel._advance_unattended(run):
            return 0


cdef inline int replay_step(LoopKernel kernel, Context* context, LoopRun run) except -1 nogil:
    cdef Cell* argument = &run.arguments[kernel.first_tap + kernel.n_taps]
    cdef Cell** results = run.results + kernel.n_states + kernel.n_stacked
    cdef int index
    kernel.replayed += 1
    begin_rows(kernel, context, run)                        # first: rows that grow leave the memory that taps read
    kernel._move_taps(run)
    if play_all(&run.frame.machine, run.replay.plays, run.replay.n_plays) < 0:
        with gil:
            kernel._fail(run)
    for index in range(kernel.n_states + kernel.n_stacked):
        keep_row(&run.rows[kernel.order[index]], run.results[kernel.order[index]])
    for index in range(kernel.n_carried):
        if run.carried[index].bytes:
            memcpy(argument[index].data, results[index].data, run.carried[index].bytes)
    return 0


cdef inline int begin_rows(LoopKernel kernel, Context* context, LoopRun run) except -1 nogil:
    """Memory for the step's rows; where it can, the body writes into them."""
    cdef int index
    cdef Rows* rows
    for index in range(kernel.n_states + kernel.n_stacked):
        rows = &run.rows[index]
        kernel._begin_row(context, run, rows)
        if rows.direct:
            run.results[index].data = rows.out.data + rows.next * rows.bytes
    return 0
