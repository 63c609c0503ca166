"""Lifetimes: the part of a program during which the memory of each cell is in use, and which cells share memory.

Lifetimes are computed from the bytecode, as in the verifier and in listings. A *holder* is the cell that represents
one piece of memory: views belong to the holder of their source, and once shapes are known, a cell that takes its
donor's memory belongs to the donor's holder. A holder lives from the instruction that first writes to it to the last
one that touches it or any cell that belongs to it. All kernels of a TOGETHER group count as one moment.
"""
from phintys.vm.places import HOST
from phintys.vm.views import PASSING, roots_of

# Instructions whose cells need memory that can be passed on, or that others may keep.
HANDED_OVER = frozenset(["RESULT", "CALL", "OWN", "STORE", "PREPARE", "RUN"]) | PASSING


class Lifetimes:
    """The lifetimes of the cells of one program.

    Attributes
    ----------
    touched : dict
        Root → (first, last) moment at which an instruction other than DROP touches the cell or a view of it.
    roots : dict
        View → the cell that owns the memory it refers to.
    apart : set
        Roots whose memory must be separate: results, updates, operands of ``perform``, objects, what a kernel after
        COMMIT writes, what lazy branches pass on, and all cells touched in a block.
    """

    def __init__(self, program):
        self.program = program
        self.roots = roots_of(program)                # what branches pass on is apart
        self.touched, self.apart = {}, set()
        self.order = []                             # roots, in the order in which they are first written
        in_block = False                            # blocks come after HALT, and may run at any time before it
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
        """Return whether the cell holds an array of the host that is computed and never leaves the program."""
        layout = self.program.cells[cell]
        return (layout.kind == "value" and layout.typenum >= 0 and layout.ndim > 0 and layout.place == HOST
                and cell in self.touched and cell not in self.roots and cell not in self.apart)

    def temporaries(self):
        """Yield the temporaries, in the order in which they are first written."""
        return (cell for cell in self.order if self.is_temporary(cell))

    def holders(self, shapes):
        """Map each computed root to the holder of its memory, for given shapes.

        Parameters
        ----------
        shapes : list of tuple or None
            One for each cell; None if the cell is not computed.

        Returns
        -------
        dict
            Root → holder: the root itself, or the holder of the donor whose memory it takes.
        """
        cells, roots, holder = self.program.cells, self.roots, {}
        for cell in self.order:
            donor = cells[cell].donor
            holder[cell] = cell
            if (donor is not None and shapes[cell] is not None and shapes[donor] == shapes[cell]
                    and cells[donor].place == cells[cell].place):
                root = roots.get(donor, donor)
                holder[cell] = holder.get(root, root)
        return holder


def handed_over(instruction):
    """Return the cells of an instruction whose memory others may keep a reference to."""
    return instruction.writes() if instruction.name in ("PREPARE", "RUN") else instruction.touches()


def moments_of(program):
    """Yield (moment, instruction): the instruction's number, or in a group the number of its TOGETHER."""
    moment = together = 0
    for position, instruction in enumerate(program.symbolic()):
        if together:
            together -= 1
        else:
            moment = position
        if instruction.name == "TOGETHER":
            together = instruction.a
        yield moment, instruction
