"""Theano's ``compile.builders``: the op from a graph."""
from phintys.missing_names import lookup as _lookup
from phintys.ops.graphs.op_from_graph import OpFromGraph

__all__ = ["OpFromGraph"]
__getattr__ = _lookup(__name__)
