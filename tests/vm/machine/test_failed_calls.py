"""A call that failed, wherever it did, leaves its frame clean and for the next call, which makes no new one."""
import signal
import threading

import numpy as np
import pytest

import phintys
import phintys.tensor as T
from phintys import In, Out
from phintys.vm.containers.container import Claimed
from phintys.vm.opcodes import OPCODES
from phintys.vm.pool import fail_allocation, pool_statistics

MODES = [True, False, "plan"]
x, y = T.dmatrix("x"), T.dmatrix("y")


class Perform(phintys.Op):
    """A copy, made by Python code that may do anything."""

    __props__ = ()
    action = None

    def make_node(self, value):
        return phintys.Apply(self, [value], [value.type()])

    def perform(self, node, inputs, output_storage):
        if Perform.action:
            Perform.action()
        output_storage[0][0] = inputs[0].copy()


def harmless():
    Perform.action = None
    fail_allocation(0)


@pytest.fixture(autouse=True)
def harmless_afterwards():
    yield
    harmless()


def raise_it(error):
    def action():
        raise error
    return action


SIZE = 40
rows = T.lvector("rows")


class Subject:
    """A function with values of each kind that a frame has: kept, lent, held, overwritten, planned, stored."""

    def __init__(self, allow_gc):
        self.w = phintys.shared(np.full((SIZE, SIZE), 0.25), "w")
        self.given = np.linspace(0, 1, SIZE * SIZE).reshape(SIZE, SIZE)
        product = T.dot(x, self.w)
        for _ in range(3):
            product = T.tanh(T.dot(product, self.w) + y)
        steps = Perform()(T.exp(product))[rows]
        self.function = phintys.function(
            [In(x, mutable=True), In(y, borrow=True), rows],
            [Out(T.tanh(steps) * 2, borrow=True), Out(steps + 1, borrow=False), product.sum(), y[0]],
            updates=[(self.w, self.w + product.sum())], mode=phintys.Mode(allow_gc=allow_gc))
        self.expected = self.values()

    def call(self, x=None, y=None, rows=(3, 2, 2)):
        """A call with good arguments, unless others are given."""
        return self.function(self.given.copy() if x is None else x, self.given * 0.5 if y is None else y, rows)

    def values(self):
        """Copies of all results and shared values, which start anew."""
        found = [np.array(result) for result in self.call()] + [self.w.get_value()]
        self.w.set_value(np.full((SIZE, SIZE), 0.25))
        return found

    def requests(self):
        """How often a call asks the pool for memory."""
        before = pool_statistics()["requests"]
        self.values()
        return pool_statistics()["requests"] - before


def perform(action):
    def fail(subject):
        Perform.action = action
        subject.call()
    return fail


def no_memory(number):
    def fail(subject):
        subject.function.free()                     # else it may need none
        fail_allocation(number)
        subject.call()
    return fail


# what fails → (the error, how)
FAILURES = {
    "first argument": (TypeError, lambda subject: subject.call(x="text")),
    "second argument": (TypeError, lambda subject: subject.call(y=np.zeros(3))),
    "last argument": (TypeError, lambda subject: subject.call(rows=[0.5])),
    "keywords": (TypeError, lambda subject: subject.function(subject.given, y=subject.given, rows="text")),
    "prepare": (ValueError, lambda subject: subject.call(y=np.zeros((SIZE, SIZE - 1)))),
    "run": (IndexError, lambda subject: subject.call(rows=[0, SIZE])),
    "perform": (ZeroDivisionError, perform(lambda: 1 / 0)),
    "perform is interrupted": (KeyboardInterrupt, perform(raise_it(KeyboardInterrupt()))),
    "perform exits": (SystemExit, perform(raise_it(SystemExit()))),
    "perform has no memory": (MemoryError, perform(raise_it(MemoryError()))),
    "first allocation": (MemoryError, no_memory(1)),
    "fourth allocation": (MemoryError, no_memory(4)),
}


def assert_right(subject):
    for found, expected in zip(subject.values(), subject.expected):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("allow_gc", MODES)
@pytest.mark.parametrize("failure", FAILURES)
def test_the_next_call_is_right_and_as_quick(failure, allow_gc):
    subject = Subject(allow_gc)
    error, fail = FAILURES[failure]
    subject.values()                                # a plan is made for the second call
    usual = subject.requests()
    for _ in range(3):
        with pytest.raises(error):
            fail(subject)
        harmless()
        requests = subject.requests()
        assert "allocation" in failure or requests <= usual + 1     # the error's traceback may hold a value
        assert_right(subject)
    assert subject.function.frames_made == 1


@pytest.mark.parametrize("allow_gc", MODES)
def test_each_instruction_may_fail(allow_gc):
    """And a call that fails may follow one that failed elsewhere."""
    subject = Subject(allow_gc)
    names = [OPCODES[instruction.op].name for instruction in subject.function.program.instructions()]
    positions = range(names.index("COMMIT"))
    for position in [*positions, *reversed(positions)]:
        subject.function.fail_at(position)
        with pytest.raises(RuntimeError, match="asked to fail"):
            subject.call()
        subject.function.fail_at(None)
        if position % 2:
            assert_right(subject)
    assert_right(subject)
    assert subject.function.frames_made == 1


def test_what_was_lent_stays_with_its_user():
    """A chain of values in lent memory that fails half-way: the memory belongs to the user, and the next call knows."""
    index = T.lvector()
    chain = T.exp(x)
    for _ in range(3):
        chain = T.tanh(T.inc_subtensor(chain[index], 1.0))
    function = phintys.function([x, index], Out(chain, borrow=True))
    given = np.linspace(0, 1, SIZE * SIZE).reshape(SIZE, SIZE)
    expected = np.array(function(given, [1]))
    for _ in range(3):
        lent = function(given, [1])
        with pytest.raises(IndexError):
            function(given * 2, [SIZE])
        held = function(given, [1])
        np.testing.assert_array_equal(held, expected)
        np.testing.assert_array_equal(function(given * 3, [1]) * 0 + held, held)
        del lent, held
    assert function.frames_made == 1


class Interrupted(Exception):
    pass


def interrupt(number, frame):
    raise Interrupted


def test_interrupted_while_another_thread_updates():
    subject = Subject(True)
    started, finish = threading.Event(), threading.Event()
    main = threading.get_ident()

    def claim():
        with Claimed([subject.w.container]):
            started.set()
            while not finish.wait(0.05):
                signal.pthread_kill(main, signal.SIGUSR1)

    old = signal.signal(signal.SIGUSR1, interrupt)
    thread = threading.Thread(target=claim)
    try:
        with pytest.raises(Interrupted):
            thread.start()
            started.wait()
            subject.call()
    finally:
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        finish.set()
        thread.join()
        signal.signal(signal.SIGUSR1, old)
    assert_right(subject)
    assert subject.function.frames_made == 1


def test_a_call_inside_a_failing_call():
    """Two frames are in use at a time, and both are kept."""
    subject = Subject(True)

    def action():
        Perform.action = None
        with pytest.raises(ValueError, match="Shape mismatch"):
            subject.call(y=np.zeros((SIZE, SIZE - 1)))
        1 / 0

    for _ in range(3):
        Perform.action = action
        with pytest.raises(ZeroDivisionError):
            subject.call()
        assert_right(subject)
    assert subject.function.frames_made == 2
