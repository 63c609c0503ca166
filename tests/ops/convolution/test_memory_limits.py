"""Convolutions read and write only their own memory: rooms of scratch memory, operands and results lie between pages
that cannot be touched. And a NaN in one image stays where it belongs."""
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
import random_convolutions
from random_convolutions import check, convolved, functions_of, random_case

import phintys
import phintys.tensor as T
from phintys.tensor.signal.pool import pool_2d

PROGRAM = Path(random_convolutions.__file__)
# Gradients by images with few channels in a group: sums of taps in planes of their own.
SINGLE_CHANNELS = [
    {"x": (1, 1, 28, 28), "w": (16, 1, 1, 3)},
    {"x": (2, 1, 28, 28), "w": (19, 1, 5, 1), "border_mode": "half"},
    {"x": (3, 5, 21, 20), "w": (40, 1, 7, 3), "num_groups": 5, "border_mode": "full"},
    {"x": (2, 2, 30, 17), "w": (18, 1, 1, 5), "num_groups": 2},
    {"x": (1, 3, 20, 33), "w": (11, 3, 3, 3), "border_mode": 1},
    {"x": (2, 1, 5, 6, 18), "w": (9, 1, 2, 3, 3)},
]


def complete(case, dtype):
    rank = len(case["x"]) - 2
    return {"border_mode": "valid", "subsample": (1,) * rank, "filter_dilation": (1,) * rank, "num_groups": 1,
            "filter_flip": True, "seed": 3, "dtype": dtype} | case


@pytest.mark.parametrize("cpu", ["native", "avx2", "baseline"])
@pytest.mark.parametrize("case", SINGLE_CHANNELS)
def test_few_channels_in_each_group(case, cpu):
    with phintys.config.change_flags(guards="after", cpu=cpu):
        for dtype in ("float32", "float64"):
            check(complete(case, dtype))


def run_in_a_child(*arguments):
    """Random cases in a process of their own: if it dies, the last line names the case."""
    run = subprocess.run([sys.executable, "-I", str(PROGRAM), *map(str, arguments)], capture_output=True, text=True,
                         check=False)
    assert run.returncode == 0, (arguments, run.returncode, run.stdout.splitlines()[-1:], run.stderr[-2000:])


@pytest.mark.parametrize(("guards", "cpu", "workers"), [("after", "native", 1), ("after", "avx2", 2),
                                                        ("before", "baseline", 2)])
def test_random_convolutions_between_guards(guards, cpu, workers):
    run_in_a_child(1000 + workers, 40, guards, cpu, workers)


@pytest.mark.long
@pytest.mark.parametrize("guards", ["after", "before"])
@pytest.mark.parametrize("cpu", ["native", "avx2", "baseline"])
@pytest.mark.parametrize("workers", [1, 2])
def test_many_random_convolutions_between_guards(guards, cpu, workers):
    run_in_a_child(numpy.random.SeedSequence().entropy % (1 << 31), 1000, guards, cpu, workers)


def test_guards_end_a_process_that_writes_beside_a_block():
    """What the tests above rely on."""
    program = """
import numpy, phintys, phintys.tensor as T
phintys.config.guards = {where!r}
x = T.dvector()
y = phintys.function([x], x + 1)(numpy.zeros(1000))
far = numpy.lib.stride_tricks.as_strided(y, (1,), (8,), writeable=True)
import ctypes
ctypes.memset(y.ctypes.data + {offset}, 0, 1)
del y, far
"""
    for where, offset, fails in (("after", 8000, True), ("before", -1, True), ("after", -1, True),
                                 ("after", 7999, False)):
        code = program.format(where=where, offset=offset)
        run = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, check=False)
        assert (run.returncode != 0) == fails, (where, offset, run)


def test_layers_with_one_channel():
    """A decoder's last layer, depthwise and causal convolutions: values by NumPy, gradients by differences."""
    rng = numpy.random.default_rng(4)
    with phintys.config.change_flags(guards="after"):
        x, w = T.tensor4("x"), T.tensor4("w")
        value, filters = rng.standard_normal((2, 8, 14, 14)), rng.standard_normal((8, 1, 5, 5))
        out = T.nnet.conv2d_transpose(x, w, (2, 1, 18, 18))
        case = complete({"x": (2, 1, 18, 18), "w": filters.shape}, "float64")
        expected = convolved(numpy.zeros((2, 1, 18, 18)), filters, case, value)[1]
        numpy.testing.assert_allclose(phintys.function([x, w], out)(value, filters), expected, atol=1e-11)
        s, k = T.tensor3("s"), T.tensor3("k")
        signal, taps = rng.standard_normal((2, 1, 40)), rng.standard_normal((12, 1, 3))
        causal = T.nnet.causal_conv1d(s, k, taps.shape, filter_dilation=2)
        f = phintys.function([s, k], [causal, *T.grad(causal.sum(), [s, k])])
        padded = numpy.pad(signal, [(0, 0), (0, 0), (4, 0)])
        wanted = sum(padded[:, :, 2 * t:2 * t + 40] * taps[None, :, :, 2 - t] for t in range(3))
        found, by_signal, by_taps = f(signal, taps)
        numpy.testing.assert_allclose(found, wanted, atol=1e-11)
        assert by_signal.shape == signal.shape
        numpy.testing.assert_allclose(by_taps[:, 0], [[padded[:, 0, 2 * (2 - t):2 * (2 - t) + 40].sum()
                                                       for t in range(3)]] * 12, atol=1e-10)


@pytest.mark.parametrize(("channels", "window"), [(2048, (16, 16)), (2048, (8, 16)), (3000, (16, 4))])
def test_pooled_windows_that_see_all_rows(channels, window):
    """As the last layers of a network: planes are copied for the rows of windows, here all of them."""
    rng = numpy.random.default_rng(2)
    x, w = T.ftensor4("x"), T.ftensor4("w")
    out = pool_2d(T.nnet.conv2d(x, w), window, ignore_border=True, mode="average_exc_pad")
    images = rng.standard_normal((1, channels, 16, 16)).astype("float32")
    filters = rng.standard_normal((16, channels, 1, 1)).astype("float32")
    with phintys.config.change_flags(guards="after"):
        found = phintys.function([x, w], out)(images, filters)
    full = numpy.einsum("nchw,fc->nfhw", images.astype("float64"), filters[:, :, 0, 0])
    parts = full.reshape(1, 16, 16 // window[0], window[0], 16 // window[1], window[1])
    numpy.testing.assert_allclose(found, parts.mean((3, 5)), atol=2e-3)


# ---- NaN ------------------------------------------------------------------------------------------------------------
WITH_NAN = [
    {"x": (3, 3, 5, 5), "w": (2, 3, 3, 3)}, {"x": (2, 12, 5, 3), "w": (15, 12, 1, 1)},
    {"x": (19, 3, 4, 7), "w": (8, 3, 2, 3)}, {"x": (16, 12, 12, 12), "w": (10, 12, 3, 3)},
    {"x": (2, 3, 6, 1, 3), "w": (3, 3, 3, 1, 3)}, {"x": (2, 6, 27, 12), "w": (6, 3, 4, 5), "num_groups": 2},
    {"x": (2, 4, 9, 9), "w": (5, 4, 3, 3), "subsample": (2, 3), "filter_dilation": (2, 1), "border_mode": 1},
    {"x": (3, 1, 20, 20), "w": (9, 1, 3, 3), "border_mode": "half"}, {"x": (33, 8, 6, 6), "w": (4, 8, 3, 3)},
]


def check_nan(case):
    """A NaN, or an infinity, in one image or in its gradient: other images, and sums that do not depend on it, stay."""
    rng = numpy.random.default_rng(case["seed"])
    x, w = (rng.standard_normal(case[name]).astype(case["dtype"]) for name in ("x", "w"))
    top = rng.standard_normal(convolved(x, w, case).shape).astype(case["dtype"])
    forward, first, _, _ = functions_of(case)
    number = int(rng.integers(len(x)))
    for bad in (numpy.nan, numpy.inf):
        image, gradient = x.copy(), top.copy()
        for array in (image, gradient):
            place = [int(rng.choice([0, length - 1, rng.integers(length)])) for length in array.shape[1:]]
            array[(number, *place)] = bad
        with numpy.errstate(invalid="ignore"):
            wanted, _, by_filters = convolved(image, w, case, top)
            by_images = convolved(x, w, case, gradient)[1]
        pairs = ("result", forward(image, w), wanted), ("by images", first(x, w, gradient)[0], by_images)
        for name, found, exact in pairs:
            finite = numpy.isfinite(found)
            assert not (finite & ~numpy.isfinite(exact)).any(), (name, case)
            assert numpy.delete(finite, number, axis=0).all(), (name, case)
        found = first(image, w, top)[1]
        assert (numpy.isfinite(found) == numpy.isfinite(by_filters)).all(), ("by filters", case)
        finite = numpy.isfinite(by_filters)
        scale = numpy.abs(by_filters[finite]).max(initial=1)
        tolerance = scale * (1e-3 if x.itemsize == 4 else 1e-11)
        numpy.testing.assert_allclose(found[finite], by_filters[finite], atol=tolerance)


@pytest.mark.parametrize("cpu", ["native", "avx2", "baseline"])
@pytest.mark.parametrize("case", WITH_NAN)
def test_nan_of_one_image(case, cpu):
    with phintys.config.change_flags(cpu=cpu):
        for dtype in ("float32", "float64"):
            check_nan(complete(case, dtype))


@pytest.mark.long
def test_nan_in_many_random_convolutions():
    rng = numpy.random.default_rng()
    for _ in range(1000):
        case = random_case(rng)
        print(case)
        check_nan(case)
