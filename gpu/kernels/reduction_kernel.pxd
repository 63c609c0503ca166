"""The base class of folds on the device; see ``reduction_kernel.pyx``."""
from numpy cimport npy_intp

from phintys.gpu.runtime.driver cimport Arguments
from phintys.gpu.runtime.kernel cimport DeviceKernel
from phintys.vm.abi cimport Cell
from phintys.vm.limits cimport MAX_RANK

cdef enum:
    MOST_OPERANDS = 32
    MOST_WORDS = 440            # of a walk's strides

cdef struct FoldWalk:           # the kept dimensions, and the reduced ones, joined; the innermost first
    npy_intp results, count     # count: elements of each result
    int joined[2]               # how many dimensions there are
    npy_intp lengths[2][MAX_RANK]
    npy_intp strides[2][MOST_WORDS]     # of each operand and of the results' positions, dimension by dimension

cdef struct FoldPlan:
    int which                   # the kernel
    npy_intp splits             # parts of the elements of a result
    npy_intp chunk              # vectors of a part
    npy_intp groups             # blocks for all results
    bint by_columns
    int vector                  # elements of a vector, or 1
    bint edges                  # rows may have elements before the first whole vector or after the last
    int lane_bits               # 2 ** lane_bits threads have a result, or results beside each other

cdef class FoldKernel(DeviceKernel):
    cdef object fold_source     # the ``FoldSource``
    cdef list pieces            # kernels that have been needed
    cdef void* kernels[11]      # the same, of each of ``KERNELS``, or NULL
    cdef int rank               # of the source
    cdef int pointers           # operands on the device
    cdef int vector             # elements of a vector
    cdef int accumulator_size
    cdef int sizes[MOST_OPERANDS]
    cdef bint repeated[2][MOST_OPERANDS]    # in columns, in rows: one element is read for a vector
    cdef bint in_order          # elements are numbered in C order
    cdef int take_source(self, object source, int rank) except -1
    # Fold operands of a common shape over the axes of a mask. `arguments` has what the kernels take first: operands,
    # and what `store` needs. `cells` has room for one more. Returns 0, or -1 with an exception set.
    cdef int fold(self, Cell** cells, int rank, const npy_intp* shape, unsigned long long reduced,
                  Arguments* arguments) noexcept nogil
    cdef void lay_out(self, Cell** cells, int rank, const npy_intp* shape, unsigned long long reduced,
                      FoldWalk* walk) noexcept nogil
    cdef void choose(self, Cell** cells, const FoldWalk* walk, FoldPlan* plan) noexcept nogil
    cdef bint take_vectors(self, Cell** cells, const FoldWalk* walk, FoldPlan* plan, int part) noexcept nogil
    cdef bint is_aligned(self, Cell** cells, const FoldWalk* walk, int part, int index, int leader) noexcept nogil
    cdef void put_walk(self, Arguments* arguments, const FoldWalk* walk, const FoldPlan* plan) noexcept nogil
