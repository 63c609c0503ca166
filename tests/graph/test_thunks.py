"""Ops that compute by ``make_thunk`` instead of ``perform``."""
import pickle

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys import gof
from phintys.compile.monitormode import MonitorMode
from phintys.compile.nanguardmode import NanGuardMode
from phintys.debugging.debug_errors import NondeterministicOp
from phintys.graph.apply import Apply
from phintys.graph.config import change_flags
from phintys.graph.op import Op
from phintys.ifelse import ifelse


class Powers(gof.PureOp):
    """x to a power, by a thunk that is made once a node."""

    __props__ = ("power",)

    def __init__(self, power):
        self.power, self.made = power, []

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def make_thunk(self, node, storage_map, compute_map, no_recycling, impl):
        self.made.append(node)
        source, target = storage_map[node.inputs[0]], storage_map[node.outputs[0]]

        def thunk():
            if not compute_map[node.inputs[0]][0]:
                return [0]
            target[0] = source[0] ** self.power
        thunk.lazy = True
        return thunk


def test_thunks():
    op, v = Powers(3), T.dvector("v")
    function = phintys.function([v], op(v) + 1)
    for number in (2.0, 3.0):
        assert function([number]).tolist() == [number ** 3 + 1]
    assert len(op.made) == 1
    with pytest.raises(gof.MethodNotDefined, match="perform"):
        phintys.function([v], Nothing()(v))([1.0])


class Both(Op):
    """x + 1 by its thunk, which calls ``perform``, and counts calls of both."""

    __props__ = ()
    itypes, otypes = [T.dvector], [T.dvector]

    def __init__(self):
        self.runs = []

    def make_thunk(self, node, storage_map, compute_map, no_recycling, impl=None):
        inner = super().make_thunk(node, storage_map, compute_map, no_recycling, impl)

        def thunk():
            self.runs.append("thunk")
            inner()
            storage_map[node.outputs[0]][0] += 1
        return thunk

    def prepare_node(self, node, storage_map, compute_map, impl):
        self.runs.append("prepared")

    def perform(self, node, inputs, output_storage):
        self.runs.append("perform")
        output_storage[0][0] = inputs[0].copy()


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
def test_a_thunk_beside_perform_is_what_programs_call(mode):
    """As in Theano; for example a library counts calls there, or chooses another function."""
    op, v = Both(), T.dvector("v")
    function = phintys.function([v], op(v) * 2, mode=mode)
    del op.runs[:]
    for number in (2.0, 3.0):
        assert function([number]).tolist() == [2 * number + 2]
    assert op.runs == ["prepared", "thunk", "perform", "thunk", "perform"]


class Tripled(Op):
    """3 x, by a thunk only."""

    __props__ = ()

    def make_node(self, x):
        x = T.as_tensor_variable(x)
        return Apply(self, [x], [x.type()])

    def make_thunk(self, node, storage_map, compute_map, no_recycling, impl=None):
        source, target = storage_map[node.inputs[0]], storage_map[node.outputs[0]]

        def thunk():
            target[0] = 3 * source[0]
            compute_map[node.outputs[0]][0] = True
        return thunk

    def grad(self, inputs, output_gradients):
        return [3 * output_gradients[0]]

    def infer_shape(self, node, input_shapes):
        return input_shapes


class TripledOfPureOp(gof.PureOp):
    __props__ = ()
    make_node, make_thunk, grad, infer_shape = Tripled.make_node, Tripled.make_thunk, Tripled.grad, Tripled.infer_shape


class TripledBesidePerform(Tripled):
    """Only its thunk is right."""

    def perform(self, node, inputs, output_storage):
        raise AssertionError("perform is called")


class TripledBesideKernel(T.nnet.Softmax):
    """Only its thunk is right; the base has a kernel."""

    __props__ = ()
    make_node, make_thunk, L_op, infer_shape = Tripled.make_node, Tripled.make_thunk, Op.L_op, Tripled.infer_shape
    grad = Tripled.grad


V = T.dvector("v")
VALUE = numpy.arange(1, 4.0)
ALL_MODES = {"FAST_RUN": "FAST_RUN", "FAST_COMPILE": "FAST_COMPILE", "DebugMode": "DebugMode",
             "NanGuardMode": NanGuardMode(True, True, True), "MonitorMode": MonitorMode()}
# Graphs that are 3 * VALUE, where ops are computed in other ways.
PLACES = {
    "alone": lambda op: op(V), "of a constant": lambda op: op(T.constant(VALUE)) + 0 * V,
    "gradient": lambda op: phintys.grad((op(V) * VALUE).sum(), V), "graph as an op":
        lambda op: phintys.OpFromGraph([V], [op(V)])(V), "branch": lambda op: ifelse(V[0] > 0, op(V), V),
    "loop": lambda op: phintys.map(lambda row: op(T.stack([row, row]))[0], V)[0],
    "updates of a loop": lambda op: phintys.scan(lambda state: op(state), outputs_info=V, n_steps=1)[0][-1],
    "Jacobian": lambda op: T.dot(T.jacobian(op(V), V), V),
}


@pytest.mark.parametrize("kind", [Tripled, TripledOfPureOp, TripledBesidePerform, TripledBesideKernel])
def test_a_thunk_computes_everywhere(kind):
    op = kind()
    for place, make in PLACES.items():
        for name, mode in ALL_MODES.items():
            f = phintys.function([V], make(op), mode=mode, on_unused_input="ignore")
            numpy.testing.assert_array_equal(f(VALUE), 3 * VALUE, err_msg=f"{place} {name}")
    with change_flags(compute_test_value="raise"):
        x = T.dvector("x")
        x.tag.test_value = VALUE
        assert op(x).tag.test_value.tolist() == (3 * VALUE).tolist()
    assert op(V).eval({V: VALUE}).tolist() == (3 * VALUE).tolist()
    constants = phintys.function([], op(T.constant(VALUE)))
    assert op not in [node.op for node in constants.maker.fgraph.apply_nodes]       # it is folded
    again = pickle.loads(pickle.dumps(phintys.function([V], op(V))))
    assert again(VALUE).tolist() == (3 * VALUE).tolist()
    phintys.gradient.verify_grad(op, [VALUE], rng=numpy.random.RandomState(0))


def test_debug_mode_compares_two_runs_of_a_thunk():
    class Counting(Tripled):
        def make_thunk(self, node, storage_map, compute_map, no_recycling, impl=None):
            target, runs = storage_map[node.outputs[0]], []

            def thunk():
                runs.append(None)
                target[0] = numpy.full(3, float(len(runs)))
            return thunk

    with pytest.raises(NondeterministicOp):
        phintys.function([V], Counting()(V), mode="DebugMode")(VALUE)


class Nothing(Op):
    """An op that cannot compute."""

    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [x.type()])


def test_a_thunk_in_the_branch_not_taken_does_not_run():
    class Failing(gof.PureOp):
        __props__ = ()

        def make_node(self, x):
            return Apply(self, [x], [x.type()])

        def make_thunk(self, node, storage_map, compute_map, no_recycling, impl):
            def thunk():
                raise ArithmeticError("computed")
            return thunk

    condition, first, second = T.scalar(), gof.generic(), gof.generic()
    function = phintys.function([condition, first, second], ifelse(condition, Failing()(first), second))
    assert function(0, "a", "b") == "b"
    with pytest.raises(ArithmeticError, match="computed"):
        function(1, "a", "b")
