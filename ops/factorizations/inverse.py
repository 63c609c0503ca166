"""Inverses, pseudo-inverses and determinants."""
from typing import Any

import numpy

from phintys.graph import hooks
from phintys.graph.apply import Apply
from phintys.graph.op import InPlaceOp
from phintys.ops.cumulative.product import prod
from phintys.ops.elementwise.complex_derivatives import conjugated
from phintys.ops.elementwise.scalar import as_dtype, gt, imag, real, switch
from phintys.ops.factorizations.lu_kernel import AdjugateKernel, DeterminantKernel, InverseKernel
from phintys.ops.factorizations.orthogonal import svd
from phintys.ops.factorizations.solve import LUFactor
from phintys.ops.factorizations.stacks import (
    MatrixOp,
    TwiceReversed,
    adjoint,
    columns,
    identity_for,
    matrices,
    missing,
    order_of,
    product,
    real_dtype,
    result,
    rows,
    transposed,
)
from phintys.ops.linalg.diagonal import diagonal, trace
from phintys.ops.reduction.careduce import Sum
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.types.constant import as_tensor_variable, constant_number
from phintys.ops.types.dtypes import complex_dtypes
from phintys.ops.types.tensor_type import TensorType


class MatrixInverse(InPlaceOp, MatrixOp):
    """The inverse of each square matrix. The optimizer turns products with it into solutions of linear systems.

    Parameters
    ----------
    inplace : bool
        Whether the result may overwrite the matrix.

    Raises
    ------
    numpy.linalg.LinAlgError
        At run time, for matrices that are not square, or singular.

    Examples
    --------
    >>> T.nlinalg.matrix_inverse(T.as_tensor([[2.0, 1.0], [1.0, 1.0]])).eval().round(6)
    array([[ 1., -1.],
           [-1.,  2.]])
    """

    shape_as = 0

    def __str__(self):
        return "MatrixInverse{inplace}" if self.inplace else "MatrixInverse"

    def make_node(self, x):
        x, = matrices("matrix_inverse", x)
        return Apply(self, [x], [result(x.type.dtype, x, *[order_of(x)] * 2)])

    def make_kernel(self, node):
        return InverseKernel(node.inputs[0].type.dtype, self.lead(node))

    def L_op(self, inputs, outputs, output_gradients):
        inverse = adjoint(outputs[0])
        return [-product(inverse, output_gradients[0], inverse)]

    def R_op(self, inputs, eval_points):
        inverse = self(*inputs)
        return [-product(inverse, eval_points[0], inverse)]


matrix_inverse = MatrixInverse()


class MatrixPinv(TwiceReversed):
    """The Moore-Penrose pseudo-inverse of each matrix, by its singular values.

    Singular values below ``rcond`` times the largest one count as zero. The optimizer replaces this op by an expression
    of singular values and vectors; without the optimizer, NumPy's function is called.

    Parameters
    ----------
    rcond : float or "lengths", optional
        "lengths" is the longer length times the precision of the dtype, NumPy's ``rtol=None``; the default is NumPy's.

    Raises
    ------
    numpy.linalg.LinAlgError
        At run time, if the singular values do not converge.

    Examples
    --------
    >>> T.nlinalg.pinv(T.as_tensor([[2.0, 0.0], [0.0, 4.0], [0.0, 0.0]])).eval().shape
    (2, 3)

    The options of ``numpy.linalg.pinv`` are taken by the call: ``rcond``, also as a variable, ``hermitian``, ``rtol``.

    >>> T.linalg.pinv(T.as_tensor([[2.0, 0.0], [0.0, 0.1]]), rcond=0.1).eval()
    array([[0.5, 0. ],
           [0. , 0. ]])
    """

    __props__ = ("rcond",)

    def __init__(self, rcond=None):
        self.rcond = rcond

    def __call__(self, x: Any, *options: Any, **named: Any) -> Any:
        """With the options of ``numpy.linalg.pinv`` (``rcond``, ``hermitian``, ``rtol``), that function's graph."""
        if options or named.keys() & {"rcond", "hermitian", "rtol"}:
            return hooks.numpy_protocol().call_function(numpy.linalg.pinv, (as_tensor_variable(x), *options), named)
        return super().__call__(x, **named)

    def make_node(self, x):
        x, = matrices("pinv", x)
        return Apply(self, [x], [transposed(x).type()])

    def perform(self, node, inputs, output_storage):
        options = {"rtol": None} if self.rcond == "lengths" else {} if self.rcond is None else {"rcond": self.rcond}
        output_storage[0][0] = numpy.linalg.pinv(inputs[0], **options).astype(inputs[0].dtype, copy=False)

    def infer_shape(self, node, input_shapes):
        *lead, height, width = input_shapes[0]
        return [(*lead, width, height)]

    def L_op(self, inputs, outputs, output_gradients):
        """See Golub and Pereyra, "The differentiation of pseudo-inverses"; for matrices of constant rank."""
        x, inverse = inputs[0], outputs[0]
        back, gradient = adjoint(inverse), output_gradients[0]
        left, right = product(x, inverse), product(inverse, x)
        first = -product(back, gradient, back)
        second = product(identity_for(left) - left, adjoint(gradient), inverse, back)
        third = product(back, inverse, adjoint(gradient), identity_for(right) - right)
        return [first + second + third]


pinv = MatrixPinv()


def from_singular_values(left, values, right, limit):
    """The pseudo-inverse from the factors of `svd`; singular values up to ``limit``, a column, count as zero."""
    one = numpy.asarray(1, values.type.dtype)
    kept = gt(values, limit)
    inverses = switch(kept, one / switch(kept, values, one), numpy.asarray(0, values.type.dtype))
    return product(adjoint(right) * as_dtype(rows(inverses), right.type.dtype), adjoint(left))


class Det(MatrixOp):
    """The determinant of each square matrix.

    Raises
    ------
    numpy.linalg.LinAlgError
        At run time, for matrices that are not square.

    Examples
    --------
    >>> float(T.nlinalg.det(T.as_tensor([[1.0, 2.0], [3.0, 4.0]])).eval().round(6))
    -2.0
    """

    __props__ = ()

    def make_node(self, x):
        x, = matrices("det", x)
        lead = x.type.ndim - 2
        return Apply(self, [x], [TensorType(x.type.dtype, x.type.broadcastable[:lead], shape=x.type.shape[:lead])()])

    def make_kernel(self, node):
        return DeterminantKernel(node.inputs[0].type.dtype, self.lead(node), False, False)

    def infer_shape(self, node, input_shapes):
        return [input_shapes[0][:-2]]

    def L_op(self, inputs, outputs, output_gradients):
        x, gradient = inputs[0], output_gradients[0]
        if _divides(outputs[0], gradient):          # 0 has no logarithm, so that the inverse exists, and d / d cancels
            return [columns(columns(gradient * conjugated(outputs[0]))) * adjoint(matrix_inverse(x))]
        return [columns(columns(gradient)) * adjoint(adjugate(x))]

    def R_op(self, inputs, eval_points):
        return [_trace(product(adjugate(inputs[0]), eval_points[0]))]


det = Det()


def _divides(determinant, gradient):
    """Whether the formula of a gradient divides by the determinant, or by a function of it, as that of its logarithm
    does."""
    waiting, seen = [(gradient, False)], set()
    while waiting and len(seen) < MOST_VISITED:
        variable, below = waiting.pop()
        if (variable, below) in seen:
            continue
        seen.add((variable, below))
        if variable is determinant and below:
            return True
        if variable.owner is not None and variable is not determinant:
            waiting += [(part, below or _is_divisor(variable.owner, position))
                        for position, part in enumerate(variable.owner.inputs)]
    return False


def _is_divisor(node, position):
    name = getattr(getattr(node.op, "scalar_op", None), "name", None)
    if name == "pow":
        exponent = constant_number(node.inputs[1])
        return position == 0 and exponent is not None and numpy.real(exponent) < 0
    return name == "inv" or name == "true_div" and position == 1


class Adjugate(MatrixOp):
    """The determinant of each matrix times its inverse; singular matrices have one, too.

    It is the transposed gradient of the determinant. Its own derivatives are those of singular matrices, too.

    Raises
    ------
    numpy.linalg.LinAlgError
        At run time, for matrices that are not square.
    """

    __props__ = ()
    shape_as = 0

    def make_node(self, x):
        x, = matrices("adjugate", x)
        return Apply(self, [x], [result(x.type.dtype, x, *[order_of(x)] * 2)])

    def make_kernel(self, node):
        return AdjugateKernel(node.inputs[0].type.dtype, self.lead(node))

    def L_op(self, inputs, outputs, output_gradients):
        u, s, vh, phase = _with_phase(inputs[0])
        moved = conjugated(phase) * product(vh, output_gradients[0], u)
        return [product(u, _moved_adjugate(s, moved), vh)]

    def R_op(self, inputs, eval_points):
        u, s, vh, phase = _with_phase(inputs[0])
        moved = _moved_adjugate(s, product(adjoint(u), eval_points[0], adjoint(vh)))
        return [phase * product(adjoint(vh), moved, adjoint(u))]


def _with_phase(x):
    """Return u, s and vh of x, and the determinant of ``u.vh``: x is that times u.s.vh of matrices of determinant 1."""
    u, s, vh = svd(x, full_matrices=False)          # square in any case, and only this form has derivatives
    return u, s, vh, columns(columns(det(u) * det(vh)))


def _moved_adjugate(s, x):
    """Return how the adjugate of a diagonal matrix changes with the matrix: the derivative in the direction x.

    Every element of an adjugate is a sum of products of elements, none of which divides. Of a diagonal matrix they are
    the products of all numbers but one; so an element beside the diagonal of x moves one, and one of the diagonal all
    but its own, in proportion to the product of the others. The map is its own adjoint.
    """
    others = _products_without(s)
    on_diagonal = diagonal(x, 0, x.type.ndim - 2, x.type.ndim - 1)
    same = identity_for(s)
    sums = Sum(axis=s.type.ndim)((1 - same) * others * rows(on_diagonal))
    return same * columns(sums) - (1 - same) * others * x


def _products_without(numbers):
    """Return the products of all numbers of a vector but two, for all pairs: a matrix, whose diagonal means nothing."""
    differs = 1 - identity_for(numbers)
    kept = dimshuffle(differs, 0, "x", 1) * dimshuffle(differs, "x", 0, 1)
    return prod(switch(kept, rows(rows(numbers)), 1), axis=numbers.type.ndim + 1)


adjugate = Adjugate()
MOST_VISITED = 64               # a limit, so that building a gradient stays linear


def _trace(x):
    return trace(x, axis1=x.type.ndim - 2, axis2=x.type.ndim - 1)


class SLogDet(MatrixOp):
    """The sign of the determinant of each square matrix, and the logarithm of its magnitude.

    For a singular matrix these are 0 and minus infinity. The sign of a complex determinant has the magnitude 1.

    Raises
    ------
    numpy.linalg.LinAlgError
        At run time, for matrices that are not square.

    Examples
    --------
    >>> sign, logarithm = T.nlinalg.SLogDet()(T.as_tensor([[1.0, 0.0], [0.0, -1.0]]))
    >>> sign.eval(), logarithm.eval()
    (array(-1.), array(0.))
    """

    __props__ = ()

    def make_node(self, x):
        x, = matrices("slogdet", x)
        lead = x.type.ndim - 2
        return Apply(self, [x], [TensorType(dtype, x.type.broadcastable[:lead], shape=x.type.shape[:lead])()
                                 for dtype in (x.type.dtype, real_dtype(x.type.dtype))])

    def make_kernel(self, node):
        return DeterminantKernel(node.inputs[0].type.dtype, self.lead(node), True, False)

    def infer_shape(self, node, input_shapes):
        return [input_shapes[0][:-2]] * 2

    def L_op(self, inputs, outputs, output_gradients):
        x, = inputs
        by_sign, by_logarithm = output_gradients
        weight = None if missing(by_logarithm) else as_dtype(by_logarithm, x.type.dtype)
        if x.type.dtype in complex_dtypes and not missing(by_sign):
            turning = imag(conjugated(by_sign) * outputs[0])
            turning = as_dtype(turning, x.type.dtype) * numpy.asarray(-1j, x.type.dtype)
            weight = turning if weight is None else weight + turning
        if weight is None:
            return [x.zeros_like()]
        return [columns(columns(weight)) * adjoint(matrix_inverse(x))]

    def R_op(self, inputs, eval_points):
        x, = inputs
        change = _trace(product(matrix_inverse(x), eval_points[0]))
        sign = self(x)[0]
        if x.type.dtype not in complex_dtypes:
            return [sign.zeros_like(), change]
        return [sign * as_dtype(imag(change), x.type.dtype) * numpy.asarray(1j, x.type.dtype), real(change)]


class FactoredDeterminant(MatrixOp):
    """The determinant, or its sign and the logarithm of its magnitude, from the outputs of `LUFactor`.

    Parameters
    ----------
    logarithm : bool
    """

    __props__ = ("logarithm",)

    def __init__(self, logarithm=False):
        self.logarithm = bool(logarithm)

    def make_node(self, factor, pivots):
        factor, = matrices("det", factor)
        lead = factor.type.ndim - 2
        dtypes = [factor.type.dtype, real_dtype(factor.type.dtype)][:1 + self.logarithm]
        return Apply(self, [factor, as_tensor_variable(pivots)],
                     [TensorType(dtype, factor.type.broadcastable[:lead], shape=factor.type.shape[:lead])()
                      for dtype in dtypes])

    def make_kernel(self, node):
        return DeterminantKernel(node.inputs[0].type.dtype, self.lead(node), self.logarithm, True)

    def infer_shape(self, node, input_shapes):
        return [input_shapes[0][:-2]] * (1 + self.logarithm)


def slogdet(a):
    """The sign and the logarithm of the magnitude of determinants, like ``numpy.linalg.slogdet``.

    Parameters
    ----------
    a : square matrix, or stack of them

    Returns
    -------
    sign, logabsdet : TensorVariable

    Raises
    ------
    numpy.linalg.LinAlgError
        At run time, for matrices that are not square.

    Examples
    --------
    >>> sign, logarithm = T.nlinalg.slogdet(T.as_tensor([[1.0, 0.0], [0.0, -1.0]]))
    >>> sign.eval()
    array(-1.)
    """
    return tuple(SLogDet()(a))


def lu_factor(a):
    """LU factors in one matrix, and pivots, like ``scipy.linalg.lu_factor``.

    Parameters
    ----------
    a : square matrix, or stack of them

    Returns
    -------
    factors : TensorVariable
        U on and above the diagonal, and L below, without its diagonal of ones.
    pivots : TensorVariable
        Row i was exchanged with row ``pivots[i]``. int32.

    Raises
    ------
    numpy.linalg.LinAlgError
        At run time, for matrices that are not square.

    Examples
    --------
    >>> lu, pivots = T.slinalg.lu_factor(T.as_tensor([[1.0, 2.0], [4.0, 2.0]]))
    >>> lu.eval(), pivots.eval()
    (array([[4.  , 2.  ],
           [0.25, 1.5 ]]), array([1, 1], dtype=int32))
    """
    factor, pivots = LUFactor()(transposed(as_tensor_variable(a)))
    return transposed(factor), pivots - numpy.int32(1)
