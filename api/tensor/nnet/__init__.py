"""Functions of neural networks, ``phintys.tensor.nnet``: softmax, cross-entropies, activations, batch normalization.

Names only: each is defined in the file of its family under ``phintys.ops``.
"""
from phintys.graph import public_names as _public_names
from phintys.not_yet import lookup
from phintys.tensor.nnet import bn, nnet, sigm
from phintys.tensor.nnet.bn import batch_normalization, batch_normalization_test, batch_normalization_train
from phintys.tensor.nnet.nnet import *  # noqa: F403
from phintys.tensor.nnet.sigm import *  # noqa: F403

__all__ = sorted({*nnet.__all__, *sigm.__all__, "batch_normalization", "batch_normalization_test",
                  "batch_normalization_train", "bn", "nnet", "sigm"})
_public_names.adopt(globals())
__getattr__ = lookup(__name__)
