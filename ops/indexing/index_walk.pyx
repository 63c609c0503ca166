"""Iteration over elements selected by index arrays. It moves data between the indexed part of an array and its
*partner*: the result to which the part is copied, or the value that is stored in it.

Both have three groups of dimensions: those of the index arrays, and the kept dimensions before and after them::

    for each block of positions:                    convert positions to byte offsets, on the stack
        for each index of the dimensions before:
            for each offset of the block:           by one call of an item loop if there are no dimensions after
                for each line of the dimensions after:
                    move the line

Positions are not checked in this file.
"""
from libc.string cimport memset
from numpy cimport npy_intp

from phintys.ops.native.indexed_loops cimport move_lines
from phintys.ops.native.mask_loops cimport MaskCursor, mask_next, mask_restart
from phintys.ops.native.sets cimport phintys_set, set_of_process
from phintys.ops.native.strided_copy cimport CopyPlan, next_place, plan_copy
from phintys.vm.abi cimport Cell
from phintys.vm.limits cimport MAX_RANK

phintys_set = set_of_process()

cdef enum:
    BLOCK = 4096                    # offsets in a block that is used more than once: 32 KiB of the stack
    SHORT = 512                     # offsets in a block that is used once: 4 KiB, which stay in the L1 cache
    FEW = 8                         # with fewer positions, the dimensions before are the inner loop


# ---- preparing the layout --------------------------------------------------------------------------------------------
cdef void start_walk(Walk* walk, Cell* partner, int rank) noexcept nogil:
    cdef int position = partner.ndim - rank
    lay_beside(partner, position, walk.before.ndim, walk.before.source)
    position += walk.before.ndim
    lay_beside(partner, position, walk.arrays.count, walk.arrays.partner)
    position += walk.arrays.count
    lay_beside(partner, position, walk.behind.ndim, walk.behind.source)
    walk.partner = partner.data
    join_arrays(walk)
    walk.lines_alike = lines_are_alike(walk)
    join(&walk.before)
    join(&walk.behind)
    if walk.behind.ndim == 0 and walk.before.ndim > 0 and walk.size < FEW:
        walk.behind = walk.before
        walk.before.ndim = 0
    keep_row_loop(walk, partner.itemsize)


cdef inline void keep_row_loop(Walk* walk, int itemsize) noexcept nogil:
    """Keep the row loop, which moves rows as bytes, if rows are contiguous on both sides."""
    cdef CopyPlan* row = &walk.behind
    if row.ndim == 1 and row.target[0] == itemsize and row.source[0] == itemsize:
        walk.row_bytes = row.shape[0] * itemsize
    else:
        walk.rows = NULL


cdef inline void lay_beside(const Cell* partner, int position, int count, npy_intp* strides) noexcept nogil:
    """The strides of ``count`` dimensions of the partner, from number ``position`` on; 0 where it is broadcast."""
    cdef int axis
    for axis in range(count):
        strides[axis] = 0
        if position + axis >= 0 and partner.shape[position + axis] != 1:
            strides[axis] = partner.strides[position + axis]


cdef inline void join(CopyPlan* dimensions) noexcept nogil:
    """Drop dimensions of length 1 and join adjacent dimensions that both sides traverse with one stride."""
    plan_copy(dimensions, dimensions.ndim, dimensions.shape, dimensions.target, dimensions.source)


cdef void join_arrays(Walk* walk) noexcept nogil:
    """Join adjacent dimensions of the index arrays that all of them and the partner traverse with one stride."""
    cdef Arrays* arrays = &walk.arrays
    cdef int axis, index, last = -1
    for axis in range(arrays.count):
        if arrays.shape[axis] == 1:
            continue
        if last >= 0 and walks_as_one(walk, last, axis):
            arrays.shape[last] *= arrays.shape[axis]
        else:
            last += 1
            arrays.shape[last] = arrays.shape[axis]
        arrays.partner[last] = arrays.partner[axis]
        for index in range(walk.source_count):
            walk.sources[index].strides[last] = walk.sources[index].strides[axis]
    if last < 0:                                     # there is only one position
        last = 0
        arrays.shape[0], arrays.partner[0] = 1, 0
        for index in range(walk.source_count):
            walk.sources[index].strides[0] = 0
    arrays.count = last + 1


cdef inline bint walks_as_one(Walk* walk, int outer, int inner) noexcept nogil:
    cdef npy_intp length = walk.arrays.shape[inner]
    cdef int index
    if walk.arrays.partner[outer] != walk.arrays.partner[inner] * length:
        return False
    for index in range(walk.source_count):
        if walk.sources[index].strides[outer] != walk.sources[index].strides[inner] * length:
            return False
    return True


cdef inline bint lines_are_alike(Walk* walk) noexcept nogil:
    """Whether each source varies only along the last dimension of the arrays, or only along the others."""
    cdef int axis, index, last = walk.arrays.count - 1
    for index in range(walk.source_count):
        if walk.sources[index].strides[last]:
            for axis in range(last):
                if walk.sources[index].strides[axis]:
                    return False
    return True


# ---- the iteration ---------------------------------------------------------------------------------------------------
cdef void walk_positions(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    cdef Walk* walk = <Walk*>argument
    cdef Arrays* arrays = &walk.arrays
    cdef npy_intp offsets[BLOCK]
    cdef npy_intp index[MAX_RANK]
    cdef npy_intp rest = start, count, common, most = BLOCK if uses_again(walk) else SHORT
    cdef char* partner
    cdef int axis, last = arrays.count - 1
    cdef bint known = False                          # whether `offsets` has those of a whole line, valid for all lines
    for axis in range(last, -1, -1):                 # a start of 0 needs no divisions, which take as long as the rest
        index[axis] = rest % arrays.shape[axis] if rest else 0
        rest = rest // arrays.shape[axis] if rest else 0
    while start < stop:
        count = min(arrays.shape[last] - index[last], stop - start, most)
        common = find_offsets(walk, index, offsets, count, known)
        known = walk.lines_alike and count == arrays.shape[last]
        partner = walk.partner
        for axis in range(arrays.count):
            partner += index[axis] * arrays.partner[axis]
        move_block(walk, walk.base + common, offsets, count, partner, arrays.partner[last])
        start += count
        index[last] += count
        axis = last
        while axis > 0 and index[axis] == arrays.shape[axis]:
            index[axis] = 0
            axis -= 1
            index[axis] += 1


cdef inline bint uses_again(const Walk* walk) noexcept nogil:
    """Whether the offsets of a block are used more than once."""
    cdef int last = walk.arrays.count - 1
    return walk.before.ndim > 0 or (walk.lines_alike and last > 0 and walk.arrays.shape[last] <= BLOCK)


cdef npy_intp find_offsets(Walk* walk, const npy_intp* index, npy_intp* offsets, npy_intp count,
                           bint known) noexcept nogil:
    """Compute the byte offsets of ``count`` positions, starting at ``index``, unless they are known; returns the offset
    to add to all of them."""
    cdef Source* source
    cdef npy_intp position, one, common = 0
    cdef bint first = True
    cdef int number, axis, last = walk.arrays.count - 1
    for number in range(walk.source_count):
        source = &walk.sources[number]
        position = 0
        for axis in range(last + 1):
            position += index[axis] * source.strides[axis]
        if source.strides[last] == 0:
            offsets_of(source, position, 0, &one, 1, True)
            common += one
        elif not known:
            offsets_of(source, position, source.strides[last], offsets, count, first)
            first = False
    if first and not known:
        memset(offsets, 0, count * sizeof(npy_intp))
    return common


cdef inline void offsets_of(Source* source, npy_intp position, npy_intp stride, npy_intp* offsets, npy_intp count,
                            bint first) noexcept nogil:
    """Compute the offsets of ``count`` positions of one source, starting at ``position``: written if this is the first
    source, else added."""
    if source.offsets != NULL:
        source.offsets(offsets, source.data + position, stride, count, source.length, source.step, first)
    else:
        add_true(&source.cursor, position, offsets, count, first)


cdef void add_true(MaskCursor* cursor, npy_intp position, npy_intp* offsets, npy_intp count, bint first) noexcept nogil:
    """Compute the offsets of ``count`` true elements of a mask, starting with number ``position``. The cursor only
    moves forward, so an earlier position restarts it."""
    cdef npy_intp found[BLOCK]
    cdef npy_intp number
    if cursor.given > position:
        mask_restart(cursor)
    while cursor.given < position:
        mask_next(cursor, found, min(position - cursor.given, <npy_intp>BLOCK))
    if first:
        mask_next(cursor, offsets, count)
        return
    mask_next(cursor, found, count)
    for number in range(count):
        offsets[number] += found[number]


cdef void move_block(Walk* walk, char* base, const npy_intp* offsets, npy_intp count, char* partner,
                     npy_intp stride) noexcept nogil:
    """Move a block for every position of the dimensions in front of the arrays."""
    cdef npy_intp index[MAX_RANK]
    memset(index, 0, walk.before.ndim * sizeof(npy_intp))
    while True:
        move_places(walk, base, offsets, count, partner, stride)
        if not next_place(&walk.before, walk.before.ndim, index, &base, <const char**>&partner):
            return


cdef inline void move_places(Walk* walk, char* base, const npy_intp* offsets, npy_intp count, char* partner,
                             npy_intp stride) noexcept nogil:
    """Move the element, or the dimensions after the arrays, at each offset."""
    cdef npy_intp number
    if walk.behind.ndim == 0:
        walk.items(base, offsets, partner, stride, count)
        return
    if walk.rows != NULL:
        walk.rows(base, offsets, partner, stride, count, walk.row_bytes)
        return
    for number in range(count):
        move_lines(walk.line, &walk.behind, base + offsets[number], partner)
        partner += stride
