"""Positions in a sorted vector: ``(values, needles, out)``, or ``(values, needles, order, out)``.

Values and needles have the same dtype; an order is int64. Many needles are divided among workers. As in NumPy, only
those numbers of an order are checked that a search reads, so ``run`` detects invalid numbers.
"""
from libc.stdint cimport int64_t
from numpy cimport npy_intp

from phintys.ops.native.loops import TYPES
from phintys.ops.native.asking cimport data_without_gaps
from phintys.vm.abi cimport BOUND, Cell, Context, Kernel, allocate, cell_is_contiguous, cell_size, parallel, scratch
from phintys.vm.thresholds cimport LONG_SEARCH, PIECE_SEARCH

cdef extern from "sorting/searching_loops.h" nogil:
    ctypedef struct Haystack:
        const char* values
        npy_intp stride
        npy_intp length
        const int64_t* order
        bint or_equal
        bint wrong
    ctypedef void (*phintys_search_needles)(Haystack* haystack, const char* needles, npy_intp count,
                                            int64_t* positions) noexcept nogil
    const phintys_search_needles phintys_searches_for_needles[14][3]

cdef struct Search:
    phintys_search_needles of_needles
    Haystack haystack
    const char* needles
    npy_intp itemsize
    int64_t* positions


cdef void search_range(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    cdef Search* search = <Search*>argument
    cdef Haystack haystack = search.haystack
    search.of_needles(&haystack, search.needles + start * search.itemsize, stop - start, search.positions + start)
    if haystack.wrong:
        search.haystack.wrong = True                 # any worker may set it, and no worker clears it


cdef class SearchsortedKernel(Kernel):
    """See the docstring of the file.

    Parameters
    ----------
    dtype : str
        The dtype of the values and the needles.
    right : bool
        Whether to return the position after equal values instead of the one before them.
    ordered : bool
        Whether an operand is the order in which the values are sorted.
    """
    cdef phintys_search_needles of_needles
    cdef bint ordered, right

    def __cinit__(self):
        self.examined, self.binding = (), BOUND

    def __init__(self, dtype, bint right, bint ordered):
        self.of_needles = phintys_searches_for_needles[<int>TYPES.index(dtype)][2 if ordered else <int>right]
        self.ordered = self.may_fail = ordered
        self.right = right

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* needles = operands[1]
        if self.ordered and operands[2].shape[0] != operands[0].shape[0]:
            with gil:
                raise ValueError(f"searchsorted: sorter.size must equal a.size, they are {operands[2].shape[0]} and "
                                 f"{operands[0].shape[0]}")
        allocate(context, operands[2 + self.ordered], needles.shape)
        scratch(context, self.copied_bytes(operands))
        return cell_size(needles) >= LONG_SEARCH

    cdef inline npy_intp copied_bytes(self, Cell** operands) noexcept nogil:
        """The size of copies of the needles and of the order, if they are not contiguous."""
        cdef npy_intp size = 0
        if not cell_is_contiguous(operands[1]):
            size = (cell_size(operands[1]) * operands[1].itemsize + 7) & ~<npy_intp>7
        if self.ordered and not cell_is_contiguous(operands[2]):
            size += cell_size(operands[2]) * sizeof(int64_t)
        return size

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* needles = operands[1]
        cdef npy_intp count = cell_size(needles)
        cdef char* room = context.scratch
        cdef Search search
        search.of_needles, search.itemsize = self.of_needles, needles.itemsize
        search.positions = <int64_t*>operands[2 + self.ordered].data
        search.haystack.or_equal = self.right
        search.haystack.values, search.haystack.stride = operands[0].data, operands[0].strides[0]
        search.haystack.length, search.haystack.order, search.haystack.wrong = operands[0].shape[0], NULL, False
        if self.ordered:
            search.haystack.order = <int64_t*>data_without_gaps(context, operands[2], room)
            if <char*>search.haystack.order == room:
                room += operands[2].shape[0] * sizeof(int64_t)
        search.needles = data_without_gaps(context, needles, room)
        if count:
            parallel(context, search_range, &search, count, PIECE_SEARCH)
        if search.haystack.wrong:
            context.failure = b"searchsorted: Sorter index out of range."
            return -1
        return 0
