"""LSTM: the class of a sentence, by embeddings, a masked scan, the mean over time, dropout and Adadelta."""
import time
from collections import OrderedDict

import numpy as np
from command_line import arguments
import sequences

import theano
import theano.tensor as tensor
from theano import config
from theano.sandbox.rng_mrg import MRG_RandomStreams as RandomStreams

rng = np.random.RandomState(123)


def ortho_weight(size):
    return np.linalg.svd(rng.randn(size, size))[0].astype(config.floatX)


def init_params(words, size, classes):
    params = OrderedDict()
    params["Wemb"] = (0.01 * rng.rand(words, size)).astype(config.floatX)
    params["lstm_W"] = np.concatenate([ortho_weight(size) for _ in range(4)], axis=1)
    params["lstm_U"] = np.concatenate([ortho_weight(size) for _ in range(4)], axis=1)
    params["lstm_b"] = np.zeros((4 * size,)).astype(config.floatX)
    params["U"] = 0.01 * rng.randn(size, classes).astype(config.floatX)
    params["b"] = np.zeros((classes,)).astype(config.floatX)
    return OrderedDict((name, theano.shared(value, name=name)) for name, value in params.items())


def lstm_layer(tparams, state_below, size, mask):
    nsteps, n_samples = state_below.shape[0], state_below.shape[1]

    def _slice(x, n):
        return x[:, n * size:(n + 1) * size]

    def _step(m_, x_, h_, c_):
        preact = tensor.dot(h_, tparams["lstm_U"]) + x_
        i = tensor.nnet.sigmoid(_slice(preact, 0))
        f = tensor.nnet.sigmoid(_slice(preact, 1))
        o = tensor.nnet.sigmoid(_slice(preact, 2))
        c = tensor.tanh(_slice(preact, 3))
        c = f * c_ + i * c
        c = m_[:, None] * c + (1. - m_)[:, None] * c_
        h = o * tensor.tanh(c)
        return m_[:, None] * h + (1. - m_)[:, None] * h_, c

    state_below = tensor.dot(state_below, tparams["lstm_W"]) + tparams["lstm_b"]
    zeros = tensor.alloc(np.asarray(0., dtype=config.floatX), n_samples, size)
    rval, _ = theano.scan(_step, sequences=[mask, state_below], outputs_info=[zeros, zeros], name="lstm_layers",
                          n_steps=nsteps)
    return rval[0]


def dropout_layer(state_before, use_noise, trng):
    noisy = state_before * trng.binomial(state_before.shape, p=0.5, n=1, dtype=state_before.dtype)
    return tensor.switch(use_noise, noisy, state_before * 0.5)


def build_model(tparams, size):
    trng = RandomStreams(123)
    use_noise = theano.shared(np.asarray(0., dtype=config.floatX))
    x, mask, y = tensor.matrix("x", dtype="int64"), tensor.matrix("mask", dtype=config.floatX), tensor.vector(
        "y", dtype="int64")
    n_timesteps, n_samples = x.shape[0], x.shape[1]
    emb = tparams["Wemb"][x.flatten()].reshape([n_timesteps, n_samples, size])
    proj = lstm_layer(tparams, emb, size, mask)
    proj = (proj * mask[:, :, None]).sum(axis=0) / mask.sum(axis=0)[:, None]
    proj = dropout_layer(proj, use_noise, trng)
    pred = tensor.nnet.softmax(tensor.dot(proj, tparams["U"]) + tparams["b"])
    f_pred = theano.function([x, mask], pred.argmax(axis=1), name="f_pred")
    off = 1e-6 if pred.dtype == "float16" else 1e-8
    cost = -tensor.log(pred[tensor.arange(n_samples), y] + off).mean()
    return use_noise, x, mask, y, f_pred, cost


def adadelta(tparams, grads, x, mask, y, cost):
    def zeros_like(suffix):
        return [theano.shared(p.get_value() * np.asarray(0., dtype=config.floatX), name="%s_%s" % (k, suffix))
                for k, p in tparams.items()]

    zipped_grads, running_up2, running_grads2 = zeros_like("grad"), zeros_like("rup2"), zeros_like("rgrad2")
    zgup = [(zg, g) for zg, g in zip(zipped_grads, grads)]
    rg2up = [(rg2, 0.95 * rg2 + 0.05 * (g ** 2)) for rg2, g in zip(running_grads2, grads)]
    f_grad_shared = theano.function([x, mask, y], cost, updates=zgup + rg2up, name="adadelta_f_grad_shared")
    updir = [-tensor.sqrt(ru2 + 1e-6) / tensor.sqrt(rg2 + 1e-6) * zg
             for zg, ru2, rg2 in zip(zipped_grads, running_up2, running_grads2)]
    ru2up = [(ru2, 0.95 * ru2 + 0.05 * (ud ** 2)) for ru2, ud in zip(running_up2, updir)]
    param_up = [(p, p + ud) for p, ud in zip(tparams.values(), updir)]
    f_update = theano.function([], [], updates=ru2up + param_up, on_unused_input="ignore", name="adadelta_f_update")
    return f_grad_shared, f_update


def main(epochs=80, n=600, size=32, batch_size=20):
    words, mask, classes = sequences.sentences(n, 1)
    valid = sequences.sentences(300, 2)
    mask = mask.astype(config.floatX)
    tparams = init_params(sequences.WORDS, size, 2)
    use_noise, x, m, y, f_pred, cost = build_model(tparams, size)
    grads = tensor.grad(cost, wrt=list(tparams.values()))
    f_grad_shared, f_update = adadelta(tparams, grads, x, m, y, cost)
    seconds, draw = [], np.random.RandomState(3)
    for epoch in range(epochs):
        start = time.perf_counter()
        use_noise.set_value(1.)
        order = draw.permutation(n)
        for first in range(0, n, batch_size):
            part = order[first:first + batch_size]
            assert np.isfinite(f_grad_shared(words[:, part], mask[:, part], classes[part]))
            f_update()
        seconds.append(time.perf_counter() - start)
    use_noise.set_value(0.)
    error = np.mean(f_pred(valid[0], valid[1].astype(config.floatX)) != valid[2])
    return float(error), min(seconds)


if __name__ == "__main__":
    options = arguments(80, 600)
    print("validation error %.4f, seconds an epoch %.4f" % main(options.epochs, options.n))
