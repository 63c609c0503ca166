"""Cumulative sums and products on the device: ``(x, out)``. See ``scan_source.py`` for the ways to do it.

An array is treated as ``outer`` x ``length`` x ``chunk``, where ``length`` is that of the axis, and is copied first if
it has gaps. The choice of kernels depends on the shape and the device only, so a sum is the same in each call.
"""
from numpy cimport npy_intp

from phintys.gpu.kernels.lines.scan_source import FEW_TILES, ROUNDS, STAGED, WARPS, scan_source
from phintys.gpu.runtime cimport driver
from phintys.gpu.runtime.copies cimport copy_elements
from phintys.gpu.runtime.driver cimport Arguments, set_failure
from phintys.gpu.runtime.kernel cimport THREADS, DeviceKernel, blocks_for
from phintys.ops.cumulative.cumulative_kernel import CumulativeKernel
from phintys.vm.abi cimport BOUND, Cell, Context, Kernel, cell_is_contiguous, cell_size, device_memory
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.pool cimport Buffer, buffer_release

import numpy

cdef enum Which:
    TINY_LINES, SHORT_LINES, LINES, TILE_TOTALS, TILES, SEGMENT_TOTALS, SEGMENTS, KINDS

cdef enum:
    LINE_OF_THREAD = 32             # the longest line without gaps that a thread has,
    LINE_OF_WARP = 1024             # and a warp
    LEAST_SEGMENT = 32              # elements of a segment, at least
    THREADS_OF_PROCESSOR = 2048

cdef int WARPS_OF_BLOCK = WARPS
cdef int BLOCK_THREADS = 32 * WARPS
cdef npy_intp STAGED_ELEMENTS = STAGED, MOST_TILES = FEW_TILES
cdef int TILE_BYTES = BLOCK_THREADS * ROUNDS * 16


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
        self.source, self.names = scan_source(dtype, mode)
        self.itemsize = numpy.dtype(dtype).itemsize
        self.wide = len(self.names) > KINDS
        self.itemsize_of_totals = 4 if self.wide else self.itemsize

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        self.ready()
        self.host.prepare(context, operands)
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* source = operands[0]
        cdef Cell* result = operands[1]
        cdef npy_intp outer = 1, length = 1, chunk = 1
        cdef const char* values = source.data
        cdef int dimension
        for dimension in range(source.ndim):
            if self.axis < 0 or dimension == self.axis:
                length *= source.shape[dimension]
            elif dimension < self.axis:
                outer *= source.shape[dimension]
            else:
                chunk *= source.shape[dimension]
        if outer == 0 or length == 0 or chunk == 0:
            return 0
        if not cell_is_contiguous(source):
            if copy_without_gaps(result.data, source):
                return -1
            values = result.data
        if chunk == 1:
            return self.along_lines(values, result.data, outer, length, False)
        return self.along_columns(values, result.data, outer, length, chunk, False)

    cdef int along_lines(self, const char* x, const char* out, npy_intp lines, npy_intp length,
                         bint of_totals) noexcept nogil:
        """Lines without gaps; of elements, or of totals."""
        cdef npy_intp tile = TILE_BYTES // (self.itemsize_of_totals if of_totals else self.itemsize)
        cdef npy_intp tiles = (length + tile - 1) // tile
        cdef int kind = KINDS if of_totals and self.wide else 0
        cdef Arguments arguments
        cdef npy_intp words[7]
        cdef Buffer* totals
        cdef int error
        if tiles > 1 and lines < 2 * driver.multiprocessors:
            totals = device_memory.acquire(lines * tiles * self.itemsize_of_totals)
            if totals == NULL:
                return set_failure(2, b"totals of a cumulative sum")
            words[:4] = [<npy_intp>x, <npy_intp>totals.data, length, tiles]
            pack(&arguments, words, 4)
            error = self.start(kind + TILE_TOTALS, lines * tiles, BLOCK_THREADS, &arguments)
            if not error and tiles > MOST_TILES:
                error = self.along_lines(totals.data, totals.data, lines, tiles, True)
            if not error:
                words[:5] = [<npy_intp>x, <npy_intp>totals.data, <npy_intp>out, length, tiles]
                pack(&arguments, words, 5)
                error = self.start(kind + TILES, lines * tiles, BLOCK_THREADS, &arguments)
            buffer_release(totals)                  # work is done in order
            return error
        words[:4] = [<npy_intp>x, <npy_intp>out, lines, length]
        pack(&arguments, words, 4)
        if length <= LINE_OF_THREAD:
            tile = min(<npy_intp>BLOCK_THREADS, STAGED_ELEMENTS // (length | 1))
            return self.start(kind + TINY_LINES, (lines + tile - 1) // tile, BLOCK_THREADS, &arguments)
        if length <= LINE_OF_WARP:
            return self.start(kind + SHORT_LINES, (lines + WARPS_OF_BLOCK - 1) // WARPS_OF_BLOCK, BLOCK_THREADS,
                              &arguments)
        return self.start(kind + LINES, lines, BLOCK_THREADS, &arguments)

    cdef int along_columns(self, const char* x, const char* out, npy_intp outer, npy_intp length, npy_intp chunk,
                           bint of_totals) noexcept nogil:
        """Lines side by side, with a thread for each segment of a line; as many as fill the device."""
        cdef npy_intp wanted = driver.multiprocessors * THREADS_OF_PROCESSOR // (outer * chunk)
        cdef npy_intp segments = max(min(wanted, length // LEAST_SEGMENT), <npy_intp>1)
        cdef npy_intp items = outer * segments * chunk
        cdef int kind = KINDS if of_totals and self.wide else 0, error = 0
        cdef Arguments arguments
        cdef npy_intp words[7]
        cdef Buffer* totals = NULL
        if segments > 1:
            totals = device_memory.acquire(items * self.itemsize_of_totals)
            if totals == NULL:
                return set_failure(2, b"totals of a cumulative sum")
            words[:6] = [items, <npy_intp>x, <npy_intp>totals.data, chunk, length, segments]
            pack(&arguments, words, 6)
            error = self.start(kind + SEGMENT_TOTALS, blocks_for(items), THREADS, &arguments)
            if not error:
                error = self.along_columns(totals.data, totals.data, outer, segments, chunk, True)
        if not error:
            words[:7] = [items, <npy_intp>x, <npy_intp>totals.data if segments > 1 else 0, <npy_intp>out, chunk,
                         length, segments]
            pack(&arguments, words, 7)
            error = self.start(kind + SEGMENTS, blocks_for(items), THREADS, &arguments)
        if totals != NULL:
            buffer_release(totals)
        return error


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
