"""Work along lines on the device: polynomials, searches, convolution."""
from phintys.gpu.kernels.general_source import BLOCKS, THREADS, Description, Launch, describe
from phintys.gpu.kernels.scalar_source import NoSource, computed
from phintys.ops.cumulative.convolution_kernel import VectorConvolutionKernel
from phintys.ops.linalg.polynomial_kernel import HornerKernel, PowerSumsKernel
from phintys.ops.sorting.searching_kernel import SearchsortedKernel


@describe(VectorConvolutionKernel)
def vector_convolution(arguments, named, operands):
    body = """\
    const long long first = i - v.shape[0] + 1 > 0 ? i - v.shape[0] + 1 : 0, last = min(i, x.shape[0] - 1);
    T sum = 0;
    for (long long j = first; j <= last; j++) sum += load_x(j * x.strides[0]) * load_v((i - j) * v.strides[0]);
    store_out(i * out.strides[0], sum);
"""
    return Description(["x", "v", "out"], {"convolve": (THREADS, body)}, [Launch(THREADS, "convolve", "out")],
                       f"typedef {computed(arguments[0])} T;")


@describe(HornerKernel)
def polynomial(arguments, named, operands):
    body = """\
    const T value = load_x(offset_of(x, i));
    T sum = 0;
    for (long long k = 0; k < p.shape[0]; k++) sum = sum * value + load_p(k * p.strides[0]);
    store_out(offset_of(out, i), sum);
"""
    return Description(["p", "x", "out"], {"evaluate": (THREADS, body)}, [Launch(THREADS, "evaluate", "out")],
                       f"typedef {computed(arguments[0])} T;")


@describe(PowerSumsKernel)
def power_sums(arguments, named, operands):
    body = """\
    long long count = 1;
    for (int axis = 0; axis < (int)(sizeof(g.shape) / 8); axis++) count *= g.shape[axis];
    const long long power = out.shape[0] - 1 - i;
    double sum = 0;
    for (long long j = threadIdx.x; j < count; j += GROUP) {
        double term = load_g(offset_of(g, j)), base = load_x(offset_of(x, j));
        for (long long k = power; k; k /= 2, base *= base) if (k & 1) term *= base;
        sum += term;
    }
    sum = total(sum);
    if (threadIdx.x == 0) store_out(i * out.strides[0], sum);
"""
    return Description(["g", "x", None, "out"], {"add": (BLOCKS, body)}, [Launch(BLOCKS, "add", "out")])


@describe(SearchsortedKernel)
def search(arguments, named, operands):
    dtype, right, ordered = arguments
    if ordered or dtype.startswith("complex"):
        raise NoSource("an order")
    # As in NumPy, NaN comes after all numbers.
    less = "(a < b || (b != b && a == a))" if dtype.startswith("float") else "a < b"
    body = f"""\
    const T needle = load_needles(offset_of(needles, i));
    long long low = 0, high = values.shape[0];
    while (low < high) {{
        const long long middle = low + (high - low) / 2;
        const T value = load_values(middle * values.strides[0]);
        if ({"!less(needle, value)" if right else "less(value, needle)"}) low = middle + 1;
        else high = middle;
    }}
    store_out(offset_of(out, i), low);
"""
    return Description(["values", "needles", "out"], {"search": (THREADS, body)}, [Launch(THREADS, "search", "out")],
                       f"typedef {computed(dtype)} T;\n"
                       f"__device__ inline bool less(T a, T b) {{ return {less}; }}")
