"""CUDA's driver as the virtual machine needs it: launches, copies and memory, without the GIL.

pycuda makes contexts and compiles sources; what runs inside a call is here, through the driver's C functions, which are
looked up in the ``libcuda`` that pycuda has loaded. So nothing is compiled against CUDA.

All work goes to one stream, in the order of the calls. Small copies between the places are work, too, and those of a
call's results are waited for at its end. Large copies to the device go to a stream of their own, through pinned memory,
and are not waited for: they wait for the work that may still use their target, and later work waits for them. Work is
collected without a lock, and submitted together when somebody waits for it, when a value is shown to Python, and before
COMMIT; what repeats is replayed as a graph: see ``work_queue.h``. The stream waits for the default stream, and the
default stream for it, so pycuda's own arrays see all of it in order.

Memory is allocated in size classes, eight for each doubling, and kept when it is freed: a later request of the class
takes it at once, as work is done in order. When the device has no memory left, all that is kept is returned to it
first. A process that was forked, or that is about to end, gives nothing back: the driver is of no use there.
"""
cimport numpy as cnp
from libc.stdlib cimport free, malloc
from libc.string cimport memset
from numpy cimport npy_intp

from phintys.vm cimport abi, pool
from phintys.vm.abi cimport Cell, Context, cell_is_contiguous, cell_size, drop
from phintys.vm.machine cimport interpreter
from phintys.vm.pool cimport DEVICE, FOREIGN, ON_DEVICE, Buffer, buffer_release, buffer_retain
from phintys.vm.python_api cimport Py_INCREF, Py_XDECREF, PyErr_SetObject, PyObject

import numpy

from phintys.graph.config import config
from phintys.vm import abi as python_abi

cnp.import_array()

cdef extern from * nogil:
    """
    #include <dlfcn.h>
    #include <numpy/arrayobject.h>
    #include <pthread.h>
    typedef unsigned long long phintys_address;
    /* The signatures of CUDA's driver, in the order of `NAMES` in driver.pyx. */
    typedef struct {
        int (*get_context)(void**);
        int (*set_context)(void*);
        int (*allocate)(phintys_address*, size_t);
        int (*free)(phintys_address);
        int (*to_device)(phintys_address, const void*, size_t);
        int (*to_host)(void*, phintys_address, size_t);
        int (*within)(phintys_address, phintys_address, size_t, void*);
        int (*fill)(phintys_address, unsigned char, size_t, void*);
        int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                      void**);
        int (*synchronize)(void);
        int (*load)(void**, const void*);
        int (*function)(void**, void*, const char*);
        int (*attribute)(void*, int, phintys_address);
        int (*memory)(size_t*, size_t*);
        int (*new_stream)(void**, unsigned);
        int (*begin_capture)(void*, int);
        int (*end_capture)(void*, void**);
        int (*instantiate)(void**, void*, unsigned long long);
        int (*launch_graph)(void*, void*);
        int (*destroy_graph)(void*);
        int (*destroy_exec)(void*);
        int (*allocate_pinned)(void**, size_t, unsigned);
        int (*new_event)(void**, unsigned);
        int (*record)(void*, void*);
        int (*wait_for_event)(void*);
        int (*to_device_async)(phintys_address, const void*, size_t, void*);
        int (*stream_wait)(void*, void*, unsigned);
        int (*elapsed)(float*, void*, void*);
        int (*to_host_async)(void*, phintys_address, size_t, void*);
        int (*create_graph)(void**, unsigned);
        int (*add_kernel)(void**, void*, void**, size_t, const void*);
        int (*add_child)(void**, void*, void**, size_t, void*);
        int (*set_kernel)(void*, void*, const void*);
        int (*set_child)(void*, void*, void*);
        int (*query)(void*);
        int (*unload)(void*);
        int (*destroy_event)(void*);
        int (*address_of)(phintys_address*, void*, unsigned);
        int (*nodes_of)(void*, void**, size_t*);
        int (*kind_of)(void*, int*);
        int (*launch_of)(void*, void*);
        int (*copy_attributes)(void*, void*);
    } phintys_driver;
    static phintys_driver driver;
    static void* phintys_context;
    /* Each thread has a current context of its own, and others may change it. */
    static int phintys_enter_context(void) {
        void* current = NULL;
        const int error = driver.get_context(&current);
        return error || current == phintys_context ? error : driver.set_context(phintys_context);
    }
    #include "runtime/work_queue.h"
    static pthread_mutex_t phintys_device_lock = PTHREAD_MUTEX_INITIALIZER;
    static void phintys_lock_device(void) { pthread_mutex_lock(&phintys_device_lock); }
    /* The least and the largest of integers; 0: they are none, or too many to look at. */
    #define LEAST_AND_MOST(type) { \
        const type* at = (const type*)elements; \
        type low = at[0], high = at[0]; \
        for (size_t i = 1; i < bytes / sizeof(type); i++) { \
            low = at[i] < low ? at[i] : low; \
            high = at[i] > high ? at[i] : high; \
        } \
        *least = (long long)low, *most = (long long)high; \
        return low < 0 || *most >= 0; \
    }
    static int phintys_range(const char* elements, size_t bytes, int typenum, long long* least, long long* most) {
        if (!bytes || bytes > MOST_RANGED) return 0;
        switch (typenum) {
            case NPY_BYTE: LEAST_AND_MOST(npy_byte)
            case NPY_UBYTE: LEAST_AND_MOST(npy_ubyte)
            case NPY_SHORT: LEAST_AND_MOST(npy_short)
            case NPY_USHORT: LEAST_AND_MOST(npy_ushort)
            case NPY_INT: LEAST_AND_MOST(npy_int)
            case NPY_UINT: LEAST_AND_MOST(npy_uint)
            case NPY_LONG: LEAST_AND_MOST(npy_long)
            case NPY_ULONG: LEAST_AND_MOST(npy_ulong)
            default: return 0;
        }
    }
    static __thread void* phintys_blamed;           /* the kernel that this thread's last error is about, or NULL */
    static void phintys_unlock_device(void) { pthread_mutex_unlock(&phintys_device_lock); }
    static int phintys_launch(void* function, unsigned blocks, unsigned rows, unsigned threads, unsigned shared,
                              void* bytes, size_t size) {
        const phintys_work work = {WORK_LAUNCH, (uint32_t)size, {{function, blocks, rows, threads, shared}}};
        return phintys_push(&work, bytes);
    }
    static int phintys_copy(uint64_t target, uint64_t source, uint64_t size) {
        const phintys_work work = {WORK_COPY, 0, .target = target, .source = source, .size = size};
        return phintys_push(&work, "");
    }
    static int phintys_fill(uint64_t target, int value, uint64_t size) {
        const phintys_work work = {WORK_FILL, 0, .target = target, .source = (uint64_t)value, .size = size};
        return phintys_push(&work, "");
    }
    static int phintys_call(void* function, void* arguments, size_t size) {
        const phintys_work work = {WORK_CALL, (uint32_t)size, {{function, 0, 0, 0, 0}}};
        return phintys_push(&work, arguments);
    }
    /* Streams are optional: an old driver, or one that fails to make them, works in the default stream. */
    static void phintys_open_queue(void) {
        if (driver.new_event(&queue.begin, TIMING) || driver.new_event(&queue.end, TIMING)) queue.begin = NULL;
        queue.stream = queue.capturing = NULL;
        if (driver.new_event(&queue.joint, NO_TIMING)) queue.joint = NULL;
        if (driver.new_stream(&queue.stream, 0)) queue.stream = NULL;
        if (driver.new_stream(&queue.capturing, 1)) queue.capturing = NULL;     /* CU_STREAM_NON_BLOCKING */
    }
    """
    ctypedef struct phintys_driver:
        int (*allocate)(unsigned long long*, size_t) noexcept nogil
        int (*free)(unsigned long long) noexcept nogil
        int (*within)(unsigned long long, unsigned long long, size_t, void*) noexcept nogil
        int (*fill)(unsigned long long, unsigned char, size_t, void*) noexcept nogil
        int (*synchronize)() noexcept nogil
        int (*load)(void**, const void*) noexcept nogil
        int (*function)(void**, void*, const char*) noexcept nogil
        int (*attribute)(void*, int, unsigned long long) noexcept nogil
        int (*memory)(size_t*, size_t*) noexcept nogil
        int (*unload)(void*) noexcept nogil
    ctypedef struct phintys_queue:
        void* capturing
        bint collects
        long captured, replayed, changed, submitted
    ctypedef struct phintys_slots:
        long copies, beside, downloads
    ctypedef struct phintys_moves:
        long uploads, downloads, late
        void* kernel
    phintys_driver driver
    void* phintys_context
    void phintys_lock_device()
    void phintys_unlock_device()
    int phintys_enter_context()
    int phintys_launch(void*, unsigned, unsigned, unsigned, unsigned, void*, size_t)
    int phintys_copy(size_t, size_t, size_t)
    int phintys_fill(size_t, int, size_t)
    int phintys_call(void*, void*, size_t)
    int phintys_submit()
    int phintys_measure(double*)
    bint phintys_is_submitted()
    void phintys_is_told()
    unsigned long long phintys_pushed()
    int phintys_collect(bint)
    void phintys_open_queue()
    void phintys_open_slots()
    int phintys_to_device(size_t, const char*, size_t, unsigned long long)
    int phintys_let_wait(void*)
    int phintys_wait_for(void*)
    int phintys_is_done(unsigned long long, void**, bint)
    void phintys_open_moves()
    bint phintys_can_move(size_t)
    int phintys_take_along(size_t, const char*, size_t)
    int phintys_fill_tray(char*, size_t, size_t, void*, bint*)
    bint phintys_has_trays(void*)
    void phintys_empty_trays(void*, bint)
    int phintys_open_notes()
    bint phintys_has_notes()
    unsigned long long phintys_take_note(void*)
    void phintys_pass_notes(void*, void*)
    int phintys_read_notes(void**, long long*)
    int phintys_wait_for_work(unsigned long long)
    bint phintys_range(const char*, size_t, int, long long*, long long*)
    int phintys_to_host(char*, size_t, size_t)
    enum: DESK_BYTES
    enum: NOTES
    phintys_queue queue
    phintys_slots slots
    phintys_moves moves
    void* phintys_blamed
    void* dlopen(const char*, int)
    void* dlsym(void*, const char*)
    enum: RTLD_NOW

cdef struct Block:                  # what the allocator hands out
    Buffer buffer
    unsigned long long last_use     # work with a lower number may have used the memory before it was given back
    unsigned long long acquired     # how much work had been pushed then: without any since, nobody has written to it
    bint uploaded                   # to it, since it was acquired
    # Of integers that came from the host the least and the largest, with their dtype. They hold while `buffer.next` is
    # the block itself: whoever takes the memory to write to it sets that to NULL.
    long long least, most
    int typenum
    bint shown                      # to Python, so others may write to it

cdef unsigned long long ALL_WORK = <unsigned long long>-1

cdef enum:
    NOT_IN_USE = 999                 # CUDA_ERROR_UNKNOWN: no device is in use
    CLASSES = 512
    INVALID_VALUE = 1
    OUT_OF_MEMORY = 2
    MOST_BLOCKS_OF_GRID = 2147483647
    MOST_ROWS_OF_GRID = 65535
    SMALLEST = 512                  # bytes: the first class
    LEGACY = 1                      # the default stream, in the interface of arrays
    POINTER_CONTEXT = 1             # CU_POINTER_ATTRIBUTE_CONTEXT, _MEMORY_TYPE, _DEVICE_ORDINAL
    POINTER_MEMORY_TYPE = 2
    POINTER_DEVICE = 9
    MEMORY_OF_DEVICES = 2           # CU_MEMORYTYPE_DEVICE

# The driver's functions, in the order of `phintys_driver`.
NAMES = ("cuCtxGetCurrent", "cuCtxSetCurrent", "cuMemAlloc_v2", "cuMemFree_v2", "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2",
         "cuMemcpyDtoDAsync_v2", "cuMemsetD8Async", "cuLaunchKernel", "cuCtxSynchronize", "cuModuleLoadData",
         "cuModuleGetFunction", "cuPointerGetAttribute", "cuMemGetInfo_v2", "cuStreamCreate",
         "cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags", "cuGraphLaunch",
         "cuGraphDestroy", "cuGraphExecDestroy", "cuMemHostAlloc", "cuEventCreate", "cuEventRecord",
         "cuEventSynchronize", "cuMemcpyHtoDAsync_v2", "cuStreamWaitEvent", "cuEventElapsedTime",
         "cuMemcpyDtoHAsync_v2", "cuGraphCreate", "cuGraphAddKernelNode_v2", "cuGraphAddChildGraphNode",
         "cuGraphExecKernelNodeSetParams_v2", "cuGraphExecChildGraphNodeSetParams", "cuEventQuery", "cuModuleUnload",
         "cuEventDestroy_v2", "cuMemHostGetDevicePointer_v2", "cuGraphGetNodes", "cuGraphNodeGetType",
         "cuGraphKernelNodeGetParams_v2", "cuGraphKernelNodeCopyAttributes")
ERRORS = {1: "an invalid value", 2: "no memory", 3: "not initialized", 4: "the driver has ended", 100: "no device",
          101: "no such device", 200: "the module is not for this device", 201: "no valid context",
          209: "the module is not for this device", 400: "an invalid handle", 500: "not found",
          700: "a kernel used an address that is not its own", 701: "a kernel needs more resources than there are",
          716: "a kernel used an address that is not aligned", 719: "a kernel failed", 999: "no device is in use"}
# After these a process can do nothing more with its device. The first is what the later ones are due to.
FINAL = (214, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719)
cdef object first_final = None      # what failed by it
cdef int allocation_error = 0       # of the last request that the device refused

# Invalid images, no code for this device, and PTX or toolchains that the driver does not know.
REFUSALS = (200, 209, 218, 222, 223)

LIBRARIES = "cuBLAS", "cuSOLVER", "cuDNN", "cuFFT"      # from OF_LIBRARY on; see the pxd

generation = 0
multiprocessors = 1
strided_copy = NULL
tell_error = NULL
cdef bint usable = False            # a device is in use, in this process, and the interpreter goes on
cdef int device_number = 0
cdef object give_up = None          # empties a list of arrays of other libraries
cdef object make_value = None       # (address, shape, strides, dtype, DeviceBuffer) → a value for Python
cdef Buffer* kept[CLASSES]
memset(kept, 0, sizeof(kept))
# Of each class the last block to which was uploaded: it is kept only when the next one comes. So uploads of call after
# call go to two blocks in turn, and one need not wait for the work of the call before, which reads the other.
cdef Buffer* parked[CLASSES]
memset(parked, 0, sizeof(parked))
cdef size_t kept_bytes = 0, live_bytes = 0, peak_bytes = 0
cdef long live_buffers = 0, requests = 0, misses = 0


# ---- the driver ------------------------------------------------------------------------------------------------------
def connect(size_t context, int number, value_maker, give_up_arrays, int count_of_multiprocessors):
    """Use a context: from here on, programs may have values on the device.

    Parameters
    ----------
    context : int
        The handle of pycuda's context.
    number : int
        Of the context's device.
    value_maker : callable
        Makes what Python sees from ``(address, shape, strides, dtype, DeviceBuffer)``.
    give_up_arrays : callable
        Empties a list of arrays of other libraries, of which nothing is read any more.
    count_of_multiprocessors : int

    Raises
    ------
    RuntimeError
        If the driver's library lacks a function.
    """
    global usable, make_value, give_up, generation, multiprocessors
    cdef void* library = dlopen(b"libcuda.so.1", RTLD_NOW)
    cdef void** functions = <void**>&driver
    cdef int index
    if library == NULL:
        raise RuntimeError("the library libcuda.so.1 of CUDA's driver cannot be loaded")
    for index, name in enumerate(NAMES):
        functions[index] = dlsym(library, name.encode())
        if functions[index] == NULL:
            raise RuntimeError(f"the driver of CUDA has no function {name}: it is too old")
    global phintys_context, device_number
    phintys_context, device_number = <void*>context, number
    make_value, give_up, multiprocessors = value_maker, give_up_arrays, count_of_multiprocessors
    usable = True
    generation += 1
    modules.clear()
    check(enter_device(), "using the device")
    phintys_open_queue()
    phintys_open_slots()
    phintys_open_moves()
    check(phintys_open_notes(), "memory for what kernels tell")
    collect(config.gpu.graphs)
    interpreter.submit_device_work, interpreter.wait_for_device_work = submit_before_commit, wait_to_measure
    interpreter.give_up_copies, interpreter.blamed_kernel = give_up_downloads, blamed_kernel
    interpreter.read_device_notes = read_notes
    abi.device_memory.acquire, abi.device_memory.copy = acquire, copy_cell
    abi.device_memory.value_of, abi.device_memory.hold = value_of, hold
    abi.device_memory.overwrite = overwrite
    pool.device_gives_back = give_back
    python_abi.device_refuses = refuses


def disconnect():
    """Use the device no more: the process ends, or was forked. Memory is not given back."""
    global usable
    usable = False


def is_connected():
    """Whether a device is in use."""
    return usable


cdef int enter_device() noexcept nogil:
    """Make the context current in this thread."""
    return phintys_enter_context() if usable else NOT_IN_USE


cdef int launch(void* function, npy_intp blocks, int threads, Arguments* arguments) noexcept nogil:
    return launch_grid(function, blocks, 1, threads, 0, arguments)


cdef int launch_grid(void* function, npy_intp blocks, npy_intp rows, int threads, int shared,
                     Arguments* arguments) noexcept nogil:
    if not usable:
        return NOT_IN_USE
    # What the driver refuses is lost with all work beside it, so it does not come into the queue.
    if arguments.full or not 0 < blocks <= MOST_BLOCKS_OF_GRID or not 0 < rows <= MOST_ROWS_OF_GRID:
        return INVALID_VALUE
    return phintys_launch(function, <unsigned>blocks, <unsigned>rows, threads, shared, arguments.bytes, arguments.size)


cdef int copy_to_device(char* target, const char* source, size_t size) noexcept nogil:
    cdef int error = enter_device()
    if error or not size:
        return error
    if size <= DESK_BYTES and phintys_can_move(size):
        return phintys_take_along(<size_t>target, source, size)
    return phintys_to_device(<size_t>target, source, size, ALL_WORK)


cdef int upload(Buffer* buffer, const char* source, size_t size) noexcept nogil:
    cdef Block* block = <Block*>buffer
    cdef unsigned long long work = ALL_WORK
    cdef int error = enter_device()
    if error or not size:
        return error
    if size <= DESK_BYTES and phintys_can_move(size):
        return phintys_take_along(<size_t>buffer.data, source, size)
    if buffer.size_class == ON_DEVICE:
        if block.acquired == phintys_pushed():
            work = block.last_use
        block.uploaded = True
    return phintys_to_device(<size_t>buffer.data, source, size, work)


cdef void note_range(Buffer* buffer, const char* elements, size_t size, int typenum) noexcept nogil:
    cdef Block* block = <Block*>buffer
    if buffer.size_class != ON_DEVICE:
        return
    buffer.next, block.typenum = NULL, typenum
    if not block.shown and phintys_range(elements, size, typenum, &block.least, &block.most):
        buffer.next = buffer


cdef bint is_within(const Cell* cell, long long least, long long most) noexcept nogil:
    cdef const Block* block = <const Block*>cell.buffer
    return (block != NULL and block.buffer.size_class == ON_DEVICE and block.buffer.next == &block.buffer
            and block.typenum == cell.typenum and block.least >= least and block.most < most)


cdef int copy_to_host(char* target, const char* source, size_t size) noexcept nogil:
    cdef bint found = False
    cdef int error = enter_device()
    if error or not size:
        return error
    if phintys_can_move(size):
        error = phintys_fill_tray(target, <size_t>source, size, &found, &found)     # no other call has this address
    if found:
        if not error:
            error = phintys_wait_for_work(phintys_pushed())
        phintys_empty_trays(&found, error == 0)
    return error if error or found else phintys_to_host(target, <size_t>source, size)


cdef int begin_download(char* target, const char* source, size_t size, Context* context) noexcept nogil:
    cdef bint found = False
    cdef int error = enter_device()
    if error or not size:
        return error
    if phintys_can_move(size):
        error = phintys_fill_tray(target, <size_t>source, size, context, &found)
        moves.late += found
    return error if error or found else copy_to_host(target, source, size)


cdef int end_downloads(Context* context) noexcept nogil:
    cdef int error = enter_device()
    if not error and (phintys_has_trays(context) or phintys_has_notes()):
        error = phintys_wait_for_work(phintys_pushed())
    phintys_empty_trays(context, error == 0)
    release_read(0)
    return set_failure(error, b"copying to the host") if error else raise_told()


cdef void give_up_downloads(Context* context) noexcept nogil:
    """What the interpreter calls after a call that failed. The device may still write to the trays."""
    if phintys_has_trays(context) and enter_device() == 0:
        phintys_wait_for_work(phintys_pushed())
    phintys_empty_trays(context, False)


# ---- what kernels tell -----------------------------------------------------------------------------------------------
cdef unsigned long long new_note(PyObject* kernel) noexcept nogil:
    cdef unsigned long long note = phintys_take_note(kernel)
    while note == 0:                # calls of other threads, or this one, have all of them
        if read_notes() < 0:
            return 0
        note = phintys_take_note(kernel)
    return note


cdef void pass_notes(PyObject* part, PyObject* kernel) noexcept nogil:
    phintys_pass_notes(part, kernel)


cdef int read_notes() noexcept nogil:
    cdef int error
    if not phintys_has_notes():
        return 0
    error = enter_device()
    if not error:
        error = phintys_wait_for_work(phintys_pushed())
    return set_failure(error, b"waiting for what kernels tell") if error else raise_told()


cdef int raise_told() noexcept nogil:
    """Raise what the first kernel has told that this thread has waited for; 0: none has told anything."""
    cdef void* kernel
    cdef long long words[4]
    cdef int error
    if not phintys_has_notes():
        return 0
    error = phintys_read_notes(&kernel, words)
    if error:
        return set_failure(error, b"reading what a kernel tells")
    if kernel == NULL:
        return 0
    tell_error(<PyObject*>kernel, words)
    global phintys_blamed
    phintys_blamed = kernel
    return -1


cdef PyObject* blamed_kernel() noexcept nogil:
    """What the interpreter calls after a call that failed: the kernel that has told the error, or NULL."""
    global phintys_blamed
    cdef PyObject* kernel = <PyObject*>phintys_blamed
    phintys_blamed = NULL
    return kernel


cdef int copy_within(char* target, const char* source, size_t size) noexcept nogil:
    if not usable or not size:
        return 0 if usable else NOT_IN_USE
    return phintys_copy(<size_t>target, <size_t>source, size)


cdef int fill_bytes(char* target, int value, size_t size) noexcept nogil:
    if not usable or not size:
        return 0 if usable else NOT_IN_USE
    return phintys_fill(<size_t>target, value, size)


cdef bint is_capture(void* stream) noexcept nogil:
    return stream == queue.capturing


cdef int call_in_order(void* function, void* arguments, size_t size) noexcept nogil:
    return phintys_call(function, arguments, size) if usable else NOT_IN_USE


cdef int submit() noexcept nogil:
    return phintys_submit() if usable else NOT_IN_USE


cdef int submit_before_commit() noexcept nogil:
    """What the interpreter calls before COMMIT, and after a call that failed."""
    cdef int error
    if not usable:
        return 0
    release_read(0)
    if phintys_is_submitted():
        return 0
    error = submit()
    return set_failure(error, b"work of the device that was collected") if error else 0


cdef void use_mover(void* function) noexcept nogil:
    moves.kernel = function


cdef double wait_to_measure() noexcept nogil:
    """What the interpreter calls before each instruction of a profiled program: the seconds that the device has worked
    since the last one, by events before and after. An error comes again, in the call."""
    cdef double seconds = 0
    if usable and enter_device() == 0 and phintys_measure(&seconds) == 0:
        driver.synchronize()
    return seconds


def collect(collects):
    """Collect work, to submit and to replay it together; else each launch is submitted at once."""
    if usable:
        check(enter_device(), "using the device")
        check(phintys_collect(collects), "work of the device that was collected")


config.on_change("gpu.graphs", collect)


cdef int synchronize() noexcept nogil:
    cdef int error = submit()
    return error if error else driver.synchronize()


cdef int set_failure(int error, const char* what) noexcept nogil:
    if error == -1:
        return -1                   # the exception has been set
    global first_final
    phintys_is_told()
    with gil:
        text = f"{what.decode()}: {ERRORS.get(error, 'failed')} (error {error} of CUDA's driver)"
        if error in FINAL and first_final is None:
            first_final = what.decode()
            text += ". The device is unusable in this process from now on"
        elif error in FINAL:
            text += f". The device is unusable in this process since this failed: {first_final}"
        if queue.collects and 400 <= error < NOT_IN_USE:
            text += ". It was collected with other work: set config.gpu.graphs to False to see which node failed"
        if error > OF_LIBRARY:
            text = f"{what.decode()}: {LIBRARIES[error // OF_LIBRARY - 1]} failed (its error {error % OF_LIBRARY})"
        PyErr_SetObject(MemoryError if error == 2 else RuntimeError, text)
    return -1


cdef int check(int error, what) except -1:
    if error:
        set_failure(error, what.encode())
        raise_pending()
    return 0


cdef int raise_pending() except -1:
    return -1


def wait():
    """Wait until the device has done all that it was given; without a device in use there is nothing to wait for.

    Raises
    ------
    RuntimeError
        If some of it failed.
    """
    cdef int error
    if usable:
        with nogil:
            error = wait_and_release()
        check(error, "waiting for the device")


def accepts(bytes image):
    """Whether the driver loads a module; it refuses those for other devices, and those of a newer CUDA. Other errors
    come again where the module is used."""
    cdef void* module = NULL
    cdef int error
    check(enter_device(), "using the device")
    error = driver.load(&module, <const char*>image)
    if not error:
        driver.unload(module)
    return error not in REFUSALS


cdef dict modules = {}              # image → the module: one for all kernels with it, as none is ever given back


cdef void* load_function(bytes image, list names, void** functions) except NULL:
    cdef void* module = NULL
    cdef int index
    check(enter_device(), "using the device")
    if image in modules:
        module = <void*><size_t>modules[image]
    else:
        check(driver.load(&module, <const char*>image), "loading a module")
        modules[image] = <size_t>module
    for index in range(len(names) - 1, -1, -1):     # the first comes last: threads that find it take all to be there
        check(driver.function(&functions[index], module, <bytes>names[index].encode()),
              f"looking up the kernel {names[index]}")
    return module


# ---- memory ----------------------------------------------------------------------------------------------------------
cdef inline int class_of(size_t size, size_t* capacity) noexcept nogil:
    """The size class of a request, and the bytes of its blocks: eight classes for each doubling."""
    cdef int doubling = 0
    cdef size_t step
    if size <= SMALLEST:
        capacity[0] = SMALLEST
        return 0
    while size > <size_t>SMALLEST << (doubling + 1):
        doubling += 1
    step = (<size_t>SMALLEST << doubling) >> 3
    cdef size_t eighths = (size - (<size_t>SMALLEST << doubling) + step - 1) // step
    capacity[0] = (<size_t>SMALLEST << doubling) + eighths * step
    return doubling * 8 + <int>eighths


cdef Buffer* take_kept(int size_class) noexcept nogil:
    """A block of those that are kept, or NULL."""
    global kept_bytes, requests
    cdef Buffer* buffer
    phintys_lock_device()
    requests += 1
    buffer = kept[size_class]
    if buffer != NULL:
        kept[size_class] = buffer.next
        kept_bytes -= buffer.capacity
        count(buffer.capacity)
    phintys_unlock_device()
    return buffer


cdef inline void count(size_t capacity) noexcept nogil:
    """Count a block in use; the caller holds the lock."""
    global live_buffers, live_bytes, peak_bytes
    live_buffers += 1
    live_bytes += capacity
    if live_bytes > peak_bytes:
        peak_bytes = live_bytes


def refuses():
    """Raise the error for which the device has given no memory, if it is not that it had none."""
    if allocation_error != OUT_OF_MEMORY:
        check(allocation_error, "asking for memory of the device")


cdef Buffer* new_block(size_t capacity) noexcept nogil:
    """A block from the device, which gets all back that is kept if it has no memory; NULL: even then it has none."""
    global misses, allocation_error
    cdef unsigned long long address = 0
    cdef Buffer* buffer
    allocation_error = enter_device()
    if allocation_error != 0:
        return NULL
    if driver.allocate(&address, capacity) != 0:
        return_kept()
        if first_lent != NULL:
            wait_and_release()
        allocation_error = driver.allocate(&address, capacity)
        if allocation_error != 0:
            return NULL
    buffer = <Buffer*>malloc(sizeof(Block))
    if buffer == NULL:
        driver.free(address)
        return NULL
    memset(buffer, 0, sizeof(Block))
    buffer.data, buffer.capacity, buffer.size_class, buffer.place = <char*>address, capacity, ON_DEVICE, DEVICE
    phintys_lock_device()
    misses += 1
    count(capacity)
    phintys_unlock_device()
    return buffer


cdef Buffer* acquire(size_t size) noexcept nogil:
    cdef size_t capacity
    cdef int size_class
    cdef Buffer* buffer
    global allocation_error
    if not usable:
        allocation_error = NOT_IN_USE
    if not usable or size > <size_t>1 << 60:
        return NULL
    size_class = class_of(size, &capacity)
    buffer = take_kept(size_class)
    if buffer == NULL:
        buffer = new_block(capacity)
        if buffer == NULL:
            return NULL
    buffer.references = 1
    buffer.next = NULL
    (<Block*>buffer).acquired, (<Block*>buffer).uploaded = phintys_pushed(), False
    (<Block*>buffer).shown = False
    if pool.stress:
        fill_bytes(buffer.data, pool.FRESH, buffer.capacity)
    return buffer


cdef void give_back(Buffer* buffer) noexcept nogil:
    """Keep a block without references for the next request; under stress the device gets it. The block at the lowest
    address is taken first: so calls that do the same get the same addresses, and can be replayed."""
    global kept_bytes, live_buffers, live_bytes
    cdef Buffer** place
    cdef size_t capacity
    cdef int size_class = class_of(buffer.capacity, &capacity)
    cdef Buffer* before
    if not usable:
        forget(buffer)
        return
    if buffer.owner != NULL:
        keep_until_read(buffer)
        return
    phintys_lock_device()
    live_buffers -= 1
    live_bytes -= buffer.capacity
    (<Block*>buffer).last_use = phintys_pushed()
    if not pool.stress:
        kept_bytes += buffer.capacity
        if (<Block*>buffer).uploaded:
            before = parked[size_class]
            parked[size_class] = buffer
            buffer = before
    if not pool.stress and buffer != NULL:
        place = &kept[size_class]
        while place[0] != NULL and place[0].data < buffer.data:
            place = &place[0].next
        buffer.next = place[0]
        place[0] = buffer
    phintys_unlock_device()
    if pool.stress:
        free_block(buffer)


cdef void forget(Buffer* buffer) noexcept nogil:
    """After a fork, or at the end: no lock is taken here, as it may be that of a thread that a fork has ended."""
    if buffer.owner != NULL:
        with gil:
            give_up_owner(buffer.owner)
    free(buffer)


cdef void free_block(Buffer* buffer) noexcept nogil:
    submit()                                        # what was collected may use it; the call is told if that fails
    if usable:
        driver.free(<unsigned long long>buffer.data)
    free(buffer)


cdef void return_kept() noexcept nogil:
    """Return all blocks that are kept to the device."""
    global kept_bytes
    cdef Buffer* chain = NULL
    cdef Buffer* buffer
    cdef int size_class
    phintys_lock_device()
    for size_class in range(CLASSES):
        while kept[size_class] != NULL:
            buffer = kept[size_class]
            kept[size_class] = buffer.next
            buffer.next = chain
            chain = buffer
        if parked[size_class] != NULL:
            parked[size_class].next = chain
            chain = parked[size_class]
            parked[size_class] = NULL
    kept_bytes = 0
    phintys_unlock_device()
    while chain != NULL:
        buffer = chain
        chain = buffer.next
        free_block(buffer)


# Memory of other libraries that nothing refers to any more, but that work of the device may still read: its owners stay
# until this work is done. A list with the oldest first; of each, ``data`` is an event, NULL until there is one, and
# ``acquired`` its number.
cdef Block* first_lent = NULL
cdef Block* last_lent = NULL
cdef unsigned long long lent = 0


cdef void keep_until_read(Buffer* buffer) noexcept nogil:
    global first_lent, last_lent, lent
    cdef Block* block = <Block*>buffer
    block.last_use, buffer.data, buffer.next = phintys_pushed(), NULL, NULL
    phintys_lock_device()
    lent += 1
    block.acquired = lent
    if first_lent == NULL:
        first_lent = block
    else:
        last_lent.buffer.next = buffer
    last_lent = block
    phintys_unlock_device()
    release_read(0)


cdef void release_read(unsigned long long known) noexcept nogil:
    """Give up the owners of memory that has been read; of those up to a number this is known."""
    global first_lent
    cdef Block* block
    while usable and first_lent != NULL:
        phintys_lock_device()
        block = first_lent
        if block != NULL and not phintys_is_done(block.last_use, <void**>&block.buffer.data, block.acquired <= known):
            block = NULL
        if block != NULL:
            first_lent = <Block*>block.buffer.next
        phintys_unlock_device()
        if block == NULL:
            return
        with gil:
            give_up_owner(block.buffer.owner)
        free(block)


cdef void give_up_owner(PyObject* owner) noexcept:
    owners = [<object>owner]
    Py_XDECREF(owner)
    if usable:
        give_up(owners)


cdef int wait_and_release() noexcept nogil:
    """Wait until the device has done all that it was given; returns the driver's error."""
    cdef unsigned long long known = lent
    cdef int error = synchronize()
    release_read(known)
    return error


def trim():
    """Return all memory that is kept for later requests to the device, for other programs to use."""
    if usable:
        return_kept()


def statistics():
    """Return what is in use and kept.

    Returns
    -------
    dict
        ``live_buffers`` in use, with ``live_bytes``, and ``peak_bytes``, the maximum so far; ``kept_bytes`` for later
        requests; ``requests`` so far, of which the device itself served ``misses``; ``free_bytes`` and ``total_bytes``
        of the device; how many lists of work were ``submitted``, of which ``replayed`` as graphs, ``changed`` of them
        with other arguments than the last time, and how many graphs were ``captured``; how many ``uploads`` to the
        device there were, of which so many did not wait for all work that had been submitted: ``beside``; how many
        ``downloads`` to the host there were, of which so many were waited for at the end of their calls only:
        ``late``.
    """
    cdef size_t available = 0, total = 0
    check(enter_device(), "using the device")
    check(driver.memory(&available, &total), "asking for the device's memory")
    return {"live_buffers": live_buffers, "live_bytes": live_bytes, "peak_bytes": peak_bytes, "kept_bytes": kept_bytes,
            "requests": requests, "misses": misses, "free_bytes": available, "total_bytes": total,
            "submitted": queue.submitted, "captured": queue.captured, "replayed": queue.replayed,
            "changed": queue.changed, "uploads": slots.copies + moves.uploads, "beside": slots.beside,
            "downloads": slots.downloads + moves.downloads, "late": moves.late}


def let_wait(stream):
    """Let a stream of another library wait for all work so far.

    Parameters
    ----------
    stream : int or None
        As the array standard numbers them: None and 1, the default stream; 2, that of each thread; -1, none; others are
        handles. 0 may be any of the default streams, so the work is waited for.
    """
    cdef size_t handle = stream if stream is not None and stream > 1 else 0
    cdef int error
    with nogil:
        error = phintys_let_wait(<void*>handle)
    check(error, "work of the device that was collected")
    if stream == 0:
        wait()


# ---- cells and values ------------------------------------------------------------------------------------------------
cdef class DeviceBuffer:
    """Keeps memory of the device for a value that Python has."""
    cdef Buffer* buffer

    @property
    def read_only(self):
        """Whether who owns the memory says that nobody may write to it."""
        return self.buffer.owner != NULL and (<object>self.buffer.owner).__cuda_array_interface__["data"][1]

    def __dealloc__(self):
        if self.buffer != NULL:
            buffer_release(self.buffer)


cdef object value_of(Cell* cell):
    cdef DeviceBuffer holder = DeviceBuffer.__new__(DeviceBuffer)
    cdef int axis, told
    if cell.buffer == NULL:
        raise RuntimeError("memory on the device that nothing keeps")
    with nogil:
        told = read_notes()                         # which may wait
    if told < 0:
        raise_pending()
    check(submit(), "work of the device that was collected")
    if cell.buffer.owner != NULL and is_whole(cell, <object>cell.buffer.owner):
        shown = getattr(<object>cell.buffer.owner, "shown", <object>cell.buffer.owner)
        if shown is not None:
            return shown
    buffer_retain(cell.buffer)
    holder.buffer = cell.buffer
    if cell.buffer.size_class == ON_DEVICE:
        (<Block*>cell.buffer).shown = True
        cell.buffer.next = NULL
    return make_value(<size_t>cell.data, tuple([cell.shape[axis] for axis in range(cell.ndim)]),
                      tuple([cell.strides[axis] for axis in range(cell.ndim)]),
                      cnp.PyArray_DescrFromType(cell.typenum), holder)


cdef bint is_whole(Cell* cell, owner) except -1:
    """Whether a cell shows just what the array shows that owns its memory."""
    cdef int axis
    interface = owner.__cuda_array_interface__
    return (<size_t>interface["data"][0] == <size_t>cell.data
            and interface["shape"] == tuple([cell.shape[axis] for axis in range(cell.ndim)])
            and (interface.get("strides") is None and cell_is_contiguous(cell)
                 or interface.get("strides") == tuple([cell.strides[axis] for axis in range(cell.ndim)])))


cdef int take(Context* context, Cell* cell, Buffer* buffer, char* data, shape, strides) except -1:
    """Let a cell hold a buffer."""
    cdef Buffer* old = cell.buffer
    cdef int axis
    for axis in range(cell.ndim):
        cell.shape[axis], cell.strides[axis] = shape[axis], strides[axis]
    cell.buffer, cell.data = buffer, data
    if old != NULL:
        buffer_release(old)
    return 0


cdef int hold(Context* context, Cell* cell, object value) except -1:
    if isinstance(value, cnp.ndarray):
        return hold_copy(context, cell, value)
    return hold_memory(context, cell, value)


cdef int hold_copy(Context* context, Cell* cell, cnp.ndarray value) except -1:
    """Let a cell hold new memory with the elements of an array of the host."""
    cdef cnp.ndarray packed = cnp.PyArray_GETCONTIGUOUS(value)
    cdef size_t size = cnp.PyArray_NBYTES(packed)
    cdef const char* source
    cdef Buffer* buffer
    cdef int error
    if cnp.PyArray_TYPE(packed) != cell.typenum or cnp.PyArray_NDIM(packed) != cell.ndim:
        raise TypeError(f"a cell on the device cannot hold an array of dtype {value.dtype} and rank {value.ndim}")
    buffer = NULL if pool.allocation_fails() else acquire(size if size else 1)
    if buffer == NULL:
        check(0 if usable else NOT_IN_USE, "using the device")
        refuses()
        raise MemoryError(f"no memory on the device for an array of shape {(<object>value).shape} and dtype "
                          f"{value.dtype}")
    source = <const char*>cnp.PyArray_DATA(packed)
    with nogil:
        error = upload(buffer, source, size)
        note_range(buffer, source, size, cell.typenum)
    if error:
        buffer_release(buffer)
        check(error, "copying to the device")
    return take(context, cell, buffer, buffer.data, (<object>packed).shape, (<object>packed).strides)


cdef int hold_memory(Context* context, Cell* cell, object value) except -1:
    """Let a cell hold the memory of an array on the device."""
    cdef Buffer* buffer
    cdef size_t address, size
    interface = value.__cuda_array_interface__
    shape, dtype = interface["shape"], numpy.dtype(interface["typestr"])
    stream = interface.get("stream")
    if stream is not None and stream != LEGACY:     # for the default stream, CUDA sees to the order
        check(enter_device(), "using the device")
        check(phintys_wait_for(<void*><size_t>stream), "waiting for the stream of an array")
    if dtype.num != cell.typenum or len(shape) != cell.ndim:
        raise TypeError(f"a cell on the device cannot hold an array of dtype {dtype} and rank {len(shape)}")
    address, size = interface["data"][0], dtype.itemsize
    strides = interface.get("strides")
    if strides is None:
        strides = []
        for length in reversed(shape):
            strides.insert(0, size)
            size *= length
    holder = getattr(getattr(value, "gpudata", None), "buffer", None)
    if type(holder) is DeviceBuffer:
        buffer = (<DeviceBuffer>holder).buffer
        buffer_retain(buffer)
        return take(context, cell, buffer, <char*>address, shape, strides)
    check(enter_device(), "using the device")
    if address and not is_readable(address):
        raise ValueError("the array is not in memory of the device and context in use: see phintys.gpu.use")
    buffer = <Buffer*>malloc(sizeof(Block))
    if buffer == NULL:
        raise MemoryError("no memory for a buffer")
    memset(buffer, 0, sizeof(Block))
    Py_INCREF(value)
    buffer.references, buffer.owner = 1, <PyObject*>value
    buffer.size_class, buffer.place, buffer.data, buffer.capacity = FOREIGN, DEVICE, <char*>address, size
    return take(context, cell, buffer, <char*>address, shape, strides)


cdef bint is_readable(size_t address) noexcept nogil:
    """Whether memory is the device's, and no other context's. What CUDA's interface of virtual memory and its pools of
    streams have allocated belongs to no context."""
    cdef unsigned kind = 0
    cdef int number = -1
    cdef void* its_context = NULL
    if (driver.attribute(&kind, POINTER_MEMORY_TYPE, address) or kind != MEMORY_OF_DEVICES
            or driver.attribute(&number, POINTER_DEVICE, address) or number != device_number):
        return False
    return driver.attribute(&its_context, POINTER_CONTEXT, address) or its_context in (NULL, phintys_context)


cdef int overwrite(Cell* cell, object value) except -1:
    """Copy the elements of a value of the cell's shape, which is in C order, into the cell's memory."""
    cdef cnp.ndarray packed
    cdef const char* elements
    cdef size_t size
    cdef int error
    cdef Cell source
    cdef npy_intp dimensions[64]
    cdef Context nothing
    if isinstance(value, cnp.ndarray):
        packed = cnp.PyArray_GETCONTIGUOUS(value)
        elements, size = <const char*>cnp.PyArray_DATA(packed), cnp.PyArray_NBYTES(packed)
        with nogil:
            error = copy_to_device(cell.data, elements, size)
            if cell.buffer != NULL and cell.data == cell.buffer.data:
                note_range(cell.buffer, elements, size, cell.typenum)
        return check(error, "copying to the device")
    abi.cell_init(&source, cell.typenum, cell.ndim, dimensions)
    source.flags = abi.CELL_DEVICE
    abi.context_init(&nothing)
    hold_memory(&nothing, &source, value)
    try:
        if cell.buffer != NULL:
            cell.buffer.next = NULL
        copy_cell(cell, &source)
    finally:
        drop(&nothing, &source)
    return 0


cdef int copy_cell(Cell* target, Cell* source) except -1 nogil:
    """Copy elements; the target has memory for them in C order."""
    cdef int error
    if cell_size(source) == 0:
        return 0
    if not cell_is_contiguous(source):
        return strided_copy(target, source)
    error = copy_within(target.data, source.data, cell_size(source) * source.itemsize)
    if not error and source.buffer != NULL and source.buffer.owner != NULL:
        error = submit()                            # who lent it may change it, in the default stream
    if error:
        with gil:
            check(error, "copying on the device")
    return 0


def contiguous(value):
    """A copy in C order of an array on the device.

    Parameters
    ----------
    value : array with ``__cuda_array_interface__``

    Returns
    -------
    pycuda.gpuarray.GPUArray
    """
    cdef Cell source, target
    cdef npy_intp dimensions[128]
    cdef Context context
    cdef int rank = len(value.__cuda_array_interface__["shape"])
    dtype = numpy.dtype(value.__cuda_array_interface__["typestr"])
    abi.context_init(&context)
    abi.cell_init(&source, dtype.num, rank, dimensions)
    abi.cell_init(&target, dtype.num, rank, dimensions + 2 * rank)
    source.flags = target.flags = abi.CELL_DEVICE
    try:
        hold(&context, &source, value)
        abi.allocate(&context, &target, source.shape)
        copy_cell(&target, &source)
        return value_of(&target)
    finally:
        drop(&context, &source)
        drop(&context, &target)
