"""Choosing between arrays on the device: a thread has an element that is chosen."""
from phintys.gpu.kernels.general_source import ALL, THREADS, Description, Launch, describe
from phintys.gpu.kernels.scalar_source import NoSource
from phintys.ops.indexing.choose_kernel import ChooseKernel


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
