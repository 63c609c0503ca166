"""``phintys.function``: what it accepts, what it refuses, and what a call does."""
import copy
import os
import pickle
import threading
import warnings

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys import In, Out, function, shared
from phintys.compile import UnusedInputError
from phintys.gof import MissingInputError

# ---- good input ------------------------------------------------------------------------------------------------------
x, y, v, m, i = T.dscalar("x"), T.dscalar("y"), T.dvector("v"), T.dmatrix("m"), T.iscalar("i")
three = T.TensorType("float64", (False,), shape=(3,))("three")
fx, fv = T.fscalar("fx"), T.fvector("fv")
row, col = T.drow("row"), T.dcol("col")


class Labelled(numpy.ndarray):
    """An array with something more to it."""


# (name, inputs, outputs, arguments, expected)
GOOD = [
    ("python float", [x], x + 1, (2.0,), 3.0),
    ("python int for a float", [x], x + 1, (2,), 3.0),
    ("python bool for a float", [x], x + 1, (True,), 2.0),
    ("python float for float32, when exact", [fx], fx + 1, (2.5,), numpy.float32(3.5)),
    ("numpy scalar", [x], x + 1, (numpy.float32(2),), 3.0),
    ("0-d array", [x], x + 1, (numpy.array(2.0),), 3.0),
    ("list for a vector", [v], v * 2, ([1, 2, 3],), [2.0, 4.0, 6.0]),
    ("nested lists for a matrix", [m], m.T, ([[1, 2], [3, 4]],), [[1.0, 3.0], [2.0, 4.0]]),
    ("int array for float64", [v], v + 0.5, (numpy.arange(3),), [0.5, 1.5, 2.5]),
    ("float32 array for float64", [v], v + 1, (numpy.ones(2, "float32"),), [2.0, 2.0]),
    ("int8 array for int32", [i], i + 1, (numpy.int8(3),), 4),
    ("empty", [v], v + 1, (numpy.zeros(0),), []),
    ("negative strides", [v], v + 0, (numpy.arange(4.0)[::-1],), [3.0, 2.0, 1.0, 0.0]),
    ("zero strides", [v], v + 1, (numpy.broadcast_to(1.0, (3,)),), [2.0, 2.0, 2.0]),
    ("row of a matrix in Fortran order", [v], v + 1, (numpy.arange(6.0).reshape(2, 3, order="F")[1],), [2.0, 4.0, 6.0]),
    ("byte-swapped", [v], v + 1, (numpy.arange(3.0).astype(">f8"),), [1.0, 2.0, 3.0]),
    ("longlong", [i], i + 1, (numpy.longlong(2),), 3),
    ("a subclass of ndarray", [m], m + 1, (numpy.array([[1.0, 2.0]]).view(Labelled),), [[2.0, 3.0]]),
    ("row", [row], row + 1, ([[1.0, 2.0]],), [[2.0, 3.0]]),
    ("column and row broadcast", [row, col], row + col, ([[1.0, 2.0]], [[10.0], [20.0]]), [[11.0, 12.0], [21.0, 22.0]]),
    ("scalar and vector broadcast", [x, v], x * v, (2.0, [1.0, 2.0]), [2.0, 4.0]),
    ("output is an input", [v], v, ([1.0, 2.0],), [1.0, 2.0]),
    ("output is a constant", [], T.constant([1.0, 2.0]), (), [1.0, 2.0]),
    ("output is a view of an input", [m], m.T, ([[1.0, 2.0]],), [[1.0], [2.0]]),
]


@pytest.mark.parametrize("name, inputs, output, arguments, expected", GOOD, ids=[row[0] for row in GOOD])
def test_good_input(name, inputs, output, arguments, expected):
    result = function(inputs, output)(*arguments)
    assert type(result) is numpy.ndarray
    assert result.dtype == output.dtype and result.ndim == output.ndim
    numpy.testing.assert_array_equal(result, expected)


def test_memmaps_are_arrays(tmp_path):
    values = numpy.memmap(tmp_path / "values", dtype="float64", mode="w+", shape=(3,))
    values[:] = [1, 2, 3]
    result = function([v], v + 1)(values)
    assert type(result) is numpy.ndarray
    numpy.testing.assert_array_equal(result, [2.0, 3.0, 4.0])


def test_arguments_are_never_written():
    values = numpy.array([3.0, 1.0, 2.0])
    values.flags.writeable = False
    f = function([v], [v, v + 1, T.exp(v) * v])
    f(values)
    numpy.testing.assert_array_equal(values, [3.0, 1.0, 2.0])


def test_results_share_no_memory_with_arguments_or_each_other():
    values = numpy.arange(6.0).reshape(2, 3)
    results = function([m], [m, m.T, m, m + 1, m + 1])(values)
    for position, result in enumerate(results):
        assert not numpy.may_share_memory(result, values)
        for other in results[position + 1:]:
            assert not numpy.may_share_memory(result, other)


def test_results_outlive_the_function_and_its_next_calls():
    f = function([v], T.exp(v))
    first = f(numpy.zeros(1000))
    f(numpy.ones(1000))
    del f
    numpy.testing.assert_array_equal(first, numpy.ones(1000))


# ---- forms of outputs ------------------------------------------------------------------------------------------------
OUTPUT_FORMS = [
    ("none", None, []),
    ("one", x + 1, 3.0),
    ("Out", Out(x + 1, borrow=True), 3.0),
    ("list of one", [x + 1], [3.0]),
    ("tuple", (x + 1, x * 2), [3.0, 4.0]),
    ("the same twice", [x + 1, x + 1, x, x], [3.0, 3.0, 2.0, 2.0]),
    ("dict", {"b": x + 1, "a": x * 2}, {"a": 4.0, "b": 3.0}),
    ("dict of one", {"only": x}, {"only": 2.0}),
    ("empty list", [], []),
]


@pytest.mark.parametrize("name, outputs, expected", OUTPUT_FORMS, ids=[row[0] for row in OUTPUT_FORMS])
def test_form_of_outputs(name, outputs, expected):
    result = function([x], outputs, on_unused_input="ignore")(2.0)
    assert result == expected
    assert isinstance(result, type(expected)) or isinstance(expected, float)


# ---- arguments by name, defaults, states -----------------------------------------------------------------------------
def test_arguments_by_name():
    f = function([x, y], x - y)
    assert f(5.0, y=2.0) == f(x=5.0, y=2.0) == f(y=2.0, x=5.0) == 3.0


def test_defaults():
    f = function([x, In(y, value=10.0)], x + y)
    assert [f(1.0), f(1.0, 2.0), f(1.0, y=3.0), f(1.0)] == [11.0, 3.0, 4.0, 11.0]


def test_names_of_inputs():
    f = function([In(x, name="left"), In(y, name="right", value=1.0)], x - y)
    assert f(left=5.0) == 4.0 and f(right=5.0, left=6.0) == 1.0


def test_strict_and_downcast():
    with pytest.raises(TypeError):
        function([In(v, strict=True)], v + 1)([1.0, 2.0])
    f = function([In(fv, allow_downcast=True)], fv + 1)
    numpy.testing.assert_array_equal(f(numpy.array([0.1])), numpy.float32([0.1]) + 1)
    g = function([fv], fv + 1, allow_input_downcast=True)
    assert g([0.1]).dtype == "float32"


def test_python_floats_may_lose_precision_only_for_floatX():
    f = function([fx], fx)
    with pytest.raises(TypeError):
        f(0.1)
    with phintys.change_flags(floatX="float32"):
        assert f(0.1) == numpy.float32(0.1)


def test_states_keep_their_updates():
    state = T.dscalar("state")
    f = function([x, In(state, value=10.0, update=state + x)], state)
    assert [float(f(1.0)), float(f(2.0)), float(f[state])] == [10.0, 11.0, 13.0]
    f[state] = 100.0
    assert float(f(1.0)) == 100.0 and float(f(1.0, 5.0)) == 5.0 and float(f(1.0, state=7.0)) == 7.0
    assert float(f["state"]) == 8.0


# ---- updates ---------------------------------------------------------------------------------------------------------
def test_updates_are_computed_from_old_values():
    a, b = shared(1.0, "a"), shared(2.0, "b")
    function([], [], updates=[(a, b), (b, a)])()
    assert (a.get_value(), b.get_value()) == (2.0, 1.0)


def test_an_update_of_a_value_that_another_input_reads():
    """Both are the same memory, so the new value is not computed in it."""
    x, w = T.dvector("x"), shared(numpy.ones(3), name="w")
    f = function([In(x, value=w, update=x * 2)], x + w)
    for expected in (2.0, 4.0):
        numpy.testing.assert_array_equal(f(), numpy.full(3, expected))
        numpy.testing.assert_array_equal(w.get_value(), numpy.full(3, expected))



@pytest.mark.parametrize("form", [dict, list, phintys.OrderedUpdates, lambda pairs: [list(pair) for pair in pairs]])
def test_forms_of_updates(form):
    a, b = shared(1.0, "a"), shared(numpy.zeros(2), "b")
    f = function([x], a + x, updates=form([(a, a + x), (b, b + a)]))
    assert f(5.0) == 6.0
    assert a.get_value() == 6.0
    numpy.testing.assert_array_equal(b.get_value(), [1.0, 1.0])


# (name, new value of a float64 vector with value [1, 2], expected)
UPDATE_VALUES = [
    ("itself", lambda s: s, [1.0, 2.0]),
    ("an input", lambda s: v, [7.0, 8.0]),
    ("a constant", lambda s: T.constant([3.0, 4.0]), [3.0, 4.0]),
    ("a value", lambda s: numpy.array([3.0, 4.0]), [3.0, 4.0]),
    ("a view of itself", lambda s: s.dimshuffle("x", 0).dimshuffle(1, 0).flatten(), [1.0, 2.0]),
    ("another length", lambda s: T.ones((3,)), [1.0, 1.0, 1.0]),
]


@pytest.mark.parametrize("name, new_value, expected", UPDATE_VALUES, ids=[row[0] for row in UPDATE_VALUES])
def test_update_to(name, new_value, expected):
    s = shared(numpy.array([1.0, 2.0]), "s")
    f = function([v], [s, s + v], updates={s: new_value(s)})
    argument = numpy.array([7.0, 8.0])
    old, total = f(argument)
    numpy.testing.assert_array_equal(old, [1.0, 2.0])
    numpy.testing.assert_array_equal(total, [8.0, 10.0])
    argument[:] = -1
    old[:] = -1
    numpy.testing.assert_array_equal(s.get_value(), expected)


def test_functions_share_variables():
    s = shared(0.0, "s")
    add, read = function([x], [], updates={s: s + x}), function([], s)
    add(2.0)
    add(3.0)
    assert read() == 5.0
    s.set_value(1.0)
    add(1.0)
    assert read() == 2.0


def test_default_updates():
    a, b = shared(0.0, "a"), shared(0.0, "b")
    a.default_update, b.default_update = a + 1, b + a
    function([], b)()                                   # b's default update brings in a, whose own is applied, too
    assert (a.get_value(), b.get_value()) == (1.0, 0.0)
    function([], b, no_default_updates=True)()
    assert (a.get_value(), b.get_value()) == (1.0, 0.0)
    function([], b, no_default_updates=[b])()
    assert (a.get_value(), b.get_value()) == (1.0, 0.0)
    function([], [a, b], no_default_updates=[a])()
    assert (a.get_value(), b.get_value()) == (1.0, 1.0)
    function([], a, updates={a: a * 10})()
    assert a.get_value() == 10.0


def test_a_failing_call_changes_nothing():
    s, t = shared(numpy.zeros(2), "s"), shared(0.0, "t")
    f = function([v], s * 2, updates=[(t, t + 1), (s, s + v)])
    with pytest.raises(ValueError):
        f(numpy.zeros(3))
    assert t.get_value() == 0.0
    numpy.testing.assert_array_equal(s.get_value(), [0.0, 0.0])
    f(numpy.ones(2))
    assert t.get_value() == 1.0
    numpy.testing.assert_array_equal(s.get_value(), [1.0, 1.0])


def test_a_failing_call_restores_states():
    state = T.dvector("state")
    f = function([v, In(state, value=[1.0, 1.0], update=state + v)], state * 2)
    for call in (lambda: f(numpy.zeros(3), state=[5.0, 5.0]), lambda: f(state=[5.0, 5.0]), lambda: f(v, [5.0, 5.0])):
        with pytest.raises((ValueError, TypeError)):
            call()
        assert f[state].tolist() == [1.0, 1.0]
    assert f([1.0, 1.0]).tolist() == [2.0, 2.0] and f[state].tolist() == [2.0, 2.0]


# ---- givens ----------------------------------------------------------------------------------------------------------
def test_givens():
    s = shared(numpy.arange(4.0), "s")
    assert function([x], (v * x).sum(), givens={v: s})(2.0) == 12.0
    assert function([y], x + 1, givens=[(x, y * 2)])(3.0) == 7.0
    inner = x * 2
    assert function([y], inner + 1, givens={inner: y})(3.0) == 4.0
    assert function([x], s.sum() + x, givens={s: numpy.ones(2)})(1.0) == 3.0


def test_givens_of_another_type():
    with pytest.raises(TypeError):
        function([v], x + 1, givens={x: v})
    numpy.testing.assert_array_equal(function([v], x + 1, givens={x: v}, rebuild_strict=False)([1.0, 2.0]), [2.0, 3.0])


def test_givens_have_the_lengths_that_types_state():
    """The graph relies on them: without a check, the mean of three numbers would be a third of the sum of four."""
    three, other = T.tensor("float64", shape=(3,), name="three"), T.dvector("any")
    f = function([other], three.mean(), givens={three: other * 2})
    assert f([1.0, 2.0, 3.0]) == 4.0
    with pytest.raises(AssertionError, match="3"):
        f([1.0, 2.0, 3.0, 4.0])
    with pytest.raises(TypeError, match="three.* cannot be replaced.*of length 3 in dimension 0, but.*length 2"):
        function([x], three.sum(), givens={three: T.stack([x, x])})
    state = shared(numpy.arange(3.0))
    f = function([], three.sum(), givens={three: state})
    assert f() == 3.0
    state.set_value(numpy.arange(4.0))
    with pytest.raises(AssertionError, match="3"):
        f()


@pytest.mark.parametrize("strict", [True, False])
def test_givens_cannot_change_the_type_of_an_update(strict):
    total = shared(0.0, "total")
    with pytest.raises(TypeError):
        function([fx], [], updates={total: x}, givens={x: fx}, rebuild_strict=strict)
    state = T.dscalar("state")
    with pytest.raises(TypeError):
        function([fx, In(state, value=0.0, update=x)], [], givens={x: fx}, rebuild_strict=strict)


def test_the_users_graph_is_not_changed():
    z = T.log(T.exp(x)) * 1 + 0
    before = phintys.printing.debugprint(z, file="str")
    f = function([x], z)
    assert phintys.printing.debugprint(z, file="str") == before
    assert not {z.owner} & f.maker.fgraph.apply_nodes


def test_an_input_cuts_the_graph():
    middle = x * 2
    assert function([middle], middle + 1)(5.0) == 6.0


# ---- bad input: compile time -----------------------------------------------------------------------------------------
s = shared(numpy.zeros(2), "s")
total = shared(0.0, "total")
unknown = T.dscalar("unknown")

# (name, what to do, exception, words of the message)
REFUSED = [
    ("inputs are no list", lambda: function(x, x), TypeError, "contained in a list"),
    ("input is a number", lambda: function([3], x), TypeError, "Unknown input type"),
    ("input is a constant", lambda: function([T.constant(1.0)], x), TypeError, "Constants not allowed.*1.0"),
    ("In of a constant", lambda: function([In(T.constant(1.0))], x), TypeError, "Constant.*not a legal.*1.0"),
    ("In of a number", lambda: In(3), TypeError, "symbolic variables, got 3"),
    ("In of a shared variable", lambda: function([In(s)], s), TypeError, "Cannot use a shared variable"),
    ("update of an input is a number", lambda: In(x, value=1.0, update=3), TypeError, "symbolic variables, got 3"),
    ("Out of a number", lambda: Out(3), TypeError, "symbolic variables, got 3"),
    ("input is shared", lambda: function([s], s), TypeError, "Cannot use a shared variable.*test_function.py"),
    ("input twice", lambda: function([x, y, x], x + y), UnusedInputError, "used twice.*0 and 2"),
    ("input unused", lambda: function([x, y], x), UnusedInputError, "index 1.* y"),
    ("input missing", lambda: function([x], x + unknown), MissingInputError, "unknown"),
    ("output is a number", lambda: function([x], 3), TypeError, "Received 3"),
    ("output in a list is a number", lambda: function([x], [x, 3]), TypeError, "Received 3"),
    ("key of outputs is no string", lambda: function([x], {1: x}), AssertionError, "strings"),
    ("update of an input", lambda: function([x], x, updates={x: x + 1}), TypeError, "must be a SharedVariable"),
    ("update of an expression", lambda: function([], s, updates=[(s * 2, s)]), TypeError, "must be a SharedVariable"),
    ("update twice", lambda: function([], s, updates=[(s, s), (s, s + 1)]), ValueError,
     "test_function.py.*already has an update.*test_function.py.*test_function.py"),
    ("update twice, by a value", lambda: function([], s, updates=[(s, s), (s, [1.0, 2.0])]), ValueError,
     r"already has an update.*\[1.0, 2.0\]"),
    ("update of another dtype", lambda: function([], s, updates={s: T.cast(s, "float32")}), TypeError, "same type"),
    ("update of another rank", lambda: function([], s, updates={s: s.sum()}), TypeError, "same type"),
    ("update of another broadcastable", lambda: function([], s, updates={s: s.sum(keepdims=True)}), TypeError,
     "unbroadcast"),
    ("update of no shared variable says where", lambda: function([x], x, updates={x: x + 1}), TypeError,
     "test_function.py"),
    ("update of another type says where", lambda: function([], s, updates={s: s.sum()}), TypeError,
     "test_function.py.*test_function.py"),
    ("updates are numbers", lambda: function([], s, updates=[1, 2]), ValueError, "lists/tuples with 2 elements"),
    ("updates are a set", lambda: function([], s, updates={s}), ValueError, "lists/tuples with 2 elements"),
    ("givens are no pairs", lambda: function([x], y + 1, givens=[y]), ValueError, "lists/tuples with 2 elements"),
    ("unused input says where", lambda: function([x, y], x), UnusedInputError, "test_function.py"),
    ("input twice says where", lambda: function([x, x], x), UnusedInputError, "test_function.py"),
    ("updates are one pair", lambda: function([], s, updates=(s, s + 1)), ValueError, "lists/tuples with 2 elements"),
    ("given replaces an input", lambda: function([x], x, givens={x: y}), RuntimeError,
     "'x' .made at .*test_function.py.* by y .made at .*test_function.py.*Replacing inputs"),
    ("given replaces an input by a value", lambda: function([x], x, givens={x: 3.0}), RuntimeError, "'x' .* by 3.0"),
    ("given key is a number", lambda: function([x], x, givens={3: y}), TypeError, "given keys must be Variable, got 3"),
    ("givens depend on each other", lambda: function([], x, givens=[(x, y + 1), (y, T.constant(1.0))]),
     AssertionError, "old_v y .made at .*test_function.py.*replaced by"),
    ("given changes the type of an update", lambda: function([fx], [], updates={total: x}, givens={x: fx},
                                                             rebuild_strict=False), TypeError, "same type"),
    ("default of another type", lambda: function([In(x, value="one")], x), TypeError, "one"),
    ("first value of another type", lambda: function([In(x, value=[1.0], update=x)], x), TypeError, ""),
    ("output_keys as inputs", lambda: function({"x": x}, x), TypeError, "contained in a list"),
    ("no_default_updates is a string", lambda: function([x], x, no_default_updates="a"), TypeError, "a boolean"),
    ("unknown mode", lambda: function([x], x, mode="FASTER"), Exception, "FASTER"),
    ("later mode", lambda: function([x], x, mode="ProfileMode"), NotImplementedError, "profile=True"),
    ("profile is a number", lambda: function([x], x, profile=3), TypeError, "profile is None, .* got 3 of type int"),
    ("unknown reaction", lambda: function([x], x, on_unused_input="shout"), ValueError, "shout"),
    ("name of an input is a number", lambda: In(x, name=3), TypeError, "string"),
    ("mutable without borrow", lambda: In(x, mutable=True, borrow=False), AssertionError, "incompatible"),
    ("update of an input has another type", lambda: In(x, value=1.0, update=v), TypeError, "same"),
    ("implicit without value", lambda: In(x, implicit=True), TypeError, "default value"),
    ("gradient of a vector", lambda: phintys.grad(v * 2, v), TypeError, "scalar"),
    ("gradient by something disconnected", lambda: phintys.grad(x ** 2, y), ValueError, "y"),
]


@pytest.mark.parametrize("name, act, exception, words", REFUSED, ids=[row[0] for row in REFUSED])
def test_refused(name, act, exception, words):
    with pytest.raises(exception, match="(?s)" + words):
        act()


def test_unused_inputs():
    with pytest.warns(UserWarning, match="index 1") as caught:
        f = function([x, y], x, on_unused_input="warn")
    assert caught[0].filename == __file__
    assert f(1.0, 2.0) == 1.0
    assert function([x, y], x, on_unused_input="ignore")(1.0, 2.0) == 1.0
    with phintys.change_flags(on_unused_input="ignore"):
        assert function([x, y], x)(1.0, 2.0) == 1.0


# ---- bad input: run time ---------------------------------------------------------------------------------------------
# (name, inputs, output, arguments, keywords, exception, words of the message)
BAD_CALLS = [
    ("float64 array for float32", [fv], fv + 1, (numpy.array([0.1]),), {}, TypeError, "fv.*index 0"),
    ("float for int", [i], i + 1, (1.5,), {}, TypeError, "int32"),
    ("int too large for int64", [T.lscalar("n")], T.constant(0), (2**70,), {}, TypeError, "index 0"),
    ("int too large for float64", [x], x + 1, (10**400,), {}, TypeError, "index 0"),
    ("int that float64 rounds", [x], x + 1, (2**70 + 1,), {}, TypeError, "accurately"),
    ("complex for float", [x], x + 1, (1j,), {}, TypeError, "index 0"),
    ("string", [x], x + 1, ("3",), {}, TypeError, "index 0"),
    ("None", [x], x + 1, (None,), {}, TypeError, "index 0"),
    ("object", [x], x + 1, (object(),), {}, TypeError, "index 0"),
    ("variable", [x], x + 1, (y,), {}, TypeError, "Variable"),
    ("masked array", [v], v + 1, (numpy.ma.masked_array([1.0, 2.0], [True, False]),), {}, TypeError, "mask"),
    ("another length than the type's", [three], three + 1, (numpy.zeros(4),), {}, TypeError, r"\(3,\), got \(4,\)"),
    ("a list of another length", [three], three + 1, ([1, 2],), {}, TypeError, r"\(3,\), got \(2,\)"),
    ("rank too high", [x, v], x + v, (1.0, numpy.zeros((2, 2))), {}, TypeError, "(?i)index 1.*dimensions"),
    ("rank too low", [m], m + 1, (numpy.zeros(2),), {}, TypeError, "(?i)dimensions"),
    ("ragged lists", [m], m + 1, ([[1.0], [1.0, 2.0]],), {}, TypeError, "index 0"),
    ("length at a broadcastable axis", [row], row + 1, (numpy.zeros((2, 2)),), {}, TypeError, "broadcastable"),
    ("missing", [x, y], x + y, (1.0,), {}, TypeError, "Missing required input.*y"),
    ("surplus", [x], x + 1, (1.0, 2.0), {}, TypeError, "Too many parameter"),
    ("twice", [x, y], x + y, (1.0,), {"x": 2.0}, TypeError, "x"),
    ("unknown keyword", [x], x + 1, (1.0,), {"z": 2.0}, TypeError, "z"),
    ("shapes that do not fit", [v, m], v + m, (numpy.zeros(2), numpy.zeros((2, 3))), {}, ValueError,
     "test_function.py"),
    ("shapes that do not multiply", [m, v], T.dot(m, v), (numpy.zeros((2, 3)), numpy.zeros(2)), {}, ValueError,
     "test_function.py"),
]


@pytest.mark.parametrize("name, inputs, output, arguments, keywords, exception, words", BAD_CALLS,
                         ids=[row[0] for row in BAD_CALLS])
def test_bad_call(name, inputs, output, arguments, keywords, exception, words):
    f = function(inputs, output, on_unused_input="ignore")
    with pytest.raises(exception, match="(?s)" + words):
        f(*arguments, **keywords)


# What a float64 vector takes, and what it is read as: always [1, 2].
TAKEN = [
    ("byte-swapped", numpy.array([1.0, 2.0], ">f8")), ("byte-swapped ints", numpy.array([1, 2], ">i2")),
    ("longlong", numpy.array([1, 2], numpy.longlong)), ("negative stride", numpy.array([2.0, 1.0])[::-1]),
    ("zero stride, read-only", numpy.broadcast_to(1.0, (2,)) + numpy.arange(2)),
    ("column", numpy.array([[1.0, 0.0], [2.0, 0.0]])[:, 0]), ("list", [1, 2.0]), ("tuple", (1, 2)),
    ("range", range(1, 3)), ("float16", numpy.array([1, 2], "float16")), ("a subclass", numpy.array([1.0, 2.0]).view(
        type("Subclass", (numpy.ndarray,), {}))),
]


@pytest.mark.parametrize("name, argument", TAKEN, ids=[row[0] for row in TAKEN])
def test_arguments_are_read_as_they_are_meant(name, argument):
    before = numpy.array(argument)
    result = function([v], v * 2)(argument)
    assert type(result) is numpy.ndarray and result.dtype == "float64"
    numpy.testing.assert_array_equal(result, [2.0, 4.0])
    kept = shared(numpy.asarray(argument), borrow=True)
    function([], [], updates={kept: kept + 1})()
    numpy.testing.assert_array_equal(argument, before)


def test_python_ints_beyond_64_bits_become_floats():
    assert function([x], x + 0)(2**70) == 2.0**70


def test_messages_name_function_and_argument():
    f = function([x, v], x * v, name="scale")
    with pytest.raises(TypeError, match=r'(?s)Bad input argument with name "v" to phintys function with name "scale" '
                                        r'at index 1 \(0-based\).*test_function.py'):
        f(1.0, "abc")


def test_name_is_the_calling_line():
    name = function([x], x).name
    assert name.rsplit(":", 1)[0] == __file__ and name.rsplit(":", 1)[1].isdigit()


# ---- the function as an object ---------------------------------------------------------------------------------------
def test_maker_shows_the_compiled_graph():
    f = function([x, y], T.exp(x) * y)
    assert [type(node).__name__ for node in f.maker.fgraph.toposort()] == ["Apply"]
    assert [spec.variable for spec in f.maker.inputs] == [x, y]
    assert function([x], x, mode="FAST_COMPILE").maker.mode is phintys.FAST_COMPILE


def test_copy():
    a, b = shared(1.0, "a"), shared(100.0, "b")
    f = function([x], a, updates={a: a + x})
    swapped, reading = f.copy(swap={a: b}), f.copy(delete_updates=True, name="reading")
    assert swapped(1.0) == [100.0] and b.get_value() == 101.0 and a.get_value() == 1.0
    assert reading(1.0) == [1.0] and a.get_value() == 1.0 and reading.name == "reading"
    assert copy.copy(f)(1.0) == [1.0] and a.get_value() == 2.0
    with pytest.raises(ValueError, match="not found"):
        f.copy(swap={b: a})
    with pytest.raises(TypeError, match="same type"):
        f.copy(swap={a: shared(numpy.zeros(2))})


@pytest.mark.parametrize("duplicate", [lambda f: pickle.loads(pickle.dumps(f)), copy.deepcopy],
                         ids=["pickle", "deepcopy"])
def test_pickle_and_deepcopy(duplicate):
    a = shared(1.0, "a")
    state = T.dscalar("state")
    f = function([x, In(state, value=0.0, update=state + 1)], [a + x, state], updates={a: a * 2}, name="f")
    f(1.0)
    g = duplicate(f)
    assert g.name == "f" and g(1.0) == [3.0, 1.0] and g(1.0) == [5.0, 2.0]
    assert a.get_value() == 2.0


def test_eval():
    assert (x + y).eval({x: 1.0, y: 2.0}) == 3.0
    assert T.constant(2.0).eval() == 2.0
    assert (shared(3.0) * 2).eval() == 6.0


def test_two_threads_call_one_function():
    a = shared(0.0)
    f = function([v], [T.exp(v).sum()], updates={a: a + 1})
    values = [numpy.full(1000, number / 10) for number in range(8)]
    results = {}

    def work(number):
        results[number] = [f(values[number])[0] for _ in range(50)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, found in results.items():
        numpy.testing.assert_allclose(found, numpy.exp(values[number]).sum(), rtol=1e-12)
    assert a.get_value() == 400.0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_both_processes_can_call_after_a_fork():
    f = function([v], T.exp(v).sum())
    values = numpy.zeros(300000)                        # large enough for the workers
    assert f(values) == 300000
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os._exit(0 if f(values) == 300000 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert f(values) == 300000


def test_free_keeps_the_function_usable():
    f = function([v], T.exp(v), mode=phintys.Mode(allow_gc=False))
    f(numpy.zeros(100))
    f.free()
    assert f(numpy.zeros(3)).tolist() == [1.0, 1.0, 1.0]


def test_deep_graphs_compile_and_run():
    z = v
    for number in range(3000):
        z = T.tanh(z) + number % 3
    result = function([v], z)(numpy.zeros(2))
    expected = numpy.zeros(2)
    for number in range(3000):
        expected = numpy.tanh(expected) + number % 3
    numpy.testing.assert_allclose(result, expected, rtol=1e-12)
