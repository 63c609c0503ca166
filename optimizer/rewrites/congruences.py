"""Products ``L^-T S L^-1`` with a lower Cholesky factor L, two solutions, as gradients of Cholesky factors contain.

Terms of S are treated separately. For a multiple of the identity, the product is the inverse of the matrix, which
LAPACK computes from the factor with a third of the work. For an outer product of vectors, it is the outer product of
two solutions, with work proportional to the matrix's number of elements. Log-densities of normal distributions have
both kinds of terms.
"""
from collections import Counter

from phintys.ops.factorizations.factor_gradient import CholeskyInverse
from phintys.ops.factorizations.solve import SolveTriangular
from phintys.ops.factorizations.stacks import columns, rows
from phintys.optimizer.engine.database import FAST_RUN, Rewrite
from phintys.optimizer.engine.forms import constant_value, key, only_reader
from phintys.optimizer.engine.values import apply_op, apply_wide, constant_like

MOST_TERMS = 16
COLUMN, ROW = (0, "x"), ("x", 0)


def terms_of(total):
    """The terms of a sum, from the left, each with whether it is negated; None if there are more than `MOST_TERMS`."""
    found, left = [], [(total, False)]
    while left:
        variable, negative = left.pop()
        if key(variable) == "add":
            left.extend([(term, negative) for term in reversed(variable.owner.inputs)])
        elif key(variable) == "neg":
            left.append((variable.owner.inputs[0], not negative))
        else:
            found.append((variable, negative))
        if len(found) + len(left) > MOST_TERMS:
            return None
    return found


def factors_of(product):
    """The factors of a product, and whether it is negated."""
    found, left, negative = [], [product], False
    while left and len(found) + len(left) <= MOST_TERMS:
        variable = left.pop()
        if key(variable) == "neg":
            negative = not negative
            left.append(variable.owner.inputs[0])
        elif key(variable) == "mul" and all([each.type.dtype == product.type.dtype for each in variable.owner.inputs]):
            left.extend(reversed(variable.owner.inputs))
        else:
            found.append(variable)
    return found + left, negative


class OuterProduct:
    """``left right^T`` times factors of length 1, perhaps negated. The vectors are neither negated nor products."""

    def __init__(self, left, right, negative, scales):
        self.left, self.right, self.negative, self.scales = left, right, negative, scales

    def key(self, turned):
        """A value that is equal for equal products."""
        pair = (self.right, self.left) if turned else (self.left, self.right)
        return (*pair, self.negative, frozenset(self.scales))


def vector_of(factor):
    """Which dimension a vector has in a factor, and the vector; None twice if the factor is something else."""
    if key(factor) != "DimShuffle" or factor.owner.op.new_order not in ((0, "x"), ("x", 0)):
        return None, None
    return factor.owner.op.new_order.index(0), factor.owner.inputs[0]


def outer_product(term, negative):
    """A term as an outer product; None if it is not one."""
    factors, opposite = factors_of(term)
    vectors, scales, negative = {}, [], negative != opposite
    for factor in factors:
        if all(factor.type.broadcastable):
            scales.append(factor)
            continue
        axis, vector = vector_of(factor)
        if axis is None or axis in vectors:
            return None
        parts, opposite = factors_of(vector)
        long = [part for part in parts if not part.type.broadcastable[0]]
        if len(long) != 1:
            return None
        scales.extend([part for part in parts if part is not long[0]])
        vectors[axis], negative = long[0], negative != opposite
    return OuterProduct(vectors[0], vectors[1], negative, scales) if len(vectors) == 2 else None


def symmetric_products(matrix, negative):
    """The outer products whose sum is a matrix, if it is certainly symmetric; else None."""
    terms = terms_of(matrix)
    products = None if terms is None else [outer_product(term, opposite != negative) for term, opposite in terms]
    if products is None or None in products:
        return None
    keys, turned = [Counter([product.key(way) for product in products]) for way in (False, True)]
    return products if keys == turned else None


def solved(solve, factor, product):
    """The outer product of solutions."""
    left = solve(factor, product.left)
    right = left if product.right is product.left else solve(factor, product.right)
    scales = [columns(scale) if scale.type.ndim == 1 else scale for scale in product.scales]
    term = apply_wide("mul", [columns(left), rows(right), *scales], left.type.dtype)
    return apply_op("neg", term) if product.negative else term


def middle_of(fgraph, node):
    """S, if a node is the outer one of the two solutions; else None."""
    op, (factor, side) = node.op, node.inputs
    if not op.lower or op.trans != 2 or op.unit_diagonal or key(side) != "DimShuffle" or side.type.ndim != 2:
        return None
    inner = side.owner.inputs[0]
    if side.owner.op.new_order != (1, 0) or key(inner) != "SolveTriangular" or inner.owner.op != op:
        return None
    if inner.owner.inputs[0] is not factor or only_reader(fgraph, inner) is None:
        return None
    return inner.owner.inputs[1] if factor.type.dtype in ("float32", "float64") else None


def congruence_by_terms(fgraph, node):
    """The solutions for each term of S that is simple; those for the others together."""
    middle = middle_of(fgraph, node)
    terms = None if middle is None else terms_of(middle)
    if terms is None:
        return None
    factor = node.inputs[0]
    solve = SolveTriangular(lower=True, trans=2, on_error=node.op.on_error)
    simple, diagonals, rest = [], [], []
    for term, negative in terms:
        products = symmetric_products(term.owner.inputs[0], negative) if key(term) == "Mirrored" else None
        if products is not None:
            simple.extend([solved(solve, factor, product) for product in products])
        elif key(term) == "AllocDiag" and constant_value(term.owner.inputs[0]) is not None:
            diagonals.append((term, negative))
        else:
            rest.append((term, negative))
    if rest:                           # the identity costs nothing beside others
        rest.extend(diagonals)
    elif diagonals:
        scale = sum([constant_value(term.owner.inputs[0]) * (-1 if negative else 1) for term, negative in diagonals])
        inverse = CholeskyInverse(node.op.on_error)(factor)
        simple.append(apply_op("mul", inverse, constant_like(scale, inverse)))
    if not simple:
        return None
    if rest:
        rest = [apply_op("neg", term) if negative else term for term, negative in rest]
        first = solve(factor, apply_wide("add", rest, factor.type.dtype))
        simple.append(solve(factor, first.T))
    return apply_wide("add", simple, factor.type.dtype)


REWRITES = [Rewrite("local_congruence", ("SolveTriangular",), congruence_by_terms, (FAST_RUN,),
                    changes="nan range rounding")]
