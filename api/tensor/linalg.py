"""NumPy's name ``linalg``: what ``numpy.linalg`` has for symbolic tensors. Names only."""
from phintys.graph import public_names as _public_names
from phintys.not_yet import lookup
from phintys.ops.numpy_functions import norm

__all__ = ["norm"]
_public_names.adopt(globals())
__getattr__ = lookup(__name__)
