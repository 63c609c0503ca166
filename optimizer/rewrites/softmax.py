"""Softmax and cross-entropy: stable and joint forms of common expressions.

A loss is joined with its softmax: ``CrossentropyCategorical1Hot(softmax(x), y)``, and the logarithm of a softmax (or of
part of it) indexed by ``[arange(n), y]``. They become one op, which never takes the logarithm of an underflowed
probability; a bias that is added becomes an input of this op. The gradients are SoftmaxGrad nodes whose first input
contains divisions by probabilities. These cancel against the softmax in the second input, so both are read as products.
"""
import numpy

from phintys.graph.traversal import ancestors
from phintys.graph.variable import Constant
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.nnet.crossentropy import (
    CrossentropySoftmax1HotWithBiasDx,
    CrossentropySoftmaxArgmax1HotWithBias,
    crossentropy_softmax_1hot_with_bias_dx,
    no_bias,
)
from phintys.ops.nnet.softmax import along_rows, logsoftmax_op, softmax_op, softmax_with_bias
from phintys.ops.reduction.argmax import Argmax, MaxAndArgmax
from phintys.optimizer.engine.database import FAST_RUN, Rewrite
from phintys.optimizer.engine.forms import Product, constant_value, key, product_of
from phintys.optimizer.engine.values import apply_op
from phintys.optimizer.passes.shapes import feature_of
from phintys.optimizer.rewrites import factors
from phintys.optimizer.rewrites.log_sum_exp import is_scaled

SOFTMAXES = ("Softmax", "SoftmaxWithBias")
INCREASING = ("exp", "tanh", "sigmoid", "softplus")        # not log, which gives NaN for negative numbers
NEARBY = 32                    # a limit on visits of nodes of a product, which may have other readers


# ---- recognizing ----------------------------------------------------------------------------------------------------
def matrix_and_bias(softmax):
    """Return ``(x, b)`` of a softmax or log-softmax of ``x + b``; b is None if there is no bias."""
    if key(softmax) == "SoftmaxWithBias":
        return softmax.owner.inputs
    return without_bias(softmax.owner.inputs[0])


def without_bias(x):
    """Return ``(x', b)`` such that x is x' plus a vector added to every row; b is None if there is none."""
    terms = _terms(x)
    rows = [term for term in terms if term.type.broadcastable == (True, False)]
    rest = [term for term in terms if term.type.broadcastable != (True, False)]
    if not rest and len(rows) > 1:
        rest, rows = rows[:1], rows[1:]
    if not rows or not rest or any([term.type.dtype != x.type.dtype for term in terms]):
        return x, None
    matrix = apply_op("add", *rest) if len(rest) > 1 else rest[0]
    if matrix.type != x.type:
        return x, None
    vectors = [_as_vector(row) for row in rows]
    return matrix, apply_op("add", *vectors) if len(vectors) > 1 else vectors[0]


def _terms(x):
    """Return the terms of a sum, which may be one of vectors that is made a row."""
    if key(x) == "add":
        return x.owner.inputs
    if key(x) == "DimShuffle" and x.owner.op.new_order == ("x", 0) and key(x.owner.inputs[0]) == "add":
        return [term.dimshuffle("x", 0) for term in x.owner.inputs[0].owner.inputs]
    return []


def _as_vector(row):
    """Return a row without its broadcastable dimension."""
    if key(row) == "DimShuffle" and row.owner.op.new_order == ("x", 0):
        return row.owner.inputs[0]
    return row.dimshuffle(1)


def index_of_labels(fgraph, node, first):
    """Return ``(y, rule)`` for an index ``[arange(n), y]``, where n is the length of y or of the indexed matrix, or
    None.

    ``first`` is the number of the index's first input; the rule is one of ``crossentropy.LABEL_RULES``.
    """
    entries = node.op.idx_list
    if len(node.inputs) != first + 2 or len(entries) != 2 or node.inputs[0].type.ndim != 2:
        return None
    rows, labels = node.inputs[first:]
    if any([getattr(entry, "ndim", 0) != 1 for entry in entries]) or labels.type.dtype == "bool":
        return None
    if isinstance(rows, Constant):
        length = labels.type.shape[0]
        whole = length is not None and numpy.array_equal(rows.data, numpy.arange(length))
        return (labels, "leading index") if whole else None
    if key(rows) != "ARange" or constant_value(rows.owner.inputs[0]) != 0 or constant_value(rows.owner.inputs[2]) != 1:
        return None
    feature, stop = feature_of(fgraph), rows.owner.inputs[1]
    if feature.is_length(stop, labels, 0):
        return labels, "leading index"
    return (labels, "index") if feature.is_length(stop, node.inputs[0], 0) else None


def row_of(column):
    """Return the variable whose row sums a column contains, or None."""
    if key(column) == "DimShuffle" and column.owner.op.new_order == (0, "x"):
        total = column.owner.inputs[0]
        if key(total) == "Sum" and total.owner.op.axis == (1,):
            return total.owner.inputs[0]
    return None


# ---- forward --------------------------------------------------------------------------------------------------------
def joined(x, b, labels, rule="classes"):
    """Return the losses of rows of x + b, as the first output of the joint op."""
    return CrossentropySoftmaxArgmax1HotWithBias(rule)(x, no_bias(x) if b is None else b, labels)[0]


def loss_of_softmax(fgraph, node):
    """``CrossentropyCategorical1Hot(softmax(x + b), y)`` as one op."""
    softmax, labels = node.inputs
    if key(softmax) not in SOFTMAXES:
        return None
    return joined(*matrix_and_bias(softmax), labels)


def indexed_logarithm(fgraph, node):
    """``log(softmax(x + b))[arange(n), y]`` as minus the joint op's losses."""
    source = node.inputs[0]
    softmax = source.owner.inputs[0] if key(source) == "log" else source
    if key(softmax) not in (SOFTMAXES if softmax is not source else ("LogSoftmax",)):
        return None
    index = index_of_labels(fgraph, node, 1)
    return None if index is None else apply_op("neg", joined(*matrix_and_bias(softmax), *index))


def logarithm(fgraph, node):
    """``log(softmax(x))`` as LogSoftmax, and ``log(softmax(x)[arange(n), y])`` as minus the joint op's losses."""
    inner = node.inputs[0]
    if node.outputs[0].type.dtype != inner.type.dtype:
        return None
    if key(inner) in SOFTMAXES:
        x, b = matrix_and_bias(inner)
        return logsoftmax_op(x if b is None else x + b.dimshuffle("x", 0))
    if key(inner) != "AdvancedSubtensor" or key(inner.owner.inputs[0]) not in SOFTMAXES:
        return None
    index = index_of_labels(fgraph, inner.owner, 1)
    return None if index is None else apply_op("neg", joined(*matrix_and_bias(inner.owner.inputs[0]), *index))


def with_bias(fgraph, node):
    """``softmax(x + b)`` as SoftmaxWithBias."""
    x, b = without_bias(node.inputs[0])
    return None if b is None else softmax_with_bias(x, b)


def quotient(fgraph, node):
    """``exp(x) / sum(exp(x))`` over rows as a softmax, where the numerator may have further factors."""
    numerator, denominator = node.inputs
    out = node.outputs[0]
    exponential = row_of(denominator)
    if exponential is None or key(exponential) != "exp" or exponential.type != out.type or is_scaled(exponential):
        return None                    # the scaled exponentials are computed anyway, for the logarithm of their sum
    softmax = softmax_op(_unshifted(exponential.owner.inputs[0])) \
        if exponential.owner.inputs[0].type.dtype == out.type.dtype and out.type.dtype.startswith("float") else None
    if softmax is None or numerator is exponential:
        return softmax
    if key(numerator) == "mul" and exponential in numerator.owner.inputs:
        others = list(numerator.owner.inputs)
        others.remove(exponential)
        return apply_op("mul", softmax, *others)
    return None


def _unshifted(x):
    """Return x without the subtraction of its rows' maxima, which the softmax does itself."""
    if key(x) == "sub" and key(x.owner.inputs[1]) == "DimShuffle":
        source, column = x.owner.inputs
        largest = column.owner.inputs[0]
        if column.owner.op.new_order == (0, "x") and key(largest) == "Max" and largest.owner.op.axis == (1,) \
                and largest.owner.inputs[0] is source and source.type == x.type:
            return source
    return x


def argmax_of_increasing(fgraph, node):
    """``argmax(f(x))`` is ``argmax(x)`` for an f that is increasing wherever x is a number."""
    inner = node.inputs[0]
    if key(inner) not in INCREASING:
        return None
    return node.op(inner.owner.inputs[0])


def argmax_of_softmax(fgraph, node):
    """``argmax(softmax(x), 1)`` is ``argmax(x, 1)``."""
    softmax = node.inputs[0]
    if key(softmax) not in SOFTMAXES or node.op.axis != (1,):
        return None
    x, b = matrix_and_bias(softmax)
    x = x if b is None else x + b.dimshuffle("x", 0)
    if type(node.op) is Argmax:
        return node.op(x)
    return None if fgraph.clients[node.outputs[0]] else MaxAndArgmax(node.op.axis)(x)


# ---- gradients ------------------------------------------------------------------------------------------------------
def gradient_through_softmax(fgraph, node):
    """Replace a SoftmaxGrad whose first input divides by the softmax by a form without the division."""
    gradient, softmax = node.inputs
    if key(gradient) == "CrossentropyCategorical1HotGrad" and gradient.owner.inputs[1] is softmax:
        return crossentropy_softmax_1hot_with_bias_dx(gradient.owner.inputs[0], softmax, gradient.owner.inputs[2])
    if key(gradient) == "AdvancedIncSubtensor":
        return _of_log_of_elements(fgraph, gradient, softmax)
    product = product_of(gradient, lambda variable: 1, NEARBY)
    if product.powers.get(softmax) != -1:
        return None
    del product.powers[softmax]
    scattered = [factor for factor, exponent in product.powers.items() if exponent == 1 and _scatters(factor)]
    if len(scattered) == 1:
        index = index_of_labels(fgraph, scattered[0].owner, 2)
        found = None if index is None else _of_elements_of_log(product, scattered[0], softmax, index)
        if found is not None:
            return found
    rest = factors.build(product, node.outputs[0])
    return None if rest is None else rest - along_rows(rest) * softmax


def _scatters(variable):
    """Return whether a variable is zero except for some elements, to which something was added."""
    return key(variable) == "AdvancedIncSubtensor" and not variable.owner.op.set_instead_of_inc \
        and constant_value(variable.owner.inputs[0]) == 0


def _of_elements_of_log(product, scattered, softmax, index):
    """For ``log(softmax)[arange(n), y]``: a gradient scattered among zeros, over the softmax."""
    if not all([all(factor.type.broadcastable) for factor in product.powers if factor is not scattered]):
        return None
    increment = scattered.owner.inputs[1]
    del product.powers[scattered]
    product.multiply(increment, 1)
    return _from_losses(product, increment, softmax, *index)


def _of_log_of_elements(fgraph, scattered, softmax):
    """For ``log(softmax[arange(n), y])``: the scattered values are divided by those elements of the softmax."""
    index = index_of_labels(fgraph, scattered.owner, 2) if _scatters(scattered) else None
    if index is None:
        return None
    rows, labels = scattered.owner.inputs[2:]
    product = product_of(scattered.owner.inputs[1], lambda variable: 1, NEARBY)
    taken = [factor for factor, exponent in product.powers.items() if exponent == -1
             and key(factor) == "AdvancedSubtensor" and factor.owner.inputs == [softmax, rows, labels]]
    if len(taken) != 1:
        return None
    del product.powers[taken[0]]
    return _from_losses(product, taken[0], softmax, *index)


def _from_losses(product, like, softmax, labels, rule):
    """Return the joint gradient, where minus ``product`` is the gradient by the losses; one number if possible."""
    product.coefficient = -product.coefficient
    if all([all(factor.type.broadcastable) for factor in product.powers]):
        numbers = Product()
        numbers.coefficient = product.coefficient
        for factor, exponent in product.powers.items():
            numbers.multiply(factor.dimshuffle(), exponent)
        numbers.leaves = list(numbers.powers)
        product, like = numbers, softmax.type.clone(broadcastable=(), shape=())()
    else:
        product.leaves = [like, *product.powers]
    by_loss = factors.build(product, like)
    return None if by_loss is None else CrossentropySoftmax1HotWithBiasDx(rule)(by_loss, softmax, labels)


def gradient_through_log_softmax(fgraph, node):
    """``G - sum(G) * softmax`` of each row, for a G that is zero but at ``[arange(n), y]``: a LogSoftmax's gradient."""
    scattered, part = node.inputs
    if not _scatters(scattered) or key(part) != "mul" or len(part.owner.inputs) != 2:
        return None
    for column, softmax in (part.owner.inputs, part.owner.inputs[::-1]):
        if row_of(column) is scattered and softmax.type == node.outputs[0].type:
            index = index_of_labels(fgraph, scattered.owner, 2)
            if index is not None:
                product = Product()
                product.multiply(scattered.owner.inputs[1], 1)
                return _from_losses(product, scattered.owner.inputs[1], softmax, *index)
    return None


def one_gradient_for_all(fgraph, node):
    """Replace a gradient by the losses that is one number, filled or allocated for each row, by that number."""
    gradient, softmax, labels = node.inputs
    name = key(gradient)
    if name not in ("second", "Alloc"):
        return None
    value = gradient.owner.inputs[1 if name == "second" else 0]
    if not all(value.type.broadcastable) or not feature_of(fgraph).same_shape(gradient, labels):
        return None
    return node.op(_as_number(value), softmax, labels)


def _as_number(value):
    """Return a value of one element without dimensions; an elementwise op is moved before the broadcast."""
    if value.owner is None or type(value.owner.op) is not Elemwise or len(value.owner.outputs) != 1:
        return value.dimshuffle()
    return value.owner.op(*[operand.dimshuffle() for operand in value.owner.inputs])


# ---- the whole graph ------------------------------------------------------------------------------------------------
def share_softmax(fgraph):
    """Use the second output of the joint op for a softmax whose losses are computed, too; return how many."""
    made = 0
    for node in fgraph.toposort():
        if type(node.op) is not CrossentropySoftmaxArgmax1HotWithBias:
            continue
        x, b, labels = node.inputs
        for softmax in _softmaxes_of(fgraph, x, b):
            if softmax.type == node.outputs[1].type and not _depends_on(labels, softmax):
                fgraph.replace(softmax, node.outputs[1], reason="graph_merge_softmax_with_crossentropy_softmax")
                made += 1
    return made


def _softmaxes_of(fgraph, x, b):
    """Return the softmaxes of x + b in the graph."""
    readers = [reader for reader, _ in fgraph.clients[x] if reader != "output"]
    if constant_value(b) == 0 and b.type.broadcastable[0]:
        return [reader.outputs[0] for reader in readers if reader.op == softmax_op]
    return [reader.outputs[0] for reader in readers if reader.op == softmax_with_bias and reader.inputs[1] is b]


def _depends_on(variable, other):
    """Return whether ``variable`` is computed from ``other``."""
    return variable.owner is not None and other in ancestors([variable])


REWRITES = [
    Rewrite("crossentropy_to_crossentropy_with_softmax", ("CrossentropyCategorical1Hot",), loss_of_softmax,
            (FAST_RUN, "xent", "crossentropy_to_crossentropy_with_softmax_with_bias"), changes="nan range rounding"),
    Rewrite("local_advanced_indexing_crossentropy_onehot", ("AdvancedSubtensor",), indexed_logarithm, (FAST_RUN,),
            changes="nan range rounding"),
    Rewrite("local_logsoftmax", ("log",), logarithm, (FAST_RUN,), changes="nan range rounding"),
    Rewrite("local_softmax_with_bias", ("Softmax",), with_bias, (FAST_RUN,), changes="rounding"),
    Rewrite("softmax_simplifier", ("true_div",), quotient, (FAST_RUN,), changes="nan range rounding"),
    Rewrite("local_argmax_pushdown", ("Argmax", "MaxAndArgmax"), argmax_of_softmax, (FAST_RUN,),
            changes="nan range rounding"),
    Rewrite("local_argmax_pushdown_increasing", ("Argmax",), argmax_of_increasing,
            (FAST_RUN, "local_argmax_pushdown"), changes="nan range rounding"),
    Rewrite("local_logsoftmax_grad", ("SoftmaxGrad",), gradient_through_softmax,
            (FAST_RUN, "local_softmax_grad_to_crossentropy_with_softmax_grad",
             "local_advanced_indexing_crossentropy_onehot_grad"), changes="nan range rounding"),
    Rewrite("local_logsoftmax_onehot_grad", ("sub",), gradient_through_log_softmax, (FAST_RUN,), of=("mul",),
            changes="nan range rounding"),
    Rewrite("local_useless_crossentropy_softmax_1hot_with_bias_dx_alloc", ("CrossentropySoftmax1HotWithBiasDx",),
            one_gradient_for_all, (FAST_RUN,)),
]
