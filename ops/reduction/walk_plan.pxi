# The walk of a reduction: which dimensions the loops walk in which order, and where each accumulator is. Included by
# reduction_kernel.pyx.
#
# The inputs have one common shape, with strides of 0 where an input is repeated. Example: a sum over axis 1 of a
# C-contiguous x of shape (4, 5, 6), whose axes are 240, 48 and 8 bytes wide.
#
#     sorted by stride    axis 2 (kept, 6)    axis 1 (reduced, 5)    axis 0 (kept, 4)
#     joined              neighbours of one kind whose strides fit become one dimension; here there are none
#     innermost           axis 2; it is kept, so a line of 5 * 6 values is 5 rows added to a line of 6 accumulators
#     the others          reduced: [5]; kept: [4]
#     accumulators        in the order of the walk: 6 * 4, axis 2 first; that is C order here, so they are the results
#
# The loops are then, from outside in: kept dimensions, reduced dimensions, the innermost one.

cdef enum:
    # An innermost dimension below these lengths gives way to a longer one: adding a row to a line of accumulators
    # costs about 40 ns besides its elements, folding a line to one accumulator about 50.
    SHORT_REDUCED = 28
    SHORT_KEPT = 10
    ENOUGH = 64                    # of this length the next one is taken, and no longer one that is further apart
    BLOCK_BYTES = 16384            # of values and operands that a producer computes at a time: half an L1 cache
    LONGEST_BLOCK = 2048           # elements

# Dimensions of one kind, kept or reduced, without the innermost one of all. Those whose elements are closest are first.
cdef struct Dimensions:
    int count
    npy_intp size                              # elements: the product of the lengths
    npy_intp* lengths
    npy_intp* result_strides                   # of the accumulators, in bytes; 0 for reduced dimensions
    npy_intp* strides                          # of the inputs, in bytes: strides[dimension * inputs + input]

# One run of a kernel, as its loops and its workers see it.
cdef struct ReductionWalk:
    Context* context               # of the call
    # What is computed:
    BlockTables* blocks               # the producer; without steps the value is an input
    int value_operand              # of what is reduced, among the operands of the block code
    int value_size                 # its size in bytes
    const phintys_fold* fold       # the built-in loop that reduces; NULL: the ufunc's loop is used instead
    LoopFunction function          # of the ufunc: combines two accumulators, or an accumulator and a value
    void* data                     # for ``function``
    bint pairwise                  # rounding depends on the order: partial results are combined pairwise
    const char* identity           # what accumulators begin with; NULL: with the first value
    int itemsize                   # of an accumulator
    LoopFunction copy              # copies accumulators
    # The dimensions:
    int rank                       # of the inputs
    Dimensions kept                # without the innermost dimension
    Dimensions reduced             # without the innermost dimension
    bint inner_reduced             # whether the innermost dimension is reduced
    npy_intp inner                 # its length
    npy_intp inner_result_stride   # of the accumulators along it; 0 if it is reduced
    npy_intp* inner_strides        # of each input along it
    char** bases                   # memory of each input
    # The accumulators:
    char* accumulators             # the results' memory, or scratch memory
    npy_intp* result_strides       # by axis of the inputs; 0 for reduced axes and axes of length 1
    bint in_order                  # they are in C order, as the results
    double divisor                 # of means: what the results are divided by; else 0
    # Work at a time:
    npy_intp block                 # elements of the innermost dimension that the producer computes
    # Where one result is reduced in pieces, because it has many elements:
    npy_intp piece                 # elements of a piece
    npy_intp pieces                # how many there are
    npy_intp element               # the kept element whose pieces are being reduced
    char* partial                  # the results of its pieces, ACCUMULATOR_BYTES apart


# ---- axes of the inputs ----------------------------------------------------------------------------------------------
cdef npy_intp common_length(Cell** operands, int inputs, int axis) noexcept nogil:
    """The length of an axis of the inputs' common shape; ``broadcast_shape`` has checked that there is one."""
    cdef int index
    for index in range(inputs):
        if operands[index].shape[axis] != 1:
            return operands[index].shape[axis]
    return 1


cdef npy_intp reach(Cell** operands, int inputs, int axis) noexcept nogil:
    """The distance in bytes of neighbours along the axis, summed over all inputs."""
    cdef npy_intp total = 0, stride
    cdef int index
    for index in range(inputs):
        stride = stride_along(operands[index], axis)
        total += stride if stride >= 0 else -stride
    return total


cdef int sorted_axes(ReductionWalk* walk, Cell** operands, int rank, int* axes) noexcept nogil:
    """Write the axes longer than 1 to ``axes``, the one with the smallest reach first; return their number.

    Insertion, from the last axis on: of axes with the same reach the last one is first, as in C order.
    """
    cdef int inputs = walk.blocks.inputs
    cdef int axis, position, count = 0
    cdef npy_intp own
    for axis in range(rank - 1, -1, -1):
        if common_length(operands, inputs, axis) == 1:
            continue
        own = reach(operands, inputs, axis)
        position = count
        while position > 0 and reach(operands, inputs, axes[position - 1]) > own:
            axes[position] = axes[position - 1]
            position -= 1
        axes[position] = axis
        count += 1
    return count


cdef inline int walk_numbers(int rank, int inputs) noexcept nogil:
    """How many numbers ``set_arrays`` divides."""
    return (rank + 1) * (2 * inputs + 5) + inputs


cdef void set_arrays(ReductionWalk* walk, npy_intp* memory, int rank) noexcept nogil:
    """Divide memory for the strides and lengths of a walk."""
    cdef int inputs = walk.blocks.inputs, most = rank + 1
    walk.rank = rank
    walk.inner_strides = memory
    walk.kept.strides = memory + inputs
    walk.reduced.strides = walk.kept.strides + most * inputs
    walk.kept.lengths = walk.reduced.strides + most * inputs
    walk.reduced.lengths = walk.kept.lengths + most
    walk.kept.result_strides = walk.reduced.lengths + most
    walk.reduced.result_strides = walk.kept.result_strides + most
    walk.result_strides = walk.reduced.result_strides + most


# ---- dimensions of the walk ------------------------------------------------------------------------------------------
cdef void plan_walk(ReductionWalk* walk, Cell** operands, int rank, unsigned long long mask) noexcept nogil:
    """Sort and join the dimensions, and choose the innermost.

    An axis joins the dimension before it if both are reduced or both kept, and if each input's stride is the length of
    that dimension: then the two are walked as one. A fold that reads an input as it is takes many lines in one call,
    short ones too, so the dimension whose elements are closest is the innermost.
    """
    cdef int inputs = walk.blocks.inputs
    cdef int axes[MAX_RANK]
    cdef int dimension_of[MAX_RANK]
    cdef npy_intp before[MAX_RANK]              # by axis: elements of the axes that its dimension has before it
    cdef npy_intp lengths[MAX_RANK]
    cdef bint reduced[MAX_RANK]
    cdef npy_intp* strides = <npy_intp*>alloca((rank + 1) * inputs * sizeof(npy_intp))
    cdef int axis, position, inner = 0, joined = 0, had
    cdef int count = sorted_axes(walk, operands, rank, axes)
    cdef bint is_reduced
    for position in range(count):
        axis, had = axes[position], joined
        is_reduced = mask >> axis & 1
        before[axis] = lengths[joined - 1] if joined else 1
        joined = join_axis(operands, inputs, axis, common_length(operands, inputs, axis),
                           joined > 0 and reduced[joined - 1] == is_reduced, lengths, strides, joined)
        dimension_of[axis] = joined - 1
        if joined > had:
            before[axis], reduced[joined - 1] = 1, is_reduced
    if walk.fold == NULL or walk.blocks.call_count:
        inner = innermost(joined, lengths, reduced)
    split(walk, joined, inner, lengths, reduced, strides)
    order_results(walk, operands, mask, count, inner, axes, dimension_of, before)


cdef int innermost(int count, const npy_intp* lengths, const bint* reduced) noexcept nogil:
    """The dimension that lines run along, of ``count`` dimensions, those whose elements are closest first.

    The first, unless it is short: then the first of length ``ENOUGH``, or the longest. A short line that is kept costs
    less than one that is reduced, so from ``SHORT_KEPT`` on only a kept dimension is better.
    """
    cdef int inner = 0, dimension
    if count == 0 or lengths[0] >= (SHORT_REDUCED if reduced[0] else SHORT_KEPT):
        return 0
    for dimension in range(1, count):
        if reduced[dimension] and lengths[0] >= SHORT_KEPT:
            continue
        if lengths[inner] < ENOUGH and lengths[dimension] > lengths[inner]:
            inner = dimension
    return inner


cdef void order_results(ReductionWalk* walk, Cell** operands, unsigned long long mask, int count, int inner,
                        const int* axes, const int* dimension_of, const npy_intp* before) noexcept nogil:
    """The strides of the accumulators along each axis, and whether they are those of C order.

    `split` has given each joined dimension a stride; here its axes get theirs. ``axes`` names them innermost first, so
    an axis whose elements ``before`` are 1 is the first of its dimension, and dimensions come in the order in which
    `split` met them: that is why the next stride of ``walk.kept`` is the right one. For a dimension of axes of lengths
    4 (inner) and 6 with stride s, the strides of its axes are s and 4 s.

    The results are in C order if, from the last kept axis to the first, each stride is what C order expects. Axes of
    length 1 have no stride, and do not count.
    """
    cdef npy_intp strides[MAX_RANK]             # by joined dimension
    cdef npy_intp expected = walk.itemsize
    cdef int axis, position, dimension
    cdef int kept = 0
    for axis in range(walk.rank):
        walk.result_strides[axis] = 0
    for position in range(count):
        axis, dimension = axes[position], dimension_of[axes[position]]
        if mask >> axis & 1:
            continue
        if before[axis] == 1 and dimension != inner:
            strides[dimension] = walk.kept.result_strides[kept]
            kept += 1
        elif dimension == inner:
            strides[dimension] = walk.inner_result_stride
        walk.result_strides[axis] = strides[dimension] * before[axis]
    walk.in_order = True
    for axis in range(walk.rank - 1, -1, -1):
        if mask >> axis & 1 or walk.result_strides[axis] == 0:
            continue
        walk.in_order = walk.in_order and walk.result_strides[axis] == expected
        expected *= common_length(operands, walk.blocks.inputs, axis)


cdef void split(ReductionWalk* walk, int count, int inner, const npy_intp* lengths, const bint* reduced,
                const npy_intp* strides) noexcept nogil:
    """Distribute the joined dimensions to the innermost one, the kept and the reduced.

    The accumulators are in the same order without gaps: the innermost dimension first, if it is kept.
    """
    cdef int inputs = walk.blocks.inputs
    cdef int dimension, index
    cdef npy_intp result_stride = walk.itemsize
    cdef Dimensions* kind
    walk.kept.count = walk.reduced.count = 0
    walk.kept.size = walk.reduced.size = 1
    walk.inner, walk.inner_result_stride, walk.inner_reduced = 1, 0, True
    for index in range(inputs):
        walk.inner_strides[index] = 0
    if count:
        walk.inner, walk.inner_reduced = lengths[inner], reduced[inner]
        memcpy(walk.inner_strides, strides + inner * inputs, inputs * sizeof(npy_intp))
        if not reduced[inner]:
            walk.inner_result_stride = result_stride
            result_stride *= lengths[inner]
    for dimension in range(count):
        if dimension == inner:
            continue
        kind = &walk.reduced if reduced[dimension] else &walk.kept
        kind.lengths[kind.count] = lengths[dimension]
        kind.result_strides[kind.count] = 0 if reduced[dimension] else result_stride
        if not reduced[dimension]:
            result_stride *= lengths[dimension]
        memcpy(kind.strides + kind.count * inputs, strides + dimension * inputs, inputs * sizeof(npy_intp))
        kind.size *= lengths[dimension]
        kind.count += 1


cdef npy_intp block_length(ReductionWalk* walk) noexcept nogil:
    """Elements that the producer computes at a time: what fits in the L1 cache, in whole vectors of 16 elements."""
    cdef BlockTables* blocks = walk.blocks
    cdef npy_intp length
    if blocks.call_count == 0:
        return walk.inner
    length = BLOCK_BYTES // (blocks.operand_size + walk.value_size)
    if length > LONGEST_BLOCK:
        length = LONGEST_BLOCK
    length &= ~<npy_intp>15
    return length if length > 32 else 32
