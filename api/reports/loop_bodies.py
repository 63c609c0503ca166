"""The bodies of a program's loops, with the shapes of their cells, for reports on memory.

A body is a separate program. The shapes of its arguments follow from those of the loop's operands: a row of each
sequence and state, and values that are passed as a whole. The lengths of values in a body may depend on other values;
if these are a sequence of lengths, the largest one is used.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from phintys.reports.predicted_shapes import Prediction
from phintys.vm.linking.plan import sizes_of
from phintys.vm.loops.blocks import length_of_blocks
from phintys.vm.loops.loop_kernel import LoopKernel
from phintys.vm.opcodes import OPCODES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.vm.program import Program


class LoopBody(NamedTuple):
    """A loop in a program.

    Attributes
    ----------
    position : int
        Of its instruction.
    kernel : LoopKernel
    shapes : list of tuple or None
        Of the body's cells.
    carried : list of int
        The cells of the arguments that the loop has copies of, because steps overwrite them.
    prediction : Prediction or None
        Where the shapes come from; None: from the last step.
    ahead : Prediction or None
        Of what is computed ahead for a block of steps, if anything is.
    """

    position: int
    kernel: Any
    shapes: list
    carried: list
    prediction: Any
    ahead: Any = None


def bodies_of(program: Program, shapes: Sequence[Sequence[int] | None],
              prediction: Prediction | None = None) -> list[LoopBody]:
    """Return the loops of a program whose operands have known shapes.

    Parameters
    ----------
    program : Program
    shapes : list of tuple or None
        Of its cells.
    prediction : Prediction, optional
        If shapes are predicted; otherwise they are those of the last call.
    """
    found = []
    for position, instruction in enumerate(program.instructions()):
        if OPCODES[instruction.op].name == "KERNEL" and isinstance(program.kernels[instruction.a], LoopKernel):
            kernel = program.kernels[instruction.a]
            body = _body(position, kernel, program.pool[instruction.b:instruction.b + instruction.c], shapes,
                         prediction)
            if body is not None:
                found.append(body)
    return found


def _body(position, kernel, cells, shapes, prediction):
    inner, n_sequences, taps, n_stacked, n_carried, *_ = kernel.arguments
    n_ahead = 0 if kernel.blocks is None else kernel.blocks.n_results
    n_wholes = inner.n_arguments - n_sequences - n_ahead - sum(map(len, taps)) - n_carried
    ends = [1, 1 + n_sequences]
    for count in (len(taps), n_carried, n_stacked, n_wholes):
        ends.append(ends[-1] + count)
    sequences, states, carried, _, wholes = [cells[start:end] for start, end in zip(ends, ends[1:])]
    if any([shapes[cell] is None for cell in cells[1:ends[-1]]]):
        return None
    tapped = [state for state, own in zip(states, taps) for _ in own]
    whole = [_whole(cell, shapes, prediction) for cell in wholes]
    ahead, rows_ahead = None, []
    if n_ahead:
        ahead, rows_ahead = _ahead(kernel.blocks.program, [shapes[cell] for cell in sequences], whole)
    given = [*[_row(cell, shapes, prediction) for cell in sequences], *rows_ahead,
             *[shapes[cell][1:] for cell in tapped], *[shapes[cell] for cell in carried], *whole]
    first = n_sequences + n_ahead + len(tapped)
    last, inside = kernel.last_shapes(), None
    if prediction is not None or last[:len(given)] != given:
        inside = Prediction(inner, given)
    return LoopBody(position, kernel, last if inside is None else inside.shapes, list(range(first, first + n_carried)),
                    inside, ahead)


def _ahead(program, sequences, wholes):
    """The rows that are computed ahead for a block of steps, and their shapes for one step."""
    results = next(instruction.cells for instruction in program.symbolic() if instruction.name == "RESULT")

    def of_steps(count):
        return Prediction(program, [*[(count, *shape[1:]) for shape in sequences], *wholes])

    one = of_steps(1)
    sizes = sizes_of(program, one.shapes)
    count = min(length_of_blocks(sum([sizes[int(cell)] for cell in results])), *[shape[0] for shape in sequences])
    return of_steps(count), [one.shapes[int(cell)][1:] for cell in results]


def _row(cell, shapes, prediction):
    """Return the shape of a row, or its value if it is a length."""
    lengths = None if prediction is None else prediction.lengths(cell)
    return shapes[cell][1:] if lengths is None or not lengths.size else lengths.max(keepdims=True)[0, ...]


def _whole(cell, shapes, prediction):
    lengths = None if prediction is None else prediction.lengths(cell)
    return shapes[cell] if lengths is None else lengths
