"""Calls of many short kernels: signals are looked at in their midst, and other threads get their turn."""
import gc
import signal
import threading
import time
from collections import deque
from itertools import repeat

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.ifelse import ifelse
from phintys.vm.machine.interpreter import take_turns

MANY = 400                  # short kernels in a program
CALLS = 100_000             # more than a test ever makes: it ends when the signal or the other thread has come

x, c = T.dvector("x"), T.iscalar("c")


class Interrupted(Exception):
    pass


@pytest.fixture(autouse=True)
def turns_at_once():
    """The clock is asked as ever, but no time needs to pass."""
    take_turns(0.0)
    yield
    take_turns()


def chain(value, count=MANY):
    for _ in range(count):
        value = T.cumsum(value)
    return value


def straight():
    return chain(x)


def straight_with_updates_after():
    return chain(x) * 2.0


def in_branches():
    """Each branch is much shorter than what lies between two marks of straight code."""
    value = x
    for _ in range(MANY):
        value = ifelse(c, T.cumsum(value), T.cumsum(value[::-1]))
    assert phintys.function([x, c], value).explain("instructions").count(" JUMPZ ") == MANY
    return value


def call_until(f, *arguments):
    """Call again and again without any Python code between the calls, where Python would look at signals."""
    deque(map(f, *[repeat(argument, CALLS) for argument in arguments]), maxlen=0)


def interrupt_soon(work):
    def interrupt(number, frame):
        raise Interrupted

    before = signal.signal(signal.SIGALRM, interrupt)
    gc.disable()                # what is raised in a callback of the collector, hypothesis has one, is lost
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    try:
        work()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        gc.enable()
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("build", [straight, straight_with_updates_after, in_branches])
@pytest.mark.parametrize("allow_gc", [True, False, "plan"])
def test_a_signal_stops_a_call_of_short_kernels_which_then_changes_nothing(build, allow_gc):
    count, s = phintys.shared(0), phintys.shared(numpy.zeros(3))
    f = phintys.function([x, c], build(), updates=[(count, count + 1), (s, s + x)], on_unused_input="ignore",
                         mode=phintys.Mode(allow_gc=allow_gc))
    zeros = numpy.zeros(3)
    with pytest.raises(Interrupted):
        interrupt_soon(lambda: call_until(f, zeros, numpy.int32(1)))
    done = int(count.get_value())
    assert done < CALLS and (s.get_value() == 0).all()
    result = f(zeros, 1)
    assert (result == 0).all() and count.get_value() == done + 1


def test_the_signal_is_noticed_in_the_first_call_too():
    """Before any kernel is bound to its shapes: each call has other ones."""
    f = phintys.function([x], straight())
    arrays = [numpy.zeros(size) for size in range(1, 200)]
    with pytest.raises(Interrupted):
        interrupt_soon(lambda: deque(map(f, arrays * (CALLS // len(arrays))), maxlen=0))


def test_another_thread_gets_its_turn():
    calls = phintys.shared(0)
    f = phintys.function([x], straight(), updates=[(calls, calls + 1)])

    def stop_main_thread():
        while calls.get_value() < 3:                # sees it only if it runs while the main thread is in its calls
            time.sleep(0.001)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGALRM)

    def interrupt(number, frame):
        raise Interrupted

    other = threading.Thread(target=stop_main_thread)
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with pytest.raises(Interrupted):
            other.start()
            call_until(f, numpy.zeros(3))
    finally:
        other.join()
        signal.signal(signal.SIGALRM, before)
    assert 3 <= calls.get_value() < CALLS


def test_a_commit_of_short_kernels_is_never_stopped():
    """The signal is pending all the time; updates appear together or not at all."""
    variables = [phintys.shared(numpy.zeros(4)) for _ in range(200)]
    f = phintys.function([], updates=[(variable, T.inc_subtensor(variable[1:3], 1.0)) for variable in variables])
    assert f.explain("instructions").count("RUN ") >= 100
    with pytest.raises(Interrupted):
        interrupt_soon(lambda: [f() for _ in range(CALLS)])
    assert len({variable.get_value()[1] for variable in variables}) == 1
