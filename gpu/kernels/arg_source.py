"""The source of argmax and argmin: a block of threads for each result, which searches in C order of the searched axes.

The first of equal elements is found, and the first NaN before all numbers, as NumPy does.
"""
from phintys.gpu.kernels.scalar_source import NoSource, computed, loaded, stored, with_functions

NAMES = ("search",)
THREADS = 128

TEMPLATE = """\
typedef {computed} T;
struct Walk {{
    long long kept_lengths[{rank}], searched_lengths[{rank}], kept_strides[{rank}], searched_strides[{rank}];
}};
__device__ inline long long offset(long long number, long long rank, const long long* lengths,
                                   const long long* strides) {{
    long long found = 0;
    for (int axis = 0; axis < rank; axis++) {{
        const long long above = axis + 1 < rank ? number / lengths[axis] : 0;
        found += (number - above * lengths[axis]) * strides[axis];
        number = above;
    }}
    return found;
}}
__device__ inline bool precedes(T a, long long i, T b, long long j) {{
    if (i < 0 || j < 0) return j < 0 && i >= 0;
    const bool a_is_nan = a != a, b_is_nan = b != b;
    if (a_is_nan || b_is_nan) return a_is_nan && (!b_is_nan || i < j);
    return a {better} b || (a == b && i < j);
}}
extern "C" {{
__global__ void search(long long count, long long kept_rank, long long searched_rank, Walk walk, const char* x,
                       long long* positions, {stored}* values) {{
    __shared__ T found[{threads}];
    __shared__ long long places[{threads}];
    x += offset(blockIdx.x, kept_rank, walk.kept_lengths, walk.kept_strides);
    T best = 0;
    long long place = -1;
    for (long long i = threadIdx.x; i < count; i += {threads}) {{
        const {stored} element = *(const {stored}*)(x + offset(i, searched_rank, walk.searched_lengths,
                                                               walk.searched_strides));
        const T value = {element};
        if (precedes(value, i, best, place)) best = value, place = i;
    }}
    found[threadIdx.x] = best;
    places[threadIdx.x] = place;
    for (int half = {threads} / 2; half; half /= 2) {{
        __syncthreads();
        if (threadIdx.x < half && precedes(found[threadIdx.x + half], places[threadIdx.x + half], found[threadIdx.x],
                                           places[threadIdx.x])) {{
            found[threadIdx.x] = found[threadIdx.x + half];
            places[threadIdx.x] = places[threadIdx.x + half];
        }}
    }}
    if (threadIdx.x == 0) {{
        positions[blockIdx.x] = places[0];
        if (values)
            values[blockIdx.x] = *(const {stored}*)(x + offset(places[0], searched_rank, walk.searched_lengths,
                                                               walk.searched_strides));
    }}
}}
}}
"""


def arg_source(dtype, rank, which):
    """The source for a dtype and the rank of the input; ``which`` is "argmax" or "argmin".

    Raises
    ------
    NoSource
    """
    if dtype.startswith("complex"):
        raise NoSource(dtype)
    return with_functions(TEMPLATE.format(computed=computed(dtype), stored=stored(dtype), rank=max(1, rank),
                                          threads=THREADS, better=">" if which == "argmax" else "<",
                                          element=loaded(dtype, "element")))
