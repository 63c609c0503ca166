"""A program as rows: what text listings and pages show, in the order in which it runs.

A row is an instruction, or a few that belong together: LOAD and PREPARE have none, a DROP is said where the value is
read for the last time, and STORE has one only if the stored value is not named after the shared variable. The bodies of
loops are listings of their own, inside the row of the loop.
"""
import os
from collections import Counter, namedtuple
from math import prod

from phintys.vm.explaining.memory_notes import OWNERS, remarks_on_results
from phintys.vm.explaining.names import Names
from phintys.vm.linking.plan import Planner
from phintys.vm.places import TRANSFERS
from phintys.vm.program import DTYPES
from phintys.vm.texts import shortened

# position: of the instruction, or None; depth: of indentation; formulas: "name: type = ..." or other code, one a line;
# remarks: short texts; notes: longer ones; lines: of the user, as `lines_of` returns them; cells: that it gives values
# to; bytes: of these values, or None; seconds: of a call on average, or None; bodies: (title, Listing) of a loop.
Row = namedtuple("Row", "position depth formulas remarks notes lines cells bytes seconds at_device bodies",
                 defaults=((), (), (), (), None, None, None, ()))

# What is known of a call. shapes: of each cell, or None; seconds: of each instruction, or None; at_device: how many
# seconds a device worked on each instruction, or None.
Measured = namedtuple("Measured", "shapes seconds at_device", defaults=(None, None, None))

STEP_LETTERS = "tuvw"               # what a step is called in the bodies of loops inside each other
SILENT = frozenset(["LOAD", "HALT", "BACK", "FAIL", "PROFILE"])         # opcodes that have no row
PLAIN_PROVIDER = "phintys"          # built-in loops, for any processor


class Listing:
    """A program as rows.

    Parameters
    ----------
    program : Program
    measured : Measured
        Shapes and times of calls, as far as they are known.
    reasons : sequence of (Variable, Variable, str)
        A value, another value whose memory it could take, and the reason why it does not.
    bodies_of : callable
        Maps an instruction's position and kernel or call to a list of ``(title, program, Measured, reasons)``: of a
        loop the body, and before it what is computed ahead for many steps.
    arguments, results : sequence of str
        Names for arguments and results without names.
    outside : Names, optional
        The names around the program, if it is the body of a loop.

    Attributes
    ----------
    names : Names
    leaves : list of Row
        Arguments, shared variables, constants that formulas name.
    rows : list of Row
    """

    def __init__(self, program, measured=Measured(), reasons=(), bodies_of=lambda position, made: [], arguments=(),
                 results=(), outside=None):
        self.program, self.measured, self._bodies_of = program, measured, bodies_of
        self._is_body = bool(arguments)
        self.instructions = program.symbolic()
        self.texts = program.instruction_texts()
        self.names = Names(program, arguments, results, outside)
        self._reasons = self._reasons_by_cell(reasons)
        self._checked = {}                      # outputs of PREPARE → its position
        self._ends = []                         # where indented regions end
        self.updated = {instruction.a: instruction.b for instruction in self.instructions
                        if instruction.name == "STORE"}
        self.leaves = list(self._leaf_rows())
        self._starts = {instruction.b: instruction.a for instruction in self.instructions if instruction.name == "NEED"}
        self.rows = []
        for position, instruction in enumerate(self.instructions):
            self._add(position, instruction)
        self.rows = self._with_blocks()

    def counts(self):
        """Return how often each opcode is in the code."""
        return Counter([instruction.name for instruction in self.instructions])

    # ---- leaves ------------------------------------------------------------------------------------------------------
    def _leaf_rows(self):
        read = {cell for instruction in self.instructions for cell in instruction.reads()}
        stored = {instruction.a: instruction.b for instruction in self.instructions if instruction.name == "LOAD"}
        for cell, layout in enumerate(self.program.cells):
            name = f"{self.names[cell]}: {self.type_of(cell)}"
            if layout.kind == "argument":
                remarks = () if self._is_body else (OWNERS[layout.kind, layout.access],)
                yield Row(None, 0, (name,), remarks, cells=(cell,), bytes=self.bytes_of(cell))
            elif layout.kind == "shared":
                new = self.updated.get(stored.get(cell))
                remarks = ("shared",) if new is None else ("shared", f"its new value is {self.names[new]}")
                yield Row(None, 0, (name,), remarks, cells=(cell,), bytes=self.bytes_of(cell))
            elif layout.kind == "constant" and cell in read and getattr(layout.value, "size", 1) != 1:
                yield Row(None, 0, (f"{name} = {shortened(layout.value)}",), cells=(cell,))

    def type_of(self, cell):
        """Return the dtype and shape of a cell, as ``float64[3,?]``."""
        dtype, bracket, pattern = self.program.cell_texts()[cell].type.partition(" (")
        layout, shapes = self.program.cells[cell], self.measured.shapes
        if layout.typenum < 0 or not bracket:
            return self.program.cell_texts()[cell].type
        if shapes is not None and shapes[cell] is not None:
            lengths = shapes[cell]
        elif layout.variable is not None:
            lengths = ["?" if length is None else length for length in layout.variable.type.shape]
        else:
            lengths = pattern[:-1].split(", ") if pattern != ")" else ()
        return dtype + (f"[{','.join(map(str, lengths))}]" if lengths else "")

    def bytes_of(self, cell):
        """Return the bytes of a cell's value in the last call, or None."""
        typenum, shapes = self.program.cells[cell].typenum, self.measured.shapes
        if typenum < 0 or shapes is None or shapes[cell] is None:
            return None
        return prod(shapes[cell]) * DTYPES[typenum].itemsize

    # ---- instructions ------------------------------------------------------------------------------------------------
    def _add(self, position, instruction):
        while self._ends and self._ends[-1] <= position:
            self._ends.pop()
        row = getattr(self, f"_{instruction.name.lower()}", self._other)(position, instruction)
        if row is not None:
            self.rows.append(row)

    def _row(self, position, *formulas, **fields):
        _, seconds, at_device = self.measured
        return Row(position, len(self._ends), formulas, lines=self.texts[position].lines,
                   seconds=None if seconds is None else seconds[position],
                   at_device=None if at_device is None else at_device[position], **fields)

    def _other(self, position, instruction):
        """An opcode that this file does not know."""
        if instruction.name in SILENT:
            return None
        cells = self.names.of(dict.fromkeys(instruction.touches()))
        return self._row(position, f"{instruction.name.lower()} {cells}".rstrip())

    def _computed(self, position, instruction):
        """What a node computes."""
        text, cells = self.texts[position], tuple(instruction.writes())
        if not cells and not text.operation:            # what the linker has added
            kernel = type(self.program.kernels[instruction.a])
            return self._row(position, TRANSFERS.get(kernel, kernel.__name__))
        views = dict(instruction.views)
        whose = {cell: f"{self.names[cell]} " if len(cells) > 1 else "" for cell in cells}
        remarks = [f"{whose[cell]}in place of {self.names[self.program.cells[cell].donor]}" for cell in cells
                   if self.program.cells[cell].donor is not None]
        remarks += [f"a view of {self.names[source]}" for source in dict.fromkeys(views.values())]
        checked = self._checked.get(cells)
        remarks += [f"checked at {checked}"] if checked is not None else []
        remarks += ["by perform, in Python"] if instruction.name == "CALL" else []
        notes = [whose[cell] + note for cell in cells for note in self._reasons.get(cell, ())]
        notes += self._loops(instruction)
        sizes = [self.bytes_of(cell) for cell in cells if cell not in views]
        size = None if self.measured.shapes is None else sum([size for size in sizes if size is not None])
        return self._row(position, *self._formulas(text, cells), remarks=tuple(remarks),
                         notes=tuple(dict.fromkeys(notes)), cells=cells,
                         bytes=size, bodies=self._bodies(position, instruction, text))

    _kernel = _call = _run = _computed

    def _formulas(self, text, cells):
        lines = text.formula or [(tuple(range(len(cells))), text.operation)]
        for target, formula in lines:
            formula = self.names.filled(formula)
            if isinstance(target, str):
                yield f"{target} = {formula}"
            else:
                outputs = target if isinstance(target, tuple) else (target,)
                named = [f"{self.names[cells[output]]}: {self.type_of(cells[output])}" for output in outputs]
                yield f"{', '.join(named)} = {formula}"

    def _loops(self, instruction):
        """Whose loops compute, if they are not all the same."""
        if instruction.name == "CALL":
            return []
        found = {}
        for name, provider in getattr(self.program.kernels[instruction.a], "providers", ()):
            found.setdefault(provider, {})[name] = None
        if set(found) <= {PLAIN_PROVIDER} and not any(["(" in name for names in found.values() for name in names]):
            return []
        return ["loops: " + "; ".join([f"{', '.join(names)}: {provider}" for provider, names in found.items()])]

    def _bodies(self, position, instruction, text):
        """What a loop computes ahead, if anything, and what it does in a step, as (title, Listing)."""
        made = self.program.calls[instruction.a] if instruction.name == "CALL" else self.program.kernels[instruction.a]
        found = self._bodies_of(position, made)
        names = text.bodies[-len(found):] or [((), ())] * len(found)
        step = f"[{STEP_LETTERS[self.names.depth % len(STEP_LETTERS)]}"
        bodies = []
        for (title, program, measured, reasons), own in zip(found, names):
            arguments, results = [[self.names.filled(name.replace("[t", step)) for name in part] for part in own]
            bodies.append((title, Listing(program, measured, reasons, self._bodies_of, arguments, results, self.names)))
        return bodies

    def _prepare(self, position, instruction):
        self._checked[tuple(instruction.writes())] = position

    def _commit(self, position, instruction):
        return self._row(position, "commit", remarks=("nothing can fail from here on",))

    def _store(self, position, instruction):
        name, value = self.names.of_container(instruction.a), self.names[instruction.b]
        return None if value == f"{name}'" else self._row(position, f"store {name} = {value}")

    def _copy(self, position, instruction):
        return self._row(position, f"{self.names[instruction.a]}: {self.type_of(instruction.a)} = "
                                   f"copy of {self.names[instruction.b]}", remarks=tuple(filter(None, [
                                       instruction.remark])), cells=(instruction.a,),
                         bytes=self.bytes_of(instruction.a))

    def _own(self, position, instruction):
        return self._row(position, f"own {self.names[instruction.a]}",
                         remarks=("copied if anything else refers to its memory",))

    def _passed_on(self, position, instruction):
        return self._row(position, f"{self.names[instruction.a]}: {self.type_of(instruction.a)} = "
                                   f"{self.names[instruction.b]}", cells=(instruction.a,),
                         remarks=("both have one memory",) if instruction.name == "ALIAS" else ())

    _alias = _move = _passed_on

    def _drop(self, position, instruction):
        text = f"frees {self.names.of(instruction.cells)}"
        last = self.rows[-1] if self.rows else None
        if last is None or not last.cells or last.depth < len(self._ends):
            return self._row(position, text)
        self.rows[-1] = last._replace(remarks=(*last.remarks, text))
        return None

    def _result(self, position, instruction):
        copied = remarks_on_results(self.program, instruction, self.names)
        borrowed = [cell for cell in instruction.cells
                    if cell not in copied and self.program.cells[cell].access in ("lent", "shown")]
        which = "" if len(borrowed) == len(instruction.cells) else f"{self.names.of(borrowed)} "
        return self._row(position, f"return {self.names.of(instruction.cells)}", notes=tuple(copied.values()),
                         remarks=(f"{which}without a copy: borrowed",) if borrowed else ())

    def _plan(self, position, instruction):
        return self._row(position, f"plan the places of {len(Planner(self.program).cells)} values",
                         remarks=("by the shapes of arguments and shared variables",))

    def _together(self, position, instruction):
        row = self._row(position, "side by side, if that pays:")
        self._ends.append(position + 1 + instruction.a)
        return row

    # ---- branches ----------------------------------------------------------------------------------------------------
    def _jumpz(self, position, instruction):
        row = self._row(position, f"if {self.names[instruction.b]}:")
        last = self.instructions[instruction.a - 1]             # the end of the first arm, if there are two
        has_else = last.name == "JUMP" and last.a > instruction.a
        self._ends.append(last.a if has_else else instruction.a)
        return row

    def _jump(self, position, instruction):
        return self._row(position, "else:")._replace(depth=max(0, len(self._ends) - 1))

    def _need(self, position, instruction):
        return self._row(position, f"run block {instruction.b}", remarks=("unless it has run in this call",))

    def _with_blocks(self):
        """Return the rows, each block after the first row that needs it."""
        if not self._starts:
            return self.rows
        blocks = self._blocks()
        first = min(self._starts.values())
        rows, waiting = [], [(iter([row for row in self.rows if row.position < first]), 0)]
        while waiting:
            following, depth = waiting[-1]
            row = next(following, None)
            if row is None:
                waiting.pop()
                continue
            rows.append(row._replace(depth=row.depth + depth))
            instruction = self.instructions[row.position]
            if instruction.name == "NEED" and instruction.b in blocks:
                waiting.append((iter(blocks.pop(instruction.b)), row.depth + depth + 1))
        return rows

    def _blocks(self):
        """Map blocks to their rows."""
        starts = {start: block for block, start in self._starts.items()}
        blocks, block = {}, None
        for row in self.rows:
            block = starts.get(row.position, block)
            if block is not None:
                blocks.setdefault(block, []).append(row)
        return blocks

    def _reasons_by_cell(self, reasons):
        """Map cells to why they are not computed in the memory of others."""
        number, found = {}, {}
        for cell, layout in enumerate(self.program.cells):
            number.setdefault(layout.variable, cell)            # later cells of a variable are copies
        for value, source, why in reasons:
            if value in number and source in number:
                found.setdefault(number[value], []).append(f"not in place of {self.names[number[source]]}: {why}")
        return found


def line_texts(lines, main_file):
    """Return in a few words which lines of the user a row is of.

    Parameters
    ----------
    lines : sequence of (str, int, bool)
    main_file : str
        The file that need not be named.

    Returns
    -------
    str
        Empty if none is known.
    """
    groups = {}
    for file, line, is_gradient in sorted(lines, key=lambda line: line[2]):
        groups.setdefault((is_gradient, file), []).append(line)
    texts = []
    for (is_gradient, file), numbers in groups.items():
        numbers = sorted(set(numbers))
        text = f"line{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"
        text = text if file == main_file else f"{file if file[0] == '<' else os.path.basename(file)} {text}"
        texts.append(f"gradient of {text}" if is_gradient else text)
    return ", ".join(texts)
