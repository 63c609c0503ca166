"""Batch normalization by the native ops, in every mode, and connectionist temporal classification, without unused
outputs.

It runs late, when the readers that other rewrites remove no longer exist.
"""
from phintys.optimizer.engine.database import FAST_COMPILE, FAST_RUN, Rewrite


def by_native_op(fgraph, node):
    """Replace an ``Abstract...`` op by the native one."""
    return node.op.native_outputs(node, [bool(fgraph.clients[output]) for output in node.outputs])


def without_gradients(fgraph, node):
    """The op that computes only the costs."""
    if not node.op.compute_grad or fgraph.clients[node.outputs[1]]:
        return None
    return [type(node.op)(compute_grad=False)(*node.inputs), None]


REWRITES = [
    Rewrite("local_abstract_batch_norm_train", ("AbstractBatchNormTrain",), by_native_op, (FAST_RUN, FAST_COMPILE)),
    Rewrite("local_abstract_batch_norm_train_grad", ("AbstractBatchNormTrainGrad",), by_native_op,
            (FAST_RUN, FAST_COMPILE)),
    Rewrite("local_abstract_batch_norm_inference", ("AbstractBatchNormInference",), by_native_op,
            (FAST_RUN, FAST_COMPILE)),
]
CTC = [Rewrite("local_ctc_no_grad", ("ConnectionistTemporalClassification",), without_gradients,
               (FAST_RUN, FAST_COMPILE))]
