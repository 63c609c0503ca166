"""Kernels that join and split arrays: Join (one copy of every input), Split (views) and MakeVector.

The axis is an operand, because it may be computed. A join of arrays of several dtypes casts them in the same pass.
"""
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset
from numpy cimport npy_intp

from numpy.exceptions import AxisError

from phintys.ops.native.asking cimport UNASKED, ends_after
from phintys.ops.native.integers cimport integer_at, shape_of
from phintys.ops.native.loops cimport InnerLoop, LoopFunction, find_loop
from phintys.ops.native.result_shapes cimport integers_of
from phintys.ops.native.strided_copy cimport CopyPlan, copy_in_parts, next_place, plan_copy
from phintys.vm.abi cimport (
    BOUND, BOUND_VIEW, RUNS_ALONE, Binding, BoundRun, Cell, Context, Kernel, allocate, cell_is_contiguous, cell_size,
    share)
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.thresholds cimport LONG_COPY


cdef int fail_axis(str op, npy_intp axis, Cell* array) except -1 with gil:
    raise AxisError(f"{op}: axis {axis} is out of bounds for an array of shape {shape_of(array)}")


def shapes_differ(axis, shapes):
    """The error for arrays that cannot be joined along an axis; None if they can."""
    for index, shape in enumerate(shapes):
        for other, length in enumerate(shape):
            if other != axis and length != shapes[0][other]:
                return ValueError(f"Join: all lengths must be equal but those along axis {axis}; the shapes are "
                                  f"{', '.join(map(str, shapes))}: tensor {index} has length {length} along axis "
                                  f"{other}, where tensor 0 has {shapes[0][other]}")


cdef int fail_shapes(npy_intp axis, int count, Cell** arrays) except -1 with gil:
    raise shapes_differ(axis, [shape_of(arrays[index]) for index in range(count)])


cdef struct Pieces:                 # in the kernel's room
    npy_intp count
    npy_intp bytes[1]               # of each array


cdef class JoinKernel(Kernel):
    """Joins arrays along an axis: ``(axis, x, ..., x, out)``.

    Parameters
    ----------
    dtypes : sequence of str
        The dtypes of the arrays.
    dtype : str
        The dtype of the result.
    view : int
        The number of the array that is returned without a copy if all others are empty along the axis; or -1.
    """
    cdef int count, view
    cdef LoopFunction* casts        # one for each array; NULL if its dtype is that of the result
    cdef list loops                 # owns the loops in `casts`

    def __cinit__(self, dtypes, *rest):
        self.casts = <LoopFunction*>malloc(len(dtypes) * sizeof(LoopFunction))
        if self.casts == NULL:
            raise MemoryError
        self.examined = (0,)
        self.private_bytes = sizeof(Pieces) + len(dtypes) * sizeof(npy_intp)

    def __dealloc__(self):
        free(self.casts)

    def __init__(self, dtypes, dtype, view=-1):
        cdef InnerLoop loop
        self.count, self.view = len(dtypes), view
        self.loops = []
        for index, own in enumerate(dtypes):
            self.casts[<int>index] = NULL
            if own != dtype:
                loop = find_loop("cast", (own, dtype))
                self.loops.append(loop)
                self.casts[<int>index] = loop.function

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell** arrays = operands + 1
        cdef Cell* result = operands[1 + self.count]
        cdef Cell* seen
        cdef npy_intp shape[MAX_RANK]
        cdef npy_intp axis = integer_at(operands[0], 0)
        cdef int index, dimension, rank = result.ndim
        if axis < -rank or axis >= rank:
            fail_axis("Join", axis, arrays[0])
        if axis < 0:
            axis += rank
        memcpy(shape, arrays[0].shape, rank * sizeof(npy_intp))
        for index in range(1, self.count):
            for dimension in range(rank):
                if dimension == axis:
                    shape[dimension] += arrays[index].shape[dimension]
                elif arrays[index].shape[dimension] != shape[dimension]:
                    fail_shapes(axis, self.count, arrays)
        if self.is_view(arrays, axis):
            seen = arrays[self.view]
            memcpy(result.shape, seen.shape, rank * sizeof(npy_intp))
            memcpy(result.strides, seen.strides, rank * sizeof(npy_intp))
            return 0
        allocate(context, result, shape)
        return RUNS_ALONE if cell_size(result) * result.itemsize >= LONG_COPY else 0

    cdef inline bint is_view(self, Cell** arrays, npy_intp axis) noexcept nogil:
        """Whether the result is one of the arrays."""
        cdef int index
        if self.view < 0 or self.casts[self.view] != NULL:
            return False
        for index in range(self.count):
            if index != self.view and arrays[index].shape[axis]:
                return False
        return True

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell** arrays = operands + 1
        cdef Cell* result = operands[1 + self.count]
        cdef Cell* array
        cdef npy_intp axis = integer_at(operands[0], 0)
        cdef char* target
        cdef int index
        if axis < 0:
            axis += result.ndim
        if self.is_view(arrays, axis):
            share(context, result, arrays[self.view], arrays[self.view].data)
            return 0
        target = result.data
        for index in range(self.count):
            array = arrays[index]
            if self.casts[index] == NULL:
                copy_in_parts(context, array.ndim, array.shape, target, result.strides, array.data, array.strides,
                              array.itemsize)
            else:
                cast_strided(context, self.casts[index], array, target, result.strides)
            target += array.shape[axis] * result.strides[axis]
        return 0

    cdef Binding bind(self, Context* context, Cell** operands, BoundRun* bound_run) noexcept nogil:
        cdef npy_intp axis = integer_at(operands[0], 0)
        if axis < 0:
            axis += operands[1].ndim
        if self.is_view(operands + 1, axis):
            return BOUND_VIEW
        if self.note_pieces(<Pieces*>context.private_memory, operands, axis):
            bound_run[0] = join_pieces
        return BOUND

    cdef bint note_pieces(self, Pieces* pieces, Cell** operands, npy_intp axis) noexcept nogil:
        """Note the bytes of each array; returns whether the result is just one after the other, and short."""
        cdef Cell* result = operands[1 + self.count]
        cdef npy_intp index
        for index in range(axis):
            if result.shape[index] != 1:
                return False
        for index in range(self.count):
            if self.casts[index] != NULL or not cell_is_contiguous(operands[1 + index]):
                return False
            pieces.bytes[index] = cell_size(operands[1 + index]) * result.itemsize
        pieces.count = self.count
        return cell_is_contiguous(result) and cell_size(result) * result.itemsize < LONG_COPY


cdef int join_pieces(Context* context, Cell** operands) noexcept nogil:
    """The bound run of a kernel whose arrays follow each other in the result."""
    cdef const Pieces* pieces = <const Pieces*>context.private_memory
    cdef char* target = operands[1 + pieces.count].data
    cdef npy_intp index, size
    for index in range(pieces.count):
        size = pieces.bytes[index]
        if size == sizeof(double):                              # numbers, which are many
            memcpy(target, operands[1 + index].data, sizeof(double))
        else:
            memcpy(target, operands[1 + index].data, size)
        target += size
    return 0


cdef void cast_strided(Context* context, LoopFunction cast, Cell* source, char* target,
                       const npy_intp* strides) noexcept nogil:
    """Copy and convert to another dtype, one line of the last dimension at a time."""
    cdef CopyPlan plan
    cdef char* arguments[2]
    cdef npy_intp steps[2]
    cdef npy_intp index[MAX_RANK]
    cdef const char* line = source.data
    cdef npy_intp length = 1, done, count, unasked = 0
    if plan_copy(&plan, source.ndim, source.shape, strides, source.strides) == 0:
        return
    memset(index, 0, plan.ndim * sizeof(npy_intp))
    steps[0] = steps[1] = 0
    if plan.ndim:
        length, steps[0], steps[1] = plan.shape[plan.ndim - 1], plan.source[plan.ndim - 1], plan.target[plan.ndim - 1]
    while True:
        done = 0
        while done < length:
            arguments[0], arguments[1] = <char*>line + done * steps[0], target + done * steps[1]
            count = min(<npy_intp>UNASKED, length - done)
            cast(arguments, &count, steps, NULL)
            done += count
            if ends_after(context, &unasked, count):
                return
        if not next_place(&plan, plan.ndim - 1, index, &target, &line):
            return


cdef class SplitKernel(Kernel):
    """Parts of an array along an axis, as views: ``(x, axis, lengths, out, ..., out)``."""
    cdef int count

    def __cinit__(self):
        self.examined, self.binding = (1, 2), BOUND_VIEW

    def __init__(self, int count):
        self.count = count

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* source = operands[0]
        cdef Cell* lengths = operands[2]
        cdef Cell* part
        cdef npy_intp axis = integer_at(operands[1], 0)
        cdef npy_intp length, total = 0
        cdef bint negative = False
        cdef int index
        if axis < -source.ndim or axis >= source.ndim:
            fail_axis("Split", axis, source)
        if axis < 0:
            axis += source.ndim
        if lengths.shape[0] != self.count:
            with gil:
                raise ValueError(f"Split: there are {self.count} parts, but {lengths.shape[0]} lengths")
        for index in range(self.count):
            part = operands[3 + index]
            length = integer_at(lengths, index)
            negative = negative or length < 0
            total += length
            memcpy(part.shape, source.shape, source.ndim * sizeof(npy_intp))
            memcpy(part.strides, source.strides, source.ndim * sizeof(npy_intp))
            part.shape[axis] = length
        if negative or total != source.shape[axis]:
            with gil:
                if negative:
                    raise ValueError(f"Split: a part cannot have a negative length; the lengths are "
                                     f"{list(integers_of(lengths))}")
                raise ValueError(f"Split: the lengths {list(integers_of(lengths))} sum to {total}, expected "
                                 f"{source.shape[axis]}, the length of axis {axis} of an array of shape "
                                 f"{shape_of(source)}")
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* source = operands[0]
        cdef npy_intp axis = integer_at(operands[1], 0)
        cdef npy_intp start = 0
        cdef int index
        if axis < 0:
            axis += source.ndim
        for index in range(self.count):
            share(context, operands[3 + index], source, source.data + start * source.strides[axis])
            start += operands[3 + index].shape[axis]
        return 0


cdef class MakeVectorKernel(Kernel):
    """Makes a vector from 0-d operands of one dtype: ``(x, ..., x, out)``."""
    cdef npy_intp count

    def __cinit__(self):
        self.examined, self.binding = (), BOUND

    def __init__(self, npy_intp count):
        self.count = count

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        allocate(context, operands[self.count], &self.count)
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* result = operands[self.count]
        cdef npy_intp index
        for index in range(self.count):
            memcpy(result.data + index * result.itemsize, operands[index].data, result.itemsize)
        return 0
