"""SdA: denoising autoencoders trained one upon the other, then the whole network as a classifier."""
import time

import numpy as np
from command_line import arguments
from denoising_autoencoder import dA
from logistic_sgd import LogisticRegression, fit_by_gradient, shared_dataset
from mlp import HiddenLayer

import theano
import theano.tensor as T
from theano.sandbox.rng_mrg import MRG_RandomStreams as RandomStreams


class SdA(object):
    def __init__(self, numpy_rng, n_ins, hidden_layers_sizes, n_outs):
        self.sigmoid_layers, self.dA_layers, self.params = [], [], []
        theano_rng = RandomStreams(numpy_rng.randint(2 ** 30))
        self.x, self.y = T.matrix("x"), T.ivector("y")
        layer_input, n_in = self.x, n_ins
        for size in hidden_layers_sizes:
            layer = HiddenLayer(numpy_rng, layer_input, n_in, size, activation=T.nnet.sigmoid)
            self.sigmoid_layers.append(layer)
            self.params.extend(layer.params)
            self.dA_layers.append(dA(numpy_rng, theano_rng, layer_input, n_in, size, W=layer.W, bhid=layer.b))
            layer_input, n_in = layer.output, size
        self.logLayer = LogisticRegression(layer_input, n_in, n_outs)
        self.params.extend(self.logLayer.params)
        self.finetune_cost = self.logLayer.negative_log_likelihood(self.y)
        self.errors = self.logLayer.errors(self.y)

    def pretraining_functions(self, train_set_x, batch_size):
        index = T.lscalar("index")
        corruption_level, learning_rate = T.scalar("corruption"), T.scalar("lr")
        batch = train_set_x[index * batch_size: (index + 1) * batch_size]
        pretrain_fns = []
        for layer in self.dA_layers:
            cost, updates = layer.get_cost_updates(corruption_level, learning_rate)
            pretrain_fns.append(theano.function(
                inputs=[index, theano.In(corruption_level, value=0.2), theano.In(learning_rate, value=0.1)],
                outputs=cost, updates=updates, givens={self.x: batch}))
        return pretrain_fns


def main(epochs=3, n=2000, batch_size=20, finetune_lr=0.1, pretraining_epochs=1):
    train, valid = shared_dataset(n, 2), shared_dataset(1000, 3)
    sda = SdA(np.random.RandomState(89677), 28 * 28, [300, 200], 10)
    start = time.perf_counter()
    for pretrain, corruption in zip(sda.pretraining_functions(train[0], batch_size), [0.1, 0.2]):
        for _ in range(pretraining_epochs):
            costs = [pretrain(index=batch, corruption=corruption, lr=0.05) for batch in range(n // batch_size)]
            assert np.isfinite(costs).all()
    pretraining = time.perf_counter() - start
    error, seconds = fit_by_gradient(sda.x, sda.y, sda.finetune_cost, sda.errors, sda.params, finetune_lr, train,
                                     valid, batch_size, epochs)
    return error, seconds, pretraining


if __name__ == "__main__":
    options = arguments(3, 2000)
    print("validation error %.4f, seconds an epoch %.4f, of pretraining %.3f" % main(options.epochs, options.n))
