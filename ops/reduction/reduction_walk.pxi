# What the two kinds of loops share: positions, the memory of a thread, and accumulators that are combined. Included by
# reduction_kernel.pyx.

cdef enum:
    ACCUMULATOR_BYTES = 16         # of the largest accumulator, a complex128
    CASCADE_LEVELS = 64            # bits of the number of parts

# What one thread needs to run the producer's steps. Registers are in the same memory, after these arrays.
cdef struct Workspace:
    char** pointers                # by operand of the block code: the elements of the current block
    npy_intp* strides              # by operand
    char** bases                   # of the inputs, at the current kept element

# Partial results of a sum, combined pairwise, so that rounding errors grow with the logarithm of their number. As in a
# binary counter, slot k holds the result of 2^k parts where bit k of ``count`` is set.
cdef struct Cascade:
    char slots[CASCADE_LEVELS][ACCUMULATOR_BYTES]
    npy_intp count                 # parts so far


# ---- positions -------------------------------------------------------------------------------------------------------
cdef inline npy_intp offset(Dimensions* dimensions, int inputs, npy_intp flat, char** source,
                            char** target) noexcept nogil:
    """Move the inputs' pointers to flat element ``flat`` of the dimensions; return the accumulators' offset.

    The last dimension needs no remainder: its position is what is left of ``flat``.
    """
    cdef int dimension, index
    cdef npy_intp position, moved = 0
    for index in range(inputs):
        target[index] = source[index]
    for dimension in range(dimensions.count):
        position = flat
        if dimension < dimensions.count - 1:
            position = flat % dimensions.lengths[dimension]
            flat //= dimensions.lengths[dimension]
        for index in range(inputs):
            target[index] += position * dimensions.strides[dimension * inputs + index]
        moved += position * dimensions.result_strides[dimension]
    return moved


cdef inline npy_intp seek_kept(ReductionWalk* walk, npy_intp element, Workspace* workspace) noexcept nogil:
    """Set the workspace's bases to a kept element; return the offset of its accumulator."""
    return offset(&walk.kept, walk.blocks.inputs, element, walk.bases, workspace.bases)


cdef npy_intp result_offset(ReductionWalk* walk, npy_intp element) noexcept nogil:
    """The offset of a kept element's accumulator."""
    cdef npy_intp moved = 0
    cdef int dimension
    for dimension in range(walk.kept.count):
        moved += element % walk.kept.lengths[dimension] * walk.kept.result_strides[dimension]
        element //= walk.kept.lengths[dimension]
    return moved


# ---- threads' workspaces ---------------------------------------------------------------------------------------------
cdef inline size_t workspace_size(ReductionWalk* walk) noexcept nogil:
    """Bytes for ``make_workspace``: pointers and strides of all operands and one more, bases, and aligned registers."""
    cdef BlockTables* blocks = walk.blocks
    cdef npy_intp block = (walk.block + 15) & ~<npy_intp>15
    cdef size_t registers = 0
    if blocks.call_count:
        registers = block * (blocks.registers * blocks.register_size + walk.value_size) + 64
    return 2 * (blocks.operand_count + 1) * sizeof(npy_intp) + blocks.inputs * sizeof(char*) + registers


cdef void make_workspace(ReductionWalk* walk, char* memory, Workspace* workspace) noexcept nogil:
    """Divide a thread's memory, and set the strides, which stay; registers begin at a multiple of 64 bytes.

    The value that is reduced is computed to a register of its own, after those of the blocks.
    """
    cdef BlockTables* blocks = walk.blocks
    cdef npy_intp block = (walk.block + 15) & ~<npy_intp>15
    cdef int index
    workspace.pointers = <char**>memory
    workspace.strides = <npy_intp*>(workspace.pointers + blocks.operand_count + 1)
    workspace.bases = <char**>(workspace.strides + blocks.operand_count + 1)
    for index in range(blocks.inputs):
        workspace.strides[index] = walk.inner_strides[index]
    if blocks.call_count:
        memory = <char*>((<uintptr_t>(workspace.bases + blocks.inputs) + 63) & ~<uintptr_t>63)
        set_operands(blocks, workspace.pointers, workspace.strides, memory, block)
        workspace.pointers[walk.value_operand] = memory + block * blocks.registers * blocks.register_size
        workspace.strides[walk.value_operand] = walk.value_size


# ---- accumulators ----------------------------------------------------------------------------------------------------
cdef inline void combine(ReductionWalk* walk, char* into, char* value, npy_intp stride, npy_intp n) noexcept nogil:
    """Reduce ``n`` values into one accumulator, which is both first operand and result of the loop, with stride 0."""
    cdef char* arguments[3]
    cdef npy_intp strides[3]
    arguments[0], arguments[1], arguments[2] = into, value, into
    strides[0], strides[1], strides[2] = 0, stride, 0
    walk.function(arguments, &n, strides, walk.data)


cdef inline void begin(ReductionWalk* walk, char* accumulator, char* first) noexcept nogil:
    """Write the identity, or the first value: a maximum or minimum, which has no identity, may read it twice."""
    memcpy(accumulator, walk.identity if walk.identity != NULL else first, walk.itemsize)


cdef inline void fold_line(ReductionWalk* walk, char* into, char* value, npy_intp stride, npy_intp n,
                           bint fresh) noexcept nogil:
    """Reduce ``n`` values into an accumulator, which is empty if ``fresh``."""
    if walk.fold != NULL:
        walk.fold.rows(value, stride, n, 0, 1, into, 0, fresh)
        return
    if fresh:
        begin(walk, into, value)
    combine(walk, into, value, stride, n)


cdef inline void push(ReductionWalk* walk, Cascade* cascade, char* value) noexcept nogil:
    """Add one partial result, which is destroyed, after the others.

    Carries as a binary counter does: while a slot is taken, its parts are combined with the new ones, the earlier ones
    first, and move on to the next slot.
    """
    cdef int level = 0
    cdef npy_intp count = cascade.count
    while count & 1:
        combine(walk, cascade.slots[level], value, walk.itemsize, 1)
        value = cascade.slots[level]
        level += 1
        count >>= 1
    memcpy(cascade.slots[level], value, walk.itemsize)
    cascade.count += 1


cdef inline void finish(ReductionWalk* walk, Cascade* cascade, char* result) noexcept nogil:
    """Combine what the cascade holds: the last, smallest groups of parts first, and earlier ones as first operands."""
    cdef int level, highest = -1
    cdef bint empty = True
    for level in range(CASCADE_LEVELS):
        if cascade.count >> level == 0:
            break
        if not cascade.count >> level & 1:
            continue
        if not empty:
            combine(walk, cascade.slots[level], cascade.slots[highest], walk.itemsize, 1)
        highest, empty = level, False
    memcpy(result, cascade.slots[highest], walk.itemsize)


cdef void fill_identity(ReductionWalk* walk) noexcept nogil:
    """Write the identity to every accumulator; they have no gaps."""
    cdef char* arguments[2]
    cdef npy_intp strides[2]
    cdef npy_intp n = walk.kept.size * (1 if walk.inner_reduced else walk.inner)
    arguments[0], arguments[1] = <char*>walk.identity, walk.accumulators
    strides[0], strides[1] = 0, walk.itemsize
    walk.copy(arguments, &n, strides, NULL)
