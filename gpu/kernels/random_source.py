"""MRG31k3p at the device: a thread for each stream, with the bits of the processor (see ``ops/random/mrg_loops.h``)."""
from phintys.gpu.kernels.general_source import THREADS, Description, Launch, describe
from phintys.ops.random.mrg_kernel import MrgNormalKernel, MrgUniformKernel, StateRowsKernel

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
