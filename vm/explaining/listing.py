"""The disassembler: a program as text that can be read without a manual.

First the cells that exist before the code runs (arguments, shared values, constants), then one line an instruction with
the operation, the cells it reads and writes, the variables' names, what is overwritten or looked at, and the user's
line; then whose loops compute, whose memory is whose (``memory_notes.py``), and why what could be in place is not.
What the opcodes mean is printed from their table.
"""
from collections import Counter

from phintys.vm.explaining.memory_notes import memory_lines, remark_on, remarks_on_results
from phintys.vm.linking.plan import Planner
from phintys.vm.opcodes import DROP_LARGE, NOTES, OPCODES, RESULT_EMPTIES
from phintys.vm.places import HOST, TRANSFERS
from phintys.vm.texts import shortened


class _Numbered:
    """Cells by their numbers."""

    def __getitem__(self, cell):
        return f"C{cell}"


_NUMBERED = _Numbered()


def listing(program, manual=False, reasons=()):
    """The listing of a program.

    Parameters
    ----------
    program : Program
    manual : bool
        Append the table of the opcodes.
    reasons : sequence of (Variable, Variable, str)
        A value, another value whose memory it could take, and the reason why it does not.

    Returns
    -------
    str
    """
    instructions = program.symbolic()
    counts = Counter([instruction.name for instruction in instructions])
    lines = [f"program {program.name or '(no name)'}: {len(instructions)} instructions, "
             f"{counts['KERNEL']} kernels, {counts['CALL']} Python calls, {len(program.cells)} cells, "
             f"allow_gc={program.allow_gc}"]
    lines += _leaf_lines(program, instructions)
    lines += [_code_line(program, position, instruction, text)
              for position, (instruction, text) in enumerate(zip(instructions, program.instruction_texts()))]
    lines += _loop_lines(program, instructions)
    lines += _device_lines(program, instructions)
    lines += memory_lines(program)
    lines += _reason_lines(program, reasons)
    if manual:
        lines += manual_lines()
    return "\n".join(lines) + "\n"


def manual_lines():
    """Return the opcode table as lines of text."""
    lines = ["", "C[x] cell, K[x] kernel, N[x] node, S[x] shared variable's storage, P operand pool"]
    lines += [f"{opcode.name:<7} {opcode.operands:<6} {opcode.effect}" for opcode in OPCODES]
    return lines + list(NOTES)


def _leaf_lines(program, instructions):
    """Yield lines for cells that are not computed; constants that only kernels contain are left out."""
    read = {cell for instruction in instructions for cell in instruction.reads()}
    texts = program.cell_texts()
    for number, layout in enumerate(program.cells):
        if layout.kind == "constant" and number not in read:
            continue
        if layout.kind == "constant":
            yield f"  C{number:<4} constant  {texts[number].type:<18} {shortened(layout.value)}"
        elif layout.kind != "value":
            yield f"  C{number:<4} {layout.kind:<9} {texts[number].type:<18} {texts[number].title}"


def _loop_lines(program, instructions):
    """Whose loops compute the outputs of each kernel that is made of loops."""
    lines = []
    for instruction in instructions:
        if instruction.name in ("KERNEL", "RUN"):
            names = {}
            # Only kernels that choose between loops have this attribute.
            for name, provider in getattr(program.kernels[instruction.a], "providers", ()):
                names.setdefault(provider, dict.fromkeys([name])).setdefault(name)
            whose = "; ".join([f"{', '.join(loops)}: {provider}" for provider, loops in names.items()])
            if whose:
                lines.append(f"  {_cells(instruction.writes()):<5} {whose}")
    return ["loops", *lines] if lines else []


def _device_lines(program, instructions):
    """What runs on a device, and what is transferred there or from there."""
    lines = []
    for instruction in instructions:
        if instruction.name not in ("KERNEL", "RUN"):
            continue
        kernel = type(program.kernels[instruction.a])
        if all([program.cells[cell].place == HOST for cell in (*instruction.reads(), *instruction.writes())]):
            continue
        what = TRANSFERS.get(kernel)
        lines.append(f"  {_cells(instruction.writes()):<5} {kernel.__name__}" if what is None
                     else f"  {_cells(instruction.writes()):<5} transferred {what}: {_cells(instruction.reads())}")
    return ["device", *lines] if lines else []


def _reason_lines(program, reasons):
    """Return lines for the values that are not computed in place, with the reasons."""
    number = {}
    for cell, layout in enumerate(program.cells):
        number.setdefault(layout.variable, cell)            # later cells of a variable are copies
    lines = [f"  C{number[value]:<4} not over C{number[source]}: {why}" for value, source, why in reasons
             if value in number and source in number]
    return ["not in place", *lines] if lines else []


def _cells(numbers):
    return ", ".join(f"C{number}" for number in numbers)


def _code_line(program, position, instruction, text):
    operands, remark = _DESCRIBE.get(instruction.name, _describe_nothing)(program, instruction, text)
    return f"{position:>5}  {instruction.name:<7} {operands:<52}  {remark}".rstrip()


def _describe_nothing(program, instruction, text):
    return "", ""


def _describe_node(program, instruction, text):
    memory = remark_on(program, instruction)
    remarks = [*text.names, f"[{memory}]" if memory else "", text.made_at]
    return f"{_cells(instruction.writes())} := {text.operation}", " ".join(filter(None, remarks))


def _describe_load(program, instruction, text):
    return f"C{instruction.a} := S{instruction.b}", program.containers[instruction.b].name or ""


def _describe_store(program, instruction, text):
    return f"S{instruction.a} := C{instruction.b}", program.containers[instruction.a].name or ""


def _describe_copy(program, instruction, text):
    return f"C{instruction.a} := copy of C{instruction.b}", instruction.remark


def _describe_alias(program, instruction, text):
    emptied = _cells(instruction.empties(program.cells))
    return f"C{instruction.a} := C{instruction.b}", f"{emptied} is empty" if emptied else "one memory"


def _describe_jump(program, instruction, text):
    return f"to {instruction.a}", ""


def _describe_condition(program, instruction, text):
    return f"to {instruction.a} if C{instruction.b} is 0", " ".join(filter(None, [text.title, text.made_at]))


def _describe_need(program, instruction, text):
    return f"block {instruction.b} at {instruction.a}", "once"


def _describe_back(program, instruction, text):
    return f"end of block {instruction.a}", ""


def _describe_own(program, instruction, text):
    return f"C{instruction.a}", "copied if shared"


def _describe_drop(program, instruction, text):
    habit = "memory above 4 KiB stays with the frame" if instruction.flags & DROP_LARGE else ""
    return _cells(instruction.cells), habit


def _describe_result(program, instruction, text):
    habit = "to the caller" if instruction.flags & RESULT_EMPTIES else "to the caller; small buffers are kept"
    return _cells(instruction.cells), "; ".join([habit, *remarks_on_results(program, instruction, _NUMBERED).values()])


def _describe_halt(program, instruction, text):
    return _cells(instruction.cells), "emptied when the updates are visible" if instruction.cells else ""


def _describe_plan(program, instruction, text):
    return f"{len(Planner(program).cells)} cells", "by the shapes of arguments and shared values"


def _describe_together(program, instruction, text):
    return f"the next {instruction.a}", "branches side by side if that pays"


_DESCRIBE = {
    "TOGETHER": _describe_together,
    "PLAN": _describe_plan, "HALT": _describe_halt,
    "KERNEL": _describe_node, "CALL": _describe_node, "PREPARE": _describe_node, "RUN": _describe_node,
    "LOAD": _describe_load, "STORE": _describe_store,
    "COPY": _describe_copy, "OWN": _describe_own, "DROP": _describe_drop, "RESULT": _describe_result,
    "ALIAS": _describe_alias, "MOVE": _describe_alias, "JUMP": _describe_jump, "JUMPZ": _describe_condition,
    "NEED": _describe_need, "BACK": _describe_back,
}
