"""Shared variables between threads: no update is lost, readers see whole updates, no deadlock, forks."""
import os
import signal
import subprocess
import sys
import threading

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys import function, shared

LARGE = 200000          # elements: kernels and commits of this size leave the GIL


def run_threads(*works):
    """Run each function in a separate thread; raise the first error."""
    failures = []

    def guarded(work):
        try:
            work()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads), "threads wait for each other"
    if failures:
        raise failures[0]


def repeated(times, call, *arguments):
    def work():
        for _ in range(times):
            call(*arguments)
    return work


def constant(value):
    """The one number of which an array consists."""
    assert value.min() == value.max(), "a value in the middle of an update"
    return float(value.flat[0])


# (elements, calls in each thread)
SIZES = [((), 2000), ((10,), 2000), ((LARGE,), 30)]


@pytest.mark.parametrize("shape, calls", SIZES)
def test_no_update_is_lost(shape, calls):
    n = shared(numpy.zeros(shape))
    step = function([], updates=[(n, n + 1)])
    run_threads(*[repeated(calls, step)] * 4)
    assert constant(n.get_value()) == 4.0 * calls


@pytest.mark.parametrize("shape, calls", SIZES)
def test_no_update_of_several_functions_is_lost(shape, calls):
    n, m, x = shared(numpy.zeros(shape)), shared(numpy.zeros(shape)), T.dscalar()
    steps = [function([], updates=[(n, n + 1)]), function([], updates=[(m, m + 1), (n, n + 1)]),
             function([x], n.sum(), updates=[(n, n + x), (m, m + x)])]
    run_threads(repeated(calls, steps[0]), repeated(calls, steps[1]), repeated(calls, steps[2], 1.0))
    assert constant(n.get_value()) == 3.0 * calls and constant(m.get_value()) == 2.0 * calls


@pytest.mark.parametrize("shape, calls", SIZES)
def test_readers_see_whole_updates(shape, calls):
    a, b, x = shared(numpy.zeros(shape)), shared(numpy.zeros(shape)), T.dscalar()
    step = function([x], updates=[(a, a + x), (b, b + x)])
    read, difference = function([], [a, b]), function([], abs(a - b).max())
    seen = [0.0]

    def look():
        first, second = map(constant, read())
        assert first == second >= seen[0] and difference() == 0.0
        constant(a.get_value()), constant(b.get_value(borrow=True))
        seen[0] = first

    run_threads(repeated(calls, step, 1.0), repeated(calls, look))
    assert constant(a.get_value()) == constant(b.get_value()) == calls


@pytest.mark.parametrize("shape, calls", SIZES)
def test_values_are_set_between_updates_and_never_inside(shape, calls):
    a, b = shared(numpy.zeros(shape)), shared(numpy.zeros(shape))
    step = function([], b - a, updates=[(a, a + 1), (b, a + 1)])

    def assign():
        a.set_value(numpy.full(shape, 100.0))

    def look():
        constant(a.get_value())
        constant(b.get_value())

    def call():
        constant(step())

    run_threads(repeated(calls, call), repeated(calls, assign), repeated(calls, look))
    assign()
    step()
    assert constant(a.get_value()) == constant(b.get_value()) == 101.0


def test_set_value_of_a_large_array_is_whole():
    a = shared(numpy.zeros(10 * LARGE))
    values = [numpy.full(10 * LARGE, float(number)) for number in range(2)]

    def assign(number):
        a.set_value(values[number])

    run_threads(repeated(20, assign, 0), repeated(20, assign, 1), repeated(40, lambda: constant(a.get_value())),
                repeated(40, function([], a.max() - a.min())))


def test_functions_that_swap_in_opposite_orders_do_not_block_each_other():
    a, b = shared(numpy.zeros(LARGE)), shared(numpy.ones(LARGE))
    run_threads(*[repeated(30, function([], updates=updates)) for updates in ([(a, b), (b, a)], [(b, a), (a, b)])])
    assert {constant(a.get_value()), constant(b.get_value())} == {0.0, 1.0}


def test_failing_calls_change_nothing_and_give_their_claims_up():
    n, x = shared(numpy.zeros(LARGE)), T.dvector()
    step = function([x], updates=[(n, n + x)])

    def fail():
        with pytest.raises(ValueError):
            step(numpy.ones(LARGE - 1))

    run_threads(repeated(20, step, numpy.ones(LARGE)), repeated(20, fail), repeated(20, step, numpy.ones(LARGE)))
    assert constant(n.get_value()) == 40.0


def test_compiling_from_several_threads():
    n = shared(numpy.zeros(100))
    results = []

    def compile_and_call(number):
        x = T.dvector()
        for size in range(1, 6):
            f = function([x], T.exp(x * number).sum() + n.sum() * 0, updates=[(n, n + 1)])
            results.append((float(f(numpy.zeros(size * 10))), size * 10.0))

    run_threads(*[lambda number=number: compile_and_call(number) for number in range(3)])
    assert len(results) == 15 and all(found == expected for found, expected in results)
    assert constant(n.get_value()) == 15.0


class Through(phintys.Op):
    """An op whose ``perform`` calls a function, and then returns its input."""

    __props__ = ("name",)

    def __init__(self, name, call):
        self.name, self.call = name, call

    def make_node(self, x):
        return phintys.Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        self.call()
        output_storage[0][0] = inputs[0].copy()


def test_a_call_inside_a_call_updates_the_same_variable():
    n = shared(numpy.zeros(LARGE))
    inner = function([], updates=[(n, n + 1)])
    x = T.dvector()
    outer = function([x], Through("inner", inner)(x), updates=[(n, n + x)])
    run_threads(*[repeated(10, outer, numpy.ones(LARGE))] * 3)
    assert constant(n.get_value()) == 60.0          # the outer call reads the variable when it adds to it, as in Theano


def test_calls_inside_calls_that_lock_each_other_out_are_told_so():
    a, b, x = shared(numpy.zeros(10), "a"), shared(numpy.zeros(10), "b"), T.dvector()
    inner = {"a": function([], updates=[(a, a + 1)]), "b": function([], updates=[(b, b + 1)])}
    barrier, errors = threading.Barrier(2), []

    def through(name):
        def call():
            barrier.wait(60)
            inner[name]()
        return Through(name, call)

    def guarded(f):
        try:
            f(numpy.ones(10))
        except RuntimeError as error:
            errors.append(str(error))

    first = function([x], through("b")(x), updates=[(a, a + x)])
    second = function([x], through("a")(x), updates=[(b, b + x)])
    run_threads(lambda: guarded(first), lambda: guarded(second))
    assert len(errors) == 1 and "deadlock" in errors[0] and "'a'" in errors[0] and "'b'" in errors[0]
    assert sorted([constant(a.get_value()), constant(b.get_value())]) == [1.0, 1.0]


def test_a_signal_ends_the_waiting_for_another_call():
    n, x = shared(numpy.zeros(10)), T.dvector()
    entered, release = threading.Event(), threading.Event()

    def hold():
        entered.set()
        release.wait(60)

    slow = function([x], Through("hold", hold)(x), updates=[(n, n + x)])
    step = function([], updates=[(n, n + 1)])
    thread = threading.Thread(target=slow, args=(numpy.ones(10),), daemon=True)

    def interrupt(number, frame):
        raise KeyboardInterrupt

    old = signal.signal(signal.SIGALRM, interrupt)
    try:
        thread.start()
        entered.wait(60)
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt):
            step()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
        release.set()
        thread.join(60)
    assert constant(n.get_value()) == 1.0
    step()
    assert constant(n.get_value()) == 2.0


FORK = """
import os, threading
import numpy, phintys
from phintys import function, shared

n, m = shared(numpy.zeros(1000000)), shared(numpy.zeros(1000000))
step = function([], updates=[(n, n + 1), (m, m + 1)])
stop = threading.Event()

def work():
    while not stop.is_set():
        step()

threads = [threading.Thread(target=work, daemon=True) for _ in range(2)]
for thread in threads:
    thread.start()
for _ in range(10):
    child = os.fork()
    if child == 0:
        first, second = n.get_value(), m.get_value()
        whole = first.min() == first.max() == second.min() == second.max()
        step()
        os._exit(0 if whole and (n.get_value() == first + 1).all() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
stop.set()
for thread in threads:
    thread.join()
print("done")
"""


def test_forks_beside_updates_find_whole_values():
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORK], capture_output=True, text=True, timeout=120,
                          env=os.environ)
    assert done.returncode == 0 and done.stdout == "done\n", done.stdout + done.stderr
