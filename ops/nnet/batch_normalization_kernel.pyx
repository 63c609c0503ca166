"""Batch normalization: moments and result, the result for given moments, and the gradients.

Neighbouring dimensions of one kind, averaged over or kept, are joined. Kept ones in front are a *batch* of problems.
What is left starts with an averaged one and is seen in one of two ways. As *runs*: each channel is a number of
contiguous runs, and is finished while it is in the cache. As *columns*: rows are averaged, one column after the other;
where columns are of the same channel (short averaged dimensions after kept ones), they are merged afterwards.
So memory is read once or twice for sums, and once more for the result, in order. All sums of channels are doubles; a
channel's mean is subtracted in two parts, the nearest number of the dtype and the rest, so that a mean that is large
against the deviation costs no accuracy. What has gaps is copied first.

This file has the kernels. The rest of the module is included, so that one compiler sees all of it:

* ``batch_normalization_layout.pxi``: what the loops see of x, derived from its shape, and their scratch memory
* ``batch_normalization_channels.pxi``: from the sums of a channel to its results and coefficients
* ``batch_normalization_passes.pxi``: passes over memory; the loops themselves are in C
"""
from libc.math cimport NAN, sqrt
from libc.stdint cimport int32_t
from numpy cimport npy_intp

cimport numpy as cnp

from phintys.ops.native.asking cimport data_without_gaps
from phintys.ops.native.integers cimport integer_at, shape_of
from phintys.ops.nnet.softmax_kernel cimport Real
from phintys.ops.native.sets cimport PHINTYS_SETS, usable_set
from phintys.vm.abi cimport (
    BOUND, RUNS_ALONE, Cell, Context, Kernel, allocate, cell_is_contiguous, cell_size, interrupted, parallel,
    scratch)
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.thresholds cimport LONG_BATCH_NORMALIZATION, PIECE_BATCH_NORMALIZATION

include "batch_normalization_layout.pxi"
include "batch_normalization_channels.pxi"
include "batch_normalization_passes.pxi"


cdef class BatchNormKernel(Kernel):
    """The base class: what the three kernels share.

    Parameters
    ----------
    dtype : {"float32", "float64"}
        Of all operands but epsilon and the factor, which may be any real number.
    axes : sequence of int
        What is averaged over; not negative.
    whole : bool
        Whether the result of the shape of x is wanted; without it there is no operand for it.

    Raises
    ------
    ValueError
        From ``prepare``, for inputs that do not have length 1 along the axes and that of x along the others.
    """
    cdef unsigned long long averaged
    cdef int itemsize
    cdef bint whole
    cdef Kind kind

    def __init__(self, str dtype, axes, bint whole=True):
        self.examined, self.binding = (), BOUND
        self.itemsize = 4 if dtype == "float32" else 8
        self.averaged = 0
        for axis in axes:
            self.averaged |= 1ULL << <int>axis
        self.whole = whole
        self.set_kind()

    cdef void set_kind(self):
        pass

    cdef int inputs(self) noexcept nogil:
        """How many operands are inputs."""
        return 0

    cdef int parameters(self, Cell** operands, Cell** found) noexcept nogil:
        """Find the inputs with one element for each channel; return their number."""
        return 0

    cdef tuple names(self):
        """Of these inputs."""
        return ()

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* x = operands[0]
        cdef Cell* found[PARAMETERS]
        cdef npy_intp shape[MAX_RANK]
        cdef int count = self.parameters(operands, found), number, axis, results = self.inputs()
        cdef npy_intp size = cell_size(x)
        cdef Work work
        cdef Room room
        for axis in range(x.ndim):
            shape[axis] = 1 if (self.averaged >> axis) & 1 else x.shape[axis]
        for number in range(count):
            for axis in range(x.ndim):
                if found[number].shape[axis] != shape[axis]:
                    with gil:
                        fail_shape(self.names()[number], found[number], x, self.averaged)
        if self.kind == GRADIENT:
            for axis in range(x.ndim):
                if operands[1].shape[axis] != x.shape[axis]:
                    with gil:
                        fail_shape("dy", operands[1], x, 0)
        if self.whole:
            allocate(context, operands[results], x.shape)
        for number in range(self.channel_results()):
            allocate(context, operands[results + self.whole + number], shape)
        work.itemsize = self.itemsize
        plan(&work.walk, x, self.averaged)
        room.next, room.size = NULL, 0
        furnish(context, &work, &room, x, operands[1] if self.kind == GRADIENT else NULL, found, count)
        if room.size:
            scratch(context, room.size)
        return (RUNS_ALONE if size < 2 * PIECE_BATCH_NORMALIZATION else 1) if size > LONG_BATCH_NORMALIZATION else 0

    cdef int channel_results(self) noexcept nogil:
        """How many outputs have one element for each channel."""
        return 0

    cdef void set_numbers(self, Cell** operands, Work* work) noexcept nogil:
        """Epsilon and, in training, the factor."""
        pass

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* x = operands[0]
        cdef Cell* found[PARAMETERS]
        cdef int count = self.parameters(operands, found), results = self.inputs(), number
        cdef npy_intp channels
        cdef Work work
        cdef Room room
        work.kind, work.itemsize, work.context = self.kind, self.itemsize, context
        plan(&work.walk, x, self.averaged)
        room.next, room.size = context.scratch, 0
        furnish(context, &work, &room, x, operands[1] if self.kind == GRADIENT else NULL, found, count)
        self.set_numbers(operands, &work)
        work.out = operands[results].data if self.whole else NULL
        for number in range(RESULTS):
            work.results[number] = NULL
            if number < self.channel_results():
                work.results[number] = operands[results + self.whole + number].data
        channels = work.walk.batch * work.walk.channels
        if channels == 0:
            return 0
        work.count = cell_size(x) // channels
        if cell_size(x) == 0:
            do_nothing(&work)
        elif work.walk.runs:
            parallel(context, channels_piece, &work, channels, grain(cell_size(x) // channels, 1))
        else:
            do_columns(context, &work)
        return 0


cdef double number_at(const Cell* cell, bint single) noexcept nogil:
    """A 0-d number of any real dtype, rounded to float32 if ``single``."""
    cdef double value
    if cell.typenum == cnp.NPY_FLOAT32:
        value = (<const float*>cell.data)[0]
    elif cell.typenum == cnp.NPY_FLOAT64:
        value = (<const double*>cell.data)[0]
    else:
        value = integer_at(cell, 0)
    return <float>value if single else value


cdef int fail_shape(str name, const Cell* cell, const Cell* x, unsigned long long averaged) except -1 with gil:
    wanted = tuple([1 if (averaged >> axis) & 1 else x.shape[axis] for axis in range(x.ndim)])
    raise ValueError(f"Batch normalization: {name} has shape {shape_of(cell)}, expected {wanted} for x of shape "
                     f"{shape_of(x)}")


cdef class BatchNormTrainKernel(BatchNormKernel):
    """``(x, scale, bias, epsilon, factor[, running mean, running variance][, out], mean, inverse deviation[, new
    running mean, new running variance])``.

    Parameters
    ----------
    running : bool
        Whether there are running values.
    """
    cdef bint running

    def __init__(self, str dtype, axes, bint whole=True, bint running=False):
        BatchNormKernel.__init__(self, dtype, axes, whole)
        self.running = running

    cdef void set_kind(self):
        self.kind = TRAIN

    cdef int inputs(self) noexcept nogil:
        return 7 if self.running else 5

    cdef int parameters(self, Cell** operands, Cell** found) noexcept nogil:
        found[0], found[1] = operands[1], operands[2]
        if self.running:
            found[2], found[3] = operands[5], operands[6]
        return 4 if self.running else 2

    cdef tuple names(self):
        return "scale", "bias", "running_mean", "running_var"

    cdef int channel_results(self) noexcept nogil:
        return 4 if self.running else 2

    cdef void set_numbers(self, Cell** operands, Work* work) noexcept nogil:
        work.epsilon = number_at(operands[3], self.itemsize == sizeof(float))
        work.factor = number_at(operands[4], False)


cdef class BatchNormInferenceKernel(BatchNormKernel):
    """``(x, scale, bias, mean, variance, epsilon, out)``."""

    cdef void set_kind(self):
        self.kind = INFERENCE

    cdef int inputs(self) noexcept nogil:
        return 6

    cdef int parameters(self, Cell** operands, Cell** found) noexcept nogil:
        found[0], found[1], found[2], found[3] = operands[1], operands[2], operands[3], operands[4]
        return 4

    cdef tuple names(self):
        return "scale", "bias", "mean", "variance"

    cdef void set_numbers(self, Cell** operands, Work* work) noexcept nogil:
        work.epsilon = number_at(operands[5], self.itemsize == sizeof(float))


cdef class BatchNormTrainGradKernel(BatchNormKernel):
    """``(x, dy, scale, mean, inverse deviation, epsilon[, by x], by scale, by bias)``."""

    cdef void set_kind(self):
        self.kind = GRADIENT

    cdef int inputs(self) noexcept nogil:
        return 6

    cdef int parameters(self, Cell** operands, Cell** found) noexcept nogil:
        found[0], found[1], found[2] = operands[2], operands[3], operands[4]
        return 3

    cdef tuple names(self):
        return "scale", "x_mean", "x_invstd"

    cdef int channel_results(self) noexcept nogil:
        return 2
