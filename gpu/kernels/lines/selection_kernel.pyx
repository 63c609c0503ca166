"""Selections on the device whose length follows from values: the places of true elements, slices repeated by counts.

How many elements of a mask are true is known only when the device has counted them; so ``prepare`` waits for it, once,
and lets the device find the places then. Counts of repetitions are on the host, and their cumulative sums are copied to
the device.
"""
cimport numpy as cnp
from cpython.ref cimport PyObject
from libc.string cimport memset
from numpy cimport npy_intp

from phintys.gpu.kernels.lines.scan_kernel cimport GpuScanKernel, copy_without_gaps, pack
from phintys.gpu.kernels.lines.selection_source import TILE, nonzero_source, repeat_source
from phintys.gpu.kernels.scalar_source import NoSource
from phintys.gpu.runtime.driver cimport Arguments, copy_to_host, pass_notes, put_integer, set_failure, upload
from phintys.gpu.runtime.kernel cimport THREADS, DeviceKernel, blocks_for
from phintys.ops.native.integers cimport integer_at
from phintys.vm.abi cimport (
    BOUND, CELL_DEVICE, UNBOUND, Cell, Context, Kernel, allocate, cell_is_contiguous, cell_size, device_memory,
    drop, scratch)
from phintys.vm.pool cimport Buffer, buffer_release

cdef npy_intp TILE_OF_MASK = TILE


cdef enum:
    COUNT_TRUE, SELECT              # kernels
    EACH = 16                       # elements of a mask that a thread looks at
    MOST_MASKS = 4
    MOST_OPERANDS = 32


cdef int check_mask(const Cell* mask, const Cell* array, int first) except -1 nogil:
    cdef int axis
    for axis in range(mask.ndim):
        if mask.shape[axis] != array.shape[first + axis]:
            with gil:
                raise IndexError(f"boolean index did not match indexed array along axis {first + axis}; size of "
                                 f"axis is {array.shape[first + axis]} but size of corresponding boolean axis is "
                                 f"{mask.shape[axis]}")
    return 0


cdef class GpuNonzeroKernel(DeviceKernel):
    """``(mask, out)``: a row of places for each dimension, and a column for each true element.

    Parameters
    ----------
    rank : int
        Of the mask.
    taken : str, optional
        The dtype of elements: ``(x, mask, out)``, the elements of x where a mask of its shape is true.
    """
    cdef GpuScanKernel scan
    cdef int rank
    cdef bint takes

    def __init__(self, int rank, taken=None):
        self.rank, self.scan, self.takes = rank, GpuScanKernel("int64", 0, "add"), taken is not None
        self.examined, self.binding = (1,) if self.takes else (0,), UNBOUND
        self.source, self.names = nonzero_source(rank, taken), ("count_true", "take_true" if taken else "find_true")

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Buffer* packed = NULL
        if not self.takes:
            return self.find_all(context, operands[0], operands[1], NULL)
        check_mask(operands[1], operands[0], 0)
        if cell_is_contiguous(operands[0]) or cell_size(operands[0]) == 0:
            return self.find_all(context, operands[1], operands[2], operands[0].data)
        packed = device_memory.acquire(cell_size(operands[0]) * operands[0].itemsize)
        if packed == NULL:
            return set_failure(2, b"elements where a mask is true")
        try:
            if copy_without_gaps(packed.data, operands[0]):
                return -1
            return self.find_all(context, operands[1], operands[2], packed.data)
        finally:
            buffer_release(packed)                  # work is done in order

    cdef int find_all(self, Context* context, Cell* mask, Cell* result, const char* values) except -1 nogil:
        """Places, or elements."""
        cdef npy_intp size = cell_size(mask), tiles = (size + TILE_OF_MASK - 1) // TILE_OF_MASK
        cdef bint has_gaps = not cell_is_contiguous(mask)
        cdef Buffer* counts
        cdef Buffer* packed
        self.ready()
        if tiles > 1:
            self.scan.ready_lines(1, tiles, False)
        counts = device_memory.acquire(tiles * 8 + 1)
        packed = device_memory.acquire(size + 1) if has_gaps else NULL
        try:
            if counts == NULL or (has_gaps and packed == NULL):
                return set_failure(2, b"counts of a mask")
            if has_gaps and size and copy_without_gaps(packed.data, mask):
                return -1
            return self.find(context, mask, packed.data if has_gaps else mask.data, tiles, counts.data, result, values)
        finally:                                    # work is done in order
            if counts != NULL:
                buffer_release(counts)
            if packed != NULL:
                buffer_release(packed)

    cdef int find(self, Context* context, Cell* mask, const char* elements, npy_intp tiles, char* counts,
                  Cell* result, const char* values) except -1 nogil:
        """Count, wait for the number, and let the device find the places, or take the elements."""
        cdef npy_intp shape[2]
        cdef npy_intp words[5]
        cdef Arguments arguments
        cdef int axis, error
        shape[0], shape[1] = self.rank, 0
        words[:3] = [<npy_intp>elements, cell_size(mask), <npy_intp>counts]
        if tiles:
            pack(&arguments, words, 3)
            if self.start(COUNT_TRUE, tiles, TILE_OF_MASK // EACH, &arguments):
                return -1
        if tiles > 1 and self.scan.along_lines(counts, counts, 1, tiles, False):
            return -1
        error = copy_to_host(<char*>&shape[1], counts + 8 * (tiles - 1), 8) if tiles else 0
        if error:
            return set_failure(error, b"counting true elements")
        allocate(context, result, &shape[1 if self.takes else 0])
        if shape[1] == 0:
            return 0
        words[3], words[4] = <npy_intp>result.data, <npy_intp>values if self.takes else shape[1]
        pack(&arguments, words, 5)
        for axis in range(0 if self.takes else self.rank):
            put_integer(&arguments, mask.shape[axis])
        return self.start(SELECT, tiles, TILE_OF_MASK // EACH, &arguments)

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        return 0                                    # `prepare` has begun it


cdef class GpuMaskedKernel(DeviceKernel):
    """An advanced index with masks: finds the places of their true elements, for a kernel that has positions.

    Parameters
    ----------
    inner : Kernel
    examined : tuple of int
        Of the processor's kernel.
    sources : sequence of (int, int)
    masks : dict
        As of ``without_masks``.
    """
    cdef DeviceKernel inner
    cdef list finders               # the kernel for each mask
    cdef PyObject* finder[MOST_MASKS]
    cdef int mask[MOST_MASKS]       # its operand,
    cdef int axis[MOST_MASKS]       # and the axis where it begins
    cdef int n_masks, n_operands
    cdef int source[MOST_OPERANDS]  # of the inner kernel's operands: the operand, or the mask,
    cdef int row[MOST_OPERANDS]     # and the row of its places, or -1

    def __init__(self, inner, examined, sources, masks):
        cdef int index
        if len(sources) > MOST_OPERANDS or len(masks) > MOST_MASKS:
            raise NoSource("too many operands")
        self.inner, self.finders = inner, [GpuNonzeroKernel(rank) for rank, _ in masks.values()]
        self.examined, self.binding, self.private_bytes = examined, UNBOUND, self.inner.private_bytes
        self.tells = self.inner.tells
        self.n_masks, self.n_operands = len(masks), len(sources)
        for index, (number, (_, axis)) in enumerate(masks.items()):
            self.mask[index], self.axis[index] = number, axis
            self.finder[index] = <PyObject*>self.finders[index]
        for index, (number, row) in enumerate(sources):
            self.source[index] = list(masks).index(number) if row >= 0 else number
            self.row[index] = row

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell found[MOST_MASKS]
        cdef npy_intp dimensions[4 * MOST_MASKS]
        cdef Cell* pair[2]
        cdef int index
        for index in range(self.n_masks):
            check_mask(operands[self.mask[index]], operands[0], self.axis[index])
            memset(&found[index], 0, sizeof(Cell))
            found[index].ndim, found[index].typenum, found[index].itemsize = 2, cnp.NPY_INT64, 8
            found[index].shape, found[index].strides = dimensions + 4 * index, dimensions + 4 * index + 2
            found[index].flags = CELL_DEVICE
        try:
            for index in range(self.n_masks):
                pair[0], pair[1] = operands[self.mask[index]], &found[index]
                (<GpuNonzeroKernel>self.finder[index]).prepare(context, pair)
            return self.pass_on(context, operands, found)
        finally:
            for index in range(self.n_masks):
                drop(context, &found[index])

    cdef int pass_on(self, Context* context, Cell** operands, Cell* found) except -1 nogil:
        """Prepare and run the inner kernel."""
        cdef Cell* seen[MOST_OPERANDS]
        cdef Cell rows[MOST_OPERANDS]
        cdef Cell* places
        cdef int index, failed
        for index in range(self.n_operands):
            if self.row[index] < 0:
                seen[index] = operands[self.source[index]]
                continue
            places = &found[self.source[index]]
            rows[index] = places[0]
            rows[index].ndim, rows[index].shape, rows[index].strides = 1, places.shape + 1, places.strides + 1
            rows[index].data = places.data + self.row[index] * places.strides[0]
            seen[index] = &rows[index]
        self.inner.prepare(context, seen)
        failed = self.inner.run(context, seen)
        pass_notes(<PyObject*>self.inner, <PyObject*>self)
        return failed

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        return 0                                    # `prepare` has begun it

    cdef int told(self, const long long* words) except -1:
        return self.inner.told(words)


cdef class GpuRepeatKernel(DeviceKernel):
    """``(x, counts, out)``: slices of x as often as their counts say; or ``(x, counts, length, out)``: their sums.

    Parameters
    ----------
    host : Kernel
        The processor's.
    dtype : str
    axis : int
        Not negative, or -1: of the flattened array.
    sums : bool
    """
    cdef Kernel host
    cdef int axis
    cdef bint sums

    def __init__(self, host, dtype, int axis, bint sums):
        self.host, self.axis, self.sums = host, axis, sums
        self.examined, self.binding = self.host.examined, BOUND
        self.source, self.names = repeat_source(dtype), ("repeat", "add_repeated")

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        self.ready()
        self.host.prepare(context, operands)
        scratch(context, self.slices_of(operands) * sizeof(npy_intp))
        return 0

    cdef npy_intp slices_of(self, Cell** operands) noexcept nogil:
        cdef Cell* shorter = operands[3] if self.sums else operands[0]
        return cell_size(shorter) if self.axis < 0 else shorter.shape[self.axis]

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* source = operands[0]
        cdef Cell* result = operands[3 if self.sums else 2]
        cdef npy_intp length = self.slices_of(operands), chunk = 1, size = cell_size(result)
        cdef const char* x = source.data
        cdef Buffer* packed = NULL
        cdef Buffer* ends
        cdef npy_intp words[7]
        cdef Arguments arguments
        cdef int axis, error = 0
        if size == 0:
            return 0
        for axis in range(self.axis + 1, source.ndim if self.axis >= 0 else 0):
            chunk *= source.shape[axis]
        ends = ends_of(operands[1], length, <npy_intp*>context.scratch)
        if ends == NULL:
            return set_failure(2, b"counts of repetitions")
        if not cell_is_contiguous(source):
            packed = device_memory.acquire(cell_size(source) * source.itemsize + 1)
            error = set_failure(2, b"repetitions") if packed == NULL else copy_without_gaps(packed.data, source)
            x = packed.data if packed != NULL else NULL
        if not error:
            axis = 0 if self.axis < 0 else self.axis
            words[:7] = [size, <npy_intp>x, <npy_intp>ends.data, <npy_intp>result.data, length, chunk,
                         source.shape[axis] if self.sums else result.shape[axis]]
            pack(&arguments, words, 7)
            error = self.start(self.sums, blocks_for(size), THREADS, &arguments)
        buffer_release(ends)                        # work is done in order
        if packed != NULL:
            buffer_release(packed)
        return error


cdef Buffer* ends_of(const Cell* counts, npy_intp length, npy_intp* sums) noexcept nogil:
    """The cumulative sums of counts, on the device; NULL: there is no memory, or they cannot be copied."""
    cdef Buffer* ends = device_memory.acquire(length * sizeof(npy_intp))
    cdef npy_intp place, total = 0
    if ends == NULL:
        return NULL
    for place in range(length):
        total += integer_at(counts, place if counts.shape[0] > 1 else 0)
        sums[place] = total
    if upload(ends, <const char*>sums, length * sizeof(npy_intp)):
        buffer_release(ends)
        return NULL
    return ends
