"""The recipes of CONTRIBUTING.md that need no compiler, carried out in a copy of the package: an op, a rewrite."""
import importlib
import os
import pkgutil
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import phintys


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A folder with a copy of the installed package, its compiled modules included, also of an editable install."""
    root = tmp_path_factory.mktemp("copy")
    for info in pkgutil.walk_packages(phintys.__path__, "phintys."):
        if info.ispkg:
            copy_files(importlib.import_module(info.name), root)
    copy_files(phintys, root)
    for name in ("vm", "ops", "optimizer", "graph", "gpu", "compile", "gof", "misc"):  # not in api/, if editable
        copy_tree(importlib.import_module(f"phintys.{name}"), root)
    return root


def copy_files(package, root):
    target = root / package.__name__.replace(".", "/")
    target.mkdir(parents=True, exist_ok=True)
    for path in Path(package.__path__[0]).iterdir():
        if path.suffix in {".py", ".so", ".pyi"}:
            shutil.copy2(path, target)


def copy_tree(package, root):
    copy_files(package, root)
    for folder in Path(package.__path__[0]).rglob("__init__.py"):
        name = folder.parent.relative_to(package.__path__[0]).as_posix().replace("/", ".")
        copy_files(importlib.import_module(f"{package.__name__}.{name}" if name != "." else package.__name__), root)


def insert_before(path, line, text):
    content = path.read_text()
    assert content.count(line) == 1, f"{path} has no place for the row any more"
    path.write_text(content.replace(line, text + line))


def run(package, program):
    """What a program prints that imports the copy."""
    result = subprocess.run([sys.executable, "-c", program], cwd=package, capture_output=True, text=True,
                            env=dict(os.environ, PYTHONPATH=str(package)))
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_an_elementwise_op_is_a_row(package):
    insert_before(package / "phintys/ops/elementwise/scalar.py", 'cosh = define("Cosh",', (
        'twin = define("Twin", "twin", 1, rules.upgrade_to_float, "cosh", lambda x, out, g: g * sinh(x), doc="")\n'))
    assert run(package, """
import numpy, phintys, phintys.tensor as T
from phintys.ops.elementwise import scalar
assert phintys.__file__.startswith(__import__("os").getcwd()), phintys.__file__
x = T.dvector("x")
y = scalar.twin.elementwise(x)
value, slope = phintys.function([x], [y, T.grad(y.sum(), x)])([0.0, 1.0])
numpy.testing.assert_allclose(value, numpy.cosh([0, 1]))
numpy.testing.assert_allclose(slope, numpy.sinh([0, 1]))
print("done")
""") == "done\n"


def test_a_rewrite_is_a_row(package):
    insert_before(package / "phintys/optimizer/rewrites/stabilize.py", '    rule("local_log_exp",',
                  '    rule("local_erf_is_odd", erf(-x), -erf(x), real),\n')
    assert run(package, """
import phintys, phintys.tensor as T
x = T.dvector("x")
mode = phintys.Mode(optimizer="fast_run").excluding("fusion")
def ops(mode):
    nodes = phintys.function([x], T.erf(-x), mode=mode.excluding("inplace")).maker.fgraph.toposort()
    return [node.op.scalar_op.name for node in nodes]
print(ops(mode), ops(mode.excluding("local_erf_is_odd")))
""") == "['erf', 'neg'] ['neg', 'erf']\n"
