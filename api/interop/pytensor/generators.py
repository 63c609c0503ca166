"""Random generators of a PyTensor function: its program works on their states, and its caller passes the objects.

A generator whose numbers are all drawn by ops with a row is a vector of uint64 in the program. The others stay objects,
because Python code may do more with one than to draw, such as ``spawn``. So do all if a value does not draw from PCG64.
"""
from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from pytensor.compile.builders import OpFromGraph
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.random.type import RandomType

from phintys.graph.type import generic
from phintys.interop.pytensor.random_rows import is_native
from phintys.ops.random.generator_objects import ProgramWithGenerators

if TYPE_CHECKING:
    from collections.abc import Callable

    from phintys.graph.function_graph import FunctionGraph
    from phintys.graph.variable import Variable


def with_generators(fgraph: FunctionGraph, make_program: Callable[..., Any]) -> Any:
    """The function of a graph, which takes and returns random generators.

    Parameters
    ----------
    fgraph : pytensor.graph.FunctionGraph
    make_program : callable
        Given a dictionary, PyTensor's input → its translation, it compiles a function of all inputs.
    """
    generators = [variable for variable in fgraph.inputs if isinstance(variable.type, RandomType)]
    by_python = {source_of(node.inputs[0]) for node in fgraph.toposort()
                 if isinstance(node.op, RandomVariable) and not is_native(node.op)}
    objects = {variable: generic(variable.name) for variable in generators if variable in by_python}
    states = [variable for variable in generators if variable not in objects]
    program = make_program(dict(objects))
    results = [_result(fgraph, position, states) for position, output in enumerate(fgraph.outputs)
               if isinstance(output.type, RandomType) and source_of(output) not in objects]
    if not states and not results:
        return program

    @cache
    def for_objects():
        return make_program({variable: generic(variable.name) for variable in generators})

    return ProgramWithGenerators(program, [fgraph.inputs.index(variable) for variable in states], results,
                                 lambda *args: for_objects()(*args))


def source_of(variable: Variable) -> Any:
    """The variable whose generator draws the numbers before a state; or an output of an op that mixes generators."""
    while variable.owner is not None:
        node = variable.owner
        generators = [given for given in node.inputs if isinstance(given.type, RandomType)]
        if isinstance(node.op, OpFromGraph) and len(generators) > 1:
            source = source_of(node.op.inner_outputs[node.outputs.index(variable)])
            generators = [given for given, inner in zip(node.inputs, node.op.inner_inputs) if inner is source]
        if len(generators) != 1:
            break
        variable, = generators
    return variable


def _result(fgraph, position, states):
    """A result that is a state, as `ProgramWithGenerators` describes it."""
    source = source_of(fgraph.outputs[position])
    if source not in states:
        return position, None, False
    protected = set().union(*[feature.protected for feature in fgraph._features if hasattr(feature, "protected")])
    number = fgraph.inputs.index(source)
    return position, number, fgraph.update_mapping.get(position) == number and source not in protected
