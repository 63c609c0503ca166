"""Theano's name ``ifelse`` for lazy branches: names only, everything is defined in ``phintys.ops.ifelse``."""
from phintys.ops.ifelse import IfElse, ifelse

__all__ = ["IfElse", "ifelse"]
