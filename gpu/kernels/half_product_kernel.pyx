"""Products of float16 by cuBLAS, whose tensor cores add up in float32 and round once.

The processor has no kernels for them, so this one is made from the node (``widening.py``). It multiplies matrices and
vectors, or each item of stacks of these. cuBLAS reads operands where they are, if one of their dimensions has no gaps;
others are copied first.
"""
from numpy cimport npy_intp

from phintys.gpu.libraries cimport cublas
from phintys.gpu.runtime.copies cimport copy_elements
from phintys.gpu.runtime.driver cimport fill_bytes, set_failure
from phintys.ops.native.integers cimport shape_of
from phintys.vm.abi cimport BOUND, Cell, Context, Kernel, allocate, cell_size, device_memory
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.pool cimport Buffer, buffer_release

cdef enum:
    SIZE = 2                        # bytes of an element


cdef class GpuHalfProductKernel(Kernel):
    """``(x, y, out)``.

    Parameters
    ----------
    lead : {0, 1}
        Whether the first dimension of both counts items; one of length 1 is that of all.
    left_rank, right_rank : {1, 2}
        Of the items.
    """
    cdef int lead, left_rank, right_rank
    cdef float one, zero

    def __init__(self, int lead, int left_rank, int right_rank):
        self.lead, self.left_rank, self.right_rank = lead, left_rank, right_rank
        self.one, self.zero = 1, 0
        self.examined, self.binding, self.may_fail = (), BOUND, True

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* x = operands[0]
        cdef Cell* y = operands[1]
        cdef npy_intp shape[3]
        cdef int rank = self.lead
        if x.shape[x.ndim - 1] != y.shape[self.lead] or (
                self.lead and x.shape[0] != y.shape[0] and x.shape[0] != 1 and y.shape[0] != 1):
            with gil:
                raise ValueError(f"Shape mismatch: shapes {shape_of(x)} and {shape_of(y)} are not aligned")
        if self.lead:
            shape[0] = x.shape[0] if y.shape[0] == 1 else y.shape[0]
        if self.left_rank == 2:
            shape[rank] = x.shape[self.lead]
            rank += 1
        if self.right_rank == 2:
            shape[rank] = y.shape[self.lead + 1]
        allocate(context, operands[2], shape)
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell x
        cdef Cell y
        cdef npy_intp strides[2][MAX_RANK]
        cdef Buffer* copied[2]
        cdef int error, result, index, failed = 0
        if cell_size(operands[2]) == 0:
            return 0
        if operands[0].shape[operands[0].ndim - 1] == 0:
            error = fill_bytes(operands[2].data, 0, cell_size(operands[2]) * SIZE)
            return set_failure(error, b"a product of nothing") if error else 0
        result = self.multiply(operands[0], operands[1], operands[2])
        if result == cublas.REFUSED:
            copied[0] = without_gaps(&x, operands[0], strides[0])
            copied[1] = without_gaps(&y, operands[1], strides[1])
            result = 2                              # no memory
            if copied[0] != NULL and copied[1] != NULL:
                failed = copy_elements(&x, operands[0]) or copy_elements(&y, operands[1])
                result = 0 if failed else self.multiply(&x, &y, operands[2])
            for index in range(2):
                if copied[index] != NULL:
                    buffer_release(copied[index])
        if failed:
            return -1
        return set_failure(1 if result == cublas.REFUSED else result, b"a product of float16") if result else 0

    cdef int multiply(self, const Cell* x, const Cell* y, const Cell* out) noexcept nogil:
        """By cuBLAS; vectors are matrices of one row or one column."""
        cdef int lead = self.lead
        cdef npy_intp m = 1, n = 1, k = y.shape[lead], xs0 = k, ys1 = 1
        if self.left_rank == 2:
            m, xs0 = x.shape[lead], x.strides[lead] // SIZE
        if self.right_rank == 2:
            n, ys1 = y.shape[lead + 1], y.strides[lead + 1] // SIZE
        if lead:
            return cublas.gemms(
                cublas.HALF, out.shape[0], m, n, k, &self.one, x.data, x.strides[0] // SIZE if x.shape[0] != 1 else 0,
                xs0, x.strides[x.ndim - 1] // SIZE, y.data, y.strides[0] // SIZE if y.shape[0] != 1 else 0,
                y.strides[lead] // SIZE, ys1, &self.zero, out.data)
        return cublas.gemm(cublas.HALF, m, n, k, &self.one, x.data, xs0, x.strides[x.ndim - 1] // SIZE, y.data,
                           y.strides[lead] // SIZE, ys1, &self.zero, out.data)


cdef Buffer* without_gaps(Cell* target, const Cell* source, npy_intp* strides) noexcept nogil:
    """Memory for the elements of a cell in C order, and a cell that shows it; NULL: there is none."""
    cdef Buffer* memory = device_memory.acquire(cell_size(source) * SIZE)
    cdef npy_intp step = SIZE
    cdef int axis
    target[0] = source[0]
    for axis in range(source.ndim - 1, -1, -1):
        strides[axis] = step
        step *= source.shape[axis]
    target.strides = strides
    if memory != NULL:
        target.data = memory.data
    return memory
