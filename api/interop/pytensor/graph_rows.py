"""Ops that hold a graph: the graph is translated instead of the op."""
from pytensor.compile.builders import OpFromGraph
from pytensor.ifelse import IfElse

from phintys import ifelse
from phintys.interop.pytensor.translation import row, translated


@row(OpFromGraph)
def _op_from_graph(op, node, *inputs):
    return translated(op.fgraph.outputs, dict(zip(op.fgraph.inputs, inputs)))


@row(IfElse)
def _ifelse(op, node, condition, *branches):
    found = ifelse.ifelse(condition, list(branches[:op.n_outs]), list(branches[op.n_outs:]))
    return found if isinstance(found, (list, tuple)) else [found]
