"""Magnitudes and signs of values that are known to be positive, and powers of exponentials.

    switch(sqr(x) >= 0, sqr(x), nan) = sqr(x)
    abs(exp(x)) = exp(x)        exp(x)**c = exp(c * x)        sqrt(exp(x))**2 = exp(x)        y / sgn(exp(x)) = y
    exp(2 * x) * y * exp(-3 * x) = y * exp(-x)        log(a * exp(x)) = log(a) + x

In models, scales are often exponentials, and gradients contain powers of them. A power with a fractional exponent takes
many times as long as an exponential, and overflows where the result does not.
"""
from phintys.optimizer.engine.database import FAST_RUN, Rewrite
from phintys.optimizer.engine.forms import constant_value, is_inside, key, only_reader, product_of, readers_in
from phintys.optimizer.engine.values import apply_op, apply_wide, constant_like, is_float
from phintys.optimizer.rewrites import factors
from phintys.optimizer.rewrites.factors import product_in

DEEPEST = 6                    # nodes between a value and those that tell its sign
POSITIVE = frozenset(["exp", "exp2", "sigmoid", "softplus", "erfcx"])
NOT_NEGATIVE = frozenset(["sqr", "abs_"])
ALL, FIRST, BOUNDS = slice(None), slice(1), slice(1, None)
AS_OPERANDS = {"add": ALL, "mul": ALL, "true_div": ALL, "inv": ALL, "sqrt": ALL, "DimShuffle": ALL, "Reshape": FIRST,
               "clip": BOUNDS}       # op: the operands that have a sign if the result has it
DEFINED = {"ge": 0, "le": 1, "lt": 0, "gt": 1}      # comparisons of x with 0: the operand that is x
PASSING_ON = frozenset(["add", "sub", "mul", "true_div", "neg", "inv", "sqr", "sqrt", "exp", "log"])
NEARBY = 32                    # a limit on visits of nodes with other readers, so that the work stays linear


def is_positive(variable, depth=DEEPEST):
    """Return whether the formula is positive for all numbers for which it is defined, though it may underflow to 0."""
    return _has_sign(variable, POSITIVE, lambda value: value > 0, depth)


def is_not_negative(variable, depth=DEEPEST):
    """As `is_positive`, or 0."""
    return _has_sign(variable, POSITIVE | NOT_NEGATIVE, lambda value: value >= 0, depth)


def _has_sign(variable, names, of_number, depth):
    if not depth or not is_float(variable):
        return False
    value = constant_value(variable)
    if value is not None:
        return of_number(value)
    name = key(variable)
    if name in names:
        return True
    if name not in AS_OPERANDS:
        return False
    inputs = variable.owner.inputs[AS_OPERANDS[name]]
    return all([_has_sign(operand, names, of_number, depth - 1) for operand in inputs])


def is_bounded(variable, depth=DEEPEST):
    """Return whether the formula is at least a positive constant for all numbers for which it is defined: it does not
    underflow to 0."""
    if not depth or not is_float(variable):
        return False
    value = constant_value(variable)
    if value is not None:
        return value > 0
    name = key(variable)
    if name == "add":
        return any([is_bounded(term, depth - 1) for term in variable.owner.inputs]) and is_not_negative(variable, depth)
    return name == "clip" and is_bounded(variable.owner.inputs[1], depth - 1) and is_not_negative(variable, depth) \
        or name == "DimShuffle" and is_bounded(variable.owner.inputs[0], depth - 1)


def magnitude(fgraph, node):
    """``abs(x) -> x`` where x is not negative."""
    x = node.inputs[0]
    return x if is_not_negative(x) else None


def defined(fgraph, node):
    """``switch(x >= 0, y, z) -> y`` where x is not negative, and where it is not a number, neither is the result: z is
    not a number and y is x, or something is added that is not a number, as in gradients of powers of roots."""
    condition, *branches = node.inputs
    name, out = key(condition), node.outputs[0]
    if name not in DEFINED:
        return None
    x = condition.owner.inputs[DEFINED[name]]
    number, other = branches if name in ("ge", "le") else branches[::-1]
    if number.type != out.type or constant_value(condition.owner.inputs[1 - DEFINED[name]]) != 0 \
            or not is_not_negative(x):
        return None
    value = constant_value(other)
    is_known = number is x and value is not None and value != value
    return number if is_known or x.type == out.type and _is_added_to_power(fgraph, out, x) else None


def _is_added_to_power(fgraph, variable, x):
    """Return whether a term of the sum that reads the variable is not a number where x is not one."""
    for _ in range(DEEPEST):
        reader = only_reader(fgraph, variable)
        if reader is None or key(reader) not in ("add", "sub") or reader.type != x.type:
            return False
        if any([term is not variable and _passes_on(term, x, DEEPEST) for term in reader.owner.inputs]):
            return True
        variable = reader
    return False


def _passes_on(variable, x, depth):
    """Return whether the variable, computed element by element, is not a number where x is not one."""
    return variable is x or bool(depth) and key(variable) in PASSING_ON and any(
        [_passes_on(operand, x, depth - 1) for operand in variable.owner.inputs])


def sign(fgraph, node):
    """``sgn(x) * sqrt(x) -> sqrt(x)`` and ``y / sgn(x) -> y`` where x is positive; ``sgn(1 + sqr(x)) * y -> y``.

    If x underflows to 0, its sign is 0; then the other factor is 0, too, or the result is not finite.
    """
    out = node.outputs[0]
    if not out.type.dtype.startswith("float") or is_inside(fgraph, out, factors.KEYS):
        return None
    product = product_in(fgraph, out)
    signs = [factor for factor in product.powers if key(factor) == "sgn" and factor.type.dtype == out.type.dtype
             and (is_positive(factor.owner.inputs[0]) or is_bounded(factor.owner.inputs[0]))]
    if not signs:
        return None
    near = [other for other in _factors_around(fgraph, out) if other not in signs]
    dropped = [factor for factor in signs if product.powers[factor] < 0 or is_bounded(factor.owner.inputs[0]) or any(
        [_vanishes_with(other, factor.owner.inputs[0]) for other in near])]
    product = product.copy()
    for factor in dropped:
        del product.powers[factor]
    return factors.build(product, out) if dropped else None


def _factors_around(fgraph, variable):
    """Return the factors of a product, and those of the product of which it is a term: ``(x + this) * y``."""
    found = list(product_of(variable, lambda other: 1, NEARBY).powers)
    outer = _root(fgraph, variable, ("add", "sub", "neg"))
    product = _root(fgraph, outer, factors.KEYS)
    return found if product is outer else found + list(product_of(product, lambda other: 1, NEARBY).powers)


def _root(fgraph, variable, keys):
    """Return the result of a tree of these operations that has the variable as a leaf, and no other reader on the way.
    """
    for _ in range(NEARBY):
        reader = only_reader(fgraph, variable)
        if reader is None or key(reader) not in keys:
            break
        variable = reader
    return variable


def _vanishes_with(variable, x):
    """Return whether the variable is a power of x, or both are exponentials of multiples of one value."""
    if variable is x or key(variable) in ("sqrt", "pow", "abs_") and variable.owner.inputs[0] is x:
        return True
    mine, his = exponent_of(variable), exponent_of(x)
    if mine is None or his is None:
        return False
    first, second = [product_of(found[0], lambda other: 1, NEARBY).signature() for found in (mine, his)]
    return first == second


# ---- powers of exponentials ------------------------------------------------------------------------------------------
_EXPONENTS = {"exp": 1, "sqrt": 0.5, "sqr": 2, "inv": -1}
_POWERS_OF_EXPONENTIALS = frozenset([*_EXPONENTS, "pow", "true_div"])


def exponent_of(variable):
    """Return ``(x, c, n)`` if the variable is exp(x)**c, computed by n nodes; else None."""
    power, nodes, dtype = 1, 0, variable.type.dtype
    while variable.type.dtype == dtype and variable.owner is not None:
        name, base = key(variable), variable.owner.inputs[0]
        by = constant_value(variable.owner.inputs[1]) if name == "pow" else _EXPONENTS.get(name)
        if name == "true_div" and constant_value(base) == 1:
            by, base = -1, variable.owner.inputs[1]
        if type(by) not in (int, float):
            return None
        power, nodes, variable = power * by, nodes + 1, base
        if name == "exp":
            return (variable, power, nodes) if variable.type.dtype == dtype else None
    return None


def _exponential(x, power):
    """Return ``exp(power * x)``, where factors of x are collected."""
    argument = product_of(x, lambda variable: 1, NEARBY)
    argument.coefficient = argument.coefficient * power
    argument = factors.build(argument, x) if power != 1 else x
    return None if argument is None else apply_op("exp", argument)


def power_of_exponential(fgraph, node):
    """``exp(x)**c -> exp(c * x)``, where that is not a product or a root that costs less."""
    out, base = node.outputs[0], node.inputs[0]
    found = exponent_of(out) if out.type.dtype.startswith("float") else None
    if found is None:
        return None
    x, power, nodes = found
    if nodes == 2 and (key(out) in ("sqr", "inv") or key(out) == "sqrt" and len(fgraph.clients[base]) > 1):
        return None
    return _exponential(x, power)


def product_of_exponentials(fgraph, node):
    """``exp(2 * x) * y * exp(-3 * x) -> y * exp(-x)``, if one of them has no other reader or is a power of one."""
    out = node.outputs[0]
    if not out.type.dtype.startswith("float") or is_inside(fgraph, out, factors.KEYS):
        return None
    readers = readers_in(fgraph)
    product = product_in(fgraph, out)
    groups = {}                        # the value that exponents are multiples of -> its Exponentials
    for factor in product.powers:
        found = exponent_of(factor) if factor.type == out.type else None
        if found is not None and found[0].type == out.type:
            inside = product_of(found[0], lambda variable: 1, NEARBY)
            group = groups.setdefault(inside.signature(), Exponentials(found[0], inside.coefficient))
            group.add(factor, found[1] * inside.coefficient, found[2] > 1, readers(factor) == 1,
                      product.powers[factor] != 1)
    joined = [group for group in groups.values() if group.pays()]
    product = product.copy()
    return factors.build(product, out) if joined and all([group.join_in(product) for group in joined]) else None


class Exponentials:
    """Factors of a product that are exponentials of multiples of one value, ``coefficient * u``."""

    def __init__(self, x, coefficient):
        self.x, self.coefficient = x, coefficient
        self.powers = {}               # factor -> the number that u has in its exponent
        self.has_power = self.has_private = self.is_scaled = False

    def add(self, factor, power, is_power, is_private, is_scaled):
        self.powers[factor] = power
        self.is_scaled |= is_scaled and is_private
        self.has_power |= is_power and key(factor) != "sqrt"
        self.has_private |= is_private

    def pays(self):
        """Whether one exponential takes less time than these factors, which others may read."""
        return self.has_power or self.is_scaled or len(self.powers) > 1 and self.has_private

    def join_in(self, product):
        """Replace the factors by one exponential; return whether that is possible."""
        total = sum([product.powers[factor] * power for factor, power in self.powers.items()])
        for factor in self.powers:
            del product.powers[factor]
        single = _exponential(self.x, total / self.coefficient) if total else None
        if single is not None:
            product.multiply(single, 1)
        return single is not None or not total


def logarithm_of_exponentials(fgraph, node):
    """``log(a * exp(x) / b) -> x + log(a / b)``."""
    out, inner = node.outputs[0], node.inputs[0]
    if key(inner) not in ("mul", "true_div") or not out.type.dtype.startswith("float") or inner.type != out.type:
        return None
    product = product_of(inner, lambda variable: 1, NEARBY)
    terms = []
    for factor, exponent in list(product.powers.items()):
        if key(factor) == "exp" and factor.owner.inputs[0].type.dtype == out.type.dtype:
            x = factor.owner.inputs[0]
            terms.append(x if exponent == 1 else apply_op("mul", x, constant_like(exponent, x)))
            del product.powers[factor]
    if not terms or product.powers and not all([all(factor.type.broadcastable) for factor in product.powers]):
        return None
    rest = _product_of_numbers(product, inner)
    return None if rest is None else apply_wide("add", [*terms, apply_op("log", rest)], out.type.dtype)


def _product_of_numbers(product, like):
    """Return the product, which has one element and may have no factors, without spreading it over others."""
    one = like.type.clone(broadcastable=(True,) * like.type.ndim)
    return factors.build(product, one())


REWRITES = [                   # before exponentials are joined, so that those which vanish with a sign are still there
    Rewrite("local_abs_of_positive", ("abs_",), magnitude, (FAST_RUN,)),
    Rewrite("local_switch_of_positive", ("switch",), defined, (FAST_RUN,), of=tuple(DEFINED), changes="nan"),
    Rewrite("local_sign_of_positive", ("mul", "true_div"), sign, (FAST_RUN,), beside=("sgn",), changes="nan range"),
]
POWERS = [
    Rewrite("local_log_of_exponentials", ("log",), logarithm_of_exponentials, (FAST_RUN,), beside=("exp",),
            of=("mul", "true_div"), changes="nan range rounding"),
    Rewrite("local_power_of_exponential", ("pow", "sqr", "sqrt"), power_of_exponential, (FAST_RUN,), beside=("exp",),
            of=_POWERS_OF_EXPONENTIALS, changes="nan range rounding"),
    Rewrite("local_product_of_exponentials", ("mul", "true_div", "inv"), product_of_exponentials, (FAST_RUN,),
            beside=("exp",), of=factors.KEYS | _POWERS_OF_EXPONENTIALS, changes="nan range rounding"),
]
