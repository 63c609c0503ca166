"""CUDA source of products of a matrix in compressed rows and a dense matrix."""
from phintys.gpu.kernels.scalar_source import NoSource

TYPES = {"float32": "float", "float64": "double"}
SOURCE = """\
typedef {type} T;
struct Rows {{ const T* values; const int *positions, *starts; const char* dense; long long row_step, column_step; }};
extern "C" {{
/* A thread for each element, columns first: it reads beside its neighbours. */
__global__ void elements(Rows a, T* out, long long rows, long long columns) {{
    const long long threads = gridDim.x * (long long)blockDim.x;
    for (long long at = blockIdx.x * (long long)blockDim.x + threadIdx.x; at < rows * columns; at += threads) {{
        const long long row = at / columns;
        const char* column = a.dense + (at - row * columns) * a.column_step;
        const int end = a.starts[row + 1];
        T sum = 0;
        for (int k = a.starts[row]; k < end; k++)
            sum += a.values[k] * *(const T*)(column + a.positions[k] * a.row_step);
        out[at] = sum;
    }}
}}
/* A warp for each row, for few columns. */
__global__ void rows_of_few(Rows a, T* out, long long rows, long long columns) {{
    const int lane = threadIdx.x % 32;
    const long long warps = gridDim.x * (long long)(blockDim.x / 32);
    for (long long row = blockIdx.x * (long long)(blockDim.x / 32) + threadIdx.x / 32; row < rows; row += warps) {{
        const int end = a.starts[row + 1];
        for (long long at = 0; at < columns; at++) {{
            const char* column = a.dense + at * a.column_step;
            T sum = 0;
            for (int k = a.starts[row] + lane; k < end; k += 32)
                sum += a.values[k] * *(const T*)(column + a.positions[k] * a.row_step);
            for (int step = 16; step; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
            if (lane == 0) out[row * columns + at] = sum;
        }}
    }}
}}
}}
"""


def compressed_source(dtype):
    """The source for numbers of a dtype."""
    if dtype not in TYPES:
        raise NoSource(dtype)
    return SOURCE.format(type=TYPES[dtype])
