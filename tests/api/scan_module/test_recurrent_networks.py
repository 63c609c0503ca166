"""What real programs do with scan: LSTM sentiment, slot filling by an Elman network, an RNN that makes the biases of
a Boltzmann machine; each against NumPy or finite differences, and each learns."""
import numpy
import pytest

import phintys
import phintys.tensor as T

RNG = numpy.random.RandomState(0)


def weights(*shape):
    return phintys.shared(RNG.uniform(-.3, .3, shape))


def descend(cost, parameters, rate):
    """Updates of gradient descent."""
    return [(parameter, parameter - rate * gradient)
            for parameter, gradient in zip(parameters, T.grad(cost, parameters))]


def check_gradient(cost, parameters, inputs, values):
    """Compare gradients with finite differences along a random direction."""
    f = phintys.function(inputs, [cost, *T.grad(cost, parameters)])
    gradients, kept = f(*values)[1:], [parameter.get_value() for parameter in parameters]
    directions = [RNG.uniform(-1, 1, value.shape) for value in kept]
    costs = []
    for distance in (-1e-4, 1e-4):
        for parameter, value, direction in zip(parameters, kept, directions):
            parameter.set_value(value + distance * direction)
        costs.append(f(*values)[0])
    for parameter, value in zip(parameters, kept):
        parameter.set_value(value)
    slope = sum([(gradient * direction).sum() for gradient, direction in zip(gradients, directions)])
    numpy.testing.assert_allclose(slope, (costs[1] - costs[0]) / 2e-4, rtol=1e-5)


class TestSentiment:
    """An LSTM over padded sentences: gates in one matrix, a mask, the mean of the states, logistic regression."""

    size, words, batch, steps = 6, 12, 5, 7

    def setup_method(self):
        size = self.size
        self.embedding = weights(self.words, size)
        self.W, self.U, self.b = weights(size, 4 * size), weights(size, 4 * size), weights(4 * size)
        self.out = weights(size, 2)
        self.parameters = [self.embedding, self.W, self.U, self.b, self.out]
        self.x, self.mask, self.y = T.lmatrix("x"), T.matrix("mask"), T.lvector("y")
        rows = self.embedding[self.x.flatten()].reshape((self.x.shape[0], self.x.shape[1], size))
        states = self.lstm(rows)
        mean = (states * self.mask[:, :, None]).sum(axis=0) / self.mask.sum(axis=0)[:, None]
        self.states, self.prediction = states, T.nnet.softmax(T.dot(mean, self.out))
        self.cost = -T.log(self.prediction[T.arange(self.y.shape[0]), self.y] + 1e-8).mean()
        lengths = RNG.randint(2, self.steps + 1, self.batch)
        self.values = [RNG.randint(0, self.words, (self.steps, self.batch)),
                       (numpy.arange(self.steps)[:, None] < lengths).astype("float64"),
                       RNG.randint(0, 2, self.batch)]

    def lstm(self, rows):
        size = self.size

        def part(gates, number):
            return gates[:, number * size:(number + 1) * size]

        def step(mask, row, before, cell):
            gates = T.dot(before, self.U) + row
            i, f, o = [T.nnet.sigmoid(part(gates, number)) for number in range(3)]
            new = f * cell + i * T.tanh(part(gates, 3))
            new = mask[:, None] * new + (1. - mask)[:, None] * cell
            state = o * T.tanh(new)
            return mask[:, None] * state + (1. - mask)[:, None] * before, new

        zeros = T.zeros((rows.shape[1], size))
        (states, _), updates = phintys.scan(step, [self.mask, T.dot(rows, self.W) + self.b], [zeros, zeros],
                                            name="lstm_layers", n_steps=rows.shape[0])
        assert not updates
        return states

    def test_states(self):
        x, mask, _ = self.values
        embedding, w, u, b, _ = [parameter.get_value() for parameter in self.parameters]
        state = cell = numpy.zeros((self.batch, self.size))
        wanted = []
        for step in range(self.steps):
            gates = state @ u + embedding[x[step]] @ w + b
            i, f, o, c = numpy.split(gates, 4, axis=1)
            i, f, o = [1 / (1 + numpy.exp(-gate)) for gate in (i, f, o)]
            m = mask[step][:, None]
            cell = m * (f * cell + i * numpy.tanh(c)) + (1 - m) * cell
            state = m * o * numpy.tanh(cell) + (1 - m) * state
            wanted.append(state)
        found = phintys.function([self.x, self.mask], self.states)(x, mask)
        numpy.testing.assert_allclose(found, wanted)

    def test_gradients(self):
        check_gradient(self.cost, self.parameters, [self.x, self.mask, self.y], self.values)

    def test_it_learns(self):
        train = phintys.function([self.x, self.mask, self.y], self.cost,
                                 updates=descend(self.cost, self.parameters, 1.))
        costs = [float(train(*self.values)) for _ in range(150)]
        assert costs[-1] < .3 * costs[0]


def test_slot_filling():
    """An Elman network with a window of words labels each word; the initial state is learned."""
    words, size, labels, window = 10, 5, 4, 3
    embedding, w_x = weights(words, size), weights(size * window, size)
    w_h, w = weights(size, size), weights(size, labels)
    b_h, b, h0 = weights(size), weights(labels), weights(size)
    parameters = [embedding, w_x, w_h, w, b_h, b, h0]
    indices, y = T.lmatrix("indices"), T.lvector("y")
    rows = embedding[indices].reshape((indices.shape[0], size * window))

    def recurrence(x_t, h_tm1):
        h_t = T.nnet.sigmoid(T.dot(x_t, w_x) + T.dot(h_tm1, w_h) + b_h)
        return [h_t, T.nnet.softmax(T.dot(h_t, w) + b)]

    (_, s), _ = phintys.scan(fn=recurrence, sequences=rows, outputs_info=[h0, None], n_steps=rows.shape[0])
    probabilities = s[:, 0, :]
    cost = -T.mean(T.log(probabilities)[T.arange(rows.shape[0]), y])
    values = [RNG.randint(0, words, (6, window)), RNG.randint(0, labels, 6)]
    check_gradient(cost, parameters, [indices, y], values)
    train = phintys.function([indices, y], cost, updates=descend(cost, parameters, 2.))
    costs = [float(train(*values)) for _ in range(60)]
    assert costs[-1] < .3 * costs[0]
    classify = phintys.function([indices], T.argmax(probabilities, axis=1))
    numpy.testing.assert_array_equal(classify(values[0]), values[1])


def test_a_boltzmann_machine_whose_biases_are_recurrent():
    """RNN-RBM: a deterministic recurrence makes biases for each step; a chain of samples, made of random numbers that
    come in as a sequence, gives the gradient by contrastive divergence."""
    visible, hidden, recurrent, steps, samples = 5, 4, 3, 6, 4
    w, b_v, b_h = weights(visible, hidden), weights(visible), weights(hidden)
    w_uh, w_uv, w_vu, w_uu, b_u = (weights(recurrent, hidden), weights(recurrent, visible), weights(visible, recurrent),
                                   weights(recurrent, recurrent), weights(recurrent))
    parameters = [w, b_v, b_h, w_uh, w_uv, w_vu, w_uu, b_u]
    v, noise_h, noise_v = T.matrix("v"), T.tensor3("noise_h"), T.tensor3("noise_v")

    def recurrence(v_t, u_tm1):
        bv_t, bh_t = b_v + T.dot(u_tm1, w_uv), b_h + T.dot(u_tm1, w_uh)
        return T.tanh(b_u + T.dot(v_t, w_vu) + T.dot(u_tm1, w_uu)), bv_t, bh_t

    (_, bv_t, bh_t), _ = phintys.scan(recurrence, v, [T.zeros((recurrent,)), None, None])

    def gibbs(random_h, random_v, v):
        h = T.lt(random_h, T.nnet.sigmoid(T.dot(v, w) + bh_t)).astype(v.dtype)
        return T.lt(random_v, T.nnet.sigmoid(T.dot(h, w.T) + bv_t)).astype(v.dtype)

    chain, _ = phintys.scan(gibbs, [noise_h, noise_v], v)
    sample = phintys.gradient.disconnected_grad(chain[-1])

    def free_energy(v):
        return -(v * bv_t).sum() - T.log(1 + T.exp(T.dot(v, w) + bh_t)).sum()

    cost = (free_energy(v) - free_energy(sample)) / v.shape[0]
    values = [RNG.randint(0, 2, (steps, visible)).astype("float64"), RNG.uniform(size=(samples, steps, hidden)),
              RNG.uniform(size=(samples, steps, visible))]
    f = phintys.function([v, noise_h, noise_v], [sample, *T.grad(cost, parameters, consider_constant=[sample])],
                         updates=descend(cost, parameters, .05))
    found, *gradients = f(*values)
    assert set(found.ravel()) <= {0, 1} and all(numpy.isfinite(gradient).all() for gradient in gradients)
    before = numpy.mean([f(*values)[0] == values[0] for _ in range(3)])
    for _ in range(300):
        f(values[0], *[RNG.uniform(size=noise.shape) for noise in values[1:]])
    assert numpy.mean(f(*values)[0] == values[0]) > before


@pytest.mark.parametrize("make", [T.shared_randomstreams.RandomStreams, phintys.sandbox.rng_mrg.MRG_RandomStreams])
def test_a_boltzmann_machine_whose_chain_draws_in_the_loop(make):
    """The same chain with random streams inside the loop, as the tutorial has it: patterns are learned."""
    visible, hidden = 6, 8
    w, b_v, b_h, streams = weights(visible, hidden), weights(visible), weights(hidden), make(7)
    v = T.matrix("v")

    def gibbs(v):
        h_mean = T.nnet.sigmoid(T.dot(v, w) + b_h)
        h = streams.binomial(size=h_mean.shape, n=1, p=h_mean, dtype=v.dtype)
        v_mean = T.nnet.sigmoid(T.dot(h, w.T) + b_v)
        return streams.binomial(size=v_mean.shape, n=1, p=v_mean, dtype=v.dtype), v_mean

    (chain, means), updates = phintys.scan(gibbs, outputs_info=[v, None], n_steps=5)
    assert updates
    sample = phintys.gradient.disconnected_grad(chain[-1])

    def free_energy(v):
        return -(v * b_v).sum() - T.log(1 + T.exp(T.dot(v, w) + b_h)).sum()

    cost = (free_energy(v) - free_energy(sample)) / v.shape[0]
    parameters = [w, b_v, b_h]
    for parameter, update in descend(cost, parameters, .4):
        updates[parameter] = update
    train = phintys.function([v], [chain[-1], ((means[0] - v) ** 2).mean()], updates=updates)
    patterns = numpy.repeat([[1., 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]], 8, axis=0)
    results = [train(patterns) for _ in range(120)]
    assert all([set(found.ravel()) <= {0, 1} for found, _ in results])
    errors = [error for _, error in results]
    assert numpy.mean(errors[-20:]) < .4 * numpy.mean(errors[:5])


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
def test_hamiltonian_steps_inside_a_chain(mode):
    """Leapfrog steps in a loop inside the loop of a chain; energy is nearly kept, and time can be reversed."""
    q0, p0, k = T.vector("q0"), T.vector("p0"), T.iscalar("k")

    def energy(q, p):
        return .5 * (p ** 2).sum() + .25 * (q ** 4).sum()

    def slope(q):
        return T.grad(.25 * (q ** 4).sum(), q)

    def leapfrog(q, p, size):
        p = p - .5 * size * slope(q)
        q = q + size * p
        return q, p - .5 * size * slope(q)

    def trajectory(q, p):
        (qs, ps), _ = phintys.scan(leapfrog, outputs_info=[q, p], non_sequences=T.constant(.01, dtype="float64"),
                                   n_steps=20)
        return qs[-1], ps[-1]

    (qs, ps), _ = phintys.scan(trajectory, outputs_info=[q0, p0], n_steps=k)
    f = phintys.function([q0, p0, k], [qs[-1], ps[-1], energy(q0, p0), energy(qs[-1], ps[-1])], mode=mode)
    q, p, first, last = f([1., -.5], [.3, .2], 5)
    numpy.testing.assert_allclose(first, last, rtol=1e-4)
    back, reversed_p, _, _ = f(q, -p, 5)
    numpy.testing.assert_allclose(back, [1, -.5])
    numpy.testing.assert_allclose(reversed_p, [-.3, -.2])
