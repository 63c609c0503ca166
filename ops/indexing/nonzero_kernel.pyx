"""The positions of a mask's true elements: ``(mask, out)``; ``out`` has one row per dimension, one column per element.

``prepare`` counts the true elements, because the result's shape depends on their number; so the mask is read twice.
"""
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset
from numpy cimport npy_intp

from phintys.ops.native.asking cimport UNASKED, ends_after
from phintys.ops.native.mask_loops cimport count_true, find_true
from phintys.ops.native.sets cimport phintys_set, set_of_process
from phintys.ops.native.strided_copy cimport CopyPlan, next_place
from phintys.vm.abi cimport RUNS_ALONE, UNBOUND, Cell, Context, Kernel, allocate, cell_size
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.thresholds cimport LONG_NONZERO

phintys_set = set_of_process()


cdef class NonzeroKernel(Kernel):
    """See the docstring of the file; positions are in C order."""

    def __cinit__(self):
        self.examined, self.binding = (0,), UNBOUND

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* mask = operands[0]
        cdef npy_intp shape[2]
        shape[0], shape[1] = mask.ndim, count_true(mask.data, mask.ndim, mask.shape, mask.strides)
        allocate(context, operands[1], shape)
        return RUNS_ALONE if cell_size(mask) >= LONG_NONZERO else 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* mask = operands[0]
        cdef npy_intp count = operands[1].shape[1]
        cdef int64_t* columns = <int64_t*>operands[1].data
        cdef int last = mask.ndim - 1, axis
        cdef npy_intp index[MAX_RANK]
        cdef npy_intp done = 0, found, position, column = 0, unasked = 0
        cdef char* line = mask.data
        cdef const char* same = mask.data
        cdef CopyPlan plan                           # dimensions are not joined, because positions have all of them
        plan.ndim = mask.ndim
        memcpy(plan.shape, mask.shape, mask.ndim * sizeof(npy_intp))
        memcpy(plan.target, mask.strides, mask.ndim * sizeof(npy_intp))
        memcpy(plan.source, mask.strides, mask.ndim * sizeof(npy_intp))
        memset(index, 0, mask.ndim * sizeof(npy_intp))
        while done < count:
            found = find_true(columns + last * count + done, min(count - done, <npy_intp>UNASKED), line,
                              mask.strides[last], mask.shape[last], &column)
            for axis in range(last):
                for position in range(done, done + found):
                    columns[axis * count + position] = index[axis]
            done += found
            if ends_after(context, &unasked, (1 + found) * mask.ndim):
                return 0
            if column == mask.shape[last]:
                column = 0
                next_place(&plan, last, index, &line, &same)
        return 0
