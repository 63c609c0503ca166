"""The source of softmax, of cross-entropies with labels, and of their gradients: a block of threads for each row.

Every kernel walks the rows of matrices of any strides. A label that is no class is noted in ``bad``, the least row with
such a label; the row's results are then unspecified.
"""
from phintys.gpu.kernels.scalar_source import stored

NAMES = ("forward", "softmax_gradient", "label_gradient", "label_loss", "label_loss_gradient")
THREADS = 128

TEMPLATE = """\
typedef {type} T;
typedef {label} L;
enum {{ THREADS = {threads} }};
struct Matrix {{ const T* data; long long row, column; }};
struct Labels {{ const L* data; long long stride, from_end; unsigned long long* bad; }};
__device__ inline T at(const Matrix& matrix, long long row, long long column) {{
    return *(const T*)((const char*)matrix.data + row * matrix.row + column * matrix.column);
}}
__device__ inline long long label_of(const Labels& labels, long long row, long long classes) {{
    const L given = *(const L*)((const char*)labels.data + row * labels.stride);
    long long label = (long long)given;
    const bool below = label < 0 && (L)-1 < (L)0;
    if (below && labels.from_end) label += classes;
    if (label < 0 || label >= classes) {{
        atomicMin(labels.bad, (unsigned long long)row);
        return 0;
    }}
    return label;
}}
__device__ inline T sum_of_block(T value, T* room) {{
    room[threadIdx.x] = value;
    for (int half = THREADS / 2; half; half /= 2) {{
        __syncthreads();
        if (threadIdx.x < half) room[threadIdx.x] += room[threadIdx.x + half];
    }}
    __syncthreads();
    const T sum = room[0];
    __syncthreads();
    return sum;
}}
__device__ inline bool exceeds(T a, long long i, T b, long long j) {{
    if (i < 0 || j < 0) return j < 0 && i >= 0;
    if (a != a || b != b) return a != a && (b == b || i < j);
    return a > b || (a == b && i < j);
}}
extern "C" {{
__global__ void forward(long long columns, long long logarithm, long long labelled, Matrix x, Matrix bias,
                        Labels labels, T* out, T* losses, L* best) {{
    __shared__ T room[THREADS];
    __shared__ long long places[THREADS];
    const long long row = blockIdx.x;
    T largest = 0;
    long long place = -1;
    for (long long i = threadIdx.x; i < columns; i += THREADS) {{
        const T value = at(x, row, i) + (bias.data ? at(bias, 0, i) : (T)0);
        if (exceeds(value, i, largest, place)) largest = value, place = i;
    }}
    room[threadIdx.x] = largest;
    places[threadIdx.x] = place;
    for (int half = THREADS / 2; half; half /= 2) {{
        __syncthreads();
        if (threadIdx.x < half && exceeds(room[threadIdx.x + half], places[threadIdx.x + half], room[threadIdx.x],
                                          places[threadIdx.x])) {{
            room[threadIdx.x] = room[threadIdx.x + half];
            places[threadIdx.x] = places[threadIdx.x + half];
        }}
    }}
    __syncthreads();
    largest = room[0];
    place = places[0];
    __syncthreads();
    T sum = 0;
    for (long long i = threadIdx.x; i < columns; i += THREADS)
        sum += exp(at(x, row, i) + (bias.data ? at(bias, 0, i) : (T)0) - largest);
    sum = sum_of_block(sum, room);
    for (long long i = threadIdx.x; i < columns; i += THREADS) {{
        const T value = at(x, row, i) + (bias.data ? at(bias, 0, i) : (T)0) - largest;
        out[row * columns + i] = logarithm ? value - log(sum) : exp(value) / sum;
    }}
    if (threadIdx.x == 0 && row < labelled) {{
        const long long label = label_of(labels, row, columns);
        const T value = at(x, row, label) + (bias.data ? at(bias, 0, label) : (T)0) - largest;
        losses[row] = log(sum) - value;
        best[row] = (L)place;
    }}
}}
__global__ void softmax_gradient(long long columns, Matrix gradient, Matrix softmax, T* out) {{
    __shared__ T room[THREADS];
    const long long row = blockIdx.x;
    T sum = 0;
    for (long long i = threadIdx.x; i < columns; i += THREADS) sum += at(gradient, row, i) * at(softmax, row, i);
    sum = sum_of_block(sum, room);
    for (long long i = threadIdx.x; i < columns; i += THREADS)
        out[row * columns + i] = (at(gradient, row, i) - sum) * at(softmax, row, i);
}}
__global__ void label_gradient(long long columns, long long labelled, const T* dy, T value, long long stride,
                               Matrix softmax, Labels labels, T* out) {{
    const long long row = blockIdx.x;
    const T factor = dy ? *(const T*)((const char*)dy + row * stride * (row < labelled)) : value;
    const long long label = row < labelled ? label_of(labels, row, columns) : -1;
    for (long long i = threadIdx.x; i < columns; i += THREADS)
        out[row * columns + i] = row < labelled ? factor * (at(softmax, row, i) - (T)(i == label)) : (T)0;
}}
__global__ void label_loss(long long rows, long long columns, Matrix matrix, Labels labels, T* out) {{
    const long long row = blockIdx.x * (long long)THREADS + threadIdx.x;
    if (row < rows) out[row] = -log(at(matrix, row, label_of(labels, row, columns)));
}}
__global__ void label_loss_gradient(long long columns, const T* dy, long long stride, Matrix matrix, Labels labels,
                                    T* out) {{
    const long long row = blockIdx.x, label = label_of(labels, row, columns);
    const T factor = *(const T*)((const char*)dy + row * stride);
    for (long long i = threadIdx.x; i < columns; i += THREADS)
        out[row * columns + i] = i == label ? -factor / at(matrix, row, i) : (T)0;
}}
}}
"""


def softmax_source(dtype, label="int64"):
    """The source for a dtype of floats and one of labels.

    Raises
    ------
    NoSource
    """
    return TEMPLATE.format(type=stored(dtype), label=stored(label), threads=THREADS)
