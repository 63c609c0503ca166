"""Theano's name ``tensor.nnet.neighbours``: patches of images as the rows of a matrix. Names only."""
from phintys.graph import public_names as _public_names
from phintys.missing_names import lookup
from phintys.ops.pooling.neighbours import Images2Neibs, images2neibs, neibs2images

__all__ = ["Images2Neibs", "images2neibs", "neibs2images"]
_public_names.adopt(globals())
__getattr__ = lookup(__name__)
