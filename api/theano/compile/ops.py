"""Theano's ``compile.ops``: names of ops that are defined elsewhere."""
from phintys.graph.gradients.view_op import ViewOp
from phintys.ops.graphs.as_op import FromFunctionOp, as_op
from phintys.ops.identity.deep_copy import DeepCopyOp, deep_copy_op
from phintys.ops.shape.shape import Rebroadcast, Shape, Shape_i, SpecifyShape, shape, shape_i, specify_shape

view_op = ViewOp()

__all__ = ["DeepCopyOp", "FromFunctionOp", "Rebroadcast", "Shape", "Shape_i", "SpecifyShape", "ViewOp", "as_op",
           "deep_copy_op", "shape", "shape_i", "specify_shape", "view_op"]
