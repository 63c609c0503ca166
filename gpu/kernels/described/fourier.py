"""Fourier transforms on the device: by cuFFT where it is used and there are enough elements, else by a block of threads
for each line, by the algorithm of Stockham.

A line of n elements is transformed in one step for each factor of n; a step with the factor r reads r elements for each
that it writes, so a length with a large prime factor takes as many steps for each element. Factors of 4 are split off
first. Lines of at most ``NEAR`` elements stay in shared memory, longer ones in scratch memory. The roots of unity are a
table that the first kernel makes, in double precision.
"""
from phintys.gpu.kernels.general_source import ALL, BLOCKS, CALL, RAW, THREADS, Description, Launch, describe, number
from phintys.gpu.libraries.cufft import STEPS, TransformRoutine
from phintys.graph.config import config
from phintys.ops.fourier.transform_kernel import TransformKernel

NEAR_BYTES = 16384              # of shared memory, half of it for each of the two copies of a line

FUNCTIONS = """\
typedef {real} R;
typedef Complex<R> C;
enum {{ NEAR = {near} }};
// The factor of a length that is split off next.
__device__ inline unsigned factor_of(unsigned n) {{
    if (n % 4 == 0) return 4;
    if (n % 2 == 0) return 2;
    for (unsigned d = 3; d <= n / d; d += 2)
        if (n % d == 0) return d;
    return n;
}}
// Where a line begins, by its number.
template <int RANK> __device__ inline long long offset_of_line(const View<RANK>& v, unsigned number, int skipped) {{
    long long offset = 0;
    for (int axis = RANK - 1; axis >= 0; axis--) {{
        if (axis == skipped) continue;
        const unsigned length = (unsigned)v.shape[axis], above = number / length;
        offset += (number - above * length) * v.strides[axis];
        number = above;
    }}
    return offset;
}}
"""
ROOTS = """\
    const long long n = (long long)length;
    C* roots = (C*)scratch;
    for (long long k = thread; k < n; k += threads) {{
        const double turn = 6.283185307179586 * ((double)k / (double)n);
        roots[k] = C((R)cos(turn), (R)({sign}sin(turn)));
    }}
"""
# What thread `e` writes in a step is element q + stride (r p + o): the sum over j of element q + stride (p + m j) times
# the root with number stride (o p + o j m).
TRANSFORM = """\
    __shared__ C near[2 * NEAR];
    const unsigned n = (unsigned)length, given = (unsigned)min((long long)n, x.shape[{axis}]);
    const C* roots = (const C*)scratch;
    C* from = n <= NEAR ? near : (C*)scratch + n + i * 2 * (long long)n;
    C* to = from + (n <= NEAR ? NEAR : n);
    const long long start = offset_of(x, i, 1ULL << {axis}), step = x.strides[{axis}];
{load}
    __syncthreads();
    for (unsigned left = n, stride = 1; left > 1;) {{
        const unsigned r = factor_of(left), m = left / r;
        for (unsigned e = threadIdx.x; e < n; e += GROUP) {{
            const unsigned q = e % stride, o = e / stride % r, p = e / stride / r, turn = o * m;
            unsigned k = o * p;
            C sum(0, 0);
            for (unsigned j = 0; j < r; j++) {{
                sum += from[q + stride * (p + m * j)] * roots[k * stride];
                k = k >= left - turn ? k - (left - turn) : k + turn;
            }}
            to[e] = sum;
        }}
        __syncthreads();
        C* other = from;
        from = to;
        to = other;
        left = m;
        stride *= r;
    }}
    const R scale = (R)({factor});
    const long long end = offset_of(out, i, 1ULL << {axis});
    for (unsigned k = threadIdx.x; k < (unsigned)out.shape[{axis}]; k += GROUP)
        store_out(end + k * out.strides[{axis}], {result});
"""
LOAD = """\
    for (unsigned k = threadIdx.x; k < n; k += GROUP)
        from[k] = k < given ? C(load_x(start + k * step)) : C(0, 0);
"""
# The other half of the spectrum is the conjugate of this one; two elements have no imaginary part.
LOAD_HALF = """\
    for (unsigned k = threadIdx.x; k < n; k += GROUP) {{
        const unsigned place = k <= n / 2 ? k : n - k;
        const C found = place < x.shape[{axis}] ? load_x(start + place * step) : C(0, 0);
        from[k] = C(found.x, k == 0 || 2 * k == n ? (R)0 : k <= n / 2 ? found.y : -found.y);
    }}
"""

# By cuFFT: lines are taken to scratch memory, multiplied by the factor, and given from behind them. There are fewer
# than 2**31 elements.
LINES = """\
    const unsigned n = (unsigned)length, given = {given}, made = (unsigned)out.shape[{axis}];
    const unsigned lines = (unsigned)(items / made);
    {from_type}* taken = ({from_type}*)scratch;
    {to_type}* found = ({to_type}*)(scratch + ((long long)lines * given * sizeof({from_type}) + 255) / 256 * 256);
"""
TAKE = """\
    const R scale = (R)({factor});
    for (unsigned e = (unsigned)thread; e < lines * given; e += (unsigned)threads) {{
        const unsigned line = e / given, k = e - line * given;
        const long long offset = offset_of_line(x, line, {axis}) + k * x.strides[{axis}];
        const C value = k < x.shape[{axis}] ? C(load_x(offset)) : C(0, 0);
        taken[e] = {value};
    }}
"""
GIVE = """\
    for (unsigned e = (unsigned)thread; e < items; e += (unsigned)threads) {{
        const unsigned line = e / made, k = e - line * made;
        store_out(offset_of_line(out, line, {axis}) + k * out.strides[{axis}], found[e]);
    }}
"""
# Lines that cuFFT has read and written where they are.
SCALE = """\
    const R scale = (R)({factor});
    const long long offset = i * (long long)sizeof(S_out);
    const auto value = load_out(offset);
    store_out(offset, {result});
"""


def by_cufft(kind, axis, real, factor):
    """The bodies and launches around a transform by cuFFT."""
    is_real, is_hermitian = kind == "real", kind == "hermitian"
    words = {"axis": axis, "factor": factor, "given": "n / 2 + 1" if is_hermitian else "n",
             "from_type": "R" if is_real else "C", "to_type": "R" if is_hermitian else "C",
             "value": "value.x * scale" if is_real else "C(value.x * scale, value.y * scale)",
             "result": "value * scale" if is_hermitian else "C(value.x * scale, value.y * scale)"}
    if is_hermitian:
        words["value"] = "C(value.x * scale, k == 0 || 2 * k == n ? (R)0 : value.y * scale)"
    lines = LINES.format(**words)
    take, give = lines + TAKE.format(**words), lines + GIVE.format(**words)
    bodies = {"take": (RAW, take), "give": (RAW, give), "scale": (THREADS, SCALE.format(**words))}
    launches = [Launch(THREADS, name, "out", step=STEPS[name]) for name in bodies]
    return bodies, [launches[0], Launch(CALL, STEPS["transform"]), *launches[1:]]


@describe(TransformKernel, by_value=(2,))
def transform(arguments, named, operands):
    kind, dtype, axis = arguments
    real = "double" if dtype in ("float64", "complex128") else "float"
    size = 16 if real == "double" else 8
    load = (LOAD_HALF if kind == "hermitian" else LOAD).format(axis=axis)
    result = "from[k].x * scale" if kind == "hermitian" else "C(from[k].x * scale, from[k].y * scale)"
    body = TRANSFORM.format(axis=axis, load=load, factor=number("factor", operands[2]), result=result)
    sign = "" if kind in ("backward", "hermitian") else "-"
    # Two copies of each line and one table; half of a spectrum has more than half as many elements as a line.
    scratch = size * (6 if kind == "real" else 3)
    bodies = {"roots": (RAW, ROOTS.format(sign=sign)), "transform": (BLOCKS, body)}
    routine, by_routine = None, ()
    if config.gpu.cufft:
        routine = TransformRoutine(kind, dtype, axis)
        more, by_routine = by_cufft(kind, axis, real, number("factor", operands[2]))
        bodies |= more
    return Description(["x", "length", "factor", "out"], bodies,
                       [Launch(THREADS, "roots", "out"), Launch(BLOCKS, "transform", "out", ALL ^ 1 << axis)],
                       FUNCTIONS.format(real=real, near=NEAR_BYTES // size // 2), scratch=("out", scratch),
                       routine=routine, by_routine=by_routine)
