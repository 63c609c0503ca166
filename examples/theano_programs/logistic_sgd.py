"""Softmax regression, trained by minibatches of a data set in shared variables, with early stopping."""
import time

import images
import numpy as np
from command_line import arguments

import theano
import theano.tensor as T


class LogisticRegression(object):
    def __init__(self, input, n_in, n_out):
        self.W = theano.shared(np.zeros((n_in, n_out), dtype=theano.config.floatX), name="W", borrow=True)
        self.b = theano.shared(np.zeros((n_out,), dtype=theano.config.floatX), name="b", borrow=True)
        self.p_y_given_x = T.nnet.softmax(T.dot(input, self.W) + self.b)
        self.y_pred = T.argmax(self.p_y_given_x, axis=1)
        self.params = [self.W, self.b]
        self.input = input

    def negative_log_likelihood(self, y):
        return -T.mean(T.log(self.p_y_given_x)[T.arange(y.shape[0]), y])

    def errors(self, y):
        if y.ndim != self.y_pred.ndim:
            raise TypeError("y should have the same shape as self.y_pred", ("y", y.type, "y_pred", self.y_pred.type))
        if y.dtype.startswith("int"):
            return T.mean(T.neq(self.y_pred, y))
        raise NotImplementedError()


def shared_dataset(n, seed):
    """The data as shared variables; the classes are stored as floats and used as integers."""
    x, y = images.load(n, seed, theano.config.floatX)
    shared_x = theano.shared(np.asarray(x, dtype=theano.config.floatX), borrow=True)
    shared_y = theano.shared(np.asarray(y, dtype=theano.config.floatX), borrow=True)
    return shared_x, T.cast(shared_y, "int32")


def functions(index, x, y, cost, errors, updates, train, valid, batch_size):
    """The training function and the validation function of minibatches."""
    part = slice(index * batch_size, (index + 1) * batch_size)
    train_model = theano.function(inputs=[index], outputs=cost, updates=updates,
                                  givens={x: train[0][part], y: train[1][part]})
    validate_model = theano.function(inputs=[index], outputs=errors, givens={x: valid[0][part], y: valid[1][part]})
    return train_model, validate_model


def fit(train_model, validate_model, n_train_batches, n_valid_batches, epochs, patience=5000):
    """Train with early stopping; return the best validation error and the seconds of an epoch."""
    best, seconds, iteration = np.inf, [], 0
    for epoch in range(epochs):
        start = time.perf_counter()
        for minibatch in range(n_train_batches):
            train_model(minibatch)
            iteration += 1
        seconds.append(time.perf_counter() - start)
        error = np.mean([validate_model(i) for i in range(n_valid_batches)])
        if error < best:
            if error < best * 0.995:
                patience = max(patience, iteration * 2)
            best = error
        if patience <= iteration:
            break
    return float(best), min(seconds)


def fit_by_gradient(x, y, cost, errors, params, learning_rate, train, valid, batch_size, epochs):
    """Train by stochastic gradient descent; return what ``fit`` returns."""
    updates = [(param, param - learning_rate * grad) for param, grad in zip(params, T.grad(cost, params))]
    train_model, validate_model = functions(T.lscalar("index"), x, y, cost, errors, updates, train, valid, batch_size)
    n_train, n_valid = [part[0].get_value(borrow=True).shape[0] for part in (train, valid)]
    return fit(train_model, validate_model, n_train // batch_size, n_valid // batch_size, epochs)


def main(epochs=10, n=5000, batch_size=100, learning_rate=0.13):
    train, valid = shared_dataset(n, 2), shared_dataset(1000, 3)
    x, y = T.matrix("x"), T.ivector("y")
    classifier = LogisticRegression(x, 28 * 28, 10)
    return fit_by_gradient(x, y, classifier.negative_log_likelihood(y), classifier.errors(y), classifier.params,
                           learning_rate, train, valid, batch_size, epochs)


if __name__ == "__main__":
    options = arguments(10, 5000)
    print("validation error %.4f, seconds an epoch %.4f" % main(options.epochs, options.n))
