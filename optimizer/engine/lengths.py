"""Finds dimensions of variables that always have the same length.

One linear pass gives each dimension a token; elementwise nodes unite the tokens of their operands, because they fail if
the lengths differ. Only cheap rules are used: the dimensions of an op without a rule get their own tokens.

The pass may go through inner graphs, too, of loops and of ops that are made from graphs. An inner variable has the
tokens of what it is outside, as far as it is a part of that.
"""
from __future__ import annotations

from bisect import insort
from collections import namedtuple
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from phintys.graph.toposort import io_toposort
from phintys.graph.traversal import clone_get_equiv
from phintys.graph.variable import Variable
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.graphs.op_from_graph import OpFromGraph
from phintys.ops.indexing.subtensor import WHOLE, filled
from phintys.ops.shape.shape import is_length
from phintys.optimizer.engine.forms import constant_value, key_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from phintys.graph.apply import Apply

ONE = -1                       # the token of a broadcastable dimension
ALWAYS = ((),)                 # the ways to a node that runs in each call
MOST_WAYS = 8                  # to a node that several branches need
MOST_CONDITIONS = 32           # on a way: what is further inside is not looked at, so that time is linear
REVERSED = slice(None, None, -1)
VARIES = "varies"              # from step to step, or is not known outside of an inner graph

Part = namedtuple("Part", "start stop step length")        # how many elements a slice selects of a dimension's


class Lengths:
    """Tokens of the dimensions of all variables of an ordered list of nodes.

    Nodes in ``ways`` may not run, so the lengths of their operands may differ: ``held`` has what they require where
    (`ways_in`), and what the steps of loops require. ``graphs`` says how ops are entered that have inner graphs.

    Attributes
    ----------
    parents : list of int
        For each token, one that it was united with, or itself.
    sources : list
        For each token, the length that it was made for: a number, a 0-d variable, (tensor, axis), also in an inner
        graph, or a `Part` of another length; None if it has no name.
    united : list of (int, Apply)
        For each time that two tokens became one, one of them, and the node that requires it.
    held : list of (tuple, Apply, int, int)
        What is required on a way: the way, the node that requires it, and two tokens.
    parts_of : dict
        Input of an inner graph -> (what it is a part of outside, how many dimensions that has before its own). If
        several nodes have a graph, those of its copies, too.
    """

    def __init__(self, nodes: Sequence[Apply], ways: Any = (),
                 graphs: Sequence[Any] | Mapping[Any, Any] = MappingProxyType({})) -> None:
        self.parents, self.sources, self.united, self.held = [], [], [], []
        self.known = {}                # a static length, or a variable that holds one -> its token
        self.tokens = {}               # variable -> list of tokens
        self.node, self.ways = None, ALWAYS                       # that is entered, and the ways to it
        self.inner, self.outside = None, {}
        self.parts_of, self.graphs = {}, graphs
        self.added = {}                # states of loops -> how many rows are before the first step, token of the others
        for node in nodes:
            if ways:
                self.ways = ways.get(node, ALWAYS)
            self.enter(node)
        self.ways = ALWAYS

    def enter(self, node):
        """Enter one more node."""
        self.node = node
        self._enter(node)

    def shape(self, variable: Variable) -> tuple[int, ...]:
        """Return equal tuples for variables with equal shapes."""
        return tuple([token if token == ONE else self.root(token) for token in self.tokens[variable]])

    def root(self, token: int) -> int:
        """Return the representative of all tokens united with this one."""
        parents = self.parents
        while parents[token] != token:
            parents[token] = parents[parents[token]]
            token = parents[token]
        return token

    def unite(self, first: int, second: int) -> None:
        """Record that two lengths are equal where the node that requires it runs."""
        if self.ways is not ALWAYS:
            self.held.extend([(way, self.node, first, second) for way in self.ways])
            return
        first, second = self.root(first), self.root(second)
        if first != second:
            self.parents[max(first, second)] = min(first, second)
            self.united.append((first, self.node))

    def _new(self, source):
        self.parents.append(len(self.parents))
        self.sources.append(source)
        return self.parents[-1]

    def of(self, variable: Variable) -> list[int]:
        """Return the tokens of a variable's dimensions."""
        tokens = self.tokens.get(variable)
        if tokens is None:
            tokens = self.tokens[variable] = [
                ONE if flag else self._own(variable, axis) if length is None else self.named(length)
                for axis, (flag, length) in enumerate(zip(variable.type.broadcastable, variable.type.shape))]
        return tokens

    def _own(self, variable, axis):
        """Return a new token for a dimension."""
        return self._new((variable, axis))

    def named(self, what: Any) -> int:
        """Return the token of a static length, or of the length that a 0-d variable holds."""
        name = source = what
        if self.inner is not None and isinstance(what, Variable):
            source = self.outside.get(what)
            name = (self.inner, what) if source is None else source
        if name not in self.known:
            self.known[name] = self._new(source)
        return self.known[name]

    def part(self, start: Any, stop: Any, step: Any, token: Any) -> Any:
        """Return the token of the length of a slice, of a dimension that has the other token; None if it has no
        name."""
        bounds = [bound if bound is None or type(bound) is int else self._outside(bound)
                  for bound in (start, stop, step)]
        token = self.root(self.named(1) if token == ONE else token)
        length = self.sources[token]
        if length is None or VARIES in bounds:
            return None
        if type(length) is int and all([bound is None or type(bound) is int for bound in bounds]):
            return self.named(len(range(length)[slice(*bounds)]) if bounds[2] != 0 else 0)
        name = *bounds, token
        if name not in self.known:
            self.known[name] = self._new(Part(*bounds, length))
        return self.known[name]

    def _outside(self, number):
        """Return what a 0-d variable is outside: an int, a variable, or VARIES."""
        known = constant_value(number)
        if known is not None:
            return int(known)
        return number if self.inner is None else self.outside.get(number, VARIES)

    def _enter(self, node):
        if type(node.op) is Elemwise:
            self._enter_elementwise(node)
            return
        name = key_of(node.op)
        if name in self.graphs:
            self.graphs[name](self, node)
        rule = RULES.get(name)
        if rule is not None and hasattr(node.outputs[0].type, "broadcastable"):
            inputs = [self.of(variable) if hasattr(variable.type, "broadcastable") else [] for variable in node.inputs]
            out = node.outputs[0]
            self.tokens[out] = list(map(self._token, [(out, axis) for axis in range(out.type.ndim)],
                                        rule(self, node, *inputs)))

    def _token(self, dimension, token):
        """Return the token of a dimension of a result, given the one that the rule of its op found, or None."""
        out, axis = dimension
        if out.type.broadcastable[axis]:
            return ONE
        if token is None:
            length = out.type.shape[axis]
            return self._own(out, axis) if length is None else self.named(length)
        return self.named(1) if token == ONE else token

    def _enter_elementwise(self, node):
        tokens = None
        for variable in node.inputs:
            own = self.of(variable)
            if tokens is None:
                tokens = own
            elif tokens != own:
                tokens = list(map(self.common, zip(tokens, own)))
        for out in node.outputs:
            self.tokens[out] = tokens

    def common(self, tokens: Sequence[int]) -> int:
        """Return the token of a result's dimension; the tokens of all operands that have it are united."""
        result = ONE
        for token in tokens:
            if token != ONE:
                if result == ONE:
                    result = token
                elif token != result:
                    self.unite(token, result)
        return result

    def equal(self, *tokens: Any) -> None:
        """Record that lengths are equal; a broadcastable dimension has the length 1."""
        first, *others = [self.named(1) if token == ONE else token for token in tokens]
        for token in others:
            self.unite(first, token)

    def enter_graph(self, inputs: Sequence[Variable], outputs: Sequence[Variable],
                    parts: Mapping[Variable, Sequence[Variable | int]],
                    tokens: Mapping[Variable, Sequence[int]] = MappingProxyType({})) -> list[list[int]]:
        """Enter the nodes of an inner graph.

        Parameters
        ----------
        inputs, outputs : list of Variable
        parts : dict
            Inner variable -> (what it is a part of outside, how many dimensions that has before its own); with 0, it is
            the same value.
        tokens : dict, optional
            Inner variable -> its tokens, of others.

        Returns
        -------
        list of (list of int)
            The tokens of the outputs that are tensors, else [].
        """
        around = self.tokens, self.outside, self.inner, self.node, self.ways
        if not self.parts_of.keys().isdisjoint(parts):                # another node has the same graph
            copies = clone_get_equiv(inputs, outputs, copy_orphans=False)
            inputs, outputs = [copies[variable] for variable in inputs], [copies[variable] for variable in outputs]
            parts, tokens = ({copies[inner]: given for inner, given in known.items()} for known in (parts, tokens))
        self.parts_of.update(parts)
        known = {inner: self.of(outer)[before:] for inner, (outer, before) in parts.items()
                 if hasattr(outer.type, "broadcastable")}
        self.outside = {inner: outer if self.inner is None else self.outside[outer]
                        for inner, (outer, before) in parts.items()
                        if not before and (self.inner is None or outer in self.outside)}
        self.tokens, self.inner = {**known, **tokens}, object()
        nodes, ways_to_graph = io_toposort(inputs, outputs), self.ways
        ways = ways_in(nodes, outputs)
        for node in nodes:
            self.node = node
            if ways:
                self.ways = self._ways_through(ways.get(node, ALWAYS), ways_to_graph)
            self._enter(node)
        found = [self.of(output) if hasattr(output.type, "broadcastable") else [] for output in outputs]
        self.tokens, self.outside, self.inner, self.node, self.ways = around
        return found

    def _ways_through(self, ways, ways_to_graph):
        """Return the ways to a node of an inner graph, as far as their conditions are known outside."""
        if ways is ALWAYS:
            return ways_to_graph
        known = [tuple([(self.outside.get(condition), wanted) for condition, wanted in way]) for way in ways]
        return tuple([(*way, *outer) for way in known if None not in dict(way) for outer in ways_to_graph][:MOST_WAYS])


def ways_in(nodes: Iterable[Apply], outputs: Sequence[Variable]) -> Any:
    """Return the ways to the nodes of a graph that may not run.

    Parameters
    ----------
    nodes : list of Apply
        All nodes, in an order in which they can run.
    outputs : list of Variable

    Returns
    -------
    dict of Apply to (tuple of tuple)
        A node runs if one of its ways is gone. A way is made of the conditions of branches, the innermost first, and
        whether they are true there. A node with many ways, or long ones, has none.
    """
    branches = {node: found for node in nodes if (found := node.op.lazy_branches(node)) is not None}
    if not branches:
        return {}
    found, ways = {output: {(): None} for output in outputs}, {}             # variable -> the ways to its readers
    for node in reversed(nodes):
        own = {}
        for output in node.outputs:
            own.update(found.pop(output, {}))
        own = _shortest(own)
        if own != ALWAYS:
            ways[node] = own if len(own) <= MOST_WAYS else ()
        condition, first, second = branches.get(node, (None, (), ()))
        for position, variable in enumerate(node.inputs):
            if position in first or position in second:
                step = node.inputs[condition], position in first
                found.setdefault(variable, {}).update([((step, *way), None) for way in own
                                                       if len(way) < MOST_CONDITIONS])
            else:
                found.setdefault(variable, {}).update(dict.fromkeys(own))
    return ways


def _shortest(ways):
    """Return the ways that are not parts of others, and one where there were those to both sides of a branch."""
    if () in ways:
        return ALWAYS
    if len(ways) < 2:
        return tuple(ways)
    pending = sorted(ways, key=len)
    while pending:
        (condition, wanted), *outer = pending.pop()
        way, other = ((condition, wanted), *outer), ((condition, not wanted), *outer)
        if way in ways and other in ways and tuple(outer) not in ways:
            ways[tuple(outer)] = None
            if outer:
                insort(pending, tuple(outer), key=len)
    return tuple([way for way in ways if not any([way[cut:] in ways for cut in range(1, len(way) + 1)])])


def _dimshuffle(lengths, node, tokens):
    return [None if axis == "x" else tokens[axis] for axis in node.op.new_order]


def _dot(lengths, node, first, second):
    if first and second:
        lengths.equal(first[-1], second[-2] if len(second) > 1 else second[0])
    return first[:-1] + (second[:-2] + second[-1:] if len(second) > 1 else [])


def _scaled_dot(lengths, node, first, second, scale):
    return _dot(lengths, node, first, second)


def _batched_dot(lengths, node, first, second):
    lengths.equal(first[-1], second[1])
    return [lengths.common([first[0], second[0]]), *first[1:-1], *second[2:]]


def _accumulation(lengths, node, added, scale, first, second, *rest):
    lengths.equal(first[1], second[0])
    product = [first[0], *second[1:]]
    for pair in zip(added, product):
        lengths.common(pair)
    return product


def _ger(lengths, node, matrix, scale, column, row):
    lengths.equal(matrix[0], column[0])
    lengths.equal(matrix[1], row[0])
    return matrix


def _rebroadcast(lengths, node, tokens):
    for axis, flag in node.op.changes:
        if flag:
            lengths.equal(tokens[axis], ONE)
    return tokens


def _first(lengths, node, first, *rest):
    return first


def _row_bias(lengths, node, x, bias, *rest):
    lengths.equal(x[1], bias[0])
    return x


def _square(lengths, node, *matrices):
    lengths.equal(*matrices[0][-2:])
    return matrices[0]


def _of_square(lengths, node, matrix):
    lengths.equal(*matrix[-2:])
    return matrix[:-2]


def _system(lengths, node, matrix, right):
    lengths.equal(*matrix[-2:], right[0] if len(right) == 1 else right[-2])
    lead = [lengths.common(pair) for pair in zip(matrix[:-2], right[:-2])]
    return lead + right[-2:]


def _alloc(lengths, node, value, *rest):
    return [_length_token(lengths, variable) for variable in node.inputs[1:]]


def _eye(lengths, node, *rest):
    return [_length_token(lengths, variable) for variable in node.inputs[:2]]


def _reshape(lengths, node, value, shape):
    made = node.inputs[1].owner
    if made is None or key_of(made.op) != "MakeVector":
        return [None] * node.op.ndim
    return [None if (constant_value(variable) or 0) < 0 else _length_token(lengths, variable)
            for variable in made.inputs]


def _length_token(lengths, variable):
    """Return the token of the length that a 0-d variable holds."""
    number, node = constant_value(variable), variable.owner
    if number is not None:
        return lengths.named(number)
    if node is not None and key_of(node.op) == "Shape_i":
        return lengths.of(node.inputs[0])[node.op.i]
    x, axis = _element_of_shape(node)
    return lengths.named(variable) if axis is None else lengths.of(x)[axis]


def _element_of_shape(node):
    """Return (x, axis) if a node computes ``x.shape[axis]`` with a constant, else (None, None)."""
    whole = None if node is None or key_of(node.op) != "Subtensor" else node.inputs[0].owner
    if whole is None or key_of(whole.op) != "Shape":
        return None, None
    entry, = node.op.idx_list
    axis = entry if len(node.inputs) == 1 else constant_value(node.inputs[1])
    x = whole.inputs[0]
    return (x, axis) if type(axis) is int and 0 <= axis < x.type.ndim else (None, None)


def _reduced(lengths, node, tokens):
    axes = range(len(tokens)) if node.op.axis is None else node.op.axis
    return [token for axis, token in enumerate(tokens) if axis not in axes]


def _join(lengths, node, axis, first, *others):
    axis = constant_value(node.inputs[0])
    if type(axis) is not int:
        return [None] * len(first)
    axis %= len(first)
    for other in others:
        for position, pair in enumerate(zip(first, other)):
            if position != axis:
                lengths.equal(*pair)
    return [None if position == axis else token for position, token in enumerate(first)]


def _part(lengths, node, tokens, *integers):
    entries = node.op.idx_list
    if node.inputs[0] in lengths.added and entries:
        before, count = lengths.added[node.inputs[0]]
        if _leaves_out(entries[0], before):
            return [count, *_part_of(lengths, entries[1:], tokens[1:])]
    return _part_of(lengths, entries if len(node.inputs) == 1 else filled(entries, node.inputs[1:]), tokens)


def _first_rows(lengths, node, rows, *no_tokens):
    """Of a number that the user gives, and of which there must be so many; the smallest of lengths needs no look."""
    count = node.inputs[1]
    token = _length_token(lengths, count)
    if node.op.rule is not None:
        lengths.equal(rows[0], token)
    elif count.owner is None or key_of(count.owner.op) == "StepCount":
        part = lengths.part(None, count, None, rows[0])
        if part is not None:
            lengths.equal(part, token)
    return [token, *rows[1:]]


def _leaves_out(entry, number):
    """Return whether an entry of an index is a slice without a known number of elements at the ends."""
    if not isinstance(entry, slice) or entry.step is not None or entry.stop == 0:
        return False
    start, stop = entry.start or 0, entry.stop or 0
    return type(start) is type(stop) is int and stop <= 0 <= start and start - stop == number


def _part_of(lengths, entries, tokens):
    return [token if entry == WHOLE or entry == REVERSED else lengths.part(entry.start, entry.stop, entry.step, token)
            for token, entry in zip(tokens, entries) if isinstance(entry, slice)] + tokens[len(entries):]


def _rows(lengths, node, tokens, positions):
    return positions + tokens[1:]


def _convolution(lengths, node, images, filters):
    op = node.op
    if op.num_groups == 1:
        lengths.equal(images[1], filters[-op.convdim - 1])
    return [images[0], filters[0], *[None] * op.convdim]


def _gradient_by_filters(lengths, node, images, result, *rest):
    op = node.op
    lengths.equal(images[0], result[0])
    channels = images[1] if op.num_groups == 1 else None
    return [result[1], *[None] * (op.convdim * op.unshared), channels, *[None] * op.convdim]


def _gradient_by_images(lengths, node, filters, result, *rest):
    op = node.op
    lengths.equal(filters[0], result[1])
    return [result[0], filters[-op.convdim - 1] if op.num_groups == 1 else None, *[None] * op.convdim]


def _enter_loop(lengths, node):
    """Enter a loop's body, which requires what it does if there is a step."""
    _enter_loop_outputs(lengths, node)
    op, steps, ways = node.op, node.inputs[0], lengths.ways
    number = constant_value(steps)
    condition = steps if lengths.inner is None else lengths.outside.get(steps)
    if condition is None if number is None else number <= 0:
        return
    if number is None:
        lengths.ways = tuple([((condition, True), *way) for way in ways])
    inner, given = op.inner_inputs, op.parts.outer_inputs(node.inputs)
    wholes = {whole: (outer, 0) for whole, outer in zip(inner.wholes, given.wholes)}
    rows = {row: (outer, 1) for row, outer in zip(inner.sequences, given.sequences)}
    rows.update([(row, (outer, 1)) for own, outer in zip(inner.states, given.states) for row in own])
    ahead = {} if op.ahead is None else _rows_ahead(lengths, op, given)
    found = op.parts.inner_outputs(lengths.enter_graph(op.local_inputs, op.local_outputs, {**wholes, **rows}, ahead))
    for row, outer in zip(found.states, given.states):
        _equal_shapes(lengths, row, lengths.of(outer)[1:])
    for term, total in zip(found.summed, given.summed):
        _equal_shapes(lengths, term, lengths.of(total))
    lengths.ways = ways


def _rows_ahead(lengths, op, given):
    """Return tokens of the rows that a graph computes for many steps at once."""
    inputs, outputs = op.ahead
    count = len(given.sequences)
    tokens = {rows: [lengths._new(None), *lengths.of(outer)[1:]] for rows, outer in zip(inputs, given.sequences)}
    wholes = {whole: (outer, 0) for whole, outer in zip(inputs[count:], given.wholes)}
    found = lengths.enter_graph(inputs, outputs, wholes, tokens)
    return {row: rows[1:] for row, rows in zip(op.inner_inputs.ahead, found)}


def _enter_loop_outputs(lengths, node):
    """Enter a loop's outputs: the shapes of states' rows, which are those before the first step, and of sums, and how
    many rows there are, if that is the length of something."""
    parts = node.op.parts
    given, made = parts.outer_inputs(node.inputs), parts.outer_outputs(node.outputs)
    count = _length_token(lengths, given.steps) if not parts.is_while and is_length(given.steps) else None
    for depth, kept, before, rows in zip(parts.depths, node.op.kept, given.states, made.states):
        lengths.tokens[rows] = [lengths.of(rows)[0], *lengths.of(before)[1:]]
        if kept is None and count is not None:
            lengths.added[rows] = depth, count
    for kept, rows in zip(given.stacked, made.stacked):
        if kept is given.steps and count is not None and rows.type.shape[0] is None:
            lengths.tokens[rows] = [count, *lengths.of(rows)[1:]]
    for start, total in zip(given.summed, made.summed):
        lengths.tokens[total] = lengths.of(start)


def _equal_shapes(lengths, first, second):
    for pair in zip(first, second):
        lengths.equal(*pair)


def _enter_op_from_graph(lengths, node):
    inner = node.op.local_inputs
    lengths.enter_graph(inner, node.op.local_outputs, {own: (outer, 0) for own, outer in zip(inner, node.inputs)})


INSIDE = {"Scan": _enter_loop, OpFromGraph: _enter_op_from_graph}
RULES = {"DimShuffle": _dimshuffle, "Dot": _dot, "Dot22": _dot, "Dot22Scalar": _scaled_dot, "BatchedDot": _batched_dot,
         "Gemv": _accumulation, "Gemm": _accumulation, "Ger": _ger, "Alloc": _alloc, "Eye": _eye, "Reshape": _reshape,
         "Join": _join, "Subtensor": _part, "AdvancedSubtensor1": _rows, "SoftmaxWithBias": _row_bias,
         "Rebroadcast": _rebroadcast, "FirstRows": _first_rows}
RULES.update(dict.fromkeys(("Sum", "Prod", "Max", "Min", "All", "Any"), _reduced))
RULES.update(dict.fromkeys((
    "Assert", "Check", "EqualLengths", "Softmax", "LogSoftmax", "IncSubtensor", "AdvancedIncSubtensor1",
    "AdvancedIncSubtensor", "AdvancedBooleanIncSubtensor", "SetDiagonal", "Triangle", "CpuContiguous",
    "DeepCopyOp", "ViewOp"), _first))
RULES.update(dict.fromkeys(("Cholesky", "CholeskyInverse", "MatrixInverse", "Expm"), _square))
RULES.update(dict.fromkeys(("Det", "SLogDet"), _of_square))
RULES.update(dict.fromkeys(("Solve", "SolveTriangular"), _system))
for _name in ("AbstractConv", "AbstractConv2d", "AbstractConv3d", "CorrMM", "Corr3dMM"):
    RULES.update({_name: _convolution, f"{_name}_gradWeights": _gradient_by_filters,
                  f"{_name}_gradInputs": _gradient_by_images})
