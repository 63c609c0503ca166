"""Random numbers on the device.

MRG31k3p has a thread for each stream, with the bits of the processor (see ``ops/random/mrg_loops.h``). Uniform numbers
of NumPy's generators have those of ``ops/random/bit_generators.h``: a thread finds its words by itself. Multinomial
samples from uniform numbers have a thread for each row of probabilities. Sums are in double precision and in the order
of the processor, so the outcomes are the same; which of several rows that have no probabilities an error names is open.
"""
from phintys.gpu.kernels.general_source import THREADS, Description, Launch, describe
from phintys.gpu.kernels.scalar_source import NoSource
from phintys.ops.random.mrg_kernel import MrgNormalKernel, MrgUniformKernel, StateRowsKernel
from phintys.ops.random.multinomial_kernel import MultinomialKernel

FUNCTIONS = """\
#define M1 2147483647u
#define M2 2147462579u
__device__ inline unsigned reduced(unsigned y, unsigned m) { return y - m < y ? y - m : y; }
__device__ inline int integer_of(unsigned first, unsigned second) {
    return (int)(first <= second ? first - second + M1 : first - second);
}
__device__ inline int next(unsigned* x) {
    const unsigned a = x[1], b = x[2], c = x[3], d = x[5];
    unsigned first = reduced(((a & 511) << 22) + (a >> 9) + ((b & 0xffffff) << 7) + (b >> 24), M1);
    first = reduced(first + b, M1);
    x[2] = a, x[1] = x[0], x[0] = first;
    const unsigned left = reduced(((c & 0xffff) << 15) + 21069 * (c >> 16), M2);
    unsigned right = reduced(((d & 0xffff) << 15) + 21069 * (d >> 16), M2);
    right = reduced(right + d, M2);
    const unsigned second = reduced(right + left, M2);
    x[5] = x[4], x[4] = c, x[3] = second;
    return integer_of(first, second);
}
"""
SAMPLES = {"float32": "(float)z * 4.6566126e-10f", "float64": "(double)z * 4.656612873077392578125e-10",
           "float16": "(float)((double)((z & 0x7fff) + 1) * 0.000030457973480224609375)"}
BODY = """\
    const long long streams = state.shape[0];
    long long count = 1;
    for (int axis = 0; axis < (int)(sizeof(out.shape) / 8); axis++) count *= out.shape[axis];
    unsigned x[6];
    for (int k = 0; k < 6; k++) x[k] = (unsigned)load_state(at(state, i, k));
    for (long long sample = i; sample < {end}; sample += streams) {{
        const int z = next(x);
        if (sample < count) store_out(offset_of(out, sample), {sample});
    }}
    for (int k = 0; k < 6; k++) store_advanced(at(advanced, i, k), (int)x[k]);
"""
# The method of Box and Muller, in place. With an odd number of samples the last pair needs one more, which is what the
# state of its stream has just made.
PAIR = """\
    const long long pairs = (items + 1) / 2;
    if (i < pairs) {{
        const long long first = offset_of(out, i), stream = items % state.shape[0];
        const int z = integer_of((unsigned)load_advanced(at(advanced, stream, 0)),
                                 (unsigned)load_advanced(at(advanced, stream, 3)));
        const T_out radius = sqrt((T_out)-2 * log(load_out(first)));
        const T_out angle = (T_out)6.283185307179586 * (pairs + i < items ? load_out(offset_of(out, pairs + i))
                                                                          : (T_out)({sample}));
        store_out(first, radius * cos(angle));
        if (pairs + i < items) store_out(offset_of(out, pairs + i), radius * sin(angle));
    }}
"""
ROWS = """\
    const long long row = i / state.shape[1], column = i % state.shape[1];
    store_out(at(out, row, column), row < rows.shape[0] ? load_rows(at(rows, row, column))
                                                        : load_state(at(state, row, column)));
"""


@describe(MrgUniformKernel)
def uniform(arguments, named, operands):
    body = BODY.format(sample=SAMPLES[operands[-1][0]], end="count")
    return Description(["state", None, "advanced", "out"], {"draw": (THREADS, body)},
                       [Launch(THREADS, "draw", "advanced", 1)], FUNCTIONS)


@describe(MrgNormalKernel)
def normal(arguments, named, operands):
    sample = SAMPLES[operands[-1][0]]
    bodies = {"draw": (THREADS, BODY.format(sample=sample, end="count + count % 2")),
              "pair": (THREADS, PAIR.format(sample=sample))}
    return Description(["state", None, "advanced", "out"], bodies,
                       [Launch(THREADS, "draw", "advanced", 1), Launch(THREADS, "pair", "out")], FUNCTIONS)


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
    Wide here = {own[0], own[1]}, factor = MULTIPLIER, offset = {own[2], own[3]};
    for (U64 steps = thread + FIRST; steps; steps >>= 1) {
        if (steps & 1) here = plus(times(here, factor), offset);
        offset = plus(times(offset, factor), offset);
        factor = times(factor, factor);
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
#define MULTIPLIER {2549297995355413924ULL, 4865540595714422341ULL}
#define FIRST 1         /* a word is made of the state after its step */
__device__ inline U64 output(Wide state) {
    const U64 folded = state.high ^ state.low;
    const unsigned turn = (unsigned)(state.high >> 58);
    return folded >> turn | folded << (-turn & 63);
}
""",
    "PCG64DXSM": """\
#define CHEAP 0xda942042e4dd58b5ULL
#define MULTIPLIER {0, CHEAP}
#define FIRST 0         /* a word is made of the state before its step */
__device__ inline U64 output(Wide state) {
    U64 high = (state.high ^ state.high >> 32) * CHEAP;
    return (high ^ high >> 48) * (state.low | 1);
}
"""}
# Block 0 is what is left of the buffer.
PHILOX = """\
__device__ inline void philox(const U64* own, U64 blocks, U64* out) {
    U64 a = own[0] + blocks, b = own[1], c = own[2], d = own[3], first = own[4], second = own[5];
    if (a < blocks && ++b == 0 && ++c == 0) ++d;
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
    const U64 blocks = words > left ? (words - left + 3) / 4 : 0;
    for (U64 block = thread; block <= blocks; block += threads) {
        U64 found[4];
        if (block) philox(own, block, found);
        for (U64 lane = block ? 0 : 4 - left; lane < 4; lane++) {
            const U64 word = block ? left + 4 * (block - 1) + lane : lane + left - 4;
            if (word < words) result.put(word, block ? found[lane] : own[7 + lane]);
        }
    }
}
"""
RESULTS = {
    "float64": """\
struct Result {
    double* out;
    __device__ void put(U64 word, U64 bits) const { out[word] = (double)(bits >> 11) * (1.0 / 9007199254740992.0); }
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
    return "\n".join(["typedef unsigned long long U64;", RESULTS[dtype], words,
                      DRAW.replace("Result_type", made[0]).replace("RESULT", made[1])])
