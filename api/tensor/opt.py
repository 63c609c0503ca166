"""Theano's name ``tensor.opt`` for ops that its rewrites use and that programs take from there: names only."""
from phintys.ops.assertion import Assert, assert_, assert_op
from phintys.ops.join import MakeVector, make_vector
from phintys.ops.shape import Rebroadcast, Shape, Shape_i, shape_i

__all__ = ["Assert", "MakeVector", "Rebroadcast", "Shape", "Shape_i", "assert_", "assert_op", "make_vector", "shape_i"]
