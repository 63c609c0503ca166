"""Logistic functions written in other ways: stable forms of hand-written expressions and of their gradients.

With S(t) = sigmoid(t), whose value at -t is 1 - S(t), all of these are products of powers of S(t) and S(-t):

    1 + exp(t) = 1 / S(-t)        exp(t) = S(t) / S(-t)        1 - S(t) = S(-t)

So a product is read in normal form (`factors`), its factors are rewritten by these identities, and the exponents of
S(t) and S(-t) are added up. Arguments are compared by `linear_form`, because -t may be spelled ``-dot - b`` or
``-(dot + b)``. Two more identities make gradients of cross entropies stable for any t; the first is in `complements`:

    X - X*S(t) = X*S(-t)        (A/S(t) + B/S(-t)) * S(t) * S(-t) = A*S(-t) + B*S(t)

They remove all divisions by saturated probabilities, so nothing overflows and nothing becomes 0/0.
"""
from phintys.optimizer.engine.database import FAST_RUN, Rewrite
from phintys.optimizer.engine.forms import (
    Product,
    constant_value,
    is_inexact,
    is_inside,
    key,
    linear_form,
    only_reader,
    product_of,
    readers_in,
    sum_of,
)
from phintys.optimizer.engine.values import apply_op
from phintys.optimizer.rewrites import factors, sums
from phintys.optimizer.rewrites.factors import product_in
from phintys.optimizer.rewrites.sums import negated, opposite

LARGEST_SUM = 16               # terms that a product is distributed over; without it, nested sums would be quadratic
NEARBY = 32                    # a limit on visits of nodes with other readers, so that the work stays linear


def logistic_powers(factor):
    """Return ``(t, a, b, e)`` if ``factor`` is S(t)**a * S(-t)**b * exp(t)**e, else None."""
    name = key(factor)
    if name == "sigmoid":
        return factor.owner.inputs[0], 1, 0, 0
    if name == "exp":
        return factor.owner.inputs[0], 0, 0, 1
    if name == "add" and len(factor.owner.inputs) == 2:
        one, other = factor.owner.inputs
        if constant_value(one) != 1:
            one, other = other, one
        if constant_value(one) == 1 and key(other) == "exp" and other.type == factor.type:
            return other.owner.inputs[0], 0, -1, 0
    return None


def opposite_argument(variable):
    """Return -t for the argument t of a logistic function; integers, whose negatives may wrap around, are cast."""
    if is_inexact(variable):
        return negated(variable)
    return apply_op("neg", apply_op("convert_to_" + apply_op("sigmoid", variable).type.dtype, variable))


class Pair:
    """The powers of S(t), S(-t) and exp(t) in a product, for one t up to its sign.

    ``arguments`` holds a variable for t and for -t, where there is one; ``factors`` are the factors accounted for.
    """

    __slots__ = ("form", "plus", "minus", "exponential", "arguments", "sigmoids", "factors", "functions", "repeats")

    def __init__(self, form):
        self.form = form
        self.plus = self.minus = self.exponential = 0
        self.arguments = [None, None]
        self.sigmoids = [None, None]
        self.factors = []
        self.functions = set()         # the factors as functions of t: (key, negative)
        self.repeats = False           # whether two factors are the same function of the same t

    def take(self, factor, powers, negative, exponent):
        """Include ``factor ** exponent``, whose argument is -t if ``negative``."""
        argument, plus, minus, exponential = powers
        function = key(factor), negative
        self.repeats = self.repeats or function in self.functions
        self.functions.add(function)
        self.arguments[negative] = self.arguments[negative] or argument
        if plus:
            self.sigmoids[negative] = factor
        if negative:
            plus, minus, exponential = minus, plus, -exponential
        self.plus += plus * exponent
        self.minus += minus * exponent
        self.exponential += exponential * exponent
        self.factors.append((factor, exponent, negative))

    def exponents(self):
        """Return the exponents of S(t) and S(-t) if exponentials are written as their quotient."""
        return self.plus + self.exponential, self.minus - self.exponential

    def argument(self, side):
        """Return a variable for t (side 0) or -t (side 1)."""
        if self.arguments[side] is None:
            self.arguments[side] = opposite_argument(self.arguments[1 - side])
        return self.arguments[side]

    def sigmoid(self, side):
        """Return a variable for S(t) (side 0) or S(-t) (side 1)."""
        if self.sigmoids[side] is None:
            self.sigmoids[side] = apply_op("sigmoid", self.argument(side))
        return self.sigmoids[side]

    def simplified(self):
        """Return the stable form as ``[(factor, exponent)]``: as few divisions as possible, exp(t) for S(t)/S(-t)."""
        plus, minus = self.exponents()
        shift = 0
        if plus * minus < 0:
            shift = min(abs(plus), abs(minus)) * (1 if plus > 0 else -1)
        sides = (0, plus - shift), (1, minus + shift)
        factors = [(self.sigmoid(side), exponent) for side, exponent in sides if exponent]
        if shift:
            factors.append((apply_op("exp", self.argument(0 if shift > 0 else 1)), abs(shift)))
        return factors

    def is_simple(self):
        """Return whether the factors are in stable form: each function once, nothing to cancel or to divide by."""
        if self.repeats:
            return False
        if any([key(factor) == "add" for factor, _, _ in self.factors]):
            return len(self.factors) == 1 and self.factors[0][1] > 0
        if not self.exponential:
            return self.plus * self.minus >= 0
        if self.plus and self.minus:
            return False
        return self.plus * self.exponential >= 0 >= self.minus * self.exponential


def pairs_of(powers):
    """Return the `Pair` objects of a product's powers that involve a sigmoid or 1 + exp."""
    if not any([key(factor) in _BESIDE_EXP and logistic_powers(factor) for factor in powers]):
        return []
    return [pair for pair in all_pairs(powers).values() if any([key(factor) != "exp" for factor, _, _ in pair.factors])]


def all_pairs(powers):
    """Return all `Pair` objects of a product's powers, including those of an exp alone, in a dict by `signature`."""
    pairs = {}
    for factor, exponent in powers.items():
        inner = logistic_powers(factor)
        if inner is not None:
            pair, negative = find_pair(pairs, linear_form(inner[0]))
            pair.take(factor, inner, negative, exponent)
    return pairs


def find_pair(pairs, form):
    """Return the pair for arguments of this form in a dict of pairs by `signature`, made if needed, and whether the
    form is the pair's negative.
    """
    mine = signature(form)
    if mine in pairs:
        return pairs[mine], False
    negative = signature(opposite(form))
    if negative in pairs:
        return pairs[negative], True
    pairs[mine] = Pair(form)
    return pairs[mine], False


def signature(form):
    """Return a linear form as a key of dicts."""
    return frozenset(form.items())


def stabilized(product):
    """Return ``product`` with its logistic factors in stable form, or None if they already are."""
    pairs = [pair for pair in pairs_of(product.powers) if not pair.is_simple()]
    if not pairs:
        return None
    result = Product()
    result.coefficient, result.leaves = product.coefficient, product.leaves
    gone = {factor for pair in pairs for factor, _, _ in pair.factors}
    for factor, exponent in product.powers.items():
        if factor not in gone:
            result.multiply(factor, exponent)
    for pair in pairs:
        for factor, exponent in pair.simplified():
            result.multiply(factor, exponent)
    return result


def distributed(product, like, readers):
    """``(A/S(t) + B) * S(t) -> A + B*S(t)`` as a Product, or None where no term of a sum cancels a factor.

    All sums among the factors are processed together, because a gradient through a long chain is one product of them
    all.
    """
    factors = [factor for factor, exponent in product.powers.items()
               if exponent == 1 and key(factor) in ("add", "sub") and factor.type.dtype == like.type.dtype
               and logistic_powers(factor) is None]
    pairs = all_pairs(product.powers) if factors else {}
    result = None
    for factor in factors:
        found = _distribute_over(factor, pairs, like, readers) if pairs else None
        if found is not None:
            total, moved = found
            result = result or product.copy()
            for gone in [factor] + moved:
                del result.powers[gone]
            result.multiply(total, 1)
    return result


def _distribute_over(factor, pairs, like, readers):
    """Return ``(sum, moved factors)`` if factors of ``pairs`` moved into the sum ``factor``, or None; pairs that moved
    are removed from the dict.
    """
    inner = sum_of(factor, readers, NEARBY)
    if len(inner.terms) > LARGEST_SUM:
        return None
    terms = signed_products(inner, readers)
    signatures = _cancelling(pairs, terms)
    if not signatures:
        return None
    mover = Product()
    for name in signatures:
        for moved, exponent, _ in pairs[name].factors:
            mover.multiply(moved, exponent)
    mover.leaves = [factor] + list(mover.powers)
    pattern = tuple(map(all, zip(*[leaf.type.broadcastable for leaf in mover.leaves])))
    total = _moved_into(terms, inner.constant, mover, like.type.clone(broadcastable=pattern)())
    if total is None:
        return None
    for name in signatures:
        del pairs[name]
    return total, list(mover.powers)


def _moved_into(terms, constant, mover, like):
    """Return the sum of ``mover`` times each term, or None if there would still be a division by a probability."""
    if constant:
        alone = Product()
        alone.coefficient = constant
        terms = terms + [alone]
    built = []
    for term in terms:
        term = term.times(mover)
        if any([min(pair.exponents()) < 0 for pair in pairs_of(term.powers)]):
            return None
        variable = factors.build(stabilized(term) or term, like)
        if variable is None:
            return None
        built.append((1, variable))
    return sums.build(built, 0, mover.leaves, like)


def signed_products(total, readers):
    """Return the terms of a sum as products; of large shared terms only the nearby part is read."""
    terms = []
    for sign, variable in total.terms:
        term = product_of(variable, readers, NEARBY)
        term.coefficient = term.coefficient * sign
        terms.append(term)
    return terms


def _cancelling(pairs, terms):
    """Return the signatures of those ``pairs`` whose exponents have another sign in one of the terms."""
    found = {}
    for term in terms:
        for inside in all_pairs(term.powers).values():
            for name, negative in ((signature(inside.form), False), (signature(opposite(inside.form)), True)):
                if name in pairs and _opposed(inside, pairs[name], negative):
                    found[name] = None
    return list(found)


def _opposed(inside, outside, negative):
    """Return whether S(t) or S(-t) has exponents of different signs in two pairs, one of which may be for -t."""
    if all([key(factor) == "exp" for factor, _, _ in inside.factors + outside.factors]):
        return False
    (plus, minus), (first, second) = inside.exponents(), outside.exponents()
    if negative:
        plus, minus = minus, plus
    return plus * first < 0 or minus * second < 0


def within(fgraph, variable, keys):
    """Return whether ``variable`` belongs to a larger tree of ``keys`` and negations, which is read from its root."""
    while True:
        if is_inside(fgraph, variable, keys):
            return True
        if not is_inside(fgraph, variable, ("neg",)):
            return False
        variable = only_reader(fgraph, variable)


def logistic_product(fgraph, node):
    """Put the logistic factors of a product into stable form."""
    out = node.outputs[0]
    if not is_inexact(out) or within(fgraph, out, _FRACTIONS):
        return None
    readers = readers_in(fgraph)
    product = product_in(fgraph, out)
    if not any([key(factor) in _LOGISTIC for factor in product.powers]):
        return None
    result = stabilized(product)
    if result is None and any([key(factor) in factors.KEYS for factor in product.powers]):
        wide = product_of(out, lambda variable: 1, NEARBY)
        result = stabilized(wide) or (wide if wide.cancelled else None)
    result = distributed(result or product, out, readers) or result
    return None if result is None else factors.build(result, out)


_BESIDE_EXP = frozenset(["sigmoid", "add"])
_FRACTIONS = factors.KEYS - {"neg"}
_LOGISTIC = frozenset(["sigmoid", "add", "sub", "exp"])      # a product without such factors stays as it is


REWRITES = [
    Rewrite("local_sigm_times_exp", ("mul", "true_div", "inv", "sqr", "pow"), logistic_product,
            (FAST_RUN, "local_inv_1_plus_exp", "local_exp_over_1_plus_exp"), beside=("sigmoid", "exp"),
            of=(*_LOGISTIC, *factors.KEYS), changes="nan range rounding"),
]
