"""Draw fusion: a sample and its only elementwise reader become one `DrawnElemwise`, which does not store the sample.

It runs after elementwise fusion, so the reader is a whole group: dropout draws, compares and multiplies in one pass.
"""
from phintys.graph.lazy_regions import known_regions
from phintys.graph.trace import joined
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.random.draw import Draw
from phintys.ops.random.drawn_elemwise import DRAWN, DrawnElemwise


def fuse_draws(fgraph):
    """Fuse draws with their readers in place; return how many."""
    draws = [node for node in fgraph.toposort() if type(node.op) is Draw and node.op.name in DRAWN]
    if not draws:
        return 0
    regions = known_regions(fgraph)
    region = {} if regions is None else {node: found.number for node, found in regions.of.items()}
    return sum([_fuse(fgraph, node, region) for node in draws])


def _fuse(fgraph, node, region):
    """Fuse a draw with its reader, if it has only one.

    Other nodes must not read the new state, because the reader might need their results."""
    state, sample = node.outputs
    clients = fgraph.clients[sample]
    if len(clients) != 1 or any([reader != "output" for reader, _ in fgraph.clients[state]]):
        return 0
    reader, operand = clients[0]
    if reader == "output":
        return 0
    if (type(reader.op) is not Elemwise or region.get(node, 0) != region.get(reader, 0)
            or sample.type.broadcastable != reader.outputs[0].type.broadcastable):
        return 0
    op = DrawnElemwise(node.op, len(node.inputs) - 2, reader.op.scalar_op, operand, sample.type.broadcastable)
    others = [variable for position, variable in enumerate(reader.inputs) if position != operand]
    new_state, *results = op(*node.inputs, *others, return_list=True)
    if any([new.type != old.type for new, old in zip(results, reader.outputs)]):
        return 0
    new_state.owner._position = joined([reader._position, node._position])
    for new, old in zip([new_state, *results], [state, *reader.outputs]):
        new.name = old.name
        fgraph.replace(old, new, reason="draw_fusion")
    return 1
