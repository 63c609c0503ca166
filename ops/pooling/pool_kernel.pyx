"""Kernels of pooling: results of windows, and what their derivatives need.

The loops are in ``pool_loops.h``. Here the sizes, steps and paddings are read and checked, the number of windows
follows from them, and rows of the output are divided among workers. Sizes, steps and paddings are inputs, and are
examined: usually they are constants, and the kernel is bound.
"""
cimport numpy as cnp
from numpy cimport npy_intp

import numpy

from phintys.ops.native.integers cimport integer_at, shape_of
from phintys.ops.native.sets cimport usable_set
from phintys.vm.abi cimport (
    BOUND, RUNS_ALONE, Cell, Context, Kernel, allocate, cell_is_contiguous, cell_size, parallel, scratch)
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.thresholds cimport LONG_POOL, PIECE_POOL

cdef extern from "pooling/pool_loops.h" nogil:
    const phintys_pool_tasks* phintys_pool_tasks_of(int typenum, int set)
    size_t pool_room_size_double "pool_room_size_double_baseline"(const phintys_pooling* p, int copied)

cdef extern from "pooling/pool_walks.h" nogil:
    ctypedef void (*phintys_column_walk_task)(const phintys_pooling* p, const phintys_column_walk* walk, npy_intp first,
                                            npy_intp last, char* room) noexcept
    ctypedef struct phintys_column_walk:
        npy_intp images
        size_t room
        phintys_column_walk_task task
    phintys_pool_squares phintys_pool_squares_of(int typenum, int set)
    bint phintys_plan_column_walk(phintys_column_walk* walk, const phintys_pooling* p, int set)

cdef struct Work:
    const phintys_pooling* pooling
    phintys_pool_task task
    char* room
    phintys_column_walk walk


cdef void pool_piece(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    cdef const Work* work = <const Work*>argument
    work.task(work.pooling, start, stop, work.room + worker * work.pooling.room)


cdef void walk_piece(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    cdef const Work* work = <const Work*>argument
    work.walk.task(work.pooling, &work.walk, start, stop, work.room + worker * work.walk.room)


cdef const phintys_pool_tasks* pool_tasks(int typenum) noexcept nogil:
    """The loops for a type of NumPy, or NULL."""
    return phintys_pool_tasks_of(typenum, usable_set())


cdef phintys_pool_squares pool_squares(int typenum):
    """What this processor, or the option ``cpu``, has for squares of a type, or NULL."""
    return phintys_pool_squares_of(typenum, usable_set())


cdef int mode_number(str mode, bint ignore_border) except -1:
    """What is computed of a window, as the loops name it."""
    return {"max": PHINTYS_POOL_MAX, "sum": PHINTYS_POOL_SUM, "average_exc_pad": PHINTYS_POOL_AVERAGE_IMAGE,
            "average_inc_pad": PHINTYS_POOL_AVERAGE_WINDOW if ignore_border else PHINTYS_POOL_AVERAGE_IMAGE}[mode]


cdef inline npy_intp windows_over(npy_intp length, npy_intp window, npy_intp step, npy_intp pad,
                                  bint ignore_border) noexcept nogil:
    """The number of windows in one dimension."""
    cdef npy_intp padded = length + 2 * pad
    if ignore_border:
        return 0 if padded < window else (padded - window) // step + 1
    if padded == 0:
        return 0
    if step >= window:
        return (padded - 1) // step + 1
    return 1 if padded <= window else (padded - window + step - 1) // step + 1


cdef void count_windows(phintys_pooling* p, bint ignore_border, int copied) noexcept nogil:
    """Fill in what follows from the shape, windows, steps and paddings; ``copied``: how many inputs are copied."""
    cdef npy_intp length
    cdef int axis, last = p.pooled - 1
    p.rows = 1
    for axis in range(p.pooled):
        length = p.shape[p.outer + axis]
        p.count[axis] = windows_over(length, p.window[axis], p.step[axis], p.pad[axis], ignore_border)
        if axis < last:
            p.rows *= min(p.window[axis], max(length, p.count[axis]))
    p.width = max(p.shape[p.outer + last] + p.pad[last], p.count[last]) + p.step[last] + 1
    p.rows = max(p.rows, 1)
    p.room = pool_room_size_double(p, copied)


cdef inline void set_images(phintys_pooling* p, int position, Cell* cell) noexcept nogil:
    p.images[position].data, p.images[position].strides = cell.data, cell.strides


cdef class PoolingKernel(Kernel):
    """Base of kernels whose operands are images or results of pooling; sizes, steps and paddings come last.

    Parameters
    ----------
    dtype : str
        Of all operands but the last three inputs.
    pooled : int
        How many dimensions are pooled.
    mode : {"max", "sum", "average_inc_pad", "average_exc_pad"}
    ignore_border : bool
        Whether windows that reach beyond the padded image are left out.

    Raises
    ------
    ValueError
        Raised by ``prepare`` if sizes, steps or paddings have a wrong length or value, if a window would have no
        element of the image, and if the shapes of operands do not fit together.
    """
    cdef phintys_pool_task task
    cdef phintys_pool_squares squares
    cdef int pooled, mode
    cdef int inputs             # how many operands come before the sizes
    cdef int unread             # how many of them are read for their shape only
    cdef bint gives_images      # whether the output has the shape of the images; else that of the results
    cdef bint ignore_border

    def __init__(self, str dtype, int pooled, str mode="max", bint ignore_border=True):
        cdef const phintys_pool_tasks* tasks = phintys_pool_tasks_of(numpy.dtype(dtype).num, usable_set())
        if tasks == NULL:
            raise TypeError(f"pooling takes real numbers, not {dtype}")
        self.describe(tasks)
        self.squares = pool_squares(numpy.dtype(dtype).num)
        self.binding, self.examined = BOUND, (self.inputs, self.inputs + 1, self.inputs + 2)
        self.pooled, self.ignore_border = pooled, ignore_border
        self.mode = mode_number(mode, ignore_border)
        if dtype == "bool" and self.mode != PHINTYS_POOL_MAX:
            self.mode = PHINTYS_POOL_MAX                        # a sum or an average is true if one element is

    # ---- what the kernels differ in ----
    cdef int describe(self, const phintys_pool_tasks* tasks) except -1:
        """Set ``task``, ``inputs``, ``unread`` and ``gives_images``."""
        raise NotImplementedError

    cdef int check_shapes(self, const phintys_pooling* p, Cell** operands) except -1 nogil:
        """Check that the shapes of the inputs fit together."""
        return 0

    # ---- sizes and shapes ----

    cdef inline void read(self, phintys_pooling* p, Cell** operands) noexcept nogil:
        """What shapes and the last three inputs say. The images are set by the kernels."""
        cdef Cell* x = operands[0]
        cdef Cell** sizes = operands + self.inputs
        cdef int axis
        p.outer, p.pooled, p.mode = x.ndim - self.pooled, self.pooled, self.mode
        p.typenum, p.itemsize, p.shape, p.squares = x.typenum, x.itemsize, x.shape, self.squares
        for axis in range(self.pooled):
            p.window[axis] = integer_at(sizes[0], axis)
            p.step[axis] = integer_at(sizes[1], axis)
            p.pad[axis] = integer_at(sizes[2], axis)
        count_windows(p, self.ignore_border, self.copied_inputs(operands))

    cdef inline int copied_inputs(self, Cell** operands) noexcept nogil:
        """For how many inputs there must be room for copies of rows: for all, if one has gaps or is converted."""
        cdef int position, last = operands[0].ndim - 1, typenum = operands[0].typenum
        cdef bint copies = typenum not in (cnp.NPY_FLOAT32, cnp.NPY_FLOAT64, cnp.NPY_INT64, cnp.NPY_UINT64)
        for position in range(self.inputs):
            if operands[position].shape[last] != 1:
                copies = copies or operands[position].strides[last] != operands[position].itemsize
        return self.inputs if copies else 0

    cdef int check(self, Cell** operands) except -1 nogil:
        """The last three inputs."""
        cdef Cell** sizes = operands + self.inputs
        cdef int axis, which
        for which in range(3):
            if sizes[which].shape[0] != self.pooled:
                with gil:
                    raise ValueError(f"{('ws', 'stride', 'pad')[which]} must be a vector of size {self.pooled}, got "
                                     f"one of size {sizes[which].shape[0]}")
            for axis in range(self.pooled):
                if integer_at(sizes[which], axis) < (0 if which == 2 else 1):
                    with gil:
                        raise ValueError(self.wrong_number(sizes, which))
        for axis in range(self.pooled):
            if integer_at(sizes[2], axis) and not self.ignore_border:
                with gil:
                    raise ValueError("padding must be zero when ignore border is False, got pad = "
                                     f"{self.numbers(sizes[2])}")
            if integer_at(sizes[2], axis) >= integer_at(sizes[0], axis) and self.needs_elements():
                with gil:
                    raise ValueError(f"padding must be smaller than the window: got pad = {self.numbers(sizes[2])} and "
                                     f"ws = {self.numbers(sizes[0])}")
        return 0

    cdef inline bint needs_elements(self) noexcept nogil:
        """Whether the result for a window of padding alone is not defined; sums of nothing are 0."""
        return self.mode == PHINTYS_POOL_MAX or self.mode == PHINTYS_POOL_AVERAGE_IMAGE

    cdef list numbers(self, Cell* cell):
        return [integer_at(cell, axis) for axis in range(self.pooled)]

    cdef str wrong_number(self, Cell** sizes, int which):
        found = self.numbers(sizes[which])
        if which == 2:
            return f"paddings must not be negative, got pad = {found}"
        return f"{'window sizes' if which == 0 else 'strides'} must be at least 1, got " \
               f"{'ws' if which == 0 else 'stride'} = {found}"

    cdef int check_windows(self, const phintys_pooling* p, Cell* x) except -1 nogil:
        """Each window has an element, if the result for none is not defined."""
        cdef int axis
        cdef npy_intp windows = 1
        cdef bint is_empty = False
        for axis in range(self.pooled):
            windows *= p.count[axis]
            is_empty = is_empty or p.shape[p.outer + axis] == 0
        if windows and is_empty and self.needs_elements():
            with gil:
                raise ValueError(f"images of shape {shape_of(x)[p.outer:]} have no elements to pool")
        return 0

    cdef int check_results(self, const phintys_pooling* p, Cell* x, Cell* results, int position) except -1 nogil:
        """An input has the shape of the result of pooling."""
        cdef int axis
        cdef bint fits = True
        for axis in range(x.ndim):
            fits = fits and results.shape[axis] == (x.shape[axis] if axis < p.outer else p.count[axis - p.outer])
        if not fits:
            with gil:
                raise ValueError(f"input {position} has shape {shape_of(results)}, but pooling images of shape "
                                 f"{shape_of(x)} gives {self.result_shape(p, x)}")
        return 0

    cdef int check_images(self, Cell* x, Cell* images, int position) except -1 nogil:
        """An input has the shape of the images."""
        cdef int axis
        cdef bint fits = True
        for axis in range(x.ndim):
            fits = fits and images.shape[axis] == x.shape[axis]
        if not fits:
            with gil:
                raise ValueError(f"input {position} has shape {shape_of(images)}, but the images have {shape_of(x)}")
        return 0

    cdef tuple result_shape(self, const phintys_pooling* p, Cell* x):
        return shape_of(x)[:p.outer] + tuple([p.count[axis] for axis in range(self.pooled)])

    # ---- computation ----
    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef phintys_pooling p
        cdef Cell* x = operands[0]
        cdef npy_intp elements = cell_size(x)
        cdef npy_intp shape[MAX_RANK]
        cdef int axis
        self.check(operands)
        self.read(&p, operands)
        self.check_shapes(&p, operands)
        for axis in range(x.ndim):
            shape[axis] = x.shape[axis] if axis < p.outer or self.gives_images else p.count[axis - p.outer]
        allocate(context, operands[self.inputs + 3], shape)
        scratch(context, self.scratch_bytes(context, &p, operands))
        return 0 if elements <= LONG_POOL else RUNS_ALONE if elements < 2 * PIECE_POOL else 1

    cdef size_t scratch_bytes(self, Context* context, phintys_pooling* p, Cell** operands) noexcept nogil:
        return p.room * context.workers

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef phintys_pooling p
        cdef Cell* out = operands[self.inputs + 3]
        cdef int position
        self.read(&p, operands)
        for position in range(self.unread, self.inputs):
            set_images(&p, position - self.unread, operands[position])
        set_images(&p, self.inputs - self.unread, out)
        if cell_size(out):
            self.perform(context, &p, operands, cell_size(operands[0]))
        return 0

    cdef void perform(self, Context* context, phintys_pooling* p, Cell** operands, npy_intp elements) noexcept nogil:
        """Compute all rows of the output."""
        cdef const npy_intp* rows = p.shape + p.outer if self.gives_images else p.count
        cdef Work work
        cdef npy_intp total = 1
        cdef int axis
        for axis in range(p.outer):
            total *= p.shape[axis]
        for axis in range(p.pooled - 1):
            total *= rows[axis]
        work.pooling, work.task, work.room = p, self.task, context.scratch
        parallel(context, pool_piece, &work, total, PIECE_POOL // (elements // total + 1) + 1)


cdef class PoolKernel(PoolingKernel):
    """Results of all windows: ``(x, ws, stride, pad, out)``."""

    cdef int describe(self, const phintys_pool_tasks* tasks) except -1:
        self.task, self.inputs, self.unread, self.gives_images = tasks.forward, 1, 0, False
        return 0

    cdef int check_shapes(self, const phintys_pooling* p, Cell** operands) except -1 nogil:
        self.check_windows(p, operands[0])
        return 0


cdef class MaxPoolGradKernel(PoolingKernel):
    """The gradient by the images: ``(x, maxima, gradient, ws, stride, pad, out)``."""
    cdef int set                # which instructions walks may use

    cdef int describe(self, const phintys_pool_tasks* tasks) except -1:
        self.task, self.inputs, self.unread, self.gives_images = tasks.max_gradient, 3, 0, True
        self.set = usable_set()
        return 0

    cdef int check_shapes(self, const phintys_pooling* p, Cell** operands) except -1 nogil:
        self.check_results(p, operands[0], operands[1], 1)
        self.check_results(p, operands[0], operands[2], 2)
        return 0

    cdef size_t scratch_bytes(self, Context* context, phintys_pooling* p, Cell** operands) noexcept nogil:
        cdef phintys_column_walk walk
        return (walk.room if self.is_walked(&walk, p, operands) else p.room) * context.workers

    cdef inline bint is_walked(self, phintys_column_walk* walk, phintys_pooling* p, Cell** operands) noexcept nogil:
        """Plan a walk down the images, if there is one."""
        return cell_is_contiguous(operands[0]) and cell_is_contiguous(operands[1]) \
            and cell_is_contiguous(operands[2]) and phintys_plan_column_walk(walk, p, self.set)

    cdef void perform(self, Context* context, phintys_pooling* p, Cell** operands, npy_intp elements) noexcept nogil:
        cdef Work work
        if not self.is_walked(&work.walk, p, operands):
            PoolingKernel.perform(self, context, p, operands, elements)
            return
        work.pooling, work.room = p, context.scratch
        parallel(context, walk_piece, &work, work.walk.images, PIECE_POOL // (elements // work.walk.images + 1) + 1)


cdef class AveragePoolGradKernel(PoolingKernel):
    """The gradient of sums or averages: ``(x, gradient, ws, stride, pad, out)``. Of x only the shape is read."""

    cdef int describe(self, const phintys_pool_tasks* tasks) except -1:
        self.task, self.inputs, self.unread, self.gives_images = tasks.sum_gradient, 2, 1, True
        return 0

    cdef int check_shapes(self, const phintys_pooling* p, Cell** operands) except -1 nogil:
        self.check_results(p, operands[0], operands[1], 1)
        return 0


cdef class MaxSelectedKernel(PoolingKernel):
    """For each window the sum of y where x is the maximum: ``(x, maxima, y, ws, stride, pad, out)``."""

    cdef int describe(self, const phintys_pool_tasks* tasks) except -1:
        self.task, self.inputs, self.unread, self.gives_images = tasks.max_selected, 3, 0, False
        return 0

    cdef int check_shapes(self, const phintys_pooling* p, Cell** operands) except -1 nogil:
        self.check_results(p, operands[0], operands[1], 1)
        self.check_images(operands[0], operands[2], 2)
        return 0


cdef class MaxFirstKernel(PoolingKernel):
    """For each window y where x is the maximum, the first of several: ``(x, y, ws, stride, pad, out)``."""

    cdef int describe(self, const phintys_pool_tasks* tasks) except -1:
        self.task, self.inputs, self.unread, self.gives_images = tasks.max_first, 2, 0, False
        return 0

    cdef int check_shapes(self, const phintys_pooling* p, Cell** operands) except -1 nogil:
        self.check_windows(p, operands[0])
        self.check_images(operands[0], operands[1], 1)
        return 0
