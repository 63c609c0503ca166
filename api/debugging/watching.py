"""Programs that run node by node under observation: the common part of MonitorMode, NanGuardMode and WrapLinker.

A `Thunk` is one node with storage for its operands. `link_watching` makes a program whose nodes are run by a function
of the user or of a mode, in the order in which any program would run them.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from phintys.debugging.debug_differences import copied
from phintys.debugging.stepwise import explained, link_stepwise, nodes_in_turn, value_of
from phintys.graph.lazy_regions import lazy_regions
from phintys.graph.read_only import inputs_for
from phintys.graph.thunks import compute

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.function_graph import FunctionGraph
    from phintys.vm.containers.container import Container
    from phintys.vm.program import Program


class Thunk:
    """One node, ready to run, with the storage of its operands.

    Attributes
    ----------
    inputs, outputs : list of list
        For each operand a list whose only element is its value; None before it is computed.
    """

    def __init__(self, node: Apply, inputs: Sequence[numpy.ndarray]) -> None:
        self.node = node
        self.inputs = [[value] for value in inputs]
        self.outputs = [[None] for _ in node.outputs]

    def __call__(self) -> None:
        with numpy.errstate(all="ignore"):
            op = self.node.op
            compute(op, self.node, inputs_for(op, [cell[0] for cell in self.inputs]), self.outputs)


def link_watching(fgraph: FunctionGraph, run_node: Callable[..., Any],
                  arguments: Mapping[str, int | Sequence[Container]], look_at_input: Callable[..., Any] | None = None,
                  programs: int = 1) -> Program:
    """Return a program that runs node by node.

    Parameters
    ----------
    fgraph : FunctionGraph
    run_node : callable
        Called as ``run_node(position, node, *thunks)`` for each node; it runs the thunks. ``position`` counts nodes.
    arguments : dict
        The keyword arguments of ``linker.link``.
    look_at_input : callable, optional
        Called with each argument or shared variable and its value before the first node runs.
    programs : int
        The number of thunks for each node. Each thunk has separate values; results are those of the first.
    """
    order = fgraph.toposort()
    regions, number = lazy_regions(fgraph, order), {node: position for position, node in enumerate(order)}

    def run(inputs):
        stores = [dict(zip(fgraph.inputs, map(copied, inputs))) for _ in range(programs)]
        if look_at_input is not None:
            for variable, value in stores[0].items():
                look_at_input(variable, value)
        for node in nodes_in_turn(order, regions, stores[0]):
            thunks = [Thunk(node, [value_of(variable, values) for variable in node.inputs]) for values in stores]
            try:
                run_node(number[node], node, *thunks)
            except Exception as error:
                shown = [cell[0] for cell in thunks[0].inputs]
                raise explained(error, node, number[node], shown) from error.__cause__
            for values, thunk in zip(stores, thunks):
                values.update(zip(node.outputs, [cell[0] for cell in thunk.outputs]))
        return [value_of(variable, stores[0]) for variable in fgraph.outputs]

    return link_stepwise(fgraph, run, arguments)
