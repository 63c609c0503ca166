"""NumPy's name ``linalg``: what ``numpy.linalg`` has for symbolic tensors. Names only."""
from phintys.not_yet import lookup
from phintys.ops.numpy_functions import norm

__all__ = ["norm"]
__getattr__ = lookup(__name__)
