"""Samples of NumPy's distributions: ``(state, size, parameter, ..., new state, sample)``.

The distributions are functions of NumPy's C interface; the bits come from ``bit_generators.h``. A state is a vector of
uint64. Parameters are float64 or int64, and are broadcast to the sample; ``prepare`` checks their values. Numbers are
drawn in C order on one thread, except uniform numbers of PCG64, which can be counted ahead.
"""
cimport numpy as cnp
from libc.math cimport isfinite, isnan, signbit
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memmove, memset
from numpy cimport npy_intp

from phintys.ops.elementwise.block_code cimport (
    BlockTables, advance, nanoseconds, run_block, set_operands, set_results)
from phintys.ops.elementwise.elementwise_kernel cimport ElementwiseKernel
from phintys.ops.native.distributions cimport (
    binomial_t, bitgen_t, random_beta, random_binomial, random_bounded_uint64, random_bounded_uint64_fill,
    random_chisquare, random_f, random_geometric, random_gumbel, random_hypergeometric, random_laplace,
    random_logistic, random_lognormal, random_logseries, random_negative_binomial, random_noncentral_chisquare,
    random_noncentral_f, random_pareto, random_poisson, random_power, random_rayleigh, random_standard_cauchy,
    random_standard_exponential_fill, random_standard_exponential_fill_f, random_standard_gamma,
    random_standard_gamma_f, random_standard_normal_fill, random_standard_normal_fill_f, random_standard_t,
    random_standard_uniform_fill, random_standard_uniform_fill_f, random_triangular, random_vonmises, random_wald,
    random_weibull, random_zipf)
from phintys.ops.native.integers cimport shape_of
from phintys.ops.native.result_shapes cimport tuple_of
from phintys.ops.native.sets cimport phintys_set, set_of_process
from phintys.ops.random.samples cimport (
    MOST, Positions, begin_walk, check_state, fits, generator_of_copy, next_element, read_size, store_count, store_real)
from phintys.vm.abi cimport (
    BOUND, RUNS_ALONE, Cell, Context, Kernel, allocate, cell_is_contiguous, cell_size, interrupted, parallel, scratch,
    set_contiguous_strides)
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.python_api cimport PyObject
from phintys.vm.thresholds cimport LONG_DRAW, PIECE_DRAW, PIECE_NANOSECONDS

cdef extern from "random/bit_generators.h" nogil:
    enum:
        PHINTYS_GENERATORS
        PHINTYS_PCG64
        PHINTYS_MT19937
        PHINTYS_HAS_HALF
        PHINTYS_OWN
    bitgen_t phintys_bit_generator(uint64_t* state)
    double phintys_paired_normal(uint64_t* state)

cdef extern from "random/draw_loops.h" nogil:
    void phintys_paired_normals(uint64_t* state, const uint32_t* key, npy_intp count, double mean, double deviation,
                                double* out)
    void phintys_mt19937_doubles(uint64_t* state, npy_intp count, double* out)
    void phintys_mt19937_uniform(uint64_t* state, npy_intp count, double low, double width, double* out)
    void phintys_mt19937_uniform_of_words(npy_intp count, double low, double width, double* numbers)
    void phintys_mt19937_words(uint64_t* state, npy_intp count, uint32_t* out)
    npy_intp phintys_normals_of_words(const uint32_t* words, npy_intp count, double mean, double deviation, double* out)
    npy_intp phintys_pcg64_normal_piece(const uint64_t* state, npy_intp start, npy_intp stop, double* out,
                                        npy_intp* after)
    ctypedef struct phintys_tempered_words:
        pass
    bitgen_t phintys_tempered_generator(phintys_tempered_words* words, uint64_t* state)
    ctypedef struct phintys_ziggurat:
        int known
    const phintys_ziggurat phintys_normal_tables
    void phintys_read_ziggurat()
    void phintys_pcg64_doubles(uint64_t* state, npy_intp count, double* out)
    void phintys_pcg64_floats(uint64_t* state, npy_intp count, float* out)
    void phintys_pcg64_after(const uint64_t* state, npy_intp count, bint narrow, uint64_t* after)
    void phintys_pcg64_integers(uint64_t* state, uint64_t low, uint32_t last, npy_intp count, uint64_t* out)
    void phintys_prepare_vectors()
    void phintys_pcg64_normals(uint64_t* state, npy_intp count, double* out)
    void phintys_pcg64_short_normals(uint64_t* state, npy_intp count, float* out)
    ctypedef struct phintys_binomial:
        npy_intp most
    bint phintys_read_binomial(phintys_binomial* table, int64_t trials, double p)
    bint phintys_legacy_successes(phintys_binomial* table, int64_t trials, double p)
    bint phintys_successes "phintys_successes[*phintys_set]"(const phintys_binomial* table, npy_intp numbers,
                                                             double* number, double* count)
    npy_intp phintys_successes_of(const phintys_binomial* table, double number)
    int64_t phintys_counted(const phintys_binomial* table, int64_t successes)

cdef extern from "random/legacy_binomial.h" nogil:
    ctypedef struct phintys_legacy_table:
        pass
    int64_t phintys_legacy_binomial(bitgen_t* bits, int64_t trials, double p, phintys_legacy_table* table)

cdef enum:
    MANY = 300                      # samples from which on loops over blocks of words are worth their beginning
    BLOCK = 512                     # numbers that wait in scratch memory
    PIECE_UNIFORM = 3 * PIECE_DRAW  # 45,000 uniform numbers take 20 us by vectors of long products
    PART = 8192                     # numbers of a part, where the numbers before it say where its own begin:
    PARTS = 16                      # so many parts are made at once, and put together while they are in the cache
    UNASKED = 524288                # numbers between two questions whether the call is to end, of up to 50 ns
    LANES = 64                      # binomial counts that are made side by side

ctypedef void (*Fill)(bitgen_t* bits, npy_intp count, double* out) noexcept nogil
ctypedef void (*FloatFill)(bitgen_t* bits, npy_intp count, float* out) noexcept nogil
ctypedef double (*Plain)(bitgen_t* bits) noexcept nogil
ctypedef double (*OfOne)(bitgen_t* bits, double first) noexcept nogil
ctypedef double (*OfTwo)(bitgen_t* bits, double first, double second) noexcept nogil
ctypedef double (*OfThree)(bitgen_t* bits, double first, double second, double third) noexcept nogil
ctypedef int64_t (*CountOfOne)(bitgen_t* bits, double first) noexcept nogil
ctypedef int64_t (*CountOfTwo)(bitgen_t* bits, double first, double second) noexcept nogil

cdef enum Shape:                    # which of these types a function has
    FILL, PLAIN, OF_ONE, OF_TWO, OF_THREE, COUNT_OF_ONE, COUNT_OF_TWO, BINOMIAL, INTEGERS, MASKED_INTEGERS, GAMMA
    HYPERGEOMETRIC
    MERSENNE_UNIFORM, MERSENNE_NORMAL, LEGACY_BINOMIAL

cdef struct Tables:                 # of binomial counts, computed anew where the parameters change
    binomial_t binomial
    phintys_legacy_table legacy

cdef enum Rule:                     # what a parameter must be
    ANY, FROM_0, ABOVE_0, FRACTION, FRACTION_ABOVE_0, FRACTION_BELOW_1, ABOVE_1, POISSON_MEAN, TRUE, NOT_BELOW_0
    WIDTH, FINITE, UP_TO_BILLION

RULES = {"any": ANY, "at least 0": FROM_0, "above 0": ABOVE_0, "from 0 to 1": FRACTION,
         "above 0 and at most 1": FRACTION_ABOVE_0, "at least 0 and below 1": FRACTION_BELOW_1, "above 1": ABOVE_1,
         "at least 0 and at most 9.22e18": POISSON_MEAN, "true": TRUE, "0 or above": NOT_BELOW_0,
         "finite, and at least 0": WIDTH, "finite": FINITE, "from 0 to 999,999,999": UP_TO_BILLION}
RULE_TEXTS = {number: text for text, number in RULES.items()}

# Name → (type of the function, the function's address, and of that for float32). Distributions of a location and a
# scale are drawn with location 0 and scale 1.
cdef dict FUNCTIONS = {
    "random": (FILL, <size_t><Fill>random_standard_uniform_fill, <size_t><FloatFill>random_standard_uniform_fill_f),
    "normal": (FILL, <size_t><Fill>random_standard_normal_fill, <size_t><FloatFill>random_standard_normal_fill_f),
    "exponential": (FILL, <size_t><Fill>random_standard_exponential_fill,
                    <size_t><FloatFill>random_standard_exponential_fill_f),
    "standard_cauchy": (PLAIN, <size_t><Plain>random_standard_cauchy, 0),
    "laplace": (PLAIN, <size_t><Plain>standard_laplace, 0),
    "gumbel": (PLAIN, <size_t><Plain>standard_gumbel, 0),
    "logistic": (PLAIN, <size_t><Plain>standard_logistic, 0),
    "rayleigh": (PLAIN, <size_t><Plain>standard_rayleigh, 0),
    "gamma": (GAMMA, 0, 0),
    "chisquare": (OF_ONE, <size_t><OfOne>random_chisquare, 0),
    "pareto": (OF_ONE, <size_t><OfOne>random_pareto, 0),
    "power": (OF_ONE, <size_t><OfOne>random_power, 0),
    "standard_t": (OF_ONE, <size_t><OfOne>random_standard_t, 0),
    "weibull": (OF_ONE, <size_t><OfOne>random_weibull, 0),
    "beta": (OF_TWO, <size_t><OfTwo>random_beta, 0),
    "f": (OF_TWO, <size_t><OfTwo>random_f, 0),
    "lognormal": (OF_TWO, <size_t><OfTwo>random_lognormal, 0),
    "noncentral_chisquare": (OF_TWO, <size_t><OfTwo>random_noncentral_chisquare, 0),
    "vonmises": (OF_TWO, <size_t><OfTwo>random_vonmises, 0),
    "wald": (OF_TWO, <size_t><OfTwo>random_wald, 0),
    "triangular": (OF_THREE, <size_t><OfThree>random_triangular, 0),
    "noncentral_f": (OF_THREE, <size_t><OfThree>random_noncentral_f, 0),
    "geometric": (COUNT_OF_ONE, <size_t><CountOfOne>random_geometric, 0),
    "logseries": (COUNT_OF_ONE, <size_t><CountOfOne>random_logseries, 0),
    "poisson": (COUNT_OF_ONE, <size_t><CountOfOne>random_poisson, 0),
    "zipf": (COUNT_OF_ONE, <size_t><CountOfOne>random_zipf, 0),
    "negative_binomial": (COUNT_OF_TWO, <size_t><CountOfTwo>random_negative_binomial, 0),
    "binomial": (BINOMIAL, 0, 0),
    "hypergeometric": (HYPERGEOMETRIC, 0, 0),
    "integers": (INTEGERS, 0, 0),
    # As numpy.random.RandomState draws them, from MT19937.
    "randomstate_uniform": (MERSENNE_UNIFORM, <size_t><OfTwo>uniform_between, 0),
    "randomstate_normal": (MERSENNE_NORMAL, <size_t><OfTwo>paired_normal, 0),
    "randomstate_binomial": (LEGACY_BINOMIAL, 0, 0),
    "randomstate_poisson": (COUNT_OF_ONE, <size_t><CountOfOne>random_poisson, 0),
    "randomstate_integers": (MASKED_INTEGERS, 0, 0),
}


phintys_prepare_vectors()
phintys_set = set_of_process()


cdef double uniform_between(bitgen_t* bits, double low, double high) noexcept nogil:
    return low + (high - low) * bits.next_double(bits.state)


cdef double paired_normal(bitgen_t* bits, double mean, double deviation) noexcept nogil:
    return mean + deviation * phintys_paired_normal(<uint64_t*>bits.state)


cdef double standard_laplace(bitgen_t* bits) noexcept nogil:
    return random_laplace(bits, 0, 1)


cdef double standard_gumbel(bitgen_t* bits) noexcept nogil:
    return random_gumbel(bits, 0, 1)


cdef double standard_logistic(bitgen_t* bits) noexcept nogil:
    return random_logistic(bits, 0, 1)


cdef double standard_rayleigh(bitgen_t* bits) noexcept nogil:
    return random_rayleigh(bits, 1)


include "draw_fills.pxi"


cdef inline bint obeys(double value, int rule) noexcept nogil:
    if rule == ANY:
        return True
    if rule == FROM_0:
        return isnan(value) or not signbit(value)
    if rule == ABOVE_0:
        return value > 0
    if rule == FRACTION:
        return 0 <= value <= 1
    if rule == FRACTION_ABOVE_0:
        return 0 < value <= 1
    if rule == FRACTION_BELOW_1:
        return 0 <= value < 1
    if rule == ABOVE_1:
        return value > 1
    if rule == NOT_BELOW_0:
        return value >= 0
    if rule == WIDTH:
        return isfinite(value) and not signbit(value)
    if rule == FINITE:
        return isfinite(value)
    if rule == UP_TO_BILLION:
        return 0 <= value < 1000000000
    if rule == POISSON_MEAN:
        return 0 <= value <= 9.223372006484771e18
    return value != 0


cdef class DrawKernel(Kernel):
    """See the docstring of the file.

    Parameters
    ----------
    name : str
        Of the distribution, which is its name in ``numpy.random.Generator``.
    kind : int
        The number of the bit generator in ``bit_generators.h``.
    parameters : sequence of (str, str)
        The name of each parameter, and what it must be: a key of ``RULES``.

    Raises
    ------
    ValueError
        Raised by ``prepare`` if the state is that of another generator, a parameter is out of range, or a parameter
        cannot be broadcast to the sample.
    """
    cdef Shape kind_of_function
    cdef size_t function, float_function
    cdef int kind, count
    cdef int rules[MOST]
    cdef tuple names
    cdef str name
    cdef bytes encoded
    cdef const char* text           # the name, for errors

    def __init__(self, name, int kind, parameters):
        cdef int number
        self.kind_of_function, self.function, self.float_function = FUNCTIONS[name]
        self.name, self.kind, self.count = name.removeprefix("randomstate_"), kind, len(parameters)
        self.encoded = self.name.encode()
        self.text = self.encoded
        self.names = tuple([parameter for parameter, _ in parameters])
        for number, (_, rule) in enumerate(parameters):
            self.rules[number] = RULES[rule]
        self.examined, self.binding = tuple(range(1, 2 + self.count)), BOUND
        if name == "normal":
            phintys_read_ziggurat()

    cdef int check(self, Cell** operands, int ndim, npy_intp* shape) except -1 nogil:
        """Check the state and the parameters, and read the shape of the sample."""
        cdef int number
        check_state(operands[0], self.kind, self.name)
        read_size(operands[1], ndim, shape, self.text)
        for number in range(self.count):
            self.check_shape(operands[2 + number], number, ndim, shape)
        if self.count:
            self.check_values(operands)
        return 0

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* sample = operands[3 + self.count]
        cdef npy_intp shape[MAX_RANK]
        self.check(operands, sample.ndim, shape)
        allocate(context, operands[2 + self.count], operands[0].shape)
        allocate(context, sample, shape)
        if cell_size(sample) < LONG_DRAW:
            return 0
        if self.kind_of_function == MERSENNE_UNIFORM:
            return 1
        if self.kind_of_function == MERSENNE_NORMAL:
            scratch(context, PARTS * PART * 2 * sizeof(uint32_t))
            return 1
        return 1 if self.kind == PHINTYS_PCG64 and self.kind_of_function in (FILL, BINOMIAL) else RUNS_ALONE

    cdef int check_shape(self, Cell* parameter, int number, int ndim, const npy_intp* shape) except -1 nogil:
        """Raise if a parameter cannot be broadcast to the sample."""
        cdef int axis
        if not fits(parameter, parameter.ndim, ndim, shape):
            with gil:
                raise ValueError(f"{self.name}: {self.names[number]} of shape {shape_of(parameter)} cannot be "
                                 f"broadcast to the size {tuple_of(shape, ndim)}")

    cdef int check_values(self, Cell** operands) except -1 nogil:
        """Raise if an element of a parameter is out of range."""
        cdef Positions positions
        cdef npy_intp position
        cdef double value
        cdef int number
        for number in range(self.count):
            if self.rules[number] == ANY:
                continue
            begin_walk(&positions, operands[2 + number].ndim, operands[2 + number].shape, operands + 2 + number, 1, 0)
            for position in range(cell_size(operands[2 + number])):
                value = value_at(positions.data[0], operands[2 + number].typenum)
                if not obeys(value, self.rules[number]):
                    return self.refuse_value(number, value)
                next_element(&positions, 1)
        return 0

    cdef int refuse_value(self, int number, double value) except -1 with gil:
        if self.rules[number] == TRUE:
            raise ValueError(f"{self.name}: it is required that {self.names[number]}")
        kind = OverflowError if self.rules[number] == WIDTH and not isfinite(value) else ValueError
        raise kind(f"{self.name}: {self.names[number]} must be {RULE_TEXTS[self.rules[number]]}, got {value:g}")

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* sample = operands[3 + self.count]
        cdef bitgen_t bits = generator_of_copy(operands[0], operands[2 + self.count], self.kind)
        if self.kind_of_function == FILL:
            self.draw_standard(context, &bits, sample)
        elif self.is_short(operands, sample):
            phintys_paired_normals(<uint64_t*>bits.state, words_before(operands[0], operands[2 + self.count]),
                                   cell_size(sample), (<double*>operands[2].data)[0], (<double*>operands[3].data)[0],
                                   <double*>sample.data)
        else:
            self.draw(context, &bits, operands, sample)
        return 0

    cdef inline bint is_short(self, Cell** operands, Cell* sample) noexcept nogil:
        """Whether few normal numbers of a RandomState are drawn, with one mean and one deviation."""
        return (self.kind_of_function == MERSENNE_NORMAL and sample.typenum == cnp.NPY_FLOAT64
                and cell_size(sample) < MANY and cell_size(operands[2]) == 1 and cell_size(operands[3]) == 1)

    cdef void draw_standard(self, Context* context, bitgen_t* bits, Cell* sample) noexcept nogil:
        """Draw numbers of a distribution without parameters."""
        cdef npy_intp count = cell_size(sample)
        cdef Uniform work
        if self.can_count_ahead() and count > PIECE_UNIFORM:
            work.state, work.out = <uint64_t*>bits.state, sample.data
            work.narrow = sample.typenum == cnp.NPY_FLOAT32
            parallel(context, uniform_piece, &work, count, PIECE_UNIFORM)
            phintys_pcg64_after(work.state, count, work.narrow, <uint64_t*>bits.state)
        elif (self.function == <size_t><Fill>random_standard_normal_fill and phintys_normal_tables.known == 1
              and self.kind == PHINTYS_PCG64 and sample.typenum == cnp.NPY_FLOAT64 and context.workers > 1):
            divided_normals(context, <uint64_t*>bits.state, count, <double*>sample.data)
        else:
            self.fill_in_parts(context, bits, sample.typenum == cnp.NPY_FLOAT32, count, sample.data)

    cdef void fill_in_parts(self, Context* context, bitgen_t* bits, bint narrow, npy_intp count,
                            char* out) noexcept nogil:
        cdef npy_intp position = 0, itemsize = sizeof(float) if narrow else sizeof(double)
        while position < count and not (position and interrupted(context)):
            self.fill_standard(bits, narrow, min(count - position, <npy_intp>UNASKED), out + position * itemsize)
            position += UNASKED

    cdef inline bint can_count_ahead(self) noexcept nogil:
        """Whether number n follows from the state and n alone, so that threads may divide the numbers."""
        return self.kind == PHINTYS_PCG64 and self.function == <size_t><Fill>random_standard_uniform_fill

    cdef void fill_standard(self, bitgen_t* bits, bint narrow, npy_intp count, char* out) noexcept nogil:
        """The next numbers of a distribution without parameters; the state advances."""
        cdef uint64_t* state = <uint64_t*>bits.state
        cdef bint normal = (self.function == <size_t><Fill>random_standard_normal_fill
                            and phintys_normal_tables.known == 1)
        if self.can_count_ahead() and narrow:
            phintys_pcg64_floats(state, count, <float*>out)
        elif self.can_count_ahead():
            phintys_pcg64_doubles(state, count, <double*>out)
        elif self.kind == PHINTYS_PCG64 and normal and narrow:
            phintys_pcg64_short_normals(state, count, <float*>out)
        elif self.kind == PHINTYS_PCG64 and normal:
            phintys_pcg64_normals(state, count, <double*>out)
        elif narrow:
            (<FloatFill>self.float_function)(bits, count, <float*>out)
        else:
            (<Fill>self.function)(bits, count, <double*>out)

    cdef void draw(self, Context* context, bitgen_t* bits, Cell** operands, Cell* sample) noexcept nogil:
        """Draw element after element, each with its parameters."""
        cdef Positions positions
        cdef Tables tables
        cdef phintys_tempered_words words
        cdef bitgen_t tempered
        cdef npy_intp position, count = cell_size(sample)
        cdef bint moves = False
        cdef int number
        begin_walk(&positions, sample.ndim, sample.shape, operands + 2, self.count, 0)
        for number in range(self.count):
            moves |= cell_size(operands[2 + number]) != 1
        if count and not moves and self.fill(context, bits, &positions, sample, count):
            return
        if self.kind == PHINTYS_MT19937 and count >= MANY and self.kind_of_function != MERSENNE_NORMAL:
            tempered = phintys_tempered_generator(&words, <uint64_t*>bits.state)
            bits = &tempered
        memset(&tables, 0, sizeof(tables))
        for position in range(count):
            self.draw_one(bits, &positions, &tables, sample, position)
            if position & 4095 == 4095 and interrupted(context):
                return
            if moves:
                next_element(&positions, self.count)

    cdef inline bint fill(self, Context* context, bitgen_t* bits, Positions* positions, Cell* sample,
                          npy_intp count) noexcept nogil:
        """Draw all elements with the same parameters, where there is a loop for that; returns whether there is."""
        cdef int64_t** integer = <int64_t**>positions.data
        cdef uint64_t* out = <uint64_t*>sample.data
        cdef double first, second
        cdef uint64_t width
        if self.kind_of_function == MERSENNE_UNIFORM or self.kind_of_function == MERSENNE_NORMAL:
            first, second = (<double*>positions.data[0])[0], (<double*>positions.data[1])[0]
            if self.kind_of_function == MERSENNE_UNIFORM:
                second -= first
            fill_reals(context, <uint64_t*>bits.state, self.kind_of_function == MERSENNE_NORMAL, first, second, sample,
                       count)
        elif self.kind_of_function in (INTEGERS, MASKED_INTEGERS) and sample.typenum == cnp.NPY_INT64:
            width = <uint64_t>integer[1][0] - <uint64_t>integer[0][0]
            while count > 0:
                self.fill_integers(bits, <uint64_t>integer[0][0], width, min(count, <npy_intp>UNASKED), out)
                out, count = out + UNASKED, 0 if interrupted(context) else count - UNASKED
        elif (self.kind_of_function == BINOMIAL or self.kind_of_function == LEGACY_BINOMIAL) and count >= MANY:
            return fill_binomial(context, bits, self.kind, self.kind_of_function == LEGACY_BINOMIAL,
                                 (<int64_t*>positions.data[0])[0], (<double*>positions.data[1])[0], sample, count)
        else:
            return False
        return True

    cdef void fill_integers(self, bitgen_t* bits, uint64_t least, uint64_t width, npy_intp count,
                            uint64_t* out) noexcept nogil:
        cdef bint masked = self.kind_of_function == MASKED_INTEGERS
        if self.kind == PHINTYS_PCG64 and not masked and width > 0 and width < <uint64_t>0xffffffff:
            phintys_pcg64_integers(<uint64_t*>bits.state, least, <uint32_t>width, count, out)
        else:
            random_bounded_uint64_fill(bits, least, width, count, masked, out)

    cdef inline void draw_one(self, bitgen_t* bits, Positions* positions, Tables* tables, Cell* sample,
                              npy_intp position) noexcept nogil:
        cdef double** real = <double**>positions.data
        cdef int64_t** integer = <int64_t**>positions.data
        cdef uint64_t width, mask
        if self.kind_of_function == PLAIN:
            store_real(sample, position, (<Plain>self.function)(bits))
        elif self.kind_of_function == OF_ONE:
            store_real(sample, position, (<OfOne>self.function)(bits, real[0][0]))
        elif self.kind_of_function in (OF_TWO, MERSENNE_UNIFORM, MERSENNE_NORMAL):
            store_real(sample, position, (<OfTwo>self.function)(bits, real[0][0], real[1][0]))
        elif self.kind_of_function == OF_THREE:
            store_real(sample, position, (<OfThree>self.function)(bits, real[0][0], real[1][0], real[2][0]))
        elif self.kind_of_function == COUNT_OF_ONE:
            store_count(sample, position, (<CountOfOne>self.function)(bits, real[0][0]))
        elif self.kind_of_function == COUNT_OF_TWO:
            store_count(sample, position, (<CountOfTwo>self.function)(bits, real[0][0], real[1][0]))
        elif self.kind_of_function == HYPERGEOMETRIC:
            store_count(sample, position, random_hypergeometric(bits, integer[0][0], integer[1][0], integer[2][0]))
        elif self.kind_of_function == BINOMIAL:
            store_count(sample, position, random_binomial(bits, real[1][0], integer[0][0], &tables.binomial))
        elif self.kind_of_function == LEGACY_BINOMIAL:
            store_count(sample, position, phintys_legacy_binomial(bits, integer[0][0], real[1][0], &tables.legacy))
        elif self.kind_of_function == INTEGERS or self.kind_of_function == MASKED_INTEGERS:
            width = <uint64_t>integer[1][0] - <uint64_t>integer[0][0]
            mask = mask_of(width) if self.kind_of_function == MASKED_INTEGERS else 0
            store_count(sample, position, <int64_t>random_bounded_uint64(
                bits, <uint64_t>integer[0][0], width, mask, self.kind_of_function == MASKED_INTEGERS))
        elif sample.typenum == cnp.NPY_FLOAT32:
            (<float*>sample.data)[position] = random_standard_gamma_f(bits, <float>real[0][0])
        else:
            (<double*>sample.data)[position] = random_standard_gamma(bits, real[0][0])


cdef inline uint64_t mask_of(uint64_t width) noexcept nogil:
    """The smallest number of ones in binary that is not below ``width``."""
    cdef int shift = 1
    while shift < 64:
        width |= width >> shift
        shift *= 2
    return width


cdef inline double value_at(const char* data, int typenum) noexcept nogil:
    return (<const double*>data)[0] if typenum == cnp.NPY_FLOAT64 else <double>(<const int64_t*>data)[0]


include "drawn_elementwise.pxi"
