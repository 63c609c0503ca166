"""Theano's name ``tensor.sort`` for sorting; ``tensor.sort`` itself is the function. Names only."""
from phintys.missing_names import lookup
from phintys.ops.sorting.partitioning import argpartition, partition
from phintys.ops.sorting.sorting import ArgSortOp, SortOp, argsort, sort
from phintys.ops.sorting.topk import TopKOp, argtopk, topk, topk_and_argtopk

__all__ = ["ArgSortOp", "SortOp", "TopKOp", "argpartition", "argsort", "argtopk", "partition", "sort", "topk",
           "topk_and_argtopk"]
__getattr__ = lookup(__name__)
