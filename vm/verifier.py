"""Checks a program before it may run: the interpreter itself checks nothing.

No read of an empty cell or of a value that has been overwritten, no write to an argument, a constant or a shared value
that nobody may overwrite, every number in its range, nothing that can fail after COMMIT, HALT at the end. It knows of
aliases only what ops declare (``view_map``, ``destroy_map``) and what the bytecode says, so it checks the linker and the
in-place rewrites independently of how they decided. A violation is a bug in an op or in phintys, never the user's.
"""
from phintys.vm.opcodes import OPCODES, RESULT_EMPTIES
from phintys.vm.program import ACCESS, INSTRUCTION_FORMAT, cells_of_inputs


class ProgramError(Exception):
    """A program breaks a rule of the bytecode."""


AFTER_COMMIT = frozenset(["RUN", "STORE", "DROP", "HALT"])


def verify(program):
    """Raise ``ProgramError`` unless the program keeps every rule."""
    _Check(program).run()


class _Check:
    """One walk over a program."""

    def __init__(self, program):
        self.program = program
        self.cells, self.pool = program.cells, program.pool
        self.filled = [layout.kind in ("argument", "constant") for layout in self.cells]
        self.root = list(range(len(self.cells)))    # whose memory a cell looks at
        self.overwritten = {}                       # root → instruction that wrote over it
        self.prepared = {}                          # operands → the instruction that prepared them
        self.promised = set()                       # cells that are computed behind COMMIT
        self.stored_cells = {}                      # container → the cell that STORE moves into it
        self.loaded = {}                            # shared value's cell → the container it was loaded from
        self.committed = False
        self.position, self.name = 0, "?"

    def fail(self, what):
        raise ProgramError(f"instruction {self.position} ({self.name}): {what}")

    def run(self):
        code = list(INSTRUCTION_FORMAT.iter_unpack(self.program.code))
        self._check_cells()
        for number, _, _, a, b, _ in code:
            if number < len(OPCODES) and OPCODES[number].name == "STORE":
                self.stored_cells[a] = b
        for self.position, (number, flags, n, a, b, c) in enumerate(code):
            if number >= len(OPCODES):
                self.fail(f"unknown opcode {number}")
            self.name = OPCODES[number].name
            if self.committed and self.name not in AFTER_COMMIT:
                self.fail("can fail, and stands after COMMIT")
            if c and not 0 <= b <= b + c <= len(self.pool):
                self.fail("its operands lie outside the pool")
            check = getattr(self, "check_" + self.name, None)
            if check is not None:
                check(flags, n, a, b, c)
        if self.name != "HALT":
            raise ProgramError("the program does not end with HALT")
        if self.prepared:
            raise ProgramError(f"prepared and never run: instructions {sorted(self.prepared.values())}")

    def _check_cells(self):
        for number, layout in enumerate(self.cells):
            if layout.access not in ACCESS:
                self.fail(f"C{number} has the unknown access {layout.access!r}")
            if layout.donor is not None:
                donor = self.cells[layout.donor]
                if (donor.typenum, donor.ndim) != (layout.typenum, layout.ndim) or layout.kind != "value":
                    self.fail(f"C{number} ({layout.variable}) cannot take the memory of C{layout.donor} "
                              f"({donor.variable})")

    # ---- reads and writes ----------------------------------------------------------------------------------------
    def read(self, cell):
        if not 0 <= cell < len(self.cells):
            self.fail(f"there is no cell C{cell}")
        if not self.filled[cell]:
            self.fail(f"reads the empty cell C{cell} ({self.cells[cell].variable})")
        if self.root[cell] in self.overwritten:
            self.fail(f"reads C{cell} ({self.cells[cell].variable}), which instruction "
                      f"{self.overwritten[self.root[cell]]} has overwritten")

    def write(self, cell):
        if not 0 <= cell < len(self.cells):
            self.fail(f"there is no cell C{cell}")
        if self.cells[cell].kind != "value":
            self.fail(f"writes to C{cell}, which is protected ({self.cells[cell].kind} {self.cells[cell].variable})")
        self.filled[cell] = True
        self.root[cell] = cell

    def overwrite(self, source, output):
        """The value of the cell ``source`` is lost; ``output`` has its memory."""
        root = self.root[source]
        layout = self.cells[root]
        allowed = {"value": True, "constant": False, "argument": layout.access == "mutable",
                   "shared": self.name == "RUN" and self._is_stored_over(root, output)}[layout.kind]
        if not allowed:
            self.fail(f"overwrites C{root}, which is protected ({layout.kind} {layout.variable})")
        self.overwritten[root] = self.position

    def _is_stored_over(self, shared, output):
        """Whether ``output`` becomes the value of the container that the cell ``shared`` was loaded from."""
        return self.stored_cells.get(self.loaded.get(shared)) == output

    def _compute(self, n, b, c):
        """What KERNEL, CALL, and PREPARE with RUN do to their operands."""
        if n == 65535:
            return
        inputs, outputs = self.pool[b:b + n], self.pool[b + n:b + c]
        for cell in inputs:
            self.read(cell)
        roots = {output: self.root[source] for output, source in self._of_node(inputs, outputs, "view_map")}
        destroyed = [pair for pair in self._of_node(inputs, outputs, "destroy_map")
                     if self.name != "PREPARE" and (self.name == "CALL" or self.cells[pair[0]].donor is not None)]
        for cell in outputs:
            self.write(cell)
        for output, source in destroyed:
            self.overwrite(source, output)
        for output, root in roots.items():
            self.root[output] = root

    def _of_node(self, inputs, outputs, which):
        """(output cell, input cell) of the pairs that an op declares, as far as its instruction reads the inputs."""
        node = self.program.nodes[self.position]
        if node is None:
            return
        cell_of = cells_of_inputs(node, inputs, self.cells)
        for output, (position, *_) in getattr(node.op, which).items():
            source = cell_of.get(node.inputs[position])
            if source is not None:
                yield outputs[output], source

    # ---- instructions --------------------------------------------------------------------------------------------
    def check_KERNEL(self, flags, n, a, b, c):
        if not 0 <= a < len(self.program.kernels):
            self.fail(f"there is no kernel K{a}")
        self._compute(n, b, c)

    def check_CALL(self, flags, n, a, b, c):
        if not 0 <= a < len(self.program.nodes) or self.program.nodes[a] is None:
            self.fail(f"there is no node N{a}")
        self._compute(n, b, c)

    def check_PREPARE(self, flags, n, a, b, c):
        self.check_KERNEL(flags, n, a, b, c)
        if self.program.kernels[a].may_fail:
            self.fail(f"K{a} may fail, and is to run behind COMMIT")
        self._check_examined(self.program.nodes[self.position], self.pool[b:b + n])
        self.prepared[tuple(self.pool[b:b + c])] = self.position
        self.promised.update(self.pool[b + n:b + c])

    def _check_examined(self, node, inputs):
        """What a kernel looks at to be prepared must have been computed before."""
        if node is None or node.op.first_examined is None:
            return
        cell_of = cells_of_inputs(node, inputs, self.cells)
        for variable in node.inputs[node.op.first_examined:]:
            if cell_of.get(variable) in self.promised:
                self.fail(f"needs the value of {variable}, which is computed behind COMMIT")

    def check_RUN(self, flags, n, a, b, c):
        if not self.committed:
            self.fail("stands before COMMIT")
        if self.prepared.pop(tuple(self.pool[b:b + c]), None) is None:
            self.fail("was not prepared")
        self.check_KERNEL(flags, n, a, b, c)

    def check_LOAD(self, flags, n, a, b, c):
        if not 0 <= b < len(self.program.containers):
            self.fail(f"there is no container S{b}")
        if not 0 <= a < len(self.cells) or self.cells[a].kind != "shared":
            self.fail(f"loads into C{a}, which is no shared value's")
        self.filled[a] = True
        self.loaded[a] = b

    def check_COPY(self, flags, n, a, b, c):
        self.read(b)
        self.write(a)

    def check_OWN(self, flags, n, a, b, c):
        self.read(a)
        self.write(a)

    def check_DROP(self, flags, n, a, b, c):
        for cell in self.pool[b:b + c]:
            if self.cells[cell].kind == "constant":
                self.fail(f"drops the constant C{cell}")
            self.filled[cell] = False

    def check_RESULT(self, flags, n, a, b, c):
        for cell in self.pool[b:b + c]:
            self.read(cell)
        if flags & RESULT_EMPTIES:
            for cell in self.pool[b:b + c]:
                layout = self.cells[cell]
                self.filled[cell] = self.filled[cell] and (layout.kind != "value" or layout.access in ("lent", "late"))

    def check_COMMIT(self, flags, n, a, b, c):
        self.committed = True

    def check_STORE(self, flags, n, a, b, c):
        if not 0 <= a < len(self.program.containers):
            self.fail(f"there is no container S{a}")
        self.read(b)
        kind = self.cells[b].kind
        if kind not in ("value", "shared") or (kind == "shared" and self.loaded.get(b) not in self.stored_cells):
            self.fail(f"stores C{b}, which is not its own ({kind})")
        self.filled[b] = False
