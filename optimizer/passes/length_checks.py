"""Length checks: lengths that had to agree before the rewrites must agree afterwards, whatever was left out.

A rewrite drops operands on whose elements nothing depends: ``x + y - x`` becomes y, ``(x + y)[1]`` becomes ``x[1] +
y[1]``, and the gradient of ``(x * y).sum()`` by x becomes y. The node that would have compared x with y is gone, or
compares less. So the equalities of lengths are noted before the first rewrite, and looked for again after the last.
Those that no remaining node requires become one `EqualLengths`, a view of a result. Most programs need none.

Only lengths are compared that follow from shapes of inputs, from integers, and from values that the program computes in
each call anyway; nothing is computed for a comparison. What a lazy branch requires is compared if it is taken, as far
as its condition is computed in each call. What a loop's body requires is compared if there is a step.
"""
import math
from collections import defaultdict, namedtuple

from phintys.graph import hooks
from phintys.graph.destroy_handler import handler_of
from phintys.graph.lazy_regions import known_regions
from phintys.graph.trace import joined
from phintys.graph.variable import Variable
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.identity.assertion_kernel import mismatch_text
from phintys.ops.identity.equal_lengths import EqualLengths
from phintys.ops.indexing.slices import slice_length
from phintys.ops.shape.shape import Shape_i
from phintys.ops.types.dtypes import integer_dtypes
from phintys.optimizer.engine.forms import constant_value, key_of
from phintys.optimizer.engine.lengths import INSIDE, ONE, Lengths, Part, ways_in
from phintys.optimizer.engine.values import constant
from phintys.optimizer.passes.constant_folding import constant_folding
from phintys.optimizer.passes.shapes import feature_of
from phintys.vm.places import HOST

OF_NUMBERS = frozenset(["IfElse", "TensorFromScalar", "ScalarFromTensor", "StepCount"])       # in lengths
Expression = namedtuple("Expression", "op index operands")        # of a length: the operands are tokens
DEEPEST = 32                   # nodes of the expression of a length
MOST_LOOKS = 32                # at single lengths, before all are looked at: so that time is linear


class NotedLengths:
    """A feature of a graph: what its lengths had to be.

    Attributes
    ----------
    classes : list of (list, list of Apply, tuple)
        Lengths that had to be equal, as `Lengths.sources` describes them, the nodes that required it, and the way to
        these nodes: conditions of lazy branches and numbers of steps, the innermost first, and whether they are
        true. The way to what always runs is empty.
    replaced : dict
        Variable that a rewrite replaced → the variable that is read instead of it.
    parts_of : dict
        Of inner graphs, as `Lengths` has it.
    """

    def __init__(self):
        self.classes, self.replaced, self.parts_of = [], {}, {}

    def on_change_input(self, fgraph, node, position, old, new, reason):
        """Record a replacement, unless it holds only where the rest of its readers are: in a branch."""
        if old.owner is not None and reason != "cond_merge_nested":
            self.replaced[old] = new

    def now(self, variable):
        """Return what is read instead of a variable."""
        replaced, seen = self.replaced, set()
        while variable in replaced and variable not in seen:
            seen.add(variable)
            variable = replaced[variable]
        return variable


def note_lengths(fgraph):
    """Note which lengths the nodes of a graph, and of the graphs inside them, require to be equal."""
    lengths, noted = _lengths_in(fgraph), NotedLengths()
    noted.parts_of = lengths.parts_of
    noted.classes = _required_by(lengths)
    fgraph.attach_feature(noted)
    return 0


def _required_by(lengths):
    """Return what nodes require, as `NotedLengths` has it."""
    classes = {lengths.root(token): ([], [], ()) for token, _ in lengths.united}
    for token, node in lengths.united:
        classes[lengths.root(token)][1].append(node)
    members = _members(lengths, {*classes, *[lengths.root(token) for _, _, *pair in lengths.held for token in pair]})
    for root, required in classes.items():
        required[0].extend(members[root])
    held, ways = [], defaultdict(dict)
    for way, node, *pair in _held_in(lengths):
        if _joined(ways[way], *pair):
            first, second = pair
            held.append((members[first] + members[second], [node], way))
    return [required for required in [*classes.values(), *held] if len(required[0]) > 1]


def _members(lengths, roots):
    """Return the sources of the tokens that have one of some roots: a dict from roots to lists."""
    found = {root: [] for root in roots}
    for token, source in enumerate(lengths.sources):
        root = lengths.root(token)
        if root in found and source is not None:
            found[root].append(source)
    return found


def _held_in(lengths):
    """Return what is required on ways, where it is not in any case: the way, the node, and two tokens."""
    found = [(way, node, lengths.root(first), lengths.root(second)) for way, node, first, second in lengths.held]
    return [entry for entry in found if entry[2] != entry[3]]


def check_lengths(fgraph):
    """Add a check of what was noted and is not required any more; return how many nodes were made."""
    noted = _noted_in(fgraph)
    if noted is None:
        return 0
    fgraph.remove_feature(noted)
    if not noted.classes:
        return 0
    remaining = Remaining(fgraph, noted)
    groups, guards, nodes = [], [], []
    for sources, required, way in sorted(noted.classes, key=lambda required: len(required[2])):
        group, way = remaining.lost(sources, way)
        if group is not None:
            groups.append(group)
            guards.append(way)
            nodes.extend(required)
    if not groups:
        return 0
    _add_check(fgraph, groups, guards, joined([node._position for node in nodes]))
    return 1


def _noted_in(fgraph):
    return next((feature for feature in fgraph.features if type(feature) is NotedLengths), None)


def _lengths_in(fgraph):
    nodes = fgraph.toposort()
    ways = ways_in(nodes, fgraph.outputs)
    lengths = Lengths(nodes, ways, INSIDE)
    if not ways and not lengths.parts_of:
        fgraph.derived["lengths"] = lengths
    return lengths


def lengths_now(fgraph):
    """Return the `Lengths` of a graph without branches and inner graphs, if they are known and it has not changed."""
    return fgraph.derived.get("lengths")


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
        self.parts = {}                # (how many lengths were united, a `Part`, depth) -> its length, as in `present`
        self.made = {}                 # (op, operands, output) -> what it computes of lengths
        self.inferred, self.looks, self.is_thorough = set(), 0, False   # the tokens that were united by expressions
        self.parts_of = {**noted.parts_of, **self.lengths.parts_of}
        self.branches = {}             # way -> the roots that the branch joins to others: root -> root
        self.required = None           # way -> pairs of tokens that nodes of the graph require to be equal there

    def lost(self, sources, way):
        """Return one of each set of lengths that are still equal if there are several, else None; and the way, as the
        graph is now."""
        tokens = [self._quick_token(source) for source in sources]
        if None not in tokens and len(set(tokens)) < 2:
            return None, ()
        way = self._way_now(way)
        if way is None:
            return None, ()
        if None not in tokens and way:
            joined_roots = self._in_branch(way)
            if len({_followed(joined_roots, token) for token in tokens}) < 2:
                return None, ()
        for look in self._look_at, self._be_thorough:
            look(self._groups(sources, way))
            group = self._groups(sources, way)
            if len(group) < 2:
                return None, ()
        joined_roots = self._in_branch(way)
        if way:
            first, *others = group
            joined_roots.update(dict.fromkeys(others, first))
        else:
            self.lengths.equal(*group)
            self._note_inputs(group.values())
        return list(group.values()), way

    def _way_now(self, way):
        """Return the conditions that are to be examined; None if one is never met, or not computed in each call."""
        found = []
        for condition, wanted in way:
            condition = self.noted.now(condition)
            if not self._is_there(condition):
                condition = self._present_number(condition, DEEPEST)
                if condition is None:
                    return None
                condition = _as_variable(condition)
            number = constant_value(condition)
            if number is None:
                found.append((condition, wanted))
            elif bool(number) != wanted:
                return None
        return tuple(dict.fromkeys(found))

    def _in_branch(self, way):
        """Return what the nodes on a way require beside those that always run: a dict from roots to roots."""
        if not way:
            return {}
        if self.required is None:
            self.required = {}
            for own, _, *pair in _held_in(self.lengths):
                self.required.setdefault(own, []).append(pair)
        if way not in self.branches:
            found = self.branches[way] = {}
            for outer in range(len(way)):
                for pair in self.required.get(way[outer:], ()):
                    _joined(found, *map(self.lengths.root, pair))
        return self.branches[way]

    def _quick_token(self, source, depth=DEEPEST):
        """Return the token of a length that the graph still has, else None."""
        lengths = self.lengths
        if type(source) is Part:
            *bounds, length = source
            token = self._quick_token(length, depth - 1) if depth else None
            token = lengths.known.get((*map(self._bound_now, bounds), token))
        elif type(source) is tuple:
            variable, axis = source
            tokens = lengths.tokens.get(self.noted.now(variable))
            token = None if tokens is None else tokens[axis]
        else:
            source = self._bound_now(source)
            token = lengths.known.get(source)
            if token is None:
                return (source,)                # equal for the same number, but no token
        return None if token is None else lengths.root(lengths.named(1) if token == ONE else token)

    def _bound_now(self, bound):
        """Return a bound of a slice, as `Part` has it: a number, if it is one now."""
        bound = self.noted.now(bound)
        number = constant_value(bound) if isinstance(bound, Variable) else bound
        return bound if number is None else int(number)

    def _groups(self, sources, way):
        """Return one length for each set of those that are equal, as far as is known: a dict from tokens to lengths."""
        group, joined_roots = {}, self._in_branch(way)
        for source in sources:
            length = self._present(source, DEEPEST)
            if length is not None and _is_kept(length):
                token = self._token(length)
                group.setdefault(_followed(joined_roots, token), self.of_inputs.get(token, length))
        return group

    def _look_at(self, roots):
        """Unite dimensions that have one of some roots with others whose lengths are equal expressions: this is nearly
        always enough. Each time takes a walk over all tokens."""
        if len(roots) > 1 and self.looks < MOST_LOOKS and not self.is_thorough:
            self.looks += 1
            lengths = self.lengths
            self._unite([token for token in range(len(lengths.sources))
                         if token not in self.inferred and lengths.root(token) in roots])

    def _be_thorough(self, roots):
        """Unite all dimensions of the graph whose lengths are equal expressions."""
        if not self.is_thorough:
            self.is_thorough = True
            sources = self.lengths.sources[:]
            self._unite([token for token in range(len(sources)) if token not in self.inferred])
            self._note_inputs(sources)

    def _unite(self, tokens):
        """Unite dimensions with others whose lengths are equal expressions."""
        self.required, self.branches = None, {}
        self.inferred.update(tokens)
        for token in tokens:
            length, source = None, self.lengths.sources[token]
            if type(source) is Part:
                length = self._present(source, DEEPEST)
            elif type(source) is tuple and source[0].owner is not None:
                length = self._inferred(*source, DEEPEST)
            if length is not None:
                self.lengths.equal(token, self._token(length))

    def _note_inputs(self, sources):
        """Note lengths of inputs: they are compared rather than others, because that keeps no value in memory."""
        for source in sources:
            if type(source) is tuple and source[0].owner is None and _is_kept(source):
                self.of_inputs.setdefault(self._token(source), source)

    # ---- what the program has ----------------------------------------------------------------------------------------
    def _present(self, source, depth):
        """Return a length as the program can tell it, or None if it would have to compute more values for it."""
        if type(source) is int:
            return source
        if type(source) is Part:
            known = len(self.lengths.united), source, depth  # which lengths are equal is known better each time
            if known not in self.parts:
                self.parts[known] = self._present_part(source, depth)
            return self.parts[known]
        if type(source) is not tuple:
            return self._present_number(source, depth)
        variable, axis = self.noted.now(source[0]), source[1]
        if variable in self.parts_of:
            outer, before = self.parts_of[variable]
            return self._present((outer, axis + before), depth)
        if not self._is_there(variable):
            return self._inferred(variable, axis, depth)
        length = 1 if variable.type.broadcastable[axis] else variable.type.shape[axis]
        return (variable, axis) if length is None else length

    def _present_part(self, part, depth):
        *bounds, length = part
        numbers = [bound for bound in bounds if isinstance(bound, Variable)]
        found = [self._present(length, depth - 1), *[self._present_number(number, depth - 1) for number in numbers]] \
            if depth else [None]
        if None in found:
            return None
        length, *found = map(_as_variable, found)
        present = dict(zip(numbers, found))
        selected = slice_length(slice(*[present.get(bound, bound) for bound in bounds]), length)
        return selected if type(selected) is int else self._present_number(selected, depth)

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
        outer, before = self.parts_of.get(length, (None, 1))
        if not before:
            return self._present_number(outer, depth)
        number, node = constant_value(length), length.owner
        if number is not None:
            return _integer_in(length)
        if node is not None and type(node.op) is Shape_i:
            return self._present((node.inputs[0], node.op.i), depth - 1)
        if self._is_there(length):
            return length
        if node is None or not _is_of_numbers(node):
            return None
        operands = [self._present_number(operand, depth - 1) for operand in node.inputs]
        return None if None in operands else self._computed(node.op, operands, length.index)

    def _computed(self, op, operands, index):
        """Return what an op computes from lengths; diagonals have lengths such as ``minimum(n, n) + 0``."""
        name = key_of(op)
        if name in ("minimum", "maximum") and len(set(map(self._token, operands))) == 1 \
                or name in ("add", "sub") and operands[1:] == [0]:
            return operands[0]
        known = op, tuple(operands), index
        if known not in self.made:
            out = op(*map(_as_variable, operands), return_list=True)[index]
            folded = constant_folding(self.fgraph, out.owner)
            self.made[known] = out if folded is None else _integer_in(folded[index])
        return self.made[known]

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
            name = Expression(node.op, length.index, tuple(map(self._token, node.inputs))) if is_computed else length
            self.tokens[length] = lengths.named(name)
        return lengths.root(self.tokens[length])


def disagreement(nodes, shapes):
    """Return the first node that cannot run because lengths of its operands differ, and a text that says so; else None.

    Parameters
    ----------
    nodes : list of Apply
        In the order in which they would run.
    shapes : dict
        Of variables that exist: tuples of int.
    """
    lengths = Lengths([])
    lengths.tokens = {variable: [ONE if flag else lengths.named(length)
                                 for flag, length in zip(variable.type.broadcastable, shape)]
                      for variable, shape in shapes.items() if len(shape) == getattr(variable.type, "ndim", None)}
    numbers = {token: length for length, token in lengths.known.items()}
    for node in nodes:
        before = len(lengths.united)
        lengths.enter(node)
        if len(lengths.united) > before:
            found = {}
            for token, number in numbers.items():
                found.setdefault(lengths.root(token), []).append(number)
            differing = next((own for own in found.values() if len(own) > 1), None)
            if differing is not None:
                return node, mismatch_text(differing[:2], ["length", "length"])
    return None


hooks.disagreement = disagreement


def _integer_in(number):
    """Return the number that a 0-d variable always holds; the variable itself if it is not an integer."""
    return int(constant_value(number)) if number.type.dtype in integer_dtypes else number


def _followed(joined_roots, token):
    while token in joined_roots:
        token = joined_roots[token]
    return token


def _joined(joined_roots, first, second):
    """Record that two roots are joined; return whether they were not yet."""
    first, second = _followed(joined_roots, first), _followed(joined_roots, second)
    if first != second:
        joined_roots[second] = first
    return first != second


def _is_kept(length):
    """Whether a length is no computed array's on a device: what computes those is made later, from what the host would
    read."""
    return (type(length) is not tuple or length[0].owner is None or length[0].type.layout is None
            or length[0].type.layout[2] == HOST)


def _as_variable(length):
    if type(length) is int:
        return constant(length, "int64", 0)
    return Shape_i(length[1])(length[0]) if type(length) is tuple else length


def _is_of_numbers(node):
    """Return whether a node computes a number from numbers, at no cost worth mentioning."""
    return (type(node.op) is Elemwise or key_of(node.op) in OF_NUMBERS) and not any(
        [getattr(operand.type, "ndim", None) for operand in node.inputs])


def _add_check(fgraph, groups, guards, position):
    """Let a value exist only if the lengths agree.

    That is a result of the program or, if there are only updates, an input that they read: an update is computed in
    place, by a node that can fail no more.
    """
    handler = handler_of(fgraph)
    updated = handler.updates if handler is not None else {}
    results = [number for number in range(len(fgraph.outputs)) if number not in updated.values()]
    readers = [] if results or any(guards) else _readers_of_one_input(fgraph, groups, updated)
    # The smallest, since it may be copied; a random state, say, has no dimensions and comes last.
    operand = min(results or [0], key=lambda number: getattr(fgraph.outputs[number].type, "ndim", math.inf))
    readers = readers or [("output", operand)]
    value = fgraph.outputs[operand] if readers[0][0] == "output" else readers[0][0].inputs[readers[0][1]]
    checked = EqualLengths.of(value, groups, guards)
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
        readers = [(node, operand) for node, operand in fgraph.clients[variable] if node != "output"
                   and (regions is None or regions.of[node] is regions.root)]
        if number not in updated and readers and hasattr(variable.type, "broadcastable"):
            return readers
    return []
