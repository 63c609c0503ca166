"""Constant folding: nodes whose inputs are all constants are computed when the function is compiled.

Results of more than `LARGEST` elements that are not smaller than their inputs stay in the program: a function should
not store what it can compute quickly, such as ``zeros((10000, 10000))``.
"""
import numpy

from phintys.graph.errors import MethodNotDefined
from phintys.graph.read_only import inputs_for
from phintys.graph.thunks import compute
from phintys.graph.variable import Constant
from phintys.optimizer.engine.database import CONSTANT, FAST_COMPILE, FAST_RUN, Rewrite
from phintys.optimizer.engine.forms import constant_value, key_of

LARGEST = 1 << 16              # elements

# Ops that change a copy of their first input, or the input itself.
OVERWRITING = ("IncSubtensor", "AdvancedIncSubtensor1", "AdvancedIncSubtensor", "AdvancedBooleanIncSubtensor", "Gemm",
               "Gemv", "Ger")


def constant_folding(fgraph, node):
    """Compute a node of constants in Python."""
    for variable in node.inputs:
        if not isinstance(variable, Constant):
            return None
    op = node.op
    if key_of(op) == "Alloc" and _is_overwritten(fgraph, node.outputs[0]):
        return None
    if not node.inputs or op.destroy_map or not op.do_constant_folding(node) or too_large(node):
        return None
    storage = [[None] for _ in node.outputs]
    values = inputs_for(op, [copied(variable.data) if op.view_map else variable.data for variable in node.inputs])
    try:
        with numpy.errstate(all="ignore"):
            compute(op, node, values, storage)
    except MethodNotDefined:                        # the linker says so, too, with the line of the node
        return None
    return [out.type.make_constant(cell[0], name=None) for out, cell in zip(node.outputs, storage)]


def _is_overwritten(fgraph, variable):
    """Return whether a reader overwrites the value; an ``Alloc`` is then faster than copying a constant."""
    return any([reader == "output" or position == 0 and key_of(reader.op) in OVERWRITING
                for reader, position in fgraph.clients[variable]])


def copied(data):
    """Copy data, so that no constant is a view of another one's memory."""
    return data.copy() if isinstance(data, numpy.ndarray) else data


def too_large(node):
    """Return whether a node that makes an array from a shape would make a large one."""
    if key_of(node.op) not in ("Alloc", "ARange", "Eye"):
        return False
    size = 1
    for variable in node.inputs[1:]:
        value = constant_value(variable)
        size *= max(int(value), 1) if value is not None else 1
    return size > LARGEST


REWRITES = [Rewrite("constant_folding", (), constant_folding, (FAST_RUN, FAST_COMPILE), of=(CONSTANT,))]
