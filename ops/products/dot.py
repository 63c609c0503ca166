"""Dot: the product of two vectors or matrices in every combination, for every dtype.

Operands of different dtypes are first cast to their common dtype. ``products.py`` builds products of tensors of any
rank from this op; the ops with scaling and accumulation, which the optimizer creates, are in ``blas.py``.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.ops.elementwise.complex_derivatives import conjugated
from phintys.ops.elementwise.scalar import as_dtype
from phintys.ops.products.blas_kernel import ProductKernel
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.shape.shape import patternbroadcast
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import upcast
from phintys.ops.types.tensor_type import TensorType

if TYPE_CHECKING:
    from typing import Any

    from phintys.ops.operators import TensorVariable

_output_types = {}      # (key of x's type, key of y's type) → type of the product


class Dot(Op):
    """The matrix product of two inputs of one or two dimensions each.

    Examples
    --------
    >>> T.Dot()(T.as_tensor([1.0, 2.0]), T.as_tensor([3.0, 4.0])).eval()
    array(11.)
    """

    if TYPE_CHECKING:
        def __call__(self, *inputs: Any, **options: Any) -> TensorVariable: ...  # type: ignore[override]

    runs_alone = True
    __props__ = ()

    def make_node(self, *inputs):
        if len(inputs) != 2:
            raise TypeError(f"Dot: 2 arguments required, {len(inputs)} given")
        x, y = [as_tensor_variable(value) for value in inputs]
        for position, value in enumerate((x, y)):
            if value.type.ndim not in (1, 2):
                raise TypeError(f"Dot: input {position} (0-indexed) must have ndim of 1 or 2, {value.type.ndim} given. "
                                "Consider calling tensor.dot instead.")
        dtype = upcast(x.type.dtype, y.type.dtype)
        x, y = [as_dtype(value, dtype) for value in (x, y)]
        return Apply(self, [x, y], [product_type(x.type, y.type).make_variable()])

    def make_kernel(self, node):
        x, y = node.inputs
        if x.type.dtype == "float16":
            return None
        return ProductKernel(x.type.dtype, x.type.ndim, y.type.ndim)

    def perform(self, node, inputs, output_storage):
        if node.inputs[0].type.dtype != "float16":
            return Op.perform(self, node, inputs, output_storage)
        output_storage[0][0] = numpy.asarray(numpy.dot(*inputs))      # accumulated in float32

    def infer_shape(self, node, input_shapes):
        left, right = input_shapes
        return [tuple(left[:-1]) + tuple(right[1:])]

    def L_op(self, inputs, outputs, output_grads, wanted=(True, True)):
        gz, = output_grads
        return [patternbroadcast(term(self, *inputs, gz), value.type.broadcastable) if is_wanted else None
                for term, value, is_wanted in zip((Dot._by_left, Dot._by_right), inputs, wanted)]

    L_op.takes_wanted = True

    def _by_left(self, x, y, gz):
        right = conjugated(y)
        if gz.type.ndim == 0:
            return gz * right
        return outer_of_vectors(gz, right) if y.type.ndim == 1 else self(gz, right.T)

    def _by_right(self, x, y, gz):
        left = conjugated(x)
        if gz.type.ndim == 0:
            return gz * left
        return outer_of_vectors(left, gz) if y.type.ndim == 2 and x.type.ndim == 1 else self(left.T, gz)

    def masked_L_op(self, inputs, outputs, output_grads, masks):
        """Gradients and their masks. A row of x whose products were not chosen has no part in the gradient by y; it may
        be the logarithm of 0, and 0 times that is NaN. Likewise columns of y."""
        terms, found = Op.masked_L_op(self, inputs, outputs, output_grads, masks)
        given = [masks[0].applied(output_grads[0])]
        for position, operand in enumerate(inputs):
            mask = masks[0].of_lines(position) if operand.type.ndim == 2 and operand.owner is not None else None
            if mask is not None:
                chosen = [mask.applied(operand) if other is operand else other for other in inputs]
                terms[1 - position] = self.L_op(chosen, outputs, given)[1 - position]
        return terms, found

    def R_op(self, inputs, eval_points):
        x, y = inputs
        by_x, by_y = eval_points
        if by_x is None and by_y is None:
            return [None]
        if by_x is None:
            return [self(x, by_y)]
        if by_y is None:
            return [self(by_x, y)]
        return [self(by_x, y) + self(x, by_y)]

    def __str__(self):
        return "dot"


dot_op = Dot()


def product_type(x, y):
    """The type of the product of inputs of two types."""
    key = x.key, y.key
    found = _output_types.get(key)
    if found is None:
        found = _output_types[key] = TensorType(upcast(x.dtype, y.dtype), x.broadcastable[:-1] + y.broadcastable[1:],
                                                shape=x.shape[:-1] + y.shape[1:])
    return found


def outer_of_vectors(x, y):
    """The matrix of all products of an element of ``x`` and an element of ``y``."""
    return dot_op(dimshuffle(x, 0, "x"), dimshuffle(y, "x", 0))
