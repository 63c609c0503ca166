"""Advanced indexing on the device: reading elements at positions, and setting or adding to them.

Positions are on the device and are checked there. Adding to elements of 32 and 64 bits uses atomic operations, whose
order is open, unless ``config.deterministic`` is "more". Otherwise, and where elements are set, each element has one of
``OWNERS`` owners: threads that read all positions in order, and write what is theirs. So of values that are set at one
position the last one stays, as at the processor.

A mask is the positions of its true elements: ``kernels/lines/selection_kernel`` finds them first, unless one number is
set or added where it is true.

Flat positions and coordinates have a thread for each element. What the processor refuses before it computes is refused
here while it computes.
"""
from phintys.gpu.kernels.general_source import ALL, COPY, RAW, THREADS, Description, Launch, describe
from phintys.gpu.kernels.scalar_source import NoSource
from phintys.graph.config import config
from phintys.ops.indexing.advanced_subtensor_kernel import AdvancedIncSubtensorKernel, AdvancedSubtensorKernel
from phintys.ops.indexing.flat_index_kernel import RavelMultiIndexKernel, UnravelIndexKernel
from phintys.ops.indexing.rows_kernel import RowsKernel

OWNERS = 64
ATOMIC = {"float32": "float", "float64": "double", "int32": "int", "uint32": "unsigned", "int64": "unsigned long long",
          "uint64": "unsigned long long"}

FUNCTIONS = """\
struct Slice { long long start, step, length; };
__device__ inline Slice slice_of(bool has_start, long long start, bool has_stop, long long stop, long long step,
                                 long long length) {
    const long long low = step > 0 ? 0 : -1, high = step > 0 ? length : length - 1;
    if (!has_start) start = step > 0 ? low : high;
    else start = max(low, min(high, start < 0 ? start + length : start));
    if (!has_stop) stop = step > 0 ? high : low;
    else stop = max(low, min(high, stop < 0 ? stop + length : stop));
    const long long span = step > 0 ? stop - start : start - stop, size = step > 0 ? step : -step;
    const Slice slice = {start, step, span > 0 ? (span - 1) / size + 1 : 0};
    return slice;
}
"""
SIZE_OF = """\
template <int R> __device__ inline long long size_of(const View<R>& v) {
    long long size = 1;
    for (int axis = 0; axis < R; axis++) size *= v.shape[axis];
    return size;
}
"""
FUNCTIONS += SIZE_OF


class Index:
    """What a plan says: the dimensions of the indexed part, and the offset of its elements in the array.

    Parameters
    ----------
    plan : sequence of tuple
        See ``advanced_subtensor_kernel.pyx``.
    lead : int
    operands : sequence of (dtype, rank, at_host)
    name : str
        Of the indexed array in the source.
    rank : int
        Of the indexed array.
    trusted : bool
        All positions are within bounds, and select each element once.
    """

    def __init__(self, plan, lead, operands, name, rank, trusted):
        self.name, self.operands, self.trusted = name, operands, trusted
        self.arrays, self.numbers, self.lines, self.offsets = [], set(), [], []
        self.before, self.behind = [], []           # lengths of the kept dimensions, in C
        self.lead, axis = lead, 0
        for number, (kind, *details) in enumerate(plan):
            if kind == "mask":
                raise NoSource("a mask")
            if kind == "array":
                self.arrays.append((details[0], details[2], axis))
            elif kind == "integer":
                self._integer(number, self._part(details[0]), axis)
            else:
                self._keep(number, kind, details, axis)
            axis += kind != "new"
        for rest in range(axis, rank):
            self.behind.append(f"{name}.shape[{rest}]")
            self.offsets.append((self._place(), f"{name}.strides[{rest}] * {{}}"))
        self.arrays_rank = max([array[1] for array in self.arrays])

    def _part(self, part):
        """A part of a slice, or an integer, in C."""
        if isinstance(part, tuple):
            self.numbers.add(part[1])
            return f"(long long)n{part[1]}"
        return None if part is None else f"{int(part)}LL"

    def _place(self):
        """Which kept dimension the last one is: (whether before the arrays, number there)."""
        return (False, len(self.behind) - 1) if self.behind else (True, len(self.before) - 1)

    def _keep(self, number, kind, details, axis):
        kept = self.before if len(self.before) < self.lead else self.behind
        if kind == "new":
            kept.append("1")
            return
        start, stop, step = [self._part(part) for part in details]
        self.lines.append(f"const Slice s{number} = slice_of({int(start is not None)}, {start or 0}, "
                          f"{int(stop is not None)}, {stop or 0}, {step or 1}, {self.name}.shape[{axis}]);")
        kept.append(f"s{number}.length")
        self.offsets.append(((kept is self.before, len(kept) - 1),
                             f"(s{number}.start + {{}} * s{number}.step) * {self.name}.strides[{axis}]"))

    def _integer(self, number, value, axis):
        length = f"{self.name}.shape[{axis}]"
        self.lines.append(f"const long long i{number} = {value} < 0 ? {value} + {length} : {value};")
        self.offsets.append((None, f"i{number} * {self.name}.strides[{axis}]"))

    def dimensions(self):
        """Lines that define ``part``, the lengths of the dimensions of the indexed part, and ``RANK``."""
        arrays = []
        for axis in range(self.arrays_rank):
            length = "1LL"
            for operand, rank, _ in self.arrays:
                own = axis - self.arrays_rank + rank
                if own >= 0:
                    length = f"(n{operand}.shape[{own}] != 1 ? n{operand}.shape[{own}] : {length})"
            arrays.append(length)
        all_lengths = [*self.before, *arrays, *self.behind]
        self.rank = len(all_lengths)
        return [*self.lines, f"const long long part[] = {{{', '.join(all_lengths)}}};",
                f"enum {{ RANK = {self.rank} }};"]

    def positions(self, index):
        """Lines that define ``offset`` from the index of an element of the part, an array of C; -1: out of bounds."""
        lines = ["long long offset = 0, p;", "bool inside = true;"]
        for place, text in self.offsets:
            if place is None:
                lines.append(f"offset += {text};")
                continue
            is_before, number = place
            at = number if is_before else len(self.before) + self.arrays_rank + number
            lines.append(f"offset += {text.format(f'{index}[{at}]')};")
        for operand, rank, axis in self.arrays:
            where = " + ".join([
                f"(n{operand}.shape[{own}] == 1 ? 0 : "
                f"{index}[{len(self.before) + self.arrays_rank - rank + own}] * n{operand}.strides[{own}])"
                for own in range(rank)]) or "0"
            place = f"(long long)load_n{operand}({where})"
            lines += [f"p = {place};" if self.trusted else
                      f"p = position(note, {place}, {self.name}.shape[{axis}], {axis});",
                      f"inside = inside && p >= 0; offset += p * {self.name}.strides[{axis}];"]
        return lines

    def checks(self):
        """Lines that check the positions where the part has no elements, unless they select nothing themselves."""
        arrays = range(len(self.before), len(self.before) + self.arrays_rank)
        return [f"if ({product(arrays)} != 0) {{",
                *[f"for (long long k = thread; k < size_of(n{operand}); k += threads) position(note, "
                  f"(long long)load_n{operand}(offset_of(n{operand}, k)), {self.name}.shape[{axis}], {axis});"
                  for operand, _, axis in self.arrays], "}"]

    def names(self, first, result):
        """The names of the operands; ``first`` are those before the index, ``result`` follows."""
        used = {array[0] for array in self.arrays} | self.numbers
        count = len(self.operands) - len(first) - len(result)
        return [*first, *[f"n{number}" if number in used else None
                          for number in range(len(first), len(first) + count)], *result]

    def checked(self):
        return tuple([f"n{array[0]}" for array in self.arrays])


def index_of(number, array, lengths):
    """Lines that define the index of an element by its number, in C."""
    return [f"long long {array}[RANK + 1]; {{ long long rest = {number};",
            f"for (int axis = RANK - 1; axis >= 0; axis--) {{ const long long above = rest / {lengths}[axis]; "
            f"{array}[axis] = rest - above * {lengths}[axis]; rest = above; }} }}"]


def positions_of(kernel):
    """Which inputs of an advanced index have positions, which the device checks, or are masks."""
    return tuple([details[0] for kind, *details in kernel.arguments[0] if kind in ("array", "mask")])


@describe(AdvancedSubtensorKernel, checked=positions_of)
def read(arguments, named, operands, trusted=False):
    plan, lead, result = arguments
    index = Index(plan, lead, operands, "x", operands[0][1], trusted)
    body = "\n".join([*index.dimensions(), *index_of("i", "index", "part"), *index.positions("index"),
                      "if (inside) store_out(offset_of(out, i), load_x(offset));"])
    bodies, otherwise = {"gather": (THREADS, body)}, None
    if not trusted:
        bodies[otherwise := "check"] = RAW, "\n".join([*index.dimensions(), *index.checks()])
    return Description(index.names(["x"], ["out"]), bodies, [Launch(THREADS, "gather", "out", otherwise=otherwise)],
                       FUNCTIONS, {}, index.checked(), trusted=trusted)


@describe(AdvancedIncSubtensorKernel, by_value=(1,), checked=positions_of)
def change(arguments, named, operands, trusted=False):
    plan, lead, result, dtype, sets = arguments
    if [kind for kind, *_ in plan] == ["mask"] and operands[1][1] == 0:
        return change_where(plan[0][2], operands, sets)
    index = Index(plan, lead, operands, "out", operands[0][1], trusted)
    kept = list(range(len(index.before)))
    lines = index.dimensions()
    arrays = range(len(index.before), len(index.before) + index.arrays_rank)
    kept += range(len(index.before) + index.arrays_rank, index.rank)
    value_rank = operands[1][1]
    value = " + ".join([f"(y.shape[{axis}] == 1 ? 0 : index[{index.rank - value_rank + axis}] * y.strides[{axis}])"
                        for axis in range(value_rank)]) or "0"
    value = "load_y(0)" if operands[1][2] else f"load_y({value})"
    if operands[1][2]:
        value = "y"
    if trusted:
        value = f"(T_out)({value})" if sets else f"(T_out)(load_out(offset) + {value})"
        body = [*lines, f"const long long count = {product(range(index.rank))};",
                "for (long long item = thread; item < count; item += threads) {", *index_of("item", "index", "part"),
                *index.positions("index"), f"if (inside) store_out(offset, {value}); }}"]
    elif sets or dtype not in ATOMIC or config.deterministic == "more":
        change = "=" if sets else "+"
        body = [*lines, f"const long long arrays = {product(arrays)}, columns = {product(kept)};",
                f"for (long long item = thread; item < columns * {OWNERS}; item += threads) {{",
                f"const long long column = item % columns, owner = item / columns; long long index[{index.rank + 1}];",
                *unravel("column", kept), "for (long long number = 0; number < arrays; number++) {",
                *unravel("number", arrays), *index.positions("index"),
                "const unsigned long long element = offset / (long long)sizeof(S_out);",
                f"if (!inside || element % {OWNERS} != owner) continue;",
                f"store_out(offset, (T_out)({value}));" if change == "=" else
                f"store_out(offset, (T_out)(load_out(offset) + {value}));", "} }"]
    else:
        body = [*lines, f"const long long count = {product(range(index.rank))};",
                "for (long long item = thread; item < count; item += threads) {", *index_of("item", "index", "part"),
                *index.positions("index"),
                f"if (inside) atomicAdd(({ATOMIC[dtype]}*)(out.data + offset), ({ATOMIC[dtype]})({value})); }}"]
    if not trusted:                 # an empty part may be one of an array that has elements
        body[len(lines):len(lines)] = [f"if ({product(range(index.rank))} == 0) {{", *index.checks(), "return; }"]
    grid = "out" if operands[1][2] or value_rank == 0 else "y"
    names = index.names(["x", "y"], ["out"])
    return Description(names, {"scatter": (RAW, "\n".join(body))},
                       [Launch(COPY, 0, "x", ALL, "out"), Launch(RAW, "scatter", grid, otherwise="scatter")], FUNCTIONS,
                       {}, index.checked(), trusted=trusted)


def change_where(rank, operands, sets):
    """Set elements where a mask of so many dimensions is true, or add to them: one number, so that nothing needs to
    be known of how many there are."""
    value = "y" if operands[1][2] else "load_y(0)"
    value = f"(T_out)({value})" if sets else f"(T_out)(load_out(offset) + {value})"
    body = f"""\
    long long rest = i, of_mask = 0, offset = 0;
    for (int axis = (int)(sizeof(out.shape) / 8) - 1; axis >= 0; axis--) {{
        const long long above = rest / out.shape[axis], place = rest - above * out.shape[axis];
        if (axis < {rank}) of_mask += place * mask.strides[axis];
        offset += place * out.strides[axis];
        rest = above;
    }}
    if (load_mask(of_mask)) store_out(offset, {value});
"""
    return Description(["x", "y", "mask", "out"], {"change": (THREADS, body)},
                       [Launch(COPY, 0, "x", ALL, "out"), Launch(THREADS, "change", "out")], checked=("mask",),
                       trusted=True)


def product(axes):
    return " * ".join([f"part[{axis}]" for axis in axes]) or "1"


def unravel(number, axes):
    """Lines that set those dimensions of ``index``."""
    lines = [f"{{ long long rest = {number};"]
    for axis in reversed(list(axes)):
        lines.append(f"index[{axis}] = rest % part[{axis}]; rest /= part[{axis}];")
    return [*lines, "}"]


@describe(RowsKernel)            # the processor does not check its positions before it computes, either
def rows(arguments, named, operands):
    body = """\
    long long rest = i, inner = 0;
    for (int axis = (int)(sizeof(x.shape) / 8) - 1; axis > 0; axis--) {
        const long long above = rest / x.shape[axis];
        inner += (rest - above * x.shape[axis]) * x.strides[axis];
        rest = above;
    }
    const long long row = position(note, (long long)load_rows(rest * rows.strides[0]), x.shape[0], 0);
    if (row >= 0) store_out(offset_of(out, i), load_x(row * x.strides[0] + inner));
"""
    check = """\
    for (long long k = thread; k < rows.shape[0]; k += threads)
        position(note, (long long)load_rows(k * rows.strides[0]), x.shape[0], 0);
"""
    return Description(["x", "rows", "out"], {"gather": (THREADS, body), "check": (RAW, check)},
                       [Launch(THREADS, "gather", "out", otherwise="check")], checked=("rows",))


# ---- flat positions -------------------------------------------------------------------------------------------------
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
CHECK_OF_COORDINATES = """\
    for (long long k = thread; k < size_of(c{axis}); k += threads) {{
        const long long coordinate = load_c{axis}(offset_of(c{axis}, k)), length = lengths.at[{axis}];
        if (coordinate < 0 || coordinate >= length) tell(note, coordinate, length, {axis});
    }}
"""
TREATED = {
    "raise": "if (coordinate < 0 || coordinate >= length) {{ tell(note, coordinate, length, {axis}); continue; }}",
    "wrap": "coordinate = (coordinate % length + length) % length;",
    "clip": "coordinate = coordinate < 0 ? 0 : coordinate >= length ? length - 1 : coordinate;",
}
OUTSIDE = "unravel_index: index {value} is out of bounds for array with size {length}"
INVALID = "ravel_multi_index: invalid entry in coordinates array: {{value}}, dimension {} has length {{length}}"


@describe(UnravelIndexKernel, checked=(0,))
def coordinates(arguments, named, operands):
    count, order = arguments
    axes = reversed(range(count)) if order == "C" else range(count)
    body = UNRAVEL.format(count=count, coordinates="".join([COORDINATE.format(axis=axis) for axis in axes]))
    return Description(["positions", "lengths", *[f"c{axis}" for axis in range(count)]], {"divide": (THREADS, body)},
                       [Launch(THREADS, "divide", "positions")], vectors={"lengths": count}, checked=("positions",),
                       failure=(ValueError, [OUTSIDE]))


@describe(RavelMultiIndexKernel, checked=lambda kernel: range(kernel.arguments[0]))
def flat_positions(arguments, named, operands):
    count, mode, order = arguments
    rank, names = max(1, operands[-1][1]), [f"c{axis}" for axis in range(count)]
    axes = reversed(range(count)) if order == "C" else range(count)
    terms = [TERM.format(axis=axis, rank=rank, treated=TREATED[mode].format(axis=axis)) for axis in axes]
    body = RAVEL.format(rank=rank, terms="".join(terms))
    failure = (ValueError, [INVALID.format(axis) for axis in range(count)])
    check = "" if mode != "raise" else "".join([CHECK_OF_COORDINATES.format(axis=axis) for axis in range(count)])
    return Description([*names, "lengths", "out"], {"multiply": (THREADS, body), "check": (RAW, check)},
                       [Launch(THREADS, "multiply", "out", otherwise="check")], SIZE_OF, {"lengths": count},
                       checked=tuple(names), failure=failure)
