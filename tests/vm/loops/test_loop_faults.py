"""Faults in loops: each instruction of a body fails in the first, the second and the last step, and each allocation.

What must follow is the same each time: an exception that names the step, no lost buffer and no lost reference, shared
variables as they were, and a function that computes the right values when it is called again.
"""
import gc
import signal
import sys
import time

import numpy
import pytest
from python_op import Doubled

import phintys
import phintys.tensor as T
from phintys.ifelse import ifelse
from phintys.scan_module import until
from phintys.vm.loops.loop_kernel import loops_in
from phintys.vm.pool import fail_allocation, pool_statistics

MODES = [True, False, "plan"]
STEPS, WIDTH = 5, 20                                # rows of 160 bytes: they have buffers
x = T.dmatrix("x")


def parameter(name, *shape):
    return phintys.shared(numpy.linspace(-0.5, 0.5, int(numpy.prod(shape))).reshape(shape), name)


# Each returns shared variables, outputs, updates.
def network():
    """All rows, with the gradient by the weights: states, stacked rows, and rows that run backwards."""
    w = parameter("w", WIDTH, WIDTH)
    states, _ = phintys.scan(lambda row, state: T.tanh(T.dot(state, w) + row), x, T.zeros((WIDTH,)))
    return [w], [states], [(w, w - T.grad((states ** 2).sum(), w))]


def taps_and_last_rows():
    """Rings of rows, and rows that are not fed back; only the last are kept."""
    total = parameter("total", WIDTH)
    (states, rows), _ = phintys.scan(lambda row, third, first: [T.sin(third + first[::-1]) + row, row * first], x,
                                     [dict(initial=x[:3], taps=[-3, -1]), None])
    return [total], [states[-2:], rows[-1]], [(total, total + rows[-1])]


def carried_sums():
    """Terms that are added up in the loop; one state is overwritten in part."""
    w = parameter("w", WIDTH)
    states, _ = phintys.scan(lambda row, state: T.set_subtensor(state[3], (row * w).sum()) * w, x, T.ones((WIDTH,)))
    return [w], T.grad(T.exp(states).sum(), [x, w]), [(w, w * 2)]


def updated_inside():
    """A shared variable that each step changes, and a condition that ends the loop in the last step."""
    count = phintys.shared(numpy.float64(0), "count")
    rows, updates = phintys.scan(lambda row, state: ([T.tanh(state) + row], {count: count + 1},
                                                     until(count >= STEPS - 1)), x, T.zeros((WIDTH,)))
    return [count], [rows], updates


def performed():
    w = parameter("w", WIDTH)
    rows, _ = phintys.scan(lambda row, state: Doubled()(T.exp(row)) + Doubled()(state) * w, x, T.zeros((WIDTH,)))
    return [w], [rows], [(w, rows[-1])]


def nested():
    w = parameter("w", WIDTH)

    def step(row, state):
        inner, _ = phintys.scan(lambda state, row: T.tanh(state + row * w), outputs_info=state, non_sequences=row,
                                n_steps=4, name="inner")
        return inner[-1] + inner.sum(axis=0)

    rows, _ = phintys.scan(step, x, T.zeros((WIDTH,)), name="outer")
    return [w], [rows], [(w, w - T.grad(rows.sum(), w))]


def branches():
    w = parameter("w", WIDTH)

    def step(row, state):
        return ifelse(row[0] > 0.5, T.tanh(state) + row[::-1], T.exp(state * w).sum() * w)

    rows, _ = phintys.scan(step, x, T.zeros((WIDTH,)))
    return [w], [rows], [(w, rows[-1])]


STRAIGHT = [network, taps_and_last_rows, carried_sums, updated_inside, performed, nested]
PROGRAMS = [*STRAIGHT, branches]


class Subject:
    """A function with loops, and what it computes."""

    def __init__(self, program, allow_gc):
        gc.collect()                                # functions of other tests
        self.shared, outputs, updates = program()
        self.start = [variable.get_value() for variable in self.shared]
        self.argument = numpy.random.RandomState(0).rand(STEPS, WIDTH)
        with phintys.change_flags(allow_gc=allow_gc):
            self.function = phintys.function([x], outputs, updates=updates)
        self.wanted = [self.values() for _ in range(2)][1]
        self.function.free()
        self.references = sys.getrefcount(self.argument)

    def values(self):
        results = [numpy.array(result) for result in self.function(self.argument)]
        after = [variable.get_value() for variable in self.shared]
        for variable, value in zip(self.shared, self.start):
            variable.set_value(value)
        return results + after

    def failed(self, error, ask):
        """The message of a call that fails after ``ask``, or None; nothing may be left over."""
        before = pool_statistics()["live_buffers"]
        ask()
        try:
            self.function(self.argument)
            message = None
        except error as raised:
            message = str(raised)
        if message is not None:
            self.function.free()
            assert pool_statistics()["live_buffers"] == before
            references = sys.getrefcount(self.argument)             # pytest keeps what `assert` computes
            assert references == self.references
            for variable, value in zip(self.shared, self.start):
                numpy.testing.assert_array_equal(variable.get_value(borrow=True), value)
        return message

    def must_work(self):
        for one, other in zip(self.values(), self.wanted):
            numpy.testing.assert_array_equal(one, other)
        self.function.free()


@pytest.fixture(autouse=True)
def no_faults():
    yield
    fail_allocation(0)


def instructions_before_halt(kernel):
    return [instruction.name for instruction in kernel.program.symbolic()].index("HALT")


@pytest.mark.parametrize("allow_gc", MODES)
@pytest.mark.parametrize("program", STRAIGHT)
def test_each_instruction_of_the_bodies_fails_in_turn(program, allow_gc):
    subject = Subject(program, allow_gc)
    loops = loops_in(subject.function.program)
    assert loops
    for kernel in loops:
        for position in range(instructions_before_halt(kernel)):
            for step in (0, 1, STEPS - 1 if program is not nested else 2):
                message = subject.failed(RuntimeError, lambda: kernel.fail_at(position, step))
                assert "asked to fail" in message and f"in step {step} of " in message
                kernel.fail_at(None)
                subject.must_work()
        with pytest.raises(IndexError, match="cannot fail"):
            kernel.fail_at(instructions_before_halt(kernel))


@pytest.mark.parametrize("allow_gc", MODES)
def test_instructions_in_branches_of_a_body_fail_where_they_are_reached(allow_gc):
    subject = Subject(branches, allow_gc)
    kernel, = loops_in(subject.function.program)
    failed = []
    for position in range(instructions_before_halt(kernel)):
        for step in (0, 1, STEPS - 1):
            failed.append(subject.failed(RuntimeError, lambda: kernel.fail_at(position, step)))
            kernel.fail_at(None)
            if failed[-1] is None:
                subject.values()                    # it did not fail; shared variables are what they were at first
            subject.must_work()
    assert None in failed and any(failed)


def test_an_error_in_a_nested_loop_names_both_steps():
    subject = Subject(nested, True)
    inner = [kernel for kernel in loops_in(subject.function.program) if "inner}" in str(kernel.arguments)
             and "grad" not in str(kernel.arguments)][0]
    message = subject.failed(RuntimeError, lambda: inner.fail_at(0, 9))         # four steps in each of the outer loop
    assert "in step 1 of for{cpu,inner}" in message and "in step 2 of for{cpu,outer" in message


@pytest.mark.parametrize("allow_gc", MODES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_each_allocation_fails_in_turn(program, allow_gc):
    subject, number = Subject(program, allow_gc), 0
    while True:
        number += 1
        message = subject.failed(MemoryError, lambda: fail_allocation(number))
        if message is None:
            break
        assert "no memory" in message and fail_allocation(0) is not True
        subject.must_work()
    fail_allocation(0)
    assert number > 2


@pytest.mark.parametrize("body", [lambda state: state * 0.5 + 1, lambda state: Doubled()(state) * 0.5])
def test_an_interrupt_stops_a_long_loop_at_once(body):
    """Ctrl-C takes effect within 0.2 s, and shared variables keep their values."""
    n, total = T.lscalar(), phintys.shared(numpy.zeros(3), "total")
    rows, _ = phintys.scan(body, outputs_info=T.zeros((3,)), n_steps=n)
    function = phintys.function([n], rows[-1], updates=[(total, total + rows[-1])])
    asked = []

    def interrupt(number, frame):
        asked.append(time.perf_counter())
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.03)
        with pytest.raises(KeyboardInterrupt):
            function(10 ** 12)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(asked) == 1 and not total.get_value().any()
    assert function(2).shape == (3,)
