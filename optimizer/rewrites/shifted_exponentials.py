"""Exponentials whose common factor cancels, as in second derivatives of ``log(sum(exp(x)))``.

If all exponentials of a sum are divided by one number, exp(s), the sum is divided by it, too. If the graph uses
exponentials and sum only in ways in which the factor exp(s) cancels, it may compute exp(x - s) instead of exp(x), with
s the largest x of each sum, so that nothing overflows. To see this, every variable that depends on the exponential gets
a *degree*: how often the factor is in it. The exponential and the sum have degree 1, a product has the sum of its
factors' degrees, and terms that are added must have the same. If every path ends at a variable of degree 0, the factor
cancels.
"""
from collections import namedtuple

from phintys.graph.variable import Constant
from phintys.ops.reduction.careduce import positive_axes
from phintys.optimizer.engine.forms import constant_value, key_of, whole_power
from phintys.optimizer.rewrites.log_sum_exp import Reduced, is_exponential

MOST_NODES = 100               # that depend on one exponential, so that the work stays linear


class Scaled(namedtuple("Scaled", "degree dimensions")):
    """A variable with a power of the factor. The factor is different for each index of some dimensions of the
    exponential; ``dimensions`` are those of the variable that belong to these."""

    def times(self, number):
        """The power times a number."""
        return Scaled(self.degree * number, self.dimensions)


FAILS = object()               # a variable that is not known to be a power of the factor
INVARIANT = None


def of_product(node, known):
    """The powers of factors add up; those of a divisor count as negative."""
    dimensions = {each.dimensions for each in known if each is not INVARIANT}
    signs = [-1 if number and key_of(node.op) == "true_div" else 1 for number in range(len(known))]
    degree = sum([each.degree * sign for each, sign in zip(known, signs) if each is not INVARIANT])
    return FAILS if len(dimensions) > 1 else Scaled(degree, *dimensions)


def of_sum(node, known):
    """The power that all terms have, constants that are 0 aside."""
    kinds = {each for each, term in zip(known, node.inputs) if each is not INVARIANT or constant_value(term) != 0}
    return kinds.pop() if len(kinds) == 1 else FAILS


def of_dimshuffle(node, known):
    """The same power; its dimensions move with those of the value."""
    order = node.op.new_order
    if any([dimension not in order for dimension in known[0].dimensions]):
        return FAILS
    return Scaled(known[0].degree, tuple([order.index(dimension) for dimension in known[0].dimensions]))


def of_reduction(node, known):
    """The same power, unless the reduction is along its dimensions."""
    axes = positive_axes(node.inputs[0], node.op.axis)
    if any([dimension in axes for dimension in known[0].dimensions]):
        return FAILS
    return Scaled(known[0].degree, tuple([dimension - sum([axis < dimension for axis in axes])
                                          for dimension in known[0].dimensions]))


def of_power(node, known):
    """The power times that of the node, if this is a whole number."""
    power = whole_power(node.outputs[0]) if known[1] is INVARIANT else None
    return FAILS if power is None else known[0].times(power)


def of_fill(node, known):
    """The power of the value that is filled in."""
    return known[1]


RULES = {"mul": of_product, "true_div": of_product, "add": of_sum, "sub": of_sum, "pow": of_power, "Sum": of_reduction,
         "DimShuffle": of_dimshuffle, "second": of_fill, "neg": lambda node, known: known[0],
         "inv": lambda node, known: known[0].times(-1), "sqr": lambda node, known: known[0].times(2),
         "Shape": lambda node, known: INVARIANT, "Shape_i": lambda node, known: INVARIANT}


def cancels(fgraph, exponential, axes, positions):
    """Whether the factor of an exponential that is summed along axes cancels in all that is computed of it."""
    dimensions = tuple([axis for axis in range(exponential.type.ndim) if axis not in axes])
    known = {exponential: Scaled(1, dimensions)}
    waiting = {reader for reader, _ in fgraph.clients[exponential]}
    seen = 0
    while waiting:
        if seen > MOST_NODES or any([node not in positions for node in waiting]):       # an output, or a new node
            return False
        node = min(waiting, key=positions.__getitem__)          # inputs before readers
        waiting.discard(node)
        seen += 1
        rule = RULES.get(key_of(node.op))
        found = FAILS if rule is None else rule(node, [known.get(x) for x in node.inputs])
        if found is FAILS:
            return False
        if found is not INVARIANT and found.degree:
            known[node.outputs[0]] = found
            waiting.update([reader for reader, _ in fgraph.clients[node.outputs[0]]])
    return True


def sum_of_exponential(fgraph, exponential):
    """A reduction of an exponential, if there is one, else None."""
    for reader, _ in fgraph.clients[exponential]:
        if reader != "output" and key_of(reader.op) == "Sum":
            return reader
    return None


def shift_exponentials(fgraph):
    """Compute exponentials whose common factor cancels from differences to the largest; return how many were
    replaced."""
    nodes = [node for node in fgraph.apply_nodes if key_of(node.op) == "exp"]
    made, positions = 0, None
    for node in nodes:
        exponential = node.outputs[0]
        if node not in fgraph.apply_nodes or not is_exponential(exponential) or isinstance(node.inputs[0], Constant):
            continue
        reduction = sum_of_exponential(fgraph, exponential)
        if reduction is None:
            continue
        if positions is None:
            positions = {each: number for number, each in enumerate(fgraph.toposort())}
        if cancels(fgraph, exponential, positive_axes(exponential, reduction.op.axis), positions):
            new = Reduced(reduction.outputs[0]).scaled
            if new.type == exponential.type:
                fgraph.replace(exponential, new, reason="local_shift_exponentials")
                made += 1
    return made
