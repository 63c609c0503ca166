"""Kernels of convolutions: the result, the gradient by images and the gradient by filters.

``ConvolutionKernel`` checks shapes, names what contradicts each other, and divides the work among workers: whole images
if there are enough, else blocks of the filters of one image. ``convolution_loops.h`` says how the sums are computed.
Arguments with gaps are copied first. Scratch memory is the planes of one image for each worker and the filters,
whatever the number of images; the gradient by filters has as many images at once as stay in the cache. Filters of 3 x 3
elements take 16 numbers instead of 9 where results are computed by Winograd's method (``run_squares``). So does the
gradient by them (``run_square_sums``), which has as many rows of squares at once as stay in the cache.

Elementwise steps may follow a convolution (``Following``): a bias and limits are applied to sums in registers, other
steps to each plane of results in place, once it is computed. Results of images may be pooled (``PooledResults``): only
a strip of rows of the results is kept then; by Winograd's method nothing, or the results of some images.
"""
cimport numpy as cnp
from libc.stdint cimport uintptr_t
from libc.string cimport memcpy, memset
from numpy cimport npy_intp

import numpy

from phintys.ops.elementwise.block_code cimport (
    BlockCode, BlockTables, advance, broadcast_shape, run_block, set_operands)
from phintys.ops.native.asking cimport data_without_gaps
from phintys.ops.native.integers cimport integer_at, shape_of
from phintys.ops.native.sets cimport usable_set
from phintys.ops.pooling.pool_kernel cimport (
    count_windows, mode_number, phintys_pool_task, phintys_pooling, pool_squares, pool_tasks)
from phintys.vm.abi cimport (
    BOUND, RUNS_ALONE, Cell, Context, Kernel, Task, allocate, cell_is_contiguous, cell_size, interrupted, parallel,
    scratch)
from phintys.vm.guards cimport guards, page
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.thresholds cimport LONG_CONVOLUTION, PIECE_CONVOLUTION
from phintys.ops.native.providers import built_in_title

cnp.import_array()

cdef extern from "alloca.h" nogil:
    void* alloca(size_t)

cdef extern from "convolution/convolution_loops.h" nogil:
    enum:
        AXES
        FORWARD
        BY_IMAGES
        BY_FILTERS
    ctypedef struct phintys_convolution_set:
        int lanes
    ctypedef struct phintys_convolution:
        int role
        int itemsize, flip
        npy_intp images, groups, channels, filters
        npy_intp image[3]
        npy_intp window[3]
        npy_intp result[3]
        npy_intp stride[3]
        npy_intp dilation[3]
        npy_intp pad[3]
        int workers
        const phintys_convolution_set* set
    ctypedef struct phintys_pooled:
        phintys_pooling what
        phintys_pool_task task
        int first
        npy_intp plane
        char* results
    ctypedef void (*phintys_finish)(void* finisher, char* results, npy_intp filter, npy_intp length) noexcept
    ctypedef struct phintys_plan:
        int direct, by_images, lays_out
        npy_intp planes, outs, blocks, passes, window, images_at_once, units, parts
        size_t sum_bytes
    ctypedef struct phintys_side:
        npy_intp sets
    ctypedef struct phintys_lines:
        npy_intp count, at_once
    ctypedef struct phintys_tall:
        npy_intp channels, positions, at_once
    ctypedef struct phintys_few:
        npy_intp results, columns
    ctypedef struct phintys_squares:
        npy_intp count, at_once, rows_at_once, all_rows
        npy_intp shape[3]
    ctypedef struct phintys_how:
        phintys_side side
        phintys_lines lines
        phintys_tall tall
        phintys_few few
        phintys_squares squares
    ctypedef struct phintys_after:
        const char* bias
        bint limited
        double low, high
        phintys_finish finish
        void* finisher
        phintys_pooled* pooled
    ctypedef struct phintys_call:
        const char* source
        const char* filters
        const char* top
        char* out
        char* sums
        npy_intp image, images, group, at
        int (*stops)(void* context) noexcept nogil
        void* context
    ctypedef struct phintys_work:
        phintys_convolution what
        phintys_plan plan
        phintys_how how
        phintys_after after
        phintys_call call
    ctypedef struct phintys_rooms:
        char* memory
        int guards
        size_t page
        size_t used
    ctypedef struct phintys_convolution_tasks:
        Task packing, planes, images, blocks, tops, tall, top_packing, products, all_products, unshared
        Task parts_of_products
        Task parts_of_images, parts_of_lines, parts_sum, mending
        Task rows, narrow, narrow_tops, spreading, collecting
        Task square_packing, squares, finishing, square_pooling, square_patches, square_tops, square_products
        Task parts_of_squares
    const phintys_convolution_set* convolution_set(int itemsize, int set)
    const phintys_convolution_tasks* convolution_tasks(int itemsize)
    void* phintys_room(phintys_rooms* rooms, size_t size)
    void plan_convolution(phintys_work* work, phintys_rooms* rooms)
    size_t gradient_bytes(const phintys_work* work)
    npy_intp multiplications_of(const phintys_convolution* what)
    npy_intp blocks_of_worker(const phintys_work* work)
    npy_intp narrow_blocks(const phintys_work* work)
    npy_intp narrow_top_blocks(const phintys_work* work)
    npy_intp narrow_stretches(const phintys_work* work)

ROLES = {"forward": FORWARD, "by images": BY_IMAGES, "by filters": BY_FILTERS}
# What the operands are called in messages, by role: inputs with a shape, then the result.
NAMES = {FORWARD: ("image", "filters", "result"), BY_IMAGES: ("filters", "output gradient", "image"),
         BY_FILTERS: ("image", "output gradient", "filters")}

# The gradient by filters with many channels is computed in three steps, after each of which workers wait for each
# other. So it needs more multiplications to be worth them: two workers took 64 us instead of 46 for 1.2 million
# (float64), 130 instead of 149 for 10 million (float32).
cdef enum:
    MEETINGS = 6

# Borders that depend on the length of the filter, in place of a number of zeros.
cdef enum:
    HALF = -1
    FULL = -2


cdef inline npy_intp grain(npy_intp work, npy_intp items) noexcept nogil:
    """How many of the items are worth a worker."""
    return PIECE_CONVOLUTION // (work // max(items, 1) + 1) + 1


# The shapes of the images, the filters and the output; of filters, channels and lengths are the last.
cdef struct Shapes:
    npy_intp images[5]
    npy_intp filters[6]
    npy_intp top[5]


cdef inline void copy_shape(npy_intp* to, const Cell* cell) noexcept nogil:
    memcpy(to, cell.shape, cell.ndim * sizeof(npy_intp))


# ---- what follows a convolution ------------------------------------------------------------------------------------
cdef enum:
    BLOCK_BYTES = 24576            # of a block's operands, and of its registers: as in the elementwise kernel
    LONGEST_BLOCK = 2048

cdef struct Finisher:
    BlockTables* blocks
    int position                   # of the convolution's result among the inputs
    char** data                    # of the inputs; of that one nothing
    npy_intp* strides              # from filter to filter


cdef void finish(void* argument, char* results, npy_intp filter, npy_intp length) noexcept nogil:
    cdef Finisher* finisher = <Finisher*>argument
    cdef BlockTables* blocks = finisher.blocks
    cdef npy_intp register_size = blocks.registers * blocks.register_size
    cdef npy_intp block = min(BLOCK_BYTES // max(blocks.operand_size, register_size, 1), LONGEST_BLOCK) & ~<npy_intp>15
    cdef char** pointers = <char**>alloca((blocks.operand_count + 1) * sizeof(char*))
    cdef npy_intp* strides = <npy_intp*>alloca((blocks.operand_count + 1) * sizeof(npy_intp))
    cdef int index, result = blocks.operand_count - 1
    cdef npy_intp n
    block = max(block, 16)
    cdef char* registers = <char*>alloca(block * register_size + 64)
    set_operands(blocks, pointers, strides, <char*>((<uintptr_t>registers + 63) & ~<uintptr_t>63), block)
    for index in range(blocks.inputs):
        pointers[index], strides[index] = finisher.data[index] + filter * finisher.strides[index], 0
    pointers[finisher.position] = pointers[result] = results
    strides[finisher.position] = strides[result] = blocks.result_sizes[0]
    while length > 0:
        n = min(block, length)
        run_block(blocks, pointers, strides, n)
        advance(blocks, pointers, strides, n, True)     # those of one element have the stride 0
        length -= n


cdef class Following:
    """Elementwise steps that follow a convolution.

    Parameters
    ----------
    code : ScalarCode
    patterns : sequence of tuple of bool
        Broadcastable patterns of the inputs. All but the result of the convolution are constant in all dimensions but
        the second.
    position : int
        Which of them is the result of the convolution.
    bias : int or None
        The input that is added to sums in registers.
    limits : pair of float or None
        What these are then limited to.
    rest : ScalarCode or None
        What is left.
    """
    cdef BlockCode whole        # of which only the inputs are used
    cdef BlockCode rest         # or None
    cdef int position, bias        # bias: -1: none
    cdef bint limited
    cdef double low, high

    def __init__(self, code, patterns, int position, bias, limits, rest):
        self.whole = BlockCode(code, list(patterns))
        self.position, self.bias, self.limited = position, -1 if bias is None else bias, limits is not None
        self.low, self.high = limits or (0, 0)
        if rest is not None:
            self.rest = BlockCode(rest, list(patterns))


cdef class PooledResults:
    """How the results of a convolution of images are pooled.

    Parameters
    ----------
    dtype : {"float32", "float64"}
    ws, stride, pad : tuple of 2 int
        Sizes, steps and paddings of windows that are possible.
    mode : str
    ignore_border : bool
        As in ``PoolingKernel``.
    first : bool
        Whether the elementwise steps that are left follow pooling; else they come before.
    """
    cdef phintys_pooled pooled     # all but the shape and what follows from it
    cdef bint ignore_border

    def __init__(self, dtype, ws, stride, pad, str mode, bint ignore_border, bint first):
        cdef int axis
        dtype = numpy.dtype(dtype)
        memset(&self.pooled, 0, sizeof(self.pooled))
        self.ignore_border, self.pooled.first = ignore_border, first
        self.pooled.task = pool_tasks(dtype.num).forward
        self.pooled.what.squares = pool_squares(dtype.num)
        self.pooled.what.outer, self.pooled.what.pooled = 1, 2
        self.pooled.what.typenum, self.pooled.what.itemsize = dtype.num, dtype.itemsize
        self.pooled.what.mode = mode_number(mode, ignore_border)
        for axis in range(2):
            self.pooled.what.window[axis], self.pooled.what.step[axis] = ws[axis], stride[axis]
            self.pooled.what.pad[axis] = pad[axis]

    cdef void measure(self, phintys_pooled* pooled, const npy_intp* shape) noexcept nogil:
        """Say how results of a shape are pooled: (anything, rows, columns), which must stay where it is."""
        pooled[0] = self.pooled
        pooled.what.shape = shape
        count_windows(&pooled.what, self.ignore_border, 0)
        pooled.plane = pooled.what.count[0] * pooled.what.count[1]


cdef class ConvolutionKernel(Kernel):
    """A convolution or one of its gradients.

    Operands by role: ``(image, filters, out)``, ``(filters, output gradient, shape, image)``, ``(image, output
    gradient, shape, filters)``; the shape is a vector of the last lengths of the result.

    Parameters
    ----------
    dtype : {"float32", "float64"}
    role : {"forward", "by images", "by filters"}
    rank : {2, 3}
        How many dimensions filters move in.
    border : {"half", "full"} or tuple of pairs of int
        Zeros before and after each dimension of an image.
    stride, dilation : tuple of int
    flip : bool
        Whether filters are read backwards.
    groups : int
    unshared : bool
        Whether each position of the result has filters of its own.
    image_shape, filter_shape : tuple of (int or None)
        Lengths that the operands must have; None: any.
    following : tuple, optional
        Of a convolution: elementwise steps that follow it, as the arguments of ``Following``. Their inputs other than
        the result of the convolution are operands between the filters and the result.
    pooled : tuple, optional
        How the result of a convolution of images is pooled: the arguments of ``PooledResults`` after the dtype.

    Raises
    ------
    ValueError
        Raised by ``prepare`` for shapes that contradict each other.
    """
    cdef int role, rank, itemsize
    cdef bint flip, unshared
    cdef npy_intp groups
    cdef npy_intp border[3][2]
    cdef npy_intp stride[3]
    cdef npy_intp dilation[3]
    cdef npy_intp image_shape[5]
    cdef npy_intp filter_shape[6]
    cdef const phintys_convolution_set* set
    cdef const phintys_convolution_tasks* tasks
    cdef readonly list providers                    # the name of the loop, and whose it is
    cdef Following following       # or None
    cdef int others                # how many of its inputs are operands
    cdef PooledResults pooled      # or None

    def __cinit__(self):
        self.binding, self.private_bytes = BOUND, sizeof(phintys_convolution)

    def __init__(self, dtype, role, int rank, border, stride, dilation, bint flip, npy_intp groups, bint unshared,
                 image_shape, filter_shape, following=None, pooled=None):
        cdef int axis, skipped = AXES - rank
        self.role, self.rank = ROLES[role], rank
        self.examined = () if self.role == FORWARD else (2,)
        self.itemsize = numpy.dtype(dtype).itemsize
        self.flip, self.groups, self.unshared = flip, groups, unshared
        for axis in range(AXES):
            self.border[axis][0] = self.border[axis][1] = 0
            self.stride[axis] = self.dilation[axis] = 1
            if axis >= skipped:
                if border in ("half", "full"):
                    self.border[axis][0] = HALF if border == "half" else FULL
                else:
                    self.border[axis][0], self.border[axis][1] = border[axis - skipped]
                self.stride[axis], self.dilation[axis] = stride[axis - skipped], dilation[axis - skipped]
        for axis in range(rank + 2):
            self.image_shape[axis] = -1 if image_shape[axis] is None else image_shape[axis]
        for axis in range(self.filter_rank()):
            self.filter_shape[axis] = -1 if filter_shape[axis] is None else filter_shape[axis]
        self.set = convolution_set(self.itemsize, usable_set())
        self.tasks = convolution_tasks(self.itemsize)
        self.providers = [("convolution", built_in_title())]
        self.following = None if following is None else Following(*following)
        self.others = 0 if following is None else self.following.whole.tables.inputs - 1
        self.pooled = None if pooled is None else PooledResults(dtype, *pooled)

    cdef inline int result_position(self) noexcept nogil:
        return 2 + self.others if self.role == FORWARD else 3

    cdef inline int filter_rank(self) noexcept nogil:
        return 2 + self.rank * (1 + self.unshared)

    # ---- shapes ----
    cdef inline npy_intp zeros(self, int axis, int side, npy_intp window) noexcept nogil:
        """How many zeros there are before (0) or after (1) a dimension."""
        cdef npy_intp border = self.border[axis][0]
        if border == HALF:
            return ((window - 1) * self.dilation[axis] + 1) // 2
        if border == FULL:
            return (window - 1) * self.dilation[axis]
        return self.border[axis][side]

    cdef inline npy_intp result_length(self, int axis, npy_intp image, npy_intp window) noexcept nogil:
        """How many positions a filter has; 0 or less if it has none."""
        cdef npy_intp room = image + self.zeros(axis, 0, window) + self.zeros(axis, 1, window)
        room -= (window - 1) * self.dilation[axis] + 1
        return room // self.stride[axis] + 1 if room >= 0 else 0

    cdef int fail(self, Cell** operands, str reason) except -1 with gil:
        """Raise an error that names the operands' shapes."""
        names = NAMES[self.role]
        kind = {FORWARD: "convolution", BY_IMAGES: "gradient of a convolution by its input",
                BY_FILTERS: "gradient of a convolution by its filters"}[self.role]
        shapes = f"{names[0]} of shape {shape_of(operands[0])} and {names[1]} of shape {shape_of(operands[1])}"
        if self.role != FORWARD:
            lengths = tuple([integer_at(operands[2], index) for index in range(operands[2].shape[0])])
            shapes += f", for {names[2]} of lengths {lengths}"
        skipped = AXES - self.rank
        border = [(self.border[axis][0], self.border[axis][1]) for axis in range(skipped, AXES)]
        if border[0][0] < 0:
            border = "half" if border[0][0] == HALF else "full"
        stride = tuple([self.stride[axis] for axis in range(skipped, AXES)])
        dilation = tuple([self.dilation[axis] for axis in range(skipped, AXES)])
        raise ValueError(f"{kind}: {reason}; got {shapes} (border_mode {border}, subsample {stride}, filter_dilation "
                         f"{dilation}, num_groups {self.groups})")

    cdef int expect(self, Cell** operands, str name, const npy_intp* found, const npy_intp* wanted,
                    int rank) except -1 nogil:
        """Check lengths that are known when the graph is made."""
        cdef int axis
        for axis in range(rank):
            if wanted[axis] >= 0 and wanted[axis] != found[axis]:
                return self.fail_expectation(operands, name, found, wanted, rank)
        return 0

    cdef int fail_expectation(self, Cell** operands, str name, const npy_intp* found, const npy_intp* wanted,
                              int rank) except -1 with gil:
        given = tuple([None if wanted[axis] < 0 else wanted[axis] for axis in range(rank)])
        real = tuple([found[axis] for axis in range(rank)])
        parameter = "input_shape" if name == "image" else "filter_shape"
        return self.fail(operands, f"the shape of the {name} is {real}, but {parameter} says {given}")

    cdef int measure(self, Cell** operands, phintys_convolution* what, npy_intp* result) except -1 nogil:
        """Find all lengths, and the shape of the result.

        Raises
        ------
        ValueError
            For shapes that contradict each other.
        """
        cdef Shapes shapes
        cdef const npy_intp* found
        cdef int axis, last = self.filter_rank() - self.rank
        self.read_shapes(operands, &shapes)
        self.check_channels(operands, &shapes)
        what.role, what.itemsize, what.set = self.role, self.itemsize, self.set
        what.flip, what.groups = self.flip, self.groups
        what.images = shapes.images[0]
        what.channels, what.filters = shapes.filters[last - 1], shapes.filters[0] // self.groups
        for axis in range(AXES):
            what.image[axis] = what.window[axis] = what.result[axis] = 1
            what.stride[axis], what.dilation[axis], what.pad[axis] = self.stride[axis], self.dilation[axis], 0
            if axis >= AXES - self.rank:
                self.measure_axis(operands, what, &shapes, axis)
        if self.role == FORWARD:
            found = &shapes.top[0]
        else:
            found = &shapes.images[0] if self.role == BY_IMAGES else &shapes.filters[0]
        for axis in range(self.filter_rank() if self.role == BY_FILTERS else self.rank + 2):
            result[axis] = found[axis]
        return 0

    cdef int read_shapes(self, Cell** operands, Shapes* shapes) except -1 nogil:
        """Write the shapes of the operands, and what is known of the shape of the result."""
        cdef int axis, last = self.filter_rank() - self.rank
        memset(shapes, 0, sizeof(Shapes))
        if self.role == FORWARD:
            copy_shape(shapes.images, operands[0])
            copy_shape(shapes.filters, operands[1])
            return 0
        copy_shape(shapes.top, operands[1])
        if operands[2].shape[0] != self.rank:
            with gil:
                self.fail(operands, f"the vector of lengths has {operands[2].shape[0]} elements, not {self.rank}")
        if self.role == BY_IMAGES:
            copy_shape(shapes.filters, operands[0])
            shapes.images[0], shapes.images[1] = shapes.top[0], shapes.filters[last - 1] * self.groups
            for axis in range(self.rank):
                shapes.images[axis + 2] = integer_at(operands[2], axis)
            return 0
        copy_shape(shapes.images, operands[0])
        shapes.filters[0], shapes.filters[last - 1] = shapes.top[1], shapes.images[1] // self.groups
        for axis in range(self.rank):
            shapes.filters[last + axis] = integer_at(operands[2], axis)
            if self.unshared:
                shapes.filters[axis + 1] = shapes.top[axis + 2]
        return 0

    cdef int check_channels(self, Cell** operands, Shapes* shapes) except -1 nogil:
        """Check all that does not depend on a position in the images; write how many images and channels result."""
        cdef npy_intp channels = shapes.images[1], filters = shapes.filters[0]
        cdef npy_intp each = shapes.filters[self.filter_rank() - self.rank - 1]
        if channels % self.groups or filters % self.groups:
            with gil:
                self.fail(operands, f"{channels} channels and {filters} filters cannot be divided into "
                                    f"{self.groups} groups")
        if channels != each * self.groups:
            with gil:
                self.fail(operands, f"the image has {channels} channels, but the filters have {each}"
                                    + (" in each group" if self.groups > 1 else ""))
        self.expect(operands, "image", shapes.images, self.image_shape, self.rank + 2)
        self.expect(operands, "filters", shapes.filters, self.filter_shape, self.filter_rank())
        if self.role == FORWARD:
            shapes.top[0], shapes.top[1] = shapes.images[0], filters
        elif shapes.top[0] != shapes.images[0] or shapes.top[1] != filters:
            with gil:
                self.fail(operands, f"the output gradient has {shapes.top[0]} images and {shapes.top[1]} channels, "
                                    f"expected {shapes.images[0]} and {filters}")
        return 0

    cdef int measure_axis(self, Cell** operands, phintys_convolution* what, Shapes* shapes, int axis) except -1 nogil:
        """Check and write the lengths along one of the dimensions that filters move along."""
        cdef int position = axis - (AXES - self.rank)
        cdef npy_intp image = shapes.images[position + 2]
        cdef npy_intp window = shapes.filters[self.filter_rank() - self.rank + position]
        cdef npy_intp length
        if image < 1 or window < 1:
            with gil:
                self.fail(operands, "images and filters need at least one row and one column")
        length = self.result_length(axis, image, window)
        if length < 1:
            with gil:
                self.fail(operands, f"a filter of {window} elements does not fit into {image} in dimension "
                                    f"{position + 2}")
        if self.role != FORWARD and shapes.top[position + 2] != length:
            with gil:
                self.fail(operands, f"the convolution would have {length} results in dimension {position + 2}, but "
                                    f"the output gradient has {shapes.top[position + 2]}")
        if self.unshared and shapes.filters[position + 1] != length:
            with gil:
                self.fail(operands, f"the convolution has {length} results in dimension {position + 2}, but there are "
                                    f"filters for {shapes.filters[position + 1]}")
        what.image[axis], what.window[axis], what.pad[axis] = image, window, self.zeros(axis, 0, window)
        shapes.top[position + 2] = what.result[axis] = length
        return 0

    cdef int check_others(self, Cell** operands) except -1 nogil:
        """Check that the operands of what follows have as many elements as there are filters."""
        cdef Cell** inputs = <Cell**>alloca((self.others + 1) * sizeof(Cell*))
        cdef npy_intp shape[MAX_RANK]
        self.arrange(operands, inputs)
        broadcast_shape(&self.following.whole.tables, inputs, self.rank + 2, shape)
        return 0

    cdef inline void arrange(self, Cell** operands, Cell** inputs) noexcept nogil:
        """Write the inputs of what follows."""
        cdef int index
        for index in range(self.others + 1):
            inputs[index] = operands[2 + index - (index > self.following.position)]
        inputs[self.following.position] = operands[self.result_position()]

    # ---- memory ----
    cdef void take_rooms(self, Cell** operands, const phintys_convolution* what, phintys_rooms* rooms,
                         char** copies) noexcept nogil:
        """Rooms for arguments with gaps, and for the bias, which may have gaps too."""
        cdef size_t size
        cdef int number
        for number in range(2):
            size = 0 if cell_is_contiguous(operands[number]) else cell_size(operands[number]) * self.itemsize
            copies[number] = <char*>phintys_room(rooms, size)
        size = 0
        if self.following is not None and self.following.bias >= 0:
            size = what.filters * what.groups * self.itemsize
        copies[2] = <char*>phintys_room(rooms, size)

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef phintys_work work
        cdef npy_intp shape[MAX_RANK]
        cdef phintys_pooled pooled
        cdef phintys_rooms rooms
        cdef char* copies[3]
        cdef npy_intp count
        self.measure(operands, &work.what, shape)
        work.what.workers = context.workers
        (<phintys_convolution*>context.private_memory)[0] = work.what
        self.set_pooled(&work, &pooled)
        if self.pooled is not None:
            shape[2], shape[3] = pooled.what.count[0], pooled.what.count[1]
        allocate(context, operands[self.result_position()], shape)
        if self.following is not None:
            self.check_others(operands)
        count = multiplications_of(&work.what)
        rooms.memory, rooms.guards, rooms.page, rooms.used = NULL, guards, page, 0
        self.take_rooms(operands, &work.what, &rooms, copies)
        if (count or self.following is not None or self.pooled is not None) and not self.unshared:
            plan_convolution(&work, &rooms)
        if rooms.used:
            scratch(context, rooms.used)
        return (RUNS_ALONE if count < 2 * PIECE_CONVOLUTION else 1) if count >= LONG_CONVOLUTION else 0

    # ---- computation ----
    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef phintys_work work
        cdef phintys_pooled pooled
        cdef Finisher finisher
        cdef Cell* out = operands[self.result_position()]
        cdef phintys_rooms rooms
        cdef char* copies[3]
        cdef npy_intp count
        rooms.memory, rooms.guards, rooms.page, rooms.used = context.scratch, guards, page, 0
        work.what = (<phintys_convolution*>context.private_memory)[0]
        work.after.finish, work.after.bias, work.after.limited = NULL, NULL, False
        work.call.stops, work.call.context = <int (*)(void*) noexcept nogil>interrupted, context
        self.set_pooled(&work, &pooled)
        count = multiplications_of(&work.what)
        if count == 0 or self.unshared:
            memset(out.data, 0, cell_size(out) * self.itemsize)
        self.take_rooms(operands, &work.what, &rooms, copies)
        if self.following is not None:
            finisher.data = <char**>alloca((self.others + 1) * sizeof(char*))
            finisher.strides = <npy_intp*>alloca((self.others + 1) * sizeof(npy_intp))
            self.set_following(operands, &work, &finisher, copies[2])
        if cell_size(out) == 0 or (count == 0 and self.following is None and self.pooled is None):
            return 0
        self.set_operands(context, operands, &work, out.data, copies)
        if self.unshared:
            self.run_unshared(context, &work, count, out)
            return 0
        plan_convolution(&work, &rooms)
        work.call.image, work.call.images, work.call.group = 0, 1, 0
        if self.role == BY_FILTERS and (work.plan.parts > 1 or work.how.tall.channels == 0):  # sums are added to it
            memset(out.data, 0, cell_size(out) * self.itemsize)
        if self.role == BY_FILTERS and work.how.squares.count:
            self.run_square_sums(context, &work, count)
            self.mend(context, &work, count)
        elif self.role == BY_FILTERS and work.how.tall.channels:
            self.run_tall_sums(context, &work, count)
        elif self.role == BY_FILTERS:
            self.run_by_filters(context, &work, count)
            self.mend(context, &work, count)
        elif work.how.squares.count:
            self.run_squares(context, &work, count)
        elif work.how.few.results:
            self.run_narrow(context, &work, count)
        else:
            self.run_sums(context, &work, count)
        return 0

    cdef inline void set_operands(self, Context* context, Cell** operands, phintys_work* work, char* out,
                                  char** copies) noexcept nogil:
        """Say where operands are, of which those with gaps are copied."""
        cdef const char* first = data_without_gaps(context, operands[0], copies[0])
        cdef const char* second = data_without_gaps(context, operands[1], copies[1])
        work.call.out = out
        if self.role == FORWARD:
            work.call.source, work.call.filters, work.call.top = first, second, out
        elif self.role == BY_IMAGES:
            work.call.source, work.call.filters, work.call.top = second, first, second
        else:
            work.call.source, work.call.filters, work.call.top = first, out, second

    cdef inline void set_pooled(self, phintys_work* work, phintys_pooled* pooled) noexcept nogil:
        """Say how results are pooled; ``pooled`` has room for that."""
        work.after.pooled = NULL
        if self.pooled is not None:
            work.after.pooled = pooled
            self.pooled.measure(pooled, work.what.result)

    cdef void set_following(self, Cell** operands, phintys_work* work, Finisher* finisher, char* bias) noexcept nogil:
        """Say what follows; ``bias`` has room for the bias, which is copied, as it may have gaps."""
        cdef Cell** inputs = <Cell**>alloca((self.others + 1) * sizeof(Cell*))
        cdef npy_intp filter
        cdef int index
        self.arrange(operands, inputs)
        for index in range(self.others + 1):
            finisher.data[index] = inputs[index].data
            finisher.strides[index] = 0 if inputs[index].shape[1] == 1 else inputs[index].strides[1]
        work.after.limited = self.following.limited
        work.after.low, work.after.high = self.following.low, self.following.high
        index = self.following.bias
        if index >= 0:
            work.after.bias = bias
            for filter in range(work.what.filters * work.what.groups):
                memcpy(bias + filter * self.itemsize, finisher.data[index] + filter * finisher.strides[index],
                       self.itemsize)
        if self.following.rest is not None:
            work.after.finish, work.after.finisher = finish, finisher
            finisher.blocks, finisher.position = &self.following.rest.tables, self.following.position

    cdef void run_unshared(self, Context* context, phintys_work* work, npy_intp count, Cell* out) noexcept nogil:
        cdef npy_intp items = work.what.groups * (work.what.filters if self.role == BY_FILTERS else work.what.images)
        work.plan.window = work.what.window[0] * work.what.window[1] * work.what.window[2]
        if self.role == BY_IMAGES:
            work.call.source = out.data
        parallel(context, self.tasks.unshared, work, items, grain(count, items))

    cdef void run_sums(self, Context* context, phintys_work* work, npy_intp count) noexcept nogil:
        """The result, or the gradient by images. Sets of images are not shared: 32 images of 64 channels of 8 x 8 and
        3 x 3 take two workers 0.65 ms in two sets, 1.03 ms image by image."""
        cdef npy_intp images = work.what.images, image, group, share
        cdef npy_intp items = images - work.how.side.sets * (work.what.set.lanes - 1)
        parallel(context, self.tasks.packing, work, work.what.groups * work.plan.blocks,
                 grain(count // (8 * images) + 1, work.what.groups * work.plan.blocks))
        if (context.workers == 1 or items >= 2 * context.workers or work.plan.blocks == 1
                or (work.how.side.sets > 0 and items >= context.workers)):
            parallel(context, self.tasks.images, work, items, grain(count, items))
            return
        share = count // (images * work.what.groups)
        for image in range(images):
            for group in range(work.what.groups):
                work.call.image, work.call.group = image, group
                if not work.plan.direct:
                    parallel(context, self.tasks.planes, work, work.plan.planes,
                             grain(share // 8 + 1, work.plan.planes))
                parallel(context, self.tasks.blocks, work, work.plan.blocks,
                         max(grain(share, work.plan.blocks), blocks_of_worker(work)))

    cdef void run_squares(self, Context* context, phintys_work* work, npy_intp count) noexcept nogil:
        """The result, or the gradient by images, by Winograd's method."""
        cdef npy_intp filters = work.what.groups * work.plan.outs, group, items = work.what.groups * work.plan.blocks
        cdef npy_intp share = count // (work.what.groups * work.what.images)
        cdef bint kept = work.after.pooled != NULL and work.after.pooled.results != NULL
        parallel(context, self.tasks.square_packing, work, items, grain(count // (8 * work.what.images) + 1, items))
        while work.call.image < work.what.images:
            work.call.images = min(work.plan.images_at_once, work.what.images - work.call.image)
            items = (work.call.images * work.how.squares.shape[1] * work.how.squares.shape[2]
                     + work.how.squares.at_once - 1) // work.how.squares.at_once
            for group in range(work.what.groups):
                work.call.group = group
                parallel(context, self.tasks.squares, work, items, grain(share * work.call.images, items))
            if kept:
                items = work.call.images * filters
                parallel(context, self.tasks.square_pooling, work, items,
                         grain(share * work.call.images // 8 + 1, items))
            work.call.image += work.call.images
        if work.after.finish != NULL and not kept:
            items = work.what.images * filters
            parallel(context, self.tasks.finishing, work, items, grain(count // 8 + 1, items))

    cdef void run_square_sums(self, Context* context, phintys_work* work, npy_intp count) noexcept nogil:
        """The gradient by filters by Winograd's method: of as many rows of squares at once as stay in the cache.
        Workers share images if sums are small, else each of the steps."""
        cdef npy_intp group, rows, share = count // work.what.groups, of_rows
        if work.plan.parts > 1:
            self.run_parts(context, work, self.tasks.parts_of_squares, share)
            return
        for group in range(work.what.groups):
            work.call.group, work.call.at = group, 0
            while work.call.at < work.how.squares.all_rows:
                rows = min(work.how.squares.rows_at_once, work.how.squares.all_rows - work.call.at)
                of_rows = share // work.how.squares.all_rows * rows
                parallel(context, self.tasks.square_patches, work, rows, grain(of_rows // 8 + 1, rows))
                parallel(context, self.tasks.square_tops, work, work.plan.blocks,
                         grain(of_rows // 8 + 1, work.plan.blocks))
                parallel(context, self.tasks.square_products, work, work.plan.blocks, grain(of_rows, work.plan.blocks))
                work.call.at += rows

    cdef void run_narrow(self, Context* context, phintys_work* work, npy_intp count) noexcept nogil:
        """The result, or the gradient by images, where there are few results and many filter elements."""
        cdef npy_intp group, share = count // work.what.groups, items
        for group in range(work.what.groups):
            work.call.group = group
            if self.role == FORWARD:
                parallel(context, self.tasks.rows, work, work.what.images, grain(share // 8 + 1, work.what.images))
                items = narrow_blocks(work)
                parallel(context, self.tasks.narrow, work, items, grain(share, items))
                continue
            items = narrow_top_blocks(work)
            parallel(context, self.tasks.narrow_tops, work, items, grain(share // 8 + 1, items))
            items = narrow_stretches(work)
            parallel(context, self.tasks.spreading, work, items, grain(share, items))
            parallel(context, self.tasks.collecting, work, work.what.channels,
                     grain(share // 8 + 1, work.what.channels))

    cdef void run_by_filters(self, Context* context, phintys_work* work, npy_intp count) noexcept nogil:
        """The gradient by filters: as many images, or lines of an image, at once as stay in the cache."""
        cdef npy_intp group, part, share = count // work.what.groups
        if work.plan.parts > 1:
            for part in range(work.plan.parts):
                memset(work.call.sums + part * work.plan.sum_bytes, 0, gradient_bytes(work))
        for group in range(work.what.groups):
            work.call.group, work.call.image, work.call.images = group, 0, 1
            if work.plan.by_images:
                parallel(context, self.tasks.parts_of_images, work, work.plan.parts, grain(share, work.plan.parts))
                continue
            parallel(context, self.tasks.planes, work, work.plan.planes, grain(share // 8 + 1, work.plan.planes))
            parallel(context, self.tasks.tops, work, work.what.filters, grain(share // 8 + 1, work.what.filters))
            parallel(context, self.tasks.parts_of_lines, work, work.plan.parts, grain(share, work.plan.parts))
        if work.plan.parts > 1:
            self.add_parts(context, work)

    cdef void run_tall_sums(self, Context* context, phintys_work* work, npy_intp count) noexcept nogil:
        """The gradient by filters with many channels: as many images, or positions, at once as stay in the cache.
        Workers share images if sums are small, else filters."""
        cdef npy_intp share = count // (work.what.images * work.what.groups * MEETINGS), items, group
        if work.plan.parts > 1:
            self.run_parts(context, work, self.tasks.parts_of_products, count // work.what.groups)
            return
        for group in range(work.what.groups):
            work.call.group, work.call.image = group, 0
            if work.plan.lays_out:
                items = (work.plan.blocks + context.workers - 1) // context.workers
                parallel(context, self.tasks.all_products, work, work.plan.blocks,
                         max(items, grain(count // work.what.groups, work.plan.blocks)))
                continue
            while work.call.image < work.what.images:
                work.call.images = min(work.plan.images_at_once, work.what.images - work.call.image)
                items = work.call.images * ((work.plan.planes + 7) // 8)
                parallel(context, self.tasks.tall, work, items, grain(share * work.call.images // 8 + 1, items))
                items = work.call.images * work.plan.blocks
                parallel(context, self.tasks.top_packing, work, items, grain(share * work.call.images // 8 + 1, items))
                work.call.at = 0
                while work.call.at < work.how.tall.positions:
                    parallel(context, self.tasks.products, work, work.plan.blocks,
                             grain(share * work.call.images, work.plan.blocks))
                    work.call.at += work.how.tall.at_once
                work.call.image += work.call.images

    cdef void run_parts(self, Context* context, phintys_work* work, Task task, npy_intp share) noexcept nogil:
        """The gradient by filters with many channels, where workers share images: a group takes ``share``."""
        cdef npy_intp group
        for group in range(work.what.groups):
            work.call.group, work.call.image = group, 0
            parallel(context, task, work, work.plan.parts, grain(share, work.plan.parts))
        self.add_parts(context, work)

    cdef inline void mend(self, Context* context, phintys_work* work, npy_intp count) noexcept nogil:
        """Let a NaN or an infinity in an image reach no sum that does not depend on it."""
        cdef npy_intp filters = work.what.filters * work.what.groups
        parallel(context, self.tasks.mending, work, filters,
                 grain(work.what.channels * work.plan.window * filters, filters))

    cdef inline void add_parts(self, Context* context, phintys_work* work) noexcept nogil:
        cdef npy_intp filters = work.what.filters * work.what.groups
        parallel(context, self.tasks.parts_sum, work, filters, grain(work.plan.parts * filters, filters))
