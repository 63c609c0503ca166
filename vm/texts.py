"""What listings, errors and reports say of cells and instructions: texts, worked out from a graph, kept without it."""
import os
from collections import namedtuple

from phintys.graph import hooks
from phintys.graph.trace import lines_of
from phintys.graph.variable import Constant

CONSTANT_WIDTH = 40

# title: the variable as it prints; name: its own, or None; type: its type in a few words.
CellText = namedtuple("CellText", "title name type")

# operation: the op and its inputs, as `add(C0, 2.0)`; title: the op alone; names: of its outputs, those that have one;
# made_at: the user's line, as `program.py:12`, or ""; lines: of the user, as ``lines_of`` returns them; formula: lines
# ``(target, text)``, see ``ops/formulas.py``, in which ``{C0}`` is the name of a cell; words: for each output a short
# name; bodies: of a loop the names (arguments, results) of what it computes ahead, if anything, and of its body.
InstructionText = namedtuple("InstructionText", "operation title names made_at lines formula words bodies")

NO_TEXT = InstructionText("", "", (), "", (), (), (), ())


def cell_text(variable, is_object):
    """What is said of a variable's cell."""
    type_ = variable.type
    if is_object:
        return CellText(str(variable), variable.name, str(type_))
    pattern = ", ".join("1" if broadcastable else "?" for broadcastable in type_.broadcastable)
    return CellText(str(variable), variable.name, f"{type_.dtype} ({pattern})")


def instruction_text(instruction, layouts):
    """What is said of an instruction that was lowered from a node; of others, nothing."""
    node = instruction.node
    if node is None:
        return NO_TEXT
    operation = f"{node.op}({_inputs(instruction, layouts)})" if instruction.computes() else ""
    where = node.outputs[0].where if node.outputs else None
    return InstructionText(operation, str(node.op), tuple([output.name for output in node.outputs if output.name]),
                           f"{os.path.basename(where[0])}:{where[1]}" if where else "",
                           tuple(lines_of(node._position)), *_formula(instruction, layouts))


def is_number(variable):
    """Whether a variable is written as its value: a constant of one element, or of a type without a layout."""
    return isinstance(variable, Constant) and getattr(variable.data, "size", 1) == 1


def number_text(variable):
    """The value of a constant of which `is_number` is true."""
    value = variable.data
    return shortened(value.reshape(()) if hasattr(value, "reshape") else value)


def cell_name(cell):
    """The place of a cell's name in a text; characters that no name or op contains."""
    return f"\x01{cell}\x02"


def _formula(instruction, layouts):
    """What the outputs of an instruction are: lines of formulas, words for the outputs, names in the body of a loop."""
    node, formulas = instruction.node, hooks.formulas and hooks.formulas()
    if formulas is None or not instruction.computes():
        return (), (), ()
    number = cells_of_inputs(node, instruction.reads(), layouts)
    texts = [number_text(variable) if is_number(variable) else cell_name(number[variable])
             for variable in node.inputs]
    outputs = [cell_name(cell) for cell in instruction.writes()]
    lines = formulas.formula(node.op, node, texts)
    if isinstance(lines, str):
        lines = [(tuple(range(len(outputs))) if len(outputs) > 1 else 0, lines)]
    lines = [(target, formulas.with_outputs(str(text), outputs)) for target, text in lines]
    words = tuple([formulas.result_name(node, index) for index in range(len(outputs))])
    return tuple(lines), words, formulas.names_in_body(node.op, texts, outputs)


def _inputs(instruction, layouts):
    """The inputs of a node as its instruction reads them; a constant that its kernel has inside, by its value."""
    number = cells_of_inputs(instruction.node, instruction.reads(), layouts)
    return ", ".join([f"C{number[variable]}" if variable in number else shortened(variable.data.reshape(()))
                      for variable in instruction.node.inputs])


def cells_of_inputs(node, cells, layouts):
    """Input of a node → its cell, from the input cells of its instruction.

    What has no cell is a constant that the node's kernel has inside. Cells of an inner graph's inputs and outputs are
    those of outer variables, so order counts, not the variable that a cell was made for.
    """
    known = {layouts[cell].variable for cell in cells}
    read = [variable for variable in node.inputs if variable in known or not isinstance(variable, Constant)]
    return dict(zip(node.inputs if len(cells) == len(node.inputs) else read, cells))


def shortened(value):
    """A value as a text that fits into a line."""
    text = " ".join(str(value).split())
    return text if len(text) <= CONSTANT_WIDTH else text[:CONSTANT_WIDTH - 3] + "..."
