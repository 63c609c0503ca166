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


cdef void reduce_span(Layout* layout, Workspace* workspace, char** bases, npy_intp start, npy_intp stop,
                      char* result) noexcept nogil:
    """Reduce flat elements [start, stop) of the reduced dimensions, the innermost one included, into ``result``.

    Each turn takes a block: what is left of a line, but at most ``layout.block`` elements. ``row`` and ``column`` are
    the position of the next element. ``part`` gathers up to ``rows`` blocks, ``pending`` so far, before it goes to the
    cascade. Where rounding does not depend on the order it gathers all of them.
    """
    cdef BlockTables* blocks = layout.blocks
    cdef Cascade cascade
    cdef char* value
    cdef char part[ACCUMULATOR_BYTES]
    cdef npy_intp row = start // layout.inner, column = start % layout.inner, n
    cdef int index
    cdef npy_intp rows = ROWS if layout.inner <= SHORT_ROW else 1, pending = 0
    cascade.count = 0
    while start < stop:
        n = layout.inner - column
        if n > stop - start:
            n = stop - start
        if n > layout.block:
            n = layout.block
        offset(&layout.reduced, blocks.inputs, row, bases, workspace.pointers)
        for index in range(blocks.inputs):
            workspace.pointers[index] += column * layout.inner_strides[index]
        run_block(blocks, workspace.pointers, workspace.strides, n)
        value = workspace.pointers[layout.value_operand]
        if n == stop - start and cascade.count == 0 and pending == 0:
            fold_line(layout, result, value, workspace.strides[layout.value_operand], n, True)
            return
        fold_line(layout, part, value, workspace.strides[layout.value_operand], n, pending == 0)
        pending += 1
        if pending == rows and layout.pairwise:
            push(layout, &cascade, part)
            pending = 0
        start += n
        column += n
        if column == layout.inner:
            column = 0
            row += 1
    if pending:
        push(layout, &cascade, part)
    finish(layout, &cascade, result)


cdef void fold_span(Layout* layout, Workspace* workspace, char** bases, npy_intp start, npy_intp stop,
                    char* result) noexcept nogil:
    """The same where a fold reads an input as it is: up to ``PARTS`` whole lines in one call.

    Lines are ``next_row`` bytes apart within the first reduced dimension. A first or last part of a line is folded
    alone.
    """
    cdef int inputs = layout.blocks.inputs, place = layout.value_operand
    cdef npy_intp inner = layout.inner, stride = layout.inner_strides[place]
    cdef npy_intp row, column, rows, next_row = layout.reduced.strides[place] if layout.reduced.count else 0
    cdef Cascade cascade
    cdef char parts[ACCUMULATOR_BYTES * PARTS]
    cdef char* data
    cascade.count = 0
    while start < stop:
        row, column = start // inner, start % inner
        rows = 1
        if column == 0 and stop - start >= inner and layout.reduced.count:
            rows = min(min((stop - start) // inner, layout.reduced.lengths[0] - row % layout.reduced.lengths[0]),
                       <npy_intp>PARTS)
        offset(&layout.reduced, inputs, row, bases, workspace.pointers)
        data = workspace.pointers[place] + column * stride
        layout.fold.rows(data, stride, min(inner - column, stop - start), next_row, rows, parts, layout.itemsize, True)
        if rows > 1:
            combine(layout, parts, parts + layout.itemsize, layout.itemsize, rows - 1)
        start += min(rows * inner - column, stop - start)
        if start == stop and cascade.count == 0:
            memcpy(result, parts, layout.itemsize)
            return
        push(layout, &cascade, parts)
    finish(layout, &cascade, result)


ctypedef void (*Span)(Layout* layout, Workspace* workspace, char** bases, npy_intp start, npy_intp stop,
                      char* result) noexcept nogil


cdef inline Span span_of_layout(Layout* layout) noexcept nogil:
    """The function that reduces a span of this layout."""
    return fold_span if layout.fold != NULL and layout.blocks.call_count == 0 else reduce_span


cdef void reduce_pieces(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    """Pieces [start, stop) of one result."""
    cdef Layout* layout = <Layout*>argument
    cdef Workspace workspace
    cdef npy_intp total = layout.reduced.size * layout.inner, piece, first
    make_workspace(layout, <char*>alloca(workspace_size(layout)), &workspace)
    seek_kept(layout, layout.element, &workspace)
    for piece in range(start, stop):
        first = piece * layout.piece
        span_of_layout(layout)(layout, &workspace, workspace.bases, first, min(first + layout.piece, total),
                               layout.partial + ACCUMULATOR_BYTES * piece)


cdef void gather_pieces(Layout* layout, char* result) noexcept nogil:
    """Combine the pieces' results in order."""
    cdef Cascade cascade
    cdef npy_intp piece
    cascade.count = 0
    for piece in range(layout.pieces):
        push(layout, &cascade, layout.partial + ACCUMULATOR_BYTES * piece)
    finish(layout, &cascade, result)


cdef void reduce_elements(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    """Results [start, stop), each as a whole."""
    cdef Layout* layout = <Layout*>argument
    cdef Workspace workspace
    cdef npy_intp element
    cdef char* result
    make_workspace(layout, <char*>alloca(workspace_size(layout)), &workspace)
    if layout.fold != NULL and layout.blocks.call_count == 0 and layout.reduced.count == 0:
        fold_elements(layout, &workspace, start, stop)
        return
    for element in range(start, stop):
        result = layout.accumulators + seek_kept(layout, element, &workspace)
        span_of_layout(layout)(layout, &workspace, workspace.bases, 0, layout.reduced.size * layout.inner, result)


cdef void fold_elements(Layout* layout, Workspace* workspace, npy_intp start, npy_intp stop) noexcept nogil:
    """Results [start, stop), each of one line: those along the first kept dimension in one call."""
    cdef int place = layout.value_operand
    cdef npy_intp length = layout.kept.lengths[0] if layout.kept.count else 1
    cdef npy_intp next_row = layout.kept.strides[place] if layout.kept.count else 0
    cdef npy_intp rows
    cdef char* results
    while start < stop:
        rows = min(length - start % length, stop - start)
        results = layout.accumulators + seek_kept(layout, start, workspace)
        layout.fold.rows(workspace.bases[place], layout.inner_strides[place], layout.inner, next_row, rows, results,
                         layout.kept.result_strides[0] if layout.kept.count else 0, True)
        start += rows


cdef void reduce_all(Layout* layout, Context* context, double cost) noexcept nogil:
    """All results; ``cost`` is in nanoseconds an element.

    The pieces of a result depend on its number of elements only, never on the workers, so rounding does not either.
    """
    cdef npy_intp total = layout.reduced.size * layout.inner
    cdef npy_intp grain
    if total == 0:
        fill_identity(layout)
        return
    if total <= 2 * PIECE:
        grain = <npy_intp>(PIECE_NANOSECONDS / (cost * total)) + 1
        if layout.kept.size >= 2 * grain:
            parallel(context, reduce_elements, layout, layout.kept.size, grain)
        else:
            reduce_elements(layout, 0, 0, layout.kept.size)
        return
    layout.piece = PIECE if total <= PIECE * PIECES else (total + PIECES - 1) // PIECES
    layout.pieces = (total + layout.piece - 1) // layout.piece
    layout.partial = <char*>alloca(ACCUMULATOR_BYTES * layout.pieces)
    grain = <npy_intp>(PIECE_NANOSECONDS / (cost * layout.piece)) + 1
    for layout.element in range(layout.kept.size):
        parallel(context, reduce_pieces, layout, layout.pieces, grain)
        gather_pieces(layout, layout.accumulators + result_offset(layout, layout.element))
