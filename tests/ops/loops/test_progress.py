"""The progress bar of long loops: by rich and without, and never for short loops."""
import sys

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.graph import progress
from phintys.graph.config import config
from phintys.scan_module import until


def counting(**options):
    k = T.lscalar()
    rows, _ = phintys.scan(lambda x: x + 1, outputs_info=numpy.array(0.), n_steps=k, name="counting", **options)
    return phintys.function([k], rows[-1])


@pytest.fixture(autouse=True)
def follows_the_option_again(monkeypatch):
    """Loops keep the patience of the moment at which the option was set: afterwards that of the module again."""
    yield
    monkeypatch.undo()
    with phintys.change_flags(**{"scan.progress": not config.scan.progress}):
        pass


@pytest.fixture
def shown_at_once(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0)
    monkeypatch.setattr(progress, "INTERVAL", 0)


def test_a_line(monkeypatch, capsys, shown_at_once):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    f = counting()
    with phintys.change_flags(**{"scan.progress": True}):
        assert f(4) == 4
    shown = capsys.readouterr().err
    assert shown.startswith("\rcounting: 0 of 4 steps, 0%") and shown.endswith("\rcounting: 4 of 4 steps, 100%\n")
    assert f(4) == 4 and not capsys.readouterr().err


def test_a_bar_by_rich(capsys, shown_at_once):
    pytest.importorskip("rich")
    f = counting()
    with phintys.change_flags(**{"scan.progress": True}):
        assert f(4) == 4
    shown = capsys.readouterr().err
    assert "counting" in shown and "4/4" in shown


def test_short_loops_show_nothing(monkeypatch, capsys):
    monkeypatch.setattr(progress, "PATIENCE", 1e9)
    f = counting()
    with phintys.change_flags(**{"scan.progress": True}):
        assert f(100) == 100
    assert not capsys.readouterr().err


def test_loops_without_a_bound_and_loops_that_fail(monkeypatch, capsys, shown_at_once):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    rows, _ = phintys.scan(lambda x: (x + 1, until(x > 2)), outputs_info=numpy.array(0.), name="open")
    x = T.matrix()
    failing, _ = phintys.scan(lambda i, x: (i + 1, x[i] * 2), outputs_info=[T.constant(0, dtype="int64"), None],
                              non_sequences=x, n_steps=5, name="failing")
    f, g = phintys.function([], rows), phintys.function([x], failing[1], mode="FAST_COMPILE")
    with phintys.change_flags(**{"scan.progress": True}):
        assert len(f()) == 4
        with pytest.raises(IndexError, match="in step 2"):
            g(numpy.ones((2, 2)))
    shown = capsys.readouterr().err
    assert "open: 3 steps" in shown and shown.endswith("failing: 2 of 5 steps, 40%\n")


def nested(mode=None):
    """A loop of four steps, in each of which a loop does five."""
    def step(state):
        inner, _ = phintys.scan(lambda state: state + 1, outputs_info=state, n_steps=5, name="inner")
        return inner[-1]

    rows, _ = phintys.scan(step, outputs_info=numpy.array(0.), n_steps=4, name="outer")
    return phintys.function([], rows[-1], mode=mode)


@pytest.mark.parametrize("mode", ["FAST_RUN", "DebugMode"])
def test_a_loop_in_a_loop_shares_its_line(mode, monkeypatch, capsys, shown_at_once):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    f = nested(mode)
    with phintys.change_flags(**{"scan.progress": True}):
        assert f() == 20
    shown = capsys.readouterr().err
    assert "\router: 1 of 4 steps, 25%; inner: 5 of 5 steps, 100%\router: 1 of 4 steps, 25%  " in shown
    if mode == "FAST_RUN":
        assert shown.endswith("\router: 4 of 4 steps, 100%\n") and shown.count("\n") == 1


def test_a_loop_in_a_loop_has_a_bar_below(capsys, shown_at_once):
    pytest.importorskip("rich")
    f = nested()
    with phintys.change_flags(**{"scan.progress": True}):
        assert f() == 20
    shown = capsys.readouterr().err
    assert "outer" in shown and "4/4" in shown and shown.count("\n") <= 4


def test_bars_of_loops_that_fail_are_closed(monkeypatch, capsys, shown_at_once):
    """What runs afterwards is not taken for a loop inside them."""
    monkeypatch.setitem(sys.modules, "rich.console", None)
    values = phintys.shared([1])

    @phintys.as_op(itypes=[values.type], otypes=[values.type])
    def fails(value):
        raise ValueError("no")

    _, updates = phintys.scan(lambda: {values: fails(values)}, n_steps=5, name="failing")
    f, g = phintys.function([], [], updates=updates), counting()
    with phintys.change_flags(**{"scan.progress": True}):
        with pytest.raises(ValueError, match="in step 0") as kept:
            f()
        assert g(2) == 2
    assert kept.value is not None and "failing: 0 of 5 steps, 0%; " not in capsys.readouterr().err


# ---- where no option asks for one ------------------------------------------------------------------------------------
@pytest.fixture
def terminal(monkeypatch):
    """The standard error is a terminal, and patience short."""
    monkeypatch.setitem(sys.modules, "rich.console", None)
    monkeypatch.setattr(progress, "is_on_terminal", lambda: True)
    monkeypatch.setattr("phintys.vm.loops.loop_kernel.is_on_terminal", lambda: True)
    monkeypatch.setattr(progress, "LONG_PATIENCE", 0)
    monkeypatch.setattr(progress, "INTERVAL", 0)


@pytest.mark.parametrize("mode", [None, "DebugMode"])
def test_a_long_loop_on_a_terminal_has_a_bar(capsys, terminal, mode):
    f = counting() if mode is None else counting(mode=mode)
    with phintys.change_flags(**{"scan.progress": "auto"}):
        assert f(4000) == 4000
    assert "counting: 4000 of 4000 steps, 100%" in capsys.readouterr().err


def test_elsewhere_it_has_none(capsys, monkeypatch):
    monkeypatch.setattr(progress, "LONG_PATIENCE", 0)
    assert not progress.is_on_terminal()
    f = counting()
    with phintys.change_flags(**{"scan.progress": "auto", "compile.progress": "auto"}):
        assert f(4000) == 4000 and counting()(3) == 3
    assert not capsys.readouterr().err


def test_a_closed_standard_error_is_no_terminal(monkeypatch):
    for stream in (None, open(__file__)):
        monkeypatch.setattr(sys, "stderr", stream)
        if stream is not None:
            stream.close()
        assert not progress.is_on_terminal()


@pytest.mark.parametrize("wanted", [True, "auto"])
def test_a_long_compilation_has_a_bar(capsys, terminal, shown_at_once, wanted):
    x = T.dvector("x")
    with phintys.change_flags(**{"compile.progress": wanted}):
        phintys.function([x], T.tanh(x) + 1, name="f")
    shown = capsys.readouterr().err
    assert shown.startswith("\rcompiling f: 0 of ") and shown.endswith("100%\n")


def test_a_long_stage_of_a_compilation_moves_the_bar(capsys, terminal, shown_at_once):
    x = T.dvector("x")
    y = x
    for number in range(700):
        y = T.exp(y) * number
    with phintys.change_flags(**{"compile.progress": True}):
        phintys.function([x], y, name="long")
    stages = capsys.readouterr().err.split("\r")
    assert len(stages) > len(dict.fromkeys(stages))                     # the same stage was shown more than once


def test_a_rewrite_that_raises_closes_the_bar(capsys, terminal, shown_at_once):
    with pytest.raises(KeyError), progress.bar_for("work", 3, True) as tell:
        tell(1)
        raise KeyError
    assert capsys.readouterr().err.endswith("work: 1 of 3 steps, 33%\n") and progress._running.innermost is None
