"""Values that wait for long: derivatives of activations read fewer of them, before elementwise nodes are fused.

The derivatives of ``sigmoid(x)`` and ``relu(x)`` are exact because they read x, not only the result. So a network would
keep both from its forward pass to its backward pass. Where a group of fused nodes runs at least `LONG` turns after the
operand was computed,

* it computes ``tanh(x)`` and ``sigmoid(x)`` again, if the memory of x waits for it anyway, as gates of a recurrent
  network do, which are parts of one matrix. That takes no more time, since ``sigmoid(-x)`` needs the same exponential;
* ``sgn(x)`` is computed from ``relu(x)``, if that waits anyway, and from ``x == 0``, which takes a byte.

A graph of fewer turns, such as the body of a loop, is not changed.
"""
from math import log

from numpy import finfo

from phintys.ops.shape.reshape import Reshape
from phintys.optimizer.engine.forms import is_inexact, key_of
from phintys.optimizer.engine.values import apply_op, constant

LONG, SOON = 8, 20               # turns
AGAIN = {"tanh", "sigmoid"}


def shorten_waits(fgraph, order, shapes, turns, rounding):
    """Change the graph so that fewer values wait for long.

    Parameters
    ----------
    fgraph : FunctionGraph
    order : list of Apply
    shapes : dict
        Elementwise node → its group's shape; new nodes are added.
    turns : dict
        Node → when it runs; new nodes are added.
    rounding : bool
        Whether ``sigmoid(-x)`` may be rounded in another way.

    Returns
    -------
    list of Apply
        All nodes: a new one may be anywhere before its readers.
    """
    present = {key_of(node.op) for node in shapes}
    if present.isdisjoint(AGAIN) and not present.issuperset(("sgn", "relu")) or max(turns.values()) < LONG:
        return order
    waits = _Waits(fgraph, order, shapes, turns, rounding)
    for node in order:
        if node in shapes and node in fgraph.apply_nodes and node.inputs[0].owner is not None:
            if key_of(node.op) in AGAIN:
                waits.compute_again(node)
            elif key_of(node.op) == "sgn":
                waits.read_result(node)
    return [node for node in waits.made + order if node in fgraph.apply_nodes]


class _Waits:
    """When values are read for the last time, and the nodes that were ``made`` so that some are read earlier."""

    def __init__(self, fgraph, order, shapes, turns, rounding):
        self.fgraph, self.shapes, self.turns, self.rounding, self.made = fgraph, shapes, turns, rounding, []
        self.root, self.last = {}, {}           # of a view: whose memory it is; of that: its last turn
        for node in order:
            for position, (source, *_) in node.op.view_map.items():
                self.root[node.outputs[position]] = self._root(node.inputs[source])
            if node not in shapes or key_of(node.op) not in AGAIN | {"sgn"}:
                for variable in node.inputs:
                    self.last[self._root(variable)] = max(self.last_turn(variable), turns[node])

    def _root(self, variable):
        return self.root.get(variable, variable)

    def last_turn(self, variable):
        """The last turn in which the memory of a variable is read by a node that stays as it is."""
        return self.last.get(self._root(variable), 0)

    def add(self, nodes, like, turn):
        """Let new nodes run in a turn, with the shape of another node."""
        self.made += nodes
        self.turns.update(dict.fromkeys(nodes, turn))
        self.shapes.update(dict.fromkeys(nodes, self.shapes[like]))

    def compute_again(self, node):
        """Give late readers a clone of ``tanh(x)`` or ``sigmoid(x)``, if all readers are elementwise and x waits.

        Readers that run soon after the last reader of x get what was computed for others at that time.
        """
        (x,), (out,), turns = node.inputs, node.outputs, self.turns
        readers = list(self.fgraph.clients[out])
        if any([reader == "output" or self.shapes.get(reader) != self.shapes[node] for reader, _ in readers]):
            return
        late, kept = sorted({turns[reader] for reader, _ in readers} - {turns[node]}), self.last_turn(x)
        if not late or late[0] - turns[node] < LONG or late[0] > kept or late[-1] - kept >= SOON:
            return
        for turn in late:
            if turn <= kept:
                again, nodes = self._clone(node, turn)
                self.add(nodes, node, turn)
            for reader, position in readers:
                if turns[reader] == turn:
                    self.fgraph.change_input(reader, position, again, reason="elemwise_fusion")

    def _clone(self, node, turn):
        """Return a variable equal to the node's result, and the nodes that compute it.

        Of ``e = exp(-x)``, ``sigmoid(x)`` is ``1 / (1 + e)``, and ``sigmoid(-x)``, if it is computed in this turn, e
        times that: e is limited to finite numbers.
        """
        x, = node.inputs
        may_share = self.rounding and key_of(node.op) == "sigmoid" and x.type.dtype in ("float32", "float64")
        opposite = may_share and [
            out for minus in self._readers(x, "neg") for reader in self._readers(minus.outputs[0], "sigmoid")
            if self.turns[reader] == turn for out in reader.outputs]
        if not opposite:
            clone = node.clone()
            return clone.outputs[0], [clone]
        dtype, rank = x.type.dtype, x.type.ndim
        largest = log(finfo(dtype).max) * (1 - finfo(dtype).eps)
        minus = apply_op("neg", x)
        limited = apply_op("minimum", minus, constant(largest, dtype, rank))
        power = apply_op("exp", limited)
        total = apply_op("add", power, constant(1, dtype, rank))
        result = apply_op("inv", total)
        product = apply_op("mul", power, result)
        for out in opposite:
            self.fgraph.replace(out, product, reason="elemwise_fusion")
        return result, [variable.owner for variable in (minus, limited, power, total, result, product)]

    def _readers(self, variable, key):
        """The readers of a variable that are elementwise and have a key."""
        return [reader for reader, _ in self.fgraph.clients[variable]
                if reader in self.shapes and key_of(reader.op) == key]

    def read_result(self, node):
        """Compute a late ``sgn(x)`` from ``y = relu(x)`` and ``x == 0``: as ``2 * sgn(y) + (x == 0) - 1``."""
        (x,), turn = node.inputs, self.turns[node]
        same_elements = self._reshaped(x.owner.inputs[0]) if type(x.owner.op) is Reshape else [x]
        early = [reader for same in same_elements for reader in self._readers(same, "relu")
                 if turn - self.turns[reader] >= LONG and turn - self.last_turn(reader.outputs[0]) < SOON]
        if not early or turn - self.last_turn(x) < LONG or not is_inexact(x):
            return
        same, y = early[0].inputs[0], early[0].outputs[0]
        dtype, rank = x.type.dtype, x.type.ndim
        zero = apply_op("eq", same, constant(0, dtype, same.type.ndim))
        self.add([zero.owner], early[0], self.turns[early[0]])
        if same is not x:
            zero, y = [x.owner.op(value, *x.owner.inputs[1:]) for value in (zero, y)]
        sign = apply_op("sgn", y)
        double = apply_op("mul", sign, constant(2, dtype, rank))
        total = apply_op("add", double, zero, constant(-1, dtype, rank))
        self.add([variable.owner for variable in (sign, double, total)], node, turn)
        self.fgraph.replace(node.outputs[0], total, reason="elemwise_fusion")

    def _reshaped(self, whole):
        """A variable and its reshapes."""
        return [whole] + [out for reader, _ in self.fgraph.clients[whole]
                          if reader != "output" and type(reader.op) is Reshape for out in reader.outputs]
