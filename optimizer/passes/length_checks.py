"""Length checks: lengths that had to agree before the rewrites must agree afterwards, whatever was left out.

A rewrite drops operands on whose elements nothing depends: ``x + y - x`` becomes y, ``(x + y)[1]`` becomes ``x[1] +
y[1]``, and the gradient of ``(x * y).sum()`` by x becomes y. The node that would have compared x with y is gone, or
compares less. So the equalities of lengths are noted before the first rewrite, and looked for again after the last.
Those that no remaining node requires become one `EqualLengths`, a view of a result. Most programs need none.

Only lengths are compared that follow from shapes of inputs, from integers, and from values that the program computes in
each call anyway; nothing is computed for a comparison, and what an untaken branch would have compared is not compared.
"""
from collections import namedtuple

from phintys.graph.destroy_handler import handler_of
from phintys.graph.lazy_regions import known_regions
from phintys.graph.trace import joined
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.identity.equal_lengths import EqualLengths
from phintys.ops.shape.shape import Shape_i
from phintys.optimizer.engine.lengths import ONE, Lengths
from phintys.optimizer.engine.values import constant, constant_value, key_of
from phintys.optimizer.passes.constant_folding import constant_folding
from phintys.optimizer.passes.shapes import feature_of

OF_NUMBERS = frozenset(["TensorFromScalar", "ScalarFromTensor"])       # beside elementwise ops, in lengths
Expression = namedtuple("Expression", "op operands")              # of a length: the operands are tokens
DEEPEST = 32                   # nodes of the expression of a length


class NotedLengths:
    """A feature of a graph: what its lengths had to be.

    Attributes
    ----------
    classes : list of (list, list of Apply)
        Lengths that had to be equal, as `Lengths.sources` describes them, and the nodes that required it.
    replaced : dict
        Variable that a rewrite replaced → the variable that is read instead of it.
    """

    def __init__(self):
        self.classes, self.replaced = [], {}

    def on_change_input(self, fgraph, node, position, old, new, reason):
        """Record a replacement."""
        if old.owner is not None:
            self.replaced[old] = new

    def now(self, variable):
        """Return what is read instead of a variable."""
        replaced, seen = self.replaced, set()
        while variable in replaced and variable not in seen:
            seen.add(variable)
            variable = replaced[variable]
        return variable


def note_lengths(fgraph):
    """Note which lengths the nodes that always run require to be equal."""
    lengths = _lengths_in(fgraph)
    if not lengths.united:
        return 0
    noted = _noted_in(fgraph)
    if noted is None:
        noted = NotedLengths()
        fgraph.attach_feature(noted)
    classes = {}
    for token, node in lengths.united:
        classes.setdefault(lengths.root(token), ([], []))[1].append(node)
    for token, source in enumerate(lengths.sources):
        found = classes.get(lengths.root(token))
        if found is not None:
            found[0].append(source)
    noted.classes.extend(classes.values())
    return 0


def check_lengths(fgraph):
    """Add a check of what was noted and is not required any more; return how many nodes were made."""
    noted = _noted_in(fgraph)
    if noted is None:
        return 0
    fgraph.remove_feature(noted)
    remaining = Remaining(fgraph, noted)
    groups, nodes = [], []
    for sources, required in noted.classes:
        group = remaining.lost(sources)
        if group is not None:
            groups.append(group)
            nodes.extend(required)
    if not groups:
        return 0
    _add_check(fgraph, groups, joined([node._position for node in nodes]))
    return 1


def _noted_in(fgraph):
    return next((feature for feature in fgraph.features if type(feature) is NotedLengths), None)


def _lengths_in(fgraph):
    regions = known_regions(fgraph)
    unsure = () if regions is None else {node for node, region in regions.of.items() if region is not regions.root}
    return Lengths(fgraph.toposort(), unsure)


class Remaining:
    """The equalities that the nodes of an optimized graph require.

    Lengths are described as `EqualLengths.of` takes them: a number, a 0-d variable, or (tensor, axis).

    Parameters
    ----------
    fgraph : FunctionGraph
    noted : NotedLengths
    """

    def __init__(self, fgraph, noted):
        self.fgraph, self.noted = fgraph, noted
        self.regions = known_regions(fgraph)
        self.lengths = _lengths_in(fgraph)
        self.of_inputs = {}            # token -> a length of an input that has it
        self.present = {}              # 0-d variable -> the length that it holds, as the program can tell it
        self.tokens = {}               # 0-d variable -> a token of its value
        self.is_thorough = False

    def lost(self, sources):
        """Return one of each set of lengths that are still equal, if there are several; else None."""
        tokens = [self._quick_token(source) for source in sources]
        if None not in tokens and len(set(tokens)) == 1:
            return None
        self._be_thorough()
        group = {}
        for source in sources:
            length = self._present(source, DEEPEST)
            if length is not None:
                token = self._token(length)
                group.setdefault(token, self.of_inputs.get(token, length))
        if len(group) < 2:
            return None
        self.lengths.equal(*group)
        self._note_inputs(group.values())
        return list(group.values())

    def _quick_token(self, source):
        """Return the token of a length that the graph still has, else None."""
        lengths = self.lengths
        if type(source) is not tuple:
            token = lengths.known.get(source)
        else:
            variable, axis = source
            tokens = lengths.tokens.get(self.noted.now(variable))
            token = None if tokens is None else tokens[axis]
        return None if token is None else lengths.root(lengths.named(1) if token == ONE else token)

    def _be_thorough(self):
        """Unite dimensions of the graph whose lengths are equal expressions."""
        if self.is_thorough:
            return
        self.is_thorough, self.lengths.is_sure = True, True
        sources = [source for source in self.lengths.sources if type(source) is tuple]
        for variable, axis in sources:
            if variable.owner is not None:
                length = self._inferred(variable, axis, DEEPEST)
                if length is not None:
                    self.lengths.equal(self._token((variable, axis)), self._token(length))
        self._note_inputs(sources)

    def _note_inputs(self, sources):
        """Note lengths of inputs: they are compared rather than others, because that keeps no value in memory."""
        for source in sources:
            if type(source) is tuple and source[0].owner is None:
                self.of_inputs.setdefault(self._token(source), source)

    # ---- what the program has ----------------------------------------------------------------------------------------
    def _present(self, source, depth):
        """Return a length as the program can tell it, or None if it would have to compute more values for it."""
        if type(source) is int:
            return source
        if type(source) is not tuple:
            return self._present_number(source, depth)
        variable, axis = self.noted.now(source[0]), source[1]
        if not self._is_there(variable):
            return self._inferred(variable, axis, depth)
        length = 1 if variable.type.broadcastable[axis] else variable.type.shape[axis]
        return (variable, axis) if length is None else length

    def _inferred(self, variable, axis, depth):
        """Return the length of a dimension as its op infers it, or None."""
        length = feature_of(self.fgraph).shape(variable)[axis]
        node = length.owner
        if node is not None and type(node.op) is Shape_i and node.inputs[0] is variable:
            return None
        return self._present_number(length, depth)

    def _present_number(self, length, depth):
        """Return the length that a 0-d variable holds, or None as above."""
        if length not in self.present:
            self.present[length] = self._found_number(self.noted.now(length), depth) if depth else None
        return self.present[length]

    def _found_number(self, length, depth):
        number, node = constant_value(length), length.owner
        if number is not None:
            return int(number)
        if node is not None and type(node.op) is Shape_i:
            return self._present((node.inputs[0], node.op.i), depth - 1)
        if self._is_there(length):
            return length
        if node is None or not _is_of_numbers(node):
            return None
        operands = [self._present_number(operand, depth - 1) for operand in node.inputs]
        return None if None in operands else self._computed(node.op, operands)

    def _computed(self, op, operands):
        """Return what an op computes from lengths; diagonals have lengths such as ``minimum(n, n) + 0``."""
        name = key_of(op)
        if name in ("minimum", "maximum") and len(set(map(self._token, operands))) == 1 \
                or name in ("add", "sub") and operands[1:] == [0]:
            return operands[0]
        out = op(*map(_as_variable, operands))
        folded = constant_folding(self.fgraph, out.owner)
        return out if folded is None else int(folded[0].data)

    def _is_there(self, variable):
        """Return whether the program has the value in each call."""
        return variable in self.fgraph.clients and (variable.owner is None or self.regions is None
                                                    or self.regions.of.get(variable.owner) is self.regions.root)

    def _token(self, length):
        """Return the token of a length that the program can tell."""
        lengths = self.lengths
        if type(length) is tuple:
            variable, axis = length
            token = lengths.of(variable)[axis]
            return lengths.root(lengths.named(1) if token == ONE else token)
        number = length if type(length) is int else constant_value(length)
        if number is not None:
            return lengths.root(lengths.named(number))
        node = length.owner
        if node is not None and type(node.op) is Shape_i:
            return self._token((node.inputs[0], node.op.i))
        if length not in self.tokens:
            is_computed = length not in self.fgraph.clients
            name = Expression(node.op, tuple(map(self._token, node.inputs))) if is_computed else length
            self.tokens[length] = lengths.named(name)
        return lengths.root(self.tokens[length])


def _as_variable(length):
    if type(length) is int:
        return constant(length, "int64", 0)
    return Shape_i(length[1])(length[0]) if type(length) is tuple else length


def _is_of_numbers(node):
    """Return whether a node computes a number from numbers, at no cost worth mentioning."""
    return (type(node.op) is Elemwise or key_of(node.op) in OF_NUMBERS) and not any(
        [getattr(operand.type, "ndim", None) for operand in node.inputs])


def _add_check(fgraph, groups, position):
    """Let a value exist only if the lengths agree.

    That is a result of the program or, if there are only updates, an input that they read: an update is computed in
    place, by a node that can fail no more.
    """
    handler = handler_of(fgraph)
    updated = handler.updates if handler is not None else {}
    results = [number for number in range(len(fgraph.outputs)) if number not in updated.values()]
    readers = [] if results else _readers_of_one_input(fgraph, groups, updated)
    place = min(results or [0], key=lambda number: fgraph.outputs[number].type.ndim)
    readers = readers or [("output", place)]
    value = fgraph.outputs[place] if readers[0][0] == "output" else readers[0][0].inputs[readers[0][1]]
    checked = EqualLengths.of(value, groups)
    checked.name = value.name
    for reader, number in readers:
        fgraph.change_input(reader, number, checked, reason="length_checks")
    checked.owner._position = position                  # of what required it, not of what it passes on


def _readers_of_one_input(fgraph, groups, updated):
    """Return the nodes, with positions, that read an input of the graph in each call and do not change it."""
    lengths = [length for group in groups for length in group]
    if any([length[0].owner is not None if type(length) is tuple else type(length) is not int for length in lengths]):
        return []                                       # they might depend on these nodes
    regions = known_regions(fgraph)
    for number, variable in enumerate(fgraph.inputs):
        readers = [(node, place) for node, place in fgraph.clients[variable] if node != "output"
                   and (regions is None or regions.of[node] is regions.root)]
        if number not in updated and readers and hasattr(variable.type, "broadcastable"):
            return readers
    return []
