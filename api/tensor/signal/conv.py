"""Theano's name ``tensor.signal.conv`` for convolutions of single images: names only."""
from phintys.graph import public_names as _public_names
from phintys.ops.convolution.old_interface import signal_conv2d as conv2d

__all__ = ["conv2d"]
_public_names.adopt(globals())
