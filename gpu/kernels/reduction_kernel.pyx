"""Reductions and positions of extrema on the device: the launches of what ``reduction_source.py`` writes.

``FoldKernel`` has what folds share: how dimensions are joined, which kernel walks them, into how many parts. The others
take the arguments of the processor's kernels ``ReductionKernel``, ``ArgKernel`` and ``ExtremumKernel``. Sums of float32
are accumulated in float32, in pairs; other dtypes as the processor does.
"""
from numpy cimport npy_intp

import numpy

from phintys.gpu.kernels.reduction_source import KERNELS, arg_source, reduction_source
from phintys.gpu.runtime cimport driver
from phintys.gpu.runtime.driver cimport Arguments, put, put_address, put_integer, put_value, set_failure
from phintys.gpu.runtime.kernel cimport DeviceKernel, loaded, piece
from phintys.gpu.runtime.walk cimport put_divider
from phintys.ops.elementwise.block_code import length_mismatch
from phintys.ops.native.joined_dimensions cimport join_axis, stride_along
from phintys.vm.abi cimport Cell, Context, allocate, device_memory
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.pool cimport Buffer, buffer_release
from phintys.vm.python_api cimport PyErr_SetObject

cdef enum:
    ROWS, LANES, DEEP, COLUMNS, COLUMNS_DEEP
    SINGLE = 5                      # after these, the same element by element
    LONG = 2 * SINGLE
    BLOCK_BITS = 8                  # 2 ** 8 threads
    WARP_BITS = 5
    BLOCKS_OF_EACH = 4              # of a multiprocessor: enough to read as fast as memory allows, and few to combine
    LEAST_PARTS = 4                 # fewer do not make up for a second kernel
    LONG_ROW = 1024                 # vectors that keep a block busy

cdef npy_intp most_number = (<npy_intp>1 << 31) - (1 << 16)     # what 32 bits count, with room for a step


def set_most_number(number):
    """Set what is counted in 32 bits, for tests; returns what it was."""
    global most_number
    before, most_number = most_number, number
    return before


cdef class FoldKernel(DeviceKernel):
    """What reductions, searches and products of a matrix and a vector have in common."""

    cdef int take_source(self, object source, int rank) except -1:
        cdef int index
        self.fold_source, self.pieces = source, []
        self.rank, self.pointers, self.vector = max(1, rank), len(source.sizes), source.vector
        self.accumulator_size = source.accumulator_size
        for index in range(self.pointers):
            self.sizes[index] = source.sizes[index]
            self.repeated[0][index], self.repeated[1][index] = source.repeated[index]
        return 0

    cdef int fold(self, Cell** cells, int rank, const npy_intp* shape, unsigned long long reduced,
                  Arguments* arguments) noexcept nogil:
        cdef FoldWalk walk
        cdef FoldPlan plan
        cdef Buffer* buffer = NULL
        cdef int failed, size = arguments.size
        cdef npy_intp partial = 0
        self.lay_out(cells, rank, shape, reduced, &walk)
        if walk.results == 0:
            return 0
        self.choose(cells, &walk, &plan)
        if self.kernels[plan.which] == NULL and make_piece(self, plan.which) < 0:
            return -1
        if loaded(<DeviceKernel>self.kernels[plan.which]) < 0:
            return -1
        if plan.splits > 1:
            buffer = device_memory.acquire(plan.splits * walk.results * self.accumulator_size)
            if buffer == NULL:
                return set_failure(2, b"partial results of a reduction")
            partial = <npy_intp>buffer.data
        self.put_walk(arguments, &walk, &plan)
        put_integer(arguments, partial)
        failed = (<DeviceKernel>self.kernels[plan.which]).start_grid(0, plan.groups, plan.splits, 1 << BLOCK_BITS, 0,
                                                                     arguments)
        if not failed and plan.splits > 1:
            arguments.size = size
            failed = finish(<DeviceKernel>self.kernels[plan.which], &walk, &plan, partial, arguments)
        if buffer != NULL:
            buffer_release(buffer)
        return failed

    cdef void lay_out(self, Cell** cells, int rank, const npy_intp* shape, unsigned long long reduced,
                      FoldWalk* walk) noexcept nogil:
        """The kept and the reduced dimensions: those of small strides are the inner ones, unless elements are numbered.
        All are joined where operands allow."""
        cdef Cell place
        cdef npy_intp place_strides[MAX_RANK]
        cdef npy_intp reach[MAX_RANK]
        cdef int order[MAX_RANK]
        cdef int axis, part, at, count = 0
        walk.results = walk.count = 1
        walk.joined[0] = walk.joined[1] = 0
        place.shape, place.strides = <npy_intp*>shape, place_strides
        cells[self.pointers] = &place
        for axis in range(rank - 1, -1, -1):
            place_strides[axis] = 0
            if reduced >> axis & 1:
                walk.count *= shape[axis]
            else:
                place_strides[axis] = walk.results
                walk.results *= shape[axis]
            if shape[axis] == 1:
                continue
            reach[axis] = reach_of(cells, self.pointers, axis)
            at = count
            while at and reach[order[at - 1]] > reach[axis] and not (self.in_order and reduced >> axis & 1):
                order[at] = order[at - 1]
                at -= 1
            order[at] = axis
            count += 1
        for at in range(count):
            axis = order[at]
            part = reduced >> axis & 1
            walk.joined[part] = join_axis(cells, self.pointers + 1, axis, shape[axis], True, walk.lengths[part],
                                          walk.strides[part], walk.joined[part])

    cdef void choose(self, Cell** cells, const FoldWalk* walk, FoldPlan* plan) noexcept nogil:
        """The kernel and its grid, of shapes, strides and the device alone."""
        cdef bint by_columns = walk.joined[0] > 0 and self.pointers > 0 and (
            walk.joined[1] == 0
            or inner_reach(walk.strides[0], self.pointers) < inner_reach(walk.strides[1], self.pointers))
        plan.edges, plan.by_columns, plan.vector = False, by_columns, 1
        if walk.results > most_number or walk.count > most_number:
            plan.which, plan.by_columns = LONG, False
            plan_rows(plan, walk.results, walk.count, False)
            return
        if self.vector > 1 and self.take_vectors(cells, walk, plan, 0 if by_columns else 1):
            plan.vector = self.vector
        if by_columns:
            plan_columns(plan, walk.results // plan.vector, walk.count)
            plan.which = COLUMNS if walk.joined[1] <= 1 else COLUMNS_DEEP
        else:
            plan_rows(plan, walk.results, walk.count // plan.vector, plan.vector > 1)
            plan.which = DEEP if walk.joined[1] > 1 else ROWS if plan.lane_bits == BLOCK_BITS else LANES
        if plan.vector == 1:
            plan.which += SINGLE

    cdef bint take_vectors(self, Cell** cells, const FoldWalk* walk, FoldPlan* plan, int part) noexcept nogil:
        """Whether all operands can be read by vectors along the innermost kept (0) or reduced (1) dimension. Rows of
        one dimension may begin anywhere, in all operands alike; else all vectors are aligned."""
        cdef int index, leader = -1
        cdef bint anywhere = part == 1 and walk.joined[1] == 1
        if anywhere and walk.count < 4 * self.vector:
            return False
        if not anywhere and (walk.joined[part] == 0 or walk.lengths[part][0] % self.vector):
            return False
        for index in range(self.pointers):
            if self.repeated[part][index]:
                if walk.strides[part][index]:
                    return False
                continue
            if leader < 0:
                leader = index
            if walk.strides[part][index] != self.sizes[index] or (
                    not self.is_aligned(cells, walk, part, index, leader if anywhere else -1)):
                return False
            plan.edges = plan.edges or walk.count % self.vector or not self.is_aligned(cells, walk, part, index, -1)
        return leader >= 0

    cdef bint is_aligned(self, Cell** cells, const FoldWalk* walk, int part, int index, int leader) noexcept nogil:
        """Whether all lines of an operand begin at a multiple of a vector; or, if there is a leader, as many elements
        away from one as the leader's."""
        cdef int side, axis, operands = self.pointers + 1
        cdef npy_intp size = self.sizes[index], vector = self.vector
        cdef npy_intp away = <npy_intp>cells[index].data
        if away % size:
            return False
        if leader >= 0:
            away -= <npy_intp>cells[leader].data // self.sizes[leader] * size
        if away % (vector * size):
            return False
        for side in range(2):
            for axis in range(1 if side == part else 0, walk.joined[side]):
                away = walk.strides[side][axis * operands + index]
                if away % size:
                    return False
                if leader >= 0:
                    away -= walk.strides[side][axis * operands + leader] // self.sizes[leader] * size
                if away % (vector * size):
                    return False
        return True

    cdef void put_walk(self, Arguments* arguments, const FoldWalk* walk, const FoldPlan* plan) noexcept nogil:
        """The structs ``Plan`` and ``Walk`` of the source."""
        cdef int part, axis, index
        cdef int inner = 0 if plan.by_columns else 1
        cdef int vector = plan.vector
        cdef npy_intp length
        put_integer(arguments, walk.results)
        put_integer(arguments, walk.count)
        put_integer(arguments, plan.splits)
        put_integer(arguments, plan.chunk)
        put_integer(arguments, plan.lane_bits)
        put_integer(arguments, plan.edges)
        put_integer(arguments, walk.joined[0])
        put_integer(arguments, walk.joined[1])
        for part in range(2):
            for axis in range(self.rank):
                length = walk.lengths[part][axis] if axis < walk.joined[part] else 1
                put_integer(arguments, max(1, length // vector) if part == inner and axis == 0 else length)
        for part in range(2):
            for axis in range(self.rank):
                length = walk.lengths[part][axis] if axis + 1 < walk.joined[part] else 1     # the last divides nothing
                put_divider(arguments, max(1, length // vector) if part == inner and axis == 0 else max(1, length))
        for part in range(2):
            for axis in range(self.rank):
                for index in range(self.pointers + 1):
                    put_integer(arguments, 0 if axis >= walk.joined[part] else
                                walk.strides[part][axis * (self.pointers + 1) + index] * (
                                    vector if part == inner and axis == 0 else 1))
        for index in range(self.pointers + 1):
            put_integer(arguments, walk.strides[inner][index] if walk.joined[inner] else 0)


cdef int make_piece(FoldKernel kernel, int which) noexcept with gil:
    try:
        made = piece(kernel.fold_source.text(KERNELS[which]), (KERNELS[which], "finish"))
        kernel.pieces.append(made)
        kernel.kernels[which] = <void*>made
        return 0
    except BaseException as error:
        PyErr_SetObject(type(error), error)
        return -1


cdef inline npy_intp magnitude(npy_intp stride) noexcept nogil:
    return stride if stride >= 0 else -stride


cdef inline npy_intp reach_of(Cell** cells, int pointers, int axis) noexcept nogil:
    """How far apart neighbours along an axis are, in all operands."""
    cdef int index
    cdef npy_intp reach = 0
    for index in range(pointers):
        reach += magnitude(stride_along(cells[index], axis))
    return reach


cdef inline npy_intp inner_reach(const npy_intp* strides, int pointers) noexcept nogil:
    cdef int index
    cdef npy_intp reach = 0
    for index in range(pointers):
        reach += magnitude(strides[index])
    return reach


cdef inline npy_intp quotient_up(npy_intp number, npy_intp by) noexcept nogil:
    return (number + by - 1) // by


cdef inline void split(FoldPlan* plan, npy_intp items, npy_intp most) noexcept nogil:
    """Divide the items of each result into parts, if the groups of results leave multiprocessors without work."""
    cdef npy_intp enough = driver.multiprocessors * BLOCKS_OF_EACH
    cdef npy_intp splits = min(enough // plan.groups, most)
    plan.splits, plan.chunk = 1, items
    if splits >= LEAST_PARTS or splits > 1 and most > 2 * LEAST_PARTS:
        plan.chunk = quotient_up(items, splits)
        plan.splits = quotient_up(items, plan.chunk)


cdef inline void plan_rows(FoldPlan* plan, npy_intp results, npy_intp items, bint by_vectors) noexcept nogil:
    """A block for each result, or as many lanes as have two vectors each, or eight elements."""
    cdef npy_intp share = items // (2 if by_vectors else 8)
    cdef int bits = 0
    while bits < WARP_BITS and <npy_intp>2 << bits <= share:
        bits += 1
    if bits == WARP_BITS and (items >= LONG_ROW or results < 32 * driver.multiprocessors):
        bits = BLOCK_BITS
    plan.lane_bits = bits
    plan.groups = quotient_up(results, 1 << (BLOCK_BITS - bits))
    split(plan, items, items >> (BLOCK_BITS + 1) if bits == BLOCK_BITS else 1)


cdef inline void plan_columns(FoldPlan* plan, npy_intp columns, npy_intp items) noexcept nogil:
    """Lanes have columns beside each other, 32 unless there are fewer; more if columns are short, fewer if all is so
    small that other blocks would have nothing to do."""
    cdef int bits = WARP_BITS
    while bits and <npy_intp>1 << (bits - 1) >= columns:
        bits -= 1
    while bits < BLOCK_BITS and <npy_intp>1 << bits < columns and items < 4 << (BLOCK_BITS - bits):
        bits += 1
    if columns * items <= 4 * driver.multiprocessors << BLOCK_BITS:
        while bits > 2 and items > 4 << (BLOCK_BITS - bits) and columns >> bits < driver.multiprocessors:
            bits -= 1
    plan.lane_bits = bits
    plan.groups = quotient_up(columns, 1 << bits)
    split(plan, items, items >> (BLOCK_BITS - bits + 2))


cdef inline int finish(DeviceKernel kernel, const FoldWalk* walk, const FoldPlan* plan, npy_intp partial,
                       Arguments* arguments) noexcept nogil:
    """Start the kernel that combines partial results."""
    cdef int bits = 3 if plan.splits > 64 else WARP_BITS
    while bits and <npy_intp>1 << (bits - 1) >= walk.results:
        bits -= 1
    put_integer(arguments, walk.results)
    put_integer(arguments, plan.splits)
    put_integer(arguments, bits)
    put_integer(arguments, partial)
    return kernel.start(1, quotient_up(walk.results, 1 << bits), 1 << BLOCK_BITS, arguments)


cdef class GpuReductionKernel(FoldKernel):
    """Reduce a value that is computed from operands on the device.

    Parameters
    ----------
    code, patterns, loop, axes, accumulator_dtype, output_dtype, keepdims, identity
        See ``ReductionKernel``.
    values : sequence of bool
        The inputs on the host: they have one element, and are passed by value.
    is_mean : bool
        Divide by the number of elements.
    """
    cdef int inputs, dimensions
    cdef bint by_value[MOST_OPERANDS]
    cdef unsigned long long broadcastable[MOST_OPERANDS]
    cdef unsigned long long reduced
    cdef bint keepdims, has_identity
    cdef str loop_name

    def __init__(self, code, patterns, loop, axes, accumulator_dtype, output_dtype, keepdims=False, identity=None,
                 values=(), is_mean=False):
        cdef int index, axis
        accumulator = numpy.dtype(accumulator_dtype)
        if accumulator == "float64" and output_dtype == "float32":
            accumulator = numpy.dtype("float32")
        known = loop.identity if identity is None else identity
        self.inputs, self.dimensions, self.keepdims = len(patterns), len(patterns[0]), keepdims
        self.has_identity, self.loop_name = known is not None, loop.__name__
        self.take_source(reduction_source(
            code, patterns, axes, loop, accumulator, numpy.dtype(output_dtype), values,
            None if known is None else numpy.array(known).astype(accumulator), is_mean), self.dimensions)
        self.reduced = mask_of(axes)
        for index, pattern in enumerate(patterns):
            self.by_value[index], self.broadcastable[index] = values[index], 0
            for axis in range(self.dimensions):
                self.broadcastable[index] |= <unsigned long long>bool(pattern[axis]) << axis

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef npy_intp shape[MAX_RANK]
        cdef npy_intp kept[MAX_RANK]
        cdef int axis, count = 0
        cdef bint empty = False, none = False
        for axis in range(self.dimensions):
            shape[axis] = self.length(operands, axis)
            if self.reduced >> axis & 1:
                empty |= shape[axis] == 0
                if self.keepdims:
                    kept[count] = 1
                    count += 1
            else:
                none |= shape[axis] == 0
                kept[count] = shape[axis]
                count += 1
        if empty and not none and not self.has_identity:
            with gil:
                raise ValueError(f"zero-size array to reduction operation {self.loop_name} which has no identity")
        allocate(context, operands[self.inputs], kept)
        return 0

    cdef int length(self, Cell** operands, int axis) except -1 nogil:
        """The common length of the inputs along an axis. Raises ValueError."""
        cdef int index, first = -1
        for index in range(self.inputs):
            if self.broadcastable[index] >> axis & 1:
                if operands[index].shape[axis] != 1:
                    fail_lengths(self, operands, axis)
            elif first < 0:
                first = index
            elif operands[index].shape[axis] != operands[first].shape[axis]:
                fail_lengths(self, operands, axis)
        return 1 if first < 0 else operands[first].shape[axis]

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* cells[MOST_OPERANDS + 1]
        cdef npy_intp shape[MAX_RANK]
        cdef Arguments arguments
        cdef double count = 1
        cdef int index, axis, pointers = 0
        arguments.size, arguments.full = 0, False
        for axis in range(self.dimensions):
            shape[axis] = self.any_length(operands, axis)
            if self.reduced >> axis & 1:
                count *= shape[axis]
        for index in range(self.inputs):
            if self.by_value[index]:
                put_value(&arguments, operands[index])
            else:
                put_address(&arguments, operands[index])
                cells[pointers] = operands[index]
                pointers += 1
        put(&arguments, <const char*>&count, 8)
        put_address(&arguments, operands[self.inputs])
        return self.fold(cells, self.dimensions, shape, self.reduced, &arguments)

    cdef inline npy_intp any_length(self, Cell** operands, int axis) noexcept nogil:
        cdef int index
        for index in range(self.inputs):
            if not self.broadcastable[index] >> axis & 1:
                return operands[index].shape[axis]
        return 1


cdef unsigned long long mask_of(axes) except? 0:
    cdef unsigned long long mask = 0
    cdef int axis
    for axis in axes:
        mask |= <unsigned long long>1 << axis
    return mask


def fits_launch(int inputs, int rank, values):
    """Whether a kernel with these operands can be launched: the device takes 4096 bytes of arguments."""
    cdef int pointers = list(values).count(False)
    return inputs <= MOST_OPERANDS and max(1, rank) * (2 * pointers + 8) + pointers + inputs + 20 <= MOST_WORDS


cdef int fail_lengths(GpuReductionKernel kernel, Cell** operands, int axis) except -1 with gil:
    cdef int index
    raise length_mismatch([operands[index].shape[axis] for index in range(kernel.inputs)],
                          [kernel.broadcastable[index] >> axis & 1 for index in range(kernel.inputs)],
                          kernel.dimensions, axis)


cdef class GpuArgKernel(FoldKernel):
    """``(x, position)``; see ``ArgKernel``. Of equal elements the first one counts, and the first NaN before all
    numbers, as on the host: the order in which threads meet decides nothing."""
    cdef int dimensions
    cdef unsigned long long searched
    cdef bint keepdims
    cdef str which

    def __init__(self, dtype, rank, axes, which, keepdims=False):
        self.take_source(arg_source(dtype, rank, which), rank)
        self.dimensions, self.keepdims, self.which, self.in_order = rank, keepdims, which, True
        self.searched = mask_of(axes)

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        return self.prepare_for(context, operands[0], operands[1], NULL)

    cdef int prepare_for(self, Context* context, Cell* x, Cell* position, Cell* value) except -1 nogil:
        cdef npy_intp shape[MAX_RANK]
        cdef int axis, kept = 0
        cdef bint nothing = False
        for axis in range(self.dimensions):
            if self.searched >> axis & 1:
                nothing |= x.shape[axis] == 0
                if self.keepdims:
                    shape[kept] = 1
                    kept += 1
            else:
                shape[kept] = x.shape[axis]
                kept += 1
        if nothing:
            with gil:
                raise ValueError(f"attempt to get {self.which} of an empty sequence")
        allocate(context, position, shape)
        if value != NULL:
            allocate(context, value, shape)
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        return self.search(operands[0], operands[1], NULL)

    cdef int search(self, Cell* x, Cell* position, Cell* value) noexcept nogil:
        cdef Cell* cells[2]
        cdef Arguments arguments
        arguments.size, arguments.full = 0, False
        cells[0] = x
        put_address(&arguments, x)
        put_address(&arguments, position)
        put_integer(&arguments, <npy_intp>value.data if value != NULL else 0)
        return self.fold(cells, self.dimensions, x.shape, self.searched, &arguments)


cdef class GpuExtremumKernel(GpuArgKernel):
    """``(x, value, position)``."""

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        return self.prepare_for(context, operands[0], operands[2], operands[1])

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        return self.search(operands[0], operands[2], operands[1])
