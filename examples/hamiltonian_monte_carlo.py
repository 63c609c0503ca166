"""A Hamiltonian Monte Carlo sampler in one call: leapfrog steps and the chain are loops inside the graph.

It samples the ten weights of a linear regression on the diabetes data that come with scikit-learn. The same chain runs
as a loop in NumPy, and with JAX's `lax.scan` if JAX is installed, on the same random numbers: all must make the same
samples. The posterior of this model is a normal distribution that is known exactly, so the picture shows both.

    python examples/hamiltonian_monte_carlo.py --samples 2000
"""
import argparse
import time
from pathlib import Path

import numpy
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_diabetes

import phintys
import phintys.tensor as T

NOISE, PRIOR = 0.7, 1.0                         # standard deviations of the data around the line, and of weights
STEP_SIZE, LEAPFROG_STEPS = 0.022, 25
BURN_IN = 100


def load():
    """Rows and targets, both standardized."""
    rows, targets = load_diabetes(return_X_y=True)
    return (rows - rows.mean(0)) / rows.std(0), (targets - targets.mean()) / targets.std()


def exact_posterior(x, y):
    """Mean and covariance of the weights."""
    covariance = numpy.linalg.inv(x.T @ x / NOISE ** 2 + numpy.eye(x.shape[1]) / PRIOR ** 2)
    return covariance @ x.T @ y / NOISE ** 2, covariance


def phintys_chain(x, y):
    """A function from the start, momenta and uniform numbers to the samples and the rate of acceptance."""
    rows, targets = phintys.shared(x, name="rows"), phintys.shared(y, name="targets")

    def potential(w):
        return ((targets - T.dot(rows, w)) ** 2).sum() / (2 * NOISE ** 2) + (w ** 2).sum() / (2 * PRIOR ** 2)

    def leapfrog(w, p):
        p = p - STEP_SIZE / 2 * T.grad(potential(w), w)
        w = w + STEP_SIZE * p
        return w, p - STEP_SIZE / 2 * T.grad(potential(w), w)

    def transition(momentum, uniform, w):
        (ws, ps), _ = phintys.scan(leapfrog, outputs_info=[w, momentum], n_steps=LEAPFROG_STEPS, name="leapfrog")
        energy = potential(w) + (momentum ** 2).sum() / 2
        accepted = T.log(uniform) < energy - potential(ws[-1]) - (ps[-1] ** 2).sum() / 2
        return T.switch(accepted, ws[-1], w), accepted

    start, momenta, uniforms = T.dvector("start"), T.dmatrix("momenta"), T.dvector("uniforms")
    (samples, accepted), _ = phintys.scan(transition, [momenta, uniforms], [start, None], name="chain")
    return phintys.function([start, momenta, uniforms], [samples, accepted.mean()])


def numpy_chain(x, y):
    """The same as a loop in Python, with the gradient derived on paper."""
    def potential(w):
        return ((y - x @ w) ** 2).sum() / (2 * NOISE ** 2) + (w ** 2).sum() / (2 * PRIOR ** 2)

    def slope(w):
        return (x @ w - y) @ x / NOISE ** 2 + w / PRIOR ** 2

    def chain(w, momenta, uniforms):
        samples, accepted = [], 0
        for momentum, uniform in zip(momenta, uniforms):
            new, p = w, momentum
            for _ in range(LEAPFROG_STEPS):
                p = p - STEP_SIZE / 2 * slope(new)
                new = new + STEP_SIZE * p
                p = p - STEP_SIZE / 2 * slope(new)
            if numpy.log(uniform) < potential(w) + momentum @ momentum / 2 - potential(new) - p @ p / 2:
                w, accepted = new, accepted + 1
            samples.append(w)
        return numpy.array(samples), accepted / len(samples)

    return chain


def jax_chain(x, y):
    """The same by JAX; None if it is not installed."""
    try:
        import jax
    except ImportError:
        return None
    jax.config.update("jax_enable_x64", True)
    jnp = jax.numpy

    def potential(w):
        return ((y - x @ w) ** 2).sum() / (2 * NOISE ** 2) + (w ** 2).sum() / (2 * PRIOR ** 2)

    def leapfrog(state, _):
        w, p = state
        p = p - STEP_SIZE / 2 * jax.grad(potential)(w)
        w = w + STEP_SIZE * p
        return (w, p - STEP_SIZE / 2 * jax.grad(potential)(w)), None

    def transition(w, noise):
        momentum, uniform = noise
        (new, p), _ = jax.lax.scan(leapfrog, (w, momentum), None, LEAPFROG_STEPS)
        energy = potential(w) + (momentum ** 2).sum() / 2
        accepted = jnp.log(uniform) < energy - potential(new) - (p ** 2).sum() / 2
        w = jnp.where(accepted, new, w)
        return w, (w, accepted)

    @jax.jit
    def run(start, momenta, uniforms):
        _, (samples, accepted) = jax.lax.scan(transition, start, (momenta, uniforms))
        return samples, accepted.mean()

    return lambda *arguments: [numpy.asarray(value) for value in run(*arguments)]


def timed(make, data, arguments):
    """What a chain samples, and the seconds of its first run (made and compiled) and of its second; None without it."""
    start = time.perf_counter()
    chain = make(*data)
    if chain is None:
        return None
    samples, rate = chain(*arguments)
    middle = time.perf_counter()
    chain(*arguments)
    return samples, float(rate), middle - start, time.perf_counter() - middle


def draw(path, samples, mean, covariance):
    """Two weights of the chain, and the histograms of some, with what is known exactly."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.rcParams.update({"font.size": 9, "axes.titlesize": 10, "axes.spines.top": False, "axes.spines.right": False})
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 3.8), width_ratios=(1, 1.6), layout="constrained")
    first, second = 4, 5                        # the two that depend on each other most: two kinds of cholesterol
    left.plot(samples[:60, first], samples[:60, second], color="0.6", linewidth=0.7, label="the first 60 samples")
    left.scatter(samples[BURN_IN:, first], samples[BURN_IN:, second], s=3, alpha=0.3, color="#2166ac")
    values, vectors = numpy.linalg.eigh(covariance[numpy.ix_([first, second], [first, second])])
    circle = numpy.linspace(0, 2 * numpy.pi, 200)
    ellipse = vectors @ (2 * numpy.sqrt(values)[:, None] * numpy.array([numpy.cos(circle), numpy.sin(circle)]))
    left.plot(mean[first] + ellipse[0], mean[second] + ellipse[1], color="#b2182b", linewidth=1.8,
              label="exact, 2 sigma")
    left.set(xlabel=f"weight {first}", ylabel=f"weight {second}", title="two weights")
    left.legend(frameon=False, loc="lower left")
    for number in range(len(mean)):
        right.boxplot(samples[BURN_IN:, number], positions=[number], widths=0.5, showfliers=False, whis=(2.3, 97.7),
                      medianprops={"color": "#2166ac"})
        deviation = numpy.sqrt(covariance[number, number])
        right.errorbar([number + 0.36], [mean[number]], [2 * deviation], fmt="o", markersize=3, color="#b2182b")
    right.set(xlabel="weight", title="samples (boxes) and the exact posterior (red, 2 sigma)", xticks=range(len(mean)))
    right.axhline(0, color="0.85", linewidth=0.8, zorder=0)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=2000, help="length of the chain, without the burn-in")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "output", help="folder of the picture")
    arguments = parser.parse_args()
    if arguments.samples < 1:
        parser.error(f"--samples must be at least 1, not {arguments.samples}")
    return arguments


def main():
    arguments, console = parse_arguments(), Console()
    data, count = load(), arguments.samples + BURN_IN
    rng = numpy.random.default_rng(arguments.seed)
    inputs = numpy.zeros(10), rng.normal(size=(count, 10)), rng.uniform(size=count)
    table = Table("", "first run", "second run", "leapfrog steps a second",
                  title=f"{count} samples of {LEAPFROG_STEPS} leapfrog steps", title_style="bold")
    results = []
    for name, make in (("phintys", phintys_chain), ("NumPy in a loop", numpy_chain), ("JAX, lax.scan", jax_chain)):
        found = timed(make, data, inputs)
        if found is None:
            continue
        results.append(found)
        table.add_row(name, f"{found[2]:.2f} s", f"{found[3]:.2f} s", f"{count * LEAPFROG_STEPS / found[3]:,.0f}")
    for samples, rate, *_ in results[1:]:
        numpy.testing.assert_allclose(samples, results[0][0], rtol=1e-6, atol=1e-8)
    mean, covariance = exact_posterior(*data)
    samples, rate = results[0][0], results[0][1]
    error = numpy.abs(samples[BURN_IN:].mean(0) - mean) / numpy.sqrt(numpy.diag(covariance))
    console.print(table)
    console.print(f"{rate:.0%} of proposals accepted; means off by at most {error.max():.2f} standard deviations")
    picture = arguments.output / "hamiltonian_monte_carlo.png"
    draw(picture, samples, mean, covariance)
    console.print(f"The samples: [bold]{picture}[/]", soft_wrap=True)


if __name__ == "__main__":
    main()
