# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""A kernel built outside phintys: the moving average of a float64 vector."""
from numpy cimport npy_intp
from phintys.vm.abi cimport ABI_VERSION, BOUND, Cell, Context, Kernel, allocate

from phintys.vm.abi import abi_version

# ABI_VERSION was compiled into this module; abi_version() returns that of the installed phintys.
if abi_version() != ABI_VERSION:
    raise ImportError(f"moving_average_kernel was built for kernel contract {ABI_VERSION}, "
                      f"the installed phintys has {abi_version()}; build it again")


cdef class MovingAverageKernel(Kernel):
    """Mean of each `window` adjacent elements; the result is `window - 1` elements shorter than the input."""
    cdef readonly npy_intp window

    def __init__(self, npy_intp window):
        self.window = window
        self.examined = ()                      # `prepare` reads shapes only, no values:
        self.binding = BOUND                    # it need not be called again while they stay the same

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef npy_intp length = operands[0].shape[0] - self.window + 1
        if length < 1:
            with gil:
                raise ValueError(f"MovingAverage: a window of {self.window} does not fit into a vector of length "
                                 f"{operands[0].shape[0]}")
        allocate(context, operands[1], &length)
        return length * self.window > 20000     # about 20 microseconds: long enough to release the GIL

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef const char* source = operands[0].data
        cdef npy_intp stride = operands[0].strides[0]           # in bytes; it may be negative
        cdef double* result = <double*>operands[1].data
        cdef double total                       # summed anew: a running sum would accumulate rounding errors
        cdef npy_intp index, neighbour
        for index in range(operands[1].shape[0]):
            total = 0
            for neighbour in range(index, index + self.window):
                total += (<double*>(source + neighbour * stride))[0]
            result[index] = total / self.window
        return 0
