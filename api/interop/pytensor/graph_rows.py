"""Ops that hold a graph: the graph is translated instead of the op."""
from phintys.interop.pytensor.translation import row, translated
from phintys.ops.graphs.ifelse import ifelse

row("compile.OpFromGraph")(lambda op, node, *inputs: translated(op.fgraph.outputs, dict(zip(op.fgraph.inputs, inputs))))


@row("compile.IfElse")
def _ifelse(op, node, condition, *branches):
    found = ifelse(condition, list(branches[:op.n_outs]), list(branches[op.n_outs:]))
    return found if isinstance(found, (list, tuple)) else [found]


@row("compile.LazyIfElse")
def _lazy_ifelse(op, node, condition, *inputs):
    then, otherwise = [translated(branch.fgraph.outputs, dict(zip(branch.fgraph.inputs, inputs)))
                       for branch in (op.true_branch, op.false_branch)]
    found = ifelse(condition, then, otherwise)
    return found if isinstance(found, (list, tuple)) else [found]
