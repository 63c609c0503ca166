"""Ops that compute by ``make_thunk``: a function without arguments that reads and fills storage, as in Theano. Whatever
computes a node calls it also if the op has ``perform``, which its ``make_thunk`` may call.

``make_thunk(node, storage_map, compute_map, no_recycling, impl)`` is called once for a node and again when two threads
compute it at the same time; the thunk is kept with its storage and called for every computation. All inputs are
computed before it runs: a thunk that is ``lazy`` may check ``compute_map``, and finds everything computed.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy

    from phintys.graph.apply import Apply
    from phintys.graph.op import Op, PureOp
    from phintys.graph.variable import Variable

_idle = WeakKeyDictionary()             # node → [(thunk, storage_map)] not in use


def compute(op: Op, node: Apply, inputs: Sequence[numpy.ndarray], output_storage: Sequence[Sequence[Any]]) -> None:
    """Compute a node on values as programs do that have no kernel for it: by its thunk if the op makes one, else by
    ``perform``."""
    if op.computes_by_thunk:
        perform_by_thunk(op, node, inputs, output_storage)
    else:
        op.perform(node, inputs, output_storage)


def perform_by_thunk(op: PureOp, node: Apply, inputs: Sequence[str | numpy.ndarray],
                     output_storage: Sequence[Sequence[Any]]) -> None:
    """Compute a node on values by the thunk that its op makes.

    Raises
    ------
    RuntimeError
        If the thunk requests inputs that it already has.
    """
    idle = _idle.setdefault(node, [])
    thunk, storage_map = idle.pop() if idle else _made(op, node)
    for variable, value in zip(node.inputs, inputs):
        storage_map[variable][0] = value
    for variable, storage in zip(node.outputs, output_storage):
        storage_map[variable][0] = storage[0]
    missing = thunk()
    if missing:
        raise RuntimeError(f"The thunk of {op} requests inputs {missing}, which are already computed.")
    for variable, storage in zip(node.outputs, output_storage):
        storage[0] = storage_map[variable][0]
    for kept in storage_map.values():
        kept[0] = None
    idle.append((thunk, storage_map))


def storage_for(node: Apply) -> tuple[dict[Variable, Any], ...]:
    """Return storage for the variables of a node, and whether each is computed: that of constants has their data."""
    variables = [*node.inputs, *node.outputs]
    return ({variable: [getattr(variable, "data", None)] for variable in variables},
            {variable: [variable in node.inputs] for variable in variables})


def _made(op, node):
    storage_map, compute_map = storage_for(node)
    return op.make_thunk(node, storage_map, compute_map, [], "py"), storage_map
