"""Checks a program before it may run, because the interpreter checks nothing.

The rules: no read of a cell that may be empty, or of a value that has been overwritten; no write to an argument, a
constant or a shared value that must not be overwritten; every number in its range; nothing that can fail after COMMIT;
HALT at the end of the main program, and BACK at the end of each block after it. Jumps lead forward and nest: what is
known after a branch holds on both paths. What a block needs is checked wherever the block is entered. The verifier
knows only the aliases that ops declare (``view_map``, ``destroy_map``) and those in the bytecode, so it checks the
linker and the in-place rewrites independently of their decisions. A violation is a bug in an op or in phintys, never
in the user's program.

The opcode table says which cells an instruction reads, writes and empties, and what it requires of single operands. A
method ``check_NAME`` checks what else the opcode needs; it runs after the cells have been read, before any is written.
"""
import re

import numpy

from phintys.vm.abi import LARGEST_RANK
from phintys.vm.linking.branch_checks import Branch, State, Summary
from phintys.vm.opcodes import CONTINUES, OPCODES
from phintys.vm.places import DEVICE, HOST, WORK_AT_DEVICE, place_name
from phintys.vm.program import ACCESS, DTYPES, INSTRUCTION_FORMAT, MANY_INPUTS, OBJECT_TYPENUM
from phintys.vm.symbolic import EMPTIES, READS, ROWS, WRITES
from phintys.vm.texts import cells_of_inputs

# What an opcode may require of an operand → whether a program has it, and what is wrong if not.
REQUIRED = {
    "container": (lambda program, number: 0 <= number < len(program.containers), "there is no container S{}"),
    "kernel": (lambda program, number: 0 <= number < len(program.kernels), "there is no kernel K{}"),
    "node": (lambda program, number: 0 <= number < len(program.calls), "there is no node N{}"),
    "numbers": (lambda program, cell: program.cells[cell].typenum >= 0, "C{} is an object, which has no numbers"),
}
# Opcode → (operand, test, message) of each of its requirements.
REQUIREMENTS = {row.name: [(operand, *REQUIRED[what]) for what, operand in re.findall(r"(\w+) (\w)", row.requires)]
                for row in OPCODES}


class ProgramError(Exception):
    """A program breaks a rule of the bytecode."""


ALWAYS = frozenset(["LOAD", "RESULT", "PREPARE", "COMMIT", "RUN", "STORE", "HALT"])     # never in a branch or a block
AFTER_COMMIT = frozenset([name for name in ALWAYS if not ROWS[name].may_fail])


def verify(program, check_instruction=None):
    """Raise ``ProgramError`` unless the program keeps every rule.

    Parameters
    ----------
    program : Program
    check_instruction : callable, optional
        For a program that no linker of this process has made: takes it and an instruction that runs a kernel or a node,
        and raises ``ValueError`` unless operands are what kernel or node accept.
    """
    try:
        _check_lists(program)
        _Check(program, check_instruction).run()
        _check_values(program)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:     # not even the lists it needs
        raise ProgramError(f"the program is malformed: {type(error).__name__}: {error}") from error


def _check_lists(program):
    """Check what has nothing to do with the order of instructions: lengths, and the layouts of cells."""
    if len(program.code) % INSTRUCTION_FORMAT.size:
        raise ProgramError(f"the code has {len(program.code)} bytes, which are no whole instructions")
    count = program.n_arguments
    if len(program.argument_types) != count:
        raise ProgramError(f"there are {count} arguments, but {len(program.argument_types)} types of them")
    for number, (layout, type_) in enumerate(zip(program.cells, program.argument_types)):
        check_layout(f"C{number}", layout, type_)
    for number, layout in enumerate(program.cells):
        _check_cell(number, layout, len(program.cells))


def check_layout(title, layout, type_):
    """Raise unless a cell can have the values of a type."""
    wanted = type_.layout or (OBJECT_TYPENUM, 0, HOST)
    if (layout.typenum, layout.ndim, layout.place) != tuple(wanted):
        raise ProgramError(f"{title} has the type number {layout.typenum}, {layout.ndim} dimensions and place "
                           f"{layout.place}, which are not those of {type_}")


def _check_cell(number, layout, count):
    if layout.kind not in ("argument", "shared", "constant", "value"):
        raise ProgramError(f"C{number} has the unknown kind {layout.kind!r}")
    if layout.typenum != OBJECT_TYPENUM and layout.typenum not in DTYPES:
        raise ProgramError(f"C{number} has the unknown type number {layout.typenum}")
    if not 0 <= layout.ndim <= LARGEST_RANK or layout.place not in (HOST, DEVICE):
        raise ProgramError(f"C{number} has {layout.ndim} dimensions, and place {layout.place}")
    if layout.is_number and (layout.ndim or layout.typenum == OBJECT_TYPENUM):
        raise ProgramError(f"C{number} is seen as a number, but has {layout.ndim} dimensions or is an object")
    if layout.donor is not None and not 0 <= layout.donor < count:
        raise ProgramError(f"C{number} takes the memory of C{layout.donor}, but there are {count} cells")


def _check_values(program):
    """Check that the first cells, and no others, are those of arguments, and that constants fit their cells."""
    kinds, count = [layout.kind for layout in program.cells], program.n_arguments
    if kinds != ["argument"] * count + [kind for kind in kinds[count:] if kind != "argument"]:
        raise ProgramError(f"the first {count} cells are the arguments, but the cells are {kinds}")
    for number, layout in enumerate(program.cells):
        if layout.kind == "constant" and layout.typenum != OBJECT_TYPENUM and layout.place == HOST:
            value = layout.value
            if not isinstance(value, numpy.ndarray) or not (value.flags.aligned and value.dtype.isnative):
                raise ProgramError(f"the constant C{number} is no array that kernels can read: {value!r}")
            if (value.dtype.num, value.ndim) != (layout.typenum, layout.ndim):
                raise ProgramError(f"the constant C{number} has dtype {value.dtype} and {value.ndim} dimensions, its "
                                   f"cell the type number {layout.typenum} and {layout.ndim}")


class _Check:
    """One pass over a program."""

    def __init__(self, program, check_instruction=None):
        self.program, self.instructions, self.check_operands = program, [], check_instruction
        self.cells, self.pool = program.cells, program.pool
        self.is_on_host = all([layout.place == HOST for layout in self.cells])
        self.has_objects = any([layout.typenum == OBJECT_TYPENUM for layout in program.cells])
        self.state = State([layout.kind in ("argument", "constant") for layout in self.cells])
        self.lost = {}                              # cell whose value is lost after COMMIT → the RUN that overwrote it
        self.blocks = {}                            # number → its Summary
        self.home = {}                              # cell that a block writes → its number
        self.needed = {}                            # cell that a block fills → the last NEED of the block
        self.block, self.here = None, None          # the Summary and the number of the current block
        self.branches, self.range = [], (0, 0)      # open branches; first and last instruction of this part
        self.prepared = {}                          # operands → the instruction that prepared them
        self.promised = set()                       # cells that are computed after COMMIT
        self.stored_cells = {}                      # container → the cell that STORE moves to it
        self.becomes = {}                           # cell → the cell that takes its memory after COMMIT
        self.owned = {}                             # cell → the container that OWN prepared it for
        self.loaded = {}                            # cell of a shared value → the container it came from
        self.committed = False
        self.position, self.name = 0, "?"

    def fail(self, what):
        raise ProgramError(f"instruction {self.position} ({self.name}): {what}")

    def title(self, cell):
        """The variable of a cell, for messages."""
        return self.program.cell_texts()[cell].title

    def run(self):
        self._check_cells()
        self._decode()
        code = self.instructions
        for instruction in code:
            if instruction.name == "STORE":
                self.stored_cells[instruction.a] = instruction.b
            elif instruction.name == "RUN":
                self.becomes.update([(source, output) for output, source in self._overwritten(instruction)])
        halt = next((position for position, instruction in enumerate(code) if instruction.name == "HALT"), None)
        if halt is None or (halt + 1 < len(code) and code[-1].name != "BACK"):
            raise ProgramError("the program does not end with HALT, or with blocks after it")
        self._find_homes(code[halt + 1:])
        needs = {instruction.b: position for position, instruction in enumerate(code[:halt])
                 if instruction.name == "NEED"}
        self._walk_blocks(code, halt + 1)
        self.needed = {cell: needs.get(number, 0) for number, block in self.blocks.items() for cell in block.leaves}
        self._walk(code, 0, halt)
        if self.prepared:
            raise ProgramError(f"prepared and never run: instructions {sorted(self.prepared.values())}")

    def _decode(self):
        """Decode all instructions, and check the numbers that decoding depends on."""
        for self.position, fields in enumerate(self.program.instructions()):
            if fields.op >= len(OPCODES):
                self.fail(f"unknown opcode {fields.op}")
            self.name = OPCODES[fields.op].name
            if fields.c and not 0 <= fields.b <= fields.b + fields.c <= len(self.pool):
                self.fail("its operands lie outside the pool")
            instruction = self.program.decoded(self.position, fields)
            if instruction.computes():
                if fields.n == MANY_INPUTS and self.position not in self.program.counts:
                    self.fail(f"has {MANY_INPUTS} inputs or more, and nothing says how many")
                if not 0 <= instruction.n <= fields.c:
                    self.fail(f"has {instruction.n} inputs among {fields.c} operands")
            self.instructions.append(instruction)

    def _find_homes(self, code):
        """Record which block writes which cells."""
        written = []
        for instruction in code:
            written.extend(instruction.writes())
            if instruction.name == "BACK":
                self.home.update(dict.fromkeys(written, instruction.a))
                written = []

    def _walk_blocks(self, code, first):
        """Make the summaries of all blocks; their instructions begin at ``first``."""
        for position in range(first, len(code)):
            if code[position].name != "BACK":
                continue
            self.block, self.here = Summary(first, position), code[position].a
            mark = self.state.mark()
            self._walk(code, first, position)
            self.block.close(self.here, {cell: self.state.root[cell] for cell in self.block.own
                                         if self.state.filled[cell]})
            self.state.take_back(mark, first)
            self.state.entries.add(self.block)
            self.blocks[self.here] = self.block
            first = position + 1
        self.block = self.here = None

    def _walk(self, code, first, last):
        """Check the instructions of the main program or of a block."""
        self.range = first, last
        self.state.entries.forget()
        for self.position in range(first, last + 1):
            instruction = code[self.position]
            self.name = instruction.name
            if self.branches:
                self._end_branches()
            reads, requirements, check, always, after_commit = RULES[self.name]
            if self.committed and not after_commit:
                self.fail("is after COMMIT, but can fail or run Python code")
            if always and (self.branches or self.block is not None):
                self.fail("is in a branch or a block")
            for cell in reads(instruction, None):
                self.read(cell)
            for operand, holds, message in requirements:
                number = getattr(instruction, operand)
                if not holds(self.program, number):
                    self.fail(message.format(number))
            if check is not None:
                check(self, instruction)
            if self.check_operands is not None and instruction.computes():
                self._check_computation(instruction)
            self._change(instruction)
        if self.branches:
            self.fail("is in a branch that does not end")

    def _end_branches(self):
        """Join the paths of all branches that end here."""
        while self.branches and self.branches[-1].end == self.position:
            branch = self.branches.pop()
            self.state.join(branch.changes, self.state.take_back(branch.mark, branch.first))
        if self.branches and self.branches[-1].end is None and self.branches[-1].otherwise == self.position:
            self.fail("is in the second part of a branch whose first part does not end with a JUMP")

    def _check_cells(self):
        for number, layout in enumerate(self.cells):
            if layout.access not in ACCESS:
                self.fail(f"C{number} has the unknown access {layout.access!r}")
            if layout.donor is not None:
                donor = self.cells[layout.donor]
                same = (donor.typenum, donor.ndim, donor.place) == (layout.typenum, layout.ndim, layout.place)
                if not same or layout.kind != "value":
                    self.fail(f"C{number} ({self.title(number)}) cannot take the memory of C{layout.donor} "
                              f"({self.title(layout.donor)})")

    # ---- reads and writes ----------------------------------------------------------------------------------------
    def read(self, cell):
        state = self.state
        if not 0 <= cell < len(self.cells):
            self.fail(f"there is no cell C{cell}")
        if self.block is None and state.filled[cell] and not self.lost and state.is_intact(cell):     # as nearly always
            return
        if self.block is not None and self.home.get(cell) != self.here and not (state.filled[cell]
                                                                                and self.cells[cell].kind == "value"):
            self._read_outside(cell)
        elif not state.filled[cell]:
            self.fail(f"reads the empty cell C{cell} ({self.title(cell)})")
        if self._writer_of(cell) is not None:
            self.fail(f"reads C{cell} ({self.title(cell)}), which instruction {self._writer_of(cell)} has "
                      f"overwritten")

    def _read_outside(self, cell):
        """Record the read of a cell from outside; whether it is filled is checked where the block is entered."""
        if self.cells[cell].kind != "constant":
            self.block.reads.setdefault(self.home.get(cell), {})[cell] = None

    def write(self, cell):
        if not 0 <= cell < len(self.cells):
            self.fail(f"there is no cell C{cell}")
        if self.cells[cell].kind != ("shared" if self.name == "LOAD" else "value"):
            self.fail(f"writes to C{cell}, which is protected ({self.cells[cell].kind} {self.title(cell)})")
        if self.block is not None:
            self.block.own.add(cell)
        self._fill(cell, cell)

    def _fill(self, cell, root):
        """Mark a cell as filled, in the memory of ``root``."""
        state = self.state
        if not state.filled[cell]:
            state.set("filled", cell, True)
        if state.spent[cell]:
            state.set("spent", cell, False)
        if state.root[cell] != root:
            state.set("root", cell, root)
        state.born[cell] = self.position

    def overwrite(self, source, output, writer=None):
        """Mark the value of ``source`` as lost; the instruction ``writer`` gives its memory to ``output``."""
        writer = self.position if writer is None else writer
        memory = self.state.memory_of(source)
        # After COMMIT memory is taken only if no other cell refers to it, whichever path was taken.
        for root in [self.state.root[source]] if self.name == "RUN" else self.state.members(memory):
            if self.block is not None and root not in self.block.own:
                self.block.overwrites.append((root, output, writer))
                self.block.writers.add(writer)
                continue
            layout = self.cells[root]
            allowed = {"value": True, "constant": False, "argument": layout.access == "mutable",
                       "shared": self.name == "RUN" and self._is_stored_over(root, output)}[layout.kind]
            if not allowed:
                self.fail(f"overwrites C{root}, which is protected ({layout.kind} {self.title(root)})")
        if self.name == "RUN":
            self.lost[self.state.root[source]] = writer
        else:
            self.state.set("overwritten", memory, writer)

    def _is_stored_over(self, shared, output):
        """Return whether ``output``, or a value that overwrites it in turn, replaces the value of ``shared``."""
        seen = set()
        while output in self.becomes and output not in seen:
            seen.add(output)
            output = self.becomes[output]
        return self.stored_cells.get(self.loaded.get(shared)) == output

    def _change(self, instruction):
        """Apply an instruction: the cells it writes and empties by the opcode table, its overwrites and views."""
        name, op = self.name, None if self.program.nodes is None else getattr(instruction.node, "op", None)
        is_passing = name == "ALIAS" or name == "MOVE"
        roots = {} if op is not None and not op.view_map and not is_passing else {
            view: self.state.root[source] for view, source in self._views(instruction)}
        destroyed = () if op is not None and not op.destroy_map and not is_passing else self._destroyed(instruction)
        for cell in WRITES[name](instruction, None):
            self.write(cell)
        for output, source in destroyed:
            self.overwrite(source, output)
        for view, root in roots.items():
            self.state.set("root", view, root)
        for cell in EMPTIES[name](instruction, self.cells):
            self.state.set("filled", cell, False)

    def _views(self, instruction):
        """Return (view, source cell) for the views that an instruction makes."""
        if self.name in ("ALIAS", "MOVE"):
            return [(instruction.a, instruction.b)]
        if self.program.nodes is None:
            return instruction.views
        return self._of_node(instruction, "view_map")

    def _destroyed(self, instruction):
        """Return (output, the cell whose memory it takes) for what an instruction overwrites."""
        if self.name == "PREPARE":
            return []
        return [(output, source) for output, source in self._overwritten(instruction)
                if self.name == "CALL" or self.cells[output].donor is not None]

    def _overwritten(self, instruction):
        """(output, the cell that its op declares it to overwrite)."""
        return instruction.overwritten if self.program.nodes is None else self._of_node(instruction, "destroy_map")

    def _of_node(self, instruction, which):
        """Return (output cell, input cell) for the pairs that an op declares, if the instruction reads the input."""
        node = instruction.node
        declared = getattr(node.op, which) if node is not None else None
        if not declared or not instruction.computes():
            return ()
        outputs, cell_of = instruction.writes(), cells_of_inputs(node, instruction.reads(), self.cells)
        sources = [(outputs[output], cell_of.get(node.inputs[position]))
                   for output, (position, *_) in declared.items()]
        return [(output, source) for output, source in sources if source is not None]

    def _check_computation(self, instruction):
        """Ask whether a kernel or a node takes its operands. Memory is given only to results, by their own cells."""
        operands = {*instruction.reads(), *instruction.writes()}
        for pair in (*instruction.views, *instruction.overwritten):
            if len(pair) != 2 or pair[0] not in instruction.writes() or not operands.issuperset(pair):
                self.fail(f"says of C{pair[0]} what is not one of its results")
        try:
            self.check_operands(self.program, instruction)
        except ValueError as error:
            self.fail(str(error))

    # ---- instructions --------------------------------------------------------------------------------------------
    def check_KERNEL(self, instruction):
        if self.has_objects:
            for cell in (*instruction.reads(), *instruction.writes()):
                if self.cells[cell].typenum == OBJECT_TYPENUM:
                    self.fail(f"C{cell} ({self.title(cell)}) is an object, which no kernel reads or writes")
        if self.is_on_host or type(self.program.kernels[instruction.a]) in WORK_AT_DEVICE:
            return
        for cell in (*instruction.reads(), *instruction.writes()):
            if self.cells[cell].place != HOST:
                self.fail(f"C{cell} ({self.title(cell)}) is on the {place_name(self.cells[cell].place)}, where "
                          f"{type(self.program.kernels[instruction.a]).__name__} does not work")

    def check_TOGETHER(self, instruction):
        group = self.instructions[self.position + 1:self.position + 1 + instruction.a]
        if instruction.a < 2 or len(group) < instruction.a or any([member.name != "KERNEL" for member in group]):
            self.fail(f"is not followed by {instruction.a} kernels")
        others, branch = (set(), set()), (set(), set())        # (read, written) by earlier branches, and by this one
        root = self.state.root
        for number, member in enumerate(group):
            if self.program.kernels[member.a].may_fail:
                self.fail(f"K{member.a} may fail while others of the group run")
            if number == 0 or not member.flags & CONTINUES:
                others, branch = (others[0] | branch[0], others[1] | branch[1]), (set(), set())
            inputs, outputs = member.reads(), member.writes()
            reads = {root[cell] for cell in inputs}.union(inputs)
            writes = set(outputs).union([root[self.cells[cell].donor] for cell in outputs
                                         if self.cells[cell].donor is not None])
            if not others[1].isdisjoint(reads | writes) or not others[0].isdisjoint(writes):
                self.fail("kernels of the group depend on each other")
            examined = self.program.kernels[member.a].examined
            if not branch[1].isdisjoint(inputs if examined is None else [inputs[operand] for operand in examined]):
                self.fail(f"K{member.a} examines a value before the group has computed it")
            branch[0].update(reads)
            branch[1].update(writes)

    def check_PREPARE(self, instruction):
        self.check_KERNEL(instruction)
        if self.program.kernels[instruction.a].may_fail:
            self.fail(f"K{instruction.a} may fail, but is to run after COMMIT")
        self._check_examined(instruction)
        self.prepared[tuple(instruction.cells)] = self.position
        self.promised.update(instruction.writes())

    def _check_examined(self, instruction):
        """Check that the values which prepare examines are computed before PREPARE."""
        examined, inputs = self.program.kernels[instruction.a].examined, instruction.reads()
        if examined is None:                        # the kernel does not say; the op may
            first = getattr(getattr(instruction.node, "op", None), "first_examined", None)
            examined = range(len(inputs) if first is None else first, len(inputs))
        for position in examined:
            if inputs[position] in self.promised:
                self.fail(f"needs the value of input {position}, which is computed after COMMIT")

    def check_RUN(self, instruction):
        if not self.committed:
            self.fail("stands before COMMIT")
        if self.prepared.pop(tuple(instruction.cells), None) is None:
            self.fail("was not prepared")
        self.check_KERNEL(instruction)

    def check_LOAD(self, instruction):
        a, b = instruction.a, instruction.b
        if not 0 <= a < len(self.cells) or self.cells[a].kind != "shared":
            self.fail(f"loads into C{a}, which is not the cell of a shared value")
        check_layout(f"C{a}, which LOAD fills from S{b},", self.cells[a], self.program.containers[b].type)
        self.loaded[a] = b

    def check_OWN(self, instruction):
        check_layout(f"C{instruction.a}, which OWN copies for S{instruction.b},", self.cells[instruction.a],
                     self.program.containers[instruction.b].type)
        self.owned[instruction.a] = instruction.b

    def check_DROP(self, instruction):
        for cell in instruction.cells:
            if not 0 <= cell < len(self.cells):
                self.fail(f"there is no cell C{cell}")
            if self.cells[cell].kind == "constant":
                self.fail(f"drops the constant C{cell}")
            if self.needed.get(cell, 0) > self.position:
                self.state.set("spent", cell, True)

    def check_PLAN(self, instruction):
        if any([self.state.filled[number] for number, layout in enumerate(self.cells) if layout.kind == "value"]):
            self.fail("stands after a computation")

    def check_FAIL(self, instruction):
        self.fail("is only for tests")

    def check_PROFILE(self, instruction):
        self.fail("is only for functions that are measured")

    def _check_same(self, first, second):
        """Check that two cells have values of one type."""
        one, other = [self.cells[cell] for cell in (first, second)]
        if (one.typenum, one.ndim, one.place) != (other.typenum, other.ndim, other.place):
            self.fail(f"C{first} ({self.title(first)}) cannot have the value of C{second} ({self.title(second)})")

    def check_RESULT(self, instruction):
        if len(instruction.cells) != self.program.n_results:
            self.fail(f"has {len(instruction.cells)} results instead of {self.program.n_results}")
        given = list(instruction.empties(self.cells))
        if len(set(given)) < len(given):
            self.fail(f"gives away a value twice, of the cells {sorted(given)}")

    def check_COMMIT(self, instruction):
        self.committed = True

    def check_STORE(self, instruction):
        a, b = instruction.a, instruction.b
        kind = self.cells[b].kind
        check_layout(f"C{b}, which STORE moves to S{a},", self.cells[b], self.program.containers[a].type)
        if kind not in ("value", "shared") or (kind == "shared" and self.loaded.get(b) not in self.stored_cells):
            self.fail(f"stores C{b}, which is not its own ({kind})")
        if self.owned.get(b, a) != a:
            self.fail(f"stores C{b} in S{a}, although it may be the value of S{self.owned[b]}")

    def check_HALT(self, instruction):
        emptied = instruction.cells
        for cell in emptied:
            if not 0 <= cell < len(self.cells) or self.cells[cell].kind == "constant":
                self.fail(f"empties C{cell}, which is {'a constant' if 0 <= cell < len(self.cells) else 'no cell'}")
        kept = set(self.stored_cells.values()).difference(emptied)
        if kept:
            self.fail(f"leaves old values of shared variables in the cells {sorted(kept)}")

    # ---- branches and blocks -----------------------------------------------------------------------------------------
    def check_ALIAS(self, instruction):
        self._check_same(instruction.a, instruction.b)

    check_COPY = check_ALIAS

    def check_MOVE(self, instruction):
        self._check_same(instruction.a, instruction.b)
        kind = self.cells[instruction.b].kind
        if kind != "value":
            self.fail(f"empties C{instruction.b}, which is not its own ({kind})")

    def check_JUMPZ(self, instruction):
        a, b = instruction.a, instruction.b
        if self.cells[b].ndim or self.cells[b].typenum < 0:
            self.fail(f"its condition C{b} is not a number")
        if self.cells[b].place != HOST:
            self.fail(f"its condition C{b} is on the {place_name(self.cells[b].place)}")
        if not self.position < a <= self.range[1]:
            self.fail(f"jumps to {a}, which is not a later instruction of this part")
        self.branches.append(Branch(self.position, a, self.state.mark()))

    def check_JUMP(self, instruction):
        end = instruction.a
        branch = self.branches[-1] if self.branches else None
        if branch is None or branch.end is not None or branch.otherwise != self.position + 1:
            self.fail("does not end the first part of a branch")
        if not self.position < end <= self.range[1]:
            self.fail(f"jumps to {end}, which is not a later instruction of this part")
        branch.end, branch.changes = end, self.state.take_back(branch.mark, branch.first)

    def check_NEED(self, instruction):
        a, b = instruction.a, instruction.b
        block, state = self.blocks.get(b), self.state
        if block is None or block.first != a:
            self.fail(f"there is no block {b} at {a}, or it comes before this one")
        for inner in state.entries.unfit(block, self.here):
            for cell in inner.reads.get(self.here, ()):
                if self._writer_of(cell) not in inner.writers:
                    self.read(cell)
        homes = self._homes_not_run(block)
        if self.block is None and homes - {None}:
            self.fail(f"block {b} reads empty cells of the blocks {sorted(homes - {None})}")
        for cell, output, writer in block.overwrites:
            if self._writer_of(cell) not in block.writers:
                self.overwrite(cell, output, writer)
        if self.block is not None:
            self.block.writers.update(block.writers)
            self.block.needs[block] = self.block.needs.get(block, homes) | homes
        for cell, root in block.leaves.items():
            if not state.spent[cell]:
                self._fill(cell, root if root in block.own else state.root[root])

    def _homes_not_run(self, block):
        """Return the homes of what a block reads, without blocks that have filled it where the block is entered.

        So it is with the blocks of a graph inside a node: they read its inputs, and do not need what computes them.
        """
        found = set()
        for home in block.homes:
            cells = () if home is None or home == self.here else list(block.all_reads(home))
            if cells and all([self.state.filled[cell] for cell in cells]):
                for cell in cells:
                    self.read(cell)
            else:
                found.add(home)
        return found

    def _writer_of(self, cell):
        """Return the instruction that overwrote the memory of a cell, or None."""
        return self.lost.get(self.state.root[cell], self.state.overwritten.get(self.state.memory_of(cell)))

    def check_BACK(self, instruction):
        if self.block is None or self.position != self.block.last or instruction.a in self.blocks:
            self.fail(f"ends no block {instruction.a}")


# All that `_walk` needs of an opcode, so that this is looked up once for an instruction.
RULES = {row.name: (READS[row.name], REQUIREMENTS[row.name], getattr(_Check, "check_" + row.name, None),
                    row.name in ALWAYS, row.name in AFTER_COMMIT) for row in OPCODES}
