"""Kernels of basic indexing: a view of part of an array, and an array in which a part is set or added to.

An index is given as a plan: a list of tuples ``(whether the dimension is removed, start, stop, step)``, where each part
is ``None``, a Python int (a constant), or ``("operand", number)`` for a symbolic integer. The rules are Python's: ints
must be in range, slices are clipped.
"""
from numpy cimport npy_intp

from phintys.ops.indexing.index_parts cimport (
    Part, Range, integer_position, is_computed, checked_operands, read_part, slice_range)
from phintys.ops.native.asking cimport UNASKED
from phintys.ops.native.indexed_loops cimport LineLoop, line_by_line, phintys_add_line
from phintys.ops.native.integers cimport shape_of
from phintys.ops.native.result_shapes cimport tuple_of
from phintys.ops.native.sets cimport phintys_set, set_of_process
from phintys.ops.native.strided_copy cimport copy_in_parts
from phintys.vm.abi cimport (
    BOUND, BOUND_VIEW, INLINE_BYTES, RUNS_ALONE, UNBOUND, Binding, BoundRun, Cell, Context, Kernel, allocate, cell_size,
    interrupted, share)
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.thresholds cimport LONG_COPY

from phintys.ops.native.loops import TYPES

phintys_set = set_of_process()

cdef struct Row:
    bint drops
    Part start, stop, step

cdef struct Region:                 # part of an array
    char* data
    npy_intp shape[MAX_RANK]
    npy_intp strides[MAX_RANK]


cdef struct BoundView:              # what the bound run of a view knows
    npy_intp offset                 # from the first byte of the source
    int result
    int count                       # of turns, which follow

cdef struct Turn:                   # an integer that is computed, and the dimension in which it chooses
    const Part* part
    npy_intp length, stride
    int axis

ctypedef int (*Slice)(Row* row, Cell** operands, npy_intp length, int axis, Range* part) noexcept nogil
ctypedef npy_intp (*Position)(const Part* part, Cell** operands, npy_intp length, int axis) noexcept nogil
ctypedef int (*Assignment)(IncSubtensorKernel kernel, Context* context, Cell** operands) noexcept nogil


cdef npy_intp checked_position(const Part* part, Cell** operands, npy_intp length, int axis) except -1 nogil:
    return integer_position(part, operands, length, axis)


cdef int checked_slice(Row* row, Cell** operands, npy_intp length, int axis, Range* part) except -1 nogil:
    return slice_range(&row.start, &row.stop, &row.step, operands, length, axis, part)


cdef int assigned(IncSubtensorKernel kernel, Context* context, Cell** operands) except -1 nogil:
    return kernel.assign(context, operands)


# The casts remove `except -1`: a bound run returns -1 with the exception set, and its caller handles it.
cdef Position find_position = <Position>checked_position
cdef Slice slice_of = <Slice>checked_slice
cdef Assignment assign = <Assignment>assigned


cdef inline bint is_inline(const Cell* cell) noexcept nogil:
    """Whether the value is in the cell itself."""
    return <char*>cell.value <= cell.data < <char*>cell.value + INLINE_BYTES


cdef int view_at_offset(Context* context, Cell** operands) noexcept nogil:
    cdef const BoundView* bound = <const BoundView*>context.private_memory
    share(context, operands[bound.result], operands[0], operands[0].data + bound.offset)
    return 0


cdef int view_at_turns(Context* context, Cell** operands) noexcept nogil:
    """The same with integers that are computed."""
    cdef const BoundView* bound = <const BoundView*>context.private_memory
    cdef const Turn* turn = <const Turn*>(bound + 1)
    cdef const Turn* end = turn + bound.count
    cdef npy_intp offset = bound.offset, position
    while turn != end:
        position = find_position(turn.part, operands, turn.length, turn.axis)
        if position < 0:
            return -1
        offset += position * turn.stride
        turn += 1
    share(context, operands[bound.result], operands[0], operands[0].data + offset)
    return 0


cdef int assign_at_once(Context* context, Cell** operands) noexcept nogil:
    """The bound run of assignments: checks the integers, too."""
    return assign(<IncSubtensorKernel>(<void**>context.private_memory)[0], context, operands)


cdef class IndexKernel(Kernel):
    """The base class of both kernels: locates the indexed part of an array."""
    cdef Row rows[MAX_RANK]
    cdef int count, turns           # how many entries of the plan, and how many computed integers
    cdef bint slices_vary           # whether a part of a slice is computed
    cdef readonly tuple checked

    def __init__(self, plan):
        cdef Row* row
        self.count = len(plan)
        for axis, (drops, start, stop, step) in enumerate(plan):
            self.rows[axis].drops = drops
            self.rows[axis].start = read_part(start)
            self.rows[axis].stop = read_part(stop)
            self.rows[axis].step = read_part(step)
            row = &self.rows[axis]
            self.turns += row.drops and is_computed(&row.start)
            self.slices_vary |= not row.drops and (is_computed(&row.start) or is_computed(&row.stop)
                                                   or is_computed(&row.step))

    cdef int locate(self, Cell** operands, const Cell* array, Region* region) except -1 nogil:
        """Compute the shape, strides and address of the indexed part of ``array``."""
        cdef Row* row
        cdef Range part
        cdef npy_intp length
        cdef int axis, kept = 0
        region.data = array.data
        for axis in range(array.ndim):
            length = array.shape[axis]
            if axis >= self.count:
                region.shape[kept], region.strides[kept] = length, array.strides[axis]
                kept += 1
                continue
            row = &self.rows[axis]
            if row.drops:
                region.data += integer_position(&row.start, operands, length, axis) * array.strides[axis]
                continue
            slice_range(&row.start, &row.stop, &row.step, operands, length, axis, &part)
            region.shape[kept], region.strides[kept] = part.length, array.strides[axis] * part.step
            if part.length:
                region.data += part.start * array.strides[axis]
            kept += 1
        return kept


cdef class SubtensorKernel(IndexKernel):
    """A view of the indexed part: ``(x, integers..., out)``."""
    cdef int result

    def __init__(self, plan, int integers):
        IndexKernel.__init__(self, plan)
        self.examined = tuple(range(1, 1 + integers))
        self.checked = checked_operands(self.slices_vary, 1, 1 + integers)
        self.private_bytes = sizeof(BoundView) + self.turns * <int>sizeof(Turn)
        self.result = 1 + integers

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Region region
        cdef Cell* view = operands[self.result]
        cdef int axis, ndim = self.locate(operands, operands[0], &region)
        for axis in range(ndim):
            view.shape[axis] = region.shape[axis]
            view.strides[axis] = region.strides[axis]
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* view = operands[self.result]
        cdef Cell* source = operands[0]
        cdef Region region
        if cell_size(view) == 0:
            allocate(context, view, view.shape)      # an empty part may lie outside the array; nothing is allocated
            return 0
        self.locate(operands, source, &region)       # cannot fail after `prepare`
        share(context, view, source, region.data)
        return 0

    cdef Binding bind(self, Context* context, Cell** operands, BoundRun* bound_run) noexcept nogil:
        cdef BoundView* bound = <BoundView*>context.private_memory
        cdef Cell* view = operands[self.result]
        if self.turns and not self.slices_vary:
            return self.bind_turns(bound, operands, bound_run)
        if cell_size(view):
            bound.offset, bound.result = view.data - operands[0].data, self.result
            if is_inline(operands[0]):               # the view has a copy of the value
                bound.offset -= <char*>view.value - <char*>operands[0].value
            bound_run[0] = view_at_offset
        return BOUND_VIEW

    cdef Binding bind_turns(self, BoundView* bound, Cell** operands, BoundRun* bound_run) noexcept nogil:
        """Write down which integers choose where the view begins; without elements nothing does."""
        cdef Turn* turn = <Turn*>(bound + 1)
        cdef const Cell* source = operands[0]
        cdef Row* row
        cdef Range part
        cdef int axis
        if cell_size(operands[self.result]) == 0:
            return UNBOUND
        bound.offset, bound.result, bound.count = 0, self.result, self.turns
        for axis in range(self.count):
            row = &self.rows[axis]
            if not row.drops:
                slice_of(row, operands, source.shape[axis], axis, &part)
                bound.offset += part.start * source.strides[axis]
            elif is_computed(&row.start):
                turn.part, turn.axis = &row.start, axis
                turn.length, turn.stride = source.shape[axis], source.strides[axis]
                turn += 1
            else:
                bound.offset += find_position(&row.start, operands, source.shape[axis], axis) * source.strides[axis]
        bound_run[0] = view_at_turns
        return BOUND_VIEW


cdef class IncSubtensorKernel(IndexKernel):
    """A copy of ``x`` in which a part is set or added to: ``(x, y, integers..., out)``; ``y`` is broadcast to the part.

    Parameters
    ----------
    plan, integers
        See `SubtensorKernel`; ``x`` is operand number 0.
    dtype : str
    sets : bool
        Whether to set the part; otherwise values are added to it.
    """
    cdef int result
    cdef bint sets
    cdef LineLoop add

    def __init__(self, plan, int integers, dtype, bint sets):
        IndexKernel.__init__(self, plan)
        self.examined, self.private_bytes = tuple(range(2, 2 + integers)), sizeof(void*)
        self.checked = checked_operands(self.slices_vary, 2, 2 + integers)
        self.result = 2 + integers
        self.sets = sets
        self.add = phintys_add_line[<int>TYPES.index(dtype)]

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* part = operands[1]
        cdef Cell* result = operands[self.result]
        cdef Region region
        cdef int axis, ndim = self.locate(operands, operands[0], &region)
        for axis in range(part.ndim):
            if part.shape[axis] != 1 and part.shape[axis] != region.shape[ndim - part.ndim + axis]:
                with gil:
                    raise ValueError(f"IncSubtensor: could not broadcast a value of shape {shape_of(part)} into the "
                                     f"indexed part of shape {tuple_of(region.shape, ndim)}")
        allocate(context, result, operands[0].shape)
        return RUNS_ALONE if cell_size(result) * result.itemsize >= LONG_COPY else 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        return assign(self, context, operands)                # cannot fail after `prepare`

    cdef Binding bind(self, Context* context, Cell** operands, BoundRun* bound_run) noexcept nogil:
        (<void**>context.private_memory)[0] = <void*>self
        bound_run[0] = assign_at_once
        return BOUND

    cdef int assign(self, Context* context, Cell** operands) except -1 nogil:
        """Copy the source, and assign to the part. Nothing is overwritten before the integers are checked."""
        cdef Cell* source = operands[0]
        cdef Cell* part = operands[1]
        cdef Cell* result = operands[self.result]
        cdef Region region
        cdef npy_intp strides[MAX_RANK]
        cdef int axis, lead, ndim
        ndim = self.locate(operands, result, &region)
        if result.data != source.data:               # they are equal if the linker chose to run in place
            copy_in_parts(context, source.ndim, source.shape, result.data, result.strides, source.data, source.strides,
                          source.itemsize)
        lead = ndim - part.ndim
        for axis in range(ndim):
            strides[axis] = 0 if axis < lead or part.shape[axis - lead] == 1 else part.strides[axis - lead]
        if self.sets:
            copy_in_parts(context, ndim, region.shape, region.data, region.strides, part.data, strides, part.itemsize)
        else:
            self.add_in_parts(context, ndim, &region, part.data, strides)
        return 0

    cdef inline void add_in_parts(self, Context* context, int ndim, Region* region, char* values,
                                  const npy_intp* strides) noexcept nogil:
        """Add values along the longest dimension by parts, between which the call may end."""
        cdef npy_intp position = 0, count, whole = 1, size = 1
        cdef int axis, longest = 0
        for axis in range(ndim):
            size *= region.shape[axis]
            if region.shape[axis] > whole:
                longest, whole = axis, region.shape[axis]
        if size <= UNASKED:
            line_by_line(self.add, ndim, region.shape, region.data, region.strides, values, strides)
            return
        count = max(UNASKED // (size // whole), <npy_intp>1)
        while position < whole and not (position and interrupted(context)):
            region.shape[longest] = min(count, whole - position)
            line_by_line(self.add, ndim, region.shape, region.data + position * region.strides[longest], region.strides,
                         values + position * strides[longest], strides)
            position += count
