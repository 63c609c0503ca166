"""The functions of CUDA's driver that run inside calls, and the memory of the device; see ``driver.pyx``."""
from numpy cimport npy_intp

from phintys.vm.abi cimport Cell, Context
from phintys.vm.pool cimport Buffer
from phintys.vm.python_api cimport PyObject

cdef enum:
    OF_LIBRARY = 100000         # an error of cuBLAS is so much larger than its number, one of cuSOLVER twice as much
    MOST_BYTES = 4000           # of the arguments of a launch: CUDA passes 4096

cdef struct Arguments:          # of one launch, as the device will see them
    int size
    bint full                   # an argument did not fit
    char bytes[MOST_BYTES]

cdef inline void put(Arguments* arguments, const char* value, int size) noexcept nogil:
    """Add an argument whose alignment is its size: 1, 2, 4 or 8 bytes."""
    cdef int index
    cdef int start = (arguments.size + size - 1) & -size
    if start + size > MOST_BYTES:
        arguments.full = True
        return
    for index in range(arguments.size, start):      # lists of work are compared byte by byte
        arguments.bytes[index] = 0
    for index in range(size):
        arguments.bytes[start + index] = value[index]
    arguments.size = start + size

cdef inline void put_address(Arguments* arguments, const Cell* cell) noexcept nogil:
    """Add the address of a cell's first element."""
    put(arguments, <const char*>&cell.data, 8)

cdef inline void put_value(Arguments* arguments, const Cell* cell) noexcept nogil:
    """Add the number that a cell of the host has."""
    put(arguments, cell.data, cell.itemsize)

cdef inline void put_integer(Arguments* arguments, npy_intp number) noexcept nogil:
    """Add a ``long long``."""
    put(arguments, <const char*>&number, 8)

# Make the context of the device in use current in this thread. Returns 0, or the driver's error.
cdef int enter_device() noexcept nogil
# Run `blocks` blocks of `threads` threads. Returns 0, or the driver's error.
cdef int launch(void* function, npy_intp blocks, int threads, Arguments* arguments) noexcept nogil
# The same with a grid of two dimensions, and with shared memory.
cdef int launch_grid(void* function, npy_intp blocks, npy_intp rows, int threads, int shared,
                     Arguments* arguments) noexcept nogil
# Copies between the places, in the order of the device's work. After the first the host's memory may be changed; the
# second waits until it has the elements. Return 0, or the driver's error.
cdef int copy_to_device(char* target, const char* source, size_t size) noexcept nogil
# The same to the beginning of a buffer. If nothing was written to it since it was acquired, the copy waits only for the
# work that was there before it was given back.
cdef int upload(Buffer* buffer, const char* source, size_t size) noexcept nogil
cdef int copy_to_host(char* target, const char* source, size_t size) noexcept nogil
# The same, but the elements may be there only after `end_downloads` of the same call; the target must stay. That waits,
# and returns 0, or -1 with an exception set, which may be what a kernel has told.
cdef int begin_download(char* target, const char* source, size_t size, Context* context) noexcept nogil
cdef int end_downloads(Context* context) noexcept nogil
# A note for a kernel that may find something wrong while it runs, as its address on the device: four words that are 0,
# then the address of the flag that it sets when it has written them. 0, with an exception set: there is none.
cdef unsigned long long new_note(PyObject* kernel) noexcept nogil
# Notes of a kernel that is a part of another one are this other one's from here on: errors name its node.
cdef void pass_notes(PyObject* part, PyObject* kernel) noexcept nogil
# Wait for the kernels of this thread that have notes. Returns 0, or -1 with the exception that the first has told.
cdef int read_notes() noexcept nogil
# Sets the exception for what a kernel has told; set by ``kernel.pyx``.
ctypedef void (*TellError)(PyObject* kernel, const long long* words) noexcept nogil
cdef TellError tell_error
# Note the range of integers that were copied to a buffer. Then `is_within` says whether all numbers of a cell, which
# may see a part of it, are known to be in [least, most), so that nobody need look while a kernel runs.
cdef void note_range(Buffer* buffer, const char* elements, size_t size, int typenum) noexcept nogil
cdef bint is_within(const Cell* cell, long long least, long long most) noexcept nogil
# From here on, small copies between the places are done by this kernel: (target, source, bytes), 16 bytes a thread.
cdef void use_mover(void* function) noexcept nogil
cdef int copy_within(char* target, const char* source, size_t size) noexcept nogil
cdef int fill_bytes(char* target, int value, size_t size) noexcept nogil
# Call `function(arguments, stream)` in the order of the device's work; it returns the driver's error, and puts its work
# into the stream. The arguments are copied. Returns 0, or the driver's error.
cdef int call_in_order(void* function, void* arguments, size_t size) noexcept nogil
# Whether a stream is that in which such calls are captured, for graphs.
cdef bint is_capture(void* stream) noexcept nogil
# Let the device begin with all that was collected. Returns 0, or the driver's error.
cdef int submit() noexcept nogil
# Wait until the device has done all that it was given.
cdef int synchronize() noexcept nogil
# Set the exception that says what the driver refused, unless the error is -1: it has been set. Returns -1.
cdef int set_failure(int error, const char* what) noexcept nogil
# A function of a module, loaded for the device in use.
cdef void* load_function(bytes image, list names, void** functions) except NULL
# How often a device has been connected: functions that were loaded before are of no use.
cdef long generation
# How many multiprocessors the device has: a grid that is to fill it has some blocks for each of them.
cdef int multiprocessors
# Copies elements of any strides, by a kernel of the device; set by ``copies.pyx``.
ctypedef int (*StridedCopy)(Cell* target, Cell* source) except -1 nogil
cdef StridedCopy strided_copy
