"""The hinge loss of several classes and its gradient, and choosing between arrays, on the device.

A thread has a row of predictions, or an element that is chosen. Labels are checked on the device.
"""
from phintys.gpu.kernels.general_source import ALL, CLEAR, THREADS, Description, Launch, describe, number
from phintys.gpu.kernels.scalar_source import NoSource, computed
from phintys.ops.indexing.choose_kernel import ChooseKernel
from phintys.ops.nnet.hinge_kernel import HingeGradKernel, HingeKernel

# The best wrong prediction, the first of equal ones; a NaN before all numbers.
MARGIN = """\
    const long long n = x.shape[1];
    const long long label = position(note, (long long)load_labels(i * labels.strides[0]), n, 1);
    if (label < 0) continue;
    long long place = n == 1 ? label : label ? 0 : 1;
    T best = -INFINITY;
    bool nan = false;
    for (long long j = 0; j < n; j++) {{
        const T element = load_x(at(x, i, j));
        if (element != element) {{ if (!nan) place = j; nan = true; }}
        else if (!nan && j != label && element > best) best = element, place = j;
    }}
    const T margin = nan ? (T)NAN : best - load_x(at(x, i, label)) + (T)({delta});
"""


@describe(HingeKernel, by_value=(2,), checked=(1,))
def hinge(arguments, named, operands):
    body = MARGIN.format(delta=number("delta", operands[2])) + (
        "    store_losses(i * losses.strides[0], margin <= 0 ? (T)0 : margin);\n")
    return Description(["x", "labels", "delta", "losses"], {"lose": (THREADS, body)},
                       [Launch(THREADS, "lose", "x", 1)], f"typedef {computed(operands[0][0])} T;", {}, ("labels",))


@describe(HingeGradKernel, by_value=(3,), checked=(2,))
def hinge_gradient(arguments, named, operands):
    body = MARGIN.format(delta=number("delta", operands[3])) + """\
    const T slope = margin > 0 ? (T)1 : margin < 0 ? (T)0 : margin == 0 ? (T)0.5 : margin;
    const T step = slope * load_gradient(i * gradient.strides[0]);
    store_out(at(out, i, place), load_out(at(out, i, place)) + step);
    store_out(at(out, i, label), load_out(at(out, i, label)) - step);
"""
    return Description(["gradient", "x", "labels", "delta", "out"], {"spread": (THREADS, body)},
                       [Launch(CLEAR, 0, "out"), Launch(THREADS, "spread", "x", 1)],
                       f"typedef {computed(operands[1][0])} T;", {}, ("labels",))


@describe(ChooseKernel)
def choose(arguments, named, operands):
    _, mode, listed, count = arguments
    if mode == "raise":
        raise NoSource("numbers that are checked")
    rank, names = operands[-1][1], ["numbers", *[f"c{index}" for index in range(count)], "out"]
    choices = str(count) if listed else "c0.shape[0]"
    wrapped = (f"((chosen % {choices}) + {choices}) % {choices}" if mode == "wrap"
               else f"(chosen < 0 ? 0 : chosen >= {choices} ? {choices} - 1 : chosen)")

    def offset(name, behind):
        return " + ".join([f"({name}.shape[{axis + behind}] == 1 ? 0 : place[{axis}] * {name}.strides[{axis + behind}])"
                           for axis in range(rank)]) or "0"
    body = [f"long long place[{max(1, rank)}], rest = i;",
            f"for (int axis = {rank - 1}; axis >= 0; axis--) {{ const long long above = rest / out.shape[axis]; "
            "place[axis] = rest - above * out.shape[axis]; rest = above; }",
            f"long long chosen = (long long)load_numbers({offset('numbers', 0)});", f"chosen = {wrapped};"]
    if listed:
        body += [f"if (chosen == {index}) store_out(offset_of(out, i), load_c{index}({offset(f'c{index}', 0)}));"
                 for index in range(count)]
    else:
        body.append(f"store_out(offset_of(out, i), load_c0(chosen * c0.strides[0] + {offset('c0', 1)}));")
    return Description(names, {"choose": (THREADS, "\n".join(body))}, [Launch(THREADS, "choose", "out", ALL)])
