"""Products in normal form, as ``forms.pyx`` reads them: what cancels in them, and how they are built again."""
from phintys.ops.types.dtypes import COMPLEX_DTYPES
from phintys.optimizer.engine.forms import (
    FACTORS,
    LARGEST_EXPONENT,
    Product,
    constant_value,
    is_inside,
    key,
    only_reader,
    product_of,
    read_once,
    stays_under_power,
)
from phintys.optimizer.engine.values import apply_op, apply_wide, as_type, constant_like

NEARBY = 32                    # a limit on visits of nodes inside an ``abs``, which may have other readers
KEYS = FACTORS

product_in = read_once("products", product_of)         # of (fgraph, root); copy a product before you change it


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
