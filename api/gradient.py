"""Gradients under the names of Theano's ``gradient`` module, and a ``verify_grad`` that uses ``phintys.function``."""
from phintys.function import function
from phintys.graph import public_names as _public_names
from phintys.graph.errors import DisconnectedInputError, GradientError, NullTypeGradError
from phintys.graph.gradients.forward_gradient import Rop
from phintys.graph.gradients.gradient import Lop, format_as, grad, subgraph_grad
from phintys.graph.gradients.verify_gradient import make_verify_grad, numeric_grad
from phintys.graph.gradients.view_op import (
    ConsiderConstant,
    DisconnectedGrad,
    GradClip,
    GradScale,
    UndefinedGrad,
    ZeroGrad,
    consider_constant,
    consider_constant_,
    disconnected_grad,
    disconnected_grad_,
    grad_clip,
    grad_scale,
    undefined_grad,
    undefined_grad_,
    zero_grad,
    zero_grad_,
)
from phintys.graph.valueless_types import (
    DisconnectedType,
    NullType,
    disconnected_type,
    grad_not_implemented,
    grad_undefined,
    null_type,
)
from phintys.ops.loops.jacobian import hessian, hessian_vector_product, jacobian
from phintys.ops.types.tensor_type import TensorType
from phintys.theano_finder import lookup as _lookup

verify_grad = make_verify_grad(function, TensorType)

__all__ = ["ConsiderConstant", "DisconnectedGrad", "DisconnectedInputError", "DisconnectedType", "GradClip",
           "GradScale", "GradientError", "Lop", "NullType", "NullTypeGradError", "Rop", "UndefinedGrad", "ZeroGrad",
           "consider_constant", "consider_constant_", "disconnected_grad", "disconnected_grad_", "disconnected_type",
           "format_as", "grad", "grad_clip", "grad_not_implemented", "grad_scale", "grad_undefined", "hessian",
           "hessian_vector_product", "jacobian", "null_type", "numeric_grad", "subgraph_grad", "undefined_grad",
           "undefined_grad_", "verify_grad", "zero_grad", "zero_grad_"]
_public_names.adopt(globals())


__getattr__ = _lookup(__name__)
