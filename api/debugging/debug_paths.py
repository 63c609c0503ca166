"""Which replacements DebugMode can compare in a call, where a rewrite holds on one path only.

Inside a branch a node that tests the branch's condition again is replaced by the value that it selects
(`ON_ONE_PATH`). What reads that value is then right in the calls that take this path, and wrong in others, which never
look at it. DebugMode may compute it in those calls all the same: an earlier form of the graph, which it evaluates too,
asks for it. Such a value *strays*, and is compared with nothing.
"""
from phintys.debugging.stepwise import value_of
from phintys.ops.graphs.ifelse import IfElse


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

    def __init__(self, record, order, makers):
        self.order, self.makers = order, makers
        self.uncertain = uncertain_variables(record, order)

    def strayed(self, ran, values):
        """Return the variables that stray in a call.

        Parameters
        ----------
        ran : set of Apply
            The nodes that a call runs: their inputs are right.
        values : dict
            Variable → value, of all that were computed.
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
        """The variables that values which a call needs were put in place of, directly or in several steps."""
        found, waiting = set(), [variable for node in ran for variable in node.outputs]
        while waiting:
            old = [variable for _, variable in self.makers.get(waiting.pop(), ()) if variable not in found]
            found.update(old)
            waiting.extend(old)
        return found


def uncertain_variables(record, order):
    """Return the variables that depend on a replacement on one path, or were put in place of one that does."""
    nodes, found, before = set(record.on_one_path), set(), -1
    while len(found) != before:
        before = len(found)
        for node in order:
            if node in nodes or not found.isdisjoint(node.inputs):
                found.update(node.outputs)
        nodes.update([new.owner for old, new in record.reasons if old in found and new.owner is not None])
    return found


def inputs_of_output(node, index, values):
    """Return the inputs that an output depends on; of an `IfElse`, one value of the branch that was chosen."""
    if not isinstance(node.op, IfElse):
        return node.inputs
    condition = value_of(node.inputs[0], values)
    if condition is None:
        return node.inputs
    return [node.inputs[0], node.op.branches(node.inputs)[0 if condition else 1][index]]
