"""The positions of a mask's true elements: ``(mask, out)``; ``out`` has a row per dimension, a column per element.

``prepare`` counts them, because the result's shape depends on it; that reads each byte of the mask once more.
"""
from libc.stdint cimport int64_t
from libc.string cimport memset
from numpy cimport npy_intp

from phintys.ops.indexed_loops cimport count_true
from phintys.vm.abi cimport Cell, Context, Kernel, allocate, cell_size

cdef enum:
    MAX_RANK = 64
    LONG_COUNT = 16384              # elements: looking at as many takes about 20 microseconds


cdef class NonzeroKernel(Kernel):
    """See the file; elements come in C order."""

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* mask = operands[0]
        cdef npy_intp shape[2]
        shape[0], shape[1] = mask.ndim, count_true(mask.data, mask.ndim, mask.shape, mask.strides)
        allocate(context, operands[1], shape)
        return cell_size(mask) >= LONG_COUNT

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* mask = operands[0]
        cdef npy_intp count = operands[1].shape[1]
        cdef int64_t* columns = <int64_t*>operands[1].data
        cdef int last = mask.ndim - 1, axis
        cdef npy_intp index[MAX_RANK]
        cdef npy_intp done = 0, found, place
        cdef const char* line = mask.data
        memset(index, 0, sizeof(index))
        while done < count:
            found = fill_line(columns + last * count + done, line, mask.strides[last], mask.shape[last], count - done)
            for axis in range(last):
                for place in range(done, done + found):
                    columns[axis * count + place] = index[axis]
            done += found
            axis = last - 1
            while axis >= 0:
                line += mask.strides[axis]
                index[axis] += 1
                if index[axis] < mask.shape[axis]:
                    break
                line -= mask.strides[axis] * mask.shape[axis]
                index[axis] = 0
                axis -= 1
        return 0


cdef inline npy_intp fill_line(int64_t* columns, const char* line, npy_intp stride, npy_intp length,
                               npy_intp room) noexcept nogil:
    """Write down the true elements of a line, at most ``room``; answers how many. The loop has no branch to guess."""
    cdef npy_intp place = 0, found = 0
    while place < length and found < room:
        columns[found] = place
        found += line[place * stride] != 0
        place += 1
    return found
