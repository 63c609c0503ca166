"""``phintys.test()``: the programs are right here, and mistakes are found and told."""
import re
from pathlib import Path

import numpy as np
import pytest

import phintys
from phintys import self_test


def test_this_installation_is_right(capsys):
    assert phintys.test()
    shown = capsys.readouterr().out
    assert shown.startswith(f"phintys {phintys.__version__}, Python ")
    assert all(f"{name}: right\n" in shown for name in self_test.PROGRAMS)
    assert shown.endswith(f"{len(self_test.PROGRAMS)} of {len(self_test.PROGRAMS)} programs are right\n")


def test_it_can_be_silent(capsys):
    assert phintys.test(verbose=0)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("program, text", [
    (lambda phintys, T: (np.ones(2), np.zeros(2)), r"the result is \[1. 1.\], not \[0. 0.\]"),
    (lambda phintys, T: (np.ones(2), np.ones(3)), r"the shape is \(2,\), not \(3,\)"),
    (lambda phintys, T: 1 / 0, "ZeroDivisionError: division by zero")])
def test_what_is_wrong_is_told(monkeypatch, capsys, program, text):
    monkeypatch.setattr(self_test, "PROGRAMS", {"odd": program})
    assert not phintys.test()
    error, = capsys.readouterr().err.splitlines()
    assert re.search(f"odd: WRONG: {text}", error)


def test_labels(monkeypatch, tmp_path):
    with pytest.raises(ValueError, match="there is no test 'fast'; expected 'quick' or 'full'"):
        phintys.test("fast")
    monkeypatch.setattr(self_test, "TESTS", tmp_path)
    with pytest.raises(RuntimeError, match="not part of the installed package"):
        phintys.test("full")


def test_full_runs_pytest(monkeypatch):
    given = []
    monkeypatch.setattr(pytest, "main", lambda arguments: given.append(arguments) or 0)
    monkeypatch.setattr(self_test, "TESTS", Path(__file__).parents[1])      # an installed package has no tests
    assert phintys.test("full", verbose=0, extra_argv=["-x"])
    assert given == [[str(self_test.TESTS), "-q", "-x"]]
