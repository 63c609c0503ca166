"""One function called from several threads, from both sides of a fork, and interrupted."""
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import phintys
import phintys.tensor as T


def run_threads(work, count=4):
    failures = []

    def guarded(number):
        try:
            work(number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def test_threads_share_a_function():
    x = T.matrix()
    f = phintys.function([x], [T.dot(x, x.T).sum(), T.exp(x) + x])

    def work(number):
        for size, rounds in ((3, 60), (40, 20), (200, 4)):          # an emulator needs a second for a round of the last
            value = np.random.RandomState(number).rand(size, size)
            for _ in range(rounds):
                total, other = f(value)
                np.testing.assert_allclose(total, value.dot(value.T).sum())
                np.testing.assert_allclose(other, np.exp(value) + value)

    run_threads(work)


def test_memory_is_given_back_while_threads_call():
    """By all that keeps some: frames, loops, recorded calls, plans, and the functions that run under a limit."""
    x, v, w = T.dmatrix("x"), T.dvector("v"), T.dmatrix("w")
    hidden = T.tanh(T.dot(T.tanh(T.dot(T.tanh(T.dot(x, w)), w)), w))
    rows, _ = phintys.scan(lambda s, w: T.tanh(T.dot(w, s)), outputs_info=[v], non_sequences=[w], n_steps=12)
    functions = []
    for allow_gc in (True, False, "plan"):
        mode = phintys.Mode(allow_gc=allow_gc)
        functions += [phintys.function([x, w], [T.grad((hidden ** 2).sum(), w), hidden[1:, ::2] * 2], mode=mode),
                      phintys.function([x, v, w], [rows[-1], T.grad(rows.sum(), v), x.sum(axis=0)], mode=mode)]
        assert functions[-1].repeat_calls() == (allow_gc != "plan")
    with phintys.change_flags(memory_limit=40_000):
        functions.append(phintys.function([x, w], T.grad((hidden ** 2).sum(), w)))
    chance = np.random.RandomState(0)
    given = [(chance.randn(length, 12), chance.randn(12), chance.randn(12, 12) / 4) for length in (3, 40, 400)]
    calls = [(f, (values[0], values[2]) if len(f.argument_types) == 2 else values)
             for f in functions for values in (given[:2] if f is functions[-1] else given)]
    wanted = [f(*values) for f, values in calls]
    working = threading.Barrier(4 + 1)

    def give_back():
        while working.n_waiting < 4:
            phintys.memory.trim()
        working.wait()

    def work(number):
        if number == 4:
            give_back()
            return
        try:
            for index in list(range(len(calls))) * 4 + [number]:
                f, values = calls[(index + number * 5) % len(calls)]
                for _ in range(4):
                    for got, expected in zip(f(*values), wanted[(index + number * 5) % len(calls)]):
                        np.testing.assert_array_equal(got, expected)
        finally:
            working.wait()

    run_threads(work, 5)


def test_a_failing_thread_does_not_disturb_others():
    x, y = T.vectors("x", "y")
    f = phintys.function([x, y], x + y)

    def work(number):
        for _ in range(200):
            if number % 2:
                try:
                    f(np.ones(3), np.ones(4))
                except ValueError:
                    continue
                raise AssertionError("no error")
            np.testing.assert_array_equal(f(np.ones(3), np.ones(3)), np.full(3, 2.0))

    run_threads(work)


def test_readers_beside_a_writer_see_whole_values():
    s = phintys.shared(np.zeros(20000))
    step = phintys.function([], updates=[(s, s + 1)])
    read = phintys.function([], s * 1)

    def work(number):
        for _ in range(100):
            if number == 0:
                step()
            else:
                value = read()
                assert value.min() == value.max()

    run_threads(work)
    assert s.get_value()[0] == 100


def test_a_signal_stops_a_long_call_which_then_changes_nothing():
    v = z = T.vector("v")
    for _ in range(60):
        z = T.sin(T.exp(-z)) + z.sum()
    s = phintys.shared(0.0)
    f = phintys.function([v], z, updates=[(s, s + 1)])

    def interrupt(number, frame):
        raise KeyboardInterrupt

    old = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            f(np.ones(3000000))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert s.get_value() == 0.0
    assert f(np.ones(3)).shape == (3,) and s.get_value() == 1.0


FORK = """
import os, numpy as np
import phintys, phintys.tensor as T
from phintys.vm.workers import workers_started
x = T.vector()
with phintys.change_flags(workers=2):
    f = phintys.function([x], T.exp(T.tanh(x)))
    g = phintys.function([x], T.dot(T.exp(x)[::-1] * 2, T.sin(x)))      # has values to keep, or an arena
value = np.linspace(-1, 1, 2000000)
expected = np.exp(np.tanh(value))
np.testing.assert_allclose(f(value), expected)
product = [g(value) for _ in range(2)][1]
assert workers_started() == 1, workers_started()
child = os.fork()
for _ in range(3):
    np.testing.assert_allclose(f(value), expected)
    np.testing.assert_allclose(g(value), product)
if child == 0:
    os._exit(0)
_, status = os.waitpid(child, 0)
assert status == 0, status
print("both called")
"""

TEARDOWN = """
import atexit, sys
import numpy as np
import phintys, phintys.tensor as T
x = T.vector()
f = phintys.function([x], x + 1)
kept = f(np.zeros(100000))
sys.keep_until_the_end = kept, f
atexit.register(lambda: print(f(np.zeros(3))[0], kept.sum()))
"""


def run_script(text, flags=""):
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "OMP_NUM_THREADS": "",
                               "PHINTYS_FLAGS": ",".join([os.environ.get("PHINTYS_FLAGS", ""), flags])})


@pytest.mark.parametrize("allow_gc", [True, False, "plan"])
def test_both_processes_can_call_after_a_fork(allow_gc):
    done = run_script(FORK, f"allow_gc={allow_gc}")
    assert done.returncode == 0 and "both called" in done.stdout, done.stderr


def test_arrays_and_functions_live_until_the_interpreter_ends():
    done = run_script(TEARDOWN)
    assert done.returncode == 0 and done.stdout == "1.0 0.0\n".replace("0.0", "100000.0"), done.stdout + done.stderr
    assert not done.stderr
