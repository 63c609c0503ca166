"""The programs of campaigns of faults have every opcode and every class of kernels; a few of their faults."""
import pickle

import covering_programs
import numpy
import pytest
from kernel_cases import kernel_classes

from phintys.vm.kernel_spec import KernelSpec, PickleSpec
from phintys.vm.opcodes import OPCODES
from phintys.vm.pool import fail_allocation, pool_statistics


def test_every_opcode_is_in_a_program():
    found = set()
    for name, allow_gc in [*[(name, True) for name in covering_programs.PROGRAMS], ("borrowed", "plan")]:
        function = covering_programs.compiled(name, allow_gc)[0]
        found |= {OPCODES[instruction.op].name for instruction in function.program.instructions()}
    assert {opcode.name for opcode in OPCODES} - found == {"FAIL", "PROFILE"}


def kernels_in(value):
    """Names of the classes of kernels that a program, a kernel or a description of these is made of."""
    if isinstance(value, PickleSpec):
        value = pickle.loads(value.content)
    if isinstance(value, KernelSpec):
        return {value.kernel.__name__}.union(*map(kernels_in, (value.arguments, value.named)))
    if isinstance(value, (tuple, list)):
        return set().union(*map(kernels_in, value))
    if hasattr(value, "kernels"):
        return kernels_in([kernel.spec for kernel in value.kernels])
    return set()


def test_every_class_of_kernels_is_in_a_program():
    """Add a new class to a program of its family in ``covering_programs.py``."""
    assert len(covering_programs.PROGRAMS) >= 60
    found = kernels_in([covering_programs.compiled(name)[0].program for name in covering_programs.PROGRAMS])
    assert {name for name, cls in kernel_classes().items() if not cls.__subclasses__()} - found == set()


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
