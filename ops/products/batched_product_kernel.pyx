"""One product of matrices for each element of a leading dimension.

``ProductKernel`` computes the product of each item, on cells that refer to the item's memory, so it also handles
strides, dtypes and small sizes. If there are enough items, they are divided among workers; BLAS itself then runs on
one thread.
"""
from numpy cimport npy_intp

from phintys.ops.products.blas_kernel import ProductKernel
from phintys.ops.products.storage_orders cimport copy_size
from phintys.ops.products.blas_library cimport enter_single_thread, leave_single_thread
from phintys.ops.native.integers cimport shape_of
from phintys.vm.abi cimport BOUND, Cell, Context, Kernel, allocate, drop, parallel, scratch
from phintys.vm.thresholds cimport LONG_BATCHED

cdef enum:
    MATRIX = 2

cdef extern from "products/product.h" nogil:
    enum: MOST_TILE_BYTES
    enum: PANEL_ON_STACK

cdef struct Item:                  # cells for one item of each operand
    Cell x
    Cell y
    Cell out
    npy_intp dimensions[3][2 * MATRIX]

cdef struct Batch:
    void* kernel
    Context* context
    Cell** operands
    npy_intp x_step                # bytes between items
    npy_intp y_step
    npy_intp out_step
    size_t copies                  # bytes of scratch memory for each worker
    bint shared                    # among workers: then a product is computed by one


cdef inline void show_item(Cell* item, const Cell* whole, npy_intp* dimensions) noexcept nogil:
    """Make ``item`` a cell that refers to the first item of ``whole``."""
    cdef int axis
    item[0] = whole[0]
    item.ndim = whole.ndim - 1
    item.shape, item.strides = dimensions, dimensions + MATRIX
    item.buffer, item.donor = NULL, NULL
    for axis in range(item.ndim):
        item.shape[axis] = whole.shape[axis + 1]
        item.strides[axis] = whole.strides[axis + 1]


cdef inline void show_items(Item* item, Cell** operands) noexcept nogil:
    show_item(&item.x, operands[0], item.dimensions[0])
    show_item(&item.y, operands[1], item.dimensions[1])
    show_item(&item.out, operands[2], item.dimensions[2])


cdef inline size_t room_for(const Cell* item, bint is_row) noexcept nogil:
    """The size of a copy of an item, of which a vector is a row or a column, that BLAS cannot read; or 0."""
    if item.ndim == MATRIX:
        return copy_size(item.shape[0], item.shape[1], item.strides[0], item.strides[1], item.itemsize)
    if is_row:
        return copy_size(1, item.shape[0], 0, item.strides[0], item.itemsize)
    return copy_size(item.shape[0], 1, item.strides[0], 0, item.itemsize)


cdef inline size_t copies_of(const Item* item) noexcept nogil:
    """Bytes of scratch memory for the product of an item: BLAS's copies, or what the loops pack."""
    cdef size_t panel = item.y.shape[0] * MOST_TILE_BYTES
    return max(room_for(&item.x, True) + room_for(&item.y, False), panel if panel > PANEL_ON_STACK else 0)


cdef inline npy_intp multiplications(const Item* item) noexcept nogil:
    cdef npy_intp count = 1
    cdef int axis
    for axis in range(item.x.ndim):
        count *= item.x.shape[axis]
    return count * (item.y.shape[1] if item.y.ndim == MATRIX else 1)


cdef void run_items(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    """Compute items [start, stop)."""
    cdef Batch* batch = <Batch*>argument
    cdef Context context = batch.context[0]
    cdef Cell* operands[3]
    cdef Item item
    show_items(&item, batch.operands)
    operands[0], operands[1], operands[2] = &item.x, &item.y, &item.out
    item.x.data += start * batch.x_step
    item.y.data += start * batch.y_step
    item.out.data += start * batch.out_step
    if batch.copies:
        context.scratch += worker * batch.copies
    if batch.shared:
        context.workers = 1
    while start < stop:
        (<Kernel>batch.kernel).run(&context, operands)
        item.x.data += batch.x_step
        item.y.data += batch.y_step
        item.out.data += batch.out_step
        start += 1


cdef class BatchedProductKernel(Kernel):
    """``out[i] = x[i].y[i]``: operands x, y, out.

    Parameters
    ----------
    dtype : str
        The dtype of all operands; not float16.
    left_rank, right_rank : int
        The rank of an item: 1 or 2.
    spread : (bool, bool)
        Whether x, and whether y, may have a single item for all.

    Raises
    ------
    TypeError
        For a dtype without products.
    ValueError
        Raised by ``prepare`` for shapes that do not match.
    """
    cdef Kernel product
    cdef bint spread_x, spread_y

    def __cinit__(self):
        self.examined, self.binding = (), BOUND

    def __init__(self, dtype, int left_rank, int right_rank, spread=(False, False)):
        self.product = ProductKernel(dtype, left_rank, right_rank)
        self.spread_x, self.spread_y = spread

    @property
    def providers(self):
        """As of ``ProductKernel``, for each item."""
        return self.product.providers

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* x = operands[0]
        cdef Cell* y = operands[1]
        cdef Cell* parts[3]
        cdef npy_intp shape[3]
        cdef Item item
        cdef npy_intp count
        cdef int axis
        count = y.shape[0] if self.spread_x and x.shape[0] == 1 else x.shape[0]
        if y.shape[0] != count and not (self.spread_y and y.shape[0] == 1):
            with gil:
                raise ValueError(f"Shape mismatch: batch sizes unequal: the shapes are {shape_of(x)} and {shape_of(y)}")
        show_item(&item.x, x, item.dimensions[0])
        show_item(&item.y, y, item.dimensions[1])
        if item.x.shape[item.x.ndim - 1] != item.y.shape[0]:
            with gil:
                raise ValueError(f"Shape mismatch: summation axis sizes unequal: the shapes are {shape_of(x)} and "
                                 f"{shape_of(y)}")
        shape[0] = count
        axis = 1
        if x.ndim == 3:
            shape[axis] = x.shape[1]
            axis += 1
        if y.ndim == 3:
            shape[axis] = y.shape[2]
        allocate(context, operands[2], shape)
        if copies_of(&item):
            scratch(context, context.workers * copies_of(&item))
        show_items(&item, operands)
        parts[0], parts[1], parts[2] = &item.x, &item.y, &item.out
        self.product.prepare(context, parts)             # raises an error for operands that BLAS does not support
        drop(context, &item.out)
        return count * multiplications(&item) > LONG_BATCHED

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef npy_intp count = operands[2].shape[0], work
        cdef Batch batch
        cdef Item item
        show_items(&item, operands)
        work = multiplications(&item)
        batch.kernel, batch.context, batch.operands = <void*>self.product, context, operands
        batch.x_step = operands[0].strides[0] if operands[0].shape[0] == count else 0
        batch.y_step = operands[1].strides[0] if operands[1].shape[0] == count else 0
        batch.out_step = operands[2].strides[0]
        batch.copies, batch.shared = copies_of(&item), False
        if count >= context.workers and count * work > 2 * LONG_BATCHED:
            batch.shared = True
            enter_single_thread()
            parallel(context, run_items, &batch, count, LONG_BATCHED // (work + 1) + 1)
            leave_single_thread()
        elif count:
            run_items(&batch, 0, 0, count)
        return 0
