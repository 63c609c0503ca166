"""Ops from graphs: inlines their inner graphs where requested, and removes unused outputs of the others.

Both run before all tables: other rewrites see the inner graphs, without the nodes that only unused outputs needed.
Equal nodes are merged in between, because the merged node may need more outputs than each of them.
"""
from phintys.ops.graphs.op_from_graph import OpFromGraph


def _inlined(node):
    return isinstance(node.op, OpFromGraph) and node.op.is_inline


def expand_inner_graphs(fgraph):
    """Replace the nodes of ``OpFromGraph(inline=True)`` by their inner graphs.

    Returns
    -------
    int
        The number of replaced nodes, including those from inner graphs.
    """
    total = 0
    while any(map(_inlined, fgraph.apply_nodes)):
        for node in filter(_inlined, fgraph.toposort()):
            fgraph.replace_all(list(zip(node.outputs, node.op.expanded(node.inputs))), reason="inline_ofg_expansion")
            total += 1
    return total


def drop_unused_outputs(fgraph):
    """Let ops from graphs compute only the outputs that are read, from the inputs that these need.

    A gradient op has an output for each input, also for inputs without a requested gradient.

    Returns
    -------
    int
        The number of replaced nodes.
    """
    if not any([isinstance(node.op, OpFromGraph) for node in fgraph.apply_nodes]):
        return 0
    total = 0
    for node in reversed(fgraph.toposort()):        # readers first: an output may be unused once they are reduced
        if not isinstance(node.op, OpFromGraph) or node not in fgraph.apply_nodes:
            continue
        wanted = tuple([position for position, output in enumerate(node.outputs) if fgraph.clients[output]])
        outputs = node.op.restricted(node.inputs, wanted)
        if outputs is not None:
            fgraph.replace_all([(node.outputs[position], new) for position, new in zip(wanted, outputs)],
                               reason="drop_unused_outputs")
            total += 1
    return total
