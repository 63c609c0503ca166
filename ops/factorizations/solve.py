"""Solutions of linear systems: general ones by LU factors, triangular ones by substitution.

`LUFactor` and `LUSolve` are the two halves of a general solution. The optimizer replaces solutions, inverses and
determinants of one matrix by them, so that the matrix is factored once.
"""
from __future__ import annotations

from typing import Any

from phintys.graph import hooks
from phintys.graph.apply import Apply
from phintys.ops.elementwise.complex_derivatives import conjugated
from phintys.ops.elementwise.scalar import as_dtype
from phintys.ops.factorizations.lu_kernel import LUFactorKernel, LUSolveKernel, SolveKernel
from phintys.ops.factorizations.permutation import permutation_matrix
from phintys.ops.factorizations.stacks import (
    MatrixOp,
    TwiceReversed,
    adjoint,
    columns,
    identity_for,
    matrices,
    product,
    rows,
    transposed,
)
from phintys.ops.factorizations.triangular_kernel import TriangularSolveKernel
from phintys.ops.linalg.triangle import tril, triu
from phintys.ops.shape.dimshuffle import dimshuffle, shape_padleft
from phintys.ops.shape.shape import patternbroadcast
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.tensor_type import TensorType

MATRIX_STRUCTURES = ("general", "symmetric", "lower_triangular", "upper_triangular", "hermitian", "banded", "diagonal",
                     "toeplitz")


def checked_on_error(choice):
    """Return "raise" or "nan", what is done about singular matrices; raise ValueError for anything else."""
    if choice not in ("raise", "nan"):
        raise ValueError(f'on_error must be one of "raise" or "nan", got {choice!r}')
    return choice


def system(name, A, b):
    """The operands of a solution with equally many leading dimensions, and the type of the solution. A vector b, of
    rank 1, needs a single matrix."""
    A = as_tensor_variable(A)
    A, b = matrices(name, A, b, least=1)
    if A.type.ndim < 2:
        matrices(name, A)                            # raises
    if b.type.ndim == 1:
        if A.type.ndim > 2:
            raise ValueError(f"{name}: a stack of matrices needs a stack of right-hand sides that are matrices, got "
                             f"the vector {b}")
        return A, b, TensorType(b.type.dtype, b.type.broadcastable, shape=b.type.shape)
    rank = max(A.type.ndim, b.type.ndim)
    A, b = [shape_padleft(x, rank - x.type.ndim) if x.type.ndim < rank else x for x in (A, b)]
    lengths = [right if left == 1 else left if left is not None or right == 1 else right
               for left, right in zip(A.type.shape[:-2], b.type.shape[:-2])]
    flags = [left and right for left, right in zip(A.type.broadcastable[:-2], b.type.broadcastable[:-2])]
    return A, b, TensorType(b.type.dtype, [*flags, *b.type.broadcastable[-2:]], shape=[*lengths, *b.type.shape[-2:]])


def broadcast_lead(node, input_shapes, of, by):
    """The lengths of leading dimensions of the result of two broadcast inputs."""
    flags = node.inputs[of].type.broadcastable
    lead = node.inputs[of].type.ndim - 2
    return [input_shapes[by][axis] if flags[axis] else input_shapes[of][axis] for axis in range(lead)]


def gradient_by_matrix(A, b, left, right):
    """The gradient with respect to the matrix: minus the outer product of two solutions.

    One is the solution of the system, the other the gradient with respect to the right-hand side. `factor_gradient`
    recognizes the form of this formula."""
    if b.type.ndim == 1:
        whole = -columns(left) * conjugated(rows(right))
    else:
        whole = -product(left, adjoint(right))
    return as_operand(whole, A)


def as_operand(gradient, operand):
    """A gradient summed over the leading dimensions that are broadcast."""
    flags = operand.type.broadcastable
    axes = [axis for axis in range(operand.type.ndim - 2) if flags[axis] and not gradient.type.broadcastable[axis]]
    if axes:
        gradient = gradient.sum(axis=axes, keepdims=True)
    return patternbroadcast(gradient, flags)


class System(MatrixOp):
    """The base class of solutions of ``A y = b``, or of a system with the transpose: the inputs are A and b, a vector,
    a matrix or a stack of matrices."""

    def _name(self):
        return "solve"

    def make_node(self, A, b):
        A, b, type_of_result = system(self._name(), A, b)
        return Apply(self, [A, b], [type_of_result()])

    def infer_shape(self, node, input_shapes):
        if node.inputs[1].type.ndim == 1:
            return [input_shapes[1]]
        return [(*broadcast_lead(node, input_shapes, 0, 1), *input_shapes[1][-2:])]

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        if len(inputs) == 2:
            A, b = [as_tensor_variable(value) for value in inputs]
            if b.type.ndim == 1 and A.type.ndim > 2:
                solution = super().__call__(A, columns(b), **options)
                return dimshuffle(solution, *range(solution.type.ndim - 1))
        return super().__call__(*inputs, **options)

    def part(self, x):
        """The part of a matrix that the op reads."""
        return x

    def R_op(self, inputs, eval_points):
        by_A, by_b = eval_points
        A, b = inputs
        if by_A is None and by_b is None:
            return [None]
        right = None
        if by_A is not None:
            changed = self.part(by_A)
            changed = self.turned(changed)
            right = -product(changed, self(A, b))
        if by_b is not None:
            right = by_b if right is None else right + by_b
        return [self(A, right)]

    def turned(self, x):
        """A change of the matrix, transposed if the system is."""
        return x


class Solve(System):
    """Solves ``A x = b``. The inputs are A and b, a vector, a matrix or a stack of matrices.

    Parameters
    ----------
    A_structure : str
        "lower_triangular" and "upper_triangular": only this triangle is read. All others are solved by LU factors.
    lower : bool
        Not used; Theano has it.
    overwrite_A : bool
        Not used; Theano has it.
    overwrite_b : bool
        Whether the solution may overwrite b.
    on_error : {"raise", "nan"}
        How infinities, NaN and singular matrices are treated: "nan" computes with them, or sets the solution to NaN.

    Raises
    ------
    ValueError
        For an unknown structure; at run time for lengths that do not fit, and for infinities and NaN.
    numpy.linalg.LinAlgError
        At run time, for matrices that are not square, or singular.

    Examples
    --------
    >>> a, b = T.as_tensor([[2.0, 0.0], [1.0, 1.0]]), T.as_tensor([4.0, 3.0])
    >>> T.slinalg.solve(a, b).eval()
    array([2., 1.])

    Arguments of ``scipy.linalg.solve`` are taken: what is assumed of the matrix says which part of it is read.

    >>> T.slinalg.solve(a, b, assume_a="pos", lower=True).eval()
    array([1., 2.])
    """

    __props__ = ("A_structure", "lower", "overwrite_A", "overwrite_b", "on_error")
    can_overwrite = {0: (1,)}
    inplace_property = "overwrite_b"

    def __init__(self, A_structure="general", lower=False, overwrite_A=False, overwrite_b=False, on_error="raise"):
        if A_structure not in MATRIX_STRUCTURES:
            raise ValueError(f"Invalid matrix structure argument, got {A_structure!r}")
        self.on_error = checked_on_error(on_error)
        self.A_structure = A_structure
        self.lower, self.overwrite_A, self.overwrite_b = bool(lower), bool(overwrite_A), bool(overwrite_b)
        if self.overwrite_b:
            self.destroy_map = {0: [1]}

    def __call__(self, *inputs: Any, assume_a: str | None = None, lower: bool = False, transposed: bool = False,
                 overwrite_a: bool = False, overwrite_b: bool = False, check_finite: bool = True,
                 **options: Any) -> Any:
        """With arguments of ``scipy.linalg.solve``, the last three of which make no difference to a variable."""
        if assume_a is None and not transposed:
            return super().__call__(*inputs, **options)
        A, b = [as_tensor_variable(value) for value in inputs]
        by = hooks.structured_systems().solve_assuming
        return by(A, b, assume_a or "general", lower, bool(transposed), self.on_error)

    def __str__(self):
        return f"Solve{{{(self.A_structure, self.lower, self.overwrite_A, self.overwrite_b)}}}"

    def make_kernel(self, node):
        A, b = node.inputs
        rank = min(b.type.ndim, 2)
        if self.A_structure in TRANSPOSED_STRUCTURE:
            return TriangularSolveKernel(A.type.dtype, self.lead(node), rank, self.A_structure == "lower_triangular", 0,
                                         False, self.on_error == "nan", **self.spread(node))
        return SolveKernel(A.type.dtype, self.lead(node), rank, self.on_error == "nan", **self.spread(node))

    def part(self, x):
        return {"lower_triangular": tril, "upper_triangular": triu}.get(self.A_structure, lambda x: x)(x)

    def L_op(self, inputs, outputs, output_gradients):
        """See Giles, "An extended collection of matrix derivative results for forward and reverse mode algorithmic
        differentiation"."""
        A, b = inputs
        structure = TRANSPOSED_STRUCTURE.get(self.A_structure, self.A_structure)
        by_b = Solve(structure, not self.lower, on_error=self.on_error)(adjoint(A), output_gradients[0])
        by_A = self.part(gradient_by_matrix(A, b, by_b, outputs[0]))
        return [by_A, by_b if b.type.ndim == 1 else as_operand(by_b, b)]


TRANSPOSED_STRUCTURE = {"lower_triangular": "upper_triangular", "upper_triangular": "lower_triangular"}


class SolveTriangular(System):
    """Solves ``op(A) x = b`` for a triangular A. The inputs are A and b, a vector, a matrix or a stack of matrices.

    Parameters
    ----------
    lower : bool
        Which triangle of A is read.
    trans : {0, 1, 2}
        Whether to solve with A, its transpose or its conjugate transpose.
    unit_diagonal : bool
        Whether the diagonal is taken to be all ones, and not read.
    inplace : bool
        Whether the solution may overwrite b.
    on_error : {"raise", "nan"}
        As of `Solve`.

    Examples
    --------
    >>> a, b = T.as_tensor([[2.0, 0.0], [1.0, 1.0]]), T.as_tensor([4.0, 3.0])
    >>> T.slinalg.SolveTriangular(lower=True)(a, b).eval()
    array([2., 1.])
    """

    __props__ = ("lower", "trans", "unit_diagonal", "inplace", "on_error")
    can_overwrite = {0: (1,)}

    def __init__(self, lower=False, trans=0, unit_diagonal=False, inplace=False, on_error="raise"):
        self.on_error = checked_on_error(on_error)
        self.lower, self.trans = bool(lower), int(trans)
        self.unit_diagonal, self.inplace = bool(unit_diagonal), bool(inplace)
        if self.inplace:
            self.destroy_map = {0: [1]}

    def _name(self):
        return "solve_triangular"

    def make_kernel(self, node):
        A, b = node.inputs
        return TriangularSolveKernel(A.type.dtype, self.lead(node), min(b.type.ndim, 2), self.lower, self.trans,
                                     self.unit_diagonal, self.on_error == "nan", **self.spread(node))

    def part(self, x):
        if self.lower:
            return tril(x, -1 if self.unit_diagonal else 0)
        return triu(x, 1 if self.unit_diagonal else 0)

    def turned(self, x):
        return [x, transposed(x), adjoint(x)][self.trans] if self.trans else x

    def L_op(self, inputs, outputs, output_gradients):
        A, b = inputs
        gradient, solution = output_gradients[0], outputs[0]
        if self.trans == 1 and A.type.dtype.startswith("complex"):
            by_b = conjugated(self._with(trans=0)(A, conjugated(gradient)))
        else:
            by_b = self._with(trans=0 if self.trans else 2)(A, gradient)
        if self.trans == 1 and A.type.dtype.startswith("complex"):
            by_A = transposed(gradient_by_matrix(A, b, by_b, solution))
        else:
            by_A = gradient_by_matrix(A, b, *[solution, by_b] if self.trans else [by_b, solution])
        return [self.part(by_A), by_b if b.type.ndim == 1 else as_operand(by_b, b)]

    def _with(self, trans):
        return SolveTriangular(self.lower, trans, self.unit_diagonal, on_error=self.on_error)


class LUFactor(TwiceReversed):
    """The LU factors of the transpose of each matrix, and the pivots, which count from 1.

    Both factors are in one matrix, the transpose of LAPACK's. In this form a matrix in C order need not be copied."""

    __props__ = ()

    def make_node(self, x):
        x, = matrices("lu_factor", x)
        pivots = TensorType("int32", [*x.type.broadcastable[:-2], False], shape=[*x.type.shape[:-2], x.type.shape[-1]])
        return Apply(self, [x], [x.type(), pivots()])

    def make_kernel(self, node):
        return LUFactorKernel(node.inputs[0].type.dtype, self.lead(node))

    def infer_shape(self, node, input_shapes):
        return [input_shapes[0], input_shapes[0][:-1]]

    def connection_pattern(self, node):
        return [[True, False]]

    def L_op(self, inputs, outputs, output_gradients):
        """With ``P x.T = L U``: the gradient of x.T is ``P.T L^-H (tril(L^H gL, -1) + triu(gU U^H)) U^-H``."""
        packed, gradient = transposed(outputs[0]), transposed(output_gradients[0])
        left = tril(product(adjoint_of_unit_lower(packed), tril(gradient, -1)), -1)
        right = triu(product(triu(gradient), adjoint(triu(packed))))
        inner = SolveTriangular(lower=True, trans=2, unit_diagonal=True)(packed, left + right)
        inner = adjoint(SolveTriangular(lower=False)(packed, adjoint(inner)))
        return [transposed(product(transposed(permutation_matrix(outputs[1], inner.type.dtype)), inner))]


def adjoint_of_unit_lower(packed):
    """The adjoint of L, whose diagonal of ones is not stored."""
    from_below = tril(packed, -1)
    identity = identity_for(packed)
    lead = packed.type.ndim - 2
    return adjoint(from_below + (shape_padleft(identity, lead) if lead else identity))


class LUSolve(MatrixOp):
    """Solves with the outputs of `LUFactor`: ``A x = b``, or ``transpose(A) x = b``. The inputs are the factors, the
    pivots, and b, a vector, a matrix or a stack of matrices.

    Parameters
    ----------
    trans : bool
        Whether to solve with the transpose.
    inplace : bool
        Whether the solution may overwrite b.
    on_error : {"raise", "nan"}
        As of `Solve`.
    """

    __props__ = ("trans", "inplace", "on_error")
    can_overwrite = {0: (2,)}
    depends_on = (0, 2)

    def __init__(self, trans=False, inplace=False, on_error="raise"):
        self.on_error = checked_on_error(on_error)
        self.trans, self.inplace = bool(trans), bool(inplace)
        if self.inplace:
            self.destroy_map = {0: [2]}

    def make_node(self, factor, pivots, b):
        pivots = as_tensor_variable(pivots)
        factor, b, type_of_result = system("lu_solve", factor, b)
        if pivots.type.ndim < factor.type.ndim - 1:
            pivots = shape_padleft(pivots, factor.type.ndim - 1 - pivots.type.ndim)
        return Apply(self, [factor, as_dtype(pivots, "int32"), b], [type_of_result()])

    def make_kernel(self, node):
        factor, _, b = node.inputs
        return LUSolveKernel(factor.type.dtype, self.lead(node), min(b.type.ndim, 2), self.trans,
                             self.on_error == "nan", **self.spread(node))

    def infer_shape(self, node, input_shapes):
        if node.inputs[2].type.ndim == 1:
            return [input_shapes[2]]
        return [(*broadcast_lead(node, input_shapes, 0, 2), *input_shapes[2][-2:])]


solve = Solve()
solve_lower_triangular = Solve(A_structure="lower_triangular", lower=True)
solve_upper_triangular = Solve(A_structure="upper_triangular", lower=False)
solve_symmetric = Solve(A_structure="symmetric")

TRANSPOSITIONS = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}


def solve_triangular(a, b, trans=0, lower=False, unit_diagonal=False, on_error="raise"):
    """Solve ``a x = b`` for a triangular matrix, like ``scipy.linalg.solve_triangular``.

    Parameters
    ----------
    a : matrix, or stack of matrices
        Only the triangle that ``lower`` names is read.
    b : vector, matrix, or stack of matrices
    trans : {0, 1, 2, "N", "T", "C"}
        Whether to solve with ``a``, its transpose or its conjugate transpose.
    lower, unit_diagonal : bool
        ``unit_diagonal``: the diagonal is taken to be all ones, and not read.
    on_error : {"raise", "nan"}
        "nan": infinities and NaN are computed with, and the solution of a singular system is NaN.

    Returns
    -------
    TensorVariable
        Of the shape of ``b``, with leading dimensions broadcast.

    Raises
    ------
    ValueError
        For another ``trans``; at run time, for infinities and NaN, and lengths that do not fit.
    numpy.linalg.LinAlgError
        At run time, for a zero on the diagonal.

    Examples
    --------
    >>> T.slinalg.solve_triangular(T.as_tensor([[2.0, 1.0], [0.0, 4.0]]), [4.0, 8.0]).eval()
    array([1., 2.])
    """
    if trans not in TRANSPOSITIONS:
        raise ValueError(f"solve_triangular: trans must be one of {[*TRANSPOSITIONS]}, got {trans!r}")
    return SolveTriangular(lower, TRANSPOSITIONS[trans], unit_diagonal, on_error=on_error)(a, b)


def cho_solve(c_and_lower, b, on_error="raise"):
    """Solve ``A x = b`` with the Cholesky factor of A, like ``scipy.linalg.cho_solve``.

    Parameters
    ----------
    c_and_lower : (matrix, bool)
        The factor, and whether it is the lower one.
    b : vector, matrix, or stack of matrices
    on_error : {"raise", "nan"}
        As of `solve_triangular`.

    Raises
    ------
    ValueError, numpy.linalg.LinAlgError
        See `solve_triangular`.

    Examples
    --------
    >>> factor = T.as_tensor([[2.0, 0.0], [1.0, 1.0]])
    >>> T.slinalg.cho_solve((factor, True), T.as_tensor([4.0, 4.0])).eval()
    array([0., 2.])
    """
    factor, lower = c_and_lower
    first = solve_triangular(factor, b, trans=0 if lower else 2, lower=lower, on_error=on_error)
    return solve_triangular(factor, first, trans=2 if lower else 0, lower=lower, on_error=on_error)
