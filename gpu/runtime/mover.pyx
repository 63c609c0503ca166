"""The kernel of small copies between the places: one of them is memory of the host that the device sees.

``work_queue.h`` launches it, as a piece of work like others.
"""
from phintys.gpu.runtime cimport driver
from phintys.gpu.runtime.driver cimport load_function, use_mover

from phintys.gpu.runtime.compiler import compiled

SOURCE = """\
struct alignas(16) Sixteen { unsigned long long low, high; };
extern "C" __global__ void move(unsigned char* to, const unsigned char* from, unsigned long long size) {
    const unsigned long long both = (unsigned long long)to | (unsigned long long)from;
    unsigned long long at = (blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x) * 16;
    const unsigned long long end = at + 16 < size ? at + 16 : size;
    if (at + 16 <= size && both % 16 == 0) {
        *(Sixteen*)(to + at) = *(const Sixteen*)(from + at);
        return;
    }
    if (both % 4 == 0)
        for (; at + 4 <= end; at += 4) *(unsigned*)(to + at) = *(const unsigned*)(from + at);
    for (; at < end; at++) to[at] = from[at];
}
"""

cdef long loaded = -1


cdef int mover_ready() except -1 nogil:
    if loaded != driver.generation:
        load()
    return 0


cdef int load() except -1 with gil:
    global loaded
    cdef void* function
    load_function(compiled(SOURCE), ["move"], &function)
    use_mover(function)
    loaded = driver.generation
    return 0
