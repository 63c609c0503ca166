"""Sorting on the device: elements, stable places, the best elements and theirs. A partition is a sorted line.

``sort_source.py`` has the ways to sort lines without gaps; which one is taken depends on their length. Other lines are
copied to such, and what is sorted back. A kernel is compiled when lines of its length come first.
"""
from cpython.ref cimport PyObject
from numpy cimport npy_intp

import numpy

from phintys.gpu.kernels.lines.scan_kernel cimport GpuScanKernel, Variant, pack
from phintys.gpu.kernels.lines.sort_source import best_source, block_source, rows_source, sweep_source, warp_source
from phintys.gpu.runtime cimport driver
from phintys.gpu.runtime.copies cimport copy_elements
from phintys.gpu.runtime.driver cimport Arguments, fill_bytes, set_failure
from phintys.gpu.runtime.kernel cimport THREADS, DeviceKernel, blocks_for
from phintys.ops.native.integers cimport integer_at
from phintys.ops.sorting.row_order_kernel import RowOrderKernel
from phintys.vm.abi cimport BOUND, Cell, Context, Kernel, cell_is_contiguous, cell_size, device_memory
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.pool cimport Buffer, buffer_release

cdef enum:
    WARP_OF_1, WARP_OF_32 = 5, BLOCK_OF_4, BLOCK_OF_8, BLOCK_OF_16, SWEEP, LONG_SWEEP, WIDE_SWEEP, BEST, VARIANTS

cdef enum:
    COUNT, MOVE, MOVE_LAST      # kernels of a sweep
    DIGIT = 256                 # values of a digit, and threads of a block
    ALIGNED = 256               # bytes: parts of scratch memory begin at multiples

cdef npy_intp few_tiles = 64               # of all lines together: so many look up each other's counts
cdef npy_intp wide_from = 1 << 30           # elements of a line whose counts need words of 64 bits

# Keys of each thread, of the variants from BLOCK_OF_4 on.
cdef int EACH[6]
EACH[:] = [4, 8, 16, 8, 16, 16]


def set_limits(npy_intp tiles, npy_intp length):
    """Set how many tiles look up each other's counts, and from which length on words have 64 bits; returns both as they
    were."""
    global few_tiles, wide_from
    before = few_tiles, wide_from
    few_tiles, wide_from = tiles, length
    return before


cdef class GpuSortKernel(DeviceKernel):
    """A twin of a kernel that sorts lines.

    Parameters
    ----------
    host : Kernel
        The processor's kernel: it checks operands and allocates results.
    dtype : str
    places : bool
        Sort places, not elements.
    axis : int
        Not negative; or None: it is the value of operand ``axis_operand``.
    axis_operand : int, optional
    position_dtype : str, optional
        Only the best are wanted, as many as operand 1 says: elements and places of this dtype.
    best_values, best_places : bool
        Which results there are then.

    Raises
    ------
    NoSource
        For dtypes without text.
    """
    cdef Kernel host
    cdef list variants, sums
    cdef PyObject* variant[VARIANTS]
    cdef PyObject* sum_of[2]            # the cumulative sums of counts of 32 and of 64 bits
    cdef object dtype, position_dtype
    cdef bint places, takes_best, best_values, best_places
    cdef int axis, axis_operand, itemsize

    def __init__(self, host, dtype, bint places, axis, int axis_operand=0, position_dtype=None, best_values=False,
                 best_places=False):
        self.host, self.dtype, self.places = host, dtype, places
        self.examined, self.binding, self.private_bytes = self.host.examined, BOUND, 0
        self.axis, self.axis_operand = -1 if axis is None else axis, axis_operand
        self.takes_best, self.position_dtype = position_dtype is not None, position_dtype
        self.best_values, self.best_places = best_values, best_places
        self.itemsize = numpy.dtype(dtype).itemsize
        self.variants, self.sums = [None] * VARIANTS, [None, None]
        warp_source(dtype, places, 1)                   # NoSource for a dtype without text

    cdef object source_of(self, int variant):
        """The source of a variant, and the names of its kernels."""
        if variant <= WARP_OF_32:
            return warp_source(self.dtype, self.places, 1 << variant), ("sort",)
        if variant == BEST:
            return best_source(self.dtype, self.position_dtype), ("best",)
        each = EACH[variant - BLOCK_OF_4]
        if variant <= BLOCK_OF_16:
            return block_source(self.dtype, self.places, each), ("sort",)
        return (sweep_source(self.dtype, self.places, each, variant != SWEEP, variant == WIDE_SWEEP),
                ("count_digits" if variant == SWEEP else "count_tiles", "sweep_keys", "sweep_last"))

    cdef int make(self, int variant) except -1:
        made = Variant(*self.source_of(variant))
        sums = GpuScanKernel("uint64" if variant == WIDE_SWEEP else "uint32", 0, "add")
        if self.variant[variant] != NULL:               # another thread has made it meanwhile
            return 0
        if variant in (LONG_SWEEP, WIDE_SWEEP):
            self.sums[variant == WIDE_SWEEP] = sums
            self.sum_of[variant == WIDE_SWEEP] = <PyObject*>sums
        self.variants[variant] = made
        self.variant[variant] = <PyObject*>made
        return 0

    cdef int variant_for(self, npy_intp lines, npy_intp length) noexcept nogil:
        cdef int variant = 0
        if length <= (256 if self.itemsize == 8 or (self.places and self.itemsize == 4) else 1024):
            while length > 32 << variant:
                variant += 1
            return variant
        for variant in range(BLOCK_OF_4, SWEEP):
            if length <= DIGIT * EACH[variant - BLOCK_OF_4]:
                return variant
        if length >= wide_from:
            return WIDE_SWEEP
        return SWEEP if lines * tiles_of(SWEEP, length) <= few_tiles else LONG_SWEEP

    cdef int axis_of(self, Cell** operands) noexcept nogil:
        cdef int axis = self.axis
        if axis < 0:
            axis = <int>integer_at(operands[self.axis_operand], 0)
            axis += operands[0].ndim if axis < 0 else 0
        return axis

    cdef int ready_variant(self, int variant, npy_intp lines, npy_intp length) except -1 nogil:
        if self.variant[variant] == NULL:
            with gil:
                self.make(variant)
        if variant in (LONG_SWEEP, WIDE_SWEEP):
            (<GpuScanKernel>self.sum_of[variant == WIDE_SWEEP]).ready_lines(
                lines, DIGIT * tiles_of(variant, length), False)
        return (<Variant>self.variant[variant]).ready()

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef npy_intp lines, length
        self.host.prepare(context, operands)
        if cell_size(operands[0]):
            length = operands[0].shape[self.axis_of(operands)]
            lines = cell_size(operands[0]) // length
            self.ready_variant(self.variant_for(lines, length), lines, length)
            if self.takes_best:
                self.ready_variant(BEST, lines, length)
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* source = operands[0]
        cdef Cell* result = operands[self.axis_operand + 1]
        cdef int axis = self.axis_of(operands), error = 0
        cdef bint moved
        cdef const char* x = source.data
        cdef npy_intp length, size = cell_size(source)
        cdef Buffer* lines = NULL
        cdef Buffer* found = NULL
        if size == 0:
            return 0
        length = source.shape[axis]
        moved = length != size and stride_of_lines(source, axis) != 1
        if moved or not cell_is_contiguous(source) or source.data == result.data:
            lines = device_memory.acquire(size * self.itemsize)
            if lines == NULL:
                return set_failure(2, b"lines that are sorted")
            error = copy_lines(source, axis, lines.data, False)
            x = lines.data
        if not error and self.takes_best:
            error = self.best(context, operands, x, axis, moved)
        elif not error and not moved:
            error = self.sort(x, result.data, size // length, length)
        elif not error:
            found = device_memory.acquire(size * result.itemsize)
            error = set_failure(2, b"lines that are sorted") if found == NULL else self.sort(
                x, found.data, size // length, length)
            if not error:
                error = copy_lines(result, axis, found.data, True)
        release(lines)
        release(found)
        return error

    cdef int best(self, Context* context, Cell** operands, const char* x, int axis, bint moved) noexcept nogil:
        """Sort places, and take those that are wanted, with their elements."""
        cdef Cell* values = operands[2] if self.best_values else NULL
        cdef Cell* places = operands[2 + self.best_values] if self.best_places else NULL
        cdef npy_intp length = operands[0].shape[axis], size = cell_size(operands[0])
        cdef npy_intp k = integer_at(operands[1], 0), items = size // length * (k if k > 0 else -k)
        cdef Buffer* order = device_memory.acquire(size * 8)
        cdef Buffer* found[2]
        cdef Arguments arguments
        cdef npy_intp words[7]
        cdef int error, index
        cdef Cell* results[2]
        results[0], results[1], found[0], found[1] = values, places, NULL, NULL
        error = set_failure(2, b"places that are sorted") if order == NULL else self.sort(x, order.data, size // length,
                                                                                         length)
        words[:7] = [<npy_intp>order.data if order != NULL else 0, <npy_intp>x, 0, 0, items, length, k]
        for index in range(2):
            if results[index] == NULL or error:
                continue
            words[2 + index] = <npy_intp>results[index].data
            if moved:
                found[index] = device_memory.acquire(items * results[index].itemsize)
                if found[index] == NULL:
                    error = set_failure(2, b"the best elements")
                else:
                    words[2 + index] = <npy_intp>found[index].data
        if not error:
            pack(&arguments, words, 7)
            error = (<Variant>self.variant[BEST]).start(0, blocks_for(items), THREADS, &arguments)
        for index in range(2):
            if not error and found[index] != NULL:
                error = copy_lines(results[index], axis, found[index].data, True)
            release(found[index])
        release(order)
        return error

    cdef int sort(self, const char* x, const char* out, npy_intp lines, npy_intp length) noexcept nogil:
        """Lines without gaps."""
        cdef int variant = self.variant_for(lines, length)
        cdef npy_intp words[4]
        cdef Arguments arguments
        if variant == SWEEP:
            return self.sweep(x, out, lines, length)
        if variant > SWEEP:
            return self.sweep_counted(variant, x, out, lines, length)
        words[:4] = [<npy_intp>x, <npy_intp>out, lines, length]
        pack(&arguments, words, 4)
        if variant <= WARP_OF_32:
            return (<Variant>self.variant[variant]).start(0, (lines + 3) // 4, 128, &arguments)
        return (<Variant>self.variant[variant]).start(0, lines, 256, &arguments)

    cdef int sweep(self, const char* x, const char* out, npy_intp lines, npy_intp length) noexcept nogil:
        """Lines of few tiles: a kernel counts digits, and one for each digit moves keys and places."""
        cdef npy_intp tiles = tiles_of(SWEEP, length), words_of_digit = lines * tiles * DIGIT
        cdef npy_intp starts = lines * self.itemsize * DIGIT * 4, flags = aligned(4 * lines)
        cdef npy_intp blocks = max(min((length + 1023) // 1024, 4 * driver.multiprocessors // lines), <npy_intp>1)
        cdef npy_intp words[11]
        cdef Arguments arguments
        cdef int digit, error
        cdef char* at
        cdef Buffer* room = device_memory.acquire(2 * starts + flags + ALIGNED + 4 * words_of_digit * self.itemsize
                                                  + self.room_of_passes(lines * length, 4))
        if room == NULL:
            return set_failure(2, b"scratch memory of a sort")
        at = room.data
        error = fill_bytes(at, 0, starts + flags)
        if error:
            error = set_failure(error, b"clearing counts of digits")
        words[:9] = [<npy_intp>x, length, blocks, words_of_digit * self.itemsize, <npy_intp>at,
                     <npy_intp>(at + starts), <npy_intp>(at + starts + flags), <npy_intp>(at + 2 * starts + flags),
                     <npy_intp>(at + 2 * starts + flags + ALIGNED)]
        pack(&arguments, words, 9)
        if not error:
            error = (<Variant>self.variant[SWEEP]).start(COUNT, lines * blocks, DIGIT, &arguments)
        at += 2 * starts + flags + ALIGNED + 4 * words_of_digit * self.itemsize
        words[10], words[9], words[8] = words[8], words[7], words[6]
        for digit in range(self.itemsize):
            if not error:
                error = self.move(SWEEP, words, x, out, at, lines, length, digit)
            words[10] += 4 * words_of_digit
        buffer_release(room)                            # work is done in order
        return error

    cdef int sweep_counted(self, int variant, const char* x, const char* out, npy_intp lines,
                           npy_intp length) noexcept nogil:
        """Lines of many tiles: for each digit a kernel counts, and one moves keys and places by the counts' sums."""
        cdef npy_intp tiles = tiles_of(variant, length), count = 8 if variant == WIDE_SWEEP else 4
        cdef npy_intp counts = aligned(lines * tiles * DIGIT * count)
        cdef npy_intp words[11]
        cdef Arguments arguments
        cdef int digit, error = 0
        cdef Buffer* room = device_memory.acquire(counts + self.room_of_passes(lines * length, count))
        if room == NULL:
            return set_failure(2, b"scratch memory of a sort")
        for digit in range(self.itemsize):
            words[:5] = [<npy_intp>self.keys_before(x, room.data + counts, lines * length, digit), length, tiles, digit,
                         <npy_intp>room.data]
            pack(&arguments, words, 5)
            if not error:
                error = (<Variant>self.variant[variant]).start(COUNT, lines * tiles, DIGIT, &arguments)
            if not error:
                error = (<GpuScanKernel>self.sum_of[variant == WIDE_SWEEP]).along_lines(
                    room.data, room.data, lines, DIGIT * tiles, False)
            words[8], words[9], words[10] = 0, 0, <npy_intp>room.data
            if not error:
                error = self.move(variant, words, x, out, room.data + counts, lines, length, digit)
        buffer_release(room)                            # work is done in order
        return error

    cdef npy_intp room_of_passes(self, npy_intp size, npy_intp count) noexcept nogil:
        """Bytes for two sets of keys, and of places."""
        return 2 * aligned(size * self.itemsize) + (2 * aligned(size * count) if self.places else 0)

    cdef const char* keys_before(self, const char* x, const char* room, npy_intp size, int digit) noexcept nogil:
        """Where the keys are before a digit."""
        return room + (digit + 1) % 2 * aligned(size * self.itemsize) if digit else x

    cdef int move(self, int variant, npy_intp* words, const char* x, const char* out, const char* room, npy_intp lines,
                  npy_intp length, int digit) noexcept nogil:
        """Let a kernel move keys and places by a digit; ``words`` from number 8 on say where they go."""
        cdef npy_intp keys = aligned(lines * length * self.itemsize), tiles = tiles_of(variant, length)
        cdef npy_intp places = aligned(lines * length * (8 if variant == WIDE_SWEEP else 4)) if self.places else 0
        cdef const char* of_places = room + 2 * keys
        cdef Arguments arguments
        words[:8] = [<npy_intp>self.keys_before(x, room, lines * length, digit),
                     <npy_intp>(of_places + (digit + 1) % 2 * places), <npy_intp>(room + digit % 2 * keys),
                     <npy_intp>out, <npy_intp>(of_places + digit % 2 * places), length, tiles, digit]
        pack(&arguments, words, 11)
        return (<Variant>self.variant[variant]).start(MOVE_LAST if digit == self.itemsize - 1 else MOVE, lines * tiles,
                                                      DIGIT, &arguments)


cdef class GpuRowOrderKernel(DeviceKernel):
    """The order that sorts the rows of a matrix: ``(matrix, out)``. Its columns are sorted from the last one on, with
    equal elements in their order.

    Parameters
    ----------
    dtype : str
    """
    cdef Kernel host
    cdef GpuSortKernel column

    def __init__(self, dtype):
        self.host = RowOrderKernel(dtype)
        self.column = GpuSortKernel(self.host, dtype, True, 0)
        self.examined, self.binding = (), BOUND
        self.source, self.names = rows_source(dtype), ("take_column", "take_order")

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef npy_intp rows
        self.ready()
        self.host.prepare(context, operands)
        if cell_size(operands[0]):
            rows = operands[0].shape[0]
            self.column.ready_variant(self.column.variant_for(1, rows), 1, rows)
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef npy_intp rows = operands[0].shape[0], columns = operands[0].shape[1], column
        cdef Buffer* room
        cdef char* keys
        cdef char* order = NULL
        cdef char* next_order
        cdef int error = 0
        if rows == 0:
            return 0
        if columns == 0:
            return self.take_order(NULL, NULL, operands[1].data, rows)
        room = device_memory.acquire(4 * 8 * rows)      # two orders, the places of a column, its keys
        if room == NULL:
            return set_failure(2, b"orders of rows")
        keys = room.data + 3 * 8 * rows
        for column in range(columns - 1, -1, -1):
            next_order = room.data + column % 2 * 8 * rows if column else operands[1].data
            if not error:
                error = self.take_column(operands[0], column, order, keys)
            if not error:
                error = self.column.sort(keys, room.data + 2 * 8 * rows, 1, rows)
            if not error:
                error = self.take_order(order, room.data + 2 * 8 * rows, next_order, rows)
            order = next_order
        buffer_release(room)                            # work is done in order
        return error

    cdef int take_column(self, const Cell* x, npy_intp column, const char* order, const char* keys) noexcept nogil:
        cdef npy_intp words[5]
        cdef Arguments arguments
        words[:5] = [<npy_intp>(x.data + column * x.strides[1]), <npy_intp>order, <npy_intp>keys, x.shape[0],
                     x.strides[0]]
        pack(&arguments, words, 5)
        return self.start(0, blocks_for(x.shape[0]), THREADS, &arguments)

    cdef int take_order(self, const char* order, const char* places, const char* out, npy_intp rows) noexcept nogil:
        cdef npy_intp words[4]
        cdef Arguments arguments
        words[:4] = [<npy_intp>order, <npy_intp>places, <npy_intp>out, rows]
        pack(&arguments, words, 4)
        return self.start(1, blocks_for(rows), THREADS, &arguments)


cdef inline npy_intp tiles_of(int variant, npy_intp length) noexcept nogil:
    """Of a line."""
    cdef npy_intp tile = DIGIT * EACH[variant - BLOCK_OF_4]
    return (length + tile - 1) // tile


cdef inline npy_intp aligned(npy_intp size) noexcept nogil:
    return (size + ALIGNED - 1) // ALIGNED * ALIGNED


cdef inline void release(Buffer* buffer) noexcept nogil:
    if buffer != NULL:
        buffer_release(buffer)


cdef inline npy_intp stride_of_lines(const Cell* cell, int axis) noexcept nogil:
    """Of a cell in C order, in elements."""
    cdef npy_intp stride = 1
    for axis in range(axis + 1, cell.ndim):
        stride *= cell.shape[axis]
    return stride


cdef int copy_lines(Cell* cell, int axis, char* lines, bint back) noexcept nogil:
    """Copy elements to lines along an axis, without gaps, or back."""
    cdef Cell moved = cell[0], packed = cell[0]
    cdef npy_intp shape[MAX_RANK]
    cdef npy_intp strides[MAX_RANK]
    cdef npy_intp packed_strides[MAX_RANK]
    cdef npy_intp stride = cell.itemsize
    cdef int index, place
    for index in range(cell.ndim):
        place = cell.ndim - 1 if index == axis else index - (index > axis)
        shape[place], strides[place] = cell.shape[index], cell.strides[index]
    for index in range(cell.ndim - 1, -1, -1):
        packed_strides[index] = stride
        stride *= shape[index]
    moved.shape, moved.strides = shape, strides
    packed.shape, packed.strides, packed.data = shape, packed_strides, lines
    return copy_elements(&moved, &packed) if back else copy_elements(&packed, &moved)
