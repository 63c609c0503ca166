"""PatternSub: a local optimizer made from two patterns, ``PatternSub((log, (exp, "x")), "x")``.

A pattern is ``(op, pattern, ...)``; a string, which matches the same expression wherever it occurs; a number or a
Constant, which matches a constant of this value; or ``{"pattern": ..., "constraint": ...}``, with a function that
accepts or rejects the expression. Expressions below the top must have no other readers, unless that is allowed.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from phintys.gof.local_optimizers import LocalOptimizer
from phintys.graph.variable import Constant

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.function_graph import FunctionGraph
    from phintys.graph.variable import Variable


class PatternSub(LocalOptimizer):
    """Replaces one pattern by another.

    Parameters
    ----------
    in_pattern : tuple or dict
        The pattern to find; it starts with an op.
    out_pattern : tuple, str, number or Constant
        The replacement.
    allow_multiple_clients : bool
        Whether inner expressions of the pattern may have other readers.
    skip_identities_fn : callable, optional
        Maps an expression that does not match to an equal one to be tried, or None.
    name : str, optional
    tracks, get_nodes : optional
        Other ops to be tracked, and a function from their node to the nodes to be tried.
    values_eq_approx : callable, optional
        Stored in the tag of the replacement.
    pdb : bool
        Accepted for compatibility with Theano.

    Raises
    ------
    TypeError
        If ``in_pattern`` does not start with an op.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> rewrite = phintys.gof.PatternSub((T.add, "x", "x"), (T.mul, "x", 2.0))
    >>> [phintys.pp(found) for found in rewrite.transform((x + x).owner)]
    ['(x * TensorConstant{2.0})']
    """

    def __init__(self, in_pattern: Any, out_pattern: Any, allow_multiple_clients: bool = False,
                 skip_identities_fn: Any = None, name: str | None = None, pdb: Any = False, tracks: Any = (),
                 get_nodes: Any = None, values_eq_approx: Any = None) -> None:
        top = in_pattern["pattern"] if isinstance(in_pattern, dict) else in_pattern
        if not isinstance(top, (list, tuple)):
            raise TypeError("The pattern to search for must start with a specific Op instance.")
        if tracks and get_nodes is None:
            raise AssertionError("PatternSub: tracks need get_nodes")
        self.op = top[0]
        self.in_pattern, self.out_pattern = in_pattern, out_pattern
        self.allow_multiple_clients = allow_multiple_clients
        self.skip_identities_fn = skip_identities_fn
        self.values_eq_approx = values_eq_approx
        self._tracks, self.get_nodes = tracks, get_nodes
        if name:
            self.__name__ = name

    def op_key(self) -> Any:
        """The op it starts with."""
        return self.op

    def tracks(self) -> Any:
        return self._tracks or [self.op]

    def transform(self, node: Apply) -> Any:
        if self.get_nodes is None:
            return self._transformed(node, node)
        for candidate in self.get_nodes(node):
            found: Any = False if isinstance(candidate, str) else self._transformed(candidate, node)
            if found:
                return dict(zip(candidate.outputs, found))
        return False

    def _transformed(self, node: Apply, seen: Any) -> Any:
        if node.op != self.op:
            return False
        holes: dict[str, Variable] = {}
        if not _Match(self, holes, getattr(seen, "fgraph", None)).fits(self.in_pattern, node.out, True):
            return False
        made = _built(self.out_pattern, holes)
        if self.values_eq_approx:
            made.tag.values_eq_approx = self.values_eq_approx
        return [made]

    def __str__(self) -> str:
        return getattr(self, "__name__", None) or f"{_text(self.in_pattern)} -> {_text(self.out_pattern)}"

    __repr__ = __str__


class _Match:
    """One attempt to match; ``holes`` maps the strings of the pattern to expressions."""

    def __init__(self, rule: Any, holes: Any, fgraph: FunctionGraph | None) -> None:
        self.rule, self.holes, self.fgraph = rule, holes, fgraph

    def fits(self, pattern: Any, expression: Any, may_be_shared: Any) -> Any:
        """Whether an expression, or one equal to it, has the form of a pattern."""
        if self._fits(pattern, expression, may_be_shared):
            return True
        skip = self.rule.skip_identities_fn
        equal = skip(expression) if skip is not None else None
        return equal is not None and self.fits(pattern, equal, may_be_shared)

    def _fits(self, pattern: Any, expression: Any, may_be_shared: Any) -> Any:
        if isinstance(pattern, dict):
            if "pattern" not in pattern:
                raise KeyError(f"Malformed pattern: {pattern} (expected key 'pattern')")
            allowed = pattern.get("constraint", lambda found: True)(expression)
            return bool(allowed) and self.fits(pattern["pattern"], expression,
                                               pattern.get("allow_multiple_clients", may_be_shared))
        if isinstance(pattern, str):
            return self.holes.setdefault(pattern, expression) is expression
        if isinstance(pattern, (list, tuple)):
            return self._fits_call(pattern, expression, may_be_shared)
        if not isinstance(expression, Constant):
            return False
        if isinstance(pattern, Constant):
            return pattern.equals(expression)
        return bool(numpy.all(numpy.equal(expression.data, pattern)))

    def _fits_call(self, pattern: Any, expression: Any, may_be_shared: Any) -> Any:
        node = expression.owner
        if node is None or node.op != pattern[0] or len(node.inputs) != len(pattern) - 1:
            return False
        if not may_be_shared and self.fgraph is not None and len(self.fgraph.clients.get(expression, ())) > 1:
            return False
        return all(self.fits(inner, found, self.rule.allow_multiple_clients)
                   for inner, found in zip(pattern[1:], node.inputs))


def _built(pattern: Any, holes: Any) -> Any:
    """Return the variable, or number, that a pattern describes."""
    if isinstance(pattern, (list, tuple)):
        return pattern[0](*[_built(inner, holes) for inner in pattern[1:]])
    return holes[pattern] if isinstance(pattern, str) else pattern


def _text(pattern: Any) -> Any:
    if isinstance(pattern, (list, tuple)):
        return f"{pattern[0]}({', '.join([_text(inner) for inner in pattern[1:]])})"
    if isinstance(pattern, dict):
        return f"{_text(pattern['pattern'])} subject to {pattern.get('constraint', 'no conditions')}"
    return str(pattern)
