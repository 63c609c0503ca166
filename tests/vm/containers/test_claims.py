"""Claims of containers: one thread at a time, in turn, without deadlock, across forks and signals."""
import os
import signal
import subprocess
import sys
import threading

import numpy
import pytest

from phintys.ops.types.tensor_type import TensorType
from phintys.vm.containers.container import Claimed, Container

VECTOR = TensorType("float64", (False,))


class Watched(threading.Thread):
    """A thread whose exception ``finish`` raises again."""

    def __init__(self, work, *arguments):
        super().__init__(daemon=True)
        self.work, self.arguments, self.error = work, arguments, None

    def run(self):
        try:
            self.work(*self.arguments)
        except BaseException as error:
            self.error = error

    def finish(self):
        self.join(60)
        assert not self.is_alive(), "the thread still waits"
        if self.error is not None:
            raise self.error


def started(work, *arguments):
    thread = Watched(work, *arguments)
    thread.start()
    return thread


def containers(*names):
    return [Container(VECTOR, numpy.zeros(1000), name) for name in names]


def waits(thread):
    """Whether the thread does not end by itself soon."""
    thread.join(0.15)
    return thread.is_alive()


def test_a_claimed_container_is_set_by_its_thread_only():
    a, = containers("a")
    with Claimed([a]):
        other = started(a.set, numpy.ones(1000))
        assert waits(other) and a.data[0] == 0.0
        a.set(numpy.full(1000, 2.0))
        assert waits(other) and a.data[0] == 2.0
    other.finish()
    assert a.data[0] == 1.0


def test_claims_nest_in_one_thread():
    a, b = containers("a", "b")
    with Claimed([a, b]):
        with Claimed([b]), Claimed([a, b]):
            pass
        other = started(b.set, numpy.ones(1000))
        assert waits(other)
    other.finish()


def test_a_container_named_twice_is_claimed_once():
    a, = containers("a")
    with Claimed([a, a]):
        pass
    started(a.set, numpy.ones(1000)).finish()


def test_others_do_not_wait():
    a, b = containers("a", "b")
    with Claimed([a]):
        started(b.set, numpy.ones(1000)).finish()
        started(a.get).finish()                     # readers wait for commits only


def test_an_exception_gives_claims_up():
    a, = containers("a")
    with pytest.raises(ZeroDivisionError), Claimed([a]):
        raise ZeroDivisionError
    started(a.set, numpy.ones(1000)).finish()


def test_claims_are_taken_in_one_order_whatever_order_is_asked_for():
    both = containers("a", "b")
    total = [0]

    def work(order):
        for _ in range(200):
            with Claimed(order):
                total[0] += 1

    for thread in [started(work, both), started(work, both[::-1]), started(work, both)]:
        thread.finish()
    assert total == [600]


def test_waiting_threads_come_in_their_order():
    a, = containers("a")
    order = []

    def work(number):
        with Claimed([a]):
            order.append(number)

    with Claimed([a]):
        threads = []
        for number in range(5):
            threads.append(started(work, number))
            assert waits(threads[-1])
    for thread in threads:
        thread.finish()
    assert order == [0, 1, 2, 3, 4]


def test_a_thread_in_a_loop_does_not_keep_others_out():
    a, = containers("a")
    order = []

    def work():
        with Claimed([a]):
            order.append("the one who waited")

    with Claimed([a]):
        thread = started(work)
        assert waits(thread)
    with Claimed([a]):                              # at once, without ever leaving the GIL in between
        order.append("the one who had it before")
    thread.finish()
    assert order == ["the one who waited", "the one who had it before"]


def deadlocked(first, second, barrier, errors):
    with Claimed([first]):
        barrier.wait()
        try:
            with Claimed([second]):
                pass
        except RuntimeError as error:
            errors.append(str(error))


@pytest.mark.parametrize("count", [2, 3, 5])
def test_a_circle_of_waiting_threads_is_named(count):
    ring = containers(*[f"value{number}" for number in range(count)])
    barrier, errors = threading.Barrier(count), []
    threads = [started(deadlocked, ring[number], ring[(number + 1) % count], barrier, errors)
               for number in range(count)]
    for thread in threads:
        thread.finish()
    assert len(errors) == 1 and "deadlock" in errors[0]
    assert all(repr(container.name) in errors[0] for container in ring)


def test_a_signal_ends_the_waiting():
    a, b = containers("a", "b")
    release = threading.Event()

    def hold():
        with Claimed([b]):
            held.set()
            release.wait(60)

    def interrupt(number, frame):
        raise KeyboardInterrupt

    held = threading.Event()
    holder = started(hold)
    held.wait(60)
    old = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt):
            with Claimed([a, b]):
                pass
        started(a.set, numpy.ones(1000)).finish()   # what it had already is free again
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
        release.set()
    holder.finish()
    with Claimed([a, b]):
        pass


def test_a_handler_may_claim_what_the_interrupted_thread_waits_for():
    a, = containers("a")
    held, release, calls = threading.Event(), threading.Event(), []

    def hold():
        with Claimed([a]):
            held.set()
            release.wait(60)

    def handle(number, frame):
        release.set()
        a.set(numpy.ones(1000))
        calls.append(number)

    holder = started(hold)
    held.wait(60)
    old = signal.signal(signal.SIGALRM, handle)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with Claimed([a]):
            assert calls and a.data[0] == 1.0
            other = started(a.set, numpy.zeros(1000))
            assert waits(other)
        other.finish()                              # as many claims as there were calls have been given up
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    holder.finish()


FORK = """
import os, threading
import numpy
from phintys.ops.types.tensor_type import TensorType
from phintys.vm.containers.container import Claimed, Container

mine, theirs = [Container(TensorType("float64", (False,)), numpy.zeros(1000)) for _ in range(2)]
held, release = threading.Event(), threading.Event()

def hold():
    with Claimed([theirs]):
        held.set()
        release.wait(60)

def wait():
    with Claimed([theirs]):
        pass

def still_waits(work, patience=0.3):
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(patience)
    return thread.is_alive()

def set_mine():
    mine.set(numpy.ones(1000))

holder = threading.Thread(target=hold)
holder.start()
held.wait(60)
assert still_waits(wait)
with Claimed([mine]):
    child = os.fork()
    if child == 0:
        with Claimed([mine, theirs]):                       # of the vanished thread, and again its own
            theirs.set(numpy.ones(1000))
        grandchild = os.fork()
        if grandchild == 0:
            assert still_waits(set_mine)                    # still claimed by this thread
            os._exit(0)
        assert os.waitpid(grandchild, 0)[1] == 0
    else:
        assert os.waitpid(child, 0)[1] == 0
assert not still_waits(set_mine, 60)
if child == 0:
    os._exit(0)
release.set()
holder.join()
with Claimed([mine, theirs]):
    pass
assert theirs.data[0] == 0.0
print("done")
"""


def test_a_forked_child_has_only_the_claims_of_its_thread():
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORK], capture_output=True, text=True, timeout=120,
                          env=os.environ)
    assert done.returncode == 0 and done.stdout == "done\n", done.stderr


FORK_BY_A_HANDLER = """
import os, signal, threading
import numpy
from phintys.ops.types.tensor_type import TensorType
from phintys.vm.containers.container import Claimed, Container

theirs = Container(TensorType("float64", (False,)), numpy.zeros(1000))
held, release, children = threading.Event(), threading.Event(), []

def hold():
    with Claimed([theirs]):
        held.set()
        release.wait(60)

def handle(number, frame):
    children.append(os.fork())
    if children[0]:
        release.set()

holder = threading.Thread(target=hold, daemon=True)
holder.start()
held.wait(60)
signal.signal(signal.SIGALRM, handle)
signal.setitimer(signal.ITIMER_REAL, 0.1)
with Claimed([theirs]):
    theirs.set(numpy.ones(1000))
if children[0] == 0:
    os._exit(3)
assert os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 3
print("done")
"""


def test_a_child_that_a_handler_forked_goes_on_waiting_for_nobody():
    """The thread that had the claim is not in the child, so nobody hands it over."""
    done = subprocess.run([sys.executable, "-c", FORK_BY_A_HANDLER], capture_output=True, text=True, timeout=120)
    assert done.stdout == "done\n", done.stderr
