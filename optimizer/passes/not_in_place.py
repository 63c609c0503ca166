"""Explains why nodes are not in place: finds the reason for each node that could overwrite an input and does not.

The reasons are only for listings: nothing here decides anything. The rules of ``graph/destroy_handler.py`` are
evaluated again in the optimised graph.
"""
from phintys.graph.destroy_handler import Destruction, handler_of
from phintys.optimizer.passes.commits import has_memory
from phintys.optimizer.passes.inplace import is_wanted
from phintys.vm.linking.schedule import schedule


def reasons_against(fgraph, query):
    """Return the reasons against overwriting.

    Parameters
    ----------
    fgraph : FunctionGraph
        The optimised graph.
    query : database.Query
        The query that the optimizer used.

    Returns
    -------
    list of (Variable, Variable, str)
        A value that has separate memory; an input of its node that it could overwrite; the reason why it does not.
    """
    handler = handler_of(fgraph)
    if handler is None:
        return []
    judge = _Judge(fgraph, handler, query)
    return [(node.outputs[output], node.inputs[position], judge.reason(node, output, position))
            for node in judge.order for output, position in dict.fromkeys(node.op.inplace_candidates(node))
            if output not in node.op.destroy_map and output not in node.op.view_map
            and has_memory(node.outputs[output])]


class _Judge:
    """The rules, and the order in which the nodes run."""

    def __init__(self, fgraph, handler, query):
        self.fgraph, self._query = fgraph, query
        self.order = schedule(fgraph)
        self.destruction = Destruction(fgraph, handler)
        self._late = self.destruction.can_wait(self.order)
        self._number = {node: number for number, node in enumerate(self.order)}
        self._last = {}
        for node in self.order:
            for variable in node.inputs:
                self._last[self.destruction.memory.root(variable)] = node

    def reason(self, node, output, position):
        """Return why the node does not overwrite the input."""
        if not is_wanted(node.op, self._query):
            return "the mode has no in-place rewrite for it"
        destruction = self.destruction
        root = destruction.memory.root(node.inputs[position])
        if root in destruction.updates and root.owner is None and not destruction.reads_twice(node, position):
            return self._reason_of_update(node, output, root)
        if position in [operand for operands in node.op.destroy_map.values() for operand in operands]:
            return "another value takes it"
        objection = destruction.objection(node, output, position)
        if objection is not None:
            return objection
        if not destruction.is_last(node, position, self._number, self._last):
            return f"{self._last[root].op} reads it later"
        return "another of its inputs was preferred"

    def _reason_of_update(self, node, output, shared):
        """Return why the node does not overwrite a shared value that has an update."""
        destruction, fgraph = self.destruction, self.fgraph
        if any([shared in [commit.inputs[operand] for operand in pairs.values()]
                for commit, pairs in destruction.commits.items()]):
            return "its own update overwrites it, last of all"
        if not node.op.cannot_fail:
            return "this may fail, and a shared value may change only when nothing can fail any more"
        for reader, operand in [pair for out in node.outputs for pair in fgraph.clients[out]]:
            if reader == "output" and operand != destruction.updates[shared]:
                kind = "another update" if operand in destruction.updates.values() else "a result"
                return f"what this makes is {kind}, too"
            if reader != "output" and reader not in self._late:
                return f"{reader.op} reads what this makes, and it cannot wait until nothing can fail any more"
        if node.outputs[output] is fgraph.outputs[destruction.updates[shared]]:
            return "what is read of old values forms a circle"
        return "only the steps of its own update may overwrite it"
