"""The source of an elementwise kernel: one loop over all elements, for any number of steps, inputs and outputs.

``flat`` is for operands without gaps in one order; ``strided`` and ``strided_long`` compute the offset of each element
from its number, with 32 or 64 bits. An operand of one element that is on the host is passed by value.
"""
from phintys.gpu.kernels.scalar_source import body_of, loaded, stored, to_store, with_functions

NAMES = ("flat", "strided", "strided_long")

TEMPLATE = """\
struct Walk {{ long long shape[{rank}]; long long strides[{pointers}][{rank}]; }};
extern "C" {{
__global__ void flat(long long count, {parameters}) {{
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count;
         i += gridDim.x * (long long)blockDim.x) {{
        {flat}
    }}
}}
{strided}}}
"""
STRIDED = """\
__global__ void {name}(long long count, long long rank, Walk walk, {parameters}) {{
    for ({index} i = blockIdx.x * ({index})blockDim.x + threadIdx.x; i < ({index})count;
         i += gridDim.x * ({index})blockDim.x) {{
        {index} rest = i;
        long long {offsets};
        for (int axis = 0; axis < rank; axis++) {{
            const {index} length = ({index})walk.shape[axis], above = axis + 1 < rank ? rest / length : 0;
            const long long at = (long long)(rest - above * length);
            {walk}
            rest = above;
        }}
        {body}
    }}
}}
"""


def elementwise_source(code, patterns, values):
    """The source for the arguments of an ``ElementwiseKernel``.

    Parameters
    ----------
    code, patterns
        See ``ElementwiseKernel``.
    values : sequence of bool
        The inputs that are passed by value.

    Raises
    ------
    NoSource
        If the device has no text for a loop or a dtype.
    """
    input_dtypes, dtypes, outputs = code.input_dtypes, code.dtypes, code.outputs
    rank = len(patterns[0]) if patterns else 0
    single = [all(pattern) for pattern in patterns]
    pointers = [position for position, value in enumerate(values) if not value]
    offsets = [f"o{position}" for position in pointers] + [f"p{position}" for position in range(len(outputs))]
    parameters = [f"{stored(dtype)} v{position}" if values[position] else f"const {stored(dtype)}* x{position}"
                  for position, dtype in enumerate(input_dtypes)]
    parameters += [f"{stored(dtypes[slot])}* y{position}" for position, slot in enumerate(outputs)]

    def lines(element, result):
        reads = [f"const auto s{position} = "
                 + loaded(dtype, f"v{position}" if values[position] else element(position)) + ";"
                 for position, dtype in enumerate(input_dtypes)]
        writes = [f"{result(position)} = {to_store(dtypes[slot], f's{slot}')};"
                  for position, slot in enumerate(outputs)]
        return reads + body_of(code) + writes

    def input_at_offset(position):
        return f"*(const {stored(input_dtypes[position])}*)((const char*)x{position} + o{position})"

    def output_at_offset(position):
        return f"*({stored(dtypes[outputs[position]])}*)((char*)y{position} + p{position})"

    flat = lines(lambda position: f"x{position}[{0 if single[position] else 'i'}]", lambda position: f"y{position}[i]")
    moved = lines(input_at_offset, output_at_offset)
    walk = [f"{name} += at * walk.strides[{number}][axis];" for number, name in enumerate(offsets)]
    strided = [STRIDED.format(name=name, index=index, parameters=", ".join(parameters),
                              offsets=", ".join([f"{offset} = 0" for offset in offsets]),
                              walk="\n            ".join(walk), body="\n        ".join(moved))
               for name, index in (("strided", "unsigned"), ("strided_long", "unsigned long long"))]
    return with_functions(TEMPLATE.format(rank=max(1, rank), pointers=len(offsets), strided="".join(strided),
                                          parameters=", ".join(parameters), flat="\n        ".join(flat)))
