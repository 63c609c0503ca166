"""NumPy's loops, of which elementwise ops consist, as nodes of ONNX.

A row of ``LOOPS`` takes the dtype of the result and the operands, which are `Value`, and returns the result. Where
NumPy and ONNX differ, it has the nodes that make up for it, or refuses.
"""
from __future__ import annotations

import math
from typing import TYPE_CHECKING

from phintys.interop.onnx.model import FLOATS, WIDE, ExportError

if TYPE_CHECKING:
    from collections.abc import Callable

    from phintys.interop.onnx.model import Value

    Row = Callable[..., Value]


# ---- kinds of rows ---------------------------------------------------------------------------------------------------
def simple(kind: str) -> Row:
    """One node; small integers are computed in wider ones."""
    def row(result: str, first: Value, *others: Value) -> Value:
        wide = WIDE.get(first.dtype)
        if wide is None:
            return first.node(kind, *others, dtype=result)
        found = first.cast(wide).node(kind, *[other.cast(wide) for other in others],
                                      dtype="bool" if result == "bool" else wide)
        return found.cast(result)
    return row


def of_floats(kind: str) -> Row:
    """One node on floats."""
    def row(result: str, first: Value, *others: Value) -> Value:
        if first.dtype not in FLOATS:
            raise ExportError(f"{kind} of {first.dtype}")
        return first.node(kind, *others, dtype=result)
    return row


def formula(write: Row) -> Row:
    """A formula of floats."""
    def row(result: str, *operands: Value) -> Value:
        if operands[0].dtype not in FLOATS:
            raise ExportError(f"a formula for {operands[0].dtype}")
        return write(*operands)
    return row


def _of_kind(kind: str, instead: str, otherwise: Callable[[str], Row] = simple) -> Row:
    """A sum, a product, or an operation on bits, which NumPy computes for booleans as a logical one."""
    plain = otherwise(kind)
    return lambda result, first, *others: (first.node(instead, *others) if first.dtype == "bool"
                                           else plain(result, first, *others))


def _bits(kind: str) -> Row:
    return lambda result, first, *others: first.node(kind, *others)


def _extremum(kind: str, first: str, of_bools: str) -> Row:
    """NaN of either operand stays; ONNX leaves open what becomes of it."""
    def row(result: str, x: Value, y: Value) -> Value:
        if x.dtype == "bool":
            return x.node(of_bools, y)
        if x.dtype not in FLOATS:
            wide = WIDE.get(x.dtype, x.dtype)
            return x.cast(wide).node(first, y.cast(wide), dtype="bool").where(x, y)
        return x.is_nan().where(x, y.is_nan().where(y, x.node(kind, y)))
    return row


def _comparison(kind: str) -> Row:
    def row(result: str, x: Value, y: Value) -> Value:
        wide = "int32" if x.dtype == "bool" and kind != "Equal" else WIDE.get(x.dtype, x.dtype)
        return x.cast(wide).node(kind, y.cast(wide), dtype="bool")
    return row


def _logical(kind: str) -> Row:
    return lambda result, first, *others: first.cast("bool").node(kind, *[other.cast("bool") for other in others])


def _widened(write: Row) -> Row:
    """Integers in int32 or wider, floats as they are."""
    def row(result: str, *operands: Value) -> Value:
        given = operands[0].dtype
        if given == "bool":
            raise ExportError("a quotient of booleans")
        return write(*[operand.cast(WIDE.get(given, given)) for operand in operands]).cast(result)
    return row


# ---- quotients -------------------------------------------------------------------------------------------------------
def _remainder(x: Value, y: Value) -> Value:
    """The sign of the divisor; 0 for integers by 0, on which runtimes end the process; NaN for floats by 0."""
    by_zero = y.equals(0)
    if x.dtype not in FLOATS:
        return by_zero.where(0, x.node("Mod", by_zero.where(1, y)))
    rest = x.node("Mod", y, fmod=1)
    is_moved = ((rest < 0) ^ (y < 0)) & ~rest.equals(0)
    return by_zero.where(x.number(0) / 0, is_moved.where(rest + y, rest))


def _floor_divide(x: Value, y: Value) -> Value:
    """Rounded down; ONNX's quotient of integers is rounded towards 0. 0 for integers by 0."""
    by_zero = y.equals(0)
    if x.dtype not in FLOATS:
        return by_zero.where(0, (x - _remainder(x, y)) / by_zero.where(1, y))
    rest = x.node("Mod", y, fmod=1)
    is_moved = ~rest.equals(0) & ((rest < 0) ^ (y < 0))
    quotient = (x - rest) / y - is_moved.cast(x.dtype)
    low = quotient.node("Floor")
    return by_zero.where(x / y, (quotient - low > 0.5).where(low + 1, low))


def _fmod(x: Value, y: Value) -> Value:
    if x.dtype in FLOATS:
        return x.node("Mod", y, fmod=1)
    by_zero = y.equals(0)
    return by_zero.where(0, x.node("Mod", by_zero.where(1, y), fmod=1))


# ---- formulas of floats ----------------------------------------------------------------------------------------------
def _log1p(x: Value) -> Value:
    """Exact for small x: ``log(u) x / (u - 1)`` with the rounded ``u = 1 + x``."""
    u = x + 1
    logarithm = u.node("Log")
    is_plain = u.is_infinite() | ~(u > 0)
    return u.equals(1).where(x, is_plain.where(logarithm, logarithm * (x / (u - 1))))


def _expm1(x: Value) -> Value:
    """Exact for small x: ``(u - 1) x / log(u)`` with the rounded ``u = exp(x)``."""
    u = x.node("Exp")
    less = u - 1
    is_plain = u.is_infinite() | ~(u > 0)
    return u.equals(1).where(x, is_plain.where(less, less * (x / u.node("Log"))))


def _odd(write: Row) -> Row:
    """A formula for the magnitude, with the sign of the operand."""
    def value(x: Value) -> Value:
        found = write(abs(x))
        return (x < 0).where(-found, found)
    return formula(value)


def _sinh(size: Value) -> Value:
    """``(e + e / (e + 1)) / 2`` with ``e = expm1(size)``, which is exact for small sizes."""
    e = _expm1(size)
    return e.is_infinite().where(e, e + e / (e + 1)) * 0.5


def _cosh(x: Value) -> Value:
    e = abs(x).node("Exp")
    return (e + 1 / e) * 0.5


def _softplus(x: Value) -> Value:
    return x.node("Max", 0) + _log1p((-abs(x)).node("Exp"))


def _of_large(size: Value, small: Value) -> Value:
    """An inverse hyperbolic function: ``log(2 size)`` where squares would overflow."""
    return (size > 1e6).where(size.node("Log") + math.log(2), small)


def _arcsinh(size: Value) -> Value:
    square = size * size
    return _of_large(size, _log1p(size + square / ((square + 1).node("Sqrt") + 1)))


def _arccosh(x: Value) -> Value:
    less = x - 1
    return _of_large(x, _log1p(less + (less * (x + 1)).node("Sqrt")))


def _arctanh(size: Value) -> Value:
    return _log1p((size + size) / (1 - size)) * 0.5


# ---- others ----------------------------------------------------------------------------------------------------------
def _power(result: str, x: Value, y: Value) -> Value:
    if x.dtype not in FLOATS:
        raise ExportError("powers of integers, which runtimes of ONNX compute in floating point")
    return x.node("Pow", y)


def _negative(result: str, x: Value) -> Value:
    if x.dtype.startswith("uint"):
        raise ExportError("negative unsigned integers")
    return simple("Neg")(result, x)


def _sign(result: str, x: Value) -> Value:
    found = simple("Sign")(result, x)
    return x.is_nan().where(x, found) if x.dtype in FLOATS else found


def _clip(result: str, x: Value, low: Value, high: Value) -> Value:
    """Below the lower limit that one, above the upper limit that one, whichever is larger; NaN stays. ONNX's Clip gives
    the upper one where they are crossed, and leaves NaN open."""
    above = LOOPS["greater"]("bool", x, high).where(high, x)
    return LOOPS["less"]("bool", x, low).where(low, above)


LOOPS: dict[str, Row] = {
    "add": _of_kind("Add", "Or"), "multiply": _of_kind("Mul", "And"), "subtract": simple("Sub"),
    "divide": of_floats("Div"), "true_divide": of_floats("Div"), "floor_divide": _widened(_floor_divide),
    "remainder": _widened(_remainder), "fmod": _widened(_fmod), "power": _power, "negative": _negative,
    "absolute": simple("Abs"), "square": lambda result, x: LOOPS["multiply"](result, x, x),
    "reciprocal": of_floats("Reciprocal"), "sign": _sign,
    "sqrt": of_floats("Sqrt"), "exp": of_floats("Exp"), "log": of_floats("Log"), "sin": of_floats("Sin"),
    "cos": of_floats("Cos"), "tanh": of_floats("Tanh"), "floor": of_floats("Floor"), "ceil": of_floats("Ceil"),
    "rint": of_floats("Round"), "isnan": of_floats("IsNaN"), "isinf": of_floats("IsInf"),
    "isfinite": lambda result, x: ~(x.is_nan() | x.is_infinite()),
    "arctan": of_floats("Atan"), "arcsin": of_floats("Asin"), "arccos": of_floats("Acos"),
    "arcsinh": _odd(_arcsinh), "arccosh": formula(_arccosh), "arctanh": _odd(_arctanh), "softplus": formula(_softplus),
    "erf": of_floats("Erf"), "log1p": formula(_log1p), "expm1": formula(_expm1), "sinh": _odd(_sinh),
    "cosh": formula(_cosh), "log2": formula(lambda x: x.node("Log") / math.log(2)),
    "log10": formula(lambda x: x.node("Log") / math.log(10)), "exp2": formula(lambda x: x.number(2).node("Pow", x)),
    "tan": formula(lambda x: x.node("Sin") / x.node("Cos")),
    "trunc": formula(lambda x: (x < 0).where(x.node("Ceil"), x.node("Floor"))),
    "deg2rad": formula(lambda x: x * (math.pi / 180)), "rad2deg": formula(lambda x: x * (180 / math.pi)),
    "maximum": _extremum("Max", "Greater", "Or"), "minimum": _extremum("Min", "Less", "And"),
    "equal": _comparison("Equal"), "not_equal": lambda result, x, y: ~_comparison("Equal")(result, x, y),
    "less": _comparison("Less"), "less_equal": _comparison("LessOrEqual"), "greater": _comparison("Greater"),
    "greater_equal": _comparison("GreaterOrEqual"), "logical_and": _logical("And"), "logical_or": _logical("Or"),
    "logical_xor": _logical("Xor"), "logical_not": _logical("Not"), "bitwise_and": _of_kind("BitwiseAnd", "And", _bits),
    "bitwise_or": _of_kind("BitwiseOr", "Or", _bits), "bitwise_xor": _of_kind("BitwiseXor", "Xor", _bits),
    "invert": _of_kind("BitwiseNot", "Not", _bits), "cast": lambda result, x: x.cast(result),
    "switch": lambda result, condition, yes, no: condition.cast("bool").where(yes, no), "clip": _clip,
    "copy": lambda result, x: x,
}
