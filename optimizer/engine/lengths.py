"""Finds dimensions of variables that always have the same length.

One linear pass gives each dimension a token; elementwise nodes unite the tokens of their operands, because they fail if
the lengths differ. Only cheap rules are used: the dimensions of an op without a rule get their own tokens.
"""
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.indexing.subtensor import WHOLE
from phintys.optimizer.engine.values import constant_value, key_of

ONE = -1                       # the token of a broadcastable dimension


class Lengths:
    """Tokens of the dimensions of all variables of an ordered list of nodes.

    Nodes in ``unsure`` may not run, so the lengths of their operands may differ; ``held`` has what these nodes require.

    Attributes
    ----------
    parents : list of int
        For each token, one that it was united with, or itself.
    sources : list
        For each token, the length that it was made for: a number, a 0-d variable, or (tensor, axis).
    united : list of (int, Apply)
        For each time that two tokens became one, one of them, and the node that requires it.
    held : list of (Apply, int, int)
        Nodes that may not run, each with two tokens that are equal if it does.
    """

    def __init__(self, nodes, unsure=()):
        self.is_sure = True
        self.parents, self.sources, self.united, self.held = [], [], [], []
        self.known = {}                # a static length, or a variable that holds one -> its token
        self.tokens = {}               # variable -> list of tokens
        self.node = None               # the one that is entered
        for node in nodes:
            self.is_sure, self.node = node not in unsure, node
            self._enter(node)

    def shape(self, variable):
        """Return equal tuples for variables with equal shapes."""
        return tuple([token if token == ONE else self.root(token) for token in self.tokens[variable]])

    def root(self, token):
        """Return the representative of all tokens united with this one."""
        parents = self.parents
        while parents[token] != token:
            parents[token] = parents[parents[token]]
            token = parents[token]
        return token

    def unite(self, first, second):
        """Record that two lengths are equal, if the node that requires it always runs."""
        if not self.is_sure:
            self.held.append((self.node, first, second))
            return
        first, second = self.root(first), self.root(second)
        if first != second:
            self.parents[max(first, second)] = min(first, second)
            self.united.append((first, self.node))

    def _new(self, source):
        self.parents.append(len(self.parents))
        self.sources.append(source)
        return self.parents[-1]

    def of(self, variable):
        """Return the tokens of a variable's dimensions."""
        tokens = self.tokens.get(variable)
        if tokens is None:
            tokens = self.tokens[variable] = [
                ONE if flag else self._new((variable, axis)) if length is None else self.named(length)
                for axis, (flag, length) in enumerate(zip(variable.type.broadcastable, variable.type.shape))]
        return tokens

    def named(self, what):
        """Return the token of a static length, or of the length that a 0-d variable holds."""
        if what not in self.known:
            self.known[what] = self._new(what)
        return self.known[what]

    def _enter(self, node):
        if type(node.op) is Elemwise:
            self._enter_elementwise(node)
            return
        rule = RULES.get(key_of(node.op))
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
            return self._new(dimension) if length is None else self.named(length)
        return self.named(1) if token == ONE else token

    def _enter_elementwise(self, node):
        inputs = [self.of(variable) for variable in node.inputs]
        if len(inputs) == 1:
            tokens = inputs[0]
        else:
            tokens = list(map(self.common, zip(*inputs)))
        for out in node.outputs:
            self.tokens[out] = tokens

    def common(self, tokens):
        """Return the token of a result's dimension; the tokens of all operands that have it are united."""
        result = ONE
        for token in tokens:
            if token != ONE:
                if result == ONE:
                    result = token
                elif token != result:
                    self.unite(token, result)
        return result

    def equal(self, *tokens):
        """Record that lengths are equal; a broadcastable dimension has the length 1."""
        first, *others = [self.named(1) if token == ONE else token for token in tokens]
        for token in others:
            self.unite(first, token)


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
        for place, pair in enumerate(zip(first, other)):
            if place != axis:
                lengths.equal(*pair)
    return [None if place == axis else token for place, token in enumerate(first)]


def _part(lengths, node, tokens, *integers):
    entries = node.op.idx_list
    return [token if entry == WHOLE else None for token, entry in zip(tokens, entries) if isinstance(entry, slice)] \
        + tokens[len(entries):]


def _rows(lengths, node, tokens, places):
    return places + tokens[1:]


RULES = {"DimShuffle": _dimshuffle, "Dot": _dot, "Dot22": _dot, "Dot22Scalar": _scaled_dot, "BatchedDot": _batched_dot,
         "Gemv": _accumulation, "Gemm": _accumulation, "Ger": _ger, "Alloc": _alloc, "Eye": _eye, "Reshape": _reshape,
         "Join": _join, "Subtensor": _part, "AdvancedSubtensor1": _rows, "SoftmaxWithBias": _row_bias,
         "Rebroadcast": _rebroadcast}
RULES.update(dict.fromkeys(("Sum", "Prod", "Max", "Min", "All", "Any"), _reduced))
RULES.update(dict.fromkeys((
    "Assert", "Check", "EqualLengths", "Softmax", "LogSoftmax", "IncSubtensor", "AdvancedIncSubtensor1",
    "AdvancedIncSubtensor", "AdvancedBooleanIncSubtensor", "SetDiagonal", "FillDiagonal", "Triangle", "CpuContiguous",
    "DeepCopyOp", "ViewOp"), _first))
RULES.update(dict.fromkeys(("Cholesky", "CholeskyInverse", "MatrixInverse", "Expm"), _square))
RULES.update(dict.fromkeys(("Det", "SLogDet"), _of_square))
RULES.update(dict.fromkeys(("Solve", "SolveTriangular"), _system))
