"""Chains of a PyMC model, and a sweep of settings: each one line, by processes of this machine or the workers of Dask.

    python examples/chains_and_sweeps.py [--client tcp://scheduler:8786] [--output FOLDER]

It writes a picture: the chains of a regression's slope, and the costs of training with different settings.
"""
import argparse
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import numpy
import pymc

import phintys
import phintys.interop.pymc
import phintys.tensor as T
from phintys import distributed

GENERATOR = numpy.random.default_rng(1)
PLACES = GENERATOR.uniform(-2, 2, 50)
VALUES = 1.5 * PLACES - 0.5 + GENERATOR.normal(size=50)
RATES, MOMENTA = numpy.geomspace(0.01, 2, 10), numpy.linspace(0, 0.95, 10)


def regression():
    """A line through the points."""
    with pymc.Model() as model:
        slope, offset = pymc.Normal("slope", 0, 5), pymc.Normal("offset", 0, 5)
        noise = pymc.HalfNormal("noise", 2)
        pymc.Normal("values", slope * PLACES + offset, noise, observed=VALUES)
    return model


def trained(rate, momentum, steps=20):
    """The cost of the same line by gradient descent with momentum, after so many steps."""
    line, velocity = phintys.shared(numpy.zeros(2)), phintys.shared(numpy.zeros(2))
    cost = T.sqr(line[0] * PLACES + line[1] - VALUES).mean()
    moved = momentum * velocity - rate * T.grad(cost, line)
    step = phintys.function([], cost, updates=[(velocity, moved), (line, line + moved)])
    return float([step() for _ in range(steps)][-1])


def sample_and_sweep(client, draws=500):
    """Both lines; returns the samples, and the costs as a matrix."""
    samples = phintys.interop.pymc.sample(regression(), draws=draws, tune=draws, chains=4, random_seed=1, client=client)
    swept = distributed.sweep(trained, rate=RATES, momentum=MOMENTA, client=client)
    return samples, numpy.array([cost for _, cost in swept]).reshape(len(RATES), len(MOMENTA))


def draw(samples, costs, path):
    """Draw the picture."""
    from matplotlib import pyplot

    figure, (chains, densities, settings) = pyplot.subplots(1, 3, figsize=(12, 3.3), layout="constrained",
                                                            width_ratios=(1.6, 1, 1.2))
    slopes = samples.posterior["slope"].values
    for number, slope in enumerate(slopes):
        chains.plot(slope, linewidth=0.6, label=f"chain {number}")
        densities.hist(slope, 30, histtype="step", density=True)
    chains.set(title="slope: four chains, four tasks", xlabel="draw")
    densities.set(title="their densities", yticks=[])
    image = settings.pcolormesh(MOMENTA, RATES, numpy.log10(numpy.nan_to_num(costs, nan=1e9)), vmin=-0.1, vmax=1,
                                cmap="viridis_r")
    settings.set(yscale="log", xlabel="momentum", ylabel="rate", title=f"{costs.size} trainings: log10 of the cost")
    figure.colorbar(image, extend="max")
    figure.savefig(path, dpi=130)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--client", help="the address of a scheduler of Dask; default: two processes")
    parser.add_argument("--output", type=Path, default=Path())
    options = parser.parse_args()
    with nullcontext(options.client) if options.client else ProcessPoolExecutor(2) as client:
        draw(*sample_and_sweep(client), options.output / "chains_and_sweeps.png")
    print(options.output / "chains_and_sweeps.png")


if __name__ == "__main__":
    main()
