"""Theano's name ``tensor.nnet.bn`` for batch normalization: names only."""
from phintys.graph import public_names as _public_names
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
_public_names.adopt(globals())
