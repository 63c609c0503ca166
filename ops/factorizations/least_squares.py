"""Solutions of linear systems in the sense of least squares, and their derivatives."""
from __future__ import annotations

from typing import Any

import numpy

from phintys.graph.apply import Apply
from phintys.graph.valueless_types import disconnected_type
from phintys.ops.elementwise.scalar import and_, as_dtype, eq, gt, minimum, switch
from phintys.ops.factorizations.least_squares_kernel import LeastSquaresKernel
from phintys.ops.factorizations.orthogonal import SVD, least
from phintys.ops.factorizations.solve import as_operand, broadcast_lead, system
from phintys.ops.factorizations.stacks import (
    TwiceReversed,
    adjoint,
    columns,
    matrices,
    missing,
    product,
    real_dtype,
    rows,
)
from phintys.ops.indexing.getitem import getitem
from phintys.ops.reduction.careduce import All
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.tensor_type import TensorType


class LeastSquares(TwiceReversed):
    """The solution of ``x z = y`` in the sense of least squares, the sums of squared residuals, the rank of x and its
    singular values. The inputs are x, y and, optionally, the ratio to the largest singular value below which others
    count as zero.

    The node has the sums for all columns of y. Calling the op returns the sums that NumPy returns: none if the rank of
    a matrix is less than its number of columns, or if it has no more rows than columns.

    Raises
    ------
    numpy.linalg.LinAlgError
        At run time, for lengths that do not fit, for infinities and NaN, and if the singular values do not converge;
        and, as in Theano, if x has no two dimensions or the ratio is not a number.

    Examples
    --------
    >>> a, b = T.as_tensor([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]]), T.as_tensor([3.0, 4.0, 1.0])
    >>> solution, residuals, rank, singular_values = T.nlinalg.lstsq()(a, b, -1)
    >>> solution.eval(), rank.eval()
    (array([3., 2.]), array(2))
    """

    __props__ = ()

    def __str__(self):
        return "lstsq"

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        solution, sums, rank, values = self.applied(*inputs, **options)
        matrix = values.owner.inputs[0]
        if matrix.type.ndim < 2:
            return [solution, sums, rank, values]
        height, width = [shape_i(matrix, matrix.type.ndim - number) for number in (2, 1)]
        known = and_(All()(eq(rank, width)), gt(height, width))
        kept = switch(known, shape_i(sums, sums.type.ndim - 1), 0)
        return [solution, getitem(sums, (..., slice(None, kept))), rank, values]

    def applied(self, *inputs, **options):
        return super().__call__(*inputs, **{**options, "return_list": True})

    def make_node(self, x, y, rcond=None):
        x, y = matrices("lstsq", as_tensor_variable(x), y, least=1)
        real = real_dtype(x.type.dtype)
        ratio = [] if rcond is None else [as_dtype(as_tensor_variable(rcond), real)]
        if x.type.ndim < 2 or (ratio and ratio[0].type.ndim):
            vector = TensorType(real, (False,))
            return Apply(self, [x, y, *ratio], [y.type(), vector(), TensorType("int64", ())(), vector()])
        x, y, like_y = system("lstsq", x, y)
        lead, width = x.type.ndim - 2, x.type.shape[-1]
        flags, lengths = list(like_y.broadcastable), list(like_y.shape)
        flags[lead], lengths[lead] = width == 1, width
        sides = y.type.shape[-1] if y.type.ndim > 1 else 1
        outputs = [TensorType(like_y.dtype, flags, shape=lengths)()]
        for dtype, item in ((real, [sides]), ("int64", []), (real, [least(x)])):
            outputs.append(TensorType(dtype, [*flags[:lead], *[length == 1 for length in item]],
                                      shape=[*lengths[:lead], *item])())
        return Apply(self, [x, y, *[dimshuffle(number, *["x"] * lead) for number in ratio]], outputs)

    def make_kernel(self, node):
        x, y = node.inputs[:2]
        if node.outputs[0].type.ndim != y.type.ndim or not self.fits(node):
            return None
        return LeastSquaresKernel(x.type.dtype, self.lead(node), min(y.type.ndim, 2), len(node.inputs) == 3,
                                  **self.spread(node))

    def fits(self, node):
        """Whether the ranks fit: there are matrices, and a ratio for each matrix of a stack."""
        return self.lead(node) >= 0 and all([ratio.type.ndim == self.lead(node) for ratio in node.inputs[2:]])

    def perform(self, node, inputs, output_storage):
        if not self.fits(node):
            shapes = " and ".join([str(value.shape) for value in inputs])
            raise numpy.linalg.LinAlgError("lstsq needs a matrix, or a stack of matrices, and a number as rcond; the "
                                           f"shapes are {shapes}")
        super().perform(node, inputs, output_storage)

    def infer_shape(self, node, input_shapes):
        height, width = input_shapes[0][-2:]
        if node.inputs[1].type.ndim == 1:
            return [(width,), (1,), (), (minimum(height, width),)]
        lead, sides = broadcast_lead(node, input_shapes, 0, 1), input_shapes[1][-1]
        return [(*lead, width, sides), (*lead, sides), tuple(lead), (*lead, minimum(height, width))]

    def connection_pattern(self, node):
        return [[True, True, False, True], [True, True, False, False], [False] * 4][:len(node.inputs)]

    def L_op(self, inputs, outputs, output_gradients):
        """See Golub and Pereyra, "The differentiation of pseudo-inverses"; for matrices of constant rank. With P the
        pseudo-inverse of x, r the residual and g the gradient of the solution z, that of y is ``P^H g``, and that of x
        is ``-P^H g z^H + r (P P^H g)^H + P^H z (g - x^H P^H g)^H``."""
        (x, y), ratio = inputs[:2], inputs[2:]
        vector = y.type.ndim == 1
        of_solution, of_sums, _, of_values = output_gradients
        solution, right, of_solution = [columns(side) if vector and not missing(side) else side
                                        for side in (outputs[0], y, of_solution)]
        by_x, by_y = [], []
        residual = right - product(x, solution)
        if not missing(of_solution):
            back, through = [self.solution(adjoint(x), side, ratio) for side in (of_solution, solution)]
            by_y.append(back)
            by_x += [-product(back, adjoint(solution)), product(residual, adjoint(self.solution(x, back, ratio))),
                     product(through, adjoint(of_solution - product(adjoint(x), back)))]
        if not missing(of_sums):
            by_y.append(residual * as_dtype(numpy.asarray(2, "int8") * rows(of_sums), x.type.dtype))
            by_x.append(-product(by_y[-1], adjoint(solution)))
        if not missing(of_values):
            left, _, turned = SVD(full_matrices=False)(x)
            by_x.append(product(left * as_dtype(rows(of_values), x.type.dtype), turned))
        by_x = as_operand(sum(by_x[1:], by_x[0]), x) if by_x else disconnected_type()
        by_y = sum(by_y[1:], by_y[0]) if by_y else disconnected_type()
        if not missing(by_y):
            by_y = by_y.reshape((-1,)) if vector else as_operand(by_y, y)
        return [by_x, by_y, *[disconnected_type() for _ in ratio]]

    def solution(self, x, y, ratio):
        """Only the solution of a system with the same singular values."""
        return self.applied(x, y, *[dimshuffle(number) for number in ratio])[0]


def least_squares(a, b, rcond=None):
    """Solve ``a x = b`` in the sense of least squares, like ``numpy.linalg.lstsq``.

    Parameters
    ----------
    a : matrix, or stack of matrices
    b : vector, matrix, or stack of matrices
    rcond : float or scalar, optional
        Singular values below this ratio to the largest count as zero; by default the precision of the dtype times the
        larger of rows and columns.

    Returns
    -------
    list of TensorVariable
        The solution, the sums of squared residuals, the rank of ``a`` and its singular values. There are no sums if the
        rank of a matrix is less than its number of columns, or if it has no more rows than columns.

    Raises
    ------
    numpy.linalg.LinAlgError
        At run time, for lengths that do not fit, for infinities and NaN, and if the singular values do not converge.

    Examples
    --------
    >>> solution, sums, rank, values = T.linalg.lstsq(T.as_tensor([[1.0], [1.0]]), T.as_tensor([1.0, 3.0]))
    >>> solution.eval(), sums.eval()
    (array([2.]), array([2.]))
    """
    return LeastSquares()(a, b, rcond) if rcond is not None else LeastSquares()(a, b)
