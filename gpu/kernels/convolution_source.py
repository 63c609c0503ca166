"""Convolution and its gradients at the device, directly by their definition.

The result and the gradient by images have a thread for each element; the gradient by filters has a block of threads for
each, which adds up over images and places. Elementwise steps that follow a convolution are done in the same thread.
"""
from phintys.gpu.kernels.general_source import ALL, BLOCKS, THREADS, Description, Launch, describe
from phintys.gpu.kernels.scalar_source import NoSource, body_of, computed, slot_dtypes
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
    inputs, place, constants, steps, outputs, _, _, _ = following
    if len(outputs) != 1:
        raise NoSource("several results of a convolution")
    dtypes = slot_dtypes([dtype for dtype, _ in inputs], constants, steps)
    names, lines = [], []
    for position, (_dtype, pattern) in enumerate(inputs):
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
    lines += body_of(len(inputs), constants, steps)
    assert dtypes[outputs[0]]
    return "\n".join([*lines, f"store_top(offset_of(top, i), s{outputs[0]});"]), names


@describe(ConvolutionKernel)
def convolution(arguments, named, operands):
    given = dict(zip(("dtype", "role", "rank", "border", "stride", "dilation", "flip", "groups", "unshared",
                      "image_shape", "filter_shape", "following"), arguments)) | named
    rank, role, unshared = given["rank"], given["role"], given["unshared"]
    first = 2 + rank * bool(unshared)
    flip = "window[axis] - 1 - k[axis]" if given["flip"] else "k[axis]"
    places_in_filters = " + inner(filters, 1, o)" if unshared else ""
    start = START.format(stride=", ".join(map(str, given["stride"])), dilation=", ".join(map(str, given["dilation"])),
                         pads=pads(given["border"], rank), groups=given["groups"])
    names, functions = list(NAMES[role]), FUNCTIONS.format(computed=computed(given["dtype"]), rank=rank, first=first)
    if role == "forward":
        ending, others = finish(given.get("following"), operands)
        names += [*others, "top"]
        body = FORWARD.format(flip=flip, unshared=places_in_filters, finish=ending)
        return Description(names, {"convolve": (THREADS, start + body)}, [Launch(THREADS, "convolve", "top")],
                           functions)
    if role == "by images":
        pixels = " * ".join([f"image.shape[{2 + axis}]" for axis in range(rank)])
        body = BY_IMAGES.format(flip=flip, unshared=places_in_filters, pixels=pixels)
        return Description(names, {"gather": (THREADS, start + body)}, [Launch(THREADS, "gather", "image")], functions)
    unflip = "window[axis] - 1 - k_of_axis" if given["flip"] else "k_of_axis"
    own = "numbers_of(rest % places, top.shape + 2, o); rest /= places;" if unshared else ""
    place = "" if unshared else "numbers_of(item % places, top.shape + 2, o);"
    body = BY_FILTERS.format(unflip=unflip, own_place=own, place=place, places="1" if unshared else "places")
    return Description(names, {"add": (BLOCKS, start + body)}, [Launch(BLOCKS, "add", "filters", ALL)], functions)
