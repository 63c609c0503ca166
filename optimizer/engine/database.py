"""Names, tags and queries: which rewrites a mode runs.

A `Rewrite` is a function on one node, the keys of the nodes it wants to see, its name and its tags. Rewrites stand in
tables, one file each; a table is a `Family`. A `Query` says which tags are wanted and which are not; a rewrite is
chosen when it has a wanted tag and no unwanted one. Its own name, its family's name and the modes it belongs to are
all tags, as in Theano, so ``mode.excluding("fusion")`` and ``mode.including("local_log1p")`` need no special cases.

This file knows no graph and runs nothing.
"""
from phintys.graph.public_names import at_home

FAST_RUN, FAST_COMPILE = "fast_run", "fast_compile"


class Rewrite:
    """One row of a table.

    Parameters
    ----------
    name : str
    keys : sequence of str or class
        The keys (see `values.key_of`) of the nodes to try; empty: every node.
    apply : callable
        ``apply(fgraph, node)`` answers None (nothing to do), or the variable or list of variables that replaces the
        node's outputs.
    tags : sequence of str
        Further tags; the modes among them decide where the rewrite is on by default.
    """

    __slots__ = ("name", "keys", "apply", "tags")

    def __init__(self, name, keys, apply, tags=(FAST_RUN,)):
        self.name = name
        self.keys = tuple(keys)
        self.apply = apply
        self.tags = frozenset(tags) | {name}

    def __repr__(self):
        return f"Rewrite({self.name})"


class Family:
    """A table of rewrites that run together, and the tags all of them carry."""

    def __init__(self, name, rewrites, tags=()):
        self.name = name
        self.tags = frozenset(tags) | {name}
        self.rewrites = list(rewrites)

    def chosen(self, query):
        """The rewrites that ``query`` asks for, in table order."""
        return [rewrite for rewrite in self.rewrites if query.wants(rewrite.tags | self.tags)]


@at_home
class Query:
    """Wanted and unwanted tags. Immutable and hashable, so that what it chooses is worked out once.

    Parameters
    ----------
    include, require, exclude : iterable of str, optional
        A rewrite is chosen when it has one of ``include``, all of ``require`` and none of ``exclude``.
    extra : iterable of Rewrite, optional
        Rewrites of the user's own; they run with the specializations.
    """

    __slots__ = ("include", "require", "exclude", "extra")
    position_cutoff = float("inf")              # stages at this position or later do not run; see ``registered.py``

    def __init__(self, include=(), require=(), exclude=(), extra=()):
        self.include = frozenset(include or ())
        self.require = frozenset(require or ())
        self.exclude = frozenset(exclude or ())
        self.extra = tuple(extra)

    def _parts(self):
        return self.include, self.require, self.exclude, self.extra

    def wants(self, tags):
        """Whether something with these tags is chosen."""
        return not self.include.isdisjoint(tags) and self.require.issubset(tags) and self.exclude.isdisjoint(tags)

    def including(self, *tags):
        """A query that also wants ``tags``."""
        return Query(self.include.union(tags), self.require, self.exclude, self.extra)

    def excluding(self, *tags):
        """A query that does not want ``tags``."""
        return Query(self.include, self.require, self.exclude.union(tags), self.extra)

    def requiring(self, *tags):
        """A query that wants only what has all of ``tags``."""
        return Query(self.include, self.require.union(tags), self.exclude, self.extra)

    def register(self, *rewrites):
        """A query that also runs these rewrites."""
        return Query(self.include, self.require, self.exclude, self.extra + rewrites)

    def __eq__(self, other):
        return isinstance(other, Query) and self._parts() == other._parts()

    def __hash__(self):
        return hash(self._parts())

    def __repr__(self):
        return f"Query(include={sorted(self.include)}, require={sorted(self.require)}, exclude={sorted(self.exclude)})"
