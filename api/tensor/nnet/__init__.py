"""Functions of neural networks, ``phintys.tensor.nnet``: softmax, cross-entropies, activations, batch normalization.

Names only: each is defined in the file of its family under ``phintys.ops``.
"""
from phintys.tensor.nnet import bn, nnet, sigm
from phintys.tensor.nnet.bn import batch_normalization, batch_normalization_test, batch_normalization_train
from phintys.tensor.nnet.nnet import *  # noqa: F403
from phintys.tensor.nnet.sigm import (
    hard_sigmoid, scalar_sigmoid, sigmoid, sigmoid_inplace, softplus, ultra_fast_sigmoid)

__all__ = [*nnet.__all__, "batch_normalization", "batch_normalization_test", "batch_normalization_train", "bn",
           "hard_sigmoid", "nnet", "scalar_sigmoid", "sigm", "sigmoid", "sigmoid_inplace", "softplus",
           "ultra_fast_sigmoid"]
