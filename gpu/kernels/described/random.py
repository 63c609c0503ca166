"""Random numbers on the device.

MRG31k3p has the bits of the processor (see ``ops/random/mrg_loops.h``). A thread has the state of a stream in
registers, and makes a part of its numbers: it jumps there by powers of the two recurrences' matrices. Uniform numbers
of NumPy's generators have those of ``ops/random/bit_generators.h``: a thread finds its words by itself. Multinomial
samples from uniform numbers have a thread for each row of probabilities. Sums are in double precision and in the order
of the processor, so the outcomes are the same; which of several rows that have no probabilities an error names is open.
"""
from phintys.gpu.kernels.general_source import ALL, RAW, THREADS, Description, Launch, describe
from phintys.gpu.kernels.scalar_source import NoSource
from phintys.gpu.kernels.vector_source import VECTORS
from phintys.ops.random.mrg_kernel import MrgNormalKernel, MrgUniformKernel, StateRowsKernel
from phintys.ops.random.multinomial_kernel import MultinomialKernel

M1, M2 = 2 ** 31 - 1, 2 ** 31 - 21069
LEAST = 16                      # a part of a stream has a multiple of so many numbers: a jump takes a step for each bit


def squared(matrix, modulus):
    return [[sum([matrix[i][k] * matrix[k][j] for k in range(3)]) % modulus for j in range(3)] for i in range(3)]


def jumps():
    """The matrices of both recurrences for 1, 2, 4, ... steps, as text."""
    first, second = [[0, 2 ** 22, 129], [1, 0, 0], [0, 1, 0]], [[2 ** 15, 0, 32769], [1, 0, 0], [0, 1, 0]]
    for _ in range(31):
        yield "{" + ", ".join([f"{number}u" for row in first + second for number in row]) + "}"
        first, second = squared(first, M1), squared(second, M2)


FUNCTIONS = f"""\
#define M1 {M1}u
#define M2 {M2}u
__constant__ unsigned JUMPS[31][18] = {{{", ".join(jumps())}}};
""" + """\
__device__ inline unsigned reduced(unsigned y, unsigned m) { return min(y, y - m); }     // for y < 2 m
__device__ inline int integer_of(unsigned first, unsigned second) {
    const unsigned less = first - second - 1;
    return (int)(min(less, less + M1) + 1);
}
// A state is x[0], x[1], x[2] of the recurrence modulo M1, and the others of that modulo M2, the newest first.
__device__ inline int next(unsigned* x) {
    const unsigned a = x[1], b = x[2], c = x[3], d = x[5];
    // Times 2^22 and 2^7 modulo M1 are rotations of 31 bits; 2^31 is 21069 modulo M2.
    unsigned first = reduced((a << 22 & M1 | a >> 9) + (b << 7 & M1 | b >> 24), M1);
    first = reduced(first + b, M1);
    const unsigned left = reduced((c << 15 & M1) + 21069 * (c >> 16), M2);
    unsigned right = reduced((d << 15 & M1) + 21069 * (d >> 16), M2);
    right = reduced(right + d, M2);
    const unsigned second = reduced(right + left, M2);
    x[2] = a, x[1] = x[0], x[0] = first;
    x[5] = x[4], x[4] = c, x[3] = second;
    return integer_of(first, second);
}
// A row of a matrix times a vector: sums of three products are below 2^64, and what is folded twice below 2 m.
__device__ inline unsigned product(const unsigned* row, const unsigned* x, unsigned fold, unsigned m) {
    unsigned long long sum = (unsigned long long)row[0] * x[0] + (unsigned long long)row[1] * x[1]
        + (unsigned long long)row[2] * x[2];
    sum = (sum & M1) + fold * (sum >> 31);
    return reduced((unsigned)((sum & M1) + fold * (sum >> 31)), m);
}
__device__ inline void jump(unsigned* x, unsigned steps) {
    for (int bit = 0; steps >> bit; bit++) {
        if (!(steps >> bit & 1)) continue;
        unsigned to[6];
#pragma unroll
        for (int row = 0; row < 3; row++) {
            to[row] = product(JUMPS[bit] + 3 * row, x, 1, M1);
            to[3 + row] = product(JUMPS[bit] + 9 + 3 * row, x + 3, 21069, M2);
        }
#pragma unroll
        for (int k = 0; k < 6; k++) x[k] = to[k];
    }
}
"""
SAMPLES = {"float32": "(float)z * 4.6566126e-10f", "float64": "(double)z * 4.656612873077392578125e-10",
           "float16": "(float)((double)((z & 0x7fff) + 1) * 0.000030457973480224609375)"}
# Number `draw` of a stream is sample draw * streams + stream. If the new state is in place of the old one, a stream has
# one thread.
BODY = """\
    const unsigned streams = (unsigned)state.shape[0], rows = (unsigned)advanced.shape[0];
    unsigned count = 1;
    for (int axis = 0; axis < (int)(sizeof(out.shape) / 8); axis++) count *= (unsigned)out.shape[axis];
    // Streams draw `whole` numbers, and the first `rest` of them one more.
    const unsigned whole = (count + {extra}) / max(streams, 1u), rest = count + {extra} - whole * streams;
    const unsigned most = whole + (rest != 0);
    const unsigned share = state.data == advanced.data || threads < rows ? 1 : (unsigned)threads / rows;
    const unsigned each = max((most + share - 1) / share + {least} - 1, {least}u) / {least} * {least};
    const unsigned parts = max((most + each - 1) / each, 1u);
    for (long long i = thread; i < rows * (long long)parts; i += threads) {{
        const unsigned part = (unsigned)i / rows, stream = (unsigned)i - part * rows;
        unsigned x[6];
#pragma unroll
        for (int k = 0; k < 6; k++) x[k] = (unsigned)load_state(at(state, stream, k));
        if (part) jump(x, part * each);
        const unsigned draws = whole + (stream < rest);
        const unsigned begin = min(part * each, draws), end = min(begin + each, draws);
        long long sample = begin * (long long)streams + stream;
        unsigned draw = begin;
        for (; draw + 4 < end; draw += 4) {{          // the last one may not be stored
            T_out values[4];
#pragma unroll
            for (int k = 0; k < 4; k++) {{
                const int z = next(x);
                values[k] = {sample};
            }}
#pragma unroll
            for (int k = 0; k < 4; k++, sample += streams) store_out(sample * sizeof(S_out), values[k]);
        }}
        for (; draw < end; draw++, sample += streams) {{
            const int z = next(x);
            if (sample < count) store_out(sample * sizeof(S_out), {sample});
        }}
        if (end == draws && (begin < end || part == 0))
            for (int k = 0; k < 6; k++) store_advanced(at(advanced, stream, k), (int)x[k]);
    }}
"""
# The method of Box and Muller, in place. With an odd number of samples the last pair needs one more, which is what the
# state of its stream has just made.
PAIR_OF = """\
__device__ inline void make_normal(T_out& first, T_out& other) {
    const T_out radius = sqrt((T_out)-2 * log(first));
    T_out sine, cosine;
    sincospi(2 * other, &sine, &cosine);
    first = radius * cosine, other = radius * sine;
}
"""
PAIR = """\
    enum {{ EACH = 16 / sizeof(S_out) }};
    const long long pairs = (items + 1) / 2, stream = items % state.shape[0];
    T_out* const first = (T_out*)out.data;
    T_out* const other = first + pairs;
    if (items % (2 * EACH) == 0 && is_aligned<T_out, EACH>(first)) {{
        for (long long i = thread * EACH; i < pairs; i += threads * EACH) {{
            Pack<T_out> a = load_pack(first + i), b = load_pack(other + i);
#pragma unroll
            for (int k = 0; k < EACH; k++) make_normal(a.v[k], b.v[k]);
            store_pack(first + i, a), store_pack(other + i, b);
        }}
        return;
    }}
    for (long long i = thread; i < pairs; i += threads) {{
        const int z = integer_of((unsigned)load_advanced(at(advanced, stream, 0)),
                                 (unsigned)load_advanced(at(advanced, stream, 3)));
        T_out a = first[i], b = pairs + i < items ? other[i] : (T_out)({sample});
        make_normal(a, b);
        first[i] = a;
        if (pairs + i < items) other[i] = b;
    }}
"""
ROWS = """\
    const long long row = i / state.shape[1], column = i % state.shape[1];
    store_out(at(out, row, column), row < rows.shape[0] ? load_rows(at(rows, row, column))
                                                        : load_state(at(state, row, column)));
"""


def draw(dtype, extra):
    """The kernel that draws, and its launch: two blocks of 128 for each multiprocessor have the threads that hide
    the latency of steps, and each further part of a stream costs a jump."""
    body = BODY.format(sample=SAMPLES[dtype], extra=extra, least=LEAST)
    return {"draw": (RAW, body)}, Launch(THREADS, "draw", "advanced", ALL, block=128, most=2)


@describe(MrgUniformKernel)
def uniform(arguments, named, operands):
    bodies, launch = draw(operands[-1][0], "0")
    return Description(["state", None, "advanced", "out"], bodies, [launch], FUNCTIONS)


@describe(MrgNormalKernel)
def normal(arguments, named, operands):
    dtype = operands[-1][0]
    bodies, launch = draw(dtype, "count % 2")
    bodies["pair"] = (RAW, PAIR.format(sample=SAMPLES[dtype]))
    launches = [launch, Launch(THREADS, "pair", "out", most=8)]
    return Description(["state", None, "advanced", "out"], bodies, launches, VECTORS + FUNCTIONS + PAIR_OF)


@describe(StateRowsKernel)
def rows(arguments, named, operands):
    return Description(["state", "rows", "out"], {"assign": (THREADS, ROWS)}, [Launch(THREADS, "assign", "out")])


# ---- multinomial samples from uniform numbers -----------------------------------------------------------------------
# `values` and `counts` are rows of scratch memory.
ROW_START = """\
    const long long outcomes = p.shape[1], samples = (long long)n;
    double* values = (double*)(scratch + i * outcomes * 16);
    double* counts = values + outcomes;
    double sum = 0;
    bool grows = true;
    for (long long c = 0; c < outcomes; c++) {{
        const double share = (double)load_p(at(p, i, c));
        grows = grows && share >= 0;
        sum += share;
        values[c] = {kept};
    }}
    const double far = sum - 1;
    if ({wanted} && outcomes > 0 && !(grows && fabs(far) <= {tolerance})) {{ tell(note, i, 0, 0); continue; }}
"""
COUNTS = """\
    for (long long c = 0; c < outcomes; c++) counts[c] = 0;
    for (long long sample = 0; sample < samples; sample++) {
        const double number = (double)load_uniform((sample * p.shape[0] + i) * uniform.strides[0]);
        long long low = 0, high = outcomes;
        while (low < high) {
            const long long middle = (low + high) / 2;
            if (values[middle] > number) high = middle;
            else low = middle + 1;
        }
        if (low < outcomes) counts[low] += 1;
    }
    for (long long c = 0; c < outcomes; c++) store_out(at(out, i, c), (T_out)counts[c]);
"""
CHOICES = """\
    for (long long sample = 0; sample < samples; sample++) {{
        const double number = (double)load_uniform((sample * p.shape[0] + i) * uniform.strides[0]);
        double reached = 0;
        long long place = 0;
        for (; place < outcomes; place++) {{
            reached += values[place];
            if (reached > number) break;
        }}
        {remove}
        store_out(at(out, i, sample), (T_out)(place < outcomes ? place : -1));
    }}
"""
# An outcome gets the probability 0 and the others the sum 1, with the roundings of their dtype.
REMOVE = """\
        if (place < outcomes && sample < samples - 1) {
            T_p left = (T_p)(reached - values[place]);
            values[place] = 0;
            for (long long c = place; c < outcomes; c++) left = (T_p)((double)left + values[c]);
            for (long long c = 0; c < outcomes; c++) values[c] = (double)(T_p)(values[c] / (double)left);
        }
"""


@describe(MultinomialKernel)
def multinomial(arguments, named, operands):
    chooses, replace, checked = arguments
    dtype = operands[0][0]
    if chooses and not replace and dtype == "float16":
        raise NoSource("the roundings of float16")
    tolerance = "1e-2" if dtype == "float16" else "1e-3"
    body = ROW_START.format(kept="share" if chooses else "sum", tolerance=tolerance,
                        wanted="false" if not checked else "samples > 0" if chooses else "true")
    body += CHOICES.format(remove="" if replace else REMOVE) if chooses else COUNTS
    text = "multinomial: row {value} has no probabilities: one is negative or NaN, or their sum is not 1"
    return Description(["p", "uniform", "n", "out"], {"choose": (THREADS, body)}, [Launch(THREADS, "choose", "p", 1)],
                       scratch=("p", 16), failure=(ValueError, [text]))


# ---- uniform numbers of NumPy's generators --------------------------------------------------------------------------
# What a state has is in `own`, behind the kind and the half that is left; integers of 128 bits are pairs, high and low.
PCG64 = """\
struct Wide { U64 high, low; };
__device__ inline Wide times(Wide a, Wide b) {
    return {__umul64hi(a.low, b.low) + a.high * b.low + a.low * b.high, a.low * b.low};
}
__device__ inline Wide plus(Wide a, Wide b) {
    const U64 low = a.low + b.low;
    return {a.high + b.high + (low < a.low), low};
}
__device__ inline void draw_words(const U64* own, U64 words, U64 thread, U64 threads, const Result& result) {
    Wide here = {own[0], own[1]};
    const unsigned steps = (unsigned)thread + FIRST;
    for (int bit = 0; steps >> bit; bit++) {
        const U64* step = own + 8 + 4 * bit;
        if (steps >> bit & 1) here = plus(times(here, Wide{step[0], step[1]}), Wide{step[2], step[3]});
    }
    const Wide far = {own[4], own[5]}, far_offset = {own[6], own[7]};
    for (U64 word = thread; word < words; word += threads) {
        result.put(word, output(here));
        here = plus(times(here, far), far_offset);
    }
}
"""
OUTPUTS = {
    "PCG64": """\
#define FIRST 1         /* a word is made of the state after its step */
__device__ inline U64 output(Wide state) {
    const U64 folded = state.high ^ state.low;
    const unsigned turn = (unsigned)(state.high >> 58);
    return folded >> turn | folded << (-turn & 63);
}
""",
    "PCG64DXSM": """\
#define CHEAP 0xda942042e4dd58b5ULL
#define FIRST 0         /* a word is made of the state before its step */
__device__ inline U64 output(Wide state) {
    U64 high = (state.high ^ state.high >> 32) * CHEAP;
    return (high ^ high >> 48) * (state.low | 1);
}
"""}
# A thread makes a block of four words, which follow what is left of the buffer.
PHILOX = """\
__device__ inline void philox(const U64* own, U64 blocks, U64* out) {
    U64 a = own[0] + blocks, b = own[1], c = own[2], d = own[3], first = own[4], second = own[5];
    if (a < blocks && ++b == 0 && ++c == 0) ++d;
#pragma unroll
    for (int round = 0; round < 10; round++) {
        const U64 left = 0xD2E7470EE14C6C93ULL * a, over_left = __umul64hi(0xD2E7470EE14C6C93ULL, a);
        const U64 right = 0xCA5A826395121157ULL * c, over_right = __umul64hi(0xCA5A826395121157ULL, c);
        a = over_right ^ b ^ first, b = right;
        c = over_left ^ d ^ second, d = left;
        first += 0x9E3779B97F4A7C15ULL, second += 0xBB67AE8584CAA73BULL;
    }
    out[0] = a, out[1] = b, out[2] = c, out[3] = d;
}
__device__ inline void draw_words(const U64* own, U64 words, U64 thread, U64 threads, const Result& result) {
    const U64 left = own[6] < 4 ? 4 - own[6] : 0;
    if (thread < left && thread < words) result.put(thread, own[11 - left + thread]);
    for (U64 word = left + 4 * thread; word < words; word += 4 * threads) {
        U64 found[4];
        philox(own, (word - left) / 4 + 1, found);
        result.put_four(word, words, found);
    }
}
"""
# `put_four` writes 16 bytes at once, where the address allows it.
RESULTS = {
    "float64": """\
struct Result {
    double* out;
    __device__ static double number(U64 bits) { return (double)(bits >> 11) * (1.0 / 9007199254740992.0); }
    __device__ void put(U64 word, U64 bits) const { out[word] = number(bits); }
    __device__ void put_four(U64 word, U64 words, const U64* bits) const {
        if (word + 4 <= words && is_aligned<double, 2>(out + word)) {
            store_pack(out + word, Pack<double>{number(bits[0]), number(bits[1])});
            store_pack(out + word + 2, Pack<double>{number(bits[2]), number(bits[3])});
            return;
        }
#pragma unroll
        for (int k = 0; k < 4; k++) if (word + k < words) put(word + k, bits[k]);
    }
};
#define WORDS count
#define BEGIN(half)
""",
    # The lower half of a word first; a half that is left comes before all words.
    "float32": """\
struct Result {
    float* out;
    U64 count, before;
    __device__ static float of_half(U64 half) { return (float)((unsigned)half >> 8) * (1.0f / 16777216.0f); }
    __device__ void put(U64 word, U64 bits) const {
        const U64 place = 2 * word + before;
        out[place] = of_half(bits);
        if (place + 1 < count) out[place + 1] = of_half(bits >> 32);
    }
    __device__ void put_four(U64 word, U64 words, const U64* bits) const {
        float* at = out + 2 * word + before;
        if (2 * word + before + 8 <= count && is_aligned<float, 4>(at)) {
#pragma unroll
            for (int k = 0; k < 4; k += 2)
                store_pack(at + 2 * k, Pack<float>{of_half(bits[k]), of_half(bits[k] >> 32),
                                                   of_half(bits[k + 1]), of_half(bits[k + 1] >> 32)});
            return;
        }
#pragma unroll
        for (int k = 0; k < 4; k++) if (word + k < words) put(word + k, bits[k]);
    }
};
#define WORDS ((count - result.before + 1) / 2)
#define BEGIN(half) if (result.before && thread == 0) result.out[0] = Result::of_half(half)
"""}
DRAW = """\
extern "C" __global__ void draw(U64 count, const U64* state, Result_type* out) {
    const U64 thread = blockIdx.x * (U64)blockDim.x + threadIdx.x, threads = gridDim.x * (U64)blockDim.x;
    const Result result = RESULT;
    BEGIN(state[2]);
    draw_words(state + 3, WORDS, thread, threads, result);
}
"""


def draw_source(kind, dtype):
    """The source of uniform numbers of a bit generator.

    Parameters
    ----------
    kind : str
        "PCG64", "PCG64DXSM" or "Philox".
    dtype : str
        "float64" or "float32".
    """
    words = PHILOX if kind == "Philox" else PCG64.replace("__device__ inline void draw_words",
                                                          OUTPUTS[kind] + "__device__ inline void draw_words")
    made = ("double", "{out}") if dtype == "float64" else ("float", "{out, count, state[1]}")
    return "\n".join([VECTORS, "typedef unsigned long long U64;", RESULTS[dtype], words,
                      DRAW.replace("Result_type", made[0]).replace("RESULT", made[1])])
