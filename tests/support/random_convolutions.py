"""Random convolutions and their first and second derivatives, compared with sums over taps by NumPy.

As a program it runs some cases in memory between pages that cannot be touched (`config.guards`), arguments too, so that
a kernel that reads or writes outside of its memory ends the process; the last line of the output is the case then:

    python -I tests/support/random_convolutions.py SEED COUNT [GUARDS [CPU [WORKERS]]]
"""
import itertools
import sys
from pathlib import Path

import numpy

import phintys
import phintys.tensor as T

sys.path.append(str(Path(__file__).parent))
from guarded_arrays import guarded

BORDERS = ("valid", "full", "half", "number", "numbers")


def padding(border, window, dilation):
    """Zeros before (and after) each dimension."""
    if border == "valid":
        return [0] * len(window)
    if border == "full":
        return [(w - 1) * d for w, d in zip(window, dilation)]
    if border == "half":
        return [((w - 1) * d + 1) // 2 for w, d in zip(window, dilation)]
    return [border] * len(window) if isinstance(border, int) else list(border)


def convolved(x, w, case, top=None):
    """The convolution by NumPy; with the gradient of a cost by it also the gradients by images and filters."""
    window, stride, dilation, groups = w.shape[2:], case["subsample"], case["filter_dilation"], case["num_groups"]
    pad = padding(case["border_mode"], window, dilation)
    padded = numpy.pad(x, [(0, 0), (0, 0)] + [(p, p) for p in pad])
    counts = [(n + 2 * p - (k - 1) * d - 1) // s + 1
              for n, p, k, d, s in zip(x.shape[2:], pad, window, dilation, stride)]
    channels, filters = w.shape[1], w.shape[0] // groups
    if case["filter_flip"]:
        w = w[(slice(None), slice(None)) + (slice(None, None, -1),) * len(window)]
    out = numpy.zeros((x.shape[0], w.shape[0], *counts), x.dtype)
    by_images, by_filters = numpy.zeros_like(padded), numpy.zeros_like(w)
    for tap in itertools.product(*map(range, window)):
        place = tuple(slice(t * d, t * d + (n - 1) * s + 1, s)
                      for t, d, n, s in zip(tap, dilation, counts, stride))
        for group in range(groups):
            c, f = slice(group * channels, (group + 1) * channels), slice(group * filters, (group + 1) * filters)
            seen, weights = padded[(slice(None), c, *place)], w[(f, slice(None), *tap)]
            out[:, f] += numpy.einsum("nc...,fc->nf...", seen, weights)
            if top is not None:
                by_images[(slice(None), c, *place)] += numpy.einsum("nf...,fc->nc...", top[:, f], weights)
                flat = [a.reshape(*a.shape[:2], -1) for a in (top[:, f], seen)]
                by_filters[(f, slice(None), *tap)] += numpy.einsum("nfp,ncp->fc", *flat)
    if top is None:
        return out
    inner = (slice(None), slice(None)) + tuple(slice(p, p + n) for p, n in zip(pad, x.shape[2:]))
    if case["filter_flip"]:
        by_filters = by_filters[(slice(None), slice(None)) + (slice(None, None, -1),) * len(window)]
    return out, by_images[inner], by_filters


def random_case(rng, rank=None):
    """Return the parameters and the shapes of a convolution."""
    while True:
        n = rank or rng.choice([2, 2, 2, 3])
        groups = int(rng.choice([1, 1, 1, 2, 3, 5]))
        channels, filters = int(rng.integers(1, 21)), int(rng.integers(1, 21))
        if groups > 1:
            channels, filters = -(-channels // groups), -(-filters // groups)
            if rng.random() < 0.3:
                channels = 1                                    # depthwise
        most = 7 if n == 3 else 33
        images = int(rng.choice([1, 1, 2, 3, 7, 16, 19]))
        image = [int(rng.integers(1, most)) for _ in range(n)]
        window = [int(rng.choice([1, 2, 3, 3, 3, 4, 5, 7])) for _ in range(n)]
        if rng.random() < 0.3:
            window = [3] * n
        if rng.random() < 0.15:
            window = [1] * n
        plain = rng.random() < 0.5
        stride = [1 if plain else int(rng.integers(1, 4)) for _ in range(n)]
        dilation = [1 if plain else int(rng.integers(1, 4)) for _ in range(n)]
        border = BORDERS[rng.integers(len(BORDERS))]
        if border == "number":
            border = int(rng.integers(0, 4))
        elif border == "numbers":
            border = tuple(int(rng.integers(0, 4)) for _ in range(n))
        pad = padding(border, window, dilation)
        if all(i + 2 * p >= (w - 1) * d + 1 for i, p, w, d in zip(image, pad, window, dilation)):
            break
    return {"border_mode": border, "subsample": tuple(stride), "filter_dilation": tuple(dilation),
            "num_groups": groups, "filter_flip": bool(rng.random() < 0.7),
            "x": (images, channels * groups, *image), "w": (filters * groups, channels, *window),
            "dtype": str(rng.choice(["float32", "float64"])), "seed": int(rng.integers(1 << 30))}


def functions_of(case):
    """Compiled functions of x, w and the gradient: first derivatives, and second ones in a given direction."""
    rank = len(case["subsample"])
    kind = T.TensorType(case["dtype"], (False,) * (rank + 2))
    x, w, top, direction = kind("x"), kind("w"), kind("top"), kind("direction")
    convolution = T.nnet.conv2d if rank == 2 else T.nnet.conv3d
    given = {name: case[name] for name in ("border_mode", "subsample", "filter_dilation", "num_groups", "filter_flip")}
    out = convolution(x, w, **given)
    by_x, by_w = T.grad((out * top).sum(), [x, w])
    return (phintys.function([x, w], out), phintys.function([x, w, top], [by_x, by_w], on_unused_input="ignore"),
            phintys.function([x, w, top, direction], T.grad((by_w * direction).sum(), x), on_unused_input="ignore"),
            phintys.function([x, w, top, direction], T.grad((by_x * direction).sum(), w), on_unused_input="ignore"))


def check(case):
    """Compute a case, and compare."""
    rng = numpy.random.default_rng(case["seed"])
    x, w = (rng.standard_normal(case[name]).astype(case["dtype"]) for name in ("x", "w"))
    wanted = convolved(*(a.astype("float64") for a in (x, w)), case)
    top = rng.standard_normal(wanted.shape).astype(case["dtype"])
    like_x, like_w = rng.standard_normal(x.shape).astype(x.dtype), rng.standard_normal(w.shape).astype(w.dtype)
    forward, first, second_x, second_w = functions_of(case)
    wide = [a.astype("float64") for a in (x, w, top, like_x, like_w)]
    _, by_x, by_w = convolved(wide[0], wide[1], case, wide[2])
    _, by_x_of_direction, _ = convolved(wide[0], wide[4], case, wide[2])
    _, _, by_w_of_direction = convolved(wide[3], wide[1], case, wide[2])
    x, w, top, like_x, like_w = (guarded(a, phintys.config.guards) for a in (x, w, top, like_x, like_w))
    found = [forward(x, w), *first(x, w, top), second_x(x, w, top, like_w), second_w(x, w, top, like_x)]
    expected = [wanted, by_x, by_w, by_x_of_direction, by_w_of_direction]
    tolerance = 2e-4 if case["dtype"] == "float32" else 1e-11
    for name, value, exact in zip(("result", "by images", "by filters", "second by x", "second by w"), found, expected):
        scale = max(1.0, float(numpy.abs(exact).max(initial=0)))
        assert value.shape == exact.shape, (name, case)
        assert numpy.abs(value - exact).max(initial=0) <= tolerance * scale, (name, case)


def main(seed, count, guards="after", cpu="native", workers="1"):
    rng = numpy.random.default_rng(int(seed))
    with phintys.config.change_flags(guards=guards, cpu=cpu, workers=int(workers)):
        for _ in range(int(count)):
            case = random_case(rng)
            print(case, flush=True)
            check(case)


if __name__ == "__main__":
    main(*sys.argv[1:])
