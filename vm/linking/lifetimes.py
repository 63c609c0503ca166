"""Lifetimes: from where to where in a program the memory of each cell is in use, and which cells share one memory.

Read off the bytecode, as the verifier and listings do. A *holder* is the cell that stands for one piece of memory:
views belong to the holder of what they look at, and once shapes are known a cell that takes its donor's memory belongs
to the donor's holder. The life of a holder goes from the instruction that first writes to it to the last that touches
it or any cell that belongs to it. What runs side by side happens at one moment.
"""
from phintys.vm.views import roots_of

# Instructions whose cells need memory that can be handed over, or that others may keep.
HANDED_OVER = frozenset(["RESULT", "CALL", "OWN", "STORE", "PREPARE", "RUN", "ALIAS", "MOVE"])


class Lifetimes:
    """The lives of one program's cells.

    Attributes
    ----------
    touched : dict
        Cell → (first, last) moment at which an instruction other than DROP touches it or a view of it; by root.
    roots : dict
        View → the cell it looks at in the end.
    apart : set
        Cells, by root, whose memory must be their own: of results, updates, operands of ``perform``, objects, what a
        kernel behind COMMIT writes, what lazy branches hand on, and whatever is touched in a block.
    """

    def __init__(self, program):
        self.program = program
        self.roots = roots_of(program)
        self.touched, self.apart = {}, set()
        self.order = []                             # roots, in the order in which they are first written
        in_block = False                            # blocks stand behind HALT, and run whenever they are needed
        for moment, instruction in moments_of(program):
            in_block = in_block or instruction.name == "HALT"
            for cell in instruction.touches():
                root = self.roots.get(cell, cell)
                if root not in self.touched:
                    self.touched[root] = moment, moment
                    self.order.append(root)
                self.touched[root] = self.touched[root][0], moment
            if instruction.name in HANDED_OVER or in_block:
                self.apart.update([self.roots.get(cell, cell) for cell in handed_over(instruction)])
        for number, layout in enumerate(program.cells):
            if layout.typenum < 0 or layout.access:
                self.apart.add(self.roots.get(number, number))

    def is_temporary(self, cell):
        """Whether the cell holds an array that the program computes and nobody else ever sees."""
        layout = self.program.cells[cell]
        return (layout.kind == "value" and layout.typenum >= 0 and layout.ndim > 0 and cell in self.touched
                and cell not in self.roots and cell not in self.apart)

    def temporaries(self):
        """The cells for which this holds, in the order in which they are first written."""
        return (cell for cell in self.order if self.is_temporary(cell))

    def holders(self, shapes):
        """Whose memory each computed root has, when the cells have these shapes.

        Parameters
        ----------
        shapes : list of tuple or None
            One for each cell; None: not computed.

        Returns
        -------
        dict
            Root → holder: itself, or the holder of the donor whose memory it takes.
        """
        cells, roots, holder = self.program.cells, self.roots, {}
        for cell in self.order:
            donor = cells[cell].donor
            holder[cell] = cell
            if donor is not None and shapes[cell] is not None and shapes[donor] == shapes[cell]:
                root = roots.get(donor, donor)
                holder[cell] = holder.get(root, root)
        return holder


def handed_over(instruction):
    """The cells of an instruction whose memory others may come to hold."""
    return instruction.writes() if instruction.name in ("PREPARE", "RUN") else instruction.touches()


def moments_of(program):
    """(moment, instruction) for each instruction: its number, or that of the TOGETHER in front of its group."""
    moment = together = 0
    for position, instruction in enumerate(program.symbolic()):
        if together:
            together -= 1
        else:
            moment = position
        if instruction.name == "TOGETHER":
            together = instruction.a
        yield moment, instruction
