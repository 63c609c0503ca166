"""Theano's chapter on memory aliasing, promise by promise.

``PROMISES`` lists what the chapter says, in its order and in short, each with the test that shows it. What it says
about GPUs only is not listed. Blocks of code are the chapter's, with phintys for theano.
"""
import gc
import threading

import numpy
import pytest
import scipy.sparse

import phintys
import phintys.tensor as T
from phintys import In, Out, function, shared, sparse
from phintys.typed_list import TypedListType

SIZE = 2000             # elements; well above what is copied because copying is cheaper

PROMISES = [
    # The memory model: two spaces
    ("phintys manages memory of its own, apart from that of normal Python variables", "test_spaces_are_apart"),
    ("functions only modify buffers in that space", "test_functions_leave_the_users_memory_alone"),
    ("the space includes shared values and temporaries", "test_shared_values_and_temporaries_are_overwritten"),
    ("the memory of a shared variable is never aliased to another one's", "test_shared_variables_never_alias"),
    ("managed memory is constant while no function runs", "test_memory_is_constant_while_no_function_runs"),
    ("functions return user-space values", "test_results_are_the_users"),
    ("functions expect user-space values", "test_functions_leave_the_users_memory_alone"),
    # Borrowing when creating
    ("the constructor takes borrow", "test_borrow_when_creating"),
    ("by default and with borrow=False the variable gets a copy: later changes have no effect",
     "test_borrow_when_creating"),
    ("with borrow=True changes of the array show up right away", "test_borrow_when_creating"),
    ("an update may break the aliasing, or keep it", "test_an_update_of_a_borrowed_value"),
    ("borrow=True is safe for large objects, and makes no copy", "test_borrowing_makes_no_copy"),
    # Borrowing when reading
    ("get_value takes borrow, False by default", "test_borrow_when_reading"),
    ("borrow=False: the value is not aliased to internal memory", "test_borrow_when_reading"),
    ("borrow=True: the value may be aliased to internal memory", "test_borrow_when_reading"),
    ("return_internal_type=True with borrow=True never copies", "test_the_internal_value_is_never_copied"),
    ("return_internal_type=True with borrow=False is a deep copy", "test_the_internal_value_is_copied_on_request"),
    ("get_value returns the type of object that the variable was made from", "test_values_keep_their_type"),
    ("get_value(borrow=True) is safe for who does not write to it", "test_a_borrowed_value_outlives_updates"),
    # Borrowing when assigning
    ("set_value takes borrow, False by default", "test_borrow_when_assigning"),
    ("borrow=True may use the given buffer as storage", "test_borrow_when_assigning"),
    ("the pattern set_value(inplace(get_value(borrow=True)), borrow=True) works", "test_the_pattern_for_updating"),
    ("the pattern is as fast as an in-place update: it copies nothing", "test_the_pattern_for_updating"),
    ("chunks of one size, swapped in and out, use the same memory", "test_chunks_of_one_size_reuse_the_memory"),
    ("values that are not contiguous may be assigned", "test_values_of_any_layout_may_be_assigned"),
    # Borrowing when constructing functions
    ("In and Out take borrow", "test_borrow_when_constructing_a_function"),
    ("a borrowed input may be used as a buffer", "test_a_mutable_argument_is_used_as_a_buffer"),
    ("a borrowed input is overwritten only if it may be", "test_an_argument_that_is_not_mutable_is_not_overwritten"),
    ("a borrowed output may reuse the memory of an earlier call", "test_a_borrowed_output_reuses_its_buffer"),
    ("a borrowed output may be aliased to a shared variable", "test_a_borrowed_output_may_be_a_shared_value"),
    ("by default outputs are not borrowed", "test_results_stay_as_they_were"),
    ("Out takes return_internal_type", "test_internal_types_of_outputs"),
    ("return_internal_type and borrow are hints: the value is right whatever is copied",
     "test_internal_types_of_outputs"),
    ("an input that is not needed any more may be lent as workspace", "test_a_mutable_argument_is_used_as_a_buffer"),
    ("a large output that is read right away may be borrowed", "test_a_borrowed_output_reuses_its_buffer"),
]


@pytest.mark.parametrize("promise, test", PROMISES)
def test_every_promise_has_its_test(promise, test):
    assert callable(globals()[test])


def value_of(variable):
    return variable.get_value(borrow=True)


def address(variable):
    return value_of(variable).ctypes.data


def may_alias(*values):
    """Whether any two arrays may share memory."""
    return any(numpy.may_share_memory(values[i], values[j]) for i in range(len(values)) for j in range(i))


# ---- the memory model: two spaces ------------------------------------------------------------------------------------
def test_spaces_are_apart():
    mine, argument = numpy.ones(SIZE), numpy.ones(SIZE)
    x, s = T.dvector(), shared(mine)
    result, passed = function([x], [x * 2, s + x], updates=[(s, s + x)])(argument)
    assert not may_alias(mine, argument, result, passed, value_of(s))


# Each returns a result and updates of a function that has a reason to write into, or to keep, an argument.
def in_place_chain(x, y, s):
    return T.exp(x * 2) + 1, []


def only_use(x, y, s):
    return -x, []


def view_then_change(x, y, s):
    return x[::-1].T + y, []


def the_argument_as_an_update(x, y, s):
    return y, [(s, x)]


def view_of_the_argument_as_an_update(x, y, s):
    return y, [(s, x[::-1])]


def accumulated(x, y, s):
    return T.inc_subtensor(x[2:], y[2:]), [(s, s + x)]


@pytest.mark.parametrize("make", [in_place_chain, only_use, view_then_change, the_argument_as_an_update,
                                  view_of_the_argument_as_an_update, accumulated])
@pytest.mark.parametrize("borrow", [False, True])
def test_functions_leave_the_users_memory_alone(make, borrow):
    x, y, s = T.dvector(), T.dvector(), shared(numpy.zeros(SIZE))
    result, updates = make(x, y, s)
    f = function([In(x, borrow=borrow), In(y, borrow=borrow)], Out(result, borrow=borrow), updates=updates,
                 on_unused_input="ignore")
    first, second = numpy.arange(float(SIZE)), numpy.ones(SIZE)
    for _ in range(3):
        f(first, second)
    numpy.testing.assert_array_equal(first, numpy.arange(float(SIZE)))
    numpy.testing.assert_array_equal(second, numpy.ones(SIZE))
    assert not may_alias(first, value_of(s)) and not may_alias(second, value_of(s))


def test_shared_values_and_temporaries_are_overwritten():
    parameter, gradient = shared(numpy.ones((300, 300))), T.dmatrix()
    step = function([gradient], updates=[(parameter, parameter - 0.5 * gradient)])
    before = address(parameter)
    for _ in range(3):
        step(numpy.ones((300, 300)))
        assert address(parameter) == before
    assert (value_of(parameter) == -0.5).all()


def swapped(a, b):
    return [(a, b), (b, a)]


def both_from_one(a, b):
    both = a + b
    return [(a, both), (b, both)]


def both_constant(a, b):
    constant = T.constant(numpy.ones(SIZE))
    return [(a, constant), (b, constant)]


def view_of_the_other(a, b):
    return [(a, b[::-1])]


def two_views_of_one(a, b):
    both = T.concatenate([a, b])
    return [(a, both[:SIZE]), (b, both[SIZE // 2:SIZE + SIZE // 2])]


def rotated(a, b):
    return [(a, b), (b, a * 1)]


@pytest.mark.parametrize("updates", [swapped, both_from_one, both_constant, view_of_the_other, two_views_of_one,
                                     rotated])
def test_shared_variables_never_alias(updates):
    a, b = shared(numpy.zeros(SIZE)), shared(numpy.arange(float(SIZE)))
    step = function([], [], updates=updates(a, b))
    for _ in range(3):
        step()
        assert not may_alias(value_of(a), value_of(b))


def test_shared_variables_never_alias_what_others_borrowed():
    values = numpy.arange(float(SIZE))
    first = shared(values, borrow=True)
    others = [shared(values, borrow=True), shared(values[::-1], borrow=True), shared(values[5:9], borrow=True)]
    third = shared(numpy.zeros(1))
    third.set_value(values, borrow=True)
    fourth = shared(numpy.zeros(1))
    fourth.set_value(value_of(third), borrow=True)
    assert value_of(first) is values
    assert not may_alias(values, *map(value_of, [*others, third, fourth]))
    assert value_of(fourth).tolist() == values.tolist()


def test_memory_is_constant_while_no_function_runs():
    mine, argument = numpy.ones(SIZE), numpy.full(SIZE, 2.0)
    x, s, t = T.dvector(), shared(mine), shared(numpy.zeros(SIZE))
    f = function([x], [s * 1, s, t[::-1], x], updates=[(s, s + x), (t, x)])
    results = f(argument)
    for array in [mine, argument, *results, s.get_value(), t.get_value()]:
        array[:] = -1.0
    gc.collect()
    numpy.ones(SIZE)
    assert (s.get_value() == 3.0).all() and (t.get_value() == 2.0).all()
    assert (f(numpy.zeros(SIZE))[0] == 3.0).all()


def outputs_over(x, s, c):
    """Outputs that could be views: of an argument, a shared value, a constant, each other."""
    double = x * 2
    return [x, x[::-1], x.dimshuffle("x", 0), s, s[5:], s.reshape((2, -1)), c, c[1:], double, double[1:], double,
            T.as_tensor_variable(double).T]


def test_results_are_the_users():
    x, s, c = T.dvector(), shared(numpy.arange(float(SIZE))), T.constant(numpy.ones(SIZE))
    f = function([x], outputs_over(x, s, c), updates=[(s, s + 1)])
    argument = numpy.zeros(SIZE)
    first, second = f(argument), f(argument)
    assert not may_alias(argument, value_of(s), *first, *second)
    for result in first:
        assert result.flags.writeable and type(result) is numpy.ndarray
        result[...] = -7.0
    third = f(argument)
    expected = [numpy.arange(float(SIZE)) + 2, numpy.arange(5.0, SIZE) + 2]
    numpy.testing.assert_array_equal(third[3], expected[0])
    numpy.testing.assert_array_equal(third[4], expected[1])
    assert (third[6] == 1.0).all() and not third[0].any() and not third[8].any()


# ---- borrowing when creating -----------------------------------------------------------------------------------------
def test_borrow_when_creating(capsys):
    np_array = numpy.ones(2, dtype='float32')

    s_default = phintys.shared(np_array)
    s_false   = phintys.shared(np_array, borrow=False)
    s_true    = phintys.shared(np_array, borrow=True)

    np_array += 1 # now it is an array of 2.0 s

    with numpy.printoptions(legacy="1.13"):
        print(s_default.get_value())
        print(s_false.get_value())
        print(s_true.get_value())

    assert capsys.readouterr().out == "[ 1.  1.]\n[ 1.  1.]\n[ 2.  2.]\n"


@pytest.mark.parametrize("lent", [numpy.ones(SIZE), numpy.ones((40, 50))[::2], numpy.ones((40, 50)).T])
def test_an_update_of_a_borrowed_value(lent):
    s = shared(lent, borrow=True)
    step = function([], s * 1, updates=[(s, s + 1)])
    for count in range(3):
        assert (step() == 1.0 + count).all()
        assert (s.get_value() == 2.0 + count).all()
    assert (lent == 1.0).all()                      # the lender still has it, so it was left alone


def test_memory_that_the_lender_dropped_is_overwritten():
    s = shared(numpy.ones(SIZE), borrow=True)
    before = address(s)
    step = function([], updates=[(s, s + 1)])
    for _ in range(3):
        step()
    assert address(s) == before and (s.get_value() == 4.0).all()


@pytest.mark.parametrize("value", [numpy.ones(SIZE), numpy.ones((300, 300)).T, numpy.zeros((4, 5, 6))[:, ::-1],
                                   numpy.zeros(SIZE, "int8")])
def test_borrowing_makes_no_copy(value):
    s = shared(value, borrow=True)
    assert value_of(s) is value
    total = function([], s.sum())
    assert total() == value.sum()
    value += 1
    assert total() == value.sum() and value_of(s) is value


# ---- borrowing when reading ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("np_array", [numpy.ones(2, "float32"), numpy.ones(SIZE), numpy.ones(()), numpy.ones((3, 0))])
def test_borrow_when_reading(np_array):
    s = phintys.shared(np_array)

    v_false = s.get_value(borrow=False) # N.B. borrow default is False
    v_true = s.get_value(borrow=True)

    assert not may_alias(v_false, v_true, np_array, s.get_value())
    v_false += 1
    numpy.testing.assert_array_equal(s.get_value(), np_array)
    if np_array.size == SIZE:
        assert may_alias(v_true, s.get_value(borrow=True))


def test_the_internal_value_is_never_copied():
    s = shared(numpy.ones(SIZE))

    v_internal = s.get_value(borrow=True, return_internal_type=True)

    assert may_alias(v_internal, s.get_value(borrow=True, return_internal_type=True), value_of(s))
    assert type(v_internal) is numpy.ndarray


def test_the_internal_value_is_copied_on_request():
    s, g = shared(numpy.ones(SIZE)), shared([[1]])
    copied = s.get_value(borrow=False, return_internal_type=True)
    assert not may_alias(copied, value_of(s))
    nested = g.get_value(return_internal_type=True)
    assert nested == [[1]] and nested[0] is not value_of(g)[0]


class Own:
    """An object that is no array."""


@pytest.mark.parametrize("value", [numpy.ones(SIZE), numpy.ones(()), numpy.ones(3, "int8"), [1, 2], "text", Own(),
                                   numpy.random.RandomState(1)], ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("borrow", [False, True])
@pytest.mark.parametrize("internal", [False, True])
def test_values_keep_their_type(value, borrow, internal):
    assert type(shared(value).get_value(borrow=borrow, return_internal_type=internal)) is type(value)


def test_a_borrowed_value_outlives_updates():
    s = shared(numpy.ones(SIZE))
    step = function([], updates=[(s, s + 1)])
    borrowed = []
    for count in range(4):
        borrowed.append(value_of(s))
        step()
    for count, value in enumerate(borrowed):
        assert (value == 1.0 + count).all()         # in phintys even whole, not only readable
    del s, step
    gc.collect()
    assert (borrowed[-1] == 4.0).all()


# ---- borrowing when assigning ----------------------------------------------------------------------------------------
def test_borrow_when_assigning():
    s, values = shared(numpy.zeros(SIZE)), numpy.ones(SIZE)
    for borrow in ({}, {"borrow": False}):
        s.set_value(values, **borrow)
        assert not may_alias(value_of(s), values)
    values += 1
    assert (s.get_value() == 1.0).all()
    s.set_value(values, borrow=True)
    values += 1
    assert (s.get_value() == 3.0).all() and value_of(s) is values


def test_the_pattern_for_updating():
    s = shared(numpy.ones(SIZE))
    before = address(s)

    def some_inplace_fn(v):
        v *= 2
        return v

    for _ in range(3):
        s.set_value(
            some_inplace_fn(s.get_value(borrow=True)),
            borrow=True)

    assert (s.get_value() == 8.0).all() and address(s) == before
    function([], updates=[(s, s + 1)])()
    assert (s.get_value() == 9.0).all() and address(s) == before


def test_the_pattern_with_a_function():
    s, x = shared(numpy.ones(SIZE)), T.dvector()
    for f in (function([x], x * 2), function([x], Out(x * 2, borrow=True)), function([In(x, borrow=True)], x),
              function([In(x, mutable=True)], Out(x * 2, borrow=True))):
        s.set_value(numpy.ones(SIZE))
        expected = s.get_value()
        for _ in range(4):
            expected = f(expected.copy()).copy()
            s.set_value(f(s.get_value(borrow=True)), borrow=True)
            numpy.testing.assert_array_equal(s.get_value(), expected)
        f(numpy.full(SIZE, -5.0))
        numpy.testing.assert_array_equal(s.get_value(), expected)


def test_chunks_of_one_size_reuse_the_memory():
    s = shared(numpy.zeros((100, 30)))
    total = function([], s.sum())
    before = address(s)
    for number in range(5):
        chunk = numpy.full((100, 30), float(number))
        s.set_value(chunk)
        assert address(s) == before and total() == 3000.0 * number
        assert not may_alias(chunk, value_of(s))


@pytest.mark.parametrize("borrow", [False, True])
@pytest.mark.parametrize("view", [lambda a: a.T, lambda a: a[::-1, ::2], lambda a: a[:0], lambda a: a[:, None, 0],
                                  numpy.asfortranarray])
def test_values_of_any_layout_may_be_assigned(view, borrow):
    s, value = shared(numpy.zeros((3, 4))), view(numpy.arange(1200.0).reshape(30, 40))
    s.set_value(value, borrow=borrow)
    numpy.testing.assert_array_equal(s.get_value(), value)
    numpy.testing.assert_array_equal(function([], s + 1)(), value + 1)


# ---- borrowing when constructing functions ---------------------------------------------------------------------------
def test_borrow_when_constructing_a_function():
    x = phintys.tensor.matrix()
    y = 2 * x
    f = phintys.function([phintys.In(x, borrow=True)], phintys.Out(y, borrow=True))

    values = numpy.arange(12.0).reshape(3, 4)
    numpy.testing.assert_array_equal(f(values), 2 * values)
    numpy.testing.assert_array_equal(values, numpy.arange(12.0).reshape(3, 4))


def test_a_mutable_argument_is_used_as_a_buffer():
    x = T.dvector()
    f = function([In(x, mutable=True)], Out(T.exp(x) + 1, borrow=True))
    argument = numpy.zeros(SIZE)
    result = f(argument)
    assert (result == 2.0).all() and (argument == 2.0).all() and may_alias(argument, result)


class Doubles(phintys.Op):
    """An op in Python that works in place."""

    __props__, destroy_map = (), {0: [0]}

    def make_node(self, value):
        return phintys.Apply(self, [value], [value.type()])

    def perform(self, node, inputs, output_storage):
        inputs[0][...] *= 2
        output_storage[0][0] = inputs[0]


condition, vector = T.lscalar("condition"), T.dvector("vector")
RESULTS_OF_A_BUFFER = {
    "as it is": vector, "view": vector[::-1], "elementwise": vector * 2, "view of a computation": T.exp(vector)[::-1],
    "part": T.set_subtensor(vector[0], 5.0), "two parts": T.set_subtensor(T.inc_subtensor(vector[0], 5.0)[1], 6.0),
    "reshaped": T.exp(vector).reshape((-1, 2)), "sorted": T.sort(vector), "sums": T.cumsum(vector),
    "branch": phintys.ifelse.ifelse(condition, T.set_subtensor(vector[0], 5.0), vector * 3),
    "branch that is the argument": phintys.ifelse.ifelse(condition, vector, vector * 3), "op": Doubles()(vector),
    "softmax": T.nnet.softmax(vector.dimshuffle("x", 0)),
    "loop": phintys.scan(lambda state: state * 2, outputs_info=vector, n_steps=3)[0][-1],
}


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
@pytest.mark.parametrize("size", [6, SIZE])
def test_a_result_is_not_in_the_memory_of_a_mutable_argument_unless_it_is_borrowed(size, mode):
    for name, result in RESULTS_OF_A_BUFFER.items():
        plain, borrowed = [function([In(vector, mutable=True), condition], out, mode=mode, accept_inplace=True,
                                    on_unused_input="ignore") for out in (result, Out(result, borrow=True))]
        for choice in (0, 1, 0):
            argument = numpy.linspace(0.0, 1.0, size)
            found = plain(argument, choice)
            assert not may_alias(argument, found), name
            numpy.testing.assert_array_equal(found, borrowed(numpy.linspace(0.0, 1.0, size), choice), name)


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
def test_what_the_users_own_nodes_overwrite_holds_their_result(mode):
    x, y = T.dvectors("x", "y")
    for result in (T.inplace.add_inplace(x, y), T.inplace.add_inplace(x, y)[::-1], Doubles()(x)):
        f = function([x, y], [result, Out(result * 3, borrow=True)], accept_inplace=True, mode=mode,
                     on_unused_input="ignore")
        argument = numpy.arange(SIZE, dtype="float64")
        found, _ = f(argument, numpy.arange(SIZE, dtype="float64"))
        assert argument.tolist() == (2 * numpy.arange(SIZE)).tolist() == sorted(found)
        assert not may_alias(argument, found)


@pytest.mark.parametrize("flags", [{}, {"borrow": True}, {"mutable": False}, {"mutable": False, "borrow": True}])
def test_an_argument_that_is_not_mutable_is_not_overwritten(flags):
    x = T.dvector()
    f = function([In(x, **flags)], [Out(T.exp(x) + 1, borrow=True), Out(x + 1, borrow=True)])
    argument = numpy.zeros(SIZE)
    for _ in range(3):
        results = f(argument)
        assert (results[0] == 2.0).all() and (results[1] == 1.0).all() and not argument.any()


def test_read_only_memory_is_copied_even_if_mutable():
    x = T.dvector()
    f = function([In(x, mutable=True)], T.exp(x) + 1)
    argument = numpy.zeros(SIZE)
    argument.flags.writeable = False
    assert (f(argument) == 2.0).all() and not argument.any()


@pytest.mark.parametrize("update", [lambda x: x, T.exp, lambda x: x[::-1], lambda x: T.exp(x)[2:]])
def test_a_mutable_argument_does_not_become_a_shared_value(update):
    x, s = T.dvector(), shared(numpy.zeros(SIZE))
    f = function([In(x, mutable=True)], [], updates=[(s, update(x))])
    for _ in range(2):
        argument = numpy.zeros(SIZE)
        f(argument)
        value = s.get_value()
        assert not may_alias(argument, value_of(s))
        argument[:] = -1.0
        numpy.testing.assert_array_equal(s.get_value(), value)


def test_memory_given_to_one_call_is_not_given_for_ever():
    x, s = T.dvector(), shared(numpy.zeros(1))
    argument = numpy.arange(float(SIZE))
    s.set_value(function([In(x, mutable=True)], Out(T.exp(x)[::-1], borrow=True))(argument), borrow=True)
    value = s.get_value()
    lent = argument.copy()
    function([], updates=[(s, s + 1)])()
    s.set_value(s.get_value() * 2)
    numpy.testing.assert_array_equal(s.get_value(), (value + 1) * 2)
    numpy.testing.assert_array_equal(argument, lent)


def test_a_view_of_a_borrowed_argument_is_no_copy():
    x = T.dvector()
    argument = numpy.arange(float(SIZE))
    for view, expected in ((x, argument), (x[::-1], argument[::-1]), (x[3:9], argument[3:9])):
        assert may_alias(argument, function([In(x, borrow=True)], Out(view, borrow=True))(argument))
        for borrow_in, borrow_out in ((False, False), (False, True), (True, False)):
            f = function([In(x, borrow=borrow_in)], Out(view, borrow=borrow_out))
            assert not may_alias(argument, f(argument))
            numpy.testing.assert_array_equal(f(argument), expected)


def test_a_borrowed_output_reuses_its_buffer():
    x = T.dvector()
    f = function([x], Out(x * 2, borrow=True))
    first = f(numpy.ones(SIZE))
    assert (first == 2.0).all()
    second = f(numpy.zeros(SIZE))
    assert not second.any()
    assert may_alias(first, second) or phintys.config.stress        # under stress no memory is reused


def test_a_borrowed_output_that_comes_back_as_an_argument():
    x = T.dvector()
    f = function([x], Out(x[::-1] * 2, borrow=True))
    result = numpy.arange(float(SIZE))
    expected = result.copy()
    for _ in range(5):
        result, expected = f(result), expected[::-1] * 2
        numpy.testing.assert_array_equal(result, expected)


def test_a_borrowed_output_may_be_a_shared_value():
    s = shared(numpy.ones(SIZE))
    read, step = function([], Out(s, borrow=True)), function([], updates=[(s, s + 1)])
    for count in range(3):
        assert (read() == 1.0 + count).all()
        step()
    old_and_new = function([], [Out(s, borrow=True), Out(s + 1, borrow=True)], updates=[(s, s + 1)])
    for count in range(3):
        old, new = old_and_new()
        assert (new == 5.0 + count).all() and (s.get_value() == 5.0 + count).all()
    assert (read() == 7.0).all()


def test_results_stay_as_they_were():
    x, s = T.dvector(), shared(numpy.zeros(SIZE))
    f = function([x], [x * 2, s, s + x], updates=[(s, s + x)])
    kept = [f(numpy.full(SIZE, float(number))) for number in range(5)]
    totals = numpy.concatenate([[0.0], numpy.cumsum(numpy.arange(5.0))])
    for number, (double, old, new) in enumerate(kept):
        assert (double == 2.0 * number).all()
        assert (old == totals[number]).all() and (new == totals[number + 1]).all()


@pytest.mark.parametrize("borrow", [False, True])
def test_internal_types_of_outputs(borrow):
    x = T.dvector()
    f = function([x], Out(x + 1, borrow=borrow, return_internal_type=True))
    result = f(numpy.zeros(SIZE))
    assert type(result) is numpy.ndarray and (result == 1.0).all()


def test_borrowed_outputs_of_two_threads_are_two_buffers():
    x = T.dvector()
    f = function([x], Out(T.exp(x) * 0 + x, borrow=True))
    wrong = []

    def work(number):
        for _ in range(50):
            result = f(numpy.full(100000, float(number)))
            if not (result == number).all():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def _matrix():
    return scipy.sparse.csr_matrix(numpy.eye(3))


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
@pytest.mark.parametrize("moved", [lambda x: x, lambda x: x.T, lambda x: x.T.T], ids=["itself", "transposed", "twice"])
@pytest.mark.parametrize("source", ["argument", "mutable", "shared", "constant", "other result"])
def test_sparse_results_have_memory_of_their_own(source, moved, mode):
    value, argument = _matrix(), sparse.csr_matrix("argument")
    matrix = {"shared": phintys.shared(value), "constant": sparse.as_sparse_variable(value),
              "other result": sparse.add(argument, argument)}.get(source, argument)
    inputs = [phintys.In(argument, mutable=source == "mutable")]
    call = phintys.function(inputs, [moved(matrix), matrix], mode=mode, on_unused_input="ignore")
    results = call(value)
    assert not argument.type.may_share_memory(results[0], results[1])
    for result in results:
        result.data[:] = 7
    assert value.data.tolist() == [1, 1, 1]
    assert call(value)[0].data.tolist() == ([2, 2, 2] if source == "other result" else [1, 1, 1])


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
def test_new_values_of_sparse_matrices_are_no_arguments(mode):
    argument, value = sparse.csr_matrix("argument"), _matrix()
    total = phintys.shared(2 * value)
    phintys.function([argument], updates=[(total, argument)], mode=mode)(value)
    value.data[:] = 7
    assert total.get_value().data.tolist() == [1, 1, 1]


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
def test_lists_in_results_have_arrays_of_their_own(mode):
    given, value = TypedListType(T.dvector)(), [numpy.ones(2)]
    result, = phintys.function([given], given, mode=mode)(value)
    result[:] = 7
    assert value[0].tolist() == [1, 1]


def test_a_copy_of_a_sparse_matrix_is_another():
    x, value = sparse.csr_matrix("x"), _matrix()
    assert not x.type.may_share_memory(phintys.function([x], phintys.compile.deep_copy_op(x))(value), value)
