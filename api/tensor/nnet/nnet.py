"""Theano's name ``tensor.nnet.nnet`` for softmax, cross-entropies and activations: names only."""
from phintys.missing_names import lookup
from phintys.ops.elementwise.elementwise_functions import sigmoid, softplus
from phintys.ops.elementwise.scalar import ScalarSoftsign, scalar_softsign
from phintys.ops.nnet.activations import elu, relu, selu, softsign
from phintys.ops.nnet.classification import confusion_matrix, h_softmax, multiclass_hinge_loss
from phintys.ops.nnet.crossentropy import (
    CrossentropyCategorical1Hot,
    CrossentropyCategorical1HotGrad,
    CrossentropySoftmax1HotWithBiasDx,
    CrossentropySoftmaxArgmax1HotWithBias,
    binary_crossentropy,
    categorical_crossentropy,
    crossentropy_categorical_1hot,
    crossentropy_categorical_1hot_grad,
    crossentropy_softmax_1hot,
    crossentropy_softmax_1hot_with_bias,
    crossentropy_softmax_1hot_with_bias_dx,
    crossentropy_softmax_argmax_1hot_with_bias,
    crossentropy_softmax_max_and_argmax_1hot,
    crossentropy_softmax_max_and_argmax_1hot_with_bias,
    sigmoid_binary_crossentropy,
)
from phintys.ops.nnet.prepend import (
    Prepend_scalar_constant_to_each_row,
    Prepend_scalar_to_each_row,
    prepend_0_to_each_row,
    prepend_1_to_each_row,
    prepend_scalar_to_each_row,
)
from phintys.ops.nnet.softmax import (
    LogSoftmax,
    Softmax,
    SoftmaxGrad,
    SoftmaxWithBias,
    logsoftmax,
    logsoftmax_op,
    softmax,
    softmax_grad,
    softmax_graph,
    softmax_op,
    softmax_with_bias,
)

__all__ = ["CrossentropyCategorical1Hot", "CrossentropyCategorical1HotGrad", "CrossentropySoftmax1HotWithBiasDx",
           "CrossentropySoftmaxArgmax1HotWithBias", "LogSoftmax", "Prepend_scalar_constant_to_each_row",
           "Prepend_scalar_to_each_row", "ScalarSoftsign", "Softmax", "SoftmaxGrad", "SoftmaxWithBias",
           "binary_crossentropy", "categorical_crossentropy", "confusion_matrix", "crossentropy_categorical_1hot",
           "crossentropy_categorical_1hot_grad", "crossentropy_softmax_1hot", "crossentropy_softmax_1hot_with_bias",
           "crossentropy_softmax_1hot_with_bias_dx", "crossentropy_softmax_argmax_1hot_with_bias",
           "crossentropy_softmax_max_and_argmax_1hot", "crossentropy_softmax_max_and_argmax_1hot_with_bias", "elu",
           "h_softmax", "logsoftmax", "logsoftmax_op", "multiclass_hinge_loss", "prepend_0_to_each_row",
           "prepend_1_to_each_row", "prepend_scalar_to_each_row", "relu", "scalar_softsign", "selu", "sigmoid",
           "sigmoid_binary_crossentropy", "softmax", "softmax_grad", "softmax_graph", "softmax_op",
           "softmax_with_bias", "softplus", "softsign"]
__getattr__ = lookup(__name__)
