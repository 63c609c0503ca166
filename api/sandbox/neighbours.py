"""Theano's name ``sandbox.neighbours``, the first home of ``tensor.nnet.neighbours``. Names only."""
from phintys.missing_names import lookup
from phintys.ops.pooling.neighbours import Images2Neibs, images2neibs, neibs2images

__all__ = ["Images2Neibs", "images2neibs", "neibs2images"]
__getattr__ = lookup(__name__)
