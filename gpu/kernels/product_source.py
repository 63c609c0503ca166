"""The source of products of matrices and vectors, for operands of any strides.

``tiles`` computes a product of matrices: a block of 256 threads makes 64 x 64 results, each thread 4 x 4 of them, from
tiles of both operands in shared memory. ``rows`` and ``columns`` multiply a matrix by a vector: a block for each
result, or a thread. Strides are in elements. ``alpha`` and ``beta`` are values, or addresses on the device.
"""
from phintys.gpu.kernels.scalar_source import COMPLEX, NoSource, computed, stored

NAMES = ("tiles", "rows", "columns")

TEMPLATE = """\
typedef {type} T;
enum {{ TILE = 64, DEPTH = 16, SIDE = 16, EACH = 4, THREADS = 256 }};
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
__global__ void rows(long long m, long long k, const T* x, long long xs0, long long xs1, const T* y, long long ys,
                     Scaling scaling, T* out, T alpha, T beta) {{
    __shared__ T found[THREADS];
    const long long row = blockIdx.x;
    T sum = 0;
    for (long long i = threadIdx.x; i < k; i += THREADS) sum += x[row * xs0 + i * xs1] * y[i * ys];
    found[threadIdx.x] = sum;
    for (int half = THREADS / 2; half; half /= 2) {{
        __syncthreads();
        if (threadIdx.x < half) found[threadIdx.x] += found[threadIdx.x + half];
    }}
    if (threadIdx.x == 0) put(out + row, found[0], scaling, alpha, beta, row, 0);
}}
__global__ void columns(long long m, long long k, const T* x, long long xs0, long long xs1, const T* y, long long ys,
                        Scaling scaling, T* out, T alpha, T beta) {{
    for (long long row = blockIdx.x * (long long)blockDim.x + threadIdx.x; row < m;
         row += gridDim.x * (long long)blockDim.x) {{
        T sum = 0;
        for (long long i = 0; i < k; i++) sum += x[row * xs0 + i * xs1] * y[i * ys];
        put(out + row, sum, scaling, alpha, beta, row, 0);
    }}
}}
}}
"""


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
