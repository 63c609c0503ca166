"""Pickling and deep-copying of graphs of any depth, for Variable and Apply.

Pickle and ``copy.deepcopy`` visit objects recursively, and a chain of a hundred thousand nodes would overflow the
stack. Therefore the first object of a graph that is pickled describes the whole graph that computes it, in an order in
which every node finds its inputs complete:

* A computed variable is written as "output i of that node"; a node as "op, inputs, classes of the outputs".
* Each node's description starts with its *bundle*, which lists, inputs first, all nodes that one request found. Pickle
  writes the bundle before the node, with its whole list, and finds everything later in its memo.
* Other attributes of nodes, outputs and leaves (type, name, tag) are written at the end of the bundle, where a tag may
  refer to any part of the graph.

A bundle lives as long as a pickler remembers it. Another pickler that finds a node with a living bundle writes the same
bundle itself, so nothing depends on which pickler comes first, or on the remains of one that failed. An object that
occurs twice is one object afterwards, also if it is computed: ``pickle.loads(pickle.dumps((x, y)))`` keeps ``x`` inside
``y``.
"""
from __future__ import annotations

import copy
import threading
from typing import TYPE_CHECKING, Any
from weakref import ref

from phintys.graph import hooks
from phintys.graph.nodes import NodeSlots, ValueSlots
from phintys.graph.public_names import at_home
from phintys.graph.toposort import io_toposort

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.variable import Constant, Variable

PLACE = frozenset(["op", "inputs", "outputs", "owner", "index"])
IN_STRUCT = PLACE | {"type", "name", "_position", "tag"}


class _Bundled(threading.local):
    """The living bundles of a thread; as a collection, the nodes and leaves that are in one."""

    def __init__(self):
        self.bundles = {}                           # id of a node or leaf -> weak reference to its bundle

    def __contains__(self, thing):
        return id(thing) in self.bundles

    def bundle_of(self, thing):
        """Return the bundle that a node or leaf is in, or None."""
        reference = self.bundles.get(id(thing))
        return None if reference is None else reference()

    def add(self, bundle):
        """Register a bundle as long as it lives; it keeps its contents, and so the ids, alive."""
        bundles, members = self.bundles, list(map(id, bundle.nodes + bundle.leaves))

        def forget(reference):
            for member in members:
                bundles.pop(member, None)

        bundles.update(dict.fromkeys(members, ref(bundle, forget)))


_bundled = _Bundled()


class GraphNode(NodeSlots):
    """Pickling and deep-copying of an Apply node."""

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        at_home(cls)

    def __setstate__(self, state):
        _set_attributes(self, state)

    def __reduce_ex__(self, protocol):
        return _bare_node, (_bundle_of(self), type(self), self.op, self.inputs, list(map(type, self.outputs)))

    def __deepcopy__(self, memo):
        nodes = io_toposort((), self.outputs, known=_Copied(memo))
        leaves = _leaves(nodes, _Copied(memo))
        for leaf in leaves:
            memo[id(leaf)] = _bare_variable(None, type(leaf))
        for node in nodes:
            inputs = [copy.deepcopy(variable, memo) for variable in node.inputs]
            copied = _bare_node(None, type(node), copy.deepcopy(node.op, memo), inputs, list(map(type, node.outputs)))
            memo[id(node)] = copied
            memo.update(zip(map(id, node.outputs), copied.outputs))
        for thing in _things(nodes, leaves):
            _set_state(memo[id(thing)], copy.deepcopy(_state(thing), memo))
        return memo[id(self)]


class GraphVariable(ValueSlots):
    """Pickling and deep-copying of a Variable."""

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        at_home(cls)

    def __setstate__(self, state):
        _set_attributes(self, state)

    def __reduce_ex__(self, protocol):
        if self.owner is not None:
            return _output, (self.owner, self.index)
        bundle = _bundled.bundle_of(self)
        if bundle is not None:
            return _bare_variable, (bundle, type(self))
        return super().__reduce_ex__(max(protocol, 2))          # older protocols know no class with a struct

    def __deepcopy__(self, memo):
        if self.owner is not None:
            return copy.deepcopy(self.owner, memo).outputs[self.index]
        copied = memo[id(self)] = _bare_variable(None, type(self))
        _set_state(copied, copy.deepcopy(_state(self), memo))
        return copied


@at_home
class Bundle:
    """Nodes in topological order and leaves, to be written together."""

    def __init__(self, nodes: Sequence[Apply], leaves: Sequence[Constant | Variable]) -> None:
        self.nodes, self.leaves = nodes, leaves

    def __reduce__(self):
        states = [_state(thing) for thing in _things(self.nodes, self.leaves)]
        return Bundle, ((), ()), (self.nodes, self.leaves, states)

    def __setstate__(self, state):
        self.nodes, self.leaves, states = state
        for thing, thing_state in zip(_things(self.nodes, self.leaves), states):
            _set_state(thing, thing_state)
        for node in self.nodes:
            if not hasattr(node.op, "make_node"):
                _compose(node)


def _compose(node):
    """Let a node show what its op computes by other ops now; it was written when that was an op itself."""
    node.op, node.inputs = hooks.view_op, [node.op(*node.inputs)]


def _things(nodes, leaves):
    """Return all objects that a bundle describes."""
    for node in nodes:
        yield node
        yield from node.outputs
    yield from leaves


def _leaves(nodes, known):
    """Return the leaves that nodes read, except those in ``known`` and those of classes that describe themselves."""
    leaves = {variable: None for node in nodes for variable in node.inputs if variable.owner is None}
    return [leaf for leaf in leaves if leaf not in known and type(leaf).__reduce__ is object.__reduce__
            and type(leaf).__reduce_ex__ is GraphVariable.__reduce_ex__
            and type(leaf).__deepcopy__ is GraphVariable.__deepcopy__]


def _bundle_of(node):
    """Return the bundle of a node; a new one for it and all that it needs, if it has none."""
    bundle = _bundled.bundle_of(node)
    if bundle is None:
        nodes = io_toposort((), node.outputs, known=_bundled)
        bundle = Bundle(nodes, _leaves(nodes, _bundled))
        _bundled.add(bundle)
    return bundle


class _Copied:
    """The memo of a ``copy.deepcopy`` as a collection."""

    def __init__(self, memo):
        self.memo = memo

    def __contains__(self, node):
        return id(node) in self.memo


@at_home
def _bare_node(bundle, kind, op, inputs, output_kinds):
    """Make a node whose outputs have no attributes yet except their position."""
    node = kind.__new__(kind)
    node.op, node.inputs = op, inputs
    node.outputs = [_bare_variable(bundle, output_kind) for output_kind in output_kinds]
    for index, output in enumerate(node.outputs):
        output.owner, output.index = node, index
    return node


@at_home
def _bare_variable(bundle, kind):
    """Make a variable without attributes."""
    leaf = kind.__new__(kind)
    leaf.owner = leaf.index = None
    return leaf


@at_home
def _output(node, index):
    return node.outputs[index]


def _state(thing):
    """Return the attributes of a node or variable besides its position in the graph."""
    return {name: value for name, value in thing.__getstate__().items() if name not in PLACE}


def _set_state(thing, state):
    thing.__setstate__(state)


def _set_attributes(thing, state):
    """Set what is in a struct, and the rest as pickle does."""
    for name in IN_STRUCT & state.keys():
        setattr(thing, name, state[name])
    thing.__dict__.update([item for item in state.items() if item[0] not in IN_STRUCT])
