"""Kernels of advanced indexing: elements taken from, set in or added to places that arrays of integers and masks name.

An index is a plan of entries in the order in which they stand between the brackets:

* ``("slice", start, stop, step)`` and ``("integer", value)``, whose parts are None, ints or ``("operand", number)``;
* ``("new",)``: a dimension of length 1;
* ``("array", operand number, dtype, rank)`` and ``("mask", operand number, rank)``.

Rules are NumPy's: arrays broadcast together, and a mask counts as the positions of its true elements. Where their
dimensions stand among those of the result, the op says. ``prepare`` looks at every position, so that ``run`` cannot
fail, and nothing is written before all is known to be right. ``run`` keeps nothing from ``prepare``: it turns positions
into byte offsets, a block at a time, on its stack.
"""
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset
from numpy cimport npy_intp

from phintys.ops.index_parts cimport Part, Range, integer_position, read_part, slice_range
from phintys.ops.indexed_loops cimport (
    ItemLoop, LineLoop, MaskCursor, OffsetLoop, count_true, mask_next, mask_restart, mask_start, phintys_add_items,
    phintys_add_line, phintys_first_outside, phintys_get_items, phintys_get_line, phintys_offsets, phintys_set_items,
    phintys_set_line, position_dtype, size_class)
from phintys.ops.integers cimport integer_at, shape_of
from phintys.ops.strided_copy cimport copy_strided
from phintys.vm.abi cimport Cell, Context, Kernel, allocate, cell_size, parallel

from phintys.ops.loops import TYPES

cdef extern from "alloca.h" nogil:
    void* alloca(size_t)

cdef enum:
    MAX_RANK = 64
    BLOCK = 512                     # offsets: 4 KiB of the stack
    FEW = 8                         # positions: with fewer, whole lines of another dimension are moved
    LONG_BYTES = 65536              # moving as much to scattered places takes about 20 microseconds
    LONG_COUNT = 8192               # and so does looking at as many positions
    PIECE_BYTES = 131072            # worth waking a worker

cdef enum EntryKind:
    SLICE, NEW, INTEGER, ARRAY, MASK

KINDS = {"slice": SLICE, "new": NEW, "integer": INTEGER, "array": ARRAY, "mask": MASK}

cdef struct Entry:
    EntryKind kind
    int axis                        # of the indexed array; for a mask the first one
    int rank                        # of an array or a mask
    int operand
    int dtype                       # of an array of positions
    Part start, stop, step          # of a slice; `start` of an integer

# An array of positions or a mask.
cdef struct Source:
    char* data
    npy_intp strides[MAX_RANK]      # along the dimensions of the arrays: bytes; of a mask: true elements
    npy_intp length, step           # of the dimension it selects from: length, and bytes from element to element
    OffsetLoop offsets              # NULL: a mask
    MaskCursor cursor

# Dimensions that two arrays have in common.
cdef struct Dimensions:
    int count
    npy_intp shape[MAX_RANK]
    npy_intp array[MAX_RANK]        # bytes, in the indexed array
    npy_intp partner[MAX_RANK]      # bytes, in the result or in the value

# The indexed part of an array beside its partner: the result it is copied to, or the value that is put into it.
cdef struct Walk:
    char* base
    char* partner
    npy_intp itemsize
    npy_intp size                   # number of positions: of the index arrays, broadcast
    Dimensions before, arrays, behind
    Source* sources
    int source_count
    ItemLoop items
    LineLoop line


cdef inline void keep(Dimensions* dimensions, npy_intp length, npy_intp stride) noexcept nogil:
    """Add a dimension."""
    dimensions.shape[dimensions.count] = length
    dimensions.array[dimensions.count] = stride
    dimensions.count += 1


cdef class AdvancedIndexKernel(Kernel):
    """What the kernels share: the plan, and where it leads.

    Parameters
    ----------
    plan : sequence of tuple
        The entries; see the file.
    lead : int
        Dimensions of the result in front of those of the index arrays.
    """
    cdef Entry* entries
    cdef int count
    cdef int axes                   # dimensions of the indexed array that the entries speak of
    cdef int arrays_rank            # rank of the index arrays, broadcast
    cdef int lead
    cdef int source_count, mask_count

    def __cinit__(self, plan, *rest):
        self.entries = <Entry*>malloc((len(plan) + 1) * sizeof(Entry))
        if self.entries == NULL:
            raise MemoryError()

    def __dealloc__(self):
        free(self.entries)

    def __init__(self, plan, int lead):
        self.lead = lead
        for kind, *details in plan:
            self.read_entry(&self.entries[self.count], kind, details)
            self.count += 1

    cdef int read_entry(self, Entry* entry, kind, list details) except -1:
        memset(entry, 0, sizeof(Entry))
        entry.kind, entry.axis = KINDS[kind], self.axes
        if entry.kind == SLICE:
            entry.start, entry.stop = read_part(details[0]), read_part(details[1])
            entry.step = read_part(details[2])
        elif entry.kind == INTEGER:
            entry.start = read_part(details[0])
        elif entry.kind == ARRAY:
            entry.operand, entry.dtype, entry.rank = details[0], position_dtype(details[1]), details[2]
            self.arrays_rank = max(self.arrays_rank, entry.rank)
            self.source_count += 1
        elif entry.kind == MASK:
            entry.operand, entry.rank = details
            self.arrays_rank = max(self.arrays_rank, 1)
            self.source_count += 1
            self.mask_count += 1
        self.axes += 0 if entry.kind == NEW else entry.rank if entry.kind == MASK else 1
        return 0

    # ---- where the index leads ---------------------------------------------------------------------------------------
    cdef int lay_out(self, Cell** operands, const Cell* array, Walk* walk) except -1 nogil:
        """Lay out the indexed part of ``array``, all but its partner. Needs room for ``walk.sources``."""
        cdef Entry* entry
        cdef Source* source = walk.sources
        cdef Dimensions* kept = &walk.behind if self.lead == 0 else &walk.before
        cdef Range part
        cdef int index, axis
        walk.base, walk.itemsize = array.data, array.itemsize
        walk.source_count = self.source_count
        walk.before.count = walk.behind.count = 0
        walk.arrays.count = self.arrays_rank
        for index in range(self.arrays_rank):
            walk.arrays.shape[index] = 1
        for index in range(self.count):
            entry = &self.entries[index]
            axis = entry.axis
            if entry.kind == SLICE:
                slice_range(&entry.start, &entry.stop, &entry.step, operands, array.shape[axis], axis, &part)
                if part.length:
                    walk.base += part.start * array.strides[axis]
                keep(kept, part.length, array.strides[axis] * part.step)
            elif entry.kind == NEW:
                keep(kept, 1, 0)
            elif entry.kind == INTEGER:
                walk.base += integer_position(&entry.start, operands, array.shape[axis], axis) * array.strides[axis]
            else:
                if entry.kind == ARRAY:
                    enter_array(entry, operands[entry.operand], array, walk, source)
                else:
                    enter_mask(entry, operands[entry.operand], array, walk, source)
                source += 1
            if kept.count == self.lead:
                kept = &walk.behind
        for axis in range(self.axes, array.ndim):
            keep(&walk.behind, array.shape[axis], array.strides[axis])
        walk.size = 1
        for axis in range(self.arrays_rank):
            walk.size *= walk.arrays.shape[axis]
        return 0

    cdef int check(self, Cell** operands, const Cell* array, Walk* walk) except -1 nogil:
        """Whether index arrays fit together, and positions and masks fit the array; afterwards nothing can fail."""
        cdef Entry* entry
        cdef Cell* index_array
        cdef int index, axis, lead
        cdef bint fits = True
        for index in range(self.count):
            entry = &self.entries[index]
            index_array = operands[entry.operand]
            if entry.kind == ARRAY:
                if walk.size:                        # as in NumPy, positions that nobody reads may be anything
                    check_positions(index_array, entry.dtype, array.shape[entry.axis], entry.axis)
                lead = self.arrays_rank - entry.rank
                for axis in range(entry.rank):
                    fits = fits and (index_array.shape[axis] == 1
                                     or index_array.shape[axis] == walk.arrays.shape[lead + axis])
            elif entry.kind == MASK:
                check_mask(index_array, array, entry.axis)
                if walk.arrays.shape[self.arrays_rank - 1] != 1:
                    fits = fits and count_true(index_array.data, entry.rank, index_array.shape,
                                               index_array.strides) in (1, walk.arrays.shape[self.arrays_rank - 1])
        if not fits:
            with gil:
                shapes = [shape_of(operands[self.entries[index].operand]) if self.entries[index].kind == ARRAY else
                          (true_elements(operands[self.entries[index].operand]),) for index in range(self.count)
                          if self.entries[index].kind in (ARRAY, MASK)]
                raise IndexError("shape mismatch: indexing arrays could not be broadcast together with shapes "
                                 + " ".join(map(str, shapes)))
        return 0

    cdef int result_shape(self, const Walk* walk, npy_intp* shape) noexcept nogil:
        """The shape of the indexed part; answers its rank."""
        memcpy(shape, walk.before.shape, walk.before.count * sizeof(npy_intp))
        shape += walk.before.count
        memcpy(shape, walk.arrays.shape, walk.arrays.count * sizeof(npy_intp))
        shape += walk.arrays.count
        memcpy(shape, walk.behind.shape, walk.behind.count * sizeof(npy_intp))
        return walk.before.count + walk.arrays.count + walk.behind.count


cdef object true_elements(const Cell* mask):
    return count_true(mask.data, mask.ndim, mask.shape, mask.strides)


cdef void enter_array(Entry* entry, const Cell* positions, const Cell* array, Walk* walk,
                      Source* source) noexcept nogil:
    """Note an array of positions; its shape takes part in broadcasting."""
    cdef int axis, lead = walk.arrays.count - entry.rank
    source.data = positions.data
    source.length, source.step = array.shape[entry.axis], array.strides[entry.axis]
    source.offsets = phintys_offsets[entry.dtype]
    for axis in range(lead):
        source.strides[axis] = 0
    for axis in range(entry.rank):
        source.strides[lead + axis] = 0
        if positions.shape[axis] != 1:
            source.strides[lead + axis] = positions.strides[axis]
            walk.arrays.shape[lead + axis] = positions.shape[axis]


cdef void enter_mask(Entry* entry, const Cell* mask, const Cell* array, Walk* walk, Source* source) noexcept nogil:
    """Note a mask: a vector of as many positions as it has true elements."""
    cdef npy_intp count = count_true(mask.data, mask.ndim, mask.shape, mask.strides)
    cdef int axis, last = walk.arrays.count - 1
    source.data, source.offsets = NULL, NULL
    mask_start(&source.cursor, mask.data, mask.ndim, mask.shape, mask.strides, array.strides + entry.axis)
    for axis in range(last):
        source.strides[axis] = 0
    source.strides[last] = 0
    if count != 1:
        source.strides[last] = 1
        walk.arrays.shape[last] = count


cdef int check_mask(const Cell* mask, const Cell* array, int first) except -1 nogil:
    cdef int axis
    for axis in range(mask.ndim):
        if mask.shape[axis] != array.shape[first + axis]:
            with gil:
                raise IndexError(f"boolean index did not match indexed array along axis {first + axis}; size of axis "
                                 f"is {array.shape[first + axis]} but size of corresponding boolean axis is "
                                 f"{mask.shape[axis]}")
    return 0


cdef int check_positions(const Cell* positions, int dtype, npy_intp length, int axis) except -1 nogil:
    """Every position must lie in the dimension, counted from the start or from the end."""
    cdef npy_intp index[MAX_RANK]
    cdef npy_intp* shape = positions.shape
    cdef npy_intp count = 1, stride = positions.itemsize, found
    cdef char* line = positions.data
    cdef int last = positions.ndim - 1, dimension
    if cell_size(positions) == 0:
        return 0
    while last >= 0 and (shape[last] == 1 or positions.strides[last] == stride * count):     # one line is enough
        count *= shape[last]
        last -= 1
    if count == 1 and last >= 0:
        count, stride = shape[last], positions.strides[last]
        last -= 1
    memset(index, 0, (last + 1) * sizeof(npy_intp))
    while True:
        found = phintys_first_outside[dtype](line, stride, count, length)
        if found >= 0:
            return refuse_position(line + found * stride, positions, dtype, length, axis)
        dimension = last
        while dimension >= 0:
            index[dimension] += 1
            line += positions.strides[dimension]
            if index[dimension] < shape[dimension]:
                break
            line -= positions.strides[dimension] * shape[dimension]
            index[dimension] = 0
            dimension -= 1
        if dimension < 0:
            return 0


cdef int refuse_position(char* place, const Cell* positions, int dtype, npy_intp length, int axis) except -1 with gil:
    cdef Cell one = positions[0]
    one.ndim, one.data = 0, place
    position = integer_at(&one, 0)
    if dtype == position_dtype("uint64"):
        position %= 2 ** 64
    raise IndexError(f"index {position} is out of bounds for axis {axis} with size {length}")


# ---- walking ---------------------------------------------------------------------------------------------------------
cdef void join_arrays(Walk* walk) noexcept nogil:
    """Join neighbouring dimensions of the index arrays that all of them, and the partner, walk as one."""
    cdef Dimensions* arrays = &walk.arrays
    cdef int axis, index, last = -1
    cdef bint joins
    for axis in range(arrays.count):
        if arrays.shape[axis] == 1:
            continue
        joins = last >= 0 and arrays.partner[last] == arrays.partner[axis] * arrays.shape[axis]
        for index in range(walk.source_count):
            joins = joins and (walk.sources[index].strides[last]
                               == walk.sources[index].strides[axis] * arrays.shape[axis])
        if joins:
            arrays.shape[last] *= arrays.shape[axis]
        else:
            last += 1
            arrays.shape[last] = arrays.shape[axis]
        arrays.partner[last] = arrays.partner[axis]
        for index in range(walk.source_count):
            walk.sources[index].strides[last] = walk.sources[index].strides[axis]
    if last < 0:                                     # one position
        last = 0
        arrays.shape[0], arrays.partner[0] = 1, 0
        for index in range(walk.source_count):
            walk.sources[index].strides[0] = 0
    arrays.count = last + 1


cdef void join_dimensions(Dimensions* dimensions) noexcept nogil:
    """Drop lengths of 1 and join neighbours that both sides walk as one."""
    cdef int axis, last = -1
    for axis in range(dimensions.count):
        if dimensions.shape[axis] == 1:
            continue
        if (last >= 0 and dimensions.array[last] == dimensions.array[axis] * dimensions.shape[axis]
                and dimensions.partner[last] == dimensions.partner[axis] * dimensions.shape[axis]):
            dimensions.shape[last] *= dimensions.shape[axis]
        else:
            last += 1
            dimensions.shape[last] = dimensions.shape[axis]
        dimensions.array[last], dimensions.partner[last] = dimensions.array[axis], dimensions.partner[axis]
    dimensions.count = last + 1


cdef void start_walk(Walk* walk, Cell* partner, int rank) noexcept nogil:
    """Lay the partner beside the indexed part, which has ``rank`` dimensions; lengths of 1 are repeated."""
    cdef Dimensions* groups[3]
    cdef Dimensions* group
    cdef int number, axis, place = partner.ndim - rank
    groups[0], groups[1], groups[2] = &walk.before, &walk.arrays, &walk.behind
    for number in range(3):
        group = groups[number]
        for axis in range(group.count):
            group.partner[axis] = 0 if place < 0 or partner.shape[place] == 1 else partner.strides[place]
            place += 1
    walk.partner = partner.data
    join_arrays(walk)
    join_dimensions(&walk.before)
    join_dimensions(&walk.behind)
    if walk.behind.count == 0 and walk.before.count > 0 and walk.size < FEW:
        walk.behind = walk.before
        walk.before.count = 0


cdef void walk_positions(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    """Move what belongs to positions [start, stop) of the index arrays."""
    cdef Walk* walk = <Walk*>argument
    cdef Dimensions* arrays = &walk.arrays
    cdef npy_intp offsets[BLOCK]
    cdef npy_intp index[MAX_RANK]
    cdef npy_intp rest = start, count
    cdef char* partner
    cdef int axis, last = arrays.count - 1
    for axis in range(last, -1, -1):                 # without divisions for the first: they take as long as the rest
        index[axis] = rest % arrays.shape[axis] if rest else 0
        rest = rest // arrays.shape[axis] if rest else 0
    while start < stop:
        count = arrays.shape[last] - index[last]
        count = count if count < stop - start else stop - start
        count = count if count < BLOCK else BLOCK
        find_offsets(walk, index, offsets, count)
        partner = walk.partner
        for axis in range(arrays.count):
            partner += index[axis] * arrays.partner[axis]
        move_block(walk, offsets, count, partner, arrays.partner[last])
        start += count
        index[last] += count
        axis = last
        while axis > 0 and index[axis] == arrays.shape[axis]:
            index[axis] = 0
            axis -= 1
            index[axis] += 1


cdef void find_offsets(Walk* walk, const npy_intp* index, npy_intp* offsets, npy_intp count) noexcept nogil:
    """The byte offsets of ``count`` positions from ``index`` on."""
    cdef Source* source
    cdef char* data
    cdef npy_intp place
    cdef int number, axis, last = walk.arrays.count - 1
    if walk.source_count == 0:
        offsets[0] = 0                               # only integers: one position
    for number in range(walk.source_count):
        source = &walk.sources[number]
        if source.offsets != NULL:
            data = source.data
            for axis in range(last + 1):
                data += index[axis] * source.strides[axis]
            source.offsets(offsets, data, source.strides[last], count, source.length, source.step, number == 0)
            continue
        place = 0
        for axis in range(last + 1):
            place += index[axis] * source.strides[axis]
        add_true(&source.cursor, place, source.strides[last], offsets, count, number == 0)


cdef void add_true(MaskCursor* cursor, npy_intp place, npy_intp stride, npy_intp* offsets, npy_intp count,
                   bint first) noexcept nogil:
    """The offsets of true elements from number ``place`` on, or of that one ``count`` times."""
    cdef npy_intp found[BLOCK]
    cdef npy_intp* target = offsets if first and stride else found
    cdef npy_intp wanted = count if stride else 1
    cdef npy_intp number
    if cursor.given > place:
        mask_restart(cursor)
    while cursor.given < place:
        mask_next(cursor, found, place - cursor.given if place - cursor.given < BLOCK else BLOCK)
    mask_next(cursor, target, wanted)
    if target != offsets:
        for number in range(count):
            offsets[number] = found[number * stride] + (0 if first else offsets[number])


cdef void move_block(Walk* walk, const npy_intp* offsets, npy_intp count, char* partner,
                     npy_intp stride) noexcept nogil:
    """Move a block for every place of the dimensions in front of the arrays."""
    cdef Dimensions* before = &walk.before
    cdef npy_intp index[MAX_RANK]
    cdef char* base = walk.base
    cdef int axis
    if before.count == 0:
        move_places(walk, base, offsets, count, partner, stride)
        return
    memset(index, 0, before.count * sizeof(npy_intp))
    while True:
        move_places(walk, base, offsets, count, partner, stride)
        axis = before.count - 1
        while axis >= 0:
            base += before.array[axis]
            partner += before.partner[axis]
            index[axis] += 1
            if index[axis] < before.shape[axis]:
                break
            base -= before.array[axis] * before.shape[axis]
            partner -= before.partner[axis] * before.shape[axis]
            index[axis] = 0
            axis -= 1
        if axis < 0:
            return


cdef inline void move_places(Walk* walk, char* base, const npy_intp* offsets, npy_intp count, char* partner,
                             npy_intp stride) noexcept nogil:
    """Move the elements, or the dimensions behind the arrays, at each offset."""
    cdef Dimensions* behind = &walk.behind
    cdef npy_intp number
    if behind.count == 0:
        walk.items(base, offsets, partner, stride, count)
    elif behind.count == 1:
        for number in range(count):
            walk.line(base + offsets[number], behind.array[0], partner, behind.partner[0], behind.shape[0])
            partner += stride
    else:
        for number in range(count):
            move_lines(walk, base + offsets[number], partner)
            partner += stride


cdef void move_lines(Walk* walk, char* base, char* partner) noexcept nogil:
    """Move the dimensions behind the arrays, line by line."""
    cdef Dimensions* behind = &walk.behind
    cdef npy_intp index[MAX_RANK]
    cdef int axis, last = behind.count - 1
    memset(index, 0, last * sizeof(npy_intp))
    while True:
        walk.line(base, behind.array[last], partner, behind.partner[last], behind.shape[last])
        axis = last - 1
        while axis >= 0:
            base += behind.array[axis]
            partner += behind.partner[axis]
            index[axis] += 1
            if index[axis] < behind.shape[axis]:
                break
            base -= behind.array[axis] * behind.shape[axis]
            partner -= behind.partner[axis] * behind.shape[axis]
            index[axis] = 0
            axis -= 1
        if axis < 0:
            return


# ---- the kernels -----------------------------------------------------------------------------------------------------
cdef class AdvancedSubtensorKernel(AdvancedIndexKernel):
    """The indexed part as a new array: ``(x, index operands..., out)``.

    Parameters
    ----------
    plan : sequence of tuple
        Operand numbers count from ``x``.
    lead : int
    result : int
        The number of the result.
    """
    cdef int result

    def __init__(self, plan, int lead, int result):
        AdvancedIndexKernel.__init__(self, plan, lead)
        self.result = result

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Walk walk
        cdef npy_intp shape[MAX_RANK]
        cdef Cell* result = operands[self.result]
        walk.sources = <Source*>alloca((self.source_count + 1) * sizeof(Source))
        self.lay_out(operands, operands[0], &walk)
        self.check(operands, operands[0], &walk)
        self.result_shape(&walk, shape)
        allocate(context, result, shape)
        return cell_size(result) * result.itemsize >= LONG_BYTES or walk.size >= LONG_COUNT

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Walk walk
        cdef Cell* result = operands[self.result]
        cdef npy_intp bytes = cell_size(result) * result.itemsize
        if bytes == 0:
            return 0
        walk.sources = <Source*>alloca((self.source_count + 1) * sizeof(Source))
        self.lay_out(operands, operands[0], &walk)   # cannot fail any more
        walk.items = phintys_get_items[size_class(result.itemsize)]
        walk.line = phintys_get_line[size_class(result.itemsize)]
        start_walk(&walk, result, result.ndim)
        if context.workers > 1 and bytes > 2 * PIECE_BYTES and self.mask_count == 0:
            parallel(context, walk_positions, &walk, walk.size, PIECE_BYTES * walk.size // bytes + 1)
        else:
            walk_positions(&walk, 0, 0, walk.size)
        return 0


cdef class AdvancedIncSubtensorKernel(AdvancedIndexKernel):
    """A copy of ``x`` with the indexed part set, or added to: ``(x, y, index operands..., out)``.

    ``y`` broadcasts over the part. What is named more than once is added to as often, or set to the last value.

    Parameters
    ----------
    plan : sequence of tuple
        Operand numbers count from ``x``.
    lead : int
    result : int
        The number of the result.
    dtype : str
    sets : bool
        Set the part; otherwise add to it.
    """
    cdef int result, dtype
    cdef bint sets

    def __init__(self, plan, int lead, int result, str dtype, bint sets):
        AdvancedIndexKernel.__init__(self, plan, lead)
        self.result, self.dtype, self.sets = result, TYPES.index(dtype), sets

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Walk walk
        cdef npy_intp shape[MAX_RANK]
        cdef Cell* value = operands[1]
        cdef Cell* result = operands[self.result]
        cdef int axis, rank, lead
        walk.sources = <Source*>alloca((self.source_count + 1) * sizeof(Source))
        self.lay_out(operands, operands[0], &walk)
        self.check(operands, operands[0], &walk)
        rank = self.result_shape(&walk, shape)
        lead = rank - value.ndim
        for axis in range(value.ndim):
            if value.shape[axis] != 1 and (lead + axis < 0 or value.shape[axis] != shape[lead + axis]):
                with gil:
                    part = tuple([shape[other] for other in range(rank)])
                    raise ValueError(f"shape mismatch: value array of shape {shape_of(value)} could not be broadcast "
                                     f"to indexing result of shape {part}")
        allocate(context, result, operands[0].shape)
        return cell_size(result) * result.itemsize >= 2 * LONG_BYTES or walk.size >= LONG_COUNT

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Walk walk
        cdef npy_intp shape[MAX_RANK]
        cdef Cell* array = operands[0]
        cdef Cell* result = operands[self.result]
        cdef int axis, rank
        if result.data != array.data:                # the same memory when the linker made the pair in-place
            copy_strided(array.ndim, array.shape, result.data, result.strides, array.data, array.strides,
                         array.itemsize)
        walk.sources = <Source*>alloca((self.source_count + 1) * sizeof(Source))
        self.lay_out(operands, result, &walk)        # cannot fail any more
        rank = self.result_shape(&walk, shape)
        for axis in range(rank):
            if shape[axis] == 0:
                return 0
        walk.items = phintys_set_items[size_class(result.itemsize)] if self.sets else phintys_add_items[self.dtype]
        walk.line = phintys_set_line[size_class(result.itemsize)] if self.sets else phintys_add_line[self.dtype]
        start_walk(&walk, operands[1], rank)
        walk_positions(&walk, 0, 0, walk.size)
        return 0
