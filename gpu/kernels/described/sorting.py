"""Sorting on the device: a block of threads sorts each line by merging, in memory of the device.

An element finds its place in the merged run by counting the elements of the other run that come before it. Equal
elements keep their order, and NaN is larger than all numbers, as in NumPy. Positions of equal elements differ from
those of an algorithm that is not stable, so such an order is left to the processor unless elements are floats. A
partition is a sorted line: the elements at the chosen places are those of the processor, the others may be elsewhere.
One block sorts the rows of a matrix.
"""
from phintys.gpu.kernels.general_source import ALL, BLOCKS, Description, Launch, describe
from phintys.gpu.kernels.scalar_source import NoSource, computed
from phintys.ops.sorting.row_order_kernel import RowOrderKernel
from phintys.ops.sorting.sorting_kernel import ArgSortKernel, PartitionKernel, SortKernel, TopKKernel

FUNCTIONS = """\
typedef {computed} T;
__device__ inline bool precedes(T a, T b) {{ return {precedes}; }}
// How many of `count` sorted elements come before one; of equal elements those that are first.
__device__ inline long long before(const T* values, const long long* order, long long count, T value, bool or_equal) {{
    long long low = 0;
    while (low < count) {{
        const long long middle = low + (count - low) / 2;
        const T other = values[order[middle]];
        if (or_equal ? !precedes(value, other) : precedes(other, value)) low = middle + 1;
        else count = middle;
    }}
    return low;
}}
"""
BODY = """\
    const int axis = {axis};
    const unsigned long long mask = 1ULL << axis;
    const long long length = x.shape[axis], start = offset_of(x, i, mask);
    T* values = (T*)(scratch + i * length * {scratch});
    long long* order = (long long*)(values) + length;
    long long* merged = order + length;
    for (long long j = threadIdx.x; j < length; j += GROUP) {{
        values[j] = load_x(start + j * x.strides[axis]);
        order[j] = j;
    }}
    for (long long width = 1; width < length; width *= 2) {{
        __syncthreads();
        for (long long j = threadIdx.x; j < length; j += GROUP) {{
            const long long run = j / (2 * width) * (2 * width), half = min(run + width, length);
            const long long end = min(run + 2 * width, length);
            const bool first = j < half;
            const T value = values[order[j]];
            const long long rank = first ? j - run + before(values, order + half, end - half, value, false)
                                         : j - half + before(values, order + run, half - run, value, true);
            merged[run + rank] = order[j];
        }}
        long long* other = order;
        order = merged;
        merged = other;
    }}
    __syncthreads();
{write}
"""
WRITE = """\
    for (long long j = threadIdx.x; j < {count}; j += GROUP)
        store_{name}(offset_of({name}, i, mask) + j * {name}.strides[axis], {value});
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
SCRATCH = 24                    # bytes for each element: a value of at most 8, and two positions


def functions(dtype):
    """The comparison."""
    if dtype.startswith("complex"):
        raise NoSource(dtype)
    less = "a < b || (b != b && a == a)" if dtype.startswith("float") else "a < b"
    return FUNCTIONS.format(computed=computed(dtype), precedes=less)


def described(names, dtype, axis, writes, launch):
    body = BODY.format(axis=axis, scratch=SCRATCH, write="".join([WRITE.format(name=name, count=count, value=value)
                                                 for name, count, value in writes]))
    return Description(names, {"sort": (BLOCKS, body)}, [launch], functions(dtype), scratch=("x", SCRATCH))


AXIS = "(long long)axis_of_x < 0 ? (int)axis_of_x + (int)(sizeof(x.shape) / 8) : (int)axis_of_x"


@describe(SortKernel)
def sort(arguments, named, operands):
    return described(["x", "axis_of_x", "out"], arguments[0], AXIS, [("out", "length", "values[order[j]]")],
                     Launch(BLOCKS, "sort", "x", along="axis_of_x"))


@describe(ArgSortKernel)
def order(arguments, named, operands):
    dtype, kind = arguments
    if kind not in ("stable", "mergesort") and not dtype.startswith("float"):
        raise NoSource("an order that is not stable")
    return described(["x", "axis_of_x", "out"], dtype, AXIS, [("out", "length", "order[j]")],
                     Launch(BLOCKS, "sort", "x", along="axis_of_x"))


@describe(TopKKernel)
def best(arguments, named, operands):
    dtype, axis, _, _, values, places = arguments
    # The largest are the last ones in sorted order; the best comes first.
    place = "order[k > 0 ? length - 1 - j : j]"
    count = "(long long)(k > 0 ? k : -k)"
    writes = [("out", count, f"values[{place}]")] * bool(values) + [("places", count, place)] * bool(places)
    names = ["x", "k", *(["out"] if values else []), *(["places"] if places else [])]
    return described(names, dtype, axis, writes, Launch(BLOCKS, "sort", "x", ALL ^ (1 << axis)))


@describe(PartitionKernel, several_results=True)
def partition(arguments, named, operands):
    dtype, places = arguments
    return described(["x", None, "axis_of_x", "out"], dtype, AXIS,
                     [("out", "length", "order[j]" if places else "values[order[j]]")],
                     Launch(BLOCKS, "sort", "x", along="axis_of_x"))


@describe(RowOrderKernel)
def order_rows(arguments, named, operands):
    return Description(["x", "out"], {"order": (BLOCKS, ORDER_ROWS)}, [Launch(BLOCKS, "order", "out", 0)],
                       functions(arguments[0]) + ROWS, scratch=("out", 16))
