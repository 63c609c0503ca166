"""Batch normalization as the reductions and elementwise ops it stands for, in every mode."""
from phintys.optimizer.database import FAST_COMPILE, FAST_RUN, Rewrite


def by_formula(fgraph, node):
    """The op's own formula."""
    return node.op.replacement(node)


REWRITES = [
    Rewrite("local_abstract_batch_norm_train", ("AbstractBatchNormTrain",), by_formula, (FAST_RUN, FAST_COMPILE)),
    Rewrite("local_abstract_batch_norm_train_grad", ("AbstractBatchNormTrainGrad",), by_formula,
            (FAST_RUN, FAST_COMPILE)),
    Rewrite("local_abstract_batch_norm_inference", ("AbstractBatchNormInference",), by_formula,
            (FAST_RUN, FAST_COMPILE)),
]
