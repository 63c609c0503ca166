"""Softmax by size, and training steps of the 2010 paper's network: 500 tanh units, a softmax, minibatches of 60."""
import numpy

import phintys
import phintys.tensor as T


class Softmax:
    """Softmax and its logarithm of the rows of a matrix; for few short rows the call dominates."""

    params = [["60 x 10", "1000 x 1000"], ["float64", "float32"]]
    param_names = ["rows x columns", "dtype"]

    def setup(self, size, dtype):
        shape = tuple(int(number) for number in size.split(" x "))
        x = T.matrix("x", dtype=dtype)
        self.softmax = phintys.function([x], T.nnet.softmax(x))
        self.logsoftmax = phintys.function([x], T.nnet.logsoftmax(x))
        self.value = numpy.random.default_rng(0).standard_normal(shape).astype(dtype)

    def time_softmax(self, size, dtype):
        self.softmax(self.value)

    def time_logsoftmax(self, size, dtype):
        self.logsoftmax(self.value)


def train_function(features, hidden, classes, dtype):
    """Return a training step of a network with one hidden layer, whose result is the mean loss."""
    random = numpy.random.default_rng(0)
    shapes = (features, hidden), (hidden,), (hidden, classes), (classes,)
    parameters = [phintys.shared((0.05 * random.standard_normal(shape)).astype(dtype)) for shape in shapes]
    w1, b1, w2, b2 = parameters
    x, labels = T.matrix("x", dtype=dtype), T.ivector("labels")
    p = T.nnet.softmax(T.dot(T.tanh(T.dot(x, w1) + b1), w2) + b2)
    loss = -T.mean(T.log(p)[T.arange(labels.shape[0]), labels])
    rate = numpy.asarray(0.01, dtype)
    return phintys.function([x, labels], loss, updates=[
        (value, value - rate * slope) for value, slope in zip(parameters, T.grad(loss, parameters))])


class TrainingStep:
    """One minibatch of 60 through 500 hidden units and 10 classes."""

    params = [[64, 784], ["float64", "float32"]]
    param_names = ["features", "dtype"]

    def setup(self, features, dtype):
        random = numpy.random.default_rng(0)
        self.train = train_function(features, 500, 10, dtype)
        self.rows = random.standard_normal((60, features)).astype(dtype)
        self.labels = random.integers(0, 10, 60).astype("int32")

    def time_step(self, features, dtype):
        self.train(self.rows, self.labels)
