"""Products of matrices and vectors by BLAS: scaled and accumulated in one call.

A sum is read as a linear combination: leaves with scalar scales, through nested sums, negations and multiplications
by values of one element, so that ``w - lr * (dot(x.T, g) + c * w)`` is ``-lr * dot(x.T, g) + (1 - lr * c) * w``. If
one of its leaves is a product without other readers, and another can be accumulated into, they become one Gemm, Gemv
or Ger. A tree of sums is read once, from its root, and no change is ever undone. Transposes of products become products
of transposes, which are views.
"""
from phintys.graph.trace import Traces
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.products import blas
from phintys.ops.products.blas import BLAS_DTYPES
from phintys.ops.types.constant import constant
from phintys.optimizer.engine.database import FAST_RUN, Rewrite
from phintys.optimizer.engine.forms import constant_value, is_inside, key, only_reader, readers_in
from phintys.optimizer.engine.values import apply_op, apply_wide
from phintys.optimizer.rewrites import sums

PRODUCTS = ("Dot", "Dot22")
LARGEST_NUMBER = 1e30          # of a scale: the largest float32 is 3e38


class Scale:
    """A scalar factor: a number times 0-d variables; the inner scales of a nested sum share those of the outer ones.

    ``outer`` is the scale of the surrounding sum, if it has variables; a scale of n nested sums with a variable each is
    thus one multiplication, and all scales together are linear in n.
    """

    __slots__ = ("number", "variables", "outer", "_built")

    def __init__(self, number=1, variables=(), outer=None):
        self.number = number
        self.variables = variables
        self.outer = outer
        self._built = {}               # dtype -> the variables' product

    def times(self, number=1, variables=()):
        """Return this scale times another one."""
        if variables and self.variables:
            return Scale(self.number * number, variables, self)
        return Scale(self.number * number, self.variables + variables, self.outer)

    def is_moderate(self):
        """Return whether the number can be a constant; otherwise nested sums are left unchanged."""
        return 1 / LARGEST_NUMBER < abs(self.number) < LARGEST_NUMBER or self.number == 0

    def build(self, dtype):
        """Return a 0-d variable."""
        if not self.variables:
            return constant(self.number, dtype=dtype)
        result = self._product(dtype)
        if self.number == 1:
            return result
        return apply_op("neg", result) if self.number == -1 else apply_op("mul", constant(self.number, dtype=dtype),
                                                                          result)

    def _product(self, dtype):
        """Return the product of the variables, including those of the outer scales; it is built only once."""
        chain, scale = [], self
        while scale is not None and dtype not in scale._built:
            chain.append(scale)
            scale = scale.outer
        for inner in reversed(chain):
            factors = [_cast(variable, dtype) for variable in inner.variables]
            if inner.outer is not None:
                factors.insert(0, inner.outer._built[dtype])
            inner._built[dtype] = apply_op("mul", *factors) if len(factors) > 1 else factors[0]
        return self._built[dtype]


def _cast(variable, dtype):
    return variable if variable.type.dtype == dtype else apply_op("convert_to_" + dtype, variable)


def scalar_of(variable):
    """Return a 0-d variable for a value of one element."""
    if variable.type.ndim == 0:
        return variable
    if key(variable) == "DimShuffle" and variable.owner.inputs[0].type.ndim == 0:
        return variable.owner.inputs[0]
    return variable.dimshuffle()


def linear_combination(root, readers):
    """Return ``[(Scale, leaf)]`` whose sum is ``root``; the leaves have its type."""
    terms, stack = [], [(Scale(), root)]
    while stack:
        scale, variable = stack.pop()
        name = key(variable)
        inner = None
        if variable is root or readers(variable) == 1:
            inner = _parts(name, variable, scale, root.type)
        if inner is None or not all([part.is_moderate() for part, _ in inner]):
            terms.append((scale, variable))
            continue
        stack.extend(reversed(inner))
    return terms


def _parts(name, variable, scale, wanted):
    """Return the terms of a variable as ``[(Scale, variable)]``, or None for a leaf."""
    if variable.type != wanted or name is None:
        return None
    inputs = variable.owner.inputs
    if name == "add":
        return [(scale, term) for term in inputs]
    if name == "sub":
        return [(scale, inputs[0]), (scale.times(-1), inputs[1])]
    if name == "neg":
        return [(scale.times(-1), inputs[0])]
    if name == "mul":
        return _scaled(scale, inputs)
    if name == "true_div" and all(inputs[1].type.broadcastable) and constant_value(inputs[1]):
        return [(scale.times(1 / constant_value(inputs[1])), inputs[0])]
    return None


def _scaled(scale, factors):
    """Return ``scale * factors`` with all factors but one inside the scale."""
    array = _only_array(factors)
    if array is None:
        return None
    for factor in factors:
        if factor is not array:
            value = constant_value(factor)
            scale = scale.times(value) if value is not None else scale.times(variables=(scalar_of(factor),))
    return [(scale, array)]


def _only_array(factors):
    """Return the only factor of more than one element, or None; the search stops at the second one."""
    found = None
    for factor in factors:
        if not all(factor.type.broadcastable):
            if found is not None:
                return None
            found = factor
    return found


def accumulate(fgraph, node):
    """Replace a sum that contains a product by Gemm, Gemv or Ger."""
    out = node.outputs[0]
    if out.type.dtype not in BLAS_DTYPES or out.type.ndim not in (1, 2) or _is_inner(fgraph, out):
        return None
    readers = readers_in(fgraph)
    terms = linear_combination(out, readers)
    if len(terms) < 2:
        return None
    products = [(scale, leaf) for scale, leaf in terms if _is_product(leaf, out, readers)]
    if not products:
        return None
    others = _collected([(scale, leaf) for scale, leaf in terms if not _is_product(leaf, out, readers)], out)
    chosen = _accumulator(others, out, readers) or _row_to_start_from(fgraph, others, out)
    if chosen is None and len(products) < 2:
        return None
    if chosen is None:
        scale, first = products.pop(0)
        target, beta = first, scale.build(out.type.dtype)
    else:
        others = [(leaf, scales) for leaf, scales in others if leaf is not chosen[0]]
        target, beta = chosen[0], _total(chosen[1], out.type.dtype)
    for scale, product in products:
        target = into(target, scale.build(out.type.dtype), product, beta)
        if target is None:
            return None
        target.owner._position = Traces([product.owner._position, _sum_of(fgraph, product)], in_parts=True)
        beta = constant(1, dtype=out.type.dtype)
    return _with_rest(target, others, out)


def _sum_of(fgraph, product):
    """Return where the user made the sum that a product, scaled or not, is a term of."""
    variable, node = product, product.owner
    while variable in fgraph.clients:
        node = next(iter(fgraph.clients[variable]))[0]
        if node == "output" or key(node.outputs[0]) in ("add", "sub"):
            break
        variable = node.outputs[0]
    return None if node == "output" else node._position


def _is_inner(fgraph, variable):
    """Return whether ``variable`` belongs to a larger linear combination, which is read from its root."""
    for _ in range(2):
        if is_inside(fgraph, variable, sums.KEYS):
            return True
        if not is_inside(fgraph, variable, ("mul", "true_div")):
            return False
        variable = only_reader(fgraph, variable)
        if key(variable) == "mul" and _only_array(variable.owner.inputs) is None:
            return False
    return False


def _is_product(leaf, out, readers):
    """Return whether a leaf is a BLAS product that may be computed into the sum."""
    return (key(leaf) in PRODUCTS and leaf.type == out.type and readers(leaf) == 1
            and all([variable.type.dtype == out.type.dtype for variable in leaf.owner.inputs]))


def _collected(terms, out):
    """Return ``[(leaf, [Scale])]``, each leaf once."""
    found = {}
    for scale, leaf in terms:
        found.setdefault(leaf, []).append(scale)
    return list(found.items())


def _accumulator(others, out, readers):
    """Return the ``(leaf, scales)`` to accumulate into: preferably an input, else a value that is not fused anyway."""
    fitting = [pair for pair in others if pair[0].type == out.type]
    for pair in fitting:
        if pair[0].owner is None:
            return pair
    for pair in fitting:
        if type(pair[0].owner.op) is not Elemwise or readers(pair[0]) > 1:
            return pair
    return None


def _row_to_start_from(fgraph, others, out):
    """Return the ``(leaf, scales)`` of a row that is added to all rows of products; None if elementwise operations read
    the sum, as they add it in the same pass."""
    rows = [pair for pair in others if pair[0].type == out.type.clone(broadcastable=(True, False))]
    if not rows or out.type.broadcastable != (False, False) \
            or any([reader != "output" and type(reader.op) is Elemwise for reader, _ in fgraph.clients[out]]):
        return None
    return rows[0]


def _total(scales, dtype):
    """Return the sum of scales as a 0-d variable."""
    number = sum([scale.number for scale in scales if not scale.variables])
    symbolic = [scale.build(dtype) for scale in scales if scale.variables]
    if not symbolic:
        return constant(number, dtype=dtype)
    if number:
        symbolic.insert(0, constant(number, dtype=dtype))
    return apply_wide("add", symbolic, dtype)


def into(target, alpha, product, beta):
    """Return ``alpha * product + beta * target`` as one op. Only Gemm and Gemv scale the target, and spread a row."""
    x, y = product.owner.inputs
    ranks = x.type.ndim, y.type.ndim
    if ranks == (2, 2):
        is_outer = x.type.broadcastable[1] and y.type.broadcastable[0]
        if is_outer and constant_value(beta) == 1 and target.type == product.type:
            return blas.ger(target, alpha, x.dimshuffle(0), y.dimshuffle(1))
        return blas.gemm(target, alpha, x, y, beta)
    if ranks == (2, 1):
        return blas.gemv(target, alpha, x, y, beta)
    if ranks == (1, 2):
        return blas.gemv(target, alpha, y.dimshuffle(1, 0), x, beta)
    return None


def _with_rest(target, others, out):
    """Return ``target`` plus the remaining terms."""
    terms = [target]
    for leaf, scales in others:
        for scale in scales:
            terms.append(_rescaled(leaf, scale, out))
    return apply_wide("add", terms, out.type.dtype)


def _rescaled(leaf, scale, out):
    """Return a remaining term. It is cast before it is negated: unsigned integers would wrap around."""
    if not scale.variables and scale.number in (1, -1):
        return leaf if scale.number == 1 else apply_op("neg", _cast(leaf, out.type.dtype))
    return apply_op("mul", scale.build(out.type.dtype), leaf)


def dot_to_dot22(fgraph, node):
    """``Dot`` of two matrices of one floating point dtype."""
    x, y = node.inputs
    if x.type.ndim == y.type.ndim == 2 and x.type.dtype == y.type.dtype and x.type.dtype in BLAS_DTYPES:
        return blas.dot22(x, y)
    return None


def lift_transpose(fgraph, node):
    """``dot(x, y).T -> dot(y.T, x.T)``, if the product has no other readers."""
    product = node.inputs[0]
    if node.op.new_order != (1, 0) or key(product) not in PRODUCTS or readers_in(fgraph)(product) != 1:
        return None
    x, y = product.owner.inputs
    if x.type.ndim != 2 or y.type.ndim != 2:
        return None
    return product.owner.op(_transposed(y), _transposed(x))


def is_transposed(variable):
    """Whether each matrix of a stack is the transpose of one of the node's input."""
    if key(variable) != "DimShuffle":
        return False
    rank = variable.type.ndim
    return rank >= 2 and variable.owner.inputs[0].type.ndim == rank and \
        variable.owner.op.new_order == (*range(rank - 2), rank - 1, rank - 2)


def _transposed(variable):
    return variable.owner.inputs[0] if is_transposed(variable) else variable.dimshuffle(1, 0)


def scaled_dot22(fgraph, node):
    """``c * Dot22(x, y)`` as one call, if nothing else is multiplied."""
    readers, out = readers_in(fgraph), node.outputs[0]
    parts = _scaled(Scale(), node.inputs)
    if parts is None:
        return None
    scale, leaf = parts[0]
    if key(leaf) != "Dot22" or readers(leaf) != 1 or leaf.type != out.type:
        return None
    if any([reader == "output" for reader, _ in fgraph.clients[out]]) or \
            not all([type(reader.op) is Elemwise for reader, _ in fgraph.clients[out]]):
        scaled = blas.dot22scalar(*leaf.owner.inputs, scale.build(out.type.dtype))
        scaled.owner._position = Traces([leaf.owner._position, node._position], in_parts=True)
        return scaled
    return None


REWRITES = [
    Rewrite("local_lift_transpose_through_dot", ("DimShuffle",), lift_transpose, (FAST_RUN,), of=PRODUCTS,
            changes="rounding"),
    Rewrite("local_dot_to_dot22", ("Dot",), dot_to_dot22, (FAST_RUN,), changes="rounding"),
    Rewrite("gemm_optimizer", ("add", "sub"), accumulate, (FAST_RUN, "local_gemm_to_gemv", "local_gemm_to_ger"),
            beside=PRODUCTS, changes="nan range rounding"),
    Rewrite("local_dot22_to_dot22scalar", ("mul",), scaled_dot22, (FAST_RUN,), beside=("Dot22",),
            changes="nan range rounding"),
]
