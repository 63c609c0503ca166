"""Assembly: builds the flat list of steps of a `Composite` from elementwise nodes.

Slots are numbered only at the end, because constants precede all steps in the numbering but are found between them;
until then, slots are identified by their variables. Nodes are added in an order in which they could run. A node whose
scalar op is a Composite contributes the steps of that Composite, so Composites are never nested.
"""
from phintys.graph.trace import is_in_parts
from phintys.graph.variable import Constant
from phintys.ops.types.dtypes import DTYPE_NAMES


def is_inlined(variable):
    """Whether a variable is a constant of one element, which becomes part of the fused kernel."""
    return isinstance(variable, Constant) and variable.data.size == 1


def parts_of(position, count):
    """The positions of the ``count`` steps of a node that has this position."""
    if is_in_parts(position) and len(position.parts) == count:
        return position.parts
    return (position,) * count


class Assembly:
    """The steps of a list of nodes, while the list is being built."""

    def __init__(self):
        self.inputs = {}               # variable -> number
        self.constants = {}            # (dtype, bytes) -> number
        self.constant_values = []
        self.steps = []                # (scalar op, operands), operands as ("i" | "c" | "s", number)
        self.slots = {}                # variable -> ("i" | "c" | "s", number)
        self.positions = []            # of each step: where the user made it

    def slot(self, variable):
        """The slot that holds the value of a variable."""
        slot = self.slots.get(variable)
        if slot is None:
            if is_inlined(variable):
                slot = self.constant(variable.data.reshape(()))
            else:
                slot = ("i", len(self.inputs))
                self.inputs[variable] = slot[1]
            self.slots[variable] = slot
        return slot

    def constant(self, value):
        """The slot of a constant."""
        signature = (DTYPE_NAMES[value.dtype.num], value.tobytes())
        number = self.constants.get(signature)
        if number is None:
            number = self.constants[signature] = len(self.constant_values)
            self.constant_values.append(value)
        return ("c", number)

    def step(self, scalar_op, operands):
        """The slot of a new step's result."""
        self.steps.append((scalar_op, operands))
        return ("s", len(self.steps) - 1)

    def add(self, node):
        """Append the steps of a node on numbers or of an elementwise node."""
        scalar_op = getattr(node.op, "scalar_op", node.op)
        slots = [self.slot(variable) for variable in node.inputs]
        if scalar_op.steps is None:
            self.positions.append(node._position)
            self.slots[node.outputs[0]] = self.step(scalar_op, slots)
            return
        self.positions.extend(parts_of(node._position, len(scalar_op.steps)))
        slots.extend(map(self.constant, scalar_op.constants))
        for inner, operands in scalar_op.steps:
            slots.append(self.step(inner, [slots[operand] for operand in operands]))
        for out, slot in zip(node.outputs, scalar_op.output_slots):
            self.slots[out] = slots[slot]

    def finish(self, outputs):
        """The arguments of `Composite.of_steps` that compute ``outputs`` from ``inputs``."""
        offset = {"i": 0, "c": len(self.inputs), "s": len(self.inputs) + len(self.constant_values)}
        steps = [(scalar_op, [offset[kind] + number for kind, number in operands])
                 for scalar_op, operands in self.steps]
        wanted = [self.slot(variable) for variable in outputs]
        return ([variable.type.dtype for variable in self.inputs], steps,
                [offset[kind] + number for kind, number in wanted], self.constant_values)
