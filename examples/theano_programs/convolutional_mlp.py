"""LeNet: two layers of convolution and pooling, a hidden layer, and a softmax."""
import numpy as np
from command_line import arguments
from logistic_sgd import LogisticRegression, fit_by_gradient, shared_dataset
from mlp import HiddenLayer

import theano
import theano.tensor as T
from theano.tensor.nnet import conv2d
from theano.tensor.signal import pool


class LeNetConvPoolLayer(object):
    def __init__(self, rng, input, filter_shape, image_shape, poolsize=(2, 2)):
        assert image_shape[1] == filter_shape[1]
        fan_in = np.prod(filter_shape[1:])
        fan_out = filter_shape[0] * np.prod(filter_shape[2:]) // np.prod(poolsize)
        bound = np.sqrt(6. / (fan_in + fan_out))
        self.W = theano.shared(np.asarray(rng.uniform(low=-bound, high=bound, size=filter_shape),
                                          dtype=theano.config.floatX), borrow=True)
        self.b = theano.shared(value=np.zeros((filter_shape[0],), dtype=theano.config.floatX), borrow=True)
        conv_out = conv2d(input=input, filters=self.W, filter_shape=filter_shape, input_shape=image_shape)
        pooled_out = pool.pool_2d(input=conv_out, ws=poolsize, ignore_border=True)
        self.output = T.tanh(pooled_out + self.b.dimshuffle("x", 0, "x", "x"))
        self.params = [self.W, self.b]


def main(epochs=5, n=2000, batch_size=100, learning_rate=0.1, nkerns=(20, 50)):
    train, valid = shared_dataset(n, 2), shared_dataset(1000, 3)
    rng = np.random.RandomState(23455)
    x, y = T.matrix("x"), T.ivector("y")
    layer0 = LeNetConvPoolLayer(rng, x.reshape((batch_size, 1, 28, 28)), (nkerns[0], 1, 5, 5), (batch_size, 1, 28, 28))
    layer1 = LeNetConvPoolLayer(rng, layer0.output, (nkerns[1], nkerns[0], 5, 5), (batch_size, nkerns[0], 12, 12))
    layer2 = HiddenLayer(rng, layer1.output.flatten(2), nkerns[1] * 4 * 4, 500, activation=T.tanh)
    layer3 = LogisticRegression(layer2.output, 500, 10)
    params = layer3.params + layer2.params + layer1.params + layer0.params
    return fit_by_gradient(x, y, layer3.negative_log_likelihood(y), layer3.errors(y), params, learning_rate, train,
                           valid, batch_size, epochs)


if __name__ == "__main__":
    options = arguments(5, 2000)
    print("validation error %.4f, seconds an epoch %.4f" % main(options.epochs, options.n))
