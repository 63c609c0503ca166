"""Ops that compute by ``make_thunk`` instead of ``perform``."""
import pytest

import phintys
import phintys.tensor as T
from phintys import gof
from phintys.graph.apply import Apply
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
