"""Nested branches that test one condition: DebugMode compares what the path of a call needs, and nothing else."""
import itertools

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import phintys
import phintys.tensor as T
from phintys.compile.debugmode import BadOptimization, DebugMode
from phintys.ifelse import ifelse
from phintys.optimizer.engine.database import Rewrite

X, Y = np.array([1.0, -2.0, 3.0]), np.array([0.3, 0.1, 0.4])


def branches(a, b, x, y):
    """Two values of a branch that tests `a` again, below one that tests `b`."""
    first = ifelse(a, [x, x], [x, y])
    return first[0], ifelse(b, [x, x], [x, first[1]])[1]


@pytest.mark.parametrize("chosen", [(0, 1, 1, 0), (0, 1, 1, 1), (1, 0, 0, 1), (1, 1, 1, 0)])
def test_values_off_the_path_are_not_compared(chosen):
    # The unused output of the outer node reads, in the other branch, the node in which `a` is known: an earlier form of
    # the graph asks for it in calls in which `a` has the other value.
    a, b = T.iscalars("a", "b")
    x, y = T.dvectors("x", "y")
    made = branches(a, b, x, y)
    values = [made[number] for number in chosen]
    output = ifelse(a, values[:2], values[2:])[1]
    f = phintys.function([a, b, x, y], output, mode="DebugMode", on_unused_input="ignore")
    for one, other in itertools.product((0, 1), repeat=2):
        expected = [X, X if other or one else Y][chosen[1 if one else 3]]
        assert_array_equal(f(one, other, X, Y), expected)


@pytest.mark.parametrize("wrong_branch", [0, 1])
def test_wrong_rewrites_are_found_where_values_are_certain_on_one_path_only(wrong_branch):
    # In either branch `a` is known, so `inner` reads `x` or `y` alone. Then a rewrite puts `-x` in place of `cosh(x)`.
    a = T.iscalar("a")
    x, y = T.dvectors("x", "y")
    inner = ifelse(a, [x, x], [x, y])[1]
    values = [T.cosh(inner + 1) if branch == wrong_branch else inner * 2 for branch in (1, 0)]
    mode = DebugMode(optimizer="fast_run").register(Rewrite(
        "wrong_cosh", ("cosh",), lambda fgraph, node: -node.inputs[0]))
    f = phintys.function([a, x, y], ifelse(a, *values), mode=mode)
    with pytest.raises(BadOptimization, match="wrong_cosh"):
        f(wrong_branch, X, Y)
    assert_array_equal(f(1 - wrong_branch, X, Y), [Y, X][1 - wrong_branch] * 2)
