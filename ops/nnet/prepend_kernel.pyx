"""The kernel that prepends a constant column to a matrix.

``prepend.py`` makes it, for one constant or for a number that is an operand. Rows may have gaps and any order; the
result has none. It is not computed in place, as every element moves.
"""
from libc.string cimport memcpy
from numpy cimport npy_intp

import numpy

from phintys.ops.native.strided_copy cimport copy_in_parts
from phintys.vm.abi cimport BOUND, RUNS_ALONE, Cell, Context, Kernel, allocate, cell_size
from phintys.vm.thresholds cimport LONG_PREPEND

cdef enum:
    ITEM_BYTES = 16                # at most, of a number


cdef class PrependKernel(Kernel):
    """Prepends a column to a matrix: ``(number, matrix, out)``, or ``(matrix, out)`` for a constant number.

    Parameters
    ----------
    number : 0-d array, optional
        A constant number of the matrix's dtype; if it is omitted, the first operand is the number.
    """
    cdef char number[ITEM_BYTES]
    cdef bint is_known

    def __cinit__(self):
        self.examined, self.binding = (), BOUND

    def __init__(self, number=None):
        cdef bytes content
        self.is_known = number is not None
        if self.is_known:
            content = numpy.asarray(number).tobytes()
            memcpy(self.number, <const char*>content, len(content))

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* matrix = operands[not self.is_known]
        cdef npy_intp shape[2]
        shape[0], shape[1] = matrix.shape[0], matrix.shape[1] + 1
        allocate(context, operands[1 + (not self.is_known)], shape)
        return RUNS_ALONE if cell_size(matrix) * matrix.itemsize > LONG_PREPEND else 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* matrix = operands[not self.is_known]
        cdef Cell* out = operands[1 + (not self.is_known)]
        cdef npy_intp column[2]
        cdef npy_intp repeated[2]
        cdef const char* number = operands[0].data
        if self.is_known:
            number = self.number
        column[0], column[1] = matrix.shape[0], 1
        repeated[0] = repeated[1] = 0
        copy_in_parts(context, 2, column, out.data, out.strides, number, repeated, out.itemsize)
        copy_in_parts(context, 2, matrix.shape, out.data + out.itemsize, out.strides, matrix.data, matrix.strides,
                      out.itemsize)
        return 0
