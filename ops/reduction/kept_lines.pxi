# Reductions whose innermost dimension is kept: lines are added to lines of accumulators. Included by
# reduction_kernel.pyx.
#
#     for each kept element                 workers share these, if there are enough of them
#         for each tile of columns          ... or these
#             for each reduced element      a row
#                 for each block            accumulators[columns] += values

cdef enum:
    COLUMNS = 2048                 # accumulators worked on at a time: 16 KiB of float64, which stay in the L1 cache
    LEAST_COLUMNS = 64             # for one worker: a few cache lines of each row


cdef void accumulate_columns(Layout* layout, Workspace* workspace, char** bases, char* results, npy_intp first,
                             npy_intp last) noexcept nogil:
    """Reduce columns [first, last) of the innermost dimension, row by row.

    Without an identity the first row is copied, and the others are combined with it.
    """
    cdef BlockTables* blocks = layout.blocks
    cdef char* arguments[3]
    cdef npy_intp strides[3]
    cdef npy_intp row, column, n, unasked = 0
    cdef int index
    if layout.fold != NULL and blocks.call_count == 0:
        fold_columns(layout, workspace, bases, results, first, last)
        return
    strides[0] = strides[2] = layout.inner_result_stride
    strides[1] = workspace.strides[layout.value_operand]
    for row in range(layout.reduced.size):
        offset(&layout.reduced, blocks.inputs, row, bases, workspace.pointers)
        for index in range(blocks.inputs):
            workspace.pointers[index] += first * layout.inner_strides[index]
        column = first
        while column < last:
            n = last - column if last - column < layout.block else layout.block
            run_block(blocks, workspace.pointers, workspace.strides, n)
            arguments[0] = arguments[2] = results + column * layout.inner_result_stride
            arguments[1] = workspace.pointers[layout.value_operand]
            if layout.fold != NULL:
                layout.fold.columns(arguments[1], strides[1], n, 0, 1, arguments[0], row == 0)
            elif row == 0 and layout.identity == NULL:
                layout.copy(arguments + 1, &n, strides + 1, NULL)
            else:
                layout.function(arguments, &n, strides, layout.data)
            for index in range(blocks.inputs):
                workspace.pointers[index] += n * layout.inner_strides[index]
            column += n
        if ends_after(layout.context, &unasked, last - first):
            return


cdef void fold_columns(Layout* layout, Workspace* workspace, char** bases, char* results, npy_intp first,
                       npy_intp last) noexcept nogil:
    """The same where a fold reads an input as it is: all rows of the first reduced dimension in one call."""
    cdef int place = layout.value_operand
    cdef npy_intp rows = layout.reduced.lengths[0] if layout.reduced.count else 1
    cdef npy_intp next_row = layout.reduced.strides[place] if layout.reduced.count else 0
    cdef npy_intp stride = layout.inner_strides[place], row = 0, left, count, unasked = 0
    cdef npy_intp most = (UNASKED // (last - first) & ~7) + 8       # folds take eight rows at once
    cdef char* data
    while row < layout.reduced.size:
        offset(&layout.reduced, layout.blocks.inputs, row, bases, workspace.pointers)
        data = workspace.pointers[place] + first * stride
        left = rows
        while left:
            count = min(left, most)
            layout.fold.columns(data, stride, last - first, next_row, count, results + first * layout.itemsize,
                                row == 0)
            if ends_after(layout.context, &unasked, count * (last - first)):
                return
            data += count * next_row
            row += count
            left -= count


cdef void accumulate_range(Layout* layout, npy_intp start, npy_intp stop, npy_intp left, npy_intp right) noexcept nogil:
    """Columns [left, right) of the innermost dimension, of kept elements [start, stop)."""
    cdef Workspace workspace
    cdef npy_intp element, first, last
    cdef char* results
    make_workspace(layout, <char*>alloca(workspace_size(layout)), &workspace)
    for element in range(start, stop):
        results = layout.accumulators + seek_kept(layout, element, &workspace)
        first = left
        while first < right:
            last = first + COLUMNS if first + COLUMNS < right else right
            accumulate_columns(layout, &workspace, workspace.bases, results, first, last)
            first = last


cdef void accumulate_tiles(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    """Columns [start, stop) of the innermost dimension, of every kept element."""
    accumulate_range(<Layout*>argument, 0, (<Layout*>argument).kept.size, start, stop)


cdef void accumulate_elements(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    """All columns of kept elements [start, stop)."""
    accumulate_range(<Layout*>argument, start, stop, 0, (<Layout*>argument).inner)


cdef void accumulate_all(Layout* layout, Context* context, double cost) noexcept nogil:
    """All results; ``cost`` is in nanoseconds an element. A fold starts its totals itself, unless there are no rows."""
    cdef double nanoseconds = cost * layout.kept.size * layout.reduced.size * layout.inner
    cdef npy_intp grain
    if layout.identity != NULL and (layout.fold == NULL or layout.reduced.size == 0):
        fill_identity(layout)
    if layout.reduced.size == 0:
        return
    if nanoseconds < 2 * PIECE_NANOSECONDS:
        accumulate_elements(layout, 0, 0, layout.kept.size)
    elif layout.kept.size >= 2 * context.workers:
        grain = <npy_intp>(PIECE_NANOSECONDS * layout.kept.size / nanoseconds) + 1
        parallel(context, accumulate_elements, layout, layout.kept.size, grain)
    else:
        grain = <npy_intp>(PIECE_NANOSECONDS * layout.inner / nanoseconds) + 1
        parallel(context, accumulate_tiles, layout, layout.inner, max(grain, <npy_intp>LEAST_COLUMNS))
