"""Databases of hand-written optimizers, which are registered under names and tags and selected by a `Query`.

``SequenceDB`` returns an optimizer that applies its members in the order of their positions, ``EquilibriumDB`` one that
applies them until nothing changes; members may be databases themselves. The built-in rewrites are in tables; ``optdb``
in ``rewrite_database.py`` adds what users register.
"""
from __future__ import annotations

import sys
from typing import Any

from phintys.gof.equilibrium import EquilibriumOptimizer
from phintys.gof.local_optimizers import LocalOptGroup, LocalOptimizer
from phintys.gof.navigators import NavigatorOptimizer, TopoOptimizer
from phintys.gof.whole_optimizers import Optimizer, SeqOptimizer
from phintys.graph.config import config
from phintys.optimizer.engine.database import Query
from phintys.rewrite_database import as_query


class DB:
    """Optimizers, local optimizers and databases under names and tags.

    Examples
    --------
    >>> database = phintys.gof.DB()
    >>> database.name = "docs"
    >>> _ = database.register("sin_to_cos", phintys.gof.OpSub(T.sin, T.cos), "fast_run")
    >>> sorted(database.tags["sin_to_cos"])
    ['OpSub', 'docs', 'fast_run', 'sin_to_cos']
    """

    name: str | None = None                         # set where it is registered

    def __init__(self) -> None:
        self.objects: dict[str, Any] = {}           # name → what was registered
        self.tags: dict[str, set[str]] = {}         # name → its tags

    def register(self, name: str, obj: Any, *tags: Any, use_db_name_as_tag: bool = True) -> Any:
        """Add a member.

        Parameters
        ----------
        name : str
        obj : Optimizer, LocalOptimizer or DB
        *tags : str
        use_db_name_as_tag : bool
            Whether this database's own name is also a tag.

        Raises
        ------
        TypeError
            If it is anything else.
        ValueError
            If the name is already a name or a tag, or a tag is already a name.
        """
        if not isinstance(obj, (DB, Optimizer, LocalOptimizer)):
            raise TypeError(f"Object cannot be registered in OptDB: {obj!r} is not an optimizer")
        if name in self:
            raise ValueError("The name of the object cannot be an existing tag or the name of another existing object: "
                             f"{name!r} of {obj}")
        if any([obj is other for other in self.objects.values()]):
            raise ValueError(f"{obj} is registered already; a ProxyDB can represent a database in a second place.")
        obj.name = name
        self.objects[name] = obj
        self.tags[name] = {name, type(obj).__name__}
        self.add_tags(name, *tags, *([self.name] if use_db_name_as_tag and self.name is not None else []))

    def add_tags(self, name: str, *tags: Any) -> None:
        """Give a member more tags; a name cannot be a tag."""
        self._check_tags(name, tags)
        self.tags[name].update(tags)

    def remove_tags(self, name: str, *tags: Any) -> None:
        """Remove tags from a member."""
        self._check_tags(name, tags)
        self.tags[name].difference_update(tags)

    def _check_tags(self, name: str, tags: Any) -> None:
        for tag in tags:
            if tag in self.objects:
                raise ValueError(f"The tag of the object collides with a name: {tag!r} of {self.objects[name]}")

    def query(self, *tags: Any, **subqueries: Any) -> Any:
        """The members that a query selects, in the order of registration; member databases are queried, too.

        Parameters
        ----------
        *tags : Query, or str
            ``"+tag"``: included; ``"-tag"``: excluded; ``"&tag"``: required.
        **subqueries : Query
            For member databases, by name.

        Returns
        -------
        list

        Raises
        ------
        TypeError
            If there is more than one Query.
        ValueError
            For a tag that starts with another character.
        """
        return self.chosen(as_query(tags, subqueries))

    def chosen(self, query: Any) -> Any:
        """See ``query``."""
        found = []
        for name, obj in self.objects.items():
            if query.wants(self.tags[name]):
                if isinstance(obj, DB):
                    inner = query.subquery.get(name, query)
                    obj = obj.query(Query(inner.include, inner.require, inner.exclude, inner.subquery))
                    obj.name = name
                found.append(obj)
        return found

    def __getitem__(self, name: str | None) -> Any:
        found = [obj for other, obj in self.objects.items() if name in self.tags[other]]
        if not found:
            raise KeyError(f"Nothing registered for '{name}'")
        if len(found) > 1:
            raise ValueError(f"More than one match for {name} (please use query)")
        return found[0]

    def __contains__(self, name: str | None) -> bool:
        return any([name in tags for tags in self.tags.values()])

    def print_summary(self, stream: Any = None) -> None:
        """Print the names and tags."""
        stream = sys.stdout if stream is None else stream
        print(f"{type(self).__name__} (id {id(self)})", file=stream)
        for name, tags in self.tags.items():
            print(f"  {name}: {', '.join(sorted(tags - {name}))}", file=stream)


class EquilibriumDB(DB):
    """A database that returns an `EquilibriumOptimizer`.

    Parameters
    ----------
    ignore_newtrees, tracks_on_change_inputs : bool
        For the optimizer.

    Examples
    --------
    >>> database = phintys.gof.EquilibriumDB()
    >>> _ = database.register("sin_to_cos", phintys.gof.OpSub(T.sin, T.cos), "fast_run")
    >>> type(database.query("+fast_run")).__name__
    'EquilibriumOptimizer'
    """

    def __init__(self, ignore_newtrees: Any = True, tracks_on_change_inputs: bool = False) -> None:
        super().__init__()
        self.ignore_newtrees, self.tracks_on_change_inputs = ignore_newtrees, tracks_on_change_inputs
        self.kinds: dict[str, str | None] = {}      # name → "final" or "cleanup"

    def register(self, name: str, obj: Any, *tags: Any, final_opt: bool = False, cleanup: bool = False,
                 **options: Any) -> Any:
        """As ``DB.register``; the optimizer may be applied at the end of each turn, or after each change."""
        if final_opt and cleanup:
            raise AssertionError(f"{name} cannot be both final and cleanup")
        super().register(name, obj, *tags, **options)
        self.kinds[name] = "final" if final_opt else "cleanup" if cleanup else None

    def query(self, *tags: Any, **subqueries: Any) -> Any:
        kinds: dict[str | None, list[Any]] = {"final": [], "cleanup": [], None: []}
        for obj in super().query(*tags, **subqueries):
            kinds[self.kinds[obj.name]].append(obj)
        return EquilibriumOptimizer(kinds[None], max_use_ratio=config.optdb.max_use_ratio,
                                    ignore_newtrees=self.ignore_newtrees,
                                    tracks_on_change_inputs=self.tracks_on_change_inputs,
                                    failure_callback=NavigatorOptimizer.warn_inplace,
                                    final_optimizers=kinds["final"], cleanup_optimizers=kinds["cleanup"])


def next_position(positions: Any, position: Any) -> Any:
    """A position as a number: ``"last"`` comes after all others."""
    if position == "last":
        return max(positions.values()) + 1 if positions else 0
    if not isinstance(position, (int, float)):
        raise AssertionError(f"a position is a number or 'last', not {position!r}")
    return position


class SequenceDB(DB):
    """A database that returns a `SeqOptimizer`, in the order of the positions of its members.

    Parameters
    ----------
    failure_callback : callable, optional
        For the optimizer.

    Examples
    --------
    >>> database = phintys.gof.SequenceDB()
    >>> _ = database.register("second", phintys.gof.MergeOptimizer(), 2, "fast_run")
    >>> _ = database.register("first", phintys.gof.MergeOptimizer(), 1, "fast_run")
    >>> len(database.query("+fast_run"))
    2
    """

    seq_opt = SeqOptimizer

    def __init__(self, failure_callback: Any = SeqOptimizer.warn) -> None:
        super().__init__()
        self.positions: dict[str, float] = {}
        self.failure_callback = failure_callback

    def register(  # type: ignore[override]  # Theano's own signature
            self, name: str, obj: Any, position: Any, *tags: Any, **options: Any) -> Any:
        """As ``DB.register``, at a position: a number, or ``"last"``."""
        position = next_position(self.positions, position)
        super().register(name, obj, *tags, **options)
        self.positions[name] = position

    def query(self, *tags: Any, position_cutoff: float | None = None, **subqueries: Any) -> Any:
        query = as_query(tags, subqueries)
        if position_cutoff is None:
            position_cutoff = min(query.position_cutoff, config.optdb.position_cutoff)
        placed = [(self.positions[obj.name], obj.name, obj) for obj in self.chosen(query)]
        placed += [(position, f"{type(obj).__name__}_{id(obj)}", obj) for obj, position in query.extra]
        chosen = [obj for position, _, obj in sorted(placed, key=lambda row: row[:2]) if position < position_cutoff]
        return self.seq_opt(chosen, failure_callback=self.failure_callback)

    def print_summary(self, stream: Any = None) -> None:
        super().print_summary(stream)
        for name, position in sorted(self.positions.items(), key=lambda row: row[1]):
            print(f"  {position}: {name}", file=sys.stdout if stream is None else stream)


class LocalGroupDB(DB):
    """A database that returns a group of local optimizers, in the order of their positions.

    Parameters
    ----------
    apply_all_opts, profile : bool
        For the group.
    local_opt : class
        The class of the group.

    Examples
    --------
    >>> database = phintys.gof.LocalGroupDB()
    >>> _ = database.register("sin_to_cos", phintys.gof.OpSub(T.sin, T.cos), "fast_run")
    >>> type(database.query("+fast_run")).__name__
    'LocalOptGroup'
    """

    def __init__(self, apply_all_opts: bool = False, profile: Any = False, local_opt: Any = LocalOptGroup) -> None:
        super().__init__()
        self.apply_all_opts, self.profile, self.local_opt = apply_all_opts, profile, local_opt
        self.positions: dict[str, float] = {}

    def register(self, name: str, obj: Any, *tags: Any, position: Any = "last", **options: Any) -> Any:
        """As ``DB.register``, at a position: a number, or ``"last"``."""
        position = next_position(self.positions, position)
        super().register(name, obj, *tags, **options)
        self.positions[name] = position

    def query(self, *tags: Any, **subqueries: Any) -> Any:
        chosen = sorted(super().query(*tags, **subqueries), key=lambda obj: (self.positions[obj.name], obj.name))
        return self.local_opt(*chosen, apply_all_opts=self.apply_all_opts, profile=self.profile)


class TopoDB(DB):
    """A database that returns a `TopoOptimizer` of the result of another database.

    Examples
    --------
    >>> group = phintys.gof.LocalGroupDB()
    >>> _ = group.register("sin_to_cos", phintys.gof.OpSub(T.sin, T.cos), "fast_run")
    >>> type(phintys.gof.TopoDB(group).query("+fast_run")).__name__
    'TopoOptimizer'
    """

    def __init__(self, db: Any, order: str = "in_to_out", ignore_newtrees: Any = False,
                 failure_callback: Any = None) -> None:
        super().__init__()
        self.db, self.options = db, (order, ignore_newtrees, failure_callback)

    def query(self, *tags: Any, **subqueries: Any) -> Any:
        return TopoOptimizer(self.db.query(*tags, **subqueries), *self.options)


class ProxyDB(DB):
    """Represents another database in a second place.

    Examples
    --------
    >>> group = phintys.gof.LocalGroupDB()
    >>> _ = group.register("sin_to_cos", phintys.gof.OpSub(T.sin, T.cos), "fast_run")
    >>> type(phintys.gof.ProxyDB(group).query("+fast_run")).__name__
    'LocalOptGroup'
    """

    def __init__(self, db: Any) -> None:
        super().__init__()
        self.db = db

    def query(self, *tags: Any, **subqueries: Any) -> Any:
        return self.db.query(*tags, **subqueries)
