"""Common code of the ops on matrices: operands, transposes and products of stacks, types of results, R-operators.

All of them take stacks of matrices: tensors whose last two dimensions are those of the matrices.
"""
from numpy.linalg import LinAlgError

from phintys.graph.gradients.gradient import grad
from phintys.graph.op import Op
from phintys.graph.valueless_types import DisconnectedType, disconnected_type
from phintys.ops.creation.allocation import arange
from phintys.ops.elementwise.complex_derivatives import conjugated
from phintys.ops.elementwise.scalar import as_dtype, eq, real
from phintys.ops.products.products import dot, matmul
from phintys.ops.reduction.careduce import Sum
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.shape.shape import patternbroadcast, shape_i
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import complex_dtypes, discrete_dtypes, upcast
from phintys.ops.types.tensor_type import TensorType

REAL = {"complex64": "float32", "complex128": "float64"}


def matrices(name, *operands, least=2):
    """The operands as variables of one float or complex dtype. LAPACK has no others: integers become float64, as in
    NumPy, and float16 becomes float32.

    Raises
    ------
    numpy.linalg.LinAlgError
        If one has fewer than ``least`` dimensions.
    """
    variables = [as_tensor_variable(operand) for operand in operands]
    for variable in variables:
        if variable.type.ndim < least:
            raise LinAlgError(f"{name} needs a matrix, or a stack of matrices; {variable} of type {variable.type} has "
                             f"{variable.type.ndim} dimensions")
    dtype = upcast(*[variable.type.dtype for variable in variables])
    if dtype in discrete_dtypes:
        dtype = "float64"
    if dtype == "float16":
        dtype = "float32"
    return [as_dtype(variable, dtype) for variable in variables]


def real_dtype(dtype):
    """The dtype of magnitudes."""
    return REAL.get(dtype, dtype)


def result(dtype, x, *lengths):
    """A variable for a stack like ``x`` of items with the given static lengths, None if unknown."""
    lead = x.type.ndim - 2
    return TensorType(dtype, [*x.type.broadcastable[:lead], *[length == 1 for length in lengths]],
                      shape=[*x.type.shape[:lead], *lengths])()


def order_of(x):
    """The static order of square matrices; None if it is not known."""
    rows, columns = x.type.shape[-2:]
    return columns if rows is None else rows


def transposed(x):
    """Each matrix transposed."""
    rank = x.type.ndim
    return dimshuffle(x, *range(rank - 2), rank - 1, rank - 2)


def adjoint(x):
    """Each matrix transposed and conjugated."""
    return conjugated(transposed(x))


def product(*factors):
    """The product of two or more matrices, or stacks of them, from the left to the right."""
    value = factors[0]
    for factor in factors[1:]:
        value = dot(value, factor) if value.type.ndim == factor.type.ndim == 2 else matmul(value, factor)
    return value


def columns(vectors):
    """Vectors as matrices of one column."""
    return dimshuffle(vectors, *range(vectors.type.ndim), "x")


def rows(vectors):
    """Vectors as matrices of one row."""
    rank = vectors.type.ndim
    return dimshuffle(vectors, *range(rank - 1), "x", rank - 1)


def identity_for(x, axis=-1):
    """The identity matrix of the order of ``x``'s dimension ``axis``, and of its dtype."""
    positions = arange(shape_i(x, axis % x.type.ndim))
    return as_dtype(eq(columns(positions), rows(positions)), x.type.dtype)


def inner(x, y):
    """The real inner product of two tensors: the sum of products, conjugating the first."""
    total = Sum()(conjugated(x) * y)
    return real(total) if total.type.dtype in complex_dtypes else total


def missing(gradient):
    """Whether a cost does not depend on an output."""
    return isinstance(gradient.type, DisconnectedType)


def connected(outputs, gradients):
    """The gradients, with zeros for outputs on which the cost does not depend."""
    return [output.zeros_like() if missing(gradient) else gradient for output, gradient in zip(outputs, gradients)]


class MatrixOp(Op):
    """The base class of ops on stacks of matrices."""

    def lead(self, node):
        """The number of leading dimensions."""
        return node.inputs[0].type.ndim - 2

    def spread(self, node):
        """The argument of kernels that names, by bits, the leading dimensions in which each input is broadcast."""
        lead = self.lead(node)
        masks = [sum([flag << axis for axis, flag in enumerate(x.type.broadcastable[:lead])]) for x in node.inputs]
        return {"spread": tuple(masks)} if any(masks) else {}


class TwiceReversed(MatrixOp):
    """The base class of ops whose R-operator is made from ``L_op``.

    The result of ``L_op`` is linear in the output gradients. So the gradient, with respect to these, of its inner
    product with a direction is the derivative along the direction.
    """

    def applied(self, *inputs):
        """The outputs of a new node."""
        return self(*inputs, return_list=True)

    def R_op(self, inputs, eval_points):
        if all([point is None for point in eval_points]):
            return [None] * len(self.make_node(*inputs).outputs)
        outputs = self.applied(*inputs)
        continuous = [output.type.dtype not in discrete_dtypes for output in outputs]
        duals = [output.zeros_like() if wanted else disconnected_type()
                 for output, wanted in zip(outputs, continuous)]
        gradients = self.L_op(inputs, outputs, duals)
        pairs = [inner(gradient, point) for gradient, point in zip(gradients, eval_points) if point is not None]
        known = iter(grad(sum(pairs[1:], pairs[0]), [dual for dual, wanted in zip(duals, continuous) if wanted],
                          disconnected_inputs="ignore"))
        return [patternbroadcast(next(known), output.type.broadcastable) if wanted else None
                for output, wanted in zip(outputs, continuous)]
