"""Finds dimensions of variables that always have the same length.

One linear pass gives each dimension a token; elementwise nodes unite the tokens of their operands, because they fail if
the lengths differ. Only cheap rules are used: the dimensions of an op without a rule get their own tokens.
"""
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.optimizer.engine.values import key_of

ONE = -1                       # the token of a broadcastable dimension


class Lengths:
    """Tokens of the dimensions of all variables of an ordered list of nodes.

    Nodes in ``unsure`` may not run, so the lengths of their operands may differ.
    """

    def __init__(self, nodes, unsure=()):
        self.is_sure = True
        self.parents = []
        self.known = {}                # a static length, or a variable that holds one -> its token
        self.tokens = {}               # variable -> list of tokens
        for node in nodes:
            self.is_sure = node not in unsure
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
            return
        first, second = self.root(first), self.root(second)
        if first != second:
            self.parents[max(first, second)] = min(first, second)

    def _new(self):
        self.parents.append(len(self.parents))
        return self.parents[-1]

    def of(self, variable):
        """Return the tokens of a variable's dimensions."""
        tokens = self.tokens.get(variable)
        if tokens is None:
            tokens = self.tokens[variable] = [
                ONE if flag else self._new() if length is None else self._named(length)
                for flag, length in zip(variable.type.broadcastable, variable.type.shape)]
        return tokens

    def _named(self, what):
        if what not in self.known:
            self.known[what] = self._new()
        return self.known[what]

    def _enter(self, node):
        if type(node.op) is Elemwise:
            self._enter_elementwise(node)
            return
        rule = RULES.get(key_of(node.op))
        if rule is not None:
            inputs = [self.of(variable) if hasattr(variable.type, "broadcastable") else [] for variable in node.inputs]
            out = node.outputs[0]
            self.tokens[out] = [ONE if flag else token if token is not None and token != ONE else self._new()
                                for flag, token in zip(out.type.broadcastable, rule(self, node, *inputs))]

    def _enter_elementwise(self, node):
        inputs = [self.of(variable) for variable in node.inputs]
        if len(inputs) == 1:
            tokens = inputs[0]
        else:
            tokens = list(map(self._common, zip(*inputs)))
        for out in node.outputs:
            self.tokens[out] = tokens

    def _common(self, tokens):
        """Return the token of a result's dimension; the tokens of all operands that have it are united."""
        result = ONE
        for token in tokens:
            if token != ONE:
                if result == ONE:
                    result = token
                elif token != result:
                    self.unite(token, result)
        return result


def _dimshuffle(lengths, node, tokens):
    return [None if axis == "x" else tokens[axis] for axis in node.op.new_order]


def _dot(lengths, node, first, second):
    if first and second:
        inner = second[-2] if len(second) > 1 else second[0]
        if ONE not in (first[-1], inner):
            lengths.unite(first[-1], inner)
    return first[:-1] + (second[:-2] + second[-1:] if len(second) > 1 else [])


def _first(lengths, node, first, *rest):
    return first


def _alloc(lengths, node, value, *rest):
    return [_length_token(lengths, variable) for variable in node.inputs[1:]]


def _length_token(lengths, variable):
    """Return the token of the length that a 0-d variable holds."""
    owner = variable.owner
    if owner is not None and key_of(owner.op) == "Shape_i":
        return lengths.of(owner.inputs[0])[owner.op.i]
    return lengths._named(variable)


RULES = {"DimShuffle": _dimshuffle, "Dot": _dot, "Dot22": _dot, "Gemv": _first, "Gemm": _first, "Ger": _first,
         "Alloc": _alloc}
