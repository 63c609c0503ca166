"""Which replacements DebugMode can compare in a call, if a rewrite is valid only on one path.

Inside a branch, a node that tests the branch's condition again is replaced by the value that it selects
(`ON_ONE_PATH`). Values computed from it are then right in calls that take this path, and wrong in other calls, which do
not use them. DebugMode may nevertheless compute them in these other calls, because it also evaluates earlier forms of
the graph, which may need them. Such a value *strays*, and is not compared.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.debugging.stepwise import value_of
from phintys.ops.graphs.ifelse import IfElse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy

    from phintys.debugging.debug_record import ReplacementRecord
    from phintys.graph.apply import Apply
    from phintys.graph.variable import Variable
    from phintys.ops.operators import TensorVariable


class Paths:
    """The variables of one function that may stray, and those that do in a call.

    Parameters
    ----------
    record : ReplacementRecord
    order : list of Apply
        All nodes that ever were in the graph, each after those that it reads.
    makers : dict
        New variable → pairs (rewrite, old variable).
    """

    def __init__(self, record: ReplacementRecord, order: Sequence[Apply], makers: Mapping[Any, Any]) -> None:
        self.order, self.makers = order, makers
        self.uncertain = uncertain_variables(record, order)

    def strayed(self, ran: set[Apply], values: Mapping[Variable, numpy.ndarray]) -> set[TensorVariable]:
        """Return the variables that stray in a call.

        Parameters
        ----------
        ran : set of Apply
            The nodes that a call runs; their inputs are right.
        values : dict
            Variable → value, for all variables that were computed.
        """
        found = set()
        if not self.uncertain:
            return found
        replaced = self._replaced_by_what_ran(ran)
        for node in self.order:
            if node not in ran:
                found.update([variable for index, variable in enumerate(node.outputs) if variable in self.uncertain
                              and (variable not in replaced
                                   or not found.isdisjoint(inputs_of_output(node, index, values)))])
        return found

    def _replaced_by_what_ran(self, ran):
        """The variables that were replaced, directly or in several steps, by values that a call needs."""
        found, waiting = set(), [variable for node in ran for variable in node.outputs]
        while waiting:
            old = [variable for _, variable in self.makers.get(waiting.pop(), ()) if variable not in found]
            found.update(old)
            waiting.extend(old)
        return found


def uncertain_variables(record: ReplacementRecord, order: Sequence[Apply]) -> set[TensorVariable]:
    """Return the variables that depend on a replacement valid on one path, or that replaced a variable that does."""
    nodes, found, before = set(record.on_one_path), set(), -1
    while len(found) != before:
        before = len(found)
        for node in order:
            if node in nodes or not found.isdisjoint(node.inputs):
                found.update(node.outputs)
        nodes.update([new.owner for old, new in record.reasons if old in found and new.owner is not None])
    return found


def inputs_of_output(node: Apply, index: int, values: Mapping[Variable, numpy.ndarray]) -> list[TensorVariable]:
    """Return the inputs that an output depends on; of an `IfElse`, one value of the branch that was chosen."""
    if not isinstance(node.op, IfElse):
        return node.inputs
    condition = value_of(node.inputs[0], values)
    if condition is None:
        return node.inputs
    return [node.inputs[0], node.op.branches(node.inputs)[0 if condition else 1][index]]
