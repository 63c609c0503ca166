"""Selects the bodies of loops that are computed in registers: those with only elementwise kernels on values of rank
0."""
from phintys.ops.elementwise.elementwise_kernel import ElementwiseKernel
from phintys.ops.elementwise.scalar_code import CodeBuilder
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
    builder = CodeBuilder([DTYPES[layout.typenum] for layout in program.cells[:program.n_arguments]])
    slot_of = dict(zip(range(program.n_arguments), range(program.n_arguments)))
    slot_of.update({cell: builder.constant(layout.value, DTYPES[layout.typenum])
                    for cell, layout in enumerate(program.cells) if layout.kind == "constant"})
    results = []
    for instruction in program.symbolic():
        cells = [int(cell) for cell in instruction.cells]
        if instruction.name == "RESULT":
            results = [slot_of[cell] for cell in cells]
        elif instruction.name == "KERNEL" and isinstance(program.kernels[instruction.a], ElementwiseKernel):
            code = program.kernels[instruction.a].given_code
            count = len(code.input_dtypes)
            slot_of.update(zip(cells[count:], builder.join(code, [slot_of[cell] for cell in cells[:count]])))
        elif instruction.name == "COPY":        # of a value that is a result twice
            slot_of[instruction.a] = slot_of[instruction.b]
        elif instruction.name not in ("DROP", "HALT"):
            return None
    try:
        return ScalarBody(builder.finish(results), n_sequences, taps, n_carried, is_while)
    except ValueError:                      # too large, or a condition of a dtype that is rare
        return None
