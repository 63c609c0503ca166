"""What the op Assert does: a condition that is false ends the call; otherwise the value is handed on as it is."""
import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys import function, grad
from phintys.gof import generic
from phintys.gradient import Rop
from phintys.tensor.opt import Assert, assert_

A = numpy.array([1.0, 2.0, 3.0])
x, y = T.dvector("x"), T.dvector("y")


def nodes_of(f, kind):
    return [node for node in f.maker.fgraph.toposort() if isinstance(node.op, kind)]


def test_assert():
    checked = Assert("too large")(x, T.lt(x.sum(), 10), T.ge(x.min(), 0))
    f = function([x, y], [checked, grad((checked ** 2).sum(), x), Rop(checked, x, y)])
    for result, expected in zip(f(A, A), [A, 2 * A, A]):
        numpy.testing.assert_allclose(result, expected)
    for wrong in (A + 10, -A):
        with pytest.raises(AssertionError, match="too large"):
            f(wrong, A)
    with pytest.raises(AssertionError, match="scalars"):
        assert_(x, x > 0)
    assert list(function([x], checked.shape)(A + 10)) == [3]
    assert Assert("a") == Assert("a") and Assert("a") != Assert("b")


def test_an_assertion_that_is_never_true_fails_the_call_and_not_the_compilation():
    f = function([x], assert_(x, T.constant(1) > 2))
    with pytest.raises(AssertionError):
        f(A)


def test_asserted_things_need_not_be_tensors():
    thing = generic("thing")
    assert function([thing, x], [Assert()(thing, x.sum() > 0)])("any", A) == ["any"]


def test_a_failing_assertion_changes_no_shared_variable():
    s = phintys.shared(A)
    f = function([x], updates=[(s, assert_(s + x, x.sum() > 0))])
    f(A)
    with pytest.raises(AssertionError):
        f(-A)
    numpy.testing.assert_allclose(s.get_value(), 2 * A)


def test_redundant_conditions_are_dropped():
    condition = x.sum() > 0
    f = function([x], assert_(x, T.constant(1) > 0, T.constant(True)), mode="FAST_RUN")
    assert not nodes_of(f, Assert) and f(-A).sum() == -6.0
    f = function([x], assert_(x, condition, T.constant(2), condition), mode="FAST_RUN")
    node, = nodes_of(f, Assert)
    assert len(node.inputs) == 2
    unsafe = phintys.Mode(optimizer="fast_run").including("local_remove_all_assert")
    assert not nodes_of(function([x], assert_(x, condition), mode=unsafe), Assert)


@pytest.mark.parametrize("condition", [T.bscalar(), T.lscalar(), T.dscalar(), T.fscalar()])
def test_conditions_of_every_dtype(condition):
    f = function([x, condition], assert_(x, condition))
    for true in (1, -1) + ((0.5,) if condition.dtype.startswith("float") else ()):
        numpy.testing.assert_array_equal(f(A, true), A)
    with pytest.raises(AssertionError):
        f(A, 0)


def test_the_result_of_an_assertion_is_a_view():
    f = function([x, y], assert_(x[::-2], y.sum() > 0) * y[:2])
    numpy.testing.assert_allclose(f(A, A), A[::-2] * A[:2])
    scalar = T.dscalar("scalar")
    assert function([scalar], assert_(T.exp(scalar), scalar > 0) * 2)(1.0) == pytest.approx(2 * numpy.e)
