"""A gradient that is zero because a branch was not chosen stays zero, whatever the branch is computed by."""
import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.graph.gradients.gradient import grad
from phintys.ops.elementwise.masks import Mask
from phintys.ops.elementwise.scalar import neq, switch
from phintys.ops.elementwise.scalar_protocol import UnaryScalarOp

MODES = ("FAST_RUN", "FAST_COMPILE")
X, ROWS, ALL = T.dmatrix("X"), T.bvector("rows"), T.bmatrix("all")
VALUE = numpy.array([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0], [2.0, 1.0, 0.5]])       # the second row is not chosen
CHOSEN = numpy.array([1, 0, 1], "int8")
ARGUMENTS = [VALUE, CHOSEN, CHOSEN[:, None] * numpy.ones((1, 3), "int8")]


class Root(UnaryScalarOp):
    """A user's op."""

    def impl(self, x):
        return numpy.sqrt(x)

    def output_types_preference(self, *types):
        return types

    def grad(self, inputs, output_gradients):
        return [output_gradients[0] / (2 * phintys.scalar.sqrt(inputs[0]))]


# Functions whose value or slope is infinite or NaN at 0.
FUNCTIONS = {
    "log": T.log, "log2": T.log2, "log1p": lambda x: T.log1p(x - 1), "sqrt": T.sqrt, "power": lambda x: x ** 0.5,
    "negative power": lambda x: x ** -1.5, "reciprocal": lambda x: 1 / x, "quotient": lambda x: (x + 1) / x,
    "arccos": lambda x: T.arccos(1 - x / 2), "arctanh": lambda x: T.arctanh(1 - x / 4), "gammaln": T.gammaln,
    "x log x": lambda x: x * T.log(x), "of a log": lambda x: T.tanh(T.log(x)), "magnitude": lambda x: abs(T.log(x)),
}


def chosen(mask, value):
    return T.switch(mask, value, 0)


COLUMN = ROWS.dimshuffle(0, "x")
# What is between the function and the choice.
BETWEEN = {
    "nothing": lambda y: chosen(ALL, y), "infinity instead": lambda y: T.switch(ALL, y, -numpy.inf),
    "the other branch": lambda y: T.switch(T.eq(ALL, 0), 0.5, y), "where": lambda y: T.where(T.eq(COLUMN, 0), 0.0, y),
    "sum": lambda y: chosen(ROWS, y.sum(axis=1)), "mean": lambda y: chosen(ROWS, y.mean(axis=1)),
    "max": lambda y: chosen(ROWS, y.max(axis=1)), "min": lambda y: chosen(ROWS, y.min(axis=1)),
    "prod": lambda y: chosen(ROWS, y.prod(axis=1)), "norm": lambda y: chosen(ROWS, T.sqrt(T.sqr(y).sum(axis=1))),
    "variance": lambda y: chosen(ROWS, y.var(axis=1)), "keepdims": lambda y: chosen(COLUMN, y.sum(1, keepdims=True)),
    "transposed sum": lambda y: chosen(ROWS, y.T.sum(axis=0)), "transpose": lambda y: chosen(ALL.T, y.T),
    "dimshuffle": lambda y: chosen(ALL.dimshuffle(1, "x", 0), y.dimshuffle(1, "x", 0)),
    "reshape": lambda y: chosen(ALL.flatten(), y.reshape((9,))),
    "flatten": lambda y: chosen(ALL.flatten(), y.flatten()),
    "join": lambda y: chosen(T.concatenate([ALL, ALL]), T.concatenate([y, 2 * y])),
    "stack": lambda y: chosen(ALL, T.stack([y, y + 1])),
    "split": lambda y: sum([chosen(own, part).sum() for own, part in zip(
        T.split(ALL, [1, 2], 2, axis=1), T.split(y, [1, 2], 2, axis=1))]),
    "dot with a vector": lambda y: chosen(ROWS, T.dot(y, [1.0, 2.0, 3.0])),
    "dot with a matrix": lambda y: chosen(COLUMN, T.dot(y, numpy.ones((3, 2)))),
    "dot, all elements": lambda y: chosen(ALL, T.dot(y, numpy.ones((3, 3)))),
    "dot with its own": lambda y: chosen(ROWS, T.dot(y, T.log(VALUE + 1)[0])),
    "batched dot": lambda y: chosen(ROWS, T.batched_dot(y, T.ones_like(y))),
    "tensordot": lambda y: chosen(ROWS, T.tensordot(y, [1.0, 2.0, 3.0], 1)),
    "subtensor": lambda y: chosen(ROWS, y[:, 0]), "a row": lambda y: chosen(ROWS[1], y[1]),
    "backwards": lambda y: chosen(ALL[::-1], y[::-1]), "rows by index": lambda y: chosen(ALL, y[[0, 1, 2]]),
    "advanced index": lambda y: chosen(ROWS, y[[0, 1, 2], [2, 0, 0]]),
    "added to zeros": lambda y: chosen(ALL, T.inc_subtensor(T.zeros((3, 3))[:], y)),
    "set by a mask": lambda y: T.set_subtensor(y[T.eq(ROWS, 0)], 0.0),
    "set by a mask of elements": lambda y: T.set_subtensor(y[T.eq(ALL, 0)], 0.0),
    "set by a slice": lambda y: T.set_subtensor(y[1:2], 0.0), "set by a vector": lambda y: T.set_subtensor(y[[1]], 0.0),
    "cumsum": lambda y: chosen(ALL, T.cumsum(y, axis=1)), "cumprod": lambda y: chosen(ALL, T.cumprod(y, axis=1)),
    "diagonal": lambda y: chosen(ROWS, T.diagonal(y)), "softmax": lambda y: chosen(ROWS, T.nnet.softmax(y)[:, 0]),
    "trace": lambda y: chosen(ROWS[1], T.nlinalg.trace(y[1:2, 1:2])),
    "repeat": lambda y: chosen(T.repeat(ALL, 2, 0), T.repeat(y, 2, 0)),
    "roll": lambda y: chosen(T.roll(ALL, 1, 1), T.roll(y, 1, 1)), "sort": lambda y: chosen(ALL, T.sort(y, axis=1)),
    "cast": lambda y: chosen(ALL, T.cast(T.cast(y, "float32"), "float64")),
    "clip": lambda y: chosen(ALL, T.clip(y, -10, 10)), "maximum": lambda y: chosen(ALL, T.maximum(y, -9)),
    "nested": lambda y: chosen(ALL, T.switch(X > 1, y, y ** 2)),
    "twice": lambda y: chosen(ALL, y) + chosen(ALL, y ** 2),
    "used afterwards": lambda y: 2 * T.exp(chosen(ALL, y)),
    "steps": lambda y: chosen(ROWS, phintys.map(lambda row: T.log(T.exp(row).sum()), y)[0]),
    "a graph as an op": lambda y: chosen(ROWS, OF_GRAPH(y)),
    "a scalar condition": lambda y: T.switch(ALL.sum() < 0, y, X ** 2),
}
INNER = T.dmatrix()
OF_GRAPH = phintys.OpFromGraph([INNER], [T.log(T.exp(INNER).sum(axis=1))])


@pytest.mark.parametrize("between", BETWEEN)
def test_not_chosen_is_not_felt(between):
    """The gradient is finite, 0 in the row that is not chosen, and the same in both modes."""
    for name, function in FUNCTIONS.items():
        cost = BETWEEN[between](function(X)).sum()
        fast, plain = [phintys.function([X, ROWS, ALL], grad(cost, X), mode=mode, on_unused_input="ignore")(*ARGUMENTS)
                       for mode in MODES]
        assert numpy.isfinite(fast).all(), name
        assert not fast[1].any(), name
        numpy.testing.assert_allclose(fast, plain, rtol=1e-6, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("mode", MODES)
def test_a_cost_that_is_guarded(mode):
    for function in (T.log, lambda x: 1 / x, lambda x: T.log(x).sum(axis=1)):
        cost = function(X).sum()
        guarded = T.switch(T.or_(T.isinf(cost), T.isnan(cost)), 0, cost)
        assert not phintys.function([X], grad(guarded, X), mode=mode)(VALUE).any()
        numpy.testing.assert_allclose(phintys.function([X], grad(guarded, X), mode=mode)(VALUE[:1]),
                                      phintys.function([X], grad(cost, X), mode=mode)(VALUE[:1]))


@pytest.mark.parametrize("mode", MODES)
def test_limits_choose(mode):
    x = T.dvector()
    for cost, wanted in ((T.clip(T.log(x), -5, 5), [0, 1]), (T.maximum(T.log(x), -5), [0, 1]),
                         (T.minimum(1 / x, 9), [0, -1]), (T.clip(T.log(x.dimshuffle(0, "x")), -5, 5), [0, 1])):
        numpy.testing.assert_array_equal(phintys.function([x], grad(cost.sum(), x), mode=mode)([0.0, 1.0]), wanted)


@pytest.mark.parametrize("mode", MODES)
def test_the_other_factor_of_a_product(mode):
    """A row of logarithms of 0 that is not chosen has no part in the gradient of the weights."""
    weights, table = T.dvector(), T.dmatrix()
    for cost in (chosen(ROWS, T.dot(T.log(X), weights)), chosen(COLUMN, T.dot(T.log(X), table)),
                 chosen(ROWS, T.dot(weights, T.log(X).T)), chosen(COLUMN.T, T.dot(table.T, T.log(X).T)),
                 chosen(ALL, weights * T.log(X)), chosen(COLUMN, T.exp(T.dot(T.log(X), table)))):
        gradients = grad(cost.sum(), [weights, table], disconnected_inputs="ignore")
        f = phintys.function([X, ROWS, ALL, weights, table], gradients, mode=mode, on_unused_input="ignore")
        assert all([numpy.isfinite(value).all() for value in f(*ARGUMENTS, numpy.ones(3), numpy.ones((3, 2)))])


def test_what_is_chosen_is_felt():
    """Infinite slopes of chosen elements, and of elements beside them, stay."""
    x = T.dvector()
    for mode in MODES:
        f = phintys.function([x], [grad(T.switch(x >= 0, T.log(x), 0).sum(), x), grad((x * 0 * T.log(x)).sum(), x)],
                             mode=mode)
        assert numpy.isinf(f([0.0])[0][0])
        f = phintys.function([x], grad(T.switch(x[0] >= 0, T.sqrt(x.sum()), 0) + x.sum(), x), mode=mode)
        assert numpy.isinf(f([0.0, 0.0])).all()
        spread = phintys.function([x], grad(T.switch(x[0] > 5, 0, x.std()), x), mode=mode)
        assert numpy.isnan(spread([2.0, 2.0])).all() and not spread([6.0, 6.0]).any()


EXTREME = numpy.array([-800.0, -5, 0, 5, 800])
# Formulas of x and g with their derivatives, which are found or are NaN or infinite, as literal evaluation has it: a
# product that is too small for a float is no branch that was not chosen.
FAR = {
    "set_subtensor": (lambda x, g: T.set_subtensor(T.log(T.exp(x))[:1], x[:1]) * x, lambda x, g: 2 * x, None),
    "set_subtensor to a number": (lambda x, g: T.set_subtensor(T.log(T.exp(x))[:1], 0.0) * x,
                                  lambda x, g: numpy.where(x > -800, 2 * x, 0), None),
    "inc_subtensor": (lambda x, g: T.inc_subtensor(T.log(T.exp(x))[:1], 1.0) * x,
                      lambda x, g: numpy.where(x > -800, 2 * x, 2 * x + 1), None),
    "switch": (lambda x, g: T.switch(x > 100, x, e := T.exp(x)) / e * T.exp(x),
               lambda x, g: numpy.where(x > 100, 1, numpy.exp(numpy.minimum(x, 100))), None),
    "set in a product": (lambda x, g: T.set_subtensor((g * T.exp(x))[0], 0.0) / T.exp(x), None, lambda x, g: x > -800),
    "set in a quotient": (lambda x, g: T.set_subtensor((g / T.exp(x))[[0]], 0.0) * T.exp(x), None,
                          lambda x, g: x > -800),
    "set by a mask": (lambda x, g: T.set_subtensor((g / T.exp(-x))[x > 90], 0.0) * T.exp(-x), None,
                      lambda x, g: x < 90),
    "switch of a product": (lambda x, g: T.switch(x < 900, g * T.exp(x), 0) / T.exp(x), lambda x, g: 0 * x,
                            lambda x, g: 0 * x + 1),
    "g / e * e": (lambda x, g: g / T.exp(x) * T.exp(x), lambda x, g: 0 * x, lambda x, g: 0 * x + 1),
    "part of g / e * e": (lambda x, g: T.set_subtensor(g[-1:], 0) / T.exp(x) * T.exp(x), lambda x, g: 0 * x,
                          lambda x, g: x < 800),
}


# What moves all elements of x, or of parts of it, to where they were.
MOVED = {
    "backwards": lambda z: z[::-1][::-1], "reshape": lambda z: z.reshape((5, 1)).reshape((5,)),
    "flatten": lambda z: z[:, None].flatten(), "join": lambda z: T.concatenate([z[:2], z[2:]]),
    "stack": lambda z: T.stack([z, 2 * z])[0], "split": lambda z: T.concatenate(T.split(z, [2, 3], 2)),
    "indices": lambda z: z[[4, 3, 2, 1, 0]][[4, 3, 2, 1, 0]], "pairs": lambda z: z[None][[0] * 5, [0, 1, 2, 3, 4]],
    "diagonal": lambda z: T.diagonal(z[:, None] * T.ones((1, 5))), "elements": lambda z: T.stack(
        [z[number] for number in range(5)]),
}
FAR.update({f"switch, {name}": (lambda x, g, move=move: T.switch(x < 900, move(g * T.exp(x)), 0) / T.exp(x), None,
                                lambda x, g: 0 * x + 1) for name, move in MOVED.items()})


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", FAR)
def test_what_underflows_was_chosen(name, mode):
    x, g = T.dvectors("x", "g")
    formula, *slopes = FAR[name]
    weights = numpy.array([0.5, 2, -1, 3, 0.25])
    for slope, by in zip(slopes, (x, g)):
        if slope is not None:
            f = phintys.function([x, g], grad(formula(x, g).sum(), by), mode=mode, on_unused_input="ignore")
            found, wanted = f(EXTREME, weights), slope(EXTREME, weights)
            numpy.testing.assert_allclose(found[1:-1], wanted[1:-1], atol=1e-12)
            unknown = numpy.isnan(found) | numpy.isinf(found)
            numpy.testing.assert_allclose(found[~unknown], wanted[~unknown], atol=1e-12)


def test_second_derivatives():
    x = T.dvector()
    cost = T.switch(x > 0, T.log(x), 0).sum()
    for mode in MODES:
        twice = phintys.function([x], grad(grad(cost, x).sum(), x), mode=mode)
        numpy.testing.assert_allclose(twice([0.0, 2.0]), [0.0, -0.25])
    numpy.testing.assert_allclose(phintys.function([x], T.hessian(cost, x))([0.0, 2.0]), [[0, 0], [0, -0.25]])


@pytest.mark.parametrize("mode", MODES)
def test_ops_of_users(mode):
    x = T.dvector()
    root = T.Elemwise(Root(name="root"))
    gradient = grad(T.switch(x > 0, root(x), 0).sum(), x)
    numpy.testing.assert_array_equal(phintys.function([x], gradient, mode=mode)([0.0, 4.0]), [0.0, 0.25])


def nodes_of(gradient):
    return phintys.graph.toposort.io_toposort([], [gradient])


def test_gradients_without_choices_have_no_masks():
    """Their graphs are those of the formulas; a switch costs one node, and a layer before a product none."""
    x, y = T.dmatrix(), T.dvector()
    plain = T.log(T.exp(T.dot(T.tanh(x), y)) + 1).sum()
    assert not [node for node in nodes_of(grad(plain, x)) if node.op in (neq.elementwise, switch.elementwise)]
    limited = T.maximum(T.dot(T.tanh(T.maximum(T.dot(x, x), 0)), y), 0).sum()
    assert not [node for node in nodes_of(grad(limited, x)) if node.op is neq.elementwise]
    branch = T.switch(x > 0, T.log(T.sqrt(1 / x)), 0).sum()
    assert len([node for node in nodes_of(grad(branch, x)) if node.op is switch.elementwise]) == 2


def test_sums_of_masked_terms():
    """Terms of opposite branches are one switch; terms with one mask keep it."""
    c, x, y = T.bvector(), T.dvector(), T.dvector()
    then, other = Mask(((c, True),)), Mask(((c, False),))
    (both,), mask = then.collected([x, y], [then, other])
    assert mask is None and both.owner.inputs == [c, x, y]
    (both,), mask = other.collected([x, y], [other, then])
    assert mask is None and both.owner.inputs == [c, y, x]
    assert then.collected([x, y], [then, then])[1] is then
    terms, mask = then.collected([x, y], [then, None])
    assert terms[1] is y and mask is None
    mask = then.collected([x, y], [then, Mask(((x > 0, True),))])[1]
    assert mask.in_value and not mask.conditions
    f = phintys.function([c, x, y], grad((T.switch(c, x * 2, T.exp(x)) * y).sum(), x))
    numpy.testing.assert_allclose(f([1, 0], [0.0, 0.0], [1.0, 3.0]), [2.0, 3.0])
