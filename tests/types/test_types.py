"""What type checkers know of phintys: mypy reads a correct program, one with mistakes, and the public modules.

mypy runs for all tests together. An editable install has its modules in folders of other names than the modules have,
which no checker finds; a tree of links stands in for it.
"""
import importlib
import inspect
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import phintys
from phintys.ops.operators import TensorOperators

pytest.importorskip("mypy", reason="mypy is not installed")

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PACKAGE = Path(phintys.__file__).parent

# Modules that have to be free of errors themselves.
PUBLIC = ["phintys", "phintys.tensor", "phintys.tensor.nnet", "phintys.ops.operators", "phintys.ops.types.tensor_type",
          "phintys.vm.machine.callable", "phintys.vm.machine.container", "phintys.function", "phintys.shared",
          "phintys.io", "phintys.modes", "phintys.gradient", "phintys.making.compiled_function",
          "phintys.graph.variable", "phintys.graph.apply", "phintys.graph.op", "phintys.graph.type",
          "phintys.graph.gradients.gradient", "phintys.graph.gradients.forward_gradient", "phintys.tensor.blas"]
# Modules of which every function is annotated, too.
ANNOTATED = ["phintys.printing", "phintys.compile", "phintys.compile.function_module", "phintys.compile.pfunc",
             "phintys.gof", "phintys.gof.equilibrium", "phintys.gof.graph", "phintys.gof.link",
             "phintys.gof.local_optimizers", "phintys.gof.navigators", "phintys.gof.opt", "phintys.gof.optdb",
             "phintys.gof.pattern_sub", "phintys.gof.toolbox", "phintys.gof.utils", "phintys.gof.whole_optimizers",
             "phintys.gof.wrap_linker"]


def linked(folder):
    """Links that make the source tree look as it is installed; the folder that holds them."""
    package = folder / "phintys"
    package.mkdir()
    for source in [*PACKAGE.iterdir(), *(PACKAGE / "theano").iterdir()]:
        (package / source.name).symlink_to(source)
    for floor in ("graph", "gpu", "ops", "optimizer", "vm"):
        (package / floor).symlink_to(PACKAGE.parent / floor)
    return folder


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Lines like ``file:line: error: what``."""
    folder = tmp_path_factory.mktemp("types")
    installed = PACKAGE.name == "phintys"           # mypy finds what is installed by itself
    environment = {**os.environ, "MYPYPATH": "" if installed else str(linked(folder))}
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


def test_mistakes_are_reported_where_they_are(reports):
    wrong = {number for number, line in enumerate((HERE / "wrong_program.py").read_text().splitlines(), 1)
             if "  # " in line}
    errors = map(re.compile(r".*wrong_program\.py:(\d+): error").match, reports)
    found = {int(match[1]) for match in errors if match}
    assert found == wrong and len(wrong) > 15


def test_public_modules_have_no_errors(reports):
    assert [line for line in reports if "_program" not in line] == []


def test_the_correct_program_runs(capsys):
    runpy.run_path(str(HERE / "user_program.py"))
    assert "float64 2 (False, False)" in capsys.readouterr().out


@pytest.mark.parametrize("module", ["phintys", "phintys.tensor", "phintys.tensor.nnet", "phintys.tensor.blas",
                                    "phintys.ops.operators"])
def test_stub_is_current(module):
    writer = runpy.run_path(str(ROOT / "docs" / "write_stubs.py"))
    message = "run: python docs/write_stubs.py"
    assert (ROOT / writer["STUBS"][module]).read_text() == writer["stub"](module), message


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
