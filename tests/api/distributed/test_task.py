"""Compiled functions as schedulers take them: small, linked once, without a state, and careful with memory."""
import pickle
import threading

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys import In, Out, function, shared
from phintys.distributed import as_task
from phintys.distributed import task as tasks
from phintys.tensor.shared_randomstreams import RandomStreams

x = T.dvector("x")


def saved(compiled):
    """The function as a file would give it back."""
    from phintys.vm.files.functions import dumps, loads

    return loads(dumps(compiled))


class Doubled(phintys.Op):
    """An op of the user."""

    __props__ = ()

    def make_node(self, value):
        return phintys.Apply(self, [value], [value.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] * 2


@pytest.mark.parametrize("form", [lambda compiled: compiled, saved, as_task], ids=["compiled", "saved", "task"])
def test_a_task_is_small_linked_once_and_keeps_its_token(form, monkeypatch):
    monkeypatch.setattr(tasks, "_tasks", tasks.OrderedDict())
    linked = []
    make = tasks.Task.__init__
    monkeypatch.setattr(tasks.Task, "__init__", lambda self, *given: linked.append(self) or make(self, *given))
    compiled = form(function([x], T.tanh(x) * 5, name="f"))
    task = as_task(compiled)
    content = pickle.dumps(task)
    assert len(content) < 2500 and len(linked) == 1
    assert all(pickle.loads(content) is task for _ in range(20)) and len(linked) == 1
    with monkeypatch.context() as patch:                        # as in another process
        patch.setattr(tasks, "_tasks", tasks.OrderedDict())
        other = pickle.loads(content)
        assert other is not task and pickle.loads(content) is other and len(linked) == 2
    assert other.__dask_tokenize__() == task.__dask_tokenize__() == as_task(compiled).__dask_tokenize__()
    assert other([1.0, 2.0]).tolist() == task([1.0, 2.0]).tolist() == compiled([1.0, 2.0]).tolist()


def test_few_tasks_are_kept(monkeypatch):
    monkeypatch.setattr(tasks, "_tasks", tasks.OrderedDict())
    monkeypatch.setattr(tasks, "MOST_LINKED", 3)
    made = [as_task(function([x], x * number)) for number in range(5)]
    assert list(tasks._tasks.values()) == made[2:]
    assert [task([1.0])[0] for task in made] == [0, 1, 2, 3, 4]


def test_threads_link_once(monkeypatch):
    linked = []
    make = tasks.Task.__init__
    content = pickle.dumps(as_task(function([x], T.exp(x) - 7)))
    monkeypatch.setattr(tasks, "_tasks", tasks.OrderedDict())
    monkeypatch.setattr(tasks.Task, "__init__", lambda self, *given: linked.append(self) or make(self, *given))
    threads = [threading.Thread(target=pickle.loads, args=[content]) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(linked) == 1


def test_the_token_of_a_saved_function_is_that_of_its_pickles():
    loaded = saved(function([x], T.exp(x) * shared(numpy.ones(2), "w")))
    assert loaded.__dask_tokenize__() == pickle.loads(pickle.dumps(loaded)).__dask_tokenize__()
    before = loaded.__dask_tokenize__()
    loaded["w"] = numpy.zeros(2)
    assert loaded.__dask_tokenize__() != before


def test_pickles_of_a_saved_function_are_linked_once(monkeypatch):
    """But for what has a state: values of its own, or ops in Python."""
    from phintys.vm.files import functions as files

    monkeypatch.setattr(files, "_linked", {})
    plain, weights = saved(function([x], T.exp(x) - 8)), saved(function([x], x * shared(numpy.ones(2), "w")))
    first, second = [pickle.loads(pickle.dumps(plain)) for _ in "12"]
    assert first is not second and first.program is second.program and first([0.0]) == second([0.0]) == -7
    second.trust_input = True
    assert not first.trust_input and not pickle.loads(pickle.dumps(plain)).trust_input
    first, second = [pickle.loads(pickle.dumps(weights)) for _ in "12"]
    first["w"] = numpy.zeros(2)
    assert second["w"].tolist() == [1, 1] and pickle.loads(pickle.dumps(first))["w"].tolist() == [0, 0]
    for number in range(files.MOST_LINKED + 5):
        pickle.loads(pickle.dumps(saved(function([], T.constant(float(number)) + 1))))
    assert len(files._linked) == files.MOST_LINKED


total = shared(numpy.zeros(3), "total")
REFUSED = {
    "update": (lambda: function([x], x, updates=[(total, total + x)]), "total"),
    "update in place": (lambda: function([x], [], updates=[(total, T.inc_subtensor(total[:1], x[:1]))]), "total"),
    "default update": (lambda: function([x], x + RandomStreams(3).normal((3,))), "shared variable 0"),
    "state": (lambda: function([In(x, "x", value=numpy.zeros(2), update=x + 1)], x), "x"),
    "saved": (lambda: saved(function([x], x, updates=[(total, total + x)])), "total"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_functions_with_updates_are_refused_with_what_to_do_instead(case):
    make, named = REFUSED[case]
    with pytest.raises(TypeError, match=rf"updates {named}: .* Return the new value instead"):
        as_task(make())


def test_other_things_are_refused():
    with pytest.raises(TypeError, match="a compiled function is expected"):
        as_task(numpy.tanh)


def test_what_no_file_can_hold_travels_as_a_pickle():
    task = as_task(function([x], Doubled()(x) + 1))
    assert task([1.0, 2.0]).tolist() == [3.0, 5.0] and pickle.loads(pickle.dumps(task)) is task

    class Local(Doubled):
        """Nobody can import it."""

    pytest.importorskip("cloudpickle")
    task = as_task(function([x], Local()(x) + 1))
    assert not task.is_program and task([1.0, 2.0]).tolist() == [3.0, 5.0]


class Called(Doubled):
    """An op that calls a task or a function."""

    __props__ = ("called",)

    def __init__(self, called):
        self.called = called

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = self.called(inputs[0])


@pytest.mark.parametrize("make", [as_task, lambda compiled: compiled])
def test_a_task_in_an_op_of_a_task(make):
    """To read the outer one, the inner one is read: the thread waited for itself."""
    inner, found = make(function([x], x * shared(numpy.arange(2.0)))), []
    compiled = function([x], Called(inner)(x) + 1)
    reading = threading.Thread(target=lambda: found.append(as_task(compiled)), daemon=True)
    reading.start()
    reading.join(30)
    assert found and found[0]([5.0, 7.0]).tolist() == [1.0, 8.0] and pickle.loads(pickle.dumps(found[0])) is found[0]


@pytest.mark.parametrize("is_program", [True, False])
def test_a_task_that_cannot_be_read_raises_when_it_is_called(is_program, monkeypatch):
    """By the worker of another version; if unpickling raised, the worker would end, and then the next."""
    compiled = function([x], x - 9 if is_program else Doubled()(x) - 9)
    receive, content = as_task(compiled).__reduce__()
    monkeypatch.setattr(tasks, "_tasks", tasks.OrderedDict())
    with monkeypatch.context() as patch:
        patch.setattr(tasks, "loads", lambda *given: {}["of another version"])
        patch.setattr(tasks.pickle, "loads", lambda *given: {}["of another version"])
        task = receive(*content)
        for call in (lambda: task([1.0]), lambda: task.at("block 3", [1.0])):
            with pytest.raises(TypeError, match="cannot read the task: KeyError: 'of another version'"):
                call()
    same = pickle.loads(pickle.dumps(task))
    assert same([1.0]) == compiled([1.0]) and same.__dask_tokenize__() == task.__dask_tokenize__()


def test_shared_values_are_those_of_when_the_task_was_made():
    w = shared(2.0, "w")
    compiled = function([x], x * w)
    first = as_task(compiled)
    w.set_value(3.0)
    second = as_task(compiled)
    assert first.__dask_tokenize__() != second.__dask_tokenize__()
    assert first([1.0])[0] == 2 and second([1.0])[0] == 3


# ---- memory ----------------------------------------------------------------------------------------------------------
m = T.dmatrix("m")
BORROWING = {
    "reused": lambda: function([m], Out(T.exp(m) * 2, borrow=True)),
    "a list": lambda: function([m], [Out(T.exp(m) * 2, borrow=True), Out(m + 1, borrow=True)]),
    "by name": lambda: function([m], {"a": Out(T.exp(m), borrow=True)}),
    "a view of the argument": lambda: function([In(m, borrow=True)], Out(m[::-1], borrow=True)),
    "the argument": lambda: function([In(m, borrow=True)], Out(m, borrow=True)),
    "a shared value": lambda: function([m], [Out(shared(numpy.ones((2, 2)))[::-1], borrow=True), m]),
    "without a copy": lambda: function([m], [m, m[::-1], T.exp(m)]),
}


def arrays(found):
    return list(found.values()) if isinstance(found, dict) else found if isinstance(found, list) else [found]


@pytest.mark.parametrize("case", BORROWING)
@pytest.mark.parametrize("form", [lambda compiled: compiled, saved], ids=["compiled", "saved"])
def test_results_have_memory_of_their_own(case, form):
    task = as_task(form(BORROWING[case]()))
    given = [numpy.full((2, 2), float(number)) for number in range(4)]
    found = [arrays(task(one)) for one in given]
    every = [array for each in found for array in each]
    for number, array in enumerate(every):
        assert array.flags.writeable
        assert not any(numpy.shares_memory(array, other) for other in [*every[:number], *given])
    assert [array.tolist() for each in found for array in each] == \
        [array.tolist() for one in given for array in arrays(task(one))]


def test_arguments_are_never_written_to():
    compiled = function([In(m, mutable=True)], T.set_subtensor(m[:1], 7).sum())
    given = numpy.zeros((3, 3))
    compiled(given)
    assert given.any()                                          # it is overwritten, where that is allowed
    task, given = as_task(compiled), numpy.zeros((3, 3))
    assert task(given) == task(m=given) == 21 and not given.any()


def unaligned(array):
    """The array at an odd address, as messages of Dask have it."""
    content = numpy.empty(array.nbytes + 1, "u1")
    moved = content[1:].view(array.dtype).reshape(array.shape)
    moved[...] = array
    assert not moved.flags.aligned
    return moved


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


LAYOUTS = {"unaligned": unaligned, "read only": read_only, "reversed": lambda array: array[::-1].copy()[::-1],
           "strided": lambda array: numpy.repeat(array, 2, axis=1)[:, ::2],
           "one element": lambda array: numpy.broadcast_to(array[:1, :1], array.shape),
           "columns first": numpy.asfortranarray, "big-endian": lambda array: array.astype(">f8"),
           "unaligned and read only": lambda array: numpy.frombuffer(b"x" + array.tobytes(), offset=1).reshape(4, 6),
           "float32": lambda array: array.astype("f4"), "empty": lambda array: array[:0]}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("mutable", [False, True])
def test_arguments_in_any_layout(layout, mutable):
    compiled = function([In(m, mutable=mutable)], [T.exp(m) * 2, m.sum(axis=0)])
    value = LAYOUTS[layout](numpy.random.default_rng(3).random((4, 6)))
    before = value.copy()
    for _ in range(4):
        found = as_task(compiled)(value)
        assert numpy.allclose(found[0], numpy.exp(value.astype("f8")) * 2) and numpy.allclose(found[1], value.sum(0))
        assert numpy.array_equal(value, before)


def test_a_number_of_numpy_is_an_array_without_dimensions():
    task = as_task(function([s := T.dscalar("s")], s * 2))
    assert task(numpy.float64(2.0)) == task(numpy.array(2.0)) == 4


def test_threads_call_one_task():
    task = as_task(function([x], T.tanh(x).sum()))
    rows = numpy.random.default_rng(5).random((64, 500))
    assert numpy.allclose(phintys.distributed.map(task, rows), numpy.tanh(rows).sum(axis=1))
