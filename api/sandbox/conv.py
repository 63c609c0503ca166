"""Theano's name ``sandbox.conv``, which is now ``tensor.nnet.conv``: names only."""
from phintys.tensor.nnet.conv import ConvOp, conv2d

__all__ = ["ConvOp", "conv2d"]
