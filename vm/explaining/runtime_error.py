"""Run-time errors that say which node failed and where the user made it.

The exception keeps its type, so that programs which catch it still do; its message gains the node, the shapes and the
small values of its inputs, and the source line. An exception that cannot be rebuilt from a message is passed on
unchanged, with a note where Python supports notes.
"""
from phintys.graph import hooks
from phintys.graph.errors import shown, with_details
from phintys.graph.scratchpad import position_of
from phintys.graph.trace import backtrace, described_frame, gradient_sources, is_in_parts, traces_of
from phintys.vm.described_node import DescribedVariable
from phintys.vm.opcodes import OPCODES

SHOWN_SIZE = 5                  # elements: a larger array is not shown
TURNS = frozenset(["JUMP", "JUMPZ", "NEED", "BACK", "HALT"])            # the next instruction may not follow


def explained(error, program, position, operands, at_length):
    """Return the error with a description of the failing instruction.

    Parameters
    ----------
    error : BaseException
    program : Program
    position : int
        The number of the instruction.
    operands : list of (shape, strides, value or None) or None
        Its inputs, as they were when it failed.
    at_length : callable
        Maps a node to more lines about it.

    Returns
    -------
    BaseException
        ``error`` itself if it must not be changed (KeyboardInterrupt, SystemExit, ...).
    """
    if not isinstance(error, Exception):
        return error
    node = None if program.nodes is None else program.nodes[position]
    if node is not None and node.op.explains_errors:
        return error
    if node is None:
        details = _without_node(program, position, operands)
    else:
        details = describe_node(node, position, operands, [*advice(error, node), *at_length(node)])
    return with_details(error, details)


def later_checks(error, program, position):
    """Return the instructions after a failed one that may compare lengths, if these may be the reason: an index is out
    of range of an array that is too short for another operand, whose elements are taken first."""
    if not isinstance(error, IndexError) or program.nodes is None:
        return []
    codes = [OPCODES[instruction.op].name for instruction in program.instructions()]
    sure = next((number for number in range(position, len(codes)) if codes[number] in TURNS), len(codes))
    return [number for number, node in enumerate(program.nodes) if number > position and node is not None
            and (number < sure or hasattr(node.op, "disagreement"))]


def reason_of(error, program, position, checks):
    """Return the error that a later check would have raised, and its instruction; else those that are given.

    Parameters
    ----------
    error : BaseException
    program : Program
    position : int
        The number of the instruction that failed.
    checks : list of (int, list)
        Of `later_checks`, with operands as in `explained`.

    Returns
    -------
    tuple (BaseException, int)
    """
    done = set(program.nodes[:position]) if checks else ()
    for number, operands in checks:
        node = program.nodes[number]
        found = node.op.disagreement(node, operands, done) if hasattr(node.op, "disagreement") else None
        if found is not None:
            return found, number
    if checks and hooks.disagreement is not None:
        found = hooks.disagreement([program.nodes[number] for number, _ in checks], _shapes(program, checks, done))
        if found is not None:
            node, text = found
            return ValueError(text), program.nodes.index(node)
    return error, position


def _shapes(program, checks, done):
    """The shapes of inputs of later instructions that exist already: a dict from variables to tuples."""
    found = {}
    for number, operands in checks:
        inputs = program.nodes[number].inputs
        if operands is not None and len(operands) == len(inputs):         # else some are part of the kernel
            found.update([(variable, operand[0]) for variable, operand in zip(inputs, operands)
                          if operand is not None and (variable.owner is None or variable.owner in done)])
    return found


def _without_node(program, position, operands):
    """Where an instruction failed that no node is known of."""
    text = program.instruction_texts()[position]
    title = f"at instruction {position} ({OPCODES[program.instructions()[position].op].name}) of "
    title += program.name or "a phintys function"
    if text.operation:
        title += f": {text.operation}"
    return "\n".join([f"{title}, made at {text.made_at}" if text.made_at else title, *_operand_lines(operands)])


def advice(error, node):
    """Return lines of advice for errors whose message alone does not help."""
    if isinstance(error, IndexError) and hasattr(error, "element"):
        return [f"The index is element {error.element} of the indices (the first is element 0)."]
    if isinstance(error, ValueError) and "read-only" in str(error):
        return [f"The inputs of perform are read-only, except those that the op's destroy_map names "
                f"({node.op.destroy_map}): copy what is to be changed, or declare it there."]
    return []


def describe_node(node, position, operands, more=()):
    """Describe which node failed, its inputs, and where it was made; ``operands`` are as in `explained`."""
    lines = [f"Apply node that caused the error: {node}",
             *_formula_lines(node),
             f"Instruction: {position}",
             f"Inputs types: [{', '.join(str(variable.type) for variable in node.inputs)}]"]
    lines += _operand_lines(operands)
    shapes = None if operands is None else [None if operand is None else operand[0] for operand in operands]
    return "\n".join([*lines, *where_lines(node, shapes), *more])


def _formula_lines(node):
    """What the node computes, in Python's notation; nothing if that says no more than the node itself."""
    if not node.outputs or node.outputs[0].name is not None:
        return []
    text = shown(node.outputs[0])
    return [f"Formula: {text}"] if text.replace(" ", "") != str(node).replace(" ", "") else []


def _operand_lines(operands):
    """What an instruction met, as lines."""
    if not operands:
        return []
    return [f"Inputs shapes: {[operand and operand[0] for operand in operands]}",
            f"Inputs strides: {[operand and operand[1] for operand in operands]}",
            f"Inputs values: [{', '.join([_shown(operand) for operand in operands])}]"]


def where_lines(node, shapes=None):
    """Return lines that say where the user made a node: the calls that led there, if several, then the line itself.

    Where a node was made from several, the ``shapes`` of the inputs may show which part failed; only that part is then
    described. Otherwise all parts are.
    """
    position = position_of(node.outputs[0] if node.outputs else node)
    if is_in_parts(position) and shapes is not None and len(shapes) == len(node.inputs):
        part = node.op.part_at_fault(node, shapes)
        position = position if part is None else position.parts[part]
    return [*_made_lines(traces_of(position)), *_gradient_lines(gradient_sources(position))]


def _made_lines(traces):
    if len(traces) < 2:
        return [*(backtrace(traces[0]) if traces else ()),
                f"Made at: {described_frame(traces[0]) if traces else 'unknown'}"]
    lines = dict.fromkeys([described_frame(trace) for trace in traces])
    if len(lines) == 1:
        return [f"Made at: {lines.popitem()[0]}"]
    return ["Made at one of these lines, which are computed together:", *[f"  {line}" for line in lines]]


def _gradient_lines(sources):
    lines = list(dict.fromkeys([described_frame(trace) for trace in sources]))
    if len(lines) < 2:
        return [f"It belongs to the gradient of: {line}" for line in lines]
    return ["It belongs to the gradient of these lines:", *[f"  {line}" for line in lines]]


def _shown(operand):
    return "not shown" if operand is None or operand[2] is None else repr(operand[2])


def where_line(title, thing):
    """Return ``title: File "x.py", line 12`` for the user's line that made a variable or node."""
    where = getattr(thing, "where", None)
    if not where:
        return f"{title}: unknown"
    return f'{title}: File "{where[0]}", line {where[1]}'


def filtered(type_, value, strict, allow_downcast, owner):
    """Return ``type_.filter(value)``; an error also names the variable that the value was meant for."""
    try:
        return type_.filter(value, strict=strict, allow_downcast=allow_downcast)
    except (TypeError, ValueError) as error:
        raise with_details(error, f"The value was meant for {owner()}, which stays as it was.") from error.__cause__


def argument_error(error, function, index, value):
    """Return the error for a value that does not fit its argument, with the argument's name and position."""
    variable = function.program.cells[index].variable or DescribedVariable(function.argument_types[index])
    return bad_argument(error, function.name, function.argument_names[index], function.position_of(index), variable,
                        value)


def bad_argument(error, function_name, name, position, variable, value):
    """Return the error for a value that does not fit the input ``variable``."""
    title = f'"{name}" ' if name else ""
    lines = [f"Bad input argument with name {title or 'None '}to phintys function with name "
             f'"{function_name}" at index {position} (0-based). {where_line("Declared at", variable)}',
             f"Expected {variable.type}, got {_kind(value)}.", str(error)]
    try:
        return type(error)("\n".join(lines))
    except Exception:
        return TypeError("\n".join(lines))


def _kind(value):
    dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", None)
    if dtype is None or not isinstance(shape, tuple):       # a class or a variable has both in another sense
        return f"a {type(value).__name__}"
    return f"a {type(value).__name__} of dtype {dtype} and shape {shape}"
