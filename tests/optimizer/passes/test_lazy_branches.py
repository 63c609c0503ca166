"""What becomes of `IfElse` nodes: which vanish, which become one, and that nothing becomes less lazy."""
import numpy as np
import pytest
from numpy.testing import assert_allclose

import phintys
import phintys.tensor as T
from phintys.ifelse import IfElse, ifelse

c, d = T.iscalars("c", "d")
x, y, u, v = T.dvectors("x", "y", "u", "v")
VALUES = [np.array([0.5, 1.0, 2.0]) + k for k in range(4)]


def nested_twice():
    return ifelse(c, ifelse(c, x, y) + ifelse(c, u, v) + 1, ifelse(c, x, y) * ifelse(c, u, v))


def deep_inside():
    return ifelse(c, T.exp(ifelse(d, T.sin(ifelse(c, x, y)), u)), v)


def in_a_circle():
    """The condition of the second depends on the first one's result, and the other way round."""
    first, second = ifelse(c, x, y), ifelse(d, u, v)
    return ifelse(c, T.exp(second), y) * ifelse(d, T.exp(first), v) * first * second


# Case → (expression, numbers of values of the nodes that are left, largest first).
CASES = {
    "known condition": (lambda: ifelse(1, x, y) * ifelse(0, u, v), []),
    "folded condition": (lambda: ifelse(T.constant(2) > 1, x, y), []),
    "equal branches": (lambda: ifelse(c, x * 2, x * 2), []),
    "one of two equal": (lambda: sum(ifelse(c, (x, u), (x, v))), [1]),
    "twice the same": (lambda: sum(ifelse(c, (x, u, x), (y, v, y))), [2]),
    "unused": (lambda: ifelse(c, (x, u), (y, v))[1], [1]),
    "first branch asks again": (lambda: ifelse(c, ifelse(c, x, y), u), [1]),
    "second branch asks again": (lambda: ifelse(c, x, ifelse(c, y, u)), [1]),
    "both ask again": (nested_twice, [1]),
    "asks again deep inside": (deep_inside, [1, 1]),
    "one question twice": (lambda: ifelse(c, x + 1, y + 1) + ifelse(c, x + 2, y + 2), [2]),
    "one question, made twice": (lambda: ifelse(T.gt(c, 1), x, y) + ifelse(T.gt(c, 1), u, v), [2]),
    "one inside the other": (lambda: ifelse(c, T.exp(ifelse(c, x, y) * u).sum() * x, v), [1]),
    "two questions": (lambda: ifelse(c, x, y) + ifelse(d, u, v), [1, 1]),
    "two questions that need each other": (in_a_circle, [2, 1, 1]),
    "one question in two regions": (lambda: ifelse(c, x, y) + ifelse(d, T.exp(ifelse(c, u, v)), u), [1, 1, 1]),
}


def run(f, *conditions):
    return f(*[np.array(condition, "int32") for condition in conditions], *VALUES)


@pytest.mark.parametrize("case", CASES)
def test_what_is_left(case):
    make, expected = CASES[case]
    expression = make()
    f = phintys.function([c, d, x, y, u, v], expression, on_unused_input="ignore")
    plain = phintys.function([c, d, x, y, u, v], expression, on_unused_input="ignore", mode="FAST_COMPILE")
    left = [node.op.n_outs for node in f.maker.fgraph.toposort() if isinstance(node.op, IfElse)]
    assert sorted(left, reverse=True) == expected
    for conditions in ((0, 0), (0, 1), (1, 0), (1, 1), (2, 3)):
        assert_allclose(run(f, *conditions), run(plain, *conditions))


def test_rules_can_be_left_out():
    from phintys.modes import get_default_mode
    mode = get_default_mode().excluding("ifelse")
    f = phintys.function([c, x, y], ifelse(c, x + 1, y) + ifelse(c, x + 2, y), mode=mode)
    assert len([node for node in f.maker.fgraph.toposort() if isinstance(node.op, IfElse)]) == 2


@pytest.mark.parametrize("excluded, as_view", [((), True), (("inplace",), False), (("cond_make_inplace",), False)])
def test_outputs_are_views_where_memory_may_be_overwritten(excluded, as_view):
    from phintys.modes import get_default_mode
    f = phintys.function([c, x, y], ifelse(c, x, y), mode=get_default_mode().excluding(*excluded))
    node, = f.maker.fgraph.toposort()
    assert node.op == IfElse(1, as_view=as_view)


def test_elementwise_nodes_fuse_within_one_arm_only():
    f = phintys.function([c, x, y], ifelse(c, T.exp(x * 2) + 1, T.tanh(x * 2) - y))
    names = sorted(str(node.op) for node in f.maker.fgraph.toposort() if not isinstance(node.op, IfElse))
    assert len(names) == 3 and sum("Composite" in name for name in names) == 2
