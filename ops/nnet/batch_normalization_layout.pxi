# What the loops of batch normalization see of x, and their scratch memory. Included by batch_normalization_kernel.pyx.
#
# Dimensions of length 1 are left out, neighbours of one kind (averaged or kept) are joined. Examples, with the averaged
# dimensions in brackets:
#
#     [N] C         batch 1, outer N, columns C: a column for each channel
#     [N] C [H W]   H*W long: runs of H*W elements, N of them, C*H*W apart, for each channel
#                   H*W short: columns C*H*W, merged: H*W neighbouring columns are of the same channel
#     C [N]         batch C: as many problems of one channel each, one run of N elements
#     [N] C [H] D   columns C*H*D, merged; channels C*D
#
# So the memory of x is [batch][outer][columns], and all groups of dimensions after the outer one are in ``columns``.

cdef enum:
    PARAMETERS = 4                 # at most: inputs with one element for each channel
    RESULTS = 4                    # at most: outputs with one element for each channel
    SUMS = 3                       # at most, of each channel: see ``finish``
    COEFFICIENTS = 4               # at most, of each channel: see ``finish``
    LONG_RUN = 64                  # elements; shorter runs are columns, unless there are few rows
    FEW_ROWS = 16                  # fewer than these
    SCRATCH_ALIGNMENT = 64         # bytes: a cache line

cdef enum Kind:
    TRAIN
    INFERENCE
    GRADIENT

# The shape of x as the loops see it: [batch][outer][columns], a channel in one or several columns.
cdef struct ChannelWalk:
    npy_intp batch                 # kept elements in front: problems that have nothing to do with each other
    npy_intp outer                 # rows of one problem: the length of its first averaged dimension
    npy_intp columns               # elements of a row, which is also the distance of rows
    npy_intp channels              # of one problem of the batch
    npy_intp inner                 # elements of a row that are of one channel; where there are runs, the length of one
    bint runs                      # channels are worked on as runs, else as columns
    bint merged                    # several columns are of one channel: ``channel_of`` says of which
    int groups                     # joined dimensions after the outer one, which make the columns:
    npy_intp lengths[MAX_RANK] # the length of each,
    bint kept[MAX_RANK]        # and whether it is kept

# One run of a kernel, as its loops and its workers see it.
cdef struct Work:
    ChannelWalk walk
    Context* context
    Kind kind
    int set                        # of instructions
    int itemsize                   # 4 or 8: of all elements but epsilon and the factor
    # Operands, in C order; of columns x, dy and out move on from problem to problem:
    const char* x
    const char* dy                 # NULL, unless this is a gradient
    char* out                      # of the shape of x; NULL: not wanted
    const char* parameters[PARAMETERS]         # one element for each channel
    char* results[RESULTS]         # one element for each channel; NULL: not wanted
    double epsilon                 # added to variances
    double factor                  # of the new values in running means and variances
    double count                   # elements of a channel
    # Scratch memory for one problem of the batch, for columns. Without merging, what is of channels and what is of
    # columns is the same memory.
    double* sums[SUMS]             # of each column
    double* channel_sums[SUMS]     # of each channel
    char* coefficients[COEFFICIENTS]           # of each column, in the dtype of x
    char* channel_coefficients[COEFFICIENTS]   # of each channel
    int32_t* channel_of            # by column, if walk.merged, else NULL

# Scratch memory that is being divided.
ctypedef struct Room:
    char* next                     # NULL while sizes are added up
    size_t size                    # divided so far


# ---- what the loops see ----------------------------------------------------------------------------------------------
cdef void plan(ChannelWalk* walk, const Cell* x, unsigned long long averaged) noexcept nogil:
    """Join dimensions, and choose runs or columns; bit d of ``averaged``: dimension d is averaged over."""
    cdef npy_intp lengths[MAX_RANK]
    cdef bint kept[MAX_RANK]
    cdef int count = 0, axis, first = 0, group
    cdef bint is_kept
    for axis in range(x.ndim):
        is_kept = not (averaged >> axis) & 1
        if x.shape[axis] == 1:
            continue
        if count and kept[count - 1] == is_kept:
            lengths[count - 1] *= x.shape[axis]
        else:
            lengths[count], kept[count] = x.shape[axis], is_kept
            count += 1
    walk.batch = walk.outer = walk.inner = walk.columns = walk.channels = 1
    if count and kept[0]:
        walk.batch, first = lengths[0], 1
    walk.groups = 0
    if count - first <= 1:
        walk.runs, walk.merged = True, False
        if count > first:
            walk.inner = walk.columns = lengths[first]
        return
    walk.outer = lengths[first]
    for group in range(first + 1, count):
        walk.lengths[walk.groups], walk.kept[walk.groups] = lengths[group], kept[group]
        walk.groups += 1
        walk.columns *= lengths[group]
        if kept[group]:
            walk.channels *= lengths[group]
    walk.inner = walk.columns // walk.channels if walk.channels else 1
    walk.merged = walk.groups > 1
    walk.runs = walk.groups == 2 and (walk.inner >= LONG_RUN or walk.outer < FEW_ROWS)


cdef bint number_columns(Work* work) noexcept nogil:
    """Write the channel of each column, where averaged dimensions are between or after kept ones; return whether all
    are written: the call may be to end.

    Counts through the columns; a step along a kept group changes the channel, one along an averaged group does not.
    """
    cdef ChannelWalk* walk = &work.walk
    cdef npy_intp index[MAX_RANK]
    cdef npy_intp steps[MAX_RANK]
    cdef npy_intp column, channel = 0, step = 1
    cdef int group
    for group in range(walk.groups - 1, -1, -1):
        index[group] = 0
        steps[group] = step if walk.kept[group] else 0
        if walk.kept[group]:
            step *= walk.lengths[group]
    for column in range(walk.columns):
        if column % UNASKED == UNASKED - 1 and interrupted(work.context):
            return False
        work.channel_of[column] = <int32_t>channel
        for group in range(walk.groups - 1, -1, -1):
            channel += steps[group]
            index[group] += 1
            if index[group] < walk.lengths[group]:
                break
            channel -= steps[group] * walk.lengths[group]
            index[group] = 0
    return True


# ---- scratch memory --------------------------------------------------------------------------------------------------
cdef inline char* take(Room* room, size_t size) noexcept nogil:
    """The next piece; while ``room.next`` is NULL sizes are only added up."""
    cdef char* piece = room.next
    size = (size + SCRATCH_ALIGNMENT - 1) & ~<size_t>(SCRATCH_ALIGNMENT - 1)
    room.size += size
    if room.next != NULL:
        room.next += size
    return piece


cdef const char* gapless(Context* context, Room* room, Cell* cell) noexcept nogil:
    """The elements in C order: where they are, or a copy in ``room``; NULL for a copy while sizes are added up."""
    cdef char* piece
    if cell_is_contiguous(cell):
        return cell.data
    piece = take(room, cell_size(cell) * cell.itemsize)
    return NULL if piece == NULL else data_without_gaps(context, cell, piece)


cdef void furnish(Context* context, Work* work, Room* room, Cell* x, Cell* dy, Cell** parameters,
                  int count) noexcept nogil:
    """Copies of what has gaps, and memory for sums and coefficients.

    ``prepare`` calls this to add up sizes, ``run`` to divide the memory; ``dy`` may be NULL.
    """
    cdef ChannelWalk* walk = &work.walk
    cdef int number
    work.set = usable_set()
    work.x = gapless(context, room, x)
    work.dy = gapless(context, room, dy) if dy != NULL else NULL
    for number in range(count):
        work.parameters[number] = gapless(context, room, parameters[number])
    if walk.runs or cell_size(x) == 0:             # columns without elements may be more than memory holds
        return
    for number in range(SUMS):
        work.sums[number] = <double*>take(room, walk.columns * sizeof(double))
        work.channel_sums[number] = work.sums[number]
        if walk.merged:
            work.channel_sums[number] = <double*>take(room, walk.channels * sizeof(double))
    for number in range(COEFFICIENTS):
        work.coefficients[number] = take(room, walk.columns * work.itemsize)
        work.channel_coefficients[number] = work.coefficients[number]
        if walk.merged:
            work.channel_coefficients[number] = take(room, walk.channels * work.itemsize)
    work.channel_of = <int32_t*>take(room, walk.columns * sizeof(int32_t)) if walk.merged else NULL
