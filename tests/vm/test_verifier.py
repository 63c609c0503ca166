"""The verifier refuses every program that breaks a rule of the bytecode."""
from array import array

import numpy as np
import pytest

import phintys
import phintys.tensor as T
from phintys.vm.opcodes import NUMBER
from phintys.vm.program import INSTRUCTION_FORMAT, Program
from phintys.vm.verifier import ProgramError, verify


def sample():
    """A correct program with an argument, a shared value, a constant, a result and an update."""
    x = T.vector("x")
    s = phintys.shared(np.ones(3), "s")
    return phintys.function([x], T.exp(x) + 0.5, updates=[(s, s + x)]).program


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


BROKEN = {
    without_load: "empty cell", without_halt: "HALT", unknown_opcode: "unknown opcode", unknown_kernel: "no kernel",
    outside_the_pool: "outside the pool", write_to_argument: "protected", kernel_after_commit: "after COMMIT",
    store_of_an_argument: "not its own", stored_twice: "empty cell", unknown_container: "no container",
}


def test_a_correct_program_passes():
    program = sample()
    verify(rebuilt(program, program.instructions()))


@pytest.mark.parametrize("damage", BROKEN, ids=lambda damage: damage.__name__)
def test_a_broken_program_is_refused(damage):
    program = sample()
    instructions = program.instructions()
    damage(program, instructions)
    with pytest.raises(ProgramError, match=BROKEN[damage]):
        verify(rebuilt(program, instructions))


def test_a_kernel_may_not_write_to_a_constant():
    program = sample()
    at = position(program, "KERNEL")
    instruction = program.instructions()[at]
    pool = list(program.pool)
    pool[instruction.b + instruction.n] = first_of(program, "argument")
    with pytest.raises(ProgramError, match="protected"):
        verify(rebuilt(program, pool=pool))
