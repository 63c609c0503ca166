"""The multilayer perceptron of the 2010 Theano paper, trained on real data: which of the ten digits does an image show?

One hidden layer of 500 tanh units, of which each step of the training drops some, a softmax, minibatches of 60. The
data are the 1797 images of 8 x 8 pixels that come with scikit-learn; a quarter of them is held out. The same training
is also written in NumPy, and both run in turns of one epoch, so that a busy machine affects them equally. Both drop the
same units, as `phintys.random` draws the numbers of NumPy's generators. At the end the weights of both are compared:
they must be equal, or the examples per second would not be comparable. With one thread the comparison is the fairest.

    OMP_NUM_THREADS=1 python examples/mlp.py --epochs 40 --dtype float32
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

HIDDEN, CLASSES, BATCH = 500, 10, 60
LEARNING_RATE = 0.5
TOLERANCE = {"float32": 2e-2, "float64": 1e-6}       # of weights, after thousands of steps with different rounding


def load(dtype, seed):
    """Return rows and labels for training, and held-out ones; pixels in [0, 1]."""
    images, digits = load_digits(return_X_y=True)
    order = numpy.random.default_rng(seed).permutation(len(images))
    rows, labels = (images[order] / 16).astype(dtype), digits[order].astype("int32")
    held_out = len(rows) // 4
    return (rows[held_out:], labels[held_out:]), (rows[:held_out], labels[:held_out])


def initial_parameters(features, dtype, seed):
    """Return weights and biases of both layers, small enough that tanh is not saturated."""
    random = numpy.random.default_rng(seed)
    shapes = (features, HIDDEN), (HIDDEN,), (HIDDEN, CLASSES), (CLASSES,)
    return [(random.uniform(-1, 1, shape) / numpy.sqrt(shape[0]) if len(shape) == 2 else numpy.zeros(shape))
            .astype(dtype) for shape in shapes]


class PhintysModel:
    """Declare, build, compile."""

    def __init__(self, parameters, dropout, seed):
        dtype = parameters[0].dtype.name
        x, y = T.matrix("x", dtype=dtype), T.ivector("y")
        names = "weights 1", "bias 1", "weights 2", "bias 2"
        self.parameters = [phintys.shared(value.copy(), name=name) for value, name in zip(parameters, names)]
        w1, b1, w2, b2 = self.parameters

        hidden = T.tanh(T.dot(x, w1) + b1)
        kept = hidden
        if dropout:
            numbers = phintys.random.default_rng(seed).random(hidden.shape, dtype=dtype, ndim=2)
            kept = hidden * T.cast(numbers >= dropout, dtype) / numpy.asarray(1 - dropout, dtype)
        p, p_of_all = [T.nnet.softmax(T.dot(units, w2) + b2) for units in (kept, hidden)]
        loss = -T.mean(T.log(p)[T.arange(y.shape[0]), y])
        rate = numpy.asarray(LEARNING_RATE, dtype)
        updates = [(value, value - rate * slope)
                   for value, slope in zip(self.parameters, T.grad(loss, self.parameters))]

        self.predict = phintys.function([x], T.argmax(p_of_all, axis=1))
        self.train = phintys.function([x, y], loss, updates=updates)

    def values(self):
        return [value.get_value() for value in self.parameters]


class NumpyModel:
    """The same computation written by hand: derived gradients, and results that overwrite unused memory."""

    def __init__(self, parameters, dropout, seed):
        self.parameters = [value.copy() for value in parameters]
        self.dropout, self.random = dropout, numpy.random.default_rng(seed)

    def train(self, x, y):
        w1, b1, w2, b2 = self.parameters
        examples = numpy.arange(len(y))
        hidden = x @ w1
        hidden += b1
        numpy.tanh(hidden, hidden)
        kept, scale = hidden, None
        if self.dropout:
            numbers = self.random.random(hidden.shape, dtype=hidden.dtype)
            scale = (numbers >= self.dropout) / hidden.dtype.type(1 - self.dropout)
            kept = hidden * scale
        z = kept @ w2
        z += b2
        z -= z.max(axis=1, keepdims=True)
        p = numpy.exp(z)
        total = p.sum(axis=1, keepdims=True)
        loss = (numpy.log(total[:, 0]) - z[examples, y]).mean()
        p /= total
        p[examples, y] -= 1
        p /= len(y)
        by_hidden = p @ w2.T
        if self.dropout:
            by_hidden *= scale
        by_hidden *= 1 - hidden * hidden
        slopes = x.T @ by_hidden, by_hidden.sum(axis=0), kept.T @ p, p.sum(axis=0)
        for value, slope in zip(self.parameters, slopes):
            slope *= LEARNING_RATE
            value -= slope
        return loss

    def values(self):
        return self.parameters


def train_in_turns(models, training, epochs, seed, after_epoch):
    """Train all models, an epoch each in turns.

    Returns the losses of each model and its examples per second, the median over epochs.
    """
    rows, labels = training
    random = numpy.random.default_rng(seed)
    losses, rates = [[] for _ in models], [[] for _ in models]
    for epoch in range(epochs):
        order = random.permutation(len(rows))
        batches = [(rows[chosen], labels[chosen]) for chosen in
                   (order[start:start + BATCH] for start in range(0, len(rows) - BATCH + 1, BATCH))]
        for model, model_losses, model_rates in zip(models, losses, rates):
            start = time.perf_counter()
            model_losses += [model.train(*batch) for batch in batches]
            model_rates.append(len(batches) * BATCH / (time.perf_counter() - start))
        after_epoch(epoch + 1, float(losses[0][-1]))
    return numpy.array(losses, dtype=float), [float(numpy.median(model_rates)) for model_rates in rates]


def draw(path, losses, accuracy, held_out, predictions):
    """Draw the loss over the steps, and held-out digits with the predictions, some of them wrong."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.rcParams.update({"font.size": 9, "axes.titlesize": 10, "axes.spines.top": False, "axes.spines.right": False})
    figure = pyplot.figure(figsize=(10, 3.4), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1.25, 1))
    axes = left.subplots()
    window = min(20, len(losses))
    smooth = numpy.convolve(losses, numpy.ones(window) / window, mode="valid")
    axes.plot(numpy.arange(1, len(losses) + 1), losses, color="#f4a582", linewidth=0.7, label="a minibatch")
    axes.plot(numpy.arange(window, len(losses) + 1), smooth, color="#b2182b", linewidth=2,
              label=f"mean of {window} minibatches")
    axes.set(yscale="log", xlabel="training step", ylabel="cross-entropy", title="loss on the training rows")
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.legend(frameon=False, loc="lower left")
    axes.text(0.97, 0.93, f"{accuracy:.1%} of held-out rows right", transform=axes.transAxes, ha="right", va="top")

    rows, labels = held_out
    wrong, right_ones = numpy.flatnonzero(predictions != labels), numpy.flatnonzero(predictions == labels)
    shown = numpy.concatenate([wrong[:5], right_ones])[:15]
    right.suptitle("held-out digits and their predictions", fontsize=10)
    for cell, number in zip(right.subplots(3, 5).flat, shown):
        is_wrong = predictions[number] != labels[number]
        cell.imshow(rows[number].reshape(8, 8), cmap="gray_r")
        cell.set(xticks=[], yticks=[])
        cell.set_title(f"{predictions[number]}" + (f", is {labels[number]}" if is_wrong else ""),
                       color="#b2182b" if is_wrong else "0.2")
        cell.spines[:].set(visible=True, color="#b2182b" if is_wrong else "0.85")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def report(console, held_out, accuracy, compile_seconds, rates):
    """Print a table of the results."""
    table = Table(title="Which digit is it?", show_header=False, title_style="bold", min_width=64)
    table.add_row("held-out rows right", f"[bold]{accuracy:.2%}[/] of {len(held_out)}")
    table.add_row("graph, gradients, two functions", f"{compile_seconds * 1e3:.0f} ms")
    table.add_row("phintys", f"[bold]{rates[0]:,.0f}[/] examples per second")
    table.add_row("NumPy, by hand", f"[bold]{rates[1]:,.0f}[/] examples per second")
    table.add_row("ratio", f"[bold green]{rates[0] / rates[1]:.2f}[/]")
    console.print(table)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=40, help="passes over the training rows of each model")
    parser.add_argument("--dtype", default="float64", choices=sorted(TOLERANCE), help="of data and weights")
    parser.add_argument("--dropout", type=float, default=0.2, help="share of the hidden units that a step drops")
    parser.add_argument("--seed", type=int, default=0,
                        help="chooses held-out rows, first weights, minibatches and dropped units")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "output", help="folder of the picture")
    arguments = parser.parse_args()
    if arguments.epochs < 1:
        parser.error(f"--epochs must be at least 1, not {arguments.epochs}")
    if not 0 <= arguments.dropout < 1:
        parser.error(f"--dropout must be at least 0 and below 1, not {arguments.dropout}")
    return arguments


def main():
    arguments = parse_arguments()
    console = Console()
    training, held_out = load(arguments.dtype, arguments.seed)
    parameters = initial_parameters(training[0].shape[1], arguments.dtype, arguments.seed)
    start = time.perf_counter()
    model = PhintysModel(parameters, arguments.dropout, arguments.seed)
    compile_seconds = time.perf_counter() - start
    by_hand = NumpyModel(parameters, arguments.dropout, arguments.seed)

    def accuracy():
        return float((model.predict(held_out[0]) == held_out[1]).mean())

    columns = (TextColumn("[bold]training"), BarColumn(bar_width=32),
               TextColumn("{task.completed:4.0f}/{task.total:.0f} epochs"),
               TextColumn("loss {task.fields[loss]:.4f}  held-out {task.fields[accuracy]:.1%}"), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("training", total=arguments.epochs, loss=float("nan"), accuracy=accuracy())

        def after_epoch(done, loss):
            progress.update(task, completed=done, loss=loss, accuracy=accuracy())

        losses, rates = train_in_turns([model, by_hand], training, arguments.epochs, arguments.seed, after_epoch)

    tolerance = TOLERANCE[arguments.dtype]
    for value, wanted in zip(model.values(), by_hand.values()):
        numpy.testing.assert_allclose(value, wanted, rtol=tolerance, atol=tolerance)
    report(console, held_out[1], accuracy(), compile_seconds, rates)
    picture = arguments.output / "mlp.png"
    draw(picture, losses[0], accuracy(), held_out, model.predict(held_out[0]))
    console.print(f"The loss curve and some digits: [bold]{picture}[/]", soft_wrap=True)


if __name__ == "__main__":
    main()
