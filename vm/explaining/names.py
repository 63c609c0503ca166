"""A name for each cell of a program, so that listings can be read as formulas.

A variable's own name, if it has one; of a view, the name of what it looks at; of the new value of a shared variable
``w``, ``w'``; else a word for the op, with a number. Names are different from each other.
"""
import re

from phintys.vm.opcodes import OPCODES
from phintys.vm.texts import cell_name

ODD = re.compile(r"[^\w.'\[\]+-]+")
VIEW = "_view"
BY_KIND = {"argument": "argument", "shared": "shared", "constant": "constant", "value": "value"}


class Names:
    """The names of a program's cells.

    Parameters
    ----------
    program : Program
    arguments, results : sequence of str
        Names for the arguments, and for results without names of their own; as for the body of a loop.
    outside : Names, optional
        Names that values without names do not get, because they are used around the program.
    """

    def __init__(self, program, arguments=(), results=(), outside=None):
        self._program = program
        self._taken = set()
        self._next = {}                             # base of a name → the next number that may be free
        self.depth = 0 if outside is None else outside.depth + 1
        self._outside = set() if outside is None else outside._outside | outside._taken
        self._names = {}
        given = dict(enumerate(arguments))
        texts = program.cell_texts()
        for cell, layout in enumerate(program.cells):           # what exists before the code runs comes first
            if layout.kind in ("argument", "shared"):
                self._give(cell, given.get(cell) or texts[cell].name or BY_KIND[layout.kind])
            elif layout.kind == "constant":
                self._give(cell, texts[cell].name or "constant", None if texts[cell].name else 1)
        code = program.symbolic()
        self._loaded = {instruction.b: instruction.a for instruction in code if instruction.name == "LOAD"}
        new = {instruction.b: f"{self.of_container(instruction.a)}'" for instruction in code
               if instruction.name == "STORE"}
        returned = dict(zip(_results(program), results))
        for instruction, text in zip(code, program.instruction_texts()):
            for index, cell in enumerate(instruction.writes()):
                if cell not in self._names:
                    word = text.words[index] if index < len(text.words) else None
                    own = texts[cell].name or new.get(cell) or returned.get(cell)
                    if own or self._derived(instruction, cell):
                        self._give(cell, own or self._derived(instruction, cell))
                    else:
                        self._give(cell, word or BY_KIND["value"], 1)

    def __getitem__(self, cell):
        """The name of a cell."""
        if cell not in self._names:
            self._give(cell, BY_KIND[self._program.cells[cell].kind], 1)
        return self._names[cell]

    def of(self, cells):
        """Return the names of several cells, as one text."""
        return ", ".join([self[cell] for cell in cells])

    def filled(self, text):
        """Return a text with names instead of cells."""
        return re.sub(cell_name(r"(\d+)"), lambda found: self[int(found[1])], text)

    def of_container(self, container):
        """Return the name of the shared variable with a container, by its number."""
        if container in self._loaded:
            return self[self._loaded[container]]
        return self._program.containers[container].name or BY_KIND["shared"]

    def _derived(self, instruction, cell):
        """Return the name of a view or of a copy, by its source; None for other values."""
        source = dict(instruction.views).get(cell)
        if source is not None:
            return self[source].partition(VIEW)[0].partition("[")[0] + VIEW
        return f"{self[instruction.b]}_copy" if instruction.name == "COPY" else None

    def _give(self, cell, wanted, number=None):
        """Give a cell the name that is wanted; one with a number if the name is taken, or if a number is given."""
        base = name = ODD.sub("_", wanted).strip("_") or "value"
        if number is not None or name in self._taken:
            separator = "_" if base[-1].isdigit() else ""
            last = self._next.get(base, 2 if number is None else number)
            outside = () if number is None else self._outside
            while (name := f"{base}{separator}{last}") in self._taken or name in outside:
                last += 1
            self._next[base] = last + 1
        self._taken.add(name)
        self._names[cell] = name


def _results(program):
    """Return the cells of the results."""
    for instruction in program.instructions():
        if OPCODES[instruction.op].name == "RESULT":
            return program.pool[instruction.b:instruction.b + instruction.c]
    return []
