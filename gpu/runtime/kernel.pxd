"""The base class of kernels that run on the device; see ``kernel.pyx``."""
from numpy cimport npy_intp

from phintys.gpu.runtime.driver cimport Arguments
from phintys.vm.abi cimport Context, Kernel

cdef enum:
    THREADS = 256               # of a block, unless a kernel has a reason for others
    MOST_BLOCKS = 65535 * 16    # of a grid whose threads each do several elements

cdef class DeviceKernel(Kernel):
    cdef readonly str source            # CUDA C++: kernels with extern "C"
    cdef readonly tuple names           # of the kernels in it that are launched
    cdef void** functions
    cdef readonly bint is_last_resort   # `source` is only needed if a library, or another kernel, does not do it
    cdef readonly bint tells            # `run` may use a note, which is read at the end of the call
    cdef long loaded                    # the driver's `generation` in which `functions` were looked up
    # At the beginning of `prepare`: compile and load the source, unless that has been done.
    cdef int ready(self) except -1 nogil
    # Run kernel number `which`, `blocks` blocks of `threads` threads. Returns 0, or -1 with an exception set.
    cdef int start(self, int which, npy_intp blocks, int threads, Arguments* arguments) noexcept nogil
    cdef int start_grid(self, int which, npy_intp blocks, npy_intp rows, int threads, int shared,
                        Arguments* arguments) noexcept nogil
    # What `run` returns after launches with a note, of which `error` is the result.
    cdef int noted(self, Context* context, int error) noexcept nogil
    # Raise the error for what a kernel has written into its note.
    cdef int told(self, const long long* words) except -1

# A source that is compiled when it is first needed, not in `prepare`: `loaded` comes before each launch of it, and
# returns 0, or -1 with an exception set.
cdef DeviceKernel piece(str source, tuple names)
cdef int loaded(DeviceKernel kernel) noexcept nogil

cdef inline npy_intp blocks_for(npy_intp items) noexcept nogil:
    """How many blocks give each item a thread, at most MOST_BLOCKS: threads then do several items."""
    cdef npy_intp blocks = (items + THREADS - 1) // THREADS
    return blocks if blocks < MOST_BLOCKS else MOST_BLOCKS
