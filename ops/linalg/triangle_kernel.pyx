"""One triangle of every matrix in an array, with zeros elsewhere: ``(m, diagonal, out)``.

Each row is divided into a piece that is copied and a piece that is cleared. If the result is in the memory of the
array, only the pieces to be cleared are written.
"""
from libc.string cimport memset
from numpy cimport npy_intp

from phintys.ops.native.asking cimport clear, ends_after
from phintys.ops.native.integers cimport integer_at
from phintys.ops.native.strided_copy cimport copy_in_parts, next_part
from phintys.vm.abi cimport BOUND, RUNS_ALONE, Cell, Context, Kernel, allocate, cell_size
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.thresholds cimport LONG_COPY

cdef enum:
    ROW = 16                        # elements that a row takes as long as, besides its own


cdef class TriangleKernel(Kernel):
    """See the docstring of the file.

    Parameters
    ----------
    upper : bool
        Whether to keep the elements on and above the diagonal; otherwise those on and below it are kept.
    """
    cdef bint upper

    def __cinit__(self):
        self.examined, self.binding = (), BOUND

    def __init__(self, bint upper):
        self.upper = upper

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        allocate(context, operands[2], operands[0].shape)
        return RUNS_ALONE if cell_size(operands[0]) * operands[0].itemsize >= LONG_COPY else 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* source = operands[0]
        cdef Cell* result = operands[2]
        cdef npy_intp diagonal = integer_at(operands[1], 0)
        cdef int rank = source.ndim
        cdef npy_intp columns = source.shape[rank - 1], row_bytes = columns * source.itemsize
        cdef npy_intp unasked = 0
        cdef npy_intp index[MAX_RANK]
        cdef char* line = source.data
        cdef char* target = result.data
        if cell_size(source) == 0:
            return 0
        memset(index, 0, sizeof(index))
        while True:
            self.copy_row(context, source, line, target, index[rank - 2] + diagonal, columns)
            target += row_bytes
            if not next_part(source, rank - 1, index, &line) or ends_after(context, &unasked, columns + ROW):
                return 0

    cdef inline void copy_row(self, Context* context, const Cell* source, char* line, char* target, npy_intp place,
                              npy_intp columns) noexcept nogil:
        """Process one row, whose element on the diagonal is at ``place``."""
        cdef npy_intp itemsize = source.itemsize, stride = source.strides[source.ndim - 1]
        cdef npy_intp start = 0, stop = columns, count
        if self.upper:
            start = 0 if place < 0 else columns if place > columns else place
        else:
            stop = 0 if place < -1 else columns if place >= columns else place + 1
        count = stop - start
        clear(context, target, start * itemsize)
        clear(context, target + stop * itemsize, (columns - stop) * itemsize)
        if line != target:                           # they are equal if the linker chose to run in place
            copy_in_parts(context, 1, &count, target + start * itemsize, &itemsize, line + start * stride, &stride,
                          source.itemsize)
