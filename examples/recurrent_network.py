"""An LSTM that learns to add: two numbers of a long sequence are marked, and their sum is the target.

Each step of a sequence has a random number and a mark, which is 1 at two places. Who always says 1 has a mean squared
error of 1/6, so a network has learnt something only below that. The loop is one call of `scan`; its gradient runs
backwards through all steps.

    python examples/recurrent_network.py --length 40 --steps 1500
"""
import argparse
import time
from pathlib import Path

import numpy
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import phintys
import phintys.tensor as T

BATCH = 32
LEARNING_RATE, DECAY, SQUARE_DECAY = 0.01, 0.9, 0.999
LARGEST_GRADIENT = 1.0
ALWAYS_ONE = 1 / 6                              # the error of who always says 1
STEPS_PER_TURN = 50


def draw_batch(rng, length, count=BATCH):
    """Sequences of shape (length, count, 2), numbers and marks, and their sums."""
    numbers, marks = rng.uniform(size=(length, count)), numpy.zeros((length, count))
    half = length // 2
    for row, (first, second) in enumerate(zip(rng.integers(0, half, count), rng.integers(half, length, count))):
        marks[[first, second], row] = 1
    return numpy.stack([numbers, marks], axis=2), (numbers * marks).sum(axis=0)


class Network:
    """An LSTM of one layer, and a line from its last state to the answer; trained by Adam."""

    def __init__(self, size, rng):
        def weights(*shape):
            return phintys.shared(rng.normal(size=shape) / numpy.sqrt(shape[0]))

        self.size = size
        self.w, self.u = weights(2, 4 * size), weights(size, 4 * size)
        bias = numpy.zeros(4 * size)
        bias[size:2 * size] = 1                 # remember, at first
        self.b, self.out = phintys.shared(bias), weights(size)
        self.parameters = [self.w, self.u, self.b, self.out]
        x, y = T.dtensor3("x"), T.dvector("y")
        states, cells = self.run(x)
        answer = T.dot(states[-1], self.out)
        cost = ((answer - y) ** 2).mean()
        self.train = phintys.function([x, y], cost, updates=self.adam(cost))
        self.answer = phintys.function([x], answer)
        self.inside = phintys.function([x], cells)

    def run(self, x):
        """The states and the cells of all steps."""
        def part(gates, number):
            return gates[:, number * self.size:(number + 1) * self.size]

        def step(row, state, cell):
            gates = T.dot(row, self.w) + T.dot(state, self.u) + self.b
            write, keep, read = [T.nnet.sigmoid(part(gates, number)) for number in range(3)]
            cell = keep * cell + write * T.tanh(part(gates, 3))
            return read * T.tanh(cell), cell

        start = T.zeros((x.shape[1], self.size))
        return phintys.scan(step, x, [start, start], name="lstm")[0]

    def adam(self, cost):
        """Updates of the parameters, by gradients that are cut where they are too long."""
        gradients = T.grad(cost, self.parameters)
        length = T.sqrt(sum([(gradient ** 2).sum() for gradient in gradients]))
        factor = T.minimum(1, LARGEST_GRADIENT / length)
        count = phintys.shared(0.0)
        rate = LEARNING_RATE * T.sqrt(1 - SQUARE_DECAY ** (count + 1)) / (1 - DECAY ** (count + 1))
        updates = [(count, count + 1)]
        for parameter, gradient in zip(self.parameters, gradients):
            mean, square = [phintys.shared(numpy.zeros_like(parameter.get_value())) for _ in range(2)]
            new_mean = DECAY * mean + (1 - DECAY) * factor * gradient
            new_square = SQUARE_DECAY * square + (1 - SQUARE_DECAY) * (factor * gradient) ** 2
            updates += [(mean, new_mean), (square, new_square),
                        (parameter, parameter - rate * new_mean / (T.sqrt(new_square) + 1e-8))]
        return updates


def draw(path, losses, truth, answers, sequence, cells):
    """The error over the training steps, answers against sums, and what the cells hold along one sequence."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.rcParams.update({"font.size": 9, "axes.titlesize": 10, "axes.spines.top": False, "axes.spines.right": False})
    figure, (left, middle, right) = pyplot.subplots(1, 3, figsize=(12, 3.6), width_ratios=(1.2, 1, 1.4),
                                                    layout="constrained")
    smooth = numpy.convolve(losses, numpy.ones(25) / 25, mode="valid")
    left.semilogy(numpy.arange(len(smooth)) + 25, smooth, color="#b2182b", linewidth=1.6)
    left.axhline(ALWAYS_ONE, color="0.6", linestyle="--", linewidth=1)
    left.text(len(losses), ALWAYS_ONE, "always 1", ha="right", va="bottom", color="0.4")
    left.set(xlabel="training step", ylabel="mean squared error", title="error")
    middle.plot([0, 2], [0, 2], color="0.8", linewidth=1)
    middle.scatter(truth, answers, s=6, color="#2166ac", alpha=0.6)
    middle.set(xlabel="sum", ylabel="answer", title="sequences never seen", aspect="equal")
    largest = numpy.abs(cells).max()
    right.imshow(cells.T, aspect="auto", cmap="RdBu_r", vmin=-largest, vmax=largest, interpolation="nearest")
    for place in numpy.flatnonzero(sequence[:, 1]):
        right.axvline(place, color="0.1", linewidth=1, linestyle=":")
    right.set(xlabel="step (dotted: the marked numbers)", ylabel="cell", title="what the cells hold in one sequence")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--length", type=int, default=40, help="of the sequences")
    parser.add_argument("--size", type=int, default=16, help="how many cells the network has")
    parser.add_argument("--steps", type=int, default=1500, help="training steps")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "output", help="folder of the picture")
    arguments = parser.parse_args()
    if arguments.steps < STEPS_PER_TURN or arguments.length < 2:
        parser.error(f"at least {STEPS_PER_TURN} steps and a length of 2 are needed")
    return arguments


def main():
    arguments, console = parse_arguments(), Console()
    rng = numpy.random.default_rng(arguments.seed)
    start = time.perf_counter()
    network = Network(arguments.size, rng)
    compile_seconds = time.perf_counter() - start
    x, truth = draw_batch(rng, arguments.length, 500)
    losses, seconds = [], 0.0
    columns = (TextColumn("[bold]training"), BarColumn(bar_width=32),
               TextColumn("{task.completed:5.0f}/{task.total:.0f}"), TextColumn("error {task.fields[error]:.4f}"),
               TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("training", total=arguments.steps, error=float("nan"))
        while len(losses) < arguments.steps:
            batches = [draw_batch(rng, arguments.length) for _ in range(STEPS_PER_TURN)]
            begin = time.perf_counter()
            losses += [float(network.train(*batch)) for batch in batches]
            seconds += time.perf_counter() - begin
            progress.update(task, completed=len(losses), error=numpy.mean(losses[-STEPS_PER_TURN:]))
    answers = network.answer(x)
    table = Table(title=f"The sum of two of {arguments.length} numbers", show_header=False, title_style="bold")
    table.add_row("error on new sequences", f"[bold]{((answers - truth) ** 2).mean():.5f}[/]  (always 1: "
                                            f"{ALWAYS_ONE:.3f})")
    table.add_row("graph, gradients, three functions", f"{compile_seconds * 1e3:.0f} ms")
    table.add_row("training", f"{len(losses) / seconds:,.0f} batches, "
                              f"{len(losses) * BATCH * arguments.length / seconds:,.0f} steps of sequences a second")
    console.print(table)
    picture = arguments.output / "recurrent_network.png"
    draw(picture, losses, truth, answers, x[:, 0], network.inside(x[:, :1])[:, 0])
    console.print(f"The error and the cells: [bold]{picture}[/]", soft_wrap=True)


if __name__ == "__main__":
    main()
