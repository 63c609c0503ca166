"""The source of a reduction over any axes, with an elementwise producer.

Each result is a fold of many elements. ``rows`` gives each result a block of threads, which combine what they have
found in shared memory, in pairs; ``columns`` gives each result one thread, so that neighbours read neighbouring
elements.
Where there are few results, their elements are split: each part makes a partial result, and ``finish`` combines these.
All orders depend on shapes alone, so results are the same in every call.
"""
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
from phintys.ops.elementwise.scalar_code import loop_name

NAMES = ("rows", "columns", "finish")
THREADS = 256

# What a fold begins with, where it is not the loop's identity: nothing is changed by it.
FIRST = {"maximum": {"f": "-INFINITY", "i": "lowest", "b": "false"},
         "minimum": {"f": "INFINITY", "i": "highest", "b": "true"}}

TEMPLATE = """\
typedef {accumulator} Accumulator;
struct Walk {{
    long long kept_lengths[{rank}], reduced_lengths[{rank}];
    long long kept_strides[{pointers}][{rank}], reduced_strides[{pointers}][{rank}];
}};
__device__ inline Accumulator combined(Accumulator a, Accumulator b) {{ return {combine}; }}
__device__ inline void move(long long number, long long rank, const long long* lengths,
                            const long long strides[][{rank}], long long* offsets) {{
    for (int axis = 0; axis < rank; axis++) {{
        const long long above = axis + 1 < rank ? number / lengths[axis] : 0, at = number - above * lengths[axis];
        for (int operand = 0; operand < {pointers}; operand++) offsets[operand] += at * strides[operand][axis];
        number = above;
    }}
}}
__device__ inline Accumulator element(const Walk& walk, long long reduced_rank, long long number,
                                      const long long* start, {parameters}) {{
    long long offsets[{pointers}];
    for (int operand = 0; operand < {pointers}; operand++) offsets[operand] = start[operand];
    move(number, reduced_rank, walk.reduced_lengths, walk.reduced_strides, offsets);
    {body}
    return {value};
}}
__device__ inline void put(Accumulator total, long long result, long long results, long long splits, long long split,
                           double divisor, Accumulator* partial, {stored_result}* y) {{
    if (splits > 1) partial[split * results + result] = total;
    else y[result] = {final};
}}
extern "C" {{
__global__ void rows(long long results, long long count, long long splits, long long kept_rank, long long reduced_rank,
                     double divisor, Walk walk, {parameters}, Accumulator* partial, {stored_result}* y) {{
    __shared__ Accumulator found[{threads}];
    const long long result = blockIdx.x, split = blockIdx.y;
    const long long begin = count * split / splits, end = count * (split + 1) / splits;
    long long start[{pointers}] = {{}};
    move(result, kept_rank, walk.kept_lengths, walk.kept_strides, start);
    Accumulator total = {first};
    for (long long i = begin + threadIdx.x; i < end; i += {threads})
        total = combined(total, element(walk, reduced_rank, i, start, {names}));
    found[threadIdx.x] = total;
    for (int half = {threads} / 2; half; half /= 2) {{
        __syncthreads();
        if (threadIdx.x < half) found[threadIdx.x] = combined(found[threadIdx.x], found[threadIdx.x + half]);
    }}
    if (threadIdx.x == 0) put(found[0], result, results, splits, split, divisor, partial, y);
}}
__global__ void columns(long long results, long long count, long long splits, long long kept_rank,
                        long long reduced_rank, double divisor, Walk walk, {parameters}, Accumulator* partial,
                        {stored_result}* y) {{
    const long long split = blockIdx.y;
    const long long begin = count * split / splits, end = count * (split + 1) / splits;
    for (long long result = blockIdx.x * (long long)blockDim.x + threadIdx.x; result < results;
         result += gridDim.x * (long long)blockDim.x) {{
        long long start[{pointers}] = {{}};
        move(result, kept_rank, walk.kept_lengths, walk.kept_strides, start);
        Accumulator total = {first};
        for (long long i = begin; i < end; i++)
            total = combined(total, element(walk, reduced_rank, i, start, {names}));
        put(total, result, results, splits, split, divisor, partial, y);
    }}
}}
__global__ void finish(long long results, long long splits, double divisor, const Accumulator* partial,
                       {stored_result}* y) {{
    for (long long result = blockIdx.x * (long long)blockDim.x + threadIdx.x; result < results;
         result += gridDim.x * (long long)blockDim.x) {{
        Accumulator total = {first};
        for (long long split = 0; split < splits; split++)
            total = combined(total, partial[split * results + result]);
        y[result] = {final};
    }}
}}
}}
"""


def first_of(loop, dtype, identity):
    """What a fold begins with, in C."""
    if identity is not None:
        return literal(identity)
    kind = "b" if dtype.kind == "b" else "f" if dtype.kind == "f" else "i"
    first = FIRST.get(loop_name(loop), {}).get(kind)
    if first is None:
        raise NoSource(loop_name(loop))
    if kind != "i":
        return f"(Accumulator){first}"
    import numpy
    limits = numpy.iinfo(dtype)
    return literal(numpy.array(limits.min if first == "lowest" else limits.max, dtype))


def reduction_source(code, rank, loop, accumulator, output, values, identity, is_mean):
    """The source for the arguments of a ``ReductionKernel``.

    Parameters
    ----------
    code : ScalarCode
        Its only result is reduced.
    rank : int
        Of the inputs.
    loop
        See ``ReductionKernel``.
    accumulator, output : numpy.dtype
    values : sequence of bool
        The inputs that are passed by value.
    identity : numpy.ndarray or None
    is_mean : bool
        Divide by the number of elements.

    Raises
    ------
    NoSource
    """
    input_dtypes, (value,) = code.input_dtypes, code.outputs
    pointers = [position for position, is_value in enumerate(values) if not is_value]
    number = {position: index for index, position in enumerate(pointers)}
    parameters = [f"{stored(dtype)} v{position}" if values[position] else f"const {stored(dtype)}* x{position}"
                  for position, dtype in enumerate(input_dtypes)]
    names = [f"{'v' if values[position] else 'x'}{position}" for position in range(len(input_dtypes))]
    body = [f"const auto s{position} = " + loaded(dtype, f"v{position}" if values[position] else
            f"*(const {stored(dtype)}*)((const char*)x{position} + offsets[{number[position]}])") + ";"
            for position, dtype in enumerate(input_dtypes)] + body_of(code)
    cast = step_text("cast", [f"s{value}"], (code.dtypes[value], accumulator.name))
    total = "(total / (Accumulator)divisor)" if is_mean else "total"
    return with_functions(TEMPLATE.format(
        accumulator=computed(accumulator.name), rank=max(1, rank), pointers=max(1, len(pointers)),
        combine=step_text(loop, ["a", "b"], (accumulator.name,) * 3), parameters=", ".join(parameters),
        names=", ".join(names), body="\n    ".join(body), value=cast, stored_result=stored(output.name),
        first=first_of(loop, accumulator, identity), threads=THREADS,
        final=to_store(output.name, step_text("cast", [total], (accumulator.name, output.name)))))
