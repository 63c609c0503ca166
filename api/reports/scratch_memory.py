"""The scratch memory that the kernels of a program ask for: each kernel is prepared for the shapes of its operands.

Nothing is run. Values that a kernel examines must be constants, or lengths that follow from shapes; for other kernels
the size is not known.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from phintys.reports.predicted_shapes import Prediction
from phintys.vm.abi import scratch_of_kernel
from phintys.vm.loops.loop_kernel import LoopKernel
from phintys.vm.opcodes import OPCODES
from phintys.vm.program import DTYPES
from phintys.vm.worker_count import usable_workers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.vm.program import Program


def scratch_bytes(program: Program, shapes: Sequence[Sequence[int] | None],
                  prediction: Prediction | None = None) -> dict[int, int]:
    """Return how much scratch memory the kernels of a program need.

    Parameters
    ----------
    program : Program
    shapes : list of tuple or None
        Of its cells.
    prediction : Prediction, optional
        If shapes are predicted; otherwise they are those of the last call.

    Returns
    -------
    dict of int to int
        Instruction → bytes. Kernels that need no scratch memory, and kernels whose size is not known, are left out. All
        kernels of a loaded program are left out, because it has no graph.
    """
    if prediction is None:
        given = shapes[:program.n_arguments]
        if program.nodes is None or any([shape is None for shape in given]):
            return {}
        prediction = Prediction(program, given)
    found = {}
    for position, instruction in enumerate(program.instructions()):
        if OPCODES[instruction.op].name not in ("KERNEL", "PREPARE"):
            continue
        kernel = program.kernels[instruction.a]
        cells = program.pool[instruction.b:instruction.b + instruction.c]
        count = program.counts.get(position, instruction.n)
        size = _scratch(program, kernel, cells[:count], cells[count:], shapes, prediction)
        if size:
            found[position] = size
    return found


def _scratch(program, kernel, inputs, outputs, shapes, prediction):
    """Return the bytes of one kernel, or 0 if they are not known."""
    layouts = [program.cells[cell] for cell in (*inputs, *outputs)]
    if isinstance(kernel, LoopKernel) or any([layout.typenum < 0 for layout in layouts]) \
            or any([shapes[cell] is None for cell in inputs]):
        return 0
    examined = range(len(inputs)) if kernel.examined is None else kernel.examined
    arrays = [_value(layout, cell, prediction) if position in examined
              else numpy.empty(shapes[cell], DTYPES[layout.typenum])
              for position, (layout, cell) in enumerate(zip(layouts, inputs))]
    if any([array is None for array in arrays]):
        return 0
    try:
        return scratch_of_kernel(kernel, arrays, [(layout.typenum, layout.ndim) for layout in layouts[len(inputs):]],
                                 usable_workers())
    except (TypeError, ValueError, IndexError, MemoryError):        # so would the call
        return 0


def _value(layout, cell, prediction):
    """Return the value of a cell, or None if it is not known."""
    return layout.value if layout.kind == "constant" else prediction.lengths(cell)
