"""The recipes of CONTRIBUTING.md, carried out in a copy of the package.

A block of code there begins with the name of the file that it becomes, or with that of a file and the line before which
it is inserted.
"""
import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^ *```\w+\n *# (?P<file>[\w/.]+)(?:, before: (?P<line>[^\n]+))?\n(?P<text>.*?)^ *```$",
                   re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A folder with a copy of the installed package, its compiled modules included, also of an editable install."""
    root = tmp_path_factory.mktemp("copy")
    for name in ("", ".vm", ".ops", ".optimizer", ".graph", ".gpu"):                   # not in one folder, if editable
        package = importlib.import_module(f"phintys{name}")
        shutil.copytree(package.__path__[0], root / package.__name__.replace(".", "/"), ignore=no_sources,
                        dirs_exist_ok=True)
    return root


def no_sources(folder, names):
    kept = (".py", ".so", ".pyi", ".h")         # the formulas in scalar_functions.h are read by twins
    return [name for name in names if Path(folder, name).is_file() and Path(name).suffix not in kept
            or name == "__pycache__"]


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """A folder with what the build of an extension module reads, and without compiled modules."""
    root = tmp_path_factory.mktemp("sources")
    shutil.copy2(ROOT / "setup.py", root)
    for folder in ("vm", "ops"):
        shutil.copytree(ROOT / folder, root / folder,
                        ignore=shutil.ignore_patterns("*.so", "*.c", "__pycache__", "*.html"))
    return root


def recipe(heading):
    """The blocks of code of a section: (file, the line before which the text is inserted or None, text)."""
    page = (ROOT / "CONTRIBUTING.md").read_text()
    section = page.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    section = re.sub(r"^   (?= *\S)", "", section, flags=re.MULTILINE) if "\n1. " in section else section
    blocks = [(block["file"], block["line"], block["text"]) for block in BLOCK.finditer(section)]
    assert blocks, f"CONTRIBUTING.md has no code under {heading}"
    return blocks


@pytest.mark.parametrize("addition, heading, more", [
    ("elementwise op", "An elementwise op: one row", 0), ("inner loop", "An inner loop", 0),
    ("op with a kernel", "An op with a kernel", 1),
    ("GPU twin", "A GPU twin", 0), ("opcode", "An opcode", 2), ("rewrite", "A rewrite", 1),
    ("loop for each instruction set", "A loop for each instruction set", 1)])
def test_the_table_counts_the_files(addition, heading, more):
    """``more``: files of which the recipe shows no code: a row of a case table, a test, what emits an opcode."""
    page = (ROOT / "CONTRIBUTING.md").read_text()
    table = dict(re.findall(r"^\| \[([\w -]+)\]\(\S+\) \| (\d) \|", page, re.MULTILINE))
    assert int(table[addition]) == len({file for file, _, _ in recipe(heading)}) + more


def carry_out(blocks, *roots):
    """Write the blocks into the folders that have a place for them."""
    for file, line, text in blocks:
        paths = [root / file for root in roots if (root / file).parent.is_dir()]
        for path in paths:
            if line is None:
                path.write_text(text)
            else:
                insert_before(path, line, text)


def insert_before(path, line, text):
    """Insert before the only line that begins with ``line``, spaces aside."""
    lines = path.read_text().splitlines(keepends=True)
    found = [number for number, present in enumerate(lines) if present.lstrip().startswith(line)]
    assert len(found) == 1, f"{path} has no place for the row any more: {len(found)} lines begin with {line}"
    path.write_text("".join([*lines[:found[0]], text, *lines[found[0]:]]))


def build(sources, modules, package):
    """Build extension modules and put them into the package."""
    names = ",".join(".".join(path.relative_to(sources).with_suffix("").parts) for path in modules)
    done = subprocess.run([sys.executable, "setup.py", "-q", "build_ext", "--inplace"], cwd=sources,
                          env=dict(os.environ, PHINTYS_ONLY=names, PHINTYS_DEBUG="1"),     # -O0: a third of the time
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^\[1/\d+\] Compiling phintys\.", done.stdout, re.MULTILINE)      # a builder sees how far it is
    for path in modules:
        module, = path.parent.glob(f"{path.stem}.*.so")
        shutil.copy2(module, package / "phintys" / path.parent.relative_to(sources))


def run(package, program):
    """What a program prints that imports the copy."""
    return run_python(package, ["-c", program])


def run_python(package, arguments, folder=None):
    result = subprocess.run([sys.executable, *arguments], cwd=folder or package, capture_output=True, text=True,
                            env=dict(os.environ, PYTHONPATH=str(package), PYTEST_ADDOPTS=""))
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def with_row(package):
    """The copy with one more elementwise op, which is one row."""
    blocks = recipe("An elementwise op: one row")
    assert len(blocks) == 1
    carry_out(blocks, package / "phintys")
    return package


def test_an_elementwise_op_is_a_row(with_row):
    """Public, documented, known to type checkers, and with a gradient."""
    assert run(with_row, f"""
import numpy, phintys, phintys.tensor as T, runpy, scipy.special
assert phintys.__file__.startswith({str(with_row)!r}), phintys.__file__
x = T.dvector("x")
y = T.spence(x)
value, slope = phintys.function([x], [y, T.grad(y.sum(), x)])([0.5, 2.0])
numpy.testing.assert_allclose(value, scipy.special.spence([0.5, 2]))
numpy.testing.assert_allclose(slope, numpy.log([0.5, 2]) / [0.5, -1])
page = runpy.run_path({str(ROOT / "docs" / "write_operations.py")!r})["page"]()
family = page.split("## Elementwise functions")[1].split("\\n## ")[0]
print([line for line in family.splitlines() if "spence" in line])
stub = runpy.run_path({str(ROOT / "docs" / "write_stubs.py")!r})["stub"]
print([line.split()[-1] for line in stub("phintys.tensor").splitlines() if "spence" in line.split()])
""") == ("['| `T.spence(x)` | Elementwise dilogarithm, the integral of log(t) / (1 - t) from 1 to x. |']\n"
         "['_ofone']\n")


def test_the_tests_of_elementwise_ops_find_a_row(with_row):
    found = run_python(with_row, ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", "-k", "spence", "-rA",
                                  "tests/ops/elementwise/test_elementwise_table.py"], folder=ROOT)
    passed = set(re.findall(r"PASSED \S*::(\w+)\[", found))
    assert passed >= {"test_value_for_every_layout", "test_large", "test_every_dtype", "test_compiled", "test_gradient",
                      "test_gradient_keeps_float32"}


def test_an_inner_loop(package, sources, tmp_path):
    """In a copy of its own: its row of the table of scalar ops needs the module with the loop."""
    copy = tmp_path / "copy"
    shutil.copytree(package, copy)
    blocks = recipe("An inner loop")
    carry_out(blocks, sources)
    carry_out([block for block in blocks if (copy / "phintys" / block[0]).exists()], copy / "phintys")
    build(sources, [sources / "ops" / "native" / "loops.pyx"], copy)
    assert run(copy, """
import numpy, phintys, phintys.tensor as T
from phintys.ops.native.loops import find_loop
x = T.vector("x", dtype="float32")
value = numpy.arange(-9, 10, dtype="float32")
for cpu in ("baseline", "avx2", "native"):
    with phintys.config.change_flags(cpu=cpu):
        y, slope = phintys.function([x], [T.cube(x), T.grad(T.cube(x).sum(), x)])(value)
    print((y == value * value * value).all(), (slope == 3 * value * value).all(), y.dtype)
try:
    find_loop("cube", ("int8", "int8"))
except TypeError as error:
    print(error)
""") == "True True float32\n" * 3 + "cube has no loop for int8 -> int8; it takes (float from 32 bits, the same)\n"


@pytest.fixture(scope="module")
def with_kernel(package, sources, tmp_path_factory):
    """A copy with one more op that has a kernel."""
    copy = tmp_path_factory.mktemp("kernel") / "copy"
    shutil.copytree(package, copy)
    blocks = recipe("An op with a kernel")
    carry_out(blocks, copy / "phintys", sources)
    build(sources, [sources / file for file, _, _ in blocks if file.endswith(".pyx")], copy)
    return copy


def test_an_op_with_a_kernel(with_kernel):
    assert run(with_kernel, """
import numpy, pickle, phintys, phintys.tensor as T
from phintys.ops.cumulative.neighbours import neighbour_differences
x = T.dvector("x")
y = neighbour_differences(T.exp(x))
f = phintys.function([x], [y, T.grad((y ** 2).sum(), x), y.shape[0]])
value = numpy.array([0.0, 1, 3])[::-1]
differences, slope, length = f(value)
numpy.testing.assert_allclose(differences, numpy.diff(numpy.exp(value)))
assert length == 2 and pickle.loads(pickle.dumps(y.owner.op)) == y.owner.op
T.verify_grad(neighbour_differences, [value], rng=numpy.random.RandomState(0))
listing = str(phintys.function([x], neighbour_differences(x)).explain("instructions"))
print("KERNEL" in listing, "CALL" in listing)
try:
    f(numpy.zeros(0))
except ValueError as error:
    print(str(error).splitlines()[0])
""") == "True False\nthe neighbours of no elements have no differences\n"


# A plugin for pytest that puts a changed file in the place of the table of cases.
OTHER_CASES = """
import importlib.util, sys
def pytest_configure():
    found = importlib.util.spec_from_file_location("cases", {path!r})
    module = sys.modules["cases"] = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
"""


def test_a_twin(with_kernel):
    """Of the kernel of the recipe before, on the stand-in for a GPU, or on a GPU."""
    copy = with_kernel
    (copy / "tests" / "gpu").mkdir(parents=True)
    cases = shutil.copy2(ROOT / "tests" / "gpu" / "cases.py", copy / "tests" / "gpu")
    carry_out(recipe("A GPU twin"), copy, copy / "phintys")
    (copy / "other_cases.py").write_text(OTHER_CASES.format(path=str(cases)))
    found = run_python(copy, ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "other_cases", "-n", "0", "-rAs",
                              "-k", "test_case and neighbours", "tests/gpu/test_cases.py"], folder=ROOT)
    if "SKIPPED" in found:
        pytest.skip("there is neither a GPU nor the stand-in for one")
    assert "PASSED tests/gpu/test_cases.py::test_case[neighbours]" in found


def test_a_loop_for_each_instruction_set(package, sources):
    blocks = recipe("A loop for each instruction set")
    carry_out(blocks, sources)
    build(sources, [sources / file for file, _, _ in blocks if file.endswith(".pyx")], package)
    assert run(package, """
import numpy, phintys
from phintys.ops.cumulative.halves_kernel import HalvesKernel
from phintys.vm.abi import run_kernel
x = numpy.arange(19.0)
for cpu in ("baseline", "avx2", "native"):
    with phintys.config.change_flags(cpu=cpu):
        result, = run_kernel(HalvesKernel(), [x], [(x.dtype.num, 1)])
    print((result == x / 2).all())
""") == "True\nTrue\nTrue\n"


def test_an_opcode(package, sources, tmp_path):
    """In a copy of its own: another table of opcodes means other numbers."""
    copy = tmp_path / "copy"
    shutil.copytree(package, copy)
    carry_out([block for block in recipe("An opcode") if block[0].endswith(".py")], copy / "phintys")
    carry_out(recipe("An opcode"), sources)
    numbered = [path for path in (sources / "vm").rglob("*.pyx") if 'include "opcodes.pxi"' in path.read_text()]
    build(sources, numbered, copy)
    assert run(copy, """
import numpy, phintys, phintys.tensor as T

class Zeros(phintys.Op):
    __props__ = ()
    def make_node(self, x):
        return phintys.Apply(self, [x], [x.type()])
    def lower(self, emitter, node):
        source, target = emitter.cell_of[node.inputs[0]], emitter.cell_of[node.outputs[0]]
        emitter.copy(target, source)
        emitter.emit("ZERO", a=target)

x, w = T.dvector("x"), phintys.gof.generic("w")
f = phintys.function([x], [Zeros()(T.exp(x)), x + 1])
print([result.tolist() for result in f(numpy.arange(3.0))])
print("ZERO" in str(f.explain("instructions")), "zero" in str(f.explain()))
try:
    phintys.function([w], Zeros()(w))
except Exception as error:
    print(error)
""") == ("[[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]]\nTrue True\n"
         "instruction 2 (ZERO): C1 is an object, which has no numbers\n")
    found = run_python(copy, ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", "-k", "ZERO", "-rA",
                              "tests/vm/test_opcodes.py"], folder=ROOT)
    assert "PASSED" in found


def test_a_rewrite_is_a_row(package):
    carry_out(recipe("A rewrite"), package / "phintys")
    assert run(package, """
import phintys, phintys.tensor as T
x = T.dvector("x")
mode = phintys.Mode(optimizer="fast_run").excluding("fusion")
def ops(mode):
    nodes = phintys.function([x], T.erf(-x), mode=mode.excluding("inplace")).maker.fgraph.toposort()
    return [node.op.scalar_op.name for node in nodes]
print(ops(mode), ops(mode.excluding("local_erf_is_odd")))
""") == "['erf', 'neg'] ['neg', 'erf']\n"
