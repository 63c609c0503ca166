"""Functions whose graph is run node by node in Python, for modes that inspect every node.

The linked program of such a function is one CALL of the op `Stepwise`, whose ``perform`` runs the graph. Arguments,
shared variables, updates, results and errors are therefore handled as usual, and a run that raises changes nothing.
The op is made during linking and appears in no graph of the user.
"""
from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from phintys.debugging.failed_node import at_length
from phintys.graph import thunks
from phintys.graph.apply import Apply
from phintys.graph.function_graph import FunctionGraph
from phintys.graph.lazy_regions import in_turn
from phintys.graph.op import Op
from phintys.graph.read_only import inputs_for
from phintys.graph.variable import Constant
from phintys.vm.explaining.runtime_error import SHOWN_SIZE, advice, describe_node, with_details
from phintys.vm.linking.linker import link

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy

    from phintys.debugging.debug_run import DebugRun
    from phintys.graph.lazy_regions import LazyRegions
    from phintys.graph.variable import Variable
    from phintys.vm.containers.container import Container
    from phintys.vm.program import Program

# The remaining arguments of `link`: the op overwrites nothing and returns no views.
NEEDED = ("n_arguments", "containers", "updates", "n_outputs", "allow_gc", "name")


class Stepwise(Op):
    """A whole graph as one op.

    Parameters
    ----------
    fgraph : FunctionGraph
    run : callable
        Maps the list of the values of ``fgraph.inputs`` to the values of ``fgraph.outputs``. It names the failing node
        in its errors, and changes no input.
    """

    explains_errors = True

    def __init__(self, fgraph: FunctionGraph, run: DebugRun | Callable[..., Any]) -> None:
        self.fgraph = fgraph
        self.run = run

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, list(inputs), [variable.type.make_variable(variable.name)
                                          for variable in self.fgraph.outputs])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: list[list[Any]], params: Any = None) -> None:
        for storage, value in zip(output_storage, self.run(inputs)):
            storage[0] = value

    def __str__(self):
        return f"Stepwise{{{len(self.fgraph.apply_nodes)} nodes}}"


def link_stepwise(fgraph: FunctionGraph, run: DebugRun | Callable[..., Any],
                  arguments: Mapping[str, int | Sequence[Container]]) -> Program:
    """Return a program that computes the outputs of ``fgraph`` by ``run``.

    Parameters
    ----------
    fgraph : FunctionGraph
    run : callable
        See `Stepwise`.
    arguments : dict
        The keyword arguments of ``linker.link``.
    """
    inputs = [variable.clone() for variable in fgraph.inputs]
    outputs = Stepwise(fgraph, run).make_node(*inputs).outputs
    return link(FunctionGraph(inputs, outputs, clone=False), **{name: arguments[name] for name in NEEDED})


def value_of(variable: Variable, values: Mapping[Variable, numpy.ndarray]) -> numpy.ndarray:
    """Return the value of a variable that was computed, given, or is constant; None if a branch was not taken."""
    return variable.data if isinstance(variable, Constant) else values.get(variable)


def nodes_in_turn(order: Sequence[Apply], regions: LazyRegions | None, values: Mapping[Any, Any]) -> Any:
    """Yield the nodes that a call runs; before the next is requested, the values of the last must be added.

    Parameters
    ----------
    order : list of Apply
    regions : LazyRegions or None
        Of this order.
    values : dict

    Returns
    -------
    iterator of Apply
    """
    return in_turn(order, regions, lambda node: bool(value_of(node.inputs[regions.conditions[node]], values)))


def compute(node: Apply, values: Mapping[Variable, numpy.ndarray], spared: bool = False) -> None:
    """Compute a node on values in Python, and add its outputs to them.

    With ``spared``, the node gets copies of the values that it would overwrite.
    """
    storage, inputs = [[None] for _ in node.outputs], [value_of(variable, values) for variable in node.inputs]
    if spared:
        for position in {position for positions in node.op.destroy_map.values() for position in positions}:
            inputs[position] = deepcopy(inputs[position])
    thunks.compute(node.op, node, inputs_for(node.op, inputs), storage)
    for variable, cell in zip(node.outputs, storage):
        values[variable] = cell[0]


def explained(error: Any, node: Apply, position: int, inputs: Sequence[numpy.ndarray]) -> Any:
    """Return the error with the failed node, the shapes of its inputs and where the user made it.

    Parameters
    ----------
    error : Exception
    node : Apply
    position : int
        The node's number in the order of computation.
    inputs : list
        Values.
    """
    operands = [(value.shape, value.strides, value if value.size <= SHOWN_SIZE else None)
                if hasattr(value, "strides") else None for value in inputs]
    described = with_details(error, describe_node(node, position, operands, [*advice(error, node), *at_length(node)]))
    return described.with_traceback(error.__traceback__)
