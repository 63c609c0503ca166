"""`config.guards`: all kernels, also with operands that do not match, read and write only their memory."""
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
from guarded_arrays import guarded

import phintys
import phintys.tensor as T

PROGRAM = Path(__file__).parents[1] / "support" / "guarded_kernels.py"


def run_in_a_child(*arguments):
    """If the process dies, the last line names the kernel and its operands."""
    run = subprocess.run([sys.executable, "-I", str(PROGRAM), *map(str, arguments)], capture_output=True, text=True,
                         check=False)
    assert run.stdout.endswith("well\n"), (arguments, run.returncode, run.stdout.splitlines()[-1:], run.stderr[-2000:])


@pytest.mark.parametrize(("where", "workers"), [("after", 1), ("before", 2)])
def test_kernels_between_guards(where, workers):
    run_in_a_child(workers, 5, where, workers)


@pytest.mark.long
@pytest.mark.parametrize("where", ["after", "before"])
@pytest.mark.parametrize("workers", [1, 2])
def test_many_kernels_between_guards(where, workers):
    run_in_a_child(numpy.random.SeedSequence().entropy % (1 << 31), 500, where, workers)


def test_functions_and_what_they_keep_outlive_a_change_of_the_option():
    """Blocks that were taken with guards are given back without, and the other way round."""
    state, x = phintys.shared(numpy.ones(700)), T.dvector("x")
    f = phintys.function([x], [T.dot(x[::-1], x), x * 2], updates=[(state, state + x)])
    values = numpy.arange(700.0)
    for where in ("none", "after", "none", "before", "after", "none"):
        with phintys.config.change_flags(guards=where):
            for _ in range(4):
                total, double = f(values)
                assert total == values[::-1] @ values and (double == 2 * values).all()
    assert (state.get_value() == 1 + 24 * values).all()


def test_loops_and_updates_in_place_between_guards():
    """Kernels whose scratch memory is asked for before the calls in which they run."""
    w, v = phintys.shared(numpy.eye(40)), T.dvector("v")
    rows, _ = phintys.scan(lambda s, w: T.dot(w, s)[::-1], outputs_info=[v], non_sequences=[w], n_steps=6)
    f = phintys.function([v], rows[-1], updates=[(w, w + T.outer(v, v[::-1]))])
    with phintys.config.change_flags(guards="after"):
        for _ in range(4):
            found = f(numpy.arange(40.0) / 1000)
    assert found.shape == (40,) and numpy.isfinite(found).all()


def test_a_step_that_fails_reads_nothing_of_a_call_before():
    """Its error was explained by values of operands that it had not computed: those of the last call, given back."""
    rows, w, start = T.dmatrices("rows", "w", "start")
    (states, _), _ = phintys.scan(lambda row, old, last: (T.tanh(T.dot(old, w) + last * row), row * last[0]), rows,
                                  [dict(initial=start, taps=[-2, -1]), None])
    f = phintys.function([rows, w, start], states, mode="FAST_COMPILE")
    with phintys.config.change_flags(guards="after"):
        f(*[guarded(numpy.ones(shape)) for shape in ((1, 4), (4, 4), (2, 4))])
        with pytest.raises(ValueError, match="length = 0, length = 4"):
            f(*[guarded(numpy.ones(shape)) for shape in ((3, 4), (4, 4), (2, 0))])
