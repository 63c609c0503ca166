"""Products with some blocks of a large matrix, on the device. Positions of blocks are checked there.

A thread adds up one element of a product. Outer products are added to their blocks by atomic additions, as several may
go to one block: the last digits depend on their order.
"""
from phintys.gpu.kernels.general_source import ALL, COPY, RAW, THREADS, Description, Launch, describe, number
from phintys.gpu.kernels.scalar_source import NoSource, computed
from phintys.ops.nnet.block_sparse_kernel import BlockGemvKernel, BlockOuterKernel

PRODUCT = """\
    const long long c = i % out.shape[2], j = i / out.shape[2] % out.shape[1], b = i / out.shape[2] / out.shape[1];
    const long long to = position(note, (long long)load_columns(at(columns, b, j)), w.shape[1], 1);
    T sum = load_first(at(first, b, j, c));
    for (long long k = 0; to >= 0 && k < h.shape[1]; k++) {
        const long long from = position(note, (long long)load_rows(at(rows, b, k)), w.shape[0], 0);
        for (long long r = 0; from >= 0 && r < h.shape[2]; r++)
            sum += load_h(at(h, b, k, r)) * load_w(at(w, from, to, r, c));
    }
    store_out(at(out, b, j, c), sum);
"""

# Where there are no elements to compute.
CHECK = """\
    for (long long k = thread; k < rows.shape[0] * rows.shape[1]; k += threads)
        position(note, (long long)load_rows(offset_of(rows, k)), {matrix}.shape[0], 0);
    for (long long k = thread; k < columns.shape[0] * columns.shape[1]; k += threads)
        position(note, (long long)load_columns(offset_of(columns, k)), {matrix}.shape[1], 1);
"""


@describe(BlockGemvKernel, checked=(3, 4))
def product(arguments, named, operands):
    return Description(["first", "w", "h", "rows", "columns", "out"],
                       {"multiply": (THREADS, PRODUCT), "check": (RAW, CHECK.format(matrix="w"))},
                       [Launch(THREADS, "multiply", "out", otherwise="check")],
                       f"typedef {computed(operands[0][0])} T;", checked=("rows", "columns"))


OUTER = """\
    const long long r = i % x.shape[2], k = i / x.shape[2] % x.shape[1], b = i / x.shape[2] / x.shape[1];
    const long long from = position(note, (long long)load_rows(at(rows, b, k)), out.shape[0], 0);
    const T factor = (T){alpha} * load_x(at(x, b, k, r));
    for (long long j = 0; from >= 0 && j < y.shape[1]; j++) {{
        const long long to = position(note, (long long)load_columns(at(columns, b, j)), out.shape[1], 1);
        for (long long c = 0; to >= 0 && c < y.shape[2]; c++)
            atomicAdd((T*)(out.data + at(out, from, to, r, c)), factor * load_y(at(y, b, j, c)));
    }}
"""


@describe(BlockOuterKernel, by_value=(5,), checked=(3, 4))
def outer(arguments, named, operands):
    if operands[0][0] not in ("float32", "float64"):
        raise NoSource(operands[0][0])
    return Description(["first", "x", "y", "rows", "columns", "alpha", "out"],
                       {"add": (THREADS, OUTER.format(alpha=number("alpha", operands[5]))),
                        "check": (RAW, CHECK.format(matrix="out"))},
                       [Launch(COPY, 0, "first", ALL, "out"), Launch(THREADS, "add", "x", otherwise="check")],
                       f"typedef {computed(operands[0][0])} T;", checked=("rows", "columns"))
