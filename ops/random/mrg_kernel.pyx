"""Uniform and normal samples of MRG31k3p: ``(state, size, new state, samples)``, and the first state of each stream.

The state is a matrix of int32 with a row of six numbers for each stream. Streams are independent of each other, so
threads divide them; values do not depend on how. The loops are in ``mrg_loops.h`` and ``box_muller_loops.h``.
"""
import numpy

cimport numpy as cnp
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t
from libc.string cimport memcpy
from numpy cimport npy_intp

from phintys.ops.native.asking cimport UNASKED
from phintys.ops.native.integers cimport shape_of
from phintys.ops.native.result_shapes cimport tuple_of
from phintys.ops.native.sets cimport phintys_set, set_of_process
from phintys.ops.native.strided_copy cimport copy_strided
from phintys.ops.random.samples cimport read_size
from phintys.vm.abi cimport BOUND, Cell, Context, Kernel, allocate, cell_is_contiguous, cell_size, interrupted, parallel
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.thresholds cimport LONG_MRG, LONG_NORMAL, PIECE_MRG, PIECE_NORMAL

cnp.import_array()

cdef extern from "random/mrg_loops.h" nogil:
    enum:
        PHINTYS_MRG_LANES
        PHINTYS_MRG_FEW
        PHINTYS_MRG_M1
    void phintys_mrg_samples_float(const int32_t* state, int32_t* advanced, npy_intp start, npy_intp stop,
                                   npy_intp streams, npy_intp size, float* out)
    void phintys_mrg_samples_double(const int32_t* state, int32_t* advanced, npy_intp start, npy_intp stop,
                                    npy_intp streams, npy_intp size, double* out)
    void phintys_mrg_samples_half(const int32_t* state, int32_t* advanced, npy_intp start, npy_intp stop,
                                  npy_intp streams, npy_intp size, uint16_t* out)
    int32_t phintys_mrg_next_alone(uint32_t* x)
    float phintys_mrg_float(int32_t z)
    double phintys_mrg_double(int32_t z)
    bint phintys_mrg_vectors()
    void phintys_mrg_substreams(int32_t* state, npy_intp rows, const int64_t* first, const int64_t* second)

cdef extern from "random/box_muller_loops.h" nogil:
    void phintys_normal_pairs_float(npy_intp start, npy_intp stop, npy_intp pairs, npy_intp count, float last,
                                    float* numbers)
    void phintys_normal_pairs_double(npy_intp start, npy_intp stop, npy_intp pairs, npy_intp count, double last,
                                     double* numbers)
    void phintys_mrg_few_normals_float(const int32_t* state, int32_t* advanced, int count, float* out)
    void phintys_mrg_few_normals_double(const int32_t* state, int32_t* advanced, int count, double* out)


phintys_set = set_of_process()

cdef enum:
    PAIRS = 64                      # of a piece: whole blocks of either type

cdef struct Work:
    Context* context
    const int32_t* state
    int32_t* advanced               # the new one
    npy_intp streams
    npy_intp size                   # samples, of all streams together
    char* out
    int typenum                     # of the samples
    int32_t last                    # the integer of one more sample


cdef void piece(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    """The samples of groups of streams, if there are many in parts: each begins where the last has left the streams."""
    cdef Work* work = <Work*>argument
    cdef const int32_t* state = work.state
    cdef npy_intp part, position = 0, count
    start, stop = start * PHINTYS_MRG_LANES, min(stop * PHINTYS_MRG_LANES, work.streams)
    # Parts are whole rounds of all streams: then sample i is of stream i % streams in every part, too. The rest goes
    # into the last part, which is up to twice as long.
    part = (UNASKED // max(stop - start, <npy_intp>1) + 1) * work.streams
    while position < work.size and not (position and interrupted(work.context)):
        count = work.size - position
        if count >= 2 * part:
            count = part
        if work.typenum == cnp.NPY_FLOAT64:
            phintys_mrg_samples_double(state, work.advanced, start, stop, work.streams, count,
                                       <double*>work.out + position)
        elif work.typenum == cnp.NPY_FLOAT32:
            phintys_mrg_samples_float(state, work.advanced, start, stop, work.streams, count,
                                      <float*>work.out + position)
        else:
            phintys_mrg_samples_half(state, work.advanced, start, stop, work.streams, count,
                                     <uint16_t*>work.out + position)
        position, state = position + count, work.advanced


cdef void normal_piece(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    """Normal samples of uniform ones, in place."""
    cdef Work* work = <Work*>argument
    cdef npy_intp pairs = (work.size + 1) // 2
    start, stop = start * PAIRS, min(stop * PAIRS, pairs)
    if work.typenum == cnp.NPY_FLOAT64:
        phintys_normal_pairs_double(start, stop, pairs, work.size, phintys_mrg_double(work.last), <double*>work.out)
    else:
        phintys_normal_pairs_float(start, stop, pairs, work.size, phintys_mrg_float(work.last), <float*>work.out)


cdef class MrgUniformKernel(Kernel):
    """Samples between 0 and 1 of float16, float32 or float64; sample i is of stream i % streams.

    Parameters
    ----------
    only_used : bool
        The new state has rows for the first streams only, those from which samples were drawn.

    Raises
    ------
    ValueError
        Raised by ``prepare`` if the state has no streams or not six columns, if ``size`` has the wrong length or a
        negative number, and for more samples than one step may have, 2**31 - 1.
    """

    cdef bint only_used

    def __init__(self, bint only_used=False):
        self.only_used = only_used
        self.examined, self.binding = (1,), BOUND

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        return self.prepare_samples(context, operands, b"mrg_uniform", 1)

    cdef int prepare_samples(self, Context* context, Cell** operands, const char* name, int together) except -1 nogil:
        """``together``: how many samples are made at once; so many divide the number that is drawn."""
        cdef Cell* state = operands[0]
        cdef Cell* samples = operands[3]
        cdef npy_intp shape[MAX_RANK]
        cdef double size = 1
        cdef int axis
        read_size(operands[1], samples.ndim, shape, name)
        for axis in range(samples.ndim):
            size *= shape[axis]
        if state.shape[1] != 6 or (state.shape[0] == 0 and size > 0):
            with gil:
                raise ValueError("rstate must have 6 columns, and a row for each stream: the state of an "
                                 f"MRG_RandomStreams, not an array of shape {shape_of(state)}")
        if size > PHINTYS_MRG_M1:
            with gil:
                raise ValueError(f"rng_mrg does not support more than (2**31 -1) samples, got the size "
                                 f"{tuple_of(shape, samples.ndim)}")
        allocate(context, samples, shape)
        shape[0], shape[1] = state.shape[0], state.shape[1]
        if self.only_used and size < shape[0]:
            shape[0] = min(shape[0], (<npy_intp>size + together - 1) // together * together)
        allocate(context, operands[2], shape)
        return 1 if size >= LONG_MRG else 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Work work
        self.draw(context, operands, &work)
        return 0

    cdef void draw(self, Context* context, Cell** operands, Work* work) noexcept nogil:
        """Uniform samples, and the state after them."""
        cdef Cell* state = operands[0]
        cdef Cell* advanced = operands[2]
        cdef npy_intp rows, groups, used
        work.advanced, work.streams, work.typenum = <int32_t*>advanced.data, state.shape[0], operands[3].typenum
        work.context = context
        work.out, work.size, work.state = operands[3].data, cell_size(operands[3]), <int32_t*>state.data
        # Streams that give no sample stay where they are: their rows are copied. Those that do are written by `piece`,
        # which reads a row before it writes it, so the new state may have the memory of the old one.
        if not cell_is_contiguous(state):
            copy_strided(2, advanced.shape, advanced.data, advanced.strides, state.data, state.strides, state.itemsize)
            work.state = work.advanced
        elif advanced.data != state.data and work.size < advanced.shape[0]:
            used = 6 * work.size            # the numbers of the streams that are advanced
            memcpy(work.advanced + used, work.state + used, (cell_size(advanced) - used) * sizeof(int32_t))
        if work.size <= PHINTYS_MRG_LANES:
            groups = 1
        else:
            groups = (work.streams + PHINTYS_MRG_LANES - 1) // PHINTYS_MRG_LANES
        if groups > 1:
            rows = (work.size - 1) // work.streams + 1
            parallel(context, piece, work, groups, PIECE_MRG // (rows * PHINTYS_MRG_LANES) + 1)
        elif work.size:
            piece(work, 0, 0, 1)


cdef inline bint draw_few_normals(const Cell* state, Cell* advanced, Cell* samples) noexcept nogil:
    """Draw normal samples, if a vector has a lane for each and all are of different streams; returns whether so."""
    cdef npy_intp count = cell_size(samples)
    if not phintys_mrg_vectors() or not 2 < count <= PHINTYS_MRG_FEW or (count + 1) // 2 * 2 > state.shape[0]:
        return False
    if not cell_is_contiguous(state):
        return False
    if samples.typenum == cnp.NPY_FLOAT64:
        phintys_mrg_few_normals_double(<int32_t*>state.data, <int32_t*>advanced.data, <int>count, <double*>samples.data)
    else:
        phintys_mrg_few_normals_float(<int32_t*>state.data, <int32_t*>advanced.data, <int>count, <float*>samples.data)
    return True


cdef class MrgNormalKernel(MrgUniformKernel):
    """Normal samples of float32 or float64, by the method of Box and Muller.

    The first half of the samples are the cosines and the second the sines; sample i of either half is made of the
    uniform samples i of both halves. There is one more uniform sample if their number is odd. The new state has rows
    for the streams that were used.

    Raises
    ------
    ValueError
        Raised by ``prepare`` as by `MrgUniformKernel`.
    """

    def __init__(self):
        super().__init__(True)

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        self.prepare_samples(context, operands, b"normal", 2)
        return 1 if cell_size(operands[3]) >= LONG_NORMAL else 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Work work
        cdef npy_intp pieces
        if draw_few_normals(operands[0], operands[2], operands[3]):
            return 0
        self.draw(context, operands, &work)
        work.last = 1
        # Of an odd number of samples the last pair lacks its second uniform one: the next number of the stream whose
        # turn it is. Its state is advanced, so the next call does not draw the same number again.
        if work.size % 2:
            work.last = phintys_mrg_next_alone(<uint32_t*>work.advanced + 6 * (work.size % work.streams))
        pieces = (work.size + 2 * PAIRS - 1) // (2 * PAIRS)
        if pieces > 1:
            parallel(context, normal_piece, &work, pieces, PIECE_NORMAL // (2 * PAIRS))
        elif pieces:
            normal_piece(&work, 0, 0, 1)
        return 0


cdef inline void copy_first(Cell* target, const Cell* source, const npy_intp* shape) noexcept nogil:
    """Copy the first rows of a matrix to those of another, which has no gaps."""
    if cell_is_contiguous(source):
        memcpy(target.data, source.data, shape[0] * shape[1] * source.itemsize)
    else:
        copy_strided(2, shape, target.data, target.strides, source.data, source.strides, source.itemsize)


cdef class StateRowsKernel(Kernel):
    """``(state, rows, new state)``: the state with other first rows.

    Raises
    ------
    ValueError
        Raised by ``prepare`` if there are more rows than in the state, or they have another length.
    """

    def __cinit__(self):
        self.examined, self.binding = (), BOUND

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* state = operands[0]
        cdef Cell* rows = operands[1]
        if rows.shape[0] > state.shape[0] or rows.shape[1] != state.shape[1]:
            with gil:
                raise ValueError(f"the first rows of a state of shape {shape_of(state)} cannot be {shape_of(rows)}")
        allocate(context, operands[2], state.shape)
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* state = operands[0]
        cdef Cell* rows = operands[1]
        cdef Cell* out = operands[2]
        if out.data != state.data:
            copy_first(out, state, state.shape)
        copy_first(out, rows, rows.shape)
        return 0


def substreams(state, Py_ssize_t streams, first, second):
    """The states of streams, each a jump ahead of the one before it.

    Parameters
    ----------
    state : numpy.ndarray
        The first: six numbers of int32.
    streams : int
    first, second : numpy.ndarray
        The jump: the matrices of int64, 3 by 3, by which the halves of a state are multiplied.

    Returns
    -------
    numpy.ndarray
        A matrix of int32 with a row for each stream.
    """
    states = numpy.empty((streams, 6), "int32")
    states[0] = state
    first, second = numpy.ascontiguousarray(first, "int64"), numpy.ascontiguousarray(second, "int64")
    if first.shape != (3, 3) or second.shape != (3, 3):
        raise ValueError(f"a jump is two matrices of 3 by 3, not of shapes {first.shape} and {second.shape}")
    phintys_mrg_substreams(<int32_t*>cnp.PyArray_DATA(states), streams, <const int64_t*>cnp.PyArray_DATA(first),
                           <const int64_t*>cnp.PyArray_DATA(second))
    return states
