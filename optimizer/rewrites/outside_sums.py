"""Takes values that are the same along all axes of a sum out of it: factors, terms, and the condition of a switch.

    sum(s * x) = s * sum(x)                                sum(switch(c, x, 0)) = switch(c, sum(x), 0)
    sum(c + exp(x)) = n * c + sum(exp(x))                  zeros[i] += s * x  is  s * (zeros[i] += x)
    dot(A, dot(column, row)) = dot(dot(A, column), row)    dot(s * A, x) = s * dot(A, x)

One element is scaled instead of all, and sums that differ only in such parts become one sum: a log-density and its
gradient contain many of them. Factors are found in products and quotients of any depth. They are also taken out of
values with other readers, but only if a single value remains there, or one that is summed already, so that no work is
done twice.

A sum of squares might overflow without its scale, as in ``m * sqrt(sum((x / m)**2))``: powers are taken out of sums
only under ``config.math_rules = "fast"``, as ``sum((x / s)**2) = sum(x**2) / s**2``, and those of float32 never. Terms
are taken out of sums of float64 only if all remaining terms have been rounded before: ``sum(x - c)`` of exact x near c
keeps its digits.
"""
import math

from phintys.graph.config import config
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.optimizer.engine.database import FAST_RUN, Rewrite
from phintys.optimizer.engine.forms import Product, constant_value, key, readers_in, sum_of
from phintys.optimizer.engine.values import apply_op, constant_like
from phintys.optimizer.passes.shapes import feature_of
from phintys.optimizer.rewrites import factors, sums
from phintys.optimizer.rewrites.blas_rewrites import is_transposed
from phintys.optimizer.rewrites.reductions import axes_of, is_repeated, once_along

DEEPEST = 8                    # products inside of products that are read
EXACT = frozenset(["add", "sub", "neg", "abs_", "maximum", "minimum", "switch", "second", "floor", "ceil", "round"])
INSIDE = {"mul": (1, 1), "true_div": (1, -1), "inv": (-1,), "neg": (1,), "sqr": (2,)}     # exponents of the operands


class Factors:
    """The factors of a value: ``outer`` are the same along ``axes``, ``inner`` are the others."""

    def __init__(self, x, axes, readers):
        self.axes, self.readers, self.dtype = axes, readers, x.type.dtype
        self.are_free = self.dtype == "float64" and config.math_rules == "fast"        # of each other's range
        self._collect(x, True)
        if not self.are_free and list(self.inner.powers.values()) != [1]:       # y * z with z = x / m: z stays together
            self._collect(x, False)

    def _collect(self, x, may_share):
        self.inner, self.outer = Product(), Product()
        for factor, exponent, is_outer in self._read(x, 1, DEEPEST, may_share, True):
            (self.outer if is_outer else self.inner).multiply(factor, exponent)

    def _read(self, variable, exponent, depth, may_share, is_root=False):
        """Return ``[(factor, exponent, whether it is the same along the axes)]`` of ``variable ** exponent``."""
        variable = once_along(self.axes, variable)
        if is_repeated(variable, self.axes):
            return [(variable, exponent, True)] if constant_value(variable) != 1 else []    # 1 / x is not taken apart
        leaf = [(variable, exponent, False)]
        name = key(variable)
        if name not in INSIDE or variable.type.dtype != self.dtype or not depth \
                or name == "sqr" and self.dtype == "float64" and not self.are_free:
            return leaf
        found = []
        exponents = INSIDE[name] if name != "mul" else (1,) * len(variable.owner.inputs)
        for operand, power in zip(variable.owner.inputs, exponents):
            if operand.type.dtype != self.dtype:
                return leaf
            found += self._read(operand, exponent * power, depth - 1, may_share)
        if name == "neg" and exponent % 2:
            found.append((constant_like(-1, variable), 1, True))
        if is_root or self.readers(variable) == 1:
            return found
        rest = [entry for entry in found if not entry[2]]
        return found if may_share and len(rest) == 1 and len(found) > 1 and rest[0][1] == exponent else leaf

    def keep_range(self):
        """Whether no outer factor has a power that could overflow or underflow apart from the inner ones."""
        return self.are_free or all([abs(power) == 1 for power in self.outer.powers.values()])

    def are_apart(self):
        """Whether there are factors of both kinds, which may be computed apart."""
        return bool(self.outer.powers and self.inner.powers) and self.keep_range() and (
            self.dtype == "float64" or all([abs(power) == 1 for power in self.inner.powers.values()]))


def around(outer, axes, inside, like):
    """Return the product of ``inside`` and the outer factors without ``axes``."""
    result = Product()
    result.multiply(inside, 1)
    for factor, exponent in outer.powers.items():
        result.multiply(_without(factor, axes), exponent)
    return factors.build(result, like)


def _without(variable, axes):
    return variable.dimshuffle(*[axis for axis in range(variable.type.ndim) if axis not in axes]) if axes else variable


def _count(x, axes):
    """Return how many elements are summed, if the type says it, else None."""
    lengths = [x.type.shape[axis] for axis in axes]
    return None if None in lengths else math.prod(lengths)


def _is_float(node):
    x, out = node.inputs[0], node.outputs[0]
    return out.type.dtype == x.type.dtype and x.type.dtype.startswith("float")


def sum_of_product(fgraph, node):
    """Factors that are the same along the axes of a sum."""
    x, axes = node.inputs[0], axes_of(node)
    if key(x) not in INSIDE or not _is_float(node):
        return None
    split = Factors(x, axes, readers_in(fgraph))
    inner = _apart(split, x)
    if inner is None:
        return None
    total = _known_sum(fgraph, inner, node)
    if total is None and len(fgraph.clients[x]) != 1:
        return None
    return around(split.outer, axes, node.op(inner) if total is None else total, node.outputs[0])


def _known_sum(fgraph, inner, node):
    """Return the same sum of ``inner`` if the graph has it, else None."""
    for reader, _ in fgraph.clients.get(inner, ()):
        if reader != "output" and reader is not node and reader.op == node.op:
            return reader.outputs[0]
    return None


def _fills(variables, x):
    """Return whether the variables together determine all lengths of x."""
    return all([flag or any([not variable.type.broadcastable[axis] for variable in variables])
                for axis, flag in enumerate(x.type.broadcastable)])


def sum_of_switch(fgraph, node):
    """A switch whose condition, and one of whose branches, are the same along the axes of a sum. Of two branches that
    are summed, nothing else compares the lengths of these axes."""
    x, axes = node.inputs[0], axes_of(node)
    if key(x) != "switch" or not _is_float(node) or len(fgraph.clients[x]) != 1:
        return None
    condition, *branches = x.owner.inputs
    if not is_repeated(condition, axes) or all([is_repeated(branch, axes) for branch in branches]):
        return None
    wide = [branch for branch in branches if branch.type == x.type]
    if len(wide) == 2 and not feature_of(fgraph).same_lengths(wide, axes):
        return None
    summed = [_sum_of_branch(node, branch, axes) for branch in branches]
    return None if None in summed else apply_op("switch", _without(condition, axes), *summed)


def _sum_of_branch(node, branch, axes):
    """Return the sum of a branch, or None if it has to be computed for all elements."""
    x, out = node.inputs[0], node.outputs[0]
    if branch.type == x.type:
        return node.op(branch)
    if constant_value(branch) == 0:
        return constant_like(0, out)
    count = _count(x, axes)
    if not count or not is_repeated(branch, axes) or branch.type.dtype not in (x.type.dtype, "float32"):
        return None
    return apply_op("mul", _without(branch, axes), constant_like(count, out))


def sum_of_sum(fgraph, node):
    """Terms that are the same along the axes of a sum, if the others are rounded values."""
    x, out, axes = node.inputs[0], node.outputs[0], axes_of(node)
    if not _is_float(node) or x.type.dtype != "float64" or len(fgraph.clients[x]) != 1:
        return None
    count = _count(x, axes)
    if not count or count == 1:
        return None
    total = sum_of(x, readers_in(fgraph))
    outer = [(sign, term) for sign, term in total.terms if is_repeated(term, axes)]
    inner = [(sign, term) for sign, term in total.terms if not is_repeated(term, axes)]
    if not outer and not total.constant or not inner or not all([_is_rounded(term) for _, term in inner]) \
            or not _fills([term for _, term in inner], x):
        return None
    whole_sign = 1 if any([sign > 0 for sign, _ in inner]) else -1
    inside = sums.build([(sign * whole_sign, term) for sign, term in inner], 0, (), x)
    if inside is None:
        return None
    terms = [(whole_sign, node.op(inside))]
    terms += [(sign, apply_op("mul", constant_like(count, out), _without(term, axes))) for sign, term in outer]
    return sums.build(terms, count * total.constant, (), out)


def _is_rounded(variable):
    """Return whether it is computed by an operation that rounds its result."""
    name = key(variable)
    return name is not None and type(variable.owner.op) is Elemwise and name not in EXACT


def change_by_product(fgraph, node):
    """Values that are added to few zeros at many positions are scaled afterwards."""
    x, y, *rest = node.inputs
    if constant_value(x) != 0 or y.type.ndim != 1 or x.type.ndim != 1 or len(fgraph.clients[y]) != 1 \
            or key(y) not in INSIDE or not y.type.dtype == x.type.dtype == "float64":
        return None
    size, changed = x.type.shape[0], y.type.shape[0]
    if size is None or changed is None or changed <= size:
        return None
    split = Factors(y, (0,), readers_in(fgraph))
    inner = factors.build(split.inner, y) if split.are_apart() and _fills(split.inner.powers, y) else None
    return None if inner is None else around(split.outer, (), node.op(x, inner, *rest), node.outputs[0])


def product_of_outer_product(fgraph, node):
    """A matrix times an outer product is an outer product of its product with a vector."""
    first, second = node.inputs
    if first.type.ndim != 2 or second.type.ndim != 2:
        return None
    if _is_outer_product(second) and not first.type.broadcastable[1]:
        column, row = second.owner.inputs
        return node.op(node.op(first, column), row)
    if _is_outer_product(first) and not second.type.broadcastable[0]:
        column, row = first.owner.inputs
        return node.op(column, node.op(row, second))
    return None


def _is_outer_product(variable):
    """Return whether it is a product of a column and a row, in float64, neither of which has one element."""
    if key(variable) != "Dot" or {each.type.dtype for each in variable.owner.inputs} != {"float64"}:
        return False
    column, row = [each.type.broadcastable for each in variable.owner.inputs]
    return column == (False, True) and row == (True, False)


def product_of_scaled_matrix(fgraph, node):
    """``dot(s * A, x) -> s * dot(A, x)`` for a scalar s and a vector or a column x, if nothing else reads ``s * A``."""
    for position, operand in enumerate(node.inputs):
        scaled = operand.owner.inputs[0] if is_transposed(operand) else operand
        if _is_matrix_beside_vector(node, position) and key(scaled) in ("mul", "true_div") \
                and _is_read_by_thin_products(fgraph, scaled):
            split = Factors(scaled, (0, 1), readers_in(fgraph))
            inner = _apart(split, scaled)
            if inner is None or inner.type != scaled.type:
                continue
            operands = list(node.inputs)
            operands[position] = inner if scaled is operand else operand.owner.op(inner)
            axes = range(2 - node.outputs[0].type.ndim)
            return around(split.outer, axes, node.op(*operands), node.outputs[0])
    return None


def _apart(split, like):
    """Return the product of the inner factors if there are outer ones and the inner ones determine the shape."""
    is_possible = split.are_apart() and _fills(split.inner.powers, like)
    return factors.build(split.inner, like) if is_possible else None


def _is_matrix_beside_vector(node, position):
    """Return whether an input of a product is a matrix of float64, with which a vector or a column is multiplied."""
    matrix, other = node.inputs[position].type, node.inputs[1 - position].type
    thin = other.broadcastable in ((False,), (False, True) if position == 0 else (True, False))
    return thin and matrix.broadcastable == (False, False) and {matrix.dtype, other.dtype} == {"float64"}


def _is_read_by_thin_products(fgraph, variable):
    """Return whether only products with vectors read a matrix or its transpose."""
    for reader, position in fgraph.clients[variable]:
        if reader == "output":
            return False
        if key(reader.outputs[0]) == "Dot":
            if not _is_matrix_beside_vector(reader, position):
                return False
        elif not is_transposed(reader.outputs[0]) or any(
                [turned == "output" or key(turned.outputs[0]) != "Dot" or not _is_matrix_beside_vector(turned, side)
                 for turned, side in fgraph.clients[reader.outputs[0]]]):
            return False
    return True


REWRITES = [
    Rewrite("local_sum_outside_factors", ("Sum",), sum_of_product, (FAST_RUN,), of=INSIDE,
            changes="nan range rounding"),
    Rewrite("local_sum_outside_switch", ("Sum",), sum_of_switch, (FAST_RUN,), of=("switch",), changes="nan"),
    Rewrite("local_sum_outside_terms", ("Sum",), sum_of_sum, (FAST_RUN,), of=sums.KEYS, changes="nan range rounding"),
    Rewrite("local_inc_outside_factors", ("AdvancedIncSubtensor1",), change_by_product, (FAST_RUN,), of=INSIDE,
            changes="nan range rounding"),
    Rewrite("local_dot_of_scaled_matrix", ("Dot",), product_of_scaled_matrix, (FAST_RUN,),
            of=("mul", "true_div", "DimShuffle"), changes="nan range rounding"),
    Rewrite("local_dot_of_outer_product", ("Dot",), product_of_outer_product, (FAST_RUN,), of=("Dot",),
            changes="nan range rounding"),
]
