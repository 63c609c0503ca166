"""C functions: a compiled function called from C, by several signatures and from several threads at once."""
import ctypes
import gc
import os
import pickle
import sys
import sysconfig
import threading
import time
import weakref

import numpy as np
import pytest
from c_calls import call_general
from python_op import Doubled
from watched_threads import run_watched

import phintys
import phintys.tensor as T
from phintys.ifelse import ifelse
from phintys.vm.callables.c_threads import call_in_threads
from phintys.vm.pool import fail_allocation, pool_statistics

DOUBLES = ctypes.POINTER(ctypes.c_double)
x, y = T.dvectors("x", "y")
a, b = T.dscalars("a", "b")


def doubles(array):
    return array.ctypes.data_as(DOUBLES)


def log_density(entry, point, user_data=None):
    """The status, the value and the gradient."""
    point = np.asarray(point, dtype="float64")
    gradient, value = np.full(point.size, np.nan), ctypes.c_double(np.nan)
    status = entry.ctypes(point.size, doubles(point), doubles(gradient), ctypes.byref(value), user_data)
    return status, value.value, gradient


def expand(entry, point, expanded, user_data=None):
    """The status and the results."""
    point = np.asarray(point, dtype="float64")
    out = np.full(expanded, np.nan)
    return entry.ctypes(point.size, expanded, doubles(point), doubles(out), user_data), out


def normal_density():
    """A function of a vector of any length, with its value and gradient."""
    value = -0.5 * (x ** 2).sum() + T.log1p(x[0] ** 2)
    return phintys.function([x], [value, phintys.grad(value, x)])


def test_log_density():
    function = normal_density()
    entry = function.c_function("log_density")
    for length in (3, 3, 3, 1, 500, 3):                     # other lengths between calls of the same
        point = np.linspace(-1, 2, length)
        status, value, gradient = log_density(entry, point)
        expected_value, expected_gradient = function(point)
        assert status == 0 and value == expected_value
        np.testing.assert_array_equal(gradient, expected_gradient)


def test_expand():
    matrix = T.dmatrix("matrix")
    function = phintys.function([a, matrix, x], [matrix.T * a, x > 0, x.argmax(), T.cast(x, "float32")])
    entry = function.c_function("expand", shapes={"matrix": (2, 3)})
    point = np.random.default_rng(0).normal(size=12)
    status, out = expand(entry, point, 6 + 5 + 1 + 5)
    results = [np.asarray(result, dtype="float64").ravel()
               for result in function(point[0], point[1:7].reshape(2, 3), point[7:])]
    assert status == 0
    np.testing.assert_array_equal(out, np.concatenate(results))


def test_a_number_that_is_not_finite():
    function = phintys.function([x], [T.log(x).sum(), x / x[0]])
    entry = function.c_function("log_density")
    assert log_density(entry, [1.0, 2.0])[0] == 0
    assert log_density(entry, [1.0, 0.0])[:2] == (4, -np.inf)
    assert log_density(entry, [0.0, 1.0])[0] == 3
    assert entry.error is None


# ---- calls that repeat a recorded one --------------------------------------------------------------------------------
def pieces():
    """Views of arguments, of computed values, of numbers inside their cells and of constants; values in place."""
    total = x.sum()
    return [x[1:3], x[::-1], T.exp(x)[::2], x[0], total.dimshuffle("x"), T.exp(total).dimshuffle("x", "x"),
            T.set_subtensor(T.tanh(x)[1:], x[:-1] * 2), T.constant([1.0, 2.0])[::-1], x.reshape((2, -1)).T,
            T.exp(total).dimshuffle("x").dimshuffle(0, "x") * y[:2], T.stack([total, x[0]])[:1],
            T.stack([total, x[0]])[1],
            T.join(0, x, y, x), (x + y[0])[2], y.dimshuffle("x", 0) + x.dimshuffle(0, "x")[:2], x]


def positions():
    """Views whose place follows from a value, and views of these."""
    row = T.cast(x[0], "int64")
    matrix = x[1:].reshape((3, 3))
    return [matrix[row], matrix[row][::-1], matrix[:row].sum(), matrix[row, 1:] * 2, matrix[row:][0]]


def branches():
    common = T.exp(x).sum()
    return [ifelse(T.gt(x[0], 0), T.log1p(common) * x, T.tanh(common) - x), ifelse(T.gt(x[1], 0), common, x[0])]


def loops():
    rows, _ = phintys.scan(lambda value, state: state * 0.5 + T.tanh(value), sequences=x, outputs_info=[x[0]])
    powers, _ = phintys.scan(lambda state: T.dot(x.reshape((2, 2)), state), outputs_info=[y[:2]], n_steps=4)
    return [rows, powers[-1], phintys.grad(rows.sum(), x)]


def short_loops():
    """Loops of a few steps in registers, which need no frame."""
    rows, _ = phintys.scan(lambda value, state: state * 0.5 + T.tanh(value), sequences=x, outputs_info=[x[0]])
    return [rows, phintys.grad(rows.sum(), x)]


def long_loops():
    """Steps that are replayed, with kept rows, a carried sum and a condition."""
    matrix, rows = x[:4].reshape((2, 2)), x[4:].reshape((100, 2))
    states, _ = phintys.scan(lambda row, state: T.tanh(T.dot(matrix, state) + row), sequences=rows,
                             outputs_info=[rows[0]])
    ended, _ = phintys.scan(lambda state: (T.dot(matrix, state) * 0.5 + 1, phintys.scan_module.until(state[0] > 1e6)),
                            outputs_info=[rows[1]], n_steps=60)
    return [states, ended[-1], phintys.grad(states.sum(), x)]


def matrices():
    square = x.reshape((2, 2))
    definite = T.dot(square, square.T) + T.eye(2)
    return [T.slinalg.cholesky(definite), T.nlinalg.matrix_inverse(definite), T.dot(definite, y[:2])]


def reductions():
    return [x.max(), T.argmax(x), x.reshape((2, -1)).sum(axis=0), T.sort(x), T.cumsum(x), x[T.gt(x, 0).nonzero()].sum()]


def flat(results):
    return np.concatenate([np.asarray(result, dtype="float64").ravel() for result in results])


# name → (outputs, lengths of x and y)
PROGRAMS = {"pieces": (pieces, 4, 5), "branches": (branches, 3, 0), "loops": (loops, 4, 3),
            "matrices": (matrices, 4, 3),
            "short loops": (short_loops, 9, 0), "reductions": (reductions, 6, 2), "positions": (positions, 10, 0),
            "long loops": (long_loops, 204, 0)}

RECORDED = ("pieces", "matrices", "loops", "short loops")   # what has no jumps, and layouts that no value decides


def compiled(name, **options):
    outputs, n, m = PROGRAMS[name]
    function = phintys.function([x, y], outputs(), on_unused_input="ignore", **options)
    return function, function.c_function("expand", shapes=[(n,), (m,)]), n, m


@pytest.mark.parametrize("allow_gc", [True, False, "plan"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_many_calls_with_arguments_elsewhere(name, allow_gc):
    """From some call on, calls are repeated as one was recorded; the caller's memory is another in each call."""
    function, entry, n, m = compiled(name, mode=phintys.Mode(allow_gc=allow_gc))
    random = np.random.default_rng(0)
    kept = []                                               # so that no memory is used again
    for call in range(24):
        point = random.normal(size=n + m)
        if name == "positions":
            point[0] = call % 3
        expected = flat(function(point[:n], point[n:]))
        before = point.copy()
        status, out = expand(entry, point, expected.size)
        assert status == 0, entry.error
        np.testing.assert_array_equal(out, expected)
        np.testing.assert_array_equal(point, before)
        kept.append((point, out))
    assert entry.frames_made == 1
    assert entry.recorded_frames() == (name in RECORDED and not phintys.config.stress)


@pytest.mark.parametrize("number", range(len(pieces())))
def test_each_piece_when_it_is_recorded(number):
    function = phintys.function([x, y], [pieces()[number]], on_unused_input="ignore")
    entry = function.c_function("expand", shapes=[(4,), (5,)])
    for call in range(16):
        point = np.random.default_rng(call).normal(size=9)
        expected = flat(function(point[:4], point[4:]))
        np.testing.assert_array_equal(expand(entry, point, expected.size)[1], expected)
    assert entry.recorded_frames() == (not phintys.config.stress)      # under stress nothing is kept


def test_layouts_that_alternate():
    function = normal_density()
    entry = function.c_function("log_density")
    for call in range(200):
        point = np.linspace(-1, 2, 2 + call // 12 % 5 if call < 150 else 2 + call % 2)
        status, value, gradient = log_density(entry, point)
        assert (status, value) == (0, float(function(point)[0]))
        np.testing.assert_array_equal(gradient, function(point)[1])


# ---- shared variables ------------------------------------------------------------------------------------------------
def test_shared_variables_have_their_present_values():
    weights, scale = phintys.shared(np.arange(3.0), "weights"), phintys.shared(2.0, "scale")
    function = phintys.function([x], [weights * x * scale, weights[::-1], weights.sum()])
    entry = function.c_function("expand")
    assert [container.name for container in entry.shared] == [
        container.name for container in function.program.containers]
    step = phintys.function([], [], updates=[(weights, weights + 1), (scale, scale * 2)])
    point = np.array([1.0, -1.0, 0.5])
    for change in [lambda: None, lambda: weights.set_value([5.0, 6.0, 7.0]), lambda: scale.set_value(3.0), step, step,
                   lambda: weights.set_value(np.array([1.0, 2.0, 3.0]), borrow=True), step]:
        change()
        for _ in range(7):
            status, out = expand(entry, point, 7)
            assert status == 0
            np.testing.assert_array_equal(out, flat(function(point)))
    weights.set_value(np.ones(4))                           # another length: one of the operands does not fit
    assert expand(entry, point, 9)[0] == -2
    with pytest.raises(ValueError, match="mis-match"):
        entry.raise_error()
    weights.set_value(np.ones(3))
    assert expand(entry, point, 7)[0] == 0


@pytest.mark.parametrize("shape", [(), (1,), (2,), (3,), (1, 2), (0,)])
@pytest.mark.parametrize("dtype", ["float64", "complex128", "int8", "float32"])
def test_shared_values_inside_and_outside_their_cells(shape, dtype):
    value = np.arange(1, 1 + np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    weights = phintys.shared(value, "weights")
    function = phintys.function([x], [T.cast(abs(weights), "float64").sum() * x, abs(weights) * 2])
    entry = function.c_function("expand")
    for _ in range(10):
        status, out = expand(entry, np.ones(2), 2 + value.size)
        assert status == 0
        np.testing.assert_array_equal(out, flat(function(np.ones(2))))


def test_a_value_that_is_being_read_is_not_overwritten():
    weights = phintys.shared(np.arange(5.0), "weights")
    entry = phintys.function([x], [weights + x]).c_function("expand")
    assert expand(entry, np.zeros(5), 5)[0] == 0
    borrowed = weights.get_value(borrow=True)
    weights.set_value(np.zeros(5))                          # the snapshot of the entry keeps the old value
    phintys.function([], [], updates=[(weights, weights + 7)])()
    np.testing.assert_array_equal(borrowed, np.arange(5.0))
    np.testing.assert_array_equal(expand(entry, np.zeros(5), 5)[1], np.full(5, 7.0))


def test_other_values_of_shared_variables_by_user_data():
    matrix, scale = phintys.shared(np.ones((2, 3)), "matrix"), phintys.shared(2.0, "scale")
    function = phintys.function([x], [T.dot(matrix, x) * scale])
    entry = function.c_function("expand")
    point = np.array([1.0, 2.0, 4.0])
    for call in range(30):
        rows = 2 if call < 20 else 3
        values = {"matrix": np.random.default_rng(call).normal(size=(rows, 3)).T[::-1].T, scale: call}
        table = entry.table(values)
        status, out = expand(entry, point, rows, table.address)
        assert status == 0
        np.testing.assert_allclose(out, values["matrix"] @ point * call)
        assert table.values[[each.name for each in entry.shared].index("scale")] == call
        if call % 3 == 0:
            np.testing.assert_array_equal(expand(entry, point, 2)[1], function(point)[0])   # the function's own


def test_values_that_do_not_fit_a_table():
    matrix, count = phintys.shared(np.ones((2, 3)), "matrix"), phintys.shared(np.int64(2), "count")
    entry = phintys.function([x], [T.dot(matrix, x) * count]).c_function("expand")
    present = entry.table({})
    assert expand(entry, np.ones(3), 2, present.address)[1][0] == 6
    for values, error, match in [({"matrix": np.ones(3)}, ValueError, "matrix has 1 dimensions, expected 2"),
                                 ({"count": 2.5}, TypeError, "count is of dtype float64, expected int64"),
                                 ({"weights": 1}, KeyError, "no shared variable 'weights'; there are")]:
        with pytest.raises(error, match=match):
            entry.table(values)


# ---- errors ----------------------------------------------------------------------------------------------------------
def test_an_error_names_its_node_and_line():
    function = phintys.function([x, y], [x * y + 1])
    entry = function.c_function("expand", shapes={"y": (3,)})
    for _ in range(5):
        assert expand(entry, np.ones(6), 3)[0] == 0
        status, out = expand(entry, np.ones(7), 3)
        assert status == -2 and np.isnan(out).all()
        with pytest.raises(ValueError, match="mis-match") as caught:
            entry.raise_error()
        assert "test_c_functions.py" in str(caught.value) and "Inputs shapes: [(4,), (3,)]" in str(caught.value)
        assert entry.error is None
        entry.raise_error()                                 # nothing has failed since


def test_recoverable_errors():
    matrix = x.reshape((2, 2))
    function = phintys.function([x], [T.slinalg.cholesky(matrix).sum(), x])
    entry = function.c_function("log_density")
    positive, negative = [2.0, 0.0, 0.0, 2.0], [-1.0, 0.0, 0.0, -1.0]
    for _ in range(12):
        assert log_density(entry, positive)[0] == 0
        assert log_density(entry, negative)[0] == 1
    assert isinstance(entry.error, np.linalg.LinAlgError)
    assert log_density(entry, [1.0])[0] == -2               # what is recoverable does not hide what is not
    assert log_density(entry, negative)[0] == 1 and isinstance(entry.error, ValueError)
    strict = function.c_function("log_density", recoverable=())
    assert log_density(strict, negative)[0] == -2
    assertion = phintys.function([x], [T.opt.assert_(x.sum(), x[0] > 0), x]).c_function(
        "log_density", recoverable=(AssertionError,))
    assert [log_density(assertion, [sign])[0] for sign in (1.0, -1.0, 1.0)] == [0, 1, 0]


@pytest.mark.parametrize("dim, expanded, match", [
    (2, 3, "x has 2 elements, expected 3"), (3, 2, "the results have 3 elements"), (3, 4, "there is room for 4")])
def test_wrong_numbers_of_elements(dim, expanded, match):
    entry = phintys.function([x], [x + 1]).c_function("expand", shapes=[(3,)])
    assert expand(entry, np.ones(dim), expanded)[0] == -1
    with pytest.raises(ValueError, match=match):
        entry.raise_error()
    assert expand(entry, np.ones(3), 3)[0] == 0


def test_addresses_that_cannot_be_used():
    entry = phintys.function([x], [x + 1]).c_function("expand", shapes=[(1,)])
    memory = np.zeros(4)
    odd = ctypes.cast(memory.ctypes.data + 1, DOUBLES)
    assert entry.ctypes(1, 1, odd, doubles(memory), None) == -1
    with pytest.raises(ValueError, match="no multiple of 8"):
        entry.raise_error()
    assert entry.ctypes(1, 1, None, doubles(memory), None) == -1
    with pytest.raises(ValueError, match="NULL"):
        entry.raise_error()


@pytest.mark.parametrize("known", [True, False], ids=["a thread of Python's", "a thread that Python does not know"])
@pytest.mark.parametrize("name", ["pieces", "matrices", "branches"])
def test_each_allocation_fails_in_turn(name, known):
    """The status says so, nothing is lost, and the next call is right."""
    function, entry, n, m = compiled(name)
    point = np.linspace(0.5, 2, n + m)
    expected = flat(function(point[:n], point[n:]))
    gc.collect()
    before, number, statuses = pool_statistics()["live_buffers"], 0, []
    while number == 0 or not fail_allocation(0):            # the last call makes fewer allocations
        number += 1
        entry.free()
        for _ in range(100):                            # where there is no GIL, objects end with their thread, later
            if pool_statistics()["live_buffers"] == before:
                break
            time.sleep(0.01)
        assert pool_statistics()["live_buffers"] == before
        fail_allocation(number)
        if known:
            status = expand(entry, point, expected.size)[0]
        else:
            status = call_in_threads(entry.address, [point], expected.size)[0][0]
        statuses.append(status)
        if status:
            assert status == -3 and isinstance(entry.error, MemoryError)
    assert len(statuses) > 2 and statuses[-1] == 0 and statuses[0] == -3
    assert all(statuses[:-1])
    np.testing.assert_array_equal(expand(entry, point, expected.size)[1], expected)


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_instruction_fails_in_turn(name):
    function, entry, n, m = compiled(name)
    point = np.linspace(0.5, 2, n + m)
    expected = flat(function(point[:n], point[n:]))
    gc.collect()
    before, position, failed = pool_statistics()["live_buffers"], 0, 0
    while entry.fail_at(position):
        status = expand(entry, point, expected.size)[0]
        if status:                                          # else it is in a branch that is not taken
            assert status == -2 and "asked to fail" in str(entry.error)
            failed += 1
        entry.free()
        assert pool_statistics()["live_buffers"] == before
        entry.fail_at()
        for _ in range(6):
            np.testing.assert_array_equal(expand(entry, point, expected.size)[1], expected)
        position += 1
    assert failed > 1


# ---- threads ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("threads", [2, 5])
def test_threads_hand_over_frames_without_a_race(tmp_path, threads):
    assert run_watched("vm/callables/seats_program.c", tmp_path, 20000, threads) == f"{20000 * threads} calls\n"


@pytest.mark.parametrize("name", sorted(set(PROGRAMS) - {"loops", "long loops"}))
def test_threads_that_python_does_not_know_need_no_gil(name):
    """The GIL is held while eight of them work: a call that needs it would wait for ever. (So it would be in a Python
    without one, which stops all its threads when it gets to know many new ones.)"""
    keep_gil = not sysconfig.get_config_var("Py_GIL_DISABLED")
    function, entry, n, m = compiled(name)
    points = list(np.random.default_rng(0).normal(size=(8, n + m)))
    if name == "positions":
        for number, point in enumerate(points):
            point[0] = number % 3
    for repeats in (1, 50):
        results = call_in_threads(entry.address, points, expected_size(function, points[0], n), repeats, keep_gil)
        for point, (status, out, _) in zip(points, results):
            assert status == 0
            np.testing.assert_array_equal(out[:flat(function(point[:n], point[n:])).size],
                                          flat(function(point[:n], point[n:])))
    assert 1 <= entry.frames_made <= 16


def expected_size(function, point, n):
    return flat(function(point[:n], point[n:])).size


def test_threads_with_loops_errors_and_new_values():
    """Eight threads at once: what needs the GIL gets it, each has its own results, and nothing is left over."""
    weights = phintys.shared(np.ones(4), "weights")
    outputs, n, m = PROGRAMS["loops"]
    looping = phintys.function([x, y], outputs()).c_function("expand", shapes=[(n,), (m,)])
    factored = phintys.function([x], [T.slinalg.cholesky(x.reshape((2, 2)) * weights[0])]).c_function("expand")
    weighted = phintys.function([x], [weights * x]).c_function("expand")
    points = [*np.random.default_rng(1).normal(size=(4, n + m)), *np.random.default_rng(2).normal(size=(4, n + m))]
    single = [call_in_threads(looping.address, [point], 10)[0][1] for point in points]
    function, long, n, m = compiled("long loops")
    series = list(np.random.default_rng(3).normal(size=(8, n + m)) / 4)
    definite = [np.array([2.0, 0.0, 0.0, 2.0]) * (-1) ** number for number in range(8)]
    gc.collect()
    before = pool_statistics()["live_buffers"]

    def change():
        for number in range(200):
            weights.set_value(np.full(4, 1.0 + number % 2))

    changing = threading.Thread(target=change)
    changing.start()
    for (status, out, _), expected in zip(call_in_threads(looping.address, points, 10, 40), single):
        assert status == 0
        np.testing.assert_array_equal(out, expected)
    for point, (status, out, _) in zip(series, call_in_threads(long.address, series, expected_size(
            function, series[0], n), 20)):
        assert status == 0
        np.testing.assert_array_equal(out, flat(function(point[:n], point[n:])))
    assert [status for status, _, _ in call_in_threads(factored.address, definite, 4, 40)] == [0, 1] * 4
    for status, out, _ in call_in_threads(weighted.address, [np.ones(4)] * 8, 4, 2000):
        assert status == 0 and out[0] in (1.0, 2.0) and len(set(out)) == 1
    changing.join()
    for entry in (looping, factored, weighted, long):
        entry.free()
    gc.collect()
    assert pool_statistics()["live_buffers"] <= before + 2          # the present snapshots


def branching():
    """Its steps are not recorded."""
    return phintys.scan(lambda state: ifelse(T.lt(state[0], 1), state * 1.25 + 0.001, state - 1),
                        outputs_info=[x], n_steps=3_000_000)[0][-1:]


def recorded():
    return phintys.scan(lambda state: T.tanh(T.dot(T.ones((3, 3)) / 4, state)) + 0.1, outputs_info=[x],
                        n_steps=3_000_000)[0][-1:]


@pytest.mark.parametrize("make", [branching, recorded])
def test_steps_of_loops_run_without_the_gil(make):
    """Once the loop has begun: another thread's processor time grows while this one keeps the GIL."""
    function = phintys.function([x], [make()])
    entry = function.c_function("expand", shapes=[(3,)])
    point = np.array([0.1, 0.2, 0.3])
    expected = function(point)[0].ravel()
    results = []
    caller = threading.Thread(target=lambda: results.extend(call_in_threads(entry.address, [point], 3)))
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)                             # until this thread waits, or ends
    try:
        caller.start()
        for late in (0.005, 0.05, 0.5, 5):                  # so long until it begins its loop: longest in an emulator
            before = others_seconds()
            while caller.is_alive() and others_seconds() < before + late:
                time.sleep(0.0005)
            start, now = others_seconds(), time.thread_time()
            while time.thread_time() < now + 2 and others_seconds() < start + 0.01:
                pass
            if others_seconds() >= start + 0.01:
                break
        else:
            pytest.fail("the other thread waits for this one")
    finally:
        sys.setswitchinterval(interval)
        caller.join()
    assert results[0][0] == 0
    np.testing.assert_array_equal(results[0][1], expected)


def test_rows_that_are_computed_ahead_in_several_blocks():
    rows = T.alloc(x, 50_000, 3)
    last = phintys.scan(lambda row, state: T.tanh(T.dot(row, T.ones((3, 3)) / 4) + state), sequences=rows,
                        outputs_info=[x])[0][-1:]
    function = phintys.function([x], [last])
    assert "ahead" in function.explain()
    entry = function.c_function("expand", shapes=[(3,)])
    points = list(np.random.default_rng(0).normal(size=(4, 3)))
    for point, (status, out, _) in zip(points, call_in_threads(entry.address, points, 3, 3)):
        assert status == 0
        np.testing.assert_array_equal(out, function(point)[0].ravel())


def test_errors_in_steps_without_the_gil():
    """A step after the first ones: the error has its line and step, as in a call from Python."""
    places = T.cast(x, "int64")
    rows = phintys.scan(lambda place, state: ifelse(T.lt(state, 1e9), state + x[place], state), sequences=places,
                        outputs_info=[T.zeros(())])[0]
    line = sys._getframe().f_lineno - 2
    function = phintys.function([x], [rows])
    entry = function.c_function("expand")
    point = np.arange(40.0)
    assert expand(entry, point, 40)[0] == 0
    point[30] = 77
    status = expand(entry, point, 40)[0]
    assert status != 0
    for name in f"line {line}, in ", "in step 30 of ":
        assert name in str(entry.error)
        with pytest.raises(IndexError, match=name):
            function(point)
    assert expand(entry, np.arange(40.0), 40)[0] == 0


def others_seconds():
    return time.process_time() - time.thread_time()


def thread_states():
    """How many states of threads Python has."""
    api = ctypes.PyDLL(None)
    for name in ("PyInterpreterState_Get", "PyInterpreterState_ThreadHead", "PyThreadState_Next"):
        getattr(api, name).restype = ctypes.c_void_p
    state, count = api.PyInterpreterState_ThreadHead(ctypes.c_void_p(api.PyInterpreterState_Get())), 0
    while state:
        state, count = api.PyThreadState_Next(ctypes.c_void_p(state)), count + 1
    return count


def test_threads_leave_no_state_with_python():
    entry = phintys.function([x], [T.slinalg.cholesky(x.reshape((2, 2)))]).c_function("expand")
    before = thread_states()
    for _ in range(3):
        assert {status for status, _, _ in call_in_threads(entry.address, [-np.ones(4)] * 8, 4, 3)} == {1}
    for _ in range(1000):                                   # threads that do nothing else remove the states
        if thread_states() <= before:                       # threads of other tests may have ended, too
            return
        time.sleep(0.01)
    raise AssertionError(f"there are {thread_states()} states, where there were {before}")


def test_frames_and_memory_are_used_again():
    function, entry, n, m = compiled("pieces")
    points = list(np.random.default_rng(0).normal(size=(8, n + m)))
    size = expected_size(function, points[0], n)
    for _ in range(20):
        call_in_threads(entry.address, points, size, 5)
    made, buffers, kept = entry.frames_made, pool_statistics()["live_buffers"], entry.kept_bytes()
    assert made <= 8 * 2
    for _ in range(20):
        call_in_threads(entry.address, points[:1], size, 5)
    assert (entry.frames_made, pool_statistics()["live_buffers"], entry.kept_bytes()) == (made, buffers, kept)
    entry.free()
    assert entry.kept_bytes() == 0


def test_after_a_fork_the_child_can_call():
    function, entry, n, m = compiled("pieces")
    point = np.linspace(-1, 1, n + m)
    expected = flat(function(point[:n], point[n:]))
    stop = threading.Event()

    def keep_calling():
        while not stop.is_set():
            expand(entry, point, expected.size)

    calling = [threading.Thread(target=keep_calling) for _ in range(2)]
    for thread in calling:
        thread.start()
    try:
        for _ in range(5):
            child = os.fork()
            if child == 0:
                os._exit(0 if np.array_equal(expand(entry, point, expected.size)[1], expected) else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        stop.set()
        for thread in calling:
            thread.join()


# ---- lives -----------------------------------------------------------------------------------------------------------
def test_the_entry_keeps_the_function_alive():
    function = normal_density()
    entry, alive = function.c_function("log_density"), weakref.ref(function)
    expected = function(np.ones(3))[0]
    del function
    gc.collect()
    pointer = entry.ctypes
    assert alive() is not None and log_density(entry, np.ones(3))[1] == expected
    del entry
    gc.collect()
    gradient, value = np.empty(3), ctypes.c_double()
    assert pointer(3, doubles(np.ones(3)), doubles(gradient), ctypes.byref(value), None) == 0      # it keeps the entry
    address, kind = pointer.c_function.address, pointer.c_function.ctypes_type
    del pointer
    gc.collect()
    assert alive() is None
    assert kind(address)(3, doubles(np.ones(3)), doubles(gradient), ctypes.byref(value), None) == -4


def test_entries_end_and_others_take_their_places():
    function = phintys.function([a], [a * 2])
    gc.collect()
    entries = []
    with pytest.raises(RuntimeError, match="512 C functions already"):
        while True:
            entries.append(function.c_function("number"))
    assert len({entry.address for entry in entries}) == len(entries)
    assert entries[-1].ctypes(4.0) == 8.0
    entries.pop()
    assert function.c_function("number").ctypes(5.0) == 10.0


# ---- other signatures ------------------------------------------------------------------------------------------------
def test_general_signature():
    matrix, index, choice = T.matrix("matrix", dtype="float32"), T.lvector("index"), T.bscalar("choice")
    function = phintys.function([matrix, index, choice], [
        matrix[index] * choice, T.cast(matrix, "complex128").T, index[T.gt(index, 0).nonzero()]])
    entry = function.c_function()
    random = np.random.default_rng(0)
    for call in range(20):
        arguments = [random.normal(size=(3, 2 + call // 10)).astype("float32"), random.integers(0, 3, size=4),
                     np.array(call, dtype="int8")]
        expected = function(*arguments)
        outputs = [np.empty(result.shape, result.dtype) for result in expected]
        status, _ = call_general(entry, arguments, outputs)
        assert status == 0, entry.error
        for out, result in zip(outputs, expected):
            np.testing.assert_array_equal(out, result)
        status, lengths = call_general(entry, arguments, [*outputs[:2], np.empty(99, dtype="int64")])
        assert status == 5 and lengths == [result.shape for result in expected]
    outputs[0][:] = -1
    assert call_general(entry, [arguments[0], arguments[1] + 9, arguments[2]], outputs)[0] == -2
    assert (outputs[0] == -1).all() and isinstance(entry.error, IndexError)


def test_general_arguments_in_one_memory():
    """Two arguments at one address, then apart: views of one must not follow the other."""
    function = phintys.function([x, y], [x[::-1] + y[1], y[::2]])
    entry = function.c_function()
    both, other = np.arange(3.0), np.array([5.0, 6.0, 7.0])
    for first, second in [*[(both, both)] * 9, *[(both, other)] * 9, *[(both, both)] * 3, *[(other, both)] * 3]:
        outputs = [np.empty(3), np.empty(2)]
        assert call_general(entry, [first, second], outputs)[0] == 0
        for out, result in zip(outputs, function(first, second)):
            np.testing.assert_array_equal(out, result)


def test_general_arguments_that_do_not_fit():
    row = T.drow("row")
    entry = phintys.function([row], [row.sum()]).c_function()
    assert call_general(entry, [np.ones((1, 3))], [np.empty(())])[0] == 0
    assert call_general(entry, [np.ones((2, 3))], [np.empty(())])[0] == -1
    with pytest.raises(ValueError, match="argument 0 .row.: its length in dimension 0 is 2"):
        entry.raise_error()


def test_window_and_line():
    window = phintys.function([x], [T.max(x) - T.min(x)]).c_function("window")
    line = phintys.function([x], [x[1:-1] - x[:-2]]).c_function("line")
    result, values = np.full(3, np.nan), np.array([1.0, 5.0, 2.0, 8.0, 7.0])
    assert window.ctypes(doubles(values), 5, doubles(result), None) == 1 and result[0] == 7
    assert line.ctypes(doubles(values), 5, doubles(result), 3, None) == 1
    np.testing.assert_array_equal(result, [4.0, -3.0, 6.0])
    assert line.ctypes(doubles(values), 4, doubles(result), 3, None) == 0 and line.error is not None


def test_scipy_calls_it():
    scipy = pytest.importorskip("scipy")
    integrate = pytest.importorskip("scipy.integrate")
    ndimage = pytest.importorskip("scipy.ndimage")
    number = phintys.function([a], [T.exp(-a ** 2)]).c_function("double (double)")
    numbers = phintys.function([a, b], [T.exp(-a * b) * b]).c_function("numbers")
    scale = phintys.shared(2.0, "scale")
    scaled = phintys.function([a], [scale * a]).c_function("double(double, void*)")
    assert integrate.quad(scipy.LowLevelCallable(number.ctypes), 0, np.inf)[0] == pytest.approx(np.sqrt(np.pi) / 2)
    assert integrate.quad(scipy.LowLevelCallable(numbers.ctypes), 0, np.inf, args=(3.0,))[0] == pytest.approx(1)
    assert integrate.nquad(scipy.LowLevelCallable(numbers.ctypes), [(0, 1), (0, 2)])[0] == pytest.approx(
        integrate.dblquad(lambda second, first: np.exp(-first * second) * second, 0, 1, 0, 2)[0])
    table = scaled.table({"scale": 7.0})
    own = scipy.LowLevelCallable(scaled.ctypes)
    other = scipy.LowLevelCallable(scaled.ctypes, ctypes.c_void_p(table.address))
    assert integrate.quad(own, 0, 1)[0] == pytest.approx(1) and integrate.quad(other, 0, 1)[0] == pytest.approx(3.5)
    window = phintys.function([x], [T.max(x) - T.min(x)]).c_function("window")
    image = np.random.default_rng(0).normal(size=(8, 9))
    np.testing.assert_array_equal(ndimage.generic_filter(image, scipy.LowLevelCallable(window.ctypes), size=3),
                                  ndimage.maximum_filter(image, 3) - ndimage.minimum_filter(image, 3))


def test_numba_calls_it():
    numba = pytest.importorskip("numba")
    entry = normal_density().c_function("log_density")
    call = entry.ctypes

    @numba.njit(nogil=True)
    def descended(point, gradient, value, steps):
        for _ in range(steps):
            if call(point.size, point.ctypes, gradient.ctypes, value.ctypes, 0) != 0:
                return False
            point += 0.1 * gradient
        return True

    point, gradient, value = np.array([1.0, -2.0, 3.0]), np.empty(3), np.empty(1)
    assert descended(point, gradient, value, 200)
    assert abs(gradient).max() < 1e-8 and value[0] == pytest.approx(np.log1p(1.0) - 0.5)


# ---- what is refused -------------------------------------------------------------------------------------------------
def python_op():
    return phintys.function([x], [Doubled()(x) + 1])


def python_op_in_a_loop():
    rows, _ = phintys.scan(lambda value: Doubled()(value), sequences=x)
    return phintys.function([x], [rows])


def strings():
    value = phintys.graph.type.generic("value")
    return phintys.function([value, x], [x], on_unused_input="ignore")


@pytest.mark.parametrize("make, match", [
    (python_op, r"(?s)the op Doubled.* runs in Python.*test_c_functions.py"),
    (python_op_in_a_loop, r"(?s)Doubled.*test_c_functions.py"),
    (strings, "argument value .* is a Python object")])
def test_programs_that_need_python(make, match):
    with pytest.raises(NotImplementedError, match=match):
        make().c_function()


def test_draws_without_updates_are_the_same_each_time():
    stream = T.shared_randomstreams.RandomStreams(1)
    draw = phintys.function([x], [x + stream.normal((3,))], no_default_updates=True)
    entry = draw.c_function("expand")
    expected = draw(np.ones(3))[0]
    for _ in range(12):
        np.testing.assert_array_equal(expand(entry, np.ones(3), 3)[1], expected)


@pytest.mark.parametrize("signature, inputs, outputs, options, error, match", [
    ("no such", [x], [x], {}, ValueError, "no signature 'no such'; expected one of 'general'"),
    ("log_density", [x], [x.sum()], {}, TypeError, "has 1 result, expected at least 2: the log-density, then"),
    ("log_density", [x], [x, x], {}, TypeError, "result 0 has 1 dimensions, expected a number"),
    ("number", [x], [x, x], {}, TypeError, "has 2 results, expected 1"),
    ("number", [a, b], [a + b], {}, TypeError, "the arguments have 2 elements, but .* passes one"),
    ("expand", [x, y], [x, y], {}, ValueError, "the shape of argument 0 .x. is not known: give shapes="),
    ("expand", [x], [x], {"shapes": [(2, 3)]}, ValueError, "has 2 dimensions, expected 1"),
    ("expand", [x], [x], {"shapes": {"z": 3}}, ValueError, "has the key 'z', but the arguments are"),
    ("expand", [x], [x], {"shapes": [3, 4]}, ValueError, "shapes has 2 entries, but there are 1 arguments"),
    ("expand", [x], [T.cast(x, "complex128")], {}, TypeError, "result 0 is of dtype complex128"),
    ("expand", [T.ivector("i")], [x], {}, TypeError, "argument 0 .i. is of dtype int32"),
])
def test_functions_that_do_not_fit_the_signature(signature, inputs, outputs, options, error, match):
    function = phintys.function(inputs, outputs, on_unused_input="ignore",
                                givens=[(x, T.ones((2,)))] if x not in inputs else [])
    with pytest.raises(error, match=match):
        function.c_function(signature, **options)


def test_small_shared_arrays_are_whole():
    """Values of up to 16 bytes have no memory of their own: the value is copied with all its elements."""
    for values in (np.array([3, 1], dtype="int32"), np.array([0.5, 2.5]), np.arange(10, dtype="int8"), np.array(2.0)):
        shared = phintys.shared(values)
        function = phintys.function([x], [(x * shared.sum()).sum(), x + shared.max()])
        entry = function.c_function("log_density")
        for change in (values, values[::-1] * 2 if values.ndim else values + 1):
            shared.set_value(change)
            status, value, gradient = log_density(entry, [1.0, 2.0])
            assert status == 0 and value == 3 * change.sum()
            np.testing.assert_array_equal(gradient, [1 + change.max(), 2 + change.max()])


# ---- how the function was made ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("options", [
    {"mode": "FAST_COMPILE"}, {"profile": True}, {"mode": phintys.Mode(allow_gc="plan")},
    {"mode": phintys.Mode(allow_gc=False)}], ids=str)
def test_functions_of_each_mode(options):
    function = phintys.function([x], [T.dot(x, x), T.exp(x)[::-1]], **options)
    entry = function.c_function("log_density")
    for _ in range(12):
        point = np.random.default_rng(0).normal(size=5)
        status, value, gradient = log_density(entry, point)
        assert status == 0 and value == function(point)[0]
        np.testing.assert_array_equal(gradient, function(point)[1])


def test_arguments_that_may_be_overwritten_and_results_that_are_lent():
    """C code gets copies, and its arguments stay as they are."""
    function = phintys.function([phintys.In(x, mutable=True, borrow=True)],
                                [phintys.Out(T.set_subtensor(x[0], 5.0) * 2, borrow=True), phintys.Out(x, borrow=True)])
    entry = function.c_function("expand")
    for call in range(12):
        point = np.arange(4.0) + call
        status, out = expand(entry, point, 8)
        assert status == 0
        np.testing.assert_array_equal(point, np.arange(4.0) + call)
        np.testing.assert_array_equal(out, [10.0, *(2 * point[1:]), *point])


def test_a_function_that_was_saved_and_loaded():
    function = pickle.loads(pickle.dumps(normal_density()))
    status, value, _ = log_density(function.c_function("log_density"), np.ones(3))
    assert status == 0 and value == function(np.ones(3))[0]


def test_a_function_runs_in_python_and_in_c_at_once():
    """Both have frames of their own, and `free` may come at any time."""
    function, entry, n, m = compiled("pieces")
    point = np.linspace(-1, 1, n + m)
    expected = flat(function(point[:n], point[n:]))
    stop = threading.Event()

    def keep_freeing():
        while not stop.is_set():
            function.free()
            entry.free()
            entry.kept_bytes()

    freeing = threading.Thread(target=keep_freeing)
    freeing.start()
    try:
        for _ in range(300):
            np.testing.assert_array_equal(flat(function(point[:n], point[n:])), expected)
            np.testing.assert_array_equal(expand(entry, point, expected.size)[1], expected)
        for status, out, _ in call_in_threads(entry.address, [point] * 4, expected.size, 500):
            assert status == 0
            np.testing.assert_array_equal(out, expected)
    finally:
        stop.set()
        freeing.join()


def test_workers_share_a_long_call():
    """Also when the caller holds the GIL, which the workers' kernels may need."""
    matrix = T.dmatrix("matrix")
    function = phintys.function([matrix], [T.exp(matrix).sum(axis=0), T.slinalg.cholesky(T.dot(matrix, matrix.T))])
    entry = function.c_function(workers=2)
    value = np.random.default_rng(0).normal(size=(300, 400))
    expected = function(value)
    call = ctypes.PYFUNCTYPE(entry.ctypes_type._restype_, *entry.ctypes_type._argtypes_)(entry.address)
    for caller in (entry.ctypes, call):
        outputs = [np.empty(result.shape) for result in expected]
        addresses = (ctypes.c_void_p * 2)(*[out.ctypes.data for out in outputs])
        lengths = [(ctypes.c_int64 * 2)(*array.shape) for array in (value, *outputs[1:])]
        pointer = ctypes.POINTER(ctypes.c_int64)
        shapes = (pointer * 1)(ctypes.cast(lengths[0], pointer))
        of_first = (ctypes.c_int64 * 1)(400)
        wanted = (pointer * 2)(ctypes.cast(of_first, pointer), ctypes.cast(lengths[1], pointer))
        for _ in range(3):
            assert caller((ctypes.c_void_p * 1)(value.ctypes.data), shapes, addresses, wanted, None) == 0
        for out, result in zip(outputs, expected):
            np.testing.assert_allclose(out, result, rtol=1e-12)


def test_code_that_does_not_survive_failures():
    """Such callers get a status that they go on after, and nothing is computed any more."""
    factors = T.slinalg.cholesky(x.reshape((2, 2)))
    definite, other = np.array([2.0, 0.0, 0.0, 2.0]), np.array([-2.0, 0.0, 0.0, 2.0])
    density = phintys.function([x], [factors.sum(), x]).c_function("log_density", recoverable=())
    expansion = phintys.function([x], [factors]).c_function("expand")
    density.be_quiet()
    expansion.be_quiet(density.end)
    assert expand(expansion, definite, 4)[0] == 0 and log_density(density, definite)[0] == 0
    status, out = expand(expansion, other, 4)
    assert status == 0 and np.isnan(out).all() and isinstance(expansion.error, np.linalg.LinAlgError)
    assert [log_density(density, definite)[0], log_density(density, other)[0]] == [1, 1] and density.error is None
    status, out = expand(expansion, definite, 4)
    assert status == 0 and np.isnan(out).all()
    density = phintys.function([x], [factors.sum(), x]).c_function("log_density", recoverable=())
    density.be_quiet()
    assert log_density(density, other)[0] == 1 and isinstance(density.error, np.linalg.LinAlgError)
    assert log_density(density, definite)[0] == 1
