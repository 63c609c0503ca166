"""Merging: equal computations on equal inputs become one, and so do equal constants.

One pass in topological order with a table of what has been seen (hash consing). A node's inputs are merged before the
node is examined, so each node is examined once, whatever its depth.
"""
from phintys.graph.variable import Constant


def merge(fgraph):
    """Merge equal nodes and constants of ``fgraph`` in place; return how many replacements were made."""
    nodes, constants, merged = {}, {}, 0
    checked = {}                       # Constant -> the one that replaces it
    for node in fgraph.toposort():
        inputs = node.inputs
        for position, variable in enumerate(inputs):
            if variable.owner is None and isinstance(variable, Constant):
                kept = checked.get(variable)
                if kept is None:
                    kept = checked[variable] = constants.setdefault(variable.merge_signature(), variable)
                if kept is not variable:
                    fgraph.change_input(node, position, kept, reason="merge")
                    merged += 1
        signature = (node.op.as_merged, *inputs)
        kept = nodes.setdefault(signature, node)
        if kept is not node and [out.type for out in kept.outputs] == [out.type for out in node.outputs]:
            merged += 1
            if node.op.as_merged is node.op and kept.op.as_merged is not kept.op:
                fgraph.change_op(kept, kept.op.as_merged)
            for old, new in zip(node.outputs, kept.outputs):
                new.name = new.name or old.name
                fgraph.replace(old, new, reason="merge")
    return merged
