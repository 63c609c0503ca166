"""Kernels of diagonals: a view of diagonals, and an array in which diagonals are set.

The stride along a diagonal of a matrix is the sum of the strides of both dimensions.
"""
from numpy cimport npy_intp

from phintys.ops.native.integers cimport shape_of
from phintys.ops.native.result_shapes cimport tuple_of
from phintys.ops.native.strided_copy cimport clear_in_parts, copy_in_parts
from phintys.vm.abi cimport (
    BOUND, BOUND_VIEW, RUNS_ALONE, Cell, Context, Kernel, allocate, cell_size, interrupted, share)
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.thresholds cimport LONG_COPY

# The layout of the diagonals of the matrices in an array: the other dimensions come first, the diagonal is the last.
cdef struct Diagonals:
    char* data
    npy_intp shape[MAX_RANK]
    npy_intp strides[MAX_RANK]


cdef void locate(const Cell* array, npy_intp offset, int first, int second, Diagonals* found) noexcept nogil:
    """Locate the diagonals number ``offset`` of the matrices along dimensions ``first`` and ``second``."""
    cdef npy_intp rows = array.shape[first] + (offset if offset < 0 else 0)
    cdef npy_intp columns = array.shape[second] - (offset if offset > 0 else 0)
    cdef npy_intp length = rows if rows < columns else columns
    cdef int axis, kept = 0
    for axis in range(array.ndim):
        if axis != first and axis != second:
            found.shape[kept], found.strides[kept] = array.shape[axis], array.strides[axis]
            kept += 1
    found.shape[kept] = length if length > 0 else 0
    found.strides[kept] = array.strides[first] + array.strides[second]
    found.data = array.data
    if length > 0:
        found.data += offset * array.strides[second] if offset > 0 else -offset * array.strides[first]


cdef class DiagonalsKernel(Kernel):
    """Base of kernels of the diagonals number ``offset`` of the matrices along dimensions ``first`` and ``second``."""
    cdef npy_intp offset
    cdef int first, second

    def __cinit__(self):
        self.examined, self.binding = (), BOUND

    def __init__(self, npy_intp offset, int first, int second):
        self.offset, self.first, self.second = offset, first, second


cdef class ExtractDiagKernel(DiagonalsKernel):
    """A view of diagonals: ``(x, out)``."""

    def __cinit__(self):
        self.binding = BOUND_VIEW

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* view = operands[1]
        cdef Diagonals found
        cdef int axis
        locate(operands[0], self.offset, self.first, self.second, &found)
        for axis in range(view.ndim):
            view.shape[axis], view.strides[axis] = found.shape[axis], found.strides[axis]
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Diagonals found
        if cell_size(operands[1]) == 0:
            allocate(context, operands[1], operands[1].shape)      # nothing is allocated for an empty view
            return 0
        locate(operands[0], self.offset, self.first, self.second, &found)
        share(context, operands[1], operands[0], found.data)
        return 0


cdef class SetDiagonalKernel(DiagonalsKernel):
    """A copy of ``x`` in which the diagonals are set to ``y``, which is broadcast: ``(x, y, out)``."""

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* value = operands[1]
        cdef Diagonals found
        cdef int axis, lead = operands[0].ndim - 1 - value.ndim
        locate(operands[0], self.offset, self.first, self.second, &found)
        for axis in range(value.ndim):
            if value.shape[axis] != 1 and value.shape[axis] != found.shape[lead + axis]:
                with gil:
                    raise ValueError(f"could not broadcast a value of shape {shape_of(value)} to the diagonal, which "
                                     f"has shape {tuple_of(found.shape, operands[0].ndim - 1)}")
        allocate(context, operands[2], operands[0].shape)
        return RUNS_ALONE if cell_size(operands[2]) * operands[2].itemsize >= LONG_COPY else 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* value = operands[1]
        cdef Cell* result = operands[2]
        cdef Diagonals found
        cdef npy_intp strides[MAX_RANK]
        cdef int axis, rank = result.ndim - 1, lead = rank - value.ndim
        copy_array(context, operands[0], result)
        locate(result, self.offset, self.first, self.second, &found)
        for axis in range(rank):
            strides[axis] = 0 if axis < lead or value.shape[axis - lead] == 1 else value.strides[axis - lead]
        if not interrupted(context):
            copy_in_parts(context, rank, found.shape, found.data, found.strides, value.data, strides, value.itemsize)
        return 0


cdef inline void copy_array(Context* context, const Cell* array, Cell* result) noexcept nogil:
    if result.data != array.data:                    # they are equal if the linker chose to run in place
        copy_in_parts(context, array.ndim, array.shape, result.data, result.strides, array.data, array.strides,
                      array.itemsize)


cdef class AllocDiagKernel(DiagonalsKernel):
    """Zeros except for one diagonal of every matrix: ``(diagonals, out)``; ``first`` < ``second`` are the dimensions of
    the matrices in the result."""

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* values = operands[0]
        cdef npy_intp shape[MAX_RANK]
        cdef int axis, taken = 0
        for axis in range(operands[1].ndim):
            if axis == self.first or axis == self.second:
                shape[axis] = values.shape[values.ndim - 1] + (self.offset if self.offset > 0 else -self.offset)
            else:
                shape[axis] = values.shape[taken]
                taken += 1
        allocate(context, operands[1], shape)
        return RUNS_ALONE if cell_size(operands[1]) * operands[1].itemsize >= LONG_COPY else 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* values = operands[0]
        cdef Cell* result = operands[1]
        cdef Diagonals found
        clear_in_parts(context, result.data, cell_size(result) * result.itemsize)
        locate(result, self.offset, self.first, self.second, &found)
        if not interrupted(context):
            copy_in_parts(context, values.ndim, found.shape, found.data, found.strides, values.data, values.strides,
                          values.itemsize)
        return 0
