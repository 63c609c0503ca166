"""Layers, updates and models as the libraries upon Theano write them: Lasagne's layers with shapes, Blocks' tags and
graph walks, Keras' backend functions with learning phase and placeholders, PyMC3's context of random variables."""
import time
from collections import OrderedDict

import images
import numpy as np
from command_line import arguments

import theano
import theano.tensor as T
from theano.gof.graph import inputs as graph_inputs
from theano.ifelse import ifelse
from theano.sandbox.rng_mrg import MRG_RandomStreams
from theano.tensor.nnet import bn
from theano.tensor.signal.pool import pool_2d


# ---- as Lasagne ----------------------------------------------------------------------------------------------------
class Layer(object):
    def __init__(self, incoming):
        self.input_layer = incoming if isinstance(incoming, Layer) else None
        self.input_shape = incoming.output_shape if self.input_layer else incoming
        self.params = OrderedDict()

    def add_param(self, value, name, **tags):
        param = theano.shared(np.asarray(value, dtype=theano.config.floatX), name=name)
        self.params[param] = set(tag for tag, value in tags.items() if value)
        return param


class InputLayer(Layer):
    def __init__(self, shape):
        Layer.__init__(self, shape)
        self.output_shape = shape
        self.input_var = T.TensorType(theano.config.floatX, [length == 1 for length in shape])("input")

    def get_output_for(self, input, **kwargs):
        return input


class Conv2DLayer(Layer):
    def __init__(self, incoming, num_filters, filter_size, rng):
        Layer.__init__(self, incoming)
        channels, side = self.input_shape[1], self.input_shape[2]
        shape = (num_filters, channels, filter_size, filter_size)
        self.W = self.add_param(rng.normal(scale=np.sqrt(2. / np.prod(shape[1:])), size=shape), "W",
                                regularizable=True, trainable=True)
        self.b = self.add_param(np.zeros(num_filters), "b", trainable=True)
        self.output_shape = (self.input_shape[0], num_filters, side - filter_size + 1, side - filter_size + 1)

    def get_output_for(self, input, **kwargs):
        convolved = T.nnet.conv2d(input, self.W, self.input_shape, self.W.get_value(borrow=True).shape,
                                  subsample=(1, 1), border_mode="valid", filter_flip=True)
        return T.nnet.relu(convolved + self.b.dimshuffle(("x", 0) + ("x",) * 2))


class BatchNormLayer(Layer):
    def __init__(self, incoming):
        Layer.__init__(self, incoming)
        count = self.input_shape[1]
        self.gamma = self.add_param(np.ones(count), "gamma", trainable=True)
        self.beta = self.add_param(np.zeros(count), "beta", trainable=True)
        self.mean = self.add_param(np.zeros(count), "mean")
        self.var = self.add_param(np.ones(count), "var")
        self.output_shape = self.input_shape

    def get_output_for(self, input, deterministic=False, updates=None, **kwargs):
        if deterministic:
            pattern = ("x", 0) + ("x",) * (input.ndim - 2)
            return bn.batch_normalization_test(input, *[param.dimshuffle(pattern) for param in (
                self.gamma, self.beta, self.mean, self.var)], axes="spatial")
        normalized, mean, invstd, new_mean, new_var = bn.batch_normalization_train(
            input, self._broadcast(self.gamma, input), self._broadcast(self.beta, input), axes="spatial",
            running_average_factor=0.1, running_mean=self._broadcast(self.mean, input),
            running_var=self._broadcast(self.var, input))
        updates[self.mean], updates[self.var] = new_mean.flatten(), new_var.flatten()
        return normalized

    def _broadcast(self, param, input):
        return param.dimshuffle(("x", 0) + ("x",) * (input.ndim - 2))


class PoolLayer(Layer):
    def __init__(self, incoming, size):
        Layer.__init__(self, incoming)
        self.size = size
        batch, channels, rows, columns = self.input_shape
        self.output_shape = (batch, channels, rows // size, columns // size)

    def get_output_for(self, input, **kwargs):
        return pool_2d(input, ws=(self.size, self.size), ignore_border=True, mode="max")


class DropoutLayer(Layer):
    def __init__(self, incoming, p, rng):
        Layer.__init__(self, incoming)
        self.p, self.output_shape = p, self.input_shape
        self._srng = MRG_RandomStreams(rng.randint(1, 2147462579))

    def get_output_for(self, input, deterministic=False, **kwargs):
        if deterministic:
            return input
        retain = T.constant(1) - self.p
        return input / retain * self._srng.binomial(input.shape, p=retain, dtype=input.dtype)


class DenseLayer(Layer):
    def __init__(self, incoming, num_units, nonlinearity, rng):
        Layer.__init__(self, incoming)
        n_in = int(np.prod(self.input_shape[1:]))
        self.nonlinearity, self.output_shape = nonlinearity, (self.input_shape[0], num_units)
        self.W = self.add_param(rng.normal(scale=np.sqrt(1. / n_in), size=(n_in, num_units)), "W", regularizable=True,
                                trainable=True)
        self.b = self.add_param(np.zeros(num_units), "b", trainable=True)

    def get_output_for(self, input, **kwargs):
        if input.ndim > 2:
            input = input.flatten(2)
        return self.nonlinearity(T.dot(input, self.W) + self.b)


def all_layers(layer):
    found = []
    while layer is not None:
        found.insert(0, layer)
        layer = layer.input_layer
    return found


def get_output(layer, **kwargs):
    layers = all_layers(layer)
    value = layers[0].input_var
    for each in layers:
        value = each.get_output_for(value, **kwargs)
    return value


def get_params(layer, tag):
    return [param for each in all_layers(layer) for param, tags in each.params.items() if tag in tags]


def adam(loss, params, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8):
    grads = theano.grad(loss, params)
    t_prev = theano.shared(np.asarray(0., dtype=theano.config.floatX))
    updates, one = OrderedDict(), T.constant(1)
    t = t_prev + 1
    a_t = learning_rate * T.sqrt(one - beta2 ** t) / (one - beta1 ** t)
    for param, g_t in zip(params, grads):
        value = param.get_value(borrow=True)
        m_prev = theano.shared(np.zeros(value.shape, dtype=value.dtype), broadcastable=param.broadcastable)
        v_prev = theano.shared(np.zeros(value.shape, dtype=value.dtype), broadcastable=param.broadcastable)
        m_t = beta1 * m_prev + (one - beta1) * g_t
        v_t = beta2 * v_prev + (one - beta2) * g_t ** 2
        updates[m_prev], updates[v_prev] = m_t, v_t
        updates[param] = param - a_t * m_t / (T.sqrt(v_t) + epsilon)
    updates[t_prev] = t
    return updates


def lasagne_like(epochs, n, batch_size=50):
    rng = np.random.RandomState(1)
    layer = InputLayer((None, 1, 28, 28))
    layer.input_var = T.tensor4("input")
    network = PoolLayer(BatchNormLayer(Conv2DLayer(layer, 8, 5, rng)), 2)
    network = DropoutLayer(DenseLayer(network, 64, T.nnet.relu, rng), 0.3, rng)
    network = DenseLayer(network, 10, T.nnet.softmax, rng)
    target, bn_updates = T.ivector("target"), OrderedDict()
    prediction = get_output(network, updates=bn_updates)
    loss = T.nnet.categorical_crossentropy(prediction, target).mean()
    loss = loss + 1e-4 * sum((param ** 2).sum() for param in get_params(network, "regularizable"))
    updates = adam(loss, get_params(network, "trainable"), learning_rate=0.003)
    updates.update(bn_updates)
    train = theano.function([layer.input_var, target], loss, updates=updates)
    correct = T.eq(T.argmax(get_output(network, deterministic=True), axis=1), target)
    accuracy = theano.function([layer.input_var, target], T.mean(correct, dtype=theano.config.floatX))
    x, y = images.load(n, 2, theano.config.floatX)
    valid_x, valid_y = images.load(500, 3, theano.config.floatX)
    x, valid_x = x.reshape(-1, 1, 28, 28), valid_x.reshape(-1, 1, 28, 28)
    seconds = []
    for _ in range(epochs):
        start = time.perf_counter()
        for first in range(0, n, batch_size):
            train(x[first:first + batch_size], y[first:first + batch_size])
        seconds.append(time.perf_counter() - start)
    return 1 - float(accuracy(valid_x, valid_y)), min(seconds)


# ---- as Blocks -----------------------------------------------------------------------------------------------------
def blocks_like():
    """Parameters are found by walking the graph; costs are scaled by their tags."""
    x, y = T.matrix("features"), T.matrix("targets")
    W = theano.shared(np.zeros((4, 2), dtype=theano.config.floatX), name="W")
    W.tag.roles = ["weight"]
    cost = T.nnet.binary_crossentropy(T.nnet.sigmoid(T.dot(x, W)), y).mean()
    cost.name = "cost"
    parameters = [v for v in graph_inputs([cost]) if "weight" in getattr(v.tag, "roles", [])]
    assert parameters == [W]
    step_norm = T.sqrt(sum((g ** 2).sum() for g in T.grad(cost, parameters)))
    scale = ifelse(T.lt(step_norm, 1), T.constant(1, dtype=theano.config.floatX), 1 / step_norm)
    train = theano.function([x, y], cost, updates=[(p, p - scale * T.grad(cost, p)) for p in parameters])
    draw = np.random.RandomState(2)
    features = draw.normal(size=(50, 4)).astype(theano.config.floatX)
    targets = (features[:, :2] > 0).astype(theano.config.floatX)
    costs = [float(train(features, targets)) for _ in range(100)]
    return costs[0], costs[-1]


# ---- as Keras' backend ---------------------------------------------------------------------------------------------
def keras_like():
    """A learning phase that chooses at run time, placeholders, rnn with masks by scan, and a function of lists."""
    phase = T.scalar(dtype="uint8", name="learning_phase")
    x = T.tensor3("x")
    rng = MRG_RandomStreams(seed=1)
    dropped = x * rng.binomial(x.shape, p=0.5, dtype=x.dtype) / 0.5
    shown = theano.ifelse.ifelse(phase, dropped, x)
    time_first = shown.dimshuffle((1, 0, 2))
    mask = T.any(T.neq(x, 0.), axis=-1, keepdims=True).dimshuffle((1, 0, 2))

    def _step(mask, input, previous):
        output = T.tanh(input + 0.5 * previous)
        return T.switch(mask, output, previous)

    outputs, _ = theano.scan(_step, sequences=[mask, time_first],
                             outputs_info=[T.unbroadcast(T.zeros_like(time_first[0]), 1)])
    last = T.squeeze(outputs)[-1]
    f = theano.function([x, phase], [last, outputs.dimshuffle((1, 0, 2))], allow_input_downcast=True,
                        on_unused_input="ignore")
    value = np.random.RandomState(3).normal(size=(3, 6, 4))
    value[:, 4:] = 0
    last, outputs = f(value, 0)
    assert np.array_equal(outputs[:, 3], outputs[:, 5]) and last.shape == (3, 4)
    assert not np.array_equal(f(value, 1)[0], last)
    return float(np.abs(last).mean())


# ---- as PyMC3 ------------------------------------------------------------------------------------------------------
class Model(object):
    """A context of random variables: the log-density is the sum of theirs, of one vector of all free values."""

    contexts = []

    def __enter__(self):
        Model.contexts.append(self)
        self.free, self.terms = [], []
        return self

    def __exit__(self, *error):
        Model.contexts.pop()

    def logp(self):
        return T.sum([T.sum(term) for term in self.terms])

    def logp_dlogp_function(self):
        vector = T.vector("values")
        pieces, place = [], 0
        for variable in self.free:
            pieces.append((variable, vector[place]))
            place += 1
        logp = theano.clone(self.logp(), replace=dict(pieces), strict=False)
        return theano.function([vector], [logp, T.grad(logp, vector)])


class Normal(object):
    def __new__(cls, name, mu, sd, observed=None):
        model = Model.contexts[-1]
        value = T.scalar(name) if observed is None else T.as_tensor_variable(observed)
        if observed is None:
            model.free.append(value)
        tau = T.as_tensor_variable(sd) ** -2
        model.terms.append((-tau * (value - mu) ** 2 + T.log(tau / np.pi / 2.)) / 2.)
        return value


def pymc_like():
    data = np.random.RandomState(4).normal(2, 1, size=50).astype(theano.config.floatX)
    with Model() as model:
        mu = Normal("mu", 0., 10.)
        log_sd = Normal("log_sd", 0., 1.)
        Normal("data", mu, T.exp(log_sd), observed=data)
    f = model.logp_dlogp_function()
    point = np.zeros(2, dtype=theano.config.floatX)
    for _ in range(500):
        value, slope = f(point)
        point = (point + 0.005 * slope).astype(theano.config.floatX)
    return float(point[0] - data.mean()), float(np.exp(point[1]) - data.std())


def main(epochs=3, n=1000):
    error, seconds = lasagne_like(epochs, n)
    first, last = blocks_like()
    return error, first, last, keras_like(), pymc_like(), seconds


if __name__ == "__main__":
    options = arguments(3, 1000)
    error, first, last, mean, (shift, spread), seconds = main(options.epochs, options.n)
    print("validation error %.4f, cost from %.3f to %.3f, mean %.4f, differences %.4f %.4f, seconds an epoch %.4f"
          % (error, first, last, mean, shift, spread, seconds))
