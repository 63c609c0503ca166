"""Regression by a Gaussian process: its three parameters are trained by L-BFGS on value and gradient in one call.

The data are a noisy sine with a gap. The parameters are logarithms: of the amplitude, of the length over which values
are alike, and of the noise. One compiled function returns the negative log-likelihood and its gradient, which SciPy's
optimizer asks for; another one returns mean and deviation at new places. The picture shows both.

    python examples/gaussian_process.py --points 60 --picture gaussian_process.png
"""
import argparse

import numpy
from scipy.optimize import minimize

import phintys
import phintys.tensor as T
from phintys.tensor.slinalg import cho_solve, cholesky, solve_triangular

START = numpy.array([0.0, 0.0, -1.0])


def load(points, seed):
    """Return places with a gap, and noisy values."""
    random = numpy.random.default_rng(seed)
    places = numpy.sort(random.uniform(0, 10, 2 * points))
    places = places[(places < 4) | (places > 6)][:points]
    return places, numpy.sin(places) + 0.15 * random.normal(size=len(places))


def covariance(parameters, left, right):
    """The squared exponential: the covariance of values at two lists of places."""
    amplitude, length = T.exp(2 * parameters[0]), T.exp(parameters[1])
    return amplitude * T.exp(-0.5 * ((left[:, None] - right[None, :]) / length) ** 2)


class GaussianProcess:
    """The compiled functions ``loss(parameters, places, values)`` and ``predict(parameters, places, values, new)``."""

    def __init__(self):
        parameters, places, values, new = T.dvectors("parameters", "places", "values", "new")
        noise = T.exp(2 * parameters[2])
        factor = cholesky(covariance(parameters, places, places) + noise * T.eye(places.shape[0]))
        white = solve_triangular(factor, values, lower=True)
        loss = 0.5 * (white ** 2).sum() + T.log(T.diagonal(factor)).sum() \
            + 0.5 * places.shape[0] * numpy.log(2 * numpy.pi)
        self.loss = phintys.function([parameters, places, values], [loss, phintys.grad(loss, parameters)])
        across = covariance(parameters, new, places)
        mean = across.dot(cho_solve((factor, True), values))
        reduced = solve_triangular(factor, across.T, lower=True)
        variance = T.exp(2 * parameters[0]) - (reduced ** 2).sum(axis=0) + noise
        self.predict = phintys.function([parameters, places, values, new], [mean, T.sqrt(variance)])

    def train(self, places, values):
        """Return the parameters with the largest likelihood."""
        return minimize(self.loss, START, args=(places, values), jac=True, method="L-BFGS-B")


def draw(path, places, values, new, mean, deviation):
    """Write a picture of the data, the mean, and the band of two deviations."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(figsize=(8, 4))
    axes.fill_between(new, mean - 2 * deviation, mean + 2 * deviation, alpha=0.25, label="two deviations")
    axes.plot(new, mean, label="mean")
    axes.plot(places, values, "k.", label="data")
    axes.legend()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--picture", help="file to write; needs matplotlib")
    arguments = parser.parse_args()
    places, values = load(arguments.points, arguments.seed)
    process = GaussianProcess()
    found = process.train(places, values)
    amplitude, length, noise = numpy.exp(found.x)
    print(f"log-likelihood {-found.fun:.3f} after {found.nfev} calls: "
          f"amplitude {amplitude:.3f}, length {length:.3f}, noise {noise:.3f}")
    new = numpy.linspace(-1, 11, 400)
    mean, deviation = process.predict(found.x, places, values, new)
    if arguments.picture:
        draw(arguments.picture, places, values, new, mean, deviation)


if __name__ == "__main__":
    main()
