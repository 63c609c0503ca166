"""What ``perform`` may write to: only what the op's ``destroy_map`` names."""
import numpy as np
import pytest

import phintys
import phintys.tensor as T
from phintys import In, Out, function, shared
from phintys.graph.type import generic

MODES = ["FAST_RUN", "FAST_COMPILE", phintys.compile.MonitorMode(), phintys.compile.NanGuardMode()]
KINDS = {0: T.dscalar, 1: T.dvector, 2: T.dmatrix}


class Writes(phintys.Op):
    """Doubles its input, and writes to it."""

    __props__ = ()

    def make_node(self, value):
        value = T.as_tensor_variable(value)
        return phintys.Apply(self, [value], [value.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] * 2
        inputs[0][...] = -1


class WritesByThunk(Writes):
    """The same, in a thunk."""

    perform = phintys.Op.perform

    def make_thunk(self, node, storage_map, compute_map, no_recycling, impl):
        given, made = storage_map[node.inputs[0]], storage_map[node.outputs[0]]

        def thunk():
            made[0] = given[0] * 2
            given[0][...] = -1
        return thunk


class Looks(phintys.Op):
    """A view of its input."""

    __props__ = ("how",)
    view_map = {0: [0]}

    def __init__(self, how):
        self.how = how

    def make_node(self, value):
        return phintys.Apply(self, [value], [value.type()])

    def perform(self, node, inputs, output_storage):
        assert not inputs[0].flags.writeable
        output_storage[0][0] = {"all": lambda x: x, "view": lambda x: x[:], "turned": lambda x: x[::-1]}[self.how](
            inputs[0])


class Makes(phintys.Op):
    """A new array."""

    __props__ = ()

    def make_node(self, value):
        return phintys.Apply(self, [value], [value.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] + 1


class Ramp(phintys.Op):
    """Adds 0, 1, 2... to its first input, in place; the second one is only read."""

    __props__ = ()
    destroy_map = {0: [0]}

    def make_node(self, value, other):
        return phintys.Apply(self, [value, other], [value.type()])

    def perform(self, node, inputs, output_storage):
        assert inputs[0].flags.writeable and not inputs[1].flags.writeable
        inputs[0] += np.arange(inputs[0].size)
        output_storage[0][0] = inputs[0]


def by_as_op(value):
    @phintys.as_op([value.type], [value.type])
    def doubled(array):
        array *= 2
        return array.copy()
    return doubled(value)


OPS = {"an op": lambda value: Writes()(value), "a thunk": lambda value: WritesByThunk()(value), "as_op": by_as_op}


@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize("shape", [(), (1,), (3,), (5000,), (2, 3)], ids=str)
@pytest.mark.parametrize("op", OPS)
def test_an_op_that_writes_to_what_it_did_not_declare_is_an_error(op, shape, mode):
    x, value = KINDS[len(shape)]("x"), np.ones(shape)
    s, lent = shared(np.ones(shape), "s"), shared(value, "lent", borrow=True)
    for source in (x, s, lent, T.exp(x), s + x, T.constant(np.ones(shape))):
        wrong = function([x], OPS[op](source) + s, mode=mode, on_unused_input="ignore")
        for _ in range(2):
            with pytest.raises(ValueError, match="read-only") as caught:
                wrong(value)
            assert "destroy_map" in str(caught.value) and "Apply node that caused the error" in str(caught.value)
        assert (value == 1).all() and (s.get_value() == 1).all() and (lent.get_value() == 1).all()


def test_under_debug_mode_the_error_is_about_destroy_maps():
    x = T.dvector()
    with pytest.raises(phintys.debugging.debug_errors.BadDestroyMap):
        function([x], Writes()(x), mode="DebugMode")(np.ones(3))


def test_test_values_are_not_written_to():
    x = T.dvector()
    x.tag.test_value = np.ones(3)
    with phintys.config.change_flags(compute_test_value="raise"), pytest.raises(ValueError, match="read-only"):
        Writes()(x)
    assert (x.tag.test_value == 1).all()


def test_constants_are_not_written_to():
    constant = T.constant(np.ones(3))
    with pytest.raises(ValueError, match="read-only"):
        function([], Writes()(constant))()
    assert (constant.data == 1).all()


@pytest.mark.parametrize("mode", MODES[:2], ids=str)
@pytest.mark.parametrize("size", [1, 3, 5000])
@pytest.mark.parametrize("how", ["all", "view", "turned"])
def test_views_of_what_is_read_only(how, size, mode):
    """Results are as writeable as ever, whatever they are views of, and stored values can be overwritten."""
    x, look = T.dvector("x"), Looks(how)
    s, mine = shared(np.arange(float(size)), "s"), np.arange(float(size))
    expected = mine[::-1] if how == "turned" else mine
    seen = function([x], [look(x), look(s), look(x * 2), look(Makes()(x)), look(T.constant(mine))], mode=mode,
                    updates=[(s, look(s))])
    for _ in range(2):
        for result, wanted in zip(seen(mine), [expected, expected, expected * 2, expected + 1, expected]):
            np.testing.assert_array_equal(result, wanted)
            result[...] = -1
        np.testing.assert_array_equal(s.get_value(), expected)
        s.set_value(mine)
    assert s.get_value(borrow=True).flags.writeable
    s.set_value(np.full(size, 7.0))
    assert (s.get_value() == 7).all() and (mine == np.arange(size)).all()
    shown = function([In(x, borrow=True)], Out(look(x), borrow=True), mode=mode)(mine)
    shown[...] = 7
    assert (mine == 7).all()


@pytest.mark.parametrize("mode", MODES[:2], ids=str)
@pytest.mark.parametrize("size", [1, 3, 5000])
def test_what_is_declared_can_be_overwritten(size, mode):
    x, mine = T.dvector("x"), np.zeros(size)
    s = shared(np.zeros(size))
    wanted = np.arange(float(size))
    looked = [Looks("view")(x * 3), Looks("all")(Makes()(x) - 1), Looks("turned")(Looks("turned")(Makes()(x))) - 1]
    change = function([x], [Ramp()(value, s) for value in [x * 2, s + x, Makes()(x), *looked]], mode=mode,
                      updates=[(s, Ramp()(s, x))], accept_inplace=True)
    for result, extra in zip(change(mine), [0, 0, 1, 0, 0, 0], strict=True):
        np.testing.assert_array_equal(result, wanted + extra)
        result[...] = -1
    assert not mine.any()
    np.testing.assert_array_equal(s.get_value(), wanted)
    given = np.zeros(size)
    result = function([In(x, mutable=True)], Ramp()(x, s), mode=mode, accept_inplace=True)(given)
    np.testing.assert_array_equal(result, wanted)


def test_what_an_op_keeps_stays_as_it_was():
    kept = []

    class Keeps(Makes):
        def perform(self, node, inputs, output_storage):
            kept.append((inputs[0], inputs[0].copy()))
            super().perform(node, inputs, output_storage)

    x, s = T.dvector("x"), shared(np.zeros(500))
    f = function([x], Keeps()(x * 2).sum() + Keeps()(s).sum(), updates=[(s, s + x)])
    for _ in range(3):
        f(np.ones(500))
    assert all([(array == copy).all() for array, copy in kept])


def test_objects_are_handed_over_as_they_are():
    class Appends(phintys.Op):
        __props__ = ()

        def make_node(self, thing):
            return phintys.Apply(self, [thing], [generic()])

        def perform(self, node, inputs, output_storage):
            output_storage[0][0] = inputs[0] + [1]

    thing = generic("thing")
    assert function([thing], Appends()(thing))([0]) == [0, 1]


def test_an_array_that_is_read_only_already_is_handed_over_itself():
    seen = []

    class Same(Makes):
        def perform(self, node, inputs, output_storage):
            seen.append(inputs[0])
            super().perform(node, inputs, output_storage)

    x, mine = T.dvector("x"), np.ones(3)
    f = function([x], Same()(x))
    f(mine)
    assert seen[0] is not mine and np.shares_memory(seen[0], mine)
    mine.flags.writeable = False
    f(mine)
    assert seen[1] is mine
