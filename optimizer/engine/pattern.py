"""The language of patterns: ``rule("local_log_sigmoid", log(sigmoid(x)), -softplus(-x))``.

A pattern is a tree of `OpPattern`, `Hole` and numbers. An `OpPattern` is an op, given by its key. A `Hole` matches any
variable; if a hole occurs twice, it must match the same variable. A number matches a constant of any rank whose
elements all have this value. Patterns overload Python's operators, so that a row of a table reads like the mathematics
it states. `rule` compiles both sides to closures once, when the table is read; matching then goes only as deep as the
pattern.
Commutative ops with two operands match in both orders.

A pattern does not state types: the driver casts a replacement to the type of what it replaces.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.ops.elementwise.scalar import SCALAR_OPS
from phintys.optimizer.engine.database import FAST_RUN, REPEATED, Rewrite
from phintys.optimizer.engine.forms import constant_value, key_of
from phintys.optimizer.engine.values import NUMBERS, apply_op, constant_like

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


COMMUTATIVE = {name for name, op in SCALAR_OPS.items() if op.commutative}


class Expression:
    """The common part of patterns: the operators."""

    __slots__ = ()

    def __add__(self, other):
        return OpPattern("add", self, other)

    def __radd__(self, other):
        return OpPattern("add", other, self)

    def __sub__(self, other):
        return OpPattern("sub", self, other)

    def __rsub__(self, other):
        return OpPattern("sub", other, self)

    def __mul__(self, other):
        return OpPattern("mul", self, other)

    def __rmul__(self, other):
        return OpPattern("mul", other, self)

    def __truediv__(self, other):
        return OpPattern("true_div", self, other)

    def __rtruediv__(self, other):
        return OpPattern("true_div", other, self)

    def __pow__(self, other):
        return OpPattern("pow", self, other)

    def __neg__(self):
        return OpPattern("neg", self)

    def __repr__(self):
        return _text(self)


class Hole(Expression):
    """Matches any variable and gives it a name."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class OpPattern(Expression):
    """Matches the only output of a node whose op has ``key``."""

    __slots__ = ("key", "arguments")

    def __init__(self, key: Any, *arguments: Any) -> None:
        self.key = key
        self.arguments = arguments


INFIX = {"add": "+", "sub": "-", "mul": "*", "true_div": "/", "pow": "**"}


def _text(pattern):
    """Return a pattern as Python writes it; operands of operators that are operators have brackets."""
    if isinstance(pattern, Hole):
        return pattern.name
    if not isinstance(pattern, OpPattern):
        return str(pattern)
    operands = [_text(argument) for argument in pattern.arguments]
    if pattern.key not in INFIX and pattern.key != "neg":
        return f"{pattern.key}({', '.join(operands)})"
    operands = [f"({text})" if isinstance(argument, OpPattern) and argument.key in {*INFIX, "neg"} else text
                for argument, text in zip(pattern.arguments, operands)]
    return f"-{operands[0]}" if pattern.key == "neg" else f" {INFIX[pattern.key]} ".join(operands)


def op_pattern(key: Any) -> Any:
    """Return a function that builds patterns of one op: ``exp = op_pattern("exp")``."""
    return lambda *arguments: OpPattern(key, *arguments)


def compile_matcher(pattern: Expression | float) -> Callable[..., Any]:
    """Return a closure ``match(variable, found)`` that fills the dict ``found`` and returns whether it matches."""
    if isinstance(pattern, Hole):
        return _match_hole(pattern.name)
    if isinstance(pattern, OpPattern):
        return _match_op(pattern)
    return _match_number(pattern)


def _match_hole(name):
    def match(variable, found):
        known = found.get(name)
        if known is None:
            found[name] = variable
            return True
        return known is variable
    return match


def _match_number(number):
    def match(variable, found):
        value = constant_value(variable)
        return value is not None and value == number
    return match


def _match_op(pattern):
    key, inner = pattern.key, match_arguments(pattern)

    def match(variable, found):
        node = variable.owner
        return node is not None and key_of(node.op) == key and inner(node.inputs, found)
    return match


def match_arguments(pattern: OpPattern) -> Callable[..., Any]:
    """Return a closure that matches an op's arguments against a node's inputs."""
    matchers = [compile_matcher(argument) for argument in pattern.arguments]
    if len(matchers) == 1:
        only = matchers[0]
        return lambda inputs, found: len(inputs) == 1 and only(inputs[0], found)
    if len(matchers) == 2:
        return _match_pair(*matchers, both_orders=pattern.key in COMMUTATIVE)
    return lambda inputs, found: (len(inputs) == len(matchers)
                                  and all(match(item, found) for match, item in zip(matchers, inputs)))


def _match_pair(left, right, both_orders):
    def match(inputs, found):
        if len(inputs) != 2:
            return False
        first, second = inputs
        before = dict(found) if both_orders else None
        if left(first, found) and right(second, found):
            return True
        if not both_orders:
            return False
        found.clear()
        found.update(before)
        return left(second, found) and right(first, found)
    return match


def compile_builder(pattern: Expression | int) -> Callable[..., Any]:
    """Return a closure ``build(found, like)`` that builds a replacement; ``like`` determines the type of numbers."""
    if isinstance(pattern, Hole):
        name = pattern.name
        return lambda found, like: found[name]
    if not isinstance(pattern, OpPattern):
        return lambda found, like: constant_like(pattern, like)
    key, builders = pattern.key, [compile_builder(argument) for argument in pattern.arguments]
    return lambda found, like: apply_op(key, *[build(found, like) for build in builders])


def rule(name: str, pattern: OpPattern, replacement: Expression, condition: Callable[..., Any] | None = None,
         tags: Sequence[str] = (FAST_RUN,), changes: str = "") -> Rewrite:
    """Make a row of a table.

    Parameters
    ----------
    name : str
    pattern : OpPattern
    replacement : Expression or number
    condition : callable, optional
        ``condition(found, out)`` gets the matched holes by name and the variable to be replaced, and returns whether
        the rewrite is valid for them.
    tags : sequence of str
    changes : str
        As `Rewrite` has it.
    """
    match, build = match_arguments(pattern), compile_builder(replacement)

    def apply(fgraph, node):
        found = {}
        if not match(node.inputs, found):
            return None
        out = node.outputs[0]
        if condition is not None and not condition(found, out):
            return None
        return build(found, out)

    apply.match, apply.condition = match, condition
    apply.__doc__ = f"``{_text(pattern)} -> {_text(replacement)}``"
    inside = [(argument.key,) for argument in pattern.arguments if isinstance(argument, OpPattern)]
    inside += [NUMBERS for argument in pattern.arguments if not isinstance(argument, Expression)]
    if all([argument is pattern.arguments[0] for argument in pattern.arguments[1:]]) and len(pattern.arguments) > 1:
        inside.append((REPEATED,))
    return Rewrite(name, [pattern.key], apply, tags, of=inside[0] if inside else (), changes=changes)
