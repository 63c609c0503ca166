"""Gradients through lazy branches: of the branch that is not taken neither values nor gradients are computed."""
import numpy
import pytest
import scipy.sparse
from random_branches import check

import phintys
import phintys.tensor as T
from phintys import sparse
from phintys.compile.debugmode import DebugMode
from phintys.compile.ops import as_op
from phintys.gradient import DisconnectedInputError
from phintys.ifelse import IfElse, ifelse

MODES = ["FAST_RUN", "FAST_COMPILE", DebugMode(check_isfinite=False)]
x, y, A, c, d = T.dvector("x"), T.dvector("y"), T.dmatrix("A"), T.bscalar("c"), T.bscalar("d")
VALUES = {x: numpy.zeros(3), y: numpy.array([1.0, 2, 4]), A: -numpy.eye(2), c: 0, d: 0}
zero = T.zeros(())
norm, factor, logarithm = T.sqrt((x ** 2).sum()), T.slinalg.cholesky(A), T.log(x)
steps, _ = phintys.scan(lambda state: state / T.sqrt((state ** 2).sum()), outputs_info=x, n_steps=3)
each_step, _ = phintys.scan(lambda row, state: ifelse(row > 0, T.log(row) + state, state + 2 * row), x, zero)
chosen_inside = phintys.OpFromGraph([x], [ifelse(x.sum() > 0, T.log(x), 3 * x)])
pair = ifelse(c, [T.log(x), T.sqrt(x)], [3 * x, y])
ONES = numpy.ones(3)

# A cost, a variable, and the gradient by it.
GRADIENTS = {
    "logarithm": (ifelse(c, T.log(x), x).sum(), x, ONES),
    "norm": (ifelse(norm > 0, norm, zero), x, 0 * ONES),
    "overflow": (ifelse(c, T.exp(1000 + x), x).sum(), x, ONES),
    "factor": (ifelse(c, factor, A).sum(), A, numpy.ones((2, 2))),
    "nested": (ifelse(c, ifelse(d, T.log(x), T.sqrt(x)), ifelse(d, x / norm, x)).sum(), x, ONES),
    "a condition on what it guards": (ifelse(T.isinf(logarithm.sum()), zero, logarithm.sum()), x, 0 * ONES),
    "a float as the condition": (ifelse(T.log(x[0]), x, x ** 2).sum(), x, ONES),
    "several values": (pair[0].sum() + (pair[1] ** 2).sum(), x, 3 * ONES),
    "shared by two nodes": (ifelse(c, factor, A).sum() + ifelse(d, factor ** 2, A).sum(), A, 2 * numpy.ones((2, 2))),
    "shared on paths of two depths": (ifelse(c, ifelse(d, logarithm, x), ifelse(d, logarithm ** 2, 3 * x)).sum()
                                      + ifelse(d, logarithm, x).sum(), x, 4 * ONES),
    "shared with what always runs": (ifelse(c, T.log(x) * T.exp(x), x * T.exp(x)).sum() + T.exp(x).sum(), x, 2 * ONES),
    "a loop in a branch": (ifelse(c, steps[-1], x).sum(), x, ONES),
    "branches in a loop": (each_step[-1], x, 2 * ONES),
    "branches in an op": (chosen_inside(x).sum(), x, 3 * ONES),
    "an op in a branch": (ifelse(c, chosen_inside(T.log(x)), x).sum(), x, ONES),
    "an integer beside it": (ifelse(c, [T.log(x), T.argmax(x)], [x, T.argmin(x)])[0].sum(), x, ONES),
    "sparse matrices": (sparse.sp_sum(ifelse(c, *[sparse.csr_from_dense(T.outer(value, x))
                                                  for value in (T.log(x), x + 1)])), x, 3 * ONES),
    "positions": (ifelse(c, T.log(x[1:]) * x[:-1], x[1:]).sum(), x, [0, 1, 1]),
}


@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize("name", GRADIENTS)
def test_only_what_is_taken_counts(name, mode):
    cost, variable, wanted = GRADIENTS[name]
    gradient = T.grad(cost, variable)
    second = T.grad((gradient ** 2).sum(), variable, disconnected_inputs="ignore")
    along = T.Rop(cost, variable, T.ones_like(variable))
    f = phintys.function(list(VALUES), [cost, gradient, second, along], mode=mode, on_unused_input="ignore")
    value, found, second, along = f(*VALUES.values())
    numpy.testing.assert_array_equal(found, wanted)
    assert numpy.isfinite(value) and numpy.isfinite(second).all() and along == numpy.sum(wanted)


@pytest.mark.parametrize("seed", [*range(12), 338])
def test_at_random(seed):
    check(seed)


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_ops_that_are_not_to_run(mode):
    """An op that two nodes need in a branch, and that of its gradient, run if one of the branches is taken."""
    runs = []

    def noted(name, factor):
        @as_op([T.dvector], [T.dvector], lambda node, shapes: shapes)
        def run(value):
            runs.append(name)
            return factor * value
        return run

    ahead, back = noted("ahead", 2), noted("back", 2)
    ahead.grad = lambda inputs, gradients: [back(gradients[0])]
    weights = phintys.shared(numpy.array([1.0, 2, 4]))
    inner = ahead(weights)
    cost = ifelse(c, inner.sum(), weights.sum()) + ifelse(d, (inner ** 2).sum(), zero) + (weights ** 2).sum()
    f = phintys.function([c, d], T.grad(cost, weights), mode=mode)
    wanted = {(0, 0): 1 + 2 * 1, (1, 0): 2 + 2, (0, 1): 1 + 8 + 2, (1, 1): 2 + 8 + 2}
    for flags, first in wanted.items():
        del runs[:]
        assert f(*flags)[0] == first
        assert ("back" in runs) == any(flags) and ("ahead" not in runs or any(flags)), flags


@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize("value, shape", [(factor, (2, 2)), (factor.T[1:], (1, 2)), (T.dot(factor, factor)[0], (2,)),
                                          (T.slinalg.cholesky(A + A).sum(axis=0, keepdims=True), (1, 2))])
def test_the_gradient_by_a_value_that_only_a_branch_computes(value, shape, mode):
    """It is zero in the other branch, for which the value is not computed: a matrix below 0 has no factor."""
    gradient = T.grad(ifelse(c, (value ** 2).sum(), zero), value)
    assert gradient.type == value.type
    f = phintys.function([c, A], gradient, mode=mode, on_unused_input="ignore")
    numpy.testing.assert_array_equal(f(0, -numpy.eye(2)), numpy.zeros(shape))
    with pytest.raises(numpy.linalg.LinAlgError):
        f(1, -numpy.eye(2))


def test_one_choice_leads_out_of_both_branches():
    gradient = T.grad(ifelse(c, T.log(x), T.exp(x)).sum(), x)
    nodes = phintys.gof.graph.io_toposort([c, x], [gradient])
    assert sum([isinstance(node.op, IfElse) for node in nodes]) == 1 + 1 and gradient.owner.op == IfElse(1)


def test_graphs_without_branches_have_no_choices():
    gradients = T.grad((T.log(x) * y).sum() + T.exp(x).sum(), [x, y])
    assert not [node for node in phintys.gof.graph.io_toposort([x, y], gradients) if isinstance(node.op, IfElse)]


def test_what_only_conditions_depend_on():
    s = T.dscalar("s")
    cost = ifelse(T.log(s) > 0, x, 2 * x).sum()
    by_s, by_x = T.grad(cost, [s, x])
    assert [value.tolist() for value in phintys.function([s, x], [by_s, by_x])(0, [1, 2])] == [0, [2, 2]]
    with pytest.raises(DisconnectedInputError):
        T.grad(cost, y)
    assert T.grad(cost, y, disconnected_inputs="ignore").eval({y: [1]}).tolist() == [0]


def test_many_branches_in_a_row_and_inside_each_other():
    deep = flat = x
    for _ in range(60):
        deep = ifelse(c, T.log(x) + deep, deep)
        flat = flat + ifelse(c, T.log(flat), x)
    f = phintys.function([x, c], T.grad(deep.sum() + flat.sum(), x))
    assert f([0.0, 0.0], 0).tolist() == [62, 62]


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_what_only_a_branch_of_a_body_needs_stays_in_the_body(mode):
    rows, _ = phintys.scan(lambda row, state, A, y: state + ifelse(
        row > 5, T.slinalg.cholesky(A).sum() * T.log(y).sum(), row * T.dot(A, A).sum()), x, zero, [A, y])
    by_x, by_A, by_y = T.grad(rows[-1], [x, A, y])
    second = T.grad((by_y ** 2).sum() + (by_A ** 2).sum(), A)
    f = phintys.function([x, A, y], [rows, by_x, by_A, by_y, second, T.Rop(rows[-1], y, y)], mode=mode)
    rows, by_x, by_A, by_y, second, along = f([1.0, 2], -numpy.eye(2), numpy.zeros(3))
    assert (rows.tolist(), by_x.tolist(), along) == ([2, 6], [2, 2], 0)
    assert (by_A == -6).all() and (by_y == 0).all() and numpy.isfinite(second).all()


def test_what_is_computed_before_a_loop_is_computed_once():
    runs = []

    @as_op([T.dvector], [T.dvector], lambda node, shapes: shapes)
    def noted(value):
        runs.append(1)
        return value

    before, given = noted(y), noted(2 * y)
    rows, _ = phintys.scan(lambda row, state, given: ifelse(row > 0, before + state + given + noted(3 * y), state), x,
                           y, given)
    assert phintys.function([x, y], rows[-1])([1, 0, 1, 1], numpy.zeros(4)).shape == (4,)
    assert len(runs) == 2 + 3


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_the_gradient_by_a_sparse_matrix(mode):
    matrix = sparse.csr_matrix("matrix")
    cost = sparse.sp_sum(ifelse(c, sparse.structured_log(matrix), matrix * 2.0))
    stored_zero = scipy.sparse.csr_matrix((numpy.arange(3.0), [0, 1, 0], [0, 2, 3]), (2, 2))
    found = phintys.function([c, matrix], T.grad(cost, matrix), mode=mode)(0, stored_zero)
    numpy.testing.assert_array_equal(found.toarray(), 2 * numpy.ones((2, 2)))
