"""Code that runs when a reference is dropped: callbacks of weak references, and ``__del__``.

The table has every place where phintys releases memory or an object that others may refer to: variables that
are set or updated, cells that are emptied, results, frames, containers. At each of them the code reads and sets the
variables, calls the very function that is running, frees its frames, raises. It never sees half a commit, nothing
that is kept changes, and no update is lost: a call whose update would undo another one raises and changes nothing.
"""
import gc
import sys
import threading
import weakref

import numpy as np
import pytest

import phintys
import phintys.tensor as T
from phintys import In, Out, function, shared
from phintys.graph.type import generic

SMALL, LARGE = 3, 300_000               # elements; the commit of large values leaves the GIL


class Memory(bytearray):
    """Memory of an array, whose end calls something."""

    def __del__(self):
        self.at_end()


class Ends:
    """An object whose end calls something."""

    def __init__(self, at_end):
        self.at_end = at_end

    def __del__(self):
        self.at_end()


class Performs(phintys.Op):
    """Calls ``work`` with its input; the output is its result."""

    __props__ = ()

    def __init__(self, work, type_=None):
        self.work, self.type = work, type_

    def make_node(self, *inputs):
        return phintys.Apply(self, list(inputs), [(self.type or T.dvector)()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = self.work(*inputs)


class World:
    """Two variables of which the second is always twice the first, and functions that keep it so."""

    def __init__(self, size):
        self.size = size
        self.u, self.v, self.w = [shared(np.zeros(size), name) for name in "uvw"]
        self.steps, self.seen, self.kept, self.action, self.references, self.others = 0, 0, [], None, [], []
        x = T.dvector("x")
        self.updates = [(self.u, self.u + 1), (self.v, self.v + 2)]
        self.step = function([], updates=self.updates)
        self.read = function([], [self.u[:1], self.v[:1], self.u[-1:], self.v[-1:]])
        self.with_argument = function([x], x.sum(), updates=self.updates)

    def zeros(self):
        """An array with separate memory; freeing it runs the callback."""
        array = np.zeros(self.size)
        self.references.append(weakref.ref(array, self.callback))
        return array

    def foreign_zeros(self):
        """An array in the memory of something else, whose end runs the callback."""
        memory = Memory(self.size * 8)
        memory.at_end = self.callback
        return np.frombuffer(memory)

    def callback(self, reference=None):
        self.seen += 1
        for variable in self.others:
            assert np.size(variable.get_value(borrow=True)) == 1
        if self.action is not None and self.seen < 5:
            self.action(self)

    def call(self, called, *arguments, **named):
        """Call a function that makes a step, or refuses to undo one."""
        try:
            result = called(*arguments, **named)
        except RuntimeError as error:
            assert "inside this call" in str(error) and ("'u'" in str(error) or "'v'" in str(error))
            return None
        self.steps += 1
        return result

    def lend(self):
        """Let both variables use memory that is watched, and hold their values."""
        for variable in (self.u, self.v):
            memory = self.foreign_zeros()
            memory[:] = variable.get_value(borrow=True)
            variable.set_value(memory, borrow=True)

    def check(self):
        values = [float(value[0]) for value in self.read()]
        assert values == [self.steps, 2 * self.steps] * 2
        for array, copy in self.kept:
            assert (array == copy).all()


# ---- places ----------------------------------------------------------------------------------------------------------
def set_value(world):
    world.lend()
    for variable in (world.u, world.v):
        variable.set_value(variable.get_value())


def set_value_to_lent_memory(world):
    world.lend()
    world.lend()


def set_numbers(world):
    number = shared(np.array(0.0))
    world.others.append(number)
    for _ in range(2):
        memory = Memory(8)
        memory.at_end = world.callback
        number.set_value(np.frombuffer(memory).reshape(()), borrow=True)
        del memory
    number.set_value(1.0)


def set_objects(world):
    thing = shared([1])
    world.others.append(thing)
    for _ in range(2):
        thing.set_value(Ends(world.callback), borrow=True)
    thing.set_value([1])


def set_through_the_container(world):
    world.lend()
    for variable in (world.u, world.v):
        variable.container.value = variable.get_value()


def store(world):
    world.lend()
    world.call(world.step)


def store_one_of_two(world):
    """The first is overwritten where it stands, the second gets other memory."""
    world.u.set_value(world.u.get_value())
    memory = world.foreign_zeros()
    memory[:] = world.v.get_value(borrow=True)
    world.v.set_value(memory, borrow=True)
    del memory
    world.call(world.step)


def store_objects(world):
    thing = shared([1])
    world.others.append(thing)
    thing.set_value(Ends(world.callback), borrow=True)
    replace = function([], updates=[(thing, Performs(lambda: 5, generic)()), *world.updates])
    world.call(replace)


def store_what_an_op_made(world):
    w = shared(np.zeros(world.size))
    replace = function([], updates=[(w, Performs(world.zeros)()), *world.updates])
    for _ in range(2):
        world.call(replace)
    w.set_value(np.zeros(1))


def pinned_value_before_the_commit(world):
    world.w.set_value(world.foreign_zeros(), borrow=True)

    def replace():
        world.w.set_value(np.zeros(world.size))
        return np.zeros(1)

    called = function([], Performs(replace)() + world.w.sum(), updates=world.updates)
    world.call(called)


def pinned_value_in_the_commit(world):
    world.w.set_value(world.foreign_zeros(), borrow=True)

    def replace():
        world.w.set_value(np.zeros(world.size))
        return np.zeros(1)

    called = function([], Performs(replace)(),
                            updates=[(world.u, world.u + 1 + world.w), (world.v, world.v + 2 + world.w)])
    world.call(called)


def output_of_an_op(world):
    world.call(function([], Performs(world.zeros)().sum(), updates=world.updates))


def output_of_an_op_that_is_copied(world):
    world.call(function([], Performs(world.foreign_zeros)().sum(), updates=world.updates))


def output_of_an_op_in_the_commit(world):
    made = Performs(world.zeros)()
    world.call(function([], updates=[(world.u, world.u + 1 + made), (world.v, world.v + 2 + made)]))


def output_of_an_op_in_a_branch(world):
    made = T.switch(0, 0, Performs(world.zeros)())
    condition = T.iscalar()
    chosen = phintys.ifelse.ifelse(condition, made.sum(), made.max())
    world.call(function([condition], chosen, updates=world.updates), 1)


def output_of_an_op_that_is_a_result(world):
    result = world.call(function([], Performs(world.zeros)()[:3], updates=world.updates))
    assert result is None or (result == 0).all()


def output_of_an_op_that_is_lent(world):
    called = function([], Out(Performs(world.zeros)(), borrow=True), updates=world.updates)
    for _ in range(2):
        world.call(called)
    called.free()


def object_made_by_an_op(world):
    made = Performs(lambda: Ends(world.callback), generic)()
    length = Performs(lambda thing: np.zeros(1))(made)
    world.call(function([], length, updates=world.updates))


def object_argument(world):
    thing = generic("thing")
    called = function([thing], Performs(lambda thing: np.zeros(1))(thing), updates=world.updates)
    world.call(called, Ends(world.callback))
    gc.collect()


def mutable_argument(world):
    x = T.dvector("x")
    world.call(function([In(x, mutable=True)], T.exp(x).sum(), updates=world.updates), world.zeros())


def argument_by_name(world):
    world.call(world.with_argument, x=world.zeros())


def argument_that_is_converted(world):
    array = np.zeros(world.size, "float32")
    world.references.append(weakref.ref(array, world.callback))
    world.call(world.with_argument, array)
    del array


def failing_call(world):
    made = Performs(world.zeros)()

    def fail(value):
        raise ArithmeticError("on purpose")

    with pytest.raises(ArithmeticError):
        function([], Performs(fail)(made * 2) + made, updates=world.updates)()


def failing_call_with_an_object(world):
    made = Performs(lambda: Ends(world.callback), generic)()

    def fail(value):
        raise ArithmeticError("on purpose")

    with pytest.raises(ArithmeticError):
        function([], Performs(fail)(made), updates=world.updates)()


def small_result_that_was_dropped(world):
    called = function([], world.w[:3] * 2, updates=world.updates)
    for _ in range(3):
        result = world.call(called)
        if result is not None:
            world.references.append(weakref.ref(result, world.callback))
        del result
    del called
    gc.collect()


def lent_result_that_was_dropped(world):
    x = T.dvector()
    called = function([x], Out(x * 2, borrow=True), updates=world.updates)
    for size in (500, 600, 700):
        result = world.call(called, np.ones(size))
        if result is not None:
            world.references.append(weakref.ref(result, world.callback))
        del result
    del called
    gc.collect()


def function_that_ends(world):
    called = function([], Out(Performs(world.zeros)(), borrow=True), updates=world.updates)
    world.call(called)
    del called
    gc.collect()


def container_that_ends(world):
    shared(world.foreign_zeros(), borrow=True)
    shared([1]).set_value(Ends(world.callback), borrow=True)
    gc.collect()


PLACES = [
    set_value, set_value_to_lent_memory, set_numbers, set_objects, set_through_the_container, store, store_one_of_two,
    store_objects, store_what_an_op_made, pinned_value_before_the_commit, pinned_value_in_the_commit, output_of_an_op,
    output_of_an_op_that_is_copied, output_of_an_op_in_the_commit, output_of_an_op_in_a_branch,
    output_of_an_op_that_is_a_result, output_of_an_op_that_is_lent, object_made_by_an_op, object_argument,
    mutable_argument, argument_by_name, argument_that_is_converted, failing_call, failing_call_with_an_object,
    small_result_that_was_dropped, lent_result_that_was_dropped, function_that_ends, container_that_ends,
]
WITHOUT_CLAIMS = [set_value, set_value_to_lent_memory, set_numbers, set_objects, set_through_the_container, store,
                  store_one_of_two, store_objects, pinned_value_in_the_commit, output_of_an_op_in_the_commit]


# ---- what the callbacks do -------------------------------------------------------------------------------------------
def read(world):
    u, v = world.u.get_value(), world.v.get_value()
    world.halves = world.halves or not (v == 2 * u).all()


def read_by_a_call(world):
    u, v, *_ = world.read()
    world.halves = world.halves or v[0] != 2 * u[0]


def borrow(world):
    u, v = world.u.get_value(borrow=True), world.v.get_value(borrow=True)
    world.halves = world.halves or not (v == 2 * u).all()
    world.kept += [(array, array.copy()) for array in (u, v)]


def call_the_same(world):
    world.call(world.step)


def set_both(world):
    values = world.u.get_value() + 1, world.v.get_value() + 2
    world.u.set_value(values[0])
    world.v.set_value(values[1], borrow=True)
    world.steps += 1


def free(world):
    world.step.free()
    world.read.free()
    phintys.vm.pool.trim_pool()
    gc.collect()


def fail(world):
    raise ZeroDivisionError("in a callback")


ACTIONS = [read, read_by_a_call, borrow, call_the_same, set_both, free, fail]


@pytest.fixture(scope="module", params=[SMALL, LARGE], ids=["small", "large"])
def world(request):
    return World(request.param)


def start(world, action):
    world.action, world.halves = None, False
    world.kept.clear()
    world.others.clear()
    for variable in (world.u, world.v, world.w):
        variable.set_value(np.zeros(world.size))
    world.steps = world.seen = 0
    world.action = action


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.__name__)
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_every_place_where_references_are_dropped(world, place, action, monkeypatch):
    raised = []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: raised.append(what.exc_type))
    start(world, action)
    place(world)
    gc.collect()
    assert world.seen and not world.halves
    assert set(raised) == ({ZeroDivisionError} if action is fail else set())
    world.action = None
    world.check()
    world.call(world.step)
    world.check()


@pytest.mark.parametrize("place", WITHOUT_CLAIMS, ids=lambda place: place.__name__)
def test_another_thread_can_update_meanwhile(world, place):
    """What a variable had is let go of when the claims have been given up."""
    finished = []

    def update_in_a_thread(world):
        thread = threading.Thread(target=world.call, args=(world.step,), daemon=True)
        thread.start()
        thread.join(20)
        finished.append(not thread.is_alive())

    start(world, update_in_a_thread)
    place(world)
    gc.collect()
    assert finished and all(finished)
    world.check()
