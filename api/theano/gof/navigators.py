"""Navigators: optimizers that apply local optimizers to the nodes of a graph.

`TopoOptimizer` visits all nodes once, `OpKeyOptimizer` the nodes of one op; ``equilibrium.py`` has the one that visits
nodes repeatedly. A replacement that the graph's features refuse is undone. Nodes that a replacement adds are visited,
too, unless ``ignore_newtrees`` is set.
"""
from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from phintys.gof.local_optimizers import LocalOptGroup
from phintys.gof.toolbox import NodeFinder, ReplaceValidate
from phintys.gof.whole_optimizers import Optimizer, report_failure
from phintys.graph.errors import InconsistencyError
from phintys.graph.toposort import io_toposort
from phintys.optimizer.engine.registered import inside, is_tracked

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.function_graph import FunctionGraph
    from phintys.graph.variable import Variable


class Updater:
    """A feature that passes on the changes of a graph.

    Parameters
    ----------
    importer, pruner : callable, optional
        Called with a node that is added or removed.
    chin : callable, optional
        Called with ``(node, position, old, new, reason)`` when an input changes.
    name : str, optional

    Examples
    --------
    >>> x = T.dvector("x")
    >>> graph, added = phintys.FunctionGraph([x], [T.sin(x)], clone=False), []
    >>> graph.attach_feature(phintys.gof.opt.Updater(added.append, None, None))
    >>> graph.replace(graph.outputs[0], T.cos(x))
    >>> [node.op for node in added]
    [Elemwise{cos,no_inplace}]
    """

    def __init__(self, importer: Any, pruner: Any, chin: Any, name: str | None = None) -> None:
        self.importer, self.pruner, self.chin, self.name = importer, pruner, chin, name

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: Any) -> None:
        """Call the function for a node that has come into the graph."""
        if self.importer:
            self.importer(node)

    def on_prune(self, fgraph: FunctionGraph, node: Apply, reason: Any) -> None:
        """Call the function for a node that has left the graph."""
        if self.pruner:
            self.pruner(node)

    def on_change_input(self, fgraph: FunctionGraph, node: Apply, position: Any, old: Variable, new: Variable,
                        reason: Any) -> None:
        """Call the function for an input that has been replaced."""
        if self.chin:
            self.chin(node, position, old, new, reason)


class NavigatorOptimizer(Optimizer):
    """Base of the navigators.

    Parameters
    ----------
    local_opt : LocalOptimizer or None
    ignore_newtrees : bool or 'auto'
        'auto': as the local optimizer's attribute ``reentrant``.
    failure_callback : callable, optional
        ``(error, self, pairs of old and new, local optimizer, node)``, called instead of raising.

    Examples
    --------
    >>> issubclass(phintys.gof.TopoOptimizer, phintys.gof.NavigatorOptimizer)
    True
    """

    def __init__(self, local_opt: Any, ignore_newtrees: Any = "auto", failure_callback: Any = None) -> None:
        self.local_opt = local_opt
        self.ignore_newtrees = not getattr(local_opt, "reentrant", True) if ignore_newtrees == "auto" \
            else ignore_newtrees
        self.failure_callback = failure_callback

    @staticmethod
    def warn(exc: BaseException, nav: Any, repl_pairs: Any, local_opt: Any, node: Apply) -> None:
        """A failure callback: see ``report_failure``."""
        report_failure(exc, local_opt, node)

    @staticmethod
    def warn_inplace(exc: BaseException, nav: Any, repl_pairs: Any, local_opt: Any, node: Apply) -> None:
        """A failure callback: as ``warn``, but a refused replacement is no failure."""
        if not isinstance(exc, InconsistencyError):
            report_failure(exc, local_opt, node)

    @staticmethod
    def warn_ignore(exc: BaseException, nav: Any, repl_pairs: Any, local_opt: Any, node: Apply) -> None:
        """A failure callback that does nothing."""

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        fgraph.attach_feature(ReplaceValidate())
        for part in self.parts():
            part.add_requirements(fgraph)

    def parts(self) -> Any:
        return [] if self.local_opt is None else [self.local_opt]

    def attach_updater(self, fgraph: FunctionGraph, importer: Any, pruner: Any, chin: Any = None,
                       name: str | None = None) -> Any:
        """Attach an `Updater`, and return it; None if there is nothing to pass on."""
        importer = None if self.ignore_newtrees else importer
        if importer is None and pruner is None and chin is None:
            return None
        updater = Updater(importer, pruner, chin, name)
        fgraph.attach_feature(updater)
        return updater

    def detach_updater(self, fgraph: FunctionGraph, updater: Any) -> None:
        """Undo ``attach_updater``."""
        if updater is not None:
            fgraph.remove_feature(updater)

    def process_node(self, fgraph: Any, node: Apply, lopt: Any = None) -> Any:
        """Pass a node to a local optimizer that tracks such nodes, and make the replacements that it returns.

        Returns
        -------
        bool
            Whether something was replaced.

        Raises
        ------
        TypeError, ValueError
            If it returns anything but a replacement for each output.
        """
        lopt = lopt or self.local_opt
        if not is_tracked(lopt, node):
            return False
        try:
            with inside(fgraph, node):
                found = lopt.transform(node)
        except Exception as error:
            return self._failed(error, [(old, None) for old in node.outputs], lopt, node)
        if found is False or found is None:
            return False
        pairs, removed = _pairs(fgraph, node, found, lopt)
        if not pairs:
            return False
        try:
            fgraph.replace_all_validate_remove(pairs, remove=removed, reason=lopt)
        except Exception as error:
            return self._failed(error, pairs, lopt, node)
        return True

    def _failed(self, error: BaseException, pairs: Any, lopt: Any, node: Apply) -> Any:
        if self.failure_callback is None:
            raise error
        self.failure_callback(error, self, pairs, lopt, node)
        return False

    def visit_all(self, fgraph: FunctionGraph, queue: Any, take: Any, visit: Any, wants: Any = lambda node: True,
                  follow_changes: Any = False) -> Any:
        """Visit the nodes in ``queue``, and those that are added meanwhile."""
        current = None

        def come(node: Apply) -> Any:
            if node is not current and wants(node):
                queue.append(node)

        def changed(node: Apply, position: Any, old: Variable, new: Variable, reason: Any) -> Any:
            if not isinstance(node, str):
                come(node)

        updater = self.attach_updater(fgraph, come, None, chin=changed if follow_changes else None, name=self.name)
        try:
            while queue:
                current = take()
                if current in fgraph.apply_nodes:
                    visit(current)
        finally:
            self.detach_updater(fgraph, updater)


def _pairs(fgraph: FunctionGraph, node: Apply, found: Any, lopt: Any) -> Any:
    """Pairs of old and new variables, and what must be gone afterwards."""
    removed, replaced = (), node.outputs
    if isinstance(found, dict):
        found = dict(found)
        removed = found.pop("remove", ())
        replaced, found = list(found), list(found.values())
    elif not isinstance(found, (tuple, list)):
        raise TypeError(f"Optimizer {lopt} gave wrong type of replacement. Expected list or tuple. Got {found}")
    if len(replaced) != len(found):
        raise ValueError(f"Optimizer {lopt} gave wrong number of replacements: {len(found)}, not {len(replaced)}")
    for old, new in zip(replaced, found):
        if new is None and fgraph.clients.get(old):
            raise ValueError(f"A local optimizer tried to remove a Variable that is used: {lopt}, {old}")
    return [(old, new) for old, new in zip(replaced, found) if new is not None and new is not old], removed


class TopoOptimizer(NavigatorOptimizer):
    """Applies a local optimizer to each node, inputs first or outputs first.

    Parameters
    ----------
    local_opt : LocalOptimizer
    order : {'in_to_out', 'out_to_in'}
    ignore_newtrees, failure_callback
        As for `NavigatorOptimizer`.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> graph = phintys.FunctionGraph([x], [T.sin(T.sin(x))], clone=False)
    >>> _ = phintys.gof.TopoOptimizer(phintys.gof.OpSub(T.sin, T.cos)).optimize(graph)
    >>> phintys.pp(graph.outputs[0])
    'cos(cos(x))'
    """

    def __init__(self, local_opt: Any, order: str = "in_to_out", ignore_newtrees: Any = False,
                 failure_callback: Any = None) -> None:
        if order not in ("in_to_out", "out_to_in"):
            raise ValueError(f"order must be 'out_to_in' or 'in_to_out', not {order!r}")
        self.order = order
        super().__init__(local_opt, ignore_newtrees, failure_callback)

    def apply(self, fgraph: FunctionGraph, start_from: Any = None) -> Any:
        queue = deque(io_toposort(fgraph.inputs, fgraph.outputs if start_from is None else start_from))
        take = queue.pop if self.order == "out_to_in" else queue.popleft
        self.visit_all(fgraph, queue, take, lambda node: self.process_node(fgraph, node))

    def __str__(self) -> str:
        return getattr(self, "__name__", "<TopoOptimizer instance>")


def out2in(*local_opts: Any, name: str | None = None, **options: Any) -> Any:
    """A `TopoOptimizer` of some local optimizers, outputs first.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> graph = phintys.FunctionGraph([x], [T.sin(x)], clone=False)
    >>> _ = T.opt.out2in(phintys.gof.OpSub(T.sin, T.cos)).optimize(graph)
    >>> phintys.pp(graph.outputs[0])
    'cos(x)'
    """
    return _named_topological(local_opts, "out_to_in", name, options)


def in2out(*local_opts: Any, name: str | None = None, **options: Any) -> Any:
    """A `TopoOptimizer` of some local optimizers, inputs first.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> graph = phintys.FunctionGraph([x], [T.sin(x)], clone=False)
    >>> _ = T.opt.in2out(phintys.gof.OpSub(T.sin, T.cos)).optimize(graph)
    >>> phintys.pp(graph.outputs[0])
    'cos(x)'
    """
    return _named_topological(local_opts, "in_to_out", name, options)


def _named_topological(local_opts: Any, order: str, name: str | None, options: Any) -> Any:
    only, = local_opts if len(local_opts) == 1 else (LocalOptGroup(*local_opts),)
    made: Any = TopoOptimizer(only, order=order, **{"failure_callback": TopoOptimizer.warn_inplace, **options})
    name = name or (getattr(only, "__name__", None) if len(local_opts) == 1 else None)
    if name:
        made.__name__ = name
    return made


class OpKeyOptimizer(NavigatorOptimizer):
    """Applies a local optimizer to the nodes of the op, or list of ops, that its ``op_key()`` names.

    Raises
    ------
    TypeError
        If it has no ``op_key``.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> graph = phintys.FunctionGraph([x], [T.sin(x)], clone=False)
    >>> _ = phintys.gof.OpKeyOptimizer(phintys.gof.OpSub(T.sin, T.cos)).optimize(graph)
    >>> phintys.pp(graph.outputs[0])
    'cos(x)'
    """

    def __init__(self, local_opt: Any, ignore_newtrees: Any = False, failure_callback: Any = None) -> None:
        if not hasattr(local_opt, "op_key"):
            raise TypeError("LocalOptimizer for OpKeyOptimizer must have an 'op_key' method.")
        super().__init__(local_opt, ignore_newtrees, failure_callback)

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        super().add_requirements(fgraph)
        fgraph.attach_feature(NodeFinder())

    def apply(self, fgraph: Any) -> Any:
        key = self.local_opt.op_key()
        keys = list(key) if isinstance(key, (list, tuple)) else [key]
        queue = [node for op in keys for node in fgraph.get_nodes(op)]
        self.visit_all(fgraph, queue, queue.pop, lambda node: self.process_node(fgraph, node),
                        lambda node: node.op in keys)
