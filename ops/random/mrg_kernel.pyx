"""Uniform and normal samples of MRG31k3p: ``(state, size, new state, samples)``, and the first state of each stream.

The state is a matrix of int32 with a row of six numbers for each stream. Streams are independent of each other, so
threads divide them; values do not depend on how. The loops are in ``mrg_loops.h`` and ``box_muller_loops.h``.
"""
import numpy

cimport numpy as cnp
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t
from libc.string cimport memcpy, memset
from numpy cimport npy_intp

from phintys.ops.elementwise.block_program cimport Program, nanoseconds, run_steps, set_places
from phintys.ops.elementwise.elementwise_kernel cimport ElementwiseKernel
from phintys.ops.native.integers cimport shape_of
from phintys.ops.native.strided_copy cimport copy_strided
from phintys.ops.random.samples cimport read_size
from phintys.vm.abi cimport (
    BOUND, Cell, Context, Kernel, allocate, cell_is_contiguous, cell_size, parallel, scratch, set_contiguous_strides)
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.thresholds cimport LONG_MRG, LONG_NORMAL, PIECE_MRG, PIECE_NANOSECONDS, PIECE_NORMAL

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
    void phintys_mrg_load_block(const int32_t* state, npy_intp streams, uint32_t* lanes)
    void phintys_mrg_store_block(const uint32_t* lanes, npy_intp streams, int32_t* advanced)
    void phintys_mrg_block_row_float(uint32_t* lanes, npy_intp count, float* out)
    void phintys_mrg_block_row_double(uint32_t* lanes, npy_intp count, double* out)
    void phintys_mrg_block_row_half(uint32_t* lanes, npy_intp count, uint16_t* out)
    int32_t phintys_mrg_next_alone(uint32_t* x)
    float phintys_mrg_float(int32_t z)
    double phintys_mrg_double(int32_t z)
    bint phintys_mrg_vectors
    void phintys_mrg_use_vectors(bint allowed)
    void phintys_mrg_substreams(int32_t* state, npy_intp rows, const int64_t* first, const int64_t* second)

cdef extern from "random/box_muller_loops.h" nogil:
    void phintys_normal_pairs_float(npy_intp start, npy_intp stop, npy_intp pairs, npy_intp count, float last,
                                    float* numbers)
    void phintys_normal_pairs_double(npy_intp start, npy_intp stop, npy_intp pairs, npy_intp count, double last,
                                     double* numbers)
    void phintys_mrg_few_normals_float(const int32_t* state, int32_t* advanced, int count, float* out)
    void phintys_mrg_few_normals_double(const int32_t* state, int32_t* advanced, int count, double* out)


phintys_mrg_use_vectors(True)


def use_vectors(bint allowed):
    """Allow, or forbid, vector instructions that only some processors have; the numbers are the same."""
    phintys_mrg_use_vectors(allowed)


cdef enum:
    PAIRS = 64                      # of a piece: whole blocks of either type

cdef struct Work:
    const int32_t* state
    int32_t* advanced               # the new one
    npy_intp streams
    npy_intp size                   # samples, of all streams together
    char* out
    int typenum                     # of the samples
    int32_t last                    # the integer of one more sample


cdef void piece(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    """The samples of groups of streams."""
    cdef Work* work = <Work*>argument
    start, stop = start * PHINTYS_MRG_LANES, min(stop * PHINTYS_MRG_LANES, work.streams)
    if work.typenum == cnp.NPY_FLOAT64:
        phintys_mrg_samples_double(work.state, work.advanced, start, stop, work.streams, work.size, <double*>work.out)
    elif work.typenum == cnp.NPY_FLOAT32:
        phintys_mrg_samples_float(work.state, work.advanced, start, stop, work.streams, work.size, <float*>work.out)
    else:
        phintys_mrg_samples_half(work.state, work.advanced, start, stop, work.streams, work.size, <uint16_t*>work.out)


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
        cdef Cell* samples = operands[3]
        cdef npy_intp shape[MAX_RANK]
        cdef npy_intp size = self.prepare_state(context, operands, operands[2], name, together, samples.ndim, shape)
        allocate(context, samples, shape)
        return 1 if size >= LONG_MRG else 0

    cdef npy_intp prepare_state(self, Context* context, Cell** operands, Cell* advanced, const char* name, int together,
                                int rank, npy_intp* shape) except -1 nogil:
        """Read the shape of the samples, and make room for the new state; returns the number of samples."""
        cdef Cell* state = operands[0]
        cdef npy_intp rows[2]
        cdef double size = 1
        cdef int axis
        read_size(operands[1], rank, shape, name)
        for axis in range(rank):
            size *= shape[axis]
        if state.shape[1] != 6 or (state.shape[0] == 0 and size > 0):
            with gil:
                raise ValueError("rstate must have 6 columns, and a row for each stream: the state of an "
                                 f"MRG_RandomStreams, not an array of shape {shape_of(state)}")
        if size > PHINTYS_MRG_M1:
            with gil:
                wanted = tuple([shape[axis] for axis in range(rank)])
                raise ValueError(f"rng_mrg does not support more than (2**31 -1) samples, got the size {wanted}")
        rows[0], rows[1] = state.shape[0], state.shape[1]
        if self.only_used and size < rows[0]:
            rows[0] = min(rows[0], (<npy_intp>size + together - 1) // together * together)
        allocate(context, advanced, rows)
        return <npy_intp>size

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Work work
        self.draw(context, operands, &work)
        return 0

    cdef void begin(self, Cell* state, Cell* advanced, Cell* samples, Work* work) noexcept nogil:
        """Copy the state as far as no samples are drawn of it."""
        cdef npy_intp used
        work.advanced, work.streams, work.typenum = <int32_t*>advanced.data, state.shape[0], samples.typenum
        work.out, work.size, work.state = samples.data, cell_size(samples), <int32_t*>state.data
        if not cell_is_contiguous(state):
            copy_strided(2, advanced.shape, advanced.data, advanced.strides, state.data, state.strides, state.itemsize)
            work.state = work.advanced
        elif advanced.data != state.data and work.size < advanced.shape[0]:
            used = 6 * work.size            # the numbers of the streams that are advanced
            memcpy(work.advanced + used, work.state + used, (cell_size(advanced) - used) * sizeof(int32_t))

    cdef void draw(self, Context* context, Cell** operands, Work* work) noexcept nogil:
        """Uniform samples, and the state after them."""
        cdef npy_intp rows, groups
        self.begin(operands[0], operands[2], operands[3], work)
        if work.size <= PHINTYS_MRG_LANES:
            groups = 1
        else:
            groups = (work.streams + PHINTYS_MRG_LANES - 1) // PHINTYS_MRG_LANES
        if groups > 1:
            rows = (work.size - 1) // work.streams + 1
            parallel(context, piece, work, groups, PIECE_MRG // (rows * PHINTYS_MRG_LANES) + 1)
        elif work.size:
            piece(work, 0, 0, 1)


# ---- elementwise work on samples while they are drawn ----------------------------------------------------------------
# A block of streams is arranged in memory that stays in the L1 cache. Each of its streams draws a sample, which is a
# block of samples that follow each other, and the steps of an elementwise kernel run over it; then each draws another.
include "drawn_operands.pxi"

cdef enum:
    STREAMS = 512                  # of a block

cdef struct MrgElementwise:
    Work drawn
    Program* program
    char** data                     # of the inputs of the elementwise kernel, and then of the results
    bint* moves                     # whether an input has more than one element
    int place
    npy_intp block                  # samples for which the steps run at once


cdef inline void block_row(int typenum, uint32_t* lanes, npy_intp count, char* out) noexcept nogil:
    if typenum == cnp.NPY_FLOAT64:
        phintys_mrg_block_row_double(lanes, count, <double*>out)
    elif typenum == cnp.NPY_FLOAT32:
        phintys_mrg_block_row_float(lanes, count, <float*>out)
    else:
        phintys_mrg_block_row_half(lanes, count, <uint16_t*>out)


cdef void mrg_elementwise_piece(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    """The samples of blocks of streams, and the steps on them."""
    cdef MrgElementwise* work = <MrgElementwise*>argument
    cdef Program* program = work.program
    cdef char* pointers[MOST_PLACES]
    cdef npy_intp strides[MOST_PLACES]
    cdef char registers[DRAWN_REGISTERS + 64]
    cdef uint32_t lanes[6 * STREAMS]
    cdef double numbers[DRAWN]
    cdef int index, first_result = program.place_count - program.results
    cdef npy_intp row, first = start * STREAMS
    cdef npy_intp streams, last = min(stop * STREAMS, min(work.drawn.streams, work.drawn.size))
    set_places(program, pointers, strides, <char*>((<size_t>registers + 63) & ~<size_t>63), work.block)
    for index in range(program.inputs):
        strides[index] = program.input_sizes[index] if work.moves[index] else 0
        pointers[index] = work.data[index]
    for index in range(program.results):
        strides[first_result + index] = program.result_sizes[index]
    pointers[work.place], strides[work.place] = <char*>numbers, program.input_sizes[work.place]
    while first < last:
        streams = min(<npy_intp>STREAMS, last - first)
        phintys_mrg_load_block(work.drawn.state + 6 * first, streams, lanes)
        row = first
        while row < work.drawn.size:
            mrg_elementwise_row(work, pointers, strides, lanes, row, min(streams, work.drawn.size - row))
            row += work.drawn.streams
        phintys_mrg_store_block(lanes, streams, work.drawn.advanced + 6 * first)
        first += STREAMS


cdef inline void mrg_elementwise_row(MrgElementwise* work, char** pointers, npy_intp* strides, uint32_t* lanes,
                                     npy_intp sample, npy_intp streams) noexcept nogil:
    """A sample of each of some streams, from ``sample`` on, and the steps on them."""
    cdef Program* program = work.program
    cdef int index, first_result = program.place_count - program.results
    cdef npy_intp count
    while streams > 0:
        count = min(streams, work.block)
        for index in range(program.inputs):
            if index != work.place:
                pointers[index] = work.data[index] + sample * strides[index]
        for index in range(program.results):
            pointers[first_result + index] = work.data[program.inputs + index] + sample * strides[first_result + index]
        block_row(work.drawn.typenum, lanes, count, pointers[work.place])
        run_steps(program, pointers, strides, count)
        lanes += 6 * count
        sample += count
        streams -= count


cdef class MrgElementwiseKernel(MrgUniformKernel):
    """``(state, size, input, ..., new state, result, ...)``: what an elementwise kernel makes of the inputs and of
    samples between 0 and 1.

    Parameters
    ----------
    only_used : bool
        As of `MrgUniformKernel`.
    place : int
        Which input of the elementwise kernel is the sample.
    typenum : int
        NumPy's number of the sample's dtype.
    elementwise : ElementwiseKernel

    Raises
    ------
    ValueError
        Raised by ``prepare`` as by the two kernels.
    """
    cdef ElementwiseKernel elementwise
    cdef int place, typenum

    def __init__(self, bint only_used, int place, int typenum, ElementwiseKernel elementwise):
        super().__init__(only_used)
        self.place, self.typenum, self.elementwise = place, typenum, elementwise

    cdef inline Cell** outputs(self, Cell** operands) noexcept nogil:
        """The new state, and the results."""
        return operands + 1 + self.elementwise.program.program.inputs

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell sample
        cdef npy_intp lengths[2 * MAX_RANK]
        cdef Cell* cells[MOST_PLACES]
        cdef Cell** outputs = self.outputs(operands)
        cdef npy_intp block, count
        gather(self.elementwise, self.place, self.typenum, operands + 2, outputs + 1, &sample, lengths, cells)
        count = self.prepare_state(context, operands, outputs[0], b"mrg_uniform", 1, sample.ndim, lengths)
        set_contiguous_strides(&sample)
        check_operands(self.elementwise, self.place, cells)
        self.elementwise.prepare(context, cells)
        if not self.has_blocks(cells, &block):
            scratch(context, count * sample.itemsize)
        return 1 if count >= LONG_MRG else 0

    cdef inline bint has_blocks(self, Cell** cells, npy_intp* block) noexcept nogil:
        """Whether samples are drawn in blocks, of so many streams."""
        if not is_flat(self.elementwise, self.place, cells, block):
            return False
        block[0] = block[0] // PHINTYS_MRG_LANES * PHINTYS_MRG_LANES
        return block[0] > 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell sample
        cdef npy_intp lengths[2 * MAX_RANK]
        cdef Cell* cells[MOST_PLACES]
        cdef char* data[MOST_PLACES]
        cdef bint moves[MOST_PLACES]
        cdef Cell* drawn[4]
        cdef Program* program = &self.elementwise.program.program
        cdef Cell** outputs = self.outputs(operands)
        cdef MrgElementwise work
        cdef int index
        gather(self.elementwise, self.place, self.typenum, operands + 2, outputs + 1, &sample, lengths, cells)
        # The shape of the results is that of the sample: `prepare` and the types of the op have seen to that.
        memcpy(lengths, cells[program.inputs].shape, sample.ndim * sizeof(npy_intp))
        set_contiguous_strides(&sample)
        if not self.has_blocks(cells, &work.block):
            sample.data = context.scratch
            drawn[0], drawn[1], drawn[2], drawn[3] = operands[0], operands[1], outputs[0], &sample
            self.draw(context, drawn, &work.drawn)
            self.elementwise.run(context, cells)
            return 0
        for index in range(program.inputs + program.results):
            data[index], moves[index] = cells[index].data, cell_size(cells[index]) != 1
        work.program, work.data, work.moves, work.place = program, data, moves, self.place
        self.begin(operands[0], outputs[0], &sample, &work.drawn)
        self.run_blocks(context, &work)
        return 0

    cdef void run_blocks(self, Context* context, MrgElementwise* work) noexcept nogil:
        cdef npy_intp used = min(work.drawn.streams, work.drawn.size), blocks = (used + STREAMS - 1) // STREAMS
        cdef double each
        if blocks == 0:
            return
        each = (0.5 * work.drawn.size + nanoseconds(work.program, work.drawn.size)) / blocks
        if blocks > 1:
            parallel(context, mrg_elementwise_piece, work, blocks, <npy_intp>(PIECE_NANOSECONDS / (each + 1)) + 1)
        else:
            mrg_elementwise_piece(work, 0, 0, 1)


cdef inline bint draw_few_normals(const Cell* state, Cell* advanced, Cell* samples) noexcept nogil:
    """Draw normal samples, if a vector has a lane for each and all are of different streams; returns whether so."""
    cdef npy_intp count = cell_size(samples)
    if not phintys_mrg_vectors or not 2 < count <= PHINTYS_MRG_FEW or (count + 1) // 2 * 2 > state.shape[0]:
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
