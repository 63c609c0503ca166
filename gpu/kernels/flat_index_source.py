"""Flat positions and coordinates, and the number of counters of `bincount`, at the device: a thread for each element.

What the processor refuses before it computes is refused here while it computes: a position or a coordinate that is
outside, an integer that is negative.
"""
from phintys.gpu.kernels.general_source import RAW, THREADS, Description, Launch, describe
from phintys.ops.indexing.flat_index_kernel import RavelMultiIndexKernel, UnravelIndexKernel
from phintys.ops.sorting.bincount_kernel import CountersKernel

UNRAVEL = """\
    long long size = 1, place = load_positions(offset_of(positions, i));
    for (int axis = 0; axis < {count}; axis++) size *= lengths.at[axis];
    if (place < 0 || place >= size) {{ tell(note, place, size, 0); continue; }}
{coordinates}
"""
COORDINATE = """\
    store_c{axis}(offset_of(c{axis}, i), place % lengths.at[{axis}]);
    place /= lengths.at[{axis}];
"""
RAVEL = """\
    long long place[{rank}], rest = i, sum = 0, weight = 1;
    for (int axis = {rank} - 1; axis >= 0; axis--) {{
        const long long above = rest / out.shape[axis];
        place[axis] = rest - above * out.shape[axis];
        rest = above;
    }}
{terms}
    store_out(offset_of(out, i), sum);
"""
TERM = """\
    {{
        const long long length = lengths.at[{axis}];
        long long offset = 0;
        for (int d = 0; d < {rank}; d++) if (c{axis}.shape[d] != 1) offset += place[d] * c{axis}.strides[d];
        long long coordinate = load_c{axis}(offset);
        {treated}
        sum += weight * coordinate;
        weight *= length;
    }}
"""
TREATED = {
    "raise": "if (coordinate < 0 || coordinate >= length) {{ tell(note, coordinate, length, {axis}); continue; }}",
    "wrap": "coordinate = (coordinate % length + length) % length;",
    "clip": "coordinate = coordinate < 0 ? 0 : coordinate >= length ? length - 1 : coordinate;",
}
OUTSIDE = "unravel_index: index {value} is out of bounds for array with size {length}"
INVALID = "ravel_multi_index: invalid entry in coordinates array: {{value}}, dimension {} has length {{length}}"


@describe(UnravelIndexKernel)
def unravel(arguments, named, operands):
    count, order = arguments
    axes = reversed(range(count)) if order == "C" else range(count)
    body = UNRAVEL.format(count=count, coordinates="".join([COORDINATE.format(axis=axis) for axis in axes]))
    return Description(["positions", "lengths", *[f"c{axis}" for axis in range(count)]], {"divide": (THREADS, body)},
                       [Launch(THREADS, "divide", "positions")], vectors={"lengths": count}, checked=("positions",),
                       failure=(ValueError, [OUTSIDE]))


@describe(RavelMultiIndexKernel)
def ravel(arguments, named, operands):
    count, mode, order = arguments
    rank, names = max(1, operands[-1][1]), [f"c{axis}" for axis in range(count)]
    axes = reversed(range(count)) if order == "C" else range(count)
    terms = [TERM.format(axis=axis, rank=rank, treated=TREATED[mode].format(axis=axis)) for axis in axes]
    body = RAVEL.format(rank=rank, terms="".join(terms))
    failure = (ValueError, [INVALID.format(axis) for axis in range(count)])
    return Description([*names, "lengths", "out"], {"multiply": (THREADS, body)}, [Launch(THREADS, "multiply", "out")],
                       vectors={"lengths": count}, checked=tuple(names), failure=failure)


COUNTERS = """\
    long long most = -1;
    for (long long j = thread; j < x.shape[0]; j += threads) {
        const long long element = (long long)load_x(j * x.strides[0]);
        if (element < 0 || element == 0x7fffffffffffffffLL) {
            tell(note, element, 0, (T_x)-1 < (T_x)0 && element < 0);
            break;
        }
        most = max(most, element);
    }
    if (most >= 0) atomicMax((long long*)out.data, most + 1);
"""


@describe(CountersKernel)
def counters(arguments, named, operands):
    bodies = {"begin": (RAW, "    if (thread == 0) store_out(0, (long long)least);\n"), "find": (RAW, COUNTERS)}
    texts = ["bincount: an element does not fit into 63 bits", "bincount: an element is negative"]
    return Description(["x", "least", "out"], bodies, [Launch(THREADS, "begin", "out"), Launch(THREADS, "find", "x")],
                       failure=(ValueError, texts))
