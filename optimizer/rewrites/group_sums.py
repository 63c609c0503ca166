"""Sums by group, and weighted sums, of formulas that are linear in few values: the weights are worked out once.

    zeros[g] += y - (a[g] + s * x)      is  Y - (n * a + s * X)     with  Y, n, X = sums of y, 1, x by group
    zeros[i, g] += y                    is  zeros[i] += (zeros of a row)[g] += y
    sum(w * (y - (a[g] + s * x)))       is  dot(w, y) - (dot(W, a) + s * dot(w, x))     with  W = sums of w by group

for constants y, x, w and constant groups g. These are the sums that regressions need for each group, and for a gradient
of a log-density they take time proportional to the number of groups instead of observations.

The terms must have been rounded before they are summed: a difference ``y - a[g]`` of equal magnitudes is exact, and its
sum would lose digits. Where there are products, or more than two terms, each element has been rounded already.
"""
import numpy

from phintys.graph.variable import Constant
from phintys.ops.creation.allocation import Alloc
from phintys.ops.indexing.advanced_index import is_array, is_mask
from phintys.ops.indexing.advanced_subtensor import AdvancedIncSubtensor1, AdvancedSubtensor1
from phintys.ops.indexing.subtensor import IncSubtensor
from phintys.ops.products.dot import Dot
from phintys.ops.types.constant import constant
from phintys.optimizer.engine.database import FAST_RUN, Rewrite
from phintys.optimizer.engine.forms import constant_value, key, sum_of
from phintys.optimizer.engine.values import apply_op
from phintys.optimizer.rewrites import sums
from phintys.optimizer.rewrites.indexing import part_of
from phintys.optimizer.rewrites.outside_sums import Factors, around
from phintys.optimizer.rewrites.reductions import axes_of

MOST_TERMS = 6
NEARBY = 8                     # nodes of a sum that are read, also those with other readers


class Summand:
    """``sign * scales * weights * values[positions]``: without values, ``values`` and ``positions`` are None."""

    def __init__(self, sign, scales, weights, values, positions):
        self.sign, self.scales, self.weights, self.values, self.positions = sign, scales, weights, values, positions

    def times(self, weights):
        """The term with more weights."""
        weights = weights if self.weights is None else self.weights * weights
        return Summand(self.sign, self.scales, weights, self.values, self.positions)

    def is_rounded(self):
        """Whether it is a product, which is rounded before it is added."""
        return bool(self.scales) or self.values is not None and self.weights is not None


def _whole_vector(variable):
    """Whether it is a constant vector of float64."""
    kind = variable.type
    return isinstance(variable, Constant) and kind.dtype == "float64" and kind.broadcastable == (False,)


def _positions_of(variable, size=None):
    """The positions of a vector's elements as an array, if constants tell them, all exist and all are used, else None.

    What is infinite at a position that is not used would be multiplied by zero.
    """
    if not isinstance(variable, Constant) or size is None or variable.type.dtype.startswith("uint"):
        return None
    positions = variable.data
    if not positions.size or positions.min() < -size or positions.max() >= size:
        return None
    positions = positions % size
    return positions if numpy.bincount(positions, minlength=size).all() else None


def _summand(sign, variable):
    """Return a `Summand`, or None if the variable is something else."""
    factors = Factors(variable, (0,), lambda other: 1)
    scales = [(factor.dimshuffle(), exponent) for factor, exponent in factors.outer.powers.items()]
    weights, values, positions = None, None, None
    for factor, exponent in factors.inner.powers.items():
        if exponent == 1 and _whole_vector(factor):
            weights = factor.data if weights is None else weights * factor.data
        elif exponent == 1 and key(factor) == "AdvancedSubtensor1" and values is None:
            values, rows = factor.owner.inputs
            positions = _positions_of(rows, values.type.shape[0])
            if positions is None or values.type.ndim != 1 or values.type.dtype != "float64":
                return None
        else:
            return None
    return None if weights is None and values is None else Summand(sign, scales, weights, values, positions)


def _terms_of(variable):
    """The scales of a vector as a `Product`, and the terms whose sums by group may be taken apart; else None twice."""
    if variable.type.ndim != 1 or variable.type.dtype != "float64":
        return None, None
    factors = Factors(variable, (0,), lambda other: 1)
    weights = [factor for factor, exponent in factors.inner.powers.items() if exponent == 1 and _whole_vector(factor)]
    others = [factor for factor in factors.inner.powers if factor not in weights]
    terms = _terms_of_sum(others[0]) if len(others) == 1 and factors.inner.powers[others[0]] == 1 else None
    for factor in weights if terms is not None else ():
        terms = [term.times(factor.data) for term in terms]
    return (None, None) if terms is None else (factors.outer, terms)


def _terms_of_sum(variable):
    """The terms of a sum, if each is linear in few values and has been rounded; else None."""
    if key(variable) not in sums.KEYS:
        return None
    total = sum_of(variable, lambda other: 1, NEARBY)
    if total.constant or not 1 < len(total.terms) <= MOST_TERMS:
        return None
    terms = [_summand(sign, term) for sign, term in total.terms]
    if None in terms or not any([term.values is not None or term.scales for term in terms]):
        return None
    return terms if len(terms) > 2 or any([term.is_rounded() for term in terms]) else None


def _scaled(term, variable):
    """A variable times the sign and the scales of a term."""
    for scale, exponent in term.scales:
        factor = scale if abs(exponent) == 1 else apply_op("pow", scale, constant(float(abs(exponent))))
        variable = apply_op("mul" if exponent > 0 else "true_div", variable, factor)
    return term.sign, variable


def sum_by_group(fgraph, node):
    """A linear formula that is added to few zeros at constant positions."""
    x, y, rows = node.inputs
    size, count = x.type.shape[0] if x.type.ndim == 1 else None, y.type.shape[0] if y.type.ndim == 1 else None
    positions = _positions_of(rows, size)
    if positions is None or node.op.set_instead_of_inc or count is None or count <= size \
            or constant_value(x) != 0 or len(positions) != count:
        return None
    scales, terms = _terms_of(y)
    if terms is None or any([term.positions is not None and not numpy.array_equal(term.positions, positions)
                             for term in terms]):
        return None
    found = []
    for term in terms:
        weights = constant(numpy.bincount(positions, term.weights, size).astype("float64"))
        found.append(_scaled(term, weights if term.values is None else apply_op("mul", term.values, weights)))
    return _times(scales, (), found, node.outputs[0])


def _times(scales, axes, found, like):
    """The sum of signed terms times the scales, which are without axes that the sum is without; None if impossible."""
    total = sums.build(found, 0, (), like)
    return None if total is None else around(scales, axes, total, like)


def weighted_sum(fgraph, node):
    """The sum of a linear formula, perhaps times constant weights."""
    product, out = node.inputs[0], node.outputs[0]
    if axes_of(node) != (0,) or out.type.dtype != "float64":
        return None
    scales, terms = _terms_of(product)
    if terms is None or all([term.values is None for term in terms]):
        return None
    return _times(scales, (0,), _sums_of(terms), out)


def _sums_of(terms):
    """The sum of each term over its elements, with its sign."""
    found = []
    for term in terms:
        if term.values is None:
            found.append(_scaled(term, constant(numpy.sum(term.weights))))
        else:
            weights = numpy.bincount(term.positions, term.weights, term.values.type.shape[0]).astype("float64")
            found.append(_scaled(term, Dot()(term.values, constant(weights))))
    return found


# ---- one row of a matrix ---------------------------------------------------------------------------------------------
def _row_and_positions(op, index):
    """Return the number of a row and constant positions in it, if this is the index of an op, else None twice."""
    entries = op.idx_list
    is_row = len(entries) == 2 and type(entries[0]) is int and is_array(entries[1]) and not is_mask(entries[1])
    positions = index[0] if is_row and len(index) == 1 and isinstance(index[0], Constant) else None
    return (entries[0], positions) if positions is not None and positions.type.ndim == 1 else (None, None)


def elements_of_row(fgraph, node):
    """``x[i, positions] -> x[i][positions]`` for a matrix x."""
    x, *index = node.inputs
    row, positions = _row_and_positions(node.op, index)
    return None if row is None or x.type.ndim != 2 else AdvancedSubtensor1()(part_of(x, [row]), positions)


def change_of_row(fgraph, node):
    """Values that are added to a row of a matrix, which has fewer elements, are summed by position first."""
    x, y, *index = node.inputs
    row, positions = _row_and_positions(node.op, index)
    length = x.type.shape[1] if x.type.ndim == 2 else None
    if row is None or length is None or node.op.set_instead_of_inc or y.type.ndim != 1 or y.type.broadcastable[0] \
            or positions.data.size <= length or not x.type.dtype == y.type.dtype == "float64":
        return None
    zeros = Alloc()(numpy.zeros(()), length)
    return IncSubtensor([row])(x, AdvancedIncSubtensor1()(zeros, y, positions))


REWRITES = [
    Rewrite("local_elements_of_row", ("AdvancedSubtensor",), elements_of_row, (FAST_RUN,)),
    Rewrite("local_change_of_row", ("AdvancedIncSubtensor",), change_of_row, (FAST_RUN,), changes="rounding"),
    Rewrite("local_sum_by_group", ("AdvancedIncSubtensor1",), sum_by_group, (FAST_RUN,),
            beside=("AdvancedSubtensor1",), changes="nan range rounding"),
    Rewrite("local_weighted_sum_of_groups", ("Sum",), weighted_sum, (FAST_RUN,), beside=("AdvancedSubtensor1",),
            changes="nan range rounding"),
]
