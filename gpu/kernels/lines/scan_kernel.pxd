"""Cumulative sums and products on the device; see ``scan_kernel.pyx``."""
from cpython.ref cimport PyObject
from numpy cimport npy_intp

from phintys.gpu.runtime.driver cimport Arguments, put_integer
from phintys.gpu.runtime.kernel cimport DeviceKernel
from phintys.vm.abi cimport Cell, Kernel

cdef enum:                              # ways to do it, as in scan_source.py
    TINY_LINES, SHORT_LINES, LINES, TILES, SEGMENTS, WAYS

cdef class Variant(DeviceKernel):
    pass

cdef class GpuScanKernel(DeviceKernel):
    cdef Kernel host
    cdef object dtype, mode
    cdef list made                      # the variants
    cdef PyObject* variant[2][WAYS]     # of elements, and of totals that are of another type
    cdef int axis, itemsize, itemsize_of_totals
    cdef bint wide                      # totals are of another type than elements
    cdef int make(self, int way, bint of_totals) except -1
    cdef int ready_way(self, int way, bint of_totals) except -1 nogil
    # Compile what is needed for lines without gaps; and make their sums.
    cdef int ready_lines(self, npy_intp lines, npy_intp length, bint of_totals) except -1 nogil
    cdef int along_lines(self, const char* x, const char* out, npy_intp lines, npy_intp length,
                         bint of_totals) noexcept nogil
    cdef int ready_columns(self, npy_intp outer, npy_intp length, npy_intp chunk, bint of_totals) except -1 nogil
    cdef int along_columns(self, const char* x, const char* out, npy_intp outer, npy_intp length, npy_intp chunk,
                           bint of_totals) noexcept nogil
    cdef npy_intp tiles_of(self, npy_intp length, bint of_totals) noexcept nogil
    cdef int way_of_lines(self, npy_intp lines, npy_intp length, bint of_totals) noexcept nogil
    cdef int along_tiles(self, const char* x, const char* out, npy_intp lines, npy_intp length,
                         bint of_totals) noexcept nogil
    cdef int start_way(self, int way, bint of_totals, int kernel, npy_intp blocks, Arguments* arguments) noexcept nogil

# Copy elements to memory in C order. Returns 0, or -1 with an exception set.
cdef int copy_without_gaps(char* target, Cell* source) noexcept nogil

cdef inline void pack(Arguments* arguments, const npy_intp* words, int count) noexcept nogil:
    """The arguments of a launch that are all pointers and ``long long``."""
    cdef int index
    arguments.size, arguments.full = 0, False
    for index in range(count):
        put_integer(arguments, words[index])
