"""RBM: persistent contrastive divergence; the Gibbs steps are a scan, the chain lives in a shared variable."""
import time

import numpy as np
from command_line import arguments
from logistic_sgd import shared_dataset

import theano
import theano.tensor as T
from theano.tensor.shared_randomstreams import RandomStreams


class RBM(object):
    def __init__(self, input=None, n_visible=784, n_hidden=500, W=None, hbias=None, vbias=None, numpy_rng=None,
                 theano_rng=None):
        self.n_visible, self.n_hidden = n_visible, n_hidden
        numpy_rng = np.random.RandomState(1234) if numpy_rng is None else numpy_rng
        self.theano_rng = RandomStreams(numpy_rng.randint(2 ** 30)) if theano_rng is None else theano_rng
        if W is None:
            bound = 4 * np.sqrt(6. / (n_hidden + n_visible))
            W = theano.shared(np.asarray(numpy_rng.uniform(low=-bound, high=bound, size=(n_visible, n_hidden)),
                                         dtype=theano.config.floatX), name="W", borrow=True)
        if hbias is None:
            hbias = theano.shared(np.zeros(n_hidden, dtype=theano.config.floatX), name="hbias", borrow=True)
        if vbias is None:
            vbias = theano.shared(np.zeros(n_visible, dtype=theano.config.floatX), name="vbias", borrow=True)
        self.input = T.matrix("input") if input is None else input
        self.W, self.hbias, self.vbias = W, hbias, vbias
        self.params = [self.W, self.hbias, self.vbias]

    def free_energy(self, v_sample):
        wx_b = T.dot(v_sample, self.W) + self.hbias
        return -T.sum(T.log(1 + T.exp(wx_b)), axis=1) - T.dot(v_sample, self.vbias)

    def propup(self, vis):
        pre_sigmoid = T.dot(vis, self.W) + self.hbias
        return [pre_sigmoid, T.nnet.sigmoid(pre_sigmoid)]

    def propdown(self, hid):
        pre_sigmoid = T.dot(hid, self.W.T) + self.vbias
        return [pre_sigmoid, T.nnet.sigmoid(pre_sigmoid)]

    def sample_h_given_v(self, v0_sample):
        pre_sigmoid, mean = self.propup(v0_sample)
        return [pre_sigmoid, mean, self.theano_rng.binomial(size=mean.shape, n=1, p=mean, dtype=theano.config.floatX)]

    def sample_v_given_h(self, h0_sample):
        pre_sigmoid, mean = self.propdown(h0_sample)
        return [pre_sigmoid, mean, self.theano_rng.binomial(size=mean.shape, n=1, p=mean, dtype=theano.config.floatX)]

    def gibbs_step(self, h0_sample):
        pre_v, v_mean, v_sample = self.sample_v_given_h(h0_sample)
        pre_h, h_mean, h_sample = self.sample_h_given_v(v_sample)
        return [pre_v, v_mean, v_sample, pre_h, h_mean, h_sample]

    def get_cost_updates(self, lr=0.1, persistent=None, k=1):
        _, _, ph_sample = self.sample_h_given_v(self.input)
        chain_start = ph_sample if persistent is None else persistent
        outputs, updates = theano.scan(self.gibbs_step, outputs_info=[None, None, None, None, None, chain_start],
                                       n_steps=k, name="gibbs_hvh")
        pre_sigmoid_nvs, _, nv_samples, _, _, nh_samples = outputs
        chain_end = nv_samples[-1]
        cost = T.mean(self.free_energy(self.input)) - T.mean(self.free_energy(chain_end))
        gparams = T.grad(cost, self.params, consider_constant=[chain_end])
        for gparam, param in zip(gparams, self.params):
            updates[param] = param - gparam * T.cast(lr, dtype=theano.config.floatX)
        if persistent:
            updates[persistent] = nh_samples[-1]
            return self.get_pseudo_likelihood_cost(updates), updates
        return self.get_reconstruction_cost(pre_sigmoid_nvs[-1]), updates

    def get_pseudo_likelihood_cost(self, updates):
        bit_i_idx = theano.shared(value=0, name="bit_i_idx")
        xi = T.round(self.input)
        fe_xi = self.free_energy(xi)
        xi_flip = T.set_subtensor(xi[:, bit_i_idx], 1 - xi[:, bit_i_idx])
        fe_xi_flip = self.free_energy(xi_flip)
        cost = T.mean(self.n_visible * T.log(T.nnet.sigmoid(fe_xi_flip - fe_xi)))
        updates[bit_i_idx] = (bit_i_idx + 1) % self.n_visible
        return cost

    def get_reconstruction_cost(self, pre_sigmoid_nv):
        return T.mean(T.sum(self.input * T.log(T.nnet.sigmoid(pre_sigmoid_nv))
                            + (1 - self.input) * T.log(1 - T.nnet.sigmoid(pre_sigmoid_nv)), axis=1))


def main(epochs=3, n=2000, batch_size=20, k=5, n_hidden=200):
    train_x, _ = shared_dataset(n, 2)
    train_x.set_value(np.round(train_x.get_value(borrow=True)), borrow=True)
    index, x = T.lscalar(), T.matrix("x")
    persistent_chain = theano.shared(np.zeros((batch_size, n_hidden), dtype=theano.config.floatX), borrow=True)
    rbm = RBM(input=x, n_visible=28 * 28, n_hidden=n_hidden, numpy_rng=np.random.RandomState(123))
    cost, updates = rbm.get_cost_updates(lr=0.02, persistent=persistent_chain, k=k)
    train_rbm = theano.function([index], cost, updates=updates, name="train_rbm",
                                givens={x: train_x[index * batch_size: (index + 1) * batch_size]})
    costs, seconds = [], []
    for epoch in range(epochs):
        start = time.perf_counter()
        costs.append(np.mean([train_rbm(batch) for batch in range(n // batch_size)]))
        seconds.append(time.perf_counter() - start)
    return float(costs[0]), float(costs[-1]), min(seconds)


if __name__ == "__main__":
    options = arguments(3, 2000)
    print("pseudo-likelihood from %.2f to %.2f, seconds an epoch %.4f" % main(options.epochs, options.n))
