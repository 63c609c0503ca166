"""Kernels of the multi-class hinge loss and its gradient, each in one pass over the rows of predictions.

Labels follow the rules of indexing. ``prepare`` checks them, before anything is written.
"""
from numpy cimport npy_intp

from phintys.ops.nnet.crossentropy_kernel cimport check_labels
from phintys.ops.native.integers cimport shape_of
from phintys.ops.native.sets cimport PHINTYS_SETS, usable_set
from phintys.ops.nnet.softmax_kernel cimport label_at, phintys_rows, rows_worth_a_worker, set_rows
from phintys.vm.abi cimport BOUND, RUNS_ALONE, Cell, Context, Kernel, allocate, cell_size, parallel, scratch
from phintys.vm.thresholds cimport LONG_HINGE, SHARED_HINGE

cdef extern from "nnet/hinge_loops.h" nogil:
    ctypedef struct phintys_hinge_loops:
        void (*rows)(const phintys_rows* p, npy_intp first, npy_intp count, const npy_intp* labels, const void* delta,
                     void* losses, void* room) noexcept nogil
        void (*gradient)(const phintys_rows* p, npy_intp first, npy_intp count, const char* gradient, npy_intp stride,
                         const npy_intp* labels, const void* delta, void* out, void* room) noexcept nogil
    const phintys_hinge_loops* phintys_hinge[2][PHINTYS_SETS]

cdef enum:
    LABELS = 256                   # on the stack

cdef struct Work:
    phintys_rows rows
    const Cell* labels
    const char* delta
    const char* gradient           # NULL if losses are computed
    npy_intp stride                # stride of the gradient
    char* out
    char* room                     # scratch memory of one row for each worker
    int itemsize
    const phintys_hinge_loops* loops


cdef void piece(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    """Compute rows [start, stop), at most LABELS at a time."""
    cdef Work* work = <Work*>argument
    cdef npy_intp labels[LABELS]
    cdef npy_intp count, row, n = work.rows.columns
    cdef char* room = work.room + worker * n * work.itemsize
    while start < stop:
        count = min(stop - start, <npy_intp>LABELS)
        for row in range(count):
            labels[row] = label_at(work.labels, start + row, n)
        if work.gradient == NULL:
            work.loops.rows(&work.rows, start, count, labels, work.delta, work.out + start * work.itemsize, room)
        else:
            work.loops.gradient(&work.rows, start, count, work.gradient, work.stride, labels, work.delta,
                                work.out + start * n * work.itemsize, room)
        start += count


cdef void all_rows(Context* context, Work* work, const Cell* x, const Cell* labels, const Cell* delta) noexcept nogil:
    set_rows(&work.rows, x, NULL)
    work.labels, work.delta, work.room, work.itemsize = labels, delta.data, context.scratch, x.itemsize
    work.loops = phintys_hinge[0 if x.itemsize == sizeof(float) else 1][usable_set()]
    if cell_size(x):
        parallel(context, piece, work, x.shape[0], rows_worth_a_worker(x.shape[1]))


cdef int room_for_rows(Context* context, const Cell* x) except -1 nogil:
    """Allocate scratch memory of one row for each worker; returns the result of ``prepare``."""
    cdef npy_intp size = cell_size(x)
    scratch(context, context.workers * x.shape[1] * x.itemsize)
    return 0 if size < LONG_HINGE else RUNS_ALONE if size < SHARED_HINGE else 1


cdef class HingeKernel(Kernel):
    """``max(0, largest wrong prediction - right one + delta)`` for each row: ``(predictions, labels, delta, losses)``.

    Predictions, delta and losses have the same dtype, float32 or float64.

    Raises
    ------
    IndexError
        Raised by ``prepare`` if the numbers of labels and rows differ, and for labels that are not classes.
    """

    def __cinit__(self):
        self.examined, self.binding = (1,), BOUND

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        check_labels(operands[1], operands[0], True, False)
        allocate(context, operands[3], operands[0].shape)
        return room_for_rows(context, operands[0])

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Work work
        work.gradient, work.stride, work.out = NULL, 0, operands[3].data
        all_rows(context, &work, operands[0], operands[1], operands[2])
        return 0


cdef class HingeGradKernel(Kernel):
    """The gradient of these losses with respect to the predictions: ``(gradient, predictions, labels, delta, out)``.

    Raises
    ------
    ValueError
        Raised by ``prepare`` if the gradient does not have one element for each row. For labels, see `HingeKernel`.
    """

    def __cinit__(self):
        self.examined, self.binding = (2,), BOUND

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        if operands[0].shape[0] != operands[1].shape[0] or cell_size(operands[0]) != operands[0].shape[0]:
            with gil:
                raise ValueError(f"a gradient of shape {shape_of(operands[0])} does not match predictions of shape "
                                 f"{shape_of(operands[1])}")
        check_labels(operands[2], operands[1], True, False)
        allocate(context, operands[4], operands[1].shape)
        return room_for_rows(context, operands[1])

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Work work
        work.gradient, work.stride, work.out = operands[0].data, operands[0].strides[0], operands[4].data
        all_rows(context, &work, operands[1], operands[2], operands[3])
        return 0
