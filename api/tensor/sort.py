"""Theano's name ``tensor.sort`` for sorting; ``tensor.sort`` itself is the function. Names only."""
from phintys.not_yet import lookup
from phintys.ops.sorting.sorting import ArgSortOp, SortOp, argsort, sort

__all__ = ["ArgSortOp", "SortOp", "argsort", "sort"]
__getattr__ = lookup(__name__)
