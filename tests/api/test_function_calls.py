"""Calls in every form: names, defaults, states, ``output_subset``, ``trust_input``; and the call after each error."""
import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys import In, Out, function, shared
from phintys.compile import FunctionMaker, orig_function

x, y, s = T.dscalars("x", "y", "s")
v, i = T.dvector("v"), T.iscalar("i")
anonymous, second_x = T.dscalar(), T.dscalar("x")


def difference(**keywords):
    return function([x, In(y, value=10.0)], x - y, name="difference", **keywords)


def counting():
    return function([x, In(s, value=100.0, update=s + x), y], [s, y], name="counting")


def required_state():
    return function([x, In(s, update=s + x)], s, name="required")


def pair():
    return function([x], [x + 1, x * 2], name="pair")


def keyed():
    return function([x], {"plus": x + 1, "times": x * 2}, name="keyed")


def same_names():
    return function([x, second_x], x - second_x, name="same")


def reading_another():
    return function([x, In(s, value=counting().container[s])], x + s, name="reading")


def without_checks():
    f = difference()
    f.trust_input = True
    return f


# (what it shows, function, arguments, keywords, expected)
CALLS = [
    ("positional", difference, (5.0, 2.0), {}, 3.0),
    ("by name", difference, (), {"y": 2.0, "x": 5.0}, 3.0),
    ("mixed", difference, (5.0,), {"y": 2.0}, 3.0),
    ("default", difference, (5.0,), {}, -5.0),
    ("default, the other by name", difference, (), {"x": 5.0}, -5.0),
    ("state left alone", counting, (1.0,), {"y": 2.0}, [100.0, 2.0]),
    ("state by position", counting, (1.0, 7.0, 2.0), {}, [7.0, 2.0]),
    ("state by name", counting, (1.0,), {"s": 7.0, "y": 2.0}, [7.0, 2.0]),
    ("all by name", counting, (), {"y": 2.0, "x": 1.0, "s": 7.0}, [7.0, 2.0]),
    ("required state by position", required_state, (1.0, 3.0), {}, 3.0),
    ("required state by name", required_state, (1.0,), {"s": 3.0}, 3.0),
    ("a container of another function", reading_another, (1.0,), {}, 101.0),
    ("same names, positional", same_names, (5.0, 2.0), {}, 3.0),
    ("subset", pair, (3.0,), {"output_subset": [1]}, [6.0]),
    ("subset, other order", pair, (3.0,), {"output_subset": [1, 0]}, [6.0, 4.0]),
    ("subset, repeated and from the end", pair, (3.0,), {"output_subset": (-1, numpy.int64(1))}, [6.0, 6.0]),
    ("empty subset", pair, (3.0,), {"output_subset": []}, []),
    ("no subset", pair, (3.0,), {"output_subset": None}, [4.0, 6.0]),
    ("subset of a single output", difference, (3.0, 1.0), {"output_subset": [0]}, [2.0]),
    ("subset by key", keyed, (3.0,), {"output_subset": ["times"]}, {"times": 6.0}),
    ("subset of a function with states", counting, (1.0,), {"y": 2.0, "output_subset": [1]}, [2.0]),
    ("trusted", without_checks, (numpy.array(5.0), numpy.array(2.0)), {}, 3.0),
    ("trusted, another byte order", without_checks, (numpy.array(5.0, ">f8"), numpy.array(2.0)), {}, 3.0),
    ("trusted, default", without_checks, (numpy.array(5.0),), {}, -5.0),
    ("trusted, by name", without_checks, (), {"x": 5}, -5.0),
]


@pytest.mark.parametrize("name, make, arguments, keywords, expected", CALLS, ids=[row[0] for row in CALLS])
def test_call(name, make, arguments, keywords, expected):
    assert make()(*arguments, **keywords) == expected


# (what it shows, function, arguments, keywords, exception, words of the message)
BAD_CALLS = [
    ("too many", difference, (1.0, 2.0, 3.0), {}, TypeError, "Too many parameter.*difference.*takes 2, 3"),
    ("too many for states", counting, (1.0, 2.0, 3.0, 4.0), {}, TypeError, "Too many parameter.*counting.*takes 3, 4"),
    ("missing", difference, (), {"y": 1.0}, TypeError, "Missing required input: 0: x.*difference"),
    ("missing after a state", counting, (1.0,), {}, TypeError, "Missing required input: 2: y"),
    ("missing state", required_state, (1.0,), {}, TypeError, "Missing required input: s"),
    ("twice", difference, (1.0,), {"x": 1.0}, TypeError, "Multiple values.*x"),
    ("state twice", counting, (1.0, 2.0), {"s": 1.0, "y": 1.0}, TypeError, "Multiple values.*s"),
    ("argument of a function with states twice", counting, (1.0, 2.0, 3.0), {"y": 1.0}, TypeError, "Multiple.*y"),
    ("unknown", difference, (1.0,), {"q": 1.0}, TypeError, "Unknown input or state: 'q'.*difference.*x, y"),
    ("ambiguous", same_names, (1.0,), {"x": 1.0}, TypeError, "Ambiguous name: x.*same"),
    ("implicit", reading_another, (1.0,), {"s": 1.0}, TypeError, "implicit input: s.*reading"),
    ("bad value", difference, ("one",), {}, TypeError, r"name \"x\".*difference.*index 0.*test_function_calls"),
    ("bad value by name", difference, (1.0,), {"y": "one"}, TypeError, r"name \"y\".*index 1"),
    ("bad value after a state", counting, (1.0,), {"y": [1.0]}, TypeError, r"name \"y\".*index 2"),
    ("bad state", counting, (1.0, [1.0], 2.0), {}, TypeError, r"name \"s\".*counting.*index 1.*test_function_calls"),
    ("position out of range", pair, (1.0,), {"output_subset": [2]}, IndexError, "pair.*2 outputs, none at 2"),
    ("position is a string", pair, (1.0,), {"output_subset": ["a"]}, IndexError, "pair.*none at 'a'"),
    ("unknown key", keyed, (1.0,), {"output_subset": ["minus"]}, ValueError, "'minus'.*keyed.*plus"),
    ("trusted float", without_checks, (1.0,), {}, ValueError, r"name \"x\".*a float.*trust_input"),
    ("trusted dtype", without_checks, (numpy.array(1),), {}, ValueError, "int64.*trust_input.*exactly"),
    ("trusted rank", without_checks, (numpy.zeros(1),), {}, ValueError, r"shape \(1,\).*trust_input"),
    ("trusted, missing", without_checks, (), {}, TypeError, "Missing"),
    ("trusted, bad name", without_checks, (), {"x": "one"}, TypeError, r"name \"x\""),
]

# A good call of each function and its result, to be made after an error.
AFTERWARDS = {
    difference: ((numpy.array(5.0),), {}, -5.0), without_checks: ((numpy.array(5.0),), {}, -5.0),
    counting: ((1.0,), {"y": 2.0}, [100.0, 2.0]), required_state: ((1.0, 3.0), {}, 3.0), pair: ((3.0,), {}, [4.0, 6.0]),
    keyed: ((3.0,), {}, {"plus": 4.0, "times": 6.0}), same_names: ((5.0, 2.0), {}, 3.0),
    reading_another: ((1.0,), {}, 101.0),
}


@pytest.mark.parametrize("name, make, arguments, keywords, exception, words", BAD_CALLS,
                         ids=[row[0] for row in BAD_CALLS])
def test_bad_call_and_the_next_one(name, make, arguments, keywords, exception, words):
    f = make()
    for _ in range(2):
        with pytest.raises(exception, match="(?s)" + words):
            f(*arguments, **keywords)
    good_arguments, good_keywords, expected = AFTERWARDS[make]
    assert f(*good_arguments, **good_keywords) == expected


def test_trusted_subclasses_are_read_as_arrays():
    f = function([v], v * 2)
    f.trust_input = True
    argument = numpy.arange(3.0).view(type("Labelled", (numpy.ndarray,), {}))
    for _ in range(100):
        assert f(argument).tolist() == [0.0, 2.0, 4.0]


def test_objects_are_trusted():
    f = function([thing], thing)
    f.trust_input = True
    assert f({"a": 1}) == {"a": 1}


# ---- values between calls --------------------------------------------------------------------------------------------
def test_a_default_that_was_set_counts_for_one_call():
    f = difference()
    f["y"] = 1.0
    assert f["y"] == 1.0 and f(5.0) == 4.0 and f["y"] == 10.0 and f(5.0) == -5.0
    f.container["y"].value = 1.0
    assert f(5.0, 2.0) == 3.0 and f(5.0) == -5.0
    f[1] = 1.0
    with pytest.raises(TypeError):
        f("five")
    assert f(5.0) == -5.0


def test_defaults_belong_to_the_function():
    default = numpy.ones(2)
    f = function([In(v, value=default, mutable=True)], v * 2)
    default[:] = 5.0
    assert f().tolist() == f().tolist() == [2.0, 2.0] and f[v].tolist() == [1.0, 1.0]


def test_states_persist():
    f = counting()
    f(1.0, y=0.0)
    assert f[s] == f["s"] == f[1] == f.value[s] == f.container[s].value == 101.0
    f[s] = 5
    assert f(1.0, y=0.0)[0] == 5.0 and f[s].dtype == "float64"
    f.container[s].value = 7
    assert f(1.0, y=0.0)[0] == 7.0


def test_values_have_one_identity():
    """As Theano documents it."""
    f = counting()
    for position in (s, "s", 1):
        assert f[position] is f.value[s] is f.container[s].value is f.container["s"].data
    other = function([x, In(s, update=s - x, value=f.container[s], implicit=False)], [])
    assert other[s] is f[s]
    held = f[s].copy(), f[s]
    f(1.0, y=0.0)
    assert held[0] == held[1] != f[s]                       # an array keeps the value it had
    f[s][...] = 50.0
    assert f(1.0, y=0.0)[0] == 50.0 and other[s] == f[s]


def test_a_required_state_has_the_value_of_the_last_call():
    f = required_state()
    f(1.0, 3.0)
    assert f[s] == 4.0
    assert function([In(thing, update=thing)], thing)({"a": 1}) == {"a": 1}


# (what, key, whether the function has it)
KEYS = [("variable", x, True), ("name", "x", True), ("position", 0, True), ("other variable", v, False),
        ("other name", "q", False), ("position out of range", 9, False), ("shared variable", None, True)]


@pytest.mark.parametrize("name, key, known", KEYS, ids=[row[0] for row in KEYS])
def test_keys(name, key, known):
    w = shared(3.0, "w")
    f = function([x], x * w, name="product")
    key = w if key is None else key
    assert (key in f) is (key in f.value) is (key in f.container) is known
    if known:
        assert f.container[key] in f.inv_finder
        return
    with pytest.raises(TypeError, match="Unknown input or state.*product.*\\(x\\).*states w"):
        f[key]
    with pytest.raises(TypeError, match="Unknown input or state.*product.*\\(x\\).*states w"):
        f[key] = 1.0
    with pytest.raises(KeyError):
        f.container[key]


def test_keys_that_are_ambiguous_or_not_hashable():
    f = same_names()
    with pytest.raises(TypeError, match="Ambiguous name: x.*same"):
        f["x"]
    with pytest.raises(TypeError, match="Unknown input or state"):
        f[[]]


def test_bad_values_leave_the_old_ones():
    f = counting()
    w = shared(numpy.zeros(2), "w")
    g = function([In(v, value=[1.0, 2.0])], v + w)
    for function_, key, value in ((f, s, "one"), (f, s, [1.0]), (g, v, 3.0), (g, w, numpy.zeros((2, 2)))):
        with pytest.raises(TypeError):
            function_[key] = value
    assert f[s] == 100.0 and g().tolist() == [1.0, 2.0]
    with pytest.raises(TypeError):
        function([In(v, value="one")], v)


def test_functions_share_a_container():
    add = counting()
    subtract = function([x, In(s, value=add.container[s], update=s - x, implicit=False)], [])
    read = function([In(s, value=add.container[s])], s)
    add(1.0, y=0.0)
    assert subtract.container[s].storage is add.container[s].storage and subtract[s] == 101.0
    subtract(2.0)
    assert add[s] == read() == 99.0
    subtract(2.0, 50.0)
    assert add[s] == read() == 48.0
    add[s] = 1.0
    assert subtract[s] == read() == 1.0


def test_a_function_reads_the_default_of_another():
    f = difference()
    g = function([x, In(y, value=f.container["y"])], x * y)
    assert g(2.0) == 20.0
    f["y"] = 3.0
    assert g(2.0) == 6.0 and f(5.0) == 2.0 and g(2.0) == 20.0
    with pytest.raises(TypeError, match="x has no value|no value that another"):
        function([In(x, value=f.container["x"])], x)


def test_a_state_in_a_shared_variable():
    w = shared(3.0, "w")
    f = function([x, In(s, value=w, update=s * x)], s)
    assert f(2.0) == 3.0 and w.get_value() == 6.0
    with pytest.raises(ValueError, match="share this container"):
        function([x, In(s, value=w, update=s * x)], s, updates={w: w + 1})


def test_container_storage_is_a_live_list():
    w = shared(numpy.zeros(2), "w")
    storage = function([], w).container["w"].storage
    assert isinstance(storage, list) and len(storage) == 1 and storage is w.container.storage
    w.set_value([1.0, 2.0])
    assert storage[0].tolist() == list(storage)[0].tolist() == [1.0, 2.0]
    storage[0] = numpy.array([3.0, 4.0])
    assert w.get_value().tolist() == [3.0, 4.0]
    with pytest.raises(IndexError):
        storage[1]


# ---- Python objects --------------------------------------------------------------------------------------------------
thing = phintys.gof.generic("thing")


@phintys.compile.as_op(phintys.gof.generic, phintys.gof.generic)
def extended(things):
    return [[*things, len(things)]]         # a list of results, of which there is one


@phintys.compile.as_op([phintys.gof.generic, T.dscalar], T.dvector)
def filled(things, value):
    return numpy.full(len(things), value)


# (what, inputs, outputs, arguments, expected)
OBJECTS = [
    ("through", [thing], thing, ({"a": 1},), {"a": 1}),
    ("None", [thing], [thing], (None,), [None]),
    ("through an op", [thing], extended(extended(thing)), ([],), [0, 1]),
    ("twice", [thing], [extended(thing), extended(thing), thing], ([],), [[0], [0], []]),
    ("default", [In(thing, value=("a",))], extended(thing), (), ["a", 1]),
    ("with numbers", [thing, x], filled(extended(thing), x * 2).sum(), ("ab", 3.0), 18.0),
    ("in a dictionary", [thing], {"long": extended(thing)}, ("a",), {"long": ["a", 1]}),
]


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
@pytest.mark.parametrize("name, inputs, outputs, arguments, expected", OBJECTS, ids=[row[0] for row in OBJECTS])
def test_objects(name, inputs, outputs, arguments, expected, mode):
    f = function(inputs, outputs, mode=mode)
    assert f(*arguments) == f(*arguments) == expected


def test_shared_objects():
    w = shared(["first"], "w")
    f = function([], w, updates={w: extended(w)})
    assert f() == ["first"] and f() == ["first", 1] and w.get_value() == ["first", 1, 2]
    w.set_value([])
    assert f() == [] and f["w"] == [0]
    g = function([In(thing, value=(), update=extended(thing))], thing)
    assert g() == () and g([5]) == [5] and g() == [5, 1] and g[thing] == [5, 1, 2]


# ---- Theano's attributes ---------------------------------------------------------------------------------------------
def test_attributes():
    w = shared(numpy.zeros(2), "w")
    f = function([x, In(y, value=1.0), In(s, value=2.0, update=s + x)], Out(x * y * s * w, borrow=True),
                 updates={w: w + 1})
    assert [entry[:2] for entry in f.defaults] == [(True, False), (False, True), (False, False), (False, False)]
    assert [entry[2] for entry in f.defaults] == [None, 1.0, 2.0, None]
    assert [(spec.name, none, specs == [spec]) for spec, none, specs in f.indices] == [
        (name, None, True) for name in ("x", "y", "s", "w")]
    assert [container.name for container in f.input_storage] == ["x", "y", "s", "w"]
    assert f.get_shared() == [w] and f.sync_shared() is None and f.free() is None
    assert f.unpack_single and not f.return_none and f.output_keys is None and f.n_returned_outputs == 1
    assert f.maker.required == [True, False, False, False] and f.maker.refeed == [False, True, False, False]
    assert f.maker.expanded_inputs is f.maker.inputs and f.maker.mode.linker == f.maker.linker
    assert f.outputs is f.maker.outputs and f.profile is None


def test_program_view():
    w = shared(numpy.zeros(2), "w")
    f = function([v], [T.exp(v) + w, w], updates={w: w + 1}, mode="FAST_COMPILE")
    fgraph = f.maker.fgraph
    assert f.fn is f.fn and f.fn.nodes and set(f.fn.nodes) == fgraph.apply_nodes
    assert set(f.fn.storage_map) == set(fgraph.clients)
    assert f.fn.storage_map[fgraph.inputs[1]] is w.container.storage
    assert [fgraph.outputs.index(value) for value in f.fn.updated_vars.values()] == [2]
    f.input_storage[0].storage[0] = numpy.zeros(2)
    f.fn(n_calls=3)
    assert f.output_storage[1][0].tolist() == [2.0, 2.0] and w.get_value().tolist() == [3.0, 3.0]


def test_makers_make_functions():
    maker = FunctionMaker([x, In(s, value=1.0, update=s + x)], s, mode="FAST_COMPILE")
    f, g = maker.create(), maker.create([None, 5.0])
    assert f(2.0) == 1.0 and g(2.0) == 5.0 and f[s] == 3.0 and g[s] == 7.0
    h = maker.create([None, f.container[s]])
    h(1.0)
    assert f[s] == 4.0
    assert FunctionMaker(x, None, on_unused_input="ignore").create()(1.0) is None
    assert function([x], None, on_unused_input="ignore")(1.0) == []


# (what, specification of an input s, arguments, result of s * 2)
TUPLES = [("(variable, value)", (s, 3.0), (), 6.0), ("((variable, update), value)", ((s, s + 1), 3.0), (), 6.0),
          ("(name, variable)", ("t", s), (2.0,), 4.0), ("[name, variable, value]", ["t", s, 3.0], (), 6.0),
          ("(name, (variable, update), value)", ("t", (s, s + 1), 3.0), (), 6.0), ("In", In(s, value=3.0), (), 6.0)]


@pytest.mark.parametrize("name, spec, arguments, expected", TUPLES, ids=[row[0] for row in TUPLES])
def test_inputs_as_tuples(name, spec, arguments, expected):
    assert orig_function([spec], s * 2)(*arguments) == function([spec], s * 2)(*arguments) == expected


@pytest.mark.parametrize("spec", [(), (1.0, s), (s, 1.0, 2.0, 3.0), ((s, s), ), ("t",), (s, x), ((s, s, s), 1.0)])
def test_bad_tuples(spec):
    with pytest.raises(TypeError, match="not valid"):
        function([spec], s * 2)


def test_supervisor():
    class Overwrites(phintys.gof.Op):
        destroy_map = {0: [0]}

        def make_node(self, value):
            return phintys.gof.Apply(self, [value], [value.type()])

    fgraph = phintys.gof.FunctionGraph([v, x], [Overwrites()(v.dimshuffle(0)), x + 1])
    phintys.compile.Supervisor(fgraph.inputs[1:]).validate(fgraph)
    with pytest.raises(phintys.gof.InconsistencyError, match="(?s)Trying to destroy.*test_function_calls"):
        phintys.compile.Supervisor(fgraph.inputs).validate(fgraph)
