"""The order of the rows of a matrix on the device: a block of threads merges, in memory of the device.

A row finds its place in the merged run by counting the rows of the other run that come before it. Equal rows keep
their order, and NaN is larger than all numbers, as in NumPy.
"""
from phintys.gpu.kernels.general_source import BLOCKS, Description, Launch, describe
from phintys.gpu.kernels.scalar_source import NoSource, computed
from phintys.ops.sorting.row_order_kernel import RowOrderKernel

FUNCTIONS = """\
typedef {computed} T;
__device__ inline bool precedes(T a, T b) {{ return {precedes}; }}
"""
ROWS = """\
__device__ inline bool row_precedes(const View<2>& x, long long first, long long second) {
    for (long long c = 0; c < x.shape[1]; c++) {
        const T a = load_x(at(x, first, c)), b = load_x(at(x, second, c));
        if (precedes(a, b)) return true;
        if (precedes(b, a)) return false;
    }
    return false;
}
// How many of `count` sorted rows come before one; of equal rows those that are first.
__device__ inline long long rows_before(const View<2>& x, const long long* order, long long count, long long row,
                                        bool or_equal) {
    long long low = 0;
    while (low < count) {
        const long long middle = low + (count - low) / 2, other = order[middle];
        if (or_equal ? !row_precedes(x, row, other) : row_precedes(x, other, row)) low = middle + 1;
        else count = middle;
    }
    return low;
}
"""
ORDER_ROWS = """\
    const long long length = x.shape[0];
    long long* order = (long long*)scratch;
    long long* merged = order + length;
    for (long long j = threadIdx.x; j < length; j += GROUP) order[j] = j;
    for (long long width = 1; width < length; width *= 2) {
        __syncthreads();
        for (long long j = threadIdx.x; j < length; j += GROUP) {
            const long long run = j / (2 * width) * (2 * width), half = min(run + width, length);
            const long long end = min(run + 2 * width, length);
            const bool first = j < half;
            const long long rank = first ? j - run + rows_before(x, order + half, end - half, order[j], false)
                                         : j - half + rows_before(x, order + run, half - run, order[j], true);
            merged[run + rank] = order[j];
        }
        long long* other = order;
        order = merged;
        merged = other;
    }
    __syncthreads();
    for (long long j = threadIdx.x; j < length; j += GROUP) store_out(j * out.strides[0], order[j]);
"""

def functions(dtype):
    """The comparison."""
    if dtype.startswith("complex"):
        raise NoSource(dtype)
    less = "a < b || (b != b && a == a)" if dtype.startswith("float") else "a < b"
    return FUNCTIONS.format(computed=computed(dtype), precedes=less)


@describe(RowOrderKernel)
def order_rows(arguments, named, operands):
    return Description(["x", "out"], {"order": (BLOCKS, ORDER_ROWS)}, [Launch(BLOCKS, "order", "out", 0)],
                       functions(arguments[0]) + ROWS, scratch=("out", 16))
