"""NanGuardMode and MonitorMode: what they see, what they do about it, and that functions work as ever."""
import copy
import logging
import pickle

import numpy as np
import pytest

import phintys
import phintys.tensor as T
from phintys import function, gof
from phintys.compile import MonitorMode, NanGuardMode
from phintys.compile.monitormode import detect_nan
from phintys.compile.nanguardmode import contains_inf, contains_nan
from phintys.debugging.nan_guard_mode import contains_big

VALUE = np.array([3.0, 1.0, 4.0])

# name, flags, value, words of the message or None
GUARDED = {
    "fine": ({}, 1.0, None),
    "NaN in an input": ({}, np.nan, "NaN detected.*an input of the graph"),
    "infinity in an input": ({}, np.inf, "Inf detected.*an input of the graph"),
    "large input": ({}, -1e11, "Big value.*an input of the graph"),
    "NaN in a node": ({}, -1.0, "NaN detected.*output 0 of a node"),
    "infinity in a node": ({}, 0.0, "Inf detected.*output 0 of a node"),
    "large node": ({}, 1e-9, "Big value detected.*output 0 of a node"),
    "NaN allowed": ({"nan_is_error": False}, -1.0, None),
    "infinity allowed": ({"inf_is_error": False, "big_is_error": False}, 0.0, None),
    "large allowed": ({"big_is_error": False}, 1e-9, None),
}


@pytest.mark.parametrize("name", GUARDED)
def test_nan_guard(name):
    flags, value, words = GUARDED[name]
    x = T.dvector("x")
    f = function([x], (1 / T.sqrt(x)) ** 3, mode=NanGuardMode(**flags))
    if words is None:
        np.testing.assert_array_equal(f([value, 4.0])[1], 0.125)
        return
    with pytest.raises(AssertionError, match=f"(?s){words}") as caught:
        f([4.0, value])
    assert f"{__file__}:" in str(caught.value)


def test_large_numbers():
    for dtype, large in (("float64", 1e11), ("float32", -1e11), ("complex64", 1e11j), ("int64", 10**11)):
        assert contains_big(np.array([1, large], dtype)) and not contains_big(np.array([1, 5], dtype))
    assert not contains_big(np.array([127], "int8")) and not contains_big(np.array([], "float64"))
    assert not contains_big(np.array([True])) and not contains_big("1e11")


def test_nan_guard_sees_intermediate_and_shared_values_but_not_what_is_tagged():
    x, s = T.dvector("x"), phintys.shared(np.array([1.0, np.inf]), name="s")
    mode = NanGuardMode(optimizer=None)
    with pytest.raises(AssertionError, match="(?s)Inf.*s"):
        function([], s > 0, mode=mode)()
    y = T.log(x)
    with pytest.raises(AssertionError, match="Inf"):
        function([x], y > 0, mode=mode)([0.0])
    y.tag.nan_guard_mode_check = False
    assert not function([x], y > 0, mode=mode)([0.0])


def test_nan_guard_passes_other_values():
    i, n = T.lvector("i"), T.ivector("n")
    generic = phintys.graph.type.generic("g")
    results = function([i, n, generic], [i + n, generic, i[:0]], mode="NanGuardMode")([1], [2], slice(1, 2))
    assert results[0] == [3] and results[1] == slice(1, 2) and results[2].size == 0


def test_nan_guard_action(caplog):
    x = T.dscalar("x")
    f = function([x], T.log(x), mode="NanGuardMode")
    with phintys.change_flags({"NanGuardMode.action": "warn"}), caplog.at_level(logging.ERROR):
        assert np.isnan(f(-1.0))
    assert "NaN detected" in caplog.text


def test_a_guarded_call_that_fails_stores_nothing():
    x, n = T.dvector("x"), phintys.shared(np.zeros(3), name="n")
    f = function([x], T.log(x).sum(), updates=[(n, n + x)], mode="NanGuardMode")
    f(VALUE)
    with pytest.raises(AssertionError):
        f(-VALUE)
    np.testing.assert_array_equal(n.get_value(), VALUE)


def test_what_contains_what():
    assert contains_nan(np.array([1.0, np.nan])) and not contains_nan(np.array([1, 2])) and not contains_nan(None)
    assert contains_inf(np.array(-np.inf)) and not contains_inf(np.array([])) and not contains_inf(slice(1))


@pytest.fixture
def events():
    return []


def monitor(events, **options):
    return MonitorMode(pre_func=lambda i, node, fn: events.append(("pre", i, str(node.op), fn.outputs[0][0])),
                       post_func=lambda i, node, fn: events.append(("post", i, fn.inputs[0][0] + 0, fn.outputs[0][0])),
                       **options)


def test_monitor_is_called_before_and_after_each_node(events):
    x = T.dvector("x")
    f = function([x], T.exp(x).sum(), mode=monitor(events, optimizer=None))
    assert f(VALUE) == pytest.approx(np.exp(VALUE).sum())
    assert [event[:2] for event in events] == [("pre", 0), ("post", 0), ("pre", 1), ("post", 1)]
    assert [event[3] for event in events[::2]] == [None, None] and "exp" in events[0][2]
    np.testing.assert_array_equal(events[1][2], VALUE)
    np.testing.assert_allclose(events[1][3], np.exp(VALUE))


def test_monitor_without_functions_only_runs():
    x, n = T.dvector("x"), phintys.shared(np.zeros(3))
    f = function([x], {"a": x * 2}, updates=[(n, n + x)], mode="MonitorMode")
    np.testing.assert_array_equal(f(x=VALUE)["a"], 2 * VALUE)
    np.testing.assert_array_equal(n.get_value(), VALUE)


def test_errors_name_the_node(events):
    x, y = T.dvectors("x", "y")
    with pytest.raises(ValueError, match="(?s)mis-match.*Apply node that caused the error"):
        function([x, y], x + y, mode=monitor(events))(VALUE, VALUE[:2])


def test_detect_nan(capsys):
    x = T.dscalar("x")
    f = function([x], T.log(x) * x, mode=MonitorMode(post_func=detect_nan).excluding("fusion"))
    f(1.0)
    assert capsys.readouterr().out == ""
    f(0.0)
    printed = capsys.readouterr().out
    assert "*** NaN detected ***" in printed and "Inputs" in printed and "Elemwise{mul" in printed


@pytest.mark.parametrize("mode, attributes", [
    (NanGuardMode(True, False, False), {"nan_is_error": True, "inf_is_error": False, "big_is_error": False}),
    (MonitorMode(post_func=detect_nan), {"pre_func": None, "post_func": detect_nan})],
    ids=lambda value: type(value).__name__)
def test_derived_modes_keep_what_they_look_for(mode, attributes):
    derived = mode.excluding("fusion")
    for other in (derived, copy.copy(derived), pickle.loads(pickle.dumps(derived))):
        assert type(other) is type(mode) and "fusion" in other.query.exclude
        assert {name: getattr(other, name) for name in attributes} == attributes


@pytest.mark.parametrize("make, exception", [
    (lambda: NanGuardMode(False, False, False), AssertionError), (lambda: MonitorMode(linker="cvm"), ValueError)])
def test_refused(make, exception):
    with pytest.raises(exception):
        make()


# ---- linkers that call back ------------------------------------------------------------------------------------------
def test_a_wrapped_linker_runs_each_node_by_the_users_function():
    x, n = T.dvector("x"), phintys.shared(1.0, "n")
    seen = []

    def wrapper(i, node, thunk):
        thunk()
        seen.append((i, str(node.op), [cell[0] for cell in thunk.inputs], thunk.outputs[0][0]))

    linker = gof.WrapLinkerMany([gof.PerformLinker()], [wrapper, lambda i, node, thunk: seen.append(i)])
    f = function([x], T.exp(x).sum() * n, updates=[(n, n + 1)], mode=phintys.Mode(linker, optimizer=None))
    for count in (1, 2):
        del seen[:]
        assert f(VALUE) == pytest.approx(np.exp(VALUE).sum() * count)
        assert seen[1::2] == [event[0] for event in seen[::2]] == list(range(len(seen) // 2))
    np.testing.assert_array_equal(seen[0][2][0], VALUE)
    assert n.get_value() == 3


def test_wrapped_linkers_have_values_of_their_own():
    x = T.dvector("x")

    def wrapper(i, node, first, second):
        first()
        second()
        np.testing.assert_array_equal(first.outputs[0][0], second.outputs[0][0])
        assert first.outputs[0][0] is not second.outputs[0][0]
        second.outputs[0][0] = second.outputs[0][0] * 0

    linker = gof.WrapLinker([gof.PerformLinker(), gof.OpWiseCLinker()], wrapper)
    one_node = linker.accept(gof.FunctionGraph([x], [T.exp(x)], clone=False)).make_function()
    np.testing.assert_allclose(one_node(VALUE), np.exp(VALUE))
    two_nodes = linker.clone().accept(gof.FunctionGraph([x], [T.log(T.exp(x) + 1)], clone=False)).make_function()
    with pytest.raises(AssertionError, match="Apply node that caused the error"):
        two_nodes(VALUE)
