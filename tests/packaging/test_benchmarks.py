"""Every benchmark runs: one call each, with the first value of each parameter. Nothing is measured."""
import importlib
import inspect
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "asv_bench"
FILES = sorted(path.stem for path in (FOLDER / "benchmarks").glob("[!_]*.py"))
KINDS = ("time_", "track_", "peakmem_")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
TOO_LONG = {"import_cost": {"track_cpu_seconds_on_top_of_numpy"}, "memory": {"track_growth_per_function"},
            "instructions": {"track_instructions_a_call"}}


@pytest.fixture
def benchmarks(monkeypatch, request):
    """The module of one file; the thread counts it sets on import are taken back."""
    for variable in THREADS:
        monkeypatch.setenv(variable, "1")
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module(f"benchmarks.{request.param}")


def measures(owner):
    """The names of the functions that asv would call."""
    return [name for name in dir(owner) if name.startswith(KINDS)]


@pytest.mark.parametrize("benchmarks", FILES, indirect=True)
def test_benchmarks_run(benchmarks, monkeypatch):
    left_out = TOO_LONG.get(benchmarks.__name__.rpartition(".")[2], set())
    if hasattr(benchmarks, "SIZE"):                     # of the matrices whose memory is measured
        monkeypatch.setattr(benchmarks, "SIZE", 8)
    calls = 0
    for name in set(measures(benchmarks)) - left_out:
        getattr(benchmarks, name)()
        calls += 1
    for _, kind in inspect.getmembers(benchmarks, inspect.isclass):
        arguments = [values[0] for values in getattr(kind, "params", [])]
        for name in set(measures(kind)) - left_out:
            suite = kind()
            if hasattr(suite, "setup"):
                suite.setup(*arguments)
            getattr(suite, name)(*arguments)
            calls += 1
    assert calls or benchmarks.__name__ == "benchmarks.instructions"


@pytest.mark.parametrize("benchmarks", ["instructions"], indirect=True)
def test_instructions_are_skipped_without_valgrind(benchmarks, monkeypatch):
    suite = benchmarks.Instructions()
    assert measures(suite) == ["track_instructions_a_call"]
    monkeypatch.setattr(benchmarks.shutil, "which", lambda name: None)
    for program in suite.params[0]:
        with pytest.raises(NotImplementedError):
            suite.setup(program)


@pytest.mark.parametrize("benchmarks", ["instructions"], indirect=True)
def test_the_programs_whose_instructions_are_counted_run(benchmarks):
    for setup, arguments, _ in [*benchmarks.ROWS.values(), benchmarks.EMPTY]:
        loop = benchmarks.LOOP.format(arguments=arguments, calls=1)
        exec(benchmarks.SETUP.replace("gc.disable()", "") + setup + loop, {})


@pytest.mark.parametrize("benchmarks", ["instructions"], indirect=True)
def test_instructions_are_counted(benchmarks, monkeypatch):
    """Of a whole call: what the longer of two processes takes more, less the loop around it."""
    class Run:
        returncode = 0

    def run(command, **options):
        calls = int(command[-1].split("loop(50); loop(")[1].rstrip(")\n"))
        result = Run()
        result.stderr = f"==1== Collected : {1000 + calls * (30 if 'f = callable' in command[-1] else 930)}"
        return result

    monkeypatch.setattr(benchmarks.subprocess, "run", run)
    benchmarks.instructions_of_loop.cache_clear()
    assert benchmarks.Instructions().track_instructions_a_call("increment_0d") == 900
    benchmarks.instructions_of_loop.cache_clear()
    monkeypatch.setattr(Run, "returncode", 1)
    with pytest.raises(RuntimeError, match="Collected"):
        benchmarks.Instructions().track_instructions_a_call("increment_0d")
