"""Theano's module ``sparse.opt``: variants of ops for one format, or in C.

Here the ops themselves work with both formats, so these names are other names of the ops."""
from phintys.missing_names import lookup as _lookup
from phintys.ops.sparse.arithmetic import AddSD as AddSD_ccode
from phintys.ops.sparse.arithmetic import MulSD as MulSDCSC
from phintys.ops.sparse.arithmetic import MulSD as MulSDCSR
from phintys.ops.sparse.arithmetic import MulSV as MulSVCSR
from phintys.ops.sparse.arithmetic import StructuredAddSV as StructuredAddSVCSR
from phintys.ops.sparse.compressed import CSMGrad as CSMGradC
from phintys.ops.sparse.products import SamplingDot as SamplingDotCSR
from phintys.ops.sparse.products import StructuredDot as StructuredDotCSC
from phintys.ops.sparse.products import StructuredDot as StructuredDotCSR
from phintys.ops.sparse.products import Usmm as UsmmCscDense

__all__ = ["AddSD_ccode", "CSMGradC", "MulSDCSC", "MulSDCSR", "MulSVCSR", "SamplingDotCSR", "StructuredAddSVCSR",
           "StructuredDotCSC", "StructuredDotCSR", "UsmmCscDense"]
__getattr__ = _lookup(__name__)
