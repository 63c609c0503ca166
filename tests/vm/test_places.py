"""Places: values of different places share no memory. These tests need no device."""
import subprocess
import sys
import textwrap

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.graph.function_graph import FunctionGraph
from phintys.ops.elementwise.elementwise_kernel import ElementwiseKernel
from phintys.ops.elementwise.scalar_code import ScalarCode
from phintys.ops.types.tensor_type import TensorType
from phintys.vm.abi import run_kernel
from phintys.vm.linking.lifetimes import Lifetimes
from phintys.vm.linking.linker import link
from phintys.vm.linking.plan import Planner
from phintys.vm.linking.verifier import ProgramError, verify
from phintys.vm.places import DEVICE, HOST, place_name
from phintys.vm.program import Program

ELSEWHERE = DEVICE


class FarType(TensorType):
    """Arrays at the other place."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.layout = (*self.layout[:2], ELSEWHERE)


def moved(program, number, place=ELSEWHERE):
    """The program with one cell at another place."""
    fields = {name: getattr(program, name) for name in Program.__slots__}
    fields["cells"] = [layout._replace(place=place) if cell == number else layout
                       for cell, layout in enumerate(program.cells)]
    return Program(**fields)


def chain(**options):
    """``exp(dot(m, x))``, where the second kernel overwrites the result of the first."""
    m, x = T.matrix("m"), T.vector("x")
    return phintys.function([m, x], T.dot(m, T.exp(T.dot(m, x))), **options).program


def test_the_layout_of_a_type_has_the_place():
    assert T.dmatrix().type.layout == (numpy.dtype("float64").num, 2, HOST)
    assert phintys.scalar.float32().type.layout == (numpy.dtype("float32").num, 0, HOST)
    assert (place_name(HOST), place_name(DEVICE), place_name(7)) == ("host", "device", "place 7")


def test_cells_have_the_places_of_their_types():
    program = chain()
    assert {layout.place for layout in program.cells} == {HOST}


def test_a_donor_of_another_place_is_refused():
    program = chain()
    heir = next(layout for layout in program.cells if layout.donor is not None)
    verify(program)
    with pytest.raises(ProgramError, match="cannot take the memory"):
        verify(moved(program, heir.donor))


def test_kernels_of_the_host_have_no_operands_elsewhere():
    program = chain()
    with pytest.raises(ProgramError, match="is on the device, where ProductKernel does not work"):
        verify(moved(program, len(program.cells) - 1))          # the result


def test_a_graph_with_values_elsewhere_is_linked_only_if_the_kernels_work_there():
    x = FarType("float64", (False,))("x")
    assert link(FunctionGraph([x], [x], clone=False), 1, [], [], 1).cells[0].place == DEVICE
    y = T.exp(T.dvector())
    y.owner.inputs[0] = x
    with pytest.raises(ProgramError, match="where ElementwiseKernel does not work"):
        link(FunctionGraph([x], [y], clone=False), 1, [], [], 1)


def test_a_plan_has_no_room_for_values_elsewhere():
    program = chain(mode=phintys.Mode(allow_gc="plan"))
    placed = Planner(program).cells
    assert placed
    assert placed[0] not in Planner(moved(program, placed[0])).cells


def test_a_plan_gives_no_donor_of_another_place():
    program = chain(mode=phintys.Mode(allow_gc="plan"))
    heir, donor = next((cell, layout.donor) for cell, layout in enumerate(program.cells) if layout.donor is not None)
    shapes = [(3, 3) if layout.ndim == 2 else (3,) for layout in program.cells]
    assert Lifetimes(program).holders(shapes)[heir] == donor
    assert Lifetimes(moved(program, donor)).holders(shapes)[heir] == heir


def negated():
    return ElementwiseKernel(ScalarCode(["float64"], [], [(numpy.negative, (0,), ("float64",) * 2)], [1]), [(False,)])


@pytest.mark.parametrize("place, taken", [(HOST, True), (ELSEWHERE, False)])
def test_allocate_takes_the_memory_of_a_donor_of_its_place_only(place, taken):
    x = numpy.arange(1000.0)
    donated = []
    copy = TakenNote(x, donated)
    result, = run_kernel(negated(), [copy], [T.dvector().type.layout], donors={0: 0}, donor_place=place)
    assert result.tolist() == (-x).tolist()
    assert numpy.array_equal(donated[0], -x if taken else x)


class TakenNote(numpy.ndarray):
    """An array that notes the copy that is made of it."""

    def __new__(cls, array, copies):
        noted = array.view(cls)
        noted.copies = copies
        return noted

    def __array_finalize__(self, source):
        self.copies = getattr(source, "copies", None)

    def copy(self, order="C"):
        copied = numpy.array(self, order=order, subok=False)
        self.copies.append(copied[:])
        return copied


def test_a_kernel_runs_on_operands_of_the_host():
    layout = (numpy.dtype("float64").num, 1, ELSEWHERE)
    with pytest.raises(ValueError, match="operands of the host, not of the device"):
        run_kernel(negated(), [numpy.zeros(3)], [layout])


def test_there_is_no_container_elsewhere_without_a_device():
    script = textwrap.dedent("""
        import numpy
        from phintys.ops.types.tensor_type import TensorType
        from phintys.vm.containers.container import Container
        type_ = TensorType("float64", (False,))
        type_.layout = (*type_.layout[:2], 1)
        try:
            Container(type_, numpy.zeros(3))
        except RuntimeError as error:
            print(error)
    """)
    done = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "the value is on a device, and no device is in use: see phintys.gpu.use\n"
