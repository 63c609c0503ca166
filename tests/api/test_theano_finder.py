"""Modules that are there because Theano has them: files of ``api/theano``, rows of a table, second names."""
import importlib
import subprocess
import sys
import textwrap

import pytest

import phintys
import phintys.tensor as T
from phintys.graph.public_names import HOMES
from phintys.theano_finder import names_of
from phintys.theano_modules import MODULES, write_stubs

ROWS = [f"phintys.{name}" for name, row in MODULES.items() if isinstance(row, dict)]
SECOND_NAMES = {f"phintys.{name}": f"phintys.{row}" for name, row in MODULES.items() if isinstance(row, str)}


def run(program):
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ROWS)
def test_a_row_has_the_objects_that_other_modules_define(name):
    module = importlib.import_module(name)
    module.__all__                                          # one module gets its names when it is first used
    places = names_of(name)
    assert set(places) <= set(module.__all__) and dir(module) == sorted(module.__all__)
    assert module.__name__ == module.__spec__.name == name and module.__doc__.startswith("Theano's name ``")
    for public, (place, original) in places.items():
        assert vars(module)[public] is getattr(place, original)


@pytest.mark.parametrize("name", ROWS)
def test_a_row_does_not_repeat_what_pickles_say(name):
    known = {(inner, public) for inner, names in HOMES.get(name, {}).items() for public in names.split()}
    said = {(inner, public) for inner, names in MODULES[name.removeprefix("phintys.")].items()
            for public in names.split()}
    assert known & said == set()


@pytest.mark.parametrize("name", SECOND_NAMES)
def test_a_second_name_is_the_same_module(name):
    own = importlib.import_module(SECOND_NAMES[name])
    assert importlib.import_module(name) is own and own.__spec__.name == own.__name__ == SECOND_NAMES[name]
    package, _, last = name.rpartition(".")
    if last != "var":
        assert getattr(importlib.import_module(package), last) is own


def test_files_have_the_names_that_they_would_have_one_folder_higher():
    older = importlib.import_module("phintys.tensor.older")
    assert older.__name__ == older.Default.__module__ == "phintys.tensor.older" and T.older is older
    assert older.__spec__.has_location and older.__file__.endswith("older.py")


def test_functions_stay_when_a_module_of_their_name_is_imported():
    assert run("""
        import phintys.tensor.sort, phintys.tensor.var, phintys.compile.function
        import phintys.tensor as T
        from phintys.tensor.sort import SortOp
        print(callable(T.sort), callable(T.var), callable(phintys.compile.function), SortOp.__name__)
        """) == ["True", "True", "True", "SortOp"]


def test_the_table_is_read_when_a_module_of_it_is_asked_for():
    assert run("""
        import sys, phintys, phintys.tensor, phintys.function
        x = phintys.tensor.dvector()
        phintys.function([x], phintys.tensor.exp(x))
        print("phintys.theano_modules" in sys.modules, "phintys.theano_names" in sys.modules)
        phintys.tensor.extra_ops
        print("phintys.theano_modules" in sys.modules)
        """) == ["False", "False", "True"]


def test_a_row_loads_all_that_its_names_need():
    """Variables have the methods of lists once the functions on them are defined."""
    assert run("""
        import phintys, phintys.tensor as T
        print(hasattr(phintys.typed_list.TypedListType(T.dscalar)(), "append"))
        """) == ["True"]


def test_what_is_missing_is_an_error():
    with pytest.raises(ModuleNotFoundError, match="No module named 'phintys.tensor.nothing_like_it'"):
        importlib.import_module("phintys.tensor.nothing_like_it")
    with pytest.raises(ImportError, match="cannot import name 'nothing_like_it' from 'phintys.tensor.extra_ops'"):
        from phintys.tensor.extra_ops import nothing_like_it  # noqa: F401
    with pytest.raises(AttributeError, match="module 'phintys.gradient' has no attribute '__wrapped__'"):
        phintys.gradient.__wrapped__


def test_names_of_rows_can_be_replaced(monkeypatch):
    monkeypatch.setattr("phintys.tensor.nlinalg.det", 3)
    assert T.nlinalg.det == 3


def test_stubs_say_where_names_are(tmp_path):
    for folder in ("compile", "gof", "misc", "sandbox", "scalar", "scan_module", "sparse", "tensor/nnet",
                   "tensor/signal"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "tensor/blas.pyi").write_text("kept")
    write_stubs(tmp_path, HOMES)
    assert (tmp_path / "tensor/blas.pyi").read_text() == "kept"
    assert (tmp_path / "compile/mode.pyi").read_text() == "from phintys.modes import *\n"
    assert (tmp_path / "tensor/fourier.pyi").read_text() == (
        "from phintys.ops.fourier.fourier import Fourier as Fourier\n"
        "from phintys.ops.fourier.fourier import fourier as fft\n")
    assert (tmp_path / "misc/safe_asarray.pyi").read_text() == "from phintys import _asarray as _asarray\n"
    assert not (tmp_path / "sparse/sandbox").exists()       # a folder would be a package without names
