"""Copies of elements on the device, for any strides.

They are walks (``walk_source.py``) without arithmetic, one for each size of an element. Dimensions are joined first,
and at most ``MOST_DIMENSIONS`` may be left.
"""

from phintys.gpu.kernels.walk_kernel cimport WalkKernel
from phintys.gpu.runtime cimport driver
from phintys.vm.abi cimport Cell, cell_size

import numpy

from phintys.gpu.kernels.walk_source import ARRAY, Walk

MOST_DIMENSIONS = 12
DTYPES = "uint8", "uint16", "uint32", "uint64", "complex128"            # of 1 to 16 bytes


cdef class CopyKernel(WalkKernel):
    """``(x, out)``, of elements of one size; ``wider`` is for the next size."""
    cdef int size
    cdef CopyKernel wider

    def __init__(self, dtype, wider):
        self.size, self.wider = numpy.dtype(dtype).itemsize, wider
        self.adopt(copy_walk(dtype))

    cdef int copy(self, Cell** operands) noexcept nogil:
        if self.size < operands[0].itemsize and self.wider is not None:
            return self.wider.copy(operands)
        return self.walk(operands, operands[0].ndim, operands[0].shape)


def copy_walk(dtype):
    """The walk of copies of elements as large as those of a dtype."""
    return Walk([(dtype, ARRAY)], [dtype], MOST_DIMENSIONS, lambda inputs, results: [f"{results[0]} = {inputs[0]};"])


cdef CopyKernel narrowest = None
for dtype in reversed(DTYPES):
    narrowest = CopyKernel(dtype, narrowest)


cdef int copy_elements(Cell* target, Cell* source) noexcept nogil:
    """Copy elements between cells of one shape, which need not be in C order."""
    cdef Cell* operands[2]
    operands[0], operands[1] = source, target
    return narrowest.copy(operands) if cell_size(source) else 0


cdef int strided(Cell* target, Cell* source) except -1 nogil:
    return copy_elements(target, source)


driver.strided_copy = strided
