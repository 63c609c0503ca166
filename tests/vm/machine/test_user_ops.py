"""Ops in Theano's documented way, with only ``perform``."""
import numpy as np
import pytest

import phintys
import phintys.tensor as T
from phintys.graph.apply import Apply
from phintys.graph.op import Op

MODES = ["FAST_RUN", "FAST_COMPILE"]


class Recording(Op):
    """Doubles a vector; ``behaviour`` says what it does with its memory."""

    __props__ = ("behaviour",)

    def __init__(self, behaviour):
        self.behaviour = behaviour
        self.kept = []

    def make_node(self, x):
        x = T.as_tensor_variable(x)
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        x, = inputs
        output_storage[0][0] = getattr(self, self.behaviour)(x)

    def fresh(self, x):
        return x * 2

    def returns_its_input(self, x):
        return x

    def keeps_its_input(self, x):
        self.kept.append(x)
        return x * 2

    def keeps_its_output(self, x):
        self.kept.append(x * 2)
        return self.kept[-1]

    def returns_a_view(self, x):
        return x[::-1]

    def stores_nothing(self, x):
        return None

    def wrong_dtype(self, x):
        return x.astype("float32")

    def wrong_rank(self, x):
        return x[None]

    def masked(self, x):
        return np.ma.masked_array(x, x > 1)

    def fails(self, x):
        raise RuntimeError("the op's own words")


VALUES = {"fresh": lambda x: x * 2, "returns_its_input": lambda x: x, "keeps_its_input": lambda x: x * 2,
          "keeps_its_output": lambda x: x * 2, "returns_a_view": lambda x: x[::-1]}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", [1, 3, 5000])
@pytest.mark.parametrize("behaviour", VALUES)
def test_memory_habits_do_no_harm(mode, behaviour, size):
    x = T.vector("x")
    op = Recording(behaviour)
    s = phintys.shared(np.zeros(size))
    f = phintys.function([x], [op(x), op(x + 1), op(s)], updates=[(s, op(x * 3))], mode=mode)
    value = np.arange(float(size))
    original, stored = value.copy(), np.zeros(size)
    rule = VALUES[behaviour]
    kept_before = []
    for _ in range(3):
        results = f(value)
        for result, expected in zip(results, [rule(original), rule(original + 1), rule(stored)]):
            np.testing.assert_array_equal(result, expected)
            result[:] = -5
        stored = rule(original * 3)
        np.testing.assert_array_equal(s.get_value(), stored)
        np.testing.assert_array_equal(value, original)
        for array, copy in kept_before:
            np.testing.assert_array_equal(array, copy)
        kept_before = [(array, array.copy()) for array in op.kept]


@pytest.mark.parametrize("behaviour, exception, words", [
    ("stores_nothing", ValueError, "stored no value"), ("wrong_dtype", TypeError, "float32"),
    ("wrong_rank", TypeError, "dim"), ("masked", TypeError, "masked"), ("fails", RuntimeError, "the op's own words")])
def test_failures_name_the_node_and_change_nothing(behaviour, exception, words):
    x = T.vector("x")
    s = phintys.shared(np.zeros(3))
    good = Recording("fresh")
    f = phintys.function([x], Recording(behaviour)(x), updates=[(s, good(x))], mode="FAST_COMPILE")
    with pytest.raises(exception) as caught:
        f([1.0, 2.0, 3.0])
    assert words in str(caught.value)
    assert "Recording" in str(caught.value) and __file__ in str(caught.value)
    np.testing.assert_array_equal(s.get_value(), np.zeros(3))
    with pytest.raises(exception):
        f([1.0, 2.0, 3.0])


@pytest.mark.parametrize("spoil", [list.clear, lambda storage: storage[0].clear(),
                                   lambda storage: storage.__setitem__(0, None)], ids=["no cells", "no item", "None"])
def test_a_spoilt_output_storage_is_an_error(spoil):
    class Spoiling(Recording):
        def perform(self, node, inputs, output_storage):
            spoil(output_storage)

    x = T.vector("x")
    f = phintys.function([x], Spoiling("fresh")(x))
    for _ in range(2):
        with pytest.raises(ValueError, match="perform"):
            f([1.0])


def test_a_recursive_call_runs_in_a_frame_of_its_own():
    x = T.scalar("x")

    class Factorial(Op):
        __props__ = ()

        def make_node(self, x):
            x = T.as_tensor_variable(x)
            return Apply(self, [x], [x.type()])

        def perform(self, node, inputs, output_storage):
            n = float(inputs[0])
            output_storage[0][0] = np.asarray(1.0 if n <= 1 else n * float(f(n - 1)))

    f = phintys.function([x], Factorial()(x))
    assert f(10) == 3628800
