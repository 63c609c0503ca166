"""Reductions on the device: the launches of what ``reduction_source.py`` writes.

It takes the arguments of the processor's ``ReductionKernel``. Sums of float32 are accumulated in float32, in pairs;
other dtypes as the processor does.
"""
from numpy cimport npy_intp

import numpy

from phintys.gpu.kernels.reduction_source import NAMES, THREADS, reduction_source
from phintys.gpu.runtime.driver cimport Arguments, put, put_address, put_integer, put_value, set_failure
from phintys.gpu.runtime.kernel cimport DeviceKernel, blocks_for
from phintys.ops.native.joined_dimensions cimport join_axis
from phintys.vm.abi cimport Cell, Context, allocate, cell_size, device_memory
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.pool cimport Buffer, buffer_release

cdef enum:
    ROWS, COLUMNS, FINISH
    MOST_OPERANDS = 32
    MOST_WORDS = 440
    ENOUGH_THREADS = 1 << 16        # of a device of this decade
    LEAST_PART = 1024               # elements that are worth a partial result
    MOST_SPLITS = 1024


cdef struct Walk:                       # through results, and through the elements of each
    npy_intp results, count, splits     # count: elements of a result; splits: parts of these
    int which                           # ROWS or COLUMNS
    int joined[2]                       # how many dimensions are kept, and reduced, after joining
    npy_intp lengths[2][MAX_RANK]       # of these, the innermost first
    npy_intp strides[2][MOST_WORDS]     # of each operand on the device, dimension by dimension


cdef class GpuReductionKernel(DeviceKernel):
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
    cdef int rank, inputs, pointers, itemsize
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
        self.inputs, self.rank, self.keepdims = len(patterns), len(patterns[0]), keepdims
        self.pointers, self.itemsize = list(values).count(False), accumulator.itemsize
        self.has_identity, self.loop_name = known is not None, loop.__name__
        self.source = reduction_source(code, self.rank, loop, accumulator, numpy.dtype(output_dtype), values,
                                       None if known is None else numpy.array(known).astype(accumulator), is_mean)
        self.names, self.reduced = NAMES, 0
        for axis in axes:
            self.reduced |= <unsigned long long>1 << axis
        for index, pattern in enumerate(patterns):
            self.by_value[index], self.broadcastable[index] = values[index], 0
            for axis in range(self.rank):
                self.broadcastable[index] |= <unsigned long long>bool(pattern[axis]) << axis

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef npy_intp shape[MAX_RANK]
        cdef npy_intp kept[MAX_RANK]
        cdef int axis, count = 0
        cdef bint empty = False, none = False
        self.ready()
        for axis in range(self.rank):
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

    cdef npy_intp length(self, Cell** operands, int axis) except -1 nogil:
        """The common length of the inputs along an axis. Raises ValueError."""
        cdef int index, first = -1
        for index in range(self.inputs):
            if self.broadcastable[index] >> axis & 1:
                if operands[index].shape[axis] != 1:
                    with gil:
                        raise ValueError(f"Input dimension mis-match. (input[{index}].shape[{axis}] = "
                                         f"{operands[index].shape[axis]}, but it is declared broadcastable, of "
                                         "length 1)")
            elif first < 0:
                first = index
            elif operands[index].shape[axis] != operands[first].shape[axis]:
                with gil:
                    raise ValueError(f"Input dimension mis-match. (input[{first}].shape[{axis}] = "
                                     f"{operands[first].shape[axis]}, input[{index}].shape[{axis}] = "
                                     f"{operands[index].shape[axis]})")
        return 1 if first < 0 else operands[first].shape[axis]

    cdef inline int lay_out(self, Cell** operands, bint reduced, npy_intp* lengths, npy_intp* strides) noexcept nogil:
        """The kept or the reduced dimensions, joined where all operands allow. Returns how many there are."""
        cdef Cell* cells[MOST_OPERANDS]
        cdef npy_intp length
        cdef int axis, index, pointers = 0, joined = 0
        for index in range(self.inputs):
            if not self.by_value[index]:
                cells[pointers] = operands[index]
                pointers += 1
        for axis in range(self.rank - 1, -1, -1):
            length = self.any_length(operands, axis)
            if (self.reduced >> axis & 1) == reduced and length != 1:
                joined = join_axis(cells, pointers, axis, length, True, lengths, strides, joined)
        return joined

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Walk walk
        cdef Cell partial
        cdef Buffer* buffer = NULL
        cdef int failed
        self.plan(&walk, operands)
        if walk.results == 0:
            return 0
        if walk.splits > 1:
            buffer = device_memory.acquire(walk.splits * walk.results * self.itemsize)
            if buffer == NULL:
                return set_failure(2, b"partial results of a reduction")
        partial.data = buffer.data if buffer != NULL else NULL
        failed = self.fold(&walk, operands, &partial)
        if not failed and walk.splits > 1:
            failed = self.finish(&walk, &partial, operands[self.inputs])
        if buffer != NULL:
            buffer_release(buffer)
        return failed

    cdef inline void plan(self, Walk* walk, Cell** operands) noexcept nogil:
        """How the results and their elements are walked through, and by which kernel; all depends on shapes alone."""
        cdef int axis, part
        walk.results, walk.count = cell_size(operands[self.inputs]), 1
        if walk.results == 0:
            return
        for axis in range(self.rank):
            if self.reduced >> axis & 1:
                walk.count *= self.any_length(operands, axis)
        for part in range(2):
            walk.joined[part] = self.lay_out(operands, part, walk.lengths[part], walk.strides[part])
        walk.which = self.choose(walk)
        walk.splits = splits_of(walk.which, walk.results, walk.count)

    cdef int fold(self, const Walk* walk, Cell** operands, const Cell* partial) noexcept nogil:
        """Start the kernel that folds: into the results, or where their elements are split, into partial results."""
        cdef Arguments arguments
        cdef int index
        arguments.size, arguments.full = 0, False
        put_integer(&arguments, walk.results)
        put_integer(&arguments, walk.count)
        put_integer(&arguments, walk.splits)
        put_integer(&arguments, walk.joined[0])
        put_integer(&arguments, walk.joined[1])
        put_divisor(&arguments, walk.count)
        self.put_layout(&arguments, walk)
        for index in range(self.inputs):
            if self.by_value[index]:
                put_value(&arguments, operands[index])
            else:
                put_address(&arguments, operands[index])
        put_address(&arguments, partial)
        put_address(&arguments, operands[self.inputs])
        return self.start_grid(walk.which, walk.results if walk.which == ROWS else blocks_for(walk.results),
                               walk.splits, THREADS_OF_BLOCK, 0, &arguments)

    cdef inline void put_layout(self, Arguments* arguments, const Walk* walk) noexcept nogil:
        """``Walk`` of the source: its arrays have at least one dimension and one operand."""
        cdef int part, axis, pointer, rank = max(1, self.rank)
        for part in range(2):
            for axis in range(rank):
                put_integer(arguments, walk.lengths[part][axis] if axis < walk.joined[part] else 1)
        for part in range(2):
            for pointer in range(max(1, self.pointers)):
                for axis in range(rank):
                    put_integer(arguments, walk.strides[part][axis * self.pointers + pointer]
                                if axis < walk.joined[part] and self.pointers else 0)

    cdef inline npy_intp any_length(self, Cell** operands, int axis) noexcept nogil:
        cdef int index
        for index in range(self.inputs):
            if not self.broadcastable[index] >> axis & 1:
                return operands[index].shape[axis]
        return 1

    cdef inline int choose(self, const Walk* walk) noexcept nogil:
        """Blocks for rows, unless the kept dimension is the inner one, or the rows are short."""
        if walk.joined[0] == 0 or self.pointers == 0:
            return ROWS
        if walk.count < 32 or walk.joined[1] == 0:
            return COLUMNS
        return COLUMNS if magnitude(walk.strides[0][0]) < magnitude(walk.strides[1][0]) else ROWS

    cdef int finish(self, const Walk* walk, const Cell* partial, const Cell* out) noexcept nogil:
        """Start the kernel that combines partial results."""
        cdef Arguments arguments
        arguments.size, arguments.full = 0, False
        put_integer(&arguments, walk.results)
        put_integer(&arguments, walk.splits)
        put_divisor(&arguments, walk.count)
        put_address(&arguments, partial)
        put_address(&arguments, out)
        return self.start(FINISH, blocks_for(walk.results), THREADS_OF_BLOCK, &arguments)


cdef int THREADS_OF_BLOCK = THREADS


cdef inline void put_divisor(Arguments* arguments, npy_intp count) noexcept nogil:
    cdef double divisor = <double>count
    put(arguments, <const char*>&divisor, 8)


cdef inline npy_intp magnitude(npy_intp stride) noexcept nogil:
    return stride if stride >= 0 else -stride


cdef inline npy_intp splits_of(int which, npy_intp results, npy_intp count) noexcept nogil:
    """Into how many parts the elements of a result are split: enough that all of the device works."""
    cdef npy_intp threads = results * THREADS_OF_BLOCK if which == ROWS else results
    cdef npy_intp splits = ENOUGH_THREADS // threads if threads else 1
    cdef npy_intp worth = count // LEAST_PART if which == ROWS else count // 64
    splits = min(splits, worth, MOST_SPLITS)
    return splits if splits > 1 else 1


def fits_launch(int inputs, int rank, values):
    """Whether a kernel with these operands can be launched: the device takes 4096 bytes of arguments."""
    cdef int pointers = max(1, list(values).count(False))
    return inputs <= MOST_OPERANDS and 2 * max(1, rank) * (pointers + 1) + 10 + inputs <= MOST_WORDS
