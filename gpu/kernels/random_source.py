"""MRG31k3p at the device: a thread for each stream, with the bits of the processor (see ``ops/random/mrg_loops.h``)."""
from phintys.gpu.kernels.general_source import THREADS, Description, Launch, describe
from phintys.ops.random.mrg_kernel import MrgUniformKernel

FUNCTIONS = """\
#define M1 2147483647u
#define M2 2147462579u
__device__ inline unsigned reduced(unsigned y, unsigned m) { return y - m < y ? y - m : y; }
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
    return (int)(first <= second ? first - second + M1 : first - second);
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
    for (long long sample = i; sample < count; sample += streams) {{
        const int z = next(x);
        store_out(offset_of(out, sample), {sample});
    }}
    for (int k = 0; k < 6; k++) store_advanced(at(advanced, i, k), (int)x[k]);
"""


@describe(MrgUniformKernel)
def uniform(arguments, named, operands):
    dtype = operands[-1][0]
    return Description(["state", None, "advanced", "out"], {"draw": (THREADS, BODY.format(sample=SAMPLES[dtype]))},
                       [Launch(THREADS, "draw", "advanced", 1)], FUNCTIONS)
