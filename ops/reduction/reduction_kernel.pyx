"""Reductions over any axes, with an elementwise producer in the same pass.

Sums, products and tests are folded by built-in loops where there are some (``folds.py``), else by a ufunc's inner
loop, which reduces when its result is its first operand with stride 0. Dimensions are sorted by stride and joined; the
innermost is either reduced (lines make partial results) or kept (lines are added to a line of accumulators).
Accumulators are in the order in which the input is walked; results are in C order. Blocks, lines, and pieces of large
reductions are combined pairwise where rounding matters, so the error grows with the logarithm of the length. Pieces
depend on the shape alone: the result does not depend on the number of workers or on their timing.

This file has the kernels. The rest of the module is included, so that one compiler sees all of it:

* ``walk_plan.pxi``: the dimensions that the loops walk, derived from the operands' shapes and strides
* ``reduction_walk.pxi``: positions, workspaces and accumulators, which all loops need
* ``reduced_lines.pxi``, ``kept_lines.pxi``: the loops, for an innermost dimension that is reduced or kept
* ``reduction_results.pxi``: results from accumulators
"""
cimport numpy as cnp
from libc.stdint cimport uintptr_t
from libc.string cimport memcpy
from numpy cimport npy_intp

import numpy

from phintys.ops.elementwise.scalar_code import ScalarCode
from phintys.ops.elementwise.block_code cimport (
    BlockCode, BlockTables, axes_mask, broadcast_shape, kept_dimensions, run_block, set_operands)
from phintys.ops.reduction.folds import KINDS, choose_fold
from phintys.ops.native.loops import TYPES
from phintys.ops.native.asking cimport UNASKED, ends_after
from phintys.ops.native.joined_dimensions cimport join_axis, stride_along
from phintys.ops.native.loops cimport LoopFunction, copy_function, find_loop
from phintys.ops.native.sets cimport usable_set
from phintys.ops.native.strided_copy cimport copy_strided
from phintys.vm.abi cimport (
    BOUND, RUNS_ALONE, Binding, BoundRun, Cell, Context, Kernel, allocate, cell_size, parallel, scratch)
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.python_api cimport PyObject
from phintys.vm.thresholds cimport LONG_NANOSECONDS, PIECE_NANOSECONDS

cnp.import_array()

cdef extern from "reduction/reduction_loops.h" nogil:
    const phintys_fold* phintys_find_fold(int kind, int type, int set)

cdef extern from "alloca.h" nogil:
    void* alloca(size_t)

cdef double FOLD_COST = 0.08       # nanoseconds an element

include "walk_plan.pxi"
include "reduction_walk.pxi"
include "reduced_lines.pxi"
include "kept_lines.pxi"
include "reduction_results.pxi"


# What is in the kernel's private memory. After it: the bases and the arrays of the walk.
cdef struct Bound:
    PyObject* kernel
    ReductionWalk walk


# In the same place where one call of a fold is all there is to do.
cdef struct OneFold:
    const phintys_fold* fold
    bint by_columns                # lines are added to a line of results; else each line has one result
    int value, result              # numbers of the operands
    npy_intp stride, length        # of a line
    npy_intp next_line, lines, next_result
    double divisor                 # 0: none


cdef class ReductionKernel(Kernel):
    """Reduce a value computed from operands over some axes.

    Parameters
    ----------
    code : ScalarCode
        Its only result is cast to ``accumulator_dtype`` and reduced; there may be no steps.
    patterns : sequence of tuple of bool
        Broadcastable pattern of each input, all of the same rank.
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

    def __cinit__(self):
        self.examined, self.binding = (), BOUND

    def __init__(self, code, patterns, loop, axes, accumulator_dtype, output_dtype, keepdims=False, identity=None):
        self.loop = find_loop(loop, (accumulator_dtype,) * 3)
        if not isinstance(self.loop.owner, numpy.ufunc):
            raise TypeError(f"{self.loop!r} cannot reduce: it is no inner loop of NumPy's form")
        rank = len(patterns[0])
        self.reduced = axes_mask(axes, rank)
        self.keepdims = keepdims
        self.pairwise = loop in (numpy.add, numpy.multiply) and numpy.dtype(accumulator_dtype).kind in "fc"
        self.itemsize = numpy.dtype(accumulator_dtype).itemsize
        self.cast = NULL
        if accumulator_dtype != output_dtype:
            self.cast = find_loop("cast", (accumulator_dtype, output_dtype)).function
        self.set_identity(loop.identity if identity is None else identity, accumulator_dtype)
        self.set_producer(code, list(patterns), loop, accumulator_dtype, output_dtype)
        self.private_bytes = sizeof(Bound) + len(patterns) * <int>sizeof(char*) + (
            walk_numbers(rank, len(patterns)) * <int>sizeof(npy_intp))

    cdef int set_identity(self, object identity, str dtype) except -1:
        self.has_identity = identity is not None
        cdef cnp.ndarray value
        if self.has_identity:
            value = numpy.array(identity).astype(dtype)
            memcpy(self.identity, cnp.PyArray_DATA(value), self.itemsize)
        return 0

    cdef int set_producer(self, object code, list patterns, object loop, str accumulator, str output) except -1:
        """Choose the fold and build the block code; its result, or an input itself, is what is reduced."""
        kind, code = choose_fold(loop, code, accumulator, output)
        value, = code.outputs
        self.fold, self.cost = NULL, self.loop.cost
        if kind is not None:
            self.fold = phintys_find_fold(KINDS.index(kind), TYPES.index(code.dtypes[value]), usable_set())
            self.cost = FOLD_COST
        elif code.dtypes[value] != accumulator:
            cast = "cast", [value], [code.dtypes[value], accumulator]
            value = len(code.dtypes)
            code = ScalarCode(code.input_dtypes, code.constants, [*code.steps, cast], [value])
        if value < len(patterns):
            self.blocks = BlockCode(code.with_outputs(()), patterns)
            self.value_operand = value
        else:
            self.blocks = BlockCode(code, patterns)
            self.value_operand = self.blocks.tables.operand_count - 1
        self.value_size = numpy.dtype(code.dtypes[value]).itemsize
        self.cost += self.blocks.tables.cost
        return 0

    @property
    def providers(self):
        """Names of loops, and whose they are, in the order of the steps; the last one reduces."""
        last = self.loop.name, self.loop.provider if self.fold == NULL else "phintys"
        return [(loop.name, loop.provider) for loop, _ in self.blocks.calls] + [last]

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef BlockTables* blocks = &self.blocks.tables
        cdef npy_intp shape[MAX_RANK]
        cdef npy_intp kept_shape[MAX_RANK]
        cdef npy_intp kept = 1, reduced = 1
        broadcast_shape(blocks, operands, self.blocks.rank, shape)
        kept_dimensions(self.blocks.rank, self.reduced, self.keepdims, shape, kept_shape, &kept, &reduced)
        if reduced == 0 and not self.has_identity:
            fail_empty(self.loop)
        allocate(context, operands[blocks.inputs], kept_shape)
        if self.cast != NULL or not accumulates_in_order(self, operands):
            scratch(context, kept * self.itemsize)
        if kept * reduced * self.cost <= LONG_NANOSECONDS:
            return 0
        return RUNS_ALONE if kept * reduced * self.cost < 2 * PIECE_NANOSECONDS else 1

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef int inputs = self.blocks.tables.inputs
        cdef ReductionWalk walk
        if cell_size(operands[inputs]) == 0:
            return 0
        walk.bases = <char**>alloca(inputs * sizeof(char*))
        fill(self, &walk, <npy_intp*>alloca(walk_numbers(self.blocks.rank, inputs) * sizeof(npy_intp)), operands)
        reduce(self, &walk, context, operands)
        return 0

    cdef Binding bind(self, Context* context, Cell** operands, BoundRun* bound_run) noexcept nogil:
        cdef Bound* bound = <Bound*>context.private_memory
        cdef int inputs = self.blocks.tables.inputs
        if cell_size(operands[inputs]):
            bound.kernel = <PyObject*>self
            bound.walk.bases = <char**>(bound + 1)
            fill(self, &bound.walk, <npy_intp*>(bound.walk.bases + inputs), operands)
            bound_run[0] = fold_once if find_one_fold(self, context) else reduce_bound
        return BOUND


# ---- the work --------------------------------------------------------------------------------------------------------
cdef void fill(ReductionKernel kernel, ReductionWalk* walk, npy_intp* memory, Cell** operands) noexcept nogil:
    """All that does not depend on addresses."""
    cdef int axis, rank = kernel.blocks.rank
    walk.blocks = &kernel.blocks.tables
    walk.fold = kernel.fold
    walk.function, walk.data = kernel.loop.function, kernel.loop.data
    walk.pairwise = kernel.pairwise
    walk.identity = kernel.identity if kernel.has_identity else NULL
    walk.value_operand, walk.value_size, walk.itemsize = kernel.value_operand, kernel.value_size, kernel.itemsize
    walk.copy = copy_function(kernel.itemsize)
    set_arrays(walk, memory, rank)
    plan_walk(walk, operands, rank, kernel.reduced)
    walk.block = block_length(walk)
    walk.divisor = 0
    if kernel.divides:
        walk.divisor = 1
        for axis in range(rank):
            if kernel.reduced >> axis & 1:
                walk.divisor *= common_length(operands, walk.blocks.inputs, axis)


cdef void reduce(ReductionKernel kernel, ReductionWalk* walk, Context* context, Cell** operands) noexcept nogil:
    """The work of a walk, for the operands' addresses. The result has elements."""
    cdef Cell* result = operands[walk.blocks.inputs]
    cdef int index
    walk.context = context
    for index in range(walk.blocks.inputs):
        walk.bases[index] = operands[index].data
    walk.accumulators = result.data if kernel.cast == NULL and walk.in_order else context.scratch
    if walk.inner_reduced:
        reduce_all(walk, context, kernel.cost)
    else:
        accumulate_all(walk, context, kernel.cost)
    if walk.accumulators != result.data:
        hand_out(walk, kernel.cast, result, cell_size(result), kernel.reduced, kernel.keepdims)
    if kernel.divides:
        divide(result, walk.divisor)


cdef int reduce_bound(Context* context, Cell** operands) noexcept nogil:
    """The bound run of a kernel that is bound."""
    cdef Bound* bound = <Bound*>context.private_memory
    reduce(<ReductionKernel>bound.kernel, &bound.walk, context, operands)
    return 0


cdef bint find_one_fold(ReductionKernel kernel, Context* context) noexcept nogil:
    """Replace a walk, in private memory, by the only call of its fold, if there is one."""
    cdef OneFold* one = <OneFold*>context.private_memory
    cdef ReductionWalk* walk = &(<Bound*>context.private_memory).walk
    cdef Dimensions* others = &walk.kept if walk.inner_reduced else &walk.reduced
    cdef Dimensions* none = &walk.reduced if walk.inner_reduced else &walk.kept
    cdef npy_intp size = others.size * walk.inner, stride, next_line, next_result
    cdef double divisor = walk.divisor
    cdef bint by_columns = not walk.inner_reduced
    cdef npy_intp length = walk.inner, lines = others.size
    if (walk.fold == NULL or walk.blocks.call_count or kernel.cast != NULL or not walk.in_order
            or none.count or others.count > 1 or size == 0 or size * kernel.cost > LONG_NANOSECONDS
            or (by_columns and length > COLUMNS)):
        return False
    stride = walk.inner_strides[walk.value_operand]
    next_line = others.strides[walk.value_operand] if others.count else 0
    next_result = others.result_strides[0] if others.count else 0
    one.fold, one.by_columns, one.divisor = kernel.fold, by_columns, divisor
    one.value, one.result = kernel.value_operand, kernel.blocks.tables.inputs
    one.stride, one.length = stride, length
    one.next_line, one.lines, one.next_result = next_line, lines, next_result
    return True


cdef int fold_once(Context* context, Cell** operands) noexcept nogil:
    """The bound run of ``OneFold``."""
    cdef const OneFold* one = <const OneFold*>context.private_memory
    cdef const char* data = operands[one.value].data
    cdef Cell* result = operands[one.result]
    if one.by_columns:
        one.fold.columns(data, one.stride, one.length, one.next_line, one.lines, result.data, True)
    else:
        one.fold.rows(data, one.stride, one.length, one.next_line, one.lines, result.data, one.next_result, True)
    if one.divisor != 0:
        divide(result, one.divisor)
    return 0


cdef class MeanKernel(ReductionKernel):
    """Sums divided by the number of elements; parameters as for ``ReductionKernel``, results float64 or complex128."""

    def __cinit__(self):
        self.divides = True


cdef void divide(Cell* result, double divisor) noexcept nogil:
    """Divide sums, float64 or complex128."""
    cdef double* parts = <double*>result.data
    cdef npy_intp position
    for position in range(cell_size(result) * (result.itemsize // <npy_intp>sizeof(double))):
        parts[position] /= divisor


cdef bint accumulates_in_order(ReductionKernel kernel, Cell** operands) noexcept nogil:
    """Whether the order of the walk is that of the results."""
    cdef BlockTables* blocks = &kernel.blocks.tables
    cdef int axis, long_axes = 0, rank = kernel.blocks.rank
    cdef ReductionWalk walk
    for axis in range(rank):
        long_axes += not kernel.reduced >> axis & 1 and common_length(operands, blocks.inputs, axis) != 1
    if long_axes < 2:
        return True
    walk.blocks, walk.fold, walk.itemsize = blocks, kernel.fold, kernel.itemsize
    set_arrays(&walk, <npy_intp*>alloca(walk_numbers(rank, blocks.inputs) * sizeof(npy_intp)), rank)
    plan_walk(&walk, operands, rank, kernel.reduced)
    return walk.in_order


cdef int fail_empty(object loop) except -1 with gil:
    raise ValueError(f"zero-size array to reduction operation {loop.name} which has no identity")
