"""Functions pickled, copied and dumped: what is shared afterwards, and what is not."""
import copy
import pickle

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys import In, Out, function, function_dump, shared

x, y, s = T.dscalars("x", "y", "s")
v = T.dvector("v")


def by_pickle(protocol):
    return lambda things: pickle.loads(pickle.dumps(things, protocol))


DUPLICATES = [by_pickle(0), by_pickle(-1), copy.deepcopy]
duplicated = pytest.mark.parametrize("duplicate", DUPLICATES, ids=["protocol 0", "latest protocol", "deepcopy"])


def with_everything():
    return function([x, In(y, value=2.0), In(s, value=10.0, update=s + x)], {"sum": x + y, "state": Out(s)}, name="f")


@duplicated
def test_a_duplicate_is_independent(duplicate):
    f = with_everything()
    f(1.0)
    f.trust_input = True
    g = duplicate(f)
    assert type(g) is type(f) and g.name == "f" and g.trust_input and g[2] == 11.0
    assert x not in g and "x" in g and len(g.defaults) == 3
    assert g(numpy.array(1.0)) == f(numpy.array(1.0)) == {"sum": 3.0, "state": 11.0}
    g(numpy.array(5.0))
    assert f["s"] == 12.0 and g["s"] == 17.0


@duplicated
def test_functions_that_share_still_share(duplicate):
    w = shared(numpy.zeros(2), "w")
    first = with_everything()
    second = function([x, In(s, value=first.container[s], update=s * x)], [], updates={w: w + 1})
    third = function([], w * 2)
    new = duplicate([first, second, third, w, x, first.container[y]])
    new[1](3.0)
    assert new[0]["s"] == 30.0 and new[2]().tolist() == [2.0, 2.0] and new[3].get_value().tolist() == [1.0, 1.0]
    assert new[0].container["s"].storage is new[1].container["s"].storage
    assert new[0].container[new[4]] is new[0].container[0] and new[0].container["y"] is new[5]
    assert first["s"] == 10.0 and third().tolist() == [0.0, 0.0]
    new[3].set_value([5.0, 6.0])
    assert new[2]().tolist() == [10.0, 12.0]


@duplicated
def test_a_default_that_was_set_is_kept_for_one_call(duplicate):
    f = with_everything()
    f["y"] = 5.0
    g = duplicate(f)
    assert g["y"] == 5.0 and g(1.0)["sum"] == 6.0 and g(1.0)["sum"] == 3.0 and f["y"] == 5.0


@duplicated
def test_a_default_that_another_function_reads(duplicate):
    f = with_everything()
    reader = function([In(s, value=f.container[y])], s)
    new_f, new_reader = duplicate((f, reader))
    new_f["y"] = 7.0
    assert new_reader() == 7.0 and reader() == 2.0


def test_unpickling_can_be_switched_off():
    dumped = pickle.dumps([with_everything(), 3])
    with phintys.change_flags(unpickle_function=False):
        assert pickle.loads(dumped) == [None, 3]
    for again in (False, True):
        with phintys.change_flags(reoptimize_unpickled_function=again):
            assert pickle.loads(dumped)[0](1.0) == {"sum": 3.0, "state": 10.0}


def test_pickles_with_persistent_arrays():
    class Pickler(pickle.Pickler):
        def persistent_id(self, thing):
            if isinstance(thing, numpy.ndarray):
                kept.append(thing)
                return len(kept) - 1

    class Unpickler(pickle.Unpickler):
        def persistent_load(self, number):
            return kept[number]

    import io
    kept, file = [], io.BytesIO()
    w = shared(numpy.ones(3), "w")
    Pickler(file).dump(function([v], v * w))
    file.seek(0)
    assert Unpickler(file).load()([1.0, 2.0, 3.0]).tolist() == [1.0, 2.0, 3.0] and kept


# ---- copy ------------------------------------------------------------------------------------------------------------
IN_THE_SAME_FORM = [copy.deepcopy, by_pickle(-1)]
AS_A_LIST = [copy.copy, lambda f: f.copy(), lambda f: f.copy().copy(), lambda f: f.copy(share_memory=True),
             lambda f: f.copy(delete_updates=True),
             lambda f: f.copy(swap={old: shared(old.get_value()) for old in f.get_shared()})]


@pytest.mark.parametrize("duplicate", IN_THE_SAME_FORM + AS_A_LIST)
@pytest.mark.parametrize("with_update", [False, True])
@pytest.mark.parametrize("outputs", [x * 2, [x * 2], (x * 2, x), [x * 2, x], [], None, {"a": x * 2}, Out(x * 2),
                                     {"a": x, "b": x * 2}, [Out(x, borrow=True)]])
def test_the_form_of_the_results_of_copies(duplicate, with_update, outputs):
    """`copy` makes functions that return a list, as Theano does, whatever the original returns."""
    w = shared(1.0)
    f = function([x], outputs, updates=[(w, w + 1)] if with_update else [], on_unused_input="ignore")
    expected, found = f(3.0), duplicate(f)(3.0)
    if duplicate in AS_A_LIST:
        expected = list(expected.values()) if isinstance(expected, dict) else \
            expected if isinstance(expected, list) else [expected]
    assert found == expected and type(found) is type(expected)


@pytest.mark.parametrize("duplicate", [copy.copy, lambda f: f.copy(), lambda f: f.copy(share_memory=True)])
def test_copies_keep_shared_variables_and_copy_states(duplicate):
    w = shared(0.0, "w")
    f = function([x, In(y, value=2.0), In(s, value=1.0, update=s + x)], [s + y + w], updates={w: w + 1}, name="f")
    f(3.0)
    g = duplicate(f)
    assert g.name == "f copy" and g[y] is f[y] and g[s] == f[s] == 4.0 and g.container[s] is not f.container[s]
    assert g.container[w] is f.container[w] is w.container
    assert g(1.0) == [7.0] and f(2.0) == [8.0] and w.get_value() == 3.0 and (f[s], g[s]) == (6.0, 5.0)


def test_copies_share_what_the_user_shared():
    f = with_everything()
    g = function([x, In(s, value=f.container[s], update=s + x)], s)
    g.copy()(1.0)
    assert f["s"] == 11.0


def test_swap():
    a, b, c = shared(1.0, "a"), shared(10.0, "b"), shared(100.0, "c")
    f = function([], [a - b], updates={a: a + 1})
    assert f.copy(swap={a: c})() == [90.0] and c.get_value() == 101.0 and a.get_value() == 1.0
    assert f.copy(swap={a: c}).copy(swap={c: b, b: a})() == [9.0] and b.get_value() == 11.0
    crossed = f.copy(swap={a: b, b: a}, name="crossed")
    assert crossed() == [10.0] and b.get_value() == 12.0 and crossed.name == "crossed"
    assert set(crossed.get_shared()) == {a, b} and a in crossed and c not in crossed
    assert f() == [1.0 - 12.0] and a.get_value() == 2.0


def test_swap_with_givens():
    data, other = shared(numpy.arange(3.0), "data"), shared(numpy.arange(3.0) * 10, "other")
    f = function([], v.sum(), givens={v: data})
    assert f() == 3.0 and f.copy(swap={data: other})() == [30.0]


def test_delete_updates():
    w = shared(1.0, "w")
    f = function([x, In(s, value=1.0, update=s + x)], s + w, updates={w: w * 2}, name="f")
    f(1.0)
    g = f.copy(delete_updates=True)
    assert g(x=5.0) == g(5.0) == [4.0] and g(5.0, 7.0) == [9.0] and w.get_value() == 2.0 and f[s] == 2.0
    assert function([x], [], updates={w: w + x}).copy(delete_updates=True)(3.0) == [] and w.get_value() == 2.0


swapped = shared(1.0, "swapped")

# (what, swap, exception, words of the message)
BAD_SWAPS = [
    ("not used", {shared(1.0, "stranger"): swapped}, ValueError, "SharedVariable: stranger not found.*user"),
    ("no shared variable", {x: swapped}, TypeError, "Key of swap.*x.*test_pickle_function"),
    ("swapped for a number", {swapped: 3.0}, TypeError, "Value of swap.*3.0"),
    ("swapped for an expression", {swapped: x + 1}, TypeError, "Value of swap.*test_pickle_function"),
    ("another type", {swapped: shared(numpy.zeros(2), "vector")}, TypeError,
     "swapped.*test_pickle_function.*vector.*test_pickle_function.*same type"),
]


@pytest.mark.parametrize("name, swap, exception, words", BAD_SWAPS, ids=[row[0] for row in BAD_SWAPS])
def test_bad_swaps(name, swap, exception, words):
    f = function([x], x * swapped, name="user")
    with pytest.raises(exception, match="(?s)" + words):
        f.copy(swap=swap)
    assert f(2.0) == 2.0


def test_two_updates_cannot_be_swapped_into_one():
    a, b = shared(1.0, "a"), shared(2.0, "b")
    with pytest.raises(ValueError, match="already has an update"):
        function([], [], updates=[(a, a + 1), (b, b + 1)]).copy(swap={a: b})


def test_copies_are_measured_only_if_asked():
    f = with_everything()
    assert f.copy().profile is None
    measured = f.copy(profile=True)
    assert measured.profile.nb_nodes > 0 and measured.copy().profile is None
    assert pickle.loads(pickle.dumps(measured)).profile is None


# ---- function_dump ---------------------------------------------------------------------------------------------------
def test_function_dump(tmp_path):
    w = shared(3.0, "w")
    z = x * w
    z.tag.test_value, z.tag.trace, z.tag.annotations, z.tag.kept = 1.0, ["trace"], ["annotation"], "kept"
    name = str(tmp_path / "dump.pkl")
    function_dump(name, [x, In(y, value=1.0)], [z + y, z], mode="FAST_COMPILE", updates={w: w + 1}, name="dumped",
                  extra_tag_to_remove=["annotations"])
    with open(name, "rb") as file:
        arguments = pickle.load(file)
    f = function(**arguments)
    assert f.name == "dumped" and f(2.0) == [7.0, 6.0] and f(2.0) == [9.0, 8.0] and w.get_value() == 3.0
    assert vars(arguments["outputs"][1].tag) == {"kept": "kept"} and z.tag.trace == ["trace"]


def test_function_dump_needs_a_name():
    with pytest.raises(AssertionError, match="name of a file, got 3"):
        function_dump(3, [x], x)


# ---- programs in pickles and copies ----
def step_of(w):
    """A function with an update, a state, and a large constant."""
    x, s = T.dvector("x"), T.dscalar("s")
    big = T.constant(numpy.arange(3000.0))
    return phintys.function([x, phintys.In(s, value=1.0, update=s + 1)], [x * w * s, big.sum() + x.sum()],
                            updates=[(w, w + x)], name="step")


@pytest.fixture
def no_rewrites(monkeypatch):
    """Let the optimizer fail, once functions have been made."""
    def refuse(*arguments):
        raise AssertionError("a graph was optimised")

    def begin():
        monkeypatch.setattr("phintys.making.function_maker.optimize", refuse)
    return begin


def ways_to_copy():
    return {"pickle": lambda f: pickle.loads(pickle.dumps(f)), "deepcopy": copy.deepcopy, "copy": lambda f: f.copy(),
            "pickle of a copy": lambda f: pickle.loads(pickle.dumps(f.copy()))}


@pytest.mark.parametrize("way", ways_to_copy())
def test_a_copy_has_the_program_and_is_not_optimised_again(way, no_rewrites):
    w = phintys.shared(numpy.ones(2), "w")
    f = step_of(w)
    f([1.0, 2.0])
    no_rewrites()
    g = ways_to_copy()[way](f)
    assert g.program is not f.program and g.program.code == f.program.code
    results, total = g([1.0, 1.0])
    assert results.tolist() == [4.0, 6.0] and total == 4498502         # the state is 2, w is 1 + [1, 2]
    assert g.get_shared()[0].get_value().tolist() == [3.0, 4.0]
    own = w.get_value().tolist()
    assert own == ([3.0, 4.0] if way == "copy" else [2.0, 3.0])        # `copy` shares what is shared
    assert f([1.0, 1.0])[0].tolist() == [2 * each for each in own]     # its own state is 2 still


def test_the_graph_of_a_copy_is_optimised_when_it_is_asked_for():
    f = step_of(phintys.shared(numpy.ones(2), "w"))
    g = pickle.loads(pickle.dumps(f))
    assert str(g.maker.fgraph) == str(f.maker.fgraph)
    assert [str(node) for node in g.maker.fgraph.toposort()] == [str(node) for node in f.maker.fgraph.toposort()]
    assert g.explain().splitlines()[0] == f.explain().splitlines()[0]
    with pytest.raises(ValueError, match="Input dimension mis-match"):
        g([1.0, 2.0, 3.0])


def test_what_was_shared_in_a_pickle_stays_shared(no_rewrites):
    w = phintys.shared(numpy.ones(2), "w")
    f = step_of(w)
    no_rewrites()
    g, h, v = pickle.loads(pickle.dumps([f, f.copy(), w]))
    g([1.0, 1.0])
    h([1.0, 1.0])
    assert v.get_value().tolist() == [3.0, 3.0] and w.get_value().tolist() == [1.0, 1.0]


def test_a_copy_on_other_shared_variables_has_the_program(no_rewrites):
    w, v = phintys.shared(numpy.ones(2), "w"), phintys.shared(numpy.zeros(2), "v")
    f = step_of(w)
    no_rewrites()
    g = f.copy(swap={w: v})
    g([1.0, 5.0])
    assert v.get_value().tolist() == [1.0, 5.0] and w.get_value().tolist() == [1.0, 1.0]
    assert g.get_shared() == [v] and f.get_shared() == [w]


def test_large_arrays_are_in_a_pickle_once():
    f = step_of(phintys.shared(numpy.ones(20000), "w"))
    assert len(pickle.dumps(f)) < 8 * 23000 + 30000


@pytest.mark.parametrize("changed", ["version", "bytecode"])
def test_a_pickle_of_another_version_is_compiled(monkeypatch, changed):
    f = step_of(phintys.shared(numpy.ones(2), "w"))
    data = pickle.dumps(f)
    if changed == "version":
        monkeypatch.setattr("phintys.graph.hooks.version", "99")
    else:
        monkeypatch.setattr("phintys.making.function_copies.bytecode", lambda: b"another")
    g = pickle.loads(data)
    assert g.program.nodes is not None and pickle.loads(data)([1.0, 1.0])[0].tolist() == [1.0, 1.0]


def test_a_function_without_updates_and_a_measured_one_are_compiled():
    f = step_of(phintys.shared(numpy.ones(2), "w"))
    assert "STORE" not in [one.name for one in f.copy(delete_updates=True).program.symbolic()]
    assert f.copy(profile=True).profile is not None


def test_a_function_without_state_is_read_once(monkeypatch):
    """Schedulers unpickle a function for each task."""
    x = T.dvector("x")
    f = function([x], {"a": T.tanh(x) * 2, "b": phintys.scan(lambda one: one * 3, x)[0]}, name="f")
    content = pickle.dumps(f)
    first = pickle.loads(content)
    monkeypatch.setattr("phintys.making.function_copies.remake", None)
    monkeypatch.setattr("phintys.making.function_copies.kept_program", None)
    second = pickle.loads(content)
    assert pickle.dumps(f) == pickle.dumps(first) == pickle.dumps(second) == content
    second.trust_input = True                                   # what can be set is each one's own
    assert second is not first and not first.trust_input
    for each in (first, second, pickle.loads(pickle.dumps(first))):
        assert each.name == "f" and each(numpy.ones(2))["b"].tolist() == [3, 3]
    assert first([0, 0])["a"].tolist() == [0, 0]
    with pytest.raises(ValueError, match="trust_input is set"):
        second([0, 0])
    monkeypatch.undo()
    trusting = pickle.loads(pickle.dumps(second))
    assert trusting.trust_input and not pickle.loads(content).trust_input
    (given,), (result, _) = second.maker.inputs, second.maker.outputs
    slope = function([given], T.grad(result.variable.sum(), given.variable))
    assert slope([0, 0]).tolist() == [2, 2]
    with phintys.config.change_flags(unpickle_function=False):
        assert pickle.loads(content) is None


def test_so_many_are_known(monkeypatch):
    from phintys.making import function_copies

    x = T.dvector("x")
    contents = [pickle.dumps(function([x], x + number)) for number in range(4)]
    monkeypatch.setattr(function_copies, "MOST_REMADE", 3)
    monkeypatch.setattr(function_copies, "_remade", {})
    assert [pickle.loads(content)([0])[0] for content in contents] == [0, 1, 2, 3]
    assert [len(function_copies._remade), pickle.loads(contents[0])([0])[0], len(function_copies._remade)] == [3, 0, 3]


@pytest.mark.parametrize("kind", ["default", "state", "random", "large"])
def test_a_function_with_state_is_not(kind):
    """Its pickles are copies of their own, as values are; and large constants are not kept as bytes."""
    from phintys.making import function_copies

    x = T.dscalar("x")
    f = {"default": lambda: function([In(x, value=3.0)], x * 2),
         "state": lambda: function([In(x, value=3.0, update=x + 1)], x),
         "random": lambda: function([x], x + T.shared_randomstreams.RandomStreams(1).uniform()),
         "large": lambda: function([x], x + numpy.zeros(200_000))}[kind]()
    left, right = pickle.loads(pickle.dumps(f)), pickle.loads(pickle.dumps(f))
    assert f.__reduce__()[0] is (function_copies.remade_once if kind == "random" else function_copies.remake)
    if kind == "default":
        left.container[left.maker.inputs[0].variable].value = 4.0
        assert (left(), right(), f()) == (8, 6, 6)
    elif kind == "state":
        assert [left(), left(), right(), f()] == [3, 4, 3, 3]
    elif kind == "random":
        assert left(0) == right(0) == f(0) != f(0)


# ---- functions with shared arrays: the program is read once, the values are each pickle's ----
def weighed():
    """A function of an array, two shared ones, a number that it updates, and its variables."""
    x = T.dvector("x")
    w, b, n = phintys.shared(numpy.ones(3), "w"), phintys.shared(2.0, "b"), phintys.shared(numpy.int64(0), "n")
    return function([x], {"y": T.tanh(x * w) + b, "n": n}, updates=[(n, n + 1)], name="weighed"), w, b, n


@pytest.fixture
def read(monkeypatch):
    """How many programs have been read from pickles."""
    from phintys.making import function_copies

    found, read = [], function_copies.program_from
    monkeypatch.setattr(function_copies, "_remade", {})
    monkeypatch.setattr(function_copies, "program_from", lambda kept: found.append(kept) or read(kept))
    return found


def test_pickles_with_shared_arrays_are_read_once_and_have_values_of_their_own(read, no_rewrites):
    f, w, _, n = weighed()
    no_rewrites()
    first = pickle.loads(pickle.dumps(f))
    w.set_value(numpy.zeros(4))                                 # of another length, too
    f(numpy.zeros(4))
    second = pickle.loads(pickle.dumps(f))
    assert len(read) == 1 and first.program.kernels[0] is second.program.kernels[0]
    assert first([0, 0, 0])["y"].tolist() == [2, 2, 2] and first([0, 0, 0])["n"] == 1
    assert second(numpy.ones(4))["y"].tolist() == [2] * 4 and n.get_value() == 1
    assert [each["w"].size for each in (first, second)] == [3, 4] and first["n"] == 2
    first["b"] = 7.0
    assert first([0, 0, 0])["y"].tolist() == [7] * 3 and second([0] * 4)["y"].tolist() == [2] * 4
    third = pickle.loads(pickle.dumps(first))
    assert third["b"] == 7 and third["n"] == 3 and len(read) == 1 and third.name == "weighed"
    second.trust_input = True
    assert pickle.loads(pickle.dumps(second)).trust_input and not pickle.loads(pickle.dumps(first)).trust_input


def test_what_is_pickled_beside_them_shares_their_variables(read):
    f, w, b, n = weighed()
    step = function([], [], updates=[(w, w + 1)])
    pickle.loads(pickle.dumps([f, step]))                       # both are known from now on
    g, other, v = pickle.loads(pickle.dumps([f, step, w]))
    other()
    assert v.get_value().tolist() == [2, 2, 2] and w.get_value().tolist() == [1, 1, 1]
    v.set_value(numpy.zeros(3))
    assert g(numpy.ones(3))["y"].tolist() == [2, 2, 2] and v in g.get_shared() and len(read) == 2
    twin, same = copy.deepcopy([f, w])
    same.set_value(numpy.zeros(3))
    assert twin(numpy.ones(3))["y"].tolist() == [2, 2, 2] and f(numpy.ones(3))["y"][0] > 2


def test_the_graph_of_such_a_pickle_is_its_own(read):
    f, w, _, _ = weighed()
    pickle.loads(pickle.dumps(f))
    g = pickle.loads(pickle.dumps(f))
    v, = [each for each in g.get_shared() if each.name == "w"]
    assert v is not w
    given, result = g.maker.inputs[0], g.maker.outputs[g.output_keys.index("y")]
    slope = function([given.variable], T.grad(result.variable.sum(), v))
    v.set_value(numpy.zeros(3))
    assert slope([1, 2, 3]).tolist() == [1, 2, 3] and g[given.variable] is None
    assert [str(node) for node in g.maker.fgraph.toposort()] == [str(node) for node in f.maker.fgraph.toposort()]
    h = pickle.loads(pickle.dumps(f)).copy(swap={})
    assert h.copy(name="another")([0, 0, 0])[1].tolist() == [2, 2, 2]
    with pytest.raises(AttributeError, match="no_such_thing"):
        pickle.loads(pickle.dumps(f)).maker.no_such_thing


def test_a_model_keeps_no_values():
    from phintys.making import function_copies

    w, x = phintys.shared(numpy.ones(100_000), "w"), T.dvector("x")
    content = pickle.dumps(function([x], x * w))
    assert pickle.loads(content)(numpy.ones(100_000)).sum() == 100_000
    assert all(container.get(borrow=True).size < 2 for model, _ in function_copies._remade.values()
               for container in model.program.containers)


def test_threads_read_and_ask_for_graphs_at_once(read):
    import threading

    f, *_ = weighed()
    content, found = pickle.dumps(f), []
    both = [pickle.loads(content) for _ in range(2)]

    def ask():
        found.append([id(each.maker.inputs[0].variable) for each in both])
        found.append(pickle.loads(content)([0, 0, 0])["y"].tolist())

    threads = [threading.Thread(target=ask) for _ in range(6)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len({str(one) for one in found}) == 2 and [2, 2, 2] in found
