"""Programs of the case tables are saved and loaded again; with PHINTYS_SAVED_PROGRAMS=1 those of all tests.

A program that is tried runs twice, so some tests fail with the variable: those that count how often ``perform`` runs,
change values from other threads or while arguments convert, or store shared variables in shared variables.
"""
import gc
import os
import sys
from collections import Counter
from pathlib import Path

import run_folder

run_folder.enter()                      # before anything is imported that looks for the user's home

import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

import phintys  # noqa: E402

phintys.config.check_plans = True       # each layout of a plan is gone through by brute force

pytest.register_assert_rewrite("dense_checks")          # tests that several folders have

CASE_TABLES = {"test_allocation", "test_batch_normalization", "test_blas", "test_crossentropy", "test_cumulative",
               "test_einsum", "test_elementwise_table", "test_indexing_advanced", "test_indexing_functions",
               "test_joins", "test_products", "test_rearranging", "test_reduction", "test_searching",
               "test_shape_ops", "test_softmax", "test_sorting", "test_subtensor"}
EVERYWHERE = bool(os.environ.get("PHINTYS_SAVED_PROGRAMS"))

# A random case that fails prints the line that repeats it.
settings.register_profile("suite", print_blob=True, deadline=None)
settings.load_profile("suite")

MODULES = 100                 # so many new ones are a library: PyMC, PyTorch or JAX
TESTS = 500                   # how many tests may run before their objects are frozen, too
frozen_modules = tests_since = 0
last_file = None


def freeze():
    """Let the garbage collector pass over all objects that there are now."""
    global frozen_modules, tests_since
    gc.collect()
    gc.freeze()
    frozen_modules, tests_since = len(sys.modules), 0


def pytest_configure():
    """Refuse folders of which only Python's cache is left: they would be imported as empty packages."""
    folders = [path for path in (Path(__file__).parents[1] / "api").rglob("*") if path.is_dir()
               and path.name != "__pycache__"]
    empty = [str(path) for path in folders if not any([
        file.is_file() and file.parent.name != "__pycache__" for file in path.rglob("*")])]
    if empty:
        raise pytest.UsageError(f"the files of these folders have moved; remove what is left: rm -r {' '.join(empty)}")


def pytest_addoption(parser):
    parser.addoption("--every", default="1", metavar="N[:K]",
                     help="run only every Nth test of each file, beginning with test K of it (0 is the first)")


def pytest_collection_modifyitems(config, items):
    """A part of each file, for a second Python."""
    every, _, first = config.option.every.partition(":")
    if int(every) > 1:
        seen, kept, others = Counter(), [], []
        for item in items:
            (kept if (seen[item.path] - int(first or 0)) % int(every) == 0 else others).append(item)
            seen[item.path] += 1
        items[:] = kept
        config.hook.pytest_deselected(items=others)


def pytest_collection_finish():
    """Let the garbage collector pass over tests and modules: some tests collect garbage hundreds of times, which would
    take a third of a second each, and a second once PyMC or PyTorch are imported."""
    freeze()


def pytest_runtest_setup(item):
    """The same for a library that the test before has imported, and before a file of tests for what hundreds of tests
    have left."""
    global tests_since, last_file
    tests_since += 1
    begins_file, last_file = item.path != last_file, item.path
    if len(sys.modules) > frozen_modules + MODULES or (begins_file and tests_since > TESTS):
        freeze()


@pytest.fixture
def theano_removed():
    """After the test, Theano's name, and its rules, are gone: documents install them in this process."""
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "theano"]:
        del sys.modules[name]
    sys.meta_path[:] = [finder for finder in sys.meta_path if "Theano" not in type(finder).__name__]
    sys.modules["phintys"].config.theano_rules = False


@pytest.fixture(scope="session")
def tried_programs():
    """Keys of the programs that were tried in this run of the tests."""
    return set()


@pytest.fixture(autouse=True)
def saved_and_loaded(request, monkeypatch, tried_programs):
    """See the top of this file."""
    if not EVERYWHERE and request.module.__name__.rpartition(".")[2] not in CASE_TABLES:
        yield None
        return
    from saved_programs import round_trips  # here, so that tests of files alone need no phintys

    with round_trips(monkeypatch, tried_programs) as watch:
        yield watch
