"""Theano's ``compile.builders``: the op from a graph."""
from phintys.ops.graphs.op_from_graph import OpFromGraph

__all__ = ["OpFromGraph"]
