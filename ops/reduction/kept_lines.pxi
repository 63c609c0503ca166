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


cdef void accumulate_columns(ReductionWalk* walk, Workspace* workspace, char** bases, char* results, npy_intp first,
                             npy_intp last) noexcept nogil:
    """Reduce columns [first, last) of the innermost dimension, row by row.

    Without an identity the first row is copied, and the others are combined with it.
    """
    cdef BlockTables* blocks = walk.blocks
    cdef char* arguments[3]
    cdef npy_intp strides[3]
    cdef npy_intp row, column, n, unasked = 0
    cdef int index
    if walk.fold != NULL and blocks.call_count == 0:
        fold_columns(walk, workspace, bases, results, first, last)
        return
    strides[0] = strides[2] = walk.inner_result_stride
    strides[1] = workspace.strides[walk.value_operand]
    for row in range(walk.reduced.size):
        offset(&walk.reduced, blocks.inputs, row, bases, workspace.pointers)
        for index in range(blocks.inputs):
            workspace.pointers[index] += first * walk.inner_strides[index]
        column = first
        while column < last:
            n = last - column if last - column < walk.block else walk.block
            run_block(blocks, workspace.pointers, workspace.strides, n)
            arguments[0] = arguments[2] = results + column * walk.inner_result_stride
            arguments[1] = workspace.pointers[walk.value_operand]
            if walk.fold != NULL:
                walk.fold.columns(arguments[1], strides[1], n, 0, 1, arguments[0], row == 0)
            elif row == 0 and walk.identity == NULL:
                walk.copy(arguments + 1, &n, strides + 1, NULL)
            else:
                walk.function(arguments, &n, strides, walk.data)
            for index in range(blocks.inputs):
                workspace.pointers[index] += n * walk.inner_strides[index]
            column += n
        if ends_after(walk.context, &unasked, last - first):
            return


cdef void fold_columns(ReductionWalk* walk, Workspace* workspace, char** bases, char* results, npy_intp first,
                       npy_intp last) noexcept nogil:
    """The same where a fold reads an input as it is: all rows of the first reduced dimension in one call."""
    cdef int place = walk.value_operand
    cdef npy_intp rows = walk.reduced.lengths[0] if walk.reduced.count else 1
    cdef npy_intp next_row = walk.reduced.strides[place] if walk.reduced.count else 0
    cdef npy_intp stride = walk.inner_strides[place], row = 0, left, count, unasked = 0
    cdef npy_intp most = (UNASKED // (last - first) & ~7) + 8       # folds take eight rows at once
    cdef char* data
    while row < walk.reduced.size:
        offset(&walk.reduced, walk.blocks.inputs, row, bases, workspace.pointers)
        data = workspace.pointers[place] + first * stride
        left = rows
        while left:
            count = min(left, most)
            walk.fold.columns(data, stride, last - first, next_row, count, results + first * walk.itemsize,
                                row == 0)
            if ends_after(walk.context, &unasked, count * (last - first)):
                return
            data += count * next_row
            row += count
            left -= count


cdef void accumulate_range(ReductionWalk* walk, npy_intp start, npy_intp stop, npy_intp left,
                           npy_intp right) noexcept nogil:
    """Columns [left, right) of the innermost dimension, of kept elements [start, stop)."""
    cdef Workspace workspace
    cdef npy_intp element, first, last
    cdef char* results
    make_workspace(walk, <char*>alloca(workspace_size(walk)), &workspace)
    for element in range(start, stop):
        results = walk.accumulators + seek_kept(walk, element, &workspace)
        first = left
        while first < right:
            last = first + COLUMNS if first + COLUMNS < right else right
            accumulate_columns(walk, &workspace, workspace.bases, results, first, last)
            first = last


cdef void accumulate_tiles(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    """Columns [start, stop) of the innermost dimension, of every kept element."""
    accumulate_range(<ReductionWalk*>argument, 0, (<ReductionWalk*>argument).kept.size, start, stop)


cdef void accumulate_elements(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    """All columns of kept elements [start, stop)."""
    accumulate_range(<ReductionWalk*>argument, start, stop, 0, (<ReductionWalk*>argument).inner)


cdef void accumulate_all(ReductionWalk* walk, Context* context, double cost) noexcept nogil:
    """All results; ``cost`` is in nanoseconds an element. A fold starts its totals itself, unless there are no rows."""
    cdef double nanoseconds = cost * walk.kept.size * walk.reduced.size * walk.inner
    cdef npy_intp grain
    if walk.identity != NULL and (walk.fold == NULL or walk.reduced.size == 0):
        fill_identity(walk)
    if walk.reduced.size == 0:
        return
    if nanoseconds < 2 * PIECE_NANOSECONDS:
        accumulate_elements(walk, 0, 0, walk.kept.size)
    elif walk.kept.size >= 2 * context.workers:
        grain = <npy_intp>(PIECE_NANOSECONDS * walk.kept.size / nanoseconds) + 1
        parallel(context, accumulate_elements, walk, walk.kept.size, grain)
    else:
        grain = <npy_intp>(PIECE_NANOSECONDS * walk.inner / nanoseconds) + 1
        parallel(context, accumulate_tiles, walk, walk.inner, max(grain, <npy_intp>LEAST_COLUMNS))
