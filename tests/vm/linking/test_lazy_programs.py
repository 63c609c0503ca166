"""Random programs with lazy branches against an evaluator that computes what is needed, and notes what that was."""
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import phintys
import phintys.tensor as T
from phintys.ifelse import IfElse, ifelse
from phintys.making.function_maker import FunctionMaker


class Counted(phintys.Op):
    """A function that notes that it ran."""

    __props__ = ("number",)
    runs = []

    def __init__(self, number):
        self.number = number

    def make_node(self, x):
        return phintys.Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        self.runs.append(self.number)
        output_storage[0][0] = np.sin(inputs[0] + self.number)


class Increment(phintys.Op):
    """Overwrites its input."""

    __props__ = ()
    destroy_map = {0: [0]}

    def make_node(self, x):
        return phintys.Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        inputs[0] += 0.25
        output_storage[0][0] = inputs[0]


class Model:
    """Values of variables by the ops' names, each computed once, and only when it is needed."""

    RULES = {"add": lambda a, b: a + b, "mul": lambda a, b: a * b, "tanh": np.tanh, "gt": lambda a, b: a > b,
             "Sum": np.sum, "Increment": lambda a: a + 0.25, "Dot": np.dot, "DimShuffle": lambda a: a.reshape(-1),
             "Subtensor": lambda a: a[::-1]}

    def __init__(self, values):
        self.values, self.runs = dict(values), []

    def __call__(self, outputs):
        waiting = [output.owner for output in outputs if output.owner is not None]
        while waiting:
            node = waiting[-1]
            missing = [variable.owner for variable in self._needed(node)
                       if variable not in self.values and variable.owner is not None]
            if missing:
                waiting.extend(missing)
                continue
            waiting.pop()
            if node.outputs[0] not in self.values:
                self._compute(node)
        return [np.array(self._value(output)) for output in outputs]

    def _value(self, variable):
        return variable.data if isinstance(variable, phintys.Constant) else self.values[variable]

    def _needed(self, node):
        if not isinstance(node.op, IfElse):
            return node.inputs
        condition = node.inputs[0]
        if condition not in self.values and condition.owner is not None:
            return [condition]
        return node.op.branches(node.inputs)[0 if self._value(condition) else 1]

    def _compute(self, node):
        values = [self._value(variable) for variable in self._needed(node)]
        if isinstance(node.op, IfElse):
            self.values.update(zip(node.outputs, values))
            return
        if isinstance(node.op, Counted):
            self.runs.append(node.op.number)
            self.values[node.outputs[0]] = np.sin(values[0] + node.op.number)
            return
        name = type(node.op).__name__
        self.values[node.outputs[0]] = self.RULES[node.op.scalar_op.name if name == "Elemwise" else name](*values)


class Draw:
    """A program, drawn from data."""

    def __init__(self, data, length):
        self.data = data
        self.questions = list(T.iscalars("a", "b", "c"))
        self.conditions = list(self.questions)
        self.arguments = list(T.dvectors("x", "y"))
        self.shared = [phintys.shared(np.array([0.1, -0.2, 0.3]) * k, f"w{k}") for k in (1, 2)]
        self.values = self.arguments + self.shared
        for number in range(length):
            self._step(number)
        self.outputs = [self.values[-1], self._value(), self._value()]
        self.updates = [(w, T.tanh(self._value())) for w in self.shared if data.draw(st.booleans())]

    def _value(self):
        return self.data.draw(st.sampled_from(self.values[-6:] + self.arguments))

    def _step(self, number):
        kind = self.data.draw(st.sampled_from(["if", "if", "if", "count", "count", "add", "tanh", "dot", "view",
                                               "increment", "condition"]))
        if kind == "condition":
            self.conditions.append(T.gt(self._value().sum(), 0.1))
        elif kind == "if":
            size = self.data.draw(st.integers(1, 2))
            condition = self.data.draw(st.sampled_from(self.conditions[-4:]))
            self.values.extend(ifelse(condition, *[[self._value() for _ in range(size)] for _ in range(2)]))
        else:
            self.values.append({
                "count": lambda: Counted(number)(self._value()), "add": lambda: self._value() + self._value(),
                "tanh": lambda: T.tanh(self._value()), "dot": lambda: T.tanh(T.dot(self._value(), self._value()))
                * self._value(), "view": lambda: self._value()[::-1],
                "increment": lambda: Increment()(T.tanh(self._value()))}[kind]())

    def check(self, mode, allow_gc):
        old = [w.get_value() for w in self.shared]
        with phintys.change_flags(allow_gc=allow_gc):
            f = phintys.function(self.questions + self.arguments, self.outputs, updates=self.updates, mode=mode,
                                 on_unused_input="ignore", accept_inplace=True)
        held = []
        for call in range(3):
            given = [np.array(bit, "int32") for bit in self.data.draw(st.tuples(*[st.integers(0, 1)] * 3))]
            given += [np.array([1.0, -2.0, 0.5]) + call, np.array([0.3, 0.1, -0.4]) * call]
            copies = [value.copy() for value in given]
            model = Model(dict(zip(self.questions + self.arguments + self.shared,
                                   copies + [w.get_value() for w in self.shared])))
            expected = model(self.outputs + [value for _, value in self.updates])
            Counted.runs.clear()
            results = f(*given)
            for value, wanted in zip(results + [w.get_value() for w, _ in self.updates], expected):
                assert_allclose(value, wanted, rtol=1e-6, atol=1e-9)
            for value, kept in [*held, *zip(given, copies)]:
                assert_array_equal(value, kept)
            held += [(value, value.copy()) for value in results]
            assert len(set(Counted.runs)) == len(Counted.runs)
            if mode == "FAST_COMPILE":
                assert sorted(Counted.runs) == sorted(model.runs)
            else:                                   # rewrites may find that something is not needed at all
                assert set(Counted.runs) <= set(model.runs)
        for w, value in zip(self.shared, old):
            w.set_value(value)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), st.integers(2, 20))
def test_random_programs(data, length):
    program = Draw(data, length)
    for mode in ("FAST_RUN", "FAST_COMPILE"):
        for allow_gc in (True, False):
            program.check(mode, allow_gc)


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), st.integers(2, 12))
def test_random_programs_in_debug_mode(data, length):
    program = Draw(data, length)
    values = [np.array(1, "int32"), np.array(0, "int32"), np.array(1, "int32"), np.ones(3), np.arange(3.0)]
    f = phintys.function(program.questions + program.arguments, program.outputs, mode="DebugMode",
                         on_unused_input="ignore", accept_inplace=True)
    model = Model(dict(zip(program.questions + program.arguments + program.shared,
                           values + [w.get_value() for w in program.shared])))
    for value, wanted in zip(f(*values), model(program.outputs)):
        assert_allclose(value, wanted)


# ---- frames ----------------------------------------------------------------------------------------------------------
def test_a_failing_branch_leaves_a_frame_that_works():
    x, c = T.dvector("x"), T.iscalar("c")
    v = T.exp(x)
    f = phintys.function([c, x], [ifelse(c, T.dot(v, v) * v, (v + T.concatenate([x, x])).sum() * v), ifelse(c, v, x)])
    value = np.ones(200)
    for _ in range(3):
        assert_allclose(f(1, value)[1], np.exp(value))
        with pytest.raises(ValueError, match="Input dimension mis-match(.|\n)*Apply node that caused the error"):
            f(0, value)


def test_blocks_run_in_every_call_of_every_frame():
    x, c, d = T.dvector("x"), *T.iscalars("c", "d")
    shared = Counted(7)(x)
    f = phintys.function([c, d, x], [ifelse(c, shared, x), ifelse(d, shared * 2, x)])
    Counted.runs.clear()
    for _ in range(3):
        f(1, 1, np.ones(3))
    assert Counted.runs == [7, 7, 7]


@pytest.mark.parametrize("make", [
    lambda value, number, x, s: ifelse(T.gt(s, number), T.exp(x) * number, T.tanh(value)),
    lambda value, number, x, s: T.tanh(ifelse(T.gt(s, number), value * 2, value + number)),
], ids=["nested", "one after the other"])
@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
def test_thousands_of_branches(make, mode):
    x, s = T.dvector("x"), T.dscalar("s")
    value = x
    for number in range(1000):
        value = make(value, number, x, s)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(300)
    try:
        f = phintys.function([x, s], value, mode=mode)
    finally:
        sys.setrecursionlimit(limit)
    for number in (-1.0, 500.0, 2000.0):
        assert f(np.ones(3), number).shape == (3,)


def shared_by_all_arms(x, s, length):
    shared, value = T.exp(x), x
    for number in range(length):
        value = ifelse(T.gt(s, number), shared * number, T.tanh(value))
    return [value]


def gradient_of_nested_arms(x, s, length):
    value = x
    for number in range(length):
        value = ifelse(T.gt(s, number), T.exp(x) * number, T.tanh(value))
    return [T.grad(value.sum(), x)]


def blocks_in_a_row(x, s, length):
    """Each value is needed by two arms, and so is the next one, which needs it too."""
    values = [T.exp(x)]
    for number in range(length):
        values.append(T.dot(values[-1], x) * x)
    return [ifelse(T.gt(s, number), first * second.sum(), x)
            for number, (first, second) in enumerate(zip(values, values[1:]))]


def one_condition(x, s, length):
    return [ifelse(T.gt(s, 0), T.dot(x, x + number) * x, x - number) for number in range(length)]


@pytest.mark.parametrize("make", [shared_by_all_arms, gradient_of_nested_arms, blocks_in_a_row, one_condition])
@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
def test_linking_takes_time_in_proportion(mode, make):
    """Lines executed by the linker for a step of the graph, for graphs of two sizes."""
    def lines(length):
        x, s = T.dvector("x"), T.dscalar("s")
        maker = FunctionMaker([phintys.In(x), phintys.In(s)], list(map(phintys.Out, make(x, s, length))), mode)
        count = 0

        def trace(frame, event, argument):
            nonlocal count
            count += 1
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            maker.create()
        finally:
            sys.settrace(before)
        return count / length

    lines(180)                              # tables of scalar code are filled by the first program that needs them
    assert lines(180) < 1.2 * lines(60)
