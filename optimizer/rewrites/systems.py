"""Inverses, pseudo-inverses, determinants and systems of linear equations.

Products with an inverse become solutions, logarithms of determinants are computed as such, and the structure of a
matrix (triangular, positive definite) is used. `share_factors` factors a matrix once for all nodes that solve a system
with it, invert it or take its determinant. Pseudo-inverses are computed from singular values and vectors, so that
kernels do the work without the GIL.
"""
import numpy

from phintys.ops.elementwise.complex_derivatives import conjugated
from phintys.ops.elementwise.elementwise_functions import maximum
from phintys.ops.elementwise.scalar import as_dtype, ge, log, switch
from phintys.ops.factorizations.cholesky import Cholesky, cholesky
from phintys.ops.factorizations.factor_gradient import CholeskyInverse
from phintys.ops.factorizations.hints import is_psd
from phintys.ops.factorizations.inverse import Det, FactoredDeterminant, MatrixInverse, SLogDet, from_singular_values
from phintys.ops.factorizations.orthogonal import svd
from phintys.ops.factorizations.solve import TRANSPOSED_STRUCTURE, LUFactor, LUSolve, Solve, cho_solve
from phintys.ops.factorizations.stacks import columns, identity_for, transposed
from phintys.ops.linalg.diagonal import diagonal
from phintys.ops.reduction.careduce import MaxOrLowest, Sum
from phintys.ops.shape.reshape import reshape
from phintys.ops.shape.shape import patternbroadcast, shape_i
from phintys.optimizer.engine.database import FAST_COMPILE, FAST_RUN, Rewrite
from phintys.optimizer.engine.forms import constant_value, key, only_reader
from phintys.optimizer.rewrites.blas_rewrites import is_transposed

SMALLEST_RATIO = 1e-15         # NumPy's: smaller singular values, relative to the largest, count as zero
PRODUCTS = ("Dot", "Dot22", "BatchedDot")
INVERSES = ("MatrixInverse", "DimShuffle")      # what computes an inverse, or transposes it
MOST_READERS = 16              # of an inverse, so that looking at all of them takes constant time


# ---- inverses --------------------------------------------------------------------------------------------------------
def inverted(fgraph, variable):
    """The matrix whose inverse a variable is, if only products read the inverse; else None."""
    turned = is_transposed(variable)
    inverse = variable.owner.inputs[0] if turned else variable
    if key(inverse) != "MatrixInverse":
        return None
    readers = list(fgraph.clients.get(inverse, ()))
    if len(readers) > MOST_READERS:
        return None
    for reader, _ in readers:
        if reader != "output" and is_transposed(reader.outputs[0]):
            further = fgraph.clients.get(reader.outputs[0], ())
            if len(further) > MOST_READERS or any([one == "output" or key(one.outputs[0]) not in PRODUCTS
                                                   for one, _ in further]):
                return None
        elif reader == "output" or key(reader.outputs[0]) not in PRODUCTS:
            return None
    matrix = inverse.owner.inputs[0]
    if not turned:
        return matrix
    return matrix if is_psd(matrix) and not matrix.type.dtype.startswith("complex") else transposed(matrix)


def inverse_as_solution(fgraph, node):
    """``dot(inverse(A), b) -> solve(A, b)`` and ``dot(b, inverse(A)) -> solve(A.T, b.T).T``."""
    left, right = node.inputs
    if key(left) not in INVERSES and key(right) not in INVERSES:        # nearly all products
        return None
    if key(node.outputs[0]) == "BatchedDot" and not left.type.ndim == right.type.ndim == 3:
        return None
    matrix = inverted(fgraph, left)
    if matrix is not None and right.type.ndim:
        return Solve()(matrix, right)
    matrix = inverted(fgraph, right)
    if matrix is None or not left.type.ndim:
        return None
    if not is_psd(matrix) or matrix.type.dtype.startswith("complex"):
        matrix = transposed(matrix)
    return Solve()(matrix, left) if left.type.ndim == 1 else transposed(Solve()(matrix, transposed(left)))


def inverse_of_transpose(fgraph, node):
    """``inverse(A).T -> inverse(A.T)``, if nothing else reads the inverse."""
    out, inverse = node.outputs[0], node.inputs[0]
    if key(inverse) != "MatrixInverse" or not is_transposed(out) or only_reader(fgraph, inverse) is None:
        return None
    return MatrixInverse()(transposed(inverse.owner.inputs[0]))


# ---- structure -------------------------------------------------------------------------------------------------------
def triangle_of(variable):
    """The structure of a matrix of which one triangle is zero, else None."""
    turned = is_transposed(variable)
    source = variable.owner.inputs[0] if turned else variable
    lower = None
    if key(source) == "Cholesky":
        lower = source.owner.op.lower
    elif key(source) == "Triangle" and constant_value(source.owner.inputs[1]) == 0:
        lower = not source.owner.op.upper
    return None if lower is None else "lower_triangular" if lower != turned else "upper_triangular"


def by_substitution(fgraph, node):
    """A general solution with a Cholesky factor or another triangle is one by substitution."""
    if node.op.A_structure in TRANSPOSED_STRUCTURE:
        return None
    structure = triangle_of(node.inputs[0])
    return None if structure is None else Solve(
        structure, structure == "lower_triangular", on_error=node.op.on_error)(*node.inputs)


def hinted(variable):
    """The matrix that the hint `psd` was given for, or for its transpose, if the two are equal; else None."""
    if is_transposed(variable) and not variable.type.dtype.startswith("complex"):
        variable = variable.owner.inputs[0]
    return variable.owner.inputs[0] if is_psd(variable) else None


def by_cholesky(fgraph, node):
    """A solution with a positive definite matrix by its Cholesky factor."""
    matrix = hinted(node.inputs[0])
    if node.op.A_structure in TRANSPOSED_STRUCTURE or matrix is None:
        return None
    factor = Cholesky(on_error=node.op.on_error)(matrix)
    return cho_solve((factor, True), node.inputs[1], on_error=node.op.on_error)


def inverse_by_cholesky(fgraph, node):
    """The inverse of a positive definite matrix by its Cholesky factor, which others need, too."""
    matrix = hinted(node.inputs[0])
    if matrix is None or inverted(fgraph, node.outputs[0]) is not None:
        return None
    return CholeskyInverse()(cholesky(matrix))


def remove_hint(fgraph, node):
    """An op that only says what is known of a matrix → the matrix."""
    return node.inputs[0]


def with_one_matrix(fgraph, node):
    """A stack of systems with one matrix is one system: ``solve(alloc(A, k, n, n), b) -> solve(A, [b[0], b[1], ...])``.

    The right-hand sides are columns side by side; vectors are so already, as the rows of a matrix.
    """
    stack, right = node.inputs
    if key(stack) != "Alloc" or stack.type.ndim != 3 or right.type.ndim != 3:
        return None
    matrix = stack.owner.inputs[0]
    if matrix.type.ndim < 2 or True in matrix.type.broadcastable[-2:] or False in matrix.type.broadcastable[:-2]:
        return None
    matrix = matrix.dimshuffle(matrix.type.ndim - 2, matrix.type.ndim - 1)
    if right.type.broadcastable[2]:
        return node.op(matrix, right.dimshuffle(1, 0)).dimshuffle(1, 0, "x")
    count, rows, columns = [shape_i(right, axis) for axis in range(3)]
    together = reshape(right.dimshuffle(1, 0, 2), [rows, count * columns], ndim=2)
    return reshape(node.op(matrix, together), [rows, count, columns], ndim=3).dimshuffle(1, 0, 2)


# ---- determinants ----------------------------------------------------------------------------------------------------
def known_factor(fgraph, matrix):
    """The Cholesky factor of a matrix with the hint `psd`, or of one that has a factor in the graph; else None."""
    certain = hinted(matrix)
    if certain is not None:
        return cholesky(certain)
    readers = fgraph.clients.get(matrix, ())
    if len(readers) <= MOST_READERS:
        for reader, _ in readers:
            if reader != "output" and type(reader.op) is Cholesky and reader.op.on_error == "raise":
                return reader.outputs[0]
    return None


def twice_log_diagonal(factor):
    """The logarithm of the determinant of a matrix with a Cholesky factor."""
    rank = factor.type.ndim
    values = diagonal(factor, axis1=rank - 2, axis2=rank - 1)
    return Sum(rank - 2)(log(values)) * numpy.asarray(2, "int8")


def is_real(variable):
    """Whether a variable has real floating-point elements."""
    return variable.type.dtype in ("float32", "float64")


def log_of_determinant(fgraph, node):
    """``log(det(A))`` without overflow: from the Cholesky factor if there is one, else by slogdet; NaN for negative
    determinants."""
    inner = node.inputs[0]
    magnitude = key(inner) == "abs_"
    inner = inner.owner.inputs[0] if magnitude else inner
    if key(inner) != "Det" or not is_real(inner) or node.outputs[0].type.dtype != inner.type.dtype:
        return None
    matrix = inner.owner.inputs[0]
    factor = known_factor(fgraph, matrix)
    if factor is not None:
        return twice_log_diagonal(factor)
    sign, logarithm = SLogDet()(matrix)
    undefined = numpy.asarray(numpy.nan, logarithm.type.dtype)
    return logarithm if magnitude else switch(ge(sign, 0), logarithm, undefined)


def determinant_by_cholesky(fgraph, node):
    """The sign and the logarithm of a determinant whose Cholesky factor is known."""
    matrix = node.inputs[0]
    factor = known_factor(fgraph, matrix) if is_real(matrix) else None
    if factor is None:
        return None
    logarithm = twice_log_diagonal(factor)
    return [logarithm.zeros_like() + numpy.asarray(1, "int8"), logarithm]


# ---- one factorization for all readers -------------------------------------------------------------------------------
def base_of(variable):
    """The matrix without transpositions and conjugations, whether it is transposed, and whether it is conjugated."""
    turned = opposite = False
    for _ in range(MOST_READERS):
        if is_transposed(variable):
            turned = not turned
        elif key(variable) == "conj" and variable.owner.inputs[0].type == variable.type:
            opposite = not opposite
        else:
            break
        variable = variable.owner.inputs[0]
    return variable, turned, opposite


def solution(factors, opposite, turned, right, on_error="raise"):
    """The solution of a system with the matrix, its transpose, or the conjugate of either."""
    solve = LUSolve(turned, on_error=on_error)
    return conjugated(solve(*factors, conjugated(right))) if opposite else solve(*factors, right)


def from_factors(node, factors, turned, opposite):
    """The outputs of a node, computed from the LU factors of the matrix of its first input."""
    if type(node.op) is Solve:
        return [solution(factors, opposite, turned, node.inputs[1], node.op.on_error)]
    if type(node.op) is MatrixInverse:
        return [solution(factors, opposite, turned, identity_for(node.inputs[0]))]
    results = FactoredDeterminant(type(node.op) is SLogDet)(*factors, return_list=True)
    return [conjugated(results[0]), *results[1:]] if opposite else results


def share_factors(fgraph):
    """Factor each matrix once that several nodes factor; return how many nodes use the factors."""
    readers = {}
    for node in fgraph.toposort():
        kind = type(node.op)
        if kind in (MatrixInverse, Det, SLogDet) or kind is Solve and node.op.A_structure not in TRANSPOSED_STRUCTURE:
            base, turned, opposite = base_of(node.inputs[0])
            if base.type.dtype == node.inputs[0].type.dtype:
                readers.setdefault(base, []).append((node, turned, opposite))
    made = 0
    for base, nodes in readers.items():
        if len(nodes) < 2:
            continue
        factors = LUFactor()(base)
        factors[0].owner._position = nodes[0][0]._position
        for node, turned, opposite in nodes:
            for old, new in zip(node.outputs, from_factors(node, factors, turned, opposite)):
                new.owner._position = node._position
                new = patternbroadcast(new, old.type.broadcastable)
                new.name = old.name
                fgraph.replace(old, new, reason="share_factors")
            made += 1
    return made


# ---- pseudo-inverses -------------------------------------------------------------------------------------------------
def by_singular_values(fgraph, node):
    """A pseudo-inverse from the singular values and vectors."""
    x, op = node.inputs[0], node.op
    left, values, right = svd(x, full_matrices=False)
    largest = MaxOrLowest(values.type.ndim - 1)(values)                 # there may be none
    ratio = SMALLEST_RATIO if op.rcond is None else op.rcond
    if ratio == "lengths":
        ratio = numpy.finfo(values.type.dtype).eps
        lengths = [shape_i(x, axis) for axis in (x.type.ndim - 2, x.type.ndim - 1)]
        largest = largest * as_dtype(maximum(*lengths), values.type.dtype)
    return from_singular_values(left, values, right, columns(largest * numpy.asarray(ratio, values.type.dtype)))


REWRITES = [
    Rewrite("inv_as_solve", PRODUCTS, inverse_as_solution, (FAST_RUN,), of=INVERSES,
            changes="nan range rounding errors"),
    Rewrite("transinv_to_invtrans", ("DimShuffle",), inverse_of_transpose, (FAST_RUN,), of=("MatrixInverse",),
            changes="rounding"),
    Rewrite("psd_solve_with_chol", ("Solve",), by_cholesky, (FAST_RUN,), changes="nan range rounding errors"),
    Rewrite("psd_inverse_with_chol", ("MatrixInverse",), inverse_by_cholesky, (FAST_RUN,),
            changes="nan range rounding errors"),
    Rewrite("tag_solve_triangular", ("Solve",), by_substitution, (FAST_RUN,), changes="nan range rounding errors"),
    Rewrite("local_solve_of_one_matrix", ("Solve", "SolveTriangular"), with_one_matrix, (FAST_RUN,),
            changes="rounding"),
    Rewrite("local_log_det", ("log",), log_of_determinant, (FAST_RUN,), changes="nan range rounding errors"),
    Rewrite("local_det_chol", ("SLogDet",), determinant_by_cholesky, (FAST_RUN,), changes="nan range rounding errors"),
]
HINTS = [Rewrite("remove_hint_nodes", ("Hint",), remove_hint, (FAST_RUN,))]
PSEUDO_INVERSES = [Rewrite("local_pinv", ("MatrixPinv",), by_singular_values, (FAST_RUN, FAST_COMPILE),
                           changes="rounding")]
