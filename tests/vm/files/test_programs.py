"""Programs saved and loaded: what they keep, what is bound again, and what cannot be saved."""
import copy
import pickle

import numpy
import pytest
from program_callables import callable_of
from saved_programs import check_program, in_a_bare_process

import phintys
import phintys.tensor as T
from phintys.graph.function_graph import FunctionGraph
from phintys.vm.abi import Kernel
from phintys.vm.described_node import described
from phintys.vm.files.programs import dumps, loads
from phintys.vm.files.values import FileError
from phintys.vm.linking.linker import link
from phintys.vm.linking.verifier import ProgramError

x, y = T.dvectors("x", "y")
VALUE = numpy.arange(3.0)


class AddOne(phintys.Op):
    """Python only; its result says what it learned of its node."""

    __props__ = ()

    def make_node(self, value):
        return phintys.Apply(self, [value, T.constant(1.0, "one")], [value.type("sum")])

    def perform(self, node, inputs, output_storage):
        assert node.op == self and len(node.inputs) == node.nin == 2 and node.nout == 1
        assert node.inputs[1].data == 1.0 and node.outputs[0].name == "sum" and node.outputs[0].index == 0
        output_storage[0][0] = inputs[0] + numpy.asarray(inputs[1], node.outputs[0].dtype)


class Curious(AddOne):
    """Asks for more than a description has."""

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] * len(node.fgraph.inputs)


class WithThunk(phintys.Op):
    """Computes by a thunk."""

    __props__ = ()

    def make_node(self, value):
        return phintys.Apply(self, [value], [value.type()])

    def make_thunk(self, node, storage_map, compute_map, no_recycling, impl=None):
        source, target = storage_map[node.inputs[0]], storage_map[node.outputs[0]]

        def thunk():
            target[0] = source[0] + 2
        return thunk


class WithGraph(AddOne):
    """Holds a graph, which only phintys can read."""

    def __init__(self):
        self.graph = FunctionGraph([x], [T.exp(x)])

    def __getstate__(self):
        return {"graph": self.graph}


class HoldsItself(AddOne):
    """Cannot be written: it has no end."""

    def __getstate__(self):
        return {"itself": self}


class Many(phintys.Op):
    """How many inputs there are."""

    __props__ = ()

    def make_node(self, *values):
        return phintys.Apply(self, list(values), [T.lscalar()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = numpy.asarray(len(inputs))


class Local(AddOne):
    """Cannot be pickled."""

    def __reduce__(self):
        raise pickle.PicklingError("it is not for others")


def reloaded(function, **options):
    """The program of a function, saved, loaded and made callable."""
    loaded = loads(dumps(function.program), [__name__])
    check_program(function.program, loaded)
    return callable_of(loaded, **options)


def test_arguments_convert_as_they_did():
    twin = reloaded(phintys.function([x, T.iscalar("n")], x + 1, on_unused_input="ignore"), single=True)
    assert twin([1, 2], 3).tolist() == [2.0, 3.0] and twin(n=1, x=VALUE).tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(TypeError, match='name "x".*index 0(?s:.*)Expected TensorType.float64, vector., got a str'):
        twin("text", 1)
    with pytest.raises(TypeError, match="Missing required input: 1: n"):
        twin(VALUE)


def test_a_plain_pickle_of_a_program_has_no_graph_either():
    function = phintys.function([x], [T.exp(x), x.sum()], name="f")
    loaded = pickle.loads(pickle.dumps(function.program))
    check_program(function.program, loaded)
    assert b"Apply" not in pickle.dumps(function.program)
    assert callable_of(loaded)(VALUE)[1] == 3.0
    check_program(function.program, copy.deepcopy(function.program))


def test_what_was_loaded_is_saved_again():
    loaded = loads(dumps(phintys.function([x], AddOne()(x)).program), [__name__])
    again = loads(dumps(loaded), [__name__])
    assert callable_of(again, single=True)(VALUE).tolist() == [1.0, 2.0, 3.0]
    assert callable_of(again).explain("instructions") == callable_of(loaded).explain("instructions")


def test_shared_values_are_saved_as_they_are():
    state = phintys.shared(VALUE, "state")
    function = phintys.function([], state.sum(), updates=[(state, state + 1)])
    function()
    twin = reloaded(function, single=True)
    assert twin() == 6.0 and twin() == 9.0 and function() == 6.0
    container, = twin.program.containers
    assert container.name == "state" and container.get().tolist() == [3.0, 4.0, 5.0]


def test_programs_that_are_saved_together_share_what_they_shared():
    state = phintys.shared(0.0, "state")
    count = phintys.function([], [], updates=[(state, state + 1)])
    read = phintys.function([], state * 10)
    count, read = map(callable_of, loads(dumps([count.program, read.program])))
    count()
    assert read() == [10.0]


@pytest.mark.parametrize("allow_gc", [True, False, "plan"])
def test_ways_of_keeping_memory(allow_gc):
    state = phintys.shared(numpy.zeros(1000))
    function = phintys.function([phintys.In(x, mutable=True), y], [T.tanh(x + y) * 2, (x + y).sum()],
                                updates=[(state, state + x * y)], mode=phintys.Mode(allow_gc=allow_gc))
    twin = reloaded(function)
    for number in range(4):
        values = numpy.full(1000, number), numpy.arange(1000.0)
        expected, got = function(*[value.copy() for value in values]), twin(*[value.copy() for value in values])
        assert [value.tolist() for value in got] == [value.tolist() for value in expected]
    assert twin.program.containers[0].get().tolist() == state.get_value().tolist()


def test_branches_and_results_that_are_lent():
    condition = T.bscalar("condition")
    function = phintys.function([condition, phintys.In(x, borrow=True)],
                                [phintys.Out(phintys.ifelse.ifelse(condition, T.exp(x) + x, x - 1), borrow=True),
                                 phintys.Out(x[::-1], borrow=True)])
    twin = reloaded(function)
    for flag in (0, 1, 0):
        assert [value.tolist() for value in twin(flag, VALUE)] == [value.tolist() for value in function(flag, VALUE)]
    assert numpy.shares_memory(twin(1, VALUE)[1], VALUE)


def test_ops_in_python_get_a_description_of_their_node():
    assert reloaded(phintys.function([x], AddOne()(x)), single=True)(VALUE).tolist() == [1.0, 2.0, 3.0]
    assert reloaded(phintys.function([x], WithThunk()(x)), single=True)(VALUE).tolist() == [2.0, 3.0, 4.0]


def test_an_op_that_asks_its_node_for_more_is_told_so():
    function = phintys.function([x], Curious()(x))
    assert function(VALUE).tolist() == VALUE.tolist()
    twin = reloaded(function)
    with pytest.raises(AttributeError, match="Curious asks for 'fgraph' of its node, but this program was") as caught:
        twin(VALUE)
    assert "CALL" in str(caught.value) and "test_programs.py" in str(caught.value)


def test_errors_say_where_without_a_graph():
    twin = reloaded(phintys.function([x, y], x + y, name="f"))
    with pytest.raises(ValueError, match=r"at instruction 0 \(KERNEL\) of f: Elemwise{add,no_inplace}\(C0, C1\), "
                                         r"made at test_programs.py:\d+\nInputs shapes: \[\(3,\), \(2,\)\]\n"
                                         r"Inputs strides: .*\nInputs values: \[array.*, array\(\[0., 0.\]\)\]$"):
        twin(VALUE, numpy.zeros(2))
    with pytest.raises(TypeError, match="Missing required input"):
        twin(VALUE)


def test_a_graph_is_not_saved():
    with pytest.raises(TypeError, match=r"holds WithGraph.* \(a WithGraph\), an op that has only a perform in Python, "
                                        "with a FunctionGraph"):
        dumps(phintys.function([x], WithGraph()(x)).program)
    with pytest.raises(TypeError, match="an op that has only a perform in Python, with a "):
        dumps(phintys.function([x], x + 1, mode="DebugMode").program)
    with pytest.raises(TypeError, match="what is to be saved holds a TensorVariable: x"):
        dumps([x])


def test_an_op_that_nobody_else_can_make_is_not_saved():
    program = phintys.function([x], [AddOne()(x), Local()(x)]).program
    with pytest.raises(TypeError, match=r"Local \(a Local\), .* with Local, which cannot be pickled: it is not"):
        dumps(program)

    with pytest.raises(TypeError, match="HoldsItself.*, which refers to itself"):
        dumps(phintys.function([x], HoldsItself()(x)).program)

    class Inside(AddOne):
        pass

    with pytest.raises(TypeError, match=r"Inside \(a Inside\), .* with the class .*Inside of .*no other process"):
        dumps(phintys.function([x], Inside()(x)).program)


def test_modules_of_ops_are_imported_only_if_the_reader_says_so():
    data = dumps(phintys.function([x], AddOne()(x)).program)
    with pytest.raises(FileError, match=r"needs AddOne of the module .*test_programs, .* load\(..., modules=\["):
        loads(data)


def test_a_kernel_without_a_spec_is_named():
    class Unplain(Kernel):
        def __init__(self, table):
            pass

    program = phintys.function([x], T.exp(x)).program
    changed = loads(dumps(program))
    changed.kernels = [Unplain({})]
    with pytest.raises(TypeError, match="kernel class .*Unplain has no spec: argument 0"):
        dumps(changed)


def test_what_is_loaded_is_verified():
    loaded = loads(dumps(phintys.function([x, y], T.dot(x, y)).program))
    loaded.pool[0] = 2                              # reads its own result
    with pytest.raises(ProgramError, match="reads the empty cell C2 .dot.0."):
        callable_of(loaded)


def test_views_and_overwriting_are_checked_without_nodes():
    state = phintys.shared(VALUE)
    loaded = loads(dumps(phintys.function([x], x[::2], updates=[(state, state + 1)]).program))
    callable_of(loaded)
    run = [at for at, instruction in enumerate(loaded.symbolic()) if instruction.name == "RUN"]
    assert len(run) == 1 and run[0] in loaded.overwritten and loaded.views
    loaded.overwritten[run[0]] = tuple([(output, 0) for output, _ in loaded.overwritten[run[0]]])
    with pytest.raises(ProgramError, match="RUN.: says of C4 what is not one of its results"):
        callable_of(loaded)


def test_an_instruction_with_very_many_inputs():
    graph = FunctionGraph([x], [Many()(*[x] * 70000)], clone=False)
    loaded = loads(dumps(link(graph, 1, [], [], 1)), [__name__])
    assert [len(instruction.reads()) for instruction in loaded.symbolic()][0] == 70000
    assert callable_of(loaded, single=True)(VALUE) == 70000


def test_a_described_node_is_described_once():
    node = described((x + y).owner)
    assert described(node) is node and str(node) == str((x + y).owner.op) + "(x, y)"
    assert [str(variable) for variable in node.inputs] == ["x", "y"] and node.inputs[0].owner is None
    twice = described((x * x).owner).inputs
    assert twice[0] is twice[1]
    assert node.inputs[0].ndim == 1 and node.inputs[0].broadcastable == (False,)


def test_loading_imports_neither_ops_nor_what_makes_functions(tmp_path):
    state = phintys.shared(VALUE, "state")
    function = phintys.function([x], [T.exp(x) * state, x.sum()], updates=[(state, state + x)])
    (tmp_path / "program").write_bytes(dumps(function.program))
    lines = in_a_bare_process("""
from phintys.vm.callables.callable import Callable
from phintys.vm.files.programs import loads
program = loads(open(sys.argv[1], "rb").read())
f = Callable(program, program.argument_types, ["x"], [False], [None])
print(f([1.0, 2.0, 3.0])[1], f.program.containers[0].get().tolist())
allowed = ("phintys.ops.types", "phintys.ops.native")
print([name for name in sys.modules if name.startswith("phintys.ops.") and not name.endswith("_kernel")
       and name.count(".") > 2 and not name.startswith(allowed)])
print([name for name in sys.modules if name.startswith(("phintys.optimizer", "phintys.making", "phintys.tensor"))])
""", tmp_path / "program")
    assert lines[0] == "6.0 [1.0, 3.0, 5.0]" and lines[2] == "[]"
    assert set(eval(lines[1])) <= {
        "phintys.ops.elementwise.arithmetic_chain", "phintys.ops.elementwise.arithmetic_tree",
        "phintys.ops.elementwise.block_code", "phintys.ops.elementwise.register_code",
        "phintys.ops.elementwise.scalar_code", "phintys.ops.reduction.folds"}


def test_a_graph_linked_by_hand():
    graph = FunctionGraph([x], [T.exp(x)], clone=False)
    twin = callable_of(loads(dumps(link(graph, 1, [], [], 1))), single=True)
    assert twin(VALUE).tolist() == numpy.exp(VALUE).tolist()
