"""`EquilibriumOptimizer`: optimizers of graphs and nodes, applied repeatedly until nothing changes.

A turn applies the optimizers of whole graphs, applies the local ones to all nodes, outputs first, and ends with the
final ones. It terminates even if they undo each other: an optimizer that has been applied too often for the size of the
graph stops it.
"""
from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from phintys.gof.local_optimizers import LocalOptimizer
from phintys.gof.navigators import NavigatorOptimizer
from phintys.gof.whole_optimizers import report_failure
from phintys.graph.toposort import io_toposort

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.function_graph import FunctionGraph
    from phintys.graph.variable import Variable


class EquilibriumOptimizer(NavigatorOptimizer):
    """Applies optimizers of graphs and nodes until none of them changes the graph.

    Parameters
    ----------
    optimizers : iterable of Optimizer and LocalOptimizer
    failure_callback, ignore_newtrees
        As for `NavigatorOptimizer`.
    tracks_on_change_inputs : bool
        Visit nodes again when their inputs change.
    max_use_ratio : number
        How often each may be applied, as a multiple of the number of nodes.
    final_optimizers, cleanup_optimizers : list of Optimizer, optional
        Applied at the end of each turn, and after each change.

    Examples
    --------
    >>> halve = phintys.gof.PatternSub((T.add, "x", "x"), (T.mul, "x", 2.0))
    >>> x = T.dvector("x")
    >>> graph = phintys.FunctionGraph([x], [(x + x) + (x + x)], clone=False)
    >>> _ = phintys.gof.EquilibriumOptimizer([halve], max_use_ratio=10).optimize(graph)
    >>> phintys.pp(graph.outputs[0])
    '((x * TensorConstant{2.0}) + (x * TensorConstant{2.0}))'
    """

    def __init__(self, optimizers: Any, failure_callback: Any = None, ignore_newtrees: Any = True,
                 tracks_on_change_inputs: bool = False, max_use_ratio: Any = None, final_optimizers: Any = None,
                 cleanup_optimizers: Any = None) -> None:
        super().__init__(None, ignore_newtrees, failure_callback)
        if max_use_ratio is None:
            raise AssertionError("EquilibriumOptimizer: max_use_ratio has to be a number")
        optimizers = list(optimizers)
        self.local_optimizers = [part for part in optimizers if isinstance(part, LocalOptimizer)]
        self.global_optimizers = [part for part in optimizers if not isinstance(part, LocalOptimizer)]
        self.final_optimizers = list(final_optimizers or ())
        self.cleanup_optimizers = list(cleanup_optimizers or ())
        self.tracks_on_change_inputs = tracks_on_change_inputs
        self.max_use_ratio = max_use_ratio

    def get_local_optimizers(self) -> Any:
        """The local optimizers."""
        return list(self.local_optimizers)

    def parts(self) -> Any:
        return [*self.global_optimizers, *self.local_optimizers, *self.final_optimizers, *self.cleanup_optimizers]

    def apply(self, fgraph: FunctionGraph, start_from: Any = None) -> Any:
        _Equilibrium(self, fgraph, start_from).reach()


class _Equilibrium:
    """One application of an `EquilibriumOptimizer` to one graph."""

    def __init__(self, optimizer: Any, fgraph: FunctionGraph, start_from: Any) -> None:
        self.optimizer, self.fgraph = optimizer, fgraph
        self.outputs = fgraph.outputs if start_from is None else start_from
        self.uses = dict.fromkeys(optimizer.parts(), 0)
        self.most = len(fgraph.apply_nodes) * optimizer.max_use_ratio
        self.worn_out = None                # the part that was applied too often
        self.changes = 0

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: Any) -> None:
        self.changes += 1

    def on_change_input(self, fgraph: FunctionGraph, node: Apply, position: Any, old: Variable, new: Variable,
                        reason: Any) -> None:
        self.changes += 1

    def reach(self) -> Any:
        """Take turns until one changes nothing."""
        self.fgraph.attach_feature(self)
        try:
            while self._turn() and self.worn_out is None:
                pass
        finally:
            self.fgraph.remove_feature(self)
        if self.worn_out is not None:
            named = getattr(self.worn_out, "name", None) or getattr(self.worn_out, "__name__", self.worn_out)
            report_failure(RuntimeError(f"EquilibriumOptimizer max'ed out by '{named}'; the threshold is "
                                        f"{self.optimizer.max_use_ratio} times the number of nodes."),
                           self.optimizer, self.fgraph)

    def _turn(self) -> Any:
        """Apply everything once; return whether something changed."""
        optimizer, fgraph = self.optimizer, self.fgraph
        changed = self._apply(optimizer.global_optimizers)
        queue = deque(io_toposort(fgraph.inputs, self.outputs))
        self.most = max(self.most, len(queue) * optimizer.max_use_ratio)
        before = sum(self.uses.values())
        optimizer.visit_all(fgraph, queue, queue.pop, self._visit,
                             follow_changes=optimizer.tracks_on_change_inputs)
        changed |= sum(self.uses.values()) > before
        changed |= self._apply(optimizer.final_optimizers)
        return changed

    def _apply(self, optimizers: Any, clean: Any = True) -> Any:
        changed = False
        for part in optimizers:
            before = self.changes
            part.apply(self.fgraph)
            if self.changes > before:
                changed = True
                self._count(part)
        return (self._apply(self.optimizer.cleanup_optimizers, clean=False) or changed) if clean else changed

    def _visit(self, node: Apply) -> Any:
        for part in self.optimizer.local_optimizers:
            if self.worn_out is None and self.optimizer.process_node(self.fgraph, node, part):
                self._count(part)
                self._apply(self.optimizer.cleanup_optimizers, clean=False)
                if node not in self.fgraph.apply_nodes:
                    return

    def _count(self, part: Any) -> Any:
        self.uses[part] += 1
        if self.uses[part] > self.most:
            self.worn_out = part
