"""Batch normalization: moments and result, the result for given moments, and the gradients.

Neighbouring dimensions of one kind, averaged over or kept, are joined. Kept ones in front are a *batch* of problems.
What is left starts with an averaged one and is seen in one of two ways. As *runs*: each channel is a number of
contiguous runs, and is finished while it is in the cache. As *columns*: rows are averaged, one column after the other;
where columns are of the same channel (short averaged dimensions behind kept ones), they are merged afterwards.
So memory is read once or twice for sums, and once more for the result, in order. All sums of channels are doubles; a
channel's mean is taken off in two parts, the nearest number of the dtype and the rest, so that a mean that is large
against the deviation costs no accuracy. What has gaps is copied first.
"""
from libc.math cimport NAN, sqrt
from libc.stdint cimport int32_t
from numpy cimport npy_intp

cimport numpy as cnp

from phintys.ops.native.integers cimport integer_at, shape_of
from phintys.ops.nnet.softmax_kernel cimport Real
from phintys.ops.native.strided_copy cimport contiguous_data
from phintys.vm.abi cimport (
    RUNS_ALONE, Cell, Context, Kernel, allocate, cell_is_contiguous, cell_size, parallel, scratch)

cdef extern from "nnet/batch_normalization_loops.h" nogil:
    ctypedef struct phintys_moments:
        double count, mean, square
    phintys_moments moments_of_runs_float(const float* x, npy_intp outer, npy_intp step, npy_intp inner)
    phintys_moments moments_of_runs_double(const double* x, npy_intp outer, npy_intp step, npy_intp inner)
    void normalize_runs_float(const float* x, float* out, npy_intp outer, npy_intp step, npy_intp inner, float shift,
                              float slope, float offset)
    void normalize_runs_double(const double* x, double* out, npy_intp outer, npy_intp step, npy_intp inner,
                               double shift, double slope, double offset)
    void sums_of_runs_float(const float* x, const float* dy, npy_intp outer, npy_intp step, npy_intp inner, float mean,
                            double* sums)
    void sums_of_runs_double(const double* x, const double* dy, npy_intp outer, npy_intp step, npy_intp inner,
                             double mean, double* sums)
    void gradient_of_runs_float(const float* x, const float* dy, float* out, npy_intp outer, npy_intp step,
                                npy_intp inner, float mean, float scale, float slope, float offset)
    void gradient_of_runs_double(const double* x, const double* dy, double* out, npy_intp outer, npy_intp step,
                                 npy_intp inner, double mean, double scale, double slope, double offset)
    void moments_of_columns_float(const float* x, npy_intp rows, npy_intp step, npy_intp width, double* mean,
                                  double* square)
    void moments_of_columns_double(const double* x, npy_intp rows, npy_intp step, npy_intp width, double* mean,
                                   double* square)
    void normalize_columns_float(const float* x, float* out, npy_intp rows, npy_intp step, npy_intp width,
                                 const float* shift, const float* slope, const float* offset)
    void normalize_columns_double(const double* x, double* out, npy_intp rows, npy_intp step, npy_intp width,
                                  const double* shift, const double* slope, const double* offset)
    void sums_of_columns_float(const float* x, const float* dy, npy_intp rows, npy_intp step, npy_intp width,
                               const float* mean, double* of_dy, double* of_product, double* of_x)
    void sums_of_columns_double(const double* x, const double* dy, npy_intp rows, npy_intp step, npy_intp width,
                                const double* mean, double* of_dy, double* of_product, double* of_x)
    void gradient_of_columns_float(const float* x, const float* dy, float* out, npy_intp rows, npy_intp step,
                                   npy_intp width, const float* mean, const float* scale, const float* slope,
                                   const float* offset)
    void gradient_of_columns_double(const double* x, const double* dy, double* out, npy_intp rows, npy_intp step,
                                    npy_intp width, const double* mean, const double* scale, const double* slope,
                                    const double* offset)
    enum:
        COLUMNS

cdef enum:
    MAXIMUM_RANK = 64
    PARAMETERS = 4                 # at most: inputs with one element for each channel
    LONG_RUN = 64                  # elements; shorter ones are columns, unless there are few rows
    FEW_ROWS = 16
    RELEASE_ELEMENTS = 30000       # about 20 microseconds
    GRAIN_ELEMENTS = 32768         # worth waking a worker
    LEAST_COLUMNS = 64             # for one worker: a few cache lines of each row

cdef enum Kind:
    TRAIN
    INFERENCE
    GRADIENT

# The shape of x as the loops see it: [batch][outer][columns], a channel in one or several columns.
cdef struct Layout:
    npy_intp batch
    npy_intp outer
    npy_intp columns
    npy_intp channels              # of one problem of the batch
    npy_intp inner                 # length of a run
    bint runs
    bint merged                    # several columns of a channel
    int groups                     # behind the outer one: lengths, and whether they are kept
    npy_intp lengths[MAXIMUM_RANK]
    bint kept[MAXIMUM_RANK]

cdef struct Work:
    Layout layout
    Kind kind
    int itemsize
    const char* x
    const char* dy
    char* out                      # NULL: not wanted
    const char* parameters[PARAMETERS]
    char* results[4]               # one element for each channel; NULL: not wanted
    double epsilon
    double factor
    double count                   # elements of a channel
    # of one problem of the batch, for columns:
    double* sums[3]                # of each column
    double* channel_sums[3]
    char* coefficients[4]          # of each column
    char* channel_coefficients[4]
    int32_t* channel_of            # by column, where channels are merged

ctypedef struct Room:
    char* next
    size_t size


# ---- what the loops see ----------------------------------------------------------------------------------------------
cdef void plan(Layout* layout, const Cell* x, unsigned long long averaged) noexcept nogil:
    cdef npy_intp lengths[MAXIMUM_RANK]
    cdef bint kept[MAXIMUM_RANK]
    cdef int count = 0, axis, first = 0, group
    cdef bint is_kept
    for axis in range(x.ndim):
        is_kept = not (averaged >> axis) & 1
        if x.shape[axis] == 1:
            continue
        if count and kept[count - 1] == is_kept:
            lengths[count - 1] *= x.shape[axis]
        else:
            lengths[count], kept[count] = x.shape[axis], is_kept
            count += 1
    layout.batch = layout.outer = layout.inner = layout.columns = layout.channels = 1
    if count and kept[0]:
        layout.batch, first = lengths[0], 1
    layout.groups = 0
    if count - first <= 1:
        layout.runs, layout.merged = True, False
        if count > first:
            layout.inner = layout.columns = lengths[first]
        return
    layout.outer = lengths[first]
    for group in range(first + 1, count):
        layout.lengths[layout.groups], layout.kept[layout.groups] = lengths[group], kept[group]
        layout.groups += 1
        layout.columns *= lengths[group]
        if kept[group]:
            layout.channels *= lengths[group]
    layout.inner = layout.columns // layout.channels if layout.channels else 1
    layout.merged = layout.groups > 1
    layout.runs = layout.groups == 2 and (layout.inner >= LONG_RUN or layout.outer < FEW_ROWS)


cdef void number_columns(Work* work) noexcept nogil:
    """Which channel each column is of, where dimensions averaged over stand between and behind kept ones."""
    cdef Layout* layout = &work.layout
    cdef npy_intp index[MAXIMUM_RANK]
    cdef npy_intp steps[MAXIMUM_RANK]
    cdef npy_intp column, channel = 0, step = 1
    cdef int group
    for group in range(layout.groups - 1, -1, -1):
        index[group] = 0
        steps[group] = step if layout.kept[group] else 0
        if layout.kept[group]:
            step *= layout.lengths[group]
    for column in range(layout.columns):
        work.channel_of[column] = <int32_t>channel
        for group in range(layout.groups - 1, -1, -1):
            channel += steps[group]
            index[group] += 1
            if index[group] < layout.lengths[group]:
                break
            channel -= steps[group] * layout.lengths[group]
            index[group] = 0


# ---- scratch memory --------------------------------------------------------------------------------------------------
cdef inline char* take(Room* room, size_t size) noexcept nogil:
    """The next piece; while ``room.next`` is NULL sizes are only added up."""
    cdef char* piece = room.next
    size = (size + 63) & ~<size_t>63
    room.size += size
    if room.next != NULL:
        room.next += size
    return piece


cdef const char* gapless(Room* room, Cell* cell) noexcept nogil:
    """The elements in C order."""
    cdef char* piece
    if cell_is_contiguous(cell):
        return cell.data
    piece = take(room, cell_size(cell) * cell.itemsize)
    return NULL if piece == NULL else contiguous_data(cell, piece)


cdef void furnish(Work* work, Room* room, Cell* x, Cell* dy, Cell** parameters, int count) noexcept nogil:
    """Copies of what has gaps, and memory for sums and coefficients."""
    cdef Layout* layout = &work.layout
    cdef int number
    work.x = gapless(room, x)
    work.dy = gapless(room, dy) if dy != NULL else NULL
    for number in range(count):
        work.parameters[number] = gapless(room, parameters[number])
    if layout.runs or cell_size(x) == 0:             # columns without elements may be more than memory holds
        return
    for number in range(3):
        work.sums[number] = <double*>take(room, layout.columns * sizeof(double))
        work.channel_sums[number] = work.sums[number]
        if layout.merged:
            work.channel_sums[number] = <double*>take(room, layout.channels * sizeof(double))
    for number in range(4):
        work.coefficients[number] = take(room, layout.columns * work.itemsize)
        work.channel_coefficients[number] = work.coefficients[number]
        if layout.merged:
            work.channel_coefficients[number] = take(room, layout.channels * work.itemsize)
    work.channel_of = <int32_t*>take(room, layout.columns * sizeof(int32_t)) if layout.merged else NULL


# ---- one channel -----------------------------------------------------------------------------------------------------
cdef inline double parameter(const Work* work, int number, npy_intp channel, Real* coefficients) noexcept nogil:
    return (<const Real*>work.parameters[number])[channel]


cdef inline void store(const Work* work, int number, npy_intp channel, double value, Real* coefficients) noexcept nogil:
    if work.results[number] != NULL:
        (<Real*>work.results[number])[channel] = <Real>value


cdef inline void finish_training(const Work* work, npy_intp channel, double mean, double square,
                                 Real* coefficients) noexcept nogil:
    """Parameters scale, bias, running mean and variance; results mean, inverse deviation, the new running values."""
    cdef double count = work.count, old = 1 - work.factor, variance = square / count
    cdef double inverse = 1 / sqrt(variance + work.epsilon), slope
    store(work, 0, channel, mean, coefficients)
    store(work, 1, channel, inverse, coefficients)
    if work.results[2] != NULL:
        store(work, 2, channel, parameter(work, 2, channel, coefficients) * old + mean * work.factor, coefficients)
    if work.results[3] != NULL:
        store(work, 3, channel, parameter(work, 3, channel, coefficients) * old
              + count / (count - 1) * variance * work.factor, coefficients)
    if work.out != NULL:
        slope = parameter(work, 0, channel, coefficients) * inverse
        coefficients[0], coefficients[1] = <Real>mean, <Real>slope
        coefficients[2] = <Real>(parameter(work, 1, channel, coefficients) - (mean - coefficients[0]) * slope)


cdef inline void finish_inference(const Work* work, npy_intp channel, Real* coefficients) noexcept nogil:
    """Parameters scale, bias, mean, variance."""
    cdef double deviation = sqrt(parameter(work, 3, channel, coefficients) + work.epsilon)
    coefficients[0] = <Real>parameter(work, 2, channel, coefficients)
    coefficients[1] = <Real>(parameter(work, 0, channel, coefficients) / deviation)
    coefficients[2] = <Real>parameter(work, 1, channel, coefficients)


cdef inline void finish_gradient(const Work* work, npy_intp channel, double by_bias, double by_deviation, double far,
                                 Real* coefficients) noexcept nogil:
    """Parameters scale, mean, inverse deviation; results the gradients by scale and bias. ``far`` is how far x is from
    the mean, in sum: 0, but for rounding, if that is the mean of x.
    """
    cdef double scale = parameter(work, 0, channel, coefficients)
    cdef double inverse = parameter(work, 2, channel, coefficients), count = work.count
    cdef double slope = by_deviation / count * inverse * inverse * inverse
    store(work, 0, channel, by_deviation * inverse, coefficients)
    store(work, 1, channel, by_bias, coefficients)
    coefficients[0] = <Real>parameter(work, 1, channel, coefficients)
    coefficients[1], coefficients[2] = <Real>(scale * inverse), <Real>(-scale * slope)
    coefficients[3] = <Real>(scale * (far / count * slope - by_bias / count * inverse))


cdef inline void finish(const Work* work, npy_intp channel, double first, double second, double third,
                        Real* coefficients) noexcept nogil:
    """A channel's results, and the coefficients that its elements need."""
    if work.kind == TRAIN:
        finish_training(work, channel, first, second, coefficients)
    elif work.kind == INFERENCE:
        finish_inference(work, channel, coefficients)
    else:
        finish_gradient(work, channel, first, second, third, coefficients)


# ---- runs ------------------------------------------------------------------------------------------------------------
cdef inline void do_channels(const Work* work, npy_intp start, npy_intp stop, Real* anything) noexcept nogil:
    """Channels [start, stop), of all problems of the batch, one after the other."""
    cdef npy_intp outer = work.layout.outer, inner = work.layout.inner, channels = work.layout.channels
    cdef npy_intp step = work.layout.columns, channel, place
    cdef double sums[3]
    cdef Real c[4]
    cdef phintys_moments moments
    cdef const Real* x
    cdef const Real* dy
    cdef Real* out
    sums[0] = sums[1] = sums[2] = c[0] = c[1] = c[2] = c[3] = 0
    for channel in range(start, stop):
        place = channel // channels * outer * step + channel % channels * inner
        x, dy, out = <const Real*>work.x + place, <const Real*>work.dy + place, <Real*>work.out + place
        if work.kind == TRAIN:
            moments = moments_of_runs_float(x, outer, step, inner) if Real is float \
                else moments_of_runs_double(x, outer, step, inner)
            sums[0], sums[1] = moments.mean, moments.square
        elif work.kind == GRADIENT:
            if Real is float:
                sums_of_runs_float(x, dy, outer, step, inner, (<const float*>work.parameters[1])[channel], sums)
            else:
                sums_of_runs_double(x, dy, outer, step, inner, (<const double*>work.parameters[1])[channel], sums)
        finish(work, channel, sums[0], sums[1], sums[2], c)
        if work.out == NULL:
            continue
        if work.kind == GRADIENT:
            if Real is float:
                gradient_of_runs_float(x, dy, out, outer, step, inner, c[0], c[1], c[2], c[3])
            else:
                gradient_of_runs_double(x, dy, out, outer, step, inner, c[0], c[1], c[2], c[3])
        elif Real is float:
            normalize_runs_float(x, out, outer, step, inner, c[0], c[1], c[2])
        else:
            normalize_runs_double(x, out, outer, step, inner, c[0], c[1], c[2])


cdef void channels_piece(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    cdef const Work* work = <const Work*>argument
    if work.itemsize == sizeof(float):
        do_channels[float](work, start, stop, NULL)
    else:
        do_channels[double](work, start, stop, NULL)


# ---- columns ---------------------------------------------------------------------------------------------------------
cdef inline void sum_columns(const Work* work, npy_intp start, npy_intp stop, Real* anything) noexcept nogil:
    """Moments, or the gradient's sums, of columns [start, stop)."""
    cdef npy_intp rows = work.layout.outer, step = work.layout.columns, width
    cdef const Real* x = <const Real*>work.x
    cdef const Real* dy = <const Real*>work.dy
    cdef const Real* mean = <const Real*>work.coefficients[0]
    while start < stop:
        width = min(stop - start, <npy_intp>COLUMNS)
        if work.kind == TRAIN:
            if Real is float:
                moments_of_columns_float(x + start, rows, step, width, work.sums[0] + start, work.sums[1] + start)
            else:
                moments_of_columns_double(x + start, rows, step, width, work.sums[0] + start, work.sums[1] + start)
        elif Real is float:
            sums_of_columns_float(x + start, dy + start, rows, step, width, mean + start, work.sums[0] + start,
                                  work.sums[1] + start, work.sums[2] + start)
        else:
            sums_of_columns_double(x + start, dy + start, rows, step, width, mean + start, work.sums[0] + start,
                                   work.sums[1] + start, work.sums[2] + start)
        start += width


cdef void sums_piece(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    cdef const Work* work = <const Work*>argument
    if work.itemsize == sizeof(float):
        sum_columns[float](work, start, stop, NULL)
    else:
        sum_columns[double](work, start, stop, NULL)


cdef void merge_columns(const Work* work) noexcept nogil:
    """The sums of channels from those of their columns, which have as many elements each."""
    cdef npy_intp column, channel, columns = work.layout.columns, channels = work.layout.channels
    cdef double rows = work.layout.outer, share = <double>channels / columns, distance
    cdef int number
    for number in range(2 if work.kind == TRAIN else 3):
        for channel in range(channels):
            work.channel_sums[number][channel] = 0
        for column in range(columns):
            work.channel_sums[number][work.channel_of[column]] += work.sums[number][column]
    if work.kind == TRAIN:
        for channel in range(channels):
            work.channel_sums[0][channel] *= share
        for column in range(columns):
            channel = work.channel_of[column]
            distance = work.sums[0][column] - work.channel_sums[0][channel]
            work.channel_sums[1][channel] += rows * distance * distance


cdef inline void finish_channels(const Work* work, npy_intp first, Real* anything) noexcept nogil:
    """Results and coefficients of the channels from number ``first`` on."""
    cdef npy_intp channel
    cdef int number
    cdef Real c[4]
    c[0] = c[1] = c[2] = c[3] = 0
    for channel in range(work.layout.channels):
        finish(work, first + channel, work.channel_sums[0][channel], work.channel_sums[1][channel],
               work.channel_sums[2][channel], c)
        for number in range(4):
            (<Real*>work.channel_coefficients[number])[channel] = c[number]


cdef inline void spread(const Work* work, const Real* of_channels, Real* of_columns) noexcept nogil:
    """Each column gets the number of its channel."""
    cdef npy_intp column
    for column in range(work.layout.columns):
        of_columns[column] = of_channels[work.channel_of[column]]


cdef void spread_coefficients(const Work* work, int count) noexcept nogil:
    cdef int number
    for number in range(count if work.layout.merged else 0):
        if work.itemsize == sizeof(float):
            spread(work, <const float*>work.channel_coefficients[number], <float*>work.coefficients[number])
        else:
            spread(work, <const double*>work.channel_coefficients[number], <double*>work.coefficients[number])


cdef void set_means(const Work* work, npy_intp first) noexcept nogil:
    """The gradient's sums need the means as coefficients before the rest of them are known."""
    cdef npy_intp channel
    for channel in range(work.layout.channels):
        if work.itemsize == sizeof(float):
            (<float*>work.channel_coefficients[0])[channel] = (<const float*>work.parameters[1])[first + channel]
        else:
            (<double*>work.channel_coefficients[0])[channel] = (<const double*>work.parameters[1])[first + channel]
    spread_coefficients(work, 1)


cdef inline void do_rows(const Work* work, npy_intp start, npy_intp stop, Real* anything) noexcept nogil:
    """The result's rows [start, stop), some columns at a time so that their coefficients stay in the L1 cache."""
    cdef npy_intp step = work.layout.columns, column = 0, width
    cdef const Real* x = <const Real*>work.x + start * step
    cdef const Real* dy = <const Real*>work.dy + start * step
    cdef Real* out = <Real*>work.out + start * step
    cdef Real* c[4]
    c[0], c[1] = <Real*>work.coefficients[0], <Real*>work.coefficients[1]
    c[2], c[3] = <Real*>work.coefficients[2], <Real*>work.coefficients[3]
    while column < step:
        width = min(step - column, <npy_intp>COLUMNS)
        if work.kind == GRADIENT:
            if Real is float:
                gradient_of_columns_float(x + column, dy + column, out + column, stop - start, step, width,
                                          c[0] + column, c[1] + column, c[2] + column, c[3] + column)
            else:
                gradient_of_columns_double(x + column, dy + column, out + column, stop - start, step, width,
                                           c[0] + column, c[1] + column, c[2] + column, c[3] + column)
        elif Real is float:
            normalize_columns_float(x + column, out + column, stop - start, step, width, c[0] + column, c[1] + column,
                                    c[2] + column)
        else:
            normalize_columns_double(x + column, out + column, stop - start, step, width, c[0] + column, c[1] + column,
                                     c[2] + column)
        column += width


cdef void rows_piece(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    cdef const Work* work = <const Work*>argument
    if work.itemsize == sizeof(float):
        do_rows[float](work, start, stop, NULL)
    else:
        do_rows[double](work, start, stop, NULL)


# ---- everything ------------------------------------------------------------------------------------------------------
cdef inline npy_intp grain(npy_intp elements, npy_intp least) noexcept nogil:
    """How many items of so many elements are worth waking a worker, but not less than ``least``."""
    return max(GRAIN_ELEMENTS // max(elements, <npy_intp>1), least)


cdef void do_columns(Context* context, Work* work) noexcept nogil:
    """All problems of the batch, one after the other."""
    cdef Layout* layout = &work.layout
    cdef npy_intp problem, elements = layout.outer * layout.columns * work.itemsize
    if layout.merged:
        number_columns(work)
    for problem in range(layout.batch):
        if work.kind == GRADIENT:
            set_means(work, problem * layout.channels)
        if work.kind != INFERENCE:
            parallel(context, sums_piece, work, layout.columns, grain(layout.outer, LEAST_COLUMNS))
            if layout.merged:
                merge_columns(work)
        if work.itemsize == sizeof(float):
            finish_channels[float](work, problem * layout.channels, NULL)
        else:
            finish_channels[double](work, problem * layout.channels, NULL)
        if work.out != NULL:
            spread_coefficients(work, 4)
            parallel(context, rows_piece, work, layout.outer, grain(layout.columns, 1))
            work.out += elements
        work.x += elements
        if work.dy != NULL:
            work.dy += elements


cdef void do_nothing(Work* work) noexcept nogil:
    """Results of channels without elements: means that are NaN, sums that are 0."""
    cdef npy_intp channel
    cdef double nothing = NAN if work.kind == TRAIN else 0
    cdef float single[4]
    cdef double wide[4]
    for channel in range(work.layout.batch * work.layout.channels):
        if work.itemsize == sizeof(float):
            finish(work, channel, nothing, nothing, 0, single)
        else:
            finish(work, channel, nothing, nothing, 0, wide)


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


cdef class BatchNormKernel(Kernel):
    """What the three kernels share.

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
        """Find the inputs with one element for each channel; answers their number."""
        return 0

    cdef tuple names(self):
        """Of these inputs."""
        return ()

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* x = operands[0]
        cdef Cell* found[PARAMETERS]
        cdef npy_intp shape[MAXIMUM_RANK]
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
        plan(&work.layout, x, self.averaged)
        room.next, room.size = NULL, 0
        furnish(&work, &room, x, operands[1] if self.kind == GRADIENT else NULL, found, count)
        if room.size:
            scratch(context, room.size)
        return (RUNS_ALONE if size < 2 * GRAIN_ELEMENTS else 1) if size > RELEASE_ELEMENTS else 0

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
        work.kind, work.itemsize = self.kind, self.itemsize
        plan(&work.layout, x, self.averaged)
        room.next, room.size = context.scratch, 0
        furnish(&work, &room, x, operands[1] if self.kind == GRADIENT else NULL, found, count)
        self.set_numbers(operands, &work)
        work.out = operands[results].data if self.whole else NULL
        for number in range(4):
            work.results[number] = NULL
            if number < self.channel_results():
                work.results[number] = operands[results + self.whole + number].data
        channels = work.layout.batch * work.layout.channels
        if channels == 0:
            return 0
        work.count = cell_size(x) // channels
        if cell_size(x) == 0:
            do_nothing(&work)
        elif work.layout.runs:
            parallel(context, channels_piece, &work, channels, grain(cell_size(x) // channels, 1))
        else:
            do_columns(context, &work)
        return 0


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
