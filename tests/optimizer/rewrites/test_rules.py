"""Every rule of the tables, on operands of every kind of dtype: where it applies, values stay what they were.

A rule holds for the dtypes that its condition accepts. What is finite before must be the same afterwards; a rule may
make numbers of what was none, because it is more stable.
"""
import importlib
import pkgutil
import warnings

import numpy
import pytest
from rewrite_claims import changes_between

import phintys
from phintys.graph.function_graph import FunctionGraph
from phintys.ops.types.tensor_type import TensorType
from phintys.optimizer import rewrites
from phintys.optimizer.engine import pattern as patterns
from phintys.optimizer.engine.forms import key_of
from phintys.optimizer.engine.pattern import Hole, OpPattern, compile_builder
from phintys.optimizer.engine.values import as_type

PLAIN = phintys.Mode(optimizer=None)
GRIDS = {"float64": numpy.array([-12.0, -2.5, -1, -0.75, -0.0, 0.25, 0.5, 1, 3.5, 40, 1e200, -1e-200,
                                  5e-320, numpy.inf, -numpy.inf, numpy.nan]),
         "int64": numpy.array([-7, -2, -1, 0, 1, 2, 3, 9]),
         "uint8": numpy.array([0, 1, 2, 3, 100, 254, 255], "uint8"),
         "bool": numpy.array([False, True]),
         "complex128": numpy.array([0.5 + 0.25j, -1.5 + 4j, 0.3 - 7j, -0.25 - 0.5j, 2 + 0j, -2 + 1e-3j, 1j])}


def captured():
    """(module, name, pattern, condition, the rewrite) of each rule: the tables are made once more, and watched."""
    found, rule = [], patterns.rule

    def watched(name, pattern, replacement, condition=None, *more, **options):
        row = rule(name, pattern, replacement, condition, *more, **options)
        found.append((name, pattern, row))
        return row

    patterns.rule = watched
    try:
        for module in pkgutil.iter_modules(rewrites.__path__):
            name = f"{rewrites.__name__}.{module.name}"
            exec(importlib.import_module(name).__loader__.get_code(name), {"__name__": f"{name} once more"})
    finally:
        patterns.rule = rule
    return found


RULES = captured()


def holes_of(pattern):
    """The names of a pattern's holes, in order."""
    waiting, names = [pattern], []
    while waiting:
        part = waiting.pop()
        if isinstance(part, Hole):
            names.append(part.name)
        elif isinstance(part, OpPattern):
            waiting.extend(reversed(part.arguments))
    return [*dict.fromkeys(names)]


def operands(dtypes):
    """All pairs, or triples, of numbers of the grids."""
    grids = numpy.meshgrid(*[GRIDS[dtype] for dtype in dtypes], indexing="ij")
    return [grid.ravel() for grid in grids]


@pytest.mark.parametrize("name, pattern, row", RULES, ids=[name for name, *_ in RULES])
def test_values_stay(name, pattern, row):
    names = holes_of(pattern)
    for dtype in GRIDS:
        variables = [TensorType(dtype, (False,))(hole) for hole in names]
        found = dict(zip(names, variables))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")                          # a number that the dtype does not have
                out = compile_builder(pattern)(found, variables[0])
        except (RuntimeWarning, TypeError, ValueError, NotImplementedError):           # an op that has no such operands
            continue
        fgraph = FunctionGraph(variables, [out], clone=False)
        replacement = row.apply(fgraph, out.owner) if out.owner is not None else None
        if not isinstance(replacement, phintys.Variable):
            continue
        replacement = as_type(replacement, out.type, out.owner.inputs)          # as the driver does
        with numpy.errstate(all="ignore"):
            before, after = phintys.function(variables, [out, replacement], mode=PLAIN, on_unused_input="ignore")(
                *operands([dtype] * len(names)))
        assert after.dtype == before.dtype and after.shape == before.shape, f"{name} for {dtype}"
        if dtype == "float64":
            changed = changes_between(before, after) - set(row.changes)
            assert not changed or changed == {"value"} and "range" in row.changes, f"{name} does not say: {changed}"
        known = numpy.isfinite(before)
        numpy.testing.assert_allclose(after[known], before[known], rtol=1e-9, atol=1e-12, err_msg=f"{name}: {dtype}")


@pytest.mark.parametrize("name, pattern, row", RULES, ids=[name for name, *_ in RULES])
def test_each_row_applies_and_its_condition_holds_it_back(name, pattern, row):
    applied, held_back, match = set(), set(), patterns.match_arguments(pattern)
    for dtype in GRIDS:
        found = {hole: TensorType(dtype, (False,))(hole) for hole in holes_of(pattern)}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                out = compile_builder(pattern)(found, next(iter(found.values())))
        except (RuntimeWarning, TypeError, ValueError, NotImplementedError):
            continue
        if out.owner is not None and key_of(out.owner.op) == pattern.key and match(out.owner.inputs, {}):
            fgraph = FunctionGraph(list(found.values()), [out], clone=False)
            (held_back if row.apply(fgraph, out.owner) is None else applied).add(dtype)
    assert applied, f"{name} applies to no dtype: the test needs another operand, or the row is wrong"
    if row.apply.condition is None:
        assert not held_back, f"{name} is held back without a condition: {held_back}"
    else:
        assert held_back, f"{name} has a condition that holds for every operand"
    assert row.identity.startswith("``") and " -> " in row.identity
