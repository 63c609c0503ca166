"""Products of a matrix in compressed rows and a dense one; ``expansion.py`` has the op.

Rows are summed from the first of their elements on, or, for few columns, by the lanes of a warp, which fold their sums:
in the same order in every run.
"""
from numpy cimport npy_intp

from phintys.gpu.runtime.driver cimport Arguments, put_address, put_integer
from phintys.gpu.runtime.kernel cimport THREADS, DeviceKernel, blocks_for
from phintys.ops.native.integers cimport shape_of
from phintys.vm.abi cimport BOUND, Cell, Context, allocate, cell_is_contiguous, cell_size

from phintys.gpu.kernels.sparse.compressed_source import compressed_source

cdef enum: ELEMENTS, ROWS_OF_FEW    # the kernels
cdef enum: FEW = 4, WARP = 32       # columns


cdef class GpuCompressedProductKernel(DeviceKernel):
    """``(values, positions, starts of rows, dense, out)``; the first three are vectors without gaps.

    Parameters
    ----------
    dtype : str
    columns : int
        Of the matrix in compressed rows.
    """
    cdef npy_intp columns

    def __init__(self, str dtype, npy_intp columns):
        self.source, self.names, self.columns = compressed_source(dtype), ("elements", "rows_of_few"), columns
        self.binding = BOUND

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* dense = operands[3]
        cdef npy_intp shape[2]
        self.ready()
        shape[0], shape[1] = operands[2].shape[0] - 1, dense.shape[1] if dense.ndim == 2 else 1
        if dense.shape[0] != self.columns:
            with gil:
                raise ValueError(f"dimension mismatch: {(shape[0], self.columns)} and {shape_of(dense)}")
        if not (cell_is_contiguous(operands[0]) and cell_is_contiguous(operands[1])
                and cell_is_contiguous(operands[2])):
            with gil:
                raise ValueError("the arrays of a sparse matrix must have no gaps")
        allocate(context, operands[4], shape)
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Arguments arguments
        cdef Cell* dense = operands[3]
        cdef npy_intp count = cell_size(operands[4])
        cdef npy_intp columns = dense.shape[1] if dense.ndim == 2 else 1
        cdef npy_intp rows = operands[2].shape[0] - 1
        cdef int index
        if count == 0:
            return 0
        arguments.size, arguments.full = 0, False
        for index in range(4):
            put_address(&arguments, operands[index])
        put_integer(&arguments, dense.strides[0])
        put_integer(&arguments, dense.strides[1] if dense.ndim == 2 else 0)
        put_address(&arguments, operands[4])
        put_integer(&arguments, rows)
        put_integer(&arguments, columns)
        if columns <= FEW:
            return self.start(ROWS_OF_FEW, blocks_for(rows * WARP), THREADS, &arguments)
        return self.start(ELEMENTS, blocks_for(count), THREADS, &arguments)
