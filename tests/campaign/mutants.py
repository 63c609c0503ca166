"""Mutants: a line of Python is changed in a way that should matter, and the tests of its folder must notice.

Nothing is written into the tree: a finder of modules gives the changed source to the process that runs the tests.
Those that nobody can notice are in ``equivalent_mutants.txt``, each with the reason.
"""
import ast
import os
import random
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ROOMS = ("vm/linking", "vm/explaining", "vm/callables", "vm/files", "graph", "graph/gradients", "optimizer/engine",
         "optimizer/passes", "optimizer/rewrites", "ops/elementwise", "ops/shape", "ops/indexing", "ops/reduction",
         "ops/loops", "ops/graphs", "ops/products", "ops/compositions", "api/making")
COMPARED = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
            ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In}
COMPUTED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult}

RUNNER = """
import importlib.machinery, importlib.util, sys
module, source, tests = sys.argv[1], sys.argv[2], sys.argv[3:]
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            return importlib.util.spec_from_file_location(name, source)
sys.meta_path.insert(0, Finder())
import pytest
sys.exit(pytest.main(["-x", "-q", "-n", "0", "-p", "no:cacheprovider", *tests]))
"""


def sites(tree):
    """(line, what changes, a function that changes the tree) for each possible change."""
    found = []

    def change(node, field, value, what):
        found.append((node.lineno, what, lambda: setattr(node, field, value)))

    for node in ast.walk(tree):
        if isinstance(node, ast.BoolOp):
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            change(node, "op", other, "and for or" if isinstance(other, ast.And) else "or for and")
        elif isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARED:
            other = COMPARED[type(node.ops[0])]
            change(node, "ops", [other(), *node.ops[1:]], f"{other.__name__} for {type(node.ops[0]).__name__}")
        elif isinstance(node, ast.BinOp) and type(node.op) in COMPUTED and not isinstance(node.left, ast.JoinedStr):
            other = COMPUTED[type(node.op)]
            change(node, "op", other(), f"{other.__name__} for {type(node.op).__name__}")
        elif isinstance(node, (ast.If, ast.IfExp, ast.While)):
            change(node, "test", ast.UnaryOp(ast.Not(), node.test), "condition negated")
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            change(node, "value", node.value + 1, f"{node.value + 1} for {node.value}")
        elif isinstance(node, ast.Constant) and type(node.value) is bool:
            change(node, "value", not node.value, f"{not node.value} for {node.value}")
        elif isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant):
            change(node, "value", ast.Constant(None), "None returned")
        for body in ("body", "orelse"):
            for index, statement in enumerate(getattr(node, body, []) if isinstance(node, ast.stmt) else []):
                if isinstance(statement, (ast.Expr, ast.AugAssign)) and not (
                        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
                    def drop(node=node, body=body, index=index):
                        getattr(node, body)[index] = ast.Pass()
                    found.append((statement.lineno, "statement dropped", drop))
    return sorted(found, key=lambda site: site[:2])


def mutant(path, choice):
    """(line, what was changed, the changed source) of a file; ``choice`` picks one of the sites."""
    tree = ast.parse(path.read_text())
    line, what, change = choice(sites(tree))
    change()
    return line, what, ast.unparse(ast.fix_missing_locations(tree))


def is_noticed(path, source, tests, seconds=600):
    """Whether a test fails, or does not end, with another source of a file."""
    folder, _, rest = path.relative_to(ROOT).with_suffix("").as_posix().partition("/")
    module = ".".join(["phintys", *([] if folder == "api" else [folder]), *rest.split("/")])
    changed = Path(os.environ.get("TMPDIR", "/tmp")) / f"phintys-mutant-{os.getpid()}.py"
    changed.write_text(source)
    try:
        done = subprocess.run([sys.executable, "-I", "-c", RUNNER, module, str(changed), *tests], cwd=ROOT,
                              capture_output=True, timeout=seconds)
        return done.returncode != 0
    except subprocess.TimeoutExpired:
        return True
    finally:
        changed.unlink()


def is_equivalent(path, line, what):
    """Whether the list says why nobody can notice it; by the text of the line, since numbers of lines change."""
    text = path.read_text().splitlines()[line - 1].strip()
    rows = [row.split(" | ") for row in (HERE / "equivalent_mutants.txt").read_text().splitlines()
            if row and not row.startswith("#")]
    return any([row[:3] == [path.relative_to(ROOT).as_posix(), text, what] for row in rows])


def survivors_of(number):
    """One mutant of a file chosen by the number."""
    choose = random.Random(number)
    room = choose.choice(ROOMS)
    path = choose.choice([file for file in sorted((ROOT / room).glob("*.py")) if sites(ast.parse(file.read_text()))])
    line, what, source = mutant(path, choose.choice)
    if is_equivalent(path, line, what):
        return 0
    tests = [f"tests/{room}"]
    if not is_noticed(path, source, tests):
        text = path.read_text().splitlines()[line - 1].strip()
        raise AssertionError(f"not noticed by {tests}: {path.relative_to(ROOT)}:{line}, {what}: {text}")
    return 1
