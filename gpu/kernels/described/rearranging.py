"""Moving elements to other places on the device: repetitions, diagonals, triangles; and products of stacks of matrices.

A thread for each element of the result finds where it comes from.
"""
from phintys.gpu.kernels.general_source import ALL, CLEAR, COPY, THREADS, Description, Launch, describe, number
from phintys.gpu.kernels.scalar_source import NoSource, computed
from phintys.ops.linalg.diagonal_kernel import AllocDiagKernel, SetDiagonalKernel
from phintys.ops.linalg.triangle_kernel import TriangleKernel
from phintys.ops.products.batched_product_kernel import BatchedProductKernel
from phintys.ops.rearranging.repeat_kernel import RepeatKernel, SumRepeatsKernel

# Elements are moved as their bits: half floats are not converted.
MOVE = "*(S_out*)(out.data + {to}) = *(const S_{name}*)({name}.data + {source});"


def is_number(operand):
    return operand[1] == 0


@describe(RepeatKernel)
def repeat(arguments, named, operands):
    axis, = arguments
    if not is_number(operands[1]):
        raise NoSource("a number of repetitions for each slice")
    if axis < 0:
        source = "offset_of(x, i / (long long)repeats)"
    else:
        source = "from"
    body = f"""\
    long long rest = i, from = 0;
    for (int axis = {operands[0][1] - 1 if axis >= 0 else -1}; axis >= 0; axis--) {{
        const long long above = rest / out.shape[axis], place = rest - above * out.shape[axis];
        from += (axis == {axis} ? place / (long long)repeats : place) * x.strides[axis];
        rest = above;
    }}
    {MOVE.format(to="offset_of(out, i)", name="x", source=source)}
"""
    return Description(["x", "repeats", "out"], {"repeat": (THREADS, body)}, [Launch(THREADS, "repeat", "out")])


@describe(SumRepeatsKernel)
def sums_of_repetitions(arguments, named, operands):
    dtype, axis = arguments
    if not is_number(operands[1]):
        raise NoSource("a number of repetitions for each slice")
    body = f"""\
    long long rest = i, from = 0;
    for (int axis = {operands[0][1] - 1}; axis >= 0; axis--) {{
        const long long above = rest / out.shape[axis], place = rest - above * out.shape[axis];
        from += (axis == {axis} ? place * (long long)repeats : place) * x.strides[axis];
        rest = above;
    }}
    T_out sum = 0;
    for (long long j = 0; j < (long long)repeats; j++) sum += load_x(from + j * x.strides[{axis}]);
    store_out(offset_of(out, i), sum);
"""
    return Description(["x", "repeats", None, "out"], {"add": (THREADS, body)}, [Launch(THREADS, "add", "out")])


# ---- diagonals -------------------------------------------------------------------------------------------------------
DIAGONAL = """\
    long long places[{rank}], rest = i;
    {{
        for (int axis = {rank} - 1; axis >= 0; axis--) {{
            const long long above = rest / out.shape[axis];
            places[axis] = rest - above * out.shape[axis];
            rest = above;
        }}
    }}
    if (places[{second}] - places[{first}] != {offset}) continue;
    const long long along = min(places[{first}], places[{second}]);
"""


def of_diagonal(name, rank, own, first, second):
    """The offset in an array without the two dimensions, whose last dimension runs along the diagonal."""
    kept = [f"places[{axis}]" for axis in range(rank) if axis not in (first, second)] + ["along"]
    terms = [f"({name}.shape[{axis}] == 1 ? 0 : {kept[len(kept) - own + axis]} * {name}.strides[{axis}])"
             for axis in range(own)]
    return " + ".join(terms) or "0"


@describe(SetDiagonalKernel, by_value=(1,))
def set_diagonal(arguments, named, operands):
    offset, first, second = arguments
    rank = operands[0][1]
    value = "y" if operands[1][2] else f"load_y({of_diagonal('y', rank, operands[1][1], first, second)})"
    body = DIAGONAL.format(rank=rank, first=first, second=second, offset=offset) + (
        f"    store_out(offset_of(out, i), (T_out)({value}));\n")
    return Description(["x", "y", "out"], {"put": (THREADS, body)},
                       [Launch(COPY, 0, "x", ALL, "out"), Launch(THREADS, "put", "out")])


@describe(AllocDiagKernel)
def diagonal(arguments, named, operands):
    offset, first, second = arguments
    rank = operands[-1][1]
    kept = [f"places[{axis}]" for axis in range(rank) if axis not in (first, second)] + ["along"]
    source = " + ".join([f"{place} * x.strides[{axis}]" for axis, place in enumerate(kept)])
    body = DIAGONAL.format(rank=rank, first=first, second=second, offset=offset) + (
        f"    {MOVE.format(to='offset_of(out, i)', name='x', source=f'({source})')}\n")
    return Description(["x", "out"], {"put": (THREADS, body)},
                       [Launch(CLEAR, 0, "out"), Launch(THREADS, "put", "out")])


@describe(TriangleKernel, by_value=(1,))
def triangle(arguments, named, operands):
    upper, = arguments
    rank = operands[0][1]
    body = f"""\
    const long long column = i % out.shape[{rank - 1}], row = i / out.shape[{rank - 1}] % out.shape[{rank - 2}];
    const bool kept = {"column >= row + (long long)" if upper else "column <= row + (long long)"}{
        number("diagonal", operands[1])};
    const S_out element = *(const S_out*)(x.data + offset_of(x, i));
    *(S_out*)(out.data + offset_of(out, i)) = kept ? element : (S_out)0;
"""
    return Description(["x", "diagonal", "out"], {"keep": (THREADS, body)}, [Launch(THREADS, "keep", "out")])


@describe(BatchedProductKernel)
def batched_product(arguments, named, operands):
    dtype, left, right = arguments[:3]
    body = f"""\
    long long rest = i;
    const long long column = {"rest % out.shape[2 - (1 - X_ROWS)]" if right == 2 else "0"};
    {"rest /= out.shape[2 - (1 - X_ROWS)];" if right == 2 else ""}
    const long long row = {"rest % out.shape[1]" if left == 2 else "0"};
    {"rest /= out.shape[1];" if left == 2 else ""}
    const long long inner = x.shape[{left}];
    const long long a = (x.shape[0] == 1 ? 0 : rest * x.strides[0]) + {"row * x.strides[1]" if left == 2 else "0"};
    const long long b = (y.shape[0] == 1 ? 0 : rest * y.strides[0]) + {"column * y.strides[2]" if right == 2 else "0"};
    T sum = 0;
    for (long long k = 0; k < inner; k++)
        sum = (T)(sum + load_x(a + k * x.strides[{left}]) * load_y(b + k * y.strides[1]));
    store_out(offset_of(out, i), sum);
"""
    return Description(["x", "y", "out"], {"multiply": (THREADS, body)}, [Launch(THREADS, "multiply", "out")],
                       f"typedef {computed(dtype)} T; enum {{ X_ROWS = {int(left == 2)} }};")
