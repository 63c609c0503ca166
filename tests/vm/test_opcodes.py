"""The opcode table against what the interpreter does to cells, and against the equations in the manual."""
import re
from array import array
from types import SimpleNamespace

import numpy as np
import pytest
from python_op import Doubled

import phintys
import phintys.tensor as T
from phintys.ifelse import ifelse
from phintys.vm.callables import callable as machine
from phintys.vm.linking import linker
from phintys.vm.opcodes import CELLS, NUMBER, OPCODES
from phintys.vm.program import INSTRUCTION_FORMAT
from phintys.vm.symbolic import ROWS

VALUE = np.arange(1.0, 5.0)
x, y, c = T.dvector("x"), T.dvector("y"), T.iscalar("c")


def update_in_place():
    s = phintys.shared(VALUE.copy(), "s")
    return phintys.function([x], T.exp(x) + 0.5, updates=[(s, s + x)])


def update_by_store():
    s, r = phintys.shared(VALUE.copy(), "s"), phintys.shared(VALUE.copy(), "r")
    return phintys.function([x], [s * 2, r], updates=[(s, x[::-1]), (r, s)])


def python_call():
    return phintys.function([x], T.cumsum(Doubled()(T.cumsum(x))))


def branches():
    return phintys.function([c, x, y], T.cumsum(ifelse(c, T.cumsum(x), y)))


def other_branches():
    return phintys.function([c, x, y], T.cumsum(ifelse(c, y, T.cumsum(x))))


def copies():
    return phintys.function([c, x, y], [ifelse(c, T.cumsum(x), y), x], mode="FAST_COMPILE")


def plan():
    return phintys.function([x], T.cumsum(T.cumsum(x)[::-1]), mode=phintys.Mode(allow_gc="plan"))


FUNCTIONS = [update_in_place, update_by_store, python_call, branches, other_branches, copies, plan]
# These are not found in straight code, or do nothing to cells themselves.
APART = {"TOGETHER", "JUMP", "JUMPZ", "NEED", "BACK", "FAIL", "PROFILE", "HALT"}


def arguments_of(function):
    return [1, VALUE, VALUE][-function.program.n_arguments:]


def with_failure(program, position):
    """Insert a FAIL that has all cells as operands in front of an instruction, and a node that says so."""
    code, cells = program.instructions(), range(len(program.cells))
    for number, instruction in enumerate(code):
        name = OPCODES[instruction.op].name
        if name in ("JUMP", "JUMPZ", "NEED") and instruction.a > position:
            code[number] = instruction._replace(a=instruction.a + 1)
    code.insert(position, (NUMBER["FAIL"], 0, 0, 0, len(program.pool), len(cells)))
    program.code = b"".join([INSTRUCTION_FORMAT.pack(*instruction) for instruction in code])
    program.pool = array("i", [*program.pool, *cells])
    program.nodes = [*program.nodes[:position], SimpleNamespace(inputs=cells), *program.nodes[position:]]


def filled_before(make, position, monkeypatch):
    """The cells that have memory when an instruction is reached, or None if it is not."""
    seen = []

    def explained(error, program, at, operands, at_length):
        seen.extend(operands)
        return error

    with monkeypatch.context() as changed:
        changed.setattr(machine, "explained", explained)
        changed.setattr(linker, "verify", lambda program: with_failure(program, position))
        function = make()
        try:
            function(*arguments_of(function))
        except RuntimeError:
            return {cell for cell, operand in enumerate(seen) if operand is not None}
    return None


@pytest.fixture(autouse=True)
def one_worker():
    with phintys.change_flags(workers=1):
        yield


@pytest.mark.parametrize("make", FUNCTIONS, ids=lambda make: make.__name__)
def test_cells_change_as_the_table_says(make, monkeypatch):
    program = make().program
    layouts, code = program.cells, program.symbolic()
    arrays = {cell for cell, layout in enumerate(layouts) if layout.ndim and layout.kind != "constant"}
    donors = {layout.donor for layout in layouts}
    before = filled_before(make, 0, monkeypatch)
    for position, instruction in enumerate(code):
        if instruction.name == "HALT":
            break
        after = filled_before(make, position + 1, monkeypatch)
        if instruction.name not in APART and before is not None and after is not None:
            reads, writes = arrays.intersection(instruction.reads()), arrays.intersection(instruction.writes())
            assert reads <= before, instruction
            assert (after - before) & arrays <= writes, instruction
            if instruction.name != "PREPARE":               # the memory may be there only when RUN has written
                assert writes <= after, instruction
            emptied = arrays.intersection(instruction.empties(layouts))
            assert (before - after) & (arrays - donors) == (emptied & before) - donors, instruction
        before = after


def test_the_functions_have_all_opcodes_that_change_cells():
    found = {instruction.name for make in FUNCTIONS for instruction in make().program.symbolic()}
    assert {opcode.name for opcode in OPCODES} - APART <= found


@pytest.mark.parametrize("opcode", OPCODES, ids=lambda opcode: opcode.name)
def test_a_row_agrees_with_its_equation(opcode):
    left, assigned, right = opcode.effect.partition(" := ")
    right = right if assigned else left
    assert {opcode.reads, opcode.writes, opcode.empties} <= set(CELLS)
    for operand in "ab":
        cell = f"C[{operand}]"
        assert (opcode.writes == operand) == ((assigned and left == cell) or f"{cell} is copied" in right)
        assert (opcode.reads == operand) == (re.search(rf"(^|number ){re.escape(cell)}", right) is not None)
    has_list = "P[b:b+c]" in opcode.effect or opcode.name in ("PREPARE", "RUN")
    assert has_list == bool({"list", "inputs", "outputs", "given"} & {opcode.reads, opcode.writes, opcode.empties})
    assert (opcode.reads == "inputs") == (opcode.writes == "outputs")
    assert bool(opcode.empties) == ("empt" in opcode.effect or opcode.name == "STORE")
    assert ROWS[opcode.name] is opcode


def test_what_follows_a_commit_cannot_fail():
    program = update_by_store().program
    names = [instruction.name for instruction in program.symbolic()]
    late = names[names.index("COMMIT") + 1:]
    assert {"STORE", "HALT"} <= set(late)
    assert not any([ROWS[name].may_fail for name in late])
