"""Cumulative sums and products on the device: ``(x, out)``. See ``scan_source.py`` for the ways to do it.

An array is treated as ``outer`` x ``length`` x ``chunk``, where ``length`` is that of the axis, and is copied first if
it has gaps. The choice of kernels depends on the shape and the device only, so a sum is the same in each call.
"""
from cpython.ref cimport PyObject
from numpy cimport npy_intp

from phintys.gpu.kernels.lines.scan_source import (
    FEW_TILES, ROUNDS, STAGED, WARPS, has_wide_totals, scan_source)
from phintys.gpu.runtime cimport driver
from phintys.gpu.runtime.copies cimport copy_elements
from phintys.gpu.runtime.driver cimport Arguments, set_failure
from phintys.gpu.runtime.kernel cimport DeviceKernel, blocks_for
from phintys.ops.cumulative.cumulative_kernel import CumulativeKernel
from phintys.vm.abi cimport BOUND, Cell, Context, cell_is_contiguous, device_memory
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.pool cimport Buffer, buffer_release

import numpy

cdef enum:                          # kernels of the ways that have two
    TOTALS, REST

cdef enum:
    LINE_OF_THREAD = 32             # the longest line without gaps that a thread has,
    LINE_OF_WARP = 1024             # and a warp
    LEAST_SEGMENT = 32              # elements of a segment, at least
    THREADS_OF_PROCESSOR = 2048

cdef int WARPS_OF_BLOCK = WARPS
cdef int BLOCK_THREADS = 32 * WARPS
cdef npy_intp STAGED_ELEMENTS = STAGED, MOST_TILES = FEW_TILES
cdef int TILE_BYTES = BLOCK_THREADS * ROUNDS * 16


cdef struct Shape:
    npy_intp outer, length, chunk


cdef class Variant(DeviceKernel):
    """One way to do what a kernel does."""

    def __init__(self, source, names):
        self.source, self.names = source, names


cdef class GpuScanKernel(DeviceKernel):
    """See the docstring of the file; the arguments are those of the processor's kernel.

    Raises
    ------
    NoSource
        For dtypes without text.
    """

    def __init__(self, dtype, int axis, mode):
        self.host = CumulativeKernel(dtype, axis, mode)
        self.examined, self.binding, self.axis = (), BOUND, axis
        self.dtype, self.mode, self.made = dtype, mode, []
        scan_source(dtype, mode, LINES, False)          # NoSource for a dtype without text
        self.itemsize, self.wide = numpy.dtype(dtype).itemsize, has_wide_totals(dtype)
        self.itemsize_of_totals = 4 if self.wide else self.itemsize

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Shape shape = shape_of_lines(operands[0], self.axis)
        self.host.prepare(context, operands)
        if shape.outer * shape.length * shape.chunk == 0:
            return 0
        if shape.chunk == 1:
            return self.ready_lines(shape.outer, shape.length, False)
        return self.ready_columns(shape.outer, shape.length, shape.chunk, False)

    cdef int ready_way(self, int way, bint of_totals) except -1 nogil:
        of_totals = of_totals and self.wide
        if self.variant[of_totals][way] == NULL:
            with gil:
                self.make(way, of_totals)
        return (<Variant>self.variant[of_totals][way]).ready()

    cdef int make(self, int way, bint of_totals) except -1:
        """A way is compiled when it is first needed."""
        made = Variant(*scan_source(self.dtype, self.mode, way, of_totals))
        if self.variant[of_totals][way] == NULL:        # else another thread has made it meanwhile
            self.made.append(made)
            self.variant[of_totals][way] = <PyObject*>made
        return 0

    cdef int ready_lines(self, npy_intp lines, npy_intp length, bint of_totals) except -1 nogil:
        cdef int way = self.way_of_lines(lines, length, of_totals)
        self.ready_way(way, of_totals)
        if way == TILES and self.tiles_of(length, of_totals) > MOST_TILES:
            self.ready_lines(lines, self.tiles_of(length, of_totals), True)
        return 0

    cdef int ready_columns(self, npy_intp outer, npy_intp length, npy_intp chunk, bint of_totals) except -1 nogil:
        cdef npy_intp segments = segments_of(outer, length, chunk)
        self.ready_way(SEGMENTS, of_totals)
        if segments > 1:
            self.ready_columns(outer, segments, chunk, True)
        return 0

    cdef npy_intp tiles_of(self, npy_intp length, bint of_totals) noexcept nogil:
        cdef npy_intp tile = TILE_BYTES // (self.itemsize_of_totals if of_totals else self.itemsize)
        return (length + tile - 1) // tile

    cdef int way_of_lines(self, npy_intp lines, npy_intp length, bint of_totals) noexcept nogil:
        """How lines without gaps are done."""
        if self.tiles_of(length, of_totals) > 1 and lines < 2 * driver.multiprocessors:
            return TILES
        return TINY_LINES if length <= LINE_OF_THREAD else SHORT_LINES if length <= LINE_OF_WARP else LINES

    cdef int start_way(self, int way, bint of_totals, int kernel, npy_intp blocks, Arguments* arguments) noexcept nogil:
        return (<Variant>self.variant[of_totals and self.wide][way]).start(kernel, blocks, BLOCK_THREADS, arguments)

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* source = operands[0]
        cdef char* result = operands[1].data
        cdef const char* values = source.data
        cdef Shape shape = shape_of_lines(source, self.axis)
        if shape.outer * shape.length * shape.chunk == 0:
            return 0
        if not cell_is_contiguous(source):
            if copy_without_gaps(result, source):
                return -1
            values = result
        if shape.chunk == 1:
            return self.along_lines(values, result, shape.outer, shape.length, False)
        return self.along_columns(values, result, shape.outer, shape.length, shape.chunk, False)

    cdef int along_lines(self, const char* x, const char* out, npy_intp lines, npy_intp length,
                         bint of_totals) noexcept nogil:
        """Lines without gaps; of elements, or of totals."""
        cdef int way = self.way_of_lines(lines, length, of_totals)
        cdef npy_intp blocks = lines
        cdef Arguments arguments
        cdef npy_intp words[4]
        if way == TILES:
            return self.along_tiles(x, out, lines, length, of_totals)
        words[:4] = [<npy_intp>x, <npy_intp>out, lines, length]
        pack(&arguments, words, 4)
        if way == TINY_LINES:
            blocks = divided_up(lines, min(<npy_intp>BLOCK_THREADS, STAGED_ELEMENTS // (length | 1)))
        elif way == SHORT_LINES:
            blocks = divided_up(lines, WARPS_OF_BLOCK)
        return self.start_way(way, of_totals, 0, blocks, &arguments)

    cdef int along_tiles(self, const char* x, const char* out, npy_intp lines, npy_intp length,
                         bint of_totals) noexcept nogil:
        """A few long lines: totals of tiles, and the tiles again."""
        cdef npy_intp tiles = self.tiles_of(length, of_totals)
        cdef Arguments arguments
        cdef npy_intp words[5]
        cdef int error
        cdef Buffer* totals = device_memory.acquire(lines * tiles * self.itemsize_of_totals)
        if totals == NULL:
            return set_failure(2, b"totals of a cumulative sum")
        words[:4] = [<npy_intp>x, <npy_intp>totals.data, length, tiles]
        pack(&arguments, words, 4)
        error = self.start_way(TILES, of_totals, TOTALS, lines * tiles, &arguments)
        if not error and tiles > MOST_TILES:
            error = self.along_lines(totals.data, totals.data, lines, tiles, True)
        if not error:
            words[:5] = [<npy_intp>x, <npy_intp>totals.data, <npy_intp>out, length, tiles]
            pack(&arguments, words, 5)
            error = self.start_way(TILES, of_totals, REST, lines * tiles, &arguments)
        buffer_release(totals)                      # work is done in order
        return error

    cdef int along_columns(self, const char* x, const char* out, npy_intp outer, npy_intp length, npy_intp chunk,
                           bint of_totals) noexcept nogil:
        """Lines side by side, with a thread for each segment of a line; as many as fill the device."""
        cdef npy_intp segments = segments_of(outer, length, chunk), items = outer * segments * chunk
        cdef Arguments arguments
        cdef npy_intp words[7]
        cdef Buffer* totals = NULL
        cdef int error = 0
        if segments > 1:
            totals = device_memory.acquire(items * self.itemsize_of_totals)
            if totals == NULL:
                return set_failure(2, b"totals of a cumulative sum")
            words[:6] = [items, <npy_intp>x, <npy_intp>totals.data, chunk, length, segments]
            pack(&arguments, words, 6)
            error = self.start_way(SEGMENTS, of_totals, TOTALS, blocks_for(items), &arguments)
            if not error:
                error = self.along_columns(totals.data, totals.data, outer, segments, chunk, True)
        if not error:
            words[:7] = [items, <npy_intp>x, <npy_intp>totals.data if segments > 1 else 0, <npy_intp>out, chunk,
                         length, segments]
            pack(&arguments, words, 7)
            error = self.start_way(SEGMENTS, of_totals, REST, blocks_for(items), &arguments)
        if totals != NULL:
            buffer_release(totals)
        return error


cdef inline npy_intp divided_up(npy_intp count, npy_intp of_each) noexcept nogil:
    return (count + of_each - 1) // of_each


cdef inline npy_intp segments_of(npy_intp outer, npy_intp length, npy_intp chunk) noexcept nogil:
    """Into how many segments lines side by side are cut."""
    cdef npy_intp wanted = driver.multiprocessors * THREADS_OF_PROCESSOR // (outer * chunk)
    return max(min(wanted, length // LEAST_SEGMENT), <npy_intp>1)


cdef inline Shape shape_of_lines(const Cell* cell, int axis) noexcept nogil:
    """An array as outer x length x chunk."""
    cdef Shape shape
    cdef int dimension
    shape.outer = shape.length = shape.chunk = 1
    for dimension in range(cell.ndim):
        if axis < 0 or dimension == axis:
            shape.length *= cell.shape[dimension]
        elif dimension < axis:
            shape.outer *= cell.shape[dimension]
        else:
            shape.chunk *= cell.shape[dimension]
    return shape


cdef int copy_without_gaps(char* target, Cell* source) noexcept nogil:
    """Copy elements to memory in C order."""
    cdef Cell packed = source[0]
    cdef npy_intp strides[MAX_RANK]
    cdef npy_intp stride = source.itemsize
    cdef int axis
    for axis in range(source.ndim - 1, -1, -1):
        strides[axis] = stride
        stride *= source.shape[axis]
    packed.data, packed.strides = target, strides
    return copy_elements(&packed, source)
