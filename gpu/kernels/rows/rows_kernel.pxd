"""Kernels that work on rows; see ``rows_kernel.pyx``."""
from numpy cimport npy_intp

from phintys.gpu.runtime.driver cimport Arguments
from phintys.gpu.runtime.kernel cimport DeviceKernel
from phintys.vm.abi cimport Cell

cdef enum:
    MOST_POINTERS = 24              # operands of a kernel on the device
    MOST_WORDS = 160                # of the strides of all of them, along the rows or inside
    MOST_STAGES = 8                 # of rows that are split
    MOST_VARIANTS = 2304
    MOST_SPLIT = 16 * (MOST_STAGES + 1)         # kernels of variants that are split

cdef struct Layout:                 # of the operands of a call, after dimensions were joined
    npy_intp rows, count            # how many rows there are, and elements of a row
    npy_intp splits                 # blocks of a row, where several kernels work on it; 1: one does it
    int lanes                       # threads of a row
    int threads                     # of a block
    int variant
    int joined[2]                   # how many dimensions the rows have, and the elements of each
    npy_intp lengths[2][MOST_WORDS]             # of these dimensions, the innermost first
    npy_intp strides[2][MOST_WORDS]             # of each operand, dimension by dimension

cdef class RowsKernel(DeviceKernel):
    cdef object rows                            # what is computed; see ``rows_source.py``
    cdef object streamed                        # the same for rows that are not kept in registers
    cdef int rank, inner, pointers, pack, registers, stages
    cdef int partial_at                         # where the addresses of partial folds are among the arguments
    cdef int itemsizes[MOST_POINTERS]
    cdef bint wide[MOST_POINTERS]
    cdef signed char dimensions[MOST_WORDS]     # of each operand, the dimension that each axis is; -1: it has none
    # Set what is computed; of each operand on the device, the dimension that each axis is, or -1.
    cdef int set_rows(self, rows, dimensions, streamed=*) except -1
    # How the operands on the device, in order, are laid out in a call, for an array of this shape.
    cdef void lay_out(self, Cell** cells, const npy_intp* shape, Layout* layout) noexcept nogil
    # In `prepare`: load the variant for a call. It is the one of `run` unless addresses change.
    cdef int prepare_rows(self, Cell** cells, const npy_intp* shape) except -1 nogil
    # Lay out, and begin the arguments of launches; numbers and further parameters follow.
    cdef void put_rows(self, Cell** cells, const npy_intp* shape, Layout* layout, Arguments* arguments) noexcept nogil
    cdef int run_rows(self, Cell** operands, const Cell* like) noexcept nogil
    cdef int start_rows(self, const Layout* layout, Arguments* arguments) noexcept nogil
    cdef int start_stages(self, const Layout* layout, Arguments* arguments, char* partial) noexcept nogil
