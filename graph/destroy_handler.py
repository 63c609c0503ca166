"""The rules for nodes that overwrite an input, which are those whose op has a ``destroy_map``.

The *root* of a variable is the variable whose memory it refers to, through ``view_map``. The output of a destroyer (a
node that overwrites an input) is a new value with itself as root, although it is stored in old memory.

A value may be destroyed once, by a node that reads it through only one input, after all other readers of its aliases.
Constants, inputs that are not mutable, and values that an output of the graph needs must not be destroyed. A shared
value with an update may be destroyed by the node that computes this update, or by a chain of nodes: each destroys the
result of the one before, and the last computes the update. These must be *commit nodes*: nodes that cannot fail, whose
outputs are read only by updates and other commit nodes, and whose preparation needs only the shape of the value. Commit
nodes run last, after the results have been made.

``DestroyHandler`` is the FunctionGraph feature that enforces these rules and orders the nodes. It changes no graph and
stores no state of a graph, so copies of a graph share it. Everything is linear in the size of the graph.
"""
from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from phintys.graph.errors import InconsistencyError, made_at
from phintys.graph.lazy_regions import EXCLUSIVE, known_regions
from phintys.graph.public_names import at_home
from phintys.graph.traversal import view_roots_of
from phintys.graph.variable import Constant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.function_graph import FunctionGraph
    from phintys.graph.op import Op
    from phintys.graph.variable import Variable

MOST_READERS = 64              # up to so many readers of a value, not only the last one may overwrite it


@at_home
class DestroyHandler:
    """Feature: orders destroyers after the other readers of the values that they destroy, and decides what may be
    destroyed.

    Parameters
    ----------
    mutable : collection of Variable, optional
        Inputs of the graph that may be overwritten. None: all inputs and outputs may be.
    updates : dict, optional
        Input of the graph, the value of a shared variable → the position of its new value in ``fgraph.outputs``.

    Attributes
    ----------
    rewriting : bool
        While it is True, destroyers are not ordered. The optimizer sets it, because rewrites consider only data and may
        combine destroyers that cannot be ordered; its last stages restore the rules.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> graph = phintys.FunctionGraph([x], [T.sin(x)], clone=False)
    >>> graph.attach_feature(phintys.gof.DestroyHandler())
    """

    rewriting = False

    def __init__(self, mutable: Sequence[Any] | None = None, updates: Mapping[Any, int] | None = None) -> None:
        self._variables = mutable, updates or {}    # on_attach replaces them by positions, valid for copies
        self.mutable = None
        self.updates = {}

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Look up the positions of the variables."""
        if self._variables is None:
            return
        (mutable, updates), self._variables = self._variables, None
        position = {variable: number for number, variable in enumerate(fgraph.inputs)}
        if mutable is not None:
            self.mutable = frozenset([position[variable] for variable in mutable])
        self.updates = {position[variable]: output for variable, output in updates.items()}

    def orderings(self, fgraph: FunctionGraph) -> dict[Any, Any]:
        """Map each destroyer to the nodes that must come before it: the other readers of what it destroys."""
        if self.rewriting or not has_destroyers(fgraph):
            return {}
        return Destruction(fgraph, self).orderings()

    def commit_nodes(self, fgraph: FunctionGraph, order: Sequence[Apply] | None = None) -> list[Apply]:
        """Return the nodes that overwrite shared values with their updates, in the order in which they run.

        ``order`` is the result of the graph's ``toposort``, if the caller has it.
        """
        shared = {fgraph.inputs[position] for position in self.updates}
        first = [node for variable in shared for node, position in fgraph.clients[variable]
                 if node != "output" and [position] in node.op.destroy_map.values()]
        if not first:
            return []
        found = set()
        while first:                                    # readers of a commit node's output are commit nodes, too
            node = first.pop()
            if node not in found:
                found.add(node)
                first.extend([reader for out in node.outputs for reader, _ in fgraph.clients[out]
                              if reader != "output"])
        return [node for node in order or fgraph.kept_order or fgraph.toposort() if node in found]

    def validate(self, fgraph: FunctionGraph) -> None:
        """Check that every destroyer obeys the rules.

        Raises
        ------
        InconsistencyError
            If one does not.
        """
        if has_destroyers(fgraph):
            destruction = Destruction(fgraph, self)
            for destroyer in destruction.destroyers:
                reason = destruction.objection(*destroyer)
                if reason is not None:
                    raise _illegal(destroyer, reason)
            ordered(destruction.memory.order, destruction.orderings(), _refuse_cycle)


def has_destroyers(fgraph: FunctionGraph) -> bool:
    """Return whether a node of the graph overwrites an input."""
    return any([bool(node.op.destroy_map) for node in fgraph.apply_nodes])


def handler_of(fgraph: FunctionGraph) -> DestroyHandler | None:
    """Return the graph's DestroyHandler, or None."""
    for feature in fgraph.features:
        if isinstance(feature, DestroyHandler):
            return feature
    return None


def is_examined(op: Op, position: int) -> bool:
    """Return whether the kernel's ``prepare`` examines the value of an input."""
    return op.first_examined is not None and position >= op.first_examined


def destroyed_by(op: Op) -> list[tuple[int, ...]]:
    """Yield ``(output, input position)`` for each input that an op overwrites."""
    return [(output, position) for output, positions in op.destroy_map.items() for position in positions]


def destroyed_inputs(fgraph: FunctionGraph) -> set[Variable]:
    """Return the inputs of a graph that its nodes overwrite."""
    if not has_destroyers(fgraph):
        return set()
    memory = Memory(fgraph)
    destroyed = {memory.root(node.inputs[position]) for node in memory.order
                 for _, position in destroyed_by(node.op)}
    return destroyed.intersection(fgraph.inputs)


class Memory:
    """Which variables share memory, and which nodes read it.

    Attributes
    ----------
    order : list of Apply
        All nodes, each after the nodes whose outputs it reads.
    readers : dict
        Root → its readers: a dict with nodes as keys, in the order of ``order``.
    """

    def __init__(self, fgraph: FunctionGraph) -> None:
        self.order = fgraph.data_order()
        self._roots, choices = view_roots_of(self.order, follow_choices=True)
        self._joined = {}                       # root → a root with the same memory
        self.chosen = set()                     # roots of variables whose memory depends on a branch
        for first, *others in choices.values():
            for other in others:
                self._join(self.root(first), self.root(other))
        known, joined, readers = self._roots.get, self._joined, {}
        if not joined:                          # as nearly always; a method is asked for each operand of each node
            self.root = lambda variable: known(variable, variable)      # type: ignore[method-assign]
        for node in self.order:
            for variable in node.inputs:
                readers.setdefault(self.root(variable) if joined else known(variable, variable), {})[node] = None
        self.readers = readers

    def _join(self, first, second):
        """Treat two memories as one from now on, represented by a leaf if there is one."""
        if first is not second:
            kept, other = (first, second) if first.owner is None else (second, first)
            self._joined[other] = kept
            self.chosen.discard(other)
        else:
            kept = first
        self.chosen.add(kept)

    def root(self, variable: Variable) -> Variable:
        """Return the variable whose memory ``variable`` refers to."""
        root, joined = self._roots.get(variable, variable), self._joined
        if root in joined:
            passed = []
            while root in joined:
                passed.append(root)
                root = joined[root]
            for variable in passed:
                joined[variable] = root
        return root


class Destruction:
    """The rules, applied to a graph in its present state.

    Parameters
    ----------
    fgraph : FunctionGraph
    handler : DestroyHandler
    """

    def __init__(self, fgraph: FunctionGraph, handler: DestroyHandler) -> None:
        self.fgraph = fgraph
        self.memory = memory = Memory(fgraph)
        inputs = fgraph.inputs
        self._mutable = None if handler.mutable is None else {inputs[position] for position in handler.mutable}
        self.updates = {inputs[position]: output for position, output in handler.updates.items()}
        self._stored = frozenset(self.updates.values())
        self._kept = set() if self._mutable is None else {memory.root(variable) for variable in fgraph.outputs}
        self.destroyers = [(node, *pair) for node in memory.order if node.op.destroy_map
                           for pair in destroyed_by(node.op)]
        self.regions = known_regions(fgraph)
        self._read_at = {}                      # lazy node → root → region → input position
        self._writers = {}                      # root → (node, input position) of its destroyers
        for node, _, position in self.destroyers:
            self.note(node, position)
        self.commits = self.deferrable(self._marked_commits())

    # ---- what may be destroyed ---------------------------------------------------------------------------------------
    def objection(self, node: Apply, output: int, position: int) -> str | None:
        """Return why a node must not overwrite an input, regardless of order; None if it may.

        The first reason is reported, so those that hold whatever else the graph does come first. Three tests rely on
        those before them: commits are accepted only if no other node writes or reads the value at an unknown time; only
        then may a node of a shared value's own update overwrite it, which the tests after it would refuse.
        """
        root = self.memory.root(node.inputs[position])
        if isinstance(root, Constant):
            return "it is a constant"
        if root.owner is None and getattr(root.tag, "indestructible", False):
            return "it is marked as indestructible"
        if self.reads_twice(node, position):
            return "the node reads the same memory through another input"
        if self._written_twice(node, output, position, root):
            return "it is overwritten twice"
        if root in self.memory.chosen and root.owner is None:
            return f"it may be {root}, as a condition says"
        if self._is_unordered(node, position, root):
            return "a node reads it whose position in the order is only known in a call"
        if position in self.commits.get(node, {}).values():
            return None
        if root in self.updates and root.owner is None and self._mutable is not None:
            return "it is a shared value, which only the last step of its own update may overwrite"
        if root.owner is None and self._mutable is not None and root not in self._mutable:
            return "it is an input that is not mutable"
        if root in self._kept:
            return "an output of the graph needs it"
        if self.commits and not self.commits.keys().isdisjoint(self.memory.readers[root]):
            return "a node reads it that runs last, because it overwrites a shared value"
        return None

    def reads_twice(self, node: Apply, position: int) -> bool:
        """Return whether a node that overwrites an input also reads its memory elsewhere, where that matters."""
        variable, root_of, op = node.inputs[position], self.memory.root, node.op
        root = root_of(variable)
        for other, value in enumerate(node.inputs):
            if other == position or root_of(value) is not root:
                continue
            if (position, other) in op.destroyhandler_tolerate_aliased:
                continue
            if value is not variable or not (op.reads_before_writing
                                             or (position, other) in op.destroyhandler_tolerate_same):
                return True
        return False

    def _written_twice(self, node, output, position, root):
        """Return whether another node overwrites the root, or this node does for another output."""
        return self.is_overwritten_by_another(node, position, root) or any(
            [(other, operand) != (output, position) and self.memory.root(node.inputs[operand]) is root
             for other, operand in destroyed_by(node.op)])

    def is_overwritten_by_another(self, node: Apply, position: int, root: Variable) -> bool:
        """Return whether an earlier node also overwrites the memory, unless only one of the two runs."""
        for other, operand in self._writers.get(root, ()):
            if other is node:
                break
            if self.regions is None or self.regions.relation(other, operand, node, position) is not EXCLUSIVE:
                return True
        return False

    def note(self, node: Apply, position: int) -> None:
        """Record that the node overwrites one of its inputs from now on."""
        self._writers.setdefault(self.memory.root(node.inputs[position]), []).append((node, position))

    # ---- lazy branches -----------------------------------------------------------------------------------------------
    def _relations(self, node, position, root):
        """Yield (other reader, relation of its access to that of ``node``) for all accesses by others."""
        regions = self.regions
        for reader in self.memory.readers[root]:
            if reader is not node:
                for operand in self._operands_by_region(reader, root) if reader in regions.arms else (0,):
                    yield reader, regions.relation(reader, operand, node, position)

    def _operands_by_region(self, node, root):
        """Return where a lazy node reads a memory: one input position for each region in which it reads it."""
        found = self._read_at.get(node)
        if found is None:
            found = self._read_at[node] = {}
            for position, variable in enumerate(node.inputs):
                operands = found.setdefault(self.memory.root(variable), {})
                operands.setdefault(self.regions.region_at(node, position), position)
        return found[root].values()

    def _is_unordered(self, node, position, root):
        """Return whether some other reader cannot be placed before the node by any order of nodes."""
        return self.regions is not None and None in [relation for _, relation in self._relations(node, position, root)]

    def is_last(self, node: Apply, position: int, number: Mapping[Apply, int], last: Mapping[Variable, Apply]) -> bool:
        """Return whether no other reader of an input can run after the node.

        Parameters
        ----------
        node : Apply
        position : int
        number : dict
            Node → its position in the order in which nodes run.
        last : dict
            Root → the last of its readers in this order.
        """
        root = self.memory.root(node.inputs[position])
        if self.regions is None or (last[root] is not node and len(self.memory.readers[root]) > MOST_READERS):
            return last[root] is node
        return all([relation is EXCLUSIVE or (relation is not None and number[relation[0]] < number[relation[1]])
                    for _, relation in self._relations(node, position, root)])

    # ---- commits -----------------------------------------------------------------------------------------------------
    def _marked_commits(self):
        """Map nodes to ``{output: input position}``, for the nodes that together turn a shared value into its update in
        its own memory, one after the other."""
        writer = {node.outputs[output]: (node, output, position) for node, output, position in self.destroyers}
        found, seen = {}, set()
        for shared, number in self.updates.items():
            chain, value = [], self.fgraph.outputs[number]
            while value in writer and value not in seen:
                seen.add(value)
                chain.append(writer[value])
                node, output, position = writer[value]
                value = node.inputs[position]
                if not self.is_link(node, position) or self._written_twice(node, output, position,
                                                                           self.memory.root(value)):
                    break
            else:
                if value is shared:
                    for node, output, position in chain:
                        found.setdefault(node, {})[output] = position
        return found

    def is_link(self, node: Apply, position: int) -> bool:
        """Return whether a commit node could overwrite an input: its old value is not needed, or is a container's."""
        variable = node.inputs[position]
        return not self.reads_twice(node, position) and (variable.owner is None or variable not in self._kept)

    def can_wait(self, wanted: Mapping[Apply, Any] | Sequence[Apply]) -> set[Apply]:
        """Return those nodes in ``wanted`` that cannot fail, and whose outputs only these and updates read."""
        clients, found = self.fgraph.clients, set()
        for node in reversed(self.memory.order):
            if node in wanted and node.op.cannot_fail and all([self._is_free(clients[out], found)
                                                               for out in node.outputs]):
                found.add(node)
        return found

    def deferrable(self, wanted: Mapping[Apply, Any]) -> dict[Apply, Any]:
        """Return those of the nodes ``wanted`` that may run after COMMIT; a dict, readers before what they read.

        ``wanted`` is a dict from nodes to ``{output: input position}``.
        """
        if not wanted:
            return {}
        found = self.can_wait(wanted)
        commits = {node: wanted[node] for node in reversed(self.memory.order) if node in found}
        early = [node for node, pairs in commits.items()
                 if any([owner is not None and owner not in found
                         for owner in [node.inputs[position].owner for position in pairs.values()]])]
        return without(commits, early)

    def _is_free(self, readers, deferred):
        """Return whether a value is read only by deferred nodes and at most one update."""
        stored = 0
        for reader, position in readers:
            if reader == "output":
                stored += 1
                if stored > 1 or position not in self._stored:
                    return False
            elif reader not in deferred or is_examined(reader.op, position):
                return False
        return True

    # ---- order -------------------------------------------------------------------------------------------------------
    def orderings(self) -> dict[Apply, list[Apply]]:
        """Map nodes to the nodes that must come before them, so that every destroyer follows all other readers."""
        before = {}
        for node, earlier, _ in self.edges():
            before.setdefault(node, []).append(earlier)
        return before

    def edges(self) -> Iterator[Any]:
        """Yield (node, node that must come before it, the destroyer that requires this).

        Without lazy branches the first is the destroyer itself, else the step that leads to it.
        """
        for destroyer in self.destroyers:
            node, _, position = destroyer
            root = self.memory.root(node.inputs[position])
            if self.regions is None:
                yield from [(node, reader, destroyer) for reader in self.memory.readers[root] if reader is not node]
                continue
            for _, relation in self._relations(node, position, root):
                if relation is not None and relation is not EXCLUSIVE:
                    yield relation[1], relation[0], destroyer


def bound_to(commits: Mapping[Apply, Any]) -> dict[Apply, list[Any]]:
    """Map each commit node to those that depend on it being one: nodes it reads from, followers in a chain.

    ``commits`` is a dict from nodes to ``{output: input position}``.
    """
    bound = {node: [variable.owner for variable in node.inputs if variable.owner in commits] for node in commits}
    for node, pairs in commits.items():
        for position in pairs.values():
            if node.inputs[position].owner in bound:
                bound[node.inputs[position].owner].append(node)
    return bound


def without(commits: Mapping[Apply, Any], early: Sequence[Any]) -> dict[Apply, Any]:
    """Return the commit nodes that remain if the nodes ``early`` run before COMMIT."""
    if not early:
        return commits
    bound, pending, dropped = bound_to(commits), list(early), set()
    while pending:
        node = pending.pop()
        if node not in dropped:
            dropped.add(node)
            pending.extend(bound[node])
    return {node: pairs for node, pairs in commits.items() if node not in dropped}


def ordered(nodes: Sequence[Apply], before: Mapping[Apply, Sequence[Apply]],
            give_up: Callable[..., Any]) -> list[Apply]:
    """Order nodes by their data and by ``before``.

    Parameters
    ----------
    nodes : list of Apply
        In an order that their data permit.
    before : dict
        Node → nodes that should come before it.
    give_up : callable
        ``give_up(node, late)`` is called when no node is ready, for the first node in ``nodes`` that waits only for
        nodes ``late`` in ``before``. Then the node is placed before them.
    """
    members, followers, unmet = set(nodes), {}, {}
    for node in nodes:
        needed = {variable.owner for variable in node.inputs}
        needed.update(before.get(node, ()))
        needed &= members
        unmet[node] = len(needed)
        for other in needed:
            followers.setdefault(other, []).append(node)
    ready = deque([node for node in nodes if not unmet[node]])
    order, done, waiting = [], set(), iter(nodes)
    while len(order) < len(nodes):
        if ready:
            node = ready.popleft()
        else:
            node = next(node for node in waiting if node not in done)
            give_up(node, [other for other in before[node] if other in members and other not in done])
        done.add(node)
        order.append(node)
        for follower in followers.get(node, ()):
            unmet[follower] -= 1
            if not unmet[follower] and follower not in done:
                ready.append(follower)
    return order


# ---- errors ----------------------------------------------------------------------------------------------------------
def _illegal(destroyer, reason):
    node, _, position = destroyer
    return InconsistencyError(f"{node.op}{made_at(node)} must not overwrite its input {position}, "
                              f"{node.inputs[position]}: {reason}.")


def _refuse_cycle(node, late):
    raise InconsistencyError(f"{node.op}{made_at(node)} overwrites a value that {late[0].op}{made_at(late[0])} reads, "
                             f"and this reader cannot run earlier: the graph contains cycles.")
