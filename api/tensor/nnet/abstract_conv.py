"""Theano's name ``tensor.nnet.abstract_conv`` for convolutions, their ops, shapes and upsampling: names only."""
from phintys.graph import public_names as _public_names
from phintys.ops.convolution.convolution import (
    AbstractConv,
    AbstractConv2d,
    AbstractConv2d_gradInputs,
    AbstractConv2d_gradWeights,
    AbstractConv3d,
    AbstractConv3d_gradInputs,
    AbstractConv3d_gradWeights,
    AbstractConv_gradInputs,
    AbstractConv_gradWeights,
    BaseAbstractConv,
)
from phintys.ops.convolution.functions import (
    causal_conv1d,
    conv2d,
    conv2d_grad_wrt_inputs,
    conv2d_grad_wrt_weights,
    conv3d,
    conv3d_grad_wrt_inputs,
    conv3d_grad_wrt_weights,
    separable_conv2d,
    separable_conv3d,
)
from phintys.ops.convolution.shapes import (
    assert_conv_shape,
    assert_shape,
    border_mode_to_pad,
    check_conv_gradinputs_shape,
    get_conv_gradinputs_shape,
    get_conv_gradinputs_shape_1axis,
    get_conv_gradweights_shape,
    get_conv_gradweights_shape_1axis,
    get_conv_output_shape,
    get_conv_shape_1axis,
)
from phintys.ops.convolution.upsampling import (
    bilinear_kernel_1D,
    bilinear_kernel_2D,
    bilinear_upsampling,
    frac_bilinear_upsampling,
)

imported_scipy_signal = True        # whether Theano could convolve in Python; kernels are always there

__all__ = ["AbstractConv", "AbstractConv2d", "AbstractConv2d_gradInputs", "AbstractConv2d_gradWeights",
           "AbstractConv3d", "AbstractConv3d_gradInputs", "AbstractConv3d_gradWeights", "AbstractConv_gradInputs",
           "AbstractConv_gradWeights", "BaseAbstractConv", "assert_conv_shape", "assert_shape", "bilinear_kernel_1D",
           "bilinear_kernel_2D", "bilinear_upsampling", "border_mode_to_pad", "causal_conv1d",
           "check_conv_gradinputs_shape", "conv2d", "conv2d_grad_wrt_inputs", "conv2d_grad_wrt_weights", "conv3d",
           "conv3d_grad_wrt_inputs", "conv3d_grad_wrt_weights", "frac_bilinear_upsampling", "get_conv_gradinputs_shape",
           "get_conv_gradinputs_shape_1axis", "get_conv_gradweights_shape", "get_conv_gradweights_shape_1axis",
           "get_conv_output_shape", "get_conv_shape_1axis", "imported_scipy_signal", "separable_conv2d",
           "separable_conv3d"]
_public_names.adopt(globals())
