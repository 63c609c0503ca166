"""Ops from graphs: those that asked for it are replaced by their inner graphs, the others lose what nobody needs.

Both come before all tables: other rewrites see the inner graphs, and not what only unused outputs needed. Equal nodes
are merged in between, because together they may need more outputs than each of them.
"""
from phintys.ops.graphs.op_from_graph import OpFromGraph


def _inlined(node):
    return isinstance(node.op, OpFromGraph) and node.op.is_inline


def expand_inner_graphs(fgraph):
    """Put inner graphs in the place of the nodes of ``OpFromGraph(inline=True)``.

    Returns
    -------
    int
        How many nodes were replaced; what an inner graph brought in counts, too.
    """
    total = 0
    while any(map(_inlined, fgraph.apply_nodes)):
        for node in filter(_inlined, fgraph.toposort()):
            fgraph.replace_all(list(zip(node.outputs, node.op.expanded(node.inputs))), reason="inline_ofg_expansion")
            total += 1
    return total


def drop_unused_outputs(fgraph):
    """Let ops from graphs compute only the outputs that are read, from the inputs that these need.

    A gradient op has an output for each input, also for those nobody differentiates by.

    Returns
    -------
    int
        How many nodes were replaced.
    """
    if not any([isinstance(node.op, OpFromGraph) for node in fgraph.apply_nodes]):
        return 0
    total = 0
    for node in reversed(fgraph.toposort()):        # readers first: what they do not need, nobody may
        if not isinstance(node.op, OpFromGraph) or node not in fgraph.apply_nodes:
            continue
        wanted = tuple([position for position, output in enumerate(node.outputs) if fgraph.clients[output]])
        outputs = node.op.restricted(node.inputs, wanted)
        if outputs is not None:
            fgraph.replace_all([(node.outputs[position], new) for position, new in zip(wanted, outputs)],
                               reason="drop_unused_outputs")
            total += 1
    return total
