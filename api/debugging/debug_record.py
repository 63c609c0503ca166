"""What happened to a graph while it was optimised: every node that was ever in it, and who replaced what.

A feature of the FunctionGraph; it changes nothing. A replaced node keeps the inputs it had when it left the graph, so
everything that ever was in the graph can still be computed from the graph's inputs, each rewrite's old variable beside
its new one.
"""
from phintys.optimizer.passes.lazy_branches import ON_ONE_PATH


class ReplacementRecord:
    """The history of one FunctionGraph, from the moment the feature is attached.

    Attributes
    ----------
    original : set of Apply
        The nodes at the beginning.
    nodes : dict
        All nodes ever, in the order in which they came (as keys).
    reasons : dict
        (old variable, new variable) → name of the rewrite, where the two have the same value in every call.
    events : list of tuple
        Each import, replacement and removal, without anything that differs between copies of a graph.
    """

    def __init__(self):
        self.nodes, self.reasons, self.events = {}, {}, []
        self.original = set()

    def on_attach(self, fgraph):
        """Note what is there."""
        self.nodes.update(dict.fromkeys(fgraph.data_order()))
        self.original.update(self.nodes)

    def on_import(self, fgraph, node, reason):
        """Note a node that comes."""
        self.nodes[node] = None
        self.events.append(("import", reason, node.op, None))

    def on_prune(self, fgraph, node, reason):
        """Note that a node goes."""
        self.events.append(("prune", reason, node.op, None))

    def on_change_input(self, fgraph, node, position, old, new, reason):
        """Note a replacement; one that is taken back never was."""
        if isinstance(reason, tuple) and reason[0] == "revert":
            self.reasons.pop((new, old), None)
        elif reason not in ON_ONE_PATH:
            self.reasons.setdefault((old, new), str(reason))
        self.events.append(("change", reason, node if isinstance(node, str) else node.op, position))

    def makers(self):
        """New variable → list of (name of the rewrite, variable that it replaced)."""
        found = {}
        for (old, new), reason in self.reasons.items():
            found.setdefault(new, []).append((reason, old))
        return found


def first_difference(events, others):
    """The first event that two histories of the same graph do not share, or None. One may go on after the other."""
    for position, (event, other) in enumerate(zip(events, others)):
        if event[0] != other[0] or event[3] != other[3] or str(event[1]) != str(other[1]) or event[2] != other[2]:
            return position
    return None
