"""Places: values of different places share no memory. There is one real place; these tests make up another."""
import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.graph.function_graph import FunctionGraph
from phintys.ops.elementwise.elementwise_kernel import ElementwiseKernel
from phintys.ops.types.tensor_type import TensorType
from phintys.vm.abi import run_kernel
from phintys.vm.linking.lifetimes import Lifetimes
from phintys.vm.linking.linker import link
from phintys.vm.linking.plan import Planner
from phintys.vm.linking.verifier import ProgramError, verify
from phintys.vm.machine.container import Container
from phintys.vm.places import HOST, place_name
from phintys.vm.program import Program

ELSEWHERE = 1


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
    assert place_name(HOST) == "host" and place_name(ELSEWHERE) == "place 1"


def test_cells_have_the_places_of_their_types():
    program = chain()
    assert {layout.place for layout in program.cells} == {HOST}


def test_a_donor_of_another_place_is_refused():
    program = chain()
    heir = next(layout for layout in program.cells if layout.donor is not None)
    verify(program)
    with pytest.raises(ProgramError, match="cannot take the memory"):
        verify(moved(program, heir.donor))


def test_nothing_computes_at_another_place():
    program = chain()
    with pytest.raises(ProgramError, match="is at place 1, where nothing computes"):
        verify(moved(program, 0))


def test_a_graph_with_values_elsewhere_is_not_linked():
    x = FarType("float64", (False,))("x")
    with pytest.raises(ProgramError, match="x.* is at place 1"):
        link(FunctionGraph([x], [x], clone=False), 1, [], [], 1)


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
    return ElementwiseKernel([("float64", (False,))], [], [(numpy.negative, (0,), ("float64",) * 2)], [1])


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
    with pytest.raises(ValueError, match="operands of the host, not of place 1"):
        run_kernel(negated(), [numpy.zeros(3)], [layout])


def test_there_is_no_container_elsewhere():
    with pytest.raises(NotImplementedError, match="no memory at place 1"):
        Container(FarType("float64", (False,)), numpy.zeros(3))
