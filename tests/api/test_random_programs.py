"""Random programs over all families, and the first units of the campaigns; ``tests/campaign`` runs them for longer."""
import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy
import pytest
import random_batches
import random_derivatives
import random_programs

import phintys

CAMPAIGNS = Path(__file__).parents[1] / "campaign"


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_random_programs(first):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(first, first + 10):
            random_programs.check(seed)


def test_batches_of_random_programs():
    with phintys.config.change_flags(on_opt_error="raise"):
        assert sum([random_batches.check(seed) for seed in range(4)]) > 4 * 40


def test_a_wrong_optimized_function_is_found(monkeypatch):
    compiled = random_programs.Variant.compiled

    def wrong(self, *options):
        self.outputs[0], first = self.outputs[1], self.outputs[0]
        function = compiled(self, *options)
        self.outputs[0] = first
        return function
    monkeypatch.setattr(random_programs.Variant, "compiled", wrong)
    with pytest.raises(AssertionError, match="result 0|dtype"):
        for seed in range(4):
            random_batches.check(seed)


def test_what_long_doubles_are_compared_with(monkeypatch):
    """A function whose results are off by a billionth: only this comparison may look here."""
    compiled = random_programs.Variant.compiled

    def imprecise(self, *options):
        function = compiled(self, *options)
        return lambda *arguments: [result * (1 + 1e-9) if result.dtype == "float64" else result
                                   for result in map(numpy.asarray, function(*arguments))]
    monkeypatch.setattr(random_programs.Variant, "compiled", imprecise)
    monkeypatch.setattr(random_programs.Variant, "agree", lambda *arguments: None)
    monkeypatch.setattr(random_programs.Variant, "moved", lambda self, function, first: function)
    with pytest.raises(AssertionError, match="the steps as written by"):
        for seed in range(0, 40, 4):
            random_batches.check(seed)


def test_derivatives_of_random_programs():
    with phintys.config.change_flags(on_opt_error="raise"):
        assert sum([random_batches.check(seed, 8, derivatives=True) for seed in range(6)]) > 6 * 6


@pytest.mark.parametrize("kind, found", [("first", "the first derivative"), ("second", "the second derivative"),
                                         ("forward", "the forward derivative")])
def test_a_wrong_derivative_is_found(monkeypatch, kind, found):
    """By differences, as all modes agree on it."""
    made = random_derivatives.Derivatives.made
    monkeypatch.setattr(random_derivatives.Derivatives, "made", staticmethod(
        lambda own, result, x: made(own, result * 1.001 if own == kind else result, x)))
    with pytest.raises(AssertionError, match=found):
        for seed in range(20):
            random_batches.check(seed, 8, derivatives=True)


def test_a_derivative_that_a_mode_gets_wrong_is_found(monkeypatch):
    """Where differences are not compared, only the other function says otherwise."""
    wanted = random_programs.Variant.wanted
    monkeypatch.setattr(random_derivatives.Derivatives, "compare_with_differences", lambda *arguments: 0)
    monkeypatch.setattr(random_programs.Variant, "wanted", lambda self: [
        *wanted(self)[:len(self.outputs)], *[value * 1.001 for value in wanted(self)[len(self.outputs):]]])
    with pytest.raises(AssertionError, match="derivative by value .*roundings change it by"):
        for seed in range(20):
            random_batches.check(seed, 8, derivatives=True)


def test_a_wrong_step_is_found(monkeypatch):
    rows = [(kinds, least, most, (text, "n.abs(a) + 1" if text == "abs(a)" else plain))
            for kinds, least, most, (text, plain) in random_programs.ROWS]
    monkeypatch.setattr(random_programs, "ROWS", [row for row in rows if row[3][0] in ("abs(a)", "-a", "a * a")])
    with pytest.raises(AssertionError, match=r"abs\(a\) with"):
        for seed in range(20):
            random_programs.check(seed)


@pytest.mark.long
@pytest.mark.parametrize("first", range(1000, 9000, 100))
def test_many_random_programs(first):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(first, first + 100):
            random_programs.check(seed)


def test_a_campaign_goes_on_where_it_stopped(tmp_path):
    path = tmp_path / "faults.json"
    for _ in range(2):
        done = subprocess.run([sys.executable, "-I", str(CAMPAIGNS / "run.py"), "faults", "--minutes", "0.01",
                               "--results", str(tmp_path)], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        result = json.loads(path.read_text())
        assert result["next"] == result["units"] == sum([run["units"] for run in result["runs"]]) > 0
        assert not result["finds"]
    assert len(result["runs"]) == 2 and result["runs"][1]["units"] > 0
