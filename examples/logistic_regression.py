"""The logistic regression of the 2010 Theano paper, trained on real data: one handwritten digit against the rest.

The data are the 1797 images of 8 x 8 pixels that come with scikit-learn; a quarter of them is held out. The same
training is also written in NumPy, and both run in turns of a hundred steps, so that a busy machine affects them
equally. At the end the weights of both are compared: they must be equal, or the steps per second would not be
comparable.

    python examples/logistic_regression.py --digit 3 --steps 4000
"""
import argparse
import time
from pathlib import Path

import numpy
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from sklearn.datasets import load_digits

import phintys
import phintys.tensor as T

LEARNING_RATE = 0.1
WEIGHT_PENALTY = 0.01
STEPS_PER_TURN = 100


def load(digit, seed):
    """Return rows and labels for training, and held-out ones: pixels in [0, 1], label 1 for images of the digit."""
    images, digits = load_digits(return_X_y=True)
    order = numpy.random.default_rng(seed).permutation(len(images))
    rows, labels = images[order] / 16, (digits[order] == digit).astype(float)
    held_out = len(rows) // 4
    return (rows[held_out:], labels[held_out:]), (rows[:held_out], labels[:held_out])


class PhintysModel:
    """The paper's listing: declare, build, compile."""

    def __init__(self, features):
        x, y = T.dmatrix("x"), T.dvector("y")
        self.w, self.b = phintys.shared(numpy.zeros(features), name="w"), phintys.shared(numpy.zeros(()), name="b")

        p_1 = 1 / (1 + T.exp(-T.dot(x, self.w) - self.b))
        xent = -y * T.log(p_1) - (1 - y) * T.log(1 - p_1)
        cost = xent.mean() + WEIGHT_PENALTY * (self.w ** 2).sum()
        gw, gb = T.grad(cost, [self.w, self.b])

        self.predict = phintys.function([x], p_1 > 0.5)
        self.train = phintys.function([x, y], cost, updates=[(self.w, self.w - LEARNING_RATE * gw),
                                                             (self.b, self.b - LEARNING_RATE * gb)])

    def weights(self):
        return self.w.get_value()


class NumpyModel:
    """The same computation written by hand: derived gradients, a stable loss, nothing computed twice."""

    def __init__(self, features):
        self.w, self.b = numpy.zeros(features), 0.0

    def train(self, x, y):
        z = x @ self.w + self.b
        e = numpy.exp(-numpy.abs(z))
        p_1 = numpy.where(z > 0, 1, e) / (1 + e)
        cost = (numpy.maximum(z, 0) + numpy.log1p(e) - y * z).mean() + WEIGHT_PENALTY * (self.w @ self.w)
        error = (p_1 - y) / len(y)
        self.w = self.w - LEARNING_RATE * (error @ x + 2 * WEIGHT_PENALTY * self.w)
        self.b = self.b - LEARNING_RATE * error.sum()
        return cost

    def weights(self):
        return self.w


def train_in_turns(models, training, steps, after_turn):
    """Train all models, a hundred steps each in turns.

    Returns the losses of each model and its steps per second, the median over its turns.
    """
    losses, rates = [[] for _ in models], [[] for _ in models]
    for done in range(0, steps, STEPS_PER_TURN):
        turn = min(STEPS_PER_TURN, steps - done)
        for model, model_losses, model_rates in zip(models, losses, rates):
            start = time.perf_counter()
            model_losses += [model.train(*training) for _ in range(turn)]
            model_rates.append(turn / (time.perf_counter() - start))
        after_turn(done + turn, float(losses[0][-1]))
    return numpy.array(losses, dtype=float), [float(numpy.median(model_rates)) for model_rates in rates]


def draw(path, digit, average, weights, losses, accuracy):
    """Draw the average image of the digit, the weights as an image, and the loss over the steps."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.rcParams.update({"font.size": 9, "axes.titlesize": 10, "axes.spines.top": False, "axes.spines.right": False})
    figure, (left, middle, right) = pyplot.subplots(1, 3, figsize=(10, 3.2), width_ratios=(1, 1.22, 1.5),
                                                    layout="constrained")
    left.imshow(average.reshape(8, 8), cmap="gray_r")
    left.set_title(f"the average {digit}")
    largest = numpy.abs(weights).max()
    image = middle.imshow(weights.reshape(8, 8), cmap="RdBu_r", vmin=-largest, vmax=largest)
    middle.set_title(f"learnt weights: ink that counts\nfor a {digit} (red) or against it (blue)")
    for axes in (left, middle):
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set(visible=True, color="0.85")
    figure.colorbar(image, ax=middle, shrink=0.9).outline.set_visible(False)

    steps = numpy.arange(1, len(losses) + 1)
    right.plot(steps, losses, color="#b2182b", linewidth=2)
    right.set(xscale="log", xlabel="training step", ylabel="cross-entropy + weight penalty", xlim=(1, len(losses)),
              ylim=(0, None), title="loss on the training rows")
    right.grid(alpha=0.25, linewidth=0.6)
    right.text(0.97, 0.93, f"{accuracy:.1%} of held-out rows right", transform=right.transAxes, ha="right", va="top")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def report(console, digit, held_out, accuracy, compile_seconds, rates):
    """Print a table of the results."""
    table = Table(title=f"Is it a {digit}?", show_header=False, title_style="bold", min_width=64)
    table.add_row("held-out rows right", f"[bold]{accuracy:.2%}[/] of {len(held_out)}"
                                         f"  (always saying no: {1 - held_out.mean():.2%})")
    table.add_row("graph, gradients, two functions", f"{compile_seconds * 1e3:.0f} ms")
    table.add_row("phintys", f"[bold]{rates[0]:,.0f}[/] steps per second")
    table.add_row("NumPy, by hand", f"[bold]{rates[1]:,.0f}[/] steps per second")
    table.add_row("ratio", f"[bold green]{rates[0] / rates[1]:.2f}[/]")
    console.print(table)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--digit", type=int, default=3, choices=range(10), help="the digit to tell from the rest")
    parser.add_argument("--steps", type=int, default=5000, help="training steps of each model")
    parser.add_argument("--seed", type=int, default=0, help="chooses the held-out rows")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "output", help="folder of the picture")
    arguments = parser.parse_args()
    if arguments.steps < 1:
        parser.error(f"--steps must be at least 1, not {arguments.steps}")
    return arguments


def main():
    arguments = parse_arguments()
    console = Console()
    training, (held_out_rows, held_out_labels) = load(arguments.digit, arguments.seed)
    features = training[0].shape[1]
    start = time.perf_counter()
    model = PhintysModel(features)
    compile_seconds = time.perf_counter() - start
    by_hand = NumpyModel(features)

    def accuracy():
        return float((model.predict(held_out_rows) == held_out_labels).mean())

    columns = (TextColumn("[bold]training"), BarColumn(bar_width=32),
               TextColumn("{task.completed:5.0f}/{task.total:.0f}"),
               TextColumn("loss {task.fields[loss]:.4f}  held-out {task.fields[accuracy]:.1%}"), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("training", total=arguments.steps, loss=float("nan"), accuracy=accuracy())

        def after_turn(done, loss):
            progress.update(task, completed=done, loss=loss, accuracy=accuracy())

        losses, rates = train_in_turns([model, by_hand], training, arguments.steps, after_turn)

    numpy.testing.assert_allclose(model.weights(), by_hand.weights(), rtol=1e-8, atol=1e-12)
    report(console, arguments.digit, held_out_labels, accuracy(), compile_seconds, rates)
    picture = arguments.output / "logistic_regression.png"
    rows, labels = training
    draw(picture, arguments.digit, rows[labels == 1].mean(axis=0), model.weights(), losses[0], accuracy())
    console.print(f"The weights and the loss curve: [bold]{picture}[/]", soft_wrap=True)


if __name__ == "__main__":
    main()
