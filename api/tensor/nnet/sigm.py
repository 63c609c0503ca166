"""Theano's name ``tensor.nnet.sigm`` for the sigmoid and its relatives."""
from phintys.missing_names import lookup
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.elementwise.elementwise_functions import sigmoid, softplus
from phintys.ops.elementwise.scalar import ScalarSigmoid, ScalarSoftplus, UltraFastScalarSigmoid
from phintys.ops.elementwise.scalar import sigmoid as scalar_sigmoid
from phintys.ops.elementwise.scalar import softplus as scalar_softplus
from phintys.ops.elementwise.scalar import ultra_fast_sigmoid as ultra_fast_scalar_sigmoid
from phintys.ops.nnet.activations import hard_sigmoid, ultra_fast_sigmoid

sigmoid_inplace = Elemwise(scalar_sigmoid, {0: 0}, name="sigmoid_inplace")
ultra_fast_sigmoid_inplace = Elemwise(ultra_fast_scalar_sigmoid, {0: 0}, name="ultra_fast_sigmoid_inplace")

__all__ = ["ScalarSigmoid", "ScalarSoftplus", "UltraFastScalarSigmoid", "hard_sigmoid", "scalar_sigmoid",
           "scalar_softplus", "sigmoid", "sigmoid_inplace", "softplus", "ultra_fast_scalar_sigmoid",
           "ultra_fast_sigmoid", "ultra_fast_sigmoid_inplace"]
__getattr__ = lookup(__name__)
