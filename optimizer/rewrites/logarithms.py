"""Stable forms behind operations that only move elements: ``log(sigmoid(x)[i].T)``, ``1 - erf(x)[::-1]``.

A function is pushed into its argument as far as something stable is found there: through indexing, reshapes, joins,
switches and whatever else only moves elements (``MOVERS``), and through shifts and factors that are numbers;
logarithms also through products, quotients and positive sums. Arguments are read as ``shift + factor * variable``:

    log(k + c*V(f(x))) = V(log(k + c*f(x)))        log(a * b / c) = log(a) + log(b) - log(c)

This is done only if a function is reached with which there is a stable form, so ``log(x[0])`` stays as it is. The
optimizer uses it for values. ``grad`` and ``Rop`` use it before there is an optimizer: they differentiate the stable
form (`stand_ins`), so derivatives of any order contain no division by a probability that may be 0, and no rewrite has
to find what cancels across the transposed operations.
"""
import math
from collections import Counter, namedtuple

from phintys.graph.gradients.gradient import are_plain
from phintys.graph.gradients.view_op import disconnected_grad
from phintys.graph.variable import Constant
from phintys.ops.creation.allocation import arange
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.graphs.ifelse import IfElse
from phintys.ops.nnet.softmax import logsoftmax_op, softmax_op
from phintys.ops.reduction.argmax import Argmax
from phintys.ops.reduction.careduce import Sum
from phintys.optimizer.engine.database import FAST_RUN, Rewrite
from phintys.optimizer.engine.driver import report
from phintys.optimizer.engine.forms import Product, constant_value, key, key_of, product_of, sum_of
from phintys.optimizer.engine.values import NUMBERS, apply_op, apply_wide, as_type, constant_like, is_float
from phintys.optimizer.rewrites import factors, sums
from phintys.optimizer.rewrites.complements import COMPLEMENTS
from phintys.optimizer.rewrites.log_sum_exp import Reduced, is_exponential, joined, log_add
from phintys.optimizer.rewrites.logistic import stabilized
from phintys.vm.call_stack import gradient_of

NEARBY = 32                    # a limit on visits of nodes, so that the work stays linear
SCALES = {"log": 1, "log1p": 1, "log2": 1 / math.log(2), "log10": 1 / math.log(10)}


# ---- functions whose logarithms have stable forms --------------------------------------------------------------------
def log_of_complement(x):
    """``log(1 - softmax(x))`` of the rows of a matrix.

    The largest probability of a row may round to 1. Its complement is the sum of the others: the quotient of two sums
    of exponentials, of which the upper one lacks the largest term. Shifts cancel, so no gradient passes them.
    """
    largest = apply_op("eq", arange(x.shape[1]).dimshuffle("x", 0), Argmax((1,))(x).dimshuffle(0, "x"))
    rest = apply_op("invert", largest)
    others = apply_op("switch", largest, disconnected_grad(x.min(axis=1, keepdims=True)), x)
    logarithms = []
    for terms, taken in ((others, rest), (x, None)):
        shift = disconnected_grad(terms.max(axis=1, keepdims=True))
        exponentials = apply_op("exp", terms - shift)
        total = Sum((1,))(exponentials if taken is None else apply_op("mul", exponentials, taken))
        logarithms.append(apply_op("log", total).dimshuffle(0, "x") + shift)
    small = apply_op("log1p", apply_op("neg", apply_op("mul", softmax_op(x), rest)))
    return apply_op("switch", largest, logarithms[0] - logarithms[1], small)


# f: {(sign, k): L}, where log(sign * (f(x) + k)) is L(x)
LEAVES = {
    "sigmoid": {(1, 0): lambda t: -apply_op("softplus", -t), (-1, -1): lambda t: -apply_op("softplus", t)},
    "exp": {(1, 0): lambda t: t, (-1, -1): lambda t: apply_op("log1mexp", t),
            (1, -1): lambda t: t + apply_op("log1mexp", -t)},
    "erf": {(1, 1): lambda t: apply_op("log_erfc", -t), (-1, -1): lambda t: apply_op("log_erfc", t)},
    "erfc": {(1, 0): lambda t: apply_op("log_erfc", t), (-1, -2): lambda t: apply_op("log_erfc", -t)},
    "Softmax": {(1, 0): logsoftmax_op, (-1, -1): log_of_complement},
}


# ---- operations that only move elements ------------------------------------------------------------------------------
def _first(node):
    return [0]


def _set(node):
    return [0, 1] if node.op.set_instead_of_inc else []


# The key of an op -> the positions of the inputs whose elements its output consists of.
MOVERS = {
    **dict.fromkeys(["DimShuffle", "Reshape", "Subtensor", "AdvancedSubtensor1", "AdvancedSubtensor",
                     "AdvancedBooleanSubtensor", "Split", "RepeatOp", "Rebroadcast", "SpecifyShape", "Alloc",
                     "ExtractDiag", "Assert", "ViewOp", "DeepCopyOp", "CpuContiguous", "identity",
                     "TensorFromScalar", "ScalarFromTensor"], _first),
    **dict.fromkeys(["IncSubtensor", "AdvancedIncSubtensor1", "AdvancedIncSubtensor", "AdvancedBooleanIncSubtensor"],
                    _set),
    "Join": lambda node: range(1, len(node.inputs)), "Choose": lambda node: range(1, len(node.inputs)),
    "MakeVector": lambda node: range(len(node.inputs)), "switch": lambda node: [1, 2], "second": lambda node: [1],
}

# Those whose output may lack elements of the first input.
SELECTORS = frozenset(["Subtensor", "AdvancedSubtensor1", "AdvancedSubtensor", "AdvancedBooleanSubtensor", "Split",
                       "ExtractDiag"])
NO_WORK = {*MOVERS, "IfElse", "Shape", "Shape_i"}      # what may read a value that another form of it replaces


def moved_from(variable):
    """Return the positions of the inputs from which the elements of a variable are taken; none for other ops."""
    node = variable.owner
    name = key(variable)
    if name == "IfElse":
        number = node.outputs.index(variable) + 1
        return [number, number + node.op.n_outs]
    operands_of = MOVERS.get(name)
    return [] if operands_of is None else operands_of(node)


def moved(variable, inputs):
    """Apply the op that makes ``variable`` to other inputs."""
    node = variable.owner
    if type(node.op) is IfElse:
        first, second = moved_from(variable)
        return IfElse(1)(inputs[0], inputs[first], inputs[second])
    outputs = node.op.make_node(*inputs).outputs
    return outputs[node.outputs.index(variable)]


def _as_it_was_set(variable):
    """Return y for ``set_subtensor(x[i], y)[i]``; None for all else, and for places that may be set twice."""
    node, changed = variable.owner, variable.owner.inputs[0].owner
    if key(variable) not in ("Subtensor", "AdvancedSubtensor1") or changed is None \
            or MOVERS.get(key_of(changed.op)) is not _set or not changed.op.set_instead_of_inc:
        return None
    if key(variable) == "Subtensor":
        same = (key_of(changed.op) == "IncSubtensor" and changed.op.idx_list == node.op.idx_list
                and list(changed.inputs[2:]) == list(node.inputs[1:]))
    else:
        places = node.inputs[1]
        same = (key_of(changed.op) == "AdvancedIncSubtensor1" and isinstance(places, Constant)
                and len(set(places.data.tolist())) == places.data.size and (places.data >= 0).all()
                and isinstance(changed.inputs[2], Constant)
                and changed.inputs[2].data.tolist() == places.data.tolist())
    return changed.inputs[1] if same and changed.inputs[1].type == variable.type else None


def _where_taken(variable, position, x):
    """Return input ``x``, with ones instead of elements that are not taken: they might have no logarithm, and a
    gradient of zero would become NaN.
    """
    node = variable.owner
    if isinstance(x, Constant):
        return x
    if key(variable) == "switch":
        branches = [constant_like(1, x), x] if position == 2 else [x, constant_like(1, x)]
        return apply_op("switch", node.inputs[0], *branches)
    if position == 0 and MOVERS.get(key(variable)) is _set:
        return node.op(x, constant_like(1, node.inputs[1]), *node.inputs[2:])
    return x


# ---- functions of shift + factor * variable --------------------------------------------------------------------------
class Found(namedtuple("Found", "value passes is_closed")):
    """A stable form, how many ops that only move elements were passed, and whether no logarithm of something else
    remains; None if it is a logarithm as it was written."""


class Pushed:
    """Finds stable forms of a function f of a formula; a subclass says which f.

    Parameters
    ----------
    stop : collection of Variable
        Variables that count as leaves.
    derivable : bool
        Whether derivatives of the form are taken, which must be stable and depend on all that the formula depends on.
    """

    leaves = frozenset()               # keys of ops for which the subclass has a form

    def __init__(self, stop=(), derivable=False):
        self.stop, self.derivable = stop, derivable
        self.left = 0 if any([key(variable) == "neg" for variable in stop]) else NEARBY      # sums pass all of these
        self.selects = False               # whether elements of what is looked at may be dropped
        self.is_logistic = False           # whether a sigmoid was found; `logistic` has the gradients of its logarithm
        self.readers = lambda variable: 2 if variable in stop else 1

    def of(self, variable, shift=0, factor=1):
        """Return f of ``shift + factor * variable`` as `Found`, or None if nothing makes it more stable."""
        if variable.owner is None or variable in self.stop or not self.left or not factor or not is_float(variable):
            return None
        self.left -= 1
        found = self._by_name(key(variable), variable, shift, factor)
        value = None if found is None else as_type(found.value, variable.type, [variable])
        return None if value is None else found._replace(value=value)

    def _by_name(self, name, variable, shift, factor):
        if name in self.leaves:
            return self._of_leaf(name, variable.owner.inputs, variable, shift, factor)
        if name in sums.KEYS:
            return self._of_sum(sum_of(variable, self.readers, NEARBY), variable, shift, factor)
        if name in factors.KEYS:
            return self._of_product(product_of(variable, self.readers, NEARBY), variable, shift, factor)
        if str(name).startswith("convert_to_"):
            return self.of(variable.owner.inputs[0], shift, factor)
        return self._of_moved(variable, shift, factor)

    def _of_leaf(self, name, inputs, like, shift, factor):
        if name == "expm1":                            # exp(x) - 1
            name, shift = "exp", shift - factor
        x = as_type(inputs[0], like.type, ())
        return None if x is None else self._of_function(name, x, shift, factor)

    def _of_sum(self, total, variable, shift, factor):
        if len(total.terms) != 1 or total.terms[0][1] is variable:
            return None
        (sign, term), = total.terms
        return self.of(term, shift + factor * total.constant, factor * sign)

    def _of_product(self, product, variable, shift, factor):
        (part, exponent), *others = product.powers.items() or [(variable, 1)]
        if others or exponent != 1 or part is variable:
            return None
        return self.of(part, shift, factor * product.coefficient)

    def _of_moved(self, variable, shift, factor):
        operands = moved_from(variable)
        if not operands:
            return None
        value = _as_it_was_set(variable)
        if value is not None:
            one = self.of(value, shift, factor)
            return None if one is None else one._replace(passes=one.passes + 1)
        inputs, before = list(variable.owner.inputs), self.selects
        self.selects = before or key(variable) in SELECTORS
        found = {operand: self.of(inputs[operand], shift, factor) for operand in operands}
        self.selects = before
        known = [one for one in found.values() if one is not None]
        if not known:
            return None
        if before and self.derivable and not all([one is not None or isinstance(inputs[operand], Constant)
                                                  for operand, one in found.items()]):
            return None                    # an element that is dropped may be 0, and its gradient 0 / 0
        for operand, one in found.items():
            value = self._written(_where_taken(variable, operand, inputs[operand]), shift, factor) if one is None \
                else one.value
            if type(variable.owner.op) is not Elemwise:         # which would broadcast other types, too
                value = as_type(value, inputs[operand].type, ())
            if value is None:
                return None
            inputs[operand] = value
        return Found(moved(variable, inputs), 1 + sum([one.passes for one in known]),
                     all([one.is_closed for one in known]))


class Logarithms(Pushed):
    """Logarithms."""

    leaves = frozenset([*LEAVES, "expm1", "SoftmaxWithBias"])

    def _by_name(self, name, variable, shift, factor):
        if name == "sqrt":
            root = None if shift or factor < 0 else self.of(variable.owner.inputs[0])
            return None if root is None else _plus(root._replace(value=_times(root.value, 0.5)), factor)
        if name in ("Sum", "Max", "Prod"):
            return self._of_reduction(name, variable, shift, factor)
        return Pushed._by_name(self, name, variable, shift, factor)

    def _of_leaf(self, name, inputs, like, shift, factor):
        if name == "SoftmaxWithBias":
            name, inputs = "Softmax", [inputs[0] + inputs[1].dimshuffle("x", 0)]
        return Pushed._of_leaf(self, name, inputs, like, shift, factor)

    def _of_function(self, name, x, shift, factor):
        self.is_logistic |= name == "sigmoid"
        rule = LEAVES[name].get((math.copysign(1, factor), shift / factor))
        if rule is not None:
            value = rule(x)
            is_closed = True
            if self.derivable and value is x and not are_plain():
                is_closed = None           # x, with a slope that depends on x: the user may differentiate again
                value = apply_op("softplus", x) - apply_op("softplus", -x)
            return _plus(Found(value, 0, is_closed), abs(factor))
        return _plus_number(Found(x, 0, True), shift, factor) if name == "exp" and factor > 0 < shift else None

    def _of_sum(self, total, variable, shift, factor):
        if len(total.terms) == 1:
            return Pushed._of_sum(self, total, variable, shift, factor)
        shift = shift + factor * total.constant
        if shift < 0 or any([sign * factor < 0 for sign, _ in total.terms]):
            return None
        found = []
        for _, term in total.terms:
            found.append(self.of(term))
            if found[-1] is None:
                return None
        if not found:
            return None
        arguments = [_bare(one.value) for one in found]
        if len(found) > 2:
            value = apply_op("log", apply_wide("add", [apply_op("exp", argument) for argument in arguments],
                                               variable.type.dtype))
        elif self.derivable:               # the derivative of the other form is wrong where the arguments are equal
            value = arguments[0] + apply_op("softplus", arguments[1] - arguments[0])
        else:
            value = log_add(*arguments)
        return _plus_number(Found(value, sum([one.passes for one in found]), False), shift, abs(factor))

    def _of_product(self, product, variable, shift, factor):
        product = self._with_sigmoids(product)
        if shift or factor * product.coefficient < 0:
            return Pushed._of_product(self, product, variable, shift, factor)
        factor = factor * product.coefficient
        terms, rest, passes, closed = [], Product(), 0, set()
        rest.coefficient = factor
        for part, exponent in product.powers.items():
            found = self.of(part) if part is not variable else None
            if found is None:
                rest.multiply(part, exponent)
            else:
                terms.append(_times(found.value, exponent))
                passes += found.passes
                closed.add(found.is_closed)
        if not terms:
            return None
        if rest.powers:
            rest.leaves = list(rest.powers)
            pattern = tuple(map(all, zip(*[part.type.broadcastable for part in rest.leaves])))
            remaining = factors.build(rest, variable.type.clone(broadcastable=pattern)())
            if remaining is None:
                return None
            terms.append(apply_op("log", remaining))
            closed.add(all(pattern))
        elif factor != 1:
            terms.append(constant_like(math.log(factor), terms[0]))
        return Found(apply_wide("add", terms, variable.type.dtype) if len(terms) > 1 else terms[0], passes,
                     True in closed and False not in closed)

    def _with_sigmoids(self, product):
        """Return the product with ``sigmoid(-t)`` for ``1 / (1 + exp(t))``."""
        read = [variable for factor in product.powers if factor.owner is not None for variable in (
            factor, *factor.owner.inputs)]
        return product if any([variable in self.stop for variable in read]) else stabilized(product) or product

    def _of_reduction(self, name, variable, shift, factor):
        op, x = variable.owner.op, variable.owner.inputs[0]
        if factor < 0 or name == "Sum" and (shift < 0 or not _is_unshifted(x)):
            return None
        if name == "Max":
            found = self.of(x, shift, factor)
            return None if found is None else found._replace(value=op(found.value), passes=found.passes + 1)
        found = self.of(x) if name == "Sum" or not shift else None
        if found is None:
            return None
        if name == "Prod":
            return _plus(found._replace(value=Sum(op.axis)(found.value)), factor)
        total = Reduced(op(apply_op("exp", _bare(found.value))), disconnected_grad if self.derivable else None)
        return _plus_number(Found(total.logarithm(), found.passes, False), shift, factor)

    def _written(self, variable, shift, factor):
        if shift == 1:
            return apply_op("log1p", _times(variable, factor))
        return apply_op("log", _affine(variable, shift, factor))


def _plus(found, factor):
    """Return the logarithm of a positive number times exp(found)."""
    if factor == 1:
        return found
    return found._replace(value=apply_op("add", found.value, constant_like(math.log(factor), found.value)))


def _plus_number(found, shift, factor):
    """Return the logarithm of ``shift + factor * exp(found)``, for a positive factor and shift, which may be 0."""
    if not shift:
        return _plus(found, factor)
    value = _plus(found._replace(value=_bare(found.value)), factor / shift).value
    return _plus(found._replace(value=apply_op("softplus", value)), shift)


def _bare(value):
    """Return x for ``softplus(x) - softplus(-x)``, on which a derivative depends where nothing else does."""
    return value.owner.inputs[0].owner.inputs[0] if key(value) == "sub" and key(value.owner.inputs[0]) == "softplus" \
        and key(value.owner.inputs[1]) == "softplus" else value


def _is_unshifted(variable):
    """Return whether no maximum is subtracted yet in an exponential that may have been moved."""
    while moved_from(variable):
        variable = variable.owner.inputs[moved_from(variable)[0]]
    return key(variable) != "exp" or is_exponential(variable)


class Complements(Pushed):
    """The identity: ``1 - V(erf(x)) = V(erfc(x))``.

    A sigmoid that is needed as well, as that of a gated recurrent unit, is not computed twice: only its small digits
    are lost.
    """

    leaves = frozenset(COMPLEMENTS)

    def __init__(self, fgraph, root):
        Pushed.__init__(self)
        self.fgraph, self.root, self.is_shared = fgraph, root, False

    def of(self, variable, shift=0, factor=1):
        self.is_shared |= variable.owner is not None and variable is not self.root and self._has_other_readers(variable)
        return Pushed.of(self, variable, shift, factor)

    def _has_other_readers(self, variable):
        readers = self.fgraph.clients[variable]
        return len(readers) > NEARBY or len(readers) > 1 and any(
            [reader == "output" or key_of(reader.op) not in NO_WORK for reader, _ in readers])

    def _of_leaf(self, name, inputs, like, shift, factor):
        row = COMPLEMENTS[name].get(shift / factor)
        if row is None or name == "sigmoid" and self.is_shared:
            return None
        name, sign, negative = row
        return Found(_times(apply_op(name, inputs[0] if sign > 0 else -inputs[0]), factor * negative), 0, True)

    def _written(self, variable, shift, factor):
        return _affine(variable, shift, factor)


class Reciprocals(Pushed):
    """``1 / (1 + V(exp(x))) = V(sigmoid(-x))``, with any positive numbers."""

    leaves = frozenset(["exp"])

    def _of_function(self, name, x, shift, factor):
        if shift <= 0 or factor <= 0:
            return None
        t = _plus(Found(x, 0, True), factor / shift).value
        return Found(_times(apply_op("sigmoid", -t), 1 / shift), 0, True)

    def _written(self, variable, shift, factor):
        return apply_op("inv", _affine(variable, shift, factor))


class Shares(Reciprocals):
    """``V(exp(x)) / (1 + V(exp(x))) = V(sigmoid(x))``, with any positive numbers."""

    def _of_function(self, name, x, shift, factor):
        if shift <= 0 or factor <= 0:
            return None
        return Found(_times(apply_op("sigmoid", _plus(Found(x, 0, True), factor / shift).value), 1 / factor), 0, True)

    def _written(self, variable, shift, factor):
        return apply_op("true_div", variable, _affine(variable, shift, factor))


def _affine(variable, shift, factor):
    value = _times(variable, factor)
    return apply_op("add", value, constant_like(shift, value)) if shift else value


def _times(value, number):
    if number in (1, -1):
        return value if number == 1 else apply_op("neg", value)
    return apply_op("mul", value, constant_like(number, value))


# ---- nodes -----------------------------------------------------------------------------------------------------------
def logarithm(node, stop=(), derivable=False):
    """A logarithm pushed into its argument."""
    out, inner = node.outputs[0], node.inputs[0]
    if derivable and key(inner) == "exp" and key(out) != "log1p":
        return None                     # nothing is passed, and the user may differentiate again
    search = Logarithms(stop, derivable)
    found = search.of(inner, int(key(out) == "log1p"))
    if found is None or not (found.passes or found.is_closed and not (derivable and search.is_logistic)):
        return None
    return as_type(_times(found.value, SCALES[key(out)]), out.type, [inner])


def loss(node, stop=(), derivable=False):
    """``CrossentropyCategorical1Hot(V(softmax(x)), labels)`` as elements of the logarithm."""
    probabilities, labels = node.inputs
    found = Logarithms(stop, derivable).of(probabilities)
    if found is None or not found.passes:
        return None
    return -found.value[arange(labels.shape[0]), labels]


def quotient(node, stop=(), derivable=False):
    """A division by ``1 + V(exp(x))``, which may be of ``V(exp(x))`` times something."""
    out, divisor = node.outputs[0], node.inputs[-1]
    numerator = node.inputs[0] if len(node.inputs) > 1 else None
    total = sum_of(divisor, lambda variable: 2 if variable in stop else 1, NEARBY) if key(divisor) == "add" else None
    if total is None or len(total.terms) != 1 or not moved_from(total.terms[0][1]):
        return None
    source = _spread_source(total.terms[0][1])
    factors = [] if numerator is None else numerator.owner.inputs if key(numerator) == "mul" else [numerator]
    same = next((factor for factor in factors if _spread_source(factor) == source), None)
    found = (Reciprocals if same is None else Shares)(stop, derivable).of(divisor)
    if found is None:
        return None
    rest = [factor for factor in factors if factor is not same] + [found.value] * (factors.count(same) or 1)
    return as_type(apply_wide("mul", rest, out.type.dtype) if len(rest) > 1 else rest[0], out.type, [divisor])


def _spread_source(variable):
    """Return what a variable repeats along new dimensions, and the order of its dimensions."""
    order = tuple(range(variable.type.ndim))
    while key(variable) in ("Alloc", "DimShuffle"):
        inner = variable.owner.inputs[0]
        own = variable.owner.op.new_order if key(variable) == "DimShuffle" else (
            *["x"] * (variable.type.ndim - inner.type.ndim), *range(inner.type.ndim))
        variable, order = inner, joined(own, order)
    return variable, order


def complement(fgraph, node):
    """``1 - V(f(x))`` for a function that has a complement."""
    out = node.outputs[0]
    if not any([constant_value(variable) for variable in node.inputs]):
        return None
    found = Complements(fgraph, out).of(out)
    return found.value if found is not None and found.passes else None


FORMS = {**dict.fromkeys(SCALES, logarithm), "CrossentropyCategorical1Hot": loss, "true_div": quotient, "inv": quotient}


def stand_ins(nodes, stop):
    """Return the stable forms that derivatives are taken of.

    Parameters
    ----------
    nodes : list of Apply
    stop : set of Variable
        Variables that a derivative is taken by, or that have a gradient of their own: they must stay in the formulas.

    Returns
    -------
    dict
        Node -> a variable with the value of its output. It has those nodes for which there is something more stable.
    """
    found = {}
    readers = Counter([variable for node in nodes for variable in node.inputs]) if are_plain() else {}
    for node in nodes:
        form = FORMS.get(key_of(node.op))
        if form is not None and node.inputs[-1 if form is quotient else 0].owner is not None:
            if form is logarithm and readers.get(node.inputs[0], 0) > 1 and _has_sum(node):
                continue
            try:
                with gradient_of(node._position):
                    value = form(node, stop, derivable=True)
            except Exception as error:         # a failed rewrite must not fail the gradient
                report(error, REWRITES[0], node)
                continue
            if value is not None:
                found[node] = value
    return found


def _has_sum(node):
    """Whether this is of a sum. If others read that, plain gradients add to theirs what the logarithm gives them, as
    PyTensor does; of the form that is more stable, they would follow all paths twice."""
    return key(node.inputs[0]) == "add"


def _at(form, derivable):
    def apply(fgraph, node):
        if derivable and form is logarithm and _has_sum(node) and len(fgraph.clients[node.inputs[0]]) > 1:
            return None
        return form(node, derivable=derivable)
    apply.__doc__ = form.__doc__
    return apply


def _rewrites(derivable):
    return [
        Rewrite("local_log_of_moved", SCALES, _at(logarithm, derivable), (FAST_RUN,), beside=Logarithms.leaves,
                changes="nan range rounding"),
        Rewrite("local_loss_of_moved", ("CrossentropyCategorical1Hot",), _at(loss, derivable), (FAST_RUN,),
                beside=Logarithms.leaves, changes="nan range rounding"),
        Rewrite("local_quotient_of_moved", ("true_div", "inv"), _at(quotient, derivable), (FAST_RUN,),
                beside=("exp",), of=("add",), changes="nan range rounding"),
    ]


BEFORE_GRADIENTS = _rewrites(True)
REWRITES = [
    *_rewrites(False),
    Rewrite("local_complement_of_moved", ("add", "sub"), complement, (FAST_RUN,), beside=COMPLEMENTS, of=NUMBERS,
            changes="nan range rounding"),
]
