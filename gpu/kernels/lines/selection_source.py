"""CUDA text of selections whose length follows from values: the places of true elements, slices repeated by counts."""
from phintys.gpu.kernels.scalar_source import TYPES, computed, loaded, stored, to_store, with_functions
from phintys.gpu.kernels.vector_source import VECTORS

TILE = 4096                     # elements of a mask that a block looks at

# Where the true elements of a block's tile are, and how many; they are in shared memory.
PLACES = """\
    __shared__ unsigned short places[TILE];
    const long long base = blockIdx.x * (long long)TILE, at = base + threadIdx.x * EACH;
    const unsigned flags = flags_of(mask + at, size - at);
    int all, place = before(__popc(flags), &all);
#pragma unroll
    for (int k = 0; k < EACH; k++) if (flags >> k & 1) places[place++] = (unsigned short)(threadIdx.x * EACH + k);
    __syncthreads();
"""
# A thread has 16 elements beside each other. `counts` are cumulative when places are found; these go through shared
# memory, so that they are written side by side.
NONZERO = """\
enum {{ TILE = {tile}, EACH = 16, RANK = {rank}, WARPS = TILE / EACH / 32 }};
struct Shape {{ long long at[RANK]; }};
__device__ inline unsigned flags_of(const unsigned char* mask, long long left) {{
    unsigned flags = 0;
    if (left >= EACH && is_aligned<unsigned char, EACH>(mask)) {{
        const Pack<unsigned char> pack = load_pack(mask);
#pragma unroll
        for (int k = 0; k < EACH; k++) flags |= (unsigned)(pack.v[k] != 0) << k;
    }} else {{
        for (int k = 0; k < EACH && k < left; k++) flags |= (unsigned)(mask[k] != 0) << k;
    }}
    return flags;
}}
// The sum of what the threads before have; `all` becomes that of all threads.
static __device__ inline int before(int mine, int* all) {{
    __shared__ int of_warps[WARPS];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int sum = mine;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {{
        const int other = __shfl_up_sync(~0u, sum, distance);
        if (lane >= distance) sum += other;
    }}
    if (lane == 31) of_warps[warp] = sum;
    __syncthreads();
    int earlier = 0;
    *all = 0;
#pragma unroll
    for (int w = 0; w < WARPS; w++) {{
        if (w == warp) earlier = *all;
        *all += of_warps[w];
    }}
    return earlier + sum - mine;
}}
extern "C" {{
__global__ void __launch_bounds__(TILE / EACH) count_true(const unsigned char* mask, long long size,
                                                          long long* counts) {{
    const long long at = blockIdx.x * (long long)TILE + threadIdx.x * EACH;
    int all;
    before(__popc(flags_of(mask + at, size - at)), &all);
    if (threadIdx.x == 0) counts[blockIdx.x] = all;
}}
__global__ void __launch_bounds__(TILE / EACH) find_true(const unsigned char* mask, long long size,
                                                         const long long* counts, long long* found, long long total,
                                                         Shape shape) {{
{places}    if (blockIdx.x) found += counts[blockIdx.x - 1];
    for (int j = threadIdx.x; j < all; j += TILE / EACH) {{
        unsigned long long rest = base + places[j];
#pragma unroll
        for (int axis = RANK - 1; axis > 0; axis--) {{
            const unsigned long long length = shape.at[axis];
            const unsigned long long above = rest >> 32 ? rest / length : (unsigned)rest / (unsigned)length;
            found[axis * total + j] = rest - above * length;
            rest = above;
        }}
        found[j] = rest;
    }}
}}
}}
"""
# The elements of x beside those of the mask, which has its shape.
TAKE = """\
typedef {element} X;
extern "C" __global__ void __launch_bounds__(TILE / EACH) take_true(const unsigned char* mask, long long size,
                                                                    const long long* counts, X* out, const X* x) {{
{places}    if (blockIdx.x) out += counts[blockIdx.x - 1];
    for (int j = threadIdx.x; j < all; j += TILE / EACH) out[j] = x[base + places[j]];
}}
"""
# `ends` are the cumulative counts of slices.
REPEAT = """\
typedef {stored} S;
typedef {computed} T;
extern "C" {{
__global__ void repeat(long long items, const S* x, const long long* ends, S* out, long long length, long long chunk,
                       long long total) {{
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < items;
         i += gridDim.x * (long long)blockDim.x) {{
        const long long row = i / chunk, outer = row / total, place = row - outer * total;
        long long low = 0, high = length - 1;
        while (low < high) {{
            const long long middle = (low + high) / 2;
            if (ends[middle] > place) high = middle;
            else low = middle + 1;
        }}
        out[i] = x[(outer * length + low) * chunk + i - row * chunk];
    }}
}}
__global__ void add_repeated(long long items, const S* x, const long long* ends, S* out, long long length,
                             long long chunk, long long total) {{
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < items;
         i += gridDim.x * (long long)blockDim.x) {{
        const long long row = i / chunk, outer = row / length, slice = row - outer * length, column = i - row * chunk;
        T sum = 0;
        for (long long j = slice ? ends[slice - 1] : 0; j < ends[slice]; j++)
            sum = (T)(sum + ({load}));
        out[i] = {store};
    }}
}}
}}
"""


def nonzero_source(rank, taken=None):
    """The places of true elements of a mask; or the elements of a dtype that are there."""
    text = VECTORS + NONZERO.format(tile=TILE, rank=rank, places=PLACES)
    return with_functions(text + TAKE.format(element=stored(taken), places=PLACES)) if taken else text


def repeat_source(dtype):
    """Slices as often as counts say, and the sums of these."""
    if dtype.startswith("complex"):                 # moved and added as they are
        computed(dtype)
    return with_functions(REPEAT.format(
        stored=stored(dtype), computed=TYPES[dtype][1], store=to_store(dtype, "sum"),
        load=loaded(dtype, "x[(outer * total + j) * chunk + column]")))


def without_masks(plan, count):
    """A plan of an advanced index (see ``advanced_subtensor_kernel.pyx``) with positions in place of masks.

    Parameters
    ----------
    plan : sequence of tuple
    count : int
        Of operands.

    Returns
    -------
    plan : tuple of tuple
    sources : list of (int, int)
        Of each operand now: the number that it had, and the row of places of a mask, or -1.
    masks : dict
        The number of a mask → (its rank, the axis where it begins).
    """
    masks, axis = {}, 0
    for kind, *details in plan:
        if kind == "mask":
            masks[details[0]] = details[1], axis
        axis += 0 if kind == "new" else details[1] if kind == "mask" else 1
    numbers, sources = [], []
    for number in range(count):
        numbers.append(len(sources))
        sources += [(number, row) for row in range(masks[number][0])] if number in masks else [(number, -1)]

    def moved(part):
        return ("operand", numbers[part[1]]) if isinstance(part, tuple) else part

    entries = []
    for kind, *details in plan:
        if kind == "mask":
            entries += [("array", numbers[details[0]] + row, "int64", 1) for row in range(details[1])]
        elif kind == "array":
            entries.append(("array", numbers[details[0]], *details[1:]))
        else:
            entries.append((kind, *map(moved, details)))
    return tuple(entries), sources, masks
