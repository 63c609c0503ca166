"""The order that sorts the rows of a matrix: ``(matrix, out)``, by ``row_order_loops.h``.

``unique`` of rows uses it (``row_order.py``). The order is stable: equal rows stay in their order. The matrix may have
any strides, and is not copied.
"""
from libc.math cimport log2
from libc.stdint cimport int64_t
from numpy cimport npy_intp

from phintys.ops.native.loops import TYPES
from phintys.vm.abi cimport BOUND, RUNS_ALONE, Cell, Context, Kernel, allocate, cell_size, scratch
from phintys.vm.thresholds cimport LONG_SORT

cdef extern from "sorting/row_order_loops.h" nogil:
    ctypedef struct Rows:
        const char* data
        npy_intp count, columns, row_step, column_step
    ctypedef void (*phintys_order_rows)(const Rows* rows, int64_t* order, int64_t* room) noexcept nogil
    const phintys_order_rows phintys_row_orders[14]


cdef class RowOrderKernel(Kernel):
    """See the docstring of the file.

    Parameters
    ----------
    dtype : str
        Of the matrix.
    """
    cdef phintys_order_rows function

    def __cinit__(self):
        self.examined, self.binding = (), BOUND

    def __init__(self, dtype):
        self.function = phintys_row_orders[<int>TYPES.index(dtype)]

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef npy_intp count = operands[0].shape[0]
        allocate(context, operands[1], &count)
        scratch(context, count * sizeof(int64_t))
        return RUNS_ALONE if cell_size(operands[0]) * log2(count + 2.0) >= LONG_SORT else 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Rows rows
        rows.data, rows.count, rows.columns = operands[0].data, operands[0].shape[0], operands[0].shape[1]
        rows.row_step, rows.column_step = operands[0].strides[0], operands[0].strides[1]
        self.function(&rows, <int64_t*>operands[1].data, <int64_t*>context.scratch)
        return 0
