"""Theano's name ``tensor.elemwise`` for ``Elemwise``, ``DimShuffle`` and the reductions: names only."""
from phintys.ops.shape.dimshuffle import DimShuffle
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.cumulative.product import Prod, ProdWithoutZeros
from phintys.ops.reduction.reduction import All, Any, CAReduce, CAReduceDtype, Sum

__all__ = ["All", "Any", "CAReduce", "CAReduceDtype", "DimShuffle", "Elemwise", "Prod", "ProdWithoutZeros", "Sum"]
