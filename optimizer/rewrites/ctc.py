"""Connectionist temporal classification without gradients, where nothing reads them."""
from phintys.optimizer.engine.database import FAST_COMPILE, FAST_RUN, Rewrite


def without_gradients(fgraph, node):
    """The op that computes only the costs."""
    if not node.op.compute_grad or fgraph.clients[node.outputs[1]]:
        return None
    return [type(node.op)(compute_grad=False)(*node.inputs), None]


REWRITES = [Rewrite("local_ctc_no_grad", ("ConnectionistTemporalClassification",), without_gradients,
                    (FAST_RUN, FAST_COMPILE))]
