"""Whole programs train on the device with the numbers that they have on the host."""
import numpy
import pytest
from support_gpu import assert_close, on_both

import phintys
import phintys.tensor as T

FLOAT = numpy.float32


def logistic_regression():
    """The case study of the first paper on Theano."""
    random = numpy.random.RandomState(0)
    samples, labels = random.randn(40, 78).astype("float32"), random.randint(0, 2, 40).astype("float32")
    x, y = T.fmatrix("x"), T.fvector("y")
    w = phintys.shared(numpy.linspace(-1, 1, 78).astype("float32"), name="w")
    b = phintys.shared(numpy.zeros((), "float32"), name="b")
    probability = 1 / (1 + T.exp(-T.dot(x, w) - b))
    entropy = -y * T.log(probability) - (1 - y) * T.log(1 - probability)
    cost = entropy.mean() + FLOAT(0.01) * (w ** 2).sum()
    by_w, by_b = T.grad(cost, [w, b])
    train = phintys.function([x, y], [probability > 0.5, entropy, cost],
                             updates=[(w, w - FLOAT(0.1) * by_w), (b, b - FLOAT(0.1) * by_b)])
    predict = phintys.function([x], probability > 0.5)
    return [*[result for _ in range(4) for result in train(samples, labels)], w.get_value(), b.get_value(),
            predict(samples)]


def multilayer_perceptron():
    random = numpy.random.RandomState(0)
    samples, labels = random.randn(30, 20).astype("float32"), random.randint(0, 5, 30).astype("int32")
    x, y, rate = T.fmatrix("x"), T.ivector("y"), T.fscalar("rate")
    weights = [phintys.shared(random.randn(*shape).astype("float32") / 4) for shape in ((20, 16), (16,), (16, 5), (5,))]
    hidden = T.tanh(T.dot(x, weights[0]) + weights[1])
    probability = T.nnet.softmax(T.dot(hidden, weights[2]) + weights[3])
    cost = T.nnet.categorical_crossentropy(probability, y).mean()
    updates = [(weight, weight - rate * slope) for weight, slope in zip(weights, T.grad(cost, weights))]
    train = phintys.function([x, y, rate], cost, updates=updates)
    return [*[train(samples, labels, 0.5) for _ in range(5)], *[weight.get_value() for weight in weights]]


@pytest.mark.parametrize("build", [logistic_regression, multilayer_perceptron])
def test_training(device, build):
    at_host, at_device = on_both(build)
    for found, expected in zip(at_device, at_host, strict=True):
        assert_close(found, expected)
