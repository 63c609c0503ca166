"""DBN: restricted Boltzmann machines trained one upon the other, then the whole network as a classifier."""
import time

import numpy as np
from command_line import arguments
from logistic_sgd import LogisticRegression, fit_by_gradient, shared_dataset
from mlp import HiddenLayer
from restricted_boltzmann_machine import RBM

import theano
import theano.tensor as T
from theano.sandbox.rng_mrg import MRG_RandomStreams


class DBN(object):
    def __init__(self, numpy_rng, n_ins, hidden_layers_sizes, n_outs):
        self.sigmoid_layers, self.rbm_layers, self.params = [], [], []
        theano_rng = MRG_RandomStreams(numpy_rng.randint(2 ** 30))
        self.x, self.y = T.matrix("x"), T.ivector("y")
        layer_input, n_in = self.x, n_ins
        for size in hidden_layers_sizes:
            layer = HiddenLayer(numpy_rng, layer_input, n_in, size, activation=T.nnet.sigmoid)
            self.sigmoid_layers.append(layer)
            self.params.extend(layer.params)
            self.rbm_layers.append(RBM(numpy_rng=numpy_rng, theano_rng=theano_rng, input=layer_input, n_visible=n_in,
                                       n_hidden=size, W=layer.W, hbias=layer.b))
            layer_input, n_in = layer.output, size
        self.logLayer = LogisticRegression(layer_input, n_in, n_outs)
        self.params.extend(self.logLayer.params)
        self.finetune_cost = self.logLayer.negative_log_likelihood(self.y)
        self.errors = self.logLayer.errors(self.y)

    def pretraining_functions(self, train_set_x, batch_size, k):
        index, learning_rate = T.lscalar("index"), T.scalar("lr")
        batch = train_set_x[index * batch_size: (index + 1) * batch_size]
        pretrain_fns = []
        for rbm in self.rbm_layers:
            cost, updates = rbm.get_cost_updates(learning_rate, persistent=None, k=k)
            pretrain_fns.append(theano.function(inputs=[index, theano.In(learning_rate, value=0.1)], outputs=cost,
                                                updates=updates, givens={self.x: batch}))
        return pretrain_fns


def main(epochs=3, n=2000, batch_size=20, finetune_lr=0.1, k=1):
    train, valid = shared_dataset(n, 2), shared_dataset(1000, 3)
    dbn = DBN(np.random.RandomState(123), 28 * 28, [300, 200], 10)
    start = time.perf_counter()
    for pretrain in dbn.pretraining_functions(train[0], batch_size, k):
        costs = [pretrain(index=batch, lr=0.01) for batch in range(n // batch_size)]
        assert np.isfinite(costs).all()
    pretraining = time.perf_counter() - start
    error, seconds = fit_by_gradient(dbn.x, dbn.y, dbn.finetune_cost, dbn.errors, dbn.params, finetune_lr, train,
                                     valid, batch_size, epochs)
    return error, seconds, pretraining


if __name__ == "__main__":
    options = arguments(3, 2000)
    print("validation error %.4f, seconds an epoch %.4f, of pretraining %.3f" % main(options.epochs, options.n))
