"""Theano's name ``tensor.nlinalg`` for linear algebra on matrices: names only."""
from phintys.not_yet import lookup
from phintys.ops.linalg.diagonal import AllocDiag, ExtractDiag, diag, trace
from phintys.ops.numpy_functions import norm

alloc_diag, extract_diag = AllocDiag(), ExtractDiag()

__all__ = ["AllocDiag", "ExtractDiag", "alloc_diag", "diag", "extract_diag", "norm", "trace"]
__getattr__ = lookup(__name__)
