"""Functions of neural networks, ``phintys.tensor.nnet``: softmax, cross-entropies, activations, batch normalization,
convolutions.

Names only: each is defined in the file of its family under ``phintys.ops``. Those that need other families, such as
convolutions and loops, are imported when a program uses one.
"""
from importlib import import_module as _import_module

from phintys.graph import public_names as _public_names
from phintys.ops.elementwise.elementwise_functions import sigmoid, softplus
from phintys.ops.elementwise.scalar import (
    ScalarSigmoid,
    ScalarSoftplus,
    ScalarSoftsign,
    UltraFastScalarSigmoid,
    scalar_softsign,
)
from phintys.ops.elementwise.scalar import sigmoid as scalar_sigmoid
from phintys.ops.elementwise.scalar import softplus as scalar_softplus
from phintys.ops.elementwise.scalar import ultra_fast_sigmoid as ultra_fast_scalar_sigmoid
from phintys.ops.nnet.activations import *  # noqa: F403
from phintys.ops.nnet.activations import sigmoid_inplace, ultra_fast_sigmoid_inplace
from phintys.ops.nnet.crossentropy import *  # noqa: F403
from phintys.ops.nnet.losses import *  # noqa: F403
from phintys.ops.nnet.prepend import *  # noqa: F403
from phintys.ops.nnet.softmax import *  # noqa: F403
from phintys.theano_finder import lookup as _lookup

_names = [name for name in globals() if not name.startswith("_")]

# Theano's modules, and names of functions and classes: where they are, and their names there.
_MODULES = ("Conv3D", "ConvGrad3D", "ConvTransp3D", "abstract_conv", "blocksparse", "bn", "conv", "conv3d2d", "corr",
            "corr3d", "ctc", "neighbours", "nnet", "sigm")
_ON_DEMAND = {
    "ConvOp": ("phintys.ops.convolution.old_interface", "ConvOp"),
    "abstract_conv2d": ("phintys.ops.convolution.functions", "conv2d"),
    "batch_normalization": ("phintys.ops.nnet.batch_normalization", "batch_normalization"),
    "batch_normalization_test": ("phintys.ops.nnet.batch_normalization", "batch_normalization_test"),
    "batch_normalization_train": ("phintys.ops.nnet.batch_normalization", "batch_normalization_train"),
    "causal_conv1d": ("phintys.ops.convolution.functions", "causal_conv1d"),
    "confusion_matrix": ("phintys.ops.nnet.classification", "confusion_matrix"),
    "conv2d": ("phintys.ops.convolution.functions", "conv2d_of_networks"),
    "conv2d_grad_wrt_inputs": ("phintys.ops.convolution.functions", "conv2d_grad_wrt_inputs"),
    "conv2d_transpose": ("phintys.ops.convolution.functions", "conv2d_transpose"),
    "conv3D": ("phintys.ops.convolution.volumes_by_channel_last", "conv3D"),
    "convGrad3D": ("phintys.ops.convolution.volumes_by_channel_last", "convGrad3D"),
    "convTransp3D": ("phintys.ops.convolution.volumes_by_channel_last", "convTransp3D"),
    "conv3d": ("phintys.ops.convolution.functions", "conv3d"),
    "h_softmax": ("phintys.ops.nnet.classification", "h_softmax"),
    "multiclass_hinge_loss": ("phintys.ops.nnet.classification", "multiclass_hinge_loss"),
    "scaled_dot_product_attention": ("phintys.ops.compositions.attention", "scaled_dot_product_attention"),
    "separable_conv2d": ("phintys.ops.convolution.functions", "separable_conv2d"),
}

__all__ = sorted({*_names, *_MODULES, *_ON_DEMAND})
_public_names.adopt(globals())
_unknown = _lookup(__name__)


def __getattr__(name):
    if name in _MODULES:
        return _import_module(f"phintys.tensor.nnet.{name}")
    if name not in _ON_DEMAND:
        return _unknown(name)
    module, attribute = _ON_DEMAND[name]
    globals()[name] = getattr(_import_module(module), attribute)
    _public_names.adopt(globals())
    return globals()[name]


def __dir__():
    return __all__
