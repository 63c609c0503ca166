"""Exponentials divided by functions with the same limit 0 or infinity, as in gradients of logarithms.

    exp(-t**2) / erfc(t) = 1 / erfcx(t)      exp(t) / expm1(t) = -1 / expm1(-t)      expm1(t) * sigmoid(-t) = tanh(t/2)

The right-hand sides do not underflow or overflow where numerator and denominator on the left do. As t may be
``(x - m) / s``, exponents are compared in normal form, in which the constants of a scaled t**2 may differ in the last
digits.
"""
from math import isclose

from phintys.optimizer.engine.database import FAST_RUN, Rewrite
from phintys.optimizer.engine.forms import is_inside, key, linear_form, product_of
from phintys.optimizer.engine.values import apply_op, constant_like
from phintys.optimizer.rewrites import factors
from phintys.optimizer.rewrites.factors import product_in
from phintys.optimizer.rewrites.logistic import opposite_argument
from phintys.optimizer.rewrites.sums import opposite

NEARBY = 32                    # a limit on visits of nodes with other readers, so that the work stays linear


def scaled_erfc(t):
    """Return ``erfc(t)`` without its exponential."""
    return apply_op("erfcx", t), 1


def opposite_expm1(t):
    """Return ``expm1(t)`` without its exponential."""
    return apply_op("expm1", opposite_argument(t)), -1


# f: (k, p, g), where exp(k * t**p) / f(t) is 1 / (sign * function of t), which g returns
QUOTIENTS = {"erfc": (-1, 2, scaled_erfc), "expm1": (1, 1, opposite_expm1)}


def stable_quotient(fgraph, node):
    """Replace an exponential divided by one of the functions of `QUOTIENTS`, in a product, by the stable form."""
    out = node.outputs[0]
    if not out.type.dtype.startswith("float") or is_inside(fgraph, out, factors.KEYS):
        return None
    product = product_in(fgraph, out)
    if not _exponentials(product):
        return None
    if not _divisors(product) and any([key(factor) in factors.KEYS for factor in product.powers]):
        product = product_of(out, lambda variable: 1, NEARBY)
    changed, product = False, product.copy()
    for divisor in _divisors(product):
        for exponential in _exponentials(product):
            if _belong_together(exponential, divisor):
                _divide(product, exponential, divisor)
                changed = True
                break
    return factors.build(product, out) if changed else None


def growth_of_sigmoid(fgraph, node):
    """``expm1(t) * sigmoid(-t) -> tanh(t / 2)``, in a product."""
    out = node.outputs[0]
    if not out.type.dtype.startswith("float") or is_inside(fgraph, out, factors.KEYS):
        return None
    product = product_in(fgraph, out)
    growths = [factor for factor, exponent in product.powers.items() if exponent == 1 and key(factor) == "expm1"]
    sigmoids = [factor for factor, exponent in product.powers.items() if exponent > 0 and key(factor) == "sigmoid"]
    for growth in growths:
        form = opposite(linear_form(growth.owner.inputs[0]))
        for factor in sigmoids:
            if linear_form(factor.owner.inputs[0]) == form and growth.type.dtype == out.type.dtype:
                product, t = product.copy(), growth.owner.inputs[0]
                product.multiply(growth, -1)
                product.multiply(factor, -1)
                product.multiply(apply_op("tanh", apply_op("mul", t, constant_like(0.5, growth))), 1)
                return factors.build(product, out)
    return None


def _exponentials(product):
    return [factor for factor, exponent in product.powers.items() if exponent > 0 and key(factor) == "exp"]


def _divisors(product):
    return [factor for factor, exponent in product.powers.items() if exponent < 0 and key(factor) in QUOTIENTS]


def _belong_together(exponential, divisor):
    """Return whether the exponential's argument is k * t**p for the divisor's argument t."""
    sign, power, _ = QUOTIENTS[key(divisor)]
    exponent, t = [product_of(variable.owner.inputs[0], lambda other: 1, NEARBY) for variable in (exponential, divisor)]
    tolerance = 1e-6 if divisor.type.dtype == "float32" else 1e-15
    return (exponent.powers == {factor: power * times for factor, times in t.powers.items()}
            and isclose(exponent.coefficient, sign * t.coefficient ** power, rel_tol=tolerance))


def _divide(product, exponential, divisor):
    """Replace as many of both as there are."""
    factor, sign = QUOTIENTS[key(divisor)][2](divisor.owner.inputs[0])
    times = min(product.powers[exponential], -product.powers[divisor])
    product.coefficient = product.coefficient * sign ** times
    product.multiply(exponential, -times)
    product.multiply(divisor, times)
    product.multiply(factor, -times)


REWRITES = [
    Rewrite("local_grad_log_erfc_neg", ("mul", "true_div", "inv"), stable_quotient, (FAST_RUN,), beside=QUOTIENTS,
            changes="nan range rounding"),
    Rewrite("local_expm1_times_sigmoid", ("mul", "true_div"), growth_of_sigmoid, (FAST_RUN,), beside=("expm1",),
            changes="nan range rounding"),
]
