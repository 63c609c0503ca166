"""The source of products of matrices, for operands of any strides.

``tiles`` computes a product of matrices: a block of 256 threads makes 64 x 64 results, each thread 4 x 4 of them, from
tiles of both operands in shared memory. Strides are in elements. ``alpha`` and ``beta`` are values, or addresses on the
device. Products of a matrix and a vector are folds: ``vector_product_source`` of ``reduction_source.py``.

Libraries need as long for a product of which one side is short as for a large one. ``narrow_source`` has kernels for
these: with at most 32 columns, which are part of the source, or at most 32 terms. Sums are in a fixed order.

* ``deep``: a block has some rows of the result, at most 32 sums, and each thread every 256th term of all of them.
* ``down``: the rows of the result lie beside each other in memory (``x.T.d``): a block has 8 rows, a warp 8 rows of
  four terms.
* ``shallow``: a block has 32 x 64 results, of at most 32 terms in shared memory, a thread 2 x 4 results.
"""
from phintys.gpu.kernels.rows.softmax_source import LABELS
from phintys.gpu.kernels.scalar_source import (
    COMPLEX,
    NoSource,
    body_of,
    computed,
    loaded,
    stored,
    to_store,
    with_functions,
)

NAMES = ("tiles",)

SCALING = """\
typedef {type} T;
struct Scaling {{
    const T* alpha;
    const T* beta;
    const T* start;
    long long row_stride, column_stride;
}};
__device__ inline void put(T* out, T sum, const Scaling& scaling, T alpha, T beta, long long row, long long column) {{
    alpha = scaling.alpha ? *scaling.alpha : alpha;
    beta = scaling.beta ? *scaling.beta : beta;
    T result = alpha * sum;
    if (scaling.start && beta != (T)0)
        result += beta * scaling.start[row * scaling.row_stride + column * scaling.column_stride];
    *out = result;
}}
"""
TEMPLATE = SCALING + """\
enum {{ TILE = 64, DEPTH = 16, SIDE = 16, EACH = 4, THREADS = 256 }};
extern "C" {{
__global__ void tiles(long long m, long long n, long long k, const T* x, long long xs0, long long xs1, const T* y,
                      long long ys0, long long ys1, Scaling scaling, T* out, T alpha, T beta) {{
    __shared__ T left[DEPTH][TILE + 1];
    __shared__ T right[DEPTH][TILE + 1];
    const int thread = threadIdx.x, across = thread % SIDE, down = thread / SIDE;
    const long long columns = (n + TILE - 1) / TILE;
    const long long row = blockIdx.x / columns * TILE, column = blockIdx.x % columns * TILE;
    T sums[EACH][EACH] = {{}};
    for (long long begin = 0; begin < k; begin += DEPTH) {{
        for (int part = 0; part < TILE * DEPTH / THREADS; part++) {{
            const int item = part * THREADS + thread;
            const int i = xs1 <= xs0 ? item / DEPTH : item % TILE, d = xs1 <= xs0 ? item % DEPTH : item / TILE;
            left[d][i] = row + i < m && begin + d < k ? x[(row + i) * xs0 + (begin + d) * xs1] : (T)0;
            const int j = ys1 <= ys0 ? item % TILE : item / DEPTH, e = ys1 <= ys0 ? item / TILE : item % DEPTH;
            right[e][j] = column + j < n && begin + e < k ? y[(begin + e) * ys0 + (column + j) * ys1] : (T)0;
        }}
        __syncthreads();
        for (int d = 0; d < DEPTH; d++) {{
            T a[EACH], b[EACH];
            for (int i = 0; i < EACH; i++) a[i] = left[d][down + i * SIDE];
            for (int j = 0; j < EACH; j++) b[j] = right[d][across + j * SIDE];
            for (int i = 0; i < EACH; i++)
                for (int j = 0; j < EACH; j++) sums[i][j] += a[i] * b[j];
        }}
        __syncthreads();
    }}
    for (int i = 0; i < EACH; i++)
        for (int j = 0; j < EACH; j++) {{
            const long long at = row + down + i * SIDE, to = column + across + j * SIDE;
            if (at < m && to < n) put(out + at * n + to, sums[i][j], scaling, alpha, beta, at, to);
        }}
}}
}}
"""

NARROW_NAMES = ("deep", "down", "shallow")
MOST_NARROW = 32                # columns or terms
NARROW = SCALING + """\
enum {{ COLUMNS = {columns}, ROWS = {rows}, THREADS = 256, WARPS = 8, DEPTH = 32, HIGH = 32, WIDE = 64 }};
#define PARAMETERS long long m, long long n, long long k, const T* __restrict__ x, long long xs0, long long xs1, \\
    const T* __restrict__ y, long long ys0, long long ys1, Scaling scaling, T* out, T alpha, T beta{parameters}
#define PARAMETERS_OF_SUMS long long m, long long k, const T* __restrict__ x, long long xs0, long long xs1, \\
    const T* __restrict__ y, long long ys0, long long ys1
{functions}// A lane gives half of its sums away, and adds to the others: after 5 times lane l has the sum of sums[l].
template <int HALF> __device__ inline void give_away(T (&sums)[32], int lane) {{
#pragma unroll
    for (int i = 0; i < HALF; i++) {{
        const T low = sums[i], high = sums[i + HALF];
        sums[i] = (lane & HALF ? high : low) + __shfl_xor_sync(~0u, lane & HALF ? low : high, HALF);
    }}
}}
// The columns of one of y's rows: any, beside each other, or by pairs.
enum {{ ANY, BESIDE, PAIRS }};
struct alignas(2 * sizeof(T)) Pair {{ T x, y; }};
template <int KIND> __device__ inline void take(T (&right)[COLUMNS], const T* from, long long step) {{
#pragma unroll
    for (int c = 0; c < COLUMNS; c += KIND == PAIRS ? 2 : 1)
        if (KIND == PAIRS) {{
            const Pair pair = *(const Pair*)(from + c);
            right[c] = pair.x, right[(c + 1) % COLUMNS] = pair.y;
        }} else {{
            right[c] = from[KIND == ANY ? c * step : c];
        }}
}}
template <int KIND> __device__ inline void sum_deep(T (&sums)[32], PARAMETERS_OF_SUMS, int rows, long long first) {{
    for (long long i = threadIdx.x; i < k; i += THREADS) {{
        T right[COLUMNS];
        take<KIND>(right, y + i * ys0, ys1);
#pragma unroll
        for (int r = 0; r < ROWS; r++) {{
            const T left = r < rows && first + r < m ? x[(first + r) * xs0 + i * xs1] : (T)0;
#pragma unroll
            for (int c = 0; c < COLUMNS; c++) sums[r * COLUMNS + c] += left * right[c];
        }}
    }}
}}
template <int KIND> __device__ inline void sum_down(T (&sums)[COLUMNS], PARAMETERS_OF_SUMS, long long row) {{
    if (row < m)
#pragma unroll 4
        for (long long i = threadIdx.x / 8; i < k; i += 32) {{
            T right[COLUMNS];
            const T left = x[row * xs0 + i * xs1];
            take<KIND>(right, y + i * ys0, ys1);
#pragma unroll
            for (int c = 0; c < COLUMNS; c++) sums[c] += left * right[c];
        }}
}}
#define SUM(kernel, ...) \\
    if (ys1 != 1) kernel<ANY>(__VA_ARGS__); \\
    else if (COLUMNS % 2 || ys0 % 2 || (unsigned long long)y % sizeof(Pair)) kernel<BESIDE>(__VA_ARGS__); \\
    else kernel<PAIRS>(__VA_ARGS__);
extern "C" {{
#if ONE_OF(0)
__global__ void __launch_bounds__(256) deep(PARAMETERS) {{
    SUMS
    __shared__ T found[WARPS][32];
    const int rows = (int)((m + BLOCKS - 1) / BLOCKS);
    const long long first = (long long)blockIdx.x * rows;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    T sums[32] = {{}};                               // ROWS * COLUMNS of them
    SUM(sum_deep, sums, m, k, x, xs0, xs1, y, ys0, ys1, rows, first)
    give_away<16>(sums, lane), give_away<8>(sums, lane), give_away<4>(sums, lane), give_away<2>(sums, lane);
    give_away<1>(sums, lane);
    found[warp][lane] = sums[0];
    __syncthreads();
    const long long row = first + threadIdx.x / COLUMNS;
    const bool exists = threadIdx.x < rows * COLUMNS && row < m;
    const long long column = threadIdx.x % COLUMNS;
    T sum = 0;
    if (exists)
        for (int w = 0; w < WARPS; w++) sum += found[w][threadIdx.x];
    {end}
}}
#endif
#if ONE_OF(1)
__global__ void __launch_bounds__(256) down(PARAMETERS) {{
    SUMS
    __shared__ T found[WARPS][8][COLUMNS];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const long long row = (long long)blockIdx.x * 8 + lane % 8;
    T sums[COLUMNS] = {{}};
    SUM(sum_down, sums, m, k, x, xs0, xs1, y, ys0, ys1, row)
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {{
        T sum = sums[c] + __shfl_xor_sync(~0u, sums[c], 8);
        sum += __shfl_xor_sync(~0u, sum, 16);
        if (lane < 8) found[warp][lane][c] = sum;
    }}
    __syncthreads();
    const int at = threadIdx.x / COLUMNS, column = threadIdx.x % COLUMNS;
    const long long to = (long long)blockIdx.x * 8 + at;
    if (at < 8 && to < m) {{
        T sum = 0;
        for (int w = 0; w < WARPS; w++) sum += found[w][at][column];
        put(out + to * n + column, sum, scaling, alpha, beta, to, column);
    }}
}}
#endif
#if ONE_OF(2)
__global__ void __launch_bounds__(256) shallow(PARAMETERS) {{
    SUMS
    __shared__ T left[DEPTH][HIGH + 1];
    __shared__ T right[DEPTH][WIDE + 1];
    const long long across = (n + WIDE - 1) / WIDE;
    const long long row = blockIdx.x / across * HIGH, column = blockIdx.x % across * WIDE;
    const int depth = (int)k;
    for (int item = threadIdx.x; item < HIGH * depth; item += THREADS) {{
        const int i = xs1 <= xs0 ? item / depth : item % HIGH, d = xs1 <= xs0 ? item % depth : item / HIGH;
        left[d][i] = row + i < m ? x[(row + i) * xs0 + d * xs1] : (T)0;
    }}
    for (int item = threadIdx.x; item < WIDE * depth; item += THREADS) {{
        const int j = ys1 <= ys0 ? item % WIDE : item / depth, d = ys1 <= ys0 ? item / WIDE : item % depth;
        right[d][j] = column + j < n ? y[d * ys0 + (column + j) * ys1] : (T)0;
    }}
    __syncthreads();
    const int down = threadIdx.x / 16, beside = threadIdx.x % 16;
    T sums[2][4] = {{}};
    for (int d = 0; d < depth; d++)
#pragma unroll
        for (int i = 0; i < 2; i++)
#pragma unroll
            for (int j = 0; j < 4; j++) sums[i][j] += left[d][down + i * 16] * right[d][beside + j * 16];
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) {{
            const long long at = row + down + i * 16, to = column + beside + j * 16;
            if (at < m && to < n) put(out + at * n + to, sums[i][j], scaling, alpha, beta, at, to);
        }}
}}
#endif
}}
"""

WITHOUT_SUMS = """\
#define SUMS
#define BLOCKS ((long long)gridDim.x)
"""
# The last blocks of a grid: the sums of y's columns, eight columns a block, and what is computed from each sum.
WITH_SUMS = """\
#define BLOCKS ((long long)gridDim.x - (n + 7) / 8)
#define SUMS if (blockIdx.x >= BLOCKS) {{ sum_columns(n, k, y, ys0, ys1, blockIdx.x - BLOCKS{arguments}); return; }}
static __device__ inline void sum_columns(long long n, long long k, const T* __restrict__ y, long long ys0,
                                          long long ys1, long long block{parameters}) {{
    __shared__ double found[WARPS][8];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const long long mine = block * 8 + lane % 8;
    double sum = 0;
    if (mine < n)
#pragma unroll 4
        for (long long i = warp * 4 + lane / 8; i < k; i += 32) sum += y[i * ys0 + mine * ys1];
    sum += __shfl_xor_sync(~0u, sum, 8);
    sum += __shfl_xor_sync(~0u, sum, 16);
    if (lane < 8) found[warp][lane] = sum;
    __syncthreads();
    const long long column = block * 8 + threadIdx.x;
    if (threadIdx.x < 8 && column < n) {{
        double total = 0;
        for (int w = 0; w < WARPS; w++) total += found[w][threadIdx.x];
        {lines}
    }}
}}
"""

PUT = "if (exists) put(out + row * n + column, sum, scaling, alpha, beta, row, column);"
# In place of the product, the gradient of its rows' cross-entropies with labels after softmax, all of it in the block.
CLASS_PARAMETERS = (", const T* bias, long long bias_stride, long long labelled, const T* dy, T given, "
                    "long long stride, Labels labels")
PUT_CLASSES = """\
__shared__ T logits[THREADS];
    __shared__ long long classes[THREADS];
    const bool has_label = exists && row < labelled;
    if (exists) logits[threadIdx.x] = sum + *(const T*)((const char*)bias + column * bias_stride);
    if (has_label && column == 0) classes[threadIdx.x] = label_of(labels, row, n);
    __syncthreads();
    if (exists) {
        const T* mine = logits + (threadIdx.x - column);
        T largest = (T)-INFINITY, total = 0;
        for (int c = 0; c < COLUMNS; c++) largest = fmax(largest, mine[c]);
        for (int c = 0; c < COLUMNS; c++) total += exp(mine[c] - largest);
        const T softmax = exp(mine[column] - largest) * (1 / total);
        const T factor = dy ? *(const T*)((const char*)dy + row * stride * has_label) : given;
        out[row * n + column] = has_label ? factor * (softmax - (T)(column == classes[threadIdx.x - column])) : (T)0;
    }"""


def rows_of_a_block(columns):
    """How many rows a block of ``deep`` has at most: a sum for each lane."""
    return MOST_NARROW // columns


def with_sums(code, place, values):
    """What else a kernel of narrow products does: sums of y's columns, and scalar code for each of them.

    Parameters
    ----------
    code : ScalarCode
    place : int
        Which of its inputs is the sum.
    values : sequence of bool
        Which inputs are passed by value; others are vectors with an element for each column.

    Returns
    -------
    (str, str)
        The parameters and the functions.
    """
    parameters, names, lines = [], [], []
    for number, (dtype, value) in enumerate(zip(code.input_dtypes, values)):
        if number == place:
            lines.append(f"const auto s{number} = ({computed(dtype)})total;")
            continue
        element = f"v{number}" if value else (f"*(const {stored(dtype)}*)((const char*)v{number} + column * "
                                              f"stride{number})")
        lines.append(f"const auto s{number} = {loaded(dtype, element)};")
        names.append(f"v{number}")
        parameters.append(f"{stored(dtype)} v{number}" if value else f"const {stored(dtype)}* v{number}")
        if not value:
            names.append(f"stride{number}")
            parameters.append(f"long long stride{number}")
    slot, = code.outputs
    lines += [*body_of(code), f"result[column] = {to_store(code.dtypes[slot], f's{slot}')};"]
    parameters = "".join([f", {parameter}" for parameter in (*parameters, f"{stored(code.dtypes[slot])}* result")])
    return parameters, WITH_SUMS.format(arguments="".join([f", {name}" for name in (*names, "result")]),
                                        parameters=parameters, lines="\n        ".join(lines))


def narrow_source(dtype, columns, sums=None, label=None, only=None):
    """The source for results of so many columns; any number of columns for ``shallow``.

    Parameters
    ----------
    dtype : str
    columns : int
    sums : (str, str), optional
        What `with_sums` returns.
    label : str, optional
        The dtype of labels: then ``deep`` has the gradient of cross-entropies as its result.
    only : int, optional
        One of ``NARROW_NAMES``, by its position, which is compiled without the others.

    Raises
    ------
    NoSource
        As `product_source` does.
    """
    if stored(dtype) != computed(dtype):
        raise NoSource(dtype)
    parameters, functions = sums or ("", WITHOUT_SUMS)
    if label:
        parameters, functions = CLASS_PARAMETERS, LABELS.format(label=stored(label)) + functions
    text = NARROW.format(type=stored(dtype), columns=columns, rows=rows_of_a_block(columns), parameters=parameters,
                         functions=functions, end=PUT_CLASSES if label else PUT)
    text = f"#define ONE_OF(kernel) {'1' if only is None else f'(kernel == {only})'}\n{text}"
    return with_functions(text) if parameters else text


def product_source(dtype):
    """The source for operands of a dtype.

    Raises
    ------
    NoSource
        For a dtype that is stored in other words than it is computed in.
    """
    if stored(dtype) != computed(dtype):
        raise NoSource(dtype)
    return (COMPLEX if dtype.startswith("complex") else "") + TEMPLATE.format(type=stored(dtype))
