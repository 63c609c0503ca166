"""Kernels of cross-entropies between rows of probabilities and labels, with one label for each row.

The fused kernel computes loss, softmax and the position of the maximum in one pass over the rows; its gradient is one
pass, too. The other two compute the logarithm of a row's element at its label, and the gradient of that. ``prepare``
checks all labels, before anything is written.
"""
cimport numpy as cnp
from numpy cimport npy_intp

from phintys.ops.native.asking cimport UNASKED, clear, ends_after
from phintys.ops.native.integers cimport integer_at, shape_of
from phintys.ops.nnet.softmax_kernel cimport (
    Exponentials, Real, RowPass, check_bias, find_exponentials, label_at, phintys_rows, phintys_softmax_loops,
    rows_worth_a_worker, run_pass, set_rows, softmax_loops, worth_of)
from phintys.vm.abi cimport BOUND, RUNS_ALONE, Cell, Context, Kernel, allocate, cell_size, interrupted, parallel
from phintys.vm.thresholds cimport LONG_CROSSENTROPY

cdef extern from "numpy/ndarraytypes.h":
    int NPY_ULONG                   # of 64 bits, but on Windows, where NPY_UINT64 is NPY_ULONGLONG

cdef enum:
    ROW = 16                        # elements that a label's row takes as long as
    LABELS = 256                   # on the stack


cdef int check_labels(const Cell* labels, const Cell* matrix, bint as_index, bint leading) except -1 nogil:
    """Raise an error unless there is one label for each row (or for the first rows, if ``leading``), and each label is
    a column; with ``as_index``, labels may count from the end.
    """
    cdef npy_intp row, label, classes = matrix.shape[1]
    cdef bint is_unsigned = labels.typenum in (NPY_ULONG, cnp.NPY_ULONGLONG)      # too large ones become negative
    if labels.shape[0] > matrix.shape[0] or (labels.shape[0] < matrix.shape[0] and not leading):
        fail_count(labels, matrix, as_index)
    for row in range(labels.shape[0]):
        label = integer_at(labels, row)
        if label >= classes or label < (-classes if as_index and not is_unsigned else 0):
            fail_label(row, label, classes, as_index)
    return 0


cdef int fail_count(const Cell* labels, const Cell* matrix, bint as_index) except -1 with gil:
    if as_index:
        raise IndexError(f"shape mismatch: {labels.shape[0]} labels do not index {matrix.shape[0]} rows: an index is "
                         f"out of bounds, or rows are left")
    raise ValueError(f"number of rows in x ({matrix.shape[0]}) does not match length of y ({labels.shape[0]})")


cdef int fail_label(npy_intp row, npy_intp label, npy_intp classes, bint as_index) except -1 with gil:
    if as_index:
        raise IndexError(f"index {label} is out of bounds for axis 1 with size {classes}: the label of row {row}")
    raise ValueError(f"y_i value out of bounds: the label of row {row} is {label}, but there are {classes} classes")


cdef class CrossentropyKernel(Kernel):
    """Loss, softmax and argmax of the rows of ``x + bias``: ``(x, bias, labels, losses, softmax, best)``.

    Parameters
    ----------
    dtype : {"float32", "float64"}
        The dtype of x, bias, losses and softmax. Labels and ``best`` have the same integer dtype.
    bias : bool
        Whether to add the bias; otherwise it is not read.
    as_index, leading : bool
        Whether labels may count from the end, and whether the last rows may have no label.

    Raises
    ------
    ValueError
        Raised by ``prepare`` for lengths that do not match and labels that are not classes; with ``as_index`` it is an
        ``IndexError``.
    """
    cdef Exponentials loops
    cdef readonly list providers         # names of loops, and whose they are
    cdef bint bias, as_index, leading

    def __cinit__(self, *arguments, **named):
        self.examined, self.binding = (2,), BOUND

    def __init__(self, str dtype, bint bias=True, bint as_index=False, bint leading=False):
        self.providers = find_exponentials(&self.loops, dtype)
        self.bias, self.as_index, self.leading = bias, as_index, leading

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* x = operands[0]
        if self.bias:
            check_bias(x, operands[1])
        check_labels(operands[2], x, self.as_index, self.leading)
        allocate(context, operands[3], operands[2].shape)
        allocate(context, operands[4], x.shape)
        allocate(context, operands[5], operands[2].shape)
        return worth_of(cell_size(x))

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef RowPass work
        work.loops, work.logarithm = &self.loops, False
        set_rows(&work.rows, operands[0], operands[1] if self.bias else NULL)
        work.labels, work.losses, work.out, work.best = operands[2], operands[3].data, operands[4].data, operands[5]
        run_pass(context, &work, operands[2].shape[0])
        if operands[2].shape[0] < operands[0].shape[0]:          # some rows have no label
            work.labels = NULL
            work.rows.x += operands[2].shape[0] * work.rows.xs0
            work.out += operands[2].shape[0] * operands[4].strides[0]
            run_pass(context, &work, operands[0].shape[0] - operands[2].shape[0])
        return 0


cdef struct GradientWork:
    phintys_rows softmax
    const Cell* labels
    const char* gradient
    npy_intp stride                # stride of the gradient; 0 if one number is for all rows
    char* out
    int itemsize
    const phintys_softmax_loops* loops


cdef void gradient_piece(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    """Compute rows [start, stop), at most LABELS at a time."""
    cdef GradientWork* work = <GradientWork*>argument
    cdef npy_intp labels[LABELS]
    cdef npy_intp count, row, n = work.softmax.columns
    while start < stop:
        count = stop - start if stop - start < LABELS else LABELS
        for row in range(count):
            labels[row] = label_at(work.labels, start + row, n)
        work.loops.crossentropy_gradient(&work.softmax, start, count, work.gradient, work.stride, labels,
                                         work.out + start * n * work.itemsize)
        start += count


cdef class CrossentropyGradKernel(Kernel):
    """``dy * (softmax - one at the label)`` for each row: ``(dy, softmax, labels, out)``.

    Parameters
    ----------
    rank : {0, 1}
        The rank of dy; a vector has one element for each row, or one for all.
    as_index, leading : bool
        Whether labels may count from the end, and whether the last rows may have no label.

    Raises
    ------
    ValueError
        Raised by ``prepare`` for lengths that do not match and labels that are not classes.
    """
    cdef int rank
    cdef bint as_index, leading

    def __cinit__(self, *arguments, **named):
        self.examined, self.binding = (2,), BOUND

    def __init__(self, int rank, bint as_index=False, bint leading=False):
        self.rank, self.as_index, self.leading = rank, as_index, leading

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* softmax = operands[1]
        if self.rank and operands[0].shape[0] != operands[2].shape[0] and operands[0].shape[0] != 1:
            with gil:
                raise ValueError(f"dnll.shape[0] ({operands[0].shape[0]}) != y_idx.shape[0] ({operands[2].shape[0]})")
        check_labels(operands[2], softmax, self.as_index, self.leading)
        allocate(context, operands[3], softmax.shape)
        return worth_of(cell_size(softmax))

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef GradientWork work
        cdef Cell* softmax = operands[1]
        cdef npy_intp labelled = operands[2].shape[0] * softmax.shape[1] * softmax.itemsize
        set_rows(&work.softmax, softmax, NULL)
        work.labels, work.out, work.itemsize = operands[2], operands[3].data, softmax.itemsize
        work.loops = softmax_loops(softmax.itemsize)
        work.gradient = operands[0].data
        work.stride = operands[0].strides[0] if self.rank and operands[0].shape[0] != 1 else 0
        if labelled:
            parallel(context, gradient_piece, &work, operands[2].shape[0], rows_worth_a_worker(softmax.shape[1]))
        clear(context, operands[3].data + labelled, cell_size(softmax) * softmax.itemsize - labelled)
        return 0


# ---- loss of given probabilities -------------------------------------------------------------------------------------
cdef inline void gather(Cell* matrix, Cell* labels, npy_intp first, npy_intp stop, Real* out) noexcept nogil:
    """Write the elements of rows [first, stop) at their labels."""
    cdef npy_intp row
    for row in range(first, stop):
        out[row] = (<Real*>(matrix.data + row * matrix.strides[0]
                            + label_at(labels, row, matrix.shape[1]) * matrix.strides[1]))[0]


cdef inline void change_signs(Real* out, npy_intp first, npy_intp stop) noexcept nogil:
    cdef npy_intp row
    for row in range(first, stop):
        out[row] = -out[row]


cdef inline void scatter(Context* context, Cell* gradient, Cell* matrix, Cell* labels, Real* out) noexcept nogil:
    """Write zeros, except at the label: there, minus the row's gradient divided by the element."""
    cdef npy_intp row, label, columns = matrix.shape[1], unasked = 0
    cdef Real element
    clear(context, <char*>out, matrix.shape[0] * columns * sizeof(Real))
    for row in range(matrix.shape[0]):
        label = label_at(labels, row, columns)
        element = (<Real*>(matrix.data + row * matrix.strides[0] + label * matrix.strides[1]))[0]
        out[row * columns + label] = -(<Real*>(gradient.data + row * gradient.strides[0]))[0] / element
        if ends_after(context, &unasked, ROW):
            return


cdef class LabelLossKernel(Kernel):
    """``-log(probabilities[row, label])`` for each row: ``(probabilities, labels, losses)``.

    Parameters
    ----------
    dtype : {"float32", "float64"}

    Raises
    ------
    ValueError
        Raised by ``prepare`` for lengths that do not match and labels that are not classes.
    """
    cdef Exponentials loops
    cdef readonly list providers         # names of loops, and whose they are

    def __cinit__(self, *arguments, **named):
        self.examined, self.binding = (1,), BOUND

    def __init__(self, str dtype):
        self.providers = find_exponentials(&self.loops, dtype)[1:]

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        check_labels(operands[1], operands[0], False, False)
        allocate(context, operands[2], operands[0].shape)
        return RUNS_ALONE if operands[0].shape[0] > LONG_CROSSENTROPY else 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef npy_intp first = 0, rows = operands[0].shape[0]
        while first < rows and not (first and interrupted(context)):
            if self.loops.itemsize == sizeof(float):
                self.compute(operands, first, min(first + UNASKED // ROW, rows), <float*>operands[2].data)
            else:
                self.compute(operands, first, min(first + UNASKED // ROW, rows), <double*>operands[2].data)
            first += UNASKED // ROW
        return 0

    cdef inline void compute(self, Cell** operands, npy_intp first, npy_intp stop, Real* out) noexcept nogil:
        """Compute the losses of rows [first, stop)."""
        cdef char* arguments[2]
        cdef npy_intp strides[2]
        cdef npy_intp count = stop - first
        arguments[0] = arguments[1] = <char*>(out + first)
        strides[0] = strides[1] = sizeof(Real)
        gather(operands[0], operands[1], first, stop, out)
        self.loops.log(arguments, &count, strides, self.loops.log_data)
        change_signs(out, first, stop)


cdef class LabelLossGradKernel(Kernel):
    """The gradient of these losses with respect to the probabilities: ``(dy, probabilities, labels, out)``.

    Raises
    ------
    ValueError
        Raised by ``prepare`` for lengths that do not match and labels that are not classes.
    """

    def __cinit__(self):
        self.examined, self.binding = (2,), BOUND

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        if operands[0].shape[0] != operands[1].shape[0]:
            with gil:
                raise ValueError(f"g_y of shape {shape_of(operands[0])} does not match coding_dist of shape "
                                 f"{shape_of(operands[1])}")
        check_labels(operands[2], operands[1], False, False)
        allocate(context, operands[3], operands[1].shape)
        return RUNS_ALONE if cell_size(operands[1]) > 4 * LONG_CROSSENTROPY else 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        if operands[1].itemsize == sizeof(float):
            scatter(context, operands[0], operands[1], operands[2], <float*>operands[3].data)
        else:
            scatter(context, operands[0], operands[1], operands[2], <double*>operands[3].data)
        return 0
