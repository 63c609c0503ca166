"""The kernel of linear recurrences along an axis. Operands that are not contiguous are copied first."""
from numpy cimport npy_intp

from phintys.ops.native.integers cimport shape_of
from phintys.ops.native.strided_copy cimport contiguous_data
from phintys.vm.abi cimport BOUND, RUNS_ALONE, Cell, Context, Kernel, allocate, cell_size, scratch
from phintys.vm.thresholds cimport LONG_RECURRENCE

cdef extern from "cumulative/recurrence_loops.h" nogil:
    ctypedef void (*phintys_recurrence)(const void* factors, const void* terms, void* results, npy_intp rows,
                                        npy_intp columns, int backwards, int own) noexcept nogil
    const phintys_recurrence phintys_recurrences[4]

DTYPES = ("float32", "float64", "complex64", "complex128")


cdef class RecurrenceKernel(Kernel):
    """``r[j] = terms[j] + factor * r[j - 1]`` along an axis: ``(factors, terms, out)``, all of one shape and dtype.

    Parameters
    ----------
    dtype : str
        One of ``DTYPES``.
    axis : int
        Not negative.
    backwards : bool
        Whether to run from the last element to the first, with ``r[j + 1]`` in place of ``r[j - 1]``.
    own : bool
        Whether the factor is that of element j; otherwise it is that of element j - 1 (j + 1 if ``backwards``).
    """
    cdef phintys_recurrence recur
    cdef int axis
    cdef bint backwards, own

    def __cinit__(self):
        self.examined, self.binding = (), BOUND

    def __init__(self, dtype, int axis, backwards, own):
        self.recur = phintys_recurrences[<int>DTYPES.index(dtype)]
        self.axis, self.backwards, self.own = axis, backwards, own

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef int axis
        cdef npy_intp size = cell_size(operands[0])
        for axis in range(operands[0].ndim):
            if operands[0].shape[axis] != operands[1].shape[axis]:
                with gil:
                    raise ValueError(f"LinearRecurrence: the factors have shape {shape_of(operands[0])}, the terms "
                                     f"{shape_of(operands[1])}")
        allocate(context, operands[2], operands[0].shape)
        scratch(context, 2 * size * operands[0].itemsize)
        return RUNS_ALONE if size >= LONG_RECURRENCE else 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* result = operands[2]
        cdef npy_intp outer = 1, columns = 1, rows = result.shape[self.axis]
        cdef npy_intp size = cell_size(result) * result.itemsize
        cdef npy_intp slab, bytes
        cdef const char* factors
        cdef const char* terms
        cdef int axis
        if size == 0:
            return 0
        factors = contiguous_data(operands[0], context.scratch)
        terms = contiguous_data(operands[1], context.scratch + size)
        for axis in range(result.ndim):
            if axis < self.axis:
                outer *= result.shape[axis]
            elif axis > self.axis:
                columns *= result.shape[axis]
        bytes = rows * columns * result.itemsize
        for slab in range(outer):
            self.recur(factors + slab * bytes, terms + slab * bytes, result.data + slab * bytes, rows, columns,
                       self.backwards, self.own)
        return 0
