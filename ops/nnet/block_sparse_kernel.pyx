"""Kernels of products with some blocks of a large matrix: which blocks are taken is said by matrices of positions.

The examples of a batch are independent in ``BlockGemvKernel``, and are divided among workers. ``prepare`` checks all
positions, so ``run`` cannot fail.
"""
from numpy cimport npy_intp

from phintys.ops.native.integers cimport integer_at, shape_of
from phintys.ops.native.positions cimport check_positions
from phintys.ops.native.indexed_loops cimport position_dtype
from phintys.ops.native.asking cimport UNASKED, ends_after
from phintys.ops.native.sets cimport PHINTYS_SETS, phintys_set, set_of_process, usable_set
from phintys.ops.native.strided_copy cimport copy_in_parts
from phintys.vm.abi cimport BOUND, RUNS_ALONE, Cell, Context, Kernel, allocate, cell_size, parallel
from phintys.vm.thresholds cimport LONG_BATCHED

phintys_set = set_of_process()

cdef extern from "nnet/block_sparse_loops.h" nogil:
    # By type, float or double, and by set.
    void (*add_block_product[2][PHINTYS_SETS])(void* out, const char* x, npy_intp x_stride, const char* block,
                                               npy_intp row_stride, npy_intp stride, npy_intp rows,
                                               npy_intp columns) noexcept nogil
    void (*add_outer_product[2][PHINTYS_SETS])(void* out, const void* factor, const char* x, npy_intp x_stride,
                                               const char* y, npy_intp y_stride, npy_intp rows,
                                               npy_intp columns) noexcept nogil


cdef inline npy_intp position_at(const Cell* positions, npy_intp row, npy_intp column, npy_intp length) noexcept nogil:
    """A position, which has been checked; negative ones count from the end."""
    cdef Cell one = positions[0]
    cdef npy_intp position
    one.ndim = 0
    one.data = positions.data + row * positions.strides[0] + column * positions.strides[1]
    position = integer_at(&one, 0)
    return position + length if position < 0 else position


cdef inline void start_from(Context* context, Cell* out, Cell* o) noexcept nogil:
    """Copy the first operand, unless the output has its memory."""
    if out.data != o.data and cell_size(out):
        copy_in_parts(context, o.ndim, o.shape, out.data, out.strides, o.data, o.strides, o.itemsize)


cdef class BlockSparseKernel(Kernel):
    """Base of the two kernels.

    Parameters
    ----------
    position_dtypes : (str, str)
        Of the two matrices of positions.
    """
    cdef int dtypes[2]

    def __cinit__(self):
        self.examined, self.binding = (3, 4), BOUND

    def __init__(self, position_dtypes):
        self.dtypes[0], self.dtypes[1] = position_dtype(position_dtypes[0]), position_dtype(position_dtypes[1])

    cdef int check(self, str name, Cell** operands, npy_intp first, npy_intp second, tuple wanted) except -1 with gil:
        """Shapes that follow from the blocks, and positions within ``first`` and ``second`` blocks."""
        for position, shape in enumerate(wanted):
            if shape is not None and shape_of(operands[<int>position]) != shape:
                raise ValueError(f"{name}: input {position} has shape {shape_of(operands[<int>position])}, but the "
                                 f"others require {shape}")
        check_positions(operands[3], self.dtypes[0], first, 0)
        check_positions(operands[4], self.dtypes[1], second, 1)
        return 0


cdef class BlockGemvKernel(BlockSparseKernel):
    """``out[b, j] = o[b, j] + sum of h[b, i] W[from[b, i], to[b, j]]``: ``(o, W, h, from, to, out)``.

    Raises
    ------
    IndexError
        Raised by ``prepare`` for a position that is not that of a block.
    ValueError
        Raised by ``prepare`` for shapes that do not fit together.
    """

    cdef int check_lengths(self, Cell** operands) except -1 with gil:
        cdef Cell* weights = operands[1]
        cdef Cell* h = operands[2]
        batch, inputs, outputs = h.shape[0], h.shape[1], operands[4].shape[1]
        return self.check("SparseBlockGemv", operands, weights.shape[0], weights.shape[1], (
            (batch, outputs, weights.shape[3]), None, (batch, inputs, weights.shape[2]), (batch, inputs),
            (batch, outputs)))

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* h = operands[2]
        cdef npy_intp work
        self.check_lengths(operands)
        allocate(context, operands[5], operands[0].shape)
        work = self.work_of_example(operands) * h.shape[0]
        return 0 if work < LONG_BATCHED else 1 if work > 2 * LONG_BATCHED else RUNS_ALONE

    cdef inline npy_intp work_of_example(self, Cell** operands) noexcept nogil:
        cdef Cell* weights = operands[1]
        return operands[2].shape[1] * operands[4].shape[1] * weights.shape[2] * weights.shape[3]

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef npy_intp work = self.work_of_example(operands), batch = operands[2].shape[0]
        cdef Products products = Products(context, operands)
        start_from(context, operands[5], operands[0])
        if cell_size(operands[5]) == 0:
            return 0
        if work * batch > 2 * LONG_BATCHED:
            parallel(context, add_examples, &products, batch, LONG_BATCHED // (work + 1) + 1)
        else:
            add_examples(&products, 0, 0, batch)
        return 0


cdef struct Products:
    Context* context
    Cell** operands


cdef void add_examples(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    cdef Cell** operands = (<Products*>argument).operands
    cdef Cell* weights = operands[1]
    cdef Cell* h = operands[2]
    cdef Cell* out = operands[5]
    cdef npy_intp example, i, j, column, position, width, unasked = 0
    cdef npy_intp* strides = weights.strides
    cdef const char* x
    cdef const char* block
    cdef char* row
    for example in range(start, stop):
        for j in range(out.shape[1]):
            row = out.data + example * out.strides[0] + j * out.strides[1]
            column = position_at(operands[4], example, j, weights.shape[1])
            for i in range(h.shape[1]):
                x = h.data + example * h.strides[0] + i * h.strides[1]
                block = weights.data + column * strides[1] \
                    + position_at(operands[3], example, i, weights.shape[0]) * strides[0]
                position = 0
                while position < weights.shape[3]:              # a large block in parts of some columns
                    width = min(weights.shape[3] - position, UNASKED // (weights.shape[2] + 1) + 1)
                    add_block_product[out.itemsize == sizeof(double)][usable_set()](
                        row + position * out.itemsize, x, h.strides[2], block + position * strides[3], strides[2],
                        strides[3], weights.shape[2], width)
                    position += width
                    if ends_after((<Products*>argument).context, &unasked, weights.shape[2] * width):
                        return


cdef class BlockOuterKernel(BlockSparseKernel):
    """``out = o``, with ``alpha * outer(x[b, i], y[b, j])`` added to block (from[b, i], to[b, j]):
    ``(o, x, y, from, to, alpha, out)``.

    Raises
    ------
    IndexError
        Raised by ``prepare`` for a position that is not that of a block.
    ValueError
        Raised by ``prepare`` for shapes that do not fit together.
    """

    cdef int check_lengths(self, Cell** operands) except -1 with gil:
        cdef Cell* o = operands[0]
        cdef Cell* x = operands[1]
        batch, inputs, outputs = x.shape[0], x.shape[1], operands[2].shape[1]
        return self.check("SparseBlockOuter", operands, o.shape[0], o.shape[1], (
            None, (batch, inputs, o.shape[2]), (batch, outputs, o.shape[3]), (batch, inputs), (batch, outputs)))

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* o = operands[0]
        cdef Cell* x = operands[1]
        cdef npy_intp work
        self.check_lengths(operands)
        allocate(context, operands[6], o.shape)
        work = x.shape[0] * x.shape[1] * operands[2].shape[1] * o.shape[2] * o.shape[3]
        return RUNS_ALONE if work + cell_size(o) >= LONG_BATCHED else 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* x = operands[1]
        cdef Cell* y = operands[2]
        cdef Cell* out = operands[6]
        cdef npy_intp example, i, j, position, height, unasked = 0
        cdef const char* left
        cdef const char* right
        cdef char* block
        start_from(context, out, operands[0])
        if cell_size(out) == 0:
            return 0
        for example in range(x.shape[0]):
            for i in range(x.shape[1]):
                left = x.data + example * x.strides[0] + i * x.strides[1]
                for j in range(y.shape[1]):
                    right = y.data + example * y.strides[0] + j * y.strides[1]
                    block = out.data + position_at(operands[3], example, i, out.shape[0]) * out.strides[0] \
                        + position_at(operands[4], example, j, out.shape[1]) * out.strides[1]
                    position = 0
                    while position < out.shape[2]:              # a large block in parts of some rows
                        height = min(out.shape[2] - position, UNASKED // out.shape[3] + 1)
                        add_outer_product[out.itemsize == sizeof(double)][usable_set()](
                            block + position * out.strides[2], operands[5].data, left + position * x.strides[2],
                            x.strides[2], right, y.strides[2], height, out.shape[3])
                        position += height
                        if ends_after(context, &unasked, height * out.shape[3]):
                            return 0
        return 0
