"""Names, tags and queries: they select the rewrites that a mode runs.

A `Rewrite` is a function on one node, the keys of the nodes that it examines, its name and its tags. Rewrites are
defined in tables, one file each; a table is a `Family`. A `Query` says which tags are included and which are excluded;
it selects the rewrites with an included tag and no excluded one. The name of a rewrite, the name of its family and the
modes it belongs to are all tags, as in Theano, so ``mode.excluding("fusion")`` and ``mode.including("local_log1p")``
need no special cases.

This file does not depend on graphs and runs nothing.
"""
from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

from phintys.graph.public_names import at_home

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

FAST_RUN, FAST_COMPILE = "fast_run", "fast_compile"
# What a rewrite may change, beside the time: word of `Rewrite.changes` → its meaning. The tag is ``changes_`` and this.
CHANGES = {
    "rounding": "the last digits of finite values",
    "range": "where a value overflows or underflows",
    "nan": "where a value is not a number, or a number from values that are none",
    "errors": "whether an error is raised: what would raise it may not be computed",
}
KEPT_BY_STRICT = frozenset(["changes_range", "changes_nan", "changes_errors"])      # tags that strict rules exclude
CONSTANT, REPEATED = "a constant", "the same input twice"       # beside keys, what a rewrite may be ``of``


def change_tags(changes: str) -> list[str]:
    """Return the tags that say what a rewrite may change, from words of `CHANGES`."""
    unknown = set(changes.split()).difference(CHANGES)
    if unknown:
        raise ValueError(f"A rewrite may change {', '.join(CHANGES)}, not {', '.join(sorted(unknown))}")
    return [f"changes_{what}" for what in changes.split()]


class Rewrite:
    """One row of a table.

    Parameters
    ----------
    name : str
    keys : sequence of str or class
        The keys (see `values.key_of`) of the nodes to try; empty: every node.
    apply : callable
        ``apply(fgraph, node)`` returns None (nothing to do), or the variable or list of variables that replaces the
        node's outputs.
    tags : sequence of str
        Further tags; those of modes decide where the rewrite is on by default.
    beside : sequence of str
        The rewrite is tried only in graphs that have a node with one of these keys; empty: in all graphs.
    of : sequence of str
        The rewrite is tried only on nodes that have such an input: one computed by a node with one of these keys, or
        `CONSTANT`; or that have an input twice, for `REPEATED`. Empty: on all nodes.
    changes : str
        What it may change, words of `CHANGES`; they become tags.
    """

    __slots__ = ("name", "keys", "apply", "tags", "beside", "of", "changes")

    def __init__(self, name: str, keys: Mapping[str, float] | Sequence[str], apply: Callable[..., Any],
                 tags: Sequence[str] = (FAST_RUN,), beside: frozenset[Any] | Sequence[Any] | Mapping[Any, Any] = (),
                 of: frozenset[str] | Sequence[str] | Mapping[Any, Any] = (), changes: str = "") -> None:
        self.name = name
        self.keys = frozenset(keys)
        self.apply = apply
        self.changes = tuple(changes.split())
        self.tags = frozenset(tags).union([name], change_tags(changes))
        self.beside = frozenset(beside)
        self.of = frozenset(of)

    @property
    def identity(self) -> str:
        """What it replaces by what, in a sentence or a formula."""
        return " ".join((self.apply.__doc__ or "").split("\n\n")[0].split())

    def __repr__(self):
        return f"Rewrite({self.name})"


class Family:
    """A table of rewrites that run together, and the tags that all of them have."""

    def __init__(self, name: str, rewrites: Sequence[Rewrite], tags: Sequence[str] = ()) -> None:
        self.name = name
        self.tags = frozenset(tags) | {name}
        self.rewrites = list(rewrites)

    def chosen(self, query: Query) -> list[Rewrite]:
        """Return the rewrites that ``query`` selects, in table order."""
        return [rewrite for rewrite in self.rewrites if query.wants(rewrite.tags | self.tags)]


def _names(tags):
    for tag in tags:
        if not isinstance(tag, str):
            raise TypeError(f"rewrites are chosen by names and tags, which are strings, got {tag!r}")
    return tags


@at_home
class Query:
    """Included and excluded tags. Hashable by them and ``extra``, so that its selection is computed once.

    Parameters
    ----------
    include, require, exclude : iterable of str, optional
        A rewrite is selected if it has one of ``include``, all of ``require`` and none of ``exclude``.
    subquery : dict, optional
        Name of a database of optimizers inside another one → the query for it; by default this one.
    position_cutoff : number
        Stages at this position or later do not run; see ``registered.py``. It may be changed.
    extra_optimizations : iterable of Rewrite or (Optimizer, number), optional
        Rewrites of the user, which run with the specializations, and optimizers with their positions.

    Examples
    --------
    >>> phintys.gof.Query(include=["fast_run"]).excluding("inplace").exclude
    frozenset({'inplace'})
    """

    subquery, position_cutoff = {}, float("inf")            # of pickles that were made without them

    def __init__(self, include: Sequence[str] = (), require: Sequence[str] = (), exclude: Sequence[str] = (),
                 subquery: Mapping[Any, Any] | None = None, position_cutoff: float = float("inf"),
                 extra_optimizations: Sequence[Any] = ()) -> None:
        self.include = frozenset(include or ())
        self.require = frozenset(require or ())
        self.exclude = frozenset(exclude or ())
        self.subquery = dict(subquery or {})
        self.position_cutoff = position_cutoff
        self.extra = tuple(extra_optimizations or ())

    @property
    def extra_optimizations(self) -> Any:
        """The optimizers to be applied as well, with their positions."""
        return list(self.extra)

    def _parts(self):
        return self.include, self.require, self.exclude, self.extra

    def _with(self, **changed):
        query = copy(self)
        vars(query).update(changed)
        return query

    def wants(self, tags: frozenset[str] | Sequence[str]) -> bool:
        """Return whether something with these tags is selected."""
        return not self.include.isdisjoint(tags) and self.require.issubset(tags) and self.exclude.isdisjoint(tags)

    def under(self, math_rules: str) -> Query:
        """Return the query for ``config.math_rules``."""
        return self._with(exclude=self.exclude | KEPT_BY_STRICT) if math_rules == "strict" else self

    def including(self, *tags: Any) -> Query:
        """Return a query that also includes ``tags``."""
        return self._with(include=self.include.union(_names(tags)))

    def excluding(self, *tags: Any) -> Query:
        """Return a query that excludes ``tags``."""
        return self._with(exclude=self.exclude.union(_names(tags)))

    def requiring(self, *tags: Any) -> Query:
        """Return a query that selects only what has all of ``tags``."""
        return self._with(require=self.require.union(_names(tags)))

    def register(self, *rewrites: Any) -> Query:
        """Return a query that also runs these rewrites."""
        return self._with(extra=self.extra + rewrites)

    def __eq__(self, other):
        return isinstance(other, Query) and self._parts() == other._parts()

    def __hash__(self):
        return hash(self._parts())

    def __repr__(self):
        return f"Query(include={sorted(self.include)}, require={sorted(self.require)}, exclude={sorted(self.exclude)})"
