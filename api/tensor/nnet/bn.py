"""Theano's name ``tensor.nnet.bn`` for batch normalization: names only."""
from phintys.ops.nnet.batch_normalization import (
    AbstractBatchNormInference,
    AbstractBatchNormTrain,
    AbstractBatchNormTrainGrad,
    BNComposite,
    batch_normalization,
    batch_normalization_test,
    batch_normalization_train,
)

__all__ = ["AbstractBatchNormInference", "AbstractBatchNormTrain", "AbstractBatchNormTrainGrad", "BNComposite",
           "batch_normalization", "batch_normalization_test", "batch_normalization_train"]
