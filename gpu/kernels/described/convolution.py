"""Convolution and its gradients on the device.

Each of the three is a product of matrices of which only parts exist at a time (``TILED``). A block of threads makes
tiles of 64 by 64 elements of the result from strips of both factors, which it gathers in shared memory; a thread makes
16 of these elements. The gradient by filters has few elements and long sums: ``PIECES`` blocks make a part of each.

Convolutions in groups or with unshared filters are computed directly by their definition: a thread for each element of
the result or the gradient by images, a block of threads for one of the gradient by filters. Elementwise steps that
follow a convolution are done by the thread that has the sum.

Where cuDNN is used, it computes all but convolutions with unshared filters; steps that follow are a kernel then.
"""
from phintys.gpu.kernels.general_source import ALL, BLOCKS, CALL, RAW, THREADS, Description, Launch, describe
from phintys.gpu.kernels.scalar_source import NoSource, body_of, computed
from phintys.gpu.libraries.cudnn import ConvolutionRoutine
from phintys.graph.config import config
from phintys.ops.convolution.convolution_kernel import ConvolutionKernel

FUNCTIONS = """\
typedef {computed} T;
enum {{ RANK = {rank}, FIRST = {first} }};          // dimensions that filters move in; the first of them in filters
__device__ inline void numbers_of(long long number, const long long* lengths, long long* found) {{
    for (int axis = RANK - 1; axis >= 0; axis--) {{
        const long long above = number / lengths[axis];
        found[axis] = number - above * lengths[axis];
        number = above;
    }}
}}
template <int R> __device__ inline long long inner(const View<R>& v, int first, const long long* place) {{
    long long offset = 0;
    for (int axis = 0; axis < RANK; axis++) offset += place[axis] * v.strides[first + axis];
    return offset;
}}
"""
# What follows from shapes; `image`, `filters` and `top` are views.
START = """\
    const long long stride[] = {{{stride}}}, dilation[] = {{{dilation}}};
    long long window[RANK], pad[RANK], positions = 1, places = 1;
    for (int axis = 0; axis < RANK; axis++) {{
        window[axis] = filters.shape[FIRST + axis];
        positions *= window[axis];
        places *= top.shape[2 + axis];
    }}
    {pads}
    const long long channels = filters.shape[FIRST - 1], of_group = filters.shape[0] / {groups};
    long long k[RANK], o[RANK], at_image[RANK], flipped[RANK];
"""
FORWARD = """\
    long long rest = i / places;
    numbers_of(i % places, top.shape + 2, o);
    const long long filter = rest % filters.shape[0], n = rest / filters.shape[0];
    const long long group = filter / of_group;
    T sum = 0;
    for (long long number = 0; number < positions; number++) {{
        numbers_of(number, window, k);
        bool inside = true;
        for (int axis = 0; axis < RANK; axis++) {{
            at_image[axis] = o[axis] * stride[axis] + k[axis] * dilation[axis] - pad[axis];
            inside = inside && at_image[axis] >= 0 && at_image[axis] < image.shape[2 + axis];
            flipped[axis] = {flip};
        }}
        if (!inside) continue;
        const long long x = n * image.strides[0] + inner(image, 2, at_image);
        const long long w = filter * filters.strides[0] + inner(filters, FIRST, flipped){unshared};
        for (long long c = 0; c < channels; c++)
            sum += load_image(x + (group * channels + c) * image.strides[1])
                * load_filters(w + c * filters.strides[FIRST - 1]);
    }}
{finish}
"""
BY_IMAGES = """\
    const long long pixels = {pixels};
    long long rest = i / pixels, p[RANK];
    numbers_of(i % pixels, image.shape + 2, p);
    const long long channel = rest % image.shape[1], n = rest / image.shape[1];
    const long long group = channel / channels, c = channel % channels;
    T sum = 0;
    for (long long number = 0; number < positions; number++) {{
        numbers_of(number, window, k);
        bool inside = true;
        for (int axis = 0; axis < RANK; axis++) {{
            const long long reach = p[axis] + pad[axis] - k[axis] * dilation[axis];
            o[axis] = reach / stride[axis];
            inside = inside && reach >= 0 && reach % stride[axis] == 0 && o[axis] < top.shape[2 + axis];
            flipped[axis] = {flip};
        }}
        if (!inside) continue;
        const long long y = n * top.strides[0] + inner(top, 2, o);
        const long long w = c * filters.strides[FIRST - 1] + inner(filters, FIRST, flipped){unshared};
        for (long long f = group * of_group; f < (group + 1) * of_group; f++)
            sum += load_top(y + f * top.strides[1]) * load_filters(w + f * filters.strides[0]);
    }}
    store_image(offset_of(image, i), sum);
"""
BY_FILTERS = """\
    long long rest = i / positions;
    numbers_of(i % positions, window, flipped);
    const long long c = rest % channels;
    rest /= channels;
    for (int axis = 0; axis < RANK; axis++) {{
        const long long k_of_axis = flipped[axis];
        k[axis] = {unflip};
    }}
    {own_place}
    const long long filter = rest, group = filter / of_group;
    const long long sites = top.shape[0] * {places};
    double sum = 0;
    for (long long item = threadIdx.x; item < sites; item += GROUP) {{
        const long long n = item / {places};
        {place}
        bool inside = true;
        for (int axis = 0; axis < RANK; axis++) {{
            at_image[axis] = o[axis] * stride[axis] + k[axis] * dilation[axis] - pad[axis];
            inside = inside && at_image[axis] >= 0 && at_image[axis] < image.shape[2 + axis];
        }}
        if (inside)
            sum += (double)load_top(n * top.strides[0] + filter * top.strides[1] + inner(top, 2, o))
                * load_image(n * image.strides[0] + (group * channels + c) * image.strides[1]
                             + inner(image, 2, at_image));
    }}
    sum = total(sum);
    if (threadIdx.x == 0) store_filters(offset_of(filters, i), sum);
"""
# The result has the rows `m` and the columns `n`; its sums have `depth` elements. What all columns of a tile need of an
# element of the sums is in shared memory, too; a thread loads elements of one column, whose place it knows.
TILED = """\
    enum {{ TILE = 64, STEP = 16, SIDE = 16, PIECES = {pieces} }};       // a block has SIDE * SIDE threads
    __shared__ T left[STEP][TILE], right[STEP][TILE];
    __shared__ long long left_offset[STEP], right_offset[STEP];
    __shared__ long long k_of[STEP][RANK];
    const int own_row = threadIdx.x / SIDE, own_column = threadIdx.x % SIDE;
    const int lane = threadIdx.x % TILE, first = threadIdx.x / TILE;
    const long long tiles_of_rows = ({m} + TILE - 1) / TILE, tiles = tiles_of_rows * (({n} + TILE - 1) / TILE);
    const long long part = (({depth} + PIECES - 1) / PIECES + STEP - 1) / STEP * STEP;
    for (long long job = blockIdx.x; job < tiles * PIECES; job += gridDim.x) {{
        const long long piece = job / tiles, tile = job % tiles;
        const long long row_start = tile % tiles_of_rows * TILE, column_start = tile / tiles_of_rows * TILE;
        const long long begin = piece * part, end = min((long long){depth}, begin + part);
        const long long row = row_start + lane, column = column_start + lane;
        const bool has_row = row < {m}, has_column = column < {n};
        long long place[RANK], row_offset = 0, column_offset = 0;
        for (int axis = 0; axis < RANK; axis++) place[axis] = 0;
        if (has_row) row_offset = {row_offset};
        if (has_column) {{
            {of_column}
        }}
        T sums[4][4];
        for (int a = 0; a < 4; a++) for (int b = 0; b < 4; b++) sums[a][b] = 0;
        for (long long start = begin; start < end; start += STEP) {{
            __syncthreads();
            if (threadIdx.x < STEP && start + threadIdx.x < end) {{
                const long long element = start + threadIdx.x;
                long long* found = k_of[threadIdx.x];
                {of_element}
            }}
            __syncthreads();
            for (int e = first; e < STEP; e += SIDE * SIDE / TILE) {{
                const bool is_there = start + e < end;
                left[e][lane] = is_there && has_row ? (T)load_{left}(row_offset + left_offset[e]) : (T)0;
                T value = 0;
                if (is_there && has_column) {{
                    bool inside = true;
                    long long offset = column_offset + right_offset[e];
                    for (int axis = 0; axis < RANK; axis++) {{
                        {at_axis}
                    }}
                    if (inside) value = (T)load_{right}(offset);
                }}
                right[e][lane] = value;
            }}
            __syncthreads();
            for (int e = 0; e < STEP; e++) {{
                T mine[4], theirs[4];
                for (int a = 0; a < 4; a++)
                    mine[a] = left[e][own_row + a * SIDE], theirs[a] = right[e][own_column + a * SIDE];
                for (int a = 0; a < 4; a++) for (int b = 0; b < 4; b++) sums[a][b] += mine[a] * theirs[b];
            }}
        }}
        for (int a = 0; a < 4; a++) for (int b = 0; b < 4; b++) {{
            const long long row = row_start + own_row + a * SIDE, column = column_start + own_column + b * SIDE;
            if (row >= {m} || column >= {n}) continue;
            const T sum = sums[a][b];
            {finish}
        }}
        __syncthreads();
    }}
"""
# For each role: the rows, the columns and the elements of sums, and what is known of each. Filters: rows of the result;
# pixels of images: columns.
STRIDES_OF_IMAGE = """\
const long long at_axis = place[axis] + k_of[e][axis];
                        inside = inside && at_axis >= 0 && at_axis < image.shape[2 + axis];
                        offset += at_axis * image.strides[2 + axis];"""

def element_of_sums(count, axis, right):
    """The offsets of an element of the sums with filters: one of so many channels or filters, which are in a dimension
    of the filters and in the second one of ``right``, at a place of the window."""
    text = """const long long number = element % COUNT;
                numbers_of(element / COUNT, window, found);
                left_offset[threadIdx.x] = number * filters.strides[AXIS];
                right_offset[threadIdx.x] = number * RIGHT.strides[1];
                for (int axis = 0; axis < RANK; axis++) {{
                    const long long k_of_axis = found[axis];
                    left_offset[threadIdx.x] += ({flip}) * filters.strides[FIRST + axis];
                    found[axis] = k_of_axis * dilation[axis];
                }}"""
    return text.replace("COUNT", count).replace("AXIS", axis).replace("RIGHT", right)


FORWARD_TILES = {
    "m": "filters.shape[0]", "n": "(top.shape[0] * places)", "depth": "(positions * channels)",
    "left": "filters", "right": "image", "row_offset": "row * filters.strides[0]",
    "of_column": """numbers_of(column % places, top.shape + 2, place);
            column_offset = column / places * image.strides[0];
            for (int axis = 0; axis < RANK; axis++) place[axis] = place[axis] * stride[axis] - pad[axis];""",
    "of_element": element_of_sums("channels", "FIRST - 1", "image"),
    "at_axis": STRIDES_OF_IMAGE,
}
BY_IMAGES_TILES = {
    "m": "image.shape[1]", "n": "(image.shape[0] * pixels)", "depth": "(positions * filters.shape[0])",
    "left": "filters", "right": "top", "row_offset": "row * filters.strides[FIRST - 1]",
    "of_column": """numbers_of(column % pixels, image.shape + 2, place);
            column_offset = column / pixels * top.strides[0];
            for (int axis = 0; axis < RANK; axis++) place[axis] += pad[axis];""",
    "of_element": element_of_sums("filters.shape[0]", "0", "top"),
    "at_axis": """const long long reach = place[axis] - k_of[e][axis], above = reach / stride[axis];
                        inside = inside && reach >= 0 && reach == above * stride[axis] && above < top.shape[2 + axis];
                        offset += above * top.strides[2 + axis];""",
    "finish": """const long long number = (column / pixels * image.shape[1] + row) * pixels + column % pixels;
            store_image(offset_of(image, number), sum);""",
}
BY_FILTERS_TILES = {
    "m": "filters.shape[0]", "n": "(channels * positions)", "depth": "(top.shape[0] * places)",
    "left": "top", "right": "image", "row_offset": "row * top.strides[1]",
    "of_column": """numbers_of(column % positions, window, place);
            column_offset = column / positions * image.strides[1];
            for (int axis = 0; axis < RANK; axis++) {{
                const long long k_of_axis = place[axis];
                place[axis] = ({flip}) * dilation[axis] - pad[axis];
            }}""",
    "of_element": """numbers_of(element % places, top.shape + 2, found);
                left_offset[threadIdx.x] = element / places * top.strides[0];
                right_offset[threadIdx.x] = element / places * image.strides[0];
                for (int axis = 0; axis < RANK; axis++) {{
                    left_offset[threadIdx.x] += found[axis] * top.strides[2 + axis];
                    found[axis] *= stride[axis];
                }}""",
    "at_axis": STRIDES_OF_IMAGE,
    "finish": """((T*)scratch)[piece * {m} * {n} + row * {n} + column] = sum;""",
}
PIECES = 16                     # of a sum of the gradient by filters
ADD_PIECES = f"""\
    double sum = 0;
    long long given = 1;
    for (int axis = 0; axis < 2 + RANK; axis++) given *= top.shape[axis];
    for (int piece = 0; given && piece < {PIECES}; piece++) sum += (double)((T*)scratch)[piece * items + i];
    store_filters(offset_of(filters, i), sum);
"""
NAMES = {"forward": ["image", "filters"], "by images": ["filters", "top", None, "image"],
         "by filters": ["image", "top", None, "filters"]}


def pads(border, rank):
    """Lines that set ``pad``, the zeros before each dimension."""
    if border == "half":
        return "for (int axis = 0; axis < RANK; axis++) pad[axis] = ((window[axis] - 1) * dilation[axis] + 1) / 2;"
    if border == "full":
        return "for (int axis = 0; axis < RANK; axis++) pad[axis] = (window[axis] - 1) * dilation[axis];"
    return " ".join([f"pad[{axis}] = {int(before)};" for axis, (before, _) in enumerate(border)])


def finish(following, operands):
    """The lines after the sum, and the names of the operands that they read."""
    if following is None:
        return "    store_top(offset_of(top, i), sum);", []
    code, patterns, place, _, _, _ = following
    if len(code.outputs) != 1:
        raise NoSource("several results of a convolution")
    names, lines = [], []
    for position, pattern in enumerate(patterns):
        if position == place:
            lines.append(f"const auto s{position} = sum;")
            continue
        name = f"e{position}"
        names.append(name)
        if operands[1 + len(names)][2]:
            lines.append(f"const T s{position} = (T){name};")
        else:
            offset = "0" if pattern[1] else f"filter * {name}.strides[1]"
            lines.append(f"const auto s{position} = load_{name}({offset});")
    lines += body_of(code)
    return "\n".join([*lines, f"store_top(offset_of(top, i), s{code.outputs[0]});"]), names


def tiles(role, flip, pieces=1):
    """The body of a kernel that makes tiles."""
    filled = {name: text.format(flip=flip, m=role["m"], n=role["n"]) if name in ("of_column", "of_element", "finish")
              else text for name, text in role.items()}
    return TILED.format(pieces=pieces, **filled)


def by_cudnn(given, names):
    """The routine of a convolution, or None."""
    if given["unshared"] or not config.gpu.cudnn:
        return None
    positions = [names.index(name) for name in ("image", "filters", "top")]
    told = ("dtype", "role", "rank", "border", "stride", "dilation", "flip", "groups")
    return ConvolutionRoutine(*[given[name] for name in told], positions)


@describe(ConvolutionKernel, by_value=range(2, 30))
def convolution(arguments, named, operands):
    given = dict(zip(("dtype", "role", "rank", "border", "stride", "dilation", "flip", "groups", "unshared",
                      "image_shape", "filter_shape", "following"), arguments)) | named
    described = own_convolution(given, operands)
    routine = by_cudnn(given | {"dtype": operands[0][0]}, described.names)      # which may be float16
    if routine is None:
        return described
    launches, bodies = [Launch(CALL, 0)], dict(described.bodies)
    if given["role"] == "forward" and given.get("following") is not None:
        bodies["follow"] = (THREADS, start_of(given) + FOLLOW + finish(given["following"], operands)[0])
        launches.append(Launch(THREADS, "follow", "top"))
    return described._replace(bodies=bodies, routine=routine, by_routine=launches)


FOLLOW = """\
    const long long filter = i / places % top.shape[1];
    const T sum = load_top(offset_of(top, i));
"""


def start_of(given):
    """The text START of a kernel."""
    return START.format(stride=", ".join(map(str, given["stride"])), dilation=", ".join(map(str, given["dilation"])),
                        pads=pads(given["border"], given["rank"]), groups=given["groups"])


def own_convolution(given, operands):
    """The description without cuDNN."""
    rank, role, unshared = given["rank"], given["role"], given["unshared"]
    tiled = given["groups"] == 1 and not unshared
    first = 2 + rank * bool(unshared)
    flip = "window[axis] - 1 - k[axis]" if given["flip"] else "k[axis]"
    places_in_filters = " + inner(filters, 1, o)" if unshared else ""
    start = start_of(given)
    names, functions = list(NAMES[role]), FUNCTIONS.format(computed=computed(given["dtype"]), rank=rank, first=first)
    flip_of_axis = flip.replace("k[axis]", "k_of_axis")
    if role == "forward":
        ending, others = finish(given.get("following"), operands)
        names += [*others, "top"]
        if tiled:
            where = ("const long long filter = row, i = (column / places * top.shape[1] + filter) * places + "
                     "column % places;\n")
            body = tiles(FORWARD_TILES | {"finish": where + ending}, flip_of_axis)
            return Description(names, {"convolve": (RAW, start + body)}, [Launch(THREADS, "convolve", "top")],
                               functions)
        body = FORWARD.format(flip=flip, unshared=places_in_filters, finish=ending)
        return Description(names, {"convolve": (THREADS, start + body)}, [Launch(THREADS, "convolve", "top")],
                           functions)
    if role == "by images":
        pixels = " * ".join([f"image.shape[{2 + axis}]" for axis in range(rank)])
        if tiled:
            body = f"    const long long pixels = {pixels};\n" + tiles(BY_IMAGES_TILES, flip_of_axis)
            return Description(names, {"gather": (RAW, start + body)}, [Launch(THREADS, "gather", "image")],
                               functions)
        body = BY_IMAGES.format(flip=flip, unshared=places_in_filters, pixels=pixels)
        return Description(names, {"gather": (THREADS, start + body)}, [Launch(THREADS, "gather", "image")],
                           functions)
    if tiled:
        bodies = {"add": (RAW, start + tiles(BY_FILTERS_TILES, flip_of_axis, PIECES)), "finish": (THREADS, ADD_PIECES)}
        return Description(names, bodies, [Launch(THREADS, "add", "top"), Launch(THREADS, "finish", "filters")],
                           functions, scratch=("filters", PIECES * (8 if given["dtype"] == "float64" else 4)))
    unflip = "window[axis] - 1 - k_of_axis" if given["flip"] else "k_of_axis"
    own = "numbers_of(rest % places, top.shape + 2, o); rest /= places;" if unshared else ""
    place = "" if unshared else "numbers_of(item % places, top.shape + 2, o);"
    body = BY_FILTERS.format(unflip=unflip, own_place=own, place=place, places="1" if unshared else "places")
    return Description(names, {"add": (BLOCKS, start + body)}, [Launch(BLOCKS, "add", "filters", ALL)],
                       functions)
