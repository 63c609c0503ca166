"""Shared variables whose value several processes see: what the chapters on shared variables and on borrowing say of
them, with two processes, of each kind of home. The other one runs lines of Python, with the variable as ``w``."""
import copy
import os
import pickle
import subprocess
import sys
import threading
from types import SimpleNamespace

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys import function, shared
from phintys.distributed import DaskActor, MPIWindow, SharedMemory
from tests.support import mpi, other_process
from tests.support.loopback import skip_without_loopback

HOMES = os.environ.get("HOMES_OF_TESTS", "memory actor").split()


class Elsewhere:
    """A kind of home, and another process that knows it."""

    def __init__(self, kind):
        if kind == "actor":
            distributed = pytest.importorskip("distributed")
            skip_without_loopback()
        self.kind, self.other = kind, other_process.OfMPI() if kind == "window" else other_process.Other()
        self.calls = 20 if kind == "actor" else 300             # a call that updates takes milliseconds there
        if kind == "actor":
            self.cluster = distributed.LocalCluster(n_workers=1, processes=False, protocol="tcp://",
                                                    dashboard_address=None)
            self.client = distributed.Client(self.cluster)
            address = self.client.scheduler.address
            self.other("import distributed; client = distributed.Client(address); 0", address=address)

    def target(self):
        """A new home."""
        if self.kind != "window":
            return DaskActor(self.client) if self.kind == "actor" else self.kind
        self.other.begin("place = phintys.distributed.MPIWindow(10_000); 0")
        place = MPIWindow(10_000)
        self.other.answer()
        return place

    def close(self):
        if self.kind == "actor":
            self.other("client.close(); 0")
            self.client.close()
            self.cluster.close()
        self.other.close()


@pytest.fixture(scope="module", params=HOMES)
def elsewhere(request):
    made = Elsewhere(request.param)
    yield made
    made.close()


@pytest.fixture
def other(elsewhere):
    return elsewhere.other


@pytest.fixture
def w(elsewhere):
    made = shared(numpy.arange(3.0), "w", target=elsewhere.target())
    elsewhere.other("None", w=made)
    return made


starts_mpi = pytest.mark.skipif(HOMES == ["window"], reason="it starts this")


@starts_mpi
@pytest.mark.parametrize("way", ["here", "openmpi", pytest.param("machines", marks=pytest.mark.long)])
def test_in_a_window_of_mpi(way):
    """The other tests of this file, in process 0 of two."""
    settings = mpi.WINDOWS if way == "machines" else {}
    run = mpi.run(way, 2, other_process.__file__, __file__, HOMES_OF_TESTS="window", **settings)
    assert run.returncode == 0 and run.stdout.count(".") > 20, run.stdout + run.stderr


@starts_mpi
@pytest.mark.parametrize("rank", [0, 1])
def test_lengths_of_windows_are_looked_at_in_all_processes(rank):
    """Before MPI is asked: processes that found no fault would wait for those that did."""
    with pytest.raises(TypeError, match="'str' object cannot be interpreted as an integer"):
        MPIWindow("many", comm=SimpleNamespace(rank=rank))


def test_a_library_that_makes_no_windows():
    """Open MPI 4 over a network."""
    found = mpi.run("machines", 2, "-c", """
import phintys
try:
    phintys.distributed.MPIWindow(10)
except RuntimeError as error:
    print(str(error).replace("\\n", " "), flush=True)
""").stdout
    assert found.count("Open MPI") >= 2 and found.count("makes no window for these processes (MPI_ERR_WIN") == 2, found


def test_each_process_sees_what_the_other_sets(w, other):
    assert other("w.get_value()").tolist() == w.get_value().tolist() == [0, 1, 2]
    w.set_value([3.0, 4.0])                                     # of another length
    assert other("w.get_value(), w.name, str(w.type)")[0].tolist() == [3, 4]
    other("w.set_value(numpy.arange(1000.0)), 0")               # more than the memory had
    assert w.get_value().tolist() == list(range(1000)) and (w * 2).eval()[3] == 6
    w.set_value(numpy.zeros(0))
    assert other("w.get_value()").shape == (0,)
    w.zero()
    other("w.set_value(numpy.ones(4)), w.zero()")
    assert w.get_value().tolist() == [0] * 4


def test_a_function_in_each_process_sees_the_updates_of_the_other(w, other):
    f = function([], w.sum(), updates=[(w, w + 1)])
    other("g = phintys.function([x := T.dscalar('x')], w * 2, updates=[(w, w * x)]); 0")
    assert f() == 3                                             # w is 1, 2, 3 then
    assert other("g(2)").tolist() == [2, 4, 6]                  # and 2, 4, 6
    assert f() == 12 and w.get_value().tolist() == [3, 5, 7]
    assert other("w.get_value()").tolist() == [3, 5, 7]


def test_no_update_is_lost(w, other, elsewhere):
    calls = elsewhere.calls
    f = function([], [], updates=[(w, w + 1)])
    other("f = phintys.function([], [], updates=[(w, w + 1)]); 0")
    other.begin("[f() for _ in range(calls)]; 0", calls=calls)
    threads = [threading.Thread(target=lambda: [f() for _ in range(calls // 4)]) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    other.answer()
    assert w.get_value().tolist() == [2 * calls, 2 * calls + 1, 2 * calls + 2]


def test_a_child_of_a_fork_has_a_lock_of_its_own():
    program = """
import os
import numpy
from phintys.distributed import SharedMemory
place = SharedMemory()
place.store(numpy.zeros(1))
child = os.fork()
for _ in range(300):
    with place.locked():
        _, value = place.fetch(0, numpy.dtype("float64"))
        place.store(value + 1)
if not child:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print(place.fetch(0, numpy.dtype("float64"))[1])
"""
    text = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert text == "[600.]\n"


def test_two_variables_are_locked_in_one_order(w, other, elsewhere):
    v, calls = shared(1.0, "v", target=elsewhere.target()), elsewhere.calls * 2 // 3
    f = function([], [], updates=[(w, w + v), (v, v + 1)])
    other("f = phintys.function([], [], updates=[(v, v + 1), (w, w + v)]); 0", v=v)
    other.begin("[f() for _ in range(calls)]; 0", calls=calls)
    [f() for _ in range(calls)]
    other.answer()
    assert v.get_value() == 2 * calls + 1 and w.get_value()[0] == sum(range(1, 2 * calls + 1))


def test_a_call_that_fails_changes_nothing_anywhere(w, other):
    x = T.dvector("x")
    f = function([x], [], updates=[(w, w + x)])
    with pytest.raises(ValueError):
        f([1.0, 2.0])
    assert w.get_value().tolist() == other("w.get_value()").tolist() == [0, 1, 2]
    with pytest.raises(TypeError):
        w.set_value(numpy.zeros((2, 2)))
    with pytest.raises(TypeError):
        other("w.set_value('a text')")
    assert w.get_value().tolist() == other("w.get_value()").tolist() == [0, 1, 2]
    other("w.set_value(w.get_value() + 1), 0")                  # nobody holds the lock
    f([1.0, 1.0, 1.0])
    assert other("w.get_value()").tolist() == [2, 3, 4]


# ---- borrowing: the sentences of the chapter -------------------------------------------------------------------------
@pytest.mark.parametrize("borrow", [False, True])
def test_the_constructor_copies(borrow, other, elsewhere):
    """By default the variable gets a copy, so later changes of the array have no effect; with ``borrow`` aliasing is
    not guaranteed to occur."""
    given = numpy.ones(2)
    w = shared(given, "w", borrow=borrow, target=elsewhere.target())
    given += 1
    assert w.get_value().tolist() == other("w.get_value()", w=w).tolist() == [1, 1]


def test_get_value(w, other):
    """Without ``borrow`` the value is not aliased to internal memory; with it, it may be, and is here."""
    free, borrowed = w.get_value(), w.get_value(borrow=True)
    free += 5
    assert w.get_value().tolist() == [0, 1, 2] and numpy.shares_memory(borrowed, w.get_value(borrow=True))
    other("w.set_value(w.get_value() * 2), 0")
    assert borrowed.tolist() == [0, 1, 2] and w.get_value().tolist() == [0, 2, 4]      # it keeps its value
    function([], [], updates=[(w, w + 1)])()
    assert borrowed.tolist() == [0, 1, 2]
    assert type(w.get_value(borrow=True, return_internal_type=True)) is numpy.ndarray


def test_set_value_of_what_a_function_did_to_the_borrowed_value(w, other):
    """``s.set_value(some_inplace_fn(s.get_value(borrow=True)), borrow=True)`` changes the value for all."""
    def double(array):
        array *= 2
        return array

    w.set_value(double(w.get_value(borrow=True)), borrow=True)
    assert w.get_value().tolist() == other("w.get_value()").tolist() == [0, 2, 4]


@pytest.mark.parametrize("borrow", [False, True])
def test_set_value_keeps_no_alias(w, other, borrow):
    given = numpy.ones(3)
    w.set_value(given, borrow=borrow)
    other("w.set_value(w.get_value() + 1), 0")
    assert given.tolist() == [1, 1, 1] and w.get_value().tolist() == [2, 2, 2]


def test_results_are_never_the_memory_that_others_see(w, other):
    result = function([], [w, w[::-1]])()
    result[0][:] = result[1][:] = 9
    assert w.get_value().tolist() == other("w.get_value()").tolist() == [0, 1, 2]


# ---- what goes with variables ----------------------------------------------------------------------------------------
def test_functions_and_copies_take_it_along(w, other):
    f = function([], [w.sum()], updates=[(w, w + 1)])
    assert other("f()", f=f) == [3] and w.get_value().tolist() == [1, 2, 3]     # a pickle
    for same in (pickle.loads(pickle.dumps(w)), copy.deepcopy(w), w.clone()):
        same.set_value(same.get_value() + 1)
        other("w.set_value(w.get_value() * 1), 0")
        assert same.get_value().tolist() == w.get_value().tolist() == other("w.get_value()").tolist()
    assert w.get_value().tolist() == [4, 5, 6]
    here = shared(numpy.zeros(3), "here")
    assert f.copy(swap={w: here})() == [0] and here.get_value().tolist() == [1] * 3
    g = f.copy()
    assert g() == [15] and other("w.get_value()").tolist() == [5, 6, 7]


def test_numbers_ranks_and_dtypes(other, elsewhere):
    for value in (2.5, 3, numpy.float32(1), numpy.ones((2, 3), "int8"), numpy.zeros((0, 2), complex), True):
        w = shared(value, target=elsewhere.target())
        found = other("w.get_value()", w=w)
        assert numpy.array_equal(found, value) and found.dtype == numpy.asarray(value).dtype == w.type.dtype
    row = shared(numpy.ones((1, 2)), broadcastable=(True, False), target=elsewhere.target())
    assert other("w.type.broadcastable", w=row) == (True, False)


def test_default_updates_and_loops(w, other):
    w.default_update = w * 2
    assert function([], w)().tolist() == [0, 1, 2] and other("w.get_value()").tolist() == [0, 2, 4]
    del w.default_update
    x = T.dvector("x")
    total = phintys.scan(lambda one: one * w.sum(), sequences=x)[0]
    f = function([x], total)
    other("w.set_value(numpy.ones(2)), 0")
    assert f([1.0, 2.0]).tolist() == [2, 4]


def test_what_cannot_be_elsewhere():
    with pytest.raises(TypeError, match="At the target 'memory' are arrays and numbers, no value of <class 'list'>"):
        shared([1, 2], target="memory")
    with pytest.raises(TypeError, match="At the target <object"):
        shared(numpy.zeros(2), target=object())


# ---- the homes -------------------------------------------------------------------------------------------------------
def test_a_process_that_ends_in_the_middle_leaves_the_old_value():
    """It holds the lock and has written half of a value."""
    w, dying = shared(numpy.arange(3.0), target="memory"), other_process.Other()
    text = ("w.home.locked().__enter__(); version = int(w.home._numbers[1]); slot = w.home._slot(version + 1); "
            "w.home.store(numpy.full(3, 7.)); w.home._numbers.__setitem__(1, version); 0")
    dying(text, w=w)
    dying.process.kill()
    dying.close(-9)
    assert w.get_value().tolist() == [0, 1, 2]
    function([], [], updates=[(w, w + 1)])()
    assert w.get_value().tolist() == [1, 2, 3]


def test_the_memory_goes_with_the_process_that_made_it():
    other = other_process.Other()
    path = other("made = phintys.shared(numpy.ones(3), target='memory'); made.home.path")
    assert os.path.exists(path) and SharedMemory(path).fetch(0, numpy.dtype("f8"))[1].tolist() == [1] * 3
    content = other("__import__('pickle').dumps(made)")
    other("del made; 0")
    far = pickle.loads(content)                                 # by a process that may end if this raises
    for use in (far.get_value, lambda: far.set_value([1.0]), function([], far.sum()), function([], far, updates=[(
            far, far + 1)]), pickle.loads(pickle.dumps(far)).get_value):
        with pytest.raises(FileNotFoundError, match="is not here"):
            use()
    with pytest.raises(FileNotFoundError, match="the process that made it has ended, or is on another machine"):
        SharedMemory(path)
    other.close()


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(5000))
    with pytest.raises(ValueError, match="is no shared memory of phintys"):
        SharedMemory(str(path))


def test_a_home_of_the_user():
    """Anything that has the methods: here in this process, with a value of another language."""
    class Home:
        path = "list"

        def __init__(self):
            self.version, self.value, self.lock = 0, None, threading.RLock()

        def locked(self):
            return self.lock

        def fetch(self, version, dtype):
            return None if version == self.version else (self.version, numpy.array(self.value, dtype))

        def store(self, value):
            self.value, self.version = value.tolist(), self.version + 1
            return self.version

    home = Home()
    w = shared(numpy.zeros(2), "w", target=home)
    function([], [], updates=[(w, w + 1)])()
    assert home.value == [1, 1]
    home.value, home.version = [5, 6], home.version + 1
    assert w.get_value().tolist() == [5, 6] and function([], w * 2)().tolist() == [10, 12]


def test_what_a_home_refuses(elsewhere, w, other):
    if elsewhere.kind == "window":
        with pytest.raises(ValueError, match="a value of 16,000 bytes does not fit into the window, which has 10,000"):
            w.set_value(numpy.zeros(2000))
        assert other("w.get_value()").tolist() == [0, 1, 2]
        unknown = pickle.dumps(w).replace(w.home.path.encode(), b"window " + b"0" * 32)
        stranger = pickle.loads(unknown)                                # by a process that may end if this raises
        for use in (stranger.get_value, lambda: pickle.loads(pickle.dumps(stranger)).set_value([1.0])):
            with pytest.raises(LookupError, match="is of other processes than this"):
                use()
    elif elsewhere.kind == "actor":
        with w.home.locked():
            assert w.home.fetch(0, numpy.dtype("f8"))[1].tolist() == [0, 1, 2]
            w.home._actor.store(numpy.ones(3), None).result()           # by another that has the lock, too
            with pytest.raises(RuntimeError, match="another process has updated the value"):
                w.home.store(numpy.zeros(3))
        assert other("w.get_value()").tolist() == w.get_value().tolist() == [1, 1, 1]
