"""Reductions over any axes, with an elementwise producer in the same pass.

Sums, products and tests are folded by loops of our own where there are some (``folds.py``), else by a ufunc's inner
loop, which reduces when its result is its first operand with stride 0. Dimensions are sorted by stride and joined; the
innermost is either reduced (lines make partial results) or kept (lines are added to a line of accumulators).
Accumulators stand in the order in which the input is walked, and are handed out in C order. Blocks, lines, and pieces
of large reductions are combined pairwise where rounding matters, so the error grows with the logarithm of the length.
Pieces are fixed by the shape alone: the result does not depend on the number of workers or on their timing.
"""
cimport numpy as cnp
from libc.stdint cimport uintptr_t
from libc.string cimport memcpy
from numpy cimport npy_intp

import numpy

from phintys.ops.elementwise.block_program cimport (
    MAXIMUM_RANK, BlockProgram, Program, axes_mask, broadcast_shape, kept_dimensions, run_steps, set_places)
from phintys.ops.reduction.folds import KINDS, choose_fold
from phintys.ops.native.loops import TYPES
from phintys.ops.native.loops cimport LoopFunction, copy_function, find_loop
from phintys.ops.native.strided_copy cimport copy_strided
from phintys.vm.abi cimport RUNS_ALONE, Cell, Context, Kernel, allocate, cell_size, parallel, scratch

cnp.import_array()

cdef extern from "reduction/reduction_loops.h" nogil:
    const phintys_fold* phintys_find_fold(int kind, int type)

cdef extern from "alloca.h" nogil:
    void* alloca(size_t)

cdef enum:
    BLOCK_BYTES = 16384
    LONGEST_BLOCK = 2048
    PIECE = 65536                  # elements of a large reduction that are reduced apart
    PIECES = 1024                  # at most
    COLUMNS = 2048                 # accumulators worked on at a time, so that they stay in the L1 cache
    ROWS = 8                       # short rows summed one behind the other, before partial sums are combined pairwise
    SHORT_ROW = 512                # elements
    SHORT_REDUCED = 28             # an innermost dimension below these gives way to a longer one: lines of accumulators
    SHORT_KEPT = 10                # cost about 40 ns each, and lines that are reduced about 50
    ENOUGH = 64                    # of this length the next one is taken, and no longer one that stands further apart
    RELEASE_NANOSECONDS = 20000
    PIECE_NANOSECONDS = 25000
    PARTS = 64                     # lines folded apart, whose results are then combined

cdef double FOLD_COST = 0.08       # nanoseconds an element

# Dimensions of one kind, the innermost first.
cdef struct Dimensions:
    int count
    npy_intp size
    npy_intp lengths[MAXIMUM_RANK]
    npy_intp result_strides[MAXIMUM_RANK]      # of the accumulators, in bytes
    npy_intp* strides                          # strides[dimension * inputs + input]

cdef struct Layout:
    Program* program
    const phintys_fold* fold       # NULL: the ufunc's loop is used instead
    LoopFunction function          # combines accumulators
    void* data
    bint pairwise
    const char* identity           # NULL: starts from the first value
    int value_place
    int value_size                 # bytes
    int itemsize                   # of an accumulator
    LoopFunction copy
    int rank
    Dimensions kept                # without the inner dimension
    Dimensions reduced             # without the inner dimension
    npy_intp result_strides[MAXIMUM_RANK]      # of the accumulators, by axis; 0 for reduced ones
    bint in_order                  # the accumulators stand in C order
    bint inner_reduced
    npy_intp inner
    npy_intp inner_result_stride
    npy_intp* inner_strides        # by input
    npy_intp block                 # elements
    npy_intp piece
    npy_intp pieces
    npy_intp element               # whose pieces are being reduced
    char* partial                  # 16 bytes a piece
    char* accumulators
    char** bases                   # of the inputs

# What one thread needs to run steps: places, and registers behind them.
cdef struct Workspace:
    char** pointers
    npy_intp* strides
    char** bases

# Partial results, combined pairwise: slot k holds the result of 2^k parts.
cdef struct Cascade:
    char slots[64][16]
    npy_intp count


cdef class ReductionKernel(Kernel):
    """Reduce a value computed from operands over some axes.

    Parameters
    ----------
    inputs, constants, steps
        The producer, as for ``ElementwiseKernel``; there may be no steps.
    value : int
        The slot that is reduced; it is cast to ``accumulator_dtype`` first.
    loop : numpy.ufunc
        A binary ufunc with a loop for the accumulator's dtype.
    axes : sequence of int
        Of the inputs' common shape; not negative.
    accumulator_dtype, output_dtype : str
    keepdims : bool
        Keep the reduced dimensions, with length 1.
    identity : number, optional
        The result of an empty reduction; by default the loop's identity, if it has one.

    Raises
    ------
    TypeError
        If the ufunc has no such loop.
    ValueError
        For bad axes; from ``prepare``, for shapes that differ and for empty reductions without an identity.
    """

    def __init__(self, inputs, constants, steps, value, loop, axes, accumulator_dtype, output_dtype, keepdims=False,
                 identity=None):
        self.arguments = (inputs, constants, steps, value, loop, axes, accumulator_dtype, output_dtype, keepdims,
                          identity)
        inputs, constants, steps = list(inputs), list(constants), list(steps)
        self.loop = find_loop(loop, (accumulator_dtype,) * 3)
        if not isinstance(self.loop.owner, numpy.ufunc):
            raise TypeError(f"{self.loop!r} cannot reduce: it is no inner loop of NumPy's form")
        rank = len(inputs[0][1])
        self.reduced = axes_mask(axes, rank)
        self.keepdims = keepdims
        self.pairwise = loop in (numpy.add, numpy.multiply) and numpy.dtype(accumulator_dtype).kind in "fc"
        self.itemsize = numpy.dtype(accumulator_dtype).itemsize
        self.cast = NULL
        if accumulator_dtype != output_dtype:
            self.cast = find_loop("cast", (accumulator_dtype, output_dtype)).function
        self.set_identity(loop.identity if identity is None else identity, accumulator_dtype)
        self.set_producer(inputs, constants, steps, value, loop, accumulator_dtype, output_dtype)

    cdef int set_identity(self, object identity, str dtype) except -1:
        self.has_identity = identity is not None
        cdef cnp.ndarray value
        if self.has_identity:
            value = numpy.array(identity).astype(dtype)
            memcpy(self.identity, cnp.PyArray_DATA(value), self.itemsize)
        return 0

    cdef int set_producer(self, list inputs, list constants, list steps, int value, object loop, str accumulator,
                          str output) except -1:
        """Choose the fold and build the program; its result, or an input itself, is what is reduced."""
        slots = ([(input_dtype, None) for input_dtype, broadcastable in inputs]
                 + [(constant.dtype.name, constant) for constant in constants]
                 + [(signature[len(signature) - 1], None) for step, operands, signature in steps])
        if not 0 <= value < len(slots):
            raise ValueError(f"slot {value} does not exist; there are {len(slots)}")
        kind, steps, value = choose_fold(loop, slots, steps, value, accumulator, output)
        self.fold, self.cost = NULL, self.loop.cost
        if kind is not None:
            self.fold = phintys_find_fold(KINDS.index(kind), TYPES.index(slots[value][0]))
            self.cost = FOLD_COST
        elif slots[value][0] != accumulator:
            steps = steps + [("cast", [value], (slots[value][0], accumulator))]
            value = len(slots)
        if value < len(inputs):
            self.program = BlockProgram(inputs, constants, steps, [])
            self.value_place = value
        else:
            self.program = BlockProgram(inputs, constants, steps, [value])
            self.value_place = self.program.program.place_count - 1
        dtype = self.program.value_dtypes[0] if value >= len(inputs) else slots[value][0]
        self.value_size = numpy.dtype(dtype).itemsize
        self.cost += self.program.program.cost
        return 0

    def __reduce__(self):
        return ReductionKernel, self.arguments

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Program* program = &self.program.program
        cdef npy_intp shape[MAXIMUM_RANK]
        cdef npy_intp kept_shape[MAXIMUM_RANK]
        cdef npy_intp kept = 1, reduced = 1
        broadcast_shape(program, operands, self.program.rank, shape)
        kept_dimensions(self.program.rank, self.reduced, self.keepdims, shape, kept_shape, &kept, &reduced)
        if reduced == 0 and not self.has_identity:
            fail_empty(self.loop)
        allocate(context, operands[program.inputs], kept_shape)
        if self.cast != NULL or not accumulates_in_order(self, operands):
            scratch(context, kept * self.itemsize)
        if kept * reduced * self.cost <= RELEASE_NANOSECONDS:
            return 0
        return RUNS_ALONE if kept * reduced * self.cost < 2 * PIECE_NANOSECONDS else 1

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Program* program = &self.program.program
        cdef Cell* result = operands[program.inputs]
        cdef int rank = self.program.rank, inputs = program.inputs, index
        cdef npy_intp kept = 1
        cdef npy_intp* strides = <npy_intp*>alloca((2 * (rank + 1) + 1) * inputs * sizeof(npy_intp))
        cdef Layout layout
        for index in range(result.ndim):
            kept *= result.shape[index]
        if kept == 0:
            return 0
        layout.program = program
        layout.fold = self.fold
        layout.function, layout.data = self.loop.function, self.loop.data
        layout.pairwise = self.pairwise
        layout.identity = self.identity if self.has_identity else NULL
        layout.value_place, layout.value_size, layout.itemsize = self.value_place, self.value_size, self.itemsize
        layout.copy = copy_function(self.itemsize)
        layout.bases = <char**>alloca(inputs * sizeof(char*))
        set_strides(&layout, strides, rank)
        for index in range(inputs):
            layout.bases[index] = operands[index].data
        lay_out(&layout, operands, rank, self.reduced)
        layout.accumulators = result.data if self.cast == NULL and layout.in_order else context.scratch
        layout.block = block_length(&layout)
        if layout.inner_reduced:
            reduce_all(&layout, context, self.cost)
        else:
            accumulate_all(&layout, context, self.cost)
        if layout.accumulators != result.data:
            hand_out(&layout, self.cast, result, kept, self.reduced, self.keepdims)
        return 0


cdef class MeanKernel(ReductionKernel):
    """Sums divided by the number of elements; parameters as for ``ReductionKernel``, results float64 or complex128."""

    def __reduce__(self):
        return MeanKernel, self.arguments

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* result = operands[self.program.program.inputs]
        cdef npy_intp position, parts = result.itemsize // sizeof(double)
        cdef double count = 1
        cdef double* parts_of_means = <double*>result.data
        cdef int axis
        ReductionKernel.run(self, context, operands)
        for axis in range(self.program.rank):
            if self.reduced >> axis & 1:
                count *= common_length(operands, self.program.program.inputs, axis)
        for position in range(cell_size(result) * parts):
            parts_of_means[position] /= count
        return 0


cdef int fail_empty(object loop) except -1 with gil:
    raise ValueError(f"zero-size array to reduction operation {loop.name} which has no identity")


# ---- results from accumulators ---------------------------------------------------------------------------------------
cdef void hand_out(Layout* layout, LoopFunction cast, Cell* result, npy_intp count, unsigned long long reduced,
                   bint keepdims) noexcept nogil:
    """Accumulators in the order of the walk, to results in C order."""
    cdef npy_intp strides[MAXIMUM_RANK]
    cdef int axis, place = 0
    if layout.in_order:
        cast_line(cast, layout.accumulators, layout.itemsize, result.data, result.itemsize, count)
        return
    for axis in range(layout.rank):
        if keepdims or not reduced >> axis & 1:
            strides[place] = layout.result_strides[axis]
            place += 1
    if cast == NULL:
        copy_strided(result.ndim, result.shape, result.data, result.strides, layout.accumulators, strides,
                     layout.itemsize)
    else:
        cast_strided(layout, cast, result, count, strides)


cdef void cast_strided(Layout* layout, LoopFunction cast, Cell* result, npy_intp count,
                       const npy_intp* strides) noexcept nogil:
    """A line of results at a time."""
    cdef int axis, last = result.ndim - 1
    cdef npy_intp line, length = result.shape[last], position
    cdef char* source
    for line in range(count // length):
        source, position = layout.accumulators, line
        for axis in range(last - 1, -1, -1):
            source += position % result.shape[axis] * strides[axis]
            position //= result.shape[axis]
        cast_line(cast, source, strides[last], result.data + line * length * result.itemsize, result.itemsize, length)


cdef inline void cast_line(LoopFunction cast, char* source, npy_intp stride, char* target, npy_intp itemsize,
                           npy_intp count) noexcept nogil:
    cdef char* arguments[2]
    cdef npy_intp strides[2]
    arguments[0], arguments[1] = source, target
    strides[0], strides[1] = stride, itemsize
    cast(arguments, &count, strides, NULL)


# ---- layout ----------------------------------------------------------------------------------------------------------
cdef inline npy_intp stride_along(Cell* cell, int axis) noexcept nogil:
    return cell.strides[axis] if cell.shape[axis] != 1 else 0


cdef npy_intp common_length(Cell** operands, int inputs, int axis) noexcept nogil:
    cdef int index
    for index in range(inputs):
        if operands[index].shape[axis] != 1:
            return operands[index].shape[axis]
    return 1


cdef npy_intp reach(Cell** operands, int inputs, int axis) noexcept nogil:
    """How far apart neighbours along the axis are, over all inputs."""
    cdef npy_intp total = 0, stride
    cdef int index
    for index in range(inputs):
        stride = stride_along(operands[index], axis)
        total += stride if stride >= 0 else -stride
    return total


cdef int sorted_axes(Layout* layout, Cell** operands, int rank, int* axes) noexcept nogil:
    """Axes longer than 1, the one with the smallest reach first; answers their number."""
    cdef int inputs = layout.program.inputs
    cdef int axis, place, count = 0
    cdef npy_intp own
    for axis in range(rank - 1, -1, -1):
        if common_length(operands, inputs, axis) == 1:
            continue
        own = reach(operands, inputs, axis)
        place = count
        while place > 0 and reach(operands, inputs, axes[place - 1]) > own:
            axes[place] = axes[place - 1]
            place -= 1
        axes[place] = axis
        count += 1
    return count


cdef void set_strides(Layout* layout, npy_intp* strides, int rank) noexcept nogil:
    """Share out memory for ``(2 * (rank + 1) + 1) * inputs`` strides."""
    cdef int inputs = layout.program.inputs
    layout.rank = rank
    layout.inner_strides = strides
    layout.kept.strides = strides + inputs
    layout.reduced.strides = strides + (rank + 2) * inputs


cdef bint accumulates_in_order(ReductionKernel kernel, Cell** operands) noexcept nogil:
    """Whether the order of the walk is that of the results."""
    cdef Program* program = &kernel.program.program
    cdef int axis, long_axes = 0, rank = kernel.program.rank
    cdef Layout layout
    for axis in range(rank):
        long_axes += not kernel.reduced >> axis & 1 and common_length(operands, program.inputs, axis) != 1
    if long_axes < 2:
        return True
    layout.program, layout.fold, layout.itemsize = program, kernel.fold, kernel.itemsize
    set_strides(&layout, <npy_intp*>alloca((2 * (rank + 1) + 1) * program.inputs * sizeof(npy_intp)), rank)
    lay_out(&layout, operands, rank, kernel.reduced)
    return layout.in_order


cdef void lay_out(Layout* layout, Cell** operands, int rank, unsigned long long mask) noexcept nogil:
    """Sort and join the dimensions, and choose the innermost."""
    cdef int inputs = layout.program.inputs
    cdef int axes[MAXIMUM_RANK]
    cdef int dimension_of[MAXIMUM_RANK]
    cdef npy_intp before[MAXIMUM_RANK]              # elements of the axes joined in front of an axis
    cdef npy_intp lengths[MAXIMUM_RANK]
    cdef bint reduced[MAXIMUM_RANK]
    cdef npy_intp* strides = <npy_intp*>alloca((rank + 1) * inputs * sizeof(npy_intp))
    cdef int axis, place, index, dimension = -1, inner = 0
    cdef int count = sorted_axes(layout, operands, rank, axes)
    cdef npy_intp length
    cdef bint joins
    for place in range(count):
        axis = axes[place]
        length = common_length(operands, inputs, axis)
        joins = dimension >= 0 and reduced[dimension] == <bint>(mask >> axis & 1)
        if joins:
            for index in range(inputs):
                if stride_along(operands[index], axis) != strides[dimension * inputs + index] * lengths[dimension]:
                    joins = False
                    break
        if joins:
            before[axis], dimension_of[axis] = lengths[dimension], dimension
            lengths[dimension] *= length
            continue
        dimension += 1
        before[axis], dimension_of[axis] = 1, dimension
        lengths[dimension] = length
        reduced[dimension] = mask >> axis & 1
        for index in range(inputs):
            strides[dimension * inputs + index] = stride_along(operands[index], axis)
    if layout.fold == NULL or layout.program.step_count:
        inner = innermost(dimension + 1, lengths, reduced)
    split(layout, dimension + 1, inner, lengths, reduced, strides)
    order_results(layout, operands, mask, count, inner, axes, dimension_of, before)


cdef int innermost(int count, const npy_intp* lengths, const bint* reduced) noexcept nogil:
    """The dimension that lines run along; ``count`` of them, those whose elements stand closest first."""
    cdef int inner = 0, dimension
    if count == 0 or lengths[0] >= (SHORT_REDUCED if reduced[0] else SHORT_KEPT):
        return 0
    for dimension in range(1, count):
        if reduced[dimension] and lengths[0] >= SHORT_KEPT:
            continue
        if lengths[inner] < ENOUGH and lengths[dimension] > lengths[inner]:
            inner = dimension
    return inner


cdef void order_results(Layout* layout, Cell** operands, unsigned long long mask, int count, int inner, const int* axes,
                        const int* dimension_of, const npy_intp* before) noexcept nogil:
    """Where the accumulator of a place along each axis stands, and whether that is in C order."""
    cdef npy_intp strides[MAXIMUM_RANK]             # by joined dimension
    cdef npy_intp expected = layout.itemsize
    cdef int axis, place, dimension
    cdef int kept = 0
    for axis in range(layout.rank):
        layout.result_strides[axis] = 0
    for place in range(count):
        axis, dimension = axes[place], dimension_of[axes[place]]
        if mask >> axis & 1:
            continue
        if before[axis] == 1 and dimension != inner:
            strides[dimension] = layout.kept.result_strides[kept]
            kept += 1
        elif dimension == inner:
            strides[dimension] = layout.inner_result_stride
        layout.result_strides[axis] = strides[dimension] * before[axis]
    layout.in_order = True
    for axis in range(layout.rank - 1, -1, -1):
        if mask >> axis & 1 or layout.result_strides[axis] == 0:
            continue
        layout.in_order = layout.in_order and layout.result_strides[axis] == expected
        expected *= common_length(operands, layout.program.inputs, axis)


cdef void split(Layout* layout, int count, int inner, const npy_intp* lengths, const bint* reduced,
                const npy_intp* strides) noexcept nogil:
    """Distribute the joined dimensions to the inner one, the kept and the reduced; accumulators follow the same order,
    without gaps."""
    cdef int inputs = layout.program.inputs
    cdef int dimension, index
    cdef npy_intp result_stride = layout.itemsize
    cdef Dimensions* kind
    layout.kept.count = layout.reduced.count = 0
    layout.kept.size = layout.reduced.size = 1
    layout.inner, layout.inner_result_stride, layout.inner_reduced = 1, 0, True
    for index in range(inputs):
        layout.inner_strides[index] = 0
    if count:
        layout.inner, layout.inner_reduced = lengths[inner], reduced[inner]
        memcpy(layout.inner_strides, strides + inner * inputs, inputs * sizeof(npy_intp))
        if not reduced[inner]:
            layout.inner_result_stride = result_stride
            result_stride *= lengths[inner]
    for dimension in range(count):
        if dimension == inner:
            continue
        kind = &layout.reduced if reduced[dimension] else &layout.kept
        kind.lengths[kind.count] = lengths[dimension]
        kind.result_strides[kind.count] = 0 if reduced[dimension] else result_stride
        if not reduced[dimension]:
            result_stride *= lengths[dimension]
        memcpy(kind.strides + kind.count * inputs, strides + dimension * inputs, inputs * sizeof(npy_intp))
        kind.size *= lengths[dimension]
        kind.count += 1


cdef npy_intp block_length(Layout* layout) noexcept nogil:
    cdef Program* program = layout.program
    cdef npy_intp length
    if program.step_count == 0:
        return layout.inner
    length = BLOCK_BYTES // (program.operand_size + layout.value_size)
    if length > LONGEST_BLOCK:
        length = LONGEST_BLOCK
    length &= ~<npy_intp>15
    return length if length > 32 else 32


cdef inline npy_intp offset(Dimensions* dimensions, int inputs, npy_intp flat, char** source,
                            char** target) noexcept nogil:
    """Move the inputs' pointers to flat element ``flat`` of the dimensions; answer the accumulators' offset."""
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


cdef inline npy_intp seek_kept(Layout* layout, npy_intp element, Workspace* workspace) noexcept nogil:
    """Set the workspace's bases to a kept element; answer the offset of its accumulator."""
    return offset(&layout.kept, layout.program.inputs, element, layout.bases, workspace.bases)


# ---- threads' workspaces ---------------------------------------------------------------------------------------------
cdef inline size_t workspace_size(Layout* layout) noexcept nogil:
    cdef Program* program = layout.program
    cdef npy_intp block = (layout.block + 15) & ~<npy_intp>15
    cdef size_t registers = 0
    if program.step_count:
        registers = block * (program.registers * program.register_size + layout.value_size) + 64
    return 2 * (program.place_count + 1) * sizeof(npy_intp) + program.inputs * sizeof(char*) + registers


cdef void make_workspace(Layout* layout, char* memory, Workspace* workspace) noexcept nogil:
    cdef Program* program = layout.program
    cdef npy_intp block = (layout.block + 15) & ~<npy_intp>15
    cdef int index
    workspace.pointers = <char**>memory
    workspace.strides = <npy_intp*>(workspace.pointers + program.place_count + 1)
    workspace.bases = <char**>(workspace.strides + program.place_count + 1)
    for index in range(program.inputs):
        workspace.strides[index] = layout.inner_strides[index]
    if program.step_count:
        memory = <char*>((<uintptr_t>(workspace.bases + program.inputs) + 63) & ~<uintptr_t>63)
        set_places(program, workspace.pointers, workspace.strides, memory, block)
        workspace.pointers[layout.value_place] = memory + block * program.registers * program.register_size
        workspace.strides[layout.value_place] = layout.value_size


cdef inline void combine(Layout* layout, char* into, char* value, npy_intp stride, npy_intp n) noexcept nogil:
    """Reduce ``n`` values into one accumulator."""
    cdef char* arguments[3]
    cdef npy_intp strides[3]
    arguments[0], arguments[1], arguments[2] = into, value, into
    strides[0], strides[1], strides[2] = 0, stride, 0
    layout.function(arguments, &n, strides, layout.data)


cdef inline void begin(Layout* layout, char* accumulator, char* first) noexcept nogil:
    """The identity, or the first value: loops without an identity do not mind meeting it again."""
    memcpy(accumulator, layout.identity if layout.identity != NULL else first, layout.itemsize)


cdef inline void fold_line(Layout* layout, char* into, char* value, npy_intp stride, npy_intp n,
                           bint fresh) noexcept nogil:
    """Reduce ``n`` values into an accumulator, which is empty if ``fresh``."""
    if layout.fold != NULL:
        layout.fold.rows(value, stride, n, 0, 1, into, 0, fresh)
        return
    if fresh:
        begin(layout, into, value)
    combine(layout, into, value, stride, n)


cdef inline void push(Layout* layout, Cascade* cascade, char* value) noexcept nogil:
    """Add one partial result (which is destroyed) behind the others."""
    cdef int level = 0
    cdef npy_intp count = cascade.count
    while count & 1:
        combine(layout, cascade.slots[level], value, layout.itemsize, 1)
        value = cascade.slots[level]
        level += 1
        count >>= 1
    memcpy(cascade.slots[level], value, layout.itemsize)
    cascade.count += 1


cdef inline void finish(Layout* layout, Cascade* cascade, char* result) noexcept nogil:
    """Combine what the cascade holds, later parts first."""
    cdef int level, highest = -1
    cdef bint empty = True
    for level in range(64):
        if cascade.count >> level == 0:
            break
        if not cascade.count >> level & 1:
            continue
        if not empty:
            combine(layout, cascade.slots[level], cascade.slots[highest], layout.itemsize, 1)
        highest, empty = level, False
    memcpy(result, cascade.slots[highest], layout.itemsize)


# ---- innermost dimension reduced -------------------------------------------------------------------------------------
cdef void reduce_span(Layout* layout, Workspace* workspace, char** bases, npy_intp start, npy_intp stop,
                      char* result) noexcept nogil:
    """Reduce flat elements [start, stop) of the reduced dimensions into ``result``."""
    cdef Program* program = layout.program
    cdef Cascade cascade
    cdef char* value
    cdef char part[16]
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
        offset(&layout.reduced, program.inputs, row, bases, workspace.pointers)
        for index in range(program.inputs):
            workspace.pointers[index] += column * layout.inner_strides[index]
        run_steps(program, workspace.pointers, workspace.strides, n)
        value = workspace.pointers[layout.value_place]
        if n == stop - start and cascade.count == 0 and pending == 0:
            fold_line(layout, result, value, workspace.strides[layout.value_place], n, True)
            return
        fold_line(layout, part, value, workspace.strides[layout.value_place], n, pending == 0)
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
    """The same where a fold reads an input as it is: whole lines are folded many at a time."""
    cdef int inputs = layout.program.inputs, place = layout.value_place
    cdef npy_intp inner = layout.inner, stride = layout.inner_strides[place]
    cdef npy_intp row, column, rows, next_row = layout.reduced.strides[place] if layout.reduced.count else 0
    cdef Cascade cascade
    cdef char parts[16 * PARTS]
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
    return fold_span if layout.fold != NULL and layout.program.step_count == 0 else reduce_span


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
                               layout.partial + 16 * piece)


cdef void gather_pieces(Layout* layout, char* result) noexcept nogil:
    """Combine the pieces' results in order."""
    cdef Cascade cascade
    cdef npy_intp piece
    cascade.count = 0
    for piece in range(layout.pieces):
        push(layout, &cascade, layout.partial + 16 * piece)
    finish(layout, &cascade, result)


cdef void reduce_elements(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    """Results [start, stop), each as a whole."""
    cdef Layout* layout = <Layout*>argument
    cdef Workspace workspace
    cdef npy_intp element
    cdef char* result
    make_workspace(layout, <char*>alloca(workspace_size(layout)), &workspace)
    if layout.fold != NULL and layout.program.step_count == 0 and layout.reduced.count == 0:
        fold_elements(layout, &workspace, start, stop)
        return
    for element in range(start, stop):
        result = layout.accumulators + seek_kept(layout, element, &workspace)
        span_of_layout(layout)(layout, &workspace, workspace.bases, 0, layout.reduced.size * layout.inner, result)


cdef void fold_elements(Layout* layout, Workspace* workspace, npy_intp start, npy_intp stop) noexcept nogil:
    """Results [start, stop), each of one line; those along the innermost kept dimension at a time."""
    cdef int place = layout.value_place
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
    cdef npy_intp total = layout.reduced.size * layout.inner
    cdef npy_intp grain
    if total == 0:
        fill_identity(layout)
        return
    if total <= 2 * PIECE:
        grain = <npy_intp>(PIECE_NANOSECONDS / (cost * total)) + 1
        if context.workers > 1 and layout.kept.size >= 2 * grain:
            parallel(context, reduce_elements, layout, layout.kept.size, grain)
        else:
            reduce_elements(layout, 0, 0, layout.kept.size)
        return
    layout.piece = PIECE if total <= PIECE * PIECES else (total + PIECES - 1) // PIECES
    layout.pieces = (total + layout.piece - 1) // layout.piece
    layout.partial = <char*>alloca(16 * layout.pieces)
    grain = <npy_intp>(PIECE_NANOSECONDS / (cost * layout.piece)) + 1
    for layout.element in range(layout.kept.size):
        parallel(context, reduce_pieces, layout, layout.pieces, grain)
        gather_pieces(layout, layout.accumulators + result_offset(layout, layout.element))


cdef npy_intp result_offset(Layout* layout, npy_intp element) noexcept nogil:
    cdef npy_intp moved = 0
    cdef int dimension
    for dimension in range(layout.kept.count):
        moved += element % layout.kept.lengths[dimension] * layout.kept.result_strides[dimension]
        element //= layout.kept.lengths[dimension]
    return moved


cdef void fill_identity(Layout* layout) noexcept nogil:
    """Every accumulator gets the identity; they stand in C order without gaps."""
    cdef char* arguments[2]
    cdef npy_intp strides[2]
    cdef npy_intp n = layout.kept.size * (1 if layout.inner_reduced else layout.inner)
    arguments[0], arguments[1] = <char*>layout.identity, layout.accumulators
    strides[0], strides[1] = 0, layout.itemsize
    layout.copy(arguments, &n, strides, NULL)


# ---- innermost dimension kept ----------------------------------------------------------------------------------------
cdef void accumulate_columns(Layout* layout, Workspace* workspace, char** bases, char* results, npy_intp first,
                             npy_intp last) noexcept nogil:
    """Reduce columns [first, last) of the inner dimension, row by row."""
    cdef Program* program = layout.program
    cdef char* arguments[3]
    cdef npy_intp strides[3]
    cdef npy_intp row, column, n
    cdef int index
    if layout.fold != NULL and program.step_count == 0:
        fold_columns(layout, workspace, bases, results, first, last)
        return
    strides[0] = strides[2] = layout.inner_result_stride
    strides[1] = workspace.strides[layout.value_place]
    for row in range(layout.reduced.size):
        offset(&layout.reduced, program.inputs, row, bases, workspace.pointers)
        for index in range(program.inputs):
            workspace.pointers[index] += first * layout.inner_strides[index]
        column = first
        while column < last:
            n = last - column if last - column < layout.block else layout.block
            run_steps(program, workspace.pointers, workspace.strides, n)
            arguments[0] = arguments[2] = results + column * layout.inner_result_stride
            arguments[1] = workspace.pointers[layout.value_place]
            if layout.fold != NULL:
                layout.fold.columns(arguments[1], strides[1], n, 0, 1, arguments[0], row == 0)
            elif row == 0 and layout.identity == NULL:
                layout.copy(arguments + 1, &n, strides + 1, NULL)
            else:
                layout.function(arguments, &n, strides, layout.data)
            for index in range(program.inputs):
                workspace.pointers[index] += n * layout.inner_strides[index]
            column += n


cdef void fold_columns(Layout* layout, Workspace* workspace, char** bases, char* results, npy_intp first,
                       npy_intp last) noexcept nogil:
    """The same where a fold reads an input as it is: all lines along the innermost reduced dimension at a time."""
    cdef int place = layout.value_place
    cdef npy_intp rows = layout.reduced.lengths[0] if layout.reduced.count else 1
    cdef npy_intp next_row = layout.reduced.strides[place] if layout.reduced.count else 0
    cdef npy_intp stride = layout.inner_strides[place], row = 0
    while row < layout.reduced.size:
        offset(&layout.reduced, layout.program.inputs, row, bases, workspace.pointers)
        layout.fold.columns(workspace.pointers[place] + first * stride, stride, last - first, next_row, rows,
                            results + first * layout.itemsize, row == 0)
        row += rows


cdef void accumulate_range(Layout* layout, npy_intp start, npy_intp stop, npy_intp left, npy_intp right) noexcept nogil:
    """Inner columns [left, right) of outer kept elements [start, stop)."""
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
    """Inner columns [start, stop) of every outer kept element."""
    accumulate_range(<Layout*>argument, 0, (<Layout*>argument).kept.size, start, stop)


cdef void accumulate_elements(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    """All inner columns of outer kept elements [start, stop)."""
    accumulate_range(<Layout*>argument, start, stop, 0, (<Layout*>argument).inner)


cdef void accumulate_all(Layout* layout, Context* context, double cost) noexcept nogil:
    cdef double nanoseconds = cost * layout.kept.size * layout.reduced.size * layout.inner
    cdef npy_intp grain
    if layout.identity != NULL and (layout.fold == NULL or layout.reduced.size == 0):
        fill_identity(layout)
    if layout.reduced.size == 0:
        return
    if context.workers < 2 or nanoseconds < 2 * PIECE_NANOSECONDS:
        accumulate_elements(layout, 0, 0, layout.kept.size)
    elif layout.kept.size >= 2 * context.workers:
        grain = <npy_intp>(PIECE_NANOSECONDS * layout.kept.size / nanoseconds) + 1
        parallel(context, accumulate_elements, layout, layout.kept.size, grain)
    else:
        grain = <npy_intp>(PIECE_NANOSECONDS * layout.inner / nanoseconds) + 1
        parallel(context, accumulate_tiles, layout, layout.inner, grain if grain > 64 else 64)
