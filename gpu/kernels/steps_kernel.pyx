"""All steps of a loop by one launch: what ``steps_source.py`` writes, for ``vm/loops/device_runs.pxi``.

``run`` finds a ``ScalarSteps`` in ``context.private_memory``, as the bodies in registers do. Its operands are the
arguments of the loop's body, whose strides say where elements are; lanes and the fixed addresses say where rows and
carried values are.
"""
from libc.stdlib cimport calloc, free
from numpy cimport npy_intp

from phintys.gpu.kernels.steps_source import NAMES
from phintys.gpu.runtime.driver cimport (
    Arguments, fill_bytes, put, put_address, put_integer, put_value, set_failure)
from phintys.gpu.runtime.kernel cimport DeviceKernel
from phintys.vm.abi cimport Cell, Context, device_memory
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.pool cimport Buffer, buffer_release
from phintys.vm.scalar_steps cimport Lane, ScalarSteps


cdef struct Source:                 # of loads or weights
    int argument
    int axes[MAX_RANK]              # of the argument, one for each stride; negative: it does not move


cdef class GpuStepsKernel(DeviceKernel):
    """The steps of a loop.

    Parameters
    ----------
    source : str
    threads, blocks : int
        Threads of a block, and blocks of a row.
    words : int
        That the blocks of a row need to exchange numbers.
    rank : int
    of_units : bool
        Whether a block has a row of the batch; else each thread has an element.
    n_moving, n_taps, n_carried, model : int
        How many arguments move, how many are taps, how many values are carried, and which argument has the shape of a
        row.
    loads, matrices : sequence of (int, tuple of (int or None))
        Arguments, and which of their axes the strides are those of.
    n_outputs : int
    values : sequence of int
        The arguments that are passed by value.
    """
    cdef Source* loads
    cdef Source* matrices
    cdef int* values
    cdef int n_loads, n_matrices, n_values, n_outputs, threads, blocks, words, rank, n_moving, n_taps, n_carried, model
    cdef bint of_units

    def __init__(self, source, int threads, int blocks, int words, int rank, bint of_units, int n_moving, int n_taps,
                 int n_carried, int model, loads, matrices, int n_outputs, values):
        self.source, self.names = source, NAMES
        self.threads, self.blocks, self.words, self.rank = threads, blocks, words, rank
        self.of_units, self.n_moving, self.n_taps = of_units, n_moving, n_taps
        self.n_carried, self.model, self.n_outputs = n_carried, model, n_outputs
        self.n_loads, self.n_matrices, self.n_values = len(loads), len(matrices), len(values)
        self.loads, self.matrices = sources_of(loads), sources_of(matrices)
        self.values = <int*>calloc(self.n_values + 1, sizeof(int))
        if self.values == NULL:
            raise MemoryError()
        for index, argument in enumerate(values):
            self.values[index] = argument

    def __dealloc__(self):
        free(self.loads)
        free(self.matrices)
        free(self.values)

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        return self.ready()

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef ScalarSteps* steps = <ScalarSteps*>context.private_memory
        cdef Lane* outputs = steps.lanes + self.n_moving + self.n_taps
        cdef Cell* model = operands[self.model]
        cdef Arguments arguments
        cdef Source* source
        cdef Buffer* words = NULL
        cdef int index, axis, result = 0
        cdef npy_intp count = 1, rows = model.shape[0] if model.ndim == 2 else 1
        for axis in range(model.ndim):
            count *= model.shape[axis]
        if count == 0:
            return 0
        arguments.size, arguments.full = 0, False
        put_integer(&arguments, steps.steps)
        if not self.of_units:
            put_integer(&arguments, count)
            for axis in range(max(self.rank, 1)):
                put_integer(&arguments, model.shape[axis] if self.rank else 1)
        for index in range(self.n_loads):
            source = &self.loads[index]
            put(&arguments, <const char*>(&steps.lanes[source.argument].data if source.argument < self.n_moving
                                          else &operands[source.argument].data), 8)
            put_integer(&arguments, steps.lanes[source.argument].stride if source.argument < self.n_moving else 0)
            for axis in range(max(self.rank, 1)):
                put_integer(&arguments, stride_of(operands[source.argument], source.axes[axis]) if self.rank else 0)
        for index in range(self.n_outputs):
            put_rows(&arguments, &outputs[index], steps.steps)
        for index in range(self.n_carried):
            put(&arguments, <const char*>&steps.fixed[index], 8)
        for index in range(self.n_matrices):
            source = &self.matrices[index]
            put_address(&arguments, operands[source.argument])
            for axis in range(2):
                put_integer(&arguments, stride_of(operands[source.argument], source.axes[axis]))
        for index in range(self.n_values):
            put_value(&arguments, operands[self.values[index]])
        if not self.of_units:
            return self.start(0, (count + self.threads - 1) // self.threads, self.threads, &arguments)
        if self.words:
            words = device_memory.acquire(8 * self.words * rows)
            if words == NULL:
                return set_failure(2, b"exchanging numbers between blocks")
            put(&arguments, <const char*>&words.data, 8)
            result = fill_bytes(words.data, 0, 8 * self.words * rows)
            if result:
                set_failure(result, b"exchanging numbers between blocks")
        if not result:
            result = self.start(0, self.blocks * rows, self.threads, &arguments)
        if words != NULL:
            buffer_release(words)
        return result


cdef inline npy_intp stride_of(const Cell* cell, int axis) noexcept nogil:
    """The stride of an axis along which an element's position counts."""
    return 0 if axis < 0 or cell.shape[axis] == 1 else cell.strides[axis]


cdef inline void put_rows(Arguments* arguments, const Lane* lane, npy_intp steps) noexcept nogil:
    """Where rows are written, and from which step on: of a ring only the last rows remain."""
    cdef bint is_ring = lane.end != NULL and lane.stride
    put(arguments, <const char*>&lane.data, 8)
    put_integer(arguments, lane.stride)
    put(arguments, <const char*>&lane.begin, 8)
    put_integer(arguments, <npy_intp>lane.end if is_ring else 0)
    if lane.stride == 0:                            # there is no memory for a row
        put_integer(arguments, steps)
    else:
        put_integer(arguments, max(steps - (lane.end - lane.begin) // lane.stride, <npy_intp>0) if is_ring else 0)


cdef Source* sources_of(described) except NULL:
    cdef Source* sources = <Source*>calloc(len(described) + 1, sizeof(Source))
    if sources == NULL:
        raise MemoryError()
    for index, (argument, axes) in enumerate(described):
        sources[index].argument = argument
        for number, axis in enumerate(axes):
            sources[index].axes[number] = -1 if axis is None else axis
    return sources
