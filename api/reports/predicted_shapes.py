"""The shapes of a program's cells for given shapes of its arguments, without computing any values of that size.

Each op's ``infer_shape`` says how lengths follow from lengths; the resulting small graphs of integers are evaluated
node by node. A length that depends on the values of an argument is known if the value is given instead of the shape.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from phintys.graph.thunks import compute
from phintys.graph.variable import Constant
from phintys.ops.shape.shape import Shape, Shape_i
from phintys.ops.types.dtypes import integer_dtypes
from phintys.optimizer.passes.shapes import ShapeFeature
from phintys.vm.opcodes import OPCODES
from phintys.vm.texts import cells_of_inputs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from phintys.graph.function_graph import FunctionGraph
    from phintys.graph.variable import Variable
    from phintys.ops.operators import TensorVariable
    from phintys.vm.program import Program


class Prediction:
    """The shapes of a program's cells that follow from its arguments.

    Parameters
    ----------
    program : Program
    given : list of tuple or numpy.ndarray
        The shape of each argument, or its value.

    Attributes
    ----------
    shapes : list of tuple or None
        Of each cell. None for an object, a value that is not computed, or a shape that depends on values that were not
        given.
    """

    def __init__(self, program: Program, given: Sequence[numpy.ndarray | Sequence[int]]) -> None:
        self._known = known = KnownShapes()
        for layout, leaf in zip(program.cells, given):
            known.add_leaf(layout.variable, leaf)
        self._variable_of = _variables(program, known)
        feature = ShapeFeature()
        self.shapes = []
        for cell, layout in enumerate(program.cells):
            variable = self._variable_of.get(cell)
            self.shapes.append(None if layout.typenum < 0 or variable is None else known.shape(variable, feature))

    def lengths(self, cell: int) -> numpy.generic | numpy.ndarray | None:
        """Return the value of a cell that may be a length, or a vector of lengths; None if it is not known."""
        variable = self._variable_of.get(cell)
        if variable is None or getattr(variable.type, "dtype", None) not in integer_dtypes or variable.type.ndim > 1:
            return None
        return self._known.value(variable)


def shapes_in_graph(fgraph: FunctionGraph,
                    given: Mapping[Variable, Sequence[int]]) -> dict[TensorVariable, tuple[int, ...]]:
    """Return the shape of each variable of a graph.

    Parameters
    ----------
    fgraph : FunctionGraph
    given : dict
        Input of the graph → its shape, or its value.

    Returns
    -------
    dict
        Variable of a tensor type → its shape; None where it depends on values that were not given.
    """
    return known_in_graph(fgraph, given)[0]


def known_in_graph(fgraph: FunctionGraph, given: Mapping[Variable, Any]) -> tuple[dict[Any, Any], Callable[..., Any]]:
    """Return what `shapes_in_graph` returns, and a function that returns the value of a small variable, or None."""
    known, feature = KnownShapes(), ShapeFeature()
    for variable in fgraph.inputs:
        known.add_leaf(variable, given[variable])
    return {variable: known.shape(variable, feature) for variable in fgraph.variables
            if variable.type.layout is not None}, known.value


def _variables(program, known):
    """Map each cell to a variable with its value in terms of arguments, shared values and constants.

    The code of a graph inside a node has its own variables; their nodes are made again on the outer variables.
    """
    variable_of = {cell: layout.variable for cell, layout in enumerate(program.cells)
                   if layout.kind in ("argument", "constant")}
    for position, instruction in _as_it_runs(program):
        name = OPCODES[instruction.op].name
        if name == "LOAD":
            variable_of[instruction.a] = program.cells[instruction.a].variable
            known.add_leaf(variable_of[instruction.a], program.containers[instruction.b].get(borrow=True))
        elif name in ("COPY", "ALIAS", "MOVE"):
            variable_of[instruction.a] = variable_of.get(instruction.b)
        elif name in ("KERNEL", "CALL", "PREPARE"):
            node = program.nodes[position]
            cells = program.pool[instruction.b:instruction.b + instruction.c]
            inputs, outputs = cells[:-len(node.outputs)], cells[-len(node.outputs):]
            variable_of.update(zip(outputs, _outputs(node, cells_of_inputs(node, inputs, program.cells), variable_of)))
    return variable_of


def _outputs(node, cell_of, variable_of):
    inputs = [variable_of.get(cell_of[variable]) if variable in cell_of else variable for variable in node.inputs]
    if None in inputs:
        return [None] * len(node.outputs)
    return (node if inputs == node.inputs else node.clone_with_new_inputs(inputs)).outputs


def _as_it_runs(program):
    """Yield (position, instruction), with both arms of branches, and blocks where they are first needed."""
    code = program.instructions()
    waiting, entered = [iter(range(len(code)))], set()
    while waiting:
        position = next(waiting[-1], None)
        name = None if position is None else OPCODES[code[position].op].name
        if name is None or name in ("HALT", "BACK"):
            waiting.pop()
        elif name == "NEED" and code[position].a not in entered:
            entered.add(code[position].a)
            waiting.append(iter(range(code[position].a, len(code))))
        else:
            yield position, code[position]


class KnownShapes:
    """Known facts: shapes of leaves, and values of some variables (None: unknown)."""

    def __init__(self):
        self.shapes, self.values = {}, {}

    def add_leaf(self, variable, given):
        """Add the shape or the value of a leaf."""
        if variable.type.layout is None:
            return
        if isinstance(given, numpy.ndarray):
            self.values[variable] = given
        self.shapes[variable] = given.shape if isinstance(given, numpy.ndarray) else tuple(given)

    def shape(self, variable, feature):
        """Return the shape of a variable, or None."""
        if variable in self.shapes:
            return self.shapes[variable]
        lengths = [self.value(length) for length in feature.shape(variable)]
        return None if any([length is None for length in lengths]) else tuple([int(length) for length in lengths])

    def value(self, wanted):
        """Return the value of a small variable, or None."""
        values, waiting = self.values, [wanted]
        while waiting:
            variable = waiting[-1]
            if variable in values or self._is_leaf(variable):
                waiting.pop()
                continue
            missing = [] if self._reads_known_shape(variable.owner) else [
                source for source in variable.owner.inputs if source not in values and not self._is_leaf(source)]
            waiting.extend(missing)
            if not missing:
                self._compute(waiting.pop().owner)
        return values[wanted]

    def _reads_known_shape(self, node):
        return isinstance(node.op, (Shape, Shape_i)) and node.inputs[0] in self.shapes

    def _is_leaf(self, variable):
        """Return whether a variable needs no computation; its value is then recorded."""
        if variable.owner is None and variable not in self.values:
            data = variable.data if isinstance(variable, Constant) else None
            self.values[variable] = data if data is None or variable.type.layout is None else numpy.asarray(data)
        return variable.owner is None

    def _compute(self, node):
        if self._reads_known_shape(node):
            shape = numpy.array(self.shapes[node.inputs[0]], "int64")
            self.values[node.outputs[0]] = shape if isinstance(node.op, Shape) else shape[node.op.i]
            return
        inputs = [self.values[variable] for variable in node.inputs]
        storage = [[None] for _ in node.outputs]
        if all([value is not None for value in inputs]):
            compute(node.op, node, inputs, storage)
        self.values.update(zip(node.outputs, [stored[0] for stored in storage]))
