"""Long draws with the same parameters for all elements, a block at a time: a part of ``draw_kernel.pyx``.

`DrawKernel` calls these where a loop over elements is not needed. Workers draw pieces of one stream, whose states or
words are made before: the numbers and the state afterwards do not depend on how many workers there are.
"""

cdef struct Uniform:
    const uint64_t* state
    char* out
    bint narrow                     # float32


cdef void uniform_piece(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    cdef Uniform* work = <Uniform*>argument
    cdef uint64_t state[7]
    phintys_pcg64_after(work.state, start, work.narrow, state)
    if work.narrow:
        phintys_pcg64_floats(state, stop - start, <float*>work.out + start)
    else:
        phintys_pcg64_doubles(state, stop - start, <double*>work.out + start)


cdef struct Binomial:
    const phintys_binomial* table
    bitgen_t* bits
    int kind
    Cell* sample
    bint failed                     # a number was to be replaced: the pieces do not begin where they should


cdef bint counts_of(Binomial* work, npy_intp position, npy_intp count, const double* numbers) noexcept nogil:
    """Binomial counts for uniform numbers; returns whether one of these is to be replaced. Then nothing is stored."""
    cdef double active[BLOCK]
    cdef double counts[BLOCK]
    cdef npy_intp start = 0, lane
    memcpy(active, numbers, count * sizeof(double))
    while start < count:
        if phintys_successes(work.table, min(count - start, <npy_intp>LANES), active + start, counts + start):
            return True
        start += LANES
    if work.sample.typenum == cnp.NPY_INT64:
        for lane in range(count):
            (<int64_t*>work.sample.data)[position + lane] = phintys_counted(work.table, <int64_t>counts[lane])
    else:
        for lane in range(count):
            store_count(work.sample, position + lane, phintys_counted(work.table, <int64_t>counts[lane]))
    return False


cdef void binomial_piece(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    """Counts of PCG64, each of one number, so that it is known where a piece begins."""
    cdef Binomial* work = <Binomial*>argument
    cdef double numbers[BLOCK]
    cdef uint64_t state[7]
    cdef npy_intp count
    phintys_pcg64_after(<const uint64_t*>work.bits.state, start, False, state)
    while start < stop:
        count = min(stop - start, <npy_intp>BLOCK)
        phintys_pcg64_doubles(state, count, numbers)
        if counts_of(work, start, count, numbers):
            work.failed = True
        start += count


cdef void binomial_counts(Context* context, Binomial* work, npy_intp count) noexcept nogil:
    """Counts one block after the other; the state advances."""
    cdef double numbers[BLOCK]
    cdef npy_intp position = 0, part, used, lane, successes
    while position < count:
        part = min(count - position, <npy_intp>BLOCK)
        if work.kind == PHINTYS_MT19937:
            phintys_mt19937_doubles(<uint64_t*>work.bits.state, part, numbers)
        elif work.kind == PHINTYS_PCG64:
            phintys_pcg64_doubles(<uint64_t*>work.bits.state, part, numbers)
        else:
            random_standard_uniform_fill(work.bits, part, numbers)
        if counts_of(work, position, part, numbers):
            used = 0
            for lane in range(part):
                while True:
                    successes = phintys_successes_of(
                        work.table, numbers[used] if used < part else work.bits.next_double(work.bits.state))
                    used += 1
                    if successes <= work.table.most:
                        break
                store_count(work.sample, position + lane, phintys_counted(work.table, successes))
        position += part
        if interrupted(context):
            return


cdef bint fill_binomial(Context* context, bitgen_t* bits, int kind, bint legacy, int64_t trials, double p,
                        Cell* sample, npy_intp count) noexcept nogil:
    """Binomial counts; returns whether there is a table for these parameters."""
    cdef phintys_binomial table
    cdef Binomial work
    if not (phintys_legacy_successes if legacy else phintys_read_binomial)(&table, trials, p):
        return False
    work.table, work.bits, work.kind, work.sample, work.failed = &table, bits, kind, sample, False
    if kind == PHINTYS_PCG64:
        parallel(context, binomial_piece, &work, count, PIECE_DRAW)
        if not work.failed:
            phintys_pcg64_after(<uint64_t*>bits.state, count, False, <uint64_t*>bits.state)
            return True
    binomial_counts(context, &work, count)
    return True


# ---- parts whose lengths are known when they have been made ----------------------------------------------------------
cdef struct Parts:
    const uint64_t* state           # of PCG64,
    const uint32_t* words           # or the words of MT19937, not tempered
    double mean, deviation          # of those of MT19937
    double* out                     # part n begins at n * PART
    npy_intp counts[PARTS]          # how many numbers a part has,
    npy_intp after[PARTS]           # and where the next one begins


cdef void normal_parts(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    cdef Parts* work = <Parts*>argument
    cdef npy_intp part
    for part in range(start, stop):
        work.counts[part] = phintys_pcg64_normal_piece(work.state, part * PART, (part + 1) * PART,
                                                       work.out + part * PART, &work.after[part])


cdef void divided_normals(Context* context, uint64_t* state, npy_intp count, double* out) noexcept nogil:
    """Normal numbers of PCG64. A part begins where it does if the part before it ends with a number that the ziggurat
    finds at once, as 99 of 100 do; else it is made again."""
    cdef Parts work
    cdef npy_intp part, parts, begin, made
    while count >= 4 * PART:
        parts, begin, made = min(count // PART, <npy_intp>PARTS), 0, 0
        work.state, work.out = state, out
        parallel(context, normal_parts, &work, parts, 2)
        if interrupted(context):
            return                                  # not all parts say where they end
        for part in range(parts):
            if begin != part * PART:
                work.counts[part] = phintys_pcg64_normal_piece(state, begin, (part + 1) * PART, out + part * PART,
                                                               &work.after[part])
            if made != part * PART:
                memmove(out + made, out + part * PART, work.counts[part] * sizeof(double))
            made += work.counts[part]
            begin = work.after[part]
        phintys_pcg64_after(state, begin, False, state)
        out += made
        count -= made
    phintys_pcg64_normals(state, count, out)


cdef void mersenne_parts(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    """Parts of numbers from two words for each."""
    cdef Parts* work = <Parts*>argument
    cdef npy_intp part
    for part in range(start, stop):
        work.counts[part] = phintys_normals_of_words(work.words + 2 * part * PART, 2 * PART, work.mean, work.deviation,
                                                     work.out + part * PART)


cdef inline const uint32_t* keys_of(const uint64_t* state) noexcept nogil:
    """The words of a state of MT19937."""
    return <const uint32_t*>(state + PHINTYS_OWN + 1)


cdef inline const uint32_t* words_before(const Cell* state, const Cell* advanced) noexcept nogil:
    """The words of the new state, which nothing has drawn from yet: those of the old one, unless they were changed to
    make it valid."""
    cdef const uint32_t* copied = keys_of(<const uint64_t*>advanced.data)
    cdef const uint32_t* words = keys_of(<const uint64_t*>state.data)
    return words if state.strides[0] == sizeof(uint64_t) and words[0] == copied[0] else copied


cdef npy_intp divided_paired_normals(Context* context, uint64_t* state, double mean, double deviation, npy_intp count,
                                     double* out) noexcept nogil:
    """Normal numbers of a RandomState, as far as whole parts go; returns how many were made. The words are made one
    after the other, which is a tenth of the work."""
    cdef Parts work
    cdef npy_intp part, parts, made = 0, position
    work.mean, work.deviation, work.words = mean, deviation, <uint32_t*>context.scratch
    if state[PHINTYS_HAS_HALF]:
        phintys_paired_normals(state, keys_of(state), 1, mean, deviation, out)
        made = 1
    while count - made >= 4 * PART:
        parts = min((count - made) // PART, <npy_intp>PARTS)
        work.out = out + made
        phintys_mt19937_words(state, 2 * parts * PART, <uint32_t*>context.scratch)
        parallel(context, mersenne_parts, &work, parts, 2)
        if interrupted(context):
            return count                            # not all parts say how many numbers they have
        position = 0
        for part in range(parts):
            if position != part * PART:
                memmove(work.out + position, work.out + part * PART, work.counts[part] * sizeof(double))
            position += work.counts[part]
        made += position
    return made


cdef struct Words:
    uint64_t* state
    double low, width
    double* numbers                 # of which two words each have been made,
    npy_intp count                  # and how many there are
    double* ahead                   # where the words of the next ones go,
    npy_intp count_ahead            # and how many there are


cdef void mersenne_uniforms(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    """Item 0 is the words of the numbers ahead; others are parts of the numbers whose words have been made."""
    cdef Words* work = <Words*>argument
    cdef npy_intp item, first
    for item in range(start, stop):
        if item == 0:
            phintys_mt19937_words(work.state, 2 * work.count_ahead, <uint32_t*>work.ahead)
        else:
            first = (item - 1) * PART
            phintys_mt19937_uniform_of_words(min(work.count - first, <npy_intp>PART), work.low, work.width,
                                             work.numbers + first)


cdef void divided_uniforms(Context* context, uint64_t* state, double low, double width, npy_intp count,
                           double* out) noexcept nogil:
    """Uniform numbers of MT19937. To make words, which is done one after the other, is half of the work; meanwhile
    other workers make numbers of those before."""
    cdef Words work
    cdef npy_intp position = 0
    work.state, work.low, work.width, work.numbers, work.count = state, low, width, out, 0
    while True:
        work.ahead, work.count_ahead = out + position, min(count - position, <npy_intp>(PARTS * PART))
        parallel(context, mersenne_uniforms, &work, 1 + (work.count + PART - 1) // PART, 1)
        if work.count_ahead == 0 or interrupted(context):
            return
        work.numbers, work.count = work.ahead, work.count_ahead
        position += work.count


cdef inline void mersenne_reals(uint64_t* state, bint normal, double first, double second, npy_intp count,
                                double* out) noexcept nogil:
    if normal:
        phintys_paired_normals(state, keys_of(state), count, first, second, out)
    else:
        phintys_mt19937_uniform(state, count, first, second, out)


cdef void fill_reals(Context* context, uint64_t* state, bint normal, double first, double second, Cell* sample,
                     npy_intp count) noexcept nogil:
    """Uniform numbers from ``first`` on, ``second`` wide, or normal numbers of a RandomState; those of float32 are
    rounded from a block of float64."""
    cdef double numbers[BLOCK]
    cdef npy_intp position = 0, lane, part
    if sample.typenum == cnp.NPY_FLOAT64:
        if context.workers > 1 and count >= 4 * PART and not normal:
            divided_uniforms(context, state, first, second, count, <double*>sample.data)
            return
        if context.workers > 1 and count >= 4 * PART:
            position = divided_paired_normals(context, state, first, second, count, <double*>sample.data)
        while position < count and not interrupted(context):
            part = min(count - position, <npy_intp>UNASKED)
            mersenne_reals(state, normal, first, second, part, <double*>sample.data + position)
            position += part
        return
    while position < count and not interrupted(context):
        part = min(count - position, <npy_intp>BLOCK)
        mersenne_reals(state, normal, first, second, part, numbers)
        for lane in range(part):
            (<float*>sample.data)[position + lane] = <float>numbers[lane]
        position += part
