"""HMC: leapfrog steps in a scan, all chains at once; updates adapt the step size to the rate of acceptance."""
import time

import numpy as np
from command_line import arguments

import theano
from theano import function, shared
from theano import tensor as TT
from theano.tensor.shared_randomstreams import RandomStreams as SharedRandomStreams


def kinetic_energy(vel):
    return 0.5 * (vel ** 2).sum(axis=1)


def hamiltonian(pos, vel, energy_fn):
    return energy_fn(pos) + kinetic_energy(vel)


def metropolis_hastings_accept(energy_prev, energy_next, s_rng):
    ediff = energy_prev - energy_next
    return (TT.exp(ediff) - s_rng.uniform(size=energy_prev.shape, dtype=theano.config.floatX)) >= 0


def simulate_dynamics(initial_pos, initial_vel, stepsize, n_steps, energy_fn):
    def leapfrog(pos, vel, step):
        dE_dpos = TT.grad(energy_fn(pos).sum(), pos)
        new_vel = vel - step * dE_dpos
        new_pos = pos + step * new_vel
        return [new_pos, new_vel], {}

    initial_energy = energy_fn(initial_pos)
    dE_dpos = TT.grad(initial_energy.sum(), initial_pos)
    vel_half_step = initial_vel - 0.5 * stepsize * dE_dpos
    pos_full_step = initial_pos + stepsize * vel_half_step
    (all_pos, all_vel), scan_updates = theano.scan(leapfrog, outputs_info=[dict(initial=pos_full_step),
                                                                           dict(initial=vel_half_step)],
                                                   non_sequences=[stepsize], n_steps=n_steps - 1)
    final_pos, final_vel = all_pos[-1], all_vel[-1]
    assert not scan_updates
    energy = energy_fn(final_pos)
    return final_pos, final_vel - 0.5 * stepsize * TT.grad(energy.sum(), final_pos)


def hmc_move(s_rng, positions, energy_fn, stepsize, n_steps):
    initial_vel = s_rng.normal(size=positions.shape)
    final_pos, final_vel = simulate_dynamics(positions, initial_vel, stepsize, n_steps, energy_fn)
    accept = metropolis_hastings_accept(hamiltonian(positions, initial_vel, energy_fn),
                                        hamiltonian(final_pos, final_vel, energy_fn), s_rng)
    return accept, final_pos


def hmc_updates(positions, stepsize, avg_acceptance_rate, final_pos, accept, target=0.9, inc=1.02, dec=0.98,
                least=0.001, most=0.25, slowness=0.9):
    accept_matrix = accept.dimshuffle(0, *(("x",) * (final_pos.ndim - 1)))
    new_positions = TT.switch(accept_matrix, final_pos, positions)
    new_stepsize = TT.clip(TT.switch(avg_acceptance_rate > target, stepsize * inc, stepsize * dec), least, most)
    new_rate = TT.add(slowness * avg_acceptance_rate,
                      (1.0 - slowness) * accept.mean(dtype=theano.config.floatX))
    return [(positions, new_positions), (stepsize, new_stepsize), (avg_acceptance_rate, new_rate)]


def main(epochs=300, n=100, dim=5, burnin=200):
    rng = np.random.RandomState(123)
    mu = np.array(rng.rand(dim) * 10, dtype=theano.config.floatX)
    cov = np.array(rng.rand(dim, dim), dtype=theano.config.floatX)
    cov = (cov + cov.T) / 2.
    cov[np.arange(dim), np.arange(dim)] = 1.0
    cov = cov.dot(cov.T) / dim + 0.3 * np.eye(dim, dtype=theano.config.floatX)
    cov_inv = np.linalg.inv(cov).astype(theano.config.floatX)

    def gaussian_energy(x):
        return 0.5 * (TT.dot((x - mu), cov_inv) * (x - mu)).sum(axis=1)

    positions = shared(rng.randn(n, dim).astype(theano.config.floatX))
    stepsize = shared(np.asarray(0.01, dtype=theano.config.floatX))
    rate = shared(np.asarray(0.9, dtype=theano.config.floatX))
    s_rng = SharedRandomStreams(1)
    accept, final_pos = hmc_move(s_rng, positions, gaussian_energy, stepsize, 20)
    simulate = function([], [], updates=hmc_updates(positions, stepsize, rate, final_pos, accept) + s_rng.updates())
    for _ in range(burnin):
        simulate()
    samples, start = [], time.perf_counter()
    for _ in range(epochs):
        simulate()
        samples.append(positions.get_value())
    seconds = (time.perf_counter() - start) / epochs
    samples = np.concatenate(samples)
    error = max(np.abs(samples.mean(0) - mu).max(), np.abs(np.cov(samples.T) - cov).max())
    return float(error), float(rate.get_value()), seconds


if __name__ == "__main__":
    options = arguments(300, 100)
    print("error of mean and covariance %.4f, acceptance %.3f, seconds a move %.5f" % main(options.epochs, options.n))
