"""Permutations, choices, counts and shares with NumPy's numbers: ``(state, size, parameter, ..., new state, out)``.

Each kernel draws as ``numpy.random.RandomState`` does (``legacy``) or as ``numpy.random.Generator``. The state is a
vector of uint64. ``prepare`` checks the parameters and raises; ``run`` cannot fail. The loops are in
``orders_loops.h``.
"""
import numpy

from libc.math cimport fabs, isnan
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memset
from numpy cimport npy_intp

from phintys.ops.native.asking cimport ends_after
from phintys.ops.native.distributions cimport (
    binomial_t, bitgen_t, random_beta, random_bounded_uint64_fill, random_multinomial, random_standard_gamma)
from phintys.ops.native.integers cimport integer_at, shape_of
from phintys.ops.native.result_shapes cimport tuple_of
from phintys.ops.native.sets cimport phintys_set, set_of_process
from phintys.ops.native.strided_copy cimport clear_in_parts
from phintys.ops.random.samples cimport (
    Positions, begin_walk, check_state, fits, generator_of_copy, next_element, read_size, store_count)
from phintys.vm.abi cimport BOUND, RUNS_ALONE, Cell, Context, Kernel, allocate, cell_size, interrupted, scratch
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.thresholds cimport LONG_DRAW

cdef extern from "random/orders_loops.h" nogil:
    void phintys_shuffle(bitgen_t* bits, int64_t* out, npy_intp count, npy_intp first, bint by_interval)
    void phintys_count_up(int64_t* out, npy_intp first, npy_intp stop)
    npy_intp phintys_first_above(const double* sums, npy_intp count, double number)
    uint64_t phintys_table_size(npy_intp wanted)
    void phintys_floyd(bitgen_t* bits, npy_intp outcomes, npy_intp wanted, npy_intp first, npy_intp stop,
                       uint64_t* table, int64_t* out)
    double phintys_exact_sum(const double* values, npy_intp count)
    double phintys_corrected(double* row, float* room, npy_intp count, bint narrow)


cdef extern from "random/legacy_binomial.h" nogil:
    ctypedef struct phintys_legacy_table:
        pass
    void phintys_legacy_multinomial(bitgen_t* bits, int64_t trials, int64_t* counts, const double* p,
                                    npy_intp outcomes, bint skips, phintys_legacy_table* table)


phintys_set = set_of_process()

cdef inline void read_line(const Cell* cell, const char* data, double* out) noexcept nogil:
    """The last dimension of an array of float64, from an address on."""
    cdef npy_intp position, stride = cell.strides[cell.ndim - 1]
    for position in range(cell.shape[cell.ndim - 1]):
        out[position] = (<const double*>(data + position * stride))[0]


cdef enum:
    ROW = 32                        # numbers that a row takes as long as, besides its elements
    UNASKED = 131072                # numbers between two questions whether the call is to end, of up to 0.2 us; 2**n
    NUMBER = 8                      # what a number counts in `ends_after`, which counts elements

cdef double ROUNDING = 1e-3         # how far the sum of probabilities may be from 1: those of float16 round to 5e-4
ROUNDING_OF_SUMS = ROUNDING           # the same for Python


cdef inline npy_intp lengths_product(const npy_intp* shape, int ndim) noexcept nogil:
    cdef npy_intp product = 1
    cdef int axis
    for axis in range(ndim):
        product *= shape[axis]
    return product


cdef inline bint is_to_end(Context* context, npy_intp position) noexcept nogil:
    """Whether the call is to end; of element ``position`` of a loop, which asks after every UNASKED of them."""
    return position & (UNASKED - 1) == UNASKED - 1 and interrupted(context)


cdef void count_up(Context* context, int64_t* out, npy_intp count) noexcept nogil:
    cdef npy_intp position = 0
    while position < count and not (position and interrupted(context)):
        phintys_count_up(out, position, min(position + UNASKED, count))
        position += UNASKED


cdef void shuffle(Context* context, bitgen_t* bits, int64_t* out, npy_intp count, npy_intp first,
                  bint by_interval) noexcept nogil:
    """Exchange each number, from the last one down to number ``first``, with one of those up to it."""
    while count > first:
        phintys_shuffle(bits, out, count, max(count - UNASKED, first), by_interval)
        count -= UNASKED
        if count > first and interrupted(context):
            return


cdef void store_counts(Context* context, Cell* out, npy_intp first, const int64_t* counts,
                       npy_intp count) noexcept nogil:
    """Store integers as elements from number ``first`` on."""
    cdef npy_intp position
    for position in range(count):
        store_count(out, first + position, counts[position])
        if is_to_end(context, position):
            return


cdef class OrderKernel(Kernel):
    """The base class: what the kernels have in common.

    Parameters
    ----------
    kind : int
        The number of the bit generator in ``bit_generators.h``.
    legacy : bool
        Draw as RandomState.
    """
    cdef int kind
    cdef bint legacy

    def __init__(self, int kind, bint legacy):
        self.kind, self.legacy = kind, legacy
        self.examined, self.binding = None, BOUND


cdef class PermutationKernel(OrderKernel):
    """``(state, size, n, new state, out)``: permutations of ``range(n)`` along the last dimension.

    Raises
    ------
    ValueError
        Raised by ``prepare`` if n is negative, or the state that of another generator.
    """

    def __init__(self, int kind, bint legacy):
        super().__init__(kind, legacy)
        self.examined = (1, 2)

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef npy_intp shape[MAX_RANK]
        cdef npy_intp n = integer_at(operands[2], 0)
        cdef int rank = operands[4].ndim - 1
        check_state(operands[0], self.kind, "permutation")
        read_size(operands[1], rank, shape, b"permutation")
        if n < 0:
            with gil:
                raise ValueError(f"permutation: n must be at least 0, got {n}: negative dimensions are not allowed")
        shape[rank] = n
        allocate(context, operands[3], operands[0].shape)
        allocate(context, operands[4], shape)
        scratch(context, n * sizeof(int64_t))
        return RUNS_ALONE if cell_size(operands[4]) >= LONG_DRAW else 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef bitgen_t bits = generator_of_copy(operands[0], operands[3], self.kind)
        cdef Cell* out = operands[4]
        cdef npy_intp n = out.shape[out.ndim - 1], row, unasked = 0
        cdef int64_t* order = <int64_t*>context.scratch
        for row in range(lengths_product(out.shape, out.ndim - 1)):
            count_up(context, order, n)
            shuffle(context, &bits, order, n, 1, True)
            store_counts(context, out, row * n, order, n)
            if ends_after(context, &unasked, NUMBER * (n + ROW)):
                return 0
        return 0


cdef class ChoiceKernel(OrderKernel):
    """``(state, size, outcomes, replace, p, new state, out)``: numbers below ``outcomes``, with the probabilities p,
    or with equal ones if p has no elements.

    Parameters
    ----------
    kind, legacy
        As of `OrderKernel`.
    shuffled : bool
        Without replacement and probabilities, the order of what a Generator chooses is random too.
    tolerance : float
        How far the sum of the probabilities may be from 1.
    ascending : bool
        What is chosen by probabilities without replacement ascends in each round of numbers.

    Raises
    ------
    ValueError
        Raised by ``prepare`` for probabilities that are not as many as the outcomes, negative or NaN, or do not sum to
        1, and if there are fewer outcomes than are to be chosen.
    """
    cdef bint shuffled, ascending
    cdef double tolerance

    def __init__(self, int kind, bint legacy, bint shuffled, double tolerance, bint ascending=False):
        super().__init__(kind, legacy)
        self.examined, self.shuffled, self.tolerance = (1, 2, 3, 4), shuffled, tolerance
        self.ascending = ascending

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* out = operands[6]
        cdef npy_intp shape[MAX_RANK]
        cdef npy_intp outcomes = integer_at(operands[2], 0), weights = operands[4].shape[0], wanted, room
        cdef bint replace = integer_at(operands[3], 0) != 0
        check_state(operands[0], self.kind, "choice")
        read_size(operands[1], out.ndim, shape, b"choice")
        wanted = lengths_product(shape, out.ndim)
        self.check_counts(outcomes, wanted, replace)
        room = wanted * sizeof(int64_t)
        # Scratch memory: what is chosen, then one of: the probabilities, their sums and the numbers of a round; all
        # outcomes, to be shuffled; Floyd's table. `run` divides it in the same way.
        if weights:
            room += (2 * weights + wanted) * sizeof(double)
        elif not replace and self.by_shuffling(outcomes, wanted):
            room += outcomes * sizeof(int64_t)
        elif not replace:
            room += phintys_table_size(wanted) * sizeof(uint64_t)
        scratch(context, room)
        if weights:
            read_line(operands[4], operands[4].data, <double*>context.scratch)
            self.check_probabilities(<double*>context.scratch, weights, outcomes, wanted, replace)
        allocate(context, operands[5], operands[0].shape)
        allocate(context, out, shape)
        return RUNS_ALONE if wanted + outcomes >= LONG_DRAW else 0

    cdef bint by_shuffling(self, npy_intp outcomes, npy_intp wanted) noexcept nogil:
        """Whether all outcomes, or the last ones, are shuffled; else Floyd's method is used."""
        # NumPy's own limits: other ones would draw other numbers.
        return self.legacy or outcomes > 10000 and wanted > outcomes // (50 if self.shuffled else 20)

    cdef int check_counts(self, npy_intp outcomes, npy_intp wanted, bint replace) except -1 nogil:
        if outcomes <= 0 and wanted:
            with gil:
                raise ValueError(f"choice: a must be greater than 0 unless no samples are taken, got {outcomes}")
        if outcomes < wanted and not replace:
            with gil:
                raise ValueError(f"choice: cannot take a larger sample than population without replacement: {wanted} "
                                 f"of {outcomes}")

    cdef int check_probabilities(self, const double* p, npy_intp count, npy_intp outcomes, npy_intp wanted,
                                 bint replace) except -1 nogil:
        cdef npy_intp position, positive = 0
        cdef double total
        if count != outcomes:
            with gil:
                raise ValueError(f"choice: a and p must have the same size, got {outcomes} outcomes and {count} "
                                 "probabilities")
        for position in range(count):
            if isnan(p[position]) or p[position] < 0:
                with gil:
                    raise ValueError(f"choice: probabilities must not be negative or NaN, got {p[position]} for "
                                     f"outcome {position}")
            positive += p[position] > 0
        total = phintys_exact_sum(p, count)
        if not fabs(total - 1) <= self.tolerance:
            with gil:
                raise ValueError(f"choice: probabilities do not sum to 1: their sum is {total:.9g}")
        if positive < wanted and not replace:
            with gil:
                raise ValueError(f"choice: fewer non-zero entries in p than size: {positive} and {wanted}")

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef bitgen_t bits = generator_of_copy(operands[0], operands[5], self.kind)
        cdef Cell* out = operands[6]
        cdef npy_intp outcomes = integer_at(operands[2], 0), wanted = cell_size(out), position
        cdef bint replace = integer_at(operands[3], 0) != 0
        cdef int64_t* chosen = <int64_t*>context.scratch
        cdef char* room = <char*>(chosen + wanted)
        if wanted == 0 and (replace or operands[4].shape[0] or not self.legacy):
            return 0                                # else RandomState shuffles nevertheless
        if operands[4].shape[0]:
            self.weighted(context, &bits, operands[4], wanted, replace, chosen, <double*>room)
        elif replace:
            position = 0
            while position < wanted and not (position and interrupted(context)):
                random_bounded_uint64_fill(&bits, 0, <uint64_t>(outcomes - 1),
                                           min(wanted - position, <npy_intp>UNASKED), self.legacy,
                                           <uint64_t*>chosen + position)
                position += UNASKED
        elif self.by_shuffling(outcomes, wanted):
            count_up(context, <int64_t*>room, outcomes)
            shuffle(context, &bits, <int64_t*>room, outcomes, 1 if self.legacy else max(outcomes - wanted, 1),
                    self.legacy)
            chosen = <int64_t*>room + (0 if self.legacy else outcomes - wanted)
        else:
            self.by_floyd(context, &bits, outcomes, wanted, <uint64_t*>room, chosen)
        store_counts(context, out, 0, chosen, wanted)
        return 0

    cdef void by_floyd(self, Context* context, bitgen_t* bits, npy_intp outcomes, npy_intp wanted, uint64_t* table,
                       int64_t* chosen) noexcept nogil:
        cdef npy_intp position = 0
        clear_in_parts(context, <char*>table, phintys_table_size(wanted) * sizeof(uint64_t))
        while position < wanted:
            if interrupted(context):        # then the table may not be clear: a search in it might not end
                return
            phintys_floyd(bits, outcomes, wanted, position, min(position + UNASKED, wanted), table, chosen)
            position += UNASKED
        if self.shuffled:
            shuffle(context, bits, chosen, wanted, 1, False)

    cdef void weighted(self, Context* context, bitgen_t* bits, const Cell* p, npy_intp wanted, bint replace,
                       int64_t* chosen, double* room) noexcept nogil:
        cdef npy_intp count = p.shape[0], position
        cdef double* sums = room + count
        read_line(p, p.data, room)
        if not replace:
            choose_different(context, bits, room, count, wanted, sums, sums + count, self.ascending, chosen)
            return
        sum_shares(context, room, count, sums)
        for position in range(wanted):
            chosen[position] = phintys_first_above(sums, count, bits.next_double(bits.state))
            if is_to_end(context, position):
                return


cdef void sum_shares(Context* context, const double* shares, npy_intp count, double* sums) noexcept nogil:
    """The sums of shares up to each, divided by the last one."""
    cdef double total = 0
    cdef npy_intp position
    for position in range(count):
        total += shares[position]
        sums[position] = total
        if is_to_end(context, position):
            return
    for position in range(count):
        sums[position] /= total
        if is_to_end(context, position):
            return


cdef void choose_different(Context* context, bitgen_t* bits, double* shares, npy_intp outcomes, npy_intp wanted,
                           double* sums, double* numbers, bint ascending, int64_t* out) noexcept nogil:
    """Different outcomes by their shares, which become 0. New outcomes of a round of numbers are taken in their order,
    or sorted; the next round has as many numbers as outcomes are missing. ``sums`` and ``numbers`` have room for all
    of them."""
    cdef npy_intp found = 0, unasked = 0, missing, before, position, outcome
    while found < wanted:
        missing, before = wanted - found, found
        for position in range(missing):
            numbers[position] = bits.next_double(bits.state)
        sum_shares(context, shares, outcomes, sums)
        for position in range(missing):
            outcome = phintys_first_above(sums, outcomes, numbers[position])
            # A share of -1 marks what this round has found; it becomes 0 only after the round, because all numbers of
            # a round are compared with the sums from its beginning, as in NumPy.
            if outcome < outcomes and shares[outcome] >= 0:         # else it was found in this round
                shares[outcome] = -1
                out[found] = outcome
                found += 1
            if is_to_end(context, position):
                return
        position = before
        for outcome in range(outcomes if ascending else 0):
            if shares[outcome] < 0:
                out[position] = outcome
                position += 1
        for position in range(before, found):
            shares[out[position]] = 0
        if ends_after(context, &unasked, NUMBER * (outcomes + missing)):
            return


cdef object SKIPS = None


def skips_the_impossible():
    """Whether the installed NumPy's ``RandomState.multinomial`` draws no number where no sample is left to distribute,
    or an outcome has no chance: before NumPy 2.5."""
    global SKIPS
    if SKIPS is None:
        state = numpy.random.RandomState(0)
        before = state.get_state(legacy=False)["state"]["pos"]
        state.multinomial(0, [0.5, 0.5])
        SKIPS = state.get_state(legacy=False)["state"]["pos"] == before
    return SKIPS


cdef class MultinomialDrawKernel(OrderKernel):
    """``(state, size, n, p, new state, counts)``: how often each outcome occurs in n samples; n and p without its last
    dimension are broadcast to the size.

    Parameters
    ----------
    kind, legacy
        As of `OrderKernel`. RandomState gets the probabilities as Theano corrects them.
    narrow : bool
        The probabilities were float32.
    exact : bool
        The probabilities must sum to 1. Otherwise, only all but the last one must not sum to more.

    Raises
    ------
    ValueError
        Raised by ``prepare`` if n is negative, a probability is out of range, or the sum of a row's is not 1.
    """
    cdef bint narrow, skips, exact

    def __init__(self, int kind, bint legacy, bint narrow, bint exact=True):
        super().__init__(kind, legacy)
        self.examined, self.narrow, self.exact = (1, 2, 3), narrow, exact
        self.skips = legacy and skips_the_impossible()

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* p = operands[3]
        cdef Cell* out = operands[5]
        cdef npy_intp shape[MAX_RANK]
        cdef npy_intp outcomes = p.shape[p.ndim - 1]
        cdef int rank = out.ndim - 1
        check_state(operands[0], self.kind, "multinomial")
        read_size(operands[1], rank, shape, b"multinomial")
        if not fits(operands[2], operands[2].ndim, rank, shape) or not fits(p, p.ndim - 1, rank, shape):
            with gil:
                raise ValueError(f"multinomial: n of shape {shape_of(operands[2])} and probabilities of shape "
                                 f"{shape_of(p)}, without the last dimension, cannot be broadcast to the size "
                                 f"{tuple_of(shape, rank)}")
        shape[rank] = outcomes
        scratch(context, outcomes * (sizeof(double) + sizeof(float) + sizeof(int64_t)))
        self.check_counts(operands[2])
        self.check_rows(context, p)
        allocate(context, operands[4], operands[0].shape)
        allocate(context, out, shape)
        return RUNS_ALONE if cell_size(out) >= LONG_DRAW // 4 else 0

    cdef int check_counts(self, Cell* n) except -1 nogil:
        cdef Positions positions
        cdef npy_intp position
        begin_walk(&positions, n.ndim, n.shape, &n, 1, 0)
        for position in range(cell_size(n)):
            if (<int64_t*>positions.data[0])[0] < 0:
                with gil:
                    raise ValueError(f"multinomial: n must be at least 0, got {(<int64_t*>positions.data[0])[0]} "
                                     "(n < 0)")
            next_element(&positions, 1)

    cdef int check_rows(self, Context* context, Cell* p) except -1 nogil:
        """Raise if a row of probabilities is none."""
        cdef Positions positions
        cdef npy_intp row, position, outcomes = p.shape[p.ndim - 1]
        cdef double* values = <double*>context.scratch
        cdef double total
        cdef bint is_one
        if outcomes == 0:
            with gil:
                raise ValueError("multinomial: the probabilities have no elements along their last dimension")
        begin_walk(&positions, p.ndim - 1, p.shape, &p, 1, 1)
        for row in range(lengths_product(p.shape, p.ndim - 1)):
            read_line(p, positions.data[0], values)
            for position in range(outcomes):
                if not values[position] >= 0 or values[position] > 1 and not self.legacy:
                    with gil:
                        raise ValueError(f"multinomial: probabilities must not be negative, above 1 or NaN, got "
                                         f"{values[position]} (pvals < 0, pvals > 1 or pvals contains NaNs)")
            total = phintys_exact_sum(values, outcomes)
            is_one = fabs(total - 1) <= ROUNDING or not self.exact
            if is_one and self.legacy:
                total = phintys_corrected(values, <float*>(values + outcomes), outcomes, self.narrow)
                is_one = total <= 1
            elif is_one:
                total = phintys_exact_sum(values, outcomes - 1)
                is_one = total <= 1 + 1e-12
            if not is_one:
                with gil:
                    raise ValueError(f"multinomial: the sum of the probabilities is {total:.9g}, not 1: "
                                     f"{[values[position] for position in range(min(outcomes, 8))]}"
                                     f"{' ...' if outcomes > 8 else ''}")
            next_element(&positions, 1)

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef bitgen_t bits = generator_of_copy(operands[0], operands[4], self.kind)
        cdef Cell* p = operands[3]
        cdef Cell* out = operands[5]
        cdef npy_intp outcomes = p.shape[p.ndim - 1], row, unasked = 0
        cdef int64_t* counts = <int64_t*>context.scratch
        cdef double* values = <double*>(counts + outcomes)
        cdef Positions positions
        cdef binomial_t binomial
        cdef phintys_legacy_table table
        memset(&binomial, 0, sizeof(binomial))
        memset(&table, 0, sizeof(table))
        begin_walk(&positions, out.ndim - 1, out.shape, operands + 2, 2, 1)
        for row in range(lengths_product(out.shape, out.ndim - 1)):
            read_line(p, positions.data[1], values)
            memset(counts, 0, outcomes * sizeof(int64_t))
            if self.legacy:
                phintys_corrected(values, <float*>(values + outcomes), outcomes, self.narrow)
                phintys_legacy_multinomial(&bits, (<int64_t*>positions.data[0])[0], counts, values, outcomes,
                                           self.skips, &table)
            else:
                random_multinomial(&bits, (<int64_t*>positions.data[0])[0], counts, values, outcomes, &binomial)
            store_counts(context, out, row * outcomes, counts, outcomes)
            if ends_after(context, &unasked, NUMBER * (outcomes + ROW)):
                return 0
            next_element(&positions, 2)
        return 0


cdef double SMALL = 0.1             # a row whose alphas are all below it is drawn by breaking a stick


cdef class DirichletKernel(OrderKernel):
    """``(state, size, alpha, new state, out)``: shares that sum to 1, along the last dimension; alpha without its last
    dimension is broadcast to the size.

    Raises
    ------
    ValueError
        Raised by ``prepare`` if an alpha is negative; NaN gives NaN.
    """

    def __init__(self, int kind, bint legacy):
        super().__init__(kind, legacy)
        self.examined = (1, 2)

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* alpha = operands[2]
        cdef Cell* out = operands[4]
        cdef npy_intp shape[MAX_RANK]
        cdef int rank = out.ndim - 1
        check_state(operands[0], self.kind, "dirichlet")
        read_size(operands[1], rank, shape, b"dirichlet")
        if not fits(alpha, alpha.ndim - 1, rank, shape):
            with gil:
                raise ValueError(f"dirichlet: alpha of shape {shape_of(alpha)}, without the last dimension, cannot be "
                                 f"broadcast to the size {tuple_of(shape, rank)}")
        shape[rank] = alpha.shape[alpha.ndim - 1]
        scratch(context, 2 * shape[rank] * sizeof(double))
        self.check_rows(context, alpha)
        allocate(context, operands[3], operands[0].shape)
        allocate(context, out, shape)
        return RUNS_ALONE if cell_size(out) >= LONG_DRAW // 4 else 0

    cdef int check_rows(self, Context* context, Cell* alpha) except -1 nogil:
        cdef Positions positions
        cdef npy_intp row, position
        cdef double* values = <double*>context.scratch
        begin_walk(&positions, alpha.ndim - 1, alpha.shape, &alpha, 1, 1)
        for row in range(lengths_product(alpha.shape, alpha.ndim - 1)):
            read_line(alpha, positions.data[0], values)
            for position in range(alpha.shape[alpha.ndim - 1]):
                if values[position] < 0:
                    with gil:
                        raise ValueError(f"dirichlet: alpha must be at least 0, got {values[position]:g} (alpha < 0)")
            next_element(&positions, 1)
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef bitgen_t bits = generator_of_copy(operands[0], operands[3], self.kind)
        cdef Cell* alpha = operands[2]
        cdef Cell* out = operands[4]
        cdef npy_intp shares = alpha.shape[alpha.ndim - 1], row, position, unasked = 0
        cdef double* values = <double*>context.scratch
        cdef double* numbers = <double*>out.data
        cdef double largest
        cdef Positions positions
        begin_walk(&positions, out.ndim - 1, out.shape, operands + 2, 1, 1)
        for row in range(lengths_product(out.shape, out.ndim - 1)):
            read_line(alpha, positions.data[0], values)
            largest = 0
            for position in range(shares):
                if not values[position] <= largest:
                    largest = values[position]          # NaN stays
            if largest < SMALL:
                break_stick(context, &bits, values, values + shares, shares, numbers)
            else:
                divide_gammas(context, &bits, values, shares, numbers)
            numbers += shares
            if ends_after(context, &unasked, NUMBER * (shares + ROW)):
                return 0
            next_element(&positions, 1)
        return 0


cdef void break_stick(Context* context, bitgen_t* bits, const double* alpha, double* sums, npy_intp shares,
                      double* out) noexcept nogil:
    """Each share is a part of what the shares before it left. Gamma numbers of small alpha could all be 0."""
    cdef npy_intp position
    cdef double sum = 0, rest = 1, part
    for position in range(shares - 1, -1, -1):
        sum += alpha[position]
        sums[position] = sum
        out[position] = 0
    if sum == 0:
        return
    for position in range(shares - 1):
        part = random_beta(bits, alpha[position], sums[position + 1])
        out[position] = rest * part
        rest *= 1 - part
        if sums[position + 1] == 0 or is_to_end(context, position):
            return
    out[shares - 1] = rest


cdef void divide_gammas(Context* context, bitgen_t* bits, const double* alpha, npy_intp shares,
                        double* out) noexcept nogil:
    cdef npy_intp position
    cdef double sum = 0
    for position in range(shares):
        out[position] = random_standard_gamma(bits, alpha[position])
        sum += out[position]
        if is_to_end(context, position):
            return
    sum = 1 / sum
    for position in range(shares):
        out[position] *= sum
