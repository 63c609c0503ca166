"""A network with one hidden layer, its weights kept small by L1 and L2 terms."""
import numpy as np
from command_line import arguments
from logistic_sgd import LogisticRegression, fit_by_gradient, shared_dataset

import theano
import theano.tensor as T


class HiddenLayer(object):
    def __init__(self, rng, input, n_in, n_out, W=None, b=None, activation=T.tanh):
        self.input = input
        if W is None:
            bound = np.sqrt(6. / (n_in + n_out))
            values = np.asarray(rng.uniform(low=-bound, high=bound, size=(n_in, n_out)), dtype=theano.config.floatX)
            if activation == theano.tensor.nnet.sigmoid:
                values *= 4
            W = theano.shared(value=values, name="W", borrow=True)
        if b is None:
            b = theano.shared(value=np.zeros((n_out,), dtype=theano.config.floatX), name="b", borrow=True)
        self.W, self.b = W, b
        linear = T.dot(input, self.W) + self.b
        self.output = linear if activation is None else activation(linear)
        self.params = [self.W, self.b]


class MLP(object):
    def __init__(self, rng, input, n_in, n_hidden, n_out):
        self.hiddenLayer = HiddenLayer(rng=rng, input=input, n_in=n_in, n_out=n_hidden, activation=T.tanh)
        self.logRegressionLayer = LogisticRegression(input=self.hiddenLayer.output, n_in=n_hidden, n_out=n_out)
        self.L1 = abs(self.hiddenLayer.W).sum() + abs(self.logRegressionLayer.W).sum()
        self.L2_sqr = (self.hiddenLayer.W ** 2).sum() + (self.logRegressionLayer.W ** 2).sum()
        self.negative_log_likelihood = self.logRegressionLayer.negative_log_likelihood
        self.errors = self.logRegressionLayer.errors
        self.params = self.hiddenLayer.params + self.logRegressionLayer.params


def main(epochs=10, n=5000, batch_size=20, learning_rate=0.01, L1_reg=0.00, L2_reg=0.0001, n_hidden=500):
    train, valid = shared_dataset(n, 2), shared_dataset(1000, 3)
    x, y = T.matrix("x"), T.ivector("y")
    classifier = MLP(np.random.RandomState(1234), x, 28 * 28, n_hidden, 10)
    cost = classifier.negative_log_likelihood(y) + L1_reg * classifier.L1 + L2_reg * classifier.L2_sqr
    return fit_by_gradient(x, y, cost, classifier.errors(y), classifier.params, learning_rate, train, valid, batch_size,
                           epochs)


if __name__ == "__main__":
    options = arguments(10, 5000)
    print("validation error %.4f, seconds an epoch %.4f" % main(options.epochs, options.n))
