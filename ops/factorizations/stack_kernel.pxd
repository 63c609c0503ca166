"""The base class of kernels that call LAPACK for each matrix of a stack; see ``stack_kernel.pyx``."""
from numpy cimport npy_intp

from phintys.vm.abi cimport Cell, Context, Kernel

cdef enum:
    MOST_OPERANDS = 8
    # What `compute` returns beside LAPACK's own numbers, which say in which row or column it failed.
    NOT_FINITE = -1000000

# One operand of one item: a matrix, a vector (a matrix with one column) or a number. Steps are in bytes.
cdef struct Item:
    char* data
    npy_intp rows
    npy_intp columns
    npy_intp row_step
    npy_intp column_step

# Before the memory of `compute`: which item of a worker failed first, and why, and whether there is something to
# report.
cdef struct Failure:
    npy_intp item
    int reason
    bint noted

cdef enum:
    FAILURE_ROOM = 64

cdef inline void note(char* room) noexcept nogil:
    """For `compute`, with the memory it was given: `report` is to be called when all items are done."""
    (<Failure*>(room - FAILURE_ROOM)).noted = True

cdef class StackKernel(Kernel):
    cdef int typenum, itemsize      # of the matrices
    cdef bint is_complex
    cdef int precision              # bytes of a real number of the same precision
    cdef int lead                   # how many leading dimensions all operands have
    cdef int inputs, operands       # their numbers
    cdef int ranks[MOST_OPERANDS]   # of the items of each operand: 0, 1 or 2
    cdef unsigned long long spread[MOST_OPERANDS]  # bits: leading dimensions of length 1 that are broadcast
    cdef bint fails_with_nan        # whether an item that cannot be computed is NaN, and nothing is raised

    # Set the fields above; called by the constructors of subclasses.
    cdef int describe(self, str dtype, int lead, ranks, int inputs, spread=*) except -1
    # Check the shapes of the input items, set rows and columns of the output items, and `cost`, the number of
    # multiplications for an item. Returns the bytes of scratch memory that `compute` needs. Has the GIL only if it
    # takes it.
    cdef npy_intp fit(self, Context* context, Item* items, double* cost) except -1 nogil
    # Compute one item; 0, or a number that `refuse` understands.
    cdef int compute(self, Context* context, Item* items, char* room) noexcept nogil
    # Raise the exception for a result of `compute` other than 0.
    cdef int refuse(self, int reason) except -1
    # Copy a matrix in column order, or a vector, to an item of the kernel's dtype; ``leading``: elements of a column.
    cdef void give(self, const char* data, npy_intp leading, const Item* out) noexcept nogil
    cdef int raise_unequal(self, Cell** operands) except -1 with gil
    cdef int workers_for(self, Context* context, npy_intp count, double cost) noexcept nogil
    # Has the GIL: what is to be said of items that `compute` has noted, a warning perhaps.
    cdef int report(self) except -1
    cdef int run_items(self, void* stack, npy_intp count, int workers, npy_intp grain) noexcept nogil

# Copy an item to memory with the given distances of rows and columns in bytes; nothing to do if it is there already.
cdef void copy_item(const Item* item, char* target, npy_intp row_step, npy_intp column_step,
                    int itemsize) noexcept nogil
# Whether all of `count` elements without gaps are finite.
cdef bint all_finite(const char* data, npy_intp count, int precision, bint is_complex) noexcept nogil
# Set elements without gaps of a real or complex type to NaN, or to zero.
cdef void fill_with_nan(char* data, npy_intp count, int precision, bint is_complex) noexcept nogil
# Set an item of any strides to NaN.
cdef void fill_item_with_nan(const Item* item, int precision, bint is_complex) noexcept nogil
# Set to zero what is below (lower) or above the diagonal of a square matrix in C order.
cdef void clear_triangle(char* data, npy_intp order, bint lower, int itemsize) noexcept nogil
# Raise LinAlgError.
cdef int raise_linalg_error(str message) except -1
cdef int check_square(str name, const Item* item) except -1 nogil

cdef inline npy_intp rounded(npy_intp size) noexcept nogil:
    """Bytes of whole cache lines."""
    return (size + 63) & ~<npy_intp>63

cdef inline int at_least_1(npy_intp length) noexcept nogil:
    """A leading dimension: LAPACK refuses 0."""
    return <int>length if length > 0 else 1
