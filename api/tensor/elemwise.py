"""Theano's name ``tensor.elemwise`` for ``Elemwise``, ``DimShuffle`` and the reductions: names only."""
from phintys.missing_names import lookup as _lookup
from phintys.ops.cumulative.product import Prod, ProdWithoutZeros
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.reduction.reduction import All, Any, CAReduce, CAReduceDtype, Sum
from phintys.ops.shape.dimshuffle import DimShuffle

__all__ = ["All", "Any", "CAReduce", "CAReduceDtype", "DimShuffle", "Elemwise", "Prod", "ProdWithoutZeros", "Sum"]
__getattr__ = _lookup(__name__)
