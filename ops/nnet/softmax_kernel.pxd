"""One pass over the rows of a matrix for softmax and cross-entropies: see ``softmax_kernel.pyx``."""
from numpy cimport npy_intp

from phintys.ops.native.loops cimport LoopFunction
from phintys.ops.native.sets cimport PHINTYS_SETS
from phintys.vm.abi cimport Cell, Context

cdef extern from "nnet/softmax_loops.h" nogil:
    ctypedef struct phintys_rows:
        npy_intp columns
        const char* x
        const char* bias
        npy_intp xs0
        npy_intp xs1
        npy_intp bs
    ctypedef struct phintys_softmax_loops:
        void (*shift_rows)(const phintys_rows* rows, npy_intp first, npy_intp count, void* out, const npy_intp* labels,
                           void* targets, npy_intp* best) noexcept nogil
        void (*sum_rows)(npy_intp count, npy_intp columns, const void* x, void* sums) noexcept nogil
        void (*normalize_rows)(npy_intp count, npy_intp columns, void* x, void* sums) noexcept nogil
        void (*scale)(npy_intp columns, void* x, double scale) noexcept nogil
        void (*subtract_from_rows)(npy_intp count, npy_intp columns, void* x, const void* numbers) noexcept nogil
        void (*softmax_gradient)(const phintys_rows* gradient, const phintys_rows* softmax, npy_intp first,
                                 npy_intp count, void* out, void* room) noexcept nogil
        void (*crossentropy_gradient)(const phintys_rows* softmax, npy_intp first, npy_intp count, const char* gradient,
                                      npy_intp stride, const npy_intp* labels, void* out) noexcept nogil
    const phintys_softmax_loops* phintys_softmax[2][PHINTYS_SETS]

ctypedef fused Real:
    float
    double

# The loops of exp and log for one dtype, and those over rows.
cdef struct Exponentials:
    LoopFunction exp
    LoopFunction log
    void* exp_data
    void* log_data
    int itemsize
    const phintys_softmax_loops* rows

# The computation for each row of x + bias.
cdef struct RowPass:
    const Exponentials* loops
    phintys_rows rows
    bint logarithm             # whether to compute logarithms of the probabilities
    char* out                  # the result, in C order
    const Cell* labels         # NULL if only the softmax is computed
    char* losses               # minus the logarithms of the probabilities at the labels
    Cell* best                 # the positions of the largest elements

cdef list find_exponentials(Exponentials* loops, str dtype)
cdef const phintys_softmax_loops* softmax_loops(int itemsize) noexcept nogil
cdef void set_rows(phintys_rows* rows, const Cell* matrix, const Cell* bias) noexcept nogil
cdef void run_pass(Context* context, RowPass* work, npy_intp count) noexcept nogil
cdef int check_bias(const Cell* x, const Cell* bias) except -1 nogil
cdef int worth_of(npy_intp elements) noexcept nogil
cdef npy_intp rows_worth_a_worker(npy_intp columns) noexcept nogil
cdef npy_intp rows_in_block(npy_intp columns, int itemsize) noexcept nogil
cdef npy_intp label_at(const Cell* labels, npy_intp row, npy_intp classes) noexcept nogil
