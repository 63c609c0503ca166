"""Rewrites that users register: rows for a family, and optimizers of whole graphs at a position.

Positions are numbers that programs for Theano use: canonicalize is at 1, stabilize at 1.5, specialize at 2, fusion at
49, in-place at 75. An optimizer that is registered at a position runs before the first stage with a larger position,
and always before values are overwritten. It has tags, and queries select it like any rewrite. After a registration all
drivers are built again.
"""
from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from phintys.optimizer.engine.database import FAST_RUN, Rewrite

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.function_graph import FunctionGraph
    from phintys.optimizer.engine.database import Query

FAMILIES = ("canonicalize", "stabilize", "specialize", "uncanonicalize")

# Stage of the pipeline → its position.
POSITIONS = {"merge1": 0, "canonicalize": 1, "stabilize": 1.5, "specialize": 2, "uncanonicalize": 3,
             "elemwise_fusion": 49, "protect": float("inf"), "inplace": 75}


class WholeRewrite:
    """A function on a graph, with a position.

    Parameters
    ----------
    name : str
    position : number
    tags : iterable of str
    apply : callable
        ``apply(fgraph, query)``.
    """

    __slots__ = ("name", "position", "tags", "apply")

    def __init__(self, name: str, position: int, tags: Any, apply: Any) -> None:
        self.name, self.position, self.apply = name, position, apply
        self.tags = frozenset(tags) | {name}


rewrites = {family: [] for family in FAMILIES}          # family → rows
whole = []                                              # in the order of their positions
version = 0                                             # it changes with each registration


def register_rewrite(family: str, rewrite: Rewrite) -> None:
    """Add a row to a family."""
    global version
    rewrites[family].append(rewrite)
    version += 1


def register_whole(entry: Any) -> None:
    """Add a stage to the pipeline."""
    global version
    whole.append(entry)
    whole.sort(key=lambda registered: registered.position)
    version += 1


def names() -> set[str]:
    """Return the names of all registered rewrites."""
    return {entry.name for entries in (whole, *rewrites.values()) for entry in entries}


def chosen(query: Query) -> list[Any]:
    """Return the whole rewrites that a query selects, by position, including pairs that are given with the query."""
    given = [WholeRewrite(str(one), position, (), lambda fgraph, query, one=one: one(fgraph))
             for one, position in [entry for entry in query.extra if isinstance(entry, tuple)]]
    return sorted([*[entry for entry in whole if query.wants(entry.tags)], *given], key=lambda entry: entry.position)


def is_tracked(local_opt: Any, node: Apply) -> bool:
    """Return whether a local optimizer wants to see a node."""
    tracks = local_opt.tracks()
    if tracks is None:
        return True
    return any([isinstance(node.op, tracked) if isinstance(tracked, type) else node.op == tracked
                for tracked in tracks])


@contextmanager
def inside(fgraph: FunctionGraph | None, node: Apply) -> Iterator[None]:
    """While the block runs, ``node.fgraph`` is the graph."""
    if fgraph is None or "fgraph" in node.__dict__:
        yield
        return
    node.fgraph = fgraph
    try:
        yield
    finally:
        del node.fgraph


def as_rewrite(local_opt: Any, name: str | None = None, tags: Sequence[str] = (FAST_RUN,)) -> Rewrite:
    """Return a row for the tables, which tries a hand-written local optimizer.

    Parameters
    ----------
    local_opt : LocalOptimizer
        One whose ``transform`` returns lists.
    name : str, optional
    tags : sequence of str

    Returns
    -------
    Rewrite
    """
    def apply(fgraph, node):
        if not is_tracked(local_opt, node):
            return None
        with inside(fgraph, node):
            return local_opt.transform(node) or None

    return Rewrite(name or local_opt.name or getattr(local_opt, "__name__", str(local_opt)), (), apply, tags)
