"""``f.fn``: the compiled program of a function, with the names that Theano's linked functions have.

It is a view, made at the first access: calls of the function do not pass through it, and ``storage_map`` does not have
the values of intermediate results, which are stored in frames. A call of it runs the function on the values in
``input_storage`` and stores the results in ``output_storage``; users of Theano time graphs in this way, without the
conversion of arguments.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.graph.variable import Constant
from phintys.making.argument_container import ArgumentContainer

if TYPE_CHECKING:
    from phintys.making.compiled_function import Function


class ResultStorage(list):
    """A list of one element, the value of an output; Theano's programs read it as ``value``, too."""

    @property
    def value(self) -> Any:
        """The element."""
        return self[0]


class ProgramView:
    """A function's program.

    Attributes
    ----------
    storage_map : dict
        Variable of the compiled graph → list with its value between calls.
    updated_vars : dict
        Stored input of the compiled graph → its new value in the graph.
    input_storage : list of Container or ArgumentContainer
    output_storage : list of ResultStorage
        What the last call of this object computed.
    nodes : list of Apply
        In the order in which they run.
    allow_gc : bool or "plan"
    """

    def __init__(self, function: Function) -> None:
        fgraph = function.maker.fgraph
        self._function = function
        self.allow_gc = function.program.allow_gc
        self.input_storage = function.input_storage
        self.nodes = list(dict.fromkeys(node for node in function.program.nodes if node is not None))
        containers = dict(zip(fgraph.inputs, function.containers_of_graph()))
        self.storage_map = {variable: _storage(variable, containers) for variable in _variables(fgraph)}
        self.output_storage = [ResultStorage([None]) for _ in function.maker.outputs]
        self.updated_vars = {fgraph.inputs[number]: fgraph.outputs[position]
                             for position, number in function.maker.update_positions}

    def __call__(self, n_calls: int = 1, output_subset: Any = None) -> None:
        function = self._function
        arguments = tuple([container.storage[0] for container in self.input_storage
                           if isinstance(container, ArgumentContainer)])
        positions = list(range(len(self.output_storage)))
        for _ in range(n_calls):
            results = function.evaluate(arguments, {"output_subset": function.output_keys_of(positions)})
            for storage, result in zip(self.output_storage, results.values() if isinstance(results, dict) else results):
                storage[0] = result


def _variables(fgraph):
    """Return the variables of a graph, leaves first."""
    yield from fgraph.inputs
    for variable in fgraph.clients:
        if isinstance(variable, Constant):
            yield variable
    for node in fgraph.toposort():
        yield from node.outputs


def _storage(variable, containers):
    if variable in containers:
        return containers[variable].storage
    return [variable.data if isinstance(variable, Constant) else None]
