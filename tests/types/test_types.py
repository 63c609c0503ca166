"""What type checkers know of phintys: mypy reads a correct program, one with mistakes, and the public modules.

mypy runs once for all tests. pyright reads the same programs where it is installed (``make types``); it is written in
JavaScript and loads itself from the registry of npm, so the extra ``test`` does not ask for it. An editable install has
its modules in folders of other names than the modules have, which no checker finds; a tree of links replaces it.
"""
import importlib
import importlib.util
import inspect
import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import phintys
from phintys.graph.public_names import HOMES
from phintys.ops.operators import TensorOperators
from phintys.theano_modules import write_stubs

pytest.importorskip("mypy", reason="mypy is not installed")

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PACKAGE = Path(phintys.__file__).parent
INSTALLED = PACKAGE.name == "phintys"               # checkers find by themselves what is installed

# Modules that have to be free of errors themselves.
PUBLIC = ["phintys", "phintys.tensor", "phintys.tensor.nnet", "phintys.ops.operators", "phintys.ops.types.tensor_type",
          "phintys.vm.callables.callable", "phintys.vm.containers.container", "phintys.function", "phintys.shared",
          "phintys.io", "phintys.modes", "phintys.gradient", "phintys.making.compiled_function",
          "phintys.graph.variable", "phintys.graph.apply", "phintys.graph.op", "phintys.graph.type",
          "phintys.graph.gradients.gradient", "phintys.graph.gradients.forward_gradient", "phintys.tensor.blas",
          "phintys.tensor.extra_ops", "phintys.tensor.fft", "phintys.tensor.nlinalg", "phintys.tensor.slinalg",
          "phintys.tensor.signal.conv", "phintys.tensor.signal.pool"]
# Modules of which every function is annotated, too.
ANNOTATED = ["phintys.printing", "phintys.compile", "phintys.compile.function_module", "phintys.compile.pfunc",
             "phintys.gof", "phintys.gof.equilibrium", "phintys.gof.graph", "phintys.gof.link",
             "phintys.gof.local_optimizers", "phintys.gof.navigators", "phintys.gof.opt", "phintys.gof.optdb",
             "phintys.gof.pattern_sub", "phintys.gof.toolbox", "phintys.gof.utils", "phintys.gof.whole_optimizers",
             "phintys.gof.wrap_linker"]


def linked(folder):
    """Links that make the source tree look as it is installed; the folder that holds them."""
    package = folder / "phintys"
    for root in (PACKAGE, PACKAGE / "theano"):
        for source in root.rglob("*.py*"):
            target = package / source.relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.exists():
                target.symlink_to(source)
    write_stubs(package, HOMES)
    for floor in ("graph", "gpu", "ops", "optimizer", "vm"):
        (package / floor).symlink_to(PACKAGE.parent / floor)
    return folder


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Lines like ``file:line: error: what``."""
    folder = tmp_path_factory.mktemp("types")
    environment = {**os.environ, "MYPYPATH": "" if INSTALLED else str(linked(folder))}
    options = ["--follow-imports=silent", "--no-error-summary", "--hide-error-context",
               f"--cache-dir={folder / 'cache'}", f"--python-executable={sys.executable}"]
    run = [subprocess.run([sys.executable, "-m", "mypy", *options, *what], capture_output=True, text=True, cwd=folder,
                          env=environment)
           for what in (["--strict", str(HERE / "user_program.py"), str(HERE / "wrong_program.py")],
                        [part for name in PUBLIC for part in ("-m", name)],
                        ["--disallow-untyped-defs", "--disallow-incomplete-defs",
                         *[part for name in ANNOTATED for part in ("-m", name)]])]
    assert all(part.stderr == "" for part in run), run
    return [line for part in run for line in part.stdout.splitlines()]


def test_a_correct_program_has_no_errors(reports):
    assert [line for line in reports if "user_program" in line] == []


def planted():
    """The lines of the wrong program that have a mistake."""
    lines = (HERE / "wrong_program.py").read_text().splitlines()
    return {number for number, line in enumerate(lines, 1) if "  # " in line}


def test_mistakes_are_reported_where_they_are(reports):
    errors = map(re.compile(r".*wrong_program\.py:(\d+): error").match, reports)
    found = {int(match[1]) for match in errors if match}
    assert found == planted() and len(found) > 15


@pytest.mark.skipif(importlib.util.find_spec("pyright") is None, reason="pyright is not installed")
def test_pyright_finds_the_mistakes_and_no_others(tmp_path):
    paths = [] if INSTALLED else [str(linked(tmp_path))]
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({
        "include": [os.path.relpath(HERE / name, tmp_path) for name in ("user_program.py", "wrong_program.py")],
        "extraPaths": paths, "typeCheckingMode": "strict"}))
    run = subprocess.run([sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable],
                         capture_output=True, text=True, cwd=tmp_path)
    errors = [(Path(error["file"]).name, error["range"]["start"]["line"] + 1)
              for error in json.loads(run.stdout)["generalDiagnostics"] if error["severity"] == "error"]
    assert set(errors) == {("wrong_program.py", line) for line in planted()}, run.stdout


def test_public_modules_have_no_errors(reports):
    assert [line for line in reports if "_program" not in line] == []


def test_the_correct_program_runs(capsys):
    runpy.run_path(str(HERE / "user_program.py"))
    assert "float64 2 (False, False)" in capsys.readouterr().out


def test_stubs_are_current():
    writer = runpy.run_path(str(ROOT / "docs" / "write_stubs.py"))
    old = [path for name, path in writer["STUBS"].items() if (ROOT / path).read_text() != writer["stub"](name)]
    assert old == [], "run: python docs/write_stubs.py"


def test_every_row_of_the_writer_of_stubs_is_used():
    writer = runpy.run_path(str(ROOT / "docs" / "write_stubs.py"))
    modules = [importlib.import_module(name) for name in writer["STUBS"] if name != "phintys.ops.operators"]
    functions = [(name, value) for module in modules for name in module.__all__
                 if inspect.isfunction(value := getattr(module, name))]
    functions += [(name, value) for name, value in vars(TensorOperators).items() if inspect.isfunction(value)]
    parameters = {(name, parameter) for name, value in functions for parameter in inspect.signature(value).parameters}
    assert set(writer["TYPES"]) - {parameter for _, parameter in parameters} == set()
    assert set(writer["PARTICULAR"]) - parameters == set()
    assert set(writer["RETURNS"]) - {name for name, _ in functions} == set()
