"""DebugMode: functions that check themselves at every call.

A function in this mode is used like any other; a call runs the graph node by node and compares results that can be
computed in two ways. It is several hundred times slower. The checks, and the exceptions that report failures:

* a kernel against the op's own ``perform``, odd layouts of the inputs, and the inputs' memory (`BadThunkOutput`);
* that an output is written completely (`UnwrittenOutput`) and the same each time (`NondeterministicOp`);
* a kernel that is bound to a layout against one that is prepared, and the values that it examines (`BadExamined`);
* ``view_map``, ``destroy_map``, types and shapes (`BadViewMap`, `BadDestroyMap`, `InvalidValueError`, `BadShape`);
* each rewrite, by the values before and after (`BadOptimization`), and the order of rewrites (`StochasticOrder`);
* the linked program against its nodes (`BadProgram`).

``debug_record`` notes every node that was ever in the graph and what replaced what; ``debug_run`` is one call, in the
order of ``debug_turns`` and with the comparisons that ``debug_paths`` allows; ``debug_node`` runs one node, in the
layouts of ``debug_layouts``, and ``debug_claims`` and ``debug_shapes`` check what its op declares;
``debug_differences`` compares values, ``debug_errors`` has the exceptions. All is linear in nodes and rewrites.
"""
from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from phintys.debugging.debug_errors import (
    BadDestroyMap,
    BadExamined,
    BadOptimization,
    BadProgram,
    BadShape,
    BadThunkOutput,
    BadViewMap,
    DebugModeError,
    InvalidValueError,
    NondeterministicOp,
    StochasticOrder,
    UnwrittenOutput,
)
from phintys.debugging.debug_layouts import EMPTY
from phintys.debugging.debug_record import ReplacementRecord, first_difference
from phintys.debugging.debug_run import DebugRun
from phintys.debugging.stepwise import link_stepwise
from phintys.graph.config import change_flags, config
from phintys.graph.function_graph import FunctionGraph
from phintys.graph.public_names import at_home
from phintys.modes import Mode, register_mode
from phintys.optimizer.pipeline import optimize

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from phintys.optimizer.engine.database import Query
    from phintys.vm.program import Program

__all__ = ["BadDestroyMap", "BadExamined", "BadOptimization", "BadProgram", "BadShape", "BadThunkOutput", "BadViewMap",
           "DebugMode", "DebugModeError", "InvalidValueError", "NondeterministicOp", "StochasticOrder",
           "UnwrittenOutput"]

# Theano's names for memory that `perform` may find in its storage → names of layouts.
PREALLOCATED = {name: (name,) for name in EMPTY} | {
    "initial": (), "previous": ("c_contiguous",), "wrong_size": (), "": (), "ALL": tuple(EMPTY)}
OPTIONS = ("stability_patience", "check_c_code", "check_py_code", "check_isfinite", "check_preallocated_output",
           "require_matching_strides")


@at_home
class DebugMode(Mode):
    """A mode whose functions check themselves.

    Parameters
    ----------
    optimizer : str, None or Query
        The rewrites to apply and to check.
    stability_patience : int, optional
        How often the graph is optimised, to check whether the same happens each time; 1: once.
    check_c_code, check_py_code : bool, optional
        Whether to run the kernels, and ``perform`` where there is a kernel. If there is only one way to compute a node,
        it is run in any case.
    check_isfinite : bool, optional
        Whether NaN and infinities among the inputs and values of the graph are errors.
    check_preallocated_output : list of str, optional
        Layouts of memory that ``perform`` may find in its storage: ``c_contiguous``, ``f_contiguous``, ``strided``,
        ``reversed``, ``previous``, ``ALL``.
    require_matching_strides : int, optional
        Whether kernel and ``perform`` must give equal strides: 0 no, 1 warn, 2 raise.
    linker : None
        Must be None.

    Options that are None are taken from ``config.DebugMode``.

    Raises
    ------
    ValueError
        If neither kernels nor ``perform`` are to be run, or a layout is unknown.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> f = phintys.function([x], T.exp(x).sum(), mode=phintys.compile.DebugMode(check_py_code=False))
    >>> f([0.0, 0.0])
    array(2.)
    """

    linker_class = "StepwiseLinker"

    def __init__(self, optimizer: Query | str | None = "fast_run", stability_patience: int | None = None,
                 check_c_code: bool | None = None, check_py_code: bool | None = None,
                 check_isfinite: bool | None = None, check_preallocated_output: Sequence[str] | None = None,
                 require_matching_strides: int | None = None, linker: str | None = None) -> None:
        if linker is not None:
            raise ValueError(f"DebugMode can only use its own linker, got linker={linker!r}")
        super().__init__("vm", optimizer)
        flags = config.DebugMode
        self.stability_patience = _first(stability_patience, flags.patience)
        self.check_c_code = _first(check_c_code, flags.check_c)
        self.check_py_code = _first(check_py_code, flags.check_py)
        self.check_isfinite = _first(check_isfinite, flags.check_finite)
        self.check_preallocated_output = list(_first(check_preallocated_output,
                                                     flags.check_preallocated_output.split(":")))
        self.require_matching_strides = _first(require_matching_strides, flags.check_strides)
        if not self.check_c_code and not self.check_py_code:
            raise ValueError("DebugMode has to check at least one of c and py code")
        unknown = [name for name in self.check_preallocated_output if name not in PREALLOCATED]
        if unknown:
            raise ValueError(f"check_preallocated_output={unknown}: expected names among {sorted(PREALLOCATED)}")

    @property
    def preallocated_layouts(self) -> list[str]:
        """The layouts that ``check_preallocated_output`` names."""
        return list(dict.fromkeys([layout for name in self.check_preallocated_output
                                   for layout in PREALLOCATED[name]]))

    def _options(self):
        return {name: getattr(self, name) for name in OPTIONS}

    def clone(self, link_kwargs: Any = None, optimizer: Query = "", **kwargs: Any) -> DebugMode:
        """Return a copy with another optimizer or other options."""
        if isinstance(optimizer, str) and not optimizer:
            optimizer = self.provided_optimizer
        return type(self)(optimizer=optimizer, **self._options() | kwargs)

    def __reduce__(self):
        return _remade, (type(self), self.provided_optimizer, self._options())

    def __str__(self):
        return f"{type(self).__name__}(optimizer = {self.provided_optimizer})"

    @contextmanager
    def observed(self, fgraph: FunctionGraph) -> Iterator[Any]:
        """Record what the rewrites do to ``fgraph`` inside the block; the value is passed to ``link``."""
        history = _History(_copy(fgraph), ReplacementRecord())
        copies = [_copy(fgraph) for _ in range(self.stability_patience - 1)]
        fgraph.attach_feature(history.record)
        try:
            yield history
        finally:
            fgraph.remove_feature(history.record)
        for copied in copies:
            self._check_order(copied, history.record)

    def _check_order(self, fgraph, record):
        """Optimise a copy of the graph and compare histories."""
        other = ReplacementRecord()
        fgraph.attach_feature(other)
        with change_flags(compute_test_value="off"):
            optimize(fgraph, self.query)
        position = first_difference(record.events, other.events)
        if position is not None:
            raise StochasticOrder("StochasticOrder: optimising the same graph twice gave different steps. Event "
                                  f"number {position} was {_event(record.events[position])} the first time, and "
                                  f"{_event(other.events[position])} the second time")

    def link(self, fgraph: FunctionGraph, history: Any, **arguments: Any) -> Program:
        """Return a program that checks itself."""
        run = DebugRun(fgraph, history.record, history.pristine, self, arguments)
        return link_stepwise(fgraph, run, arguments)


class _History:
    """Facts about a graph from before it was optimised."""

    def __init__(self, pristine, record):
        self.pristine, self.record = pristine, record


def _first(value, default):
    return default if value is None else value


@at_home
def _remade(cls, optimizer, options):
    return cls(optimizer=optimizer, **options)


def _copy(fgraph):
    """Copy a graph but share its constants: rewrites may depend on the identity of cached ones."""
    return FunctionGraph(fgraph.inputs, fgraph.outputs, fgraph.features)


def _event(event):
    kind, reason, op, position = event
    where = "" if position is None else f", input {position}"
    return f"{kind} of {op}{where} by {reason}"


register_mode("DEBUG_MODE", DebugMode())
