"""Theano's module ``ifelse`` for lazy branches: only names; everything is defined in ``phintys.ops.graphs.ifelse``."""
from phintys.graph import public_names as _public_names
from phintys.ops.graphs.ifelse import IfElse, ifelse

__all__ = ["IfElse", "ifelse"]
_public_names.adopt(globals())
