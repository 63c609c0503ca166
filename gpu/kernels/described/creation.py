"""Ranges and diagonals made on the device, where only work there reads them; their lengths are on the host."""
from phintys.gpu.kernels.general_source import THREADS, Description, Launch, describe, number
from phintys.gpu.kernels.scalar_source import NoSource, computed
from phintys.ops.creation.allocation_kernel import ARangeKernel, EyeKernel, TriKernel


def below(arguments, operands, condition):
    """Ones where a condition on row and column holds."""
    dtype = operands[3][0]
    if dtype.startswith("complex"):
        raise NoSource(dtype)
    body = f"""\
    const long long column = i % out.shape[1], row = i / out.shape[1];
    const long long diagonal_number = (long long){number("diagonal", operands[2])};
    store_out(offset_of(out, i), (T_out)({condition}));
"""
    return Description([None, None, "diagonal", "out"], {"fill": (THREADS, body)}, [Launch(THREADS, "fill", "out")])


@describe(EyeKernel, by_value=(2,))
def eye(arguments, named, operands):
    return below(arguments, operands, "column == row + diagonal_number")


@describe(TriKernel, by_value=(2,))
def triangle_of_ones(arguments, named, operands):
    return below(arguments, operands, "column <= row + diagonal_number")


@describe(ARangeKernel)
def arange(arguments, named, operands):
    dtype = operands[3][0]
    if not all([operand[2] for operand in operands[:3]]) or dtype == "float16":
        raise NoSource("numbers on the device")
    exact, vectors = arguments[0], {}
    if exact and not dtype.startswith("float"):
        vectors = {"start": 1, "step": 1}           # as integers, whatever their size
        value = "(T)(start.at[0] + i * step.at[0])"
    else:                                           # as at the processor: the difference of the first two elements
        value = "(T)start + (T)i * (T)((T)(start + step) - (T)start)"
    body = f"    store_out(i * out.strides[0], {value});\n"
    return Description(["start", None, "step", "out"], {"count": (THREADS, body)}, [Launch(THREADS, "count", "out")],
                       f"typedef {computed(dtype)} T;", vectors)
