"""Softmax and cross-entropies with labels on the device.

They take the arguments of the processor's kernels of the same names without "Gpu", and the dtypes of operands where
those do not say them. The processor's kernels check labels before they compute; here the device notes the first row
with a label that is no class, and the call, which reads this at its end, fails before anything is stored.
"""
from numpy cimport npy_intp

from phintys.gpu.kernels.rows.rows_kernel cimport Layout, RowsKernel
from phintys.gpu.kernels.rows.softmax_source import (
    label_gradient_rows, label_loss_gradient_rows, label_loss_source, softmax_gradient_rows, softmax_rows)
from phintys.gpu.runtime.driver cimport Arguments, is_within, new_note, put, put_address, put_integer
from phintys.gpu.runtime.kernel cimport THREADS, DeviceKernel
from phintys.ops.native.integers cimport shape_of
from phintys.vm.abi cimport CELL_DEVICE, Cell, Context, allocate
from phintys.vm.python_api cimport PyObject

MATRIX, ROW = (0, 1), (-1, 0)           # which dimension of an operand is that of rows, and of columns


cdef int raise_bad_label(const long long* words, bint as_index) except -1:
    """Raise the error for a note: the complement of the row, the label, and how many classes there are."""
    cdef long long row = ~words[0], label = words[1], classes = words[2]
    if as_index:
        raise IndexError(f"index {label} is out of bounds for axis 1 with size {classes}: the label of row {row}")
    raise ValueError(f"y_i value out of bounds: the label of row {row} is {label}, but there are {classes} classes")


cdef int take_note(DeviceKernel kernel, const Cell* labels, npy_intp classes, bint from_end,
                   unsigned long long* note) noexcept nogil:
    """A note for labels, unless they are known to be classes; -1, with an exception set: there is none."""
    note[0] = 0
    if is_within(labels, -classes if from_end else 0, classes):
        return 0
    note[0] = new_note(<PyObject*>kernel)
    return 0 if note[0] else -1


cdef int check_bias(const Cell* x, const Cell* bias) except -1 nogil:
    if bias.shape[0] != x.shape[1]:
        with gil:
            raise ValueError(f"b.shape[0] ({bias.shape[0]}) does not match x.shape[1] ({x.shape[1]})")
    return 0


cdef int check_count(const Cell* labels, const Cell* matrix, bint as_index, bint leading) except -1 nogil:
    """One label for each row; with ``leading``, the last rows may have none."""
    if labels.shape[0] > matrix.shape[0] or (labels.shape[0] < matrix.shape[0] and not leading):
        with gil:
            if as_index:
                raise IndexError(f"shape mismatch: {labels.shape[0]} labels do not index {matrix.shape[0]} rows: an "
                                 "index is out of bounds, or rows are left")
            raise ValueError(f"number of rows in x ({matrix.shape[0]}) does not match length of y ({labels.shape[0]})")
    return 0


cdef class GpuSoftmaxKernel(RowsKernel):
    """``(x, out)`` or ``(x, bias, out)``."""
    cdef bint bias

    def __init__(self, dtype, logarithm=False, bias=False):
        self.bias = bias
        kept, streamed = softmax_rows(dtype, logarithm, bias)
        self.set_rows(kept, [MATRIX, *[ROW] * bias, MATRIX], streamed)

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        if self.bias:
            check_bias(operands[0], operands[1])
        allocate(context, operands[2 if self.bias else 1], operands[0].shape)
        return self.prepare_rows(operands, operands[0].shape)

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        return self.run_rows(operands, operands[0])


cdef class GpuSoftmaxGradKernel(RowsKernel):
    """``(gradient of the softmax, softmax, out)``."""
    cdef bint spread_rows, spread_columns

    def __init__(self, dtype, spread=(False, False)):
        self.set_rows(softmax_gradient_rows(dtype), [MATRIX] * 3)
        self.spread_rows, self.spread_columns = spread

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef const Cell* gradient = operands[0]
        cdef const Cell* softmax = operands[1]
        if not ((gradient.shape[0] == softmax.shape[0] or (self.spread_rows and gradient.shape[0] == 1))
                and (gradient.shape[1] == softmax.shape[1] or (self.spread_columns and gradient.shape[1] == 1))):
            with gil:
                raise ValueError(f"dy.shape {shape_of(gradient)} does not match sm.shape {shape_of(softmax)}")
        allocate(context, operands[2], softmax.shape)
        return self.prepare_rows(operands, softmax.shape)

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        return self.run_rows(operands, operands[1])


cdef class GpuCrossentropyKernel(RowsKernel):
    """``(x, bias, labels, losses, softmax, best)``; without a bias that operand is not read."""
    cdef bint bias, as_index, leading

    def __init__(self, dtype, bias=True, as_index=False, leading=False, label="int64"):
        self.tells, self.bias, self.as_index, self.leading = True, bias, as_index, leading
        self.set_rows(softmax_rows(dtype, False, bias, label)[0], [MATRIX, *[ROW] * bias, MATRIX])

    cdef void choose_cells(self, Cell** operands, Cell** cells) noexcept nogil:
        cells[0], cells[1], cells[1 + self.bias] = operands[0], operands[1], operands[4]

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* cells[3]
        if self.bias:
            check_bias(operands[0], operands[1])
        check_count(operands[2], operands[0], self.as_index, self.leading)
        allocate(context, operands[3], operands[2].shape)
        allocate(context, operands[4], operands[0].shape)
        allocate(context, operands[5], operands[2].shape)
        self.choose_cells(operands, cells)
        return self.prepare_rows(cells, operands[0].shape)

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Arguments arguments
        cdef Layout layout
        cdef Cell* cells[3]
        cdef unsigned long long note
        if operands[0].shape[0] == 0:
            return 0
        if take_note(self, operands[2], operands[0].shape[1], self.as_index, &note) < 0:
            return -1
        self.choose_cells(operands, cells)
        self.put_rows(cells, operands[0].shape, &layout, &arguments)
        put_labels(&arguments, operands[2], self.as_index, note)
        put_integer(&arguments, operands[2].shape[0])
        put_address(&arguments, operands[3])
        put_address(&arguments, operands[5])
        return self.noted(context, self.start_rows(&layout, &arguments))

    cdef int told(self, const long long* words) except -1:
        return raise_bad_label(words, self.as_index)


cdef class GpuCrossentropyGradKernel(RowsKernel):
    """``(dy, softmax, labels, out)``; dy may be a number of the host."""
    cdef int rank_of_dy
    cdef bint as_index, leading

    def __init__(self, rank, as_index=False, leading=False, dtype="float32", label="int64"):
        self.tells, self.rank_of_dy, self.as_index, self.leading = True, rank, as_index, leading
        self.set_rows(label_gradient_rows(dtype, label), [MATRIX] * 2)

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* cells[2]
        if self.rank_of_dy and operands[0].shape[0] != operands[2].shape[0] and operands[0].shape[0] != 1:
            with gil:
                raise ValueError(f"dnll.shape[0] ({operands[0].shape[0]}) != y_idx.shape[0] ({operands[2].shape[0]})")
        check_count(operands[2], operands[1], self.as_index, self.leading)
        allocate(context, operands[3], operands[1].shape)
        cells[0], cells[1] = operands[1], operands[3]
        return self.prepare_rows(cells, operands[1].shape)

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Arguments arguments
        cdef Layout layout
        cdef Cell* cells[2]
        cdef Cell* dy = operands[0]
        cdef unsigned long long note
        cdef double zero = 0
        cdef bint here = dy.flags & CELL_DEVICE != 0
        if operands[1].shape[0] == 0:           # rows without classes have labels, too
            return 0
        if take_note(self, operands[2], operands[1].shape[1], self.as_index, &note) < 0:
            return -1
        cells[0], cells[1] = operands[1], operands[3]
        self.put_rows(cells, operands[1].shape, &layout, &arguments)
        put_integer(&arguments, operands[2].shape[0])
        put_integer(&arguments, <npy_intp>dy.data if here else 0)
        put(&arguments, <const char*>&zero if here else dy.data, operands[1].itemsize)
        put_integer(&arguments, dy.strides[0] if self.rank_of_dy and dy.shape[0] != 1 else 0)
        put_labels(&arguments, operands[2], self.as_index, note)
        return self.noted(context, self.start_rows(&layout, &arguments))

    cdef int told(self, const long long* words) except -1:
        return raise_bad_label(words, self.as_index)


cdef class GpuLabelLossKernel(DeviceKernel):
    """``(probabilities, labels, losses)``."""

    def __init__(self, dtype, label="int64"):
        self.tells, self.source, self.names = True, label_loss_source(dtype, label), ("label_loss",)

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        self.ready()
        check_count(operands[1], operands[0], False, False)
        allocate(context, operands[2], operands[0].shape)
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Arguments arguments
        cdef npy_intp rows = operands[0].shape[0]
        cdef unsigned long long note
        if rows == 0:
            return 0
        if take_note(self, operands[1], operands[0].shape[1], False, &note) < 0:
            return -1
        arguments.size, arguments.full = 0, False
        put_integer(&arguments, rows)
        put_integer(&arguments, operands[0].shape[1])
        put_address(&arguments, operands[0])
        put_integer(&arguments, operands[0].strides[0])
        put_integer(&arguments, operands[0].strides[1])
        put_labels(&arguments, operands[1], False, note)
        put_address(&arguments, operands[2])
        return self.noted(context, self.start(0, (rows + THREADS - 1) // THREADS, THREADS, &arguments))

    cdef int told(self, const long long* words) except -1:
        return raise_bad_label(words, False)


cdef class GpuLabelLossGradKernel(RowsKernel):
    """``(dy, probabilities, labels, out)``."""

    def __init__(self, dtype="float32", label="int64"):
        self.tells = True
        self.set_rows(label_loss_gradient_rows(dtype, label), [MATRIX] * 2)

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* cells[2]
        if operands[0].shape[0] != operands[1].shape[0]:
            with gil:
                raise ValueError(f"g_y of shape {shape_of(operands[0])} does not match coding_dist of shape "
                                 f"{shape_of(operands[1])}")
        check_count(operands[2], operands[1], False, False)
        allocate(context, operands[3], operands[1].shape)
        cells[0], cells[1] = operands[1], operands[3]
        return self.prepare_rows(cells, operands[1].shape)

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Arguments arguments
        cdef Layout layout
        cdef Cell* cells[2]
        cdef unsigned long long note
        if operands[1].shape[0] == 0:           # rows without classes have labels, too
            return 0
        if take_note(self, operands[2], operands[1].shape[1], False, &note) < 0:
            return -1
        cells[0], cells[1] = operands[1], operands[3]
        self.put_rows(cells, operands[1].shape, &layout, &arguments)
        put_address(&arguments, operands[0])
        put_integer(&arguments, operands[0].strides[0])
        put_labels(&arguments, operands[2], False, note)
        return self.noted(context, self.start_rows(&layout, &arguments))

    cdef int told(self, const long long* words) except -1:
        return raise_bad_label(words, False)
