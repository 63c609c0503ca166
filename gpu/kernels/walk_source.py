"""The sources of kernels that do the same to each element of arrays of one shape, whatever their strides.

``walk_kernel.pyx`` joins dimensions, and chooses among three kernels. In each a thread has N elements that follow each
other along the innermost dimension, 16 bytes of the widest type; indices have 32 bits, and are divided by multiplying.
An operand whose N elements are neighbours, at aligned addresses, is read or written by one instruction; one that is
repeated along the innermost dimension is read once; any other element by element. So one operand with odd strides does
not slow down the others.

* ``rows``: the vectors of each row begin at aligned addresses of the first result; elements before and behind the
  whole vectors of a row are read and written singly. Operands in one order have one row.
* ``counted``: for rows that are short, or no multiple of N, of results without gaps. The N elements may lie in several
  rows: only the first place is divided, the others are counted on from it.
* ``tiles``: operands whose elements are neighbours along another dimension than those of the results. A block has a
  square of SIDE elements, which such operands are read into along their own dimension, through shared memory. If the
  rows of a result are not aligned, a thread's elements are ACROSS apart, so that those of neighbours are neighbours.

They are modules of their own: most programs need the first only.
"""
import numpy

from phintys.gpu.kernels.scalar_source import stored, with_functions
from phintys.gpu.kernels.vector_source import VECTORS

VALUE, SINGLE, ARRAY = "value", "single", "array"           # passed by value; one element for all; one for each
SHARED_BYTES = 48 * 1024
MOST_TURNED = 2                 # operands that `tiles` reads along another dimension
MOST_AHEAD = 2                  # inputs: with so few `tiles` has registers for all reads before the first result
THREADS = 256                   # of a block

PRELUDE = """\
constexpr int N = {count}, POINTERS = {pointers}, RANK = {rank}, SIDE = {side}, THREADS = {threads};
struct Walk {{                                       // dimension 0 is the innermost one; strides are in bytes
    long long strides[POINTERS][RANK];
    Divider lengths[RANK];                          // what an item's number is divided by; each kernel has its own
    int inner, across;                              // the lengths of dimensions 0 and 1
    unsigned items;                                 // of rows: threads; of counted: elements
    int rank;
    unsigned vectors;                               // the operands whose vectors are aligned
    unsigned marks;                                 // rows: are shifted; counted: without gaps; tiles: turned, APART
}};
// Add where the digits of a number are to all offsets.
__device__ inline void move(const Walk& walk, int first, unsigned number, long long* offsets) {{
{unroll}
    for (int axis = first; axis < RANK; axis++) {{
        if (axis >= walk.rank) break;
        const unsigned above = walk.lengths[axis].quotient(number);
        const long long digit = number - above * walk.lengths[axis].length;
#pragma unroll
        for (int operand = 0; operand < POINTERS; operand++) offsets[operand] += digit * walk.strides[operand][axis];
        number = above;
    }}
}}
template <class T> __device__ inline T* moved(T* p, long long offset) {{ return (T*)((char*)p + offset); }}
// The bits of N elements. Elements of less than a word are parted when all operands are on their way: who parts them
// waits for them.
template <class T> struct Raw {{ unsigned words[(N * sizeof(T) + 3) / 4]; }};
template <class T> __device__ inline Pack<T, N> parted(Raw<T> raw) {{
    Pack<T, N> pack;
#ifdef __CUDA_ARCH__
#pragma unroll
    for (unsigned& word : raw.words) asm volatile("" : "+r"(word));
#endif
    memcpy(&pack, raw.words, sizeof pack);
    return pack;
}}
// N elements of an operand from a place along its row on; those from `first` to `last` are there.
template <class T> __device__ inline Raw<T> read(const Walk& walk, int operand, const T* row, int place,
                                                 long long stride, bool whole, int first, int last) {{
    Raw<T> raw = {{}};
    Pack<T, N> pack;
    if (whole && walk.vectors >> operand & 1) {{
        pack = load_pack<T, N>(row + place);
        memcpy(raw.words, &pack, sizeof pack);
        return raw;
    }}
    row = moved(row, place * stride);
    if constexpr (sizeof(T) < 4) {{
        constexpr unsigned bits = 8 * sizeof(T), each = 4 / sizeof(T), ones = (1u << bits) - 1;
        if (stride == 0) {{
            const unsigned x = ((unsigned)*row & ones) * (bits == 8 ? 0x01010101u : 0x00010001u);
#pragma unroll
            for (unsigned& word : raw.words) word = x;
        }} else {{
#pragma unroll
            for (int k = 0; k < N; k++, row = moved(row, stride))
                if (first <= k && k < last) raw.words[k / each] |= ((unsigned)*row & ones) << k % each * bits;
        }}
    }} else {{
        if (stride == 0) {{
            const T x = *row;
#pragma unroll
            for (int k = 0; k < N; k++) pack.v[k] = x;
        }} else {{
#pragma unroll
            for (int k = 0; k < N; k++, row = moved(row, stride)) pack.v[k] = first <= k && k < last ? *row : T();
        }}
        memcpy(raw.words, &pack, sizeof pack);
    }}
    return raw;
}}
template <class T> __device__ inline void write(const Walk& walk, int operand, T* row, int place, long long stride,
                                                bool whole, int first, int last, const Pack<T, N>& pack) {{
    if (whole && walk.vectors >> operand & 1) return store_pack(row + place, pack);
#pragma unroll
    for (int k = 0; k < N; k++)
        if (first <= k && k < last) *moved(row, (place + k) * stride) = pack.v[k];
}}
"""
ROWS = """\
extern "C" __global__ void rows(const __grid_constant__ Walk walk, {parameters}) {{
    const unsigned item = blockIdx.x * blockDim.x + threadIdx.x;
    if (item >= walk.items) return;
    long long offsets[POINTERS] = {{}};
    unsigned slot = item;
    if (walk.rank > 1) {{
        const unsigned row = walk.lengths[0].quotient(item);
        slot = item - row * walk.lengths[0].length;
        move(walk, 1, row, offsets);
    }}
    int place = slot * N;
    if (walk.marks) place -= (int)(((unsigned long long)y0 + offsets[{first}]) / sizeof(*y0) % N);
    const int first = -place, last = walk.inner - place;
    const bool whole = first <= 0 && last >= N;
    if (last <= 0 || first >= N) return;
    {reads}
#pragma unroll
    for (int k = 0; k < N; k++) {{
        {body}
    }}
    {writes}
}}
"""
COUNTED = """\
extern "C" __global__ void counted(const __grid_constant__ Walk walk, {parameters}) {{
    const unsigned at = (blockIdx.x * blockDim.x + threadIdx.x) * N;
    if (at >= walk.items) return;
    const int first = 0, last = (int)(walk.items - at);
    const bool whole = last >= N;
    unsigned row = walk.lengths[0].quotient(at), place = at - row * walk.lengths[0].length;
    unsigned line = row - walk.lengths[1].quotient(row) * walk.lengths[1].length;
    long long starts[POINTERS] = {{}}, offsets[POINTERS];       // of this row; of the element
    move(walk, 1, row, starts);
#pragma unroll
    for (int operand = 0; operand < POINTERS; operand++)
        offsets[operand] = starts[operand] + place * walk.strides[operand][0];
    {declarations}
#pragma unroll
    for (int k = 0; k < N; k++)
        if (k < last) {{
            {gathers}
#pragma unroll
            for (int operand = 0; operand < POINTERS; operand++) offsets[operand] += walk.strides[operand][0];
            if (++place == walk.lengths[0].length) {{
                place = 0, line++, row++;
                const bool turns = line == walk.lengths[1].length;
#pragma unroll
                for (int operand = 0; operand < POINTERS; operand++)
                    starts[operand] = turns ? 0 : starts[operand] + walk.strides[operand][1];
                if (turns) line = 0, move(walk, 1, row, starts);
#pragma unroll
                for (int operand = 0; operand < POINTERS; operand++) offsets[operand] = starts[operand];
            }}
        }}
    {reads}
#pragma unroll
    for (int k = 0; k < N; k++) {{
        {body}
    }}
    {writes}
}}
"""
TILES = """\
constexpr int ACROSS = SIDE / N, DOWN = THREADS / ACROSS, TURNED = {turned};
constexpr unsigned APART = 1u << 31;
__shared__ {widest} shared[TURNED][SIDE * (SIDE + 1)];
template <class T> __device__ inline T* tile_of(const Walk& walk, int operand, unsigned row, unsigned column) {{
    const int tile = __popc(walk.marks & ((1u << operand) - 1));
    return (T*)shared[tile] + row * (SIDE + 1) + column;
}}
// This thread's part of a tile of an operand whose neighbours are along dimension 1: all its vectors are in flight.
template <class T> __device__ inline void turn(const Walk& walk, int operand, const T* base, long long offset,
                                               unsigned row, unsigned column) {{
    const unsigned c = threadIdx.x % ACROSS * N, r = threadIdx.x / ACROSS;
    const long long* strides = walk.strides[operand];
    const int left = walk.across - (int)(row + c);
    Raw<T> raws[SIDE / DOWN];
#pragma unroll
    for (int pass = 0; pass < SIDE / DOWN; pass++)
        if (left > 0 && column + r + pass * DOWN < walk.inner)
            raws[pass] = read(walk, operand, moved(base, offset + (column + r + pass * DOWN) * strides[0]), row + c,
                               strides[1], left >= N, 0, left);
#pragma unroll
    for (int pass = 0; pass < SIDE / DOWN; pass++) {{
        const Pack<T, N> pack = parted(raws[pass]);
#pragma unroll
        for (int k = 0; k < N; k++) *tile_of<T>(walk, operand, r + pass * DOWN, c + k) = pack.v[k];
    }}
}}
template <class T> __device__ inline Pack<T, N> turned(const Walk& walk, int operand, unsigned row, unsigned column,
                                                       int step) {{
    Pack<T, N> pack;
#pragma unroll
    for (int k = 0; k < N; k++) pack.v[k] = *tile_of<T>(walk, operand, column + k * step, row);
    return pack;
}}
extern "C" __global__ void __launch_bounds__(THREADS, 4) tiles(const __grid_constant__ Walk walk, {parameters}) {{
    long long offsets[POINTERS] = {{}};
    unsigned rest = blockIdx.x, above = walk.lengths[0].quotient(rest);
    const unsigned column = (rest - above * walk.lengths[0].length) * SIDE;
    rest = above, above = walk.lengths[1].quotient(rest);
    const unsigned row = (rest - above * walk.lengths[1].length) * SIDE;
    move(walk, 2, above, offsets);
    const bool apart = walk.marks & APART;
    const int c = threadIdx.x % ACROSS * (apart ? 1 : N), step = apart ? ACROSS : 1;
    const int left = walk.inner - (int)column - c, first = 0;
    const int last = apart ? (left + ACROSS - 1) / ACROSS : left;
    const bool whole = last >= N;
    {ahead}
    {turns}
    __syncthreads();
#pragma unroll {passes}
    for (int pass = 0; pass < SIDE / DOWN; pass++) {{
        const unsigned down = threadIdx.x / ACROSS + pass * DOWN;
        if (row + down >= walk.across || last <= 0) break;
        {reads}
#pragma unroll
        for (int k = 0; k < N; k++) {{
            {body}
        }}
        {writes}
    }}
}}
"""

# With few inputs at most one is not turned, so those of one type share registers.
AHEAD = """\
Raw<{type}> h{position}[SIDE / DOWN];
#pragma unroll
    for (int pass = 0; pass < SIDE / DOWN; pass++) {{
        const unsigned down = threadIdx.x / ACROSS + pass * DOWN;
        if (!(TURNED) && row + down < walk.across && last > 0) h{same}[pass] = {read};
    }}"""


class Walk:
    """What the three kernels of one body share.

    Parameters
    ----------
    inputs : sequence of (dtype, kind)
        The kind is VALUE, SINGLE or ARRAY.
    outputs : sequence of str
        Their dtypes.
    rank : int
    body : callable
        The lines in C that compute one element, for the expressions of the inputs' and the results' elements.

    Attributes
    ----------
    count : int
        How many elements a thread has.
    side : int
        Of a tile.

    Raises
    ------
    NoSource
        If the device has no text for a dtype.
    """

    def __init__(self, inputs, outputs, rank, body):
        self.types = [stored(dtype) for dtype, _ in inputs]
        self.results = [stored(dtype) for dtype in outputs]
        self.kinds = [kind for _, kind in inputs]
        self.arrays = [position for position, kind in enumerate(self.kinds) if kind == ARRAY]
        dtypes = [inputs[position][0] for position in self.arrays] + list(outputs)
        widest = max(dtypes, key=lambda dtype: numpy.dtype(dtype).itemsize)
        size = numpy.dtype(widest).itemsize
        turned = min(len(self.arrays), MOST_TURNED)
        self.count, self.rank = max(1, 16 // size), rank
        self.side = 64 if turned * 64 * 65 * size <= SHARED_BYTES else 32
        self.few = len(self.arrays) <= MOST_AHEAD
        elements = [{VALUE: f"v{position}", SINGLE: f"c{position}", ARRAY: f"a{position}.v[k]"}[kind]
                    for position, kind in enumerate(self.kinds)]
        self.body = body(elements, [f"b{position}.v[k]" for position in range(len(outputs))])
        self.pieces = {"count": self.count, "pointers": len(self.arrays) + len(outputs), "rank": max(1, rank),
                       "side": self.side, "unroll": "#pragma unroll" if rank <= 4 else "#pragma unroll 1",
                       "first": len(self.arrays), "turned": turned, "widest": stored(widest), "threads": THREADS,
                       "passes": "" if self.few else "1",
                       "parameters": ", ".join(self.parameters())}

    def parameters(self):
        """The arguments of the kernels, after the walk."""
        for position, (kind, name) in enumerate(zip(self.kinds, self.types, strict=True)):
            yield f"{name} v{position}" if kind == VALUE else f"const {name}* x{position}"
        for position, name in enumerate(self.results):
            yield f"{name}* y{position}"

    def sources(self):
        """The sources of ``rows``, ``counted`` and ``tiles``; without the others if ``rows`` is all that is needed."""
        return (self.rows(), self.counted(), self.tiles()) if self.rank > 1 and self.arrays else (self.rows(),)

    def rows(self):
        """The source of the kernel ``rows``."""
        return self.filled(ROWS, 1, "offsets[{0}]", "place", "walk.strides[{0}][0]")

    def counted(self):
        """The source of the kernel ``counted``."""
        return self.filled(
            COUNTED, 1, "0", "(int)at", "sizeof({type})", "if (walk.marks >> {0} & 1) r{position} = {read};",
            "if (walk.marks >> {0} & 1) a{position} = parted(r{position});",
            declarations="Pack<{type}, N> a{position} = {{}};\n    Raw<{type}> r{position};",
            gathers="        if (!(walk.marks >> {0} & 1)) a{position}.v[k] = *moved(x{position}, offsets[{0}]);")

    def tiles(self):
        """The source of the kernel ``tiles``. Few inputs are read before the others are waited for."""
        turned = "true" if len(self.arrays) == 1 else "walk.marks >> {0} & 1"
        raw, read = ("h{same}[pass]", "") if self.few else (
            "r{position}", f"Raw<{{type}}> r{{position}}; if (!({turned})) r{{position}} = {{read}};")
        return self.filled(
            TILES, 2, "offsets[{0}] + (row + down) * walk.strides[{0}][1] + (column + c) * walk.strides[{0}][0]", "0",
            "walk.strides[{0}][0] * step", read,
            f"const Pack<{{type}}, N> a{{position}} = {turned} ? turned<{{type}}>(walk, {{0}}, down, c, step) : "
            f"parted({raw});", ahead=AHEAD.replace("TURNED", turned) if self.few else "",
            turns=f"if ({turned}) turn(walk, {{0}}, x{{position}}, offsets[{{0}}], row, column);")

    def filled(self, template, level, offset, place, stride, read="const Raw<{type}> r{position} = {read};",
               part="const Pack<{type}, N> a{position} = parted(r{position});", **more):
        """A source.

        Parameters
        ----------
        template : str
        level : int
            How far the texts are indented.
        offset, place, stride : str
            Where an operand's elements are: bytes, elements from there, bytes between them. As in all texts below,
            ``{0}`` is the number of a pointer; ``{position}`` and ``{type}`` are those of the operand, and ``{same}``
            is the position of the first operand of its type.
        read, part : str
            How elements are read, ``{read}`` as they lie there; how they are parted when all are read.
        **more : str
            Further texts for each input.
        """
        where = f"{offset}), {place}, {stride}, whole, first, last"

        def of_inputs(text):
            found = []
            for number, position in enumerate(self.arrays):
                name = self.types[position]
                own = {"position": position, "type": name, "same": next(
                    other for other in self.arrays if self.types[other] == name)}
                read = ("read(walk, {0}, moved(x{position}, " + where + ")").format(number, **own)
                found.append(text.format(number, read=read, **own))
            return found

        singles = [f"const {name} c{position} = *x{position};"
                   for position, (kind, name) in enumerate(zip(self.kinds, self.types, strict=True)) if kind == SINGLE]
        packs = [f"Pack<{name}, N> b{position};" for position, name in enumerate(self.results)]
        writes = [("write(walk, {0}, moved(y{position}, " + where + ", b{position});").format(
            len(self.arrays) + position, position=position, type=name) for position, name in enumerate(self.results)]
        indent = "\n" + "    " * level
        texts = {name: "\n    ".join(of_inputs(text)) for name, text in more.items()}
        return with_functions(VECTORS + (PRELUDE + template).format(
            **self.pieces, **texts, reads=indent.join(singles + of_inputs(read) + of_inputs(part) + packs),
            body=(indent + "    ").join(self.body), writes=indent.join(writes)))
