"""The number of counters for a vector of integers: ``(vector, least length, out)``; ``run`` reads the vector once.

``bincount`` (``bincount.py``) allocates so many counters and then adds to them. The smallest element is found in the
same pass, because a negative one is an error; so the kernel may fail.
"""
cimport numpy as cnp
from libc.stdint cimport INT64_MAX, int64_t, uint64_t
from numpy cimport npy_intp

from phintys.ops.native.asking cimport UNASKED
from phintys.ops.native.integers cimport integer_at
from phintys.vm.abi cimport BOUND, Cell, Context, Kernel, allocate, interrupted
from phintys.vm.thresholds cimport LONG_BINCOUNT

cdef extern from "numpy/ndarraytypes.h":
    int NPY_ULONG                   # of 64 bits, but on Windows, where NPY_UINT64 is NPY_ULONGLONG

ctypedef fused integer:
    cnp.npy_int8
    cnp.npy_int16
    cnp.npy_int32
    cnp.npy_int64
    cnp.npy_uint8
    cnp.npy_uint16
    cnp.npy_uint32
    cnp.npy_uint64

# Finds the smallest and the largest element of a vector that is not empty.
ctypedef void (*Extremes)(const char* data, npy_intp stride, npy_intp count, int64_t* extremes) noexcept nogil


cdef void find_extremes(const integer* unused, const char* data, npy_intp stride, npy_intp count,
                        int64_t* extremes) noexcept nogil:
    cdef integer smallest = (<const integer*>data)[0], largest = smallest, value
    cdef npy_intp index
    if stride == sizeof(integer):                   # the compiler can vectorise this loop
        for index in range(count):
            value = (<const integer*>data)[index]
            smallest = value if value < smallest else smallest
            largest = value if value > largest else largest
    else:
        for index in range(count):
            value = (<const integer*>(data + index * stride))[0]
            smallest = value if value < smallest else smallest
            largest = value if value > largest else largest
    extremes[0], extremes[1] = <int64_t>smallest, <int64_t>largest


cdef void extremes_of(Context* context, const Cell* vector, int64_t* extremes) noexcept nogil:
    cdef npy_intp stride = vector.strides[0], position = 0
    cdef int64_t found[2]
    while position < vector.shape[0] and not (position and interrupted(context)):
        extremes_of_part(vector, vector.data + position * stride, stride,
                         min(vector.shape[0] - position, <npy_intp>UNASKED),
                         found)
        if position == 0 or is_below(vector, found[0], extremes[0]):
            extremes[0] = found[0]
        if position == 0 or is_below(vector, extremes[1], found[1]):
            extremes[1] = found[1]
        position += UNASKED


cdef inline bint is_below(const Cell* vector, int64_t x, int64_t y) noexcept nogil:
    return <uint64_t>x < <uint64_t>y if is_unsigned(vector) else x < y


cdef inline bint is_unsigned(const Cell* vector) noexcept nogil:
    return vector.typenum == NPY_ULONG or vector.typenum == cnp.NPY_ULONGLONG


cdef void extremes_of_part(const Cell* vector, const char* data, npy_intp stride, npy_intp count,
                           int64_t* extremes) noexcept nogil:
    if vector.typenum == cnp.NPY_INT8:
        find_extremes(<const cnp.npy_int8*>NULL, data, stride, count, extremes)
    elif vector.typenum == cnp.NPY_INT16:
        find_extremes(<const cnp.npy_int16*>NULL, data, stride, count, extremes)
    elif vector.typenum == cnp.NPY_INT32:
        find_extremes(<const cnp.npy_int32*>NULL, data, stride, count, extremes)
    elif vector.typenum == cnp.NPY_UINT8:
        find_extremes(<const cnp.npy_uint8*>NULL, data, stride, count, extremes)
    elif vector.typenum == cnp.NPY_UINT16:
        find_extremes(<const cnp.npy_uint16*>NULL, data, stride, count, extremes)
    elif vector.typenum == cnp.NPY_UINT32:
        find_extremes(<const cnp.npy_uint32*>NULL, data, stride, count, extremes)
    elif is_unsigned(vector):
        find_extremes(<const cnp.npy_uint64*>NULL, data, stride, count, extremes)
    else:
        find_extremes(<const cnp.npy_int64*>NULL, data, stride, count, extremes)


cdef class CountersKernel(Kernel):
    """See the docstring of the file."""

    def __cinit__(self):
        self.examined, self.binding, self.may_fail = (1,), BOUND, True

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        if integer_at(operands[1], 0) < 0:
            with gil:
                raise ValueError(f"bincount: minlength must not be negative, got {integer_at(operands[1], 0)}")
        allocate(context, operands[2], NULL)
        return operands[0].shape[0] >= LONG_BINCOUNT

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef int64_t extremes[2]
        cdef int64_t least = integer_at(operands[1], 0)
        extremes[0], extremes[1] = 0, -1                # the values for an empty vector
        if operands[0].shape[0]:
            extremes_of(context, operands[0], extremes)
            if (is_unsigned(operands[0]) and extremes[1] < 0) or extremes[1] == INT64_MAX:
                context.failure = b"bincount: an element does not fit into 63 bits"
                return -1
            if extremes[0] < 0:
                context.failure = b"bincount: an element is negative"
                return -1
        (<int64_t*>operands[2].data)[0] = extremes[1] + 1 if extremes[1] >= least else least
        return 0
