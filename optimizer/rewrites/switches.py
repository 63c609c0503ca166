"""Moves ``switch`` out of arithmetic, so that a value that is not selected cannot turn the result into NaN.

    switch(c, 0, x) * y = switch(c, 0, x * y)      switch(c, a, b) * switch(c, x, y) = switch(c, a * x, b * y)

Gradients of a switch are products with zeros where the other branch was selected; if y is NaN or infinite there, 0 * y
is NaN. Quotients are treated in the same way. The branches are simplified separately afterwards, ``0 * log(x)`` to 0.
"""
from phintys.ops.elementwise.scalar import as_dtype
from phintys.ops.elementwise.scalar_op import SCALAR_OPS
from phintys.optimizer.engine.database import FAST_RUN, Rewrite
from phintys.optimizer.engine.forms import constant_value, is_inexact, key
from phintys.optimizer.engine.values import apply_op, constant_like


def zero_branch(variable):
    """Return 1 or 2, the input of the ``switch`` computing ``variable`` that is zero, else None."""
    if key(variable) != "switch":
        return None
    return next((number for number in (1, 2) if constant_value(variable.owner.inputs[number]) == 0), None)


def sunk(variable, number, operate):
    """Return the switch with 0 as input ``number``, and ``operate`` applied to the other branch."""
    inputs = list(variable.owner.inputs)
    inputs[3 - number] = operate(inputs[3 - number])
    inputs[number] = constant_like(0, inputs[3 - number])
    return apply_op("switch", *inputs)


def product_of_switch(fgraph, node):
    """``switch(c, 0, x) * y`` with the other factors in the branch."""
    if not is_inexact(node.outputs[0]):
        return None
    for position, variable in enumerate(node.inputs):
        number = zero_branch(variable)
        if number is not None and len(node.inputs) > 1:
            before, after = node.inputs[:position], node.inputs[position + 1:]
            return sunk(variable, number, lambda branch: apply_op("mul", *before, branch, *after))
    return None


def quotient_of_switch(fgraph, node):
    """``switch(c, 0, x) / y`` with the division in the branch; for ``//``, too."""
    numerator, divisor = node.inputs
    number = zero_branch(numerator)
    if number is None or not is_inexact(node.outputs[0]):
        return None
    return sunk(numerator, number, lambda branch: node.op(branch, divisor))


def switches_of_one_condition(fgraph, node):
    """An operation between switches that all have the same condition, as one switch."""
    if len(node.inputs) < 2 or not all([key(variable) == "switch" for variable in node.inputs]):
        return None
    condition = node.inputs[0].owner.inputs[0]
    if any([variable.owner.inputs[0] is not condition for variable in node.inputs]):
        return None
    # In the dtype of its switch, which a branch need not have: bools, for example, have no difference.
    return apply_op("switch", condition, *[node.op(*[as_dtype(variable.owner.inputs[number], variable.type.dtype)
                                                     for variable in node.inputs]) for number in (1, 2)])


BINARY = sorted([name for name, op in SCALAR_OPS.items() if op.nin == 2 and op.nout == 1 and name != "second"])

REWRITES = [
    Rewrite("local_merge_switch_same_cond", ("add", "mul", *BINARY), switches_of_one_condition, (FAST_RUN,),
            of=("switch",)),
    Rewrite("local_mul_switch_sink", ("mul",), product_of_switch, (FAST_RUN,), of=("switch",), changes="nan range"),
    Rewrite("local_div_switch_sink", ("true_div", "int_div"), quotient_of_switch, (FAST_RUN,), of=("switch",),
            changes="nan range"),
]
