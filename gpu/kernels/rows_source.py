"""The source of kernels that work on rows: folds along a row, and what is computed from its elements and the folds.

Each row belongs to some threads (*lanes*): a part of a warp, a warp, or a block. Where a row fits into their registers
it is read once, else it is read again by each stage. ``Rows`` says what is computed; ``rows_source`` writes it for one
*variant*, and `rows_kernel.pyx` chooses the variant by the shapes and addresses of each call. The folds of a row have a
fixed order: in a lane by position, then over the lanes in pairs, then over the warps in pairs.
"""
import re
from collections import namedtuple

from phintys.gpu.kernels.scalar_source import computed, loaded, stored, to_store, with_functions
from phintys.gpu.kernels.vector_source import VECTORS

Operand = namedtuple("Operand", "name dtype kind")
WIDE, NARROW, VALUE = "wide", "narrow", "value"     # an element for each position, for each row, one of the host

Stage = namedtuple("Stage", "name type first combined lines value after taken", defaults=("", ""))
Stage.__doc__ = """A fold along the row.

Attributes
----------
name, type : str
    Of the variable in C that has the result, in each lane.
first : str
    What a fold begins with.
combined : str
    Of ``a`` and ``b``, of the type.
lines : str
    What is computed for each element before ``value``, what is folded: by names of operands and of earlier stages, and
    by ``element``, the position.
after : str
    Lines of a row, once the result is known.
taken : str
    A statement that takes ``value`` into the fold, if that is not ``combined`` with it.
"""
Rows = namedtuple("Rows", "inputs stages lines results functions parameters before after rank inner",
                  defaults=("", "", "", "", 2, 1))
Rows.__doc__ = """What is computed from rows.

Attributes
----------
inputs : sequence of Operand
    Lines and values of stages have them by name: an element, the row's element, or the number.
stages : sequence of Stage
lines : str
    For each element, before the results are stored.
results : sequence of (Operand, str)
    What is stored: of a WIDE one for each element, of a NARROW one by the first lane of each row.
functions, parameters : str
    Text before the kernel, and further parameters of it: after the operands on the device, the results, and numbers.
before, after : str
    Lines of a row, before the first stage and at the end. Here, and in ``after`` of stages, are ``row``, ``lane``,
    ``there`` (false in lanes that have no row of their own), ``count``, and ``ELEMENT(x, position)``.
rank, inner : int
    Dimensions of what is worked on; the last ``inner`` of them are the row.
"""
Variant = namedtuple("Variant", "reading each lanes block joined")
Variant.__doc__ = """How a row is read.

Attributes
----------
reading : int
    STRIDED: elements; DENSE: elements without gaps; PACKED: vectors of 16 bytes of the largest dtype; WHOLE: the same,
    all of them aligned and full.
each : int
    How many elements or vectors each lane keeps in registers; 0: none, and every stage reads the row again.
lanes : int
    Threads of a row, a power of two up to 32; 0: a block.
block : int
    The most threads of a block.
joined : bool
    The rows are one dimension.
"""
STRIDED, DENSE, PACKED, WHOLE = range(4)
SMALL, LARGE = 256, 1024            # blocks

TEXT = """\
typedef {index} Index;
enum {{ N = {pack}, EACH = {each}, LANES = {lanes}, RANK = {rank}, POINTERS = {pointers} }};
struct Walk {{
    long long rows, count, outer, inner, lengths[2][RANK], strides[2][POINTERS][RANK];
}};
template <class A> __device__ inline A exchanged(const A& value, int distance) {{
    int words[(sizeof(A) + 3) / 4] = {{}};
    memcpy(words, &value, sizeof(A));
#pragma unroll
    for (int word = 0; word < (int)(sizeof words / 4); word++)
        words[word] = __shfl_xor_sync(~0u, words[word], distance);
    A result;
    memcpy(&result, words, sizeof(A));
    return result;
}}
template <class A, class F> __device__ inline A paired(const A& value, int lane, int distance, F f) {{
    const A other = exchanged(value, distance);
    return lane & distance ? f(other, value) : f(value, other);         // the same in both lanes, with signs of zeros
}}
// The fold of what the lanes of a row have, in each of them. `found` is read until the next fold but one.
template <class A, class F> __device__ inline A of_row(A value, const A& first, int lane, A* found, F f) {{
#pragma unroll
    for (int distance = (LANES ? LANES : 32) / 2; distance; distance /= 2) value = paired(value, lane, distance, f);
    if (LANES) return value;
    if (lane % 32 == 0) found[lane / 32] = value;
    __syncthreads();
    value = lane % 32 < blockDim.x / 32 ? found[lane % 32] : first;
#pragma unroll
    for (int distance = 16; distance; distance /= 2) value = paired(value, lane, distance, f);
    return value;
}}
__device__ inline long long place(const Walk& walk, int operand, Index element) {{
    {place}
}}
template <class T> __device__ inline Pack<T, N> read(const Walk& walk, const char* row, int operand, Index first,
                                                     Index count) {{
    Pack<T, N> pack;
    {read}
    return pack;
}}
template <class T> __device__ inline void write(const Pack<T, N>& pack, char* row, Index first, Index count) {{
    {write}
}}
{functions}
extern "C" __global__ void __launch_bounds__({block}) rows(Walk walk, {parameters}) {{
    __shared__ double room[2][64];            // 16 bytes for each warp
    const int lanes = LANES ? LANES : blockDim.x, lane = LANES ? threadIdx.x % LANES : threadIdx.x;
    const Index count = (Index)walk.count;
    const long long number = LANES ? (blockIdx.x * (long long)blockDim.x + threadIdx.x) / LANES : blockIdx.x;
    const bool there = !LANES || number < walk.rows;
    const long long row = there ? number : walk.rows - 1;
    long long at[POINTERS] = {{}};
    {rows}
    {start}
}}
"""
# Where a row begins, for rows of one dimension or of several.
ROWS = {
    True: """#pragma unroll
    for (int operand = 0; operand < POINTERS; operand++) at[operand] = row * walk.strides[0][operand][0];""",
    False: """long long rest = row;
    for (int axis = 0; axis < (int)walk.outer; axis++) {
        const long long above = axis + 1 < (int)walk.outer ? rest / walk.lengths[0][axis] : 0;
        const long long position = rest - above * walk.lengths[0][axis];
#pragma unroll
        for (int operand = 0; operand < POINTERS; operand++) at[operand] += position * walk.strides[0][operand][axis];
        rest = above;
    }""",
}
READ = {
    STRIDED: "pack.v[0] = first < count ? *(const T*)(row + place(walk, operand, first)) : T();",
    DENSE: "pack.v[0] = first < count ? ((const T*)row)[first] : T();",
    PACKED: """const T* p = (const T*)row + first;
    if (first >= 0 && first + N <= count && is_aligned<T, N>(p)) return load_pack<T, N>(p);
#pragma unroll
    for (int k = 0; k < N; k++) pack.v[k] = first + k >= 0 && first + k < count ? p[k] : T();""",
    WHOLE: """if (first < count) return load_pack<T, N>((const T*)row + first);
#pragma unroll
    for (int k = 0; k < N; k++) pack.v[k] = T();""",
}
WRITE = {
    STRIDED: "if (first < count) ((T*)row)[first] = pack.v[0];",
    DENSE: "if (first < count) ((T*)row)[first] = pack.v[0];",
    PACKED: """T* p = (T*)row + first;
    if (first >= 0 && first + N <= count && is_aligned<T, N>(p)) return store_pack(p, pack);
#pragma unroll
    for (int k = 0; k < N; k++) if (first + k >= 0 && first + k < count) p[k] = pack.v[k];""",
    WHOLE: "if (first < count) store_pack((T*)row + first, pack);",
}
PLACE = {
    False: "return element * walk.strides[1][operand][0];",
    True: """long long offset = 0;
    for (int axis = 0; axis < (int)walk.inner; axis++) {
        const Index above = axis + 1 < (int)walk.inner ? element / (Index)walk.lengths[1][axis] : 0;
        offset += (element - above * (Index)walk.lengths[1][axis]) * walk.strides[1][operand][axis];
        element = above;
    }
    return offset;""",
}


def pack_of(rows):
    """How many elements a vector has."""
    from numpy import dtype
    return 16 // max([dtype(operand.dtype).itemsize for operand in wide(rows)], default=4)


def pointers(rows):
    """The operands that are on the device, in the order of their strides."""
    return [operand for operand in (*rows.inputs, *[operand for operand, _ in rows.results]) if operand.kind != VALUE]


def wide(rows):
    return [operand for operand in pointers(rows) if operand.kind == WIDE]


def uses(name, text):
    return re.search(rf"\b{name}\b", text) is not None


def kept(rows):
    """The WIDE inputs that several stages read: they are kept in registers."""
    texts = [stage.lines + stage.value for stage in rows.stages]
    texts.append(rows.lines + " ".join([text for operand, text in rows.results if operand.kind == WIDE]))
    return [operand for operand in rows.inputs if operand.kind == WIDE
            and sum([uses(operand.name, text) for text in texts]) > 1]


def rows_source(rows, variant):
    """The source, with one kernel, ``rows``.

    Parameters
    ----------
    rows : Rows
    variant : Variant

    Returns
    -------
    str

    Raises
    ------
    NoSource
        For dtypes without text.
    """
    number = {operand.name: index for index, operand in enumerate(pointers(rows))}
    inputs = {operand.name: operand for operand in rows.inputs}
    held = [operand.name for operand in kept(rows)] if variant.each else []
    body = [f"const char* r_{name} = (const char*)p_{name} + at[{index}];" if name in inputs else
            f"char* r_{name} = (char*)p_{name} + at[{index}];" for name, index in number.items()]
    body += [f"const {computed(operand.dtype)} {operand.name} = "
             f"{loaded(operand.dtype, given_text(operand))};" for operand in rows.inputs if operand.kind != WIDE]
    body.append(shift_text(rows, variant))
    body.append(rows.before)

    def read(name):
        return f"read<{stored(inputs[name].dtype)}>(walk, r_{name}, {number[name]}, first, count)"

    def walk(text, before, inside, after):
        """A loop over the row."""
        used = [name for name in inputs if inputs[name].kind == WIDE and uses(name, text)]
        packs = [f"const Pack<{stored(inputs[name].dtype)}, N> w_{name} = {read(name)};" for name in used
                 if name not in held]
        own = {name: f"{'h' if name in held else 'w'}_{name}{'[k]' if name in held else ''}.v[j]" for name in used}
        elements = [f"const {computed(inputs[name].dtype)} {name} = {loaded(inputs[name].dtype, own[name])};"
                    for name in used]
        head = ("#pragma unroll\nfor (int k = 0; k < EACH; k++) {\n"
                "const Index first = (Index)(lane + k * lanes) * N - shift;" if variant.each else
                f"#pragma unroll {4 if len(used) < 2 else 2}\n"
                "for (Index first = (Index)lane * N - shift; first < count; first += lanes * N) {")
        return [head, *packs, *before, "#pragma unroll\nfor (int j = 0; j < N; j++) {",
                "const Index element = first + j;", *elements, *inside, "}", *after, "}"]

    for name in held:
        body += [f"Pack<{stored(inputs[name].dtype)}, N> h_{name}[EACH];", "#pragma unroll\n"
                 f"for (int k = 0; k < EACH; k++) {{\nconst Index first = (Index)(lane + k * lanes) * N - shift;\n"
                 f"h_{name}[k] = {read(name)};\n}}"]
    inside = "element >= 0 && element < count" if variant.reading == PACKED else "first < count"
    for turn, stage in enumerate(rows.stages):
        name = stage.name
        taken = stage.taken or f"{name} = Fold_{name}()({name}, {stage.value});"
        body += [f"const {stage.type} first_{name} = {stage.first};", f"{stage.type} {name} = first_{name};",
                 *walk(stage.lines + stage.value, [], [stage.lines, f"if ({inside}) {taken}"], []),
                 f"{name} = of_row({name}, first_{name}, lane, ({stage.type}*)room[{turn % 2}], "
                 f"Fold_{name}());", stage.after]
    stores = [(operand, text) for operand, text in rows.results if operand.kind == WIDE]
    if stores:
        body += walk(rows.lines + " ".join([text for _, text in stores]),
                     [f"Pack<{stored(operand.dtype)}, N> w_{operand.name};" for operand, _ in stores],
                     [rows.lines, *[f"w_{operand.name}.v[j] = {to_store(operand.dtype, f'({text})')};"
                                    for operand, text in stores]],
                     [f"if (there) write(w_{operand.name}, r_{operand.name}, first, count);" for operand, _ in stores])
    body += [f"if (there && lane == 0) *({stored(operand.dtype)}*)r_{operand.name} = "
             f"{to_store(operand.dtype, f'({text})')};" for operand, text in rows.results if operand.kind == NARROW]
    body.append(rows.after)
    folds = [f"struct Fold_{stage.name} {{ __device__ {stage.type} operator()(const {stage.type}& a, "
             f"const {stage.type}& b) const {{ return {stage.combined}; }} }};" for stage in rows.stages]
    types = [f"typedef {stored(operand.dtype)} S_{operand.name};" for operand in pointers(rows)]
    places = [f"enum {{ PLACE_{name} = {index} }};" for name, index in number.items()]
    functions = "\n".join([rows.functions, *folds, *types, *places,
                           "#define ELEMENT(x, i) (*(const S_##x*)(r_##x + place(walk, PLACE_##x, (Index)(i))))"])
    parameters = [f"const {stored(operand.dtype)}* __restrict__ p_{operand.name}" for operand in rows.inputs
                  if operand.kind != VALUE]
    parameters += [f"{stored(operand.dtype)}* __restrict__ p_{operand.name}" for operand, _ in rows.results]
    parameters += [f"{stored(operand.dtype)} v_{operand.name}" for operand in rows.inputs if operand.kind == VALUE]
    return with_functions(VECTORS + TEXT.format(
        index="int" if variant.each else "long long", pack=pack_of(rows) if variant.reading >= PACKED else 1,
        each=variant.each, lanes=variant.lanes, rank=max(1, rows.rank), pointers=max(1, len(number)),
        place=PLACE[rows.inner > 1], read=READ[variant.reading], write=WRITE[variant.reading], functions=functions,
        block=variant.block, rows=ROWS[variant.joined], start="\n    ".join([line for line in body if line]),
        parameters=", ".join([*parameters, *([rows.parameters] if rows.parameters else [])])))


def given_text(operand):
    """What is passed by value, or the row's element."""
    if operand.kind == VALUE:
        return f"v_{operand.name}"
    return f"*(const {stored(operand.dtype)}*)r_{operand.name}"


def shift_text(rows, variant):
    """How many elements before the row the first vector begins: as many as the first operand needs to be aligned."""
    operands = wide(rows)
    if variant.reading != PACKED or not operands:
        return "const int shift = 0;"
    first = operands[0]
    return f"const int shift = (int)((unsigned long long)r_{first.name} / sizeof({stored(first.dtype)}) % N);"
