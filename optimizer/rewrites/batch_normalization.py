"""Batch normalization by the native ops, in every mode, without unused outputs.

It runs late, when the readers that other rewrites remove no longer exist.
"""
from phintys.optimizer.engine.database import FAST_COMPILE, FAST_RUN, Rewrite


def by_native_op(fgraph, node):
    """Replace an ``Abstract...`` op by the native one."""
    return node.op.native_outputs(node, [bool(fgraph.clients[output]) for output in node.outputs])


REWRITES = [
    Rewrite("local_abstract_batch_norm_train", ("AbstractBatchNormTrain",), by_native_op, (FAST_RUN, FAST_COMPILE)),
    Rewrite("local_abstract_batch_norm_train_grad", ("AbstractBatchNormTrainGrad",), by_native_op,
            (FAST_RUN, FAST_COMPILE)),
    Rewrite("local_abstract_batch_norm_inference", ("AbstractBatchNormInference",), by_native_op,
            (FAST_RUN, FAST_COMPILE)),
]
