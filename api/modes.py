"""Modes: how a function is optimised and linked.

A ``Mode`` names the rewrites to apply (a query by tags) and says whether intermediate results are dropped at their last
use. Theano's linker names are accepted; there is only one linker, so they decide only ``allow_gc``. ``including``,
``excluding`` and ``requiring`` return new modes; only ``_optimizer``, for programs written for Theano, changes a mode.
"""
from __future__ import annotations

from contextlib import nullcontext
from copy import copy
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from phintys.graph import hooks
from phintys.graph.config import change_flags, config
from phintys.graph.public_names import at_home
from phintys.optimizer.engine.database import Query
from phintys.optimizer.engine.registered import as_rewrite
from phintys.optimizer.pipeline import optimize
from phintys.theano_finder import lookup as _lookup
from phintys.vm.linking.linker import link

if TYPE_CHECKING:
    from phintys.graph.function_graph import FunctionGraph
    from phintys.vm.program import Program

__all__ = ["FAST_COMPILE", "FAST_RUN", "LATER_MODES", "LINKERS", "Mode", "OPTIMIZERS", "OPT_FAST_COMPILE",
           "OPT_FAST_RUN", "OPT_FAST_RUN_STABLE", "OPT_MERGE", "OPT_NONE", "OPT_O2", "OPT_O3", "OPT_STABILIZE",
           "OPT_UNSAFE", "QueriedOptimizer", "get_default_mode", "get_mode", "predefined_modes", "register_linker",
           "register_mode", "register_optimizer"]

OPT_NONE, OPT_MERGE = Query(), Query(["merge"])
OPT_FAST_RUN, OPT_FAST_COMPILE = Query(["fast_run"]), Query(["fast_compile"])
OPT_FAST_RUN_STABLE = Query(["fast_run"], require=["stable"])
OPT_O2, OPT_O3 = Query(["fast_compile", "fusion"]), Query(["fast_run"], exclude=["inplace"])
OPT_UNSAFE = Query(["fast_run", "unsafe"], exclude=["inplace"])
OPT_STABILIZE = Query(["fast_run"], exclude=["specialize"])

# Theano's name of a linker → whether functions drop intermediate results; None: as in config.allow_gc.
LINKERS = {None: None, "vm": None, "cvm": None, "py": None, "c": None, "c|py": None,
           "vm_nogc": False, "cvm_nogc": False, "c|py_nogc": False}

# Name of a linker → the class that programs see as its type, or the name of Theano's.
LINKER_CLASSES: dict[str, Any] = {"py": "PerformLinker", "c": "CLinker", "c|py": "OpWiseCLinker",
                                  "c|py_nogc": "OpWiseCLinker"}

# Name of an optimizer → the tags of its rewrites.
OPTIMIZERS = {
    None: OPT_NONE, "None": OPT_NONE, "merge": OPT_MERGE,
    "o1": OPT_FAST_COMPILE, "o2": OPT_O2, "o3": OPT_O3, "o4": OPT_FAST_RUN, "unsafe": OPT_UNSAFE,
    "fast_compile": OPT_FAST_COMPILE, "fast_run": OPT_FAST_RUN, "fast_run_stable": OPT_FAST_RUN_STABLE,
    "stabilize": OPT_STABILIZE,
}

# Name → module and class of modes that inspect every node; they are imported and made at the first use of the name.
WATCHING_MODES = {"DebugMode": ("phintys.debugging.debug_mode", "DebugMode"),
                  "DEBUG_MODE": ("phintys.debugging.debug_mode", "DebugMode"),
                  "NanGuardMode": ("phintys.debugging.nan_guard_mode", "NanGuardMode"),
                  "MonitorMode": ("phintys.debugging.monitor_mode", "MonitorMode")}
LATER_MODES = ("ProfileMode", "PROFILE_MODE")


def _query(optimizer):
    """Return the query for a name; a query is returned unchanged; an optimizer becomes a query for it alone."""
    if optimizer is not None and not isinstance(optimizer, str):
        return optimizer if isinstance(optimizer, Query) else Query(extra_optimizations=[(optimizer, 0)])
    if optimizer not in OPTIMIZERS:
        raise KeyError(f"there is no optimizer {optimizer!r}; expected one of {sorted({*map(str, OPTIMIZERS)})}")
    return OPTIMIZERS[optimizer]


def _rewrite(entry):
    """Return what a query stores for an argument of ``Mode.register``: a `Rewrite`, or a pair (optimizer, position)."""
    first = entry[0] if isinstance(entry, tuple) else entry
    if hasattr(first, "transform"):
        return as_rewrite(first)
    return entry if hasattr(first, "optimize") else first


def _checked_allow_gc(choice):
    if choice is None or choice == "plan" or choice in (True, False):
        return choice if choice is None or choice == "plan" else bool(choice)
    raise ValueError(f"allow_gc is True, False, 'plan' or None, got {choice!r}")


class QueriedOptimizer:
    """All rewrites that a query selects.

    Examples
    --------
    >>> x = T.dscalar("x")
    >>> graph = phintys.FunctionGraph([x], [x * 1], clone=False)
    >>> _ = phintys.FAST_RUN.optimizer.optimize(graph)
    >>> graph.outputs
    [x]
    """

    name = "OptDB"

    def __init__(self, query: Query) -> None:
        self.chosen = query

    def optimize(self, fgraph: FunctionGraph) -> dict[str, int]:
        """Rewrite a FunctionGraph in place; return how many replacements each stage made."""
        with change_flags(compute_test_value="off"):
            return optimize(fgraph, self.chosen)

    apply = __call__ = optimize

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        """Attach the features that the rewrites need: none."""

    def __repr__(self):
        return f"{type(self).__name__}({self.chosen})"


@at_home
class Mode:
    """How to optimise and link.

    Parameters
    ----------
    linker : str or Linker, optional
        A name from ``LINKERS``, or an object with ``link`` and ``allow_gc``, such as Theano's linkers in
        ``phintys.gof``; ``config.linker`` by default.
    optimizer : str, None, Query or Optimizer
        A name from ``OPTIMIZERS``, a query, or a hand-written optimizer; ``"default"`` means ``config.optimizer``.
    allow_gc : bool or "plan", optional
        Memory of intermediate results: True: dropped at their last use; False: kept between calls; "plan": shared by
        lifetime in one block, which is laid out for each tuple of shapes. Default: as the linker's name says, else
        ``config.allow_gc``.

    Raises
    ------
    KeyError
        If a name is unknown.
    ValueError
        If ``allow_gc`` has another value.

    Examples
    --------
    >>> mode = phintys.Mode(optimizer="fast_run").excluding("fusion")
    >>> x = T.dscalar("x")
    >>> phintys.function([x], T.exp(x) + 1, mode=mode)(0)
    array(2.)
    """

    linker_class: Any = "VM_Linker"     # for names that are not in the table of classes
    _linker = _own_query = None

    def __init__(self, linker: Any = None, optimizer: Any = "default",
                 allow_gc: bool | Literal["plan"] | None = None) -> None:
        linker = config.linker if linker is None else linker
        if not hasattr(linker, "link") and linker not in LINKERS:
            raise KeyError(f"there is no linker {linker!r}; expected one of {sorted(map(str, LINKERS))}")
        if isinstance(optimizer, str) and optimizer == "default":
            optimizer = config.optimizer
        self.provided_linker = linker
        self.provided_optimizer = optimizer
        self.query = _query(optimizer)
        self._allow_gc = _checked_allow_gc(allow_gc)

    @property
    def linker(self) -> Any:
        """The linker, of Theano's class for its name; all classes link in the same way."""
        if hasattr(self.provided_linker, "link"):
            return self.provided_linker
        if self._linker is None:
            kind = LINKER_CLASSES.get(self.provided_linker, self.linker_class)
            self._linker = (hooks.linker_class(kind) if isinstance(kind, str) else kind)(allow_gc=self.allow_gc)
        return self._linker

    @property
    def optimizer(self) -> QueriedOptimizer:
        """The rewrites, as an optimizer: ``mode.optimizer.optimize(fgraph)``."""
        return QueriedOptimizer(self.query)

    @property
    def _optimizer(self):
        """The query under Theano's name; it can be changed and set again: ``mode._optimizer.position_cutoff = 1.5``."""
        if self.query is not self._own_query:
            self._optimizer = self._own_query = copy(self.query)
        return self.query

    @_optimizer.setter
    def _optimizer(self, optimizer):
        self.provided_optimizer, self.query = optimizer, _query(optimizer)

    @property
    def allow_gc(self) -> bool:
        """What functions do with the memory of intermediate results."""
        linker = self.provided_linker
        for choice in (self._allow_gc, linker.allow_gc if hasattr(linker, "link") else LINKERS[linker]):
            if choice is not None:
                return choice
        return config.allow_gc

    @property
    def runs_graph(self) -> bool:
        """Whether a program consists of the instructions of its graph's nodes, so that it can become a part of other
        programs.

        Modes that watch nodes call the nodes from Python instead."""
        return type(self).link is Mode.link

    def clone(self, link_kwargs: dict[str, Any] | None = None, optimizer: Any = "", **kwargs: Any) -> Mode:
        """Return a copy with another optimizer or, by ``link_kwargs={"allow_gc": ...}``, another ``allow_gc``."""
        allow_gc = (link_kwargs or {}).get("allow_gc", self._allow_gc)
        if isinstance(optimizer, str) and not optimizer:
            optimizer = self.provided_optimizer
        return type(self)(linker=self.provided_linker, optimizer=optimizer, allow_gc=allow_gc)

    def observed(self, fgraph: FunctionGraph) -> Any:
        """Return a context manager in which ``fgraph`` is optimised; its value is passed to ``link``."""
        return nullcontext()

    def link(self, fgraph: FunctionGraph, history: Any, **arguments: Any) -> Program:
        """Return a program for the optimised graph.

        Parameters
        ----------
        fgraph : FunctionGraph
        history : object
            The value of ``observed``.
        **arguments
            For ``linker.link``.
        """
        linker = self.provided_linker
        return linker.link(fgraph, **arguments) if hasattr(linker, "link") else link(fgraph, **arguments)

    def including(self, *tags: str) -> Mode:
        """Return this mode with more rewrites."""
        return self.clone(optimizer=self.query.including(*tags))

    def excluding(self, *tags: str) -> Mode:
        """Return this mode without the rewrites that have one of the tags."""
        return self.clone(optimizer=self.query.excluding(*tags))

    def requiring(self, *tags: str) -> Mode:
        """Return this mode with only those of its rewrites that have all the tags."""
        return self.clone(optimizer=self.query.requiring(*tags))

    def register(self, *optimizations: Any) -> Mode:
        """Return this mode with more rewrites: `Rewrite` objects, or pairs (hand-written optimizer, position)."""
        return self.clone(optimizer=self.query.register(*map(_rewrite, optimizations)))

    def __reduce__(self):
        return type(self), (self.provided_linker, self.provided_optimizer, self._allow_gc)

    def __str__(self):
        return f"{type(self).__name__}(linker = {self.provided_linker}, optimizer = {self.provided_optimizer})"

    def __repr__(self):
        return str(self)


FAST_RUN = Mode("cvm", "fast_run")
FAST_COMPILE = Mode("vm", "fast_compile")
predefined_modes = {"FAST_RUN": FAST_RUN, "FAST_COMPILE": FAST_COMPILE}


predefined_linkers, predefined_optimizers = LINKERS, OPTIMIZERS


def _refuse_taken(kind, name, table):
    if name in table:
        raise ValueError(f"{kind} name already taken: {name}")


def register_linker(name: str, linker: Any) -> None:
    """Register a linker: ``Mode(linker=name)`` drops or keeps intermediate results as ``linker`` does.

    Raises
    ------
    ValueError
        If the name is taken.

    Examples
    --------
    >>> phintys.compile.register_linker("docs_perform", phintys.gof.PerformLinker())
    >>> phintys.function([], T.constant(2), mode=phintys.Mode(linker="docs_perform"))()
    array(2, dtype=int8)
    """
    _refuse_taken("Linker", name, LINKERS)
    LINKERS[name], LINKER_CLASSES[name] = linker.allow_gc, type(linker)


def register_optimizer(name: str, opt: Any) -> None:
    """Register an optimizer: ``Mode(optimizer=name)`` uses ``opt``, a query or a hand-written optimizer.

    Raises
    ------
    ValueError
        If the name is taken.

    Examples
    --------
    >>> phintys.compile.register_optimizer("docs_merge", phintys.gof.Query(include=["merge"]))
    >>> phintys.function([], T.constant(2), mode=phintys.Mode(optimizer="docs_merge"))()
    array(2, dtype=int8)
    """
    _refuse_taken("Optimizer", name, OPTIMIZERS)
    OPTIMIZERS[name] = _query(opt)


def _names():
    """All names of modes."""
    return list(dict.fromkeys([*predefined_modes, "Mode", *WATCHING_MODES]))


def _named_mode(name, origin=""):
    if name in predefined_modes:
        return predefined_modes[name]
    if name == "Mode":
        return Mode()
    if name in WATCHING_MODES:
        module, class_name = WATCHING_MODES[name]
        kind = getattr(import_module(module), class_name)       # the import may register the name
        return predefined_modes.get(name) or kind()
    if name in LATER_MODES:
        raise NotImplementedError(f"there is no mode {name!r}, as in Theano 1.0: profile=True measures functions in "
                                  f"any mode; there are {', '.join(map(repr, _names()))}")
    raise ValueError(f"No predefined mode exist for string: {name}{origin}; "
                     f"there are {', '.join(map(repr, _names()))}")


def get_mode(mode: str | Mode | None) -> Mode:
    """Return the mode for a name, a ``Mode`` or None (``config.mode`` with the optimizer flags).

    Raises
    ------
    ValueError
        If no mode has that name.
    TypeError
        If ``mode`` is anything else.

    Examples
    --------
    >>> phintys.compile.get_mode("FAST_RUN") is phintys.FAST_RUN
    True
    """
    if isinstance(mode, Mode):
        return mode
    if isinstance(mode, str):
        return _named_mode(mode)
    if mode is not None:
        raise TypeError(f"a mode is a name, a Mode or None, got {mode!r}")
    chosen = config.mode if isinstance(config.mode, Mode) else _named_mode(config.mode, " (config.mode)")
    for flag, restrict in (("optimizer_excluding", Mode.excluding), ("optimizer_including", Mode.including),
                           ("optimizer_requiring", Mode.requiring)):
        tags = getattr(config, flag)
        if tags:
            chosen = restrict(chosen, *tags.split(":"))
    return chosen


def get_default_mode() -> Mode:
    """Return the mode that ``function`` uses when none is given.

    Examples
    --------
    >>> isinstance(phintys.compile.get_default_mode(), phintys.Mode)
    True
    """
    return get_mode(None)


def register_mode(name: str, mode: Mode) -> None:
    """Register a mode for ``function(mode=name)``.

    Raises
    ------
    ValueError
        If the name is taken.

    Examples
    --------
    >>> phintys.compile.register_mode("DOCS", phintys.FAST_RUN.excluding("inplace"))
    >>> x = T.dscalar("x")
    >>> phintys.function([x], x + 1, mode="DOCS")(2)
    array(3.)
    """
    _refuse_taken("Mode", name, predefined_modes)
    predefined_modes[name] = mode


__getattr__ = _lookup(__name__)
