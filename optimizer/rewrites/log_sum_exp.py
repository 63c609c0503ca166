"""Sums of exponentials: their logarithms, and an exponential divided by such a sum, for arguments of any size.

    log(sum(exp(x))) = s + log(sum(exp(x - s)))          exp(x) / sum(exp(x)) = exp(x - s) / sum(exp(x - s))

where s is the largest x. A hand-written loss and its gradient therefore neither overflow nor lose all digits to
underflow. Sums are reductions over any axes, with dimensions kept or not, or ``exp(a) + exp(b) + ...``, possibly with a
positive constant:

    log(c + S) = log(c) + softplus(log(S) - log(c))      exp(x) / (c + S) = exp(x) / S * sigmoid(log(S) - log(c))

This is one pass over the graph: its results contain sums of exponentials themselves, which need no second pass.
"""
import math

from phintys.ops.reduction.careduce import MaxOrLowest, pad_reduced, positive_axes
from phintys.optimizer.engine.forms import is_inside, key, key_of, product_of, readers_in, sum_of
from phintys.optimizer.engine.values import apply_op, apply_wide, as_type, constant_like, is_float
from phintys.optimizer.rewrites import factors, sums

LARGEST = ("Max", "MaxOrLowest", "maximum")
NEARBY = 32                    # a limit on visits of nodes with other readers, so that the work stays linear


def log_add(first, second):
    """Return ``log(exp(first) + exp(second))``; equal arguments may be infinite, so they are not subtracted."""
    difference = apply_op("neg", apply_op("abs_", apply_op("sub", first, second)))
    rest = apply_op("softplus", difference)
    rest = apply_op("switch", apply_op("eq", first, second), constant_like(math.log(2), rest), rest)
    return apply_op("add", apply_op("maximum", first, second), rest)


def argument_of(exponential):
    """Return the x of ``exp(x)``, in the result's dtype."""
    x, dtype = exponential.owner.inputs[0], exponential.type.dtype
    return x if x.type.dtype == dtype else apply_op("convert_to_" + dtype, x)


def finite_or_zero(largest):
    """Return the shift: subtracting an infinite number would give NaN, and then the shift does not matter."""
    return apply_op("switch", apply_op("isinf", largest), constant_like(0, largest), largest)


class Reduced:
    """``sum(exp(x), axes)``, where the exponential may be without some dimensions of length 1.

    ``shift`` and ``total`` are s and the sum of ``scaled``, which is exp(x - s), without the axes; ``order`` is how the
    sum has to be shuffled to broadcast against the exponential. ``as_constant`` hides the shift from derivatives, in
    which it cancels.
    """

    def __init__(self, variable, as_constant=None):
        node = variable.owner
        exponential, shuffle = unshuffled(node.inputs[0])
        self.terms = [exponential]
        x = shuffled(argument_of(exponential), shuffle)
        axes = positive_axes(x, node.op.axis)
        kept = iter(range(x.type.ndim))
        self._back = inverse(shuffle, exponential.type.ndim)
        self.order = joined(tuple(["x" if axis in axes else next(kept) for axis in range(x.type.ndim)]), self._back)
        self.shift = finite_or_zero(MaxOrLowest(node.op.axis)(x))
        if as_constant is not None:
            self.shift = as_constant(self.shift)
        self.scaled = apply_op("exp", apply_op("sub", x, pad_reduced(x, self.shift, axes)))
        self.total = node.op(self.scaled)

    def logarithm(self):
        """log(S)."""
        return apply_op("add", self.shift, apply_op("log", self.total))

    def quotient(self, exponential):
        """Return ``exponential / S`` as ``[(factor, exponent)]``."""
        return [(shuffled(self.scaled, self._back), 1), (shuffled(self.total, self.order), -1)]


class Added:
    """``exp(a) + exp(b) + ...``; for more than two terms, all share one shift."""

    order = None

    def __init__(self, terms):
        self.terms = terms
        self.arguments = [argument_of(term) for term in terms]
        if len(terms) > 2:
            largest = self.arguments[0]
            for argument in self.arguments[1:]:
                largest = apply_op("maximum", largest, argument)
            self.shift = finite_or_zero(largest)
            self.scaled = [apply_op("exp", apply_op("sub", argument, self.shift)) for argument in self.arguments]
            self.total = apply_wide("add", self.scaled, self.shift.type.dtype)

    def logarithm(self):
        """log(S)."""
        if len(self.terms) > 2:
            return apply_op("add", self.shift, apply_op("log", self.total))
        return log_add(*self.arguments) if len(self.terms) == 2 else self.arguments[0]

    def quotient(self, exponential):
        """Return ``exponential / S`` as ``[(factor, exponent)]``."""
        number = self.terms.index(exponential)
        if len(self.terms) > 2:
            return [(self.scaled[number], 1), (self.total, -1)]
        if len(self.terms) == 1:
            return []
        return [(apply_op("sigmoid", apply_op("sub", self.arguments[number], self.arguments[1 - number])), 1)]


class Sums:
    """All sums of exponentials of a graph, found in one pass; the stable form of each is built at the first use.

    A sum is ``constant`` plus a reduction, whose dimensions may have been shuffled, or plus terms that are added.
    """

    def __init__(self, fgraph):
        self.readers = readers_in(fgraph)
        self.found = {}                # sum -> (constant, reduced variable or list of terms, order of its dimensions)
        self.terms = set()             # exponentials that are terms of some sum
        self._made = {}
        if any([key_of(node.op) == "exp" for node in fgraph.apply_nodes]):
            self._find(fgraph)

    def _find(self, fgraph):
        for node in list(fgraph.apply_nodes):
            out = node.outputs[0]
            name = key(out) if is_float(out) else None
            if name == "Sum":
                self._note(out, 0, out, None)
            elif name == "add" and not is_inside(fgraph, out, sums.KEYS):
                self._note_added(out)

    def _note_added(self, out):
        total = sum_of(out, self.readers)
        if total.constant < 0 or any([sign < 0 for sign, _ in total.terms]):
            return
        terms = [term for _, term in total.terms]
        if all([key(term) == "exp" and term.type.dtype == out.type.dtype for term in terms]):
            if len(terms) > 1 or total.constant not in (0, 1):          # 1 + exp(x) is in `logistic`
                self._note(out, total.constant, terms, None)
        elif len(terms) == 1 and total.constant and terms[0].type == out.type:
            reduced, order = unshuffled(terms[0])
            if key(reduced) == "Sum":
                self._note(out, total.constant, reduced, order)

    def _note(self, out, constant, inner, order):
        terms = inner if type(inner) is list else [unshuffled(inner.owner.inputs[0])[0]]
        if all([is_exponential(term) for term in terms]):
            self.found[out] = constant, inner, order
            self.terms.update(terms)

    def known(self, variable):
        """Return ``(constant, Reduced or Added, order)`` of a sum, through a dimshuffle, or None."""
        base, outer = unshuffled(variable)
        if base not in self.found:
            return None
        constant, inner, order = self.found[base]
        name = inner if type(inner) is not list else base
        if name not in self._made:
            self._made[name] = Added(inner) if type(inner) is list else Reduced(inner)
        return constant, self._made[name], joined(order, outer)


def is_scaled(variable):
    """Return whether it is an exponential from which the largest is subtracted by `finite_or_zero`, if that is finite.
    """
    x = variable.owner.inputs[0]
    shift = unshuffled(x.owner.inputs[1])[0] if key(x) == "sub" else None
    shift = shift.owner.inputs[0] if key(shift or variable) == "DisconnectedGrad" else shift
    return shift is not None and key(shift) == "switch" and key(unshuffled(shift.owner.inputs[2])[0]) in LARGEST


def is_exponential(variable):
    """Return whether it is ``exp(x)`` of a real x from which no maximum is subtracted yet."""
    if key(variable) != "exp" or not variable.type.dtype.startswith("float") or is_scaled(variable):
        return False
    terms = sum_of(variable.owner.inputs[0], lambda other: 1, NEARBY).terms
    return not any([sign < 0 and key(unshuffled(term)[0]) in LARGEST for sign, term in terms])


def unshuffled(variable):
    """Return ``(x, order)`` of one or more consecutive dimshuffles; the order is None for any other variable."""
    order = None
    while key(variable) == "DimShuffle":
        order = joined(tuple(variable.owner.op.new_order), order)
        variable = variable.owner.inputs[0]
    return variable, order


def joined(inner, outer):
    """Return the order of two consecutive dimshuffles, each of which may be None."""
    if inner is None or outer is None:
        return inner or outer
    return tuple(["x" if axis == "x" else inner[axis] for axis in outer])


def inverse(order, rank):
    """Return the order that undoes ``order`` on a variable of this rank; dimensions that it dropped have length 1."""
    return None if order is None else tuple([order.index(axis) if axis in order else "x" for axis in range(rank)])


def shuffled(variable, order):
    """Return ``variable`` with this order of dimensions."""
    return variable if order is None else variable.dimshuffle(*order)


# ---- logarithms ------------------------------------------------------------------------------------------------------
def logarithm(found, node):
    """Return the stable form of a log or log1p of a sum of exponentials, or of its product with something else."""
    out, inner = node.outputs[0], node.inputs[0]
    known = found.known(inner)
    if known is None:
        return _logarithm_of_product(found, node) if key(inner) in factors.KEYS else None
    constant, total, order = known
    constant += key(out) == "log1p"
    result = shuffled(total.logarithm(), order)
    if constant:
        added = constant_like(math.log(constant), result)
        rest = apply_op("softplus", apply_op("sub", result, added) if constant != 1 else result)
        result = apply_op("add", added, rest) if constant != 1 else rest
    return as_type(result, out.type, [inner])


def _logarithm_of_product(found, node):
    """``log(S * y) = s + log(S' * y)``, as in the logarithm of a mean."""
    out, inner = node.outputs[0], node.inputs[0]
    if key(out) != "log":
        return None
    product = product_of(inner, found.readers)
    for factor, exponent in product.powers.items():
        known = found.known(factor) if exponent == 1 else None
        if known is not None and not known[0] and len(known[1].terms) != 2:
            _, total, order = known
            del product.powers[factor]
            product.multiply(shuffled(total.total, order), 1)
            rest = factors.build(product, inner)
            if rest is None:
                return None
            return as_type(apply_op("add", shuffled(total.shift, order), apply_op("log", rest)), out.type, [inner])
    return None


# ---- quotients -------------------------------------------------------------------------------------------------------
def quotient(found, node):
    """Return the stable form of a product in which an exponential is divided by a sum that contains it."""
    out = node.outputs[0]
    product = product_of(out, found.readers)
    if not any([exponent > 0 and factor in found.terms for factor, exponent in product.powers.items()]):
        return None
    _look_into_shared(found, product)
    changed = False
    for divisor, exponent in list(product.powers.items()):
        known = found.known(divisor) if exponent < 0 else None
        if known is not None:
            changed |= _divided(product, divisor, *known)
    return factors.build(product, out) if changed else None


def _look_into_shared(found, product):
    """Replace factors by the products that compute them, through dimshuffles, if these divide by such sums."""
    for factor, exponent in list(product.powers.items()):
        base, order = unshuffled(factor)
        if key(base) not in factors.KEYS:
            continue
        inner = product_of(base, lambda variable: 1, NEARBY)
        if any([power * exponent < 0 and unshuffled(leaf)[0] in found.found for leaf, power in inner.powers.items()]):
            del product.powers[factor]
            product.coefficient = product.coefficient * inner.coefficient ** exponent
            for leaf, power in inner.powers.items():
                product.multiply(shuffled(leaf, order), power * exponent)


def _divided(product, divisor, constant, total, order):
    """Divide exponentials in ``product`` by ``divisor``, a known sum; return whether there were any."""
    if order != total.order:
        return False
    changed = False
    for exponential in dict.fromkeys(total.terms):
        times = min(product.powers.get(exponential, 0), -product.powers.get(divisor, 0))
        if times <= 0:
            continue
        changed = True
        product.multiply(exponential, -times)
        product.multiply(divisor, times)
        for factor, power in total.quotient(exponential):
            product.multiply(factor, power * times)
        if constant:
            logarithm_ = shuffled(total.logarithm(), order)
            relative = apply_op("sub", logarithm_, constant_like(math.log(constant), logarithm_))
            product.multiply(apply_op("sigmoid", relative if constant != 1 else logarithm_), times)
    return changed


def stabilize_sums_of_exponentials(fgraph):
    """Compute logarithms of sums of exponentials, and quotients by such sums, from exponentials of differences to the
    largest; return how many replacements were made."""
    found = Sums(fgraph)
    if not found.found:
        return 0
    made = 0
    for node in fgraph.toposort():
        out = node.outputs[0]
        name = key(out)
        if name in ("log", "log1p"):
            new = logarithm(found, node)
        elif name in factors.KEYS and not is_inside(fgraph, out, factors.KEYS):
            new = quotient(found, node)
        else:
            continue
        if new is not None and new.type == out.type:
            new.name = new.name or out.name
            fgraph.replace(out, new, reason="local_log_sum_exp")
            made += 1
    return made
