"""RNN-RBM: a restricted Boltzmann machine for each step of a tune, whose biases a recurrent network computes."""
import time

import numpy as np
from command_line import arguments
import sequences

import theano
import theano.tensor as T
from theano.tensor.shared_randomstreams import RandomStreams

rng = RandomStreams(seed=np.random.RandomState(5).randint(1 << 30))
numpy_rng = np.random.RandomState(7)


def build_rbm(v, W, bv, bh, k):
    """The mean, a sample after k Gibbs steps, the cost, a monitor and the updates of the random streams."""
    def gibbs_step(v):
        mean_h = T.nnet.sigmoid(T.dot(v, W) + bh)
        h = rng.binomial(size=mean_h.shape, n=1, p=mean_h, dtype=theano.config.floatX)
        mean_v = T.nnet.sigmoid(T.dot(h, W.T) + bv)
        return mean_v, rng.binomial(size=mean_v.shape, n=1, p=mean_v, dtype=theano.config.floatX)

    chain, updates = theano.scan(lambda v: gibbs_step(v)[1], outputs_info=[v], n_steps=k)
    v_sample = chain[-1]
    mean_v = gibbs_step(v_sample)[0]
    monitor = T.xlogx.xlogy0(v, mean_v) + T.xlogx.xlogy0(1 - v, 1 - mean_v)
    monitor = monitor.sum() / v.shape[0]

    def free_energy(v):
        return -(v * bv).sum() - T.log(1 + T.exp(T.dot(v, W) + bh)).sum()

    cost = (free_energy(v) - free_energy(v_sample)) / v.shape[0]
    return v_sample, cost, monitor, updates


def shared_normal(rows, columns, scale):
    return theano.shared(numpy_rng.normal(scale=scale, size=(rows, columns)).astype(theano.config.floatX))


def shared_zeros(*shape):
    return theano.shared(np.zeros(shape, dtype=theano.config.floatX))


def build_rnnrbm(n_visible, n_hidden, n_hidden_recurrent):
    W, bv, bh = shared_normal(n_visible, n_hidden, 0.01), shared_zeros(n_visible), shared_zeros(n_hidden)
    Wuh, Wuv = shared_normal(n_hidden_recurrent, n_hidden, 0.0001), shared_normal(n_hidden_recurrent, n_visible, 0.0001)
    Wvu = shared_normal(n_visible, n_hidden_recurrent, 0.0001)
    Wuu, bu = shared_normal(n_hidden_recurrent, n_hidden_recurrent, 0.0001), shared_zeros(n_hidden_recurrent)
    params = W, bv, bh, Wuh, Wuv, Wvu, Wuu, bu
    v = T.matrix()
    u0 = T.zeros((n_hidden_recurrent,))

    def recurrence(v_t, u_tm1):
        bv_t = bv + T.dot(u_tm1, Wuv)
        bh_t = bh + T.dot(u_tm1, Wuh)
        generate = v_t is None
        if generate:
            v_t, _, _, updates = build_rbm(T.zeros((n_visible,)), W, bv_t, bh_t, k=25)
        u_t = T.tanh(bu + T.dot(v_t, Wvu) + T.dot(u_tm1, Wuu))
        return ([v_t, u_t], updates) if generate else [u_t, bv_t, bh_t]

    (u_t, bv_t, bh_t), updates_train = theano.scan(lambda v_t, u_tm1, *_: recurrence(v_t, u_tm1), sequences=v,
                                                   outputs_info=[u0, None, None], non_sequences=params)
    v_sample, cost, monitor, updates_rbm = build_rbm(v, W, bv_t[:], bh_t[:], k=15)
    updates_train.update(updates_rbm)
    (v_t, u_t), updates_generate = theano.scan(lambda u_tm1, *_: recurrence(None, u_tm1), outputs_info=[None, u0],
                                               non_sequences=params, n_steps=30)
    return v, v_sample, cost, monitor, params, updates_train, v_t, updates_generate


def main(epochs=10, n=20, lr=0.01):
    tunes = [tune.astype(theano.config.floatX) for tune in sequences.tunes(n, 1)]
    v, v_sample, cost, monitor, params, updates_train, v_t, updates_generate = build_rnnrbm(24, 40, 30)
    gradient = T.grad(cost, params, consider_constant=[v_sample])
    updates_train.update([(p, p - lr * g) for p, g in zip(params, gradient)])
    train_function = theano.function([v], monitor, updates=updates_train)
    generate_function = theano.function([], v_t, updates=updates_generate)
    monitors, seconds = [], []
    for epoch in range(epochs):
        start = time.perf_counter()
        monitors.append(np.mean([train_function(tune) for tune in tunes]))
        seconds.append(time.perf_counter() - start)
    assert generate_function().shape == (30, 24)
    return float(monitors[0]), float(monitors[-1]), min(seconds)


if __name__ == "__main__":
    options = arguments(10, 20)
    print("monitor from %.2f to %.2f, seconds an epoch %.4f" % main(options.epochs, options.n))
