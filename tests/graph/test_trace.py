"""Where variables and nodes were made: traces through libraries, their limit, Theano's ``tag.trace``, and pickling."""
import copy
import pickle
import sys

import pytest

import phintys
from phintys import tensor as T
from phintys.graph.trace import MOST_TRACES, Traces, joined, lines_of, noted, stays, traces_of
from phintys.vm.call_stack import user_trace

LIBRARY = """
def layer(x, depth):
    if depth:
        return layer(x, depth - 1)
    return x * 2


def call(function):
    return function()
"""


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A module that looks installed by its path."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "phintys_test_layers.py").write_text(LIBRARY)
    monkeypatch.syspath_prepend(str(folder))
    import phintys_test_layers
    yield phintys_test_layers
    del sys.modules["phintys_test_layers"]


def line(offset=0):
    return __file__, sys._getframe(1).f_lineno + offset


@pytest.mark.parametrize("depth", [0, 5, 50])
def test_the_users_line_is_found_outside_libraries(library, depth):
    y, here = library.layer(T.dvector(), depth), line()
    trace, = traces_of(y.owner._position)
    assert y.where == here
    assert trace[0] == (library.__file__, 5, "layer")
    expected = 8 if depth < 8 else 9                # all eight are the library's; the user's comes after them
    assert len(trace) == expected and [frame[0] for frame in trace].index(__file__) == min(depth + 1, 8)


def test_code_that_a_library_calls_is_the_users(library):
    y, here = library.call(lambda: T.dvector() + 1), line()
    trace, = traces_of(y.owner._position)
    assert y.where == here and [frame[2] for frame in trace[:3]] == ["<lambda>", "call", sys._getframe().f_code.co_name]


def test_an_error_shows_the_calls_outside_phintys(library):
    a, b = T.dvectors(2)
    z, here = library.call(lambda: a + b).sum(), line()
    with pytest.raises(ValueError) as caught:
        phintys.function([a, b], z)([1.0, 2.0], [1.0, 2.0, 3.0])
    told = str(caught.value).splitlines()[-8:]
    text = "z, here = library.call(lambda: a + b).sum(), line()"
    assert told == ["Backtrace when the node is created (most recent call last):",
                    f'  File "{__file__}", line {here[1]}, in test_an_error_shows_the_calls_outside_phintys',
                    f"    {text}",
                    f'  File "{library.__file__}", line 9, in call', "    return function()",
                    f'  File "{__file__}", line {here[1]}, in <lambda>    <- your line', f"    {text}",
                    f'Made at: File "{__file__}", line {here[1]}, in <lambda>: {text}']


def test_the_line_of_a_library_is_not_called_the_users(library):
    a, b = T.dvectors(2)
    here = line(1)
    z = library.layer(a, 1) + library.layer(b, 0)
    for node in (z.owner, z.owner.inputs[0].owner):
        assert node.where == here


@pytest.mark.parametrize("limit, kept", [(1, 1), (2, 2), (0, 0)])
def test_the_limit_of_traces(limit, kept):
    with phintys.config.change_flags({"traceback.limit": limit}):
        y = T.dvector() + 1
    assert [len(trace) for trace in traces_of(y.owner._position)] == [kept] * bool(kept)
    assert (y.where is None) == (limit == 0)


def test_all_frames_are_kept_where_there_is_no_limit():
    with phintys.config.change_flags({"traceback.limit": -1}):
        y = T.dvector() + 1
    assert len(traces_of(y.owner._position)[0]) > 8


def test_tag_trace_is_theanos_list():
    y, (file, number) = T.dvector("x") * 2, line()
    trace, = y.tag.trace
    assert trace[-1] == (file, number, "test_tag_trace_is_theanos_list",
                         'y, (file, number) = T.dvector("x") * 2, line()')
    assert y.owner.tag.trace == y.tag.trace and not hasattr(T.dvector("x").type.make_variable().tag, "trace")
    assert vars(y.tag) == {}


def test_a_trace_that_was_set_is_shown():
    x, y, here = T.dvector(), T.dvector() * 2, line()
    x = x + 1
    x.tag.trace = y.tag.trace
    assert x.where == here and x.clone().where == here
    y.tag.trace = ["not a trace"]
    assert y.where == here and y.tag.trace == ["not a trace"]


@pytest.mark.parametrize("copied", [lambda y: pickle.loads(pickle.dumps(y)), copy.deepcopy, copy.copy])
def test_traces_survive_copies(copied):
    y = T.dvector() * 2
    y.tag.note = "kept"
    again = copied(y)
    assert again.where == y.where and again.tag.trace == y.tag.trace and again.tag.note == "kept"


def test_several_traces_are_kept_together():
    traces = [user_trace(), user_trace(), None]
    several = joined([traces[0], Traces(traces, in_parts=True)])
    assert traces_of(several) == [*traces_of(traces[0]), *traces_of(traces[1])][:1]      # one line, twice
    assert traces_of(pickle.loads(pickle.dumps(several))) == traces_of(several)
    assert joined([None, None]) is None and traces_of(None) == [] and joined([None, traces[0]]) is traces[0]
    many = [((str(number), number, ""),) for number in range(2 * MOST_TRACES)]
    assert traces_of(joined(many)) == many[:MOST_TRACES]


def test_a_note_follows_the_function_of_the_users_line_and_stays(library):
    y, here = library.layer(T.dvector(), 0), line()
    position = noted(y.owner._position, "in step 2")
    trace, = traces_of(position)
    function = sys._getframe().f_code.co_name
    assert [frame[2] for frame in trace[:2]] == ["layer", f"{function}, in step 2"] and trace[1][:2] == here
    assert stays(position) and not stays(y.owner._position) and noted(None, "in step 2") is None
    restored = pickle.loads(pickle.dumps(position))
    assert stays(restored) and traces_of(restored) == [trace]
    assert traces_of(joined([position, y.owner._position])) == [trace, *traces_of(y.owner._position)]


# ---- gradients -------------------------------------------------------------------------------------------------------
def test_nodes_of_a_gradient_know_the_line_that_they_are_the_gradient_of():
    x = T.dvector("x")
    y, made = T.tanh(x), line()
    by_x, asked = phintys.grad(y.sum(), x), line()
    node = by_x.owner
    assert node.where == asked
    assert lines_of(node._position) == [(*made, True)] and lines_of(y.owner._position) == [(*made, False)]
    again = pickle.loads(pickle.dumps(node))
    assert lines_of(again._position) == [(*made, True)] and again.where == asked


def test_the_gradient_of_a_gradient_names_the_first_line():
    x = T.dvector("x")
    y, made = x ** 3, line()
    second = phintys.grad(phintys.grad(y.sum(), x).sum(), x)
    assert (*made, True) in lines_of(second.owner._position)


def test_what_replaces_two_nodes_knows_the_lines_of_both():
    x = T.dvector("x")
    inner = 1 + x
    outer = T.log(inner)
    node, = phintys.function([x], outer).maker.fgraph.toposort()
    assert node.op == T.log1p
    assert set(lines_of(node._position)) == {*lines_of(inner.owner._position), *lines_of(outer.owner._position)}
    assert len(set(lines_of(node._position))) == 2


def test_lines_of_gradients_pass_through_rewrites_and_loops():
    m, w = T.dmatrix("m"), T.dvector("w")
    rows, _ = phintys.scan(lambda row, before: T.tanh(before * row), sequences=m, outputs_info=w)
    made = line(-1)
    f = phintys.function([m, w], phintys.grad(rows.sum(), w))
    loops = [node for node in f.maker.fgraph.toposort() if getattr(node.op, "is_loop", False)]
    inside = [lines_of(node._position) for loop in loops for node in loop.op.fn.maker.fgraph.toposort()]
    assert any((*made, True) in found for found in inside) and any((*made, False) in found for found in inside)


def test_an_error_in_a_gradient_names_the_line_that_it_is_the_gradient_of():
    x, g = T.dvector("x"), T.dvector("g")
    y, made = T.exp(x), line()
    f = phintys.function([x, g], phintys.grad(None, x, known_grads={y: g}), mode="FAST_COMPILE")
    with pytest.raises(ValueError, match=f"It belongs to the gradient of: .*line {made[1]},"):
        f([1.0, 2.0], [1.0, 2.0, 3.0])


def test_no_source_is_left_after_an_error_in_a_gradient():
    class Wrong(phintys.Op):
        __props__ = ()

        def make_node(self, value):
            return phintys.Apply(self, [value], [value.type()])

        def grad(self, inputs, output_grads):
            raise KeyError("no gradient")

    x = T.dvector("x")
    with pytest.raises(KeyError):
        phintys.grad(Wrong()(x).sum(), x)
    y, made = x + 1, line()
    assert lines_of(y.owner._position) == [(*made, False)]
