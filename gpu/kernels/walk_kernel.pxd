"""The launch of kernels that do the same to each element; see ``walk_kernel.pyx``."""
from numpy cimport npy_intp

from phintys.gpu.runtime.kernel cimport DeviceKernel
from phintys.vm.abi cimport Cell
from phintys.vm.limits cimport MAX_RANK

cdef enum:
    MOST_POINTERS = 32              # and as many values; the arguments of a launch have 4096 bytes
    MOST_WORDS = 450                # of all strides and lengths

cdef struct Plan:                   # arrays of one shape, dimensions joined, the innermost of the first result first
    int rank
    npy_intp lengths[MAX_RANK]
    npy_intp strides[MOST_WORDS]    # [dimension * pointers + pointer], in bytes
    char* data[MOST_POINTERS]
    int sizes[MOST_POINTERS]        # of their elements

cdef class WalkKernel(DeviceKernel):
    cdef DeviceKernel counted, tiles
    cdef int operands, results, arrays, pointers, most_rank, count, side
    cdef char kinds[2 * MOST_POINTERS]          # of all operands, as in ``walk_source.py``
    # Adopt a ``Walk`` of ``walk_source.py``.
    cdef int adopt(self, walk) except -1
    # Compute all elements of results of a shape, which is not empty. Returns 0, or -1 with an exception set.
    cdef int walk(self, Cell** operands, int rank, const npy_intp* shape) noexcept nogil
    cdef int launch(self, Plan* plan, Cell** operands) noexcept nogil
