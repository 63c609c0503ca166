"""dA: an autoencoder that repairs images a random stream has damaged; encoder and decoder share their weights."""
import time

import numpy as np
from command_line import arguments
from logistic_sgd import shared_dataset

import theano
import theano.tensor as T
from theano.tensor.shared_randomstreams import RandomStreams


class dA(object):
    def __init__(self, numpy_rng, theano_rng=None, input=None, n_visible=784, n_hidden=500, W=None, bhid=None,
                 bvis=None):
        self.n_visible, self.n_hidden = n_visible, n_hidden
        if not theano_rng:
            theano_rng = RandomStreams(numpy_rng.randint(2 ** 30))
        if not W:
            bound = 4 * np.sqrt(6. / (n_hidden + n_visible))
            W = theano.shared(np.asarray(numpy_rng.uniform(low=-bound, high=bound, size=(n_visible, n_hidden)),
                                         dtype=theano.config.floatX), name="W", borrow=True)
        if not bvis:
            bvis = theano.shared(np.zeros(n_visible, dtype=theano.config.floatX), borrow=True)
        if not bhid:
            bhid = theano.shared(np.zeros(n_hidden, dtype=theano.config.floatX), name="b", borrow=True)
        self.W, self.b, self.b_prime, self.W_prime = W, bhid, bvis, W.T
        self.theano_rng = theano_rng
        self.x = T.dmatrix(name="input") if input is None else input
        self.params = [self.W, self.b, self.b_prime]

    def get_corrupted_input(self, input, corruption_level):
        return self.theano_rng.binomial(size=input.shape, n=1, p=1 - corruption_level,
                                        dtype=theano.config.floatX) * input

    def get_hidden_values(self, input):
        return T.nnet.sigmoid(T.dot(input, self.W) + self.b)

    def get_reconstructed_input(self, hidden):
        return T.nnet.sigmoid(T.dot(hidden, self.W_prime) + self.b_prime)

    def get_cost_updates(self, corruption_level, learning_rate):
        tilde_x = self.get_corrupted_input(self.x, corruption_level)
        z = self.get_reconstructed_input(self.get_hidden_values(tilde_x))
        L = -T.sum(self.x * T.log(z) + (1 - self.x) * T.log(1 - z), axis=1)
        cost = T.mean(L)
        gparams = T.grad(cost, self.params)
        updates = [(param, param - learning_rate * gparam) for param, gparam in zip(self.params, gparams)]
        return cost, updates


def main(epochs=5, n=2000, batch_size=20, learning_rate=0.1):
    train_x, _ = shared_dataset(n, 2)
    index, x = T.lscalar(), T.matrix("x")
    da = dA(numpy_rng=np.random.RandomState(123), input=x, n_visible=28 * 28, n_hidden=500)
    cost, updates = da.get_cost_updates(corruption_level=0.3, learning_rate=learning_rate)
    train_da = theano.function([index], cost, updates=updates,
                               givens={x: train_x[index * batch_size: (index + 1) * batch_size]})
    costs, seconds = [], []
    for epoch in range(epochs):
        start = time.perf_counter()
        costs.append(np.mean([train_da(batch) for batch in range(n // batch_size)]))
        seconds.append(time.perf_counter() - start)
    return float(costs[0]), float(costs[-1]), min(seconds)


if __name__ == "__main__":
    options = arguments(5, 2000)
    print("cost from %.2f to %.2f, seconds an epoch %.4f" % main(options.epochs, options.n))
