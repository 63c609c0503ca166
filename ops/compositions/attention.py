"""Attention: as one formula, or in blocks of keys, which need no memory for all products of queries and keys."""
import numpy

from phintys.ops.creation.allocation import alloc, arange
from phintys.ops.elementwise import elementwise_functions as elementwise
from phintys.ops.elementwise.elementwise import sum_broadcast
from phintys.ops.elementwise.scalar import as_dtype, number_like
from phintys.ops.graphs.op_from_graph import OpFromGraph
from phintys.ops.indexing.getitem import getitem
from phintys.ops.indexing.inc_subtensor import set_subtensor
from phintys.ops.loops.building import Body, make_loop
from phintys.ops.nnet.losses import along_last, as_float
from phintys.ops.nnet.softmax import softmax
from phintys.ops.products.products import matmul
from phintys.ops.reduction.reduction import max as largest
from phintys.ops.reduction.reduction import sum as sum_over
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.shape.shape import patternbroadcast, shape_i
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.ops.types.dtypes import float_dtypes


def scaled_dot_product_attention(query, key, value, mask=None, is_causal=False, scale=None, block=None):
    """The softmax of products of queries and keys, times the values.

    Parameters
    ----------
    query, key, value : tensor-like
        The last two dimensions are places and features.
    mask : tensor-like, optional
        Bools say which keys a query reads; numbers are added to the products. A key with ``-inf`` is not read.
    is_causal : bool
        Whether a query reads no key of a later place.
    scale : float, optional
        By which products are multiplied; by default one over the square root of the number of features.
    block : int, optional
        The keys are read in blocks of this number, by a loop: at no time there is memory for all products of queries
        and keys, neither here nor in the gradient, which computes them a second time. The operands must have one rank
        and the same dimensions of length 1; the gradient itself has no gradient.

    Returns
    -------
    TensorVariable
        0 for a query that reads no key.

    Raises
    ------
    ValueError
        If ``block`` is not a positive int, or operands of other ranks are read in blocks.

    Examples
    --------
    >>> x = T.as_tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> T.nnet.scaled_dot_product_attention(x, x, x, is_causal=True).eval()[0]
    array([1., 0.])
    """
    query, key, value = [as_float(part) for part in (query, key, value)]
    features = as_dtype(shape_i(query, query.type.ndim - 1), query.type.dtype)
    scale = 1 / elementwise.sqrt(features) if scale is None else number_like(scale, query)
    mask = None if mask is None else as_tensor_variable(mask)
    if block is not None:
        return _in_blocks(query * scale, key, value, mask, is_causal, block)
    scores, reads = _scores(query * scale, key, mask, is_causal)
    if mask is not None and mask.type.dtype in float_dtypes:
        added = mask > -numpy.inf
        reads = added if reads is None else reads & added
    if reads is None:
        return matmul(along_last(softmax, scores), value)
    # Far below all others, and not infinite, so that a row without keys has numbers; the product with 0 takes them out.
    shares = along_last(softmax, elementwise.switch(reads, scores, _least(scores)))
    return matmul(elementwise.switch(reads, shares, number_like(0, shares)), value)


def _least(scores):
    return number_like(float(numpy.finfo(scores.type.dtype).min) / 2, scores)


def _transposed(x):
    rank = x.type.ndim
    return dimshuffle(x, *range(rank - 2), rank - 1, rank - 2)


def _scores(query, key, mask, is_causal, start=0):
    """Products of queries with keys from place ``start`` on, and which keys are read, or None for all."""
    scores, reads = matmul(query, _transposed(key)), None
    if mask is not None and mask.type.dtype == "bool":
        reads = mask
    elif mask is not None:
        scores = scores + as_dtype(mask, scores.type.dtype)
    if is_causal:
        places = [arange(shape_i(scores, scores.type.ndim - number)) for number in (2, 1)]
        earlier = dimshuffle(places[0], 0, "x") >= dimshuffle(start + places[1], "x", 0)
        earlier = patternbroadcast(earlier, scores.type.broadcastable[-2:])         # of one query, one row
        reads = earlier if reads is None else reads & earlier
    return scores, reads


# ---- blocks ----------------------------------------------------------------------------------------------------------
def _in_blocks(query, key, value, mask, is_causal, block):
    rank = query.type.ndim
    if not isinstance(block, int) or block < 1:
        raise ValueError(f"scaled_dot_product_attention: block must be a positive int, got {block!r}")
    patterns = {part.type.broadcastable[:-2] for part in (query, key, value)}
    if len(patterns) > 1 or mask is not None and mask.type.ndim > rank:
        raise ValueError("scaled_dot_product_attention: operands that are read in blocks must have one rank, and the "
                         f"same dimensions of length 1, got {query.type}, {key.type} and {value.type}")
    given = [query, key, value]
    if mask is not None:
        mask = dimshuffle(mask, *["x"] * (rank - mask.type.ndim), *range(mask.type.ndim))
        flags = (*query.type.broadcastable[:-1], False)
        given.append(patternbroadcast(mask, [one or other for one, other in zip(mask.type.broadcastable, flags)]))
    inner = [part.type() for part in given]

    def backward(inputs, outputs, gradients):
        return _gradients(*inputs, *[None] * (4 - len(inputs)), outputs, gradients[0], is_causal, block)
    found = _forward(*inner, *[None] * (4 - len(inner)), is_causal, block)
    attend = OpFromGraph(inner, list(found), inline=True, lop_overrides=backward,
                         connection_pattern=[[True, False]] * len(inner), name="attention in blocks")
    return attend(*given)[0]


class _Block:
    """Keys, values and the mask of a block, inside a loop over all of them."""

    def __init__(self, key, value, mask, block):
        self.rank, length = key.type.ndim, shape_i(key, key.type.ndim - 2)
        self.steps = (length + (block - 1)) // block
        self.number = constant(0, dtype="int64").type()
        self.start = self.number * block
        self.where = slice(self.start, self.start + block)
        self.key, self.value = [self.of(part, 2) for part in (key, value)]
        self.mask = mask if mask is None or mask.type.broadcastable[-1] else self.of(mask, 1)

    def of(self, x, axis):
        """The part of a tensor, along an axis that counts from the end."""
        return getitem(x, (..., self.where, *[slice(None)] * (axis - 1)))

    def changed(self, x, axis, part):
        """The tensor with another part."""
        return set_subtensor(self.of(x, axis), part)

    def loop(self, carried, name):
        """The values after all blocks."""
        body = Body([(self.number, arange(self.steps))], carried=carried)
        return make_loop(self.steps, body, name, lifts=False).carried


def _forward(query, key, value, mask, is_causal, block):
    """The result, and for each query the logarithm of its sum of exponentials.

    A step keeps the largest score so far, and the sum and the result relative to it.
    """
    part = _Block(key, value, mask, block)
    scores, reads = _scores(query, part.key, part.mask, is_causal, part.start)
    zero = number_like(0, scores)
    lengths = [shape_i(query, axis) for axis in range(part.rank - 1)]
    result, column = [patternbroadcast(alloc(zero, *lengths, width), (*query.type.broadcastable[:-1], flag))
                      for width, flag in ((shape_i(value, part.rank - 1), value.type.broadcastable[-1]), (1, True))]
    top, total, found = [start.type() for start in (column, column, result)]
    highest = elementwise.maximum(top, largest(scores if reads is None else elementwise.switch(reads, scores, _least(
        scores)), axis=-1, keepdims=True))
    shares = elementwise.exp(scores - highest)
    shares = shares if reads is None else elementwise.switch(reads, shares, zero)
    kept = elementwise.exp(top - highest)
    top, total, found = part.loop([
        (top, highest, column + _least(column)),
        (total, total * kept + sum_over(shares, axis=-1, keepdims=True), column),
        (found, found * kept + matmul(shares, part.value), result)], "attention in blocks")
    is_empty = elementwise.eq(total, 0)
    total = elementwise.switch(is_empty, number_like(1, total), total)
    return found / total, top + elementwise.log(total)


def _gradients(query, key, value, mask, outputs, gradient, is_causal, block):
    """The gradients of the operands, from shares that are computed a second time, block by block."""
    found, logarithm = outputs
    part = _Block(key, value, mask, block)
    scores, reads = _scores(query, part.key, part.mask, is_causal, part.start)
    shares = elementwise.exp(scores - logarithm)
    shares = shares if reads is None else elementwise.switch(reads, shares, number_like(0, scores))
    moved = shares * (matmul(gradient, _transposed(part.value)) - sum_over(gradient * found, axis=-1, keepdims=True))
    starts = [elementwise.zeros_like(x) for x in (query, key, value)]
    by_query, by_key, by_value = [start.type() for start in starts]
    carried = [(by_query, by_query + matmul(moved, part.key), starts[0]),
               (by_key, part.changed(by_key, 2, matmul(_transposed(moved), query)), starts[1]),
               (by_value, part.changed(by_value, 2, matmul(_transposed(shares), gradient)), starts[2])]
    is_added = mask is not None and mask.type.dtype != "bool"
    if is_added:
        start = elementwise.zeros_like(mask)
        by_mask = start.type()
        change = as_dtype(sum_broadcast(moved, mask.type.broadcastable, moved.type.broadcastable), mask.type.dtype)
        carried.append((by_mask, by_mask + change if mask.type.broadcastable[-1] else part.changed(by_mask, 1, change),
                        start))
    results = part.loop(carried, "gradient of attention in blocks")
    if mask is not None and not is_added:
        results = [*results, elementwise.zeros_like(mask, dtype=query.type.dtype)]
    return results
