"""Theano's name ``ifelse`` for lazy branches: names only, everything is defined in ``phintys.ops.graphs.ifelse``."""
from phintys.ops.graphs.ifelse import IfElse, ifelse

__all__ = ["IfElse", "ifelse"]
