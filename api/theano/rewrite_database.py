"""Theano's ``optdb``: selects rewrites by tags, to apply them to a graph directly, and registers rewrites of users.

``optdb.register(name, optimizer, position, *tags)`` adds a hand-written optimizer (``phintys.gof``) to every
compilation whose mode includes one of the tags; ``optdb["specialize"].register(name, local_optimizer, *tags)`` adds a
rewrite.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.modes import QueriedOptimizer
from phintys.optimizer.engine import registered
from phintys.optimizer.engine.database import Query

if TYPE_CHECKING:
    from phintys.gof.local_optimizers import FromFunctionLocalOptimizer


def _check_name(name):
    if name in registered.names():
        raise ValueError(f"The name of the object cannot be the name of another existing object: {name!r}")


def as_query(tags: Any, subqueries: Any = None) -> Any:
    """The query that the arguments of ``DB.query`` describe."""
    if tags and isinstance(tags[0], Query):
        if len(tags) > 1 or subqueries:
            raise TypeError("If the first argument to query is a Query, there should be no other arguments: got "
                            f"{tags[1:]} and {subqueries}")
        return tags[0]
    groups: dict[str, list[str]] = {"+": [], "&": [], "-": []}
    for tag in tags:
        if tag[:1] not in groups:
            raise ValueError(f"'query' syntax error: all tags must start with one of +, & or -, not {tag!r}")
        groups[tag[0]].append(tag[1:])
    return Query(groups["+"], groups["&"], groups["-"], subqueries)


class RegisteredFamily:
    """A family of rewrites that users may add to."""

    def __init__(self, name: str) -> None:
        self.name = name

    def register(self, name: str, local_opt: FromFunctionLocalOptimizer, *tags: Any, use_db_name_as_tag: bool = True,
                 **options: Any) -> None:
        """Add a local optimizer to the family.

        Parameters
        ----------
        name : str
        local_opt : LocalOptimizer
        *tags : str
            Modes include ``"fast_run"`` and ``"fast_compile"``.
        use_db_name_as_tag : bool
            Whether the family's name is also a tag.
        **options
            Accepted for compatibility with Theano.

        Raises
        ------
        TypeError
            If it is not a local optimizer.
        ValueError
            If the name is taken.
        """
        if not hasattr(local_opt, "transform"):
            raise TypeError(f"Object cannot be registered in OptDB: {local_opt!r} is not a rewrite")
        _check_name(name)
        registered.register_rewrite(self.name, registered.as_rewrite(local_opt, name, tags))


class RewriteDatabase:
    """The available rewrites, by their tags."""

    def register(self, name: str, obj: Any, position: int, *tags: Any) -> None:
        """Add a hand-written optimizer, or a database of optimizers, to the pipeline.

        Parameters
        ----------
        name : str
        obj : Optimizer or DB
        position : number
            See ``optimizer/engine/registered.py``.
        *tags : str
            Modes include ``"fast_run"`` and ``"fast_compile"``.

        Raises
        ------
        TypeError
            If it is anything else.
        ValueError
            If the name is taken.
        """
        if hasattr(obj, "query"):
            def apply(fgraph, query):
                obj.query(query)(fgraph)
        elif hasattr(obj, "optimize"):
            def apply(fgraph, query):
                obj(fgraph)
        else:
            raise TypeError(f"Object cannot be registered in OptDB: {obj!r} is not an optimizer")
        _check_name(name)
        obj.name = name
        registered.register_whole(registered.WholeRewrite(name, position, tags, apply))

    def __contains__(self, name):
        return name in registered.FAMILIES or name in registered.names()

    def __getitem__(self, name):
        """Return a family that accepts rewrites, by its name.

        Raises
        ------
        KeyError
            If there is no such family.
        """
        if name not in registered.FAMILIES:
            raise KeyError(f"Nothing registered for {name!r}; families are {', '.join(registered.FAMILIES)}")
        return RegisteredFamily(name)

    def query(self, *tags: Any) -> Any:
        """Return an optimizer.

        Parameters
        ----------
        *tags : Query, or str
            ``"+tag"``: included; ``"-tag"``: excluded; ``"&tag"``: required.

        Raises
        ------
        ValueError
            For a tag that starts with another character.
        """
        return QueriedOptimizer(as_query(tags))


optdb = RewriteDatabase()
