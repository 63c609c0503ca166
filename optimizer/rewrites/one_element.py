"""Removes dimensions from elementwise operations on one element: ``f(x[None], 2) -> f(x, 2)[None]`` for a number x.

In operations with tensors, numbers get as many dimensions as the other operand. Without these dimensions, equal nodes
can be merged, rewrites find no dimshuffle between ``log`` and ``exp``, and all operations on numbers are fused.
"""
from phintys.graph.variable import Constant
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.elementwise.scalar_op import SCALAR_OPS
from phintys.optimizer.engine.database import FAST_RUN, Rewrite
from phintys.optimizer.engine.forms import key
from phintys.optimizer.engine.values import constant


def without_dimensions(fgraph, node):
    """An elementwise op of dimshuffled numbers and of constants is a dimshuffled number."""
    out = node.outputs[0]
    if not out.type.ndim or not all(out.type.broadcastable) or len(node.outputs) > 1:
        return None
    numbers = [_number(variable) for variable in node.inputs]
    if None in numbers or all([isinstance(variable, Constant) for variable in node.inputs]):
        return None
    return node.op(*numbers).dimshuffle(*["x"] * out.type.ndim)


def number_of_operation(fgraph, node):
    """``f(x, y[None]).dimshuffle() -> f(x.dimshuffle(), y)`` for a number y."""
    inner = node.inputs[0]
    if node.op.new_order or inner.owner is None or type(inner.owner.op) is not Elemwise \
            or len(inner.owner.outputs) > 1 or len(fgraph.clients[inner]) > 1:
        return None
    numbers = list(map(_number, inner.owner.inputs))
    if all([number is None for number in numbers]):
        return None
    return inner.owner.op(*[variable.dimshuffle() if number is None else number
                            for number, variable in zip(numbers, inner.owner.inputs)])


def _number(variable):
    """Return the variable without dimensions that this one is, or None."""
    if isinstance(variable, Constant):
        return constant(variable.data.item(), variable.type.dtype, 0) if variable.data.size == 1 else None
    inner = variable.owner.inputs[0] if key(variable) == "neg" else variable
    if key(inner) != "DimShuffle" or inner.owner.inputs[0].type.ndim:
        return None
    number = inner.owner.inputs[0]
    return number if inner is variable else variable.owner.op(number)


# A negation stays outside, where sums and products find it.
REWRITES = [Rewrite("local_one_element", sorted(set(SCALAR_OPS) - {"neg"}), without_dimensions, (FAST_RUN,),
                    of=("DimShuffle", "neg")),
            Rewrite("local_number_of_operation", ("DimShuffle",), number_of_operation, (FAST_RUN,),
                    of=sorted(SCALAR_OPS))]
