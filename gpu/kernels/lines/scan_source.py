"""CUDA text of cumulative sums and products.

Lines without gaps are read in vectors of 16 bytes. A warp has ``ROUNDS`` stretches of a vector a lane beside each
other, and goes on from stretch to stretch; a block of 8 warps has a *tile*. Where there are many lines, a block runs
along each of them and loads the next tile ahead, or a warp, if lines are short; or a thread, through shared memory, if
they are tiny. Few long lines take two or three kernels: totals of tiles; their cumulative totals, if they are too many
for each block to add up those before it; the tiles again. Lines with gaps have a thread each, side by side, so that
threads read neighbours; long ones are cut into segments, in the same three steps. So the order of additions is fixed.

Sums begin with -0, which changes no number; what is not there is padded with it.
"""
from phintys.gpu.kernels.scalar_source import NoSource, computed, loaded, stored, to_store, with_functions
from phintys.gpu.kernels.vector_source import VECTORS
from phintys.gpu.kernels.vector_source import WARPS as WARP_FOLD

WARPS = 8                       # of a block
ROUNDS = 4
STAGED = 4096                   # elements of tiny lines that a block has in shared memory
FEW_TILES = 1024                # of a line: blocks add up the totals before theirs

TEXT = """\
enum {{ WARPS = {warps}, ROUNDS = {rounds}, STAGED = {staged}, FEW_TILES = {few} }};
typedef {stored} S;
typedef {computed} T;
#define NEUTRAL ((T){neutral})
__device__ inline T joined(T a, T b) {{ return (T)(a {operation} b); }}
__device__ inline T value_of(S x) {{ return {loaded}; }}
__device__ inline void set(S* x, T value) {{ *x = {to_store}; }}
{wide_values}
"""
WIDE_VALUES = """\
__device__ inline T value_of(T x) { return x; }
__device__ inline void set(T* x, T value) { *x = value; }
"""

# E is the type of elements: S, or T of totals.
FUNCTIONS = """\
template <class E> struct Tile {
    static const int width = 16 / sizeof(E), stretch = 32 * width, of_warp = ROUNDS * stretch, size = WARPS * of_warp;
    T v[ROUNDS][width];
    // Elements from `first` on, of `left` that there are.
    __device__ void load(const E* x, int first, int left) {
        const bool aligned = is_aligned<E, width>(x);
#pragma unroll
        for (int r = 0; r < ROUNDS; r++) {
            const int at = first + r * stretch;
            if (aligned && at + width <= left) {
                const Pack<E> pack = load_pack(x + at);
#pragma unroll
                for (int k = 0; k < width; k++) v[r][k] = value_of(pack.v[k]);
            } else {
#pragma unroll
                for (int k = 0; k < width; k++) v[r][k] = at + k < left ? value_of(x[at + k]) : NEUTRAL;
            }
        }
    }
    // With what comes before the warp.
    __device__ void store(E* x, int first, int left, T before) const {
        const bool aligned = is_aligned<E, width>(x);
#pragma unroll
        for (int r = 0; r < ROUNDS; r++) {
            const int at = first + r * stretch;
            Pack<E> pack;
#pragma unroll
            for (int k = 0; k < width; k++) set(&pack.v[k], joined(before, v[r][k]));
            if (aligned && at + width <= left) store_pack(x + at, pack);
            else {
#pragma unroll
                for (int k = 0; k < width; k++) if (at + k < left) x[at + k] = pack.v[k];
            }
        }
    }
    // Cumulative totals within the warp; returns its total.
    __device__ T accumulate(int lane) {
        T carry = NEUTRAL;
#pragma unroll
        for (int r = 0; r < ROUNDS; r++) {
#pragma unroll
            for (int k = 1; k < width; k++) v[r][k] = joined(v[r][k - 1], v[r][k]);
            T total = v[r][width - 1];
#pragma unroll
            for (int distance = 1; distance < 32; distance *= 2) {
                const T other = (T)__shfl_up_sync(~0u, total, distance);
                if (lane >= distance) total = joined(other, total);
            }
            T before = (T)__shfl_up_sync(~0u, total, 1);
            before = lane ? joined(carry, before) : carry;
#pragma unroll
            for (int k = 0; k < width; k++) v[r][k] = joined(before, v[r][k]);
            carry = joined(carry, (T)__shfl_sync(~0u, total, 31));
        }
        return carry;
    }
    // The same within the block; `carry` goes on, and what comes before the warp is returned. `of_warps` is shared.
    __device__ T accumulate_block(int lane, int warp, T* carry, T* of_warps) {
        const T total = accumulate(lane);
        __syncthreads();                                // they may still be read from the tile before
        if (lane == 0) of_warps[warp] = total;
        __syncthreads();
        T before = *carry;
#pragma unroll
        for (int w = 0; w < WARPS; w++) {
            if (w == warp) before = *carry;
            *carry = joined(*carry, of_warps[w]);
        }
        return before;
    }
};
// The total of a tile's line before it.
static __device__ inline T total_before(const T* totals, long long tiles_before) {
    __shared__ T of_warps[WARPS];
    T total = NEUTRAL;
    for (long long t = threadIdx.x; t < tiles_before; t += 32 * WARPS) total = joined(total, totals[t]);
    total = warp_fold(total, [](T a, T b) { return joined(a, b); });
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = total;
    __syncthreads();
    total = NEUTRAL;
    for (int w = 0; w < WARPS; w++) total = joined(total, of_warps[w]);
    return total;
}
__device__ inline int clipped(long long left) { return (int)min(left, 1LL << 30); }
template <class E> static __device__ inline void run_along(const E* x, E* out, long long length) {
    __shared__ T of_warps[WARPS];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, first = warp * Tile<E>::of_warp + lane * Tile<E>::width;
    T carry = NEUTRAL;
    Tile<E> next;
    next.load(x, first, clipped(length));
    for (long long base = 0; base < length; base += Tile<E>::size) {
        Tile<E> tile = next;
        if (base + Tile<E>::size < length)
            next.load(x + base + Tile<E>::size, first, clipped(length - base - Tile<E>::size));
        const T before = tile.accumulate_block(lane, warp, &carry, of_warps);
        tile.store(out + base, first, clipped(length - base), before);
    }
}
// A thread for each of the lines and each of their segments, numbered with the columns last.
template <class E, class F> __device__ inline void along_column(long long items, long long chunk, long long length,
                                                                long long segments, F body) {
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < items;
         i += gridDim.x * (long long)blockDim.x) {
        const long long row = i / chunk, line = row / segments, segment = row - line * segments;
        const long long begin = length * segment / segments, end = length * (segment + 1) / segments;
        body(i, segment, (line * length + begin) * chunk + i - row * chunk, end - begin);
    }
}
"""

# Ways to do it, for elements of type E.
TINY_LINES = """\
__global__ void __launch_bounds__(32 * WARPS) tiny_lines(const {E}* x, {E}* out, long long lines,
                                                         long long wide) {{
    __shared__ T stage[STAGED];                             // lines with gaps of up to one element: other banks
    const int length = (int)wide, room = length | 1, of_block = min(32 * WARPS, STAGED / room);
    const long long first = blockIdx.x * (long long)of_block;
    const int count = (int)min(lines - first, (long long)of_block) * length;
    const int rows = 32 * WARPS / length, columns = 32 * WARPS - rows * length;
    x += first * length, out += first * length;
    int row = (int)threadIdx.x / length, column = (int)threadIdx.x - row * length;
    for (int i = threadIdx.x; i < count; i += 32 * WARPS) {{
        stage[row * room + column] = value_of(x[i]);
        row += rows, column += columns;
        if (column >= length) row++, column -= length;
    }}
    __syncthreads();
    if (threadIdx.x * length < count) {{
        T total = NEUTRAL;
        for (int j = 0; j < length; j++) {{
            total = joined(total, stage[threadIdx.x * room + j]);
            stage[threadIdx.x * room + j] = total;
        }}
    }}
    __syncthreads();
    row = (int)threadIdx.x / length, column = (int)threadIdx.x - row * length;
    for (int i = threadIdx.x; i < count; i += 32 * WARPS) {{
        set(&out[i], stage[row * room + column]);
        row += rows, column += columns;
        if (column >= length) row++, column -= length;
    }}
}}
"""
SHORT_LINES = """\
__global__ void short_lines(const {E}* x, {E}* out, long long lines, long long length) {{
    typedef Tile<{E}> Warp;
    const long long line = blockIdx.x * (long long)WARPS + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    if (line >= lines) return;
    x += line * length, out += line * length;
    T carry = NEUTRAL;
    for (long long base = 0; base < length; base += Warp::of_warp) {{
        Warp part;
        part.load(x + base, lane * Warp::width, clipped(length - base));
        const T total = part.accumulate(lane);
        part.store(out + base, lane * Warp::width, clipped(length - base), carry);
        carry = joined(carry, total);
    }}
}}
"""
LINES = """\
__global__ void __launch_bounds__(32 * WARPS) lines(const {E}* x, {E}* out, long long lines,
                                                    long long length) {{
    run_along(x + blockIdx.x * length, out + blockIdx.x * length, length);
}}
"""
TILES = """\
__global__ void __launch_bounds__(32 * WARPS) tile_totals(const {E}* x, T* totals, long long length,
                                                          long long tiles) {{
    __shared__ T of_warps[WARPS];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const long long line = blockIdx.x / tiles, base = (blockIdx.x - line * tiles) * Tile<{E}>::size;
    Tile<{E}> tile;
    tile.load(x + line * length + base, warp * Tile<{E}>::of_warp + lane * Tile<{E}>::width, clipped(length - base));
    T total = NEUTRAL;
    tile.accumulate_block(lane, warp, &total, of_warps);
    if (threadIdx.x == 0) totals[blockIdx.x] = total;
}}
__global__ void __launch_bounds__(32 * WARPS) tiles(const {E}* x, const T* totals, {E}* out, long long length,
                                                    long long tiles) {{
    __shared__ T of_warps[WARPS];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const long long line = blockIdx.x / tiles, tile_of_line = blockIdx.x - line * tiles;
    const long long base = tile_of_line * Tile<{E}>::size;
    const int first = warp * Tile<{E}>::of_warp + lane * Tile<{E}>::width;
    Tile<{E}> tile;
    tile.load(x + line * length + base, first, clipped(length - base));
    T carry = tiles <= FEW_TILES ? total_before(totals + line * tiles, tile_of_line)
        : tile_of_line ? totals[blockIdx.x - 1] : NEUTRAL;
    const T before = tile.accumulate_block(lane, warp, &carry, of_warps);
    tile.store(out + line * length + base, first, clipped(length - base), before);
}}
"""
SEGMENTS = """\
__global__ void segment_totals(long long items, const {E}* x, T* totals, long long chunk, long long length,
                               long long segments) {{
    along_column<{E}>(items, chunk, length, segments, [=](long long i, long long, long long at, long long count) {{
        T total = NEUTRAL;
#pragma unroll 8
        for (long long j = 0; j < count; j++) total = joined(total, value_of(x[at + j * chunk]));
        totals[i] = total;
    }});
}}
__global__ void segments(long long items, const {E}* x, const T* totals, {E}* out, long long chunk,
                         long long length, long long segments) {{
    along_column<{E}>(items, chunk, length, segments, [=](long long i, long long segment, long long at,
                                                          long long count) {{
        T total = segment ? totals[i - chunk] : NEUTRAL;
        while (count > 0) {{                            // several loads in flight, although `out` may be `x`
            T values[8];
#pragma unroll
            for (int k = 0; k < 8; k++) values[k] = k < count ? value_of(x[at + k * chunk]) : NEUTRAL;
#pragma unroll
            for (int k = 0; k < 8; k++) {{
                total = joined(total, values[k]);
                if (k < count) set(&out[at + k * chunk], total);
            }}
            at += 8 * chunk, count -= 8;
        }}
    }});
}}
"""
WAYS = [(TINY_LINES, ("tiny_lines",)), (SHORT_LINES, ("short_lines",)), (LINES, ("lines",)),
        (TILES, ("tile_totals", "tiles")), (SEGMENTS, ("segment_totals", "segments"))]


def scan_source(dtype, mode, way, of_totals):
    """The source of one way to make cumulative sums and products, and the names of its kernels.

    Parameters
    ----------
    dtype : str
    mode : {"add", "mul"}
    way : int
        Of `WAYS`.
    of_totals : bool
        The elements are totals.

    Returns
    -------
    source : str
    names : tuple of str
    """
    if dtype.startswith("complex") or dtype == "bool":
        raise NoSource(dtype)
    kernels, names = WAYS[way]
    operation, neutral = ("*", "1") if mode == "mul" else ("+", "-0.0" if dtype.startswith("float") else "0")
    text = TEXT.format(warps=WARPS, rounds=ROUNDS, staged=STAGED, few=FEW_TILES, stored=stored(dtype),
                       computed=computed(dtype), neutral=neutral, operation=operation, loaded=loaded(dtype, "x"),
                       to_store=to_store(dtype, "value"), wide_values=WIDE_VALUES if has_wide_totals(dtype) else "")
    kernels = kernels.format(E="T" if of_totals else "S")
    return with_functions(f'{VECTORS}{WARP_FOLD}{text}{FUNCTIONS}extern "C" {{\n{kernels}}}\n'), names


def has_wide_totals(dtype):
    """Whether totals are of another type than elements."""
    return stored(dtype) != computed(dtype)
