"""Polynomials with many coefficients, or with an unknown number of them, in a vector: Horner and PowerSums.

Each is part of the other's gradient: the values of a polynomial are linear in its coefficients, and the gradient with
respect to these is a sum of powers.
"""
from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.graph.valueless_types import disconnected_type
from phintys.ops.creation.allocation import alloc, arange
from phintys.ops.elementwise.scalar import as_dtype
from phintys.ops.indexing.getitem import getitem
from phintys.ops.linalg.polynomial_kernel import HornerKernel, PowerSumsKernel
from phintys.ops.shape.join import concatenate
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.ops.types.tensor_type import TensorType


def derivative(p):
    """The coefficients of a polynomial's derivative."""
    powers = as_dtype(getitem(arange(shape_i(p, 0)), slice(None, 0, -1)), p.type.dtype)
    return getitem(p, slice(None, -1)) * powers


class Horner(Op):
    """The values of a polynomial at all elements of a tensor. The inputs are the vector of coefficients, that of the
    highest power first, and the tensor, of one dtype, float32 or float64.

    Raises
    ------
    TypeError
        Raised by ``make_node`` for other operands.
    """

    __props__ = ()
    shape_as = 1

    def make_node(self, p, x):
        p, x = as_tensor_variable(p), as_tensor_variable(x)
        if p.type.ndim != 1 or p.type.dtype != x.type.dtype or x.type.dtype not in ("float32", "float64"):
            raise TypeError(f"Horner takes a vector and a tensor, both of float32 or float64, not {p} of type {p.type} "
                            f"and {x} of type {x.type}")
        return Apply(self, [p, x], [TensorType(x.type.dtype, x.type.broadcastable, shape=x.type.shape)()])

    def make_kernel(self, node):
        return HornerKernel(node.inputs[0].type.dtype)

    def L_op(self, inputs, outputs, output_gradients):
        (p, x), (gradient,) = inputs, output_gradients
        return [PowerSums()(gradient, x, shape_i(p, 0)), gradient * Horner()(derivative(p), x)]

    def R_op(self, inputs, eval_points):
        (p, x), (by_p, by_x) = inputs, eval_points
        terms = [] if by_p is None else [Horner()(by_p, x)]
        if by_x is not None:
            terms.append(by_x * Horner()(derivative(p), x))
        return [sum(terms[1:], terms[0]) if terms else None]


class PowerSums(Op):
    """The sums of ``g * x ** k`` over all elements, for k from ``terms - 1`` to 0: a vector. The inputs are two tensors
    of one shape and dtype, float32 or float64, and the number of terms.

    Raises
    ------
    TypeError
        Raised by ``make_node`` for other operands.
    """

    __props__ = ()
    depends_on = (0, 1)

    def make_node(self, g, x, terms):
        g, x, terms = as_tensor_variable(g), as_tensor_variable(x), as_dtype(as_tensor_variable(terms), "int64")
        if g.type.dtype != x.type.dtype or g.type.ndim != x.type.ndim or x.type.dtype not in ("float32", "float64"):
            raise TypeError(f"PowerSums takes two tensors of one rank, of float32 or float64, not {g} of type {g.type} "
                            f"and {x} of type {x.type}")
        return Apply(self, [g, x, terms], [TensorType(x.type.dtype, (False,))()])

    def make_kernel(self, node):
        return PowerSumsKernel(node.inputs[0].type.dtype)

    def infer_shape(self, node, input_shapes):
        return [(node.inputs[2],)]

    def L_op(self, inputs, outputs, output_gradients):
        (g, x, _), (gradient,) = inputs, output_gradients
        return [Horner()(gradient, x), g * Horner()(derivative(gradient), x), disconnected_type()]

    def R_op(self, inputs, eval_points):
        (g, x, terms), (by_g, by_x, _) = inputs, eval_points
        found = [] if by_g is None else [PowerSums()(by_g, x, terms)]
        if by_x is not None:
            powers = as_dtype(getitem(arange(terms), slice(None, 0, -1)), x.type.dtype)
            lower = PowerSums()(g * by_x, x, terms - 1) * powers
            found.append(concatenate([lower, alloc(constant(0, dtype=x.type.dtype), 1)]))
        return [sum(found[1:], found[0]) if found else None]

