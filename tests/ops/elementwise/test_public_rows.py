"""Every row of the table of scalar ops is public where it says, documented, and tested."""
import ast
from operator import attrgetter
from pathlib import Path

import pytest
from elementwise_cases import formula

import phintys.tensor as T
import phintys.tensor.xlogx  # noqa: F401  its names are looked up as T.xlogx
from phintys.ops.elementwise import scalar_op as rules
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.elementwise.elementwise_functions import public_functions
from phintys.ops.elementwise.scalar import Cast, InRange
from phintys.ops.elementwise.scalar_op import SCALAR_OPS

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "operations.md").read_text()
COMPLEX_RULES = {None, "holomorphic", "real_slope", "transposed"}


@pytest.mark.parametrize("name", SCALAR_OPS)
def test_a_row_has_its_documented_properties(name):
    row = SCALAR_OPS[name]
    assert row.name == name and row.__doc__ and row.complex_rule in COMPLEX_RULES
    assert callable(formula(name))
    if row.public is None:
        assert not [known for known in dir(T) if getattr(T, known, None) is row.elementwise and known[0] != "_"]
    else:
        assert attrgetter(row.public)(T) is row.elementwise
        assert f"`T.{row.public}(" in PAGE or f"`T.{row.public}`" in PAGE


def test_elementwise_functions_of_the_namespace_come_from_public_rows():
    functions = [value for value in vars(T).values() if isinstance(value, Elemwise) and not value.inplace_pattern]
    rows = {function.scalar_op for function in functions if not isinstance(function.scalar_op, Cast)}
    assert rows == {row for row in SCALAR_OPS.values() if row.public and "." not in row.public}


def test_a_new_row_is_public_automatically(monkeypatch):
    monkeypatch.setattr(rules, "SCALAR_OPS", dict(SCALAR_OPS))
    monkeypatch.setitem(SCALAR_OPS, "thirded", None)
    row = SCALAR_OPS["thirded"] = rules.define("Thirded", "thirded", 1, rules.upgrade_to_float, "cbrt", doc="A root.")
    assert public_functions()["thirded"] is row.elementwise


def test_rows_for_rewrites_are_declared_as_such():
    """A row made by ``define`` is public unless ``public=None`` is given; rows of classes written by hand are not."""
    tree = ast.parse((ROOT / "ops" / "elementwise" / "scalar.py").read_text())
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "define"]
    said = {call.args[1].value for call in calls for option in call.keywords
            if option.arg == "public" and option.value.value is None}
    hidden = {row.name for row in SCALAR_OPS.values() if row.public is None and not isinstance(row, (Cast, InRange))}
    assert said == hidden != set()
