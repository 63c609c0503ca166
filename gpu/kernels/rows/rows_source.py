"""The source of kernels that work on rows: folds along a row, and what is computed from its elements and the folds.

Each row belongs to some threads (*lanes*): a part of a warp, a warp, or a block. Where a row fits into their registers
it is read once, else it is read again by each stage. ``Rows`` says what is computed; ``rows_source`` writes it for one
*variant*, and `rows_kernel.pyx` chooses the variant by the shapes and addresses of each call. The folds of a row have a
fixed order: in a lane by position, then over the lanes in pairs, then over the warps in pairs.
"""
import re
from collections import namedtuple

import numpy

from phintys.gpu.kernels.scalar_source import computed, loaded, stored, to_store, with_functions
from phintys.gpu.kernels.vector_source import VECTORS

Operand = namedtuple("Operand", "name dtype kind")
WIDE, NARROW, VALUE = "wide", "narrow", "value"     # an element for each position, for each row, one of the host

Stage = namedtuple("Stage", "name type first combined lines value after taken local closed ahead",
                   defaults=("",) * 5)
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
local, closed : str
    A declaration of what ``taken`` changes instead, in one lane, and the expression that makes the fold of it.
ahead : tuple (str, str, str) or ""
    What is done with the elements of a vector before they are taken: a declaration, a statement for each element, and
    one after them.
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
    How many axes there are; the last ``inner`` of them are the row.
"""
Variant = namedtuple("Variant", "reading each lanes block joined runs split", defaults=(False, False))
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
runs : bool
    A row may be several pieces: of one length, at one distance and without gaps, unless it is STRIDED. Else it is one.
split : bool
    A row has several blocks (or, with one lane, threads of several blocks): each stage is a kernel of its own,
    ``stage0`` and so on, of which the partial folds are in memory, and ``rows`` is the last.
"""
STRIDED, DENSE, PACKED, WHOLE = range(4)
SMALL, LARGE = 256, 1024            # blocks
STAGES = 8                          # the most of split rows

TEXT = """\
typedef {index} Index;
enum {{ N = {pack}, EACH = {each}, LANES = {lanes}, RANK = {rank}, POINTERS = {pointers} }};
struct Walk {{
    long long rows, count, outer, inner, splits, lengths[2][RANK], strides[2][POINTERS][RANK];
    char* partial[{stages}];
    Divider run;
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
template <class T> __device__ inline T* spot(const Walk& walk, const char* row, int operand, Index first) {{
    {spot}
}}
template <class T> __device__ inline Pack<T, N> read(const Walk& walk, const char* row, int operand, Index first,
                                                     Index count) {{
    Pack<T, N> pack;
    {read}
    return pack;
}}
template <class T> __device__ inline Pack<T, N> straight(const Walk& walk, const char* row, int operand, Index first,
                                                         Index) {{
    {straight}
}}
template <class T> __device__ inline void write(const Pack<T, N>& pack, const Walk& walk, char* row, int operand,
                                                Index first, Index count) {{
    {write}
}}
{functions}
"""
# The fold of the partial folds of a row, in each of its lanes.
PARTIAL = """\
template <class A, class F> __device__ inline A of_parts(const Walk& walk, int stage, long long row, const A& first,
                                                         F f) {{
    const A* parts = (const A*)walk.partial[stage] + row;
    if (LANES == 1) {{
        A value = first;
        for (long long part = 0; part < walk.splits; part++) value = f(value, parts[part * walk.rows]);
        return value;
    }}
    const int lane = threadIdx.x % 32;
    A value = lane < walk.splits ? parts[lane * walk.rows] : first;
#pragma unroll
    for (int distance = 16; distance; distance /= 2) value = paired(value, lane, distance, f);
    return value;
}}
"""
KERNEL = """\
extern "C" __global__ void __launch_bounds__({block}) {name}(Walk walk, {parameters}) {{
    __shared__ double room[2][32 * 3];        // 24 bytes for each warp
    const int lanes = LANES ? LANES : blockDim.x, lane = LANES ? threadIdx.x % LANES : threadIdx.x;
    const Index count = (Index)walk.count;
    const long long number = LANES ? (blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x) / LANES : blockIdx.x;
    const bool there = !LANES || number < walk.rows;
    const long long row = there ? number : walk.rows - 1;
    long long at[POINTERS] = {{}};
    {rows}
    {body}
}}
"""
# The vectors of a row that a lane begins and ends with, where they are not kept.
WHOLE_ROW = "const Index begin = 0, end = (count + shift + N - 1) / N;"
PART_OF_ROW = """const Index vectors = (count + shift + N - 1) / N, splits = (Index)walk.splits;
    const Index share = (vectors + splits - 1) / splits;
    const Index begin = (Index)blockIdx.y * share, end = begin + share < vectors ? begin + share : vectors;"""
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
SPOT = {
    "strided": "return (T*)(row + place(walk, operand, first));",
    "dense": "return (T*)row + first;",
    "runs": """const unsigned run = walk.run.quotient((unsigned)first);
    return (T*)(row + run * walk.strides[1][operand][1]) + ((unsigned)first - run * walk.run.length);""",
}
ELEMENT = "pack.v[0] = first < count ? *spot<const T>(walk, row, operand, first) : T();"
READ = {
    STRIDED: ELEMENT,
    DENSE: ELEMENT,
    PACKED: """const T* p = spot<const T>(walk, row, operand, first);
    if (first >= 0 && first + N <= count && is_aligned<T, N>(p)) return load_pack<T, N>(p);
#pragma unroll
    for (int k = 0; k < N; k++) pack.v[k] = first + k >= 0 && first + k < count ? p[k] : T();""",
    WHOLE: """if (first < count) return load_pack<T, N>(spot<const T>(walk, row, operand, first));
#pragma unroll
    for (int k = 0; k < N; k++) pack.v[k] = T();""",
}
STRAIGHT = {False: "return {{*spot<const T>(walk, row, operand, first)}};",
            True: "return load_pack<T, N>(spot<const T>(walk, row, operand, first));"}
PUT_ELEMENT = "if (first < count) *spot<T>(walk, row, operand, first) = pack.v[0];"
WRITE = {
    STRIDED: PUT_ELEMENT,
    DENSE: PUT_ELEMENT,
    PACKED: """T* p = spot<T>(walk, row, operand, first);
    if (first >= 0 && first + N <= count && is_aligned<T, N>(p)) return store_pack(p, pack);
#pragma unroll
    for (int k = 0; k < N; k++) if (first + k >= 0 && first + k < count) p[k] = pack.v[k];""",
    WHOLE: "if (first < count) store_pack(spot<T>(walk, row, operand, first), pack);",
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
    return 16 // max([numpy.dtype(operand.dtype).itemsize for operand in wide(rows)], default=4)


def pointers(rows):
    """The operands that are on the device, in the order of their strides."""
    return [operand for operand in (*rows.inputs, *[operand for operand, _ in rows.results]) if operand.kind != VALUE]


def wide(rows):
    return [operand for operand in pointers(rows) if operand.kind == WIDE]


def uses(name, text):
    return re.search(rf"\b{name}\b", text) is not None


def kept(rows):
    """The WIDE inputs that several stages read: they are kept in registers."""
    texts = [stage.lines + stage.value + stage.taken for stage in rows.stages]
    texts.append(rows.lines + " ".join([text for operand, text in rows.results if operand.kind == WIDE]))
    return [operand for operand in rows.inputs if operand.kind == WIDE
            and sum([uses(operand.name, text) for text in texts]) > 1]


def names_of(rows, variant):
    """The kernels of a source, in the order in which they are launched."""
    return (*[f"stage{number}" for number in range(len(rows.stages) if variant.split else 0)], "rows")


def rows_source(rows, variant):
    """The source, with the kernels that ``names_of`` says.

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
    text = Text(rows, variant)
    kind = "strided" if variant.reading == STRIDED else "runs" if variant.runs else "dense"
    parameters = [f"const {stored(operand.dtype)}* __restrict__ p_{operand.name}" for operand in rows.inputs
                  if operand.kind != VALUE]
    parameters += [f"{stored(operand.dtype)}* __restrict__ p_{operand.name}" for operand, _ in rows.results]
    parameters += [f"{stored(operand.dtype)} v_{operand.name}" for operand in rows.inputs if operand.kind == VALUE]
    parameters += [rows.parameters] if rows.parameters else []
    kernels = [KERNEL.format(name=name, block=variant.block, parameters=", ".join(parameters),
                             rows=ROWS[variant.joined],
                             body="\n    ".join([line for line in text.body(number) if line]))
               for number, name in enumerate(names_of(rows, variant))]
    return with_functions(VECTORS + (TEXT + (PARTIAL if variant.split else "")).format(
        index="long long" if variant.reading == STRIDED and not variant.each else "int",
        pack=pack_of(rows) if variant.reading >= PACKED else 1, each=variant.each, lanes=variant.lanes,
        rank=max(2, rows.rank), pointers=max(1, len(text.number)), stages=STAGES,
        place=PLACE[rows.inner > 1 and variant.runs], spot=SPOT[kind], read=READ[variant.reading],
        straight=STRAIGHT[variant.reading >= PACKED],
        write=WRITE[variant.reading], functions=text.functions()) + "\n".join(kernels))


class Text:
    """Writes the bodies of kernels."""

    def __init__(self, rows, variant):
        self.rows, self.variant = rows, variant
        self.number = {operand.name: index for index, operand in enumerate(pointers(rows))}
        self.inputs = {operand.name: operand for operand in rows.inputs}
        self.held = [operand.name for operand in kept(rows)] if variant.each else []
        self.stores = [(operand, text) for operand, text in rows.results if operand.kind == WIDE]

    def functions(self):
        """What comes before the kernels."""
        folds = [f"struct Fold_{stage.name} {{ __device__ {stage.type} operator()(const {stage.type}& a, "
                 f"const {stage.type}& b) const {{ return {stage.combined}; }} }};" for stage in self.rows.stages]
        types = [f"typedef {stored(operand.dtype)} S_{operand.name};" for operand in pointers(self.rows)]
        places = [f"enum {{ PLACE_{name} = {index} }};" for name, index in self.number.items()]
        return "\n".join([self.rows.functions, *folds, *types, *places,
                          "#define ELEMENT(x, i) (*(const S_##x*)(r_##x + place(walk, PLACE_##x, (Index)(i))))"])

    def body(self, kernel):
        """The lines of one kernel; of a split row, those for one stage, or the last."""
        split, stages = self.variant.split, self.rows.stages
        lines = [f"{'const char*' if name in self.inputs else 'char*'} r_{name} = "
                 f"{'(const char*)' if name in self.inputs else '(char*)'}p_{name} + at[{index}];"
                 for name, index in self.number.items()]
        lines += [f"const {computed(operand.dtype)} {operand.name} = {loaded(operand.dtype, given_text(operand))};"
                  for operand in self.rows.inputs if operand.kind != WIDE]
        lines += [shift_text(self.rows, self.variant), PART_OF_ROW if split else "" if self.variant.each else WHOLE_ROW,
                  self.rows.before]
        for name in self.held:
            lines += [f"Pack<{stored(self.inputs[name].dtype)}, N> h_{name}[EACH];", *self.loop(),
                      f"h_{name}[k] = {self.read(name)};", "}"]
        for turn, stage in enumerate(stages[:kernel] if split else stages):
            lines += [*(self.of_parts(turn, stage) if split else self.fold(turn, stage)), stage.after]
        if split and kernel < len(stages):
            stage = stages[kernel]
            target = f"(({stage.type}*)walk.partial[{kernel}])[blockIdx.y * walk.rows + row]"
            return [*lines, *self.fold(kernel, stage), f"if (there && lane == 0) {target} = {stage.name};"]
        return lines + self.last()

    def of_parts(self, turn, stage):
        return [f"const {stage.type} {stage.name} = of_parts<{stage.type}>(walk, {turn}, row, {stage.first}, "
                f"Fold_{stage.name}());"]

    def fold(self, turn, stage):
        """Fold along the row, or the part of it."""
        name = stage.name
        begin, ahead, then = stage.ahead or ("", "", "")
        # No branches, in which the compiler would compute anew what is stored later.
        taken = stage.taken and f"if (INSIDE) {{ {stage.taken} }}" or (
            f"const {stage.type} value_{name} = {stage.value}, sum_{name} = Fold_{name}()({name}, value_{name});\n"
            f"{name} = INSIDE ? sum_{name} : {name};")
        walk = self.walk(stage.lines + stage.value + stage.taken, [begin], [stage.lines, taken], [],
                         [stage.lines, f"if (INSIDE) {ahead}"] if ahead else [], then)
        begin = [f"const {stage.type} first_{name} = {stage.first};"]
        begin += [stage.local, *walk, f"{stage.type} {name} = {stage.closed};"] if stage.local else [
            f"{stage.type} {name} = first_{name};", *walk]
        return [*begin, f"{name} = of_row({name}, first_{name}, lane, ({stage.type}*)room[{turn % 2}], Fold_{name}());"]

    def last(self):
        """Store the results."""
        lines = []
        if self.stores:
            lines += self.walk(
                self.rows.lines + " ".join([text for _, text in self.stores]),
                [f"Pack<{stored(operand.dtype)}, N> w_{operand.name};" for operand, _ in self.stores],
                [self.rows.lines, *[f"w_{operand.name}.v[j] = {to_store(operand.dtype, f'({text})')};"
                                    for operand, text in self.stores]],
                [f"if (there) write(w_{operand.name}, walk, r_{operand.name}, {self.number[operand.name]}, first, "
                 "count);" for operand, _ in self.stores])
        narrow = [f"if (lane == 0) *({stored(operand.dtype)}*)r_{operand.name} = "
                  f"{to_store(operand.dtype, f'({text})')};"
                  for operand, text in self.rows.results if operand.kind == NARROW]
        if narrow or self.rows.after:
            lines += ["if (there && blockIdx.y == 0) {", *narrow, self.rows.after, "}"]
        return lines

    def read(self, name, straight=False):
        place = f"(walk, r_{name}, {self.number[name]}, first, count)"
        return f"{'straight' if straight else 'read'}<{stored(self.inputs[name].dtype)}>{place}"

    def loop(self):
        """The head of a loop over the vectors of a lane."""
        if self.variant.each:
            return ["#pragma unroll", "for (int k = 0; k < EACH; k++) {",
                    "const Index first = (Index)(lane + k * lanes) * N - shift;"]
        return ["#pragma unroll 1", "for (Index vector = begin + lane; vector < end; vector += lanes) {",
                "const Index first = vector * N - shift;"]

    def walk(self, text, before, inside, after, ahead=(), then=""):
        """A loop over the row, or the part of it, in which a text reads operands.

        Where elements are not kept, several vectors are loaded before the first is used, as far as they are aligned and
        full; what is left is done one by one.
        """
        dtypes = {name: operand.dtype for name, operand in self.inputs.items()
                  if operand.kind == WIDE and uses(name, text)}
        condition = "element >= 0 && element < count" if self.variant.reading == PACKED else "first < count"

        def inner(batched):
            own = {name: f"h_{name}[k].v[j]" if name in self.held else f"w_{name}{'[k]' if batched else ''}.v[j]"
                   for name in dtypes}
            elements = ["#pragma unroll", "for (int j = 0; j < N; j++) {", "const Index element = first + j;",
                        *[f"const {computed(dtype)} {name} = {loaded(dtype, own[name])};"
                          for name, dtype in dtypes.items()]]
            lines = [*before, *([*elements, *ahead, "}", then] if ahead else []), *elements, *inside, "}", *after, "}"]
            return [line.replace("INSIDE", "true" if batched else f"({condition})") for line in lines]

        single = [f"const Pack<{stored(dtype)}, N> w_{name} = {self.read(name)};" for name, dtype in dtypes.items()
                  if name not in self.held]
        if self.variant.each or not dtypes:
            return [*self.loop(), *single, *inner(False)]
        unroll = 2 if self.variant.block == LARGE or len(dtypes) > 1 else 4
        aligned = " && ".join([f"is_aligned<{stored(dtype)}, N>((const {stored(dtype)}*)r_{name} - shift)"
                               for name, dtype in dtypes.items()]) if self.variant.reading == PACKED else "true"
        step = ["#pragma unroll", f"for (int k = 0; k < {unroll}; k++) {{",
                "const Index first = (vector + k * lanes) * N - shift;"]
        return ["{", "const Index low = begin < (shift != 0) ? 1 : begin, full = (count + shift) / N;",
                f"const Index high = !({aligned}) ? low : end < full ? end : full, turn = {unroll} * lanes;",
                "const Index done = high > low ? low + (high - low) / turn * turn : low;",
                "for (Index vector = low + lane; vector < done; vector += turn) {",
                *[f"Pack<{stored(dtype)}, N> w_{name}[{unroll}];" for name, dtype in dtypes.items()],
                *step, *[f"w_{name}[k] = {self.read(name, straight=True)};" for name in dtypes], "}",
                *step, *inner(True), "}",
                *self.loop(), "if (vector >= low && vector < done) continue;", *single, *inner(False), "}"]


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
