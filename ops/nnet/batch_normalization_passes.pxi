# Passes over the memory of x, in pieces for workers. Included by batch_normalization_kernel.pyx. The last argument of
# functions that are made for float and for double only says for which: callers pass NULL.

cdef extern from "nnet/batch_normalization_loops.h" nogil:
    ctypedef struct phintys_moments:
        double count, mean, square
    ctypedef struct phintys_asking:
        int (*stops)(void* context) noexcept nogil
        void* context
        npy_intp unasked
    bint phintys_stops(phintys_asking* asking, npy_intp elements)
    # By type, float or double, and by set.
    phintys_moments (*moments_of_runs[2][PHINTYS_SETS])(const void* x, npy_intp outer, npy_intp step, npy_intp inner,
                                                        phintys_asking* asking) noexcept nogil
    void (*normalize_runs[2][PHINTYS_SETS])(const void* x, void* out, npy_intp outer, npy_intp step, npy_intp inner,
                                            const void* coefficients) noexcept nogil
    void (*sums_of_runs[2][PHINTYS_SETS])(const void* x, const void* dy, npy_intp outer, npy_intp step, npy_intp inner,
                                          const void* mean, double* sums, phintys_asking* asking) noexcept nogil
    void (*gradient_of_runs[2][PHINTYS_SETS])(const void* x, const void* dy, void* out, npy_intp outer, npy_intp step,
                                              npy_intp inner, const void* coefficients) noexcept nogil
    void (*moments_of_columns[2][PHINTYS_SETS])(const void* x, npy_intp rows, npy_intp step, npy_intp width,
                                                double* mean, double* square, phintys_asking* asking) noexcept nogil
    void (*normalize_columns[2][PHINTYS_SETS])(const void* x, void* out, npy_intp rows, npy_intp step, npy_intp width,
                                               const void* shift, const void* slope, const void* offset) noexcept nogil
    void (*sums_of_columns[2][PHINTYS_SETS])(const void* x, const void* dy, npy_intp rows, npy_intp step,
                                             npy_intp width, const void* mean, double* of_dy, double* of_product,
                                             double* of_x, phintys_asking* asking) noexcept nogil
    void (*gradient_of_columns[2][PHINTYS_SETS])(const void* x, const void* dy, void* out, npy_intp rows,
                                                 npy_intp step, npy_intp width, const void* mean, const void* scale,
                                                 const void* slope, const void* offset) noexcept nogil
    enum:
        COLUMNS, UNASKED

cdef enum:
    FINISHING = 16                 # what a channel takes, in elements
    LEAST_COLUMNS = 64             # for one worker: a few cache lines of each row


cdef inline npy_intp grain(npy_intp elements, npy_intp least) noexcept nogil:
    """How many items of so many elements are worth waking a worker, but at least ``least``."""
    return max(PIECE_BATCH_NORMALIZATION // max(elements, <npy_intp>1), least)


cdef inline phintys_asking asking_in(const Work* work) noexcept nogil:
    """For one thread."""
    cdef phintys_asking asking
    asking.stops, asking.context, asking.unasked = <int (*)(void*) noexcept nogil>interrupted, work.context, 0
    return asking


# ---- runs: a channel is finished while it is in the cache ------------------------------------------------------------
cdef inline void do_channels(const Work* work, npy_intp start, npy_intp stop, Real* anything) noexcept nogil:
    """Channels [start, stop), of all problems of the batch, one after the other."""
    cdef npy_intp outer = work.walk.outer, inner = work.walk.inner, channels = work.walk.channels
    cdef npy_intp step = work.walk.columns, channel, position, run, at, runs, width
    cdef double sums[SUMS]
    cdef Real c[COEFFICIENTS]
    cdef phintys_moments moments
    cdef phintys_asking asking = asking_in(work)
    cdef const Real* x
    cdef const Real* dy
    cdef Real* out
    sums[0] = sums[1] = sums[2] = c[0] = c[1] = c[2] = c[3] = 0
    for channel in range(start, stop):
        position = channel // channels * outer * step + channel % channels * inner
        x, dy, out = <const Real*>work.x + position, <const Real*>work.dy + position, <Real*>work.out + position
        if work.kind == TRAIN:
            moments = moments_of_runs[Real is double][work.set](x, outer, step, inner, &asking)
            sums[0], sums[1] = moments.mean, moments.square
        elif work.kind == GRADIENT:
            sums_of_runs[Real is double][work.set](x, dy, outer, step, inner,
                                                   <const Real*>work.parameters[1] + channel, sums, &asking)
        finish(work, channel, sums[0], sums[1], sums[2], c)
        if work.out == NULL:
            continue
        run = at = 0
        runs, width = max(UNASKED // inner, <npy_intp>1), min(inner, <npy_intp>UNASKED)
        while run < outer:                              # the result, in pieces of runs, or of one
            position = run * step + at
            runs, width = min(runs, outer - run), min(width, inner - at)
            if work.kind == GRADIENT:
                gradient_of_runs[Real is double][work.set](x + position, dy + position, out + position, runs, step,
                                                           width, c)
            else:
                normalize_runs[Real is double][work.set](x + position, out + position, runs, step, width, c)
            if phintys_stops(&asking, runs * width):
                return
            at += width
            if at == inner:
                run, at, width = run + runs, 0, min(inner, <npy_intp>UNASKED)


cdef void channels_piece(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    cdef const Work* work = <const Work*>argument
    if work.itemsize == sizeof(float):
        do_channels[float](work, start, stop, NULL)
    else:
        do_channels[double](work, start, stop, NULL)


# ---- columns: sums of all columns, then channels, then the result ----------------------------------------------------
cdef inline void sum_columns(const Work* work, npy_intp start, npy_intp stop, Real* anything) noexcept nogil:
    """Moments, or the gradient's sums, of columns [start, stop)."""
    cdef npy_intp rows = work.walk.outer, step = work.walk.columns, width
    cdef const Real* x = <const Real*>work.x
    cdef const Real* dy = <const Real*>work.dy
    cdef const Real* mean = <const Real*>work.coefficients[0]
    cdef phintys_asking asking = asking_in(work)
    while start < stop:
        width = min(stop - start, <npy_intp>COLUMNS)
        if work.kind == TRAIN:
            moments_of_columns[Real is double][work.set](x + start, rows, step, width, work.sums[0] + start,
                                                         work.sums[1] + start, &asking)
        else:
            sums_of_columns[Real is double][work.set](x + start, dy + start, rows, step, width, mean + start,
                                                      work.sums[0] + start, work.sums[1] + start,
                                                      work.sums[2] + start, &asking)
        start += width


cdef void sums_piece(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    cdef const Work* work = <const Work*>argument
    if work.itemsize == sizeof(float):
        sum_columns[float](work, start, stop, NULL)
    else:
        sum_columns[double](work, start, stop, NULL)


cdef void merge_columns(const Work* work) noexcept nogil:
    """The sums of channels from those of their columns, which all have the same number of elements, ``rows``.

    A mean is the mean of the columns' means. Squared deviations grow by the distances of these from it, as in
    ``phintys_merge``.
    """
    cdef npy_intp column, channel, columns = work.walk.columns, channels = work.walk.channels
    cdef phintys_asking asking = asking_in(work)
    cdef double rows = work.walk.outer, share = <double>channels / columns, distance
    cdef int number
    for number in range(2 if work.kind == TRAIN else SUMS):
        for channel in range(channels):
            work.channel_sums[number][channel] = 0
        for column in range(columns):
            work.channel_sums[number][work.channel_of[column]] += work.sums[number][column]
            if phintys_stops(&asking, 1):
                return
    if work.kind == TRAIN:
        for channel in range(channels):
            work.channel_sums[0][channel] *= share
        for column in range(columns):
            channel = work.channel_of[column]
            distance = work.sums[0][column] - work.channel_sums[0][channel]
            work.channel_sums[1][channel] += rows * distance * distance
            if phintys_stops(&asking, 1):
                return


cdef inline void finish_channels(const Work* work, npy_intp first, Real* anything) noexcept nogil:
    """Results and coefficients of the channels from number ``first`` on."""
    cdef npy_intp channel
    cdef phintys_asking asking = asking_in(work)
    cdef int number
    cdef Real c[COEFFICIENTS]
    c[0] = c[1] = c[2] = c[3] = 0
    for channel in range(work.walk.channels):
        finish(work, first + channel, work.channel_sums[0][channel], work.channel_sums[1][channel],
               work.channel_sums[2][channel], c)
        for number in range(COEFFICIENTS):
            (<Real*>work.channel_coefficients[number])[channel] = c[number]
        if phintys_stops(&asking, FINISHING):
            return


cdef inline void spread(const Work* work, const Real* of_channels, Real* of_columns) noexcept nogil:
    """Each column gets the number of its channel."""
    cdef npy_intp column
    cdef phintys_asking asking = asking_in(work)
    for column in range(work.walk.columns):
        of_columns[column] = of_channels[work.channel_of[column]]
        if phintys_stops(&asking, 1):
            return


cdef void spread_coefficients(const Work* work, int count) noexcept nogil:
    """The first ``count`` coefficients of columns, from those of channels, where these differ."""
    cdef int number
    for number in range(count if work.walk.merged else 0):
        if work.itemsize == sizeof(float):
            spread(work, <const float*>work.channel_coefficients[number], <float*>work.coefficients[number])
        else:
            spread(work, <const double*>work.channel_coefficients[number], <double*>work.coefficients[number])


cdef void set_means(const Work* work, npy_intp first) noexcept nogil:
    """The gradient's sums need the means as coefficients before the rest of them are known."""
    cdef npy_intp channel
    for channel in range(work.walk.channels):
        if work.itemsize == sizeof(float):
            (<float*>work.channel_coefficients[0])[channel] = (<const float*>work.parameters[1])[first + channel]
        else:
            (<double*>work.channel_coefficients[0])[channel] = (<const double*>work.parameters[1])[first + channel]
    spread_coefficients(work, 1)


cdef inline void do_rows(const Work* work, npy_intp start, npy_intp stop, Real* anything) noexcept nogil:
    """The result's rows [start, stop), some columns at a time so that their coefficients stay in the L1 cache."""
    cdef npy_intp step = work.walk.columns, column = 0, width
    cdef phintys_asking asking = asking_in(work)
    cdef const Real* x = <const Real*>work.x + start * step
    cdef const Real* dy = <const Real*>work.dy + start * step
    cdef Real* out = <Real*>work.out + start * step
    cdef Real* c[COEFFICIENTS]
    c[0], c[1] = <Real*>work.coefficients[0], <Real*>work.coefficients[1]
    c[2], c[3] = <Real*>work.coefficients[2], <Real*>work.coefficients[3]
    while column < step:
        width = min(step - column, <npy_intp>COLUMNS)
        if work.kind == GRADIENT:
            gradient_of_columns[Real is double][work.set](x + column, dy + column, out + column, stop - start, step,
                                                          width, c[0] + column, c[1] + column, c[2] + column,
                                                          c[3] + column)
        else:
            normalize_columns[Real is double][work.set](x + column, out + column, stop - start, step, width,
                                                        c[0] + column, c[1] + column, c[2] + column)
        if phintys_stops(&asking, (stop - start) * width):
            return
        column += width


cdef void rows_piece(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    cdef const Work* work = <const Work*>argument
    if work.itemsize == sizeof(float):
        do_rows[float](work, start, stop, NULL)
    else:
        do_rows[double](work, start, stop, NULL)


cdef void do_columns(Context* context, Work* work) noexcept nogil:
    """All problems of the batch, one after the other."""
    cdef ChannelWalk* walk = &work.walk
    cdef npy_intp problem, elements = walk.outer * walk.columns * work.itemsize
    if walk.merged and not number_columns(work):
        return
    for problem in range(walk.batch):
        if work.kind == GRADIENT:
            set_means(work, problem * walk.channels)
        if work.kind != INFERENCE:
            parallel(context, sums_piece, work, walk.columns, grain(walk.outer, LEAST_COLUMNS))
            if walk.merged:
                merge_columns(work)
        if work.itemsize == sizeof(float):
            finish_channels[float](work, problem * walk.channels, NULL)
        else:
            finish_channels[double](work, problem * walk.channels, NULL)
        if work.out != NULL:
            spread_coefficients(work, COEFFICIENTS)
            parallel(context, rows_piece, work, walk.outer, grain(walk.columns, 1))
            work.out += elements
        work.x += elements
        if work.dy != NULL:
            work.dy += elements


# ---- no elements -----------------------------------------------------------------------------------------------------
cdef void do_nothing(Work* work) noexcept nogil:
    """Write the results of channels without elements: means that are NaN, sums that are 0."""
    cdef npy_intp channel
    cdef double nothing = NAN if work.kind == TRAIN else 0
    cdef float single[COEFFICIENTS]
    cdef double wide[COEFFICIENTS]
    for channel in range(work.walk.batch * work.walk.channels):
        if work.itemsize == sizeof(float):
            finish(work, channel, nothing, nothing, 0, single)
        else:
            finish(work, channel, nothing, nothing, 0, wide)
