"""Softmax and cross-entropy: which spellings become the joint op, which must not, and that values stay."""
import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.ops.nnet.softmax import logsoftmax, softmax

X = numpy.random.default_rng(0).normal(size=(7, 4))
Y = numpy.array([0, 1, 2, 3, 0, 1, 2])
B = numpy.random.default_rng(1).normal(size=4)

x, b, y = T.dmatrix("x"), T.dvector("b"), T.lvector("y")
rows = T.arange(y.shape[0])


def ops_of(function):
    return [type(node.op).__name__ for node in function.maker.fgraph.toposort()]


def compiled(outputs, inputs=(x, b, y), mode="FAST_RUN"):
    return phintys.function(list(inputs), outputs, mode=mode, on_unused_input="ignore")


SPELLINGS = {
    "log, then index": -T.log(softmax(x + b))[rows, y].mean(),
    "index, then log": -T.mean(T.log(softmax(x + b)[rows, y])),
    "sum": T.sum(-T.log(softmax(x + b))[rows, y]),
    "scaled": -3 * T.log(softmax(b + x))[rows, y].sum() / x.shape[0],
    "weighted": -(T.log(softmax(x + b))[rows, y] * T.exp(b[y])).sum(),
    "weighted afterwards": -(T.log(softmax(x + b)[rows, y]) * T.exp(b[y])).sum(),
    "rows of x": -T.log(softmax(x + b))[T.arange(x.shape[0]), y].mean(),
    "log-softmax": -logsoftmax(x + b)[rows, y].mean(),
    "categorical": T.nnet.categorical_crossentropy(softmax(x + b), y).mean(),
    "categorical, cast": T.nnet.categorical_crossentropy(softmax(x + b), T.cast(y, "int32")).sum(),
    "no bias": -T.log(softmax(x))[rows, y].mean(),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_loss_and_gradient_are_joint(name):
    """One op for softmax and loss, one for the gradient, no division by a probability, equal values."""
    cost = SPELLINGS[name]
    outputs = [cost, *T.grad(cost, [x, b], disconnected_inputs="ignore")]
    fast = compiled(outputs)
    names = ops_of(fast)
    assert names.count("CrossentropySoftmaxArgmax1HotWithBias") == 1
    assert names.count("CrossentropySoftmax1HotWithBiasDx") == 1
    forbidden = {"Softmax", "SoftmaxWithBias", "LogSoftmax", "SoftmaxGrad", "AdvancedIncSubtensor"}
    assert not forbidden.intersection(names)
    for got, wanted in zip(fast(X, B, Y), compiled(outputs, mode="FAST_COMPILE")(X, B, Y)):
        numpy.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-14)
    assert all(numpy.isfinite(value).all() for value in fast(1e4 * X, B, Y))


@pytest.mark.parametrize("name", SPELLINGS)
def test_gradient_alone_needs_no_loss(name):
    gradient = T.grad(SPELLINGS[name], x)
    function = compiled(gradient)
    names = ops_of(function)
    assert "CrossentropySoftmax1HotWithBiasDx" in names and "SoftmaxGrad" not in names
    numpy.testing.assert_allclose(function(X, B, Y), compiled(gradient, mode="FAST_COMPILE")(X, B, Y), rtol=1e-10,
                                  atol=1e-14)


def test_distributions_use_the_logarithm_of_the_softmax():
    t = T.dmatrix()
    cost = T.nnet.categorical_crossentropy(softmax(x), t).mean()
    function = phintys.function([x, t], [cost, T.grad(cost, x)])
    names = ops_of(function)
    assert "LogSoftmax" in names and "SoftmaxGrad" not in names
    target = numpy.eye(4)[Y]
    loss, slope = function(1e4 * X, target)
    assert numpy.isfinite(loss) and numpy.isfinite(slope).all()
    wanted = phintys.function([x, t], [cost, T.grad(cost, x)], mode="FAST_COMPILE")(X, target)
    for got, value in zip(function(X, target), wanted):
        numpy.testing.assert_allclose(got, value, rtol=1e-10, atol=1e-14)


NOT_JOINT = {
    "other rows": T.log(softmax(x))[y, y],
    "rows from 1": T.log(softmax(x))[T.arange(1, y.shape[0] + 1), y % 4],
    "every second row": T.log(softmax(x))[T.arange(0, y.shape[0], 2), y[::2]],
    "columns": T.log(softmax(x))[:, y % 4],
    "logarithm to base 2": T.log2(softmax(x))[rows, y],
}


@pytest.mark.parametrize("name", NOT_JOINT)
def test_other_indices_stay(name):
    labels = Y % 4 if name != "rows from 1" else Y[:6]
    function = compiled(NOT_JOINT[name])
    assert "CrossentropySoftmaxArgmax1HotWithBias" not in ops_of(function)
    numpy.testing.assert_allclose(function(X, B, labels), compiled(NOT_JOINT[name], mode="FAST_COMPILE")(X, B, labels),
                                  rtol=1e-12)


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
def test_rules_of_indexing_are_kept(mode):
    """Labels from the end, rows without labels, IndexError for what is no class: as without the rewrite."""
    cost = -T.log(softmax(x))[rows, y].sum()
    function = phintys.function([x, y], [cost, T.grad(cost, x)], mode=mode)
    loss, slope = function(X, [-1, 0, -4])
    probabilities = numpy.exp(X) / numpy.exp(X).sum(axis=1, keepdims=True)
    places = numpy.arange(3), [3, 0, 0]
    wanted = probabilities.copy()
    wanted[places] -= 1
    wanted[3:] = 0
    numpy.testing.assert_allclose(loss, -numpy.log(probabilities[places]).sum())
    numpy.testing.assert_allclose(slope, wanted, atol=1e-15)
    for labels in ([0, 4], [0, -5], [0] * 8):
        with pytest.raises(IndexError, match="out of bounds"):
            function(X, labels)


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
def test_an_index_of_all_rows_needs_all_labels(mode):
    cost = -T.log(softmax(x))[T.arange(x.shape[0]), y].sum()
    function = phintys.function([x, y], [cost, T.grad(cost, x)], mode=mode)
    assert numpy.isfinite(function(X, -Y)[0])
    for labels in (Y[:3], numpy.append(Y, 0)):
        with pytest.raises(IndexError, match="shape mismatch"):
            function(X, labels)


def test_softmax_that_is_wanted_too_is_computed_once():
    outputs = [softmax(x + b), T.nnet.categorical_crossentropy(softmax(x + b), y)]
    function = compiled(outputs)
    assert ops_of(function).count("CrossentropySoftmaxArgmax1HotWithBias") == 1
    assert "SoftmaxWithBias" not in ops_of(function)
    numpy.testing.assert_allclose(function(X, B, Y)[0], compiled(outputs[0], mode="FAST_COMPILE")(X, B, Y), rtol=1e-12)


def test_labels_computed_from_the_softmax_make_no_cycle():
    p = softmax(x)
    labels = T.argmax(T.sqr(p), axis=1)
    function = phintys.function([x], [p, T.nnet.categorical_crossentropy(p, labels)])
    got = function(X)[1]
    probabilities = numpy.exp(X) / numpy.exp(X).sum(axis=1, keepdims=True)
    numpy.testing.assert_allclose(got, -numpy.log(probabilities.max(axis=1)))


def test_quotients_of_exponentials():
    e = T.exp(x)
    written = e / e.sum(axis=1, keepdims=True)
    function = compiled(written)
    assert ops_of(function) == ["Softmax"]
    assert numpy.isfinite(function(1e4 * X, B, Y)).all()
    shifted = T.exp(x - x.max(axis=1, keepdims=True))
    assert ops_of(compiled(shifted / shifted.sum(axis=1, keepdims=True))) == ["Softmax"]
    for other in (e / e.sum(axis=0, keepdims=True), e / T.exp(2 * x).sum(axis=1, keepdims=True)):
        assert "Softmax" not in ops_of(compiled(other))


def test_bias():
    assert "SoftmaxWithBias" in ops_of(compiled(softmax(x + b)))
    column = softmax(x + y.dimshuffle(0, "x"))
    assert "SoftmaxWithBias" not in ops_of(compiled(column))
    numpy.testing.assert_allclose(compiled(softmax(x + b + b))(X, B, Y),
                                  compiled(softmax(x + b + b), mode="FAST_COMPILE")(X, B, Y), rtol=1e-12)


def test_argmax_needs_no_softmax():
    function = compiled(T.argmax(softmax(x + b), axis=1))
    assert not {"Softmax", "SoftmaxWithBias"}.intersection(ops_of(function))
    numpy.testing.assert_array_equal(function(X, B, Y), (X + B).argmax(axis=1))
    assert "Softmax" in ops_of(compiled(T.argmax(softmax(x), axis=0)))


@pytest.mark.parametrize("function", [T.exp, T.tanh, T.nnet.sigmoid, T.nnet.softplus])
def test_argmax_needs_no_increasing_function(function):
    """Several of them are passed; places are those of the true maxima, also where values round to one number."""
    for axis in (0, 1, None):
        place = compiled(T.argmax(T.tanh(function(T.sqr(x))), axis=axis))
        assert ops_of(place) == ["Elemwise", "Argmax"]
        numpy.testing.assert_array_equal(place(100 * X, B, Y), numpy.square(X).argmax(axis=axis))
    largest, place = T.max_and_argmax(function(x), axis=1)
    both = compiled([largest, place])(X, B, Y)
    numpy.testing.assert_allclose(both[0], compiled(function(x))(X, B, Y).max(axis=1))
    numpy.testing.assert_array_equal(both[1], X.argmax(axis=1))


def test_argmax_of_logarithms_sees_nan():
    assert compiled(T.argmax(T.log(x), axis=1))(numpy.array([[2.0, -1, 3]]), B, Y) == [1]


@pytest.mark.parametrize("name, function", [("local_ultra_fast_sigmoid", T.nnet.ultra_fast_sigmoid),
                                            ("local_hard_sigmoid", T.nnet.hard_sigmoid)])
def test_approximations_are_asked_for_by_name(name, function):
    mode = phintys.compile.get_mode("FAST_RUN")
    got, exact = [phintys.function([x], T.nnet.sigmoid(x), mode=each)(X) for each in (mode.including(name), mode)]
    numpy.testing.assert_allclose(got, phintys.function([x], function(x))(X), rtol=1e-14)
    assert not numpy.allclose(got, exact)


def test_stable_forms_are_found_behind_a_reshape():
    target = T.dvector()
    cost = T.nnet.binary_crossentropy(T.flatten(T.nnet.sigmoid(x)), target).sum()
    values = [[1e4, -1e4], [50.0, 0.0]], [1, 0, 1, 1]
    for outputs in ([cost], [cost, T.grad(cost, x)]):
        loss = phintys.function([x, target], outputs)(*values)[0]
        numpy.testing.assert_allclose(loss, numpy.exp(-50) + numpy.log(2))
