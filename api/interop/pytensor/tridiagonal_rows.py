"""Tridiagonal systems: PyTensor's ops as the loops of ``ops/compositions/tridiagonal.py``."""
from __future__ import annotations

from phintys import tensor as T
from phintys.interop.pytensor.translation import row
from phintys.ops.compositions.tridiagonal import factored, solved, solved_transposed

row("tensor.LUFactorTridiagonal")(lambda op, node, below, diagonal, above:
    factored(*_of_one_dtype(node, below, diagonal, above)))


@row("tensor.SolveLUFactorTridiagonal")
def _solve(op, node, below, diagonal, above, second, pivots, b):
    below, diagonal, above, second, b = _of_one_dtype(node, below, diagonal, above, second, b)
    solve = solved_transposed if op.transposed else solved
    return solve(below, diagonal, above, second, pivots, b)


def _of_one_dtype(node, *inputs):
    return [T.cast(each, node.outputs[0].type.dtype) for each in inputs]
