"""Diagonals of products, products with diagonal matrices, and diagonals that are subtracted from their matrices again.

    diagonal(dot(A, B)) = sum(A * B.T, axis=1)       dot(diag(v), B) = v[:, None] * B       dot(A, diag(v)) = A * v
    x * c - diag(k * diagonal(x)) = x * (c - k * identity)
    (x + x.T) * c - diag(k * diagonal(x)) = (x + x.T) * (c - k / 2 * identity)

with a constant matrix c and a number k. The gradient of a Cholesky factor is a triangle less half of its diagonal, or
less its diagonal when its transpose was added; written by masks, these are such formulas. The right side needs no
matrix for the diagonal, and has no difference of equal numbers.
"""
import numpy

from phintys.graph.variable import Constant
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.constant import constant
from phintys.ops.types.dtypes import CONTINUOUS_DTYPES
from phintys.optimizer.engine.database import FAST_RUN, Rewrite
from phintys.optimizer.engine.forms import is_inside, key, product_of
from phintys.optimizer.engine.values import apply_op
from phintys.optimizer.passes.shapes import feature_of
from phintys.optimizer.rewrites import sums

NEARBY = 4                     # nodes between a diagonal and the op that makes a matrix of it


def _main_diagonal(variable):
    """Return ``(k, x)`` if a matrix has ``k * diagonal(x)`` on its diagonal and zeros elsewhere, else None twice."""
    op = variable.owner.op
    if (op.offset, op.axis1, op.axis2) != (0, 0, 1) or variable.type.ndim != 2:
        return None, None
    product = product_of(variable.owner.inputs[0], lambda other: 1, NEARBY)
    if list(product.powers.values()) != [1] or type(product.coefficient) not in (int, float):
        return None, None
    diagonal, = product.powers
    if key(diagonal) != "ExtractDiag":
        return None, None
    taken, x = diagonal.owner.op, diagonal.owner.inputs[0]
    if key(x) == "DimShuffle" and x.owner.op.new_order == (1, 0):
        x = x.owner.inputs[0]
    is_main = x.type.ndim == 2 and (taken.offset, {taken.axis1, taken.axis2}) == (0, {0, 1})
    return (product.coefficient, x) if is_main else (None, None)


def _is_transposed(variable, x):
    return key(variable) == "DimShuffle" and variable.owner.op.new_order == (1, 0) and variable.owner.inputs[0] is x


def _multiple(variable, x):
    """Return how many times the diagonal of x is on the diagonal of a variable, if that is certain, else None."""
    if variable is x or _is_transposed(variable, x):
        return 1
    if key(variable) != "add" or len(variable.owner.inputs) != 2:
        return None
    return 2 if all([term is x or _is_transposed(term, x) for term in variable.owner.inputs]) else None


def _masked(variable, x):
    """Return ``(other factor, constant, multiple)`` if a variable is a product of a constant matrix and a matrix with a
    multiple of the diagonal of x, else None."""
    if key(variable) != "mul" or len(variable.owner.inputs) != 2:
        return None
    for mask, other in (variable.owner.inputs, variable.owner.inputs[::-1]):
        multiple = _multiple(other, x)
        if multiple is not None and isinstance(mask, Constant) and mask.type == variable.type \
                and mask.data.ndim == 2 and mask.data.shape[0] == mask.data.shape[1]:
            return other, mask, multiple
    return None


def subtracted_diagonal(fgraph, node):
    """A product with a constant matrix, less a multiple of its own diagonal."""
    out = node.outputs[0]
    if out.type.ndim != 2 or out.type.dtype not in ("float32", "float64") or is_inside(fgraph, out, sums.KEYS):
        return None
    total = sums.sum_in(fgraph, out)
    for sign, term in total.terms:
        scale, x = _main_diagonal(term) if key(term) == "AllocDiag" else (None, None)
        for other_sign, other in total.terms if x is not None else ():
            found = _masked(other, x)
            if found is not None:
                whole = (other_sign, _without_part(*found, scale * sign * other_sign))
                rest = [entry for entry in total.terms if entry[1] not in (term, other)]
                return sums.build([whole, *rest], total.constant, total.leaves, out)
    return None


def _without_part(matrix, mask, multiple, scale):
    """The product of a matrix and a mask, with a multiple of the diagonal added to it."""
    changed = mask.data + (scale / multiple * numpy.identity(len(mask.data))).astype(mask.data.dtype)
    return apply_op("mul", matrix, constant(changed))


def diagonal_of_product(fgraph, node):
    """``diagonal(dot(A, B)) -> sum(A * B.T, axis=1)``, of as many rows as the product has numbers on its diagonal, if
    nothing else reads the product. A trace of a product therefore takes no product of all rows with all columns."""
    product, out = node.inputs[0], node.outputs[0]
    if key(product) != "Dot" or (node.op.offset, node.op.axis1, node.op.axis2) != (0, 0, 1) \
            or len(fgraph.clients[product]) != 1 or not _are_matrices(product.owner.inputs, out.type.dtype):
        return None
    a, b = product.owner.inputs
    lengths = feature_of(fgraph)
    if a.type.broadcastable != b.type.broadcastable[::-1]:
        return None
    if not lengths.is_length(lengths.shape(a)[0], b, 1):
        count = apply_op("minimum", shape_i(a, 0), shape_i(b, 1))
        a, b = a[:count], b[:, :count]
    return apply_op("mul", a, b.dimshuffle(1, 0)).sum(axis=1)


def product_with_diagonal(fgraph, node):
    """``dot(diag(v), B) -> v[:, None] * B`` and ``dot(A, diag(v)) -> A * v``."""
    first, second = node.inputs
    if not _are_matrices(node.inputs, node.outputs[0].type.dtype):
        return None
    if _is_diagonal(first) and first.type.broadcastable[1] == second.type.broadcastable[0]:
        return apply_op("mul", first.owner.inputs[0].dimshuffle(0, "x"), second)
    if _is_diagonal(second) and first.type.broadcastable[1] == second.type.broadcastable[0]:
        return apply_op("mul", first, second.owner.inputs[0].dimshuffle("x", 0))
    return None


def _are_matrices(variables, dtype):
    return dtype in CONTINUOUS_DTYPES and all(
        [variable.type.ndim == 2 and variable.type.dtype == dtype for variable in variables])


def _is_diagonal(variable):
    """Return whether a matrix is made of its main diagonal."""
    if key(variable) != "AllocDiag" or variable.owner.inputs[0].type.ndim != 1:
        return False
    return (variable.owner.op.offset, variable.owner.op.axis1, variable.owner.op.axis2) == (0, 0, 1)


REWRITES = [
    Rewrite("local_subtracted_diagonal", ("add", "sub"), subtracted_diagonal, (FAST_RUN,), beside=("AllocDiag",),
            changes="nan range rounding"),
    Rewrite("local_diagonal_of_dot", ("ExtractDiag",), diagonal_of_product, (FAST_RUN,), of=("Dot",),
            changes="rounding"),
    Rewrite("local_dot_of_diagonal", ("Dot",), product_with_diagonal, (FAST_RUN,), of=("AllocDiag",),
            changes="nan rounding"),
]
