"""What loops compute for a block of steps at a time; see ``blocks.pyx``."""
from numpy cimport npy_intp

from phintys.vm.abi cimport Cell, Context
from phintys.vm.machine.code cimport Code
from phintys.vm.machine.frame cimport Frame


cdef class Blocks:
    cdef readonly object program
    cdef readonly int n_results
    cdef readonly npy_intp length           # steps of a block, as far as the last run has found out; 0: not known
    cdef npy_intp times                     # how many times as large as the host's its blocks are
    cdef Code code
    cdef list idle                          # frames

    cdef Frame begin(self, Context* context)
    cdef int end(self, Frame frame, bint keeps) except -1
    cdef int compute(self, Frame frame, Cell** sequences, int n_sequences, Cell** wholes, int n_wholes, npy_intp step,
                     npy_intp count) except -1
    cdef npy_intp learn(self, Frame frame) except -1
    cdef int free(self) except -1


cpdef npy_intp length_of_blocks(npy_intp bytes)
cdef int keep_results(Code code) except -1
cdef int drop_large(Frame frame) except -1
cdef int empty_idle(list idle) except -1
cdef object kept_by_idle(list idle)
