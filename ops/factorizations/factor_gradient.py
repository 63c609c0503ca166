"""The gradient with respect to a matrix, from the gradient with respect to its Cholesky factor, as a function of the
factor.

With ``L`` the lower factor and ``G`` the gradient, it is ``L^-H S L^-1``, where S is the Hermitian matrix whose lower
triangle is that of ``L^H G``; see Murray, "Differentiation of the Cholesky decomposition", arXiv:1602.07527. Two
frequent terms of G need no product of matrices: a solution ``x`` of ``L x = b``, or of ``L^H x = b``, whose gradient is
minus an outer product with a solution of ``L^H``, and the diagonal of L.
"""
import numpy

from phintys.graph.apply import Apply
from phintys.graph.op import InPlaceOp
from phintys.graph.variable import Constant
from phintys.ops.elementwise.complex_derivatives import conjugated
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.elementwise.scalar import as_dtype, isnan, real, switch
from phintys.ops.factorizations.cholesky_kernel import CholeskyInverseKernel, MirrorKernel
from phintys.ops.factorizations.solve import Solve, SolveTriangular, solve_triangular
from phintys.ops.factorizations.stacks import MatrixOp, adjoint, columns, matrices, order_of, product, result, rows
from phintys.ops.linalg.diagonal import AllocDiag, SetDiagonal, diagonal
from phintys.ops.linalg.triangle import Triangle, tril
from phintys.ops.products.batched_product import BatchedDot
from phintys.ops.products.dot import Dot
from phintys.ops.reduction.careduce import Any
from phintys.ops.shape.dimshuffle import DimShuffle, dimshuffle

MOST_TERMS = 16                        # of a gradient that are examined
HALF = numpy.asarray(0.5, "float32")


class SquareOp(MatrixOp):
    """The base class of ops whose input and output are square matrices of the same order."""

    shape_as = 0

    def make_node(self, x):
        x, = matrices(str(self), x)
        return Apply(self, [x], [result(x.type.dtype, x, *[order_of(x)] * 2)])


class Mirrored(InPlaceOp, SquareOp):
    """The Hermitian matrix whose lower triangle is that of x, with the real part of the diagonal.

    Parameters
    ----------
    inplace : bool
        Whether the result may overwrite x.
    """

    linear_in = (0,)

    def make_kernel(self, node):
        return MirrorKernel(node.inputs[0].type.dtype, self.lead(node))

    def L_op(self, inputs, outputs, output_gradients):
        gradient, = output_gradients
        return [halved(gradient + adjoint(gradient))]


class CholeskyInverse(SquareOp):
    """The inverse of a matrix whose lower Cholesky factor is x, by LAPACK's potri. Only the optimizer makes it.

    Parameters
    ----------
    on_error : {"raise", "nan"}
        How singular factors are treated.
    inplace : bool
        Whether the result may overwrite x.
    """

    __props__ = ("on_error", "inplace")
    can_overwrite = {0: (0,)}

    def __init__(self, on_error="raise", inplace=False):
        self.on_error, self.inplace = on_error, bool(inplace)
        if self.inplace:
            self.destroy_map = {0: [0]}

    def make_kernel(self, node):
        return CholeskyInverseKernel(node.inputs[0].type.dtype, self.lead(node), self.on_error == "nan")


mirrored = Mirrored()


def diagonal_of(x):
    """The diagonal of each matrix."""
    return diagonal(x, axis1=x.type.ndim - 2, axis2=x.type.ndim - 1)


def halved(x):
    """The lower triangle of each matrix with half of its diagonal."""
    rank = x.type.ndim
    return SetDiagonal(0, rank - 2, rank - 1)(tril(x, -1), diagonal_of(x) * HALF)


# ---- terms that need no product of matrices --------------------------------------------------------------------------
def op_of(variable, kind):
    """The op that computes a variable, if it is of this kind; else None."""
    return variable.owner.op if variable.owner is not None and type(variable.owner.op) is kind else None


def is_elementwise(variable, name):
    """Whether a node computes element by element, with one output."""
    op = op_of(variable, Elemwise)
    return op is not None and op.scalar_op.name == name


def terms_of(total):
    """The terms of a sum."""
    found, left = [], [total]
    while left:
        variable = left.pop()
        if is_elementwise(variable, "add") and len(found) + len(left) < MOST_TERMS and all(
                [each.type == variable.type for each in variable.owner.inputs]):
            left.extend(variable.owner.inputs)
        else:
            found.append(variable)
    return found


def is_zero(variable):
    """Whether a variable is known to be zero everywhere."""
    while op_of(variable, DimShuffle):
        variable = variable.owner.inputs[0]
    return isinstance(variable, Constant) and not numpy.any(variable.data)


def is_adjoint(variable, x):
    """Whether a variable is the adjoint of x, as `adjoint` writes it."""
    rank = variable.type.ndim
    return rank > 1 and without_adjoint(variable, (*range(rank - 2), rank - 1, rank - 2)) is x


def right_side(solution, factor):
    """``factor^H solution``, if the solution is that of a system with the adjoint of the lower factor; else None."""
    op = op_of(solution, SolveTriangular)
    if op is not None:
        matrix, side = solution.owner.inputs
        real = not matrix.type.dtype.startswith("complex")
        turned = matrix is factor and op.lower and (op.trans == 2 or real and op.trans == 1)
        straight = not op.lower and op.trans == 0 and is_adjoint(matrix, factor)
        return side if (turned or straight) and not op.unit_diagonal else None
    op = op_of(solution, Solve)
    if op is None or op.A_structure == "lower_triangular":
        return None
    matrix, side = solution.owner.inputs
    return side if is_adjoint(matrix, factor) else None


def without_sign(variable):
    """A variable without minus signs before it, and whether their number is odd."""
    return (variable.owner.inputs[0], True) if is_elementwise(variable, "neg") else (variable, False)


def without(variable, order):
    """The input of the dimshuffle that computes a variable; else None."""
    op = op_of(variable, DimShuffle)
    return variable.owner.inputs[0] if op is not None and op.new_order == order else None


def without_adjoint(variable, order):
    """The same of a conjugate, if the variable is complex."""
    if variable.type.dtype.startswith("complex"):
        if not is_elementwise(variable, "conj"):
            return None
        variable = variable.owner.inputs[0]
    return without(variable, order)


def outer_product(variable):
    """``left``, ``right`` and whether there is a minus, if a variable is ``left right^H`` as `gradient_by_matrix` makes
    it: of two vectors or two matrices; else None."""
    whole, negative = without_sign(variable)
    vectors = is_elementwise(whole, "mul")
    if not (vectors or op_of(whole, Dot) or op_of(whole, BatchedDot)) or len(whole.owner.inputs) != 2:
        return None
    left, right = whole.owner.inputs
    left, opposite = without_sign(left)
    if vectors:
        left, right = without(left, (0, "x")), without_adjoint(right, ("x", 0))
    else:
        rank = right.type.ndim
        right = without_adjoint(right, (*range(rank - 2), rank - 1, rank - 2)) if rank > 1 else None
    return None if left is None or right is None else (left, right, negative != opposite)


def times_adjoint(factor, term):
    """The lower triangle of ``factor^H term``, if the term is an outer product as `gradient_by_matrix` makes them, or
    the transpose of one; else None. The elements above the diagonal of the term do not affect it."""
    turned = without(term, (1, 0)) if term.type.ndim == 2 and not term.type.dtype.startswith("complex") else None
    inner = term if turned is None else turned
    op = op_of(inner, Triangle)
    if op is not None and op.upper == (turned is not None) and is_zero(inner.owner.inputs[1]):
        inner = inner.owner.inputs[0]
    found = outer_product(inner)
    if found is None:
        return None
    left, right, negative = found
    if turned is not None:
        left, right = right, left
    side = right_side(left, factor)
    if side is None:
        return None
    whole = columns(side) * conjugated(rows(right)) if side.type.ndim == 1 else product(side, adjoint(right))
    return None if whole.type != term.type else -whole if negative else whole


def diagonal_term(factor, term):
    """The diagonal of ``factor^H term``, if the term is a matrix as the gradient of a diagonal makes it; else None."""
    op, rank = op_of(term, SetDiagonal), factor.type.ndim
    if op is None or (op.offset, op.axis1, op.axis2) != (0, rank - 2, rank - 1):
        return None
    others, values = term.owner.inputs
    if not is_elementwise(others, "second") or not is_zero(others.owner.inputs[1]):
        return None
    return conjugated(diagonal_of(factor)) * values


def middle(factor, gradient):
    """The Hermitian matrix whose lower triangle is that of ``factor^H gradient``."""
    outer, diagonals, rest = [], [], []
    for term in terms_of(gradient):
        known = diagonal_term(factor, term)
        if known is not None:
            diagonals.append(known)
            continue
        known = times_adjoint(factor, term)
        (rest if known is None else outer).append(term if known is None else known)
    if rest:
        outer.append(product(adjoint(factor), sum(rest[1:], rest[0])))
    parts = []
    if outer:
        parts.append(mirrored(sum(outer[1:], outer[0])))
    if diagonals:
        rank = factor.type.ndim
        values = sum(diagonals[1:], diagonals[0])
        parts.append(AllocDiag(0, rank - 2, rank - 1)(as_dtype(real(values), values.type.dtype)))
    return sum(parts[1:], parts[0])


def gradient_by_factor(factor, gradient, lower, may_be_nan=False):
    """The gradient with respect to a matrix, in the triangle that is read.

    Parameters
    ----------
    factor, gradient : matrix, or stack of matrices
        The Cholesky factor, and the gradient with respect to it.
    lower : bool
        Which factor it is.
    may_be_nan : bool
        Whether factors may be NaN because there is no factor; the gradient is then NaN, too.
    """
    on_error = "nan" if may_be_nan else "raise"
    if not lower:
        factor, gradient = adjoint(factor), adjoint(gradient)
    whole = solve_triangular(factor, middle(factor, gradient), trans=2, lower=True, on_error=on_error)
    both = halved(solve_triangular(factor, adjoint(whole), trans=2, lower=True, on_error=on_error))
    both = both if lower else adjoint(both)
    if not may_be_nan:
        return both
    rank = factor.type.ndim
    missing = Any((rank - 2, rank - 1))(isnan(factor))
    return switch(dimshuffle(missing, *range(rank - 2), "x", "x"), numpy.nan, both)
