"""Stable formulas behind operations that move elements: values, gradients and second derivatives against mpmath."""
import itertools

import numpy
import pytest
from moved_elements import MOVES, PAIRS, ROWS, check, is_possible
from optimized_graphs import FAST_RUN, UNFUSED, operations, optimized

import phintys
import phintys.tensor as T
from phintys import gradient
from phintys.optimizer.rewrites import logarithms

FORMULAS = [*PAIRS, *ROWS]
SINGLE = [name for name in MOVES if name != "nothing"]
PER_FORMULA = 4                # moves that each formula is tried with; together these are all moves, several times
FOR_CHAINS = ["T", "[::-1]", "flatten", "[vector]", "concatenate", "switch", "repeat", "dimshuffle", "ifelse",
              "set_subtensor"]
CHAINS = [", ".join(pair) for pair in itertools.product(FOR_CHAINS, repeat=2)]

x, v, w, b = T.dmatrix("x"), T.dvector("v"), T.dvector("w"), T.dvector("b")
X = numpy.array([[800.0, 0, -800], [1, 2, 3]])
sigmoid, softmax = T.nnet.sigmoid, T.nnet.softmax


def chosen(moves, per_formula, offset=0):
    """Return (formula, move) pairs: each formula with the next few moves."""
    rounds = itertools.islice(itertools.cycle(moves), offset, None)
    return [(formula, next(rounds)) for formula in FORMULAS for _ in range(per_formula)]


@pytest.mark.parametrize("formula, moves", chosen(SINGLE, PER_FORMULA))
def test_moved_once(formula, moves):
    check(formula, moves)
    check(formula, moves, outputs=(0,))
    check(formula, moves, outputs=(1,))


@pytest.mark.parametrize("formula", FORMULAS)
def test_not_moved(formula):
    check(formula, "nothing")


@pytest.mark.parametrize("formula, moves", chosen(CHAINS, 1) + chosen(SINGLE, 1, 5))
def test_float32_and_moved_twice(formula, moves):
    check(formula, moves, "float64" if moves in CHAINS else "float32")


@pytest.mark.long
@pytest.mark.parametrize("formula", FORMULAS)
def test_all_moves_and_chains(formula):
    for moves in [each for each in SINGLE + CHAINS if is_possible(formula, each)]:
        for outputs in ((0, 1, 2), (0,), (1,)):
            check(formula, moves, outputs=outputs)


# ---- what stays ------------------------------------------------------------------------------------------------------
ORDINARY = {
    "log(x[0])": (lambda: T.log(x[0]), ["Subtensor", "log"]),
    "log(exp(x)[0] * x[1])": (lambda: T.log(T.sqr(x)[0] * x[1]), ["Subtensor", "Subtensor", "sqr", "mul", "log"]),
    "log(2 + softmax(x)[0])": (lambda: T.log(2 + softmax(x)[0]), ["Softmax", "Subtensor", "add", "log"]),
    "log(x.T)": (lambda: T.log(x.T), ["DimShuffle", "log"]),
    "1 + exp(x)[0]": (lambda: 1 + T.exp(x)[0], ["Subtensor", "exp", "add"]),
}


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_formulas_stay(name):
    build, expected = ORDINARY[name]
    assert sorted(operations(optimized([x], [build()], UNFUSED))) == sorted(expected)


def test_a_sigmoid_that_is_needed_too_is_not_computed_twice():
    gates = sigmoid(x)
    reset, update = gates[:, :1], gates[:, 1:]
    keys = operations(optimized([x, v], [reset * update.sum(), update * v[1:] + (1 - update) * v[:2]], UNFUSED))
    assert keys.count("sigmoid") == 1


def test_parts_are_taken_before_the_work():
    assert operations(optimized([x], [T.log(sigmoid(x)[0])], UNFUSED)).count("Subtensor") == 1
    node, = [node for node in optimized([x], [T.log(sigmoid(x)[0])], UNFUSED).toposort()
             if type(node.op).__name__ == "Subtensor"]
    assert node.inputs[0].owner is None                        # the row of x, not that of the logarithms


def test_a_name_excludes_it():
    query = FAST_RUN.excluding("fusion", "local_log_of_moved")
    assert "softplus" not in operations(optimized([x], [T.log(sigmoid(x).T)], query))


# ---- derivatives -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
def test_variables_in_the_formula_keep_their_gradients(mode):
    """Those that a gradient is taken by, that are constant, or that have a known gradient."""
    p = sigmoid(v)
    q = p[::-1]
    cost = T.log(q).sum()
    point = numpy.array([1.0, 2])
    value = 1 / (1 + numpy.exp(-point))
    minus = -p
    outputs = [T.grad(cost, p), T.grad(cost, q), T.grad(cost, v), T.grad(T.log1p(minus[::-1]).sum(), minus),
               T.grad((v * T.log(q)).sum(), v, consider_constant=[q]),
               T.grad(cost, v, known_grads={p: T.ones_like(p)}),
               T.grad(T.log(gradient.zero_grad(p)[::-1]).sum() + v.sum(), v),
               T.grad(T.log(gradient.disconnected_grad(p)[::-1]).sum() + v.sum(), v)]
    wanted = [1 / value, 1 / value[::-1], 1 - value, 1 / (1 - value), numpy.log(value[::-1]), value * (1 - value),
              [1, 1], [1, 1]]
    for found, exact in zip(phintys.function([v], outputs, mode=mode)(point), wanted):
        numpy.testing.assert_allclose(found, exact, rtol=1e-14)


def test_a_negative_cost():
    """The cost itself is no variable that must stay in the formula."""
    state = phintys.shared(numpy.array([800.0, -800]))
    cost = -T.log(sigmoid(state)[::-1]).sum()
    step = phintys.function([], cost, updates=[(state, state - T.grad(cost, state))])
    assert step() == 800
    numpy.testing.assert_array_equal(state.get_value(), [800, -799])


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
def test_elements_that_are_not_taken_need_no_logarithm(mode):
    for taken in (T.switch(v > 0, sigmoid(v), b), T.set_subtensor(b[:1], sigmoid(v)[:1])):
        cost = T.log(taken).sum()
        f = phintys.function([v, b], [cost, *T.grad(cost, [v, b])], mode=mode)
        found = f([1, -2], [0, 3])
        p = 1 / (1 + numpy.exp(-1))
        for value, wanted in zip(found, (numpy.log(p) + numpy.log(3), [1 - p, 0], [0, 1 / 3])):
            numpy.testing.assert_allclose(value, wanted, rtol=1e-15)


def test_forward_derivatives_jacobians_and_hessians():
    output = T.log(sigmoid(v)[::-1])
    outputs = [T.Rop(output, v, w), gradient.jacobian(output, v), gradient.hessian(output.sum(), v)]
    right, jacobian, hessian = phintys.function([v, w], outputs)([-800, 2], [1, 3])
    low = 1 / (1 + numpy.exp(2))
    numpy.testing.assert_allclose(right, [3 * low, 1])
    numpy.testing.assert_allclose(jacobian, [[0, low], [1, 0]])
    numpy.testing.assert_allclose(hessian, [[0, 0], [0, -low * (1 - low)]], atol=1e-300)


def test_a_constant_gradient_can_be_differentiated():
    slope = T.grad(T.log(T.exp(v)[::-1]).sum(), v)
    numpy.testing.assert_array_equal(phintys.function([v], T.grad(slope.sum(), v))([3, 800]), [0, 0])


# ---- losses, sums, loops ---------------------------------------------------------------------------------------------
def test_losses_of_moved_probabilities():
    labels, table = T.lvector(), T.dmatrix()
    p = softmax(x)[::-1]
    for targets, value in ((labels, [1, 2]), (table, numpy.eye(3)[[1, 2]])):
        loss = T.nnet.categorical_crossentropy(p, targets).sum()
        found, slope = phintys.function([x, targets], [loss, T.grad(loss, x)])(X, value)
        share = numpy.exp(X[1] - 3) / numpy.exp(X[1] - 3).sum()
        numpy.testing.assert_allclose(found, 1600 - numpy.log(share[1]), rtol=1e-14)
        numpy.testing.assert_allclose(slope, [[1, 0, -1], share - [0, 1, 0]], atol=1e-15)


def test_parts_of_a_softmax_by_hand():
    e = T.exp(x)
    p = e / e.sum(axis=1, keepdims=True)
    share = numpy.exp(X[1] - 3) / numpy.exp(X[1] - 3).sum()
    found = phintys.function([x], [p[0], p[1, 1], p.T[0]])(X)
    for value, wanted in zip(found, ([1, 0, 0], share[1], [1, share[0]])):
        numpy.testing.assert_allclose(value, wanted, rtol=1e-14)


def test_sums_of_moved_exponentials():
    turned = T.log(T.exp(v)[::-1] + T.exp(w))
    together = T.log(T.concatenate([T.exp(v), T.exp(w)]).sum())
    f = phintys.function([v, w], [turned, together, T.grad(turned.sum(), v), T.grad(together, v)])
    found = f([800, 1], [1, 900])
    share = numpy.exp(-100)
    for value, wanted in zip(found, ([1 + numpy.log(2), 900], 900, [share, 0.5], [share, 0])):
        numpy.testing.assert_allclose(value, wanted, rtol=1e-13, atol=1e-300)


def test_the_largest_probability():
    function = phintys.function([x], [T.log(sigmoid(-x).max(axis=1)), T.log(softmax(x).max())])
    first, second = function(X - 800)
    numpy.testing.assert_allclose(first, [0, 0], atol=1e-300)
    assert second == 0
    numpy.testing.assert_allclose(phintys.function([x], T.log(sigmoid(x).max(axis=1)))(X - 1600), [-800, -1597])


def test_products_of_probabilities():
    together, slope = phintys.function([x], [T.log(sigmoid(x).T.prod(axis=0)), T.grad(T.log(softmax(x).prod()), x)])(X)
    numpy.testing.assert_allclose(together[0], -800 - numpy.log(2))
    numpy.testing.assert_allclose(slope[0], [-2, 1, 1])
    numpy.testing.assert_allclose(slope[1], 1 - 3 * numpy.exp(X[1]) / numpy.exp(X[1]).sum())


def test_in_loops_and_of_other_dtypes():
    rows, _ = phintys.scan(lambda row: T.log(sigmoid(row)[::-1]), sequences=[x])
    found, slope = phintys.function([x], [rows, T.grad(rows.sum(), x)])(X)
    numpy.testing.assert_allclose(found[0], [-800, -numpy.log(2), 0])
    numpy.testing.assert_allclose(slope[0], [0, 0.5, 1])
    f, k = T.fmatrix(), T.lmatrix()
    wide, whole = phintys.function([f, k], [T.log(T.cast(sigmoid(f), "float64").T), T.log(sigmoid(k).T)])(
        X.astype("float32"), X.astype(int))
    assert wide.dtype == "float64"
    for value in (wide, whole):
        numpy.testing.assert_allclose(value[:, 0], [0, -numpy.log(2), -800], rtol=1e-6, atol=1e-300)


def test_a_form_that_cannot_be_found_fails_no_gradient(monkeypatch):
    """It is reported, as a failed rewrite of the optimizer is."""
    def fail(node):
        raise ArithmeticError("a planted fault")
    monkeypatch.setitem(logarithms.MOVERS, "DimShuffle", fail)
    cost = T.log(sigmoid(x).T).sum()
    with phintys.config.change_flags(on_opt_error="raise"), pytest.raises(ArithmeticError, match="planted"):
        T.grad(cost, x)
    with phintys.config.change_flags(on_opt_error="ignore"):
        assert T.grad(cost, x).ndim == 2


@pytest.mark.parametrize("changed", [
    lambda v: T.set_subtensor(v[::2], T.exp(v[::2]))[::2], lambda v: T.set_subtensor(v[0], T.exp(v[0]))[0],
    lambda v: T.set_subtensor(v[[0, 2]], T.exp(v[[0, 2]]))[[0, 2]],
    lambda v: T.set_subtensor(v[[0, 2]], T.exp(v[[0, 2]]))[:1], lambda v: T.concatenate([v, T.exp(v)])[3:],
    lambda v: T.concatenate([v[:1], T.exp(v)])[1:][::2]])
def test_what_is_not_read_has_a_gradient_of_zero(changed):
    """The logarithm of an element that is dropped may be infinite: LKJ priors of PyMC begin at zeros."""
    slope = T.grad(T.log(changed(v)).sum(), v)
    for point in (numpy.zeros(3), numpy.array([-1.0, 0.5, 2])):
        read = phintys.function([v], T.grad(changed(v).sum(), v))(point) != 0
        assert phintys.function([v], slope)(point) == pytest.approx(1.0 * read)


def test_what_was_set_is_read_again():
    """Then its own logarithm is stable; not where a place was set twice."""
    far = numpy.array([-800.0, 1, -900])
    for taken in (slice(None, None, 2), [2, 0]):
        slope = T.grad(T.log(T.set_subtensor(v[taken], T.exp(v[taken]))[taken]).sum(), v)
        assert (phintys.function([v], slope)(far) == [1, 0, 1]).all()
    twice = T.log(T.set_subtensor(v[[0, 0]], sigmoid(w[:2]))[[0, 0]])
    values, _ = phintys.function([v, w], [twice, T.grad(twice.sum(), w)])(far, numpy.array([1.0, 2.0]))
    assert values == pytest.approx(-numpy.log1p(numpy.exp(-2.0)) * numpy.ones(2))
