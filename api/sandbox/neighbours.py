"""Theano's name ``sandbox.neighbours``, the first home of ``tensor.nnet.neighbours``. Names only."""
from phintys.not_yet import lookup
from phintys.ops.pooling.neighbours import Images2Neibs, images2neibs, neibs2images

__all__ = ["Images2Neibs", "images2neibs", "neibs2images"]
__getattr__ = lookup(__name__)
