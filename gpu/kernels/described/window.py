"""Pooling and its derivatives on the device: a thread for each element of the result.

A gradient is gathered, not scattered: the thread of an element of the image visits the windows that it is in.
"""
from phintys.gpu.kernels.general_source import THREADS, Description, Launch, describe
from phintys.gpu.kernels.scalar_source import computed
from phintys.ops.pooling.pool_kernel import (
    AveragePoolGradKernel,
    MaxFirstKernel,
    MaxPoolGradKernel,
    MaxSelectedKernel,
    PoolKernel,
)

# Dimension `a` of `P` pooled ones, at dimension A of the arrays.
IN_WINDOW = """\
    long long size = 1;
    for (int a = 0; a < P; a++) {
        const long long first = place[OUTER + a] * step.at[a] - pad.at[a];
        begin[a] = first > 0 ? first : 0;
        end[a] = min(first + window.at[a], x.shape[OUTER + a]);
        if (end[a] < begin[a]) end[a] = begin[a];
        size *= end[a] - begin[a];
        elements *= window.at[a];
    }
"""
FUNCTIONS = """\
typedef {computed} T;
enum {{ P = {pooled}, RANK = {rank}, OUTER = {outer} }};
template <int R> __device__ inline void places_of(const View<R>& v, long long number, long long* place) {{
    for (int axis = R - 1; axis >= 0; axis--) {{
        const long long above = quotient_of(number, v.shape[axis]);
        place[axis] = number - above * v.shape[axis];
        number = above;
    }}
}}
template <int R> __device__ inline long long start_of(const View<R>& v, const long long* place) {{
    long long offset = 0;
    for (int axis = 0; axis < OUTER; axis++) offset += place[axis] * v.strides[axis];
    return offset;
}}
template <int R> __device__ inline long long offset_at(const View<R>& v, const long long* place) {{
    long long offset = 0;
    for (int axis = 0; axis < RANK; axis++) offset += place[axis] * v.strides[axis];
    return offset;
}}
template <int R> __device__ inline long long inner_offset(const View<R>& v, const long long* inner) {{
    long long offset = 0;
    for (int a = 0; a < P; a++) offset += inner[a] * v.strides[OUTER + a];
    return offset;
}}
// From one element of a box to the next; false after the last.
__device__ inline bool next_in_box(long long* inner, const long long* begin, const long long* end) {{
    for (int a = P - 1; a >= 0; a--) {{
        if (++inner[a] < end[a]) return true;
        inner[a] = begin[a];
    }}
    return false;
}}
__device__ inline bool same(T a, T b) {{ return a == b || (a != a && b != b); }}
"""
WINDOW = """\
    long long place[RANK], begin[P], end[P], inner[P], elements = 1;
    places_of(out, i, place);
""" + IN_WINDOW + """\
    for (int a = 0; a < P; a++) inner[a] = begin[a];
    const long long start = start_of(x, place);
"""
# Several elements of a window are loaded before the first is used. A maximum may take its first element twice.
AT_ONCE = """\
    for (bool more = size > 0; more;) {
        T e[4];
        bool there[4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            there[k] = more;
            if (!more) continue;
            e[k] = load_x(start + inner_offset(x, inner));
            more = next_in_box(inner, begin, end);
        }
#pragma unroll
        for (int k = 0; k < 4; k++) {
            if (!there[k]) continue;
"""
# The windows with the element of the image at `place`.
COVERING = """\
    long long place[RANK], begin[P], end[P], inner[P];
    bool any = true;
    places_of(out, i, place);
    for (int a = 0; a < P; a++) {
        const long long reach = place[OUTER + a] + pad.at[a];
        begin[a] = reach < window.at[a] ? 0 : quotient_of(reach - window.at[a], step.at[a]) + 1;
        end[a] = min(quotient_of(reach, step.at[a]) + 1, results.shape[OUTER + a]);
        inner[a] = begin[a];
        any = any && begin[a] < end[a];
    }
    const long long start = start_of(results, place);
"""


def described(arguments, named, operands, names, body, functions=""):
    dtype, rank = operands[0][:2]
    pooled = arguments[1]
    text = FUNCTIONS.format(computed=computed(dtype), pooled=pooled, rank=rank, outer=rank - pooled)
    vectors = {"window": pooled, "step": pooled, "pad": pooled}
    return Description(names, {"pool": (THREADS, body)}, [Launch(THREADS, "pool", "out")], text + functions, vectors)


def mode_of(arguments, named):
    """The mode, and how many elements an average divides by: those of the window, or those of the image in it."""
    mode = named.get("mode", arguments[2] if len(arguments) > 2 else "max")
    ignore_border = named.get("ignore_border", arguments[3] if len(arguments) > 3 else True)
    if arguments[0] == "bool" and mode != "max":
        return "max", "size"
    return mode, "elements" if mode == "average_inc_pad" and ignore_border else "size"


@describe(PoolKernel)
def pool(arguments, named, operands):
    mode, count = mode_of(arguments, named)
    first, fold = ("load_x(start + inner_offset(x, inner))", "if (e[k] > found || e[k] != e[k]) found = e[k];"
                   ) if mode == "max" else ("0", "found += e[k];")
    body = f"    T found = {first};\n" + AT_ONCE + f"            {fold}\n        }}\n    }}\n"
    value = "found" if mode in ("max", "sum") else f"(T)(found / (T){count})"
    body = WINDOW + body + f"    store_out(offset_at(out, place), {value});\n"
    return described(arguments, named, operands, ["x", "window", "step", "pad", "out"], body)


@describe(MaxPoolGradKernel)
def max_gradient(arguments, named, operands):
    body = COVERING + """\
    const long long by = start_of(gradient, place);
    const T element = load_x(offset_at(x, place));
    T sum = 0;
    if (any) do {
        if (element == load_results(start + inner_offset(results, inner)))
            sum += load_gradient(by + inner_offset(gradient, inner));
    } while (next_in_box(inner, begin, end));
    store_out(offset_at(out, place), sum);
"""
    names = ["x", "results", "gradient", "window", "step", "pad", "out"]
    return described(arguments, named, operands, names, body)


@describe(AveragePoolGradKernel)
def average_gradient(arguments, named, operands):
    mode, count = mode_of(arguments, named)
    share = ""
    if mode != "sum":
        share = """\
        long long elements = 1, size = 1;
        for (int a = 0; a < P; a++) {
            const long long first = inner[a] * step.at[a] - pad.at[a];
            elements *= window.at[a];
            size *= min(first + window.at[a], out.shape[OUTER + a]) - (first > 0 ? first : 0);
        }
"""
    body = COVERING + f"""\
    T sum = 0;
    if (any) do {{
{share}        sum += load_results(start + inner_offset(results, inner)){"" if mode == "sum" else f" / (T){count}"};
    }} while (next_in_box(inner, begin, end));
    store_out(offset_at(out, place), sum);
"""
    return described(arguments, named, operands, [None, "results", "window", "step", "pad", "out"], body)


@describe(MaxSelectedKernel)
def selected(arguments, named, operands):
    body = WINDOW + """\
    const long long other = start_of(y, place);
    const T largest = load_maxima(offset_at(maxima, place));
    T sum = 0;
    if (size) do {
        if (load_x(start + inner_offset(x, inner)) == largest) sum += load_y(other + inner_offset(y, inner));
    } while (next_in_box(inner, begin, end));
    store_out(offset_at(out, place), sum);
"""
    return described(arguments, named, operands, ["x", "maxima", "y", "window", "step", "pad", "out"], body)


@describe(MaxFirstKernel)
def first_maximum(arguments, named, operands):
    body = WINDOW + """\
    const long long other = start_of(y, place);
    T best = load_x(start + inner_offset(x, inner)), found = load_y(other + inner_offset(y, inner));
    while (next_in_box(inner, begin, end)) {
        const T element = load_x(start + inner_offset(x, inner));
        if (!(element > best || (element != element && best == best))) continue;
        best = element;
        found = load_y(other + inner_offset(y, inner));
    }
    store_out(offset_at(out, place), found);
"""
    return described(arguments, named, operands, ["x", "y", "window", "step", "pad", "out"], body)
