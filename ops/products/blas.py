"""The matrix products of BLAS: Dot22, Dot22Scalar, Gemv, Gemm, Ger, with Theano's names and orders of operands.

Users write ``dot`` (``products.py``, importable from here); the optimizer merges scalings and sums into these ops. All
operands have the same float or complex dtype, and ``alpha`` and ``beta`` are 0-d. With ``inplace`` the op may overwrite
its first input; the linker and the virtual machine decide whether it does, not the kernel.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.graph.apply import Apply
from phintys.graph.errors import InconsistencyError
from phintys.graph.op import InPlaceOp, Op
from phintys.graph.traversal import view_roots
from phintys.ops.elementwise.complex_derivatives import conjugated
from phintys.ops.elementwise.elementwise import sum_broadcast
from phintys.ops.elementwise.scalar import add, cast_op
from phintys.ops.products.blas_kernel import GerKernel, ProductKernel
from phintys.ops.products.dot import Dot, dot_op, outer_of_vectors, product_type
from phintys.ops.products.products import dot, outer, tensordot
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import complex_dtypes
from phintys.ops.types.tensor_type import TensorType

if TYPE_CHECKING:
    from typing import Any

    from phintys.ops.operators import TensorVariable

__all__ = ["Dot", "Dot22", "Dot22Scalar", "Gemm", "Gemv", "Ger", "dot", "dot22", "dot22scalar", "dot_op", "gemm",
           "gemv", "ger", "outer", "tensordot"]

PRODUCT, SUM = range(2)             # the parts of an op that scales or accumulates a product
BLAS_DTYPES = frozenset({"float32", "float64", "complex64", "complex128"})


class BlasOp(Op):
    """The base class of the ops in this file; checks their operands."""

    runs_alone = True
    ranks = ()                         # ranks of the operands; alpha and beta have rank 0 and are cast to the dtype
    E_rank = "the operands have the wrong number of dimensions"
    E_z_uniq = "argument z aliased to x or y"

    if TYPE_CHECKING:
        def __call__(self, *inputs: Any, **options: Any) -> TensorVariable: ...  # type: ignore[override]

    def operands(self, inputs):
        """The inputs as variables of the required ranks and one dtype; raises ``TypeError`` if this is not possible."""
        name = type(self).__name__
        inputs = [as_tensor_variable(value) for value in inputs]
        if len(inputs) != len(self.ranks):
            raise TypeError(f"{name} takes {len(self.ranks)} inputs, {len(inputs)} given")
        dtypes = {value.type.dtype for value, rank in zip(inputs, self.ranks) if rank}
        if len(dtypes) != 1 or not dtypes <= BLAS_DTYPES:
            raise TypeError(f"{name} requires matching float or complex dtypes", [value.type.dtype for value in inputs])
        dtype, = dtypes
        for position, (value, rank) in enumerate(zip(inputs, self.ranks)):
            if value.type.ndim != rank:
                raise TypeError(self.E_rank, f"{name} requires {rank} dimensions for input {position}", value.type)
            if value.type.dtype in complex_dtypes and dtype not in complex_dtypes:
                raise TypeError(f"{name} of {dtype} cannot be scaled by a complex number", value)
            if value.type.dtype != dtype:
                inputs[position] = cast_op(dtype)(value)
        return inputs

    def directions(self, inputs, eval_points, terms):
        """The R-operator of a sum of products; ``terms`` has, for each product, the positions of its factors and the
        function that multiplies them.

        The derivative of a product is the sum, over its factors, of the product with that factor replaced by its
        direction.
        """
        moved = [multiply(*[eval_points[other] if other == position else inputs[other] for other in positions])
                 for positions, multiply in terms for position in positions if eval_points[position] is not None]
        return [moved[0] if len(moved) == 1 else add(*moved)] if moved else [None]


def inner(gradient, value):
    """The gradient with respect to a scalar that multiplies ``value``."""
    return (gradient * conjugated(value)).sum()


def product_gradients(x, y, gradient):
    """The gradients with respect to two factors."""
    return dot_op.L_op([x, y], None, [gradient])


class Dot22(BlasOp):
    """``x.y`` for two matrices of the same float or complex dtype.

    Examples
    --------
    >>> a = T.as_tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> T.blas._dot22(a, a).eval()
    array([[ 7., 10.],
           [15., 22.]])
    """

    __props__ = ()
    ranks = (2, 2)

    def make_node(self, x, y):
        x, y = self.operands((x, y))
        return Apply(self, [x, y], [product_type(x.type, y.type).make_variable()])

    def L_op(self, inputs, outputs, output_grads):
        return product_gradients(*inputs, output_grads[0])

    def R_op(self, inputs, eval_points):
        return dot_op.R_op(inputs, eval_points)

    def make_kernel(self, node):
        return ProductKernel(node.inputs[0].type.dtype, 2, 2)

    def infer_shape(self, node, input_shapes):
        return [(input_shapes[0][0], input_shapes[1][1])]


class Dot22Scalar(BlasOp):
    """``a * x.y``. The inputs are x, y and a.

    Examples
    --------
    >>> a = T.as_tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> T.blas._dot22scalar(a, a, T.constant(2.0, dtype="float64")).eval()
    array([[14., 20.],
           [30., 44.]])
    """

    __props__ = ()
    ranks = (2, 2, 0)

    def make_node(self, x, y, a):
        x, y, a = self.operands((x, y, a))
        return Apply(self, [x, y, a], [product_type(x.type, y.type).make_variable()])

    def L_op(self, inputs, outputs, output_grads):
        x, y, a = inputs
        return [*product_gradients(x, y, conjugated(a) * output_grads[0]), inner(output_grads[0], dot_op(x, y))]

    def R_op(self, inputs, eval_points):
        return self.directions(inputs, eval_points, [((0, 1, 2), lambda x, y, a: a * dot_op(x, y))])

    def make_kernel(self, node):
        return ProductKernel(node.inputs[0].type.dtype, 2, 2, "scaled")

    def part_at_fault(self, node, shapes):
        return PRODUCT

    def infer_shape(self, node, input_shapes):
        return [(input_shapes[0][0], input_shapes[1][1])]


class Accumulation(InPlaceOp, BlasOp):
    """``beta * z + alpha * x.y``. The inputs are z, alpha, x, y and beta; z is broadcast.

    Parameters
    ----------
    inplace : bool
        Whether the result may overwrite z.
    """

    cannot_fail = True

    def make_node(self, z, alpha, x, y, beta):
        z, alpha, x, y, beta = self.operands((z, alpha, x, y, beta))
        if self.inplace and not {*view_roots(x), *view_roots(y)}.isdisjoint(view_roots(z)):
            raise InconsistencyError(self.E_z_uniq, f"{self} cannot overwrite {z}, because it also reads its memory")
        product = product_type(x.type, y.type)
        flags = zip(product.broadcastable, z.type.broadcastable)
        output = TensorType(product.dtype, [there and here for there, here in flags], shape=product.shape)
        if self.inplace and output.broadcastable != z.type.broadcastable:
            raise TypeError(f"{self} cannot overwrite its first input of type {z.type}: the result is larger", output)
        return Apply(self, [z, alpha, x, y, beta], [output.make_variable()])

    def L_op(self, inputs, outputs, output_grads):
        z, alpha, x, y, beta = inputs
        gradient, = output_grads
        by_z = sum_broadcast(conjugated(beta) * gradient, z.type.broadcastable, gradient.type.broadcastable)
        by_x, by_y = product_gradients(x, y, conjugated(alpha) * gradient)
        return [by_z, inner(gradient, dot_op(x, y)), by_x, by_y, inner(gradient, z)]

    def R_op(self, inputs, eval_points):
        return self.directions(inputs, eval_points, [((4, 0), lambda beta, z: beta * z),
                                                     ((1, 2, 3), lambda alpha, x, y: alpha * dot_op(x, y))])

    def make_kernel(self, node):
        z, _, x, y, _ = node.inputs
        return ProductKernel(x.type.dtype, x.type.ndim, y.type.ndim, "accumulated", z.type.broadcastable)

    def infer_shape(self, node, input_shapes):
        return [tuple(input_shapes[2][:-1]) + tuple(input_shapes[3][1:])]

    def part_at_fault(self, node, shapes):
        x, y = shapes[2:4]
        return None if not x or not y else PRODUCT if x[-1] != y[0] else SUM

    def __str__(self):
        return f"{type(self).__name__}{{{'inplace' if self.inplace else 'no_inplace'}}}"


class Gemv(Accumulation):
    """``beta * y + alpha * A.x`` for a matrix A and a vector x. The inputs are y, alpha, A, x and beta.

    Examples
    --------
    >>> a, x, y = T.as_tensor([[1.0, 2.0], [3.0, 4.0]]), T.as_tensor([1.0, 1.0]), T.zeros((2,))
    >>> T.blas.gemv(y, 1.0, a, x, 0.0).eval()
    array([3., 7.])
    """

    ranks = (1, 0, 2, 1, 0)


class Gemm(Accumulation):
    """``b * z + a * x.y`` for two matrices. The inputs are z, a, x, y and b.

    Examples
    --------
    >>> a, c = T.as_tensor([[1.0, 2.0], [3.0, 4.0]]), T.zeros((2, 2))
    >>> T.blas.gemm(c, 1.0, a, a, 0.0).eval()
    array([[ 7., 10.],
           [15., 22.]])
    """

    ranks = (2, 0, 2, 2, 0)
    E_rank = "gemm only works for rank 2"


class Ger(BlasOp):
    """``A + alpha * outer(x, y)``. The inputs are A, alpha, x and y.

    Parameters
    ----------
    destructive : bool
        Whether the result may overwrite A.

    Examples
    --------
    >>> x, y = T.as_tensor([1.0, 2.0]), T.as_tensor([3.0, 4.0])
    >>> T.blas.ger(T.zeros((2, 2)), 1.0, x, y).eval()
    array([[3., 4.],
           [6., 8.]])
    """

    __props__ = ("destructive",)
    shape_as = 0
    can_overwrite = {0: (0,)}
    inplace_property = "destructive"
    cannot_fail = True
    ranks = (2, 0, 1, 1)

    def __init__(self, destructive=False):
        self.destructive = bool(destructive)
        if self.destructive:
            self.destroy_map = {0: [0]}

    def make_node(self, A, alpha, x, y):
        A, alpha, x, y = self.operands((A, alpha, x, y))
        return Apply(self, [A, alpha, x, y], [A.type.make_variable()])

    def L_op(self, inputs, outputs, output_grads):
        A, alpha, x, y = inputs
        gradient, = output_grads
        scaled = conjugated(alpha) * gradient
        return [gradient, inner(gradient, outer_of_vectors(x, y)), dot_op(scaled, conjugated(y)),
                dot_op(scaled.T, conjugated(x))]

    def R_op(self, inputs, eval_points):
        return self.directions(inputs, eval_points, [((0,), lambda A: A), ((1, 2, 3), lambda alpha, x, y:
                                                                           alpha * outer_of_vectors(x, y))])

    def part_at_fault(self, node, shapes):
        return SUM

    def make_kernel(self, node):
        return GerKernel(node.inputs[0].type.dtype)

    def __str__(self):
        return f"Ger{{{'destructive' if self.destructive else 'non-destructive'}}}"


dot22, dot22scalar = Dot22(), Dot22Scalar()
gemv, gemm, ger = Gemv(inplace=False), Gemm(inplace=False), Ger(destructive=False)
# They permit a function to overwrite their first input.
gemv_inplace, gemm_inplace, ger_destructive = Gemv(inplace=True), Gemm(inplace=True), Ger(destructive=True)
