"""Copies of elements on the device, for any strides.

What has no gaps is copied by the driver; all else by a kernel, one thread for each element. Dimensions are joined
first, and at most ``MOST_DIMENSIONS`` may be left.
"""
from libc.string cimport memset
from numpy cimport npy_intp

from phintys.gpu.runtime cimport driver
from phintys.gpu.runtime.driver cimport Arguments, launch, load_function, put_address, put_integer, set_failure
from phintys.gpu.runtime.kernel cimport THREADS, blocks_for
from phintys.vm cimport abi
from phintys.ops.native.joined_dimensions cimport join_dimensions
from phintys.vm.abi cimport Cell, Context, cell_size
from phintys.vm.limits cimport MAX_RANK

from phintys.gpu.runtime.compiler import compiled

cdef enum:
    MOST_DIMENSIONS = 12

SOURCE = """\
struct alignas(16) Sixteen {{ unsigned long long low, high; }};
struct Walk {{ long long shape[{most}]; long long from[{most}]; long long to[{most}]; }};
extern "C" {{
{kernels}}}
"""
KERNEL = """\
__global__ void copy_{bytes}(long long count, long long rank, Walk walk, const char* from, char* to) {{
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count;
         i += gridDim.x * (long long)blockDim.x) {{
        long long rest = i, source = 0, target = 0;
        for (int axis = 0; axis < rank; axis++) {{
            const long long above = axis + 1 < rank ? rest / walk.shape[axis] : 0;
            const long long at = rest - above * walk.shape[axis];
            source += at * walk.from[axis];
            target += at * walk.to[axis];
            rest = above;
        }}
        *({type}*)(to + target) = *(const {type}*)(from + source);
    }}
}}
"""
SIZES = {1: "unsigned char", 2: "unsigned short", 4: "unsigned", 8: "unsigned long long", 16: "Sixteen"}

cdef void* functions[5]
cdef long loaded = -1


def source():
    """The source of the kernels."""
    kernels = "".join([KERNEL.format(bytes=size, type=name) for size, name in SIZES.items()])
    return SOURCE.format(most=MOST_DIMENSIONS, kernels=kernels)


cdef int load() except -1 with gil:
    """Compile and load the kernels for the device in use."""
    global loaded
    load_function(compiled(source()), [f"copy_{size}" for size in SIZES], functions)
    loaded = driver.generation
    return 0


cdef int which_of(int itemsize) noexcept nogil:
    return 0 if itemsize == 1 else 1 if itemsize == 2 else 2 if itemsize == 4 else 3 if itemsize == 8 else 4


cdef int copy_elements(Cell* target, Cell* source) noexcept nogil:
    """Copy elements between cells of one shape, which need not be in C order; the kernels have been loaded."""
    cdef Cell* cells[2]
    cdef npy_intp lengths[MAX_RANK]
    cdef npy_intp strides[2 * MAX_RANK]
    cdef Arguments arguments
    cdef npy_intp count = cell_size(source)
    cdef int axis, number, joined
    if count == 0:
        return 0
    cells[0], cells[1] = source, target
    joined = join_dimensions(source.ndim, source.shape, cells, 2, lengths, strides)
    if joined > MOST_DIMENSIONS:
        return 1
    arguments.size, arguments.full = 0, False
    put_integer(&arguments, count)
    put_integer(&arguments, joined)
    for axis in range(MOST_DIMENSIONS):
        put_integer(&arguments, lengths[axis] if axis < joined else 1)
    for number in range(2):
        for axis in range(MOST_DIMENSIONS):
            put_integer(&arguments, strides[axis * 2 + number] if axis < joined else 0)
    put_address(&arguments, source)
    put_address(&arguments, target)
    return launch(functions[which_of(source.itemsize)], blocks_for(count), THREADS, &arguments)


cdef int copies_ready() except -1 nogil:
    if loaded != driver.generation:
        load()
    return 0


cdef int strided(Cell* target, Cell* source) except -1 nogil:
    cdef int error
    copies_ready()
    error = copy_elements(target, source)
    if error:
        with gil:
            driver_failed(error)
    return 0


cdef int driver_failed(int error) except -1:
    set_failure(error, b"copying elements on the device")
    return raise_pending()


cdef int raise_pending() except -1:
    return -1


driver.strided_copy = strided
