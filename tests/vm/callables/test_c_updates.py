"""C functions that update shared variables and draw random numbers: as from Python, also from several threads."""
import ctypes
import gc
import threading

import numpy as np
import pytest
from python_op import Doubled

import phintys
import phintys.tensor as T
from phintys.graph.op import Op
from phintys.ifelse import ifelse
from phintys.vm.callables.c_threads import call_in_threads
from phintys.vm.pool import fail_allocation, pool_statistics

DOUBLES = ctypes.POINTER(ctypes.c_double)
x = T.dvector("x")


def expand(entry, point, expanded, user_data=None):
    """The status and the results."""
    point, out = np.asarray(point, dtype="float64"), np.full(expanded, np.nan)
    return entry.ctypes(point.size, expanded, point.ctypes.data_as(DOUBLES), out.ctypes.data_as(DOUBLES),
                        user_data), out


def flat(results):
    return np.concatenate([np.asarray(result, dtype="float64").ravel() for result in results])


# ---- programs: each returns results and updates ----------------------------------------------------------------------
def numbers():
    count, total = phintys.shared(0, "count"), phintys.shared(np.array(1.5), "total")
    return [total * x, count], [(count, count + 1), (total, total + x.sum() * count)]


def matrix_in_place():
    weights, rate = phintys.shared(np.ones((3, 4)), "weights"), phintys.shared(0.5, "rate")
    error = T.dot(weights, x)
    return [error, rate * 2], [(weights, weights - 0.01 * T.outer(error, x)), (rate, rate * 0.99)]


def old_values_are_results():
    """A result that is overwritten at once, and variables that change places."""
    first, second = phintys.shared(np.arange(4.0), "first"), phintys.shared(-np.arange(4.0), "second")
    return [first, T.tanh(second), first[1:]], [(first, second + x), (second, first)]


def another_length():
    seen = phintys.shared(np.zeros(2), "seen")
    return [seen.sum()], [(seen, T.join(0, seen, x)[-9:])]


def rows_in_place():
    table = phintys.shared(np.zeros((50, 4)), "table")
    return [table[7]], [(table, T.inc_subtensor(table[5:9], x))]


def a_branch():
    state = phintys.shared(np.ones(4), "state")
    return [state[0]], [(state, ifelse(T.gt(x[0], 0), state + x, T.tanh(state)))]


def a_loop():
    state = phintys.shared(np.ones(4), "state")
    rows, _ = phintys.scan(lambda row: T.tanh(row * x), outputs_info=[state], n_steps=5)
    return [rows], [(state, rows[-1])]


def draws_of(make):
    def outputs():
        stream = make(3)
        values = [x + stream.normal((4,)), stream.uniform((2,)) * 2]
        return values, []
    return outputs


def draws_in_a_loop():
    stream = T.shared_randomstreams.RandomStreams(5)
    rows, updates = phintys.scan(lambda row: row * 0.5 + stream.normal((4,)), outputs_info=[x], n_steps=6)
    return [rows], updates


PROGRAMS = {"numbers": numbers, "matrix": matrix_in_place, "old values": old_values_are_results,
            "lengths": another_length, "rows": rows_in_place, "branch": a_branch, "loop": a_loop,
            "draws": draws_of(T.shared_randomstreams.RandomStreams),
            "MRG": draws_of(phintys.sandbox.rng_mrg.MRG_RandomStreams), "draws in a loop": draws_in_a_loop}


def compiled(name, **options):
    """A function, and its shared variables."""
    results, updates = PROGRAMS[name]()
    function = phintys.function([x], results, updates=updates, **options)
    return function, function.get_shared()


def values_of(variables):
    return [np.array(variable.container.get()) for variable in variables]


def assert_values(variables, wanted):
    for variable, value in zip(variables, wanted):
        np.testing.assert_array_equal(variable.container.get(), value)


@pytest.mark.parametrize("allow_gc", [True, False, "plan"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_draws_are_those_from_python(name, allow_gc):
    """Also if both take turns on one function."""
    options = {"mode": phintys.Mode(allow_gc=allow_gc)}
    (function, variables), (other, others), (both, turns) = [compiled(name, **options) for _ in range(3)]
    entry, mixed = other.c_function("expand", shapes=[(4,)]), both.c_function("expand", shapes=[(4,)])
    random = np.random.default_rng(0)
    for call in range(20):
        point = random.normal(size=4)
        wanted = flat(function(point))
        status, out = expand(entry, point, wanted.size)
        assert status == 0, entry.error
        np.testing.assert_array_equal(out, wanted)
        np.testing.assert_array_equal(flat(both(point)) if call % 3 else expand(mixed, point, wanted.size)[1], wanted)
        assert_values(others, values_of(variables))
        assert_values(turns, values_of(variables))
    assert entry.frames_made == 1


def test_values_are_overwritten_where_they_are_unless_others_have_them():
    function, variables = compiled("matrix")
    weights, = [variable for variable in variables if variable.name == "weights"]
    entry = function.c_function("expand", shapes=[(4,)])
    reader = phintys.function([x], [T.dot(weights, x)]).c_function("expand", shapes=[(4,)])
    for _ in range(4):
        assert expand(entry, np.ones(4), 4)[0] == 0
    place = weights.get_value(borrow=True).ctypes.data
    for _ in range(4):
        assert expand(entry, np.ones(4), 4)[0] == 0
        assert phintys.config.stress or weights.get_value(borrow=True).ctypes.data == place
    seen = expand(reader, np.ones(4), 3)[1]                 # which refers to the present value
    kept = weights.get_value(borrow=True)
    copied = kept.copy()
    assert expand(entry, np.ones(4), 4)[0] == 0
    np.testing.assert_array_equal(kept, copied)
    assert (expand(reader, np.ones(4), 3)[1] != seen).all() and (weights.get_value() != copied).any()


# ---- failures --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", PROGRAMS)
def test_each_instruction_fails_in_turn(name):
    """No variable has changed then, and no memory is lost."""
    function, variables = compiled(name)
    entry = function.c_function("expand", shapes=[(4,)])
    point = np.linspace(0.5, 2, 4)
    size = flat(compiled(name)[0](point)).size
    assert expand(entry, point, size)[0] == 0
    entry.free()
    gc.collect()
    live, position, failed = pool_statistics()["live_buffers"], 0, 0
    while entry.fail_at(position):
        before = values_of(variables)
        status = expand(entry, point, size)[0]
        if status:                                          # else it is in a branch that is not taken
            assert status == -2 and "asked to fail" in str(entry.error)
            assert_values(variables, before)
            failed += 1
        entry.free()
        assert pool_statistics()["live_buffers"] == live
        entry.fail_at()
        position += 1
    assert failed > 1 and expand(entry, point, size)[0] == 0


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_allocation_fails_in_turn(name):
    function, variables = compiled(name)
    entry = function.c_function("expand", shapes=[(4,)])
    point, size, number, failed = np.linspace(0.5, 2, 4), flat(compiled(name)[0](np.ones(4))).size, 0, 0
    while number == 0 or not fail_allocation(0):
        number += 1
        entry.free()
        before = values_of(variables)
        fail_allocation(number)
        status = call_in_threads(entry.address, [point], size)[0][0]
        if status:
            assert status == -3 and isinstance(entry.error, MemoryError)
            assert_values(variables, before)
            failed += 1
    assert failed and status == 0


def test_what_fails_or_has_no_room_changes_nothing():
    count = phintys.shared(0.0, "count")
    factored = phintys.function([x], [T.slinalg.cholesky(x.reshape((2, 2)))], updates=[(count, count + 1)])
    entry = factored.c_function("expand", shapes=[(4,)])
    assert expand(entry, [1.0, 0.0, 0.0, 1.0], 4)[0] == 0 and count.get_value() == 1
    assert expand(entry, [-1.0, 0.0, 0.0, 1.0], 4)[0] == 1 and count.get_value() == 1
    assert expand(entry, [1.0, 0.0, 0.0, 1.0], 3)[0] == -1 and count.get_value() == 1
    with pytest.raises(ValueError, match="there is room for 3"):
        entry.raise_error()
    assert expand(entry, [1.0, 0.0, 0.0, 1.0], 4)[0] == 0 and count.get_value() == 2


def test_results_of_unknown_length_come_with_the_second_call():
    """The first one says the lengths, and changes nothing."""
    seen = phintys.shared(np.zeros(0), "seen")
    function = phintys.function([x], [T.join(0, seen, x)], updates=[(seen, T.join(0, seen, x))])
    entry = function.c_function()
    point, found = np.ones(3), []
    for _ in range(3):
        given, lengths = np.array(point.shape), np.zeros(1, "int64")        # a pointer to them keeps neither alive
        out, status = np.zeros(0), 5
        while status == 5:
            pointers = [(ctypes.c_void_p * 1)(array.ctypes.data) for array in (point, out)]
            shapes = [(ctypes.POINTER(ctypes.c_int64) * 1)(array.ctypes.data_as(ctypes.POINTER(ctypes.c_int64)))
                      for array in (given, lengths)]
            status = entry.ctypes(pointers[0], shapes[0], pointers[1], shapes[1], None)
            if status == 5:
                out = np.full(lengths[0], np.nan)
        assert status == 0
        found.append(out.size)
    assert found == [3, 6, 9] and seen.get_value().size == 9


def test_tables_of_other_values_are_refused():
    function, variables = compiled("numbers")
    entry = function.c_function("expand", shapes=[(4,)])
    with pytest.raises(TypeError, match="updates shared variables, so it reads and writes their own values"):
        entry.table({"total": 1.0})
    before = values_of(variables)
    assert expand(entry, np.ones(4), 5, user_data=before[0].ctypes.data)[0] == -1
    with pytest.raises(ValueError, match="user_data must be NULL"):
        entry.raise_error()
    assert_values(variables, before)


def test_ops_in_python_are_refused_in_updates_too():
    state = phintys.shared(np.ones(3), "state")
    with pytest.raises(NotImplementedError, match="Doubled"):
        phintys.function([], [], updates=[(state, Doubled()(state))]).c_function()


# ---- threads ---------------------------------------------------------------------------------------------------------
def test_threads_take_turns():
    """No update is lost among calls from C, calls from Python, and values that are set."""
    count, rows = phintys.shared(0.0, "count"), phintys.shared(np.zeros((40, 4)), "rows")
    function = phintys.function([x], [rows.sum() - 4 * rows[0, 0] * 40, count],
                                updates=[(count, count + 1), (rows, rows + x)])
    entry = function.c_function("expand", shapes=[(4,)])
    torn = []

    def call_and_read():
        for _ in range(300):
            torn.append(float(function(np.ones(4))[0]))
            torn.append(float(np.ptp(rows.get_value())))

    threads = [threading.Thread(target=call_and_read) for _ in range(2)]
    for thread in threads:
        thread.start()
    results = call_in_threads(entry.address, [np.ones(4)] * 6, 2, 500)
    for thread in threads:
        thread.join()
    assert [status for status, _, _ in results] == [0] * 6 and [out[0] for _, out, _ in results] == [0] * 6
    assert not any(torn)
    assert count.get_value() == 3600 and (rows.get_value() == 3600).all()


def test_each_draw_comes_once():
    (function, _), (other, _) = compiled("draws"), compiled("draws")
    entry = function.c_function("expand", shapes=[(4,)])
    found = []
    for _ in range(50):
        found += [tuple(out) for _, out, _ in call_in_threads(entry.address, [np.zeros(4)] * 4, 6)]
    assert set(found) == {tuple(flat(other(np.zeros(4)))) for _ in range(200)}


def test_python_runs_while_a_call_computes():
    state = phintys.shared(np.zeros(3), "state")
    rows, _ = phintys.scan(lambda row: T.tanh(T.dot(T.ones((3, 3)) / 4, row)) + 0.1, outputs_info=[state],
                           n_steps=1_000_000)
    entry = phintys.function([x], [x], updates=[(state, rows[-1])]).c_function("expand", shapes=[(3,)])
    calling = threading.Thread(target=call_in_threads, args=(entry.address, [np.ones(3)], 3))
    calling.start()
    turns = 0
    while calling.is_alive():
        turns += 1
    assert turns > 10_000 and state.get_value().all()


class Calling(Op):
    """Calls a C function."""

    __props__ = ()

    def make_node(self, value):
        return phintys.graph.apply.Apply(self, [value], [value.type()])

    def perform(self, node, inputs, outputs):
        self.status = expand(self.entry, inputs[0], 1)[0]
        outputs[0][0] = inputs[0].copy()


def test_a_variable_that_a_call_inside_a_call_has_updated():
    """The outer call must not overwrite what the inner one has stored."""
    count, op = phintys.shared(0.0, "count"), Calling()
    op.entry = phintys.function([x], [count], updates=[(count, count + 1)], on_unused_input="ignore").c_function(
        "expand", shapes=[(2,)])
    outer = phintys.function([x], [op(x) + count], updates=[(count, count * 2 + 5)])
    with pytest.raises(RuntimeError, match="count"):
        outer(np.ones(2))
    assert op.status == 0 and count.get_value() == 1
