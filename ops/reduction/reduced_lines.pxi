# Reductions whose innermost dimension is reduced: lines are folded to partial results. Included by
# reduction_kernel.pyx.
#
#     for each kept element                 workers share these, if there are enough of them
#         for each piece                    only of results with more than two pieces; workers share these otherwise
#             for each line, or block       fold it; combine the results pairwise

cdef enum:
    PIECE = 65536                  # elements: about 5 microseconds of a sum, so that a few make work for a worker
    PIECES = 1024                  # at most; then pieces are longer. Their results are on the stack
    ROWS = 8                       # short lines whose values are summed one after the other, before partial results
    SHORT_ROW = 512                # are combined pairwise: elements of a short line
    PARTS = 64                     # lines folded in one call, whose results are then combined


cdef void reduce_span(ReductionWalk* walk, Workspace* workspace, char** bases, npy_intp start, npy_intp stop,
                      char* result) noexcept nogil:
    """Reduce flat elements [start, stop) of the reduced dimensions, the innermost one included, into ``result``.

    Each turn takes a block: what is left of a line, but at most ``walk.block`` elements. ``row`` and ``column`` are
    the position of the next element. ``part`` gathers up to ``rows`` blocks, ``pending`` so far, before it goes to the
    cascade. Where rounding does not depend on the order it gathers all of them.
    """
    cdef BlockTables* blocks = walk.blocks
    cdef Cascade cascade
    cdef char* value
    cdef char part[ACCUMULATOR_BYTES]
    cdef npy_intp row = start // walk.inner, column = start % walk.inner, n
    cdef int index
    cdef npy_intp rows = ROWS if walk.inner <= SHORT_ROW else 1, pending = 0
    cascade.count = 0
    while start < stop:
        n = walk.inner - column
        if n > stop - start:
            n = stop - start
        if n > walk.block:
            n = walk.block
        offset(&walk.reduced, blocks.inputs, row, bases, workspace.pointers)
        for index in range(blocks.inputs):
            workspace.pointers[index] += column * walk.inner_strides[index]
        run_block(blocks, workspace.pointers, workspace.strides, n)
        value = workspace.pointers[walk.value_operand]
        if n == stop - start and cascade.count == 0 and pending == 0:
            fold_line(walk, result, value, workspace.strides[walk.value_operand], n, True)
            return
        fold_line(walk, part, value, workspace.strides[walk.value_operand], n, pending == 0)
        pending += 1
        if pending == rows and walk.pairwise:
            push(walk, &cascade, part)
            pending = 0
        start += n
        column += n
        if column == walk.inner:
            column = 0
            row += 1
    if pending:
        push(walk, &cascade, part)
    finish(walk, &cascade, result)


cdef void fold_span(ReductionWalk* walk, Workspace* workspace, char** bases, npy_intp start, npy_intp stop,
                    char* result) noexcept nogil:
    """The same where a fold reads an input as it is: up to ``PARTS`` whole lines in one call.

    Lines are ``next_row`` bytes apart within the first reduced dimension. A first or last part of a line is folded
    alone.
    """
    cdef int inputs = walk.blocks.inputs, place = walk.value_operand
    cdef npy_intp inner = walk.inner, stride = walk.inner_strides[place]
    cdef npy_intp row, column, rows, next_row = walk.reduced.strides[place] if walk.reduced.count else 0
    cdef Cascade cascade
    cdef char parts[ACCUMULATOR_BYTES * PARTS]
    cdef char* data
    cascade.count = 0
    while start < stop:
        row, column = start // inner, start % inner
        rows = 1
        if column == 0 and stop - start >= inner and walk.reduced.count:
            rows = min(min((stop - start) // inner, walk.reduced.lengths[0] - row % walk.reduced.lengths[0]),
                       <npy_intp>PARTS)
        offset(&walk.reduced, inputs, row, bases, workspace.pointers)
        data = workspace.pointers[place] + column * stride
        walk.fold.rows(data, stride, min(inner - column, stop - start), next_row, rows, parts, walk.itemsize, True)
        if rows > 1:
            combine(walk, parts, parts + walk.itemsize, walk.itemsize, rows - 1)
        start += min(rows * inner - column, stop - start)
        if start == stop and cascade.count == 0:
            memcpy(result, parts, walk.itemsize)
            return
        push(walk, &cascade, parts)
    finish(walk, &cascade, result)


ctypedef void (*Span)(ReductionWalk* walk, Workspace* workspace, char** bases, npy_intp start, npy_intp stop,
                      char* result) noexcept nogil


cdef inline Span span_of_walk(ReductionWalk* walk) noexcept nogil:
    """The function that reduces a span of this walk."""
    return fold_span if walk.fold != NULL and walk.blocks.call_count == 0 else reduce_span


cdef void reduce_pieces(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    """Pieces [start, stop) of one result."""
    cdef ReductionWalk* walk = <ReductionWalk*>argument
    cdef Workspace workspace
    cdef npy_intp total = walk.reduced.size * walk.inner, piece, first
    make_workspace(walk, <char*>alloca(workspace_size(walk)), &workspace)
    seek_kept(walk, walk.element, &workspace)
    for piece in range(start, stop):
        first = piece * walk.piece
        span_of_walk(walk)(walk, &workspace, workspace.bases, first, min(first + walk.piece, total),
                               walk.partial + ACCUMULATOR_BYTES * piece)


cdef void gather_pieces(ReductionWalk* walk, char* result) noexcept nogil:
    """Combine the pieces' results in order."""
    cdef Cascade cascade
    cdef npy_intp piece
    cascade.count = 0
    for piece in range(walk.pieces):
        push(walk, &cascade, walk.partial + ACCUMULATOR_BYTES * piece)
    finish(walk, &cascade, result)


cdef void reduce_elements(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    """Results [start, stop), each as a whole."""
    cdef ReductionWalk* walk = <ReductionWalk*>argument
    cdef Workspace workspace
    cdef npy_intp element
    cdef char* result
    make_workspace(walk, <char*>alloca(workspace_size(walk)), &workspace)
    if walk.fold != NULL and walk.blocks.call_count == 0 and walk.reduced.count == 0:
        fold_elements(walk, &workspace, start, stop)
        return
    for element in range(start, stop):
        result = walk.accumulators + seek_kept(walk, element, &workspace)
        span_of_walk(walk)(walk, &workspace, workspace.bases, 0, walk.reduced.size * walk.inner, result)


cdef void fold_elements(ReductionWalk* walk, Workspace* workspace, npy_intp start, npy_intp stop) noexcept nogil:
    """Results [start, stop), each of one line: those along the first kept dimension in one call."""
    cdef int place = walk.value_operand
    cdef npy_intp length = walk.kept.lengths[0] if walk.kept.count else 1
    cdef npy_intp next_row = walk.kept.strides[place] if walk.kept.count else 0
    cdef npy_intp rows
    cdef char* results
    while start < stop:
        rows = min(length - start % length, stop - start)
        results = walk.accumulators + seek_kept(walk, start, workspace)
        walk.fold.rows(workspace.bases[place], walk.inner_strides[place], walk.inner, next_row, rows, results,
                         walk.kept.result_strides[0] if walk.kept.count else 0, True)
        start += rows


cdef void reduce_all(ReductionWalk* walk, Context* context, double cost) noexcept nogil:
    """All results; ``cost`` is in nanoseconds an element.

    The pieces of a result depend on its number of elements only, never on the workers, so rounding does not either.
    """
    cdef npy_intp total = walk.reduced.size * walk.inner
    cdef npy_intp grain
    if total == 0:
        fill_identity(walk)
        return
    if total <= 2 * PIECE:
        grain = <npy_intp>(PIECE_NANOSECONDS / (cost * total)) + 1
        if walk.kept.size >= 2 * grain:
            parallel(context, reduce_elements, walk, walk.kept.size, grain)
        else:
            reduce_elements(walk, 0, 0, walk.kept.size)
        return
    walk.piece = PIECE if total <= PIECE * PIECES else (total + PIECES - 1) // PIECES
    walk.pieces = (total + walk.piece - 1) // walk.piece
    walk.partial = <char*>alloca(ACCUMULATOR_BYTES * walk.pieces)
    grain = <npy_intp>(PIECE_NANOSECONDS / (cost * walk.piece)) + 1
    for walk.element in range(walk.kept.size):
        parallel(context, reduce_pieces, walk, walk.pieces, grain)
        gather_pieces(walk, walk.accumulators + result_offset(walk, walk.element))
