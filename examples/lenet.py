"""LeNet, a network of convolutions, trained on real data: which of the ten digits does an image show?

Two layers of convolution, pooling and tanh, a layer of 64 tanh units of which the training may drop some, a softmax;
minibatches of 60, momentum, float32. The data are the 1797 images of 8 x 8 pixels that come with scikit-learn; a
quarter of them is held out. Where PyTorch is installed, the same network is trained there too, in turns of one epoch,
so that a busy machine affects both equally. The losses of the first epoch must be equal, or the examples per second
would not be comparable. With one thread the comparison is the fairest.

    OMP_NUM_THREADS=1 python examples/lenet.py --epochs 30 --dropout 0.3
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
from phintys.tensor.signal.pool import pool_2d

try:
    import torch
except ImportError:
    torch = None

SIDE, CLASSES, BATCH = 8, 10, 60
SHAPES = {"filters 1": (12, 1, 5, 5), "bias 1": (12,), "filters 2": (24, 12, 3, 3), "bias 2": (24,),
          "weights 3": (24 * 2 * 2, 64), "bias 3": (64,), "weights 4": (64, CLASSES), "bias 4": (CLASSES,)}
LEARNING_RATE, MOMENTUM = numpy.float32(0.05), numpy.float32(0.9)
# Pixels are whole numbers, so several numbers of a window may be the largest. As in Theano, all of them get the
# gradient; in PyTorch only the first does. The weights therefore drift apart slowly: only first losses are compared.
TOLERANCE = 1e-2


def load(seed):
    """Return images of shape (count, 1, 8, 8) and labels for training, and held-out ones; pixels in [0, 1]."""
    rows, digits = load_digits(return_X_y=True)
    order = numpy.random.default_rng(seed).permutation(len(rows))
    images = (rows[order] / 16).astype("float32").reshape(-1, 1, SIDE, SIDE)
    labels, held_out = digits[order].astype("int32"), len(images) // 4
    return (images[held_out:], labels[held_out:]), (images[:held_out], labels[:held_out])


def inputs_of_a_unit(shape):
    """How many numbers a unit adds: all but the first length of filters, the rows of a matrix."""
    return numpy.prod(shape[1:]) if len(shape) == 4 else shape[0]


def initial_parameters(seed):
    """Return the filters, weights and biases, small enough that tanh is not saturated."""
    random = numpy.random.default_rng(seed)
    return [(numpy.zeros(shape) if len(shape) == 1 else random.normal(size=shape) / numpy.sqrt(inputs_of_a_unit(shape)))
            .astype("float32") for shape in SHAPES.values()]


class PhintysModel:
    """Declare, build, compile."""

    def __init__(self, parameters, dropout, seed):
        x, y = T.tensor4("x", dtype="float32"), T.ivector("y")
        self.parameters = [phintys.shared(value.copy(), name=name) for value, name in zip(parameters, SHAPES)]
        filters_1, bias_1, filters_2, bias_2, weights_3, bias_3, weights_4, bias_4 = self.parameters

        maps = self.layer(x, filters_1, bias_1)
        maps = self.layer(maps, filters_2, bias_2)
        hidden = T.tanh(T.dot(maps.flatten(2), weights_3) + bias_3)
        kept = hidden
        if dropout:
            numbers = phintys.random.default_rng(seed).random(hidden.shape, dtype="float32", ndim=2)
            kept = hidden * T.cast(numbers >= dropout, "float32") / numpy.float32(1 - dropout)
        p, p_of_all = [T.nnet.softmax(T.dot(units, weights_4) + bias_4) for units in (kept, hidden)]
        loss = T.nnet.categorical_crossentropy(p, y).mean()

        self.predict = phintys.function([x], T.argmax(p_of_all, axis=1))
        self.train = phintys.function([x, y], loss, updates=self.momentum(loss))

    @staticmethod
    def layer(images, filters, bias):
        """Convolution of images that are padded with zeros, the maxima of windows of 2 x 2, tanh."""
        maps = T.nnet.conv2d(images, filters, filter_shape=filters.get_value().shape, border_mode="half")
        return T.tanh(pool_2d(maps, (2, 2), ignore_border=True) + bias.dimshuffle("x", 0, "x", "x"))

    def momentum(self, loss):
        """Updates of the parameters, and of the velocity of each."""
        updates = []
        for value, slope in zip(self.parameters, T.grad(loss, self.parameters)):
            velocity = phintys.shared(numpy.zeros_like(value.get_value()))
            new = MOMENTUM * velocity + slope
            updates += [(velocity, new), (value, value - LEARNING_RATE * new)]
        return updates


class TorchModel:
    """The same network in PyTorch. Its filters are not flipped, those of `conv2d` are."""

    def __init__(self, parameters, dropout, seed):
        self.parameters = [torch.tensor(self.flipped(value), requires_grad=True) for value in parameters]
        self.optimizer = torch.optim.SGD(self.parameters, lr=float(LEARNING_RATE), momentum=float(MOMENTUM))
        self.dropout, self.random = dropout, numpy.random.default_rng(seed)

    @staticmethod
    def flipped(value):
        return value[:, :, ::-1, ::-1].copy() if value.ndim == 4 else value

    def loss(self, x, y):
        filters_1, bias_1, filters_2, bias_2, weights_3, bias_3, weights_4, bias_4 = self.parameters
        functional = torch.nn.functional
        maps = functional.max_pool2d(functional.conv2d(x, filters_1, padding=2), 2)
        maps = torch.tanh(maps + bias_1[:, None, None])
        maps = functional.max_pool2d(functional.conv2d(maps, filters_2, padding=1), 2)
        maps = torch.tanh(maps + bias_2[:, None, None])
        hidden = torch.tanh(maps.flatten(1) @ weights_3 + bias_3)
        if self.dropout:
            numbers = self.random.random(tuple(hidden.shape), dtype="float32")
            hidden = hidden * torch.from_numpy(numbers >= self.dropout) / (1 - self.dropout)
        return functional.cross_entropy(hidden @ weights_4 + bias_4, y)

    def train(self, x, y):
        loss = self.loss(torch.from_numpy(x), torch.from_numpy(y).long())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def train_in_turns(models, training, epochs, seed, after_epoch):
    """Train all models, an epoch each in turns.

    Returns the losses of each model and its examples per second, the median over epochs.
    """
    images, labels = training
    random = numpy.random.default_rng(seed)
    losses, rates = [[] for _ in models], [[] for _ in models]
    for epoch in range(epochs):
        order = random.permutation(len(images))
        batches = [(images[chosen], labels[chosen]) for chosen in
                   (order[start:start + BATCH] for start in range(0, len(images) - BATCH + 1, BATCH))]
        for model, model_losses, model_rates in zip(models, losses, rates):
            start = time.perf_counter()
            model_losses += [model.train(*batch) for batch in batches]
            model_rates.append(len(batches) * BATCH / (time.perf_counter() - start))
        after_epoch(epoch + 1, float(losses[0][-1]))
    return numpy.array(losses, dtype=float), [float(numpy.median(model_rates)) for model_rates in rates]


def confusion(labels, predictions):
    """How often each digit (a row) was taken for each digit (a column)."""
    return numpy.bincount(labels * CLASSES + predictions, minlength=CLASSES ** 2).reshape(CLASSES, CLASSES)


def draw(path, losses, filters, counts):
    """Draw the loss over the steps, the filters of the first layer, and the confusion matrix of the held-out images."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.rcParams.update({"font.size": 9, "axes.titlesize": 10, "axes.spines.top": False, "axes.spines.right": False})
    figure = pyplot.figure(figsize=(12, 3.8), layout="constrained")
    left, middle, right = figure.subfigures(1, 3, width_ratios=(1.1, 1, 1))
    draw_losses(left.subplots(), losses)
    middle.suptitle("the filters of the first layer", fontsize=10)
    draw_filters(middle.subplots(3, 4), filters)
    draw_confusion(right.subplots(), counts)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def draw_losses(axes, losses):
    window = min(20, len(losses))
    smooth = numpy.convolve(losses, numpy.ones(window) / window, mode="valid")
    axes.plot(numpy.arange(1, len(losses) + 1), losses, color="#f4a582", linewidth=0.7, label="a minibatch")
    axes.plot(numpy.arange(window, len(losses) + 1), smooth, color="#b2182b", linewidth=2,
              label=f"mean of {window} minibatches")
    axes.set(yscale="log", xlabel="training step", ylabel="cross-entropy", title="loss on the training images")
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.legend(frameon=False, loc="lower left")


def draw_filters(cells, filters):
    largest = numpy.abs(filters).max()
    for cell, values in zip(cells.flat, filters[:, 0]):
        cell.imshow(values, cmap="RdBu_r", vmin=-largest, vmax=largest)
        cell.set(xticks=[], yticks=[])
        cell.spines[:].set(visible=True, color="0.85")


def draw_confusion(axes, counts):
    """Right answers in shades of blue, wrong ones in red."""
    axes.imshow(numpy.ma.masked_equal(numpy.diag(numpy.diag(counts)), 0), cmap="Blues", vmin=0, vmax=1.5 * counts.max())
    for digit, taken_for in zip(*numpy.nonzero(counts)):
        color = "0.1" if digit == taken_for else "#b2182b"
        axes.text(taken_for, digit, counts[digit, taken_for], ha="center", va="center", color=color,
                  weight="normal" if digit == taken_for else "bold")
    share = numpy.trace(counts) / counts.sum()
    axes.set(xticks=range(CLASSES), yticks=range(CLASSES), xlabel="prediction", ylabel="digit",
             title=f"held-out images: {share:.1%} right")
    axes.tick_params(length=0)


def report(console, counts, compile_seconds, rates):
    """Print a table of the results."""
    table = Table(title="Which digit is it?", show_header=False, title_style="bold", min_width=64)
    table.add_row("held-out images right", f"[bold]{numpy.trace(counts) / counts.sum():.2%}[/] of {counts.sum()}")
    table.add_row("graph, gradients, two functions", f"{compile_seconds * 1e3:.0f} ms")
    table.add_row("phintys", f"[bold]{rates[0]:,.0f}[/] examples per second")
    if len(rates) > 1:
        table.add_row("PyTorch", f"[bold]{rates[1]:,.0f}[/] examples per second")
        table.add_row("ratio", f"[bold green]{rates[0] / rates[1]:.2f}[/]")
    console.print(table)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=30, help="passes over the training images of each model")
    parser.add_argument("--dropout", type=float, default=0.0, help="share of the 64 units that a step drops")
    parser.add_argument("--seed", type=int, default=0,
                        help="chooses held-out images, first weights, minibatches and dropped units")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "output", help="folder of the picture")
    arguments = parser.parse_args()
    if arguments.epochs < 1:
        parser.error(f"--epochs must be at least 1, not {arguments.epochs}")
    if not 0 <= arguments.dropout < 1:
        parser.error(f"--dropout must be at least 0 and below 1, not {arguments.dropout}")
    return arguments


def main():
    arguments, console = parse_arguments(), Console()
    training, held_out = load(arguments.seed)
    parameters = initial_parameters(arguments.seed)
    start = time.perf_counter()
    model = PhintysModel(parameters, arguments.dropout, arguments.seed)
    compile_seconds = time.perf_counter() - start
    models = [model] + ([TorchModel(parameters, arguments.dropout, arguments.seed)] if torch else [])

    def accuracy():
        return float((model.predict(held_out[0]) == held_out[1]).mean())

    columns = (TextColumn("[bold]training"), BarColumn(bar_width=32),
               TextColumn("{task.completed:4.0f}/{task.total:.0f} epochs"),
               TextColumn("loss {task.fields[loss]:.4f}  held-out {task.fields[accuracy]:.1%}"), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("training", total=arguments.epochs, loss=float("nan"), accuracy=accuracy())

        def after_epoch(done, loss):
            progress.update(task, completed=done, loss=loss, accuracy=accuracy())

        losses, rates = train_in_turns(models, training, arguments.epochs, arguments.seed, after_epoch)

    first = len(training[0]) // BATCH
    for other in losses[1:]:
        numpy.testing.assert_allclose(other[:first], losses[0][:first], rtol=TOLERANCE)
    counts = confusion(held_out[1], model.predict(held_out[0]))
    report(console, counts, compile_seconds, rates)
    picture = arguments.output / "lenet.png"
    draw(picture, losses[0], model.parameters[0].get_value(), counts)
    console.print(f"The loss, the filters and the confusion matrix: [bold]{picture}[/]", soft_wrap=True)


if __name__ == "__main__":
    main()
