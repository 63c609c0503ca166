"""Functions of neural networks, ``phintys.tensor.nnet``: softmax, cross-entropies, activations, batch normalization,
convolutions.

Names only: each is defined in the file of its family under ``phintys.ops``. Convolutions are imported when a program
uses one.
"""
from importlib import import_module as _import_module

from phintys.graph import public_names as _public_names
from phintys.missing_names import unknown as _unknown
from phintys.tensor.nnet import bn, nnet, sigm
from phintys.tensor.nnet.bn import batch_normalization, batch_normalization_test, batch_normalization_train
from phintys.tensor.nnet.nnet import *  # noqa: F403
from phintys.tensor.nnet.sigm import *  # noqa: F403

_public_names.adopt(globals())

# Modules, and names of functions and classes: where they are, and their names there.
_MODULES = ("Conv3D", "ConvGrad3D", "ConvTransp3D", "abstract_conv", "blocksparse", "conv", "conv3d2d", "corr",
            "corr3d", "ctc", "neighbours")
_ON_DEMAND = {
    "ConvOp": ("phintys.tensor.nnet.conv", "ConvOp"),
    "abstract_conv2d": ("phintys.tensor.nnet.abstract_conv", "conv2d"),
    "causal_conv1d": ("phintys.tensor.nnet.abstract_conv", "causal_conv1d"),
    "conv2d": ("phintys.ops.convolution.functions", "conv2d_of_networks"),
    "conv2d_grad_wrt_inputs": ("phintys.tensor.nnet.abstract_conv", "conv2d_grad_wrt_inputs"),
    "conv2d_transpose": ("phintys.ops.convolution.functions", "conv2d_transpose"),
    "conv3D": ("phintys.tensor.nnet.Conv3D", "conv3D"),
    "convGrad3D": ("phintys.tensor.nnet.ConvGrad3D", "convGrad3D"),
    "convTransp3D": ("phintys.tensor.nnet.ConvTransp3D", "convTransp3D"),
    "conv3d": ("phintys.tensor.nnet.abstract_conv", "conv3d"),
    "separable_conv2d": ("phintys.tensor.nnet.abstract_conv", "separable_conv2d"),
}

__all__ = sorted({*nnet.__all__, *sigm.__all__, *_MODULES, *_ON_DEMAND, "batch_normalization",
                  "batch_normalization_test", "batch_normalization_train", "bn", "nnet", "sigm"})


def __getattr__(name):
    if name in _MODULES:
        return _import_module(f"phintys.tensor.nnet.{name}")
    if name not in _ON_DEMAND:
        raise _unknown(__name__, name)
    module, attribute = _ON_DEMAND[name]
    globals()[name] = getattr(_import_module(module), attribute)
    _public_names.adopt(globals())
    return globals()[name]


def __dir__():
    return __all__
