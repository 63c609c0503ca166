"""Rewrites that users register: rows for a family, and optimizers of whole graphs at a position.

Positions are numbers that programs for Theano use: canonicalize is at 1, stabilize at 1.5, specialize at 2, fusion at
49, in-place at 75. An optimizer that is registered at a position runs before the first stage with a larger position,
and always before values are overwritten. It has tags, and queries select it like any rewrite. After a registration all
drivers are built again.
"""
from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from phintys.graph.variable import Variable
from phintys.optimizer.engine.database import FAST_RUN, Rewrite

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.function_graph import FunctionGraph
    from phintys.optimizer.engine.database import Query

NEARBY = 3                      # levels above a node that are not searched for cycles
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


def checked(found: Any, fgraph: FunctionGraph, node: Apply, name: str) -> Any:
    """Return what a user's rewrite returned, if it can replace the outputs of a node.

    Raises
    ------
    TypeError
        If a replacement is no variable, or its values have another dtype or rank.
    ValueError
        If there is no replacement for each output, or one is computed from what reads the output.
    """
    if found is None:
        return None
    found = found if isinstance(found, (list, tuple)) else [found]
    if len(found) != len(node.outputs):
        raise ValueError(f"{name} returned {len(found)} replacements for {len(node.outputs)} outputs; None keeps an "
                         f"output")
    for old, new in zip(node.outputs, found):
        if new is not None and not isinstance(new, Variable):
            raise TypeError(f"{name} returned {new!r}, which is no variable")
        kinds = [(getattr(variable.type, "dtype", None), getattr(variable.type, "ndim", None))
                 for variable in (old, new) if variable is not None]
        if len(set(kinds)) > 1:
            raise TypeError(f"{name} returned a value of type {new.type} instead of {old.type}")
    if _makes_cycle(found, fgraph, node):
        raise ValueError(f"{name} returned a value that nodes of the graph compute from what it replaces: they would "
                         f"read their own results")
    return found


def _makes_cycle(found, fgraph, node):
    """Return whether a node of the graph that replacements need, other than ``node`` itself, depends on ``node``."""
    above, waiting = {node}, [(node, 0)]
    while waiting:                                      # what is near above the node cannot depend on it
        current, depth = waiting.pop()
        for variable in current.inputs if depth < NEARBY else ():
            if variable.owner is not None and variable.owner not in above:
                above.add(variable.owner)
                waiting.append((variable.owner, depth + 1))
    seen, stack = set(above), [(new.owner, False) for new in found if new is not None and new.owner is not None]
    while stack:
        current, below_graph = stack.pop()
        if current is node and below_graph:
            return True
        if current in seen:
            continue
        seen.add(current)
        is_inside = below_graph or current in fgraph.apply_nodes
        stack.extend([(variable.owner, is_inside) for variable in current.inputs if variable.owner is not None])
    return False


def as_rewrite(local_opt: Any, name: str | None = None, tags: Sequence[str] = (FAST_RUN,)) -> Rewrite:
    """Return a row for the tables, which tries a hand-written local optimizer.

    Parameters
    ----------
    local_opt : LocalOptimizer
        One whose ``transform`` returns lists.
    name : str, optional
    tags : sequence of str
    """
    def apply(fgraph, node):
        if not is_tracked(local_opt, node):
            return None
        with inside(fgraph, node):
            return checked(local_opt.transform(node) or None, fgraph, node, title)

    title = name or local_opt.name or getattr(local_opt, "__name__", str(local_opt))
    return Rewrite(title, (), apply, tags)
