"""Theano's name ``tensor.nnet.conv`` for the old interface of convolutions: names only."""
from phintys.graph import public_names as _public_names
from phintys.ops.convolution.old_interface import ConvOp, conv2d
from phintys.ops.convolution.shapes import get_conv_output_shape, get_conv_shape_1axis

imported_scipy_signal = True        # whether Theano could convolve in Python; kernels are always there

__all__ = ["ConvOp", "conv2d", "get_conv_output_shape", "get_conv_shape_1axis", "imported_scipy_signal"]
_public_names.adopt(globals())
