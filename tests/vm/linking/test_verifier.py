"""The verifier refuses every program that breaks a rule of the bytecode."""
from array import array

import numpy as np
import pytest

import phintys
import phintys.sparse
import phintys.tensor as T
from phintys.ifelse import ifelse
from phintys.ops.identity.equal_lengths import EqualLengths
from phintys.vm.linking.branch_checks import State, Summary
from phintys.vm.linking.verifier import ProgramError, verify
from phintys.vm.opcodes import NUMBER
from phintys.vm.program import INSTRUCTION_FORMAT, Instruction, Program


def sample(mode=None):
    """A correct program with an argument, a shared value, a constant, a result and an update."""
    x = T.vector("x")
    s = phintys.shared(np.ones(3), "s")
    return phintys.function([x], T.exp(x) + 0.5, updates=[(s, s + x)], mode=mode).program


def rebuilt(program, instructions=None, pool=None):
    fields = {name: getattr(program, name) for name in Program.__slots__}
    if instructions is not None:
        fields["code"] = b"".join(INSTRUCTION_FORMAT.pack(*instruction) for instruction in instructions)
        fields["nodes"] = (list(program.nodes) + [None] * len(instructions))[:len(instructions)]
    if pool is not None:
        fields["pool"] = array("i", pool)
    return Program(**fields)


def position(program, name):
    return next(i for i, instruction in enumerate(program.instructions()) if instruction.op == NUMBER[name])


def first_of(program, kind):
    return next(number for number, layout in enumerate(program.cells) if layout.kind == kind)


def without_load(program, instructions):
    del instructions[position(program, "LOAD")]


def without_halt(program, instructions):
    del instructions[-1]


def unknown_opcode(program, instructions):
    instructions[0] = instructions[0]._replace(op=200)


def unknown_kernel(program, instructions):
    at = position(program, "KERNEL")
    instructions[at] = instructions[at]._replace(a=99)


def outside_the_pool(program, instructions):
    at = position(program, "KERNEL")
    instructions[at] = instructions[at]._replace(b=10 ** 6)


def write_to_argument(program, instructions):
    at = position(program, "LOAD")
    instructions[at] = instructions[at]._replace(a=first_of(program, "argument"))


def kernel_after_commit(program, instructions):
    instructions.insert(-1, instructions[position(program, "KERNEL")])


def store_of_an_argument(program, instructions):
    at = position(program, "STORE")
    instructions[at] = instructions[at]._replace(b=first_of(program, "argument"))


def stored_twice(program, instructions):
    instructions.insert(-1, instructions[position(program, "STORE")])


def unknown_container(program, instructions):
    at = position(program, "STORE")
    instructions[at] = instructions[at]._replace(a=7)


def run_without_prepare(program, instructions):
    del instructions[position(program, "PREPARE")]


def prepare_without_run(program, instructions):
    del instructions[position(program, "RUN")]


def run_before_commit(program, instructions):
    at, commit = position(program, "RUN"), position(program, "COMMIT")
    instructions[at], instructions[commit] = instructions[commit], instructions[at]


def read_after_run(program, instructions):
    result = instructions.pop(position(program, "RESULT"))
    at = instructions.index(next(instruction for instruction in instructions if instruction.op == NUMBER["COMMIT"]))
    instructions[at], instructions[at + 1] = instructions[at + 1], instructions[at]
    instructions.insert(at + 1, result)


def not_stored(program, instructions):
    del instructions[position(program, "STORE")]


def stored_elsewhere(program, instructions):
    at = position(program, "STORE")
    instructions[at] = instructions[at]._replace(b=position_of_result(program))


def drop_in_a_commit(program, instructions):
    instructions.insert(position(program, "STORE"), Instruction(NUMBER["DROP"], 0, 0, 0, 0, 0))


def old_value_kept(program, instructions):
    instructions[-1] = instructions[-1]._replace(b=0, c=0)


def halt_outside(program, instructions):
    instructions[-1] = instructions[-1]._replace(b=len(program.pool))


def position_of_result(program):
    return program.pool[program.instructions()[position(program, "RESULT")].b]


BROKEN_COMMIT = {
    run_without_prepare: "was not prepared", prepare_without_run: "prepared and never run",
    run_before_commit: "before COMMIT", read_after_run: "before COMMIT",
    not_stored: "protected", stored_elsewhere: "protected", drop_in_a_commit: "is after COMMIT",
    old_value_kept: "leaves old values", halt_outside: "outside the pool",
}


@pytest.mark.parametrize("damage", BROKEN_COMMIT, ids=lambda damage: damage.__name__)
def test_a_broken_commit_is_refused(damage):
    program = sample()
    instructions = program.instructions()
    damage(program, instructions)
    with pytest.raises(ProgramError, match=BROKEN_COMMIT[damage]):
        verify(rebuilt(program, instructions))


def test_memory_owned_for_another_container_is_refused():
    x = T.vector("x")
    program = phintys.function([x], [], updates=[(phintys.shared(np.ones(3)), x[::step]) for step in (1, -1)]).program
    instructions = program.instructions()
    at = position(program, "OWN")
    instructions[at] = instructions[at]._replace(b=1 - instructions[at].b)
    with pytest.raises(ProgramError, match="may be the value of S"):
        verify(rebuilt(program, instructions))


def redone(program, **changes):
    """The program with some cells changed: number → fields."""
    cells = list(program.cells)
    for number, fields in changes.items():
        cells[int(number[1:])] = cells[int(number[1:])]._replace(**fields)
    changed = rebuilt(program)
    changed.cells = cells
    return changed


def inplace_chain():
    """``exp(dot(m, x))``, where the second kernel overwrites the result of the first."""
    m, x = T.matrix("m"), T.vector("x")
    return phintys.function([m, x], T.exp(T.dot(m, x))).program


def test_a_donor_must_have_the_type_of_its_heir():
    program = inplace_chain()
    verify(program)
    heir = next(number for number, layout in enumerate(program.cells) if layout.donor is not None)
    with pytest.raises(ProgramError, match="cannot take the memory"):
        verify(redone(program, **{f"C{heir}": {"donor": 0}}))


def test_what_was_overwritten_is_not_read_again():
    program = inplace_chain()
    instructions = [instruction for instruction in program.instructions() if instruction.op != NUMBER["DROP"]]
    first = instructions[0]
    donor = next(layout.donor for layout in program.cells if layout.donor is not None)
    pool = list(program.pool) + [donor]
    at = [instruction.op for instruction in instructions].index(NUMBER["RESULT"])
    instructions[at] = instructions[at]._replace(b=len(pool) - 1)
    changed = rebuilt(program, instructions, pool)
    changed.nodes = [node for node, old in zip(program.nodes, program.instructions()) if old.op != NUMBER["DROP"]]
    with pytest.raises(ProgramError, match="has overwritten"):
        verify(changed)
    assert first.op == NUMBER["KERNEL"]


@pytest.mark.parametrize("kind", ["argument", "constant", "shared"])
def test_nothing_protected_is_overwritten(kind):
    program = inplace_chain()
    donor = next(layout.donor for layout in program.cells if layout.donor is not None)
    changed = redone(program, **{f"C{donor}": {"kind": kind}})
    with pytest.raises(ProgramError, match="protected"):
        verify(changed)


BROKEN = {
    without_load: "empty cell", without_halt: "HALT", unknown_opcode: "unknown opcode", unknown_kernel: "no kernel",
    outside_the_pool: "outside the pool", write_to_argument: "not the cell of a shared",
    kernel_after_commit: "after COMMIT", store_of_an_argument: "not its own",
    stored_twice: "empty cell", unknown_container: "no container",
}


def test_a_correct_program_passes():
    program = sample()
    verify(rebuilt(program, program.instructions()))


@pytest.mark.parametrize("damage", BROKEN, ids=lambda damage: damage.__name__)
def test_a_broken_program_is_refused(damage):
    program = sample(phintys.compile.get_default_mode().excluding("inplace"))
    instructions = program.instructions()
    damage(program, instructions)
    with pytest.raises(ProgramError, match=BROKEN[damage]):
        verify(rebuilt(program, instructions))


def test_a_kernel_reads_no_objects():
    matrix, vector = phintys.sparse.csr_matrix("matrix"), T.vector("vector")
    lengths = EqualLengths([[(0, 0, "vector"), (1, 0, "matrix")]])(vector, matrix)
    with pytest.raises(ProgramError, match="matrix.* is an object, which no kernel reads"):
        phintys.function([vector, matrix], lengths)


def test_a_kernel_may_not_write_to_a_constant():
    program = sample()
    at = position(program, "KERNEL")
    instruction = program.instructions()[at]
    pool = list(program.pool)
    pool[instruction.b + instruction.n] = first_of(program, "argument")
    with pytest.raises(ProgramError, match="protected"):
        verify(rebuilt(program, pool=pool))


def of_many_inputs():
    """A correct program whose CALL has more inputs than its instruction can say; the position of the CALL."""
    class Last(phintys.Op):
        def make_node(self, *inputs):
            return phintys.Apply(self, inputs, [inputs[-1].type()])

        def perform(self, node, inputs, output_storage):
            output_storage[0][0] = inputs[-1] + 1.0

    x, y = T.vectors("x", "y")
    function = phintys.function([x, y], Last()(*[x] * 70000, y), mode=phintys.Mode(optimizer=None))
    np.testing.assert_array_equal(function([1.0], [5.0]), [6.0])
    return function.program, position(function.program, "CALL")


def test_an_instruction_with_very_many_inputs_is_checked_as_any_other():
    program, at = of_many_inputs()
    assert len(program.symbolic()[at].reads()) == 70001 and program.symbolic()[at].writes() == array("i", [2])
    call = program.instructions()[at]
    unwritten = list(program.pool)
    unwritten[call.b + call.c - 2] = unwritten[call.b + call.c - 1]         # the last input is the output
    with pytest.raises(ProgramError, match="reads the empty cell"):
        verify(rebuilt(program, pool=unwritten))
    protected = list(program.pool)
    protected[call.b + call.c - 1] = 0
    with pytest.raises(ProgramError, match="protected"):
        verify(rebuilt(program, pool=protected))
    unknown = rebuilt(program)
    unknown.counts = {}
    with pytest.raises(ProgramError, match="nothing says how many"):
        verify(unknown)


def test_inputs_are_no_more_than_operands():
    program = sample()
    instructions = program.instructions()
    at = position(program, "KERNEL")
    instructions[at] = instructions[at]._replace(n=instructions[at].c + 1)
    with pytest.raises(ProgramError, match="inputs among"):
        verify(rebuilt(program, instructions))


@pytest.mark.parametrize("name", ["JUMP", "JUMPZ", "NEED", "ALIAS", "MOVE", "COPY", "LOAD", "TOGETHER", "PLAN"])
def test_only_what_cannot_fail_stands_after_a_commit(name):
    program = sample()
    instructions = program.instructions()
    instructions.insert(-1, Instruction(NUMBER[name], 0, 0, 0, 0, 0))
    with pytest.raises(ProgramError, match="is after COMMIT"):
        verify(rebuilt(program, instructions))


# ---- branches and blocks ---------------------------------------------------------------------------------------------
def branching():
    """A correct program with a branch in a branch, and a block."""
    x, c, d = T.vector("x"), *T.iscalars("c", "d")
    shared = T.dot(x, x) * x
    return phintys.function([c, d, x], [ifelse(c, ifelse(d, shared.max(), x.max()), x.min()),
                                        ifelse(d, shared.sum(), x.sum())], mode="FAST_COMPILE").program


def moved(program, instructions, name, **fields):
    at = position(program, name)
    instructions[at] = instructions[at]._replace(**fields)


def jump_back(program, instructions):
    moved(program, instructions, "JUMPZ", a=0)


def jump_behind_the_end(program, instructions):
    moved(program, instructions, "JUMPZ", a=len(instructions) - 1)


def jump_into_the_middle(program, instructions):
    at = position(program, "JUMPZ")
    moved(program, instructions, "JUMPZ", a=instructions[at].a - 1)


def condition_that_is_an_array(program, instructions):
    moved(program, instructions, "JUMPZ", b=next(number for number, layout in enumerate(program.cells) if layout.ndim))


def without_jump(program, instructions):
    moved(program, instructions, "JUMP", op=NUMBER["DROP"])


def arm_that_fills_nothing(program, instructions):
    for at in reversed(range(len(instructions))):
        if instructions[at].op == NUMBER["COPY"]:
            instructions[at] = instructions[at]._replace(op=NUMBER["DROP"], a=0, b=0, c=0)
            break


def without_need(program, instructions):
    moved(program, instructions, "NEED", op=NUMBER["DROP"], a=0, b=0)


def unknown_block(program, instructions):
    moved(program, instructions, "NEED", b=5)


def wrong_place_of_a_block(program, instructions):
    at = position(program, "NEED")
    instructions[at] = instructions[at]._replace(a=instructions[at].a + 1)


def block_without_back(program, instructions):
    del instructions[-1]


def result_in_a_branch(program, instructions):
    at = position(program, "JUMPZ")
    instructions[at + 1] = instructions[position(program, "RESULT")]


BROKEN_BRANCHES = {
    jump_back: "not a later instruction", jump_behind_the_end: "not a later instruction",
    jump_into_the_middle: "does not end|second part",
    condition_that_is_an_array: "not a number", without_jump: "does not end with a JUMP",
    arm_that_fills_nothing: "reads the empty cell", without_need: "reads the empty cell",
    unknown_block: "no block 5", wrong_place_of_a_block: "no block 0", block_without_back: "does not end",
    result_in_a_branch: "in a branch or a block",
}


@pytest.mark.parametrize("damage", BROKEN_BRANCHES, ids=lambda damage: damage.__name__)
def test_broken_branches_are_refused(damage):
    program = branching()
    verify(program)
    instructions = program.instructions()
    damage(program, instructions)
    with pytest.raises(ProgramError, match=BROKEN_BRANCHES[damage]):
        verify(rebuilt(program, instructions))


# ---- blocks that need each other -------------------------------------------------------------------------------------
def blocks_in_blocks():
    """(a program where three arms need a block that needs another, which reads a value from outside; its cell)"""
    x, c, d, e = T.vector("x"), *T.iscalars("c", "d", "e")
    outside = T.exp(x)
    inner = T.dot(outside, x) * x
    outer = T.tanh(inner) * x
    with phintys.change_flags(workers=1):
        program = phintys.function([c, d, e, x], [outside.sum(), *[
            ifelse(condition, value, x[number]) for number, (condition, value) in enumerate(
                [(c, outer.max()), (d, outer.sum()), (e, inner.min())])]], mode="FAST_COMPILE").program
    owners = {layout.variable.owner: number for number, layout in enumerate(program.cells)}
    return program, next(number for node, number in owners.items() if node is not None and "exp" in str(node.op))


def needs(instructions):
    return [at for at, instruction in enumerate(instructions) if instruction.op == NUMBER["NEED"]]


def in_place_of(instructions, at, program, cell):
    """The program with a DROP of the cell instead of an instruction."""
    changed = list(instructions)
    changed[at] = changed[at]._replace(op=NUMBER["DROP"], flags=0, n=0, a=0, b=len(program.pool), c=1)
    return rebuilt(program, changed, [*program.pool, cell])


def test_what_an_inner_block_reads_must_be_there_wherever_the_outer_one_is_entered():
    program, cell = blocks_in_blocks()
    verify(program)
    instructions = program.instructions()
    halt, entered = position(program, "HALT"), needs(instructions)
    first, *later = [at for at in entered if at < halt]
    assert len(later) == 2 and later[-1] < halt < entered[-1]
    for at in range(first + 1, later[-1]):              # any position before a later NEED
        with pytest.raises(ProgramError):
            verify(in_place_of(instructions, at, program, cell))
    verify(in_place_of(instructions, position(program, "RESULT") - 1, program, cell))


def test_what_a_block_fills_is_read_only_by_who_needs_it():
    program, _ = blocks_in_blocks()
    instructions = program.instructions()
    for at in needs(instructions):
        for other in needs(instructions):
            changed = list(instructions)
            changed[at] = changed[at]._replace(a=instructions[other].a, b=instructions[other].b)
            if changed == instructions:
                continue
            with pytest.raises(ProgramError, match="reads empty cells of the blocks|reads the empty cell|no block"):
                verify(rebuilt(program, changed))
    assert len({instructions[at].b for at in needs(instructions)}) == 2


def test_what_is_overwritten_makes_blocks_that_look_at_it_unfit():
    """A block reads a cell that refers to another one's memory, alone or joined with more: it is checked again when
    this memory is overwritten, and not for what concerns other cells."""
    state, block = State([True] * 6), Summary(4, 5)
    block.reads = {None: {5}}
    block.close(0, {})
    state.entries.add(block)

    def is_checked_again():
        return list(state.entries.unfit(block, None)) == [block]

    assert is_checked_again() and not is_checked_again()
    state.set("root", 5, 2)
    assert is_checked_again()
    state.set("overwritten", 3, 7)
    assert not is_checked_again()
    state.set("overwritten", 2, 8)
    assert is_checked_again() and not is_checked_again()
    state.set("filled", 5, False)
    assert is_checked_again()
    state.set("filled", 2, False)
    assert not is_checked_again()
    state.join_memory(2, 4)
    state.set("overwritten", state.memory(4), 9)
    assert is_checked_again()
