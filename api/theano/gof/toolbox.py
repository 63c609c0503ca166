"""Features that hand-written optimizers attach to a FunctionGraph: recorded changes, nodes by op, and restrictions.

Some of them add methods to the graph while they are attached (``checkpoint``, ``revert``, ``get_nodes``). Attaching a
second feature with the same methods does nothing.
"""
from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from phintys.graph.errors import AlreadyThere, InconsistencyError, ReplacementDidntRemovedError
from phintys.graph.toposort import io_toposort

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.function_graph import FunctionGraph
    from phintys.graph.variable import Variable


class Feature:
    """Base of features; ``FunctionGraph.attach_feature`` says when each method is called.

    Examples
    --------
    >>> class Counter(phintys.gof.Feature):
    ...     replaced = 0
    ...     def on_change_input(self, fgraph, node, i, r, new_r, reason=None):
    ...         self.replaced += 1
    >>> x = T.dvector("x")
    >>> graph, counter = phintys.FunctionGraph([x], [T.sin(x)], clone=False), Counter()
    >>> graph.attach_feature(counter)
    >>> graph.replace(graph.outputs[0], T.cos(x))
    >>> counter.replaced
    1
    """

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """The feature is about to be attached."""

    def on_detach(self, fgraph: FunctionGraph) -> None:
        """The feature was removed."""

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: Any) -> None:
        """A node was added."""

    def on_prune(self, fgraph: FunctionGraph, node: Apply, reason: Any) -> None:
        """A node was removed, because no reader is left."""

    def on_change_input(self, fgraph: FunctionGraph, node: Apply, position: Any, old: Variable, new: Variable,
                        reason: Any = None) -> None:
        """A node, or ``"output"``, reads another variable."""

    def orderings(self, fgraph: FunctionGraph) -> Any:
        """Node to nodes that must come before it."""
        return {}


class Bookkeeper(Feature):
    """A feature that treats all nodes as added when it is attached, and as removed when it is detached.

    Examples
    --------
    >>> class Counter(phintys.gof.Bookkeeper):
    ...     nodes = 0
    ...     def on_import(self, fgraph, node, reason=None):
    ...         self.nodes += 1
    >>> x = T.dvector("x")
    >>> graph, counter = phintys.FunctionGraph([x], [T.sin(T.cos(x))], clone=False), Counter()
    >>> graph.attach_feature(counter)
    >>> counter.nodes
    2
    """

    def on_attach(self, fgraph: FunctionGraph) -> None:
        for node in io_toposort(fgraph.inputs, fgraph.outputs):
            self.on_import(fgraph, node, "on_attach")

    def on_detach(self, fgraph: FunctionGraph) -> None:
        for node in io_toposort(fgraph.inputs, fgraph.outputs):
            self.on_prune(fgraph, node, "Bookkeeper.detach")


def _give(fgraph: FunctionGraph, **methods: Any) -> Any:
    """Give the graph methods that it does not have yet."""
    if any([name in fgraph.__dict__ for name in methods]):
        raise AlreadyThere(f"{', '.join(methods)}: this feature, or one in conflict with it, is attached already")
    fgraph.__dict__.update(methods)


def _take(fgraph: FunctionGraph, *names: Any) -> Any:
    for name in names:
        fgraph.__dict__.pop(name, None)


class History(Feature):
    """Records changes: ``fgraph.checkpoint()`` marks a state, ``fgraph.revert(mark)`` goes back to it.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> graph = phintys.FunctionGraph([x], [T.sin(x)], clone=False)
    >>> graph.attach_feature(phintys.gof.History())
    >>> mark = graph.checkpoint()
    >>> graph.replace(graph.outputs[0], T.cos(x))
    >>> graph.revert(mark)
    >>> phintys.pp(graph.outputs[0])
    'sin(x)'
    """

    def __init__(self) -> None:
        # graph → [(node, position, old variable)]; None while it goes back
        self.history: dict[FunctionGraph, Any] = {}

    def on_attach(self, fgraph: FunctionGraph) -> None:
        _give(fgraph, checkpoint=lambda: len(self.history[fgraph]), revert=partial(self.revert, fgraph))
        self.history[fgraph] = []

    def on_detach(self, fgraph: FunctionGraph) -> None:
        _take(fgraph, "checkpoint", "revert")
        del self.history[fgraph]

    def on_change_input(self, fgraph: FunctionGraph, node: Apply, position: Any, old: Variable, new: Variable,
                        reason: Any = None) -> None:
        if self.history.get(fgraph) is not None:
            self.history[fgraph].append((node, position, old))

    def revert(self, fgraph: FunctionGraph, checkpoint: int) -> None:
        """Undo all changes since the checkpoint was taken."""
        changes, self.history[fgraph] = self.history[fgraph], None
        try:
            while len(changes) > checkpoint:
                node, position, old = changes.pop()
                fgraph.change_input(node, position, old, reason="Revert")
        finally:
            self.history[fgraph] = changes


class Validator(Feature):
    """``fgraph.consistent()``: whether the graph obeys the rules of its features; ``validate()`` raises if not.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> graph = phintys.FunctionGraph([x], [T.sin(x)], clone=False)
    >>> graph.attach_feature(phintys.gof.Validator())
    >>> graph.consistent()
    True
    """

    def on_attach(self, fgraph: FunctionGraph) -> None:
        _give(fgraph, consistent=partial(self.consistent_, fgraph))

    def on_detach(self, fgraph: FunctionGraph) -> None:
        _take(fgraph, "consistent")

    def consistent_(self, fgraph: FunctionGraph) -> Any:
        """Whether ``fgraph.validate()`` raises nothing."""
        try:
            fgraph.validate()
        except Exception:
            return False
        return True


class ReplaceValidate(History, Validator):
    """`History`, `Validator`, and ``fgraph.replace_all_validate_remove``.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> graph = phintys.FunctionGraph([x], [T.sin(x)], clone=False)
    >>> graph.attach_feature(phintys.gof.ReplaceValidate())
    >>> graph.replace_all_validate([(graph.outputs[0], T.cos(x))], reason="docs")
    >>> phintys.pp(graph.outputs[0])
    'cos(x)'
    """

    def on_attach(self, fgraph: FunctionGraph) -> None:
        _give(fgraph, replace_all_validate_remove=partial(self.replace_all_validate_remove, fgraph))
        try:
            History.on_attach(self, fgraph)
            Validator.on_attach(self, fgraph)
        except AlreadyThere:                # another feature provides these; this one has its own record
            pass
        self._removed: set[Apply] = set()
        self._came_back = False

    def on_detach(self, fgraph: FunctionGraph) -> None:
        _take(fgraph, "replace_all_validate_remove")
        if fgraph in self.history:
            History.on_detach(self, fgraph)
        Validator.on_detach(self, fgraph)

    def replace_all_validate_remove(self, fgraph: FunctionGraph, replacements: Any, remove: Any = (),
                                    reason: Any = None, warn: bool = True) -> Any:
        """``replace_all_validate``, which is undone if something that should be removed is still in the graph.

        Parameters
        ----------
        replacements : list of (Variable, Variable)
        remove : iterable of Apply or Variable
        reason : object, optional
        warn : bool
            Warn before raising.

        Raises
        ------
        ReplacementDidntRemovedError
            If one of ``remove`` is still in the graph.
        """
        changes = _Changes()
        fgraph.attach_feature(changes)
        try:
            fgraph.replace_all_validate(replacements, reason)
        finally:
            fgraph.remove_feature(changes)
        self._removed.update(remove)
        kept = [thing for thing in remove if thing in fgraph.apply_nodes or thing in fgraph.variables]
        if kept:
            for node, position, old in reversed(changes.made):
                fgraph.change_input(node, position, old, reason="Revert")
            if warn:
                import warnings
                warnings.warn(f"{reason} wanted to replace {[old for old, _ in replacements]}, but {kept} would stay "
                              f"in the graph: it was not applied.", stacklevel=3)
            raise ReplacementDidntRemovedError(f"{reason}: {kept} would stay in the graph")

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: Any) -> None:
        if node in self._removed:
            self._came_back = True

    def validate(self, fgraph: FunctionGraph) -> None:
        """Refuse changes that bring back a removed node."""
        if self._came_back:
            self._came_back = False
            raise InconsistencyError("Trying to reintroduce a removed node")

    def __getstate__(self) -> Any:
        return {**self.__dict__, "history": {}}


class _Changes(Feature):
    """The changes made by one transaction."""

    def __init__(self) -> None:
        self.made: list[Any] = []

    def on_change_input(self, fgraph: FunctionGraph, node: Apply, position: Any, old: Variable, new: Variable,
                        reason: Any = None) -> None:
        self.made.append((node, position, old))


class NodeFinder(Bookkeeper):
    """``fgraph.get_nodes(op)``: the nodes of an op.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> graph = phintys.FunctionGraph([x], [T.sin(x) + T.sin(x + 1)], clone=False)
    >>> graph.attach_feature(phintys.gof.NodeFinder())
    >>> len(graph.get_nodes(T.sin))
    2
    """

    def __init__(self) -> None:
        self.fgraph: FunctionGraph | None = None
        self.nodes_of: dict[Any, dict[Apply, None]] = {}

    def on_attach(self, fgraph: FunctionGraph) -> None:
        if self.fgraph is not None:
            raise ValueError("A NodeFinder instance can only serve one FunctionGraph.")
        _give(fgraph, get_nodes=partial(self.query, fgraph))
        self.fgraph = fgraph
        super().on_attach(fgraph)

    def on_detach(self, fgraph: FunctionGraph) -> None:
        if self.fgraph is not fgraph:
            raise ValueError("This NodeFinder instance was not attached to the provided fgraph.")
        self.fgraph = None
        _take(fgraph, "get_nodes")
        super().on_detach(fgraph)

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: Any) -> None:
        self.nodes_of.setdefault(node.op, {})[node] = None

    def on_prune(self, fgraph: FunctionGraph, node: Apply, reason: Any) -> None:
        nodes = self.nodes_of[node.op]
        del nodes[node]
        if not nodes:
            del self.nodes_of[node.op]

    def query(self, fgraph: FunctionGraph, op: Any) -> Any:
        """The nodes of an op, in the order in which they were added."""
        return list(self.nodes_of.get(op, ()))


class PrintListener(Feature):
    """Prints the changes of a graph while ``active``.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> graph = phintys.FunctionGraph([x], [T.sin(x)], clone=False)
    >>> graph.attach_feature(phintys.gof.PrintListener())
    -- attaching to:  [Elemwise{sin,no_inplace}(x)]
    >>> graph.replace(graph.outputs[0], T.cos(x), reason="docs")
    -- importing: Elemwise{cos,no_inplace}(x), reason: docs
    -- pruning: Elemwise{sin,no_inplace}(x), reason: docs
    -- changing (output.inputs[0]) from Elemwise{sin,no_inplace}.0 to Elemwise{cos,no_inplace}.0
    """

    def __init__(self, active: bool = True) -> None:
        self.active = active

    def _say(self, *words: Any) -> Any:
        if self.active:
            print(*words)

    def on_attach(self, fgraph: FunctionGraph) -> None:
        self._say("-- attaching to: ", fgraph)

    def on_detach(self, fgraph: FunctionGraph) -> None:
        self._say("-- detaching from: ", fgraph)

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: Any) -> None:
        self._say(f"-- importing: {node}, reason: {reason}")

    def on_prune(self, fgraph: FunctionGraph, node: Apply, reason: Any) -> None:
        self._say(f"-- pruning: {node}, reason: {reason}")

    def on_change_input(self, fgraph: FunctionGraph, node: Apply, position: Any, old: Variable, new: Variable,
                        reason: Any = None) -> None:
        self._say(f"-- changing ({node}.inputs[{position}]) from {old} to {new}")


class PreserveVariableAttributes(Feature):
    """Copies a variable's name, and its mark for NanGuardMode, to its replacement, unless that has one.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> total = T.sin(x)
    >>> total.name = "total"
    >>> graph = phintys.FunctionGraph([x], [total], clone=False)
    >>> graph.attach_feature(phintys.gof.PreserveVariableAttributes())
    >>> graph.replace(total, T.cos(x))
    >>> graph.outputs
    [total]
    """

    def on_change_input(self, fgraph: FunctionGraph, node: Apply, position: Any, old: Variable, new: Variable,
                        reason: Any = None) -> None:
        if old.name is not None and new.name is None:
            new.name = old.name
        if getattr(old.tag, "nan_guard_mode_check", False) and not getattr(new.tag, "nan_guard_mode_check", False):
            new.tag.nan_guard_mode_check = old.tag.nan_guard_mode_check


PreserveNames = PreserveVariableAttributes


class NoOutputFromInplace(Feature):
    """Refuses graphs with an output that is computed in another variable's memory.

    Parameters
    ----------
    first_output_idx, last_output_idx : int, optional
        The outputs to check, as in a slice.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> graph = phintys.FunctionGraph([x], [T.sin(x)], clone=False)
    >>> graph.attach_feature(phintys.gof.NoOutputFromInplace())
    """

    def __init__(self, first_output_idx: int = 0, last_output_idx: int | None = None) -> None:
        self.first_idx, self.last_idx = first_output_idx, last_output_idx

    def validate(self, fgraph: FunctionGraph) -> None:
        """Raise InconsistencyError if an output is."""
        for output in fgraph.outputs[self.first_idx:self.last_idx]:
            if output.owner is not None and output.index in output.owner.op.destroy_map:
                raise InconsistencyError(f"The output {output} is computed by {output.owner.op} in the memory of "
                                         f"another variable, which a feature of this graph does not permit.")
