"""Uniform samples of MRG31k3p: ``(state, size, new state, samples)``, and the first state of each stream.

The state is a matrix of int32 with a row of six numbers for each stream. Streams are independent of each other, so
threads divide them; values do not depend on how. The loops are in ``mrg_loops.h``.
"""
import numpy

cimport numpy as cnp
from libc.stdint cimport int32_t, int64_t, uint16_t
from numpy cimport npy_intp

from phintys.ops.native.integers cimport shape_of
from phintys.ops.native.strided_copy cimport copy_strided
from phintys.ops.random.sizes cimport read_size
from phintys.vm.abi cimport BOUND, Cell, Context, Kernel, allocate, cell_size, parallel
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.thresholds cimport LONG_MRG, PIECE_MRG

cnp.import_array()

cdef extern from "random/mrg_loops.h" nogil:
    enum:
        PHINTYS_MRG_LANES
        PHINTYS_MRG_M1
    void phintys_mrg_samples_float(int32_t* state, npy_intp start, npy_intp stop, npy_intp streams, npy_intp size, float* out)
    void phintys_mrg_samples_double(int32_t* state, npy_intp start, npy_intp stop, npy_intp streams, npy_intp size,
                            double* out)
    void phintys_mrg_samples_half(int32_t* state, npy_intp start, npy_intp stop, npy_intp streams, npy_intp size,
                          uint16_t* out)
    void phintys_mrg_substreams(int32_t* state, npy_intp rows, const int64_t* first, const int64_t* second)

cdef struct Work:
    int32_t* state                  # the new one, which is advanced
    npy_intp streams
    npy_intp size                   # samples, of all streams together
    char* out
    int typenum                     # of the samples


cdef void piece(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    """The samples of groups of streams."""
    cdef Work* work = <Work*>argument
    start, stop = start * PHINTYS_MRG_LANES, min(stop * PHINTYS_MRG_LANES, work.streams)
    if work.typenum == cnp.NPY_FLOAT64:
        phintys_mrg_samples_double(work.state, start, stop, work.streams, work.size, <double*>work.out)
    elif work.typenum == cnp.NPY_FLOAT32:
        phintys_mrg_samples_float(work.state, start, stop, work.streams, work.size, <float*>work.out)
    else:
        phintys_mrg_samples_half(work.state, start, stop, work.streams, work.size, <uint16_t*>work.out)


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
        cdef Cell* state = operands[0]
        cdef Cell* samples = operands[3]
        cdef npy_intp shape[MAX_RANK]
        cdef double size = 1
        cdef int axis
        read_size(operands[1], samples.ndim, shape, b"mrg_uniform")
        for axis in range(samples.ndim):
            size *= shape[axis]
        if state.shape[1] != 6 or (state.shape[0] == 0 and size > 0):
            with gil:
                raise ValueError("rstate must have 6 columns, and a row for each stream: the state of an "
                                 f"MRG_RandomStreams, not an array of shape {shape_of(state)}")
        if size > PHINTYS_MRG_M1:
            with gil:
                wanted = tuple([shape[axis] for axis in range(samples.ndim)])
                raise ValueError(f"rng_mrg does not support more than (2**31 -1) samples, got the size {wanted}")
        allocate(context, samples, shape)
        shape[0], shape[1] = state.shape[0], state.shape[1]
        if self.only_used and size < shape[0]:
            shape[0] = <npy_intp>size
        allocate(context, operands[2], shape)
        return 1 if size >= LONG_MRG else 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* state = operands[0]
        cdef Cell* advanced = operands[2]
        cdef Work work
        cdef npy_intp rows, groups
        work.state, work.streams, work.typenum = <int32_t*>advanced.data, state.shape[0], operands[3].typenum
        work.out, work.size = operands[3].data, cell_size(operands[3])
        if advanced.data != state.data:
            copy_strided(2, advanced.shape, advanced.data, advanced.strides, state.data, state.strides, state.itemsize)
        if work.size:
            groups = (work.streams + PHINTYS_MRG_LANES - 1) // PHINTYS_MRG_LANES
            rows = (work.size - 1) // work.streams + 1
            parallel(context, piece, &work, groups, PIECE_MRG // (rows * PHINTYS_MRG_LANES) + 1)
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
