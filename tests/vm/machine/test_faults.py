"""Faults: each allocation in turn fails, ours and Python's, each instruction in turn, a long call is interrupted.

What must follow is the same each time: an exception, no lost buffer, shared variables as they were,
and a function that computes the right values when it is called again.
"""
import gc
import signal

import numpy as np
import pytest
from python_op import Doubled

import phintys
import phintys.tensor as T
from phintys import In, Out
from phintys.ifelse import ifelse
from phintys.vm.opcodes import OPCODES
from phintys.vm.pool import fail_allocation, pool_statistics

MODES = [True, False, "plan"]
COLUMNS = 24
x = T.matrix("x")


def parameter(name, fill=1.0):
    return phintys.shared(np.full((COLUMNS, COLUMNS), fill), name)


# name → (shared variables, outputs, updates, options of the argument)
def descent():
    w = parameter("w")
    return [w], [T.dot(x, w).sum()], [(w, w - 0.125 * T.dot(x.T, x))], {}


def momentum():
    w, v = parameter("w"), parameter("v", 2.0)
    new = 0.5 * v - 0.125 * T.dot(x.T, T.tanh(T.dot(x, w)))
    return [w, v], [new.sum(axis=0)], [(v, new), (w, w + new)], {}


def swapped():
    a, b = parameter("a"), parameter("b", 2.0)
    return [a, b], [a[0]], [(a, b), (b, a + T.dot(x.T, x))], {}


def performed():
    w = parameter("w")
    return [w], [Doubled()(T.exp(x)) + 1, Doubled()(x)], [(w, Doubled()(w) + 1)], {}


def views():
    y = T.dot(x, x.T)
    return [], [y[::-1].T, y[1:3], T.exp(x).reshape((x.shape[0] * COLUMNS,)), y], [], {}


def reductions():
    return [], [x.sum(axis=0), T.exp(x).max(), (x[:, :2] * T.tanh(x[:, 1:3])).mean(axis=1), T.argmax(x, axis=1)], [], {}


def products():
    w = parameter("w")
    return [w], [T.dot(T.dot(x, w), w.T) + x, T.dot(x.T, x), T.dot(x[0], w)], [], {}


def lent_and_mutable():
    w = parameter("w")
    return [w], [Out(T.tanh(T.dot(x, w)), borrow=True), T.exp(x)], [(w, w + T.dot(x.T, x))], {"mutable": True}


def several_pieces():
    return [], [T.join(0, x, T.exp(x)), T.set_subtensor(T.tanh(x)[1:], x[:-1] * 2), x[T.arange(3)]], [], {}


def branches():
    w = parameter("w")
    common = T.dot(x, w)
    chosen = ifelse(T.gt(x[0, 0], -1), T.tanh(common) + 1, T.dot(T.exp(x), w.T))
    return [w], [chosen, T.dot(x.T, chosen)], [(w, w - 0.125 * ifelse(x.sum() > 1e9, w, T.dot(x.T, common)))], {}


def blocks():
    """What two conditions may need, and what that needs, which a third one may need alone."""
    first = T.dot(x.T, x)
    second = T.tanh(first) + T.dot(first, first)
    conditions = [T.gt(x[0, 0], -1), T.gt(x[1, 1], -1), T.gt(x[2, 2], 1e9)]
    return [], [ifelse(condition, value * 2, first * 0 if number == 2 else x.T[:, :COLUMNS] + x[:COLUMNS])
                for number, (condition, value) in enumerate(zip(conditions, [second, T.exp(second), first]))], [], {}


def chosen_updates():
    """One shared value changes, one stays, one is overwritten in place by what a branch has chosen."""
    a, b, c = parameter("a"), parameter("b", 2.0), parameter("c", 3.0)
    condition, step = T.gt(x[0, 0], -1), T.dot(x.T, x)
    return [a, b, c], [ifelse(condition, a.sum(), b.sum())], [
        (a, ifelse(condition, a - step, a)), (b, ifelse(condition, b, b * step)),
        (c, c - ifelse(condition, T.tanh(step), step))], {}


LAZY = [branches, blocks, chosen_updates]
PROGRAMS = [descent, momentum, swapped, performed, views, reductions, products, lent_and_mutable, several_pieces]


def argument(rows):
    return np.random.RandomState(rows).rand(rows, COLUMNS) / COLUMNS


class Subject:
    """A compiled program, and what is known of it."""

    def __init__(self, program, allow_gc):
        gc.collect()                                        # functions of other tests
        self.shared, outputs, updates, options = program()
        self.start = [variable.get_value() for variable in self.shared]
        self.function = phintys.function([In(x, **options)], outputs, updates=updates,
                                         mode=phintys.Mode(allow_gc=allow_gc))

    def restore(self):
        for variable, value in zip(self.shared, self.start):
            variable.set_value(value)

    def values(self, rows):
        """(results, shared values) after a call from the start; both are copies."""
        results = [np.array(result) for result in self.function(argument(rows))]
        after = [variable.get_value() for variable in self.shared]
        self.restore()
        return results + after

    def fails(self, rows, error, match, ask=lambda: None):
        """Whether a call fails. If so, nothing may be left over, and shared values must be the same."""
        given = argument(rows)
        before = pool_statistics()["live_buffers"]
        ask()
        try:
            self.function(given)
            return False
        except error as raised:
            assert match in str(raised)
        self.function.free()
        assert pool_statistics()["live_buffers"] == before
        for variable, value in zip(self.shared, self.start):
            np.testing.assert_array_equal(variable.get_value(borrow=True), value)
        return True

    def must_work(self, rows, expected):
        for one, other in zip(self.values(rows), expected):
            np.testing.assert_array_equal(one, other)
        self.function.free()


@pytest.fixture(autouse=True)
def no_faults():
    yield
    fail_allocation(0)


# With other rows each time, a plan is just being made; with the same ones it is used.
@pytest.mark.parametrize("rows_differ", [False, True], ids=["again", "new shapes"])
@pytest.mark.parametrize("allow_gc", MODES)
@pytest.mark.parametrize("program", [*PROGRAMS, *LAZY])
def test_each_allocation_fails_in_turn(program, allow_gc, rows_differ):
    subject, number, failed = Subject(program, allow_gc), 1, True
    while failed:
        rows = 30 + number if rows_differ else 30
        good = rows - 1 if rows_differ else rows
        expected = [subject.values(good) for _ in range(1 if rows_differ else 2)][-1]
        subject.function.free()
        failed = subject.fails(rows, MemoryError, "no memory", lambda: fail_allocation(number))
        assert failed or fail_allocation(0)                 # the program makes fewer allocations
        subject.restore()
        subject.must_work(good, expected)
        number += 1
    assert number > 2


def ready_to_fail(program, allow_gc):
    """(a subject that keeps nothing, what its second call answered, the names of its instructions)."""
    subject = Subject(program, allow_gc)
    expected = [subject.values(30) for _ in range(2)][1]
    subject.function.free()
    return subject, expected, [OPCODES[instruction.op].name for instruction in subject.function.program.instructions()]


@pytest.mark.parametrize("allow_gc", MODES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_each_instruction_fails_in_turn(program, allow_gc):
    subject, expected, names = ready_to_fail(program, allow_gc)
    can_fail = names.index("COMMIT") + 1 if "COMMIT" in names else names.index("HALT")
    for position in range(can_fail):
        subject.function.fail_at(position)
        assert subject.fails(30, RuntimeError, "asked to fail")
        subject.function.fail_at(None)
        subject.must_work(30, expected)
    with pytest.raises(IndexError, match=f"instruction {can_fail} cannot fail"):
        subject.function.fail_at(can_fail)


@pytest.mark.parametrize("allow_gc", MODES)
@pytest.mark.parametrize("program", LAZY)
def test_instructions_in_branches_fail_where_they_are_reached(program, allow_gc):
    subject, expected, names = ready_to_fail(program, allow_gc)
    assert "JUMPZ" in names
    behind_commit = range(names.index("COMMIT") + 1 if "COMMIT" in names else names.index("HALT"),
                          names.index("HALT") + 1)
    failed = []
    for position in set(range(len(names))) - set(behind_commit):
        subject.function.fail_at(position)
        failed.append(subject.fails(30, RuntimeError, "asked to fail"))
        subject.function.fail_at(None)
        subject.restore()
        subject.must_work(30, expected)
    assert True in failed and False in failed


def of_named_results():
    w = parameter("w")
    return [w], {"sum": T.exp(x).sum(axis=0), "all": x + 1.0}, [(w, w + T.dot(x.T, x))], {}


# CPython may be built without its module for tests.
@pytest.mark.parametrize("subset", [False, True], ids=["all results", "a subset"])
@pytest.mark.parametrize("program", [*PROGRAMS, *LAZY, of_named_results])
def test_each_allocation_of_python_fails_in_turn(program, subset):
    """Objects, arrays, lists, as far as they need new memory: not even the list of results may come too late."""
    testcapi = pytest.importorskip("_testcapi")
    subject = Subject(program, True)
    function, given = subject.function, argument(30)
    options = {"output_subset": ["all" if program is of_named_results else 0]} if subset else {}
    for _ in range(2):
        function(given, **options)
        subject.restore()
    number = calls_that_went_well = 0
    while calls_that_went_well < 3:
        function.free()
        before = pool_statistics()["live_buffers"]
        testcapi.set_nomemory(number, number + 1)
        try:
            function(given, **options)
            failed = False
        except (Exception if program is performed else MemoryError):    # what NumPy raises in `perform` is its own
            failed = True
        finally:
            testcapi.remove_mem_hooks()
        number += 1
        calls_that_went_well = 0 if failed else calls_that_went_well + 1
        if failed:
            for variable, value in zip(subject.shared, subject.start):
                np.testing.assert_array_equal(variable.get_value(borrow=True), value)
        subject.restore()
        function.free()
        assert pool_statistics()["live_buffers"] == before
    assert number > 3


def interrupt(number, frame):
    raise KeyboardInterrupt


@pytest.mark.parametrize("in_branch", [False, True], ids=["straight", "in a branch"])
@pytest.mark.parametrize("allow_gc", MODES)
def test_a_long_call_is_interrupted(allow_gc, in_branch):
    w = phintys.shared(np.eye(600), "w")
    value = x
    for _ in range(60):
        value = T.tanh(T.dot(value, w))
    if in_branch:
        value = ifelse(T.gt(x[0, 0], -1), value, x)
    function = phintys.function([x], value, updates=[(w, w + T.dot(x.T, value))], mode=phintys.Mode(allow_gc=allow_gc))
    given = np.random.RandomState(0).rand(600, 600)
    small = np.linspace(0, 1, 600).reshape(1, 600)
    for _ in range(2):
        expected = np.array(function(small))
        w.set_value(np.eye(600))
    function.free()
    live = pool_statistics()["live_buffers"]
    old = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        with pytest.raises(KeyboardInterrupt):
            function(given)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    function.free()
    assert pool_statistics()["live_buffers"] == live
    np.testing.assert_array_equal(w.get_value(borrow=True), np.eye(600))
    np.testing.assert_array_equal(function(small), expected)
    assert function.frames_made == 1
