"""Draws docs/images/tutorials.png, the first picture of README.md, from what the tutorials compute.

    python docs/write_pictures.py

The cells of three notebooks run, then their results are drawn side by side: the weights of ten digits, a Gaussian
process, and the samples of a chain.
"""
import re
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

HERE = Path(__file__).resolve().parent
PICTURE = HERE / "images" / "tutorials.png"
CELL = re.compile(r"^```{code-cell}[^\n]*\n((?::[^\n]*\n)*)(.*?)^```$", re.MULTILINE | re.DOTALL)
RED, BLUE = "#b2182b", "#2166ac"


def results(name):
    """Run a notebook; return its variables."""
    variables = {"__name__": name}
    for cell in CELL.finditer((HERE / "tutorials" / f"{name}.md").read_text()):
        exec(compile(cell[2], name, "exec"), variables)
    pyplot.close("all")
    return variables


def draw_digits(figure, found):
    weights = found["w"].get_value()
    for digit, axis in enumerate(figure.subplots(2, 5, gridspec_kw={"wspace": 0.06, "hspace": 0.02}).flat):
        axis.imshow(weights[:, digit].reshape(8, 8), cmap="RdBu_r", vmin=-1.5, vmax=1.5, interpolation="bicubic",
                    aspect="auto")
        axis.axis("off")
    figure.suptitle(f"ten digits, {found['accuracy']:.1%} of unseen images right", fontsize=10)


def draw_process(figure, found):
    axis = figure.subplots()
    grid, middle, spread = found["grid"], found["middle"], found["spread"]
    for deviations, alpha in ((2, 0.15), (1, 0.25)):
        axis.fill_between(grid, middle - deviations * spread, middle + deviations * spread, alpha=alpha, color=BLUE,
                          linewidth=0)
    axis.plot(grid, middle, color=BLUE, linewidth=1.5)
    axis.plot(found["places"], found["values"], ".", color="0.15", markersize=4)
    axis.set(xticks=[], yticks=[], xlim=(grid[0], grid[-1]))
    axis.spines[:].set_visible(False)
    figure.suptitle("a Gaussian process and what it does not know", fontsize=10)


def draw_chain(figure, found):
    axis = figure.subplots()
    a, b, density, points = found["a"], found["b"], found["density"], found["points"]
    axis.contourf(a, b, density, 24, cmap="Blues")
    axis.scatter(*points.T, s=1.2, alpha=0.35, color="0.1", linewidth=0)
    axis.plot(*points[:70].T, color=RED, linewidth=0.7)
    axis.set(xticks=[], yticks=[], aspect="equal", xlim=(-3, 3.2), ylim=(-3, 3))
    axis.spines[:].set_visible(False)
    figure.suptitle(f"{len(points):,} samples: one call of one function", fontsize=10)


def main():
    figure = pyplot.figure(figsize=(12, 3.3), layout="constrained")
    parts = figure.subfigures(1, 3, width_ratios=(1.35, 1.35, 1), wspace=0.02)
    for part, draw, name in zip(parts, (draw_digits, draw_process, draw_chain),
                                ("regression", "gaussian_process", "sampler")):
        draw(part, results(name))
    figure.savefig(PICTURE, dpi=130)


if __name__ == "__main__":
    main()
