"""Written by docs/write_stubs.py."""
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any as _Any

from numpy.typing import DTypeLike

from phintys.ops.convolution.old_interface import ConvOp as ConvOp
from phintys.ops.nnet.crossentropy import CrossentropyCategorical1Hot as CrossentropyCategorical1Hot
from phintys.ops.nnet.crossentropy import CrossentropyCategorical1HotGrad as CrossentropyCategorical1HotGrad
from phintys.ops.nnet.crossentropy import CrossentropySoftmax1HotWithBiasDx as CrossentropySoftmax1HotWithBiasDx
from phintys.ops.nnet.crossentropy import CrossentropySoftmaxArgmax1HotWithBias as CrossentropySoftmaxArgmax1HotWithBias
from phintys.ops.nnet.prepend import Prepend_scalar_constant_to_each_row as Prepend_scalar_constant_to_each_row
from phintys.ops.nnet.prepend import Prepend_scalar_to_each_row as Prepend_scalar_to_each_row
from phintys.ops.nnet.softmax import LogSoftmax as LogSoftmax
from phintys.ops.nnet.softmax import Softmax as Softmax
from phintys.ops.nnet.softmax import SoftmaxGrad as SoftmaxGrad
from phintys.ops.nnet.softmax import SoftmaxWithBias as SoftmaxWithBias
from phintys.tensor.nnet import Conv3D as Conv3D
from phintys.tensor.nnet import ConvGrad3D as ConvGrad3D
from phintys.tensor.nnet import ConvTransp3D as ConvTransp3D
from phintys.tensor.nnet import abstract_conv as abstract_conv
from phintys.tensor.nnet import blocksparse as blocksparse
from phintys.tensor.nnet import bn as bn
from phintys.tensor.nnet import conv as conv
from phintys.tensor.nnet import conv3d2d as conv3d2d
from phintys.tensor.nnet import corr as corr
from phintys.tensor.nnet import corr3d as corr3d
from phintys.tensor.nnet import ctc as ctc
from phintys.tensor.nnet import neighbours as neighbours
from phintys.tensor.nnet import nnet as nnet
from phintys.tensor.nnet import sigm as sigm
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.graph.op import Op
from phintys.ops.types.tensor_type import TensorType
from phintys.ops.operators import TensorVariable
from phintys.graph.variable import Variable
from phintys.ops.operators import _Axis, _OfMany, _OfOne, _OfThree, _OfTwo, _Shape, _TensorLike

__all__ = [
    "Conv3D",
    "ConvGrad3D",
    "ConvOp",
    "ConvTransp3D",
    "CrossentropyCategorical1Hot",
    "CrossentropyCategorical1HotGrad",
    "CrossentropySoftmax1HotWithBiasDx",
    "CrossentropySoftmaxArgmax1HotWithBias",
    "LogSoftmax",
    "Prepend_scalar_constant_to_each_row",
    "Prepend_scalar_to_each_row",
    "ScalarSigmoid",
    "ScalarSoftplus",
    "ScalarSoftsign",
    "Softmax",
    "SoftmaxGrad",
    "SoftmaxWithBias",
    "UltraFastScalarSigmoid",
    "abstract_conv",
    "abstract_conv2d",
    "batch_normalization",
    "batch_normalization_test",
    "batch_normalization_train",
    "binary_crossentropy",
    "blocksparse",
    "bn",
    "categorical_crossentropy",
    "causal_conv1d",
    "confusion_matrix",
    "conv",
    "conv2d",
    "conv2d_grad_wrt_inputs",
    "conv2d_transpose",
    "conv3D",
    "conv3d",
    "conv3d2d",
    "convGrad3D",
    "convTransp3D",
    "corr",
    "corr3d",
    "crossentropy_categorical_1hot",
    "crossentropy_categorical_1hot_grad",
    "crossentropy_softmax_1hot",
    "crossentropy_softmax_1hot_with_bias",
    "crossentropy_softmax_1hot_with_bias_dx",
    "crossentropy_softmax_argmax_1hot_with_bias",
    "crossentropy_softmax_max_and_argmax_1hot",
    "crossentropy_softmax_max_and_argmax_1hot_with_bias",
    "ctc",
    "elu",
    "group_norm",
    "h_softmax",
    "hard_sigmoid",
    "huber_loss",
    "layer_norm",
    "log_ndtr",
    "logsoftmax",
    "logsoftmax_op",
    "multiclass_hinge_loss",
    "ndtri",
    "neighbours",
    "nll_loss",
    "nnet",
    "prepend_0_to_each_row",
    "prepend_1_to_each_row",
    "prepend_scalar_to_each_row",
    "relu",
    "scalar_sigmoid",
    "scalar_softplus",
    "scalar_softsign",
    "scaled_dot_product_attention",
    "selu",
    "separable_conv2d",
    "sigm",
    "sigmoid",
    "sigmoid_binary_crossentropy",
    "sigmoid_inplace",
    "softmax",
    "softmax_grad",
    "softmax_graph",
    "softmax_op",
    "softmax_with_bias",
    "softplus",
    "softsign",
    "ultra_fast_scalar_sigmoid",
    "ultra_fast_sigmoid",
    "ultra_fast_sigmoid_inplace",
]

ScalarSigmoid: type[Op]
ScalarSoftplus: type[Op]
ScalarSoftsign: type[Op]
UltraFastScalarSigmoid: type[Op]
def abstract_conv2d(input: _TensorLike, filters: _Any, input_shape: _Any = None, filter_shape: _Any = None,
                    border_mode: str = 'valid', subsample: _Any = (1, 1), filter_flip: bool = True,
                    filter_dilation: _Any = (1, 1), num_groups: int | Variable = 1, unshared: bool = False
                    ) -> TensorVariable: ...
def batch_normalization(inputs: _Any, gamma: _Any, beta: _Any, mean: _Any, std: _Any, mode: str = 'low_mem'
                        ) -> TensorVariable: ...
def batch_normalization_test(inputs: _Any, gamma: _Any, beta: _Any, mean: _Any, var: _Any,
                             axes: _Any = 'per-activation', epsilon: float = 0.0001) -> TensorVariable: ...
def batch_normalization_train(inputs: _Any, gamma: _Any, beta: _Any, axes: _Any = 'per-activation',
                              epsilon: float = 0.0001, running_average_factor: float = 0.1,
                              running_mean: _Any = None, running_var: _Any = None) -> _Any: ...
def binary_crossentropy(output: _Any, target: _Any) -> TensorVariable: ...
def categorical_crossentropy(coding_dist: _Any, true_dist: _Any) -> TensorVariable: ...
def causal_conv1d(input: _TensorLike, filters: _Any, filter_shape: _Any, input_shape: _Any = None,
                  subsample: int | Variable = 1, filter_flip: bool = True, filter_dilation: int | Variable = 1,
                  num_groups: int | Variable = 1, unshared: bool = False) -> TensorVariable: ...
def confusion_matrix(actual: _Any, pred: _Any) -> list[TensorVariable]: ...
def conv2d(input: _TensorLike, filters: _Any, input_shape: _Any = None, filter_shape: _Any = None,
           border_mode: str = 'valid', subsample: _Any = (1, 1), filter_flip: bool = True,
           image_shape: _Any = None, filter_dilation: _Any = (1, 1), num_groups: int | Variable = 1,
           unshared: bool = False, **kwargs: _Any) -> TensorVariable: ...
def conv2d_grad_wrt_inputs(output_grad: _Any, filters: _Any, input_shape: _Any, filter_shape: _Any = None,
                           border_mode: str = 'valid', subsample: _Any = (1, 1), filter_flip: bool = True,
                           filter_dilation: _Any = (1, 1), num_groups: int | Variable = 1, unshared: bool = False
                           ) -> TensorVariable: ...
def conv2d_transpose(input: _TensorLike, filters: _Any, output_shape: _Any, filter_shape: _Any = None,
                     border_mode: str = 'valid', input_dilation: _Any = (1, 1), filter_flip: bool = True,
                     filter_dilation: _Any = (1, 1), num_groups: int | Variable = 1, unshared: bool = False
                     ) -> TensorVariable: ...
def conv3D(V: _Any, W: _Any, b: _TensorLike, d: _Any) -> TensorVariable: ...
def conv3d(input: _TensorLike, filters: _Any, input_shape: _Any = None, filter_shape: _Any = None,
           border_mode: str = 'valid', subsample: _Any = (1, 1, 1), filter_flip: bool = True,
           filter_dilation: _Any = (1, 1, 1), num_groups: int | Variable = 1) -> TensorVariable: ...
def convGrad3D(V: _Any, d: _Any, WShape: _Any, dCdH: _Any) -> TensorVariable: ...
def convTransp3D(W: _Any, b: _TensorLike, d: _Any, H: _Any, RShape: _Any = None) -> TensorVariable: ...
crossentropy_categorical_1hot: CrossentropyCategorical1Hot
crossentropy_categorical_1hot_grad: CrossentropyCategorical1HotGrad
def crossentropy_softmax_1hot(x: _TensorLike, y_idx: _Any) -> list[TensorVariable]: ...
def crossentropy_softmax_1hot_with_bias(x: _TensorLike, b: _TensorLike, y_idx: _Any) -> list[TensorVariable]: ...
crossentropy_softmax_1hot_with_bias_dx: CrossentropySoftmax1HotWithBiasDx
crossentropy_softmax_argmax_1hot_with_bias: CrossentropySoftmaxArgmax1HotWithBias
def crossentropy_softmax_max_and_argmax_1hot(x: _TensorLike, y_idx: _Any) -> _Any: ...
def crossentropy_softmax_max_and_argmax_1hot_with_bias(x: _TensorLike, b: _TensorLike, y_idx: _Any) -> _Any: ...
def elu(x: _TensorLike, alpha: int | Variable = 1) -> TensorVariable: ...
def group_norm(x: _TensorLike, groups: _Any, gamma: _Any = None, beta: _Any = None, epsilon: float = 1e-05
               ) -> TensorVariable: ...
def h_softmax(x: _TensorLike, batch_size: _Any, n_outputs: _Any, n_classes: _Any, n_outputs_per_class: _Any,
              W1: _Any, b1: _Any, W2: _Any, b2: _Any, target: _Any = None) -> TensorVariable: ...
def hard_sigmoid(x: _TensorLike) -> TensorVariable: ...
def huber_loss(output: _Any, target: _Any, delta: float = 1.0) -> TensorVariable: ...
def layer_norm(x: _TensorLike, gamma: _Any = None, beta: _Any = None, axis: _Axis = -1, epsilon: float = 1e-05
               ) -> TensorVariable: ...
def log_ndtr(x: _TensorLike) -> TensorVariable: ...
def logsoftmax(c: _TensorLike) -> TensorVariable: ...
logsoftmax_op: LogSoftmax
def multiclass_hinge_loss(predictions: _Any, targets: _Any, delta: int | Variable = 1) -> TensorVariable: ...
def ndtri(p: _Any) -> TensorVariable: ...
def nll_loss(logits: _Any, labels: _Any, weights: _TensorLike | None = None, label_smoothing: float = 0.0
             ) -> TensorVariable: ...
prepend_0_to_each_row: Prepend_scalar_constant_to_each_row
prepend_1_to_each_row: Prepend_scalar_constant_to_each_row
prepend_scalar_to_each_row: Prepend_scalar_to_each_row
def relu(x: _TensorLike, alpha: _TensorLike = 0) -> TensorVariable: ...
scalar_sigmoid: Op
scalar_softplus: Op
scalar_softsign: Op
def scaled_dot_product_attention(query: _Any, key: _Any, value: _TensorLike, mask: _Any = None,
                                 is_causal: bool = False, scale: _Any = None) -> TensorVariable: ...
def selu(x: _TensorLike) -> TensorVariable: ...
def separable_conv2d(input: _TensorLike, depthwise_filters: _Any, pointwise_filters: _Any, num_channels: _Any,
                     input_shape: _Any = None, depthwise_filter_shape: _Any = None,
                     pointwise_filter_shape: _Any = None, border_mode: str = 'valid', subsample: _Any = (1, 1),
                     filter_flip: bool = True, filter_dilation: _Any = (1, 1)) -> TensorVariable: ...
sigmoid: _OfOne
def sigmoid_binary_crossentropy(output: _Any, target: _Any) -> TensorVariable: ...
sigmoid_inplace: _OfOne
def softmax(c: _TensorLike) -> TensorVariable: ...
softmax_grad: SoftmaxGrad
def softmax_graph(c: _TensorLike) -> TensorVariable: ...
softmax_op: Softmax
softmax_with_bias: SoftmaxWithBias
softplus: _OfOne
softsign: _OfOne
ultra_fast_scalar_sigmoid: Op
ultra_fast_sigmoid: _OfOne
ultra_fast_sigmoid_inplace: _OfOne
