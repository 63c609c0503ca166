"""Kernels that work on rows: the launches of what ``rows_source.py`` writes.

How a row is read depends on its length and on where it is, so a kernel has variants, each with a source that is
compiled when it is first wanted. Rows without gaps are read by vectors of 16 bytes, two for each lane, or four where a
row is long: by a part of a warp, a warp or a block. Short rows, and rows with gaps, are read by elements, up to five
for each lane, or eight where a row is long. What does not fit into registers is read again by each stage. Measured on
an H200: 1e6 rows of 10 elements take 21 us with 2 lanes for each, 24 with 4, and 34 with 8; 8192 rows of 1024 take 17.3
us with 128 lanes and two vectors for each, 19.4 with 256 and one.
"""
from libc.stdlib cimport calloc
from libc.string cimport memset
from numpy cimport npy_intp

import numpy

from phintys.gpu.kernels.rows.rows_source import (
    DENSE, LARGE, PACKED, SMALL, STAGES, STRIDED, VALUE, WHOLE, WIDE, Operand, Rows, Stage, Variant, kept, names_of,
    pack_of, pointers, rows_source)
from phintys.gpu.kernels.scalar_source import NoSource
from phintys.gpu.runtime cimport driver
from phintys.gpu.runtime.compiler import compiled
from phintys.gpu.runtime.driver cimport Arguments, load_function, put_address, put_integer, put_value, set_failure
from phintys.gpu.runtime.walk cimport put_divider
from phintys.vm.abi cimport Cell, Context, allocate, cell_size, device_memory
from phintys.vm.pool cimport Buffer, buffer_release
from phintys.vm.python_api cimport PyErr_SetObject

cdef enum:
    SMALL_BLOCK = 256
    LARGE_BLOCK = 1024
    LEAST_PACKED = 64               # elements of a row that is read by vectors
    MOST_EACH = 8                   # vectors or elements of a lane
    KEPT_IN_LARGE = 32              # registers of a lane for elements, in large blocks and in others
    KEPT_IN_SMALL = 96
    MOST_OPERANDS = 40              # of a fused kernel
    MOST_AXES = 16                  # dimensions of each
    BLOCKS_OF_DEVICE = 4            # for each multiprocessor, if rows are split
    LEAST_PART = 1024               # vectors or elements of a part of a row
    LEAST_OF_COLUMN = 16            # the same, if a thread has all of them
    MOST_PARTS = 32                 # of a row: the lanes of a warp take one each
    BYTES_OF_FOLD = 24
    LONGEST = 0x7ff00000            # a row with more elements needs wide numbers

# A variant's number: how rows are read, whether they are one dimension, whether blocks are large, the power of two of
# lanes, or 6 for a block, whether rows are runs, and how many elements or vectors a lane keeps. Those of split rows
# are numbered apart, as each has several kernels.
cdef enum:
    READING = 1
    JOINED = 4
    LARGE_BIT = 8
    LANES = 16
    RUNS = 128
    EACH = 256
    OF_BLOCK = 6
    SPLIT = MOST_VARIANTS
    SPLIT_COLUMNS = 8

cdef enum:                      # as in rows_source.py
    AS_STRIDED, AS_DENSE, AS_PACKED, AS_WHOLE

if (SMALL, LARGE, STRIDED, DENSE, PACKED, WHOLE) != (
        SMALL_BLOCK, LARGE_BLOCK, AS_STRIDED, AS_DENSE, AS_PACKED, AS_WHOLE):
    raise ImportError("blocks or readings have other numbers in rows_source.py")
if STAGES != MOST_STAGES:
    raise ImportError("split rows have another number of stages in rows_source.py")


NAMES = ("rows",) * (MOST_VARIANTS + MOST_SPLIT)      # of all functions, for errors


def variant_of(int number):
    """The variant with a number."""
    cdef int power = number // LANES % 8
    if number >= SPLIT:
        number = (number - SPLIT) // (MOST_STAGES + 1)
        return Variant(number % 4, 0, 1 if number & SPLIT_COLUMNS else 0, SMALL, bool(number & JOINED),
                       number % 4 != PACKED and not number & SPLIT_COLUMNS, True)
    return Variant(number % 4, number // EACH, 0 if power == OF_BLOCK else 1 << power,
                   LARGE if number & LARGE_BIT else SMALL, bool(number & JOINED), bool(number & RUNS))


cdef int load_variant(RowsKernel kernel, int number) except -1:
    """Compile and load a variant."""
    variant = variant_of(number)
    rows = kernel.rows if variant.each else kernel.streamed
    cdef bytes image = compiled(rows_source(rows, variant))
    if kernel.loaded != driver.generation:
        memset(kernel.functions, 0, (MOST_VARIANTS + MOST_SPLIT) * sizeof(void*))
        kernel.loaded = driver.generation
    load_function(image, list(names_of(rows, variant)), &kernel.functions[number])
    return 0


cdef int try_to_load(RowsKernel kernel, int number) noexcept with gil:
    """The same in `run`, if a call has other addresses than the one that was prepared."""
    try:
        return load_variant(kernel, number)
    except BaseException as error:
        PyErr_SetObject(type(error), error)
        return -1


cdef class RowsKernel(DeviceKernel):
    """A kernel that computes what a ``Rows`` says."""

    cdef int set_rows(self, rows, dimensions, streamed=None) except -1:
        cdef int operand, axis
        operands = pointers(rows)
        if len(operands) > MOST_POINTERS or len(operands) * rows.rank > MOST_WORDS:
            raise NoSource("too many operands")
        self.streamed = streamed or rows
        self.rows, self.rank, self.inner, self.pointers = rows, rows.rank, rows.inner, len(operands)
        self.pack = pack_of(rows)
        self.registers = sum([max(4, numpy.dtype(given.dtype).itemsize) // 4 for given in kept(rows)])
        self.stages = len(self.streamed.stages)
        self.partial_at = 8 * (5 + 2 * max(2, self.rank) * (1 + max(1, self.pointers)))
        self.names = NAMES
        self.functions = <void**>calloc(MOST_VARIANTS + MOST_SPLIT, sizeof(void*))
        if self.functions == NULL:
            raise MemoryError()
        for operand in range(self.pointers):
            self.itemsizes[operand] = numpy.dtype(operands[operand].dtype).itemsize
            self.wide[operand] = operands[operand].kind == WIDE
            for axis in range(self.rank):
                self.dimensions[operand * self.rank + axis] = dimensions[operand][axis]
        rows_source(rows, variant_of(0))            # NoSource, if a dtype has no text
        return 0

    cdef int prepare_rows(self, Cell** cells, const npy_intp* shape) except -1 nogil:
        cdef Layout layout
        self.lay_out(cells, shape, &layout)
        if layout.rows == 0 or (self.loaded == driver.generation and self.functions[layout.variant] != NULL):
            return 0
        with gil:
            return load_variant(self, layout.variant)

    cdef void lay_out(self, Cell** cells, const npy_intp* shape, Layout* layout) noexcept nogil:
        cdef int axis, part
        layout.rows = layout.count = 1
        layout.joined[0] = layout.joined[1] = 0
        layout.lengths[1][0], layout.splits = 1, 1
        for axis in range(self.rank - 1, -1, -1):
            part = axis >= self.rank - self.inner
            if part:
                layout.count *= shape[axis]
            else:
                layout.rows *= shape[axis]
            if shape[axis] != 1:
                join(self, cells, axis, shape[axis], layout, part)
        if layout.rows == 0:
            return
        if not layout.joined[1]:                    # rows of one element: any stride will do
            layout.joined[1], layout.lengths[1][0] = 1, layout.count
            for axis in range(self.pointers):
                layout.strides[1][axis] = self.itemsizes[axis] if self.wide[axis] else 0
        if goes_by_columns(self, layout):
            share_columns(self, layout)
        else:
            share_rows(self, layout, reading_of(self, cells, layout))

    cdef void put_rows(self, Cell** cells, const npy_intp* shape, Layout* layout, Arguments* arguments) noexcept nogil:
        cdef int part, axis, operand
        self.lay_out(cells, shape, layout)
        arguments.size, arguments.full = 0, False
        put_integer(arguments, layout.rows)
        put_integer(arguments, layout.count)
        put_integer(arguments, layout.joined[0])
        put_integer(arguments, layout.joined[1])
        put_integer(arguments, layout.splits)
        for part in range(2):
            for axis in range(max(2, self.rank)):
                put_integer(arguments, layout.lengths[part][axis] if axis < layout.joined[part] else 1)
        for part in range(2):
            for operand in range(max(1, self.pointers)):
                for axis in range(max(2, self.rank)):
                    put_integer(arguments, layout.strides[part][axis * self.pointers + operand]
                                if axis < layout.joined[part] else 0)
        for part in range(MOST_STAGES):
            put_integer(arguments, 0)
        put_divider(arguments, max(1, min(layout.lengths[1][0], <npy_intp>LONGEST)))
        for operand in range(self.pointers):
            put_address(arguments, cells[operand])

    cdef int run_rows(self, Cell** operands, const Cell* like) noexcept nogil:
        """Launch what needs no further arguments, for rows of the shape of a cell."""
        cdef Arguments arguments
        cdef Layout layout
        if cell_size(like) == 0:
            return 0
        self.put_rows(operands, like.shape, &layout, &arguments)
        return self.start_rows(&layout, &arguments)

    cdef int start_rows(self, const Layout* layout, Arguments* arguments) noexcept nogil:
        cdef npy_intp rows = layout.threads // layout.lanes
        cdef Buffer* partial
        cdef int failed
        if (self.loaded != driver.generation or self.functions[layout.variant] == NULL) and (
                try_to_load(self, layout.variant) < 0):
            return -1
        if layout.variant < SPLIT:
            return self.start(layout.variant, (layout.rows + rows - 1) // rows, layout.threads, arguments)
        partial = device_memory.acquire(layout.rows * layout.splits * self.stages * BYTES_OF_FOLD + 1)
        if partial == NULL:
            return set_failure(2, b"partial folds of rows")
        failed = self.start_stages(layout, arguments, partial.data)
        buffer_release(partial)                     # work is done in order
        return failed

    cdef int start_stages(self, const Layout* layout, Arguments* arguments, char* partial) noexcept nogil:
        """A kernel for each stage, and the last."""
        cdef npy_intp rows = layout.threads // layout.lanes
        cdef int stage, failed = 0
        for stage in range(self.stages):
            (<npy_intp*>(arguments.bytes + self.partial_at))[stage] = <npy_intp>(
                partial + layout.rows * layout.splits * stage * BYTES_OF_FOLD)
        for stage in range(self.stages + 1):
            failed = failed or self.start_grid(layout.variant + stage, (layout.rows + rows - 1) // rows, layout.splits,
                                               layout.threads, 0, arguments)
        return failed


cdef inline void join(RowsKernel kernel, Cell** cells, int axis, npy_intp length, Layout* layout,
                      int part) noexcept nogil:
    """Add an axis outside of those that a part has; it joins the last of these if all operands allow."""
    cdef npy_intp own[MOST_POINTERS]
    cdef int operand, dimension, last = layout.joined[part] - 1
    cdef bint joins = last >= 0
    for operand in range(kernel.pointers):
        dimension = kernel.dimensions[operand * kernel.rank + axis]
        own[operand] = cells[operand].strides[dimension] if (
            dimension >= 0 and cells[operand].shape[dimension] != 1) else 0
        joins = joins and own[operand] == (layout.strides[part][last * kernel.pointers + operand]
                                           * layout.lengths[part][last])
    if joins:
        layout.lengths[part][last] *= length
        return
    layout.lengths[part][last + 1] = length
    for operand in range(kernel.pointers):
        layout.strides[part][(last + 1) * kernel.pointers + operand] = own[operand]
    layout.joined[part] += 1


cdef inline bint goes_by_columns(RowsKernel kernel, const Layout* layout) noexcept nogil:
    """Whether elements of neighbouring rows are closer than those of a row: then neighbouring threads have rows."""
    cdef int operand
    if layout.joined[0] == 0 or layout.joined[1] != 1:
        return False
    for operand in range(kernel.pointers):
        if kernel.wide[operand] and layout.strides[0][operand] and layout.strides[1][operand]:
            return magnitude(layout.strides[0][operand]) < magnitude(layout.strides[1][operand])
    return False


cdef inline npy_intp magnitude(npy_intp stride) noexcept nogil:
    return stride if stride >= 0 else -stride


cdef inline int reading_of(RowsKernel kernel, Cell** cells, const Layout* layout) noexcept nogil:
    cdef bint dense = layout.joined[1] <= 2 and layout.count < LONGEST
    cdef bint whole = layout.lengths[1][0] % kernel.pack == 0
    cdef int operand, dimension, part
    cdef npy_intp bytes
    for operand in range(kernel.pointers):
        if not kernel.wide[operand]:
            continue
        dense = dense and layout.strides[1][operand] == kernel.itemsizes[operand]
        bytes = kernel.pack * kernel.itemsizes[operand]
        whole = whole and <npy_intp>cells[operand].data % bytes == 0
        for part in range(2):
            for dimension in range(part, layout.joined[part]):
                whole = whole and layout.strides[part][dimension * kernel.pointers + operand] % bytes == 0
    if not dense or not layout.count:
        return AS_STRIDED
    if layout.count < LEAST_PACKED or (layout.joined[1] == 2 and not whole):
        return AS_DENSE
    return AS_WHOLE if whole else AS_PACKED


cdef inline void share_columns(RowsKernel kernel, Layout* layout) noexcept nogil:
    """Give each row a thread; rows are split until threads fill the device."""
    cdef npy_intp wanted = driver.multiprocessors * BLOCKS_OF_DEVICE * SMALL_BLOCK
    layout.lanes, layout.threads = 1, 128
    layout.splits = max(1, min(wanted // layout.rows, layout.count // LEAST_OF_COLUMN, MOST_PARTS))
    layout.variant = AS_STRIDED + (layout.joined[0] <= 1) * JOINED
    if layout.splits > 1 and kernel.stages <= MOST_STAGES:
        layout.variant = SPLIT + (layout.variant + SPLIT_COLUMNS) * (MOST_STAGES + 1)
    else:
        layout.splits = 1


cdef inline void share_rows(RowsKernel kernel, Layout* layout, int reading) noexcept nogil:
    """Give each row its lanes, and each lane its elements or vectors; long rows are split if there are few."""
    cdef int width = kernel.pack if reading >= AS_PACKED else 1, power = 0
    cdef npy_intp items = (layout.count + width - 1) // width + (reading == AS_PACKED)
    cdef npy_intp each = (2 if items <= 1024 else 4) if reading >= AS_PACKED else 5 if items <= 5 * 32 else 8
    cdef npy_intp least = (items + each - 1) // each, lanes
    cdef bint large
    layout.splits = min(driver.multiprocessors * BLOCKS_OF_DEVICE // layout.rows, items // LEAST_PART, MOST_PARTS)
    if layout.splits > 1 and items > 4 * LEAST_PART and kernel.stages <= MOST_STAGES:
        layout.lanes = layout.threads = SMALL_BLOCK
        layout.variant = SPLIT + (reading + (layout.joined[0] <= 1) * JOINED) * (MOST_STAGES + 1)
        return
    layout.splits = 1
    if least > 32:
        lanes, power = min((least + 31) // 32 * 32, <npy_intp>LARGE_BLOCK), OF_BLOCK
    else:
        while 1 << power < least or (power == 0 and items > 2):
            power += 1
        lanes = 1 << power
    layout.lanes = <int>lanes
    layout.threads = SMALL_BLOCK if lanes < 32 else 128 if lanes == 32 and power != OF_BLOCK else <int>lanes
    large = layout.threads > SMALL_BLOCK
    each = (items + lanes - 1) // lanes
    if each > MOST_EACH or each * width * kernel.registers > (KEPT_IN_LARGE if large else KEPT_IN_SMALL):
        each = 0
    layout.variant = <int>(reading * READING + (layout.joined[0] <= 1) * JOINED + large * LARGE_BIT + power * LANES
                           + (layout.joined[1] > 1) * RUNS + each * EACH)


cdef class GpuRowsKernel(RowsKernel):
    """What row fusion has made: ``(inputs, results)``.

    Parameters
    ----------
    rows : Rows
    axes : sequence of tuple
        Of each operand, for each dimension: the axis that it is, or None if its length is 1.
    without_identity : sequence of str
        Names of folds that need an element.
    """
    cdef int inputs, results
    cdef bint by_value[MOST_OPERANDS]
    cdef int ranks[MOST_OPERANDS]
    cdef signed char axes[MOST_OPERANDS][MOST_AXES]         # of each dimension; -1: its length is 1
    cdef tuple without_identity

    def __init__(self, rows, axes, without_identity):
        cdef int operand, axis
        inputs, stages, lines, results = rows[:4]
        rows = Rows(tuple([Operand(*given) for given in inputs]), tuple([Stage(*stage) for stage in stages]), lines,
                    tuple([(Operand(*given), text) for given, text in results]), *rows[4:])
        self.inputs, self.results, self.without_identity = len(inputs), len(results), tuple(without_identity)
        if len(axes) > MOST_OPERANDS or max([len(given) for given in axes]) > MOST_AXES:
            raise NoSource("too many operands")
        for operand, given in enumerate(axes):
            self.by_value[operand] = operand < self.inputs and rows.inputs[operand].kind == VALUE
            self.ranks[operand] = len(given)
            for axis in range(len(given)):
                self.axes[operand][axis] = -1 if given[axis] is None else given[axis]
        self.set_rows(rows, [[given.index(axis) if axis in given else -1 for axis in range(rows.rank)]
                             for operand, given in enumerate(axes) if not self.by_value[operand]])

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* cells[MOST_POINTERS]
        cdef npy_intp shape[MOST_AXES]
        cdef npy_intp own[MOST_AXES]
        cdef int operand, dimension, axis, empty = 0, none = 0
        self.common_shape(operands, shape)
        for axis in range(self.rank):
            if shape[axis] == 0:
                empty, none = empty or axis >= self.rank - self.inner, none or axis < self.rank - self.inner
        if empty and not none and self.without_identity:
            with gil:
                raise ValueError(f"zero-size array to reduction operation {self.without_identity[0]} which has no "
                                 "identity")
        for operand in range(self.inputs, self.inputs + self.results):
            for dimension in range(self.ranks[operand]):
                axis = self.axes[operand][dimension]
                own[dimension] = shape[axis] if axis >= 0 else 1
            allocate(context, operands[operand], own)
        self.choose_cells(operands, cells)
        return self.prepare_rows(cells, shape)

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Arguments arguments
        cdef Layout layout
        cdef Cell* cells[MOST_POINTERS]
        cdef npy_intp shape[MOST_AXES]
        cdef int operand
        self.lengths(operands, shape)
        self.choose_cells(operands, cells)
        self.put_rows(cells, shape, &layout, &arguments)
        if layout.rows == 0:
            return 0
        for operand in range(self.inputs):
            if self.by_value[operand]:
                put_value(&arguments, operands[operand])
        return self.start_rows(&layout, &arguments)

    cdef void choose_cells(self, Cell** operands, Cell** cells) noexcept nogil:
        """Those on the device."""
        cdef int operand, count = 0
        for operand in range(self.inputs + self.results):
            if not self.by_value[operand]:
                cells[count] = operands[operand]
                count += 1

    cdef void lengths(self, Cell** operands, npy_intp* shape) noexcept nogil:
        """The common shape, by the first input that has each axis."""
        cdef int operand, dimension
        for operand in range(self.inputs - 1, -1, -1):
            for dimension in range(self.ranks[operand]):
                if self.axes[operand][dimension] >= 0:
                    shape[self.axes[operand][dimension]] = operands[operand].shape[dimension]

    cdef int common_shape(self, Cell** operands, npy_intp* shape) except -1 nogil:
        """The same. Raises ValueError if lengths differ."""
        cdef int operand, dimension, axis
        self.lengths(operands, shape)
        for operand in range(self.inputs):
            for dimension in range(self.ranks[operand]):
                axis = self.axes[operand][dimension]
                if operands[operand].shape[dimension] != (shape[axis] if axis >= 0 else 1):
                    with gil:
                        raise ValueError(
                            f"Input dimension mis-match. (input[{operand}].shape[{dimension}] = "
                            f"{operands[operand].shape[dimension]}, but others have length "
                            f"{shape[axis] if axis >= 0 else 1} there)")
        return 0
