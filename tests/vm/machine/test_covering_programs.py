"""The programs of campaigns of faults have every opcode; a few of their faults."""
import covering_programs
import numpy
import pytest

from phintys.vm.opcodes import OPCODES
from phintys.vm.pool import fail_allocation, pool_statistics


def test_every_opcode_is_in_a_program():
    found = set()
    for name, allow_gc in [*[(name, True) for name in covering_programs.PROGRAMS], ("borrowed", "plan")]:
        function = covering_programs.compiled(name, allow_gc)[0]
        found |= {OPCODES[instruction.op].name for instruction in function.program.instructions()}
    assert {opcode.name for opcode in OPCODES} - found == {"FAIL", "PROFILE"}


@pytest.mark.parametrize("name", ["loop of perform", "one op", "sparse", "lists", "loop that updates"])
def test_allocations_that_fail_change_nothing(name):
    function, arguments, shared = covering_programs.compiled(name)
    before, number = [variable.get_value() for variable in shared], 0
    function.free()
    live = pool_statistics()["live_buffers"]
    while True:
        number += 1
        fail_allocation(number)
        try:
            function(*arguments)
            break
        except MemoryError:
            pass
        finally:
            fail_allocation(0)
        function.free()
        assert pool_statistics()["live_buffers"] == live
        for variable, value in zip(shared, before):
            numpy.testing.assert_array_equal(variable.get_value(), value)
    assert number > 1
