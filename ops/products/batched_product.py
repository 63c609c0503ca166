"""BatchedDot: one product of vectors or matrices for each element of a leading dimension.

``BatchedDot()(x, y)[i] == dot(x[i], y[i])``. The leading dimension of either operand may be broadcastable, so that one
item is used for all. ``batched_dot`` and ``batched_tensordot`` for any rank are in ``products.py``.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.ops.elementwise.complex_derivatives import conjugated
from phintys.ops.elementwise.scalar import as_dtype
from phintys.ops.products.batched_product_kernel import BatchedProductKernel
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.shape.shape import patternbroadcast
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import discrete_dtypes, upcast
from phintys.ops.types.tensor_type import TensorType

if TYPE_CHECKING:
    from typing import Any

    from phintys.ops.operators import TensorVariable


class BatchedDot(Op):
    """The product of each item of one tensor with the same item of another; items are vectors or matrices.

    Examples
    --------
    >>> T.blas.batched_dot(T.ones((5, 2, 3)), T.ones((5, 3, 4))).eval().shape
    (5, 2, 4)
    """

    if TYPE_CHECKING:
        def __call__(self, *inputs: Any, **options: Any) -> TensorVariable: ...  # type: ignore[override]

    __props__ = ()

    def make_node(self, *inputs):
        if len(inputs) != 2:
            raise TypeError(f"BatchedDot: 2 arguments required, {len(inputs)} given")
        inputs = [as_tensor_variable(value) for value in inputs]
        for position, value in enumerate(inputs):
            if value.type.ndim not in (2, 3):
                raise TypeError(f"BatchedDot: input {position} (0-indexed) must have ndim of 2 or 3, {value.type.ndim} "
                                "given. Consider calling tensor.batched_dot instead.")
        dtype = upcast(*[value.type.dtype for value in inputs])
        inputs = [as_dtype(value, dtype) for value in inputs]
        x, y = [value.type for value in inputs]
        wide = x if not x.broadcastable[0] else y
        if x.shape[0] is None and not y.broadcastable[0]:
            wide = y
        flags = wide.broadcastable[:1] + x.broadcastable[1:-1] + y.broadcastable[2:]
        kind = TensorType(dtype, flags, shape=wide.shape[:1] + x.shape[1:-1] + y.shape[2:])
        return Apply(self, inputs, [kind.make_variable()])

    def make_kernel(self, node):
        x, y = [value.type for value in node.inputs]
        if x.dtype == "float16":
            return None
        return BatchedProductKernel(x.dtype, x.ndim - 1, y.ndim - 1, (x.broadcastable[0], y.broadcastable[0]))

    def perform(self, node, inputs, output_storage):
        x, y = inputs
        if x.dtype != "float16":
            return Op.perform(self, node, inputs, output_storage)
        letters = ("bk" if x.ndim == 2 else "bmk"), ("bk" if y.ndim == 2 else "bkn")
        kept = "b" + letters[0][1:-1] + letters[1][2:]
        wide = [value.astype("float32") for value in inputs]
        output_storage[0][0] = numpy.einsum(f"{letters[0]},{letters[1]}->{kept}", *wide).astype("float16")

    def infer_shape(self, node, input_shapes):
        left, right = input_shapes
        count = right[0] if node.inputs[0].type.broadcastable[0] else left[0]
        return [(count, *left[1:-1], *right[2:])]

    def L_op(self, inputs, outputs, output_grads):
        x, y = inputs
        gz, = output_grads
        if gz.type.dtype in discrete_dtypes:
            return [value.zeros_like() for value in inputs]
        left, right = conjugated(x), conjugated(y)
        if x.type.ndim == y.type.ndim == 2:
            gradients = [dimshuffle(gz, 0, "x") * right, dimshuffle(gz, 0, "x") * left]
        elif x.type.ndim == 2:
            gradients = [self(gz, dimshuffle(right, 0, 2, 1)), dimshuffle(left, 0, 1, "x") * dimshuffle(gz, 0, "x", 1)]
        elif y.type.ndim == 2:
            gradients = [dimshuffle(gz, 0, 1, "x") * dimshuffle(right, 0, "x", 1), self(dimshuffle(left, 0, 2, 1), gz)]
        else:
            gradients = [self(gz, dimshuffle(right, 0, 2, 1)), self(dimshuffle(left, 0, 2, 1), gz)]
        return [_as_input(gradient, value) for gradient, value in zip(gradients, inputs)]

    def R_op(self, inputs, eval_points):
        x, y = inputs
        by_x, by_y = eval_points
        terms = []
        if by_x is not None:
            terms.append(self(by_x, y))
        if by_y is not None:
            terms.append(self(x, by_y))
        return [sum(terms[1:], terms[0]) if terms else None]


def _as_input(gradient, value):
    """A gradient with the pattern of an input, summed over the items if the input has a single item for all."""
    if value.type.broadcastable[0] and not gradient.type.broadcastable[0]:
        gradient = gradient.sum(axis=0, keepdims=True)
    return patternbroadcast(gradient, value.type.broadcastable)


batched_dot_op = BatchedDot()
