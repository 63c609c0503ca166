"""Selects the bodies of loops that are computed in registers: those with only elementwise kernels on values of rank
0."""
from phintys.ops.elementwise.elementwise_kernel import ElementwiseKernel
from phintys.ops.loops.scalar_body import ScalarBody
from phintys.ops.types.dtypes import TYPE_NUMBERS

DTYPES = {number: dtype for dtype, number in TYPE_NUMBERS.items()}


def scalar_body(program, n_sequences, taps, n_stacked, n_carried, is_while):
    """The kernel that runs a loop's body in registers.

    Parameters
    ----------
    program : Program
        The body, compiled.
    n_sequences : int
    taps : tuple of tuple of int
        For each state its taps.
    n_stacked : int
    n_carried : int
        How many values are carried, sums included.
    is_while : bool
        Whether the last result is a condition.

    Returns
    -------
    ScalarBody or None
        None if the body has values of other ranks, or anything but elementwise kernels.
    """
    if any([layout.ndim or layout.typenum not in DTYPES for layout in program.cells]):
        return None
    kernels, operands, results, same = [], [], [], {}
    for instruction in program.symbolic():
        if instruction.name == "RESULT":
            results = instruction.cells
        elif instruction.name == "KERNEL" and isinstance(program.kernels[instruction.a], ElementwiseKernel):
            kernels.append(program.kernels[instruction.a])
            operands.append(tuple([same.get(cell, cell) for cell in map(int, instruction.cells)]))
        elif instruction.name == "COPY":        # of a value that is a result twice
            same[instruction.a] = same.get(instruction.b, instruction.b)
        elif instruction.name not in ("DROP", "HALT"):
            return None
    constants = [(number, layout.value) for number, layout in enumerate(program.cells) if layout.kind == "constant"]
    dtypes = [DTYPES[layout.typenum] for layout in program.cells]
    try:
        return ScalarBody(tuple(kernels), tuple(operands), tuple(dtypes), tuple(constants), n_sequences, taps,
                          n_carried=n_carried,
                          n_wholes=program.n_arguments - n_sequences - sum(map(len, taps)) - n_carried,
                          results=tuple([same.get(cell, cell) for cell in map(int, results)]), is_while=is_while)
    except ValueError:                      # too large, or a condition of a dtype that is rare
        return None
