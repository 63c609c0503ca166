"""Softmax of the rows of a matrix, its logarithm and its gradient.

Rows are processed in blocks that fit in the L1 cache. All steps (maximum, difference, NumPy's exp, sum, quotient) run
on one block before the next block starts, so that memory is read and written once. For a row that is longer than a
block, each step runs on the whole row, except that exp and sum run together on pieces. The largest element of a row is
subtracted first: then nothing overflows, and the sum of a row is at least 1.
"""
import numpy

from numpy cimport npy_intp

from phintys.ops.native.integers cimport integer_at, shape_of
from phintys.ops.native.loops cimport InnerLoop, find_loop
from phintys.ops.native.sets cimport usable_set
from phintys.vm.abi cimport BOUND, RUNS_ALONE, Cell, Context, Kernel, allocate, cell_size, parallel, scratch
from phintys.vm.thresholds cimport LONG_SOFTMAX, PIECE_SOFTMAX

cdef enum:
    BLOCK_BYTES = 16384            # of rows worked on together: half of the smallest L1 cache
    BLOCK_ELEMENTS = 4096          # of the smaller dtype in a block
    MOST_ROWS = 256                # in a block: their sums and labels are on the stack


cdef int worth_of(npy_intp elements) noexcept nogil:
    """What ``prepare`` returns for so many elements."""
    return 0 if elements <= LONG_SOFTMAX else RUNS_ALONE if elements < 2 * PIECE_SOFTMAX else 1


cdef list find_exponentials(Exponentials* loops, str dtype):
    """Set the loops; returns their names and whose they are."""
    cdef InnerLoop exp = find_loop(numpy.exp, (dtype, dtype))
    cdef InnerLoop log = find_loop(numpy.log, (dtype, dtype))
    loops.exp, loops.exp_data, loops.log, loops.log_data = exp.function, exp.data, log.function, log.data
    loops.itemsize = numpy.dtype(dtype).itemsize
    loops.rows = softmax_loops(loops.itemsize)
    return [(exp.name, exp.provider), (log.name, log.provider)]


cdef const phintys_softmax_loops* softmax_loops(int itemsize) noexcept nogil:
    return phintys_softmax[0 if itemsize == sizeof(float) else 1][usable_set()]


cdef void set_rows(phintys_rows* rows, const Cell* matrix, const Cell* bias) noexcept nogil:
    """Set ``rows`` to those of ``matrix``; the bias may be NULL. Strides along dimensions of length 1 are ignored."""
    rows.columns = matrix.shape[1]
    rows.x, rows.xs0 = matrix.data, matrix.strides[0]
    rows.xs1 = matrix.strides[1] if matrix.shape[1] != 1 else matrix.itemsize
    rows.bias, rows.bs = NULL, 0
    if bias != NULL:
        rows.bias, rows.bs = bias.data, bias.strides[0] if bias.shape[0] != 1 else bias.itemsize


cdef int check_bias(const Cell* x, const Cell* bias) except -1 nogil:
    if bias.shape[0] != x.shape[1]:
        with gil:
            raise ValueError(f"number of columns in x ({x.shape[1]}) does not match length of b ({bias.shape[0]})")
    return 0


cdef npy_intp rows_worth_a_worker(npy_intp columns) noexcept nogil:
    return PIECE_SOFTMAX // (columns if columns else 1) + 1


cdef npy_intp rows_in_block(npy_intp columns, int itemsize) noexcept nogil:
    """The number of rows that fit in a block; 0 for rows that are longer than a block."""
    cdef npy_intp count = BLOCK_BYTES // (columns * itemsize) if columns else MOST_ROWS
    return count if count < MOST_ROWS else MOST_ROWS


cdef npy_intp label_at(const Cell* labels, npy_intp row, npy_intp classes) noexcept nogil:
    """A label, which has been checked; negative labels count from the end."""
    cdef npy_intp label = integer_at(labels, row)
    return label + classes if label < 0 else label


cdef inline void store_integer(Cell* cell, npy_intp index, npy_intp value) noexcept nogil:
    """Store into a vector of any integer dtype; unsigned ones are stored like signed ones of their size."""
    cdef char* target = cell.data + index * cell.strides[0]
    if cell.itemsize == 8:
        (<long long*>target)[0] = value
    elif cell.itemsize == 4:
        (<int*>target)[0] = <int>value
    elif cell.itemsize == 2:
        (<short*>target)[0] = <short>value
    else:
        target[0] = <char>value


# ---- the pass --------------------------------------------------------------------------------------------------------
cdef inline void apply_loop(LoopFunction function, void* data, char* source, char* target, npy_intp n,
                            npy_intp itemsize) noexcept nogil:
    cdef char* arguments[2]
    cdef npy_intp strides[2]
    arguments[0], arguments[1] = source, target
    strides[0] = strides[1] = itemsize
    function(arguments, &n, strides, data)


cdef inline void finish_rows(const RowPass* work, npy_intp count, Real* out, Real* sums) noexcept nogil:
    """Finish a block of rows: exp, sum and quotient, or the difference from the logarithm of the sum."""
    cdef Real room[BLOCK_ELEMENTS]
    cdef npy_intp n = work.rows.columns
    cdef const Exponentials* loops = work.loops
    if not work.logarithm:
        apply_loop(loops.exp, loops.exp_data, <char*>out, <char*>out, count * n, sizeof(Real))
        loops.rows.normalize_rows(count, n, out, sums)
        return
    apply_loop(loops.exp, loops.exp_data, <char*>out, <char*>room, count * n, sizeof(Real))
    loops.rows.sum_rows(count, n, room, sums)
    apply_loop(loops.log, loops.log_data, <char*>sums, <char*>sums, count, sizeof(Real))
    loops.rows.subtract_from_rows(count, n, out, sums)


cdef inline void finish_long_row(const RowPass* work, Real* out, Real* sums) noexcept nogil:
    """Finish a row that is longer than a block: exp and sum run together, piece by piece."""
    cdef Real room[BLOCK_ELEMENTS]
    cdef Real part
    cdef double total = 0
    cdef npy_intp n = work.rows.columns, start = 0, length
    cdef Real* target
    cdef const Exponentials* loops = work.loops
    while start < n:
        length = n - start if n - start < BLOCK_BYTES // <npy_intp>sizeof(Real) else BLOCK_BYTES // sizeof(Real)
        target = &room[0] if work.logarithm else out + start
        apply_loop(loops.exp, loops.exp_data, <char*>(out + start), <char*>target, length, sizeof(Real))
        loops.rows.sum_rows(1, length, target, &part)
        total += part
        start += length
    sums[0] = <Real>total
    if work.logarithm:
        apply_loop(loops.log, loops.log_data, <char*>sums, <char*>sums, 1, sizeof(Real))
        loops.rows.subtract_from_rows(1, n, out, sums)
    else:
        loops.rows.scale(n, out, 1 / total)


cdef inline void pass_over(const RowPass* work, npy_intp start, npy_intp stop, Real* anything) noexcept nogil:
    """Compute rows [start, stop)."""
    cdef Real sums[MOST_ROWS]
    cdef npy_intp labels[MOST_ROWS]
    cdef npy_intp best[MOST_ROWS]
    cdef npy_intp n = work.rows.columns, block = rows_in_block(n, sizeof(Real)), count, row
    cdef bint is_long = block == 0
    cdef Real* out
    cdef Real* losses
    while start < stop:
        count = 1 if is_long else (block if block < stop - start else stop - start)
        out = <Real*>work.out + start * n
        losses = <Real*>work.losses + start
        if work.labels == NULL:
            work.loops.rows.shift_rows(&work.rows, start, count, out, NULL, losses, NULL)
        else:
            for row in range(count):
                labels[row] = label_at(work.labels, start + row, n)
            work.loops.rows.shift_rows(&work.rows, start, count, out, labels, losses, best)
        if is_long:
            finish_long_row(work, out, sums)
        else:
            finish_rows(work, count, out, sums)
        if work.labels != NULL:
            apply_loop(work.loops.log, work.loops.log_data, <char*>sums, <char*>sums, count, sizeof(Real))
            for row in range(count):
                losses[row] = sums[row] - losses[row]
                store_integer(work.best, start + row, best[row])
        start += count


cdef void pass_piece(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    cdef const RowPass* work = <const RowPass*>argument
    if work.loops.itemsize == sizeof(float):
        pass_over[float](work, start, stop, NULL)
    else:
        pass_over[double](work, start, stop, NULL)


cdef void run_pass(Context* context, RowPass* work, npy_intp count) noexcept nogil:
    """Compute all ``count`` rows, divided among workers if that is worth it."""
    if work.rows.columns:
        parallel(context, pass_piece, work, count, rows_worth_a_worker(work.rows.columns))


cdef class SoftmaxKernel(Kernel):
    """The softmax of the rows of x or x + bias, or its logarithm: ``(x, out)`` or ``(x, bias, out)``.

    Parameters
    ----------
    dtype : {"float32", "float64"}
        The dtype of all operands.
    logarithm : bool
        Whether to compute logarithms of the probabilities.
    bias : bool
        Whether there is a bias.

    Raises
    ------
    ValueError
        Raised by ``prepare`` if the numbers of elements of the bias and of columns of x differ.
    """
    cdef Exponentials loops
    cdef readonly list providers         # names of loops, and whose they are
    cdef bint logarithm, bias

    def __cinit__(self):
        self.examined, self.binding = (), BOUND

    def __init__(self, str dtype, bint logarithm=False, bint bias=False):
        self.providers = find_exponentials(&self.loops, dtype)[:2 if logarithm else 1]
        self.logarithm, self.bias = logarithm, bias

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        if self.bias:
            check_bias(operands[0], operands[1])
        allocate(context, operands[2 if self.bias else 1], operands[0].shape)
        return worth_of(cell_size(operands[0]))

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef RowPass work
        work.loops, work.logarithm = &self.loops, self.logarithm
        set_rows(&work.rows, operands[0], operands[1] if self.bias else NULL)
        work.out = operands[2 if self.bias else 1].data
        work.labels, work.losses, work.best = NULL, NULL, NULL
        run_pass(context, &work, operands[0].shape[0])
        return 0


# ---- the gradient ----------------------------------------------------------------------------------------------------
cdef struct GradientWork:
    phintys_rows gradient
    phintys_rows softmax
    char* out
    char* room                     # scratch memory of one row for each worker
    int itemsize
    const phintys_softmax_loops* loops


cdef void gradient_piece(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    cdef GradientWork* work = <GradientWork*>argument
    cdef char* room = work.room + worker * work.softmax.columns * work.itemsize
    work.loops.softmax_gradient(&work.gradient, &work.softmax, start, stop - start, work.out, room)


cdef class SoftmaxGradKernel(Kernel):
    """The gradient of a softmax with respect to x: ``(gradient of the softmax, softmax, out)``.

    Parameters
    ----------
    dtype : {"float32", "float64"}
        The dtype of all operands.
    spread : bool
        Whether the gradient may have a single row for all.

    Raises
    ------
    ValueError
        Raised by ``prepare`` for shapes that differ.
    """
    cdef bint spread_rows, spread_columns

    def __cinit__(self):
        self.examined, self.binding = (), BOUND

    def __init__(self, str dtype, spread=(False, False)):
        self.spread_rows, self.spread_columns = spread

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef const Cell* gradient = operands[0]
        cdef const Cell* softmax = operands[1]
        if not ((gradient.shape[0] == softmax.shape[0] or (self.spread_rows and gradient.shape[0] == 1))
                and (gradient.shape[1] == softmax.shape[1] or (self.spread_columns and gradient.shape[1] == 1))):
            with gil:
                raise ValueError(f"dy.shape {shape_of(gradient)} does not match sm.shape {shape_of(softmax)}")
        allocate(context, operands[2], softmax.shape)
        scratch(context, context.workers * softmax.shape[1] * softmax.itemsize)
        return worth_of(cell_size(softmax))

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef GradientWork work
        cdef Cell* softmax = operands[1]
        set_rows(&work.gradient, operands[0], NULL)
        set_rows(&work.softmax, softmax, NULL)
        work.gradient.columns = softmax.shape[1]
        if operands[0].shape[0] != softmax.shape[0]:
            work.gradient.xs0 = 0
        if operands[0].shape[1] != softmax.shape[1]:
            work.gradient.xs1 = 0
        work.out, work.room, work.itemsize = operands[2].data, context.scratch, softmax.itemsize
        work.loops = softmax_loops(softmax.itemsize)
        if cell_size(softmax):
            parallel(context, gradient_piece, &work, softmax.shape[0], rows_worth_a_worker(softmax.shape[1]))
        return 0
