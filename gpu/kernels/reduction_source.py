"""The source of folds: reductions over any axes, positions of extrema, products of a matrix and a vector.

A fold combines many elements, which are computed from operands, into each result. Kept and reduced dimensions are
joined where all operands allow, so most folds walk one or two of each. These kernels walk them; each is a source of its
own, which is compiled when it is first needed:

* ``rows``: a block of threads for each result, along the only reduced dimension; ``lanes``: 1 to 32 lanes of a warp;
* ``columns``: threads beside each other have neighbouring results, and walk along the only reduced dimension;
* ``deep`` and ``columns_deep``: the same for several reduced dimensions, whose positions are found by division.

These read operands as vectors of 16 bytes, several in flight, or once for a vector where an operand is repeated along
it. The same with ``_single`` read element by element, where an operand is strided or not aligned. Rows may begin
anywhere: elements before the first whole vector, and after the last, are folded one by one. Where there are too few
results to fill the device, their elements are split: each part makes a partial result, and ``finish`` combines these.
``rows_long`` counts in 64 bits. All orders depend on shapes, strides and the device alone, so results are the same in
every call.
"""
import numpy

from phintys.gpu.kernels.scalar_source import (
    NoSource,
    body_of,
    computed,
    literal,
    loaded,
    step_text,
    stored,
    to_store,
    with_functions,
)
from phintys.gpu.kernels.vector_source import VECTORS
from phintys.ops.elementwise.scalar_code import loop_name

WAYS = ("rows", "lanes", "deep", "columns", "columns_deep")
KERNELS = (*WAYS, *[f"{way}_single" for way in WAYS], "rows_long")
THREADS = 256

# What a fold begins with, where it is not the loop's identity: nothing is changed by it.
FIRST = {"maximum": {"f": "-INFINITY", "i": "min", "b": "false"}, "minimum": {"f": "INFINITY", "i": "max", "b": "true"}}

TEMPLATE = """\
enum {{ THREADS = {threads}, RANK = {rank}, POINTERS = {pointers} }};
struct Plan {{
    long long results, count, splits, chunk, lane_bits, edges, kept_rank, reduced_rank;
}};
struct Walk {{                      // the kept dimensions, and the reduced ones, the innermost first
    long long lengths[2][RANK];     // the innermost, and its strides, in vectors
    Divider dividers[2][RANK];
    long long strides[2][RANK][POINTERS + 1];           // the last: of positions of results
    long long inner[POINTERS + 1];  // strides within a vector
}};
{accumulator}
// A vector of each operand, or one element of those that are repeated. ALONG: vectors lie along reduced dimensions.
template <int N, bool ALONG> struct Raw {{ {raw} }};
template <class T> __device__ inline T exchanged(T x, int distance) {{
    if constexpr (sizeof(T) < 4) return (T)__shfl_xor_sync(~0u, (int)x, distance);
    else {{
        unsigned words[sizeof(T) / 4];
        memcpy(words, &x, sizeof(T));
#pragma unroll
        for (int i = 0; i < (int)sizeof(T) / 4; i++) words[i] = __shfl_xor_sync(~0u, words[i], distance);
        memcpy(&x, words, sizeof(T));
        return x;
    }}
}}
template <class Index> __device__ inline void move(Index number, const Walk& walk, int part, int rank,
                                                   long long* offsets) {{
    if constexpr (RANK > 1) {{                          // braces: NVRTC 12 takes a pragma there for the statement
#pragma unroll 1
        for (int axis = 0; axis + 1 < rank; axis++) {{
            Index above;
            if constexpr (sizeof(Index) == 4) above = walk.dividers[part][axis].quotient(number);
            else above = number / (Index)walk.lengths[part][axis];
            const long long at = number - above * (Index)walk.lengths[part][axis];
#pragma unroll
            for (int i = 0; i <= POINTERS; i++) offsets[i] += at * walk.strides[part][axis][i];
            number = above;
        }}
    }}
    const int last = RANK > 1 && rank > 1 ? rank - 1 : 0;
#pragma unroll
    for (int i = 0; i <= POINTERS; i++) offsets[i] += (long long)number * walk.strides[part][last][i];
}}
template <int N, bool ALONG> __device__ inline void fetch(Raw<N, ALONG>& raw, const long long* at) {{
    {fetch}
}}
template <int N, bool ALONG> __device__ inline Accumulator element(const Raw<N, ALONG>& raw, int k, long long place,
                                                                   {parameters}) {{
    {body}
}}
template <int N, bool ALONG> __device__ inline void add(Accumulator* totals, const Raw<N, ALONG>& raw, long long place,
                                                        {parameters}) {{
#pragma unroll
    for (int k = 0; k < N; k++) totals[k] = with_next(totals[k], element(raw, k, place + (ALONG ? k : 0), {names}));
}}
// Vectors from number `i` to `end`, every `step`-th. FLAT: along one dimension.
template <int N, bool ALONG, int FLIGHT, bool FLAT, class Index> __device__ inline void run(
        Accumulator* totals, Index i, Index end, Index step, const long long* start, const Walk& walk, int rank,
        Index first_place, {parameters}) {{
    Raw<N, ALONG> raw[FLIGHT];
    long long at[POINTERS + 1], leap[POINTERS + 1];
    if constexpr (FLAT) {{
#pragma unroll
        for (int j = 0; j < POINTERS; j++) {{
            leap[j] = (long long)step * walk.strides[1][0][j];
            at[j] = start[j] + (long long)i * walk.strides[1][0][j];
        }}
    }}
#pragma unroll 1
    for (; i + (FLIGHT - 1) * step < end; i += FLIGHT * step) {{
#pragma unroll
        for (int u = 0; u < FLIGHT; u++) {{
            if constexpr (!FLAT) {{
#pragma unroll
                for (int j = 0; j <= POINTERS; j++) at[j] = start[j];
                move<Index>(i + u * step, walk, 1, rank, at);
            }}
            fetch<N, ALONG>(raw[u], at);
            if constexpr (FLAT) {{
#pragma unroll
                for (int j = 0; j < POINTERS; j++) at[j] += leap[j];
            }}
        }}
#pragma unroll
        for (int u = 0; u < FLIGHT; u++)
            add<N, ALONG>(totals, raw[u], first_place + (i + u * step) * (ALONG ? N : 1), {names});
    }}
    if constexpr (FLIGHT > 1)
        run<N, ALONG, (FLIGHT > 2 && N > 1 ? 2 : 1), FLAT, Index>(totals, i, end, step, start, walk, rank, first_place,
                                                                  {names});
}}
__device__ inline void put(Accumulator total, long long result, int split, const Plan& plan, Accumulator* partial,
                           {parameters}) {{
    if (plan.splits > 1) partial[split * plan.results + result] = total;
    else store(total, result, {names});
}}
template <class T, int N> __device__ inline unsigned before_aligned(long long at) {{
    return (unsigned)(-(unsigned long long)at % (N * sizeof(T)) / sizeof(T));
}}
// BLOCK: a block has a row; else some lanes of a warp, or a block if there are several dimensions.
template <int N, int FLIGHT, class Index, bool FLAT, bool BLOCK> __device__ inline void fold_rows(
        {parameters}, const Plan& plan, const Walk& walk, Accumulator* partial) {{
    const int bits = BLOCK ? {block_bits} : (int)plan.lane_bits, lanes = 1 << bits, lane = threadIdx.x & (lanes - 1);
    const Index result = BLOCK ? (Index)blockIdx.x
                               : (Index)blockIdx.x * (THREADS >> bits) + (threadIdx.x >> bits);
    Accumulator totals[N];
#pragma unroll
    for (int k = 0; k < N; k++) totals[k] = first();
    long long start[POINTERS + 1] = {{{addresses}}};
    if (BLOCK || result < (Index)plan.results) {{
        move<Index>(result, walk, 0, plan.kept_rank, start);
        const Index count = (Index)plan.count;
        long long from[POINTERS + 1];
#pragma unroll
        for (int j = 0; j <= POINTERS; j++) from[j] = start[j];
        Index head = 0;
        if constexpr (FLAT && N > 1) {{
            if (plan.edges) {{
                head = min(count, (Index)before_aligned<{leading}, N>(start[{leader}]));
#pragma unroll
                for (int j = 0; j <= POINTERS; j++) from[j] += head * walk.inner[j];
            }}
        }}
        const Index packs = (count - head) / N;
        Index begin = 0, end = packs;
        if ((BLOCK || !FLAT) && plan.splits > 1) {{
            begin = (Index)blockIdx.y * (Index)plan.chunk;
            if (blockIdx.y + 1 < plan.splits) end = min(packs, begin + (Index)plan.chunk);
        }}
        run<N, true, FLIGHT, FLAT, Index>(totals, begin + lane, end, (Index)lanes, from, walk, plan.reduced_rank, head,
                                          {names});
        if constexpr (FLAT && N > 1) {{
            if (plan.edges && blockIdx.y + 1 == plan.splits) {{
#pragma unroll 1
                for (Index i = lane; i < count - packs * N; i += lanes) {{
                    const Index place = i < head ? i : i + packs * N;
                    Raw<1, true> raw;
                    long long at[POINTERS + 1];
#pragma unroll
                    for (int j = 0; j <= POINTERS; j++) at[j] = start[j] + (long long)place * walk.inner[j];
                    fetch<1, true>(raw, at);
                    totals[0] = combined(totals[0], element(raw, 0, place, {names}));
                }}
            }}
        }}
    }}
#pragma unroll
    for (int half = N / 2; half; half /= 2)
        for (int k = 0; k < half; k++) totals[k] = combined(totals[k], totals[k + half]);
    Accumulator total = totals[0];
    for (int distance = BLOCK ? 16 : min(lanes, 32) / 2; distance; distance /= 2)
        total = combined(total, exchanged(total, distance));
    if constexpr (BLOCK || !FLAT) {{
        __shared__ Accumulator of_warp[THREADS / 32];
        if (BLOCK || lanes > 32) {{
            if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = total;
            __syncthreads();
            if (threadIdx.x < 32) {{
                total = threadIdx.x < THREADS / 32 ? of_warp[threadIdx.x] : first();
#pragma unroll
                for (int distance = THREADS / 64; distance; distance /= 2)
                    total = combined(total, exchanged(total, distance));
            }}
        }}
    }}
    if (lane == 0 && result < (Index)plan.results)
        put(total, start[POINTERS], blockIdx.y, plan, partial, {names});
}}
// Combine what threads have in `found` with threads `lanes` apart: N values each, in the end in the first `lanes`.
template <int N> __device__ inline void gather(Accumulator* found, int lanes) {{
    for (int half = THREADS / 2; half >= lanes; half /= 2) {{
        __syncthreads();
        if (threadIdx.x < half) {{
#pragma unroll
            for (int k = 0; k < N; k++)
                found[k * THREADS + threadIdx.x] = combined(found[k * THREADS + threadIdx.x],
                                                            found[k * THREADS + threadIdx.x + half]);
        }}
    }}
}}
template <int N, int FLIGHT, bool FLAT> __device__ inline void fold_columns(
        {parameters}, const Plan& plan, const Walk& walk, Accumulator* partial) {{
    __shared__ Accumulator found[THREADS * N];
    const unsigned lanes = 1 << plan.lane_bits, lane = threadIdx.x & (lanes - 1), row = threadIdx.x >> plan.lane_bits;
    const unsigned column = blockIdx.x * lanes + lane, columns = (unsigned)(plan.results / N);
    const unsigned count = (unsigned)plan.count, begin = blockIdx.y * (unsigned)plan.chunk;
    Accumulator totals[N];
#pragma unroll
    for (int k = 0; k < N; k++) totals[k] = first();
    long long start[POINTERS + 1] = {{{addresses}}};
    if (column < columns) {{
        move<unsigned>(column, walk, 0, plan.kept_rank, start);
        run<N, false, FLIGHT, FLAT, unsigned>(
            totals, begin + row, min(count, begin + (unsigned)plan.chunk), THREADS >> plan.lane_bits, start, walk,
            plan.reduced_rank, 0, {names});
    }}
#pragma unroll
    for (int k = 0; k < N; k++) found[k * THREADS + threadIdx.x] = totals[k];
    gather<N>(found, lanes);
    if (threadIdx.x < lanes && column < columns) {{
#pragma unroll
        for (int k = 0; k < N; k++)
            put(found[k * THREADS + threadIdx.x], start[POINTERS] + k * walk.inner[POINTERS], blockIdx.y, plan, partial,
                {names});
    }}
}}
"""
# At most 48 or 64 registers, so that five or four blocks are on a multiprocessor, unless there is much to do with an
# element.
ENTRIES = """\
extern "C" {{
__global__ void __launch_bounds__(THREADS, {blocks}) {name}({parameters}, Plan plan, Walk walk, Accumulator* partial) {{
    {function}({names}, plan, walk, partial);
}}
__global__ void __launch_bounds__(THREADS) finish({parameters}, long long results, long long splits,
                                                  long long lane_bits, const Accumulator* partial) {{
    __shared__ Accumulator found[THREADS];
    const int lanes = 1 << lane_bits;
    const long long result = (long long)blockIdx.x * lanes + (threadIdx.x & (lanes - 1));
    Accumulator total = first();
    if (result < results)
        for (long long split = threadIdx.x >> lane_bits; split < splits; split += THREADS >> lane_bits)
            total = combined(total, partial[split * results + result]);
    found[threadIdx.x] = total;
    gather<1>(found, lanes);
    if (threadIdx.x < lanes && result < results) store(found[threadIdx.x], result, {names});
}}
}}
"""
ACCUMULATOR = """\
typedef {type} Accumulator;
__device__ inline Accumulator first() {{ return {first}; }}
__device__ inline Accumulator combined(Accumulator a, Accumulator b) {{ return {combine}; }}
__device__ inline Accumulator with_next(Accumulator a, Accumulator b) {{ return combined(a, b); }}
__device__ inline void store(Accumulator total, long long result, {parameters}) {{ {store} }}"""

# The first of equal elements, and the first NaN before all numbers, as NumPy does.
FOUND = """\
typedef {type} T;
struct Accumulator {{ T value; long long place; }};
__device__ inline Accumulator first() {{ return {{{first}, 0x7fffffffffffffffLL}}; }}
__device__ inline Accumulator combined(Accumulator a, Accumulator b) {{
    const bool sooner = a.place < b.place, a_is_nan = a.value != a.value, b_is_nan = b.value != b.value;
    const bool mine = a_is_nan || b_is_nan ? a_is_nan && (!b_is_nan || sooner)
                                           : a.value {better} b.value || (a.value == b.value && sooner);
    return mine ? a : b;
}}
// Of places in order: what is not better is left. So nothing is found in elements that are all as good as nothing.
__device__ inline Accumulator with_next(Accumulator a, Accumulator b) {{
    return !({not_better}) && a.value == a.value ? b : a;
}}
__device__ inline void store(Accumulator total, long long result, {parameters}) {{
    positions[result] = total.place == first().place ? 0 : total.place;
    if (values) values[result] = {stored_value};
}}"""
# What a product is scaled by is on the device, or a value.
SCALING = """\
struct Scaling {{
    const {type}* alpha;
    const {type}* beta;
    const {type}* start;
    long long stride, unused;
}};
"""
SCALED = """\
const Accumulator alpha = scaling.alpha ? *scaling.alpha : alpha_value;
    const Accumulator beta = scaling.beta ? *scaling.beta : beta_value;
    total = alpha * total;
    if (scaling.start && beta != (Accumulator)0) total += beta * scaling.start[result * scaling.stride];
    out[result] = total;"""


# Of an operand that is repeated in columns, and in rows: how many elements it has in a vector.
COUNTS = {(False, False): "N", (True, True): "1", (True, False): "ALONG ? N : 1", (False, True): "ALONG ? 1 : N"}


class FoldSource:
    """The text of a fold, and what its launch has to know.

    Attributes
    ----------
    vector : int
        How many elements a vector has.
    sizes : list of int
        Bytes of an element of each operand on the device.
    repeated : list of (bool, bool)
        Of each of these whether the kernels of columns, and of rows, read one element for a vector.
    accumulator_size : int
    """

    def __init__(self, rank, dtypes, values, repeated, body, steps, accumulator_size, accumulator, results, prefix=""):
        """``body`` has the lines that compute an accumulator from the elements ``s0``, ``s1`` ... of operands with
        ``dtypes``, of which ``values`` are passed by value; ``steps`` says how much work that is. ``results`` are
        further parameters of the kernels, for ``store``."""
        pointers = [position for position, is_value in enumerate(values) if not is_value]
        parameters = [f"{stored(dtype)} v{position}" if values[position] else f"const {stored(dtype)}* x{position}"
                      for position, dtype in enumerate(dtypes)] + results
        names = [parameter.rpartition(" ")[2] for parameter in parameters]
        self.sizes = [numpy.dtype(dtypes[position]).itemsize for position in pointers]
        self.repeated = [repeated[position] for position in pointers]
        self.accumulator_size = accumulator_size
        self.vector = max(1, min(16 // max(self.sizes, default=16), 64 // accumulator_size)) if rank else 1
        body = [f"const auto s{position} = " + loaded(
            dtype, f"v{position}" if values[position] else f"raw.p{position}.v[k % raw.p{position}.count]") + ";"
            for position, dtype in enumerate(dtypes)] + body
        kinds = [stored(dtypes[position]) for position in pointers]
        counts = [COUNTS[repeats] for repeats in self.repeated]
        leader = next((index for index, (_, in_rows) in enumerate(self.repeated) if not in_rows), None)
        joined = {"parameters": ", ".join(parameters), "names": ", ".join(names)}
        self.common = with_functions(VECTORS + prefix + TEMPLATE.format(
            threads=THREADS, block_bits=THREADS.bit_length() - 1, rank=max(1, rank), pointers=len(pointers),
            raw=" ".join([f"Pack<{kind}, {count}> p{position};"
                          for position, kind, count in zip(pointers, kinds, counts)]),
            accumulator=accumulator.replace("PARAMETERS", joined["parameters"]),
            fetch="\n    ".join([f"raw.p{position} = load_pack<{kind}, {count}>((const {kind}*)at[{index}]);"
                                 for index, (position, kind, count) in enumerate(zip(pointers, kinds, counts))]),
            addresses=", ".join([f"(long long)x{position}" for position in pointers]),
            body="\n    ".join(body), leader=leader or 0, leading="char" if leader is None else kinds[leader],
            **joined))
        self.joined, self.steps = joined, steps

    def text(self, name):
        """The source of one of ``KERNELS``, and of ``finish``."""
        blocks = 1 if self.steps > 4 else 5 if name in ("rows", "columns") else 4
        return self.common + ENTRIES.format(name=name, function=self.function(name), blocks=blocks, **self.joined)

    def function(self, name):
        """The function that a kernel calls: with few vectors in flight if there is much to do with each."""
        way, single, _ = name.partition("_single")
        in_flight = 4 if self.steps <= 4 else 2 if self.steps <= 16 else 1
        side = 0 if way.startswith("columns") else 1
        in_flight = max(1, in_flight // max(1, [repeats[side] for repeats in self.repeated].count(False)))
        size, in_flight = (1, 2 * in_flight) if single else (self.vector, in_flight)
        return {"rows": f"fold_rows<{size}, {in_flight}, unsigned, true, true>",
                "lanes": f"fold_rows<{size}, {in_flight}, unsigned, true, false>",
                "deep": f"fold_rows<{size}, {in_flight}, unsigned, false, false>",
                "columns": f"fold_columns<{size}, {in_flight}, true>",
                "columns_deep": f"fold_columns<{size}, {in_flight}, false>",
                "rows_long": f"fold_rows<1, {in_flight}, unsigned long long, false, false>"}[way]


def first_of(loop, dtype, identity):
    """What a fold begins with, in C."""
    if identity is not None:
        return literal(identity)
    kind = "b" if dtype.kind == "b" else "f" if dtype.kind == "f" else "i"
    first = FIRST.get(loop_name(loop), {}).get(kind)
    if first is None:
        raise NoSource(loop_name(loop))
    return f"({computed(dtype.name)}){first}" if kind != "i" else literal(
        numpy.array(getattr(numpy.iinfo(dtype), first), dtype))


def size_of(dtype):
    """The bytes of a variable."""
    return 4 if dtype == "float16" else numpy.dtype(dtype).itemsize


def repeated_in(patterns, axes):
    """Of each operand whether it is repeated along the innermost kept axis, and along the innermost reduced axis."""
    long_axes = [axis for axis in range(len(patterns[0])) if not all([pattern[axis] for pattern in patterns])]
    inner = [max([axis for axis in long_axes if (axis in axes) == reduced], default=None) for reduced in (False, True)]
    return [tuple([axis is not None and bool(pattern[axis]) for axis in inner]) for pattern in patterns]


def reduction_source(code, patterns, axes, loop, accumulator, output, values, identity, is_mean):
    """The source for the arguments of a ``ReductionKernel``.

    Parameters
    ----------
    code : ScalarCode
        Its only result is reduced.
    patterns, axes, loop
        See ``ReductionKernel``.
    accumulator, output : numpy.dtype
    values : sequence of bool
        The inputs that are passed by value.
    identity : numpy.ndarray or None
    is_mean : bool
        Divide by the number of elements.

    Returns
    -------
    FoldSource

    Raises
    ------
    NoSource
    """
    value, = code.outputs
    cast = step_text("cast", [f"s{value}"], (code.dtypes[value], accumulator.name))
    total = "(total / (Accumulator)divisor)" if is_mean else "total"
    final = to_store(output.name, step_text("cast", [total], (accumulator.name, output.name)))
    text = ACCUMULATOR.format(
        type=computed(accumulator.name), first=first_of(loop, accumulator, identity),
        combine=step_text(loop, ["a", "b"], (accumulator.name,) * 3), parameters="PARAMETERS",
        store=f"y[result] = {final};")
    return FoldSource(len(patterns[0]), code.input_dtypes, values, repeated_in(patterns, axes),
                      [*body_of(code), f"return {cast};"], len(code.steps), size_of(accumulator.name), text,
                      ["double divisor", f"{stored(output.name)}* y"])


def arg_source(dtype, rank, which):
    """The source of ``argmax`` or ``argmin`` for a dtype and the rank of the input: positions, and values if their
    address is not NULL.

    Returns
    -------
    FoldSource

    Raises
    ------
    NoSource
    """
    if dtype.startswith("complex"):
        raise NoSource(dtype)
    text = FOUND.format(type=computed(dtype), better=">" if which == "argmax" else "<", parameters="PARAMETERS",
                        not_better="b.value <= a.value" if which == "argmax" else "b.value >= a.value",
                        first=first_of("maximum" if which == "argmax" else "minimum", numpy.dtype(dtype), None),
                        stored_value=to_store(dtype, "total.value"))
    return FoldSource(rank, [dtype], [False], [(False, False)], ["return {s0, place};"], 4, 16, text,
                      ["long long* positions", f"{stored(dtype)}* values"])


def vector_product_source(dtype):
    """The source of ``alpha * x.y + beta * start`` for a matrix and a vector.

    Returns
    -------
    FoldSource

    Raises
    ------
    NoSource
        For a dtype that is stored in other words than it is computed in.
    """
    kind = stored(dtype)
    if kind != computed(dtype):
        raise NoSource(dtype)
    text = ACCUMULATOR.format(type=kind, first="(Accumulator)0", combine="a + b", parameters="PARAMETERS", store=SCALED)
    return FoldSource(2, [dtype, dtype], [False, False], [(False, False), (True, False)], ["return s0 * s1;"], 1,
                      numpy.dtype(dtype).itemsize, text,
                      ["Scaling scaling", f"{kind}* out", f"{kind} alpha_value", f"{kind} beta_value"],
                      SCALING.format(type=kind))
