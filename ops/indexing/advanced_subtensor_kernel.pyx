"""Kernels of advanced indexing: they copy, set or add to elements selected by arrays of integers and masks.

An index is given as a plan: a list of entries in the order of the index expression:

* ``("slice", start, stop, step)`` and ``("integer", value)``, whose parts are None, ints or ``("operand", number)``;
* ``("new",)``: a new dimension of length 1;
* ``("array", operand number, dtype, rank)`` and ``("mask", operand number, rank)``.

The rules are NumPy's: arrays are broadcast together, and a mask is equivalent to the positions of its true elements.
The op determines where their dimensions are in the result (``lead``). ``prepare`` checks every position, so that
``run`` cannot fail and nothing is written before the whole index is known to be valid. No data is passed from
``prepare`` to ``run``: ``run`` converts positions to byte offsets, one block at a time, on the stack.

Without masks and computed slices, positions decide no layout. Then kernels can be bound, to a step that checks the
positions before it does what ``run`` does. Few elements or rows at vectors of positions, the frequent case in bodies of
loops, have a step that knows the layout (``Points``). Many elements that are added at constant positions have a step
that knows them by target (``Groups``).
"""
from libc.stdint cimport int32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset
from numpy cimport npy_intp

from phintys.ops.indexing.index_parts cimport (
    Part, Range, checked_operands, integer_position, is_computed, read_part, slice_range)
from phintys.ops.indexing.index_walk cimport Source, Walk, start_walk, walk_positions
from phintys.ops.indexing.constant_positions cimport AddGroupsLoop, Target, group_positions, phintys_add_groups
from phintys.ops.native.indexed_loops cimport (
    AddAtLoop, ItemLoop, OffsetLoop, OutsideLoop, phintys_add_at, phintys_add_items, phintys_add_line,
    phintys_first_outside, phintys_get_items, phintys_get_line, phintys_offsets, phintys_set_items, phintys_set_line,
    position_dtype, size_class)
from phintys.ops.native.integers cimport shape_of
from phintys.ops.native.mask_loops cimport count_true, mask_start
from phintys.ops.native.positions cimport check_positions
from phintys.ops.native.result_shapes cimport tuple_of
from phintys.ops.native.row_copy cimport RowLoop, gather_rows, scatter_rows
from phintys.ops.native.sets cimport phintys_set, set_of_process
from phintys.ops.native.strided_copy cimport PART, CopyPlan, copy_in_parts
from phintys.vm.abi cimport (
    BOUND, CELL_CONSTANT, RUNS_ALONE, Binding, BoundRun, Cell, Context, Kernel, allocate, cell_is_contiguous, cell_size,
    interrupted, parallel)
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.thresholds cimport LONG_SCATTER, LONG_SCATTER_BYTES, PIECE_INDEXED_BYTES

from phintys.ops.native.loops import TYPES

phintys_set = set_of_process()

cdef extern from "alloca.h" nogil:
    void* alloca(size_t)

cdef enum EntryKind:
    SLICE, NEW, INTEGER, ARRAY, MASK

KINDS = {"slice": SLICE, "new": NEW, "integer": INTEGER, "array": ARRAY, "mask": MASK}

cdef struct Entry:
    EntryKind kind
    int axis                        # the axis of the indexed array; the first one of a mask
    int rank                        # of an array or a mask
    int operand
    int dtype                       # dtype of an array of positions
    Part start, stop, step          # parts of a slice; an integer is in `start`

cdef enum:
    FEW_POINTS = 256                # positions: 2 KiB of the stack
    UNASKED = 262144                # elements between two questions whether the call is to end, of up to 0.1 us

cdef struct Line:                   # a vector of positions in an array, as the step of `Points` sees it
    int operand
    npy_intp stride                 # from position to position
    npy_intp length, step           # of the dimension it selects from
    OutsideLoop first_outside       # NULL: the positions are constants, and have been checked
    OffsetLoop offsets

cdef struct Points:                 # elements, or rows without gaps, at the positions of vectors
    int count                       # of lines, which follow
    int result
    npy_intp size                   # of each vector
    npy_intp bytes                  # of an element or a row
    npy_intp stride                 # of the partner, from position to position
    npy_intp copied                 # bytes of the array that a copy with another part begins with
    ItemLoop items
    RowLoop rows                    # NULL: elements

cdef struct Groups:                 # elements added at constant positions; targets and offsets follow
    AddGroupsLoop add
    npy_intp count                  # of targets
    npy_intp copied                 # bytes of the array that a copy with another part begins with
    const int32_t* offsets

cdef enum:
    PER_TARGET = 4                  # elements for each element of the array, at the least, that make groups worth it


cdef int check_bound(Context* context, Cell** operands) except -1 nogil:
    """What ``prepare`` checks, by the kernel that is the first thing in the room."""
    return (<AdvancedIndexKernel>(<void**>context.private_memory)[0]).check_again(operands)


# The cast removes `except -1`: a bound run returns -1 with the exception set, and its caller handles it.
cdef BoundRun check_again = <BoundRun>check_bound


cdef int check_and_run(Context* context, Cell** operands) noexcept nogil:
    """The bound run of any index: what ``prepare`` checks, then ``run``."""
    if check_again(context, operands) < 0:
        return -1
    return (<AdvancedIndexKernel>(<void**>context.private_memory)[0]).run(context, operands)


cdef inline int find_points(Context* context, Cell** operands, const Points* points, npy_intp* offsets) noexcept nogil:
    """The offsets of all positions; returns -1, with an exception, if one is out of range."""
    cdef const Line* line = <const Line*>(points + 1)
    cdef const char* positions
    cdef int index
    for index in range(points.count):
        positions = operands[line.operand].data
        if line.first_outside != NULL and line.first_outside(positions, line.stride, points.size, line.length) >= 0:
            return check_again(context, operands)               # raises
        line.offsets(offsets, positions, line.stride, points.size, line.length, line.step, index == 0)
        line += 1
    return 0


cdef inline void move_points(const Points* points, char* base, const npy_intp* offsets, char* partner) noexcept nogil:
    if points.rows != NULL:
        points.rows(base, offsets, partner, points.stride, points.size, points.bytes)
    else:
        points.items(base, offsets, partner, points.stride, points.size)


cdef int copy_points(Context* context, Cell** operands) noexcept nogil:
    """The bound run of ``Points`` that are copied."""
    cdef const Points* points = <const Points*>(<void**>context.private_memory + 1)
    cdef npy_intp offsets[FEW_POINTS]
    if find_points(context, operands, points, offsets) < 0:
        return -1
    move_points(points, operands[0].data, offsets, operands[points.result].data)
    return 0


cdef int assign_points(Context* context, Cell** operands) noexcept nogil:
    """The bound run of ``Points`` that are set or added to, in a copy of the array or in place."""
    cdef const Points* points = <const Points*>(<void**>context.private_memory + 1)
    cdef npy_intp offsets[FEW_POINTS]
    cdef char* target = operands[points.result].data
    if find_points(context, operands, points, offsets) < 0:
        return -1
    if target != operands[0].data:
        memcpy(target, operands[0].data, points.copied)
    move_points(points, target, offsets, operands[1].data)
    return 0


cdef int add_groups(Context* context, Cell** operands) noexcept nogil:
    """The bound run of ``Groups``, in a copy of the array or in place."""
    cdef const Groups* groups = <const Groups*>context.private_memory
    cdef char* target = operands[3].data
    if target != operands[0].data:
        memcpy(target, operands[0].data, groups.copied)
    groups.add(target, <const Target*>(groups + 1), groups.count, groups.offsets, operands[1].data)
    return 0


cdef inline void keep(CopyPlan* dimensions, npy_intp length, npy_intp stride) noexcept nogil:
    """Append a dimension that the index keeps."""
    dimensions.shape[dimensions.ndim] = length
    dimensions.target[dimensions.ndim] = stride
    dimensions.ndim += 1


cdef class AdvancedIndexKernel(Kernel):
    """The base class of the kernels: interprets the plan.

    Parameters
    ----------
    plan : sequence of tuple
        The entries; see the docstring of the file.
    lead : int
        The number of dimensions of the result before those of the index arrays.
    """
    cdef Entry* entries
    cdef int count
    cdef int axes                   # number of dimensions of the indexed array that the entries index
    cdef int arrays_rank            # rank of the broadcast index arrays
    cdef int lead
    cdef int source_count, mask_count
    cdef bint slices_vary           # whether a part of a slice is computed
    cdef readonly tuple checked

    def __cinit__(self, plan, *rest, **named):
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
            self.slices_vary |= is_computed(&entry.start) or is_computed(&entry.stop) or is_computed(&entry.step)
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

    # ---- interpreting the index --------------------------------------------------------------------------------------
    cdef int lay_out(self, Cell** operands, const Cell* array, Walk* walk) except -1 nogil:
        """Fill ``walk`` with the layout of the indexed part of ``array``, except for the partner. ``walk.sources`` must
        refer to enough memory."""
        cdef Source* source = walk.sources
        # Dimensions that the index keeps are in front of those of the index arrays until there are `lead` of them, and
        # behind them afterwards: x[:, i, :, j] has lead 0, as its arrays are apart; x[:, i, j] has lead 1.
        cdef CopyPlan* kept = &walk.behind if self.lead == 0 else &walk.before
        cdef Entry* entry
        cdef int index, axis
        walk.base = array.data
        walk.before.ndim = walk.behind.ndim = 0
        walk.arrays.count, walk.source_count = self.arrays_rank, self.source_count
        for index in range(self.arrays_rank):
            walk.arrays.shape[index] = 1
        for index in range(self.count):
            entry = &self.entries[index]
            if entry.kind == ARRAY:
                enter_array(entry, operands[entry.operand], array, walk, source)
                source += 1
            elif entry.kind == MASK:
                enter_mask(entry, operands[entry.operand], array, walk, source)
                source += 1
            else:
                enter_basic(entry, operands, array, walk, kept)
            if kept.ndim == self.lead:
                kept = &walk.behind
        for axis in range(self.axes, array.ndim):
            keep(&walk.behind, array.shape[axis], array.strides[axis])
        walk.size = 1
        for axis in range(self.arrays_rank):
            walk.size *= walk.arrays.shape[axis]
        return 0

    cdef int check(self, Cell** operands, const Cell* array, Walk* walk) except -1 nogil:
        """Check that index arrays broadcast and that positions and masks match the array. Nothing can fail after this
        check."""
        cdef Entry* entry
        cdef Cell* index_array
        cdef Source* source = walk.sources
        cdef int index
        cdef bint fits = True
        for index in range(self.count):
            entry = &self.entries[index]
            index_array = operands[entry.operand]
            if entry.kind == ARRAY:
                if walk.size:                        # as in NumPy, positions that are not read are not checked
                    check_positions(index_array, entry.dtype, array.shape[entry.axis], entry.axis)
                fits = fits and array_fits(index_array, walk)
                source += 1
            elif entry.kind == MASK:
                check_mask(index_array, array, entry.axis)
                fits = fits and source.count in (1, walk.arrays.shape[self.arrays_rank - 1])
                source += 1
        if not fits:
            with gil:
                raise IndexError("shape mismatch: indexing arrays could not be broadcast together with shapes "
                                 + " ".join(map(str, self.array_shapes(operands))))
        return 0

    cdef int check_again(self, Cell** operands) except -1 nogil:
        """The same for operands of a layout that has been checked."""
        cdef Walk walk
        walk.sources = <Source*>alloca((self.source_count + 1) * sizeof(Source))
        self.lay_out(operands, operands[0], &walk)
        return self.check(operands, operands[0], &walk)

    cdef int room_of_points(self) noexcept:
        """For the kernel, ``Points`` and their lines."""
        return sizeof(void*) + sizeof(Points) + self.source_count * <int>sizeof(Line)

    cdef bint find_lines(self, Points* points, Cell** operands, const Cell* array) noexcept nogil:
        """Write down where the positions are; returns whether they are few, in vectors, and select what has no gaps."""
        cdef Line* line = <Line*>(points + 1)
        cdef const Cell* positions
        cdef const Entry* entry
        cdef int index, axis
        # The usual case, x[i] or x[i, j] with a few positions, has no walk: offsets are on the stack, and a point is a
        # number or a row without gaps. Everything else returns False and is walked.
        if self.mask_count or self.arrays_rank > 1 or self.count != self.source_count:
            return False
        points.count, points.size = self.count, 1
        for index in range(self.count):
            positions = operands[self.entries[index].operand]
            if cell_size(positions) != 1:
                points.size = cell_size(positions)
        if points.size > FEW_POINTS:
            return False
        for index in range(self.count):
            entry = &self.entries[index]
            positions = operands[entry.operand]
            line.operand, line.stride = entry.operand, positions.strides[0] if cell_size(positions) != 1 else 0
            line.length, line.step = array.shape[entry.axis], array.strides[entry.axis]
            line.offsets, line.first_outside = phintys_offsets[entry.dtype], NULL
            if not positions.flags & CELL_CONSTANT:             # `prepare` has checked constants
                line.first_outside = phintys_first_outside[entry.dtype]
            line += 1
        points.bytes = array.itemsize
        for axis in range(array.ndim - 1, self.axes - 1, -1):
            if array.shape[axis] != 1 and array.strides[axis] != points.bytes:
                return False
            points.bytes *= array.shape[axis]
        points.rows = NULL
        if points.bytes != array.itemsize:
            points.rows = gather_rows
        return True

    cdef list array_shapes(self, Cell** operands):
        """The shapes of the index arrays, for error messages."""
        cdef list shapes = []
        cdef Cell* mask
        cdef int index
        for index in range(self.count):
            if self.entries[index].kind == ARRAY:
                shapes.append(shape_of(operands[self.entries[index].operand]))
            elif self.entries[index].kind == MASK:
                mask = operands[self.entries[index].operand]
                shapes.append((count_true(mask.data, mask.ndim, mask.shape, mask.strides),))
        return shapes

    cdef int result_shape(self, const Walk* walk, npy_intp* shape) noexcept nogil:
        """Write the shape of the indexed part; returns its rank."""
        memcpy(shape, walk.before.shape, walk.before.ndim * sizeof(npy_intp))
        shape += walk.before.ndim
        memcpy(shape, walk.arrays.shape, walk.arrays.count * sizeof(npy_intp))
        shape += walk.arrays.count
        memcpy(shape, walk.behind.shape, walk.behind.ndim * sizeof(npy_intp))
        return walk.before.ndim + walk.arrays.count + walk.behind.ndim


cdef int enter_basic(Entry* entry, Cell** operands, const Cell* array, Walk* walk, CopyPlan* kept) except -1 nogil:
    """Add a slice, a new dimension or an integer to the layout."""
    cdef npy_intp length, stride
    cdef Range part
    if entry.kind == NEW:
        keep(kept, 1, 0)
        return 0
    length, stride = array.shape[entry.axis], array.strides[entry.axis]
    if entry.kind == INTEGER:
        walk.base += integer_position(&entry.start, operands, length, entry.axis) * stride
        return 0
    slice_range(&entry.start, &entry.stop, &entry.step, operands, length, entry.axis, &part)
    if part.length:
        walk.base += part.start * stride
    keep(kept, part.length, stride * part.step)
    return 0


cdef void enter_array(Entry* entry, const Cell* positions, const Cell* array, Walk* walk,
                      Source* source) noexcept nogil:
    """Add an array of positions to the layout; broadcast its shape with those of the other arrays."""
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
    """Add a mask to the layout, as a vector of as many positions as it has true elements."""
    cdef int axis, last = walk.arrays.count - 1
    source.count = count_true(mask.data, mask.ndim, mask.shape, mask.strides)
    source.data, source.offsets = NULL, NULL
    mask_start(&source.cursor, mask.data, mask.ndim, mask.shape, mask.strides, array.strides + entry.axis)
    for axis in range(last):
        source.strides[axis] = 0
    source.strides[last] = 0
    if source.count != 1:
        source.strides[last] = 1
        walk.arrays.shape[last] = source.count


cdef inline int is_long(const Cell* result, const Walk* walk, npy_intp bytes) noexcept nogil:
    """What ``prepare`` returns for a result of which so many bytes, or so many positions, are worth the GIL."""
    return RUNS_ALONE if cell_size(result) * result.itemsize >= bytes or walk.size >= LONG_SCATTER else 0


cdef inline bint array_fits(const Cell* positions, const Walk* walk) noexcept nogil:
    """Whether an array of positions can be broadcast to the common shape."""
    cdef int axis, lead = walk.arrays.count - positions.ndim
    for axis in range(positions.ndim):
        if positions.shape[axis] != 1 and positions.shape[axis] != walk.arrays.shape[lead + axis]:
            return False
    return True


cdef int check_mask(const Cell* mask, const Cell* array, int first) except -1 nogil:
    cdef int axis
    for axis in range(mask.ndim):
        if mask.shape[axis] != array.shape[first + axis]:
            with gil:
                raise IndexError(f"boolean index did not match indexed array along axis {first + axis}; size of axis "
                                 f"is {array.shape[first + axis]} but size of corresponding boolean axis is "
                                 f"{mask.shape[axis]}")
    return 0


cdef void walk_in_parts(Context* context, Walk* walk) noexcept nogil:
    """The walk on one thread, from its start on: a mask is read in this order, and later values overwrite earlier."""
    cdef npy_intp done = 0, step = UNASKED
    cdef int axis
    for axis in range(walk.before.ndim):
        step = step // walk.before.shape[axis]
    for axis in range(walk.behind.ndim):
        step = step // walk.behind.shape[axis]
    step = max(step, <npy_intp>1024)
    while done < walk.size and not (done and interrupted(context)):
        walk_positions(walk, 0, done, min(walk.size, done + step))
        done += step


# ---- the kernels -----------------------------------------------------------------------------------------------------
cdef class AdvancedSubtensorKernel(AdvancedIndexKernel):
    """Copies the indexed part: ``(x, index operands..., out)``.

    Parameters
    ----------
    plan : sequence of tuple
        In the plan, ``x`` is operand number 0.
    lead : int
    result : int
        The operand number of the result.
    """
    cdef int result

    def __init__(self, plan, int lead, int result):
        AdvancedIndexKernel.__init__(self, plan, lead)
        self.result = result
        self.examined = tuple(range(1, result))
        self.checked = checked_operands(self.slices_vary or self.mask_count > 0, 1, result)
        self.private_bytes = self.room_of_points()

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Walk walk
        cdef npy_intp shape[MAX_RANK]
        cdef Cell* result = operands[self.result]
        walk.sources = <Source*>alloca((self.source_count + 1) * sizeof(Source))
        self.lay_out(operands, operands[0], &walk)
        self.check(operands, operands[0], &walk)
        self.result_shape(&walk, shape)
        allocate(context, result, shape)
        if self.is_divided(result):
            return 1
        return is_long(result, &walk, LONG_SCATTER_BYTES)

    cdef inline bint is_divided(self, const Cell* result) noexcept nogil:
        """Whether several workers may share the work; a mask is read from its start on."""
        return self.mask_count == 0 and cell_size(result) * result.itemsize > 2 * PIECE_INDEXED_BYTES

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Walk walk
        cdef Cell* result = operands[self.result]
        cdef npy_intp bytes = cell_size(result) * result.itemsize
        if bytes == 0:
            return 0
        walk.sources = <Source*>alloca((self.source_count + 1) * sizeof(Source))
        self.lay_out(operands, operands[0], &walk)   # cannot fail after `prepare`
        walk.items = phintys_get_items[size_class(result.itemsize)]
        walk.line = phintys_get_line[size_class(result.itemsize)]
        walk.rows = gather_rows
        start_walk(&walk, result, result.ndim)
        if self.is_divided(result):
            parallel(context, walk_positions, &walk, walk.size, PIECE_INDEXED_BYTES * walk.size // bytes + 1)
        else:
            walk_in_parts(context, &walk)
        return 0


    cdef Binding bind(self, Context* context, Cell** operands, BoundRun* bound_run) noexcept nogil:
        cdef Points* points = <Points*>(<void**>context.private_memory + 1)
        (<void**>context.private_memory)[0] = <void*>self
        bound_run[0] = check_and_run
        if (0 < cell_size(operands[self.result]) * operands[0].itemsize <= PART
                and self.find_lines(points, operands, operands[0])):
            points.result, points.stride = self.result, points.bytes
            points.items = phintys_get_items[size_class(operands[0].itemsize)]
            if points.rows != NULL:
                points.rows = gather_rows
            bound_run[0] = copy_points
        return BOUND


cdef class AdvancedIncSubtensorKernel(AdvancedIndexKernel):
    """A copy of ``x`` in which the indexed part is set or added to: ``(x, y, index operands..., out)``.

    ``y`` is broadcast to the shape of the part. An element that is selected several times gets all its values added, or
    is set to the last one.

    Parameters
    ----------
    plan : sequence of tuple
        In the plan, ``x`` is operand number 0.
    lead : int
    result : int
        The operand number of the result.
    dtype : str
    sets : bool
        Whether to set the part; otherwise values are added to it.
    constants : int, optional
        The number of the positions, if they are constants in one vector and a table of them is worth its memory.
    """
    cdef int result, dtype
    cdef npy_intp constants
    cdef bint sets
    cdef AddAtLoop add_at           # the loop for one array of positions, or NULL

    def __init__(self, plan, int lead, int result, str dtype, bint sets, npy_intp constants=0):
        cdef int index
        AdvancedIndexKernel.__init__(self, plan, lead)
        self.result, self.dtype, self.sets = result, TYPES.index(dtype), sets
        self.examined, self.private_bytes = tuple(range(2, result)), self.room_of_points()
        self.checked = checked_operands(self.slices_vary or self.mask_count > 0, 2, result)
        self.add_at, self.constants = NULL, constants
        self.private_bytes = max(self.private_bytes, <int>(sizeof(Groups) + constants * sizeof(int32_t)
                                         + constants // PER_TARGET * sizeof(Target)))
        if self.source_count == 1 and self.mask_count == 0 and not sets:
            for index in range(self.count):
                if self.entries[index].kind == ARRAY:
                    self.add_at = phintys_add_at[self.entries[index].dtype][self.dtype]

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
                    raise ValueError(f"shape mismatch: value array of shape {shape_of(value)} could not be broadcast "
                                     f"to indexing result of shape {tuple_of(shape, rank)}")
        allocate(context, result, operands[0].shape)
        return is_long(result, &walk, 2 * LONG_SCATTER_BYTES)

    cdef Binding bind(self, Context* context, Cell** operands, BoundRun* bound_run) noexcept nogil:
        cdef Points* points = <Points*>(<void**>context.private_memory + 1)
        if self.finds_groups(<Groups*>context.private_memory, operands):
            bound_run[0] = add_groups
            return BOUND
        (<void**>context.private_memory)[0] = <void*>self
        bound_run[0] = check_and_run
        if cell_size(operands[1]) and self.find_lines(points, operands, operands[self.result]) and (
                self.finds_values(points, operands)):
            bound_run[0] = assign_points
        return BOUND

    cdef bint finds_groups(self, Groups* groups, Cell** operands) noexcept nogil:
        """Write the table, if there is to be one. ``prepare`` has checked the positions."""
        cdef const Cell* array = operands[0]
        cdef const Cell* value = operands[1]
        cdef const Cell* positions = operands[2]
        cdef Target* targets = <Target*>(groups + 1)
        cdef npy_intp count
        if (not self.constants or not positions.flags & CELL_CONSTANT or array.ndim != 1
                or array.shape[0] * array.itemsize > PART):
            return False
        count = positions.shape[0]
        if (count > self.constants or not cell_is_contiguous(array) or not cell_is_contiguous(operands[3])
                or array.shape[0] == 0 or count < PER_TARGET * array.shape[0]):
            return False
        groups.offsets = <const int32_t*>(targets + array.shape[0])
        groups.count = group_positions(
            targets, <int32_t*>groups.offsets, self.entries[0].dtype, positions.data, positions.strides[0], count,
            array.shape[0], array.itemsize, 0 if value.ndim == 0 or value.shape[0] == 1 else value.strides[0])
        groups.add, groups.copied = phintys_add_groups[self.dtype], array.shape[0] * array.itemsize
        return groups.count > 0

    cdef bint finds_values(self, Points* points, Cell** operands) noexcept nogil:
        """Write down where the values are; returns whether there is one without gaps for each position."""
        cdef const Cell* array = operands[0]
        cdef const Cell* value = operands[1]
        cdef const Cell* result = operands[self.result]
        cdef int axis, inner = array.ndim - self.axes, lead = value.ndim - inner
        cdef npy_intp bytes = value.itemsize
        if (not cell_is_contiguous(array) or not cell_is_contiguous(result) or lead < 0 or lead > self.arrays_rank
                or cell_size(array) * array.itemsize > PART or points.size * points.bytes > PART):
            return False
        for axis in range(value.ndim - 1, lead - 1, -1):
            if value.shape[axis] != array.shape[array.ndim - value.ndim + axis] or (
                    value.shape[axis] != 1 and value.strides[axis] != bytes):
                return False
            bytes *= value.shape[axis]
        points.stride = value.strides[0] if lead and value.shape[0] != 1 else 0
        points.result, points.copied = self.result, cell_size(array) * array.itemsize
        points.items = phintys_set_items[size_class(array.itemsize)] if self.sets else phintys_add_items[self.dtype]
        if points.rows != NULL:
            points.rows = scatter_rows
        return self.sets or points.rows == NULL

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Walk walk
        cdef npy_intp shape[MAX_RANK]
        cdef Cell* array = operands[0]
        cdef Cell* result = operands[self.result]
        cdef int axis, rank
        if result.data != array.data:                # they are equal if the linker chose to run in place
            copy_in_parts(context, array.ndim, array.shape, result.data, result.strides, array.data, array.strides,
                          array.itemsize)
        walk.sources = <Source*>alloca((self.source_count + 1) * sizeof(Source))
        self.lay_out(operands, result, &walk)        # cannot fail after `prepare`
        rank = self.result_shape(&walk, shape)
        for axis in range(rank):
            if shape[axis] == 0:
                return 0
        walk.items = phintys_set_items[size_class(result.itemsize)] if self.sets else phintys_add_items[self.dtype]
        walk.line = phintys_set_line[size_class(result.itemsize)] if self.sets else phintys_add_line[self.dtype]
        walk.rows = NULL                             # the row loop only copies; rows are added line by line
        if self.sets:
            walk.rows = scatter_rows
        start_walk(&walk, operands[1], rank)
        if self.add_at != NULL and walk.arrays.count == 1 and walk.before.ndim == 0 and walk.behind.ndim == 0:
            self.add_in_parts(context, &walk)
        else:
            walk_in_parts(context, &walk)
        return 0

    cdef void add_in_parts(self, Context* context, Walk* walk) noexcept nogil:
        cdef npy_intp done = 0
        while done < walk.size and not (done and interrupted(context)):
            self.add_at(walk.base, walk.sources.step, walk.sources.length,
                        walk.sources.data + done * walk.sources.strides[0], walk.sources.strides[0],
                        walk.partner + done * walk.arrays.partner[0], walk.arrays.partner[0],
                        min(walk.size - done, <npy_intp>UNASKED))
            done += UNASKED
