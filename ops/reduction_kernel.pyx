"""Reductions over any axes, with an elementwise producer in the same pass.

A ufunc's inner loop reduces when its result is its first operand with stride 0; float sums are then pairwise inside the
loop. Blocks (short rows eight at a time), and pieces of large reductions, are combined pairwise too, so the error grows
with the logarithm of the length. Dimensions are sorted by stride and joined; the innermost is either reduced (one loop
call makes a partial result) or kept (one call adds a row to a row of accumulators). Pieces are fixed by the shape
alone: the result does not depend on the number of workers or on their timing.
"""
cimport numpy as cnp
from libc.stdint cimport uintptr_t
from libc.string cimport memcpy
from numpy cimport npy_intp

import numpy

from phintys.ops.arg_kernel import ArgKernel
from phintys.ops.block_program cimport (
    MAXIMUM_RANK, BlockProgram, Program, axes_mask, broadcast_shape, kept_dimensions, run_steps, set_places)
from phintys.ops.loops cimport Loop, LoopFunction, copy_function, find_loop
from phintys.vm.abi cimport Cell, Context, Kernel, allocate, parallel, scratch

cnp.import_array()

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
    SHORT = 16                     # an innermost dimension below this gives way to a longer one
    RELEASE_NANOSECONDS = 20000
    PIECE_NANOSECONDS = 25000

# Dimensions of one kind, the innermost first.
cdef struct Dimensions:
    int count
    npy_intp size
    npy_intp lengths[MAXIMUM_RANK]
    npy_intp result_strides[MAXIMUM_RANK]      # of the accumulators, in bytes
    npy_intp* strides                          # strides[dimension * inputs + input]

cdef struct Layout:
    Program* program
    LoopFunction function
    void* data
    bint pairwise
    const char* identity           # NULL: starts from the first value
    int value_place
    int itemsize
    LoopFunction copy
    Dimensions kept                # without the inner dimension
    Dimensions reduced             # without the inner dimension
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

    Raises
    ------
    TypeError
        If the ufunc has no such loop.
    ValueError
        For bad axes; from ``prepare``, for shapes that differ and for empty reductions without an identity.
    """

    def __init__(self, inputs, constants, steps, value, loop, axes, accumulator_dtype, output_dtype, keepdims=False):
        self.arguments = (inputs, constants, steps, value, loop, axes, accumulator_dtype, output_dtype, keepdims)
        inputs, constants, steps = list(inputs), list(constants), list(steps)
        self.loop = find_loop(loop, (accumulator_dtype,) * 3)
        if not isinstance(self.loop.owner, numpy.ufunc):
            raise TypeError(f"{self.loop!r} cannot reduce: it is no inner loop of NumPy's form")
        rank = len(inputs[0][1])
        self.reduced = axes_mask(axes, rank)
        self.keepdims = keepdims
        self.pairwise = loop is numpy.add and numpy.dtype(accumulator_dtype).kind in "fc"
        self.itemsize = numpy.dtype(accumulator_dtype).itemsize
        self.cast = NULL
        if accumulator_dtype != output_dtype:
            self.cast = find_loop("cast", (accumulator_dtype, output_dtype)).function
        self.set_identity(loop.identity, accumulator_dtype)
        self.set_producer(inputs, constants, steps, value, accumulator_dtype)

    cdef int set_identity(self, object identity, str dtype) except -1:
        self.has_identity = identity is not None
        cdef cnp.ndarray value
        if self.has_identity:
            value = numpy.array(identity).astype(dtype)
            memcpy(self.identity, cnp.PyArray_DATA(value), self.itemsize)
        return 0

    cdef int set_producer(self, list inputs, list constants, list steps, int value, str dtype) except -1:
        """Build the program; its result, or an input itself, is what is reduced."""
        cdef Py_ssize_t slots = len(inputs) + len(constants) + len(steps)
        dtypes = ([input_dtype for input_dtype, broadcastable in inputs]
                  + [constant.dtype.name for constant in constants]
                  + [signature[len(signature) - 1] for loop, operands, signature in steps])
        if not 0 <= value < slots:
            raise ValueError(f"slot {value} does not exist; there are {slots}")
        if dtypes[value] != dtype:
            steps = steps + [("cast", [value], (dtypes[value], dtype))]
            value = slots
        if value < len(inputs):
            self.program = BlockProgram(inputs, constants, steps, [])
            self.value_place = value
        else:
            self.program = BlockProgram(inputs, constants, steps, [value])
            self.value_place = self.program.program.place_count - 1
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
        if reduced == 0 and kept and not self.has_identity:
            fail_empty(self.loop)
        allocate(context, operands[program.inputs], kept_shape)
        if self.cast != NULL:
            scratch(context, kept * self.itemsize)
        return kept * reduced * (program.cost + self.loop.cost) > RELEASE_NANOSECONDS

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
        layout.function, layout.data = self.loop.function, self.loop.data
        layout.pairwise = self.pairwise
        layout.identity = self.identity if self.has_identity else NULL
        layout.value_place, layout.itemsize = self.value_place, self.itemsize
        layout.copy = copy_function(self.itemsize)
        layout.accumulators = result.data if self.cast == NULL else context.scratch
        layout.bases = <char**>alloca(inputs * sizeof(char*))
        layout.inner_strides = strides
        layout.kept.strides = strides + inputs
        layout.reduced.strides = strides + (rank + 2) * inputs
        for index in range(inputs):
            layout.bases[index] = operands[index].data
        lay_out(&layout, operands, rank, self.reduced)
        layout.block = block_length(&layout)
        if layout.inner_reduced:
            reduce_all(&layout, context, program.cost + self.loop.cost)
        else:
            accumulate_all(&layout, context, program.cost + self.loop.cost)
        if self.cast != NULL:
            cast_results(self.cast, layout.accumulators, self.itemsize, result, kept)
        return 0


cdef int fail_empty(object loop) except -1 with gil:
    raise ValueError(f"zero-size array to reduction operation {loop.name} which has no identity")


cdef void cast_results(LoopFunction cast, char* accumulators, int itemsize, Cell* result,
                       npy_intp count) noexcept nogil:
    cdef char* arguments[2]
    cdef npy_intp strides[2]
    arguments[0], arguments[1] = accumulators, result.data
    strides[0], strides[1] = itemsize, result.itemsize
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
    """Axes longer than 1, the one with the smallest reach first; a short innermost axis gives way to the longest."""
    cdef int inputs = layout.program.inputs
    cdef int axis, place, count = 0, longest
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


cdef void lay_out(Layout* layout, Cell** operands, int rank, unsigned long long mask) noexcept nogil:
    """Sort and join the dimensions, and choose the innermost."""
    cdef int inputs = layout.program.inputs
    cdef int axes[MAXIMUM_RANK]
    cdef npy_intp result_strides[MAXIMUM_RANK]
    cdef npy_intp lengths[MAXIMUM_RANK]
    cdef bint reduced[MAXIMUM_RANK]
    cdef npy_intp* strides = <npy_intp*>alloca((rank + 1) * inputs * sizeof(npy_intp))
    cdef int axis, place, index, dimension = -1, inner = 0
    cdef int count = sorted_axes(layout, operands, rank, axes)
    cdef npy_intp length, stride = layout.itemsize
    cdef bint joins
    for axis in range(rank - 1, -1, -1):
        result_strides[axis] = 0
        if not mask >> axis & 1:
            result_strides[axis] = stride
            stride *= common_length(operands, inputs, axis)
    for place in range(count):
        axis = axes[place]
        length = common_length(operands, inputs, axis)
        joins = (dimension >= 0 and reduced[dimension] == <bint>(mask >> axis & 1)
                 and result_strides[axis] == layout.kept.result_strides[dimension] * lengths[dimension])
        if joins:
            for index in range(inputs):
                if stride_along(operands[index], axis) != strides[dimension * inputs + index] * lengths[dimension]:
                    joins = False
                    break
        if joins:
            lengths[dimension] *= length
            continue
        dimension += 1
        lengths[dimension] = length
        reduced[dimension] = mask >> axis & 1
        layout.kept.result_strides[dimension] = result_strides[axis]
        for index in range(inputs):
            strides[dimension * inputs + index] = stride_along(operands[index], axis)
    count = dimension + 1
    for dimension in range(1, count):
        if lengths[inner] < SHORT and lengths[dimension] > lengths[inner]:
            inner = dimension
    split(layout, count, inner, lengths, reduced, strides)


cdef void split(Layout* layout, int count, int inner, const npy_intp* lengths, const bint* reduced,
                const npy_intp* strides) noexcept nogil:
    """Distribute the joined dimensions to the inner one, the kept and the reduced."""
    cdef int inputs = layout.program.inputs
    cdef int dimension, index
    cdef npy_intp result_stride
    cdef Dimensions* kind
    layout.kept.count = layout.reduced.count = 0
    layout.kept.size = layout.reduced.size = 1
    layout.inner, layout.inner_result_stride, layout.inner_reduced = 1, 0, True
    for index in range(inputs):
        layout.inner_strides[index] = 0
    for dimension in range(count):
        result_stride = layout.kept.result_strides[dimension]
        if dimension == inner:
            layout.inner, layout.inner_reduced = lengths[dimension], reduced[dimension]
            layout.inner_result_stride = result_stride
            for index in range(inputs):
                layout.inner_strides[index] = strides[dimension * inputs + index]
            continue
        kind = &layout.reduced if reduced[dimension] else &layout.kept
        kind.lengths[kind.count] = lengths[dimension]
        kind.result_strides[kind.count] = result_stride
        for index in range(inputs):
            kind.strides[kind.count * inputs + index] = strides[dimension * inputs + index]
        kind.size *= lengths[dimension]
        kind.count += 1


cdef npy_intp block_length(Layout* layout) noexcept nogil:
    cdef Program* program = layout.program
    cdef npy_intp length
    if program.step_count == 0:
        return layout.inner
    length = BLOCK_BYTES // (program.operand_size + layout.itemsize)
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
        registers = block * (program.registers * program.register_size + layout.itemsize) + 64
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
        workspace.strides[layout.value_place] = layout.itemsize


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
    cdef bint first = True
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
        if layout.pairwise:
            if n == stop - start and cascade.count == 0 and pending == 0:
                begin(layout, result, value)
                combine(layout, result, value, workspace.strides[layout.value_place], n)
                return
            if pending == 0:
                begin(layout, part, value)
            combine(layout, part, value, workspace.strides[layout.value_place], n)
            pending += 1
            if pending == rows:
                push(layout, &cascade, part)
                pending = 0
        else:
            if first:
                begin(layout, part, value)
                first = False
            combine(layout, part, value, workspace.strides[layout.value_place], n)
        start += n
        column += n
        if column == layout.inner:
            column = 0
            row += 1
    if pending:
        push(layout, &cascade, part)
    if layout.pairwise:
        finish(layout, &cascade, result)
    else:
        memcpy(result, part, layout.itemsize)


cdef void reduce_pieces(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    """Pieces [start, stop) of one result."""
    cdef Layout* layout = <Layout*>argument
    cdef Workspace workspace
    cdef npy_intp total = layout.reduced.size * layout.inner, piece, first
    make_workspace(layout, <char*>alloca(workspace_size(layout)), &workspace)
    seek_kept(layout, layout.element, &workspace)
    for piece in range(start, stop):
        first = piece * layout.piece
        reduce_span(layout, &workspace, workspace.bases, first,
                    first + layout.piece if first + layout.piece < total else total, layout.partial + 16 * piece)


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
    for element in range(start, stop):
        result = layout.accumulators + seek_kept(layout, element, &workspace)
        reduce_span(layout, &workspace, workspace.bases, 0, layout.reduced.size * layout.inner, result)


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
    for layout.element in range(layout.kept.size):
        parallel(context, reduce_pieces, layout, layout.pieces, 1)
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
            if row == 0 and layout.identity == NULL:
                layout.copy(arguments + 1, &n, strides + 1, NULL)
            else:
                layout.function(arguments, &n, strides, layout.data)
            for index in range(program.inputs):
                workspace.pointers[index] += n * layout.inner_strides[index]
            column += n


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
    if layout.identity != NULL:
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
