"""FunctionGraph: the private graph that rewrites change and the linker reads.

It stores the readers of every variable (``clients``), and updates them in ``change_input`` and ``replace``: nodes that
a change adds are imported, nodes that are not read any more are pruned, at a cost proportional to the change. Nothing
is recursive. A replacement has the type of the variable that it replaces. Changes are not checked for cycles;
``toposort`` finds them. The user's own graph is never changed: by default the graph is a copy.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.graph.changes import Clients, import_node, import_variable, put, tell
from phintys.graph.config import config
from phintys.graph.errors import AlreadyThere, InconsistencyError, made_at
from phintys.graph.formula import as_string
from phintys.graph.membership import enrol
from phintys.graph.public_names import at_home
from phintys.graph.scratchpad import made
from phintys.graph.toposort import io_toposort
from phintys.graph.trace import joined
from phintys.graph.traversal import clone, clone_get_equiv
from phintys.graph.variable import Constant

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.op import Op
    from phintys.graph.variable import Variable


class ClientsOf(dict):
    """Variable → Clients. It can also be called with a variable, as in Theano."""

    def __call__(self, variable: Variable) -> Clients:
        return self[variable]


@at_home
class FunctionGraph:
    """The graph between ``inputs`` and ``outputs``.

    Parameters
    ----------
    inputs : list of Variable
        Variables without an owner.
    outputs : list of Variable
    features : list, optional
        See ``attach_feature``.
    clone : bool
        Copy the graph first. Otherwise its nodes belong to this graph from now on.

    Attributes
    ----------
    inputs, outputs : list of Variable
    apply_nodes : set of Apply
    clients : dict
        Variable → the list of its readers; see ``Clients``.
    derived : dict
        Cached results about the structure of the graph, under names chosen by their users; a change empties it.
    settled : dict
        Node → what was found out about it; a change of its inputs or the loss of a reader removes it.
    budget : MemoryBudget or None
        How many bytes its values may take at once; see ``optimizer/passes/recomputation.py``.

    Raises
    ------
    MissingInputError
        If a leaf is neither an input nor a constant.
    ValueError
        If an input has an owner.
    TypeError
        If a leaf is an undefined gradient.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> graph = phintys.FunctionGraph([x], [T.sin(x) + 1])
    >>> [node.op for node in graph.toposort()]
    [Elemwise{sin,no_inplace}, Elemwise{add,no_inplace}]
    >>> graph.replace(graph.outputs[0], T.cos(graph.inputs[0]))
    >>> phintys.pp(graph.outputs[0])
    'cos(x)'
    """

    budget: Any = None

    def __init__(self, inputs: Iterable[Variable], outputs: Iterable[Variable], features: Iterable[Any] | None = None,
                 clone: bool = True) -> None:
        if clone:
            inputs, outputs = _copied(inputs, outputs)
        self.features = []
        self._begin(list(inputs), list(outputs))
        for feature in features or ():
            self.attach_feature(feature)

    def _begin(self, inputs: list[Variable], outputs: list[Variable]) -> None:
        self.inputs, self.outputs = inputs, outputs
        self.apply_nodes = set()
        self.settled = {}
        self._told, self._methods = [], {}          # the features that were told last, and event → their methods
        self.clients = ClientsOf()
        enrol(self)
        self._forget_order()
        for variable in inputs:
            if variable.owner is not None:
                raise ValueError(f"One of the provided inputs is the output of an already existing node: {variable}"
                                 f"{made_at(variable)}. If that is okay, either discard that input's owner or clone "
                                 f"the graph.")
            self.clients[variable] = Clients()
        for variable in outputs:
            import_variable(self, variable, "init")
        for position, variable in enumerate(outputs):
            self.clients[variable]["output", position] = None

    @property
    def variables(self) -> Any:
        """All variables of the graph: inputs, variables that are read, outputs of its nodes; a set-like view."""
        return self.clients.keys()

    def add_input(self, variable: Variable) -> None:
        """Declare another input."""
        if variable not in self.inputs:
            self.inputs.append(variable)
            self.clients.setdefault(variable, Clients())

    # ---- coming and going --------------------------------------------------------------------------------------------
    def import_node(self, node: Apply, reason: Any = None, origin: Any = None) -> None:
        """Take in a node and everything it needs that is not in the graph yet.

        Parameters
        ----------
        node : Apply
        reason : object, optional
            Passed to the features.
        origin : optional
            Where the user made the code that these nodes compute (see ``graph/trace.py``). Nodes that store this for
            each of their parts keep it.

        Raises
        ------
        MissingInputError
            If a variable is missing; the graph is not changed then.
        """
        import_node(self, node, reason, origin)

    # ---- changes -----------------------------------------------------------------------------------------------------
    def change_input(self, node: Apply | str, position: int, new: Variable, reason: Any = None) -> None:
        """Make one reader read another variable.

        Parameters
        ----------
        node : Apply or "output"
        position : int
            The input of the node, or the output of the graph.
        new : Variable
            A variable of the same type.

        Raises
        ------
        TypeError
            If the type differs.
        """
        if isinstance(node, str):
            old = self.outputs[position]
        elif node in self.apply_nodes:
            old = node.inputs[position]
        else:
            raise InconsistencyError(f"Cannot operate on {node} because it does not belong to this FunctionGraph")
        if old is new:
            return
        if old.type is not new.type and old.type != new.type:
            raise TypeError(f"The type of the replacement must be the same as the type of the original Variable: "
                            f"{old} has type {old.type}, {new} has type {new.type}.")
        put(self, node, position, new, reason, joined([made(old)._position]))

    def change_op(self, node: Apply, op: Op) -> None:
        """Let a node compute the same values by another op, for instance one that overwrites an input."""
        if type(op) is not type(node.op):               # with the same class, lazy inputs stay the same
            self.derived = {}
        node.op = op
        self.settled.pop(node, None)
        self._kept_order = None

    def replace(self, old: Variable, new: Variable, reason: Any = None, verbose: bool | None = None) -> None:
        """Make every reader of ``old`` read ``new``. Does nothing when ``old`` is not in the graph (any more).

        Parameters
        ----------
        old, new : Variable
            ``new`` is converted to the type of ``old`` if it has another.
        reason : object, optional
            The name of the rewrite; it appears in errors and is passed to the features.

        Raises
        ------
        TypeError
            If there is no such conversion.
        MissingInputError
            If ``new`` needs something that is neither in the graph nor computed.
        """
        if config.optimizer_verbose if verbose is None else verbose:
            print(reason, old, new)
        if old is new or old not in self.clients:
            return
        if old.type is not new.type and old.type != new.type:
            new = self._converted(old, new, reason)
        origin = None if new in self.clients else joined([made(old)._position])
        for node, position in list(self.clients[old]):
            put(self, node, position, new, reason, origin)

    def _converted(self, old, new, reason):
        try:
            return old.type.filter_variable(new)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{reason}: the type of the replacement must be the same. {old}{made_at(old)} has type "
                            f"{old.type}, its replacement {new} has type {new.type}: {error}") from error

    def replace_all(self, pairs: Iterable[tuple[Variable, Variable]], reason: Any = None) -> None:
        """``replace`` for each pair (old, new)."""
        for old, new in pairs:
            self.replace(old, new, reason)

    def replace_validate(self, old: Variable, new: Variable, reason: Any = None) -> None:
        """``replace`` and then ask the features; see ``replace_all_validate``."""
        self.replace_all_validate([(old, new)], reason)

    def replace_all_validate(self, pairs: Iterable[tuple[Variable, Variable]], reason: Any = None) -> None:
        """``replace`` for each pair, all or none.

        Afterwards every feature with a method ``validate(fgraph)`` is called. If one of them raises, or a replacement
        fails, all changes are undone and the error is passed on.
        """
        undo = _Undo()
        self.features.append(undo)
        try:
            self.replace_all(pairs, reason)
            self.validate()
        except Exception:
            self.features.remove(undo)
            for node, position, old in reversed(undo.changes):
                put(self, node, position, old, ("revert", reason), None)
            raise
        self.features.remove(undo)

    def validate(self) -> None:
        """Let every feature with a method ``validate(fgraph)`` raise if the graph breaks its rule."""
        tell(self, "validate", ())

    # ---- features ----------------------------------------------------------------------------------------------------
    def attach_feature(self, feature: Any) -> None:
        """Add an object whose methods are called when the graph changes.

        All methods are optional: ``on_attach(fgraph)``, ``on_detach(fgraph)``, ``on_import(fgraph, node, reason)``,
        ``on_prune(fgraph, node, reason)``, ``on_change_input(fgraph, node, position, old, new, reason)``,
        ``validate(fgraph)`` and ``orderings(fgraph)``, which returns a dict: node → nodes that must come before it.
        A feature whose ``on_attach`` raises ``AlreadyThere`` is not attached.
        """
        if any([feature is attached for attached in self.features]):
            return
        on_attach = getattr(feature, "on_attach", None)
        if on_attach is not None:
            try:
                on_attach(self)
            except AlreadyThere:
                return
        self.features.append(feature)
        self._kept_order = None

    def remove_feature(self, feature: Any) -> None:
        """Remove a feature, if it is attached."""
        if feature in self.features:
            self.features.remove(feature)
            self._kept_order = None
            on_detach = getattr(feature, "on_detach", None)
            if on_detach is not None:
                on_detach(self)

    # ---- reading -----------------------------------------------------------------------------------------------------
    def orderings(self) -> dict[Any, Any]:
        """Map nodes to the nodes that must come before them, according to the features."""
        merged = {}
        for feature in self.features:
            method = getattr(feature, "orderings", None)
            if method is not None:
                for node, earlier in method(self).items():
                    merged.setdefault(node, []).extend(earlier)
        return merged

    def toposort(self) -> list[Apply]:
        """The nodes, each after all nodes that it needs.

        Raises
        ------
        InconsistencyError
            If there is a cycle.
        """
        orderings = self.orderings()
        return io_toposort(self.inputs, self.outputs, orderings) if orderings else self.data_order()

    def data_order(self) -> list[Apply]:
        """Return the nodes, each after all nodes whose outputs it reads; the orderings of features are ignored.

        Raises
        ------
        InconsistencyError
            If there is a cycle.
        """
        if self._order is None:
            self._order = io_toposort(self.inputs, self.outputs)
        return list(self._order)

    def keep_order(self, order: Sequence[Apply]) -> None:
        """Store the order in which the nodes will run, until the graph changes.

        Parameters
        ----------
        order : list of Apply
            All nodes, each after what it needs and what ``orderings`` requires.
        """
        self._kept_order = list(order)

    @property
    def kept_order(self) -> list[Apply] | None:
        """The order given to ``keep_order``, or None if there is none or the graph has changed since."""
        return self._kept_order

    def _forget_order(self):
        self._order = self._kept_order = None       # the order by data alone; the order in which nodes run
        self.derived = {}

    def check_integrity(self) -> None:
        """Check everything that the graph stores about its nodes and variables.

        Raises
        ------
        InconsistencyError
            If they differ.
        """
        nodes = io_toposort(self.inputs, self.outputs)
        if set(nodes) != self.apply_nodes:
            raise InconsistencyError("The nodes are inappropriately cached. Missing, in excess: "
                                     f"{set(nodes) - self.apply_nodes}, {self.apply_nodes - set(nodes)}")
        expected = {variable: set() for variable in self.inputs}
        for node in nodes:
            expected.update({output: expected.get(output, set()) for output in node.outputs})
        for node in nodes:
            for position, variable in enumerate(node.inputs):
                expected.setdefault(variable, set()).add((node, position))
        for position, variable in enumerate(self.outputs):
            expected.setdefault(variable, set()).add(("output", position))
        if expected.keys() != self.variables:
            raise InconsistencyError("The variables are inappropriately cached. Missing, in excess: "
                                     f"{expected.keys() - self.variables}, {self.variables - expected.keys()}")
        for variable, readers in expected.items():
            if set(self.clients[variable]) != readers:
                raise InconsistencyError(f"Inconsistent clients list of {variable}: {self.clients[variable]}, but "
                                         f"it is read by {readers}")
            if variable.owner is None and variable not in self.inputs and not isinstance(variable, Constant):
                raise InconsistencyError(f"Undeclared input: {variable}")

    # ---- copies ------------------------------------------------------------------------------------------------------
    def clone(self, check_integrity: bool = True) -> FunctionGraph:
        """A copy with its own inputs, nodes and constants, and the same features."""
        return self.clone_get_equiv(check_integrity)[0]

    def clone_get_equiv(self, check_integrity: bool = True,
                        attach_feature: bool = True) -> tuple[FunctionGraph, dict[Any, Any]]:
        """A copy, and a dict from everything in this graph to its copy.

        Returns
        -------
        tuple (FunctionGraph, dict)
        """
        if check_integrity:
            self.check_integrity()
        equiv = clone_get_equiv(self.inputs, self.outputs)
        copied = FunctionGraph([equiv[variable] for variable in self.inputs],
                               [equiv[variable] for variable in self.outputs],
                               self.features if attach_feature else (), clone=False)
        return copied, equiv

    def __getstate__(self):
        state = self.__dict__.copy()
        for derived in ("apply_nodes", "settled", "clients", "_order", "_kept_order", "derived", "_told", "_methods"):
            del state[derived]
        return {name: value for name, value in state.items() if not callable(value)}    # without methods of features

    def __setstate__(self, state):
        self.__dict__.update(state)
        features, self.features = self.features, []
        self._begin(self.inputs, self.outputs)
        self.features = features

    def __str__(self):
        """Describe how each output is computed, as nested calls: ``[add(x, *1 -> exp(y)), *1]``."""
        return f"[{', '.join(as_string(self.inputs, self.outputs))}]"

    __repr__ = __str__


class _Undo:
    """A feature that records the changes of one transaction."""

    def __init__(self):
        self.changes = []

    def on_change_input(self, fgraph, node, position, old, new, reason):
        self.changes.append((node, position, old))


def _copied(inputs, outputs):
    """Copy a graph; the constants, which are immutable, are shared."""
    return clone(inputs, outputs, copy_inputs=True, copy_orphans=False)
