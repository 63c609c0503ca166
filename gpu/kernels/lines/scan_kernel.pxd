"""Cumulative sums and products on the device; see ``scan_kernel.pyx``."""
from numpy cimport npy_intp

from phintys.gpu.runtime.driver cimport Arguments, put_integer
from phintys.gpu.runtime.kernel cimport DeviceKernel
from phintys.vm.abi cimport Cell, Context, Kernel

cdef class GpuScanKernel(DeviceKernel):
    cdef Kernel host
    cdef int axis, itemsize, itemsize_of_totals
    cdef bint wide                      # totals are of another type than elements
    cdef int along_lines(self, const char* x, const char* out, npy_intp lines, npy_intp length,
                         bint of_totals) noexcept nogil
    cdef int along_columns(self, const char* x, const char* out, npy_intp outer, npy_intp length, npy_intp chunk,
                           bint of_totals) noexcept nogil

# Copy elements to memory in C order. Returns 0, or -1 with an exception set.
cdef int copy_without_gaps(char* target, Cell* source) noexcept nogil

cdef inline void pack(Arguments* arguments, const npy_intp* words, int count) noexcept nogil:
    """The arguments of a launch that are all pointers and ``long long``."""
    cdef int index
    arguments.size, arguments.full = 0, False
    for index in range(count):
        put_integer(arguments, words[index])
