"""Functions of neural networks, ``phintys.tensor.nnet``: softmax, cross-entropies, activations, batch normalization,
convolutions.

Names only: each is defined in the file of its family under ``phintys.ops``.
"""
from importlib import import_module as _import_module

from phintys.graph import public_names as _public_names
from phintys.not_yet import unknown as _unknown
from phintys.ops.convolution.functions import conv2d_of_networks as conv2d
from phintys.ops.convolution.functions import conv2d_transpose
from phintys.tensor.nnet import abstract_conv, bn, conv, conv3d2d, corr, corr3d, nnet, sigm
from phintys.tensor.nnet.abstract_conv import conv2d as abstract_conv2d
from phintys.tensor.nnet.abstract_conv import conv2d_grad_wrt_inputs, conv3d, separable_conv2d
from phintys.tensor.nnet.bn import batch_normalization, batch_normalization_test, batch_normalization_train
from phintys.tensor.nnet.conv import ConvOp
from phintys.tensor.nnet.nnet import *  # noqa: F403
from phintys.tensor.nnet.sigm import *  # noqa: F403

__all__ = sorted({*nnet.__all__, *sigm.__all__, "ConvOp", "abstract_conv", "abstract_conv2d", "batch_normalization",
                  "batch_normalization_test", "batch_normalization_train", "bn", "conv", "conv2d",
                  "conv2d_grad_wrt_inputs", "conv2d_transpose", "conv3d", "conv3d2d", "corr", "corr3d", "nnet",
                  "separable_conv2d", "sigm"})
_public_names.adopt(globals())

_ON_DEMAND = ("blocksparse", "ctc", "neighbours")
__all__ += _ON_DEMAND


def __getattr__(name):
    if name not in _ON_DEMAND:
        raise _unknown(__name__, name)
    return _import_module(f"phintys.tensor.nnet.{name}")


def __dir__():
    return __all__
