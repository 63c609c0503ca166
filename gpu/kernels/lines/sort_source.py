"""CUDA text that sorts lines without gaps: elements alone, or their places, with equal elements in their order.

Elements become unsigned integers, *keys*, in the same order; NaN is larger than all numbers, as in NumPy. Places go
with keys of which 0 and -0 are the same, and so are all NaN; elements alone come back with all bits but NaN's sign.

* A line of up to 1024 elements is sorted by a warp, in registers: a bitonic network of which many exchanges need no
  other lane. It is not stable, so a key is joined with its place. Items of more than 32 bits, which cost three times
  as much and take long to compile, only up to 256.
* One of up to 4096 by a block, digit by digit of 8 bits: a warp finds the lanes with the same digit by votes.
* A longer one digit by digit, by kernels that put the keys of each tile behind those of the tiles before. In lines of
  few tiles these look up each other's counts while they run. Of many tiles a kernel counts first, and the cumulative
  sums of all counts say where keys go: blocks that wait for others cost more (250 ns a tile on an H200).
"""
from phintys.gpu.kernels.scalar_source import NoSource

KEYS = {1: "unsigned char", 2: "unsigned short", 4: "unsigned", 8: "unsigned long long"}
PAYLOAD = {2: 0x7c00, 4: 0x7f800000, 8: 0x7ff0000000000000}     # infinity: what is larger without its sign is NaN

HEAD = """\
typedef {key} Key;
const Key ALL = (Key)~0ULL, TOP = (Key)(1ULL << (8 * sizeof(Key) - 1));
__device__ inline Key key_of(Key bits) {{ return {key_of}; }}
__device__ inline Key bits_of(Key key) {{ return {bits_of}; }}
"""
KEY_OF = {
    "unsigned": ("bits", "key"), "signed": ("bits ^ TOP", "key ^ TOP"),
    "elements": ("(Key)(bits > (Key)(TOP | {infinity})) ? bits : bits & TOP ? (Key)~bits : (Key)(bits | TOP)",
                 "key & TOP ? (Key)(key & ~TOP) : (Key)~key"),
    "places": ("(bits & ~TOP) > {infinity} ? ALL : bits == TOP ? TOP : bits & TOP ? (Key)~bits : (Key)(bits | TOP)",
               "key")}

# ---- a warp a line ---------------------------------------------------------------------------------------------------
PAIR = """\
struct Item { unsigned long long key; unsigned place; };
__device__ inline bool precedes(Item a, Item b) { return a.key < b.key || (a.key == b.key && a.place < b.place); }
__device__ inline Item least(Item a, Item b) { return precedes(b, a) ? b : a; }
__device__ inline Item most(Item a, Item b) { return precedes(b, a) ? a : b; }
__device__ inline Item of_lane(Item a, int distance) {
    return {__shfl_xor_sync(~0u, a.key, distance), __shfl_xor_sync(~0u, a.place, distance)};
}
"""
JOINED = """\
typedef {item} Item;
__device__ inline Item least(Item a, Item b) {{ return min(a, b); }}
__device__ inline Item most(Item a, Item b) {{ return max(a, b); }}
__device__ inline Item of_lane(Item a, int distance) {{ return __shfl_xor_sync(~0u, a, distance); }}
"""
# How an item is made of a key and a place, what is behind all others, and what the result has of it.
ITEMS = {"keys": ("(Item)key_of(x[at])", "(Item)~0ULL", "bits_of((Key)item)"),
         "joined": ("(Item)key_of(x[at]) << {shift} | (Item)at", "(Item)~0ULL", "(long long)(item & {mask})"),
         "pairs": ("Item{{key_of(x[at]), (unsigned)at}}", "Item{{~0ULL, ~0u}}", "(long long)item.place")}
OF_WARP = """\
enum {{ R = {registers}, SIZE = 32 * R, WARPS = 4 }};
template <int RUN, int STRIDE> __device__ inline void exchange(Item (&v)[R], int lane) {{
    if constexpr (STRIDE >= R) {{
        const bool up = RUN == SIZE || (lane & RUN / R) == 0, low = (lane & STRIDE / R) == 0;
#pragma unroll
        for (int r = 0; r < R; r++) {{
            const Item other = of_lane(v[r], STRIDE / R);
            v[r] = low == up ? least(v[r], other) : most(v[r], other);
        }}
    }} else {{
#pragma unroll
        for (int r = 0; r < R; r++) {{
            if (r & STRIDE) continue;
            const bool up = RUN < R ? (r & RUN) == 0 : RUN == SIZE || (lane & RUN / R) == 0;
            const Item low = least(v[r], v[r | STRIDE]), high = most(v[r], v[r | STRIDE]);
            v[r] = up ? low : high;
            v[r | STRIDE] = up ? high : low;
        }}
    }}
    if constexpr (STRIDE > 1) exchange<RUN, STRIDE / 2>(v, lane);
}}
template <int RUN> __device__ inline void sort_runs(Item (&v)[R], int lane) {{
    exchange<RUN, RUN / 2>(v, lane);
    if constexpr (RUN < SIZE) sort_runs<RUN * 2>(v, lane);
}}
// Element lane * R + r of the sorted line is in register r; through shared memory the stores are side by side.
extern "C" __global__ void __launch_bounds__(32 * WARPS) sort(const Key* x, {result}* out, long long lines,
                                                             long long length) {{
    __shared__ {result_kept} turned[WARPS][32 * (R + 1)];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const long long line = blockIdx.x * (long long)WARPS + warp;
    if (line >= lines) return;
    x += line * length, out += line * length;
    Item v[R];
#pragma unroll
    for (int r = 0; r < R; r++) {{
        const int at = r * 32 + lane;
        v[r] = at < length ? {make} : {last};
    }}
    sort_runs<2>(v, lane);
#pragma unroll
    for (int r = 0; r < R; r++) {{
        const Item item = v[r];
        turned[warp][lane * (R + 1) + r] = ({result_kept}){take};
    }}
    __syncwarp();
#pragma unroll
    for (int r = 0; r < R; r++) {{
        const int at = r * 32 + lane;
        if (at < length) out[at] = turned[warp][at / R * (R + 1) + at % R];
    }}
}}
"""

# ---- digits ----------------------------------------------------------------------------------------------------------
DIGITS = """\
enum {{ EACH = {each}, WARPS = 8, TILE = 256 * EACH, DIGITS = sizeof(Key), PLACES = {places}, MATCH = {match} }};
typedef {count} Count;                  // of elements of a line
union Stage {{ Key keys[TILE]; Count places[TILE]; }};
struct Shared {{ unsigned counts[WARPS][256], starts[256], of_warps[WARPS]; }};
__device__ inline unsigned lanes_with(unsigned digit) {{
    if (MATCH) return __match_any_sync(~0u, digit);
    unsigned found = ~0u;
#pragma unroll
    for (int bit = 0; bit < 8; bit++) {{
        const unsigned set = __ballot_sync(~0u, digit >> bit & 1);
        found &= digit >> bit & 1 ? set : ~set;
    }}
    return found;
}}
// The sum of what the threads before have, of 256; all threads call.
__device__ inline Count before(Count mine, Count* of_warps) {{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    Count sum = mine;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {{
        const Count other = __shfl_up_sync(~0u, sum, distance);
        if (lane >= distance) sum += other;
    }}
    __syncthreads();
    if (lane == 31) of_warps[warp] = sum;
    __syncthreads();
    for (int w = 0; w < warp; w++) sum += of_warps[w];
    return sum - mine;
}}
// Where each key goes in its tile, by one digit; the keys of a warp are beside each other, those of a lane 32 apart.
// Returns how many of the tile's keys have the digit of this thread's number.
static __device__ inline unsigned rank_keys(const Key (&key)[EACH], int shift, unsigned (&rank)[EACH],
                                            Shared& shared) {{
    __shared__ Count of_warps[WARPS];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    __syncthreads();
#pragma unroll
    for (int w = 0; w < WARPS; w++) shared.counts[w][threadIdx.x] = 0;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < EACH; i++) {{
        const unsigned digit = (unsigned)(key[i] >> shift) & 255, lanes = lanes_with(digit);
        const int leader = __ffs((int)lanes) - 1;
        unsigned earlier = 0;
        if (lane == leader) {{
            earlier = shared.counts[warp][digit];
            shared.counts[warp][digit] = earlier + __popc(lanes);
        }}
        rank[i] = __shfl_sync(~0u, earlier, leader) + __popc(lanes & ((1u << lane) - 1));
        __syncwarp();
    }}
    __syncthreads();
    unsigned all = 0;
#pragma unroll
    for (int w = 0; w < WARPS; w++) {{
        const unsigned count = shared.counts[w][threadIdx.x];
        shared.counts[w][threadIdx.x] = all;
        all += count;
    }}
    shared.starts[threadIdx.x] = (unsigned)before(all, of_warps);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < EACH; i++) {{
        const unsigned digit = (unsigned)(key[i] >> shift) & 255;
        rank[i] += shared.starts[digit] + shared.counts[warp][digit];
    }}
    return all;
}}
"""
OF_BLOCK = """\
extern "C" __global__ void __launch_bounds__(256) sort(const Key* x, {result}* out, long long lines,
                                                       long long length) {{
    __shared__ Shared shared;
    __shared__ Stage stage;
    const int first = threadIdx.x / 32 * (32 * EACH) + threadIdx.x % 32;
    Key key[EACH];
    unsigned rank[EACH], place[EACH];
    x += blockIdx.x * length, out += blockIdx.x * length;
#pragma unroll
    for (int i = 0; i < EACH; i++) {{
        place[i] = first + i * 32;
        key[i] = place[i] < length ? key_of(x[place[i]]) : ALL;         // what pads comes last
    }}
    for (int digit = 0; digit < DIGITS; digit++) {{
        rank_keys(key, 8 * digit, rank, shared);
#pragma unroll
        for (int i = 0; i < EACH; i++) stage.keys[rank[i]] = key[i];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < EACH; i++) key[i] = stage.keys[first + i * 32];
        if (!PLACES) continue;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < EACH; i++) stage.places[rank[i]] = place[i];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < EACH; i++) place[i] = (unsigned)stage.places[first + i * 32];
    }}
#pragma unroll
    for (int i = 0; i < EACH; i++) {{
        const int at = first + i * 32;
        if (at < length) out[at] = {take};
    }}
}}
"""
# `counts` and `done` are zeros; `words` and `tickets` are made zeros here, for the kernels behind. The last block of a
# line makes starts of its counts.
LOOK_BACK = """\
const Count FLAG = (Count)1 << (8 * sizeof(Count) - 2), VALUE = FLAG - 1;    // a word: a state of two bits, and a count
__device__ inline void publish(Count* p, Count value) {{
#ifdef __CUDA_ARCH__
    asm volatile("st.relaxed.gpu.global.{bits} [%0], %1;" :: "l"(p), "{letter}"(value) : "memory");
#else
    *p = value;
#endif
}}
__device__ inline Count looked_up(const Count* p) {{
    Count value;
#ifdef __CUDA_ARCH__
    asm volatile("ld.relaxed.gpu.global.{bits} %0, [%1];" : "={letter}"(value) : "l"(p) : "memory");
#else
    value = *p;
#endif
    return value;
}}
extern "C" __global__ void __launch_bounds__(256) count_digits(const Key* x, long long length, long long blocks,
        long long words_of_all, Count* counts, unsigned* done, Count* starts, unsigned* tickets, Count* words) {{
    __shared__ unsigned own[DIGITS][256];
    __shared__ Count of_warps[WARPS];
    __shared__ bool last;
    const long long line = blockIdx.x / blocks, block = blockIdx.x - line * blocks;
    for (int d = 0; d < DIGITS; d++) own[d][threadIdx.x] = 0;
    __syncthreads();
#pragma unroll 4
    for (long long i = block * 256 + threadIdx.x; i < length; i += blocks * 256) {{
        const Key key = key_of(x[line * length + i]);
#pragma unroll
        for (int d = 0; d < DIGITS; d++) atomicAdd(&own[d][(unsigned)(key >> 8 * d) & 255], 1u);
    }}
    for (long long i = blockIdx.x * 256LL + threadIdx.x; i < words_of_all; i += gridDim.x * 256LL) words[i] = 0;
    if (blockIdx.x == 0 && threadIdx.x < DIGITS) tickets[threadIdx.x] = 0;
    __syncthreads();
    counts += line * (DIGITS * 256) + threadIdx.x, starts += line * (DIGITS * 256) + threadIdx.x;
    for (int d = 0; d < DIGITS; d++)
        if (own[d][threadIdx.x]) atomicAdd(counts + 256 * d, (Count)own[d][threadIdx.x]);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {{
        last = atomicAdd(done + line, 1u) == blocks - 1;
        __threadfence();
    }}
    __syncthreads();
    if (!last) return;
    for (int d = 0; d < DIGITS; d++) starts[256 * d] = before(looked_up(counts + 256 * d), of_warps);
}}
// Blocks take tiles in the order in which they come.
static __device__ inline unsigned own_tile(unsigned* tickets, int digit) {{
    __shared__ unsigned mine;
    if (threadIdx.x == 0) mine = atomicAdd(tickets + digit, 1u);
    __syncthreads();
    return mine;
}}
// Where keys with the digit of this thread go, of which the tile has `all`. The thread adds up what the tiles before
// have, eight at a time, until one knows all before it.
__device__ inline Count place_of_digit(Count all, long long line, long long tile, long long tiles, int digit,
                                       const Count* starts, Count* words) {{
    Count* word = words + (line * tiles + tile) * 256 + threadIdx.x;
    Count earlier = 0;
    publish(word, (tile ? FLAG : 2 * FLAG) | all);
    for (long long at = tile - 1; at >= 0;) {{
        Count seen[8];
#pragma unroll
        for (int k = 0; k < 8; k++) seen[k] = at - k >= 0 ? looked_up(word - (tile - at + k) * 256) : 2 * FLAG;
        int used = 0;
        bool found = false, waits = false;
#pragma unroll
        for (int k = 0; k < 8; k++) {{
            waits = waits || seen[k] < FLAG;
            if (found || waits) continue;
            earlier += seen[k] & VALUE;
            used++;
            found = seen[k] >= 2 * FLAG;
        }}
        at = found ? -1 : at - used;
    }}
    if (tile) publish(word, 2 * FLAG | (earlier + all));
    return starts[(line * DIGITS + digit) * 256 + threadIdx.x] + earlier;
}}
"""
# `words` are in the order of lines, digits and tiles, and become their cumulative sums within a line.
COUNTED = """\
extern "C" __global__ void __launch_bounds__(256) count_tiles(const Key* keys, long long length, long long tiles,
                                                              long long digit, Count* words) {{
    __shared__ unsigned own[256];
    const long long line = blockIdx.x / tiles, tile = blockIdx.x - line * tiles;
    const int left = (int)min(length - tile * TILE, (long long)TILE);
    keys += line * length + tile * TILE;
    own[threadIdx.x] = 0;
    __syncthreads();
    Key key[EACH];
#pragma unroll
    for (int i = 0; i < EACH; i++) {{
        const int at = threadIdx.x + i * 256;
        key[i] = at < left ? keys[at] : 0;
    }}
#pragma unroll
    for (int i = 0; i < EACH; i++) {{
        if (digit == 0) key[i] = key_of(key[i]);
        if ((int)threadIdx.x + i * 256 < left) atomicAdd(&own[(unsigned)(key[i] >> 8 * digit) & 255], 1u);
    }}
    __syncthreads();
    words[(line * 256 + threadIdx.x) * tiles + tile] = own[threadIdx.x];
}}
__device__ inline unsigned own_tile(unsigned*, int) {{ return blockIdx.x; }}
__device__ inline Count place_of_digit(Count, long long line, long long tile, long long tiles, int, const Count*,
                                       Count* words) {{
    const long long before = threadIdx.x * tiles + tile - 1;
    return before >= 0 ? words[line * 256 * tiles + before] : 0;
}}
"""
SWEEP = """\
template <bool LAST>
static __device__ inline void sweep(const Key* keys, const Count* places, Key* keys_out, void* last_out,
                                    Count* places_out, long long length, long long tiles, int digit,
                                    const Count* starts, unsigned* tickets, Count* words) {{
    __shared__ Shared shared;
    __shared__ Stage stage;
    __shared__ Count to_global[256];
    const unsigned mine = own_tile(tickets, digit);
    const long long line = mine / tiles, tile = mine - line * tiles, base = tile * TILE, skipped = line * length + base;
    const int first = threadIdx.x / 32 * (32 * EACH) + threadIdx.x % 32;
    const int left = (int)min(length - base, (long long)TILE);
    Key key[EACH];
    unsigned rank[EACH];
#pragma unroll
    for (int i = 0; i < EACH; i++) {{
        const int at = first + i * 32;
        key[i] = at < left ? keys[skipped + at] : ALL;                  // what pads comes last
        if (digit == 0 && at < left) key[i] = key_of(key[i]);
    }}
    const Count all = rank_keys(key, 8 * digit, rank, shared);
#pragma unroll
    for (int i = 0; i < EACH; i++) stage.keys[rank[i]] = key[i];
    to_global[threadIdx.x] = place_of_digit(all, line, tile, tiles, digit, starts, words) - shared.starts[threadIdx.x];
    __syncthreads();
    Count to[EACH];
#pragma unroll
    for (int i = 0; i < EACH; i++) {{
        const int at = threadIdx.x + i * 256;
        const Key k = stage.keys[at];
        to[i] = to_global[(unsigned)(k >> 8 * digit) & 255] + at;
        if (at >= left) continue;                                       // padding stays behind all others
        if (!LAST) keys_out[line * length + to[i]] = k;
        else if (!PLACES) ((Key*)last_out)[line * length + to[i]] = bits_of(k);
    }}
    if (!PLACES) return;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < EACH; i++) {{
        const int at = first + i * 32;
        stage.places[rank[i]] = digit == 0 ? (Count)(base + at) : at < left ? places[skipped + at] : 0;
    }}
    __syncthreads();
#pragma unroll
    for (int i = 0; i < EACH; i++) {{
        const int at = threadIdx.x + i * 256;
        if (at >= left) continue;
        if (LAST) ((long long*)last_out)[line * length + to[i]] = stage.places[at];
        else places_out[line * length + to[i]] = stage.places[at];
    }}
}}
#define PARAMETERS const Key* keys, const Count* places, Key* keys_out, void* last_out, Count* places_out, \\
    long long length, long long tiles, long long digit, const Count* starts, unsigned* tickets, Count* words
#define PASSED keys, places, keys_out, last_out, places_out, length, tiles, (int)digit, starts, tickets, words
extern "C" {{
__global__ void __launch_bounds__(256) sweep_keys(PARAMETERS) {{ sweep<false>(PASSED); }}
__global__ void __launch_bounds__(256) sweep_last(PARAMETERS) {{ sweep<true>(PASSED); }}
}}
"""
# Of sorted places the first or the last of each line, and the elements there.
BEST = """\
extern "C" __global__ void best(const long long* places, const Key* x, Key* values, {place}* places_out,
                                long long items, long long length, long long k) {{
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < items;
         i += gridDim.x * (long long)blockDim.x) {{
        const long long line = i / (k < 0 ? -k : k), j = i - line * (k < 0 ? -k : k);
        const long long place = places[line * length + (k < 0 ? j : length - 1 - j)];
        if (values) values[i] = x[line * length + place];
        if (places_out) places_out[i] = ({place})place;
    }}
}}
"""

# Of rows in an order the keys of a column; and an order, in the order of places. NULL: the order is that of the rows.
OF_ROWS = """\
extern "C" {
__global__ void take_column(const char* x, const long long* order, Key* keys, long long rows, long long step) {
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < rows;
         i += gridDim.x * (long long)blockDim.x)
        keys[i] = *(const Key*)(x + (order ? order[i] : i) * step);
}
__global__ void take_order(const long long* order, const long long* places, long long* out, long long rows) {
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < rows;
         i += gridDim.x * (long long)blockDim.x) {
        const long long place = places ? places[i] : i;
        out[i] = order ? order[place] : place;
    }
}
}
"""


def head(dtype, places):
    """Text that makes keys of elements."""
    kind = dtype.rstrip("0123456789")
    size = 1 if dtype == "bool" else int(dtype[len(kind):]) // 8
    if kind not in ("bool", "int", "uint", "float") or size > 8:
        raise NoSource(dtype)
    way = {"bool": "unsigned", "uint": "unsigned", "int": "signed"}.get(kind, "places" if places else "elements")
    key_of, bits_of = [text.format(infinity=f"(Key){PAYLOAD.get(size)}ULL") for text in KEY_OF[way]]
    return HEAD.format(key=KEYS[size], key_of=f"(Key)({key_of})", bits_of=f"(Key)({bits_of})"), size


def warp_source(dtype, places, registers):
    """A line of up to ``32 * registers`` elements by a warp; ``places`` and not elements."""
    text, size = head(dtype, places)
    way = "keys" if not places else "pairs" if size == 8 else "joined"
    shift = 32 if size == 4 else 16
    make, last, take = [part.format(shift=shift, mask=hex(2 ** shift - 1)) for part in ITEMS[way]]
    item = KEYS[8 if size == 8 or (places and size == 4) else 4]
    result, kept = ("long long", "unsigned") if places else ("Key", "Key")
    return text + (PAIR if way == "pairs" else JOINED.format(item=item)) + OF_WARP.format(
        registers=registers, result=result, result_kept=kept, make=make, last=last, take=take)


def digits(dtype, places, each, match, wide):
    text, _ = head(dtype, places)
    return text + DIGITS.format(each=each, places=int(places), match=int(match), count=KEYS[8 if wide else 4])


def block_source(dtype, places, each):
    """A line of up to ``256 * each`` elements by a block."""
    return digits(dtype, places, each, False, False) + OF_BLOCK.format(
        result="long long" if places else "Key", take="place[i]" if places else "bits_of(key[i])")


def sweep_source(dtype, places, each, counted, wide):
    """Longer lines, of tiles of ``256 * each`` elements; ``counted`` before they are moved; ``wide``: of 2 ** 30
    elements and more."""
    kind = {"bits": "u64", "letter": "l"} if wide else {"bits": "u32", "letter": "r"}
    ways = COUNTED if counted else LOOK_BACK
    return digits(dtype, places, each, counted, wide) + ways.format(**kind) + SWEEP.format()


def best_source(dtype, position_dtype):
    """The best elements of sorted lines and their places."""
    return head(dtype, True)[0] + BEST.format(place=KEYS[int(position_dtype.lstrip("uint")) // 8])


def rows_source(dtype):
    """What sorts rows by one column after another."""
    return head(dtype, True)[0] + OF_ROWS
