"""Every public function, class and op has an example in its docstring, and the examples give what they say."""
import ast
import doctest
import importlib
import inspect
import re
import warnings
from pathlib import Path

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys import modes
from phintys.ops.identity import transfer
from phintys.optimizer.engine import registered
from phintys.theano_modules import MODULES as MODULES_OF_THEANO

NOT_DOCUMENTED = {
    "phintys.array_api": "NumPy's functions under the array API's names",
    "phintys.array_objects": "the same for arrays; tests/api/test_array_objects.py runs the examples of its own",
    "phintys.compat": "objects of Python",
    "phintys.pickled": "what only pickles name",
    "phintys.distributed": "where Dask is installed only: see below",
    "phintys.interop": "where PyMC is installed only: see below",
    "phintys.interop.pytensor": "where PyTensor is installed only: see below",
    "phintys.interop.pymc": "where PyMC is installed only: see below",
    "phintys.interop.nutpie": "where nutpie is installed only: see below",
}
# Folders in that of phintys, where it is installed, whose names nobody is expected to import.
NOT_PUBLIC = {"gpu", "graph", "ops", "optimizer", "vm"}


def public_modules():
    """The names of all modules that say what they export."""
    found = {f"phintys.{name}" for name, row in MODULES_OF_THEANO.items() if isinstance(row, dict)}
    folder = Path(phintys.__file__).parent
    for path in folder.rglob("*.py"):
        parts = path.relative_to(folder).with_suffix("").parts
        parts = parts[parts[0] == "theano":]                    # which is not in the name, where it is not installed
        if not NOT_PUBLIC.intersection(parts) and re.search(r"^__all__ = ", path.read_text(), re.MULTILINE):
            found.add(".".join(["phintys", *parts]).removesuffix(".__init__"))
    return sorted(found - set(NOT_DOCUMENTED))


ROOT = Path(__file__).parents[2]
MODULES = public_modules()
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def documented(module):
    """Name → docstring of what a module exports and can be called, but for exceptions: theirs say when they come."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")                         # some modules say that they have been moved
        module = importlib.import_module(module)
        values = {name: getattr(module, name) for name in module.__all__}
    return {name: docstring(value) for name, value in values.items() if callable(value) and not is_exception(value)}


def is_exception(value):
    return inspect.isclass(value) and issubclass(value, BaseException)


def docstring(value):
    """The cleaned docstring, but not one that a class inherits."""
    inherited = inspect.isclass(value) and "__doc__" not in vars(value)
    return "" if inherited else inspect.cleandoc(value.__doc__ or "")


@pytest.fixture
def nothing_stays_registered(monkeypatch):
    """What examples register is gone after the test; but what a module registers when it is imported stays."""
    importlib.import_module("phintys.sparse")
    tables = (modes.predefined_modes, modes.predefined_linkers, modes.predefined_optimizers)
    lists = (phintys.shared.constructors, transfer._registered)
    kept = [dict(table) for table in tables], [list(values) for values in lists]
    monkeypatch.setattr(registered, "whole", list(registered.whole))
    monkeypatch.setattr(registered, "rewrites", {name: list(rows) for name, rows in registered.rewrites.items()})
    yield
    for table, before in zip(tables, kept[0]):
        table.clear()
        table.update(before)
    for values, before in zip(lists, kept[1]):
        values[:] = before
    registered.version += 1


def functions_of(body, title):
    """(title, whether it is a method, node) of the functions in a body that have public names."""
    for node in body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from functions_of(node.body, f"{title}: {node.name}")
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            if not {"overload", "setter"}.intersection([name.rpartition(".")[2] for name in
                                                        map(ast.unparse, node.decorator_list)]):
                yield f"{title}: {node.name}", ": " in str(title), node


def test_functions_say_what_they_do():
    """Every function and method outside ``gpu/kernels``, which are named after kernels. What overrides a method need
    not say again what that says."""
    paths = [path for floor in ("api", *NOT_PUBLIC) for path in (ROOT / floor).rglob("*.py")
             if "kernels" not in path.parts]
    found = [row for path in paths for row in functions_of(ast.parse(path.read_text()).body, path.relative_to(ROOT))]
    explained = {node.name for path in paths for owner in ast.walk(ast.parse(path.read_text()))
                 if isinstance(owner, ast.ClassDef) for node in owner.body
                 if isinstance(node, ast.FunctionDef) and ast.get_docstring(node)}
    silent = [title for title, is_method, node in found
              if not ast.get_docstring(node) and not (is_method and node.name in explained)]
    assert len(found) > 3000 and silent == []


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_has_an_example(module):
    assert sorted(name for name, text in documented(module).items() if ">>> " not in text) == []


def test_modules_are_found():
    assert {"phintys", "phintys.tensor.nnet", "phintys.gof", "phintys.compile.pfunc"} < set(MODULES)
    assert len(MODULES) > 60


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("module, library", [("phintys.interop", "pymc"), ("phintys.interop.pytensor", "pytensor"),
                                             ("phintys.interop.pymc", "pymc"), ("phintys.interop.nutpie", "nutpie"),
                                             ("phintys.distributed", "dask")])
def test_examples_of_interop(module, library):
    if module.startswith("phintys.interop"):
        pytest.importorskip("pytensor_reference")
    for library in ("dask", "mpi4py") if module == "phintys.distributed" else [library]:
        pytest.importorskip(library, reason=f"{library} is not installed")
    assert sorted(name for name, text in documented(module).items() if ">>> " not in text) == []
    test_examples(module, None)


@pytest.mark.usefixtures("theano_removed")
@pytest.mark.parametrize("module", MODULES)
def test_examples(module, nothing_stays_registered):
    runner, wrong, seen = doctest.DocTestRunner(optionflags=OPTIONS, verbose=False), [], set()
    for name, text in documented(module).items():
        if text not in seen:                                # that of a class is also that of its instances
            names = {"phintys": phintys, "T": T, "sparse": phintys.sparse, "numpy": numpy,
                     name: getattr(importlib.import_module(module), name)}
            if runner.run(doctest.DocTestParser().get_doctest(text, names, f"{module}.{name}", None, 0)).failed:
                wrong.append(name)
        seen.add(text)
    assert wrong == [], "examples do not give what they say; see the output"
