"""Random numbers at the device.

MRG31k3p has a thread for each stream, with the bits of the processor (see ``ops/random/mrg_loops.h``). Multinomial
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
    chooses, replace = arguments
    dtype = operands[0][0]
    if chooses and not replace and dtype == "float16":
        raise NoSource("the roundings of float16")
    tolerance = "1e-2" if dtype == "float16" else "1e-3"
    body = ROW_START.format(kept="share" if chooses else "sum", tolerance=tolerance,
                        wanted="samples > 0" if chooses else "true")
    body += CHOICES.format(remove="" if replace else REMOVE) if chooses else COUNTS
    text = "multinomial: row {value} has no probabilities: one is negative or NaN, or their sum is not 1"
    return Description(["p", "uniform", "n", "out"], {"choose": (THREADS, body)}, [Launch(THREADS, "choose", "p", 1)],
                       scratch=("p", 16), failure=(ValueError, [text]))
