"""Products in normal form: ``coefficient * x**a * y**b * ...``, read from trees of mul, true_div, inv, neg, sqr and
pow.

A `Product` describes a variable and is not part of the graph: it is collected, simplified, compared and, if that saves
something, built again. Collecting goes through inner nodes that have no other reader and the same dtype, so a tree is
read once, from its root, and no work is ever duplicated; signs pass through every ``neg`` that cannot wrap around.
Products are formed only for floating point and complex dtypes, because integers have no inverse. Numbers whose product
the dtype cannot hold stay separate, and so do powers of `LARGEST_EXPONENT` and more: ``1e200 * x * 1e200`` must not
overflow.
"""
import math

import numpy

from phintys.graph.config import config
from phintys.ops.types.dtypes import COMPLEX_DTYPES, CONTINUOUS_DTYPES
from phintys.optimizer.engine.values import (
    FILLED,
    LARGEST_EXPONENT,
    apply_op,
    apply_wide,
    as_type,
    constant_like,
    constant_value,
    is_inexact,
    is_inside,
    keeps_value,
    key,
    only_reader,
    read_once,
    whole_power,
)

# The smallest and the largest number of each dtype, as Python numbers.
RANGES = {name: (float(numpy.finfo(name).smallest_normal), float(numpy.finfo(name).max)) for name in CONTINUOUS_DTYPES}
EVERYTHING = 0.0, math.inf
NEARBY = 32                    # a limit on visits of nodes inside an ``abs``, which may have other readers
KEYS = frozenset(["mul", "true_div", "inv", "neg", "sqr", "pow"])


class Product:
    """A product in normal form.

    Attributes
    ----------
    coefficient : number
    powers : dict of Variable to int
        The exponent of each factor, never 0, in order of appearance.
    leaves : list of Variable
        All factors met, including cancelled ones, which still determine the shape.
    operations : int
        The number of nodes that the product was read from.
    constants : int
        The number of constants that are included in the coefficient.
    cancelled : bool
        Whether a factor met its inverse, so that the normal form is smaller than the original.
    """

    __slots__ = ("coefficient", "powers", "leaves", "operations", "constants", "cancelled")

    def __init__(self):
        self.coefficient = 1
        self.powers = {}
        self.leaves = []
        self.operations = 0
        self.constants = 0
        self.cancelled = False

    def multiply(self, factor, exponent):
        """Include ``factor ** exponent``."""
        powers = self.powers
        known = powers.get(factor, 0)
        if known * exponent < 0:
            self.cancelled = True
        if known + exponent:
            powers[factor] = known + exponent
        else:
            del powers[factor]

    def copy(self):
        """Return a product of the same factors, which can be changed."""
        result = Product()
        result.coefficient = self.coefficient
        result.powers = dict(self.powers)
        result.leaves = list(self.leaves)
        result.operations, result.constants, result.cancelled = self.operations, self.constants, self.cancelled
        return result

    def times(self, other):
        """Return the product of two products."""
        result = self.copy()
        result.coefficient = self.coefficient * other.coefficient
        result.leaves.extend(other.leaves)
        result.operations += other.operations + 1
        for factor, exponent in other.powers.items():
            result.multiply(factor, exponent)
        return result

    def signature(self):
        """Return a value that is equal for products which differ only in the coefficient."""
        return frozenset(self.powers.items())


def product_of(root, readers, nearby=None):
    """Return the normal form of ``root``.

    Parameters
    ----------
    root : Variable
    readers : callable
        ``readers(variable)`` returns how often a variable is read; the root's own node is always entered.
    nearby : int, optional
        Stop entering nodes after this number.

    Returns
    -------
    Product
    """
    product, dtype = Product(), root.type.dtype
    stack = [(root, 1)]
    while stack:
        variable, exponent = stack.pop()
        name = key(variable)
        value = constant_value(variable) if name is None or name in FILLED else None
        if value is not None and (value != 0 or exponent == 1):
            coefficient = _multiplied_number(product.coefficient, value, exponent, dtype)
            if coefficient is not None:
                product.coefficient = coefficient
                product.constants += 1
                product.leaves.append(variable)
                continue
        inner = None
        if name in KEYS:
            inner = _factors(name, variable, exponent, dtype, product,
                             variable is root or (readers(variable) == 1
                                                  and (nearby is None or product.operations < nearby)))
        if inner is None:
            product.leaves.append(variable)
            product.multiply(variable, exponent)
        else:
            product.operations += 1
            stack.extend(reversed(inner))
    return product


product_in = read_once("products", product_of)         # of (fgraph, root); copy a product before you change it


def _multiplied_number(coefficient, value, exponent, dtype):
    """Return ``coefficient * value ** exponent``, or None if ``dtype`` cannot hold it although it holds all parts."""
    try:
        result = coefficient * (value if exponent == 1 else (value * 1.0) ** exponent)
    except OverflowError:
        return None
    smallest, largest = RANGES.get(dtype, EVERYTHING)
    return result if smallest <= abs(result) <= largest or not smallest <= abs(value) <= largest \
        or not smallest <= abs(coefficient) <= largest else None


def _factors(name, variable, exponent, dtype, product, may_enter):
    """Return the factors ``[(variable, exponent)]`` of ``variable ** exponent``, computed by an op of this key in
    `KEYS`, or None if they stay together."""
    inputs = variable.owner.inputs
    if name == "neg":
        if not keeps_value(variable, dtype):
            return None
        product.coefficient = -product.coefficient if exponent % 2 else product.coefficient
        return [(inputs[0], exponent)]
    if not may_enter or variable.type.dtype != dtype or not is_inexact(variable) \
            or 2 * abs(exponent) > LARGEST_EXPONENT or stays_under_power(name, exponent):
        return None
    if name == "mul":
        return [(factor, exponent) for factor in inputs]
    if name == "true_div":
        return [(inputs[0], exponent), (inputs[1], -exponent)]
    if name == "inv":
        return [(inputs[0], -exponent)]
    if name == "sqr":
        return [(inputs[0], 2 * exponent)]
    power = whole_power(variable)
    return None if power is None else [(inputs[0], power * exponent)]


def stays_under_power(name, exponent):
    """Return whether products and quotients stay together under a power: ``(x / m)**2`` is finite where ``x**2`` and
    ``m**2`` are not."""
    return abs(exponent) > 1 and name in ("mul", "true_div") and config.math_rules != "fast"


def is_inside_product(fgraph, variable):
    """Return whether ``variable`` is an inner node of a larger product, whose root includes its factors."""
    if not stays_under_power(key(variable), 2):         # at once: a chain of signs may be long
        return is_inside(fgraph, variable, KEYS)
    inner = variable
    while is_inside(fgraph, inner, KEYS):
        inner = only_reader(fgraph, inner)
        if key(inner) not in ("neg", "inv"):
            return key(inner) not in ("sqr", "pow")
    return inner is not variable


def cancel_magnitudes(product):
    """``x / abs(x) -> sgn(x)``, which is 0 at 0, also where x is one of the factors inside of the ``abs``.

    Returns
    -------
    Product
        The same one if there is nothing to cancel, else a copy.
    """
    divisors = [(factor, exponent) for factor, exponent in product.powers.items()
                if exponent < 0 and key(factor) == "abs_" and factor.type.dtype not in ("bool", *COMPLEX_DTYPES)
                and factor.owner.inputs[0].type.dtype == factor.type.dtype]    # a complex number has no sign
    product = product.copy() if divisors else product
    for divisor, exponent in divisors:
        argument = divisor.owner.inputs[0]
        inside = product_of(argument, lambda variable: 1, NEARBY)
        if product.powers.get(argument, 0) > 0:
            inside = Product()
            inside.multiply(argument, 1)
        common = {factor: min(product.powers.get(factor, 0), -power * exponent)
                  for factor, power in inside.powers.items()}
        if max(common.values(), default=0) > 0 and inside.coefficient:
            del product.powers[divisor]
            product.coefficient = product.coefficient * abs(inside.coefficient) ** exponent
            for factor, power in inside.powers.items():
                _cancel_magnitude(product, factor, power * exponent, max(common[factor], 0))
    return product


def _cancel_magnitude(product, factor, exponent, times):
    """Multiply by ``abs(factor) ** exponent``, where ``factor ** times`` becomes ``sgn(factor) ** times``."""
    if exponent + times:
        product.multiply(apply_op("abs_", factor), exponent + times)
    if times:
        product.multiply(factor, -times)
        product.multiply(apply_op("sgn", factor), times)
        product.cancelled = True


def build(product, like):
    """Return a variable with the value of ``product`` and the type of ``like``, or None if not possible."""
    if any([_is_out_of_range(factor, exponent) for factor, exponent in product.powers.items()]):
        return None
    above = [_power(factor, exponent, like) for factor, exponent in product.powers.items() if exponent > 0]
    below = [_power(factor, -exponent, like) for factor, exponent in product.powers.items() if exponent < 0]
    coefficient = product.coefficient
    negative = coefficient == -1 and (above or below)
    if not (above or below) or not (coefficient == 1 or negative) or (not above and not negative):
        above.insert(0, constant_like(coefficient, like))
        negative = False
    elif not above:
        above.append(constant_like(-1 if negative else 1, like))
        negative = False
    result = _multiplied(above, like)
    if below:
        result = apply_op("true_div", result, _multiplied(below, like))
    if negative:
        result = apply_op("neg", result)
    return as_type(result, like.type, product.leaves)


def _is_out_of_range(factor, exponent):
    """Return whether a power would lose digits of its exponent, or is that of a number outside the coefficient."""
    return abs(exponent) > LARGEST_EXPONENT or abs(exponent) > 1 and constant_value(factor) is not None


def _multiplied(factors, like):
    if len(factors) > 1:
        return apply_wide("mul", factors, like.type.dtype)
    return as_type(factors[0], like.type.clone(broadcastable=factors[0].type.broadcastable), ())


def _power(factor, exponent, like):
    if exponent == 1:
        return factor
    factor = as_type(factor, like.type.clone(broadcastable=factor.type.broadcastable), ())
    return apply_op("sqr", factor) if exponent == 2 else apply_op("pow", factor, constant_like(exponent, like))


def operations_to_build(product):
    """Return how many nodes `build` makes."""
    above = [exponent for exponent in product.powers.values() if exponent > 0]
    below = [-exponent for exponent in product.powers.values() if exponent < 0]
    extra = product.coefficient not in (1, -1) or (not above and bool(below))
    return ((len(above) + extra > 1) + (len(below) > 1) + bool(below) + (product.coefficient == -1 and bool(above))
            + sum([exponent > 1 for exponent in above + below]))
